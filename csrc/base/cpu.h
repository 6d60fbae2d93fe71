/*
 * cpu.h: what this CPU and its operating system allow ("can"), and which vector width pays on it ("should").
 *
 * The decoding is a pure function of recorded register contents, so that CPUs that nobody here owns can be tested.
 */
#ifndef CKSUM_BASE_CPU_H
#define CKSUM_BASE_CPU_H

#include <stdint.h>

#include "base/arch.h"

/* What CPUID and XGETBV say. A leaf or subleaf above the maximum is 0, xcr0 too where XGETBV may not be executed. */
struct cksum_cpuid {
    uint32_t max_leaf;
    char vendor[13];
    uint32_t leaf1_eax;
    uint32_t leaf1_ecx;
    uint32_t leaf1_edx;
    uint32_t leaf7_ebx;
    uint32_t leaf7_ecx;
    uint32_t leaf7_1_eax;
    uint64_t xcr0;
};

/*
 * Reads the registers of the running CPU. All zero where there is no CPUID. The environment may name another CPU, for
 * tests: FASTCKSUM_CPUID="vendor leaf1_eax leaf1_ecx leaf1_edx leaf7_ebx leaf7_ecx leaf7_1_eax xcr0", in
 * hexadecimal.
 */
CKSUM_HIDDEN struct cksum_cpuid cksum_cpu_read(void);

/* The features (CKSUM_CPU_* bits) that may be used on an x86-64 CPU whose registers read so. */
CKSUM_HIDDEN uint32_t cksum_cpu_decode(const struct cksum_cpuid *cpuid);

/* The widest vectors, in bits, that are worth using on an x86-64 CPU whose registers read so. */
CKSUM_HIDDEN unsigned cksum_cpu_decode_width(const struct cksum_cpuid *cpuid);

/* The same two answers for the machine this runs on; read once, from any thread. */
CKSUM_HIDDEN uint32_t cksum_cpu_can(void);
CKSUM_HIDDEN unsigned cksum_cpu_should(void);

#endif
