/*
 * vector_sum.h: the template of the vector kernels: vs_sum(p, n, sum), any length, for any vector width.
 *
 * A kernel's file defines what it wants and includes xmm.h, ymm.h or zmm.h, which add what their vectors can do and
 * include this. All of these macros are undefined again at the end of this file. What a kernel states:
 *     VS_TARGET              the target attribute's string
 *     VS_KERNEL, VS_CODE     its function; CKSUM_CODE of its name: where its code lies
 *     VS_STEP(acc, v, ones)  each 32-bit lane of acc plus the two signed words of v in it: VS_MULTIPLY_ADD of the
 *                            width's header, or a dot product
 *     VS_CHAINS              4 or 8 accumulators: as many as a step's latency takes to hide
 *     VS_MASKED              0 or 1: whether the CPU has byte-masked loads, which VS_MASKED_LOAD then are
 *     VS_GENERAL_TO          64 or 128: the longest buffer that is summed in general registers (short.h)
 *     VS_ALIGN_FROM          the shortest buffer for which the loop's loads are aligned
 *     VS_TREES_FROM          the shortest that is summed by averages; 0: none is
 *     VS_STREAMS_FROM        the shortest, more than VS_LONGEST_TOTAL, of which four quarters are read side by side
 * What the width's header knows of its vectors, in this order:
 *     VS_VECTOR, VS_WIDTH    the type and its bytes (16, 32 or 64)
 *     VS_LOAD(p)             an unaligned load
 *     VS_MASK, VS_MASKED_LOAD(mask, p)       a number of a bit for each byte; a load of the bytes whose bit is set in
 *                            it, where the others are 0
 *     VS_ZERO(), VS_SET32(x), VS_SET64(x)    zeros; x in every lane of so many bits
 *     VS_AND, VS_ANDNOT, VS_XOR(a, b)        a & b; ~a & b; a ^ b
 *     VS_ADD16, VS_AVG16(a, b)               words: modulo 2^16; the rounded average
 *     VS_ADD32, VS_SUB32, VS_SLL32, VS_SRL32 32-bit lanes: modulo 2^32; shifted by a constant
 *     VS_ADD64, VS_SUB64, VS_SLL64, VS_SRL64 64-bit lanes, likewise
 *     VS_MULTIPLY(v, ones)                   each 32-bit lane the two signed words of v in it
 *     VS_MULTIPLY_ADD(acc, v, ones)          what VS_STEP is without a dot product
 *     vs_total64(lanes, sum) sum + the 64-bit lanes, which together are below 2^64
 *     vs_total32(lanes, sum) sum + the 32-bit lanes, whose sum is below 2^32, as a 64-bit number congruent to it
 *
 * The words are read as signed, w - 2^15, which is w with its top bit flipped: the multiply-and-add of two signed words
 * by 1 is the cheapest way to 32-bit lanes. So each step leaves a lane 2^16 below the sum of its words ("biased"). The
 * number of steps is known beforehand, and an accumulator starts at 2^16 times it: nothing is left to correct, and
 * steps that add zeros are as good as any.
 *
 * So no length needs a branch of its own: vectors that it lacks are read from a block of zeros, by a conditional move
 * of the address.
 */
#include "kernels/steps/short.h"
#if VS_MASKED
#include "kernels/steps/masked.h"
#endif

/*
 * Constants as 32-bit numbers in memory, at an address that the compiler does not know to be constant: loaded with a
 * broadcast they take no arithmetic port. gcc would move each to a general register and broadcast it from there.
 */
struct vs_numbers {
    int ones, flip, bias8, bias16, minus_bias4;
};
CKSUM_INLINE const struct vs_numbers *vs_numbers(void)
{
    static const struct vs_numbers numbers = {0x00010001, INT32_MIN + 0x8000, 8 << 16, 16 << 16, -(4 << 16)};
    const struct vs_numbers *at = &numbers;
    __asm__("" : "+r"(at));
    return at;
}
#define VS_CONSTANT(name) VS_SET32(vs_numbers()->name)
#define VS_BIAS(steps) VS_SET32((int)((uint32_t)(steps) << 16))

/* What each step needs: the top bit of each word, and a 1 in each. */
struct vs_words {
    VS_VECTOR flip, ones;
};
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE struct vs_words vs_words(void)
{
    return (struct vs_words){.flip = VS_CONSTANT(flip), .ones = VS_CONSTANT(ones)};
}

/* acc + the words of v, biased; and + those of the vector at p. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_add(VS_VECTOR acc, VS_VECTOR v, struct vs_words words)
{
    return VS_STEP(acc, VS_XOR(v, words.flip), words.ones);
}

CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_add_at(VS_VECTOR acc, const unsigned char *p, struct vs_words words)
{
    return vs_add(acc, VS_LOAD(p), words);
}

/* The words of the vector at p, biased: a first step, which needs no accumulator of zeros. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_first_at(const unsigned char *p, struct vs_words words)
{
    return VS_MULTIPLY(VS_XOR(VS_LOAD(p), words.flip), words.ones);
}

/*
 * Ends a class of lengths. Each keeps an end of its own: gcc would make one of them, to which the others jump, and a
 * taken branch is a core cycle.
 */
#define VS_RETURN(total)                                                                                               \
    do {                                                                                                               \
        uint32_t result = cksum_fold64(total);                                                                         \
        __asm__ volatile("" : "+r"(result) : "i"(__LINE__));                                                           \
        return result;                                                                                                 \
    } while (0)

/* sum + the halves of the 64-bit lanes; together below 2^64. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_total_wide(VS_VECTOR a, uint64_t sum)
{
    const VS_VECTOR low = VS_SET64(UINT32_MAX);
    return vs_total64(VS_ADD64(VS_AND(a, low), VS_SRL64(a, 32)), sum);
}

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
 * A vector of the last ((n - 1) % VS_WIDTH) + 1 of the n bytes at p as whole words, all else 0; they begin at p + at,
 * and before them the buffer has VS_WIDTH bytes or more. aligned, a constant: p + at is a multiple of VS_WIDTH, so that
 * a vector there is within one page and one cache line.
 *
 * Elsewhere it is the last VS_WIDTH bytes of the buffer, less those of earlier vectors. Without masks they end at the
 * last whole word, and an odd byte is added to *sum. Masked, they end one byte behind an odd buffer, so that its words
 * stay whole; that byte is on another page only if the buffer lies at an odd address and ends where a page does. (A
 * load from p + at would reach one often enough to need a test, see masked.h, which took 0.3 of 5.4 ticks at 256 bytes
 * on AMD Zen 5, gcc 12, 2026-12-01.)
 */
CKSUM_TARGET(VS_TARGET)
CKSUM_INLINE VS_VECTOR vs_last(const unsigned char *p, size_t n, size_t at, bool aligned, uint64_t *sum)
{
#if VS_MASKED
    (void)sum;
    if (aligned) {
        return VS_MASKED_LOAD((VS_MASK)masked_first((n - 1) % VS_WIDTH + 1), p + at);
    }
    const size_t missing = -n;
    size_t beyond = missing & ~(size_t)1; /* p + -beyond is the buffer's end, n rounded up to an even number */
    __asm__("" : "+r"(beyond));           /* or its last bits are cleared once more for the shift */
    const VS_MASK kept = (VS_MASK)-1 >> missing % VS_WIDTH << beyond % VS_WIDTH;
    return VS_MASKED_LOAD(kept, p + -beyond - VS_WIDTH);
#else
    (void)at;
    (void)aligned;
    const size_t odd = n & 1;
    *sum += cksum_odd_byte(p[n - 1]) * odd;
    return vs_keep_last(VS_LOAD(p + n - odd - VS_WIDTH), (n - 1) % VS_WIDTH + 1 - odd);
#endif
}

/*
 * 2 * VS_WIDTH < n <= 4 * VS_WIDTH, in 64-bit lanes: the sum of four is their halves' sums lower + 2^32 * upper, modulo
 * 2^64, and the upper ones are summed by themselves. Three operations a vector instead of two, but no constants.
 * AMD Zen 5, gcc 12, 2026-12-01: 5.1 ticks at 192 and 256 bytes instead of 5.8.
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_to_4(const unsigned char *p, size_t n, uint64_t sum)
{
    const size_t whole = n - 1;
    const unsigned char *const one = cksum_if_bit(whole, VS_WIDTH, p + 2 * VS_WIDTH);
    const VS_VECTOR a = VS_LOAD(p), b = VS_LOAD(p + VS_WIDTH), c = VS_LOAD(one);
    const VS_VECTOR d = vs_last(p, n, whole & -(size_t)VS_WIDTH, false, &sum);
    VS_VECTOR upper = VS_ADD64(VS_ADD64(VS_SRL64(a, 32), VS_SRL64(b, 32)), VS_ADD64(VS_SRL64(c, 32), VS_SRL64(d, 32)));
    VS_VECTOR all = VS_ADD64(VS_ADD64(a, b), VS_ADD64(c, d));
    CKSUM_PIN(upper); /* or gcc adds in another order */
    CKSUM_PIN(all);
    const VS_VECTOR lower = VS_SUB64(all, VS_SLL64(upper, 32));
    VS_RETURN(vs_total64(VS_ADD64(lower, upper), sum)); /* < 2^38 */
}

/* 4 * VS_WIDTH < n <= 8 * VS_WIDTH: eight steps on four accumulators. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_to_8(const unsigned char *p, size_t n, uint64_t sum)
{
    const struct vs_words words = vs_words();
    const size_t whole = n - 1;
    const unsigned char *const two = cksum_if_bit(whole, 2 * VS_WIDTH, p + 4 * VS_WIDTH);
    const unsigned char *const one = cksum_if_bit(whole, VS_WIDTH, p + (whole & 6 * VS_WIDTH));
    VS_VECTOR a = vs_add_at(VS_CONSTANT(bias8), p, words);
    VS_VECTOR b = vs_first_at(p + VS_WIDTH, words);
    VS_VECTOR c = vs_first_at(p + 2 * VS_WIDTH, words);
    VS_VECTOR d = vs_first_at(p + 3 * VS_WIDTH, words);
    a = vs_add_at(a, two, words);
    b = vs_add_at(b, two + VS_WIDTH, words);
    c = vs_add_at(c, one, words);
    d = vs_add(d, vs_last(p, n, whole & -(size_t)VS_WIDTH, false, &sum), words);
    VS_RETURN(vs_total32(VS_ADD32(VS_ADD32(a, b), VS_ADD32(c, d)), sum));
}

/* 8 * VS_WIDTH < n <= 16 * VS_WIDTH: twelve or sixteen steps on four accumulators. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_to_16(const unsigned char *p, size_t n, uint64_t sum)
{
    const struct vs_words words = vs_words();
    const size_t whole = n - 1;
    const unsigned char *const two = cksum_if_bit(whole, 2 * VS_WIDTH, p + (whole & 12 * VS_WIDTH));
    const unsigned char *const one = cksum_if_bit(whole, VS_WIDTH, p + (whole & 14 * VS_WIDTH));
    VS_VECTOR a = vs_add_at(VS_CONSTANT(bias16), p, words);
    VS_VECTOR b = vs_first_at(p + VS_WIDTH, words);
    VS_VECTOR c = vs_first_at(p + 2 * VS_WIDTH, words);
    VS_VECTOR d = vs_first_at(p + 3 * VS_WIDTH, words);
    a = vs_add_at(a, p + 4 * VS_WIDTH, words);
    b = vs_add_at(b, p + 5 * VS_WIDTH, words);
    c = vs_add_at(c, p + 6 * VS_WIDTH, words);
    d = vs_add_at(d, p + 7 * VS_WIDTH, words);
    if (whole & 4 * VS_WIDTH) {
        a = vs_add_at(a, p + 8 * VS_WIDTH, words);
        b = vs_add_at(b, p + 9 * VS_WIDTH, words);
        c = vs_add_at(c, p + 10 * VS_WIDTH, words);
        d = vs_add_at(d, p + 11 * VS_WIDTH, words);
    } else {
        a = VS_ADD32(a, VS_CONSTANT(minus_bias4)); /* four steps fewer */
    }
    a = vs_add_at(a, two, words);
    b = vs_add_at(b, two + VS_WIDTH, words);
    c = vs_add_at(c, one, words);
    d = vs_add(d, vs_last(p, n, whole & -(size_t)VS_WIDTH, false, &sum), words);
    VS_RETURN(vs_total32(VS_ADD32(VS_ADD32(a, b), VS_ADD32(c, d)), sum));
}

#include "kernels/steps/long.h"

/*
 * The whole kernel. The classes of lengths, in the order of their tests: each costs longer buffers a little, and mixed
 * lengths a mispredicted branch; within a class nothing depends on the length. Each is called unlikely, so that the
 * tests stand in a row and one jump is taken, whichever compiler; what saves registers is a function of its own. Before
 * and after on AMD Zen 3 (avx2, gcc 12, 2026-12-01): 15.4 and 13.7 ticks at 192 and 256 bytes, 18.7 and 16.2 at 384,
 * 29.0 and 25.1 at 576, 46.6 and 43.0 at 1500; latency 32.0 and 30.4 at 192, 46.7 and 42.8 at 576.
 */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum(const unsigned char *p, size_t n, uint32_t start)
{
    const uint64_t sum = start; /* widened once, or gcc keeps both */
    uint32_t result;
#if VS_MASKED
    if (masked_sum_to_64(p, n, sum, &result)) {
        return result;
    }
#else
    if (cksum_sum_to_64(p, n, sum, &result)) {
        return result;
    }
#endif
    const size_t last = n - 1; /* of an empty buffer: larger than any length */
    if (VS_GENERAL_TO == 128 && CKSUM_UNLIKELY(last < 128)) {
        return cksum_sum_65_to_128(p, n, sum);
    }
    if (VS_GENERAL_TO < 4 * VS_WIDTH && CKSUM_UNLIKELY(last < 4 * VS_WIDTH)) {
        return vs_sum_to_4(p, n, sum);
    }
    if (CKSUM_UNLIKELY(last < 8 * VS_WIDTH)) {
        return vs_sum_to_8(p, n, sum);
    }
    if (CKSUM_UNLIKELY(last < 16 * VS_WIDTH)) {
        return vs_sum_to_16(p, n, sum);
    }
    if (VS_MASKED && CKSUM_UNLIKELY(n == 0)) {
        return start;
    }
    if (VS_ALIGN_FROM > 16 * VS_WIDTH + 1 && CKSUM_UNLIKELY(n < VS_ALIGN_FROM)) {
        return vs_sum_unaligned(p, n, sum);
    }
    return vs_sum_aligned(p, n, sum);
}

/* The lengths at which the kernel changes its way, or flushes its lanes, for its descriptor. */
static const size_t vs_edges[] = {8,
                                  32,
                                  40,
                                  64,
                                  VS_GENERAL_TO,
                                  2 * VS_WIDTH,
                                  4 * VS_WIDTH,
                                  8 * VS_WIDTH,
                                  16 * VS_WIDTH,
                                  VS_ALIGN_FROM,
                                  VS_BULK_FROM,
                                  VS_LONGEST_TOTAL,
                                  VS_LONGEST_TOTAL + VS_WIDTH,
                                  VS_BULK_FLUSH,
                                  VS_STREAMS_FROM,
                                  0};

#undef VS_TARGET
#undef VS_KERNEL
#undef VS_CODE
#undef VS_STEP
#undef VS_CHAINS
#undef VS_MASKED
#undef VS_GENERAL_TO
#undef VS_ALIGN_FROM
#undef VS_TREES_FROM
#undef VS_STREAMS_FROM
#undef VS_VECTOR
#undef VS_WIDTH
#undef VS_LOAD
#undef VS_MASK
#undef VS_MASKED_LOAD
#undef VS_ZERO
#undef VS_SET32
#undef VS_SET64
#undef VS_AND
#undef VS_ANDNOT
#undef VS_XOR
#undef VS_ADD16
#undef VS_AVG16
#undef VS_ADD32
#undef VS_SUB32
#undef VS_SLL32
#undef VS_SRL32
#undef VS_ADD64
#undef VS_SUB64
#undef VS_SLL64
#undef VS_SRL64
#undef VS_MULTIPLY
#undef VS_MULTIPLY_ADD
#undef VS_CONSTANT
#undef VS_BIAS
#undef VS_RETURN
#undef VS_ROW_OF_8
#undef VS_ROW_OF_64
#undef VS_LONGEST_TOTAL
#undef VS_FLUSH_VECTORS
#undef VS_TREE
#undef VS_FLUSH_TREES
#undef VS_BULK
#undef VS_BULK_FROM
#undef VS_BULK_FLUSH
#undef VS_FAR_FUNCTION
