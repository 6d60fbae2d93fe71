/*
 * dpdk_after: in the manner of the patch "net: __rte_raw_cksum pointers enable compiler optimizations" for DPDK, in
 * its form of February 2026.
 *
 * The same sum as dpdk_before, to the last bit of its 32; but the loop walks a typed pointer, over a 16-bit type that
 * may lie at any address (aligned(1)) and alias any object (may_alias). Both attributes are needed: without the
 * second a caller's stores to a structure may be dropped, since no uint16_t was ever stored there. Now clang -O3
 * vectorises the loop as well.
 *
 * max_len: as in dpdk_before, 65536 words and a 16-bit start value are at most 65537 * 65535 = 2^32 - 1.
 */
#include "kernels/kernel.h"

typedef uint16_t __attribute__((may_alias, aligned(1))) any_uint16;

CKSUM_FUNCTION(dpdk_after)(const void *buf, size_t len, uint32_t sum)
{
    const any_uint16 *word = buf;

    for (size_t left = len / 2; left > 0; left--) { /* no end pointer: buf may be NULL when len is 0 */
        sum += *word++;
    }
    if (len % 2 != 0) {
        uint16_t last = 0;
        memcpy(&last, word, 1);
        sum += last;
    }
    return sum;
}

CKSUM_KERNEL(dpdk_after, .summary = "16-bit words by a typed pointer: DPDK after the patch",
             .origin = "in the manner of DPDK __rte_raw_cksum as patched on the mailing list in February 2026; "
                       "written afresh",
             .role = CKSUM_PAST, .max_len = 131072)
