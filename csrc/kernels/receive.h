/*
 * receive.h: the work of a receiver of one IPv4 packet with TCP or UDP in it. Only the loop `receive` knows packets;
 * those who judge them have a parser of their own, csrc/packet.
 */
#ifndef CKSUM_KERNELS_RECEIVE_H
#define CKSUM_KERNELS_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/fold.h"

#define CKSUM_SCRATCH_BYTES 65536u

/* Bytes of the IPv4 header and of the TCP or UDP header behind it, as the packet says. */
CKSUM_INLINE size_t cksum_ipv4_header(const unsigned char *packet)
{
    return 4 * (size_t)(packet[0] & 0xf);
}

CKSUM_INLINE size_t cksum_l4_header(const unsigned char *packet, const unsigned char *segment)
{
    return packet[9] == 6 ? 4 * (size_t)(segment[12] >> 4) : 8;
}

/* Whether these bytes may be received: an IPv4 packet whose headers lie inside them, no larger than the scratch. */
CKSUM_INLINE int cksum_receivable(const unsigned char *packet, size_t size)
{
    if (size < 20 || size > CKSUM_SCRATCH_BYTES || packet[0] >> 4 != 4) {
        return 0;
    }
    const size_t header = cksum_ipv4_header(packet);
    const size_t least = packet[9] == 6 ? 20 : 8;
    return header >= 20 && size >= header + least && size >= header + cksum_l4_header(packet, packet + header);
}

/*
 * Reads header lengths, protocol and addresses, sums the segment on top of its pseudo header and copies its payload
 * once. The result is made of all that was read. The packet was receivable when the loop began; its lengths are checked
 * again, as a receiver does, and each is read once, since somebody may write to it meanwhile. A packet that has become
 * wrong adds 0. scratch has CKSUM_SCRATCH_BYTES.
 */
CKSUM_INLINE uint64_t cksum_receive(cksum_fn *fn, const unsigned char *packet, size_t size, unsigned char *scratch)
{
    const size_t header = 4 * (size_t)(*(const volatile unsigned char *)packet & 0xf);
    if (CKSUM_UNLIKELY(header < 20 || size < header + 8)) {
        return 0;
    }
    const unsigned char *segment = packet + header;
    const size_t length = size - header;
    const bool is_tcp = *(const volatile unsigned char *)(packet + 9) == 6;
    const size_t l4_header =
        is_tcp && length >= 20 ? 4 * (size_t)(*(const volatile unsigned char *)(segment + 12) >> 4) : 8;
    if (CKSUM_UNLIKELY(l4_header > length)) {
        return 0;
    }
    const uint64_t pseudo = (uint64_t)cksum_load32(packet + 12) + cksum_load32(packet + 16) +
                            cksum_host_order16((uint16_t)length) + cksum_host_order16(packet[9]);
    memcpy(scratch, segment + l4_header, length - l4_header);
    return (uint64_t)fn(segment, length, cksum_fold32(cksum_fold64(pseudo))) + cksum_load32(segment);
}

#endif
