"""What the commands that sweep share: the options of a plan, and a sweep as JSON."""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ._common import in_options, names, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastcksum.lab import Sweep
    from fastcksum.lab._bench.request import KernelLike

KERNEL = (
    "a name, or [REV:]FILE[:FUNCTION][@COMPILER][@FLAGS]: C, C++, assembler, .o, .a, .so, or - for C on stdin"
)


def add_plan(parser: argparse.ArgumentParser, *, placements: int | None, rounds: int) -> None:
    """The options of everything that sweeps; placements None: as many as it takes to decide."""
    parser.add_argument("--sizes", type=numbers, metavar="BYTES", help="block sizes (default: DPDK's ten)")
    parser.add_argument(
        "--offsets",
        type=numbers,
        metavar="BYTES",
        default=[0, 1],
        help="how far off alignment (default: 0,1)",
    )
    parser.add_argument(
        "--mode", default="throughput", metavar="MODE", help="throughput (default), latency, mixed"
    )
    parser.add_argument(
        "--lengths",
        type=mixes,
        metavar="MIXES",
        help="of mode mixed: imix and ranges (default: imix,1-32,1-128,1-1500)",
    )
    parser.add_argument("--cache", default="hot", metavar="SET", help="hot (default), l2, l3, dram, cold")
    parser.add_argument(
        "--form", default="plain", metavar="FORM", help="plain (default), dpdk: ten blocks, as dpdk-test does"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=rounds,
        metavar="N",
        help=f"visits to a cell and placement, each of several samples (default: {rounds})",
    )
    parser.add_argument(
        "--placements",
        type=int,
        default=placements,
        metavar="N",
        help="places in a page at which the code is linked, 1 or a multiple of 4 (default: "
        f"{placements or '32, then 64 and 128 where these do not decide'})",
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="processes, one after another (default: 1)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the bytes, the order and the places (default: a new one)"
    )


def add_building(parser: argparse.ArgumentParser) -> None:
    """The options of everything that takes kernels which are files."""
    parser.add_argument(
        "--cc", metavar="COMPILER", default="gcc", help="builds kernels that are files (default: gcc)"
    )
    parser.add_argument(
        "--flags",
        type=shlex.split,
        metavar="FLAGS",
        default=("-O3",),
        help="of that compiler, such as '-O3 -march=native' (default: -O3)",
    )
    parser.add_argument(
        "--min-len",
        type=int,
        default=0,
        metavar="BYTES",
        help="the shortest buffer for which a file's sum is right",
    )
    parser.add_argument("--max-len", type=int, metavar="BYTES", help="the longest one")


def built(names: Sequence[str], options: argparse.Namespace) -> list[KernelLike]:
    """The names as they are, and the kernels of those that are files, built by these options. Errors in their words."""
    if all(
        name.isidentifier() for name in names
    ):  # as all built-in kernels are called: nothing to build, no NumPy
        return list(names)
    from fastcksum.lab._build.spec import is_spec, kernel_of  # noqa: PLC0415 - NumPy is for those who measure

    lengths = {"min_len": options.min_len, "max_len": options.max_len}
    with in_options():
        return [
            kernel_of(name, compiler=options.cc, flags=options.flags, **lengths) if is_spec(name) else name
            for name in names
        ]


def mixes(text: str) -> dict[str, Any]:
    """The mixes of a list such as imix,1-128: what mode mixed takes as lengths."""
    from fastcksum.lab import IMIX  # noqa: PLC0415 - NumPy is for those who measure

    found: dict[str, Any] = {}
    for part in names(text):
        span = re.fullmatch(r"(\d+)-(\d+)", part)
        if part == "imix":
            found[part] = IMIX
        elif span is not None and int(span[1]) <= int(span[2]):
            found[f"{span[1]}..{span[2]}"] = (int(span[1]), int(span[2]))
        else:
            raise argparse.ArgumentTypeError(f"{part!r} is neither imix nor a range such as 1-128")
    return found


def plan_of(options: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments that sweep() and compare() share."""
    lengths = options.lengths
    if options.mode == "mixed" and lengths is None:
        lengths = mixes("imix,1-32,1-128,1-1500")
    same = ("offsets", "mode", "cache", "form", "rounds", "placements", "processes", "seed")
    plan = {name: getattr(options, name) for name in same}
    if options.placements is None:
        del plan["placements"]
    if options.sizes is not None:
        plan["sizes"] = options.sizes
    return {**plan, "lengths": lengths}


def known(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields as JSON can hold them: a figure that isn't known is null."""
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in fields.items()
    }


def sweep_as_json(sweep: Sweep) -> dict[str, Any]:
    """Host, plan and rows. A figure that isn't known is null; a net figure below zero is "invalid"."""
    rows = []
    for row in sweep.table():
        fields = known(row._asdict())
        if row.net_ticks_per_call is not None and fields["net_ticks_per_call"] is None and row.samples:
            fields["net_ticks_per_call"] = "invalid"
        rows.append(fields)
    return {"host": asdict(sweep.host), "plan": asdict(sweep.plan), "rows": rows}


def add_save(parser: argparse.ArgumentParser) -> None:
    """--save, of a command that measures."""
    parser.add_argument(
        "--save", metavar="FILE.json", help="keep every sample, with host and plan: .json, or .json.gz packed"
    )


def check_save(options: argparse.Namespace) -> None:
    """Asks before measuring whether the file can be written. ValueError or OSError that names it."""
    if options.save:
        from fastcksum.lab._figures.results import check_target  # noqa: PLC0415 - NumPy is for those who measure

        check_target(options.save)


def save(sweep: Sweep, options: argparse.Namespace) -> None:
    """Saves after all was printed: what goes wrong then costs no figure."""
    if options.save:
        sys.stdout.flush()
        sweep.save(options.save)
