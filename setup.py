"""Builds fastcksum._core and puts the C sources beside it in the wheel; all else is in pyproject.toml."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import PlatformError

if not sys.platform.startswith("linux"):
    sys.exit(
        f"fastcksum builds on Linux only, this is {sys.platform}: its call loops rely on ELF symbol aliases "
        "and its timing on Linux system calls."
    )

CSRC = Path("csrc")
EXPORTS = CSRC / "python" / "exports.map"
COMPILED_FOLDERS = ("base", "kernels", "core", "bench", "packet", "python")  # adapters: on the user's machine

# For work on the C sources: FASTCKSUM_DEBUG=1, and FASTCKSUM_SANITIZE=address,undefined or =thread, which implies it.
SANITIZERS = os.environ.get("FASTCKSUM_SANITIZE", "")
SANITIZE_FLAGS = [f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=all"] if SANITIZERS else []
DEBUG_FLAGS = ["-g3", "-fno-omit-frame-pointer", "-UNDEBUG", "-Og"]

COMPILE_FLAGS = [
    "-std=c11",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    *(["-Werror"] if os.environ.get("FASTCKSUM_WERROR") == "1" else []),
    "-fno-lto",  # Arch's Python builds with it, and it loses the second names of the functions that are timed
    *SANITIZE_FLAGS,
    # last, so that it wins: Debian's Python builds with -O2, where gcc 12 vectorises nothing
    *(DEBUG_FLAGS if SANITIZERS or os.environ.get("FASTCKSUM_DEBUG") == "1" else ["-O3"]),
]
# The linker defines __start_ and __stop_ symbols for each kernel's section and would export them.
LINK_FLAGS = [f"-Wl,--version-script={EXPORTS}", *SANITIZE_FLAGS]

NO_COMPILER = (
    "fastcksum is compiled here, and {command!r} can't be run: {reason}. Install gcc 9 or newer or clang 11 or newer "
    "(Debian: apt-get install gcc libc6-dev; Fedora: dnf install gcc), or set CC to one that is here."
)
NO_HEADERS = (
    "fastcksum is compiled here, and Python's headers are missing: there is no {path}. Install them (Debian: apt-get "
    "install python3-dev; Fedora: dnf install python3-devel)."
)


def c_sources() -> list[str]:
    """The files that make the extension; a new kernel is found without a change here."""
    return sorted(str(path) for folder in COMPILED_FOLDERS for path in (CSRC / folder).rglob("*.c"))


def shipped_sources() -> list[Path]:
    """The files below csrc that compiling a kernel from an installed package needs."""
    return sorted(path for path in CSRC.rglob("*") if path.suffix in {".c", ".h", ".def"})


def headers() -> list[str]:
    """What the objects depend on beside their own source."""
    return [str(path) for path in shipped_sources() if path.suffix != ".c"]


def check_compiler(command: list[str]) -> None:
    """PlatformError, in one sentence, if this compiler with these flags can't build the extension."""
    try:
        done = subprocess.run(
            [*command, "-E", "-x", "c", str(CSRC / "base" / "arch.h")],  # zig's knows no -fsyntax-only
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise PlatformError(NO_COMPILER.format(command=command[0], reason=error.strerror)) from error
    if refusal := re.search(r'#error "?(fastcksum [^"\n]*)', done.stderr):
        raise PlatformError(f"{refusal[1]} (the compiler is {shlex.join(command)})")
    if done.returncode:
        reason = done.stderr.strip().partition("\n")[0] or f"it ends with status {done.returncode}"
        raise PlatformError(NO_COMPILER.format(command=shlex.join(command), reason=reason))


def check_headers(folders: list[str]) -> None:
    """PlatformError, in one sentence, if no folder has Python's headers."""
    if not any(Path(folder, "Python.h").is_file() for folder in folders):
        raise PlatformError(NO_HEADERS.format(path=Path(sysconfig.get_path("include"), "Python.h")))


class BuildExt(build_ext):
    """Compiles on all cores, and tells the module how it was compiled."""

    def build_extension(self, ext: Extension) -> None:
        """As setuptools does, but with a compiler that takes the files side by side."""
        compiler: Any = self.compiler  # setuptools types it loosely
        check_compiler(compiler.compiler_so)
        check_headers(compiler.include_dirs)
        command, flags = command_and_flags(compiler.compiler_so)
        ext.define_macros = [
            ("CKSUM_BUILD_COMPILER", c_string(shlex.join(command))),
            ("CKSUM_BUILD_FLAGS", c_string(shlex.join([*flags, *ext.extra_compile_args]))),
        ]
        compile_some = compiler.compile

        def compile_each(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(lambda source: compile_some([source], **options), sources)
                return [name for names in objects for name in names]

        compiler.compile = compile_each
        try:
            super().build_extension(ext)
        finally:
            compiler.compile = compile_some


class BuildPy(build_py):
    """Copies the C sources to fastcksum/_csrc; an editable install uses those of the checkout."""

    def run(self) -> None:
        """As setuptools does, and then the copy."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "fastcksum", "_csrc")
            shutil.rmtree(target, ignore_errors=True)  # or a kernel that was removed would stay in build/
            for source in shipped_sources():
                destination = target / source.relative_to(CSRC)
                destination.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, destination)


def command_and_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The command that CC names, which may have words of its own (ccache gcc), and the flags behind it."""
    cc = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    length = len(cc) if cc and list(words[: len(cc)]) == cc else 1
    return list(words[:length]), list(words[length:])


def c_string(text: str) -> str:
    """The text as a C string literal: JSON's escapes for ASCII text are C's."""
    return json.dumps(text)


setup(
    ext_modules=[
        Extension(
            "fastcksum._core",
            sources=c_sources(),
            depends=[*headers(), str(EXPORTS), "setup.py"],
            include_dirs=[str(CSRC)],
            extra_compile_args=COMPILE_FLAGS,
            extra_link_args=LINK_FLAGS,
            language="c",
        )
    ],
    cmdclass={"build_ext": BuildExt, "build_py": BuildPy},
)
