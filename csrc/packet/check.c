/* check.c: starts the check of a header: where its field is, what it covers, its pseudo header. */
#include "packet/walk.h"

static const struct {
    uint8_t header;
    uint8_t field; /* offset of the checksum field */
} layer_shape[PACKET_LAYER_COUNT] = {
    [PACKET_IPV4] = {20, 10},   [PACKET_TCP] = {20, 16},          [PACKET_UDP] = {8, 6},
    [PACKET_UDPLITE] = {8, 6},  [PACKET_ICMP] = {4, 2},           [PACKET_ICMPV6] = {4, 2},
    [PACKET_IGMP] = {8, 2},     [PACKET_DCCP] = {12, 6},          [PACKET_OSPF] = {16, 12},
    [PACKET_GRE] = {8, 4},      [PACKET_VRRP] = {8, 6},           [PACKET_SCTP] = {12, 8},
    [PACKET_PIM] = {4, 2},      [PACKET_EIGRP] = {20, 2},         [PACKET_RSVP] = {8, 2},
    [PACKET_MOBILITY] = {8, 4}, [PACKET_ICMP_EXTENSION] = {4, 2},
};

struct packet_check *packet_add_check(struct walk *w, enum packet_layer layer)
{
    if (w->n_checks == PACKET_MAX_CHECKS) {
        return NULL;
    }
    struct packet_check *check = &w->checks[w->n_checks++];
    const unsigned field = layer_shape[layer].field;
    *check = (struct packet_check){
        .layer = (uint8_t)layer,
        .status = PACKET_UNCHECKED,
        .protocol = w->protocol,
        .ip_version = w->ip_version,
        /* RFC 768, RFC 3828, RFC 2205 section 3.1.1, RFC 4884 section 7 */
        .zero_says_none =
            layer == PACKET_UDP || layer == PACKET_UDPLITE || layer == PACKET_RSVP || layer == PACKET_ICMP_EXTENSION,
        .guessed = w->guessed,
        .has_field = layer != PACKET_SCTP && packet_have(w, field + 2u), /* SCTP's has 32 bits */
        .ip = w->ip,
        .field = (uint32_t)(w->at + field),
        .start = (uint32_t)w->at,
    };
    if (w->n_checks == PACKET_MAX_CHECKS) {
        check->reason = PACKET_TOO_DEEP;
        return NULL;
    }
    return check;
}

/* What a 32-bit number in network order adds to a raw sum, folded. */
static uint16_t wire32_sum(uint32_t number)
{
    return cksum_host_order16(cksum_fold32(number)); /* swapping bytes commutes with the sum (RFC 1071 section 2B) */
}

uint16_t packet_pseudo_header(unsigned version, const unsigned char *src, const unsigned char *dst, unsigned protocol,
                              uint32_t length)
{
    uint64_t sum = (uint64_t)cksum_host_order16((uint16_t)protocol) + wire32_sum(length);
    for (unsigned i = 0; i < (version == 4 ? 4u : 16u); i += 4) {
        sum += (uint64_t)cksum_load32(src + i) + cksum_load32(dst + i); /* at most 2 * 17 + 4 bits: no carry is lost */
    }
    return cksum_fold32(cksum_fold64(sum));
}

void packet_set_pseudo(const struct walk *w, struct packet_check *check, uint64_t length)
{
    check->pseudo = packet_pseudo_header(w->ip_version, w->src, w->dst, w->protocol, (uint32_t)length);
    check->pseudo_length = wire32_sum((uint32_t)length);
}

struct packet_check *packet_transport_check(struct walk *w, enum packet_layer layer, uint64_t *length)
{
    struct packet_check *check = packet_add_check(w, layer);
    *length = w->end < w->at ? 0 : w->end - w->at;
    if (check == NULL) {
        return NULL;
    }
    check->has_field = check->has_field && !w->later_fragment;
    if (w->trouble != PACKET_NO_REASON) {
        check->reason = w->trouble;
        return NULL;
    }
    if (*length < layer_shape[layer].header) {
        check->reason = PACKET_TOO_SHORT;
        return NULL;
    }
    return check;
}

/* TCP, ICMP, ICMPv6, IGMP: all that IP carries, with a pseudo header or without. */
struct next packet_whole_payload(struct walk *w, enum packet_layer layer, bool pseudo)
{
    uint64_t length;
    struct packet_check *check = packet_transport_check(w, layer, &length);
    if (check != NULL) {
        packet_cover(check, length);
        if (pseudo) {
            packet_set_pseudo(w, check, length);
        }
    }
    return PACKET_STOP;
}
