"""What does a call cost whose data ends at the end of a page, and what does the guard in the kernels cost and
save?

    python benchmarks/page_end.py [--quick]

A masked load is right wherever its window reaches, but where that is a page that is unmapped, or was never
touched, it takes a microcode assist, each time. The kernels with masked loads test for the end of a page
first where buffers are short; for longer ones their windows end where the buffer does. Each of the kernels
is built twice, as it is and with that test taken out of a copy of its sources, and both are linked at
several places in a page, since the cost of a test is smaller than what places differ by. All cells take
turns:

  middle       the data ends 512 bytes before the end of its page
  touched      it ends with its page; the next page is mapped and was written
  untouched    ... the next page is mapped and was never touched
  unmapped     ... there is no next page

Figures are medians over the places of the minima over the rounds, in ticks a call.
"""

from __future__ import annotations

import argparse
import dataclasses
import mmap
import re
import shutil
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

import fastcksum
from fastcksum import _core, lab
from fastcksum.lab._bench.job import MARGIN, check_sums
from fastcksum.lab._bench.links import links_at
from fastcksum.lab._bench.places import draw_places
from fastcksum.lab._bench.request import target_ticks
from fastcksum.lab._bench.warm import time_round
from fastcksum.lab._machine.processor import pinned

PAGE = mmap.PAGESIZE
# One length of each class of the kernels, none of them a whole number of vectors.
LENGTHS = (20, 50, 100, 200, 600, 1000, 1500)
CASES = ("middle", "touched", "untouched", "unmapped")
GUARD = re.compile(r"(bool masked_may_reach_next_page\([^)]*\)\s*\{)(.*?)(\n\})", re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class Build:
    """A kernel with or without the guard."""

    name: str
    guarded: bool
    kernel: lab.CompiledKernel


def without_guard(folder: Path, csrc: Path) -> Path:
    """A copy of the sources in which no address is said to be near the end of a page."""
    copy = Path(shutil.copytree(csrc, folder / "csrc"))
    header = copy / "kernels" / "steps" / "masked.h"
    text, changes = GUARD.subn(r"\1\n    (void)p;\n    return false;\3", header.read_text())
    if changes != 1:
        raise SystemExit(
            f"{header.name} has no function masked_may_reach_next_page: there is no guard to take out"
        )
    header.write_text(text)
    return copy


def builds(folder: Path) -> list[Build]:
    """Every production kernel that runs here and has the guard: it gives other code without."""
    facts = _core.build_facts()
    found = []
    names = [each.name for each in fastcksum.kernels() if each.role == "production" and each.runs_here]
    csrc = next(
        path for path in lab.kernel_source(names[0]).parents if (path / "kernels" / "kernel.h").is_file()
    )
    copy = without_guard(folder, csrc)
    for name in names:
        source = lab.kernel_source(name)
        flags = facts["flags"].split()
        guarded = lab.compile_kernel(source, facts["command"], flags)
        bare = lab.compile_kernel(
            copy / source.relative_to(csrc), facts["command"], [*flags, "-I", str(copy)]
        )
        if bare.code_sha256 != guarded.code_sha256:
            found += [Build(name, True, guarded), Build(name, False, bare)]
    return found


def mapping(case: str) -> mmap.mmap:
    """Two pages of data, and behind them what the case says."""
    pages = mmap.mmap(-1, 3 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages[: 2 * PAGE] = np.random.default_rng(1).bytes(2 * PAGE)
    if case in {"middle", "touched"}:
        pages[2 * PAGE :] = bytes(PAGE)
    elif case == "unmapped":
        pages.resize(2 * PAGE)
    return pages


def is_mapped(address: int) -> bool:
    """Whether a page of this process is at the address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        low, high = (int(end, 16) for end in line.split(" ", 1)[0].split("-"))
        if low <= address < high:
            return True
    return False


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and places")
    quick = parser.parse_args().quick
    rounds, places = (10, 3) if quick else (40, 10)
    with tempfile.TemporaryDirectory(prefix="fastcksum-") as folder:
        field = builds(Path(folder))
        if not field:
            raise SystemExit(
                "no production kernel that runs here has masked loads: there is nothing to guard"
            )
        best = measure(field, rounds, places)
    host = lab.host()
    print(f"{host.cpu}; {host.compiler}; {rounds} rounds at {places} places; {host.unit}")
    for name in dict.fromkeys(build.name for build in field):
        print(f"\n{name:<14}" + f"{'with the guard':^42}{'without':^42}")
        print(
            f"{'bytes':<14}"
            + "".join(f"{case:>10}" for case in CASES)
            + "  "
            + "".join(f"{case:>10}" for case in CASES)
        )
        for length in LENGTHS:
            halves = [
                "".join(f"{best[name, guarded, length, case]:10.1f}" for case in CASES)
                for guarded in (True, False)
            ]
            print(f"{length:<14}" + "  ".join(halves))
    costs = [
        best[b.name, True, n, "middle"] - best[b.name, False, n, "middle"]
        for b in field
        if b.guarded
        for n in LENGTHS
    ]
    print(
        f"\nThe guard's own cost, in the middle of a page: median {statistics.median(costs):+.1f}, "
        f"most {max(costs):+.1f}"
    )


def measure(field: list[Build], rounds: int, places: int) -> dict[tuple[str, bool, int, str], float]:
    """(kernel, guarded, length, case) -> ticks a call."""
    pages = {case: mapping(case) for case in CASES}
    behind = {case: address_of(buffer) + 2 * PAGE for case, buffer in pages.items()}
    bench = _core.Bench()
    keys: list[tuple[str, bool, int, str]] = []
    for number, build in enumerate(field):
        for link in links_at(build.kernel, draw_places(places, number, 0)):
            opened = link.open()
            for length in LENGTHS:
                for case in CASES:
                    end = 2 * PAGE - (512 if case == "middle" else 0)
                    bench.add(opened, pages[case], [end - length], [length])
                    keys.append((build.name, build.guarded, length, case))
    source = np.random.default_rng(2)
    with pinned():
        bench.calibrate(int(target_ticks() * MARGIN))
        check_sums(bench, [key[0] for key in keys])
        samples = np.concatenate(
            [time_round(bench, source.permutation(len(keys)).tolist(), i) for i in range(rounds)]
        )
    for case, expected in {"touched": True, "untouched": True, "unmapped": False}.items():
        if is_mapped(behind[case]) is not expected:
            raise SystemExit(f"the page behind the data is not what case '{case}' says; run it again")
    good = samples[samples["flags"] == 0]
    minima = defaultdict(list)
    for cell, key in enumerate(keys):
        of_cell = good[good["cell"] == cell]
        minima[key].append(float((of_cell["ticks"] / of_cell["calls"]).min(initial=np.inf)))
    return {key: statistics.median(values) for key, values in minima.items()}


def address_of(buffer: mmap.mmap) -> int:
    """Where the mapping begins."""
    return int(np.frombuffer(buffer, np.uint8).ctypes.data)


if __name__ == "__main__":
    main()
