"""Figures that people sent each other: the published exchanges, and readers for the tables in any mail."""

from __future__ import annotations

import warnings
from importlib.resources import files
from typing import TYPE_CHECKING

from fastcksum._extras import extra

from .dpdk_table import USUAL_NAMES, TableReader
from .perf_stat import CountReader
from .text import Rejected, lines

if TYPE_CHECKING:
    import pandas as pd


def published() -> pd.DataFrame:
    """The figures of the published exchanges about these two functions, one row a measured cell.

    Sources (column `source`):

    dpdk-dev 2026-02
        `rte_raw_cksum` before and after a patch, by three compilers: cycles_per_block and cycles_per_byte at
        each size (bytes) and alignment, in ticks of the time stamp counter. One sample a cell, nothing
        subtracted; the first row of the gcc and clang 21 runs is 1.3 to 1.5 times the second, a warm-up.
    netdev 2021-11
        `csum_partial` before and after a rewrite: cycles, instructions, branches and branch_misses of
        1,000,000 `calls`, the loop included, and load_share_percent, its share of the CPU time of a packet
        load. The size is not stated.
    linux 6.5 commit 688eb8191b47
        `csum_partial` before and after the next rewrite: ticks_per_call by `size` and `mode` (latency,
        throughput).

    What a source doesn't tell is missing (NaN). `unit` names what "cycles" are: tsc_ticks or core_cycles.
    """
    pandas = extra("pandas", "lab.published()", "lab")
    dpdk = _data("dpdk_cksum_perf").rename(
        columns={
            "block_size": "size",
            "tsc_cycles_per_block": "cycles_per_block",
            "tsc_cycles_per_byte": "cycles_per_byte",
        }
    )
    linux = _data("linux_csum_partial")
    later = _data("linux_csum_partial_2023").drop(columns="unit").rename(columns={"bytes": "size"})
    later = later.melt(["source", "cpu", "size"], var_name="mode", value_name="ticks_per_call").dropna()
    later[["mode", "phase"]] = later["mode"].str.split("_", expand=True)
    frame: pd.DataFrame = pandas.concat(
        [
            dpdk.assign(unit="tsc_ticks"),
            linux.assign(unit="core_cycles"),
            later.assign(unit="tsc_ticks", function="csum_partial"),
        ],
        ignore_index=True,
    )
    first = [
        "source",
        "function",
        "phase",
        "cpu",
        "compiler",
        "build",
        "unit",
        "mode",
        "alignment",
        "size",
        "calls",
    ]
    counts = ["size", "calls", "cycles", "instructions", "branches", "branch_misses"]
    return frame[[*first, *frame.columns.difference(first, sort=False)]].astype(
        dict.fromkeys(counts, "Int64")
    )


def _data(name: str) -> pd.DataFrame:
    with files(__package__).joinpath("data", f"{name}.csv").open(encoding="utf-8") as file:
        frame: pd.DataFrame = extra("pandas", "lab.published()", "lab").read_csv(file)
        return frame


def read_dpdk_table(text: str) -> pd.DataFrame:
    """The tables of DPDK's cksum_perf_autotest in a mail, a log or `Sweep.text()`: one row a cell.

    Columns: run (the heading above the table, else a running number), alignment ("aligned", "unaligned" or
    what the table says, in lower case), size (bytes), cycles_per_block, cycles_per_byte, then any further
    column of the table under its own name. A table whose columns are sides of a comparison (Before, After)
    gives one run a side. A row of `Sweep.text()` on a mix of lengths has size 0, the alignment "random" or "dependent"
    and the mix in a column lengths; one without a sample has NaN.

    Quote marks, wrapped lines, prompts and prose around the tables are seen through. A line that looks like a
    row and isn't one, or whose figures contradict each other by more than their rounding, is not in the
    frame: it stands in `.attrs["rejected"]` as (line number, text, reason), and a UserWarning says so.
    `.attrs["units"]` has the unit of each run's figures as printed, such as "TSC cycles".
    """
    pandas = extra("pandas", "lab.read_dpdk_table()", "lab")
    reader = TableReader(lines(_text(text)))
    reader.read()
    frame: pd.DataFrame = pandas.DataFrame(reader.rows)
    frame = frame.reindex(columns=list(dict.fromkeys([*USUAL_NAMES, *frame.columns])))
    frame = frame.astype({"size": "int64", "cycles_per_block": "float64", "cycles_per_byte": "float64"})
    frame.attrs["units"] = reader.units
    _report(frame, reader.rejected, "a row of a checksum table")
    return frame


def read_perf_stat(text: str) -> pd.DataFrame:
    """The blocks of `perf stat` in a mail or a log, human-readable or from `-x` or `-j`: one row an event.

    Columns: run (the heading above the block, else the command that was counted, else a running number; with
    `-I`, `-A` and the like also the moment or the CPU), event (as printed, without its unit), count (missing
    where perf says <not supported> or <not counted>), note (the comment column as text; before it the unit of
    a count that has one), share (of the time for which it was counted, where events took turns on the counters) and
    spread (over repetitions), both as parts of 1 and missing where perf doesn't say.

    Counts may have any thousands separator. `.attrs["seconds"]` maps each run to its times: "time elapsed",
    "user", "sys". A line that looks like a row and isn't one stands in `.attrs["rejected"]` as (line number,
    text, reason), and a UserWarning says so.
    """
    pandas = extra("pandas", "lab.read_perf_stat()", "lab")
    reader = CountReader(lines(_text(text)))
    reader.read()
    columns = ["run", "event", "count", "note", "share", "spread"]
    rows = [tuple(getattr(row, name) for name in columns) for row in reader.rows]
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
    frame = frame.astype({"count": "Float64", "share": "Float64", "spread": "Float64"})
    frame.attrs["seconds"] = reader.seconds
    _report(frame, reader.rejected, "a count of perf stat")
    return frame


def _text(text: object) -> str:
    """The text of a mail. TypeError for bytes, whose encoding only the mail knows, and for a path."""
    if isinstance(text, str):
        return text
    way_out = (
        "text.decode() makes it one" if isinstance(text, bytes) else "Path(...).read_text() reads a file"
    )
    raise TypeError(f"text must be a str, the mail itself, not {type(text).__name__}; {way_out}")


def _report(frame: pd.DataFrame, rejected: list[Rejected], what: str) -> None:
    """Puts the rejected lines into the frame's attrs; warns of them, or of an empty frame, in one sentence."""
    frame.attrs["rejected"] = rejected
    if rejected:
        number, text, reason = rejected[0]
        others = f" (and {len(rejected) - 1} more)" if len(rejected) > 1 else ""
        message = (
            f'line {number} looks like {what} but {reason}: "{text}"{others}; .attrs["rejected"] lists them'
        )
        warnings.warn(message, stacklevel=3)
    elif frame.empty:
        warnings.warn(f"nothing in the text looks like {what}", stacklevel=3)
