/*
 * fastcsum_style: in the manner of fastcsum's ADX code: two carry chains at once in general registers.
 *
 * adcx propagates a carry through CF only and adox through OF only, so two additions a cycle can be chained where adc
 * alone allows one. 128 bytes a step, the chains alternating in units of 64 bytes; each chain takes its own last carry
 * back in at the end of the step, since the loop's counter needs the flags. Then at most one step each of 64, 32, 16
 * and 8 bytes.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_64

#include "kernels/steps/adc.h"

#define TWO_WORDS(at) "adcxq " #at "(%[p]), %[a]\n\tadoxq 32+" #at "(%[p]), %[b]\n\t"
#define HALF(at) TWO_WORDS(at) TWO_WORDS(8 + at) TWO_WORDS(16 + at) TWO_WORDS(24 + at)
#define CLEAR_FLAGS "xorl %k[zero], %k[zero]\n\t"
#define CLOSE "adcxq %[zero], %[a]\n\tadoxq %[zero], %[b]"

CKSUM_FUNCTION(fastcsum_style)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t a = sum, b = 0, zero;

    for (size_t blocks = len / 128; blocks > 0; blocks--, p += 128) {
        __asm__(CLEAR_FLAGS HALF(0) HALF(64) CLOSE
                : [a] "+r"(a), [b] "+r"(b), [zero] "=&r"(zero)
                : [p] "r"(p), "m"(*(const unsigned char(*)[128])p)
                : "cc");
    }
    if (len & 64) {
        __asm__(CLEAR_FLAGS HALF(0) CLOSE
                : [a] "+r"(a), [b] "+r"(b), [zero] "=&r"(zero)
                : [p] "r"(p), "m"(*(const unsigned char(*)[64])p)
                : "cc");
        p += 64;
    }
    a = cksum_adc_ladder(a, &p, len);
    if (len & 7) {
        const unsigned padding = 64 - 8 * (unsigned)(len & 7);
        b = cksum_add64(b, len >= 8 ? cksum_load64(p + (len & 7) - 8) >> padding : cksum_load_tail(p, len & 7));
    }
    return cksum_fold64(cksum_add64(a, b));
}

CKSUM_KERNEL(fastcsum_style, .summary = "adcx and adox, two carry chains at once: fastcsum",
             .origin = "in the manner of fastcsum (github.com/dinhngtu/fastcsum) fastcsum_adx_v2; written afresh; its "
                       "tail is the end of the last whole word, its result is folded here",
             .role = CKSUM_PEER, .needs = CKSUM_CPU_ADX, .max_len = SIZE_MAX)

#else
CKSUM_KERNEL_ABSENT(fastcsum_style)
#endif
