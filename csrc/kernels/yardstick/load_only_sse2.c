/* load_only_sse2: what the loads alone cost, 16 bytes each. See steps/load_only.h. */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"
#define LOAD_ONLY_TARGET "sse2"
#define LOAD_ONLY_VECTOR __m128i
#define LOAD_ONLY_ZERO() _mm_setzero_si128()
#define LOAD_ONLY_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define LOAD_ONLY_OR(a, b) _mm_or_si128(a, b)
#define LOAD_ONLY_LOW(a) _mm_cvtsi128_si32(a)
#include "kernels/steps/load_only.h"

CKSUM_TARGET("sse2") CKSUM_FUNCTION(load_only_sse2)(const void *buf, size_t len, uint32_t sum)
{
    return load_only(buf, len, sum);
}

CKSUM_KERNEL(load_only_sse2, .summary = "every byte loaded, 16 at a time, nothing summed", .role = CKSUM_YARDSTICK,
             .needs = CKSUM_CPU_SSE2, .vector_bits = 128, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(load_only_sse2)
#endif
