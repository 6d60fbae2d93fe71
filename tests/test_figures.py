"""Samples become figures: the visit as what is independent, one pass, made once. All on samples that were made up."""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_sweep import cell, facts, samples_of, sweep_of

from fastcksum.lab._figures import intervals, result
from fastcksum.lab._figures.rows import replicates_of, rows_of


def test_core_cycles_are_no_less_than_a_chain_that_moves_can_explain() -> None:
    """The round whose chain was slow and whose cell was fast isn't the figure: the median is."""
    cells = [cell("k", 40)]
    samples = samples_of(cells, [[10.0] * 9])
    samples["add_ticks"], samples["mul_ticks"] = [16160] + [16000] * 8, [48480] + [48000] * 8
    [row] = rows_of(samples, cells, [40.0], "tsc_ticks")
    assert row.est_core_cycles_per_byte == 12.5 / 40


def test_batches_of_one_visit_are_one_witness() -> None:
    """Six batches of two visits: the minimum of all, and halves of whole visits."""
    cells = [cell("k", 40)]
    samples = samples_of(cells, [[10.0, 11.0, 10.0, 11.0, 10.2, 11.0]])
    samples["round"] = [0, 0, 0, 1, 1, 1]
    [replicate] = replicates_of(samples, cells, "tsc_ticks")[0]
    assert replicate.visits.tolist() == [10.0, 10.2]
    [row] = rows_of(samples, cells, [40.0], "tsc_ticks")
    assert (row.samples, row.ticks_per_call, row.badge) == (6, 10.0, "noisy")  # 2 % apart


def test_the_figures_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = sweep_of([facts("k")], [cell("k", 40)], [[10.0, 10.0]])
    first = sweep.table()
    monkeypatch.setattr(result, "rows_of", None)
    assert sweep.table() == first
    first.clear()
    assert len(sweep.table()) == 1


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
def test_figures_are_those_of_each_replicate_by_itself(
    seed: int, processes: int, placements: int, rounds: int
) -> None:
    """One pass over samples in any order gives what picking each replicate's samples by hand does."""
    source = np.random.default_rng(seed)
    cells = [cell("k", 40), cell("k", 41), cell("nothing", 40)]
    parts = []
    for process in range(processes):
        for placement in range(placements):
            part = samples_of(cells, source.uniform(10, 20, (len(cells), rounds)).tolist())
            part["process"], part["placement"] = process, placement
            part["flags"] = source.random(len(part)) < 0.2
            parts.append(part)
    samples = source.permutation(np.concatenate(parts))
    for index, row in enumerate(rows_of(samples, cells, [40.0, 41.0, 40.0], "tsc_ticks")):
        good = samples[(samples["cell"] == index) & (samples["flags"] == 0)]
        at = [good[good["placement"] == placement] for placement in range(placements)]
        minima = [
            [
                min(of["ticks"] / of["calls"])
                for process in range(processes)
                if len(of := each[each["process"] == process])
            ]
            for each in at
        ]
        known = [np.median(each) for each in minima if each]
        assert row.samples == len(good)
        assert row.ticks_per_call == (
            pytest.approx(statistics.median((a + b) / 2 for a, b in pairs))
            if (pairs := list(itertools.combinations_with_replacement(known, 2)))
            else pytest.approx(math.nan, nan_ok=True)
        )


def test_the_core_clock_is_known_for_mixes_and_over_all_processes() -> None:
    mix = dataclasses.replace(cell("k", 0), distribution="imix", offset=-1, mode="mixed")
    parts = [samples_of([mix], [[10.0] * 4]) for _ in range(3)]
    for process, (part, add) in enumerate(zip(parts, (16000, 10000, 10000), strict=True)):
        part["process"], part["add_ticks"], part["mul_ticks"] = process, add, 3 * add
    sweep = sweep_of(
        [facts("k")], [mix], [[1.0]], samples=np.concatenate(parts), processes=3, mean_lengths=(64.0,)
    )
    assert "about 2.00 core cycles (1.25 to 2.00 in" in " ".join(sweep.text().split())


def test_a_pseudomedian_lies_between_two_kinds_of_places() -> None:
    """The figures of code that is fast at every second place: 24, 31, 24, 31, ..."""
    places = [24.0] * 8 + [31.0] * 8
    assert intervals.pseudomedian(places) == 27.5
    assert intervals.pseudomedian([*places[:7], 31.0, *places[8:]]) == 27.5  # the median is 31 now
    assert intervals.pseudomedian([*places[:-1], 310.0, math.nan]) == 27.5
    assert math.isnan(intervals.pseudomedian([]))
    assert intervals.pseudomedian([7.0]) == 7.0


def test_a_visit_beside_a_neighbour_is_set_aside() -> None:
    """Three of five visits shared the core: the figures are of the other two, and all samples are accounted for."""
    cells = [cell("k", 40)]
    samples = samples_of(
        cells, [[9.0, 15.0, 10.0, 15.0, 10.1]], wide_ticks=[20000, 30000, 16000, 30000, 16000]
    )
    samples["flags"][3] = 2
    [replicate] = replicates_of(samples, cells, "tsc_ticks")[0]
    assert (replicate.visits.tolist(), replicate.shared, replicate.dropped) == ([10.0, 10.1], False, 1)
    [row] = rows_of(samples, cells, [40.0], "tsc_ticks")
    assert (row.ticks_per_call, row.samples, row.dropped) == (10.0, 2, 1)
    text = " ".join(sweep_of([facts("k")], cells, [[1.0]], samples=samples).text().split())
    assert "without 2 of 5 samples beside which somebody shared the core" in text


@pytest.mark.parametrize(("alone", "badge"), [(2, "clean"), (1, "contended"), (0, "contended")])
def test_a_fifth_of_the_visits_must_have_the_core_to_themselves(alone: int, badge: str) -> None:
    """Else all visits are used, and the badge says so."""
    cells = [cell("k", 40)]
    samples = samples_of(cells, [[10.0] * 10], wide_ticks=[16000] * alone + [30000] * (10 - alone))
    [row] = rows_of(samples, cells, [40.0], "tsc_ticks")
    assert (row.badge, row.samples) == (badge, alone if badge == "clean" else 10)


@pytest.mark.parametrize(("cache", "headline"), [("hot", 10.0), ("l2", 10.0), ("l3", 8.0), ("dram", 8.0)])
def test_headlines_stand_at_the_median_core_clock(cache: str, headline: float) -> None:
    """A visit at a faster clock makes no minimum, but where memory is what bounds; one of unknown clock never does."""
    cells = [dataclasses.replace(cell("k", 40), cache=cache)]
    samples = samples_of(cells, [[10.0, 10.0, 8.0, 9.0]], add_ticks=[16000, 16000, 12800, 16000])
    samples["mul_ticks"] = [48000, 48000, 38400, 52000]  # the last one's chains don't agree
    samples["wide_ticks"] = samples["add_ticks"]
    [row] = rows_of(samples, cells, [40.0], "tsc_ticks")
    assert row.ticks_per_call == pytest.approx(headline)
    assert row.est_core_cycles_per_byte == pytest.approx(12.5 / 40)
