/*
 * avx512: 64 bytes a step without VNNI: flip the top bit of each word, multiply-and-add with ones, add; from 8 KiB on
 * the averaging tree, which has two operations a vector instead of three (steps/vector_sum.h has its arithmetic).
 *
 * Lanes and classes of lengths are those of avx512_vnni; four accumulators instead of eight, as each waits one cycle
 * for the addition only. In the tree a lane of averages takes 65535 a tree of 16 vectors, and is flushed after 1024
 * trees, 1 MiB: 16 * 1024 * 65535 < 2^30 for each of the two words of a lane.
 *
 * The target of its functions names no VNNI: clang fuses the multiplication and the addition to vpdpwssd wherever it
 * may.
 *
 * What lost (Intel Sapphire Rapids, gcc 12, 2026-11-30; ticks of 2.6 GHz a call): multiply-and-add at 16 KiB 317
 * instead of 250; the tree from 2 KiB on, 84 at 4 KiB instead of 79 and 52 at 2 KiB instead of 46 (from 4 KiB on, 41
 * at 4 KiB instead of 34 on AMD Zen 5, 2026-12-01); a tree that loads each vector once for the sum and once for the
 * average, as gcc would have it, 274 instead of 250 at 16 KiB. On AMD Zen 5 (clang 19, 2026-11-30) carry-save adders
 * (vpternlogd) lost to all of these, at 0.0152 core cycles a byte of 16 KiB instead of 0.0097.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,bmi2"
#define VS_TARGET TARGET
#define VS_KERNEL cksum_fn_avx512
#define VS_CODE CKSUM_CODE(avx512)
#define VS_STEP(acc, v, ones) VS_MULTIPLY_ADD(acc, v, ones)
#define VS_CHAINS 4
#define VS_MASKED 1
#define VS_GENERAL_TO 128u
#define VS_ALIGN_FROM 1025u
#define VS_TREES_FROM 8192u
#define VS_STREAMS_FROM ((size_t)2 << 20)
#include "kernels/steps/zmm.h"

CKSUM_TARGET(TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx512)(const void *buf, size_t len, uint32_t sum)
{
    return vs_sum(buf, len, sum);
}

CKSUM_KERNEL(avx512, .summary = "64 bytes a step: biased multiply-add; averages from 8 KiB; short in general registers",
             .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL | CKSUM_CPU_BMI2,
             .vector_bits = 512, .max_len = SIZE_MAX, .edges = vs_edges)

#else
CKSUM_KERNEL_ABSENT(avx512)
#endif
