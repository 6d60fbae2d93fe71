"""Results as a notebook shows them: one table, its caption above, as many rows as a screen takes."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Final

from fastcksum.lab._machine.facts import tick_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastcksum.lab._machine.facts import Host

    from .record import Plan
    from .rows import Row

ROWS: Final = 40  # more than these are a wall


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[object]], *, rest: str = "frame()"
) -> str:
    """An HTML table. Numbers stand on the right; of more than ROWS rows the first, and what shows the rest."""
    lines = [
        "<table>",
        f"<caption>{escape(caption)}</caption>",
        "<thead>",
        _row("th", head, head),
        "</thead><tbody>",
    ]
    lines += [_row("td", row, [cell(value) for value in row]) for row in rows[:ROWS]]
    if len(rows) > ROWS:
        words = f"and {len(rows) - ROWS:,} rows more: .{rest} has them"
        lines.append(f'<tr><td colspan="{len(head)}">{escape(words)}</td></tr>')
    return "\n".join([*lines, "</tbody></table>"])


def cell(value: object) -> str:
    """A value in few digits; nothing for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def _row(tag: str, values: Sequence[object], words: Sequence[str]) -> str:
    sides = ["right" if isinstance(value, (int, float)) else "left" for value in values]
    cells = (
        f'<{tag} style="text-align:{side}">{escape(word)}</{tag}>'
        for side, word in zip(sides, words, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


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
