/*
 * ymm.h: what vector_sum.h needs to know of 256-bit vectors: AVX2, and AVX-512 BW and VL for the masked load.
 *
 * xmm.h, ymm.h and zmm.h have the same entries in the same order; vector_sum.h says what each means.
 */
#include "base/intrinsics.h"

#define VS_VECTOR __m256i
#define VS_WIDTH 32u
#define VS_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define VS_MASK uint32_t
#define VS_MASKED_LOAD(mask, p) _mm256_maskz_loadu_epi8((__mmask32)(mask), (const void *)(p))
#define VS_ZERO() _mm256_setzero_si256()
#define VS_SET32(x) _mm256_set1_epi32(x)
#define VS_SET64(x) _mm256_set1_epi64x(x)
#define VS_AND(a, b) _mm256_and_si256(a, b)
#define VS_ANDNOT(a, b) _mm256_andnot_si256(a, b)
#define VS_XOR(a, b) _mm256_xor_si256(a, b)
#define VS_ADD16(a, b) _mm256_add_epi16(a, b)
#define VS_AVG16(a, b) _mm256_avg_epu16(a, b)
#define VS_ADD32(a, b) _mm256_add_epi32(a, b)
#define VS_SUB32(a, b) _mm256_sub_epi32(a, b)
#define VS_SLL32(v, bits) _mm256_slli_epi32(v, bits)
#define VS_SRL32(v, bits) _mm256_srli_epi32(v, bits)
#define VS_ADD64(a, b) _mm256_add_epi64(a, b)
#define VS_SUB64(a, b) _mm256_sub_epi64(a, b)
#define VS_SLL64(v, bits) _mm256_slli_epi64(v, bits)
#define VS_SRL64(v, bits) _mm256_srli_epi64(v, bits)
#define VS_MULTIPLY(v, ones) _mm256_madd_epi16(v, ones)
#define VS_MULTIPLY_ADD(acc, v, ones) _mm256_add_epi32(acc, _mm256_madd_epi16(v, ones))

/* sum + the four 64-bit lanes, which together with it are below 2^64. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total64(__m256i lanes, uint64_t sum)
{
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(two);
    __asm__("" : "+r"(sum)); /* now, or gcc adds it last: the other half is there a cycle later */
    return sum + (uint64_t)_mm_extract_epi64(two, 1);
}

/* sum + the eight 32-bit lanes, whose sum is below 2^32: congruent to it, below 2^64 for any 32-bit sum. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total32(__m256i lanes, uint64_t sum)
{
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(four);
    __asm__("" : "+r"(sum)); /* now, or gcc adds it last: the other half is there a cycle later */
    return sum + (uint64_t)_mm_extract_epi64(four, 1);
}

#include "kernels/steps/vector_sum.h"
