"""Verifying a capture."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from ._codecs import open_stream
from ._pieces import Scanner, open_file
from ._read import Capture, read, warn_of, whole_piece
from ._report import FileRead, Report, Tally

Progress: TypeAlias = Callable[[int, int], object]
"""Called now and then with the bytes of the file that are done, and all of them."""


def verify(source: str | os.PathLike[str] | Capture, *, progress: Progress | bool | None = None) -> Report:
    """A verdict on every checksum of a capture.

    source    the path of a file as read() takes it, which is then read in pieces and not kept; or a Capture
    progress  a function is called with the bytes of the file done, and all of them; None draws a bar on a terminal if
              tqdm is installed, True draws one anyway, False none

    What a packet contains never raises anything: see packets.verify_packet. Damage and the errors for a file are those of
    read(); a Capture with a packet outside its data is a ValueError that names it.
    """
    tally = Tally()
    if isinstance(source, Capture):
        tally.add(whole_piece(source))
        return Report(source, tally, source.damage)

    name = os.fspath(source)
    if not stat.S_ISREG(Path(name).stat().st_mode):
        return verify(read(name))  # it can be read only once, and the rows would need it again
    file_read = FileRead.at(name)
    scanner = Scanner(name)
    with open_file(name) as file, _progress(progress, name) as show:
        for piece in scanner.pieces(open_stream(file)):
            tally.add(piece)
            show(file.tell(), file_read.size)
    warn_of(name, scanner.damage)
    return Report(file_read, tally, scanner.damage)


@contextmanager
def _progress(progress: Progress | bool | None, name: str) -> Iterator[Progress]:
    """What to call with the bytes done and all bytes."""
    if callable(progress):
        yield progress
        return
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    make_bar = _tqdm(required=progress is True) if progress or (progress is None and on_terminal) else None
    if make_bar is None:
        yield lambda _done, _total: None
        return
    with make_bar(desc=Path(name).name, unit="B", unit_scale=True, leave=False) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def _tqdm(*, required: bool) -> Any:
    """tqdm.tqdm; None if it isn't installed and isn't required."""
    try:
        from tqdm import tqdm  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        if not required:
            return None
        raise ImportError("a progress bar needs the package tqdm: pip install 'fastcksum[capture]'") from None
    return tqdm
