/*
 * fold.h: the arithmetic of RFC 1071 that is not a loop over the data: end-around carries, folding to 16 bits, byte
 * order, and the zero-padded last bytes of a buffer.
 *
 * Numbers modulo 0xffff: 2^16 = 1 (mod 0xffff), so 2^32 and 2^64 are 1 too. Adding the high half of a number to its
 * low half therefore keeps its class, and adding a carry out of bit 31 or 63 back in at bit 0 does as well. None of
 * these steps turns a sum that is not zero into zero: 0 means "no byte was set", 0xffff is the other zero.
 */
#ifndef CKSUM_BASE_FOLD_H
#define CKSUM_BASE_FOLD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arch.h"

/* The words of memory at p, in host byte order, at any alignment. */
CKSUM_INLINE uint16_t cksum_load16(const unsigned char *p)
{
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

CKSUM_INLINE uint32_t cksum_load32(const unsigned char *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

CKSUM_INLINE uint64_t cksum_load64(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* A single last byte as the 16-bit word whose second byte in memory is 0 (RFC 1071 section 1; RFC erratum 3133). */
CKSUM_INLINE uint32_t cksum_odd_byte(unsigned char byte)
{
    return CKSUM_LITTLE_ENDIAN ? byte : (uint32_t)byte << 8;
}

/* The last n < 8 bytes at p as they would lie in a 64-bit word padded with zero bytes; reads exactly those bytes. */
CKSUM_INLINE uint64_t cksum_load_tail(const unsigned char *p, size_t n)
{
    uint64_t word = 0;
    unsigned at = 0;
    if (n & 4) {
        word = cksum_load32(p);
        at = 4;
    }
    if (n & 2) {
        word |= (uint64_t)cksum_load16(p + at) << (8 * at);
        at += 2;
    }
    if (n & 1) {
        word |= (uint64_t)cksum_odd_byte(p[at]) << (8 * at);
    }
    return word; /* on a big-endian host the parts stand in another order, each still on a 16-bit boundary: same sum */
}

/* a + b with the carry out of bit 63 added back in at bit 0. */
CKSUM_INLINE uint64_t cksum_add64(uint64_t a, uint64_t b)
{
    uint64_t sum;
    const unsigned carry = __builtin_add_overflow(a, b, &sum);
    return sum + carry; /* no second carry: a wrapped sum is at most 2^64 - 2 */
}

/* a + b with the carry out of bit 31 added back in at bit 0. */
CKSUM_INLINE uint32_t cksum_add32(uint32_t a, uint32_t b)
{
    uint32_t sum;
    const unsigned carry = __builtin_add_overflow(a, b, &sum);
    return sum + carry;
}

/* 64 bits to 32 of the same class modulo 0xffff; 0 only for 0. */
CKSUM_INLINE uint32_t cksum_fold64(uint64_t sum)
{
    return cksum_add32((uint32_t)(sum >> 32), (uint32_t)sum);
}

/* 32 bits to 16 of the same class modulo 0xffff; 0 only for 0. Two steps suffice: 0xffffffff -> 0x1fffe -> 0xffff. */
CKSUM_INLINE uint16_t cksum_fold32(uint32_t sum)
{
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t)((sum >> 16) + sum);
}

/* The sum of the same bytes moved by one byte (RFC 1071 section 2B). */
CKSUM_INLINE uint16_t cksum_swap16(uint16_t sum)
{
    return (uint16_t)(sum << 8 | sum >> 8);
}

/* A number as the 16-bit word that it is in network byte order, read in host byte order: what a raw sum adds. */
CKSUM_INLINE uint16_t cksum_host_order16(uint16_t number)
{
    return CKSUM_LITTLE_ENDIAN ? cksum_swap16(number) : number;
}

#endif
