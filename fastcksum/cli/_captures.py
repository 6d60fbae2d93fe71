"""What the commands on captures share: names as they may be shown, errors that leave the other files alone."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType


def shown(text: str) -> str:
    """Text for a terminal: control characters, and bytes of a name that are no UTF-8, as escapes."""
    readable = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in readable)


def opened(name: str) -> str | int:
    """What to open: standard input for "-"."""
    return 0 if name == "-" else name


def one_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """The type of an argument that is a comma list of these names."""

    def parse(text: str) -> list[str]:
        found = [part.strip() for part in text.split(",") if part.strip()]
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        if not found:
            raise argparse.ArgumentTypeError(f"name one or more of {', '.join(known)}")
        return found

    return parse


class Attempt:
    """Work on one file: what goes wrong with it is told on standard error, and failed becomes 2."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.failed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, BrokenPipeError) or not isinstance(
            error, OSError | ValueError | ImportError | MemoryError
        ):
            return False
        if isinstance(error, MemoryError):
            words = f"{self.name}: there is not enough memory for it"
        elif isinstance(error, OSError):
            name = error.filename if isinstance(error.filename, str) else self.name
            words = f"{name}: {error.strerror or error}"
        else:
            words = str(error)
        sys.stdout.flush()  # what was found before stands before the error
        print(f"fastcksum: {shown(words)}", file=sys.stderr)
        self.failed = 2
        return True


def attempts(names: Sequence[str]) -> Iterator[Attempt]:
    """An attempt for each file."""
    return map(Attempt, names)
