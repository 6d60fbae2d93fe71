"""What judging a capture costs: in memory beside raw_cksum_many, from a file beside tcpdump -vv and tshark.

    python benchmarks/captures.py [--packets 1000000] [--runs 3]

The capture is made here and removed at the end: Ethernet, IPv4, TCP and UDP of sixteen flows, IMIX sizes, every checksum
right. It is in the page cache when it is read. The flows are few and their sequence numbers advance: a flow for each packet
makes tcpdump slow, and segments that come again make tshark slow. Whole processes are timed, by the wall clock.
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


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
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
        print(f"{'verify a capture in memory':<44} {memory / count * 1e9:10.0f} {memory / sums:7.2f}  goal 3")
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
