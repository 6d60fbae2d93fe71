"""The aims in the race and the published figures of peers (benchmarks/race_targets.py), on races that nobody
measured.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from made_up_race import DEP, FIVE_CELLS, IND, L40, T20, T40, made_up
from made_up_sweep import HOST
from test_race import cases_of

from fastcksum import lab
from fastcksum.lab._figures.contests import Case

if TYPE_CHECKING:
    from fastcksum.lab import Race

PROGRAM = Path(__file__).parents[1] / "benchmarks" / "race_targets.py"


def program() -> Any:
    """The module of the program."""
    spec = importlib.util.spec_from_file_location("race_targets", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


race_targets = program()


def of_race(found: Race, measure: str) -> Any:
    return next(target for target in race_targets.targets(found) if target.measure.startswith(measure))


def test_a_missing_figure_has_no_published_row() -> None:
    rows = [{**PUBLISHED[0], "source": "where"}]
    found = made_up({T20: {"new": 1.0, "peer_a": 5.0}})
    found.minima[T20]["peer_a"].clear()
    assert race_targets.peer_rows(found, "A", rows) == []


# Targets


@pytest.mark.parametrize(
    ("features", "kind"),
    [
        (("sse2", "avx2", "avx512f", "avx512bw"), "avx512"),
        (("sse2", "avx2", "bmi2"), "avx2"),
        (("sse2",), None),
        (("neon",), None),
    ],
)
def test_the_kind_of_machine_is_decided_by_features(features: tuple[str, ...], kind: str | None) -> None:
    assert race_targets.machine_kind(features) == kind


# measure, the most it may be with AVX2 and with AVX-512
AIMS = [
    ("throughput, geometric mean of 13 sizes", 0.88, 0.88),
    ("throughput, worst cell but 65..128", 1.05, 1.05),
    ("throughput, worst cell of 65..128", 1.12, 1.12),
    ("throughput at 9000 bytes", 0.70, 0.55),
    ("throughput at 64 MiB", 0.80, 0.80),
    ("latency, geometric mean", 0.97, 0.97),
    ("latency, worst cell up to 128", 1.08, 1.08),
    ("latency, worst cell of 129..256", None, None),
    ("latency, worst cell from 257", 1.30, 1.30),
    ("mixed, geometric mean", 0.80, 0.80),
    ("mixed, worst cell", 1.05, 1.05),
    ("hardest single peer, all cells", 0.75, 0.75),
    ("4096..16384 bytes +0 by load_only_512", 1.20, 1.20),
]


def race_of_ratio(ratio: float, features: tuple[str, ...]) -> Race:
    """A race in which every ratio that has a target is this one."""
    at = {"new": 100 * ratio, "peer_a": 100.0, "load_only_512": 100.0}
    sizes = [20, 100, 1500, 9000, 1 << 26]
    cases = [Case("throughput", size, "fixed", offset) for size in sizes for offset in (0, 1)]
    cases += [Case("latency", size, "fixed", 0) for size in (100, 192, 576)]
    return made_up(dict.fromkeys([*cases, IND, DEP], at), host=dataclasses.replace(HOST, features=features))


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("aim", range(len(AIMS)))
def test_targets_are_reached_up_to_the_limit(aim: int, kind: int) -> None:
    features = ("avx2",) if kind == 0 else ("avx2", "avx512f")
    measure, *limits = AIMS[aim]
    limit = limits[kind]
    for ratio in (0.5, (limit or 1.0) - 0.004, (limit or 1.0) + 0.004):
        target = race_targets.targets(race_of_ratio(ratio, features))[aim]
        assert (target.measure, target.limit) == (measure, limit)
        assert target.figure == pytest.approx(ratio)
        assert target.reached is (None if limit is None else ratio <= limit)
        assert math.isnan(target.low) or (target.low, target.high) == (
            pytest.approx(ratio),
            pytest.approx(ratio),
        )


@pytest.mark.parametrize(("figure", "reached"), [(0.82, True), (0.8201, False), (math.nan, None)])
def test_a_limit_itself_is_reached(figure: float, reached: bool | None) -> None:
    target = race_targets._judge("what", race_targets._Figure(figure, 0.8, 0.9, 1), 0.82)
    assert target[2:] == (0.8, 0.9, 1, "", 0.82, reached)


def test_what_each_target_is_made_of() -> None:
    found = race_targets.targets(race_of_ratio(0.5, ("avx2",)))
    assert [target.cells for target in found] == [8, 6, 2, 2, 2, 3, 1, 1, 1, 2, 2, 15, 1]
    text = race_targets.text(race_of_ratio(0.5, ("sse2",)))
    assert "### Aims of new on a machine with neither" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_worst_cell_is_named() -> None:
    found = made_up({T20: {"new": 6.0, "peer_a": 5.0}, T40: {"new": 30.0, "peer_a": 5.0}})
    worst = of_race(found, "throughput, worst cell but")
    assert worst.figure == worst.low == worst.high == pytest.approx(6.0)
    assert (worst.note, worst.cells) == ("throughput 40 +1, peer_a: lost", 2)
    nothing = of_race(found, "latency, worst cell up to 128")
    assert math.isnan(nothing.figure)
    assert (nothing.cells, nothing.note, nothing.reached) == (0, "", None)


def test_the_loads_are_judged_by_their_worst_size() -> None:
    loads = {size: Case("throughput", size, "fixed", 0) for size in (1500, 4096, 16384, 131072)}
    figures = {1500: 900.0, 4096: 110.0, 16384: 140.0, 131072: 900.0}
    found = made_up({loads[n]: {"new": figures[n], "peer_a": 1.0, "load_only_512": 100.0} for n in loads})
    target = of_race(found, "4096..16384 bytes +0")
    assert target.figure == pytest.approx(1.4)
    assert target.note == f"throughput 16384 +0; geometric mean {math.sqrt(1.1 * 1.4):.3f}"
    assert target.cells == 2


def test_the_hardest_single_peer_is_named() -> None:
    target = of_race(made_up(FIVE_CELLS), "hardest")
    assert target.note == "past_c"
    assert target.figure == pytest.approx(math.sqrt(4 / 6 * 6 / 3))


# Published figures


@pytest.mark.parametrize(
    ("cpu", "family", "features", "name"),
    [
        ("AMD EPYC 7713", "25", ("avx2",), "AMD Zen 3"),
        ("AMD EPYC 9654", "25", ("avx2", "avx512f"), None),  # Zen 4 is of family 25 too
        ("AMD EPYC 9755", "26", ("avx2", "avx512f"), "AMD Zen 5"),
        ("AMD EPYC", "26", ("avx2",), None),
        ("Intel Xeon", "26", ("avx2", "avx512f"), None),
        ("AMD EPYC 7763", "23", ("avx2",), None),
    ],
)
def test_which_machine_has_published_figures(
    cpu: str, family: str, features: tuple[str, ...], name: str | None
) -> None:
    assert (
        race_targets.machine_name(dataclasses.replace(HOST, cpu=cpu, family=family, features=features))
        == name
    )


PUBLISHED = [
    {"machine": "A", "kernel": "peer_a", "mode": "throughput", "size": "20", "offset": "0", "ticks": "5.5"},
    {"machine": "B", "kernel": "peer_a", "mode": "throughput", "size": "20", "offset": "0", "ticks": "1"},
    {"machine": "A", "kernel": "peer_b", "mode": "mixed", "size": "imix", "offset": "", "ticks": "20"},
    {"machine": "A", "kernel": "peer_a", "mode": "latency", "size": "20", "offset": "0", "ticks": "9"},
    {"machine": "A", "kernel": "nobody", "mode": "throughput", "size": "20", "offset": "0", "ticks": "9"},
]


def test_published_figures_stand_beside_ours() -> None:
    found = made_up({T20: {"new": 1.0, "peer_a": 5.0}, IND: {"new": 1.0, "peer_b": 40.0}})
    rows = race_targets.peer_rows(found, "A", [{**row, "source": "where"} for row in PUBLISHED])
    assert rows == [
        race_targets.PeerRow("peer_a", *T20, 5.0, 5.5, 5.0 / 5.5, "where", "cc of peer_a"),
        race_targets.PeerRow("peer_b", *IND, 40.0, 20.0, 2.0, "where", "cc of peer_b"),
    ]
    assert [row.holds for row in rows] == [True, False]
    assert race_targets.peer_rows(found, None, [{**row, "source": ""} for row in PUBLISHED]) == []


@pytest.mark.parametrize(("ratio", "holds"), [(0.901, True), (0.899, False), (1.099, True), (1.101, False)])
def test_a_peer_holds_within_ten_percent(ratio: float, holds: bool) -> None:
    assert race_targets.PeerRow("p", *T20, ratio, 1.0, ratio, "", "").holds is holds


@cache
def of_kernel(name: str, cases: frozenset[Case]) -> Race:
    """A race with one kernel beside ours in these cells."""
    return made_up({key: {"new": 1.0, name: 1.0} for key in cases})


def test_every_published_row_can_be_measured_again() -> None:
    rows = race_targets.published_rows()
    seen = set()
    cases = frozenset(case for case, _ in cases_of(bool))
    for row in rows:
        lab.kernel_source(row["kernel"])  # ValueError if there is no such kernel
        assert row["machine"] in {"AMD Zen 3", "AMD Zen 5"}
        assert float(row["ticks"]) > 1
        assert len(row["source"]) > 10
        assert list(row) == ["machine", "kernel", "mode", "size", "offset", "ticks", "source"]
        seen.add(tuple(row.values())[:5])
        assert len(race_targets.peer_rows(of_kernel(row["kernel"], cases), row["machine"], [row])) == 1
    assert len(seen) == len(rows) > 250


@pytest.mark.parametrize(
    ("cell", "ticks"),
    [
        ("AMD Zen 5,vpp_unpack_512,throughput,9000,1", 93.3),
        ("AMD Zen 5,linux_2023,latency,128,0", 12.8),
        ("AMD Zen 5,vpp_unpack,mixed dependent,imix,", 28.8),
        ("AMD Zen 5,load_only_avx512,throughput,4096,1", 38.4),
        ("AMD Zen 3,fastcsum_vec,throughput,9000,0", 243.5),
        ("AMD Zen 3,linux_2023,throughput,40,1", 4.7),
        ("AMD Zen 3,autovec_u32,throughput,67108864,0", 12075266),
        ("AMD Zen 3,nothing,throughput,20,0", 3.9),
    ],
)
def test_some_published_figures(cell: str, ticks: float) -> None:
    [row] = [row for row in race_targets.published_rows() if [*row.values()][:5] == cell.split(",")]
    assert float(row["ticks"]) == ticks


def test_text_of_a_race_without_a_loss_and_with_published_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "source": "where", "machine": "AMD Zen 5"} for row in [PUBLISHED[0], PUBLISHED[2]]]
    monkeypatch.setattr(race_targets, "published_rows", lambda: rows)
    host = dataclasses.replace(HOST, cpu="AMD EPYC", family="26", features=("avx2", "avx512f"))
    found = made_up({T20: {"new": 4.0, "peer_a": 5.0}, IND: {"new": 4.0, "peer_b": 25.0}}, host=host)
    lines = race_targets.text(found).splitlines()
    assert lines[0] == "AMD EPYC, 2026-11-30T12:00:00+00:00"
    assert "### The peers beside their published figures (AMD Zen 5): 1 of 2 within 10%" in lines
    assert [line.split() for line in lines if "peer_a throughput" in line] == [
        ["peer_a", "throughput", "20", "+0", "5.0", "5.5", "0.91"]
    ]
    off = next(number for number, line in enumerate(lines) if "peer_b mixed" in line)
    assert lines[off].split() == ["peer_b", "mixed", "imix", "25.0", "20.0", "1.25", "off"]
    assert lines[off + 1] == "    there where; here cc of peer_b"
    without = race_targets.text(made_up({L40: {"new": 4.0, "peer_a": 5.0}}, host=host))
    assert "### The peers beside their published figures: none for what was measured here" in without


def test_the_program_reads_the_races_that_were_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up(FIVE_CELLS).save(tmp_path / "race.json")
    monkeypatch.setattr("sys.argv", ["race_targets.py", str(tmp_path / "race.json")])
    race_targets.main()
    assert capsys.readouterr().out == race_targets.text(made_up(FIVE_CELLS)) + "\n"
