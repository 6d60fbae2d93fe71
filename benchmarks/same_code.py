"""What the bench makes of no difference at all: six copies of one code in one sweep, largest by smallest headline.

    python benchmarks/same_code.py [--kernels NAMES] [--placements N] [--rounds N] [--seed N]

Each copy lies at places of its own. A headline is the pseudomedian over the placements of the minima, as in a race;
what the copies differ by is what where the code lies and the moment leave in it.
"""

from __future__ import annotations

import argparse
import dataclasses

from fastcksum import kernels, lab

KERNELS = "dpdk_before,x86_64_adc,linux_2023"
SIZES = (20, 64, 256)
COPIES = 6


def headlines(name: str, placements: int, rounds: int, seed: int) -> dict[int, list[float]]:
    """Size -> the headline of each copy."""
    kernel = next(kernel for kernel in kernels() if kernel.name == name)
    copies = [dataclasses.replace(kernel, name=f"{name} ({number})") for number in range(1, COPIES + 1)]
    rows = lab.sweep(copies, SIZES, 0, placements=placements, rounds=rounds, seed=seed).table()
    return {size: [row.ticks_per_call for row in rows if row.size == size] for size in SIZES}


def main() -> None:
    """Runs the sweeps and prints a line for each kernel and size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=KERNELS)
    parser.add_argument("--placements", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("\n".join(lab.host().to_lines()))
    print(
        f"\n{COPIES} copies in one sweep, {options.placements} placements of {options.rounds} rounds; ticks a call"
    )
    print(f"{'kernel':<14} {'size':>6} {'ratio':>7} {'least':>8} {'largest':>8}")
    worst = 0.0
    for name in options.kernels.split(","):
        found = headlines(name, options.placements, options.rounds, options.seed)
        for size, ticks in found.items():
            ratio = max(ticks) / min(ticks)
            worst = max(worst, ratio)
            print(f"{name:<14} {size:>6} {ratio:>7.3f} {min(ticks):>8.2f} {max(ticks):>8.2f}", flush=True)
    print(f"worst: {worst:.3f}")


if __name__ == "__main__":
    main()
