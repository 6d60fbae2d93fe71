"""learning(): which batches a lesson has, what becomes of its samples, what is refused. No figure is judged."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from made_up_sweep import HOST

from fastcksum import kernels, lab
from fastcksum.lab import Learning
from fastcksum.lab._bench.warm import sample_type
from fastcksum.lab._learning import batches_up_to, rows_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("calls", "batches"),
    [
        (1, [1]),
        (2, [1, 1]),
        (8, [1, 1, 2, 4]),
        (11, [1, 1, 2, 4, 3]),
        (1 << 17, [1, *(1 << i for i in range(17))]),
    ],
)
def test_each_batch_is_as_long_as_all_before_it(calls: int, batches: list[int]) -> None:
    assert batches_up_to(calls) == batches
    assert sum(batches) == calls


def made_up(**changes: Any) -> Learning:
    """Two kernels, three lessons of three batches; the second lesson of the second kernel was disturbed."""
    batches = [1, 1, 2]
    samples = np.zeros(18, sample_type())
    samples["cell"] = np.repeat([0, 1], 9)
    samples["round"] = np.tile(np.repeat([0, 1, 2], 3), 2)
    samples["batch"] = np.tile([0, 1, 2], 6)
    samples["calls"] = np.tile(batches, 6)
    samples["ticks"] = [
        100,
        80,
        60,
        120,
        90,
        70,
        140,
        100,
        80,
        *(200, 150, 90, 9999, 9999, 9999, 220, 170, 110),
    ]
    samples["flags"][12:15] = 1
    rows = rows_of(samples, [("a", 20), ("b", 20)], batches, 50.0)
    made = Learning(tuple(rows), ("a", "b"), (20,), 0, 3, 1, 42, HOST, samples)
    return dataclasses.replace(made, **changes)


def test_rows_are_medians_over_lessons_that_nobody_disturbed() -> None:
    rows = made_up().table()
    assert [(row.kernel, row.size, row.after_calls, row.calls) for row in rows] == [
        (kernel, 20, after, calls) for kernel in "ab" for after, calls in ((0, 1), (1, 1), (2, 2))
    ]
    assert [row.ticks_per_call for row in rows] == [120, 90, 35, 210, 160, 50]
    assert (rows[0].q1, rows[0].q3) == (110, 130)
    assert [row.pair for row in rows[:3]] == [50, 50, 25]


def test_a_cell_whose_lessons_were_all_disturbed_has_no_figure() -> None:
    samples = made_up().samples.copy()
    samples["flags"] = 4
    assert all(math.isnan(row.ticks_per_call) for row in rows_of(samples, [("a", 20)], [1, 1, 2], 50.0))


def test_text_fits_in_a_mail_and_the_frame_has_its_figures() -> None:
    found = made_up()
    lines = found.text().splitlines()
    assert max(map(len, lines)) <= 100
    assert "### a, 20 bytes" in lines
    assert ["2", "2", "35.0", "32.5", "..", "37.5", "25.0"] in [line.split() for line in lines]
    assert "seed 42" in found.text()
    assert "1 dropped" in found.text()
    assert str(found) == found.text()
    assert list(found.frame()["ticks_per_call"]) == [120, 90, 35, 210, 160, 50]


def test_on_the_machine() -> None:
    told: list[tuple[int, int]] = []
    found = lab.learning(
        ["reference", "portable64"],
        (20, 64),
        calls=16,
        lessons=3,
        seed=7,
        progress=lambda *done: told.append(done),
    )
    assert (found.kernels, found.sizes, found.lessons, found.seed) == (
        ("reference", "portable64"),
        (20, 64),
        3,
        7,
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert len(found.samples) == 3 * 4 * 5
    assert len(found.table()) == 4 * 5
    assert set(found.samples["kernel"]) == {"reference", "portable64"}
    assert set(found.samples["size"]) == {20, 64}
    assert found.samples["calls"][:5].tolist() == [1, 1, 2, 4, 8]
    alone = lab.learning("reference", 20, calls=1, lessons=1)
    assert [row.calls for row in alone.rows] == [1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lessons": 0}, "lessons must be at least 1, not 0"),
        ({"calls": 0}, "calls must be at least 1, not 0"),
        ({"size": -1}, "size can't be negative: -1"),
        ({"size": []}, "size must name at least one number of bytes"),
        ({"kernel": "unheard"}, "kernel 'unheard' is unknown"),
        ({"offset": -1}, "offset can't be negative: -1"),
        ({"seed": -1}, "seed must not be negative: -1"),
    ],
)
def test_what_can_not_be_asked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lab.learning(**{"kernel": "reference", "size": 20, **options})


def test_a_kernel_that_is_not_made_for_the_size_is_refused() -> None:
    short = dataclasses.replace(next(k for k in kernels() if k.name == "reference"), name="short", max_len=9)
    with pytest.raises(ValueError, match="kernel 'short' is made for 0 to 9 bytes, not 20"):
        lab.learning(short, 20, lessons=1)


def test_the_picture_has_a_line_a_kernel(tmp_path: Path) -> None:
    figure = lab.plot.learning(made_up())
    [axes] = figure.axes
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [1, 2, 4]
    assert np.asarray(axes.lines[0].get_ydata()).tolist() == [70, 40, 10]
    assert axes.get_xlabel() == "calls since other code ran"
    assert axes.get_ylabel() == "TSC cycles per call"
    figure.savefig(tmp_path / "learning.png")
    assert (tmp_path / "learning.png").stat().st_size > 10_000
