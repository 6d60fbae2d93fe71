"""fastcksum verify: every checksum in capture files."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from ._common import command, print_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from fastcksum.capture import Report, Row

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "verify",
        run,
        "judge every checksum in capture files (pcap, pcapng; gzip, zstd): counts, and each bad one; "
        "exit 1 if one is bad",
        "fastcksum verify --all dump.pcap",
        takes="about a second a gigabyte, and unpacking",
        status="0; 1 if a checksum is bad; 2 if a file can't be read",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a capture; - is standard input")
    parser.add_argument("--all", action="store_true", help="every checksum, not only the bad ones")
    parser.add_argument(
        "--json", action="store_true", help="a list of {file, packets, counts, layers, ..., rows} as JSON"
    )


def run(options: argparse.Namespace) -> int:
    status, reports = 0, []
    for name in options.files:
        try:
            report = _report_on(name)
        except OSError as error:
            print(f"fastcksum: {name}: {error.strerror}", file=sys.stderr)
            status = 2
            continue
        except ValueError as error:
            print(f"fastcksum: {error}", file=sys.stderr)
            status = 2
            continue
        if report.damage is not None:
            print(f"fastcksum: {name} is {report.damage}", file=sys.stderr)
        status = status or int(report.counts()["bad"] > 0)
        if options.json:
            reports.append(report_as_json(name, report, every=options.all))
        else:
            _print_report(name, report, every=options.all)
    if options.json:
        print_json(reports)
    return status


def _report_on(name: str) -> Report:
    from fastcksum import capture  # noqa: PLC0415 - NumPy is for those who verify

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)  # the report says the same
        return capture.verify("/dev/stdin" if name == "-" else name)


def _wanted_rows(report: Report, *, every: bool) -> Iterator[Row]:
    return report.iter_rows() if every else report.iter_rows("bad")


def _print_report(name: str, report: Report, *, every: bool) -> None:
    print(f"{name}: {report.packets:,} packets, {sum(report.counts().values()):,} checksums")
    for link, n in report.unknown_links.items():
        print(f"  {n:,} packets are of link type {link}, which is not understood")
    layers = report.counts_by_layer()
    if layers:
        table = [["", *report.counts()]]
        table += [[layer, *(f"{n:,}" for n in counts.values())] for layer, counts in layers.items()]
        table.append(["all", *(f"{n:,}" for n in report.counts().values())])
        for line in table:
            print("  " + line[0].ljust(8) + "".join(cell.rjust(14) for cell in line[1:]))
    for row in _wanted_rows(report, every=every):
        print("  " + row_as_text(row))


def row_as_text(row: Row) -> str:
    """One checksum on one line."""
    found = "" if row.found is None else f", found {row.found:#06x}"
    expected = "" if row.expected is None or row.expected == row.found else f", expected {row.expected:#06x}"
    between = f"{row.src or '?'} > {row.dst or '?'}"
    reason = f" ({row.reason})" if row.reason else ""
    return f"packet {row.packet}  {row.time}  {row.layer}  {between}: {row.status}{found}{expected}{reason}"


def report_as_json(name: str, report: Report, *, every: bool) -> dict[str, Any]:
    """What verify says of a file. A time that the file doesn't give is null."""
    rows = (row._asdict() for row in _wanted_rows(report, every=every))
    return {
        "file": name,
        "packets": report.packets,
        "counts": report.counts(),
        "layers": report.counts_by_layer(),
        "unknown_links": {str(link): n for link, n in report.unknown_links.items()},
        "damage": report.damage,
        "rows": [{**row, "time": None if row["time"] != row["time"] else str(row["time"])} for row in rows],
    }
