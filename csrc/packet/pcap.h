/*
 * pcap.h: the records of a capture file (pcap, pcapng), found in bytes that may come in pieces.
 *
 * The caller reads the file and hands over a window of it; the reader says where the packets lie in that window and how
 * many of its bytes it is done with. Nothing is copied and no object is made for a packet. Knows neither files nor
 * Python.
 */
#ifndef CKSUM_PACKET_PCAP_H
#define CKSUM_PACKET_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"

/* What is wrong with a file, in words. */
#define PCAP_DAMAGES(X)                                                                                                \
    X(INTACT, "")                                                                                                      \
    X(NO_CAPTURE, "no capture file")                                                                                   \
    X(FILE_VERSION, "a version of the pcap format other than 2.0 to 2.4")                                              \
    X(CUT_HEADER, "the file ends inside the header that begins here")                                                  \
    X(CUT_RECORD, "the file ends inside the record that begins here")                                                  \
    X(RECORD_LENGTH, "a record that begins here claims an impossible length")                                          \
    X(BLOCK_LENGTH, "a block that begins here claims an impossible length")                                            \
    X(BLOCK_ENDS, "the two lengths of the block that begins here differ")                                              \
    X(BYTE_ORDER, "the section that begins here has no valid byte-order mark")                                         \
    X(SECTION_VERSION, "the section that begins here has a version that is not known")                                 \
    X(NO_INTERFACE, "the packet that begins here names an interface that was not described")                           \
    X(MANY_INTERFACES, "the section describes more interfaces than are kept (65,536), the next of them here")          \
    X(NO_MEMORY, "no memory for another interface, described here")

enum pcap_damage {
#define PCAP_DAMAGE_ID(id, text) PCAP_##id,
    PCAP_DAMAGES(PCAP_DAMAGE_ID)
#undef PCAP_DAMAGE_ID
};

/* The two lengths of a record changed places when pcap 2.3 became 2.4, and files of 2.3 have them either way. */
enum pcap_lengths { PCAP_AS_SPECIFIED, PCAP_SWAPPED, PCAP_PERHAPS_SWAPPED };

enum pcap_format { PCAP_UNKNOWN, PCAP_CLASSIC, PCAP_NG };

struct pcap_interface {
    uint16_t link;
    uint32_t snaplen;   /* 0: no limit */
    uint8_t resolution; /* if_tsresol as it stands in the file */
    uint8_t fcs;        /* bytes of frame check sequence at the end of each packet */
    int64_t offset;     /* if_tsoffset, seconds */
};

/* Zero it to begin; pcap_free it at the end. The first three members are the caller's to read. */
struct pcap_reader {
    enum pcap_format format;
    enum pcap_damage damage; /* nothing more is read once this is set */
    uint64_t damage_at;      /* offset in the file */

    uint64_t position; /* offset in the file of the next byte to come */
    int64_t frames;    /* what Wireshark has numbered so far */
    bool swapped;
    bool nanoseconds;
    bool long_records; /* the variant of a patched libpcap, whose record headers have 24 bytes */
    enum pcap_lengths lengths;
    uint32_t snaplen;
    uint16_t link;
    uint8_t fcs;
    struct pcap_interface *interfaces; /* of the section in hand */
    size_t n_interfaces;
    size_t room;
};

/* No time was recorded. NumPy's NaT has the same bits. */
#define PCAP_NO_TIME INT64_MIN

/* Where packets lie: one array a column, each with room for `room` of them. Offsets count from the window's start. */
struct pcap_records {
    int64_t *offsets;
    uint32_t *lengths;
    uint32_t *original_lengths;
    int64_t *times; /* nanoseconds since 1970 */
    uint16_t *links;
    uint8_t *check_sequences; /* captured bytes behind each packet that are its frame check sequence; NULL: not asked */
    int64_t *frames; /* Wireshark's numbers, from 1: in pcapng it counts custom, journal and system call blocks too */
    size_t room;
    size_t n;
};

/* A record longer than this is taken for damage, so that one wrong bit does not ask for gigabytes. */
#define PCAP_MAX_RECORD (128u << 20)

/* More interfaces in a section than any tool writes: a small file may unpack to gigabytes of them. */
#define PCAP_MAX_INTERFACES 65536

/* The start of a file, whatever its format, is told by this many bytes. */
#define PCAP_MAGIC_BYTES 4

/* Whether a file that starts with these PCAP_MAGIC_BYTES is a capture, and of which format. */
CKSUM_HIDDEN enum pcap_format pcap_format_of(const unsigned char *magic);

/*
 * Takes records from the window, which begins at reader->position of the file, until it or the room is used up.
 * `final`: the file ends with the window. Returns the bytes it is done with; the next window begins behind them.
 * *needed is the size of a window that holds the next record, as far as is known; 0 if there is no next one.
 */
CKSUM_HIDDEN size_t pcap_scan(struct pcap_reader *reader, const unsigned char *window, size_t size, bool final,
                              struct pcap_records *records, size_t *needed);

CKSUM_HIDDEN const char *pcap_damage_text(enum pcap_damage damage);

CKSUM_HIDDEN void pcap_free(struct pcap_reader *reader);

#endif
