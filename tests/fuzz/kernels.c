/* kernels.c: every kernel that runs here against the witness, at any length, place and start. */
#include "core/registry.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

/* Inputs repeat this often at most: long buffers out of short inputs. */
enum { ROOM = 1 << 17 };

static unsigned char *low, *high;

/* Memory that ends at a page that can't be read: assembly, which no sanitizer sees, is caught there. */
static void make_room(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    low = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(low != MAP_FAILED, "no memory");
    high = low + ROOM;
    REQUIRE(mprotect(high, page, PROT_NONE) == 0, "mprotect");
}

/* Checks one kernel on these bytes. */
static void check(const struct cksum_kernel *kernel, const unsigned char *bytes, size_t size, uint32_t start,
                  const struct oracle *sum)
{
    const bool whole = kernel->role == CKSUM_PRODUCTION || kernel->role == CKSUM_REFERENCE;
    const uint32_t from = whole ? start : start & 0xffff; /* the others promise this much */
    if (kernel->role == CKSUM_YARDSTICK || !cksum_runs_here(kernel) || size < kernel->min_len ||
        size > kernel->max_len) {
        return;
    }
    struct oracle got = {0};
    const uint32_t partial = kernel->fn(bytes, size, from);
    const uint16_t folded = oracle_folded(&got, partial), expected = oracle_folded(sum, from);
    REQUIRE(folded == expected, "%s gives %#x, right is %#x: %zu bytes from %#x", kernel->name, folded, expected, size,
            from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (low == NULL) {
        make_room();
    }
    struct input input = {data, size};
    const uint32_t start = (uint32_t)take(&input, 4);
    const size_t repeats = 1 + take(&input, 1) % 16, gap = take(&input, 1) % 64;
    const size_t bytes = input.size * repeats;
    if (bytes + gap > ROOM) {
        return -1;
    }
    unsigned char *at_end = high - bytes, *odd_place = high - gap - bytes, *block = malloc(gap + bytes);
    struct oracle sum = {0};
    for (size_t i = 0; i < repeats && input.size > 0; i++) {
        memcpy(at_end + i * input.size, input.bytes, input.size);
    }
    oracle_add(&sum, at_end, 0, bytes);
    if (bytes > 0) {
        memcpy(block + gap, at_end, bytes); /* AddressSanitizer knows its last byte */
    }
    const struct cksum_kernel *kernel;
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        check(kernel, at_end, bytes, start, &sum);
        check(kernel, block + gap, bytes, start, &sum);
    }
    memmove(odd_place, at_end, bytes);
    for (size_t i = 0; (kernel = cksum_registry_at(i)) != NULL; i++) {
        check(kernel, odd_place, bytes, start, &sum);
    }
    free(block);
    return 0;
}
