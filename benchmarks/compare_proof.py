"""Does lab.compare() say "different" when nothing is, and does it find a 2 % that is there?

    python benchmarks/compare_proof.py [--quick]

Three counts, each a number of whole comparisons with other seeds, places, bytes and orders:
  A/A       of 200 comparisons of a kernel with itself, how many call it different (at 95 %: 10 would be as announced)
  2 %       of 100 comparisons with the same kernel that does a little more in every 8th call, how many find it
  coverage  in how many of those 100 the interval holds what that costs

In every 8th call the second kernel sums some of the bytes once more. How many make 2 %, and what exactly they cost, is
known beforehand from a sweep of its own over far more places than any of the comparisons has: their intervals are for
the median over places, so this is the number that they have to hold. (The time of so many bytes alone is not: the loop's
exit is predicted worse where two lengths take turns.)
"""

from __future__ import annotations

import argparse

import numpy as np

from fastcksum import lab

SIZE = 1500
EVERY = 8
EXTRA = 0.02
PARTS = range(96, 512, 16)
PLACES = 80
# One plain loop; BURN is its only difference.
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
    if (++calls % EVERY == 0 && BURN && len >= PART) {
        static volatile uint32_t wasted;
        wasted = words(buf, PART, sum);
    }
    return words(buf, len, sum);
}
"""


def build(name: str, *, burn: bool, part: int) -> lab.CompiledKernel:
    """The kernel with or without its extra work."""
    flags = ("-O3", f"-DBURN={int(burn)}", f"-DEVERY={EVERY}", f"-DPART={part}")
    return lab.compile_kernel(SOURCE.replace("FUNCTION", name), flags=flags, symbol=name)


def known_ratio(steady: lab.CompiledKernel) -> tuple[int, lab.CompiledKernel, float]:
    """(PART, the kernel that burns it, the ratio that it makes): the first of PARTS that costs EXTRA."""
    for part in PARTS:
        burning = build(f"burning_{part}", burn=True, part=part)
        sweep = lab.sweep([steady, burning], [SIZE], [0], placements=PLACES)
        ticks = {row.kernel: row.ticks_per_call for row in sweep.table()}
        known = ticks[burning.name] / ticks[steady.name]
        if known >= 1 + EXTRA:
            break
    return part, burning, known


def compare(a: lab.CompiledKernel, b: lab.CompiledKernel, seed: int) -> lab.Ratio:
    """The one cell of a comparison."""
    return lab.compare(a, b, [SIZE], [0], seed=seed).table()[0]


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the comparisons")
    share = 0.1 if parser.parse_args().quick else 1.0
    steady = build("steady", burn=False, part=0)

    runs = round(200 * share)
    different = sum(" is " in compare(steady, steady, seed).verdict for seed in range(runs))
    print(f"A/A: {different} of {runs} comparisons say that a kernel differs from itself")

    part, burning, known = known_ratio(steady)
    runs = round(100 * share)
    found = [compare(steady, burning, seed) for seed in range(1000, 1000 + runs)]
    slower = sum("slower" in ratio.verdict for ratio in found)
    held = sum(ratio.low <= known <= ratio.high for ratio in found)
    middle = float(np.median([ratio.ratio for ratio in found]))
    print(
        f"2 %: {slower} of {runs} comparisons find the kernel that sums {part} bytes more in every {EVERY}th call of "
        f"{SIZE}, which costs {known - 1:.2%}"
    )
    print(f"coverage: {held} of {runs} intervals hold {known:.4f}; the median of all ratios is {middle:.4f}")


if __name__ == "__main__":
    main()
