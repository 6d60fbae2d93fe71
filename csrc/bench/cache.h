/* cache.h: taking bytes out of every cache, for measurements of the first call on cold data. */
#ifndef CKSUM_BENCH_CACHE_H
#define CKSUM_BENCH_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"

#if CKSUM_X86_64
#include <x86intrin.h>
#define CACHE_CAN_FLUSH 1
#elif CKSUM_AARCH64
#define CACHE_CAN_FLUSH 1
#else
#define CACHE_CAN_FLUSH 0
#endif

/* 64 bytes on x86-64; aarch64 lines are as long or longer, so that a line may be flushed twice, never missed. */
#define CACHE_LINE 64u

/* Writes back and drops the lines of p[0..n), and waits until that is done. Does nothing where it can't be done. */
CKSUM_INLINE void cache_flush(const unsigned char *p, size_t n)
{
    const unsigned char *line = p - (uintptr_t)p % CACHE_LINE;
    for (; n > 0 && line < p + n; line += CACHE_LINE) {
#if CKSUM_X86_64
        _mm_clflush(line);
#elif CKSUM_AARCH64
        __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#endif
    }
#if CKSUM_X86_64
    _mm_mfence();
#elif CKSUM_AARCH64
    __asm__ volatile("dsb sy" : : : "memory");
#endif
}

#endif
