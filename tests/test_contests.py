"""Won, lost, unresolved: the arithmetic of the race on figures that nobody measured. No clock decides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from made_up_race import DEP, FIVE_CELLS, IND, L40, T20, T40, field_of, made_up, race_of
from made_up_sweep import HOST, samples_of

from fastcksum.lab import Race
from fastcksum.lab._figures import contests
from fastcksum.lab._figures.contests import Case, Minima, geometric_mean, size_text
from fastcksum.lab._figures.record import Cell

if TYPE_CHECKING:
    from pathlib import Path

PEERS = [f"peer_{number}" for number in range(14)]
CELLS = 300


def drawn(source: np.random.Generator, median: float, noise: float, placements: int = 16) -> dict[int, float]:
    """Minima at so many placements: a place costs a share of the time, drawn from a lopsided distribution."""
    return {
        number: float(median * math.exp(noise * each))
        for number, each in enumerate(source.gumbel(size=placements))
    }


def drawn_race(seed: int, ours: float, noise: float, placements: int = 16, peers: int = len(PEERS)) -> Race:
    """Cells in which 14 equal peers take 10 ticks and ours so many."""
    source = np.random.default_rng(seed)
    minima: Minima = {
        Case("throughput", size, "fixed", 0): {
            "new": drawn(source, ours, noise, placements),
            "new (copy)": drawn(source, ours, noise, placements),
            **{name: drawn(source, 10.0, noise, placements) for name in PEERS[:peers]},
        }
        for size in range(1, CELLS + 1)
    }
    return race_of(minima)


@pytest.mark.parametrize("noise", [0.003, 0.05])
@pytest.mark.parametrize("peers", [1, 14])
def test_the_best_of_equal_peers_wins_no_more_than_by_chance(noise: float, peers: int) -> None:
    # Best of 14 equal ones, without the halves, "wins" five cells of six.
    found = drawn_race(11, 10.0, noise, peers=peers)
    verdicts = [each.verdict for each in found.table()]
    assert verdicts.count("lost") <= 0.025 * CELLS + 3 * math.sqrt(0.025 * CELLS)
    assert verdicts.count("won") <= 0.025 * CELLS + 3 * math.sqrt(0.025 * CELLS)
    assert geometric_mean(each.ratio for each in found.table()) == pytest.approx(1, abs=noise / 4)
    naive = [each.ticks > each.peer_ticks for each in found.table()]
    assert peers == 1 or sum(naive) > 0.8 * CELLS


def test_a_second_copy_of_our_own_is_resolved_in_one_cell_of_twenty_at_most() -> None:
    found = drawn_race(12, 10.0, 0.05).copies()
    assert found is not None
    assert found.cells == CELLS
    assert 0 < found.resolved <= 0.05 * CELLS + 3 * math.sqrt(0.05 * CELLS)
    assert found.ratio == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("ours", "verdict"), [(9.0, "won"), (11.1, "lost")])
def test_a_tenth_is_found_and_the_interval_holds_it(ours: float, verdict: str) -> None:
    found = drawn_race(13, ours, 0.03).table()
    assert sum(each.verdict == verdict for each in found) > 0.95 * CELLS
    assert sum(each.low <= ours / 10 <= each.high for each in found) >= 0.93 * CELLS


def test_a_peer_that_is_better_than_all_others_is_the_one_that_is_judged() -> None:
    source = np.random.default_rng(14)
    ticks = {"new": drawn(source, 10.0, 0.01), **{name: drawn(source, 20.0, 0.01) for name in PEERS}}
    ticks["peer_7"] = drawn(source, 12.0, 0.01)
    [found] = race_of({T20: ticks}).table()
    assert (found.peer, found.build, found.verdict) == ("peer_7", "cc of peer_7", "won")
    assert found.low < 10 / 12 < found.high
    assert found.placements == 16


def test_each_half_is_judged_against_the_peer_that_the_other_half_chose() -> None:
    # a is the best on the even half of the pairs and b on the odd one: each is judged where it is the worse one.
    against = {
        "a": {pair: 0.5 if contests.half_of(pair) == 0 else -0.1 for pair in range(16)},
        "b": {pair: -0.2 if contests.half_of(pair) == 0 else 0.3 for pair in range(16)},
    }
    assert contests.best_of(against, 0) == "a"
    assert contests.best_of(against, 1) == "b"
    assert contests.best_of(against) == "a"
    assert contests.held_out(against) == {
        pair: -0.2 if contests.half_of(pair) == 0 else -0.1 for pair in range(16)
    }


def test_each_half_has_each_residue_of_kernel_and_loops_equally_often() -> None:
    places = field_of(["new"]).places["new"]
    in_order = sorted(range(16), key=lambda number: tuple(at % 64 // 16 for at in places[number]))
    for half in (0, 1):
        of_half = [places[number] for pair, number in enumerate(in_order) if contests.half_of(pair) == half]
        assert len(of_half) == 8
        for column in (0, 1):
            residues = [place[column] % 64 // 16 for place in of_half]
            assert sorted(residues) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_difference_that_two_copies_have_too_is_none() -> None:
    ticks = {name: dict.fromkeys(range(16), 10.0) for name in ("new", "new (copy)", "peer_a")}
    ticks["peer_a"] = dict.fromkeys(range(16), 9.6)
    assert race_of({T20: ticks}).table()[0].verdict == "lost"
    ticks["new (copy)"] = dict.fromkeys(range(16), 9.5)
    assert race_of({T20: ticks}).table()[0].verdict == "unresolved"


@pytest.mark.parametrize("placements", [1, 4])
def test_too_few_placements_decide_nothing(placements: int) -> None:
    minima = {T20: {name: dict.fromkeys(range(placements), n) for name, n in (("new", 1.0), ("peer_a", 9.0))}}
    [found] = race_of(minima).table()
    assert (found.verdict, found.placements) == ("unresolved", placements)
    assert found.ratio == pytest.approx(1 / 9)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    [mean] = [each for each in race_of(minima).means() if each.what == "all cells"]
    assert math.isnan(mean.low)
    assert mean.ratio == pytest.approx(1 / 9)
    assert (mean.won, mean.lost, mean.unresolved) == (0, 0, 1)


def test_each_cell_goes_against_its_best_peer() -> None:
    expected: list[Any] = [
        (*T20, "won", pytest.approx(0.8), 16, 4.0, "peer_a", "cc of peer_a", 5.0, "old"),
        (*T40, "lost", pytest.approx(2.0), 16, 6.0, "past_c", "cc of past_c", 3.0, "new"),
        (*L40, "lost", pytest.approx(1.2), 16, 12.0, "peer_b", "cc of peer_b", 10.0, "old"),
        (*IND, "won", pytest.approx(0.5), 16, 10.0, "peer_a", "cc of peer_a", 20.0, "new"),
        (*DEP, "unresolved", pytest.approx(1.0), 16, 10.0, "peer_b", "cc of peer_b", 10.0, "new"),
    ]
    assert [each[:6] + each[8:14] for each in made_up(FIVE_CELLS).table()] == expected


def test_another_kernel_can_be_judged() -> None:
    found = made_up(FIVE_CELLS, "old")
    assert [contest.ticks for contest in found.table()] == [3.0, 9.0, 9.0, 12.0, 12.0]
    assert [contest.fastest for contest in found.table()] == ["old", "new", "old", "new", "new"]
    assert made_up(FIVE_CELLS, "peer_a").peers == ["peer_b", "past_c"]


def test_means_by_mode_and_over_all() -> None:
    found = {mean.what: mean for mean in made_up(FIVE_CELLS).means()}
    assert found["throughput"].ratio == pytest.approx(math.sqrt(0.8 * 2.0))
    assert found["latency"].ratio == pytest.approx(1.2)
    assert found["mixed, both"].ratio == pytest.approx(math.sqrt(0.5 * 1.0))
    assert found["all cells"].ratio == pytest.approx((0.8 * 2.0 * 1.2 * 0.5 * 1.0) ** (1 / 5))
    assert {what: each[4:] for what, each in found.items()} == {
        "throughput": (2, 1, 1, 0),
        "latency": (1, 0, 1, 0),
        "mixed, independent calls": (1, 1, 0, 0),
        "mixed, dependent calls": (1, 0, 0, 1),
        "mixed, both": (2, 1, 0, 1),
        "all cells": (5, 2, 2, 1),
    }


def test_the_interval_of_a_mean_holds_it() -> None:
    found = [
        next(mean for mean in drawn_race(seed, 9.0, 0.05, peers=1).means() if mean.what == "all cells")
        for seed in range(20, 40)
    ]
    assert sum(mean.low <= 0.9 <= mean.high for mean in found) >= 17
    assert all(mean.high - mean.low < 0.02 for mean in found)


def test_single_peers_have_the_hardest_first() -> None:
    found = made_up(FIVE_CELLS).singles()
    assert [(single.peer, single.cells) for single in found] == [("past_c", 2), ("peer_b", 5), ("peer_a", 5)]
    past_c, peer_b, peer_a = found
    assert past_c.all == past_c.throughput == pytest.approx(math.sqrt(4 / 6 * 6 / 3))
    assert math.isnan(past_c.latency)
    assert math.isnan(past_c.mixed)
    assert peer_b.throughput == pytest.approx(math.sqrt(4 / 8 * 6 / 8))
    assert peer_b.latency == pytest.approx(1.2)
    assert peer_b.mixed == pytest.approx(math.sqrt(10 / 40 * 10 / 10))
    assert peer_a.all == pytest.approx((4 / 5 * 6 / 5 * 12 / 15 * 10 / 20 * 10 / 80) ** (1 / 5))


def test_builds_of_a_peer_are_one_peer() -> None:
    found = made_up({T20: {"new": 4.0, "peer_a [x]": 5.0}, T40: {"new": 4.0, "peer_a [y]": 2.0}})
    assert found.peers == ["peer_a"]
    assert [(each.peer, each.build) for each in found.table()] == [
        ("peer_a", "cc of peer_a [x]"),
        ("peer_a", "cc of peer_a [y]"),
    ]
    assert [(each.peer, each.cells) for each in found.singles()] == [("peer_a", 2)]


def test_lost_cells_have_the_worst_first() -> None:
    assert [(contest.case, contest.peer) for contest in made_up(FIVE_CELLS).lost()] == [
        (T40, "past_c"),
        (L40, "peer_b"),
    ]


def test_a_figure_that_is_missing_is_no_contest() -> None:
    found = made_up(FIVE_CELLS)
    found.minima[L40]["peer_b"].clear()  # its best peer
    found.minima[T20]["peer_b"].clear()  # not its best peer; but who knows
    found.minima[DEP]["new"].clear()
    found.minima[T40]["old"].clear()
    assert [contest.case for contest in found.table()] == [T40, IND]
    assert found.table()[0].fastest == "new"
    _, peer_a, peer_b = sorted(found.singles(), key=lambda single: single.peer)
    assert (peer_a.peer, peer_a.cells, peer_b.peer, peer_b.cells) == ("peer_a", 4, "peer_b", 2)


def test_a_placement_that_is_missing_is_left_out_of_the_pairs() -> None:
    found = made_up(FIVE_CELLS)
    del found.minima[T20]["new"][3]
    assert [contest.placements for contest in found.table()] == [15, 16, 16, 16, 16]


def test_minima_are_those_of_each_placement_without_the_disturbed() -> None:
    cells = [Cell("new", 20, "fixed", 0, "throughput", "hot", "plain")]
    samples = samples_of(cells, [[5.0, 4.0, 9.0, 7.0, 6.0, 3.0]])
    samples["placement"] = [0, 0, 1, 1, 2, 2]
    samples["flags"] = [0, 0, 0, 0, 1, 1]
    assert contests.minima_of(samples, cells, HOST.unit) == {T20: {"new": {0: 4.0, 1: 7.0}}}


@pytest.mark.parametrize(
    ("ratios", "mean"), [([2.0, 8.0], 4.0), ([0.5, 2.0], 1.0), ([0.7], 0.7), ([1.0, 10.0, 100.0], 10.0)]
)
def test_geometric_mean(ratios: list[float], mean: float) -> None:
    assert geometric_mean(ratios) == pytest.approx(mean)


def test_geometric_mean_of_nothing_is_not_a_number() -> None:
    assert math.isnan(geometric_mean([]))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (20, "20"),
        (16384, "16384"),
        (131072, "128 KiB"),
        (1 << 20, "1 MiB"),
        (1 << 26, "64 MiB"),
        (65537, "65537"),
    ],
)
def test_sizes_as_people_say_them(size: int, text: str) -> None:
    assert size_text(size) == text


# The file


def test_a_race_comes_back_from_its_file(tmp_path: Path) -> None:
    before = drawn_race(15, 9.0, 0.05)
    before.save(tmp_path / "race.json")
    after = Race.load(tmp_path / "race.json")
    assert (after.host, after.about, after.minima) == (before.host, before.about, before.minima)
    assert after.text() == before.text()
    assert after.sweep is None
    assert [file.name for file in tmp_path.iterdir()] == ["race.json"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no file of a race"),
        ("[1]", "is no file of a race"),
        ('{"kind": "fastcksum race"}', "is no file of a race"),
        ('{"kind": "other", "schema": 1}', "is a 'other' of schema 1"),
        (
            '{"kind": "fastcksum race", "schema": 99}',
            "is a 'fastcksum race' of schema 99; this version reads",
        ),
        ('{"kind": "fastcksum race", "schema": 1}', "is damaged"),
    ],
)
def test_a_file_that_is_none_of_a_race(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"x.json {words}"):
        Race.load(path)
