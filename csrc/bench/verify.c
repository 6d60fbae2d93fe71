/* verify.c: see verify.h. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "bench/verify.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char byte_of(enum verify_fill fill, size_t i, uint64_t *state)
{
    switch (fill) {
    case VERIFY_ONES:
        return 0xff;
    case VERIFY_RANDOM: /* splitmix64, Steele, Lea, Flood 2014 */
        *state += 0x9e3779b97f4a7c15u;
        uint64_t z = *state;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return (unsigned char)(z >> 56);
    case VERIFY_CARRIES:
        return i % 64 == 62 ? 1 : i % 64 == 63 ? 0 : 0xff;
    default:
        return 0;
    }
}

static void fill_bytes(unsigned char *p, size_t n, enum verify_fill fill)
{
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        p[i] = byte_of(fill, i, &state);
    }
}

/* Whether the kernel agrees with the reference on these bytes; says in *difference what was found if not. */
static bool agrees(const struct cksum_kernel *kernel, const struct cksum_kernel *reference, const unsigned char *buf,
                   size_t length, uint32_t initial, struct verify_difference *difference)
{
    const uint16_t expected = cksum_fold32(reference->fn(buf, length, initial));
    const uint16_t got = cksum_fold32(kernel->fn(buf, length, initial));
    const size_t offset = (uintptr_t)buf % (size_t)sysconf(_SC_PAGESIZE);
    *difference = (struct verify_difference){.length = length, .offset = offset, .got = got, .expected = expected};
    return got == expected;
}

int verify_kernel(const struct cksum_kernel *kernel, const struct cksum_kernel *reference,
                  const struct verify_plan *plan, struct verify_difference *difference)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t longest = plan->max_length < kernel->max_len ? plan->max_length : kernel->max_len;
    const size_t shortest = plan->min_length > kernel->min_len ? plan->min_length : kernel->min_len;
    const size_t room = (plan->offset + longest + page - 1) / page * page + page;
    unsigned char *low, *high;
    int result = -1;

    unsigned char *pages = mmap(NULL, page + room + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return -1;
    }
    low = pages + page;
    high = low + room;
    if (mprotect(low, room, PROT_READ | PROT_WRITE) != 0) {
        goto done;
    }
    fill_bytes(low, room, plan->fill);
    if (mprotect(low, room, PROT_READ) != 0) {
        goto done;
    }
    result = 0;
    for (size_t length = shortest; length <= longest && result == 0; length++) {
        const bool behind_guard = agrees(kernel, reference, low + plan->offset, length, plan->initial, difference);
        const bool before_guard = plan->offset != 0 || !behind_guard ||
                                  agrees(kernel, reference, high - length, length, plan->initial, difference);
        result = behind_guard && before_guard ? 0 : 1;
    }
done:
    munmap(pages, page + room + page);
    return result;
}
