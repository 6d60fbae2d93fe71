"""Any C function of the contract's signature, compiled by any compiler, checked, and usable as a kernel.

One unit is made that includes the source and instantiates the call loops behind it, in the same file: the bench calls
a foreign function exactly as it calls a built-in kernel. It is built first (build), then admitted: what this CPU can't
run is refused unseen, the rest is tried in a process of its own, so that a function that crashes or hangs takes nothing
with it; only what gave right sums there is loaded here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastcksum import _core
from fastcksum._kernel import Kernel, from_description
from fastcksum.lab._machine.compilers import CompileError, ask, compiler_version, macros, run_in
from fastcksum.lab._machine.scratch import scratch

from . import assembly as _assembly
from . import features as _features
from .admission import KernelError, WrongSumError, try_out
from .c_source import missing_header, names_to_supply, own_kernels, supplies
from .elf import ElfObject
from .includes import include_roots
from .unit import make_unit, meanings, source_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .unit import Unit

LIBRARY = "kernel.so"
HEADERS = "headers"  # empty ones, for those that a source includes and nobody has


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
    min_len: int = 0,
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

    It is tried in a process of its own on pages that can only be read: at every length from 0 to 2100 bytes, at
    13 longer ones up to 1 MiB, at max_len, and at 300 random ones up to 70,000, at 12 offsets, on four kinds of data.
    A function that is wrong at other lengths alone is not found out. Registers, flags and control words that the x86-64
    ABI lets a caller rely on are compared before and after.

    CompileError (a ValueError) if the compiler is missing or refuses, in its words. KernelError (a ValueError) if the
    function writes, leaves the machine otherwise than it was, crashes, hangs or gives a wrong sum, with length, offset,
    got and expected; and if the flags ask for instructions that this CPU lacks: it is not executed then. ValueError if
    no function or several qualify.
    """
    options: dict[str, Any] = {"min_len": min_len, "max_len": max_len, "inline_length": inline_length}
    wrong: list[WrongSumError] = []
    for meaning in meanings(text_of(source), symbol) if inline_length is None else (None,):
        try:
            return admit(build(source, compiler, flags, symbol=symbol, meaning=meaning, **options))
        except WrongSumError as error:
            wrong.append(error)
    raise max(wrong, key=lambda error: error.length)  # the meaning that was right for longest


def build(
    source: Path | str,
    compiler: str | Sequence[str] = "gcc",
    flags: Sequence[str] = ("-O3",),
    *,
    symbol: str | None = None,
    min_len: int = 0,
    max_len: int | None = None,
    inline_length: int | None = None,
    meaning: str | None = None,
) -> Built:
    """Compiles as compile_kernel() does and goes no further: nothing of it is executed.

    meaning: what the function's result means, one of MEANINGS; None: its signature is the contract's.
    CompileError if the compiler is missing or refuses; ValueError if no function or several qualify.
    """
    text = text_of(source)
    command = (compiler,) if isinstance(compiler, str) else tuple(compiler)
    flags = _check_flags(flags)
    version = compiler_version(command)
    own = own_kernels(text)
    folder = Path(tempfile.mkdtemp(dir=scratch()))  # a child that was forked off compiles there too
    seen, stubs = (
        ("", ()) if own else _preprocessed(source, text, (*command, *_without_linker(flags)), folder)
    )
    unit = make_unit(
        source,
        text,
        symbol=symbol,
        min_len=min_len,
        max_len=max_len,
        inline_length=inline_length,
        meaning=meaning,
        built_by=f"{version} {' '.join(flags)}" + (f" without {', '.join(stubs)}" if stubs else ""),
    )
    if not own:
        unit = dataclasses.replace(unit, text=supplies(names_to_supply(seen), seen) + unit.text)
    roots = include_roots(source) if isinstance(source, Path) else ()
    return _build(unit, text, command, flags, version, folder=folder, roots=roots)


def text_of(source: Path | str) -> str:
    """The text of a source, which is a file or a text."""
    if not isinstance(source, (str, Path)):
        raise TypeError(f"source must be a Path, a file, or a str, C text, not {type(source).__name__}")
    return source.read_text(errors="surrogateescape") if isinstance(source, Path) else source


def admit(built: Built) -> CompiledKernel:
    """Tries what was built and loads it. Errors as compile_kernel()."""
    if built.key not in _finished:
        if built.missing:
            raise KernelError(
                f"'{built.unit.symbol}' was built for {', '.join(built.missing)}, which this CPU lacks: it is not run; "
                "lab.matrix() shows what the compiler made of it"
            )
        try_out(library_of(built), built.unit)
        _finished[built.key] = _load(built)
    return _finished[built.key]


def _check_flags(flags: Sequence[str]) -> tuple[str, ...]:
    if isinstance(flags, str):
        raise TypeError(f"flags must be a sequence of options, not one str: {tuple(shlex.split(flags))!r}")
    return tuple(map(_from_here, flags))


def _from_here(flag: str) -> str:
    """The flag with a path as seen from any folder: compilers run in one of their own."""
    found = re.fullmatch(r"(-[IL])?([^-/].*)", flag)
    path = Path(found[2]).resolve() if found else None
    return (
        f"{found[1] or ''}{path}"
        if found and path and (path.is_dir() if found[1] else path.is_file())
        else flag
    )


def _preprocessed(
    source: Path | str, text: str, compiler: tuple[str, ...], folder: Path
) -> tuple[str, tuple[str, ...]]:
    """(what cc -E -dD makes of a source, the headers of theirs that are missing); nothing of one that it refuses.

    Those headers are then below the folder's HEADERS, empty.
    """
    stubs: list[str] = []
    roots = include_roots(source) if isinstance(source, Path) else ()
    words = (*roots, "-I", str(source_root()), "-idirafter", HEADERS, "-E", "-dD", "-x", "c")
    command = (*compiler, *words, str(source.resolve()) if isinstance(source, Path) else "-")
    while True:
        try:
            return ask(command, "" if isinstance(source, Path) else text, folder), tuple(stubs)
        except CompileError as error:
            missing = missing_header(str(error))
            if missing is None or missing in stubs:
                return "", tuple(stubs)  # compiling will say why
            stubs.append(missing)
            (folder / HEADERS / missing).parent.mkdir(parents=True, exist_ok=True)
            (folder / HEADERS / missing).touch()


@dataclass(frozen=True, slots=True)
class Built:
    """A unit, compiled: object file and assembly in one folder; nothing of it was executed.

    compile_object and link are the commands, link without its output. missing: CPU features that the flags ask for and
    that are not here. key tells the build from others. code_bytes and code_sha256 are of the function's section;
    where it calls into an object or library that the flags name, the hash is of that too and the size is not known.
    """

    unit: Unit
    folder: Path
    version: str
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    compile_object: tuple[str, ...]
    link: tuple[str, ...]
    assembly: str
    missing: tuple[str, ...]
    code_bytes: int | None
    code_sha256: str
    calls_out: bool
    key: tuple[str, ...]

    @property
    def vector_bits(self) -> int | None:
        """Width of the packed additions in the widest loop, 0 for none; None where the assembly doesn't show it."""
        return None if self.calls_out else _assembly.vector_bits(self.assembly, self.unit.function)

    @property
    def name(self) -> str:
        """What the kernel is called: the function, the compiler and its flags."""
        return f"{self.unit.label} [{' '.join([self.version, *self.flags])}]"


_finished: dict[tuple[str, ...], CompiledKernel] = {}


def _build(
    unit: Unit,
    text: str,
    compiler: tuple[str, ...],
    flags: tuple[str, ...],
    version: str,
    *,
    folder: Path,
    roots: Sequence[str],
) -> Built:
    """Compiles the unit to assembly and to an object, in a folder of its own. CompileError in the compiler's words."""
    (folder / "unit.c").write_text(unit.text)
    (folder / "source.c").write_text(text, errors="surrogateescape")
    of_compiler, of_linker = _without_linker(flags), tuple(flag for flag in flags if _is_for_linker(flag))
    empty = ("-idirafter", HEADERS) if (folder / HEADERS).is_dir() else ()
    options = (*of_compiler, "-fPIC", "-fvisibility=hidden", *roots, "-I", str(source_root()), *empty)
    link = (*compiler, *of_compiler, "-fPIC", "-shared", "-nostartfiles", "unit.o", *of_linker)
    compile_object = (*compiler, *options, "-c", "-o", "unit.o", "unit.c")
    run_in(compile_object, folder)
    if _optimises_when_linking(flags):
        _optimise_object(compiler, of_compiler, version, folder)
        run_in((*link, "-o", LIBRARY), folder)
        assembly = _disassembled(folder / LIBRARY, unit)
    else:
        run_in((*compiler, *options, "-S", "-o", "unit.s", "unit.c"), folder)
        assembly = (folder / "unit.s").read_text(errors="replace")
    try:
        object_file = ElfObject((folder / "unit.o").read_bytes())
    except ValueError as error:  # bitcode, where the compiler keeps its linker's part to itself
        raise CompileError(f"what {version} {' '.join(flags)} makes can't be read: {error}") from None
    section = f"cksum_code_{unit.kernel_id}"
    if not object_file.has(section):
        raise CompileError(f"the source defines no function '{unit.symbol}'")
    code = object_file.sha256(section)
    others = _linked_beside(link, of_linker, folder) if object_file.refers_outside(section) else []
    if others:
        code = hashlib.sha256(b"".join([code.encode(), *(path.read_bytes() for path in others)])).hexdigest()
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
        missing=_features.missing(macros(compiler, of_compiler)),
        code_bytes=None if others else len(object_file.code(section)),
        code_sha256=code,
        calls_out=bool(others),
        key=(*compiler, *flags, unit.kernel_id, digest),
    )


def _linked_beside(link: tuple[str, ...], of_linker: tuple[str, ...], folder: Path) -> list[Path]:
    """The objects and libraries that these flags bring into the shared object, as the linker itself tells them."""

    def inputs(command: tuple[str, ...]) -> list[Path]:
        said = ask((*command, "-Wl,--trace", "-o", "traced.so"), "", folder).splitlines()
        named = (
            re.match(r"\((?P<archive>.+)\)", line) or re.match(r"(?P<archive>.+?)(?:\(.+\))?$", line)
            for line in said
        )
        paths = dict.fromkeys(folder / found["archive"].strip() for found in named if found)
        return [path for path in paths if path.is_file()]

    if not of_linker:
        return []
    without = inputs(link[: -len(of_linker)])
    return [path for path in inputs(link) if path not in without]


def _is_for_linker(flag: str) -> bool:
    return flag.startswith(("-l", "-L", "-Wl,")) or flag.endswith((".o", ".a", ".so"))


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
    run_in((*compiler, *flags, *output, "unoptimised.o"), folder)


def _disassembled(library: Path, unit: Unit) -> str:
    """What objdump makes of a shared object; nothing where there is no objdump."""
    if shutil.which("objdump") is None:
        return ""
    listing = ask(("objdump", "--disassemble", "--no-show-raw-insn", "--wide", str(library)), "")
    second_names = rf"\bcksum_opaque_(?:as_size_t_)?{unit.kernel_id}\b"
    return re.sub(second_names, unit.function, _assembly.from_objdump(listing))


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
    if built.calls_out:
        fields |= {"code_bytes": None}
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
        run_in((*built.link, *options, "-o", name), built.folder)
    return target
