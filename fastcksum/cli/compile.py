"""fastcksum compile: a function of your own by every compiler."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import INTERRUPTED
from ._common import MEASURED_ON, as_options, command, in_options, names, numbers, print_json

if TYPE_CHECKING:
    import argparse

    from fastcksum.lab import Matrix

    from ._common import Commands

SYMBOL = "--symbol NAME"


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "compile",
        run,
        "compile a checksum function of your own with every compiler here, check its sums, time it, and show what each "
        "build made of it; exit 1 if one gives a wrong sum",
        "fastcksum compile patch.c --compilers gcc,clang-19 --flags=-O3 --max-len 131072",
        takes=f"2 to 3 minutes {MEASURED_ON} for two compilers with all flags and targets, most of it building; "
        "seconds with one of --flags",
        status="0; 1 if a build gives a wrong sum; 2 if none could be built",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.c",
        help="C, with uint32_t f(const void *buf, size_t len, uint32_t sum)",
    )
    parser.add_argument(
        "--compilers", type=names, metavar="NAMES", help="a comma list (default: each compiler on the PATH)"
    )
    parser.add_argument(
        "--flags",
        type=shlex.split,
        action="append",
        metavar="FLAGS",
        help="one set of flags, such as --flags='-O3 -march=native'; can be repeated (default: -O2, -O3, -O2 -g and "
        "-O3 -flto, each for five levels of x86-64)",
    )
    parser.add_argument("--symbol", metavar="NAME", help="the function, where several qualify")
    parser.add_argument(
        "--max-len", type=int, metavar="BYTES", help="the longest buffer for which its sum is right"
    )
    parser.add_argument("--sizes", type=numbers, metavar="BYTES", help="block sizes (default: 20,100,1500)")
    parser.add_argument("--json", action="store_true", help="file, unit, sizes and a row a build as JSON")


def run(options: argparse.Namespace) -> int:
    from fastcksum.lab._matrix import matrix  # noqa: PLC0415 - NumPy is for those who measure

    flags: dict[str, Any] = {"frame_pointer": (False,)}
    if options.flags:
        flags = {"optimisations": options.flags, "targets": ("",), "frame_pointer": (None,)}
    given = {"symbol": options.symbol, "max_len": options.max_len}
    with in_options(SYMBOL):
        _try_one(options, **given)
        sizes = {"sizes": options.sizes} if options.sizes else {}
        found = matrix(options.file, options.compilers, **flags, **sizes, **given)
    if options.json:
        print_json(matrix_as_json(found))
    else:
        print(found.text(), end="")
    return _conclude(options, found)


def _try_one(options: argparse.Namespace, **given: Any) -> None:
    """Builds the file once: what no compiler takes is told before all the others are tried. CompileError."""
    from fastcksum.lab._build.compiler import build, text_of  # noqa: PLC0415 - as above
    from fastcksum.lab._build.unit import meanings  # noqa: PLC0415 - as above
    from fastcksum.lab._machine.compilers import CompileError, compilers_on_path  # noqa: PLC0415 - as above

    errors = []
    meaning = meanings(text_of(options.file), given["symbol"])[0]
    for compiler in options.compilers or compilers_on_path():
        try:
            flags = options.flags[0] if options.flags else ("-O2",)
            build(options.file, compiler, flags, meaning=meaning, **given)
        except CompileError as error:
            errors.append(error)
        else:
            return
    if errors:
        raise CompileError(f"{options.file.name} is not built: {errors[0]}")


def _conclude(options: argparse.Namespace, found: Matrix) -> int:
    """The last line, and the exit status."""
    counts = Counter(row.status for row in found.rows)
    if counts["wrong"]:
        wrong = next(row for row in found.rows if row.status == "wrong")
        print(
            f"{options.file.name}, {wrong.compiler} {wrong.flags}: {as_options(wrong.note, SYMBOL)}",
            file=sys.stderr,
        )
        return 1
    if found.interrupted:
        print("fastcksum: interrupted", file=sys.stderr)
        return INTERRUPTED
    if not counts["timed"]:
        print(f"fastcksum: {options.file.name} is {as_options(found.rows[0].note, SYMBOL)}", file=sys.stderr)
        return 2
    if not options.json:
        print(f"{options.file.name}: the sums of all {counts['timed']} builds that ran are right")
    return 0


def matrix_as_json(found: Matrix) -> dict[str, Any]:
    """Unit, sizes, and of each build its fields; the ticks by size, null where it was not timed."""
    rows = [{**row._asdict(), "ticks": dict(zip(found.sizes, row.ticks, strict=True))} for row in found.rows]
    return {"unit": found.host.unit, "offset": found.offset, "sizes": found.sizes, "rows": rows}
