"""The command line: fastcksum perf | compare | judge | race | compile | show | read | kernels | host | check, and
sum | verify | fix | explain.

Exit status: 0; 1 when what was asked is false (a kernel is wrong or slower, a checksum is bad); 2 when it can't be
done, with the reason on standard error; 3 when it can't be told.

One command a file: add(commands) describes its options, run(options) returns the exit status.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name that the terminal has no letters for ends no run
            stream.reconfigure(errors="backslashreplace")
    try:
        from ._parser import parser  # noqa: PLC0415 - Ctrl-C may come this early

        options = parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
        status: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("fastcksum: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # who read our output is gone; Python would complain once more when it flushes at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except OSError as error:
        named = error.filename is not None and error.filename2 is None
        print(f"fastcksum: {f'{error.filename}: {error.strerror}' if named else error}", file=sys.stderr)
        return 2
    except (ValueError, ImportError) as error:
        print(f"fastcksum: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print("fastcksum: there is not enough memory for this", file=sys.stderr)
        return 2
    return status


def _joined(arguments: Sequence[str]) -> list[str]:
    """The arguments, with `--flags -O3` as `--flags=-O3`: argparse takes what begins with a dash for an option."""
    joined: list[str] = []
    for word in arguments:
        if joined and joined[-1] == "--flags":
            joined[-1] = f"--flags={word}"
        else:
            joined.append(word)
    return joined
