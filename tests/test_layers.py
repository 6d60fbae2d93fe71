"""The layers of the house (CONTRIBUTING.md), read from the includes of the C files and the imports of the Python
files.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import jupytext
import pytest

import fastcksum
from fastcksum import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "fastcksum"
NOTEBOOKS = ROOT / "notebooks"

KERNEL_FOLDERS = {".": None, "past": "past", "peer": "peer", "yardstick": "yardstick"}
STANDARD_HEADERS = {"stdbool.h", "stddef.h", "stdint.h", "string.h"}
INTRINSICS_HEADERS = {"base/intrinsics.h", "immintrin.h", "emmintrin.h", "arm_neon.h"}

# What each folder of csrc may include of the others: base <- kernels <- core <- bench, packet <- python.
MAY_INCLUDE = {
    "base": {"base"},
    "kernels": {"base", "kernels"},
    "core": {"base", "kernels", "core"},
    "bench": {"base", "kernels", "core", "bench"},
    "packet": {"base", "kernels", "core", "packet"},
    "python": {"base", "kernels", "core", "bench", "packet", "python"},
    "adapters": {"base", "kernels"},
}


def c_files() -> list[Path]:
    return sorted(path for path in CSRC.rglob("*") if path.suffix in {".c", ".h", ".def"})


def kernel_files() -> list[Path]:
    folders = (CSRC / "kernels" / folder for folder in KERNEL_FOLDERS)
    return sorted(path for folder in folders for path in folder.glob("*.c"))


@cache
def code(path: Path) -> str:
    """A C file without its comments. Strings stay: instructions hide in them."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', code(path), flags=re.MULTILINE)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", c_files(), ids=name_of)
def test_includes_go_one_way(path: Path) -> None:
    layer = path.relative_to(CSRC).parts[0]
    for header in includes(path):
        if "/" in header and (folder := header.split("/")[0]) in MAY_INCLUDE:
            assert folder in MAY_INCLUDE[layer], f"{name_of(path)} includes {header}"
            assert (CSRC / header).is_file(), f"{name_of(path)} includes {header}, which is not there"


def test_quoted_includes_are_written_from_csrc() -> None:
    for path in c_files():
        for header in re.findall(r'#\s*include\s*"([^"]+)"', code(path)):
            assert (CSRC / header).is_file(), f'{name_of(path)} includes "{header}": write it from csrc/'


def included(path: Path) -> list[Path]:
    return [CSRC / header for header in includes(path) if (CSRC / header).is_file()]


@pytest.mark.parametrize("path", c_files(), ids=name_of)
def test_no_circle_of_includes(path: Path) -> None:
    reached, left = set[Path](), included(path)
    while left:
        header = left.pop()
        if header not in reached:
            reached.add(header)
            left += included(header)
    assert path not in reached


def test_headers_of_the_binding_that_hold_code() -> None:
    headers = {path.name for path in (CSRC / "python").glob("*.h")}
    assert {name for name in headers if re.search(r"\breturn\b", code(CSRC / "python" / name))} == {"fast.h"}


def test_no_line_of_c_is_wider_than_120_columns() -> None:
    tests = [path for path in (ROOT / "tests" / "c").iterdir() if path.is_file()]
    lines = [
        (name_of(path), number)
        for path in [*c_files(), *tests]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 120
    ]
    assert lines == []


def test_only_the_binding_includes_python() -> None:
    with_python = {path for path in c_files() if "Python.h" in code(path)}
    assert {path.parent for path in with_python} == {CSRC / "python"}


@pytest.mark.parametrize("path", kernel_files(), ids=name_of)
def test_a_kernel_includes_the_contract_and_steps_only(path: Path) -> None:
    allowed = {"kernels/kernel.h", "base/fold.h", "base/arch.h"} | STANDARD_HEADERS | INTRINSICS_HEADERS
    used = set(includes(path))
    assert "kernels/kernel.h" in used
    assert {header for header in used - allowed if not header.startswith("kernels/steps/")} == set()


def test_steps_know_no_kernel() -> None:
    allowed = {"base/fold.h", "base/arch.h"} | STANDARD_HEADERS | INTRINSICS_HEADERS
    for path in (CSRC / "kernels" / "steps").glob("*"):
        beyond = {header for header in includes(path) if not header.startswith("kernels/steps/")} - allowed
        assert beyond == set(), name_of(path)


def files_with(pattern: str) -> set[str]:
    return {path.relative_to(CSRC).as_posix() for path in c_files() if re.search(pattern, code(path))}


def test_one_file_asks_the_cpu() -> None:
    assert files_with(r"\b_*(get_)?cpuid(_count|_max)?\s*\(|\bcpuid\.h\b|xgetbv|__builtin_cpu_") == {
        "base/cpu.c"
    }
    assert files_with(r"\bgetauxval\b|\bHWCAP") == {"base/cpu.c"}


def test_one_file_reads_the_tick_counter() -> None:
    counters = r"rdtsc|rdpmc|cntvct|cycle_?counter|CLOCK_MONOTONIC\b"
    assert files_with(counters) == {"bench/timer.h"}


def listed_kernels() -> list[str]:
    return re.findall(r"^\s*CKSUM_LISTED\((\w+)\)\s*$", code(CSRC / "kernels" / "kernels.def"), re.MULTILINE)


def test_the_list_names_each_kernel_file_once() -> None:
    assert sorted(listed_kernels()) == sorted(path.stem for path in kernel_files())


def test_the_list_holds_nothing_else() -> None:
    left = re.sub(r"CKSUM_LISTED\(\w+\)", "", code(CSRC / "kernels" / "kernels.def"))
    assert left.strip() == ""


def test_the_registry_has_the_list_and_its_order() -> None:
    names = [kernel.name for kernel in fastcksum.kernels()]
    assert names == [name for name in listed_kernels() if name in names]
    always = {path.stem for path in kernel_files() if "CKSUM_KERNEL_ABSENT" not in code(path)}
    assert always <= set(names)


def test_the_folder_is_the_role() -> None:
    roles = {kernel.name: kernel.role for kernel in fastcksum.kernels()}
    for path in kernel_files():
        if path.stem in roles:
            expected = KERNEL_FOLDERS[path.parent.relative_to(CSRC / "kernels").as_posix()]
            assert roles[path.stem] in ({expected} if expected else {"production", "reference"}), name_of(
                path
            )


# Python


def python_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    """The name that a module of the package is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_names(node: ast.AST, path: Path) -> list[str]:
    """The absolute dotted names that an import statement may load: `from a import b` gives a and a.b."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = node.module or ""
    if node.level:
        package = dotted(path).split(".")
        keep = len(package) - node.level + (path.name == "__init__.py")
        base = ".".join([*package[:keep], *filter(None, [node.module])])
    return [base, *(f"{base}.{alias.name}" for alias in node.names)]


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def statements(node: ast.AST, *, inside_functions: bool) -> Iterator[ast.AST]:
    """All nodes below, without those that only a type checker reads and, unless asked for, those of functions."""
    for child in ast.iter_child_nodes(node):
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if is_for_types_only(child):
            assert isinstance(child, ast.If)
            for other in child.orelse:
                yield from statements(other, inside_functions=inside_functions)
        elif inside_functions or not function:
            yield child
            yield from statements(child, inside_functions=inside_functions)


def imports(path: Path, *, inside_functions: bool) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = statements(tree, inside_functions=inside_functions)
    return {name for node in nodes for name in import_names(node, path)}


def loads(names: set[str], module: str) -> bool:
    return any(name == module or name.startswith(module + ".") for name in names)


def modules_that_load(module: str, *, inside_functions: bool = False) -> set[str]:
    found = (
        path for path in python_modules() if loads(imports(path, inside_functions=inside_functions), module)
    )
    return {path.relative_to(PACKAGE).as_posix() for path in found}


def test_matplotlib_and_pandas_are_imported_where_they_may_be() -> None:
    assert all(name.startswith("lab/plot/") for name in modules_that_load("matplotlib"))
    for extra in ("pandas", "pyarrow", "tqdm", "zstandard"):
        assert modules_that_load(extra) == set()


def test_numpy_is_imported_by_the_bench_and_by_functions() -> None:
    outside = {name for name in modules_that_load("numpy") if not name.startswith("lab/")}
    assert outside <= {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("capture/*.py")}


def test_the_package_does_not_lean_on_the_bench() -> None:
    anywhere = modules_that_load("fastcksum.lab", inside_functions=True)
    assert {name.split("/")[0] for name in anywhere} <= {"lab", "cli"}
    assert {name.split("/")[0] for name in modules_that_load("fastcksum.lab")} <= {"lab"}


# What each part of the bench may import of the others; "" are the experiments themselves, one a file.
ROOMS = {
    "": {"", "plot", "_mail", "_figures", "_bench", "_build", "_machine"},
    "plot": {"", "plot", "_figures", "_machine"},
    "_mail": {"_mail"},
    "_figures": {"_figures", "_machine"},
    "_bench": {"_bench", "_figures", "_build", "_machine"},
    "_build": {"_build", "_machine"},
    "_machine": {"_machine"},
}


def lab_modules() -> list[Path]:
    return sorted((PACKAGE / "lab").rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE / "lab").parts
    return parts[0] if len(parts) > 1 else ""


def lab_arrows() -> dict[Path, set[Path]]:
    """Of each file of the bench those that it imports anywhere, for types too."""
    files = {dotted(path): path for path in lab_modules()}
    arrows = {}
    for path in files.values():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {name for node in ast.walk(tree) for name in import_names(node, path)}
        arrows[path] = {files[name] for name in names if name in files} - {path}
    return arrows


def test_the_bench_has_these_rooms() -> None:
    assert {room_of(path) for path in lab_modules()} == set(ROOMS)
    assert max(len(path.relative_to(PACKAGE / "lab").parts) for path in lab_modules()) == 2


@pytest.mark.parametrize("path", lab_modules(), ids=name_of)
def test_arrows_between_rooms_go_one_way(path: Path) -> None:
    if path != PACKAGE / "lab" / "__init__.py":
        beyond = {
            name_of(other) for other in lab_arrows()[path] if room_of(other) not in ROOMS[room_of(path)]
        }
        assert beyond == set()


def test_no_circle_between_files_of_the_bench() -> None:
    arrows = {path: others for path, others in lab_arrows().items() if path.name != "__init__.py"}
    while free := {path for path, others in arrows.items() if not others & arrows.keys()}:
        for path in free:
            del arrows[path]
    assert {name_of(path) for path in arrows} == set()


def test_rooms_use_public_names_of_each_other() -> None:
    for path in lab_modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.level != 1 or room_of(path) == ""):
                names = [alias.name for alias in node.names if alias.name.startswith("_")]
                in_lab = any(name.startswith("fastcksum.lab") for name in import_names(node, path))
                assert not in_lab or all((PACKAGE / "lab" / f"{name}.py").exists() for name in names), (
                    name_of(path)
                )


def test_no_file_is_longer_than_450_lines() -> None:
    sources = [*c_files(), *(ROOT / "fastcksum").rglob("*.py"), *(ROOT / "fastcksum").rglob("*.pyi")]
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    assert "csrc/python/bench.c" in lengths
    assert {name: lines for name, lines in lengths.items() if lines > 450} == {}


LOADED_BY = """
import json, sys
before = set(sys.modules)
__import__(sys.argv[1])
heavy = ("numpy", "pandas", "pyarrow", "matplotlib", "tqdm", "fastcksum.lab")
print(json.dumps([name for name in heavy if name in sys.modules]))
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize(
    ("module", "expected"),
    [("fastcksum", []), ("fastcksum.cli", []), ("fastcksum.lab", ["numpy", "fastcksum.lab"])],
)
def test_what_an_import_loads(module: str, expected: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOADED_BY, module]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout.splitlines()[0]) == expected


def test_an_import_loads_the_extension_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LOADED_BY, "fastcksum"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = {"__future__", "fastcksum", "fastcksum._core"}
    assert set(json.loads(run.stdout.splitlines()[1])) <= loaded


def test_what_is_loaded_late_is_there_all_the_same() -> None:
    assert set(fastcksum.__all__) <= set(dir(fastcksum))
    assert fastcksum.Kernel is type(fastcksum.active_kernel())
    with pytest.raises(AttributeError, match="module 'fastcksum' has no attribute 'no_such'"):
        _ = fastcksum.no_such


@pytest.mark.parametrize("package", ["fastcksum", "fastcksum.lab"])
def test_no_module_hides_a_public_function(package: str) -> None:
    module = importlib.import_module(package)
    folder = Path(next(iter(module.__path__)))
    stems = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert stems.isdisjoint(name for name in module.__all__ if callable(getattr(module, name)))


def notebook_sources() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.py"))


def test_notebooks_are_there() -> None:
    assert [path.stem for path in notebook_sources()] == sorted(
        path.stem for path in NOTEBOOKS.glob("*.ipynb")
    )
    assert notebook_sources()


@pytest.mark.parametrize("path", notebook_sources(), ids=name_of)
def test_notebooks_use_public_names_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [name for node in ast.walk(tree) for name in import_names(node, path)]
    read = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    private = [name for name in [*imported, *read] if re.search(r"(^|\.)_(?!_)", name)]
    assert private == []
    assert loads(set(imported), "fastcksum")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "fastcksum":
            module = importlib.import_module(str(node.module))
            public = getattr(module, "__all__", dir(module))
            submodules = {
                path.stem for path in map(Path, getattr(module, "__path__", [])) for path in path.iterdir()
            }
            assert {alias.name for alias in node.names} <= {*public, *submodules}


@pytest.mark.parametrize("path", notebook_sources(), ids=name_of)
def test_a_notebook_and_its_script_say_the_same(path: Path) -> None:
    script, notebook = (jupytext.read(path.with_suffix(suffix)) for suffix in (".py", ".ipynb"))
    cells = [
        [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in pair.cells]
        for pair in (script, notebook)
    ]
    assert cells[0] == cells[1], f"jupytext --sync {name_of(path)} makes them equal"


# What comes out of the compiler


@pytest.mark.needs_tool("nm")
def test_the_extension_exports_one_symbol() -> None:
    command = ["nm", "-D", "--defined-only", "--format=just-symbols", _core.__file__]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["PyInit__core"]
