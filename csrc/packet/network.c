/* network.c: IPv4 and IPv6, their options and extension headers. */
#include "packet/walk.h"

/*
 * The last address of a source route that is not used up yet (RFC 791), or NULL. Options that make no sense are
 * skipped.
 */
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

static struct next ipv4(struct walk *w)
{
    struct packet_check *check;
    w->ip_version = 4;
    w->ip = (uint32_t)w->at;
    w->protocol = packet_have(w, 10) ? packet_here(w)[9] : 0;
    if (!packet_have(w, 20)) {
        w->ip_version = 0; /* no addresses to show */
    }
    check = packet_add_check(w, PACKET_IPV4);
    if (check == NULL) {
        return PACKET_STOP;
    }
    if (!packet_have(w, 20)) {
        check->reason = w->end > w->captured ? PACKET_TRUNCATED : PACKET_PAST_END;
        return PACKET_STOP;
    }
    const unsigned char *header = packet_here(w);
    const unsigned header_length = (header[0] & 15u) * 4, total = packet_be16(header + 2);
    const unsigned fragment = packet_be16(header + 6);
    if (header_length < 20 || (total != 0 && total < header_length)) {
        check->reason = PACKET_TOO_SHORT;
        return PACKET_STOP;
    }
    if (!packet_have(w, header_length)) {
        check->reason = w->end > w->captured ? PACKET_TRUNCATED : PACKET_PAST_END;
        return PACKET_STOP;
    }
    packet_cover(check, header_length);

    const uint64_t end = total == 0 ? w->end : w->at + total;
    w->length_unsaid = total == 0;
    w->later_fragment = fragment & 0x1fff;
    w->trouble = fragment & 0x3fff ? PACKET_FRAGMENT : PACKET_NO_REASON;
    if (w->trouble == PACKET_NO_REASON && end > w->captured) {
        w->trouble = end > w->end ? PACKET_PAST_END : PACKET_TRUNCATED;
    } else if (w->trouble == PACKET_NO_REASON && end > w->end) {
        w->trouble = PACKET_PAST_END;
    }
    if (end < w->end) {
        w->end = end;
    }
    w->src = header + 12;
    w->dst = header + 16;
    if (header_length > 20) {
        const unsigned char *final = source_route(header + 20, header + header_length);
        w->dst = final == NULL ? w->dst : final;
    }
    w->at += header_length;
    return packet_follow_protocol(w);
}

/* ---- IPv6 ---- */

/*
 * Looks through options for the home address (RFC 6275), which counts as the source, and the jumbo length (RFC 2675).
 */
static void ipv6_options(struct walk *w, const unsigned char *option, const unsigned char *end, uint32_t *jumbo)
{
    while (option < end) {
        if (option[0] == 0) {
            option++;
            continue;
        }
        const unsigned kind = option[0], length = end - option < 2 ? 0xffu : option[1];
        if (length > end - option - 2) {
            return;
        }
        if (kind == 0xc9 && length == 16) {
            w->src = option + 2;
        } else if (kind == 0xc2 && length == 4) {
            *jumbo = packet_be32(option + 2);
        }
        option += 2 + length;
    }
}

/*
 * The final destination of RPL's routing header (RFC 6554): the last address, whose first bytes are left out where
 * they are those of the destination in the IP header. Whether it makes sense.
 */
static bool rpl_destination(struct walk *w, const unsigned char *header, size_t length)
{
    const unsigned left = header[3], each = 16 - (header[4] >> 4), shared = header[4] & 15, last = 16 - shared;
    const unsigned padding = header[5] >> 4;
    if (length < 8 + last + padding) {
        return false;
    }
    const size_t others = length - 8 - last - padding;
    if (others % each != 0 || left > others / each + 1) {
        return false;
    }
    memcpy(w->final_dst, w->dst, shared);
    memcpy(w->final_dst + shared, header + length - padding - last, last);
    w->dst = w->final_dst;
    return true;
}

/* The final destination of a routing header of `length` bytes; the reason why it isn't known, or NO_REASON. */
static enum packet_reason ipv6_routing(struct walk *w, const unsigned char *header, size_t length)
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
        w->dst = header + 8 + 16 * (addresses - 1);
        return PACKET_NO_REASON;
    case 4: /* RFC 8754: segments in reverse order, so the final one comes first */
        if (addresses == 0) {
            return PACKET_ROUTING;
        }
        w->dst = header + 8;
        return PACKET_NO_REASON;
    case 3:
        return rpl_destination(w, header, length) ? PACKET_NO_REASON : PACKET_ROUTING;
    default:
        return PACKET_ROUTING;
    }
}

static bool ipv6_is_extension(unsigned protocol)
{
    return protocol == PROTO_HOP_BY_HOP || protocol == PROTO_ROUTING || protocol == PROTO_FRAGMENT ||
           protocol == PROTO_DESTINATION_OPTIONS || protocol == PROTO_AH;
}

static struct next ipv6(struct walk *w)
{
    const bool whole = packet_have(w, 40);
    w->ip_version = whole ? 6 : 0;
    w->ip = (uint32_t)w->at;
    w->later_fragment = false;
    w->length_unsaid = false;
    w->protocol = packet_have(w, 7) ? packet_here(w)[6] : 59;
    if (!whole) {
        w->trouble = w->end > w->captured ? PACKET_TRUNCATED : PACKET_PAST_END;
        w->at += 40;
        return ipv6_is_extension(w->protocol) ? PACKET_STOP : packet_follow_protocol(w);
    }
    const unsigned char *header = packet_here(w);
    const uint32_t payload = packet_be16(header + 4);
    const uint64_t start = w->at + 40;
    uint32_t jumbo = 0;
    w->src = header + 8;
    w->dst = header + 24;
    w->trouble = PACKET_NO_REASON;
    w->at = start;

    const uint64_t outer_end = w->end;
    if (payload != 0 && start + payload < w->end) {
        w->end = start + payload;
    }
    while (ipv6_is_extension(w->protocol) && !w->later_fragment) {
        if (!packet_have(w, 8)) {
            return PACKET_STOP; /* what it carries is not known: there is nothing to name */
        }
        header = packet_here(w);
        const unsigned length = w->protocol == PROTO_AH         ? (header[1] + 2u) * 4
                                : w->protocol == PROTO_FRAGMENT ? 8
                                                                : (header[1] + 1u) * 8;
        if (!packet_have(w, length)) {
            return PACKET_STOP;
        }
        if (w->protocol == PROTO_HOP_BY_HOP || w->protocol == PROTO_DESTINATION_OPTIONS) {
            ipv6_options(w, header + 2, header + length, &jumbo);
        } else if (w->protocol == PROTO_ROUTING) {
            const enum packet_reason reason = ipv6_routing(w, header, length);
            w->trouble = w->trouble == PACKET_NO_REASON ? (uint8_t)reason : w->trouble;
        } else if (w->protocol == PROTO_FRAGMENT) {
            const unsigned fragment = packet_be16(header + 2);
            w->later_fragment = fragment & 0xfff8;
            w->trouble = fragment & 0xfff9 ? PACKET_FRAGMENT : w->trouble; /* offset 0 and no more: a whole datagram */
        }
        w->protocol = header[0];
        w->at += length;
    }

    uint64_t end = start + payload;
    if (payload == 0) {
        w->length_unsaid = true;
        end = jumbo == 0 ? outer_end : start + jumbo;
        w->end = end < outer_end ? end : outer_end;
    }
    if (w->trouble == PACKET_NO_REASON) {
        w->trouble = end > outer_end ? PACKET_PAST_END : end > w->captured ? PACKET_TRUNCATED : PACKET_NO_REASON;
    }
    return packet_follow_protocol(w);
}

/* A check that says why nothing of the header is believed. */
static struct next not_believed(struct walk *w, enum packet_reason reason)
{
    w->ip_version = 0;
    w->protocol = 0;
    struct packet_check *check = packet_add_check(w, PACKET_IPV4);
    if (check != NULL) {
        check->reason = (uint8_t)reason;
        check->has_field = false;
    }
    return PACKET_STOP;
}

/* Where what stands before says IPv4. Where nothing is there, there would have been a checksum. */
struct next packet_ipv4(struct walk *w)
{
    const unsigned version = packet_have(w, 1) ? *packet_here(w) >> 4 : 4;
    return version == 4 ? ipv4(w) : not_believed(w, version == 6 ? PACKET_DISAGREE : PACKET_IP_VERSION);
}

/* Where what stands before says IPv6. */
struct next packet_ipv6(struct walk *w)
{
    const unsigned version = packet_have(w, 1) ? *packet_here(w) >> 4 : 0;
    if (version == 0 && !packet_have(w, 1)) {
        return PACKET_STOP;
    }
    return version == 6 ? ipv6(w) : not_believed(w, version == 4 ? PACKET_DISAGREE : PACKET_IP_VERSION);
}

/* Where only the header says which. */
struct next packet_ip(struct walk *w)
{
    return (struct next){packet_have(w, 1) && *packet_here(w) >> 4 == 6 ? packet_ipv6 : packet_ipv4};
}
