/*
 * reference: RFC 1071 as one would explain it. The oracle inside C, and the slowest kernel of the list on purpose.
 *
 * A 64-bit total of 16-bit words cannot overflow: 2^48 words, 512 TiB, would be needed. The start value adds at most
 * 2^32 - 1, which those 48 bits of room swallow as well.
 */
#include "kernels/kernel.h"

CKSUM_FUNCTION(reference)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    for (; len >= 2; len -= 2, p += 2) {
        total += cksum_load16(p);
    }
    if (len == 1) {
        total += cksum_odd_byte(*p);
    }
    return cksum_fold64(total);
}

CKSUM_KERNEL(reference, .summary = "16-bit words, one at a time: the oracle inside C", .role = CKSUM_REFERENCE,
             .max_len = SIZE_MAX)
