"""What there is in a C source: the functions that can be kernels, and what it uses without defining it.

Read by patterns, not parsed: macros may hide anything, and the compiler has the last word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[[^\]]*\]\]")
_FUNCTION = re.compile(r"([\w\s*]*?)\b(\w+)\s*\(([^(){};]*)\)\s*\{\}")
_OWN_KERNEL = re.compile(r"^[ \t]*CKSUM_KERNEL(?:_WITH_CODE)?\s*\(\s*(\w+)", re.MULTILINE)


def strip_comments(text: str) -> str:
    """C text without comments and directives, with empty strings and character constants."""
    code = _NOT_CODE.sub(lambda found: " " if found[0].startswith("/") else found[0][0] * 2, text)
    return _DIRECTIVE.sub("", code)


def outer_text(code: str) -> str:
    """What stands outside of all braces; each body is left as {}."""
    depth, out = 0, []
    for char in code:
        if char == "}":
            depth = max(depth - 1, 0)
        if depth == 0:
            out.append(char)
        if char == "{":
            depth += 1
    return "".join(out)


def own_kernels(text: str) -> list[str]:
    """The kernels that the text instantiates itself, by CKSUM_KERNEL."""
    return list(dict.fromkeys(_OWN_KERNEL.findall(strip_comments(text))))


@dataclass(frozen=True, slots=True)
class LengthType:
    """The type of a function's length, in words that need no header, and the largest value that it holds."""

    words: str
    largest: int | None = None


SIZE_T = LengthType("__SIZE_TYPE__")
_INT = LengthType("int", 2**31 - 1)
_UNSIGNED = LengthType("unsigned int", 2**32 - 1)
_UINT16 = LengthType("unsigned short", 2**16 - 1)
_LENGTH_TYPES = {
    "int": _INT,
    "signed int": _INT,
    "signed": _INT,
    "int32_t": _INT,
    "unsigned int": _UNSIGNED,
    "unsigned": _UNSIGNED,
    "uint32_t": _UNSIGNED,
    "u32": _UNSIGNED,
    "__u32": _UNSIGNED,
    "unsigned short": _UINT16,
    "uint16_t": _UINT16,
    "u16": _UINT16,
    "__u16": _UINT16,
    "long": LengthType("long", 2**63 - 1),
    "ssize_t": LengthType("long", 2**63 - 1),
    "unsigned long long": LengthType("unsigned long long"),
    "u64": LengthType("unsigned long long"),
}


def _length_type(parameter: str) -> LengthType:
    """The type of a parameter such as `int len`. One that isn't known is taken for size_t: the compiler judges."""
    words = [word for word in parameter.split() if word not in {"const", "register"}]
    for given in (words, words[:-1]):  # without a name, with one
        if " ".join(given) in _LENGTH_TYPES:
            return _LENGTH_TYPES[" ".join(given)]
    return SIZE_T


def candidates(text: str) -> tuple[dict[str, LengthType], list[str]]:
    """Functions defined in C text: those that have the contract's signature as far as one can see, and the others.

    Of the first also the type of the length.
    """
    fit: dict[str, LengthType] = {}
    other: dict[str, None] = {}
    for returns, name, parameters in _FUNCTION.findall(_ATTRIBUTE.sub(" ", outer_text(strip_comments(text)))):
        if _has_signature(returns, parameters):
            fit[name] = _length_type(parameters.split(",")[1])
        else:
            other[name] = None
    return fit, [name for name in other if name not in fit]


def _has_signature(returns: str, parameters: str) -> bool:
    """Whether a function returns a number and takes a const void pointer and two numbers; the rest is checked."""
    parts = parameters.split(",")
    if len(parts) != 3 or "*" in returns or re.search(r"\bvoid\b", returns):
        return False
    first, *rest = parts
    pointer = first.count("*") == 1 and re.search(r"\bvoid\b", first) and re.search(r"\bconst\b", first)
    return bool(pointer) and not any("*" in part or "[" in part for part in rest)


# What a source uses without saying where it comes from

_STDINT = "#include <stdint.h>"
# Name -> the line that supplies it. The types and macros are those of the Linux kernel and of DPDK.
_SUPPLIES = {
    **dict.fromkeys(("uint8_t", "uint16_t", "uint32_t", "uint64_t", "uintptr_t"), _STDINT),
    "size_t": "#include <stddef.h>",
    "bool": "#include <stdbool.h>",
    "memcpy": "#include <string.h>",
    **{
        f"{prefix}u{bits}": f"typedef __UINT{bits}_TYPE__ {prefix}u{bits};"
        for prefix in ("", "__")
        for bits in (8, 16, 32)
    },
    **{f"{prefix}u64": f"typedef unsigned long long {prefix}u64;" for prefix in ("", "__")},
    "__wsum": "typedef __UINT32_TYPE__ __wsum;",
    "__sum16": "typedef __UINT16_TYPE__ __sum16;",
    "__force": "#define __force",
    "likely": "#define likely(condition) __builtin_expect(!!(condition), 1)",
    "unlikely": "#define unlikely(condition) __builtin_expect(!!(condition), 0)",
    "EXPORT_SYMBOL": "#define EXPORT_SYMBOL(name)",
    **{
        f"unaligned_uint{bits}_t": f"typedef __UINT{bits}_TYPE__ unaligned_uint{bits}_t "
        "__attribute__((may_alias, aligned(1)));"
        for bits in (16, 32, 64)
    },
}


def names_to_supply(text: str) -> list[str]:
    """The names in C text that may have to be supplied."""
    used = set(re.findall(r"\w+", strip_comments(text)))
    return [name for name in _SUPPLIES if name in used]


def supplies(names: Iterable[str], preprocessed: str) -> str:
    """The lines that supply those of the names that a preprocessed source (cc -E -dD) neither defines nor includes."""
    return "".join(
        f"{line}\n"
        for line in dict.fromkeys(_SUPPLIES[name] for name in names if not _defines(preprocessed, name))
    )


def _defines(preprocessed: str, name: str) -> bool:
    """Whether there is a macro, a type or a library function of this name."""
    macro = rf"^[ \t]*#[ \t]*define[ \t]+{name}\b"
    typedef = rf"\btypedef\b[^;]*\b{name}\s*(?:__attribute__[^;]*)?;"
    library = rf"\bextern\b[^;{{}}]*\*\s*{name}\s*\("
    return re.search(f"{macro}|{typedef}|{library}", preprocessed, re.MULTILINE) is not None
