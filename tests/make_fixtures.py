"""Makes packets, with what is to be said of the checksums in each, and capture files of them.

Everything here is plain Python on bytes, written from the RFCs; nothing of fastcksum is imported, so that a packet's
checksum and the verdict expected on it are a second opinion. A packet is built from the inside out: each function wraps
what it is given, and moves the expectations along.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CAPTURES = Path(__file__).parent / "data" / "captures"

NULL, ETHERNET, PPP, PPP_HDLC, PPPOE, RAW, CISCO_HDLC, LOOP, SLL, SLL2 = (
    0,
    1,
    9,
    50,
    51,
    101,
    104,
    108,
    113,
    276,
)


# ---- the arithmetic, the slow way ----


def ones_complement_sum(data: bytes) -> int:
    """The 16-bit ones'-complement sum of big-endian words, an odd byte padded behind with zero (RFC 1071)."""
    total = sum(high << 8 | low for high, low in zip(data[::2], data[1::2] + b"\0", strict=False))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def internet_checksum(data: bytes) -> int:
    """Its complement."""
    return ones_complement_sum(data) ^ 0xFFFF


# ---- packets with expectations ----


@dataclass(frozen=True)
class Expect:
    """The verdict that a checksum is to get. reason: words that must stand in it."""

    layer: str
    status: str
    found: int | None = None
    expected: int | None = None
    offset: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Built:
    """Bytes, and what is to be said of the checksums in them."""

    data: bytes
    expects: tuple[Expect, ...] = ()

    def behind(self, header: bytes, *outer: Expect) -> Built:
        """This with a header in front, whose own checksums come first."""
        moved = (
            replace(expect, offset=None if expect.offset is None else expect.offset + len(header))
            for expect in self.expects
        )
        return Built(header + self.data, (*outer, *moved))

    def then(self, trailer: bytes) -> Built:
        """This with bytes behind it that no checksum covers."""
        return Built(self.data + trailer, self.expects)


def unchecked(built: Built, reason: str, *layers: str) -> Built:
    """The same bytes; these layers (all, if none is named) are to be unchecked for this reason."""
    return Built(
        built.data,
        tuple(
            replace(expect, status="unchecked", expected=None, reason=reason)
            if not layers or expect.layer in layers
            else expect
            for expect in built.expects
        ),
    )


@dataclass(frozen=True)
class Net4:
    """An IPv4 header to come, and the pseudo header it gives."""

    src: str = "192.0.2.10"
    dst: str = "198.51.100.20"
    final: str | None = None  # the last address of a source route
    options: bytes = b""
    total: int | None = None  # None: as it is
    fragment: int = 0  # flags and offset
    fault: str = "good"

    version = 4

    def pseudo(self, protocol: int, length: int) -> bytes:
        addresses = IPv4Address(self.src).packed + IPv4Address(self.final or self.dst).packed
        return addresses + struct.pack("!BBH" if length <= 0xFFFF else "!BBI", 0, protocol, length)

    def carry(self, protocol: int, payload: Built) -> Built:
        length = 20 + len(self.options)
        total = length + len(payload.data) if self.total is None else self.total
        header = bytearray(
            struct.pack("!BBHHHBBH", 0x40 | length // 4, 0, total, 0x1234, self.fragment, 64, protocol, 0)
            + IPv4Address(self.src).packed
            + IPv4Address(self.dst).packed
            + self.options
        )
        right = internet_checksum(bytes(header))
        found = {"good": right, "bad": right ^ 0x0100, "zero": 0}[self.fault]
        header[10:12] = found.to_bytes(2, "big")
        status = "good" if self.fault == "good" else "bad"
        return payload.behind(bytes(header), Expect("ipv4", status, found, right, 10))


@dataclass(frozen=True)
class Net6:
    """An IPv6 header to come. extensions: (protocol, header with its first byte left out) one behind the other."""

    src: str = "2001:db8::10"
    dst: str = "2001:db8:1::20"
    final_src: str | None = None
    final_dst: str | None = None
    extensions: tuple[tuple[int, bytes], ...] = ()
    payload_length: int | None = None

    version = 6

    def pseudo(self, protocol: int, length: int) -> bytes:
        source, destination = self.final_src or self.src, self.final_dst or self.dst
        addresses = IPv6Address(source).packed + IPv6Address(destination).packed
        return addresses + struct.pack("!IHBB", length, 0, 0, protocol)

    def carry(self, protocol: int, payload: Built) -> Built:
        chain = b""
        for number, rest in reversed(self.extensions):
            chain = bytes([protocol]) + rest + chain
            protocol = number
        inner = payload.behind(chain)
        length = len(inner.data) if self.payload_length is None else self.payload_length
        header = struct.pack("!IHBB", 0x60000000, length, protocol, 64)
        return inner.behind(header + IPv6Address(self.src).packed + IPv6Address(self.dst).packed)


Net = Net4 | Net6


def checked(
    layer: str,
    body: bytes,
    at: int,
    pseudo: bytes = b"",
    fault: str = "good",
    *,
    covered: Callable[[bytes], bytes] = bytes,
    inner: Iterable[Expect] = (),
) -> Built:
    """body with its checksum at `at` written, rightly or not.

    fault: good, bad, partial, partial-tso (a pseudo header without the length), none (0), other (0xffff for 0x0000 and
    the other way round)
    """
    data = bytearray(body)
    data[at : at + 2] = b"\0\0"
    right = internet_checksum(pseudo + covered(bytes(data)))
    if layer in {"udp", "udplite"}:
        right = right or 0xFFFF
    without_length = pseudo[:-2] + b"\0\0" if len(pseudo) == 12 else pseudo[:32] + b"\0" * 4 + pseudo[36:]
    found = {
        "good": right,
        "bad": right ^ 0x0100,
        "partial": ones_complement_sum(pseudo),
        "partial-tso": ones_complement_sum(without_length),
        "none": 0,
        "other": right ^ 0xFFFF,
    }[fault]
    status = {"good": "good", "bad": "bad", "none": "none", "other": "good"}.get(fault, "partial")
    data[at : at + 2] = found.to_bytes(2, "big")
    expected = None if status == "none" else right
    return Built(bytes(data), (Expect(layer, status, found, expected, at), *inner))


def tcp(net: Net, data: bytes = b"hello, world", fault: str = "good", length: int | None = None) -> Built:
    body = struct.pack("!HHIIBBHHH", 49152, 80, 1, 2, 0x50, 0x18, 8192, 0, 0) + data
    return net.carry(6, checked("tcp", body, 16, net.pseudo(6, length or len(body)), fault))


def udp(
    net: Net,
    data: bytes | Built = b"hello",
    fault: str = "good",
    ports: tuple[int, int] = (1024, 9),
    said: int | None = None,
) -> Built:
    payload = data if isinstance(data, Built) else Built(data)
    length = 8 + len(payload.data)
    body = payload.behind(struct.pack("!HHHH", *ports, length if said is None else said, 0))
    built = checked("udp", body.data, 6, net.pseudo(17, length), fault, inner=body.expects)
    return net.carry(17, built)


def udplite(net: Net, data: bytes = b"hello", coverage: int = 0, fault: str = "good") -> Built:
    body = struct.pack("!HHHH", 1024, 9, coverage, 0) + data
    pseudo = net.pseudo(136, len(body))
    built = checked("udplite", body, 6, pseudo, fault, covered=lambda whole: whole[: coverage or len(whole)])
    return net.carry(136, built)


def dccp(net: Net, data: bytes = b"hello, world", coverage: int = 0, fault: str = "good") -> Built:
    """A DCCP-Data packet with a 16-byte header (long sequence numbers)."""
    body = struct.pack("!HHBBHBBHI", 1024, 5001, 4, coverage, 0, 2 << 1 | 1, 0, 0, 1) + data
    end = len(body) if coverage == 0 else 16 + (coverage - 1) * 4
    return net.carry(
        33, checked("dccp", body, 6, net.pseudo(33, len(body)), fault, covered=lambda whole: whole[:end])
    )


def icmp(net: Net4, body: bytes = b"\x08\0\0\0\x12\x34\0\x01ping", fault: str = "good") -> Built:
    return net.carry(1, checked("icmp", body, 2, b"", fault))


def icmpv6(net: Net6, body: bytes = b"\x80\0\0\0\x12\x34\0\x01ping", fault: str = "good") -> Built:
    return net.carry(58, checked("icmpv6", body, 2, net.pseudo(58, len(body)), fault))


def igmp(net: Net4, fault: str = "good") -> Built:
    return net.carry(2, checked("igmp", b"\x16\0\0\0" + IPv4Address("239.1.2.3").packed, 2, b"", fault))


def ospf2(net: Net4, fault: str = "good", auth_type: int = 1) -> Built:
    """A Hello; the 8 bytes of authentication are not covered, and what follows the stated length is not either."""
    hello = struct.pack("!4sHBBI4s4s", b"\xff\xff\xff\0", 10, 2, 1, 40, b"\0" * 4, b"\0" * 4)
    header = struct.pack(
        "!BBH4s4sHH8s", 2, 1, 24 + len(hello), b"\x0a\0\0\1", b"\0" * 4, 0, auth_type, b"password"
    )
    if auth_type == 2:
        built = Built(header + hello, (Expect("ospf", "none", 0, None, 12, "authentication"),))
    else:
        built = checked("ospf", header + hello, 12, b"", fault, covered=lambda whole: whole[:16] + whole[24:])
    return net.carry(89, built.then(b"\x55" * 16 if auth_type == 2 else b""))


def ospf3(net: Net6, fault: str = "good") -> Built:
    hello = struct.pack("!IIHHII", 5, 0x01000013, 10, 40, 0, 0)
    header = struct.pack("!BBH4s4sHBB", 3, 1, 16 + len(hello), b"\x0a\0\0\1", b"\0" * 4, 0, 0, 0)
    return net.carry(89, checked("ospf", header + hello, 12, net.pseudo(89, len(header + hello)), fault))


def vrrp(net: Net, version: int, fault: str = "good") -> Built:
    """Version 3 has a pseudo header over IPv6 alone (RFC 9568); fault "pseudo": over IPv4 too, which is good all the
    same.
    """
    address = IPv4Address("192.0.2.1").packed if net.version == 4 else IPv6Address("fe80::1").packed
    if version == 2:
        body = struct.pack("!BBBBBBH", 0x21, 7, 100, 1, 0, 1, 0) + address + b"\0" * 8
    else:
        body = struct.pack("!BBBBHH", 0x31, 7, 100, 1, 100, 0) + address
    pseudo = net.pseudo(112, len(body))
    if fault != "pseudo":
        return net.carry(112, checked("vrrp", body, 6, pseudo if net.version == 6 else b"", fault))
    built = checked("vrrp", body, 6, pseudo)
    plain = replace(built.expects[0], expected=internet_checksum(body), reason="RFC 5798")
    return net.carry(112, Built(built.data, (plain,)))


def sctp(net: Net) -> Built:
    body = struct.pack("!HHII", 5000, 5001, 0xDEADBEEF, 0x85BF694E) + b"\x0a\0\0\4"
    return net.carry(132, Built(body, (Expect("sctp", "unchecked", reason="CRC32c"),)))


def gre(net: Net, inner: Built, protocol: int = 0x0800, fault: str = "good", *, key: bool = False) -> Built:
    """GRE with a checksum."""
    flags = 0x8000 | (0x2000 if key else 0)
    body = inner.behind(struct.pack("!HHHH", flags, protocol, 0, 0) + (b"\0\0\0\x2a" if key else b""))
    return net.carry(47, checked("gre", body.data, 4, b"", fault, inner=body.expects))


def plain_gre(net: Net, inner: Built, protocol: int = 0x0800, flags: int = 0, rest: bytes = b"") -> Built:
    return net.carry(47, inner.behind(struct.pack("!HH", flags, protocol) + rest))


def vxlan(
    net: Net, frame: Built, fault: str = "none", header: bytes = b"\x08\0\0\0\0\0\x2a\0", port: int = 4789
) -> Built:
    return udp(net, frame.behind(header), fault, ports=(50000, port))


def l2tp(net: Net, ppp: Built, flags: int = 0x4002) -> Built:
    length = struct.pack("!H", 8 + len(ppp.data)) if flags & 0x4000 else b""
    sequence = b"\0\1\0\2" if flags & 0x0800 else b""
    offset = b"\0\3abc" if flags & 0x0200 else b""
    if flags & 0x4000:
        length = struct.pack("!H", 8 + len(sequence) + len(offset) + len(ppp.data))
    header = struct.pack("!H", flags) + length + b"\0\7\0\x09" + sequence + offset
    return udp(net, ppp.behind(header), ports=(1701, 1701))


def ethernet(payload: Built, ethertype: int | None = None, tags: Iterable[tuple[int, int]] = ()) -> Built:
    """An Ethernet II frame; the type is that of the IP version, unless it is given."""
    if ethertype is None:
        ethertype = 0x86DD if payload.data[0] >> 4 == 6 else 0x0800
    header = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
    for tag, number in tags:
        header += struct.pack("!HH", tag, number)
    return payload.behind(header + struct.pack("!H", ethertype))


def llc_frame(payload: Built, llc: bytes) -> Built:
    """An 802.3 frame, whose type field is the length."""
    inner = payload.behind(llc)
    return inner.behind(b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01" + struct.pack("!H", len(inner.data)))


def mpls(payload: Built, labels: int = 2) -> Built:
    stack = b"".join(struct.pack("!I", (16 + i) << 12 | (i == labels - 1) << 8 | 64) for i in range(labels))
    return payload.behind(stack)


def pppoe(payload: Built, protocol: bytes = b"\x00\x21") -> Built:
    inner = payload.behind(protocol)
    return inner.behind(struct.pack("!BBHH", 0x11, 0, 5, len(inner.data)))


def sll(payload: Built, protocol: int) -> Built:
    return payload.behind(struct.pack("!HHH8sH", 0, 1, 6, b"\x02\0\0\0\0\1\0\0", protocol))


def sll2(payload: Built, protocol: int) -> Built:
    return payload.behind(struct.pack("!HHIHBB8s", protocol, 0, 2, 1, 0, 6, b"\x02\0\0\0\0\1\0\0"))


def routing_0(addresses: list[str], left: int) -> tuple[int, bytes]:
    packed = b"".join(IPv6Address(address).packed for address in addresses)
    return 43, struct.pack("!BBBI", len(packed) // 8, 0, left, 0) + packed


def segment_routing(segments: list[str], left: int) -> tuple[int, bytes]:
    """Segments in the order of the header: the last of the way first (RFC 8754)."""
    packed = b"".join(IPv6Address(segment).packed for segment in segments)
    return 43, struct.pack("!BBBBBH", len(packed) // 8, 4, left, len(segments) - 1, 0, 0) + packed


def fragment_header(offset: int, *, more: bool) -> tuple[int, bytes]:
    return 44, struct.pack("!BHI", 0, offset << 3 | more, 0x1234)


HOP_BY_HOP = (0, b"\0\5\2\0\0\1\0")  # router alert and padding
DESTINATION_OPTIONS = (60, b"\0\1\4\0\0\0\0")  # padding


def home_address(address: str) -> tuple[int, bytes]:
    return 60, b"\2\1\2\0\0\xc9\x10" + IPv6Address(address).packed


def jumbo(length: int) -> tuple[int, bytes]:
    return 0, b"\0\xc2\4" + struct.pack("!I", length)


AH = struct.pack("!BHII", 4, 0, 0x100, 1) + b"\xaa" * 12


def loose_source_route(*addresses: str, pointer: int = 4) -> bytes:
    packed = b"".join(IPv4Address(address).packed for address in addresses)
    option = bytes([131, 3 + len(packed), pointer]) + packed
    return option + b"\0" * (-len(option) % 4)


# ---- the packets ----


@dataclass(frozen=True)
class Packet:
    """A packet as captured."""

    name: str
    link: int
    data: bytes
    expects: tuple[Expect, ...]
    original: int | None = None  # bytes on the wire; None: as many as there are


# ---- capture files ----


def pcap(packets: Iterable[Packet], link: int, order: str = "<", *, nanoseconds: bool = False) -> bytes:
    """A pcap file; the i-th packet has the time 1,700,000,000 s + i * 1,001 ns (cut to microseconds where need be)."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for i, packet in enumerate(packets):
        fraction = i * 1001 if nanoseconds else i * 1001 // 1000
        length = len(packet.data)
        parts += [
            struct.pack(order + "IIII", 1700000000, fraction, length, packet.original or length),
            packet.data,
        ]
    return b"".join(parts)


def block(order: str, number: int, body: bytes) -> bytes:
    """A pcapng block."""
    body += b"\0" * (-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", number) + length + body + length


def section(order: str = "<") -> bytes:
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link: int, options: bytes = b"", snaplen: int = 0) -> bytes:
    return block(order, 1, struct.pack(order + "HHI", link, 0, snaplen) + options)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def enhanced(order: str, number: int, ticks: int, packet: Packet) -> bytes:
    length = len(packet.data)
    head = struct.pack(
        order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, length, packet.original or length
    )
    return block(order, 6, head + packet.data)
