/*
 * timing.h: rounds over cells, batch sizes, and what the tick counter itself is worth.
 *
 * Knows the contract of a kernel and its loops; knows no kernel, no Python, no statistics: it returns samples.
 */
#ifndef CKSUM_BENCH_TIMING_H
#define CKSUM_BENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* The tick counter: its unit, the step in which it counts, an empty begin/end pair, and its rate. */
struct timing_facts {
    const char *unit;
    double step;
    uint64_t pair;
    double hz;
};

/*
 * One cell of a sweep: a kernel, one of its loops, the spans to call it on, and the calls of one batch.
 *
 * cold: the spans are flushed from the caches before each batch, which is one call a span whatever `calls` says.
 * walk: a batch takes the next `calls` spans (at most all) instead of turns over all of them, so that a set of many
 * spans can be larger than a cache while a batch stays short; `next` is where the next one starts.
 * mixed: a walk over several copies of one set of `calls` spans, each shuffled by itself before each visit. The first
 * one warms the core and the others are timed: no order is timed that the branch predictor has seen.
 */
struct timing_cell {
    const struct cksum_kernel *kernel;
    enum cksum_loop loop;
    struct cksum_span *spans;
    size_t n_spans;
    uint64_t calls;
    bool cold;
    bool walk;
    bool mixed;
    size_t next;
};

/*
 * How a cell is visited: its loop runs for warm_ticks, and for one batch at least, then so many batches are timed with
 * nothing between them. seed: of the order of mixed spans.
 */
struct timing_visit {
    uint64_t warm_ticks;
    uint32_t batches;
    uint64_t seed;
};

/* Why a sample is not to be used: the thread moved, was switched out, or took a page fault during the visit. */
#define TIMING_FLAGS(X)                                                                                                \
    X(MIGRATED, 1, "migrated")                                                                                         \
    X(SWITCHED, 2, "switched")                                                                                         \
    X(FAULTED, 4, "faulted")

enum timing_flag {
#define TIMING_FLAG_BIT(id, bit, text) TIMING_##id = (bit),
    TIMING_FLAGS(TIMING_FLAG_BIT)
#undef TIMING_FLAG_BIT
};

/*
 * One timed batch. The three yardsticks of the machine are measured at the end of each visit and stand in each of its
 * samples, as its flags do: ticks for TIMING_CHAIN dependent additions, as many dependent multiplications, and four
 * times as many independent additions. `result` is made of every result of the batch, so that no compiler may drop a
 * call.
 */
#define TIMING_CHAIN 20000u
struct timing_sample {
    uint64_t ticks;
    uint64_t calls;
    uint64_t result;
    uint32_t round;
    uint32_t order;
    uint32_t cell;
    uint32_t flags;
    uint32_t add_ticks;
    uint32_t mul_ticks;
    uint32_t wide_ticks;
    uint32_t batch;
};

/*
 * The step of a counter, in ticks, from how often each difference 0..n-1 was seen between readings back to back. A
 * counter that runs off a slower clock jumps: 24 or 25, 49, 73 or 74 ticks mean a step of 24.45. One that counts
 * finely gives differences as close together as its step. 1 if too little was seen.
 */
CKSUM_HIDDEN double timing_step(const uint32_t *seen, size_t n);

/* Measures the tick counter; takes about 0.1 s. */
CKSUM_HIDDEN void timing_measure_timer(struct timing_facts *facts);

/* So many calls, rounded up to whole turns over the spans; for a walk at most as many as there are spans. */
CKSUM_HIDDEN uint64_t timing_whole_turns(const struct timing_cell *cell, uint64_t calls);

/* Calls that take target_ticks, and a tenth more against noise, if `calls` took `ticks`; 0 if that is too little. */
CKSUM_HIDDEN uint64_t timing_reckon_calls(uint64_t calls, uint64_t ticks, uint64_t target_ticks);

/* Calls that make a batch of the cell last at least target_ticks: whole turns, or for a walk as many as there are. */
CKSUM_HIDDEN uint64_t timing_batch_calls(struct timing_cell *cell, uint64_t target_ticks);

/* Visits each of the n cells in the given order; out[i * batches + b] is batch b of cells[order[i]]. */
CKSUM_HIDDEN void timing_round(struct timing_cell *cells, const uint64_t *order, size_t n, uint32_t round,
                               const struct timing_visit *how, struct timing_sample *out);

/*
 * How a core learns the cell: other code runs until the branch predictor knows nothing of it, then batches of
 * calls[0], calls[1] ... calls, whole turns all of them, are timed with nothing between them; out[b] is batch b.
 */
CKSUM_HIDDEN void timing_learn(struct timing_cell *cell, const uint64_t *calls, uint32_t n, uint32_t round,
                               uint64_t seed, struct timing_sample *out);

#endif
