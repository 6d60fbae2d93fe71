"""fastcksum read: what the tables and the counts in a mail say."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._common import command

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from ._common import Commands

KEYS = ["alignment", "size"]


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "read",
        run,
        "print what a mail's checksum tables and its blocks of perf stat say, through quotes, wraps and prose",
        "fastcksum read mail.txt --beside published",
        status="0; 1 if there is neither a table nor a block; 2 when it can't be read",
    )
    parser.add_argument("file", metavar="FILE", help="a mail, a log; - for standard input")
    parser.add_argument(
        "--beside",
        metavar="FILE|published",
        help="another mail, a result that was saved, or the published figures: beside each row of a table",
    )


def run(options: argparse.Namespace) -> int:
    from fastcksum import lab  # noqa: PLC0415 - pandas is for those who read tables

    text = text_of(options.file)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tables, counts = lab.read_dpdk_table(text), lab.read_perf_stat(text)
    for warning in told:
        if str(warning.message).startswith("line "):  # which was rejected, and why
            print(f"fastcksum: {warning.message}", file=sys.stderr)
    if len(tables):
        print(shown(beside(tables, options.beside) if options.beside else tables))
    if len(counts):
        print(shown(counts))
    return 0 if len(tables) or len(counts) else 1


def text_of(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8", errors="replace")


def beside(tables: pd.DataFrame, other: str) -> pd.DataFrame:
    """The rows, each with the figures of the other source at that size and alignment, and how far apart they lie."""
    theirs = figures_of(other)
    wide = theirs.pivot_table(
        index=KEYS, columns="run", values="cycles_per_block", aggfunc="first", sort=False
    )
    wide.columns = [f"{name} (beside)" for name in wide.columns]
    return tables.merge(wide.reset_index(), on=KEYS, how="left")


def figures_of(source: str) -> Any:
    """Run, alignment, size and cycles_per_block of the published figures, a saved result, or another mail."""
    from fastcksum import lab  # noqa: PLC0415 - as above

    if source == "published":
        frame = lab.published().dropna(subset=["cycles_per_block"])
        return frame.assign(run=frame["phase"] + ", " + frame["compiler"])
    if source.endswith((".json", ".json.gz")):
        return lab.read_dpdk_table(lab.Sweep.load(source).text())
    return lab.read_dpdk_table(text_of(source))


def shown(frame: pd.DataFrame) -> str:
    """The frame without columns in which nothing stands."""
    text: str = frame.dropna(axis="columns", how="all").to_string(index=False, na_rep="")
    return text
