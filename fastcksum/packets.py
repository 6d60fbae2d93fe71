"""Checksums of packets: pseudo headers, IPv4 headers, and what IP carries. The parser itself is csrc/packet.

``packet`` is any C-contiguous bytes-like object, ``offset`` where in it the packet begins, and ``link`` what it
begins with: ``"ip"`` (an IPv4 or IPv6 header), ``"ethernet"``, or the number that capture files give a link type
(:data:`LINKS`). The packet ends where the bytes do; padding behind the length that its own headers say does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, SupportsIndex, TypeAlias

from . import _core
from ._core import (
    fill_checksums,
    fill_into,
    ipv4_header_checksum,
    pseudo_header,
    transport_checksum,
    verify_packet,
)
from ._explain import Explanation, sums_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "LAYERS",
    "LINKS",
    "STATUSES",
    "Explanation",
    "Verdict",
    "explain",
    "fill_checksums",
    "fill_into",
    "ipv4_header_checksum",
    "pseudo_header",
    "transport_checksum",
    "verify_packet",
]

Link: TypeAlias = Literal["ip", "ethernet"] | SupportsIndex
Status: TypeAlias = Literal["good", "bad", "partial", "none", "unchecked"]

LAYERS: Final = _core.LAYERS
"""What can carry a checksum, in the words of :class:`Verdict`."""

STATUSES: Final = _core.STATUSES
"""The five statuses, in the words of :class:`Verdict`."""

MENDABLE: Final = ("bad", "partial", "none")
"""Those that capture.fix() can be asked to mend."""

LINKS: Final = _core.LINKS
"""The link types that are understood, by their numbers in capture files (https://www.tcpdump.org/linktypes.html)."""


class Verdict(NamedTuple):
    """One checksum of a packet, and whether it is right.

    layer     one of LAYERS: ipv4 tcp udp udplite icmp icmpv6 icmp_extension igmp dccp ospf gre vrrp pim eigrp rsvp
              mobility; or sctp, whose CRC32c is none and is not judged
    status    "good"
              "bad"
              "partial": the field holds the sum of the pseudo header alone, because the packet was captured before
              the network card completed it
              "none": the sender made no checksum (a UDP field of 0 over IPv4, or in a tunnel over IPv6; OSPF with
              cryptographic authentication)
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


def verdict_of(item: _core._Verdict) -> Verdict:
    """The Verdict that a tuple of the C parser says."""
    layer, status, found, expected, offset, reason, *_ = item
    name: Status = _core.STATUSES[status]
    return Verdict(
        _core.LAYERS[layer], name, found, None if name == "none" else expected, offset, _core.REASONS[reason]
    )


_core.use_verdict_type(Verdict)


def explain(
    packet: Buffer, offset: SupportsIndex = 0, *, link: Link = "ip", layer: str | None = None
) -> Explanation:
    """How the checksums of a packet come about: print it, or show it in a notebook.

    Of each: the pseudo header and every word that is summed, with its field and the running sum; the carries folded;
    the complement; what stands in the packet; and for a bad one, which of the common mistakes gives that value.

    layer  one of LAYERS: only its checksums; None: all

    TypeError and BufferError as for raw_cksum; ValueError for an offset, link or layer that can't be. RFC 1071.
    """
    return Explanation(sums_of(packet, offset, link=link, layer=layer))
