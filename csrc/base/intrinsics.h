/*
 * intrinsics.h: the x86 vector intrinsics, from the compiler or from an emulation.
 *
 * CKSUM_EMULATE_X86 is defined, by tests only, as the quoted name of a header that implements the same intrinsics in
 * portable C: so the file of a vector kernel is the same whether it runs natively or emulated.
 */
#ifndef CKSUM_BASE_INTRINSICS_H
#define CKSUM_BASE_INTRINSICS_H

#include "base/arch.h"

#if defined(CKSUM_EMULATE_X86)
#include CKSUM_EMULATE_X86
#elif CKSUM_X86_64
#include <immintrin.h>
#endif

/*
 * Holds an accumulator in its register at the end of a step. gcc otherwise renames the accumulators of an unrolled
 * loop and copies each back, one more instruction for every two or three of the step.
 */
#if defined(CKSUM_EMULATE_X86)
#define CKSUM_PIN(vector) (void)(vector)
#else
#define CKSUM_PIN(vector) __asm__("" : "+v"(vector))
#endif

#endif
