"""The sum as independent witnesses compute it: pure Python over any bytes, NumPy over all prefixes at once.

Nothing of fastcksum is used. Bytes are weighted by their place and added up exactly, the total is reduced by a
division; no carry is ever added back in, as every kernel does it.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

VECTORS = Path(__file__).parent / "data" / "vectors.json"

# What the byte at an even and at an odd place is worth in a 16-bit word of this machine.
EVEN, ODD = (1, 256) if sys.byteorder == "little" else (256, 1)


def total(data: bytes, start: int = 0) -> int:
    """The exact sum of start and the 16-bit words of data in host byte order, however large."""
    return start + EVEN * sum(data[::2]) + ODD * sum(data[1::2])


def reduced(exact: int) -> int:
    """An exact sum modulo 0xffff; 0 only for 0, any other multiple of 0xffff is 0xffff."""
    return 0 if exact == 0 else (exact - 1) % 0xFFFF + 1


def raw_sum(data: bytes, start: int = 0) -> int:
    """What raw_cksum(data, start) must return."""
    return reduced(total(data, start))


def wrapped(data: bytes, start: int = 0) -> int:
    """The sum modulo 2**32, which is what DPDK's functions return before any folding."""
    return total(data, start) % 2**32


def prefix_sums(data: npt.NDArray[np.uint8], start: int = 0) -> npt.NDArray[np.uint16]:
    """raw_sum(data[:n], start) for each n from 0 to len(data)."""
    worth = data.astype(np.uint64)
    worth[::2] *= EVEN
    worth[1::2] *= ODD
    totals = np.concatenate(([0], np.cumsum(worth, dtype=np.uint64))).astype(np.uint64) + np.uint64(start)
    return np.where(totals == 0, 0, (totals - (totals > 0)) % 0xFFFF + 1).astype(np.uint16)


def expand(text: str) -> bytes:
    """The bytes of a vector: parts joined by '+', each hex digits or '(hex)xN' for N repetitions."""
    parts = []
    for part in text.split("+") if text else []:
        repeated = re.fullmatch(r"\(([0-9a-f]+)\)x(\d+)", part)
        parts.append(bytes.fromhex(repeated[1]) * int(repeated[2]) if repeated else bytes.fromhex(part))
    return b"".join(parts)


@dataclass(frozen=True)
class Vector:
    """A sum that somebody else published: data, start value and result, both as integers of this machine."""

    id: str
    data: bytes
    initial: int
    raw: int


def vectors() -> list[Vector]:
    """The vectors of vectors.json. Its numbers are those of a little-endian machine."""

    def here(little: str) -> int:
        return int.from_bytes(int(little, 16).to_bytes(2, "little"), sys.byteorder)

    entries = json.loads(VECTORS.read_text(encoding="utf-8"))["vectors"]
    return [
        Vector(
            entry["id"], expand(entry["input"]), here(entry.get("initial", "0x0000")), here(entry["raw_le"])
        )
        for entry in entries
    ]
