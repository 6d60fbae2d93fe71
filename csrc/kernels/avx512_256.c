/*
 * avx512_256: AVX-512's masked loads on 256-bit vectors, for cores that lower their clock for 512-bit ones (Skylake-X,
 * Cascade Lake and Cooper Lake: see cpu.c), for two milliseconds and more of all that runs beside the checksum.
 *
 * 32 bytes a step: flip the top bit of each word, multiply-and-add with ones, add; the averaging tree from 2 KiB on.
 * Lanes and flushes are avx2's: a step adds at most 131070 to a lane, the total of up to 128 KiB is below 2^32, the
 * tree is flushed every 1024 trees of 16 vectors, 512 KiB.
 *
 * It differs from avx2 in the lengths up to 128: the last 1 to 8 bytes of 32 come from a masked load, so that no length
 * has a branch of its own (mixed lengths of 1 to 32 bytes: 6.7 ticks instead of 10.2), and 65 to 128 bytes are four
 * vectors, of which the last is masked (7.3 instead of 9.2; but 22 instead of 15 when one waits for the sum).
 *
 * Dot products (VNNI, which Cascade Lake has and Skylake-X lacks) would save an operation of three below 2 KiB; that
 * would be a kernel of its own for two kinds of CPU.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define VS_TARGET "avx512f,avx512bw,avx512vl,avx2,bmi2"
#define VS_ALIGN_FROM 2048u
#define VS_STREAMS_FROM ((size_t)2 << 20)
#define VS_TREES_FROM 2048u
#define VS_TAIL(p, n, sum) masked_tail(p, n, ((n) - 1) & ~(size_t)31, sum)
#include "kernels/steps/masked.h"

CKSUM_TARGET(VS_TARGET) CKSUM_INLINE __m256i masked_tail(const unsigned char *p, size_t n, size_t at, uint64_t *sum);

#include "kernels/steps/ymm.h"

/* The last ((n - 1) & 31) + 1 of the n bytes at p, which begin at p + at; see masked_tail in steps/avx512.h. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE __m256i masked_tail(const unsigned char *p, size_t n, size_t at, uint64_t *sum)
{
    if (reaches_next_page(p + at, 32)) {
        return vs_tail(p, n, sum);
    }
    __asm__("" : "+r"(at));
    return _mm256_maskz_loadu_epi8(first_bytes_narrow(((n - 1) & 31) + 1), (const void *)(p + at));
}

CKSUM_TARGET(VS_TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx512_256)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *const p = buf;
    const size_t last = len - 1; /* of an empty buffer: larger than any length */
    if (CKSUM_LIKELY(last < 32)) {
        return sum_to_32(p, len, sum);
    }
    if (CKSUM_LIKELY(last < 64)) {
        return CKSUM_LIKELY(len == 40) ? cksum_sum_40(p, sum) : cksum_sum_to_64(p, len, sum);
    }
    return len == 0 ? sum : vs_sum(p, len, sum);
}

CKSUM_KERNEL(avx512_256, .summary = "AVX-512 on 256-bit vectors, for cores that slow down for 512-bit ones",
             .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_AVX2 | CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512VL | CKSUM_CPU_BMI2,
             .vector_bits = 256, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(avx512_256)
#endif
