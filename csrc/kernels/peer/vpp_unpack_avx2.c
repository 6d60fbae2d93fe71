/*
 * vpp_unpack_avx2: in the manner of FD.io VPP's clib_ip_csum on AVX2: 256 bytes a step, then 32, then 16, 8, 4, 2, 1.
 *
 * Unpacking with zero turns 32-bit lanes into 64-bit ones; two additions follow. A 64-bit lane takes two 32-bit numbers
 * a vector, so 2^31 vectors fit.
 */
#include "kernels/kernel.h"

#if CKSUM_X86_VECTORS

#include "base/intrinsics.h"

#define VPP_TARGET "avx2,bmi2"

/* Adds the eight 32-bit lanes at p to the four 64-bit lanes of sum. */
CKSUM_TARGET(VPP_TARGET) CKSUM_INLINE __m256i add_unpacked(__m256i sum, const unsigned char *p)
{
    const __m256i zero = _mm256_setzero_si256();
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    sum = _mm256_add_epi64(sum, _mm256_unpacklo_epi32(v, zero));
    return _mm256_add_epi64(sum, _mm256_unpackhi_epi32(v, zero));
}

CKSUM_TARGET(VPP_TARGET) CKSUM_FUNCTION(vpp_unpack_avx2)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;

    if (len >= 32) {
        __m256i lanes = _mm256_setzero_si256();
        for (; len >= 256; p += 256, len -= 256) {
            for (size_t at = 0; at < 256; at += 32) {
                lanes = add_unpacked(lanes, p + at);
            }
        }
        for (; len >= 32; p += 32, len -= 32) {
            lanes = add_unpacked(lanes, p);
        }
        const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
        const uint64_t low = (uint64_t)_mm_cvtsi128_si64(two);
        const uint64_t high = (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(two, two));
        total = cksum_add64(cksum_add64(low, high), total);
    }
    if (len & 16) {
        total = cksum_add64(cksum_add64(total, cksum_load64(p)), cksum_load64(p + 8));
        p += 16;
    }
    if (len & 8) {
        total = cksum_add64(total, cksum_load64(p));
        p += 8;
    }
    return cksum_fold64(cksum_add64(total, cksum_load_tail(p, len & 7)));
}

CKSUM_KERNEL(
    vpp_unpack_avx2, .summary = "AVX2 unpack to 64-bit lanes, 256 bytes a step: VPP",
    .origin = "in the manner of FD.io VPP clib_ip_csum (src/vppinfra/vector/ip_csum.h), its AVX2 form; written "
              "afresh; the length is a size_t instead of 16 bits",
    .role = CKSUM_PEER, .needs = CKSUM_CPU_AVX2 | CKSUM_CPU_BMI2, .vector_bits = 256, .max_len = (size_t)1 << 36)

#else
CKSUM_KERNEL_ABSENT(vpp_unpack_avx2)
#endif
