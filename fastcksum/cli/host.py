"""fastcksum host: the machine, its clock and the build."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ._common import MEASURED_ON, command, print_json

if TYPE_CHECKING:
    import argparse

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "host",
        run,
        "show the machine, its clock and the build, and what spoils a measurement here",
        "fastcksum host --json",
        takes=f"a second {MEASURED_ON}",
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(options: argparse.Namespace) -> int:
    from fastcksum import lab  # noqa: PLC0415 - NumPy is for those who measure

    host = lab.host()
    if options.json:
        print_json(asdict(host))
    else:
        print("\n".join(host.to_lines()))
    return 0
