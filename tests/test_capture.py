"""fastcksum.capture: formats, damage at every byte, what is no capture, reports, and files that change or do not
end.
"""

from __future__ import annotations

import gzip
import os
import random
import struct
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fixture_packets
import make_fixtures as make
import numpy as np
import pytest
import zstandard
from make_fixtures import CAPTURES, ETHERNET, RAW, Net4, Net6, Packet

from fastcksum import capture, raw_cksum
from fastcksum.capture import Capture, CaptureWarning, Report, Row, _pieces, read, verify
from fastcksum.packets import LAYERS, STATUSES, verify_packet

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = fixture_packets.captures()
CAPTURED = fixture_packets.captured()
ALL = CAPTURED["all.pcapng"]


def packet(built: make.Built, link: int = RAW) -> Packet:
    return Packet("", link, built.data, built.expects)


TCP, UDP6 = packet(make.tcp(Net4())), packet(make.udp(Net6(), fault="bad"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], str]:
    def to_file(data: bytes, name: str = "some.pcap") -> str:
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)

    return to_file


def expected_rows(packets: list[Packet]) -> list[tuple[Any, ...]]:
    return [
        (i, e.layer, e.status, e.found, e.expected) for i, some in enumerate(packets) for e in some.expects
    ]


def rows(report: Report) -> list[tuple[Any, ...]]:
    return [(row.packet, row.layer, row.status, row.found, row.expected) for row in report.rows]


# the captures of tests/data


def test_the_captures_are_what_the_script_makes() -> None:
    assert {path.name for path in CAPTURES.iterdir()} == {*FILES, "verdicts.txt"}
    for name, data in FILES.items():
        unpack = gzip.decompress if name.endswith(".gz") else bytes  # compressors differ
        assert unpack((CAPTURES / name).read_bytes()) == unpack(data), "run  python tests/fixture_packets.py"
    assert (CAPTURES / "verdicts.txt").read_text(encoding="ascii") == fixture_packets.verdicts()


@pytest.mark.parametrize("name", FILES)
def test_verdicts_of_a_file_and_of_a_capture_in_memory(name: str) -> None:
    path = CAPTURES / name
    report = verify(path)
    assert rows(report) == expected_rows(CAPTURED[name])
    whole = read(str(path))
    assert len(whole) == report.packets == len(CAPTURED[name])
    assert whole.damage is report.damage is None
    again = verify(whole)
    assert again.rows == report.rows
    assert (again.codes == report.codes).all()
    assert (again.per_packet == report.per_packet).all()
    assert again.counts() == report.counts()
    for i, some in enumerate(CAPTURED[name]):
        begin, length = int(whole.offsets[i]), int(whole.lengths[i])
        assert bytes(memoryview(whole.data)[begin : begin + length]) == some.data
        assert whole.original_lengths[i] == (some.original or len(some.data))
        assert whole.linktypes[i] == some.link


def test_columns_have_the_documented_types() -> None:
    whole = read(CAPTURES / "link-1.pcap")
    assert [
        array.dtype.str
        for array in (whole.offsets, whole.lengths, whole.original_lengths, whole.timestamps, whole.linktypes)
    ] == ["<i8", "<u4", "<u4", "<M8[ns]", "<u2"]
    assert isinstance(whole.data, bytes)


# formats


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_pcap(write: Callable[..., str], order: str, nanoseconds: bool) -> None:
    path = write(make.pcap([TCP, UDP6, TCP], RAW, order, nanoseconds=nanoseconds))
    assert rows(verify(path)) == expected_rows([TCP, UDP6, TCP])
    base = np.datetime64(1_700_000_000_000_000_000, "ns")
    steps = [0, 1001, 2002] if nanoseconds else [0, 1000, 2000]
    assert (read(path).timestamps - base).astype(int).tolist() == steps
    assert [row.time for row in verify(path).rows[:1]] == [base]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_of_a_patched_libpcap(write: Callable[..., str], order: str) -> None:
    """Record headers of 24 bytes, told by their own magic number."""
    head = struct.pack(order + "IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, RAW)
    record = struct.pack(order + "IIIIIHBB", 1, 2, len(TCP.data), len(TCP.data), 3, 0x800, 0, 0) + TCP.data
    assert rows(verify(write(head + record * 3))) == expected_rows([TCP] * 3)


def test_link_types_with_frame_check_bits(write: Callable[..., str]) -> None:
    data = bytearray(make.pcap([replace(TCP, data=TCP.data + b"\xfc\5")], RAW))
    data[23] = 0x14  # the file says that packets end in a check sequence of one 16-bit word
    assert rows(verify(write(bytes(data)))) == expected_rows([TCP])


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_blocks(write: Callable[..., str], order: str) -> None:
    """Several sections and interfaces, simple and obsolete packet blocks, unknown ones between them."""
    pack = order + "HHIIII"
    frame = packet(make.ethernet(make.tcp(Net4())), ETHERNET)
    obsolete = make.block(
        order, 2, struct.pack(pack, 1, 0, 0, 5, len(frame.data), len(frame.data)) + frame.data
    )
    simple = make.block(order, 3, struct.pack(order + "I", len(TCP.data)) + TCP.data)
    parts = [
        make.section(order),
        make.block(order, 0x0BAD, b"custom" + bytes(2)),
        make.interface(order, RAW),
        make.interface(order, ETHERNET, make.option(order, 2, b"eth0") + make.option(order, 0, b"")),
        obsolete,
        make.block(order, 0x80000BAD, b""),
        simple,
        make.enhanced(order, 0, 5, UDP6),
        make.section(order),
        make.interface(order, RAW),
        simple,
    ]
    path = write(b"".join(parts), "some.pcapng")
    packets = [frame, TCP, UDP6, TCP]
    assert rows(verify(path)) == expected_rows(packets)
    whole = read(path)
    assert whole.linktypes.tolist() == [ETHERNET, RAW, RAW, RAW]
    assert np.isnat(whole.timestamps).tolist() == [False, True, False, True]
    assert whole.timestamps[0] == np.datetime64(5000, "ns")


def test_a_simple_packet_is_cut_by_the_snapshot_length(write: Callable[..., str]) -> None:
    order = "<"
    simple = make.block(order, 3, struct.pack(order + "I", 52) + TCP.data[:40])
    path = write(make.section() + make.interface(order, RAW, snaplen=40) + simple)
    whole = read(path)
    assert (whole.lengths.tolist(), whole.original_lengths.tolist()) == ([40], [52])
    assert [row.status for row in verify(path).rows] == ["good", "unchecked"]
    assert "truncated" in verify(path).rows[1].reason


@pytest.mark.parametrize(
    ("resolution", "offset", "ticks", "nanoseconds"),
    [
        (None, 0, 1_500_000, 1_500_000_000),
        (0, 0, 3, 3_000_000_000),
        (3, 0, 1500, 1_500_000_000),
        (9, 0, 7, 7),
        (9, 1_700_000_000, 7, 1_700_000_000_000_000_007),
        (12, 0, 1_999, 1),
        (19, 0, 10**12, 100),
        (127, 0, 2**64 - 1, 0),
        (0x80 | 10, 0, 1536, 1_500_000_000),
        (0x80 | 127, 0, 2**64 - 1, 0),
        (6, -1, 1_500_000, 500_000_000),
        (0, 0, 2**63, None),
        (9, 2**62, 0, None),
        (6, 0, 2**64 - 1, None),
    ],
)
def test_pcapng_times(
    write: Callable[..., str], resolution: int | None, offset: int, ticks: int, nanoseconds: int | None
) -> None:
    """Any resolution and offset; None: more than 64 bits of nanoseconds hold, which is no time."""
    options = b"" if resolution is None else make.option("<", 9, bytes([resolution]))
    options += make.option("<", 14, struct.pack("<q", offset))
    path = write(make.section() + make.interface("<", RAW, options) + make.enhanced("<", 0, ticks, TCP))
    (time,) = read(path).timestamps
    assert np.isnat(time) if nanoseconds is None else time == np.datetime64(nanoseconds, "ns")


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("name", ["some.pcap", "some.pcap.gz", "some.pcap.zst"])
@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_compressed(write: Callable[..., str], name: str, compress: Callable[[bytes], bytes]) -> None:
    data = fixture_packets.pcapng(ALL * 20)
    two = compress(data[:5000]) + compress(data[5000:])
    for packed in (compress(data), two, two + bytes(100_000)):
        path = write(packed, name)
        report = verify(path)
        assert rows(report) == expected_rows(ALL * 20)
        assert bytes(memoryview(read(path).data)) == data


def test_a_suffix_may_lie(write: Callable[..., str]) -> None:
    assert rows(verify(write(make.pcap([TCP], RAW), "some.pcap.gz"))) == expected_rows([TCP])


def test_zstd_without_its_package(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(zstd(make.pcap([TCP], RAW)))
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(ImportError, match=r"zstandard: pip install 'fastcksum\[capture\]'"):
        verify(path)


def test_larger_than_a_piece(write: Callable[..., str]) -> None:
    """Records across the ends of pieces, many more than are found at a time, and one larger than a piece."""
    big = packet(make.tcp(replace(Net4(), total=0), b"x" * 3_000_000))
    packets = [*([TCP, UDP6] * 15_000), big, TCP]
    data = bytearray(make.pcap(packets, RAW))
    data[16:20] = struct.pack("<I", 4_000_000)  # the snapshot length allows it
    path = write(bytes(data))
    report = verify(path)
    assert report.counts() == {"good": 2 * 15_002, "bad": 15_000, "partial": 0, "none": 0, "unchecked": 0}
    assert [row.packet for row in report.iter_rows("bad")] == list(range(1, 30_000, 2))
    assert verify(read(path)).counts() == report.counts()
    assert report.rows[-1].packet == 30_001
    assert rows(report) == expected_rows(packets)


# what is no capture


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"\xd4", "it has 1 bytes"),
        (b"\xd4\xc3\xb2", "it has 3 bytes"),
        (b"hello, world\n", "it looks like text that begins with 'hello, world"),
        ("grüße aus dem netz ".encode() * 9, "it looks like text that begins with 'grüße"),
        (b"PK\3\4" + bytes(50), "it looks like a zip archive"),
        (b"\x7fELF" + bytes(50), "an ELF program"),
        (
            b"\x04\x22\x4d\x18" + bytes(50),
            "lz4 data, which is not decompressed here; lz4 -dc FILE | fastcksum verify -",
        ),
        (b"a.pcap" + bytes(251) + b"ustar\0" + bytes(300), "a tar archive; tar -xOf FILE NAME"),
        (b"snoop\0\0\0" + bytes(50), "a snoop capture; editcap turns it into pcapng"),
        (b"\1\2\3\4\5\6\7\x88\x99" * 9, "it begins with the bytes 01 02 03 04 05 06 07 88"),
        (bytes(5000), "it begins with the bytes 00 00 00 00"),
    ],
)
def test_no_capture(write: Callable[..., str], data: bytes, words: str) -> None:
    for packed in (data, gzip.compress(data), zstd(data)):
        path = write(packed)
        for function in (read, verify):
            with pytest.raises(ValueError, match=r"is no capture file \(pcap or pcapng\): ") as error:
                function(path)
            assert words in str(error.value)
            assert str(error.value).startswith(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for function in (read, verify):
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "none.pcap")
        with pytest.raises(IsADirectoryError):
            function(tmp_path)
        with pytest.raises(TypeError):
            function(3.0)  # type: ignore[arg-type]


# damage


def quietly(function: Callable[[str], Any], path: str) -> tuple[Any, list[str]]:
    """The result, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(path)
    return result, [str(warning.message) for warning in caught if warning.category is CaptureWarning]


def test_a_truncated_file(write: Callable[..., str]) -> None:
    data = make.pcap([TCP, UDP6, TCP], RAW)
    path = write(data[:-1])
    last = len(data) - len(TCP.data) - 16
    for function in (verify, read):
        result, said = quietly(function, path)
        words = "the file ends inside the record that begins here; the 2 packets before it are read"
        assert said == [f"{path} is damaged at byte {last}: {words}"]
        assert result.damage is not None
        assert result.damage in said[0]
    report, _ = quietly(verify, path)
    assert rows(report) == expected_rows([TCP, UDP6])


def damaged(position: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:position] + value + data[position + len(value) :]


NG = [make.section(), make.interface("<", RAW), make.enhanced("<", 0, 0, TCP), make.enhanced("<", 0, 0, TCP)]
SECOND = len(NG[0] + NG[1] + NG[2])


@pytest.mark.parametrize(
    ("data", "at", "words", "packets"),
    [
        (damaged(24 + 8, b"\xff\xff\xff\x7f")(make.pcap([TCP], RAW)), 24, "a record .* impossible length", 0),
        (make.pcap([TCP], RAW)[:20], 0, "ends inside the header", 0),
        (make.section()[:9], 0, "ends inside the record", 0),
        (damaged(8, b"\1\2\3\4")(make.section()), 0, "no valid byte-order mark", 0),
        (damaged(12, b"\2")(make.section()), 0, "has a version that is not known", 0),
        (damaged(SECOND + 4, b"\1\0\0\0")(b"".join(NG)), SECOND, "a block .* impossible length", 1),
        (damaged(SECOND + 4, b"\x61")(b"".join(NG)), SECOND, "a block .* impossible length", 1),
        (damaged(SECOND + 7, b"\x40")(b"".join(NG)), SECOND, "a block .* impossible length", 1),
        (damaged(len(b"".join(NG)) - 4, b"\0")(b"".join(NG)), SECOND, "the two lengths .* differ", 1),
        (damaged(SECOND + 8, b"\1")(b"".join(NG)), SECOND, "an interface that was not described", 1),
        (damaged(SECOND + 20, b"\xff\0")(b"".join(NG)), SECOND, "a record .* impossible length", 1),
        (damaged(SECOND + 20, b"\x35")(b"".join(NG)), SECOND, "a record .* impossible length", 1),
        (b"".join(NG)[:-5], SECOND, "ends inside the record", 1),
        (make.section() + make.block("<", 3, struct.pack("<I", 52) + TCP.data), 28, "was not described", 0),
    ],
)
def test_damage_is_told_once_with_its_place(
    write: Callable[..., str], data: bytes, at: int, words: str, packets: int
) -> None:
    for function in (verify, read):
        result, said = quietly(function, write(data))
        assert len(said) == 1
        assert f"damaged at byte {at}: " in said[0]
        assert said[0].endswith(f"the {packets} packets before it are read")
        with pytest.raises(AssertionError, match=words):
            raise AssertionError(said[0])
        assert (result.packets if isinstance(result, Report) else len(result)) == packets


def test_compressed_data_that_ends_too_early_or_is_damaged(write: Callable[..., str]) -> None:
    whole = make.pcap([TCP] * 5000, RAW)
    for packed in (gzip.compress(whole), zstandard.ZstdCompressor(write_checksum=True).compress(whole)):
        cut, said = quietly(verify, write(packed[: len(packed) - 3]))
        assert len(said) == 1
        assert "the compressed data ends too early" in said[0]
        assert cut.packets <= 5000
        assert cut.counts()["bad"] == 0
        spoilt = bytearray(packed)
        spoilt[-2] ^= 0xFF
        for function in (verify, read):
            _, said = quietly(function, write(bytes(spoilt)))
            assert len(said) == 1
            assert "the compressed data is damaged" in said[0]


@pytest.mark.parametrize("name", ["link-113.pcap", "link-108.pcap", "small.pcapng"])
def test_every_prefix(write: Callable[..., str], name: str) -> None:
    """Cut at each byte: the packets before the cut, one warning, never an exception (the C tests cut larger files)."""
    some = CAPTURED.get(name, ALL[::25])
    data = FILES.get(name) or fixture_packets.pcapng(some)
    whole = verify(write(data))
    rows_of_packet = [[row for row in whole.rows if row.packet == i] for i in range(whole.packets)]
    for length in range(4, len(data)):
        path = write(data[:length])
        report, said = quietly(verify, path)
        assert report.rows == [row for rows in rows_of_packet[: report.packets] for row in rows]
        assert len(said) <= 1
        assert (report.damage is None) == (not said)
        if report.packets == whole.packets:
            continue
        in_memory, _ = quietly(read, path)
        assert len(in_memory) == report.packets


def test_changed_bytes(write: Callable[..., str]) -> None:
    """Single bytes changed at random (the C tests do a hundred thousand): a report or a ValueError that names the
    file.
    """
    rng = random.Random(11)
    for data in (FILES["link-1.pcap"], FILES["all.pcapng"]):
        for _ in range(300):
            spoilt = bytearray(data)
            spoilt[rng.randrange(len(data))] ^= rng.randrange(1, 256)
            path = write(bytes(spoilt))
            try:
                report, said = quietly(verify, path)
            except ValueError as error:
                assert str(error).startswith(path)  # noqa: PT017 - either outcome is right
                continue
            assert len(said) <= 1
            assert len(report.rows) == len(report.codes)
            assert sum(report.counts().values()) == len(report.codes)


# reports


def test_report() -> None:
    report = verify(CAPTURES / "all.pcapng")
    expects = [e for some in ALL for e in some.expects]
    assert report.packets == len(ALL)
    assert report.per_packet.tolist() == [len(some.expects) for some in ALL]
    assert [LAYERS[code >> 3] for code in report.codes] == [e.layer for e in expects]
    assert [STATUSES[code & 7] for code in report.codes] == [e.status for e in expects]
    assert report.counts() == {status: sum(e.status == status for e in expects) for status in STATUSES}
    by_layer = report.counts_by_layer()
    assert by_layer["tcp"]["partial"] == sum((e.layer, e.status) == ("tcp", "partial") for e in expects)
    assert set(by_layer) == {e.layer for e in expects}
    assert report.rows is report.rows
    assert f"{len(ALL)} packets" in repr(report)


def test_rows() -> None:
    report = verify(CAPTURES / "all.pcapng")
    row = report.rows[1]
    assert row._fields == (
        "packet", "time", "layer", "src", "dst", "protocol", "status", "found", "expected", "reason",
        "frame", "src_port", "dst_port", "offset",
    )  # fmt: skip
    assert row == Row(
        0, np.datetime64(1_700_000_000, "s").astype("M8[ns]"), "tcp", "192.0.2.10", "198.51.100.20", 6, "good",
        ALL[0].expects[1].found, ALL[0].expects[1].expected, "", 1, 49152, 80, 50,
    )  # fmt: skip
    assert {row.protocol for row in report.rows if row.layer == "tcp"} == {6}
    assert {row.protocol for row in report.rows if row.layer == "icmpv6"} == {58}
    six = next(row for row in report.rows if row.layer == "icmpv6")
    assert (six.src, six.dst) == ("fd00::1", "fd00::2")


def test_rows_of_some_statuses() -> None:
    report = verify(CAPTURES / "all.pcapng")
    for wanted in (("bad",), ("partial", "none"), ("unchecked",)):
        assert list(report.iter_rows(*wanted)) == [row for row in report.rows if row.status in wanted]
    with pytest.raises(
        ValueError, match="a status must be one of good, bad, partial, none, unchecked, not 'wrong'"
    ):
        list(report.iter_rows("wrong"))  # type: ignore[arg-type]


def test_frame() -> None:
    report = verify(CAPTURES / "all.pcapng")
    frame = report.frame()
    assert list(frame.columns) == list(Row._fields)
    assert len(frame) == len(report.rows)
    assert frame["found"].dtype == frame["expected"].dtype == "UInt16"
    assert frame["time"].dtype == "datetime64[ns]"
    assert frame["found"].isna().sum() == sum(row.found is None for row in report.rows)
    assert (frame["status"] == "bad").sum() == report.counts()["bad"]
    empty = by_hand(offsets=[], lengths=[], original_lengths=[], timestamps=[], linktypes=[])
    assert len(verify(empty).frame()) == 0


def test_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'fastcksum\[lab\]'"):
        verify(CAPTURES / "link-101.pcap").frame()


def test_a_file_that_changed_since(write: Callable[..., str]) -> None:
    path = write(make.pcap([TCP], RAW))
    report = verify(path)
    write(make.pcap([UDP6, UDP6], RAW))
    assert report.counts()["good"] == 2
    with pytest.raises(ValueError, match="has changed since it was verified: verify it again"):
        report.rows  # noqa: B018 - the access is what is tested


def test_unknown_link_types(write: Callable[..., str]) -> None:
    parts = [make.section(), make.interface("<", 147), make.interface("<", RAW)]
    parts += [make.enhanced("<", 0, 0, TCP), make.enhanced("<", 1, 0, TCP), make.enhanced("<", 0, 0, TCP)]
    report = verify(write(b"".join(parts)))
    assert report.unknown_links == {147: 2}
    assert rows(report) == [(1, e.layer, e.status, e.found, e.expected) for e in TCP.expects]
    assert verify(read(write(b"".join(parts)))).unknown_links == {147: 2}
    assert verify(write(make.pcap([TCP], 147))).unknown_links == {147: 1}


def test_progress(write: Callable[..., str]) -> None:
    calls: list[tuple[int, int]] = []
    path = write(make.pcap([TCP] * 50_000, RAW))
    verify(path, progress=lambda done, total: calls.append((done, total)))
    size = Path(path).stat().st_size
    assert {total for _, total in calls} == {size}
    assert calls == sorted(calls)
    assert calls[-1] == (size, size)
    assert len(calls) > 2
    verify(path, progress=True)


def test_a_pipe(tmp_path: Path) -> None:
    """What can be read only once is kept, for the rows."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(FILES["link-1.pcap"]))
    writer.start()
    report = verify(path)
    writer.join()
    assert rows(report) == expected_rows(CAPTURED["link-1.pcap"])


def test_a_file_that_shrinks_while_it_is_read(write: Callable[..., str]) -> None:
    """A mapping would end the process here; a read gives fewer bytes."""
    path = write(make.pcap([TCP] * 100_000, RAW))

    def shrink(done: int, total: int) -> None:
        os.truncate(path, 3_000_000)

    with pytest.warns(CaptureWarning, match="ends inside the record"):
        report = verify(path, progress=shrink)
    assert 0 < report.packets < 100_000
    assert report.counts()["bad"] == 0


# captures made by hand


def by_hand(**changes: Any) -> Capture:
    data = TCP.data + UDP6.data
    values: dict[str, Any] = {
        "data": data,
        "offsets": [0, len(TCP.data)],
        "lengths": [len(TCP.data), len(UDP6.data)],
        "original_lengths": [len(TCP.data), len(UDP6.data)],
        "timestamps": np.zeros(2, "M8[us]"),
        "linktypes": [RAW, RAW],
    }
    return Capture(**{**values, **changes})


def test_a_capture_made_by_hand() -> None:
    assert rows(verify(by_hand())) == expected_rows([TCP, UDP6])
    for dtype in ("u1", ">i4", "<u8"):
        columns = {
            name: np.array(getattr(by_hand(), name), dtype) for name in ("offsets", "lengths", "linktypes")
        }
        assert rows(verify(by_hand(**columns))) == expected_rows([TCP, UDP6])
    assert rows(verify(by_hand(data=np.frombuffer(TCP.data + UDP6.data, np.uint8)))) == expected_rows(
        [TCP, UDP6]
    )
    assert (
        verify(by_hand(offsets=[], lengths=[], original_lengths=[], timestamps=[], linktypes=[])).rows == []
    )


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"offsets": [0, 60]},
            ValueError,
            "packet 1 does not lie in the data: offset 60, length 53, and the data has 105 bytes",
        ),
        ({"offsets": [-1, 0]}, ValueError, "packet 0 does not lie in the data: offset -1"),
        ({"lengths": [52, 54]}, ValueError, "packet 1 does not lie in the data: offset 52, length 54"),
        ({"lengths": [52]}, ValueError, "lengths must have 2 elements, as many as offsets, not 1"),
        ({"lengths": [52, -1]}, ValueError, r"lengths must be in 0\.\.4294967295, not -1\.\.52"),
        ({"linktypes": [1, 70000]}, ValueError, r"linktypes must be in 0\.\.65535"),
        ({"offsets": [0.0, 1.0]}, TypeError, "offsets must hold integers, not float64"),
        ({"offsets": [[0, 52]]}, ValueError, "offsets must be one-dimensional, not of 2 dimensions"),
        ({"data": "text"}, TypeError, "a bytes-like object is required, not 'str'"),
    ],
)
def test_a_capture_that_cannot_be(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        verify(by_hand(**changes))


def test_every_packet_alone_says_the_same() -> None:
    whole = read(CAPTURES / "link-1.pcap")
    report = verify(whole)
    for i, some in enumerate(CAPTURED["link-1.pcap"]):
        if some.original is None:
            alone = verify_packet(some.data, link=some.link)
            assert [v.status for v in alone] == [row.status for row in report.rows if row.packet == i]


def test_sums_of_spans_of_a_capture() -> None:
    """The arrays of a capture are what raw_cksum_many takes."""
    import fastcksum

    whole = read(CAPTURES / "link-101.pcap")
    sums = fastcksum.raw_cksum_many(whole.data, whole.offsets, whole.lengths)
    assert sums.tolist() == [raw_cksum(some.data) for some in CAPTURED["link-101.pcap"]]


def test_module_has_no_other_public_names() -> None:
    assert capture.__all__ == [
        "Capture", "CaptureWarning", "Columns", "FixReport", "Report", "Row", "Rows", "fix", "read", "verify",
    ]  # fmt: skip


def test_a_header_without_packets(write: Callable[..., str]) -> None:
    for data in (make.pcap([], RAW), make.section() + make.interface("<", RAW)):
        assert verify(write(data)).rows == []
        assert len(read(write(data))) == 0


@pytest.mark.parametrize("piece", [60, 1000, 4096])
def test_pieces_of_any_size(write: Callable[..., str], monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Records longer than a piece, and longer than the room in front of one."""
    monkeypatch.setattr(_pieces, "PIECE", piece)
    for headroom in (0, 16, 100, 5000):
        monkeypatch.setattr(_pieces, "HEADROOM", headroom)
        for name in ("link-1.pcap", "all.pcapng", "all.pcapng.gz"):
            assert rows(verify(CAPTURES / name)) == expected_rows(CAPTURED[name])
        cut, said = quietly(verify, write(FILES["all.pcapng"][:-1]))
        assert len(said) == 1
        assert cut.packets == len(ALL)  # what is cut off is a block behind the last packet
