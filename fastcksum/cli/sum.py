"""fastcksum sum: the sums of files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

from fastcksum import raw_cksum

from ._common import command, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ._common import Commands

PIECE = 1 << 20  # bytes read at a time: even, so that no word is cut


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "sum",
        run,
        "print the raw sum (host byte order) and the checksum (as on the wire) of files",
        "head -c 20 packet.bin | fastcksum sum -",
        takes="as long as reading the files",
        status="0; 2 if a file can't be read",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input")
    parser.add_argument("--json", action="store_true", help="a list of {file, bytes, raw, checksum} as JSON")


def run(options: argparse.Namespace) -> int:
    sums, status = [], 0
    for name in options.files:
        try:
            raw, size = _sum_of_file(name)
        except OSError as error:
            print(f"fastcksum: {name}: {error.strerror}", file=sys.stderr)
            status = 2
            continue
        sums.append({"file": name, "bytes": size, "raw": raw, "checksum": checksum_of(raw)})
        if not options.json:
            print(f"raw {raw:#06x}  checksum {checksum_of(raw):#06x}  {size} bytes  {name}")
    if options.json:
        print_json(sums)
    return status


def _sum_of_file(name: str) -> tuple[int, int]:
    """(raw sum, bytes) of a file."""
    if name == "-":
        return sum_of_stream(sys.stdin.buffer)
    with open(name, "rb") as file:  # noqa: PTH123 - so that an error shows the name as given
        return sum_of_stream(file)


def sum_of_stream(stream: BinaryIO) -> tuple[int, int]:
    """(raw sum, bytes) of all that is left in a stream, read in even pieces."""
    raw = size = 0
    for piece in _pieces(stream):
        raw = raw_cksum(piece, raw)
        size += len(piece)
    return raw, size


def _pieces(stream: BinaryIO) -> Iterator[memoryview]:
    """The stream in pieces of which only the last can be odd, however short its reads are."""
    buffer = bytearray(PIECE)
    view = memoryview(buffer)
    filled = 0
    while True:
        got = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not got:
            break
        filled += got
        if filled == PIECE:
            yield view
            filled = 0
    if filled:
        yield view[:filled]


def checksum_of(raw: int) -> int:
    """The complement of a raw sum, as the big-endian number that packets carry."""
    return int.from_bytes((raw ^ 0xFFFF).to_bytes(2, sys.byteorder), "big")
