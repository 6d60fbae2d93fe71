"""Two sweeps that were not run together: of two machines, or of one on two days."""

from __future__ import annotations

import textwrap
from math import nan
from typing import TYPE_CHECKING, Final

from fastcksum.lab._machine.facts import tick_name

from .record import OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from .result import Sweep
    from .rows import Row

    _Cell: TypeAlias = tuple[
        str, int, str, int, str, str, str
    ]  # kernel, size, distribution, offset, mode, cache, form
    _Where: TypeAlias = tuple[int, str, int, str, str, str]

LOADS: Final = "load_only_"  # yardsticks, as OVERHEAD
WIDTH: Final = 100
SAME_HOST: Final = (
    "Both are of one kind of host, and no ratio has an interval: what differs between two runs, where the code lies, "
    "which pages the buffers got, who shares the core, is not in the rounds of either. Within some percent nothing can "
    "be concluded; fastcksum compare A B runs two kernels together and says how sure it is."
)
OTHER_HOST: Final = (
    "These are different hosts. A ratio of times says how much longer a call takes there, with all that the machines "
    "differ in: clock, caches, compiler. It does not say which kernel is better. What can be carried from one to the "
    "other is how the kernels of one column stand to each other: the columns on the right, each time by the fastest of "
    "its cell and run."
)


def text(a: Sweep, b: Sweep) -> str:
    """The cells that both have, in ns a call, b by a, and each by the fastest kernel of its cell; what that says.

    ValueError where they share no cell.
    """
    tables = [{row[:7]: row for row in sweep.table()} for sweep in (a, b)]
    cells = [cell for cell in tables[0] if cell in tables[1]]
    if not cells:
        raise ValueError("the two results have no cell in common: run the same kernels at the same sizes")
    fastest = [_fastest(table) for table in tables]
    lines = [_line_of(name, sweep) for name, sweep in (("a", a), ("b", b))]
    head = ("kernel", "size", "offset", "a, ns", "b, ns", "b / a", "a / best", "b / best")
    lines += ["", _columns(head)]
    for cell in cells:
        rows = [table[cell] for table in tables]
        times = [row.ticks_per_call / sweep.host.hz * 1e9 for row, sweep in zip(rows, (a, b), strict=True)]
        stand = [
            row.ticks_per_call / best.get(cell[1:], nan) for row, best in zip(rows, fastest, strict=True)
        ]
        lines.append(
            _columns(
                (
                    *(cell[0], str(cell[1] or cell[2]), f"+{cell[3]}" if cell[3] >= 0 else ""),
                    *(f"{time:.2f}" for time in times),
                    f"{times[1] / times[0]:.3f}",
                    *(f"{each:.3f}" for each in stand),
                )
            )
        )
    left = len(tables[0]) + len(tables[1]) - 2 * len(cells)
    lines += ["", *textwrap.wrap(SAME_HOST if a.host.id == b.host.id else OTHER_HOST, WIDTH)]
    if left:
        lines.append(f"Left out: {left} cells that one of the two has alone.")
    return "\n".join(lines) + "\n"


def _fastest(table: Mapping[_Cell, Row]) -> dict[_Where, float]:
    """The least ticks a call of a kernel that computes a sum, by the cell without its kernel."""
    found: dict[_Where, float] = {}
    for cell, row in table.items():
        if row.kernel == OVERHEAD or row.kernel.startswith(LOADS):
            continue
        found[cell[1:]] = min(found.get(cell[1:], float("inf")), row.ticks_per_call)
    return found


def _line_of(name: str, sweep: Sweep) -> str:
    host, plan = sweep.host, sweep.plan
    unit = f"{tick_name(host.unit)} at {host.hz / 1e6:.0f} MHz"
    return f"{name}  {host.cpu} (host {host.id}), {host.compiler}; {unit}; {plan.started[:16]}"


def _columns(cells: tuple[str, ...]) -> str:
    kernel, size, *rest = cells
    return f"{kernel[:32]:<32} {size:>7} {rest[0]:>6}" + "".join(f"{each:>10}" for each in rest[1:])
