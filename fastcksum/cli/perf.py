"""fastcksum perf: time kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._common import INTERRUPTED, command, names, print_json
from ._sweeping import add_plan, plan_of, sweep_as_json

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
    )
    parser.add_argument(
        "--kernels",
        type=names,
        metavar="NAMES",
        help="a comma list (default: the active one, the past ones of DPDK and Linux, the yardsticks)",
    )
    add_plan(parser, placements=1, rounds=60)
    parser.add_argument(
        "--save", metavar="FILE", help="keep every sample, with host and plan, in a Parquet file"
    )
    parser.add_argument(
        "--json", action="store_true", help="host, plan and rows as JSON; invalid nets say so"
    )


def run(options: argparse.Namespace) -> int:
    from fastcksum import lab  # noqa: PLC0415 - NumPy is for those who measure

    sweep = lab.sweep(options.kernels, **plan_of(options))
    if options.save:
        sweep.save(options.save)
    if options.json:
        print_json(sweep_as_json(sweep))
    else:
        print(sweep.text(), end="")
    return INTERRUPTED if sweep.plan.interrupted else 0
