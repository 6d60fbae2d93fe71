"""Checksums of packets: pseudo headers, IPv4 headers, and what IP carries. The parser itself is csrc/packet.

``packet`` is any C-contiguous bytes-like object, ``offset`` where in it the packet begins, and ``link`` what it
begins with: ``"ip"`` (an IPv4 or IPv6 header), ``"ethernet"``, or the number that capture files give a link type
(:data:`LINKS`). The packet ends where the bytes do; padding behind the length that its own headers say does not count.
"""

from __future__ import annotations

import ipaddress
import operator
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, SupportsIndex, TypeAlias

from . import _core
from ._core import raw_cksum

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "LAYERS",
    "LINKS",
    "STATUSES",
    "Verdict",
    "fill_checksums",
    "ipv4_header_checksum",
    "pseudo_header",
    "transport_checksum",
    "verify_packet",
]

Address: TypeAlias = "bytes | bytearray | memoryview | str | ipaddress.IPv4Address | ipaddress.IPv6Address"
Link: TypeAlias = Literal["ip", "ethernet"] | SupportsIndex
Status: TypeAlias = Literal["good", "bad", "partial", "none", "unchecked"]

LAYERS: Final = _core.LAYERS
"""What can carry a checksum, in the words of :class:`Verdict`."""

STATUSES: Final = _core.STATUSES
"""The five statuses, in the words of :class:`Verdict`."""

LINKS: Final = _core.LINKS
"""The link types that are understood, by their numbers in capture files (https://www.tcpdump.org/linktypes.html)."""

_LINK_NAMES: Final = {"ip": 101, "ethernet": 1}
_TRANSPORTS: Final = ("tcp", "udp", "udplite", "icmp", "icmpv6", "dccp")


class Verdict(NamedTuple):
    """One checksum of a packet, and whether it is right.

    layer     ipv4 tcp udp udplite icmp icmpv6 igmp dccp ospf gre vrrp; or sctp, whose CRC32c is none and is not judged
    status    "good"
              "bad"
              "partial": the field holds the sum of the pseudo header alone, because the packet was captured before
              the network card completed it
              "none": the sender made no checksum (a UDP field of 0 over IPv4, OSPF with cryptographic authentication)
              "unchecked": it can't be judged, and reason says why
    found     the field as it stands, a number in network byte order; None where it was not captured
    expected  the field as it should be; None where that can't be computed or nothing is expected
    offset    where in the buffer the field is; None where it was not captured
    reason    words; "" where the status says all
    """

    layer: str
    status: Status
    found: int | None
    expected: int | None
    offset: int | None
    reason: str


def _link_number(link: Link) -> int:
    """The number of a link type. ValueError if it isn't known."""
    if isinstance(link, str):
        if link in _LINK_NAMES:
            return _LINK_NAMES[link]
    elif (number := operator.index(link)) in LINKS:
        return number
    numbers = ", ".join(map(str, LINKS))
    raise ValueError(f"link must be 'ip', 'ethernet' or one of the link types {numbers}, not {link!r}")


def _address(address: Address, name: str) -> bytes:
    """The 4 or 16 bytes of an address."""
    if isinstance(address, str):
        return ipaddress.ip_address(address).packed
    if isinstance(address, ipaddress.IPv4Address | ipaddress.IPv6Address):
        return address.packed
    packed = bytes(memoryview(address))
    if len(packed) not in {4, 16}:
        raise ValueError(f"{name} must have 4 bytes (IPv4) or 16 (IPv6), not {len(packed)}")
    return packed


def pseudo_header(src: Address, dst: Address, protocol: SupportsIndex, length: SupportsIndex) -> int:
    """The raw sum of a pseudo header, to start the sum of a transport header and its data from.

    src, dst  addresses as bytes (4 or 16), text or ipaddress objects, both of one version; with a source route or a
              routing header, dst is the final destination
    protocol  0..255, of the transport: not that of an extension header
    length    bytes of transport header and data, 0..0xffffffff; 0 is what a card that segments wants in the field

    ValueError for an address that is none, for two versions, or for a number out of range. RFC 768, RFC 9293, and for
    IPv6 RFC 8200 section 8.1.
    """
    source, destination = _address(src, "src"), _address(dst, "dst")
    if len(source) != len(destination):
        raise ValueError(
            f"src and dst must be of one IP version, not {ipaddress.ip_address(source)} and "
            f"{ipaddress.ip_address(destination)}"
        )
    number = operator.index(protocol)
    if not 0 <= number <= 0xFF:
        raise ValueError(f"protocol must be in 0..255 (an 8-bit field), not {number}")
    return _core.pseudo_header(source, destination, number, length)


def ipv4_header_checksum(packet: Buffer, offset: SupportsIndex = 0) -> int:
    """The checksum of the IPv4 header at offset, options included, as it should be: its own field counts as zero.

    Never 0xffff, as no header is all zero (RFC 1624 section 3). ValueError if there is no whole IPv4 header.
    """
    with memoryview(packet) as view:
        size = view.nbytes
        start = operator.index(offset)
        if not 0 <= start <= size:
            raise ValueError(f"offset must be in 0..{size} (the buffer has {size} bytes), not {start}")
        if size - start < 20:
            raise ValueError(
                f"an IPv4 header has at least 20 bytes, and there are {size - start} behind offset {start}"
            )
        first = view.cast("B")[start]
    if first >> 4 != 4:
        raise ValueError(f"no IPv4 header at offset {start}: its version is {first >> 4}, not 4")
    length = (first & 15) * 4
    if not 20 <= length <= size - start:
        raise ValueError(
            f"the IPv4 header at offset {start} claims {length} bytes; it must be 20..{min(60, size - start)}"
        )
    before = raw_cksum(packet, offset=start, length=10)
    return _core.checksum(packet, before, offset=start + 12, length=length - 12)


def transport_checksum(packet: Buffer, offset: SupportsIndex = 0, *, link: Link = "ip") -> int:
    """The checksum of the outermost TCP, UDP, UDP-Lite, ICMP, ICMPv6 or DCCP header, as it should be.

    The field itself counts as zero. For UDP and UDP-Lite a computed 0 is 0xffff (RFC 768). ValueError, with the
    reason, if there is none of these, if the bytes or the lengths do not allow to compute it, or if the packet is a
    fragment.
    """
    verdicts = _core.verify_packet(packet, offset, None, None, _link_number(link))
    for layer, _, _, expected, _, reason, *_ in verdicts:
        if _core.LAYERS[layer] in _TRANSPORTS:
            if expected is None:
                raise ValueError(
                    f"no {_core.LAYERS[layer]} checksum can be computed: {_core.REASONS[reason]}"
                )
            return expected
    reasons = [
        f" ({_core.LAYERS[verdict[0]]}: {_core.REASONS[verdict[5]]})" for verdict in verdicts if verdict[5]
    ]
    raise ValueError(f"no header of {', '.join(_TRANSPORTS)} found in the packet{''.join(reasons)}")


def verify_packet(packet: Buffer, offset: SupportsIndex = 0, *, link: Link = "ip") -> list[Verdict]:
    """A verdict on each checksum of a packet and of the packets inside it, the outermost first.

    Tunnels are followed (IP in IP, GRE, VXLAN, L2TP), what an ICMP error quotes is not. Whatever the bytes say, the
    answer is a list; it is empty where no header with a checksum was found. A field is right if the sum over it and
    all that it covers is 0xffff, so that 0xffff is accepted where 0x0000 is right.

    TypeError and BufferError as for raw_cksum; ValueError for an offset or link that can't be.
    """
    return [verdict_of(item) for item in _core.verify_packet(packet, offset, None, None, _link_number(link))]


def verdict_of(item: _core._Verdict) -> Verdict:
    """The Verdict that a tuple of the C parser says."""
    layer, status, found, expected, offset, reason, *_ = item
    name: Status = _core.STATUSES[status]
    return Verdict(
        _core.LAYERS[layer], name, found, None if name == "none" else expected, offset, _core.REASONS[reason]
    )


def fill_checksums(packet: Buffer, offset: SupportsIndex = 0, *, link: Link = "ip") -> bytes:
    """A copy of the whole input with each checksum field of the packet written that can be computed.

    The innermost is written first, so that the outer ones cover it. Fields stay as they are where the bytes do not
    allow to compute them (fragments, lengths past the end) and where cryptographic authentication takes their place;
    a UDP field of 0 is filled in.

    TypeError and BufferError as for raw_cksum; ValueError for an offset or link that can't be.
    """
    return _core.fill_packet(packet, offset, _link_number(link))
