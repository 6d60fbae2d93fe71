/*
 * averages.h: the part of vector_sum.h that sums whole trees of 16 vectors, two operations a vector.
 *
 * With multiply-and-add a vector takes three: flip, multiply-and-add, add. Here the words are added modulo 2^16
 * (vpaddw), and what was lost is told by their rounded averages (vpavgw), 15 for 16 vectors, each tree's result being
 * summed in 32 bits. With S the exact sum of a column of words, X = S mod 2^16 and A the sum of the averages,
 * 16 A = S + D with 0 <= D < 2^16, so 16 A - X = D + (S - X), and S - X, a multiple of 2^16, is that with its low half
 * cleared.
 */
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

/* The exact sum of the words of whole trees at *p; leaves 1 to 16 * VS_WIDTH bytes. */
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
        sum += vs_total_wide(VS_ADD32(vs_exact(lower, lower_wrapped), vs_exact(upper, VS_SRL32(wrapped, 16))), 0);
        n -= trees * VS_TREE * VS_WIDTH;
    }
    *at = p;
    *left = n;
    return sum;
}
