"""Follows the disassembly of a kernel through one call, with the length known: which instructions, which jumps taken.

It knows the general registers and the flags as far as they depend on the arguments alone, so it needs no CPU that has
the kernel's vectors: what was loaded from memory is unknown, and a jump that depends on it is an error.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LINE: Final = re.compile(
    r"^[ \t]*([0-9a-f]+):[ \t]+(?:(?:data16|cs|rex\.W|\{\w+\})[ \t]+)*(\S+)[ \t]*(.*?)(?:[ \t]*#.*)?$",
    re.MULTILINE,
)
ENTRY: Final = re.compile(r"^([0-9a-f]+) <cksum_(?:opaque|fn)_\w+>:$", re.MULTILINE)
MASK: Final = (1 << 64) - 1
BUFFER: Final = 0x7F00_0000_0000
MOST_STEPS: Final = 100_000

# Of two numbers, the second of which stands first in the text; inc, dec and a shift without a number take a 1.
ARITHMETIC: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "inc": operator.add,
    "dec": operator.sub,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}

FULL: Final = {
    **{
        f"{prefix}{name}": name
        for name in ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp")
        for prefix in "re"
    },
    **{name: name for name in ("ax", "bx", "cx", "dx")},
    **{f"{name}{half}": f"{name}x" for name in "abcd" for half in "lh"},
    **{f"{name}l": name for name in ("si", "di", "bp", "sp")},
    **{f"r{i}{width}": f"r{i}" for i in range(8, 16) for width in ("", "d", "w", "b")},
}


def width_of(register: str) -> int:
    """Bits of a general register, as it is named."""
    if register.endswith(("l", "h", "b")):
        return 8
    return (
        32 if register.startswith("e") or register.endswith("d") else 64 if register.startswith("r") else 16
    )


@dataclass(frozen=True)
class Walk:
    """One call: its instructions, and how many jumps were taken, the return not counted."""

    instructions: tuple[str, ...]
    taken: int


class Walker:
    """The state of one walk: registers that are known, and the last result that set the flags."""

    def __init__(self, disassembly: str) -> None:
        """Takes the disassembly of the kernel's section, as objdump prints it."""
        found = LINE.findall(disassembly)
        self.steps = {int(at, 16): (name, rest) for at, name, rest in found}
        places = sorted(self.steps)
        self.after = dict(pairwise(places))
        entry = ENTRY.search(disassembly)
        assert entry, "no entry of a kernel"
        self.entry = int(entry[1], 16)

    def call(self, length: int, address: int = BUFFER) -> Walk:
        """Walks through kernel(address, length, 0)."""
        self.known: dict[str, int] = {"di": address, "si": length, "dx": 0}
        self.flags: tuple[int, int, int] | None = None
        at, taken = self.entry, 0
        done: list[str] = []
        while len(done) < MOST_STEPS:
            name, rest = self.steps[at]
            done.append(f"{name} {rest}")
            if name.startswith("ret"):
                return Walk(tuple(done), taken)
            if name.startswith("j"):
                jumps = name == "jmp" or self.holds(name[1:], at)
                taken += jumps
                at = int(rest.split()[0], 16) if jumps else self.after[at]
                continue
            self.step(name, rest)
            at = self.after[at]
        raise AssertionError(f"no return within {MOST_STEPS} instructions at {length} bytes")

    def holds(self, condition: str, at: int) -> bool:
        """Whether the condition holds: of the last comparison a - b, or of a result and 0."""
        assert self.flags is not None, f"the jump at {at:#x} depends on what is in memory"
        a, b, bits = self.flags
        half = 1 << (bits - 1)
        signed = ((a + half) % (2 * half) - half, (b + half) % (2 * half) - half)
        result = (a - b) % (2 * half)
        return {
            "e": a == b,
            "ne": a != b,
            "b": a < b,
            "ae": a >= b,
            "be": a <= b,
            "a": a > b,
            "l": signed[0] < signed[1],
            "ge": signed[0] >= signed[1],
            "le": signed[0] <= signed[1],
            "g": signed[0] > signed[1],
            "s": result >= half,
            "ns": result < half,
        }[condition]

    def value(self, operand: str) -> int | None:
        """The value of an immediate or a register; None where it is not known, or lies in memory."""
        if operand.startswith("$"):
            return int(operand[1:], 0) & MASK
        if not operand.startswith("%") or operand[1:] not in FULL:
            return None
        known = self.known.get(FULL[operand[1:]])
        if known is None:
            return None
        return known >> 8 * operand.endswith("h") & ((1 << width_of(operand[1:])) - 1)

    def address(self, operand: str) -> int | None:
        """The address that an operand in memory stands for."""
        found = re.fullmatch(r"(-?0x[0-9a-f]+|)\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)", operand)
        if not found or found[2] == "%rip":
            return None
        parts = [self.value(found[2]) if found[2] else 0, self.value(found[3]) if found[3] else 0]
        if None in parts:
            return None
        base, index = (part or 0 for part in parts)
        return (base + index * int(found[4] or 1) + int(found[1] or "0", 0)) & MASK

    def write(self, operand: str, value: int | None) -> None:
        """Puts a value into a register."""
        register = operand.removeprefix("%")
        if register not in FULL:
            return
        bits, before = width_of(register), self.known.pop(FULL[register], None)
        if value is None or register.endswith("h"):
            return
        if bits >= 32:  # the upper half of the register is cleared
            self.known[FULL[register]] = value & ((1 << bits) - 1)
        elif before is not None:
            self.known[FULL[register]] = before >> bits << bits | value & ((1 << bits) - 1)

    def step(self, name: str, rest: str) -> None:
        """One instruction that is no jump."""
        operands = re.findall(r"[^,(]*\([^)]*\)|[^,\s]+", rest)
        if name.startswith(("v", "nop", "push", "k")) or not operands:
            return
        last = operands[-1]
        bits = width_of(last[1:]) if last[1:] in FULL else 64
        values = [self.value(operand) for operand in operands]
        stem = name if name in ("mul", "sub", "shl") else name.rstrip("bwlq")
        if stem in ("cmp", "test"):
            self.compare(stem, values, bits)
        elif stem in ("mov", "movabs") and len(operands) == 2:
            self.write(last, values[0])
        elif stem == "lea":
            self.write(last, self.address(operands[0]))
        elif stem in ("mov", "movzb", "movzw", "pop", "rorx", "shrx", "shlx", "bzhi") or stem.startswith(
            ("cmov", "set")
        ):
            self.write(last, None)
        elif stem == "mul" and len(operands) == 1:
            factors = [value for value in (self.value("%rax"), values[0]) if value is not None]
            product = factors[0] * factors[1] if len(factors) == 2 else None
            self.write("%rax", product)
            self.write("%rdx", None if product is None else product >> 64)
            self.flags = None
        elif stem in ARITHMETIC:
            second, first = [1, values[0]] if len(values) == 1 else values
            result = None if first is None or second is None else ARITHMETIC[stem](first, second)
            if stem in ("xor", "sub") and len(set(operands)) == 1:
                result = 0
            self.write(last, result)
            mask = (1 << bits) - 1
            if stem == "sub" and first is not None and second is not None:
                self.flags = first & mask, second & mask, bits
            else:
                self.flags = None if result is None else (result & mask, 0, bits)
        else:
            self.write(last, None)
            self.flags = None

    def compare(self, stem: str, values: list[int | None], bits: int) -> None:
        """A comparison: the flags, where both operands are known."""
        if values[0] is None or values[1] is None:
            self.flags = None
            return
        mask = (1 << bits) - 1
        first, second = values[1] & mask, values[0] & mask
        self.flags = (first, second, bits) if stem == "cmp" else (first & second, 0, bits)
