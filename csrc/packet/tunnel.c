/* tunnel.c: what carries packets inside packets: GRE, and by the ports of UDP VXLAN and L2TP. */
#include "packet/walk.h"

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
    return packet_follow_type(w);
}

/* What the protocol numbers of NSH and of VXLAN's generic extension name (RFC 8300 section 2.2). */
static struct next follow_nsh_protocol(struct walk *w, unsigned protocol)
{
    static const uint16_t ethertypes[] = {[1] = ETHERTYPE_IPV4, [2] = ETHERTYPE_IPV6, [3] = ETHERTYPE_BRIDGING};
    if (protocol == 0 || protocol >= sizeof ethertypes / sizeof ethertypes[0]) {
        return PACKET_STOP;
    }
    w->ethertype = ethertypes[protocol];
    return packet_follow_ethertype(w);
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

/* Data messages of L2TP version 2 (RFC 2661); control messages carry no packet. */
static struct next l2tp(struct walk *w)
{
    if (!packet_have(w, 6)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned flags = packet_be16(header);
    const bool is_control = flags & 0x8000, has_length = flags & 0x4000, has_offset = flags & 0x0200;
    if (is_control || (flags & 15) != 2) {
        return packet_stop(w, PACKET_SILENT_CONTROL, 0);
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

/* What UDP carries, by the port that it is sent to, or by either; and whether it may have no checksum over IPv6. */
static const struct {
    uint16_t port;
    bool either;
    bool zero; /* RFC 6935, 6936, and each tunnel's own */
    struct next next;
} ports[] = {
    {4789, false, true, {vxlan}},
    {8472, false, true, {vxlan}}, /* what Linux used before 4789 was given */
    {4790, false, true, {vxlan_gpe}},
    {1701, true, true, {l2tp}},
};

struct next packet_follow_port(unsigned from, unsigned to)
{
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        if (ports[i].port == to || (ports[i].either && ports[i].port == from)) {
            return ports[i].next;
        }
    }
    return PACKET_STOP;
}

bool packet_port_of_tunnel(unsigned port)
{
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        if (ports[i].port == port && ports[i].zero) {
            return true;
        }
    }
    return false;
}
