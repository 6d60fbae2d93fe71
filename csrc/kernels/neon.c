/*
 * neon: 64 bytes a step on AArch64: pairwise add and accumulate.
 *
 *     uadalp  acc.4s, v.8h     each 32-bit lane of acc += the two 16-bit words of v in it
 *
 * is the whole sum of 16 bytes in one operation, without the bias that the signed multiplications of x86 need. Four
 * accumulators, as it takes two to four cycles and cores do one or two of them a cycle.
 *
 * Why no lane overflows: a vector adds at most 2 * 65535 = 131070 to a lane, so 32768 vectors add at most 32768 *
 * 131070 = 4294901760 < 2^32 to a lane of all four accumulators together. Each block of so many, 512 KiB, is widened
 * to 64 bits and added to the total with end-around carry.
 *
 * Below 64 bytes, and for the last bytes, 64-bit words in general registers: an adds and an adc each, two cycles. A
 * vector for a rest of 16 bytes would wait for its reduction (addv, six cycles and more).
 */
#include "kernels/kernel.h"

#if CKSUM_AARCH64 && CKSUM_LITTLE_ENDIAN

#include <arm_neon.h>

#include "kernels/steps/rest.h"

#define STEP 64u
#define FLUSH_STEPS 8192u
_Static_assert(FLUSH_STEPS * 4 * 131070ull <= UINT32_MAX, "a 32-bit lane must hold what is added between two flushes");

/* The eight words at p, at any alignment. */
CKSUM_INLINE uint16x8_t words(const unsigned char *p)
{
    return vreinterpretq_u16_u8(vld1q_u8(p)); /* little-endian: the bytes of a word lie in its own lane */
}

CKSUM_ALIGNED CKSUM_FUNCTION(neon)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    for (size_t left = len / STEP; left > 0;) {
        const size_t steps = left < FLUSH_STEPS ? left : FLUSH_STEPS;
        uint32x4_t a = vdupq_n_u32(0), b = a, c = a, d = a;
        for (size_t i = steps; i > 0; i--, p += STEP) {
            a = vpadalq_u16(a, words(p));
            b = vpadalq_u16(b, words(p + 16));
            c = vpadalq_u16(c, words(p + 32));
            d = vpadalq_u16(d, words(p + 48));
        }
        a = vaddq_u32(vaddq_u32(a, b), vaddq_u32(c, d));
        total = cksum_add64(total, vaddlvq_u32(a));
        left -= steps;
    }
    return cksum_fold64(cksum_add_rest(total, p, len % STEP));
}

static const size_t edges[] = {8, STEP, STEP *FLUSH_STEPS, 0};

CKSUM_KERNEL(neon, .summary = "64 bytes a step: pairwise add and accumulate", .role = CKSUM_PRODUCTION,
             .needs = CKSUM_CPU_NEON, .vector_bits = 128, .max_len = SIZE_MAX, .edges = edges)

#else
CKSUM_KERNEL_ABSENT(neon)
#endif
