/*
 * portable64: 64-bit words in general registers, for any machine and both byte orders.
 *
 * Four accumulators, each with the count of the carries out of its bit 63: sum[i] + 2^64 * carries[i] is exactly what
 * was added to it. A carry is worth 1 modulo 0xffff, wherever it comes back in, so the counts are added at the end and
 * not in the chain. A count is at most len / 32 < 2^59: it cannot overflow, whatever the length.
 *
 * Adding each carry back at once would put addition, compare and addition on one chain (three cycles a word instead of
 * one); the four accumulators then take turns. Splitting each word into two 32-bit halves needs no compare, but two
 * more operations a word, and compilers turn it into vector code, which this kernel is here to do without.
 *
 * The order of the bytes within a word does not matter to the sum of 16-bit words in host order, so nothing here
 * depends on it but the tail in steps/rest.h.
 */
#include "kernels/kernel.h"
#include "kernels/steps/rest.h"

#define ACCUMULATORS 4u
#define BLOCK (8u * ACCUMULATORS)

/* Adds the 64-bit word at p to *sum and its carry to *carries. */
CKSUM_INLINE void add_word(uint64_t *sum, uint64_t *carries, const unsigned char *p)
{
    *carries += __builtin_add_overflow(*sum, cksum_load64(p), sum);
}

CKSUM_FUNCTION(portable64)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    if (len >= BLOCK) {
        uint64_t sum0 = sum, sum1 = 0, sum2 = 0, sum3 = 0;
        uint64_t carries0 = 0, carries1 = 0, carries2 = 0, carries3 = 0;
        for (; len >= BLOCK; p += BLOCK, len -= BLOCK) {
            add_word(&sum0, &carries0, p);
            add_word(&sum1, &carries1, p + 8);
            add_word(&sum2, &carries2, p + 16);
            add_word(&sum3, &carries3, p + 24);
        }
        total = cksum_add64(cksum_add64(sum0, sum1), cksum_add64(sum2, sum3));
        total = cksum_add64(total, carries0 + carries1 + carries2 + carries3); /* < 2^61 */
    }
    return cksum_fold64(cksum_add_rest(total, p, len));
}

static const size_t edges[] = {8, BLOCK, 0};

CKSUM_KERNEL(portable64, .summary = "64-bit words, four accumulators, general registers: any machine",
             .role = CKSUM_PRODUCTION, .max_len = SIZE_MAX, .edges = edges)
