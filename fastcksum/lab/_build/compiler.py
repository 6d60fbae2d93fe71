"""Any C function of the contract's signature, compiled by any compiler, checked, and usable as a kernel.

One unit is made that includes the source and instantiates the call loops behind it, in the same file: the bench calls
a foreign function exactly as it calls a built-in kernel. It is built first (build), then admitted: what this CPU can't
run is refused unseen, the rest is tried in a process of its own, so that a function that crashes or hangs takes nothing
with it; only what gave right sums there is loaded here.
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
import threading
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcksum import _core
from fastcksum._kernel import Kernel, from_description

from . import assembly as _assembly

from . import features as _features
from .c_source import SIZE_T, LengthType, candidates, names_to_supply, own_kernels, supplies
from .elf import ElfObject

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGNATURE = "uint32_t f(const void *buf, size_t len, uint32_t sum)"
# The trial of an unoptimised byte loop takes about 2 s of CPU time; the wall clock only ends what sleeps.
CPU_SECONDS = 60
WALL_SECONDS = 600
LIBRARY = "kernel.so"


class CompileError(ValueError):
    """The compiler is missing, or refused the source; the message holds its own words."""


class KernelError(ValueError):
    """A function that was compiled can't be used: it crashes, hangs or gives a wrong sum, or this CPU can't run it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel(Kernel):
    """A Kernel made by compile_kernel(). Its name says compiler and flags: `f [gcc 12.2.0 -O3]`.

    registers and vector_bits are what the compiler made of the main loop, not what the source says.

    symbol      the function's name in the source
    compiler    the compiler's own name and version
    command     the command that compiled it
    vectorised  whether a loop of it adds packed integers; None where the assembly doesn't show it
    assembly    the compiler's assembly of the function and of those it calls; where the linker optimises (-flto) what
                objdump makes of the result

    code_sha256 is of the object file, with all that its code refers to but before any address is filled in: the same
    code has the same hash wherever it is linked.
    """

    symbol: str
    compiler: str
    command: tuple[str, ...]
    vectorised: bool | None
    assembly: str = field(repr=False, compare=False)
    built: Built = field(repr=False, compare=False)

    @property
    def kernel_id(self) -> str:
        """What its descriptor is called in the shared object."""
        return self.built.unit.kernel_id

    @property
    def library(self) -> Path:
        """The shared object; it is removed when Python ends."""
        return library_of(self.built)


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
    a function uint32_t f(const void *buf, size_t len, uint32_t sum), as DPDK's __rte_raw_cksum, or with a length of
    another integer type, as Linux' __wsum csum_partial(const void *buff, int len, __wsum sum); static or not. Headers
    and type names of the kernel's that the source uses and lacks are supplied. symbol: its name, needed where several
    qualify. compiler: a name on the PATH, or a command as a sequence. max_len: the longest buffer, in bytes, for which
    the sum is right; None for any that the type of its length can tell. inline_length: the function as a caller has it
    that knows the length and inlines it; the kernel is then made for that length only.

    CompileError (a ValueError) if the compiler is missing or refuses, in its words. KernelError (a ValueError) if the
    function crashes, hangs or gives a wrong sum, with length, offset, got and expected; and if the flags ask for
    instructions that this CPU lacks: it is not executed then. ValueError if no function or several qualify.
    """
    return admit(build(source, compiler, flags, symbol=symbol, max_len=max_len, inline_length=inline_length))


def build(
    source: Path | str,
    compiler: str | Sequence[str] = "gcc",
    flags: Sequence[str] = ("-O3",),
    *,
    symbol: str | None = None,
    max_len: int | None = None,
    inline_length: int | None = None,
) -> Built:
    """Compiles as compile_kernel() does and goes no further: nothing of it is executed.

    CompileError if the compiler is missing or refuses; ValueError if no function or several qualify.
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
    if not own_kernels(text):
        unit = dataclasses.replace(unit, text=_supplies(source, text, command, flags) + unit.text)
    return _build(unit, text, command, flags, version)


def admit(built: Built) -> CompiledKernel:
    """Tries what was built and loads it. Errors as compile_kernel()."""
    if built.key not in _finished:
        if built.missing:
            raise KernelError(
                f"'{built.unit.symbol}' was built for {', '.join(built.missing)}, which this CPU lacks: it is not run; "
                "lab.matrix() shows what the compiler made of it"
            )
        _try(library_of(built), built.unit)
        _finished[built.key] = _load(built)
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
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "_csrc", package.parent / "csrc"):
        if (folder / "kernels" / "kernel.h").is_file():
            return folder
    raise CompileError(f"the C sources are missing beside {package}: install fastcksum again, with pip")


# The unit that is compiled


def _pick(text: str, symbol: str | None, what: str) -> tuple[str, bool]:
    """(name, whether it is a kernel file of ours) of the function to compile."""
    own = own_kernels(text)
    fit, other = candidates(text)
    if symbol is not None:
        if not symbol.isascii() or not symbol.isidentifier():
            raise ValueError(f"symbol must be the name of a C function, not {symbol!r}")
        return symbol, symbol in own
    qualified = own or list(fit)
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
    length_type = SIZE_T if is_own else candidates(text)[0].get(name, SIZE_T)
    longest = _longest(max_len, length_type)
    origin = f"{what}, compiled here by {built_by}"
    include = [f"#include {_include_name(source)}", '#include "kernels/kernel.h"']
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
    else:
        kernel_id, label = name, name
        summary = f"{name} of {what}"
        lines = [
            *_opening(name, length_type),
            *include,
            *_closing(name, length_type, summary=summary, origin=origin, longest=longest),
        ]
    visible = '#define CKSUM_KERNEL_VISIBILITY __attribute__((visibility("default")))'
    return _Unit("\n".join([visible, *lines, ""]), kernel_id, name, function, label)


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


def _check_flags(flags: Sequence[str]) -> tuple[str, ...]:
    if isinstance(flags, str):
        raise TypeError(f"flags must be a sequence of options, not one str: {tuple(shlex.split(flags))!r}")
    return tuple(flags)


def _shipped_ids(path: Path) -> list[str]:
    return own_kernels(path.read_text())


def _supplies(source: Path | str, text: str, compiler: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """The lines to put before a source so that it finds what it uses and neither it nor its headers define."""
    names = names_to_supply(text)
    if not names:
        return ""
    preprocess = (*compiler, *_without_linker(flags), "-I", str(source_root()), "-E", "-dD", "-x", "c")
    try:
        seen = _ask((*preprocess, str(source) if isinstance(source, Path) else "-"), text)
    except CompileError:
        return ""  # compiling will say why
    return supplies(names, seen)


def preprocess(text: str, command: tuple[str, ...]) -> str:
    """What the compiler's preprocessor makes of C text. CompileError in its words, such as for a missing header."""
    return _ask((*command, "-E", "-x", "c", "-"), text)


@cache
def _macros(compiler: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """The macros that the compiler predefines with these flags."""
    return _ask((*compiler, *flags, "-E", "-dM", "-x", "c", "-"), "")


# Compiling


@dataclass(frozen=True, slots=True)
class Built:
    """A unit, compiled: object file and assembly in one folder; nothing of it was executed.

    compile_object and link are the commands, link without its output. missing: CPU features that the flags ask for and
    that are not here. key tells the build from others. code_bytes and code_sha256 are of the function's section.
    """

    unit: _Unit
    folder: Path
    version: str
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    compile_object: tuple[str, ...]
    link: tuple[str, ...]
    assembly: str
    missing: tuple[str, ...]
    code_bytes: int
    code_sha256: str
    key: tuple[str, ...]

    @property
    def vector_bits(self) -> int | None:
        """Width of the packed additions in the widest loop, 0 for none; None where the assembly doesn't show it."""
        return _assembly.vector_bits(self.assembly, self.unit.function)

    @property
    def name(self) -> str:
        """What the kernel is called: the function, the compiler and its flags."""
        return f"{self.unit.label} [{' '.join([self.version, *self.flags])}]"


_finished: dict[tuple[str, ...], CompiledKernel] = {}
_numbers = count()


_first_comes = threading.Lock()


def workspace() -> str:
    """The folder of everything that is compiled; it is removed when Python ends."""
    with _first_comes:  # of two threads, or one would lose its folder
        return _workspace().name


@cache
def _workspace() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fastcksum-")


def _build(unit: _Unit, text: str, compiler: tuple[str, ...], flags: tuple[str, ...], version: str) -> Built:
    """Compiles the unit to assembly and to an object. CompileError in the compiler's words."""
    folder = Path(workspace(), str(next(_numbers)))
    folder.mkdir()
    (folder / "unit.c").write_text(unit.text)
    (folder / "source.c").write_text(text, errors="surrogateescape")
    of_compiler, of_linker = _without_linker(flags), tuple(flag for flag in flags if _is_for_linker(flag))
    options = (*of_compiler, "-fPIC", "-fvisibility=hidden", "-I", str(source_root()))
    link = (*compiler, *of_compiler, "-fPIC", "-shared", "-nostartfiles", "unit.o", *of_linker)
    compile_object = (*compiler, *options, "-c", "-o", "unit.o", "unit.c")
    _run_compiler(compile_object, folder)
    if _optimises_when_linking(flags):
        _optimise_object(compiler, of_compiler, version, folder)
        _run_compiler((*link, "-o", LIBRARY), folder)
        assembly = _disassembled(folder / LIBRARY, unit)
    else:
        _run_compiler((*compiler, *options, "-S", "-o", "unit.s", "unit.c"), folder)
        assembly = (folder / "unit.s").read_text(errors="replace")
    try:
        object_file = ElfObject((folder / "unit.o").read_bytes())
    except ValueError as error:  # bitcode, where the compiler keeps its linker's part to itself
        raise CompileError(f"what {version} {' '.join(flags)} makes can't be read: {error}") from None
    section = f"cksum_code_{unit.kernel_id}"
    if not object_file.has(section):
        raise CompileError(f"the source defines no function '{unit.symbol}'")
    code = object_file.sha256(section)
    digest = hashlib.sha256(
        "".join([unit.text, assembly.replace(str(folder), ""), code]).encode()
    ).hexdigest()
    return Built(
        unit=unit,
        folder=folder,
        version=version,
        compiler=compiler,
        flags=flags,
        compile_object=compile_object,
        link=link,
        assembly=assembly,
        missing=_features.missing(_macros(compiler, of_compiler)),
        code_bytes=len(object_file.code(section)),
        code_sha256=code,
        key=(*compiler, *flags, unit.kernel_id, digest),
    )


def _is_for_linker(flag: str) -> bool:
    return flag.startswith(("-l", "-L", "-Wl,"))


def _without_linker(flags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(flag for flag in flags if not _is_for_linker(flag))


def _optimises_when_linking(flags: tuple[str, ...]) -> bool:
    """Whether the last word of the flags on link-time optimisation is yes."""
    words = [flag for flag in flags if flag in {"-flto", "-fno-lto"} or flag.startswith("-flto=")]
    return bool(words) and words[-1] != "-fno-lto"


def _optimise_object(compiler: tuple[str, ...], flags: tuple[str, ...], version: str, folder: Path) -> None:
    """Lets the linker do its part of the work on unit.o, in place: each placement then links the very same code."""
    (folder / "unit.o").rename(folder / "unoptimised.o")
    to_machine_code = ("-flinker-output=nolto-rel",) if version.startswith("gcc ") else ()
    output = ("-fPIC", "-r", "-nostdlib", *to_machine_code, "-o", "unit.o")
    _run_compiler((*compiler, *flags, *output, "unoptimised.o"), folder)


def _disassembled(library: Path, unit: _Unit) -> str:
    """What objdump makes of a shared object; nothing where there is no objdump."""
    if shutil.which("objdump") is None:
        return ""
    listing = _ask(("objdump", "--disassemble", "--no-show-raw-insn", "--wide", str(library)), "")
    second_names = rf"\bcksum_opaque_(?:as_size_t_)?{unit.kernel_id}\b"
    return re.sub(second_names, unit.function, _assembly.from_objdump(listing))


def _run_compiler(command: tuple[str, ...], folder: Path) -> None:
    """Runs the command in the folder. CompileError in its words if it fails."""
    _ask(command, "", folder)


def _ask(command: tuple[str, ...], text: str, folder: Path | None = None) -> str:
    """What the command says when it reads this text. CompileError in its words if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=text.encode(errors="surrogateescape").decode(errors="replace"),
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
    return done.stdout


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
    """Lets another process compare the kernel with the reference. KernelError if it is wrong, crashes or hangs."""
    script = Path(__file__).with_name("trial.py")
    package_home = str(Path(__file__).resolve().parents[3])
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
        raise KernelError(
            f"'{unit.symbol}' did not end within {WALL_SECONDS} s: it sleeps or waits"
        ) from None
    _judge(unit.symbol, done.returncode, done.stdout, done.stderr)


def _judge(symbol: str, status: int, said: str, complaint: str) -> None:
    """KernelError unless the trial said that the kernel is right, or that there is nothing to be right about."""
    messages = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    verdict: dict[str, Any] = messages[-1] if messages else {}
    if status < 0:
        raise KernelError(_words_for_death(symbol, -status, verdict.get("at")))
    if status != 0:
        raise KernelError(f"'{symbol}' could not be tried:\n{complaint.strip()}")
    if "error" in verdict:
        raise CompileError(f"'{symbol}' can't be loaded: {verdict['error']}")
    if "wrong" in verdict:
        raise KernelError(_words_for_wrong(symbol, verdict["wrong"]))
    if "right" not in verdict and "unfit" not in verdict:
        raise KernelError(f"'{symbol}' ended the process in which it was tried, with status 0")


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


def _load(built: Built) -> CompiledKernel:
    """The kernel of a build that was tried. CompileError in the loader's words."""
    try:
        capsule = _core.load_kernel(str(library_of(built)), built.unit.kernel_id)
    except ImportError as error:
        raise CompileError(f"'{built.unit.symbol}' can't be loaded: {error}") from None
    kernel = from_description(_core.describe(capsule))
    bits = built.vector_bits
    fields = {each.name: getattr(kernel, each.name) for each in dataclasses.fields(Kernel)}
    fields |= {"name": built.name, "code_sha256": built.code_sha256}
    if bits is not None:
        fields |= {"vector_bits": bits, "registers": "vector" if bits else "general"}
    return CompiledKernel(
        **fields,
        symbol=built.unit.symbol,
        compiler=built.version,
        command=built.compile_object,
        vectorised=None if bits is None else bits > 0,
        assembly=_assembly.text_of(built.assembly, built.unit.function),
        built=built,
    )


def library_of(built: Built) -> Path:
    """The shared object, wherever its linker put the code. CompileError in the linker's words."""
    return _link(built, LIBRARY, [])


def relink(kernel: CompiledKernel, *, kernel_at: int, loops_at: int) -> Path:
    """A shared object of the same machine code, the kernel and its call loops at these offsets in a page (bytes).

    CompileError in the linker's words.
    """
    starts = {".text": 0x100000 + loops_at, f"cksum_code_{kernel.kernel_id}": 0x200000 + kernel_at}
    places = [f"-Wl,--section-start={section}={address:#x}" for section, address in starts.items()]
    return _link(kernel.built, f"at_{kernel_at:x}_{loops_at:x}.so", places)


def _link(built: Built, name: str, options: Sequence[str]) -> Path:
    """A shared object of this name beside the object file."""
    target = built.folder / name
    if not target.exists():
        _run_compiler((*built.link, *options, "-o", name), built.folder)
    return target
