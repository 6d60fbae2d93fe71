/* load_only_avx512: what the loads alone cost, 64 bytes each. See steps/load_only.h. */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"
#define LOAD_ONLY_TARGET "avx512f"
#define LOAD_ONLY_VECTOR __m512i
#define LOAD_ONLY_ZERO() _mm512_setzero_si512()
#define LOAD_ONLY_LOAD(p) _mm512_loadu_si512((const void *)(p))
#define LOAD_ONLY_OR(a, b) _mm512_or_si512(a, b)
#define LOAD_ONLY_LOW(a) _mm_cvtsi128_si32(_mm512_castsi512_si128(a))
#include "kernels/steps/load_only.h"

CKSUM_TARGET("avx512f") CKSUM_FUNCTION(load_only_avx512)(const void *buf, size_t len, uint32_t sum)
{
    return load_only(buf, len, sum);
}

CKSUM_KERNEL(load_only_avx512, .summary = "every byte loaded, 64 at a time, nothing summed", .role = CKSUM_YARDSTICK,
             .needs = CKSUM_CPU_AVX512F, .vector_bits = 512, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(load_only_avx512)
#endif
