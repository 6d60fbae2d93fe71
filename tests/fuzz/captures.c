/*
 * captures.c: any bytes as a capture file, read whole and in pieces, which must find the same; and files that are whole
 * but cut and spliced at their records.
 */
#include "core/registry.h"
#include "fuzz.h"
#include "packet/packet.h"
#include "packet/pcap.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t out_size, unsigned seed);

/* The input: how it is read, and the file. */
enum { HEAD = 2, ROOM = 4096, MAX_CUTS = 512 };

struct columns {
    int64_t offsets[ROOM];
    uint32_t lengths[ROOM];
    uint32_t originals[ROOM];
    int64_t times[ROOM];
    uint16_t links[ROOM];
    int64_t frames[ROOM];
    size_t n;
};

/* The columns from the n-th on, at most `room` of them. */
static struct pcap_records columns_from(struct columns *columns, size_t room)
{
    const size_t n = columns->n, left = ROOM - n;
    return (struct pcap_records){.offsets = columns->offsets + n,
                                 .lengths = columns->lengths + n,
                                 .original_lengths = columns->originals + n,
                                 .times = columns->times + n,
                                 .links = columns->links + n,
                                 .frames = columns->frames + n,
                                 .room = room < left ? room : left};
}

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

/* ---- files cut and spliced where records begin ---- */

static uint32_t number_at(const uint8_t *bytes, bool big_endian)
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++) {
        number = number << 8 | bytes[big_endian ? i : 3 - i];
    }
    return number;
}

/* Where the file's records or blocks begin, and its end, as the lengths in it say. Returns how many. */
static size_t find_cuts(const uint8_t *data, size_t size, size_t cuts[MAX_CUTS])
{
    size_t n = 0, at = HEAD;
    if (size < HEAD + 28) {
        return 0;
    }
    const bool blocks = number_at(data + HEAD, true) == 0x0a0d0d0a;
    const bool big_endian = blocks ? data[HEAD + 8] == 0x1a : data[HEAD] == 0xa1;
    at += blocks ? 0 : 24;
    while (n < MAX_CUTS - 1 && at + 16 <= size) {
        cuts[n++] = at;
        const size_t step = blocks ? number_at(data + at + 4, big_endian) : 16 + number_at(data + at + 8, big_endian);
        if (step < 8 || step > size - at) {
            break;
        }
        at += step;
    }
    cuts[n++] = size;
    return n;
}

/* Moves what lies behind `from` so that it begins at `to`. The new size. */
static size_t splice(uint8_t *data, size_t size, size_t from, size_t to, size_t max_size)
{
    if (to + (size - from) > max_size) {
        return size;
    }
    memmove(data + to, data + from, size - from);
    return to + (size - from);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t cuts[MAX_CUTS];
    const size_t n = find_cuts(data, size, cuts);
    if (n < 2 || seed % 4 != 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    /* to an earlier place: records are left out; to a later one: records are repeated */
    return splice(data, size, cuts[seed / 4 % n], cuts[seed / 4 / n % n], max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *two, size_t two_size, uint8_t *out,
                                 size_t out_size, unsigned seed)
{
    size_t heads[MAX_CUTS], tails[MAX_CUTS];
    const size_t n = find_cuts(one, one_size, heads), m = find_cuts(two, two_size, tails);
    if (n == 0 || m == 0) {
        return 0;
    }
    const size_t head = heads[seed % n], tail = tails[seed / 512 % m];
    if (head + (two_size - tail) > out_size) {
        return 0;
    }
    memcpy(out, one, head);
    memcpy(out + head, two + tail, two_size - tail);
    return head + (two_size - tail);
}
