"""Pictures of sweeps and comparisons: one style, units and host in each, readable in print and without colour.

Every function takes a result of the lab, draws into a new figure of page width and returns it; a notebook shows it as
the last value of a cell, savefig() writes it. pyplot, which keeps every figure until it is closed, is not used.
Kernels get a colour, a line style and a marker each, so that they can be told apart by any one of the three.
"""

from __future__ import annotations

import io
import math
import textwrap
from contextlib import contextmanager
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any, Final

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from ._compare import Comparison
from ._host import tick_name
from ._sweep import OVERHEAD, Sweep, units_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axis import Axis

    from fastcksum.capture import Report
    from fastcksum.packets import Status

    from ._compare import Ratio
    from ._host import Host
    from ._matrix import Matrix, MatrixRow
    from ._trace import Trace

# Okabe and Ito, Color Universal Design (2008): told apart with any colour vision; yellow is left out, it fades in print.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES: Final = ("-", "--", "-.", ":")
MARKERS: Final = "osD^vP*X"
PAGE: Final = (8.0, 4.6)  # inches; 800 pixels wide as a notebook shows it
DOTS: Final = 150  # an inch: sharp on a fine screen and in print, at the same width

# The steps of the staircase; "cold" is not one: a single call, with the reading of the clock in its figure.
STEPS: Final = ("hot", "l2", "l3", "dram")
# A difference that no sweep resolves, whatever its own spread says: minima of quiet runs repeat within 2 %.
LEAST_NOISE: Final = 0.02
# Bits of the packed additions of a build -> its shade, the wider the darker, and what it is called.
WIDTHS: Final = {
    None: ("#FFFFFF", "width unknown"),
    0: ("#F2F2F2", "scalar"),
    128: ("#C6DDF0", "128-bit vectors"),
    256: ("#7FB2DA", "256-bit"),
    512: ("#2F7EBB", "512-bit"),
}
# A ratio beyond this gets no darker shade in a map: a few offsets far off would make the others pale.
LARGEST_SHADE: Final = 2.0
# The statuses of a checksum, and what tells each apart in print.
HATCHES: Final[dict[Status, str]] = {
    "good": "",
    "bad": "xx",
    "partial": "//",
    "none": "..",
    "unchecked": "--",
}
# More markers than this on a line run into each other.
MANY_SIZES: Final = 40
# Offsets further apart than this are not drawn side by side.
OFFSET_GAP: Final = 64

_RATIOS: Final = (
    *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.4, 1.7),
    *(2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50),
)

_STYLE: Final[dict[Any, Any]] = {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "figure.dpi": 100,
    "figure.titlesize": 12,
    "font.size": 10,
    "grid.alpha": 0.3,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
}


class Picture(Figure):
    """A figure that a notebook shows by itself, whatever backend is in use and without pyplot."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=DOTS)
        return png.getvalue(), {"width": round(self.get_figwidth() * self.dpi)}


def cycles_per_byte(
    sweep: Sweep,
    *,
    offset: int = 0,
    kernels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Ticks a byte against size, both on log scales: minimum as a line, first to third quartile as a band.

    Yardsticks named load_only_* are drawn as the grey ceiling: no sum can be faster than reading the bytes. Caches that
    are smaller than the largest size are marked. `kernels` picks and orders the lines; None: all of the sweep but the
    yardsticks. ValueError if the offset or a kernel was not measured.
    """
    frame = _fixed_sizes(sweep, offset)
    names = _chosen(frame, kernels)
    with _picture() as figure:
        axes = figure.subplots()
        _draw_ceiling(axes, frame)
        for style, name in zip(_styles(), names, strict=False):
            cells = frame[frame["kernel"] == name].sort_values("size")
            _draw_line(axes, cells["size"], cells["ticks_per_byte"], name, style)
            low, high = cells["q1"] / cells["size"], cells["q3"] / cells["size"]
            axes.fill_between(cells["size"], low, high, color=style["color"], alpha=0.15, linewidth=0)
        _size_axis(axes, frame["size"])
        _log_axis(axes)
        _mark_caches(axes, sweep.host, frame["size"].max())
        axes.set_ylabel(f"{tick_name(sweep.host.unit)} per byte")
        _head(figure, title or f"Cost per byte, {_alignment(offset)}", axes)
        _caption(
            figure,
            f"{_host_line(sweep, names)}. Line: minimum; band: first to third quartile.",
        )
    return figure


def ticks_per_call(
    sweeps: Sweep | Sequence[Sweep],
    *,
    offset: int = 0,
    kernels: Sequence[str] | None = None,
    published: Mapping[str, pd.DataFrame] | None = None,
    title: str | None = None,
) -> Figure:
    """Ticks a call against size on linear scales, which is how small sizes show their steps: one panel a mode.

    sweeps: one for each mode ("throughput", "latency"), drawn with a shared scale. published: label -> rows with size,
    mode and ticks_per_call, drawn in grey. ValueError if the offset or a kernel was not measured.
    """
    each = _at_least_one([sweeps] if isinstance(sweeps, Sweep) else sweeps)
    frames = [_fixed_sizes(sweep, offset) for sweep in each]
    names = _chosen(frames[0], kernels)
    with _picture() as figure:
        panels = figure.subplots(1, len(each), sharey=True, squeeze=False)[0]
        for axes, frame in zip(panels, frames, strict=True):
            mode = frame["mode"].iloc[0]
            _draw_published_calls(axes, published or {}, mode, frame["size"].max())
            for style, name in zip(_styles(), names, strict=False):
                _draw_calls(axes, frame[frame["kernel"] == name].sort_values("size"), name, style)
            axes.set_title(mode, loc="left")
            axes.set_xlabel("bytes")
        panels[0].set_ylim(bottom=0)
        panels[0].set_ylabel(f"{tick_name(each[0].host.unit)} per call")
        _head(figure, title or f"Cost per call, {_alignment(offset)}", panels[0])
        several = each[0].plan.placements > 1
        band = "least to largest placement" if several else "first to third quartile"
        _caption(figure, f"{_host_line(each[0], names)}. Band: {band}.")
    return figure


def before_after(
    comparisons: Comparison | Mapping[str, Comparison], *, offset: int = 0, title: str | None = None
) -> Figure:
    """How many times faster the second kernel of each comparison is than the first, against size, with intervals.

    comparisons: one, or label -> Comparison. Above 1 the second is faster. The grey bar is the noise floor, what two
    copies of the same code differ by; a hollow marker is a cell in which no difference was resolved. ValueError if the
    offset was not compared.
    """
    labelled = _labelled(comparisons)
    chosen = {label: _ratios_at(label, each, offset) for label, each in labelled.items()}
    first = next(iter(labelled.values()))
    sizes = sorted({ratio.size for ratios in chosen.values() for ratio in ratios})
    with _picture() as figure:
        axes = figure.subplots()
        floors = [_floor_at(size, chosen.values()) for size in sizes]
        label = "noise floor: two copies of the same code"
        axes.vlines(sizes, [1 / floor for floor in floors], floors, colors="0.85", linewidth=14, label=label)
        for number, (style, (name, ratios)) in enumerate(zip(_styles(), chosen.items(), strict=False)):
            # so that intervals at the same size stand beside each other
            beside = 1.03 ** (number - (len(chosen) - 1) / 2)
            _draw_ratios(axes, ratios, style, name, beside)
        _size_axis(axes, sizes)
        _ratio_axis(axes)
        axes.set_ylabel("before / after: times faster")
        _head(figure, title or f"What the change gains, {_alignment(offset)}", axes)
        sure = f"{first.confidence:.0%} intervals over {first.units} placements and processes, together for all cells"
        hollow = "hollow: no difference resolved"
        compilers = [name for each in labelled.values() for name in _compilers(each.sweep, (each.a, each.b))]
        _caption(figure, f"{_conditions(first.sweep, compilers)}. {sure}; {hollow}.")
    return figure


def offset_map(sweep: Sweep, *, kernels: Sequence[str] | None = None, title: str | None = None) -> Figure:
    """A map a kernel: the cost of each size at each offset by that of the same size at offset 0.

    What lies within the noise of the run, its median (median - minimum) / minimum and at least 2 %, is white, so that
    flat stays flat; cells that are faster than that also carry a dot, for print without colour. Beyond twice and half
    there is no darker shade. ValueError if offset 0 or a kernel was not measured.
    """
    frame = sweep.frame()
    frame = frame[frame["size"] > 0]
    if 0 not in set(frame["offset"]):
        raise ValueError(
            f"a map is relative to offset 0, which was not measured; there is {_listed(frame['offset'])}"
        )
    names = _chosen(frame, kernels)
    noise = max(LEAST_NOISE, float(frame["error"].median()))
    maps = {name: _relative_to_offset_0(frame[frame["kernel"] == name]) for name in names}
    largest = max(float(np.nanmax(np.abs(np.log(each.to_numpy())))) for each in maps.values())
    limit = max(min(largest, math.log(LARGEST_SHADE)), 2 * math.log1p(noise), math.log(1.25))
    rows = sum(len(each) for each in maps.values())
    with _picture(height=1.5 + 0.5 * len(maps) + 0.22 * rows) as figure:
        heights = [len(each) for each in maps.values()]
        panels = figure.subplots(len(maps), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (name, ratios) in zip(panels, maps.items(), strict=True):
            mesh = _draw_map(axes, ratios, noise, limit)
            axes.set_title(name, loc="left")
            axes.set_ylabel("bytes")
        panels[-1].set_xlabel("offset of the first byte, from the start of a page")
        beyond = "both" if largest > limit else "neither"
        bar = figure.colorbar(mesh, ax=list(panels), fraction=0.04, pad=0.02, extend=beyond)
        bar.ax.yaxis.set_major_locator(FixedLocator([-1.0, -0.5, 0.0, 0.5, 1.0]))
        bar.ax.yaxis.set_major_formatter(
            FuncFormatter(
                lambda value, _: f"±{noise:.0%}" if value == 0 else f"{_ratio_of(value, noise, limit):.2f}x"
            )
        )
        _head(figure, title or "Cost at each offset by that at offset 0")
        _caption(
            figure,
            f"{_host_line(sweep, names)}. Ratio of minima; white: within the noise; dot: faster.",
        )
    return figure


def placement_strip(
    sweep: Sweep,
    *,
    sizes: Sequence[int] | None = None,
    offset: int = 0,
    kernels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """The minimum at each placement of the code, a dot each, a panel a size: what luck with the linker is worth.

    The bar is the median, the figure above it the slowest by the fastest placement. sizes: at most four; None: the
    smallest four. ValueError for more, and if the sweep has one placement only.
    """
    frame = _fixed_sizes(sweep, offset)
    names = _chosen(frame, kernels)
    measured = sorted(set(frame["size"]))
    shown = measured[:4] if sizes is None else list(sizes)
    if not set(shown) <= set(measured) or not 0 < len(shown) <= 4:
        raise ValueError(f"sizes must be one to four of {_listed(measured)}, not {_listed(shown)}")
    if sweep.plan.placements < 2:
        raise ValueError("the sweep has one placement only; sweep(..., placements=16) has something to show")
    minima = _minima_by_place(sweep, offset)
    with _picture() as figure:
        panels = figure.subplots(1, len(shown), squeeze=False)[0]
        for axes, size in zip(panels, shown, strict=True):
            for position, (style, name) in enumerate(zip(_styles(), names, strict=False)):
                _draw_strip(axes, position, minima.get((name, size), []), style, name)
            axes.set_title(f"{size:,} bytes", loc="left")
            axes.set_ylim(0, 1.1 * max(axes.dataLim.y1, 0.1))
            axes.xaxis.set_major_locator(NullLocator())
            axes.set_xlim(-0.6, len(names) - 0.4)
        panels[0].set_ylabel(f"{tick_name(sweep.host.unit)} per call")
        _head(
            figure,
            title or f"The same code at {sweep.plan.placements} places, {_alignment(offset)}",
            panels[0],
        )
        note = "A dot: the minimum at one place; bar: median; figure: slowest by fastest place"
        _caption(figure, f"{_host_line(sweep, names)}. {note}.")
    return figure


def cache_staircase(
    sweeps: Sequence[Sweep],
    *,
    size: int,
    offset: int = 0,
    kernels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Ticks a byte of one size from each cache and from memory: one step a sweep, nearest first.

    sweeps: the same kernels and size with cache "hot", "l2", "l3" and "dram", as many of these as there are; the first
    to third quartile is the band. The right axis says the same in GB/s. ValueError if a sweep lacks the size.
    """
    frames = [_fixed_sizes(sweep, offset) for sweep in _at_least_one(sweeps)]
    for sweep, frame in zip(sweeps, frames, strict=True):
        if _cache_of(sweep) not in STEPS:
            raise ValueError(
                f"cache '{_cache_of(sweep)}' is no step of the staircase; there is {', '.join(STEPS)}"
            )
        if size not in set(frame["size"]):
            raise ValueError(
                f"{size} bytes were not measured from {_cache_of(sweep)}; there is {_listed(frame['size'])}"
            )
    steps = sorted(zip(sweeps, frames, strict=True), key=lambda step: STEPS.index(_cache_of(step[0])))
    names = _chosen(steps[0][1], kernels)
    host = steps[0][0].host
    with _picture() as figure:
        axes = figure.subplots()
        for style, name in zip(_styles(), names, strict=False):
            cells = [frame[(frame["kernel"] == name) & (frame["size"] == size)].iloc[0] for _, frame in steps]
            _draw_steps(axes, cells, size, style, name)
        axes.set_xticks(range(len(steps)), [_set_label(sweep, size) for sweep, _ in steps])
        axes.set_xlim(-0.5, len(steps) - 0.5)
        _log_axis(axes)
        axes.set_ylabel(f"{tick_name(host.unit)} per byte")
        _gigabytes_axis(axes, host)
        _head(
            figure,
            title or f"Where the bytes come from: blocks of {size:,} bytes, {_alignment(offset)}",
            axes,
        )
        _caption(
            figure,
            f"{_host_line(steps[0][0], names)}. Line: minimum; band: first to third quartile.",
        )
    return figure


def compiler_matrix(
    matrix: Matrix, *, size: int | None = None, frame_pointer: bool | None = None, title: str | None = None
) -> Figure:
    """Every build of every kernel at one size: how wide its vectors are by the shade, its ticks a call in the cell.

    A panel a kernel; compilers and flags below each other, targets beside each other. A hatched cell was built but not
    run, since this CPU lacks what it needs; an empty one was not built or is wrong. size: None is the largest of the
    matrix. frame_pointer: None takes the first that the matrix has. ValueError for a size that isn't in it.
    """
    size = max(matrix.sizes) if size is None else size
    if size not in matrix.sizes:
        raise ValueError(f"{size} bytes are not in the matrix; there is {_listed(matrix.sizes)}")
    keeps = matrix.rows[0].frame_pointer if frame_pointer is None else frame_pointer
    rows = [row for row in matrix.table() if row.frame_pointer == keeps]
    builds = list(dict.fromkeys((row.compiler, row.flags) for row in rows))
    targets = list(dict.fromkeys(row.target for row in rows))
    names = list(dict.fromkeys(row.kernel for row in rows))
    with _picture(height=1.9 + 0.27 * len(builds)) as figure:
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            for row in (row for row in rows if row.kernel == name):
                place = targets.index(row.target), builds.index((row.compiler, row.flags))
                _draw_build(axes, *place, row, row.ticks[matrix.sizes.index(size)])
            axes.set_title(name, loc="left")
            axes.set_xlim(0, len(targets))
            axes.set_xticks(
                np.arange(len(targets)) + 0.5, [target.removeprefix("x86-64-") or "-" for target in targets]
            )
            axes.set_xlabel("-march=  (v2: x86-64-v2 ...)")
            axes.grid(visible=False)
        panels[0].set_yticks(
            np.arange(len(builds)) + 0.5, [f"{compiler} {flags}" for compiler, flags in builds]
        )
        panels[0].set_ylim(len(builds), 0)
        unit = tick_name(matrix.host.unit)
        shown = {row.vector_bits for row in rows if row.status in {"timed", "not run"}}
        keys = [
            Patch(facecolor=shade, edgecolor="0.6", label=label)
            for bits, (shade, label) in WIDTHS.items()
            if bits in shown
        ]
        if any(row.status == "not run" for row in rows):
            keys.append(Patch(facecolor="white", edgecolor="0.4", hatch="////", label="not run here"))
        _head(figure, title or f"{unit} per call of {size:,} bytes, by build", keys)
        pointer = {True: "kept", False: "omitted", None: "as the compiler likes"}[keeps]
        nothing = f"{_machine(matrix.host)}; nothing could be run here"
        how = nothing if matrix.sweep is None else _conditions(matrix.sweep, [])
        _caption(figure, f"{how}; frame pointer {pointer}.")
    return figure


def published_and_measured(
    published: pd.DataFrame,
    sweep: Sweep,
    kernels: Sequence[str],
    *,
    offset: int = 0,
    title: str | None = None,
) -> Figure:
    """Two panels with one scale: the cycles/byte that were published, and those measured here.

    kernels come in pairs, before and after: each pair has one colour, before is dashed. published: rows of
    lab.published() with size and cycles_per_block, one line for each compiler and phase. A marker beside a line is a
    size that is one byte longer.
    """
    wanted = {0: "aligned", 1: "unaligned"}.get(offset)
    theirs = published[published["alignment"] == wanted]
    if theirs.empty:
        raise ValueError(f"nothing was published for offset {offset}; there is 0 (aligned) and 1 (unaligned)")
    ours = _fixed_sizes(sweep, offset)
    names = _chosen(ours, kernels)
    with _picture(height=5.2) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        # The published byte column has two decimals; the block column divided by the size has more.
        lines = theirs.groupby(["compiler", "phase"], sort=False)
        for style, ((compiler, phase), rows) in zip(_paired_styles(), lines, strict=False):
            ordered = rows.sort_values("size")
            per_byte = ordered["cycles_per_block"] / ordered["size"]
            _draw_line(left, ordered["size"], per_byte, f"{compiler} {phase}", style)
        for style, name in zip(_paired_styles(), names, strict=False):
            cells = ours[ours["kernel"] == name].sort_values("size")
            _draw_line(right, cells["size"], cells["ticks_per_byte"], name, style)
        for axes, sizes, name in (
            (left, theirs["size"], f"published: {', '.join(dict.fromkeys(theirs['cpu']))}"),
            (right, ours["size"], "measured here"),
        ):
            _size_axis(axes, sizes, share=0.16)
            key = len(axes.get_legend_handles_labels()[1])
            axes.legend(
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=2 if key > 4 else 1,
                title=name,
                title_fontsize=11,
                alignment="left",
                borderaxespad=0,
            )
        _log_axis(left)
        left.set_ylabel(f"{tick_name(sweep.host.unit)} per byte")
        _head(figure, title or f"Published and measured, {_alignment(offset)}")
        _caption(figure, f"Measured on {_host_line(sweep, names)}.")
    return figure


def cost_breakdown(trace: Trace, *, title: str | None = None) -> Figure:
    """What a received packet costs with each kernel, in ns: headers and copy, and the sum on top, with its share."""
    rows = trace.rows
    with _picture(height=1.9 + 0.45 * len(rows)) as figure:
        axes = figure.subplots()
        places = range(len(rows))
        axes.barh(places, [trace.without_sum] * len(rows), 0.6, color="0.75", label="headers and one copy")
        sums = [row.ns_per_packet - trace.without_sum for row in rows]
        axes.barh(
            places,
            sums,
            0.6,
            left=trace.without_sum,
            color=COLOURS[0],
            hatch="//",
            edgecolor="white",
            label="checksum",
        )
        for place, row in zip(places, rows, strict=True):
            words = f" {row.share:.0%} of {row.ns_per_packet:.1f} ns" + (
                "" if row.badge == "clean" else f", {row.badge}"
            )
            axes.text(row.ns_per_packet, place, words, va="center")
        axes.set_yticks(places, [row.kernel for row in rows])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("ns per packet")
        axes.set_xlim(right=1.3 * max(row.ns_per_packet for row in rows))
        mix = ", ".join(f"{count} of {length}" for length, count in trace.lengths.items())
        _head(figure, title or "What a received packet costs", axes)
        _caption(figure, f"{_machine(trace.host)}; {trace.host.compiler}. Packets, by bytes: {mix}.")
    return figure


def verdicts(report: Report, *, title: str | None = None) -> Figure:
    """How many checksums of each layer have which status, from capture.verify(): stacked, each status with a hatch."""
    counts = report.counts_by_layer()
    layers = list(counts)
    with _picture(height=1.6 + 0.3 * len(layers)) as figure:
        axes = figure.subplots()
        start = np.zeros(len(layers))
        for (status, hatch), colour in zip(HATCHES.items(), COLOURS, strict=False):
            widths = np.array([counts[layer].get(status, 0) for layer in layers])
            axes.barh(layers, widths, left=start, label=status, color=colour, hatch=hatch, edgecolor="white")
            start += widths
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("checksums")
        _head(figure, title or "Checksums of a capture, by status", axes)
        damage = f"; damaged: {report.damage}" if report.damage else ""
        _caption(figure, f"{len(report.codes):,} checksums in {report.packets:,} packets{damage}.")
    return figure


def cost_per_packet(
    costs: Mapping[str, float],
    host: Host,
    *,
    ours: Collection[str] = (),
    note: str = "",
    title: str | None = None,
) -> Figure:
    """Ways to do the same, by name, in ns per packet on a log scale; `ours` are filled, the others hatched.

    note goes below the figure, beside the host: what was done, and how the figures came about.
    """
    names = list(costs)
    with _picture(height=1.7 + 0.35 * len(names)) as figure:
        axes = figure.subplots()
        for place, name in enumerate(names):
            own = name in ours
            colour, hatch = (COLOURS[0], "") if own else ("#F0C8B0", "//")
            axes.barh(
                place, costs[name], 0.65, color=colour, hatch=hatch, edgecolor="white" if own else COLOURS[1]
            )
            axes.text(costs[name], place, f" {costs[name]:,.0f}", va="center")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlim(min(costs.values()) / 2, max(costs.values()) * 4)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("ns per packet")
        _head(figure, title or "What a packet costs")
        _caption(figure, "; ".join(filter(None, [_machine(host), f"Python {host.python}", note])))
    return figure


def across_hosts(
    frame: pd.DataFrame,
    *,
    offset: int = 0,
    kernels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Sweeps of several hosts, from lab.concat(): one colour a kernel, one line style a host.

    Core cycles a byte (estimated), since ticks of different machines are different units. ValueError if the offset was
    not measured, or if no host could tell its core's clock.
    """
    cells = frame[(frame["size"] > 0) & (frame["offset"] == offset)]
    if cells.empty:
        raise ValueError(f"offset {offset} was not measured; there is {_listed(frame['offset'])}")
    if cells["est_core_cycles_per_byte"].isna().all():
        raise ValueError(
            "no host could tell its core's clock, and ticks of different hosts can't be compared"
        )
    names = _chosen(cells, kernels)
    hosts = list(dict.fromkeys(cells["host"]))
    with _picture() as figure:
        axes = figure.subplots()
        for style, name in zip(_styles(), names, strict=False):
            for line, host in zip(cycle(LINES), hosts, strict=False):
                rows = cells[(cells["kernel"] == name) & (cells["host"] == host)].sort_values("size")
                label = f"{name}, host {hosts.index(host) + 1}"
                _draw_line(
                    axes, rows["size"], rows["est_core_cycles_per_byte"], label, {**style, "linestyle": line}
                )
        _size_axis(axes, cells["size"])
        _log_axis(axes)
        axes.set_ylabel("core cycles per byte (estimated)")
        _head(figure, title or f"{len(hosts)} hosts, {_alignment(offset)}", axes)
        _caption(figure, "; ".join(f"host {number}: {host}" for number, host in enumerate(hosts, 1)))
    return figure


# What all pictures share


@contextmanager
def _picture(height: float = PAGE[1]) -> Iterator[Picture]:
    """A figure of page width in the one style, whatever style the user has set."""
    with matplotlib.style.context(["default", _STYLE]):
        yield Picture(figsize=(PAGE[0], height), layout="constrained")


def _head(figure: Figure, title: str, labelled: Axes | Sequence[Artist] = ()) -> None:
    """The title, and below it the legend of the axes in as many columns as its labels leave room for."""
    if isinstance(labelled, Axes):
        handles, labels = labelled.get_legend_handles_labels()
    else:
        handles, labels = list(labelled), [str(each.get_label()) for each in labelled]
    if not labels:
        figure.suptitle(title, x=0.01, ha="left")
        return
    figure.legend(
        handles,
        labels,
        loc="outside upper left",
        ncols=_columns(labels),
        title=title,
        title_fontsize=12,
        alignment="left",
    )


def _columns(labels: Sequence[str]) -> int:
    """How many columns of a legend fit a page, each as wide as its longest label and its key."""
    for columns in range(len(labels), 1, -1):
        parts = np.array_split(list(map(len, labels)), columns)
        if sum(int(part.max()) + 8 for part in parts) <= 113:
            return columns
    return 1


def _caption(figure: Figure, text: str) -> None:
    figure.supxlabel("\n".join(textwrap.wrap(text, 125)), fontsize=8, color="0.35", x=0.01, ha="left")


def _machine(host: Host) -> str:
    where = {"none": "bare metal", "unknown": "hypervisor unknown"}.get(host.hypervisor, host.hypervisor)
    return f"{host.cpu}, {where}"


def _compilers(sweep: Sweep, kernels: Sequence[str]) -> list[str]:
    """What built each of these kernels: their own compiler, or the extension's."""
    facts = [each for each in sweep.plan.kernels if each["name"] in kernels]
    return [each.get("compiler") or sweep.host.compiler for each in facts]


def _host_line(sweep: Sweep, kernels: Sequence[str]) -> str:
    return _conditions(sweep, _compilers(sweep, kernels))


def _conditions(sweep: Sweep, compilers: Sequence[str]) -> str:
    """Host, compilers, the unit, and how a figure came about."""
    host, plan = sweep.host, sweep.plan
    ways = {(cell.mode, cell.cache, cell.form) for cell in plan.cells}
    way = "".join(f"; {' '.join(way)}" for way in ways - {("throughput", "hot", "plain")} if len(ways) == 1)
    units = plan.placements * plan.processes
    figures = f"minima of {plan.rounds_done} rounds, 1 placement"
    if units > 1:
        figures = f"medians over {units} placements and processes of the minima of {plan.rounds_done} rounds"
        if plan.processes == 1:
            figures = f"medians over {units} placements of the minima of {plan.rounds_done} rounds"
    clock = f"{tick_name(host.unit)} at {host.hz / 1e6:.0f} MHz{way}"
    return "; ".join(filter(None, [_machine(host), ", ".join(dict.fromkeys(compilers)), clock, figures]))


def _styles() -> Any:
    """Endless colour, line style and marker: no two of the first 56 alike, nor of the first 8 in print without colour."""
    return (
        {"color": colour, "linestyle": line, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        for colour, line, marker in zip(cycle(COLOURS), cycle(LINES), cycle(MARKERS), strict=False)
    )


def _paired_styles() -> Any:
    """Endless styles for lines that come in pairs: one colour and marker a pair, the first dashed, the second solid."""
    return (
        {"color": colour, "linestyle": line, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        for colour, marker in zip(cycle(COLOURS), cycle(MARKERS), strict=False)
        for line in ("--", "-")
    )


def _alignment(offset: int) -> str:
    return {0: "aligned", 1: "one byte off"}.get(offset, f"{offset} bytes off")


def _listed(values: Any) -> str:
    return ", ".join(str(value) for value in sorted(set(values)))


# Choosing what to draw


def _at_least_one(sweeps: Sequence[Sweep]) -> list[Sweep]:
    if not sweeps:
        raise ValueError("there is no sweep to draw; give at least one")
    return list(sweeps)


def _fixed_sizes(sweep: Sweep, offset: int) -> pd.DataFrame:
    """The rows with one size each, at this offset. ValueError that names the offsets there are."""
    frame = sweep.frame()
    frame = frame[frame["size"] > 0]
    chosen = frame[frame["offset"] == offset]
    if chosen.empty:
        raise ValueError(f"offset {offset} was not measured; there is {_listed(frame['offset'])}")
    return chosen


def _chosen(frame: pd.DataFrame, kernels: Sequence[str] | None) -> list[str]:
    """The kernels to draw: those named, or all but the yardsticks. ValueError for one that was not measured."""
    there = list(dict.fromkeys(frame["kernel"]))
    if kernels is None:
        return [name for name in there if name != OVERHEAD and not name.startswith("load_only")]
    for name in kernels:
        if name not in there:
            raise ValueError(f"kernel '{name}' was not measured; there is {', '.join(there)}")
    return list(kernels)


# Lines over sizes


def _beside(sizes: Sequence[int]) -> list[bool]:
    """Which sizes are the odd one of a pair such as 20, 21: a line through both would be a saw with a single tooth."""
    there = set(sizes)
    return [size - 1 in there and size - 2 not in there and size + 1 not in there for size in sizes]


def _draw_line(axes: Axes, sizes: pd.Series, values: pd.Series, label: str, style: Mapping[str, Any]) -> None:
    """A line through the sizes; those one byte longer than their neighbour as hollow markers beside it."""
    beside = np.array(_beside([int(size) for size in sizes]), dtype=bool)
    axes.plot(sizes[~beside], values[~beside], label=label, **style)
    hollow = {**style, "linestyle": "none", "markerfacecolor": "none"}
    axes.plot(sizes[beside], values[beside], **hollow)


def _draw_ceiling(axes: Axes, frame: pd.DataFrame) -> None:
    """What is out of reach: below the cost of the loads alone."""
    loads = frame[frame["kernel"].str.startswith("load_only")]
    if loads.empty:
        return
    best = loads.groupby("size")["ticks_per_byte"].min()
    best = best[~np.array(_beside([int(size) for size in best.index]), dtype=bool)]
    bottom = best.min() / 1.5
    area = axes.fill_between(
        best.index, best, bottom, color="0.9", linewidth=0, label="cheaper than the loads alone"
    )
    area.sticky_edges.y.append(bottom)


def _mark_caches(axes: Axes, host: Host, largest: float) -> None:
    """A thin line where a block no longer fits in a cache."""
    for cache in host.caches:
        if cache.type != "Instruction" and cache.size <= largest:
            axes.axvline(cache.size, color="0.6", linewidth=0.8, linestyle=(0, (2, 3)))
            where = axes.get_xaxis_transform()
            axes.text(
                cache.size, 0.99, f" L{cache.level}", transform=where, va="top", fontsize=8, color="0.4"
            )


def _size_axis(axes: Axes, sizes: Any, share: float = 0.075) -> None:
    """Bytes on a log scale, labelled at the sizes measured; `share` of the width is what a label takes."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(_sparse(sorted(set(sizes)), share)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("bytes")


def _sparse(sizes: Sequence[float], share: float) -> list[float]:
    """Those whose labels don't run into each other: of neighbours the first."""
    apart = (sizes[-1] / max(sizes[0], 1)) ** share
    kept: list[float] = []
    for size in sizes:
        if not kept or size >= kept[-1] * apart:
            kept.append(size)
    return kept


def _log_axis(axes: Axes) -> None:
    """A log scale for what has been drawn, with labels enough on a short one too."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    _label_log(axes.yaxis, high / low)


def _label_log(axis: Axis, span: float) -> None:
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if span > 10 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
    )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _draw_calls(axes: Axes, cells: pd.DataFrame, label: str, style: Mapping[str, Any]) -> None:
    """A line of ticks a call; the band is the range over placements, or the quartiles where there is one placement."""
    small = {"markersize": 2.2} if len(cells) > MANY_SIZES else {}
    axes.plot(cells["size"], cells["ticks_per_call"], label=label, **{**style, **small})
    several = cells["placement_low"].notna().all()
    low, high = ("placement_low", "placement_high") if several else ("q1", "q3")
    axes.fill_between(cells["size"], cells[low], cells[high], color=style["color"], alpha=0.15, linewidth=0)


def _draw_published_calls(
    axes: Axes, published: Mapping[str, pd.DataFrame], mode: str, largest: float
) -> None:
    """Other people's figures in grey, as far as ours reach."""
    for grey, (label, rows) in zip(cycle(("0.55", "0.75")), published.items(), strict=False):
        theirs = rows[(rows["mode"] == mode) & (rows["size"] <= largest)].sort_values("size")
        axes.plot(theirs["size"], theirs["ticks_per_call"], color=grey, marker="x", label=label)


# Comparisons


def _labelled(comparisons: Comparison | Mapping[str, Comparison]) -> dict[str, Comparison]:
    if isinstance(comparisons, Comparison):
        return {f"{comparisons.b} by {comparisons.a}": comparisons}
    if not comparisons:
        raise ValueError("before_after() needs at least one comparison")
    return dict(comparisons)


def _ratios_at(label: str, comparison: Comparison, offset: int) -> list[Ratio]:
    """The cells with one size each at this offset. ValueError that names the offsets there are."""
    fixed = [ratio for ratio in comparison.table() if ratio.size > 0]
    at = sorted((ratio for ratio in fixed if ratio.offset == offset), key=lambda ratio: ratio.size)
    if not at:
        there = _listed(ratio.offset for ratio in fixed)
        raise ValueError(
            f"offset {offset} was not compared in '{label}'; there is {there or 'no fixed size'}"
        )
    return at


def _floor_at(size: int, chosen: Iterable[Sequence[Ratio]]) -> float:
    """The largest noise floor of the comparisons at a size."""
    return max(ratio.noise_floor for ratios in chosen for ratio in ratios if ratio.size == size)


def _draw_ratios(
    axes: Axes, ratios: Sequence[Ratio], style: Mapping[str, Any], label: str, beside: float
) -> None:
    """Times faster with its interval; `beside` moves the sizes a little."""
    sizes = np.array([ratio.size for ratio in ratios]) * beside
    faster = np.array([1 / ratio.ratio for ratio in ratios])
    below = faster - [1 / ratio.high for ratio in ratios]
    above = [1 / ratio.low for ratio in ratios] - faster
    spread = np.maximum([below, above], 0)
    axes.errorbar(sizes, faster, yerr=spread, capsize=3, **{**style, "linestyle": "none"})
    through = ~np.array(_beside([ratio.size for ratio in ratios]), dtype=bool)
    axes.plot(sizes[through], faster[through], label=label, **style)
    unresolved = np.array([ratio.verdict.startswith("no difference") for ratio in ratios])
    hollow = {**style, "linestyle": "none", "markerfacecolor": "white", "zorder": 5}
    axes.plot(sizes[unresolved], faster[unresolved], **hollow)


def _ratio_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    low, high = min(low, 0.88), max(high, 1.13)
    axes.set_ylim(low, high)
    kept: list[float] = []
    for ratio in (ratio for ratio in _RATIOS if low <= ratio <= high):
        if not kept or ratio == 1 or ratio >= kept[-1] * (high / low) ** 0.04:
            kept = [*(each for each in kept if each * (high / low) ** 0.04 <= ratio), ratio]
    axes.yaxis.set_major_locator(FixedLocator(kept))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.axhline(1, color="0.4", linewidth=1)


# Offsets


def _relative_to_offset_0(cells: pd.DataFrame) -> pd.DataFrame:
    """Sizes x offsets: ticks by those at offset 0."""
    ticks = cells.pivot_table(index="size", columns="offset", values="ticks_per_call").sort_index(
        ascending=False
    )
    return ticks.div(ticks[0], axis=0)


def _shade(ratios: Any, noise: float, limit: float) -> Any:
    """Ratios as -1 .. 1, faster below 0: 0 all over the noise band, then even in the logarithm up to the limit."""
    logs = np.log(ratios)
    floor = math.log1p(noise)
    return np.sign(logs) * np.clip((np.abs(logs) - floor) / (limit - floor), 0, 1)


def _ratio_of(shade: float, noise: float, limit: float) -> float:
    """The ratio that a shade other than 0 stands for."""
    floor = math.log1p(noise)
    return math.exp(math.copysign(floor + abs(shade) * (limit - floor), shade))


def _draw_map(axes: Axes, ratios: pd.DataFrame, noise: float, limit: float) -> Any:
    offsets = [int(offset) for offset in ratios.columns]
    starts = np.cumsum([0, *(1 if b - a <= OFFSET_GAP else 2 for a, b in pairwise(offsets))])
    shades = _shade(ratios.to_numpy(), noise, limit)
    scale = Normalize(-1, 1)
    for group in np.split(np.arange(len(offsets)), np.flatnonzero(np.diff(starts) > 1) + 1):
        edges = [*starts[group], starts[group[-1]] + 1]
        rows = np.arange(len(ratios) + 1)
        mesh = axes.pcolormesh(
            edges, rows, shades[:, group], cmap="PuOr_r", norm=scale, edgecolors="0.92", linewidth=0.3
        )
    faster = np.argwhere(shades < 0)
    axes.plot(starts[faster[:, 1]] + 0.5, faster[:, 0] + 0.5, "k.", markersize=2.5)
    labelled = [
        i for i, at in enumerate(offsets) if i == 0 or starts[i] - starts[i - 1] > 1 or at % 8 == at - i == 0
    ]
    axes.set_xticks(starts[labelled] + 0.5, [f"{offsets[i]:,}" for i in labelled])
    axes.set_yticks(np.arange(len(ratios)) + 0.5, [f"{size:,}" for size in ratios.index])
    axes.grid(visible=False)
    return mesh


# Builds


def _draw_build(axes: Axes, x: int, y: int, row: MatrixRow, ticks: float | None) -> None:
    """One cell: its shade by the width of the vectors, its ticks, or why there are none."""
    not_run = row.status == "not run"
    shade = WIDTHS.get(row.vector_bits, WIDTHS[None])[0] if row.status in {"timed", "not run"} else "#FFFFFF"
    cell = Rectangle((x, y), 1, 1, facecolor=shade, edgecolor="0.6", linewidth=0.5)
    if not_run:
        cell.set_hatch("////")
    axes.add_patch(cell)
    words = (
        ""
        if not_run
        else row.status
        if ticks is None
        else f"{ticks:.3g}"
        if ticks < 1000
        else f"{ticks:,.0f}"
    )
    dark = row.vector_bits is not None and row.vector_bits >= 512
    axes.text(
        x + 0.5, y + 0.5, words, ha="center", va="center", fontsize=8, color="white" if dark else "black"
    )


# Placements and caches


def _minima_by_place(sweep: Sweep, offset: int) -> dict[tuple[str, int], list[float]]:
    """(kernel, size) -> the minimum of each unit, in the order of the placements."""
    cells = sweep.plan.cells
    units = units_of(sweep.samples, len(cells), sweep.host.unit)
    return {
        (cell.kernel, cell.size): [unit.summary.minimum for unit in of_cell]
        for cell, of_cell in zip(cells, units, strict=True)
        if cell.offset == offset and cell.size > 0
    }


def _draw_strip(
    axes: Axes, position: int, minima: Sequence[float], style: Mapping[str, Any], label: str
) -> None:
    """A dot for each minimum, side by side in the order of the placements; the median as a bar."""
    known = np.array([value for value in minima if not math.isnan(value)])
    if len(known) == 0:
        return
    across = position + np.linspace(-0.32, 0.32, len(known))
    axes.plot(across, known, label=label, **{**style, "linestyle": "none"})
    axes.hlines(
        float(np.median(known)), position - 0.42, position + 0.42, colors=style["color"], linewidth=1.6
    )
    words = f"{known.max() / known.min():.2f}"
    axes.annotate(words, (position, known.max()), (0, 6), textcoords="offset points", ha="center", fontsize=8)


def _cache_of(sweep: Sweep) -> str:
    return sweep.plan.cells[0].cache


def _set_label(sweep: Sweep, size: int) -> str:
    """The name of a step, and how much memory is gone through in it."""
    cache = _cache_of(sweep)
    amount = size if cache == "hot" else sweep.plan.set_bytes[cache]
    return f"{cache}\n{_amount(amount)}"


def _amount(size: float) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"


def _draw_steps(axes: Axes, cells: Sequence[Any], size: int, style: Mapping[str, Any], label: str) -> None:
    """One flat step a cell, joined; the band of each is its own."""
    across = np.arange(len(cells))
    edges = np.repeat(across, 2) + np.tile([-0.3, 0.3], len(cells))
    values = np.array([cell["ticks_per_byte"] for cell in cells])
    axes.plot(edges, np.repeat(values, 2), label=label, **{**style, "marker": ""})
    axes.plot(across, values, **{**style, "linestyle": "none"})
    for place, cell in zip(across, cells, strict=True):
        low, high = cell["q1"] / size, cell["q3"] / size
        axes.fill_between(
            [place - 0.3, place + 0.3], low, high, color=style["color"], alpha=0.15, linewidth=0
        )


def _gigabytes_axis(axes: Axes, host: Host) -> None:
    """The same on the right as GB a second."""

    def turned(value: Any) -> Any:
        return host.hz / np.maximum(value, 1e-12) / 1e9

    right = axes.secondary_yaxis("right", functions=(turned, turned))
    low, high = axes.get_ylim()
    _label_log(right.yaxis, high / low)
    right.set_ylabel("GB/s")
