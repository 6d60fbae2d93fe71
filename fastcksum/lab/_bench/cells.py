"""Cells: what is timed, and where its bytes lie in memory.

A cell is a kernel on a length (or a mix of lengths) at an offset, in a mode, from a cache, in a form. Here each becomes
spans of one mapped region and the name of the C loop that goes over them; nothing here is timed.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fastcksum.lab._figures.record import MODES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from fastcksum.lab._figures.record import Cell, Lengths
    from fastcksum.lab._machine.facts import Cache

CACHE_LINE: Final = 64
# What lies between two blocks that DPDK's allocator gives out: its header, two cache lines.
DPDK_HEADER: Final = 2 * CACHE_LINE
DPDK_BLOCKS: Final = 10
# A batch of mixed lengths: a whole set of them.
MIXED_CALLS: Final = 16384
# Mixed lengths start at any of so many offsets.
MIXED_OFFSETS: Final = 1024
# A set is a list of spans, and a list of more than this is no longer small beside what it points to.
MOST_SPANS: Final = 1 << 21


@dataclass(frozen=True, slots=True)
class Spans:
    """A cell in memory: the region it lies in, where its spans start and how long they are, and how they are called."""

    region: str
    offsets: list[int]
    lengths: list[int]
    loop: str
    cold: bool = False
    walk: bool = False
    mixed: bool = False

    @property
    def mean_length(self) -> float:
        """Bytes a call."""
        return sum(self.lengths) / len(self.lengths)


@dataclass(frozen=True, slots=True)
class Layout:
    """What the spans of a cell depend on: how many bytes each cache's set has, and the set of spans of each mix.

    mixes: (offsets, lengths), the same for every kernel. copies: how often a cell of a mix holds its set.
    """

    sets: Mapping[str, int]
    mixes: Mapping[str, tuple[list[int], list[int]]]
    copies: int
    slack: int  # room that each of DPDK's blocks has for an offset

    def spans(self, cell: Cell, source: np.random.Generator) -> Spans:
        """Where the cell lies."""
        return _WAYS[cell.mode, cell.cache, cell.form](self, cell, source)


def _hot(layout: Layout, cell: Cell, source: np.random.Generator) -> Spans:  # noqa: ARG001 - all ways are called alike
    return Spans("hot", [cell.offset], [cell.size], "plain")


def _dpdk(layout: Layout, cell: Cell, source: np.random.Generator) -> Spans:  # noqa: ARG001
    """Ten blocks as rte_malloc gives them out, each on a cache line of its own behind its header."""
    room = -(-(cell.size + layout.slack) // CACHE_LINE) * CACHE_LINE
    starts = [i * (room + DPDK_HEADER) + DPDK_HEADER + cell.offset for i in range(DPDK_BLOCKS)]
    return Spans("hot", starts, [cell.size] * DPDK_BLOCKS, "dpdk")


def _latency(layout: Layout, cell: Cell, source: np.random.Generator) -> Spans:  # noqa: ARG001
    return Spans("hot", [cell.offset], [cell.size], "chain")


def _cold(layout: Layout, cell: Cell, source: np.random.Generator) -> Spans:  # noqa: ARG001
    return Spans("hot", [cell.offset], [cell.size], "plain", cold=True)


def _set(layout: Layout, cell: Cell, source: np.random.Generator) -> Spans:
    """Spans all over a set, in an order that no prefetcher knows, none of them twice before all were called."""
    stride = set_stride(cell.size, cell.offset)
    count = max(layout.sets[cell.cache] // stride, 1)
    starts = source.permutation(count) * stride + cell.offset
    loop = "chain" if cell.mode == "latency" else "each"
    return Spans(cell.cache, starts.tolist(), [cell.size] * count, loop, walk=True)


def _mixed(layout: Layout, cell: Cell, source: np.random.Generator) -> Spans:  # noqa: ARG001
    starts, lengths = layout.mixes[cell.distribution]
    loop = "chain" if cell.mode == "mixed dependent" else "each"
    return Spans("hot", starts * layout.copies, lengths * layout.copies, loop, mixed=True)


# (mode, cache, form) -> how it is laid out. What isn't here can't be asked for.
_WAYS: Final[Mapping[tuple[str, str, str], Callable[[Layout, Cell, np.random.Generator], Spans]]] = {
    ("throughput", "hot", "plain"): _hot,
    ("throughput", "hot", "dpdk"): _dpdk,
    ("throughput", "l2", "plain"): _set,
    ("throughput", "l3", "plain"): _set,
    ("throughput", "dram", "plain"): _set,
    ("throughput", "cold", "plain"): _cold,
    ("latency", "hot", "plain"): _latency,
    ("latency", "l2", "plain"): _set,
    ("latency", "l3", "plain"): _set,
    ("latency", "dram", "plain"): _set,
    ("mixed", "hot", "plain"): _mixed,
    ("mixed dependent", "hot", "plain"): _mixed,
}


def check_way(mode: str, cache: str, form: str) -> None:
    """ValueError that lists what there is, if there is no such combination."""
    asked: dict[str, tuple[str, Iterable[str]]] = {
        "mode": (mode, MODES),
        "cache": (cache, dict.fromkeys(way[1] for way in _WAYS)),
        "form": (form, dict.fromkeys(way[2] for way in _WAYS)),
    }
    for what, (value, known) in asked.items():
        if value not in known:
            raise ValueError(f"{what} {value!r} is unknown; there is {', '.join(map(repr, known))}")
    if (mode, cache, form) not in _WAYS:
        ways = "; ".join(
            f"mode '{mode}' with cache '{cache}' and form '{form}'"
            for mode, cache, form in _WAYS
            if mode in MODES
        )
        raise ValueError(f"mode {mode!r}, cache {cache!r}, form {form!r} don't go together; there is {ways}")


def check_lengths(mixes: Mapping[str, Lengths]) -> dict[str, Lengths]:
    """The mixes. TypeError for another form; ValueError for one that is empty, negative or the wrong way round."""
    if not isinstance(mixes, Mapping):
        raise TypeError(
            f"lengths must be named mixes, such as {{'imix': IMIX, '1..128': (1, 128)}}, not {mixes!r}"
        )
    if not mixes:
        raise ValueError("lengths must name at least one mix, such as {'imix': IMIX, '1..128': (1, 128)}")
    return {name: _check_mix(name, mix) for name, mix in mixes.items()}


def _check_mix(name: str, mix: Lengths) -> Lengths:
    try:
        if isinstance(mix, Mapping):
            counts = {operator.index(length): operator.index(count) for length, count in mix.items()}
        else:
            low, high = map(operator.index, mix)
    except (TypeError, ValueError):
        raise TypeError(
            f"lengths {name!r} must be (low, high) or a mapping of lengths to counts, whole numbers, not {mix!r}"
        ) from None
    if isinstance(mix, Mapping):
        if not counts or min(counts) < 0 or min(counts.values()) < 0 or sum(counts.values()) == 0:
            raise ValueError(
                f"lengths {name!r} must map lengths to counts that are not all 0, not {dict(mix)}"
            )
        return counts
    if not 0 <= low <= high:
        raise ValueError(f"lengths {name!r} must be (low, high) with 0 <= low <= high, not {mix}")
    return low, high


def longest(mix: Lengths) -> int:
    """The longest length of the mix that can come up."""
    return mix[1] if isinstance(mix, tuple) else max(length for length, count in mix.items() if count > 0)


def shortest(mix: Lengths) -> int:
    """The shortest length of the mix that can come up."""
    return mix[0] if isinstance(mix, tuple) else min(length for length, count in mix.items() if count > 0)


def draw_lengths(mix: Lengths, n: int, source: np.random.Generator) -> npt.NDArray[np.int64]:
    """N lengths of the mix in a random order: each as often as it should, to within one.

    Of a range with more than n lengths they are spread over it: one out of each n-th of it.
    """
    if isinstance(mix, tuple):
        width = mix[1] - mix[0] + 1
        within = source.random(n) if width > n else np.zeros(n)
        return source.permutation(mix[0] + ((np.arange(n) + within) * width / n).astype(np.int64))
    ends = np.rint(np.cumsum(list(mix.values())) / sum(mix.values()) * n).astype(np.int64)
    return source.permutation(np.repeat(list(mix), np.diff(ends, prepend=0)))


def set_stride(size: int, offset: int) -> int:
    """Bytes from one span of a set to the next: no two of them share a cache line."""
    return -(-(size + max(offset, 0) + 1) // CACHE_LINE) * CACHE_LINE


def set_sizes(caches: Sequence[Cache]) -> dict[str, int]:
    """Bytes of the l2, l3 and dram sets, from the caches of this machine. {} where it doesn't tell them; no l3 where
    half of L3 is not even twice L2: such a set would mostly lie in L2.

    A set is well inside its cache and well outside the one before: half of L2; sixteen times L2 but at most half of
    L3, of which neighbours take their part; four times L3 but at most 1 GiB (twice L3 if that is more).
    """
    size = {cache.level: cache.size for cache in caches if cache.type in {"Data", "Unified"}}
    if not {2, 3} <= size.keys():
        return {}
    third = {"l3": min(16 * size[2], size[3] // 2)} if size[3] // 2 >= 2 * size[2] else {}
    return {"l2": size[2] // 2, **third, "dram": max(min(4 * size[3], 1 << 30), 2 * size[3])}


def why_left_out(cell: Cell, sets: Mapping[str, int]) -> str | None:
    """Why a cell can't be laid out, or None."""
    if cell.cache not in {"l2", "l3", "dram"}:
        return None
    available = sets[cell.cache]
    if cell.size > available and cell.cache != "dram":
        return f"{cell.size} bytes don't fit in the {cell.cache} set of {available} bytes"
    if available // set_stride(cell.size, cell.offset) > MOST_SPANS:
        least = available // MOST_SPANS - CACHE_LINE
        return (
            f"{cell.size} bytes from {cell.cache} would need more than {MOST_SPANS} buffers to fill its set of "
            f"{available} bytes; sizes above {least} can be had"
        )
    return None


def draw_set(mix: Lengths, source: np.random.Generator) -> tuple[list[int], list[int]]:
    """The spans of a mix, (offsets, lengths): as many as a batch has calls."""
    lengths = draw_lengths(mix, MIXED_CALLS, source)
    return source.integers(0, MIXED_OFFSETS, MIXED_CALLS).tolist(), lengths.tolist()
