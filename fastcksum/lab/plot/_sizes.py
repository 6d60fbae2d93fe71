"""Cost against size: on log scales, on linear ones, beside what was published, of several hosts."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fastcksum.lab._figures.result import Sweep
from fastcksum.lab._machine.facts import tick_name

from ._axes import at_least_one, chosen_kernels, draw_line, fixed_sizes, log_axis, one_byte_longer, size_axis
from ._style import LINES, alignment_words, caption, head, host_line, listed, paired_styles, picture, styles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fastcksum.lab._machine.facts import Host

# More markers than this on a line run into each other.
MANY_SIZES: Final = 40


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
    frame = fixed_sizes(sweep, offset)
    names = chosen_kernels(frame, kernels)
    with picture() as figure:
        axes = figure.subplots()
        _draw_ceiling(axes, frame)
        for style, name in zip(styles(), names, strict=False):
            cells = frame[frame["kernel"] == name].sort_values("size")
            draw_line(axes, cells["size"], cells["ticks_per_byte"], name, style)
            low, high = cells["q1"] / cells["size"], cells["q3"] / cells["size"]
            axes.fill_between(cells["size"], low, high, color=style["color"], alpha=0.15, linewidth=0)
        size_axis(axes, frame["size"])
        log_axis(axes)
        _mark_caches(axes, sweep.host, frame["size"].max())
        axes.set_ylabel(f"{tick_name(sweep.host.unit)} per byte")
        head(figure, title or f"Cost per byte, {alignment_words(offset)}", axes)
        caption(
            figure,
            f"{host_line(sweep, names)}. Line: minimum; band: first to third quartile; hollow: one byte more.",
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
    each = at_least_one([sweeps] if isinstance(sweeps, Sweep) else sweeps)
    frames = [fixed_sizes(sweep, offset) for sweep in each]
    names = chosen_kernels(frames[0], kernels)
    with picture() as figure:
        panels = figure.subplots(1, len(each), sharey=True, squeeze=False)[0]
        for axes, frame in zip(panels, frames, strict=True):
            mode = frame["mode"].iloc[0]
            _draw_published_calls(axes, published or {}, mode, frame["size"].max())
            for style, name in zip(styles(), names, strict=False):
                _draw_calls(axes, frame[frame["kernel"] == name].sort_values("size"), name, style)
            axes.set_title(mode, loc="left")
            axes.set_xlabel("bytes")
        panels[0].set_ylim(bottom=0)
        panels[0].set_ylabel(f"{tick_name(each[0].host.unit)} per call")
        head(figure, title or f"Cost per call, {alignment_words(offset)}", panels[0])
        several = each[0].plan.placements > 1
        band = "least to largest placement" if several else "first to third quartile"
        many = max(frame["size"].nunique() for frame in frames) > MANY_SIZES
        caption(figure, f"{host_line(each[0], names)}." + ("" if many else f" Band: {band}."))
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
    ours = fixed_sizes(sweep, offset)
    names = chosen_kernels(ours, kernels)
    with picture(height=5.2) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        # The published byte column has two decimals; the block column divided by the size has more.
        lines = theirs.groupby(["compiler", "phase"], sort=False)
        for style, ((compiler, phase), rows) in zip(paired_styles(), lines, strict=False):
            ordered = rows.sort_values("size")
            per_byte = ordered["cycles_per_block"] / ordered["size"]
            draw_line(left, ordered["size"], per_byte, f"{compiler} {phase}", style)
        for style, name in zip(paired_styles(), names, strict=False):
            cells = ours[ours["kernel"] == name].sort_values("size")
            draw_line(right, cells["size"], cells["ticks_per_byte"], name, style)
        for axes, sizes, name in (
            (left, theirs["size"], f"published: {', '.join(dict.fromkeys(theirs['cpu']))}"),
            (right, ours["size"], "measured here"),
        ):
            size_axis(axes, sizes, share=0.16)
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
        log_axis(left)
        units = [tick_name(unit) for unit in (theirs["unit"].iloc[0], sweep.host.unit)]
        left.set_ylabel(f"{units[0]} per byte")
        if units[0] != units[1]:
            right.set_ylabel(f"{units[1]} per byte")
        head(figure, title or f"Published and measured, {alignment_words(offset)}")
        caption(figure, f"Measured on {host_line(sweep, names)}. Marker beside a line: one byte more.")
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
        raise ValueError(f"offset {offset} was not measured; there is {listed(frame['offset'])}")
    if cells["est_core_cycles_per_byte"].isna().all():
        raise ValueError(
            "no host could tell its core's clock, and ticks of different hosts can't be compared"
        )
    names = chosen_kernels(cells, kernels)
    hosts = list(dict.fromkeys(cells["host"]))
    with picture() as figure:
        axes = figure.subplots()
        for style, name in zip(styles(), names, strict=False):
            for line, host in zip(cycle(LINES), hosts, strict=False):
                rows = cells[(cells["kernel"] == name) & (cells["host"] == host)].sort_values("size")
                label = f"{name}, host {hosts.index(host) + 1}"
                draw_line(
                    axes, rows["size"], rows["est_core_cycles_per_byte"], label, {**style, "linestyle": line}
                )
        size_axis(axes, cells["size"])
        log_axis(axes)
        axes.set_ylabel("core cycles per byte (estimated)")
        head(figure, title or f"{len(hosts)} hosts, {alignment_words(offset)}", axes)
        caption(figure, "; ".join(f"host {number}: {host}" for number, host in enumerate(hosts, 1)))
    return figure


def _draw_ceiling(axes: Axes, frame: pd.DataFrame) -> None:
    """What is out of reach: below the cost of the loads alone."""
    loads = frame[frame["kernel"].str.startswith("load_only")]
    if loads.empty:
        return
    best = loads.groupby("size")["ticks_per_byte"].min()
    best = best[~np.array(one_byte_longer([int(size) for size in best.index]), dtype=bool)]
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


def _draw_calls(axes: Axes, cells: pd.DataFrame, label: str, style: Mapping[str, Any]) -> None:
    """A line of ticks a call; its band is the range over placements, or the quartiles of one. Many sizes have neither
    band nor markers, which would hide the lines.
    """
    small = {"marker": "", "linewidth": 1.2} if len(cells) > MANY_SIZES else {}
    axes.plot(cells["size"], cells["ticks_per_call"], label=label, **{**style, **small})
    if small:
        return
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
