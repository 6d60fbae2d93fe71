"""Which rows and kernels are drawn, and the axes of bytes and of ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from fastcksum.lab._figures.record import OVERHEAD

from ._style import listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from fastcksum.lab._figures.result import Sweep


def at_least_one(sweeps: Sequence[Sweep]) -> list[Sweep]:
    if not sweeps:
        raise ValueError("there is no sweep to draw; give at least one")
    return list(sweeps)


def fixed_sizes(sweep: Sweep, offset: int) -> pd.DataFrame:
    """The rows with one size each, at this offset. ValueError that names the offsets there are."""
    frame = sweep.frame()
    frame = frame[frame["size"] > 0]
    chosen = frame[frame["offset"] == offset]
    if chosen.empty:
        raise ValueError(f"offset {offset} was not measured; there is {listed(frame['offset'])}")
    return chosen


def chosen_kernels(frame: pd.DataFrame, kernels: Sequence[str] | None) -> list[str]:
    """The kernels to draw: those named, or all but the yardsticks. ValueError for one that was not measured."""
    there = list(dict.fromkeys(frame["kernel"]))
    if kernels is None:
        return [name for name in there if name != OVERHEAD and not name.startswith("load_only")]
    for name in kernels:
        if name not in there:
            raise ValueError(f"kernel '{name}' was not measured; there is {', '.join(there)}")
    return list(kernels)


def one_byte_longer(sizes: Sequence[int]) -> list[bool]:
    """Which sizes are the odd one of a pair such as 20, 21: a line through both would be a saw with a single tooth."""
    there = set(sizes)
    return [size - 1 in there and size - 2 not in there and size + 1 not in there for size in sizes]


def draw_line(axes: Axes, sizes: pd.Series, values: pd.Series, label: str, style: Mapping[str, Any]) -> None:
    """A line through the sizes; those one byte longer than their neighbour as hollow markers beside it."""
    beside = np.array(one_byte_longer([int(size) for size in sizes]), dtype=bool)
    axes.plot(sizes[~beside], values[~beside], label=label, **style)
    hollow = {**style, "linestyle": "none", "markerfacecolor": "none"}
    axes.plot(sizes[beside], values[beside], **hollow)


def size_axis(axes: Axes, sizes: Any, share: float = 0.075) -> None:
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


def anything_drawn(axes: Axes) -> bool:
    """Whether a value could be drawn: on a busy machine there may be none."""
    return bool(np.isfinite(axes.dataLim.minposy))


def log_axis(axes: Axes) -> None:
    """A log scale for what has been drawn, with labels enough on a short one too."""
    if not anything_drawn(axes):
        return
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    label_log(axes.yaxis, high / low)


def label_log(axis: Axis, span: float) -> None:
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if span > 10 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
    )
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
