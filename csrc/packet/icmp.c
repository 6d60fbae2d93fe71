/* icmp.c: ICMP, ICMPv6, and the extension structures that their errors carry. What an error quotes is not followed. */
#include "packet/walk.h"

/* The least that an error quotes where a structure follows (RFC 4884 section 3). */
#define QUOTED 128

/* Whether objects fill the `length` bytes behind the 4 of a structure's header exactly. */
static bool objects_fit(const unsigned char *structure, uint64_t length)
{
    uint64_t at = 4;
    while (at + 4 <= length) {
        const unsigned object = packet_be16(structure + at);
        if (object < 4 || object % 4 != 0) {
            return false;
        }
        at += object;
    }
    return at == length && length > 4;
}

/* The check of an extension structure that begins `skip` bytes from here and ends with the message. */
static void extension(struct walk *w, uint64_t skip)
{
    uint64_t length;
    w->at += skip;
    struct packet_check *check = packet_transport_check(w, PACKET_ICMP_EXTENSION, &length);
    if (check == NULL) {
        return;
    }
    const unsigned char *structure = packet_here(w);
    if (structure[0] >> 4 != 2) {
        check->reason = PACKET_VERSION;
        return;
    }
    packet_cover(check, length);
    if (packet_be16(structure + 2) == 0) {
        check->status = PACKET_NONE;
        check->reason = PACKET_NOT_SENT;
        check->pending = false;
    }
}

/*
 * A structure behind the quoted packet of an error. `said`: the bytes that the message says it quotes; 0 is how it
 * was done before there was a length, when the structure stood behind 128 bytes: then it is believed if its
 * objects fit.
 */
static void extension_of_error(struct walk *w, unsigned said)
{
    const uint64_t length = w->end - w->at;
    if (said != 0 && 8u + said + 4 <= length) {
        extension(w, 8u + said);
    } else if (said == 0 && length > 8 + QUOTED + 4) {
        const unsigned char *structure = packet_here(w) + 8 + QUOTED;
        if (structure[0] == 0x20 && structure[1] == 0 && objects_fit(structure, length - 8 - QUOTED)) {
            extension(w, 8 + QUOTED);
        }
    }
}

struct next packet_icmp(struct walk *w)
{
    packet_whole_payload(w, PACKET_ICMP, false);
    if (w->trouble != PACKET_NO_REASON || !packet_have(w, 8)) {
        return PACKET_STOP;
    }
    const unsigned type = packet_here(w)[0], said = packet_here(w)[5];
    if (type == 3 || type == 11 || type == 12) {
        extension_of_error(w, 4 * said);
    } else if (type == 42 && packet_have(w, 12)) { /* an extended echo request (RFC 8335) */
        extension(w, 8);
    }
    return PACKET_STOP;
}

struct next packet_icmpv6(struct walk *w)
{
    packet_whole_payload(w, PACKET_ICMPV6, true);
    if (w->trouble != PACKET_NO_REASON || !packet_have(w, 8)) {
        return PACKET_STOP;
    }
    const unsigned type = packet_here(w)[0], said = packet_here(w)[4];
    if (type == 1 || type == 3) {
        extension_of_error(w, 8 * said);
    } else if (type == 160 && packet_have(w, 12)) {
        extension(w, 8);
    }
    return PACKET_STOP;
}
