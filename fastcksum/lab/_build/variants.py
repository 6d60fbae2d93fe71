"""A built-in kernel by every compiler at hand: the builds among which a peer has its best one."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from fastcksum.lab._machine.compilers import CompileError, each_version_once

from .admission import KernelError
from .compiler import CompiledKernel, admit, build
from .unit import kernel_source
from .ziglang import ziglang_clang

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FLAGS: Final = (("-O3",), ("-O3", "-march=native"))


class Variant(NamedTuple):
    """A built-in kernel as one compiler makes it; build: compiler, version and flags."""

    kernel: str
    build: str
    compiled: CompiledKernel


def compilers_at_hand() -> list[tuple[str, ...]]:
    """The compilers on the PATH, each version once, and the clangs in the folders that ZIGLANG names."""
    folders = filter(None, os.environ.get("ZIGLANG", "").split(os.pathsep))
    return [*((name,) for name in each_version_once()), *map(ziglang_clang, folders)]


def variants_of(
    names: Sequence[str], compilers: Sequence[tuple[str, ...]], report: Callable[[int, int], None]
) -> tuple[list[Variant], list[str]]:
    """Each kernel by each compiler with each of FLAGS, each machine code once; and a sentence for what can't be run."""
    wishes = [(name, command, flags) for name in names for command in compilers for flags in FLAGS]
    found: dict[tuple[str, str], Variant] = {}
    left_out: list[str] = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for done, made in enumerate(pool.map(lambda wish: _variant(*wish), wishes)):
            if isinstance(made, Variant):
                found.setdefault((made.kernel, made.compiled.built.code_sha256), made)
            else:
                left_out.append(made)
            report(done + 1, len(wishes))
    return list(found.values()), left_out


def _variant(name: str, command: tuple[str, ...], flags: tuple[str, ...]) -> Variant | str:
    """The build, or why there is none."""
    try:
        compiled = admit(build(kernel_source(name), command, flags))
    except (CompileError, KernelError) as error:
        return f"{name} by {' '.join([*command[-1:], *flags])}: {str(error).splitlines()[0]}"
    return Variant(name, " ".join([compiled.compiler, *flags]), compiled)
