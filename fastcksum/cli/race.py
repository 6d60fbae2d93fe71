"""fastcksum race: our kernels and other people's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import INTERRUPTED
from ._common import MEASURED_ON, command, print_json
from ._sweeping import KERNEL, add_building, built, check_save, sweep_as_json

if TYPE_CHECKING:
    import argparse

    from ._common import Commands


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "race",
        run,
        "time our kernels and other people's together, from 20 bytes to 64 MiB, and say who wins where",
        "fastcksum race --quick",
        takes=f"6 minutes {MEASURED_ON}; with --quick half of that",
    )
    parser.add_argument("--quick", action="store_true", help="fewer placements and rounds")
    parser.add_argument(
        "kernel",
        nargs="?",
        metavar="KERNEL",
        help=f"the one that is judged (default: the active one): {KERNEL}",
    )
    parser.add_argument("--kernel", dest="named", metavar="KERNEL", help="the same")
    add_building(parser)
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="visits to a cell and placement (default: 2; quick: 1)"
    )
    parser.add_argument(
        "--placements", type=int, metavar="N", help="places of the code in a page (default: 16; quick: 8)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the bytes, the order and the places (default: a new one)"
    )
    parser.add_argument("--huge-pages", action="store_true", help="ask for huge pages for the buffers")
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="FILE.json: keep the minima of each placement and the host, for benchmarks/race_targets.py; "
        "FILE.json.gz: every sample, with host and plan",
    )
    parser.add_argument(
        "--json", action="store_true", help="host, plan, rows and all that is printed as JSON"
    )


def run(options: argparse.Namespace) -> int:
    from fastcksum.lab import _race  # noqa: PLC0415 - NumPy is for those who measure

    check_save(options)
    wanted = options.kernel or options.named
    found = _race.race(
        built([wanted], options)[0] if wanted else None,
        quick=options.quick,
        rounds=options.rounds,
        placements=options.placements,
        seed=options.seed,
        huge_pages=options.huge_pages,
    )
    if options.json:
        print_json({**({} if found.sweep is None else sweep_as_json(found.sweep)), **found.as_json()})
    else:
        print(found.text(), end="")
    if options.save and options.save.endswith(".json"):
        found.save(options.save)
    elif options.save and found.sweep is not None:
        found.sweep.save(options.save)
    return INTERRUPTED if found.about.interrupted else 0
