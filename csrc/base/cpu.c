/*
 * cpu.c: the only code that executes CPUID or XGETBV.
 *
 * A feature counts only if three parties agree: the CPU has the instructions (leaves 1 and 7), the operating system
 * switched on XSAVE (OSXSAVE), and it saves the registers that the instructions use (XCR0). A CPU with AVX2 under a
 * system that does not save the upper halves of the ymm registers would compute wrong sums after a context switch.
 * Bit numbers: Intel SDM volume 2, CPUID; volume 1 section 13.3 for XCR0.
 */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CKSUM_X86_64
#include <cpuid.h>
#elif CKSUM_AARCH64
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* Leaf 1 */
#define LEAF1_EDX_SSE2 (1u << 26)
#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF1_ECX_AVX (1u << 28)
/* Leaf 7, subleaf 0 */
#define LEAF7_EBX_AVX2 (1u << 5)
#define LEAF7_EBX_BMI2 (1u << 8)
#define LEAF7_EBX_AVX512F (1u << 16)
#define LEAF7_EBX_AVX512DQ (1u << 17)
#define LEAF7_EBX_ADX (1u << 19)
#define LEAF7_EBX_AVX512BW (1u << 30)
#define LEAF7_EBX_AVX512VL (1u << 31)
#define LEAF7_ECX_AVX512VNNI (1u << 11)
/* Leaf 7, subleaf 1; the largest subleaf is EAX of subleaf 0 */
#define LEAF7_1_EAX_AVX_VNNI (1u << 4)
/* XCR0: xmm and ymm for AVX; opmask, upper halves of zmm0-15, and zmm16-31 on top of them for AVX-512 */
#define XCR0_AVX 0x06u
#define XCR0_AVX512 0xe6u

/*
 * What FASTCKSUM_CPUID makes of the registers: another CPU's vendor and model, and of its features those that this one
 * has too, so that nothing can be chosen that would not run. The registers as they are where it is unset or unreadable.
 */
static struct cksum_cpuid as_environment(struct cksum_cpuid here)
{
    const char *text = getenv("FASTCKSUM_CPUID");
    struct cksum_cpuid other = {0};
    unsigned long long xcr0 = 0;
    if (text == NULL || sscanf(text, "%12s %x %x %x %x %x %x %llx", other.vendor, &other.leaf1_eax, &other.leaf1_ecx,
                               &other.leaf1_edx, &other.leaf7_ebx, &other.leaf7_ecx, &other.leaf7_1_eax, &xcr0) != 8) {
        return here;
    }
    other.max_leaf = here.max_leaf;
    other.leaf1_ecx &= here.leaf1_ecx;
    other.leaf1_edx &= here.leaf1_edx;
    other.leaf7_ebx &= here.leaf7_ebx;
    other.leaf7_ecx &= here.leaf7_ecx;
    other.leaf7_1_eax &= here.leaf7_1_eax;
    other.xcr0 = xcr0 & here.xcr0;
    return other;
}

struct cksum_cpuid cksum_cpu_read(void)
{
    struct cksum_cpuid cpuid = {0};
#if CKSUM_X86_64
    uint32_t eax, ebx, ecx, edx;
    cpuid.max_leaf = __get_cpuid_max(0, &ebx);
    if (cpuid.max_leaf >= 1) {
        __cpuid(0, eax, ebx, ecx, edx);
        memcpy(cpuid.vendor, &ebx, 4);
        memcpy(cpuid.vendor + 4, &edx, 4);
        memcpy(cpuid.vendor + 8, &ecx, 4);
        __cpuid(1, cpuid.leaf1_eax, ebx, cpuid.leaf1_ecx, cpuid.leaf1_edx);
    }
    if (cpuid.max_leaf >= 7) {
        uint32_t max_subleaf;
        __cpuid_count(7, 0, max_subleaf, cpuid.leaf7_ebx, cpuid.leaf7_ecx, edx);
        if (max_subleaf >= 1) {
            __cpuid_count(7, 1, cpuid.leaf7_1_eax, ebx, ecx, edx);
        }
    }
    if (cpuid.leaf1_ecx & LEAF1_ECX_OSXSAVE) {
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        cpuid.xcr0 = (uint64_t)high << 32 | low;
    }
#endif
    return as_environment(cpuid);
}

uint32_t cksum_cpu_decode(const struct cksum_cpuid *cpuid)
{
    uint32_t can = 0;
    const uint64_t xcr0 = cpuid->leaf1_ecx & LEAF1_ECX_OSXSAVE ? cpuid->xcr0 : 0;
    const bool ymm = (cpuid->leaf1_ecx & LEAF1_ECX_AVX) && (xcr0 & XCR0_AVX) == XCR0_AVX;
    const bool zmm = ymm && (xcr0 & XCR0_AVX512) == XCR0_AVX512 && (cpuid->leaf7_ebx & LEAF7_EBX_AVX512F);

    can |= cpuid->leaf1_edx & LEAF1_EDX_SSE2 ? CKSUM_CPU_SSE2 : 0;
    can |= cpuid->leaf7_ebx & LEAF7_EBX_BMI2 ? CKSUM_CPU_BMI2 : 0;
    can |= cpuid->leaf7_ebx & LEAF7_EBX_ADX ? CKSUM_CPU_ADX : 0;
    if (ymm) {
        can |= cpuid->leaf7_ebx & LEAF7_EBX_AVX2 ? CKSUM_CPU_AVX2 : 0;
        can |= cpuid->leaf7_1_eax & LEAF7_1_EAX_AVX_VNNI ? CKSUM_CPU_AVX_VNNI : 0;
    }
    if (zmm) {
        can |= CKSUM_CPU_AVX512F;
        can |= cpuid->leaf7_ebx & LEAF7_EBX_AVX512BW ? CKSUM_CPU_AVX512BW : 0;
        can |= cpuid->leaf7_ebx & LEAF7_EBX_AVX512DQ ? CKSUM_CPU_AVX512DQ : 0;
        can |= cpuid->leaf7_ebx & LEAF7_EBX_AVX512VL ? CKSUM_CPU_AVX512VL : 0;
        can |= cpuid->leaf7_ecx & LEAF7_ECX_AVX512VNNI ? CKSUM_CPU_AVX512VNNI : 0;
    }
    return can;
}

/* Family and model as CPUID's documentation combines the base and extended fields of leaf 1. */
static unsigned family_of(uint32_t leaf1_eax)
{
    const unsigned family = leaf1_eax >> 8 & 0xf;
    return family == 0xf ? family + (leaf1_eax >> 20 & 0xff) : family;
}

static unsigned model_of(uint32_t leaf1_eax)
{
    return (leaf1_eax >> 4 & 0xf) | (leaf1_eax >> 12 & 0xf0);
}

/*
 * On the first servers with AVX-512 - Skylake-X, Cascade Lake, Cooper Lake, all family 6 model 85 - 512-bit
 * instructions put the core into a lower "licence" frequency for about two milliseconds, which the code around a
 * checksum pays for (Intel Optimization Reference Manual, "Skylake Server power management"). Later cores, Intel's
 * from Ice Lake on and AMD's, show no such loss worth the name.
 */
unsigned cksum_cpu_decode_width(const struct cksum_cpuid *cpuid)
{
    const bool intel = strcmp(cpuid->vendor, "GenuineIntel") == 0;
    const bool licence = intel && family_of(cpuid->leaf1_eax) == 6 && model_of(cpuid->leaf1_eax) == 85;
    return licence ? 256 : 512;
}

/* Bit 31 marks "not read yet"; two threads that both read find the same, so a plain store is enough. */
#define NOT_READ (1u << 31)
static _Atomic uint32_t can_cache = NOT_READ;

uint32_t cksum_cpu_can(void)
{
    uint32_t can = atomic_load_explicit(&can_cache, memory_order_relaxed);
    if (can == NOT_READ) {
#if CKSUM_AARCH64
        can = getauxval(AT_HWCAP) & HWCAP_ASIMD ? CKSUM_CPU_NEON : 0;
#else
        const struct cksum_cpuid cpuid = cksum_cpu_read();
        can = cksum_cpu_decode(&cpuid);
#endif
        atomic_store_explicit(&can_cache, can, memory_order_relaxed);
    }
    return can;
}

unsigned cksum_cpu_should(void)
{
    static _Atomic unsigned width_cache;
    unsigned width = atomic_load_explicit(&width_cache, memory_order_relaxed);
    if (width == 0) {
        const struct cksum_cpuid cpuid = cksum_cpu_read();
        width = cksum_cpu_decode_width(&cpuid);
        atomic_store_explicit(&width_cache, width, memory_order_relaxed);
    }
    return width;
}
