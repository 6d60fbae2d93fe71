"""The tests that lean on what a CPU can do, as each of the recorded ones would run them (recorded_cpus.py)."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from recorded_cpus import RECORDED

HERE = Path(__file__).parent
LEAN_ON_THE_CPU = ("test_cpu.py", "test_raw_cksum.py")


def run_as(cpu: str, *files: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--rootdir", str(HERE.parent),
         *(str(HERE / file) for file in files)],
        capture_output=True, text=True, check=False, env={**environment, "RECORDED_CPU": cpu},
    )  # fmt: skip


@pytest.mark.parametrize("cpu", RECORDED)
def test_the_suite_holds_on(cpu: str) -> None:
    ran = run_as(cpu, *LEAN_ON_THE_CPU)
    if platform.machine() == "x86_64":
        assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    else:
        assert "on x86-64" in ran.stderr


def test_a_cpu_that_is_not_recorded_is_refused() -> None:
    ran = run_as("z80", "test_cpu.py")
    assert ran.returncode != 0
    assert "RECORDED_CPU=z80: one of zen3, zen5, sapphire_rapids, no_avx" in ran.stderr + ran.stdout
