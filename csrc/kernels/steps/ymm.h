/*
 * ymm.h: what vector_sum.h needs to know of 256-bit vectors, but for the tail and the width of its multiply-add.
 *
 * Included with VS_TARGET defined, which has AVX2 and BMI2.
 */
#include "base/intrinsics.h"
#include "kernels/steps/short.h"

#define VS_VECTOR __m256i
#define VS_WIDTH 32u
#define VS_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VS_ZERO() _mm256_setzero_si256()
#define VS_SET32(x) _mm256_set1_epi32(x)
#define VS_ADD32(a, b) _mm256_add_epi32(a, b)
#define VS_SUB32(a, b) _mm256_sub_epi32(a, b)
#define VS_ADD16(a, b) _mm256_add_epi16(a, b)
#define VS_AVG16(a, b) _mm256_avg_epu16(a, b)
#define VS_SLL32(v, bits) _mm256_slli_epi32(v, bits)
#define VS_SRL32(v, bits) _mm256_srli_epi32(v, bits)
#define VS_AND(a, b) _mm256_and_si256(a, b)
#define VS_ANDNOT(a, b) _mm256_andnot_si256(a, b)
#define VS_STEP(acc, v) _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_xor_si256(v, flip), ones))
#define VS_TOTAL(lanes, sum) total_of_lanes(lanes, sum)
#define VS_WIDE(lanes) wide_sum_of_lanes(lanes)

/* sum + the eight 32-bit lanes, whose sum is below 2^32: congruent to it, below 2^64 for any 32-bit sum. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t total_of_lanes(__m256i lanes, uint64_t sum)
{
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(four); /* two numbers of 32 bits in one of 64 */
    return sum + (uint64_t)_mm_extract_epi64(four, 1);
}

/* The sum of the eight 32-bit lanes; below 2^35. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t wide_sum_of_lanes(__m256i lanes)
{
    const __m256i even = _mm256_and_si256(lanes, _mm256_set1_epi64x(UINT32_MAX));
    const __m256i four = _mm256_add_epi64(even, _mm256_srli_epi64(lanes, 32));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) + (uint64_t)_mm_extract_epi64(two, 1);
}

#include "kernels/steps/vector_sum.h"
