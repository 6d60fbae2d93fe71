"""What a capture file says of its packets before any packet: versions, frame check sequences."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import make_fixtures as make
import pytest
from make_fixtures import ETHERNET, Net4, Packet

from fastcksum import capture

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = make.ethernet(make.tcp(replace(Net4(), total=0)))
"""The length is not in its header: every byte counts that is taken for one of the packet."""

PADDED = make.ethernet(make.tcp(Net4())).then(b"\1\2\3\4\5\6")


def frame(data: bytes, original: int | None = None) -> Packet:
    return Packet("frame", ETHERNET, data, (), original)


def statuses(path: Path, data: bytes) -> list[list[str]]:
    """Of each packet, the statuses of its two checksums."""
    path.write_bytes(data)
    report = capture.verify(path)
    assert report.damage is None
    result: list[list[str]] = [[] for _ in range(report.packets)]
    for row in report.rows:
        result[row.packet].append(row.status)
    return result


def with_version(data: bytes, order: str, major: int, minor: int) -> bytes:
    return data[:4] + struct.pack(order + "HH", major, minor) + data[8:]


def swap_lengths(data: bytes) -> bytes:
    """The same file with the two lengths of each record in the other places."""
    out, at = data[:24], 24
    order = "<" if data[0] == 0xD4 else ">"
    while at < len(data):
        (length,) = struct.unpack_from(order + "I", data, at + 8)
        out += data[at : at + 8] + data[at + 12 : at + 16] + data[at + 8 : at + 12]
        out += data[at + 16 : at + 16 + length]
        at += 16 + length
    return out


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("minor", range(5))
def test_versions_of_pcap(tmp_path: Path, order: str, minor: int) -> None:
    """Before 2.3 the lengths stand in the other order; in files of 2.3 either way (libpcap, sf-pcap.c)."""
    packets = [frame(WHOLE.data[:60], len(WHOLE.data)), frame(PADDED.data)]
    plain = with_version(make.pcap(packets, ETHERNET, order), order, 2, minor)
    expected = [["good", "unchecked"], ["good", "good"]]
    if minor >= 3:
        assert statuses(tmp_path / "a.pcap", plain) == expected
    if minor <= 3:
        assert statuses(tmp_path / "b.pcap", swap_lengths(plain)) == expected


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [(1, 4), (0, 0), (2, 5), (3, 0), (4, 2), (512, 1024)])
def test_versions_that_nobody_reads(tmp_path: Path, order: str, version: tuple[int, int]) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(with_version(make.pcap([frame(PADDED.data)], ETHERNET, order), order, *version))
    with pytest.warns(capture.CaptureWarning, match=r"a version of the pcap format other than 2\.0 to 2\.4"):
        report = capture.verify(path)
    assert report.packets == 0
    assert report.damage is not None


@pytest.mark.parametrize("minor", [0, 1, 2, 3])
def test_versions_of_pcapng(tmp_path: Path, minor: int) -> None:
    """1.2 is what some programs write for 1.0; no other is read (libpcap, Wireshark)."""
    section = bytearray(make.section())
    section[14] = minor
    path = tmp_path / "a.pcapng"
    path.write_bytes(
        bytes(section) + make.interface("<", ETHERNET) + make.enhanced("<", 0, 0, frame(PADDED.data))
    )
    if minor in {0, 2}:
        assert capture.verify(path).packets == 1
    else:
        with pytest.warns(capture.CaptureWarning, match="has a version that is not known"):
            assert capture.verify(path).packets == 0


@pytest.mark.parametrize("words", [1, 2, 4])
def test_fcs_announced_by_pcap(tmp_path: Path, words: int) -> None:
    fcs = b"\xde\xad\xbe\xef\xca\xfe\xba\xbe"[: 2 * words]
    packets = [
        frame(WHOLE.data + fcs),
        frame(WHOLE.data + fcs[:1], len(WHOLE.data) + len(fcs)),  # cut within the sequence: all else is there
        frame(WHOLE.data[:-1], len(WHOLE.data) + len(fcs)),
        frame(b""),
    ]
    data = bytearray(make.pcap(packets, ETHERNET))
    assert statuses(tmp_path / "a.pcap", bytes(data))[0] == ["good", "bad"]
    data[23] = words << 4 | 0x04
    assert statuses(tmp_path / "b.pcap", bytes(data)) == [
        ["good"] * 2,
        ["good"] * 2,
        ["good", "unchecked"],
        [],
    ]
    data[23] = words << 4  # a length without the flag that makes it one
    assert statuses(tmp_path / "c.pcap", bytes(data))[0] == ["good", "bad"]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("said", "length"), [(0, 0), (16, 2), (32, 4), (64, 8), (2, 2), (4, 4), (8, 8)])
def test_fcs_announced_by_an_interface(tmp_path: Path, order: str, said: int, length: int) -> None:
    """if_fcslen is in bits; where it is too small for that, somebody wrote bytes."""
    interface = make.interface(order, ETHERNET, make.option(order, 13, bytes([said])))
    packet = frame(WHOLE.data + b"\xde\xad\xbe\xef" * 2)
    packet = replace(packet, data=packet.data[: len(WHOLE.data) + length])
    simple = make.block(order, 3, struct.pack(order + "I", len(packet.data)) + packet.data)
    data = make.section(order) + interface + make.enhanced(order, 0, 0, packet) + simple
    assert statuses(tmp_path / "a.pcapng", data) == [["good", "good"]] * 2


@pytest.mark.parametrize("order", ["<", ">"])
def test_fcs_announced_by_a_packet(tmp_path: Path, order: str) -> None:
    """epb_flags, bits 5 to 8: bytes; 0 says nothing, and the interface counts."""
    parts = [
        make.section(order),
        make.interface(order, ETHERNET),
        make.interface(order, ETHERNET, make.option(order, 13, b"\x20")),
    ]
    for number, flags, length in ((0, 4 << 5, 4), (0, 0x1 | 2 << 5, 2), (0, 0, 0), (1, 0, 4), (1, 2 << 5, 2)):
        data = WHOLE.data + b"\xde\xad\xbe\xef"[:length]
        body = (
            struct.pack(order + "IIIII", number, 0, 0, len(data), len(data)) + data + b"\0" * (-len(data) % 4)
        )
        options = make.option(order, 1, b"a comment") + make.option(order, 2, struct.pack(order + "I", flags))
        parts.append(make.block(order, 6, body + options + b"\0\0\0\0"))
    assert statuses(tmp_path / "a.pcapng", b"".join(parts)) == [["good", "good"]] * 5
