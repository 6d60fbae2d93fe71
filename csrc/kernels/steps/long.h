/*
 * long.h: the part of vector_sum.h for buffers of more vectors than it has classes for.
 *
 * From VS_ALIGN_FROM on the vectors are loaded from their own boundaries: one across two cache lines takes two loads.
 * From VS_BULK_FROM on most of the buffer is summed by what is fastest there, and what that leaves as a buffer of its
 * own.
 */
#include "kernels/steps/chains.h"

/*
 * The longest buffer that is summed without widening. Its words' total is 65536 * 65535 < 2^32, so nothing overflows
 * down to a single lane; vs_total32 adds no more than a quarter of it in one lane, so a vector of an aligned head fits
 * as well.
 */
#define VS_LONGEST_TOTAL 131072u

/* Vectors for which the lanes of all accumulators together stay below 2^32 (32768 * 131070 < 2^32), halved. */
#define VS_FLUSH_VECTORS 16384u
_Static_assert(VS_FLUSH_VECTORS * 131070ull <= UINT32_MAX, "a 32-bit lane must hold what is added between two flushes");

#if VS_TREES_FROM
#include "kernels/steps/averages.h"
#define VS_BULK vs_bulk_of_trees
#define VS_BULK_FROM VS_TREES_FROM
#define VS_BULK_FLUSH (VS_FLUSH_TREES * VS_TREE * VS_WIDTH)

#else

/* The exact sum of the words of whole steps of eight vectors at *p; leaves 1 to VS_LONGEST_TOTAL bytes. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint64_t vs_bulk_of_steps(const unsigned char **at, size_t *left)
{
    const struct vs_words words = vs_words();
    const unsigned char *p = *at;
    size_t n = *left;
    uint64_t sum = 0; /* 2^64 is beyond 2^49 bytes of 0xff */
    while (n > VS_LONGEST_TOTAL) {
        const size_t blocks_left = (n - 1) / (8 * VS_WIDTH);
        const size_t blocks = blocks_left < VS_FLUSH_VECTORS / 8 ? blocks_left : VS_FLUSH_VECTORS / 8;
        struct vs_chains chains = vs_chains_for(8 * blocks);
        for (size_t i = 0; i < blocks; i++, p += 8 * VS_WIDTH) {
            vs_chain_8(&chains, p, words);
        }
        sum += vs_total_wide(vs_sum_of(&chains), 0);
        n -= blocks * 8 * VS_WIDTH;
    }
    *at = p;
    *left = n;
    return sum;
}
#define VS_BULK vs_bulk_of_steps
#define VS_BULK_FROM (VS_LONGEST_TOTAL + 1)
#define VS_BULK_FLUSH (VS_FLUSH_VECTORS * VS_WIDTH)

#endif

#include "kernels/steps/streams.h"

/*
 * The last n >= 1 bytes of a buffer, at p, before which it has VS_WIDTH bytes or more; n < VS_LONGEST_TOTAL, or as much
 * as a bulk leaves. Eight vectors a round, then as many of which some may be zeros. first: what an accumulator begins
 * with; *inner: to which a last odd byte is added; aligned, a constant: whether p is a multiple of VS_WIDTH.
 */
CKSUM_TARGET(VS_TARGET)
CKSUM_INLINE uint64_t vs_rounds(const unsigned char *p, size_t n, VS_VECTOR first, bool aligned, uint64_t *inner)
{
    const struct vs_words words = vs_words();
    const size_t blocks = (n - 1) / (8 * VS_WIDTH);
    struct vs_chains chains = vs_chains_for(8 * blocks + 8);
    chains.of[1] = first;
    for (size_t i = blocks; i > 0; i--, p += 8 * VS_WIDTH) {
        vs_chain_8(&chains, p, words);
    }
    n -= blocks * 8 * VS_WIDTH;
    const size_t whole = n - 1;
    const unsigned char *const four = cksum_if_bit(whole, 4 * VS_WIDTH, p);
    const unsigned char *const two = cksum_if_bit(whole, 2 * VS_WIDTH, p + (whole & 4 * VS_WIDTH));
    const unsigned char *const one = cksum_if_bit(whole, VS_WIDTH, p + (whole & 6 * VS_WIDTH));
    vs_chain(&chains, 0, four, words);
    vs_chain(&chains, 1, four + VS_WIDTH, words);
    vs_chain(&chains, 2, four + 2 * VS_WIDTH, words);
    vs_chain(&chains, 3, four + 3 * VS_WIDTH, words);
    vs_chain(&chains, 4, two, words);
    vs_chain(&chains, 5, two + VS_WIDTH, words);
    vs_chain(&chains, 6, one, words);
    chains.of[7 % VS_CHAINS] =
        vs_add(chains.of[7 % VS_CHAINS], vs_last(p, n, whole & -(size_t)VS_WIDTH, aligned, inner), words);
    return vs_total32(vs_sum_of(&chains), 0);
}

/* 8 * VS_WIDTH < n < VS_ALIGN_FROM. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE uint32_t vs_sum_unaligned(const unsigned char *p, size_t n, uint64_t sum)
{
    const uint64_t vectors = vs_rounds(p, n, VS_ZERO(), false, &sum);
    VS_RETURN(sum + vectors);
}

/*
 * Moves *at to a multiple of VS_WIDTH; returns the words of the bytes on the way. An odd first byte is added to *sum by
 * itself; all behind it, this vector too, is then off by one byte, and *rotation is 8 (else 0).
 */
CKSUM_TARGET(VS_TARGET)
CKSUM_INLINE VS_VECTOR vs_to_boundary(const unsigned char **at, size_t *left, uint64_t *sum, unsigned *rotation)
{
    const unsigned char *p = *at;
    if ((uintptr_t)p % VS_WIDTH == 0) {
        *rotation = 0;
        return VS_ZERO();
    }
    const size_t odd = (uintptr_t)p & 1;
    *sum += cksum_odd_byte(*p) * odd;
    *rotation = 8 * (unsigned)odd;
    p += odd;
    const size_t head = -(uintptr_t)p % VS_WIDTH;
    *at = p + head;
    *left -= odd + head;
    return vs_add(VS_BIAS(1), vs_keep_first(VS_LOAD(p), head), vs_words());
}

/* A rotation: a shift would lose bits, and the 64-bit sum modulo 2^64 - 1, a multiple of 0xffff, is what counts. */
CKSUM_INLINE uint64_t vs_rotated(uint64_t sum, unsigned rotation)
{
    return sum << rotation | sum >> (-rotation & 63);
}

/*
 * Functions of their own, each of which jumps to the next: the registers that a longer buffer needs would be saved for
 * shorter ones too (14.5 ticks at 1500 bytes instead of 13.9 on AMD Zen 5, gcc 12, 2026-12-01).
 */
#define VS_FAR_FUNCTION(name)                                                                                          \
    CKSUM_TARGET(VS_TARGET)                                                                                            \
    VS_CODE CKSUM_ALIGNED static __attribute__((noinline)) uint32_t name(const unsigned char *p, size_t n, uint64_t sum)

/* n >= VS_BULK_FROM. What a bulk leaves goes to the kernel again: one more copy of its loops would be 500 bytes. */
CKSUM_TARGET(VS_TARGET) static uint32_t VS_KERNEL(const void *buf, size_t len, uint32_t sum);
VS_FAR_FUNCTION(vs_sum_bulk)
{
    unsigned rotation;
    const uint64_t head = vs_total32(vs_to_boundary(&p, &n, &sum, &rotation), 0);
    const uint64_t inner = n >= VS_STREAMS_FROM ? vs_bulk_of_streams(&p, &n) : VS_BULK(&p, &n);
    sum = cksum_add64(sum, vs_rotated(cksum_add64(inner, head), rotation));
    if (rotation != 0) { /* the second byte of a word */
        sum = cksum_add64(sum, (uint64_t)cksum_odd_byte(*p) << 8 | cksum_odd_byte(*p) >> 8);
        p++;
        n--;
    }
    return VS_KERNEL(p, n, cksum_fold64(sum));
}

/*
 * VS_ALIGN_FROM <= n < VS_BULK_FROM. The lower half of the vectors' total is that of at most 32768 + 64 words, below
 * 0x81000000, and so is the upper half: wherever a rotation puts its top byte, the 33 bits added carry no further.
 */
VS_FAR_FUNCTION(vs_sum_aligned)
{
    unsigned rotation;
    uint64_t inner = 0;
    if (CKSUM_UNLIKELY(n >= VS_BULK_FROM)) {
        return vs_sum_bulk(p, n, sum);
    }
    const VS_VECTOR head = vs_to_boundary(&p, &n, &sum, &rotation);
    const uint64_t vectors = vs_rounds(p, n, head, true, &inner);
    return cksum_fold64(vs_rotated(vectors + inner, rotation) + sum);
}
