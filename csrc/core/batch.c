/*
 * batch.c: many buffers in one call.
 *
 * The arrays are taken in blocks: each is decoded into plain 64-bit numbers first, by a loop for its type alone, and
 * the loop over the kernel then knows no types. That costs about a nanosecond a span, and needs one loop instead of one
 * for each pair of types; only plain 64-bit arrays, what NumPy makes unless told otherwise, have a loop of their own.
 * The decoded block is also the private copy that makes the bounds check mean something while another thread writes to
 * the arrays.
 */
#include "core/batch.h"

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

/* The sums of one decoded block, all from one start value or (starts not NULL) each from its own. Returns how many. */
CKSUM_INLINE size_t sum_block(cksum_fn *fn, size_t min_len, const unsigned char *buf, size_t size,
                              const uint64_t *offset, const uint64_t *length, uint64_t start, const uint64_t *starts,
                              size_t n, uint16_t *out)
{
    for (size_t i = 0; i < n; i++) {
        start = starts == NULL ? start : starts[i];
        if (CKSUM_UNLIKELY(offset[i] > size || length[i] > size - offset[i] || length[i] < min_len ||
                           start > BATCH_MAX_INITIAL)) {
            return i;
        }
        out[i] = cksum_fold32(fn(buf + offset[i], (size_t)length[i], (uint32_t)start));
    }
    return n;
}

/* Whether the numbers lie as this host's own array of 64-bit words, so that each is read by one load. */
static bool is_plain(const struct batch_integers *integers)
{
    return integers->size == 8 && integers->stride == 8 && !integers->swapped && (uintptr_t)integers->first % 8 == 0;
}

/*
 * The same as batch_sums for plain arrays and one start value, the usual call, without the decoding: 0.6 ns a span, a
 * third of what 40 bytes cost. volatile: each number is loaded once, and what was checked is what is used.
 */
static size_t sum_plain(cksum_fn *fn, const unsigned char *buf, size_t size, const struct batch_integers *offsets,
                        const struct batch_integers *lengths, uint32_t start, size_t n, uint16_t *out,
                        struct batch_error *error)
{
    const volatile uint64_t *offset_at = (const volatile uint64_t *)(const void *)offsets->first;
    const volatile uint64_t *length_at = (const volatile uint64_t *)(const void *)lengths->first;
    for (size_t i = 0; i < n; i++) {
        const uint64_t offset = offset_at[i], length = length_at[i];
        if (CKSUM_UNLIKELY(offset > size || length > size - offset)) {
            *error = (struct batch_error){i, offset, length, start};
            return i;
        }
        out[i] = cksum_fold32(fn(buf + offset, (size_t)length, start));
    }
    return n;
}

size_t batch_sums(cksum_fn *fn, size_t min_len, const unsigned char *buf, size_t size,
                  const struct batch_integers *offsets, const struct batch_integers *lengths,
                  const struct batch_integers *initial, size_t n, uint16_t *out, struct batch_error *error)
{
    uint64_t offset[BLOCK], length[BLOCK], starts[BLOCK];
    const bool one_start = initial->stride == 0 && n > 0;
    const uint64_t start = one_start ? batch_integer(initial, 0) : 0;
    if (min_len == 0 && one_start && start <= BATCH_MAX_INITIAL && is_plain(offsets) && is_plain(lengths)) {
        return sum_plain(fn, buf, size, offsets, lengths, (uint32_t)start, n, out, error);
    }
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t count = n - from < BLOCK ? n - from : BLOCK;
        size_t summed;
        decode(offsets, from, count, offset);
        decode(lengths, from, count, length);
        if (one_start) {
            summed = sum_block(fn, min_len, buf, size, offset, length, start, NULL, count, out + from);
        } else {
            decode(initial, from, count, starts);
            summed = sum_block(fn, min_len, buf, size, offset, length, 0, starts, count, out + from);
        }
        if (summed != count) {
            *error =
                (struct batch_error){from + summed, offset[summed], length[summed], one_start ? start : starts[summed]};
            return from + summed;
        }
    }
    return n;
}
