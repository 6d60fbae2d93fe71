/*
 * packet.c: the one parser of packets.
 *
 * A packet is walked from the outside in by small steps. Each step reads one header at p->at and says what stands
 * behind it; none calls another, so that a packet of a thousand headers costs a loop and no stack. Two ends are kept:
 *
 *     at          where the next header begins
 *     end         where the payload in hand ends by what the headers say: Ethernet padding and trailers lie behind it
 *     captured    where the bytes end that may be read
 *
 * Every read is preceded by `have(p, n)`, which asks for both. Every step moves `at` forward, so the walk ends; a length
 * that a header claims is read once into a local and is compared before it is used, so that bytes which another thread
 * changes meanwhile give a wrong verdict at worst.
 *
 * Verdicts: a sum with the field in place must be 0xffff. Computing the field anew and comparing refuses packets
 * that are right, because 0x0000 and 0xffff are the same number in ones' complement.
 */
#include "packet/packet.h"

#include <string.h>

#include "base/fold.h"

enum next {
    STOP,
    ETHERNET,
    ETHERTYPE, /* p->ethertype says what is at `at` */
    LLC,
    PPP,
    PPPOE,
    CISCO_HDLC,
    LINUX_SLL,
    LINUX_SLL2,
    BSD_LOOPBACK,
    IP,        /* the first nibble tells 4 from 6 */
    TRANSPORT, /* p->protocol says what is at `at` */
    GRE,
    VXLAN,
    L2TP,
};

struct parse {
    const unsigned char *bytes;
    uint64_t captured;
    uint64_t at;
    uint64_t end;
    struct packet_check *checks;
    unsigned n_checks;

    uint16_t ethertype; /* of what is at `at` */

    /* The IP header in force. src and dst are what the pseudo header takes, which is not always what the header says. */
    uint8_t ip_version;
    uint8_t protocol;
    uint8_t trouble;     /* why what it carries can't be judged; NO_REASON if it can */
    bool later_fragment; /* what it carries begins in another packet */
    bool length_unsaid;  /* the header gives no length (TSO, jumbo): what it carries need not either */
    uint32_t ip;
    const unsigned char *src;
    const unsigned char *dst;
};

static const struct {
    uint8_t header; /* bytes that must be there for the field and the lengths to mean something */
    uint8_t field;  /* offset of the checksum field */
} layer_shape[PACKET_LAYER_COUNT] = {
    [PACKET_IPV4] = {20, 10}, [PACKET_TCP] = {20, 16},  [PACKET_UDP] = {8, 6},  [PACKET_UDPLITE] = {8, 6},
    [PACKET_ICMP] = {4, 2},   [PACKET_ICMPV6] = {4, 2}, [PACKET_IGMP] = {8, 2}, [PACKET_DCCP] = {12, 6},
    [PACKET_OSPF] = {16, 12}, [PACKET_GRE] = {8, 4},    [PACKET_VRRP] = {8, 6}, [PACKET_SCTP] = {12, 8},
};

enum {
    ETHERTYPE_IPV4 = 0x0800,
    ETHERTYPE_TRANSPARENT_BRIDGING = 0x6558,
    ETHERTYPE_VLAN = 0x8100,
    ETHERTYPE_IPV6 = 0x86dd,
    ETHERTYPE_PPP = 0x880b,
    ETHERTYPE_MPLS = 0x8847,
    ETHERTYPE_MPLS_UPSTREAM = 0x8848,
    ETHERTYPE_PPPOE_SESSION = 0x8864,
    ETHERTYPE_QINQ = 0x88a8,
    ETHERTYPE_OLD_QINQ = 0x9100,
    ETHERTYPE_OLD_QINQ_2 = 0x9200,
};

enum {
    PROTO_HOP_BY_HOP = 0,
    PROTO_ICMP = 1,
    PROTO_IGMP = 2,
    PROTO_IPV4 = 4,
    PROTO_TCP = 6,
    PROTO_UDP = 17,
    PROTO_DCCP = 33,
    PROTO_IPV6 = 41,
    PROTO_ROUTING = 43,
    PROTO_FRAGMENT = 44,
    PROTO_GRE = 47,
    PROTO_AH = 51,
    PROTO_ICMPV6 = 58,
    PROTO_DESTINATION_OPTIONS = 60,
    PROTO_OSPF = 89,
    PROTO_VRRP = 112,
    PROTO_SCTP = 132,
    PROTO_UDPLITE = 136,
};

static uint16_t be16(const unsigned char *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

/* A 16-bit number as the host word that has its bytes in network order, and back. */
static uint16_t wire16(uint16_t number)
{
    return CKSUM_LITTLE_ENDIAN ? cksum_swap16(number) : number;
}

/* What a 32-bit number in network order adds to a raw sum, folded. */
static uint16_t wire32_sum(uint32_t number)
{
    return wire16(cksum_fold32(number)); /* swapping bytes commutes with the sum (RFC 1071 section 2B) */
}

/* Whether the next n bytes may be read and belong to the payload in hand. */
static bool have(const struct parse *p, uint64_t n)
{
    const uint64_t limit = p->captured < p->end ? p->captured : p->end;
    return p->at <= limit && n <= limit - p->at;
}

static const unsigned char *here(const struct parse *p)
{
    return p->bytes + p->at;
}

uint16_t packet_pseudo_header(unsigned version, const unsigned char *src, const unsigned char *dst, unsigned protocol,
                              uint32_t length)
{
    uint64_t sum = (uint64_t)wire16((uint16_t)protocol) + wire32_sum(length);
    for (unsigned i = 0; i < (version == 4 ? 4u : 16u); i += 4) {
        sum += (uint64_t)cksum_load32(src + i) + cksum_load32(dst + i); /* at most 2 * 17 + 4 bits: no carry is lost */
    }
    return cksum_fold32(cksum_fold64(sum));
}

/*
 * Starts the check of a layer whose header is at `at`. NULL when there are as many as fit; the last of them then says so.
 */
static struct packet_check *add_check(struct parse *p, enum packet_layer layer)
{
    if (p->n_checks == PACKET_MAX_CHECKS) {
        return NULL;
    }
    struct packet_check *check = &p->checks[p->n_checks++];
    const unsigned field = layer_shape[layer].field;
    *check = (struct packet_check){
        .layer = (uint8_t)layer,
        .status = PACKET_UNCHECKED,
        .protocol = p->protocol,
        .ip_version = p->ip_version,
        .has_field = layer != PACKET_SCTP && have(p, field + 2u), /* SCTP's has 32 bits */
        .ip = p->ip,
        .field = (uint32_t)(p->at + field),
        .start = (uint32_t)p->at,
    };
    if (p->n_checks == PACKET_MAX_CHECKS) {
        check->reason = PACKET_TOO_DEEP;
        return NULL;
    }
    return check;
}

/* Makes the check one over `length` bytes from its header on, to be judged. */
static void set_covered(struct packet_check *check, uint64_t length)
{
    check->length = (uint32_t)length;
    check->covered = true;
    check->pending = true;
}

static void set_pseudo(const struct parse *p, struct packet_check *check, uint64_t length)
{
    check->pseudo = packet_pseudo_header(p->ip_version, p->src, p->dst, p->protocol, (uint32_t)length);
    check->pseudo_length = wire32_sum((uint32_t)length);
}

/* ---- link layers ---- */

static enum next ethernet(struct parse *p)
{
    if (!have(p, 14)) {
        return STOP;
    }
    p->ethertype = be16(here(p) + 12);
    p->at += 14;
    return ETHERTYPE;
}

/* MPLS labels up to the bottom of the stack; only IP is followed, told by its first nibble. */
static enum next mpls(struct parse *p)
{
    while (have(p, 4)) {
        const bool bottom = here(p)[2] & 1;
        p->at += 4;
        if (bottom) {
            return have(p, 1) && (*here(p) >> 4 == 4 || *here(p) >> 4 == 6) ? IP : STOP;
        }
    }
    return STOP;
}

static enum next ethertype(struct parse *p)
{
    switch (p->ethertype) {
    case ETHERTYPE_IPV4:
    case ETHERTYPE_IPV6:
        return IP;
    case ETHERTYPE_VLAN:
    case ETHERTYPE_QINQ:
    case ETHERTYPE_OLD_QINQ:
    case ETHERTYPE_OLD_QINQ_2:
        if (!have(p, 4)) {
            return STOP;
        }
        p->ethertype = be16(here(p) + 2);
        p->at += 4;
        return ETHERTYPE;
    case ETHERTYPE_MPLS:
    case ETHERTYPE_MPLS_UPSTREAM:
        return mpls(p);
    case ETHERTYPE_PPPOE_SESSION:
        return PPPOE;
    case ETHERTYPE_PPP:
        return PPP;
    case ETHERTYPE_TRANSPARENT_BRIDGING:
        return ETHERNET;
    default:
        if (p->ethertype > 1500) {
            return STOP;
        }
        /* 802.3: the field is the length of what follows, and padding lies behind that. */
        if (p->ethertype < p->end - p->at) {
            p->end = p->at + p->ethertype;
        }
        return LLC;
    }
}

static enum next llc(struct parse *p)
{
    if (!have(p, 3)) {
        return STOP;
    }
    const unsigned char *header = here(p);
    if (header[0] == 0x06 && header[1] == 0x06 && header[2] == 0x03) {
        p->at += 3;
        return IP;
    }
    if (!have(p, 8) || header[0] != 0xaa || header[1] != 0xaa || header[2] != 0x03) {
        return STOP;
    }
    const uint32_t organisation = be32(header + 2) & 0xffffff;
    if (organisation != 0 && organisation != 0x0000f8) { /* the second: bridges that carry Ethernet types (802.1H) */
        return STOP;
    }
    p->ethertype = be16(header + 6);
    p->at += 8;
    return p->ethertype > 1500 ? ETHERTYPE : STOP;
}

static enum next cisco_hdlc(struct parse *p)
{
    if (!have(p, 4)) {
        return STOP;
    }
    p->ethertype = be16(here(p) + 2);
    p->at += 4;
    return p->ethertype > 1500 ? ETHERTYPE : STOP;
}

static enum next linux_sll(struct parse *p)
{
    if (!have(p, 16)) {
        return STOP;
    }
    p->ethertype = be16(here(p) + 14);
    p->at += 16;
    if (p->ethertype == 0x0004) { /* the kernel's own number for a frame that starts with LLC */
        return LLC;
    }
    return p->ethertype > 1500 ? ETHERTYPE : STOP;
}

static enum next linux_sll2(struct parse *p)
{
    if (!have(p, 20)) {
        return STOP;
    }
    p->ethertype = be16(here(p));
    p->at += 20;
    if (p->ethertype == 0x0004) {
        return LLC;
    }
    return p->ethertype > 1500 ? ETHERTYPE : STOP;
}

/* Four bytes of address family, in the byte order of whoever captured; each system has its own number for IPv6. */
static enum next bsd_loopback(struct parse *p)
{
    if (!have(p, 4)) {
        return STOP;
    }
    uint32_t family = be32(here(p));
    if (family & 0xffff0000u) {
        family = __builtin_bswap32(family);
    }
    p->at += 4;
    switch (family) {
    case 2: /* IPv4 everywhere */
        p->ethertype = ETHERTYPE_IPV4;
        return IP;
    case 10: /* IPv6 on Linux */
    case 24: /* NetBSD, OpenBSD */
    case 28: /* FreeBSD */
    case 30: /* macOS */
        p->ethertype = ETHERTYPE_IPV6;
        return IP;
    default:
        return STOP;
    }
}

/* PPP with or without address and control bytes, with a protocol of two bytes or a compressed one of one. */
static enum next ppp(struct parse *p)
{
    if (have(p, 2) && here(p)[0] == 0xff && here(p)[1] == 0x03) {
        p->at += 2;
    }
    if (!have(p, 1)) {
        return STOP;
    }
    uint16_t protocol = *here(p);
    if (protocol & 1) {
        p->at += 1;
    } else if (have(p, 2)) {
        protocol = be16(here(p));
        p->at += 2;
    }
    switch (protocol) {
    case 0x0021:
        p->ethertype = ETHERTYPE_IPV4;
        return IP;
    case 0x0057:
        p->ethertype = ETHERTYPE_IPV6;
        return IP;
    case 0x0281:
    case 0x0283:
        return mpls(p);
    default:
        return STOP;
    }
}

static enum next pppoe(struct parse *p)
{
    if (!have(p, 6) || here(p)[0] != 0x11 || here(p)[1] != 0) { /* version 1, type 1, session data */
        return STOP;
    }
    const uint16_t length = be16(here(p) + 4);
    p->at += 6;
    if (length < p->end - p->at) {
        p->end = p->at + length;
    }
    return PPP;
}

/* ---- IPv4 ---- */

/* The last address of a source route that is not used up yet (RFC 791), or NULL. Options that make no sense are skipped. */
static const unsigned char *source_route(const unsigned char *option, const unsigned char *end)
{
    while (option < end && option[0] != 0) { /* 0 ends the list */
        if (option[0] == 1) {
            option++;
            continue;
        }
        if (end - option < 2) {
            return NULL;
        }
        const unsigned length = option[1];
        if (length < 2 || length > (size_t)(end - option)) {
            return NULL;
        }
        if ((option[0] == 131 || option[0] == 137) && length >= 7) { /* loose, strict; three bytes, then addresses */
            const unsigned addresses = (length - 3) / 4, pointer = option[2];
            return pointer < 3 + 4 * addresses ? option + 3 + 4 * (addresses - 1) : NULL;
        }
        option += length;
    }
    return NULL;
}

static enum next ipv4(struct parse *p)
{
    struct packet_check *check;
    p->ip_version = 4;
    p->ip = (uint32_t)p->at;
    p->protocol = have(p, 10) ? here(p)[9] : 0;
    if (!have(p, 20)) {
        p->ip_version = 0; /* no addresses to show */
    }
    check = add_check(p, PACKET_IPV4);
    if (check == NULL) {
        return STOP;
    }
    if (!have(p, 20)) {
        check->reason = p->end > p->captured ? PACKET_TRUNCATED : PACKET_PAST_END;
        return STOP;
    }
    const unsigned char *header = here(p);
    const unsigned header_length = (header[0] & 15u) * 4, total = be16(header + 2);
    const unsigned fragment = be16(header + 6);
    if (header_length < 20 || (total != 0 && total < header_length)) {
        check->reason = PACKET_TOO_SHORT;
        return STOP;
    }
    if (!have(p, header_length)) {
        check->reason = p->end > p->captured ? PACKET_TRUNCATED : PACKET_PAST_END;
        return STOP;
    }
    set_covered(check, header_length);

    const uint64_t end = total == 0 ? p->end : p->at + total;
    p->length_unsaid = total == 0;
    p->later_fragment = fragment & 0x1fff;
    p->trouble = fragment & 0x3fff ? PACKET_FRAGMENT : PACKET_NO_REASON;
    if (p->trouble == PACKET_NO_REASON && end > p->captured) {
        p->trouble = end > p->end ? PACKET_PAST_END : PACKET_TRUNCATED;
    } else if (p->trouble == PACKET_NO_REASON && end > p->end) {
        p->trouble = PACKET_PAST_END;
    }
    if (end < p->end) {
        p->end = end;
    }
    p->src = header + 12;
    p->dst = header + 16;
    if (header_length > 20) {
        const unsigned char *final = source_route(header + 20, header + header_length);
        p->dst = final == NULL ? p->dst : final;
    }
    p->at += header_length;
    return TRANSPORT;
}

/* ---- IPv6 ---- */

/* Looks through options for the home address (RFC 6275), which counts as the source, and the jumbo length (RFC 2675). */
static void ipv6_options(struct parse *p, const unsigned char *option, const unsigned char *end, uint32_t *jumbo)
{
    while (option < end) {
        if (option[0] == 0) {
            option++;
            continue;
        }
        if (end - option < 2 || option[1] > end - option - 2) {
            return;
        }
        if (option[0] == 0xc9 && option[1] == 16) {
            p->src = option + 2;
        } else if (option[0] == 0xc2 && option[1] == 4) {
            *jumbo = be32(option + 2);
        }
        option += 2 + option[1];
    }
}

/* The final destination of a routing header of `length` bytes; the reason why it isn't known, or NO_REASON. */
static enum packet_reason ipv6_routing(struct parse *p, const unsigned char *header, size_t length)
{
    const unsigned type = header[2], left = header[3];
    const size_t addresses = (length - 8) / 16;
    if (left == 0) {
        return PACKET_NO_REASON; /* the packet has arrived: the header's own destination is the final one */
    }
    switch (type) {
    case 0: /* RFC 2460: in the order of the way, the last is the final one */
    case 2: /* RFC 6275: one address, the home address */
        if (left > addresses) {
            return PACKET_ROUTING;
        }
        p->dst = header + 8 + 16 * (addresses - 1);
        return PACKET_NO_REASON;
    case 4: /* RFC 8754: segments in reverse order, so the final one comes first */
        if (addresses == 0) {
            return PACKET_ROUTING;
        }
        p->dst = header + 8;
        return PACKET_NO_REASON;
    default:
        return PACKET_ROUTING;
    }
}

static bool ipv6_is_extension(unsigned protocol)
{
    return protocol == PROTO_HOP_BY_HOP || protocol == PROTO_ROUTING || protocol == PROTO_FRAGMENT ||
           protocol == PROTO_DESTINATION_OPTIONS || protocol == PROTO_AH;
}

static enum next ipv6(struct parse *p)
{
    const bool whole = have(p, 40);
    p->ip_version = whole ? 6 : 0;
    p->ip = (uint32_t)p->at;
    p->later_fragment = false;
    p->length_unsaid = false;
    p->protocol = have(p, 7) ? here(p)[6] : 59;
    if (!whole) {
        p->trouble = p->end > p->captured ? PACKET_TRUNCATED : PACKET_PAST_END;
        p->at += 40;
        return ipv6_is_extension(p->protocol) ? STOP : TRANSPORT;
    }
    const unsigned char *header = here(p);
    const uint32_t payload = be16(header + 4);
    const uint64_t start = p->at + 40;
    uint32_t jumbo = 0;
    p->src = header + 8;
    p->dst = header + 24;
    p->trouble = PACKET_NO_REASON;
    p->at = start;

    const uint64_t outer_end = p->end;
    if (payload != 0 && start + payload < p->end) {
        p->end = start + payload;
    }
    while (ipv6_is_extension(p->protocol) && !p->later_fragment) {
        if (!have(p, 8)) {
            return STOP; /* what it carries is not known: there is nothing to name */
        }
        header = here(p);
        const unsigned length = p->protocol == PROTO_AH         ? (header[1] + 2u) * 4
                                : p->protocol == PROTO_FRAGMENT ? 8
                                                                : (header[1] + 1u) * 8;
        if (!have(p, length)) {
            return STOP;
        }
        if (p->protocol == PROTO_HOP_BY_HOP || p->protocol == PROTO_DESTINATION_OPTIONS) {
            ipv6_options(p, header + 2, header + length, &jumbo);
        } else if (p->protocol == PROTO_ROUTING) {
            const enum packet_reason reason = ipv6_routing(p, header, length);
            p->trouble = p->trouble == PACKET_NO_REASON ? (uint8_t)reason : p->trouble;
        } else if (p->protocol == PROTO_FRAGMENT) {
            const unsigned fragment = be16(header + 2);
            p->later_fragment = fragment & 0xfff8;
            p->trouble = fragment & 0xfff9 ? PACKET_FRAGMENT : p->trouble; /* offset 0 and no more: a whole datagram */
        }
        p->protocol = header[0];
        p->at += length;
    }

    uint64_t end = start + payload;
    if (payload == 0) {
        p->length_unsaid = true;
        end = jumbo == 0 ? outer_end : start + jumbo;
        p->end = end < outer_end ? end : outer_end;
    }
    if (p->trouble == PACKET_NO_REASON) {
        p->trouble = end > outer_end ? PACKET_PAST_END : end > p->captured ? PACKET_TRUNCATED : PACKET_NO_REASON;
    }
    return TRANSPORT;
}

static enum next ip(struct parse *p)
{
    if (!have(p, 1) && p->ethertype == ETHERTYPE_IPV6) {
        return STOP; /* nothing is there; IPv4 would have had a checksum */
    }
    const unsigned version = have(p, 1) ? *here(p) >> 4 : 4;
    if (version == 6) {
        return ipv6(p);
    }
    if (version == 4) {
        return ipv4(p);
    }
    p->ip_version = 0;
    p->protocol = 0;
    struct packet_check *check = add_check(p, PACKET_IPV4);
    if (check != NULL) {
        check->reason = PACKET_IP_VERSION;
        check->has_field = false;
    }
    return STOP;
}

/* ---- what IP carries ---- */

/*
 * Starts the check of a transport. *length is what IP carries of it. NULL, with the reason in the check, if nothing
 * of it can be judged.
 */
static struct packet_check *transport_check(struct parse *p, enum packet_layer layer, uint64_t *length)
{
    struct packet_check *check = add_check(p, layer);
    if (check == NULL) {
        return NULL;
    }
    check->has_field = check->has_field && !p->later_fragment;
    *length = p->end < p->at ? 0 : p->end - p->at;
    if (p->trouble != PACKET_NO_REASON) {
        check->reason = p->trouble;
        return NULL;
    }
    if (*length < layer_shape[layer].header) {
        check->reason = PACKET_TOO_SHORT;
        return NULL;
    }
    return check;
}

/* TCP, ICMP, ICMPv6, IGMP: all that IP carries, with a pseudo header or without. */
static enum next whole_payload(struct parse *p, enum packet_layer layer, bool pseudo)
{
    uint64_t length;
    struct packet_check *check = transport_check(p, layer, &length);
    if (check != NULL) {
        set_covered(check, length);
        if (pseudo) {
            set_pseudo(p, check, length);
        }
    }
    return STOP;
}

/* What UDP carries, by its ports; `at` and `end` are those of its payload. */
static enum next udp_payload(const struct parse *p, unsigned from, unsigned to)
{
    /* 8472 is what Linux used before 4789 was given; 4790 has the generic extension. The flag must be set (RFC 7348). */
    if ((to == 4789 || to == 8472 || to == 4790) && have(p, 8) && (here(p)[0] & 0x08)) {
        return VXLAN;
    }
    return from == 1701 || to == 1701 ? L2TP : STOP;
}

static enum next udp(struct parse *p)
{
    uint64_t carried;
    struct packet_check *check = transport_check(p, PACKET_UDP, &carried);
    if (p->later_fragment || !have(p, 8)) {
        return STOP;
    }
    const unsigned char *header = here(p);
    const unsigned from = be16(header), to = be16(header + 2), said = be16(header + 4);
    const uint64_t length = said == 0 && p->length_unsaid ? carried : said;
    if (check != NULL) {
        if (length < 8) {
            check->reason = PACKET_TOO_SHORT;
        } else if (length > carried) {
            check->reason = PACKET_PAST_END;
        } else {
            set_covered(check, length);
            set_pseudo(p, check, length);
        }
        if (check->covered && p->ip_version == 4 && cksum_load16(header + 6) == 0) {
            check->status = PACKET_NONE;
            check->reason = PACKET_NOT_SENT;
            check->pending = false;
        }
    }
    if (length >= 8 && length < p->end - p->at) {
        p->end = p->at + length;
    }
    p->at += 8;
    return udp_payload(p, from, to);
}

/* RFC 3828: the length field says how much is covered, 0 for all; the pseudo header takes the whole length. */
static enum next udplite(struct parse *p)
{
    uint64_t length;
    struct packet_check *check = transport_check(p, PACKET_UDPLITE, &length);
    if (check != NULL) {
        const uint64_t said = be16(here(p) + 4), coverage = said == 0 ? length : said;
        if (coverage < 8 || coverage > length) {
            check->reason = PACKET_COVERAGE;
        } else {
            set_covered(check, coverage);
            set_pseudo(p, check, length);
        }
    }
    return STOP;
}

/* RFC 4340 section 9: the header with its options always, and of the data all (0) or (n - 1) words of four bytes. */
static enum next dccp(struct parse *p)
{
    uint64_t length;
    struct packet_check *check = transport_check(p, PACKET_DCCP, &length);
    if (check != NULL) {
        const unsigned char *header = here(p);
        const unsigned data_offset = header[4] * 4u, said = header[5] & 15u;
        const uint64_t coverage = said == 0 ? length : data_offset + (said - 1) * 4u;
        if (data_offset < 12 || data_offset > length || coverage > length) {
            check->reason = PACKET_COVERAGE;
        } else {
            set_covered(check, coverage);
            set_pseudo(p, check, length);
        }
    }
    return STOP;
}

/*
 * OSPF says its own length; what lies behind (authentication, link-local signalling) is not covered. Version 2 leaves
 * out its 64 bits of authentication (RFC 2328 D.4), and has no checksum where these are cryptographic. Version 3 has a
 * pseudo header, and no checksum where an authentication trailer follows (RFC 7166).
 */
static enum next ospf(struct parse *p)
{
    uint64_t carried;
    struct packet_check *check = transport_check(p, PACKET_OSPF, &carried);
    if (check == NULL) {
        return STOP;
    }
    const unsigned char *header = here(p);
    const unsigned version = header[0], length = be16(header + 2);
    const unsigned header_length = version == 2 ? 24 : 16;
    if (version != 2 && version != 3) {
        check->reason = PACKET_VERSION;
    } else if (length < header_length) {
        check->reason = PACKET_TOO_SHORT;
    } else if (length > carried) {
        check->reason = PACKET_PAST_END;
    } else if ((version == 2 && be16(header + 14) == 2) ||
               (version == 3 && be16(header + 12) == 0 && length < carried)) {
        check->status = PACKET_NONE;
        check->reason = PACKET_AUTHENTICATED;
    } else {
        set_covered(check, length);
        if (version == 2) {
            check->hole = check->start + 16;
            check->hole_length = 8;
        } else {
            set_pseudo(p, check, length);
        }
    }
    return STOP;
}

/* Version 2 sums the message alone; version 3 adds a pseudo header (RFC 5798 section 5.2.8). */
static enum next vrrp(struct parse *p)
{
    uint64_t length;
    struct packet_check *check = transport_check(p, PACKET_VRRP, &length);
    if (check != NULL) {
        const unsigned version = *here(p) >> 4;
        if (version == 2 || version == 3) {
            set_covered(check, length);
        } else {
            check->reason = PACKET_VERSION;
        }
        if (version == 3) {
            set_pseudo(p, check, length);
        }
    }
    return STOP;
}

static enum next sctp(struct parse *p)
{
    uint64_t length;
    struct packet_check *check = transport_check(p, PACKET_SCTP, &length);
    if (check != NULL) {
        check->reason = PACKET_CRC32C;
    }
    return STOP;
}

/* GRE (RFC 2784, 2890, 1701), and what PPTP calls so (RFC 2637). The checksum covers the header and all behind it. */
static enum next gre(struct parse *p)
{
    if (p->later_fragment || !have(p, 4)) {
        return STOP;
    }
    const unsigned char *header = here(p);
    const unsigned flags = be16(header), version = flags & 7;
    const bool has_checksum = flags & 0x8000, has_routing = flags & 0x4000;
    if (version > 1) {
        return STOP;
    }
    if (version == 0 && has_checksum) {
        uint64_t length;
        struct packet_check *check = transport_check(p, PACKET_GRE, &length);
        if (check != NULL) {
            set_covered(check, length);
        }
    }
    p->ethertype = be16(header + 2);
    p->at += 4;
    if (version == 0) {
        p->at += has_checksum || has_routing ? 4 : 0;
        p->at += flags & 0x2000 ? 4 : 0;
        p->at += flags & 0x1000 ? 4 : 0;
        while (has_routing) { /* source route entries, up to one of length 0 */
            if (!have(p, 4)) {
                return STOP;
            }
            const unsigned length = here(p)[3];
            p->at += 4 + length;
            if (length == 0) {
                break;
            }
        }
    } else {
        p->at += 4; /* key: payload length and call id */
        p->at += flags & 0x1000 ? 4 : 0;
        p->at += flags & 0x0080 ? 4 : 0;
    }
    return p->ethertype > 1500 ? ETHERTYPE : STOP;
}

/* An Ethernet frame, unless the generic extension says which other protocol it is. */
static enum next vxlan(struct parse *p)
{
    const unsigned flags = here(p)[0], protocol = here(p)[3];
    p->at += 8;
    if (!(flags & 0x04) || protocol == 3) {
        return ETHERNET;
    }
    return protocol == 1 || protocol == 2 ? IP : STOP;
}

/* Data messages of L2TP version 2 (RFC 2661); control messages carry no packet. */
static enum next l2tp(struct parse *p)
{
    if (!have(p, 6)) {
        return STOP;
    }
    const unsigned char *header = here(p);
    const unsigned flags = be16(header);
    const bool is_control = flags & 0x8000, has_length = flags & 0x4000, has_offset = flags & 0x0200;
    if (is_control || (flags & 15) != 2) {
        return STOP;
    }
    if (has_length) {
        const unsigned length = be16(header + 2);
        if (length < p->end - p->at) {
            p->end = p->at + length;
        }
    }
    p->at += 6;
    p->at += has_length ? 2 : 0;
    p->at += flags & 0x0800 ? 4 : 0;
    if (has_offset) {
        if (!have(p, 2)) {
            return STOP;
        }
        p->at += 2u + be16(here(p));
    }
    return PPP;
}

/* AH over IPv4; over IPv6 it is one of the extension headers. */
static enum next authentication_header(struct parse *p)
{
    if (p->later_fragment || !have(p, 8)) {
        return STOP;
    }
    p->protocol = here(p)[0];
    p->at += (here(p)[1] + 2u) * 4;
    return TRANSPORT;
}

static enum next transport(struct parse *p)
{
    switch (p->protocol) {
    case PROTO_TCP:
        return whole_payload(p, PACKET_TCP, true);
    case PROTO_UDP:
        return udp(p);
    case PROTO_ICMP:
        return p->ip_version == 6 ? STOP : whole_payload(p, PACKET_ICMP, false);
    case PROTO_ICMPV6:
        return p->ip_version == 4 ? STOP : whole_payload(p, PACKET_ICMPV6, true);
    case PROTO_IGMP:
        return p->ip_version == 6 ? STOP : whole_payload(p, PACKET_IGMP, false);
    case PROTO_UDPLITE:
        return udplite(p);
    case PROTO_DCCP:
        return dccp(p);
    case PROTO_OSPF:
        return ospf(p);
    case PROTO_VRRP:
        return vrrp(p);
    case PROTO_SCTP:
        return sctp(p);
    case PROTO_GRE:
        return gre(p);
    case PROTO_AH:
        return p->ip_version == 4 ? authentication_header(p) : STOP;
    case PROTO_IPV4:
    case PROTO_IPV6:
        return p->later_fragment || !have(p, 1) ? STOP : IP;
    default:
        return STOP;
    }
}

/* ---- the walk ---- */

/* Where a packet of this link type begins; STOP for one that is not known. */
static enum next first_step(unsigned link)
{
    switch (link) {
    case PACKET_LINK_NULL:
    case PACKET_LINK_LOOP:
        return BSD_LOOPBACK;
    case PACKET_LINK_ETHERNET:
        return ETHERNET;
    case PACKET_LINK_PPP:
    case PACKET_LINK_PPP_HDLC:
    case PACKET_LINK_PPP_WITH_DIRECTION:
        return PPP;
    case PACKET_LINK_PPPOE:
        return PPPOE;
    case PACKET_LINK_CISCO_HDLC:
        return CISCO_HDLC;
    case PACKET_LINK_LINUX_SLL:
        return LINUX_SLL;
    case PACKET_LINK_LINUX_SLL2:
        return LINUX_SLL2;
    case PACKET_LINK_DLT_RAW:
    case PACKET_LINK_DLT_RAW_OPENBSD:
    case PACKET_LINK_RAW:
    case PACKET_LINK_IPV4:
    case PACKET_LINK_IPV6:
        return IP;
    default:
        return STOP;
    }
}

bool packet_link_known(unsigned link)
{
    return first_step(link) != STOP;
}

unsigned packet_find(const unsigned char *bytes, size_t captured, size_t original, unsigned link,
                     struct packet_check *checks)
{
    struct parse p = {.bytes = bytes, .checks = checks};
    p.captured = captured < PACKET_MAX_BYTES ? captured : PACKET_MAX_BYTES;
    p.end = original > p.captured ? original : p.captured;

    enum next step = first_step(link);
    if (link == PACKET_LINK_PPP_WITH_DIRECTION) {
        p.at = 1;
    } else if (link == PACKET_LINK_PPP_HDLC && have(&p, 1) && (bytes[0] == 0x0f || bytes[0] == 0x8f)) {
        step = CISCO_HDLC; /* the other thing that is captured under this number */
    }
    while (step != STOP) {
        switch (step) {
        case STOP:
            break;
        case ETHERNET:
            step = ethernet(&p);
            break;
        case ETHERTYPE:
            step = ethertype(&p);
            break;
        case LLC:
            step = llc(&p);
            break;
        case PPP:
            step = ppp(&p);
            break;
        case PPPOE:
            step = pppoe(&p);
            break;
        case CISCO_HDLC:
            step = cisco_hdlc(&p);
            break;
        case LINUX_SLL:
            step = linux_sll(&p);
            break;
        case LINUX_SLL2:
            step = linux_sll2(&p);
            break;
        case BSD_LOOPBACK:
            step = bsd_loopback(&p);
            break;
        case IP:
            step = ip(&p);
            break;
        case TRANSPORT:
            step = transport(&p);
            break;
        case GRE:
            step = gre(&p);
            break;
        case VXLAN:
            step = vxlan(&p);
            break;
        case L2TP:
            step = l2tp(&p);
            break;
        }
    }
    return p.n_checks;
}

/* ---- sums and verdicts ---- */

/* The folded raw sum of bytes[start..start+length) less the hole of the check. */
static uint16_t sum_range(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check, uint32_t start,
                          uint32_t length, uint32_t initial)
{
    const uint32_t end = start + length, hole_end = check->hole + check->hole_length;
    if (check->hole_length == 0 || check->hole >= end || hole_end <= start) {
        return cksum_fold32(fn(bytes + start, length, initial));
    }
    const uint32_t sum = cksum_fold32(fn(bytes + start, check->hole - start, initial));
    return cksum_fold32(fn(bytes + hole_end, end - hole_end, sum));
}

/* The folded raw sum of an IPv4 header without options, which is most of them: a call less. */
static uint16_t sum_20(const unsigned char *p)
{
    const uint64_t sum = (uint64_t)cksum_load32(p) + cksum_load32(p + 4) + cksum_load32(p + 8) + cksum_load32(p + 12) +
                         cksum_load32(p + 16);
    return cksum_fold32(cksum_fold64(sum));
}

/* The folded raw sum of all that the check covers, the field in place. */
static uint16_t sum_covered(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check,
                            uint16_t initial)
{
    if (check->layer == PACKET_IPV4 && check->length == 20) {
        return sum_20(bytes + check->start);
    }
    return sum_range(fn, bytes, check, check->start, check->length, initial);
}

static void set_verdict(struct packet_check *check, enum packet_status status, enum packet_reason reason)
{
    check->status = (uint8_t)status;
    check->reason = (uint8_t)reason;
}

/* Finds out in which way a check that does not sum up is wrong. */
static void judge_wrong(cksum_fn *fn, const unsigned char *bytes, struct packet_check *check)
{
    const uint16_t field = cksum_load16(bytes + check->field);
    if (check->layer == PACKET_IPV4) {
        set_verdict(check, PACKET_BAD, field == 0 ? PACKET_ZERO_HEADER : PACKET_NO_REASON);
        return;
    }
    if (check->pseudo != 0) {
        const uint32_t without_length = (uint32_t)check->pseudo + (uint16_t)~check->pseudo_length;
        if (field == check->pseudo) {
            set_verdict(check, PACKET_PARTIAL, PACKET_PSEUDO_SUM);
            return;
        }
        if (field == cksum_fold32(without_length)) {
            set_verdict(check, PACKET_PARTIAL, PACKET_PSEUDO_SUM_NO_LENGTH);
            return;
        }
        if (check->layer == PACKET_VRRP && check->ip_version == 4 && sum_covered(fn, bytes, check, 0) == 0xffff) {
            set_verdict(check, PACKET_GOOD, PACKET_PLAIN_SUM);
            return;
        }
    }
    set_verdict(check, PACKET_BAD, PACKET_NO_REASON);
}

void packet_judge(cksum_fn *fn, const unsigned char *bytes, struct packet_check *check)
{
    if (!check->pending) {
        return;
    }
    check->pending = false;
    if ((check->layer == PACKET_UDP || check->layer == PACKET_UDPLITE) && cksum_load16(bytes + check->field) == 0) {
        set_verdict(check, PACKET_BAD, PACKET_ZERO_FORBIDDEN); /* over IPv4 UDP's zero was found to mean NONE */
    } else if (CKSUM_LIKELY(sum_covered(fn, bytes, check, check->pseudo) == 0xffff)) {
        set_verdict(check, PACKET_GOOD, PACKET_NO_REASON);
    } else {
        judge_wrong(fn, bytes, check);
    }
}

unsigned packet_verify(cksum_fn *fn, const unsigned char *bytes, size_t captured, size_t original, unsigned link,
                       struct packet_check *checks)
{
    const unsigned n = packet_find(bytes, captured, original, link, checks);
    for (unsigned i = 0; i < n; i++) {
        packet_judge(fn, bytes, &checks[i]);
    }
    return n;
}

uint16_t packet_found(const unsigned char *bytes, const struct packet_check *check)
{
    return be16(bytes + check->field);
}

uint16_t packet_expected(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check)
{
    /* In two parts around the field, which both begin at an even distance: taking the field out of a sum that has it
     * cannot tell all-zero data from data that sums to 0xffff. */
    const uint32_t behind = check->field + 2, end = check->start + check->length;
    const uint16_t before = sum_range(fn, bytes, check, check->start, check->field - check->start, check->pseudo);
    const uint16_t sum = sum_range(fn, bytes, check, behind, end - behind, before);
    const uint16_t value = wire16((uint16_t)~sum);
    const bool zero_means_none = check->layer == PACKET_UDP || check->layer == PACKET_UDPLITE;
    return value == 0 && zero_means_none ? 0xffff : value;
}

unsigned packet_fill(cksum_fn *fn, unsigned char *bytes, size_t captured, unsigned link)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    unsigned filled = 0;
    for (unsigned i = packet_find(bytes, captured, captured, link, checks); i-- > 0;) {
        if (checks[i].covered) {
            const uint16_t value = packet_expected(fn, bytes, &checks[i]);
            bytes[checks[i].field] = (unsigned char)(value >> 8);
            bytes[checks[i].field + 1] = (unsigned char)value;
            filled++;
        }
    }
    return filled;
}
