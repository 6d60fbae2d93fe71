"""The notebooks: each runs from top to bottom with a small plan, and what is committed is readable and keeps no
secrets.

The layer rules that hold for them (public names only, equal to their scripts) are in test_layers.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jupytext
import papermill
import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
SCRIPTS = sorted(NOTEBOOKS.glob("*.py"))
# A page of 800 pixels shows so much of a line of code, and a reader takes in so many lines at once.
WIDTH = 86
LINES = 15
PRIVATE = re.compile(r"/(?:work|tmp|root|home)\b|/(?:var|private)/folders\b")

# What each notebook is run with here: enough for every cell to have something to do.
QUICK = {"ROUNDS": 3, "SEED": 1}
PLANS: dict[str, dict[str, Any]] = {  # lists: papermill knows no tuples
    "01_before_and_after": {
        "SIZES": [20, 21, 100, 1500],
        "COMPILERS": ["gcc", "no-such-compiler"],
        "DPDK_TEST_RUNS": 1,
        "PLACEMENTS": [16],
        "COMPARED_ROUNDS": 2,
        "DPDK_PLACEMENTS": 4,
        **QUICK,
    },
    "02_csum_partial": {
        "CALLS": 1000,
        "COUNTED": [20],
        "SIZES": [40, 64],
        "PLACEMENTS": 4,
        "PACKETS": 24,
        **QUICK,
    },
    "03_sizes_and_caches": {
        "SMALL": [1, 40, 128],
        "LARGE": [64, 1500, 262144],
        "CACHES": ["hot", "l2"],
        **QUICK,
    },
    "04_offsets_and_placement": {
        "KERNELS": ["dpdk_before", "dpdk_after"],
        "SIZES": [20, 100],
        "MAP_SIZES": [20, 100],
        "OFFSETS": [0, 1, 2, 4090],
        "PLACEMENTS": 4,
        "PROCESSES": 2,
        **QUICK,
    },
    "09_untrained_core": {
        "KERNELS": ["dpdk_before"],
        "SIZES": [20, 64],
        "CALLS": 64,
        "LESSONS": 12,
        "SEED": 1,
    },
    "05_compilers": {
        "COMPILERS": ["gcc", "no-such-compiler"],
        "OPTIMISATIONS": [["-O2"], ["-O3"]],
        "TARGETS": ["x86-64", "native"],
        "SIZES": [20, 1500],
        "PLACEMENTS": [16],
        **QUICK,
    },
    "06_judge_a_patch": {"SIZES": [20, 1500], "PLACEMENTS": [16], "COMPARED_ROUNDS": 2, **QUICK},
    "08_why_is_it_wrong": {"MESSAGE": "odd"},
    "07_packets": {"PACKETS": 500, "SLOW_PACKETS": 20, "REPEATS": 1},
}


def name_of(path: Path) -> str:
    return path.stem


def committed(script: Path) -> Any:
    return jupytext.read(script.with_suffix(".ipynb"))


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs_of(notebook: Any) -> list[Any]:
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def pictures(notebook: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs_of(notebook))


def words_of(output: Any) -> str:
    """An output as text, without the pictures."""
    data = {kind: value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")}
    return json.dumps([output.get("text", ""), data, output.get("traceback", [])])


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_it_runs_from_top_to_bottom(script: Path, tmp_path: Path) -> None:
    assert script.stem in PLANS, f"give PLANS the parameters of a small run of {script.name}"
    source = tmp_path / "source.ipynb"
    jupytext.write(jupytext.read(script), source)
    done = papermill.execute_notebook(
        source,
        tmp_path / "done.ipynb",
        PLANS[script.stem],
        cwd=NOTEBOOKS,
        kernel_name="python3",
        progress_bar=False,
        execution_timeout=170,
    )
    injected = [cell for cell in done.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    assert len(injected) == 1
    assert pictures(done) == pictures(committed(script))
    assert [output for output in outputs_of(done) if output.output_type == "error"] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_the_committed_one_has_run(script: Path) -> None:
    notebook = committed(script)
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1)), "python benchmarks/notebooks.py runs it"
    assert pictures(notebook) > 0
    kinds = {output.output_type for output in outputs_of(notebook)}
    assert "error" not in kinds
    complaints = [output.text for output in outputs_of(notebook) if output.get("name") == "stderr"]
    assert complaints == []


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_every_picture_is_told_in_words(script: Path) -> None:
    for output in outputs_of(committed(script)):
        if "image/png" in output.get("data", {}):
            assert len(output.metadata["image/png"]["alt"]) > 60


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_nothing_in_it_names_a_private_folder(script: Path) -> None:
    notebook = committed(script)
    found = [
        line
        for output in outputs_of(notebook)
        for line in words_of(output).split("\\n")
        if PRIVATE.search(line)
    ]
    assert found == []
    assert not PRIVATE.search(script.read_text(encoding="utf-8"))
    assert not PRIVATE.search(json.dumps(notebook.metadata))
    for cell in notebook.cells:
        assert not PRIVATE.search(json.dumps(cell.metadata))


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_it_asks_a_question_first_and_answers_last(script: Path) -> None:
    notebook = committed(script)
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    title = first.source.splitlines()[0]
    assert title.startswith("# ")
    assert title.endswith("?")
    headings = [
        line
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("#")
    ]
    assert headings[-1] == "## Answer"
    answer = code_cells(notebook)[-1].outputs[-1]
    assert re.search(r"\d", answer["data"]["text/markdown"])


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_its_parameters_come_first_and_its_cells_are_short(script: Path) -> None:
    cells = code_cells(jupytext.read(script))
    assert cells[0].metadata.get("tags") == ["parameters"]
    assert [cell for cell in cells[1:] if "parameters" in cell.metadata.get("tags", [])] == []
    for cell in cells[1:]:
        lines = [line for line in cell.source.splitlines() if line.strip()]
        assert len(lines) <= LINES, cell.source
    for cell in cells:
        assert max(map(len, cell.source.splitlines())) <= WIDTH, cell.source


def test_each_plan_is_of_a_notebook_and_of_its_parameters() -> None:
    assert PLANS.keys() == {script.stem for script in SCRIPTS}
    for script in SCRIPTS:
        parameters = code_cells(jupytext.read(script))[0].source
        names = set(re.findall(r"^(\w+) =", parameters, re.MULTILINE))
        assert PLANS[script.stem].keys() <= names
