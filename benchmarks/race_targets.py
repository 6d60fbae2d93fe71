"""The race with the aims of this project, and with its peers beside the figures that were published of them.

python benchmarks/race_targets.py [--quick]
"""

from __future__ import annotations

import argparse
import csv
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from fastcksum import lab
from fastcksum.lab._figures.contests import (
    Case,
    anywhere,
    by_case,
    contests,
    geometric_mean,
    in_mode,
    ratios_to,
    singles,
)
from fastcksum.lab._figures.race_text import ratio_text, ticks_text
from fastcksum.lab._figures.record import MODES, RANDOM_OFFSET
from fastcksum.lab._race import LARGE, LOADS, LOADS_FROM, LOADS_TO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fastcksum.lab import Host, Race
    from fastcksum.lab._figures.contests import Belongs, Contest, Single, Table

GENERAL: Final = "x86_64_adc"
GENERAL_PEERS: Final = ("linux_before", "linux_after", "linux_2023")
# A peer whose figure is this close to the published one is no straw man.
PEER_HOLDS: Final = 0.10
MachineKind: TypeAlias = Literal["avx2", "avx512"]


class Target(NamedTuple):
    """What was aimed at: a figure (NaN if no cell has one), and the most it may be on each kind of machine.

    cells: how many the figure is made of. note: which one it is, where it is one of many. reached is None
    where this kind of machine has no such target, or nothing was measured.
    """

    measure: str
    figure: float
    cells: int
    note: str
    avx2: float | None
    avx512: float | None
    reached: bool | None


class PeerRow(NamedTuple):
    """A peer's figure beside the published one of this kind of machine, both in ticks a call; ratio is ours
    by theirs.

    source: what was measured for it, and how it was built.
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

    @property
    def holds(self) -> bool:
        """Whether it is within 10 % of the published figure."""
        return abs(self.ratio - 1) <= PEER_HOLDS


def machine_kind(features: Iterable[str]) -> MachineKind | None:
    """Which of the two kinds of machine that the targets are set for this is; None for neither."""
    there = set(features)
    return "avx512" if "avx512f" in there else "avx2" if "avx2" in there else None


class _Figure(NamedTuple):
    """A figure that has a target, of how many cells it is made, and which one it is."""

    value: float
    cells: int
    note: str = ""


def targets(
    table: Table, chosen: str, peers: Sequence[str], loads: str, kind: MachineKind | None
) -> list[Target]:
    """Every target with its figure. loads: the widest yardstick that only loads."""
    found = contests(table, chosen, [], peers)
    against_loads = {
        case: ratio
        for case, ratio in ratios_to(table, chosen, [loads]).items()
        if case.mode == "throughput" and LOADS_FROM <= case.size <= LOADS_TO
    }
    general = list(ratios_to(table, GENERAL, GENERAL_PEERS).values())
    # what, figure, the most it may be with AVX2, and with AVX-512
    aims: list[tuple[str, _Figure, float | None, float | None]] = [
        ("throughput, geometric mean", _mean_figure(found, in_mode("throughput")), 0.82, 0.86),
        ("throughput at 1500 bytes", _mean_figure(found, _at(1500)), 0.80, 0.70),
        ("throughput at 9000 bytes", _mean_figure(found, _at(9000)), 0.70, 0.58),
        ("throughput at 64 MiB", _mean_figure(found, _at(LARGE)), 0.75, 0.85),
        ("latency, geometric mean", _mean_figure(found, in_mode("latency")), 1.00, 1.00),
        ("mixed, geometric mean", _mean_figure(found, in_mode("mixed")), 0.92, 0.90),
        ("all cells, geometric mean", _mean_figure(found, anywhere), None, None),
        ("worst cell but 40 bytes", _worst({c.case: c.ratio for c in found if c.size != 40}), 1.30, 1.35),
        ("hardest single peer, all cells", _hardest(singles(table, chosen, peers)), 0.75, 0.80),
        (f"{LOADS_FROM}..{LOADS_TO} bytes +0 by {loads}", _worst_at(0, against_loads), 1.45, 1.30),
        (f"{LOADS_FROM}..{LOADS_TO} bytes +1 by {loads}", _worst_at(1, against_loads), None, 0.75),
        (
            f"{GENERAL} by the best of Linux",
            _Figure(geometric_mean(general), len(general), "before, after, 2023; all cells"),
            0.80,
            0.80,
        ),
    ]
    return [_judge(*aim, kind) for aim in aims]


def _judge(
    measure: str, figure: _Figure, avx2: float | None, avx512: float | None, kind: MachineKind | None
) -> Target:
    limit = {"avx2": avx2, "avx512": avx512}.get(kind or "")
    reached = None if limit is None or math.isnan(figure.value) else figure.value <= limit
    return Target(measure, figure.value, figure.cells, figure.note, avx2, avx512, reached)


def _mean_figure(found: Sequence[Contest], belongs: Belongs) -> _Figure:
    group = [contest.ratio for contest in found if belongs(contest)]
    return _Figure(geometric_mean(group), len(group))


def _at(size: int) -> Belongs:
    """Whether a cell is throughput at this size, at whatever offset."""
    return lambda cell: cell.mode == "throughput" and cell.size == size


def _worst(ratios: Mapping[Case, float]) -> _Figure:
    """The largest ratio, and where it is."""
    if not ratios:
        return _Figure(math.nan, 0)
    worst = max(ratios, key=ratios.__getitem__)
    return _Figure(ratios[worst], len(ratios), str(worst))


def _worst_at(offset: int, ratios: Mapping[Case, float]) -> _Figure:
    """The largest ratio at the offset, where it is, and the mean."""
    there = {case: ratio for case, ratio in ratios.items() if case.offset == offset}
    worst = _worst(there)
    mean = geometric_mean(there.values())
    return worst._replace(note=f"{worst.note}; geometric mean {mean:.3f}" if there else "")


def _hardest(found: Sequence[Single]) -> _Figure:
    """The single peer against which the mean is the largest."""
    if not found:
        return _Figure(math.nan, 0)
    return _Figure(found[0].all, found[0].cells, found[0].peer)


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


def peer_rows(table: Table, machine: str | None, published: Iterable[Mapping[str, str]]) -> list[PeerRow]:
    """Measured and published figures of the cells that have both, for machines of this name."""
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
            told = float(row["ticks"])
            found.append(PeerRow(row["kernel"], *case, ticks, told, ticks / told, row["source"]))
    return found


def text(found: Race) -> str:
    """The race with both tables behind it, at most 100 columns wide."""
    host, table = found.sweep.host, by_case(found.rows)
    loads = next(
        (each["name"] for each in found.sweep.plan.kernels if each["name"].startswith(LOADS)), f"{LOADS}?"
    )
    kind, machine = machine_kind(host.features), machine_name(host)
    aims = _target_lines(targets(table, found.chosen, found.peers, loads, kind), kind)
    peers = _peer_lines(peer_rows(table, machine, published_rows()), machine)
    return "\n".join([found.text(), *aims, "", *peers]) + "\n"


def _target_lines(found: Sequence[Target], kind: MachineKind | None) -> list[str]:
    words = {"avx2": "with AVX2", "avx512": "with AVX-512", None: "with neither"}
    title = f"### Targets for the two kinds of machine; this is one {words[kind]}"
    head = f"{'':<41} {'figure':>7} {'cells':>5} {'AVX2':>6} {'AVX-512':>8}  "
    return [title, head.rstrip(), *(line for target in found for line in _target_line(target))]


def _target_line(target: Target) -> list[str]:
    most = [f"<= {limit:.2f}" if limit is not None else "-" for limit in (target.avx2, target.avx512)]
    verdict = {True: "reached", False: "not reached", None: ""}[target.reached]
    figure = f"{ratio_text(target.figure):>7} {target.cells:>5}"
    line = f"{target.measure:<41} {figure} {most[0]:>7} {most[1]:>7}  {verdict}"
    return [line.rstrip(), *([f"    {target.note}"] if target.note else [])]


def _peer_lines(found: Sequence[PeerRow], machine: str | None) -> list[str]:
    title = "### The peers beside their published figures"
    if machine is None:
        return [f"{title}: no row for this machine"]
    if not found:
        return [f"{title}: none for what was measured here"]
    held = sum(row.holds for row in found)
    lines = [
        f"{f'{row.kernel} {case_of(row)}':<48} {ticks_text(row.ticks):>10} {ticks_text(row.published):>10} "
        f"{row.ratio:>6.2f}  {'' if row.holds else 'off'}".rstrip()
        for row in found
    ]
    about = f"{held} of {len(found)} within {PEER_HOLDS:.0%}"
    head = f"{'':<48} {'here':>10} {'published':>10} {'ratio':>6}"
    return [f"{title} ({machine}): {about}", head, *lines]


def case_of(row: PeerRow) -> Case:
    """The cell of a published figure."""
    return Case(row.mode, row.size, row.distribution, row.offset)


def main() -> None:
    """Runs the race and prints all of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer placements and rounds")
    print(text(lab.race(quick=parser.parse_args().quick)), end="")


if __name__ == "__main__":
    main()
