"""What the chains that are timed beside each visit say of the core: its clock, and whether somebody shared it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fastcksum import _core

from . import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from .record import Cell, Structured

# The additions a core cycle that any x86-64 core since 2013 manages; nothing is presumed of others.
LEAST_WIDE: Final = {"tsc_ticks": 3.0}
# Core cycles of a 64-bit multiplication on every x86-64 core since 2008; elsewhere it isn't one number.
MUL_LATENCY: Final = {"tsc_ticks": 3}
# Sets of buffers whose calls last as many core cycles at any clock.
SCALES: Final = ("hot", "l2")


def ticks_per_call(samples: Structured, cells: Sequence[Cell], clock: stats.Floats) -> stats.Floats:
    """Of each sample, at the median core clock of all where the cell scales with it."""
    per_call = samples["ticks"] / samples["calls"]
    scales = np.array([cell.cache in SCALES for cell in cells], np.bool_)[samples["cell"]]
    return np.where(scales, stats.at_one_clock(per_call, clock), per_call)


def core_clock(samples: Structured, unit: str) -> stats.Floats:
    """Core cycles a tick beside each sample, NaN where unknown."""
    return stats.core_clock(
        samples["add_ticks"], samples["mul_ticks"], chain=_core.CHAIN, mul_latency=MUL_LATENCY.get(unit)
    )


def alone(samples: Structured, unit: str) -> npt.NDArray[np.bool_]:
    """Of each sample, whether its visit had the core to itself."""
    rates = stats.sentinel(samples["add_ticks"], samples["wide_ticks"])
    return ~stats.contended_visits(rates, least=LEAST_WIDE.get(unit, 0.0))
