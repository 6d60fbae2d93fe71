/* abi.c: see abi.h. */
#include "bench/abi.h"

#if CKSUM_X86_64

#define PATTERN UINT64_C(0x5a17c0de1071beef)

/*
 * uint32_t abi_call(buf, len, sum, fn, uint64_t after[7]): calls fn with PATTERN in the callee-saved registers, stores
 * them and the flags as fn leaves them, and gives its own caller what that had. Seven words on the stack align it.
 */
__asm__(".text\n"
        ".balign 16\n"
        ".type abi_call, @function\n"
        "abi_call:\n"
        "    endbr64\n"
        "    pushq %rbx\n"
        "    pushq %rbp\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    pushq %r8\n"
        "    movabsq $0x5a17c0de1071beef, %rbx\n"
        "    movq %rbx, %rbp\n"
        "    movq %rbx, %r12\n"
        "    movq %rbx, %r13\n"
        "    movq %rbx, %r14\n"
        "    movq %rbx, %r15\n"
        "    call *%rcx\n"
        "    popq %r8\n"
        "    movq %rbx, (%r8)\n"
        "    movq %rbp, 8(%r8)\n"
        "    movq %r12, 16(%r8)\n"
        "    movq %r13, 24(%r8)\n"
        "    movq %r14, 32(%r8)\n"
        "    movq %r15, 40(%r8)\n"
        "    pushfq\n"
        "    popq 48(%r8)\n"
        "    cld\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbp\n"
        "    popq %rbx\n"
        "    ret\n"
        ".size abi_call, . - abi_call\n");
uint32_t abi_call(const void *buf, size_t len, uint32_t sum, cksum_fn *fn, uint64_t *after) CKSUM_HIDDEN;

/* The bits of MXCSR that a function keeps: all but the exceptions that have happened. */
#define MXCSR_CONTROL 0xffc0u
#define FLAG_DIRECTION 0x400u

/* What FNSTENV stores. */
struct x87 {
    uint32_t control, status, tags, instruction[4];
};

uint32_t abi_broken_by(cksum_fn *fn, const void *buf, size_t len, uint32_t sum)
{
    uint64_t after[7];
    uint32_t mxcsr, mxcsr_after, broken = 0;
    struct x87 x87, x87_after;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstenv %0\n\tfldenv %0" : "=m"(x87));
    abi_call(buf, len, sum, fn, after);
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr_after));
    __asm__ volatile("fnstenv %0" : "=m"(x87_after));
    __asm__ volatile("fninit\n\tfldenv %0" ::"m"(x87));
    __asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
    for (unsigned i = ABI_RBX; i <= ABI_R15; i++) {
        broken |= (uint32_t)(after[i] != PATTERN) << i;
    }
    broken |= (uint32_t)((after[6] & FLAG_DIRECTION) != 0) << ABI_DIRECTION;
    broken |= (uint32_t)(((mxcsr ^ mxcsr_after) & MXCSR_CONTROL) != 0) << ABI_MXCSR;
    broken |= (uint32_t)(((x87.control ^ x87_after.control) & 0xffff) != 0) << ABI_X87_CONTROL;
    broken |= (uint32_t)(((x87.tags ^ x87_after.tags) & 0xffff) != 0) << ABI_X87_STACK;
    return broken;
}

#else

uint32_t abi_broken_by(cksum_fn *fn, const void *buf, size_t len, uint32_t sum)
{
    fn(buf, len, sum);
    return 0;
}

#endif
