/*
 * counters.h: hardware events of this thread, counted over one stretch of code by one group of perf events.
 *
 * One group, because its events are on the CPU together or not at all: only then may one be divided by another. What
 * the kernel had to multiplex is refused, not scaled: a scaled count is an estimate that looks like a count.
 *
 * Decoding is a pure function of the record that the kernel hands out, so that readings of machines that nobody here
 * owns can be tested.
 */
#ifndef CKSUM_BENCH_COUNTERS_H
#define CKSUM_BENCH_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* The events: C name, name that Python uses. Where the CPU can't count all at once, the last ones are left out. */
#define COUNTERS_EVENTS(X)                                                                                             \
    X(CYCLES, cycles)                                                                                                  \
    X(INSTRUCTIONS, instructions)                                                                                      \
    X(BRANCHES, branches)                                                                                              \
    X(BRANCH_MISSES, branch_misses)                                                                                    \
    X(REF_CYCLES, ref_cycles)                                                                                          \
    X(L1D_MISSES, l1d_misses)

enum counters_event {
#define COUNTERS_EVENT_ID(id, name) COUNTERS_##id,
    COUNTERS_EVENTS(COUNTERS_EVENT_ID)
#undef COUNTERS_EVENT_ID
        COUNTERS_EVENT_COUNT
};

/* What the kernel calls an event: type and config of struct perf_event_attr. */
struct counters_code {
    uint32_t type;
    uint64_t config;
};

/* The codes of the hardware events. */
CKSUM_HIDDEN extern const struct counters_code counters_hardware[COUNTERS_EVENT_COUNT];

/* A group. An event that is not in it has fd -1, id 0 and the error for which it was left out. */
struct counters {
    int fds[COUNTERS_EVENT_COUNT];
    uint64_t ids[COUNTERS_EVENT_COUNT];
    int errors[COUNTERS_EVENT_COUNT];
};

/* What a record says about itself: C name, words. */
#define COUNTERS_VERDICTS(X)                                                                                           \
    X(OK, "counted")                                                                                                   \
    X(MULTIPLEXED, "multiplexed")                                                                                      \
    X(NOT_SCHEDULED, "not scheduled")                                                                                  \
    X(MALFORMED, "malformed")

enum counters_verdict {
#define COUNTERS_VERDICT_ID(id, text) COUNTERS_##id,
    COUNTERS_VERDICTS(COUNTERS_VERDICT_ID)
#undef COUNTERS_VERDICT_ID
};

/* The counts; those of an event that is not in the group are 0 and not counted. */
struct counters_reading {
    bool counted[COUNTERS_EVENT_COUNT];
    uint64_t counts[COUNTERS_EVENT_COUNT];
};

/*
 * Opens the first n events as one group, leaving out those that this machine lacks or that don't fit beside the others.
 * 0, or the error number of the first event if none can be opened; nothing is open then.
 */
CKSUM_HIDDEN int counters_open(struct counters *group, const struct counters_code *codes, size_t n);

/* Sets all counts to 0 and starts them; stops them. 0, or an error number. */
CKSUM_HIDDEN int counters_start(const struct counters *group);
CKSUM_HIDDEN int counters_stop(const struct counters *group);

/* Reads the counts of a stopped group. 0 with *verdict set (and *reading, if it is COUNTERS_OK), or an error number. */
CKSUM_HIDDEN int counters_read(const struct counters *group, struct counters_reading *reading,
                               enum counters_verdict *verdict);

CKSUM_HIDDEN void counters_close(struct counters *group);

/*
 * The counts in a record of n 64-bit words as read() gives it for a group whose events have these ids (0: not in it):
 * number of events, time enabled, time running, then value and id of each. *reading is set if the verdict is
 * COUNTERS_OK: each event of the group is there once, and it was on the CPU all the time.
 */
CKSUM_HIDDEN enum counters_verdict counters_decode(const uint64_t *record, size_t n,
                                                   const uint64_t ids[COUNTERS_EVENT_COUNT],
                                                   struct counters_reading *reading);

/*
 * Counts `calls` calls of the kernel on the span by its plain loop, after a quarter as many that warm it up. Where the
 * group can't be on the CPU as a whole (somebody else holds a counter), it is tried again with one event less, down to
 * two. 0 with *verdict set, or an error number; errors[] says why an event was left out (0: it was counted).
 */
CKSUM_HIDDEN int counters_count(const struct cksum_kernel *kernel, const struct cksum_span *span, uint64_t calls,
                                struct counters_reading *reading, int errors[COUNTERS_EVENT_COUNT],
                                enum counters_verdict *verdict);

#endif
