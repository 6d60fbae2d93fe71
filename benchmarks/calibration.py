"""Does a cell that is called clean repeat?

    python benchmarks/calibration.py [--runs 2] [--between 20]

Two runs of the default `fastcksum perf`, with other programs on every CPU between them for some seconds. Of the cells
that are clean in both, at least 95 of 100 should move by less than 2 %. What moves all cells of a run alike, the core's
clock, is no matter of a badge: headlines are held against each other in core cycles where the clock is known.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np

from fastcksum import lab
from fastcksum.lab._figures.core import core_clock

MOVES = 0.02
BUSY = "import time; end = time.monotonic() + {seconds}\nwhile time.monotonic() < end: sorted(range(100_000), key=str)"


def other_programs(seconds: float) -> None:
    """One on each CPU, for so long."""
    words = [sys.executable, "-c", BUSY.format(seconds=seconds)]
    for program in [subprocess.Popen(words) for _ in os.sched_getaffinity(0)]:
        program.wait()


def clock_of(sweep: lab.Sweep) -> float:
    """The core cycles a tick at which the headlines of a run stand; 1 where they aren't known."""
    clock = core_clock(sweep.samples, sweep.host.unit)
    return 1.0 if np.isnan(clock).all() else float(np.nanmedian(clock))


def moved(before: float, after: float) -> float:
    """By how much a headline moved, as a factor above 1, less 1."""
    return max(before, after) / min(before, after) - 1


def report(runs: tuple[lab.Sweep, lab.Sweep]) -> None:
    """Prints how many cells are clean, and how many of those repeat."""
    clocks = [clock_of(run) for run in runs]
    print(f"core cycles a tick: {clocks[0]:.3f}, {clocks[1]:.3f}")
    both = list(zip(*(run.table() for run in runs), strict=True))
    moves = [
        moved(*(row.ticks_per_call * clock for row, clock in zip(pair, clocks, strict=True))) for pair in both
    ]
    clean = [{row.badge for row in pair} == {"clean"} for pair in both]
    steady = sum(move < MOVES for move, is_clean in zip(moves, clean, strict=True) if is_clean)
    print(f"clean in both runs: {sum(clean)} of {len(both)} cells ({sum(clean) / len(both):.0%})")
    if any(clean):
        print(f"of these {steady} ({steady / sum(clean):.1%}) moved by less than {MOVES:.0%}; aim: 95%")
    for pair, move, is_clean in zip(both, moves, clean, strict=True):
        if is_clean and move >= MOVES:
            print(
                f"  {pair[0].kernel} {pair[0].size} +{pair[0].offset}: "
                f"{pair[0].ticks_per_call:.2f}, {pair[1].ticks_per_call:.2f} ticks, {move:.1%}"
            )
    rest = [move for move, is_clean in zip(moves, clean, strict=True) if not is_clean]
    print(
        f"of the other {len(rest)} cells {sum(move < MOVES for move in rest)} moved by less than {MOVES:.0%}"
    )


def main() -> None:
    """Runs and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2, help="sweeps; each is held against the one before")
    parser.add_argument("--between", type=float, default=20, help="seconds of other programs")
    options = parser.parse_args()
    print("\n".join(lab.host().to_lines()), flush=True)
    sweeps: list[lab.Sweep] = []
    for run in range(options.runs):
        if run:
            other_programs(options.between)
        started = time.monotonic()
        sweeps.append(lab.sweep())
        rows = sweeps[-1].table()
        clean = sum(row.badge == "clean" for row in rows)
        print(
            f"run {run + 1}: {clean} of {len(rows)} cells clean, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    for pair in pairwise(sweeps):
        report(pair)


if __name__ == "__main__":
    main()
