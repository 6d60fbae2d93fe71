"""Cost against where the buffer and the code lie."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fastcksum.lab._figures.intervals import pseudomedian
from fastcksum.lab._figures.rows import replicates_of
from fastcksum.lab._machine.facts import tick_name

from ._axes import chosen_kernels, fixed_sizes
from ._style import alignment_words, caption, head, host_line, listed, picture, styles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fastcksum.lab._figures.result import Sweep

# A difference that no sweep resolves, whatever its own spread says: minima of quiet runs repeat within 2 %.
LEAST_NOISE: Final = 0.02
# A ratio beyond this gets no darker shade in a map: a few offsets far off would make the others pale.
LARGEST_SHADE: Final = 2.0
# Halves of fewer rounds than these tell nothing; of more, so many ways to split them.
LEAST_ROUNDS: Final = 6
SPLITS: Final = 9
# Offsets further apart than this are not drawn side by side.
OFFSET_GAP: Final = 64
# Columns that a label of an offset takes.
LABEL_EACH: Final = 8


def offset_map(sweep: Sweep, *, kernels: Sequence[str] | None = None, title: str | None = None) -> Figure:
    """A map a kernel: the cost of each size at each offset by that of the same size at offset 0.

    What lies within the noise of the run is white, so that flat stays flat: by how much the minima of two halves of a
    cell's rounds differ in nine of ten cells, and at least 2 %. Cells that are faster than that also carry a dot, for
    print without colour. Beyond twice and half there is no darker shade. ValueError if offset 0 or a kernel was not
    measured.
    """
    frame = sweep.frame()
    frame = frame[frame["size"] > 0]
    if 0 not in set(frame["offset"]):
        raise ValueError(
            f"a map is relative to offset 0, which was not measured; there is {listed(frame['offset'])}"
        )
    names = chosen_kernels(frame, kernels)
    noise = max(LEAST_NOISE, _noise(sweep, names))
    maps = {name: _relative_to_offset_0(frame[frame["kernel"] == name]) for name in names}
    logs = np.abs(np.log(np.concatenate([each.to_numpy(float).ravel() for each in maps.values()])))
    largest = float(np.max(logs[np.isfinite(logs)], initial=0.0))
    limit = max(min(largest, math.log(LARGEST_SHADE)), 2 * math.log1p(noise), math.log(1.25))
    rows = sum(len(each) for each in maps.values())
    with picture(height=1.5 + 0.5 * len(maps) + 0.22 * rows) as figure:
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
        head(figure, title or "Cost at each offset by that at offset 0")
        caption(
            figure,
            f"{host_line(sweep, names)}. Ratio of minima; white: within the noise; dot: faster.",
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

    The bar is the pseudomedian, the figure above it the slowest by the fastest placement. sizes: at most four; None:
    the smallest four. ValueError for more, and if the sweep has one placement only.
    """
    frame = fixed_sizes(sweep, offset)
    names = chosen_kernels(frame, kernels)
    measured = sorted(set(frame["size"]))
    shown = measured[:4] if sizes is None else list(sizes)
    if not set(shown) <= set(measured) or not 0 < len(shown) <= 4:
        raise ValueError(f"sizes must be one to four of {listed(measured)}, not {listed(shown)}")
    if sweep.plan.placements < 2:
        raise ValueError("the sweep has one placement only; sweep(..., placements=16) has something to show")
    minima = _minima_by_place(sweep, offset)
    with picture() as figure:
        panels = figure.subplots(1, len(shown), squeeze=False)[0]
        for axes, size in zip(panels, shown, strict=True):
            for position, (style, name) in enumerate(zip(styles(), names, strict=False)):
                _draw_strip(axes, position, minima.get((name, size), []), style, name)
            axes.set_title(f"{size:,} bytes", loc="left")
            axes.set_ylim(0, 1.1 * max(axes.dataLim.y1, 0.1))
            axes.xaxis.set_major_locator(NullLocator())
            axes.set_xlim(-0.6, len(names) - 0.4)
        panels[0].set_ylabel(f"{tick_name(sweep.host.unit)} per call")
        head(
            figure,
            title or f"The same code at {sweep.plan.placements} places, {alignment_words(offset)}",
            panels[0],
        )
        note = "A dot: the minimum at one place; bar: pseudomedian; figure: slowest by fastest place"
        caption(figure, f"{host_line(sweep, names)}. {note}.")
    return figure


def _noise(sweep: Sweep, kernels: Sequence[str]) -> float:
    """By how much the minima of two halves of the rounds differ, in nine of ten cells: how well a minimum repeats."""
    samples = sweep.samples[(sweep.samples["flags"] == 0) & np.isin(sweep.samples["kernel"], kernels)]
    if len(samples) == 0:
        return 0.0
    replicate = samples["process"].astype(np.int64) << 32 | samples["placement"]
    order = np.lexsort((replicate, samples["cell"]))
    cells, ticks = samples["cell"][order], (samples["ticks"] / samples["calls"])[order]
    starts = np.flatnonzero(np.diff(cells, prepend=-1) | np.diff(replicate[order], prepend=-1))
    source = np.random.default_rng(0)
    differences: dict[int, list[float]] = {}
    for start, rounds in zip(starts, np.split(ticks, starts[1:]), strict=True):
        if len(rounds) >= LEAST_ROUNDS:
            splits = (source.permutation(rounds) for _ in range(SPLITS))
            halves = [(half[::2].min(), half[1::2].min()) for half in splits]
            apart = float(np.median([max(a, b) / min(a, b) - 1 for a, b in halves]))
            differences.setdefault(int(cells[start]), []).append(apart)
    of_cells = [float(np.median(each)) for each in differences.values()]
    return float(np.quantile(of_cells, 0.9)) if of_cells else 0.0


def _relative_to_offset_0(cells: pd.DataFrame) -> pd.DataFrame:
    """Sizes x offsets: ticks by those at offset 0."""
    ticks = cells.set_index(["size", "offset"])["ticks_per_call"].unstack()
    return ticks.div(ticks[0], axis=0).sort_index(ascending=False)


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
    groups = np.split(np.arange(len(offsets)), np.flatnonzero(np.diff(starts) > 1) + 1)
    for group in groups:
        edges = [*starts[group], starts[group[-1]] + 1]
        rows = np.arange(len(ratios) + 1)
        mesh = axes.pcolormesh(
            edges, rows, shades[:, group], cmap="PuOr_r", norm=scale, edgecolors="0.92", linewidth=0.3
        )
    faster = np.argwhere(shades < 0)
    axes.plot(starts[faster[:, 1]] + 0.5, faster[:, 0] + 0.5, "k.", markersize=2.5)
    labels = [label for group in groups for label in _column_labels(offsets, starts, group)]
    axes.set_xticks([at for at, _ in labels], [words for _, words in labels])
    axes.set_yticks(np.arange(len(ratios)) + 0.5, [f"{size:,}" for size in ratios.index])
    axes.grid(visible=False)
    return mesh


def _column_labels(offsets: Sequence[int], starts: Any, group: Any) -> list[tuple[float, str]]:
    """Where offsets stand below a group of columns: the first and each eighth, or a few far off as "first to last"."""
    first, last = group[0], group[-1]
    if offsets[first] >= LABEL_EACH and 1 < len(group) < LABEL_EACH:
        middle = (starts[first] + starts[last] + 1) / 2
        return [(middle, f"{offsets[first]:,}\nto {offsets[last]:,}")]
    shown = [i for i in group if i == first or offsets[i] % LABEL_EACH == 0]
    return [(starts[i] + 0.5, f"{offsets[i]:,}") for i in shown]


def _minima_by_place(sweep: Sweep, offset: int) -> dict[tuple[str, int], list[float]]:
    """(kernel, size) -> the minimum of each replicate, in the order of the placements."""
    cells = sweep.plan.cells
    replicates = replicates_of(sweep.samples, cells, sweep.host.unit)
    return {
        (cell.kernel, cell.size): [each.summary.minimum for each in of_cell]
        for cell, of_cell in zip(cells, replicates, strict=True)
        if cell.offset == offset and cell.size > 0
    }


def _draw_strip(
    axes: Axes, position: int, minima: Sequence[float], style: Mapping[str, Any], label: str
) -> None:
    """A dot for each minimum, side by side in the order of the placements; the pseudomedian as a bar."""
    known = np.array([value for value in minima if not math.isnan(value)])
    if len(known) == 0:
        return
    across = position + np.linspace(-0.32, 0.32, len(known))
    axes.plot(across, known, label=label, **{**style, "linestyle": "none"})
    axes.hlines(pseudomedian(known), position - 0.42, position + 0.42, colors=style["color"], linewidth=1.6)
    words = f"{known.max() / known.min():.2f}"
    axes.annotate(words, (position, known.max()), (0, 6), textcoords="offset points", ha="center", fontsize=8)
