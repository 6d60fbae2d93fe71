"""More than a thousand captures out of the source packages of libpcap, tcpdump, Wireshark and nDPI, beside tshark.

The first packets of each are copied into a few large captures, as tshark takes longer to start than to read one.
What it says otherwise falls under a rule of RULES, with who is right and why. A difference that no rule knows, or
a rule that nothing falls under, fails. `python tests/test_foreign_sources.py` prints what no rule knows, and how
often each is met.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import make_fixtures as make
import pytest
from make_fixtures import Packet, ones_complement_sum
from test_foreign import CHECKED_BY_TSHARK, LAYER_OF, PARTIAL, Difference, compare, ours, tshark

from fastcksum import capture
from fastcksum.packets import LINKS

FOLDER = Path(__file__).parent.parent / "build" / "foreign"
PACKAGES = ("libpcap", "ndpi", "tcpdump", "wireshark")
FIRST = 500
"""Packets of each capture."""
TOGETHER = 100
"""Captures in one file."""
PADDING = 64
"""Bytes that may lie behind an IP packet in a frame."""

needs_captures = pytest.mark.needs_tool("foreign-captures", "tshark")


class Rule(NamedTuple):
    """A kind of difference, and who is right. Empty: any. reason: words of ours; capture: how its path ends."""

    ours: str
    theirs: str
    why: str
    layers: str = ""
    reason: str = ""
    capture: str = ""


RULES = (
    Rule("partial", "bad", PARTIAL, "tcp udp"),
    Rule(
        "unchecked",
        "",
        "the length runs past the bytes of the packet, and what is missing can't be summed (RFC 1071 sums all of "
        "it); tshark sums what is there",
        reason="past the end",
    ),
    Rule("unchecked", "bad", "the same: the capture is cut", "pim", reason="truncated"),
    Rule(
        "unchecked",
        "bad",
        "RFC 7868 knows version 2 alone, RFC 9568 versions 2 and 3; tshark sums any",
        "eigrp vrrp",
        reason="version",
    ),
    Rule(
        "good",
        "bad",
        "RFC 7761 section 4.9: a sum over the whole Register is to be accepted too; tshark accepts 8 bytes alone",
        "pim",
        reason="whole Register",
    ),
    Rule(
        "good",
        "nothing",
        "PIM version 1 and DVMRP are types of IGMP and have its checksum (RFC 1112 appendix I, RFC 1075); tshark "
        "files the first under pim, and does not judge the second",
        "igmp",
    ),
    Rule("nothing", "good", "the same: PIM version 1", "pim", capture="PIM-SM_join_prune.pcap"),
    Rule(
        "nothing",
        "",
        "sFlow carries samples of packets that are cut off, OpenFlow packets in a stream of TCP: what they bring "
        "was not sent in this frame",
        "ipv4 udp",
        capture="sflow-print-v6.pcap of13_ericsson.pcapng",
    ),
    Rule(
        "nothing",
        "",
        "no header that is plausible stands behind the labels: its sum and its lengths are wrong (RFC 8469 says "
        "not to go by the first nibble)",
        "ipv4 udp",
        capture="tok2str-oobr-2.pcap wb-oobr.pcap",
    ),
    Rule(
        "nothing",
        "good",
        "CAPWAP (RFC 5415) is not followed: whether its frames are as on the air is a matter of who wrote them",
        capture="capwap.pcap",
    ),
    Rule(
        "good",
        "bad",
        "FabricPath has the frame check sequence of Ethernet, which a capture does not hold; tshark takes the "
        "last four bytes of the segment for it",
        "tcp",
        capture="ajp.pcap",
    ),
    Rule(
        "bad",
        "nothing",
        "a payload length of 0 over bytes that are there is that of a packet on its way to the card, and the sum "
        "is wrong with what is there; tshark takes no bytes to be there",
        "icmpv6",
        capture="icmpv6-length-zero.pcapng",
    ),
    Rule(
        "bad",
        "nothing",
        "a header of less than 20 bytes (RFC 9293 section 3.1) does not end the segment, which the sum covers; "
        "tshark gives up",
        "tcp",
        capture="kerberos_fuzz.pcapng reasm_crash_anon.pcapng",
    ),
)


class Found(NamedTuple):
    """A difference, with what it is about."""

    capture: str
    difference: Difference
    reasons: frozenset[str]


class Met(NamedTuple):
    packets: int
    agreed: int
    differences: list[Found]


def captures() -> list[Path]:
    return sorted(path for name in PACKAGES for path in (FOLDER / name).rglob("*") if path.is_file())


def first_packets(path: Path) -> list[Packet]:
    """Those of link types that are understood; none of a file that is no capture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        try:
            read = capture.read(path)
        except ValueError:
            return []
    data, name = memoryview(read.data), path.relative_to(FOLDER).as_posix()
    columns = (read.offsets, read.lengths, read.original_lengths, read.linktypes)
    return [
        Packet(name, link, bytes(data[offset : offset + length]), (), original)
        for offset, length, original, link in zip(
            *(column[:FIRST].tolist() for column in columns), strict=True
        )
        if link in LINKS and length
    ]


def together(packets: list[Packet]) -> bytes:
    """One pcapng file with an interface for each link type."""
    links = sorted({packet.link for packet in packets})
    parts = [make.section(), *(make.interface("<", link) for link in links)]
    parts += [make.enhanced("<", links.index(packet.link), i, packet) for i, packet in enumerate(packets)]
    return b"".join(parts)


def rows_of(file: Path) -> dict[int, list[capture.Row]]:
    """The rows of each packet."""
    rows: dict[int, list[capture.Row]] = {}
    for row in capture.verify(file).rows:
        rows.setdefault(row.packet, []).append(row)
    return rows


def against(paths: list[Path]) -> Met:
    packets = [packet for path in paths for packet in first_packets(path)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "together.pcapng"
        file.write_bytes(together(packets))
        mine, theirs, rows = ours(file), tshark(file), rows_of(file)
    agreed, differences = compare(mine, theirs, {LAYER_OF.get(layer, layer) for layer in CHECKED_BY_TSHARK})
    for row in (row for d in differences for row in rows.get(d.packet, ()) if row.status == "partial"):
        assert is_pseudo_sum(row, packets[row.packet]), row
    return Met(
        len(packets),
        agreed,
        [
            Found(
                packets[d.packet].name,
                d,
                frozenset(row.reason for row in rows.get(d.packet, ()) if row.status == d.ours),
            )
            for d in differences
        ],
    )


def is_pseudo_sum(row: capture.Row, packet: Packet) -> bool:
    """Whether a field holds the sum of addresses and protocol, with the segment's length or without (plain Python)."""
    protocol, field = {"tcp": (6, 16), "udp": (17, 6)}[row.layer]
    assert row.offset is not None
    assert row.src is not None
    assert row.dst is not None
    start = row.offset - field
    addresses = ip_address(row.src).packed + ip_address(row.dst).packed
    rest = len(packet.data) - start
    lengths = {0, *range(max(rest - PADDING, 1), rest + 1)}
    return row.found in {
        ones_complement_sum(addresses + protocol.to_bytes(2, "big") + length.to_bytes(4, "big"))
        for length in lengths
    }


@cache
def met() -> Met:
    """All of it. tshark is a process of its own, which a thread waits for."""
    paths = captures()
    chunks = [paths[at : at + TOGETHER] for at in range(0, len(paths), TOGETHER)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(against, chunks))
    return Met(
        sum(part.packets for part in parts),
        sum(part.agreed for part in parts),
        [found for part in parts for found in part.differences],
    )


def falls_under(found: Found, rule: Rule) -> bool:
    difference = found.difference
    return (
        difference.ours == rule.ours
        and rule.theirs in {"", difference.theirs or "nothing"}
        and (not rule.layers or difference.layer in rule.layers.split())
        and any(rule.reason in reason for reason in found.reasons or {""})
        and (not rule.capture or found.capture.endswith(tuple(rule.capture.split())))
    )


def rules_met() -> Counter[Rule | None]:
    """How many differences fall under each rule; None: under none."""
    return Counter(
        next((rule for rule in RULES if falls_under(found, rule)), None) for found in met().differences
    )


def of_no_rule() -> list[Found]:
    return [found for found in met().differences if not any(falls_under(found, rule) for rule in RULES)]


@needs_captures
def test_there_are_more_than_a_thousand() -> None:
    assert len(captures()) > 1000


@needs_captures
def test_each_difference_falls_under_a_rule() -> None:
    assert of_no_rule() == []


@needs_captures
def test_each_rule_is_met() -> None:
    counted = rules_met()
    assert [rule for rule in RULES if not counted[rule]] == []


@needs_captures
def test_that_something_was_compared() -> None:
    assert met().packets > 30_000
    assert met().agreed > 60_000


if __name__ == "__main__":
    for found in of_no_rule():
        sys.stdout.write(f"{found}\n")
    for rule, count in rules_met().items():
        sys.stdout.write(f"{count:6} {rule}\n")
    sys.stdout.write(f"{len(captures())} captures, {met().packets} packets, {met().agreed} agreed\n")
