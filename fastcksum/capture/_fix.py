"""Mending a capture: the same file with checksums that are right."""

from __future__ import annotations

import os
import stat
import tempfile
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from fastcksum import _core
from fastcksum._progress import reporting
from fastcksum.packets import MENDABLE, STATUSES

from ._codecs import CODECS, Codec, codec_of
from ._pieces import Scanner, open_source
from ._read import warn_of
from ._report import by_layer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from fastcksum._progress import ProgressLike

    from ._codecs import Source
    from ._pieces import Piece


class FixReport:
    """What fix() found and did.

    packets          how many packets the capture has
    packets_changed  in how many of them a field was written
    changed          fields written, by layer and the status that each had. "good" are those that covered a field which
                     was written, as in a tunnel, and would not be good any more
    before           checksums by layer and status, as they were
    check_sequences  frame check sequences of Ethernet that were right and were written anew, since a field in their
                     frame was; one that was wrong stays
    left_alone       checksums that can't be computed, so that nothing was written: reason, and how many
    not_judged       why nothing was judged, as words, and in how many packets
    damage           words that say where and how the file is damaged, and that what is behind it was copied; or None
    """

    def __init__(self) -> None:
        self.packets = 0
        self.packets_changed = 0
        self.check_sequences = 0
        self.damage: str | None = None
        self._before, self._changed, self._left = (np.zeros(1 << 8, np.uint64) for _ in range(3))
        self._not_judged: Counter[str] = Counter()

    def mend(self, piece: Piece, statuses: int, check_sequences: npt.NDArray[np.uint8]) -> None:
        """Writes the fields of a piece, whose data must be writable."""
        right = _right_check_sequences(piece, check_sequences[: len(piece.offsets)])
        changed, silences = _core.mend_packets(
            piece.data,
            piece.offsets,
            piece.lengths,
            piece.original_lengths,
            piece.linktypes,
            statuses,
            self._before,
            self._changed,
            self._left,
        )
        self.check_sequences += _renew_check_sequences(piece, right)
        self.packets += len(piece.offsets)
        self.packets_changed += changed
        self._not_judged.update(silences)

    @property
    def changed(self) -> dict[str, dict[str, int]]:
        return _that_occur(self._changed)

    @property
    def before(self) -> dict[str, dict[str, int]]:
        return _that_occur(self._before)

    @property
    def fields_changed(self) -> int:
        """How many fields were written."""
        return int(self._changed.sum())

    @property
    def left_alone(self) -> dict[str, int]:
        reasons = zip(_core.REASONS, self._left.tolist(), strict=False)
        return {reason: n for reason, n in reasons if n}

    @property
    def not_judged(self) -> dict[str, int]:
        return dict(self._not_judged.most_common())

    def as_json(self) -> dict[str, Any]:
        """All of it, of types that JSON has."""
        names = (
            "packets",
            "packets_changed",
            "fields_changed",
            "check_sequences",
            "changed",
            "before",
            "left_alone",
            "not_judged",
        )
        return {**{name: getattr(self, name) for name in names}, "damage": self.damage}

    def text(self) -> str:
        """A summary of some lines."""
        found = f"{self.packets:,} packets, {int(self._before.sum()):,} checksums"
        lines = [f"{found}: {self.fields_changed:,} written in {self.packets_changed:,} packets"]
        lines += [
            f"  {layer}: " + ", ".join(f"{n:,} {_WAS[status]}" for status, n in counts.items())
            for layer, counts in self.changed.items()
        ]
        if self.check_sequences:
            lines.append(f"  frame check sequences that were right: {self.check_sequences:,} written anew")
        lines += [f"  left alone: {n:,} ({reason})" for reason, n in self.left_alone.items()]
        if self.not_judged:
            reasons = ", ".join(f"{reason}: {n:,}" for reason, n in self.not_judged.items())
            lines.append(f"  packets in which nothing was judged: {reasons}")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        return f"<FixReport: {self.packets:,} packets, {self.fields_changed:,} fields written>"


_CHECK_SEQUENCE: Final = 4
"""Bytes of the frame check sequence of Ethernet: CRC-32, the lowest byte first (IEEE 802.3 section 3.2.9)."""


def _right_check_sequences(piece: Piece, lengths: npt.NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Where the Ethernet frames of a piece begin and end whose check sequence stands behind them, and is right."""
    if not lengths.any():
        return []
    there = np.flatnonzero((lengths == _CHECK_SEQUENCE) & (piece.linktypes == _ETHERNET))
    starts, sizes = piece.offsets[there], piece.lengths[there]
    spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    with memoryview(piece.data) as data:
        return [
            (start, end)
            for start, end in spans
            if _check_sequence(data, start, end) == data[end : end + _CHECK_SEQUENCE]
        ]


def _renew_check_sequences(piece: Piece, right: list[tuple[int, int]]) -> int:
    """Writes those that are right no more. How many."""
    written = 0
    with memoryview(piece.data) as data:
        for start, end in right:
            sequence = _check_sequence(data, start, end)
            if data[end : end + _CHECK_SEQUENCE] != sequence:
                data[end : end + _CHECK_SEQUENCE] = sequence
                written += 1
    return written


def _check_sequence(data: memoryview, start: int, end: int) -> bytes:
    return zlib.crc32(data[start:end]).to_bytes(_CHECK_SEQUENCE, "little")


_ETHERNET: Final = 1

_WAS: Final = {
    "bad": "bad",
    "partial": "partial",
    "none": "not sent",
    "good": "around one that was written",
}


def _that_occur(counts: npt.NDArray[np.uint64]) -> dict[str, dict[str, int]]:
    """The counts of each code by layer and status, without zeros."""
    return {layer: {status: n for status, n in row.items() if n} for layer, row in by_layer(counts).items()}


def fix(
    path: str | os.PathLike[str] | int,
    out: str | os.PathLike[str] | int | None,
    *,
    status: Sequence[str] = ("bad", "partial"),
    dry_run: bool = False,
    progress: ProgressLike = None,
) -> FixReport:
    """Writes a copy of a capture in which the checksums are right; nothing but checksum fields changes.

    path      a file as read() takes it, read in pieces; or the number of an open file, which stays open
    out       the file to write, which may be path itself: a temporary file beside it takes its name at the end, so that
              it is there whole or not at all. Or the number of an open file. A suffix .gz, .zst, .xz or .bz2
              compresses; any other does not; none, and an open file, has the compression of path
    status    the checksums to mend: of "bad", "partial", "none". "none" gives one to senders that chose none
    dry_run   nothing is written; the report says what would be. out may be None
    progress  as for verify()

    The innermost field is written first, so that the ones around it cover it. What can't be computed stays: fragments,
    packets that the capture holds only a part of. A frame check sequence that the file announces, and that was right,
    is made right again. If the file is damaged, what stands behind the damage is copied as it is, with one
    CaptureWarning.

    OSError if a file can't be read or written; ValueError if path is no capture or a status is none of these.
    """
    statuses = 0
    for name in status:
        if name not in MENDABLE:
            raise ValueError(f"a status to mend must be one of {', '.join(MENDABLE)}, not {name!r}")
        statuses |= 1 << STATUSES.index(name)
    name = ("standard input" if path == 0 else f"file {path}") if isinstance(path, int) else os.fspath(path)
    report = FixReport()
    scanner = Scanner(name)
    with (
        open_source(path if isinstance(path, int) else name) as source,
        _written(None if dry_run else out, source, dry_run=dry_run) as file,
    ):
        scanner.sink = file.write if file is not None else None
        size = os.fstat(source.file.fileno()).st_size
        with reporting(
            progress if size or callable(progress) else False, Path(name).name, unit="B", unit_scale=True
        ) as show:
            for piece in scanner.pieces(source):
                report.mend(piece, statuses, scanner.check_sequences)
                show(source.taken, size or source.taken)
    report.damage = scanner.damage
    warn_of(name, scanner.damage)
    return report


@contextmanager
def _written(out: str | os.PathLike[str] | int | None, source: Source, *, dry_run: bool) -> Iterator[Any]:
    """The file to write into, compressed where it should be. A path gets its file only if nothing goes wrong."""
    if dry_run:
        yield None
    elif out is None:
        raise ValueError("fix() needs a file to write, or dry_run=True")
    elif isinstance(out, int):
        with open(out, "wb", closefd=False) as file, _packed(file, codec_of(source.head)) as packed:
            yield packed
    else:
        path = Path(out)
        with _beside(path, source) as beside, _packed(beside, _codec_for(path, source)) as packed:
            yield packed


def _codec_for(path: Path, source: Source) -> Codec | None:
    """The compression of a file of this name."""
    if path.suffix == "":
        return codec_of(source.head)
    return next((codec for codec in CODECS if codec.suffix == path.suffix), None)


@contextmanager
def _packed(file: IO[bytes], codec: Codec | None) -> Iterator[Any]:
    if codec is None:
        yield file
        return
    with codec.writer(file) as packed:
        yield packed


def _temporary(target: Path) -> IO[bytes]:
    """A new file beside target. An OSError names target, which the caller knows."""
    try:
        return tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(target)) from error


@contextmanager
def _beside(path: Path, source: Source) -> Iterator[IO[bytes]]:
    """A temporary file that becomes the one at path, with the permissions of what it was made from."""
    if path.exists() and not path.is_file():  # a device or a pipe is written into, not replaced
        with path.open("wb") as file:
            yield file
        return
    target = path.resolve()  # a link stays one
    with _temporary(target) as file:
        try:
            yield file
            file.flush()
            model = target.stat() if target.exists() else os.fstat(source.file.fileno())
            os.fchmod(file.fileno(), stat.S_IMODE(model.st_mode) if stat.S_ISREG(model.st_mode) else 0o644)
            Path(file.name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(file.name).unlink()
            raise
