"""fastcksum verify: what it prints, as JSON and as text, and its exit status."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import os
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import make_fixtures as make
import pytest
import zstandard
from make_fixtures import CAPTURES, RAW, Net4, Packet

from fastcksum import capture
from fastcksum.capture._report import Tally
from fastcksum.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fastcksum.capture._pieces import Piece
    from fastcksum.capture._report import Judged

GOOD = make.pcap([Packet("", RAW, make.tcp(Net4()).data, ())] * 3, RAW)
BAD_FILE = str(CAPTURES / "link-113.pcap")  # one bad UDP checksum


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.pcap"
    path.write_bytes(GOOD)
    return str(path)


def test_good(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", good]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == f"{good}: 3 packets, 6 checksums"
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["good", "bad", "partial", "none", "unchecked"],
        ["ipv4", "3", "0", "0", "0", "0"],
        ["tcp", "3", "0", "0", "0", "0"],
        ["all", "6", "0", "0", "0", "0"],
    ]
    assert err == ""


def test_bad(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    (bad,) = capture.verify(BAD_FILE).iter_rows("bad")
    assert main(["verify", good, BAD_FILE]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if ": frame " in line]
    start = f"{BAD_FILE}: frame {bad.packet + 1}  {bad.time}  udp  192.0.2.10.1024 > 198.51.100.20.9: bad, "
    assert line.startswith(start)
    assert line.endswith(f", found {bad.found:#06x}, expected {bad.expected:#06x}")


def test_all(capsys: pytest.CaptureFixture[str]) -> None:
    path = CAPTURES / "all.pcapng"
    assert main(["verify", "--all", str(path)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if ": frame " in line]
    report = capture.verify(path)
    assert len(lines) == len(report.rows)
    for row, line in zip(report.rows, lines, strict=True):
        assert f"frame {row.frame} " in line
        assert row.status in line
        assert row.reason in line


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    status = main(["verify", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def test_json(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, (first, second) = as_json(capsys, good, BAD_FILE)
    assert status == 1
    assert (first["file"], first["packets"], first["rows"]) == (good, 3, [])
    assert first["counts"] == {"good": 6, "bad": 0, "partial": 0, "none": 0, "unchecked": 0}
    assert first["damage"] is None
    assert [row["status"] for row in second["rows"]] == ["bad"]
    report = capture.verify(BAD_FILE)
    status, (every,) = as_json(capsys, "--all", BAD_FILE)
    assert status == 1
    assert [(row["layer"], row["found"]) for row in every["rows"]] == [
        (row.layer, row.found) for row in report.rows
    ]
    assert every["layers"] == report.counts_by_layer()
    assert every["rows"][0]["time"] == str(report.rows[0].time)


def test_a_packet_without_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tcp = make.tcp(Net4()).data
    simple = make.block("<", 3, len(tcp).to_bytes(4, "little") + tcp)
    path = tmp_path / "simple.pcapng"
    path.write_bytes(make.section() + make.interface("<", RAW) + simple)
    _, (report,) = as_json(capsys, "--all", str(path))
    assert [row["time"] for row in report["rows"]] == [None, None]


def test_damage_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(GOOD[:-1])
    assert main(["verify", str(path)]) == 2
    out, err = capsys.readouterr()
    assert "2 packets, 4 checksums" in out
    assert err.startswith(f"fastcksum: {path} is damaged at byte ")
    _, (report,) = as_json(capsys, str(path))
    assert report["damage"].startswith("damaged at byte ")


def test_unknown_link_types_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.pcap"
    path.write_bytes(make.pcap([Packet("", 147, b"abc", ())], 147))
    assert main(["verify", str(path)]) == 0
    assert "  packets in which nothing was judged: link type 147: 1\n" in capsys.readouterr().out


def test_what_was_not_judged_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted by reason, the most frequent first: 3 of a next header, 2 of an ethertype; a judged packet is none of
    them.
    """
    tcp = make.tcp(Net4()).data
    other = bytes(range(12)) + b"\x88\xcc" + bytes(40)
    experiment = bytes.fromhex("6000000000083d40") + bytes(31) + b"\1" + bytes(8)  # next header 61 over IPv6
    frames = [bytes(12) + b"\x08\x00" + tcp, *[other] * 2, *[bytes(12) + b"\x86\xdd" + experiment] * 3]
    path = tmp_path / "other.pcap"
    path.write_bytes(make.pcap([Packet("", make.ETHERNET, frame, ()) for frame in frames], make.ETHERNET))
    assert capture.verify(path).not_judged == {"next header 61": 3, "ethertype 0x88cc": 2}
    assert main(["verify", str(path)]) == 0
    words = "  packets in which nothing was judged: next header 61: 3, ethertype 0x88cc: 2\n"
    assert words in capsys.readouterr().out
    _, (report,) = as_json(capsys, str(path))
    assert report["not_judged"] == {"next header 61": 3, "ethertype 0x88cc": 2}


def test_what_cannot_be_done(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The other files are judged all the same; 2 counts more than 1."""
    text = tmp_path / "notes.txt"
    text.write_text("no capture at all", encoding="ascii")
    assert main(["verify", str(text), str(tmp_path / "none.pcap"), BAD_FILE, good]) == 2
    out, err = capsys.readouterr()
    assert f"fastcksum: {text} is no capture file (pcap or pcapng): it looks like text" in err
    assert f"fastcksum: {tmp_path / 'none.pcap'}: No such file or directory" in err
    assert out.count("packets, ") == 2


def test_standard_input(good: str) -> None:
    command = [sys.executable, "-m", "fastcksum", "verify", "-"]
    piped = subprocess.run(command, input=GOOD, capture_output=True, check=True)
    assert piped.stdout.startswith(b"-: 3 packets, 6 checksums")
    with open(good, "rb") as file:  # noqa: PTH123
        redirected = subprocess.run(command, stdin=file, capture_output=True, check=True)
    assert redirected.stdout == piped.stdout


def test_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "all.pcapng")
    assert main(["verify", "--jsonl", "--all", path]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = capture.verify(path).rows
    assert lines == [{"file": path, **row._asdict(), "time": str(row.time)} for row in rows]


def test_csv(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "all.pcapng")
    assert main(["verify", "--csv", "--status", "partial,none", path]) == 1
    head, *lines = csv.reader(capsys.readouterr().out.splitlines())
    assert head == ["file", *capture.Row._fields]
    rows = capture.verify(path).iter_rows("partial", "none")
    assert lines == [["" if value is None else str(value) for value in (path, *row)] for row in rows]


def test_layers_and_limits(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "all.pcapng")
    assert main(["verify", "--all", "--layer", "udp,tcp", "--limit", "5", "--jsonl", path]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [row for row in capture.verify(path).rows if row.layer in {"udp", "tcp"}]
    assert [line["frame"] for line in lines] == [row.frame for row in rows[:5]]
    main(["verify", "--limit", "2", path])
    bad = capture.verify(path).counts()["bad"]
    assert f"{path}: and {bad - 2} more like these" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["verify", "--status", "wrong", path])
    assert "'wrong' is none of good, bad" in capsys.readouterr().err


def test_fail_on(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "all.pcapng")
    assert main(["verify", "--fail-on", "partial", path]) == 1
    assert main(["verify", "--fail-on", "partial", "--layer", "icmp", path]) == 0
    assert main(["verify", "--fail-on", "bad,partial", good]) == 0
    assert main(["verify", "--fail-on", "good", good]) == 1
    capsys.readouterr()


def test_names_that_a_terminal_should_not_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters, and bytes that are no UTF-8: shown as escapes, and no reason to leave out the next file."""
    forged = tmp_path / "a\nb: 5 packets\x1b[31m"
    other = os.fsdecode(os.fsencode(tmp_path) + b"/x\xff.pcap")
    for name in (str(forged), other):
        with open(name, "wb") as file:  # noqa: PTH123
            file.write(GOOD)
    assert main(["verify", str(forged), other, str(tmp_path / "none\x1b")]) == 2
    out, err = capsys.readouterr()
    assert f"{tmp_path}/a\\nb: 5 packets\\x1b[31m: 3 packets" in out
    assert f"{tmp_path}/x\\xff.pcap: 3 packets" in out
    assert "none\\x1b: No such file" in err
    assert "\x1b" not in out + err


def test_a_name_in_a_strict_locale(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/gr\xc3\xbc\xc3\x9f\xff.pcap"
    with open(name, "wb") as file:  # noqa: PTH123
        file.write(GOOD)
    command = [sys.executable, "-m", "fastcksum", "verify", os.fsdecode(name), BAD_FILE]
    for encoding in ("utf-8:strict", "ascii:strict"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        told = subprocess.run(command, capture_output=True, check=False, env=environment)
        assert told.returncode == 1
        assert told.stdout.count(b" packets, ") == 2


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, zstandard.compress])
def test_compressed_through_a_pipe(pack: Callable[[bytes], bytes]) -> None:
    command = [sys.executable, "-m", "fastcksum", "verify", "-"]
    told = subprocess.run(command, input=pack(GOOD), capture_output=True, check=True)
    assert told.stdout.startswith(b"-: 3 packets, 6 checksums")


def test_a_pipe_is_judged_while_it_is_written() -> None:
    """The first verdict comes before the writer has ended."""
    command = [sys.executable, "-m", "fastcksum", "verify", "--jsonl", "--all", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(GOOD)
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["frame"] == 1
        process.stdin.close()
        assert len(process.stdout.readlines()) == 5
    assert process.returncode == 0


MEASURED = """
import re, runpy, sys
sys.argv = ["fastcksum", "verify", "--jsonl", *sys.argv[1:]]
try:
    runpy.run_module("fastcksum", run_name="__main__")
finally:
    print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)
"""


def peak(*arguments: str, given: bytes | None = None) -> tuple[int, int]:
    """(exit status, largest resident set in MB) of fastcksum verify --jsonl."""
    command = [sys.executable, "-c", MEASURED, *arguments]
    told = subprocess.run(command, input=given, capture_output=True, check=False)
    return told.returncode, int(told.stderr.split()[-1]) >> 10


def test_memory_is_bounded(good: str, tmp_path: Path) -> None:
    """A pipe of 200 MB, and bombs: 2 GB of zeros in gzip's, zstd's, xz' and bzip2's smallest form."""
    _, alone = peak(good)
    record = struct.pack("<IIII", 0, 0, 39_988, 39_988) + make.tcp(Net4(), bytes(39_948)).data
    status, piped = peak("-", given=make.pcap([], RAW) + record * 5_000)
    assert status == 0
    assert piped < alone + 30
    block = struct.pack("<I", (131_072 << 3) | 2)[:3] + b"\0"  # RLE: 128 KiB of zeros
    bomb = b"\x28\xb5\x2f\xfd\x00\x58" + block * 16_000
    (tmp_path / "bomb.zst").write_bytes(bomb)
    zeros = make.pcap([], RAW) + bytes(200_000_000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(zeros))
    (tmp_path / "bomb.bz2").write_bytes(bz2.compress(zeros, 1))
    for name in ("bomb.zst", "bomb.gz", "bomb.bz2"):
        status, bombed = peak(str(tmp_path / name))
        assert bombed < alone + 100, name


def test_no_memory_is_told(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing_left(*_arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("fastcksum.capture._report.Tally.add", nothing_left)
    assert main(["verify", good]) == 2
    assert f"fastcksum: {good}: there is not enough memory for it" in capsys.readouterr().err


def test_a_device_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "/dev/zero"]) == 2
    assert "/dev/zero is no capture file" in capsys.readouterr().err


def test_a_file_that_grows(
    good: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and counts come from one reading."""
    add = Tally.add

    def grow(self: Tally, piece: Piece) -> Judged:
        with open(good, "ab") as file:  # noqa: PTH123
            file.write(GOOD[24:])
        return add(self, piece)

    monkeypatch.setattr(Tally, "add", grow)
    assert main(["verify", "--all", good, BAD_FILE]) == 1
    out = capsys.readouterr().out
    assert out.count(" packets, ") == 2
