"""Reads the tables of DPDK's cksum_perf_autotest out of any text; no pandas here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .own_rows import OwnRow, own_row, without_remark
from .text import Line, Rejected, Runs, headings

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?")
_ALIGNMENT = re.compile(r"(?:un|non-?|mis)?aligned(?:\+\d+)?|(?:offset)?\+\d+", re.IGNORECASE)
# Stands where a figure should: contains a digit, or is what people and printf write for none.
_LIKE_FIGURE = re.compile(
    r".*\d.*|[-+]?(?:nan|inf)|n/?a|-+|\u2013|\?+|x|failed|skipped|error|tbd", re.IGNORECASE
)
_FIRST_ROW = re.compile(rf"(?<!\S)(?:{_ALIGNMENT.pattern})\s+\d", re.IGNORECASE)
_ROW_INSIDE = re.compile(rf"\b(?:{_ALIGNMENT.pattern})\s+\d\S*\s+\d\S*\s+\d", re.IGNORECASE)

_UNIT = (
    r"(?:(?:tsc|core|cpu|est\.?|estimated|ref|reference|timer|net|gross)[ ]+){0,3}"
    r"(?:(?:[a-z]+_)*(?:cycles?|ticks?|clocks?)|ns)"
)
_TITLE = re.compile(
    rf"""\b(?P<alignment>align(?:ment)?)\b
      | \b(?P<size>(?:(?:block|buffer|buf|data|packet|pkt|payload|frame)[ _-]?)?(?:size|len|length)
            (?:\s?[\[(](?:in\s)?(?:bytes?|B)[\])])? | bytes(?!\s?/))(?!\w)
      | \b(?P<block>{_UNIT})\s?(?:/|\bper\b)\s?(?:block|buffer|buf|call|packet|pkt|op)\b
      | \b(?P<byte>{_UNIT})\s?(?:/|\bper\b)\s?(?:byte|B)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNIT_IN_BRACKETS = re.compile(rf"[\[(]\s*{_UNIT}\s?(?:/|per\s)\s?\w+\s*[\])]", re.IGNORECASE)
_PROSE_WORD = re.compile(
    r"\b(?:the|and|of|is|are|was|were|for|a|an|in|to|with|on|at|we|i|you|it|that|which|as)\b", re.IGNORECASE
)
_DERIVED = re.compile(r"improve|gain|speed|ratio|delta|diff|change|faster|%|\bx\b", re.IGNORECASE)

_Kind: TypeAlias = Literal["alignment", "size", "block", "byte", "side", "other"]


USUAL_NAMES = ("run", "alignment", "size", "cycles_per_block", "cycles_per_byte")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table: what it holds, its title, and for figures their unit as printed."""

    kind: _Kind
    title: str
    unit: str = ""

    @property
    def name(self) -> str:
        """The name of the column in the frame."""
        if self.kind in ("block", "byte"):
            return f"{'ns' if self.unit.lower().endswith('ns') else 'cycles'}_per_{self.kind}"
        if self.kind in ("alignment", "size"):
            return self.kind
        name = self.title.lower().replace("/", "_per_").replace("%", "percent")
        name = re.sub(r"\W+", "_", name).strip("_") or "unnamed"
        return f"{name}_column" if name in USUAL_NAMES else name

    def takes(self, token: str) -> bool:
        """Whether the token may stand in this column."""
        if self.kind == "alignment":
            return _ALIGNMENT.fullmatch(token) is not None
        return self.kind == "other" or _FIGURE.fullmatch(token) is not None


_USUAL_COLUMNS = (
    _Column("alignment", "Alignment"),
    _Column("size", "Block size"),
    _Column("block", "cycles/block", "cycles"),
    _Column("byte", "cycles/byte", "cycles"),
)


@dataclass(slots=True)
class _Pending:
    """A row that a mailer may have broken: what it has so far."""

    line: Line
    tokens: list[str]


class TableReader:
    """Reads the lines in turn. A row is complete when each column of the last heading has its token."""

    def __init__(self, mail: Sequence[Line]) -> None:
        self.rows: list[dict[str, Any]] = []
        self.rejected: list[Rejected] = []
        self.units: dict[str, str] = {}
        self._mail = mail
        self._columns: Sequence[_Column] = _USUAL_COLUMNS
        self._in_table = False
        self._new_table = True
        self._pending: _Pending | None = None
        self._context: list[Line] = []
        self._runs = Runs()
        self._run = ""
        self._cells: set[tuple[str, int, str]] = set()

    def read(self) -> None:
        skip = False
        for line, following in zip(self._mail, [*self._mail[1:], None], strict=True):
            if skip:
                skip = False
                continue
            text = without_remark(_plain(line.text))
            if not text:
                self._context.append(line)
            elif self._in_table and (own := own_row(text)):
                self._give_up_pending()
                self._enter((own.alignment, own.size, own.lengths))
                self.rows += self._own_records(own)
            elif heading := self._heading(text, following):
                self._give_up_pending()
                self._columns, rows, skip = heading
                self._in_table = self._new_table = True
                if rows:
                    self._read_line(line, rows)
            else:
                self._read_line(line, text)
        self._give_up_pending()
        named = self._runs.named()
        for row in self.rows:
            row["run"] = named(row["run"])
        self.units = {named(run): unit for run, unit in self.units.items()}

    # -- headings of tables --

    def _heading(self, text: str, following: Line | None) -> tuple[Sequence[_Column], str, bool] | None:
        """The columns that this line names, rows that follow in it, and whether the next line is its rest."""
        captions = [line.text for line in self._context[-8:]]
        if (first_row := _FIRST_ROW.search(text)) and first_row.start() > 0:
            columns = _columns(text[: first_row.start()], captions)
            return (columns, text[first_row.start() :], False) if columns else None
        columns = _columns(text, captions)
        rest = _plain(following.text) if following else ""
        if rest and _is_title_remainder(rest):
            joined = _columns(f"{text} {rest}", captions)
            if joined and _known(joined) > _known(columns or ()):
                return joined, "", True
        return (columns, "", False) if columns else None

    # -- rows --

    def _read_line(self, line: Line, text: str) -> None:
        tokens = text.split()
        if self._pending:
            tokens = self._continue_pending(tokens)
            if not tokens:
                return
        for part in self._parts(tokens):
            self._read_part(line, part)

    def _parts(self, tokens: list[str]) -> list[list[str]]:
        """The tokens of one line, cut before each alignment that a figure follows: a reflowed table has many."""
        if self._columns[0].kind != "alignment":
            return [tokens]
        starts = [
            i
            for i, (token, after) in enumerate(zip(tokens, [*tokens[1:], ""], strict=True))
            if i > 0 and _ALIGNMENT.fullmatch(token) and (not after or _FIGURE.fullmatch(after))
        ]
        if starts and not _ALIGNMENT.fullmatch(tokens[0]):
            return [tokens]  # prose, a log's time stamp: what stands inside is not taken for a row
        return [tokens[a:b] for a, b in zip([0, *starts], [*starts, len(tokens)], strict=True)]

    def _read_part(self, line: Line, tokens: list[str]) -> None:
        columns = self._columns
        fitting = _fitting(columns, tokens)
        surplus = tokens[fitting:]
        loose = columns[0].kind == "other" and fitting < len(columns)  # any word may stand first there
        outside = columns[0].kind == "size" and not self._in_table  # many a sentence goes on with a number
        if loose or outside:
            self._read_prose(line, tokens)
        elif fitting == len(columns):
            if surplus and _FIGURE.fullmatch(surplus[0]):
                self._reject(line, f"has more figures than the {len(columns)} columns of its heading")
            else:
                self._accept(line, tokens[:fitting])
                self._look_behind(line, surplus)
        elif fitting and not surplus:
            self._pending = _Pending(line, tokens)
        elif fitting and self._looks_like_row(tokens, fitting):
            self._reject(line, f"has {surplus[0]!r} where {columns[fitting].title!r} stands in its heading")
        else:
            self._read_prose(line, tokens)

    def _look_behind(self, line: Line, surplus: Sequence[str]) -> None:
        """Reports what a remark behind a row has in figures: it may be another row's ("-> 15.6 0.78")."""
        if any(_FIGURE.fullmatch(token) for token in surplus):
            self._reject(
                line, f"has more behind its figures, which is not read: {' '.join(surplus)}; its row is"
            )

    def _looks_like_row(self, tokens: list[str], fitting: int) -> bool:
        """Whether a line that doesn't fit was meant to: "Unaligned 20 n/a" was, "Unaligned 20 byte" was not."""
        figures = [token for token in tokens[1:] if _LIKE_FIGURE.fullmatch(token)]
        return fitting > 2 or tokens[fitting] in figures or 2 * len(figures) > len(tokens) - 1

    def _continue_pending(self, tokens: list[str]) -> list[str]:
        """Gives the pending row what it lacks from the start of this line; returns the rest of the line."""
        pending = self._pending
        assert pending is not None
        missing = self._columns[len(pending.tokens) :]
        taken = 0
        while taken < min(len(missing), len(tokens)):
            token = tokens[taken]
            if not missing[taken].takes(token) or not _LIKE_FIGURE.fullmatch(token):
                break
            taken += 1
        if taken == 0:
            self._give_up_pending()
            return tokens
        pending.tokens += tokens[:taken]
        rest = tokens[taken:]
        if len(pending.tokens) < len(self._columns):
            if rest:
                self._give_up_pending()
            return rest
        self._pending = None
        if rest and _FIGURE.fullmatch(rest[0]):
            self._reject(
                pending.line, f"has more figures than the {len(self._columns)} columns of its heading"
            )
            return []
        self._accept(pending.line, pending.tokens)
        if rest and _ALIGNMENT.fullmatch(rest[0]):
            return rest
        self._look_behind(pending.line, rest)
        return []

    def _give_up_pending(self) -> None:
        if pending := self._pending:
            self._pending = None
            if len(pending.tokens) == 1 and not self._in_table:
                self._context.append(pending.line)  # a word of prose that stood alone
            else:
                have, want = len(pending.tokens), len(self._columns)
                self._reject(pending.line, f"has only {have} of the {want} columns of its heading")

    def _read_prose(self, line: Line, tokens: list[str]) -> None:
        text = " ".join(tokens)
        if _ROW_INSIDE.search(text):
            self._reject(line, "stands behind other words, so that it may be a sentence or a line of a diff")
        elif self._in_table and all(_FIGURE.fullmatch(token) for token in tokens):
            self._reject(line, "has figures, but not the first column of its heading")
        else:
            self._context.append(line)
            self._in_table = False

    def _reject(self, line: Line, reason: str) -> None:
        self.rejected.append((line.number, line.text.strip(), reason))

    # -- cells --

    def _accept(self, line: Line, tokens: Sequence[str]) -> None:
        by_kind = {column.kind: token for column, token in zip(self._columns, tokens, strict=True)}
        alignment = by_kind.get("alignment", "").lower()
        size = _number(by_kind["size"])
        reason = _contradiction(by_kind, size)
        if reason:
            self._reject(line, reason)
            return
        self._enter((alignment, int(size), ""))
        self.rows += self._records(alignment or None, int(size), tokens)

    def _enter(self, cell: tuple[str, int, str]) -> None:
        """Begins a new run where the cell can't belong to the last one; the table goes on."""
        if self._new_table or cell in self._cells or headings(self._context):
            self._start_run()
        self._cells.add(cell)
        self._context.clear()
        self._in_table = True

    def _start_run(self) -> None:
        self._run = self._runs.start(self._context)
        self._cells = set()
        self._new_table = False

    def _own_records(self, own: OwnRow) -> list[dict[str, Any]]:
        """A row as only the bench prints it: of a mix of lengths, of no bytes, without a sample."""
        figures = dict(zip(("block", "byte"), own.figures, strict=True))
        named = {column.name: figures[column.kind] for column in self._columns if column.kind in figures}
        self.units[self._run] = next((column.unit for column in self._columns if column.unit), "")
        lengths = {"lengths": own.lengths} if own.lengths else {}
        return [{"run": self._run, "alignment": own.alignment, "size": own.size} | named | lengths]

    def _records(self, alignment: str | None, size: int, tokens: Sequence[str]) -> list[dict[str, Any]]:
        """The row as records: one, or one a side where the columns are sides of a comparison."""
        record: dict[str, Any] = {"run": self._run, "alignment": alignment, "size": size}
        pairs = list(zip(self._columns, tokens, strict=True))
        unit = next((column.unit for column in self._columns if column.unit), "")
        sides = [(column, token) for column, token in pairs if column.kind == "side"]
        if not sides:
            self.units[self._run] = unit
            figures = {
                column.name: _number(token) for column, token in pairs if column.kind in ("block", "byte")
            }
            others = {column.name: _value(token) for column, token in pairs if column.kind == "other"}
            return [record | figures | others]
        records = []
        for column, token in sides:
            kind: _Kind = "block" if unit.endswith("/block") else "byte"
            figure = {_Column(kind, "", unit.rpartition("/")[0]).name: _number(token)}
            if _ALIGNMENT.fullmatch(column.title):
                records.append(record | {"alignment": column.title.lower()} | figure)
            else:
                records.append(record | {"run": f"{self._run} {column.title}"} | figure)
            self.units[str(records[-1]["run"])] = unit.rpartition("/")[0]
        return records


def _plain(text: str) -> str:
    """The line with the frames of Markdown and tabs as spaces, and "offset 3" as one word."""
    spaced = re.sub(r"\t", "  ", text.replace("|", "  ")).strip()
    spaced = re.sub(r"^[*•`]+\s*", "", spaced)
    return re.sub(r"\boffset\s*[+=]?\s*(\d+)\b", r"offset+\1", spaced, flags=re.IGNORECASE)


def _columns(text: str, captions: Sequence[str]) -> list[_Column] | None:
    """The columns that a heading names, or None if the line is no heading of a table."""
    bare = _UNIT_IN_BRACKETS.sub("", text)
    if bare != text and (sides := _columns(bare, [*captions, text])):
        return sides
    titles = list(_TITLE.finditer(text))
    kinds = {title.lastgroup for title in titles}
    cells = re.split(r"\s{2,}", text.strip())
    collapsed = len(cells) == 1
    has_figures = any(_FIGURE.fullmatch(cell) for cell in (text.split() if collapsed else cells))
    if "size" not in kinds or has_figures or text.rstrip().endswith((".", ":", "?", "!")):
        return None
    columns: list[_Column] = []
    at = 0
    for title in [*titles, None]:
        gap = text[at : title.start() if title else len(text)].strip()
        if _PROSE_WORD.search(gap) or re.search(
            r'["\\{};]', gap
        ):  # a sentence, or the C code that prints the heading
            return None
        others = re.split(r"\s+" if collapsed else r"\s{2,}", gap) if gap else []
        columns += [_Column("other", other) for other in others]
        if title:
            kind: Any = (
                title.lastgroup if title.lastgroup not in {column.kind for column in columns} else "other"
            )
            columns.append(_Column(kind, title[0], title[kind] if kind in ("block", "byte") else ""))
            at = title.end()
    if kinds & {"block", "byte"}:
        return columns
    return _columns_of_sides(columns, [*captions, text])


def _columns_of_sides(columns: Sequence[_Column], captions: Sequence[str]) -> list[_Column] | None:
    """The columns of a table with one side of a comparison a column; a caption tells the unit. Or None."""
    units = [
        title
        for caption in captions
        for title in _TITLE.finditer(caption)
        if title.lastgroup in ("block", "byte")
    ]
    if not units:
        return None
    unit = f"{units[-1][str(units[-1].lastgroup)]}/{units[-1].lastgroup}"
    sides = [
        _Column("side", column.title, unit)
        if column.kind == "other" and not _DERIVED.search(column.title)
        else column
        for column in columns
    ]
    return sides if any(column.kind == "side" for column in sides) else None


def _known(columns: Sequence[_Column]) -> int:
    """How many of the columns have a title that says what they hold."""
    return sum(column.kind != "other" for column in columns)


def _is_title_remainder(text: str) -> bool:
    """Whether the line holds nothing but words of a heading, so that it may be the rest of one."""
    return (
        re.fullmatch(
            r"(?:(?:tsc|core|est\.?|block|size|cycles|ticks|ns)\b|/|byte\b|\s)+", text, re.IGNORECASE
        )
        is not None
    )


def _fitting(columns: Sequence[_Column], tokens: Sequence[str]) -> int:
    """How many of the first tokens fit their columns."""
    for i, (column, token) in enumerate(zip(columns, tokens, strict=False)):
        if not column.takes(token):
            return i
    return min(len(columns), len(tokens))


def _number(figure: str) -> float:
    """The value of a figure: "1,234.5" has groups, "20,5" a decimal comma."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", figure):
        return float(figure.replace(",", ""))
    return float(figure.replace(",", "."))


def _value(token: str) -> float | str:
    return _number(token) if _FIGURE.fullmatch(token) else token


def _contradiction(by_kind: dict[_Kind, str], size: float) -> str | None:
    """Why these figures can't belong together, or None.

    The test program divides before it rounds, so that both printed figures are off by up to half a unit in
    their last place, and only what lies outside both is a contradiction: 16.9 at 21 bytes may be printed as
    0.81.
    """
    if size != int(size) or size < 1:
        return f"has a size of {by_kind['size']}, which is no number of bytes"
    if "block" not in by_kind or "byte" not in by_kind:
        return None
    block, block_off = _exact(by_kind["block"])
    byte, byte_off = _exact(by_kind["byte"])
    if abs(block / int(size) - byte) <= block_off / int(size) + byte_off:
        return None
    return f"contradicts itself: {by_kind['block']} for {int(size)} bytes is not {by_kind['byte']} a byte"


def _exact(figure: str) -> tuple[Fraction, Fraction]:
    """The figure exactly, and half a unit in its last place."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", figure):
        figure = figure.replace(",", "")
    figure = figure.replace(",", ".")
    return Fraction(figure), Fraction(1, 2 * 10 ** len(figure.partition(".")[2]))
