/*
 * splices.h: for targets whose input is a capture file behind two bytes: files cut and spliced where records begin.
 */
#ifndef CKSUM_TESTS_SPLICES_H
#define CKSUM_TESTS_SPLICES_H

#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t out_size, unsigned seed);

/* The bytes before the file, and how many records of it are told apart. */
enum { HEAD = 2, MAX_CUTS = 512 };

static inline uint32_t number_at(const uint8_t *bytes, bool big_endian)
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) {
        number = number << 8 | bytes[big_endian ? i : 3 - i];
    }
    return number;
}

/* Where the file's records or blocks begin, and its end, as the lengths in it say. Returns how many. */
static inline size_t find_cuts(const uint8_t *data, size_t size, size_t cuts[MAX_CUTS])
{
    size_t n = 0, at = HEAD;
    if (size < HEAD + 28) {
        return 0;
    }
    const bool blocks = number_at(data + HEAD, true) == 0x0a0d0d0a;
    const bool big_endian = blocks ? data[HEAD + 8] == 0x1a : data[HEAD] == 0xa1;
    at += blocks ? 0 : 24;
    while (n < MAX_CUTS - 1 && at + 16 <= size) {
        cuts[n++] = at;
        const size_t step = blocks ? number_at(data + at + 4, big_endian) : 16 + number_at(data + at + 8, big_endian);
        if (step < 8 || step > size - at) {
            break;
        }
        at += step;
    }
    cuts[n++] = size;
    return n;
}

/* Moves what lies behind `from` so that it begins at `to`. The new size. */
static inline size_t splice(uint8_t *data, size_t size, size_t from, size_t to, size_t max_size)
{
    if (to + (size - from) > max_size) {
        return size;
    }
    memmove(data + to, data + from, size - from);
    return to + (size - from);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t cuts[MAX_CUTS];
    const size_t n = find_cuts(data, size, cuts);
    if (n < 2 || seed % 4 != 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    /* to an earlier place: records are left out; to a later one: records are repeated */
    return splice(data, size, cuts[seed / 4 % n], cuts[seed / 4 / n % n], max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t out_size, unsigned seed)
{
    size_t heads[MAX_CUTS], tails[MAX_CUTS];
    const size_t n = find_cuts(one, one_size, heads), m = find_cuts(two, two_size, tails);
    if (n == 0 || m == 0) {
        return 0;
    }
    const size_t head = heads[seed % n], tail = tails[seed / 512 % m];
    if (head + (two_size - tail) > out_size) {
        return 0;
    }
    memcpy(out, one, head);
    memcpy(out + head, two + tail, two_size - tail);
    return head + (two_size - tail);
}

#endif
