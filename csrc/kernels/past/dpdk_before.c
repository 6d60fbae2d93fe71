/*
 * dpdk_before: in the manner of DPDK's __rte_raw_cksum as it stands since 2022 (DPDK 22.11 and later).
 *
 * 16-bit words, two bytes copied at a time, added into 32 bits with no end-around carry; each step makes an integer of
 * the pointer, adds 2 and makes a pointer of it. gcc -O3 sees through the copy and the integers and vectorises the
 * loop; clang does not, at any -march, since the pointer of one turn has nothing to do with the last one's as far as it
 * can tell. That difference is what the exchange of February 2026 was about. (An integer that is stepped, with a
 * pointer made of it for each load, is not the same: clang 19 vectorises that from x86-64-v3 on.)
 *
 * max_len: the sum is kept modulo 2^32, and a lost carry is an error of one. A 16-bit start value and 65536 words are
 * at most 65537 * 65535 = 2^32 - 1, which just fits: 131072 bytes are right whatever they hold. (From a start value
 * of 0 two bytes more are.) The result is the unreduced 32-bit sum, the very number that DPDK's function returns.
 */
#include "kernels/kernel.h"

CKSUM_FUNCTION(dpdk_before)(const void *buf, size_t len, uint32_t sum)
{
    const void *p = buf;
    const void *const end = (const void *)((uintptr_t)buf + len / 2 * 2);

    for (; p != end; p = (const void *)((uintptr_t)p + 2)) {
        uint16_t word;
        memcpy(&word, p, sizeof word);
        sum += word;
    }
    if (len % 2 != 0) {
        uint16_t word = 0;
        memcpy(&word, end, 1);
        sum += word;
    }
    return sum;
}

CKSUM_KERNEL(dpdk_before, .summary = "16-bit words by two-byte copies, integer address: DPDK before the patch",
             .origin = "in the manner of DPDK __rte_raw_cksum, 22.11 to today; written afresh", .role = CKSUM_PAST,
             .max_len = 131072)
