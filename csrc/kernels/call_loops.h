/*
 * call_loops.h: the loops that call a kernel, as a template that each kernel's own file instantiates.
 *
 * Why in the kernel's file: so that the call is direct. One shared `call *fn` costs 7.5 to 8.4 ticks for an empty call
 * on AMD Zen 3, where a direct one costs 4.0, and hides every difference below 64 bytes.
 *
 * Why the compiler cannot look through it: a call to a function that it can see is inlined, hoisted out of the loop
 * as pure, or made to a clone that keeps values in registers which a real call destroys. `noinline` and a memory
 * barrier do not prevent that: clang 19 deleted every call to an empty kernel, gcc called a .constprop clone. So the
 * kernel gets a second, hidden name in assembly (.set), that name is declared `extern`, and the loops call it: the
 * compiler sees a function it knows nothing about, the linker resolves it to the same address. tests/test_call_loops.py
 * proves it from the disassembly.
 *
 * A loop reads no clock and returns a number made of every result, which its caller keeps.
 */
#ifndef CKSUM_KERNELS_CALL_LOOPS_H
#define CKSUM_KERNELS_CALL_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/fold.h"

typedef uint32_t cksum_fn(const void *buf, size_t len, uint32_t sum);

/* One buffer to sum. */
struct cksum_span {
    const unsigned char *buf;
    size_t len;
};

/* Calls the kernel `calls` times over the spans, in turn; n_spans >= 1. */
typedef uint64_t cksum_loop_fn(const struct cksum_span *spans, size_t n_spans, uint64_t calls);

/* The loops: C name, the name that Python uses. */
#define CKSUM_LOOPS(X)                                                                                                 \
    X(PLAIN, "plain")                                                                                                  \
    X(DPDK, "dpdk")

enum cksum_loop {
#define CKSUM_LOOP_ID(id, text) CKSUM_LOOP_##id,
    CKSUM_LOOPS(CKSUM_LOOP_ID)
#undef CKSUM_LOOP_ID
    CKSUM_LOOP_COUNT
};

/* plain: the first span again and again; the calls are independent of each other. */
CKSUM_INLINE uint64_t cksum_loop_plain(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls)
{
    const unsigned char *buf = spans[0].buf;
    const size_t len = spans[0].len;
    uint64_t all = 0;
    (void)n_spans;
    for (uint64_t i = 0; i < calls; i++) {
        all += fn(buf, len, 0);
    }
    return all;
}

/*
 * dpdk: what DPDK's cksum_perf_autotest times: its blocks in turn, each result folded and added to a volatile sum
 * (whose store-to-load forwarding is a floor of some cycles a call, there as here). calls is a multiple of n_spans.
 */
CKSUM_INLINE uint64_t cksum_loop_dpdk(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls)
{
    volatile uint64_t all = 0;
    for (uint64_t i = 0; i < calls; i += n_spans) {
        for (size_t j = 0; j < n_spans; j++) {
            all += cksum_fold32(fn(spans[j].buf, spans[j].len, 0));
        }
    }
    return all;
}

/* The hidden second name of `function`. Built without it (a test does), the compiler sees what it calls. */
#if defined(CKSUM_LOOPS_CALL_VISIBLE_FUNCTION)
#define CKSUM_OPAQUE_NAME(id, function) static cksum_fn *const cksum_opaque_##id = function;
#else
#define CKSUM_OPAQUE_NAME(id, function)                                                                                \
    __asm__(".globl cksum_opaque_" #id "\n\t"                                                                          \
            ".hidden cksum_opaque_" #id "\n\t"                                                                         \
            ".type cksum_opaque_" #id ", %function\n\t"                                                                \
            ".set cksum_opaque_" #id ", " #function "\n");                                                             \
    extern cksum_fn cksum_opaque_##id CKSUM_HIDDEN;
#endif

#define CKSUM_DEFINE_LOOPS(id, function)                                                                               \
    CKSUM_OPAQUE_NAME(id, function)                                                                                    \
    static uint64_t cksum_loop_plain_##id(const struct cksum_span *spans, size_t n_spans, uint64_t calls)              \
    {                                                                                                                  \
        return cksum_loop_plain(cksum_opaque_##id, spans, n_spans, calls);                                             \
    }                                                                                                                  \
    static uint64_t cksum_loop_dpdk_##id(const struct cksum_span *spans, size_t n_spans, uint64_t calls)               \
    {                                                                                                                  \
        return cksum_loop_dpdk(cksum_opaque_##id, spans, n_spans, calls);                                              \
    }                                                                                                                  \
    static cksum_loop_fn *const cksum_loops_##id[CKSUM_LOOP_COUNT] = {                                                 \
        [CKSUM_LOOP_PLAIN] = cksum_loop_plain_##id,                                                                    \
        [CKSUM_LOOP_DPDK] = cksum_loop_dpdk_##id,                                                                      \
    };

#endif
