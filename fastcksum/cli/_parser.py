"""The parser of the command line: every command, in the order in which people need them."""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, NoReturn

from fastcksum._extras import extra

from . import (
    check,
    compare,
    compile,  # noqa: A004
    explain,
    fix,
    host,
    judge,
    kernels,
    perf,
    race,
    read,
    show,
    sum,  # noqa: A004
    verify,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMANDS = (perf, compare, judge, race, compile, show, read, kernels, host, check, sum, verify, fix, explain)


class Parser(argparse.ArgumentParser):
    """argparse's, which also says which name comes nearest to one that it does not know."""

    def error(self, message: str) -> NoReturn:
        """Ends with status 2."""
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message)
        if wrong:
            message += _nearest(wrong[1], re.findall(r"[^', ]+", wrong[2]))
        super().error(message)

    def parse_args(  # type: ignore[override] # no other namespace is asked for
        self, args: Sequence[str] | None = None, namespace: None = None
    ) -> argparse.Namespace:
        """The options; an argument that is not known is an error of the command, with the nearest option."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser: Parser = options.parser
            name = unknown[0].partition("=")[0]
            parser.error(
                f"unrecognized arguments: {' '.join(unknown)}{_nearest(name, parser.option_strings())}"
            )
        return options

    def option_strings(self) -> list[str]:
        """What begins with a dash here."""
        return list(self._option_string_actions)


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=2)
    return f"; did you mean {' or '.join(near)}?" if near else ""


class _Completion(argparse.Action):
    """Prints a shell's completion of the whole command line and ends."""

    def __call__(self, parser: argparse.ArgumentParser, _: argparse.Namespace, *values: Any) -> None:
        """values: the shell's name, and the option's."""
        print(extra("shtab", "--print-completion", "shell").complete(parser, values[0]))
        parser.exit()


def parser() -> Parser:
    """One parser with a subcommand a file; its options have `run`, the function to call."""
    made = Parser(
        prog="fastcksum", description="The Internet checksum (RFC 1071), and a bench for kernels of it."
    )
    made.add_argument("--version", action="version", version=f"fastcksum {_version()}")
    made.add_argument(
        "--print-completion",
        action=_Completion,
        choices=("bash", "zsh", "fish", "tcsh"),
        help="print this shell's completion of fastcksum's arguments; for bash: "
        'eval "$(fastcksum --print-completion bash)"',
    )
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add(commands)
    return made


def _version() -> str:
    try:
        return version("fastcksum")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
