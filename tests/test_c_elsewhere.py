"""The C tests where this CPU is not enough: vector kernels emulated, AArch64 and big-endian s390x under qemu-user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent / "c"
LINE = re.compile(r"^(.+?)\s+(\d+) checks, (\d+) failed$", re.MULTILINE)


def run(*command: str | Path) -> None:
    """Runs a script of the suite; each of its tests must have made checks, and none may have failed."""
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    counts = {name: (int(checks), int(failed)) for name, checks, failed in LINE.findall(done.stdout)}
    assert counts["lengths and offsets"][0] > 1_000_000
    assert all(checks > 0 and failed == 0 for checks, failed in counts.values())


@pytest.mark.needs_tool("gcc")
def test_every_vector_kernel_emulated() -> None:
    run(SUITE / "run_emulated.sh", "gcc")


@pytest.mark.parametrize(
    "machine",
    [
        pytest.param("aarch64", marks=pytest.mark.needs_tool("aarch64-linux-gnu-gcc", "qemu-aarch64")),
        pytest.param("s390x", marks=pytest.mark.needs_tool("s390x-linux-gnu-gcc", "qemu-s390x")),
    ],
)
def test_on_another_machine(machine: str) -> None:
    run(SUITE / "run_cross.sh", machine)
