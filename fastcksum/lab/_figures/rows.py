"""Samples become rows: one for each cell, over its placements and processes."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from fastcksum import _core

from . import stats
from .intervals import pseudomedian
from .record import OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from .record import Cell, Structured

# The additions a core cycle that any x86-64 core since 2013 manages; nothing is presumed of others.
LEAST_WIDE: Final = {"tsc_ticks": 3.0}
# Core cycles of a 64-bit multiplication on every x86-64 core since 2008; elsewhere it isn't one number.
MUL_LATENCY: Final = {"tsc_ticks": 3}


class Row(NamedTuple):
    """One cell of a sweep in figures.

    Times are in `unit`s a call. At one placement in one process ticks_per_call is the minimum over the rounds, q1 and
    q3 are quartiles, error is (median - minimum) / minimum. Over several processes each is the median at a placement,
    then the pseudomedian of those of the placements; placement_low and placement_high are the least and the largest
    minimum (NaN with a single one). badge: "clean" where ticks_per_call repeats in halves of the rounds. Per-byte
    figures are of the gross figure. net_ticks_per_call is None where the overhead was not measured and NaN where it is
    larger than the figure (invalid). est_core_cycles_per_byte is NaN where the core's clock is unknown. size is 0 for a
    mix of lengths; its per-byte figures are of its mean length.
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
class Replicate:
    """The figures of one cell in one process at one placement.

    visits: the least ticks a call of each visit that has a sample without a flag, in the order of the rounds.
    core_cycles: the median over the visits whose clock is known. contended: of each sample without a flag, whether its
    round shared the core.
    """

    process: int
    placement: int
    summary: stats.Summary
    visits: npt.NDArray[np.float64]
    core_cycles: float
    contended: npt.NDArray[np.bool_]


def replicates_of(samples: Structured, n_cells: int, unit: str) -> list[list[Replicate]]:
    """The replicates of each cell, from samples whose `cell` is an index into the cells."""
    order = np.lexsort([samples[name] for name in ("round", "placement", "process", "cell")])
    columns = {name: samples[name][order] for name in _USED}
    columns["per_call"] = columns["ticks"] / columns["calls"]
    columns["contended"] = _contended(samples, unit)[order]
    found: list[list[Replicate]] = [[] for _ in range(n_cells)]
    for start, end in _runs([columns[name] for name in ("cell", "process", "placement")]):
        of_replicate = {name: column[start:end] for name, column in columns.items()}
        found[int(of_replicate["cell"][0])].append(_replicate(of_replicate, unit))
    return found


_USED: Final = ("ticks", "calls", "flags", "round", "placement", "process", "cell", "add_ticks", "mul_ticks")


def _runs(keys: Sequence[npt.NDArray[Any]]) -> list[tuple[int, int]]:
    """Where each run of equal keys starts and ends, in columns that are sorted by them."""
    if len(keys[0]) == 0:
        return []
    new = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    edges = [0, *(np.flatnonzero(new) + 1).tolist(), len(keys[0])]
    return list(itertools.pairwise(edges))


def _replicate(of_replicate: dict[str, npt.NDArray[Any]], unit: str) -> Replicate:
    good = of_replicate["flags"] == 0
    kept = {name: column[good] for name, column in of_replicate.items()}
    starts = [start for start, _ in _runs([kept["round"]])]
    visits = np.minimum.reduceat(kept["per_call"], starts) if starts else np.zeros(0)
    known = stats.core_cycle_samples(
        visits,
        kept["add_ticks"][starts],
        kept["mul_ticks"][starts],
        chain=_core.CHAIN,
        mul_latency=MUL_LATENCY.get(unit),
    )
    return Replicate(
        process=int(of_replicate["process"][0]),
        placement=int(of_replicate["placement"][0]),
        summary=stats.summarise(of_replicate["per_call"], of_replicate["flags"]),
        visits=visits,
        core_cycles=median(known.tolist()),
        contended=kept["contended"],
    )


def _contended(samples: Structured, unit: str) -> npt.NDArray[np.bool_]:
    """Of each sample, whether its round shared the core."""
    first, number = first_of_rounds(samples)
    rates = stats.sentinel(samples["add_ticks"][first], samples["wide_ticks"][first])
    return stats.contended_rounds(rates, least=LEAST_WIDE.get(unit, 0.0))[number]


def first_of_rounds(samples: Structured) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """(the first sample of each round of each placement and process, the number of its round for each sample)."""
    keys = [samples[name] for name in ("round", "placement", "process")]
    order = np.lexsort(keys)
    runs = _runs([key[order] for key in keys])
    number = np.empty(len(samples), np.intp)
    number[order] = np.repeat(np.arange(len(runs)), [end - start for start, end in runs])
    return order[[start for start, _ in runs]], number


def placement_minima(samples: Structured, n_cells: int) -> list[dict[int, float]]:
    """Of each cell, placement -> the median over the processes of the minima there; NaN where all are flagged."""
    order = np.lexsort([samples[name] for name in ("process", "placement", "cell")])
    keys = [samples[name][order] for name in ("cell", "placement", "process")]
    per_call = np.where(samples["flags"] == 0, samples["ticks"] / samples["calls"], np.inf)[order]
    minima: list[dict[int, list[float]]] = [{} for _ in range(n_cells)]
    for start, end in _runs(keys):
        least = float(per_call[start:end].min())
        at = minima[int(keys[0][start])].setdefault(int(keys[1][start]), [])
        if np.isfinite(least):
            at.append(least)
    return [{placement: median(each) for placement, each in of_cell.items()} for of_cell in minima]


def rows_of(
    samples: Structured, cells: Sequence[Cell], mean_lengths: Sequence[float], unit: str
) -> list[Row]:
    """One Row for each of the cells, from samples whose `cell` is an index into them."""
    replicates = replicates_of(samples, len(cells), unit)
    headlines = [
        _over_placements(of_cell, [each.summary.minimum for each in of_cell]) for of_cell in replicates
    ]
    overheads = {
        dataclasses.replace(cell, kernel=""): headline
        for cell, headline in zip(cells, headlines, strict=True)
        if cell.kernel == OVERHEAD
    }
    calls = dict(zip(samples["cell"].tolist(), samples["calls"].tolist(), strict=True))
    return [
        _row(
            cell,
            of_cell,
            unit,
            calls=calls.get(index, 0),
            mean_length=mean_lengths[index],
            overhead=overheads.get(dataclasses.replace(cell, kernel="")),
        )
        for index, (cell, of_cell) in enumerate(zip(cells, replicates, strict=True))
    ]


def _row(
    cell: Cell,
    replicates: Sequence[Replicate],
    unit: str,
    *,
    calls: int,
    mean_length: float,
    overhead: float | None,
) -> Row:
    def typical(figures: Iterable[float]) -> float:
        return _over_placements(replicates, list(figures))

    headline = typical(each.summary.minimum for each in replicates)
    cycles = typical(each.core_cycles for each in replicates)
    minima = [each.summary.minimum for each in replicates if not np.isnan(each.summary.minimum)]
    several = len(replicates) > 1 and len(minima) > 0
    nan = float("nan")
    return Row(
        **dataclasses.asdict(cell),
        calls=calls,
        samples=sum(each.summary.samples for each in replicates),
        dropped=sum(each.summary.dropped for each in replicates),
        unit=unit,
        ticks_per_call=headline,
        net_ticks_per_call=stats.net(headline, overhead),
        ticks_per_byte=headline / mean_length if mean_length else nan,
        est_core_cycles_per_byte=cycles / mean_length if mean_length else nan,
        q1=typical(each.summary.q1 for each in replicates),
        q3=typical(each.summary.q3 for each in replicates),
        error=typical(each.summary.error for each in replicates),
        badge=_badge(replicates),
        placement_low=min(minima) if several else nan,
        placement_high=max(minima) if several else nan,
    )


def _over_placements(replicates: Sequence[Replicate], figures: Sequence[float]) -> float:
    """The pseudomedian over the placements of the median over the processes: one figure a replicate."""
    at: dict[int, list[float]] = {}
    for replicate, figure in zip(replicates, figures, strict=True):
        at.setdefault(replicate.placement, []).append(figure)
    return pseudomedian(median(each) for each in at.values())


def median(values: Iterable[float]) -> float:
    """The median of the values that are numbers, NaN if there are none."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.median(known)) if known else float("nan")


def _badge(replicates: Sequence[Replicate]) -> stats.Badge:
    """Whether the headline repeats: what each half of the visits would have made it."""
    of_replicates = [stats.minima_of_halves(each.visits) for each in replicates]
    halves = [
        [
            _over_placements(replicates, [of_replicate[split][half] for of_replicate in of_replicates])
            for half in (0, 1)
        ]
        for split in range(len(stats.SPLITS))
    ]
    contended = (
        np.concatenate([each.contended for each in replicates]) if replicates else np.zeros(0, np.bool_)
    )
    return stats.badge(stats.disagreement(halves), contended)
