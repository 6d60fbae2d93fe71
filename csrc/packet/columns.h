/*
 * columns.h: the verdicts on a batch of packets as columns, one row a checksum.
 */
#ifndef CKSUM_PACKET_COLUMNS_H
#define CKSUM_PACKET_COLUMNS_H

#include "packet/packet.h"

/* C name of a column, type of an item, items a row. The names are what people see. */
#define PACKET_COLUMNS(X)                                                                                              \
    X(packet, int64_t, 1)     /* from 0 */                                                                             \
    X(frame, int64_t, 1)      /* Wireshark's number, from 1 */                                                         \
    X(time, int64_t, 1)       /* nanoseconds since 1970 */                                                             \
    X(layer, uint8_t, 1)      /* enum packet_layer */                                                                  \
    X(status, uint8_t, 1)     /* enum packet_status */                                                                 \
    X(reason, uint8_t, 1)     /* enum packet_reason */                                                                 \
    X(ip_version, uint8_t, 1) /* 4, 6, or 0: no addresses */                                                           \
    X(protocol, uint8_t, 1)   /* of IP */                                                                              \
    X(src, unsigned char, 16) /* IPv4 as ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2); all zero where there is none */    \
    X(dst, unsigned char, 16)                                                                                          \
    X(src_port, int32_t, 1) /* -1: none, here and below */                                                             \
    X(dst_port, int32_t, 1)                                                                                            \
    X(found, int32_t, 1) /* the field as it stands, a number in network order */                                       \
    X(expected, int32_t, 1)                                                                                            \
    X(offset, int32_t, 1) /* of the field, from the first byte of the packet */

struct packet_columns {
#define PACKET_COLUMN_MEMBER(name, type, items) type *name;
    PACKET_COLUMNS(PACKET_COLUMN_MEMBER)
#undef PACKET_COLUMN_MEMBER
    size_t room; /* rows */
    size_t n;
};

/* What goes with a batch that was judged: all of it as long as the batch, and codes as long as the batch says. */
struct packet_judged {
    struct packet_batch batch; /* per_packet and codes are read; counts is not used */
    const int64_t *times;
    const int64_t *frames;
    int64_t first_packet;        /* number of the batch's first packet */
    const unsigned char *wanted; /* 256: whether rows of this code are */
};

/* The columns were filled; batch.bad_index's packet has other checksums than it had, or lies outside; no room. */
enum packet_fill_end { PACKET_COLUMNS_WHOLE, PACKET_COLUMNS_CHANGED, PACKET_COLUMNS_NO_ROOM };

/* Writes a row for each checksum of the batch whose code is wanted. Packets without one are not looked at. */
CKSUM_HIDDEN enum packet_fill_end packet_fill_columns(cksum_fn *fn, struct packet_judged *judged,
                                                      struct packet_columns *columns);

/*
 * Numbers the different addresses of a column in the order in which they first occur; codes: the number of each row, -1
 * where the version is 0. rows[k]: a row with address k; from malloc, the caller frees it. Returns how many addresses
 * there are, or SIZE_MAX where there is no memory.
 */
CKSUM_HIDDEN size_t packet_encode_addresses(const unsigned char *addresses, const uint8_t *versions, size_t n,
                                            int32_t *codes, int64_t **rows);

#endif
