/* verdicts.c: the checks of a whole batch of packets, as bytes. */
#include "packet/walk.h"

#include <stdio.h>
#include <stdlib.h>

void packet_silence_text(uint32_t silence, char text[PACKET_SILENCE_TEXT])
{
    static const char *const reasons[PACKET_REASON_COUNT] = {
#define REASON_TEXT(id, words) [PACKET_##id] = (words),
        PACKET_REASONS(REASON_TEXT)
#undef REASON_TEXT
    };
    static const struct {
        const char *words;
        unsigned base;
    } silences[] = {
#define SILENCE_TEXT(id, words, base) [PACKET_SILENT_##id] = {words, base},
        PACKET_SILENCES(SILENCE_TEXT)
#undef SILENCE_TEXT
    };
    const unsigned kind = silence >> 16, number = silence & 0xffff;
    text[0] = 0;
    if (kind == PACKET_SILENT_UNCHECKED && number < PACKET_REASON_COUNT) {
        snprintf(text, PACKET_SILENCE_TEXT, "%s", reasons[number]);
    } else if (kind < sizeof silences / sizeof silences[0]) {
        const char *form = silences[kind].base == 16 ? "%s 0x%04x" : silences[kind].base == 10 ? "%s %u" : "%s";
        snprintf(text, PACKET_SILENCE_TEXT, form, silences[kind].words, number);
    }
}

/* Makes room for n more codes. 0, or -1 where there is no memory. */
static int reserve(struct packet_batch *batch, size_t n)
{
    if (batch->room - batch->n_codes >= n) {
        return 0;
    }
    const size_t room = 2 * batch->room + n;
    unsigned char *codes = realloc(batch->codes, room);
    if (codes == NULL) {
        return -1;
    }
    batch->codes = codes;
    batch->room = room;
    return 0;
}

void packet_count_silence(struct packet_batch *batch, uint32_t silence)
{
    size_t i = 0;
    while (i < batch->n_silences && batch->silences[i].silence != silence) {
        i++;
    }
    if (i == PACKET_MAX_SILENCES) {
        i--;
        batch->silences[i].silence = (uint32_t)PACKET_SILENT_OTHER << 16;
    } else if (i == batch->n_silences) {
        batch->n_silences++;
        batch->silences[i].silence = silence;
        batch->silences[i].packets = 0;
    }
    batch->silences[i].packets++;
}

/* Whether the n bytes of TCP, or of UDP that is no tunnel, are right; pseudo: the addresses' words. */
static bool plain_transport(cksum_fn *fn, const unsigned char *p, unsigned n, unsigned protocol, uint64_t pseudo)
{
    const bool udp = protocol == PROTO_UDP;
    if (n < (udp ? 8u : 20u) || (udp && (packet_be16(p + 4) != n || cksum_load16(p + 6) == 0 ||
                                         packet_follow_port(packet_be16(p), packet_be16(p + 2)).step != NULL))) {
        return false;
    }
    const uint64_t sum = pseudo + cksum_host_order16((uint16_t)protocol) + cksum_host_order16((uint16_t)n);
    /* A kernel of the past holds only for start values of 16 bits. */
    return cksum_fold32(fn(p, n, cksum_fold32(cksum_fold64(sum)))) == 0xffff;
}

/*
 * How many checks a packet has if it is what most are and each of them is right: Ethernet, then IPv4 without options
 * and fragments or IPv6 without extension headers, then TCP or UDP. Else 0: the walk finds the same where this gives
 * a number, and what is wrong where it doesn't. With it a packet of the Internet mix is judged in 38 ns, with the walk
 * alone in 59 (AMD Zen 3, gcc 12.2, 2026-12-01).
 */
static unsigned plain_checks(cksum_fn *fn, const unsigned char *frame, size_t captured, unsigned char *codes)
{
    const unsigned char *ip = frame + 14;
    unsigned n = 0, protocol, header, payload;
    uint64_t addresses = 0;
    if (captured < 14 + 28) {
        return 0;
    }
    if (packet_be16(frame + 12) == ETHERTYPE_IPV4 && ip[0] == 0x45) {
        const uint64_t first = (uint64_t)cksum_load32(ip) + cksum_load32(ip + 4) + cksum_load32(ip + 8);
        const unsigned total = packet_be16(ip + 2);
        addresses = (uint64_t)cksum_load32(ip + 12) + cksum_load32(ip + 16);
        if (total < 20 || (packet_be16(ip + 6) & 0x3fff) != 0 ||
            cksum_fold32(cksum_fold64(first + addresses)) != 0xffff) {
            return 0;
        }
        codes[n++] = PACKET_CODE(PACKET_IPV4, PACKET_GOOD);
        protocol = ip[9];
        header = 20;
        payload = total - 20;
    } else if (packet_be16(frame + 12) == ETHERTYPE_IPV6 && ip[0] >> 4 == 6 && captured >= 14 + 40) {
        for (unsigned i = 8; i < 40; i += 4) {
            addresses += cksum_load32(ip + i);
        }
        protocol = ip[6];
        header = 40;
        payload = packet_be16(ip + 4);
    } else {
        return 0;
    }
    if ((protocol != PROTO_TCP && protocol != PROTO_UDP) || 14 + header + payload > captured ||
        !plain_transport(fn, ip + header, payload, protocol, addresses)) {
        return 0;
    }
    codes[n++] = PACKET_CODE(protocol == PROTO_TCP ? PACKET_TCP : PACKET_UDP, PACKET_GOOD);
    return n;
}

/* The checks of packet i of the batch, at offset and of that length: their codes, counted. How many. */
static unsigned verify_one(cksum_fn *fn, struct packet_batch *batch, size_t i, size_t offset, uint32_t length)
{
    const unsigned char *bytes = batch->data + offset;
    unsigned char *codes = batch->codes + batch->n_codes;
    unsigned n = batch->links[i] == PACKET_LINK_ETHERNET ? plain_checks(fn, bytes, length, codes) : 0;
    if (n == 0) {
        struct packet_check checks[PACKET_MAX_CHECKS];
        uint32_t silence;
        n = packet_verify(fn, bytes, length, batch->originals[i], batch->links[i], checks, &silence);
        for (unsigned at = 0; at < n; at++) {
            codes[at] = packet_code(&checks[at]);
        }
        if (silence != 0) {
            packet_count_silence(batch, silence);
        }
        batch->unknown += n == 0 && !packet_link_known(batch->links[i]);
    }
    for (unsigned at = 0; at < n; at++) {
        batch->counts[codes[at]]++;
    }
    return n;
}

enum packet_batch_end packet_verify_batch(cksum_fn *fn, struct packet_batch *batch)
{
    if (reserve(batch, 3 * batch->n + PACKET_MAX_CHECKS) < 0) {
        return PACKET_BATCH_NO_MEMORY;
    }
    for (size_t i = 0; i < batch->n; i++) {
        size_t offset;
        uint32_t length;
        if (!packet_take_span(batch, i, &offset, &length)) {
            return PACKET_BATCH_BAD_SPAN;
        }
        if (reserve(batch, PACKET_MAX_CHECKS) < 0) {
            return PACKET_BATCH_NO_MEMORY;
        }
        const unsigned n = verify_one(fn, batch, i, offset, length);
        batch->n_codes += n;
        batch->per_packet[i] = (unsigned char)n;
    }
    return PACKET_BATCH_WHOLE;
}
