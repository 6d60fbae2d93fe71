"""The C unit with one kernel in it: the source of an author, and the call loops instantiated behind it."""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fastcksum.lab._machine.compilers import CompileError

from .c_source import SIZE_T, LengthType, Signature, adaptable, candidates, own_kernels

SIGNATURE = "uint32_t f(const void *buf, size_t len, uint32_t sum)"
# What a result of another signature means, and the C of `result` that makes a raw sum of it; the same makes of a start
# value what the function takes.
MEANINGS: Final = {
    "the raw sum": "result",
    "the complement of the sum": "(__UINT16_TYPE__)~result",
    "the sum in the other byte order": "__builtin_bswap16((__UINT16_TYPE__)result)",
    "the complement of the sum in the other byte order": "(__UINT16_TYPE__)~__builtin_bswap16((__UINT16_TYPE__)result)",
}


def kernel_source(name: str) -> Path:
    """The C source of a kernel that the package ships, from an installed package and from a checkout alike.

    ValueError that lists the names if there is none of this name.
    """
    files = {
        path.stem: path for path in sorted((source_root() / "kernels").rglob("*.c")) if _shipped_ids(path)
    }
    try:
        return files[name]
    except KeyError:
        raise ValueError(f"kernel '{name}' has no source here; there are: {', '.join(files)}") from None


def source_root() -> Path:
    """The folder of the C sources: inside the installed package, or beside the package in a checkout."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_csrc", package.parent / "csrc"):
        if (folder / "kernels" / "kernel.h").is_file():
            return folder
    raise CompileError(f"the C sources are missing beside {package}: install fastcksum again, with pip")


def meanings(text: str, symbol: str | None) -> tuple[str | None, ...]:
    """What a function's result may mean, in the order in which it is tried; None: the contract's function itself."""
    fit, near = candidates(text)[0], adaptable(text)
    names = [symbol] if symbol else list(fit or near)
    if own_kernels(text) or len(names) != 1 or names[0] not in near:
        return (None,)
    return (None, *tuple(MEANINGS)[1:]) if names[0] in fit else tuple(MEANINGS)


def _pick(text: str, symbol: str | None, what: str) -> tuple[str, bool]:
    """(name, whether it is a kernel file of ours) of the function to compile."""
    own = own_kernels(text)
    fit, other = candidates(text)
    if symbol is not None:
        if not symbol.isascii() or not symbol.isidentifier():
            raise ValueError(f"symbol must be the name of a C function, not {symbol!r}")
        return symbol, symbol in own
    qualified = own or list(fit or adaptable(text))
    if len(qualified) == 1:
        return qualified[0], bool(own)
    if qualified:
        raise ValueError(
            f"{what} has several functions that qualify: {', '.join(qualified)}; name one: symbol="
        )
    found = f"; it defines {', '.join(other)}" if other else ""
    hint = ""
    if not other and len(text) < 4096 and "\n" not in text and Path(text).is_file():
        hint = f" (a str is C text: for a file pass pathlib.Path({text!r}))"
    raise ValueError(
        f"{what} defines no function {SIGNATURE}, nor one of a buffer and its length{found}{hint}; if a macro makes "
        "it, name it: symbol="
    )


@dataclass(frozen=True, slots=True)
class Unit:
    """A C unit with one kernel in it.

    kernel_id names its descriptor, symbol the function that was asked for, function the one whose assembly is of
    interest, label what people call it, meaning what a shim takes its result for.
    """

    text: str
    kernel_id: str
    symbol: str
    function: str
    label: str
    meaning: str | None


def make_unit(
    source: Path | str,
    text: str,
    *,
    symbol: str | None,
    min_len: int,
    max_len: int | None,
    inline_length: int | None,
    meaning: str | None,
    built_by: str,
) -> Unit:
    """The unit for a source. ValueError if it isn't clear what to compile.

    meaning: of the result, one of MEANINGS, for a shim to undo; None: the function is the kernel.
    """
    what = source.name if isinstance(source, Path) else "the text"
    name, is_own = _pick(text, symbol, what)
    function = f"cksum_fn_{name}" if is_own else name
    if is_own and max_len is not None:
        raise ValueError(f"max_len is for plain functions: {what} says itself how long a buffer may be")
    length_type = SIZE_T if is_own else candidates(text)[0].get(name, SIZE_T)
    longest = _longest(max_len, length_type)
    origin = f"{what}, compiled here by {built_by}"
    include = [f"#include {_include_name(source)}", '#include "kernels/kernel.h"']
    shortest = _check_length("min_len", min_len)
    if shortest and (is_own or inline_length is not None):
        raise ValueError(f"min_len is for plain functions, not for {what}")
    if inline_length is not None:
        length = _check_length("inline_length", inline_length)
        kernel_id, label = f"{name}_{length}", f"{name} inlined at {length}"
        summary = f"{name} of {what}, inlined into a caller that knows the length, {length} bytes"
        if longest is not None and length > longest:
            raise ValueError(
                f"inline_length must be at most {longest}, the longest that {name} takes, not {length}"
            )
        lines = [
            *include,
            *_opening(kernel_id, SIZE_T),
            *_inlining(kernel_id, function, length),
            *_closing(kernel_id, SIZE_T, summary=summary, origin=origin, shortest=length, longest=length),
        ]
        function = kernel_id
    elif is_own:
        kernel_id, label, lines = name, name, include
    elif meaning is not None:
        signature = adaptable(text)[name]
        kernel_id, label = f"{name}_adapted", name
        function = kernel_id
        origin += f"; called by a shim that takes its result for {meaning}"
        lines = [
            *include,
            *_opening(kernel_id, SIZE_T),
            *_adapting(kernel_id, name, signature, meaning),
            *_closing(
                kernel_id,
                SIZE_T,
                summary=f"{name} of {what}",
                origin=origin,
                shortest=shortest,
                longest=_longest(max_len, signature.length),
            ),
        ]
    else:
        kernel_id, label = name, name
        summary = f"{name} of {what}"
        lines = [
            *_opening(name, length_type),
            *include,
            *_closing(name, length_type, summary=summary, origin=origin, shortest=shortest, longest=longest),
        ]
    visible = '#define CKSUM_KERNEL_VISIBILITY __attribute__((visibility("default")))'
    return Unit("\n".join([visible, *lines, ""]), kernel_id, name, function, label, meaning)


def _longest(max_len: int | None, length_type: LengthType) -> int | None:
    """The longest buffer: the one that was given, or what the type of the length holds. None: any."""
    if max_len is None:
        return length_type.largest
    longest = _check_length("max_len", max_len)
    if length_type.largest is not None and longest > length_type.largest:
        raise ValueError(
            f"max_len must be at most {length_type.largest}, what the length's type ({length_type.words}) holds, "
            f"not {longest}"
        )
    return longest


def _inlining(function: str, called: str, length: int) -> list[str]:
    """A caller that knows the length; flatten has everything inlined that can be."""
    return [
        f"__attribute__((flatten)) static uint32_t {function}(const void *buf, size_t len, uint32_t sum)",
        "{",
        "    (void)len;",
        f"    return {called}(buf, {length}u, sum);",
        "}",
    ]


def _adapting(function: str, called: str, signature: Signature, meaning: str) -> list[str]:
    """A function of the contract's signature that undoes what another one makes of a sum; flatten inlines that one."""
    undone = MEANINGS[meaning]
    start = [f"    const __UINT32_TYPE__ start = {undone.replace('result', 'folded')};"]
    lines = [f"    const __UINT32_TYPE__ result = (__UINT32_TYPE__){called}((void *)buf, len);"]
    if signature.takes_start:
        lines = [
            *start,
            f"    const __UINT32_TYPE__ result = (__UINT32_TYPE__){called}((void *)buf, len, start);",
        ]
    parameters = "const void *buf, __SIZE_TYPE__ len, __UINT32_TYPE__ sum"
    return [
        f"__attribute__((flatten)) static __UINT32_TYPE__ {function}({parameters})",
        "{",
        "    const __UINT32_TYPE__ high = (sum >> 16) + (sum & 0xffff), folded = (high >> 16) + (high & 0xffff);",
        *lines,
        f"    const __UINT32_TYPE__ raw = {undone};",
        "    (void)folded;",
        *(
            ["    return raw;"]
            if signature.takes_start
            else ["    const __UINT32_TYPE__ total = raw + folded;", "    return total + (total < raw);"]
        ),
        "}",
    ]


def _opening(function: str, length_type: LengthType) -> list[str]:
    """Declares the function before its source does, which gives its code a section of its own.

    A later definition without `static` stays static after it (C11 6.2.2), so either kind of source will do.
    """
    return [
        f"static __UINT32_TYPE__ {function}(const void *, {length_type.words}, __UINT32_TYPE__)",
        f'    __attribute__((used, section("cksum_code_{function}")));',
    ]


def _closing(
    function: str,
    length_type: LengthType,
    *,
    summary: str,
    origin: str,
    shortest: int = 0,
    longest: int | None,
) -> list[str]:
    """Instantiates the call loops and the descriptor.

    A function with another type of length is called through a second name that has the contract's: a size_t that an int
    holds is passed in the same register, and the function looks at the part of it that is its own.
    """
    called, second_name = function, []
    if length_type != SIZE_T:
        called = f"cksum_opaque_as_size_t_{function}"
        second_name = [f"CKSUM_OPAQUE_NAME(as_size_t_{function}, {function})"]
    bounds = f"__start_cksum_code_{function}, __stop_cksum_code_{function}"
    lengths = f".min_len = {shortest}u, .max_len = {'SIZE_MAX' if longest is None else f'{longest}u'}"
    texts = f".summary = {_c_string(summary)}, .origin = {_c_string(origin)}"
    return [
        f"extern const unsigned char __start_cksum_code_{function}[] CKSUM_HIDDEN;",
        f"extern const unsigned char __stop_cksum_code_{function}[] CKSUM_HIDDEN;",
        *second_name,
        f"CKSUM_KERNEL_WITH_CODE({function}, {called}, {bounds}, .role = CKSUM_PEER, {lengths}, {texts})",
    ]


def _include_name(source: Path | str) -> str:
    """What stands behind #include: the file, or the copy of the text beside the unit."""
    path = str(source.resolve()) if isinstance(source, Path) else "source.c"
    if '"' in path or "\n" in path:
        raise ValueError(f"C can't include a file whose name holds a quote or a line end: {path!r}")
    return f'"{path}"'


def _c_string(text: str) -> str:
    """The text as a C string literal: JSON's escapes for printable ASCII are C's."""
    return json.dumps("".join(char if char.isascii() and char.isprintable() else "?" for char in text))


def _check_length(what: str, length: int) -> int:
    value = operator.index(length)
    if not 0 <= value < 2**63:
        raise ValueError(f"{what} must be a number of bytes, 0 to 2**63 - 1, not {value}")
    return value


def _shipped_ids(path: Path) -> list[str]:
    return own_kernels(path.read_text())
