/*
 * What cpu.c makes of the registers of CPUs that are not here, and of hypervisors and systems that hide things.
 *
 * Not whole recordings of single machines. Taken from published dumps: leaf 1 (EAX, ECX, EDX) and leaf 7 of Milan,
 * Cascade Lake and Knights Landing (leaf 7 ECX of the last from another dump), XCR0 of Knights Landing; of Zen 5, leaf
 * 1 ECX, leaf 7 EBX and XCR0 from one virtual machine, leaf 7 ECX from another dump. Filled in by us: every max_leaf,
 * XCR0 of Milan and Cascade Lake, EAX and EDX of Zen 5's leaf 1, subleaf 1 of its leaf 7, and all of Alder Lake and
 * Core 2. The other entries are these with something changed, which the name says.
 */
#include "base/cpu.h"

#include <stdio.h>

#include "check.h"
#include "core/registry.h"

#define OSXSAVE (1u << 27)
#define AVX (1u << 28)

#define MILAN                                                                                                          \
    .max_leaf = 0x10, .vendor = "AuthenticAMD", .leaf1_eax = 0x00a00f11, .leaf1_ecx = 0x7ef8320b,                      \
    .leaf1_edx = 0x178bfbff, .leaf7_ebx = 0x219c97a9, .leaf7_ecx = 0x0040069c, .xcr0 = 0x207
#define ZEN5                                                                                                           \
    .max_leaf = 0x10, .vendor = "AuthenticAMD", .leaf1_eax = 0x00b40f40, .leaf1_ecx = 0xfed8320b,                      \
    .leaf1_edx = 0x178bfbff, .leaf7_ebx = 0xf1bf97a9, .leaf7_ecx = 0x00405fce, .leaf7_1_eax = 0x30, .xcr0 = 0xe7
#define CASCADE_LAKE                                                                                                   \
    .max_leaf = 0x16, .vendor = "GenuineIntel", .leaf1_eax = 0x00050656, .leaf1_ecx = 0x7ffefbff,                      \
    .leaf1_edx = 0xbfebfbff, .leaf7_ebx = 0xd39ffffb, .leaf7_ecx = 0x00000808, .xcr0 = 0xff
#define KNIGHTS_LANDING                                                                                                \
    .max_leaf = 0x0d, .vendor = "GenuineIntel", .leaf1_eax = 0x00050671, .leaf1_ecx = 0x7ff8f3bf,                      \
    .leaf1_edx = 0xbfebfbff, .leaf7_ebx = 0x1c0d23ab, .leaf7_ecx = 0x00000001, .xcr0 = 0xe7

#define ALDER_LAKE                                                                                                     \
    .max_leaf = 0x20, .vendor = "GenuineIntel", .leaf1_eax = 0x00090672, .leaf1_ecx = 0x7ffafbff,                      \
    .leaf1_edx = 0xbfebfbff, .leaf7_ebx = 0x239ca7eb, .leaf7_ecx = 0x98c027ac, .leaf7_1_eax = 0x00400810,              \
    .xcr0 = 0x207

#define GENERAL (CKSUM_CPU_SSE2 | CKSUM_CPU_BMI2 | CKSUM_CPU_ADX)
#define UP_TO_AVX2 (GENERAL | CKSUM_CPU_AVX2)
#define AVX512_SERVER (UP_TO_AVX2 | CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL)

struct recorded {
    const char *name;
    struct cksum_cpuid cpuid;
    uint32_t can;
    unsigned width;       /* the widest vectors worth using */
    unsigned least, most; /* the vectors of the kernel that is chosen lie between these */
};

/* A later entry of an initialiser overrides an earlier one: that is how "the same but" is said here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct recorded cpus[] = {
    {"Zen 3 (EPYC Milan)", {MILAN}, UP_TO_AVX2, 512, 256, 256},
    {"Zen 5 (composed)", {ZEN5}, AVX512_SERVER | CKSUM_CPU_AVX512VNNI | CKSUM_CPU_AVX_VNNI, 512, 256, 512},
    {"Alder Lake", {ALDER_LAKE}, UP_TO_AVX2 | CKSUM_CPU_AVX_VNNI, 512, 256, 256},
    {"Zen 5, AVX-512 switched off: the system saves ymm only",
     {ZEN5, .xcr0 = 0x7},
     UP_TO_AVX2 | CKSUM_CPU_AVX_VNNI,
     512,
     256,
     256},
    {"AVX-VNNI, the system saves xmm only", {ALDER_LAKE, .xcr0 = 0x3}, GENERAL, 512, 0, 128},
    {"Cascade Lake", {CASCADE_LAKE}, AVX512_SERVER | CKSUM_CPU_AVX512VNNI, 256, 256, 256},
    {"Skylake-X: Cascade Lake without VNNI",
     {CASCADE_LAKE, .leaf1_eax = 0x00050654, .leaf7_ecx = 0x8},
     AVX512_SERVER,
     256,
     256,
     256},
    {"Cooper Lake: Cascade Lake, stepping 11",
     {CASCADE_LAKE, .leaf1_eax = 0x0005065b},
     AVX512_SERVER | CKSUM_CPU_AVX512VNNI,
     256,
     256,
     256},
    {"Ice Lake server by its model alone",
     {CASCADE_LAKE, .leaf1_eax = 0x000606a6},
     AVX512_SERVER | CKSUM_CPU_AVX512VNNI,
     512,
     256,
     512},
    {"model 85 of another vendor",
     {CASCADE_LAKE, .vendor = "AuthenticAMD"},
     AVX512_SERVER | CKSUM_CPU_AVX512VNNI,
     512,
     256,
     512},
    {"family 15 + 0x16, model 85: not Skylake's family",
     {CASCADE_LAKE, .leaf1_eax = 0x01650f56},
     AVX512_SERVER | CKSUM_CPU_AVX512VNNI,
     512,
     256,
     512},
    {"AVX-512F without BW (Knights Landing)",
     {KNIGHTS_LANDING},
     CKSUM_CPU_SSE2 | CKSUM_CPU_BMI2 | CKSUM_CPU_ADX | CKSUM_CPU_AVX2 | CKSUM_CPU_AVX512F,
     512,
     256,
     512},
    {"AVX2 without OS support: no OSXSAVE, XCR0 not to be read",
     {MILAN, .leaf1_ecx = 0x7ef8320b & ~OSXSAVE},
     GENERAL,
     512,
     0,
     128},
    {"AVX2, the system saves xmm only", {MILAN, .xcr0 = 0x3}, GENERAL, 512, 0, 128},
    {"AVX2, the system claims ymm without xmm", {MILAN, .xcr0 = 0x5}, GENERAL, 512, 0, 128},
    {"AVX switched off in leaf 1, leaf 7 left alone",
     {CASCADE_LAKE, .leaf1_ecx = 0x7ffefbff & ~AVX},
     GENERAL,
     256,
     0,
     128},
    {"AVX-512, the system saves ymm only", {CASCADE_LAKE, .xcr0 = 0x7}, UP_TO_AVX2, 256, 256, 256},
    {"AVX-512, zmm16-31 not saved", {CASCADE_LAKE, .xcr0 = 0x67}, UP_TO_AVX2, 256, 256, 256},
    {"AVX-512, upper halves of zmm0-15 not saved", {CASCADE_LAKE, .xcr0 = 0xa7}, UP_TO_AVX2, 256, 256, 256},
    {"AVX-512, opmask not saved", {CASCADE_LAKE, .xcr0 = 0xc7}, UP_TO_AVX2, 256, 256, 256},
    {"hypervisor hides all of AVX-512, XCR0 still has it",
     {CASCADE_LAKE, .leaf7_ebx = 0xd39ffffb & ~0xd0230000u, .leaf7_ecx = 0x8},
     UP_TO_AVX2,
     256,
     256,
     256},
    {"hypervisor hides AVX512F and forgets the rest",
     {ZEN5, .leaf7_ebx = 0xf1bf97a9 & ~0x00010000u},
     UP_TO_AVX2 | CKSUM_CPU_AVX_VNNI,
     512,
     256,
     256},
    {"leaf 7 beyond the maximum (Core 2)",
     {.max_leaf = 5,
      .vendor = "GenuineIntel",
      .leaf1_eax = 0x000006fb,
      .leaf1_ecx = 0x0000e3bd,
      .leaf1_edx = 0xbfebfbff},
     CKSUM_CPU_SSE2,
     512,
     0,
     128},
    {"no CPUID", {0}, 0, 512, 0, 0},
};
#pragma GCC diagnostic pop

static void test_recorded(const struct recorded *cpu)
{
    const uint32_t can = cksum_cpu_decode(&cpu->cpuid);
    const unsigned width = cksum_cpu_decode_width(&cpu->cpuid);
    const struct cksum_kernel *chosen = cksum_registry_choose(can, width);

    CHECK(can == cpu->can, "%s: features 0x%x, expected 0x%x", cpu->name, can, cpu->can);
    CHECK(width == cpu->width, "%s: width %u, expected %u", cpu->name, width, cpu->width);
    CHECK(chosen != NULL, "%s: no kernel is chosen", cpu->name);
    if (chosen != NULL) {
        CHECK(chosen->role == CKSUM_PRODUCTION, "%s: %s is chosen, not a production kernel", cpu->name, chosen->name);
        CHECK((chosen->needs & ~cpu->can) == 0, "%s: %s is chosen, which can't run", cpu->name, chosen->name);
        CHECK(!CKSUM_X86_VECTORS || (cpu->least <= chosen->vector_bits && chosen->vector_bits <= cpu->most),
              "%s: %s is chosen, with vectors of %u bits instead of %u to %u", cpu->name, chosen->name,
              chosen->vector_bits, cpu->least, cpu->most);
    }
}

/* With one bit cleared, exactly the features that hang on it are gone: each bit is the one of the manual. */
static void test_bits(void)
{
    const uint32_t avx512 =
        CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL | CKSUM_CPU_AVX512VNNI;
    struct cksum_cpuid cpuid = {ZEN5};
    const struct {
        uint32_t *field;
        unsigned bit; /* Intel SDM volume 2, CPUID, leaves 1 and 7 */
        uint32_t lost;
    } bits[] = {
        {&cpuid.leaf1_edx, 26, CKSUM_CPU_SSE2},
        {&cpuid.leaf1_ecx, 28, CKSUM_CPU_AVX2 | CKSUM_CPU_AVX_VNNI | avx512},
        {&cpuid.leaf7_ebx, 5, CKSUM_CPU_AVX2},
        {&cpuid.leaf7_ebx, 8, CKSUM_CPU_BMI2},
        {&cpuid.leaf7_ebx, 16, avx512},
        {&cpuid.leaf7_ebx, 17, CKSUM_CPU_AVX512DQ},
        {&cpuid.leaf7_ebx, 19, CKSUM_CPU_ADX},
        {&cpuid.leaf7_ebx, 30, CKSUM_CPU_AVX512BW},
        {&cpuid.leaf7_ebx, 31, CKSUM_CPU_AVX512VL},
        {&cpuid.leaf7_ecx, 11, CKSUM_CPU_AVX512VNNI},
        {&cpuid.leaf7_1_eax, 4, CKSUM_CPU_AVX_VNNI},
    };
    for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        const uint32_t mask = 1u << bits[i].bit;
        *bits[i].field &= ~mask;
        const uint32_t can = cksum_cpu_decode(&cpuid),
                       expected = (UP_TO_AVX2 | CKSUM_CPU_AVX_VNNI | avx512) & ~bits[i].lost;
        CHECK(can == expected, "bit %u (entry %u) cleared: features 0x%x, expected 0x%x", bits[i].bit, i, can,
              expected);
        *bits[i].field |= mask;
    }
}

/* This machine, read by cpu.c and by the compiler's own library. */
static void test_this_machine(void)
{
#if CKSUM_X86_64
    const uint32_t can = cksum_cpu_can();
    const struct cksum_cpuid cpuid = cksum_cpu_read();
    CHECK(can & CKSUM_CPU_SSE2, "every x86-64 CPU has SSE2; found 0x%x", can);
    CHECK(can == cksum_cpu_decode(&cpuid), "cksum_cpu_can is not what the registers say");
    __builtin_cpu_init();
    CHECK(!(can & CKSUM_CPU_AVX2) == !__builtin_cpu_supports("avx2"), "AVX2: the compiler's library disagrees");
    CHECK(!(can & CKSUM_CPU_BMI2) == !__builtin_cpu_supports("bmi2"), "BMI2: the compiler's library disagrees");
    CHECK(!(can & CKSUM_CPU_AVX512F) == !__builtin_cpu_supports("avx512f"), "AVX512F: the library disagrees");
    CHECK(!(can & CKSUM_CPU_AVX512BW) == !__builtin_cpu_supports("avx512bw"), "AVX512BW: the library disagrees");
    CHECK(!(can & CKSUM_CPU_AVX512VL) == !__builtin_cpu_supports("avx512vl"), "AVX512VL: the library disagrees");
    CHECK(!(can & CKSUM_CPU_AVX512DQ) == !__builtin_cpu_supports("avx512dq"), "AVX512DQ: the library disagrees");
    CHECK(!(can & CKSUM_CPU_AVX512VNNI) == !__builtin_cpu_supports("avx512vnni"), "VNNI: the library disagrees");
#elif CKSUM_AARCH64
    CHECK(cksum_cpu_can() & CKSUM_CPU_NEON, "every aarch64 CPU that Linux runs on has NEON");
#else
    CHECK(cksum_cpu_can() == 0, "no feature is known on this machine, found 0x%x", cksum_cpu_can());
#endif
}

void test_cpu(void)
{
    for (unsigned i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        test_recorded(&cpus[i]);
    }
    test_bits();
    test_this_machine();
}
