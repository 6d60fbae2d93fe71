/*
 * dpdk_before: in the manner of DPDK's __rte_raw_cksum as it stands since 2022 (DPDK 22.11 and later).
 *
 * 16-bit words, two bytes copied at a time, added into 32 bits with no end-around carry; the address advances by
 * integer arithmetic. gcc -O3 sees through the copy and the integers and vectorises the loop; clang does not, since
 * the address it loads from is a number to it and not a pointer. That difference is what the exchange of February
 * 2026 was about.
 *
 * max_len: the sum is kept modulo 2^32, and a lost carry is an error of one. A 16-bit start value and 65536 words are
 * at most 65537 * 65535 = 2^32 - 1, which just fits: 131072 bytes are right whatever they hold. (From a start value
 * of 0 two bytes more are.) The result is the unreduced 32-bit sum, the very number that DPDK's function returns.
 */
#include "kernels/kernel.h"

CKSUM_FUNCTION(dpdk_before)(const void *buf, size_t len, uint32_t sum)
{
    uintptr_t at = (uintptr_t)buf;
    const uintptr_t end = at + len / 2 * 2;

    for (; at != end; at += 2) {
        uint16_t word;
        memcpy(&word, (const void *)at, sizeof word);
        sum += word;
    }
    if (len % 2 != 0) {
        uint16_t word = 0;
        memcpy(&word, (const void *)end, 1);
        sum += word;
    }
    return sum;
}

CKSUM_KERNEL(dpdk_before, .summary = "16-bit words by two-byte copies, integer address: DPDK before the patch",
             .origin = "in the manner of DPDK __rte_raw_cksum, 22.11 to today; written afresh", .role = CKSUM_PAST,
             .max_len = 131072)
