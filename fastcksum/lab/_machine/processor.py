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


def best_processor(allowed: set[int]) -> int:
    """The fastest kind of core; of those the last one, since interrupts mostly go to the first."""

    def capacity(cpu: int) -> int:
        try:
            return int(Path(f"/sys/devices/system/cpu/cpu{cpu}/cpu_capacity").read_text())
        except (OSError, ValueError):
            return 0

    return max(allowed, key=lambda cpu: (capacity(cpu), cpu))
