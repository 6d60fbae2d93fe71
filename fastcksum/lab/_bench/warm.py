"""How long a loop must run until this core's branch predictors know it.

AMD's Zen 5 needs about a millisecond of the same code without a system call; until then a loop of short calls stays in
a mode that takes 1.2 to 1.6 times as long. Other cores need less.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from fastcksum import _core
from fastcksum._kernel import active_kernel
from fastcksum.lab._figures.core import alone
from fastcksum.lab._machine.facts import timer_facts
from fastcksum.lab._machine.processor import pinned

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastcksum.lab._figures.record import Structured

SHORTEST: Final = 0.25e-3  # seconds
DOUBLINGS: Final = 4  # at most 4 ms
AGREE: Final = 0.01
VISITS: Final = 9  # and as many more, until each cell has enough undisturbed ones
MOST_VISITS: Final = 45
LEAST_VISITS: Final = 4
BATCHES: Final = 4  # of a visit, here and in every course
SIZES: Final = (20, 64)


def find_warm_up(
    measure: Callable[[int], list[float] | None], shortest: int, doublings: int = DOUBLINGS
) -> int:
    """The least of shortest, 2 * shortest ... ticks from which on two doublings change no figure by more than 1 %.

    measure: the figures of some cells after that many ticks of warming, None where other programs leave the core no
    such stretch. The longest one that could be measured where nothing settles.
    """
    figures: list[list[float]] = []
    for doubling in range(doublings + 1):
        measured = measure(shortest << doubling)
        if measured is None:
            return shortest << max(doubling - 1, 0)
        figures.append(measured)
        if len(figures) > 2 and all(_agree(*pair) for pair in pairwise(figures[-3:])):
            return shortest << (doubling - 2)
    return shortest << doublings


def _agree(before: list[float], after: list[float]) -> bool:
    return all(abs(b / a - 1) <= AGREE for a, b in zip(before, after, strict=True))


@cache
def warm_ticks(target_ticks: int) -> int:
    """Ticks of warming that this machine needs before batches of target_ticks; measured once, in less than a second."""
    names = dict.fromkeys([active_kernel().name, "portable64", "nothing"])
    bench = _core.Bench()
    buffer = bytes(max(SIZES))
    for name in names:
        for size in SIZES:
            bench.add(name, buffer, [0], [size])
    cells = list(range(len(names) * len(SIZES)))
    with pinned():
        bench.calibrate(target_ticks)
        return find_warm_up(lambda ticks: _figures(bench, cells, ticks), int(SHORTEST * timer_facts()["hz"]))


def _figures(bench: _core.Bench, cells: list[int], ticks: int) -> list[float] | None:
    """The median over the undisturbed visits of the least ticks a call of each cell; None where they are too few."""
    rounds: list[Structured] = []
    while len(rounds) < MOST_VISITS:
        rounds += [time_round(bench, cells, number, warm=ticks, batches=BATCHES) for number in range(VISITS)]
        visits = np.concatenate(rounds).reshape(-1, len(cells), BATCHES)
        first = visits[:, :, 0]
        good = (first["flags"] == 0) & alone(first, timer_facts()["unit"])
        if good.sum(axis=0).min() >= LEAST_VISITS:
            least = (visits["ticks"] / visits["calls"]).min(axis=2)
            return [float(np.median(least[good[:, cell], cell])) for cell in cells]
    return None


def sample_type() -> np.dtype[np.void]:
    """The C record of a sample."""
    names, formats, offsets = zip(*_core.SAMPLE_FIELDS, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": _core.SAMPLE_SIZE})


def time_round(
    bench: _core.Bench, order: list[int], number: int, *, warm: int = 0, batches: int = 1, seed: int = 0
) -> Structured:
    """The samples of one round: as many batches as asked for of each cell named in order."""
    out = np.zeros(len(order) * batches, sample_type())
    bench.round(order, number, out, warm_ticks=warm, batches=batches, seed=seed)
    return out
