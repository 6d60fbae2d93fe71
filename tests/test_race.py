"""The race: its arithmetic on sweeps that nobody measured, its course on a few cells. No clock decides."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from made_up_race import FIVE_CELLS, L40, made_up
from made_up_sweep import facts, sweep_of

from fastcksum import kernels, lab
from fastcksum.lab import _race
from fastcksum.lab._bench import job
from fastcksum.lab._bench import links as _links
from fastcksum.lab._build import variants
from fastcksum.lab._build.variants import Variant
from fastcksum.lab._figures import race_text
from fastcksum.lab._figures.contests import Case, Contest, Runner
from fastcksum.lab._figures.record import IMIX, Cell
from fastcksum.lab._race import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastcksum import Kernel

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
    as_built, peers = _race.entrants(known, known[2])
    assert [(each.kernel.name, each.runner.kernel, each.runner.role) for each in as_built] == [
        ("c", "c", "chosen"),
        ("c (copy)", "c", "copy"),
        ("a", "a", "production"),
        ("nothing", "nothing", "yardstick"),
        ("load_only_32", "load_only_32", "yardstick"),
    ]
    assert [each.name for each in peers] == ["old", "other"]
    as_built, peers = _race.entrants(known[3:4], known[3])
    assert [each.kernel.name for each in as_built] == ["reference", "reference (copy)"]
    assert peers == []


def test_a_peer_that_no_compiler_builds_runs_as_it_lies() -> None:
    peers = [kernel("old", "past"), kernel("other", "peer")]
    built: Any = dataclasses.replace(peers[0], name="old [cc -O3]")
    variant = Variant("old", "cc -O3", built)
    assert [(each.kernel.name, *each.runner[:2]) for each in _race.enter(peers, [variant])] == [
        ("old [cc -O3]", "old", "past"),
        ("other", "other", "peer"),
    ]


def entry(name: str, role: Any = "peer", **more: Any) -> Entry:
    return Entry(kernel(name, role, **more), Runner(name.split(" [", maxsplit=1)[0], role, name))


def test_each_peer_runs_in_its_best_build_of_a_cell() -> None:
    grid = _race.grid_of()
    small, large = grid[0], next(cell for cell in grid if cell.size == _race.LARGE)
    at_longest = dataclasses.replace(large, size=_race.LONGEST_PICKED)
    builds = [entry("p [x]"), entry("p [y]"), entry("q [x]"), entry("r")]
    picked = {small: {"p [x]": 3.0, "p [y]": 2.0, "q [x]": 1.0}, at_longest: {"p [x]": 3.0, "p [y]": 4.0}}
    best = _race.best_builds(picked, builds, grid)
    assert best == {
        (small, "p"): "p [y]",
        (small, "q"): "q [x]",
        **{
            (cell, "p"): "p [x]"
            for cell in grid
            if cell.mode == "throughput" and cell.size >= _race.LONGEST_PICKED and cell.offset == 0
        },
    }
    cells, _ = _race.lay_out([entry("a", "production")], builds, [small, large], best)
    assert sorted((cell.size, cell.kernel) for cell in cells) == [
        *((small.size, name) for name in ("a", "p [y]", "q [x]", "r")),
        *((large.size, name) for name in ("a", "p [x]", "q [x]", "r")),
    ]


def cases_of(wanted: Callable[[str], bool]) -> list[tuple[Case, str]]:
    known = [
        entry("a", "production"),
        entry("short", "past", max_len=131072),
        entry("load_only_32", "yardstick"),
    ]
    cells, _ = _race.lay_out(known, [], _race.grid_of(), {})
    return [
        (Case(cell.mode, cell.size, cell.distribution, cell.offset), cell.kernel)
        for cell in cells
        if wanted(cell.kernel)
    ]


def test_the_cells_of_the_race() -> None:
    cases = [case for case, _ in cases_of("a".__eq__)]
    assert len(cases) == len(set(cases)) == 40 + 11 + 8
    assert {(case.size, case.offset) for case in cases if case.mode == "throughput"} == {
        (size, offset)
        for size in (
            *(20, 21, 40, 64, 100, 101, 128, 192, 256, 384, 576, 1500, 1501),
            *(4096, 9000, 9001, 16384, 131072, 1048576, 67108864),
        )
        for offset in (0, 1)
    }
    latency = {(case.size, case.offset) for case in cases if case.mode == "latency"}
    assert latency == {(size, 0) for size in (20, 40, 64, 100, 128, 192, 256, 384, 576, 1500, 9000)}
    for mode in ("mixed", "mixed dependent"):
        mixes = {case.distribution for case in cases if case.mode == mode}
        assert mixes == {"1..32", "1..128", "1..1500", "imix"}
    assert _race.MIXES["imix"] == IMIX == {40: 7, 576: 4, 1500: 1}


def test_loads_are_timed_where_they_are_compared_and_short_kernels_where_they_are_right() -> None:
    assert {case.size for case, _ in cases_of("load_only_32".__eq__)} == {4096, 9000, 9001, 16384}
    assert {case.mode for case, _ in cases_of("load_only_32".__eq__)} == {"throughput"}
    assert max(case.size for case, _ in cases_of("short".__eq__)) == 131072
    builds = [entry(f"short [{flags}]", "past", max_len=131072) for flags in ("-O2", "-O3")]
    _, left_out = _race.lay_out([], builds, _race.grid_of(), {})
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
        "portable64",
        rounds=3,
        placements=12,
        compilers=("gcc",),
        seed=1,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert found.chosen == "portable64"
    assert found.sweep is not None
    samples, plan = found.sweep.samples, found.sweep.plan
    names = [each["name"] for each in plan.kernels]
    builds = [name for name in names if name.startswith("linux_after [")]
    assert 1 <= len(builds) <= 2
    assert [name for name in names if name not in builds] == ["portable64", "portable64 (copy)", "nothing"]
    assert seen[:2] == [(1, 2), (2, 2)]  # the builds
    picks, run = 2 + 4 * _race.PICK.rounds, len(names) + 12 * 3
    assert seen[2:] == [*((n, picks) for n in range(1, picks + 1)), *((n, run) for n in range(1, run + 1))]
    assert (plan.placements, plan.processes, plan.rounds_done, plan.interrupted) == (12, 1, 3, False)
    assert len(plan.cells) == 7 * 4
    small = samples[samples["size"] < 4096]
    assert len(small) == 5 * 4 * 3 * 12 * plan.batches
    for number in range(12 * 3):
        assert len(set(small["cell"][small["round"] == number])) == 5 * 4
    large = samples[samples["size"] == 4096]
    assert set(large["placement"]) == set(range(8))
    assert {contest.case for contest in found.table()} == {
        *(Case("throughput", size, "fixed", offset) for size in (20, 4096) for offset in (0, 1)),
        L40,
        Case("mixed", 0, "1..32", -1),
        Case("mixed dependent", 0, "1..32", -1),
    }
    assert {contest.peer for contest in found.table()} == {"linux_after"}
    assert {contest.build.partition(" ")[0] for contest in found.table()} == {"gcc"}
    assert all(
        contest.placements <= (12 if contest.size < 4096 else 8) for contest in found.table()
    )  # undisturbed ones
    copies = found.copies()
    assert copies is not None
    assert copies.cells == 7


@pytest.mark.needs_tool("gcc")
def test_places_differ_between_placements_kernels_and_the_copy(short_course: None) -> None:
    found = _race.race("portable64", rounds=1, placements=4, compilers=(), seed=1)
    places = [place for of_kernel in found.field.places.values() for place in of_kernel]
    assert len(places) == len(set(places)) == 4 * 4
    assert [runner.build for runner in found.field.runners.values()] == [
        f"{lab.host().compiler}, as the extension"
    ] * 4


def test_without_a_compiler_there_is_one_placement_and_nothing_is_decided(
    short_course: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_compiler(*_: object) -> None:
        raise lab.CompileError("compiler 'gcc' is not on the PATH\nmore")

    monkeypatch.setattr(_links, "compiled", no_compiler)
    found = _race.race("portable64", rounds=2, placements=8, compilers=(), seed=1)
    assert found.sweep is not None
    assert found.sweep.plan.placements == 1
    words = " ".join(found.text().split())
    assert "8 placements were asked for: compiler 'gcc' is not on the PATH)" in words
    assert {contest.verdict for contest in found.table()} == {"unresolved"}
    assert not found.about.interrupted


@pytest.mark.needs_tool("gcc")
def test_what_a_compiler_refuses_is_said_and_the_peer_runs_as_it_lies(
    short_course: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "FLAGS", (("-O3", "-fno-such-thing"),))
    found = _race.race("portable64", rounds=1, placements=4, compilers=("gcc",), seed=1)
    assert {contest.build for contest in found.table()} == {f"{lab.host().compiler}, as the extension"}
    assert "Left out: linux_after by gcc -O3 -fno-such-thing: " in found.text()


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize(
    ("at", "placements", "rounds"), [(5, 1, 1), (6, 2, 1), (8, 4, 1), (4 + 10, 4, 2), (4 + 12, 4, 3)]
)
def test_ctrl_c_keeps_the_whole_rounds(short_course: None, at: int, placements: int, rounds: int) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == at:
            raise KeyboardInterrupt

    found = _race.race("portable64", rounds=3, placements=4, compilers=(), seed=1, progress=interrupt)
    assert found.sweep is not None
    plan = found.sweep.plan
    assert (plan.placements, plan.rounds_done) == (placements, rounds)
    assert plan.interrupted is found.about.interrupted is (at != 16)
    assert len(set(found.sweep.samples["round"])) == at - 4
    assert ("Interrupted: " in found.text()) is (at != 16)


def test_ctrl_c_before_the_first_round_ends_it(short_course: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _race.race("portable64", rounds=3, placements=1, compilers=(), seed=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"placements": 0}, "placements must be 1 or a multiple of 4 up to 1024, not 0"),
        ({"placements": 10}, "not 10: .* 12 is the next"),
        ({"seed": -1}, "seed must not be negative: -1"),
        ({"kernel": "unheard"}, "kernel 'unheard' is unknown"),
        (
            {"kernel": "nothing"},
            "'nothing' is a yardstick and computes no checksum; race judges a kernel that does",
        ),
    ],
)
def test_what_can_not_be_asked(short_course: None, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        _race.race(**{"kernel": "portable64", **options})


# Text


def test_text_holds_every_cell_and_fits_in_a_mail() -> None:
    large = Case("throughput", 1 << 26, "fixed", 1)
    ticks = {**FIVE_CELLS, large: {"new": 12345678.4, "peer_a": 13951819.0, "load_only_512": 9.0}}
    ticks = {case: {**of_case, "new (copy)": of_case["new"]} for case, of_case in ticks.items()}
    found = made_up(ticks)
    lines = found.text().splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("CPU:          Imaginary CPU 3000")
    assert "Builds:       a cc of peer_a; b cc of peer_b; c cc of past_c" in lines
    cells = [line.split() for line in lines]
    assert ["20", "+0", "4.0", "5.0", "peer_a", "a", "0.80", "0.80", "to", "0.80", "won"] in cells
    assert ["40", "+1", "6.0", "3.0", "past_c", "c", "2.00", "2.00", "to", "2.00", "lost"] in cells
    assert [
        "64",
        "MiB",
        "+1",
        "12345678",
        "13951819",
        "peer_a",
        "a",
        "0.88",
        "0.88",
        "to",
        "0.88",
        "won",
    ] in cells
    assert ["imix", "ind.", "10.0", "20.0", "peer_a", "a", "0.50", "0.50", "to", "0.50", "won"] in cells
    assert [
        "imix",
        "dep.",
        "10.0",
        "10.0",
        "peer_b",
        "b",
        "1.00",
        "1.00",
        "to",
        "1.00",
        "unresolved",
    ] in cells
    assert [
        "throughput",
        "1.123",
        "1.123",
        "to",
        "1.123",
        "3",
        "2",
        "1",
        "0",
    ] in cells  # cube root of 0.8 * 2.0 * 0.885
    assert "### Lost: 2 of 6 cells" in lines
    assert ["throughput", "40", "+1", "2.00", "2.00", "to", "2.00", "past_c", "c"] in cells
    assert "### Where another of ours takes less than new: 2 of 6 cells" in lines
    assert ["latency", "40", "+0", "12.0", "9.0", "old"] in cells
    assert "### A second copy of new, as a peer: unresolved in 6 of 6 cells, ratio 1.000" in lines
    assert lines[-1] == "A note."
    assert str(found) == found.text()
    assert list(found.frame().columns) == [name for name in Contest._fields if name != "logs"]
    assert len(found.frame()) == 6


def test_what_is_said_of_a_measured_race() -> None:
    cells = [Cell(name, 20, "fixed", 0, "throughput", "hot", "plain") for name in ("new", "peer_a")]
    sweep = sweep_of(
        [facts("new"), facts("peer_a")],
        cells,
        [[4.0, 4.5], [5.0, 5.0]],
        left_out=("short at 99 bytes: it is right for 0 to 9 bytes only",),
        interrupted=True,
    )
    sweep.samples["flags"][sweep.samples["kernel"] == "peer_a"] = 1
    about = race_text.about_of(sweep)
    assert "2 kernels and builds in 1 cells; " in about.how
    assert (about.started, about.interrupted) == (sweep.plan.started, True)
    assert about.notes[0] == "Left out: short at 99 bytes: it is right for 0 to 9 bytes only."
    assert about.notes[1] == (
        "No figure at throughput 20 +0, since the thread was disturbed in every sample: peer_a."
    )
    assert about.notes[2].startswith("Dropped: 2 of 4 samples, ")
    assert about.notes[-1] == "Interrupted: these are the figures of the rounds that were done."
