/*
 * lwip.c: the inet_chksum of the lwIP that is installed on this machine, out of
 * its shared library.
 *
 * It returns the complement of a folded sum, has no start value and takes a
 * 16-bit length: the complement is taken back here, the start value added, and
 * 65535 bytes are the longest. The library's own code is what is timed, behind
 * the call through the procedure linkage table that any program makes; it stays
 * where the loader put it.
 */
#include <lwip/inet_chksum.h>

#include "kernels/kernel.h"

CKSUM_FUNCTION(lwip)(const void *buf, size_t len, uint32_t sum)
{
    return (uint16_t)~inet_chksum(buf, (uint16_t)len) + sum;
}

CKSUM_KERNEL(lwip, .summary = "the real one, called in the installed library; 16-bit lengths",
             .origin = "lwIP, its installed library", .role = CKSUM_PEER, .max_len = UINT16_MAX)
