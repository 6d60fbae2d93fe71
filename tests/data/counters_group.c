/* A group of software events, which every machine has: page faults of fresh pages are as many as the pages. */
#include "bench/counters.c"
#include <stdio.h>
#include <sys/mman.h>

enum { PAGES = 37 };

int main(void)
{
    const struct counters_code codes[COUNTERS_EVENT_COUNT] = {
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
        {0xfffe, 0}, /* no machine has it */
        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    };
    struct counters group;
    struct counters_reading reading = {0};
    enum counters_verdict verdict = COUNTERS_MALFORMED;
    volatile char *fresh = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile char *later = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED || later == MAP_FAILED) {
        return 1;
    }
    madvise((void *)fresh, PAGES * 4096, MADV_NOHUGEPAGE);
    madvise((void *)later, PAGES * 4096, MADV_NOHUGEPAGE);
    const int refused = counters_open(&group, codes, 4);
    if (refused != 0) {
        printf("{\"refused\": %d}\n", refused);
        return 0;
    }
    if (counters_start(&group) != 0) {
        return 2;
    }
    for (int i = 0; i < PAGES; i++) {
        fresh[i * 4096] = 1;
    }
    if (counters_stop(&group) != 0) {
        return 3;
    }
    for (int i = 0; i < PAGES; i++) {
        later[i * 4096] = 1;
    }
    if (counters_read(&group, &reading, &verdict) != 0) {
        return 4;
    }
    counters_close(&group);
    printf("{\"verdict\": %d, \"counted\": [%d, %d, %d, %d, %d], \"faults\": [%llu, %llu], \"errors\": [%d, %d, %d, "
           "%d, %d], "
           "\"open\": %d}\n",
           (int)verdict, reading.counted[0], reading.counted[1], reading.counted[2], reading.counted[3],
           reading.counted[4], (unsigned long long)reading.counts[0], (unsigned long long)reading.counts[3],
           group.errors[0], group.errors[1], group.errors[2], group.errors[3], group.errors[4], group.fds[0]);
    return 0;
}
