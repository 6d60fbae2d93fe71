"""What the bytes of a capture file are packed in, told by what the file begins with, and what a file is that is none."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import BytesIO, FileIO


class Stream(Protocol):
    """Bytes of a capture, in order."""

    def readinto(self, view: memoryview, /) -> int: ...


class DamagedStreamError(Exception):
    """Compressed data that cannot be decompressed any further."""


class Plain:
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
                    raise DamagedStreamError("the compressed data ends too early")
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
            raise DamagedStreamError(f"the compressed data is damaged ({error})") from None
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


def open_stream(file: FileIO | BytesIO) -> Stream:
    """The stream for a file that stands at its beginning, by the magic number it begins with."""
    magic = _peek(file)
    if magic.startswith(b"\x1f\x8b"):
        return _Decompressed(file, lambda: zlib.decompressobj(wbits=31), (zlib.error,))
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        zstandard = _zstandard()
        return _Decompressed(
            file, lambda: zstandard.ZstdDecompressor().decompressobj(), (zstandard.ZstdError,)
        )
    return Plain(file)


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


def looks_like(start: bytes) -> str:
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
