/* Visits of csrc/bench/timing.c, on a kernel that counts its calls. What is checked needs no clock. */
#include "check.h"

#include <stdint.h>
#include <string.h>

#include "bench/timing.h"

#define BATCHES 3u
#define SET 64u

static unsigned char bytes[SET];
static uint64_t calls_made;
static size_t last_order[SET];

/* A loop that remembers which bytes the last turn over a set was called on. */
static uint64_t counting_loop(const struct cksum_span *spans, size_t n_spans, uint64_t calls, unsigned char *scratch)
{
    (void)scratch;
    for (uint64_t i = 0; i < calls; i++) {
        last_order[i % SET] = (size_t)(spans[i % n_spans].buf - bytes);
    }
    calls_made += calls;
    return calls;
}

static cksum_loop_fn *const counting_loops[CKSUM_LOOP_COUNT] = {[CKSUM_LOOP_PLAIN] = counting_loop};

static const struct cksum_kernel kernel = {.name = "counting", .loops = counting_loops};

static void test_one_visit(void)
{
    struct cksum_span span = {.buf = bytes, .len = 1};
    struct timing_cell cell = {.kernel = &kernel, .spans = &span, .n_spans = 1, .calls = 5};
    const struct timing_visit how = {.batches = BATCHES};
    const uint64_t order[] = {0, 0};
    struct timing_sample out[2 * BATCHES];
    calls_made = 0;
    timing_round(&cell, order, 2, 9, &how, out);
    CHECK(calls_made == (uint64_t)2 * (1 + BATCHES) * 5, "two visits made %llu calls", (unsigned long long)calls_made);
    for (uint32_t i = 0; i < 2 * BATCHES; i++) {
        CHECK(out[i].order == i / BATCHES && out[i].batch == i % BATCHES && out[i].round == 9 && out[i].cell == 0,
              "sample %u is of the wrong batch", i);
        CHECK(out[i].calls == 5, "sample %u has %llu calls", i, (unsigned long long)out[i].calls);
        CHECK(out[i].flags == out[i - i % BATCHES].flags && out[i].add_ticks == out[i - i % BATCHES].add_ticks,
              "sample %u differs from its visit", i);
    }
}

/* Whether the orders of a set hold each of its spans once. */
static bool is_whole_set(const size_t *order)
{
    bool seen[SET] = {false};
    for (size_t i = 0; i < SET; i++) {
        seen[order[i]] = true;
    }
    return memchr(seen, false, sizeof seen) == NULL;
}

static void test_mixed_visits(void)
{
    struct cksum_span spans[(1 + BATCHES) * SET];
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        spans[i] = (struct cksum_span){.buf = bytes + i % SET, .len = 1};
    }
    struct timing_cell cell = {.kernel = &kernel,
                               .spans = spans,
                               .n_spans = sizeof spans / sizeof spans[0],
                               .calls = SET,
                               .walk = true,
                               .mixed = true};
    const uint64_t order[] = {0};
    struct timing_sample out[BATCHES];
    size_t before[SET];
    for (uint64_t seed = 1; seed <= 4; seed++) {
        const struct timing_visit how = {.warm_ticks = 100000 + seed, .batches = BATCHES, .seed = seed};
        memcpy(before, last_order, sizeof before);
        timing_round(&cell, order, 1, 0, &how, out);
        CHECK(is_whole_set(last_order), "seed %llu: the last batch is not the whole set", (unsigned long long)seed);
        CHECK(memcmp(before, last_order, sizeof before) != 0, "seed %llu: the order stayed", (unsigned long long)seed);
        for (size_t i = 0; i < SET; i++) { /* however often the first set was gone through to warm the core */
            CHECK(spans[BATCHES * SET + i].buf == bytes + last_order[i], "the last batch is not of the last set");
        }
        for (size_t set = 0; set <= BATCHES; set++) {
            size_t of_set[SET];
            for (size_t i = 0; i < SET; i++) {
                of_set[i] = (size_t)(spans[set * SET + i].buf - bytes);
            }
            CHECK(is_whole_set(of_set), "seed %llu: set %zu lost a span", (unsigned long long)seed, set);
            CHECK(set == BATCHES || memcmp(of_set, last_order, sizeof of_set) != 0, "two sets have one order");
        }
    }
}

static void test_reckoned_calls(void)
{
    CHECK(timing_reckon_calls(7, 0, 1) == 0, "calls are reckoned from no ticks");
    CHECK(timing_reckon_calls(7, 99, 800) == 0, "calls are reckoned from too few ticks");
    CHECK(timing_reckon_calls(10, 100, 800) == 89, "80 calls and a tenth are %llu",
          (unsigned long long)timing_reckon_calls(10, 100, 800));
}

static void test_one_lesson(void)
{
    struct cksum_span span = {.buf = bytes, .len = 1};
    struct timing_cell cell = {.kernel = &kernel, .spans = &span, .n_spans = 1, .calls = 1};
    const uint64_t calls[] = {1, 1, 2, 4};
    struct timing_sample out[4];
    calls_made = 0;
    timing_learn(&cell, calls, 4, 3, 7, out);
    CHECK(calls_made == 8, "a lesson of 8 calls made %llu", (unsigned long long)calls_made);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(out[i].calls == calls[i] && out[i].batch == i && out[i].round == 3, "batch %u is another one", i);
    }
}

void test_timing(void)
{
    test_one_visit();
    test_mixed_visits();
    test_reckoned_calls();
    test_one_lesson();
}
