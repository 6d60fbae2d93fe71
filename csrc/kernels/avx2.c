/*
 * avx2: 32 bytes a step: flip the top bit of each word, multiply-and-add with ones, add.
 *
 *     v                  w0          w1          w2 ...       16-bit words, unsigned
 *     v ^ 0x8000...      w0 - 2^15   w1 - 2^15   w2 - 2^15    the same bits read as signed words
 *     madd with 1, 1     w0 + w1 - 2^16          ...          32-bit lanes
 *
 * From 2 KiB on the averaging tree, two operations a vector instead of three, on aligned loads (steps/vector_sum.h has
 * the arithmetic of both). From 1 MiB on, beyond the second-level cache of most CPUs that lack AVX-512, four streams.
 *
 * Lanes: a step adds at most 2 * 65535 = 131070 to a lane, and takes 2^16 off which the accumulators hold beforehand;
 * the total of 128 KiB is below 2^32. The tree is flushed every 1024 trees of 16 vectors, 512 KiB, each word's sum
 * then being below 16 * 1024 * 65535 < 2^30.
 *
 * Up to 128 bytes general registers (steps/short.h): chains of additions give the sum sooner than a vector's reduction.
 * There is no byte-masked load: the last vector of a buffer is the last 32 bytes of its whole words, and what
 * belongs to earlier vectors is cleared by a mask loaded from a sliding window.
 *
 * What lost (Intel Sapphire Rapids, gcc 12, 2026-11-30; ticks of 2.6 GHz a call):
 *     multiply-and-add without the tree      98 at 4 KiB instead of 83, 378 at 16 KiB instead of 288
 *     unaligned loads                        204 at 9000 bytes from an odd address instead of 173
 *     unpacking to 64-bit lanes (VPP)        466 at 16 KiB
 *     counting the carries of 32-bit lanes   482 at 16 KiB (fastcsum)
 *     vectors for 65..128                    throughput 8.0 at 100 bytes instead of 9.2, but latency 22 instead of 15
 * and on AMD Zen 3 (gcc 12, 2026-12-01; ticks of 2.45 GHz):
 *     general registers for 129..256         throughput 20.0 at 192 and 256 bytes instead of 13.7, but latency 26.4
 *                                            instead of 30.4; 1..300 mixed 26.5 instead of 23.8
 *     a jump table over lengths or vectors   best on AMD Zen 3 with one length; with mixed ones each mispredicted
 *                                            jump costs 20 to 27 ticks
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define TARGET "avx2,bmi2"
#define VS_TARGET TARGET
#define VS_KERNEL cksum_fn_avx2
#define VS_CODE CKSUM_CODE(avx2)
#define VS_STEP(acc, v, ones) VS_MULTIPLY_ADD(acc, v, ones)
#define VS_CHAINS 4
#define VS_MASKED 0
#define VS_GENERAL_TO 128u
#define VS_ALIGN_FROM 2048u
#define VS_TREES_FROM 2048u
#define VS_STREAMS_FROM ((size_t)1 << 20)
#include "kernels/steps/ymm.h"

CKSUM_TARGET(TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx2)(const void *buf, size_t len, uint32_t sum)
{
    return vs_sum(buf, len, sum);
}

CKSUM_KERNEL(avx2, .summary = "32 bytes a step: biased multiply-add, averages from 2 KiB; short in general registers",
             .role = CKSUM_PRODUCTION, .needs = CKSUM_CPU_AVX2 | CKSUM_CPU_BMI2, .vector_bits = 256,
             .max_len = SIZE_MAX, .edges = vs_edges)

#else
CKSUM_KERNEL_ABSENT(avx2)
#endif
