/*
 * fastcsum_vec: in the manner of fastcsum's vec256: 32-bit lanes that wrap, and their carries counted.
 *
 * AVX2 compares unsigned lanes by a detour: the sum of a and b has wrapped exactly if max(sum, a) is not the sum. The
 * compare gives -1 for each lane that did *not* wrap. Eight vectors of a 256-byte step are added as a tree, so that the
 * seven sums need not wait for each other, and the eighth goes into the accumulator; the -1s are summed in lanes of
 * their own. A step has eight additions, so lane carries = 8 * steps - lanes not wrapped, and each carry is worth 2^32,
 * which is 1 modulo 0xffff.
 *
 * The count of a lane reaches 8 a step and is flushed after 2^28 steps, 64 GiB: 8 * 2^28 = 2^31 < 2^32.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"
#include "kernels/steps/adc.h"

#define STEP 256u
#define BLOCK_STEPS ((size_t)1 << 28)

/* a + b lane by lane; *kept is less by one in each lane that did not wrap. */
CKSUM_TARGET("avx2") CKSUM_INLINE __m256i add_counting(__m256i a, __m256i b, __m256i *kept)
{
    const __m256i sum = _mm256_add_epi32(a, b);
    *kept = _mm256_add_epi32(*kept, _mm256_cmpeq_epi32(_mm256_max_epu32(sum, a), sum));
    return sum;
}

CKSUM_TARGET("avx2") CKSUM_INLINE __m256i load(const unsigned char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* The sum of eight unsigned 32-bit lanes; below 2^35. */
CKSUM_TARGET("avx2") CKSUM_INLINE uint64_t sum_of_lanes(__m256i lanes)
{
    const __m256i four =
        _mm256_add_epi64(_mm256_srli_epi64(lanes, 32), _mm256_and_si256(lanes, _mm256_set1_epi64x(UINT32_MAX)));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return (uint64_t)_mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
}

CKSUM_TARGET("avx2") CKSUM_FUNCTION(fastcsum_vec)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    for (size_t left = len / STEP; left > 0;) {
        const size_t steps = left < BLOCK_STEPS ? left : BLOCK_STEPS;
        left -= steps;
        __m256i lanes = _mm256_setzero_si256(), kept0 = lanes, kept1 = lanes;
        for (size_t i = 0; i < steps; i++, p += STEP) {
            const __m256i a = add_counting(load(p), load(p + 32), &kept0);
            const __m256i b = add_counting(load(p + 64), load(p + 96), &kept1);
            const __m256i c = add_counting(load(p + 128), load(p + 160), &kept0);
            const __m256i d = add_counting(load(p + 192), load(p + 224), &kept1);
            const __m256i ab = add_counting(a, b, &kept0);
            const __m256i cd = add_counting(c, d, &kept1);
            lanes = add_counting(lanes, add_counting(ab, cd, &kept0), &kept1);
        }
        const __m256i kept = _mm256_add_epi32(kept0, kept1);
        const __m256i carries = _mm256_add_epi32(_mm256_set1_epi32((int)(uint32_t)(8 * steps)), kept);
        total = cksum_add64(total, sum_of_lanes(lanes));
        total = cksum_add64(total, sum_of_lanes(carries));
    }
    for (size_t blocks = len % STEP / 64; blocks > 0; blocks--, p += 64) {
        total = cksum_adc_8(total, p);
    }
    total = cksum_adc_ladder(total, &p, len);
    return cksum_fold64(cksum_add64(total, cksum_load_tail(p, len & 7)));
}

CKSUM_KERNEL(fastcsum_vec, .summary = "AVX2 32-bit additions in a tree, carries widened by max and compare: fastcsum",
             .origin = "in the manner of fastcsum (github.com/dinhngtu/fastcsum) fastcsum_vec256; written afresh in "
                       "intrinsics instead of compiler vectors; below 256 bytes one add/adc chain a power of two",
             .role = CKSUM_PEER, .needs = CKSUM_CPU_AVX2, .vector_bits = 256, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(fastcsum_vec)
#endif
