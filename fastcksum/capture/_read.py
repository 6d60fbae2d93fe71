"""A whole capture in memory."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._codecs import DamagedStreamError, open_stream
from ._pieces import PIECE, Piece, Scanner, open_source, room_for

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Buffer


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
    frames            int64 (n,), the number that Wireshark gives each, from 1; None: they are numbered in order
    """

    data: Buffer
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.uint32]
    original_lengths: npt.NDArray[np.uint32]
    timestamps: npt.NDArray[np.datetime64]
    linktypes: npt.NDArray[np.uint16]
    damage: str | None = None
    frames: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.offsets)


def whole_piece(capture: Capture) -> Piece:
    """A capture as one piece."""
    return Piece(
        capture.data,
        _column(capture.offsets, np.int64, "offsets"),
        _column(capture.lengths, np.uint32, "lengths"),
        _column(capture.original_lengths, np.uint32, "original_lengths"),
        np.require(capture.timestamps, "M8[ns]", ["C", "A"]).view(np.int64),
        _column(capture.linktypes, np.uint16, "linktypes"),
        _column(
            np.arange(1, len(capture) + 1) if capture.frames is None else capture.frames, np.int64, "frames"
        ),
    )


def _column(array: npt.ArrayLike, dtype: type[np.integer[Any]], name: str) -> npt.NDArray[Any]:
    """The integers as a contiguous array of this type. TypeError, ValueError if they are none or do not fit."""
    given = np.asarray(array)
    if given.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of {given.ndim} dimensions")
    if given.dtype == dtype:
        return np.require(given, requirements=["C", "A"])
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{name} must hold integers, not {given.dtype}")
    limits = np.iinfo(dtype)
    if given.size and (int(given.min()) < limits.min or int(given.max()) > limits.max):
        raise ValueError(
            f"{name} must be in {limits.min}..{limits.max}, not {int(given.min())}..{int(given.max())}"
        )
    return given.astype(dtype)


def _read_all(name: str) -> tuple[bytes, str | None]:
    """The whole file, decompressed, and what is wrong with its compression. ValueError if it begins as none does."""
    with open_source(name) as source:
        stream = open_stream(source)
        chunks: list[bytes] = []
        buffer = bytearray(PIECE)
        with memoryview(buffer) as view:
            try:
                while n := stream.readinto(view):
                    chunks.append(bytes(view[:n]))
                    if len(chunks) == 2:  # enough to tell a device that never ends
                        start = b"".join(chunks)
                        next(Scanner(name).records(start, 0, len(start), final=False), None)
            except DamagedStreamError as error:
                return b"".join(chunks), str(error)
        return b"".join(chunks), None


def warn_of(name: str, damage: str | None) -> None:
    if damage is not None:
        warnings.warn(f"{name} is {damage}", CaptureWarning, stacklevel=3)


def read(path: str | os.PathLike[str]) -> Capture:
    """The packets of a capture file, all of it in memory.

    pcap (both byte orders, microseconds and nanoseconds) and pcapng (any number of sections and interfaces), plain or
    compressed with gzip, zstd, xz or bzip2, told by what the file begins with.

    A file that is truncated or damaged gives the packets before the damage, and one CaptureWarning with the byte
    offset. OSError if it can't be read, ValueError, which says what it looks like, if it is no capture, ImportError if
    it is zstd, Python older than 3.14 and the extra "capture" not installed.
    """
    name = os.fspath(path)
    scanner = Scanner(name)
    data, broken = _read_all(name)
    found = [
        tuple(column.copy() for column in piece[1:])
        for piece in scanner.records(data, 0, len(data), final=broken is None)
    ]
    if broken is not None and scanner.damage is None:
        scanner.set_damage(broken, len(data))
    warn_of(name, scanner.damage)
    offsets, lengths, originals, times, linktypes, frames = (
        np.concatenate(parts) for parts in zip(room_for(0), *found, strict=True)
    )
    return Capture(data, offsets, lengths, originals, times.view("M8[ns]"), linktypes, scanner.damage, frames)
