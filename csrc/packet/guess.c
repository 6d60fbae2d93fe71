/*
 * guess.c: what stands behind a header that does not say what follows it, such as the last MPLS label.
 *
 * The first nibble is not enough: a MAC address may begin with 4 or 6 as well as an IP header (RFC 8469). A header is
 * believed if its lengths fit what is there and its sum or its protocol make sense too; else nothing is found, so that
 * no checksum is written into what may be an address.
 */
#include "packet/walk.h"

/* What padding to the least length of an Ethernet frame, and a frame check sequence, may add behind a packet. */
#define MOST_PADDING 50

/* Whether a packet of this length fits into `room` bytes, of which it leaves no more than padding. */
static bool fits(uint64_t length, uint64_t room)
{
    return length <= room && room - length <= MOST_PADDING;
}

static bool ipv4_sum_is_right(const unsigned char *header, unsigned length)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < length; i += 4) {
        sum += cksum_load32(header + i);
    }
    return cksum_fold32(cksum_fold64(sum)) == 0xffff;
}

static enum packet_evidence is_ipv4(const unsigned char *header, uint64_t captured, uint64_t room)
{
    const unsigned length = (header[0] & 15u) * 4, total = packet_be16(header + 2);
    const unsigned fragment = packet_be16(header + 6), ttl = header[8], protocol = header[9];
    if (length < 20 || length > captured || total > room || (total != 0 && total < length)) {
        return PACKET_NO_EVIDENCE;
    }
    if (ipv4_sum_is_right(header, length)) {
        return PACKET_STRONG_EVIDENCE;
    }
    return fits(total, room) && ttl != 0 && !(fragment & 0x8000) && packet_protocol_known(protocol, 4)
               ? PACKET_WEAK_EVIDENCE
               : PACKET_NO_EVIDENCE;
}

static enum packet_evidence is_ipv6(const unsigned char *header, uint64_t room)
{
    const unsigned payload = packet_be16(header + 4), protocol = header[6], hop_limit = header[7];
    const bool jumbo = payload == 0 && protocol == PROTO_HOP_BY_HOP;
    return (jumbo || fits(40 + payload, room)) && hop_limit != 0 && packet_protocol_known(protocol, 6)
               ? PACKET_WEAK_EVIDENCE
               : PACKET_NO_EVIDENCE;
}

enum packet_evidence packet_is_ip(struct walk *w, uint64_t skip)
{
    w->guessed = true;
    if (!packet_have(w, skip + 20)) {
        return PACKET_NO_EVIDENCE;
    }
    const unsigned char *header = packet_here(w) + skip;
    const uint64_t captured = w->captured - w->at - skip, room = w->end - w->at - skip;
    if (header[0] >> 4 == 4) {
        return is_ipv4(header, captured, room);
    }
    return header[0] >> 4 == 6 && captured >= 40 ? is_ipv6(header, room) : PACKET_NO_EVIDENCE;
}

bool packet_is_ethernet(struct walk *w, uint64_t skip)
{
    uint64_t at = skip + 12;
    w->guessed = true;
    for (unsigned tags = 0; tags < 4 && packet_have(w, at + 8); tags++) {
        const unsigned char *behind = packet_here(w) + at + 2;
        const unsigned ethertype = packet_be16(behind - 2);
        const uint64_t room = w->end - w->at - (at + 2);
        switch (ethertype) {
        case 0x8100:
        case 0x88a8:
            at += 4;
            break;
        case ETHERTYPE_IPV4:
        case ETHERTYPE_IPV6:
            return packet_is_ip(w, at + 2) != PACKET_NO_EVIDENCE &&
                   *behind >> 4 == (ethertype == ETHERTYPE_IPV4 ? 4 : 6);
        case 0x0806: /* ARP for IPv4 over Ethernet */
            return packet_be32(behind) == 0x00010800 && packet_be16(behind + 4) == 0x0604;
        case ETHERTYPE_MPLS:
            return true;
        default: /* SNAP, or the spanning tree */
            return ethertype <= 1500 && fits(ethertype, room) &&
                   (packet_be32(behind) >> 8 == 0xaaaa03 || packet_be32(behind) >> 8 == 0x424203);
        }
    }
    return false;
}
