/* spans.c: many spans in one call, given by integers of any type, order and stride, against the witness. */
#include "core/batch.h"
#include "core/registry.h"
#include "fuzz.h"

/* One column of the input: its layout, and its numbers in the order of the spans. */
struct column {
    struct batch_integers integers;
    unsigned char *block;
    __int128 numbers[600];
};

/* The number that these bytes spell, as arithmetic on single bytes says it. */
static __int128 spelled(const unsigned char *bytes, const struct batch_integers *as)
{
    const bool lowest_first = CKSUM_LITTLE_ENDIAN != as->swapped;
    __int128 number = 0;
    for (unsigned i = 0; i < as->size; i++) {
        number = number * 256 + bytes[lowest_first ? as->size - 1 - i : i];
    }
    const __int128 range = (__int128)1 << (8 * as->size);
    return as->is_signed && number >= range / 2 ? number - range : number;
}

/* Takes n numbers off the input; steps of any size in either direction, or none. */
static void take_column(struct input *input, size_t n, struct column *column)
{
    struct batch_integers *as = &column->integers;
    const unsigned layout = (unsigned)take(input, 1);
    *as = (struct batch_integers){
        .size = 1u << (layout & 3), .is_signed = (layout & 4) != 0, .swapped = (layout & 8) != 0 && (layout & 3) != 0};
    const size_t gap = layout >> 6, step = (layout & 16) != 0 ? 0 : as->size + gap;
    const size_t bytes = n == 0 ? 0 : (n - 1) * step + as->size;
    column->block = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        column->block[i] = (unsigned char)take(input, 1);
    }
    const bool backwards = (layout & 32) != 0;
    as->stride = backwards ? -(ptrdiff_t)step : (ptrdiff_t)step;
    as->first = column->block + (backwards && n > 0 ? (n - 1) * step : 0);
    for (size_t i = 0; i < n; i++) {
        column->numbers[i] = spelled(as->first + (ptrdiff_t)i * as->stride, as);
        const uint64_t got = batch_integer(as, i);
        REQUIRE(got == (uint64_t)column->numbers[i], "number %zu is read as %#llx", i, (unsigned long long)got);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t turn;
    struct input input = {data, size};
    struct column offsets, lengths, initial;
    const size_t n = take(&input, 2) % 601;
    take_column(&input, n, &offsets);
    take_column(&input, n, &lengths);
    take_column(&input, n, &initial);
    unsigned char *bytes = exact_copy(input.bytes, input.size);
    uint16_t *out = malloc(n * sizeof *out);

    /* each kernel in turn: the loop over the spans is what is tried */
    const struct cksum_kernel *kernel = cksum_registry_at(turn++);
    if (kernel == NULL) {
        turn = 0;
    }
    if (kernel == NULL || kernel->role != CKSUM_PRODUCTION || !cksum_runs_here(kernel)) {
        kernel = cksum_registry_best();
    }
    struct batch_error error;
    const size_t done = batch_sums(kernel->fn, kernel->min_len, bytes, input.size, &offsets.integers, &lengths.integers,
                                   &initial.integers, n, out, &error);
    for (size_t i = 0; i < n; i++) {
        const __int128 offset = offsets.numbers[i], length = lengths.numbers[i], start = initial.numbers[i];
        if (offset < 0 || length < 0 || offset + length > (__int128)input.size || start < 0 ||
            start > BATCH_MAX_INITIAL) {
            REQUIRE(done == i && error.index == i, "span %zu is wrong, it stopped at %zu", i, done);
            REQUIRE(error.offset == (uint64_t)offset && error.length == (uint64_t)length &&
                        error.initial == (uint64_t)start,
                    "span %zu is told as another", i);
            break;
        }
        REQUIRE(done > i, "span %zu is right, it stopped at %zu", i, done);
        const uint16_t expected = witness(bytes, (size_t)offset, (size_t)(offset + length), (uint32_t)start);
        REQUIRE(out[i] == expected, "span %zu gives %#x, right is %#x, by %s", i, out[i], expected, kernel->name);
    }
    REQUIRE(done <= n, "%zu of %zu", done, n);
    free(out);
    free(bytes);
    free(offsets.block);
    free(lengths.block);
    free(initial.block);
    return 0;
}
