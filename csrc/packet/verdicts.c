/* verdicts.c: the checks of a whole batch of packets, as bytes. */
#include "packet/packet.h"

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

enum packet_batch_end packet_verify_batch(cksum_fn *fn, struct packet_batch *batch)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint32_t silence;
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
        const unsigned n =
            packet_verify(fn, batch->data + offset, length, batch->originals[i], batch->links[i], checks, &silence);
        for (unsigned at = 0; at < n; at++) {
            const uint8_t code = packet_code(&checks[at]);
            batch->codes[batch->n_codes + at] = code;
            batch->counts[code]++;
        }
        if (silence != 0) {
            packet_count_silence(batch, silence);
        }
        batch->unknown += n == 0 && !packet_link_known(batch->links[i]);
        batch->n_codes += n;
        batch->per_packet[i] = (unsigned char)n;
    }
    return PACKET_BATCH_WHOLE;
}
