"""The aims of this project beside a race, and its peers beside the figures that were published of them.

python benchmarks/race_targets.py [FILE ...]

FILE: a race as `fastcksum race --save FILE.json` keeps it; benchmarks/races/ has one of each kind of CPU that was
measured. Without one, the race is run.
"""

from __future__ import annotations

import argparse
import csv
import math
import textwrap
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from fastcksum import lab
from fastcksum.lab._figures.contests import Case, geometric_mean, in_mode, means, ratios_to
from fastcksum.lab._figures.race_text import ratio_text, ticks_text
from fastcksum.lab._figures.record import MODES, RANDOM_OFFSET
from fastcksum.lab._race import LARGE, LOADS, LOADS_FROM, LOADS_TO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fastcksum.lab import Host, Race
    from fastcksum.lab._figures.contests import Belongs, Contest, Mean, Single, Table

# The lengths whose throughput is aimed at, each at offsets 0 and 1.
SIZES: Final = (20, 40, 64, 100, 128, 192, 256, 384, 576, 1500, 4096, 9000, 16384)
# A peer whose figure is this close to the published one is no straw man.
PEER_HOLDS: Final = 0.10
MachineKind: TypeAlias = Literal["avx2", "avx512"]


class Target(NamedTuple):
    """What is aimed at: a figure with its interval (NaN where there is none), and the most it may be.

    cells: how many the figure is made of. note: which one it is, where it is one of many. reached: whether the figure
    is within the limit; None where nothing was measured or nothing is aimed at.
    """

    measure: str
    figure: float
    low: float
    high: float
    cells: int
    note: str
    limit: float | None
    reached: bool | None


class PeerRow(NamedTuple):
    """A peer's figure beside the published one of this kind of machine, both in ticks a call; ratio is ours
    by theirs.

    source: what was measured there, and how it was built. build: how it was built here.
    """

    kernel: str
    mode: str
    size: int
    distribution: str
    offset: int
    ticks: float
    published: float
    ratio: float
    source: str
    build: str

    @property
    def holds(self) -> bool:
        """Whether it is within 10 % of the published figure."""
        return abs(self.ratio - 1) <= PEER_HOLDS


def machine_kind(features: Iterable[str]) -> MachineKind | None:
    """Which of the two kinds of machine that the targets are set for this is; None for neither."""
    there = set(features)
    return "avx512" if "avx512f" in there else "avx2" if "avx2" in there else None


class _Figure(NamedTuple):
    """A figure that has a target, its interval, of how many cells it is made, and which one it is."""

    value: float
    low: float
    high: float
    cells: int
    note: str = ""


NOTHING: Final = _Figure(math.nan, math.nan, math.nan, 0)


def targets(found: Race) -> list[Target]:
    """Every target with its figure."""
    table = found.table()
    wide = machine_kind(found.host.features) == "avx512"
    loads = next((name for name in found.field.named("yardstick") if name.startswith(LOADS)), f"{LOADS}?")
    aims: list[tuple[str, _Figure, float | None]] = [
        ("throughput, geometric mean of 13 sizes", _mean_of(table, _throughput(SIZES)), 0.88),
        ("throughput, worst cell but 65..128", _worst(table, _throughput(SIZES, but=(65, 128))), 1.05),
        ("throughput, worst cell of 65..128", _worst(table, _throughput((100, 101, 128))), 1.12),
        ("throughput at 9000 bytes", _mean_of(table, _throughput((9000,))), 0.55 if wide else 0.70),
        ("throughput at 64 MiB", _mean_of(table, _throughput((LARGE,))), 0.80),
        ("latency, geometric mean", _mean_of(table, in_mode("latency")), 0.97),
        ("latency, worst cell up to 128", _worst(table, _latency(0, 128)), 1.08),
        ("latency, worst cell of 129..256", _worst(table, _latency(129, 256)), None),
        ("latency, worst cell from 257", _worst(table, _latency(257, LARGE)), 1.30),
        ("mixed, geometric mean", _mean_of(table, in_mode("mixed")), 0.80),
        ("mixed, worst cell", _worst(table, in_mode("mixed")), 1.05),
        ("hardest single peer, all cells", _hardest(found.singles()), 0.75),
        (
            f"{LOADS_FROM}..{LOADS_TO} bytes +0 by {loads}",
            _by_loads(found.figures(), found.chosen, loads),
            1.20,
        ),
    ]
    return [_judge(*aim) for aim in aims]


def _judge(measure: str, figure: _Figure, limit: float | None) -> Target:
    reached = None if limit is None or math.isnan(figure.value) else figure.value <= limit
    return Target(measure, *figure[:4], figure.note, limit, reached)


def _throughput(sizes: Sequence[int], but: tuple[int, int] = (0, 0)) -> Belongs:
    """Whether a cell is throughput at one of these sizes, but those from one to another."""
    return lambda cell: cell.mode == "throughput" and cell.size in sizes and not but[0] <= cell.size <= but[1]


def _latency(least: int, most: int) -> Belongs:
    """Whether a cell is latency at a size from one to another."""
    return lambda cell: cell.mode == "latency" and least <= cell.size <= most


def _mean_of(table: Sequence[Contest], belongs: Belongs) -> _Figure:
    """The geometric mean of some cells."""
    mean: Mean = next(
        each for each in means([each for each in table if belongs(each)]) if each.what == "all cells"
    )
    return _Figure(mean.ratio, mean.low, mean.high, mean.cells)


def _worst(table: Sequence[Contest], belongs: Belongs) -> _Figure:
    """The largest ratio of some cells, and where it is."""
    group = [each for each in table if belongs(each)]
    if not group:
        return NOTHING
    worst = max(group, key=lambda each: each.ratio)
    return _Figure(
        worst.ratio, worst.low, worst.high, len(group), f"{worst.case}, {worst.peer}: {worst.verdict}"
    )


def _by_loads(table: Table, chosen: str, loads: str) -> _Figure:
    """The largest ratio to the loads alone at offset 0, where it is, and the mean."""
    ratios = {
        case: ratio
        for case, ratio in ratios_to(table, chosen, [loads]).items()
        if case.mode == "throughput" and LOADS_FROM <= case.size <= LOADS_TO and case.offset == 0
    }
    if not ratios:
        return NOTHING
    worst = max(ratios, key=ratios.__getitem__)
    note = f"{worst}; geometric mean {geometric_mean(ratios.values()):.3f}"
    return NOTHING._replace(value=ratios[worst], cells=len(ratios), note=note)


def _hardest(found: Sequence[Single]) -> _Figure:
    """The single peer against which the mean is the largest."""
    return (
        NOTHING._replace(value=found[0].all, cells=found[0].cells, note=found[0].peer) if found else NOTHING
    )


def machine_name(machine: Host) -> str | None:
    """The name under which figures of this kind of machine were published; None if there are none."""
    avx512 = "avx512f" in machine.features
    known = {("25", False): "AMD Zen 3", ("26", True): "AMD Zen 5"}
    return known.get((machine.family, avx512)) if "AMD" in machine.cpu else None


@cache
def published_rows() -> tuple[dict[str, str], ...]:
    """The published figures of peers: machine, kernel, mode, size (or the mix), offset, ticks, source.

    Measured on guests of AMD EPYC machines: Zen 3 (counter at 2445.4 MHz, 1.22 core cycles a tick) and Zen 5
    (2596.1 MHz, 1.62 core cycles a tick); each row is the minimum of several interleaved passes.
    """
    text = Path(__file__).with_name("peer_rows.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def peer_rows(race: Race, machine: str | None, published: Iterable[Mapping[str, str]]) -> list[PeerRow]:
    """Measured and published figures of the cells that have both, for machines of this name."""
    table = race.figures()
    found = []
    for row in published:
        mixed = row["mode"] in MODES["mixed"]
        case = (
            Case(row["mode"], 0, row["size"], RANDOM_OFFSET)
            if mixed
            else Case(row["mode"], int(row["size"]), "fixed", int(row["offset"]))
        )
        ticks = table.get(case, {}).get(row["kernel"], math.nan)
        if row["machine"] == machine and not math.isnan(ticks):
            told, build = float(row["ticks"]), _build_of(race, case, row["kernel"])
            found.append(PeerRow(row["kernel"], *case, ticks, told, ticks / told, row["source"], build))
    return found


def _build_of(race: Race, case: Case, kernel: str) -> str:
    """How the kernel was built that ran in this cell."""
    runners = (race.field.runners[name] for name in race.minima[case])
    return next(runner.build for runner in runners if runner.kernel == kernel)


def text(found: Race) -> str:
    """Both tables, at most 100 columns wide."""
    kind, machine = machine_kind(found.host.features), machine_name(found.host)
    aims = _target_lines(found.chosen, targets(found), kind)
    peers = _peer_lines(peer_rows(found, machine, published_rows()), machine)
    return "\n".join([f"{found.host.cpu}, {found.about.started}", "", *aims, "", *peers]) + "\n"


def _target_lines(chosen: str, found: Sequence[Target], kind: MachineKind | None) -> list[str]:
    words = {"avx2": "with AVX2", "avx512": "with AVX-512", None: "with neither"}
    title = f"### Aims of {chosen} on a machine {words[kind]}"
    head = f"{'':<41} {'figure':>7} {'interval':>16} {'cells':>5} {'aim':>8}"
    return [title, head, *(line for target in found for line in _target_line(target))]


def _target_line(target: Target) -> list[str]:
    most = f"<= {target.limit:.2f}" if target.limit is not None else "-"
    verdict = {True: "reached", False: "not reached", None: ""}[target.reached]
    interval = "" if math.isnan(target.low) else f"{target.low:.3f} to {target.high:.3f}"
    line = f"{target.measure:<41} {ratio_text(target.figure):>7} {interval:>16} {target.cells:>5} {most:>8}  {verdict}"
    return [line.rstrip(), *([f"    {target.note}"] if target.note else [])]


def _peer_lines(found: Sequence[PeerRow], machine: str | None) -> list[str]:
    title = "### The peers beside their published figures"
    if machine is None:
        return [f"{title}: no row for this machine"]
    if not found:
        return [f"{title}: none for what was measured here"]
    held = sum(row.holds for row in found)
    head = f"{'':<48} {'here':>10} {'published':>10} {'ratio':>6}"
    about = f"{held} of {len(found)} within {PEER_HOLDS:.0%}"
    return [f"{title} ({machine}): {about}", head, *(line for row in found for line in _peer_line(row))]


def _peer_line(row: PeerRow) -> list[str]:
    """The row; where the two figures differ, what the published one was measured with, and what was here."""
    line = (
        f"{f'{row.kernel} {case_of(row)}':<48} {ticks_text(row.ticks):>10} {ticks_text(row.published):>10} "
        f"{row.ratio:>6.2f}"
    )
    if row.holds:
        return [line]
    return [
        f"{line}  off",
        *textwrap.wrap(
            f"there {row.source}; here {row.build}", 96, initial_indent="    ", subsequent_indent="    "
        ),
    ]


def case_of(row: PeerRow) -> Case:
    """The cell of a published figure."""
    return Case(row.mode, row.size, row.distribution, row.offset)


def main() -> None:
    """Prints the tables of each file, or of a race that is run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="races that were kept")
    files = parser.parse_args().files
    if not files:
        found = lab.race()
        print(found.text())
        print(text(found), end="")
    for file in files:
        print(text(lab.Race.load(file)))


if __name__ == "__main__":
    main()
