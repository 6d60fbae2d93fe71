"""Samples become rows: one for each cell, over its placements and processes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fastcksum import _core

from . import stats
from .record import OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .record import Cell, Structured

# The additions a core cycle that any x86-64 core since 2013 manages; nothing is presumed of others.
LEAST_WIDE: Final = {"tsc_ticks": 3.0}
# Core cycles of a 64-bit multiplication on every x86-64 core since 2008; elsewhere it isn't one number.
MUL_LATENCY: Final = {"tsc_ticks": 3}


class Row(NamedTuple):
    """One cell of a sweep in figures.

    Times are in `unit`s a call. With one placement in one process ticks_per_call is the minimum over the rounds, q1 and
    q3 are quartiles, error is (median - minimum) / minimum. With more of them each is the median over those units, and
    placement_low and placement_high are the least and the largest minimum (NaN with a single one). Per-byte figures
    are of the gross figure. net_ticks_per_call is None where the overhead was not measured and NaN where it is larger
    than the figure (invalid). est_core_cycles_per_byte is NaN where the core's clock is unknown. size is 0 for a mix of
    lengths; its per-byte figures are of its mean length.
    """

    kernel: str
    size: int
    distribution: str
    offset: int
    mode: str
    cache: str
    form: str
    calls: int
    samples: int
    dropped: int
    unit: str
    ticks_per_call: float
    net_ticks_per_call: float | None
    ticks_per_byte: float
    est_core_cycles_per_byte: float
    q1: float
    q3: float
    error: float
    badge: str
    placement_low: float
    placement_high: float


@dataclass(frozen=True, slots=True)
class Unit:
    """The figures of one cell in one process at one placement."""

    process: int
    placement: int
    summary: stats.Summary
    core_cycles: float
    badge: stats.Badge


def units_of(samples: Structured, n_cells: int, unit: str) -> list[list[Unit]]:
    """The units of each cell, from samples whose `cell` is an index into the cells."""
    contended = _contended_by_round(samples, unit)
    found: list[list[Unit]] = []
    for index in range(n_cells):
        of_cell = samples[samples["cell"] == index]
        places = np.unique(of_cell[["process", "placement"]])
        found.append([_unit(of_cell, process, placement, unit, contended) for process, placement in places])
    return found


def _unit(
    of_cell: Structured, process: int, placement: int, unit: str, contended: dict[tuple[int, int], bool]
) -> Unit:
    samples = of_cell[(of_cell["process"] == process) & (of_cell["placement"] == placement)]
    good = samples[samples["flags"] == 0]
    summary = stats.summarise(samples["ticks"] / samples["calls"], samples["flags"])
    known = stats.core_cycle_samples(
        good["ticks"] / good["calls"],
        good["add_ticks"],
        good["mul_ticks"],
        chain=_core.CHAIN,
        mul_latency=MUL_LATENCY.get(unit),
    )
    cycles = stats.summarise(known, np.zeros(len(known)))
    shared = np.array([contended[int(process), number] for number in good["round"].tolist()], dtype=np.bool_)
    error = summary.error if np.isnan(cycles.error) else min(summary.error, cycles.error)
    return Unit(int(process), int(placement), summary, cycles.minimum, stats.badge(error, shared))


def _contended_by_round(samples: Structured, unit: str) -> dict[tuple[int, int], bool]:
    """Whether the core was shared, for each (process, round)."""
    rounds, first = np.unique(samples[["process", "round"]], return_index=True)
    rates = stats.sentinel(samples["add_ticks"][first], samples["wide_ticks"][first])
    shared = stats.contended_rounds(rates, least=LEAST_WIDE.get(unit, 0.0))
    return {(int(process), int(number)): bool(s) for (process, number), s in zip(rounds, shared, strict=True)}


def rows_of(
    samples: Structured, cells: Sequence[Cell], mean_lengths: Sequence[float], unit: str
) -> list[Row]:
    """One Row for each of the cells, from samples whose `cell` is an index into them."""
    units = units_of(samples, len(cells), unit)
    headlines = [_median(each.summary.minimum for each in of_cell) for of_cell in units]
    overheads = {
        dataclasses.replace(cell, kernel=""): headline
        for cell, headline in zip(cells, headlines, strict=True)
        if cell.kernel == OVERHEAD
    }
    calls = {int(cell): int(n) for cell, n in zip(samples["cell"], samples["calls"], strict=True)}
    return [
        _row(
            cell,
            of_cell,
            unit,
            calls=calls.get(index, 0),
            mean_length=mean_lengths[index],
            overhead=overheads.get(dataclasses.replace(cell, kernel="")),
        )
        for index, (cell, of_cell) in enumerate(zip(cells, units, strict=True))
    ]


def _row(
    cell: Cell, units: Sequence[Unit], unit: str, *, calls: int, mean_length: float, overhead: float | None
) -> Row:
    headline = _median(each.summary.minimum for each in units)
    cycles = _median(each.core_cycles for each in units)
    minima = [each.summary.minimum for each in units if not np.isnan(each.summary.minimum)]
    several = len(units) > 1 and len(minima) > 0
    nan = float("nan")
    return Row(
        **dataclasses.asdict(cell),
        calls=calls,
        samples=sum(each.summary.samples for each in units),
        dropped=sum(each.summary.dropped for each in units),
        unit=unit,
        ticks_per_call=headline,
        net_ticks_per_call=stats.net(headline, overhead),
        ticks_per_byte=headline / mean_length if mean_length else nan,
        est_core_cycles_per_byte=cycles / mean_length if mean_length else nan,
        q1=_median(each.summary.q1 for each in units),
        q3=_median(each.summary.q3 for each in units),
        error=_median(each.summary.error for each in units),
        badge=_usual_badge(units),
        placement_low=min(minima) if several else nan,
        placement_high=max(minima) if several else nan,
    )


def _median(values: Iterable[float]) -> float:
    """The median of the values that are numbers, NaN if there are none."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.median(known)) if known else float("nan")


def _usual_badge(units: Sequence[Unit]) -> stats.Badge:
    """The badge in the middle of the units', from clean to contended."""
    ranks = sorted(stats.BADGES.index(each.badge) for each in units)
    return stats.BADGES[ranks[len(ranks) // 2]] if ranks else "noisy"
