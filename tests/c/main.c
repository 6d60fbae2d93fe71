/* The C tests of the kernels, of csrc/base, csrc/packet and csrc/bench. Built and run by run.sh; needs no Python. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>

#define MOST_MESSAGES 25u

static unsigned long checks, failures;

void check_that(bool holds, const char *file, int line, const char *format, ...)
{
    checks++;
    if (holds) {
        return;
    }
    failures++;
    if (failures <= MOST_MESSAGES) {
        va_list arguments;
        va_start(arguments, format);
        fprintf(stderr, "%s:%d: ", file, line);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
}

uint64_t random_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
    {"fold", test_fold},
    {"cpu", test_cpu},
    {"registry", test_registry},
    {"vectors", test_vectors},
    {"lengths and offsets", test_lengths_and_offsets},
    {"start values", test_start_values},
    {"flush bounds", test_flush_bounds},
    {"thresholds", test_thresholds},
    {"fullest lanes", test_fullest_lanes},
    {"carry of a rotated sum", test_carry_of_a_rotated_sum},
    {"wrapping", test_wrapping},
    {"beyond 4 GiB", test_beyond_4_gib},
    {"packets", test_packet},
    {"packets not judged", test_silences},
    {"visits", test_timing},
};

int main(void)
{
    for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        const unsigned long checks_before = checks, failures_before = failures;
        tests[i].run();
        printf("%-20s %9lu checks, %lu failed\n", tests[i].name, checks - checks_before, failures - failures_before);
        fflush(stdout);
    }
    return failures == 0 ? 0 : 1;
}
