"""Report.columns() and what is made of them: rows, frames, Arrow tables, Parquet; the numbers that Wireshark gives
frames.
"""

from __future__ import annotations

import socket
import struct
import subprocess
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import fixture_packets
import make_fixtures as make
import numpy as np
import pytest
from make_fixtures import CAPTURES, RAW, Net4, Net6, Packet

from fastcksum import capture
from fastcksum.capture import Columns, Row, read, verify
from fastcksum.packets import LAYERS, STATUSES, verify_packet

if TYPE_CHECKING:
    from pathlib import Path

CAPTURED = fixture_packets.captured()
ALL = CAPTURED["all.pcapng"]
TCP = Packet("", RAW, make.tcp(Net4()).data, ())


def in_memory(data: bytes | bytearray, lengths: list[int], original: int | None = None) -> capture.Capture:
    """Packets of raw IP, one behind the other."""
    offsets = np.cumsum([0, *lengths[:-1]])
    sizes = np.array(lengths, np.uint32)
    originals = sizes if original is None else np.full(len(lengths), original, np.uint32)
    links = np.full(len(lengths), RAW, np.uint16)
    return capture.Capture(data, offsets, sizes, originals, np.zeros(len(lengths), "M8[ns]"), links)


def address(raw: Any, version: int) -> str | None:
    """An address of the columns, read as RFC 4291 section 2.5.5.2 says."""
    six = ip_address(bytes(raw))
    if version == 0:
        assert int(six) == 0
        return None
    assert (six.ipv4_mapped is not None) == (version == 4)  # type: ignore[union-attr]
    return str(six.ipv4_mapped or six)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", sorted(CAPTURED))
def test_columns_say_what_each_packet_alone_says(name: str) -> None:
    columns = verify(CAPTURES / name).columns()
    expects = [(i, e) for i, some in enumerate(CAPTURED[name]) for e in some.expects]
    assert columns.n_rows == len(expects)
    assert columns["packet"].tolist() == [i for i, _ in expects]
    assert [LAYERS[code] for code in columns["layer"]] == [e.layer for _, e in expects]
    assert [STATUSES[code] for code in columns["status"]] == [e.status for _, e in expects]
    assert columns["found"].tolist() == [-1 if e.found is None else e.found for _, e in expects]
    assert columns["expected"].tolist() == [-1 if e.expected is None else e.expected for _, e in expects]
    at = 0
    for some in CAPTURED[name]:
        if some.original is not None:
            at += len(some.expects)
            continue
        for verdict in verify_packet(some.data, link=some.link):
            assert columns["offset"][at] == (-1 if verdict.offset is None else verdict.offset)
            assert columns.categories["reason"][columns["reason"][at]] == verdict.reason
            at += 1


def test_addresses_and_ports() -> None:
    packets = [make.tcp(Net4()), make.udp(Net6()), make.icmp(Net4())]
    data = b"".join(built.data for built in packets)
    lengths = [len(built.data) for built in packets]
    some = in_memory(data, lengths)
    columns = verify(some).columns()
    seen = [
        (LAYERS[layer], address(src, version), address(dst, version), int(source), int(destination))
        for layer, version, src, dst, source, destination in zip(
            *(columns[name] for name in ("layer", "ip_version", "src", "dst", "src_port", "dst_port")),
            strict=True,
        )
    ]
    tcp, udp = packets[0].data[20:24], packets[1].data[40:44]
    assert seen == [
        ("ipv4", "192.0.2.10", "198.51.100.20", -1, -1),
        ("tcp", "192.0.2.10", "198.51.100.20", *struct.unpack("!HH", tcp)),
        ("udp", "2001:db8::10", "2001:db8:1::20", *struct.unpack("!HH", udp)),
        ("ipv4", "192.0.2.10", "198.51.100.20", -1, -1),
        ("icmp", "192.0.2.10", "198.51.100.20", -1, -1),
    ]


def test_no_addresses_where_the_header_was_cut_off() -> None:
    built = make.tcp(Net4()).data
    some = in_memory(built[:12], [12], len(built))
    columns = verify(some).columns()
    assert columns["ip_version"].tolist() == [0]
    assert not columns["src"].any()
    (row,) = verify(some).rows
    assert (row.src, row.dst, row.src_port) == (None, None, None)
    assert verify(some).frame()["src"].isna().all()


def test_a_field_of_zero_and_of_all_ones_is_expected_right() -> None:
    """Both sum up alike, but only one of them is what a sender writes."""
    tcp = bytearray(make.tcp(Net4()).data)
    at = 20 + 4  # the sequence number takes up what is missing
    tcp[36:38] = b"\0\0"
    want = make.internet_checksum(_pseudo(tcp) + bytes(tcp[20:]))
    old = int.from_bytes(tcp[at : at + 2], "big")
    new = make.ones_complement_sum(struct.pack("!HH", old, want))
    tcp[at : at + 2] = struct.pack("!H", new)
    for field in (0, 0xFFFF):
        tcp[36:38] = struct.pack("!H", field)
        some = in_memory(bytes(tcp), [len(tcp)])
        columns = verify(some).columns("good")
        assert (columns["found"][-1], columns["expected"][-1]) == (field, 0)


def _pseudo(packet: bytearray) -> bytes:
    return bytes(packet[12:20]) + struct.pack("!BBH", 0, 6, len(packet) - 20)


def test_some_statuses() -> None:
    report = verify(CAPTURES / "all.pcapng")
    for wanted in (["bad"], ["partial", "none"], ["good"]):
        columns = report.columns(*wanted)  # type: ignore[arg-type]
        assert list(columns.rows()) == [row for row in report.rows if row.status in wanted]
    with pytest.raises(
        ValueError, match="a status must be one of good, bad, partial, none, unchecked, not 'wrong'"
    ):
        report.columns("wrong")  # type: ignore[arg-type]


def test_columns_of_a_file_and_of_memory_are_the_same() -> None:
    one, two = verify(CAPTURES / "all.pcapng").columns(), verify(read(CAPTURES / "all.pcapng")).columns()
    assert list(one) == list(two) == list(Columns(0))
    for name in one:
        assert one[name].dtype == two[name].dtype
        assert (one[name] == two[name]).all()


def test_rows_are_a_sequence() -> None:
    rows = verify(CAPTURES / "all.pcapng").rows
    every = list(rows)
    assert len(rows) == len(every) > 100
    assert rows == every
    assert rows[-1] == every[-1]
    assert rows[3:9] == every[3:9]
    assert rows[::-50] == every[::-50]
    assert rows != every[:-1]
    assert rows != [*every[:-1], every[-1]._replace(found=None)]
    assert every[7] in rows
    with pytest.raises(IndexError):
        rows[len(every)]


def test_arrow() -> None:
    import pyarrow as pa

    report = verify(CAPTURES / "all.pcapng")
    table = report.to_arrow()
    assert table.column_names == list(Row._fields)
    assert table.num_rows == len(report.rows)
    assert table["status"].to_pylist() == [row.status for row in report.rows]
    assert table["src"].to_pylist() == [row.src for row in report.rows]
    assert table["found"].to_pylist() == [row.found for row in report.rows]
    assert table["dst_port"].to_pylist() == [row.dst_port for row in report.rows]
    assert table["time"].type == pa.timestamp("ns")
    assert pa.table(report).equals(table)  # by __arrow_c_stream__


def test_polars_and_duckdb_take_a_report() -> None:
    import duckdb
    import polars as pl

    report = verify(CAPTURES / "all.pcapng")
    bad = report.counts()["bad"]
    assert pl.DataFrame(report).filter(pl.col("status") == "bad").height == bad
    relation = duckdb.from_arrow(report.to_arrow()).filter("status = 'bad'").count("*")
    assert relation.fetchall() == [(bad,)]


def test_parquet(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    report = verify(CAPTURES / "all.pcapng")
    report.to_parquet(tmp_path / "verdicts.parquet", "bad")
    table = pq.read_table(tmp_path / "verdicts.parquet")
    assert table.to_pylist() == report.to_arrow("bad").to_pylist()


def test_frame_has_categories() -> None:
    report = verify(CAPTURES / "all.pcapng")
    frame = report.frame()
    for name in ("layer", "src", "dst", "status", "reason"):
        assert frame[name].dtype == "category"
        told = [text if isinstance(text, str) else None for text in frame[name]]
        assert told == [getattr(row, name) for row in report.rows]
    assert frame["frame"].tolist() == [row.frame for row in report.rows]


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow: pip install 'fastcksum\[lab\]'"):
        verify(CAPTURES / "link-101.pcap").to_arrow()


def test_many_addresses() -> None:
    """More than a table of the first size holds, each met twice."""
    import fastcksum._core as core

    n = 5000
    text = [f"10.1.{i >> 8}.{i & 255}" for i in range(n)] + [f"fd00::{i:x}" for i in range(n)]
    raw = [b"\0" * 10 + b"\xff\xff" + socket.inet_aton(a) for a in text[:n]]
    raw += [socket.inet_pton(socket.AF_INET6, a) for a in text[n:]]
    order = np.random.default_rng(4).permutation(np.repeat(np.arange(2 * n), 2))
    versions = np.where(order < n, 4, 6).astype(np.uint8)
    versions[::7] = 0
    codes = np.empty(len(order), np.int32)
    rows = np.frombuffer(
        core.encode_addresses(np.frombuffer(b"".join(raw[i] for i in order), np.uint8), versions, codes)
    )
    rows = rows.view(np.int64)
    assert len(rows) == len(set(order[versions > 0].tolist()))
    assert (codes[::7] == -1).all()
    known = versions > 0
    assert (order[rows[codes[known]]] == order[known]).all()


def test_the_addresses_of_a_large_network_take_slots_of_their_own() -> None:
    """They differ in the last bytes alone: in one slot they would be compared 34,000,000,000 times."""
    import fastcksum._core as core

    n = 1 << 18
    addresses = np.zeros((n, 16), np.uint8)
    addresses[:, 10:12] = 0xFF
    addresses[:, 12:] = (np.arange(n, dtype=">u4") + 0x0A000000).view(np.uint8).reshape(n, 4)
    codes = np.empty(n, np.int32)
    rows = core.encode_addresses(addresses.reshape(-1), np.full(n, 4, np.uint8), codes)
    assert (codes == np.arange(n)).all()
    assert (np.frombuffer(rows, np.int64) == np.arange(n)).all()


# columns that no longer belong to the counts


def test_memory_that_changed() -> None:
    data = bytearray(TCP.data * 3)
    data[52 + 30] ^= 1  # the second is bad
    some = in_memory(data, [52] * 3)
    report = verify(some)
    data[52 + 30] ^= 1
    with pytest.raises(ValueError, match="packet 1 has other checksums than when it was verified"):
        report.columns()


def test_a_file_that_changes_while_its_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "some.pcap"
    path.write_bytes(make.pcap([TCP] * 50_000, RAW))
    report = verify(path)
    rows = report.iter_rows()
    next(rows)
    changed = bytearray(path.read_bytes())
    changed[-60:] = bytes(60)
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=r"has changed since it was verified|has other checksums"):
        list(rows)


# frames


def blocks() -> list[tuple[str, bytes]]:
    journal = b"__REALTIME_TIMESTAMP=1700000000000000\nMESSAGE=x\n"
    return [
        ("custom", make.block("<", 0xBAD, struct.pack("<I", 9999) + b"abcd")),
        ("custom, not to be copied", make.block("<", 0x40000BAD, struct.pack("<I", 9999) + b"abcd")),
        ("journal", make.block("<", 9, journal)),
        ("system call", make.block("<", 0x204, bytes(40))),
        ("names", make.block("<", 4, bytes(4))),
        ("statistics", make.block("<", 5, bytes(12))),
        ("secrets", make.block("<", 10, struct.pack("<II", 0x544C534B, 0))),
        ("local", make.block("<", 0x80000123, b"abcd")),
        ("simple packet", make.block("<", 3, struct.pack("<I", len(TCP.data)) + TCP.data)),
    ]


COUNTED = {"custom", "custom, not to be copied", "journal", "system call", "simple packet"}


@pytest.mark.parametrize("name", [name for name, _ in blocks()])
@pytest.mark.needs_tool("tshark")
def test_frames_have_the_numbers_of_wireshark(name: str, tmp_path: Path) -> None:
    packet = make.enhanced("<", 0, 5, TCP)
    path = tmp_path / "some.pcapng"
    path.write_bytes(make.section() + make.interface("<", RAW) + packet + dict(blocks())[name] + packet)
    frames = sorted(set(verify(path).columns()["frame"].tolist()))
    assert frames[-1] == (3 if name in COUNTED else 2)
    command = ["tshark", "-nr", str(path), "-Y", "tcp", "-T", "fields", "-e", "frame.number"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [int(word) for word in told.split()] == frames


def test_frames_of_a_capture_made_by_hand() -> None:
    some = read(CAPTURES / "link-101.pcap")
    assert some.frames is not None
    assert some.frames.tolist() == list(range(1, len(some) + 1))
    again = replace(some, frames=some.frames + 10)
    assert verify(again).columns()["frame"].min() == 11
    assert verify(replace(some, frames=None)).columns()["frame"].min() == 1


def test_a_section_of_too_many_interfaces(tmp_path: Path) -> None:
    """2.4 MB that unpack to fifty million of them took 1.2 GB."""
    path = tmp_path / "some.pcapng"
    packet = make.enhanced("<", 0, 5, TCP)
    path.write_bytes(make.section() + make.interface("<", RAW) * 65_536 + packet)
    assert verify(path).packets == 1
    path.write_bytes(make.section() + make.interface("<", RAW) * 65_537 + packet)
    with pytest.warns(capture.CaptureWarning, match="more interfaces than are kept"):
        assert verify(path).packets == 0
