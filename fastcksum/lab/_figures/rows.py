"""Samples become rows: one for each cell, over its placements and processes."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from . import stats
from .core import alone, core_clock, ticks_per_call
from .intervals import pseudomedian
from .record import OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from .record import Cell, Structured


class Row(NamedTuple):
    """One cell of a sweep in figures.

    Times are in `unit`s a call at the median core clock of the run, where that is known (not of l3, dram and cold,
    which memory bounds). At one placement in one process ticks_per_call is the minimum over the rounds that had the
    core to themselves, q1 and q3 are quartiles of those, error is (median - minimum) / minimum; `samples` are the ones
    used, `dropped` those with a flag, and the rest were set aside since somebody shared the core. Over several
    processes each is the median at a placement, then the pseudomedian of those of the placements; placement_low and
    placement_high are the least and the largest minimum (NaN with a single one). badge: "clean" where ticks_per_call
    repeats in halves of the rounds. Per-byte figures are of the gross figure. net_ticks_per_call is None where the
    overhead was not measured and NaN where it is larger than the figure (invalid). est_core_cycles_per_byte is NaN
    where the core's clock is unknown. size is 0 for a mix of lengths; its per-byte figures are of its mean length.
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

    They are of the samples without a flag whose visit had the core to itself; of all without a flag where those are too
    few, which `shared` says. visits: the least ticks a call of each visit, in the order of the rounds. core_cycles: the
    median over the visits whose clock is known. dropped: samples with a flag.
    """

    process: int
    placement: int
    summary: stats.Summary
    dropped: int
    visits: npt.NDArray[np.float64]
    core_cycles: float
    shared: bool


_KEYS: Final = ("cell", "process", "placement")


def replicates_of(samples: Structured, cells: Sequence[Cell], unit: str) -> list[list[Replicate]]:
    """The replicates of each cell, from samples whose `cell` is an index into the cells."""
    order = np.lexsort([samples[name] for name in ("round", "placement", "process", "cell")])
    clock = core_clock(samples, unit)
    columns = {name: samples[name] for name in (*_KEYS, "round")} | {
        "good": samples["flags"] == 0,
        "alone": alone(samples, unit),
        "per_call": ticks_per_call(samples, cells, clock),
        "core_cycles": samples["ticks"] / samples["calls"] * clock,
    }
    columns = {name: column[order] for name, column in columns.items()}
    found: list[list[Replicate]] = [[] for _ in cells]
    for start, end in _runs([columns[name] for name in _KEYS]):
        of_replicate = {name: column[start:end] for name, column in columns.items()}
        found[int(of_replicate["cell"][0])].append(_replicate(of_replicate))
    return found


def _runs(keys: Sequence[npt.NDArray[Any]]) -> list[tuple[int, int]]:
    """Where each run of equal keys starts and ends, in columns that are sorted by them."""
    if len(keys[0]) == 0:
        return []
    new = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    edges = [0, *(np.flatnonzero(new) + 1).tolist(), len(keys[0])]
    return list(itertools.pairwise(edges))


def _replicate(of_replicate: dict[str, npt.NDArray[Any]]) -> Replicate:
    good, alone = of_replicate["good"], of_replicate["good"] & of_replicate["alone"]
    rounds = of_replicate["round"]
    all_rounds, rounds_alone = (len(np.unique(rounds[mask])) for mask in (good, alone))
    shared = rounds_alone < max(1.0, stats.FREE_SHARE * all_rounds) and all_rounds > 0
    used = good if shared else alone
    kept = {name: column[used] for name, column in of_replicate.items()}
    starts = [start for start, _ in _runs([kept["round"]])]
    visits, cycles = (
        np.minimum.reduceat(kept[name], starts) if starts else np.zeros(0)
        for name in ("per_call", "core_cycles")
    )
    return Replicate(
        process=int(of_replicate["process"][0]),
        placement=int(of_replicate["placement"][0]),
        summary=stats.summarise(of_replicate["per_call"], ~used),
        dropped=int(np.sum(~good)),
        visits=visits,
        core_cycles=median(cycles.tolist()),
        shared=shared,
    )


def placement_minima(samples: Structured, cells: Sequence[Cell], unit: str) -> list[dict[int, float]]:
    """Of each cell, placement -> the median over the processes of the minima there; NaN where all are flagged."""
    order = np.lexsort([samples[name] for name in ("process", "placement", "cell")])
    keys = [samples[name][order] for name in ("cell", "placement", "process")]
    per_call = ticks_per_call(samples, cells, core_clock(samples, unit))
    per_call = np.where(samples["flags"] == 0, per_call, np.inf)[order]
    minima: list[dict[int, list[float]]] = [{} for _ in cells]
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
    replicates = replicates_of(samples, cells, unit)
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
        dropped=sum(each.dropped for each in replicates),
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
    return stats.badge(stats.disagreement(halves), [each.shared for each in replicates])
