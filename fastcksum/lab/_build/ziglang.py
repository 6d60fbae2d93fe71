"""Clang of other versions than the distribution's: PyPI's `ziglang` wheels hold a whole one, linker included."""

from __future__ import annotations

import platform
import shlex
from pathlib import Path

from fastcksum.lab._machine.scratch import scratch


def ziglang_clang(folder: Path | str) -> tuple[str, ...]:
    """The command of the clang in a ziglang wheel: a compiler for compile_kernel() and matrix().

    folder: where `pip install --target FOLDER ziglang==VERSION` put it: 0.13.0 is clang 18.1.6, 0.15.2 is 20.1.2,
    0.16.0 is 21.1.0. ValueError with that command if it isn't there.

    This is clang's own driver with the system's headers, and does what the flags say. `zig cc` doesn't: it compiles
    with -O2 where -O3 is asked for, turns features off one by one, and knows no --section-start.
    """
    home = Path(folder).resolve() / "ziglang"
    zig = home / "zig"
    if not zig.is_file():
        raise ValueError(
            f"no ziglang in {folder}: pip install --target {shlex.quote(str(folder))} ziglang==0.16.0"
        )
    return (
        str(zig),
        "clang",
        "-target",
        f"{platform.machine()}-linux-gnu",
        "-resource-dir",
        str(home / "lib"),
        "-fuse-ld=lld",
        f"--ld-path={_linker(zig)}",
        "-Wno-unused-command-line-argument",  # the two before, where nothing is linked
    )


def _linker(zig: Path) -> Path:
    """A program ld.lld that is the wheel's own, which has no file of that name."""
    folder = Path(scratch(), f"lld of {zig}".replace("/", "_"))
    folder.mkdir(exist_ok=True)
    program = folder / "ld.lld"
    if not program.exists():
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(str(zig))} ld.lld "$@"\n')
        program.chmod(0o755)
    return program
