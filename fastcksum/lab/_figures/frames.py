"""Sweeps of several machines in one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastcksum._extras import extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from .result import Sweep


def concat(sweeps: Sequence[Sweep]) -> pd.DataFrame:
    """The frames of several sweeps below each other, with the columns `host` (CPU and compiler) and `started` in front.

    Ticks of different machines are different units: compare their per-core-cycle columns, or ratios within a host.
    ValueError for no sweep.
    """
    if not sweeps:
        raise ValueError("concat() needs at least one sweep")
    frames = []
    for sweep in sweeps:
        frame = sweep.frame()
        frame.insert(0, "host", f"{sweep.host.cpu}, {sweep.host.compiler}")
        frame.insert(1, "started", sweep.plan.started)
        frames.append(frame)
    joined: pd.DataFrame = extra("pandas", "lab.concat()", "lab").concat(frames, ignore_index=True)
    return joined
