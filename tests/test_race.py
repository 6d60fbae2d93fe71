"""The race: its arithmetic on sweeps that nobody measured, its course on a few cells. No clock decides."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from made_up_sweep import HOST, facts, sweep_of

from fastcksum import cli, kernels, lab
from fastcksum.cli import _parser
from fastcksum.lab import _race
from fastcksum.lab._bench import job
from fastcksum.lab._bench import links as _links
from fastcksum.lab._figures.contests import Case, Contest, contests, geometric_mean, size_text
from fastcksum.lab._figures.record import IMIX, Cell
from fastcksum.lab._race import Race

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fastcksum import Kernel

T20, T40, L40 = (
    Case("throughput", 20, "fixed", 0),
    Case("throughput", 40, "fixed", 1),
    Case("latency", 40, "fixed", 0),
)
IND, DEP = Case("mixed", 0, "imix", -1), Case("mixed dependent", 0, "imix", -1)
ROLES = {
    "new": "production",
    "old": "production",
    "peer_a": "peer",
    "peer_b": "peer",
    "past_c": "past",
    "load_only_512": "yardstick",
    "nothing": "yardstick",
    "x86_64_adc": "production",
    "linux_before": "past",
    "linux_after": "past",
    "linux_2023": "peer",
}


def made_up(
    ticks: Mapping[Case, Mapping[str, float]], chosen: str = "new", host: lab.Host = HOST, **plan: Any
) -> Race:
    """A race with these ticks a call."""
    cells = [
        Cell(name, p.size, p.distribution, p.offset, p.mode, "hot", "plain")
        for p in ticks
        for name in ticks[p]
    ]
    names = list(dict.fromkeys(cell.kernel for cell in cells))
    figures = [[figure] for of_case in ticks.values() for figure in of_case.values()]
    sweep = sweep_of([facts(name, role=ROLES[name]) for name in names], cells, figures, host=host, **plan)
    return Race(sweep, chosen)


FIVE_CELLS = {
    T20: {"new": 4.0, "old": 3.0, "peer_a": 5.0, "peer_b": 8.0, "past_c": 6.0, "nothing": 2.0},
    T40: {"new": 6.0, "old": 9.0, "peer_a": 5.0, "peer_b": 8.0, "past_c": 3.0, "nothing": 2.0},
    L40: {"new": 12.0, "old": 9.0, "peer_a": 15.0, "peer_b": 10.0},
    IND: {"new": 10.0, "old": 12.0, "peer_a": 20.0, "peer_b": 40.0},
    DEP: {"new": 10.0, "old": 12.0, "peer_a": 80.0, "peer_b": 10.0},
}


# The arithmetic


@pytest.mark.parametrize(
    ("ratios", "mean"), [([2.0, 8.0], 4.0), ([0.5, 2.0], 1.0), ([0.7], 0.7), ([1.0, 10.0, 100.0], 10.0)]
)
def test_geometric_mean(ratios: list[float], mean: float) -> None:
    assert geometric_mean(ratios) == pytest.approx(mean)


def test_geometric_mean_of_nothing_is_not_a_number() -> None:
    assert math.isnan(geometric_mean([]))


def test_each_cell_goes_against_its_best_peer() -> None:
    assert made_up(FIVE_CELLS).table() == [
        Contest(*T20, 4.0, "peer_a", 5.0, 0.8, "old", 3.0),
        Contest(*T40, 6.0, "past_c", 3.0, 2.0, "new", 6.0),
        Contest(*L40, 12.0, "peer_b", 10.0, 1.2, "old", 9.0),
        Contest(*IND, 10.0, "peer_a", 20.0, 0.5, "new", 10.0),
        Contest(*DEP, 10.0, "peer_b", 10.0, 1.0, "new", 10.0),
    ]


def test_another_kernel_can_be_judged() -> None:
    found = made_up(FIVE_CELLS, "old")
    assert [contest.ticks for contest in found.table()] == [3.0, 9.0, 9.0, 12.0, 12.0]
    assert [contest.fastest for contest in found.table()] == ["old", "new", "old", "new", "new"]
    assert made_up(FIVE_CELLS, "peer_a").peers == ["peer_b", "past_c"]


def test_means_by_mode_and_over_all() -> None:
    found = {mean.what: mean for mean in made_up(FIVE_CELLS).means()}
    assert list(found) == [
        "throughput",
        "latency",
        "mixed, independent calls",
        "mixed, dependent calls",
        "mixed, both",
        "all cells",
    ]
    assert found["throughput"].ratio == pytest.approx(math.sqrt(0.8 * 2.0))
    assert found["latency"].ratio == pytest.approx(1.2)
    assert found["mixed, both"].ratio == pytest.approx(math.sqrt(0.5 * 1.0))
    assert found["all cells"].ratio == pytest.approx((0.8 * 2.0 * 1.2 * 0.5 * 1.0) ** (1 / 5))
    assert {what: (mean.cells, mean.lost) for what, mean in found.items()} == {
        "throughput": (2, 1),
        "latency": (1, 1),
        "mixed, independent calls": (1, 0),
        "mixed, dependent calls": (1, 0),
        "mixed, both": (2, 0),
        "all cells": (5, 2),
    }


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


def test_lost_cells_have_the_worst_first() -> None:
    assert [(contest.case, contest.peer) for contest in made_up(FIVE_CELLS).lost()] == [
        (T40, "past_c"),
        (L40, "peer_b"),
    ]


@pytest.mark.parametrize(("ratio", "lost"), [(1.0, False), (1.004, False), (1.006, True), (0.5, False)])
def test_a_cell_is_lost_by_what_two_decimals_show(ratio: float, lost: bool) -> None:
    [contest] = contests({T20: {"new": ratio, "peer_a": 1.0}}, "new", [], ["peer_a"])
    assert contest.lost is lost


def disturb(found: Race, kernel: str, case: Case) -> None:
    """Flags every sample of a kernel in a cell."""
    samples = found.sweep.samples
    cell = (
        (samples["mode"] == case.mode) & (samples["size"] == case.size) & (samples["offset"] == case.offset)
    )
    samples["flags"][cell & (samples["kernel"] == kernel)] = 1


def test_a_figure_that_is_missing_is_no_contest_and_is_said() -> None:
    found = made_up(FIVE_CELLS)
    disturb(found, "peer_b", L40)  # its best peer
    disturb(found, "peer_b", T20)  # not its best peer; but who knows
    disturb(found, "new", DEP)
    disturb(found, "old", T40)
    assert [contest.case for contest in found.table()] == [T40, IND]
    assert found.table()[0].fastest == "new"
    words = " ".join(found.text().split())
    assert "No figure at latency 40 +0, since the thread was disturbed in every sample: peer_b." in words
    assert "No figure at mixed dependent imix, since the thread was disturbed in every sample: new." in words
    assert "Dropped: 4 of " in words
    _, peer_a, peer_b = sorted(found.singles(), key=lambda single: single.peer)
    assert (peer_a.peer, peer_a.cells, peer_b.peer, peer_b.cells) == ("peer_a", 4, "peer_b", 2)


# Who runs, and where


def kernel(name: str, role: Any, *, runs_here: bool = True, bits: int = 0, max_len: int = 2**63) -> Kernel:
    return dataclasses.replace(
        kernels()[0], name=name, role=role, runs_here=runs_here, vector_bits=bits, max_len=max_len
    )


def test_who_runs() -> None:
    known = [
        kernel("a", "production"),
        kernel("b", "production", runs_here=False),
        kernel("c", "production"),
        kernel("reference", "reference"),
        kernel("old", "past"),
        kernel("other", "peer"),
        kernel("elsewhere", "peer", runs_here=False),
        kernel("nothing", "yardstick"),
        kernel("load_only_16", "yardstick", bits=128),
        kernel("load_only_32", "yardstick", bits=256),
        kernel("load_only_64", "yardstick", bits=512, runs_here=False),
    ]
    assert [each.name for each in _race.entrants(known, known[2])] == [
        "c",
        "a",
        "old",
        "other",
        "nothing",
        "load_only_32",
    ]
    assert [each.name for each in _race.entrants(known[3:4], known[3])] == ["reference"]


def cases_of(wanted: Callable[[str], bool]) -> list[tuple[Case, str]]:
    known = [
        kernel("a", "production"),
        kernel("short", "past", max_len=131072),
        kernel("load_only_32", "yardstick"),
    ]
    cells, _ = _race.lay_out(known)
    return [
        (Case(cell.mode, cell.size, cell.distribution, cell.offset), cell.kernel)
        for cell in cells
        if wanted(cell.kernel)
    ]


def test_the_cells_of_the_race() -> None:
    cases = [case for case, _ in cases_of("a".__eq__)]
    assert len(cases) == len(set(cases)) == 36 + 9 + 8
    assert {(case.size, case.offset) for case in cases if case.mode == "throughput"} == {
        (size, offset)
        for size in (
            *(20, 21, 40, 64, 100, 101, 128, 256, 576, 1500, 1501),
            *(4096, 9000, 9001, 16384, 131072, 1048576, 67108864),
        )
        for offset in (0, 1)
    }
    latency = {(case.size, case.offset) for case in cases if case.mode == "latency"}
    assert latency == {(size, 0) for size in (20, 40, 64, 100, 128, 256, 576, 1500, 9000)}
    for mode in ("mixed", "mixed dependent"):
        mixes = {case.distribution for case in cases if case.mode == mode}
        assert mixes == {"1..32", "1..128", "1..1500", "imix"}
    assert _race.MIXES["imix"] == IMIX == {40: 7, 576: 4, 1500: 1}


def test_loads_are_timed_where_they_are_compared_and_short_kernels_where_they_are_right() -> None:
    assert {case.size for case, _ in cases_of("load_only_32".__eq__)} == {4096, 9000, 9001, 16384}
    assert {case.mode for case, _ in cases_of("load_only_32".__eq__)} == {"throughput"}
    assert max(case.size for case, _ in cases_of("short".__eq__)) == 131072
    _, left_out = _race.lay_out([kernel("short", "past", max_len=131072)])
    assert left_out == [
        "short at 1048576 bytes: it is right for 0 to 131072 bytes only",
        "short at 67108864 bytes: it is right for 0 to 131072 bytes only",
    ]


# The course


@pytest.fixture
def short_course(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three kernels on seven cells."""
    monkeypatch.setattr(_race, "THROUGHPUT_SIZES", (20, 4096))
    monkeypatch.setattr(_race, "LATENCY_SIZES", (40,))
    monkeypatch.setattr(_race, "MIXES", {"1..32": (1, 32)})
    monkeypatch.setattr(_race, "LARGE", 4096)
    known = {each.name: each for each in kernels()}
    field = [known[name] for name in ("portable64", "linux_after", "nothing")]
    monkeypatch.setattr(_race, "kernels", lambda: field)


@pytest.mark.needs_tool("gcc")
def test_every_round_visits_every_cell(short_course: None) -> None:
    seen: list[tuple[int, int]] = []
    found = _race.race(
        "portable64", rounds=3, placements=4, seed=1, progress=lambda done, total: seen.append((done, total))
    )
    assert found.chosen == "portable64"
    assert seen == [(done, 3 + 4 * 3) for done in range(1, 16)]
    samples, plan = found.sweep.samples, found.sweep.plan
    assert (plan.placements, plan.processes, plan.rounds_done, plan.interrupted) == (4, 1, 3, False)
    assert len(plan.cells) == 7 * 3
    assert set(samples["process"]) == {0}
    small = samples[samples["size"] < 4096]
    assert len(small) == 5 * 3 * 3 * 4
    assert {(number // 3, number) for number in range(12)} == set(
        zip(small["placement"].tolist(), small["round"].tolist(), strict=True)
    )
    for number in range(12):
        assert len(set(small["cell"][small["round"] == number])) == 5 * 3
    large = samples[samples["size"] == 4096]
    assert set(large["placement"]) == set(range(_race.FULL.large_placements))
    assert len(large) == 2 * 3 * 3 * _race.FULL.large_placements
    assert {contest.case for contest in found.table()} == {
        *(Case("throughput", size, "fixed", offset) for size in (20, 4096) for offset in (0, 1)),
        L40,
        Case("mixed", 0, "1..32", -1),
        Case("mixed dependent", 0, "1..32", -1),
    }
    assert {contest.peer for contest in found.table()} == {"linux_after"}
    row = next(row for row in found.sweep.table() if row.kernel == "portable64")
    assert row.samples + row.dropped == 12
    assert row.placement_low <= row.ticks_per_call <= row.placement_high


@pytest.mark.needs_tool("gcc")
def test_places_differ_between_placements_and_kernels(short_course: None) -> None:
    found = _race.race("portable64", quick=True, rounds=1, seed=1)
    places = [place for of_kernel in found.sweep.plan.places.values() for place in of_kernel]
    assert len(places) == len(set(places)) == 4 * 3
    large = found.sweep.samples[found.sweep.samples["size"] == 4096]
    assert set(large["placement"]) == {0}  # quick: 64 MiB at one place


def test_without_a_compiler_there_is_one_placement(
    short_course: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_compiler(*_: object) -> None:
        raise lab.CompileError("compiler 'gcc' is not on the PATH\nmore")

    monkeypatch.setattr(_links, "compiled", no_compiler)
    found = _race.race("portable64", rounds=2, placements=8, seed=1)
    assert found.sweep.plan.placements == 1
    words = " ".join(found.text().split())
    assert "8 placements were asked for: compiler 'gcc' is not on the PATH)" in words
    assert not found.sweep.plan.interrupted


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize(("at", "passes", "rounds"), [(4, 1, 1), (5, 1, 2), (7, 2, 1), (3 + 12, 4, 3)])
def test_ctrl_c_keeps_the_whole_rounds(short_course: None, at: int, passes: int, rounds: int) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == at:
            raise KeyboardInterrupt

    found = _race.race("portable64", rounds=3, placements=4, seed=1, progress=interrupt)
    plan = found.sweep.plan
    assert (plan.placements, plan.rounds_done) == (passes, rounds)
    assert plan.interrupted is (at != 15)
    assert len(set(found.sweep.samples["round"])) == 3 * (passes - 1) + rounds
    assert ("Interrupted: " in found.text()) is (at != 15)


def test_ctrl_c_before_the_first_round_ends_it(short_course: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _race.race("portable64", rounds=3, placements=1, seed=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"placements": 0}, "placements must be 1 or a multiple of 4 up to 1024, not 0"),
        ({"placements": 10}, "not 10: .* 12 is the next"),
        ({"seed": -1}, "seed must not be negative: -1"),
        ({"kernel": "unheard"}, "kernel 'unheard' is unknown"),
    ],
)
def test_what_can_not_be_asked(short_course: None, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        _race.race(**{"kernel": "portable64", **options})


# Text


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


def test_text_holds_every_cell_and_fits_in_a_mail() -> None:
    large = Case("throughput", 1 << 26, "fixed", 1)
    ticks = {**FIVE_CELLS, large: {"new": 12345678.4, "peer_a": 13951819.0, "load_only_512": 9.0}}
    found = made_up(ticks, left_out=("short at 99 bytes: it is right for 0 to 9 bytes only",))
    lines = found.text().splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("CPU:          Imaginary CPU 3000")
    cells = [line.split() for line in lines]
    assert ["20", "+0", "4.0", "5.0", "peer_a", "0.80", "3.0", "old"] in cells
    assert ["40", "+1", "6.0", "3.0", "past_c", "2.00", "lost"] in cells
    assert ["40", "+0", "12.0", "10.0", "peer_b", "1.20", "lost", "9.0", "old"] in cells
    assert ["64", "MiB", "+1", "12345678", "13951819", "peer_a", "0.88"] in cells
    assert ["imix", "ind.", "10.0", "20.0", "peer_a", "0.50"] in cells
    assert ["imix", "dep.", "10.0", "10.0", "peer_b", "1.00"] in cells
    assert ["throughput", "1.123", "3", "1"] in cells  # cube root of 0.8 * 2.0 * 0.885
    assert ["### Lost: 2 of 6 cells"] in [[line] for line in lines]
    assert "Left out: short at 99 bytes: it is right for 0 to 9 bytes only." in lines
    assert str(found) == found.text()
    assert list(found.frame().columns) == list(Contest._fields)
    assert len(found.frame()) == 6


# The command


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asked of race(), which gives a race that was made up."""
    seen: dict[str, Any] = {}

    def race(kernel: str | None = None, **options: Any) -> Race:
        seen.update(options, kernel=kernel)
        return made_up(FIVE_CELLS)

    monkeypatch.setattr(_race, "race", race)
    return seen


def test_the_command_prints_the_text(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race"]) == 0
    assert capsys.readouterr().out == made_up(FIVE_CELLS).text()
    assert asked == {
        "kernel": None,
        "quick": False,
        "rounds": None,
        "placements": None,
        "seed": None,
        "huge_pages": False,
    }


def test_the_command_passes_its_options_on(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = "race --quick --kernel avx2 --rounds 5 --placements 2 --seed 7 --huge-pages --save"
    assert cli.main([*words.split(), str(tmp_path / "race.json")]) == 0
    assert asked == {
        "kernel": "avx2",
        "quick": True,
        "rounds": 5,
        "placements": 2,
        "seed": 7,
        "huge_pages": True,
    }
    saved = lab.Sweep.load(tmp_path / "race.json")
    assert Race(saved, "new").table() == made_up(FIVE_CELLS).table()


def test_the_command_gives_json(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["chosen"] == "new"
    assert found["host"]["cpu"] == "Imaginary CPU 3000"
    assert len(found["rows"]) == 24
    assert found["contests"][0] == {
        **T20._asdict(),
        "ticks": 4.0,
        "peer": "peer_a",
        "peer_ticks": 5.0,
        "ratio": 0.8,
        "fastest": "old",
        "fastest_ticks": 3.0,
    }
    assert [contest["size"] for contest in found["lost"]] == [40, 40]
    assert found["means"][-1]["what"] == "all cells"
    assert found["singles"][0]["peer"] == "past_c"
    assert found["singles"][0]["latency"] is None


def test_the_command_says_what_can_not_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race", "--kernel", "unheard"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fastcksum: kernel 'unheard' is unknown")


def test_an_interrupted_race_has_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_race, "race", lambda *_, **__: made_up(FIVE_CELLS, interrupted=True))
    assert cli.main(["race"]) == 130
    assert "Interrupted: these are the figures of the rounds that were done." in capsys.readouterr().out


def test_help_ends_with_an_example_that_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["race", "--help"])
    assert stop.value.code == 0
    example = capsys.readouterr().out.rstrip().rsplit("example:\n  fastcksum ", 1)[1]
    assert _parser.parser().parse_args(example.split()).run is cli.race.run
