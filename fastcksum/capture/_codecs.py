"""What the bytes of a capture file are packed in, told by what it begins with, and what a file is that is none."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import zlib
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final, Protocol, cast

from fastcksum._extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO

MAX_WINDOW: Final = 1 << 28
"""Bytes that a decompressor may keep of what it wrote before. xz -9 needs 64 MB, zstd --ultra -22 128 MB."""

_CHUNK: Final = 1 << 14
"""Compressed bytes read at a time."""


class Stream(Protocol):
    """Bytes of a capture, in order."""

    def readinto(self, view: memoryview, /) -> int: ...


class DamagedStreamError(Exception):
    """Compressed data that cannot be decompressed any further."""


class Source:
    """The bytes of a file, each read once. The first few can be looked at before they are taken."""

    def __init__(self, file: FileIO) -> None:
        self.file = file
        self.head = b""
        self.taken = 0  # bytes of the file
        while len(self.head) < 8 and (more := file.read(8 - len(self.head))):
            self.head += more
        self._ahead = memoryview(self.head)

    def readinto(self, view: memoryview, /) -> int:
        n = min(len(view), len(self._ahead))
        if n:
            view[:n] = self._ahead[:n]
            self._ahead = self._ahead[n:]
        else:
            n = self.file.readinto(view) or 0
        self.taken += n
        return n

    def read(self, size: int) -> bytes:
        buffer = bytearray(size)
        with memoryview(buffer) as view:
            n = self.readinto(view)
        return bytes(buffer[:n])


class Decompressor(Protocol):
    """What lzma, bz2 and compression.zstd agree on: it never gives more than was asked for."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _Gzip:
    """zlib's decompressor in that form."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


class _Zstandard:
    """The decompressor of the package zstandard in that form.

    It gives all that its input makes. A block of four bytes makes 128 KiB at most, so that little input bounds it.
    """

    _AT_ONCE = 1 << 10

    def __init__(self, package: Any) -> None:
        self._object = package.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj(write_size=1 << 16)
        self._input = memoryview(b"")
        self.eof = False
        self.unused_data = b""

    @property
    def needs_input(self) -> bool:
        return not self._input

    def decompress(self, data: bytes, _max_length: int, /) -> bytes:
        if data:
            self._input = memoryview(bytes(self._input) + data)
        output: bytes = self._object.decompress(self._input[: self._AT_ONCE])
        self._input = self._input[self._AT_ONCE :]
        self.eof = self._object.eof
        if self.eof:
            self.unused_data = self._object.unused_data + bytes(self._input)
        return output


def _zstandard() -> Any:
    return extra("zstandard", "a zstd file", "capture")


def _zstd_decompressor() -> Decompressor:
    try:
        module = importlib.import_module("compression.zstd")  # Python 3.14
    except ModuleNotFoundError:
        return _Zstandard(_zstandard())
    windows = {module.DecompressionParameter.window_log_max: MAX_WINDOW.bit_length() - 1}
    return cast("Decompressor", module.ZstdDecompressor(options=windows))


def _zstd_writer(file: IO[bytes]) -> Any:
    try:
        return importlib.import_module("compression.zstd").ZstdFile(file, "wb")
    except ModuleNotFoundError:
        return _zstandard().ZstdCompressor().stream_writer(file, closefd=False)


@dataclass(frozen=True)
class Codec:
    """One kind of compression: how files begin and end that have it, and what takes it off and puts it on."""

    name: str
    magic: bytes
    suffix: str
    decompressor: Callable[[], Decompressor]
    writer: Callable[[IO[bytes]], Any]


CODECS: Final = (
    Codec("gzip", b"\x1f\x8b", ".gz", _Gzip, lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0)),
    Codec("zstd", b"\x28\xb5\x2f\xfd", ".zst", _zstd_decompressor, _zstd_writer),
    Codec(
        "xz",
        b"\xfd7zXZ\0",
        ".xz",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_WINDOW),
        lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115 - the caller closes it
    ),
    Codec("bzip2", b"BZh", ".bz2", bz2.BZ2Decompressor, lambda file: bz2.BZ2File(file, "wb")),
)


def codec_of(start: bytes) -> Codec | None:
    """The compression of a file that begins so."""
    return next((codec for codec in CODECS if start.startswith(codec.magic)), None)


def _errors() -> tuple[type[Exception], ...]:
    """What a decompressor raises for data that is none of its kind: bz2 raises OSError, those of zstd their own."""
    found: list[type[Exception]] = [zlib.error, lzma.LZMAError, OSError, EOFError]
    for name in ("zstandard", "compression.zstd"):
        try:
            found.append(importlib.import_module(name).ZstdError)
        except ModuleNotFoundError:
            continue
    return tuple(found)


class Decompressed:
    """The bytes in a file of one or more compressed members, one behind the other; at most as many at once as asked
    for.
    """

    def __init__(self, source: Source, codec: Codec) -> None:
        self._source = source
        self._codec = codec
        self._member: Decompressor | None = codec.decompressor()  # raises now if a package is missing
        self._begun = False
        self._input = b""
        self._output = memoryview(b"")
        self._errors = _errors()

    def readinto(self, view: memoryview, /) -> int:
        while not self._output:
            if not self._input and (self._member is None or self._member.needs_input):
                self._input = self._source.read(_CHUNK)
                if not self._input:
                    return self._last(view)
            self._decompress(len(view))
        return self._give(view)

    def _give(self, view: memoryview) -> int:
        n = min(len(view), len(self._output))
        view[:n] = self._output[:n]
        self._output = self._output[n:]
        return n

    def _last(self, view: memoryview) -> int:
        """What the decompressor still holds, now that the file has ended."""
        if self._member is None:
            return 0
        self._decompress(len(view))
        if self._output:
            return self._give(view)
        if self._member is not None:
            raise DamagedStreamError("the compressed data ends too early")
        return 0

    def _decompress(self, room: int) -> None:
        if self._member is None:
            self._input = self._input.lstrip(b"\0")  # tapes and block devices pad files with zeros
            if not self._input:
                return
            self._member = self._codec.decompressor()
        try:
            output = self._member.decompress(self._input, room)
        except self._errors as error:
            raise DamagedStreamError(f"the compressed data is damaged ({error})") from None
        self._output = memoryview(output)
        self._input = b""
        if self._member.eof:
            self._input = self._member.unused_data
            self._member = None


def open_stream(source: Source) -> Stream:
    """The bytes of a file as they were before it was compressed. ImportError if a package is missing for that."""
    codec = codec_of(source.head)
    return source if codec is None else Decompressed(source, codec)


_LOOKS: Final = (
    (b"\x7fELF", "an ELF program"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"PK\x03\x04", "a zip archive; unzip -p FILE NAME | fastcksum verify - reads a capture in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; extract the captures from it first"),
    (b"%PDF", "a PDF document"),
    *((codec.magic, f"{codec.name} data inside of compressed data") for codec in CODECS),
    (b"\x04\x22\x4d\x18", "lz4 data, which is not decompressed here; lz4 -dc FILE | fastcksum verify -"),
    (b"snoop\0\0\0", "a snoop capture; editcap turns it into pcapng"),
    (b"GMBU", "a Network Monitor capture; editcap turns it into pcapng"),
    (b"RTSS", "a Network Monitor capture; editcap turns it into pcapng"),
)

LOOK_BYTES: Final = 512
"""How much of the start of a file looks_like() wants to see."""


def looks_like(start: bytes) -> str:
    """What a file that begins so seems to be, in words."""
    if not start:
        return "it is empty"
    for magic, words in _LOOKS:
        if start.startswith(magic):
            return f"it looks like {words}"
    if start[257:262] == b"ustar":
        return "it looks like a tar archive; tar -xOf FILE NAME | fastcksum verify - reads a capture in it"
    if len(start) < 4:
        return f"it has {len(start)} bytes"
    try:
        text = start.decode()
    except UnicodeDecodeError as error:
        text = start[: error.start].decode() if len(start) - error.start < 4 else "\0"
    if text.isprintable() or all(character.isprintable() or character.isspace() for character in text):
        return f"it looks like text that begins with {text[:20]!r}"
    return f"it begins with the bytes {start[:8].hex(' ')}"
