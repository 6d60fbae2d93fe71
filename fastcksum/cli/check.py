"""fastcksum check: every kernel against the reference."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from fastcksum import _core, kernels
from fastcksum._kernel import where

from ._common import MEASURED_ON, command, names, print_json
from ._sweeping import KERNEL, add_building, built

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from ._common import Commands

CHECK_LENGTH = 4096
CHECK_OFFSETS = 64
# What find_difference calls the contents, and the start value to go with each: zeros tell a sum of 0 from 0xffff, the
# others make every lane carry, and a kernel that forgets the start value is found as well.
CHECK_FILLS = {"zeros": (0, 0), "0xff": (1, 0), "random": (2, 0xBEEF), "carries": (3, 0xFFFF)}


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "check",
        run,
        f"compare every kernel that runs here with the reference: all lengths 0..{CHECK_LENGTH} at offsets "
        f"0..{CHECK_OFFSETS - 1}, contents {', '.join(CHECK_FILLS)}; exit 1 at the first difference",
        "fastcksum check --kernels avx2",
        takes=f"half a minute {MEASURED_ON} for all kernels",
        status="0; 1 at the first difference; 2 when it can't be done",
    )
    parser.add_argument("kernel", nargs="*", metavar="KERNEL", help=KERNEL)
    add_building(parser)
    parser.add_argument(
        "--kernels", type=names, metavar="NAMES", help="a comma list (default: all that run here)"
    )
    parser.add_argument(
        "--json", action="store_true", help="kernels, right (true or false), difference as JSON"
    )


def run(options: argparse.Namespace) -> int:
    from fastcksum._progress import reporting  # noqa: PLC0415 - NumPy is for those who measure

    wanted = built([*options.kernel, *(options.kernels or [])], options) or [
        each.name for each in kernels() if each.runs_here and each.role != "yardstick"
    ]
    shown = [each if isinstance(each, str) else each.name for each in wanted]
    with reporting(None, "check") as report:
        difference = first_difference(wanted, report)
    if options.json:
        print_json({"kernels": shown, "right": difference is None, "difference": difference})
    elif difference is None:
        print(
            f"{', '.join(shown)}: right at lengths 0..{CHECK_LENGTH}, offsets 0..{CHECK_OFFSETS - 1}, "
            f"contents {', '.join(CHECK_FILLS)}"
        )
    else:
        print(
            "{kernel} is wrong at {where} (contents: {contents}, start value {start:#x}): "
            "it gives {got:#06x}, right is {expected:#06x}".format_map(
                {**difference, "where": where(difference["length"], difference["offset"])}
            )
        )
    return 0 if difference is None else 1


def first_difference(wanted: Sequence[Any], report: Callable[[int, int], None]) -> dict[str, Any] | None:
    """The first difference between these kernels and the reference, at all lengths, offsets and contents; or None."""
    cases = list(product(wanted, CHECK_FILLS.items(), range(CHECK_OFFSETS)))
    for done, (kernel, (contents, (fill, start)), offset) in enumerate(cases):
        found = _core.find_difference(kernel, fill, offset, CHECK_LENGTH, start)
        if found is not None:
            length, at, got, expected = found
            name = kernel if isinstance(kernel, str) else kernel.name
            case = {"kernel": name, "length": length, "offset": at, "contents": contents, "start": start}
            return {**case, "got": got, "expected": expected}
        report(done + 1, len(cases))
    return None
