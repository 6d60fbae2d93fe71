"""How sure a comparison is, without believing in any distribution: the exact sign test and its interval.

Each unit (a process and a placement of the code) gives one log ratio. Under "no difference" a log ratio is as likely
above 0 as below, so the number above follows Binomial(n, 1/2), whatever the ratios look like; the interval that
belongs to this test runs between two order statistics. It covers the median with at least the confidence asked for,
which for few units is more than was asked.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def rank(units: int, confidence: float) -> int:
    """The largest k for which x(k)..x(units+1-k) of sorted values covers the median with this confidence; 0 if none."""
    tail = 0.0
    for k in range(units // 2 + 1):
        tail += comb(units, k) / 2.0**units
        if 2.0 * tail > 1.0 - confidence:
            return k
    return units // 2


def units_needed(confidence: float) -> int:
    """The fewest units whose minimum..maximum covers the median with this confidence: 6 for 95 %."""
    units = 1
    while rank(units, confidence) == 0:
        units += 1
    return units


def bonferroni(confidence: float, cells: int) -> float:
    """The confidence of each of so many cells that makes all of them together as sure as asked."""
    return 1.0 - (1.0 - confidence) / max(cells, 1)


def interval(values: npt.ArrayLike, confidence: float) -> tuple[float, float, float]:
    """(median, low, high) of the values. ValueError if they are too few for this confidence."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    k = rank(len(ordered), confidence)
    if k == 0:
        raise ValueError(
            f"{len(ordered)} units can't carry a confidence of {confidence:.6g}; take at least "
            f"{units_needed(confidence)} (more placements or processes), or fewer cells"
        )
    return float(np.median(ordered)), float(ordered[k - 1]), float(ordered[-k])
