"""Reads a compiler's assembly: is the main loop of a function vectorised, and how wide."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTION = re.compile(r"^\s*\.type\s+([\w.$]+)\s*,\s*[@%]function", re.MULTILINE)
_LABEL = re.compile(r"^([\w.$]+):")
_SIZE = re.compile(r"^\s*\.size\s+([\w.$]+)\s*,")
_JUMP = re.compile(r"^\s*(?:j\w+|loop\w*|b|b\.\w+|cbn?z|tbn?z)\s+(?:[^#;]*,\s*)?([\w.$]+)\s*(?:[#;/].*)?$")
_GO = re.compile(r"^\s*(?:j\w+|call\w*|bl?)\s+([\w.$]+)")
# Additions of packed integers: what the main loop of a vectorised sum must have.
_X86_ADD = re.compile(r"^\s*v?p(?:h?add|sad|madd|dp)\w*\s.*?\b([xyz])mm\d")
_X86_WIDE = re.compile(r"\b([xyz])mm\d")
_ARM_ADD = re.compile(r"^\s*(?:[us]?(?:add|adal|addl|addw)\w*|[us]dot)\s+v\d+\.\d+[bhsd]")
_WIDTH = {"x": 128, "y": 256, "z": 512}


def functions_of(assembly: str) -> dict[str, list[str]]:
    """The lines of each function, by its name."""
    names = set(_FUNCTION.findall(assembly))
    functions: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in assembly.splitlines():
        label, size = _LABEL.match(line), _SIZE.match(line)
        if label and label[1] in names:
            current = functions.setdefault(label[1], [])
        if size and size[1] in names:
            current = None
        if current is not None:
            current.append(line)
    return functions


def reached_from(functions: dict[str, list[str]], name: str) -> list[str]:
    """The functions that `name` calls or jumps to, itself first; those of the same file only."""
    reached = [name] if name in functions else []
    for each in reached:
        targets = (found[1] for line in functions[each] if (found := _GO.match(line)))
        reached += [
            target for target in dict.fromkeys(targets) if target in functions and target not in reached
        ]
    return reached


def loops_of(lines: list[str]) -> Iterator[list[str]]:
    """The lines from a label to each jump back to it."""
    labels = {found[1]: at for at, line in enumerate(lines) if (found := _LABEL.match(line))}
    for at, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump and labels.get(jump[1], at + 1) <= at:
            yield lines[labels[jump[1]] : at + 1]


def added_bits(line: str) -> int:
    """Width of the packed integer addition on this line; 0 where there is none."""
    if _X86_ADD.match(line):
        return max(_WIDTH[letter] for letter in _X86_WIDE.findall(line))
    return 128 if _ARM_ADD.match(line) else 0


def vector_bits(assembly: str, name: str) -> int | None:
    """Width in bits of the packed additions in the widest loop of function `name` and of those it calls.

    0 if no loop adds packed integers; None if the assembly holds no such function (link-time optimisation leaves
    none).
    """
    functions = functions_of(assembly)
    reached = reached_from(functions, name)
    if not reached:
        return None
    loops = (loop for each in reached for loop in loops_of(functions[each]))
    return max((added_bits(line) for loop in loops for line in loop), default=0)


def text_of(assembly: str, name: str) -> str:
    """The assembly of function `name` and of those it calls."""
    functions = functions_of(assembly)
    return "\n".join(line for each in reached_from(functions, name) for line in functions[each])


_LISTED_FUNCTION = re.compile(r"^[0-9a-f]+ <([\w.$]+)>:$")
_LISTED_LINE = re.compile(r"^\s*([0-9a-f]+):\t(\S.*)$")
_LISTED_TARGET = re.compile(r"\b([0-9a-f]+) <([\w.$]+)(\+0x[0-9a-f]+)?>")


def from_objdump(listing: str) -> str:
    """What objdump lists of linked code (--disassemble --no-show-raw-insn) as assembly: labels, not addresses."""
    inside = {found[1] for found in _LISTED_TARGET.finditer(listing) if found[3]}
    out: list[str] = []
    end: list[str] = []
    for line in listing.splitlines():
        if function := _LISTED_FUNCTION.match(line):
            name = function[1]
            out += [*end, f"\t.type\t{name}, @function", f"{name}:"]
            end = [f"\t.size\t{name}, .-{name}"]
        elif instruction := _LISTED_LINE.match(line):
            address, text = instruction.groups()
            text = _LISTED_TARGET.sub(
                lambda to: f".L{to[1]}" if to[3] else to[2], text.split("#")[0].rstrip()
            )
            out += [*([f".L{address}:"] if address in inside else []), f"\t{text}"]
    return "\n".join([*out, *end, ""])
