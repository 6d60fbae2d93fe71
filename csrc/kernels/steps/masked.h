/*
 * masked.h: byte-masked loads (AVX-512 BW and VL), and buffers of 1 to 64 bytes by them.
 */
#ifndef CKSUM_KERNELS_STEPS_MASKED_H
#define CKSUM_KERNELS_STEPS_MASKED_H

#include <stdbool.h>

#include "base/intrinsics.h"
#include "kernels/steps/short.h"

#define MASKED_TARGET "avx512f,avx512bw,avx512vl,bmi2"

/*
 * A mask of the first n bytes, 1 <= n <= 64. bzhi instead of a shift: on Intel, shifts share two ports with the
 * additions with carry, the conditional moves and the jumps of which short buffers consist.
 */
CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE uint64_t masked_first(size_t n)
{
#if CKSUM_X86_64 && !defined(CKSUM_EMULATE_X86)
    return _bzhi_u64(UINT64_MAX, (unsigned)n);
#else
    return UINT64_MAX >> (64 - n);
#endif
}

/*
 * A mask of ((n - 1) & 7) + 1 bytes. From memory: made of n it takes four instructions more, of the some forty of a
 * call (20 bytes 3.9 ticks instead of 3.3 by clang 19, 1..32 5.0 instead of 4.6 by gcc 12; AMD Zen 5, 2026-12-01).
 */
CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE __mmask16 masked_last_word(size_t n)
{
#if CKSUM_X86_64 && !defined(CKSUM_EMULATE_X86)
    __mmask16 mask;
    __asm__("kmovw %c[masks](%[zeros],%[at],2), %[mask]"
            : [mask] "=k"(mask)
            : [masks] "i"(CKSUM_ZEROS), [zeros] "r"(cksum_zeros), [at] "r"(n & 7), "m"(cksum_zeros));
    return mask;
#else
    return cksum_zeros[CKSUM_ZEROS + 2 * (n & 7)];
#endif
}

/*
 * Whether a masked load of a buffer of 1 to 32 bytes at p may reach into the next page. It is right there too, but
 * takes a microcode assist if that page is unmapped or was never touched: each time 360 to 415 ticks of 2.6 GHz on AMD
 * Zen 5 (2026-11-30).
 */
CKSUM_INLINE bool masked_may_reach_next_page(const unsigned char *p)
{
    enum { SMALLEST_PAGE = 4096, REACH = 24 + 16 };
    return CKSUM_UNLIKELY(((uintptr_t)p & (SMALLEST_PAGE - 1)) > SMALLEST_PAGE - REACH);
}

/* sum + p[0..n) for 1 <= n <= 32: the last 1 to 8 bytes by a masked load, so that no length has a branch of its own. */
CKSUM_TARGET(MASKED_TARGET) CKSUM_INLINE uint32_t masked_sum_to_32(const unsigned char *p, size_t n, uint64_t sum)
{
    const size_t at = (n - 1) & 24;
    if (masked_may_reach_next_page(p)) {
        return n < 8 ? cksum_sum_0_to_7(p, n, sum) : cksum_sum_1_to_32(p, n, cksum_last_word(p, n), sum);
    }
    const __m128i last = _mm_maskz_loadu_epi8(masked_last_word(n), (const void *)(p + at));
    return cksum_sum_1_to_32(p, n, (uint64_t)_mm_cvtsi128_si64(last), sum);
}

/*
 * Whether 1 <= n <= 64; if so, *result becomes sum + p[0..n). As cksum_sum_to_64, but an empty buffer is not told, and
 * 40 bytes are told second: first, they took no less, and 1 to 32 bytes 3.9 ticks instead of 3.7 (AMD Zen 5, gcc 12,
 * 2026-12-01).
 */
CKSUM_TARGET(MASKED_TARGET)
CKSUM_INLINE bool masked_sum_to_64(const unsigned char *p, size_t n, uint64_t sum, uint32_t *result)
{
    const size_t last = n - 1; /* of an empty buffer: larger than any length */
    if (CKSUM_UNLIKELY(last < 32)) {
        *result = masked_sum_to_32(p, n, sum);
        return true;
    }
    if (CKSUM_UNLIKELY(n == 40)) {
        *result = cksum_sum_40(p, sum);
        return true;
    }
    if (CKSUM_UNLIKELY(last < 64)) {
        *result = cksum_sum_33_to_64(p, n, sum);
        return true;
    }
    return false;
}

#undef MASKED_TARGET
#endif
