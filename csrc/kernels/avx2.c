#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#define VS_TARGET "avx2,bmi2"
#if !defined(VS_ALIGN_FROM)
#define VS_ALIGN_FROM 2048u
#endif
#if !defined(VS_TREES_FROM)
#define VS_TREES_FROM 2048u
#endif
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
