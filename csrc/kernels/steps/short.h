/*
 * short.h: buffers of 1 to 128 bytes in general registers, without a branch that depends on the length.
 *
 * A packet header has 20 to 60 bytes: what counts is the time until the sum is there, and not to mispredict when
 * lengths mix. So a part that a length lacks is read from a block of zeros, by a conditional move of the address:
 *
 *     n = 27:   p[0..16)   two words, since n - 1 has bit 16
 *               p[16..24)  one word, since n - 1 has bit 8
 *               p[24..27)  the last 1 to 8 bytes
 *     n = 11:   zeros, zeros; p[0..8); p[8..11)
 *
 * Counted from n - 1, the last part is never empty, and nothing at p + n is touched. What is chosen is the base, the
 * buffer or the zeros; where the part lies is an index beside it, so that no instruction adds the two. All of it is one
 * chain of additions with carry (two side by side above 32 bytes), and the last carry goes straight into the fold: the
 * upper half of the 64-bit sum is rotated down (rorx, of BMI2, leaves the flags alone) and added to the lower half with
 * that carry, and the carry of this once more. The last addition cannot carry: it would have to meet 2^32 - 1, left
 * over from two halves of 2^32 - 1 and a carry, but a chain that carried leaves at most 2^64 - 2. And the 32 bits are 0
 * only if all was.
 *
 * What lost (AMD Zen 3 and Zen 5, gcc 12 and clang 19, 2026-11-30): a jump table with straight code for each length
 * (fastest on Zen 3 with one length; one mispredicted jump, 20 to 27 ticks, with mixed ones); one masked vector load of
 * it all (the same throughput, twice the latency); a second test at 8 or 16 bytes (4 to 9 ticks with mixed lengths).
 * Whole addresses chosen instead of bases: 12.5 ticks of 2.45 GHz instead of 10.9 at 100 bytes on Zen 3 by clang, 8.6
 * instead of 7.9 at 64, and 13.2 instead of 11.7 in x86_64_adc by gcc; but latency 17.3 instead of 18.0 at 100.
 * Classes called likely, and clang without a word on it: each longer class then takes a branch more on its way, a core
 * cycle each. Called unlikely, all tests stand in a row by both compilers, and each class is one jump away.
 * 40 bytes right behind its test, by clang 19: 4.1 ticks instead of 5.7 on Zen 3, but all else a cycle more, 6.5
 * instead of 5.7 at 20, 8.8 instead of 7.3 at 64 (2026-12-01). So linux_2023, which does that, keeps 40 bytes. Its test
 * behind those of 8 and 32 bytes: mixed lengths of 1 to 32 take 11.6 instead of 12.4, but 40 bytes 5.3 instead of 4.9.
 * The second chain of 65 to 128 begun by the buffer's words and ended by the last: one instruction more, latency as it
 * was.
 *
 * Parameter, defined before this is included: CKSUM_WITHOUT_BMI2, by a kernel for CPUs that may lack BMI2.
 */
#ifndef CKSUM_KERNELS_STEPS_SHORT_H
#define CKSUM_KERNELS_STEPS_SHORT_H

#include <stdbool.h>

#include "base/fold.h"

/*
 * What is read in place of the parts that a buffer does not have; and, at an address that is at hand with it, 16-bit
 * masks of the last ((n - 1) & 7) + 1 bytes of n, by n & 7 (masked.h).
 */
#define CKSUM_ZEROS 256
static const unsigned char cksum_zeros[CKSUM_ZEROS + 16] __attribute__((aligned(64))) = {
    [CKSUM_ZEROS] = 0xff, 0, 0x01, 0, 0x03, 0, 0x07, 0, 0x0f, 0, 0x1f, 0, 0x3f, 0, 0x7f, 0};

/* value has bit ? p : zeros; a conditional move, of which the compiler cannot make a branch. */
CKSUM_INLINE const unsigned char *cksum_if_bit(size_t value, unsigned bit, const unsigned char *p)
{
    const unsigned char *chosen = cksum_zeros;
#if CKSUM_X86_64
    __asm__("testl %[bit], %k[value]\n\tcmovneq %[p], %[chosen]"
            : [chosen] "+r"(chosen)
            : [value] "r"(value), [bit] "ri"(bit), [p] "r"(p)
            : "cc");
#else
    chosen = value & bit ? p : chosen;
#endif
    return chosen;
}

/* The last ((n - 1) & 7) + 1 of n >= 8 bytes at p as a zero-padded word: a load that reaches back, then a shift. */
CKSUM_INLINE uint64_t cksum_last_word(const unsigned char *p, size_t n)
{
    const uint64_t word = cksum_load64(p + n - 8);
    const unsigned counted_bits = -(8 * (unsigned)n) & 63; /* 0 for a whole word */
    return CKSUM_LITTLE_ENDIAN ? word >> counted_bits : word << counted_bits;
}

/* sum + p[0..n) for n < 8; three loads, each of the buffer or of zeros. */
CKSUM_INLINE uint32_t cksum_sum_0_to_7(const unsigned char *p, size_t n, uint64_t sum)
{
    if (n == 0) {
        return (uint32_t)sum;
    }
    const uint64_t four = cksum_load32(cksum_if_bit(n, 4, p));
    const uint64_t two = cksum_load16(cksum_if_bit(n, 2, p + (n & 4)));
    const uint64_t one = cksum_odd_byte(*cksum_if_bit(n, 1, p + (n & 6)));
    return cksum_fold64(four + two + one + sum); /* < 2^34 */
}

#if CKSUM_X86_64
#if defined(CKSUM_WITHOUT_BMI2) /* two instructions and one cycle more */
#define CKSUM_FOLD_WITH_CARRY                                                                                          \
    "adcq $0, %[sum]\n\t"                                                                                              \
    "movq %[sum], %[upper]\n\t"                                                                                        \
    "shrq $32, %[upper]\n\t"                                                                                           \
    "addl %k[upper], %k[sum]\n\t"                                                                                      \
    "adcl $0, %k[sum]"
#else
#define CKSUM_FOLD_WITH_CARRY                                                                                          \
    "rorxq $32, %[sum], %[upper]\n\t"                                                                                  \
    "adcl %k[upper], %k[sum]\n\t"                                                                                      \
    "adcl $0, %k[sum]"
#endif
/* An upper bound of what is read: assembly must say that it depends on memory, and here a length is not a constant. */
#define CKSUM_BUFFER_INPUT [p] "r"(p), "m"(*(const unsigned char(*)[64])p)
#endif

/* sum + p[0..n) for 1 <= n <= 32, of which `last` are the last ((n - 1) & 7) + 1 bytes. */
CKSUM_INLINE uint32_t cksum_sum_1_to_32(const unsigned char *p, size_t n, uint64_t last, uint64_t sum)
{
    const size_t whole = n - 1, at_one = whole & 16;
    const unsigned char *const two = cksum_if_bit(whole, 16, p), *one = cksum_if_bit(whole, 8, p);
#if CKSUM_X86_64
    __asm__("addq (%[two]), %[sum]\n\t"
            "adcq 8(%[two]), %[sum]\n\t"
            "adcq (%[upper],%[at_one]), %[sum]\n\t"
            "adcq %[last], %[sum]\n\t" CKSUM_FOLD_WITH_CARRY
            : [sum] "+&a"(sum), [upper] "+&r"(one)
            : CKSUM_BUFFER_INPUT, [two] "r"(two), [at_one] "r"(at_one), [last] "r"(last)
            : "cc");
    return (uint32_t)sum;
#else
    sum = cksum_add64(cksum_add64(sum, cksum_load64(two)), cksum_load64(two + 8));
    return cksum_fold64(cksum_add64(cksum_add64(sum, cksum_load64(one + at_one)), last));
#endif
}

/* sum + p[0..40), an IPv6 header. */
CKSUM_INLINE uint32_t cksum_sum_40(const unsigned char *p, uint64_t sum)
{
#if CKSUM_X86_64
    uint64_t upper;
    __asm__("addq (%[p]), %[sum]\n\t"
            "adcq 8(%[p]), %[sum]\n\t"
            "adcq 16(%[p]), %[sum]\n\t"
            "adcq 24(%[p]), %[sum]\n\t"
            "adcq 32(%[p]), %[sum]\n\t" CKSUM_FOLD_WITH_CARRY
            : [sum] "+&a"(sum), [upper] "=&r"(upper)
            : CKSUM_BUFFER_INPUT
            : "cc");
    return (uint32_t)sum;
#else
    for (unsigned at = 0; at < 40; at += 8) {
        sum = cksum_add64(sum, cksum_load64(p + at));
    }
    return cksum_fold64(sum);
#endif
}

/* sum + p[0..n) for 33 <= n <= 64. */
CKSUM_INLINE uint32_t cksum_sum_33_to_64(const unsigned char *p, size_t n, uint64_t sum)
{
    const size_t whole = n - 1, at_one = whole & 16;
    const unsigned char *const two = cksum_if_bit(whole, 16, p), *one = cksum_if_bit(whole, 8, p);
    uint64_t last = cksum_last_word(p, n);
#if CKSUM_X86_64
    __asm__("addq 16(%[p]), %[last]\n\t"
            "adcq 24(%[p]), %[last]\n\t"
            "adcq 32(%[upper],%[at_one]), %[last]\n\t"
            "adcq $0, %[last]\n\t"
            "addq (%[p]), %[sum]\n\t"
            "adcq 8(%[p]), %[sum]\n\t"
            "adcq 32(%[two]), %[sum]\n\t"
            "adcq 40(%[two]), %[sum]\n\t"
            "adcq %[last], %[sum]\n\t" CKSUM_FOLD_WITH_CARRY
            : [sum] "+&a"(sum), [last] "+&r"(last), [upper] "+&r"(one)
            : CKSUM_BUFFER_INPUT, [two] "r"(two), [at_one] "r"(at_one)
            : "cc");
    return (uint32_t)sum;
#else
    for (unsigned at = 0; at < 32; at += 8) {
        sum = cksum_add64(sum, cksum_load64(p + at));
    }
    sum = cksum_add64(cksum_add64(sum, cksum_load64(two + 32)), cksum_load64(two + 40));
    return cksum_fold64(cksum_add64(cksum_add64(sum, cksum_load64(one + 32 + at_one)), last));
#endif
}

/*
 * Whether n <= 64; if so, *result becomes sum + p[0..n). The ladder of tests of the kernels without masked loads. 40,
 * an IPv6 header, comes first: that costs the others an instruction, and spares it a second jump.
 */
CKSUM_INLINE bool cksum_sum_to_64(const unsigned char *p, size_t n, uint64_t sum, uint32_t *result)
{
    if (CKSUM_UNLIKELY(n == 40)) {
        *result = cksum_sum_40(p, sum);
        return true;
    }
    if (CKSUM_UNLIKELY(n < 8)) {
        *result = cksum_sum_0_to_7(p, n, sum);
        return true;
    }
    if (CKSUM_UNLIKELY(n <= 32)) {
        *result = cksum_sum_1_to_32(p, n, cksum_last_word(p, n), sum);
        return true;
    }
    if (CKSUM_UNLIKELY(n <= 64)) {
        *result = cksum_sum_33_to_64(p, n, sum);
        return true;
    }
    return false;
}

/*
 * sum + p[0..n) for 65 <= n <= 128. The selection is part of the assembly: what is left over of one word is the next
 * one's index, and nine registers do, so that none is saved.
 */
CKSUM_INLINE uint32_t cksum_sum_65_to_128(const unsigned char *p, size_t n, uint64_t sum)
{
    size_t whole = n - 1;
    uint64_t last = cksum_last_word(p, n);
#if CKSUM_X86_64
    const unsigned char *four, *two, *upper = cksum_zeros; /* upper: first the address of one word */
    size_t at_two;
    __asm__("movq %[upper], %[four]\n\t"
            "movq %[upper], %[two]\n\t"
            "movl %k[whole], %k[at_two]\n\t"
            "testb $32, %b[whole]\n\t"
            "cmovneq %[p], %[four]\n\t"
            "testb $16, %b[whole]\n\t"
            "cmovneq %[p], %[two]\n\t"
            "testb $8, %b[whole]\n\t"
            "cmovneq %[p], %[upper]\n\t"
            "andl $32, %k[at_two]\n\t"
            "andl $48, %k[whole]\n\t"
            "addq 32(%[p]), %[last]\n\t"
            "adcq 40(%[p]), %[last]\n\t"
            "adcq 48(%[p]), %[last]\n\t"
            "adcq 56(%[p]), %[last]\n\t"
            "adcq 64(%[upper],%[whole]), %[last]\n\t"
            "adcq 64(%[two],%[at_two]), %[last]\n\t"
            "adcq 72(%[two],%[at_two]), %[last]\n\t"
            "adcq $0, %[last]\n\t"
            "addq (%[p]), %[sum]\n\t"
            "adcq 8(%[p]), %[sum]\n\t"
            "adcq 16(%[p]), %[sum]\n\t"
            "adcq 24(%[p]), %[sum]\n\t"
            "adcq 64(%[four]), %[sum]\n\t"
            "adcq 72(%[four]), %[sum]\n\t"
            "adcq 80(%[four]), %[sum]\n\t"
            "adcq 88(%[four]), %[sum]\n\t"
            "adcq %[last], %[sum]\n\t" CKSUM_FOLD_WITH_CARRY
            : [sum] "+&a"(sum), [last] "+&r"(last), [whole] "+&r"(whole), [upper] "+&r"(upper), [four] "=&r"(four),
              [two] "=&r"(two), [at_two] "=&r"(at_two)
            : [p] "r"(p), "m"(*(const unsigned char(*)[128])p)
            : "cc");
    return (uint32_t)sum;
#else
    const unsigned char *const four = cksum_if_bit(whole, 32, p + 64);
    const unsigned char *const two = cksum_if_bit(whole, 16, p + 64 + (whole & 32));
    const unsigned char *const one = cksum_if_bit(whole, 8, p + 64 + (whole & 48));
    for (unsigned at = 0; at < 64; at += 8) {
        sum = cksum_add64(sum, cksum_load64(p + at));
    }
    for (unsigned at = 0; at < 32; at += 8) {
        sum = cksum_add64(sum, cksum_load64(four + at));
    }
    sum = cksum_add64(cksum_add64(sum, cksum_load64(two)), cksum_load64(two + 8));
    return cksum_fold64(cksum_add64(cksum_add64(sum, cksum_load64(one)), last));
#endif
}

#endif
