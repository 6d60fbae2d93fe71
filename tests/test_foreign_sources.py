"""More than a thousand captures out of the source packages of libpcap, tcpdump, Wireshark and nDPI, beside tshark.

The first packets of each are copied into a few large captures, as tshark takes longer to start than to read one. What it
says otherwise stands in data/foreign_differences.txt: under a heading that says who is right and why, a line for each
kind of difference in a file, with how often it is met. One that is not listed, or listed and not met, fails.
`python tests/test_foreign_sources.py` prints what is met and not listed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import make_fixtures as make
import pytest
from make_fixtures import Packet
from test_foreign import CHECKED_BY_TSHARK, LAYER_OF, compare, ours, tshark

from fastcksum import capture
from fastcksum.packets import LINKS

FOLDER = Path(__file__).parent.parent / "build" / "foreign"
TABLE = Path(__file__).parent / "data" / "foreign_differences.txt"
PACKAGES = ("libpcap", "ndpi", "tcpdump", "wireshark")
FIRST = 200
"""Packets of each capture."""
TOGETHER = 100
"""Captures in one file."""

needs_captures = pytest.mark.needs_tool("foreign-captures", "tshark")


class Kind(NamedTuple):
    """Differences of one kind in one capture."""

    capture: str
    layer: str
    ours: str
    theirs: str


class Met(NamedTuple):
    packets: int
    agreed: int
    differences: Counter[Kind]


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
    name = path.relative_to(FOLDER).as_posix().replace(" ", "_")
    columns = (read.offsets, read.lengths, read.original_lengths, read.linktypes)
    return [
        Packet(name, link, bytes(read.data[offset : offset + length]), (), original)
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


def against(paths: list[Path]) -> Met:
    packets = [packet for path in paths for packet in first_packets(path)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "together.pcapng"
        file.write_bytes(together(packets))
        mine, theirs = ours(file), tshark(file)
    agreed, differences = compare(mine, theirs, {LAYER_OF.get(layer, layer) for layer in CHECKED_BY_TSHARK})
    kinds = Counter(
        Kind(packets[d.packet].name, d.layer, d.ours, d.theirs or "nothing") for d in differences
    )
    return Met(len(packets), agreed, kinds)


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
        sum((part.differences for part in parts), Counter()),
    )


def listed() -> Counter[Kind]:
    """The table. Lines that begin with # are for people."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return Counter({Kind(*kind): int(count) for *kind, count in rows})


@needs_captures
def test_there_are_more_than_a_thousand() -> None:
    assert len(captures()) > 1000


@needs_captures
def test_each_difference_is_listed() -> None:
    found, known = met().differences, listed()
    assert found - known == Counter()
    assert known - found == Counter()


@needs_captures
def test_that_something_was_compared() -> None:
    assert met().packets > 30_000
    assert met().agreed > 30_000


if __name__ == "__main__":
    for kind, count in sorted((met().differences - listed()).items()):
        sys.stdout.write(f"{' '.join(kind)} {count}\n")
