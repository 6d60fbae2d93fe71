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

/* Finds out in which way a check that does not sum up is wrong. */
static void judge_wrong(cksum_fn *fn, const unsigned char *bytes, struct packet_check *check)
{
    const uint16_t field = cksum_load16(bytes + check->field);
    if (check->layer == PACKET_IPV4) {
        set_verdict(check, PACKET_BAD, field == 0 ? PACKET_ZERO_HEADER : PACKET_NO_REASON);
        return;
    }
    if (check->pseudo != 0) {
        const uint32_t without_length = (uint32_t)check->pseudo + (uint16_t)~check->pseudo_length;
        if (field == check->pseudo) {
            set_verdict(check, PACKET_PARTIAL, PACKET_PSEUDO_SUM);
            return;
        }
        if (field == cksum_fold32(without_length)) {
            set_verdict(check, PACKET_PARTIAL, PACKET_PSEUDO_SUM_NO_LENGTH);
            return;
        }
        if (check->layer == PACKET_VRRP && check->ip_version == 4 && sum_covered(fn, bytes, check, 0) == 0xffff) {
            set_verdict(check, PACKET_GOOD, PACKET_PLAIN_SUM);
            return;
        }
    }
    set_verdict(check, PACKET_BAD, PACKET_NO_REASON);
}

void packet_judge(cksum_fn *fn, const unsigned char *bytes, struct packet_check *check)
{
    if (!check->pending) {
        return;
    }
    check->pending = false;
    if ((check->layer == PACKET_UDP || check->layer == PACKET_UDPLITE) && cksum_load16(bytes + check->field) == 0) {
        set_verdict(check, PACKET_BAD, PACKET_ZERO_FORBIDDEN); /* over IPv4 UDP's zero was found to mean NONE */
    } else if (CKSUM_LIKELY(sum_covered(fn, bytes, check, check->pseudo) == 0xffff)) {
        set_verdict(check, PACKET_GOOD, PACKET_NO_REASON);
    } else {
        judge_wrong(fn, bytes, check);
    }
}

unsigned packet_verify(cksum_fn *fn, const unsigned char *bytes, size_t captured, size_t original, unsigned link,
                       struct packet_check *checks)
{
    const unsigned n = packet_find(bytes, captured, original, link, checks);
    for (unsigned i = 0; i < n; i++) {
        packet_judge(fn, bytes, &checks[i]);
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
    const uint16_t before = sum_range(fn, bytes, check, check->start, check->field - check->start, check->pseudo);
    const uint16_t sum = sum_range(fn, bytes, check, behind, end - behind, before);
    const uint16_t value = cksum_host_order16((uint16_t)~sum);
    const bool zero_means_none = check->layer == PACKET_UDP || check->layer == PACKET_UDPLITE;
    return value == 0 && zero_means_none ? 0xffff : value;
}

unsigned packet_fill(cksum_fn *fn, unsigned char *bytes, size_t captured, unsigned link)
{
    struct packet_check checks[PACKET_MAX_CHECKS];
    unsigned filled = 0;
    for (unsigned i = packet_find(bytes, captured, captured, link, checks); i-- > 0;) {
        if (checks[i].covered) {
            const uint16_t value = packet_expected(fn, bytes, &checks[i]);
            bytes[checks[i].field] = (unsigned char)(value >> 8);
            bytes[checks[i].field + 1] = (unsigned char)value;
            filled++;
        }
    }
    return filled;
}
