"""More packets for the packet tests: control protocols, tunnels, and link types, each good, bad, and with lengths that
lie.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from ipaddress import IPv6Address

from make_fixtures import (
    ETHERNET,
    Built,
    Expect,
    Net,
    Net4,
    Net6,
    Packet,
    checked,
    ethernet,
    gre,
    mpls,
    plain_gre,
    tcp,
    udp,
    unchecked,
    vxlan,
)

INNER4, INNER6 = Net4("10.0.0.1", "10.0.0.2"), Net6("fd00::1", "fd00::2")


# control protocols


def pim(net: Net, fault: str = "good", kind: int = 0) -> Built:
    """Version 2: Hello. A pseudo header over IPv6."""
    body = bytes([0x20 | kind]) + b"\0\0\0" + b"\0\1\0\2\0\x69\0\x14\0\4\x12\x34\x56\x78\0"
    return net.carry(103, checked("pim", body, 2, _pseudo6(net, 103, len(body)), fault))


def _pseudo6(net: Net, protocol: int, length: int) -> bytes:
    return net.pseudo(protocol, length) if net.version == 6 else b""


def register(net: Net, inner: Built, fault: str = "good", *, whole: bool = False) -> Built:
    """A PIM Register, whose sum covers 8 bytes; or all of it, as some routers do."""
    head = b"\x21\0\0\0\0\0\0\0"
    body = head + inner.data if whole else head
    built = checked("pim", body, 2, _pseudo6(net, 103, len(body)), fault)
    if whole:
        eight = checked("pim", head, 2, _pseudo6(net, 103, 8)).expects[0].found
        built = Built(built.data, (replace(built.expects[0], expected=eight, reason="whole Register"),))
    return net.carry(103, inner.behind(built.data[:8], *built.expects))


def eigrp(net: Net, fault: str = "good") -> Built:
    body = struct.pack("!BBHIIIHH", 2, 5, 0, 0, 0, 0, 0, 100) + b"\0\1\0\x0c\1\0\1\0\0\0\0\x0f"
    return net.carry(88, checked("eigrp", body, 2, b"", fault))


def rsvp(net: Net, fault: str = "good", said: int | None = None) -> Built:
    """A Hello with one object."""
    objects = struct.pack("!HBBII", 12, 22, 1, 0x01020304, 0)
    body = struct.pack("!BBHBBH", 0x10, 20, 0, 64, 0, 8 + len(objects) if said is None else said) + objects
    if fault == "none":
        return net.carry(46, Built(body, (Expect("rsvp", "none", 0, None, 2, "made no checksum"),)))
    return net.carry(46, checked("rsvp", body, 2, b"", fault))


def mobility(net: Net6, fault: str = "good", words: int = 1) -> Built:
    """A binding update."""
    body = bytes([59, words, 5, 0, 0, 0]) + struct.pack("!HHH", 7, 0xC000, 60) + b"\1\2\0\0"
    return net.carry(135, checked("mobility", body, 4, net.pseudo(135, len(body)), fault))


def quoted(length: int, net: Net = INNER4) -> bytes:
    return tcp(net, b"q" * 200).data[:length]


MPLS_OBJECT = b"\0\x08\1\1\0\1\x31\x0b"


def extension(fault: str = "good", objects: bytes = MPLS_OBJECT, version: int = 2) -> Built:
    body = bytes([version << 4, 0, 0, 0]) + objects
    if fault == "none":
        return Built(body, (Expect("icmp_extension", "none", 0, None, 2, "made no checksum"),))
    return checked("icmp_extension", body, 2, b"", fault)


def icmp_error(
    net: Net, structure: Built, fault: str = "good", *, quote: int = 128, said: int | None = None
) -> Built:
    """Time exceeded, with what it quotes and a structure behind."""
    six = net.version == 6
    units = quote // (8 if six else 4) if said is None else said
    head = bytes([3, 0, 0, 0, units, 0, 0, 0]) if six else bytes([11, 0, 0, 0, 0, units, 0, 0])
    body = head + quoted(quote, INNER6 if six else INNER4) + structure.data
    layer = "icmpv6" if six else "icmp"
    whole = checked(layer, body, 2, _pseudo6(net, 58, len(body)), fault)
    moved = structure.behind(b"\0" * (8 + quote)).expects
    return net.carry(58 if six else 1, Built(whole.data, (*whole.expects, *moved)))


def _control(add: _Add) -> None:
    four, six = Net4(dst="224.0.0.13"), Net6(src="fe80::1", dst="ff02::d")
    for net, mark in ((four, ""), (six, "6")):
        for fault in ("good", "bad"):
            add(f"pim{mark}-{fault}", pim(net, fault))
            add(f"eigrp{mark}-{fault}", eigrp(net, fault))
            add(f"rsvp{mark}-{fault}", rsvp(net, fault))
            add(f"pim{mark}-register-{fault}", register(net, tcp(INNER4), fault))
            for good, structure in ((True, extension(fault)), (False, extension())):
                add(
                    f"icmp{mark}-extension-{fault}-{good}",
                    icmp_error(net, structure, "good" if good else fault),
                )
        add(f"pim{mark}-register-whole", register(net, udp(INNER6), whole=True))
        add(f"rsvp{mark}-none", rsvp(net, "none"))
        add(f"rsvp{mark}-length-7", unchecked(rsvp(net, said=7), "smaller", "rsvp"))
        add(f"rsvp{mark}-length-21", unchecked(rsvp(net, said=21), "past the end", "rsvp"))
        add(f"icmp{mark}-extension-none", icmp_error(net, extension("none")))
        add(f"icmp{mark}-extension-odd-version", icmp_error(net, unchecked(extension(version=1), "version")))
        add(
            f"icmp{mark}-extension-two-objects", icmp_error(net, extension(objects=MPLS_OBJECT + b"\0\4\2\1"))
        )
        add(f"icmp{mark}-extension-unsaid", icmp_error(net, extension(), said=0))
        no_structure = Built(extension(objects=b"\0\x09\1\1\0\1\x31\x0b").data)
        add(f"icmp{mark}-no-extension", icmp_error(net, no_structure, said=0))
        add(f"icmp{mark}-extension-past-end", icmp_error(net, Built(extension().data), said=255))
    old = Built(pim(four).data[:20] + b"\x10" + pim(four).data[21:], pim(four).expects)
    add("pim-version-1", unchecked(old, "version", "pim"))
    add("pim-null-register", four.carry(103, checked("pim", b"\x21\0\0\0\x40\0\0\0", 2).then(bytes(20))))
    for fault in ("good", "bad"):
        dummy = replace(INNER4, fault=fault).carry(103, Built(b""))
        null = checked("pim", b"\x21\0\0\0\x40\0\0\0", 2)
        add(f"pim-null-register-{fault}", four.carry(103, dummy.behind(null.data, *null.expects)))
    other = eigrp(four)
    add(
        "eigrp-version-1",
        unchecked(Built(other.data[:20] + b"\1" + other.data[21:], other.expects), "version", "eigrp"),
    )
    strange = rsvp(four)
    add(
        "rsvp-version-2",
        unchecked(Built(strange.data[:20] + b"\x20" + strange.data[21:], strange.expects), "version", "rsvp"),
    )
    request = b"\x2a\0\0\0\0\1\1\0"
    both = extension(objects=b"\0\x08\3\1eth0")
    whole = checked("icmp", request + both.data, 2)
    add(
        "icmp-extended-echo",
        four.carry(1, Built(whole.data, (*whole.expects, *both.behind(request).expects))),
    )
    for fault in ("good", "bad"):
        add(f"mobility-{fault}", mobility(Net6(), fault))
    home = IPv6Address("2001:db8:9::9")
    option = (60, b"\2\1\2\0\0\xc9\x10" + home.packed)
    add("mobility-home-address", mobility(Net6(extensions=(option,), final_src=str(home))))
    add("mobility-past-end", unchecked(mobility(Net6(), words=2), "past the end", "mobility"))


# tunnels


def geneve(net: Net, inner: Built, ethertype: int, options: bytes = b"", *, second: int = 0) -> Built:
    header = struct.pack("!BBHI", len(options) // 4, second, ethertype, 0x700) + options
    return udp(net, inner.behind(header), ports=(50000, 6081))


def gtp(net: Net, inner: Built, flags: int = 0x30, optional: bytes = b"", *, kind: int = 255) -> Built:
    length = len(optional) + len(inner.data)
    return udp(net, inner.behind(struct.pack("!BBHI", flags, kind, length, 7) + optional), ports=(2152, 2152))


def _tunnels(add: _Add) -> None:
    frame = ethernet(tcp(INNER4))
    for net, mark in ((Net4(), ""), (Net6(), "6")):
        for fault in ("good", "bad"):
            one = tcp(INNER4, fault=fault)
            add(f"geneve{mark}-ip-{fault}", geneve(net, one, 0x0800))
            add(f"geneve{mark}-ethernet-{fault}", geneve(net, ethernet(one), 0x6558, b"\1\2\x80\1\0\0\0\7"))
            add(f"gtp{mark}-{fault}", gtp(net, one))
            add(f"etherip{mark}-{fault}", net.carry(97, ethernet(one).behind(b"\x30\0")))
            add(f"mpls{mark}-in-ip-{fault}", net.carry(137, mpls(one)))
            add(f"mpls{mark}-in-udp-{fault}", udp(net, mpls(one), ports=(1, 6635)))
            add(f"ethernet{mark}-in-ip-{fault}", net.carry(143, ethernet(one)))
            add(
                f"lisp{mark}-{fault}",
                udp(net, one.behind(b"\0" * 8), "none" if not mark else "good", ports=(1, 4341)),
            )
            add(f"gue{mark}-{fault}", udp(net, one.behind(b"\0\4\0\0"), ports=(1, 6080)))
            add(f"gue{mark}-options-{fault}", udp(net, one.behind(b"\2\4\0\0" + bytes(8)), ports=(1, 6080)))
            add(f"gue{mark}-direct-{fault}", udp(net, one, ports=(1, 6080)))
            add(f"gre{mark}-in-udp-{fault}", udp(net, _bare_gre(one), ports=(1, 4754)))
        add(f"geneve{mark}-control", geneve(net, Built(b"\0" * 20), 0x0800, second=0x80))
        add(f"gue{mark}-control", udp(net, Built(b"\x20\4\0\0" + tcp(INNER4).data), ports=(1, 6080)))
        add(f"gue{mark}-tcp", udp(net, Built(b"\0\6\0\0" + tcp(INNER4).data[20:]), ports=(1, 6080)))
        add(f"fou{mark}-no-ip", udp(net, b"\x45" + bytes(range(60)), ports=(1, 5555)))
        add(f"gtp{mark}-sequence", gtp(net, tcp(INNER6), 0x32, b"\0\1\0\0"))
        add(
            f"gtp{mark}-extensions",
            gtp(net, tcp(INNER4), 0x34, b"\0\0\0\x85\1\x10\7\xc0" + b"\2\1\2\3\4\5\6\0"),
        )
        add(f"gtp{mark}-ethernet", gtp(net, frame))
        add(f"gtp{mark}-echo", gtp(net, Built(b"\0\1\0\0"), 0x32, kind=1))
        add(f"gtp{mark}-extension-of-0", gtp(net, Built(b"\0" * 8), 0x34, b"\0\0\0\x85\0\0\0\0"))
        add(f"etherip{mark}-other-half", net.carry(97, frame.behind(b"\3\0")))
        for cookie in (b"", b"\1\2\3\4", b"\1\2\3\4\5\6\7\x08", b"\1\2\3\4\5\6\7\x08\0\0\0\0"):
            add(f"l2tpv3{mark}-{len(cookie)}", net.carry(115, frame.behind(b"\0\0\0\7" + cookie)))
        add(f"l2tpv3{mark}-control", net.carry(115, Built(b"\0\0\0\0\xc8\3\0\x14" + b"\0" * 12)))
        add(f"l2tpv3{mark}-untold", net.carry(115, Built(b"\0\0\0\7" + bytes(range(60)))))
        add(f"l2tpv3{mark}-udp", udp(net, frame.behind(b"\0\3\0\0\0\0\0\7"), ports=(1701, 1701)))
        add(f"erspan1{mark}", plain_gre(net, frame, 0x88BE))
        add(
            f"erspan2{mark}", plain_gre(net, frame.behind(b"\x10\1\0\1\0\0\0\2"), 0x88BE, 0x1000, b"\0\0\0\1")
        )
        third = b"\x20\1\0\1\0\0\0\2\0\0\0\0"
        add(f"erspan3{mark}", plain_gre(net, frame.behind(third), 0x22EB, 0x1000, b"\0\0\0\1"))
        longer = third[:-1] + b"\1" + b"\0" * 8
        add(f"erspan3{mark}-subheader", plain_gre(net, frame.behind(longer), 0x22EB, 0x1000, b"\0\0\0\1"))
        add(
            f"erspan3{mark}-ip",
            plain_gre(net, tcp(INNER4).behind(third[:-2] + b"\x08\0"), 0x22EB, 0x1000, b"\0\0\0\1"),
        )
        add(f"wccp{mark}", plain_gre(net, tcp(INNER4).behind(b"\0\0\0\0"), 0x883E))
        add(f"wccp{mark}-old", plain_gre(net, tcp(INNER4), 0x883E))
        add(f"gre{mark}-mpls-ethernet", gre(net, mpls(frame), 0x8847))
        add(f"vxlan-gpe{mark}-nsh", vxlan(net, nsh(tcp(INNER4), 1), "good", b"\x0c\0\0\4\0\0\x2a\0", 4790))
        add(f"lisp{mark}-generic", udp(net, frame.behind(b"\x04\0\0\0\0\0\0\3"), ports=(1, 4341)))
    teredo = tcp(Net6("2001:0:1:2::1", "2001:0:3:4::1"))
    origin, authentication = b"\0\0\x12\x34\1\2\3\4", b"\0\1\3\4abcdefg" + b"\0" * 9
    for name, head in (
        ("", b""),
        ("-origin", origin),
        ("-authentication", authentication),
        ("-both", authentication + origin),
    ):
        add(f"teredo{name}", udp(Net4(), teredo.behind(head), ports=(3544, 50000)))
    add("teredo-no-ipv6", udp(Net4(), b"\x45" + b"\0" * 60, ports=(3544, 50000)))


def _bare_gre(inner: Built) -> Built:
    """GRE with a checksum, for UDP to carry."""
    body = b"\x80\0\x08\0\0\0\0\0" + inner.data
    whole = checked("gre", body, 4)
    return Built(whole.data, (*whole.expects, *inner.behind(b"\0" * 8).expects))


def nsh(inner: Built, protocol: int, words: int = 6) -> Built:
    """With a context of fixed length."""
    return inner.behind(bytes([0x0F, 0xC0 | words, 1, protocol]) + b"\0" * (4 * words - 4))


def _tags(add: _Add) -> None:
    frame, four, six = ethernet(tcp(INNER4)), tcp(Net4()), udp(Net6())
    for name, ethertype, tag in (
        ("vn-tag", 0x8926, b"\0\1\0\2"),
        ("e-tag", 0x893F, b"\0\1\0\2\0\0"),
        ("hsr", 0x892F, b"\0\x3c\0\1"),
        ("r-tag", 0xF1C1, b"\0\0\0\1"),
        ("cisco-metadata", 0x8909, b"\1\1\0\1\0\x64"),
        ("cisco-metadata-longer", 0x8909, b"\1\2\0\1\0\x64\0\1\0\x65"),
    ):
        add(f"{name}-4", ethernet(four.behind(tag + b"\x08\0"), ethertype))
        add(f"{name}-6", ethernet(six.behind(tag + b"\x86\xdd"), ethertype))
        add(f"{name}-vlan", ethernet(four.behind(tag + b"\x81\0\0\7\x08\0"), ethertype, tags=[(0x8100, 9)]))
    for fault in ("good", "bad"):
        one = tcp(Net4(), fault=fault)
        typed = one.behind(b"\x08\0")
        add(f"fabric-path-{fault}", ethernet(ethernet(one).then(b"fcs.").behind(b"\0\x40"), 0x8903))
        add(f"arista-time-{fault}", ethernet(typed.behind(b"\0\1\0\x20" + b"\7" * 6), 0xD28B))
        add(f"arista-time-64-{fault}", ethernet(typed.behind(b"\0\1\0\x10" + b"\7" * 8), 0xD28B))
        add(f"macsec-{fault}", ethernet(typed.then(b"\7" * 16).behind(b"\0\0\0\0\0\1"), 0x88E5))
        add(
            f"macsec-channel-{fault}", ethernet(typed.then(b"\7" * 16).behind(b"\x20\0" + b"\1" * 12), 0x88E5)
        )
    short = udp(replace(Net4(), total=0), b"")
    add("macsec-short", ethernet(short.behind(b"\x08\0").then(b"\7" * 24).behind(b"\0\x1e\0\0\0\1"), 0x88E5))
    add("macsec-encrypted", ethernet(Built(b"\x0c\0\0\0\0\1\x08\0" + four.data + b"\7" * 16), 0x88E5))
    add("macsec-cut", ethernet(Built(b"\0\0\0\0\0\1\x08\0\x45"), 0x88E5))
    add("arista-version-3", ethernet(Built(b"\0\1\0\x30" + b"\7" * 8 + b"\x08\0" + four.data), 0xD28B))
    add("i-tag", ethernet(frame.behind(b"\0\0\0\7"), 0x88E7))
    add("b-tag-i-tag", ethernet(frame.behind(b"\0\0\0\7"), 0x88E7, tags=[(0x88A8, 9)]))
    for protocol, inner in ((1, four), (2, six), (3, frame), (4, nsh(four, 1, 2)), (5, mpls(six))):
        add(f"nsh-{protocol}", ethernet(nsh(inner, protocol), 0x894F))
    add(
        "nsh-length-1", ethernet(Built(nsh(four, 1, 2).data[:1] + b"\xc1" + nsh(four, 1, 2).data[2:]), 0x894F)
    )
    add("nsh-protocol-9", ethernet(Built(nsh(four, 9).data), 0x894F))


# link types


def ieee80211(
    payload: Built, ethertype: int = 0x0800, *, control: bytes = b"\x08\x01", pad: bytes = b""
) -> Built:
    """A frame with data: three addresses or four, quality of service, high throughput."""
    four, quality, order = control[1] & 3 == 3, control[0] & 0x80, control[1] & 0x80
    header = control + b"\0\0" + b"\2" * 18 + b"\0\0" + (b"\2" * 6 if four else b"")
    header += (b"\0\0" if quality else b"") + (b"\0\0\0\0" if quality and order else b"")
    return payload.behind(header + pad + b"\xaa\xaa\3\0\0\0" + ethertype.to_bytes(2, "big"))


def radiotap(frame: Built, flags: int = 0, *, time: bool = False, more: bool = False) -> Built:
    present = 2 | (1 if time else 0) | (0x80000000 if more else 0)
    words = struct.pack("<I", present) + (struct.pack("<I", 0) if more else b"")
    fields = (b"\0" * (-(4 + len(words)) % 8) + b"\0" * 8 if time else b"") + bytes([flags])
    fields += b"\0" * (-len(fields) % 4)
    return frame.behind(struct.pack("<BBH", 0, 0, 4 + len(words) + len(fields)) + words + fields)


def _wireless() -> list[tuple[str, int, Built]]:
    four, six, open_end = tcp(Net4()), udp(Net6()), tcp(replace(Net4(), total=0))
    fcs = b"\xde\xad\xbe\xef"
    prism = b"\x44\0\0\0" + struct.pack("<I", 144) + b"\0" * 136
    avs = struct.pack(">II", 0x80211001, 64) + b"\0" * 56
    common = struct.pack("<HHQHHHHBBbb", 2, 20, 0, 1, 2, 0, 0, 0, 0, -50, -90)
    aggregated = ieee80211(Built(b""), control=b"\x88\x01").data
    aggregate = four.behind(aggregated[:24] + b"\x80\0" + b"\2" * 12 + b"\0\x50" + aggregated[26:])
    return [
        ("wlan", 105, ieee80211(four)),
        ("wlan6", 105, ieee80211(six, 0x86DD)),
        ("wlan-bad", 105, ieee80211(tcp(Net4(), fault="bad"))),
        ("wlan-vlan", 105, ieee80211(four.behind(b"\0\7\x08\0"), 0x8100)),
        ("wlan-from-ds", 105, ieee80211(four, control=b"\x08\x02")),
        ("wlan-four-addresses", 105, ieee80211(four, control=b"\x08\x03")),
        ("wlan-quality", 105, ieee80211(four, control=b"\x88\x01")),
        ("wlan-quality-throughput", 105, ieee80211(four, control=b"\x88\x83")),
        ("wlan-aggregate", 105, aggregate),
        ("wlan-protected", 105, Built(ieee80211(four, control=b"\x08\x41").data)),
        ("wlan-beacon", 105, Built(ieee80211(four, control=b"\x80\x00").data)),
        ("wlan-null", 105, Built(ieee80211(four, control=b"\x48\x01").data)),
        ("radiotap", 127, radiotap(ieee80211(four))),
        ("radiotap-time", 127, radiotap(ieee80211(open_end).then(fcs), 0x10, time=True)),
        ("radiotap-more", 127, radiotap(ieee80211(open_end).then(fcs), 0x10, time=True, more=True)),
        ("radiotap-padded", 127, radiotap(ieee80211(four, control=b"\x88\x01", pad=b"\0\0"), 0x20)),
        ("ppi", 192, ieee80211(four).behind(struct.pack("<BBHI", 0, 0, 8, 105))),
        ("ppi-fcs", 192, ieee80211(open_end).then(fcs).behind(struct.pack("<BBHI", 0, 0, 32, 105) + common)),
        ("ppi-ethernet", 192, ethernet(six).behind(struct.pack("<BBHI", 0, 0, 8, 1))),
        ("ppi-unknown", 192, Built(struct.pack("<BBHI", 0, 0, 8, 147) + four.data)),
        ("prism", 119, ieee80211(four).behind(prism)),
        ("avs", 163, ieee80211(four).behind(avs)),
        ("avs-in-119", 119, ieee80211(six, 0x86DD).behind(avs)),
    ]


def nflog(payload: Built, family: int, order: str = "<") -> Built:
    field = struct.pack(order + "HH", 5, 10) + b"x\0\0\0" + struct.pack(order + "HH", 8, 1) + b"\0\0\0\1"
    field += struct.pack(order + "HH", 4 + len(payload.data), 9)
    return payload.behind(bytes([family, 0, 0, 0]) + field)


def pktap(payload: Built, link: int, trailer: bytes = b"") -> Built:
    header = struct.pack("<III24sIIII", 108, 1, link, b"en0", 0, 2, 14, len(trailer)) + b"\0" * 56
    return payload.then(trailer).behind(header)


def _links() -> list[tuple[str, int, Built]]:
    made = []
    llc = b"\xaa\xaa\3\0\0\0"
    for mark, one, ethertype, family in (
        ("", tcp(Net4()), b"\x08\0", 2),
        ("-bad", tcp(Net4(), fault="bad"), b"\x08\0", 2),
        ("6", tcp(Net6()), b"\x86\xdd", 30),
    ):
        six = mark == "6"
        snap = one.behind(llc + ethertype)
        made += [
            (f"nflog{mark}", 239, nflog(one, 10 if six else 2)),
            (f"nflog-big{mark}", 239, nflog(one, 10 if six else 2, ">")),
            (f"pflog{mark}", 117, one.behind(bytes([61, family]) + b"\0" * 62)),
            (f"pflog-100{mark}", 117, one.behind(bytes([100, family]) + b"\0" * 98)),
            (f"fddi{mark}", 10, snap.behind(b"\x50" + b"\2" * 12)),
            (f"token-ring{mark}", 6, snap.behind(b"\x10\x40" + b"\2" * 12)),
            (
                f"token-ring-routed{mark}",
                6,
                snap.behind(b"\x10\x40" + b"\2" * 6 + b"\x82" * 6 + b"\6\0\0\0\0\0"),
            ),
            (f"atm{mark}", 100, snap),
            (f"atm-bridged{mark}", 100, ethernet(one).behind(b"\xaa\xaa\3\0\x80\xc2\0\7\0\0")),
            (f"frame-relay{mark}", 107, one.behind(b"\x18\x41\3" + (b"\x8e" if six else b"\xcc"))),
            (f"frame-relay-4{mark}", 107, one.behind(b"\x18\x40\x40\x41\3\0\x80\0\0\0" + ethertype)),
            (f"frame-relay-bridged{mark}", 107, ethernet(one).behind(b"\x18\x41\3\0\x80\0\x80\xc2\0\7")),
            (f"frame-relay-cisco{mark}", 107, one.behind(b"\x18\x41" + ethertype)),
            (
                f"frame-relay-ppp{mark}",
                107,
                one.behind(b"\x18\x41\3\xcf" + (b"\0\x57" if six else b"\0\x21")),
            ),
            (f"ipoib{mark}", 242, one.behind(b"\0" * 40 + ethertype + b"\0\0")),
            (
                f"ipnet{mark}",
                226,
                one.behind(struct.pack("!BBHI16s", 1, 26 if six else 2, 0, len(one.data), b"")),
            ),
            (f"arcnet-linux{mark}", 129, one.behind(b"\1\2\0\0" + (b"\xc4" if six else b"\xd4") + b"\0\0\7")),
            (f"arcnet{mark}", 7, one.behind(b"\1\2" + (b"\xc4" if six else b"\xd4") + b"\0\0\7")),
            (f"pktap{mark}", 258, pktap(ethernet(one), 1, b"tail")),
            (f"pktap-raw{mark}", 149, pktap(one, 12)),
        ]
    four = tcp(Net4())
    made += [
        ("arcnet-old", 129, four.behind(b"\1\2\0\0\xf0")),
        ("arcnet-part", 129, Built(b"\1\2\0\0\xd4\1\0\7" + four.data)),
        ("fddi-beacon", 10, Built(b"\xc2" + b"\2" * 12 + four.data)),
        ("frame-relay-lmi", 107, Built(b"\0\1\3\x08" + four.data)),
        ("nflog-no-payload", 239, Built(b"\2\0\0\0\x08\0\1\0\0\0\0\1")),
        ("nflog-length-0", 239, Built(b"\2\0\0\0\0\0\1\0" + four.data)),
        ("pktap-unknown", 258, Built(pktap(four, 147).data)),
        ("pktap-length-51", 258, Built(b"\x33" + pktap(four, 12).data[1:])),
    ]
    return made


class _Add:
    """Takes packets; those without a link layer become Ethernet frames."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []

    def __call__(self, name: str, built: Built) -> None:
        framed = built if built.data[:6] == b"\2\0\0\0\0\2" else ethernet(built)
        self.packets.append(Packet(name, ETHERNET, framed.data, framed.expects))


def protocols() -> list[Packet]:
    """Every packet, in a fixed order."""
    add = _Add()
    _control(add)
    _tunnels(add)
    _tags(add)
    links = [*_wireless(), *_links()]
    return add.packets + [Packet(name, link, built.data, built.expects) for name, link, built in links]
