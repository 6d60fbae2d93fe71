"""Instructions and branches by callgrind, which executes each instruction itself: exact, and slow."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .compilers import as_built
from .events import EVENTS, Counts, Refused
from .scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Iterable

# A loop may be unrolled, so that its cost is only linear in whole turns: this many calls are some.
_TURN = 32


@dataclass(slots=True)
class Run:
    """A kernel's shared object and its name in it, the bytes that callgrind runs it on, and the folder of C sources."""

    path: str
    symbol: str
    data: bytes
    offset: int
    sources: Path
    jumps: frozenset[int] | None = field(init=False)

    def __post_init__(self) -> None:
        self.jumps = branch_addresses(
            _tool("objdump", "-d", "--no-show-raw-insn", self.path), platform.machine()
        )

    def counts(self, calls: int) -> Counts:
        """Instructions and branches of so many calls, with their loop. Refused, with the reason.

        Each call on the same bytes executes the same instructions, so that what two small numbers of calls differ in
        gives the total of a large one exactly. Both counts end in the same turn of the loop as the large one.
        """
        few = calls if calls <= 3 * _TURN else _TURN + calls % _TURN
        first = self.count(few)
        turns = (calls - few) // _TURN
        if turns == 0:
            return first
        per_turn = self.count(few + _TURN).minus(first)
        steps = ((getattr(first, name), getattr(per_turn, name)) for name in EVENTS)
        return Counts(*(None if a is None or b is None else a + turns * b for a, b in steps))

    def count(self, calls: int) -> Counts:
        """The same, every call of them executed."""
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
                *(
                    _driver(self.sources),
                    self.path,
                    self.symbol,
                    str(self.offset),
                    str(len(self.data)),
                    str(calls),
                ),
                given=self.data,
            )
            text = profile.read_text(encoding="utf-8", errors="replace")
        base = int(said.split()[0], 16)
        return profile_counts(text, self.path, base, self.jumps)


@cache
def _driver(sources: Path) -> str:
    """The program that callgrind looks at, compiled."""
    target = str(Path(scratch(), "callgrind_driver"))
    source = sources / "adapters" / "callgrind_driver.c"
    compiler, _ = as_built()
    _tool(*compiler, "-std=c11", "-O2", f"-I{sources}", str(source), "-o", target, "-ldl")
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
            f"{valgrind()} doesn't know an instruction of this kernel; it can't run AVX-512, for one"
        )
    if done.returncode != 0:
        last = (complaint.strip() or said.strip() or "it said nothing").splitlines()[-1]
        raise Refused(f"{name} ended with status {done.returncode}: {last}")
    return said


@cache
def valgrind() -> str:
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
