/*
 * tunnel.c: what carries packets inside packets: GRE and its payloads, protocols of IP, and what the ports of
 * UDP name.
 */
#include "packet/walk.h"

/* ERSPAN, a mirrored frame: of type I it has no header, of type II 8 bytes; GRE's sequence number tells them apart. */
static struct next erspan(struct walk *w, bool has_sequence)
{
    w->at += has_sequence ? 8 : 0;
    return (struct next){packet_ethernet};
}

/* ERSPAN type III: 12 bytes, and 8 more if the last bit says so; a frame, or an IP packet. */
static struct next erspan_3(struct walk *w)
{
    if (!packet_have(w, 12)) {
        return PACKET_STOP;
    }
    const unsigned what = packet_be16(packet_here(w) + 10), type = what >> 10 & 31;
    w->at += what & 1 ? 20 : 12;
    return type == 0   ? (struct next){packet_ethernet}
           : type == 2 ? (struct next){packet_ip}
                       : packet_stop(w, PACKET_SILENT_CONTROL, 0);
}

/* Cisco's WCCP: a redirect header of 4 bytes, which version 1 leaves out. */
static struct next wccp(struct walk *w)
{
    w->at += packet_have(w, 1) && *packet_here(w) >> 4 != 4 ? 4 : 0;
    return (struct next){packet_ip};
}

/* What the protocol type of GRE names; it is an Ethernet type, but for some that have a meaning here alone. */
static struct next follow_gre_type(struct walk *w, bool has_sequence)
{
    switch (w->ethertype) {
    case 0x88be:
        return erspan(w, has_sequence);
    case 0x22eb:
        return erspan_3(w);
    case 0x883e:
        return wccp(w);
    default:
        return packet_follow_type(w);
    }
}

/* GRE (RFC 2784, 2890, 1701), and what PPTP calls so (RFC 2637). The checksum covers the header and all behind it. */
struct next packet_gre(struct walk *w)
{
    if (w->later_fragment || !packet_have(w, 4)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned flags = packet_be16(header), version = flags & 7;
    const bool has_checksum = flags & 0x8000, has_routing = flags & 0x4000;
    if (version > 1) {
        return PACKET_STOP;
    }
    if (version == 0 && has_checksum) {
        uint64_t length;
        struct packet_check *check = packet_transport_check(w, PACKET_GRE, &length);
        if (check != NULL) {
            packet_cover(check, length);
        }
    }
    w->ethertype = packet_be16(header + 2);
    w->at += 4;
    if (version == 0) {
        w->at += has_checksum || has_routing ? 4 : 0;
        w->at += flags & 0x2000 ? 4 : 0;
        w->at += flags & 0x1000 ? 4 : 0;
        while (has_routing) { /* source route entries, up to one of length 0 */
            if (!packet_have(w, 4)) {
                return PACKET_STOP;
            }
            const unsigned length = packet_here(w)[3];
            w->at += 4 + length;
            if (length == 0) {
                break;
            }
        }
    } else {
        w->at += 4; /* key: payload length and call id */
        w->at += flags & 0x1000 ? 4 : 0;
        w->at += flags & 0x0080 ? 4 : 0;
    }
    return follow_gre_type(w, flags & 0x1000);
}

/* What the protocol numbers of NSH and of VXLAN's generic extension name (RFC 8300 section 2.2). */
static struct next follow_nsh_protocol(struct walk *w, unsigned protocol)
{
    static const uint16_t ethertypes[] = {
        [1] = ETHERTYPE_IPV4, [2] = ETHERTYPE_IPV6, [3] = ETHERTYPE_BRIDGING, [4] = ETHERTYPE_NSH, [5] = ETHERTYPE_MPLS,
    };
    if (protocol == 0 || protocol >= sizeof ethertypes / sizeof ethertypes[0]) {
        return PACKET_STOP;
    }
    w->ethertype = ethertypes[protocol];
    return packet_follow_ethertype(w);
}

/* Network service header (RFC 8300): its length in words of 4 bytes, and the protocol behind it. */
struct next packet_nsh(struct walk *w)
{
    if (!packet_have(w, 8) || *packet_here(w) & 0xc0) {
        return PACKET_STOP;
    }
    const unsigned length = (packet_here(w)[1] & 63u) * 4, protocol = packet_here(w)[3];
    if (length < 8) {
        return PACKET_STOP;
    }
    w->at += length;
    return follow_nsh_protocol(w, protocol);
}

/* An Ethernet frame; one flag must be set, the reserved ones do not count (RFC 7348). */
static struct next vxlan(struct walk *w)
{
    if (!packet_have(w, 8) || !(packet_here(w)[0] & 0x08)) {
        return PACKET_STOP;
    }
    w->at += 8;
    return (struct next){packet_ethernet};
}

/*
 * The generic extension, on a port of its own, where a flag says that a protocol number is there
 * (draft-ietf-nvo3-vxlan-gpe).
 */
static struct next vxlan_gpe(struct walk *w)
{
    if (!packet_have(w, 8) || !(packet_here(w)[0] & 0x08)) {
        return PACKET_STOP;
    }
    const unsigned flags = packet_here(w)[0], protocol = packet_here(w)[3];
    w->at += 8;
    return follow_nsh_protocol(w, flags & 0x04 ? protocol : 3);
}

/*
 * Data of L2TP version 3 (RFC 3931), behind the session: a cookie of 0, 4 or 8 bytes and a sublayer of 0 or 4,
 * which both sides agreed on before; so a frame or a packet is looked for.
 */
static struct next behind_session(struct walk *w)
{
    for (unsigned skip = 0; skip <= 12; skip += 4) {
        if (packet_is_ethernet(w, skip)) {
            w->at += skip;
            return (struct next){packet_ethernet};
        }
    }
    for (unsigned skip = 0; skip <= 12; skip += 4) {
        if (packet_is_ip(w, skip) == PACKET_STRONG_EVIDENCE) {
            w->at += skip;
            return (struct next){packet_ip};
        }
    }
    return packet_stop(w, PACKET_SILENT_UNTOLD, 0);
}

/* L2TP version 3 over IP: session 0 is that of control messages. */
struct next packet_l2tpv3(struct walk *w)
{
    if (w->later_fragment || !packet_have(w, 4)) {
        return PACKET_STOP;
    }
    const uint32_t session = packet_be32(packet_here(w));
    w->at += 4;
    return session == 0 ? packet_stop(w, PACKET_SILENT_CONTROL, 0) : behind_session(w);
}

/* L2TP over UDP, versions 2 (RFC 2661) and 3; control messages carry no packet. */
static struct next l2tp(struct walk *w)
{
    if (!packet_have(w, 6)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned flags = packet_be16(header);
    const bool is_control = flags & 0x8000, has_length = flags & 0x4000, has_offset = flags & 0x0200;
    if (is_control || (flags & 15) < 2 || (flags & 15) > 3) {
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
    }
    if ((flags & 15) == 3) {
        w->at += 8;
        return behind_session(w);
    }
    if (has_length) {
        const unsigned length = packet_be16(header + 2);
        packet_cut_to(w, length);
    }
    w->at += 6;
    w->at += has_length ? 2 : 0;
    w->at += flags & 0x0800 ? 4 : 0;
    if (has_offset) {
        if (!packet_have(w, 2)) {
            return PACKET_STOP;
        }
        w->at += 2u + packet_be16(packet_here(w));
    }
    return (struct next){packet_ppp};
}

/* Geneve (RFC 8926): options, and an Ethernet type; messages of its own are marked. */
static struct next geneve(struct walk *w)
{
    if (!packet_have(w, 8) || *packet_here(w) & 0xc0) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned options = (header[0] & 63u) * 4;
    const bool is_control = header[1] & 0x80;
    w->ethertype = packet_be16(header + 2);
    w->at += 8 + options;
    return is_control ? packet_stop(w, PACKET_SILENT_CONTROL, 0) : packet_follow_type(w);
}

/*
 * GTP-U (3GPP TS 29.281): its length, four bytes more if a flag says so, extension headers; IP, or since 5G
 * Ethernet.
 */
static struct next gtp_u(struct walk *w)
{
    if (!packet_have(w, 8) || (*packet_here(w) & 0xf0) != 0x30) { /* version 1 */
        return PACKET_STOP;
    }
    const unsigned flags = packet_here(w)[0], message = packet_here(w)[1], length = packet_be16(packet_here(w) + 2);
    if (message != 255) {
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
    }
    w->at += 8;
    packet_cut_to(w, length);
    if (flags & 0x07) {
        if (!packet_have(w, 4)) {
            return PACKET_STOP;
        }
        unsigned extension = flags & 0x04 ? packet_here(w)[3] : 0;
        w->at += 4;
        while (extension != 0) {
            const unsigned bytes = packet_have(w, 4) ? packet_here(w)[0] * 4u : 0;
            if (bytes == 0 || !packet_have(w, bytes)) {
                return PACKET_STOP;
            }
            extension = packet_here(w)[bytes - 1];
            w->at += bytes;
        }
    }
    if (packet_is_ip(w, 0) != PACKET_STRONG_EVIDENCE && packet_is_ethernet(w, 0)) {
        return (struct next){packet_ethernet};
    }
    const unsigned version = packet_have(w, 1) ? *packet_here(w) >> 4 : 0;
    return version == 4 || version == 6 ? (struct next){packet_ip} : packet_stop(w, PACKET_SILENT_UNTOLD, 0);
}

/* Teredo (RFC 4380 section 5.1.1): authentication and origin, if they are there, then IPv6. */
static struct next teredo(struct walk *w)
{
    if (packet_have(w, 4) && packet_be16(packet_here(w)) == 0x0001) {
        w->at += 13u + packet_here(w)[2] + packet_here(w)[3];
    }
    if (packet_have(w, 8) && packet_be16(packet_here(w)) == 0) {
        w->at += 8;
    }
    return packet_have(w, 1) && *packet_here(w) >> 4 == 6 ? (struct next){packet_ipv6} : PACKET_STOP;
}

/* LISP (RFC 9300): IP, or what the generic extension says (RFC 9305). */
static struct next lisp(struct walk *w)
{
    if (!packet_have(w, 9)) {
        return PACKET_STOP;
    }
    const unsigned flags = packet_here(w)[0], protocol = packet_here(w)[7], version = packet_here(w)[8] >> 4;
    w->at += 8;
    if (flags & 0x04) {
        return follow_nsh_protocol(w, protocol);
    }
    return version == 4 || version == 6 ? (struct next){packet_ip} : PACKET_STOP;
}

/* GRE in UDP (RFC 8086). */
static struct next gre_in_udp(struct walk *w)
{
    w->protocol = PROTO_GRE;
    return (struct next){packet_gre};
}

/*
 * Generic UDP encapsulation (draft-ietf-intarea-gue): variant 0 has a header with a protocol number and options,
 * variant 1 none, and is told by the IP version.
 */
static struct next gue(struct walk *w)
{
    if (!packet_have(w, 4)) {
        return PACKET_STOP;
    }
    const unsigned first = packet_here(w)[0], protocol = packet_here(w)[1];
    if (first >> 6 == 1) {
        return (struct next){packet_ip};
    }
    if (first >> 5 != 0) { /* another variant, or control */
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
    }
    w->at += 4 + (first & 31u) * 4;
    switch (protocol) {
    case PROTO_IPV4:
    case PROTO_IPV6:
    case PROTO_GRE:
    case PROTO_ETHERIP:
    case PROTO_MPLS:
        w->protocol = (uint8_t)protocol;
        return packet_follow_protocol(w);
    default:
        return packet_stop(w, PACKET_SILENT_NEXT_HEADER, protocol);
    }
}

/* Foo over UDP, in the port of Linux' documents: IP at once, if it looks so; others use the port too. */
static struct next fou(struct walk *w)
{
    const enum packet_evidence ip = packet_is_ip(w, 0);
    const bool is_6 = ip == PACKET_WEAK_EVIDENCE && *packet_here(w) >> 4 == 6;
    return ip == PACKET_STRONG_EVIDENCE || is_6 ? (struct next){packet_ip} : PACKET_STOP;
}

/* MPLS in UDP (RFC 7510), and in IP (RFC 4023). */
static struct next mpls_in_udp(struct walk *w)
{
    w->ethertype = ETHERTYPE_MPLS;
    return packet_follow_ethertype(w);
}

struct next packet_mpls_in_ip(struct walk *w)
{
    return w->later_fragment ? PACKET_STOP : mpls_in_udp(w);
}

/* An Ethernet frame at once (RFC 8986). */
struct next packet_ethernet_in_ip(struct walk *w)
{
    return w->later_fragment ? PACKET_STOP : (struct next){packet_ethernet};
}

/* EtherIP (RFC 3378): two bytes with the version 3, which some write into the other half of the first. */
struct next packet_etherip(struct walk *w)
{
    const unsigned version = !w->later_fragment && packet_have(w, 2) ? *packet_here(w) : 0;
    w->at += 2;
    return version == 0x30 || version == 0x03 ? (struct next){packet_ethernet} : PACKET_STOP;
}

/*
 * What UDP carries, by the port that it is sent to; whether it may have no checksum over IPv6 (RFC 6935, 6936, and each
 * tunnel's own); whether it is also told by the port that it comes from. 8472 is what Linux used before 4789 was given.
 */
#define PORTS(X)                                                                                                       \
    X(4789, vxlan, true, false)                                                                                        \
    X(8472, vxlan, true, false)                                                                                        \
    X(4790, vxlan_gpe, true, false)                                                                                    \
    X(6081, geneve, true, false)                                                                                       \
    X(2152, gtp_u, true, true)                                                                                         \
    X(1701, l2tp, true, true)                                                                                          \
    X(3544, teredo, false, true)                                                                                       \
    X(4341, lisp, true, true)                                                                                          \
    X(4754, gre_in_udp, true, false)                                                                                   \
    X(6635, mpls_in_udp, true, false)                                                                                  \
    X(6080, gue, true, false)                                                                                          \
    X(5555, fou, false, false)

struct next packet_follow_port(unsigned from, unsigned to)
{
    switch (to) {
#define PORT_TO(port, step, zero, either)                                                                              \
    case port:                                                                                                         \
        return (struct next){step};
        PORTS(PORT_TO)
#undef PORT_TO
    default:
        break;
    }
    switch (from) {
#define PORT_FROM(port, step, zero, either)                                                                            \
    case port:                                                                                                         \
        return (either) ? (struct next){step} : PACKET_STOP;
        PORTS(PORT_FROM)
#undef PORT_FROM
    default:
        return PACKET_STOP;
    }
}

bool packet_port_of_tunnel(unsigned port)
{
    switch (port) {
#define PORT_ZERO(number, step, zero, either)                                                                          \
    case number:                                                                                                       \
        return zero;
        PORTS(PORT_ZERO)
#undef PORT_ZERO
    default:
        return false;
    }
}
