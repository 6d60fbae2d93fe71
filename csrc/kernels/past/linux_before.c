/*
 * linux_before: in the manner of csum_partial on x86-64 as it stood up to Linux 5.16.
 *
 * First to an address that is a multiple of 8, by one byte, one 16-bit and one 32-bit word as needed; then blocks of
 * 64 bytes in one add/adc chain, single words each with its own carry, and the last 4, 2 and 1 bytes. A start at an
 * odd address shifts every byte into the other half of its word, which a swap of the 16-bit sum undoes.
 *
 * No sum before the blocks or behind them overflows: 8 + 16 + 32 bits' worth of words are added to 64 bits. The
 * blocks carry end-around.
 */
#include <stdbool.h>

#include "kernels/kernel.h"
#include "kernels/steps/adc.h"

/* The sum of buf's words, at most 32 bits. */
CKSUM_INLINE uint32_t sum_aligned(const unsigned char *p, size_t len)
{
    uint64_t sum = 0;
    const bool odd = (uintptr_t)p % 2 != 0;

    if (len == 0) {
        return 0;
    }
    if (odd) { /* the second byte in memory of a word that began one byte earlier */
        sum = cksum_swap16((uint16_t)cksum_odd_byte(*p));
        p += 1, len -= 1;
    }
    if ((uintptr_t)p % 4 != 0 && len >= 2) {
        sum += cksum_load16(p);
        p += 2, len -= 2;
    }
    if ((uintptr_t)p % 8 != 0 && len >= 4) {
        sum += cksum_load32(p);
        p += 4, len -= 4;
    }
    for (; len >= 64; p += 64, len -= 64) {
        sum = cksum_adc_8(sum, p);
    }
    for (; len >= 8; p += 8, len -= 8) {
        sum = cksum_adc_1(sum, p);
    }
    sum = cksum_fold64(sum);
    if (len & 4) {
        sum += cksum_load32(p);
        p += 4;
    }
    if (len & 2) {
        sum += cksum_load16(p);
        p += 2;
    }
    if (len & 1) {
        sum += cksum_odd_byte(*p);
    }
    const uint32_t folded = cksum_fold64(sum);
    return odd ? cksum_swap16(cksum_fold32(folded)) : folded;
}

CKSUM_FUNCTION(linux_before)(const void *buf, size_t len, uint32_t sum)
{
    return cksum_add32(sum_aligned(buf, len), sum);
}

CKSUM_KERNEL(linux_before, .summary = "aligned 64-byte add/adc chains: Linux before 5.17",
             .origin = "in the manner of Linux csum_partial (arch/x86/lib/csum-partial_64.c) up to 5.16; written "
                       "afresh; the length is a size_t instead of an int",
             .role = CKSUM_PAST, .max_len = SIZE_MAX)
