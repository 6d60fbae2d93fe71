/* autovec_u32_512: the loop of autovec_u32, compiled for AVX-512 (x86-64-v4). See autovec_u32.c. */
#include "kernels/kernel.h"

#if CKSUM_X86_64

CKSUM_TARGET("avx512f,avx512bw,avx512dq,avx512vl")
CKSUM_FUNCTION(autovec_u32_512)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    for (size_t i = len / 4; i > 0; i--, p += 4) {
        total += cksum_load32(p);
    }
    return cksum_fold64(total + cksum_load_tail(p, len & 3));
}

CKSUM_KERNEL(autovec_u32_512, .summary = "64-bit sum of 32-bit words, a plain loop left to the compiler (AVX-512)",
             .origin = "as autovec_u32, compiled for x86-64-v4", .role = CKSUM_PEER,
             .needs = CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL,
             .vector_bits = 512, .max_len = (size_t)1 << 34)

#else
CKSUM_KERNEL_ABSENT(autovec_u32_512)
#endif
