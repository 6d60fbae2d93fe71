/*
 * rest.h: the few bytes that a block loop leaves over, as 64-bit words with end-around carry.
 */
#ifndef CKSUM_KERNELS_STEPS_REST_H
#define CKSUM_KERNELS_STEPS_REST_H

#include "base/fold.h"

/*
 * sum + p[0..n), word by word: right for any n, sensible for a few dozen bytes.
 *
 * The last n % 8 bytes of at least 8 come from one load that reaches back over bytes already summed and shifts those
 * out: in memory order the kept bytes move to the front of the word and zeros follow, so each stays where it was
 * within its 16-bit word. Only a buffer shorter than 8 bytes needs the three narrow loads of cksum_load_tail, whose
 * three branches cost more than that shift.
 */
CKSUM_INLINE uint64_t cksum_add_rest(uint64_t sum, const unsigned char *p, size_t n)
{
    if (n < 8) {
        return cksum_add64(sum, cksum_load_tail(p, n));
    }
    for (; n >= 8; p += 8, n -= 8) {
        sum = cksum_add64(sum, cksum_load64(p));
    }
    if (n > 0) {
        const uint64_t last = cksum_load64(p + n - 8);
        const unsigned summed_bits = 64 - 8 * (unsigned)n;
        sum = cksum_add64(sum, CKSUM_LITTLE_ENDIAN ? last >> summed_bits : last << summed_bits);
    }
    return sum;
}

#endif
