/*
 * The lengths at which a kernel changes its way, as its descriptor tells them: each -1, 0 and +1, at addresses on both
 * sides of vectors' boundaries, between guard pages; and the data that fills lanes fastest between two flushes.
 */
#include <stddef.h>

#include "base/fold.h"
#include "check.h"
#include "core/registry.h"
#include "guarded.h"
#include "oracle.h"

#define LONGEST_HERE (((size_t)2 << 20) + 4096u)
#define FEWER_OFFSETS_FROM ((size_t)262144) /* the oracle adds byte by byte */

static void check_one(const struct cksum_kernel *kernel, const unsigned char *buf, size_t len, uint32_t start,
                      const char *what)
{
    struct oracle oracle = {0};
    oracle_add(&oracle, buf, 0, len);
    const uint16_t got = cksum_fold32(kernel->fn(buf, len, start)), expected = oracle_folded(&oracle, start);
    CHECK(got == expected, "%s: %zu bytes at offset %zu, start 0x%x, %s: 0x%04x, expected 0x%04x", kernel->name, len,
          (size_t)((uintptr_t)buf % 64), start, what, got, expected);
}

static bool is_ours(const struct cksum_kernel *kernel)
{
    return kernel->role == CKSUM_PRODUCTION && cksum_runs_here(kernel);
}

/* One edge of one kernel: around it, from both ends of the guarded bytes. */
static void check_edge(const struct cksum_kernel *kernel, const struct guarded *guarded, size_t edge, const char *what)
{
    static const size_t offsets[] = {0, 1, 63, 2, 15, 16, 17, 31, 32, 33, 62};
    const size_t some = edge > FEWER_OFFSETS_FROM ? 3 : sizeof offsets / sizeof offsets[0];
    for (size_t len = edge - 1; len <= edge + 1; len++) {
        for (size_t o = 0; o < some; o++) {
            check_one(kernel, guarded->low + offsets[o], len, 0xfffffffe, what);
            check_one(kernel, guarded->high - len - offsets[o], len, 0, what);
        }
    }
}

void test_thresholds(void)
{
    static const enum fill fills[] = {FILL_ONES, FILL_RANDOM};
    static const char *const names[] = {"ones", "random"};
    struct guarded guarded = guarded_new(LONGEST_HERE);
    const struct cksum_kernel *kernel;

    for (unsigned f = 0; f < 2; f++) {
        guarded_fill(&guarded, fills[f]);
        for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
            for (const size_t *edge = kernel->edges; is_ours(kernel) && *edge != 0; edge++) {
                CHECK(*edge + 64 < LONGEST_HERE, "%s: an edge at %zu is out of reach here", kernel->name, *edge);
                check_edge(kernel, &guarded, *edge, names[f]);
            }
        }
    }
    guarded_free(&guarded);
}

/*
 * Words of which every rounded average of a tree of 16 vectors rounds up, on each of its levels: the number of bits
 * set in the vector's place in the tree. The excess of the averages then is the largest possible, 32 a tree, and it
 * reaches a whole wrap of a word if lanes are flushed one block too late.
 */
static void fill_for_rounding(const struct guarded *guarded, size_t width)
{
    for (unsigned char *p = guarded->low; p < guarded->high; p += 2) {
        const size_t vector = (size_t)(p - guarded->low) / width % 16;
        p[0] = CKSUM_LITTLE_ENDIAN ? (unsigned char)__builtin_popcountll(vector) : 0;
        p[1] = CKSUM_LITTLE_ENDIAN ? 0 : (unsigned char)__builtin_popcountll(vector);
    }
}

/* Lengths at which lanes are flushed (1 MiB for 64-byte vectors, 512 and 256 KiB for narrower ones), and twice that. */
void test_fullest_lanes(void)
{
    struct guarded guarded = guarded_new(LONGEST_HERE);
    const struct cksum_kernel *kernel;

    for (size_t width = 16; width <= 64; width *= 2) {
        fill_for_rounding(&guarded, width);
        for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
            for (size_t len = (size_t)256 << 10; is_ours(kernel) && len < (size_t)2 << 20; len *= 2) {
                check_one(kernel, guarded.low, len, 0, "all averages rounded up");
                check_one(kernel, guarded.low, len + 1, 1, "all averages rounded up");
            }
        }
    }
    guarded_fill(&guarded, FILL_ONES);
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        for (size_t len = (size_t)256 << 10; is_ours(kernel) && len <= (size_t)2 << 20; len *= 2) {
            for (size_t offset = 0; offset < 2; offset++) {
                check_one(kernel, guarded.low + offset, len - 1, 0xffffffff, "ones");
                check_one(kernel, guarded.low + offset, len + 64, 0xffffffff, "ones");
                check_one(kernel, guarded.low + offset, len + 1025, 0xffffffff, "ones");
            }
        }
    }
    guarded_free(&guarded);
}

/*
 * A sum that an aligned loop at an odd address rotates to just below 2^64, so that the start value makes it carry: in
 * avx512_vnni 0x00ffffffffff0000, of 0xffff0000 flushed after 1 MiB and 0xffffff in the upper 32-bit lanes of the rest.
 */
void test_carry_of_a_rotated_sum(void)
{
    const size_t flushed = (size_t)1 << 20, rest = (size_t)128 << 10;
    struct guarded guarded = guarded_new(64 + flushed + rest);
    unsigned char *const aligned = guarded.low + 64;
    const struct cksum_kernel *kernel;

    guarded_fill(&guarded, FILL_ZEROS);
    for (size_t word = 0; word < 65536; word++) {
        aligned[2 * word] = aligned[2 * word + 1] = 0xff;
    }
    for (size_t word = 0; word <= 256; word++) { /* 256 * 0xffff + 0xff = 0xffffff */
        aligned[flushed + 8 * word + 4] = 0xff;
        aligned[flushed + 8 * word + 5] = word < 256 ? 0xff : 0;
    }
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        for (size_t before = 0; is_ours(kernel) && before < 64; before++) {
            check_one(kernel, aligned - before, before + flushed + rest, 0xffffffff, "about to carry");
        }
    }
    guarded_free(&guarded);
}
