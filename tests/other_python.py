"""The extension built for another CPython, from a copy of the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import setuptools

ROOT = Path(__file__).resolve().parents[1]


def lend_setuptools(folder: Path) -> str:
    """The path that another interpreter finds this one's setuptools by, below a folder."""
    tools = folder / "tools"
    tools.mkdir()
    for part in ("setuptools", "_distutils_hack"):
        (tools / part).symlink_to(Path(setuptools.__file__).parent.parent / part)
    return str(tools)


def build_for(python: str, folder: Path) -> None:
    """Puts the package into a folder, its extension built by this interpreter with this one's setuptools."""
    tools = lend_setuptools(folder)
    for part in ("csrc", "fastcksum"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.so"))
    for part in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, folder)
    environment = {**os.environ, "PYTHONPATH": tools}
    subprocess.run(
        [python, "setup.py", "-q", "build_ext", "--inplace"], cwd=folder, env=environment, check=True
    )
