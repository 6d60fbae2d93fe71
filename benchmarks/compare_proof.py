"""Does lab.compare() tell a kernel from itself, and does it find what is there?

    python benchmarks/compare_proof.py [--share 0.1]

Three counts, each a number of whole comparisons of one cell or mix with other seeds, places, bytes and orders:
  A/A       of 200 comparisons of a kernel with itself, spread over 20, 64, 256 and 1500 bytes, a mix of lengths, and 1
            and 3 processes, how many call it faster or slower (at 95 %: 10 would be as announced)
  found     of 60 comparisons each with the same kernel that does a little more in some calls, 2 % at 1500 bytes and
            5 % at 256 and at 64, how many call it slower
  held      in how many of those the interval holds what the extra work costs

In these calls the second kernel sums some of the bytes once more. How many, and in which calls, make 2 or 5 %, and what
exactly they cost, is known beforehand from a comparison over far more places than any other has. At the end: how long a
comparison with the defaults takes. The whole takes half an hour; --share 0.1 a tenth of it.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from typing import Any

from fastcksum import lab

# Bytes -> the share that the extra work is to cost.
PLANTED = {1500: 0.02, 256: 0.05, 64: 0.05}
EVERY = (8, 16, 20, 24, 32)
PARTS = (2, 4, 8, 16, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)
PLACES = 1024
MIX = {"imix": lab.IMIX}
WHAT: tuple[dict[str, Any], ...] = (
    *({"sizes": size, "offsets": 0} for size in (20, 64, 256, 1500)),
    {"mode": "mixed", "lengths": MIX},
)
# One plain loop, and some of its bytes once more in every EVERYth call: none where PART is more than any buffer has.
SOURCE = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static __attribute__((noinline)) uint32_t words(const unsigned char *p, size_t len, uint32_t sum)
{
    uint64_t total = sum;
    for (; len >= 2; len -= 2, p += 2) {
        uint16_t word;
        memcpy(&word, p, 2);
        total += word;
    }
    if (len == 1) {
        total += __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? *p : (unsigned)*p << 8;
    }
    total = (total >> 32) + (total & 0xffffffff);
    return (uint32_t)(total >> 32) + (uint32_t)total;
}

uint32_t FUNCTION(const void *buf, size_t len, uint32_t sum)
{
    static unsigned calls;
    if (++calls % EVERY == 0 && len >= PART) {
        static volatile uint32_t wasted;
        wasted = words(buf, PART, sum);
    }
    return words(buf, len, sum);
}
"""


def build(name: str, *, every: int = EVERY[0], part: str = "SIZE_MAX") -> lab.CompiledKernel:
    """The kernel, with its extra work on so many bytes in some of the calls or without."""
    flags = ("-O3", f"-DEVERY={every}", f"-DPART={part}")
    return lab.compile_kernel(SOURCE.replace("FUNCTION", name), flags=flags, symbol=name)


def planted(size: int) -> tuple[str, lab.CompiledKernel, lab.CompiledKernel, float]:
    """(what is planted, the steady kernel, the burning one, the ratio that it makes).

    The least extra work that costs as much: the first of PARTS in the rarest calls in which one of them does.
    """
    for every in reversed(EVERY):
        steady = build(f"steady_{every}", every=every)
        for part in (part for part in PARTS if part <= size):
            burning = build(f"burning_{every}_{part}", every=every, part=str(part))
            found = lab.compare(steady, burning, size, 0, placements=32, seed=9).table()[0].ratio - 1
            if found >= PLANTED[size]:
                known = lab.compare(steady, burning, size, 0, placements=PLACES, seed=99).table()[0].ratio
                return f"{part} bytes more in every {every}th call", steady, burning, known
            if found * size / part < PLANTED[size] / 2:
                break  # not even the whole buffer would cost as much
    raise SystemExit(f"{size} bytes: no extra work costs {PLANTED[size]:.0%}")


def same_kernel(steady: lab.CompiledKernel, runs: int) -> None:
    """Prints how often a kernel is told from itself, for each thing that is compared and in all."""
    ways = list(itertools.product(WHAT, (1, 3)))
    counts = {index: Counter[str]() for index in range(len(ways))}
    for seed in range(runs):
        what, processes = ways[seed % len(ways)]
        found = lab.compare(steady, steady, processes=processes, seed=seed, **what).table()
        verdicts = {ratio.verdict for ratio in found}
        counts[seed % len(ways)][
            next((each for each in ("faster", "slower", "unresolved") if each in verdicts), "same")
        ] += 1
    for index, (what, processes) in enumerate(ways):
        name = what.get("sizes", "mix")
        print(f"A/A {name:>5}, {processes} processes: {dict(counts[index])}", flush=True)
    wrong = sum(count["faster"] + count["slower"] for count in counts.values())
    print(f"A/A: {wrong} of {runs} comparisons tell a kernel from itself", flush=True)


def planted_ones(runs: int) -> None:
    """Prints how often what was planted is found, and held by the interval."""
    for size in PLANTED:
        what, steady, burning, known = planted(size)
        found = [lab.compare(steady, burning, size, 0, seed=1000 + seed).table()[0] for seed in range(runs)]
        slower = sum(ratio.verdict == "slower" for ratio in found)
        held = sum(ratio.low <= known <= ratio.high for ratio in found)
        placements = Counter(ratio.placements for ratio in found)
        print(
            f"{size} bytes: {what} cost {known - 1:.2%}; found in {slower} of {runs}, held by {held}; "
            f"placements {dict(sorted(placements.items()))}",
            flush=True,
        )


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the comparisons (default: 1)")
    share = parser.parse_args().share
    print("\n".join(lab.host().to_lines()), flush=True)
    planted_ones(max(1, round(60 * share)))
    same_kernel(build("steady"), max(1, round(200 * share)))
    started = time.monotonic()
    found = lab.compare("dpdk_before", "dpdk_after")
    print(found.text())
    print(f"a comparison with the defaults takes {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
