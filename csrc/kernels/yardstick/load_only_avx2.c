/* load_only_avx2: what the loads alone cost, 32 bytes each. See steps/load_only.h. */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"
#define LOAD_ONLY_TARGET "avx2"
#define LOAD_ONLY_VECTOR __m256i
#define LOAD_ONLY_ZERO() _mm256_setzero_si256()
#define LOAD_ONLY_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define LOAD_ONLY_OR(a, b) _mm256_or_si256(a, b)
#define LOAD_ONLY_LOW(a) _mm_cvtsi128_si32(_mm256_castsi256_si128(a))
#include "kernels/steps/load_only.h"

CKSUM_TARGET("avx2") CKSUM_FUNCTION(load_only_avx2)(const void *buf, size_t len, uint32_t sum)
{
    return load_only(buf, len, sum);
}

CKSUM_KERNEL(load_only_avx2, .summary = "every byte loaded, 32 at a time, nothing summed", .role = CKSUM_YARDSTICK,
             .needs = CKSUM_CPU_AVX2, .vector_bits = 256, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(load_only_avx2)
#endif
