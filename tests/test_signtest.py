"""The sign test against its definition, and on samples made with seeds. No clock."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fastcksum.lab._figures import signtest

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt


@pytest.mark.parametrize(
    ("units", "confidence", "expected"),
    [
        (5, 0.95, 0),
        (6, 0.95, 1),
        (8, 0.95, 1),
        (9, 0.95, 2),
        (10, 0.95, 2),
        (10, 0.998, 1),
        (10, 0.9981, 0),
        (20, 0.95, 6),
    ],
)
def test_ranks_of_the_tables(units: int, confidence: float, expected: int) -> None:
    # Conover, Practical Nonparametric Statistics, table A3: 6 -> 1st, 9 and 10 -> 2nd, 20 -> 6th order statistic at 95 %
    assert signtest.rank(units, confidence) == expected


@pytest.mark.parametrize("units", [6, 7, 9, 10])
def test_coverage_by_counting_every_outcome(units: int) -> None:
    k = signtest.rank(units, 0.95)
    held = sum(k <= sum(signs) <= units - k for signs in product((0, 1), repeat=units))
    assert held / 2**units >= 0.95
    narrower = sum(k + 1 <= sum(signs) <= units - k - 1 for signs in product((0, 1), repeat=units))
    assert narrower / 2**units < 0.95


def test_units_needed() -> None:
    assert signtest.units_needed(0.95) == 6
    assert signtest.units_needed(signtest.bonferroni(0.95, 20)) == 10
    assert signtest.units_needed(signtest.bonferroni(0.95, 26)) == 11


def test_interval_is_order_statistics() -> None:
    assert signtest.interval([10, 1, 9, 2, 8, 3, 7, 4, 6, 5], 0.95) == (5.5, 2.0, 9.0)


def test_too_few_units_say_how_many() -> None:
    with pytest.raises(ValueError, match=r"5 units can't carry a confidence of 0\.95; take at least 6"):
        signtest.interval([1.0] * 5, 0.95)


@pytest.mark.parametrize("shape", ["normal", "skewed", "two states"])
def test_interval_covers_a_known_median(shape: str) -> None:
    random = np.random.default_rng(1071)
    draws: dict[str, Callable[[], npt.NDArray[np.float64]]] = {
        "normal": lambda: random.normal(0.02, 0.01, 10),
        "skewed": lambda: 0.02 + (random.lognormal(0, 1, 10) - 1) * 0.01,
        "two states": lambda: 0.02 + random.choice([-0.1, 0.1], 10) + random.normal(0, 0.001, 10),
    }
    held = 0
    for _ in range(2000):
        _, low, high = signtest.interval(draws[shape](), 0.95)
        held += low <= 0.02 <= high
    assert held / 2000 == pytest.approx(
        0.9785, abs=0.015
    )  # 1 - 2 * 11 / 1024, the exact coverage of x(2)..x(9)
