"""The verdicts on a capture."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastcksum import _core
from fastcksum._html import table
from fastcksum.packets import LAYERS, LINKS, STATUSES, Status

from . import _tables
from ._columns import Columns, Row, Rows
from ._pieces import Piece, Scanner, open_source
from ._read import Capture, whole_piece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import FileIO

    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa
    from typing_extensions import Buffer


class Judged(NamedTuple):
    """Packets and what was found in them: verdicts of each, and the code of each verdict."""

    piece: Piece
    per_packet: Buffer
    codes: Buffer
    first_packet: int

    def columns(self, wanted: npt.NDArray[np.bool_]) -> Columns:
        """The verdicts whose codes are wanted."""
        columns = Columns(int(np.count_nonzero(wanted[np.frombuffer(self.codes, np.uint8)])))
        if columns.n_rows:
            self.fill(wanted, columns, 0)
        return columns

    def fill(self, wanted: npt.NDArray[np.bool_], columns: Columns, row: int) -> int:
        """Writes them into columns from that row on; the row behind them."""
        data, offsets, lengths, originals, times, links, frames = self.piece
        return _core.fill_columns(
            data,
            offsets,
            lengths,
            originals,
            links,
            times,
            frames,
            self.per_packet,
            self.codes,
            wanted.view(np.uint8),
            self.first_packet,
            columns.buffers(),
            row,
        )


def wanted_codes(statuses: Sequence[str] = (), layers: Sequence[str] = ()) -> npt.NDArray[np.bool_]:
    """Which codes have one of these statuses and one of these layers; none named: all. ValueError if unknown."""
    for given, known, what in ((statuses, STATUSES, "status"), (layers, LAYERS, "layer")):
        for name in given:
            if name not in known:
                raise ValueError(f"a {what} must be one of {', '.join(known)}, not {name!r}")
    wanted = np.zeros((32, 8), bool)
    rows = [LAYERS.index(layer) for layer in layers or LAYERS]
    wanted[np.ix_(rows, [STATUSES.index(status) for status in statuses or STATUSES])] = True
    return wanted.reshape(-1)


class Tally:
    """What is counted while the pieces of a capture are judged."""

    def __init__(self) -> None:
        self.packets = 0
        self.counts = np.zeros(1 << 8, np.uint64)
        self.unknown_links: dict[int, int] = {}
        self.not_judged: Counter[str] = Counter()

    def add(self, piece: Piece) -> Judged:
        """Judges the packets of a piece."""
        per_packet, codes, unknown, silences = _core.verify_packets(
            piece.data,
            piece.offsets,
            piece.lengths,
            piece.original_lengths,
            piece.linktypes,
            self.counts,
        )
        self.not_judged.update(silences)
        if unknown:
            numbers, counts = np.unique(piece.linktypes, return_counts=True)
            for number, n in zip(numbers.tolist(), counts.tolist(), strict=True):
                if number not in LINKS:
                    self.unknown_links[number] = self.unknown_links.get(number, 0) + n
        first, self.packets = self.packets, self.packets + len(piece.offsets)
        return Judged(piece, per_packet, codes, first)


@dataclass(frozen=True, eq=False)
class FileRead:
    """A capture file that was verified in pieces, and how to tell whether it still is the same."""

    name: str
    identity: tuple[int, ...]

    @classmethod
    def of(cls, name: str, file: FileIO) -> FileRead:
        status = os.fstat(file.fileno())
        return cls(name, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))

    def pieces(self) -> Iterator[Piece]:
        with open_source(self.name) as source:
            self._compare(source)
            yield from Scanner(self.name).pieces(source)
            self._compare(source)

    def _compare(self, source: Any) -> None:
        if FileRead.of(self.name, source.file).identity != self.identity:
            raise ValueError(f"{self.name} has changed since it was verified: verify it again")


class Summary:
    """How many checksums of a capture are right.

    packets        how many packets it has
    not_judged     why nothing was judged, as words, and in how many packets; most packets first
    unknown_links  the link types among them: packets of each
    damage         words that say where and how the file is damaged; None if it is whole
    """

    def __init__(self, tally: Tally, damage: str | None) -> None:
        self._counts = tally.counts
        self.packets = tally.packets
        self.not_judged = dict(tally.not_judged.most_common())
        self.unknown_links = tally.unknown_links
        self.damage = damage

    def counts(self) -> dict[Status, int]:
        """How many checksums have each status."""
        return _by_status(_table(self._counts).sum(axis=0))

    def counts_by_layer(self) -> dict[str, dict[Status, int]]:
        """The same for each layer that occurs."""
        return by_layer(self._counts)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {status}" for status, n in self.counts().items() if n)
        return f"<{type(self).__name__}: {self.packets:,} packets, {counts or 'no checksums'}>"

    def _repr_html_(self) -> str:
        """A line a layer, a column a status."""
        rows = [[layer, *counts.values()] for layer, counts in self.counts_by_layer().items()]
        rows.append(["all", *self.counts().values()])
        return table(f"{self.packets:,} packets, by layer and status", ["layer", *STATUSES], rows)


def by_layer(counts: npt.NDArray[np.uint64]) -> dict[str, dict[Status, int]]:
    """The counts of each code by layer and status, of the layers that occur."""
    return {layer: _by_status(row) for layer, row in zip(LAYERS, _table(counts), strict=True) if row.any()}


def _table(counts: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return counts.reshape(-1, 8)[: len(LAYERS), : len(STATUSES)]


def _by_status(counts: npt.NDArray[np.uint64]) -> dict[Status, int]:
    statuses: tuple[Status, ...] = STATUSES
    return dict(zip(statuses, counts.tolist(), strict=True))


class Report(Summary):
    """The verdicts on a capture.

    packets        how many packets it has
    codes          uint8, one for each checksum: 8 * index in packets.LAYERS + index in packets.STATUSES
    per_packet     uint8 (packets,), how many checksums each packet has; 0 where there was nothing to judge
    not_judged     why nothing was judged, as words, and in how many packets; most packets first
    unknown_links  the link types among them: packets of each
    damage         words that say where and how the file is damaged; None if it is whole

    The addresses and numbers of the verdicts are read from the capture when they are asked for. Where it is a file,
    that is a second reading, and a ValueError if the file has changed since it was verified.
    """

    def __init__(
        self,
        source: Capture | FileRead,
        tally: Tally,
        damage: str | None,
        per_packet: Sequence[Buffer],
        codes: Sequence[Buffer],
    ) -> None:
        super().__init__(tally, damage)
        self._source = source
        self.per_packet = np.frombuffer(b"".join(per_packet), np.uint8)
        self.codes = np.frombuffer(b"".join(codes), np.uint8)

    def _judged(self) -> Iterator[Judged]:
        """The pieces of the capture, read once more, with what was found in them. ValueError if they have changed."""
        packet = code = 0
        whole = not isinstance(self._source, FileRead)
        pieces = (
            iter([whole_piece(self._source)]) if isinstance(self._source, Capture) else self._source.pieces()
        )
        for piece in pieces:
            per_packet = self.per_packet[packet : packet + len(piece.offsets)]
            if len(per_packet) < len(piece.offsets):
                break
            n = int(per_packet.sum(dtype=np.int64))
            yield Judged(piece, per_packet, self.codes[code : code + n], packet)
            packet, code = packet + len(per_packet), code + n
        if packet != self.packets:
            name = "the capture" if whole else self._source.name  # type: ignore[union-attr]
            raise ValueError(f"{name} has changed since it was verified: verify it again")

    def columns(self, *statuses: Status) -> Columns:
        """The verdicts with one of these statuses, or all of them, as NumPy arrays.

        ValueError for a status that is none, or if the capture has changed since it was verified.
        """
        wanted = wanted_codes(statuses)
        columns = Columns(int(np.count_nonzero(wanted[self.codes])))
        row = 0
        for judged in self._judged():
            row = judged.fill(wanted, columns, row)
        return columns

    @cached_property
    def rows(self) -> Rows:
        """Every verdict, as a sequence of Row; the columns are kept, each row is made when it is asked for."""
        return Rows(self.columns())

    def iter_rows(self, *statuses: Status) -> Iterator[Row]:
        """The verdicts with one of these statuses, or all of them, one after the other and without keeping them.

        ValueError for a status that is none, or if the file has changed since it was verified.
        """
        wanted = wanted_codes(statuses)
        for judged in self._judged():
            yield from judged.columns(wanted).rows()

    def frame(self, *statuses: Status) -> pd.DataFrame:
        """The same as a DataFrame, one verdict a row, with the names of Row. Needs pandas.

        layer, src, dst, status and reason are categories; found, expected, ports and offset are nullable integers.
        """
        return _tables.to_frame(self.columns(*statuses))

    def to_arrow(self, *statuses: Status) -> pa.Table:
        """The same as a pyarrow.Table, for polars, DuckDB and Parquet. Needs pyarrow."""
        return _tables.to_arrow(self.columns(*statuses))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface: polars.from_arrow(report), duckdb.sql("from report")."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | os.PathLike[str], *statuses: Status) -> None:
        """Writes to_arrow() to a Parquet file. Needs pyarrow."""
        _tables.to_parquet(self.columns(*statuses), path)
