/* link.c: what lies before IP: Ethernet and its tags, MPLS, PPP, loopback and cooked captures. */
#include "packet/walk.h"

/* An Ethernet type from here on; up to here the length of a frame of IEEE 802.3. */
#define LARGEST_802_3_LENGTH 1500

static struct next llc(struct walk *w)
{
    if (!packet_have(w, 3)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    if (header[0] == 0x06 && header[1] == 0x06 && header[2] == 0x03) {
        w->at += 3;
        return (struct next){packet_ip};
    }
    if (!packet_have(w, 8) || header[0] != 0xaa || header[1] != 0xaa || header[2] != 0x03) {
        return PACKET_STOP;
    }
    const uint32_t organisation = packet_be32(header + 2) & 0xffffff;
    if (organisation != 0 && organisation != 0x0000f8) { /* the second: bridges that carry Ethernet types (802.1H) */
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(header + 6);
    w->at += 8;
    return w->ethertype > LARGEST_802_3_LENGTH ? packet_follow_ethertype(w) : PACKET_STOP;
}

/* MPLS labels up to the bottom of the stack; only IP is followed, told by its first nibble. */
static struct next mpls(struct walk *w)
{
    while (packet_have(w, 4)) {
        const bool bottom = packet_here(w)[2] & 1;
        w->at += 4;
        if (bottom) {
            const unsigned version = packet_have(w, 1) ? *packet_here(w) >> 4 : 0;
            return version == 4 || version == 6 ? (struct next){packet_ip} : PACKET_STOP;
        }
    }
    return PACKET_STOP;
}

/* A tag of four bytes: what it says, and the type of what follows. */
static struct next vlan(struct walk *w)
{
    if (!packet_have(w, 4)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + 2);
    w->at += 4;
    return packet_follow_ethertype(w);
}

/* What follows an Ethernet type, the most frequent first. */
static const struct {
    uint16_t ethertype;
    struct next next;
} ethertypes[] = {
    {ETHERTYPE_IPV4, {packet_ip}},
    {ETHERTYPE_IPV6, {packet_ip}},
    {0x8100, {vlan}},
    {0x88a8, {vlan}},
    {0x9100, {vlan}},
    {0x9200, {vlan}},
    {0x8847, {mpls}},
    {0x8848, {mpls}},
    {0x8864, {packet_pppoe}},
    {0x880b, {packet_ppp}},
    {0x6558, {packet_ethernet}},
};

struct next packet_follow_ethertype(struct walk *w)
{
    for (size_t i = 0; i < sizeof ethertypes / sizeof ethertypes[0]; i++) {
        if (ethertypes[i].ethertype == w->ethertype) {
            return ethertypes[i].next;
        }
    }
    if (w->ethertype > LARGEST_802_3_LENGTH) {
        return PACKET_STOP;
    }
    packet_cut_to(w, w->ethertype); /* padding lies behind */
    return (struct next){llc};
}

struct next packet_ethernet(struct walk *w)
{
    if (!packet_have(w, 14)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + 12);
    w->at += 14;
    return packet_follow_ethertype(w);
}

struct next packet_cisco_hdlc(struct walk *w)
{
    if (!packet_have(w, 4)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + 2);
    w->at += 4;
    return w->ethertype > LARGEST_802_3_LENGTH ? packet_follow_ethertype(w) : PACKET_STOP;
}

struct next packet_linux_sll(struct walk *w)
{
    if (!packet_have(w, 16)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + 14);
    w->at += 16;
    if (w->ethertype == 0x0004) { /* the kernel's own number for a frame that starts with LLC */
        return (struct next){llc};
    }
    return w->ethertype > LARGEST_802_3_LENGTH ? packet_follow_ethertype(w) : PACKET_STOP;
}

struct next packet_linux_sll2(struct walk *w)
{
    if (!packet_have(w, 20)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w));
    w->at += 20;
    if (w->ethertype == 0x0004) {
        return (struct next){llc};
    }
    return w->ethertype > LARGEST_802_3_LENGTH ? packet_follow_ethertype(w) : PACKET_STOP;
}

/* Four bytes of address family, in the byte order of whoever captured; each system has its own number for IPv6. */
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
    switch (family) {
    case 2: /* IPv4 everywhere */
        w->ethertype = ETHERTYPE_IPV4;
        return (struct next){packet_ip};
    case 10: /* IPv6 on Linux */
    case 24: /* NetBSD, OpenBSD */
    case 28: /* FreeBSD */
    case 30: /* macOS */
        w->ethertype = ETHERTYPE_IPV6;
        return (struct next){packet_ip};
    default:
        return PACKET_STOP;
    }
}

/* What follows a PPP protocol number. */
static const struct {
    uint16_t protocol;
    uint16_t ethertype;
} ppp_protocols[] = {
    {0x0021, ETHERTYPE_IPV4},
    {0x0057, ETHERTYPE_IPV6},
    {0x0281, ETHERTYPE_MPLS},
    {0x0283, ETHERTYPE_MPLS},
};

/* PPP with or without address and control bytes, with a protocol of two bytes or a compressed one of one. */
struct next packet_ppp(struct walk *w)
{
    if (packet_have(w, 2) && packet_be16(packet_here(w)) == 0xff03) {
        w->at += 2;
    }
    if (!packet_have(w, 1)) {
        return PACKET_STOP;
    }
    uint16_t protocol = *packet_here(w);
    if (protocol & 1) {
        w->at += 1;
    } else if (packet_have(w, 2)) {
        protocol = packet_be16(packet_here(w));
        w->at += 2;
    }
    for (size_t i = 0; i < sizeof ppp_protocols / sizeof ppp_protocols[0]; i++) {
        if (ppp_protocols[i].protocol == protocol) {
            w->ethertype = ppp_protocols[i].ethertype;
            return packet_follow_ethertype(w);
        }
    }
    return PACKET_STOP;
}

/* A byte says who sent what follows. */
struct next packet_ppp_with_direction(struct walk *w)
{
    w->at += 1;
    return (struct next){packet_ppp};
}

/* Both are captured under one number: the first bytes of Cisco HDLC are no PPP. */
struct next packet_ppp_or_cisco_hdlc(struct walk *w)
{
    const unsigned first = packet_have(w, 1) ? *packet_here(w) : 0;
    return (struct next){first == 0x0f || first == 0x8f ? packet_cisco_hdlc : packet_ppp};
}

struct next packet_pppoe(struct walk *w)
{
    if (!packet_have(w, 6) || packet_here(w)[0] != 0x11 ||
        packet_here(w)[1] != 0) { /* version 1, type 1, session data */
        return PACKET_STOP;
    }
    const uint16_t length = packet_be16(packet_here(w) + 4);
    w->at += 6;
    packet_cut_to(w, length);
    return (struct next){packet_ppp};
}
