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
 *     LOAD_ONLY_STORE(p, a)     an unaligned store
 *
 * Each vector is or-ed into one of eight accumulators: one operation that the processor fuses with the load and that
 * three or more of its pipes can do, so the loads (two a cycle) are the limit; eight, so that no chain of ors is. All
 * that was loaded is in the result, so the compiler can drop none of it.
 *
 * Whole vectors, then 8-byte words, then the last bytes: nothing outside the buffer is read.
 */
#include "base/fold.h"

CKSUM_TARGET(LOAD_ONLY_TARGET) CKSUM_INLINE uint32_t load_only(const unsigned char *p, size_t len, uint32_t sum)
{
    enum { WIDTH = sizeof(LOAD_ONLY_VECTOR) };
    uint64_t rest = sum;

    if (len >= WIDTH) {
        LOAD_ONLY_VECTOR a = LOAD_ONLY_ZERO(), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
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
        for (; len >= WIDTH; p += WIDTH, len -= WIDTH) {
            a = LOAD_ONLY_OR(a, LOAD_ONLY_LOAD(p));
        }
        a = LOAD_ONLY_OR(LOAD_ONLY_OR(a, b), LOAD_ONLY_OR(c, d));
        e = LOAD_ONLY_OR(LOAD_ONLY_OR(e, f), LOAD_ONLY_OR(g, h));
        uint64_t words[WIDTH / 8];
        LOAD_ONLY_STORE(words, LOAD_ONLY_OR(a, e));
        for (unsigned i = 0; i < WIDTH / 8; i++) {
            rest |= words[i];
        }
    }
    for (; len >= 8; p += 8, len -= 8) {
        rest |= cksum_load64(p);
    }
    rest |= cksum_load_tail(p, len);
    return (uint32_t)(rest >> 32 | rest);
}

#undef LOAD_ONLY_TARGET
#undef LOAD_ONLY_VECTOR
#undef LOAD_ONLY_ZERO
#undef LOAD_ONLY_LOAD
#undef LOAD_ONLY_OR
#undef LOAD_ONLY_STORE
