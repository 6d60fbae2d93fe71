"""Reads the blocks of `perf stat` out of any text; no pandas here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .perf_json import json_fields
from .text import Line, Rejected, Runs, headings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NOT_COUNTED = r"<not[ ](?:supported|counted)>"
_COUNT = rf"{_NOT_COUNTED}|\d{{1,3}}(?:[ '\u2019]\d{{3}})+(?:[.,]\d+)?(?![\d.,])|\d[\d.,'\u2019_]*"
_SCALE = r"msec|usec|nsec|ns|ms|sec|Joules|[KMG]?i?Bytes|[KMG]i?B|mWatts|C"
_MODIFIER = r"(?::[A-Za-z]+)?(?:\s?\((?:msec|ms)\))?"
_OLD_NAME = (
    r"task[ ]clock[ ]ticks|context[ ]switches|CPU[ ](?:migrations|cycles)|cache[ ](?:references|misses)"
    r"|page[ ]faults"
)
_KNOWN = (
    rf"(?:{_OLD_NAME}|(?:\w+/)?(?:(?:cpu-|ref-|bus-)?cycles|instructions|branches|branch-[\w-]+|cache-[\w-]+"
    r"|context-switches|cs|(?:cpu-|CPU-)?migrations|(?:page-|minor-|major-)?faults|pagefaults"
    r"|(?:task|cpu)-clock"
    r"|stalled-cycles-[\w-]+|(?:L1|LLC|LL|dTLB|iTLB|node)-[\w-]+|slots|topdown-[\w-]+"
    rf"|duration_time|user_time|system_time)(?:/\w*)?{_MODIFIER})(?!\S)"
)
_EVENT = rf"{_OLD_NAME}|[A-Za-z_][^\s/(#]*(?:/[^/]*/[\w:]*)?{_MODIFIER}"
_WHO = r"(?:CPU|S|D|C|N|L)\d+(?:-[A-Z]+\d+)*(?:\s+\d+(?=\s+[\d<]))?|(?=\S*[A-Za-z])\S+-\d+(?=\s+[\d<])"
_ROW = re.compile(
    rf"""\s*(?:(?P<time>\d+[.,]\d{{9}})\s+)?(?:(?P<who>{_WHO})\s+)?
         (?P<count>{_COUNT})\s+(?:(?P<scale>{_SCALE})\s+)?
         (?P<event>{_EVENT})\s*(?P<note>\#.*|\(\s*(?:\+-\s*)?[\d.,]+\s*%.*|\[[\d.,]+%\].*)?$""",
    re.VERBOSE,
)
_METRIC_ROW = re.compile(rf"\s*(?P<event>(?:{_EVENT})(?:\s\(\w+\))?)\s+(?P<note>\#\s*[\d.]+.*)$")
_SEVERAL = re.compile(rf"(?<!\S)(?:{_COUNT})\s+(?:(?:{_SCALE})\s+)?{_KNOWN}")
_IS_KNOWN = re.compile(_KNOWN)
_COUNT_AND_EVENT = re.compile(rf"\s*(?:{_COUNT})\s+(?:(?:{_SCALE})\s+)?{_KNOWN}")
_EVENT_AND_COUNT = re.compile(rf"[\s|]*{_KNOWN}[\s|:=]+(?:{_COUNT})(?![\w.])")
_BLOCK = re.compile(r"\s*Performance counter stats for\b\s*(?P<what>.*)", re.IGNORECASE)
_END_OF_TITLE = re.compile(r"(?<=')(?:\s*\(\d+ runs\))?:|:\s*$")
_ELAPSED = re.compile(
    rf"\s*(?P<count>{_COUNT})\s*(?:\+-\s*[\d.,]+\s*)?seconds\s+(?P<what>time elapsed|user|sys)\b"
    rf"|\s*Wall-clock (?P<old>time elapsed):\s*(?P<msec>{_COUNT})\s*msecs"
)
_SHARE = re.compile(r"[(\[](\d+(?:[.,]\d+)?)%[)\]]")
_SPREAD = re.compile(r"\+-\s*(\d+(?:[.,]\d+)?)\s*%")
_COMMENT = re.compile(r"\s*#\s*(?:started on\b|time\s+counts\b)")
_MORE_NOTE = re.compile(r"\s*#\s*(?=[\d.,<(-]|nan)")
# What the comment column of perf stat is made of: a line of nothing else is the end of a wrapped one.
_NOTE_WORD = re.compile(
    r"[\[(#]?(?:insns?|per|cycles?|stalled|idle|frontend|backend|of|all|branches|cache|refs|hits|accesses|CPUs?"
    r"|utilized|[KMG]Hz|[KMG]?/sec|sec|L1-[di]cache|LL-cache|[di]TLB|tma_\w+|\w+_per_\w+|\d[\d.,]*%?|%|\+-)?[\])]?"
)


@dataclass(frozen=True, slots=True)
class CountRow:
    """One event of one run; count is None where perf gives none.

    share: of the time for which it was counted, where several took turns; spread: over repetitions (-r). Both as
    parts of 1, None where the note doesn't say.
    """

    run: str
    event: str
    count: float | None
    note: str

    @property
    def share(self) -> float | None:
        return _part(_SHARE.search(self.note))

    @property
    def spread(self) -> float | None:
        return _part(_SPREAD.search(self.note))


def _part(percent: re.Match[str] | None) -> float | None:
    return None if percent is None else float(percent[1].replace(",", ".")) / 100


class CountReader:
    """Reads the lines in turn. Inside a block any event counts; outside only those that everybody knows."""

    def __init__(self, mail: Sequence[Line]) -> None:
        self.rows: list[CountRow] = []
        self.rejected: list[Rejected] = []
        self.seconds: dict[str, dict[str, float]] = {}
        self._mail = mail
        self._mark = _decimal_mark(line.text for line in mail)
        self._at = 0
        self._in_block = False
        self._context: list[Line] = []
        self._runs = Runs()
        self._run = ""  # the name of the current run; "" until its first row or time
        self._command = ""
        self._events: set[tuple[str, str]] = set()
        self._may_continue: Line | None = None  # the line of the last row, while its note may go on

    def read(self) -> None:
        while self._at < len(self._mail):
            line = self._mail[self._at]
            self._at += 1
            text = line.text
            if not text.strip():
                self._may_continue = None
                self._context.append(line)
            elif block := _BLOCK.match(text):
                self._open_block(line, block["what"])
            elif _COMMENT.match(text):
                self._start_run()
                self._in_block = True
            elif not (self._read_seconds(line) or self._read_note(line)):
                self._read_counts(line)
        named = self._runs.named()
        self.rows = [replace(row, run=named(row.run)) for row in self.rows]
        self.seconds = {named(run): times for run, times in self.seconds.items()}

    # -- blocks --

    def _open_block(self, line: Line, what: str) -> None:
        """Starts a run; its title may go on in the next lines, and in a flattened mail a row may follow it."""
        for following in self._mail[self._at : self._at + 3]:
            if _END_OF_TITLE.search(what) or not following.text.strip():
                break
            what += " " + following.text.strip()
            self._at += 1
        end = _END_OF_TITLE.search(what)
        command = what[: end.end()].rstrip(": ") if end else what
        self._start_run(re.sub(r"^'(.*)'", r"\1", command.strip()))
        self._in_block = True
        if end and (rest := what[end.end() :].strip()):
            self._read_counts(Line(line.number, rest, line.width))

    def _start_run(self, command: str = "") -> None:
        self._run = ""
        self._command = command
        self._events = set()
        self._may_continue = None

    def _named_run(self) -> str:
        """What stands for the name of the current run. It is made when it is first needed, so that an empty block has
        none.
        """
        if not self._run:
            self._run = self._runs.start(self._context, self._command)
        self._context.clear()
        return self._run

    def _read_seconds(self, line: Line) -> bool:
        elapsed = _ELAPSED.match(line.text)
        if not elapsed or not (self._in_block or self._run):
            return False
        if elapsed["old"]:
            seconds = _count(elapsed["msec"], ".") / 1000
        else:
            seconds = _count(elapsed["count"], _decimal_mark([line.text]) or self._mark or ".")
        times = self.seconds.setdefault(self._named_run(), {})
        times[elapsed["what"] or elapsed["old"]] = seconds
        self._in_block = False
        self._may_continue = None
        return True

    # -- notes that go on in the next line --

    def _read_note(self, line: Line) -> bool:
        last = self._may_continue
        if last is None:
            return False
        text = line.text.strip()
        count = _ROW.match(text)
        if (count and _IS_KNOWN.fullmatch(count["event"].strip())) or _csv_fields(text) is not None:
            return False
        more = _MORE_NOTE.match(text)
        open_note = last.text.rstrip().endswith("#")
        wrapped = len(last.text.strip()) > 25 and _is_note(text)
        if not (more or open_note or wrapped):
            return False
        row = self.rows[-1]
        added = _note(text)
        joint = "; " if more and row.note else " "
        self.rows[-1] = replace(row, note=f"{row.note}{joint}{added}".strip())
        self._may_continue = line
        return True

    # -- rows --

    def _read_counts(self, line: Line) -> None:
        if line.text.lstrip().startswith("{"):
            self._read_json(line)
            return
        starts = [match.start() for match in _SEVERAL.finditer(line.text)]
        if len(starts) > 1 and _csv_fields(line.text) is None:
            parts = [line.text[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]
            read = [self._read_count(line, part, trusted=True) for part in parts]
            if all(read):
                return
        elif self._read_count(line := self._joined(line), line.text) or self._read_csv(line):
            return
        if self._in_block and (metric := _METRIC_ROW.match(line.text)):
            self._add(line, "", metric["event"], None, _note(metric["note"]))
            return
        self._read_prose(line)

    def _joined(self, line: Line) -> Line:
        """The line, with the next one if a mailer broke it behind the count."""
        following = self._mail[self._at].text.strip() if self._at < len(self._mail) else ""
        text = line.text.rstrip()
        broken = re.search(r"<not$", text) or re.fullmatch(rf"\s*(?:{_COUNT})(?:\s+(?:{_SCALE}))?", text)
        if broken and self._in_block and following and _ROW.match(f"{text} {following}"):
            self._at += 1
            return replace(line, text=f"{text} {following}")
        return line

    def _read_count(self, line: Line, text: str, *, trusted: bool = False) -> bool:
        row = _ROW.match(text)
        if row is None:
            return False
        event, note = row["event"].strip(), row["note"] or ""
        known = _IS_KNOWN.fullmatch(event) is not None
        if not known and not (self._in_block and re.search(r"[-_./:\d]", event)):
            return False
        goes_on = bool(self._run) and not headings(self._context) and ("", event) not in self._events
        if not (trusted or self._in_block or note or goes_on or self._has_neighbour()):
            self._reject(line, "is a single count, outside any block of perf stat")
            return True
        scale = row["scale"] or ""
        if in_brackets := re.search(r"\s?\((msec|ms)\)$", event):
            event, scale = event[: in_brackets.start()], in_brackets[1]
        count = (
            None
            if row["count"].startswith("<")
            else _count(row["count"], _decimal_mark([note]) or self._mark)
        )
        note = "; ".join(part for part in (scale, row["count"] if count is None else "", _note(note)) if part)
        when = ["at", row["time"], "s"] if row["time"] else []
        who = " ".join([*(row["who"] or "").split(), *when])
        self._add(line, who, event, count, note)
        return True

    def _has_neighbour(self) -> bool:
        """Whether the line before or behind is a count too: one alone may be a sentence ("20 cycles")."""
        if self._may_continue is not None and self._mail[self._at - 2].number == self._may_continue.number:
            return True
        following = self._mail[self._at].text if self._at < len(self._mail) else ""
        row = _ROW.match(following)
        return row is not None and _IS_KNOWN.fullmatch(row["event"].strip()) is not None

    def _read_csv(self, line: Line) -> bool:
        fields = _csv_fields(line.text)
        if fields is None:
            return False
        who, count, event, note = fields
        if count is None and "<not" not in note:
            self._reject(line, "has no field before its event that is a count")
        else:
            self._add(line, who, event, count, note)
        return True

    def _read_json(self, line: Line) -> None:
        """A line of perf stat -j, which a mailer may have broken."""
        text = line.text
        for behind in range(5):
            if found := json_fields(text):
                self._at += behind
                who, count, event, note = found
                self._add(line, who, event, count, note)
                return
            following = self._mail[self._at + behind : self._at + behind + 1]
            if not following or "}" in text:
                break
            text = f"{text} {following[0].text.strip()}"
        self._read_prose(line)

    def _add(self, line: Line, who: str, event: str, count: float | None, note: str) -> None:
        if (who, event) in self._events:
            self._start_run(self._command)
        elif not self._in_block and self._run and headings(self._context):
            self._start_run()
        self._events.add((who, event))
        self.rows.append(CountRow(f"{self._named_run()} {who}".strip(), event, count, note))
        self._may_continue = line

    def _reject(self, line: Line, reason: str) -> None:
        self.rejected.append((line.number, line.text.strip(), reason))

    def _read_prose(self, line: Line) -> None:
        if self._in_block and _COUNT_AND_EVENT.match(line.text):
            self._reject(line, "has words behind its event that are no comment column")
            return
        if _EVENT_AND_COUNT.match(line.text):
            self._reject(line, "has its event before the count, which perf stat never does")
            return
        if '"counter-value"' in line.text:
            self._reject(line, "is JSON, but not a whole line of perf stat -j")
            return
        self._context.append(line)
        self._may_continue = None
        self._in_block = False


def _csv_fields(text: str) -> tuple[str, float | None, str, str] | None:
    """Who, count, event and note of a line of `perf stat -x SEP`, for any usual separator; None if it isn't
    one.

    Before the count may stand the moment (-I) and who was counted (-A and the like). Behind the event stand a
    variance (-r), the time the counter ran, its share in percent, and a metric with its unit.
    """
    for separator in ",;|\t":
        fields = [part.strip() for part in text.strip(" ").split(separator)]
        if len(fields) < 3:
            continue
        for at in range(min(5, len(fields) - 1)):
            if found := _csv_at(fields, at, separator):
                return found
        if len(fields) >= 6 and any(_IS_KNOWN.fullmatch(part) for part in fields):
            return "", None, "", ""
    return None


def _csv_at(fields: list[str], at: int, separator: str) -> tuple[str, float | None, str, str] | None:
    """The same if the count is the field `at`."""
    before, value, unit, event = fields[:at], fields[at], fields[at + 1], "".join(fields[at + 2 : at + 3])
    rest = fields[at + 3 :]
    if _IS_KNOWN.fullmatch(unit):  # old versions print no unit
        unit, event, rest = "", unit, fields[at + 2 :]
    while (
        event.count("/") % 2 and rest
    ):  # an event such as cpu/event=0x3c,umask=0/ holds the separator itself
        event, rest = f"{event}{separator}{rest[0]}", rest[1:]
    is_count = re.fullmatch(rf"{_NOT_COUNTED}|\d+(?:[.,]\d+)?", value) is not None
    is_before = not before or re.fullmatch(r"\d+[.,]\d+|[A-Z]+\d+\S*|\S+-\d+", before[0]) is not None
    if not (is_count and is_before and re.fullmatch(r"[A-Za-z/%]*", unit) and re.fullmatch(_EVENT, event)):
        return None
    variance = rest.pop(0) if rest and re.fullmatch(r"[\d.,]+%", rest[0]) else ""
    counted = len(rest) >= 2 and all(re.fullmatch(r"\d+(?:[.,]\d+)?", part) for part in rest[:2])
    if not counted and not (_IS_KNOWN.fullmatch(event) and not any(rest)):
        return None
    share = rest[1] if counted and float(rest[1].replace(",", ".")) != 100 else ""
    notes = [
        unit,
        value if value.startswith("<") else "",
        " ".join(part for part in rest[2:] if part),
        f"( +- {variance} )" if variance and float(variance[:-1].replace(",", ".")) else "",
        f"({share}%)" if share else "",
    ]
    count = None if value.startswith("<") else float(value.replace(",", "."))
    when = [f"at {part} s" if re.fullmatch(r"\d+[.,]\d+", part) else part for part in before]
    return " ".join(when), count, event, "; ".join(part for part in notes if part)


def _is_note(text: str) -> bool:
    """Whether the line may be the end of a comment column: nothing but its words, and not figures alone."""
    return re.search(r"[A-Za-z%(]", text) is not None and all(map(_NOTE_WORD.fullmatch, text.split()))


def _note(comment: str) -> str:
    """The comment column as text: without its mark, and without the spaces that only lined it up."""
    return " ".join(comment.replace("#", " ").split())


_MARKS = re.compile(
    r"(?<![\d.,])0([.,])\d|\d([.,])\d{9}\b|\d([.,])\d{1,2}(?=\s*(?:%|msec|[KMG]?Hz|[KMG]?/sec|insn))"
)


def _decimal_mark(texts: Iterable[str]) -> str | None:
    """The decimal mark that these texts use, where a number in them can have no other meaning."""
    marks = [mark for text in texts for match in _MARKS.finditer(text) for mark in match.groups() if mark]
    return max(sorted(set(marks)), key=marks.count) if marks else None


def _count(text: str, mark: str | None) -> float:
    """The value of a count. One mark before three digits separates thousands, unless it is the decimal one."""
    digits = re.sub(r"[ '\u2019_]", "", text).rstrip(".,")
    marks = re.findall(r"[.,]", digits)
    decimal = marks[-1] if marks and marks.count(marks[-1]) == 1 else None
    if decimal and len(marks) == 1 and digits == text:
        head, _, tail = digits.partition(decimal)
        if len(tail) == 3 and head != "0" and len(head) <= 3 and decimal != mark:
            decimal = None
    for other in {".", ","} - {decimal}:
        digits = digits.replace(other, "")
    return float(digits.replace(decimal or ".", "."))
