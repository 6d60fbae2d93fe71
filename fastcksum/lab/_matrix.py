"""One sum, many builds: each function by each compiler with each set of flags, for each target.

The first answer to a table is "which compiler, which flags?". Here is every one of them, built and looked at; what can
run here is timed, all of it in one sweep. Builds with the same machine code are one kernel and are timed once.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from fastcksum._progress import Progress, reporting, silent

from ._build.admission import KernelError
from ._build.compiler import Built, CompiledKernel, admit, build, compile_kernel, text_of
from ._build.unit import kernel_source, meanings
from ._figures.builds import Matrix, MatrixRow, Status
from ._figures.record import OVERHEAD
from ._machine.compilers import CompileError, compiler_version, each_version_once
from ._machine.facts import host
from ._sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastcksum._kernel import Kernel


Compiler: TypeAlias = "str | Sequence[str]"
_Input = TypeVar("_Input")
_Output = TypeVar("_Output")

SOURCES: Final = ("dpdk_before", "dpdk_after")
OPTIMISATIONS: Final = (("-O2",), ("-O3",), ("-O2", "-g"), ("-O3", "-flto"))
TARGETS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
SIZES: Final = (20, 100, 1500)
_FRAME_POINTER: Final = {
    True: ("-fno-omit-frame-pointer",),
    False: ("-fomit-frame-pointer",),
    None: (),
}


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
    mode: str = "throughput",
    cache: str = "hot",
    form: str = "plain",
    rounds: int = 60,
    placements: int = 1,
    processes: int = 1,
    seed: int | None = None,
    huge_pages: bool = False,
    batch_ticks: int | None = None,
    progress: Progress | bool | None = None,
) -> Matrix:
    """Builds each source with each compiler, optimisation, target and frame pointer, and times what runs here.

    sources: names of the package's kernels, Paths of files, or C texts, as for compile_kernel(), to which symbol,
    max_len and inline_length go as well. compilers: names on the PATH, or commands as sequences; None: each one on the
    PATH once. optimisations: sets of flags. targets: what -march is to say, "" for nothing; None: the levels of x86-64
    and "native" (that alone on another machine). frame_pointer: kept or not; None: as the compiler likes. sizes in
    bytes, offset from the start of a page. mode ("throughput", "latency") and what follows it: as in sweep().

    What this CPU can't run is built and never executed; what a compiler refuses and what gives wrong sums is a row that
    says so. progress is called with (builds done, builds), then as in sweep(). Ctrl-C ends it after the first build and
    keeps the builds that were done; Matrix.interrupted says so.

    CompileError for a compiler that isn't there. ValueError for an unknown kernel, and where it isn't clear which
    function of a source is meant.
    """
    if mode == "mixed":
        raise ValueError("a matrix has sizes: mode 'mixed' has none; 'throughput' and 'latency' have")
    _check_flags(optimisations, targets)
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

    first_of = {wish.source: wish for wish in reversed(wishes)}
    meant = {source: _meaning(wish, symbol, max_len) for source, wish in first_of.items()}

    def build_one(wish: _Wish) -> Built | CompileError:
        try:
            return build(
                wish.source,
                wish.compiler,
                wish.all_flags,
                symbol=symbol,
                max_len=max_len,
                inline_length=inline_length,
                meaning=meant[wish.source],
            )
        except CompileError as error:
            return error

    with reporting(progress, f"{len(wishes)} builds") as report:
        builds = _in_parallel(build_one, wishes, report)
    if not builds:
        raise KeyboardInterrupt
    wishes, interrupted = wishes[: len(builds)], len(builds) < len(wishes)
    distinct = {} if interrupted else _distinct(wishes, builds)
    admitted = _in_parallel(_admit, list(distinct.values()), silent)
    interrupted = interrupted or len(admitted) < len(distinct)
    outcomes = dict(zip(distinct, admitted, strict=False))
    kernels = {} if interrupted else _with_names_of_their_own(outcomes)
    try:
        timed = (
            sweep(
                [*kernels.values(), OVERHEAD],
                sizes,
                offset,
                mode=mode,
                cache=cache,
                form=form,
                rounds=rounds,
                placements=placements,
                processes=processes,
                seed=seed,
                huge_pages=huge_pages,
                batch_ticks=batch_ticks,
                progress=progress,
            )
            if kernels
            else None
        )
    except KeyboardInterrupt:
        timed, interrupted = None, True
    interrupted = interrupted or (timed is not None and timed.plan.interrupted)
    figures = {} if timed is None else {(row.kernel, row.size): row.ticks_per_call for row in timed.table()}
    rows = []
    for wish, built in zip(wishes, builds, strict=True):
        code = _code_of(wish, built)
        kernel = kernels.get(code)
        ticks = tuple(None if kernel is None else figures.get((kernel.name, size)) for size in sizes)
        row = _row(wish, built, outcomes.get(code), ticks)
        rows.append(_without_timing(row, built) if interrupted and timed is None else row)
    machine = host() if timed is None else timed.host
    return Matrix(tuple(rows), tuple(sizes), offset, timed, machine, interrupted)


def _without_timing(row: MatrixRow, built: Built | CompileError) -> MatrixRow:
    """The row of a build that was done when Ctrl-C came and would have been timed; others as they are."""
    runs = isinstance(built, Built) and not built.missing and row.status != "wrong"
    return row._replace(status="not run", note="not run: interrupted") if runs else row


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


def _meaning(wish: _Wish, symbol: str | None, max_len: int | None) -> str | None:
    """What the result of a source's function means, where its signature isn't the contract's: told by one build."""
    if meanings(text_of(wish.source), symbol)[0] is None:
        return None
    return compile_kernel(wish.source, wish.compiler, symbol=symbol, max_len=max_len).built.unit.meaning


def _check_flags(optimisations: Sequence[Sequence[str]], targets: Sequence[str] | None) -> None:
    """TypeError for one str where a sequence is meant: each of its letters would be a flag."""
    for what, given in (("optimisations", optimisations), ("targets", targets)):
        if isinstance(given, str):
            raise TypeError(f"{what} must be a sequence, not one str: ({given!r},)")
    for flags in optimisations:
        if isinstance(flags, str):
            raise TypeError(f"each of optimisations is a sequence of options, not one str: ({flags!r},)")


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
    done: list[_Output] = []  # those that were done when Ctrl-C came
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        for result in pool.map(work, items):
            done.append(result)
            report(len(done), len(items))
    except KeyboardInterrupt:
        pass
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
