"""The parser of the command line: every command, in the order in which people need them."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version

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

COMMANDS = (perf, compare, judge, race, compile, show, read, kernels, host, check, sum, verify, fix, explain)


def parser() -> argparse.ArgumentParser:
    """One parser with a subcommand a file; its options have `run`, the function to call."""
    made = argparse.ArgumentParser(
        prog="fastcksum", description="The Internet checksum (RFC 1071), and a bench for kernels of it."
    )
    made.add_argument("--version", action="version", version=f"fastcksum {_version()}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add(commands)
    return made


def _version() -> str:
    try:
        return version("fastcksum")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
