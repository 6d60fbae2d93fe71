"""The packages that only an extra brings: imported when they are needed, missed in one sentence."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def extra(module: str, what: str, name: str, *, without: str = "") -> Any:
    """The module. ModuleNotFoundError that says what needs it, how to get it, and what does without it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        also = f"; {without}" if without else ""
        raise ModuleNotFoundError(
            f"{what} needs {missing}: pip install 'fastcksum[{name}]'{also}", name=error.name
        ) from error
