"""Cost against where the bytes come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fastcksum.lab._machine.facts import tick_name

from ._axes import anything_drawn, at_least_one, chosen_kernels, fixed_sizes, label_log, log_axis
from ._style import alignment_words, caption, head, host_line, listed, picture, styles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fastcksum.lab._figures.result import Sweep
    from fastcksum.lab._machine.facts import Host

# The steps of the staircase; "cold" is not one: a single call, with the reading of the clock in its figure.
STEPS: Final = ("hot", "l2", "l3", "dram")


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
    frames = [fixed_sizes(sweep, offset) for sweep in at_least_one(sweeps)]
    for sweep, frame in zip(sweeps, frames, strict=True):
        if _cache_of(sweep) not in STEPS:
            raise ValueError(
                f"cache '{_cache_of(sweep)}' is no step of the staircase; there is {', '.join(STEPS)}"
            )
        if size not in set(frame["size"]):
            raise ValueError(
                f"{size} bytes were not measured from {_cache_of(sweep)}; there is {listed(frame['size'])}"
            )
    steps = sorted(zip(sweeps, frames, strict=True), key=lambda step: STEPS.index(_cache_of(step[0])))
    names = chosen_kernels(steps[0][1], kernels)
    host = steps[0][0].host
    with picture() as figure:
        axes = figure.subplots()
        for style, name in zip(styles(), names, strict=False):
            cells = [frame[(frame["kernel"] == name) & (frame["size"] == size)].iloc[0] for _, frame in steps]
            _draw_steps(axes, cells, size, style, name)
        axes.set_xticks(range(len(steps)), [_set_label(sweep, size) for sweep, _ in steps])
        axes.set_xlim(-0.5, len(steps) - 0.5)
        log_axis(axes)
        axes.set_ylabel(f"{tick_name(host.unit)} per byte")
        if anything_drawn(axes):
            _gigabytes_axis(axes, host)
        head(
            figure,
            title or f"Where the bytes come from: blocks of {size:,} bytes, {alignment_words(offset)}",
            axes,
        )
        caption(
            figure,
            f"{host_line(steps[0][0], names)}. Line: minimum; band: first to third quartile.",
        )
    return figure


def _cache_of(sweep: Sweep) -> str:
    return sweep.plan.cells[0].cache


def _set_label(sweep: Sweep, size: int) -> str:
    """The name of a step, and how much memory is gone through in it."""
    cache = _cache_of(sweep)
    amount = size if cache == "hot" else sweep.plan.set_bytes[cache]
    return f"{cache}\n{_amount(amount)}"


def _amount(size: float) -> str:
    for name, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.3g} {name}"
    return f"{size:.0f} bytes"


def _draw_steps(axes: Axes, cells: Sequence[Any], size: int, style: Mapping[str, Any], label: str) -> None:
    """One flat step a cell, joined; the band of each is its own."""
    across = np.arange(len(cells))
    edges = np.repeat(across, 2) + np.tile([-0.3, 0.3], len(cells))
    values = np.array([cell["ticks_per_byte"] for cell in cells])
    axes.plot(edges, np.repeat(values, 2), label=label, **{**style, "marker": ""})
    axes.plot(across, values, **{**style, "linestyle": "none"})
    for position, cell in zip(across, cells, strict=True):
        low, high = cell["q1"] / size, cell["q3"] / size
        axes.fill_between(
            [position - 0.3, position + 0.3], low, high, color=style["color"], alpha=0.15, linewidth=0
        )


def _gigabytes_axis(axes: Axes, host: Host) -> None:
    """The same on the right as GB a second."""

    def turned(value: Any) -> Any:
        return host.hz / np.maximum(value, 1e-12) / 1e9

    right = axes.secondary_yaxis("right", functions=(turned, turned))
    low, high = axes.get_ylim()
    label_log(right.yaxis, high / low)
    right.set_ylabel("GB/s")
