"""The packets of a stream of bytes, found in pieces by csrc/packet/pcap.c."""

from __future__ import annotations

from contextlib import contextmanager
from io import FileIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from fastcksum import _core

from ._codecs import LOOK_BYTES, DamagedStreamError, Source, Stream, looks_like, open_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    from typing_extensions import Buffer


PIECE: Final = 1 << 19
"""Bytes read at a time: a few hundred microseconds of work, little enough to stay in the second-level cache."""

HEADROOM: Final = 1 << 16
"""Room in front of them for the beginning of a record that the piece before ended in."""

_ROOM: Final = 1 << 14
"""Packets found at a time."""


class Piece(NamedTuple):
    """Packets in a buffer. The arrays and the buffer are used again for the next piece."""

    data: Buffer
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.uint32]
    original_lengths: npt.NDArray[np.uint32]
    times: npt.NDArray[np.int64]
    linktypes: npt.NDArray[np.uint16]
    frames: npt.NDArray[np.int64]


Records: TypeAlias = tuple[
    "npt.NDArray[np.int64]",
    "npt.NDArray[np.uint32]",
    "npt.NDArray[np.uint32]",
    "npt.NDArray[np.int64]",
    "npt.NDArray[np.uint16]",
    "npt.NDArray[np.int64]",
]


def room_for(n: int) -> Records:
    """Room for n packets."""
    return (
        np.empty(n, np.int64),
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.empty(n, np.int64),
        np.empty(n, np.uint16),
        np.empty(n, np.int64),
    )


def cut(records: Records, n: int) -> Records:
    """The first n of them."""
    offsets, lengths, originals, times, linktypes, frames = records
    return offsets[:n], lengths[:n], originals[:n], times[:n], linktypes[:n], frames[:n]


def _fill(stream: Stream, buffer: bytearray, *, whole: bool) -> tuple[int, str | None, bool]:
    """Reads into the buffer, behind its headroom: the bytes, what broke the stream, and whether it has ended.

    whole: until the buffer is full; else as soon as anything came, which from a pipe is what there is by now.
    """
    filled = 0
    with memoryview(buffer) as view:
        try:
            while filled < PIECE:
                n = stream.readinto(view[HEADROOM + filled :])
                filled += n
                if n == 0:
                    return filled, None, True
                if not whole:
                    break
        except DamagedStreamError as error:
            return filled, str(error), True
    return filled, None, False


def _blocks(stream: Stream, *, whole: bool) -> Iterator[tuple[bytearray, int, str | None]]:
    """The stream in a buffer of up to PIECE bytes behind HEADROOM free ones, and what broke it, if anything did.

    One buffer, used again and again, by one thread: with a second thread that reads ahead, each piece has to move from
    the cache of one core to that of the other, which cost more than it saved (223 against 179 ns a packet on a busy
    machine with two cores).
    """
    buffer = bytearray(HEADROOM + PIECE)
    ended = False
    while not ended:
        n, broken, ended = _fill(stream, buffer, whole=whole)
        if n or broken is not None:
            yield buffer, n, broken


class Scanner:
    """Finds the packets of a stream. Afterwards, damage says in words what ended it early."""

    def __init__(self, name: str) -> None:
        self.damage: str | None = None
        self.sink: Callable[[Any], object] | None = (
            None  # gets every byte of the stream once its packets were yielded
        )
        self._name = name
        self._reader = _core.capture_reader()
        self._found = room_for(_ROOM)
        self.check_sequences = np.empty(_ROOM, np.uint8)  # bytes behind each packet of the piece that are one
        self._packets = 0
        self._begun = False  # whether anything of the file was taken
        self._at = 0  # where in the window the next record begins
        self._needed = 0  # bytes of a window that would hold it

    def pieces(self, source: Source) -> Iterator[Piece]:
        """The packets of a file, read in pieces. ValueError if it is no capture."""
        stream = open_stream(source)
        rest = bytearray()  # the beginning of a record whose end is not read yet
        received, broken = 0, None
        for buffer, n, failure in _blocks(stream, whole=source.file.seekable()):
            received, broken = received + n, failure
            if self.damage is not None:
                self._done(buffer, HEADROOM, HEADROOM + n)
                continue
            if self._needed > len(rest) + n:
                rest += memoryview(buffer)[HEADROOM : HEADROOM + n]
                continue
            if len(rest) <= HEADROOM:
                start, stop = HEADROOM - len(rest), HEADROOM + n
                buffer[start:HEADROOM] = rest
                window = buffer
            else:
                start, stop = 0, len(rest) + n
                window = rest + memoryview(buffer)[HEADROOM : HEADROOM + n]
            yield from self.records(window, start, stop, final=False)
            if self.damage is None:
                self._done(window, start, self._at)
                rest = window[self._at : stop]
            elif self.sink is None:
                return
            else:
                self._done(window, start, stop)
                rest = bytearray()
        if broken is None and self.damage is None:
            yield from self.records(rest, 0, len(rest), final=True)
        elif self.damage is None:
            self.set_damage(str(broken), received)
        self._done(rest, 0, len(rest))

    def _done(self, window: Buffer, start: int, stop: int) -> None:
        """Hands over bytes with which nothing is left to do."""
        if self.sink is not None and stop > start:
            with memoryview(window) as view:
                self.sink(view[start:stop])

    def records(self, window: Buffer, start: int, stop: int, *, final: bool) -> Iterator[Piece]:
        """The packets in window[start:stop]; final: nothing follows. ValueError if that is no capture."""
        self._at = start
        found = _ROOM
        while found == _ROOM and self.damage is None:
            found, taken, self._needed, words, where = _core.scan_capture(
                self._reader, window, self._at, stop, final, *self._found, self.check_sequences
            )
            if words == _core.NO_CAPTURE or (final and start == stop and not self._begun):
                with memoryview(window) as view:
                    looks = looks_like(bytes(view[start : min(stop, start + LOOK_BYTES)]))
                raise ValueError(f"{self._name} is no capture file (pcap or pcapng): {looks}")
            self._begun = self._begun or taken > 0
            self._packets += found
            self._at += taken
            if found:
                yield Piece(window, *cut(self._found, found))
            if words is not None:
                self.set_damage(words, where)

    def set_damage(self, words: str, where: int) -> None:
        """Notes what ended the reading."""
        self.damage = f"damaged at byte {where:,}: {words}; the {self._packets:,} packets before it are read"


@contextmanager
def open_source(name: str | int) -> Iterator[Source]:
    """The bytes of a file, unbuffered; a number is a descriptor, which stays open."""
    with FileIO(name, closefd=isinstance(name, str)) as file:
        yield Source(file)
