/* update.h: the sum of joined data, and a checksum after a change of its data, without the data that did not change. */
#ifndef CKSUM_CORE_UPDATE_H
#define CKSUM_CORE_UPDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fold.h"

/* The raw sum of two pieces end to end; `odd`: the first has an odd number of bytes (RFC 1071 section 2B). */
CKSUM_INLINE uint16_t cksum_combined(uint16_t first, uint16_t second, bool odd)
{
    return cksum_fold32((uint32_t)first + (odd ? cksum_swap16(second) : second));
}

/* A change of some bytes, by the raw sums of these bytes alone. */
struct cksum_change {
    uint16_t old_sum;
    uint16_t new_sum;
    bool old_all_ones;  /* cksum_all_ones of the old bytes */
    bool odd;           /* the change begins at an odd byte of the data */
    bool udp;           /* a computed 0 becomes 0xffff */
    bool full_sum_zero; /* so it does where the new bytes may be all that is not zero */
};

/* Whether all words of these bytes are 0xffff; an odd last byte stands in a word with a zero byte. */
CKSUM_INLINE bool cksum_all_ones(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != 0xff) {
            return false;
        }
    }
    return length % 2 == 0;
}

/* RFC 1624 equation 3, HC' = ~(~HC + ~m + m'), the field as a number in network order, before and after the change. */
CKSUM_INLINE uint16_t cksum_updated(uint16_t checksum, const struct cksum_change *change)
{
    const uint16_t old_sum = change->odd ? cksum_swap16(change->old_sum) : change->old_sum;
    const uint16_t new_sum = change->odd ? cksum_swap16(change->new_sum) : change->new_sum;
    uint16_t sum = cksum_fold32((uint32_t)(uint16_t)~cksum_host_order16(checksum) + (uint16_t)~old_sum + new_sum);
    if (sum == 0 && !change->old_all_ones) {
        sum = 0xffff; /* some ~m is not 0, so neither is the sum: ~old_sum is only their other zero */
    }
    if (sum == 0xffff && (change->udp || (change->full_sum_zero && new_sum == 0))) {
        sum = 0; /* its complement is the other zero */
    }
    return cksum_host_order16((uint16_t)~sum);
}

#endif
