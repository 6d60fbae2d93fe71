"""fastcksum verify: every checksum in capture files."""

from __future__ import annotations

import csv
import json
import sys
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from fastcksum.packets import LAYERS, STATUSES

from ._captures import attempts, one_of, opened, shown
from ._common import MEASURED_ON, command, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from fastcksum.capture._columns import Columns
    from fastcksum.capture._report import Summary

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "verify",
        run,
        "judge every checksum in capture files (pcap, pcapng; gzip, zstd, xz, bzip2): each bad one, and counts",
        "tcpdump -w - | fastcksum verify --jsonl --status bad,partial -",
        takes=f"about a second a gigabyte {MEASURED_ON}, and unpacking",
        status="0; 1 if a checksum is bad (see --fail-on); 2 if a file can't be read or is damaged",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a capture; - is standard input, read as it comes"
    )
    parser.add_argument(
        "--status",
        type=one_of(STATUSES),
        default=["bad"],
        metavar="LIST",
        help=f"the checksums to show: a list of {', '.join(STATUSES)} (default: bad)",
    )
    parser.add_argument("--all", action="store_true", help="every checksum, not only the bad ones")
    parser.add_argument(
        "--layer",
        type=one_of(LAYERS),
        default=[],
        metavar="LIST",
        help="only these, such as tcp,udp (default: all)",
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="at most so many checksums of each file; all are counted"
    )
    parser.add_argument(
        "--fail-on",
        type=one_of(STATUSES),
        default=["bad"],
        metavar="LIST",
        help="statuses that make the exit status 1 (default: bad)",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--json", action="store_true", help="a list of {file, packets, counts, ..., rows} as JSON"
    )
    forms.add_argument(
        "--jsonl", action="store_true", help="a checksum a line, as JSON, while the file is read"
    )
    forms.add_argument("--csv", action="store_true", help="the same as comma-separated values, with a head")


class _Form(Protocol):
    """How the verdicts on files are written."""

    def rows(self, name: str, columns: Columns) -> None: ...
    def end_of_file(self, name: str, summary: Summary, *, more: int) -> None: ...
    def end(self) -> None: ...


def run(options: argparse.Namespace) -> int:
    if options.limit is not None and options.limit < 0:
        raise ValueError(f"--limit must be 0 or more, not {options.limit}")
    forms: list[tuple[bool, type[_Form]]] = [
        (options.json, _Json),
        (options.jsonl, _Lines),
        (options.csv, _Csv),
    ]
    form = next((make for chosen, make in forms if chosen), _Text)()
    status = 0
    for attempt in attempts(options.files):
        name = attempt.name
        with attempt:
            summary = _verify(name, form, options)
            if summary.damage is not None:
                print(f"fastcksum: {shown(name)} is {summary.damage}", file=sys.stderr)
                status = 2
            status = status or int(_fails(summary, options))
        status = attempt.failed or status
    form.end()
    return status


def _verify(name: str, form: _Form, options: argparse.Namespace) -> Summary:
    """Writes the verdicts on one file."""
    from fastcksum.capture._verify import Stream  # noqa: PLC0415 - NumPy is for those who verify

    stream = Stream(opened(name), name)
    written = found = 0
    for columns in stream.columns(() if options.all else options.status, options.layer):
        found += columns.n_rows
        room = columns.n_rows if options.limit is None else min(columns.n_rows, options.limit - written)
        if room > 0:
            form.rows(name, columns.first(room))
            written += room
    summary = stream.summary()
    form.end_of_file(name, summary, more=found - written)
    return summary


def _fails(summary: Summary, options: argparse.Namespace) -> bool:
    """Whether there is a checksum of a status that is not wanted."""
    by_layer = summary.counts_by_layer()
    return any(
        by_layer[layer][status]
        for layer in options.layer or by_layer
        for status in options.fail_on
        if layer in by_layer
    )


class _Text:
    """For people: each checksum on a line, the counts of a file below."""

    def rows(self, name: str, columns: Columns) -> None:
        prefix = shown(name)
        times = _times(columns)
        sys.stdout.write(
            "".join(
                f"{prefix}: {_row_text(row, time)}\n" for row, time in zip(columns.rows(), times, strict=True)
            )
        )
        sys.stdout.flush()

    def end_of_file(self, name: str, summary: Summary, *, more: int) -> None:
        if more:
            print(f"{shown(name)}: and {more:,} more like these")
        print(f"{shown(name)}: {summary.packets:,} packets, {sum(summary.counts().values()):,} checksums")
        if summary.not_judged:
            reasons = ", ".join(f"{reason}: {n:,}" for reason, n in summary.not_judged.items())
            print(f"  packets in which nothing was judged: {reasons}")
        layers = summary.counts_by_layer()
        if layers:
            width = max(map(len, [*layers, "       "])) + 1
            print("  " + " " * width + "".join(status.rjust(14) for status in summary.counts()))
            for layer, counts in {**layers, "all": summary.counts()}.items():
                print("  " + layer.ljust(width) + "".join(f"{n:,}".rjust(14) for n in counts.values()))

    def end(self) -> None:
        """Nothing is left."""


def _row_text(row: Any, time: str | None) -> str:
    """One checksum on one line, with Wireshark's number of its frame."""
    found = "" if row.found is None else f", found {row.found:#06x}"
    expected = "" if row.expected is None or row.expected == row.found else f", expected {row.expected:#06x}"
    between = f"{_end(row.src, row.src_port)} > {_end(row.dst, row.dst_port)}"
    reason = f" ({row.reason})" if row.reason else ""
    return f"frame {row.frame}  {time or 'no time'}  {row.layer}  {between}: {row.status}{found}{expected}{reason}"


def _end(address: str | None, port: int | None) -> str:
    """An address with its port, as tcpdump writes it."""
    return (address or "?") + ("" if port is None else f".{port}")


def _times(columns: Columns) -> list[str | None]:
    """The times as text, in UTC; None where the file gives none."""
    import numpy as np  # noqa: PLC0415 - for those who verify

    return [None if text == "NaT" else text for text in np.datetime_as_string(columns["time"]).tolist()]


def _json_rows(columns: Columns) -> Iterator[dict[str, Any]]:
    for row, time in zip(columns.rows(), _times(columns), strict=True):
        yield {**row._asdict(), "time": time}


class _Json:
    """One list of all files."""

    def __init__(self) -> None:
        self._reports: list[dict[str, Any]] = []
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def rows(self, name: str, columns: Columns) -> None:
        self._rows.setdefault(name, []).extend(_json_rows(columns))

    def end_of_file(self, name: str, summary: Summary, *, more: int) -> None:
        self._reports.append(
            {
                "file": name,
                "packets": summary.packets,
                "counts": summary.counts(),
                "layers": summary.counts_by_layer(),
                "not_judged": summary.not_judged,
                "unknown_links": {str(link): n for link, n in summary.unknown_links.items()},
                "damage": summary.damage,
                "rows": self._rows.pop(name, []),
                "rows_left_out": more,
            }
        )

    def end(self) -> None:
        print_json(self._reports)


class _Lines:
    """JSON, a checksum a line: what json.dumps would write, made from columns."""

    def __init__(self) -> None:
        from fastcksum.capture import Row  # noqa: PLC0415 - NumPy is for those who verify

        self._names = Row._fields
        self._form = "{" + ", ".join(f'"{name}": %s' for name in ("file", *Row._fields)) + "}\n"

    def rows(self, name: str, columns: Columns) -> None:
        lists = columns.lists(0, columns.n_rows)
        lists[1] = _times(columns)
        texts = (
            _as_json(values, is_text=name in _TEXTS) for name, values in zip(self._names, lists, strict=True)
        )
        rows = zip(repeat(json.dumps(name)), *texts)
        sys.stdout.write("".join([self._form % row for row in rows]))
        sys.stdout.flush()

    def end_of_file(self, name: str, summary: Summary, *, more: int) -> None:
        """The counts are not rows: verify without --jsonl prints them."""

    def end(self) -> None:
        """Nothing is left."""


_TEXTS = {"time", "layer", "src", "dst", "status", "reason"}


def _as_json(values: Sequence[Any], *, is_text: bool) -> list[Any]:
    """Numbers as they are, and texts as JSON, each different one made once."""
    if not is_text:
        return ["null" if value is None else value for value in values]
    made = {value: json.dumps(value) for value in set(values)}
    return [made[value] for value in values]


class _Csv:
    """Comma-separated values; what is not known is empty."""

    def __init__(self) -> None:
        from fastcksum.capture import Row  # noqa: PLC0415 - NumPy is for those who verify

        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._writer.writerow(["file", *Row._fields])

    def rows(self, name: str, columns: Columns) -> None:
        times = _times(columns)
        lists = columns.lists(0, columns.n_rows)
        lists[1] = times
        self._writer.writerows(zip([shown(name)] * columns.n_rows, *lists, strict=True))
        sys.stdout.flush()

    def end_of_file(self, name: str, summary: Summary, *, more: int) -> None:
        """The counts are not rows."""

    def end(self) -> None:
        """Nothing is left."""
