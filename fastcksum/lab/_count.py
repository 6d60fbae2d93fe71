"""Hardware events of a kernel, counted; where the machine refuses, instructions and branches from callgrind.

Nothing is made up: an event that was not counted is None, and `refused` says in words why. Callgrind executes
each instruction itself and counts it, so that its two figures are exact; it knows no cycles and no real
caches.
"""

from __future__ import annotations

import mmap
import operator
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from fastcksum import _core
from fastcksum._kernel import Kernel, from_description

from ._build.compiler import compile_kernel
from ._build.unit import kernel_source, source_root
from ._figures.record import OVERHEAD
from ._machine import callgrind
from ._machine.compilers import CompileError, as_built
from ._machine.events import EVENTS, PERF_NAMES, Counts, Refused, counted, paranoia, refusal
from ._machine.facts import host

if TYPE_CHECKING:
    from typing import SupportsIndex

Source: TypeAlias = Literal["perf_event", "callgrind"]
SEED = 0x1624
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Counters:
    """What `calls` calls of one kernel cost, in events.

    kernel   its name
    size     bytes of the buffer
    offset   of the buffer from the start of a page, in bytes
    calls    how many calls the counts are of
    gross    the calls and the loop around them
    net      gross minus the same for `nothing`, an empty function in the same loop
    source   "perf_event" (the CPU's own counters, user space), "callgrind" (instructions and branches,
             exact), or None
    refused  why some or all events are None, in words; "" where all were counted
    """

    kernel: str
    size: int
    offset: int
    calls: int
    gross: Counts
    net: Counts
    source: Source | None
    refused: str

    @property
    def cycles(self) -> int | None:
        """Core cycles, gross; None where refused."""
        return self.gross.cycles

    @property
    def instructions(self) -> int | None:
        """Instructions, gross; None where refused."""
        return self.gross.instructions

    @property
    def branches(self) -> int | None:
        """Branch instructions of any kind (jumps, calls and returns too), gross; None where refused."""
        return self.gross.branches

    @property
    def branch_misses(self) -> int | None:
        """Mispredicted branches, gross; None where refused."""
        return self.gross.branch_misses

    @property
    def ref_cycles(self) -> int | None:
        """Cycles of the reference clock, gross; None where refused."""
        return self.gross.ref_cycles

    @property
    def l1d_misses(self) -> int | None:
        """Loads that missed the first data cache, gross; None where refused."""
        return self.gross.l1d_misses

    @property
    def ipc(self) -> float | None:
        """Instructions per core cycle, gross; None where either was refused."""
        return self.gross.ipc

    def text(self) -> str:
        """The counts as `perf stat` prints them, figures per call behind; read_perf_stat() reads them back."""
        title = f"{self.calls:,} calls of {self.kernel}, {self.size} bytes at offset {self.offset}"
        lines = ["", f" Performance counter stats for '{title}':", ""]
        lines += [self._line(name) for name in EVENTS]
        notes = [
            textwrap.fill(note, WIDTH, initial_indent=" ", subsequent_indent="     ")
            for note in self._notes()
        ]
        return "\n".join([*lines, "", *notes, ""])

    def _line(self, name: str) -> str:
        value = getattr(self.gross, name)
        event = PERF_NAMES.get(name, name)
        if value is None:
            return f"   <not supported>      {event}"
        gross = self.gross.per_call(self.calls)[name]
        net = self.net.per_call(self.calls)[name]
        notes = [f"{gross:9.3f} per call"]
        notes += [f"{net:.3f} net"] if net is not None else []
        notes += [f"{self.ipc:.2f} insn per cycle"] if name == "instructions" and self.ipc is not None else []
        return f"{value:18,}      {event:<24} # {', '.join(notes)}"

    def _notes(self) -> list[str]:
        sources = {
            "perf_event": "Counted by the CPU, in user space.",
            "callgrind": "Counted by callgrind, which executes each instruction itself: exact.",
            None: "Nothing could be counted.",
        }
        net = f"Net: minus what as many calls of `{OVERHEAD}` cost in the same loop."
        notes = [sources[self.source], *([net] if self.source else [])]
        return [*notes, *([f"Refused: {self.refused}."] if self.refused else [])]

    def __str__(self) -> str:
        return self.text()


def count(
    kernel: str | Kernel, size: SupportsIndex, *, calls: SupportsIndex = 1_000_000, offset: SupportsIndex = 0
) -> Counters:
    """Counts events over `calls` calls on `size` bytes that lie `offset` bytes behind the start of a page.

    Cycles, instructions, branches, branch misses, reference cycles and L1 data misses, by perf_event_open as
    one group that was never multiplexed, in total; gross, and net of an empty function in the same loop.
    Where the machine refuses, instructions and branches come from `valgrind --tool=callgrind`: exact, in two
    seconds or so. What can't be had is None, and `.refused` says why.

    ValueError if the kernel is unknown or can't run here, if it isn't right at that size, or if a number is
    out of range.
    """
    chosen = kernel if isinstance(kernel, Kernel) else from_description(_core.describe(kernel))
    size, calls, offset = operator.index(size), operator.index(calls), operator.index(offset)
    _check(chosen, size, calls, offset)
    buffer = _buffer(offset + size)
    try:
        gross, refused = counted(_core.count_events(chosen, buffer, offset, size, calls), _hypervisor)
        overhead, _ = counted(_core.count_events(OVERHEAD, buffer, offset, size, calls), _hypervisor)
        return Counters(chosen.name, size, offset, calls, gross, gross.minus(overhead), "perf_event", refused)
    except Refused as reason:
        refused = str(reason)
    except OSError as error:
        refused = refusal(error.errno or 0, paranoia(), _hypervisor())
    try:
        gross, overhead = (
            callgrind_counts(each, bytes(buffer[offset : offset + size]), calls, offset)
            for each in (chosen, from_description(_core.describe(OVERHEAD)))
        )
        return Counters(chosen.name, size, offset, calls, gross, gross.minus(overhead), "callgrind", refused)
    except Refused as reason:
        return Counters(
            chosen.name, size, offset, calls, Counts(), Counts(), None, f"{refused}; nor callgrind: {reason}"
        )


def _hypervisor() -> str:
    return host().hypervisor


def _check(kernel: Kernel, size: int, calls: int, offset: int) -> None:
    if not kernel.min_len <= size <= kernel.max_len:
        raise ValueError(
            f"size must be in {kernel.min_len}..{kernel.max_len} (bytes, as kernel '{kernel.name}' allows), "
            f"not {size}"
        )
    if calls < 1:
        raise ValueError(f"calls must be at least 1, not {calls}")
    if offset < 0:
        raise ValueError(f"offset can't be negative: {offset}")


def _buffer(size: int) -> mmap.mmap:
    """Whole pages with random bytes in them, the same ones each time."""
    buffer = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer[:] = np.random.default_rng(SEED).bytes(len(buffer))
    return buffer


def callgrind_counts(kernel: Kernel, data: bytes, calls: int, offset: int) -> Counts:
    """Instructions and branches of `calls` calls on these bytes, with their loop. Refused, with the reason."""
    if any(need.startswith("avx512") for need in kernel.needs):
        raise Refused(f"{callgrind.valgrind()} can't run AVX-512, which {kernel.name} needs")
    return run_of(kernel, data, offset).counts(calls)


def run_of(kernel: Kernel, data: bytes, offset: int) -> callgrind.Run:
    """What callgrind runs: the kernel in its shared object, on these bytes."""
    return callgrind.Run(
        _object_of(kernel), _core.describe(kernel)["name"], data, offset, sources=source_root()
    )


def _object_of(kernel: Kernel) -> str:
    """The shared object with the kernel: the one it was loaded from, or its source compiled like this package."""
    path = _core.shared_object(kernel)
    if path is not None and path != _core.shared_object(OVERHEAD):
        return path
    try:
        compiled = compile_kernel(kernel_source(kernel.name), *as_built(), symbol=kernel.name)
    except CompileError as error:
        raise Refused(f"{kernel.name} can't be compiled here: {str(error).splitlines()[0]}") from None
    again = _core.shared_object(compiled)
    assert again is not None
    return again
