/* registry.c: the one reader of kernels.def. */
#include "core/registry.h"

#include <string.h>

#include "base/cpu.h"

#define CKSUM_LISTED(id) extern const struct cksum_kernel *const cksum_kernel_##id CKSUM_HIDDEN;
#include "kernels/kernels.def"
#undef CKSUM_LISTED

#define CKSUM_LISTED(id) &cksum_kernel_##id,
static const struct cksum_kernel *const *const list[] = {
#include "kernels/kernels.def"
};
#undef CKSUM_LISTED

#define LIST_LENGTH (sizeof list / sizeof list[0])

const struct cksum_kernel *cksum_registry_at(size_t i)
{
    for (size_t at = 0; at < LIST_LENGTH; at++) {
        if (*list[at] != NULL && i-- == 0) {
            return *list[at];
        }
    }
    return NULL;
}

const struct cksum_kernel *cksum_registry_find(const char *name)
{
    for (size_t at = 0; at < LIST_LENGTH; at++) {
        if (*list[at] != NULL && strcmp((*list[at])->name, name) == 0) {
            return *list[at];
        }
    }
    return NULL;
}

/* What runs on any machine where the vector intrinsics are emulated (tests only). */
#if defined(CKSUM_EMULATE_X86)
#define EMULATED                                                                                                       \
    (CKSUM_CPU_SSE2 | CKSUM_CPU_AVX2 | CKSUM_CPU_AVX_VNNI | CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW |                   \
     CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL | CKSUM_CPU_AVX512VNNI | (CKSUM_X86_64 ? 0u : CKSUM_CPU_BMI2))
#else
#define EMULATED 0u
#endif

bool cksum_runs_here(const struct cksum_kernel *kernel)
{
    return (kernel->needs & ~(cksum_cpu_can() | EMULATED)) == 0;
}

const struct cksum_kernel *cksum_registry_choose(uint32_t can, unsigned should)
{
    const struct cksum_kernel *kernel;
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        if (kernel->role == CKSUM_PRODUCTION && (kernel->needs & ~can) == 0 && kernel->vector_bits <= should) {
            return kernel;
        }
    }
    return NULL;
}

const struct cksum_kernel *cksum_registry_best(void)
{
    return cksum_registry_choose(cksum_cpu_can(), cksum_cpu_should());
}
