/*
 * x86_emulated.h: the x86 vector intrinsics in portable C, so that every vector kernel can be run on every machine.
 *
 * SIMDe (package simde-py on PyPI) has them, but for the byte-masked loads. Those are here, byte by byte: a kernel
 * whose mask has one bit too many dies on a guard page, or is reported by AddressSanitizer, which does not look into
 * real ones.
 */
#ifndef CKSUM_TESTS_X86_EMULATED_H
#define CKSUM_TESTS_X86_EMULATED_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wpsabi"
#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#include <simde/x86/avx512.h>
#pragma GCC diagnostic pop

#include <stdint.h>
#include <string.h>

static inline void emulated_masked_load(unsigned char *bytes, unsigned width, uint64_t mask, const void *p)
{
    memset(bytes, 0, width);
    for (unsigned i = 0; i < width; i++) {
        if (mask >> i & 1) {
            bytes[i] = ((const unsigned char *)p)[i];
        }
    }
}

#define EMULATED_MASKED_LOAD(name, vector, mask_type, load)                                                            \
    static inline vector name(mask_type mask, const void *p)                                                           \
    {                                                                                                                  \
        unsigned char bytes[sizeof(vector)];                                                                           \
        emulated_masked_load(bytes, sizeof bytes, mask, p);                                                            \
        return load;                                                                                                   \
    }

EMULATED_MASKED_LOAD(emulated_128, __m128i, uint16_t, simde_mm_loadu_si128((const simde__m128i *)(const void *)bytes))
EMULATED_MASKED_LOAD(emulated_256, __m256i, uint32_t,
                     simde_mm256_loadu_si256((const simde__m256i *)(const void *)bytes))
EMULATED_MASKED_LOAD(emulated_512, __m512i, uint64_t, simde_mm512_loadu_si512(bytes))
#undef EMULATED_MASKED_LOAD

#undef _mm_maskz_loadu_epi8
#undef _mm256_maskz_loadu_epi8
#undef _mm512_maskz_loadu_epi8
#define _mm_maskz_loadu_epi8(mask, p) emulated_128(mask, p)
#define _mm256_maskz_loadu_epi8(mask, p) emulated_256(mask, p)
#define _mm512_maskz_loadu_epi8(mask, p) emulated_512(mask, p)
/* The VEX-coded dot product, which SIMDe does not name, is the same operation. */
#define _mm256_dpwssd_avx_epi32(acc, a, b) simde_mm256_dpwssd_epi32(acc, a, b)

#endif
