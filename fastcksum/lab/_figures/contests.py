"""A kernel against others, cell by cell: won, lost or unresolved; means over cells, each of the others by itself.

The best of several equal peers is ahead of ours by luck alone, the more so the more of them there are. So the best peer
of a cell is chosen on one half of the placements and judged on the other, and the other way round; what decides is the
interval of log(ours / peer) over the placements.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from .intervals import interval, least_values, pseudomedian
from .record import MODES, RANDOM_OFFSET
from .rows import replicates_of
from .verdict import SQUARE, Decision, decide, pair_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from .record import Cell, Structured

# Of each cell by itself: of a hundred cells in which nothing differs, five at most are called won or lost.
CONFIDENCE: Final = 0.95

Outcome: TypeAlias = Literal["won", "lost", "unresolved"]
_OUTCOMES: Final[Mapping[str, Outcome]] = {"faster": "won", "slower": "lost"}


class Case(NamedTuple):
    """What is called in a cell, whoever does it. size is 0 for a mix of lengths, and offset -1."""

    mode: str
    size: int
    distribution: str
    offset: int

    def __str__(self) -> str:
        if self.offset == RANDOM_OFFSET:
            return f"{self.mode} {self.distribution}"
        return f"{self.mode} {size_text(self.size)} +{self.offset}"


class Runner(NamedTuple):
    """Who runs in a race: a kernel in one build. role: "chosen", "copy" (a second one of it), or as Kernel has it."""

    kernel: str
    role: str
    build: str


Minima: TypeAlias = dict[Case, dict[str, dict[int, float]]]
"""Ticks a call of each runner in each cell: the minimum at each placement, by the placement's number."""
Table: TypeAlias = dict[Case, dict[str, float]]
"""Ticks a call of each kernel in each cell; NaN where every sample was disturbed."""


@dataclass(frozen=True, slots=True)
class Field:
    """All that run, by name, and where each of them lies at each placement (empty where there is one placement)."""

    runners: Mapping[str, Runner]
    places: Mapping[str, Sequence[tuple[int, int]]]

    def named(self, *roles: str) -> list[str]:
        """Those with one of these roles."""
        return [name for name, runner in self.runners.items() if runner.role in roles]

    @property
    def chosen(self) -> str:
        """The kernel that is judged."""
        return self.named("chosen")[0]

    @property
    def peers(self) -> list[str]:
        """Other people's techniques: those that past kernels show are public too, and count."""
        return self.named("peer", "past")


class Contest(NamedTuple):
    """One cell of the race.

    ratio: ticks of ours by those of the best peer, below 1 if ours is faster, with its interval (NaN where the
    placements are too few to have one). logs: log(ours / peer) of each pair of placements, by the pair's number. peer:
    the best one over all placements, and how it was built; each half of the placements is judged against the one that
    the other half chose. ticks and peer_ticks: middles over the placements. fastest: which of all our kernels is the
    fastest here. size is 0 for a mix of lengths, and offset -1.
    """

    mode: str
    size: int
    distribution: str
    offset: int
    verdict: Outcome
    ratio: float
    low: float
    high: float
    placements: int
    ticks: float
    peer: str
    build: str
    peer_ticks: float
    fastest: str
    fastest_ticks: float
    logs: Mapping[int, float]

    @property
    def case(self) -> Case:
        """The cell without the figures."""
        return Case(self.mode, self.size, self.distribution, self.offset)


class Mean(NamedTuple):
    """Geometric mean of the ratios of some cells, how many these are, and how many are won, lost and unresolved.

    low and high: its interval over the placements, NaN where they are too few.
    """

    what: str
    ratio: float
    low: float
    high: float
    cells: int
    won: int
    lost: int
    unresolved: int


class Single(NamedTuple):
    """Our kernel against one peer: geometric means of ticks of ours by the peer's (NaN without a cell)."""

    peer: str
    throughput: float
    latency: float
    mixed: float
    all: float
    cells: int


class Copies(NamedTuple):
    """What a second copy of our kernel shows: in how many cells it was called faster or slower, and the mean ratio."""

    cells: int
    resolved: int
    ratio: float


Belongs: TypeAlias = "Callable[[Case | Contest], bool]"


def minima_of(samples: Structured, cells: Sequence[Cell], unit: str) -> Minima:
    """The minimum of each cell at each placement; a placement is missing where each of its samples was disturbed."""
    found: Minima = {}
    for cell, replicates in zip(cells, replicates_of(samples, cells, unit), strict=True):
        case = Case(cell.mode, cell.size, cell.distribution, cell.offset)
        found.setdefault(case, {})[cell.kernel] = {
            each.placement: each.summary.minimum
            for each in replicates
            if not math.isnan(each.summary.minimum)
        }
    return found


def table_of(minima: Minima, field: Field) -> Table:
    """Pseudomedians over the placements by the kernels' own names: of each peer one build is timed in a cell."""
    return {
        case: {
            field.runners[name].kernel: pseudomedian(ticks.values())
            for name, ticks in by_name.items()
            if field.runners[name].role != "copy"
        }
        for case, by_name in minima.items()
    }


def contests(minima: Minima, field: Field, confidence: float = CONFIDENCE) -> list[Contest]:
    """One Contest a cell. None where the chosen kernel or any of the peers timed there has no figure.

    It might have been the best one.
    """
    found = []
    for case, ticks in minima.items():
        peers = [name for name in field.peers if name in ticks]
        if peers and all(ticks.get(name) for name in (field.chosen, *peers)):
            found.append(_contest(case, ticks, peers, field, confidence))
    return found


def _contest(
    case: Case,
    ticks: Mapping[str, Mapping[int, float]],
    peers: Sequence[str],
    field: Field,
    confidence: float,
) -> Contest:
    against = {name: _log_ratios(ticks, field, name) for name in peers}
    logs = held_out(against)
    held = list(logs.values())
    floors = (
        [-each for each in _log_ratios(ticks, field, *field.named("copy")).values()]
        if field.named("copy")
        else []
    )
    decision = decide(held, floors or [0.0] * len(held), confidence, asked=len(ticks[field.chosen]))
    middle, low, high = decision.interval or (pseudomedian(held), math.nan, math.nan)
    best = best_of(against)
    middles = {name: pseudomedian(ticks[name].values()) for name in ticks if ticks[name]}
    ours = [name for name in field.named("chosen", "production") if name in middles]
    fastest = min(ours, key=middles.__getitem__)
    return Contest(
        *case,
        verdict=_OUTCOMES.get(decision.verdict, "unresolved"),
        ratio=math.exp(middle),
        low=math.exp(low),
        high=math.exp(high),
        placements=len(held),
        ticks=middles[field.chosen],
        peer=field.runners[best].kernel,
        build=field.runners[best].build,
        peer_ticks=middles[best],
        fastest=field.runners[fastest].kernel,
        fastest_ticks=middles[fastest],
        logs=logs,
    )


def _log_ratios(ticks: Mapping[str, Mapping[int, float]], field: Field, other: str) -> dict[int, float]:
    """log(ours / other) of each pair of placements that has both, by the pair's number."""
    ours, theirs = ticks[field.chosen], ticks[other]
    numbers = sorted({number for by_placement in ticks.values() for number in by_placement})
    pairs = pair_up(numbers, field.places.get(field.chosen, ()), field.places.get(other, ()))
    return {n: math.log(ours[i] / theirs[j]) for n, (i, j) in enumerate(pairs) if i in ours and j in theirs}


def half_of(pair: int) -> int:
    """Which half a pair is in: pairs are in the order of their residues in a line, and each half has each of these."""
    row, column = divmod(pair % SQUARE, 4)
    return (row + column) % 2


def best_of(against: Mapping[str, Mapping[int, float]], half: int | None = None) -> str:
    """The peer that is ahead of ours by most, over all pairs or over those of one half that have a figure."""

    def lead(name: str) -> float:
        ratios = against[name]
        within = [ratio for pair, ratio in ratios.items() if half is None or half_of(pair) == half]
        return pseudomedian(within or ratios.values()) if ratios else -math.inf

    return max(against, key=lead)


def held_out(against: Mapping[str, Mapping[int, float]]) -> dict[int, float]:
    """log(ours / best peer) of each pair, the best being the one that the other half of the pairs chose."""
    rivals = [against[best_of(against, 1)], against[best_of(against, 0)]]
    pairs = sorted({pair for ratios in against.values() for pair in ratios})
    return {pair: rivals[half_of(pair)][pair] for pair in pairs if pair in rivals[half_of(pair)]}


def copies(minima: Minima, field: Field, confidence: float = CONFIDENCE) -> Copies | None:
    """How often a second copy of our kernel is called faster or slower than it. None if there is none in the race."""
    names = field.named("copy")
    if not names:
        return None
    decisions: list[Decision] = []
    for ticks in minima.values():
        if ticks.get(field.chosen) and ticks.get(names[0]):
            ratios = [-each for each in _log_ratios(ticks, field, names[0]).values()]
            decisions.append(decide(ratios, [0.0] * len(ratios), confidence))
    known = [decision for decision in decisions if decision.interval is not None]
    return Copies(
        len(decisions),
        sum(decision.verdict in _OUTCOMES for decision in decisions),
        geometric_mean(math.exp(each.interval.middle) for each in known if each.interval is not None),
    )


def geometric_mean(ratios: Iterable[float]) -> float:
    """The number whose logarithm is the mean of theirs; NaN of none."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def in_mode(mode: str) -> Belongs:
    """Whether a cell is of the mode; "mixed" are those with independent and with dependent calls."""
    return lambda cell: cell.mode in MODES[mode]


def anywhere(cell: Case | Contest) -> bool:  # noqa: ARG001 - called as the others are
    """Every cell."""
    return True


def means(found: Sequence[Contest]) -> list[Mean]:
    """The mean of each mode, of each kind of mixed calls, and of all cells."""
    groups: dict[str, Belongs] = {
        "throughput": in_mode("throughput"),
        "latency": in_mode("latency"),
        "mixed, independent calls": lambda cell: cell.mode == "mixed",
        "mixed, dependent calls": lambda cell: cell.mode == "mixed dependent",
        "mixed, both": in_mode("mixed"),
        "all cells": anywhere,
    }
    return [_mean(what, [each for each in found if belongs(each)]) for what, belongs in groups.items()]


def _mean(what: str, group: Sequence[Contest]) -> Mean:
    counts = [sum(each.verdict == verdict for each in group) for verdict in ("won", "lost", "unresolved")]
    low, high = _interval_of_mean([each.logs for each in group])
    return Mean(what, geometric_mean(each.ratio for each in group), low, high, len(group), *counts)


def _interval_of_mean(logs: Sequence[Mapping[int, float]]) -> tuple[float, float]:
    """Where the geometric mean lies: at each placement the cells' mean distance from their own middles is one value."""
    middles = [pseudomedian(each.values()) for each in logs]
    pairs = sorted({pair for each in logs for pair in each})
    if len(pairs) < least_values(CONFIDENCE):
        return math.nan, math.nan
    middle = statistics.fmean(middles)
    values = [
        middle
        + statistics.fmean(each[pair] - own for each, own in zip(logs, middles, strict=True) if pair in each)
        for pair in pairs
    ]
    found = interval(values, CONFIDENCE)
    return math.exp(found.low), math.exp(found.high)


def lost(found: Sequence[Contest]) -> list[Contest]:
    """The cells in which a peer is faster, the worst one first."""
    return sorted((each for each in found if each.verdict == "lost"), key=lambda each: -each.ratio)


def ratios_to(table: Table, chosen: str, others: Sequence[str]) -> dict[Case, float]:
    """Ticks of the chosen kernel by the best of the others', where all that were timed have a figure."""
    found = {}
    for case, ticks in table.items():
        there = [ticks[name] for name in others if name in ticks]
        if there and not any(map(math.isnan, [ticks.get(chosen, math.nan), *there])):
            found[case] = ticks[chosen] / min(there)
    return found


def singles(table: Table, chosen: str, peers: Iterable[str]) -> list[Single]:
    """The chosen kernel against each peer by itself, the hardest one first."""
    found = []
    for peer in dict.fromkeys(peers):
        ratios = ratios_to(table, chosen, [peer])
        of_mode = {
            mode: geometric_mean(ratio for case, ratio in ratios.items() if in_mode(mode)(case))
            for mode in MODES
        }
        found.append(Single(peer, **of_mode, all=geometric_mean(ratios.values()), cells=len(ratios)))
    return sorted((single for single in found if single.cells), key=lambda single: -single.all)


def size_text(size: int) -> str:
    """Bytes as people say them: 1500, 128 KiB, 64 MiB."""
    for scale, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= 64 << 10 and size % scale == 0:
            return f"{size // scale} {name}"
    return str(size)
