/*
 * records.h: the columns into which a capture file is read. ROOM, how many records they take, is the includer's.
 */
#ifndef CKSUM_TESTS_RECORDS_H
#define CKSUM_TESTS_RECORDS_H

#include "packet/pcap.h"

struct columns {
    int64_t offsets[ROOM];
    uint32_t lengths[ROOM];
    uint32_t originals[ROOM];
    int64_t times[ROOM];
    uint16_t links[ROOM];
    int64_t frames[ROOM];
    size_t n;
};

/* The columns from the n-th on, at most `room` of them. */
static inline struct pcap_records columns_from(struct columns *columns, size_t room)
{
    const size_t n = columns->n, left = ROOM - n;
    return (struct pcap_records){.offsets = columns->offsets + n,
                                 .lengths = columns->lengths + n,
                                 .original_lengths = columns->originals + n,
                                 .times = columns->times + n,
                                 .links = columns->links + n,
                                 .frames = columns->frames + n,
                                 .room = room < left ? room : left};
}

#endif
