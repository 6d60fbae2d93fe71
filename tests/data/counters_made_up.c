/* counters_count() on a machine with counters that is made up: what it can open, how long it lets a group run. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int offered[6], room, running_for[7]; /* what the machine is like */
static int opened, closed, in_group, started, calls_seen;
static long codes_seen[6];

static long made_up_open(long number, struct perf_event_attr *attributes, int pid, int cpu, int leader,
                         unsigned long flags)
{
    const int event = attributes->type == PERF_TYPE_HW_CACHE                    ? 5
                      : attributes->config == PERF_COUNT_HW_CPU_CYCLES          ? 0
                      : attributes->config == PERF_COUNT_HW_INSTRUCTIONS        ? 1
                      : attributes->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS ? 2
                      : attributes->config == PERF_COUNT_HW_BRANCH_MISSES       ? 3
                                                                                : 4;
    const int user_only = attributes->exclude_kernel && attributes->exclude_hv && !attributes->inherit;
    if (number != SYS_perf_event_open || pid != 0 || cpu != -1 || flags != PERF_FLAG_FD_CLOEXEC || !user_only ||
        (leader == -1) != (in_group == 0) || attributes->disabled != (leader == -1)) {
        abort();
    }
    if (!offered[event] || in_group == room) {
        errno = offered[event] ? EINVAL : ENOENT;
        return -1;
    }
    in_group++;
    opened++;
    codes_seen[in_group - 1] = event;
    return 100 + event;
}

static int made_up_control(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    if (request == PERF_EVENT_IOC_ID) {
        *va_arg(arguments, uint64_t *) = (uint64_t)fd + 1000;
    } else if (fd != 100 + codes_seen[0] || va_arg(arguments, int) != PERF_IOC_FLAG_GROUP) {
        abort();
    }
    started = request == PERF_EVENT_IOC_ENABLE ? 1 : request == PERF_EVENT_IOC_DISABLE ? 0 : started;
    va_end(arguments);
    return 0;
}

static ssize_t made_up_read(int fd, void *to, size_t size)
{
    uint64_t record[15] = {(uint64_t)in_group, 100, (uint64_t)running_for[in_group]};
    for (int i = 0; i < in_group; i++) {
        record[3 + 2 * i] = (uint64_t)(calls_seen * (codes_seen[i] + 1));
        record[4 + 2 * i] = (uint64_t)codes_seen[i] + 1100;
    }
    const size_t used = (size_t)(3 + 2 * in_group) * 8;
    if (fd != 100 + codes_seen[0] || size < used) {
        abort();
    }
    memcpy(to, record, used);
    return (ssize_t)used;
}

static int made_up_close(int fd)
{
    (void)fd;
    closed++;
    in_group--;
    return 0;
}

#define syscall made_up_open
#define ioctl made_up_control
#define read made_up_read
#define close made_up_close
#include "bench/counters.c"

static uint64_t loop(const struct cksum_span *spans, size_t n_spans, uint64_t calls, unsigned char *scratch)
{
    (void)scratch;
    calls_seen = started ? (int)calls : 0;
    return spans[0].len * n_spans;
}

/* Arguments: six times 0 or 1 (offered), room, then how long groups of 2 to 6 events run, of 100. */
int main(int argc, char **argv)
{
    cksum_loop_fn *const loops[CKSUM_LOOP_COUNT] = {[CKSUM_LOOP_PLAIN] = loop};
    const struct cksum_kernel kernel = {.loops = loops};
    const struct cksum_span span = {0};
    struct counters_reading reading = {0};
    enum counters_verdict verdict = COUNTERS_MALFORMED;
    int errors[COUNTERS_EVENT_COUNT] = {0};
    for (int i = 0; i < 6 && argc == 13; i++) {
        offered[i] = atoi(argv[1 + i]);
    }
    room = atoi(argv[7]);
    for (int n = 2; n <= 6; n++) {
        running_for[n] = atoi(argv[6 + n]);
    }
    const int error = counters_count(&kernel, &span, 10, &reading, errors, &verdict);
    printf("{\"error\": %d, \"verdict\": %d, \"left_open\": %d, \"counts\": [", error, (int)verdict, opened - closed);
    for (int i = 0; i < 6; i++) {
        printf("%d%s", reading.counted[i] ? (int)reading.counts[i] : -1, i < 5 ? ", " : "], \"errors\": [");
    }
    for (int i = 0; i < 6; i++) {
        printf("%d%s", errors[i], i < 5 ? ", " : "]}\n");
    }
    return 0;
}
