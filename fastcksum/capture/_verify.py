"""Verifying a capture."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from fastcksum._progress import reporting

from ._pieces import Scanner, open_source
from ._read import Capture, read, warn_of, whole_piece
from ._report import FileRead, Judged, Report, Summary, Tally, wanted_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fastcksum._progress import ProgressLike

    from ._codecs import Source
    from ._columns import Columns


def verify(source: str | os.PathLike[str] | Capture, *, progress: ProgressLike = None) -> Report:
    """A verdict on every checksum of a capture.

    source    the path of a file as read() takes it, which is then read in pieces and not kept; or a Capture
    progress  a function is called with the bytes of the file done, and all of them; None draws tqdm's bar on a
              terminal or in a notebook, True draws one anyway, False none

    What a packet contains never raises anything: see packets.verify_packet. Damage and the errors for a file are those
    of read(); a Capture with a packet outside its data is a ValueError that names it.
    """
    tally = Tally()
    if isinstance(source, Capture):
        whole = tally.add(whole_piece(source))
        return Report(source, tally, source.damage, [whole.per_packet], [whole.codes])

    name = os.fspath(source)
    if not stat.S_ISREG(Path(name).stat().st_mode):
        return verify(read(name))  # it can be read only once, and the rows would need it again
    per_packet, codes = [], []
    scanner = Scanner(name)
    with open_source(name) as opened:
        file_read = FileRead.of(name, opened.file)
        for judged in _judge(opened, scanner, tally, progress):
            per_packet.append(judged.per_packet)
            codes.append(judged.codes)
    warn_of(name, scanner.damage)
    return Report(file_read, tally, scanner.damage, per_packet, codes)


class Stream:
    """One reading of a file, a pipe or a device, judged while it is read, in bounded memory.

    source      a path, or the number of an open file, which stays open
    columns()   the verdicts, some at a time
    summary()   the counts so far; all of them once the columns have come to their end
    """

    def __init__(
        self, source: str | os.PathLike[str] | int, name: str, *, progress: ProgressLike = None
    ) -> None:
        self._source = source if isinstance(source, int) else os.fspath(source)
        self._progress = progress
        self._scanner = Scanner(name)
        self._tally = Tally()

    def columns(self, statuses: Sequence[str] = (), layers: Sequence[str] = ()) -> Iterator[Columns]:
        """The verdicts with one of these statuses and layers; without any of them, all. Errors as for verify()."""
        wanted = wanted_codes(statuses, layers)
        with open_source(self._source) as opened:
            for judged in _judge(opened, self._scanner, self._tally, self._progress):
                columns = judged.columns(wanted)
                if columns.n_rows:
                    yield columns

    def summary(self) -> Summary:
        return Summary(self._tally, self._scanner.damage)


def _judge(opened: Source, scanner: Scanner, tally: Tally, progress: ProgressLike) -> Iterator[Judged]:
    """The pieces of a file, judged."""
    status = os.fstat(opened.file.fileno())
    total = status.st_size if stat.S_ISREG(status.st_mode) else 0
    name = Path(str(opened.file.name)).name
    given = progress if total or callable(progress) else False  # of a pipe nobody knows the end
    with reporting(given, name, unit="B", unit_scale=True) as show:
        for piece in scanner.pieces(opened):
            yield tally.add(piece)
            show(opened.taken, total or opened.taken)
