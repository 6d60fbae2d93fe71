"""The verdicts on a capture."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastcksum import _core
from fastcksum.packets import LAYERS, LINKS, STATUSES, Status, verdict_of

from ._codecs import open_stream
from ._pieces import Piece, Scanner, open_file
from ._read import Capture, whole_piece

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    import pandas as pd


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


@dataclass(frozen=True, eq=False)
class FileRead:
    """A capture file that was verified in pieces, and how to tell whether it still is the same."""

    name: str
    size: int
    identity: tuple[int, ...]

    @classmethod
    def at(cls, name: str) -> FileRead:
        status = Path(name).stat()
        return cls(name, status.st_size, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))

    def pieces(self) -> Iterator[Piece]:
        if FileRead.at(self.name).identity != self.identity:
            raise ValueError(f"{self.name} has changed since it was verified: verify it again")
        with open_file(self.name) as file:
            yield from Scanner(self.name).pieces(open_stream(file))


class Tally:
    """The verdicts on the pieces of a capture."""

    def __init__(self) -> None:
        self.per_packet: list[bytes] = []
        self.codes: list[bytes] = []
        self.counts = np.zeros(1 << 8, np.uint64)
        self.unknown_links: dict[int, int] = {}

    def add(self, piece: Piece) -> None:
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

    def __init__(self, source: Capture | FileRead, tally: Tally, damage: str | None) -> None:
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
        pieces = (
            self._source.pieces() if isinstance(self._source, FileRead) else iter([whole_piece(self._source)])
        )
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


def _rows_of(piece: Piece, i: int, number: int) -> Iterator[Row]:
    """The verdicts on the i-th packet of a piece."""
    time = piece.times[i].view("M8[ns]")
    items = _core.packet_checks(
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
