"""What only the bench's own table has: remarks behind a row, mixes of lengths, rows of no bytes or without a sample."""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

_NUMBER: Final = r"\d+\.\d+"
_REMARK: Final = (
    rf"(?:{_NUMBER} to {_NUMBER}|(?:noisy|contended), median [+-]\d+%|no sample left|net invalid)"
)
_REMARKS: Final = re.compile(rf"(?:^|\s+){_REMARK}(?:,\s*{_REMARK})*\s*$")
_ROW: Final = re.compile(
    rf"(?P<alignment>Aligned|Unaligned|\+\d+|Random|Dependent)\s+(?P<size>\S+)\s+(?P<block>{_NUMBER}|nan)\s+"
    rf"(?P<byte>{_NUMBER}|nan|-)"
)


class OwnRow(NamedTuple):
    """A row as the bench prints it. size is 0 for a mix, whose name `lengths` is; a figure that is none is NaN."""

    alignment: str
    size: int
    lengths: str
    figures: tuple[float, float]


def without_remark(text: str) -> str:
    """The line without the remark that the bench puts behind a row: a range of placements, a badge, what is missing."""
    return _REMARKS.sub("", text)


def own_row(text: str) -> OwnRow | None:
    """The row if the line is one that no other program prints; None for those that any may print."""
    found = _ROW.fullmatch(text)
    if found is None:
        return None
    alignment, size, block, byte = found["alignment"].lower(), found["size"], found["block"], found["byte"]
    mixed = alignment in {"random", "dependent"}
    nothing = size == "0" and byte == "-"
    lost = size.isdecimal() and block == byte == "nan"
    if not (mixed or nothing or lost):
        return None
    figures = (float(block), math.nan if byte == "-" else float(byte))
    return OwnRow(alignment, 0 if mixed else int(size), size if mixed else "", figures)
