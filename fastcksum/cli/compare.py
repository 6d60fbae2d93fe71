"""fastcksum compare: which of two kernels is faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import INTERRUPTED
from ._common import MEASURED_ON, command, print_json
from ._sweeping import (
    KERNEL,
    add_building,
    add_plan,
    add_save,
    built,
    check_save,
    known,
    plan_of,
    save,
    sweep_as_json,
)

if TYPE_CHECKING:
    import argparse

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "compare",
        run,
        "say of two kernels which one is faster, where, by how much and how sure, or that no difference is resolved",
        "fastcksum compare HEAD~1:lib/csum.c lib/csum.c --sizes 20,1500 --flags '-O3 -march=native'",
        takes=f"1 to 3 minutes {MEASURED_ON} for the twenty cells of the default; --seconds sets a budget",
    )
    parser.add_argument(
        "a", metavar="A", help=f"the kernel to compare with: {KERNEL}; or a FILE.json of perf --save"
    )
    parser.add_argument("b", metavar="B", help="the kernel that is judged, or the other FILE.json, likewise")
    add_building(parser)
    add_plan(parser, placements=None, rounds=10)
    parser.add_argument(
        "--within",
        type=float,
        default=0.01,
        metavar="SHARE",
        help="a difference that counts as none (default: 0.01, 1 %%)",
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="begin no further stage of placements after so long"
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="of all verdicts together (default: 0.95)",
    )
    add_save(parser)
    parser.add_argument("--json", action="store_true", help="host, plan, rows and ratios as JSON")


def run(options: argparse.Namespace) -> int:
    from fastcksum import lab  # noqa: PLC0415 - NumPy is for those who measure

    if all(name.endswith((".json", ".json.gz")) for name in (options.a, options.b)):
        return _across(options)
    check_save(options)
    a, b = built([options.a, options.b], options)
    found = lab.compare(
        a,
        b,
        confidence=options.confidence,
        within=options.within,
        seconds=options.seconds,
        **plan_of(options),
    )
    if options.json:
        ratios = [known(ratio._asdict()) for ratio in found.table()]
        print_json({**sweep_as_json(found.sweep), "a": found.a, "b": found.b, "ratios": ratios})
    else:
        print(found.text(), end="")
    save(found.sweep, options)
    return INTERRUPTED if found.sweep.plan.interrupted else 0


def _across(options: argparse.Namespace) -> int:
    """Two sweeps that were saved, of two machines or of two days."""
    from fastcksum.lab import Sweep  # noqa: PLC0415 - as above
    from fastcksum.lab._figures import across  # noqa: PLC0415 - as above

    print(across.text(Sweep.load(options.a), Sweep.load(options.b)), end="")
    return 0
