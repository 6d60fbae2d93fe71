/*
 * oracle.h: the sum as an independent witness computes it: byte by byte, exactly, reduced by a division.
 *
 * No word is loaded, no carry is added back in, nothing of csrc is used.
 */
#ifndef CKSUM_TESTS_ORACLE_H
#define CKSUM_TESTS_ORACLE_H

#include <stddef.h>
#include <stdint.h>

/* Sums of the bytes at even and at odd offsets. Exact up to 2^56 bytes. */
struct oracle {
    uint64_t even;
    uint64_t odd;
};

static inline void oracle_add(struct oracle *oracle, const unsigned char *buf, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        *(i % 2 == 0 ? &oracle->even : &oracle->odd) += buf[i];
    }
}

/* The exact sum of the 16-bit words in host byte order, and of start. */
static inline uint64_t oracle_total(const struct oracle *oracle, uint32_t start)
{
    const uint16_t one = 1;
    const int little_endian = *(const unsigned char *)&one == 1;
    return start + (little_endian ? oracle->even + 256 * oracle->odd : 256 * oracle->even + oracle->odd);
}

/* That, modulo 0xffff; 0 only for 0, another multiple of 0xffff is 0xffff. */
static inline uint16_t oracle_folded(const struct oracle *oracle, uint32_t start)
{
    const uint64_t total = oracle_total(oracle, start);
    return (uint16_t)(total == 0 ? 0 : (total - 1) % 0xffff + 1);
}

#endif
