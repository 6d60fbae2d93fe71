"""fastcksum verify: what it prints, as JSON and as text, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import make_fixtures as make
import pytest
from make_fixtures import CAPTURES, RAW, Net4, Packet

from fastcksum import capture
from fastcksum.cli import main

if TYPE_CHECKING:
    from pathlib import Path

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
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  packet")]
    (line,) = lines
    assert line.startswith(f"packet {bad.packet}  {bad.time}  udp  192.0.2.10 > 198.51.100.20: bad, ")
    assert line.endswith(f", found {bad.found:#06x}, expected {bad.expected:#06x}")


def test_all(capsys: pytest.CaptureFixture[str]) -> None:
    path = CAPTURES / "all.pcapng"
    assert main(["verify", "--all", str(path)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  packet")]
    report = capture.verify(path)
    assert len(lines) == len(report.rows)
    for row, line in zip(report.rows, lines, strict=True):
        assert f"packet {row.packet} " in line
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
    assert main(["verify", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "2 packets, 4 checksums" in out
    assert err.startswith(f"fastcksum: {path} is damaged at byte ")
    _, (report,) = as_json(capsys, str(path))
    assert report["damage"].startswith("damaged at byte ")


def test_unknown_link_types_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.pcap"
    path.write_bytes(make.pcap([Packet("", 147, b"abc", ())], 147))
    assert main(["verify", str(path)]) == 0
    assert "1 packets are of link type 147, which is not understood" in capsys.readouterr().out


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
