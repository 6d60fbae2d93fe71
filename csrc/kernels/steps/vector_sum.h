/*
 * vector_sum.h: a template: buffers longer than a few vectors, for any vector width.
 *
 * Parameters, macros of the file that includes this:
 *     VS_TARGET              the target attribute's string
 *     VS_VECTOR, VS_WIDTH    the vector type and its bytes (16, 32 or 64)
 *     VS_LOAD(p)             an unaligned load
 *     VS_ZERO(), VS_SET32(x) zeros; x in every 32-bit lane
 *     VS_ADD32(a, b)         32-bit lanes, modulo 2^32
 *     VS_AND(a, b), VS_ANDNOT(a, b)   a & b; ~a & b
 *     VS_STEP(acc, v)        each 32-bit lane of acc plus the two words of v in it, less 2^16 ("biased"); may use the
 *                            vectors `flip` and `ones`
 *     VS_TAIL(p, n, sum)     a vector with the last ((n - 1) % VS_WIDTH) + 1 of the n bytes at p, wherever they end in
 *                            it, each word in its own place, all else 0; may add an odd last byte to *sum instead
 *     VS_TOTAL(lanes, sum)   sum + the 32-bit lanes, whose sum is below 2^32, as a 64-bit number congruent to it
 *     VS_WIDE(lanes)         the sum of the 32-bit lanes, exactly
 *     VS_ALIGN_FROM          the shortest buffer for which the loop's loads are aligned
 *     VS_STREAMS_FROM        the shortest, more than VS_LONGEST_TOTAL, of which four quarters are read side by side
 * and, for the averaging tree, VS_TREES_FROM, VS_AVG16, VS_ADD16, VS_SUB32, VS_SLL32(v, bits), VS_SRL32(v, bits).
 *
 * A step is biased because the words are read as signed: w - 2^15 is w with its top bit flipped, and the
 * multiply-and-add of two signed words by 1 is the cheapest way to 32-bit lanes. Each step so takes 2^16 too little
 * into each lane, and as the number of steps is known beforehand, an accumulator starts at 2^16 times it: nothing is
 * left to correct, and steps that add zeros are as good as any.
 *
 * So no length needs a branch of its own: vectors that it lacks are read from a block of zeros, by a conditional move
 * of the address.
 */
#include "kernels/steps/short.h"

/*
 * Constants as 32-bit numbers in memory, at an address that the compiler does not know to be constant: loaded with a
 * broadcast they take no arithmetic port. gcc would move each to a general register and broadcast it from there.
 */
struct vs_constants {
    int ones, flip, bias4, bias8, bias16, minus_bias4;
};
CKSUM_INLINE const struct vs_constants *vs_constants(void)
{
    static const struct vs_constants numbers = {0x00010001, INT32_MIN + 0x8000, 4 << 16, 8 << 16, 16 << 16, -(4 << 16)};
    const struct vs_constants *at = &numbers;
    __asm__("" : "+r"(at));
    return at;
}
#define VS_CONSTANT(name) VS_SET32(vs_constants()->name)

#define VS_BIAS(steps) VS_SET32((int)((uint32_t)(steps) << 16))

/* VS_WIDTH bytes 0 and as many 0xff: a vector loaded at k has its last k bytes set. */
#define VS_ROW_OF_8(byte) byte, byte, byte, byte, byte, byte, byte, byte
#define VS_ROW_OF_64(byte)                                                                                             \
    VS_ROW_OF_8(byte), VS_ROW_OF_8(byte), VS_ROW_OF_8(byte), VS_ROW_OF_8(byte), VS_ROW_OF_8(byte), VS_ROW_OF_8(byte),  \
        VS_ROW_OF_8(byte), VS_ROW_OF_8(byte)
static const unsigned char vs_window[128] __attribute__((aligned(64))) = {VS_ROW_OF_64(0), VS_ROW_OF_64(0xff)};

/* v with all bytes but the last `kept` cleared, and with all but the first. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_keep_last(VS_VECTOR v, size_t kept)
{
    return VS_AND(v, VS_LOAD(vs_window + 64 - VS_WIDTH + kept));
}

CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_keep_first(VS_VECTOR v, size_t kept)
{
    return VS_ANDNOT(VS_LOAD(vs_window + 64 - kept), v);
}

/*
 * The tail without a masked load, where n, or what lies before p in the buffer, is at least VS_WIDTH + 1 bytes: the
 * last VS_WIDTH bytes of the buffer's whole words, of which those are cleared that belong to earlier vectors. An odd
 * last byte is added to *sum.
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_tail(const unsigned char *p, size_t n, uint64_t *sum)
{
    const size_t odd = n & 1;
    *sum += cksum_odd_byte(*cksum_if_bit(n, 1, p + n - 1));
    return vs_keep_last(VS_LOAD(p + n - odd - VS_WIDTH), (n - 1) % VS_WIDTH + 1 - odd);
}

/* 2 * VS_WIDTH < n <= 4 * VS_WIDTH: four steps, none waits for another. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_to_4(const unsigned char *p, size_t n, uint64_t sum)
{
    const VS_VECTOR flip = VS_CONSTANT(flip), ones = VS_CONSTANT(ones);
    const size_t full = (n - 1) / VS_WIDTH; /* 2 or 3 */
    const unsigned char *const one = cksum_if_bit(full, 1, p + 2 * VS_WIDTH);
    const VS_VECTOR a = VS_STEP(VS_CONSTANT(bias4), VS_LOAD(p));
    const VS_VECTOR b = VS_STEP(VS_ZERO(), VS_LOAD(p + VS_WIDTH));
    const VS_VECTOR c = VS_STEP(VS_ZERO(), VS_LOAD(one));
    const VS_VECTOR d = VS_STEP(VS_ZERO(), VS_TAIL(p, n, &sum));
    return cksum_fold64(VS_TOTAL(VS_ADD32(VS_ADD32(a, b), VS_ADD32(c, d)), sum));
}

/* 4 * VS_WIDTH < n <= 8 * VS_WIDTH: eight steps on four accumulators. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_to_8(const unsigned char *p, size_t n, uint64_t sum)
{
    const VS_VECTOR flip = VS_CONSTANT(flip), ones = VS_CONSTANT(ones);
    const size_t full = (n - 1) / VS_WIDTH; /* 4 to 7 */
    const unsigned char *const two = cksum_if_bit(full, 2, p + 4 * VS_WIDTH);
    const unsigned char *const one = cksum_if_bit(full, 1, p + (full & 6) * VS_WIDTH);
    VS_VECTOR a = VS_STEP(VS_CONSTANT(bias8), VS_LOAD(p));
    VS_VECTOR b = VS_STEP(VS_ZERO(), VS_LOAD(p + VS_WIDTH));
    VS_VECTOR c = VS_STEP(VS_ZERO(), VS_LOAD(p + 2 * VS_WIDTH));
    VS_VECTOR d = VS_STEP(VS_ZERO(), VS_LOAD(p + 3 * VS_WIDTH));
    a = VS_STEP(a, VS_LOAD(two));
    b = VS_STEP(b, VS_LOAD(two + VS_WIDTH));
    c = VS_STEP(c, VS_LOAD(one));
    d = VS_STEP(d, VS_TAIL(p, n, &sum));
    return cksum_fold64(VS_TOTAL(VS_ADD32(VS_ADD32(a, b), VS_ADD32(c, d)), sum));
}

/* 8 * VS_WIDTH < n <= 16 * VS_WIDTH: twelve or sixteen steps on four accumulators. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_to_16(const unsigned char *p, size_t n, uint64_t sum)
{
    const VS_VECTOR flip = VS_CONSTANT(flip), ones = VS_CONSTANT(ones);
    const size_t full = (n - 1) / VS_WIDTH; /* 8 to 15 */
    const unsigned char *const two = cksum_if_bit(full, 2, p + (full & 12) * VS_WIDTH);
    const unsigned char *const one = cksum_if_bit(full, 1, p + (full & 14) * VS_WIDTH);
    VS_VECTOR a = VS_STEP(VS_CONSTANT(bias16), VS_LOAD(p));
    VS_VECTOR b = VS_STEP(VS_ZERO(), VS_LOAD(p + VS_WIDTH));
    VS_VECTOR c = VS_STEP(VS_ZERO(), VS_LOAD(p + 2 * VS_WIDTH));
    VS_VECTOR d = VS_STEP(VS_ZERO(), VS_LOAD(p + 3 * VS_WIDTH));
    a = VS_STEP(a, VS_LOAD(p + 4 * VS_WIDTH));
    b = VS_STEP(b, VS_LOAD(p + 5 * VS_WIDTH));
    c = VS_STEP(c, VS_LOAD(p + 6 * VS_WIDTH));
    d = VS_STEP(d, VS_LOAD(p + 7 * VS_WIDTH));
    if (full & 4) {
        a = VS_STEP(a, VS_LOAD(p + 8 * VS_WIDTH));
        b = VS_STEP(b, VS_LOAD(p + 9 * VS_WIDTH));
        c = VS_STEP(c, VS_LOAD(p + 10 * VS_WIDTH));
        d = VS_STEP(d, VS_LOAD(p + 11 * VS_WIDTH));
    } else {
        a = VS_ADD32(a, VS_CONSTANT(minus_bias4)); /* four steps fewer */
    }
    a = VS_STEP(a, VS_LOAD(two));
    b = VS_STEP(b, VS_LOAD(two + VS_WIDTH));
    c = VS_STEP(c, VS_LOAD(one));
    d = VS_STEP(d, VS_TAIL(p, n, &sum));
    return cksum_fold64(VS_TOTAL(VS_ADD32(VS_ADD32(a, b), VS_ADD32(c, d)), sum));
}

/*
 * A step of eight vectors at p, on the accumulators a to h; or on a to d alone, where a step is an addition, of which
 * none waits long for another, and four fewer are to be added up in the end.
 */
#if defined(VS_AVG16)
#define VS_OR(low, high) low
#define VS_ACCUMULATORS VS_VECTOR a = VS_ZERO(), b = a, c = a, d = a
#else
#define VS_OR(low, high) high
#define VS_ACCUMULATORS VS_VECTOR a = VS_ZERO(), b = a, c = a, d = a, e = a, f = a, g = a, h = a
#endif
#define VS_STEP_AT(acc, i) acc = VS_STEP(acc, VS_LOAD(p + (i) * VS_WIDTH))
#define VS_EIGHT_STEPS                                                                                                 \
    do {                                                                                                               \
        VS_STEP_AT(a, 0);                                                                                              \
        VS_STEP_AT(b, 1);                                                                                              \
        VS_STEP_AT(c, 2);                                                                                              \
        VS_STEP_AT(d, 3);                                                                                              \
        VS_STEP_AT(VS_OR(a, e), 4);                                                                                    \
        VS_STEP_AT(VS_OR(b, f), 5);                                                                                    \
        VS_STEP_AT(VS_OR(c, g), 6);                                                                                    \
        VS_STEP_AT(VS_OR(d, h), 7);                                                                                    \
        VS_PIN_ALL;                                                                                                    \
    } while (0)
#define VS_PIN_ALL                                                                                                     \
    do {                                                                                                               \
        CKSUM_PIN(a);                                                                                                  \
        CKSUM_PIN(b);                                                                                                  \
        CKSUM_PIN(c);                                                                                                  \
        CKSUM_PIN(d);                                                                                                  \
        CKSUM_PIN(VS_OR(a, e));                                                                                        \
        CKSUM_PIN(VS_OR(b, f));                                                                                        \
        CKSUM_PIN(VS_OR(c, g));                                                                                        \
        CKSUM_PIN(VS_OR(d, h));                                                                                        \
    } while (0)
#define VS_SUM_OF_4 VS_ADD32(VS_ADD32(a, b), VS_ADD32(c, d))
#define VS_SUM_OF_ALL VS_OR(VS_SUM_OF_4, VS_ADD32(VS_SUM_OF_4, VS_ADD32(VS_ADD32(e, f), VS_ADD32(g, h))))

/*
 * The longest buffer that is summed without widening. Its words' total is 65536 * 65535 < 2^32, so nothing overflows
 * down to a single lane; VS_TOTAL adds no more than a quarter of it in one lane, so a vector of an aligned head fits
 * as well.
 */
#define VS_LONGEST_TOTAL 131072u

/* Vectors for which the lanes of all accumulators together stay below 2^32 (32768 * 131070 < 2^32), halved. */
#define VS_FLUSH_VECTORS 16384u
_Static_assert(VS_FLUSH_VECTORS * 131070ull <= UINT32_MAX, "a 32-bit lane must hold what is added between two flushes");

#if defined(VS_AVG16)

/* The rounded average of the two vectors at p, word by word; both are added to words that wrap. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_average(const unsigned char *p, VS_VECTOR *even, VS_VECTOR *odd)
{
    VS_VECTOR v = VS_LOAD(p), w = VS_LOAD(p + VS_WIDTH);
    CKSUM_PIN(v); /* gcc would load each vector once for the sum and once for the average */
    CKSUM_PIN(w);
    *even = VS_ADD16(*even, v);
    *odd = VS_ADD16(*odd, w);
    CKSUM_PIN(*even);
    CKSUM_PIN(*odd);
    return VS_AVG16(v, w);
}

/* The same of the four vectors at p. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_average_of_4(const unsigned char *p, VS_VECTOR *even, VS_VECTOR *odd)
{
    const VS_VECTOR first = vs_average(p, even, odd);
    return VS_AVG16(first, vs_average(p + 2 * VS_WIDTH, even, odd));
}

/* The same of the eight vectors at p. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_average_of_8(const unsigned char *p, VS_VECTOR *even, VS_VECTOR *odd)
{
    const VS_VECTOR first = vs_average_of_4(p, even, odd);
    return VS_AVG16(first, vs_average_of_4(p + 4 * VS_WIDTH, even, odd));
}

/*
 * Vectors of a tree, and trees for which the excess of the rounded averages stays below a word: one rounding adds at
 * most half a unit of its result, which is one unit of the sum on the first level (8 of them), two on the second (4),
 * four (2), eight (1): 32 a tree of 16, and 1024 * 32 = 32768 < 65536.
 */
#define VS_TREE 16u
#define VS_FLUSH_TREES 1024u
_Static_assert(VS_FLUSH_TREES * 32u < 65536u, "the excess of the averages must stay below one wrap of a word");
_Static_assert(2ull * VS_FLUSH_TREES * VS_TREE * 65535u <= UINT32_MAX, "both words' sums must fit one 32-bit lane");

/* The exact sum of a word's column: `wrapped` is it modulo 2^16, 16 * `averages` is it and the excess. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_exact(VS_VECTOR averages, VS_VECTOR wrapped)
{
    const VS_VECTOR excess_and_wraps = VS_SUB32(VS_SLL32(averages, 4), wrapped);
    return VS_ADD32(wrapped, VS_SLL32(VS_SRL32(excess_and_wraps, 16), 16));
}

/*
 * The exact sum of the words of whole trees at *p; leaves 1 to 16 * VS_WIDTH bytes.
 *
 * Two operations a vector instead of the three of multiply-and-add: words are added modulo 2^16 (vpaddw), and what was
 * lost is told by their averages (vpavgw), 15 for 16 vectors, each tree's result being summed in 32 bits. With S the
 * exact sum of a column of words, X = S mod 2^16 and A the sum of the averages, 16 A = S + D with 0 <= D < 2^16, so
 * 16 A - X = D + (S - X), and S - X, a multiple of 2^16, is that with its low half cleared.
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_bulk_of_trees(const unsigned char **at, size_t *left)
{
    const unsigned char *p = *at;
    size_t n = *left;
    uint64_t sum = 0; /* 2^64 is beyond 2^49 bytes of 0xff */
    while (n > VS_TREE * VS_WIDTH) {
        const size_t trees_left = (n - 1) / (VS_TREE * VS_WIDTH);
        const size_t trees = trees_left < VS_FLUSH_TREES ? trees_left : VS_FLUSH_TREES;
        VS_VECTOR even = VS_ZERO(), odd = even, both = even, upper = even;
        for (size_t i = 0; i < trees; i++, p += VS_TREE * VS_WIDTH) {
            const VS_VECTOR first = vs_average_of_8(p, &even, &odd);
            const VS_VECTOR average = VS_AVG16(first, vs_average_of_8(p + 8 * VS_WIDTH, &even, &odd));
            both = VS_ADD32(both, average); /* lower words + 2^16 * upper words, modulo 2^32 */
            upper = VS_ADD32(upper, VS_SRL32(average, 16));
        }
        const VS_VECTOR wrapped = VS_ADD16(even, odd);
        const VS_VECTOR lower = VS_SUB32(both, VS_SLL32(upper, 16));
        const VS_VECTOR lower_wrapped = VS_SRL32(VS_SLL32(wrapped, 16), 16);
        sum += VS_WIDE(VS_ADD32(vs_exact(lower, lower_wrapped), vs_exact(upper, VS_SRL32(wrapped, 16))));
        n -= trees * VS_TREE * VS_WIDTH;
    }
    *at = p;
    *left = n;
    return sum;
}
#define VS_BULK vs_bulk_of_trees
#define VS_BULK_FROM VS_TREES_FROM

#else

/* The exact sum of the words of whole steps of eight vectors at *p; leaves 1 to VS_LONGEST_TOTAL bytes. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_bulk_of_steps(const unsigned char **at, size_t *left)
{
    const VS_VECTOR flip = VS_CONSTANT(flip), ones = VS_CONSTANT(ones);
    const unsigned char *p = *at;
    size_t n = *left;
    uint64_t sum = 0; /* 2^64 is beyond 2^49 bytes of 0xff */
    while (n > VS_LONGEST_TOTAL) {
        const size_t blocks_left = (n - 1) / (8 * VS_WIDTH);
        const size_t blocks = blocks_left < VS_FLUSH_VECTORS / 8 ? blocks_left : VS_FLUSH_VECTORS / 8;
        VS_ACCUMULATORS;
        a = VS_BIAS(8 * blocks);
        for (size_t i = 0; i < blocks; i++, p += 8 * VS_WIDTH) {
            VS_EIGHT_STEPS;
        }
        sum += VS_WIDE(VS_SUM_OF_ALL);
        n -= blocks * 8 * VS_WIDTH;
    }
    *at = p;
    *left = n;
    return sum;
}
#define VS_BULK vs_bulk_of_steps
#define VS_BULK_FROM (VS_LONGEST_TOTAL + 1)

#endif

/*
 * The exact sum of the words of four quarters of the buffer at *p, whole vectors each, read side by side; leaves 1 to
 * 8 * VS_WIDTH bytes.
 *
 * Beyond the second-level cache a core waits for memory, and its prefetchers keep more lines under way for four streams
 * than for one: 2 MiB take 78 thousand ticks instead of 90 on an Intel server core, 64 MiB a quarter less on AMD Zen 3.
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_bulk_of_streams(const unsigned char **at, size_t *left)
{
    const VS_VECTOR flip = VS_CONSTANT(flip), ones = VS_CONSTANT(ones);
    const unsigned char *p = *at;
    size_t rounds_left = (*left - 1) / (8 * VS_WIDTH);
    const size_t quarter = rounds_left * 2 * VS_WIDTH;
    uint64_t sum = 0;
    *at += 4 * quarter;
    *left -= 4 * quarter;
    while (rounds_left > 0) {
        const size_t rounds = rounds_left < VS_FLUSH_VECTORS / 8 ? rounds_left : VS_FLUSH_VECTORS / 8;
        VS_ACCUMULATORS;
        a = VS_BIAS(8 * rounds);
        for (size_t i = rounds; i > 0; i--, p += 2 * VS_WIDTH) {
            const unsigned char *const third = p + 2 * quarter;
            a = VS_STEP(a, VS_LOAD(p));
            b = VS_STEP(b, VS_LOAD(p + quarter));
            c = VS_STEP(c, VS_LOAD(third));
            d = VS_STEP(d, VS_LOAD(third + quarter));
            VS_OR(a, e) = VS_STEP(VS_OR(a, e), VS_LOAD(p + VS_WIDTH));
            VS_OR(b, f) = VS_STEP(VS_OR(b, f), VS_LOAD(p + quarter + VS_WIDTH));
            VS_OR(c, g) = VS_STEP(VS_OR(c, g), VS_LOAD(third + VS_WIDTH));
            VS_OR(d, h) = VS_STEP(VS_OR(d, h), VS_LOAD(third + quarter + VS_WIDTH));
            VS_PIN_ALL;
        }
        sum += VS_WIDE(VS_SUM_OF_ALL);
        rounds_left -= rounds;
    }
    return sum;
}

/*
 * n > 8 * VS_WIDTH. From VS_ALIGN_FROM on, the vectors are loaded from their own boundaries: a vector across two cache
 * lines takes two loads. An odd first byte is summed by itself, and all else, which is then off by one byte, is rotated
 * back at the end (a shift would lose bits: the 64-bit sum modulo 2^64 - 1, a multiple of 0xffff, is what counts).
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_long(const unsigned char *p, size_t n, uint64_t sum)
{
    const VS_VECTOR flip = VS_CONSTANT(flip), ones = VS_CONSTANT(ones);
    VS_ACCUMULATORS;
    uint64_t inner = 0;
    unsigned rotation = 0;

    if (n >= VS_ALIGN_FROM && (uintptr_t)p % VS_WIDTH != 0) {
        const size_t odd = (uintptr_t)p & 1;
        sum += cksum_odd_byte(*cksum_if_bit(odd, 1, p));
        p += odd;
        n -= odd;
        rotation = 8 * (unsigned)odd;
        const size_t head = -(uintptr_t)p % VS_WIDTH;
        a = VS_STEP(VS_BIAS(1), vs_keep_first(VS_LOAD(p), head));
        p += head;
        n -= head;
    }
    if (CKSUM_UNLIKELY(n >= VS_BULK_FROM)) {
        inner = n >= VS_STREAMS_FROM ? vs_bulk_of_streams(&p, &n) : VS_BULK(&p, &n);
    }
    const size_t blocks = (n - 1) / (8 * VS_WIDTH);
    b = VS_BIAS(8 * blocks + 8);
    for (size_t i = blocks; i > 0; i--, p += 8 * VS_WIDTH) {
        VS_EIGHT_STEPS;
    }
    CKSUM_PIN(VS_OR(d, h)); /* here, or gcc copies it in each round for the path of VS_TAIL that is not taken */
    n -= blocks * 8 * VS_WIDTH;
    const size_t full = (n - 1) / VS_WIDTH; /* 0 to 7 */
    const unsigned char *const four = cksum_if_bit(full, 4, p);
    const unsigned char *const two = cksum_if_bit(full, 2, p + (full & 4) * VS_WIDTH);
    const unsigned char *const one = cksum_if_bit(full, 1, p + (full & 6) * VS_WIDTH);
    a = VS_STEP(a, VS_LOAD(four));
    b = VS_STEP(b, VS_LOAD(four + VS_WIDTH));
    c = VS_STEP(c, VS_LOAD(four + 2 * VS_WIDTH));
    d = VS_STEP(d, VS_LOAD(four + 3 * VS_WIDTH));
    VS_OR(a, e) = VS_STEP(VS_OR(a, e), VS_LOAD(two));
    VS_OR(b, f) = VS_STEP(VS_OR(b, f), VS_LOAD(two + VS_WIDTH));
    VS_OR(c, g) = VS_STEP(VS_OR(c, g), VS_LOAD(one));
    VS_OR(d, h) = VS_STEP(VS_OR(d, h), VS_TAIL(p, n, &inner));
    inner = cksum_add64(inner, VS_TOTAL(VS_SUM_OF_ALL, 0));
    return cksum_fold64(cksum_add64(inner << rotation | inner >> (-rotation & 63), sum));
}

/* n > 2 * VS_WIDTH, or 4 * VS_WIDTH where that is 64. Each test costs longer buffers a little, mixed ones a miss. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum(const unsigned char *p, size_t n, uint32_t sum)
{
    if (VS_WIDTH > 16 && CKSUM_LIKELY(n <= 4 * VS_WIDTH)) {
        return vs_sum_to_4(p, n, sum);
    }
    if (CKSUM_LIKELY(n <= 8 * VS_WIDTH)) {
        return vs_sum_to_8(p, n, sum);
    }
    if (CKSUM_LIKELY(n <= 16 * VS_WIDTH)) {
        return vs_sum_to_16(p, n, sum);
    }
    return vs_sum_long(p, n, sum);
}
