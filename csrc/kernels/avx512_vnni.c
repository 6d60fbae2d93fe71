/*
 * avx512_vnni: 64 bytes a step on two operations: flip the top bit of each word, then a dot product with ones.
 *
 *     v                    w0         w1         w2 ...        16-bit words, unsigned
 *     v ^ 0x8000...        w0 - 2^15  w1 - 2^15  w2 - 2^15     the same bits read as signed words
 *     vpdpwssd acc, , 1    acc + w0 + w1 - 2^16  ...           32-bit lanes
 *
 * Lanes: a step adds at most 2 * 65535 = 131070 to a lane and takes 2^16 off, which the accumulators hold beforehand:
 * the number of steps is known (steps/vector_sum.h). Up to 128 KiB the total of all words is below 2^32, so no lane
 * can overflow on the way down to two numbers; longer buffers are widened and flushed every 16384 vectors, 1 MiB:
 * 16384 * 131070 < 2^31. The 64-bit total of the flushes would wrap after 2^49 bytes.
 *
 * Classes of lengths, chosen so that few tests are made and nothing after them depends on the length (vs_sum in
 * steps/vector_sum.h is all of them, in this order):
 *     1..32     general registers, the last 1 to 8 bytes by a masked load (steps/masked.h, steps/short.h)
 *     33..128   general registers, two classes
 *     129..256  four vectors, split into halves of 64-bit lanes
 *     257..512, 513..1024   eight, twelve or sixteen vectors, missing ones read from zeros
 *     1025..    loads aligned, eight vectors a round on eight accumulators, the rest as before; from 2 MiB four streams
 *
 * What lost, on AMD Zen 5 (gcc 12, 2026-12-01; ticks of 2.6 GHz a call):
 *     vectors for 65..128                    4.6 at 100 bytes instead of 5.7, but latency 23.1 instead of 12.5
 *     dot products for 129..256              5.8 instead of 5.1; masks and shifts of each half 5.5, latency the same
 *     a tail that begins where it does       5.4 instead of 5.1 at 256 bytes: its masked load needs a test of the page
 *     ends of classes shared by gcc          8.2 at 576 bytes instead of 7.7, with accumulators of zeros to begin with
 *     long buffers in the kernel's function  14.5 at 1500 bytes instead of 13.9: it saves registers for the longest
 *     1..32 by a load that reaches back      1 cycle more to wait: the address waits for the length
 * and on Intel Sapphire Rapids (gcc 12, 2026-11-30):
 *     four accumulators instead of eight     227 at 16 KiB instead of 204: the dot product takes 5 cycles (Zen 5: 4)
 *     unaligned loads                        168 at 9000 bytes from an odd address instead of 126
 *     multiply-and-add                       317 at 16 KiB; the averaging tree: see avx512
 *     unpacking to 64-bit lanes (VPP)        382 at 16 KiB; 6.0 at 20 bytes instead of 4.8
 *     a masked vector for 1..64 bytes        throughput the same; latency 19 instead of 11
 *     vectors for 65..128                    6.2 at 100 bytes instead of 8.9, but latency 20 instead of 15
 *     constants as the compiler makes them   9.9 at 256 bytes instead of 8.7: three broadcasts from general registers
 * Two dot products of bytes instead of flip and dot product are as many operations, and twice as slow at 16 KiB on
 * AMD Zen 5 (clang 19, 2026-11-30), where only two of the four vector pipes multiply. Four streams gain nothing at
 * 1 MiB, in Sapphire Rapids' second-level cache.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

CKSUM_JUMPS_TO_LINES /* 3.2 ticks at 20 bytes instead of 3.9, and 350 bytes of code (AMD Zen 5, gcc 12, 2026-12-01) */

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,bmi2"
#define VS_TARGET TARGET
#define VS_KERNEL cksum_fn_avx512_vnni
#define VS_CODE CKSUM_CODE(avx512_vnni)
#define VS_STEP(acc, v, ones) _mm512_dpwssd_epi32(acc, v, ones)
#define VS_CHAINS 8
#define VS_MASKED 1
#define VS_GENERAL_TO 128u
#define VS_ALIGN_FROM 1025u
#define VS_TREES_FROM 0
#define VS_STREAMS_FROM ((size_t)2 << 20)
#include "kernels/steps/zmm.h"

CKSUM_TARGET(TARGET)
CKSUM_ALIGNED CKSUM_FUNCTION(avx512_vnni)(const void *buf, size_t len, uint32_t sum)
{
    return vs_sum(buf, len, sum);
}

CKSUM_JUMPS_ANYWHERE

CKSUM_KERNEL(avx512_vnni,
             .summary = "64 bytes a step: biased dot products of words; short buffers in general registers",
             .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL |
                      CKSUM_CPU_AVX512VNNI | CKSUM_CPU_BMI2,
             .vector_bits = 512, .max_len = SIZE_MAX, .edges = vs_edges)

#else
CKSUM_KERNEL_ABSENT(avx512_vnni)
#endif
