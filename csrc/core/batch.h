/*
 * batch.h: many buffers in one call: spans of one buffer, given by arrays of any integer type.
 */
#ifndef CKSUM_CORE_BATCH_H
#define CKSUM_CORE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* An array of integers as somebody else laid it out; a stride of 0 gives the same number each time. */
struct batch_integers {
    const unsigned char *first;
    ptrdiff_t stride; /* bytes from one to the next, in either direction */
    unsigned size;    /* bytes of one: 1, 2, 4 or 8 */
    bool is_signed;
    bool swapped; /* not in the byte order of this host */
};

/* The span that cannot be summed, as it was read. A negative number stands as its two's complement. */
struct batch_error {
    size_t index;
    uint64_t offset;
    uint64_t length;
    uint64_t initial;
};

/* A raw sum starts from 16 bits. */
#define BATCH_MAX_INITIAL 0xffffu

/*
 * The folded raw sums of n spans of buf[0..size), into out. Returns n; or, at the first span that does not lie in the
 * buffer, is shorter than min_len (what the function reads whatever its length says), or starts from too large a value,
 * its index, and fills error.
 *
 * Each number is read once, into a local copy that is checked and then used: the arrays may change meanwhile.
 */
CKSUM_HIDDEN size_t batch_sums(cksum_fn *fn, size_t min_len, const unsigned char *buf, size_t size,
                               const struct batch_integers *offsets, const struct batch_integers *lengths,
                               const struct batch_integers *initial, size_t n, uint16_t *out,
                               struct batch_error *error);

/* The i-th number; a negative one as its two's complement. */
CKSUM_HIDDEN uint64_t batch_integer(const struct batch_integers *integers, size_t i);

#endif
