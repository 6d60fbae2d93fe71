/* link.c: what lies before IP: Ethernet and its tags, MPLS, PPP, loopback and cooked captures. */
#include "packet/walk.h"

/* Organisation and type (IEEE 802); `skip` bytes stand before a bridged frame. */
static struct next snap(struct walk *w, unsigned skip)
{
    if (!packet_have(w, 5)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const uint32_t organisation = packet_be32(header) >> 8;
    w->ethertype = packet_be16(header + 3);
    w->at += 5;
    if (organisation == 0 || organisation == 0x0000f8) { /* the second: bridges that carry Ethernet types (802.1H) */
        return packet_follow_type(w);
    }
    if (organisation == 0x0080c2 && (w->ethertype == 1 || w->ethertype == 7)) { /* RFC 2427, RFC 2684 */
        w->at += skip;
        return (struct next){packet_ethernet};
    }
    return packet_stop(w, PACKET_SILENT_LLC, 0xaaaa);
}

/* IEEE 802.2. */
struct next packet_llc(struct walk *w)
{
    if (!packet_have(w, 3)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned points = packet_be16(header);
    if ((points != 0xaaaa && points != 0x0606) || header[2] != 0x03) {
        return packet_stop(w, PACKET_SILENT_LLC, points);
    }
    w->at += 3;
    return points == 0xaaaa ? snap(w, 2) : (struct next){packet_ip};
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
    return ip == PACKET_WEAK_EVIDENCE ? (struct next){packet_ip} : packet_stop(w, PACKET_SILENT_UNTOLD, 0);
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

/* A tag of this many bytes, the last two of which are the type of what follows. */
static struct next tag(struct walk *w, unsigned bytes)
{
    if (!packet_have(w, bytes)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + bytes - 2);
    w->at += bytes;
    return packet_follow_ethertype(w);
}

static struct next vlan(struct walk *w)
{
    return tag(w, 4);
}

/* IEEE 802.1BR. */
static struct next e_tag(struct walk *w)
{
    return tag(w, 8);
}

/* Cisco's VN-tag, the tag of HSR (IEC 62439-3), and the redundancy tag of IEEE 802.1CB. */
static struct next tag_of_6(struct walk *w)
{
    return tag(w, 6);
}

/* Cisco metadata: version, length in words of 4 bytes, options. */
static struct next cisco_metadata(struct walk *w)
{
    return packet_have(w, 2) ? tag(w, 4 + 4u * packet_here(w)[1]) : PACKET_STOP;
}

/* The service tag of IEEE 802.1ah, then a frame with its own addresses. */
static struct next i_tag(struct walk *w)
{
    w->at += 4;
    return (struct next){packet_ethernet};
}

/* Cisco's FabricPath: outer addresses, a tag of two bytes, then a frame with its own addresses. */
static struct next fabric_path(struct walk *w)
{
    w->at += 2;
    return (struct next){packet_ethernet};
}

/* A time stamp of 48 or 64 bits that Arista's switches put in; version and subtype before it. */
static struct next arista_time(struct walk *w)
{
    if (!packet_have(w, 4)) {
        return PACKET_STOP;
    }
    const unsigned subtype = packet_be16(packet_here(w)), version = packet_here(w)[3];
    if (subtype != 1 || (version != 0x10 && version != 0x20)) {
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
    }
    return tag(w, version == 0x10 ? 14 : 12);
}

/* MACsec (IEEE 802.1AE) with integrity alone: a tag, the data in the clear, a check value of 16 bytes. */
static struct next macsec(struct walk *w)
{
    if (!packet_have(w, 6)) {
        return PACKET_STOP;
    }
    const unsigned flags = packet_here(w)[0], said = packet_here(w)[1] & 63u;
    if (flags & 0x8c) { /* another version, encrypted, or changed */
        return packet_stop(w, PACKET_SILENT_ENCRYPTED, 0);
    }
    w->at += flags & 0x20 ? 14 : 6;
    if (w->at + 16 > w->end) {
        return PACKET_STOP;
    }
    packet_cut_to(w, said != 0 ? said : w->end - w->at - 16); /* said where it is short: padding lies behind */
    return tag(w, 2);
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
    {ETHERTYPE_MPLS, {mpls}},
    {0x8848, {mpls}},
    {0x8864, {packet_pppoe}},
    {0x880b, {packet_ppp}},
    {ETHERTYPE_BRIDGING, {packet_ethernet}},
    {0x88e7, {i_tag}},
    {0x88e5, {macsec}},
    {0x8903, {fabric_path}},
    {0x8909, {cisco_metadata}},
    {0x8926, {tag_of_6}},
    {0x892f, {tag_of_6}},
    {0xd28b, {arista_time}},
    {0xf1c1, {tag_of_6}},
    {0x893f, {e_tag}},
    {ETHERTYPE_NSH, {packet_nsh}},
};

struct next packet_follow_ethertype(struct walk *w)
{
    for (size_t i = 0; i < sizeof ethertypes / sizeof ethertypes[0]; i++) {
        if (ethertypes[i].ethertype == w->ethertype) {
            return ethertypes[i].next;
        }
    }
    if (w->ethertype > PACKET_LARGEST_LENGTH) {
        return packet_stop(w, PACKET_SILENT_ETHERTYPE, w->ethertype);
    }
    packet_cut_to(w, w->ethertype); /* padding lies behind */
    return (struct next){packet_llc};
}

struct next packet_follow_type(struct walk *w)
{
    return w->ethertype > PACKET_LARGEST_LENGTH ? packet_follow_ethertype(w)
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

/* FDDI, of which frames with LLC in them are followed. */
struct next packet_fddi(struct walk *w)
{
    if (!packet_have(w, 13) || (*packet_here(w) & 0x70) != 0x50) {
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
    }
    w->at += 13;
    return (struct next){packet_llc};
}

/* Token ring: a source route, if the highest bit of the source address says so, stands before LLC. */
struct next packet_token_ring(struct walk *w)
{
    if (!packet_have(w, 16) || (packet_here(w)[1] & 0xc0) != 0x40) {
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
    }
    w->at += packet_here(w)[8] & 0x80 ? 14 + (packet_here(w)[14] & 0x1fu) : 14;
    return (struct next){packet_llc};
}

/* Frame relay: an address of 2 to 4 bytes, then a protocol number (RFC 2427), or an Ethernet type as Cisco has it. */
struct next packet_frame_relay(struct walk *w)
{
    unsigned length = 0;
    while (packet_have(w, length + 1) && !(packet_here(w)[length] & 1) && length < 3) {
        length++;
    }
    w->at += length + 1;
    if (!packet_have(w, 2)) {
        return PACKET_STOP;
    }
    if (*packet_here(w) != 0x03) {
        return tag(w, 2);
    }
    w->at += packet_here(w)[1] == 0 ? 2 : 1; /* a byte of padding */
    const unsigned protocol = packet_have(w, 1) ? *packet_here(w) : 0;
    w->at += 1;
    switch (protocol) {
    case 0x80:
        return snap(w, 0);
    case 0x8e:
        return (struct next){packet_ipv6};
    case 0xcc:
        return (struct next){packet_ipv4};
    case 0xcf:
        return (struct next){packet_ppp};
    default:
        return packet_stop(w, PACKET_SILENT_FRAME_RELAY, protocol);
    }
}

/*
 * ARCnet (RFC 1201): what a type byte names, and behind it a flag of 0 for a packet in one piece and a number of
 * 2 bytes.
 */
static struct next arcnet(struct walk *w, unsigned type_at)
{
    if (!packet_have(w, type_at + 4)) {
        return PACKET_STOP;
    }
    const unsigned type = packet_here(w)[type_at], flag = packet_here(w)[type_at + 1];
    w->at += type_at + (type == 240 ? 1 : 4); /* RFC 1051 has the type alone */
    if (type == 240 || (type == 212 && flag == 0)) {
        return (struct next){packet_ipv4};
    }
    return type == 196 && flag == 0 ? (struct next){packet_ipv6} : packet_stop(w, PACKET_SILENT_ARCNET, type);
}

struct next packet_arcnet(struct walk *w)
{
    return arcnet(w, 2);
}

struct next packet_arcnet_linux(struct walk *w)
{
    return arcnet(w, 4);
}

/* IP over InfiniBand: 40 bytes of addresses, then an Ethernet type and two bytes (RFC 4391). */
struct next packet_ipoib(struct walk *w)
{
    if (!packet_have(w, 44)) {
        return PACKET_STOP;
    }
    w->ethertype = packet_be16(packet_here(w) + 40);
    w->at += 44;
    return packet_follow_type(w);
}

/* Frames of IEEE 802.11 with data in the clear: addresses, perhaps a fourth, quality of service, high throughput. */
struct next packet_ieee80211(struct walk *w)
{
    const unsigned control = packet_have(w, 2) ? packet_be16(packet_here(w)) : 0;
    const bool has_quality = control & 0x8000, is_protected = control & 0x0040, has_order = control & 0x0080;
    if ((control & 0x4f00) != 0x0800) { /* data of version 0 that is not empty */
        return packet_have(w, 2) ? packet_stop(w, PACKET_SILENT_CONTROL, 0) : PACKET_STOP;
    }
    if (is_protected) {
        return packet_stop(w, PACKET_SILENT_ENCRYPTED, 0);
    }
    const unsigned addresses = (control & 3) == 3 ? 30 : 24;
    if (!packet_have(w, addresses + 2) || packet_here(w)[22] & 15) { /* a later fragment */
        return PACKET_STOP;
    }
    const bool aggregated = has_quality && packet_here(w)[addresses] & 0x80;
    unsigned length = addresses + (has_quality ? 2 : 0) + (has_quality && has_order ? 4 : 0);
    length = w->padded ? (length + 3u) & ~3u : length;
    w->at += length + (aggregated ? 14 : 0); /* of frames in one the first */
    return (struct next){packet_llc};
}
