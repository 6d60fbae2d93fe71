"""fastcksum kernels: what this build has."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fastcksum import active_kernel, kernels

from ._common import command, print_json

if TYPE_CHECKING:
    import argparse

    from fastcksum import Kernel

    from ._common import Commands


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
    table: list[tuple[str, ...]] = [("", "name", "role", "runs here", "made for", "code", "summary")]
    table += [_kernel_line(kernel, active) for kernel in kernels()]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print("* is used when no kernel is named")
    return 0


def _kernel_line(kernel: Kernel, active: Kernel | None) -> tuple[str, ...]:
    unlimited = kernel.max_len >= 2**63 - 1
    runs = "yes" if kernel.runs_here else f"no: {' '.join(kernel.needs)}"
    made_for = f"{kernel.min_len}.." + ("any" if unlimited else str(kernel.max_len))
    code = "?" if kernel.code_bytes is None else f"{kernel.code_bytes} B"
    return ("*" if kernel == active else "", kernel.name, kernel.role, runs, made_for, code, kernel.summary)


def _kernel_as_json(kernel: Kernel, active: Kernel | None) -> dict[str, Any]:
    fields = {name: getattr(kernel, name) for name in kernel.__dataclass_fields__ if name != "capsule"}
    return {**fields, "active": kernel == active}
