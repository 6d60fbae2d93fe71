"""fastcksum perf: time kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import INTERRUPTED
from ._common import MEASURED_ON, command, names, print_json
from ._sweeping import (
    KERNEL,
    add_building,
    add_plan,
    add_save,
    built,
    check_save,
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
        "perf",
        run,
        "time kernels and print the table that DPDK's cksum_perf_autotest prints, one a kernel",
        "fastcksum perf --kernels dpdk_before,dpdk_after,nothing --sizes 20,1500 --offsets 0-3",
        takes=f"30 seconds {MEASURED_ON}; as many times longer as there are placements, processes or other "
        "kernels",
        status="0; 2 when it can't be done, such as a file that can't be saved (asked before measuring)",
    )
    parser.add_argument("kernel", nargs="*", metavar="KERNEL", help=KERNEL)
    parser.add_argument(
        "--kernels",
        type=names,
        metavar="NAMES",
        help="a comma list (default: the active one, the past ones of DPDK and Linux, the yardsticks)",
    )
    add_building(parser)
    add_plan(parser, placements=1, rounds=20)
    add_save(parser)
    parser.add_argument(
        "--json", action="store_true", help="host, plan and rows as JSON; invalid nets say so"
    )


def run(options: argparse.Namespace) -> int:
    from fastcksum import lab  # noqa: PLC0415 - NumPy is for those who measure

    check_save(options)
    wanted = built([*options.kernel, *(options.kernels or [])], options)
    sweep = lab.sweep(wanted or None, **plan_of(options))
    if options.json:
        print_json(sweep_as_json(sweep))
    else:
        print(sweep.text(), end="")
    save(sweep, options)
    return INTERRUPTED if sweep.plan.interrupted else 0
