/*
 * load_only.h: a template of the yardsticks that load every byte of the buffer and sum none of them: what a kernel
 * could reach at best with vectors of this width, loaded from where the buffer lies, one stream.
 *
 * Parameters, macros of the file that includes this once, undefined again at its end:
 *     LOAD_ONLY_TARGET          the target attribute's string
 *     LOAD_ONLY_VECTOR          the vector type
 *     LOAD_ONLY_ZERO()          a vector of zeros
 *     LOAD_ONLY_LOAD(p)         an unaligned load
 *     LOAD_ONLY_OR(a, b)        bitwise or
 *     LOAD_ONLY_LOW(a)          the lowest lane, as a number
 *
 * Each vector is or-ed into one of eight accumulators: one operation that the processor fuses with the load and that
 * three or more of its pipes can do, so the loads (two a cycle) are the limit; eight, so that no chain of ors is. All
 * that was loaded is used, as far as the compiler can tell, so it can drop none of it.
 *
 * What is left of a round is four vectors, two, one, and the last one of the buffer, which reaches back: to or a byte
 * twice does no harm. Less than a vector is words that overlap likewise. Nothing outside the buffer is read,
 * and no sum of the lanes is made, as nobody wants one.
 */
#include "base/fold.h"
#include "base/intrinsics.h"

/* p[0..n) for n < 64, in words that overlap from both ends. */
CKSUM_INLINE uint64_t load_only_words(const unsigned char *p, size_t n)
{
    if (n < 8) {
        return cksum_load_tail(p, n);
    }
    uint64_t all = cksum_load64(p) | cksum_load64(p + n - 8);
    if (n > 16) {
        all |= cksum_load64(p + 8) | cksum_load64(p + n - 16);
    }
    if (n > 32) {
        all |= cksum_load64(p + 16) | cksum_load64(p + 24) | cksum_load64(p + n - 24) | cksum_load64(p + n - 32);
    }
    return all;
}

/* The or of the two vectors at p. */
CKSUM_TARGET(LOAD_ONLY_TARGET) CKSUM_INLINE LOAD_ONLY_VECTOR load_only_two(const unsigned char *p)
{
    return LOAD_ONLY_OR(LOAD_ONLY_LOAD(p), LOAD_ONLY_LOAD(p + sizeof(LOAD_ONLY_VECTOR)));
}

CKSUM_TARGET(LOAD_ONLY_TARGET) CKSUM_INLINE uint32_t load_only(const unsigned char *p, size_t len, uint32_t sum)
{
    enum { WIDTH = sizeof(LOAD_ONLY_VECTOR) };
    if (len < WIDTH) {
        const uint64_t words = load_only_words(p, len);
        return (uint32_t)(words >> 32 | words) | sum;
    }
    LOAD_ONLY_VECTOR a = LOAD_ONLY_LOAD(p + len - WIDTH);
    if (len >= 8 * WIDTH) {
        LOAD_ONLY_VECTOR b = LOAD_ONLY_ZERO(), c = b, d = b, e = b, f = b, g = b, h = b;
        for (; len >= 8 * WIDTH; p += 8 * WIDTH, len -= 8 * WIDTH) {
            a = LOAD_ONLY_OR(a, LOAD_ONLY_LOAD(p));
            b = LOAD_ONLY_OR(b, LOAD_ONLY_LOAD(p + WIDTH));
            c = LOAD_ONLY_OR(c, LOAD_ONLY_LOAD(p + 2 * WIDTH));
            d = LOAD_ONLY_OR(d, LOAD_ONLY_LOAD(p + 3 * WIDTH));
            e = LOAD_ONLY_OR(e, LOAD_ONLY_LOAD(p + 4 * WIDTH));
            f = LOAD_ONLY_OR(f, LOAD_ONLY_LOAD(p + 5 * WIDTH));
            g = LOAD_ONLY_OR(g, LOAD_ONLY_LOAD(p + 6 * WIDTH));
            h = LOAD_ONLY_OR(h, LOAD_ONLY_LOAD(p + 7 * WIDTH));
            CKSUM_PIN(a);
            CKSUM_PIN(b);
            CKSUM_PIN(c);
            CKSUM_PIN(d);
            CKSUM_PIN(e);
            CKSUM_PIN(f);
            CKSUM_PIN(g);
            CKSUM_PIN(h);
        }
        a = LOAD_ONLY_OR(LOAD_ONLY_OR(a, b), LOAD_ONLY_OR(c, d));
        a = LOAD_ONLY_OR(a, LOAD_ONLY_OR(LOAD_ONLY_OR(e, f), LOAD_ONLY_OR(g, h)));
    }
    if (len & (4 * WIDTH)) {
        a = LOAD_ONLY_OR(a, LOAD_ONLY_OR(load_only_two(p), load_only_two(p + 2 * WIDTH)));
        p += 4 * WIDTH;
    }
    if (len & (2 * WIDTH)) {
        a = LOAD_ONLY_OR(a, load_only_two(p));
        p += 2 * WIDTH;
    }
    if (len & WIDTH) {
        a = LOAD_ONLY_OR(a, LOAD_ONLY_LOAD(p));
    }
    CKSUM_PIN(a); /* all lanes are used, though only one is returned */
    return (uint32_t)LOAD_ONLY_LOW(a) | sum;
}

#undef LOAD_ONLY_TARGET
#undef LOAD_ONLY_VECTOR
#undef LOAD_ONLY_ZERO
#undef LOAD_ONLY_LOAD
#undef LOAD_ONLY_OR
#undef LOAD_ONLY_LOW
