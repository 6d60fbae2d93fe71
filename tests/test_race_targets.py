"""The aims in the race and the published figures of peers (benchmarks/race_targets.py), on races that nobody measured."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from made_up_sweep import HOST
from test_race import DEP, FIVE_CELLS, IND, L40, T20, T40, cases_of, made_up

from fastcksum import lab
from fastcksum.lab._figures.contests import Case, Table, by_case

if TYPE_CHECKING:
    from fastcksum.lab._race import Race

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


def targets_of(found: Race) -> list[Any]:
    kind = race_targets.machine_kind(found.sweep.host.features)
    given: list[Any] = race_targets.targets(
        by_case(found.rows), found.chosen, found.peers, "load_only_512", kind
    )
    return given


def of_race(found: Race, measure: str) -> Any:
    return next(target for target in targets_of(found) if target.measure.startswith(measure))


def test_a_missing_figure_has_no_published_row() -> None:
    rows = [{**PUBLISHED[0], "source": "where"}]
    assert race_targets.peer_rows({T20: {"peer_a": math.nan}}, "A", rows) == []


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


# measure, the most it may be with AVX2 and with AVX-512: the table of the goals
GOALS = [
    ("throughput, geometric mean", 0.82, 0.86),
    ("throughput at 1500 bytes", 0.80, 0.70),
    ("throughput at 9000 bytes", 0.70, 0.58),
    ("throughput at 64 MiB", 0.75, 0.85),
    ("latency, geometric mean", 1.00, 1.00),
    ("mixed, geometric mean", 0.92, 0.90),
    ("all cells, geometric mean", None, None),
    ("worst cell but 40 bytes", 1.30, 1.35),
    ("hardest single peer, all cells", 0.75, 0.80),
    ("4096..16384 bytes +0 by load_only_512", 1.45, 1.30),
    ("4096..16384 bytes +1 by load_only_512", None, 0.75),
    ("x86_64_adc by the best of Linux", 0.80, 0.80),
]


def race_of_ratio(ratio: float, features: tuple[str, ...]) -> Race:
    """A race in which every ratio that has a target is this one."""
    at = {"new": 100 * ratio, "peer_a": 100.0, "load_only_512": 100.0}
    general = {"x86_64_adc": 100 * ratio, "linux_before": 400.0, "linux_after": 100.0, "linux_2023": 300.0}
    fixed = [Case("throughput", size, "fixed", offset) for size in (1500, 9000, 1 << 26) for offset in (0, 1)]
    ticks = {case: {**at, **general} for case in [*fixed, L40._replace(size=100), IND, DEP]}
    return made_up(ticks, host=dataclasses.replace(HOST, features=features))


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("goal", range(len(GOALS)))
def test_targets_are_reached_up_to_the_limit(goal: int, kind: int) -> None:
    features = ("avx2",) if kind == 0 else ("avx2", "avx512f")
    measure, avx2, avx512 = GOALS[goal]
    limit = (avx2, avx512)[kind]
    for ratio in (0.5, (limit or 1.0) - 0.004, (limit or 1.0) + 0.004):
        target = targets_of(race_of_ratio(ratio, features))[goal]
        assert (target.measure, target.avx2, target.avx512) == (measure, avx2, avx512)
        assert target.figure == pytest.approx(ratio)
        assert target.reached is (None if limit is None else ratio <= limit)


@pytest.mark.parametrize(
    ("figure", "kind", "reached"),
    [(0.82, "avx2", True), (0.8201, "avx2", False), (0.7, "avx512", True), (0.71, "avx512", False)],
)
def test_a_limit_itself_is_reached(figure: float, kind: str, reached: bool) -> None:
    target = race_targets._judge("what", race_targets._Figure(figure, 1), 0.82, 0.7, kind)
    assert target == race_targets.Target("what", figure, 1, "", 0.82, 0.7, reached)


def test_no_target_where_the_machine_is_of_neither_kind() -> None:
    found = race_of_ratio(0.5, ("sse2",))
    assert [target.reached for target in targets_of(found)] == [None] * len(GOALS)
    assert "with neither" in race_targets.text(found)


def test_what_each_target_is_made_of() -> None:
    found = {target.measure.split(",")[0]: target for target in targets_of(race_of_ratio(0.5, ("avx2",)))}
    assert {name: target.cells for name, target in found.items()} == {
        "throughput": 6,
        "throughput at 1500 bytes": 2,
        "throughput at 9000 bytes": 2,
        "throughput at 64 MiB": 2,
        "latency": 1,
        "mixed": 2,
        "all cells": 9,
        "worst cell but 40 bytes": 9,
        "hardest single peer": 9,
        "4096..16384 bytes +0 by load_only_512": 1,
        "4096..16384 bytes +1 by load_only_512": 1,
        "x86_64_adc by the best of Linux": 9,
    }


def test_the_worst_cell_is_named_and_40_bytes_are_not_it() -> None:
    found = made_up({T20: {"new": 6.0, "peer_a": 5.0}, T40: {"new": 30.0, "peer_a": 5.0}})
    worst = of_race(found, "worst")
    assert worst.figure == pytest.approx(1.2)
    assert (worst.note, worst.cells) == ("throughput 20 +0", 1)
    only_40 = of_race(made_up({T40: {"new": 30.0, "peer_a": 5.0}}), "worst")
    assert math.isnan(only_40.figure)
    assert (only_40.cells, only_40.note, only_40.reached) == (0, "", None)


def test_the_loads_are_judged_by_their_worst_size() -> None:
    loads = {size: Case("throughput", size, "fixed", 0) for size in (1500, 4096, 16384, 131072)}
    figures = {1500: 900.0, 4096: 110.0, 16384: 140.0, 131072: 900.0}
    found = made_up({loads[n]: {"new": figures[n], "peer_a": 1.0, "load_only_512": 100.0} for n in loads})
    target = of_race(found, "4096..16384 bytes +0")
    assert target.figure == pytest.approx(1.4)
    assert target.note == f"throughput 16384 +0; geometric mean {math.sqrt(1.1 * 1.4):.3f}"
    assert target.cells == 2
    assert of_race(found, "4096..16384 bytes +1").cells == 0


def test_the_hardest_single_peer_is_named() -> None:
    target = of_race(made_up(FIVE_CELLS), "hardest")
    assert target.note == "past_c"
    assert target.figure == pytest.approx(math.sqrt(4 / 6 * 6 / 3))


def test_the_general_registers_go_against_the_best_of_linux() -> None:
    ticks = {
        T20: {"new": 1.0, "x86_64_adc": 3.0, "linux_before": 4.0, "linux_after": 6.0, "linux_2023": 12.0},
        L40: {"new": 1.0, "x86_64_adc": 4.0, "linux_before": 9.0, "linux_after": 9.0, "linux_2023": 8.0},
        IND: {"new": 1.0, "peer_a": 3.0},
    }
    target = of_race(made_up(ticks), "x86_64_adc")
    assert target.figure == pytest.approx(math.sqrt(0.75 * 0.5))
    assert target.cells == 2


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
    table = {T20: {"peer_a": 5.0}, IND: {"peer_b": 40.0}}
    rows = race_targets.peer_rows(table, "A", [{**row, "source": "where"} for row in PUBLISHED])
    assert rows == [
        race_targets.PeerRow("peer_a", *T20, 5.0, 5.5, 5.0 / 5.5, "where"),
        race_targets.PeerRow("peer_b", *IND, 40.0, 20.0, 2.0, "where"),
    ]
    assert [row.holds for row in rows] == [True, False]
    assert race_targets.peer_rows(table, None, [{**row, "source": ""} for row in PUBLISHED]) == []


@pytest.mark.parametrize(("ratio", "holds"), [(0.901, True), (0.899, False), (1.099, True), (1.101, False)])
def test_a_peer_holds_within_ten_percent(ratio: float, holds: bool) -> None:
    assert race_targets.PeerRow("p", *T20, ratio, 1.0, ratio, "").holds is holds


def test_every_published_row_can_be_measured_again() -> None:
    rows = race_targets.published_rows()
    seen = set()
    cases = {case for case, _ in cases_of(bool)}
    for row in rows:
        lab.kernel_source(row["kernel"])  # ValueError if there is no such kernel
        assert row["machine"] in {"AMD Zen 3", "AMD Zen 5"}
        assert float(row["ticks"]) > 1
        assert len(row["source"]) > 10
        assert list(row) == ["machine", "kernel", "mode", "size", "offset", "ticks", "source"]
        seen.add(tuple(row.values())[:5])
        table: Table = {case: {row["kernel"]: 1.0} for case in cases}
        assert len(race_targets.peer_rows(table, row["machine"], [row])) == 1
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
    assert "### Lost: none of 2 cells" in lines
    assert "### The peers beside their published figures (AMD Zen 5): 1 of 2 within 10%" in lines
    assert [line.split() for line in lines if "peer_a throughput" in line] == [
        ["peer_a", "throughput", "20", "+0", "5.0", "5.5", "0.91"]
    ]
    assert [line.split() for line in lines if "peer_b mixed" in line] == [
        ["peer_b", "mixed", "imix", "25.0", "20.0", "1.25", "off"]
    ]
    without = race_targets.text(made_up({L40: {"new": 4.0, "peer_a": 5.0}}, host=host))
    assert "### The peers beside their published figures: none for what was measured here" in without
