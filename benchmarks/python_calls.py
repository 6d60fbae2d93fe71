"""What does a call of raw_cksum() cost from Python, beside the calls of zlib and xxhash that people know?

    python benchmarks/python_calls.py [--quick]

Each line is one statement, f(b), timed in many short batches; every round runs a batch of each statement in
another order, so that a disturbed second spoils all of them alike. Printed are the minima over the rounds, in
ns a call, the loop around the call included (its share is the first line), and the ratio to the faster of the
two others on 20 bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
import timeit
import zlib
from typing import TYPE_CHECKING, Any

import fastcksum
from fastcksum.lab._machine.processor import pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CALLS = 20_000
SIZES = (20, 40, 64, 1500)
# Up to 64 bytes a call is to take at most this much of the faster of the two others.
GOAL, GOAL_BYTES = 0.9, 64
LOOP = "(loop)"


def statements(xxh32: Callable[[bytes], int]) -> tuple[dict[str, timeit.Timer], list[str]]:
    """The statements by name, and the names of those that are not ours."""
    data = random.Random(1).randbytes(max(SIZES))  # noqa: S311 - any bytes will do
    others = {
        "zlib.adler32, 20 bytes": (zlib.adler32, data[:20]),
        "xxhash.xxh32_intdigest, 20 bytes": (xxh32, data[:20]),
    }
    others_on_bytearray: dict[str, tuple[Any, Any]] = {
        "zlib.adler32, bytearray of 20": (zlib.adler32, bytearray(data[:20])),
        "xxhash.xxh32_intdigest, bytearray of 20": (xxh32, bytearray(data[:20])),
    }
    ours: dict[str, tuple[Any, Any]] = {
        f"raw_cksum, bytes of {size}": (fastcksum.raw_cksum, data[:size]) for size in SIZES
    }
    ours["raw_cksum, bytearray of 20"] = (fastcksum.raw_cksum, bytearray(data[:20]))
    timers = {LOOP: timeit.Timer("pass")}
    every = {**others, **ours, **others_on_bytearray}
    timers |= {name: timer(function, argument) for name, (function, argument) in every.items()}
    return timers, list(others)


def timer(function: Callable[..., int], argument: Any) -> timeit.Timer:
    """f(b), with f and b as local variables of the loop."""
    return timeit.Timer(
        "f(b)", "f = function; b = argument", globals={"function": function, "argument": argument}
    )


def minima(timers: Mapping[str, timeit.Timer], rounds: int) -> dict[str, float]:
    """The least ns a call of each statement."""
    best = dict.fromkeys(timers, float("inf"))
    order = list(timers)
    shuffle = random.Random(2).shuffle  # noqa: S311
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            best[name] = min(best[name], timers[name].timeit(CALLS) / CALLS * 1e9)
    return best


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    rounds = 20 if parser.parse_args().quick else 200
    try:
        from xxhash import xxh32_intdigest  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        sys.exit("python_calls.py needs xxhash: pip install 'fastcksum[test]'")
    timers, others = statements(xxh32_intdigest)
    with pinned():
        best = minima(timers, rounds)
    yardstick = min(best[name] for name in others)
    print(
        f"Python {sys.version.split()[0]}, zlib {zlib.ZLIB_RUNTIME_VERSION}, "
        f"kernel {fastcksum.active_kernel().name}; "
        f"minima of {rounds} rounds of {CALLS} calls"
    )
    print(f"{'':<40} {'ns/call':>8} {'ratio':>7}")
    for name, ns in best.items():
        ratio = "" if name == LOOP else f"{ns / yardstick:7.2f}"
        print(f"{name:<40} {ns:8.1f} {ratio}".rstrip())
    small = {size: best[f"raw_cksum, bytes of {size}"] / yardstick for size in SIZES if size <= GOAL_BYTES}
    reached = max(small.values()) <= GOAL
    print(
        f"bytes of {min(small)} to {max(small)}: at most {max(small.values()):.2f}, goal {GOAL}: "
        f"{'reached' if reached else 'not reached'}"
    )
    beside = min(ns for name, ns in best.items() if "bytearray" in name and not name.startswith("raw_cksum"))
    ratio_of_bytearray = best["raw_cksum, bytearray of 20"] / beside
    print(
        f"bytearray of 20: {ratio_of_bytearray:.2f} of the faster of the two on a bytearray, goal 1.0: "
        f"{'reached' if ratio_of_bytearray <= 1 else 'not reached'}"
    )


if __name__ == "__main__":
    main()
