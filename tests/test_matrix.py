"""matrix(): every build looked at, what can run timed, what can't never executed; and `fastcksum compile`."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recorded_cpus import RECORDED
from test_compile import CSUM_PARTIAL, GOOD

from fastcksum import cli, lab
from fastcksum.cli import _parser
from fastcksum.lab import Matrix, MatrixRow, _matrix
from fastcksum.lab._build import compiler as _compile
from fastcksum.lab._build import features as _features
from fastcksum.lab._build.ziglang import ziglang_clang
from fastcksum.lab._machine import compilers as command
from fastcksum.lab._machine.compilers import compiler_version
from fastcksum.lab._matrix import matrix

pytestmark = pytest.mark.needs_tool("gcc")

# None of the recorded CPUs has it: XOP left AMD's before Zen.
NO_CPU = "-mxop"
QUICK: dict[str, Any] = {"rounds": 2, "frame_pointer": (False,), "targets": ("x86-64",)}


@pytest.fixture(scope="module")
def grid() -> Matrix:
    """Both forms by gcc, with and without vectorisation, for targets that are here, not here and not known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_features, "features_here", lambda: RECORDED["no_avx"].flags)
        return matrix(
            compilers=("gcc",),
            optimisations=(("-O2",), ("-O3",), ("-O3", "-g"), ("-O3", "-flto")),
            targets=("x86-64", "bdver4", "no-such-cpu"),
            frame_pointer=(False, True),
            sizes=(20, 1500),
            rounds=2,
            seed=5,
        )


def rows(found: Matrix, **wanted: Any) -> list[MatrixRow]:
    return [
        row for row in found.table() if all(getattr(row, name) == value for name, value in wanted.items())
    ]


def test_there_is_a_row_for_each_build_in_the_order_asked(grid: Matrix) -> None:
    assert len(grid.table()) == 2 * 4 * 3 * 2
    keys = [(row.kernel, row.flags, row.target, row.frame_pointer) for row in grid.table()]
    assert len(set(keys)) == len(keys)
    assert keys[0] == ("dpdk_before", "-O2", "x86-64", False)
    assert keys[1] == ("dpdk_before", "-O2", "x86-64", True)
    assert keys[-1] == ("dpdk_after", "-O3 -flto", "no-such-cpu", True)
    assert {row.compiler for row in grid.table()} == {compiler_version(("gcc",))}


def test_gcc_vectorises_both_forms_with_o3_only(grid: Matrix) -> None:
    built = [row for row in grid.table() if row.status != "not built"]
    for row in built:
        assert row.vectorised is (row.flags != "-O2"), row
        assert row.vector_bits == (0 if row.flags == "-O2" else 128)
        assert row.code_bytes
        assert row.code_bytes > 0


def test_what_can_run_is_timed(grid: Matrix) -> None:
    timed = rows(grid, target="x86-64")
    for row in timed:
        assert (row.status, row.note) == ("timed", "")
        assert len(row.ticks) == 2
        assert all(ticks is not None and math.isfinite(ticks) and ticks > 0 for ticks in row.ticks)


def test_the_same_code_is_timed_once(grid: Matrix) -> None:
    timed = rows(grid, status="timed")
    by_code = {(row.kernel, row.code_sha256): row.ticks for row in timed}
    assert all(by_code[row.kernel, row.code_sha256] == row.ticks for row in timed)
    assert len(by_code) < len(timed)  # debug information is no code
    assert grid.sweep is not None
    names = {row.kernel for row in grid.sweep.table()}
    assert len(names) == len(by_code) + 1
    assert "nothing" in names
    figures = {row.ticks_per_call for row in grid.sweep.table() if row.kernel != "nothing"}
    assert figures == {ticks for row in timed for ticks in row.ticks}
    assert grid.sweep.plan.seed == 5


def test_what_this_cpu_lacks_is_built_and_marked(grid: Matrix) -> None:
    for row in rows(grid, target="bdver4"):
        assert row.status == "not run"
        assert row.note.startswith("not run: this CPU lacks abm, avx, avx2 and ")
        assert row.note.endswith(" more")
        assert row.ticks == (None, None)
        assert row.code_sha256


def test_what_the_compiler_refuses_is_in_its_words(grid: Matrix) -> None:
    for row in rows(grid, target="no-such-cpu"):
        assert row.status == "not built"
        assert row.note.startswith("not built: ")
        assert "no-such-cpu" in row.note
        assert (row.vectorised, row.vector_bits, row.code_bytes, row.code_sha256) == (None,) * 4
        assert row.ticks == (None, None)


def test_nothing_of_another_cpu_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    admitted = []

    def remember(built: _compile.Built) -> _compile.CompiledKernel:
        admitted.append(built)
        return _compile.admit(built)

    monkeypatch.setattr(_matrix, "admit", remember)
    monkeypatch.setattr(
        _features, "features_here", lambda: frozenset({"pni", "ssse3", "sse4_1", "sse4_2", "popcnt"})
    )
    found = matrix(
        compilers=("gcc",),
        optimisations=(("-O2",), ("-O3",)),
        targets=("x86-64", "x86-64-v2", "x86-64-v4"),
        frame_pointer=(None,),
        rounds=1,
    )
    assert {row.target for row in rows(found, status="not run")} == {"x86-64-v4"}
    assert {row.vectorised for row in rows(found, status="not run", flags="-O3")} == {True}
    assert {row.target for row in rows(found, status="timed")} == {"x86-64", "x86-64-v2"}
    assert admitted
    assert not any("-march=x86-64-v4" in built.flags for built in admitted)


@pytest.mark.parametrize(
    ("cpu", "lacks"),
    [
        ("zen3", "fma4, xop"),
        ("zen5", "fma4, xop"),
        ("sapphire_rapids", "fma4, sse4a, xop"),
        ("no_avx", "avx, fma4, sse4a and 1 more"),
    ],
)
def test_where_nothing_can_run_there_is_no_sweep(
    cpu: str, lacks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_features, "features_here", lambda: RECORDED[cpu].flags)
    found = matrix("dpdk_after", ("gcc",), optimisations=(("-O3", NO_CPU),), **QUICK)
    assert [row.status for row in found.table()] == ["not run"]
    assert found.sweep is None
    assert found.table()[0].note == f"not run: this CPU lacks {lacks}"
    assert found.table()[0].note in found.text()


def test_a_wrong_sum_is_a_row() -> None:
    text = GOOD.replace("total = sum", "total = sum + WRONG")
    found = matrix(text, ("gcc",), optimisations=(("-DWRONG=0",), ("-DWRONG=1",)), **QUICK)
    assert [row.status for row in found.table()] == ["timed", "wrong"]
    wrong = found.table()[1]
    assert wrong.note.startswith("'good' is wrong at 0 bytes, offset 0")
    assert wrong.ticks == (None, None, None)
    assert wrong.code_bytes is not None


def test_sizes_that_a_kernel_is_not_made_for_are_empty() -> None:
    found = matrix(GOOD, ("gcc",), optimisations=(("-O3",),), sizes=(20, 1500), max_len=1000, **QUICK)
    ticks = found.table()[0].ticks
    assert ticks[0] is not None
    assert ticks[1] is None
    inlined = matrix(GOOD, ("gcc",), optimisations=(("-O3",),), sizes=(20, 21), inline_length=20, **QUICK)
    assert [ticks is None for ticks in inlined.table()[0].ticks] == [False, True]


def test_two_codes_of_one_name_are_two_kernels() -> None:
    commands = (("gcc",), ("gcc", "-fno-tree-vectorize"))
    found = matrix("dpdk_after", commands, optimisations=(("-O3",),), **QUICK)
    assert [row.vectorised for row in found.table()] == [True, False]
    assert found.sweep is not None
    names = {row.kernel for row in found.sweep.table()} - {"nothing"}
    assert len(names) == 2
    assert sum(name.endswith("] (2)") for name in names) == 1


@pytest.mark.needs_tool("clang-19")
def test_clang_vectorises_the_patched_form_only() -> None:
    found = matrix(compilers=("clang-19",), optimisations=(("-O2",), ("-O3",)), **QUICK)
    assert {row.vector_bits for row in rows(found, kernel="dpdk_before")} == {0}
    assert {row.vector_bits for row in rows(found, kernel="dpdk_after")} == {128}


# what it shows


def test_the_text_is_narrow_and_has_every_row(grid: Matrix) -> None:
    text = str(grid)
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("### dpdk_") == 2
    assert text.count("not run: this CPU lacks") == 16
    assert text.count("not built:") == 16
    assert "an empty function takes" in text
    head = next(line for line in text.splitlines() if line.startswith("flags"))
    assert head.split() == ["flags", "target", "fp", "vector", "bytes", "code", "20", "1500"]
    row = next(line for line in text.splitlines() if line.startswith("-O3 -g "))
    first = rows(grid, flags="-O3 -g")[0]
    assert row.split()[-1] == f"{first.ticks[1]:.1f}"
    assert row.split()[-2] == f"{first.ticks[0]:.1f}"


def test_many_sizes_are_several_tables(grid: Matrix) -> None:
    row = grid.table()[0]._replace(ticks=tuple(float(size) for size in range(12)))
    many = dataclasses.replace(grid, rows=(row,), sizes=tuple(range(12)))
    text = many.text()
    assert text.count("### dpdk_before") == 3
    assert max(map(len, text.splitlines())) <= 100
    assert " 11.0" in text


def test_long_flags_and_notes_stay_narrow(grid: Matrix) -> None:
    row = grid.table()[-1]._replace(flags="-O3 " * 15, note="not built: " + "x" * 300)
    text = dataclasses.replace(grid, rows=(row,)).text()
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("x") >= 300


def test_the_frame_has_a_column_for_each_size(grid: Matrix) -> None:
    frame = grid.frame()
    assert list(frame.columns) == [
        "kernel",
        "compiler",
        "flags",
        "target",
        "frame_pointer",
        "vectorised",
        "vector_bits",
        "code_bytes",
        "code_sha256",
        "ticks_20",
        "ticks_1500",
        "status",
        "note",
    ]
    assert len(frame) == len(grid.table())
    assert frame.ticks_1500.notna().tolist() == [row.status == "timed" for row in grid.table()]
    assert frame.vector_bits.dtype == "Int64"


def test_progress_counts_the_builds_and_then_the_rounds() -> None:
    said: list[tuple[int, int]] = []
    matrix("dpdk_after", ("gcc",), progress=lambda done, total: said.append((done, total)), rounds=3)
    assert said[:40] == [(n, 40) for n in range(1, 41)]
    assert said[40:] == [(1, 3), (2, 3), (3, 3)]


# what it takes


def test_the_default_compilers_are_each_version_once(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {("cc",): "gcc 12", ("gcc",): "gcc 12", ("gcc-12",): "gcc 12", ("clang-19",): "clang 19"}
    monkeypatch.setattr(command, "compilers_on_path", lambda: ["cc", "clang-19", "gcc", "gcc-12"])
    monkeypatch.setattr(command, "compiler_version", versions.__getitem__)
    assert _matrix._commands(None) == [("gcc",), ("clang-19",)]


def test_sources_go_by_their_names(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    assert _matrix._named("dpdk_after") == [("dpdk_after", lab.kernel_source("dpdk_after"))]
    assert _matrix._named([file, GOOD]) == [("a.c", file), ("text 2", GOOD)]
    assert _matrix._named(GOOD)[0][0] == "the text"
    with pytest.raises(ValueError, match="'no_such' has no source here; there are: "):
        matrix("no_such")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"mode": "mixed"}, ValueError, "a matrix has sizes: mode 'mixed' has none"),
        ({"sizes": ()}, ValueError, "a matrix needs at least one source, .* and size"),
        ({"optimisations": ()}, ValueError, "a matrix needs at least one source"),
        ({"compilers": "gcc"}, TypeError, r"compilers must be a sequence .* not one str: \('gcc',\)"),
        ({"compilers": ("no-such-cc",)}, lab.CompileError, "'no-such-cc' is not on the PATH"),
        ({"sources": "int f;"}, ValueError, "the text defines no function"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    usual: dict[str, Any] = {"sources": "dpdk_after", "compilers": ("gcc",), "rounds": 1}
    with pytest.raises(error, match=words):
        matrix(**(usual | arguments))


def test_zig_has_other_names_for_the_targets() -> None:
    assert _matrix._target_flags(("python", "-m", "ziglang", "cc"), "x86-64-v3") == ("-march=x86_64_v3",)
    assert _matrix._target_flags(("/opt/zig", "cc"), "native") == ("-march=native",)
    assert _matrix._target_flags(("/opt/zig", "clang"), "x86-64-v3") == ("-march=x86-64-v3",)
    assert _matrix._target_flags(("cc",), "x86-64-v3") == ("-march=x86-64-v3",)
    assert _matrix._target_flags(("cc",), "") == ()


def test_the_clang_of_a_wheel_links_with_the_wheels_linker(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no ziglang in .*nowhere: pip install --target .* ziglang=="):
        ziglang_clang(tmp_path / "nowhere")
    zig = tmp_path / "a folder" / "ziglang" / "zig"
    zig.parent.mkdir(parents=True)
    zig.write_text('#!/bin/sh\nprintf "<%s>" "$0" "$@"\n')
    zig.chmod(0o755)
    command = ziglang_clang(tmp_path / "a folder")
    assert command[:2] == (str(zig), "clang")
    assert command[command.index("-resource-dir") + 1] == str(zig.parent / "lib")
    linker = next(word.removeprefix("--ld-path=") for word in command if word.startswith("--ld-path="))
    assert Path(linker).name == "ld.lld"  # by which clang knows what it can
    done = subprocess.run([linker, "-o", "x y"], capture_output=True, text=True, check=True)
    assert done.stdout == f"<{zig}><ld.lld><-o><x y>"
    assert ziglang_clang(tmp_path / "a folder") == command


# fastcksum compile


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """(exit status, standard output, standard error) of fastcksum compile."""
    capsys.readouterr()
    status = cli.main(["compile", *map(str, arguments)])
    return status, *capsys.readouterr()


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    file = tmp_path / "patch.c"
    file.write_text(CSUM_PARTIAL)
    return file


def test_compile_checks_times_and_shows(patch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, patch, "--compilers=gcc", "--flags=-O3 -g", "--flags=-O1", "--sizes=20,21")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[-1] == "patch.c: the sums of all 2 builds that ran are right"
    assert f"### patch.c, {compiler_version(('gcc',))}" in lines
    assert [line.split()[:5] for line in lines if line.startswith("-O3 -g")] == [
        ["-O3", "-g", "-", "-", "128"]
    ]
    assert [line.split()[:4] for line in lines if line.startswith("-O1")] == [["-O1", "-", "-", "no"]]


def test_compile_without_flags_shows_the_whole_matrix(
    patch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = run(capsys, patch, "--compilers=gcc", "--json")
    assert status == 0
    found = json.loads(out)
    assert (found["offset"], found["sizes"]) == (0, [20, 100, 1500])
    assert len(found["rows"]) == 20
    assert {row["flags"] for row in found["rows"]} == {"-O2", "-O3", "-O2 -g", "-O3 -flto"}
    assert {row["target"] for row in found["rows"]} == set(_matrix.TARGETS)
    first = found["rows"][0]
    assert first["status"] == "timed"
    assert list(first["ticks"]) == ["20", "100", "1500"]
    assert first["ticks"]["20"] > 0


def test_compile_of_a_wrong_function_is_1(patch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch.write_text(CSUM_PARTIAL.replace("if (unlikely(len))", "if (0)"))
    status, out, err = run(capsys, patch, "--compilers=gcc", "--flags=-O2")
    assert status == 1
    assert " 'csum_partial' is wrong at 1 bytes" in out
    assert err.startswith("patch.c, gcc ")
    assert "-O2: 'csum_partial' is wrong at 1 bytes, offset 0" in err


def test_compile_takes_a_limit_and_a_symbol(patch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch.write_text(CSUM_PARTIAL + GOOD.replace("uint64_t total", "uint32_t total"))
    status, _, err = run(capsys, patch, "--compilers=gcc", "--flags=-O2")
    assert status == 2
    assert "several functions that qualify: csum_partial, good; name one: --symbol NAME" in err
    assert run(capsys, patch, "--compilers=gcc", "--flags=-O2", "--symbol=good")[0] == 1
    arguments = ("--compilers=gcc", "--flags=-O2", "--symbol=good", "--max-len=131072")
    assert run(capsys, patch, *arguments)[0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("int x;\n", "patch.c defines no function uint32_t f("),
        (GOOD.replace("shorten(total)", "missing"), "patch.c is not built: "),
        (None, "No such file or directory"),
    ],
)
def test_compile_of_what_cannot_be_compiled_is_2(
    text: str | None, words: str, patch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is None:
        patch.unlink()
    else:
        patch.write_text(text)
    status, _, err = run(capsys, patch, "--compilers=gcc", "--flags=-O2")
    assert status == 2
    assert words in err
    assert "Traceback" not in err


def test_compile_with_a_compiler_that_is_not_here_is_2(
    patch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, patch, "--compilers=no-such-cc")
    assert (status, out) == (2, "")
    assert "compiler 'no-such-cc' is not on the PATH; there are: " in err


def test_compile_ends_its_help_with_an_example_that_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["compile", "--help"])
    example = capsys.readouterr().out.rstrip().rsplit("example:\n  ", 1)[1]
    options = _parser.parser().parse_args(example.removeprefix("fastcksum ").split())
    assert (options.file, options.flags, options.max_len) == (Path("patch.c"), [["-O3"]], 131072)


def test_it_needs_no_pandas(patch: Path) -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from fastcksum.cli import main\n"
        f"sys.exit(main(['compile', {str(patch)!r}, '--compilers=gcc', '--flags=-O1', '--sizes=20']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# What it says when it is cut short, and where nothing can be built


def test_ctrl_c_while_building_keeps_the_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[_compile.Built] = []

    def interrupted_at_the_third(*arguments: Any, **options: Any) -> _compile.Built:
        if len(builds) == 2:
            raise KeyboardInterrupt
        builds.append(_compile.build(*arguments, **options))
        return builds[-1]

    monkeypatch.setattr(_matrix, "build", interrupted_at_the_third)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    found = matrix("dpdk_after", ["gcc"], targets=("x86-64",), frame_pointer=(None,), sizes=(20,), rounds=1)
    assert found.interrupted
    assert [(row.status, row.note) for row in found.rows] == [("not run", "not run: interrupted")] * 2
    assert found.text().startswith("Interrupted:  after 2 builds\n### dpdk_after, gcc")


def test_ctrl_c_before_the_first_build_is_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_matrix, "build", interrupted)
    with pytest.raises(KeyboardInterrupt):
        matrix("dpdk_after", ["gcc"])


def test_ctrl_c_while_timing_keeps_the_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_matrix, "sweep", interrupted)
    found = matrix("dpdk_after", ["gcc"], targets=("",), frame_pointer=(None,), sizes=(20,))
    assert found.interrupted
    assert {row.note for row in found.rows} == {"not run: interrupted"}
    assert {row.vectorised for row in found.rows} == {True, False}


def test_what_nothing_builds_is_told_before_the_others_are_tried(
    patch: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_matrix, "matrix", lambda *_, **__: pytest.fail("all were built"))
    patch.write_text(GOOD)
    status, out, err = run(capsys, patch, "--symbol=no_such")
    assert (status, out) == (2, "")
    assert "defines no function 'no_such'" in err


def test_the_answer_comes_first_and_the_build_of_the_package_is_not_in_it(grid: Matrix) -> None:
    lines = grid.text().splitlines()
    assert lines[0].startswith("### ")
    labels = {line.partition(":")[0] for line in lines if ":" in line[:14]}
    assert {"Columns", "Figures", "CPU"} <= labels
    assert labels.isdisjoint({"Compiler", "Flags"})


def test_a_notebook_is_shown_the_table(grid: Matrix) -> None:
    html = grid._repr_html_()
    shown = min(len(grid.rows), 40)  # the rest is counted in one more row
    assert html.count("<tr>") == 1 + shown + (len(grid.rows) > shown)
    assert "TSC" in html or "ticks" in html or "ns" in html
    assert len(repr(grid)) < 200
