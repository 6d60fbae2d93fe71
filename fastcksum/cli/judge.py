"""fastcksum judge: a check for somebody's CI: is the kernel slower than it was?"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from . import INTERRUPTED
from ._common import MEASURED_ON, command
from ._sweeping import KERNEL, add_building, add_plan, built, plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastcksum.lab import Comparison, Ratio

    from ._common import Commands

SLOWER, UNRESOLVED = 1, 3


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "judge",
        run,
        "say whether a kernel is slower than it was, as Markdown for a review and as an exit status for a script",
        "fastcksum judge --baseline HEAD~1 lib/csum.c --slower-than 2% --sizes 20,64,1500",
        takes=f"5 seconds a cell {MEASURED_ON}",
        status=f"0; {SLOWER} if it is slower; {UNRESOLVED} if that can't be told; 2 when it can't be done",
    )
    parser.add_argument("kernel", metavar="KERNEL", help=f"the one that is judged: {KERNEL}")
    parser.add_argument(
        "--baseline",
        required=True,
        metavar="REV|KERNEL",
        help="what it is held against: a git revision of the same file, or another kernel",
    )
    parser.add_argument(
        "--slower-than",
        type=share,
        default=0.02,
        metavar="SHARE",
        help="how much slower is too slow, such as 2%% or 0.02 (default: 2%%)",
    )
    add_building(parser)
    add_plan(parser, placements=None, rounds=10)


def share(text: str) -> float:
    """A share such as 2% or 0.02."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share between 0 and 1, such as 2% or 0.02")
    return value


def run(options: argparse.Namespace) -> int:
    from fastcksum import kernels, lab  # noqa: PLC0415 - NumPy is for those who measure
    from fastcksum.lab._build.spec import is_spec  # noqa: PLC0415 - as above

    baseline = options.baseline
    if not is_spec(baseline) and baseline not in {kernel.name for kernel in kernels()}:
        baseline = f"{baseline}:{options.kernel}"
    before, after = built([baseline, options.kernel], options)
    found = lab.compare(before, after, within=options.slower_than, **plan_of(options))
    status = status_of(found.table())
    print(markdown(found, status, options.slower_than), end="")
    return INTERRUPTED if found.sweep.plan.interrupted else status


def status_of(ratios: Sequence[Ratio]) -> int:
    """1 if a cell is slower, else 3 if one could be, else 0. A cell is slower if all of its interval says so."""
    counts = Counter(ratio.verdict for ratio in ratios)
    return SLOWER if counts["slower"] else UNRESOLVED if counts["unresolved"] or not ratios else 0


def markdown(found: Comparison, status: int, slower_than: float) -> str:
    """The verdict first, then a row a cell, then what was measured, folded."""
    words = {
        0: "is not slower",
        SLOWER: "**is slower**",
        UNRESOLVED: "is not found slower, but not every cell could be told",
    }
    lines = [
        f"`{found.b}` {words[status]} than `{found.a}` (by {slower_than:.1%} or more).",
        "",
        "| bytes | offset | mode | before | after | after / before | interval | verdict |",
        "|---:|---:|---|---:|---:|---:|---|---|",
        *(
            f"| {ratio.size or ratio.distribution} | {ratio.offset} | {ratio.mode} | {ratio.ticks_a:.1f} "
            f"| {ratio.ticks_b:.1f} | {ratio.ratio:.3f} | {ratio.low:.3f} .. {ratio.high:.3f} | {ratio.text} |"
            for ratio in found.table()
        ),
        "",
        "<details><summary>How it was measured</summary>",
        "",
        "```",
        found.text().rstrip(),
        "```",
        "",
        "</details>",
    ]
    return "\n".join(lines) + "\n"
