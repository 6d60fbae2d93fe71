"""What the commands share: how one is added, the forms of its arguments, its exit status."""

from __future__ import annotations

import argparse
import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from . import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What a duration in --help was measured on; README leaves durations to --help.
MEASURED_ON = "on two quiet cores of AMD Zen 3"

Commands = Any  # argparse does not name the type of what add_subparsers() returns


def command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    example: str,
    *,
    takes: str = "no time",
    status: str = "0; 2 when it can't be done",
) -> argparse.ArgumentParser:
    """A subcommand with its help, with how long it takes and the exit statuses; it ends with one example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=f"takes: {takes}\nexit status: {status}; {INTERRUPTED} after Ctrl-C\n\nexample:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def numbers(text: str) -> list[int]:
    """The numbers of a list such as 20,21,1500 or 0-3,63."""
    found: list[int] = []
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if span is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a list of numbers and ranges such as 20,21,1500 or 0-63"
            )
        found += range(int(span[1]), int(span[2] or span[1]) + 1)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names no number: a range goes upwards")
    return found


def names(text: str) -> list[str]:
    """The names of a list such as avx2,dpdk_after."""
    return [part.strip() for part in text.split(",") if part.strip()]


@contextmanager
def in_options(symbol: str = "FILE:FUNCTION") -> Iterator[None]:
    """What the lab says of its arguments is said in those of the command, which names a function so."""
    try:
        yield
    except ValueError as error:
        raise ValueError(as_options(str(error), symbol)) from error


def as_options(words: str, symbol: str = "FILE:FUNCTION") -> str:
    """What the lab says of its arguments, in those of the command."""
    words = re.sub(r"\b(min|max)_len=(\d+)", r"--\1-len \2", words)
    return words.replace("symbol=", symbol)


def print_json(value: Any, file: TextIO | None = None) -> None:
    print(json.dumps(value, indent=1, allow_nan=False), file=file)
