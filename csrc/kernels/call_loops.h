/*
 * call_loops.h: the loops that call a kernel, as a template that each kernel's own file instantiates. kernel.h includes
 * it, behind the type of what is called.
 *
 * Why in the kernel's file: so that the call is direct. One shared `call *fn` costs 7.5 to 8.4 ticks for an empty call
 * on AMD Zen 3, where a direct one costs 4.0, and hides every difference below 64 bytes.
 *
 * Why the compiler cannot look through it: a call to a function that it can see is inlined, hoisted out of the loop
 * as pure, or turned into a clone that keeps values in registers which a real call destroys. `noinline` and a memory
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
#include "kernels/receive.h"

/* One buffer to sum. */
struct cksum_span {
    const unsigned char *buf;
    size_t len;
};

/*
 * Calls the kernel `calls` times over the spans, in turn; n_spans >= 1. scratch has CKSUM_SCRATCH_BYTES that a loop may
 * write (only receive does).
 */
typedef uint64_t cksum_loop_fn(const struct cksum_span *spans, size_t n_spans, uint64_t calls, unsigned char *scratch);

/* The loops: what the reader of the list hands through, C name, the name of their functions and that Python uses. */
#define CKSUM_LOOPS(X, given)                                                                                          \
    X(given, PLAIN, plain)                                                                                             \
    X(given, DPDK, dpdk)                                                                                               \
    X(given, EACH, each)                                                                                               \
    X(given, CHAIN, chain)                                                                                             \
    X(given, RECEIVE, receive)

enum cksum_loop {
#define CKSUM_LOOP_ID(given, id, name) CKSUM_LOOP_##id,
    CKSUM_LOOPS(CKSUM_LOOP_ID, )
#undef CKSUM_LOOP_ID
    CKSUM_LOOP_COUNT
};

/* plain: the first span again and again; the calls are independent of each other. */
CKSUM_INLINE uint64_t cksum_loop_plain(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls,
                                       unsigned char *scratch)
{
    const unsigned char *buf = spans[0].buf;
    const size_t len = spans[0].len;
    uint64_t all = 0;
    (void)n_spans;
    (void)scratch;
    for (uint64_t i = 0; i < calls; i++) {
        all += fn(buf, len, 0);
    }
    return all;
}

/*
 * dpdk: what DPDK's cksum_perf_autotest times: its blocks in turn, each result folded and added to a volatile sum
 * (whose store-to-load forwarding is a floor of some cycles a call, there as here). calls is a multiple of n_spans.
 */
CKSUM_INLINE uint64_t cksum_loop_dpdk(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls,
                                      unsigned char *scratch)
{
    volatile uint64_t all = 0;
    (void)scratch;
    for (uint64_t i = 0; i < calls; i += n_spans) {
        for (size_t j = 0; j < n_spans; j++) {
            all += cksum_fold32(fn(spans[j].buf, spans[j].len, 0));
        }
    }
    return all;
}

/* each: the spans in turn, independent of each other: many buffers, or many lengths that no predictor has learnt. */
CKSUM_INLINE uint64_t cksum_loop_each(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls,
                                      unsigned char *scratch)
{
    uint64_t all = 0;
    (void)scratch;
    for (size_t j = 0; calls > 0; calls--) {
        all += fn(spans[j].buf, spans[j].len, 0);
        j = j + 1 < n_spans ? j + 1 : 0;
    }
    return all;
}

/*
 * chain: the spans in turn, and the address of each call depends on the last result: how long one waits for a sum. The
 * result is masked by a zero that the compiler can't see; the `and` and `add` are two cycles of what is measured.
 */
CKSUM_INLINE uint64_t cksum_loop_chain(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls,
                                       unsigned char *scratch)
{
    size_t zero = 0;
    uint32_t last = 0;
    (void)scratch;
    __asm__("" : "+r"(zero));
    for (size_t j = 0; calls > 0; calls--) {
        last = fn(spans[j].buf + (last & zero), spans[j].len, 0);
        j = j + 1 < n_spans ? j + 1 : 0;
    }
    return last;
}

/* receive: what cksum_receive does, for the spans in turn. Every span is receivable. */
CKSUM_INLINE uint64_t cksum_loop_receive(cksum_fn *fn, const struct cksum_span *spans, size_t n_spans, uint64_t calls,
                                         unsigned char *scratch)
{
    uint64_t all = 0;
    for (size_t j = 0; calls > 0; calls--) {
        all += cksum_receive(fn, spans[j].buf, spans[j].len, scratch);
        j = j + 1 < n_spans ? j + 1 : 0;
    }
    return all + scratch[0];
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

#define CKSUM_DEFINE_LOOP(id, ID, loop)                                                                                \
    static uint64_t cksum_loop_##loop##_##id(const struct cksum_span *spans, size_t n_spans, uint64_t calls,           \
                                             unsigned char *scratch)                                                   \
    {                                                                                                                  \
        return cksum_loop_##loop(cksum_opaque_##id, spans, n_spans, calls, scratch);                                   \
    }
#define CKSUM_LOOP_POINTER(id, ID, loop) cksum_loop_##loop##_##id,

#define CKSUM_DEFINE_LOOPS(id, function)                                                                               \
    CKSUM_OPAQUE_NAME(id, function)                                                                                    \
    CKSUM_LOOPS(CKSUM_DEFINE_LOOP, id) static cksum_loop_fn *const cksum_loops_##id[CKSUM_LOOP_COUNT] = {              \
        CKSUM_LOOPS(CKSUM_LOOP_POINTER, id)};

#endif
