"""Pictures of sweeps and comparisons: one style, units and host in each, readable in print and without colour.

Every function takes a result of the lab, draws into a new figure of page width and returns it; a notebook shows it as
the last value of a cell, savefig() writes it. pyplot, which keeps every figure until it is closed, is not used.
Kernels get a colour, a line style and a marker each, so that they can be told apart by any one of the three.

matplotlib is loaded with the first picture; without it that is an ImportError with the pip command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastcksum._extras import extra

if TYPE_CHECKING:
    from ._builds import compiler_matrix
    from ._caches import cache_staircase
    from ._changes import before_after
    from ._learning import learning
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
    "learning",
    "offset_map",
    "placement_strip",
    "published_and_measured",
    "ticks_per_call",
    "verdicts",
]

_HOMES: Final = {
    "COLOURS": "_style",
    "LINES": "_style",
    "MARKERS": "_style",
    "Picture": "_style",
    "across_hosts": "_sizes",
    "before_after": "_changes",
    "cache_staircase": "_caches",
    "compiler_matrix": "_builds",
    "cost_breakdown": "_packets",
    "cost_per_packet": "_packets",
    "cycles_per_byte": "_sizes",
    "learning": "_learning",
    "offset_map": "_places",
    "placement_strip": "_places",
    "published_and_measured": "_sizes",
    "ticks_per_call": "_sizes",
    "verdicts": "_packets",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(extra(f"{__name__}.{_HOMES[name]}", "lab.plot", "lab"), name)


def __dir__() -> list[str]:
    return __all__
