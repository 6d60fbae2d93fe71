/* registry.h: the kernels that were compiled in, in the order of kernels.def. */
#ifndef CKSUM_CORE_REGISTRY_H
#define CKSUM_CORE_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/kernel.h"

/* The i-th kernel of the list, or NULL behind the last one. */
CKSUM_HIDDEN const struct cksum_kernel *cksum_registry_at(size_t i);

/* The kernel of this name, or NULL. */
CKSUM_HIDDEN const struct cksum_kernel *cksum_registry_find(const char *name);

/* Whether the CPU and the operating system have all that the kernel needs. */
CKSUM_HIDDEN bool cksum_runs_here(const struct cksum_kernel *kernel);

/* The first production kernel that can and should run on a CPU with these features and this widest useful vector. */
CKSUM_HIDDEN const struct cksum_kernel *cksum_registry_choose(uint32_t can, unsigned should);

/* The same for this machine. Never NULL: portable64 runs anywhere. */
CKSUM_HIDDEN const struct cksum_kernel *cksum_registry_best(void);

#endif
