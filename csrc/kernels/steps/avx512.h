/*
 * avx512.h: what vector_sum.h needs to know of 512-bit vectors, but for the step: AVX-512 F, BW, VL, DQ, BMI2.
 *
 * Included with VS_TARGET, VS_STEP, VS_ALIGN_FROM defined.
 */
#include "base/intrinsics.h"
#include "kernels/steps/masked.h"

#define VS_VECTOR __m512i
#define VS_WIDTH 64u
#define VS_LOAD(p) _mm512_loadu_si512((const void *)(p))
#define VS_ZERO() _mm512_setzero_si512()
#define VS_SET32(x) _mm512_set1_epi32(x)
#define VS_ADD32(a, b) _mm512_add_epi32(a, b)
#define VS_ADD16(a, b) _mm512_add_epi16(a, b)
#define VS_SUB32(a, b) _mm512_sub_epi32(a, b)
#define VS_SLL32(v, bits) _mm512_slli_epi32(v, bits)
#define VS_SRL32(v, bits) _mm512_srli_epi32(v, bits)
#define VS_AND(a, b) _mm512_and_si512(a, b)
#define VS_ANDNOT(a, b) _mm512_andnot_si512(a, b)
#define VS_TAIL(p, n, sum) masked_tail(p, n, ((n) - 1) & ~(size_t)63, sum)
#define VS_TOTAL(lanes, sum) total_of_lanes(lanes, sum)
#define VS_WIDE(lanes) wide_sum_of_lanes(lanes)

/* sum + the eight 64-bit lanes, which together with it are below 2^64. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t sum_of_eight(__m512i eight, uint64_t sum)
{
    const __m256i four = _mm256_add_epi64(_mm512_castsi512_si256(eight), _mm512_extracti64x4_epi64(eight, 1));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(two); /* before the other half is there: a cycle less to wait */
    return sum + (uint64_t)_mm_extract_epi64(two, 1);
}

/* sum + the sixteen 32-bit lanes, whose sum is below 2^32: congruent to it, below 2^64 for any 32-bit sum. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t total_of_lanes(__m512i lanes, uint64_t sum)
{
    const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(four); /* two numbers of 32 bits in one of 64 */
    return sum + (uint64_t)_mm_extract_epi64(four, 1);
}

/* The sum of the sixteen 32-bit lanes; below 2^36. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t wide_sum_of_lanes(__m512i lanes)
{
    const __m512i even = _mm512_and_si512(lanes, _mm512_set1_epi64(UINT32_MAX));
    const __m512i eight = _mm512_add_epi64(even, _mm512_srli_epi64(lanes, 32));
    return sum_of_eight(eight, 0);
}

CKSUM_TARGET(VS_TARGET) CKSUM_INLINE __m512i vs_tail(const unsigned char *p, size_t n, uint64_t *sum);

/*
 * The last ((n - 1) & 63) + 1 of the n bytes at p, which begin at p + at: by a masked load, or without one at the end
 * of a page. The load's address is hidden from the compiler, so that it is not made dependent on the guard's: one
 * cycle.
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE __m512i masked_tail(const unsigned char *p, size_t n, size_t at, uint64_t *sum)
{
    if (reaches_next_page(p + at, 64)) {
        return vs_tail(p, n, sum);
    }
    __asm__("" : "+r"(at));
    return _mm512_maskz_loadu_epi8(first_bytes(((n - 1) & 63) + 1), (const void *)(p + at));
}

#include "kernels/steps/vector_sum.h"

/*
 * 65 <= n <= 128: two vectors, split into the halves of 64-bit lanes, which is quicker than a multiplication. In scalar
 * code the sum is there sooner (by a quarter to a half), but it keeps the core busy for longer (by a third).
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t sum_to_128(const unsigned char *p, size_t n, uint64_t sum)
{
    const __m512i low = _mm512_set1_epi64(UINT32_MAX);
    const __m512i a = VS_LOAD(p), b = masked_tail(p, n, 64, &sum);
    const __m512i upper = _mm512_add_epi64(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    const __m512i lower = _mm512_add_epi64(_mm512_and_si512(a, low), _mm512_and_si512(b, low));
    return cksum_fold64(sum_of_eight(_mm512_add_epi64(upper, lower), sum)); /* < 2^38 */
}

/* The whole kernel, with the lengths in the order of how much a further test costs them. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t sum_any(const unsigned char *p, size_t n, uint32_t sum)
{
    const size_t last = n - 1; /* of an empty buffer: larger than any length */
    if (CKSUM_LIKELY(last < 32)) {
        return sum_to_32(p, n, sum);
    }
    if (CKSUM_LIKELY(last < 64)) {
        return CKSUM_LIKELY(n == 40) ? cksum_sum_40(p, sum) : cksum_sum_to_64(p, n, sum);
    }
    if (CKSUM_LIKELY(last < 128)) {
        return sum_to_128(p, n, sum);
    }
    return n == 0 ? sum : vs_sum(p, n, sum);
}
