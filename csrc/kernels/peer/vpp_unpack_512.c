/*
 * vpp_unpack_512: in the manner of FD.io VPP's clib_ip_csum on AVX-512: 512 bytes a step, then 64, then a masked load.
 *
 * As vpp_unpack, with eight vectors a step before the single ones.
 *
 * Unpacking with zero turns 32-bit lanes into 64-bit ones, lower and upper half of each 128-bit block by itself; two
 * additions follow. A 64-bit lane takes two 32-bit numbers a vector, so 2^31 vectors fit. No branch but the loops', no
 * scalar tail: lengths up to 63 bytes are one masked load.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"

#define VPP_TARGET "avx512f,avx512bw,bmi2"

/* Adds the sixteen 32-bit lanes of v to the eight 64-bit lanes of sum. */
CKSUM_TARGET(VPP_TARGET) CKSUM_INLINE __m512i add_unpacked(__m512i sum, __m512i v)
{
    const __m512i zero = _mm512_setzero_si512();
    sum = _mm512_add_epi64(sum, _mm512_unpacklo_epi32(v, zero));
    return _mm512_add_epi64(sum, _mm512_unpackhi_epi32(v, zero));
}

CKSUM_TARGET(VPP_TARGET) CKSUM_FUNCTION(vpp_unpack_512)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    __m512i lanes = _mm512_setzero_si512();

    for (; len >= 512; p += 512, len -= 512) {
        for (size_t at = 0; at < 512; at += 64) {
            lanes = add_unpacked(lanes, _mm512_loadu_si512((const void *)(p + at)));
        }
    }
    for (; len >= 64; p += 64, len -= 64) {
        lanes = add_unpacked(lanes, _mm512_loadu_si512((const void *)p));
    }
    if (len > 0) {
        lanes = add_unpacked(lanes, _mm512_maskz_loadu_epi8(UINT64_MAX >> (64 - len), (const void *)p));
    }
    const __m256i four = _mm256_add_epi64(_mm512_castsi512_si256(lanes), _mm512_extracti64x4_epi64(lanes, 1));
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    const uint64_t low = (uint64_t)_mm_cvtsi128_si64(two);
    const uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(two, two));
    return cksum_fold64(cksum_add64(cksum_add64(low, high), sum));
}

CKSUM_KERNEL(vpp_unpack_512, .summary = "AVX-512 unpack to 64-bit lanes, 512 bytes a step, masked tail: VPP",
             .origin =
                 "in the manner of FD.io VPP clib_ip_csum (src/vppinfra/vector/ip_csum.h), its AVX-512 form unrolled "
                 "to 512 bytes; written afresh; the length is a size_t instead of 16 bits",
             .role = CKSUM_PEER, .needs = CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_BMI2, .vector_bits = 512,
             .max_len = (size_t)1 << 37)

#else
CKSUM_KERNEL_ABSENT(vpp_unpack_512)
#endif
