/*
 * sse2: 16 bytes a step, for x86-64 CPUs without AVX2: those before 2013, and emulators.
 *
 * As avx2, on vectors of half the width and without BMI2: flip the top bit of each word, multiply-and-add with ones,
 * add; from 1 KiB on the averaging tree. A step adds at most 131070 to a lane, the total of up to 128 KiB is below
 * 2^32, and the tree is flushed every 1024 trees of 16 vectors, 256 KiB: all bounds are in vectors, whatever their
 * width.
 *
 * Up to 64 bytes general registers; 65 to 128 bytes are eight vectors without a branch.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define CKSUM_WITHOUT_BMI2 /* a parameter of steps/short.h */
#define TARGET "sse2"
#define VS_TARGET TARGET
#define VS_KERNEL cksum_fn_sse2
#define VS_CODE CKSUM_CODE(sse2)
#define VS_STEP(acc, v, ones) VS_MULTIPLY_ADD(acc, v, ones)
#define VS_CHAINS 4
#define VS_MASKED 0
#define VS_GENERAL_TO 64u
#define VS_ALIGN_FROM 1024u
#define VS_TREES_FROM 1024u
#define VS_STREAMS_FROM ((size_t)2 << 20)
#include "kernels/steps/xmm.h"

CKSUM_TARGET(TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(sse2)(const void *buf, size_t len, uint32_t sum)
{
    return vs_sum(buf, len, sum);
}

CKSUM_KERNEL(sse2, .summary = "16 bytes a step: biased multiply-add, averages from 1 KiB; short in general registers",
             .role = CKSUM_PRODUCTION, .needs = CKSUM_CPU_SSE2, .vector_bits = 128, .max_len = SIZE_MAX,
             .edges = vs_edges)

#else
CKSUM_KERNEL_ABSENT(sse2)
#endif
