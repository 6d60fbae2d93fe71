"""The packets of the packet tests, with what is to be said of each; run as a script, the captures in data/captures.

python tests/fixture_packets.py
"""

from __future__ import annotations

import gzip
import struct
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

from fixture_protocols import protocols
from make_fixtures import (
    AH,
    CAPTURES,
    CISCO_HDLC,
    DESTINATION_OPTIONS,
    ETHERNET,
    HOP_BY_HOP,
    LOOP,
    NULL,
    PPP,
    PPP_HDLC,
    PPPOE,
    RAW,
    SLL,
    SLL2,
    Built,
    Expect,
    Net,
    Net4,
    Net6,
    Packet,
    block,
    dccp,
    enhanced,
    ethernet,
    fragment_header,
    gre,
    home_address,
    icmp,
    icmpv6,
    igmp,
    interface,
    jumbo,
    l2tp,
    llc_frame,
    loose_source_route,
    mpls,
    option,
    ospf2,
    ospf3,
    pcap,
    plain_gre,
    pppoe,
    routing_0,
    sctp,
    section,
    segment_routing,
    sll,
    sll2,
    tcp,
    udp,
    udplite,
    unchecked,
    vrrp,
    vxlan,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class _List:
    packets: list[Packet] = field(default_factory=list)

    def add(self, name: str, link: int, built: Built, original: int | None = None) -> None:
        self.packets.append(Packet(name, link, built.data, built.expects, original))


def _ethernet_ipv4(to: _List) -> None:
    net = Net4()
    even, odd = b"hello, world", b"hello, worlds"

    def add(name: str, built: Built, original: int | None = None) -> None:
        to.add(name, ETHERNET, built if built.data[:6] == b"\2\0\0\0\0\2" else ethernet(built), original)

    for fault in ("good", "bad", "partial", "partial-tso"):
        add(f"tcp-{fault}", tcp(net, even, fault))
        add(f"udp-{fault}", udp(net, odd, fault))
        add(f"udplite-{fault}", udplite(net, odd, 0, fault))
        add(f"dccp-{fault}", dccp(net, odd, 0, fault))
    add("tcp-odd-length", tcp(net, odd))
    add("ipv4-bad", tcp(replace(net, fault="bad")))
    add("ipv4-zero", tcp(replace(net, fault="zero")))
    add("udp-none", udp(net, odd, "none"))
    add("tcp-zero-is-right", _with_sum(tcp, net, 0x0000))
    add("tcp-ffff-for-zero", _with_sum(tcp, net, 0x0000, "other"))
    add("udp-ffff-is-right", _with_sum(udp, net, 0xFFFF))
    for coverage in (8, 12, 21):
        add(f"udplite-coverage-{coverage}", udplite(net, odd, coverage))
    add("udplite-coverage-bad", udplite(net, odd, 12, "bad"))
    add("udplite-coverage-7", unchecked(udplite(net, odd, 7), "coverage", "udplite"))
    add("udplite-coverage-22", unchecked(udplite(net, odd, 22), "coverage", "udplite"))
    for coverage in (1, 3, 4):
        add(f"dccp-coverage-{coverage}", dccp(net, even, coverage))
    add("dccp-coverage-5", unchecked(dccp(net, even, 5), "coverage", "dccp"))
    for fault in ("good", "bad"):
        add(f"icmp-{fault}", icmp(net, fault=fault))
        add(f"igmp-{fault}", igmp(replace(net, dst="224.0.0.22"), fault))
        add(f"ospf2-{fault}", ospf2(replace(net, dst="224.0.0.5"), fault))
        add(f"vrrp2-{fault}", vrrp(replace(net, dst="224.0.0.18"), 2, fault))
        add(f"vrrp3-{fault}", vrrp(replace(net, dst="224.0.0.18"), 3, fault))
        add(f"gre-{fault}", gre(net, tcp(Net4("10.0.0.1", "10.0.0.2")), fault=fault))
    add("vrrp3-pseudo-header", vrrp(replace(net, dst="224.0.0.18"), 3, "pseudo"))
    add("ospf2-cryptographic", ospf2(replace(net, dst="224.0.0.5"), auth_type=2))
    add("sctp", sctp(net))
    quoted = tcp(Net4("198.51.100.20", "192.0.2.10", fault="bad"), fault="bad").data
    add("icmp-quotes-bad-packet", icmp(net, b"\3\1\0\0\0\0\0\0" + quoted))
    _ethernet_ipv4_shapes(add)
    _ethernet_tunnels(add)


def _ethernet_ipv4_shapes(add: Callable[..., None]) -> None:
    """Options, fragments, and lengths that lie."""
    net, inner4 = Net4(), Net4("10.0.0.1", "10.0.0.2")
    add("ipv4-options", tcp(replace(net, options=b"\x94\4\0\0" + b"\1" * 4)))
    route = loose_source_route("203.0.113.1", "203.0.113.99")
    add("source-route", udp(replace(net, options=route, final="203.0.113.99")))
    used_up = loose_source_route("203.0.113.1", "203.0.113.99", pointer=12)
    add("source-route-used-up", udp(replace(net, options=used_up)))
    add("source-route-behind-nop", udp(replace(net, options=b"\1" + route[:-1], final="203.0.113.99")))
    first = unchecked(udp(replace(net, fragment=0x2000)), "fragment", "udp")
    add("first-fragment", first)
    later = replace(net, fragment=0x00B9).carry(
        17, Built(b"\x11" * 40, (Expect("udp", "unchecked", reason="fragment"),))
    )
    add("later-fragment", later)
    add("later-fragment-of-tunnel", replace(net, fragment=0x00B9).carry(4, Built(tcp(inner4).data)))
    add("tso", tcp(replace(net, total=0), b"x" * 3000))
    add("tso-partial", tcp(replace(net, total=0), b"x" * 3000, "partial"))
    add("uso", udp(replace(net, total=0), b"x" * 3000, said=0))
    add("padded", ethernet(tcp(net, b"")).then(b"\0" * 6))
    add("padded-not-zero", ethernet(tcp(net, b"")).then(b"\x55\xaa\x01\x02\x03\x04"))
    small = tcp(replace(net, total=19))
    add("total-smaller-than-header", unchecked(Built(small.data, small.expects[:1]), "smaller"))
    whole = tcp(net)
    add("header-length-16", unchecked(Built(b"\x44" + whole.data[1:], whole.expects[:1]), "smaller"))
    add("ip-version-5", Built(b"\x55" + whole.data[1:], (Expect("ipv4", "unchecked", reason="version"),)))
    add("total-past-end", unchecked(tcp(replace(net, total=1500)), "past the end", "tcp"))
    add("snapped", _snapped(ethernet(tcp(net, b"x" * 100)), 60, "tcp"), 154)
    add("udp-length-too-small", unchecked(udp(net, said=7), "smaller", "udp"))
    add("udp-length-zero", unchecked(udp(net, said=0), "smaller", "udp"))
    add("udp-length-past-end", unchecked(udp(net, said=14), "past the end", "udp"))
    add("udp-shorter-than-ip", _udp_with_trailer(net))
    add(
        "tcp-cut-header",
        net.carry(6, Built(b"\0" * 19, (Expect("tcp", "unchecked", 0, None, 16, "smaller"),))),
    )
    add("ah", net.carry(51, _ah(tcp(net))))


def _ethernet_tunnels(add: Callable[..., None]) -> None:
    """Tags, labels, sessions and tunnels."""
    net, inner4, inner6 = Net4(), Net4("10.0.0.1", "10.0.0.2"), Net6("fd00::1", "fd00::2")
    add("vlan", ethernet(tcp(net), tags=[(0x8100, 7)]))
    add("qinq", ethernet(tcp(net), tags=[(0x88A8, 7), (0x8100, 8)]))
    add("old-qinq", ethernet(tcp(net), tags=[(0x9100, 7), (0x8100, 8)]))
    add("mpls", ethernet(mpls(tcp(net)), 0x8847))
    add("mpls-ipv6", ethernet(mpls(udp(inner6), 1), 0x8847))
    add("vlan-mpls", ethernet(mpls(udp(net), 3), 0x8847, tags=[(0x8100, 7)]))
    add("snap", llc_frame(udp(net), b"\xaa\xaa\3\0\0\0\x08\0").then(b"\0" * 9))
    add("snap-tso", llc_frame(tcp(replace(net, total=0)), b"\xaa\xaa\3\0\0\0\x08\0").then(b"\0" * 9))
    add("snap-bridged", llc_frame(udp(net), b"\xaa\xaa\3\0\0\xf8\x08\0"))
    add("llc-ip", llc_frame(udp(net), b"\6\6\3"))
    add("pppoe", ethernet(pppoe(tcp(net)), 0x8864))
    add("pppoe-tso", ethernet(pppoe(tcp(replace(net, total=0))), 0x8864).then(b"\1\2\3\4\5"))
    add("pppoe-ipv6", ethernet(pppoe(tcp(inner6), b"\0\x57"), 0x8864))
    add("pppoe-compressed", ethernet(pppoe(tcp(net), b"\x21"), 0x8864))
    add("ipip", net.carry(4, tcp(inner4)))
    add("ipip-inner-bad", net.carry(4, tcp(inner4, fault="bad")))
    add("6in4", net.carry(41, udp(inner6)))
    add("plain-gre", plain_gre(net, tcp(inner4)))
    add("gre-key-sequence", plain_gre(net, tcp(inner4), flags=0x3000, rest=b"\0\0\0\1\0\0\0\2"))
    add("gre-checksum-key", gre(net, udp(inner4, fault="none"), key=True))
    add("gre-ethernet", plain_gre(net, ethernet(tcp(inner4)), 0x6558))
    add("gre-checksum-ipv6", gre(net, icmpv6(inner6), 0x86DD))
    add(
        "pptp",
        plain_gre(net, tcp(inner4).behind(b"\xff\3\0\x21"), 0x880B, 0x3081, b"\0\x38\0\1\0\0\0\1\0\0\0\2"),
    )
    add("vxlan", vxlan(net, ethernet(tcp(inner4))))
    add("vxlan-checksum", vxlan(net, ethernet(tcp(inner4), tags=[(0x8100, 3)]), "good"))
    add("vxlan-gpe-ip", vxlan(net, tcp(inner6), "good", b"\x0c\0\0\2\0\0\x2a\0", 4790))
    add("vxlan-gpe-ethernet", vxlan(net, ethernet(tcp(inner4)), "good", b"\x0c\0\0\3\0\0\x2a\0", 4790))
    add("vxlan-inner-bad", vxlan(net, ethernet(udp(inner4, fault="bad"))))
    for flags in (0x0002, 0x4002, 0x4802, 0x4202):
        add(f"l2tp-{flags:04x}", l2tp(net, tcp(inner6).behind(b"\xff\3\0\x57"), flags))
    add("l2tp-control", udp(net, b"\xc8\2\0\x0c\0\0\0\0\0\0\0\0", ports=(1701, 1701)))
    add("pppoe-l2tp-ipv6-tcp", ethernet(pppoe(l2tp(net, tcp(inner6).behind(b"\0\x57"))), 0x8864))
    add("arp", ethernet(Built(b"\0\1\x08\0\6\4\0\1" + b"\0" * 20), 0x0806))


def _ethernet_ipv6(to: _List) -> None:
    net = Net6()
    odd = b"hello, worlds"

    def add(name: str, built: Built, original: int | None = None) -> None:
        to.add(name, ETHERNET, ethernet(built), original)

    for fault in ("good", "bad", "partial", "partial-tso"):
        add(f"tcp6-{fault}", tcp(net, odd, fault))
        add(f"udp6-{fault}", udp(net, odd, fault))
    zero = udp(net, odd, "none")
    right = udp(net, odd).expects[0].expected
    add(
        "udp6-zero",
        Built(zero.data, (replace(zero.expects[0], status="bad", expected=right, reason="zero"),)),
    )
    add("udp6-ffff-is-right", _with_sum(udp, net, 0xFFFF))
    add("udplite6-coverage-8", udplite(net, odd, 8))
    add("dccp6", dccp(net, odd, 2))
    for fault in ("good", "bad"):
        add(f"icmpv6-{fault}", icmpv6(net, fault=fault))
        add(f"ospf3-{fault}", ospf3(replace(net, dst="ff02::5"), fault))
        add(f"vrrp3-ipv6-{fault}", vrrp(replace(net, src="fe80::2", dst="ff02::12"), 3, fault))
    add("sctp6", sctp(net))
    add("hop-by-hop", icmpv6(replace(net, extensions=(HOP_BY_HOP,))))
    add(
        "many-extensions",
        tcp(replace(net, extensions=(HOP_BY_HOP, DESTINATION_OPTIONS, fragment_header(0, more=False)))),
    )
    way, final = ["2001:db8:2::1", "2001:db8:3::99"], "2001:db8:3::99"
    add("routing-0", tcp(replace(net, extensions=(routing_0(way, 2),), final_dst=final)))
    add("routing-0-arrived", tcp(replace(net, extensions=(routing_0(way, 0),))))
    add("srh", udp(replace(net, extensions=(segment_routing(way[::-1], 1),), final_dst=final)))
    add("srh-arrived", udp(replace(net, extensions=(segment_routing(way[::-1], 0),))))
    strange = (43, struct.pack("!BBBI", 2, 253, 1, 0) + b"\0" * 16)
    add("routing-unknown", unchecked(udp(replace(net, extensions=(strange,))), "routing", "udp"))
    add(
        "routing-0-left-too-large",
        unchecked(udp(replace(net, extensions=(routing_0(way, 3),))), "routing", "udp"),
    )
    home = "2001:db8:9::9"
    add("home-address", udp(replace(net, extensions=(home_address(home),), final_src=home)))
    add(
        "routing-2",
        udp(
            replace(
                net,
                extensions=((43, struct.pack("!BBBI", 2, 2, 1, 0) + IPv6Address(home).packed),),
                final_dst=home,
            )
        ),
    )
    add("atomic-fragment", icmpv6(replace(net, extensions=(fragment_header(0, more=False),))))
    add(
        "first-fragment6",
        unchecked(icmpv6(replace(net, extensions=(fragment_header(0, more=True),))), "fragment"),
    )
    rest = Built(b"\x11" * 40, (Expect("udp", "unchecked", reason="fragment"),))
    add("later-fragment6", replace(net, extensions=(fragment_header(181, more=False),)).carry(17, rest))
    add("ah6", tcp(replace(net, extensions=((51, AH),))))
    add("padded6", tcp(net, b"").then(b"\1\2\3\4"))
    add("jumbo", tcp(replace(net, extensions=(jumbo(8 + 20 + 70000),), payload_length=0), b"x" * 70000))
    small = (jumbo(8 + 20 + 12),)  # less than a jumbogram may be: but what the option says is what counts
    add("jumbo-padded", tcp(replace(net, extensions=small, payload_length=0)).then(b"\1\2\3\4"))
    past = (jumbo(70000),)
    add("jumbo-past-end", unchecked(tcp(replace(net, extensions=past, payload_length=0)), "past the end"))
    add("tso6", tcp(replace(net, payload_length=0), b"x" * 3000, "partial"))
    add("past-end6", unchecked(tcp(replace(net, payload_length=1400)), "past the end"))
    add("snapped6", _snapped(tcp(net, b"x" * 100), 70, "tcp"), 174)
    add("ip6ip6", net.carry(41, tcp(Net6("fd00::1", "fd00::2"))))
    add("4in6", net.carry(4, tcp(Net4("10.0.0.1", "10.0.0.2"))))
    add("gre6-checksum", gre(net, tcp(Net4("10.0.0.1", "10.0.0.2"))))
    add("vxlan6", vxlan(net, ethernet(tcp(Net4("10.0.0.1", "10.0.0.2"))), "good"))
    add("no-next-header", net.carry(59, Built(b"")))


def _other_links(to: _List) -> None:
    net4, net6 = Net4(), Net6()
    for name, built in (("tcp", tcp(net4)), ("tcp6", tcp(net6)), ("udp-bad", udp(net4, fault="bad"))):
        six = built.data[0] >> 4 == 6
        ethertype = 0x86DD if six else 0x0800
        protocol = b"\0\x57" if six else b"\0\x21"
        family = 30 if six else 2
        to.add(f"raw-{name}", RAW, built)
        to.add(f"sll-{name}", SLL, sll(built, ethertype))
        to.add(f"sll2-{name}", SLL2, sll2(built, ethertype))
        to.add(f"null-little-{name}", NULL, built.behind(struct.pack("<I", family)))
        to.add(f"null-big-{name}", NULL, built.behind(struct.pack(">I", family)))
        to.add(f"loop-{name}", LOOP, built.behind(struct.pack(">I", 24 if six else 2)))
        to.add(f"ppp-{name}", PPP, built.behind(b"\xff\3" + protocol))
        to.add(f"ppp-bare-{name}", PPP, built.behind(protocol))
        to.add(f"ppp-hdlc-{name}", PPP_HDLC, built.behind(b"\xff\3" + protocol))
        to.add(f"cisco-hdlc-{name}", CISCO_HDLC, built.behind(b"\x0f\0" + struct.pack("!H", ethertype)))
        to.add(f"pppoe-{name}", PPPOE, pppoe(built, protocol))
    to.add("sll-vlan", SLL, sll(tcp(net4).behind(b"\0\7\x08\0"), 0x8100))
    to.add("sll-llc", SLL, sll(udp(net4).behind(b"\xaa\xaa\3\0\0\0\x08\0"), 4))
    to.add("null-freebsd-tcp6", NULL, tcp(net6).behind(struct.pack("<I", 28)))


def _with_sum(make: Callable[..., Built], net: Net, value: int, fault: str = "good") -> Built:
    """A packet whose right checksum is this value; two bytes of its data make up for the rest."""
    probe = make(net, b"\0\0")
    right = next(expect.expected for expect in probe.expects if expect.layer != "ipv4")
    assert right is not None
    target = 0 if value == 0xFFFF else value
    word = (right - target) % 0xFFFF
    return make(net, struct.pack("!H", word), fault)


def _snapped(built: Built, length: int, layer: str) -> Built:
    """The first bytes of a packet; the field of the layer may be cut off."""
    expects = tuple(
        expect
        if expect.layer != layer
        else Expect(layer, "unchecked", expect.found, None, expect.offset, "truncated")
        if expect.offset is not None and expect.offset + 2 <= length
        else Expect(layer, "unchecked", reason="truncated")
        for expect in built.expects
    )
    return Built(built.data[:length], expects)


def _udp_with_trailer(net: Net4) -> Built:
    """UDP that ends before IP does: the rest is not covered."""
    whole = udp(net)
    segment = Built(whole.data[20:], (replace(whole.expects[1], offset=6),))
    return net.carry(17, segment.then(b"\x55" * 5))


def _ah(packet: Built) -> Built:
    """The transport of an IPv4 packet behind an authentication header."""
    segment = Built(
        packet.data[20:], tuple(replace(e, offset=(e.offset or 0) - 20) for e in packet.expects[1:])
    )
    return segment.behind(bytes([6]) + AH)


def basic() -> list[Packet]:
    """Those of this file."""
    to = _List()
    _ethernet_ipv4(to)
    _ethernet_ipv6(to)
    _other_links(to)
    return to.packets


def packets() -> list[Packet]:
    """Every packet, in a fixed order."""
    return basic() + protocols()


# ---- capture files ----


def pcapng(packets: list[Packet], order: str = "<") -> bytes:
    """A pcapng file in two sections, each of its own byte order, with an interface for each link type.

    Times are microseconds in the first section, and nanoseconds from an offset in the second.
    """
    half = len(packets) // 2
    other = ">" if order == "<" else "<"
    parts = []
    for turn, part, resolution in ((order, packets[:half], b""), (other, packets[half:], b"\x09")):
        links = list(dict.fromkeys(packet.link for packet in part))
        options = (
            option(turn, 9, resolution) + option(turn, 14, struct.pack(turn + "q", 1700000000))
            if resolution
            else b""
        )
        parts += [section(turn), block(turn, 4, b"\0\0\0\0")]  # a name resolution block, which is skipped
        parts += [interface(turn, link, options) for link in links]
        for i, packet in enumerate(part):
            ticks = i * 1001 if resolution else 1700000000 * 10**6 + i
            parts.append(enhanced(turn, links.index(packet.link), ticks, packet))
        parts.append(block(turn, 5, struct.pack(turn + "III", 0, 0, 0)))  # interface statistics
    return b"".join(parts)


def captured() -> dict[str, list[Packet]]:
    """The packets of each capture in tests/data/captures."""
    everything = [packet for packet in basic() if len(packet.data) < 2000]
    links = dict.fromkeys(packet.link for packet in everything)
    files = {f"link-{link}.pcap": [packet for packet in everything if packet.link == link] for link in links}
    return {**files, "protocols.pcapng": protocols(), "all.pcapng": everything, "all.pcapng.gz": everything}


def captures() -> dict[str, bytes]:
    """The bytes of each: every byte order and time resolution occurs."""
    files = {}
    for i, (name, some) in enumerate(captured().items()):
        if name.endswith(".pcap"):
            files[name] = pcap(some, some[0].link, "<>"[i % 2], nanoseconds=i % 3 == 1)
        else:
            whole = pcapng(some)
            files[name] = gzip.compress(whole, mtime=0) if name.endswith(".gz") else whole
    return files


def verdicts() -> str:
    """What is expected of the captures, for the C tests: file, packet, layer, status, found and expected in
    hexadecimal.

    "-" stands for nothing: a packet without a checksum, a field that is not there.
    """

    def words(number: int | None) -> str:
        return "-" if number is None else f"{number:04x}"

    lines = []
    for name, some in captured().items():
        for i, packet in enumerate(some):
            expects = packet.expects or (Expect("-", "-"),)
            lines += [
                f"{name} {i} {e.layer} {e.status} {words(e.found)} {words(e.expected)}" for e in expects
            ]
    return "\n".join(lines) + "\n"


def main() -> None:
    CAPTURES.mkdir(parents=True, exist_ok=True)
    for name, data in captures().items():
        (CAPTURES / name).write_bytes(data)
    (CAPTURES / "verdicts.txt").write_text(verdicts(), encoding="ascii")


if __name__ == "__main__":
    main()
