/*
 * walk.h: the walk through a packet, for the files that know its protocols.
 *
 * A packet is walked from the outside in by small steps, one function a protocol. A step reads one header at w->at and
 * names the step that reads what stands behind it, which it looks up in a table; it does not call it, so that a packet
 * of a thousand headers costs a loop and no stack. Three ends are kept:
 *
 *     at          where the next header begins
 *     end         where the payload in hand ends by what the headers say: Ethernet padding and trailers lie behind it
 *     captured    where the bytes end that may be read
 *
 * Every read is preceded by packet_have(w, n), which asks for both ends. Every step moves `at` forward, so the walk
 * ends; a length that a header claims is read once into a local and is compared before it is used, so that bytes which
 * another thread changes meanwhile give a wrong verdict at worst.
 */
#ifndef CKSUM_PACKET_WALK_H
#define CKSUM_PACKET_WALK_H

#include "base/fold.h"
#include "packet/packet.h"

struct walk;

/* What comes next: a step, or NULL where the walk ends. */
struct next {
    struct next (*step)(struct walk *w);
};

#define PACKET_STOP ((struct next){NULL})

struct walk {
    const unsigned char *bytes;
    uint64_t captured;
    uint64_t at;
    uint64_t end;
    struct packet_check *checks;
    unsigned n_checks;

    uint16_t ethertype; /* of what is at `at` */
    bool guessed;       /* what lies at `at` was told by its own bytes (guess.c) */
    uint32_t silence;   /* why the walk ends, if it ends here */

    /*
     * The IP header in force. src and dst are what the pseudo header takes, which is not always what the header says.
     */
    uint8_t ip_version;
    uint8_t protocol;
    uint8_t trouble;     /* why what it carries can't be judged; NO_REASON if it can */
    bool padded;         /* the 802.11 header is padded to a multiple of 4 bytes */
    bool later_fragment; /* what it carries begins in another packet */
    bool length_unsaid;  /* the header gives no length (TSO, jumbo): what it carries need not either */
    uint32_t ip;
    const unsigned char *src;
    const unsigned char *dst;
    unsigned char final_dst[16]; /* where dst is, if no header holds it as a whole */
};

enum {
    ETHERTYPE_IPV4 = 0x0800,
    ETHERTYPE_BRIDGING = 0x6558, /* an Ethernet frame */
    ETHERTYPE_IPV6 = 0x86dd,
    ETHERTYPE_MPLS = 0x8847,
    ETHERTYPE_NSH = 0x894f,
};

/* Up to here the field for the type is the length of a frame of IEEE 802.3. */
#define PACKET_LARGEST_LENGTH 1500

enum {
    PROTO_HOP_BY_HOP = 0,
    PROTO_ICMP = 1,
    PROTO_IGMP = 2,
    PROTO_IPV4 = 4,
    PROTO_TCP = 6,
    PROTO_UDP = 17,
    PROTO_DCCP = 33,
    PROTO_IPV6 = 41,
    PROTO_ROUTING = 43,
    PROTO_FRAGMENT = 44,
    PROTO_RSVP = 46,
    PROTO_GRE = 47,
    PROTO_AH = 51,
    PROTO_ICMPV6 = 58,
    PROTO_NONE = 59,
    PROTO_DESTINATION_OPTIONS = 60,
    PROTO_EIGRP = 88,
    PROTO_OSPF = 89,
    PROTO_ETHERIP = 97,
    PROTO_PIM = 103,
    PROTO_VRRP = 112,
    PROTO_L2TP = 115,
    PROTO_SCTP = 132,
    PROTO_MOBILITY = 135,
    PROTO_UDPLITE = 136,
    PROTO_MPLS = 137,
    PROTO_ETHERNET = 143,
};

CKSUM_INLINE uint16_t packet_be16(const unsigned char *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

CKSUM_INLINE uint32_t packet_be32(const unsigned char *p)
{
    return (uint32_t)packet_be16(p) << 16 | packet_be16(p + 2);
}

/* Whether the next n bytes may be read and belong to the payload in hand. */
CKSUM_INLINE bool packet_have(const struct walk *w, uint64_t n)
{
    const uint64_t limit = w->captured < w->end ? w->captured : w->end;
    return w->at <= limit && n <= limit - w->at;
}

CKSUM_INLINE const unsigned char *packet_here(const struct walk *w)
{
    return w->bytes + w->at;
}

/* Ends the payload in hand `length` bytes behind `at`, if it does not end before. */
CKSUM_INLINE void packet_cut_to(struct walk *w, uint64_t length)
{
    if (w->at <= w->end && length < w->end - w->at) {
        w->end = w->at + length;
    }
}

/*
 * Starts the check of a layer whose header is at `at`. NULL where there are as many as fit: the last one of them then
 * has the reason PACKET_TOO_DEEP.
 */
CKSUM_HIDDEN struct packet_check *packet_add_check(struct walk *w, enum packet_layer layer);

/* Ends the walk, and says why; PACKET_STOP alone is for headers that are cut off or make no sense. */
CKSUM_INLINE struct next packet_stop(struct walk *w, enum packet_silence_kind kind, unsigned number)
{
    w->silence = (uint32_t)kind << 16 | (number & 0xffff);
    return PACKET_STOP;
}

/* The steps that other files name too: of captured.c, */
CKSUM_HIDDEN struct next packet_bsd_loopback(struct walk *w);
CKSUM_HIDDEN struct next packet_ipnet(struct walk *w);
CKSUM_HIDDEN struct next packet_linux_sll(struct walk *w);
CKSUM_HIDDEN struct next packet_linux_sll2(struct walk *w);
CKSUM_HIDDEN struct next packet_nflog(struct walk *w);
CKSUM_HIDDEN struct next packet_pflog(struct walk *w);
CKSUM_HIDDEN struct next packet_pktap(struct walk *w);
CKSUM_HIDDEN struct next packet_ppi(struct walk *w);
CKSUM_HIDDEN struct next packet_prism(struct walk *w);
CKSUM_HIDDEN struct next packet_radiotap(struct walk *w);

/* link.c, */
CKSUM_HIDDEN struct next packet_arcnet(struct walk *w);
CKSUM_HIDDEN struct next packet_arcnet_linux(struct walk *w);
CKSUM_HIDDEN struct next packet_cisco_hdlc(struct walk *w);
CKSUM_HIDDEN struct next packet_ethernet(struct walk *w);
CKSUM_HIDDEN struct next packet_fddi(struct walk *w);
CKSUM_HIDDEN struct next packet_frame_relay(struct walk *w);
CKSUM_HIDDEN struct next packet_ieee80211(struct walk *w);
CKSUM_HIDDEN struct next packet_ipoib(struct walk *w);
CKSUM_HIDDEN struct next packet_llc(struct walk *w);
CKSUM_HIDDEN struct next packet_ppp(struct walk *w);
CKSUM_HIDDEN struct next packet_ppp_or_cisco_hdlc(struct walk *w);
CKSUM_HIDDEN struct next packet_ppp_with_direction(struct walk *w);
CKSUM_HIDDEN struct next packet_pppoe(struct walk *w);
CKSUM_HIDDEN struct next packet_token_ring(struct walk *w);

/* network.c, */
CKSUM_HIDDEN struct next packet_ip(struct walk *w);
CKSUM_HIDDEN struct next packet_ipv4(struct walk *w);
CKSUM_HIDDEN struct next packet_ipv6(struct walk *w);

/* icmp.c and control.c, */
CKSUM_HIDDEN struct next packet_icmp(struct walk *w);
CKSUM_HIDDEN struct next packet_icmpv6(struct walk *w);
CKSUM_HIDDEN struct next packet_eigrp(struct walk *w);
CKSUM_HIDDEN struct next packet_igmp(struct walk *w);
CKSUM_HIDDEN struct next packet_mobility(struct walk *w);
CKSUM_HIDDEN struct next packet_ospf(struct walk *w);
CKSUM_HIDDEN struct next packet_pim(struct walk *w);
CKSUM_HIDDEN struct next packet_rsvp(struct walk *w);
CKSUM_HIDDEN struct next packet_vrrp(struct walk *w);

/* and tunnel.c. */
CKSUM_HIDDEN struct next packet_etherip(struct walk *w);
CKSUM_HIDDEN struct next packet_gre(struct walk *w);
CKSUM_HIDDEN struct next packet_l2tpv3(struct walk *w);
CKSUM_HIDDEN struct next packet_mpls_in_ip(struct walk *w);
CKSUM_HIDDEN struct next packet_nsh(struct walk *w);
CKSUM_HIDDEN struct next packet_ethernet_in_ip(struct walk *w);

/* The step of a link type. */
CKSUM_HIDDEN struct next packet_follow_link(struct walk *w, unsigned link);

/* The step behind UDP that a port names. */
CKSUM_HIDDEN struct next packet_follow_port(unsigned from, unsigned to);

/* Whether UDP over IPv6 to this port may go without a checksum. */
CKSUM_HIDDEN bool packet_port_of_tunnel(unsigned port);

/*
 * The step that w->ethertype names; up to 1500 it is the length of an IEEE 802.3 frame. The second: where it is never
 * one.
 */
CKSUM_HIDDEN struct next packet_follow_ethertype(struct walk *w);
CKSUM_HIDDEN struct next packet_follow_type(struct walk *w);

/* The step that w->protocol names, behind an IP header. */
CKSUM_HIDDEN struct next packet_follow_protocol(struct walk *w);

/*
 * Evidence, where nothing says what stands `skip` bytes behind w->at: whether it is the header of an IP packet, or of
 * an Ethernet frame with such a packet in it, whose lengths and whose sum or protocol fit (guess.c).
 */
enum packet_evidence { PACKET_NO_EVIDENCE, PACKET_WEAK_EVIDENCE, PACKET_STRONG_EVIDENCE };
CKSUM_HIDDEN enum packet_evidence packet_is_ip(struct walk *w, uint64_t skip);
CKSUM_HIDDEN bool packet_is_ethernet(struct walk *w, uint64_t skip);

/* Whether anything is known of this protocol number behind an IP header of this version. */
CKSUM_HIDDEN bool packet_protocol_known(unsigned protocol, unsigned version);

/*
 * Starts the check of a transport. *length is what IP carries of it. NULL, with the reason in the check, if nothing
 * of it can be judged.
 */
CKSUM_HIDDEN struct packet_check *packet_transport_check(struct walk *w, enum packet_layer layer, uint64_t *length);

/* Adds the pseudo header of the IP header in force, for a transport of this length. */
CKSUM_HIDDEN void packet_set_pseudo(const struct walk *w, struct packet_check *check, uint64_t length);

/* A step that covers all that IP carries, with a pseudo header or without, and follows nothing. */
CKSUM_HIDDEN struct next packet_whole_payload(struct walk *w, enum packet_layer layer, bool pseudo);

/* Makes the check one over `length` bytes from its header on, to be judged. */
CKSUM_INLINE void packet_cover(struct packet_check *check, uint64_t length)
{
    check->length = (uint32_t)length;
    check->covered = true;
    check->pending = true;
}

#endif
