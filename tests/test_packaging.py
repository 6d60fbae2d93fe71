"""The ways in: sdist, wheel, editable install, the checkout's root, a new kernel, other Pythons and sub-interpreters.

Nothing is fetched: builds use the setuptools that runs the tests, and each new environment finds NumPy in this one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from conftest import find_python
from other_python import lend_setuptools

import fastcksum
from fastcksum import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parent.parent
NOT_SOURCE = shutil.ignore_patterns(
    ".*_cache", ".git", ".hypothesis", ".ipynb_checkpoints", ".nox", ".venv", "*.egg-info", "*.o", "*.py[cod]",
    "*.so", "__pycache__", "build", "dist", "venv",
)  # fmt: skip
INSTALL_LINE = "pip install -e '.[test]'"
HIDDEN = "hides the installed fastcksum"
EXAMPLE = bytes.fromhex("0001f203f4f5f6f7")  # RFC 1071 section 3: its words add up to ddf2
SUM_OF_EXAMPLE = int.from_bytes(b"\xdd\xf2", sys.byteorder)


def run(
    command: Sequence[object], folder: Path, *, succeeds: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder; what it printed is in the failure message."""
    clean = {
        name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "FASTCKSUM_KERNEL"}
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    words = f"{shlex.join(done.args)} gave {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert (done.returncode == 0) == succeeds, words
    return done


def build(kind: str, folder: Path, target: Path) -> Path:
    """An sdist or a wheel, made as pip makes it: through the build backend."""
    call = f"from setuptools import build_meta; print('\\n' + build_meta.build_{kind}({str(target)!r}))"
    return target / run([sys.executable, "-c", call], folder).stdout.splitlines()[-1]


@dataclass(frozen=True)
class Environment:
    """A fresh virtual environment that finds the dependencies, but no fastcksum, of the one that runs the tests."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @classmethod
    def make(cls, folder: Path) -> Environment:
        run([sys.executable, "-m", "venv", "--without-pip", folder], folder.parent)
        environment = cls(folder)
        # a line of a .pth file adds a folder, but not what the .pth files in there add: the editable install
        (environment.site_packages() / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        return environment

    def site_packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def install(self, *what: str | Path) -> None:
        pip = [self.python, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation"]
        run([*pip, "--ignore-installed", *what], self.folder)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source files alone, as a clone would have them."""
    folder = tmp_path_factory.mktemp("checkout") / "fastcksum"
    shutil.copytree(ROOT, folder, ignore=NOT_SOURCE)
    return folder


@pytest.fixture(scope="module")
def sdist(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", checkout, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel made from the sdist, so that what the sdist lacks is missed."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    run(["tar", "-xf", sdist], unpacked)
    return build("wheel", next(unpacked.iterdir()), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment.make(tmp_path_factory.mktemp("installed") / "venv")
    environment.install(wheel)
    return environment


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An editable install of a checkout of its own, which then has an extension in it."""
    folder = tmp_path_factory.mktemp("editable")
    shutil.copytree(ROOT, folder / "fastcksum", ignore=NOT_SOURCE)
    environment = Environment.make(folder / "venv")
    environment.install("-e", folder / "fastcksum")
    return environment


def source_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def c_sources() -> set[str]:
    return {name for name in source_files(ROOT / "csrc") if name.endswith((".c", ".h", ".def"))}


def test_the_sdist_has_every_file(sdist: Path, checkout: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    missing = {name for name in source_files(checkout) - names if not name.startswith("fastcksum.egg-info/")}
    assert missing <= {".gitignore"}


def test_the_wheel_has_the_package_its_data_and_the_c_sources(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    extension = "fastcksum/_core" + sysconfig.get_config_var("EXT_SUFFIX")
    package = {f"fastcksum/{name}" for name in source_files(ROOT / "fastcksum")}
    package = {name for name in package if not name.endswith((".so", ".pyc"))}
    assert names == package | {extension} | {f"fastcksum/_csrc/{name}" for name in c_sources()}


def test_the_installed_package_works_outside_the_checkout(installed: Environment, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(EXAMPLE)
    program = installed.folder / "bin" / "fastcksum"
    for command in ([program], [installed.python, "-m", "fastcksum"]):
        listing = run([*command, "kernels"], tmp_path).stdout
        assert all(kernel.name in listing for kernel in fastcksum.kernels())
        printed = run([*command, "sum", "file"], tmp_path).stdout
        assert f"{SUM_OF_EXAMPLE:#06x}" in printed, printed
    where = run([installed.python, "-c", "import fastcksum; print(fastcksum.__file__)"], tmp_path).stdout
    assert Path(where.strip()).is_relative_to(installed.site_packages())


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize("how", ["installed", "editable"])
def test_a_kernel_is_compiled_against_the_shipped_sources(
    how: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    environment: Environment = request.getfixturevalue(how)
    script = dedent("""
        from fastcksum import lab, raw_cksum
        source = lab.kernel_source("portable64")
        print(source)
        print(raw_cksum(bytes.fromhex("%s"), kernel=lab.compile_kernel(source)))
    """)
    script %= EXAMPLE.hex()
    source, result = run([environment.python, "-c", script], tmp_path).stdout.splitlines()
    inside = {
        "installed": environment.site_packages() / "fastcksum" / "_csrc",
        "editable": environment.folder.parent / "fastcksum" / "csrc",
    }
    assert Path(source).is_relative_to(inside[how])
    assert int(result) == SUM_OF_EXAMPLE


def test_an_editable_install_uses_the_checkout(editable: Environment, tmp_path: Path) -> None:
    script = "import fastcksum, fastcksum._core as core; print(fastcksum.__file__); print(core.__file__)"
    checkout = editable.folder.parent / "fastcksum"
    for line in run([editable.python, "-c", script], tmp_path).stdout.splitlines():
        assert Path(line).parent == checkout / "fastcksum"
    collected = run(
        [editable.python, "-m", "pytest", "--collect-only", "-q", "tests/test_layers.py"], checkout
    )
    assert "test_layers.py::" in collected.stdout


# The checkout's root, where the source folder hides what pip installed


@pytest.mark.parametrize("command", [("-c", "import fastcksum"), ("-m", "fastcksum", "kernels")])
def test_python_in_the_root_says_what_to_do(
    installed: Environment, checkout: Path, command: tuple[str, ...]
) -> None:
    last_line = run([installed.python, *command], checkout, succeeds=False).stderr.splitlines()[-1]
    assert last_line.startswith("ImportError: ")
    assert HIDDEN in last_line
    assert INSTALL_LINE in last_line
    assert str(checkout / "fastcksum") in last_line


def test_pytest_in_the_root_says_what_to_do(installed: Environment, checkout: Path) -> None:
    done = run([installed.python, "-m", "pytest"], checkout, succeeds=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    assert len(lines) == 1, lines
    assert HIDDEN in lines[0]
    assert INSTALL_LINE in lines[0]


def test_the_command_works_in_the_root(installed: Environment, checkout: Path) -> None:
    assert "reference" in run([installed.folder / "bin" / "fastcksum", "kernels"], checkout).stdout


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("", "ImportError: cannot import name 'Checksum' from 'fastcksum._core'"),
        (
            "raise ImportError('undefined symbol: x', name='fastcksum._core')",
            "ImportError: undefined symbol: x",
        ),
    ],
)
def test_other_import_errors_are_left_as_they_are(
    checkout: Path, tmp_path: Path, extension: str, words: str
) -> None:
    shutil.copytree(checkout / "fastcksum", tmp_path / "fastcksum")
    (tmp_path / "fastcksum" / "_core.py").write_text(extension)
    for command in (["-c", "import fastcksum"], ["-m", "pytest", "-c", os.devnull, ROOT / "tests"]):
        done = run([sys.executable, *command], tmp_path, succeeds=False)
        assert words in done.stderr
        assert HIDDEN not in done.stdout + done.stderr


# The build itself


def test_the_build_is_known_and_optimised() -> None:
    build = _core.build_facts()
    assert build["flags"].split()[-1] == "-O3"
    assert {"-std=c11", "-fvisibility=hidden"} <= set(build["flags"].split())
    assert shutil.which(build["command"].split()[0])
    assert build["compiler"]


def test_setup_stops_elsewhere_than_on_linux(checkout: Path) -> None:
    script = dedent("""
        import runpy, sys, sysconfig
        import setuptools.command.build_ext, setuptools.command.build_py
        sysconfig.get_config_vars()  # all that reads sys.platform by itself has done so
        sys.platform = "darwin"
        runpy.run_path("setup.py")
    """)
    done = run([sys.executable, "-c", script], checkout, succeeds=False)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("fastcksum builds on Linux only, this is darwin")


KERNEL = """
/* of_a_test: a kernel that a test adds. */
#include "kernels/kernel.h"

CKSUM_FUNCTION(of_a_test)(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;
    for (; len >= 2; len -= 2, p += 2) {
        total += cksum_load16(p);
    }
    return cksum_fold64(len == 1 ? total + cksum_odd_byte(*p) : total);
}

CKSUM_KERNEL(of_a_test, .summary = "added by a test", .role = CKSUM_PEER, .origin = "a test", .max_len = SIZE_MAX)
"""


def test_a_new_kernel_is_one_file_and_one_line(editable: Environment, tmp_path: Path) -> None:
    checkout = tmp_path / "fastcksum"
    shutil.copytree(ROOT, checkout, ignore=NOT_SOURCE)
    (checkout / "csrc" / "kernels" / "peer").mkdir(exist_ok=True)
    (checkout / "csrc" / "kernels" / "peer" / "of_a_test.c").write_text(KERNEL.lstrip())
    with (checkout / "csrc" / "kernels" / "kernels.def").open("a") as kernels:
        kernels.write("CKSUM_LISTED(of_a_test)\n")
    run([editable.python, "setup.py", "-q", "build_ext", "--inplace"], checkout)

    # `python -m` looks into the folder it starts in before it looks for what is installed
    python = [editable.python, "-m"]
    assert "of_a_test" in run([*python, "fastcksum", "kernels"], checkout).stdout
    run([*python, "pytest", "-q", "tests/test_layers.py", "-k", "list or role or kernel_includes"], checkout)
    assert "[of_a_test]" in run([*python, "pytest", "--collect-only", "-q", "--no-header"], checkout).stdout
    perf = ["fastcksum", "perf", "--kernels", "of_a_test", "--sizes", "20", "--rounds", "2"]
    assert "of_a_test" in run([*python, *perf], checkout).stdout


# Sub-interpreters: one that shares this interpreter's lock, and on newer Pythons several with a lock of their own

IN_SUBINTERPRETERS = """
import os, sys, threading

sys.path.insert(0, sys.argv[1])
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

SCRIPT = f'''
import sys
sys.path.insert(0, {sys.argv[1]!r})
import fastcksum
for i in range(1000):
    assert fastcksum.raw_cksum(bytes([1, 2]), i) == int.from_bytes(bytes([1, 2]), sys.byteorder) + i
    assert fastcksum.raw_cksum(bytearray(100_000), 7) == 7
assert [kernel.name for kernel in fastcksum.kernels()]
try:
    fastcksum.raw_cksum(b"", -1)
except ValueError as error:
    assert "-1" in str(error)
else:
    raise AssertionError("a negative start value was taken")
'''

def in_another():
    interpreter = interpreters.create()  # isolated: it has a lock of its own where there is such a thing
    failure = interpreters.run_string(interpreter, SCRIPT)
    interpreters.destroy(interpreter)
    if failure is None:
        succeeded.append(interpreter)
    else:
        print(failure.formatted if hasattr(failure, "formatted") else failure, file=sys.stderr)

succeeded = []
for turn in range(3):  # a later interpreter must not see what an earlier one left behind
    threads = [threading.Thread(target=in_another) for _ in range(3)]
    [thread.start() for thread in threads]
    exec(SCRIPT)
    [thread.join() for thread in threads]
print(len(succeeded), flush=True)
if sys.version_info[:2] == (3, 12):
    os._exit(0)  # 3.12.1 ends with a corrupt heap after isolated interpreters, with no extension loaded as well
"""


def test_subinterpreters_of_this_python(tmp_path: Path) -> None:
    package = Path(fastcksum.__file__).parent.parent
    assert run([sys.executable, "-c", IN_SUBINTERPRETERS, package], tmp_path).stdout == "9\n"


@pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=pytest.mark.needs_python(version)) for version in ("3.12", "3.13")],
)
def test_subinterpreters_with_a_lock_of_their_own(version: str, checkout: Path, tmp_path: Path) -> None:
    python = find_python(version)
    assert python is not None
    command = [python, "setup.py", "-q", "build_ext", "-b", tmp_path, "-t", tmp_path / "objects"]
    run(command, checkout, PYTHONPATH=lend_setuptools(tmp_path))
    shutil.copytree(checkout / "fastcksum", tmp_path / "fastcksum", dirs_exist_ok=True)
    assert run([python, "-c", IN_SUBINTERPRETERS, tmp_path], tmp_path).stdout == "9\n"
