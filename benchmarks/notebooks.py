"""Runs the notebooks with their full plans and writes their outputs:  python benchmarks/notebooks.py [NAME ...]

NAME is a part of a file name ("02"); none: all of them. Each notebook is made from its script (notebooks/NAME.py),
which is the one to edit, run from top to bottom in a kernel of its own, and written beside it as NAME.ipynb. Nothing in
it but the outputs depends on the run: cells are numbered and no times are kept, so that a diff shows what was measured.

Needs `pip install -e '.[test]'`, as the tests do, and a quiet machine for figures worth keeping.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import jupytext
import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).parent.parent / "notebooks"


def from_script(script: Path) -> nbformat.NotebookNode:
    """The notebook that a script in py:percent is the pair of, without outputs."""
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def execute(notebook: nbformat.NotebookNode, report: Callable[[int, int], None]) -> None:
    """Runs all cells in a new kernel, in the folder of the notebooks. CellExecutionError where one fails."""

    def cell_done(cell_index: int, **_: object) -> None:
        report(cell_index + 1, len(notebook.cells))

    client = NotebookClient(
        notebook,
        timeout=None,
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
        on_cell_executed=cell_done,
    )
    client.execute(
        stderr=subprocess.DEVNULL
    )  # a new kernel warns that it has a TCP port; what cells print is no part of it


def main(names: list[str]) -> None:
    """Executes the notebooks whose names hold one of `names`."""
    os.environ["TQDM_DISABLE"] = "1"  # or every bar would stay in the outputs
    begun = time.monotonic()
    for script in sorted(FOLDER.glob("*.py")):
        if names and not any(name in script.stem for name in names):
            continue
        started = time.monotonic()
        notebook = from_script(script)
        execute(notebook, partial(show, script.stem, started))
        nbformat.write(notebook, script.with_suffix(".ipynb"))
        sys.stdout.write("\n")
    sys.stdout.write(f"all: {time.monotonic() - begun:.0f} s\n")


def show(name: str, started: float, done: int, cells: int) -> None:
    """One line a page, written over and over: how many of its cells have run, for how long."""
    sys.stdout.write(f"\r{name}: cell {done} of {cells}, {time.monotonic() - started:.0f} s")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
