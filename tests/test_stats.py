"""Statistics on samples that were made up: literals, and distributions drawn with a seed."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest

from fastcksum.lab._figures import stats as _stats

CHAIN = 20000


def summary_of(*values: float) -> _stats.Summary:
    return _stats.summarise(np.array(values), np.zeros(len(values), np.uint32))


def rounds_with_clock(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(add_ticks, mul_ticks) of rounds in which a tick lasts that many core cycles."""
    return np.rint(CHAIN / ratios), np.rint(3 * CHAIN / ratios)


def test_summary_of_literals() -> None:
    found = _stats.summarise(np.array([4.0, 1.0, 100.0, 3.0, 2.0]), np.array([0, 0, 2, 0, 0]))
    assert found == _stats.Summary(samples=4, dropped=1, minimum=1.0, q1=1.75, median=2.5, q3=3.25)
    assert found.error == 1.5


def test_a_flagged_sample_is_not_the_minimum() -> None:
    found = _stats.summarise(np.array([7.0, 5.0, 8.0]), np.array([0, 1, 0]))
    assert (found.minimum, found.samples, found.dropped) == (7.0, 2, 1)


def test_summary_agrees_with_the_statistics_module() -> None:
    values = np.random.default_rng(11).lognormal(3, 0.2, 61)
    found = summary_of(*values)
    q1, median, q3 = statistics.quantiles(values.tolist(), n=4, method="inclusive")
    assert found.minimum == min(values)
    assert [found.q1, found.median, found.q3] == pytest.approx([q1, median, q3], rel=1e-12)
    assert found.error == pytest.approx((median - min(values)) / min(values), rel=1e-12)


def test_without_a_good_sample_nothing_is_known() -> None:
    found = _stats.summarise(np.array([1.0, 2.0, 3.0]), np.array([1, 2, 4]))
    assert (found.samples, found.dropped) == (0, 3)
    assert all(math.isnan(value) for value in (found.minimum, found.q1, found.median, found.q3, found.error))
    assert math.isnan(found.error)


def test_sentinel_counts_additions_a_core_cycle() -> None:
    rates = _stats.sentinel(np.array([20000, 16000]), np.array([20000, 32000]))
    assert rates.tolist() == [4.0, 2.0]


def test_contended_visits_are_those_below_the_best_tenth() -> None:
    rates = np.array([3.9] * 50 + [3.71] * 5 + [3.70] * 5)
    assert _stats.contended_visits(rates).tolist() == [False] * 55 + [True] * 5  # 0.95 x 3.9 = 3.705


def test_one_impossible_rate_condemns_nobody() -> None:
    rates = np.array([3.5] * 59 + [6.2])
    assert not _stats.contended_visits(rates).any()


def test_a_neighbour_who_never_leaves_is_seen_where_the_core_is_known() -> None:
    rates = np.full(60, 2.0)
    assert not _stats.contended_visits(rates).any()
    assert _stats.contended_visits(rates, least=3.0).all()


def test_no_rounds_no_contention() -> None:
    assert _stats.contended_visits(np.zeros(0)).tolist() == []


@pytest.mark.parametrize(
    ("disagreement", "shared", "badge"),
    [
        (0.0, 0.0, "clean"),
        (0.01, 0.0, "clean"),
        (0.0101, 0.0, "noisy"),
        (math.nan, 0.0, "noisy"),
        (0.0, 0.5, "clean"),
        (0.0, 0.6, "contended"),
        (0.2, 0.6, "contended"),
    ],
)
def test_badges(disagreement: float, shared: float, badge: str) -> None:
    assert _stats.badge(disagreement, [number < shared * 10 for number in range(10)]) == badge


def test_halves_of_the_visits() -> None:
    found = _stats.minima_of_halves(np.array([8.0, 1.0, 7.0, 6.0, 5.0, 3.0, 2.0, 4.0]))
    assert found == [[2.0, 1.0], [1.0, 2.0], [1.0, 2.0]]
    assert _stats.disagreement(found) == 1.0
    assert math.isnan(_stats.disagreement(_stats.minima_of_halves(np.array([3.0]))))
    assert math.isnan(_stats.disagreement(_stats.minima_of_halves(np.zeros(0))))


def test_a_clean_cell_repeats_in_another_run() -> None:
    """Of cells that are clean in two runs, few move by 2 %: a floor with noise above it, now and then a rare low."""
    source = np.random.default_rng(12)
    moved = clean = 0
    for _ in range(2000):
        spread, rare = source.choice([0.002, 0.02, 0.2]), source.random() < 0.1
        runs = [
            100 * (1 + source.exponential(spread, 40)) - 15 * rare * (source.random(40) < 0.03)
            for _ in range(2)
        ]
        both = [_stats.disagreement(_stats.minima_of_halves(run)) <= _stats.REPEATS for run in runs]
        if all(both):
            clean += 1
            moved += max(runs[0].min(), runs[1].min()) / min(runs[0].min(), runs[1].min()) > 1.02
    assert clean > 800
    assert moved <= 0.05 * clean


def core_cycles(ticks: np.ndarray, add: np.ndarray, mul: np.ndarray, **options: Any) -> float:
    """The minimum over the visits whose clock is known, NaN without any."""
    cycles = ticks * _stats.core_clock(add, mul, **options)
    return float("nan") if np.isnan(cycles).all() else float(np.nanmin(cycles))


def test_core_cycles_do_not_move_with_the_clock() -> None:
    source = np.random.default_rng(7)
    ratios = source.uniform(1.2, 1.6, 60)
    ticks = 58.0 / ratios * (1 + source.exponential(0.01, 60))
    add, mul = rounds_with_clock(ratios)
    found = core_cycles(ticks, add, mul, chain=CHAIN, mul_latency=3)
    assert 57.9 < found < 58.5
    assert np.ptp(ticks) > 10  # the ticks themselves do move


def test_an_interrupted_chain_makes_no_fast_kernel() -> None:
    ratios = np.full(60, 1.25)
    add, mul = rounds_with_clock(ratios)
    add[17] *= 2  # the add chain of one round was interrupted: half the ratio, half the cycles
    found = core_cycles(np.full(60, 40.0), add, mul, chain=CHAIN, mul_latency=3)
    assert found == pytest.approx(50.0, rel=1e-3)


@pytest.mark.parametrize(("factor", "known"), [(0.981, True), (1.019, True), (0.97, False), (1.03, False)])
def test_chains_must_agree_within_two_percent(factor: float, known: bool) -> None:
    add = np.full(20, 16000.0)
    mul = 3 * add * factor
    found = core_cycles(np.full(20, 40.0), add, mul, chain=CHAIN, mul_latency=3)
    assert math.isnan(found) is not known
    if known:
        assert found == 50.0


def test_a_core_of_another_kind_is_unknown() -> None:
    add, mul = rounds_with_clock(np.full(60, 1.25))
    ticks = np.full(60, 40.0)
    assert math.isnan(core_cycles(ticks, add, mul, chain=CHAIN, mul_latency=4))
    assert math.isnan(core_cycles(ticks, add, mul, chain=CHAIN, mul_latency=None))
    assert math.isnan(core_cycles(ticks[:0], add[:0], mul[:0], chain=CHAIN, mul_latency=3))


def test_too_few_rounds_that_agree_are_chance() -> None:
    add = np.full(60, 16000.0)
    mul = 3 * add * 1.1
    mul[:14] = 3 * add[:14]
    ticks = np.full(60, 40.0)
    assert math.isnan(core_cycles(ticks, add, mul, chain=CHAIN, mul_latency=3))
    mul[14] = 3 * add[14]  # 15 of 60: a quarter
    assert core_cycles(ticks, add, mul, chain=CHAIN, mul_latency=3) == 50.0


def test_net_is_never_clamped() -> None:
    assert _stats.net(5.5, 2.0) == 3.5
    assert _stats.net(2.0, 2.0) == 0.0
    assert _stats.net(2.0, None) is None
    invalid = _stats.net(1.9, 2.0)
    assert invalid is not None
    assert math.isnan(invalid)
