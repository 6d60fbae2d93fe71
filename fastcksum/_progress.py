"""A word on the terminal about how far something is: tqdm where it is installed, a plain line where not."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TypeAlias

if TYPE_CHECKING:
    from types import TracebackType

Progress: TypeAlias = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    """Says nothing."""


class _Line:
    """One line of standard error, written over and over, and wiped at the end."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if percent != self.shown:
            self.shown = percent
            sys.stderr.write(f"\r{self.what}: {percent:3} %")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stderr.write("\r" + " " * (len(self.what) + 7) + "\r")
        sys.stderr.flush()


@contextmanager
def reporting(progress: Progress | None, what: str) -> Iterator[Progress]:
    """The function to call with (done, total): the one given, or one that draws on a terminal, or a silent one."""
    if progress is not None:
        yield progress
        return
    if sys.stderr is None or not sys.stderr.isatty():
        yield _silent
        return
    try:
        from tqdm import tqdm  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        with _Line(what) as line:
            yield line
        return
    size = shutil.get_terminal_size()  # 80 x 24 where a terminal says 0 x 0, on which tqdm would draw nothing
    columns, lines = min(size.columns, 100), size.lines
    with tqdm(desc=what, leave=False, file=sys.stderr, ncols=columns, nrows=lines) as bar:

        def draw(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield draw
