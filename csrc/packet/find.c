/*
 * find.c: finds the checksums of a packet: the walk, from the link type to the first header that nothing is known of.
 */
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

unsigned packet_header_bytes(enum packet_layer layer)
{
    return layer_shape[layer].header;
}

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

/* Where a packet of this link type begins; PACKET_STOP for one that is not known. */
static struct next first_step(unsigned link)
{
    switch (link) {
#define LINK_STEP(id, number, function)                                                                                \
    case number:                                                                                                       \
        return (struct next){function};
        PACKET_LINKS(LINK_STEP)
#undef LINK_STEP
    default:
        return PACKET_STOP;
    }
}

bool packet_link_known(unsigned link)
{
    return first_step(link).step != NULL;
}

struct next packet_follow_link(struct walk *w, unsigned link)
{
    const struct next next = first_step(link);
    return next.step != NULL ? next : packet_stop(w, PACKET_SILENT_LINK_TYPE, link);
}

unsigned packet_find(const unsigned char *bytes, size_t captured, size_t original, unsigned link,
                     struct packet_check *checks, uint32_t *end)
{
    struct walk w = {.bytes = bytes, .checks = checks};
    w.captured = captured < PACKET_MAX_BYTES ? captured : PACKET_MAX_BYTES;
    w.end = original > w.captured ? original : w.captured;

    w.silence = (uint32_t)PACKET_SILENT_CUT_OFF << 16;
    struct next next = packet_follow_link(&w, link);
    while (next.step != NULL) {
        next = next.step(&w);
    }
    *end = w.silence;
    return w.n_checks;
}
