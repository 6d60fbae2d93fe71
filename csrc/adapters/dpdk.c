/*
 * dpdk.c: the __rte_raw_cksum of the DPDK that is installed on this machine,
 * out of its own header.
 *
 * The header's function is inlined here, with whatever the flags make of it;
 * nothing is added. It keeps its sum modulo 2^32 and drops a carry out of it,
 * so that 131072 bytes are right for any 16-bit start value.
 */
#include <rte_ip.h>

#include "kernels/kernel.h"

CKSUM_FUNCTION(dpdk)(const void *buf, size_t len, uint32_t sum)
{
    return __rte_raw_cksum(buf, len, sum);
}

CKSUM_KERNEL(dpdk, .summary = "the real one, inlined from the installed header", .origin = "DPDK, its installed header",
             .role = CKSUM_PEER, .max_len = 131072)
