"""A sweep that was measured: its samples, the machine and the plan that they belong to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fastcksum._extras import extra

from . import report, results
from .html import sweep_html
from .rows import Row, rows_of

if TYPE_CHECKING:
    import os

    import pandas as pd

    from fastcksum.lab._machine.facts import Host

    from .record import Plan, Structured


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """The samples of a sweep, with the machine and the plan that they belong to.

    samples: structured array, one row a sample, flagged ones included: ticks calls result round order cell flags
    add_ticks mul_ticks wide_ticks placement process, then the columns of its Cell.
    """

    samples: Structured = dataclasses.field(repr=False)
    host: Host = dataclasses.field(repr=False)
    plan: Plan = dataclasses.field(repr=False)

    def table(self) -> list[Row]:
        """One Row a cell, in the order of the plan."""
        return list(self._rows)

    @cached_property
    def _rows(self) -> list[Row]:
        """The figures, made once: the samples don't change."""
        return rows_of(self.samples, self.plan.cells, self.plan.mean_lengths, self.host.unit)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame, one row a cell. ModuleNotFoundError with the pip command without pandas."""
        pandas = extra("pandas", "Sweep.frame()", "lab", without="Sweep.table() works without")
        frame: pd.DataFrame = pandas.DataFrame(self.table(), columns=Row._fields)
        return frame.astype({"net_ticks_per_call": "float64"})

    def text(self) -> str:
        """The table that reviewers mail, in the form of DPDK's cksum_perf_autotest, at most 100 columns wide."""
        return report.text(self.table(), self.samples, self.host, self.plan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one JSON file (.json, or .json.gz packed); a good file of that name is replaced only by a whole one.

        ValueError for another suffix; OSError for a folder that isn't there or can't be written to.
        """
        results.save(self.samples, self.host, self.plan, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """The sweep that save() wrote. ValueError if the file is something else, damaged, or of another schema."""
        return Sweep(*results.load(path))

    def __eq__(self, other: object) -> bool:
        """Whether samples, host and plan are the same."""
        if not isinstance(other, Sweep):
            return NotImplemented
        same = results.facts_of(self.host) == results.facts_of(other.host)
        same = same and results.facts_of(self.plan) == results.facts_of(other.plan)
        return (
            same
            and self.samples.dtype == other.samples.dtype
            and self.samples.tobytes() == other.samples.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.plan.started, self.plan.seed, len(self.samples)))

    def __repr__(self) -> str:
        cells = {(cell.size, cell.distribution, cell.offset, cell.mode) for cell in self.plan.cells}
        return (
            f"<Sweep: {len(self.plan.kernels)} kernels in {len(cells)} cells, {self.plan.rounds_done} rounds, on "
            f"{self.host.cpu}; .text() and .frame() show it>"
        )

    def _repr_html_(self) -> str:
        return sweep_html(self.table(), self.host, self.plan)

    def __str__(self) -> str:
        return self.text()
