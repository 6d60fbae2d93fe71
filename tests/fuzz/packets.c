/* packets.c: any bytes as a packet of any link type: verified; then filled in, when all is good, all else as it was. */
#include "core/registry.h"
#include "fuzz.h"
#include "packet/packet.h"

/* All that are known, and three that are not. */
static const unsigned links[] = {
#define LINK_NUMBER(id, number, ...) number,
    PACKET_LINKS(LINK_NUMBER)
#undef LINK_NUMBER
        105,
    127, 65535};

/* What the check covers, the field as it stands, and its pseudo header, by the witness. */
static uint16_t witness_of(const unsigned char *bytes, const struct packet_check *check)
{
    const size_t end = (size_t)check->start + check->length;
    const size_t hole = check->hole_length > 0 && check->hole < end ? check->hole : end;
    const size_t behind = hole + check->hole_length < end ? hole + check->hole_length : end;
    const uint16_t sum = witness(bytes, check->start, hole, check->pseudo);
    return behind < end ? witness(bytes, behind, end, sum) : sum;
}

/*
 * A copy of the packet in which the checksums inside of check `at` that are left to the network card stand as the card
 * writes them, where the verdict is of that packet. The caller frees it.
 */
static unsigned char *completed(cksum_fn *fn, const unsigned char *bytes, size_t size,
                                const struct packet_check *checks, unsigned n, unsigned at)
{
    unsigned char *copy = exact_copy(bytes, size);
    const uint32_t end = checks[at].start + checks[at].length;
    uint32_t done_to = checks[at].start;
    for (unsigned i = at + 1; i < n && checks[at].reason == PACKET_OFFLOADED; i++) {
        const struct packet_check *inner = &checks[i];
        if (inner->status == PACKET_PARTIAL && inner->start >= done_to && inner->start + inner->length <= end) {
            const uint16_t value = packet_expected(fn, bytes, inner);
            copy[inner->field] = (unsigned char)(value >> 8);
            copy[inner->field + 1] = (unsigned char)value;
            done_to = inner->start + inner->length;
        }
    }
    return copy;
}

/* What must hold of any check of a packet of which this many bytes are there; complete: see above. */
static void require_sound(cksum_fn *fn, const unsigned char *bytes, unsigned char *complete, size_t captured,
                          const struct packet_check *check)
{
    REQUIRE(check->layer < PACKET_LAYER_COUNT && check->status < PACKET_STATUS_COUNT &&
                check->reason < PACKET_REASON_COUNT && !check->pending,
            "layer %u status %u reason %u", check->layer, check->status, check->reason);
    REQUIRE(!check->has_field || (size_t)check->field + 2 <= captured, "a field at %u", check->field);
    if (check->has_field) {
        const uint16_t found = (uint16_t)(bytes[check->field] << 8 | bytes[check->field + 1]);
        REQUIRE(packet_found(bytes, check) == found, "found %#x", packet_found(bytes, check));
    }
    if (!check->covered) {
        REQUIRE(check->status != PACKET_GOOD && check->status != PACKET_BAD, "a verdict on what is not covered");
        return;
    }
    REQUIRE((size_t)check->start + check->length <= captured, "%u bytes at %u", check->length, check->start);
    const bool adds_up = witness_of(bytes, check) == 0xffff;
    REQUIRE(check->status != PACKET_GOOD || check->reason != PACKET_NO_REASON || adds_up, "good, and does not add up");
    REQUIRE(check->reason != PACKET_OFFLOADED || witness_of(complete, check) == 0xffff, "left to the card, and wrong");
    REQUIRE(check->status != PACKET_BAD || check->reason != PACKET_NO_REASON || !adds_up, "bad, and adds up");
    if (check->has_field) {
        const uint16_t expected = packet_expected(fn, bytes, check);
        complete[check->field] = (unsigned char)(expected >> 8);
        complete[check->field + 1] = (unsigned char)expected;
        REQUIRE(witness_of(complete, check) == 0xffff, "layer %u: expected %#x does not add up", check->layer,
                expected);
    }
}

/* Whether byte i belongs to a field that can be computed. */
static bool is_in_field(size_t i, const struct packet_check *checks, unsigned n)
{
    for (unsigned at = 0; at < n; at++) {
        if (checks[at].covered && (i == checks[at].field || i == (size_t)checks[at].field + 1)) {
            return true;
        }
    }
    return false;
}

/*
 * Fills in; nothing but fields may change, all must be good then, and a second time must change nothing, unless what
 * lies where was guessed.
 */
static void require_filled(cksum_fn *fn, unsigned char *bytes, size_t size, unsigned link)
{
    struct packet_check before[PACKET_MAX_CHECKS], after[PACKET_MAX_CHECKS];
    uint32_t silence;
    unsigned char *was = exact_copy(bytes, size);
    const unsigned n = packet_find(bytes, size, size, link, before, &silence),
                   filled = packet_fill(fn, bytes, size, link);
    unsigned changed = 0;
    for (unsigned i = 0; i < n; i++) {
        changed += before[i].covered && memcmp(was + before[i].field, bytes + before[i].field, 2) != 0;
    }
    REQUIRE(filled == changed, "%u fields filled in, %u have changed", filled, changed);
    for (size_t i = 0; i < size; i++) {
        REQUIRE(bytes[i] == was[i] || is_in_field(i, before, n), "byte %zu has changed", i);
    }
    const unsigned found = packet_verify(fn, bytes, size, size, link, after, &silence);
    if (any_guessed(before, n) || any_guessed(after, found)) {
        free(was);
        return;
    }
    REQUIRE(found == n, "%u checks, %u before", found, n);
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(after[i].layer == before[i].layer && after[i].field == before[i].field &&
                    after[i].start == before[i].start && after[i].length == before[i].length,
                "check %u is another one now", i);
        REQUIRE(!after[i].covered || (after[i].status == PACKET_GOOD && after[i].reason == PACKET_NO_REASON),
                "layer %u is filled in: status %u, reason %u", after[i].layer, after[i].status, after[i].reason);
    }
    memcpy(was, bytes, size);
    packet_fill(fn, bytes, size, link);
    REQUIRE(memcmp(was, bytes, size) == 0, "filled in twice");
    free(was);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    const unsigned link = links[take(&input, 1) % (sizeof links / sizeof *links)];
    const size_t beyond = take(&input, 2); /* what was on the wire beside the captured bytes; cut where negative */
    if (input.size == 0) {
        return -1;
    }
    const size_t original = beyond < 0x8000 ? input.size + beyond : input.size - (beyond - 0x8000) % input.size;
    cksum_fn *fn = cksum_registry_best()->fn;
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint32_t silence;
    char text[PACKET_SILENCE_TEXT];
    unsigned char *bytes = exact_copy(input.bytes, input.size);
    const unsigned n = packet_verify(fn, bytes, input.size, original, link, checks, &silence);
    REQUIRE(n <= PACKET_MAX_CHECKS, "%u checks", n);
    packet_silence_text(silence, text);
    REQUIRE(strlen(text) < sizeof text && (silence == 0 || text[0] != 0), "silence %#x has no text", silence);
    REQUIRE(n == 0 || packet_link_known(link), "checks in a link type that is not known");
    for (unsigned i = 0; i < n; i++) {
        unsigned char *complete = completed(fn, bytes, input.size, checks, n, i);
        require_sound(fn, bytes, complete, input.size, &checks[i]);
        free(complete);
    }
    require_filled(fn, bytes, input.size, link);
    free(bytes);
    return 0;
}
