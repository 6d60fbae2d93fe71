"""compare(): its verdicts on samples that were made up, with seeds; one short run on the machine. No clock decides."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pytest
from made_up_sweep import cell, facts, samples_of, sweep_of

from fastcksum import cli, lab
from fastcksum.lab._bench import runner
from fastcksum.lab._figures.comparison import Comparison, judge, undecided

A, B, COPY = "a", "b", "a (second copy)"


def made_up(
    random: np.random.Generator,
    *,
    ratio: float = 1.0,
    noise: float = 0.002,
    placement_spread: float = 0.0,
    sizes: tuple[int, ...] = (1500,),
    placements: int = 32,
) -> lab.Sweep:
    """A sweep of a, b and a second copy of a: b takes `ratio` times as long, each placement has its own cost and
    noise.
    """
    cells = [cell(name, size) for name in (A, B, COPY) for size in sizes]
    parts = []
    for placement in range(placements):
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
        [facts(A), facts(B), facts(COPY)],
        cells,
        [[1.0]],
        samples=np.concatenate(parts),
        placements=placements,
    )


def verdicts(found: Comparison) -> list[str]:
    return [ratio.verdict for ratio in found.table()]


def test_a_clear_difference_is_found_with_its_size() -> None:
    [ratio] = judge(made_up(np.random.default_rng(1), ratio=0.8), A, B, COPY).table()
    assert ratio.ratio == pytest.approx(0.8, rel=0.01)
    assert ratio.low < ratio.ratio < ratio.high < 1
    assert 1 <= ratio.noise_floor < 1.02
    assert (ratio.verdict, ratio.text, ratio.placements) == ("faster", f"{1 / ratio.ratio:.2f}x faster", 32)
    assert (ratio.ticks_a, ratio.ticks_b) == pytest.approx((100, 80), rel=0.01)
    [slower] = judge(made_up(np.random.default_rng(1), ratio=1.5), A, B, COPY).table()
    assert (slower.verdict, slower.text) == ("slower", "1.50x slower")


def test_equal_kernels_are_the_same() -> None:
    source = np.random.default_rng(2)
    assert [verdicts(judge(made_up(source), A, B, COPY)) for _ in range(20)] == [["same"]] * 20


def test_rounds_and_processes_are_no_evidence() -> None:
    """Four placements in ten processes that agree with each other are four placements."""
    source = np.random.default_rng(3)
    parts = [made_up(source, placement_spread=0.05, placements=4)] * 10
    samples = np.concatenate([part.samples for part in parts])
    samples["process"] = np.repeat(np.arange(10), len(parts[0].samples))
    sweep = dataclasses.replace(
        parts[0], samples=samples, plan=dataclasses.replace(parts[0].plan, processes=10)
    )
    [ratio] = judge(sweep, A, B, COPY).table()
    assert (ratio.verdict, ratio.placements) == ("unresolved", 4)
    assert ratio.text == "unresolved: 4 are too few: 6 are needed"


def test_a_placement_counts_once_however_many_processes_measured_it() -> None:
    source = np.random.default_rng(4)
    first, other = (made_up(source, ratio=0.5) for _ in range(2))
    other.samples["process"] = 1
    other.samples["ticks"] *= 3  # a process with other pages, where all is slower
    both = dataclasses.replace(first, samples=np.concatenate([first.samples, other.samples]))
    [ratio] = judge(both, A, B, COPY).table()
    assert ratio.placements == 32
    assert ratio.ticks_a == pytest.approx(200, rel=0.02)  # the median of 100 and 300
    assert ratio.ratio == pytest.approx(0.5, rel=0.01)


def test_a_cell_that_lost_its_placements_takes_nothing_else_with_it() -> None:
    sweep = made_up(np.random.default_rng(7), ratio=0.5, sizes=(20, 1500))
    lost = (sweep.samples["size"] == 20) & (sweep.samples["placement"] >= 4) & (sweep.samples["kernel"] == B)
    sweep.samples["flags"][lost] = 1
    found = judge(sweep, A, B, COPY)
    short, long = found.table()
    assert (short.verdict, short.placements, math.isnan(short.ratio)) == ("unresolved", 4, True)
    assert short.text == (
        "unresolved: 28 of 32 placements have no sample without a flag, and 4 are too few: 7 are needed"
    )
    assert (long.verdict, long.placements) == ("faster", 32)
    assert "20 +0 unresolved: 28 of 32 placements" in found.text()


def test_a_figure_that_is_not_known_is_null_in_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = made_up(np.random.default_rng(7), placements=4)
    monkeypatch.setattr(lab, "compare", lambda *_, **__: judge(sweep, A, B, COPY))
    assert cli.main(["compare", A, B, "--json"]) == 0
    [ratio] = json.loads(capsys.readouterr().out)["ratios"]
    assert (ratio["verdict"], ratio["ratio"], ratio["noise_floor"]) == ("unresolved", None, None)


def test_a_placement_without_a_sample_is_left_out() -> None:
    sweep = made_up(np.random.default_rng(7), ratio=0.5)
    sweep.samples["flags"][(sweep.samples["placement"] == 3) & (sweep.samples["kernel"] == B)] = 1
    [ratio] = judge(sweep, A, B, COPY).table()
    assert ratio.ratio == pytest.approx(0.5, rel=0.01)
    assert ratio.placements == 31


def test_more_cells_and_more_looks_widen_the_intervals() -> None:
    sweep = made_up(np.random.default_rng(6), noise=0.01)
    [sure] = judge(sweep, A, B, COPY, confidence=0.9975).table()
    [loose] = judge(sweep, A, B, COPY, confidence=0.9).table()
    [first] = judge(sweep, A, B, COPY, confidence=0.9, looks=(32, 64, 128)).table()
    assert sure.low < first.low < loose.low < loose.high < first.high < sure.high
    many = judge(made_up(np.random.default_rng(6), noise=0.01, sizes=tuple(range(20, 60))), A, B, COPY)
    widths = [ratio.high - ratio.low for ratio in many.table()]
    assert np.median(widths) > 1.2 * (loose.high - loose.low)


def test_what_counts_as_the_same_can_be_said() -> None:
    sweep = made_up(np.random.default_rng(8), ratio=1.03)
    assert verdicts(judge(sweep, A, B, COPY)) == ["slower"]
    [same] = judge(sweep, A, B, COPY, within=0.05).table()
    assert (same.verdict, same.text) == ("same", "same within 5 %")


def test_text_fits_in_a_mail_and_holds_what_the_first_reply_asks_for() -> None:
    random = np.random.default_rng(9)
    sweep = made_up(random, ratio=0.5, sizes=(20, 1500))
    sweep.samples["flags"][5] = 2
    kernels = (
        facts(
            A, command=("clang-19", "-O3", "-march=x86-64-v3", "-I", "/home/me/csrc", "-c", "a" * 130 + ".c")
        ),
        facts(B),
        facts(COPY),
    )
    sweep = dataclasses.replace(
        sweep,
        plan=dataclasses.replace(sweep.plan, kernels=kernels, interrupted=True, rounds_done=3, rounds=10),
    )
    found = judge(sweep, A, B, COPY)
    lines = found.text().splitlines()
    assert max(map(len, lines)) <= 100
    whole = " ".join(found.text().split())
    for words in (
        "Imaginary CPU 3000", "seed 42", "CPU 3", "2026-01-02", "3 of 10 rounds", "b / a: b by a in ticks a call",
        "a: a: what a does; built by clang-19 -O3 -march=x86-64-v3 -I csrc -c",
        "b: b: what b does; built by gcc 12.2.0 -O3 -fPIC",
        "judged after 32 placements", "Dropped: 1 of ", "Interrupted: 3 of 10 rounds", "TSC cycles a call",
    ):  # fmt: skip
        assert words in whole, words
    [line] = [line for line in lines if line.startswith("      1500")]
    ratio = found.table()[1]
    assert line.split() == [
        "1500", "+0", f"{ratio.ticks_a:.1f}", f"{ratio.ticks_b:.1f}", f"{ratio.ratio:.3f}", f"{ratio.low:.3f}", "..",
        f"{ratio.high:.3f}", f"{ratio.noise_floor:.3f}", "32", *ratio.text.split(),
    ]  # fmt: skip
    assert str(found) == found.text()
    assert (
        repr(found)
        == "<Comparison: b by a: 2 faster, 0 slower, 0 same, 0 unresolved; .text() and .frame() show it>"
    )
    assert found._repr_html_().count("<tr>") == 3
    assert ratio.text in found._repr_html_()
    assert list(found.frame().columns) == list(lab.Ratio._fields)


# Stages, on a machine that is made up


class Machine:
    """Stands for the runner: each stage's samples are drawn, and what was asked of it is kept."""

    def __init__(self, ratio: dict[int, float], spread: float, interrupt_at: int | None = None) -> None:
        self.ratio, self.spread, self.interrupt_at = ratio, spread, interrupt_at
        self.random = np.random.default_rng(11)
        self.stages: list[tuple[int, int, list[int]]] = []

    def __call__(self, course: runner.Course, report: Any) -> tuple[Any, lab.Plan]:
        if self.interrupt_at == len(self.stages):
            raise KeyboardInterrupt
        self.stages.append((course.first, course.placements, sorted({cell.size for cell in course.cells})))
        parts = []
        for placement in range(course.first, course.first + course.placements):
            ticks = [
                [
                    100
                    * (self.ratio[each.size] if each.kernel == B else 1)
                    * math.exp(self.random.normal(0, self.spread))
                ]
                for each in course.cells
            ]
            parts.append(samples_of(course.cells, ticks))
            parts[-1]["placement"] = placement
        report(1, 1)
        made = sweep_of(
            [facts(kernel.name) for kernel in course.kernels],
            course.cells,
            [[1.0]],
            placements=course.placements,
            places={
                kernel.name: tuple((16 * i, 16 * i) for i in range(course.placements))
                for kernel in course.kernels
            },
        )
        return np.concatenate(parts), made.plan


def staged(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, sizes: Any = (20, 1500), **options: Any
) -> Comparison:
    monkeypatch.setattr(runner, "run", machine)
    first, second = (dataclasses.replace(lab_kernel("reference"), name=name) for name in (A, B))
    return lab.compare(first, second, sizes, 0, seed=1, progress=lambda *_: None, **options)


def lab_kernel(name: str) -> Any:
    from fastcksum import kernels

    return next(kernel for kernel in kernels() if kernel.name == name)


def test_stages_go_on_for_the_cells_that_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({20: 1.0, 1500: 2.0}, 0.03)
    found = staged(machine, monkeypatch)
    assert machine.stages == [(0, 32, [20, 1500]), (32, 32, [20]), (64, 64, [20])]
    assert [(ratio.verdict, ratio.placements) for ratio in found.table()] == [
        ("unresolved", 128),
        ("slower", 32),
    ]
    assert found.sweep.plan.placements == 128
    assert len(found.sweep.plan.places[A]) == 128
    assert undecided(found) == {dataclasses.replace(cell(A, 20), kernel="")}


def test_stages_end_when_all_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({20: 1.0, 1500: 2.0}, 0.001)
    assert verdicts(staged(machine, monkeypatch)) == ["same", "slower"]
    assert machine.stages == [(0, 32, [20, 1500])]


def test_stages_end_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({20: 1.0}, 0.03)
    assert verdicts(staged(machine, monkeypatch, 20, seconds=0)) == ["unresolved"]
    assert machine.stages == [(0, 32, [20])]


def test_ctrl_c_keeps_the_stages_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({20: 1.0, 1500: 2.0}, 0.03, interrupt_at=1)
    found = staged(machine, monkeypatch)
    assert verdicts(found) == ["unresolved", "slower"]
    assert found.sweep.plan.interrupted
    assert "Interrupted" in found.text()
    with pytest.raises(KeyboardInterrupt):
        staged(Machine({20: 1.0, 1500: 2.0}, 0.03, interrupt_at=0), monkeypatch)


def test_generators_and_repeated_sizes_are_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine({20: 1.0, 21: 1.0}, 0.001)
    found = staged(machine, monkeypatch, (size for size in (20, 21, 20)))
    assert [ratio.size for ratio in found.table()] == [20, 21]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"placements": 4}, "4 placements are too few: 1 cells at 95% need 6 at least, and processes don't"),
        ({"placements": 4, "processes": 5}, "4 placements are too few"),
        ({"placements": 30}, "placements must be 1 or a multiple of 4"),
        ({"placements": ()}, "placements must name at least one number, such as 32"),
        ({"confidence": 1.0}, "confidence must be in 0.5..1, below 1, not 1.0"),
        ({"within": -0.1}, "within must not be negative: -0.1"),
        ({"mode": "speed"}, "mode 'speed' is unknown"),
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
    ],
)
def test_what_can_not_be_asked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        lab.compare("reference", "portable64", 20, 0, **options)


def test_an_option_that_there_is_not_is_named_with_the_function() -> None:
    with pytest.raises(TypeError, match=r"compare\(\) got an unexpected keyword argument 'round'"):
        lab.compare("reference", "portable64", 20, 0, round=3)  # type: ignore[call-arg]


def test_no_compiler_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastcksum.lab._bench import links

    def no_compiler(*_: object) -> None:
        raise lab.CompileError("compiler 'gcc' is not on the PATH")

    monkeypatch.setattr(links, "compiled", no_compiler)
    with pytest.raises(ValueError, match=r"a comparison needs a compiler .*'gcc' is not on the PATH"):
        lab.compare("reference", "portable64", 20, 0, rounds=1)


@pytest.mark.needs_tool("gcc")
def test_on_the_machine() -> None:
    found = lab.compare("reference", "portable64", (20, 1500), (0, 1), rounds=2, placements=(12, 24), seed=1)
    assert (found.a, found.b, found.looks) == ("reference", "portable64", (12, 24))
    assert [(ratio.size, ratio.offset) for ratio in found.table()] == [(20, 0), (20, 1), (1500, 0), (1500, 1)]
    assert all(ratio.verdict in {"faster", "slower", "same", "unresolved"} for ratio in found.table())
    assert set(found.sweep.plan.places) == {"reference", "portable64", "reference (second copy)"}
    assert all(len(places) == found.sweep.plan.placements for places in found.sweep.plan.places.values())


@pytest.mark.needs_tool("gcc")
def test_mixed_lengths_are_compared_with_a_copy_of_itself() -> None:
    found = lab.compare(
        "reference", "reference", mode="mixed", lengths={"1..9": (1, 9)}, rounds=2, placements=8
    )
    assert [(ratio.distribution, ratio.mode) for ratio in found.table()] == [
        ("1..9", "mixed"),
        ("1..9", "mixed dependent"),
    ]
    assert found.b == "reference (b)"
    assert "1..9" in found.text()


@pytest.mark.needs_tool("gcc")
def test_more_placements_than_a_page_has_places_are_still_two_copies() -> None:
    """The second copy of a lies at places of its own, however many there are."""
    found = lab.compare("reference", "portable64", 20, 0, rounds=1, placements=128, seed=3)
    places = found.sweep.plan.places
    assert places["reference"] != places["reference (second copy)"]
    same = sum(a == b for a, b in zip(places["reference"], places["reference (second copy)"], strict=True))
    assert same < 8
