"""What is kept of a measurement: the cells that were timed, the plan that they were timed by.

These are the words that whoever measures and whoever judges share; nothing here measures or judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    Structured: TypeAlias = npt.NDArray[np.void]

Lengths: TypeAlias = "Mapping[int, int] | tuple[int, int]"
"""A mix of lengths in bytes: length -> how many have it, or (low, high) for any from low to high alike."""
DPDK_SIZES: Final = (20, 21, 100, 101, 1500, 1501, 9000, 9001, 65536, 65537)
"""The block sizes of DPDK's cksum_perf_autotest, those of the patch of February 2026 included."""
IMIX: Final = {40: 7, 576: 4, 1500: 1}
"""The classic Internet mix: packet size in bytes -> how many of twelve packets have it."""
RANDOM_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class Cell:
    """What is timed.

    size is in bytes; for a mix it is 0, distribution is its name and offset is -1: any of 0..1023. mode: "throughput",
    "latency", "mixed" (independent calls) or "mixed dependent".
    """

    kernel: str
    size: int
    distribution: str
    offset: int
    mode: str
    cache: str
    form: str


# A mode that people ask for -> the modes of its cells.
MODES: Final = {"throughput": ("throughput",), "latency": ("latency",), "mixed": ("mixed", "mixed dependent")}
OVERHEAD: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for and what was done: enough to repeat the sweep, and to read its samples.

    kernels: the fields of each Kernel, by name of the field. left_out: sentences about cells that were asked for and
    not timed. lengths: what is behind each mix. mean_lengths: bytes a call of each cell. set_bytes: the size of each
    cache's set. pages: what backed the largest buffer. placement_note: why there is only one placement, where more were
    asked for. places: (offset of the kernel, offset of its loops) in a page at each placement, by kernel. warm_ticks:
    how long a cell's loop runs before its batches are timed, in each visit. batches: so many in each. processor: the
    CPU that the thread was pinned to, None where that was refused. started: UTC. interrupted: Ctrl-C ended it when the
    last process had done rounds_done rounds at each of the placements.
    """

    kernels: tuple[dict[str, Any], ...]
    cells: tuple[Cell, ...]
    mean_lengths: tuple[float, ...]
    left_out: tuple[str, ...]
    lengths: dict[str, Any]
    set_bytes: dict[str, int]
    pages: str
    rounds: int
    rounds_done: int
    interrupted: bool
    placements: int
    placement_note: str
    places: dict[str, tuple[tuple[int, int], ...]]
    processes: int
    seed: int
    target_ticks: int
    warm_ticks: int
    batches: int
    processor: int | None
    started: str


def with_columns(samples: Structured, **columns: npt.NDArray[Any]) -> Structured:
    """The samples with these columns behind their own."""
    kinds = [(name, samples.dtype[name]) for name in samples.dtype.names or ()]
    joined = np.zeros(len(samples), [*kinds, *((name, column.dtype) for name, column in columns.items())])
    for name, _ in kinds:
        joined[name] = samples[name]
    for name, column in columns.items():
        joined[name] = column
    return joined
