"""A sweep that was measured: its samples, the machine and the plan that they belong to."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import report
from .rows import Row, rows_of

if TYPE_CHECKING:
    import os

    import pandas as pd

    from fastcksum.lab._machine.facts import Host

    from .record import Plan, Structured


@dataclass(frozen=True, eq=False)
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
        return rows_of(self.samples, self.plan.cells, self.plan.mean_lengths, self.host.unit)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame, one row a cell. ModuleNotFoundError with the pip command without pandas."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra, and slow to import
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Sweep.frame() needs pandas: pip install 'fastcksum[lab]'; Sweep.table() works without"
            ) from error
        frame = pd.DataFrame(self.table(), columns=Row._fields)
        return frame.astype({"net_ticks_per_call": "float64"})

    def text(self) -> str:
        """The table that reviewers mail, in the form of DPDK's cksum_perf_autotest, at most 100 columns wide."""
        return report.text(self.table(), self.samples, self.host, self.plan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one Parquet file; a good file of that name is replaced only by a whole one."""
        _results_module().save(self.samples, self.host, self.plan, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """The sweep that save() wrote. ValueError if the file is something else, damaged, or of another schema."""
        return Sweep(*_results_module().load(path))

    def __str__(self) -> str:
        return self.text()


def _results_module() -> Any:
    """The reader and writer of files. ModuleNotFoundError with the pip command without pandas and pyarrow."""
    try:
        from . import results  # noqa: PLC0415 - pandas is an extra
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "saving and loading sweeps needs pandas and pyarrow: pip install 'fastcksum[lab]'"
        ) from error
    return results
