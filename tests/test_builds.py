"""The extension built by other compilers, with other flags, as other systems build it; and what stops a build."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from test_packaging import ROOT, run

if TYPE_CHECKING:
    import subprocess

# What `dpkg-buildflags` of Debian 12 says, without the folder of the build.
DEBIAN = {
    "CFLAGS": "-g -O2 -fstack-protector-strong -Wformat -Werror=format-security",
    "CPPFLAGS": "-Wdate-time -D_FORTIFY_SOURCE=2",
    "LDFLAGS": "-Wl,-z,relro",
}
HARDENED = {
    "CFLAGS": "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection "
    "-fcf-protection -ftrivial-auto-var-init=zero",
    "LDFLAGS": "-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack",
}
# What Arch's Python was built with, and so hands to each extension.
LINK_TIME = {"CFLAGS": "-O2 -flto=auto -ffat-lto-objects", "LDFLAGS": "-flto=auto"}

SUMS_OF_EVERY_KERNEL = """
    import json, sys
    import fastcksum, fastcksum._core
    data = bytes.fromhex("0001f203f4f5f6f7") * 1000  # RFC 1071 section 3: eight bytes add up to ddf2
    sums = {kernel.name: fastcksum.raw_cksum(data, kernel=kernel) for kernel in fastcksum.kernels()
            if kernel.runs_here and kernel.role != "yardstick"}
    print(json.dumps([sys.byteorder, sums, fastcksum._core.__file__, fastcksum._core.build_facts()["flags"]]))
"""


def build_extension(target: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The extension of this checkout, built into a folder; no warning passes."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "-b", target, "-t", target / "objects"]
    return run(command, ROOT, succeeds=True, FASTCKSUM_WERROR="1", **environment)


def refusal(folder: Path, **environment: str) -> str:
    """What a build that can't be says: the one line of it."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "-b", folder, "-t", folder / "objects"]
    lines = run(command, ROOT, succeeds=False, **environment).stderr.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def import_it(folder: Path) -> tuple[Path, set[str]]:
    """Sums by every kernel of the extension in this folder. Its path and the flags that it was built with."""
    shutil.copytree(
        ROOT / "fastcksum", folder / "fastcksum", ignore=shutil.ignore_patterns("*.so"), dirs_exist_ok=True
    )
    done = run([sys.executable, "-c", dedent(SUMS_OF_EVERY_KERNEL)], folder)
    order, sums, extension, flags = json.loads(done.stdout)
    words = [int.from_bytes(pair, order) for pair in (b"\x00\x01", b"\xf2\x03", b"\xf4\xf5", b"\xf6\xf7")]
    assert "reference" in sums
    assert set(sums.values()) == {1000 * sum(words) % 0xFFFF}
    assert Path(extension).is_relative_to(folder)
    return Path(extension), set(flags.split())


@pytest.mark.needs_tool("gcc", "clang-19", "nm")
@pytest.mark.parametrize(
    ("compiler", "environment"),
    [
        pytest.param("gcc", LINK_TIME, id="gcc-lto"),
        pytest.param("gcc", DEBIAN, id="gcc-debian"),
        pytest.param("gcc", HARDENED, id="gcc-hardened"),
        pytest.param("clang-19", HARDENED, id="clang-hardened"),
        pytest.param("gcc", {"FASTCKSUM_DEBUG": "1"}, id="gcc-debug"),
    ],
)
def test_built_as_others_build(compiler: str, environment: dict[str, str], tmp_path: Path) -> None:
    build_extension(tmp_path, {"CC": compiler, **environment})
    extension, flags = import_it(tmp_path)
    # a shared object links though a name is missing, and only the call of a missing function would tell
    missing = run(["nm", "--undefined-only", extension], tmp_path).stdout
    assert "Py_" in missing
    assert "cksum_" not in missing
    assert flags >= set(environment.get("CFLAGS", "").split())
    assert ("-UNDEBUG" in flags) == ("FASTCKSUM_DEBUG" in environment)


@pytest.mark.needs_tool("gcc", "clang-19")
@pytest.mark.parametrize("standard", ["c17", "c2x"])
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_later_standards_of_c_know_no_fault(compiler: str, standard: str, tmp_path: Path) -> None:
    sources = [path for path in (ROOT / "csrc").rglob("*.c") if "adapters" not in path.parts]
    assert len(sources) > 40
    folders = ["-I", ROOT / "csrc", "-I", sysconfig.get_path("include")]
    facts = ['-DCKSUM_BUILD_COMPILER=""', '-DCKSUM_BUILD_FLAGS=""']
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
    run(
        [compiler, f"-std={standard}", "-O1", "-fsyntax-only", *warnings, *facts, *folders, *sources],
        tmp_path,
    )


@pytest.mark.needs_tool("clang-19")
def test_avx512_compiles_where_the_command_line_takes_its_registers_away(tmp_path: Path) -> None:
    """As zig's own clang does: its baseline has no 512-bit registers, whatever a function's target says."""
    sources = [path for path in (ROOT / "csrc" / "kernels").rglob("*.c") if "512" in path.name]
    assert len(sources) >= 4
    run(
        ["clang-19", "-std=c11", "-mno-evex512", "-fsyntax-only", "-Werror", "-I", ROOT / "csrc", *sources],
        tmp_path,
    )


# What stops a build, in one sentence


def fake_compiler(folder: Path, *flags: str) -> str:
    """gcc, but with other ideas of what it is."""
    script = folder / "a-compiler"
    script.write_text(f'#!/bin/sh\nexec gcc {" ".join(flags)} "$@"\n')
    script.chmod(0o755)
    return str(script)


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("-U__GNUC__ -D__GNUC__=8", "fastcksum needs gcc 9 or newer, or clang 11 or newer: set CC to one of them"),
        ("-D__clang__ -D__clang_major__=10", "fastcksum needs clang 11 or newer, or gcc 9 or newer: set CC to one"),
        ("-U__GNUC__", "fastcksum needs gcc or clang: it relies on"),
        ("-m32", "fastcksum needs a 64-bit target"),
    ],
)  # fmt: skip
def test_what_cannot_build_it_is_said_in_a_sentence(flags: str, words: str, tmp_path: Path) -> None:
    compiler = fake_compiler(tmp_path, *flags.split())
    line = refusal(tmp_path, CC=compiler)
    assert line.startswith(f"error: {words}")
    assert f"the compiler is {compiler}" in line


def test_no_compiler_and_a_broken_one_are_said_in_a_sentence(tmp_path: Path) -> None:
    line = refusal(tmp_path, CC="no-such-compiler")
    assert "'no-such-compiler' can't be run: No such file or directory" in line
    assert "apt-get install gcc libc6-dev" in line
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho cc1: out of luck >&2\nexit 3\n")
    broken.chmod(0o755)
    assert "can't be run: cc1: out of luck" in refusal(tmp_path, CC=os.fspath(broken))


def test_missing_headers_of_python_are_said_in_a_sentence(tmp_path: Path) -> None:
    script = dedent("""
        import runpy, sysconfig
        from setuptools.command.build_ext import build_ext
        finalize = build_ext.finalize_options
        def without_headers(self):
            finalize(self)
            self.include_dirs = ["/no/such/folder"]
        build_ext.finalize_options = without_headers
        import sys
        sys.argv = ["setup.py", "-q", "build_ext", *sys.argv[1:]]
        runpy.run_path("setup.py", run_name="__main__")
    """)
    lines = run(
        [sys.executable, "-c", script, "-b", tmp_path, "-t", tmp_path], ROOT, succeeds=False
    ).stderr.splitlines()
    assert len(lines) == 1, lines
    assert "Python's headers are missing" in lines[0]
    assert "apt-get install python3-dev" in lines[0]
