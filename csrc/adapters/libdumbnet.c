/*
 * libdumbnet.c: ip_cksum_add and ip_cksum_carry of the libdumbnet (libdnet)
 * that is installed on this machine.
 *
 * The function is a loop unrolled sixteen times that is entered in its middle,
 * and its body runs before the first test: with no whole word to add it adds
 * sixteen. Below 2 bytes its sum is wrong, and of the 32 bytes that it reads
 * none was given: the kernel is made for 2 bytes and more. The macro folds an
 * int: a sum of 2^31 is negative, so that 65535 bytes are the longest that are
 * right for any 16-bit start value. The library's own code is what is timed,
 * behind the call that any program makes; it stays where the loader put it.
 */
#include <dumbnet.h>

#include "kernels/kernel.h"

CKSUM_FUNCTION(libdumbnet)(const void *buf, size_t len, uint32_t sum)
{
    int total = ip_cksum_add(buf, len, (int)sum);
    return (uint16_t)~ip_cksum_carry(total);
}

CKSUM_KERNEL(libdumbnet,
             .summary = "the real one, called in the installed library, with its ip_cksum_carry; wrong below 2 bytes",
             .origin = "libdumbnet, its installed library", .role = CKSUM_PEER, .min_len = 2, .max_len = 65535)
