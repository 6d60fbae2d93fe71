"""Does a cell that is called clean repeat?

    python benchmarks/calibration.py [--runs 2] [--between 20]

Two runs of the default `fastcksum perf`, with other programs on every CPU between them for some seconds. Of the cells
that are clean in both, at least 95 of 100 should move by less than 2 %.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from itertools import pairwise

from fastcksum import lab

MOVES = 0.02
BUSY = "import time; end = time.monotonic() + {seconds}\nwhile time.monotonic() < end: sorted(range(100_000), key=str)"


def other_programs(seconds: float) -> None:
    """One on each CPU, for so long."""
    words = [sys.executable, "-c", BUSY.format(seconds=seconds)]
    for program in [subprocess.Popen(words) for _ in os.sched_getaffinity(0)]:
        program.wait()


def moved(before: lab.Row, after: lab.Row) -> float:
    """By how much a headline moved, as a factor above 1, less 1."""
    pair = before.ticks_per_call, after.ticks_per_call
    return max(pair) / min(pair) - 1


def report(before: list[lab.Row], after: list[lab.Row]) -> None:
    """Prints how many cells are clean, and how many of those repeat."""
    both = list(zip(before, after, strict=True))
    clean = [pair for pair in both if {row.badge for row in pair} == {"clean"}]
    steady = sum(moved(*pair) < MOVES for pair in clean)
    print(f"clean in both runs: {len(clean)} of {len(both)} cells ({len(clean) / len(both):.0%})")
    if clean:
        share = steady / len(clean)
        print(f"of these {steady} ({share:.1%}) moved by less than {MOVES:.0%}; aim: 95%")
    for pair in clean:
        if moved(*pair) >= MOVES:
            print(
                f"  {pair[0].kernel} {pair[0].size} +{pair[0].offset}: "
                f"{pair[0].ticks_per_call:.2f}, {pair[1].ticks_per_call:.2f}"
            )
    rest = [pair for pair in both if pair not in clean]
    steady = sum(moved(*pair) < MOVES for pair in rest)
    print(f"of the other {len(rest)} cells {steady} moved by less than {MOVES:.0%}")


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2, help="sweeps; each is held against the one before")
    parser.add_argument("--between", type=float, default=20, help="seconds of other programs")
    options = parser.parse_args()
    print("\n".join(lab.host().to_lines()), flush=True)
    tables: list[list[lab.Row]] = []
    for run in range(options.runs):
        if run:
            other_programs(options.between)
        started = time.monotonic()
        rows = lab.sweep().table()
        tables.append(rows)
        clean = sum(row.badge == "clean" for row in rows)
        print(
            f"run {run + 1}: {clean} of {len(rows)} cells clean, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    for pair in pairwise(tables):
        report(*pair)


if __name__ == "__main__":
    main()
