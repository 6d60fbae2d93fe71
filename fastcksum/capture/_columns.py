"""Verdicts as columns, which C fills, and as rows, which are made of the columns when somebody looks at them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

import numpy as np

from fastcksum import _core
from fastcksum.packets import LAYERS, STATUSES, Status

if TYPE_CHECKING:
    import numpy.typing as npt

_TYPES: Final = {
    "packet": "i8",
    "frame": "i8",
    "time": "M8[ns]",
    "layer": "u1",
    "status": "u1",
    "reason": "u1",
    "ip_version": "u1",
    "protocol": "u1",
    "src": "(16,)u1",
    "dst": "(16,)u1",
    "src_port": "i4",
    "dst_port": "i4",
    "found": "i4",
    "expected": "i4",
    "offset": "i4",
}

_AT_ONCE: Final = 1 << 12
"""Rows made at a time."""


class Row(NamedTuple):
    """One checksum of one packet of a capture.

    packet    number of the packet, from 0
    time      numpy.datetime64 in nanoseconds, UTC
    layer, status, found, expected, reason: as in packets.Verdict
    src, dst  addresses of the IP header around it, as text; None where that header was cut off
    protocol  the IP protocol number; for layer "ipv4" that of what the header carries
    frame     the number that Wireshark gives the packet, from 1; in pcapng it counts custom, journal and system call
              blocks too
    src_port, dst_port  of TCP, UDP, UDP-Lite, DCCP and SCTP; else None
    offset    where in the packet the field is; None where it was not captured
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
    frame: int
    src_port: int | None
    dst_port: int | None
    offset: int | None


class Columns(Mapping[str, "npt.NDArray[Any]"]):
    """Verdicts as NumPy arrays of n elements, by name: columns["found"].

    packet, frame       int64: number of the packet from 0, and Wireshark's from 1
    time                datetime64[ns], UTC; NaT where the file gives no time
    layer, status, reason  uint8: indices into categories["layer"], ["status"], ["reason"]
    ip_version          uint8: 4, 6, or 0 where there are no addresses
    protocol            uint8: of IP
    src, dst            uint8 (n, 16): addresses; IPv4 as ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2), zeros where there
                        is none
    src_port, dst_port  int32: -1 where the layer has none
    found, expected     int32: the field as it stands and as it should be, in network order; -1 where not known
    offset              int32: of the field, from the first byte of its packet; -1 where it was not captured
    """

    categories: Final = {"layer": LAYERS, "status": STATUSES, "reason": _core.REASONS}

    def __init__(self, n: int) -> None:
        types = [np.dtype(_TYPES[name]) for name in _core.COLUMNS]
        sizes = [-(-n * dtype.itemsize // 64) * 64 for dtype in types]
        block = np.empty(sum(sizes), np.uint8)  # one: large blocks come in huge pages
        ends = np.cumsum(sizes).tolist()
        self._arrays = {
            name: block[end - size : end - size + n * dtype.itemsize]
            .view(dtype.base)
            .reshape(n, *dtype.shape)
            for name, dtype, size, end in zip(_core.COLUMNS, types, sizes, ends, strict=True)
        }
        self.n_rows = n

    def buffers(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays as fill_columns takes them: flat, times as integers."""
        return tuple(
            array.view(np.int64) if array.dtype.kind == "M" else array.reshape(-1)
            for array in self._arrays.values()
        )

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<Columns: {self.n_rows:,} rows of {', '.join(self)}>"

    def first(self, n: int) -> Columns:
        """The first n rows."""
        part = Columns(0)
        part._arrays = {name: array[:n] for name, array in self._arrays.items()}
        part.n_rows = min(n, self.n_rows)
        return part

    def lists(self, start: int, stop: int) -> list[Sequence[Any]]:
        """These rows as one sequence a field of Row, in its order."""
        part = {name: array[start:stop] for name, array in self._arrays.items()}
        return [
            part["packet"].tolist(),
            list(part["time"]),
            [LAYERS[code] for code in part["layer"].tolist()],
            _address_texts(part["src"], part["ip_version"]),
            _address_texts(part["dst"], part["ip_version"]),
            part["protocol"].tolist(),
            [STATUSES[code] for code in part["status"].tolist()],
            _or_none(part["found"]),
            _or_none(part["expected"]),
            [_core.REASONS[code] for code in part["reason"].tolist()],
            part["frame"].tolist(),
            _or_none(part["src_port"]),
            _or_none(part["dst_port"]),
            _or_none(part["offset"]),
        ]

    def rows(self, start: int = 0, stop: int | None = None) -> Iterator[Row]:
        """The rows from start to stop, one after the other."""
        end = self.n_rows if stop is None else stop
        for at in range(start, end, _AT_ONCE):
            yield from map(Row._make, zip(*self.lists(at, min(at + _AT_ONCE, end)), strict=True))


def _or_none(numbers: npt.NDArray[np.int32]) -> list[int | None]:
    return [None if number < 0 else number for number in numbers.tolist()]


def encode_addresses(
    addresses: npt.NDArray[np.uint8], versions: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Addresses of the columns as codes, -1 where there is none, and the text of each code."""
    codes = np.empty(len(versions), np.int32)
    rows = np.frombuffer(_core.encode_addresses(addresses.reshape(-1), versions, codes), np.int64)
    found = addresses[rows].tobytes()
    texts = [
        socket.inet_ntop(socket.AF_INET, found[16 * i + 12 : 16 * i + 16])
        if version == 4
        else socket.inet_ntop(socket.AF_INET6, found[16 * i : 16 * i + 16])
        for i, version in enumerate(versions[rows].tolist())
    ]
    return codes, texts


def _address_texts(addresses: npt.NDArray[np.uint8], versions: npt.NDArray[np.uint8]) -> list[str | None]:
    codes, texts = encode_addresses(addresses, versions)
    by_code = [*texts, None]  # -1 is the last
    return [by_code[code] for code in codes.tolist()]


class Rows(Sequence[Row]):
    """Rows that are made of columns when they are asked for."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __len__(self) -> int:
        return self._columns.n_rows

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        places = range(len(self))[index]
        if isinstance(places, int):
            return next(self._columns.rows(places, places + 1))
        if places.step == 1:
            return list(self._columns.rows(places.start, places.stop))
        return [self[i] for i in places]

    def __iter__(self) -> Iterator[Row]:
        return self._columns.rows()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(
            _same(mine, theirs) for mine, theirs in zip(self, other, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Rows: {len(self):,}>"


def _same(mine: Row, theirs: object) -> bool:
    """Whether two rows say the same; no time is no time."""
    if not isinstance(theirs, Row):
        return mine == theirs
    both_unknown = bool(np.isnat(mine.time) and np.isnat(theirs.time))
    return (mine._replace(time=theirs.time) if both_unknown else mine) == theirs
