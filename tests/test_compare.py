"""compare(): its verdicts on samples that were made up, with seeds; one short run on the machine. No clock decides."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from made_up_sweep import cell, facts, samples_of, sweep_of

from fastcksum import lab
from fastcksum.lab._compare import judge, verdict

A, B, COPY = "a", "b", "a (second copy)"


def made_up(
    random: np.random.Generator,
    *,
    ratio: float = 1.0,
    noise: float = 0.002,
    placement_spread: float = 0.0,
    sizes: tuple[int, ...] = (1500,),
    units: int = 10,
) -> lab.Sweep:
    """A sweep of a, b and a second copy of a: b takes `ratio` times as long, each unit has its own place and noise."""
    cells = [cell(name, size) for name in (A, B, COPY) for size in sizes]
    parts = []
    for placement in range(units):
        ticks = []
        for each in cells:
            true = 100.0 * (ratio if each.kernel == B else 1.0)
            place = random.normal(0, placement_spread)
            # the minimum of a unit is a little off, its other rounds lie above it
            floor = true * math.exp(place + random.normal(0, noise))
            ticks.append([floor * factor for factor in (1.0, 1.01, 1.02, 1.3)])
        part = samples_of(cells, ticks)
        part["placement"] = placement
        parts.append(part)
    return sweep_of(
        [facts(A), facts(B), facts(COPY)], cells, [[1.0]], samples=np.concatenate(parts), placements=units
    )


def verdicts(found: lab.Comparison) -> list[str]:
    return [ratio.verdict for ratio in found.table()]


def test_a_clear_difference_is_found_with_its_size() -> None:
    [ratio] = judge(made_up(np.random.default_rng(1), ratio=0.8), A, B, COPY).table()
    assert ratio.ratio == pytest.approx(0.8, rel=0.01)
    assert ratio.low < ratio.ratio < ratio.high < 1
    assert 1 < ratio.noise_floor < 1.02
    assert ratio.verdict == f"b is {1 - ratio.ratio:.1%} faster than a"
    [slower] = judge(made_up(np.random.default_rng(1), ratio=1.5), A, B, COPY).table()
    assert slower.verdict == f"b is {slower.ratio - 1:.1%} slower than a"


def test_two_kernels_alike_are_rarely_told_apart() -> None:
    random = np.random.default_rng(2)
    wrong = sum(
        verdicts(judge(made_up(random), A, B, COPY)) != ["no difference resolved"] for _ in range(400)
    )
    # x(2)..x(9) of ten misses with probability 22/1024 = 2.1 %, less what the floor catches: 8.6 +- 2.9 at most
    assert wrong <= 18


def test_two_percent_are_found_and_held() -> None:
    random = np.random.default_rng(3)
    found = [judge(made_up(random, ratio=1.02, noise=0.004), A, B, COPY).table()[0] for _ in range(200)]
    assert sum("slower" in each.verdict for each in found) >= 190
    assert (
        sum(each.low <= 1.02 <= each.high for each in found) >= 190
    )  # 97.9 % of 200, less two standard deviations


def test_the_noise_floor_hides_what_placement_can_make() -> None:
    random = np.random.default_rng(4)
    found = [
        judge(made_up(random, ratio=1.02, placement_spread=0.2), A, B, COPY).table()[0] for _ in range(50)
    ]
    assert sum(each.verdict.startswith("no difference resolved") for each in found) >= 45
    assert np.median([each.noise_floor for each in found]) > 1.1


def test_bonferroni_widens_the_intervals() -> None:
    random = np.random.default_rng(5)
    one = judge(made_up(random, sizes=(20,)), A, B, COPY).table()[0]
    random = np.random.default_rng(5)
    many = judge(made_up(random, sizes=(20, *range(100, 1100, 100))), A, B, COPY).table()
    assert len(many) == 11
    units = made_up(np.random.default_rng(6), sizes=(20,))
    strict, loose = (judge(units, A, B, COPY, confidence).table()[0] for confidence in (0.998, 0.9))
    assert strict.low <= loose.low < loose.high <= strict.high
    assert strict.high - strict.low > loose.high - loose.low
    assert one.low <= one.ratio <= one.high


def test_a_unit_without_a_sample_is_left_out() -> None:
    sweep = made_up(np.random.default_rng(7), ratio=0.5, units=11)
    sweep.samples["flags"][(sweep.samples["placement"] == 3) & (sweep.samples["kernel"] == B)] = 1
    [ratio] = judge(sweep, A, B, COPY).table()
    assert ratio.ratio == pytest.approx(0.5, rel=0.01)


def test_too_few_units_are_an_error_that_says_how_many() -> None:
    with pytest.raises(ValueError, match="5 units can't carry"):
        judge(made_up(np.random.default_rng(8), units=5), A, B, COPY)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.0, -0.1, 0.1, 0.0), "no difference resolved"),
        ((0.1, 0.0, 0.2, 0.0), "no difference resolved"),
        ((0.01, 0.005, 0.02, 0.01), "no difference resolved: within the noise floor"),
        ((-0.01, -0.02, -0.005, 0.02), "no difference resolved: within the noise floor"),
        ((math.log(1.25), 0.1, 0.3, 0.05), "new is 25.0% slower than old"),
        ((math.log(0.75), -0.4, -0.1, 0.05), "new is 25.0% faster than old"),
    ],
)
def test_verdicts_in_words(numbers: tuple[float, float, float, float], words: str) -> None:
    assert verdict(*numbers, ("old", "new")) == words


def test_text_has_a_line_a_cell_and_fits_in_a_mail() -> None:
    found = judge(made_up(np.random.default_rng(9), ratio=0.5, sizes=(20, 1500)), A, B, COPY)
    lines = found.text().splitlines()
    assert max(map(len, lines)) <= 100
    assert sum("% faster" in line for line in lines) == 2
    assert any("b compared with a" in line for line in lines)
    assert "Imaginary CPU 3000" in lines[0]
    assert str(found) == found.text()
    frame = found.frame()
    assert list(frame.columns) == list(lab.Ratio._fields)
    assert list(frame["size"]) == [20, 1500]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"placements": 9}, "placements x processes must be at least 10, not 9 x 1"),
        ({"placements": 2, "processes": 4}, "at least 10, not 2 x 4"),
        ({"confidence": 1.0}, "confidence must be in 0.5..1, below 1, not 1.0"),
        ({"mode": "speed"}, "mode 'speed' is unknown"),
    ],
)
def test_what_can_not_be_asked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lab.compare("reference", "portable64", 20, 0, **options)


def test_no_compiler_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastcksum.lab._bench import links

    def no_compiler(*_: object) -> None:
        raise lab.CompileError("compiler 'gcc' is not on the PATH")

    monkeypatch.setattr(links, "compiled", no_compiler)
    with pytest.raises(ValueError, match=r"a comparison needs a compiler .*'gcc' is not on the PATH"):
        lab.compare("reference", "portable64", 20, 0, rounds=1)


@pytest.mark.needs_tool("gcc")
def test_on_the_machine() -> None:
    found = lab.compare("reference", "portable64", (20, 1500), (0, 1), placements=10, rounds=4, seed=1)
    assert (found.a, found.b, found.units) == ("reference", "portable64", 12)
    assert [(ratio.size, ratio.offset) for ratio in found.table()] == [(20, 0), (20, 1), (1500, 0), (1500, 1)]
    assert all(ratio.low <= ratio.ratio <= ratio.high for ratio in found.table())
    assert found.sweep.plan.placements == 12
    assert {row.kernel for row in found.sweep.table()} == {
        "reference",
        "portable64",
        "reference (second copy)",
    }


@pytest.mark.needs_tool("gcc")
def test_more_cells_take_more_placements() -> None:
    found = lab.compare("reference", "reference", range(20, 46), 0, placements=10, rounds=1, seed=1)
    assert found.units == 12  # 2 / 2**10 is more than 5 % shared out to 26 cells, and 11 is no multiple of 4
    assert found.b == "reference (b)"


@pytest.mark.needs_tool("gcc")
def test_mixed_lengths_are_compared() -> None:
    found = lab.compare("reference", "portable64", mode="mixed", lengths={"1..9": (1, 9)}, rounds=3)
    assert [(ratio.distribution, ratio.mode) for ratio in found.table()] == [
        ("1..9", "mixed"),
        ("1..9", "mixed dependent"),
    ]
    assert "1..9" in found.text()
    assert dataclasses.is_dataclass(found)
