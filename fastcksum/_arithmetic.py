"""The arithmetic of RFC 1071 and RFC 1624 on raw sums and on the checksums made of them.

A *raw* sum is what :func:`fastcksum.raw_cksum` returns: 16 bits, words in host byte order, not complemented. A
*checksum* is its complement as the number in network byte order that stands in the field of a packet.
"""

from __future__ import annotations

import copy
import operator
import sys
from typing import TYPE_CHECKING, Self, SupportsIndex, final

from ._core import checksum, raw_cksum, update_checksum, verify

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Checksum", "checksum", "combine", "update_checksum", "verify"]

_LITTLE_ENDIAN = sys.byteorder == "little"


def _swap(sum16: int) -> int:
    return (sum16 << 8 | sum16 >> 8) & 0xFFFF


def _fold(total: int) -> int:
    """16 bits of the same class modulo 0xffff; 0 only for 0."""
    return total and (total - 1) % 0xFFFF + 1


def _raw_sum(value: SupportsIndex, name: str) -> int:
    """The integer, if it is a raw sum."""
    number = operator.index(value)
    if not 0 <= number <= 0xFFFF:
        raise ValueError(f"{name} must be in 0..65535 (a raw 16-bit sum), not {number:#x}")
    return number


def _to_checksum(raw: int) -> int:
    """The field's value: the complement, in network byte order."""
    complement = raw ^ 0xFFFF
    return _swap(complement) if _LITTLE_ENDIAN else complement


def combine(first: SupportsIndex, second: SupportsIndex, first_length: SupportsIndex) -> int:
    """The raw sum of two pieces of data laid end to end, from the raw sum of each (RFC 1071 section 2).

    first, second  raw sums, 0..0xffff
    first_length   bytes of the first piece; only whether it is odd counts: the second is then swapped

    ValueError if a sum is out of range or the length is negative.
    """
    head, tail = _raw_sum(first, "first"), _raw_sum(second, "second")
    length = operator.index(first_length)
    if length < 0:
        raise ValueError(f"first_length must be 0 or more bytes, not {length}")
    return _fold(head + (_swap(tail) if length % 2 else tail))


@final
class Checksum:
    r"""Checksum(data=b"", /, *, initial=0): the Internet checksum of data that comes in pieces.

    It has the shape of a :mod:`hashlib` object. The pieces may be split anywhere, at odd places too, and may be empty.

    >>> stream = Checksum()
    >>> for piece in (b"\x00\x01\xf2", b"", b"\x03\xf4", b"\xf5\xf6\xf7"):
    ...     stream.update(piece)
    >>> hex(stream.value)
    '0x220d'

    data      the first piece, any C-contiguous bytes-like object
    initial   the raw sum to start from, such as that of a pseudo header
    """

    __slots__ = ("_odd", "_raw")

    name = "rfc1071"
    digest_size = 2
    block_size = 2

    def __init__(self, data: Buffer = b"", /, *, initial: SupportsIndex = 0) -> None:
        self._raw = _raw_sum(initial, "initial")
        self._odd = False
        self.update(data)

    def update(self, data: Buffer, /) -> None:
        """Adds the next piece. TypeError and BufferError as for raw_cksum; the sum then is as it was."""
        raw = raw_cksum(data)
        with memoryview(data) as view:
            length = view.nbytes
        self._raw = _fold(self._raw + (_swap(raw) if self._odd else raw))
        self._odd ^= bool(length % 2)

    @property
    def raw(self) -> int:
        """The raw sum of all pieces: what raw_cksum returns for them laid end to end."""
        return self._raw

    @property
    def value(self) -> int:
        """The checksum of all pieces: what checksum returns for them laid end to end."""
        return _to_checksum(self._raw)

    def digest(self) -> bytes:
        """The checksum as the two bytes that go into the field."""
        return self.value.to_bytes(2, "big")

    def hexdigest(self) -> str:
        """The checksum as four hexadecimal digits."""
        return f"{self.value:04x}"

    def copy(self) -> Self:
        """Another object that stands where this one does; each then goes its own way."""
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"<fastcksum.Checksum 0x{self.hexdigest()}>"
