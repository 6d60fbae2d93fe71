"""Sweeps as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastcksum._html import cell, table
from fastcksum.lab._machine.facts import tick_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastcksum.lab._machine.facts import Host

    from .record import Plan
    from .rows import Row


def sweep_html(rows: Sequence[Row], host: Host, plan: Plan) -> str:
    """A line a kernel, offset and mode, a column a size or mix: ticks a call; the badge where it isn't clean."""
    columns = list(dict.fromkeys((row.size, row.distribution) for row in rows))
    head = ["kernel", "offset", "mode", *(f"{size:,}" if size else mix for size, mix in columns)]
    lines: dict[tuple[str, int, str], dict[tuple[int, str], str]] = {}
    for row in rows:
        key = row.kernel, row.offset, row.mode
        badge = "" if row.badge == "clean" else f" ({row.badge})"
        lines.setdefault(key, {})[row.size, row.distribution] = cell(row.ticks_per_call) + badge
    table_rows = [[*key, *(found.get(column, "") for column in columns)] for key, found in lines.items()]
    caption = (
        f"{tick_name(host.unit)} a call; {host.cpu}; {plan.rounds_done} rounds, {plan.placements} placements, "
        f"{plan.processes} processes, {plan.started}"
    )
    return table(caption, head, table_rows)
