"""Runs the notebooks with their full plans and writes their outputs:  python benchmarks/notebooks.py [NAME ...]

NAME is a part of a file name ("02"); none: all of them. Each notebook is made from its script (notebooks/NAME.py), which
is the one to edit, run from top to bottom in a kernel of its own, and written beside it as NAME.ipynb. Nothing in it but
the outputs depends on the run: cells are numbered and no times are kept, so that a diff shows what was measured.

Needs `pip install -e '.[test]'`, as the tests do, and a quiet machine for figures worth keeping.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"


def from_script(script: Path) -> nbformat.NotebookNode:
    """The notebook that a script in py:percent is the pair of, without outputs."""
    notebook = jupytext.read(script)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def execute(notebook: nbformat.NotebookNode) -> None:
    """Runs all cells in a new kernel, in the folder of the notebooks. CellExecutionError where one fails."""
    client = NotebookClient(
        notebook,
        timeout=None,
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()


def main(names: list[str]) -> None:
    """Executes the notebooks whose names hold one of `names`."""
    for script in sorted(FOLDER.glob("*.py")):
        if names and not any(name in script.stem for name in names):
            continue
        started = time.monotonic()
        notebook = from_script(script)
        execute(notebook)
        nbformat.write(notebook, script.with_suffix(".ipynb"))
        sys.stdout.write(f"{script.stem}: {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main(sys.argv[1:])
