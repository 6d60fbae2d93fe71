/*
 * callgrind_driver.c: calls a kernel of a shared object a given number of times, for an instrument to look at.
 *
 *     callgrind_driver SHARED_OBJECT SYMBOL OFFSET LENGTH CALLS < BYTES
 *
 * A program of its own and not Python, so that the instrument sees little else. The calls go through the kernel's own
 * plain loop, the one that the bench times; callgrind is told to collect inside that function only. The bytes to sum
 * come from standard input and lie OFFSET bytes behind the start of a page. Prints the address at which the shared
 * object was loaded: code outside of .text is reported by its absolute address.
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/kernel.h"

#define PAGE 4096u

/* The kernel, or NULL with a message on stderr. */
static const struct cksum_kernel *load(const char *path, const char *symbol)
{
    char name[256];
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    if (snprintf(name, sizeof name, "cksum_kernel_%s", symbol) >= (int)sizeof name) {
        fprintf(stderr, "the name %s is longer than %zu bytes\n", symbol, sizeof name);
        return NULL;
    }
    const struct cksum_kernel *const *kernel = dlsym(library, name);
    if (kernel == NULL) {
        fprintf(stderr, "%s has no %s\n", path, name);
        return NULL;
    }
    return *kernel;
}

/* A buffer of offset + length bytes at the start of a page, the bytes behind offset from stdin. NULL with a message. */
static unsigned char *read_bytes(size_t offset, size_t length)
{
    unsigned char *buffer = aligned_alloc(PAGE, (offset + length) / PAGE * PAGE + PAGE);
    if (buffer == NULL || fread(buffer + offset, 1, length, stdin) != length) {
        fprintf(stderr, "%zu bytes are needed on standard input\n", length);
        free(buffer);
        return NULL;
    }
    return buffer;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s SHARED_OBJECT SYMBOL OFFSET LENGTH CALLS < BYTES\n", argv[0]);
        return 2;
    }
    const size_t offset = strtoull(argv[3], NULL, 10), length = strtoull(argv[4], NULL, 10);
    const struct cksum_kernel *kernel = load(argv[1], argv[2]);
    unsigned char *buffer = kernel == NULL ? NULL : read_bytes(offset, length);
    Dl_info where;
    if (buffer == NULL || dladdr(kernel, &where) == 0) {
        free(buffer);
        return 1;
    }
    const struct cksum_span span = {.buf = buffer + offset, .len = length};
    const uint64_t result = kernel->loops[CKSUM_LOOP_PLAIN](&span, 1, strtoull(argv[5], NULL, 10), NULL);
    printf("%p %llu\n", where.dli_fbase, (unsigned long long)result);
    free(buffer);
    return 0;
}
