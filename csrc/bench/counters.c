/* counters.c: the only code that opens perf events. See counters.h. */
#define _GNU_SOURCE /* syscall */
#include "bench/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define L1D_READ_MISSES                                                                                                \
    (PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

const struct counters_code counters_hardware[COUNTERS_EVENT_COUNT] = {
    [COUNTERS_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [COUNTERS_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [COUNTERS_BRANCHES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [COUNTERS_BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [COUNTERS_REF_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    [COUNTERS_L1D_MISSES] = {PERF_TYPE_HW_CACHE, L1D_READ_MISSES},
};

enum { RECORD_HEAD = 3, RECORD_MOST = RECORD_HEAD + 2 * COUNTERS_EVENT_COUNT };

/* Too few are left to be worth a group: cycles and instructions. */
enum { FEWEST_EVENTS = 2 };

/*
 * One event of this thread, in user space, in the leader's group (-1: it leads). The descriptor, or -1 with errno set.
 */
static int open_event(const struct counters_code *code, int leader)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = code->type,
        .config = code->config,
        .disabled = leader < 0,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* The descriptor that stands for the group, or -1 if none is open. */
static int leader_of(const struct counters *group)
{
    for (size_t i = 0; i < COUNTERS_EVENT_COUNT; i++) {
        if (group->fds[i] >= 0) {
            return group->fds[i];
        }
    }
    return -1;
}

int counters_open(struct counters *group, const struct counters_code *codes, size_t n)
{
    memset(group, 0, sizeof *group);
    for (size_t i = 0; i < COUNTERS_EVENT_COUNT; i++) {
        group->fds[i] = -1;
        group->errors[i] = E2BIG; /* left out by the caller; overwritten below */
    }
    for (size_t i = 0; i < n; i++) {
        const int fd = open_event(&codes[i], leader_of(group));
        group->errors[i] = fd < 0 ? errno : 0;
        if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_ID, &group->ids[i]) < 0) {
            group->errors[i] = errno;
            group->ids[i] = 0;
            close(fd);
        } else {
            group->fds[i] = fd;
        }
    }
    return leader_of(group) < 0 ? group->errors[0] : 0;
}

int counters_start(const struct counters *group)
{
    const int leader = leader_of(group);
    const bool started = ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP) == 0 &&
                         ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0;
    return started ? 0 : errno;
}

int counters_stop(const struct counters *group)
{
    return ioctl(leader_of(group), PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) == 0 ? 0 : errno;
}

int counters_read(const struct counters *group, struct counters_reading *reading, enum counters_verdict *verdict)
{
    uint64_t record[RECORD_MOST];
    const ssize_t size = read(leader_of(group), record, sizeof record);
    if (size < 0) {
        return errno;
    }
    *verdict = counters_decode(record, (size_t)size / sizeof record[0], group->ids, reading);
    return 0;
}

void counters_close(struct counters *group)
{
    for (size_t i = COUNTERS_EVENT_COUNT; i-- > 0;) { /* the leader last: its group falls apart without it */
        if (group->fds[i] >= 0) {
            close(group->fds[i]);
            group->fds[i] = -1;
        }
    }
}

/* The event of this id, or COUNTERS_EVENT_COUNT. */
static size_t event_of(const uint64_t ids[COUNTERS_EVENT_COUNT], uint64_t id)
{
    size_t i = 0;
    while (i < COUNTERS_EVENT_COUNT && (ids[i] == 0 || ids[i] != id)) {
        i++;
    }
    return i;
}

/* How many events the group has. */
static size_t events_of(const uint64_t ids[COUNTERS_EVENT_COUNT])
{
    size_t n = 0;
    for (size_t i = 0; i < COUNTERS_EVENT_COUNT; i++) {
        n += ids[i] != 0;
    }
    return n;
}

enum counters_verdict counters_decode(const uint64_t *record, size_t n, const uint64_t ids[COUNTERS_EVENT_COUNT],
                                      struct counters_reading *reading)
{
    struct counters_reading found = {0};
    const size_t events = events_of(ids);
    if (n < RECORD_HEAD || events == 0 || record[0] != events || n != RECORD_HEAD + 2 * events) {
        return COUNTERS_MALFORMED;
    }
    const uint64_t enabled = record[1], running = record[2];
    if (running == 0) {
        return COUNTERS_NOT_SCHEDULED; /* the counts are zeros that mean nothing */
    }
    if (running != enabled) {
        return running < enabled ? COUNTERS_MULTIPLEXED : COUNTERS_MALFORMED;
    }
    for (const uint64_t *pair = record + RECORD_HEAD; pair < record + n; pair += 2) {
        const size_t event = event_of(ids, pair[1]);
        if (event == COUNTERS_EVENT_COUNT || found.counted[event]) {
            return COUNTERS_MALFORMED;
        }
        found.counted[event] = true;
        found.counts[event] = pair[0];
    }
    *reading = found;
    return COUNTERS_OK;
}

/* One attempt with the first n events. 0 with *verdict set, or an error number. */
static int count_first(size_t n, const struct cksum_kernel *kernel, const struct cksum_span *span, uint64_t calls,
                       struct counters_reading *reading, int errors[COUNTERS_EVENT_COUNT],
                       enum counters_verdict *verdict)
{
    cksum_loop_fn *const loop = kernel->loops[CKSUM_LOOP_PLAIN];
    volatile uint64_t result; /* keeps the calls */
    struct counters group;
    int error = counters_open(&group, counters_hardware, n);
    memcpy(errors, group.errors, sizeof group.errors);
    if (error != 0) {
        return error;
    }
    result = loop(span, 1, calls / 4 + 1, NULL);
    error = counters_start(&group);
    if (error == 0) {
        result = loop(span, 1, calls, NULL);
        error = counters_stop(&group);
    }
    if (error == 0) {
        error = counters_read(&group, reading, verdict);
    }
    (void)result;
    counters_close(&group);
    return error;
}

int counters_count(const struct cksum_kernel *kernel, const struct cksum_span *span, uint64_t calls,
                   struct counters_reading *reading, int errors[COUNTERS_EVENT_COUNT], enum counters_verdict *verdict)
{
    size_t n = COUNTERS_EVENT_COUNT;
    int error;
    do {
        error = count_first(n, kernel, span, calls, reading, errors, verdict);
    } while (error == 0 && *verdict != COUNTERS_OK && *verdict != COUNTERS_MALFORMED && n-- > FEWEST_EVENTS);
    return error;
}
