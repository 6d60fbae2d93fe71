"""Does lab.compare() say "different" when nothing is, and does it find a 2 % that is there?

    python benchmarks/compare_proof.py [--quick]

Three counts, each a number of whole comparisons with other seeds, places, bytes and orders:
  A/A       of 200 comparisons of a kernel with itself, how many call it different (at 95 %: 10 would be as announced)
  2 %       of 100 comparisons with the same kernel that does its work twice in every 50th call, how many find it
  coverage  in how many of those 100 the interval holds what that costs: 2 % of the work, which is all but the call
"""

from __future__ import annotations

import argparse

from fastcksum import lab

SIZE = 1500
EVERY = 50
# One plain loop; BURN is its only difference, and takes as long as the sum itself.
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
    if (++calls % EVERY == 0 && BURN) {
        static volatile uint32_t wasted;
        wasted = words(buf, len, sum);
    }
    return words(buf, len, sum);
}
"""


def build(name: str, burn: int) -> lab.CompiledKernel:
    """The kernel with or without its extra work."""
    flags = ("-O3", f"-DBURN={burn}", f"-DEVERY={EVERY}")
    return lab.compile_kernel(SOURCE.replace("FUNCTION", name), flags=flags, symbol=name)


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the comparisons")
    share = 0.1 if parser.parse_args().quick else 1.0
    steady, burning = build("steady", 0), build("burning", 1)

    runs = round(200 * share)
    different = sum(" is " in compare(steady, steady, seed).verdict for seed in range(runs))
    print(f"A/A: {different} of {runs} called different")

    runs = round(100 * share)
    call = lab.sweep(["nothing"], [SIZE], [0]).table()[0].ticks_per_call
    work = lab.sweep([steady], [SIZE], [0]).table()[0].ticks_per_call
    expected = 1 + (work - call) / work / EVERY
    found = held = 0
    for seed in range(1000, 1000 + runs):
        # Long batches: each holds many of the extra calls, so that one more or less is far below what is looked for.
        ratio = compare(steady, burning, seed, batch_ticks=round(work * EVERY * 100), rounds=20)
        found += "slower" in ratio.verdict
        held += ratio.low <= expected <= ratio.high
    print(f"2 %: {found} of {runs} found slower")
    print(f"coverage: {held} of {runs} intervals hold {expected:.4f}")


def compare(a: lab.CompiledKernel, b: lab.CompiledKernel, seed: int, **options: int) -> lab.Ratio:
    """The one cell of a comparison."""
    return lab.compare(a, b, [SIZE], [0], seed=seed, **options).table()[0]


if __name__ == "__main__":
    main()
