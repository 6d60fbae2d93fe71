"""How fast a core learns: ticks a call against calls since other code ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastcksum.lab._machine.facts import tick_name

from ._style import caption, head, machine, picture, styles

if TYPE_CHECKING:
    from fastcksum.lab._learning import Learning

    from ._style import Picture


def learning(found: Learning) -> Picture:
    """A line for each kernel and size, the quartiles as a band; both axes logarithmic.

    A batch stands where its calls end, without the readings of the counter: these are most of what a batch of one call
    takes.
    """
    with picture() as figure:
        axes = figure.add_subplot()
        several = len(found.sizes) > 1
        cells = dict.fromkeys((row.kernel, row.size) for row in found.rows)
        for (kernel, size), style in zip(cells, styles(), strict=False):
            rows = [row for row in found.rows if (row.kernel, row.size) == (kernel, size)]
            calls = [row.after_calls + row.calls for row in rows]
            label = f"{kernel}, {size} bytes" if several else kernel
            axes.plot(calls, [row.ticks_per_call - row.pair for row in rows], label=label, **style)
            low, high = ([getattr(row, name) - row.pair for row in rows] for name in ("q1", "q3"))
            axes.fill_between(calls, low, high, color=style["color"], alpha=0.15, linewidth=0)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("calls since other code ran")
        axes.set_ylabel(f"{tick_name(found.host.unit)} per call")
        what = "kernels" if several else f"kernels at {found.sizes[0]} bytes"
        head(figure, f"How fast a core learns {what}", axes)
        caption(
            figure,
            f"{machine(found.host)}; {found.host.compiler}; {tick_name(found.host.unit)} at {found.host.hz / 1e6:.0f} "
            f"MHz; medians and quartiles over {found.lessons} lessons, {found.dropped} of all dropped; without the "
            "pair of counter readings",
        )
        return figure
