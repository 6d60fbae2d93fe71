/*
 * captures.c: any bytes as a capture file, read whole and in pieces, which must find the same; and files that are whole
 * but cut and spliced at their records.
 */
#include "core/registry.h"
#include "packet/packet.h"
#include "splices.h"

enum { ROOM = 4096 };
#include "records.h"

/* Reads the file as one window; what it finds must lie in it, in order, and can be verified. */
static void read_whole(struct pcap_reader *reader, const uint8_t *file, size_t size, struct columns *found)
{
    unsigned char *window = exact_copy(file, size);
    struct packet_check checks[PACKET_MAX_CHECKS];
    struct pcap_records records = columns_from(found, ROOM);
    uint32_t silence;
    size_t needed, last = 0;
    const size_t taken = pcap_scan(reader, window, size, true, &records, &needed);
    REQUIRE(taken <= size, "%zu of %zu bytes", taken, size);
    REQUIRE(reader->damage != PCAP_INTACT || taken == size || records.n == records.room, "%zu of %zu", taken, size);
    REQUIRE(pcap_damage_text(reader->damage) != NULL, "damage %u has no text", reader->damage);
    REQUIRE(reader->damage == PCAP_INTACT || reader->damage_at <= size, "damage behind the end");
    for (size_t i = 0; i < records.n; i++) {
        const size_t offset = (size_t)records.offsets[i], length = records.lengths[i];
        REQUIRE(records.offsets[i] >= 0 && offset >= last && length <= size && offset <= size - length,
                "record %zu: %zu bytes at %zu of %zu", i, length, offset, size);
        last = offset + length;
        packet_verify(cksum_registry_best()->fn, window + offset, length, records.original_lengths[i], records.links[i],
                      checks, &silence);
    }
    found->n = records.n;
    free(window);
}

/* Reads a window until nothing more is found in it. Returns the bytes done with; SIZE_MAX: the columns are full. */
static size_t read_window(struct pcap_reader *reader, const unsigned char *window, size_t size, bool final, size_t room,
                          size_t at, struct columns *found)
{
    size_t done = 0;
    for (;;) {
        struct pcap_records records = columns_from(found, room);
        size_t needed;
        if (records.room == 0) {
            return SIZE_MAX;
        }
        const size_t taken = pcap_scan(reader, window + done, size - done, final, &records, &needed);
        REQUIRE(taken <= size - done, "%zu of %zu bytes", taken, size - done);
        for (size_t i = 0; i < records.n; i++) {
            REQUIRE((uint64_t)records.offsets[i] + records.lengths[i] <= size - done, "record %zu leaves the window",
                    i);
            records.offsets[i] += (int64_t)(at + done);
        }
        found->n += records.n;
        done += taken;
        if (records.n < records.room || reader->damage != PCAP_INTACT) {
            return done;
        }
    }
}

/* Reads the file in windows that grow by `piece` until a record fits. False when the columns are full. */
static bool read_pieces(struct pcap_reader *reader, const uint8_t *file, size_t size, size_t piece, size_t room,
                        struct columns *found)
{
    size_t at = 0, have = 0;
    bool final = false;
    while (!final && reader->damage == PCAP_INTACT) {
        have = piece < size - at - have ? have + piece : size - at;
        final = at + have == size;
        unsigned char *window = exact_copy(file + at, have);
        const size_t done = read_window(reader, window, have, final, room, at, found);
        free(window);
        if (done == SIZE_MAX) {
            return false;
        }
        at += done;
        have -= done;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = {1, 3, 7, 16, 24, 33, 64, 100, 257, 1000, 4096, 65536};
    static struct columns whole, parts;
    struct input input = {data, size};
    const size_t piece = pieces[take(&input, 1) % 12], room = 1 + take(&input, 1) % 40;
    if (input.size / piece > 256) {
        return -1; /* each window is copied anew */
    }
    struct pcap_reader reader = {0}, again = {0};
    whole.n = parts.n = 0;
    read_whole(&reader, input.bytes, input.size, &whole);
    const bool all = read_pieces(&again, input.bytes, input.size, piece, room, &parts);
    if (all && whole.n < ROOM) {
        const size_t n = whole.n;
        REQUIRE(parts.n == n, "%zu records in pieces, %zu as a whole", parts.n, n);
        REQUIRE(again.damage == reader.damage && again.damage_at == reader.damage_at, "damage %u at %llu in pieces",
                again.damage, (unsigned long long)again.damage_at);
        REQUIRE(memcmp(whole.offsets, parts.offsets, n * sizeof *whole.offsets) == 0 &&
                    memcmp(whole.lengths, parts.lengths, n * sizeof *whole.lengths) == 0 &&
                    memcmp(whole.originals, parts.originals, n * sizeof *whole.originals) == 0 &&
                    memcmp(whole.times, parts.times, n * sizeof *whole.times) == 0 &&
                    memcmp(whole.links, parts.links, n * sizeof *whole.links) == 0 &&
                    memcmp(whole.frames, parts.frames, n * sizeof *whole.frames) == 0,
                "other records in pieces");
    }
    pcap_free(&reader);
    pcap_free(&again);
    return 0;
}
