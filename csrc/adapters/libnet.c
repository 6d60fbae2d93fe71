/*
 * libnet.c: libnet_in_cksum and LIBNET_CKSUM_CARRY of the libnet that is
 * installed on this machine.
 *
 * The function adds words to an int; the macro folds the int and complements
 * it, which is taken back here. A sum of 2^31 is a negative int, whose right
 * shift drags the sign along: 65535 bytes are the longest that are right for
 * any 16-bit start value. The library's own code is what is timed, behind the
 * call that any program makes; it stays where the loader put it.
 */
#include <libnet.h>

#include "kernels/kernel.h"

CKSUM_FUNCTION(libnet)(const void *buf, size_t len, uint32_t sum)
{
    uint16_t *words = (uint16_t *)(uintptr_t)buf; /* it only reads them */
    int total = (int)((uint32_t)libnet_in_cksum(words, (int)len) + sum);
    return (uint16_t)~LIBNET_CKSUM_CARRY(total);
}

CKSUM_KERNEL(libnet,
             .summary = "the real one, called in the installed library, with "
                        "its LIBNET_CKSUM_CARRY",
             .origin = "libnet, its installed library", .role = CKSUM_PEER, .max_len = 65535)
