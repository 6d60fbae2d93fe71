/*
 * avx2: 32 bytes a step, multiply-add of biased words.
 *
 * _mm256_madd_epi16 multiplies signed 16-bit words and adds neighbours: with ones it is the cheapest way from 16-bit
 * to 32-bit lanes, one instruction, were the words signed. So each word w is turned into w - 0x8000, which is what
 * flipping its top bit does:
 *
 *     v                  w0          w1          w2 ...       16-bit words, unsigned
 *     v ^ 0x8000...      w0 - 2^15   w1 - 2^15   w2 - 2^15    the same bits read as signed words
 *     madd with 1, 1     w0 + w1 - 2^16          ...          32-bit lanes, signed
 *
 * Each vector thus takes 2^16 too little into each 32-bit lane; vectors << 16 puts that back, once a block.
 *
 * Why no lane overflows: a pair of words is at most 2 * 65535 = 131070, so the 32768 vectors of a block add at most
 * 32768 * 131070 = 4294901760 < 2^32 to a lane, all four accumulators together. Modulo 2^32 the lanes and their sum
 * may wrap in between, but once the bias is back they are the true sums. Each block is then widened to 64-bit lanes
 * (eight numbers below 2^32: their sum is below 2^35) and added to the total with end-around carry, so the length has
 * no limit.
 *
 * What lost, on AMD Zen 3 at 9000 bytes: unpacking to 64-bit lanes (4 operations for 32 bytes instead of 3) took 1.4
 * times as long, summing even and odd bytes by psadbw 1.65 times. Below 64 bytes vectors do not pay: the start and
 * the reduction cost as much as eight additions.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"
#include "kernels/steps/rest.h"

#define VECTOR 32u
#define BLOCK_VECTORS 32768u
_Static_assert(BLOCK_VECTORS * 131070ull <= UINT32_MAX, "a 32-bit lane must hold the sum of a whole block");

#define SHORTEST_FOR_VECTORS 64u

/* The 32-bit sums of the 8 pairs of words at p, each less 2^16. */
CKSUM_TARGET("avx2") CKSUM_INLINE __m256i biased_pairs(const unsigned char *p)
{
    const __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)p);
    const __m256i flipped = _mm256_xor_si256(words, _mm256_set1_epi16(INT16_MIN));
    return _mm256_madd_epi16(flipped, _mm256_set1_epi16(1));
}

/* The sum of eight unsigned 32-bit lanes; below 2^35. */
CKSUM_TARGET("avx2") CKSUM_INLINE uint64_t sum_of_lanes(__m256i lanes)
{
    const __m256i even = _mm256_and_si256(lanes, _mm256_set1_epi64x(UINT32_MAX));
    const __m256i odd = _mm256_srli_epi64(lanes, 32);
    const __m256i four = _mm256_add_epi64(even, odd);
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    const __m128i one = _mm_add_epi64(two, _mm_unpackhi_epi64(two, two));
    return (uint64_t)_mm_cvtsi128_si64(one);
}

/* The sum of the words of 1 to BLOCK_VECTORS vectors at p. */
CKSUM_TARGET("avx2") CKSUM_INLINE uint64_t sum_block(const unsigned char *p, size_t vectors)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    const __m256i bias = _mm256_set1_epi32((int)(vectors << 16)); /* 2^31 at most */

    for (size_t i = vectors / 4; i > 0; i--, p += 4 * VECTOR) {
        a = _mm256_add_epi32(a, biased_pairs(p));
        b = _mm256_add_epi32(b, biased_pairs(p + VECTOR));
        c = _mm256_add_epi32(c, biased_pairs(p + 2 * VECTOR));
        d = _mm256_add_epi32(d, biased_pairs(p + 3 * VECTOR));
    }
    for (size_t i = vectors % 4; i > 0; i--, p += VECTOR) {
        a = _mm256_add_epi32(a, biased_pairs(p));
    }
    a = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
    return sum_of_lanes(_mm256_add_epi32(a, bias));
}

CKSUM_TARGET("avx2") CKSUM_FUNCTION(avx2)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    if (len >= SHORTEST_FOR_VECTORS) {
        do {
            const size_t whole = len / VECTOR;
            const size_t vectors = whole < BLOCK_VECTORS ? whole : BLOCK_VECTORS;
            total = cksum_add64(total, sum_block(p, vectors));
            p += vectors * VECTOR;
            len -= vectors * VECTOR;
        } while (len >= VECTOR);
    }
    return cksum_fold64(cksum_add_rest(total, p, len));
}

CKSUM_KERNEL(avx2, .summary = "32 bytes a step: biased multiply-add into 32-bit lanes", .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_AVX2, .vector_bits = 256, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(avx2)
#endif
