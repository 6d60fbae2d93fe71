/*
 * verify.h: a kernel against the reference, at every length, between guard pages.
 *
 * The data lies twice in fresh pages with an unreadable page on either side: once from a given offset behind the page
 * start, and (for offset 0) once ending right at the page end, so that a read past either end dies instead of passing.
 * The pages can only be read while the kernel runs, so that one that writes into its buffer dies as well.
 */
#ifndef CKSUM_BENCH_VERIFY_H
#define CKSUM_BENCH_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* What the data is made of. Carries: words 0xffff with a 1 at the end of each 64 bytes, so that every lane carries. */
enum verify_fill { VERIFY_ZEROS, VERIFY_ONES, VERIFY_RANDOM, VERIFY_CARRIES, VERIFY_FILLS };

/* Offsets and lengths go up to this. */
#define VERIFY_MAX_BYTES (1 << 30)

struct verify_plan {
    enum verify_fill fill;
    size_t offset;
    size_t min_length; /* lengths from the larger of this and kernel->min_len .. */
    size_t max_length; /* .. to the smaller of this and kernel->max_len are tried */
    uint32_t initial;
};

struct verify_difference {
    size_t length;
    size_t offset; /* of the first byte, from the start of its page */
    uint16_t got;
    uint16_t expected;
};

/* 0: no difference; 1: *difference holds the first; -1: no memory, errno is set. */
CKSUM_HIDDEN int verify_kernel(const struct cksum_kernel *kernel, const struct cksum_kernel *reference,
                               const struct verify_plan *plan, struct verify_difference *difference);

#endif
