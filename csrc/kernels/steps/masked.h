/*
 * masked.h: byte-masked loads (AVX-512 BW and VL), and the end of a page, where they must not be used.
 */
#ifndef CKSUM_KERNELS_STEPS_MASKED_H
#define CKSUM_KERNELS_STEPS_MASKED_H

#include <stdbool.h>

#include "base/intrinsics.h"
#include "kernels/steps/short.h"

#define SMALLEST_PAGE 4096u

/*
 * Whether `window` bytes at p reach into the next page. A masked load whose window does is right, but takes a microcode
 * assist if that page is unmapped or was never touched: 360 to 415 ticks on AMD Zen 5, each time.
 */
CKSUM_INLINE bool reaches_next_page(const unsigned char *p, unsigned window)
{
    return CKSUM_UNLIKELY(((uintptr_t)p & (SMALLEST_PAGE - 1)) > SMALLEST_PAGE - window);
}

#define MASKED_TARGET "avx512f,avx512bw,avx512vl,bmi2"

/* 1 <= n <= 32: the last 1 to 8 bytes by a masked load. */
CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE uint32_t sum_to_32(const unsigned char *p, size_t n, uint32_t sum)
{
    const size_t at = (n - 1) & 24;
    if (reaches_next_page(p, 24 + 16)) {
        return n < 8 ? cksum_sum_to_7(p, n, sum) : cksum_sum_to_32(p, n, cksum_last_word(p, n), sum);
    }
    const __m128i last = _mm_maskz_loadu_epi8((__mmask16)(0xffu >> (~(n - 1) & 7)), (const void *)(p + at));
    return cksum_sum_to_32(p, n, (uint64_t)_mm_cvtsi128_si64(last), sum);
}

#endif
