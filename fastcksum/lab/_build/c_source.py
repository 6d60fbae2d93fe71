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


def _functions(text: str) -> list[tuple[str, str, str]]:
    """(what stands before the name, name, parameters) of each function that C text defines."""
    found: list[tuple[str, str, str]] = _FUNCTION.findall(
        _ATTRIBUTE.sub(" ", outer_text(strip_comments(text)))
    )
    return found


def candidates(text: str) -> tuple[dict[str, LengthType], list[str]]:
    """Functions defined in C text: those that have the contract's signature as far as one can see, and the others.

    Of the first also the type of the length.
    """
    fit: dict[str, LengthType] = {}
    other: dict[str, None] = {}
    for returns, name, parameters in _functions(text):
        if _has_signature(returns, parameters):
            fit[name] = _length_type(parameters.split(",")[1])
        else:
            other[name] = None
    return fit, [name for name in other if name not in fit]


# What the start of a buffer may point to, const or not.
_BYTES = re.compile(
    r"(?:const\s+)?(?:void|char|unsigned char|u?int(?:8|16|32)_t|(?:__)?u(?:8|16|32)|unsigned (?:short|int))"
    r"(?:\s+const)?\s*\*\s*(?:const\s+|restrict\s+|__restrict\s+)*\w*"
)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function that a shim can call: (buffer, length) or (buffer, length, start value), with a number as result."""

    length: LengthType
    takes_start: bool


def adaptable(text: str) -> dict[str, Signature]:
    """Functions defined in C text whose signature a shim can call: the contract's, or another one."""
    found: dict[str, Signature] = {}
    for returns, name, parameters in _functions(text):
        first, *rest = [part.strip() for part in parameters.split(",")]
        if (
            len(rest) in {1, 2}
            and _BYTES.fullmatch(re.sub(r"\s+", " ", first))
            and not any("*" in part or "[" in part for part in rest)
            and "*" not in returns
            and re.search(
                r"\w", re.sub(r"\b(?:static|inline|extern|__inline|__always_inline)\b", "", returns)
            )
            and not re.search(r"\b(?:void|float|double|bool)\b", returns)
        ):
            found[name] = Signature(_length_type(rest[0]), takes_start=len(rest) == 2)
    return found


_HALF = re.compile(r"\b(?:u?int16_t|(?:__)?[us]16|short|__sum16|__be16)\b")


def _has_signature(returns: str, parameters: str) -> bool:
    """Whether a function returns a number and takes a const void pointer and two numbers; the rest is checked."""
    parts = parameters.split(",")
    if len(parts) != 3 or "*" in returns or re.search(r"\bvoid\b", returns) or _HALF.search(returns):
        return False
    first, *rest = parts
    pointer = first.count("*") == 1 and re.search(r"\bvoid\b", first) and re.search(r"\bconst\b", first)
    return bool(pointer) and not any("*" in part or "[" in part for part in rest)


# What a source uses without saying where it comes from

_STDINT = "#include <stdint.h>"


def _inline(head: str, value: str) -> str:
    return f"static inline __attribute__((unused)) {head} {{ return {value}; }}"


# A word that may end in a page that isn't there: what lies behind the page's end reads as 0.
_LOAD_ZEROPAD = _inline(
    "unsigned long load_unaligned_zeropad(const void *at)",
    "((__UINTPTR_TYPE__)at & 4095) <= 4088 ? ({ unsigned long word; __builtin_memcpy(&word, at, 8); word; }) : "
    "*(const unsigned long __attribute__((may_alias)) *)((__UINTPTR_TYPE__)at & -8ul) "
    ">> 8 * ((__UINTPTR_TYPE__)at & 7)",
)
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
    **{name: f"#define {name}(name)" for name in ("EXPORT_SYMBOL", "EXPORT_SYMBOL_GPL")},
    "__always_inline": "#define __always_inline inline __attribute__((always_inline))",
    "__user": "#define __user",
    "__rte_always_inline": "#define __rte_always_inline inline __attribute__((always_inline))",
    "__LITTLE_ENDIAN": "#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__\n#define __LITTLE_ENDIAN 1234\n#endif",
    "__BIG_ENDIAN": "#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n#define __BIG_ENDIAN 4321\n#endif",
    "RTE_PTR_ADD": "#define RTE_PTR_ADD(pointer, bytes) ((void *)((__UINTPTR_TYPE__)(pointer) + (bytes)))",
    "RTE_ALIGN_FLOOR": "#define RTE_ALIGN_FLOOR(value, to) ((__typeof__(value))((value) - (value) % (to)))",
    **{f"rte_bswap{bits}": f"#define rte_bswap{bits} __builtin_bswap{bits}" for bits in (16, 32, 64)},
    "ror64": _inline(
        "unsigned long long ror64(unsigned long long x, unsigned by)", "x >> (by & 63) | x << (-by & 63)"
    ),
    "ror32": _inline("unsigned ror32(unsigned x, unsigned by)", "x >> (by & 31) | x << (-by & 31)"),
    "add32_with_carry": _inline(
        "unsigned add32_with_carry(unsigned a, unsigned b)", "(unsigned)(a + b) + ((unsigned)(a + b) < a)"
    ),
    "add64_with_carry": _inline(
        "unsigned long long add64_with_carry(unsigned long long a, unsigned long long b)",
        "a + b + (a + b < a)",
    ),
    "from32to16": _inline(
        "unsigned short from32to16(unsigned x)",
        "(unsigned short)((x >> 16) + x + (((x >> 16) + (x & 0xffff)) >> 16))",
    ),
    "csum_fold": _inline(
        "unsigned short csum_fold(unsigned x)",
        "(unsigned short)~((x >> 16) + x + (((x >> 16) + (x & 0xffff)) >> 16))",
    ),
    "get_unaligned": "#define get_unaligned(at) "
    "(((const struct { __typeof__(*(at)) value; } __attribute__((packed, may_alias)) *)(at))->value)",
    "load_unaligned_zeropad": _LOAD_ZEROPAD,
    **{
        f"unaligned_uint{bits}_t": f"typedef __UINT{bits}_TYPE__ unaligned_uint{bits}_t "
        "__attribute__((may_alias, aligned(1)));"
        for bits in (16, 32, 64)
    },
}


# Headers of the kernel's and of DPDK's, which a user does not have; what they define is supplied by name.
_THEIRS = re.compile(r"(?:(?:linux|asm|asm-generic|net|uapi|vdso)/[\w./-]+|rte_\w+)\.h")
_NOT_FOUND = re.compile(r"fatal error: '?([^':\n]+)'?(?:: No such file| file not found)")


def missing_header(complaint: str) -> str | None:
    """The header of theirs that a compiler says it can't find, or None."""
    found = _NOT_FOUND.search(complaint)
    return found[1] if found and _THEIRS.fullmatch(found[1]) else None


def names_to_supply(text: str) -> list[str]:
    """The names in preprocessed C text that may have to be supplied."""
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
