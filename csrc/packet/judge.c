/*
 * judge.c: sums, verdicts, and filling in.
 *
 * A sum with the field in place must be 0xffff. Computing the field anew and comparing refuses packets that are right,
 * because 0x0000 and 0xffff are the same number in ones' complement.
 */
#include "packet/walk.h"

/* The folded raw sum of bytes[start..start+length) less the hole of the check. */
static uint16_t sum_range(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check, uint32_t start,
                          uint32_t length, uint32_t initial)
{
    const uint32_t end = start + length, hole_end = check->hole + check->hole_length;
    if (check->hole_length == 0 || check->hole >= end || hole_end <= start) {
        return cksum_fold32(fn(bytes + start, length, initial));
    }
    const uint32_t sum = cksum_fold32(fn(bytes + start, check->hole - start, initial));
    return cksum_fold32(fn(bytes + hole_end, end - hole_end, sum));
}

/* The folded raw sum of an IPv4 header without options, which is most of them: a call less. */
static uint16_t sum_20(const unsigned char *p)
{
    const uint64_t sum = (uint64_t)cksum_load32(p) + cksum_load32(p + 4) + cksum_load32(p + 8) + cksum_load32(p + 12) +
                         cksum_load32(p + 16);
    return cksum_fold32(cksum_fold64(sum));
}

/* The folded raw sum of all that the check covers, the field in place. */
static uint16_t sum_covered(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check,
                            uint16_t initial)
{
    if (check->layer == PACKET_IPV4 && check->length == 20) {
        return sum_20(bytes + check->start);
    }
    return sum_range(fn, bytes, check, check->start, check->length, initial);
}

static void set_verdict(struct packet_check *check, enum packet_status status, enum packet_reason reason)
{
    check->status = (uint8_t)status;
    check->reason = (uint8_t)reason;
}

/* Whether a VRRP version 3 packet over IPv4 is right with the pseudo header that RFC 9568 leaves out. */
static bool right_with_pseudo(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check)
{
    if (check->layer != PACKET_VRRP || check->ip_version != 4 || bytes[check->start] >> 4 != 3) {
        return false;
    }
    const unsigned char *ip = bytes + check->ip;
    const uint16_t pseudo = packet_pseudo_header(4, ip + 12, ip + 16, check->protocol, check->length);
    return sum_covered(fn, bytes, check, pseudo) == 0xffff;
}

/* Whether a check is right over the other bytes that some cover; the pseudo header, if any, has that length then. */
static bool right_over_other_length(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check)
{
    const uint16_t other = cksum_host_order16(cksum_fold32(check->other_length));
    const uint32_t pseudo = check->pseudo == 0 ? 0 : (uint32_t)check->pseudo + (uint16_t)~check->pseudo_length + other;
    return sum_range(fn, bytes, check, check->start, check->other_length, cksum_fold32(pseudo)) == 0xffff;
}

/* Finds out in which way a check that does not sum up is wrong. */
static void judge_wrong(cksum_fn *fn, const unsigned char *bytes, struct packet_check *check)
{
    const uint16_t field = cksum_load16(bytes + check->field);
    const uint32_t without_length = (uint32_t)check->pseudo + (uint16_t)~check->pseudo_length;
    if (check->layer == PACKET_IPV4) {
        set_verdict(check, PACKET_BAD, field == 0 ? PACKET_ZERO_HEADER : PACKET_NO_REASON);
    } else if (check->pseudo != 0 && field == check->pseudo) {
        set_verdict(check, PACKET_PARTIAL, PACKET_PSEUDO_SUM);
    } else if (check->pseudo != 0 && field == cksum_fold32(without_length)) {
        set_verdict(check, PACKET_PARTIAL, PACKET_PSEUDO_SUM_NO_LENGTH);
    } else if (check->other_length != 0 && right_over_other_length(fn, bytes, check)) {
        set_verdict(check, PACKET_GOOD, PACKET_WHOLE_REGISTER);
    } else if (right_with_pseudo(fn, bytes, check)) {
        set_verdict(check, PACKET_GOOD, PACKET_WITH_PSEUDO);
    } else {
        set_verdict(check, PACKET_BAD, PACKET_NO_REASON);
    }
}

static void judge_one(cksum_fn *fn, const unsigned char *bytes, struct packet_check *check)
{
    check->pending = false;
    if ((check->layer == PACKET_UDP || check->layer == PACKET_UDPLITE) && cksum_load16(bytes + check->field) == 0) {
        set_verdict(check, PACKET_BAD, PACKET_ZERO_FORBIDDEN); /* where it is allowed, NONE was found */
    } else if (CKSUM_LIKELY(sum_covered(fn, bytes, check, check->pseudo) == 0xffff)) {
        set_verdict(check, PACKET_GOOD, PACKET_NO_REASON);
    } else {
        judge_wrong(fn, bytes, check);
    }
}

/*
 * Tries a BAD check once more with each PARTIAL segment inside completed: a sender that leaves the inner checksum to
 * the card (Linux' local checksum offload) makes the outer one for the packet that the card sends. A segment whose
 * checksum is right sums, with its pseudo header, to 0xffff; so its own sum is the complement of that pseudo header.
 */
static void judge_offloaded(cksum_fn *fn, const unsigned char *bytes, struct packet_check *outer,
                            const struct packet_check *inner, unsigned n)
{
    const uint32_t outer_end = outer->start + outer->length;
    uint32_t completed_to = outer->start, change = 0;
    for (unsigned i = 0; i < n; i++) {
        const uint32_t end = inner[i].start + inner[i].length;
        if (inner[i].status == PACKET_PARTIAL && inner[i].start >= completed_to && end <= outer_end) {
            const uint16_t sum = sum_covered(fn, bytes, &inner[i], 0);
            const uint16_t gain = cksum_fold32((uint32_t)(uint16_t)~sum + (uint16_t)~inner[i].pseudo);
            const bool odd = (inner[i].start - outer->start) & 1;
            change = cksum_fold32(change + (odd ? cksum_swap16(gain) : gain)); /* RFC 1071 section 2B */
            completed_to = end;
        }
    }
    if (completed_to > outer->start && sum_covered(fn, bytes, outer, cksum_fold32(change + outer->pseudo)) == 0xffff) {
        set_verdict(outer, PACKET_GOOD, PACKET_OFFLOADED);
        outer->offloaded = (uint16_t)change;
    }
}

void packet_judge(cksum_fn *fn, const unsigned char *bytes, struct packet_check *checks, unsigned n)
{
    unsigned partial = 0; /* one past the last */
    for (unsigned i = 0; i < n; i++) {
        if (checks[i].pending) {
            judge_one(fn, bytes, &checks[i]);
            partial = checks[i].status == PACKET_PARTIAL ? i + 1 : partial;
        }
    }
    for (unsigned i = 0; i + 1 < partial; i++) {
        if (checks[i].status == PACKET_BAD && checks[i].reason == PACKET_NO_REASON && checks[i].layer != PACKET_IPV4) {
            judge_offloaded(fn, bytes, &checks[i], &checks[i + 1], partial - i - 1);
        }
    }
}

unsigned packet_verify(cksum_fn *fn, const unsigned char *bytes, size_t captured, size_t original, unsigned link,
                       struct packet_check *checks, uint32_t *silence)
{
    const unsigned n = packet_find(bytes, captured, original, link, checks, silence);
    packet_judge(fn, bytes, checks, n);
    for (unsigned i = 0; i < n; i++) {
        *silence = (uint32_t)PACKET_SILENT_UNCHECKED << 16 | checks[i].reason;
        if (checks[i].status != PACKET_UNCHECKED) {
            *silence = 0;
            break;
        }
    }
    return n;
}

uint16_t packet_found(const unsigned char *bytes, const struct packet_check *check)
{
    return packet_be16(bytes + check->field);
}

uint16_t packet_expected(cksum_fn *fn, const unsigned char *bytes, const struct packet_check *check)
{
    /* In two parts around the field, which both begin at an even distance: taking the field out of a sum that has it
     * cannot tell all-zero data from data that sums to 0xffff. */
    const uint32_t behind = check->field + 2, end = check->start + check->length;
    const uint32_t initial = (uint32_t)check->pseudo + check->offloaded;
    const uint16_t before =
        sum_range(fn, bytes, check, check->start, check->field - check->start, cksum_fold32(initial));
    const uint16_t sum = sum_range(fn, bytes, check, behind, end - behind, before);
    const uint16_t value = cksum_host_order16((uint16_t)~sum);
    return value == 0 && check->zero_says_none ? 0xffff : value;
}
