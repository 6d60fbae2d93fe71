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

/*
 * A mask of the first n bytes: 1 <= n <= 64, and 1 <= n <= 32 for the narrow one. bzhi instead of a shift: on Intel,
 * shifts share two ports with the additions with carry, the conditional moves and the jumps of which short buffers
 * consist.
 */
#if CKSUM_X86_64 && !defined(CKSUM_EMULATE_X86)
CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE uint64_t first_bytes(size_t n)
{
    return _bzhi_u64(UINT64_MAX, (unsigned)n);
}

CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE uint32_t first_bytes_narrow(size_t n)
{
    return _bzhi_u32(UINT32_MAX, (unsigned)n);
}
#else
CKSUM_INLINE uint64_t first_bytes(size_t n)
{
    return UINT64_MAX >> (64 - n);
}

CKSUM_INLINE uint32_t first_bytes_narrow(size_t n)
{
    return (uint32_t)first_bytes(n);
}
#endif

/* 1 <= n <= 32: the last 1 to 8 bytes by a masked load. */
CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE uint32_t sum_to_32(const unsigned char *p, size_t n, uint32_t sum)
{
    const size_t at = (n - 1) & 24;
    if (reaches_next_page(p, 24 + 16)) {
        return n < 8 ? cksum_sum_to_7(p, n, sum) : cksum_sum_to_32(p, n, cksum_last_word(p, n), sum);
    }
    const __m128i last = _mm_maskz_loadu_epi8((__mmask16)first_bytes_narrow(((n - 1) & 7) + 1), (const void *)(p + at));
    return cksum_sum_to_32(p, n, (uint64_t)_mm_cvtsi128_si64(last), sum);
}

#endif
