"""How a checksum comes about: every word that is summed, the carries, the complement, and what stands in the packet."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from . import _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import SupportsIndex

    from typing_extensions import Buffer

    from .packets import Link, Status

WIDTH: Final = 100
_AT_ONCE: Final = 8  # words of data in a line

# What the 16-bit words of a header hold, in order. What stands behind them is options, by the header's own length, or
# data.
_FIELDS: Final = {
    "ipv4": [
        "version, length, type of service",
        "total length",
        "identification",
        "flags, fragment offset",
        "time to live, protocol",
        "header checksum",
        *["source address"] * 2,
        *["destination address"] * 2,
    ],
    "tcp": [
        "source port",
        "destination port",
        *["sequence number"] * 2,
        *["acknowledgment number"] * 2,
        "header length, flags",
        "window",
        "checksum",
        "urgent pointer",
    ],
    "udp": ["source port", "destination port", "length", "checksum"],
    "udplite": ["source port", "destination port", "checksum coverage", "checksum"],
    "icmp": ["type, code", "checksum", *["rest of the header"] * 2],
    "icmpv6": ["type, code", "checksum", *["rest of the header"] * 2],
    "igmp": ["type, maximum response time", "checksum", *["group address"] * 2],
    "dccp": ["source port", "destination port", "data offset, coverage", "checksum"],
    "ospf": ["version, type", "length", *["router"] * 2, *["area"] * 2, "checksum", "type of authentication"],
    "gre": ["flags, version", "protocol", "checksum", "reserved"],
    "vrrp": ["version, type, router", "priority, addresses", "intervals", "checksum"],
    "pim": ["version, type", "checksum"],
}


class Word(NamedTuple):
    """One 16-bit word of a sum.

    offset  where in the buffer it is; None for a word of the pseudo header
    value   as a number in network order; the checksum field counts as 0
    total   the sum up to and with this word, its carries not folded
    what    the field it belongs to
    """

    offset: int | None
    value: int
    total: int
    what: str


class Sum(NamedTuple):
    """How one checksum comes about.

    layer, status, found, expected, offset, reason: as in packets.Verdict
    words       all that is summed, in order; empty where that is not known, and reason says why
    total       their sum, the carries not folded
    folds       (carries, lower 16 bits, their sum), until no carry is left
    complement  what the sum asks for in the field
    notes       what else is to be known: a zero that is sent as 0xffff, which mistake gives the value that stands there
    """

    layer: str
    status: Status
    found: int | None
    expected: int | None
    offset: int | None
    reason: str
    words: tuple[Word, ...]
    total: int
    folds: tuple[tuple[int, int, int], ...]
    complement: int | None
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """It as text, at most 100 columns wide."""
        head = f"{self.layer} checksum"
        yield head if self.offset is None else f"{head}, at byte {self.offset}"
        if self.words:
            yield f"  {'byte':>6}  {'words':<39}  {'running sum':<11}  field"
        for words in _in_lines(self.words):
            offset = "" if words[0].offset is None else str(words[0].offset)
            values = " ".join(f"{word.value:04x}" for word in words)
            yield f"  {offset:>6}  {values:<39}  {words[-1].total:#010x}  {words[0].what}"
        for carries, low, folded in self.folds:
            yield f"  carries folded: {carries:#06x} + {low:#06x} = {folded:#06x}"
        if self.complement is not None:
            yield f"  complement: ~{self.complement ^ 0xFFFF:#06x} = {self.complement:#06x}"
        yield from _wrapped(f"  {self.verdict()}")
        for note in self.notes:
            yield from _wrapped(f"  {note}")

    def verdict(self) -> str:
        """What stands in the packet, and what that is."""
        stands = "the field was not captured" if self.found is None else f"in the packet: {self.found:#06x}"
        wanted = "" if self.expected in {None, self.found} else f", expected {self.expected:#06x}"
        reason = f" ({self.reason})" if self.reason else ""
        return f"{stands}: {self.status}{wanted}{reason}"

    def html(self) -> str:
        """It as a table."""
        rows = "".join(
            f"<tr><td>{'' if words[0].offset is None else words[0].offset}</td>"
            f"<td>{' '.join(f'{word.value:04x}' for word in words)}</td>"
            f"<td>{words[-1].total:#x}</td><td>{escape(words[0].what)}</td></tr>"
            for words in _in_lines(self.words)
        )
        lines = [
            f"carries folded: {carries:#06x} + {low:#06x} = {folded:#06x}"
            for carries, low, folded in self.folds
        ]
        if self.complement is not None:
            lines.append(f"complement: ~{self.complement ^ 0xFFFF:#06x} = {self.complement:#06x}")
        lines.append(self.verdict())
        head = "<tr><th>byte</th><th>words</th><th>running sum</th><th>field</th></tr>"
        below = "<br>".join(escape(line) for line in (*lines, *self.notes))
        return f"<p><b>{escape(self.layer)} checksum</b></p><table>{head}{rows}</table><p>{below}</p>"


def _wrapped(text: str) -> Iterator[str]:
    """Text in lines of at most WIDTH, broken at spaces."""
    while len(text) > WIDTH:
        at = text.rfind(" ", 4, WIDTH)
        yield text[:at]
        text = "    " + text[at + 1 :]
    yield text


def _in_lines(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Words that share a field share a line."""
    line: list[Word] = []
    for word in words:
        if line and (word.what != line[0].what or len(line) == _AT_ONCE):
            yield line
            line = []
        line.append(word)
    if line:
        yield line


class Explanation:
    """How the checksums of a packet come about.

    sums  one Sum for each, the outermost first

    As text (str, print) at most 100 columns wide; in a notebook tables.
    """

    def __init__(self, sums: Sequence[Sum]) -> None:
        self.sums = tuple(sums)

    def text(self) -> str:
        """Each sum as lines, a free line between them."""
        if not self.sums:
            return "no header with a checksum was found\n"
        return "\n".join("".join(f"{line}\n" for line in one.lines()) for one in self.sums)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        told = ", ".join(f"{one.layer} {one.status}" for one in self.sums)
        return f"<Explanation: {told or 'no checksums'}>"

    def _repr_html_(self) -> str:
        return "".join(one.html() for one in self.sums) or "<p>no header with a checksum was found</p>"


def sums_of(
    packet: Buffer,
    offset: SupportsIndex,
    *,
    link: Link,
    layer: str | None,
    original: SupportsIndex | None = None,
) -> list[Sum]:
    """The sums of a packet that had `original` bytes on the wire; None: as many as are here. ValueError for a layer
    that is none.
    """
    if layer is not None and layer not in _core.LAYERS:
        raise ValueError(f"layer must be one of {', '.join(_core.LAYERS)}, not {layer!r}")
    with memoryview(packet) as view, view.cast("B") as flat:
        items = _core.packet_checks(flat, offset, None, original, link)
        return [_sum_of(item, flat) for item in items if layer in {None, _core.LAYERS[item[0]]}]


def _sum_of(item: _core._Verdict, data: memoryview) -> Sum:
    layer, status, found, expected, field, reason = item[:6]
    name, text, words = _core.LAYERS[layer], _core.REASONS[reason], []
    if item[10] is not None:
        words = _running([*_pseudo_words(item), *_packet_words(item, data)])
    total = words[-1].total if words else 0
    folds = tuple(_folds(total))
    complement = ~(folds[-1][2] if folds else total) & 0xFFFF if words else None
    said = None if _core.STATUSES[status] == "none" else expected
    notes = _notes(item, words, complement, expected) if words else ()
    return Sum(
        name, _core.STATUSES[status], found, said, field, text, tuple(words), total, folds, complement, notes
    )


def _running(pairs: Sequence[tuple[int | None, int, str]]) -> list[Word]:
    """The words with the sum up to each."""
    total, words = 0, []
    for offset, value, what in pairs:
        total += value
        words.append(Word(offset, value, total, what))
    return words


def _folds(total: int) -> Iterator[tuple[int, int, int]]:
    while total > 0xFFFF:
        carries, low = total >> 16, total & 0xFFFF
        total = carries + low
        yield carries, low, total


def _fold(total: int) -> int:
    return total % 0xFFFF or (0xFFFF if total else 0)


def _pseudo_words(item: _core._Verdict) -> Iterator[tuple[int | None, int, str]]:
    """The words of the pseudo header, or one with its sum where its addresses are not those of the IP header."""
    protocol, src, dst = item[6:9]
    pseudo, pseudo_length, offloaded = item[13:16]
    if pseudo and src is not None and dst is not None:
        covered = item[10] or 0
        length = covered if _fold(covered) == pseudo_length else pseudo_length
        words = [
            *((None, word, "pseudo header: source address") for word in _words(src)),
            *((None, word, "pseudo header: destination address") for word in _words(dst)),
            *((None, word, "pseudo header: length") for word in _length_words(length, len(src))),
            (None, protocol, f"pseudo header: protocol {protocol}"),
        ]
        same = _fold(sum(word for _, word, _ in words)) == pseudo
        yield from words if same else [(None, pseudo, "pseudo header, final destination")]
    if offloaded:
        yield None, offloaded, "inner sum, completed by the card"


def _length_words(length: int, address_bytes: int) -> list[int]:
    """The length has 16 bits in the pseudo header of IPv4, 32 in that of IPv6."""
    return [length & 0xFFFF] if address_bytes == 4 and length < 1 << 16 else [length >> 16, length & 0xFFFF]


def _words(data: bytes) -> Iterator[int]:
    for i in range(0, len(data), 2):
        yield int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big")


def _packet_words(item: _core._Verdict, data: memoryview) -> Iterator[tuple[int | None, int, str]]:
    """The words of the packet itself; the field counts as zero, what is left out is left out."""
    field, start, length, hole, hole_length = item[4], item[9], item[10] or 0, item[11], item[12]
    names, header = _names(item, data)
    for at in range(start, start + length, 2):
        if hole <= at < hole + hole_length:
            continue
        index = (at - start) // 2
        pair = bytes(data[at : min(at + 2, start + length)])
        what = names[index] if index < len(names) else "options" if at < start + header else "data"
        if at == field:
            yield at, 0, f"{what}, counts as 0"
        elif len(pair) == 1:
            yield at, pair[0] << 8, f"{what}, odd last byte before a 0"
        else:
            yield at, pair[0] << 8 | pair[1], what


def _names(item: _core._Verdict, data: memoryview) -> tuple[list[str], int]:
    """The names of a header's words, and its bytes with options."""
    layer, field, start, length = _core.LAYERS[item[0]], item[4], item[9], item[10] or 0
    names = list(_FIELDS.get(layer, []))
    if not names and field is not None:
        names = ["header"] * ((field - start) // 2) + ["checksum"]
    header = 2 * len(names)
    if layer == "ipv4":
        header = length
    elif layer == "tcp" and length > 12:
        header = 4 * (data[start + 12] >> 4)
    return names, header


def _notes(
    item: _core._Verdict, words: Sequence[Word], complement: int | None, expected: int | None
) -> tuple[str, ...]:
    """What else is to be known."""
    found, status = item[2], _core.STATUSES[item[1]]
    notes = []
    if complement == 0 and expected == 0xFFFF:
        notes.append(
            "a sum that asks for 0 is sent as 0xffff, since 0 means that there is no checksum "
            f"({'RFC 4884' if _core.LAYERS[item[0]] == 'icmp_extension' else 'RFC 768'})"
        )
    if found is not None and status == "bad":
        mistakes = list(_mistakes(item, words, found))
        notes += [f"{found:#06x} is what comes out if {mistake}" for mistake in mistakes]
        if not mistakes:
            more = _fold(words[-1].total + found)  # 0xffff would be right
            notes.append(
                f"{found:#06x} is right for words that sum to {more:#06x} less, or {0xFFFF - more:#06x} more"
            )
    return tuple(notes)


def _mistakes(item: _core._Verdict, words: Sequence[Word], found: int) -> Iterator[str]:
    """The common mistakes that give what was found."""
    total = words[-1].total
    right = ~_fold(total) & 0xFFFF
    in_packet = sum(word.value for word in words if word.offset is not None)
    last, odd = words[-1], (item[10] or 0) % 2 == 1
    swapped = (right & 0xFF) << 8 | right >> 8
    mistakes = {
        "its two bytes are stored in the other order": swapped,
        "the carries are dropped, not folded": ~total & 0xFFFF,
        "the carries are folded once, and the carry of that is dropped": ~((total >> 16) + (total & 0xFFFF))
        & 0xFFFF,
        "the sum is not complemented": _fold(total),
        "the field held the right value, not 0, while the sum was made": 0,
    }
    if item[13]:
        mistakes["the field held the sum of the pseudo header, not 0, while the sum was made"] = (
            ~_fold(total + item[13]) & 0xFFFF
        )
        mistakes["the pseudo header is left out"] = ~_fold(in_packet) & 0xFFFF
    if odd:
        mistakes["the odd last byte is added as the low byte of its word"] = (
            ~_fold(total - last.value + (last.value >> 8)) & 0xFFFF
        )
        mistakes["the odd last byte is left out"] = ~_fold(total - last.value) & 0xFFFF
    yield from (mistake for mistake, value in mistakes.items() if value == found)
