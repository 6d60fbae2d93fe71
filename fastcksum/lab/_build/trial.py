"""Tries a kernel that was just compiled; run as a script, in a process of its own that may crash or hang.

    python trial.py OBJECT SYMBOL CPU_SECONDS DESCRIPTOR

Says one JSON object a line into a file of its own, open as DESCRIPTOR, so that what the kernel prints is never taken
for it: {"at": ...} before each step, so that the last one names where it died, and at the end {"right": true},
{"wrong": ...}, {"state": ...}, {"unfit": reason} or {"error": text}.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
from typing import TYPE_CHECKING, Any

from fastcksum import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import CapsuleType

FILLS = {"zeros": 0, "0xff": 1, "random": 2, "carries": 3}
OFFSETS = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63)
STARTS = (0, 0xFFFF)
# Every length up to the last of these, between guard pages; in stages, so that a crash is told to within one.
STAGES = (0, 1, 16, 128, 1100, 2100)
LONG = (4095, 4097, 9000, 65535, 65536, 65537, 131071, 131072, 131074, 131076, 131078, 200001, 2**20 + 1)
# and so many between these, at random, the same each time.
RANDOM_LENGTHS, RANDOM_UP_TO = 300, 70_000
# At these the state of the machine is compared before and after.
STATE_LENGTHS = (0, 1, 7, 20, 64, 129, 1500, 9000)
MOST_PRINTED = 1 << 20  # bytes that the kernel may write into a file


def say(**what: Any) -> None:
    """One line to the parent."""
    os.write(int(sys.argv[4]), (json.dumps(what) + "\n").encode())


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
    yield from (
        (n, offset, fill, start) for n in lengths for offset in (0, 1) for fill in FILLS for start in STARTS
    )
    draw = random.Random(1)  # noqa: S311 - lengths, no secrets
    for _ in range(RANDOM_LENGTHS):
        case = (
            draw.randint(STAGES[-1] + 1, RANDOM_UP_TO),
            draw.choice(OFFSETS),
            draw.choice([*FILLS]),
            draw.choice(STARTS),
        )
        if shortest <= case[0] <= longest:
            yield case


def try_long(kernel: CapsuleType, shortest: int, longest: int) -> dict[str, Any] | None:
    """Long lengths. The first difference, with the largest length below it that was right, or None."""
    right = {STAGES[-1]}
    for length, offset, fill, start in long_cases(shortest, longest):
        case = {"fill": fill, "offset": offset, "start": start, "length": length}
        say(at={**case, "longest": length})
        found = _core.find_difference(kernel, FILLS[fill], offset, length, start, length)
        if found is not None:
            _, at, got, expected = found
            below = max(n for n in right if n < length)
            return {**case, "offset": at, "got": got, "expected": expected, "right": below}
        right.add(length)
    return None


def try_state(kernel: CapsuleType, shortest: int, longest: int) -> dict[str, Any] | None:
    """The first length at which the kernel leaves the machine otherwise than the ABI asks, and what; or None."""
    for length in sorted(n for n in {*STATE_LENGTHS, shortest} if shortest <= n <= longest):
        say(at={"fill": "zeros", "offset": 0, "start": 0, "length": length, "longest": length})
        broken = _core.find_broken_state(kernel, bytes(length))
        if broken:
            return {"length": length, "broken": broken}
    return None


def main() -> None:
    """Loads the object that the command line names and says what came of it."""
    path, symbol, seconds, _ = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_PRINTED, MOST_PRINTED))
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
        limits = description["min_len"], description["max_len"]
        broken = try_state(kernel, *limits)
        wrong = None if broken else try_short(kernel) or try_long(kernel, *limits)
        say(**({"state": broken} if broken else {"wrong": wrong} if wrong else {"right": True}))


if __name__ == "__main__":
    main()
