/* nothing: what a call in the timing loop costs by itself. Reads no byte. */
#include "kernels/kernel.h"

CKSUM_FUNCTION(nothing)(const void *buf, size_t len, uint32_t sum)
{
    (void)buf;
    (void)len;
    return sum;
}

CKSUM_KERNEL(nothing, .summary = "an empty function: the cost of the call and its loop", .role = CKSUM_YARDSTICK,
             .max_len = SIZE_MAX)
