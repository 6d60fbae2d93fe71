/*
 * autovec_u32: the loop of many portable implementations: 32-bit words into a 64-bit sum, left to the compiler, which
 * makes vector code of it where it can. The function is compiled for AVX2.
 *
 * The sum holds 2^32 words, 16 GiB, before it could wrap.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_64
#define AUTOVEC_NEEDS CKSUM_CPU_AVX2
#define AUTOVEC_BITS 256
#else
#define AUTOVEC_NEEDS 0
#define AUTOVEC_BITS 0
#endif

CKSUM_TARGET("avx2") CKSUM_FUNCTION(autovec_u32)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    for (size_t i = len / 4; i > 0; i--, p += 4) {
        total += cksum_load32(p);
    }
    return cksum_fold64(total + cksum_load_tail(p, len & 3));
}

CKSUM_KERNEL(autovec_u32, .summary = "64-bit sum of 32-bit words, a plain loop left to the compiler (AVX2)",
             .origin = "the loop of lwIP's algorithm 3, FreeBSD, XNU, ODP, Arm's optimized routines; written afresh, "
                       "compiled for AVX2 where the target is x86-64",
             .role = CKSUM_PEER, .needs = AUTOVEC_NEEDS, .vector_bits = AUTOVEC_BITS, .max_len = (size_t)1 << 34)
