"""A kernel as an author names it: a file, a file of a git revision, standard input; with a function, compiler, flags.

    lib/csum.c      HEAD~1:lib/csum.c      lib/csum.c:do_csum      csum.c@clang-19@"-O2 -march=native"      -

C is compiled together with the call loops. What the compiler driver makes of .cc, .cpp, .s and .S, and .o, .a and .so
as they are, is called by a function that does nothing else, which `origin` says.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fastcksum.lab._machine.compilers import ask, compiler_version, run_in
from fastcksum.lab._machine.scratch import scratch

from .compiler import CompiledKernel, compile_kernel
from .revision import export

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPEC: Final = re.compile(
    r"(?P<where>-|.+?\.(?:c|cc|cpp|cxx|s|S|o|a|so))(?::(?P<function>[A-Za-z_]\w*))?"
    r"(?:@(?P<compiler>[^@\s-][^@]*))?(?:@(?P<flags>-[^@]*))?",
    re.DOTALL,
)
_PLUS_PLUS: Final = {".cc", ".cpp", ".cxx"}


def is_spec(text: str) -> bool:
    """Whether the text names a file in one of these ways, rather than a built-in kernel."""
    return _SPEC.fullmatch(text) is not None


def kernel_of(
    spec: str,
    *,
    compiler: str | Sequence[str] = "gcc",
    flags: Sequence[str] = ("-O3",),
    min_len: int = 0,
    max_len: int | None = None,
) -> CompiledKernel:
    """The kernel that a spec names, compiled and tried as compile_kernel() does; its name holds the spec's file.

    A spec is [REV:]PATH[:FUNCTION][@COMPILER][@FLAGS], or "-" for C on standard input. What the spec says of compiler
    and flags goes before the arguments. ValueError if there is no such file, revision or function, and errors as
    compile_kernel().
    """
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise ValueError(
            f"{spec!r} names no file: [REV:]PATH[:FUNCTION][@COMPILER][@FLAGS]; a .c .cpp .s .o .a or .so"
        )
    where, function = found["where"], found["function"]
    command = (compiler,) if isinstance(compiler, str) else tuple(compiler)
    if found["compiler"]:
        command = tuple(shlex.split(found["compiler"]))
    options = tuple(shlex.split(found["flags"])) if found["flags"] else tuple(flags)
    lengths: dict[str, Any] = {"min_len": min_len, "max_len": max_len}
    source = sys.stdin.read() if where == "-" else _file(where)
    if isinstance(source, Path) and source.suffix != ".c":
        return _called(source, where, command, options, function, **lengths)
    kernel = compile_kernel(source, command, options, symbol=function, **lengths)
    built = kernel.built
    return dataclasses.replace(
        kernel,
        name=_name(built.unit.label, "standard input" if where == "-" else where, built.version, built.flags),
    )


def _name(function: str, where: str, version: str, flags: Sequence[str]) -> str:
    """A name that holds where the kernel is from."""
    return f"{function} of {where} [{' '.join([version, *flags])}]"


def _file(where: str) -> Path:
    """The file, or that of a revision. ValueError if there is none."""
    if Path(where).is_file():
        return Path(where)
    revision, colon, path = where.partition(":")
    if colon:
        return export(revision, path)
    raise ValueError(
        f"there is no file {where}; one of a git revision is REV:{where}, such as HEAD~1:{where}"
    )


def _called(
    path: Path,
    where: str,
    command: tuple[str, ...],
    flags: tuple[str, ...],
    function: str | None,
    **lengths: Any,
) -> CompiledKernel:
    """A function of an object, an archive, a library, or what the compiler driver makes one of."""
    version = compiler_version(command)
    linked = path.resolve()
    if path.suffix in {".s", ".S", *_PLUS_PLUS}:
        folder = Path(tempfile.mkdtemp(dir=scratch()))
        driver = (_plus_plus(command[0]), *command[1:]) if path.suffix in _PLUS_PLUS else command
        run_in((*driver, *flags, "-fPIC", "-c", str(linked), "-o", "linked.o"), folder)
        linked = folder / "linked.o"
    name = function or _only_function(linked, path.name)
    link = {
        ".a": (f"-L{linked.parent}", f"-l:{linked.name}"),
        ".so": (f"-L{linked.parent}", f"-l:{linked.name}", f"-Wl,-rpath,{linked.parent}"),
    }.get(linked.suffix, (str(linked),))
    text = (
        f"extern uint32_t {name}(const void *, size_t, uint32_t);\n"
        f"uint32_t {name}_called(const void *buf, size_t len, uint32_t sum)\n"
        f"{{\n    return {name}(buf, len, sum);\n}}\n"
    )
    kernel = compile_kernel(text, command, (*flags, *link), symbol=f"{name}_called", **lengths)
    return dataclasses.replace(
        kernel,
        name=_name(name, where, version, flags),
        origin=f"{path.name}, called by a function that does nothing else; built by {version}",
    )


def _plus_plus(compiler: str) -> str:
    """The C++ driver beside a C one: g++-12 of gcc-12, clang++-19 of clang-19."""
    return re.sub(
        r"(gcc|clang)(?=(-[\d.]+)?$)", lambda found: {"gcc": "g++", "clang": "clang++"}[found[1]], compiler
    )


def _only_function(path: Path, what: str) -> str:
    """The only global function of an object. ValueError that lists them if there are several."""
    said = ask(("nm", "--defined-only", "-g", *(["-D"] if path.suffix == ".so" else []), str(path)), "")
    found = [line.split()[2] for line in said.splitlines() if re.match(r"[0-9a-f]+ T \w+$", line)]
    if len(found) != 1:
        listed = ", ".join(found) or 'none (a C++ one needs extern "C")'
        raise ValueError(f"{what} has these global functions: {listed}; name one: {what}:FUNCTION")
    return found[0]
