"""Captures: the packets of a pcap or pcapng file as one buffer and arrays, and a verdict on every checksum in it.

The files are read with :mod:`fastcksum`'s own reader, csrc/packet/pcap.c, which says why. A file larger than memory is
verified in pieces; it is read, never mapped, so that a capture that shrinks meanwhile is a short read and no crash.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from . import _core
from .packets import LAYERS, LINKS, STATUSES, Status, verdict_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from typing_extensions import Buffer

__all__ = ["Capture", "CaptureWarning", "Report", "Row", "read", "verify"]

Progress: TypeAlias = Callable[[int, int], object]
"""Called now and then with the bytes of the file that are done, and all of them."""

_PIECE: Final = 1 << 19
"""Bytes read at a time: a few hundred microseconds of work, little enough to stay in the second-level cache."""

_HEADROOM: Final = 1 << 16
"""Room in front of them for the beginning of a record that the piece before ended in."""

_ROOM: Final = 1 << 14
"""Packets found at a time."""


class CaptureWarning(UserWarning):
    """A capture is damaged; what was read before the damage stands."""


@dataclass(frozen=True, eq=False)
class Capture:
    """The packets of a capture: one buffer, and where in it each lies.

    data              the whole file, decompressed
    offsets           int64 (n,), first byte of each packet in data
    lengths           uint32 (n,), bytes captured of each
    original_lengths  uint32 (n,), bytes that each had on the wire
    timestamps        datetime64[ns] (n,), UTC; NaT where the file gives no time
    linktypes         uint16 (n,), what each packet begins with, as in packets.LINKS
    damage            words that say where and how the file is damaged; None if it is whole
    """

    data: Buffer
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.uint32]
    original_lengths: npt.NDArray[np.uint32]
    timestamps: npt.NDArray[np.datetime64]
    linktypes: npt.NDArray[np.uint16]
    damage: str | None = None

    def __len__(self) -> int:
        return len(self.offsets)


class Row(NamedTuple):
    """One checksum of one packet of a capture.

    packet    number of the packet, from 0
    time      numpy.datetime64 in nanoseconds, UTC
    layer, status, found, expected, reason: as in packets.Verdict
    src, dst  addresses of the IP header around it, as text; None where that header was cut off
    protocol  the IP protocol number; for layer "ipv4" that of what the header carries
    """

    packet: int
    time: np.datetime64
    layer: str
    src: str | None
    dst: str | None
    protocol: int
    status: Status
    found: int | None
    expected: int | None
    reason: str


# ---- reading ----


class _Stream(Protocol):
    """Bytes of a capture, in order."""

    def readinto(self, view: memoryview, /) -> int: ...


class _DamagedStreamError(Exception):
    """Compressed data that cannot be decompressed any further."""


class _Plain:
    """A file as it is."""

    def __init__(self, file: FileIO | BytesIO) -> None:
        self._file = file

    def readinto(self, view: memoryview, /) -> int:
        return self._file.readinto(view) or 0


class _Decompressor(Protocol):
    """What zlib and zstandard agree on."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Decompressed:
    """The bytes in a file of one or more compressed members, one behind the other."""

    _CHUNK = 1 << 14  # compressed bytes at a time: little enough that what comes out of them fits in memory

    def __init__(
        self, file: FileIO | BytesIO, make: Callable[[], _Decompressor], errors: tuple[type[Exception], ...]
    ) -> None:
        self._file = file
        self._make = make
        self._errors = errors
        self._member: _Decompressor | None = None
        self._input = b""
        self._output = memoryview(b"")

    def readinto(self, view: memoryview, /) -> int:
        while not self._output:
            if not self._input:
                self._input = self._file.read(self._CHUNK) or b""
            if not self._input:
                if self._member is not None:
                    raise _DamagedStreamError("the compressed data ends too early")
                return 0
            self._decompress()
        n = min(len(view), len(self._output))
        view[:n] = self._output[:n]
        self._output = self._output[n:]
        return n

    def _decompress(self) -> None:
        if self._member is None:
            self._input = self._input.lstrip(b"\0")  # tapes and block devices pad files with zeros
            if not self._input:
                return
            self._member = self._make()
        try:
            output = self._member.decompress(self._input)
        except self._errors as error:
            raise _DamagedStreamError(f"the compressed data is damaged ({error})") from None
        self._output = memoryview(output)
        self._input = b""
        if self._member.eof:
            self._input = self._member.unused_data
            self._member = None


def _zstandard() -> Any:
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise ImportError(
            "reading zstd files needs the package zstandard: pip install 'fastcksum[capture]'"
        ) from None
    return zstandard


def _open_stream(file: FileIO | BytesIO) -> _Stream:
    """The stream for a file that stands at its beginning, by the magic number it begins with."""
    magic = _peek(file)
    if magic.startswith(b"\x1f\x8b"):
        return _Decompressed(file, lambda: zlib.decompressobj(wbits=31), (zlib.error,))
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        zstandard = _zstandard()
        return _Decompressed(
            file, lambda: zstandard.ZstdDecompressor().decompressobj(), (zstandard.ZstdError,)
        )
    return _Plain(file)


def _peek(file: FileIO | BytesIO) -> bytes:
    magic = file.read(4) or b""
    file.seek(0)
    return magic


_LOOKS: Final = (
    (b"\x7fELF", "an ELF program"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\xfd7zXZ", "xz data, which is not decompressed here"),
    (b"BZh", "bzip2 data, which is not decompressed here"),
    (b"\x04\x22\x4d\x18", "lz4 data, which is not decompressed here"),
    (b"snoop\0\0\0", "a snoop capture; editcap turns it into pcapng"),
    (b"GMBU", "a Network Monitor capture; editcap turns it into pcapng"),
    (b"RTSS", "a Network Monitor capture; editcap turns it into pcapng"),
)


def _looks_like(start: bytes) -> str:
    """What a file that begins so seems to be, in words."""
    if not start:
        return "it is empty"
    for magic, words in _LOOKS:
        if start.startswith(magic):
            return f"it looks like {words}"
    if len(start) < 4:
        return f"it has {len(start)} bytes"
    try:
        text = start.decode()
    except UnicodeDecodeError as error:
        text = start[: error.start].decode() if len(start) - error.start < 4 else "\0"
    if text.isprintable() or all(character.isprintable() or character.isspace() for character in text):
        return f"it looks like text that begins with {text[:20]!r}"
    return f"it begins with the bytes {start[:8].hex(' ')}"


class _Piece(NamedTuple):
    """Packets in a buffer. The arrays and the buffer are used again for the next piece."""

    data: Buffer
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.uint32]
    original_lengths: npt.NDArray[np.uint32]
    times: npt.NDArray[np.int64]
    linktypes: npt.NDArray[np.uint16]


_Columns: TypeAlias = tuple[
    "npt.NDArray[np.int64]",
    "npt.NDArray[np.uint32]",
    "npt.NDArray[np.uint32]",
    "npt.NDArray[np.int64]",
    "npt.NDArray[np.uint16]",
]


def _columns(n: int) -> _Columns:
    """Room for n packets."""
    return (
        np.empty(n, np.int64),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.empty(n, np.int64),
        np.empty(n, np.uint16),
    )


def _fill(stream: _Stream, buffer: bytearray) -> tuple[int, str | None]:
    """Reads into the buffer, behind its headroom, until it is full or the stream ends; the bytes, and what broke it."""
    filled = 0
    with memoryview(buffer) as view:
        try:
            while filled < _PIECE and (n := stream.readinto(view[_HEADROOM + filled :])):
                filled += n
        except _DamagedStreamError as error:
            return filled, str(error)
    return filled, None


def _blocks(stream: _Stream) -> Iterator[tuple[bytearray, int, str | None]]:
    """The stream in a buffer of up to _PIECE bytes behind _HEADROOM free ones, and what broke it, if anything did.

    One buffer, used again and again, by one thread: with a second thread that reads ahead, each piece has to move from
    the cache of one core to that of the other, which cost more than it saved (223 against 179 ns a packet on a busy
    machine with two cores).
    """
    buffer = bytearray(_HEADROOM + _PIECE)
    n, broken = _PIECE, None
    while n == _PIECE and broken is None:
        n, broken = _fill(stream, buffer)
        if n or broken is not None:
            yield buffer, n, broken


class _Scanner:
    """Finds the packets of a stream. Afterwards, damage says in words what ended it early."""

    def __init__(self, name: str) -> None:
        self.damage: str | None = None
        self._name = name
        self._reader = _core.capture_reader()
        self._columns = _columns(_ROOM)
        self._packets = 0
        self._begun = False  # whether anything of the file was taken
        self._at = 0  # where in the window the next record begins
        self._needed = 0  # bytes of a window that would hold it

    def pieces(self, stream: _Stream) -> Iterator[_Piece]:
        """The packets of a stream, read in pieces. ValueError if it is no capture."""
        rest = bytearray()  # the beginning of a record whose end is not read yet
        received, broken = 0, None
        for buffer, n, failure in _blocks(stream):
            received, broken = received + n, failure
            if self._needed > len(rest) + n:
                rest += memoryview(buffer)[_HEADROOM : _HEADROOM + n]
                continue
            if len(rest) <= _HEADROOM:
                start, stop = _HEADROOM - len(rest), _HEADROOM + n
                buffer[start:_HEADROOM] = rest
                window = buffer
            else:
                start, stop = 0, len(rest) + n
                window = rest + memoryview(buffer)[_HEADROOM : _HEADROOM + n]
            yield from self.records(window, start, stop, final=False)
            rest = window[self._at : stop]
            if self.damage is not None:
                return
        if broken is None:
            yield from self.records(rest, 0, len(rest), final=True)
        else:
            self.set_damage(broken, received)

    def records(self, window: Buffer, start: int, stop: int, *, final: bool) -> Iterator[_Piece]:
        """The packets in window[start:stop]; final: nothing follows. ValueError if that is no capture."""
        self._at = start
        found = _ROOM
        while found == _ROOM and self.damage is None:
            found, taken, self._needed, words, where = _core.scan_capture(
                self._reader, window, self._at, stop, final, *self._columns
            )
            if words == _core.NO_CAPTURE or (final and start == stop and not self._begun):
                with memoryview(window) as view:
                    looks = _looks_like(bytes(view[start : min(stop, start + 64)]))
                raise ValueError(f"{self._name} is no capture file (pcap or pcapng): {looks}")
            self._begun = self._begun or taken > 0
            self._packets += found
            self._at += taken
            if found:
                offsets, lengths, originals, times, linktypes = self._columns
                yield _Piece(
                    window,
                    offsets[:found],
                    lengths[:found],
                    originals[:found],
                    times[:found],
                    linktypes[:found],
                )
            if words is not None:
                self.set_damage(words, where)

    def set_damage(self, words: str, where: int) -> None:
        """Notes what ended the reading."""
        self.damage = f"damaged at byte {where:,}: {words}; the {self._packets:,} packets before it are read"


def _open(path: str) -> FileIO | BytesIO:
    """The file, unbuffered; the bytes of what can be read only once."""
    file = FileIO(path)
    if file.seekable():
        return file
    with file:
        return BytesIO(file.readall())


def _read_all(name: str) -> tuple[bytes, str | None]:
    """The whole file, decompressed, and what is wrong with its compression."""
    with _open(name) as file:
        stream = _open_stream(file)
        if isinstance(stream, _Plain):
            return file.read(), None
        chunks: list[bytes] = []
        buffer = bytearray(_PIECE)
        with memoryview(buffer) as view:
            try:
                while n := stream.readinto(view):
                    chunks.append(bytes(view[:n]))
            except _DamagedStreamError as error:
                return b"".join(chunks), str(error)
        return b"".join(chunks), None


def _warn(name: str, damage: str | None) -> None:
    if damage is not None:
        warnings.warn(f"{name} is {damage}", CaptureWarning, stacklevel=3)


def read(path: str | os.PathLike[str]) -> Capture:
    """The packets of a capture file, all of it in memory.

    pcap (both byte orders, microseconds and nanoseconds) and pcapng (any number of sections and interfaces), plain or
    compressed with gzip or zstd, told by what the file begins with.

    A file that is truncated or damaged gives the packets before the damage, and one CaptureWarning with the byte
    offset. OSError if it can't be read, ValueError, which says what it looks like, if it is no capture, ImportError if
    it is zstd and the extra "capture" isn't installed.
    """
    name = os.fspath(path)
    scanner = _Scanner(name)
    data, broken = _read_all(name)
    found = [
        tuple(column.copy() for column in piece[1:])
        for piece in scanner.records(data, 0, len(data), final=broken is None)
    ]
    if broken is not None and scanner.damage is None:
        scanner.set_damage(broken, len(data))
    _warn(name, scanner.damage)
    offsets, lengths, originals, times, linktypes = (
        np.concatenate(parts) for parts in zip(_columns(0), *found, strict=True)
    )
    return Capture(data, offsets, lengths, originals, times.view("M8[ns]"), linktypes, scanner.damage)


# ---- verifying ----


@dataclass(frozen=True, eq=False)
class _File:
    """A capture file that was verified in pieces, and how to tell whether it still is the same."""

    name: str
    size: int
    identity: tuple[int, ...]

    @classmethod
    def at(cls, name: str) -> _File:
        status = Path(name).stat()
        return cls(name, status.st_size, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))

    def pieces(self) -> Iterator[_Piece]:
        if _File.at(self.name).identity != self.identity:
            raise ValueError(f"{self.name} has changed since it was verified: verify it again")
        with _open(self.name) as file:
            yield from _Scanner(self.name).pieces(_open_stream(file))


def _whole(capture: Capture) -> _Piece:
    """A capture as one piece."""
    return _Piece(
        capture.data,
        _column(capture.offsets, np.int64, "offsets"),
        _column(capture.lengths, np.uint32, "lengths"),
        _column(capture.original_lengths, np.uint32, "original_lengths"),
        np.ascontiguousarray(capture.timestamps, "M8[ns]").view(np.int64),
        _column(capture.linktypes, np.uint16, "linktypes"),
    )


def _column(array: npt.ArrayLike, dtype: type[np.integer[Any]], name: str) -> npt.NDArray[Any]:
    """The integers as a contiguous array of this type. TypeError, ValueError if they are none or do not fit."""
    given = np.asarray(array)
    if given.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of {given.ndim} dimensions")
    if given.dtype == dtype:
        return np.ascontiguousarray(given)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{name} must hold integers, not {given.dtype}")
    limits = np.iinfo(dtype)
    if given.size and (int(given.min()) < limits.min or int(given.max()) > limits.max):
        raise ValueError(
            f"{name} must be in {limits.min}..{limits.max}, not {int(given.min())}..{int(given.max())}"
        )
    return given.astype(dtype)


class _Tally:
    """The verdicts on the pieces of a capture."""

    def __init__(self) -> None:
        self.per_packet: list[bytes] = []
        self.codes: list[bytes] = []
        self.counts = np.zeros(1 << 8, np.uint64)
        self.unknown_links: dict[int, int] = {}

    def add(self, piece: _Piece) -> None:
        per_packet, codes, unknown = _core.verify_packets(
            piece.data,
            piece.offsets,
            piece.lengths,
            piece.original_lengths,
            piece.linktypes,
            self.counts,
        )
        self.per_packet.append(per_packet)
        self.codes.append(codes)
        if unknown:
            numbers, counts = np.unique(piece.linktypes, return_counts=True)
            for number, n in zip(numbers.tolist(), counts.tolist(), strict=True):
                if number not in LINKS:
                    self.unknown_links[number] = self.unknown_links.get(number, 0) + n


class Report:
    """The verdicts on a capture.

    packets        how many packets it has
    codes          uint8, one for each checksum: 8 * index in packets.LAYERS + index in packets.STATUSES
    per_packet     uint8 (packets,), how many checksums each packet has; 0 where there was nothing to judge
    unknown_links  link types that are not understood: packets of each, in which nothing was judged
    damage         words that say where and how the file is damaged; None if it is whole
    """

    def __init__(self, source: Capture | _File, tally: _Tally, damage: str | None) -> None:
        self._source = source
        self._counts = tally.counts
        self.per_packet = np.frombuffer(b"".join(tally.per_packet), np.uint8)
        self.codes = np.frombuffer(b"".join(tally.codes), np.uint8)
        self.packets = len(self.per_packet)
        self.unknown_links = tally.unknown_links
        self.damage = damage

    def counts(self) -> dict[Status, int]:
        """How many checksums have each status."""
        by_status = self._table().sum(axis=0)
        return _by_status(by_status)

    def counts_by_layer(self) -> dict[str, dict[Status, int]]:
        """The same for each layer that occurs."""
        return {layer: _by_status(row) for layer, row in zip(LAYERS, self._table(), strict=True) if row.any()}

    def _table(self) -> npt.NDArray[np.uint64]:
        return self._counts.reshape(-1, 8)[: len(LAYERS), : len(STATUSES)]

    @cached_property
    def rows(self) -> list[Row]:
        """Every verdict, expanded on first access; a file is read once more for it (ValueError if it has changed)."""
        return list(self.iter_rows())

    def iter_rows(self, *statuses: Status) -> Iterator[Row]:
        """The verdicts with one of these statuses, or all of them, one after the other and without keeping them.

        ValueError for a status that is none, or if the file has changed since it was verified.
        """
        for status in statuses:
            if status not in STATUSES:
                raise ValueError(f"a status must be one of {', '.join(STATUSES)}, not {status!r}")
        wanted = np.zeros(1 << 8, bool)
        wanted.reshape(-1, 8)[:, [STATUSES.index(status) for status in statuses or STATUSES]] = True
        first_packet = first_code = 0
        pieces = self._source.pieces() if isinstance(self._source, _File) else iter([_whole(self._source)])
        for piece in pieces:
            per_packet = self.per_packet[first_packet : first_packet + len(piece.offsets)]
            ends = np.cumsum(per_packet, dtype=np.int64)
            codes = self.codes[first_code : first_code + (int(ends[-1]) if len(ends) else 0)]
            packets = np.unique(np.searchsorted(ends, np.flatnonzero(wanted[codes]), side="right"))
            for i in packets.tolist():
                for row in _rows_of(piece, i, first_packet + i):
                    if not statuses or row.status in statuses:
                        yield row
            first_packet += len(per_packet)
            first_code += len(codes)

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame, one verdict a row; found and expected are nullable integers. Needs pandas."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ModuleNotFoundError:
            raise ImportError(
                "Report.frame() needs the package pandas: pip install 'fastcksum[lab]'"
            ) from None
        frame = pd.DataFrame(self.rows, columns=list(Row._fields))
        return frame.astype({"time": "M8[ns]", "found": "UInt16", "expected": "UInt16"})

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {status}" for status, n in self.counts().items() if n)
        return f"<Report: {self.packets:,} packets, {counts or 'no checksums'}>"


def _by_status(counts: npt.NDArray[np.uint64]) -> dict[Status, int]:
    statuses: tuple[Status, ...] = STATUSES
    return dict(zip(statuses, counts.tolist(), strict=True))


def _rows_of(piece: _Piece, i: int, number: int) -> Iterator[Row]:
    """The verdicts on the i-th packet of a piece."""
    time = piece.times[i].view("M8[ns]")
    items = _core.verify_packet(
        piece.data,
        int(piece.offsets[i]),
        int(piece.lengths[i]),
        int(piece.original_lengths[i]),
        int(piece.linktypes[i]),
    )
    for item in items:
        verdict = verdict_of(item)
        protocol, src, dst = item[6:]
        yield Row(
            number,
            time,
            verdict.layer,
            _address_text(src),
            _address_text(dst),
            protocol,
            verdict.status,
            verdict.found,
            verdict.expected,
            verdict.reason,
        )


def _address_text(address: bytes | None) -> str | None:
    if address is None:
        return None
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def verify(source: str | os.PathLike[str] | Capture, *, progress: Progress | bool | None = None) -> Report:
    """A verdict on every checksum of a capture.

    source    the path of a file as read() takes it, which is then read in pieces and not kept; or a Capture
    progress  a function is called with the bytes of the file done, and all of them; None draws a bar on a terminal if
              tqdm is installed, True draws one anyway, False none

    What a packet contains never raises anything: see packets.verify_packet. Damage and the errors for a file are those of
    read(); a Capture with a packet outside its data is a ValueError that names it.
    """
    tally = _Tally()
    if isinstance(source, Capture):
        tally.add(_whole(source))
        return Report(source, tally, source.damage)

    name = os.fspath(source)
    if not stat.S_ISREG(Path(name).stat().st_mode):
        return verify(read(name))  # it can be read only once, and the rows would need it again
    file_read = _File.at(name)
    scanner = _Scanner(name)
    with _open(name) as file, _progress(progress, name) as show:
        for piece in scanner.pieces(_open_stream(file)):
            tally.add(piece)
            show(file.tell(), file_read.size)
    _warn(name, scanner.damage)
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
