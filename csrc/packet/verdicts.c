/* verdicts.c: the checks of a whole batch of packets, as bytes. */
#include "packet/packet.h"

#include <stdlib.h>

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

enum packet_batch_end packet_verify_batch(cksum_fn *fn, struct packet_batch *batch)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    if (reserve(batch, 3 * batch->n + PACKET_MAX_CHECKS) < 0) {
        return PACKET_BATCH_NO_MEMORY;
    }
    for (size_t i = 0; i < batch->n; i++) {
        const int64_t offset = batch->offsets[i];
        const uint32_t length = batch->lengths[i];
        if (offset < 0 || (uint64_t)offset > batch->size || length > batch->size - (uint64_t)offset) {
            batch->bad_index = i;
            batch->bad_offset = offset;
            batch->bad_length = length;
            return PACKET_BATCH_BAD_SPAN;
        }
        if (reserve(batch, PACKET_MAX_CHECKS) < 0) {
            return PACKET_BATCH_NO_MEMORY;
        }
        const unsigned n =
            packet_verify(fn, batch->data + offset, length, batch->originals[i], batch->links[i], checks);
        for (unsigned at = 0; at < n; at++) {
            const uint8_t code = packet_code(&checks[at]);
            batch->codes[batch->n_codes + at] = code;
            batch->counts[code]++;
        }
        batch->unknown += n == 0 && !packet_link_known(batch->links[i]);
        batch->n_codes += n;
        batch->per_packet[i] = (unsigned char)n;
    }
    return PACKET_BATCH_WHOLE;
}
