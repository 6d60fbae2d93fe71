"""Other people's captures, and other people's programs: tshark and tcpdump on every packet; scapy and dpkt on generated
ones.

The captures are those of two Debian packages (tools.py). A difference is listed in DIFFERENCES with the reason who is
right; one that is not listed, or listed and not met, fails.
"""

from __future__ import annotations

import re
import subprocess
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fixture_packets
import make_fixtures as make
import pytest
from make_fixtures import CAPTURES, Net4, Net6

from fastcksum import capture, checksum
from fastcksum.packets import transport_checksum, verify_packet

if TYPE_CHECKING:
    from collections.abc import Iterator

DPKT = Path("/usr/share/doc/python3-dpkt/examples/data")
GOPACKET = Path("/usr/share/gocode/src/github.com/google/gopacket")

needs_captures = pytest.mark.needs_tool("python3-dpkt", "gopacket")


def foreign_captures() -> list[Path]:
    """The captures of both packages."""
    folders = (
        DPKT,
        GOPACKET / "pcap",
        GOPACKET / "pcapgo" / "tests" / "be",
        GOPACKET / "pcapgo" / "tests" / "le",
    )
    return sorted(path for folder in folders for path in folder.glob("*.pcap*"))


def short_name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


# tshark

CHECKED_BY_TSHARK = ("ip", "tcp", "udp", "dccp", "icmp", "icmpv6", "igmp", "gre", "vrrp", "eigrp", "pim")
LAYER_OF = {"ip": "ipv4", "udplite": "udp"}  # tshark files UDP-Lite under udp
STATUS_FIELD = {"pim": "cksum.status"}
TSHARK_STATUS = {
    "0": "bad",
    "1": "good",
    "2": "unchecked",
    "3": "none",
    "4": "bad",
}  # 4: a zero that is not allowed


def tshark(path: Path) -> list[dict[str, list[str]]]:
    """For each packet, the statuses of its checksums by layer, outermost first. What ICMP quotes is left out."""
    command = ["tshark", "-n", "-r", str(path), "-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]
    for preference in (
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
        "udplite.check_checksum:TRUE",
        "udplite.ignore_checksum_coverage:FALSE",
        "ip.defragment:FALSE",  # a reassembled datagram would be judged in its last fragment
        "ipv6.defragment:FALSE",
    ):
        command += ["-o", preference]
    for field in (
        "frame.encap_type",
        "frame.protocols",
        *(f"{name}.{STATUS_FIELD.get(name, 'checksum.status')}" for name in CHECKED_BY_TSHARK),
    ):
        command += ["-e", field]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False
    )  # a damaged file: its first packets
    packets = []
    for line in run.stdout.splitlines():
        encapsulation, protocols, *statuses = line.split("|")
        if encapsulation:  # without it, it is a block of pcapng that tshark shows as a packet
            packets.append(dict(_by_layer(protocols.split(":"), statuses)))
    return packets


def _by_layer(protocols: list[str], statuses: list[str]) -> Iterator[tuple[str, list[str]]]:
    cut = next((i for i, name in enumerate(protocols) if name in {"icmp", "icmpv6"}), len(protocols))
    own = protocols[: cut + 1]
    for name, text in zip(CHECKED_BY_TSHARK, statuses, strict=True):
        headers = sum(LAYER_OF.get(protocol, protocol) == LAYER_OF.get(name, name) for protocol in own)
        given = [TSHARK_STATUS[status] for status in text.split(",") if status][:headers]
        if given:
            yield LAYER_OF.get(name, name), given


@dataclass(frozen=True)
class Difference:
    """A verdict of ours, and what somebody else says of the same checksum; None: nothing."""

    packet: int
    layer: str
    ours: str
    theirs: str | None


def ours(path: Path) -> list[dict[str, list[str]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        report = capture.verify(path)
    packets: list[dict[str, list[str]]] = [{} for _ in range(report.packets)]
    for row in report.rows:
        layer = "udp" if row.layer == "udplite" else row.layer
        packets[row.packet].setdefault(layer, []).append(row.status)
    return packets


def compare(
    mine: list[dict[str, list[str]]], theirs: list[dict[str, list[str]]], layers: set[str]
) -> tuple[int, list[Difference]]:
    """How many checksums both speak of in the same words, and the others."""
    assert len(mine) == len(theirs)
    agreed, differences = 0, []
    for i, (left, right) in enumerate(zip(mine, theirs, strict=True)):
        for layer in layers & (set(left) | set(right)):
            a, b = left.get(layer, []), right.get(layer, [])
            for at in range(max(len(a), len(b))):
                one, other = (a[at] if at < len(a) else "nothing"), (b[at] if at < len(b) else None)
                if one == other or (one == "unchecked" and other is None):
                    agreed += 1
                else:
                    differences.append(Difference(i, layer, one, other))
    return agreed, differences


# tcpdump

SUMS = re.compile(
    r"\bIP \(tos (?P<ip>(?:[^()]|\([^()]*\))*)\)"
    r"|cksum 0x[0-9a-f]{4} \((?P<tcp>correct|incorrect)\b"
    r"|\[(?P<udp>udp sum ok|bad udp cksum|no cksum)\b"
)
TCPDUMP_STATUS = {
    "correct": "good",
    "incorrect": "bad",
    "udp sum ok": "good",
    "bad udp cksum": "bad",
    "no cksum": "none",
}


def tcpdump(path: Path) -> list[dict[str, list[str]]]:
    """For each packet, what tcpdump says of IPv4, TCP and UDP checksums. It says nothing where it does not judge."""
    command = ["tcpdump", "-Z", "root", "-r", str(path), "-n", "-vv", "-t", "-#"]
    run = subprocess.run(command, capture_output=True, check=False)
    text = run.stdout.decode("ascii", "replace")
    packets = []
    for said in re.split(r"^ *\d+  (?=\S)", text, flags=re.MULTILINE)[1:]:
        layers: dict[str, list[str]] = {}
        for match in SUMS.finditer(said.split(": ICMP ")[0]):  # what an error quotes stands behind it
            if match["ip"] is not None:
                layers.setdefault("ipv4", []).append("bad" if "bad cksum" in match["ip"] else "good")
            else:
                layer = "tcp" if match["tcp"] else "udp"
                layers.setdefault(layer, []).append(TCPDUMP_STATUS[match["tcp"] or match["udp"]])
        packets.append(layers)
    return packets


# the comparison

PARTIAL = (
    "the field is the pseudo-header sum of a packet on its way to the card; both programs call that incorrect"
)

# Who is right, where tshark or tcpdump say something else of a checksum in a foreign capture than this package does:
# {capture: {packets: why}}. All 24 packets of the loopback capture, nothing else.
DIFFERENCES = {
    "pcap/test_loopback.pcap": {Difference(i, "tcp", "partial", "bad"): PARTIAL for i in range(24)},
}

# tcpdump stops where an interface has another snapshot length or link type than the first: packets it shows of these.
CUT_SHORT_BY_TCPDUMP = {
    "test004.pcapng": 0, "test005.pcapng": 1, "test006.pcapng": 0, "test008.pcapng": 1, "test100.pcapng": 1,
    "test101.pcapng": 0, "test102.pcapng": 0, "test201.pcapng": 0, "test202.pcapng": 0,
}  # fmt: skip


@cache
def against_tshark(path: Path) -> tuple[int, int, list[Difference]]:
    """Packets, checksums agreed on, differences."""
    mine = ours(path)
    layers = {LAYER_OF.get(name, name) for name in CHECKED_BY_TSHARK}
    return len(mine), *compare(mine, tshark(path), layers)


@cache
def against_tcpdump(path: Path) -> tuple[int, int, list[Difference]]:
    """Packets, checksums agreed on, differences."""
    mine, theirs = ours(path), tcpdump(path)
    shown = CUT_SHORT_BY_TCPDUMP.get(path.name, len(mine))
    return shown, *compare(mine[:shown], theirs, {"ipv4", "tcp", "udp"})


@needs_captures
def test_all_the_captures_are_there() -> None:
    assert len(foreign_captures()) == 60


@needs_captures
@pytest.mark.needs_tool("tshark")
@pytest.mark.parametrize("path", foreign_captures(), ids=short_name)
def test_tshark_agrees(path: Path) -> None:
    _, _, differences = against_tshark(path)
    assert differences == list(DIFFERENCES.get(short_name(path), {}))


@needs_captures
@pytest.mark.needs_tool("tcpdump")
@pytest.mark.parametrize("path", foreign_captures(), ids=short_name)
def test_tcpdump_agrees(path: Path) -> None:
    _, _, differences = against_tcpdump(path)
    assert differences == list(DIFFERENCES.get(short_name(path), {}))


@needs_captures
@pytest.mark.needs_tool("tshark", "tcpdump")
def test_how_many_agree() -> None:
    """So that a comparison that compares nothing is seen: packets, checksums agreed on, differences."""

    def totals(results: Iterator[tuple[int, int, list[Difference]]]) -> tuple[int, ...]:
        counted = ((packets, agreed, len(differences)) for packets, agreed, differences in results)
        return tuple(map(sum, zip(*counted, strict=True)))

    assert totals(map(against_tshark, foreign_captures())) == (327, 605, 24)
    assert totals(map(against_tcpdump, foreign_captures())) == (247, 421, 24)


# our own captures: every protocol, which no foreign capture has

OWN_DIFFERENCES = {
    "tcp-partial": PARTIAL,
    "udp-partial": PARTIAL,
    "udplite-partial": PARTIAL,
    "dccp-partial": PARTIAL,
    "tcp-partial-tso": PARTIAL,
    "udp-partial-tso": PARTIAL,
    "udplite-partial-tso": PARTIAL,
    "dccp-partial-tso": PARTIAL,
    "tcp6-partial": PARTIAL,
    "udp6-partial": PARTIAL,
    "tcp6-partial-tso": PARTIAL,
    "udp6-partial-tso": PARTIAL,
    "tcp-ffff-for-zero": "RFC 1071: 0xffff and 0x0000 are the same number; tshark asks for the one that is sent",
    "dccp-coverage-5": "RFC 4340 section 9.2: more coverage than data is invalid; tshark covers what is there",
    "vrrp3-good": "RFC 9568: no pseudo header over IPv4; tshark has a preference for it",
    "total-past-end": "the length runs past the bytes: what is missing can't be summed; tshark sums what is there",
    "past-end6": "the same",
    "jumbo-padded": "RFC 2675 wants a jumbo length above 65,535; a smaller one is still a length, tshark gives up",
    "jumbo-past-end": "the length runs past the bytes; tshark sums what is there",
    "pim-register-whole": "RFC 7761 section 4.9: a sum over all of the Register is to be accepted too",
    "pim6-register-whole": "the same",
    "eigrp-version-1": "RFC 7868 knows version 2 alone; tshark sums any",
    "routing-unknown": "the final destination is not known; tshark takes the next one",
    "routing-0-left-too-large": "the same",
}

# What tshark does not look into, by how the names of the packets begin.
OWN_NOT_FOLLOWED = {
    "l2tpv3-": "cookie and sublayer are agreed on by both sides; tshark wants them as preferences",
    "l2tpv36-": "the same",
    "erspan3-ip": "type III says that an IP packet follows; tshark always looks for a frame",
    "erspan36-ip": "the same",
    "gre-mpls-ethernet": "a frame without control word; tshark guesses by the first nibble",
    "gre6-mpls-ethernet": "the same",
    "gue": "no dissector of generic UDP encapsulation",
    "lisp-generic": "RFC 9305; tshark knows RFC 6830",
    "lisp6-generic": "the same",
    "cisco-metadata-longer": "the header says its length; tshark takes 6 bytes",
    "nsh-4": "an NSH inside an NSH, which RFC 8300 gives a number",
    "nflog": "the fields are in the order of whoever captured; tshark takes the file's",
    "arcnet-part": "the first part of a split packet; tshark takes it for the whole",
}


@pytest.mark.needs_tool("tshark")
@pytest.mark.parametrize("name", [name for name in fixture_packets.captured() if not name.endswith(".gz")])
def test_tshark_agrees_on_our_own(name: str) -> None:
    packets, agreed, differences = against_tshark(CAPTURES / name)
    some = fixture_packets.captured()[name]
    assert packets == len(some)
    assert agreed > len(some) // 2
    inside = [d for d in differences if some[d.packet].name.startswith(tuple(OWN_NOT_FOLLOWED))]
    assert all(d.theirs is None or d.ours == "nothing" for d in inside)
    named = [some[d.packet].name for d in differences if d not in inside]
    assert sorted(named) == sorted(packet.name for packet in some if packet.name in OWN_DIFFERENCES)
    for begin in OWN_NOT_FOLLOWED if name == "protocols.pcapng" else ():
        assert any(some[d.packet].name.startswith(begin) for d in inside), begin


# scapy and dpkt: witnesses on packets that they make, and where they are wrong


def test_scapy_makes_packets_that_are_good() -> None:
    from scapy.layers.inet import ICMP, IP, TCP, UDP
    from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrHopByHop, IPv6ExtHdrSegmentRouting
    from scapy.layers.l2 import GRE, Dot1Q, Ether
    from scapy.layers.vxlan import VXLAN

    four, six = IP(src="192.0.2.1", dst="198.51.100.7"), IPv6(src="2001:db8::1", dst="2001:db8::2")
    route = IPv6ExtHdrSegmentRouting(addresses=["2001:db8::9", "2001:db8::2"], segleft=1, lastentry=1)
    for data in (b"", b"x", b"hello", bytes(range(256)) * 5):
        for packet, layers in (
            (four / TCP() / data, ["ipv4", "tcp"]),
            (four / UDP() / data, ["ipv4", "udp"]),
            (four / ICMP() / data, ["ipv4", "icmp"]),
            (six / TCP() / data, ["tcp"]),
            (six / UDP() / data, ["udp"]),
            (six / ICMPv6EchoRequest(data=data), ["icmpv6"]),
            (six / IPv6ExtHdrHopByHop() / UDP() / data, ["udp"]),
            (six / route / UDP() / data, ["udp"]),
            (four / GRE(chksum_present=1) / four / TCP() / data, ["ipv4", "gre", "ipv4", "tcp"]),
            (four / four / UDP() / data, ["ipv4", "ipv4", "udp"]),
            (
                four / UDP(sport=1) / VXLAN() / Ether() / Dot1Q() / four / UDP() / data,
                ["ipv4", "udp", "ipv4", "udp"],
            ),
        ):
            raw = bytes(packet)
            verdicts = verify_packet(raw)
            assert [(verdict.layer, verdict.status) for verdict in verdicts] == [
                (layer, "good") for layer in layers
            ]


def test_dpkt_makes_packets_that_are_good() -> None:
    import dpkt

    for data in (b"", b"x", b"hello", bytes(range(256)) * 5):
        for protocol, transport in (
            (6, dpkt.tcp.TCP(sport=1, dport=2, data=data)),
            (17, dpkt.udp.UDP(sport=1, dport=2, ulen=8 + len(data), data=data)),
            (1, dpkt.icmp.ICMP(type=8, data=dpkt.icmp.ICMP.Echo(id=1, seq=2, data=data))),
        ):
            packet = dpkt.ip.IP(src=b"\xc0\0\2\1", dst=b"\xc6\x33\x64\7", p=protocol, data=transport)
            packet.len = len(packet)
            assert [verdict.status for verdict in verify_packet(bytes(packet))] == ["good", "good"]


def test_where_scapy_is_wrong() -> None:
    """Each of these gives the wrong value of scapy 2.5 to 2.8, or the right one once it is mended; ours is right."""
    from scapy.utils import checksum as scapy_checksum

    data = bytes(range(1, 21))
    assert scapy_checksum(data) == checksum(data) == 0x9B91
    for buffer in (memoryview(data), bytearray(data)):
        assert checksum(buffer) == 0x9B91
    view: Any = memoryview(data)
    assert scapy_checksum(view) in {0x2DFF, 0x9B91}  # it sums items and not words
    large = b"\xff\xff" * 65538 + b"\1\0"
    assert checksum(large) == 0xFEFF
    assert scapy_checksum(large) in {0xFFFF, 0xFEFF}  # two folds are too few from 131,078 bytes on
    mine: Any = bytearray(b"abc")
    its: Any = bytearray(b"abc")
    assert checksum(mine) == scapy_checksum(its) == 0x3B9D
    assert mine == b"abc"
    assert bytes(its) in {b"abc\0", b"abc"}  # it pads what belongs to the caller


def test_where_dpkt_is_wrong() -> None:
    """As for scapy: dpkt 1.9.8's wrong value, or the right one."""
    import dpkt

    pieces = b"\xf2", b"\xb7\x40"
    total = 0
    for piece in pieces:
        total = dpkt.dpkt.in_cksum_add(total, piece)
    assert checksum(b"".join(pieces)) == 0xCD47
    assert dpkt.dpkt.in_cksum_done(total) in {0x56BE, 0xCD47}  # an odd piece is padded each time

    right = next(packet for packet in fixture_packets.packets() if packet.name == "udp6-ffff-is-right")
    segment = right.data[54:]
    assert transport_checksum(right.data, link="ethernet") == 0xFFFF
    datagram = dpkt.udp.UDP(segment)
    datagram.sum = 0
    packet = dpkt.ip6.IP6(
        src=right.data[22:38], dst=right.data[38:54], nxt=17, hlim=64, plen=len(segment), data=datagram
    )
    made = bytes(packet)[40:]
    assert made[6:8] in {
        b"\0\0",
        b"\xff\xff",
    }  # a computed zero is left, which over IPv6 is no checksum at all


def test_witnesses_agree_on_sums() -> None:
    import dpkt
    from scapy.utils import checksum as scapy_checksum

    for net, make_packet in ((Net4(), make.udp), (Net6(), make.udp), (Net4(), make.tcp)):
        data = make_packet(net, bytes(range(200))).data
        assert scapy_checksum(data) == dpkt.dpkt.in_cksum(data) == checksum(data)
