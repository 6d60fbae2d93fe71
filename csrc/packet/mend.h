/*
 * mend.h: wrong checksum fields of packets, written as they should be.
 */
#ifndef CKSUM_PACKET_MEND_H
#define CKSUM_PACKET_MEND_H

#include "packet/packet.h"

/* What was found in packets and done to them; all go up. */
struct packet_mended {
    uint64_t *before;  /* 256: checks of each code, as they were */
    uint64_t *changed; /* 256: fields written, by the code that the check had */
    uint64_t *left;    /* 256: checks that could not be judged, by enum packet_reason */
    uint64_t packets;  /* in which a field was written */
};

/*
 * Writes the fields whose status is in the set (bit 1 << status), the innermost first; and those of good checks that
 * cover one which was written and would not be good any more. Returns how many were written; *silence as packet_verify
 * has it.
 */
CKSUM_HIDDEN unsigned packet_mend(cksum_fn *fn, unsigned char *bytes, size_t captured, size_t original, unsigned link,
                                  unsigned statuses, struct packet_mended *mended, uint32_t *silence);

/* The same for a batch, whose bytes are at data. Of the batch, codes, counts and per_packet are not used. */
CKSUM_HIDDEN enum packet_batch_end packet_mend_batch(cksum_fn *fn, struct packet_batch *batch, unsigned char *data,
                                                     unsigned statuses, struct packet_mended *mended);

#endif
