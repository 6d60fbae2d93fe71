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
 * vectors, of which the last is masked (throughput 7.3 instead of 9.2, but latency 22 instead of 15; Intel Sapphire
 * Rapids, gcc 12, 2026-11-30).
 *
 * Dot products (VNNI, which Cascade Lake has and Skylake-X lacks) would save an operation of three below 2 KiB; that
 * would be a kernel of its own for two kinds of CPU.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define TARGET "avx512f,avx512bw,avx512vl,avx2,bmi2"
#define VS_TARGET TARGET
#define VS_KERNEL cksum_fn_avx512_256
#define VS_CODE CKSUM_CODE(avx512_256)
#define VS_STEP(acc, v, ones) VS_MULTIPLY_ADD(acc, v, ones)
#define VS_CHAINS 4
#define VS_MASKED 1
#define VS_GENERAL_TO 64u
#define VS_ALIGN_FROM 2048u
#define VS_TREES_FROM 2048u
#define VS_STREAMS_FROM ((size_t)2 << 20)
#include "kernels/steps/ymm.h"

CKSUM_TARGET(TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx512_256)(const void *buf, size_t len, uint32_t sum)
{
    return vs_sum(buf, len, sum);
}

CKSUM_KERNEL(avx512_256, .summary = "AVX-512 on 256-bit vectors, for cores that slow down for 512-bit ones",
             .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_AVX2 | CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512VL | CKSUM_CPU_BMI2,
             .vector_bits = 256, .max_len = SIZE_MAX, .edges = vs_edges)

#else
CKSUM_KERNEL_ABSENT(avx512_256)
#endif
