/* mend.c: mending checksum fields, one packet or a batch. What is right and what cannot be known stays as it is. */
#include "packet/mend.h"

/* Writes the field of a check as it should be. Returns whether that changes it. */
static bool write_field(cksum_fn *fn, unsigned char *bytes, const struct packet_check *check)
{
    const uint16_t value = packet_expected(fn, bytes, check);
    const bool changes = value != packet_found(bytes, check);
    bytes[check->field] = (unsigned char)(value >> 8);
    bytes[check->field + 1] = (unsigned char)value;
    return changes;
}

unsigned packet_fill(cksum_fn *fn, unsigned char *bytes, size_t captured, unsigned link)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    uint32_t silence;
    unsigned filled = 0;
    for (unsigned i = packet_find(bytes, captured, captured, link, checks, &silence); i-- > 0;) {
        filled += checks[i].covered && write_field(fn, bytes, &checks[i]);
    }
    return filled;
}

/* Whether a check that was good is so no more, now that fields inside of it were written. */
static bool was_spoilt(cksum_fn *fn, const unsigned char *bytes, struct packet_check check)
{
    check.pending = true;
    check.offloaded = 0; /* what the card would have completed stands there now */
    packet_judge(fn, bytes, &check, 1);
    return check.status != PACKET_GOOD;
}

unsigned packet_mend(cksum_fn *fn, unsigned char *bytes, size_t captured, size_t original, unsigned link,
                     unsigned statuses, struct packet_mended *mended, uint32_t *silence)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    const unsigned n = packet_verify(fn, bytes, captured, original, link, checks, silence);
    unsigned written = 0;
    for (unsigned i = n; i-- > 0;) {
        struct packet_check *check = &checks[i];
        const uint8_t code = packet_code(check);
        mended->before[code]++;
        if (check->status == PACKET_UNCHECKED) {
            mended->left[check->reason]++;
        }
        if (!check->covered) {
            continue;
        }
        const bool asked = statuses >> check->status & 1;
        if (asked || (written > 0 && check->status == PACKET_GOOD && was_spoilt(fn, bytes, *check))) {
            check->offloaded = written > 0 ? 0 : check->offloaded;
            if (write_field(fn, bytes, check)) {
                mended->changed[code]++;
                written++;
            }
        }
    }
    mended->packets += written > 0;
    return written;
}

enum packet_batch_end packet_mend_batch(cksum_fn *fn, struct packet_batch *batch, unsigned char *data,
                                        unsigned statuses, struct packet_mended *mended)
{
    for (size_t i = 0; i < batch->n; i++) {
        size_t offset;
        uint32_t length, silence;
        if (!packet_take_span(batch, i, &offset, &length)) {
            return PACKET_BATCH_BAD_SPAN;
        }
        packet_mend(fn, data + offset, length, batch->originals[i], batch->links[i], statuses, mended, &silence);
        if (silence != 0) {
            packet_count_silence(batch, silence);
        }
    }
    return PACKET_BATCH_WHOLE;
}
