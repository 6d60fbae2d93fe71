"""Pictures of sweeps and comparisons: one style, units and host in each, readable in print and without colour.

Every function takes a result of the lab, draws into a new figure of page width and returns it. Kernels get a colour, a
line style and a marker each, so that they can be told apart by any one of the three.
"""

from __future__ import annotations

import textwrap
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ._host import tick_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._sweep import Sweep

# Okabe and Ito, Color Universal Design (2008): told apart with any colour vision; yellow is left out, it fades in print.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES: Final = ("-", "--", "-.", ":")
MARKERS: Final = "osD^vP*X"
PAGE: Final = (8.0, 4.6)  # inches; 800 pixels wide at 100 dots an inch

_RATIOS: Final = (
    0.1,
    0.2,
    0.3,
    0.5,
    0.7,
    0.8,
    0.9,
    1,
    1.1,
    1.2,
    1.4,
    1.7,
    2,
    2.5,
    3,
    4,
    5,
    7,
    10,
    15,
    20,
    30,
    50,
)

_STYLE: Final[dict[Any, Any]] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "font.size": 10,
    "grid.alpha": 0.3,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "svg.hashsalt": "fastcksum",
}


def cycles_per_byte(
    sweep: Sweep,
    *,
    offset: int = 0,
    kernels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Ticks a byte against size, both on log scales: minimum as a line, first to third quartile as a band.

    Yardsticks named load_only_* are drawn as the grey ceiling: no sum can be faster than reading the bytes. `kernels`
    picks and orders the lines; None: all of the sweep but the yardsticks. ValueError if the offset was not measured.
    """
    frame = _fixed_sizes(sweep, offset)
    names = list(dict.fromkeys(frame["kernel"])) if kernels is None else list(kernels)
    yardsticks = [name for name in names if name.startswith("load_only") or name == "nothing"]
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=PAGE, layout="constrained")
        _draw_ceiling(axes, frame)
        for style, name in zip(_styles(), [name for name in names if name not in yardsticks], strict=False):
            cells = frame[frame["kernel"] == name].sort_values("size")
            axes.plot(cells["size"], cells["ticks_per_byte"], label=name, **style)
            axes.fill_between(
                cells["size"],
                cells["q1"] / cells["size"],
                cells["q3"] / cells["size"],
                color=style["color"],
                alpha=0.15,
            )
        _size_axis(axes, frame["size"])
        _log_axis(axes)
        axes.set_ylabel(f"{tick_name(sweep.host.unit)} per byte")
        axes.set_title(title or f"Cost per byte, {_alignment(offset)}", loc="left")
        figure.legend(loc="outside upper left", ncols=4)
        _caption(figure, _host_line(sweep))
    return figure


def before_after(
    pairs: Sequence[tuple[str, str, str]], sweep: Sweep, *, offset: int = 0, title: str | None = None
) -> Figure:
    """How many times faster "after" is than "before", against size: above 1 is faster.

    pairs: (label, kernel before, kernel after), each a line. The grey band is the noise that the sweep itself shows:
    the median over its cells of (median - minimum) / minimum, either way.
    """
    frame = _fixed_sizes(sweep, offset)
    ticks = frame.pivot_table(index="size", columns="kernel", values="ticks_per_call")
    noise = float(frame["error"].median())
    with mpl.rc_context(_STYLE):
        figure, axes = plt.subplots(figsize=PAGE, layout="constrained")
        axes.axhspan(1 / (1 + noise), 1 + noise, color="0.85", label=f"noise of this run, ±{noise:.1%}")
        for style, (label, before, after) in zip(_styles(), pairs, strict=False):
            ratio = (ticks[before] / ticks[after]).dropna()
            axes.plot(ratio.index, ratio, label=label, **style)
        _size_axis(axes, frame["size"])
        _ratio_axis(axes)
        axes.set_ylabel("before / after: times faster")
        axes.set_title(title or f"What the change gains, {_alignment(offset)}", loc="left")
        figure.legend(loc="outside upper left", ncols=4)
        _caption(figure, _host_line(sweep))
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

    kernels come in pairs, before and after: each pair has one colour, before is dashed.

    published: rows of lab.published() with size and cycles_per_byte, one line for each compiler and phase.
    """
    wanted = {0: "aligned", 1: "unaligned"}.get(offset)
    theirs = published[published["alignment"] == wanted]
    if theirs.empty:
        raise ValueError(f"nothing was published for offset {offset}; there is 0 (aligned) and 1 (unaligned)")
    ours = _fixed_sizes(sweep, offset)
    with mpl.rc_context(_STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=PAGE, sharey=True, layout="constrained")
        # The published byte column has two decimals; the block column divided by the size has more.
        for style, (line, rows) in zip(
            _paired_styles(), theirs.groupby(["compiler", "phase"], sort=False), strict=False
        ):
            ordered = rows.sort_values("size")
            left.plot(
                ordered["size"],
                rows["cycles_per_block"] / ordered["size"],
                label=" ".join(map(str, line)),
                **style,
            )
        for style, name in zip(_paired_styles(), kernels, strict=False):
            cells = ours[ours["kernel"] == name].sort_values("size")
            right.plot(cells["size"], cells["ticks_per_byte"], label=name, **style)
        for axes, sizes, name in (
            (left, theirs["size"], f"published: {', '.join(dict.fromkeys(theirs['cpu']))}"),
            (right, ours["size"], "measured here"),
        ):
            _size_axis(axes, sizes, apart=2.4)
            axes.set_title(name, loc="left", fontsize=10)
            axes.legend(loc="upper right")
        _log_axis(left)
        left.set_ylabel(f"{tick_name(sweep.host.unit)} per byte")
        figure.suptitle(title or f"Published and measured, {_alignment(offset)}", x=0.01, ha="left")
        _caption(figure, _host_line(sweep))
    return figure


# What all pictures share


def _styles() -> Any:
    """Endless colour, line style and marker, no two of the first 28 alike."""
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


def _fixed_sizes(sweep: Sweep, offset: int) -> pd.DataFrame:
    """The rows with one size each, at this offset. ValueError that names the offsets there are."""
    frame = sweep.frame()
    frame = frame[frame["size"] > 0]
    chosen = frame[frame["offset"] == offset]
    if chosen.empty:
        raise ValueError(f"offset {offset} was not measured; there is {sorted(set(frame['offset']))}")
    return chosen


def _draw_ceiling(axes: Axes, frame: pd.DataFrame) -> None:
    loads = frame[frame["kernel"].str.startswith("load_only")]
    if not loads.empty:
        best = loads.groupby("size")["ticks_per_byte"].min()
        axes.fill_between(
            best.index, best, best.min() / 1.3, color="0.9", label="loads alone, the widest that run"
        )


def _alignment(offset: int) -> str:
    return {0: "aligned", 1: "one byte off"}.get(offset, f"{offset} bytes off")


def _size_axis(axes: Axes, sizes: Any, apart: float = 1.6) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(_sparse(sorted(set(sizes)), apart)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_xlabel("bytes")


def _sparse(sizes: Sequence[float], apart: float) -> list[float]:
    """Of neighbours that their labels would run into each other, the first."""
    kept: list[float] = []
    for size in sizes:
        if not kept or size / kept[-1] > apart:
            kept.append(size)
    return kept


def _log_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _ratio_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(FixedLocator([ratio for ratio in _RATIOS if low <= ratio <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.axhline(1, color="0.4", linewidth=1)


def _host_line(sweep: Sweep) -> str:
    host = sweep.host
    rounds = f"minima of {sweep.plan.rounds_done} rounds, placements: {sweep.plan.placements}"
    return f"{host.cpu}, {host.hypervisor}; {host.compiler}; {tick_name(host.unit)} at {host.hz / 1e6:.0f} MHz; {rounds}"


def _caption(figure: Figure, text: str) -> None:
    figure.supxlabel("\n".join(textwrap.wrap(text, 130)), fontsize=8, color="0.35", x=0.01, ha="left")


def close(figure: Figure) -> None:
    """Frees the figure, for programs that draw many."""
    plt.close(figure)
