/*
 * pcap.c: an own small reader of pcap and pcapng, and why.
 *
 * libpcap hands out one packet a call and is not installed everywhere; dpkt, scapy and python-pcapng make one or more
 * Python objects a packet, at 1 to 20 us each. None gives offsets into one buffer, which is all that a checksum needs
 * and costs a few nanoseconds a packet. The formats are small: a header and records (pcap), blocks that carry their
 * length at both ends (pcapng, draft-ietf-opsawg-pcapng).
 *
 * The file is not trusted. A length is compared with what is left before it is used, every step consumes bytes, and
 * the first thing that cannot be true ends the reading: what was found before it stays found.
 */
#include "packet/pcap.h"

#include <stdlib.h>
#include <string.h>

#include "base/fold.h"

enum {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_OBSOLETE_PACKET = 2,
    BLOCK_SIMPLE_PACKET = 3,
    BLOCK_ENHANCED_PACKET = 6,
    BLOCK_JOURNAL = 9,
    BLOCK_SYSTEM_CALL = 0x204,
    BLOCK_CUSTOM = 0xbad,
    BLOCK_CUSTOM_NOT_COPIED = 0x40000bad,
};

#define BYTE_ORDER_MARK 0x1a2b3c4du
#define OPTION_RESOLUTION 9
#define OPTION_FCS_LENGTH 13
#define OPTION_OFFSET 14
#define OPTION_PACKET_FLAGS 2
#define NANOSECONDS 1000000000

static uint16_t get16(const struct pcap_reader *reader, const unsigned char *p)
{
    const uint16_t word = cksum_load16(p);
    return reader->swapped ? cksum_swap16(word) : word;
}

static uint32_t get32(const struct pcap_reader *reader, const unsigned char *p)
{
    const uint32_t word = cksum_load32(p);
    return reader->swapped ? __builtin_bswap32(word) : word;
}

static uint64_t get64(const struct pcap_reader *reader, const unsigned char *p)
{
    const uint64_t word = cksum_load64(p);
    return reader->swapped ? __builtin_bswap64(word) : word;
}

/* The four magic numbers of pcap, in this host's order. */
static bool is_classic(uint32_t magic)
{
    return magic == 0xa1b2c3d4u || magic == 0xa1b23c4du || magic == 0xa1b2cd34u;
}

enum pcap_format pcap_format_of(const unsigned char *magic)
{
    const uint32_t word = cksum_load32(magic);
    if (word == BLOCK_SECTION) { /* the same bytes in either order */
        return PCAP_NG;
    }
    return is_classic(word) || is_classic(__builtin_bswap32(word)) ? PCAP_CLASSIC : PCAP_UNKNOWN;
}

const char *pcap_damage_text(enum pcap_damage damage)
{
    static const char *const texts[] = {
#define PCAP_DAMAGE_TEXT(id, text) [PCAP_##id] = (text),
        PCAP_DAMAGES(PCAP_DAMAGE_TEXT)
#undef PCAP_DAMAGE_TEXT
    };
    return texts[damage];
}

void pcap_free(struct pcap_reader *reader)
{
    free(reader->interfaces);
    *reader = (struct pcap_reader){0};
}

/* What a step did with the bytes it was shown. */
enum step {
    TAKEN,     /* *taken bytes are done with */
    NEED_MORE, /* *taken bytes would be needed */
    DAMAGED,   /* reader->damage says why */
};

static enum step damaged(struct pcap_reader *reader, enum pcap_damage damage)
{
    reader->damage = damage;
    return DAMAGED;
}

static enum step need_more(size_t size, size_t *taken)
{
    *taken = size;
    return NEED_MORE;
}

/* fcs: bytes of the frame check sequence that ends the packet on the wire; they are none of its bytes. */
static void add_record(struct pcap_reader *reader, struct pcap_records *records, size_t offset, uint32_t length,
                       uint32_t original, uint32_t fcs, int64_t time, uint16_t link)
{
    const uint32_t captured = length;
    if (fcs <= original) {
        original -= fcs;
        length = length < original ? length : original;
    }
    const size_t n = records->n++;
    records->offsets[n] = (int64_t)offset;
    records->lengths[n] = length;
    records->original_lengths[n] = original;
    records->times[n] = time;
    records->links[n] = link;
    if (records->check_sequences != NULL) {
        records->check_sequences[n] = (uint8_t)(captured - length < fcs ? captured - length : fcs);
    }
    records->frames[n] = ++reader->frames;
}

/* ---- pcap ---- */

static enum step classic_header(struct pcap_reader *reader, const unsigned char *p, size_t size, size_t *taken)
{
    if (size < 24) {
        return need_more(24, taken);
    }
    reader->swapped = !is_classic(cksum_load32(p));
    const uint32_t magic = get32(reader, p);
    reader->nanoseconds = magic == 0xa1b23c4du;
    reader->long_records = magic == 0xa1b2cd34u;
    reader->snaplen = get32(reader, p + 16);
    const uint32_t link = get32(reader, p + 20);
    reader->link = (uint16_t)link;
    reader->fcs = link & 0x04000000 ? (uint8_t)(2 * (link >> 28)) : 0; /* a flag, and 16-bit words in the upper bits */
    const unsigned major = get16(reader, p + 4), minor = get16(reader, p + 6);
    if (major != 2 || minor > 4) {
        return damaged(reader, PCAP_FILE_VERSION);
    }
    reader->lengths = minor < 3 ? PCAP_SWAPPED : minor == 3 ? PCAP_PERHAPS_SWAPPED : PCAP_AS_SPECIFIED;
    reader->format = PCAP_CLASSIC;
    *taken = 24;
    return TAKEN;
}

/* Longer than any snapshot length that is in use, and than the file's own: not a length. */
static bool is_plausible(uint32_t length, uint32_t snaplen)
{
    return length <= PCAP_MAX_RECORD && (length <= 262144 || length <= snaplen);
}

static enum step classic_record(struct pcap_reader *reader, const unsigned char *p, size_t size, size_t at,
                                struct pcap_records *records, size_t *taken)
{
    const size_t header = reader->long_records ? 24 : 16;
    if (size < header) {
        return need_more(header, taken);
    }
    uint32_t length = get32(reader, p + 8), original = get32(reader, p + 12);
    if (reader->lengths == PCAP_SWAPPED || (reader->lengths == PCAP_PERHAPS_SWAPPED && length > original)) {
        const uint32_t first = length;
        length = original;
        original = first;
    }
    if (!is_plausible(length, reader->snaplen)) {
        return damaged(reader, PCAP_RECORD_LENGTH);
    }
    if (size - header < length) {
        return need_more(header + length, taken);
    }
    const int64_t seconds = get32(reader, p), fraction = get32(reader, p + 4);
    const int64_t time = seconds * NANOSECONDS + fraction * (reader->nanoseconds ? 1 : 1000);
    add_record(reader, records, at + header, length, original, reader->fcs, time, reader->link);
    *taken = header + length;
    return TAKEN;
}

/* ---- pcapng ---- */

/* Ticks of an interface's clock as nanoseconds since 1970; PCAP_NO_TIME where 64 bits do not hold them. */
static int64_t to_nanoseconds(uint64_t ticks, const struct pcap_interface *interface)
{
    const unsigned exponent = interface->resolution & 0x7f;
    unsigned __int128 time = ticks;
    if (interface->resolution & 0x80) {
        time = time * NANOSECONDS >> exponent; /* 64 + 30 bits */
    } else {
        for (unsigned i = exponent; i < 9; i++) {
            time *= 10;
        }
        for (unsigned i = 9; i < exponent && time != 0; i++) {
            time /= 10;
        }
    }
    int64_t offset, sum;
    if (time > INT64_MAX || __builtin_mul_overflow(interface->offset, (int64_t)NANOSECONDS, &offset) ||
        __builtin_add_overflow((int64_t)time, offset, &sum)) {
        return PCAP_NO_TIME;
    }
    return sum;
}

static enum step section_block(struct pcap_reader *reader, const unsigned char *body, size_t size)
{
    if (size < 16) {
        return damaged(reader, PCAP_BLOCK_LENGTH);
    }
    const unsigned major = get16(reader, body + 4), minor = get16(reader, body + 6);
    if (major != 1 || (minor != 0 && minor != 2)) { /* 1.2 is what some write for 1.0 */
        return damaged(reader, PCAP_SECTION_VERSION);
    }
    reader->n_interfaces = 0;
    return TAKEN;
}

static void interface_options(const struct pcap_reader *reader, const unsigned char *p, size_t size,
                              struct pcap_interface *interface)
{
    while (size >= 4) {
        const unsigned code = get16(reader, p), length = get16(reader, p + 2);
        const size_t padded = (length + 3u) & ~3u;
        if (code == 0 || padded > size - 4) {
            return;
        }
        if (code == OPTION_RESOLUTION && length == 1) {
            interface->resolution = p[4];
        } else if (code == OPTION_FCS_LENGTH && length == 1) {
            const unsigned bits = p[4];
            interface->fcs = (uint8_t)(bits <= 8 ? bits : bits / 8); /* bits, but some write bytes: 4 is no 4 bits */
        } else if (code == OPTION_OFFSET && length == 8) {
            interface->offset = (int64_t)get64(reader, p + 4);
        }
        p += 4 + padded;
        size -= 4 + padded;
    }
}

static enum step interface_block(struct pcap_reader *reader, const unsigned char *body, size_t size)
{
    if (size < 8) {
        return damaged(reader, PCAP_BLOCK_LENGTH);
    }
    if (reader->n_interfaces == PCAP_MAX_INTERFACES) {
        return damaged(reader, PCAP_MANY_INTERFACES);
    }
    if (reader->n_interfaces == reader->room) {
        const size_t room = reader->room == 0 ? 8 : 2 * reader->room;
        struct pcap_interface *grown = realloc(reader->interfaces, room * sizeof *grown);
        if (grown == NULL) {
            return damaged(reader, PCAP_NO_MEMORY);
        }
        reader->interfaces = grown;
        reader->room = room;
    }
    struct pcap_interface *interface = &reader->interfaces[reader->n_interfaces++];
    *interface = (struct pcap_interface){
        .link = get16(reader, body),
        .snaplen = get32(reader, body + 4),
        .resolution = 6,
    };
    interface_options(reader, body + 8, size - 8, interface);
    return TAKEN;
}

/* The bytes of FCS that the options of one packet say; those of its interface where they do not. */
static uint32_t packet_fcs(const struct pcap_reader *reader, const unsigned char *p, size_t size,
                           uint32_t interface_fcs)
{
    while (size >= 4) {
        const unsigned code = get16(reader, p), length = get16(reader, p + 2);
        const size_t padded = (length + 3u) & ~3u;
        if (code == 0 || padded > size - 4) {
            break;
        }
        if (code == OPTION_PACKET_FLAGS && length == 4) {
            const uint32_t fcs = get32(reader, p + 4) >> 5 & 15;
            return fcs != 0 ? fcs : interface_fcs;
        }
        p += 4 + padded;
        size -= 4 + padded;
    }
    return interface_fcs;
}

/* at: offset of the body in the window. */
static enum step packet_block(struct pcap_reader *reader, uint32_t type, const unsigned char *body, size_t size,
                              size_t at, struct pcap_records *records)
{
    if (size < 20) {
        return damaged(reader, PCAP_BLOCK_LENGTH);
    }
    const uint32_t index = type == BLOCK_ENHANCED_PACKET ? get32(reader, body) : get16(reader, body);
    const uint32_t length = get32(reader, body + 12), original = get32(reader, body + 16);
    if (length > size - 20) {
        return damaged(reader, PCAP_RECORD_LENGTH);
    }
    if (index >= reader->n_interfaces) {
        return damaged(reader, PCAP_NO_INTERFACE);
    }
    const struct pcap_interface *interface = &reader->interfaces[index];
    const uint64_t ticks = (uint64_t)get32(reader, body + 4) << 32 | get32(reader, body + 8);
    const size_t padded = 20 + ((size_t)length + 3) / 4 * 4;
    const uint32_t fcs = type == BLOCK_ENHANCED_PACKET && padded < size
                             ? packet_fcs(reader, body + padded, size - padded, interface->fcs)
                             : interface->fcs;
    add_record(reader, records, at + 20, length, original, fcs, to_nanoseconds(ticks, interface), interface->link);
    return TAKEN;
}

/* A packet of the first interface that has neither a time nor a captured length of its own. */
static enum step simple_packet_block(struct pcap_reader *reader, const unsigned char *body, size_t size, size_t at,
                                     struct pcap_records *records)
{
    if (size < 4) {
        return damaged(reader, PCAP_BLOCK_LENGTH);
    }
    if (reader->n_interfaces == 0) {
        return damaged(reader, PCAP_NO_INTERFACE);
    }
    const struct pcap_interface *interface = &reader->interfaces[0];
    const uint32_t original = get32(reader, body);
    uint32_t length = original;
    if (interface->snaplen != 0 && length > interface->snaplen) {
        length = interface->snaplen;
    }
    if (length > size - 4) {
        return damaged(reader, PCAP_RECORD_LENGTH);
    }
    add_record(reader, records, at + 4, length, original, interface->fcs, PCAP_NO_TIME, interface->link);
    return TAKEN;
}

/* Whether Wireshark numbers a block without a packet as a frame all the same; tried with tshark 4.0. */
static bool is_frame(uint32_t type)
{
    return type == BLOCK_CUSTOM || type == BLOCK_CUSTOM_NOT_COPIED || type == BLOCK_JOURNAL ||
           type == BLOCK_SYSTEM_CALL;
}

static enum step block(struct pcap_reader *reader, const unsigned char *p, size_t size, size_t at,
                       struct pcap_records *records, size_t *taken)
{
    if (size < 12) {
        return need_more(12, taken);
    }
    if (cksum_load32(p) == BLOCK_SECTION) { /* whose byte order must be known before its length is */
        const uint32_t mark = cksum_load32(p + 8);
        if (mark != BYTE_ORDER_MARK && mark != __builtin_bswap32(BYTE_ORDER_MARK)) {
            return damaged(reader, PCAP_BYTE_ORDER);
        }
        reader->swapped = mark != BYTE_ORDER_MARK;
    }
    const uint32_t type = get32(reader, p), length = get32(reader, p + 4);
    if (length < 12 || length % 4 != 0 || length > PCAP_MAX_RECORD) {
        return damaged(reader, PCAP_BLOCK_LENGTH);
    }
    if (size < length) {
        return need_more(length, taken);
    }
    if (get32(reader, p + length - 4) != length) {
        return damaged(reader, PCAP_BLOCK_ENDS);
    }
    *taken = length;
    switch (type) {
    case BLOCK_SECTION:
        return section_block(reader, p + 8, length - 12);
    case BLOCK_INTERFACE:
        return interface_block(reader, p + 8, length - 12);
    case BLOCK_ENHANCED_PACKET:
    case BLOCK_OBSOLETE_PACKET:
        return packet_block(reader, type, p + 8, length - 12, at + 8, records);
    case BLOCK_SIMPLE_PACKET:
        return simple_packet_block(reader, p + 8, length - 12, at + 8, records);
    default:
        reader->frames += is_frame(type);
        return TAKEN;
    }
}

/* ---- both ---- */

static enum step first_bytes(struct pcap_reader *reader, const unsigned char *p, size_t size, size_t *taken)
{
    if (size < PCAP_MAGIC_BYTES) {
        return need_more(PCAP_MAGIC_BYTES, taken);
    }
    switch (pcap_format_of(p)) {
    case PCAP_CLASSIC:
        return classic_header(reader, p, size, taken);
    case PCAP_NG:
        reader->format = PCAP_NG;
        *taken = 0; /* the section header is a block like any other */
        return TAKEN;
    case PCAP_UNKNOWN:
        break;
    }
    return damaged(reader, PCAP_NO_CAPTURE);
}

size_t pcap_scan(struct pcap_reader *reader, const unsigned char *window, size_t size, bool final,
                 struct pcap_records *records, size_t *needed)
{
    size_t at = 0, taken = 0;
    enum step step = TAKEN;
    *needed = 0;
    while (reader->damage == PCAP_INTACT && records->n < records->room && at < size) {
        const bool begins = reader->format == PCAP_UNKNOWN;
        if (begins) {
            step = first_bytes(reader, window + at, size - at, &taken);
        } else if (reader->format == PCAP_CLASSIC) {
            step = classic_record(reader, window + at, size - at, at, records, &taken);
        } else {
            step = block(reader, window + at, size - at, at, records, &taken);
        }
        if (step == NEED_MORE && final) {
            const bool is_magic = size - at >= PCAP_MAGIC_BYTES;
            step = damaged(reader, !begins ? PCAP_CUT_RECORD : is_magic ? PCAP_CUT_HEADER : PCAP_NO_CAPTURE);
        }
        if (step != TAKEN) {
            break;
        }
        at += taken;
    }
    if (step == NEED_MORE) {
        *needed = taken;
    } else if (step == DAMAGED) {
        reader->damage_at = reader->position + at;
    }
    reader->position += at;
    return at;
}
