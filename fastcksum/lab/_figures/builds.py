"""What a matrix of builds found, as rows, as a frame and as the table that is mailed."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from fastcksum._extras import extra
from fastcksum._html import table
from fastcksum.lab._machine.facts import labelled_lines, tick_name

from .record import OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from fastcksum.lab._machine.facts import Host

    from .result import Sweep

Status: TypeAlias = Literal["timed", "not run", "not built", "wrong"]
WIDTH: Final = 100
_SIZES_A_LINE: Final = 5
# Facts of a host that are about the build of this package, none of those in the table.
_OF_THE_PACKAGE: Final = {"Compiler", "Flags"}
_FRAME_POINTER_WORDS: Final = {True: "yes", False: "no", None: "-"}


class MatrixRow(NamedTuple):
    """One build.

    flags are those of the optimisation; target is what -march says, "" without it; frame_pointer None is as the
    compiler likes. vectorised and vector_bits tell what
    the compiler made of the main loop, None where its assembly doesn't show it. Builds with the same code_sha256 are
    the same machine code, and share their figures. ticks: one a size, in units of the sweep; None where it was not
    timed. status: "timed"; "not run", since this CPU lacks what it was built for; "not built"; "wrong" (or crashed).
    note: why.
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
    interrupted: bool = False

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
        """A table of at most 100 columns for each kernel and compiler, above what it was measured on and how."""
        return "\n".join(_text_lines(self)) + "\n"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        timed = sum(row.status == "timed" for row in self.rows)
        return f"<Matrix: {len(self.rows)} builds, {timed} timed, on {self.host.cpu}; .text() and .frame() show it>"

    def _repr_html_(self) -> str:
        head = [
            "kernel",
            "compiler",
            "flags",
            "target",
            "frame pointer",
            "vector",
            "bytes",
            "status",
            *map(str, self.sizes),
        ]
        facts = ("kernel", "compiler", "flags", "target")
        rows = [
            [
                *(getattr(row, name) for name in facts),
                _FRAME_POINTER_WORDS[row.frame_pointer],
                _vector(row),
                row.code_bytes,
                row.note or row.status,
                *row.ticks,
            ]
            for row in self.rows
        ]
        return table(f"{tick_name(self.host.unit)} a call by size in bytes; {self.host.cpu}", head, rows)


def _text_lines(found: Matrix) -> list[str]:
    lines: list[str] = []
    if found.interrupted:
        lines += labelled_lines("Interrupted", f"after {len(found.rows)} builds", WIDTH)
    groups = dict.fromkeys((row.kernel, row.compiler) for row in found.rows)
    for kernel, compiler in groups:
        rows = [row for row in found.rows if (row.kernel, row.compiler) == (kernel, compiler)]
        for start in range(0, len(found.sizes), _SIZES_A_LINE):
            part = slice(start, start + _SIZES_A_LINE)
            lines += [f"### {kernel}, {compiler}", *_table_lines(rows, found.sizes, part), ""]
    lines += labelled_lines(
        "Columns",
        "target: -march; fp: whether the frame pointer is kept; vector: bits of the packed additions in the widest "
        "loop; code: the first digits of the machine code's hash: the same code is timed once",
        WIDTH,
    )
    if found.sweep is not None:
        lines += labelled_lines("Figures", _about(found.sweep, found.offset), WIDTH)
    facts = [fact for fact in found.host.facts() if fact[0] not in _OF_THE_PACKAGE]
    facts += [("Warning", text) for text in found.host.warnings]
    return [*lines, *(line for label, text in facts for line in labelled_lines(label, text, WIDTH))]


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
        pointer = _FRAME_POINTER_WORDS[row.frame_pointer]
        facts = (
            f"{row.flags:<{wide}} {row.target or '-':<{aim}} {pointer:<3} {_vector(row):>6} "
            f"{'-' if row.code_bytes is None else row.code_bytes:>6} {(row.code_sha256 or '-')[:6]:<6}"
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
