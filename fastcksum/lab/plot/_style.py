"""What all pictures share: a page, a title with its legend, a caption, and a style for each line."""

from __future__ import annotations

import io
import textwrap
from contextlib import contextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any, Final

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fastcksum.lab._machine.facts import tick_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.artist import Artist
    from matplotlib.lines import Line2D

    from fastcksum.lab._figures.result import Sweep
    from fastcksum.lab._machine.facts import Host

# Okabe and Ito, Color Universal Design (2008): told apart with any colour vision; yellow is left out, it fades in
# print.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
LINES: Final = ("-", "--", "-.", ":")
MARKERS: Final = "osD^vP*X"
PAGE: Final = (8.0, 4.6)  # inches; 800 pixels wide as a notebook shows it
DOTS: Final = 150  # an inch: sharp on a fine screen and in print, at the same width
LONGEST_LIST: Final = 40  # texts of one panel that are read out
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

    def _repr_png_(self) -> tuple[bytes, dict[str, int | str]]:
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=DOTS)
        return png.getvalue(), {"width": round(self.get_figwidth() * self.dpi), "alt": in_words(self)}


def in_words(figure: Figure) -> str:
    """The picture for those who can't see it: title, axes, each line with its ends, each text in it, the caption."""
    titles = [text.get_text() for text in figure.texts if text is getattr(figure, "_suptitle", None)]
    titles += [legend.get_title().get_text() for legend in figure.legends]
    words = [*titles, *(_axes_in_words(axes) for axes in figure.axes)]
    return " ".join(f"{each.rstrip('. ')}." for each in [*words, figure.get_supxlabel()] if each).replace(
        "\n", " "
    )


def _axes_in_words(axes: Axes) -> str:
    head = ", ".join(filter(None, [axes.get_title(loc="left"), axes.get_title()]))
    sides = " by ".join(filter(None, [axes.get_ylabel(), axes.get_xlabel()]))
    lines = [_line_in_words(line) for line in axes.lines if not str(line.get_label()).startswith("_")]
    texts = [text.get_text().strip() for text in axes.texts if text.get_text().strip()]
    shown = [
        *lines,
        *texts[:LONGEST_LIST],
        *([f"and {len(texts) - LONGEST_LIST} more"] * (len(texts) > LONGEST_LIST)),
    ]
    return ": ".join(filter(None, [head, sides, "; ".join(shown)]))


def _line_in_words(line: Line2D) -> str:
    points = zip(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float), strict=True)
    ends = [f"{y:.3g} at {x:,.6g}" for x, y in points]
    return " to ".join([f"{line.get_label()} {ends[0]}", *ends[1:][-1:]]) if ends else str(line.get_label())


@contextmanager
def picture(height: float = PAGE[1]) -> Iterator[Picture]:
    """A figure of page width in the one style, whatever style the user has set."""
    with matplotlib.style.context(["default", _STYLE]):
        yield Picture(figsize=(PAGE[0], height), layout="constrained")


def head(figure: Figure, title: str, labelled: Axes | Sequence[Artist] = ()) -> None:
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


def caption(figure: Figure, text: str) -> None:
    figure.supxlabel("\n".join(textwrap.wrap(text, 125)), fontsize=8, color="0.35", x=0.01, ha="left")


def machine(host: Host) -> str:
    where = {"none": "bare metal", "unknown": "hypervisor unknown"}.get(host.hypervisor, host.hypervisor)
    return f"{host.cpu}, {where}"


def compilers_of(sweep: Sweep, kernels: Sequence[str]) -> list[str]:
    """What built each of these kernels: their own compiler, or the extension's."""
    facts = [each for each in sweep.plan.kernels if each["name"] in kernels]
    return [each.get("compiler") or sweep.host.compiler for each in facts]


def host_line(sweep: Sweep, kernels: Sequence[str]) -> str:
    return conditions(sweep, compilers_of(sweep, kernels))


def conditions(sweep: Sweep, compilers: Sequence[str]) -> str:
    """Host, compilers, the unit, and how a figure came about."""
    host, plan = sweep.host, sweep.plan
    ways = {(cell.mode, cell.cache, cell.form) for cell in plan.cells}
    way = "".join(f"; {' '.join(way)}" for way in ways - {("throughput", "hot", "plain")} if len(ways) == 1)
    replicates = plan.placements * plan.processes
    figures = f"minima of {plan.rounds_done} rounds, 1 placement"
    if replicates > 1:
        figures = f"pseudomedians over {replicates} placements and processes of the minima of {plan.rounds_done} rounds"
        if plan.processes == 1:
            figures = f"pseudomedians over {replicates} placements of the minima of {plan.rounds_done} rounds"
    clock = f"{tick_name(host.unit)} at {host.hz / 1e6:.0f} MHz{way}"
    return "; ".join(filter(None, [machine(host), ", ".join(dict.fromkeys(compilers)), clock, figures]))


def styles() -> Any:
    """Endless colour, line style and marker: no two of the first 56 alike, nor of the first 8 without colour."""
    return (
        {"color": colour, "linestyle": line, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        for colour, line, marker in zip(cycle(COLOURS), cycle(LINES), cycle(MARKERS), strict=False)
    )


def paired_styles() -> Any:
    """Endless styles for lines that come in pairs: one colour and marker a pair, the first dashed, the second solid."""
    return (
        {"color": colour, "linestyle": line, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
        for colour, marker in zip(cycle(COLOURS), cycle(MARKERS), strict=False)
        for line in ("--", "-")
    )


def alignment_words(offset: int) -> str:
    return {0: "aligned", 1: "one byte off"}.get(offset, f"{offset} bytes off")


def listed(values: Any) -> str:
    return ", ".join(str(value) for value in sorted(set(values)))
