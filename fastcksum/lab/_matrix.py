"""One sum, many builds: each function by each compiler with each set of flags, for each target.

The first answer to a table is "which compiler, which flags?". Here is every one of them, built and looked at; what can
run here is timed, all of it in one sweep. Builds with the same machine code are one kernel and are timed once.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from fastcksum._extras import extra
from fastcksum._progress import Progress, reporting, silent

from ._build.admission import KernelError
from ._build.command import CompileError, compiler_version, each_version_once
from ._build.compiler import Built, CompiledKernel, admit, build
from ._build.unit import kernel_source
from ._figures.record import OVERHEAD
from ._machine.facts import Host, host, labelled_lines, tick_name
from ._sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from fastcksum._kernel import Kernel

    from ._figures.result import Sweep

Compiler: TypeAlias = "str | Sequence[str]"
Status: TypeAlias = Literal["timed", "not run", "not built", "wrong"]
_Input = TypeVar("_Input")
_Output = TypeVar("_Output")

SOURCES: Final = ("dpdk_before", "dpdk_after")
OPTIMISATIONS: Final = (("-O2",), ("-O3",), ("-O2", "-g"), ("-O3", "-flto"))
TARGETS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
SIZES: Final = (20, 100, 1500)
WIDTH: Final = 100
_SIZES_A_LINE: Final = 5
_FRAME_POINTER: Final = {
    True: ("-fno-omit-frame-pointer",),
    False: ("-fomit-frame-pointer",),
    None: (),
}
_FRAME_POINTER_WORDS: Final = {True: "yes", False: "no", None: "-"}


class MatrixRow(NamedTuple):
    """One build.

    flags are those of the optimisation; target is what -march says, "" without it; frame_pointer None is as the
    compiler likes. vectorised and vector_bits tell what
    the compiler made of the main loop, None where its assembly doesn't show it. Builds with the same code_sha256 are the
    same machine code, and share their figures. ticks: one a size, in units of the sweep; None where it was not timed.
    status: "timed"; "not run", since this CPU lacks what it was built for; "not built"; "wrong" (or crashed). note: why.
    """

    kernel: str
    compiler: str
    flags: str
    target: str
    frame_pointer: bool | None
    vectorised: bool | None
    vector_bits: int | None
    code_bytes: int | None
    code_sha256: str | None
    ticks: tuple[float | None, ...]
    status: Status
    note: str


@dataclass(frozen=True, eq=False)
class Matrix:
    """What matrix() found. sweep holds every sample, the overhead's too; None where nothing could be timed."""

    rows: tuple[MatrixRow, ...]
    sizes: tuple[int, ...]
    offset: int
    sweep: Sweep | None
    host: Host

    def table(self) -> list[MatrixRow]:
        """One MatrixRow a build."""
        return list(self.rows)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame, one row a build, with a column ticks_20 for each size. Needs pandas."""
        pandas = extra("pandas", "Matrix.frame()", "lab", without="Matrix.table() works without")
        fields = [name for name in MatrixRow._fields if name != "ticks"]
        frame: pd.DataFrame = pandas.DataFrame(
            [[getattr(row, name) for name in fields] for row in self.rows], columns=fields
        )
        for index, size in enumerate(self.sizes):
            ticks = [row.ticks[index] for row in self.rows]
            frame.insert(len(frame.columns) - 2, f"ticks_{size}", pandas.Series(ticks, dtype="float64"))
        typed = {"vectorised": "boolean", "vector_bits": "Int64", "code_bytes": "Int64"}
        return frame.astype(typed)

    def text(self) -> str:
        """A table of at most 100 columns for each kernel and compiler, below the host's facts."""
        return "\n".join(_text_lines(self)) + "\n"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True)
class _Wish:
    """A build that was asked for."""

    kernel: str
    source: Path | str
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    target: str
    frame_pointer: bool | None

    @property
    def all_flags(self) -> tuple[str, ...]:
        """The flags of the optimisation, then those that make the target and the frame pointer."""
        return (*self.flags, *_target_flags(self.compiler, self.target), *_FRAME_POINTER[self.frame_pointer])


def matrix(
    sources: str | Path | Sequence[str | Path] = SOURCES,
    compilers: Sequence[Compiler] | None = None,
    *,
    optimisations: Sequence[Sequence[str]] = OPTIMISATIONS,
    targets: Sequence[str] | None = None,
    frame_pointer: Sequence[bool | None] = (False, True),
    sizes: Sequence[int] = SIZES,
    symbol: str | None = None,
    max_len: int | None = None,
    inline_length: int | None = None,
    offset: int = 0,
    progress: Progress | bool | None = None,
    **as_in_sweep: Any,
) -> Matrix:
    """Builds each source with each compiler, optimisation, target and frame pointer, and times what runs here.

    sources: names of the package's kernels, Paths of files, or C texts, as for compile_kernel(), to which symbol,
    max_len and inline_length go as well. compilers: names on the PATH, or commands as sequences; None: each one on the
    PATH once. optimisations: sets of flags. targets: what -march is to say, "" for nothing; None: the levels of x86-64
    and "native" (that alone on another machine). frame_pointer: kept or not; None: as the compiler likes. sizes in
    bytes, offset from the start of a page. as_in_sweep: rounds, placements, processes, seed, form, cache and mode, but
    not "mixed".

    What this CPU can't run is built and never executed; what a compiler refuses and what gives wrong sums is a row that
    says so. progress is called with (builds done, builds), then as in sweep().

    CompileError for a compiler that isn't there. ValueError for an unknown kernel, and where it isn't clear which
    function of a source is meant.
    """
    if as_in_sweep.get("mode") == "mixed":
        raise ValueError("a matrix has sizes: mode 'mixed' has none; 'throughput' and 'latency' have")
    for what, given in (("optimisations", optimisations), ("targets", targets)):
        if isinstance(given, str):
            raise TypeError(f"{what} must be a sequence, not one str: ({given!r},)")
    for flags in optimisations:
        if isinstance(flags, str):
            raise TypeError(f"each of optimisations is a sequence of options, not one str: ({flags!r},)")
    wishes = [
        _Wish(name, source, compiler, tuple(flags), target, keeps)
        for (name, source), compiler, flags, target, keeps in product(
            _named(sources), _commands(compilers), optimisations, _targets(targets), frame_pointer
        )
    ]
    if not wishes or not sizes:
        raise ValueError(
            "a matrix needs at least one source, compiler, optimisation, target, frame pointer and size"
        )

    def build_one(wish: _Wish) -> Built | CompileError:
        try:
            return build(
                wish.source,
                wish.compiler,
                wish.all_flags,
                symbol=symbol,
                max_len=max_len,
                inline_length=inline_length,
            )
        except CompileError as error:
            return error

    with reporting(progress, f"{len(wishes)} builds") as report:
        builds = _in_parallel(build_one, wishes, report)
    distinct = _distinct(wishes, builds)
    outcomes = dict(zip(distinct, _in_parallel(_admit, list(distinct.values()), silent), strict=True))
    kernels = _with_names_of_their_own(outcomes)
    timed = (
        sweep([*kernels.values(), OVERHEAD], sizes, offset, progress=progress, **as_in_sweep)
        if kernels
        else None
    )
    figures = {} if timed is None else {(row.kernel, row.size): row.ticks_per_call for row in timed.table()}
    rows = []
    for wish, built in zip(wishes, builds, strict=True):
        code = _code_of(wish, built)
        kernel = kernels.get(code)
        ticks = tuple(None if kernel is None else figures.get((kernel.name, size)) for size in sizes)
        rows.append(_row(wish, built, outcomes.get(code), ticks))
    return Matrix(tuple(rows), tuple(sizes), offset, timed, host() if timed is None else timed.host)


# What is asked for


def _named(sources: str | Path | Sequence[str | Path]) -> list[tuple[str, Path | str]]:
    """(name, source) of each: kernels by their name, files by theirs, texts by "the text"."""
    given = [sources] if isinstance(sources, (str, Path)) else sources
    named: list[tuple[str, Path | str]] = []
    for source in given:
        if isinstance(source, Path):
            named.append((source.name, source))
        elif re.fullmatch(r"\w+", source):
            named.append((source, kernel_source(source)))
        else:
            named.append(("the text" if len(given) == 1 else f"text {len(named) + 1}", source))
    return named


def _commands(compilers: Sequence[Compiler] | None) -> list[tuple[str, ...]]:
    if isinstance(compilers, str):
        raise TypeError(f"compilers must be a sequence of compilers, not one str: ({compilers!r},)")
    given = each_version_once() if compilers is None else compilers
    commands = [(each,) if isinstance(each, str) else tuple(each) for each in given]
    for command in commands:
        compiler_version(command)  # one that isn't there is an error, not a row
    return commands


def _targets(targets: Sequence[str] | None) -> Sequence[str]:
    if targets is not None:
        return targets
    return TARGETS if platform.machine() == "x86_64" else ("native",)


def _target_flags(compiler: tuple[str, ...], target: str) -> tuple[str, ...]:
    if not target:
        return ()
    is_zig_cc = "cc" in compiler and any(Path(word).name in {"zig", "ziglang"} for word in compiler)
    return (f"-march={target.replace('-', '_') if is_zig_cc else target}",)


# What is made of it


def _in_parallel(
    work: Callable[[_Input], _Output], items: Sequence[_Input], report: Progress
) -> list[_Output]:
    """The results in the order of the items: the work is done by other processes, one for each CPU at a time."""
    done: list[_Output] = []
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        for result in pool.map(work, items):
            done.append(result)
            report(len(done), len(items))
    finally:
        pool.shutdown(cancel_futures=True)
    return done


def _code_of(wish: _Wish, built: Built | CompileError) -> tuple[str, str]:
    """(kernel, hash of its machine code) of a build that may be run; the hash is empty for others."""
    if isinstance(built, CompileError) or built.missing:
        return wish.kernel, ""
    return wish.kernel, built.code_sha256


def _distinct(
    wishes: Sequence[_Wish], builds: Sequence[Built | CompileError]
) -> dict[tuple[str, str], Built]:
    """The first build of each machine code of each kernel, of those that may be run."""
    first: dict[tuple[str, str], Built] = {}
    for wish, built in zip(wishes, builds, strict=True):
        if isinstance(built, Built) and not built.missing:
            first.setdefault(_code_of(wish, built), built)
    return first


def _admit(built: Built) -> CompiledKernel | ValueError:
    try:
        return admit(built)
    except (CompileError, KernelError) as error:
        return error


def _with_names_of_their_own(
    outcomes: Mapping[tuple[str, str], CompiledKernel | ValueError],
) -> dict[tuple[str, str], Kernel]:
    """The kernels among the outcomes, those with a name that another has got a number behind it."""
    taken: set[str] = set()
    kernels: dict[tuple[str, str], Kernel] = {}
    for code, kernel in outcomes.items():
        if not isinstance(kernel, CompiledKernel):
            continue
        name, number = kernel.name, 1
        while name in taken:
            number += 1
            name = f"{kernel.name} ({number})"
        taken.add(name)
        kernels[code] = dataclasses.replace(kernel, name=name)
    return kernels


def _row(
    wish: _Wish,
    built: Built | CompileError,
    outcome: CompiledKernel | ValueError | None,
    ticks: tuple[float | None, ...],
) -> MatrixRow:
    status, note = _judge(built, outcome)
    if isinstance(built, CompileError):
        version, bits, code_bytes, code = compiler_version(wish.compiler), None, None, None
    else:
        version, bits, code_bytes, code = (
            built.version,
            built.vector_bits,
            built.code_bytes,
            built.code_sha256,
        )
    return MatrixRow(
        kernel=wish.kernel,
        compiler=version,
        flags=" ".join(wish.flags),
        target=wish.target,
        frame_pointer=wish.frame_pointer,
        vectorised=None if bits is None else bits > 0,
        vector_bits=bits,
        code_bytes=code_bytes,
        code_sha256=code,
        ticks=ticks,
        status=status,
        note=note,
    )


def _judge(built: Built | CompileError, outcome: CompiledKernel | ValueError | None) -> tuple[Status, str]:
    """(status, note) of a build and of what came of its code; None where that was not tried."""
    if isinstance(built, CompileError):
        return "not built", f"not built: {_first_error(str(built))}"
    if outcome is None:
        lacks = ", ".join(built.missing[:3])
        others = f" and {len(built.missing) - 3} more" if len(built.missing) > 3 else ""
        return "not run", f"not run: this CPU lacks {lacks}{others}"
    if isinstance(outcome, CompileError):
        return "not built", f"not built: {_first_error(str(outcome))}"
    if isinstance(outcome, ValueError):
        return "wrong", str(outcome).splitlines()[0]
    return "timed", ""


def _first_error(words: str) -> str:
    """The line of a compiler's words that says what is wrong."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return next((line for line in lines[1:] if "error" in line.lower()), lines[-1])


# What is shown


def _text_lines(found: Matrix) -> list[str]:
    lines = found.host.to_lines(WIDTH)
    if found.sweep is not None:
        lines += labelled_lines("Figures", _about(found.sweep, found.offset), WIDTH)
    lines += labelled_lines(
        "Columns",
        "target: -march; fp: whether the frame pointer is kept; vector: bits of the packed additions in the widest loop; "
        "code: the first digits of the machine code's hash: the same code is timed once",
        WIDTH,
    )
    groups = dict.fromkeys((row.kernel, row.compiler) for row in found.rows)
    for kernel, compiler in groups:
        rows = [row for row in found.rows if (row.kernel, row.compiler) == (kernel, compiler)]
        for start in range(0, len(found.sizes), _SIZES_A_LINE):
            part = slice(start, start + _SIZES_A_LINE)
            lines += ["", f"### {kernel}, {compiler}", *_table_lines(rows, found.sizes, part)]
    return lines


def _about(measured: Sweep, offset: int) -> str:
    plan, cell = measured.plan, measured.plan.cells[0]
    overhead = ", ".join(
        f"{row.ticks_per_call:.1f} at {row.size}" for row in measured.table() if row.kernel == OVERHEAD
    )
    places = f"{plan.placements} placements" if plan.placements > 1 else "one placement"
    return (
        f"{tick_name(measured.host.unit)} a call by size in bytes, gross, at offset {offset}: mode {cell.mode}, cache "
        f"{cell.cache}, form {cell.form}; {plan.rounds_done} rounds, {places}, seed {plan.seed}; an empty function "
        f"takes {overhead}"
    )


def _table_lines(rows: Sequence[MatrixRow], sizes: Sequence[int], part: slice) -> list[str]:
    wide = max(len("flags"), *(len(row.flags) for row in rows))
    aim = max(len("target"), *(len(row.target) for row in rows))
    head = f"{'flags':<{wide}} {'target':<{aim}} {'fp':<3} {'vector':>6} {'bytes':>6} {'code':<6}"
    lines = [head + "".join(f" {size:>8}" for size in sizes[part])]
    for row in rows:
        facts = (
            f"{row.flags:<{wide}} {row.target or '-':<{aim}} {_FRAME_POINTER_WORDS[row.frame_pointer]:<3} "
            f"{_vector(row):>6} {'-' if row.code_bytes is None else row.code_bytes:>6} {(row.code_sha256 or '-')[:6]:<6}"
        )
        if row.status == "timed":
            lines.append(
                facts
                + "".join(f" {'-' if ticks is None else f'{ticks:.1f}':>8}" for ticks in row.ticks[part])
            )
        else:
            lines += textwrap.wrap(
                f"{facts} {row.note}",
                WIDTH,
                subsequent_indent="    ",
                drop_whitespace=False,
                break_long_words=True,
            )
    return [line[:WIDTH].rstrip() for line in lines]


def _vector(row: MatrixRow) -> str:
    return "?" if row.vector_bits is None else (str(row.vector_bits) if row.vector_bits else "no")
