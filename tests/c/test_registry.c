/* The list of kernels: complete, without doubles, in a state that its readers may rely on. */
#include "core/registry.h"

#include <string.h>

#include "check.h"

#define CKSUM_LISTED(id) #id,
static const char *const names[] = {
#include "kernels/kernels.def"
};
#undef CKSUM_LISTED

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
    if (kernel->role == CKSUM_PRODUCTION) {
        CHECK(kernel->edges != NULL && kernel->edges[0] > 0, "%s does not tell its edges", kernel->name);
    }
    if (kernel->role == CKSUM_PRODUCTION || kernel->role == CKSUM_REFERENCE) {
        CHECK(kernel->min_len == 0 && kernel->max_len == SIZE_MAX, "%s does not take every length", kernel->name);
    }
}

/* Which kernel is chosen for a CPU with these features and this widest vector that pays on it. */
static void test_choice(void)
{
    static const uint32_t scalar = CKSUM_CPU_SSE2 | CKSUM_CPU_BMI2 | CKSUM_CPU_ADX;
    static const uint32_t haswell = CKSUM_CPU_SSE2 | CKSUM_CPU_BMI2 | CKSUM_CPU_AVX2;
    static const uint32_t skylake_server =
        haswell | CKSUM_CPU_ADX | CKSUM_CPU_AVX512F | CKSUM_CPU_AVX512BW | CKSUM_CPU_AVX512DQ | CKSUM_CPU_AVX512VL;
    static const uint32_t vnni = skylake_server | CKSUM_CPU_AVX512VNNI;
    const struct {
        const char *cpu;
        uint32_t can;
        unsigned should;
        const char *name;
    } cases[] = {
        {"Zen 5, Sapphire Rapids", vnni, 512, "avx512_vnni"},
        {"512-bit work pays, no VNNI", skylake_server, 512, "avx512"},
        {"Skylake-X: 512-bit work lowers the clock", skylake_server, 256, "avx512_256"},
        {"Cascade Lake: VNNI, but 512-bit work lowers the clock", vnni, 256, "avx512_256"},
        {"Alder Lake", haswell | CKSUM_CPU_ADX | CKSUM_CPU_AVX_VNNI, 512, "avx_vnni"},
        {"Zen 5, Sapphire Rapids: both kinds of VNNI", vnni | CKSUM_CPU_AVX_VNNI, 512, "avx512_vnni"},
        {"Knights Landing: AVX-512 F alone", haswell | CKSUM_CPU_AVX512F, 512, "avx2"},
        {"Zen 3, Haswell", haswell, 512, "avx2"},
        {"AVX2 without BMI2", CKSUM_CPU_SSE2 | CKSUM_CPU_AVX2, 512, "sse2"},
        {"no AVX2, or an operating system that does not save it", scalar, 512, "sse2"},
        {"no vectors", CKSUM_CPU_BMI2, 0, "x86_64_adc"},
    };
    for (unsigned i = 0; CKSUM_X86_64 && i < sizeof cases / sizeof cases[0]; i++) {
        const struct cksum_kernel *chosen = cksum_registry_choose(cases[i].can, cases[i].should);
        CHECK(strcmp(chosen->name, cases[i].name) == 0, "%s: %s is chosen, not %s", cases[i].cpu, chosen->name,
              cases[i].name);
    }
}

void test_registry(void)
{
    test_choice();
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
