/*
 * find.c: finds the checksums of a packet: the walk, from the link type to the first header that nothing is known of.
 */
#include "packet/walk.h"

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
