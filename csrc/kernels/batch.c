/*
 * batch.c: many buffers in one call.
 *
 * The arrays are taken in blocks: each is decoded into plain 64-bit numbers first, by a loop for its type alone, and
 * the loop over the kernel then knows no types. That costs about a nanosecond a span where the arrays have the host's
 * own types, and needs one loop instead of one for each pair of types. The decoded block is also the private copy that
 * makes the bounds check mean something while another thread writes to the arrays.
 */
#include "kernels/batch.h"

#include <string.h>

#include "base/fold.h"

/* Spans decoded at a time: three arrays of 2 KiB, which stay in the first-level cache beside the data. */
#define BLOCK 256

uint64_t batch_integer(const struct batch_integers *integers, size_t i)
{
    const unsigned char *p = integers->first + (ptrdiff_t)i * integers->stride;
    switch (integers->size) {
    case 1:
        return integers->is_signed ? (uint64_t)(int64_t)(int8_t)*p : *p;
    case 2: {
        const uint16_t word = integers->swapped ? cksum_swap16(cksum_load16(p)) : cksum_load16(p);
        return integers->is_signed ? (uint64_t)(int64_t)(int16_t)word : word;
    }
    case 4: {
        const uint32_t word = integers->swapped ? __builtin_bswap32(cksum_load32(p)) : cksum_load32(p);
        return integers->is_signed ? (uint64_t)(int64_t)(int32_t)word : word;
    }
    default:
        return integers->swapped ? __builtin_bswap64(cksum_load64(p)) : cksum_load64(p);
    }
}

/* Decodes integers[from..from+n) into out. The types that NumPy gives by default have loops of their own. */
static void decode(const struct batch_integers *integers, size_t from, size_t n, uint64_t *out)
{
    const unsigned char *first = integers->first + (ptrdiff_t)from * integers->stride;
    const bool packed = integers->stride == (ptrdiff_t)integers->size && !integers->swapped;
    if (packed && integers->size == 8) {
        memcpy(out, first, n * sizeof *out);
    } else if (packed && integers->size == 4 && !integers->is_signed) {
        for (size_t i = 0; i < n; i++) {
            out[i] = cksum_load32(first + 4 * i);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            out[i] = batch_integer(integers, from + i);
        }
    }
}

size_t batch_sums(cksum_fn *fn, const unsigned char *buf, size_t size, const struct batch_integers *offsets,
                  const struct batch_integers *lengths, const struct batch_integers *initial, size_t n, uint16_t *out,
                  struct batch_error *error)
{
    uint64_t offset[BLOCK], length[BLOCK], start[BLOCK];
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t count = n - from < BLOCK ? n - from : BLOCK;
        decode(offsets, from, count, offset);
        decode(lengths, from, count, length);
        if (initial->stride != 0 ||
            from == 0) { /* one number for all is decoded once: the first block is the largest */
            decode(initial, from, count, start);
        }
        for (size_t i = 0; i < count; i++) {
            if (CKSUM_UNLIKELY(offset[i] > size || length[i] > size - offset[i] || start[i] > BATCH_MAX_INITIAL)) {
                *error = (struct batch_error){from + i, offset[i], length[i], start[i]};
                return from + i;
            }
            out[from + i] = cksum_fold32(fn(buf + offset[i], (size_t)length[i], (uint32_t)start[i]));
        }
    }
    return n;
}
