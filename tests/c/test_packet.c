/*
 * The parser of packets and the reader of captures: the verdicts expected of tests/data/captures, and damage of every
 * kind, which must neither crash nor read outside the bytes. Each packet lies in a block of exactly its own size, so
 * that AddressSanitizer sees the first byte too many.
 */
#include "packet/packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/registry.h"
#include "packet/pcap.h"

#if !defined(TEST_CAPTURES)
#error "TEST_CAPTURES must be the folder of the captures: run.sh says it"
#endif

/* Single-byte changes of captures. An emulator, which does a tenth of the work in the same time, is spared most. */
#if !defined(TEST_CHANGES)
#define TEST_CHANGES 100000
#endif

#define MAX_RECORDS 2000

struct records {
    int64_t offsets[MAX_RECORDS];
    uint32_t lengths[MAX_RECORDS];
    uint32_t original_lengths[MAX_RECORDS];
    int64_t times[MAX_RECORDS];
    uint16_t links[MAX_RECORDS];
    int64_t frames[MAX_RECORDS];
    size_t n;
    enum pcap_damage damage;
};

struct bytes {
    unsigned char *data;
    size_t size;
};

static cksum_fn *kernel(void)
{
    return cksum_registry_best()->fn;
}

/* A block of exactly `size` bytes with these in it. */
static unsigned char *exact_copy(const unsigned char *data, size_t size)
{
    unsigned char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

static struct bytes load(const char *name)
{
    char path[4096];
    struct bytes bytes = {NULL, 0};
    snprintf(path, sizeof path, "%s/%s", TEST_CAPTURES, name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL, "%s can't be opened", path);
    if (file != NULL) {
        fseek(file, 0, SEEK_END);
        bytes.size = (size_t)ftell(file);
        rewind(file);
        bytes.data = malloc(bytes.size);
        CHECK(bytes.data != NULL && fread(bytes.data, 1, bytes.size, file) == bytes.size, "%s can't be read", path);
        fclose(file);
    }
    return bytes;
}

/* Scans a whole file in windows of at most `window` bytes (0: one window), as a reader of pieces would. */
static void scan(const unsigned char *data, size_t size, size_t window, struct records *found)
{
    struct pcap_reader reader = {0};
    size_t at = 0, width = window == 0 || window > size ? size : window, needed;
    found->n = 0;
    for (;;) {
        struct pcap_records into = {
            .offsets = found->offsets + found->n,
            .lengths = found->lengths + found->n,
            .original_lengths = found->original_lengths + found->n,
            .times = found->times + found->n,
            .links = found->links + found->n,
            .frames = found->frames + found->n,
            .room = MAX_RECORDS - found->n,
        };
        const bool final = at + width == size;
        const size_t taken = pcap_scan(&reader, data + at, width, final, &into, &needed);
        for (size_t i = 0; i < into.n; i++) {
            into.offsets[i] += (int64_t)at;
            CHECK((size_t)into.offsets[i] <= size && into.lengths[i] <= size - (size_t)into.offsets[i],
                  "record %zu lies outside the file", found->n + i);
        }
        found->n += into.n;
        at += taken;
        if (final || reader.damage != PCAP_INTACT || found->n == MAX_RECORDS) {
            break;
        }
        width = needed > window ? needed : window;
        width = width > size - at ? size - at : width;
    }
    CHECK(reader.damage == PCAP_INTACT || reader.damage_at <= size, "damage at %llu of %zu",
          (unsigned long long)reader.damage_at, size);
    found->damage = reader.damage;
    pcap_free(&reader);
}

/* Judges the record, alone in its block; also fills its fields, after which nothing may be bad that was covered. */
static unsigned judge(const unsigned char *data, const struct records *records, size_t i, struct packet_check *checks)
{
    uint32_t silence;
    unsigned char *packet = exact_copy(data + records->offsets[i], records->lengths[i]);
    const unsigned n = packet_verify(kernel(), packet, records->lengths[i], records->original_lengths[i],
                                     records->links[i], checks, &silence);
    CHECK(n <= PACKET_MAX_CHECKS, "%u checks", n);
    for (unsigned at = 0; at < n; at++) {
        CHECK(!checks[at].pending && checks[at].status < PACKET_STATUS_COUNT, "check %u has no verdict", at);
        CHECK((checks[at].status == PACKET_UNCHECKED) == !checks[at].covered || checks[at].status == PACKET_NONE,
              "check %u of %s", at, checks[at].covered ? "what is covered was not judged" : "nothing was judged");
        if (checks[at].has_field) {
            packet_found(packet, &checks[at]);
        }
        if (checks[at].covered) {
            packet_expected(kernel(), packet, &checks[at]);
        }
    }
    free(packet);
    return n;
}

static void fill_and_judge(const unsigned char *data, size_t size, unsigned link)
{
    uint32_t silence;
    struct packet_check checks[PACKET_MAX_CHECKS];
    unsigned char *packet = exact_copy(data, size);
    packet_fill(kernel(), packet, size, link);
    const unsigned n = packet_verify(kernel(), packet, size, size, link, checks, &silence);
    for (unsigned at = 0; at < n; at++) {
        CHECK(checks[at].status != PACKET_BAD, "layer %u is bad after it was filled in", checks[at].layer);
    }
    free(packet);
}

static const char *layer_name(const struct packet_check *check)
{
    static const char *const names[] = {
#define LAYER_NAME(id, text) text,
        PACKET_LAYERS(LAYER_NAME)
#undef LAYER_NAME
    };
    return names[check->layer];
}

static const char *status_name(const struct packet_check *check)
{
    static const char *const names[] = {
#define STATUS_NAME(id, text) text,
        PACKET_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    };
    return names[check->status];
}

/* A number as verdicts.txt writes it. */
static const char *number_text(bool is_there, unsigned number, char text[8])
{
    if (is_there) {
        snprintf(text, 8, "%04x", number);
    }
    return is_there ? text : "-";
}

static void test_verdicts(void)
{
    char path[4096], line[256], name[64], layer[16], status[16], found[8], expected[8], last[64] = "";
    unsigned number, at = 0, last_number = 0, n = 0, lines = 0;
    struct packet_check checks[PACKET_MAX_CHECKS];
    static struct records records;
    struct bytes bytes = {NULL, 0};

    snprintf(path, sizeof path, "%s/verdicts.txt", TEST_CAPTURES);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL, "%s can't be opened", path);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        CHECK(sscanf(line, "%63s %u %15s %15s %7s %7s", name, &number, layer, status, found, expected) == 6, "%s",
              line);
        if (strstr(name, ".gz") != NULL) {
            continue;
        }
        if (strcmp(name, last) != 0) {
            free(bytes.data);
            bytes = load(name);
            scan(bytes.data, bytes.size, 0, &records);
            CHECK(records.damage == PCAP_INTACT, "%s: %s", name, pcap_damage_text(records.damage));
            memcpy(last, name, sizeof last);
            last_number = number + 1;
        }
        if (number != last_number) {
            CHECK(number < records.n, "%s has %zu records, not more than %u", name, records.n, number);
            if (number >= records.n) {
                continue;
            }
            n = judge(bytes.data, &records, number, checks);
            last_number = number;
            at = 0;
        }
        if (layer[0] == '-') {
            CHECK(n == 0, "%s packet %u: %u checks, none expected", name, number, n);
        } else {
            char text[2][8];
            const unsigned char *packet = bytes.data + records.offsets[number];
            CHECK(at < n, "%s packet %u: only %u checks", name, number, n);
            if (at < n) {
                const struct packet_check *check = &checks[at];
                const bool covered = check->covered && check->status != PACKET_NONE;
                CHECK(strcmp(layer_name(check), layer) == 0 && strcmp(status_name(check), status) == 0,
                      "%s packet %u: %s %s, expected %s %s", name, number, layer_name(check), status_name(check), layer,
                      status);
                CHECK(strcmp(number_text(check->has_field, check->has_field ? packet_found(packet, check) : 0, text[0]),
                             found) == 0 &&
                          strcmp(number_text(covered, covered ? packet_expected(kernel(), packet, check) : 0, text[1]),
                                 expected) == 0,
                      "%s packet %u %s: found %s, expected %s", name, number, layer, text[0], text[1]);
            }
            at++;
        }
        lines++;
    }
    CHECK(lines > 500, "%u lines in %s", lines, path);
    free(bytes.data);
    if (file != NULL) {
        fclose(file);
    }
}

static const char *const damaged_files[] = {"link-1.pcap", "link-113.pcap", "all.pcapng"};

static void judge_all(const unsigned char *data, const struct records *records)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    for (size_t i = 0; i < records->n; i++) {
        judge(data, records, i, checks);
    }
}

/* Every prefix: the records before the cut are found, and a cut inside a record is damage. */
static void test_truncation(void)
{
    static struct records whole, part;
    for (size_t file = 0; file < sizeof damaged_files / sizeof damaged_files[0]; file++) {
        const struct bytes bytes = load(damaged_files[file]);
        scan(bytes.data, bytes.size, 0, &whole);
        for (size_t size = 0; size < bytes.size; size++) {
            unsigned char *data = exact_copy(bytes.data, size);
            size_t complete = 0;
            while (complete < whole.n && (size_t)whole.offsets[complete] + whole.lengths[complete] <= size) {
                complete++;
            }
            scan(data, size, 0, &part);
            CHECK(part.n <= complete && part.n + 1 >= complete, "%s, %zu bytes: %zu records", damaged_files[file], size,
                  part.n);
            if (part.n > 0) {
                struct packet_check checks[PACKET_MAX_CHECKS];
                judge(data, &part, part.n - 1, checks);
            }
            free(data);
        }
        free(bytes.data);
    }
}

/* Every prefix of every packet: what is judged then must be what is judged of the whole. */
static void test_snapped_packets(const char *name)
{
    static struct records records;
    struct packet_check whole[PACKET_MAX_CHECKS], part[PACKET_MAX_CHECKS];
    const struct bytes bytes = load(name);
    scan(bytes.data, bytes.size, 0, &records);
    for (size_t i = 0; i < records.n; i++) {
        const uint32_t length = records.lengths[i];
        const unsigned n_whole = judge(bytes.data, &records, i, whole);
        for (records.lengths[i] = 0; records.lengths[i] < length; records.lengths[i]++) {
            const unsigned n = judge(bytes.data, &records, i, part);
            CHECK(n <= n_whole, "packet %zu: %u checks in its first %u bytes", i, n, records.lengths[i]);
            for (unsigned at = 0; at < n && at < n_whole; at++) {
                CHECK(part[at].status == PACKET_UNCHECKED || part[at].status == whole[at].status,
                      "packet %zu, first %u bytes: %s is %s", i, records.lengths[i], layer_name(&part[at]),
                      status_name(&part[at]));
            }
        }
        records.lengths[i] = length;
    }
    free(bytes.data);
}

/* Any size of window finds the same records. */
static void test_windows(void)
{
    static struct records whole, pieces;
    for (size_t file = 0; file < sizeof damaged_files / sizeof damaged_files[0]; file++) {
        const struct bytes bytes = load(damaged_files[file]);
        scan(bytes.data, bytes.size, 0, &whole);
        for (size_t window = 1; window < 200; window++) {
            scan(bytes.data, bytes.size, window, &pieces);
            CHECK(pieces.n == whole.n && pieces.damage == PCAP_INTACT &&
                      memcmp(pieces.offsets, whole.offsets, whole.n * sizeof whole.offsets[0]) == 0 &&
                      memcmp(pieces.times, whole.times, whole.n * sizeof whole.times[0]) == 0,
                  "%s in windows of %zu bytes: %zu records, not %zu", damaged_files[file], window, pieces.n, whole.n);
        }
        free(bytes.data);
    }
}

static void test_changed_bytes(void)
{
    static struct records records;
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint64_t random = 6;
    for (size_t file = 0; file < sizeof damaged_files / sizeof damaged_files[0]; file++) {
        const struct bytes bytes = load(damaged_files[file]);
        for (unsigned change = 0; change < TEST_CHANGES / 3 + 1; change++) {
            const size_t at = random_next(&random) % bytes.size;
            const unsigned char old = bytes.data[at];
            bytes.data[at] = (unsigned char)(old ^ (1 + random_next(&random) % 255));
            scan(bytes.data, bytes.size, 0, &records);
            for (size_t i = 0; i < records.n; i++) { /* only what the change can have touched */
                const size_t begin = (size_t)records.offsets[i];
                if (at + 40 >= begin && at < begin + records.lengths[i]) {
                    judge(bytes.data, &records, i, checks);
                    fill_and_judge(bytes.data + begin, records.lengths[i], records.links[i]);
                }
            }
            bytes.data[at] = old;
        }
        scan(bytes.data, bytes.size, 0, &records);
        judge_all(bytes.data, &records);
        free(bytes.data);
    }
}

/* Several changes in one packet, cut somewhere, under a link type that need not be its own. */
static void test_changed_packets(const char *name)
{
    uint32_t silence;
    static const unsigned links[] = {
#define LINK_NUMBER(id, number, step) PACKET_LINK_##id,
        PACKET_LINKS(LINK_NUMBER)
#undef LINK_NUMBER
            147, /* none */
    };
    const size_t n_links = sizeof links / sizeof links[0];
    static struct records records;
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint64_t random = 66;
    const struct bytes bytes = load(name);
    scan(bytes.data, bytes.size, 0, &records);
    for (unsigned change = 0; change < TEST_CHANGES; change++) {
        const size_t i = random_next(&random) % records.n;
        const size_t size = records.lengths[i] - random_next(&random) % 4 * (random_next(&random) % 8);
        const unsigned link = random_next(&random) % 4 != 0 ? records.links[i] : links[random_next(&random) % n_links];
        unsigned char *packet = exact_copy(bytes.data + records.offsets[i], size > records.lengths[i] ? 0 : size);
        const size_t length = size > records.lengths[i] ? 0 : size;
        for (uint64_t n = 1 + random_next(&random) % 4; n > 0 && length > 0; n--) {
            packet[random_next(&random) % length] = (unsigned char)random_next(&random);
        }
        packet_verify(kernel(), packet, length, length + random_next(&random) % 3 * 100, link, checks, &silence);
        fill_and_judge(packet, length, link);
        free(packet);
    }
    free(bytes.data);
}

/* Writes a length in network order. */
static void put_length(unsigned char *at, unsigned length)
{
    at[0] = (unsigned char)(length >> 8);
    at[1] = (unsigned char)length;
}

/*
 * Hundreds of headers one inside the other end in one check that says so: IPv4 in IPv4, and IPv4, UDP, VXLAN, Ethernet,
 * where the walk goes on behind the check that there is no room for.
 */
static void test_depth(bool vxlan)
{
    uint32_t silence;
    enum { HEADERS = 500 };
    const unsigned step = vxlan ? 20 + 8 + 8 + 14 : 20, size = HEADERS * step;
    struct packet_check *checks = malloc(PACKET_MAX_CHECKS * sizeof *checks);
    unsigned char *packet = calloc(size, 1);
    if (packet == NULL || checks == NULL) {
        abort();
    }
    for (unsigned i = 0; i < HEADERS; i++) {
        unsigned char *header = packet + step * i;
        header[0] = 0x45;
        put_length(header + 2, size - step * i);
        header[9] = vxlan ? 17 : 4;
        if (vxlan) {
            put_length(header + 22, 4789);
            put_length(header + 24, size - step * i - 20);
            header[26] = 1; /* some checksum */
            header[28] = 0x08;
            header[48] = 0x08;
        }
    }
    const unsigned n = packet_verify(kernel(), packet, size, size, PACKET_LINK_RAW, checks, &silence);
    CHECK(n == PACKET_MAX_CHECKS, "%u checks", n);
    CHECK(checks[n - 1].status == PACKET_UNCHECKED && checks[n - 1].reason == PACKET_TOO_DEEP, "the last says nothing");
    CHECK(checks[n - 2].status == PACKET_BAD, "the one before is not judged");
    free(packet);
    free(checks);
}

void test_packet(void)
{
    test_verdicts();
    test_truncation();
    test_snapped_packets("all.pcapng");
    test_snapped_packets("protocols.pcapng");
    test_windows();
    test_changed_bytes();
    test_changed_packets("all.pcapng");
    test_changed_packets("protocols.pcapng");
    test_depth(false);
    test_depth(true);
}
