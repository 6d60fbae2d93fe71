"""One source by many compilers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.patches import Patch, Rectangle

from fastcksum.lab._machine.facts import tick_name

from ._style import caption, conditions, head, listed, machine, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fastcksum.lab._figures.builds import Matrix, MatrixRow

# Bits of the packed additions of a build -> its shade, the wider the darker, and what it is called.
WIDTHS: Final = {
    None: ("#FFFFFF", "width unknown"),
    0: ("#F2F2F2", "scalar"),
    128: ("#C6DDF0", "128-bit vectors"),
    256: ("#7FB2DA", "256-bit"),
    512: ("#2F7EBB", "512-bit"),
}


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
        raise ValueError(f"{size} bytes are not in the matrix; there is {listed(matrix.sizes)}")
    keeps = matrix.rows[0].frame_pointer if frame_pointer is None else frame_pointer
    rows = [row for row in matrix.table() if row.frame_pointer == keeps]
    builds = list(dict.fromkeys((row.compiler, row.flags) for row in rows))
    targets = list(dict.fromkeys(row.target for row in rows))
    names = list(dict.fromkeys(row.kernel for row in rows))
    with picture(height=1.9 + 0.27 * len(builds)) as figure:
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            for row in (row for row in rows if row.kernel == name):
                corner = targets.index(row.target), builds.index((row.compiler, row.flags))
                _draw_build(axes, *corner, row, row.ticks[matrix.sizes.index(size)])
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
        head(figure, title or f"{unit} per call of {size:,} bytes, by build", keys)
        pointer = {True: "kept", False: "omitted", None: "as the compiler likes"}[keeps]
        nothing = f"{machine(matrix.host)}; nothing could be run here"
        how = nothing if matrix.sweep is None else conditions(matrix.sweep, [])
        caption(figure, f"{how}; frame pointer {pointer}.")
    return figure


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
