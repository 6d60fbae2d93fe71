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
 * What lost, in ticks on an Intel server core with AMX (2.6 GHz ticks):
 *     multiply-and-add without the tree      98 at 4 KiB instead of 83, 378 at 16 KiB instead of 288
 *     unaligned loads                        204 at 9000 bytes from an odd address instead of 173
 *     unpacking to 64-bit lanes (VPP)        466 at 16 KiB
 *     counting the carries of 32-bit lanes   482 at 16 KiB (fastcsum)
 *     vectors for 65..128                    8.0 at 100 bytes instead of 9.2, but 22 instead of 15 when one waits
 *     a jump table over lengths or vectors   best on AMD Zen 3 with one length; 20 to 27 ticks a miss with mixed ones
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define VS_TARGET "avx2,bmi2"
#define VS_ALIGN_FROM 2048u
#define VS_STREAMS_FROM ((size_t)1 << 20)
#define VS_TREES_FROM 2048u
#define VS_TAIL(p, n, sum) vs_tail(p, n, sum)
#include "kernels/steps/ymm.h"

CKSUM_TARGET(VS_TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx2)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *const p = buf;
    if (len < 8) {
        return cksum_sum_to_7(p, len, sum);
    }
    if (CKSUM_LIKELY(len <= 32)) {
        return cksum_sum_to_32(p, len, cksum_last_word(p, len), sum);
    }
    if (CKSUM_LIKELY(len <= 64)) {
        return CKSUM_LIKELY(len == 40) ? cksum_sum_40(p, sum) : cksum_sum_to_64(p, len, sum);
    }
    if (CKSUM_LIKELY(len <= 128)) {
        return cksum_fold64(cksum_sum_to_128(p, len, sum));
    }
    return vs_sum(p, len, sum);
}

CKSUM_KERNEL(avx2, .summary = "32 bytes a step: biased multiply-add, averages from 2 KiB; short in general registers",
             .role = CKSUM_PRODUCTION, .needs = CKSUM_CPU_AVX2 | CKSUM_CPU_BMI2, .vector_bits = 256,
             .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(avx2)
#endif
