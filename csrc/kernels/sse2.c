/*
 * sse2: 16 bytes a step, for x86-64 CPUs without AVX2: those before 2013, and emulators.
 *
 * As avx2, on vectors of half the width and without BMI2: flip the top bit of each word, multiply-and-add with ones,
 * add; from 1 KiB on the averaging tree. A step adds at most 131070 to a lane, the total of up to 128 KiB is below
 * 2^32, and the tree is flushed every 1024 trees of 16 vectors, 256 KiB: all bounds are in vectors, whatever their
 * width.
 *
 * Up to 64 bytes general registers; 65 to 128 bytes are eight vectors without a branch.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"
#define CKSUM_WITHOUT_BMI2
#define VS_TARGET "sse2"
#define VS_VECTOR __m128i
#define VS_WIDTH 16u
#define VS_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VS_ZERO() _mm_setzero_si128()
#define VS_SET32(x) _mm_set1_epi32(x)
#define VS_ADD32(a, b) _mm_add_epi32(a, b)
#define VS_SUB32(a, b) _mm_sub_epi32(a, b)
#define VS_ADD16(a, b) _mm_add_epi16(a, b)
#define VS_AVG16(a, b) _mm_avg_epu16(a, b)
#define VS_SLL32(v, bits) _mm_slli_epi32(v, bits)
#define VS_SRL32(v, bits) _mm_srli_epi32(v, bits)
#define VS_AND(a, b) _mm_and_si128(a, b)
#define VS_ANDNOT(a, b) _mm_andnot_si128(a, b)
#define VS_STEP(acc, v) _mm_add_epi32(acc, _mm_madd_epi16(_mm_xor_si128(v, flip), ones))
#define VS_TAIL(p, n, sum) vs_tail(p, n, sum)
#define VS_TOTAL(lanes, sum) total_of_lanes(lanes, sum)
#define VS_WIDE(lanes) wide_sum_of_lanes(lanes)
#define VS_ALIGN_FROM 1024u
#define VS_STREAMS_FROM ((size_t)2 << 20)
#define VS_TREES_FROM 1024u

/* The sum of two 64-bit lanes. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t sum_of_halves(__m128i lanes, uint64_t sum)
{
    sum += (uint64_t)_mm_cvtsi128_si64(lanes);
    return sum + (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(lanes, lanes));
}

/* sum + the four 32-bit lanes, whose sum is below 2^32: congruent to it, below 2^64 for any 32-bit sum. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t total_of_lanes(__m128i lanes, uint64_t sum)
{
    return sum_of_halves(lanes, sum); /* two numbers of 32 bits in one of 64 */
}

/* The sum of the four 32-bit lanes; below 2^34. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t wide_sum_of_lanes(__m128i lanes)
{
    const __m128i even = _mm_and_si128(lanes, _mm_set1_epi64x(UINT32_MAX));
    return sum_of_halves(_mm_add_epi64(even, _mm_srli_epi64(lanes, 32)), 0);
}

#include "kernels/steps/vector_sum.h"

CKSUM_TARGET(VS_TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(sse2)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *const p = buf;
    if (len < 8) {
        return cksum_sum_to_7(p, len, sum);
    }
    if (CKSUM_LIKELY(len <= 32)) {
        return cksum_sum_to_32(p, len, cksum_last_word(p, len), sum);
    }
    if (CKSUM_LIKELY(len <= 64)) {
        return CKSUM_LIKELY(len == 40) ? cksum_sum_40(p, sum) : cksum_sum_to_64(p, len, sum);
    }
    return vs_sum(p, len, sum);
}

CKSUM_KERNEL(sse2, .summary = "16 bytes a step: biased multiply-add, averages from 1 KiB; short in general registers",
             .role = CKSUM_PRODUCTION, .needs = CKSUM_CPU_SSE2, .vector_bits = 128, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(sse2)
#endif
