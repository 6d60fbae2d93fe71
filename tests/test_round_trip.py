"""Every text that `perf` prints comes back as the figures that it shows: placements, remarks, mixes, units."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_sweep import HOST, cell, facts, samples_of, sweep_of

from fastcksum import lab
from fastcksum.lab._figures.record import RANDOM_OFFSET

if TYPE_CHECKING:
    import pandas as pd

    from fastcksum.lab import Row, Sweep

ALIGNMENTS = {0: "aligned", 1: "unaligned"}


@st.composite
def sweeps(draw: st.DrawFn) -> Sweep:
    """Kernels at sizes and offsets, or on mixes, at one or several placements, some samples flagged, any unit."""
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = draw(st.sampled_from([("k",), ("k", "nothing"), ("before", "after", "nothing"), ("a+b.c-3",)]))
    if draw(st.booleans()):
        mixes = {"imix": {40: 7, 1500: 1}, "1..128": (1, 128)}
        cells = [
            dataclasses.replace(cell(name, 0), distribution=mix, offset=RANDOM_OFFSET, mode=mode)
            for name in names
            for mix in mixes
            for mode in ("mixed", "mixed dependent")
        ]
    else:
        mixes = {}
        sizes = draw(
            st.lists(st.sampled_from([0, 1, 20, 21, 1500, 65537]), min_size=1, max_size=4, unique=True)
        )
        offsets = draw(st.lists(st.sampled_from([0, 1, 7, 63]), min_size=1, max_size=3, unique=True))
        cells = [cell(name, size, offset) for name in names for size in sizes for offset in offsets]
    placements = draw(st.sampled_from([1, 4]))
    spread = draw(st.sampled_from([1.0, 1.002, 1.5]))
    parts = []
    for placement in range(placements):
        base = [(2 + each.size / 9) * source.uniform(0.5, 3) for each in cells]
        part = samples_of(cells, [[value * source.uniform(1, spread) for _ in range(4)] for value in base])
        part["placement"] = placement
        parts.append(part)
    samples = np.concatenate(parts)
    samples["flags"] = source.random(len(samples)) < draw(st.sampled_from([0.0, 0.3, 0.9]))
    unit = draw(st.sampled_from(["tsc_ticks", "ns", "cntvct_ticks"]))
    return sweep_of(
        [facts(name) for name in names],
        cells,
        [[1.0] * 4],
        host=dataclasses.replace(HOST, unit=unit),
        samples=samples,
        placements=placements,
        lengths=mixes,
        mean_lengths=tuple(float(each.size) or (64.0 if mixes else 0.0) for each in cells),
        left_out=draw(st.sampled_from([(), ("k at 70000 bytes: it is right for 0 to 65535 bytes only",)])),
        interrupted=draw(st.booleans()),
    )


def printed(frame: pd.DataFrame, row: Row) -> pd.Series:
    """The line of the frame that belongs to a row."""
    if row.distribution != "fixed":
        wanted = "dependent" if "dependent" in row.mode else "random"
        found = frame[(frame["alignment"] == wanted) & (frame["lengths"] == row.distribution)]
    else:
        wanted = ALIGNMENTS.get(row.offset, f"+{row.offset}")
        found = frame[(frame["alignment"] == wanted) & (frame["size"] == row.size)]
    found = found[[run.split(":")[0].split()[0] == row.kernel for run in found["run"]]]
    assert len(found) == 1, (row, frame)
    return found.iloc[0]


@given(sweeps())
def test_what_is_printed_is_read_back(sweep: Sweep) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = lab.read_dpdk_table(sweep.text())
    assert frame.attrs["rejected"] == []
    rows = sweep.table()
    assert len(frame) == len(rows)
    per = "ns" if sweep.host.unit == "ns" else "cycles"
    for row in rows:
        line = printed(frame, row)
        assert line[f"{per}_per_block"] == pytest.approx(float(f"{row.ticks_per_call:.1f}"), nan_ok=True)
        nothing = row.size == 0 and row.distribution == "fixed"
        byte = math.nan if nothing else float(f"{row.ticks_per_byte:.2f}")
        assert line[f"{per}_per_byte"] == pytest.approx(byte, nan_ok=True)
    units = {"tsc_ticks": "TSC cycles", "ns": "ns", "cntvct_ticks": "cntvct_ticks"}
    assert set(frame.attrs["units"].values()) == {units[sweep.host.unit]}


def test_a_row_of_placements_in_a_quoted_mail() -> None:
    text = """> ### avx2: what it is
> Alignment  Block size    TSC cycles/block  TSC cycles/byte
> Aligned            20                 5.1             0.26  4.4 to 5.3, noisy, median +17%
> Unaligned          20                 5.3             0.27  4.4 to 5.9
"""
    frame = lab.read_dpdk_table(text)
    assert frame["cycles_per_block"].tolist() == [5.1, 5.3]
    assert frame.attrs["rejected"] == []


def test_other_peoples_remarks_are_still_told() -> None:
    text = "Alignment  Block size  TSC cycles/block  TSC cycles/byte\nAligned 20 10.0 0.50 was 15.6 0.78\n"
    with pytest.warns(UserWarning, match=r"more behind its figures"):
        lab.read_dpdk_table(text)
