/* captured.c: headers that no wire has seen, which those who capture put before a packet. */
#include "packet/walk.h"

static uint16_t le16(const unsigned char *p)
{
    return (uint16_t)(p[1] << 8 | p[0]);
}

static uint32_t le32(const unsigned char *p)
{
    return (uint32_t)le16(p + 2) << 16 | le16(p);
}

/* Takes n bytes off the end of the packet, which are none of its own. */
static void drop_from_end(struct walk *w, uint64_t n)
{
    if (w->at <= w->end && n <= w->end - w->at) {
        w->end -= n;
    }
}

/* What follows an address family; each system has its own number for IPv6. */
static struct next follow_family(struct walk *w, uint32_t family)
{
    switch (family) {
    case 2: /* IPv4 everywhere */
        return (struct next){packet_ipv4};
    case 10: /* IPv6 on Linux */
    case 24: /* NetBSD, OpenBSD, Npcap */
    case 28: /* FreeBSD */
    case 30: /* macOS */
        return (struct next){packet_ipv6};
    default:
        return packet_stop(w, PACKET_SILENT_FAMILY, family);
    }
}

/* Four bytes of address family or Ethernet type, in the byte order of whoever captured. */
struct next packet_bsd_loopback(struct walk *w)
{
    if (!packet_have(w, 4)) {
        return PACKET_STOP;
    }
    uint32_t family = packet_be32(packet_here(w));
    if (family & 0xffff0000u) {
        family = __builtin_bswap32(family);
    }
    w->at += 4;
    if (family > PACKET_LARGEST_LENGTH && family <= 0xffff) {
        w->ethertype = (uint16_t)family;
        return packet_follow_ethertype(w);
    }
    return follow_family(w, family);
}

struct next packet_linux_sll(struct walk *w)
{
    if (!packet_have(w, 16)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + 14);
    w->at += 16;
    if (w->ethertype == 0x0004) { /* the kernel's own number for a frame that starts with LLC */
        return (struct next){packet_llc};
    }
    return packet_follow_type(w);
}

struct next packet_linux_sll2(struct walk *w)
{
    if (!packet_have(w, 20)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w));
    w->at += 20;
    if (w->ethertype == 0x0004) {
        return (struct next){packet_llc};
    }
    return packet_follow_type(w);
}

/*
 * Linux' NFLOG: address family, version, resource, then fields of length, type and value in the byte order of whoever
 * captured. No type is 0 or above 255, so that one of its two bytes is 0 and tells the order. The packet is of type 9.
 */
struct next packet_nflog(struct walk *w)
{
    const unsigned family = packet_have(w, 4) ? *packet_here(w) : 0;
    w->at += 4;
    while (packet_have(w, 4)) {
        const unsigned char *field = packet_here(w);
        const bool little = field[2] != 0;
        const unsigned length = little ? le16(field) : packet_be16(field);
        if (length < 4) {
            return PACKET_STOP;
        }
        if ((little ? field[2] : field[3]) == 9) {
            w->at += 4;
            packet_cut_to(w, length - 4);
            return family == 2 || family == 10 ? follow_family(w, family) : (struct next){packet_ip};
        }
        w->at += (length + 3u) & ~3u;
    }
    return PACKET_STOP;
}

/* OpenBSD's packet filter: its header says its length, less what makes it a multiple of 4, and the address family. */
struct next packet_pflog(struct walk *w)
{
    if (!packet_have(w, 2)) {
        return PACKET_STOP;
    }
    const unsigned length = packet_here(w)[0], family = packet_here(w)[1];
    w->at += (length + 3u) & ~3u;
    return follow_family(w, family);
}

/* Solaris' ipnet, 24 bytes with the length of what follows; 26 is its own number for IPv6. */
struct next packet_ipnet(struct walk *w)
{
    if (!packet_have(w, 24)) {
        return PACKET_STOP;
    }
    const unsigned family = packet_here(w)[1];
    const uint32_t length = packet_be32(packet_here(w) + 4);
    w->at += 24;
    packet_cut_to(w, length);
    return family == 26 ? (struct next){packet_ipv6} : follow_family(w, family);
}

/* macOS: the header says its own length, the link type of what follows, and the length of a trailer. */
struct next packet_pktap(struct walk *w)
{
    if (!packet_have(w, 52)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const uint32_t length = le32(header), link = le32(header + 8), trailer = le32(header + 48);
    if (length < 52) {
        return PACKET_STOP;
    }
    w->at += length;
    drop_from_end(w, trailer);
    return packet_follow_link(w, link);
}

/* Per-packet information: fields, of which the one of 802.11 says whether the packet ends in a check sequence. */
struct next packet_ppi(struct walk *w)
{
    if (!packet_have(w, 8) || *packet_here(w) != 0) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned length = le16(header + 2);
    const uint32_t link = le32(header + 4);
    unsigned fcs = 0;
    if (length < 8 || !packet_have(w, length)) {
        return PACKET_STOP;
    }
    for (unsigned at = 8; at + 4 <= length;) {
        const unsigned type = le16(header + at), size = le16(header + at + 2);
        if (type == 2 && size >= 10 && at + 14 <= length) {
            fcs = le16(header + at + 12) & 1 ? 4 : 0;
        }
        at += 4 + size;
    }
    w->at += length;
    drop_from_end(w, fcs);
    return packet_follow_link(w, link);
}

/*
 * Radiotap: words that say which fields are there; of the fields only the flags count, behind 8 bytes of time if
 * any.
 */
struct next packet_radiotap(struct walk *w)
{
    if (!packet_have(w, 8) || *packet_here(w) != 0) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned length = le16(header + 2);
    const uint32_t present = le32(header + 4);
    if (length < 8 || !packet_have(w, length)) {
        return PACKET_STOP;
    }
    unsigned at = 4;
    while (at + 4 <= length && header[at + 3] & 0x80) { /* more words */
        at += 4;
    }
    at += 4;
    at = present & 1 ? ((at + 7u) & ~7u) + 8 : at;
    const unsigned flags = present & 2 && at < length ? header[at] : 0;
    w->at += length;
    w->padded = flags & 0x20;
    drop_from_end(w, flags & 0x10 ? 4 : 0);
    return (struct next){packet_ieee80211};
}

/* The headers of old wireless drivers: AVS, in network order, or Prism, in that of the host. */
struct next packet_prism(struct walk *w)
{
    if (!packet_have(w, 8)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const bool big = header[0] == 0x80 || header[0] == 0;
    w->at += big ? packet_be32(header + 4) : le32(header + 4);
    return (struct next){packet_ieee80211};
}
