"""Compilers as commands: which there are, what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fastcksum import _core


class CompileError(ValueError):
    """The compiler is missing, or refused the source; the message holds its own words."""


def ask(command: tuple[str, ...], text: str, folder: Path | None = None) -> str:
    """What the command says when it reads this text. CompileError in its words if it fails."""
    done = _run(command, text.encode(errors="surrogateescape").decode(errors="replace"), folder)
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "it said nothing").replace(f"{folder}/", "")
        raise CompileError(f"{shlex.join(command)} ended with status {done.returncode}:\n{words}")
    return done.stdout


def _run(
    command: tuple[str, ...], text: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """The command, done. CompileError if it can't be run."""
    try:
        return subprocess.run(
            command, cwd=folder, input=text, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise CompileError(f"{command[0]} can't be run: {error.strerror}") from None


def run_in(command: tuple[str, ...], folder: Path) -> None:
    """Runs the command in the folder. CompileError in its words if it fails."""
    ask(command, "", folder)


def preprocess(text: str, command: tuple[str, ...]) -> str:
    """What the compiler's preprocessor makes of C text. CompileError in its words, such as for a missing header."""
    return ask((*command, "-E", "-x", "c", "-"), text)


@cache
def macros(compiler: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """The macros that the compiler predefines with these flags."""
    return ask((*compiler, *flags, "-E", "-dM", "-x", "c", "-"), "")


@cache
def compiler_version(command: tuple[str, ...]) -> str:
    """The compiler's name and version, as "gcc 12.2.0". CompileError that names compilers if it isn't there."""
    if not command or shutil.which(command[0]) is None:
        name = command[0] if command else ""
        there = ", ".join(compilers_on_path()) or "none; apt install gcc"
        raise CompileError(f"compiler {name!r} is not on the PATH; there are: {there}")
    done = _run((*command, "--version"))
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


def as_built() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command that compiled the extension, such as ("ccache", "gcc"), and its flags."""
    facts = _core.build_facts()
    return tuple(shlex.split(facts["command"])), tuple(shlex.split(facts["flags"]))


def compilers_on_path() -> list[str]:
    """Names of C compilers on the PATH."""
    pattern = re.compile(r"(?:gcc|clang|cc|icx)(?:-\d+(?:\.\d+)*)?")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    names = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    return sorted(name for name in names if pattern.fullmatch(name) and shutil.which(name))


def each_version_once() -> list[str]:
    """The compilers on the PATH; of several names of one version the plainest."""
    by_version: dict[str, str] = {}
    for name in sorted(compilers_on_path(), key=lambda name: (name == "cc", len(name), name)):
        by_version.setdefault(compiler_version((name,)), name)
    return sorted(by_version.values(), reverse=True)
