/*
 * kernel.h: THE CONTRACT of a checksum kernel, and the descriptor by which everybody else knows one.
 *
 *     uint32_t kernel(const void *buf, size_t len, uint32_t sum);
 *
 * - The result is congruent to sum + the 16-bit words of buf modulo 0xffff. Words are read in host byte order; an odd
 *   last byte is the first byte in memory of a word whose second byte is 0 (RFC 1071). Two kernels may return
 *   different 32-bit numbers; only the folded 16 bits are compared.
 * - The folded result is 0 only if sum is 0 and every byte is 0; any other multiple of 0xffff folds to 0xffff.
 * - Any alignment, any length from 0 to SIZE_MAX. Exactly buf[0..len) is read, not one byte more, not within the same
 *   word either. buf is not dereferenced when len is 0.
 * - No state, any thread, no undefined behaviour: unaligned loads go through memcpy or intrinsics.
 *
 * PRODUCTION and REFERENCE kernels keep all of it. PAST, PEER and foreign ones keep it for a 16-bit sum and
 * min_len <= len <= max_len. YARDSTICK functions compute no checksum.
 *
 * A kernel is one file of this shape, and one line CKSUM_LISTED(name) in kernels.def:
 *
 *     #include "kernels/kernel.h"
 *     CKSUM_FUNCTION(name)(const void *buf, size_t len, uint32_t sum) { ... }
 *     CKSUM_KERNEL(name, .summary = "...", .role = CKSUM_PRODUCTION, .max_len = SIZE_MAX)
 *
 * A file that cannot be compiled for the target says CKSUM_KERNEL_ABSENT(name) instead. The name is the file's name.
 */
#ifndef CKSUM_KERNELS_KERNEL_H
#define CKSUM_KERNELS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"

typedef uint32_t cksum_fn(const void *buf, size_t len, uint32_t sum);

#include "kernels/call_loops.h" /* calls a cksum_fn */

/* What a kernel is for. Only PRODUCTION is ever chosen for the caller. */
#define CKSUM_ROLES(X)                                                                                                 \
    X(PRODUCTION, "production")                                                                                        \
    X(REFERENCE, "reference")                                                                                          \
    X(PAST, "past")                                                                                                    \
    X(PEER, "peer")                                                                                                    \
    X(YARDSTICK, "yardstick")

enum cksum_role {
#define CKSUM_ROLE_ID(id, text) CKSUM_##id,
    CKSUM_ROLES(CKSUM_ROLE_ID)
#undef CKSUM_ROLE_ID
};

struct cksum_kernel {
    const char *name;    /* file name = Python name = plot legend */
    const char *summary; /* one line for people */
    const char *origin;  /* PAST and PEER: project, function, version, what was changed; else NULL */
    enum cksum_role role;
    uint32_t needs;       /* CKSUM_CPU_* bits, all of which must be there */
    unsigned vector_bits; /* width of the vectors the source asks for; 0: none, though a compiler may make some of C */
    size_t min_len;       /* the contract holds for min_len <= len <= max_len */
    size_t max_len;
    const size_t *edges; /* lengths at which it changes its way or flushes its lanes, ended by 0; NULL: not told */
    cksum_fn *fn;
    cksum_loop_fn *const *loops; /* indexed by enum cksum_loop */
    const unsigned char *code;   /* the machine code of fn: code .. code_end, or NULL where it isn't known */
    const unsigned char *code_end;
};

/* Opens the definition of kernel id. The code gets a section of its own, so that its size can be told. */
#define CKSUM_CODE(id) __attribute__((section("cksum_code_" #id)))
/* Begins the function on a cache line, so that where the linker puts it does not matter to its branches. */
#define CKSUM_ALIGNED __attribute__((aligned(64)))
#define CKSUM_FUNCTION(id) static __attribute__((used)) CKSUM_CODE(id) uint32_t cksum_fn_##id

/* The descriptor of kernel id, with its loops; what follows are designated initialisers of struct cksum_kernel. */
#define CKSUM_KERNEL(id, ...)                                                                                          \
    extern const unsigned char __start_cksum_code_##id[] CKSUM_HIDDEN;                                                 \
    extern const unsigned char __stop_cksum_code_##id[] CKSUM_HIDDEN;                                                  \
    CKSUM_KERNEL_WITH_CODE(id, cksum_fn_##id, __start_cksum_code_##id, __stop_cksum_code_##id, __VA_ARGS__)

/* The same for a function of any name whose code has no section of its own (kernels compiled by the user). */
#define CKSUM_KERNEL_WITH_CODE(id, function, begin, end, ...)                                                          \
    CKSUM_DEFINE_LOOPS(id, function)                                                                                   \
    static const struct cksum_kernel cksum_descriptor_##id = {                                                         \
        .name = #id, .fn = function, .loops = cksum_loops_##id, .code = (begin), .code_end = (end), __VA_ARGS__};      \
    CKSUM_KERNEL_POINTER(id, &cksum_descriptor_##id)

#define CKSUM_KERNEL_ABSENT(id) CKSUM_KERNEL_POINTER(id, NULL)

/* The one name of a kernel file that other files see. A user-compiled kernel exports it from its shared object. */
#if !defined(CKSUM_KERNEL_VISIBILITY)
#define CKSUM_KERNEL_VISIBILITY CKSUM_HIDDEN
#endif
#define CKSUM_KERNEL_POINTER(id, pointer)                                                                              \
    extern const struct cksum_kernel *const cksum_kernel_##id CKSUM_KERNEL_VISIBILITY;                                 \
    const struct cksum_kernel *const cksum_kernel_##id = (pointer);

#endif
