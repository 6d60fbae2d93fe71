/* transport.c: what IP carries, and what of it has a checksum. */
#include "packet/walk.h"

static struct next tcp(struct walk *w)
{
    return packet_whole_payload(w, PACKET_TCP, true);
}

/* The verdict on a UDP field of 0, which is known from the header alone. */
static void udp_without(const struct walk *w, unsigned to)
{
    struct packet_check *check = &w->checks[w->n_checks - 1];
    const bool plausible = check->covered || w->trouble != PACKET_NO_REASON; /* UDP's own length does not lie */
    if (check->start != w->at || check->reason == PACKET_TOO_DEEP) {
        return;
    }
    if (plausible && (w->ip_version == 4 || packet_port_of_tunnel(to))) {
        check->status = PACKET_NONE;
        check->reason = w->ip_version == 4 ? PACKET_NOT_SENT : PACKET_TUNNEL_ZERO;
        check->pending = false;
    }
}

static struct next udp(struct walk *w)
{
    uint64_t carried;
    struct packet_check *check = packet_transport_check(w, PACKET_UDP, &carried);
    if (w->later_fragment || !packet_have(w, 8)) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned from = packet_be16(header), to = packet_be16(header + 2), said = packet_be16(header + 4);
    const uint64_t length = said == 0 && w->length_unsaid ? carried : said;
    if (check != NULL) {
        if (length < 8) {
            check->reason = PACKET_TOO_SHORT;
        } else if (length > carried) {
            check->reason = PACKET_PAST_END;
        } else {
            packet_cover(check, length);
            packet_set_pseudo(w, check, length);
        }
    }
    if (packet_here(w)[6] == 0 && packet_here(w)[7] == 0) {
        udp_without(w, to);
    }
    if (length >= 8) {
        packet_cut_to(w, length);
    }
    w->at += 8;
    return packet_follow_port(from, to);
}

/* Covers the first part of what is carried, where that makes sense; the pseudo header has the whole length. */
static struct next cover_part(const struct walk *w, struct packet_check *check, uint64_t carried, uint64_t part,
                              bool sound)
{
    if (sound && part <= carried) {
        packet_cover(check, part);
        packet_set_pseudo(w, check, carried);
    } else {
        check->reason = PACKET_COVERAGE;
    }
    return PACKET_STOP;
}

/* RFC 3828: the length field says how much is covered, 0 for all. */
static struct next udplite(struct walk *w)
{
    uint64_t length;
    struct packet_check *check = packet_transport_check(w, PACKET_UDPLITE, &length);
    if (check == NULL) {
        return PACKET_STOP;
    }
    const uint64_t said = packet_be16(packet_here(w) + 4), coverage = said == 0 ? length : said;
    return cover_part(w, check, length, coverage, coverage >= 8);
}

/* RFC 4340 section 9: the header with its options always, and of the data all (0) or (n - 1) words of four bytes. */
static struct next dccp(struct walk *w)
{
    uint64_t length;
    struct packet_check *check = packet_transport_check(w, PACKET_DCCP, &length);
    if (check == NULL) {
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned data_offset = header[4] * 4u, said = header[5] & 15u;
    const uint64_t coverage = said == 0 ? length : data_offset + (said - 1) * 4u;
    return cover_part(w, check, length, coverage, data_offset >= 12 && data_offset <= length);
}

static struct next sctp(struct walk *w)
{
    uint64_t length;
    struct packet_check *check = packet_transport_check(w, PACKET_SCTP, &length);
    if (check != NULL) {
        check->reason = PACKET_CRC32C;
    }
    return PACKET_STOP;
}

/* AH over IPv4; over IPv6 it is one of the extension headers. */
static struct next authentication_header(struct walk *w)
{
    if (w->later_fragment || !packet_have(w, 8)) {
        return PACKET_STOP;
    }
    w->protocol = packet_here(w)[0];
    w->at += (packet_here(w)[1] + 2u) * 4;
    return packet_follow_protocol(w);
}

static struct next ipv4_in_ip(struct walk *w)
{
    return w->later_fragment || !packet_have(w, 1) ? PACKET_STOP : (struct next){packet_ipv4};
}

static struct next ipv6_in_ip(struct walk *w)
{
    return w->later_fragment || !packet_have(w, 1) ? PACKET_STOP : (struct next){packet_ipv6};
}

/* What follows a protocol number, over which versions of IP. */
static const struct {
    struct next next;
    bool over_ipv4;
    bool over_ipv6;
} protocols[256] = {
    [PROTO_ICMP] = {{packet_icmp}, true, false},
    [PROTO_IGMP] = {{packet_igmp}, true, false},
    [PROTO_IPV4] = {{ipv4_in_ip}, true, true},
    [PROTO_TCP] = {{tcp}, true, true},
    [PROTO_UDP] = {{udp}, true, true},
    [PROTO_DCCP] = {{dccp}, true, true},
    [PROTO_IPV6] = {{ipv6_in_ip}, true, true},
    [PROTO_RSVP] = {{packet_rsvp}, true, true},
    [PROTO_GRE] = {{packet_gre}, true, true},
    [PROTO_AH] = {{authentication_header}, true, false},
    [PROTO_ICMPV6] = {{packet_icmpv6}, false, true},
    [PROTO_EIGRP] = {{packet_eigrp}, true, true},
    [PROTO_OSPF] = {{packet_ospf}, true, true},
    [PROTO_ETHERIP] = {{packet_etherip}, true, true},
    [PROTO_PIM] = {{packet_pim}, true, true},
    [PROTO_VRRP] = {{packet_vrrp}, true, true},
    [PROTO_L2TP] = {{packet_l2tpv3}, true, true},
    [PROTO_SCTP] = {{sctp}, true, true},
    [PROTO_MOBILITY] = {{packet_mobility}, false, true},
    [PROTO_UDPLITE] = {{udplite}, true, true},
    [PROTO_MPLS] = {{packet_mpls_in_ip}, true, true},
    [PROTO_ETHERNET] = {{packet_ethernet_in_ip}, true, true},
};

bool packet_protocol_known(unsigned protocol, unsigned version)
{
    return version == 4 ? protocols[protocol].over_ipv4 : protocols[protocol].over_ipv6;
}

struct next packet_follow_protocol(struct walk *w)
{
    return packet_protocol_known(w->protocol, w->ip_version) ? protocols[w->protocol].next
                                                             : packet_stop(w, PACKET_SILENT_NEXT_HEADER, w->protocol);
}
