"""fastcksum fix: a capture whose checksums are right."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from fastcksum.packets import MENDABLE

from ._captures import Attempt, one_of, opened, shown
from ._common import MEASURED_ON, command, print_json

if TYPE_CHECKING:
    import argparse

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "fix",
        run,
        "write a copy of a capture (pcap, pcapng; gzip, zstd, xz, bzip2) in which the checksums are right; nothing "
        "but checksum fields changes",
        "fastcksum fix broken.pcapng.gz mended.pcapng",
        takes=f"about a second a gigabyte {MEASURED_ON}, and packing",
        status="0; 2 if the file can't be read or written, or is damaged (what is behind the damage is copied)",
    )
    parser.add_argument("file", metavar="IN", help="a capture; - is standard input")
    parser.add_argument(
        "out",
        metavar="OUT",
        nargs="?",
        help="the file to write, IN itself too; - is standard output. .gz, .zst, .xz and .bz2 compress; no suffix "
        "and - compress as IN is",
    )
    parser.add_argument(
        "--status",
        type=one_of(MENDABLE),
        default=["bad", "partial"],
        metavar="LIST",
        help=f"what to mend: a list of {', '.join(MENDABLE)} (default: bad,partial)",
    )
    parser.add_argument("--dry-run", action="store_true", help="write nothing; say what would be written")
    parser.add_argument("--json", action="store_true", help="the summary as JSON")


def run(options: argparse.Namespace) -> int:
    if options.out is None and not options.dry_run:
        raise ValueError("fix needs OUT, the file to write, or --dry-run")
    attempt = Attempt(options.file)
    with attempt:
        return _fix(options)
    return attempt.failed


def _fix(options: argparse.Namespace) -> int:
    from fastcksum import capture  # noqa: PLC0415 - NumPy is for those who fix

    to_stdout = options.out == "-" and not options.dry_run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)  # the report says the same
        report = capture.fix(
            opened(options.file),
            1 if options.out == "-" else options.out,
            status=options.status,
            dry_run=options.dry_run,
        )
    out = sys.stderr if to_stdout else sys.stdout
    if options.json:
        print_json(report.as_json(), out)
    else:
        print(f"{shown(options.file)}: {report.text()}", end="", file=out)
    if report.damage is not None:
        print(
            f"fastcksum: {shown(options.file)} is {report.damage}; what follows was copied as it is",
            file=sys.stderr,
        )
        return 2
    return 0
