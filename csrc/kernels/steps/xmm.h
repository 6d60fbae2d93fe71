/*
 * xmm.h: what vector_sum.h needs to know of 128-bit vectors: SSE2, and AVX-512 BW and VL for the masked load.
 *
 * xmm.h, ymm.h and zmm.h have the same entries in the same order; vector_sum.h says what each means.
 */
#include "base/intrinsics.h"

#define VS_VECTOR __m128i
#define VS_WIDTH 16u
#define VS_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define VS_MASK uint16_t
#define VS_MASKED_LOAD(mask, p) _mm_maskz_loadu_epi8((__mmask16)(mask), (const void *)(p))
#define VS_ZERO() _mm_setzero_si128()
#define VS_SET32(x) _mm_set1_epi32(x)
#define VS_SET64(x) _mm_set1_epi64x(x)
#define VS_AND(a, b) _mm_and_si128(a, b)
#define VS_ANDNOT(a, b) _mm_andnot_si128(a, b)
#define VS_XOR(a, b) _mm_xor_si128(a, b)
#define VS_ADD16(a, b) _mm_add_epi16(a, b)
#define VS_AVG16(a, b) _mm_avg_epu16(a, b)
#define VS_ADD32(a, b) _mm_add_epi32(a, b)
#define VS_SUB32(a, b) _mm_sub_epi32(a, b)
#define VS_SLL32(v, bits) _mm_slli_epi32(v, bits)
#define VS_SRL32(v, bits) _mm_srli_epi32(v, bits)
#define VS_ADD64(a, b) _mm_add_epi64(a, b)
#define VS_SUB64(a, b) _mm_sub_epi64(a, b)
#define VS_SLL64(v, bits) _mm_slli_epi64(v, bits)
#define VS_SRL64(v, bits) _mm_srli_epi64(v, bits)
#define VS_MULTIPLY(v, ones) _mm_madd_epi16(v, ones)
#define VS_MULTIPLY_ADD(acc, v, ones) _mm_add_epi32(acc, _mm_madd_epi16(v, ones))

/* sum + the two 64-bit lanes, which together with it are below 2^64. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total64(__m128i lanes, uint64_t sum)
{
    sum += (uint64_t)_mm_cvtsi128_si64(lanes);
    __asm__("" : "+r"(sum)); /* now, or gcc adds it last: the other half is there a cycle later */
    return sum + (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(lanes, lanes)); /* pextrq is of SSE4.1 */
}

/* sum + the four 32-bit lanes, whose sum is below 2^32: congruent to it, below 2^64 for any 32-bit sum. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total32(__m128i lanes, uint64_t sum)
{
    return vs_total64(lanes, sum); /* two numbers of 32 bits in one of 64 */
}

#include "kernels/steps/vector_sum.h"
