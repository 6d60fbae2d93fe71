"""The pictures: what is drawn, with which labels, of made-up sweeps; no pixel is compared and nothing is measured."""

from __future__ import annotations

import dataclasses
import inspect
import io
import math
import re
import struct
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from made_up_sweep import HOST, cell, facts, samples_of, sweep_of
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from test_learning import made_up as made_up_learning

from fastcksum.capture import Capture, Report, verify
from fastcksum.lab import Comparison, Matrix, MatrixRow, Ratio, Trace, TraceRow, concat, plot, published
from fastcksum.lab._figures.record import Cell
from fastcksum.lab._figures.verdict import Verdict, words
from fastcksum.lab.plot._builds import WIDTHS
from fastcksum.lab.plot._packets import HATCHES
from fastcksum.lab.plot._style import in_words
from fastcksum.packets import fill_checksums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fastcksum.lab import Sweep

SIZES = (20, 21, 100, 1500, 65536)
KERNELS = ("before", "after")


def made_up(
    kernels: Sequence[str] = KERNELS,
    sizes: Sequence[int] = SIZES,
    offsets: Sequence[int] = (0, 1),
    **way: Any,
) -> Sweep:
    """Rounds of size / 10 + 5 ticks, and of a tenth and a fifth more; the second kernel takes half, load_only a
    fifth.
    """
    cells = [
        dataclasses.replace(cell(name, size, offset), **way)
        for name in kernels
        for size in sizes
        for offset in offsets
    ]
    share = {"after": 0.5, "load_only_sse2": 0.2, "nothing": 0.1}
    ticks = [
        [(each.size / 10 + 5) * share.get(each.kernel, 1) * more for more in (1.0, 1.1, 1.2)]
        for each in cells
    ]
    sets = {"l2": 1 << 20, "l3": 1 << 25, "dram": 1 << 30}
    return sweep_of([facts(name) for name in kernels], cells, ticks, set_bytes=sets)


def placed(shifts: Sequence[float] = (1.0, 1.5, 1.2)) -> Sweep:
    """Two kernels of 20 and 100 bytes at as many placements as there are shifts, whose minimum each multiplies.

    One byte off they take three times as long.
    """
    cells = [cell(name, size, offset) for name in KERNELS for size in (20, 100) for offset in (0, 1)]
    parts = []
    for placement, shift in enumerate(shifts):
        base = [each.size * shift * (1 + 2 * each.offset) for each in cells]
        ticks = [[value, value * 1.1] for value in base]
        parts.append(samples_of(cells, ticks, placement=placement))
    samples = np.concatenate(parts)
    return sweep_of(
        [facts(name) for name in KERNELS], cells, [[1.0, 1.0]], samples=samples, placements=len(shifts)
    )


def compared(ratios: Sequence[Ratio] | None = None) -> Comparison:
    """At 20 bytes the second kernel is twice as fast, at 100 nothing was resolved, at 1500 it is slower."""
    given = ratios or [
        ratio_of(20, (0.5, 0.4, 0.625), 1.02, "faster"),
        ratio_of(100, (1.01, 0.9, 1.1), 1.05, "unresolved"),
        ratio_of(1500, (1.25, 1.2, 1.3), 1.01, "slower"),
    ]
    return Comparison("before", "after", 0.95, 0.01, (32, 64), tuple(given), placed())


def ratio_of(size: int, ratio: tuple[float, float, float], floor: float, verdict: Verdict) -> Ratio:
    """A cell of a comparison, with its ratio and interval."""
    return Ratio(
        size,
        "fixed",
        0,
        "throughput",
        10.0,
        10.0 * ratio[0],
        *ratio,
        floor,
        32,
        verdict,
        words(verdict, ratio[0]),
    )


def traced() -> Trace:
    rows = (TraceRow("before", 60.0, 25.0, 0.6, "clean"), TraceRow("after", 30.0, 12.5, 0.2, "noisy"))
    return Trace(rows, 10.0, {40: 7, 1500: 1}, 1024, 20, 1, HOST, np.zeros(0, []))


def build(kernel: str, flags: str, target: str, **more: Any) -> MatrixRow:
    """A scalar build that was timed: 40 ticks at 20 bytes, 400 at 1500."""
    row = MatrixRow(
        kernel=kernel,
        compiler="gcc 12.2.0",
        flags=flags,
        target=target,
        frame_pointer=False,
        vectorised=False,
        vector_bits=0,
        code_bytes=100,
        code_sha256="ab",
        ticks=(40.0, 400.0),
        status="timed",
        note="",
    )
    return row._replace(**more)


def built() -> Matrix:
    """Two kernels, -O2 scalar, -O3 of 256 and 512 bits; the last was not run, one with the frame pointer kept."""
    rows = []
    for name in KERNELS:
        rows += [
            build(name, "-O2", "x86-64"),
            build(name, "-O2", "x86-64-v4", status="not built", ticks=(None, None), vector_bits=None),
            build(name, "-O3", "x86-64", vectorised=True, vector_bits=256, ticks=(5.25, 61.5)),
            build(
                name,
                "-O3",
                "x86-64-v4",
                vectorised=True,
                vector_bits=512,
                status="not run",
                ticks=(None, None),
            ),
            build(name, "-O2", "x86-64", frame_pointer=True, ticks=(77.0, 1777.0)),
        ]
    return Matrix(tuple(rows), (20, 1500), 0, made_up(), HOST)


def texts(figure: Figure) -> str:
    """All words of a picture."""
    figure.draw_without_rendering()
    found: list[Any] = figure.findobj(Text)
    return "\n".join(each.get_text() for each in found)


def xs(line: Any) -> list[float]:
    return [float(x) for x in line.get_xdata()]


def ys(line: Any) -> list[float]:
    return [float(y) for y in line.get_ydata()]


def ends(lines: Any) -> list[float]:
    """The lower and upper end of each upright line of a collection, one after the other."""
    return [float(end) for segment in lines.get_segments() for end in segment[:, 1]]


def labelled(axes: Axes) -> dict[str, Any]:
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def bands(axes: Axes) -> list[np.ndarray]:
    """The corners of each filled band."""
    return [
        np.asarray(collection.get_paths()[0].vertices)
        for collection in axes.collections
        if isinstance(collection, PolyCollection)
    ]


def theirs(source: str) -> pd.DataFrame:
    frame = published()
    return frame[frame["source"].str.startswith(source)]


def steps(*caches: str) -> list[Sweep]:
    return [made_up(sizes=(1500,), cache=cache) for cache in caches]


def modes() -> Figure:
    rows = theirs("linux 6.5")
    return plot.ticks_per_call(
        [made_up(), made_up(mode="latency")], published={"2023": rows[rows["phase"] == "after"]}
    )


def judged() -> Report:
    """The verdicts on one packet with a right and one with a wrong IPv4 header, no transport."""
    good = fill_checksums(bytes.fromhex("4500001400010000400600000a0000010a000002"))
    data = good + good[:10] + b"\0\1" + good[12:]
    offsets, lengths = np.array([0, 20]), np.array([20, 20], np.uint32)
    times, links = np.zeros(2, "M8[ns]"), np.full(2, 101, np.uint16)
    return verify(Capture(data, offsets, lengths, lengths, times, links))


COSTS = {"ours": 40.0, "theirs": 2000.0}
PICTURES: dict[str, Callable[[], Figure]] = {
    "learning": lambda: plot.learning(made_up_learning()),
    "cycles_per_byte": lambda: plot.cycles_per_byte(made_up((*KERNELS, "load_only_sse2", "nothing"))),
    "ticks_per_call": modes,
    "before_after": lambda: plot.before_after({"gcc": compared(), "clang": compared()}),
    "offset_map": lambda: plot.offset_map(made_up(sizes=SIZES[:3], offsets=(*range(64), 4090))),
    "placement_strip": lambda: plot.placement_strip(placed()),
    "cache_staircase": lambda: plot.cache_staircase(steps("hot", "l2", "l3", "dram"), size=1500),
    "compiler_matrix": lambda: plot.compiler_matrix(built()),
    "published_and_measured": lambda: plot.published_and_measured(theirs("dpdk"), made_up(), KERNELS),
    "cost_breakdown": lambda: plot.cost_breakdown(traced()),
    "verdicts": lambda: plot.verdicts(judged()),
    "cost_per_packet": lambda: plot.cost_per_packet(
        COSTS, HOST, ours=["ours"], note="two checksums of 40 bytes"
    ),
    "across_hosts": lambda: plot.across_hosts(concat([made_up(), made_up()])),
}


@pytest.fixture(scope="module", params=list(PICTURES))
def picture(request: pytest.FixtureRequest) -> tuple[str, Figure]:
    """Each picture, by the name of its function."""
    name: str = request.param
    return name, PICTURES[name]()


def disturbed(sweep: Sweep, kernels: Sequence[str]) -> Sweep:
    """The sweep with every visit to these kernels flagged, as a busy machine leaves it."""
    samples = sweep.samples.copy()
    samples["flags"][np.isin(samples["kernel"], kernels)] = 1
    return dataclasses.replace(sweep, samples=samples)


def traced_in_vain(kernels: Sequence[str]) -> Trace:
    """A trace with no undisturbed visit to these kernels."""
    nan = float("nan")
    rows = [
        TraceRow(row.kernel, nan, nan, nan, "clean") if row.kernel in kernels else row
        for row in traced().rows
    ]
    without = nan if set(KERNELS) == set(kernels) else 10.0
    return dataclasses.replace(traced(), rows=tuple(rows), without_sum=without)


LOSSY: dict[str, Callable[[Sequence[str]], Figure]] = {
    "cycles_per_byte": lambda lost: plot.cycles_per_byte(disturbed(made_up(), lost)),
    "ticks_per_call": lambda lost: plot.ticks_per_call(disturbed(made_up(), lost)),
    "offset_map": lambda lost: plot.offset_map(disturbed(made_up(offsets=range(64)), lost)),
    "placement_strip": lambda lost: plot.placement_strip(disturbed(placed(), lost)),
    "cache_staircase": lambda lost: plot.cache_staircase(
        [disturbed(each, lost) for each in steps("hot", "l2")], size=1500
    ),
    "published_and_measured": lambda lost: plot.published_and_measured(
        theirs("dpdk"), disturbed(made_up(), lost), KERNELS
    ),
    "cost_breakdown": lambda lost: plot.cost_breakdown(traced_in_vain(lost)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("lost", [("before",), KERNELS])
@pytest.mark.parametrize("name", LOSSY)
def test_a_busy_machine_spoils_no_picture(name: str, lost: Sequence[str]) -> None:
    figure = LOSSY[name](lost)
    figure.savefig(io.BytesIO(), format="png")
    assert "nan" not in texts(figure)


def test_every_public_function_of_plot_is_here() -> None:
    assert {name for name in plot.__all__ if inspect.isfunction(getattr(plot, name))} == set(PICTURES)


UNITS = {
    "learning": "TSC cycles per call",
    "verdicts": "checksums",
    "cost_per_packet": "ns per packet",
    "before_after": "times faster",
    "offset_map": "by that at offset 0",
    "cost_breakdown": "ns per packet",
    "across_hosts": "core cycles per byte (estimated)",
    "placement_strip": "TSC cycles per call",
    "ticks_per_call": "TSC cycles per call",
    "compiler_matrix": "TSC cycles per call",
}


def test_every_picture_tells_unit_host_and_compiler(picture: tuple[str, Figure]) -> None:
    name, figure = picture
    words = texts(figure)
    assert UNITS.get(name, "TSC cycles per byte") in words
    assert name == "verdicts" or HOST.cpu in words
    assert name in {"verdicts", "cost_per_packet"} or HOST.compiler in words
    assert name == "verdicts" or "bytes" in words


def test_every_picture_is_a_page_wide_and_a_notebook_shows_it(picture: tuple[str, Figure]) -> None:
    _, figure = picture
    assert isinstance(figure, plot.Picture)
    png, metadata = figure._repr_png_()
    assert png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", png[16:24])
    assert metadata.keys() == {"width", "alt"}
    assert metadata["width"] == 800
    assert width == 1200
    assert height < 1.2 * width


def test_every_picture_is_told_in_words(picture: tuple[str, Figure]) -> None:
    name, figure = picture
    words = in_words(figure)
    assert UNITS.get(name, "TSC cycles per byte") in words
    assert 60 < len(words) < 4000
    assert "\n" not in words
    for axes in figure.axes:
        for label in axes.get_legend_handles_labels()[1]:
            if any(line.get_label() == label for line in axes.lines):
                assert label in words


def test_a_line_is_told_by_its_ends() -> None:
    words = in_words(plot.cycles_per_byte(made_up(offsets=(0,)), kernels=["before"]))
    assert "before 0.35 at 20 to 0.1 at 65,536" in words


def assert_on_the_page(figure: Figure) -> None:
    figure.draw_without_rendering()
    page = figure.bbox
    for box in [each.get_window_extent() for each in [*figure.texts, *figure.legends]]:
        assert page.x0 - 1 <= box.x0
        assert box.x1 <= page.x1 + 1
        assert page.y0 - 1 <= box.y0
        assert box.y1 <= page.y1 + 1


@pytest.mark.parametrize("length", [5, 12, 30, 60])
def test_a_key_of_long_names_stays_on_the_page(length: int) -> None:
    names = [f"kernel{i}".ljust(length, "x") for i in range(7)]
    assert_on_the_page(plot.cycles_per_byte(made_up(names)))


def test_no_words_leave_a_picture_or_lie_on_each_other(picture: tuple[str, Figure]) -> None:
    _, figure = picture
    assert_on_the_page(figure)
    for axes in figure.axes:
        ticks = [label for label in axes.get_xticklabels() if label.get_text() and label.get_visible()]
        spans = sorted((label.get_window_extent().x0, label.get_window_extent().x1) for label in ticks)
        assert all(left[1] <= right[0] for left, right in pairwise(spans))


def test_pyplot_is_not_needed() -> None:
    assert "matplotlib.pyplot" not in sys.modules


def test_a_style_of_the_user_changes_nothing() -> None:
    import matplotlib.style

    with matplotlib.style.context("dark_background"):
        figure = plot.cycles_per_byte(made_up())
    assert to_rgb(figure.get_facecolor()[:3]) == (1, 1, 1)


def test_lines_can_be_told_apart_without_colour() -> None:
    names = [f"kernel{i}" for i in range(8)]
    figure = plot.cycles_per_byte(made_up(names))
    looks = {(line.get_linestyle(), line.get_marker()) for line in labelled(figure.axes[0]).values()}
    assert len(looks) == len(names)


def lightness(colour: str) -> float:
    """The Y of CIE XYZ, which is what a grey print shows."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_colours_stand_out_from_paper() -> None:
    assert len(set(plot.COLOURS)) == len(plot.COLOURS)
    assert max(map(lightness, plot.COLOURS)) < 0.5


# Each picture by itself


def test_cost_per_byte_has_one_line_a_kernel_and_its_minimum_on_it() -> None:
    sweep = made_up((*KERNELS, "load_only_sse2", "nothing"))
    axes = plot.cycles_per_byte(sweep).axes[0]
    lines = labelled(axes)
    assert [name for name in lines if name != "cheaper than the loads alone"] == list(KERNELS)
    assert lines["before"].get_xdata().tolist() == [20, 100, 1500, 65536]  # 21 is a marker beside it
    assert lines["before"].get_ydata().tolist() == pytest.approx(
        [7 / 20, 15 / 100, 155 / 1500, 6558.6 / 65536]
    )
    assert lines["after"].get_ydata()[0] == pytest.approx(3.5 / 20)
    beside = [xs(line) for line in axes.lines if line.get_linestyle() == "None"]
    assert beside.count([21]) == 2


def test_cost_per_byte_has_the_quartiles_as_band_and_the_loads_as_ceiling() -> None:
    axes = plot.cycles_per_byte(made_up((*KERNELS, "load_only_sse2"))).axes[0]
    ceiling, before, _ = bands(axes)
    at_20 = before[before[:, 0] == 20][:, 1]
    assert sorted(set(at_20.round(6))) == pytest.approx(
        [7 * 1.05 / 20, 7 * 1.15 / 20]
    )  # q1 and q3 of three rounds
    assert ceiling[ceiling[:, 0] == 20][:, 1].max() == pytest.approx(7 * 0.2 / 20)
    line = labelled(axes)["before"]
    assert all(line.get_ydata() <= at_20.max())


def test_cost_per_byte_marks_the_caches_that_a_block_leaves() -> None:
    assert " L1" in texts(plot.cycles_per_byte(made_up()))
    assert " L2" not in texts(plot.cycles_per_byte(made_up()))
    assert " L1" not in texts(plot.cycles_per_byte(made_up(sizes=(20, 100))))


def test_cost_per_call_has_one_panel_a_mode() -> None:
    figure = modes()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["throughput", "latency"]
    assert list(labelled(figure.axes[0])) == ["2023", *KERNELS]
    assert labelled(figure.axes[1])["2023"].get_ydata()[0] == 3.58
    assert ys(labelled(figure.axes[0])["before"]) == pytest.approx([7, 7.1, 15, 155, 6558.6], rel=1e-3)


def test_ratios_are_turned_into_times_faster_with_their_intervals() -> None:
    axes = plot.before_after(compared()).axes[0]
    assert list(labelled(axes)) == ["noise floor: two copies of the same code", "after by before"]
    line = labelled(axes)["after by before"]
    assert xs(line) == [20, 100, 1500]
    assert ys(line) == pytest.approx([2, 1 / 1.01, 0.8])
    (floor, bars) = [each for each in axes.collections if hasattr(each, "get_segments")]
    assert ends(floor) == pytest.approx([1 / 1.02, 1.02, 1 / 1.05, 1.05, 1 / 1.01, 1.01])
    assert ends(bars) == pytest.approx([1 / 0.625, 2.5, 1 / 1.1, 1 / 0.9, 1 / 1.3, 1 / 1.2])


def test_what_was_not_resolved_is_hollow() -> None:
    axes = plot.before_after(compared()).axes[0]
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [xs(line) for line in hollow] == [[100]]


def test_intervals_of_two_comparisons_stand_beside_each_other() -> None:
    axes = plot.before_after({"gcc": compared(), "clang": compared()}).axes[0]
    gcc, clang = (labelled(axes)[name].get_xdata() for name in ("gcc", "clang"))
    assert (gcc < clang).all()
    assert (clang < gcc * 1.1).all()


def test_ratios_that_are_all_1_leave_a_readable_axis() -> None:
    flat = [ratio_of(size, (1.0, 1.0, 1.0), 1.0, "same") for size in (20, 21)]
    figure = plot.before_after(compared(flat))
    axes = figure.axes[0]
    low, high = axes.get_ylim()
    assert low < 0.9
    assert high > 1.1
    assert "1x" in texts(figure)


def shades(figure: Figure) -> np.ndarray:
    """The values behind the colours of the first map, sizes from the largest to the smallest."""
    panel = figure.axes[0]
    meshes = [mesh for mesh in panel.collections if isinstance(mesh, QuadMesh)]
    return np.hstack([np.asarray(mesh.get_array()) for mesh in meshes])


def mapped(ticks: dict[int, float]) -> Figure:
    """A map of one kernel at 100 bytes from offset -> ticks."""
    cells = [cell("k", 100, offset) for offset in ticks]
    rounds = [[value] * 8 for value in ticks.values()]
    return plot.offset_map(sweep_of([facts("k")], cells, rounds))


def test_a_flat_map_stays_flat() -> None:
    assert shades(mapped({0: 100.0, 1: 101.5, 2: 99.0, 3: 100.0})).tolist() == [[0, 0, 0, 0]]


def test_the_noise_of_a_map_is_how_well_minima_repeat_not_how_busy_the_machine_was() -> None:
    busy = {offset: [100.0 * by, 120.0 * by] * 8 for offset, by in {0: 1.0, 1: 1.15, 2: 0.87, 3: 1.0}.items()}
    cells = [cell("k", 100, offset) for offset in busy]
    flat, slow, fast, again = shades(plot.offset_map(sweep_of([facts("k")], cells, list(busy.values()))))[0]
    assert flat == again == 0
    assert fast < 0 < slow
    source = np.random.default_rng(3)
    wild = [list(100.0 * source.uniform(1, 2, 16)) for _ in cells]
    apart = plot.offset_map(sweep_of([facts("k")], cells, wild))
    assert "±2%" not in texts(apart)


def test_a_map_shows_what_is_above_the_noise_and_marks_what_is_faster() -> None:
    figure = mapped({0: 100.0, 1: 200.0, 2: 60.0, 3: 101.0})
    flat, slow, fast, near = shades(figure)[0]
    assert flat == near == 0
    assert slow == 1
    assert -1 < fast < -0.5
    (dots,) = figure.axes[0].lines
    assert (xs(dots), ys(dots)) == ([2.5], [0.5])
    assert "±2%" in texts(figure)
    assert "2.00x" in texts(figure)


def test_a_map_has_no_shade_beyond_twice_and_says_so() -> None:
    figure = mapped({0: 100.0, 1: 150.0, 2: 900.0})
    _, half, nine_times = shades(figure)[0]
    assert nine_times == 1
    assert half == pytest.approx(math.log(1.5 / 1.02) / math.log(2 / 1.02))
    assert "2.00x" in texts(figure)
    assert "9.00x" not in texts(figure)


def test_a_map_leaves_a_gap_before_offsets_far_away() -> None:
    panel = mapped({0: 100.0, 1: 100.0, 4090: 100.0}).axes[0]
    assert len([mesh for mesh in panel.collections if isinstance(mesh, QuadMesh)]) == 2
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0", "4,090"]


def test_the_labels_of_a_map_stand_apart() -> None:
    figure = mapped(dict.fromkeys([*range(64), 4032, 4064, 4080, 4088, 4092, 4095], 100.0))
    words = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert words == ["0", "8", "16", "24", "32", "40", "48", "56", "4,032\nto 4,095"]
    assert_on_the_page(figure)


def test_a_strip_has_a_dot_for_each_placement() -> None:
    figure = plot.placement_strip(placed())
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["20 bytes", "100 bytes"]
    dots = labelled(figure.axes[0])
    assert list(dots) == list(KERNELS)
    assert ys(dots["before"]) == pytest.approx([20, 30, 24])
    assert "1.50" in texts(figure)
    bars = [ends(each) for each in figure.axes[0].collections]
    assert bars == [[24.5, 24.5], [24.5, 24.5]]


def test_a_staircase_has_its_steps_in_order() -> None:
    figure = plot.cache_staircase(steps("l3", "hot", "l2"), size=1500)
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "hot\n1.46 KiB",
        "l2\n1 MiB",
        "l3\n32 MiB",
    ]
    assert ys(labelled(axes)["before"]) == pytest.approx([155 / 1500] * 6)
    figure.draw_without_rendering()
    (right,) = axes.child_axes
    assert right.get_ylabel() == "GB/s"
    low, high = sorted(right.get_ylim())
    ours = [HOST.hz / value / 1e9 for value in axes.get_ylim()]
    assert (low, high) == pytest.approx(sorted(ours))


def cells_of(axes: Axes) -> dict[tuple[float, float], tuple[str, bool, str]]:
    """(column, row) -> (shade, whether it is hatched, its words) of a matrix."""
    words = {
        (text.get_position()[0] - 0.5, text.get_position()[1] - 0.5): text.get_text() for text in axes.texts
    }
    return {
        patch.get_xy(): (
            to_hex(patch.get_facecolor()).upper(),
            bool(patch.get_hatch()),
            words[patch.get_xy()],
        )
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    }


def test_a_matrix_shows_width_ticks_and_what_was_not_run() -> None:
    figure = plot.compiler_matrix(built())
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(KERNELS)
    assert cells_of(figure.axes[1]) == {
        (0, 0): (WIDTHS[0][0], False, "400"),
        (1, 0): ("#FFFFFF", False, "not built"),
        (0, 1): (WIDTHS[256][0], False, "61.5"),
        (1, 1): (WIDTHS[512][0], True, ""),
    }
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [
        "gcc 12.2.0 -O2",
        "gcc 12.2.0 -O3",
    ]
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["x86-64", "v4"]
    words = texts(figure)
    assert "TSC cycles per call of 1,500 bytes" in words
    assert {"scalar", "256-bit", "512-bit", "not run here"} <= set(words.splitlines())
    assert "128-bit vectors" not in words
    assert "frame pointer omitted" in words.replace("\n", " ")


def test_a_matrix_of_another_size_and_frame_pointer() -> None:
    assert cells_of(plot.compiler_matrix(built(), size=20).axes[0])[0, 1][2] == "5.25"
    kept = plot.compiler_matrix(built(), frame_pointer=True)
    assert cells_of(kept.axes[0]) == {(0, 0): (WIDTHS[0][0], False, "1,777")}
    assert "frame pointer kept" in texts(kept).replace("\n", " ")


def test_a_matrix_of_which_nothing_could_be_run() -> None:
    matrix = dataclasses.replace(built(), sweep=None)
    assert "nothing could be run here" in texts(plot.compiler_matrix(matrix))


def test_shades_get_darker_with_the_width() -> None:
    known = [lightness(shade) for bits, (shade, _) in WIDTHS.items() if bits is not None]
    assert list(WIDTHS)[1:] == [0, 128, 256, 512]
    assert all(wide < narrow - 0.1 for narrow, wide in pairwise(known))


def test_published_figures_are_drawn_as_published() -> None:
    left, right = plot.published_and_measured(theirs("dpdk"), made_up(), KERNELS).axes
    clang = labelled(left)["clang 21.1.6 after"]
    assert xs(clang) == [20, 1500, 9000]
    assert ys(clang) == pytest.approx([14.0 / 20, 77.9 / 1500, 447.8 / 9000])
    assert (left.get_ylabel(), right.get_ylabel()) == ("TSC cycles per byte", "")
    in_ns = dataclasses.replace(made_up(), host=dataclasses.replace(HOST, unit="ns"))
    elsewhere = plot.published_and_measured(theirs("dpdk"), in_ns, KERNELS).axes
    assert [axes.get_ylabel() for axes in elsewhere] == ["TSC cycles per byte", "ns per byte"]
    assert list(labelled(right)) == list(KERNELS)
    looks = [line.get_linestyle() for line in labelled(right).values()]
    assert looks == ["--", "-"]
    assert left.get_ylim() == right.get_ylim()


def test_a_breakdown_adds_up() -> None:
    figure = plot.cost_breakdown(traced())
    rest, sums = figure.axes[0].containers
    assert [bar.get_width() for bar in rest] == [10, 10]
    assert [bar.get_x() + bar.get_width() for bar in sums] == [25, 12.5]
    words = texts(figure)
    assert "60% of 25.0 ns" in words
    assert "20% of 12.5 ns, noisy" in words
    assert "7 of 40, 1 of 1500" in words


def test_verdicts_are_stacked_by_layer() -> None:
    report = judged()
    figure = plot.verdicts(report)
    axes = figure.axes[0]
    assert list(labelled(axes)) == list(HATCHES)
    good, bad = axes.containers[:2]
    layers = [label.get_text() for label in axes.get_yticklabels()]
    first = layers.index("ipv4")
    assert (good[first].get_width(), bad[first].get_width()) == (1, 1)
    assert bad[first].get_x() == good[first].get_width()
    assert bad[first].get_hatch() == "xx"
    total = sum(bar.get_width() for bars in axes.containers for bar in bars)
    assert total == len(report.codes)
    assert f"{len(report.codes)} checksums in 2 packets" in texts(figure)


def test_costs_of_others_are_hatched() -> None:
    axes = PICTURES["cost_per_packet"]().axes[0]
    mine, other = axes.lines
    assert (xs(mine), xs(other)) == ([40], [2000])
    assert to_hex(mine.get_markerfacecolor()) == to_hex(plot.COLOURS[0])
    assert to_hex(other.get_markerfacecolor()) == "#ffffff"
    assert [text.get_text() for text in axes.texts] == ["40", "2,000"]
    assert axes.get_xscale() == "log"


def test_hosts_are_told_apart_by_the_line_and_kernels_by_colour() -> None:
    other = dataclasses.replace(made_up(), host=dataclasses.replace(HOST, cpu="Another CPU"))
    figure = plot.across_hosts(concat([made_up(), other]))
    lines = labelled(figure.axes[0])
    assert list(lines) == [f"{name}, host {number}" for name in KERNELS for number in (1, 2)]
    assert lines["before, host 1"].get_color() == lines["before, host 2"].get_color()
    assert lines["before, host 1"].get_linestyle() != lines["before, host 2"].get_linestyle()
    assert lines["before, host 1"].get_ydata()[0] == pytest.approx(1.25 * 7 * 1.1 / 20)  # the middle round
    assert re.search(r"host 1: Imaginary CPU 3000, gcc 12.2.0; host 2: Another\s+CPU", texts(figure))


def test_the_caption_tells_placements_mode_and_the_compilers_of_the_kernels() -> None:
    assert "1 placement" in texts(plot.cycles_per_byte(made_up()))
    assert "pseudomedians over 3 placements" in texts(plot.placement_strip(placed()))
    assert "latency hot plain" in texts(plot.cycles_per_byte(made_up(mode="latency"))).replace("\n", " ")
    built = [facts("before", compiler="gcc 15.2"), facts("after", compiler="clang 21.1")]
    sweep = dataclasses.replace(made_up(), plan=dataclasses.replace(made_up().plan, kernels=tuple(built)))
    assert "gcc 15.2, clang 21.1;" in texts(plot.cycles_per_byte(sweep))
    assert "gcc 15.2; TSC" in texts(plot.cycles_per_byte(sweep, kernels=["before"]))


# Errors


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plot.cycles_per_byte(made_up(), offset=7), "offset 7 was not measured; there is 0, 1"),
        (
            lambda: plot.cycles_per_byte(made_up(), kernels=["x"]),
            "kernel 'x' was not measured; there is before",
        ),
        (lambda: plot.ticks_per_call([]), "there is no sweep to draw"),
        (lambda: plot.before_after({}), "at least one comparison"),
        (lambda: plot.before_after(compared(), offset=1), "offset 1 was not compared .* there is 0"),
        (lambda: plot.offset_map(made_up(offsets=(1, 2))), "offset 0, which was not measured; there is 1, 2"),
        (lambda: plot.placement_strip(made_up()), "one placement only"),
        (lambda: plot.placement_strip(placed(), sizes=(20, 30)), "one to four of 20, 100, not 20, 30"),
        (lambda: plot.placement_strip(placed(), sizes=()), "one to four"),
        (lambda: plot.compiler_matrix(built(), size=21), "21 bytes are not in the matrix; there is 20, 1500"),
        (lambda: plot.cache_staircase([], size=20), "there is no sweep to draw"),
        (lambda: plot.cache_staircase([made_up()], size=30), "30 bytes were not measured from hot"),
        (lambda: plot.cache_staircase([made_up(cache="cold")], size=20), "cache 'cold' is no step"),
        (
            lambda: plot.published_and_measured(published(), made_up(), KERNELS, offset=5),
            "nothing was published for offset 5",
        ),
        (
            lambda: plot.across_hosts(concat([made_up()]), offset=3),
            "offset 3 was not measured; there is 0, 1",
        ),
    ],
)
def test_errors_say_what_there_is(draw: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        draw()


def test_hosts_without_a_core_clock_are_refused() -> None:
    frame = concat([made_up()]).assign(est_core_cycles_per_byte=math.nan)
    with pytest.raises(ValueError, match="ticks of different hosts can't be compared"):
        plot.across_hosts(frame)


def test_a_mix_of_lengths_is_no_point_on_an_axis_of_sizes() -> None:
    mix = Cell("before", 0, "imix", -1, "mixed", "hot", "plain")
    sweep = sweep_of([facts("before")], [mix], [[1.0]])
    with pytest.raises(ValueError, match="offset 0 was not measured"):
        plot.cycles_per_byte(sweep)
    assert isinstance(sweep.frame(), pd.DataFrame)
