/*
 * timer.h: an ordered begin and end reading of the tick counter. The only code that reads one.
 *
 * x86-64: begin = lfence; rdtsc; lfence. The first lfence waits for everything before, the second keeps what follows
 * from starting before the counter is read. end = rdtscp; lfence: rdtscp itself waits for everything before, the
 * lfence keeps what follows out. (cpuid as a fence would trap in a virtual machine.) The counter runs at a constant
 * rate that is not the core's clock: its unit is tsc_ticks, never "cycles".
 * aarch64: isb; mrs cntvct_el0, a counter of some 25 MHz to 1 GHz: cntvct_ticks.
 * Elsewhere: clock_gettime(CLOCK_MONOTONIC): nanoseconds.
 */
#ifndef CKSUM_BENCH_TIMER_H
#define CKSUM_BENCH_TIMER_H

#include <stdint.h>
#include <time.h>

#include "base/arch.h"

#if CKSUM_X86_64
#include <x86intrin.h>
#define TIMER_UNIT "tsc_ticks"

/* A reading without any order, to see how finely the counter counts. */
CKSUM_INLINE uint64_t timer_now(void)
{
    return __rdtsc();
}

CKSUM_INLINE uint64_t timer_begin(void)
{
    _mm_lfence();
    const uint64_t ticks = __rdtsc();
    _mm_lfence();
    return ticks;
}

CKSUM_INLINE uint64_t timer_end(void)
{
    unsigned processor;
    const uint64_t ticks = __rdtscp(&processor);
    _mm_lfence();
    return ticks;
}

#elif CKSUM_AARCH64
#define TIMER_UNIT "cntvct_ticks"

CKSUM_INLINE uint64_t timer_now(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

CKSUM_INLINE uint64_t timer_begin(void)
{
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
    return ticks;
}

CKSUM_INLINE uint64_t timer_end(void)
{
    return timer_begin();
}

#else
#define TIMER_UNIT "ns"

CKSUM_INLINE uint64_t timer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

CKSUM_INLINE uint64_t timer_begin(void)
{
    return timer_now();
}

CKSUM_INLINE uint64_t timer_end(void)
{
    return timer_begin();
}
#endif

#endif
