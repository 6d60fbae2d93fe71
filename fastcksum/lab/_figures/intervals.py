"""How sure a comparison is, without believing in any distribution: the signed-rank test and its interval.

Each placement gives one log ratio. Where two kernels cost the same, swapping them changes nothing, so a log ratio is as
likely d as -d, and each of the 2**n ways to give signs to their ranks is equally likely, whatever the ratios look like
(Wilcoxon 1945). The interval that belongs to this test runs between two order statistics of the Walsh averages, the
means of all pairs of values, each with itself too; their median is the estimate (Hodges and Lehmann 1963). An outlier
moves neither, and for noise that is normal 32 placements tell what the sign test needs 48 for.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


class Interval(NamedTuple):
    """The estimate and the two ends that hold it."""

    middle: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value lies within."""
        return self.low <= value <= self.high


def interval(values: npt.ArrayLike, confidence: float) -> Interval:
    """Where the middle of the values lies. ValueError if they are too few for this confidence.

    Exact where values are as likely above the middle as below by any amount, as differences of equal kernels are.
    """
    given = np.asarray(values, dtype=np.float64)
    k = rank(len(given), confidence)
    if k == 0:
        raise ValueError(
            f"{len(given)} placements can't carry a confidence of {confidence:.6g}; take at least "
            f"{least_values(confidence)}, or fewer cells"
        )
    walsh = np.sort(_walsh_averages(given))
    return Interval(float(np.median(walsh)), float(walsh[k - 1]), float(walsh[-k]))


def pseudomedian(values: Iterable[float]) -> float:
    """The median of the means of all pairs of the values that are numbers; NaN if there are none.

    Where code is fast at half of the places and slow at the others, their median is one or the other by chance, while
    this lies between the two and moves little with a value more on one side; an outlier moves it no further.
    """
    known = np.array([value for value in values if not np.isnan(value)], dtype=np.float64)
    return float(np.median(_walsh_averages(known))) if len(known) else float("nan")


def _walsh_averages(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    first, second = np.triu_indices(len(values))
    averages: npt.NDArray[np.float64] = (values[first] + values[second]) / 2
    return averages


def rank(n: int, confidence: float) -> int:
    """The largest k for which the k-th Walsh averages of n values, from either end, hold the middle; 0 if none."""
    return int(np.searchsorted(_cumulated(n), (1.0 - confidence) / 2, side="right"))


def least_values(confidence: float) -> int:
    """The fewest values whose smallest and largest hold the middle with this confidence: 6 for 95 %."""
    return int(np.ceil(1 - np.log2(1 - confidence) - 1e-9))


@cache
def _cumulated(n: int) -> npt.NDArray[np.float64]:
    """P(W <= w) of the sum W of those of the ranks 1..n whose values are above the middle, for w = 0, 1, ..."""
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for each in range(1, n + 1):
        chances[each:] += chances[: len(chances) - each].copy()
        chances /= 2
    return np.cumsum(chances)


def shared_out(confidence: float, cells: int, share: float = 1.0) -> float:
    """The confidence of each of so many cells, at a look that has this share of the error, that keeps the sum."""
    return 1.0 - (1.0 - confidence) * share / max(cells, 1)
