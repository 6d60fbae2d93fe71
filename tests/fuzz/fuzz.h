/*
 * fuzz.h: what the fuzz targets have in common: a requirement that stops the run, numbers, exact copies.
 *
 * Expected sums come from oracle.h, never from a kernel.
 */
#ifndef CKSUM_TESTS_FUZZ_H
#define CKSUM_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "packet/packet.h"

/* Where the condition does not hold, stops the run, so that libFuzzer keeps the input. */
#define REQUIRE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition);                                    \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, from which numbers are taken off the front; zeros once it is used up. */
struct input {
    const uint8_t *bytes;
    size_t size;
};

static inline uint64_t take(struct input *input, size_t bytes)
{
    uint64_t number = 0;
    for (; bytes > 0; bytes--) {
        number <<= 8;
        if (input->size > 0) {
            number |= *input->bytes++;
            input->size--;
        }
    }
    return number;
}

/* The bytes in a block of their own, so that AddressSanitizer sees the first read beyond them. The caller frees it. */
static inline unsigned char *exact_copy(const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

/* Whether one of the checks was found by a guess, which may be another one when a field before it has changed. */
static inline bool any_guessed(const struct packet_check *checks, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (checks[i].guessed) {
            return true;
        }
    }
    return false;
}

/* The folded sum of bytes[from..to) and of start, by the witness. */
static inline uint16_t witness(const unsigned char *bytes, size_t from, size_t to, uint32_t start)
{
    struct oracle oracle = {0};
    oracle_add(&oracle, bytes + from, 0, to - from);
    return oracle_folded(&oracle, start);
}

#endif
