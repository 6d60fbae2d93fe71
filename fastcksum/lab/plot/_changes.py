"""What a change gains: comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from fastcksum.lab._figures.comparison import Comparison

from ._axes import one_byte_longer, size_axis
from ._style import alignment_words, caption, compilers_of, conditions, head, listed, picture, styles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fastcksum.lab._figures.comparison import Ratio

_RATIOS: Final = (
    *(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.4, 1.7),
    *(2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50),
)


def before_after(
    comparisons: Comparison | Mapping[str, Comparison], *, offset: int = 0, title: str | None = None
) -> Figure:
    """How many times faster the second kernel of each comparison is than the first, against size, with intervals.

    comparisons: one, or label -> Comparison. Above 1 the second is faster. The grey bar is the noise floor, what two
    copies of the same code differ by; a hollow marker is a cell where they are the same or not told apart. ValueError
    if the offset was not compared.
    """
    labelled = _labelled(comparisons)
    chosen = {label: _ratios_at(label, each, offset) for label, each in labelled.items()}
    first = next(iter(labelled.values()))
    sizes = sorted({ratio.size for ratios in chosen.values() for ratio in ratios})
    with picture() as figure:
        axes = figure.subplots()
        floors = [_floor_at(size, chosen.values()) for size in sizes]
        label = "noise floor: two copies of the same code"
        axes.vlines(sizes, [1 / floor for floor in floors], floors, colors="0.85", linewidth=14, label=label)
        for number, (style, (name, ratios)) in enumerate(zip(styles(), chosen.items(), strict=False)):
            # so that intervals at the same size stand beside each other
            beside = 1.03 ** (number - (len(chosen) - 1) / 2)
            _draw_ratios(axes, ratios, style, name, beside)
        size_axis(axes, sizes)
        _ratio_axis(axes)
        axes.set_ylabel("before / after: times faster")
        head(figure, title or f"What the change gains, {alignment_words(offset)}", axes)
        sure = f"{first.confidence:.0%} intervals over {_placements_of(chosen)} placements, together for all cells"
        hollow = "hollow: the same, or not told apart"
        compilers = [
            name for each in labelled.values() for name in compilers_of(each.sweep, (each.a, each.b))
        ]
        caption(figure, f"{conditions(first.sweep, compilers)}. {sure}; {hollow}.")
    return figure


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
        there = listed(ratio.offset for ratio in fixed)
        raise ValueError(
            f"offset {offset} was not compared in '{label}'; there is {there or 'no fixed size'}"
        )
    return at


def _placements_of(chosen: Mapping[str, Sequence[Ratio]]) -> str:
    """How many placements the cells have: "32", or "32 to 128"."""
    counts = sorted({ratio.placements for ratios in chosen.values() for ratio in ratios})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


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
    through = ~np.array(one_byte_longer([ratio.size for ratio in ratios]), dtype=bool)
    axes.plot(sizes[through], faster[through], label=label, **style)
    unresolved = np.array([ratio.verdict in {"same", "unresolved"} for ratio in ratios])
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
