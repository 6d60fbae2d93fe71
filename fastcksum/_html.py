"""Results as a notebook shows them: one table, its caption above, as many rows as a screen takes."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

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
