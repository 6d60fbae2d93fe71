"""DPDK's own benchmark, as it is installed on this machine: run, and its tables read."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, Final

from fastcksum._extras import extra
from fastcksum._progress import Progress, reporting

from ._bench.request import check_count
from ._build.packages import ask
from ._machine.processor import best_processor
from ._mail.dpdk_table import TableReader
from ._mail.text import lines

if TYPE_CHECKING:
    import pandas as pd

TEST: Final = "cksum_perf_autotest"
# A run takes about 9 s; DPDK's own suite gives a performance test ten minutes.
TEST_SECONDS: Final = 600


def dpdk_test(runs: int = 5, *, progress: Progress | bool | None = None) -> pd.DataFrame:
    """Runs cksum_perf_autotest of the installed dpdk-test so many times; its tables, one row a cell and run.

    Columns: run (from 1), alignment, size (bytes), cycles_per_block, cycles_per_byte, both in ticks of the TSC, as it
    prints them. .attrs: command, version of the package, interrupted. It runs without huge pages and devices, on the
    CPU that sweep() pins itself to; about 9 s a run. progress is called with (runs done, runs).

    FileNotFoundError with the apt line if dpdk-test isn't installed. RuntimeError in its words if it fails, prints a
    table that can't be read, or doesn't end within ten minutes. Ctrl-C after the first run keeps the runs that were
    done, and .attrs says so. Needs pandas.
    """
    pandas = extra("pandas", "lab.dpdk_test()", "lab")
    check_count("runs", runs)
    if shutil.which("dpdk-test") is None:
        raise FileNotFoundError("dpdk-test is not installed: apt install dpdk-dev")
    command = _test_command()
    rows: list[dict[str, Any]] = []
    interrupted = False
    with reporting(progress, f"{TEST}, {runs} runs") as report:
        try:
            for run in range(1, runs + 1):
                rows += [{**row, "run": run} for row in _rows_of(_run_test(command))]
                report(run, runs)
        except KeyboardInterrupt:
            if not rows:
                raise
            interrupted = True
    frame: pd.DataFrame = pandas.DataFrame(rows)[
        ["run", "alignment", "size", "cycles_per_block", "cycles_per_byte"]
    ]
    version = ask(("dpkg-query", "--show", "--showformat=${Version}", "dpdk-dev")) or "of unknown version"
    frame.attrs |= {"command": shlex.join(command), "version": version, "interrupted": interrupted}
    return frame


def _rows_of(said: str) -> list[dict[str, Any]]:
    """The rows of the table that a run printed. RuntimeError if there is none, or a line that can't be read."""
    reader = TableReader(lines(said))
    reader.read()
    if reader.rejected or not reader.rows:
        raise RuntimeError(f"dpdk-test printed a table that can't be read:\n{said.strip()}")
    return reader.rows


def _test_command() -> tuple[str, ...]:
    """dpdk-test on one CPU, without huge pages, devices and files that a second one would find locked."""
    processor = best_processor(os.sched_getaffinity(0))
    return (
        "dpdk-test",
        "--no-huge",
        "--no-pci",
        "--no-telemetry",
        "--no-shconf",
        "-m",
        "256",
        "--lcores",
        f"0@{processor}",
    )


def _run_test(command: tuple[str, ...]) -> str:
    """What one run prints. RuntimeError in its words unless the test came to its end."""
    # DPDK_TEST names a test to run instead of those that are read
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DPDK_TEST")}
    try:
        done = subprocess.run(
            command,
            input=f"{TEST}\nquit\n",
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{shlex.join(command)} did not end within {TEST_SECONDS} s") from None
    if done.returncode != 0 or "Test OK" not in done.stdout:
        words = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-2000:]
        raise RuntimeError(
            f"{shlex.join(command)} ended with status {done.returncode} and without a table:\n{words}"
        )
    return done.stdout
