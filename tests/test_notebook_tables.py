"""What a notebook shows of a result that is the last value of a cell: a table, not a wall; and a short repr
elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_up_race import FIVE_CELLS
from made_up_race import made_up as made_up_race
from made_up_sweep import HOST, cell, facts, sweep_of

from fastcksum import _html, capture, lab

CAPTURE = Path(__file__).parent / "data" / "captures" / "all.pcapng"


def test_a_sweep_is_a_line_a_kernel_and_offset_and_a_column_a_size() -> None:
    cells = [cell(name, size, offset) for name in ("a", "b") for size in (20, 1500) for offset in (0, 1)]
    sweep = sweep_of([facts("a"), facts("b")], cells, [[float(size), float(size)] for size in range(1, 9)])
    html = sweep._repr_html_()
    assert re.findall(r"<th[^>]*>([^<]*)</th>", html) == ["kernel", "offset", "mode", "20", "1,500"]
    assert html.count("<tr>") == 1 + 4
    assert "TSC cycles a call; Imaginary CPU 3000; 2 rounds" in html
    assert len(repr(sweep)) < 200
    assert "2 kernels" in repr(sweep)


def test_a_host_is_its_facts() -> None:
    html = HOST._repr_html_()
    assert html.count("<tr>") == 1 + len(HOST.facts())
    assert "Imaginary CPU 3000" in html
    assert repr(HOST) == "<Host: Imaginary CPU 3000, 4 CPUs, gcc 12.2.0; .facts() and .to_lines() show it>"


def test_a_race_is_a_line_a_cell() -> None:
    race = made_up_race(FIVE_CELLS)
    html = race._repr_html_()
    assert html.count("<tr>") == 1 + len(race.table())
    assert all(contest.peer in html for contest in race.table())
    assert len(repr(race)) < 200


def test_a_comparison_is_a_line_a_cell() -> None:
    comparison = lab.compare("portable64", "portable64", 20, (0, 1), placements=16, rounds=1, seed=1)
    assert comparison._repr_html_().count("<tr>") == 1 + len(comparison.table())
    assert len(repr(comparison)) < 200


def test_a_report_is_a_line_a_layer_and_all() -> None:
    report = capture.verify(CAPTURE)
    html = report._repr_html_()
    assert html.count("<tr>") == 1 + len(report.counts_by_layer()) + 1
    assert re.findall(r"<th[^>]*>([^<]*)</th>", html)[1:] == list(report.counts())
    assert f"{report.packets:,} packets" in html


def test_a_wall_is_cut_and_what_is_behind_it_named() -> None:
    html = _html.table("many", ["n"], [[n] for n in range(1000)])
    assert html.count("<tr>") == 1 + _html.ROWS + 1
    assert f"and {1000 - _html.ROWS} rows more: .frame() has them" in html


def test_words_are_not_markup() -> None:
    assert "<script>" not in _html.table("<script>", ["<script>"], [["<script>"]])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, ""),
        (float("nan"), ""),
        (1234.5, "1,234"),
        (0.12345, "0.123"),
        (65536, "65,536"),
        (True, "True"),
        ("a", "a"),
    ],
)
def test_figures_are_short(value: object, words: str) -> None:
    assert _html.cell(value) == words


# Errors that name the value and the way out


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (
            {"sizes": "20"},
            TypeError,
            r"sizes must be a number of bytes or several, such as \(20, 1500\), not '20'",
        ),
        ({"sizes": [20.5]}, TypeError, r"sizes: 20\.5 is not a whole number"),
        ({"offsets": "1"}, TypeError, "offsets must be a number of bytes or several"),
        (
            {"sizes": [2**50]},
            ValueError,
            r"sizes must fit into this machine's memory, [\d,]+ bytes, not 1,125,899,906",
        ),
        ({"seed": -1}, ValueError, "seed must not be negative: -1"),
        ({"seed": "x"}, TypeError, "seed: 'x' is not a whole number"),
        (
            {"mode": "mixed", "lengths": (1, 128)},
            TypeError,
            r"lengths must be named mixes, such as .*, not \(1, 128\)",
        ),
        (
            {"mode": "mixed", "lengths": {"x": 128}},
            TypeError,
            r"lengths 'x' must be \(low, high\) or a mapping",
        ),
        (
            {"mode": "mixed", "lengths": {"x": (1, 2, 3)}},
            TypeError,
            r"lengths 'x' must be \(low, high\) or a mapping",
        ),
        ({"mode": "mixed", "lengths": {"x": {1.5: 1}}}, TypeError, r"lengths 'x' must be .* whole numbers"),
        ({"mode": "mixed", "lengths": {"x": [9, 1]}}, ValueError, r"0 <= low <= high, not \[9, 1\]"),
    ],
)
def test_errors_of_a_sweep(wrong: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lab.sweep("reference", **wrong)  # type: ignore[arg-type]


def test_a_list_of_two_is_a_range_too() -> None:
    sweep = lab.sweep("reference", mode="mixed", lengths={"x": [1, 9]}, rounds=1)  # type: ignore[dict-item]
    assert sweep.plan.lengths == {"x": (1, 9)}


def test_a_name_that_is_nearly_right() -> None:
    with pytest.raises(
        ValueError, match=r"kernel 'dpdk_befor' is unknown; did you mean dpdk_before.*\?; those that run"
    ):
        lab.sweep("dpdk_befor")
    with pytest.raises(ValueError, match=r"there is no file mine\.c; one of a git revision is REV:mine\.c"):
        lab.sweep("mine.c")


def test_a_source_is_a_path_or_text() -> None:
    with pytest.raises(TypeError, match="source must be a Path, a file, or a str, C text, not bytes"):
        lab.compile_kernel(b"x")  # type: ignore[arg-type]


def test_a_missing_macro_is_named() -> None:
    text = (
        "#include <stdint.h>\n#include <stddef.h>\n"
        "uint32_t f(const void *buf, size_t len, uint32_t sum) { return SOME_MACRO(buf, len, sum); }\n"
    )
    with pytest.raises(
        lab.CompileError, match=r"undefined symbol: SOME_MACRO; it is a macro or a function that neither"
    ):
        lab.compile_kernel(text)
