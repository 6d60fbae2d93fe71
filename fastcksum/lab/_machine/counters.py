"""Hardware events of a kernel, counted; where the machine refuses, instructions and branches from callgrind.

Nothing is made up: an event that was not counted is None, and `refused` says in words why. Callgrind executes
each instruction itself and counts it, so that its two figures are exact; it knows no cycles and no real
caches.
"""

from __future__ import annotations

import dataclasses
import errno
import mmap
import operator
import os
import platform
import re
import shutil
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from fastcksum import _core
from fastcksum._kernel import Kernel, from_description
from fastcksum.lab._build.command import CompileError, as_built
from fastcksum.lab._build.compiler import compile_kernel
from fastcksum.lab._build.unit import kernel_source, source_root

from .facts import host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import SupportsIndex

Source: TypeAlias = Literal["perf_event", "callgrind"]

OVERHEAD = "nothing"
SEED = 0x1624
WIDTH = 100


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
_PERF_NAMES = {
    "branch_misses": "branch-misses",
    "ref_cycles": "ref-cycles",
    "l1d_misses": "L1-dcache-load-misses",
}


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
        event = _PERF_NAMES.get(name, name)
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
        gross, refused = _counted(_core.count_events(chosen, buffer, offset, size, calls))
        overhead, _ = _counted(_core.count_events(OVERHEAD, buffer, offset, size, calls))
        return Counters(chosen.name, size, offset, calls, gross, gross.minus(overhead), "perf_event", refused)
    except Refused as reason:
        refused = str(reason)
    except OSError as error:
        refused = refusal(error.errno or 0, _paranoia(), host().hypervisor)
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


def counters_here(hypervisor: str) -> str:
    """What of the CPU's counters this process may use, in words: the events of one group, or why none.

    hypervisor: what the host report calls it.
    """
    try:
        counts, refused = _counted(_core.count_events(OVERHEAD, bytes(1), 0, 1, 1000))
    except Refused as reason:
        return f"refused: {reason}"
    except OSError as error:
        return f"refused: {refusal(error.errno or 0, _paranoia(), hypervisor)}"
    events = [_PERF_NAMES.get(name, name) for name in EVENTS if getattr(counts, name) is not None]
    return f"{', '.join(events)} in one group" + (f"; {refused}" if refused else "")


class Refused(Exception):  # noqa: N818 - it is an answer, not an error
    """Why something can't be counted, in words."""


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


# Refusals


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


def _counted(answer: tuple[str, Mapping[str, int], Mapping[str, int]]) -> tuple[Counts, str]:
    """The counts, and why some are missing. Refused if the whole group is."""
    verdict, counts, errors = answer
    if verdict != "counted":
        raise Refused(_VERDICTS[verdict])
    by_reason: dict[str, list[str]] = {}
    for name, number in errors.items():
        reason = refusal(number, _paranoia(), host().hypervisor)
        by_reason.setdefault(reason, []).append(_PERF_NAMES.get(name, name))
    return Counts(**counts), "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())


def _paranoia() -> int | None:
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


# Callgrind

# A loop may be unrolled, so that its cost is only linear in whole turns: this many calls are some.
_TURN = 32


def callgrind_counts(kernel: Kernel, data: bytes, calls: int, offset: int) -> Counts:
    """Instructions and branches of `calls` calls on these bytes, with their loop. Refused, with the reason.

    Each call on the same bytes executes the same instructions, so that what two small numbers of calls differ
    in gives the total of a large one exactly. Both counts end in the same turn of the loop as the large one.
    """
    if any(need.startswith("avx512") for need in kernel.needs):
        raise Refused(f"{_valgrind()} can't run AVX-512, which {kernel.name} needs")
    run = _Run(kernel, data, offset)
    few = calls if calls <= 3 * _TURN else _TURN + calls % _TURN
    first = run.count(few)
    turns = (calls - few) // _TURN
    if turns == 0:
        return first
    per_turn = run.count(few + _TURN).minus(first)
    steps = ((getattr(first, name), getattr(per_turn, name)) for name in EVENTS)
    return Counts(*(None if a is None or b is None else a + turns * b for a, b in steps))


@dataclass(slots=True)
class _Run:
    """A kernel in a shared object, and the bytes that callgrind runs it on."""

    kernel: Kernel
    data: bytes
    offset: int
    symbol: str = field(init=False)
    path: str = field(init=False)
    jumps: frozenset[int] | None = field(init=False)

    def __post_init__(self) -> None:
        self.symbol = _core.describe(self.kernel)["name"]
        self.path = _object_of(self.kernel)
        self.jumps = branch_addresses(
            _tool("objdump", "-d", "--no-show-raw-insn", self.path), platform.machine()
        )

    def count(self, calls: int) -> Counts:
        with tempfile.TemporaryDirectory(prefix="fastcksum-") as folder:
            profile = Path(folder, "profile")
            said = _tool(
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={profile}",
                f"--toggle-collect=cksum_loop_plain_{self.symbol}",
                "--dump-instr=yes",
                "--dump-line=no",
                "--compress-strings=no",
                "--compress-pos=no",
                *(_driver(), self.path, self.symbol, str(self.offset), str(len(self.data)), str(calls)),
                given=self.data,
            )
            text = profile.read_text(encoding="utf-8", errors="replace")
        base = int(said.split()[0], 16)
        return profile_counts(text, self.path, base, self.jumps)


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


@cache
def _workspace() -> tempfile.TemporaryDirectory[str]:
    """The folder of the driver; it is removed when Python ends."""
    return tempfile.TemporaryDirectory(prefix="fastcksum-")


@cache
def _driver() -> str:
    """The program that callgrind looks at, compiled."""
    target = str(Path(_workspace().name, "callgrind_driver"))
    source = source_root() / "adapters" / "callgrind_driver.c"
    compiler, _ = as_built()
    _tool(*compiler, "-std=c11", "-O2", f"-I{source_root()}", str(source), "-o", target, "-ldl")
    return target


_PACKAGES = {"valgrind": "valgrind", "objdump": "binutils"}


def _tool(*command: str, given: bytes = b"") -> str:
    """What the command prints. Refused if it is missing or fails."""
    name = command[0]
    if shutil.which(name) is None:
        raise Refused(f"{name} is not installed: apt install {_PACKAGES.get(name, name)}")
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    said, complaint = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    if re.search(r"unhandled instruction|Unrecognised instruction|Illegal (?:instruction|opcode)", complaint):
        raise Refused(
            f"{_valgrind()} doesn't know an instruction of this kernel; it can't run AVX-512, for one"
        )
    if done.returncode != 0:
        last = (complaint.strip() or said.strip() or "it said nothing").splitlines()[-1]
        raise Refused(f"{name} ended with status {done.returncode}: {last}")
    return said


@cache
def _valgrind() -> str:
    """Its name and version, as "valgrind 3.19.0"."""
    return _tool("valgrind", "--version").strip().replace("-", " ", 1)


_BRANCHES = {
    "x86_64": r"(?:(?:bnd|notrack|repz?|repnz|cs|ds|data16)\s+)*(?:j[a-z]+|call[a-z]*|ret[a-z]*|loop[a-z]*)",
    "aarch64": r"b|b\.[a-z]+|bl|blr[a-z]*|br[a-z]*|ret[a-z]*|cbn?z|tbn?z",
}


def branch_addresses(disassembly: str, machine: str) -> frozenset[int] | None:
    """Addresses of the branch instructions in what `objdump -d` prints; None for a machine that isn't known
    here.

    All kinds, as a CPU's counter of retired branches has them: conditional and direct jumps, calls, returns.
    (What callgrind itself counts as branches leaves out direct jumps, calls and returns.)
    """
    mnemonics = _BRANCHES.get(machine)
    if mnemonics is None:
        return None
    line = re.compile(rf"^\s*([0-9a-f]+):\s+(?:{mnemonics})(?:\s|$)", re.MULTILINE)
    return frozenset(int(address, 16) for address in line.findall(disassembly))


def profile_counts(text: str, path: str, base: int, jumps: frozenset[int] | None) -> Counts:
    """Instructions and branches in a profile that callgrind wrote with --dump-instr=yes and without
    compression.

    path: the shared object that has the kernel, loaded at `base`; jumps: addresses of its branches, None if
    unknown. Branches are None too if other objects executed something, since theirs aren't known. Refused if
    the profile is empty or doesn't add up to its own total.
    """
    instructions = branches = elsewhere = 0
    inside = False
    for position, executed, in_object in _costs(text.splitlines()):
        instructions += executed
        inside = in_object in (path, "???")
        address = position - base if in_object == "???" else position
        branches += executed if inside and jumps and address in jumps else 0
        elsewhere += 0 if inside else executed
    total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
    if total is None or instructions == 0 or int(total[1]) != instructions:
        raise Refused(f"callgrind's profile has {instructions} instructions and says {total and total[1]}")
    return Counts(instructions=instructions, branches=None if jumps is None or elsewhere else branches)


def _costs(profile: Iterable[str]) -> Iterable[tuple[int, int, str]]:
    """(address, executions, object) of each line of own cost; a line behind `calls=` is the callee's."""
    in_object, is_callee = "", False
    for line in profile:
        if line.startswith("ob="):
            in_object = line[3:]
        elif line.startswith("calls="):
            is_callee = True
        elif cost := re.match(r"0x([0-9a-f]+) (\d+)", line):
            if not is_callee:
                yield int(cost[1], 16), int(cost[2]), in_object
            is_callee = False
