"""What packets cost, and what was found in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from ._style import COLOURS, caption, head, machine, picture

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from matplotlib.figure import Figure

    from fastcksum.capture import Report
    from fastcksum.lab._machine.facts import Host
    from fastcksum.lab._trace import Trace
    from fastcksum.packets import Status

# The statuses of a checksum, and what tells each apart in print.
HATCHES: Final[dict[Status, str]] = {
    "good": "",
    "bad": "xx",
    "partial": "//",
    "none": "..",
    "unchecked": "--",
}


def cost_breakdown(trace: Trace, *, title: str | None = None) -> Figure:
    """What a received packet costs with each kernel, in ns: headers and copy, and the sum on top, with its share."""
    rows = trace.rows
    with picture(height=1.9 + 0.45 * len(rows)) as figure:
        axes = figure.subplots()
        positions = range(len(rows))
        axes.barh(positions, [trace.without_sum] * len(rows), 0.6, color="0.75", label="headers and one copy")
        sums = [row.ns_per_packet - trace.without_sum for row in rows]
        axes.barh(
            positions,
            sums,
            0.6,
            left=trace.without_sum,
            color=COLOURS[0],
            hatch="//",
            edgecolor="white",
            label="checksum",
        )
        for position, row in zip(positions, rows, strict=True):
            words = f" {row.share:.0%} of {row.ns_per_packet:.1f} ns" + (
                "" if row.badge == "clean" else f", {row.badge}"
            )
            unknown = math.isnan(row.ns_per_packet)
            axes.text(
                0 if unknown else row.ns_per_packet, position, " disturbed" if unknown else words, va="center"
            )
        axes.set_yticks(positions, [row.kernel for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("ns per packet")
        longest = [row.ns_per_packet for row in rows if not math.isnan(row.ns_per_packet)]
        axes.set_xlim(0, 1.3 * max(longest, default=1))
        mix = ", ".join(f"{count} of {length}" for length, count in trace.lengths.items())
        head(figure, title or "What a received packet costs", axes)
        caption(figure, f"{machine(trace.host)}; {trace.host.compiler}. Packets, by bytes: {mix}.")
    return figure


def verdicts(report: Report, *, title: str | None = None) -> Figure:
    """How many checksums of each layer have which status, from capture.verify(): stacked, each status with a hatch."""
    counts = report.counts_by_layer()
    layers = list(counts)
    with picture(height=1.6 + 0.3 * len(layers)) as figure:
        axes = figure.subplots()
        start = np.zeros(len(layers))
        for (status, hatch), colour in zip(HATCHES.items(), COLOURS, strict=False):
            widths = np.array([counts[layer].get(status, 0) for layer in layers])
            axes.barh(layers, widths, left=start, label=status, color=colour, hatch=hatch, edgecolor="white")
            start += widths
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("checksums")
        head(figure, title or "Checksums of a capture, by status", axes)
        damage = f"; damaged: {report.damage}" if report.damage else ""
        caption(figure, f"{len(report.codes):,} checksums in {report.packets:,} packets{damage}.")
    return figure


def cost_per_packet(
    costs: Mapping[str, float],
    host: Host,
    *,
    ours: Collection[str] = (),
    note: str = "",
    title: str | None = None,
) -> Figure:
    """Ways to do the same, by name, in ns per packet on a log scale: a dot each, `ours` filled, the others hollow.

    note goes below the figure, beside the host: what was done, and how the figures came about.
    """
    names = list(costs)
    with picture(height=1.7 + 0.35 * len(names)) as figure:
        axes = figure.subplots()
        for position, name in enumerate(names):
            own = name in ours
            face = COLOURS[0] if own else "white"
            axes.plot(
                costs[name],
                position,
                "o",
                markersize=9,
                markerfacecolor=face,
                markeredgecolor=COLOURS[not own],
            )
            axes.annotate(
                f"{costs[name]:,.0f}",
                (costs[name], position),
                (9, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_yticks(range(len(names)), names)
        axes.set_xscale("log")
        axes.set_xlim(min(costs.values()) / 2, max(costs.values()) * 4)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("ns per packet")
        head(figure, title or "What a packet costs")
        caption(figure, "; ".join(filter(None, [machine(host), f"Python {host.python}", note])))
    return figure
