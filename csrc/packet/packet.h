/*
 * packet.h: where the checksums of a packet lie, what each of them covers, and whether it is right.
 *
 * One parser for everybody: the functions on single packets, the batch over a capture, and the one that fills fields
 * in. It knows no Python and no particular kernel; the kernel comes from the caller.
 *
 * It never reads outside bytes[0..captured), whatever the bytes say, and has no way to fail: what cannot be judged is
 * UNCHECKED, with a reason.
 */
#ifndef CKSUM_PACKET_PACKET_H
#define CKSUM_PACKET_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

/* What carries the checksum: C name, the name that people see. SCTP is listed to say that its CRC32c is not one. */
#define PACKET_LAYERS(X)                                                                                               \
    X(IPV4, "ipv4")                                                                                                    \
    X(TCP, "tcp")                                                                                                      \
    X(UDP, "udp")                                                                                                      \
    X(UDPLITE, "udplite")                                                                                              \
    X(ICMP, "icmp")                                                                                                    \
    X(ICMPV6, "icmpv6")                                                                                                \
    X(IGMP, "igmp")                                                                                                    \
    X(DCCP, "dccp")                                                                                                    \
    X(OSPF, "ospf")                                                                                                    \
    X(GRE, "gre")                                                                                                      \
    X(VRRP, "vrrp")                                                                                                    \
    X(SCTP, "sctp")                                                                                                    \
    X(PIM, "pim")                                                                                                      \
    X(EIGRP, "eigrp")                                                                                                  \
    X(RSVP, "rsvp")                                                                                                    \
    X(MOBILITY, "mobility")                                                                                            \
    X(ICMP_EXTENSION, "icmp_extension")

enum packet_layer {
#define PACKET_LAYER_ID(id, text) PACKET_##id,
    PACKET_LAYERS(PACKET_LAYER_ID)
#undef PACKET_LAYER_ID
        PACKET_LAYER_COUNT
};

/* The verdicts. PARTIAL: the field holds the pseudo-header sum, which the network card would have completed. */
#define PACKET_STATUSES(X)                                                                                             \
    X(GOOD, "good")                                                                                                    \
    X(BAD, "bad")                                                                                                      \
    X(PARTIAL, "partial")                                                                                              \
    X(NONE, "none")                                                                                                    \
    X(UNCHECKED, "unchecked")

enum packet_status {
#define PACKET_STATUS_ID(id, text) PACKET_##id,
    PACKET_STATUSES(PACKET_STATUS_ID)
#undef PACKET_STATUS_ID
        PACKET_STATUS_COUNT
};

/* Why a verdict is what it is, in words; NO_REASON where the verdict says all. */
#define PACKET_REASONS(X)                                                                                              \
    X(NO_REASON, "")                                                                                                   \
    X(FRAGMENT, "fragment: the checksum covers the whole datagram, this is a part of it")                              \
    X(TRUNCATED, "truncated: the capture holds only the first bytes of the packet")                                    \
    X(PAST_END, "length runs past the end of the captured bytes")                                                      \
    X(TOO_SHORT, "length is smaller than the header")                                                                  \
    X(IP_VERSION, "the IP version is neither 4 nor 6")                                                                 \
    X(COVERAGE, "coverage is smaller than the header or larger than the packet")                                       \
    X(ROUTING, "routing header that hides the final destination")                                                      \
    X(VERSION, "a version of the protocol that is not known here")                                                     \
    X(TOO_DEEP, "more checksums in one packet than are followed")                                                      \
    X(CRC32C, "SCTP carries a CRC32c, which is no Internet checksum")                                                  \
    X(NOT_SENT, "zero: the sender made no checksum")                                                                   \
    X(AUTHENTICATED, "cryptographic authentication takes the place of the checksum")                                   \
    X(PSEUDO_SUM, "holds the pseudo-header sum: the rest was left to the network card")                                \
    X(PSEUDO_SUM_NO_LENGTH, "holds the pseudo-header sum without the length: segmentation was left to the card")       \
    X(ZERO_HEADER, "zero: never filled in, perhaps left to the network card")                                          \
    X(ZERO_FORBIDDEN, "zero is not allowed here")                                                                      \
    X(TUNNEL_ZERO, "zero: the sender made no checksum, as tunnels may over IPv6 (RFC 6935)")                           \
    X(DISAGREE, "the header is of another IP version than what stands before it says")                                 \
    X(WITH_PSEUDO, "summed with a pseudo header, as RFC 5798 could be read; RFC 9568 leaves it out over IPv4")         \
    X(WHOLE_REGISTER, "covers the whole Register message, as some routers do (RFC 7761 section 4.9)")                  \
    X(OFFLOADED, "right once the network card completes the checksum inside (local checksum offload)")

enum packet_reason {
#define PACKET_REASON_ID(id, text) PACKET_##id,
    PACKET_REASONS(PACKET_REASON_ID)
#undef PACKET_REASON_ID
        PACKET_REASON_COUNT
};

/* What a packet may start with: C name, its number in a capture file (LINKTYPE_ or DLT_), the step of the walk. */
#define PACKET_LINKS(X)                                                                                                \
    X(NULL, 0, packet_bsd_loopback)                                                                                    \
    X(ETHERNET, 1, packet_ethernet)                                                                                    \
    X(TOKEN_RING, 6, packet_token_ring)                                                                                \
    X(ARCNET, 7, packet_arcnet)                                                                                        \
    X(PPP, 9, packet_ppp_or_cisco_hdlc)                                                                                \
    X(FDDI, 10, packet_fddi)                                                                                           \
    X(DLT_ATM_RFC1483, 11, packet_llc)                                                                                 \
    X(DLT_RAW, 12, packet_ip)                                                                                          \
    X(DLT_RAW_OPENBSD, 14, packet_ip)                                                                                  \
    X(PPP_HDLC, 50, packet_ppp_or_cisco_hdlc)                                                                          \
    X(PPPOE, 51, packet_pppoe)                                                                                         \
    X(ATM_RFC1483, 100, packet_llc)                                                                                    \
    X(RAW, 101, packet_ip)                                                                                             \
    X(CISCO_HDLC, 104, packet_cisco_hdlc)                                                                              \
    X(IEEE802_11, 105, packet_ieee80211)                                                                               \
    X(FRAME_RELAY, 107, packet_frame_relay)                                                                            \
    X(LOOP, 108, packet_bsd_loopback)                                                                                  \
    X(LINUX_SLL, 113, packet_linux_sll)                                                                                \
    X(PFLOG, 117, packet_pflog)                                                                                        \
    X(IEEE802_11_PRISM, 119, packet_prism)                                                                             \
    X(IEEE802_11_RADIOTAP, 127, packet_radiotap)                                                                       \
    X(ARCNET_LINUX, 129, packet_arcnet_linux)                                                                          \
    X(DLT_PKTAP, 149, packet_pktap)                                                                                    \
    X(IEEE802_11_AVS, 163, packet_prism)                                                                               \
    X(PPI, 192, packet_ppi)                                                                                            \
    X(PPP_WITH_DIRECTION, 204, packet_ppp_with_direction)                                                              \
    X(IPNET, 226, packet_ipnet)                                                                                        \
    X(IPV4, 228, packet_ipv4)                                                                                          \
    X(IPV6, 229, packet_ipv6)                                                                                          \
    X(NFLOG, 239, packet_nflog)                                                                                        \
    X(IPOIB, 242, packet_ipoib)                                                                                        \
    X(PKTAP, 258, packet_pktap)                                                                                        \
    X(LINUX_SLL2, 276, packet_linux_sll2)

enum packet_link {
#define PACKET_LINK_ID(id, number, step) PACKET_LINK_##id = (number),
    PACKET_LINKS(PACKET_LINK_ID)
#undef PACKET_LINK_ID
};

/*
 * Why nothing of a packet was judged: C name, words, base of the number that belongs to it (0: none).
 *
 * One is a uint32_t: the kind in the upper 16 bits, the number in the lower ones. 0: something was judged.
 */
#define PACKET_SILENCES(X)                                                                                             \
    X(JUDGED, "", 0)                                                                                                   \
    X(UNCHECKED, "", 0) /* the number is an enum packet_reason */                                                      \
    X(LINK_TYPE, "link type", 10)                                                                                      \
    X(ETHERTYPE, "ethertype", 16)                                                                                      \
    X(LLC, "LLC service access points", 16)                                                                            \
    X(PPP_PROTOCOL, "PPP protocol", 16)                                                                                \
    X(FAMILY, "address family", 10)                                                                                    \
    X(FRAME_RELAY, "frame relay protocol", 16)                                                                         \
    X(ARCNET, "ARCnet type", 10)                                                                                       \
    X(NEXT_HEADER, "next header", 10)                                                                                  \
    X(UNTOLD, "a tunnel that does not say what it carries, neither IP nor Ethernet", 0)                                \
    X(CONTROL, "a message that carries no packet", 0)                                                                  \
    X(ENCRYPTED, "encrypted", 0)                                                                                       \
    X(CUT_OFF, "cut off, or lengths that make no sense, before any checksum", 0)                                       \
    X(OTHER, "other reasons", 0)

enum packet_silence_kind {
#define PACKET_SILENCE_ID(id, words, base) PACKET_SILENT_##id,
    PACKET_SILENCES(PACKET_SILENCE_ID)
#undef PACKET_SILENCE_ID
};

/*
 * One checksum of a packet. Offsets count from the first byte of the packet. It covers bytes[start..start+length),
 * less hole_length bytes at hole, and the pseudo header whose folded raw sum is pseudo (0: none).
 */
struct packet_check {
    uint8_t layer;       /* enum packet_layer */
    uint8_t status;      /* enum packet_status */
    uint8_t reason;      /* enum packet_reason */
    uint8_t protocol;    /* IP protocol number; for IPV4 that of the payload */
    uint8_t ip_version;  /* of the header at ip: 4, 6, or 0 where there is none */
    bool has_field;      /* bytes[field] and the next one are there and are the checksum field */
    bool covered;        /* start, length, hole and pseudo hold: the right value can be computed */
    bool pending;        /* found by packet_find, not judged yet */
    bool zero_says_none; /* a field of 0 says that there is none: where 0 is asked for, 0xffff is right */
    bool guessed;        /* found behind a header that does not say what follows it: other bytes, another guess */
    uint16_t pseudo;
    uint16_t pseudo_length; /* what the length adds to pseudo, folded, as a raw sum */
    uint16_t offloaded;     /* what the sums inside add once the card has completed them; 0 unless OFFLOADED */
    uint32_t ip;            /* where the IP header is whose addresses count */
    uint32_t field;
    uint32_t start;
    uint32_t length;
    uint32_t other_length; /* what some cover instead, 0 if there is no other way */
    uint32_t hole;         /* from the start of the packet; even distance from start */
    uint32_t hole_length;
};

/* More than any sane packet has: 8 tunnels one inside the other, with a checksum in each header. */
#define PACKET_MAX_CHECKS 24

/* Packets longer than this are cut: 2 GiB, four thousand times the largest that a network stack hands out. */
#define PACKET_MAX_BYTES 0x7fffffffu

/* Whether packets of this link type are understood. */
CKSUM_HIDDEN bool packet_link_known(unsigned link);

/*
 * Finds the checksums of a packet of which `captured` bytes are there and which had `original` bytes on the wire, the
 * outermost first; writes at most PACKET_MAX_CHECKS and returns how many. Sums nothing: each is pending, UNCHECKED or
 * NONE. *end says why the walk ended, as a silence.
 */
CKSUM_HIDDEN unsigned packet_find(const unsigned char *bytes, size_t captured, size_t original, unsigned link,
                                  struct packet_check *checks, uint32_t *end);

/* Judges the pending ones of all checks of a packet; any other is left as it is. */
CKSUM_HIDDEN void packet_judge(cksum_fn *fn, const unsigned char *bytes, struct packet_check *checks, unsigned n);

/*
 * Finds and judges. *silence: why nothing was judged; 0 if a check is GOOD, BAD, PARTIAL or NONE.
 */
CKSUM_HIDDEN unsigned packet_verify(cksum_fn *fn, const unsigned char *bytes, size_t captured, size_t original,
                                    unsigned link, struct packet_check *checks, uint32_t *silence);

/* A silence in words, at most PACKET_SILENCE_TEXT bytes with the last 0. */
#define PACKET_SILENCE_TEXT 128
CKSUM_HIDDEN void packet_silence_text(uint32_t silence, char text[PACKET_SILENCE_TEXT]);

/*
 * The field as it stands, and as it should be, as numbers in network order. The first needs has_field, the second
 * covered.
 */
CKSUM_HIDDEN uint16_t packet_found(const unsigned char *bytes, const struct packet_check *check);
CKSUM_HIDDEN uint16_t packet_expected(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check);

/* Writes every field that can be computed, the innermost first. Returns how many of them that changes. */
CKSUM_HIDDEN unsigned packet_fill(cksum_fn *fn, unsigned char *bytes, size_t captured, unsigned link);

/* The folded raw sum of the pseudo header (RFC 768, RFC 8200 section 8.1); version is 4 or 6. */
CKSUM_HIDDEN uint16_t packet_pseudo_header(unsigned version, const unsigned char *src, const unsigned char *dst,
                                           unsigned protocol, uint32_t length);

/* A verdict in one byte: layer and status. */
#define PACKET_CODE(layer, status) ((uint8_t)((layer) << 3 | (status)))

CKSUM_INLINE uint8_t packet_code(const struct packet_check *check)
{
    return PACKET_CODE(check->layer, check->status);
}

/* ---- many packets: verdicts.c ---- */

/* Reasons for silence that are told apart in one batch; the last is PACKET_SILENT_OTHER where there are more. */
#define PACKET_MAX_SILENCES 64

/* Packets of one buffer, as columns, and what is known of them afterwards. */
struct packet_batch {
    const unsigned char *data;
    size_t size;
    const int64_t *offsets;
    const uint32_t *lengths;
    const uint32_t *originals;
    const uint16_t *links;
    size_t n;
    unsigned char *per_packet; /* checks of each packet */
    uint64_t *counts;          /* of each code; go up by what is found */
    unsigned char *codes;      /* of all checks, from malloc; the caller frees it, also after a failure */
    size_t n_codes;
    size_t room;    /* bytes at codes */
    size_t unknown; /* packets of link types that are not understood */
    struct {
        uint32_t silence;
        uint64_t packets;
    } silences[PACKET_MAX_SILENCES]; /* why nothing was judged, and of how many packets */
    size_t n_silences;
    size_t bad_index;
    int64_t bad_offset;
    uint32_t bad_length;
};

/* What ended a batch. */
enum packet_batch_end { PACKET_BATCH_WHOLE, PACKET_BATCH_BAD_SPAN, PACKET_BATCH_NO_MEMORY };

/*
 * Where packet i is, read once: another thread may change the columns. Whether it lies in the data; if it doesn't, the
 * batch says which one that is.
 */
CKSUM_INLINE bool packet_take_span(struct packet_batch *batch, size_t i, size_t *offset, uint32_t *length)
{
    const int64_t start = batch->offsets[i];
    *offset = (size_t)start;
    *length = batch->lengths[i];
    if (start < 0 || (uint64_t)start > batch->size || *length > batch->size - (uint64_t)start) {
        batch->bad_index = i;
        batch->bad_offset = start;
        batch->bad_length = *length;
        return false;
    }
    return true;
}

/* Counts a packet of which nothing was judged. */
CKSUM_HIDDEN void packet_count_silence(struct packet_batch *batch, uint32_t silence);

/* Judges all packets. Each span is checked on a copy right before its use: another thread may change the columns. */
CKSUM_HIDDEN enum packet_batch_end packet_verify_batch(cksum_fn *fn, struct packet_batch *batch);

#endif
