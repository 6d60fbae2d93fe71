/*
 * Every kernel that runs here against the byte-wise oracle: lengths x offsets x contents between guard pages, start
 * values, the lengths at which lanes are flushed, the lengths from which the past kernels wrap, and beyond 4 GiB.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fold.h"
#include "check.h"
#include "core/registry.h"
#include "guarded.h"
#include "oracle.h"

#define LONGEST 2100u
#define OFFSETS 64u

static const char *const fill_names[FILLS] = {"zeros", "ones", "random", "carries"};

/* Calls `test` for every kernel that can run here and computes a sum. */
static void for_each_kernel(void (*test)(const struct cksum_kernel *kernel))
{
    const struct cksum_kernel *kernel;
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        if (cksum_runs_here(kernel) && kernel->role != CKSUM_YARDSTICK) {
            test(kernel);
        }
    }
}

/* Whether the kernel keeps the contract for any 32-bit start value, not only for one of 16 bits. */
static bool takes_any_start(const struct cksum_kernel *kernel)
{
    return kernel->role == CKSUM_PRODUCTION || kernel->role == CKSUM_REFERENCE;
}

/* DPDK's functions return the sum modulo 2^32 as it is. */
static bool returns_unreduced(const struct cksum_kernel *kernel)
{
    return strncmp(kernel->name, "dpdk_", 5) == 0;
}

static void check_sum(const struct cksum_kernel *kernel, const unsigned char *buf, size_t len, uint32_t start,
                      const struct oracle *oracle, const char *what)
{
    const uint32_t got = kernel->fn(buf, len, start);
    if (kernel->role == CKSUM_YARDSTICK) {
        return; /* called only to see what it reads */
    }
    const uint16_t folded = cksum_fold32(got), expected = oracle_folded(oracle, start);
    CHECK(folded == expected, "%s: %zu bytes at offset %zu, start 0x%x, %s: 0x%04x, expected 0x%04x", kernel->name, len,
          (size_t)((uintptr_t)buf % 64), start, what, folded, expected);
    if (returns_unreduced(kernel)) {
        const uint32_t exact = (uint32_t)oracle_total(oracle, start);
        CHECK(got == exact, "%s: %zu bytes, start 0x%x, %s: unreduced 0x%08x, expected 0x%08x", kernel->name, len,
              start, what, got, exact);
    }
}

static uint32_t varied_start(const struct cksum_kernel *kernel, size_t turn)
{
    static const uint32_t narrow[] = {0, 1, 0xffff, 0x8000, 0xa5c3};
    static const uint32_t wide[] = {0, 0xffffffff, 0xffff0000, 0x10000, 0x7fffffff, 0xfffe0001, 0xffff};
    return takes_any_start(kernel) ? wide[turn % (sizeof wide / sizeof wide[0])]
                                   : narrow[turn % (sizeof narrow / sizeof narrow[0])];
}

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Every length at every offset from the page start, where what is read before offset 0 dies. */
static void check_behind_guard(const struct cksum_kernel *kernel, const struct guarded *guarded, enum fill fill)
{
    const size_t longest = shorter(LONGEST, kernel->max_len);
    for (size_t offset = 0; offset < OFFSETS; offset++) {
        const unsigned char *buf = guarded->low + offset;
        struct oracle oracle = {0};
        oracle_add(&oracle, buf, 0, kernel->min_len);
        for (size_t len = kernel->min_len; len <= longest; len++) {
            guarded_close(guarded, buf, buf + len);
            check_sum(kernel, buf, len, varied_start(kernel, offset + len), &oracle, fill_names[fill]);
            guarded_open(guarded);
            oracle_add(&oracle, buf, len, len + 1);
        }
    }
}

/* Every length right up to the page end, where a read of one byte more dies. */
static void check_before_guard(const struct cksum_kernel *kernel, const struct guarded *guarded, enum fill fill)
{
    for (size_t len = kernel->min_len; len <= shorter(LONGEST, kernel->max_len); len++) {
        struct oracle oracle = {0};
        oracle_add(&oracle, guarded->high - len, 0, len);
        check_sum(kernel, guarded->high - len, len, varied_start(kernel, len), &oracle, fill_names[fill]);
    }
}

void test_lengths_and_offsets(void)
{
    struct guarded guarded = guarded_new(OFFSETS + LONGEST + 1);
    const struct cksum_kernel *kernel;
    for (enum fill fill = 0; fill < FILLS; fill++) {
        guarded_fill(&guarded, fill);
        for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
            if (cksum_runs_here(kernel)) {
                check_behind_guard(kernel, &guarded, fill);
                check_before_guard(kernel, &guarded, fill);
            }
        }
    }
    guarded_free(&guarded);
}

/* A length of 0 must not touch the buffer, whatever its address. */
static void check_empty(const struct cksum_kernel *kernel, const unsigned char *unreadable)
{
    for (size_t offset = 0; offset < 8 && kernel->min_len == 0; offset++) {
        const uint16_t got = cksum_fold32(kernel->fn(unreadable + offset, 0, 0xabcd));
        CHECK(got == 0xabcd, "%s: no bytes, start 0xabcd: 0x%04x", kernel->name, got);
        CHECK(kernel->fn(unreadable + offset, 0, 0) == 0, "%s: no bytes, start 0: not 0", kernel->name);
    }
    CHECK(kernel->min_len > 0 || kernel->fn(NULL, 0, 7) == 7, "%s: no bytes at NULL, start 7", kernel->name);
}

static void check_start_values(const struct cksum_kernel *kernel)
{
    struct guarded guarded = guarded_new(4096);
    uint64_t state = 1624;
    check_empty(kernel, guarded.high);
    guarded_fill(&guarded, FILL_RANDOM);
    for (size_t turn = 0; turn < 20000; turn++) {
        const uint32_t random = (uint32_t)random_next(&state);
        const uint32_t start = takes_any_start(kernel) ? random : random & 0xffff;
        const size_t len = kernel->min_len + random_next(&state) % 200, offset = random_next(&state) % OFFSETS;
        struct oracle oracle = {0};
        oracle_add(&oracle, guarded.low + offset, 0, len);
        check_sum(kernel, guarded.low + offset, len, start, &oracle, "random");
    }
    guarded_free(&guarded);
}

void test_start_values(void)
{
    for_each_kernel(check_start_values);
}

/* Sums that people have published, as bytes in memory. */
void test_vectors(void)
{
    static const struct {
        const char *source;
        size_t len;
        unsigned char bytes[20];
        unsigned char sum[2]; /* as stored in memory: the same on both byte orders */
    } vectors[] = {
        {"RFC 1071 section 3", 8, {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}, {0xdd, 0xf2}},
        {"RFC 1071 section 3 and an odd byte", 9, {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0x42}, {0x1f, 0xf3}},
        {"one byte", 1, {0x42}, {0x42, 0x00}},
        {"three bytes", 3, {0x01, 0x12, 0xf3}, {0xf4, 0x12}},
        {"IPv4 header whose checksum is 0",
         20,
         {0x45, 0, 0, 0x14, 0x4e, 0x87, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0, 0x02, 0x0a, 0xc6, 0x33, 0x64, 0x14},
         {0xff, 0xff}},
        {"a carry that carries", 10, {0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1}, {0x00, 0x01}},
    };
    const struct cksum_kernel *kernel;
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        for (size_t v = 0; v < sizeof vectors / sizeof vectors[0]; v++) {
            if (!cksum_runs_here(kernel) || kernel->role == CKSUM_YARDSTICK || vectors[v].len < kernel->min_len) {
                continue;
            }
            unsigned char stored[2];
            const uint16_t got = cksum_fold32(kernel->fn(vectors[v].bytes, vectors[v].len, 0));
            memcpy(stored, &got, sizeof got);
            CHECK(memcmp(stored, vectors[v].sum, 2) == 0, "%s: %s: %02x %02x, expected %02x %02x", kernel->name,
                  vectors[v].source, stored[0], stored[1], vectors[v].sum[0], vectors[v].sum[1]);
        }
    }
}

/* Lengths around the powers of two from 4 KiB on: lanes are flushed at such, and a flush too late is an overflow. */
static void check_flush_bounds(const struct cksum_kernel *kernel)
{
    static const int steps[] = {-129, -33, -32, -31, -2, -1, 0, 1, 2, 31, 32, 33, 129};
    const size_t smallest = 4096, largest = (size_t)4 << 20;
    struct guarded guarded = guarded_new(largest + 256);
    static const enum fill fills[] = {FILL_ONES, FILL_RANDOM};

    for (unsigned f = 0; f < 2; f++) {
        size_t summed = 0;
        struct oracle oracle = {0};
        guarded_fill(&guarded, fills[f]);
        for (size_t power = smallest; power <= largest; power *= 2) {
            for (unsigned s = 0; s < sizeof steps / sizeof steps[0]; s++) {
                const size_t len = power + (size_t)steps[s];
                if (len <= kernel->max_len) {
                    oracle_add(&oracle, guarded.low, summed, len);
                    summed = len;
                    check_sum(kernel, guarded.low, len, varied_start(kernel, s), &oracle, fill_names[fills[f]]);
                }
            }
        }
    }
    guarded_free(&guarded);
}

void test_flush_bounds(void)
{
    for_each_kernel(check_flush_bounds);
}

/*
 * Where DPDK's sum wraps: 65537 * 65535 = 2^32 - 1. From a start value of 0, 131074 bytes of ones just fit, two more
 * lose a carry; a start value of 16 bits takes one word's room. What max_len promises must hold, and not more than it.
 */
static void check_wrapping(const struct cksum_kernel *kernel)
{
    static const struct {
        size_t len;
        uint32_t start;
        uint32_t unreduced;
        uint16_t folded;
    } cases[] = {
        {131072, 0xffff, 0xffffffff, 0xffff}, /* max_len with the largest start value of its contract */
        {131074, 0, 0xffffffff, 0xffff},      /* the longest that is right from 0 */
        {131074, 1, 0, 0},                    /* all else wraps: right would be 1 */
        {131076, 0, 0x0000fffe, 0xfffe},      /* right would be 0xffff */
        {131078, 0, 0x0001fffd, 0xfffe},
        {131072, 0xffffffff, 0xfffeffff, 0xfffe},
    };
    if (!returns_unreduced(kernel)) {
        return;
    }
    struct guarded guarded = guarded_new(1 << 18);
    guarded_fill(&guarded, FILL_ONES);
    CHECK(kernel->max_len == 131072, "%s: max_len %zu", kernel->name, kernel->max_len);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t got = kernel->fn(guarded.low, cases[i].len, cases[i].start);
        CHECK(got == cases[i].unreduced, "%s: %zu ones, start 0x%x: 0x%x, expected 0x%x", kernel->name, cases[i].len,
              cases[i].start, got, cases[i].unreduced);
        CHECK(cksum_fold32(got) == cases[i].folded, "%s: %zu ones, start 0x%x: folded 0x%x", kernel->name, cases[i].len,
              cases[i].start, cksum_fold32(got));
    }
    guarded_fill(&guarded, FILL_RANDOM);
    for (size_t len = 200000; len < 200064; len++) {
        struct oracle oracle = {0};
        oracle_add(&oracle, guarded.low + len % 64, 0, len);
        const uint32_t got = kernel->fn(guarded.low + len % 64, len, 0x89abcdef);
        const uint32_t exact = (uint32_t)oracle_total(&oracle, 0x89abcdef);
        CHECK(got == exact, "%s: %zu random bytes: 0x%x, expected 0x%x", kernel->name, len, got, exact);
    }
    guarded_free(&guarded);
}

void test_wrapping(void)
{
    for_each_kernel(check_wrapping);
}

/* More than 4 GiB of address space, the same 2 MiB of memory again and again: lengths and counters need all 64 bits. */
#define PATTERN_BYTES ((size_t)2 << 20)
#define REPEATS 2049u

static const unsigned char *huge;
static struct oracle pattern_sums, huge_sums;
static const size_t huge_rest = 12345;

static void check_beyond_4_gib(const struct cksum_kernel *kernel)
{
    const size_t len = (REPEATS - 1) * PATTERN_BYTES + huge_rest;
    if (kernel->role == CKSUM_PRODUCTION && kernel->max_len >= len) {
        check_sum(kernel, huge, len, 0xfedcba98, &huge_sums, "random, repeated");
    }
}

void test_beyond_4_gib(void)
{
    const int file = memfd_create("pattern", 0);
    unsigned char *space =
        mmap(NULL, REPEATS * PATTERN_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool mapped = file >= 0 && space != MAP_FAILED && ftruncate(file, (off_t)PATTERN_BYTES) == 0;
    for (size_t i = 0; mapped && i < REPEATS; i++) {
        mapped = mmap(space + i * PATTERN_BYTES, PATTERN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                      0) != MAP_FAILED;
    }
    CHECK(mapped, "no address space for 4 GiB");
    if (mapped) {
        const struct guarded pattern = {.low = space, .high = space + PATTERN_BYTES};
        guarded_fill(&pattern, FILL_RANDOM);
        huge = space;
        pattern_sums = huge_sums = (struct oracle){0};
        oracle_add(&pattern_sums, space, 0, PATTERN_BYTES);
        oracle_add(&huge_sums, space, 0, huge_rest);
        huge_sums.even += (REPEATS - 1) * pattern_sums.even;
        huge_sums.odd += (REPEATS - 1) * pattern_sums.odd;
        for_each_kernel(check_beyond_4_gib);
    }
    if (space != MAP_FAILED) {
        munmap(space, REPEATS * PATTERN_BYTES);
    }
    if (file >= 0) {
        close(file);
    }
}
