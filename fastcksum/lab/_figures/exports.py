"""A sweep in the forms that other tools read: Markdown, CSV, pyperf, Google Benchmark.

pyperf and Google Benchmark take each value for an independent one and test their means. Values of one run are not
independent: where the code lies moves all of them alike, so such a test calls two copies of one kernel different. It is
lab.compare that tells kernels apart; these forms are for keeping and for drawing.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from .record import Cell
    from .result import Sweep
    from .rows import Row


def _label(row: Row | Cell) -> str:
    what = row.distribution if row.size == 0 else f"{row.size} bytes +{row.offset}"
    return f"{row.kernel}, {what}, {row.mode}, {row.cache}"


def as_markdown(sweep: Sweep) -> str:
    """A table of one row a cell, ticks a call as in text(), with the machine below it."""
    head = ["kernel", "bytes", "offset", "mode", f"{sweep.host.unit} a call", "a byte", "badge"]
    rows = [
        [
            *(row.kernel, str(row.size or row.distribution), str(row.offset), row.mode),
            *(f"{row.ticks_per_call:.1f}", f"{row.ticks_per_byte:.3f}", row.badge),
        ]
        for row in sweep.table()
    ]
    lines = [
        f"| {' | '.join(each)} |"
        for each in (head, ["---", *["---:"] * 2, "---", *["---:"] * 2, "---"], *rows)
    ]
    return "\n".join([*lines, "", f"{sweep.host.cpu}, {sweep.plan.started}"]) + "\n"


def as_csv(sweep: Sweep) -> str:
    """The fields of each Row, comma separated, with a head line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = sweep.table()
    writer.writerow(rows[0]._fields if rows else [])
    writer.writerows(rows)
    return out.getvalue()


def _seconds(sweep: Sweep) -> list[tuple[Cell, list[float], int]]:
    """(cell, seconds a call of each sample without a flag, calls a sample) of each cell that has any."""
    samples, found = sweep.samples, []
    per_call = samples["ticks"] / samples["calls"] / sweep.host.hz
    for index, cell in enumerate(sweep.plan.cells):
        of_cell = (samples["cell"] == index) & (samples["flags"] == 0)
        if of_cell.any():
            found.append((cell, per_call[of_cell].tolist(), int(samples["calls"][of_cell][0])))
    return found


def as_pyperf(sweep: Sweep) -> str:
    """A suite of pyperf (format 1.0): a benchmark a cell, its samples as values of one run, in seconds."""
    facts = {
        "cpu_model_name": sweep.host.cpu,
        "unit": "second",
        "date": sweep.plan.started[:19].replace("T", " "),
    }
    benchmarks = [
        {"metadata": {"name": _label(cell), "loops": calls}, "runs": [{"values": values}]}
        for cell, values, calls in _seconds(sweep)
    ]
    return json.dumps({"version": "1.0", "metadata": facts, "benchmarks": benchmarks}) + "\n"


def as_google_benchmark(sweep: Sweep) -> str:
    """What --benchmark_out_format=json of Google Benchmark writes, which its compare.py reads; times in ns."""
    rows: list[dict[str, Any]] = [
        {
            "name": _label(cell),
            "run_name": _label(cell),
            "run_type": "iteration",
            "repetitions": len(values),
            "repetition_index": number,
            "threads": 1,
            "iterations": calls,
            "real_time": value * 1e9,
            "cpu_time": value * 1e9,
            "time_unit": "ns",
        }
        for cell, values, calls in _seconds(sweep)
        for number, value in enumerate(values)
    ]
    context = {"date": sweep.plan.started, "host_name": "", "num_cpus": sweep.host.cpus, "caches": []}
    mhz = int(np.rint(sweep.host.hz / 1e6))
    return json.dumps({"context": {**context, "mhz_per_cpu": mhz}, "benchmarks": rows}, indent=1) + "\n"


FORMS: Final[dict[str, Callable[[Sweep], str]]] = {
    "markdown": as_markdown,
    "csv": as_csv,
    "pyperf": as_pyperf,
    "google-benchmark": as_google_benchmark,
}
