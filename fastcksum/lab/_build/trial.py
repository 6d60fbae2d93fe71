"""Tries a kernel that was just compiled; run as a script, in a process of its own that may crash or hang.

    python trial.py OBJECT SYMBOL CPU_SECONDS

Says one JSON object a line on standard output: {"at": ...} before each step, so that the last one names where it
died, and at the end {"right": true}, {"wrong": ...}, {"unfit": reason} or {"error": text}.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from typing import TYPE_CHECKING, Any

from fastcksum import _core, raw_cksum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import CapsuleType

FILLS = {"zeros": 0, "0xff": 1, "random": 2, "carries": 3}
OFFSETS = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63)
STARTS = (0, 0xFFFF)
# Every length up to the last of these, between guard pages; in stages, so that a crash is told to within one.
STAGES = (0, 1, 16, 128, 1100, 2100)
LONG = (4095, 4097, 9000, 65535, 65536, 65537, 131071, 131072, 131074, 131076, 131078, 200001, 2**20 + 1)


def say(**what: Any) -> None:
    """One line to the parent."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def fold(total: int) -> int:
    """The 16-bit sum with end-around carries."""
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return total


def long_bytes(fill: str, size: int) -> bytes:
    """The data for the long lengths."""
    if fill == "random":
        return random.Random(1).randbytes(size)  # noqa: S311 - data, not a secret
    pattern = {"zeros": b"\0", "0xff": b"\xff", "carries": b"\xff" * 62 + b"\x01\0"}[fill]
    return (pattern * (size // len(pattern) + 1))[:size]


def try_short(kernel: CapsuleType) -> dict[str, Any] | None:
    """All lengths up to the last stage, at several offsets, between guard pages. The first difference, or None."""
    for longest in STAGES:
        for offset in OFFSETS:
            for fill, number in FILLS.items():
                for start in STARTS:
                    case = {"fill": fill, "offset": offset, "start": start}
                    say(at={**case, "longest": longest})
                    found = _core.find_difference(kernel, number, offset, longest, start)
                    if found is not None:
                        length, at, got, expected = found
                        return {**case, "offset": at, "length": length, "got": got, "expected": expected}
    return None


def long_cases(shortest: int, longest: int) -> Iterator[tuple[int, int, str, int]]:
    """(length, offset, fill, start) of the long tries."""
    largest = {longest} if STAGES[-1] < longest <= 2**24 else set()
    lengths = sorted(n for n in {*LONG, *largest} if shortest <= n <= longest)
    return (
        (n, offset, fill, start) for n in lengths for offset in (0, 1) for fill in FILLS for start in STARTS
    )


def try_long(kernel: CapsuleType, shortest: int, longest: int) -> dict[str, Any] | None:
    """A few long lengths. The first difference, with the largest length before it that was right, or None."""
    right = STAGES[-1]
    last = 0
    data: dict[str, bytes] = {}
    for length, offset, fill, start in long_cases(shortest, longest):
        if length != last:
            right, last = max(last, right), length
            data = {each: long_bytes(each, length + max(OFFSETS)) for each in FILLS}
        case = {"fill": fill, "offset": offset, "start": start, "length": length}
        say(at={**case, "longest": length})
        part = memoryview(data[fill])[offset : offset + length]
        got = fold(_core.partial(kernel, part, start))
        expected = raw_cksum(part, start, kernel="reference")
        if got != expected:
            return {**case, "got": got, "expected": expected, "right": right}
    return None


def main() -> None:
    """Loads the object that the command line names and says what came of it."""
    path, symbol, seconds = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    try:
        kernel = _core.load_kernel(path, symbol)
    except ImportError as error:
        say(error=str(error))
        return
    description = _core.describe(kernel)
    if description["role"] == "yardstick":
        say(unfit="a yardstick computes no sum")
    elif not description["runs_here"]:
        say(unfit="this CPU can't run it")
    else:
        wrong = try_short(kernel) or try_long(kernel, description["min_len"], description["max_len"])
        say(wrong=wrong) if wrong else say(right=True)


if __name__ == "__main__":
    main()
