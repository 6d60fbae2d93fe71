/*
 * mending.c: any bytes as a capture file, and files cut and spliced: its verdicts as columns, which must say what the
 * packets one by one say; then its wrong checksums mended, when what was asked for is good and all else as it was.
 */
#include "core/registry.h"
#include "packet/columns.h"
#include "packet/mend.h"
#include "splices.h"

enum { ROOM = 1024, CODES = 256 };
#include "records.h"

/* A capture: its bytes and where its packets are. */
struct file {
    unsigned char *bytes;
    size_t size;
    struct columns columns;
};

static void scan(struct file *file)
{
    struct pcap_reader reader = {0};
    size_t needed;
    file->columns.n = 0;
    struct pcap_records records = columns_from(&file->columns, ROOM);
    pcap_scan(&reader, file->bytes, file->size, true, &records, &needed);
    file->columns.n = records.n;
    pcap_free(&reader);
}

static struct packet_batch batch_of(const struct file *file)
{
    return (struct packet_batch){.data = file->bytes,
                                 .size = file->size,
                                 .offsets = file->columns.offsets,
                                 .lengths = file->columns.lengths,
                                 .originals = file->columns.originals,
                                 .links = file->columns.links,
                                 .n = file->columns.n};
}

/* The checks of packet i, judged by themselves. Returns how many there are. */
static unsigned checks_of(cksum_fn *fn, const struct file *file, size_t i, struct packet_check *checks)
{
    uint32_t silence;
    return packet_verify(fn, file->bytes + file->columns.offsets[i], file->columns.lengths[i],
                         file->columns.originals[i], file->columns.links[i], checks, &silence);
}

/* ---- columns ---- */

static bool is_wanted(const struct packet_check *check, unsigned statuses)
{
    return statuses >> check->status & 1;
}

/* Row `row` says of packet i what its check says. */
static void require_row(cksum_fn *fn, const struct file *file, const struct packet_columns *rows, size_t row, size_t i,
                        const struct packet_check *check)
{
    const unsigned char *packet = file->bytes + file->columns.offsets[i];
    const bool expects = check->covered && check->status != PACKET_NONE;
    REQUIRE(rows->packet[row] == 7 + (int64_t)i && rows->frame[row] == file->columns.frames[i] &&
                rows->time[row] == file->columns.times[i],
            "row %zu is not of packet %zu", row, i);
    REQUIRE(rows->layer[row] == check->layer && rows->status[row] == check->status &&
                rows->reason[row] == check->reason && rows->protocol[row] == check->protocol &&
                rows->ip_version[row] == check->ip_version,
            "row %zu: layer %u status %u reason %u, not %u %u %u", row, rows->layer[row], rows->status[row],
            rows->reason[row], check->layer, check->status, check->reason);
    REQUIRE(rows->found[row] == (check->has_field ? packet_found(packet, check) : -1) &&
                rows->offset[row] == (check->has_field ? (int32_t)check->field : -1),
            "row %zu: found %d at %d", row, rows->found[row], rows->offset[row]);
    REQUIRE(rows->expected[row] == (expects ? packet_expected(fn, packet, check) : -1), "row %zu: expected %d", row,
            rows->expected[row]);
}

/* Equal addresses have equal codes, others have other ones, and rows[k] is a row with code k. */
static void require_codes(const struct packet_columns *columns)
{
    const size_t n = columns->n < 64 ? columns->n : 64;
    int32_t *codes = malloc((n + 1) * sizeof *codes);
    int64_t *rows = NULL;
    const size_t different = packet_encode_addresses(columns->src, columns->ip_version, n, codes, &rows);
    REQUIRE(different <= n, "%zu addresses in %zu rows", different, n);
    for (size_t i = 0; i < n; i++) {
        REQUIRE((codes[i] < 0) == (columns->ip_version[i] == 0), "row %zu: code %d", i, codes[i]);
        for (size_t j = 0; j < i && codes[i] >= 0; j++) {
            const bool equal = columns->ip_version[i] == columns->ip_version[j] &&
                               memcmp(columns->src + 16 * i, columns->src + 16 * j, 16) == 0;
            REQUIRE((codes[i] == codes[j]) == equal, "rows %zu and %zu: codes %d and %d", j, i, codes[j], codes[i]);
        }
        REQUIRE(codes[i] < 0 || codes[rows[codes[i]]] == codes[i], "row %zu", i);
    }
    free(codes);
    free(rows);
}

static void require_columns(cksum_fn *fn, const struct file *file, unsigned statuses)
{
    static unsigned char per_packet[ROOM], wanted[CODES];
    static uint64_t counts[CODES];
    static struct packet_columns columns;
    struct packet_check checks[PACKET_MAX_CHECKS];
    struct packet_judged judged = {.batch = batch_of(file),
                                   .times = file->columns.times,
                                   .frames = file->columns.frames,
                                   .first_packet = 7,
                                   .wanted = wanted};
    size_t row = 0;
    memset(counts, 0, sizeof counts);
    judged.batch.per_packet = per_packet;
    judged.batch.counts = counts;
    REQUIRE(packet_verify_batch(fn, &judged.batch) == PACKET_BATCH_WHOLE, "packet %zu", judged.batch.bad_index);
    for (size_t code = 0; code < CODES; code++) {
        wanted[code] = statuses >> (code & 7) & 1;
        row += wanted[code] ? counts[code] : 0;
    }
    columns = (struct packet_columns){.room = row};
#define ALLOCATE(name, type, items) columns.name = calloc(row * (items), sizeof(type));
    PACKET_COLUMNS(ALLOCATE)
#undef ALLOCATE
    const enum packet_fill_end end = packet_fill_columns(fn, &judged, &columns);
    REQUIRE(end == PACKET_COLUMNS_WHOLE && columns.n == row, "end %u, %zu of %zu rows", end, columns.n, row);
    row = 0;
    for (size_t i = 0; i < file->columns.n; i++) {
        const unsigned n = checks_of(fn, file, i, checks);
        REQUIRE(n == per_packet[i], "packet %zu: %u checks, %u in the batch", i, n, per_packet[i]);
        for (unsigned at = 0; at < n; at++) {
            if (is_wanted(&checks[at], statuses)) {
                require_row(fn, file, &columns, row++, i, &checks[at]);
            }
        }
    }
    REQUIRE(row == columns.n, "%zu rows, %zu wanted", columns.n, row);
    require_codes(&columns);
#define RELEASE(name, type, items) free(columns.name);
    PACKET_COLUMNS(RELEASE)
#undef RELEASE
    free(judged.batch.codes);
}

/* ---- mending ---- */

/* What was asked for is good, what was good is so still, and any other field is as it was. Returns fields changed. */
static unsigned require_mended(cksum_fn *fn, const struct file *was, const struct file *is, size_t i, unsigned statuses,
                               unsigned char *may_change)
{
    struct packet_check before[PACKET_MAX_CHECKS], after[PACKET_MAX_CHECKS];
    const unsigned n = checks_of(fn, was, i, before), found = checks_of(fn, is, i, after);
    const unsigned char *old = was->bytes + was->columns.offsets[i], *new = is->bytes + is->columns.offsets[i];
    unsigned changed = 0;
    const bool guessed = any_guessed(before, n) || any_guessed(after, found);
    REQUIRE(guessed || found == n, "packet %zu: %u checks, %u before", i, found, n);
    for (unsigned at = 0; at < n; at++) {
        const struct packet_check *check = &before[at];
        REQUIRE(guessed || (after[at].layer == check->layer && after[at].field == check->field &&
                            after[at].start == check->start && after[at].length == check->length),
                "packet %zu: check %u is another one now", i, at);
        const bool differs = check->has_field && memcmp(old + check->field, new + check->field, 2) != 0;
        const bool asked = check->covered && statuses >> check->status & 1;
        changed += differs;
        if (asked || check->status == PACKET_GOOD) {
            memset(may_change + was->columns.offsets[i] + check->field, 1, 2);
            REQUIRE(guessed || after[at].status == PACKET_GOOD, "packet %zu: layer %u had status %u, and has %u", i,
                    check->layer, check->status, after[at].status);
        } else {
            REQUIRE(!differs, "packet %zu: layer %u with status %u was written", i, check->layer, check->status);
        }
    }
    return changed;
}

static void mend(cksum_fn *fn, struct file *file, unsigned statuses, struct packet_mended *mended)
{
    struct packet_batch batch = batch_of(file);
    const enum packet_batch_end end = packet_mend_batch(fn, &batch, file->bytes, statuses, mended);
    REQUIRE(end == PACKET_BATCH_WHOLE, "packet %zu", batch.bad_index);
}

static void require_mending(cksum_fn *fn, const struct file *was, unsigned statuses)
{
    static uint64_t before[CODES], changed[CODES], left[CODES];
    static struct file is;
    struct packet_mended mended = {.before = before, .changed = changed, .left = left};
    unsigned char *may_change = calloc(was->size + 2, 1);
    uint64_t fields = 0, packets = 0;
    is = *was;
    is.bytes = exact_copy(was->bytes, was->size);
    memset(changed, 0, sizeof changed);
    mend(fn, &is, statuses, &mended);
    bool guessed = false;
    for (size_t i = 0; i < is.columns.n; i++) {
        struct packet_check checks[PACKET_MAX_CHECKS];
        guessed = guessed || any_guessed(checks, checks_of(fn, was, i, checks)) ||
                  any_guessed(checks, checks_of(fn, &is, i, checks));
        const unsigned of_packet = require_mended(fn, was, &is, i, statuses, may_change);
        fields += of_packet;
        packets += of_packet > 0;
    }
    for (size_t code = 0; code < CODES; code++) {
        fields -= changed[code];
    }
    REQUIRE(fields == 0 && packets == mended.packets, "%lld fields too many; %llu packets, not %llu", (long long)fields,
            (unsigned long long)packets, (unsigned long long)mended.packets);
    for (size_t i = 0; i < is.size; i++) {
        REQUIRE(is.bytes[i] == was->bytes[i] || may_change[i], "byte %zu has changed", i);
    }
    unsigned char *once = exact_copy(is.bytes, is.size);
    mend(fn, &is, statuses, &mended);
    REQUIRE(guessed || memcmp(once, is.bytes, is.size) == 0, "mended twice");
    free(once);
    free(may_change);
    free(is.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct file file;
    struct input input = {data, size};
    const unsigned asked = (unsigned)take(&input, 1), wanted = (unsigned)take(&input, 1);
    cksum_fn *fn = cksum_registry_best()->fn;
    file.bytes = exact_copy(input.bytes, input.size);
    file.size = input.size;
    scan(&file);
    if (file.columns.n > 0) {
        require_columns(fn, &file, wanted);
        require_mending(fn, &file, asked);
    }
    free(file.bytes);
    return 0;
}
