/* updates.c: sums of joined pieces and checksums after a change, against the full sum of the data as it then is. */
#include "core/update.h"
#include "fuzz.h"

/* The checksum of a whole message by the witness: the complement, as a number in network order. */
static uint16_t checksum(const unsigned char *bytes, size_t size)
{
    return cksum_host_order16((uint16_t)~witness(bytes, 0, size, 0));
}

/* Joins the sums of pieces of the data, which end where the input says. */
static void join(struct input *cuts, const unsigned char *bytes, size_t size)
{
    uint16_t sum = 0;
    for (size_t at = 0; at < size;) {
        const size_t length = 1 + take(cuts, 1) % (size - at);
        sum = cksum_combined(sum, witness(bytes, at, at + length, 0), at % 2 == 1);
        at += length;
    }
    const uint16_t expected = witness(bytes, 0, size, 0);
    REQUIRE(sum == expected, "joined %#x, whole %#x, %zu bytes", sum, expected, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const size_t cuts = take(&input, 1) % 16;
    struct input cut = {input.bytes, cuts < input.size ? cuts : input.size};
    input.bytes += cut.size;
    input.size -= cut.size;
    const size_t from = take(&input, 2), length = take(&input, 1), message = input.size / 2;
    unsigned char *before = exact_copy(input.bytes, message), *after = exact_copy(input.bytes, message);
    join(&cut, before, message);

    /* the second half of the input lies over a part of the first */
    const size_t start = message == 0 ? 0 : from % (message + 1);
    const size_t changed = length < message - start ? length : message - start;
    if (changed > 0) {
        memcpy(after + start, input.bytes + message, changed);
    }
    bool rest_is_zero = true;
    for (size_t i = 0; i < message; i++) {
        rest_is_zero &= (i >= start && i < start + changed) || before[i] == 0;
    }
    struct cksum_change change = {
        .old_sum = witness(before, start, start + changed, 0),
        .new_sum = witness(after, start, start + changed, 0),
        .old_all_ones = cksum_all_ones(before + start, changed),
        .odd = start % 2 == 1,
        .full_sum_zero = rest_is_zero,
    };
    if (changed > 0) {
        const uint16_t expected = checksum(after, message), got = cksum_updated(checksum(before, message), &change);
        REQUIRE(got == expected, "updated %#x, anew %#x: %zu bytes at %zu of %zu", got, expected, changed, start,
                message);
        change.udp = true;
        const uint16_t field = checksum(before, message), udp = cksum_updated(field == 0 ? 0xffff : field, &change);
        REQUIRE(udp == (expected == 0 ? 0xffff : expected), "updated %#x, anew %#x for UDP", udp, expected);
    }
    free(before);
    free(after);
    return 0;
}
