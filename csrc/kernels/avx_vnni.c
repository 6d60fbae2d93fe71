/*
 * avx_vnni: 32 bytes a step on two operations, for CPUs with AVX-VNNI and without AVX-512: Intel's Alder Lake and later
 * client cores, its servers of small cores, AMD's Zen 5 where AVX-512 is switched off.
 *
 *     v ^ 0x8000...        w0 - 2^15  w1 - 2^15  w2 - 2^15     the bits of unsigned words read as signed ones
 *     vpdpwssd acc, , 1    acc + w0 + w1 - 2^16  ...           32-bit lanes
 *
 * The step is that of avx512_vnni in its VEX-coded form, on sixteen registers of half the width: eight accumulators,
 * two constants, and the flipped vector. All else is avx2's: general registers up to 128 bytes, no masked load.
 *
 * Lanes: a step adds at most 131070 to a lane and takes 2^16 off, which the accumulators hold beforehand. Up to 128 KiB
 * the total of all words is below 2^32; longer buffers are flushed every 16384 vectors, 512 KiB: 16384 * 131070 < 2^31.
 *
 * There is no averaging tree: it has two operations a vector as well. From 1 MiB on four streams, as in avx2.
 *
 * Not measured: no CPU was at hand that would choose it.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS && CKSUM_KNOWS_AVX_VNNI

#define TARGET "avxvnni,avx2,bmi2"
#define VS_TARGET TARGET
#define VS_KERNEL cksum_fn_avx_vnni
#define VS_CODE CKSUM_CODE(avx_vnni)
#define VS_STEP(acc, v, ones) _mm256_dpwssd_avx_epi32(acc, v, ones)
#define VS_CHAINS 8
#define VS_MASKED 0
#define VS_GENERAL_TO 128u
#define VS_ALIGN_FROM 1025u
#define VS_TREES_FROM 0
#define VS_STREAMS_FROM ((size_t)1 << 20)
#include "kernels/steps/ymm.h"

CKSUM_TARGET(TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx_vnni)(const void *buf, size_t len, uint32_t sum)
{
    return vs_sum(buf, len, sum);
}

CKSUM_KERNEL(avx_vnni, .summary = "32 bytes a step: biased dot products of words; short in general registers",
             .role = CKSUM_PRODUCTION, .needs = CKSUM_CPU_AVX2 | CKSUM_CPU_AVX_VNNI | CKSUM_CPU_BMI2,
             .vector_bits = 256, .max_len = SIZE_MAX, .edges = vs_edges)

#else
CKSUM_KERNEL_ABSENT(avx_vnni)
#endif
