
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"

#define VS_TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,bmi2"
#define VS_ID avx512_vnni
#define VS_STEP(acc, v) _mm512_dpwssd_epi32(acc, _mm512_xor_si512(v, flip), ones)
#if !defined(VS_ALIGN_FROM)
#define VS_ALIGN_FROM 1025u
#endif
#include "kernels/steps/avx512.h"

CKSUM_TARGET(VS_TARGET) CKSUM_ALIGNED CKSUM_FUNCTION(avx512_vnni)(const void *buf, size_t len, uint32_t sum)
{
    return sum_any(buf, len, sum);
}

CKSUM_KERNEL(avx512_vnni,
             .summary = "64 bytes a step: biased dot products of words; short buffers in general registers",
             .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL |
                      CKSUM_CPU_AVX512VNNI | CKSUM_CPU_BMI2,
             .vector_bits = 512, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(avx512_vnni)
#endif
