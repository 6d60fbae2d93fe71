/* timing.c: rounds, batches, calibration. See timing.h. */
#define _GNU_SOURCE /* sched_getcpu, RUSAGE_THREAD */
#include "bench/timing.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "bench/cache.h"
#include "bench/timer.h"

/* A value the compiler knows nothing about from here on, in a register. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* Eight times: enough that the loop's own counter runs beside the chain instead of in it. */
#define EIGHT_TIMES(step) step step step step step step step step

/* Ticks of TIMING_CHAIN additions each of which needs the last: one core cycle each on every core we know. */
static uint64_t ticks_of_adds(void)
{
    uint64_t x = 1, y = 3;
    OPAQUE(y);
    const uint64_t begin = timer_begin();
    for (unsigned i = 0; i < TIMING_CHAIN / 8; i++) {
        EIGHT_TIMES(x += y; OPAQUE(x);)
    }
    return timer_end() - begin;
}

/* Ticks of TIMING_CHAIN multiplications each of which needs the last: three core cycles each on x86-64. */
static uint64_t ticks_of_muls(void)
{
    uint64_t x = 1, y = 3;
    OPAQUE(y);
    const uint64_t begin = timer_begin();
    for (unsigned i = 0; i < TIMING_CHAIN / 8; i++) {
        EIGHT_TIMES(x *= y; OPAQUE(x);)
    }
    return timer_end() - begin;
}

/* Ticks of four chains of TIMING_CHAIN additions side by side: slows down when somebody shares the core. */
static uint64_t ticks_of_wide_adds(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4, y = 5;
    OPAQUE(y);
    const uint64_t begin = timer_begin();
    for (unsigned i = 0; i < TIMING_CHAIN / 8; i++) {
        EIGHT_TIMES(a += y; b += y; c += y; d += y; OPAQUE(a); OPAQUE(b); OPAQUE(c); OPAQUE(d);)
    }
    return timer_end() - begin;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The tick counter and the monotonic clock at one moment, in ns; of several tries, the one with the tightest bracket.
 */
static void read_both_clocks(uint64_t *ticks, double *ns)
{
    uint64_t tightest = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        struct timespec now;
        const uint64_t before = timer_begin();
        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        const uint64_t after = timer_end();
        if (after - before < tightest) {
            tightest = after - before;
            *ticks = before + (after - before) / 2;
            *ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
        }
    }
}

/* Ticks a second: the median of five windows of 20 ms against CLOCK_MONOTONIC_RAW. */
static double tick_rate(void)
{
    enum { WINDOWS = 5 };
    double rates[WINDOWS];
    for (int i = 0; i < WINDOWS; i++) {
        uint64_t first_ticks = 0, last_ticks = 0;
        double first_ns = 0, last_ns = 0;
        const struct timespec window = {.tv_nsec = 20000000};
        read_both_clocks(&first_ticks, &first_ns);
        nanosleep(&window, NULL);
        read_both_clocks(&last_ticks, &last_ns);
        rates[i] = (double)(last_ticks - first_ticks) * 1e9 / (last_ns - first_ns);
    }
    qsort(rates, WINDOWS, sizeof rates[0], compare_doubles);
    return rates[WINDOWS / 2];
}

double timing_step(const uint32_t *seen, size_t n)
{
    size_t smallest = 1, last = 0, gap = n;
    double ticks = 0, steps = 0;
    while (smallest < n && seen[smallest] == 0) {
        smallest++;
    }
    if (smallest == n) {
        return 1;
    }
    /* were every difference a whole number of smallest ones, how large were they? */
    for (size_t d = smallest; d < n; d++) {
        const size_t multiple = (d + smallest / 2) / smallest;
        ticks += (double)seen[d] * (double)d;
        steps += (double)seen[d] * (double)multiple;
    }
    const double step = ticks / steps;
    bool jumps = true;
    for (size_t d = smallest; d < n; d++) {
        if (seen[d] != 0) {
            const double multiple = (double)(size_t)((double)d / step + 0.5);
            const double off = (double)d - multiple * step;
            jumps = jumps && off > -1.5 && off < 1.5;
            gap = last != 0 && d - last < gap ? d - last : gap;
            last = d;
        }
    }
    return jumps || gap == n ? step : (double)gap;
}

void timing_measure_timer(struct timing_facts *facts)
{
    enum { READINGS = 100000, LARGEST = 256 };
    uint32_t seen[LARGEST] = {0};
    uint64_t pair = UINT64_MAX;
    uint64_t last = timer_now();
    for (int i = 0; i < READINGS; i++) {
        const uint64_t now = timer_now();
        if (now - last < LARGEST) {
            seen[now - last]++;
        }
        last = now;
    }
    for (int i = 0; i < READINGS / 10; i++) {
        const uint64_t begin = timer_begin();
        pair = min_u64(pair, timer_end() - begin);
    }
    *facts =
        (struct timing_facts){.unit = TIMER_UNIT, .step = timing_step(seen, LARGEST), .pair = pair, .hz = tick_rate()};
}

/* One batch of the cell by its loop. The scratch bytes are written by one thread at a time: each has its own. */
static uint64_t run(struct timing_cell *cell, uint64_t calls)
{
    static _Thread_local unsigned char scratch[CKSUM_SCRATCH_BYTES];
    const struct cksum_span *spans = cell->spans;
    size_t n_spans = cell->n_spans;
    if (cell->walk) {
        cell->next = calls <= n_spans - cell->next ? cell->next : 0;
        spans += cell->next;
        cell->next += calls;
        n_spans = calls;
    }
    return cell->kernel->loops[cell->loop](spans, n_spans, calls, scratch);
}

uint64_t timing_whole_turns(const struct timing_cell *cell, uint64_t calls)
{
    if (cell->walk) {
        return calls < 1 ? 1 : min_u64(calls, cell->n_spans);
    }
    const uint64_t turns = calls / cell->n_spans + (calls % cell->n_spans != 0);
    return (turns > 0 ? turns : 1) * cell->n_spans;
}

static void flush(const struct timing_cell *cell)
{
    for (size_t i = 0; i < cell->n_spans; i++) {
        cache_flush(cell->spans[i].buf, cell->spans[i].len);
    }
}

uint64_t timing_batch_calls(struct timing_cell *cell, uint64_t target_ticks)
{
    volatile uint64_t result;
    for (uint64_t calls = timing_whole_turns(cell, 1);; calls = timing_whole_turns(cell, 2 * calls)) {
        uint64_t ticks = UINT64_MAX;
        for (int i = 0; i < 3; i++) {
            const uint64_t begin = timer_begin();
            result = run(cell, calls);
            ticks = min_u64(ticks, timer_end() - begin);
        }
        (void)result;
        if (ticks >= target_ticks || (cell->walk && calls == cell->n_spans)) {
            return calls;
        }
        if (ticks >=
            target_ticks / 8) { /* near enough to reckon the rest; a tenth more, so that noise can't undercut */
            return timing_whole_turns(cell, (uint64_t)(1.1 * (double)calls * (double)target_ticks / (double)ticks) + 1);
        }
    }
}

/* Context switches and page faults of this thread so far. */
struct disturbances {
    long switches;
    long faults;
};

static struct disturbances disturbances_so_far(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct disturbances){.switches = usage.ru_nvcsw + usage.ru_nivcsw,
                                 .faults = usage.ru_minflt + usage.ru_majflt};
}

/* One batch, after a quarter batch that warms the branch predictor for it, and the caches unless they are flushed. */
static struct timing_sample time_cell(struct timing_cell *cell)
{
    struct timing_sample sample = {.calls = cell->cold ? cell->n_spans : cell->calls};
    sample.result = run(cell, timing_whole_turns(cell, sample.calls / 4));
    if (cell->cold) {
        flush(cell);
    }

    const struct disturbances before = disturbances_so_far();
    const int processor = sched_getcpu();
    const uint64_t begin = timer_begin();
    sample.result += run(cell, sample.calls);
    sample.ticks = timer_end() - begin;
    const struct disturbances after = disturbances_so_far();

    sample.flags |= sched_getcpu() != processor ? TIMING_MIGRATED : 0u;
    sample.flags |= after.switches != before.switches ? TIMING_SWITCHED : 0u;
    sample.flags |= after.faults != before.faults ? TIMING_FAULTED : 0u;
    return sample;
}

void timing_round(struct timing_cell *cells, const uint32_t *order, size_t n, uint32_t round, struct timing_sample *out)
{
    uint64_t add = ticks_of_adds();
    uint64_t mul = ticks_of_muls();
    uint64_t wide = ticks_of_wide_adds();
    for (size_t i = 0; i < n; i++) {
        out[i] = time_cell(&cells[order[i]]);
        out[i].round = round;
        out[i].order = (uint32_t)i;
        out[i].cell = order[i];
    }
    add = min_u64(add, ticks_of_adds());
    mul = min_u64(mul, ticks_of_muls());
    wide = min_u64(wide, ticks_of_wide_adds());
    for (size_t i = 0; i < n; i++) {
        out[i].add_ticks = (uint32_t)add;
        out[i].mul_ticks = (uint32_t)mul;
        out[i].wide_ticks = (uint32_t)wide;
    }
}
