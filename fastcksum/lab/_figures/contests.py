"""A kernel against others, cell by cell: the best of them in each, means over cells, each of them by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .record import MODES, RANDOM_OFFSET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .rows import Row


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


class Contest(NamedTuple):
    """One cell of the race.

    ticks a call of our kernel and of the best peer in this cell; ratio is the one by the other, below 1 if
    ours is faster. fastest: which of all our kernels is the fastest here. size is 0 for a mix of lengths, and
    offset -1.
    """

    mode: str
    size: int
    distribution: str
    offset: int
    ticks: float
    peer: str
    peer_ticks: float
    ratio: float
    fastest: str
    fastest_ticks: float

    @property
    def case(self) -> Case:
        """The cell without the figures."""
        return Case(self.mode, self.size, self.distribution, self.offset)

    @property
    def lost(self) -> bool:
        """Whether the peer is faster, by as much as two decimals can show."""
        return round(self.ratio, 2) > 1


class Mean(NamedTuple):
    """Geometric mean of the ratios of some cells, how many these are, and how many of them are lost."""

    what: str
    ratio: float
    cells: int
    lost: int


class Single(NamedTuple):
    """Our kernel against one peer: geometric means of ticks of ours by the peer's (NaN without a cell)."""

    peer: str
    throughput: float
    latency: float
    mixed: float
    all: float
    cells: int


Belongs: TypeAlias = "Callable[[Case | Contest], bool]"
Table: TypeAlias = dict[Case, dict[str, float]]


def by_case(rows: Iterable[Row]) -> Table:
    """Ticks a call of each kernel in each cell; NaN where every sample was disturbed."""
    table: Table = {}
    for row in rows:
        case = Case(row.mode, row.size, row.distribution, row.offset)
        table.setdefault(case, {})[row.kernel] = row.ticks_per_call
    return table


def contests(table: Table, chosen: str, ours: Sequence[str], peers: Sequence[str]) -> list[Contest]:
    """One Contest a cell. None where the chosen kernel or any of the peers timed there has no figure.

    It might have been the best one.
    """
    found = []
    for case, ratio in ratios_to(table, chosen, peers).items():
        ticks = table[case]
        peer = min((name for name in peers if name in ticks), key=ticks.__getitem__)
        timed = (name for name in [chosen, *ours] if name in ticks)
        fastest = min(timed, key=ticks.__getitem__)  # the chosen one has a figure, and NaN is never less
        found.append(Contest(*case, ticks[chosen], peer, ticks[peer], ratio, fastest, ticks[fastest]))
    return found


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
    return [
        _mean(what, [contest for contest in found if belongs(contest)]) for what, belongs in groups.items()
    ]


def _mean(what: str, group: Sequence[Contest]) -> Mean:
    ratio = geometric_mean(contest.ratio for contest in group)
    return Mean(what, ratio, len(group), sum(contest.lost for contest in group))


def lost(found: Sequence[Contest]) -> list[Contest]:
    """The cells in which a peer is faster, the worst one first."""
    return sorted((contest for contest in found if contest.lost), key=lambda contest: -contest.ratio)


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
    for peer in peers:
        ratios = ratios_to(table, chosen, [peer])
        of_mode = {
            mode: geometric_mean(ratio for case, ratio in ratios.items() if in_mode(mode)(case))
            for mode in MODES
        }
        found.append(Single(peer, **of_mode, all=geometric_mean(ratios.values()), cells=len(ratios)))
    return sorted((single for single in found if single.cells), key=lambda single: -single.all)


def size_text(size: int) -> str:
    """Bytes as people say them: 1500, 128 KiB, 64 MiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= 64 << 10 and size % unit == 0:
            return f"{size // unit} {name}"
    return str(size)
