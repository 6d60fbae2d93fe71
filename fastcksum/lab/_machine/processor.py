"""The CPU that a measuring thread is kept on."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def pinned() -> Iterator[int | None]:
    """Keeps the thread on one CPU, which it gives, and restores its affinity on every way out. None where refused."""
    before = os.sched_getaffinity(0)
    processor: int | None = best_processor(before)
    try:
        try:
            os.sched_setaffinity(0, {best_processor(before)})
        except OSError:
            processor = None
        yield processor
    finally:
        os.sched_setaffinity(0, before)


def best_processor(allowed: set[int], root: Path = Path("/")) -> int:
    """The fastest kind of core; of those the last one, since interrupts mostly go to the first.

    Kinds are told by cpu_capacity (most on Arm) or else by the highest frequency (hybrid x86); one kind where neither
    is.
    """

    def fact(cpu: int, name: str) -> int:
        try:
            return int((root / f"sys/devices/system/cpu/cpu{cpu}" / name).read_text())
        except (OSError, ValueError):
            return 0

    facts = ("cpu_capacity", "cpufreq/cpuinfo_max_freq")
    return max(allowed, key=lambda cpu: (*(fact(cpu, name) for name in facts), cpu))
