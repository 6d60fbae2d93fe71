/*
 * linux_2023: in the manner of csum_partial on x86-64 as Noah Goldstein rewrote it in 2023 (Linux 6.5), with the odd
 * address no longer special (2024).
 *
 * 64 bytes a step on two chains of four additions, so that the second does not wait for the first; the carries of both
 * go into a third register by `adc $0`, which is short enough to hide. 40 bytes, an IPv6 header, are tested for first:
 * one chain of five. What is left takes at most one chain each of 32, 16 and 8 bytes.
 *
 * Any start address is treated alike: the first byte in memory is the first byte of a word wherever it lies.
 */
#include "kernels/kernel.h"
#include "kernels/steps/adc.h"

/* sum + the five words at p. */
CKSUM_INLINE uint64_t add_40(uint64_t sum, const unsigned char *p)
{
#if CKSUM_X86_64
    __asm__("addq 0(%[p]), %[sum]\n\t"
            "adcq 8(%[p]), %[sum]\n\t"
            "adcq 16(%[p]), %[sum]\n\t"
            "adcq 24(%[p]), %[sum]\n\t"
            "adcq 32(%[p]), %[sum]\n\t"
            "adcq $0, %[sum]"
            : [sum] "+r"(sum)
            : [p] "r"(p), "m"(*(const unsigned char(*)[40])p)
            : "cc");
    return sum;
#else
    return cksum_adc_1(cksum_adc_4(sum, p), p + 32);
#endif
}

/* Adds the words at p to *first and those at p + 32 to *second, and the carries of both chains to *carries. */
CKSUM_INLINE void add_64(uint64_t *first, uint64_t *second, uint64_t *carries, const unsigned char *p)
{
#if CKSUM_X86_64
    __asm__("addq 0(%[p]), %[first]\n\t"
            "adcq 8(%[p]), %[first]\n\t"
            "adcq 16(%[p]), %[first]\n\t"
            "adcq 24(%[p]), %[first]\n\t"
            "adcq $0, %[carries]\n\t"
            "addq 32(%[p]), %[second]\n\t"
            "adcq 40(%[p]), %[second]\n\t"
            "adcq 48(%[p]), %[second]\n\t"
            "adcq 56(%[p]), %[second]\n\t"
            "adcq $0, %[carries]"
            : [first] "+r"(*first), [second] "+r"(*second), [carries] "+r"(*carries)
            : [p] "r"(p), "m"(*(const unsigned char(*)[64])p)
            : "cc");
#else
    *first = cksum_adc_4(*first, p);
    *second = cksum_adc_4(*second, p + 32);
    (void)carries;
#endif
}

CKSUM_FUNCTION(linux_2023)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    if (CKSUM_LIKELY(len == 40)) {
        return cksum_fold64(add_40(total, p));
    }
    if (CKSUM_UNLIKELY(len >= 64)) {
        uint64_t second = 0, carries = 0;
        for (size_t blocks = len / 64; blocks > 0; blocks--, p += 64) {
            add_64(&total, &second, &carries, p);
        }
        total = cksum_add64(cksum_add64(total, second), carries); /* carries <= len / 32 */
    }
    total = cksum_adc_ladder(total, &p, len);
    if (len & 7) {
        const unsigned padding = 64 - 8 * (unsigned)(len & 7);
        if (CKSUM_LITTLE_ENDIAN && len >= 8) {
            total = cksum_add64(total, cksum_load64(p + (len & 7) - 8) >> padding);
        } else {
            total = cksum_add64(total, cksum_load_tail(p, len & 7));
        }
    }
    return cksum_fold64(total);
}

CKSUM_KERNEL(linux_2023, .summary = "two add/adc chains of 32 bytes a step, a test for 40 bytes: Linux 6.5 and later",
             .origin = "in the manner of Linux csum_partial (arch/x86/lib/csum-partial_64.c) in 6.5, without the odd "
                       "address of its own that 6.9 dropped; written afresh; the length is a size_t instead of an int, "
                       "and the last 1 to 7 bytes are the end of the last whole word of the buffer, or bounded loads "
                       "below 8 bytes, instead of a load past the end whose page fault the kernel mends",
             .role = CKSUM_PEER, .max_len = SIZE_MAX)
