/*
 * chains.h: the part of vector_sum.h that keeps the accumulators of a loop.
 *
 * Vector i of a round of eight goes to accumulator i % VS_CHAINS. There are eight where a step is a dot product, whose
 * latency takes so many to hide; four where it ends in an addition, of which none waits long for another: four fewer
 * are to be added up in the end.
 */
struct vs_chains {
    VS_VECTOR of[VS_CHAINS];
};

/* The vector at p added to the accumulator of vector i. */
CKSUM_TARGET(VS_TARGET)
CKSUM_INLINE void vs_chain(struct vs_chains *chains, unsigned i, const unsigned char *p, struct vs_words words)
{
    chains->of[i % VS_CHAINS] = vs_add_at(chains->of[i % VS_CHAINS], p, words);
}

/* The accumulators of a sum of so many steps. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE struct vs_chains vs_chains_for(size_t steps)
{
    const VS_VECTOR zero = VS_ZERO();
#if VS_CHAINS == 8
    return (struct vs_chains){{VS_BIAS(steps), zero, zero, zero, zero, zero, zero, zero}};
#else
    return (struct vs_chains){{VS_BIAS(steps), zero, zero, zero}};
#endif
}

/* Holds each accumulator in its register: called at the end of a round. No loop: gcc would keep them in memory. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE void vs_pin(struct vs_chains *chains)
{
    CKSUM_PIN(chains->of[0]);
    CKSUM_PIN(chains->of[1]);
    CKSUM_PIN(chains->of[2]);
    CKSUM_PIN(chains->of[3]);
#if VS_CHAINS == 8
    CKSUM_PIN(chains->of[4]);
    CKSUM_PIN(chains->of[5]);
    CKSUM_PIN(chains->of[6]);
    CKSUM_PIN(chains->of[7]);
#endif
}

/* A round: the eight vectors at p. */
CKSUM_TARGET(VS_TARGET)
CKSUM_INLINE void vs_chain_8(struct vs_chains *chains, const unsigned char *p, struct vs_words words)
{
    vs_chain(chains, 0, p, words);
    vs_chain(chains, 1, p + VS_WIDTH, words);
    vs_chain(chains, 2, p + 2 * VS_WIDTH, words);
    vs_chain(chains, 3, p + 3 * VS_WIDTH, words);
    vs_chain(chains, 4, p + 4 * VS_WIDTH, words);
    vs_chain(chains, 5, p + 5 * VS_WIDTH, words);
    vs_chain(chains, 6, p + 6 * VS_WIDTH, words);
    vs_chain(chains, 7, p + 7 * VS_WIDTH, words);
    vs_pin(chains);
}

/* The sum of the accumulators. */
CKSUM_TARGET(VS_TARGET) CKSUM_INLINE VS_VECTOR vs_sum_of(const struct vs_chains *chains)
{
    const VS_VECTOR *const of = chains->of;
    const VS_VECTOR low = VS_ADD32(VS_ADD32(of[0], of[1]), VS_ADD32(of[2], of[3]));
#if VS_CHAINS == 8
    return VS_ADD32(low, VS_ADD32(VS_ADD32(of[4], of[5]), VS_ADD32(of[6], of[7])));
#else
    return low;
#endif
}
