/*
 * x86_64_adc: general registers only: what may run where vectors may not, inside the Linux kernel.
 *
 * One add-with-carry a word is the least that 64-bit arithmetic needs, and cores can do two (Intel), two and a half
 * (AMD Zen 3) or four (Zen 5) of them a cycle, if they do not wait for each other: each carry is taken in by the next.
 * So a group of sixteen words is a chain of its own, begun by a move, which waits for nothing; only its result, and
 * the carry left in the flag, go into the total:
 *
 *     mov (p), part;  add 8(p), part;  adc 16(p), part ...  adc 120(p), part;  adc part, total;  adc $0, total
 *
 * and the core works on the next group meanwhile. The carries are complete: a chain that carried leaves part at 2^64 -
 * 2 at most, and the last adc cannot carry out (see cksum_add64).
 *
 * On Intel the two ports that can do adc are then busy and the others idle, and a third load a cycle is free. So each
 * group has 32 bytes more, as eight 32-bit words that are added to a 64-bit sum without carries: it takes 8 * 2^32 a
 * group and would wrap after 2^29 groups, 80 GiB; it is closed into the total every 2^24.
 *
 * What lost (Intel Sapphire Rapids, gcc 12, 2026-11-30; ticks of 2.6 GHz a call) at 16 KiB: adc alone 707 instead of
 * 606; the two chains of 32 bytes of Linux 6.5 818; adcx and adox 828. Below 512 bytes it is chains of 64 bytes: at
 * 256, groups with 32-bit words take 17.7 instead of 15.3, as the total waits for more ends of chains. Up to 128 bytes
 * there is nothing to be gained but from branches (steps/short.h), and the last 65 to 128 of longer ones are summed so.
 * The groups are a function of their own: clang 19 saved three registers on every path for them, and so did gcc 12
 * above 64 bytes.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_64

#include "kernels/steps/short.h"

#define GROUP 160u
#define SHORTEST_FOR_GROUPS 512u
#define FLUSH_GROUPS ((size_t)1 << 24)
_Static_assert(FLUSH_GROUPS * 8 <= UINT64_MAX >> 32, "the sum of 32-bit words must not wrap between two flushes");

#define ADD_HALVES(a, b, c, d)                                                                                         \
    "movl " #a "(%[p]), %k[w]\n\t"                                                                                     \
    "movl " #b "(%[p]), %k[x]\n\t"                                                                                     \
    "movl " #c "(%[p]), %k[y]\n\t"                                                                                     \
    "movl " #d "(%[p]), %k[z]\n\t"                                                                                     \
    "addq %[w], %[halves]\n\t"                                                                                         \
    "addq %[x], %[halves]\n\t"                                                                                         \
    "addq %[y], %[halves]\n\t"                                                                                         \
    "addq %[z], %[halves]\n\t"
#define ADC_FOUR(a, b, c, d)                                                                                           \
    "adcq " #a "(%[p]), %[part]\n\t"                                                                                   \
    "adcq " #b "(%[p]), %[part]\n\t"                                                                                   \
    "adcq " #c "(%[p]), %[part]\n\t"                                                                                   \
    "adcq " #d "(%[p]), %[part]\n\t"
#define CHAIN_OF_16                                                                                                    \
    "movq (%[p]), %[part]\n\t"                                                                                         \
    "addq 8(%[p]), %[part]\n\t"                                                                                        \
    "adcq 16(%[p]), %[part]\n\t"                                                                                       \
    "adcq 24(%[p]), %[part]\n\t" ADC_FOUR(32, 40, 48, 56) ADC_FOUR(64, 72, 80, 88) ADC_FOUR(96, 104, 112, 120)

/* Adds the first 128 bytes at p to sum, with end-around carry, and returns it; the next 32 to *halves, without. */
CKSUM_INLINE uint64_t add_group(uint64_t sum, uint64_t *halves, const unsigned char *p)
{
    uint64_t part, w, x, y, z;
    __asm__(ADD_HALVES(128, 132, 136, 140) ADD_HALVES(144, 148, 152, 156) CHAIN_OF_16 "adcq %[part], %[sum]\n\t"
                                                                                      "adcq $0, %[sum]"
            : [sum] "+r"(sum), [halves] "+r"(*halves), [part] "=&r"(part), [w] "=&r"(w), [x] "=&r"(x), [y] "=&r"(y),
              [z] "=&r"(z)
            : [p] "r"(p), "m"(*(const unsigned char(*)[GROUP])p)
            : "cc");
    return sum;
}

/* sum + the whole groups at *at; leaves 65 to GROUP + 64 bytes. */
CKSUM_INLINE uint64_t add_groups(uint64_t sum, const unsigned char **at, size_t *left)
{
    const unsigned char *p = *at;
    size_t groups = (*left - 65) / GROUP;
    *left -= groups * GROUP;
    while (groups > 0) {
        uint64_t halves = 0;
        const size_t block = groups < FLUSH_GROUPS ? groups : FLUSH_GROUPS;
        for (size_t i = block; i > 0; i--, p += GROUP) {
            sum = add_group(sum, &halves, p);
        }
        sum = cksum_add64(sum, halves);
        groups -= block;
    }
    *at = p;
    return sum;
}

/* sum + the 64 bytes at p, of which only the last two additions wait for sum. */
CKSUM_INLINE uint64_t add_64(uint64_t sum, const unsigned char *p)
{
    uint64_t part;
    __asm__("movq (%[p]), %[part]\n\t"
            "addq 8(%[p]), %[part]\n\t"
            "adcq 16(%[p]), %[part]\n\t"
            "adcq 24(%[p]), %[part]\n\t"
            "adcq 32(%[p]), %[part]\n\t"
            "adcq 40(%[p]), %[part]\n\t"
            "adcq 48(%[p]), %[part]\n\t"
            "adcq 56(%[p]), %[part]\n\t"
            "adcq %[part], %[sum]\n\t"
            "adcq $0, %[sum]"
            : [sum] "+r"(sum), [part] "=&r"(part)
            : [p] "r"(p), "m"(*(const unsigned char(*)[64])p)
            : "cc");
    return sum;
}

/* sum + p[0..n) for n > 64: blocks of 64 bytes, and the last 65 to 128. */
CKSUM_TARGET("bmi2") CKSUM_INLINE uint32_t sum_blocks(const unsigned char *p, size_t n, uint64_t sum)
{
    if (CKSUM_UNLIKELY(n <= 128)) {
        return cksum_sum_65_to_128(p, n, sum);
    }
    do {
        sum = add_64(sum, p);
        p += 64;
        n -= 64;
        __asm__("" : "+r"(n)); /* or gcc writes the loop out for each number of rounds: 26.3 ticks for 24.7 at 384 */
    } while (n > 128);
    return cksum_sum_65_to_128(p, n, sum);
}

/* n >= SHORTEST_FOR_GROUPS. A function of its own: the registers that it saves are saved for these lengths alone. */
CKSUM_TARGET("bmi2")
CKSUM_CODE(x86_64_adc)
CKSUM_ALIGNED static __attribute__((noinline)) uint32_t sum_groups(const unsigned char *p, size_t n, uint64_t sum)
{
    sum = add_groups(sum, &p, &n);
    return sum_blocks(p, n, sum);
}

CKSUM_TARGET("bmi2") CKSUM_ALIGNED CKSUM_FUNCTION(x86_64_adc)(const void *buf, size_t len, uint32_t start)
{
    const uint64_t sum = start;
    uint32_t result;
    if (cksum_sum_to_64(buf, len, sum, &result)) {
        return result;
    }
    if (CKSUM_UNLIKELY(len < SHORTEST_FOR_GROUPS)) {
        return sum_blocks(buf, len, sum);
    }
    return sum_groups(buf, len, sum);
}

static const size_t edges[] = {8, 32, 40, 64, 128, SHORTEST_FOR_GROUPS, 0};

CKSUM_KERNEL(x86_64_adc, .summary = "add/adc chains in general registers, independent of each other; no vectors",
             .role = CKSUM_PRODUCTION, .needs = CKSUM_CPU_BMI2, .max_len = SIZE_MAX, .edges = edges)

#else
CKSUM_KERNEL_ABSENT(x86_64_adc)
#endif
