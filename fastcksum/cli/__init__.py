"""The command line: fastcksum perf | compare | race | compile | kernels | host | check | sum | verify.

Exit status: 0; 1 when what was asked is false (a kernel is wrong, a checksum is bad); 2 when it can't be done, with
the reason on standard error.

One command a file: add(commands) describes its options, run(options) returns the exit status.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from . import check, compare, compile, host, kernels, perf, race, sum, verify  # noqa: A004 - named as the commands are
from ._common import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = (perf, compare, race, compile, kernels, host, check, sum, verify)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand; returns the exit status."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        status = run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("fastcksum: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # who read our output is gone; Python would complain once more when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (ValueError, OSError, ImportError) as error:
        print(f"fastcksum: {error}", file=sys.stderr)
        return 2
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fastcksum", description="The Internet checksum (RFC 1071), and a bench for kernels of it."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add(commands)
    return parser
