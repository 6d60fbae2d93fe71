"""fastcksum show: results that were saved, again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._common import command, print_json
from ._sweeping import sweep_as_json

if TYPE_CHECKING:
    import argparse

    from fastcksum.lab import Race, Sweep

    from ._common import Commands

FORMS = ("text", "markdown", "csv", "json", "pyperf", "google-benchmark")


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "show",
        run,
        "print results that were saved: one as its command printed it or for another tool, several side by side",
        "fastcksum show today.json --as markdown",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="what --save wrote")
    parser.add_argument(
        "--as",
        dest="form",
        choices=FORMS,
        default="text",
        metavar="FORM",
        help=f"{', '.join(FORMS)} (default: text)",
    )


def run(options: argparse.Namespace) -> int:
    from fastcksum.lab import Sweep  # noqa: PLC0415 - NumPy is for those who measure

    results = {name: load(name) for name in options.files}
    if len(results) == 1:
        show(next(iter(results.values())), options.form)
        return 0
    sweeps = {name: each for name, each in results.items() if isinstance(each, Sweep)}
    if options.form == "json":
        print_json([as_json(each) for each in results.values()])
    elif options.form == "text" and len(sweeps) == len(results):
        print(side_by_side(list(sweeps.values())), end="")
    elif options.form == "csv" and len(sweeps) == len(results):
        print(csv_of(sweeps), end="")
    elif options.form in {"text", "markdown"}:
        for each in results.values():
            show(each, options.form)
    else:
        raise ValueError(f"--as {options.form} makes one document of one sweep: give it the files one by one")
    return 0


def load(name: str) -> Sweep | Race:
    """The sweep or the race in a file. ValueError that names it for anything else."""
    from fastcksum import lab  # noqa: PLC0415 - NumPy is for those who measure

    try:
        return lab.Sweep.load(name)
    except ValueError as error:
        try:
            return lab.Race.load(name)
        except ValueError:
            raise error from None


def show(result: Sweep | Race, form: str) -> None:
    """Prints one result. ValueError for a form that a race does not have."""
    from fastcksum.lab import Race  # noqa: PLC0415 - as above
    from fastcksum.lab._figures import exports  # noqa: PLC0415 - as above

    if form == "text":
        print(result.text(), end="")
    elif form == "json":
        print_json(as_json(result))
    elif isinstance(result, Race):
        raise ValueError(f"a race is shown as text or json, not as {form}")
    else:
        print(exports.FORMS[form](result), end="")


def as_json(result: Sweep | Race) -> dict[str, Any]:
    from fastcksum.lab import Race  # noqa: PLC0415 - as above

    return result.as_json() if isinstance(result, Race) else sweep_as_json(result)


def csv_of(sweeps: dict[str, Sweep]) -> str:
    """The rows of several sweeps below one head, each behind the name of its file."""
    from fastcksum.lab._figures import exports  # noqa: PLC0415 - as above

    lines = {name: exports.as_csv(sweep).splitlines() for name, sweep in sweeps.items()}
    head = f"file,{next(iter(lines.values()))[0]}"
    named = (f"{quoted(name)},{row}" for name, (_, *rows) in lines.items() for row in rows)
    return "\n".join([head, *named]) + "\n"


def quoted(name: str) -> str:
    """A file's name as CSV has it (RFC 4180)."""
    return f'"{name.replace(chr(34), 2 * chr(34))}"' if set(name) & set('",\n') else name


def side_by_side(sweeps: list[Sweep]) -> str:
    """Ticks a call of each cell, a column a file; below it which machine and which moment each column is."""
    from fastcksum.lab._machine.facts import tick_name  # noqa: PLC0415 - as above

    tables = [{row[:7]: row for row in sweep.table()} for sweep in sweeps]
    cells = dict.fromkeys(cell for table in tables for cell in table)
    width = max((len(str(cell[0])) for cell in cells), default=6)
    letters = [f"[{number + 1}]" for number in range(len(sweeps))]
    lines = [f"{'kernel':<{width}} {'bytes':>7} {'offset':>6}" + "".join(f"{each:>10}" for each in letters)]
    for cell in cells:
        figures = [table[cell].ticks_per_call if cell in table else None for table in tables]
        lines.append(
            f"{cell[0]:<{width}} {cell[1] or cell[2]:>7} {f'+{cell[3]}' if cell[3] >= 0 else '':>6}"
            + "".join(f"{'' if each is None else f'{each:.1f}':>10}" for each in figures)
        )
    lines.append("")
    lines += [
        f"{letter} {tick_name(sweep.host.unit)} a call; {sweep.host.cpu}, {sweep.plan.started}"
        for letter, sweep in zip(letters, sweeps, strict=True)
    ]
    lines.append(
        "Ticks of different machines are of different clocks: compare kernels within a column, not across."
    )
    return "\n".join(lines) + "\n"
