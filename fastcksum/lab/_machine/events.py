"""The events that a CPU counts: which may be counted here, and what a refusal means."""

from __future__ import annotations

import dataclasses
import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastcksum import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OVERHEAD = "nothing"


@dataclass(frozen=True, slots=True)
class Counts:
    """Events in total; None where one was not counted."""

    cycles: int | None = None
    instructions: int | None = None
    branches: int | None = None
    branch_misses: int | None = None
    ref_cycles: int | None = None
    l1d_misses: int | None = None

    @property
    def ipc(self) -> float | None:
        """Instructions per core cycle; None where either was not counted or no cycle is left."""
        if self.instructions is None or not self.cycles:
            return None
        return self.instructions / self.cycles

    def minus(self, other: Counts) -> Counts:
        """Event by event; None where one of both is. A difference may be negative: it stays what it is."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in EVENTS)
        return Counts(*(None if a is None or b is None else a - b for a, b in pairs))

    def per_call(self, calls: int) -> dict[str, float | None]:
        """Each event divided by the number of calls."""
        counts = dataclasses.asdict(self)
        return {name: None if value is None else value / calls for name, value in counts.items()}


EVENTS = tuple(each.name for each in dataclasses.fields(Counts))
PERF_NAMES = {
    "branch_misses": "branch-misses",
    "ref_cycles": "ref-cycles",
    "l1d_misses": "L1-dcache-load-misses",
}


def counters_here(hypervisor: str) -> str:
    """What of the CPU's counters this process may use, in words: the events of one group, or why none.

    hypervisor: what the host report calls it.
    """
    try:
        counts, refused = counted(_core.count_events(OVERHEAD, bytes(1), 0, 1, 1000), lambda: hypervisor)
    except Refused as reason:
        return f"refused: {reason}"
    except OSError as error:
        return f"refused: {refusal(error.errno or 0, paranoia(), hypervisor)}"
    events = [PERF_NAMES.get(name, name) for name in EVENTS if getattr(counts, name) is not None]
    return f"{', '.join(events)} in one group" + (f"; {refused}" if refused else "")


class Refused(Exception):  # noqa: N818 - it is an answer, not an error
    """Why something can't be counted, in words."""


def refusal(number: int, paranoia: int | None, hypervisor: str) -> str:
    """What an error of perf_event_open means here, and what to do about it.

    paranoia: kernel.perf_event_paranoid, None if unknown; hypervisor: its name, "none" or "unknown".
    """
    if number in (errno.EACCES, errno.EPERM):
        if paranoia is not None and paranoia <= 2:
            return (
                f"kernel.perf_event_paranoid is {paranoia}, which allows it, but a sandbox forbids "
                "perf_event_open; in Docker: --cap-add PERFMON, and a seccomp profile that allows it"
            )
        return (
            "the system lets no user count events (kernel.perf_event_paranoid is "
            f"{'unknown' if paranoia is None else paranoia}): sysctl kernel.perf_event_paranoid=2, or grant "
            "CAP_PERFMON"
        )
    if number in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENXIO):
        if hypervisor in ("none", "unknown"):
            return "this CPU, or the kernel's driver for it, has no such counter"
        return (
            f"the virtual machine ({hypervisor}) has no such counter: give it a virtual PMU, or use the bare "
            "machine"
        )
    words = {
        errno.EINVAL: "the kernel is too old for the event, or the events are too many for one group",
        errno.ENOSYS: "the kernel has no perf events: it was built without, or is no Linux kernel (gVisor)",
        errno.EMFILE: "too many files are open: raise `ulimit -n`",
        errno.ENFILE: "too many files are open on this system: raise fs.file-max",
        errno.EBUSY: "another program has the counters to itself: end it, or sysctl kernel.nmi_watchdog=0",
        errno.E2BIG: "given up so that the others could be counted at the same time; sysctl "
        "kernel.nmi_watchdog=0 frees a counter",
    }
    return words.get(number, f"perf_event_open failed: {os.strerror(number)}")


_VERDICTS = {
    "multiplexed": "the kernel counted only part of the time, and a scaled count is an estimate: end other "
    "programs that count, or sysctl kernel.nmi_watchdog=0",
    "not scheduled": "the counters were never given to this process: end other programs that count, or "
    "sysctl kernel.nmi_watchdog=0",
    "malformed": "the kernel's record doesn't fit the events that were opened",
}


def counted(
    answer: tuple[str, Mapping[str, int], Mapping[str, int]], hypervisor: Callable[[], str]
) -> tuple[Counts, str]:
    """The counts in an answer of the core, and why some are missing. Refused if the whole group is."""
    verdict, counts, errors = answer
    if verdict != "counted":
        raise Refused(_VERDICTS[verdict])
    by_reason: dict[str, list[str]] = {}
    for name, number in errors.items():
        reason = refusal(number, paranoia(), hypervisor())
        by_reason.setdefault(reason, []).append(PERF_NAMES.get(name, name))
    return Counts(**counts), "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())


def paranoia() -> int | None:
    """kernel.perf_event_paranoid; None where it isn't told."""
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
