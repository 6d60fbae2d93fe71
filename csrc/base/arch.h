/*
 * arch.h: facts about the target and the compiler, each decided once.
 *
 * Everything else asks these names and never a predefined macro of a compiler.
 */
#ifndef CKSUM_BASE_ARCH_H
#define CKSUM_BASE_ARCH_H

/*
 * setup.py hands the first of these that applies to whoever builds. The oldest versions are the oldest that were tried.
 */
#if !defined(__GNUC__)
#error "fastcksum needs gcc or clang: it relies on target attributes and on symbol aliases in assembly"
#elif defined(__clang__) && __clang_major__ < 11
#error "fastcksum needs clang 11 or newer, or gcc 9 or newer: set CC to one of them"
#elif !defined(__clang__) && __GNUC__ < 9
#error "fastcksum needs gcc 9 or newer, or clang 11 or newer: set CC to one of them"
#elif !defined(__LP64__)
#error "fastcksum needs a 64-bit target, since it adds in words of 64 bits: take a 64-bit system and Python"
#endif

#if defined(__x86_64__)
#define CKSUM_X86_64 1
#else
#define CKSUM_X86_64 0
#endif

#if defined(__aarch64__)
#define CKSUM_AARCH64 1
#else
#define CKSUM_AARCH64 0
#endif

#define CKSUM_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/*
 * Clang 18 to 21 keep 512-bit registers behind a feature of their own, which every AVX-512 target implies, unless the
 * command line takes it away, as zig's does. It is nothing to a target without AVX-512.
 */
#if defined(__clang__) && __clang_major__ >= 18 && __clang_major__ <= 21
#define CKSUM_WITH_512_BITS ",evex512"
#else
#define CKSUM_WITH_512_BITS
#endif

/* x86 vector kernels are compiled for x86-64, and for anything at all where intrinsics are emulated (tests only). */
#if defined(CKSUM_EMULATE_X86)
#define CKSUM_X86_VECTORS 1
#define CKSUM_TARGET(features)
#elif CKSUM_X86_64
#define CKSUM_X86_VECTORS 1
#define CKSUM_TARGET(features) __attribute__((target(features CKSUM_WITH_512_BITS)))
#else
#define CKSUM_X86_VECTORS 0
#define CKSUM_TARGET(features)
#endif

/* Whether the compiler knows the VEX-coded dot products (or their emulation does): gcc 11 and clang 12 brought them. */
#if defined(CKSUM_EMULATE_X86)
#define CKSUM_KNOWS_AVX_VNNI 1
#elif defined(__clang__)
#define CKSUM_KNOWS_AVX_VNNI (__clang_major__ >= 12)
#else
#define CKSUM_KNOWS_AVX_VNNI (__GNUC__ >= 11)
#endif

/*
 * Between the two, what is reached by jumps alone begins on a cache line. gcc would put it anywhere, at a core cycle
 * for a class of lengths that begins unluckily; clang has no word for it in a source.
 */
#if defined(__clang__)
#define CKSUM_JUMPS_TO_LINES
#define CKSUM_JUMPS_ANYWHERE
#else
#define CKSUM_JUMPS_TO_LINES _Pragma("GCC push_options") _Pragma("GCC optimize(\"align-jumps=64\")")
#define CKSUM_JUMPS_ANYWHERE _Pragma("GCC pop_options")
#endif

#define CKSUM_HIDDEN __attribute__((visibility("hidden")))
#define CKSUM_INLINE static inline __attribute__((always_inline))
#define CKSUM_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CKSUM_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/*
 * The CPU features that a kernel may need: C name, bit, name shown to people. One list for cpu.c, the registry and
 * Python. Each means "the instructions exist *and* the operating system keeps the registers they use".
 */
#define CKSUM_CPU_FEATURES(X)                                                                                          \
    X(SSE2, 0, "sse2")                                                                                                 \
    X(BMI2, 1, "bmi2")                                                                                                 \
    X(ADX, 2, "adx")                                                                                                   \
    X(AVX2, 3, "avx2")                                                                                                 \
    X(AVX512F, 4, "avx512f")                                                                                           \
    X(AVX512BW, 5, "avx512bw")                                                                                         \
    X(AVX512DQ, 6, "avx512dq")                                                                                         \
    X(AVX512VL, 7, "avx512vl")                                                                                         \
    X(AVX512VNNI, 8, "avx512_vnni")                                                                                    \
    X(NEON, 9, "neon")                                                                                                 \
    X(AVX_VNNI, 10, "avx_vnni")

enum cksum_cpu_feature {
#define CKSUM_CPU_FEATURE_BIT(id, bit, text) CKSUM_CPU_##id = 1u << (bit),
    CKSUM_CPU_FEATURES(CKSUM_CPU_FEATURE_BIT)
#undef CKSUM_CPU_FEATURE_BIT
};

#endif
