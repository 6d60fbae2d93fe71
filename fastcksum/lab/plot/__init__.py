"""Pictures of sweeps and comparisons: one style, units and host in each, readable in print and without colour.

Every function takes a result of the lab, draws into a new figure of page width and returns it; a notebook shows it as
the last value of a cell, savefig() writes it. pyplot, which keeps every figure until it is closed, is not used.
Kernels get a colour, a line style and a marker each, so that they can be told apart by any one of the three.
"""

from __future__ import annotations

from ._builds import compiler_matrix
from ._caches import cache_staircase
from ._changes import before_after
from ._packets import cost_breakdown, cost_per_packet, verdicts
from ._places import offset_map, placement_strip
from ._sizes import across_hosts, cycles_per_byte, published_and_measured, ticks_per_call
from ._style import COLOURS, LINES, MARKERS, Picture

__all__ = [
    "COLOURS",
    "LINES",
    "MARKERS",
    "Picture",
    "across_hosts",
    "before_after",
    "cache_staircase",
    "compiler_matrix",
    "cost_breakdown",
    "cost_per_packet",
    "cycles_per_byte",
    "offset_map",
    "placement_strip",
    "published_and_measured",
    "ticks_per_call",
    "verdicts",
]
