"""fastcksum kernels: what this build has."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from fastcksum import active_kernel, kernels

from ._common import command, print_json

if TYPE_CHECKING:
    import argparse

    from fastcksum import Kernel

    from ._common import Commands

WIDEST = 100  # columns, as the other tables
NARROWEST = 24  # of a summary beside the other columns


def add(commands: Commands) -> None:
    parser = command(commands, "kernels", run, "list the kernels of this build", "fastcksum kernels --json")
    parser.add_argument("--json", action="store_true", help="all that is known of each, as JSON")


def run(options: argparse.Namespace) -> int:
    try:
        active: Kernel | None = active_kernel()
    except ValueError as error:  # FASTCKSUM_KERNEL names none: the list is what helps then
        active = None
        print(f"fastcksum: {error}", file=sys.stderr)
    if options.json:
        print_json([_kernel_as_json(kernel, active) for kernel in kernels()])
        return 0
    lines = [_kernel_line(kernel, active) for kernel in kernels()]
    columns = min(get_terminal_size((WIDEST, 24)).columns, WIDEST)
    print("\n".join(_table([("", "name", "role", "runs", "made for", "code", "summary"), *lines], columns)))
    print("* is used when no kernel is named")
    return 0


def _table(lines: list[tuple[str, ...]], columns: int) -> list[str]:
    """One row a line, the last column wrapped to what is left of so many; below the row where that is little."""
    widths = [max(map(len, column)) for column in list(zip(*lines, strict=True))[:-1]]
    at = sum(widths) + 2 * len(widths)
    beside = columns - at >= NARROWEST
    table = []
    for *cells, last in lines:
        row = "".join(cell.ljust(width) + "  " for cell, width in zip(cells, widths, strict=True))
        parts = wrap(last, columns - at if beside else columns - 6)
        first = parts.pop(0) if beside else ""
        table += [(row + first).rstrip(), *(" " * (at if beside else 6) + part for part in parts)]
    return table


def _kernel_line(kernel: Kernel, active: Kernel | None) -> tuple[str, ...]:
    unlimited = kernel.max_len >= 2**63 - 1
    runs = "yes" if kernel.runs_here else f"no: {' '.join(kernel.needs)}"
    made_for = f"{kernel.min_len}.." + ("any" if unlimited else _size_text(kernel.max_len))
    code = "?" if kernel.code_bytes is None else f"{kernel.code_bytes} B"
    return ("*" if kernel == active else "", kernel.name, kernel.role, runs, made_for, code, kernel.summary)


def _size_text(size: int) -> str:
    for scale, name in ((1 << 30, "GiB"), (1 << 10, "KiB")):
        if size % scale == 0:
            return f"{size // scale} {name}"
    return str(size)


def _kernel_as_json(kernel: Kernel, active: Kernel | None) -> dict[str, Any]:
    fields = {name: getattr(kernel, name) for name in kernel.__dataclass_fields__ if name != "capsule"}
    return {**fields, "active": kernel == active}
