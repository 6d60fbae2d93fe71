"""Lines of `perf stat -j`: one JSON object an event."""

from __future__ import annotations

import json
from typing import Any

# Who was counted, with -A, --per-socket and the like, in the order in which perf prints them.
_WHO = ("interval", "cpu", "core", "die", "node", "cluster", "cache", "socket", "thread", "cgroup")


def json_fields(text: str) -> tuple[str, float | None, str, str] | None:
    """Who, count, event and note, as a line of `-x` would give them; None if it isn't a whole object of perf's."""
    try:
        found = json.loads(text.strip().rstrip(","))
        value, event = str(found["counter-value"]), str(found["event"])
        count = None if value.startswith("<") else float(value)
        who = " ".join(_who(name, found[name]) for name in _WHO if name in found)
        return who, count, event, "; ".join(filter(None, _notes(found, value if count is None else "")))
    except (KeyError, TypeError, ValueError):
        return None


def _who(name: str, value: Any) -> str:
    if name == "interval":
        return f"at {value} s"
    return f"CPU{value}" if name == "cpu" and str(value).isdigit() else str(value)


def _notes(found: dict[str, Any], not_counted: str) -> list[str]:
    """The unit, why there is no count, the metric, the spread over repetitions and the share of the time counted."""
    metric = " ".join(str(found.get(name) or "") for name in ("metric-value", "metric-unit")).strip()
    spread, share = float(found.get("variance") or 0), float(found.get("pcnt-running") or 100)
    return [
        str(found.get("unit") or ""),
        not_counted,
        metric if found.get("metric-unit") else "",
        f"( +- {spread:.2f}% )" if spread else "",
        f"({share:.2f}%)" if share != 100 else "",
    ]
