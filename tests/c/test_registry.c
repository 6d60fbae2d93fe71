/* The list of kernels: complete, without doubles, in a state that its readers may rely on. */
#include "kernels/registry.h"

#include <string.h>

#include "check.h"

#undef CKSUM_KERNEL
#define CKSUM_KERNEL(id) #id,
static const char *const names[] = {
#include "kernels/kernels.def"
};
#undef CKSUM_KERNEL

static void test_descriptor(const struct cksum_kernel *kernel)
{
    const bool has_origin = kernel->role == CKSUM_PAST || kernel->role == CKSUM_PEER;
    CHECK(kernel->summary != NULL && strlen(kernel->summary) > 10, "%s has no summary", kernel->name);
    CHECK((kernel->origin != NULL) == has_origin, "%s: an origin belongs to past and peer kernels", kernel->name);
    CHECK(kernel->min_len <= kernel->max_len, "%s: min_len %zu > max_len", kernel->name, kernel->min_len);
    CHECK(kernel->vector_bits <= 512, "%s: vectors of %u bits", kernel->name, kernel->vector_bits);
    CHECK(kernel->code < kernel->code_end, "%s: no machine code", kernel->name);
    CHECK((uintptr_t)kernel->fn >= (uintptr_t)kernel->code && (uintptr_t)kernel->fn < (uintptr_t)kernel->code_end,
          "%s: its function lies outside its code", kernel->name);
    for (unsigned loop = 0; loop < CKSUM_LOOP_COUNT; loop++) {
        CHECK(kernel->loops[loop] != NULL, "%s lacks loop %u", kernel->name, loop);
    }
    if (kernel->role == CKSUM_PRODUCTION || kernel->role == CKSUM_REFERENCE) {
        CHECK(kernel->min_len == 0 && kernel->max_len == SIZE_MAX, "%s does not take every length", kernel->name);
    }
}

void test_registry(void)
{
    const size_t listed = sizeof names / sizeof names[0];
    size_t found = 0;
    for (size_t i = 0; i < listed; i++) {
        const struct cksum_kernel *kernel = cksum_registry_find(names[i]);
        for (size_t j = 0; j < i; j++) {
            CHECK(strcmp(names[i], names[j]) != 0, "%s is listed twice", names[i]);
        }
        if (kernel != NULL) { /* NULL: not compiled for this target */
            CHECK(strcmp(kernel->name, names[i]) == 0, "%s is called %s", names[i], kernel->name);
            CHECK(cksum_registry_at(found) == kernel, "%s is not number %zu of the list", names[i], found);
            test_descriptor(kernel);
            found++;
        }
    }
    CHECK(cksum_registry_at(found) == NULL, "there are more kernels than the %zu listed", found);
    CHECK(cksum_registry_find("no such kernel") == NULL, "a kernel was found that does not exist");
    CHECK(cksum_registry_find("portable64") != NULL, "portable64 is for any machine");
    CHECK(cksum_registry_find("reference") != NULL, "reference is for any machine");

    const struct cksum_kernel *best = cksum_registry_best();
    CHECK(best != NULL && best->role == CKSUM_PRODUCTION && cksum_runs_here(best), "the best kernel can't be used");
    for (unsigned width = 0; width <= 512; width = width == 0 ? 128 : 2 * width) {
        const struct cksum_kernel *chosen = cksum_registry_choose(~0u, width);
        CHECK(chosen != NULL && chosen->vector_bits <= width, "vectors up to %u bits: %s is chosen", width,
              chosen != NULL ? chosen->name : "none");
    }
    CHECK(cksum_registry_choose(0, 0) == cksum_registry_find("portable64"), "no features: not portable64");
}
