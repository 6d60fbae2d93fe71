"""Where the code lies at each placement: residues equally often, pairs in a Latin square, kernels independent."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcksum.lab._bench.places import Place, check_placements, draw_places, nearest

SEEDS = st.integers(0, 2**32)
KERNELS = st.integers(0, 40)


def residues(places: list[Place]) -> list[tuple[int, int]]:
    return [(place.kernel % 64 // 16, place.loops % 64 // 16) for place in places]


@given(SEEDS, KERNELS, st.integers(1, 24))
def test_each_residue_comes_equally_often(seed: int, kernel: int, fours: int) -> None:
    places = draw_places(4 * fours, kernel, seed)
    assert all(0 <= at < 4096 and at % 16 == 0 for place in places for at in place)
    for side in (0, 1):
        assert Counter(pair[side] for pair in residues(places)) == dict.fromkeys(range(4), fours)


@given(SEEDS, KERNELS, st.integers(1, 6))
def test_each_pair_of_residues_comes_once_in_sixteen(seed: int, kernel: int, sixteens: int) -> None:
    pairs = Counter(residues(draw_places(16 * sixteens, kernel, seed)))
    assert pairs == {(a, b): sixteens for a in range(4) for b in range(4)}


@given(SEEDS, KERNELS)
def test_lines_are_spread_over_the_page(seed: int, kernel: int) -> None:
    places = draw_places(64, kernel, seed)
    for side in (0, 1):
        lines = [place[side] // 64 for place in places]
        assert len(set(lines)) == 64
        for i in range(0, 64, 4):
            assert {line // 16 for line in lines[i : i + 4]} == set(range(4))
        for i in range(0, 64, 16):
            assert {line // 4 for line in lines[i : i + 16]} == set(range(16))


@given(SEEDS, KERNELS, st.integers(0, 200), st.integers(1, 100))
def test_more_placements_are_added_to_those_that_were_drawn(
    seed: int, kernel: int, n: int, more: int
) -> None:
    assert draw_places(n, kernel, seed) + draw_places(more, kernel, seed, n) == draw_places(
        n + more, kernel, seed
    )


def test_another_seed_and_another_copy_lie_elsewhere() -> None:
    assert draw_places(16, 0, 1) != draw_places(16, 0, 2)
    assert not set(draw_places(32, 0, 1)) & set(draw_places(32, 1, 1))


# Of 16 pairs of residues each is expected 400 times in 6400 placements, give or take 20 if they are independent.
@pytest.mark.parametrize(("this", "other"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_kernel_and_its_copy_are_independent(this: int, other: int) -> None:
    table: Counter[tuple[int, int]] = Counter()
    moves: Counter[int] = Counter()
    for seed in range(200):
        first, copy = draw_places(32, 0, seed), draw_places(32, 2, seed)
        table.update((a[this] % 64 // 16, b[other] % 64 // 16) for a, b in zip(first, copy, strict=True))
        moves.update((b[other] - a[this]) // 64 % 64 for a, b in zip(first, copy, strict=True))
    assert len(table) == 16
    assert all(300 < count < 500 for count in table.values())
    assert len(moves) == 64
    assert all(50 < count < 160 for count in moves.values())


def test_lines_and_residues_are_independent() -> None:
    table = Counter(
        (place.kernel // 1024, place.kernel % 64 // 16)
        for seed in range(200)
        for place in draw_places(32, 0, seed)
    )
    assert len(table) == 16
    assert all(300 < count < 500 for count in table.values())


def test_the_order_of_residues_is_drawn() -> None:
    steps = Counter(
        (b - a) % 4 for seed in range(100) for (a, _), (b, _) in pairwise(residues(draw_places(16, 0, seed)))
    )
    assert set(steps) == set(range(4))  # a lattice has one step, or two


@pytest.mark.parametrize("n", [1, 4, 16, 32, 1024])
def test_placements_that_may_be_asked_for(n: int) -> None:
    check_placements(n)


@pytest.mark.parametrize(("n", "next_one"), [(0, 4), (-4, 4), (2, 4), (10, 12), (33, 36), (1028, 1024)])
def test_other_numbers_are_refused_with_the_next_one(n: int, next_one: int) -> None:
    with pytest.raises(
        ValueError, match=f"placements must be 1 or a multiple of 4 up to 1024, not {n}: .* {next_one} is"
    ):
        check_placements(n)
    assert nearest(n) == next_one
