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
    if (header[0] != 0xaa || header[1] != 0xaa || header[2] != 0x03) {
        return packet_stop(w, PACKET_SILENT_LLC, packet_be16(header));
    }
    if (!packet_have(w, 8)) {
        return PACKET_STOP;
    }
    const uint32_t organisation = packet_be32(header + 2) & 0xffffff;
    if (organisation != 0 && organisation != 0x0000f8) { /* the second: bridges that carry Ethernet types (802.1H) */
        return packet_stop(w, PACKET_SILENT_LLC, packet_be16(header));
    }
    w->ethertype = packet_be16(header + 6);
    w->at += 8;
    return packet_follow_type(w);
}

/*
 * What stands behind the last label (RFC 4385, RFC 8469): IP, or Ethernet with a control word of four bytes or without.
 */
static struct next behind_labels(struct walk *w)
{
    const bool control_word = packet_have(w, 1) && *packet_here(w) >> 4 == 0;
    const enum packet_evidence ip = packet_is_ip(w, 0);
    if (ip == PACKET_STRONG_EVIDENCE) {
        return (struct next){packet_ip};
    }
    if (control_word && packet_is_ethernet(w, 4)) {
        w->at += 4;
        return (struct next){packet_ethernet};
    }
    if (packet_is_ethernet(w, 0)) {
        return (struct next){packet_ethernet};
    }
    if (control_word && packet_is_ip(w, 4) != PACKET_NO_EVIDENCE) {
        w->at += 4;
        return (struct next){packet_ip};
    }
    return ip == PACKET_WEAK_EVIDENCE ? (struct next){packet_ip} : packet_stop(w, PACKET_SILENT_MPLS, 0);
}

/* MPLS labels up to the bottom of the stack (RFC 3032). */
static struct next mpls(struct walk *w)
{
    while (packet_have(w, 4)) {
        const bool bottom = packet_here(w)[2] & 1;
        w->at += 4;
        if (bottom) {
            return behind_labels(w);
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
    {ETHERTYPE_IPV4, {packet_ipv4}},
    {ETHERTYPE_IPV6, {packet_ipv6}},
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
        return packet_stop(w, PACKET_SILENT_ETHERTYPE, w->ethertype);
    }
    packet_cut_to(w, w->ethertype); /* padding lies behind */
    return (struct next){llc};
}

struct next packet_follow_type(struct walk *w)
{
    return w->ethertype > LARGEST_802_3_LENGTH ? packet_follow_ethertype(w)
                                               : packet_stop(w, PACKET_SILENT_ETHERTYPE, w->ethertype);
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
    return packet_follow_type(w);
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
        return (struct next){llc};
    }
    return packet_follow_type(w);
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
    if (family > LARGEST_802_3_LENGTH && family <= 0xffff) {
        w->ethertype = (uint16_t)family;
        return packet_follow_ethertype(w);
    }
    return follow_family(w, family);
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
    return packet_stop(w, PACKET_SILENT_PPP_PROTOCOL, protocol);
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
