/*
 * adc.h: chains of 64-bit additions in which each takes in the carry of the one before, as Linux on x86-64 has them.
 *
 *     add  0(p), sum      the first one starts the chain
 *     adc  8(p), sum      ...
 *     adc  $0, sum        the last carry comes back in at bit 0
 *
 * The final adc cannot carry again: after a carry out, sum is at most 2^64 - 2 (see cksum_add64). No C compiler is
 * known to keep the carry in the flag across a chain of eight, hence the assembly; on other targets the same sum in
 * C, one end-around addition a word.
 *
 * Each block is a memory input as a whole: an input of its first byte only, or none, would allow the compiler to
 * delay a caller's stores to the rest past the assembly.
 */
#ifndef CKSUM_KERNELS_STEPS_ADC_H
#define CKSUM_KERNELS_STEPS_ADC_H

#include "base/fold.h"

#if CKSUM_X86_64
#define CKSUM_ADC_CHAIN(first_and_next)                                                                                \
    __asm__(first_and_next "adcq $0, %[sum]"                                                                           \
            : [sum] "+r"(sum)                                                                                          \
            : [p] "r"(p), "m"(*(const unsigned char(*)[BYTES])p)                                                       \
            : "cc")
#endif

/* The sum of `sum` and the 8 bytes at p, with end-around carry. */
CKSUM_INLINE uint64_t cksum_adc_1(uint64_t sum, const unsigned char *p)
{
#if CKSUM_X86_64
    enum { BYTES = 8 };
    CKSUM_ADC_CHAIN("addq 0(%[p]), %[sum]\n\t");
    return sum;
#else
    return cksum_add64(sum, cksum_load64(p));
#endif
}

/* The same for the two words at p. */
CKSUM_INLINE uint64_t cksum_adc_2(uint64_t sum, const unsigned char *p)
{
#if CKSUM_X86_64
    enum { BYTES = 16 };
    CKSUM_ADC_CHAIN("addq 0(%[p]), %[sum]\n\t"
                    "adcq 8(%[p]), %[sum]\n\t");
    return sum;
#else
    return cksum_adc_1(cksum_adc_1(sum, p), p + 8);
#endif
}

/* The same for the four words at p. */
CKSUM_INLINE uint64_t cksum_adc_4(uint64_t sum, const unsigned char *p)
{
#if CKSUM_X86_64
    enum { BYTES = 32 };
    CKSUM_ADC_CHAIN("addq 0(%[p]), %[sum]\n\t"
                    "adcq 8(%[p]), %[sum]\n\t"
                    "adcq 16(%[p]), %[sum]\n\t"
                    "adcq 24(%[p]), %[sum]\n\t");
    return sum;
#else
    return cksum_adc_2(cksum_adc_2(sum, p), p + 16);
#endif
}

/* The same for the eight words at p. */
CKSUM_INLINE uint64_t cksum_adc_8(uint64_t sum, const unsigned char *p)
{
#if CKSUM_X86_64
    enum { BYTES = 64 };
    CKSUM_ADC_CHAIN("addq 0(%[p]), %[sum]\n\t"
                    "adcq 8(%[p]), %[sum]\n\t"
                    "adcq 16(%[p]), %[sum]\n\t"
                    "adcq 24(%[p]), %[sum]\n\t"
                    "adcq 32(%[p]), %[sum]\n\t"
                    "adcq 40(%[p]), %[sum]\n\t"
                    "adcq 48(%[p]), %[sum]\n\t"
                    "adcq 56(%[p]), %[sum]\n\t");
    return sum;
#else
    return cksum_adc_4(cksum_adc_4(sum, p), p + 32);
#endif
}

#if CKSUM_X86_64
#undef CKSUM_ADC_CHAIN
#endif

/* The 32, 16 and 8 bytes at *p that the bits of len name, each a chain of its own; *p moves behind them. */
CKSUM_INLINE uint64_t cksum_adc_ladder(uint64_t total, const unsigned char **p, size_t len)
{
    if (len & 32) {
        total = cksum_adc_4(total, *p);
        *p += 32;
    }
    if (len & 16) {
        total = cksum_adc_2(total, *p);
        *p += 16;
    }
    if (len & 8) {
        total = cksum_adc_1(total, *p);
        *p += 8;
    }
    return total;
}

#endif
