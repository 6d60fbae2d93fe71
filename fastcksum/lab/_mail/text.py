"""Text as mail carries it: what stands below the quote marks, and the headings that name what follows.

Nothing here knows a table. Lines keep the number they have in the text as given, so that a reader can point
at them.
"""

from __future__ import annotations

import html
import quopri
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Rejected: TypeAlias = tuple[int, str, str]
"""A line that looks like a row and isn't one: its number from 1, its text, why."""

WRAP_WIDTH = 60
"""A mailer may have broken a line at least this wide; a shorter one ended where its writer ended it."""

LONGEST_HEADING = 300
LONGEST_OUTER = 60  # of a heading that is put before another


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number from 1, its text without quote marks, its width with them."""

    number: int
    text: str
    width: int


_NEWLINE = re.compile(r"\r*\n|\r")
_ENCODING = re.compile(r"content-transfer-encoding:\s*([\w-]+)", re.IGNORECASE)
_SPACE_IN_QUOTED_PRINTABLE = re.compile(r"=C2=A0|=E2=80=[0-9A-F]{2}")
# Colours of a terminal, and characters without a width.
_INVISIBLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\u00ad\u200b-\u200f\u2060\ufeff\x00-\x08\x0e-\x1f]")
_ODD_SPACE = re.compile(r"[^\S\t ]")
# ">", "> >", "SM>", "| "; the prompt "RTE>>" of dpdk-test reads like one and goes the same way.
_QUOTE = re.compile(r"(?:\s*(?:[A-Z]{0,4}>|\|(?=\s))\s?)+")


def lines(text: str) -> list[Line]:
    """The lines of a mail without quote marks, prompts, colours, HTML entities and quoted-printable."""
    cleaned = ((number, _clean(raw)) for number, raw in _decoded(text))
    return [
        Line(number, _QUOTE.sub("", raw, count=1) if _QUOTE.match(raw) else raw, len(raw))
        for number, raw in cleaned
    ]


def _decoded(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines; those of a quoted-printable part are joined where it broke them."""
    encoded = _SPACE_IN_QUOTED_PRINTABLE.search(text) is not None
    parts: list[str] = []
    for number, raw in enumerate(_NEWLINE.split(text), 1):
        if header := _ENCODING.match(raw):
            encoded = header[1].lower() == "quoted-printable"
        if encoded and raw.endswith("="):
            parts.append(raw[:-1])
        elif encoded:
            yield number - len(parts), _from_quoted_printable("".join([*parts, raw]))
            parts = []
        else:
            yield number, raw
    if parts:
        yield number - len(parts) + 1, _from_quoted_printable("".join(parts))


def _from_quoted_printable(text: str) -> str:
    octets = quopri.decodestring(text.encode())
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _clean(raw: str) -> str:
    unescaped = html.unescape(raw) if "&" in raw else raw
    return _ODD_SPACE.sub(" ", _INVISIBLE.sub("", unescaped)).rstrip()


# --- headings ---

# One side of a comparison. "with" and "without" count only when something is said to be with or without.
_PHASE = re.compile(
    r"\b(?:before|after|without|with(?=\s+(?:(?:the|this|my|your)\s+)?(?:patch|change|series))|(?:un)?patched"
    r"|baseline|main|master|upstream|vanilla|original|old|new|(?:un)?optimi[sz]ed|v\d+)\b",
    re.IGNORECASE,
)
_BESIDE_PHASE = re.compile(
    r"\b(?:the|this|my|your|a|applying|applied|patch(?:es)?|changes?|series|results?|numbers?|figures?"
    r"|performance|run|branch|tree|code|version)\b",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"""(?:EAL|APP|TELEMETRY|PMD|[A-Z]+_PMD|[A-Z_]+BUS)(?::|\s\()       # what DPDK logs at its start
      | (?:RTE>>)?\w+_autotest\s*$ | Test\s(?:OK|Failed|Skipped)\b | quit\s*$
      | [\[(\w@.~:/-]*[#$%]\s+\S .* | .*\b(?:perf\s+stat|dpdk-test)\b.*  # commands
      | \#*\s*rte_raw_cksum\(\)\s+performance[\s#]*$
      | (?:From|To|Cc|Bcc|Subject|Date|Sent|Message-ID|In-Reply-To|References|Reply-To|List-Id|MIME-Version
          |Content-[\w-]+|User-Agent|X-[\w-]+|[\w-]+-by|Link|Closes|Fixes|Depends-on):\s
      | (?:On|Le|Am|El|Il|Op|\d{1,4}[/.-]\d)\b.*\d.*:\s*$                # "07/02/2026 18:29, Somebody:"
      | .*\b(?:wrote|writes|schrieb|écrit)\s*:\s*$
      | \[?\s*(?:\.\.\.|…|snip)\s*\]?\s*$ | <?https?://\S+\s*$
      | (?:hi|hello|dear|hey|thanks|thank\s+you|regards|best|cheers|br)\b.{0,30}$
      | [^\w]*$
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "### name: what it is", as our own reports have it; unless what it is names the side of a comparison.
_TITLE = re.compile(rf"#+\s+(?P<name>\w+):\s+(?:.{{40,}}|(?!.*{_PHASE.pattern}).+)", re.IGNORECASE)
# Markdown's and the like. A bullet is none: any list has them.
_MARKED = re.compile(r"\s*(?:\#{1,6}\s+\S|={2,}\s|\*\*\S|__\S)")
_HEADER = re.compile(
    r"(?:From|To|Cc|Bcc|Subject|References|In-Reply-To|List-[\w-]+|X-[\w-]+):\s", re.IGNORECASE
)
_COMMAND = re.compile(r"\s*(?:\[?\w[\w.-]*@\S+.*?[#$%]|[$%])\s+\S")
_MARKUP = " \t#*=-_~:`•·>|"


@dataclass(frozen=True, slots=True)
class Heading:
    """The words of a heading, and whether markup says that it is one."""

    text: str
    marked: bool


def headings(context: Iterable[Line]) -> list[Heading]:
    """What may be a heading among these lines, the last one first: without markup, wrapped ones joined."""
    texts: list[str] = []
    width = 0  # of the line before, if it may go on in this one
    for line in _said(context):
        text = line.text.strip()
        if not text or len(text) > LONGEST_HEADING or _BOILERPLATE.match(text):
            width = 0
            continue
        if width >= WRAP_WIDTH or (width >= WRAP_WIDTH // 2 and re.match(r"[a-z(]", text)):
            texts[-1] += " " + text
        else:
            texts.append(text)
        width = 0 if text.endswith(":") else line.width
    for i, text in reversed(list(enumerate(texts))):
        if title := _TITLE.fullmatch(text):  # what follows it are its details
            texts[i:] = [title["name"]]
            break
    found = ((text, _as_heading(text)) for text in reversed(texts))
    return [Heading(heading, _MARKED.match(text) is not None) for text, heading in found if heading]


def _said(context: Iterable[Line]) -> Iterator[Line]:
    """Without folded header lines and what a command printed: neither is anybody's heading."""
    below = ""  # what stands above: a header, a command, or something else
    for line in context:
        text = line.text
        if _HEADER.match(text):
            below = "header"
        elif _COMMAND.match(text):
            below = "command"
        elif not text.strip() or _MARKED.match(text) or (below == "header" and not text[0].isspace()):
            below = ""
        if not below:
            yield line


def _as_heading(text: str) -> str | None:
    """The text as a heading: its last sentence if a colon ends it, else all of it if it is short; or None."""
    if text.endswith(":"):
        heading = re.split(r"(?<=[.!?])\s+", text)[-1].strip(_MARKUP)
        limit = 160
    else:
        heading = text.strip(_MARKUP)
        phased = len(_PHASE.findall(heading)) == 1
        if text.endswith((",", ";")) or (text.endswith((".", "!", "?")) and not phased):
            return None
        limit = 80 if phased else 60
    return heading if re.search(r"[^\W\d_]", heading) and len(heading) <= limit else None


class Runs:
    """Gives each run a name of its own: the heading above it, or else a running number.

    A heading that only names one side ("AFTER") may stand below an outer one that is far up ("gcc 15"): the outer one
    is put before it where the sides of two comparisons would get mixed up, and where it is surely a heading.
    """

    def __init__(self) -> None:
        self._about = Heading("", marked=False)
        self._named: list[
            tuple[Heading, str]
        ] = []  # of each run: what it is about, and the side or the whole name

    def start(self, context: Iterable[Line], otherwise: str = "") -> str:
        """What stands for the name of the next run until named(). `otherwise` stands in for a missing heading."""
        about, name = self._from_headings(headings(context))
        self._named.append((about, name or otherwise or f"run {len(self._named) + 1}"))
        return f"\0{len(self._named) - 1}\0"

    def named(self) -> Callable[[str], str]:
        """Puts the names into a text, when all is read: whether a side needs its outer heading, the others tell."""
        names = self._names()
        return lambda text: re.sub("\0(\\d+)\0", lambda found: names[int(found[1])], text)

    def _names(self) -> list[str]:
        sides = Counter(name.casefold() for about, name in self._named if about.text)
        mixed_up = any(count > 1 for count in sides.values())
        given: Counter[str] = Counter()
        names = []
        for about, side in self._named:
            outer = about.text if about.marked or mixed_up else ""
            name = f"{outer} {side}".strip() if len(outer) <= LONGEST_OUTER else side
            given[name] += 1
            names.append(name if given[name] == 1 else f"{name} ({given[name]})")
        return names

    def _from_headings(self, found: list[Heading]) -> tuple[Heading, str]:
        nothing = Heading("", marked=False)
        sides = [heading for heading in found if len(_PHASE.findall(heading.text)) == 1]
        if not sides:
            self._about = found[0] if found else self._about
            return nothing, found[0].text if found else ""
        side = sides[0]
        if rest := _about(side.text):
            self._about = Heading(
                rest, marked=True
            )  # "gcc 15" of "gcc 15 before" belongs to the next "after" too
            return nothing, side.text
        outer = [heading for heading in found[found.index(side) + 1 :] if heading not in sides]
        self._about = outer[0] if outer else self._about
        return self._about, side.text


def _about(side: str) -> str:
    """What a heading names besides one side: "gcc 15" in "gcc 15 BEFORE", nothing in "after the patch"."""
    rest = _BESIDE_PHASE.sub(" ", _PHASE.sub(" ", side))
    return " ".join(rest.split()).strip(" ,:;()[]-\u2013=") if re.search(r"\w", rest) else ""
