"""What captures cost: judging beside raw_cksum_many, tcpdump -vv and tshark; columns; mending beside tcprewrite; a
pipe.

    python benchmarks/captures.py [--packets 1000000] [--runs 3] [--pipe 4] [--parts judge,columns,fix,pipe]

The capture is made here and removed at the end: Ethernet, IPv4, TCP and UDP of sixteen flows, IMIX sizes, every
checksum right. It is in the page cache when it is read; where files are written, TMPDIR=/dev/shm leaves the disk
out. The flows are few and their sequence numbers advance: a flow for each packet makes tcpdump slow, and segments
that come again make tshark slow. Whole processes are timed, by the wall clock.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcksum import capture, raw_cksum_many

if TYPE_CHECKING:
    from collections.abc import Callable

ORDER = (40, 576, 40, 40, 1500, 576, 40, 40, 576, 40, 576, 40)  # IMIX: 7 of 40, 4 of 576, 1 of 1500
FRAME = 14
RECORD = 16
TSHARK = ("ip", "tcp", "udp")
FASTCKSUM = (sys.executable, "-m", "fastcksum")
FIXTURES = Path(__file__).parent.parent / "tests" / "data" / "captures"


def make_capture(packets: int) -> bytes:
    """A pcap file of so many packets, rounded up to whole dozens."""
    dozens = -(-packets // len(ORDER))
    source = np.random.default_rng(1071)
    starts = np.cumsum([0, *(RECORD + FRAME + size for size in ORDER)])
    data = np.frombuffer(source.bytes(int(starts[-1]) * dozens), np.uint8).reshape(dozens, -1).copy()
    turn, flow = np.divmod(np.arange(dozens), 16)
    for number, (at, size) in enumerate(zip(starts[:-1].tolist(), ORDER, strict=True)):
        is_tcp = size >= 576
        head = struct.pack("=IIII", 1_700_000_000, 0, FRAME + size, FRAME + size)
        head += bytes.fromhex("020000000002020000000001") + b"\x08\x00"
        head += struct.pack("!BBHHHBBH", 0x45, 0, size, 1, 0, 64, 6 if is_tcp else 17, 0)
        head += bytes([192, 0, 2, 1, 198, 51, 100, 1])
        if is_tcp:
            head += struct.pack("!HHIIBBHHH", 443, 50000, 1, 1, 5 << 4, 0x10, 65535, 0, 0)
        else:
            head += struct.pack("!HHHH", 50001, 50002, size - 20, 0)
        data[:, at : at + len(head)] = np.frombuffer(head, np.uint8)
        data[:, at + RECORD + FRAME + 19] = flow
        if is_tcp:
            sequence = ((turn * len(ORDER) + number) * max(ORDER)).astype(">u4")
            data[:, at + RECORD + FRAME + 24 : at + RECORD + FRAME + 28] = sequence.view(np.uint8).reshape(
                -1, 4
            )
    flat = data.reshape(-1)
    for at, size in zip(starts[:-1].tolist(), ORDER, strict=True):
        ip = at + RECORD + FRAME + np.arange(dozens) * int(starts[-1])
        protocol, field = (6, 16) if size >= 576 else (17, 6)
        words = np.frombuffer(struct.pack("!HH", protocol, size - 20), np.uint16).astype(np.uint64)
        pseudo = raw_cksum_many(flat, ip + 12, np.full(dozens, 8)).astype(np.uint64) + words.sum()
        pseudo = (pseudo & 0xFFFF) + (pseudo >> 16)
        pseudo = (pseudo & 0xFFFF) + (pseudo >> 16)
        put(flat, ip + 10, raw_cksum_many(flat, ip, np.full(dozens, 20)))
        put(flat, ip + 20 + field, raw_cksum_many(flat, ip + 20, np.full(dozens, size - 20), pseudo))
    return struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + flat.tobytes()


def put(flat: Any, at: Any, raw: Any) -> None:
    """The complement of raw sums into fields, in memory order; a UDP or TCP field of 0 becomes 0xffff."""
    fields = ~raw
    fields[fields == 0] = 0xFFFF
    pairs = fields.view(np.uint8).reshape(-1, 2)
    flat[at], flat[at + 1] = pairs[:, 0], pairs[:, 1]


def best(work: Callable[[], object], runs: int) -> float:
    """The least seconds of so many runs."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def run(*command: str) -> None:
    """A whole process, its output thrown away."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def columns_and_lines(folder: Path, runs: int) -> None:
    """What 600,000 verdicts cost as columns, tables and lines, beside finding them."""
    path = folder / "rows.pcap"
    path.write_bytes(make_capture(300_000))
    loaded = capture.read(path)
    report = capture.verify(loaded)
    found = best(lambda: capture.verify(loaded), runs)
    rows = len(report.codes)
    print(f"\n{rows} verdicts{'':<31} {'ms':>10} {'ratio':>7}")
    print(f"{'found in memory':<44} {found * 1e3:10.1f} {1:7.2f}")
    works: dict[str, Callable[[], object]] = {
        "columns()": report.columns,
        "frame()": report.frame,
        "to_arrow()": report.to_arrow,
        "to_parquet()": lambda: report.to_parquet(folder / "rows.parquet"),
        "list(rows)": lambda: list(report.columns().rows()),
    }
    for name, work in works.items():
        seconds = best(work, runs)
        print(f"{name:<44} {seconds * 1e3:10.1f} {seconds / found:7.2f}")
    seconds = best(lambda: run(*FASTCKSUM, "verify", "--jsonl", "--all", str(path)), 1)
    print(f"{'verify --jsonl --all, a whole process':<44} {seconds * 1e3:10.1f} {seconds / found:7.2f}")


def make_bad(data: bytes, every: int) -> bytes:
    """The capture with the TCP or UDP field of every so manieth packet wrong."""
    spoilt = bytearray(data)
    at = 24
    for number in range(10**9):
        if at >= len(spoilt):
            return bytes(spoilt)
        length = int.from_bytes(spoilt[at + 8 : at + 12], sys.byteorder)
        if number % every == 0:
            ip = at + RECORD + FRAME
            spoilt[ip + 20 + (16 if spoilt[ip + 9] == 6 else 6)] ^= 0x55
        at += RECORD + length
    raise AssertionError


def mending(folder: Path, runs: int) -> None:
    """capture.fix() beside verify() and beside tcprewrite, and what each leaves wrong."""
    path, out, theirs = (folder / name for name in ("bad.pcap", "fixed.pcap", "rewritten.pcap"))
    path.write_bytes(make_bad(make_capture(300_000), 3))
    quiet: dict[str, Any] = {"progress": False}
    judged = best(lambda: capture.verify(path, **quiet), runs)
    dry = best(lambda: capture.fix(path, None, dry_run=True, **quiet), runs)
    data = path.read_bytes()
    written = best(lambda: theirs.write_bytes(data), runs)
    mended = best(lambda: capture.fix(path, out, **quiet), runs)
    bad = capture.verify(path, **quiet).counts()["bad"]
    left = capture.verify(out, **quiet).counts()["bad"]
    print(f"\n300000 packets, {bad} bad{'':<21} {'ms':>10} {'ratio':>7}  left bad")
    print(f"{'verify the file':<44} {judged * 1e3:10.1f} {1:7.2f}")
    print(f"{'write as many bytes':<44} {written * 1e3:10.1f} {written / judged:7.2f}")
    print(f"{'fix, dry run':<44} {dry * 1e3:10.1f} {dry / judged:7.2f}")
    print(f"{'fix':<44} {mended * 1e3:10.1f} {mended / judged:7.2f}  {left}")
    whole = best(lambda: run(*FASTCKSUM, "fix", str(path), str(out)), runs)
    print(f"{'fastcksum fix, a whole process':<44} {whole * 1e3:10.1f} {whole / judged:7.2f}  {left}")
    if shutil.which("tcprewrite") is None:
        print("tcprewrite --fixcsum                         not here: apt install tcpreplay")
        return
    theirs.unlink()
    command = ("tcprewrite", "--fixcsum", "-i", str(path), "-o", str(theirs))
    seconds = best(lambda: run(*command), 1)
    left = capture.verify(theirs, **quiet).counts()["bad"]
    print(f"{'tcprewrite --fixcsum':<44} {seconds * 1e3:10.1f} {seconds / judged:7.2f}  {left}")
    compare_on_fixtures(folder)


def compare_on_fixtures(folder: Path) -> None:
    """What both leave wrong, and change though it was right, in the captures of the tests."""
    for path in sorted(FIXTURES.glob("*.pcap")):
        told = []
        before = statuses(path)
        for name in ("fix", "tcprewrite"):
            out = folder / f"{name}.pcap"
            out.unlink(missing_ok=True)
            if name == "fix":
                capture.fix(path, out, progress=False)
            elif subprocess.run(
                ("tcprewrite", "--fixcsum", "-i", str(path), "-o", str(out)), check=False, capture_output=True
            ).returncode:
                told.append("tcprewrite refuses it")
                continue
            after = statuses(out)
            pairs = list(zip(before, after, strict=False))
            wrong = sum(new in {"bad", "partial"} for new in after)
            spoilt = sum(old == "good" and new == "bad" for old, new in pairs)
            told.append(f"{name}: {wrong} wrong, of these {spoilt} were good")
        print(
            f"  {path.name:<16} {sum(old in {'bad', 'partial'} for old in before):4} wrong; {'; '.join(told)}"
        )


def statuses(path: Path) -> list[str]:
    """The status of each checksum."""
    columns = capture.verify(path, progress=False).columns()
    return [columns.categories["status"][code] for code in columns["status"].tolist()]


PIPED = """
import re, sys
from fastcksum.cli import main
status = main(["verify", "-"])
told = open("/proc/self/status").read()
print("peak", re.search(r"VmHWM:\\s*(\\d+)", told)[1], status, file=sys.stderr)
"""


def piped(gigabytes: int) -> None:
    """The memory of a process that verifies a pipe of so many GB."""
    head, body = (data := make_capture(120_000))[:24], data[24:]
    with subprocess.Popen(
        (sys.executable, "-c", PIPED),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(head)
        sent, start = len(head), time.perf_counter()
        while sent < gigabytes * 10**9:
            process.stdin.write(body)
            sent += len(body)
        process.stdin.close()
        peak = process.stderr.read().split()
    seconds = time.perf_counter() - start
    print(
        f"\n{sent / 1e9:.1f} GB through a pipe: {int(peak[1]) / 1024:.0f} MB resident at most, "
        f"{seconds:.1f} s, status {int(peak[2])}"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pipe", type=int, default=4, metavar="GB")
    parser.add_argument("--parts", default="judge,columns,fix,pipe", help="what to do (default: %(default)s)")
    options = parser.parse_args()
    parts = options.parts.split(",")
    with tempfile.TemporaryDirectory() as folder:
        if "judge" in parts:
            judging(Path(folder), options)
        if "columns" in parts:
            columns_and_lines(Path(folder), options.runs)
        if "fix" in parts:
            mending(Path(folder), options.runs)
    if "pipe" in parts:
        piped(options.pipe)


def judging(folder: Path, options: argparse.Namespace) -> None:
    """A capture in memory beside its sums, a file beside tcpdump and tshark."""
    path = Path(folder, "imix.pcap")
    path.write_bytes(make_capture(options.packets))
    loaded = capture.read(path)
    count = len(loaded.offsets)
    counts = capture.verify(loaded).counts()
    if set(counts) - {name for name, n in counts.items() if n == 0} != {"good"}:
        sys.exit(f"the capture that was made is not right: {counts}")
    ip = loaded.offsets + FRAME
    spans = (
        np.stack([ip, ip + 20], 1).ravel(),
        np.stack([np.full(count, 20), loaded.lengths - FRAME - 20], 1).ravel(),
    )
    sums = best(lambda: raw_cksum_many(loaded.data, *spans), options.runs)
    memory = best(lambda: capture.verify(loaded, progress=lambda *_: None), options.runs)
    file = best(lambda: capture.verify(path, progress=lambda *_: None), options.runs)
    print(f"{count} packets, {path.stat().st_size / 1e6:.0f} MB, {counts['good']} checksums, all good")
    print(f"{'':<44} {'ns/packet':>10} {'ratio':>7}")
    print(f"{'raw_cksum_many over the same spans':<44} {sums / count * 1e9:10.0f} {1:7.2f}")
    print(f"{'verify a capture in memory':<44} {memory / count * 1e9:10.0f} {memory / sums:7.2f}  goal 1.7")
    print(f"{'verify a file in the page cache':<44} {file / count * 1e9:10.0f} {1:7.2f}")
    others = {
        "tcpdump -vv": (15, ("tcpdump", "-Z", "root", "-nvvr", str(path))),
        "tshark, checksums on": (
            80,
            (
                "tshark",
                *(w for p in TSHARK for w in ("-o", f"{p}.check_checksum:TRUE")),
                "-nr",
                str(path),
            ),
        ),
    }
    for name, (goal, command) in others.items():
        if shutil.which(command[0]) is None:
            print(f"{name:<44} not here: apt install {command[0]}")
            continue
        seconds = best(lambda: run(*command), 1)  # noqa: B023 - called at once
        print(f"{name:<44} {seconds / count * 1e9:10.0f} {seconds / file:7.1f}  goal {goal}")


if __name__ == "__main__":
    main()
