/*
 * linux_after: in the manner of csum_partial on x86-64 as Eric Dumazet rewrote it in November 2021 (Linux 5.17).
 *
 * No alignment any more but for an odd address: blocks of 64 bytes, then at most one chain each of 32, 16 and 8 bytes
 * instead of a loop, then the last 1 to 7 bytes in one go. A 40-byte IPv6 header takes two chains.
 *
 * At an odd address the first byte is summed by itself, which shifts every other byte into the other half of its
 * word; the start value is rotated along, and the swap of the 16-bit result undoes both. Rotating by 8 bits in either
 * direction is the same modulo 0xffff.
 */
#include <stdbool.h>

#include "kernels/kernel.h"
#include "kernels/steps/adc.h"

CKSUM_FUNCTION(linux_after)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    const bool odd = (uintptr_t)p % 2 != 0;
    uint64_t total = sum;

    if (odd) {
        if (len == 0) {
            return sum;
        }
        total = (sum >> 8 | sum << 24) + (uint64_t)cksum_swap16((uint16_t)cksum_odd_byte(*p)); /* < 2^33 */
        p += 1, len -= 1;
    }
    for (; len >= 64; p += 64, len -= 64) {
        total = cksum_adc_8(total, p);
    }
    total = cksum_adc_ladder(total, &p, len);
    if (len & 7) {
        total = cksum_add64(total, cksum_load_tail(p, len & 7));
    }
    const uint32_t folded = cksum_fold64(total);
    return odd ? cksum_swap16(cksum_fold32(folded)) : folded;
}

CKSUM_KERNEL(linux_after, .summary = "unaligned add/adc chains of 64, 32, 16, 8 bytes: Linux 5.17",
             .origin = "in the manner of Linux csum_partial (arch/x86/lib/csum-partial_64.c) in 5.17; written afresh; "
                       "the length is a size_t instead of an int, and the last 1 to 7 bytes are read by bounded loads "
                       "instead of one 8-byte load whose page fault the kernel mends",
             .role = CKSUM_PAST, .max_len = SIZE_MAX)
