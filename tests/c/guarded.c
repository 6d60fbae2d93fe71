/* guarded.c: see guarded.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "guarded.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#if !defined(__SANITIZE_ADDRESS__) && defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* gcc's name for what clang calls a feature */
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address), (void)(bytes))
#endif

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct guarded guarded_new(size_t bytes)
{
    const size_t page = page_size();
    const size_t room = (bytes + page - 1) / page * page;
    unsigned char *pages = mmap(NULL, page + room + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, room, PROT_READ | PROT_WRITE) != 0) {
        perror("guarded_new");
        exit(2);
    }
    return (struct guarded){.low = pages + page, .high = pages + page + room};
}

void guarded_free(struct guarded *guarded)
{
    const size_t page = page_size();
    guarded_open(guarded);
    munmap(guarded->low - page, (size_t)(guarded->high - guarded->low) + 2 * page);
    *guarded = (struct guarded){0};
}

void guarded_close(const struct guarded *guarded, const unsigned char *begin, const unsigned char *end)
{
    const uintptr_t low_end = (uintptr_t)begin / 8 * 8;
    guarded_open(guarded);
    ASAN_POISON_MEMORY_REGION(guarded->low, low_end - (uintptr_t)guarded->low);
    ASAN_POISON_MEMORY_REGION(end, (size_t)(guarded->high - end));
}

void guarded_open(const struct guarded *guarded)
{
    ASAN_UNPOISON_MEMORY_REGION(guarded->low, (size_t)(guarded->high - guarded->low));
}

void guarded_fill(const struct guarded *guarded, enum fill fill)
{
    uint64_t state = 2026;
    const size_t bytes = (size_t)(guarded->high - guarded->low);
    memset(guarded->low, fill == FILL_ZEROS ? 0 : 0xff, bytes);
    for (size_t i = 0; fill == FILL_RANDOM && i < bytes; i++) {
        guarded->low[i] = (unsigned char)random_next(&state);
    }
    for (size_t i = 0; fill == FILL_CARRIES && i < bytes; i++) {
        if (i % 71 == 0) { /* at even and odd places, in every lane of every vector in the end */
            guarded->low[i] = 1;
        } else if (i % 71 == 1) {
            guarded->low[i] = 0;
        }
    }
}
