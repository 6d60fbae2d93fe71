"""What the tests share: the `kernel` fixture, the markers of tools (tools.py), the option --require-tools."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
import recorded_cpus
from tools import TOOLS, Tool

recorded_cpu = recorded_cpus.wanted()
if recorded_cpu is not None:
    os.environ["FASTCKSUM_CPUID"] = (
        recorded_cpu.cpuid
    )  # before the first kernel is asked for, and for each child

if TYPE_CHECKING:
    from collections.abc import Iterator

    import fastcksum


@functools.cache
def find_python(version: str) -> str | None:
    """The path of a CPython of this version ("3.12", "3.13t") that has its C headers: on the PATH or one of pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    candidates = [
        shutil.which(f"python{version}"),
        *sorted(map(str, pyenv.glob(f"{version.removesuffix('t')}.*/bin/python{version}")), reverse=True),
    ]
    question = "import os, sysconfig; print(os.path.isfile(sysconfig.get_path('include') + '/Python.h'))"
    for candidate in filter(None, candidates):
        answer = subprocess.run([candidate, "-c", question], capture_output=True, text=True, check=False)
        if answer.stdout.strip() == "True":  # a shim of pyenv's is on the PATH even where it starts nothing
            return candidate
    return None


def runnable_kernels() -> list[fastcksum.Kernel]:
    """The kernels that can run here and compute a sum. None without fastcksum: pytest_configure says why."""
    try:
        import fastcksum
    except ImportError:
        return []
    return [kernel for kernel in fastcksum.kernels() if kernel.runs_here and kernel.role != "yardstick"]


@pytest.fixture(params=runnable_kernels(), ids=lambda kernel: kernel.name, scope="module")
def kernel(request: pytest.FixtureRequest) -> fastcksum.Kernel:
    """Each kernel that can run here and computes a sum, in turn."""
    return cast("fastcksum.Kernel", request.param)


@pytest.fixture(autouse=recorded_cpu is not None, scope="session")
def features_of_the_recorded_cpu() -> Iterator[None]:
    """What /proc/cpuinfo would say there, for those parts that ask it instead of the registers."""
    from fastcksum.lab._build import features as _features

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_features, "features_here", recorded_cpus.flags_here)
        yield


@pytest.fixture(autouse=True, scope="session")
def short_warm_up() -> Iterator[None]:
    """No test asks how fast this machine is: a visit in this process is warmed for as long as a batch, once."""
    from fastcksum.lab._bench import runner, warm

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm, "warm_ticks", lambda target_ticks: target_ticks)
        patch.setattr(runner, "REVISITS", 0)  # nor how busy it is
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-tools",
        action="store_true",
        help="a test whose tool is missing fails instead of being skipped (unless Debian has no package of it)",
    )


def pytest_configure(config: pytest.Config) -> None:
    for marker in (
        "needs_tool(name, ...): a program or headers; tools.py lists them with their Debian packages",
        "needs_python(version, ...): another CPython with its headers, such as '3.12'",
    ):
        config.addinivalue_line("markers", marker)
    try:
        import fastcksum  # noqa: F401 - only to see whether it can be
    except ImportError as error:
        if error.name is not None:  # the interpreter's own words, about a module that it names
            raise
        raise pytest.UsageError(str(error)) from None

    import hypothesis  # here, so that the sentence above comes before the lack of a test extra

    # A clock decides nothing in these tests, not even whether a property took too long.
    hypothesis.settings.register_profile("fastcksum", deadline=None, print_blob=True)
    hypothesis.settings.load_profile("fastcksum")


# Files whose tests time something, fork and pin, and files that share what is dear to make: each group has one worker.
GROUPS = {
    **dict.fromkeys(
        ("compare", "counters", "lab", "learning", "linked", "modes", "progress", "results", "trace", "warm"),
        "measures",
    ),
    **dict.fromkeys(("packaging", "builds", "foreign_sources"), "builds"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups tests for their workers; the groups come first, since each is long."""

    def group_of(item: pytest.Item) -> str:
        return GROUPS.get(item.path.stem.removeprefix("test_"), "")

    for item in filter(group_of, items):
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
    items.sort(key=lambda item: (not group_of(item), group_of(item)))


def pytest_report_header() -> str:
    import fastcksum

    names = [
        kernel.name if kernel.runs_here else f"({kernel.name}: not here)" for kernel in fastcksum.kernels()
    ]
    cpu = "" if recorded_cpu is None else f", as on {os.environ['RECORDED_CPU']}"
    return f"fastcksum {fastcksum.__version__} from {Path(fastcksum.__file__).parent}, kernels {' '.join(names)}{cpu}"


def missing_tools(item: pytest.Item) -> list[tuple[str, Tool]]:
    """What the markers of a test name and is not here."""
    missing = []
    for marker in item.iter_markers("needs_tool"):
        for name in marker.args:
            if name not in TOOLS:
                raise pytest.UsageError(f"{item.nodeid} needs {name!r}; tools.py knows {sorted(TOOLS)}")
            if not TOOLS[name].is_here():
                missing.append((name, TOOLS[name]))
    for marker in item.iter_markers("needs_python"):
        missing += [(f"Python {name}", Tool(None)) for name in marker.args if find_python(name) is None]
    return missing


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = missing_tools(item)
    words = "; ".join(f"needs {name} ({tool.install_line()})" for name, tool in missing)
    if item.config.getoption("--require-tools") and any(tool.packages for _, tool in missing):
        pytest.fail(words, pytrace=False)
    if missing:
        pytest.skip(words)
