/*
 * abi.h: what a function leaves behind that its caller may rely on: callee-saved registers, the direction flag, the
 * control bits of MXCSR, the x87 control word, an empty x87 stack (x86-64 psABI section 3.2). Other targets: nothing.
 */
#ifndef CKSUM_BENCH_ABI_H
#define CKSUM_BENCH_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* C name, name shown to people. */
#define ABI_PARTS(X)                                                                                                   \
    X(RBX, "rbx")                                                                                                      \
    X(RBP, "rbp")                                                                                                      \
    X(R12, "r12")                                                                                                      \
    X(R13, "r13")                                                                                                      \
    X(R14, "r14")                                                                                                      \
    X(R15, "r15")                                                                                                      \
    X(DIRECTION, "the direction flag")                                                                                 \
    X(MXCSR, "the control bits of MXCSR")                                                                              \
    X(X87_CONTROL, "the x87 control word")                                                                             \
    X(X87_STACK, "the x87 stack, which MMX instructions fill until emms")

enum abi_part {
#define ABI_PART_ID(id, text) ABI_##id,
    ABI_PARTS(ABI_PART_ID)
#undef ABI_PART_ID
        ABI_PART_COUNT
};

/* Calls the function once. What it changed, a bit 1 << enum abi_part each; all of it is put right again. */
CKSUM_HIDDEN uint32_t abi_broken_by(cksum_fn *fn, const void *buf, size_t len, uint32_t sum);

#endif
