"""A comparison of two kernels: from the samples of a, b and a second copy of a to verdicts and their table."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fastcksum._extras import extra
from fastcksum._html import table as html_table
from fastcksum.lab._machine.facts import labelled_lines, tick_name

from . import report
from .intervals import pseudomedian
from .record import RANDOM_OFFSET
from .rows import placement_minima
from .verdict import VERDICTS, WITHIN, Decision, Verdict, decide, log_ratios, look_confidence, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from .record import Cell
    from .result import Sweep


class Ratio(NamedTuple):
    """One cell of a comparison.

    ticks_a, ticks_b: ticks a call, pseudomedians over the placements of the minima. ratio: b by a, the middle of the
    ratios of all pairs of placements; low and high its interval, sure in all cells together (NaN where too few
    placements are left). noise_floor: how far two copies of a lie apart, as a factor >= 1. placements: how many pairs
    count. verdict: "faster", "slower", "same" (the interval lies within what counts as none), "unresolved"; text says
    it in words.
    """

    size: int
    distribution: str
    offset: int
    mode: str
    ticks_a: float
    ticks_b: float
    ratio: float
    low: float
    high: float
    noise_floor: float
    placements: int
    verdict: Verdict
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What compare() found; sweep holds every sample of a, b and the second copy of a.

    looks: after how many placements the cells were judged; within: what share of a difference counts as none.
    """

    a: str
    b: str
    confidence: float
    within: float
    looks: tuple[int, ...]
    ratios: tuple[Ratio, ...]
    sweep: Sweep

    def table(self) -> list[Ratio]:
        """One Ratio a cell."""
        return list(self.ratios)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame. ModuleNotFoundError with the pip command without pandas."""
        pandas = extra("pandas", "Comparison.frame()", "lab", without="Comparison.table() works without")
        frame: pd.DataFrame = pandas.DataFrame(self.ratios, columns=Ratio._fields)
        return frame

    def text(self) -> str:
        """The verdicts as a table of at most 100 columns, with host, plan and both kernels above it."""
        return "\n".join([*_head(self), "", *_table(self), *_notes(self)]) + "\n"

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{sum(ratio.verdict == name for ratio in self.ratios)} {name}" for name in VERDICTS
        )
        return f"<Comparison: {self.b} by {self.a}: {counts}; .text() and .frame() show it>"

    def _repr_html_(self) -> str:
        head = ["size", "offset", "a", "b", "b / a", "low", "high", "verdict"]
        rows = [
            [
                ratio.size or ratio.distribution,
                ratio.offset if ratio.size else ratio.mode,
                *(ratio.ticks_a, ratio.ticks_b, ratio.ratio, ratio.low, ratio.high, ratio.text),
            ]
            for ratio in self.ratios
        ]
        unit = tick_name(self.sweep.host.unit)
        return html_table(f"a: {self.a}, b: {self.b}; {unit} a call; {self.sweep.host.cpu}", head, rows)

    def __str__(self) -> str:
        return self.text()


def judge(
    sweep: Sweep,
    a: str,
    b: str,
    copy: str,
    *,
    confidence: float = 0.95,
    within: float = WITHIN,
    looks: Sequence[int] = (),
) -> Comparison:
    """The Comparison of kernels in a sweep; copy is the second one of a. Reads no clock.

    looks: the numbers of placements at which cells are judged; none: the placements of the sweep are the only look.
    """
    looks = tuple(looks) or (sweep.plan.placements,)
    minima = placement_minima(sweep.samples, sweep.plan.cells, sweep.host.unit)
    by_cell: dict[Cell, dict[str, dict[int, float]]] = {}
    for cell, found in zip(sweep.plan.cells, minima, strict=True):
        by_cell.setdefault(dataclasses.replace(cell, kernel=""), {})[cell.kernel] = found
    shared = {cell: found for cell, found in by_cell.items() if {a, b, copy} <= found.keys()}
    ratios = [
        _ratio(
            cell,
            [found[name] for name in (a, b, copy)],
            _decide(
                found,
                (a, b, copy),
                sweep.plan.places,
                confidence=confidence,
                cells=len(shared),
                within=within,
                looks=looks,
            ),
            within,
        )
        for cell, found in shared.items()
    ]
    return Comparison(a, b, confidence, within, looks, tuple(ratios), sweep)


def _decide(
    found: Mapping[str, Mapping[int, float]],
    names: tuple[str, str, str],
    places: Mapping[str, Sequence[tuple[int, int]]],
    *,
    confidence: float,
    cells: int,
    within: float,
    looks: Sequence[int],
) -> Decision:
    a, b, copy = names
    asked = max(len(found[name]) for name in names)
    look = next((number for number, n in enumerate(looks) if asked <= n), len(looks) - 1)
    known = {
        name: {number: ticks for number, ticks in found[name].items() if not math.isnan(ticks)}
        for name in names
    }
    ratios, floors = (
        log_ratios(known[a], known[other], places.get(a, ()), places.get(other, ())) for other in (b, copy)
    )
    each = look_confidence(confidence, cells, look, len(looks))
    return decide(ratios, floors, each, within=within, asked=asked)


def _ratio(cell: Cell, ticks: Sequence[Mapping[int, float]], found: Decision, within: float) -> Ratio:
    of_a, of_b = (pseudomedian(minima.values()) for minima in ticks[:2])
    middle, low, high = found.interval or (math.nan,) * 3
    return Ratio(
        size=cell.size,
        distribution=cell.distribution,
        offset=cell.offset,
        mode=cell.mode,
        ticks_a=of_a,
        ticks_b=of_b,
        ratio=math.exp(middle),
        low=math.exp(low),
        high=math.exp(high),
        noise_floor=math.exp(found.floor),
        placements=found.placements,
        verdict=found.verdict,
        text=words(found.verdict, math.exp(middle), within, found.reason),
    )


def undecided(comparison: Comparison) -> set[Cell]:
    """The cells, without a kernel, on which more placements may decide."""
    found = {
        (ratio.size, ratio.distribution, ratio.offset, ratio.mode)
        for ratio in comparison.ratios
        if ratio.verdict == "unresolved"
    }
    cells = (dataclasses.replace(cell, kernel="") for cell in comparison.sweep.plan.cells)
    return {cell for cell in cells if (cell.size, cell.distribution, cell.offset, cell.mode) in found}


# Text


def _head(found: Comparison) -> list[str]:
    plan, cells = found.sweep.plan, len(found.ratios)
    stages = ", ".join(map(str, found.looks))
    together = f" and {len(found.looks)} looks" if len(found.looks) > 1 else ""
    compared = (
        f"b / a: {found.b} by {found.a} in ticks a call, below 1 b is faster. Intervals by signed ranks over "
        f"placements, {found.confidence:.0%} sure in all {cells} cells{together} together; judged after {stages} "
        f"placements, until decided. Floor: what two copies of a, each at places of its own, differ by. Same: the "
        f"interval lies within {found.within * 100:g} %"
    )
    facts = {each["name"]: each for each in plan.kernels}
    return [
        *found.sweep.host.to_lines(report.WIDTH),
        *report.measured_lines(found.sweep.plan),
        *report.built_lines("a", facts[found.a], found.sweep.host),
        *report.built_lines("b", facts[found.b], found.sweep.host),
        *labelled_lines("Compared", compared, report.WIDTH),
    ]


def _table(found: Comparison) -> list[str]:
    unit = tick_name(found.sweep.host.unit)
    head = f"{'size':>10} {'offset':>6} {'a':>9} {'b':>9} {'b / a':>7} {'interval':>16} "
    head += f"{'floor':>6} {'placed':>6}  verdict"
    return [f"{unit + ' a call':>37}", head, *(_line(ratio) for ratio in found.ratios)]


def _line(ratio: Ratio) -> str:
    mixed = ratio.offset == RANDOM_OFFSET
    where = ratio.distribution if mixed else str(ratio.size)
    offset = ("dep." if "dependent" in ratio.mode else "ind.") if mixed else f"+{ratio.offset}"
    known = not math.isnan(ratio.ratio)
    interval = f"{ratio.low:.3f} .. {ratio.high:.3f}" if known else "-"
    middle, floor = (f"{ratio.ratio:.3f}", f"{ratio.noise_floor:.3f}") if known else ("-", "-")
    verdict = ratio.text.split(":")[0]
    return (
        f"{where:>10} {offset:>6} {ratio.ticks_a:>9.1f} {ratio.ticks_b:>9.1f} {middle:>7} {interval:>16} {floor:>6} "
        f"{ratio.placements:>6}  {verdict}"
    )


def _notes(found: Comparison) -> list[str]:
    reasons = [
        f"{ratio.distribution if ratio.offset == RANDOM_OFFSET else ratio.size} {ratio.text}"
        if ratio.offset == RANDOM_OFFSET
        else f"{ratio.size} +{ratio.offset} {ratio.text}"
        for ratio in found.ratios
        if ":" in ratio.text
    ]
    lines = [line for reason in reasons for line in report.wrapped(reason)]
    sweep = found.sweep
    dropped = int((sweep.samples["flags"] != 0).sum())
    lines += report.notes(dropped, len(sweep.samples), sweep.host, sweep.plan)
    return ["", *lines] if lines else []
