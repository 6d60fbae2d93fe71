"""Any C function of the contract's signature, compiled by any compiler, checked, and usable as a kernel.

One unit is made that includes the source and instantiates the call loops behind it, in the same file: the bench calls
a foreign function exactly as it calls a built-in kernel. The object is tried in a process of its own first, so that a
function that crashes or hangs takes nothing with it; only what gave right sums there is loaded here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcksum import _core
from fastcksum._kernel import Kernel, from_description

from . import _assembly

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNATURE = "uint32_t f(const void *buf, size_t len, uint32_t sum)"
# The trial of an unoptimised byte loop takes about 2 s of CPU time; the wall clock only ends what sleeps.
CPU_SECONDS = 60
WALL_SECONDS = 600


class CompileError(ValueError):
    """The compiler is missing, or refused the source; the message holds its own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel(Kernel):
    """A Kernel made by compile_kernel(). Its name says compiler and flags: `f [gcc 12.2.0 -O3]`.

    registers and vector_bits are what the compiler made of the main loop, not what the source says.

    symbol      the function's name in the source
    compiler    the compiler's own name and version
    command     the command that built the shared object
    vectorised  whether a loop of it adds packed integers; None where the assembly doesn't show it
    assembly    the compiler's assembly of the function and of those it calls
    """

    symbol: str
    compiler: str
    command: tuple[str, ...]
    vectorised: bool | None
    assembly: str = field(repr=False, compare=False)
    built: _Built = field(repr=False, compare=False)

    @property
    def kernel_id(self) -> str:
        """What its descriptor is called in the shared object."""
        return self.built.kernel_id

    @property
    def library(self) -> Path:
        """The shared object; it is removed when Python ends."""
        return self.built.path


def compile_kernel(
    source: Path | str,
    compiler: str | Sequence[str] = "gcc",
    flags: Sequence[str] = ("-O3",),
    *,
    symbol: str | None = None,
    max_len: int | None = None,
    inline_length: int | None = None,
) -> CompiledKernel:
    """Compiles a function of the contract's signature, checks it against the reference, and loads it.

    source: a Path is a file, a str is C text: either one of the package's kernels (see kernel_source) or anything with
    a function uint32_t f(const void *buf, size_t len, uint32_t sum), static or not. symbol: its name, needed where
    several qualify. compiler: a name on the PATH, or a command as a sequence. max_len: the longest buffer, in bytes,
    for which the sum is right; None for any. inline_length: the function as a caller has it that knows the length and
    inlines it; the kernel is then made for that length only.

    CompileError (a ValueError) if the compiler is missing or refuses, in its words. ValueError if no function or
    several qualify, and if the function crashes, hangs or gives a wrong sum: with length, offset, got and expected.
    """
    command = (compiler,) if isinstance(compiler, str) else tuple(compiler)
    flags = _check_flags(flags)
    version = compiler_version(command)
    text = source.read_text(errors="surrogateescape") if isinstance(source, Path) else source
    unit = _make_unit(
        source,
        text,
        symbol=symbol,
        max_len=max_len,
        inline_length=inline_length,
        built_by=f"{version} {' '.join(flags)}",
    )
    built = _build(unit, text, command, flags)
    if built.key not in _finished:
        _try(built.path, unit)
        _finished[built.key] = _load(built, unit, version, flags)
    return _finished[built.key]


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
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_csrc", package.parent / "csrc"):
        if (folder / "kernels" / "kernel.h").is_file():
            return folder
    raise CompileError(f"the C sources are missing beside {package}: install fastcksum again, with pip")


# Reading the source

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


def candidates(text: str) -> tuple[list[str], list[str]]:
    """Functions defined in C text: those that have the contract's signature as far as one can see, and the others."""
    fit: dict[str, None] = {}
    other: dict[str, None] = {}
    for returns, name, parameters in _FUNCTION.findall(_ATTRIBUTE.sub(" ", outer_text(strip_comments(text)))):
        (fit if _has_signature(returns, parameters) else other)[name] = None
    return list(fit), [name for name in other if name not in fit]


def _has_signature(returns: str, parameters: str) -> bool:
    """Whether a function returns a number and takes a const void pointer and two numbers. The compiler knows the rest."""
    parts = parameters.split(",")
    if len(parts) != 3 or "*" in returns or re.search(r"\bvoid\b", returns):
        return False
    first, *rest = parts
    pointer = first.count("*") == 1 and re.search(r"\bvoid\b", first) and re.search(r"\bconst\b", first)
    return bool(pointer) and not any("*" in part or "[" in part for part in rest)


def _pick(text: str, symbol: str | None, what: str) -> tuple[str, bool]:
    """(name, whether it is a kernel file of ours) of the function to compile."""
    own = own_kernels(text)
    fit, other = candidates(text)
    if symbol is not None:
        if not symbol.isascii() or not symbol.isidentifier():
            raise ValueError(f"symbol must be the name of a C function, not {symbol!r}")
        return symbol, symbol in own
    qualified = own or fit
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
        f"{what} defines no function {SIGNATURE}{found}{hint}; if a macro makes it, name it: symbol="
    )


# The unit that is compiled


@dataclass(frozen=True, slots=True)
class _Unit:
    """A C unit with one kernel in it.

    kernel_id names its descriptor, symbol the function that was asked for, function the one whose assembly is of
    interest, label what people call it.
    """

    text: str
    kernel_id: str
    symbol: str
    function: str
    label: str


def _make_unit(
    source: Path | str,
    text: str,
    *,
    symbol: str | None,
    max_len: int | None,
    inline_length: int | None,
    built_by: str,
) -> _Unit:
    """The unit for a source. ValueError if it isn't clear what to compile."""
    what = source.name if isinstance(source, Path) else "the text"
    name, is_own = _pick(text, symbol, what)
    function = f"cksum_fn_{name}" if is_own else name
    if is_own and max_len is not None:
        raise ValueError(f"max_len is for plain functions: {what} says itself how long a buffer may be")
    longest = None if max_len is None else _check_length("max_len", max_len)
    origin = f"{what}, compiled here by {built_by}"
    include = [f"#include {_include_name(source)}", '#include "kernels/kernel.h"']
    if inline_length is not None:
        length = _check_length("inline_length", inline_length)
        kernel_id, label = f"{name}_{length}", f"{name} inlined at {length}"
        summary = f"{name} of {what}, inlined into a caller that knows the length, {length} bytes"
        lines = [
            *include,
            *_opening(kernel_id),
            *_inlining(kernel_id, function, length),
            *_closing(kernel_id, summary, origin, length, length),
        ]
        function = kernel_id
    elif is_own:
        kernel_id, label, lines = name, name, include
    else:
        kernel_id, label = name, name
        lines = [*_opening(name), *include, *_closing(name, f"{name} of {what}", origin, 0, longest)]
    visible = '#define CKSUM_KERNEL_VISIBILITY __attribute__((visibility("default")))'
    return _Unit("\n".join([visible, *lines, ""]), kernel_id, name, function, label)


def _inlining(function: str, called: str, length: int) -> list[str]:
    """A caller that knows the length; flatten has everything inlined that can be."""
    return [
        f"__attribute__((flatten)) static uint32_t {function}(const void *buf, size_t len, uint32_t sum)",
        "{",
        "    (void)len;",
        f"    return {called}(buf, {length}u, sum);",
        "}",
    ]


def _opening(function: str) -> list[str]:
    """Declares the function before its source does, which gives its code a section of its own.

    A later definition without `static` stays static after it (C11 6.2.2), so either kind of source will do.
    """
    return [
        f"static __UINT32_TYPE__ {function}(const void *, __SIZE_TYPE__, __UINT32_TYPE__)",
        f'    __attribute__((used, section("cksum_code_{function}")));',
    ]


def _closing(function: str, summary: str, origin: str, shortest: int, longest: int | None) -> list[str]:
    """Instantiates the call loops and the descriptor."""
    bounds = f"__start_cksum_code_{function}, __stop_cksum_code_{function}"
    lengths = f".min_len = {shortest}u, .max_len = {'SIZE_MAX' if longest is None else f'{longest}u'}"
    texts = f".summary = {_c_string(summary)}, .origin = {_c_string(origin)}"
    return [
        f"extern const unsigned char __start_cksum_code_{function}[] CKSUM_HIDDEN;",
        f"extern const unsigned char __stop_cksum_code_{function}[] CKSUM_HIDDEN;",
        f"CKSUM_KERNEL_WITH_CODE({function}, {function}, {bounds}, .role = CKSUM_PEER, {lengths}, {texts})",
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


def _check_flags(flags: Sequence[str]) -> tuple[str, ...]:
    if isinstance(flags, str):
        raise TypeError(f"flags must be a sequence of options, not one str: {tuple(shlex.split(flags))!r}")
    return tuple(flags)


def _shipped_ids(path: Path) -> list[str]:
    return own_kernels(path.read_text())


# Compiling


@dataclass(frozen=True, slots=True)
class _Built:
    """A shared object, the command that made it, the assembly of the same unit, and what tells it from others.

    kernel_id names the descriptor and the section that holds the kernel's code; compile_object makes unit.o in the same
    folder, link makes a shared object of it.
    """

    path: Path
    kernel_id: str
    command: tuple[str, ...]
    compile_object: tuple[str, ...]
    link: tuple[str, ...]
    assembly: str
    key: tuple[str, ...]


_finished: dict[tuple[str, ...], CompiledKernel] = {}
_numbers = count()


@cache
def _workspace() -> tempfile.TemporaryDirectory[str]:
    """The folder of everything that is compiled; it is removed when Python ends."""
    return tempfile.TemporaryDirectory(prefix="fastcksum-")


def _build(unit: _Unit, text: str, compiler: tuple[str, ...], flags: tuple[str, ...]) -> _Built:
    """Compiles the unit twice: to assembly, and to a shared object. CompileError in the compiler's words."""
    folder = Path(_workspace().name, str(next(_numbers)))
    folder.mkdir()
    (folder / "unit.c").write_text(unit.text)
    (folder / "source.c").write_text(text, errors="surrogateescape")
    options = (*flags, "-fPIC", "-fvisibility=hidden", "-I", str(source_root()))
    command = (*compiler, *options, "-shared", "-o", "kernel.so", "unit.c")
    _run_compiler((*compiler, *options, "-S", "-o", "unit.s", "unit.c"), folder)
    assembly = (folder / "unit.s").read_text(errors="replace")
    _run_compiler(command, folder)
    digest = hashlib.sha256(assembly.replace(str(folder), "").encode()).hexdigest()
    return _Built(
        path=folder / "kernel.so",
        kernel_id=unit.kernel_id,
        command=command,
        compile_object=(*compiler, *options, "-c", "-o", "unit.o", "unit.c"),
        link=(*compiler, *flags, "-fPIC", "-shared", "-nostartfiles", "unit.o"),
        assembly=assembly,
        key=(*compiler, *flags, unit.kernel_id, digest),
    )


def _run_compiler(command: tuple[str, ...], folder: Path) -> None:
    """Runs the command in the folder. CompileError in its words if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CompileError(f"{command[0]} can't be run: {error.strerror}") from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "it said nothing").replace(f"{folder}/", "")
        raise CompileError(f"{shlex.join(command)} ended with status {done.returncode}:\n{words}")


@cache
def compiler_version(command: tuple[str, ...]) -> str:
    """The compiler's name and version, as "gcc 12.2.0". CompileError that names compilers if it isn't there."""
    if not command or shutil.which(command[0]) is None:
        name = command[0] if command else ""
        there = ", ".join(compilers_on_path()) or "none; apt install gcc"
        raise CompileError(f"compiler {name!r} is not on the PATH; there are: {there}")
    try:
        done = subprocess.run(
            [*command, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise CompileError(f"{command[0]} can't be run: {error.strerror}") from None
    if done.returncode != 0:
        raise CompileError(f"{shlex.join(command)} --version failed: {done.stderr.strip()}")
    return parse_version(done.stdout, Path(command[0]).name)


def parse_version(text: str, name: str) -> str:
    """The compiler's name and version from what it says to --version; `name` where its own can't be told."""
    clang = re.search(r"\bclang version (\d[\w.]*)", text)
    if clang:
        return f"clang {clang[1]}"
    first = text.split("\n", 1)[0]
    version = re.search(r"(?<![\w.-])\d+\.\d[\w.]*", re.sub(r"\([^)]*\)", "", first))
    if "Free Software Foundation" in text:
        name = "gcc"
    return f"{name} {version[0]}" if version else name


def compilers_on_path() -> list[str]:
    """Names of C compilers on the PATH."""
    pattern = re.compile(r"(?:gcc|clang|cc|icx)(?:-\d+(?:\.\d+)*)?")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    names = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    return sorted(name for name in names if pattern.fullmatch(name) and shutil.which(name))


# Checking and loading


def _try(path: Path, unit: _Unit) -> None:
    """Lets another process compare the kernel with the reference. ValueError if it is wrong, crashes or hangs."""
    script = Path(__file__).with_name("_trial.py")
    package_home = str(Path(__file__).resolve().parents[2])
    paths = [package_home, *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-B", "-P", str(script), str(path), unit.kernel_id, str(CPU_SECONDS)]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"'{unit.symbol}' did not end within {WALL_SECONDS} s: it sleeps or waits") from None
    _judge(unit.symbol, done.returncode, done.stdout, done.stderr)


def _judge(symbol: str, status: int, said: str, complaint: str) -> None:
    """ValueError unless the trial said that the kernel is right, or that there is nothing to be right about."""
    messages = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    verdict: dict[str, Any] = messages[-1] if messages else {}
    if status < 0:
        raise ValueError(_words_for_death(symbol, -status, verdict.get("at")))
    if status != 0:
        raise ValueError(f"'{symbol}' could not be tried:\n{complaint.strip()}")
    if "error" in verdict:
        raise CompileError(f"'{symbol}' can't be loaded: {verdict['error']}")
    if "wrong" in verdict:
        raise ValueError(_words_for_wrong(symbol, verdict["wrong"]))
    if "right" not in verdict and "unfit" not in verdict:
        raise ValueError(f"'{symbol}' ended the process in which it was tried, with status 0")


def _words_for_wrong(symbol: str, wrong: dict[str, Any]) -> str:
    words = (
        f"'{symbol}' is wrong at {wrong['length']} bytes, offset {wrong['offset']} (data: {wrong['fill']}, start value "
        f"{wrong['start']:#x}): it gives {wrong['got']:#06x}, right is {wrong['expected']:#06x}"
    )
    if "right" in wrong:
        words += f"; it was right up to {wrong['right']} bytes: if its sum wraps beyond, say max_len={wrong['right']}"
    return words


def _words_for_death(symbol: str, number: int, at: dict[str, Any] | None) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    where = "while it was loaded"
    if at is not None:
        length = f"{at['length']} bytes" if "length" in at else f"a length of at most {at['longest']} bytes"
        where = f"at {length}, offset {at['offset']} (data: {at['fill']}, start value {at['start']:#x})"
    reasons = {
        "SIGXCPU": f"it did not come to an end within {CPU_SECONDS} s of CPU time",
        "SIGKILL": f"it did not come to an end within {CPU_SECONDS} s of CPU time, or the system was out of memory",
        "SIGILL": "the flags ask for instructions that this CPU doesn't have",
        "SIGSEGV": "it reads or writes outside of the buffer",
        "SIGBUS": "it reads or writes outside of the buffer",
    }
    reason = reasons.get(name)
    return f"'{symbol}' dies of {name} {where}" + (f": {reason}" if reason else "")


def _load(built: _Built, unit: _Unit, version: str, flags: tuple[str, ...]) -> CompiledKernel:
    """The kernel of an object that was tried. CompileError in the loader's words."""
    try:
        capsule = _core.load_kernel(str(built.path), unit.kernel_id)
    except ImportError as error:
        raise CompileError(f"'{unit.symbol}' can't be loaded: {error}") from None
    kernel = from_description(_core.describe(capsule))
    bits = _assembly.vector_bits(built.assembly, unit.function)
    fields = {each.name: getattr(kernel, each.name) for each in dataclasses.fields(Kernel)}
    fields["name"] = f"{unit.label} [{' '.join([version, *flags])}]"
    if bits is not None:
        fields |= {"vector_bits": bits, "registers": "vector" if bits else "general"}
    return CompiledKernel(
        **fields,
        symbol=unit.symbol,
        compiler=version,
        command=built.command,
        vectorised=None if bits is None else bits > 0,
        assembly=_assembly.text_of(built.assembly, unit.function),
        built=built,
    )


def relink(kernel: CompiledKernel, *, kernel_at: int, loops_at: int) -> Path:
    """A shared object of the same machine code, the kernel and its call loops at these offsets in a page (bytes).

    CompileError in the words of the compiler or the linker.
    """
    built = kernel.built
    folder = built.path.parent
    target = folder / f"at_{kernel_at:x}_{loops_at:x}.so"
    if not target.exists():
        if not (folder / "unit.o").exists():
            _run_compiler(built.compile_object, folder)
        starts = {".text": 0x100000 + loops_at, f"cksum_code_{built.kernel_id}": 0x200000 + kernel_at}
        places = [f"-Wl,--section-start={section}={address:#x}" for section, address in starts.items()]
        _run_compiler((*built.link, *places, "-o", target.name), folder)
    return target
