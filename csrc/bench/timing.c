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

uint64_t timing_reckon_calls(uint64_t calls, uint64_t ticks, uint64_t target_ticks)
{
    if (ticks == 0 || ticks < target_ticks / 8) { /* a coarse counter may not have moved */
        return 0;
    }
    return (uint64_t)(1.1 * (double)calls * (double)target_ticks / (double)ticks) + 1;
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
        const uint64_t reckoned = timing_reckon_calls(calls, ticks, target_ticks);
        if (reckoned != 0) {
            return timing_whole_turns(cell, reckoned);
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

/* The next number of a generator that any seed will do for (splitmix64). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Shuffles each copy of the set by itself (Fisher and Yates); the same seeds give every cell the same orders. */
static void shuffle(struct timing_cell *cell, uint64_t seed)
{
    for (size_t start = 0; start + cell->calls <= cell->n_spans; start += cell->calls) {
        for (size_t left = cell->calls; left > 1; left--) {
            const size_t other = start + (size_t)(next_random(&seed) % left);
            const struct cksum_span last = cell->spans[start + left - 1];
            cell->spans[start + left - 1] = cell->spans[other];
            cell->spans[other] = last;
        }
    }
}

/* Runs the loop for so long, and for one batch at least; of mixed spans the first set only. A part of the results. */
static uint64_t warm_up(struct timing_cell *cell, uint64_t calls, uint64_t ticks)
{
    uint64_t result = 0;
    const uint64_t begin = timer_begin();
    do {
        cell->next = cell->mixed ? 0 : cell->next;
        result += run(cell, calls);
    } while (timer_now() - begin < ticks);
    return result;
}

/* One timed batch; the figures of the visit are still to come. */
static struct timing_sample time_batch(struct timing_cell *cell, uint64_t calls)
{
    struct timing_sample sample = {.calls = calls};
    if (cell->cold) {
        flush(cell);
    }
    const uint64_t begin = timer_begin();
    sample.result = run(cell, calls);
    sample.ticks = timer_end() - begin;
    return sample;
}

/* What the thread and the core were before a visit. */
struct state {
    struct disturbances disturbances;
    int processor;
};

static struct state state_now(void)
{
    return (struct state){.disturbances = disturbances_so_far(), .processor = sched_getcpu()};
}

/* Puts the chains and the flags of a visit that began in that state into its n samples. */
static void end_visit(struct state before, struct timing_sample *out, uint32_t n)
{
    const uint64_t add = ticks_of_adds(), mul = ticks_of_muls(), wide = ticks_of_wide_adds();
    const struct state after = state_now();
    uint32_t flags = after.processor != before.processor ? TIMING_MIGRATED : 0u;
    flags |= after.disturbances.switches != before.disturbances.switches ? TIMING_SWITCHED : 0u;
    flags |= after.disturbances.faults != before.disturbances.faults ? TIMING_FAULTED : 0u;
    for (uint32_t b = 0; b < n; b++) {
        out[b].batch = b;
        out[b].flags = flags;
        out[b].add_ticks = (uint32_t)add;
        out[b].mul_ticks = (uint32_t)mul;
        out[b].wide_ticks = (uint32_t)wide;
    }
}

/* One visit. No system call comes between the counters before and after it: one would throw the predictors back. */
static void visit(struct timing_cell *cell, const struct timing_visit *how, struct timing_sample *out)
{
    const uint64_t calls = cell->cold ? cell->n_spans : cell->calls;
    if (cell->mixed) {
        shuffle(cell, how->seed);
    }
    const struct state before = state_now();
    const uint64_t warm = warm_up(cell, calls, how->warm_ticks);
    for (uint32_t b = 0; b < how->batches; b++) {
        out[b] = time_batch(cell, calls);
    }
    end_visit(before, out, how->batches);
    out[0].result += warm;
}

void timing_round(struct timing_cell *cells, const uint64_t *order, size_t n, uint32_t round,
                  const struct timing_visit *how, struct timing_sample *out)
{
    for (size_t i = 0; i < n; i++) {
        struct timing_sample *of_cell = out + i * how->batches;
        visit(&cells[order[i]], how, of_cell);
        for (uint32_t b = 0; b < how->batches; b++) {
            of_cell[b].round = round;
            of_cell[b].order = (uint32_t)i;
            of_cell[b].cell = (uint32_t)order[i];
        }
    }
}

/* Other code: eight functions of 512 branches each, taken or not by chance, more code than a first cache holds. */
#define STEP                                                                                                           \
    if ((x = x * 0xd1342543de82ef95u + 1) >> 63) {                                                                     \
        x ^= x >> 29;                                                                                                  \
        OPAQUE(x);                                                                                                     \
    }
#define OTHER(name)                                                                                                    \
    __attribute__((noinline)) static uint64_t name(uint64_t x)                                                         \
    {                                                                                                                  \
        EIGHT_TIMES(EIGHT_TIMES(EIGHT_TIMES(STEP)))                                                                    \
        return x;                                                                                                      \
    }
OTHER(other_0)
OTHER(other_1)
OTHER(other_2)
OTHER(other_3)
OTHER(other_4)
OTHER(other_5)
OTHER(other_6)
OTHER(other_7)

/* Runs all of it until a branch predictor remembers nothing else. */
static uint64_t run_other_code(uint64_t seed)
{
    enum { TURNS = 64 };
    uint64_t x = seed | 1;
    for (int turn = 0; turn < TURNS; turn++) {
        x = other_7(other_6(other_5(other_4(other_3(other_2(other_1(other_0(x))))))));
    }
    return x;
}

void timing_learn(struct timing_cell *cell, const uint64_t *calls, uint32_t n, uint32_t round, uint64_t seed,
                  struct timing_sample *out)
{
    const struct state before = state_now();
    const uint64_t other = run_other_code(seed);
    for (uint32_t b = 0; b < n; b++) {
        out[b] = time_batch(cell, calls[b]);
        out[b].round = round;
    }
    end_visit(before, out, n);
    out[0].result += other;
}
