"""fastcksum show: results that were saved, again."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    results = [load(name) for name in options.files]
    sweeps = [each for each in results if isinstance(each, Sweep)]
    if len(results) > 1 and options.form == "text" and len(sweeps) == len(results):
        print(side_by_side(sweeps), end="")
        return 0
    for each in results:
        show(each, options.form)
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
        print_json(result.as_json() if isinstance(result, Race) else sweep_as_json(result))
    elif isinstance(result, Race):
        raise ValueError(f"a race is shown as text or json, not as {form}")
    else:
        print(exports.FORMS[form](result), end="")


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
