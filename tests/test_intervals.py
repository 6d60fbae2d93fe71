"""The signed-rank interval and the verdicts: printed tables, counting all signs, simulations with seeds. No clock."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcksum.lab._figures.intervals import interval, least_values, rank, shared_out
from fastcksum.lab._figures.verdict import (
    Decision,
    Verdict,
    decide,
    log_ratios,
    look_confidence,
    pair_up,
    times,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LOOKS = (32, 64, 128)


# The critical values that tables of Wilcoxon's test print for 5 %, both sides: the least sum that is not rare is one
# more.
@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137), (50, 434)]
)
def test_ranks_are_those_of_printed_tables(n: int, critical: int) -> None:
    assert rank(n, 0.95) == critical + 1


@pytest.mark.parametrize("n", range(1, 11))
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_ranks_are_what_counting_all_signs_gives(n: int, confidence: float) -> None:
    sums = [sum(r for r, up in enumerate(signs, 1) if up) for signs in itertools.product((0, 1), repeat=n)]
    rare = [
        k
        for k in range(1, len(sums) + 1)
        if 2 * sum(s <= k - 1 for s in sums) <= (1 - confidence) * len(sums) + 1e-9
    ]
    assert rank(n, confidence) == max(rare, default=0)


@pytest.mark.parametrize(("confidence", "least"), [(0.5, 2), (0.95, 6), (0.99, 8), (0.9995, 12)])
def test_the_fewest_values(confidence: float, least: int) -> None:
    assert least_values(confidence) == least
    assert (rank(least - 1, confidence), rank(least, confidence) > 0) == (0, True)


def test_too_few_values_are_refused_with_the_number_needed() -> None:
    with pytest.raises(
        ValueError, match=r"5 placements can't carry a confidence of 0\.95; take at least 6, or fewer"
    ):
        interval([1, 2, 3, 4, 5], 0.95)


def test_interval_of_literals() -> None:
    # Walsh averages of 1..6: the middle is 3.5, all 21 of them hold it at 95 %
    assert interval([3, 1, 6, 2, 5, 4], 0.95) == (3.5, 1.0, 6.0)


@given(st.lists(st.floats(-1, 1), min_size=8, max_size=40), st.floats(0.25, 4), st.floats(-1, 1))
def test_an_interval_moves_with_its_values(values: list[float], factor: float, shift: float) -> None:
    before = interval(values, 0.95)
    after = interval([value * factor + shift for value in values], 0.95)
    assert after == pytest.approx([end * factor + shift for end in before], abs=1e-9)
    turned = interval([-value for value in values], 0.95)
    assert turned == pytest.approx((-before.middle, -before.high, -before.low), abs=1e-9)
    assert before.low <= before.middle <= before.high


def test_one_outlier_does_not_widen_an_interval_beyond_the_others() -> None:
    source = np.random.default_rng(1)
    values = source.normal(0, 0.002, 32)
    values[7] = 0.7
    found = interval(values, 0.99)
    assert (found.low > -0.004, found.high < 0.004) == (True, True)


def test_the_error_is_shared_out_to_cells_and_looks() -> None:
    assert shared_out(0.95, 10) == pytest.approx(0.995)
    for looks in range(1, 7):
        spent = [1 - look_confidence(0.95, 20, look, looks) for look in range(looks)]
        assert sum(spent) * 20 == pytest.approx(0.05)
        assert spent == sorted(spent)


# Verdicts


def spread(middle: float, width: float = 0.002, n: int = 32) -> list[float]:
    """Values that lie evenly about the middle."""
    return list(np.linspace(middle - width, middle + width, n))


@pytest.mark.parametrize(
    ("middle", "floor", "verdict", "reason"),
    [
        (math.log(0.8), 0.0, "faster", ""),
        (math.log(1.25), 0.0, "slower", ""),
        (0.0, 0.0, "same", ""),
        (0.005, 0.0, "same", ""),  # a difference, and less than one of 1 %
        (0.02, 0.03, "unresolved", "two copies of the first lie as far apart"),
        (-0.02, -0.03, "unresolved", "two copies of the first lie as far apart"),
    ],
)
def test_verdicts(middle: float, floor: float, verdict: str, reason: str) -> None:
    found = decide(spread(middle), spread(floor), 0.95)
    assert (found.verdict, found.reason) == (verdict, reason)
    assert found.floor == pytest.approx(abs(floor))


def test_a_wide_interval_is_unresolved_and_a_wider_notion_of_the_same_settles_it() -> None:
    wide = spread(0.0, 0.2)
    assert decide(wide, wide, 0.95).verdict == "unresolved"
    assert decide(wide, wide, 0.95, within=0.3).verdict == "same"


def test_too_few_placements_are_unresolved_with_the_reason() -> None:
    found = decide(spread(0.5, n=5), spread(0.0), 0.95, asked=32)
    assert (found.verdict, found.interval, found.placements) == ("unresolved", None, 5)
    assert math.isnan(found.floor)
    assert (
        found.reason == "27 of 32 placements have no sample without a flag, and 5 are too few: 6 are needed"
    )


@pytest.mark.parametrize(
    ("verdict", "ratio", "said"),
    [
        ("faster", 0.8, "1.25x faster"),
        ("slower", 1.25, "1.25x slower"),
        ("slower", 1.022, "1.022x slower"),
        ("faster", 0.05, "20.00x faster"),
        ("same", 1.001, "same within 1 %"),
        ("unresolved", 1.3, "unresolved"),
    ],
)
def test_verdicts_in_words(verdict: Verdict, ratio: float, said: str) -> None:
    assert words(verdict, ratio) == said


@given(st.floats(0.01, 100))
def test_twice_as_fast_one_way_is_twice_as_slow_the_other(ratio: float) -> None:
    if ratio not in {1.0, 1 / ratio}:
        assert times(ratio).split("x")[0] == times(1 / ratio).split("x")[0]
        assert times(ratio).split()[1] != times(1 / ratio).split()[1]


# Pairs


def test_placements_are_paired_by_their_residues_in_each_square() -> None:
    source = np.random.default_rng(2)

    def places() -> list[tuple[int, int]]:
        pairs = [(16 * i, 16 * j) for i in range(4) for j in range(4)]
        return [
            (kernel + 64 * int(source.integers(64)), loops + 64 * int(source.integers(64)))
            for _ in range(3)
            for kernel, loops in source.permutation(pairs).tolist()
        ]

    of_a, of_b = places(), places()
    pairs = pair_up(range(48), of_a, of_b)
    assert sorted(i for i, _ in pairs) == sorted(j for _, j in pairs) == list(range(48))
    for i, j in pairs:
        assert (of_a[i][0] % 64, of_a[i][1] % 64) == (of_b[j][0] % 64, of_b[j][1] % 64)
        assert i // 16 == j // 16


def test_without_places_the_numbers_pair_up_and_a_lost_one_takes_its_partner_only() -> None:
    assert pair_up([3, 4, 17], [], []) == [(3, 3), (4, 4), (17, 17)]
    a = {i: 1.0 for i in range(8) if i != 3}
    b = {i: math.e for i in range(8) if i != 5}
    assert log_ratios(a, b) == [1.0] * 6


# How often they are wrong


def staged(draw: Callable[[int], np.ndarray], *, ratio: float, cells: int = 1) -> list[Decision]:
    """The decisions on cells that are looked at as a comparison does; draw(n): log ticks of n placements of one
    code.
    """
    found = []
    for _ in range(cells):
        a, b, copy = draw(LOOKS[-1]), draw(LOOKS[-1]) + math.log(ratio), draw(LOOKS[-1])
        for look, n in enumerate(LOOKS):
            each = decide(
                list((b - a)[:n]), list((copy - a)[:n]), look_confidence(0.95, cells, look, len(LOOKS))
            )
            if each.verdict != "unresolved":
                break
        found.append(each)
    return found


def places_and_processes(
    source: np.random.Generator, spread: float, processes: int
) -> Callable[[int], np.ndarray]:
    """Each placement has its own cost, each process a little noise at it; the median over processes counts."""

    def draw(n: int) -> np.ndarray:
        return source.normal(0, spread, n) + np.median(source.normal(0, 0.003, (processes, n)), axis=0)

    return draw


@pytest.mark.parametrize("processes", [1, 3, 10])
def test_equal_kernels_are_rarely_told_apart(processes: int) -> None:
    source = np.random.default_rng(processes)
    runs = [staged(places_and_processes(source, 0.05, processes), ratio=1.0)[0].verdict for _ in range(400)]
    assert (
        sum(verdict in {"faster", "slower"} for verdict in runs) <= 28
    )  # 5 % of 400, and two standard deviations


def test_equal_kernels_are_rarely_told_apart_in_any_of_twenty_cells() -> None:
    source = np.random.default_rng(4)
    runs = [staged(places_and_processes(source, 0.05, 1), ratio=1.0, cells=20) for _ in range(60)]
    wrong = sum(any(each.verdict in {"faster", "slower"} for each in cells) for cells in runs)
    assert wrong <= 6  # 5 % of 60, and two standard deviations


@pytest.mark.parametrize(("ratio", "spread"), [(1.05, 0.05), (0.95, 0.05), (1.02, 0.004)])
def test_differences_are_found_and_held(ratio: float, spread: float) -> None:
    source = np.random.default_rng(5)
    runs = [staged(places_and_processes(source, spread, 1), ratio=ratio)[0] for _ in range(120)]
    expected = "faster" if ratio < 1 else "slower"
    assert sum(each.verdict == expected for each in runs) >= 114
    assert sum(each.interval is not None and each.interval.holds(math.log(ratio)) for each in runs) >= 110


def test_places_in_a_few_kinds_are_no_trouble() -> None:
    """Code that is a fifth slower in a quarter of all places."""
    source = np.random.default_rng(6)

    def draw(n: int) -> np.ndarray:
        return 0.2 * (source.random(n) < 0.25) + source.normal(0, 0.003, n)

    runs = [staged(draw, ratio=1.0)[0].verdict for _ in range(200)]
    assert sum(verdict in {"faster", "slower"} for verdict in runs) <= 16
