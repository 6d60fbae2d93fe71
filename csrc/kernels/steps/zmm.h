/*
 * zmm.h: what vector_sum.h needs to know of 512-bit vectors: AVX-512 F, BW, DQ, VL.
 *
 * xmm.h, ymm.h and zmm.h have the same entries in the same order; vector_sum.h says what each means.
 */
#include "base/intrinsics.h"

#define VS_VECTOR __m512i
#define VS_WIDTH 64u
#define VS_LOAD(p) _mm512_loadu_si512((const void *)(p))
#define VS_MASK uint64_t
#define VS_MASKED_LOAD(mask, p) _mm512_maskz_loadu_epi8(mask, (const void *)(p))
#define VS_ZERO() _mm512_setzero_si512()
#define VS_SET32(x) _mm512_set1_epi32(x)
#define VS_SET64(x) _mm512_set1_epi64(x)
#define VS_AND(a, b) _mm512_and_si512(a, b)
#define VS_ANDNOT(a, b) _mm512_andnot_si512(a, b)
#define VS_XOR(a, b) _mm512_xor_si512(a, b)
#define VS_ADD16(a, b) _mm512_add_epi16(a, b)
#define VS_AVG16(a, b) _mm512_avg_epu16(a, b)
#define VS_ADD32(a, b) _mm512_add_epi32(a, b)
#define VS_SUB32(a, b) _mm512_sub_epi32(a, b)
#define VS_SLL32(v, bits) _mm512_slli_epi32(v, bits)
#define VS_SRL32(v, bits) _mm512_srli_epi32(v, bits)
#define VS_ADD64(a, b) _mm512_add_epi64(a, b)
#define VS_SUB64(a, b) _mm512_sub_epi64(a, b)
#define VS_SLL64(v, bits) _mm512_slli_epi64(v, bits)
#define VS_SRL64(v, bits) _mm512_srli_epi64(v, bits)
#define VS_MULTIPLY(v, ones) _mm512_madd_epi16(v, ones)
#define VS_MULTIPLY_ADD(acc, v, ones) _mm512_add_epi32(acc, _mm512_madd_epi16(v, ones))

/* sum + the eight 64-bit lanes, which together with it are below 2^64. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total64(__m512i lanes, uint64_t sum)
{
    const __m256i four = _mm256_add_epi64(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(two);
    __asm__("" : "+r"(sum)); /* now, or gcc adds it last: the other half is there a cycle later */
    return sum + (uint64_t)_mm_extract_epi64(two, 1);
}

/* sum + the sixteen 32-bit lanes, whose sum is below 2^32: congruent to it, below 2^64 for any 32-bit sum. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total32(__m512i lanes, uint64_t sum)
{
    const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    sum += (uint64_t)_mm_cvtsi128_si64(four);
    __asm__("" : "+r"(sum)); /* now, or gcc adds it last: the other half is there a cycle later */
    return sum + (uint64_t)_mm_extract_epi64(four, 1);
}

#include "kernels/steps/vector_sum.h"
