"""The command line: fastcksum perf | compare | race | compile | kernels | host | check | sum | verify.

Exit status: 0; 1 when what was asked is false (a kernel is wrong, a checksum is bad); 2 when it can't be done, with
the reason on standard error.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import sys
import warnings
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from . import _core, active_kernel, kernels, raw_cksum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._kernel import Kernel
    from .capture import Report, Row
    from .lab import Sweep
    from .lab._matrix import Matrix

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended
PIECE = 1 << 20  # bytes read at a time: even, so that no word is cut

CHECK_LENGTH = 4096
CHECK_OFFSETS = 64
# What find_difference calls the contents, and the start value to go with each: zeros tell a sum of 0 from 0xffff, the
# others make every lane carry, and a kernel that forgets the start value is found as well.
CHECK_FILLS = {"zeros": (0, 0), "0xff": (1, 0), "random": (2, 0xBEEF), "carries": (3, 0xFFFF)}


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
    for add in (
        _add_perf,
        _add_compare,
        _add_race,
        _add_compile,
        _add_kernels,
        _add_host,
        _add_check,
        _add_sum,
        _add_verify,
    ):
        add(commands)
    return parser


Commands = Any  # argparse does not name the type of what add_subparsers() returns


def _command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], about: str, example: str
) -> argparse.ArgumentParser:
    """A subcommand with its help, which ends with one example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def numbers(text: str) -> list[int]:
    """The numbers of a list such as 20,21,1500 or 0-3,63."""
    found: list[int] = []
    for part in text.split(","):
        span = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if span is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a list of numbers and ranges such as 20,21,1500 or 0-63"
            )
        found += range(int(span[1]), int(span[2] or span[1]) + 1)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} names no number: a range goes upwards")
    return found


def names(text: str) -> list[str]:
    """The names of a list such as avx2,dpdk_after."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, allow_nan=False))


# perf


def _add_perf(commands: Commands) -> None:
    parser = _command(
        commands,
        "perf",
        _perf,
        "time kernels and print the table that DPDK's cksum_perf_autotest prints, one a kernel",
        "fastcksum perf --kernels dpdk_before,dpdk_after,nothing --sizes 20,1500 --offsets 0-3",
    )
    parser.add_argument(
        "--kernels",
        type=names,
        metavar="NAMES",
        help="a comma list (default: the active one, the past ones of DPDK and Linux, the yardsticks)",
    )
    _add_plan(parser, placements=1, rounds=60)
    parser.add_argument(
        "--save", metavar="FILE", help="keep every sample, with host and plan, in a Parquet file"
    )
    parser.add_argument(
        "--json", action="store_true", help="host, plan and rows as JSON; invalid nets say so"
    )


def _add_plan(parser: argparse.ArgumentParser, *, placements: int, rounds: int) -> None:
    """The options of everything that sweeps."""
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
        "--rounds", type=int, default=rounds, metavar="N", help=f"samples a cell (default: {rounds})"
    )
    parser.add_argument(
        "--placements",
        type=int,
        default=placements,
        metavar="N",
        help=f"places in a page at which the code is linked (default: {placements})",
    )
    parser.add_argument(
        "--processes", type=int, default=1, metavar="N", help="processes, one after another (default: 1)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the bytes, the order and the places (default: a new one)"
    )


def mixes(text: str) -> dict[str, Any]:
    """The mixes of a list such as imix,1-128: what mode mixed takes as lengths."""
    from .lab import IMIX  # noqa: PLC0415 - NumPy is for those who measure

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


def _plan_of(options: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments that sweep() and compare() share."""
    lengths = options.lengths
    if options.mode == "mixed" and lengths is None:
        lengths = mixes("imix,1-32,1-128,1-1500")
    same = ("offsets", "mode", "cache", "form", "rounds", "placements", "processes", "seed")
    plan = {name: getattr(options, name) for name in same}
    if options.sizes is not None:
        plan["sizes"] = options.sizes
    return {**plan, "lengths": lengths}


def _perf(options: argparse.Namespace) -> int:
    from . import lab  # noqa: PLC0415 - NumPy is for those who measure

    sweep = lab.sweep(options.kernels, **_plan_of(options))
    if options.save:
        sweep.save(options.save)
    if options.json:
        _print_json(sweep_as_json(sweep))
    else:
        print(sweep.text(), end="")
    return INTERRUPTED if sweep.plan.interrupted else 0


def sweep_as_json(sweep: Sweep) -> dict[str, Any]:
    """Host, plan and rows. A figure that isn't known is null; a net figure below zero is "invalid"."""
    rows = []
    for row in sweep.table():
        fields = {
            key: None if isinstance(value, float) and math.isnan(value) else value
            for key, value in row._asdict().items()
        }
        if row.net_ticks_per_call is not None and fields["net_ticks_per_call"] is None and row.samples:
            fields["net_ticks_per_call"] = "invalid"
        rows.append(fields)
    return {"host": asdict(sweep.host), "plan": asdict(sweep.plan), "rows": rows}


# compare


def _add_compare(commands: Commands) -> None:
    parser = _command(
        commands,
        "compare",
        _compare,
        "say of two kernels which one is faster, where, by how much and how sure, or that no difference is resolved",
        "fastcksum compare dpdk_before dpdk_after --sizes 20,1500",
    )
    parser.add_argument("a", metavar="A", help="the kernel to compare with")
    parser.add_argument("b", metavar="B", help="the kernel that is judged")
    _add_plan(parser, placements=10, rounds=240)
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="P",
        help="of all verdicts together (default: 0.95)",
    )
    parser.add_argument("--json", action="store_true", help="host, plan, rows and ratios as JSON")


def _compare(options: argparse.Namespace) -> int:
    from . import lab  # noqa: PLC0415 - NumPy is for those who measure

    found = lab.compare(options.a, options.b, confidence=options.confidence, **_plan_of(options))
    if options.json:
        ratios = [ratio._asdict() for ratio in found.table()]
        _print_json({**sweep_as_json(found.sweep), "a": found.a, "b": found.b, "ratios": ratios})
    else:
        print(found.text(), end="")
    return INTERRUPTED if found.sweep.plan.interrupted else 0


# race


def _add_race(commands: Commands) -> None:
    parser = _command(
        commands,
        "race",
        _race,
        "time our kernels and other people's together, from 20 bytes to 64 MiB, and say who wins where",
        "fastcksum race --quick",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer placements and rounds: below three minutes"
    )
    parser.add_argument(
        "--kernel", metavar="NAME", help="the one of ours that is judged (default: the active one)"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="samples a cell and placement (default: 20; quick: 8)"
    )
    parser.add_argument(
        "--placements", type=int, metavar="N", help="places of the code in a page (default: 10; quick: 3)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="of the bytes, the order and the places (default: a new one)"
    )
    parser.add_argument("--huge-pages", action="store_true", help="ask for huge pages for the buffers")
    parser.add_argument(
        "--save", metavar="FILE", help="keep every sample, with host and plan, in a Parquet file"
    )
    parser.add_argument(
        "--json", action="store_true", help="host, plan, rows and all that is printed as JSON"
    )


def _race(options: argparse.Namespace) -> int:
    from .lab import _race  # noqa: PLC0415 - NumPy is for those who measure

    found = _race.race(
        options.kernel,
        quick=options.quick,
        rounds=options.rounds,
        placements=options.placements,
        seed=options.seed,
        huge_pages=options.huge_pages,
    )
    if options.save:
        found.sweep.save(options.save)
    if options.json:
        _print_json({**sweep_as_json(found.sweep), **_race.as_json(found)})
    else:
        print(found.text(), end="")
    return INTERRUPTED if found.sweep.plan.interrupted else 0


# compile


def _add_compile(commands: Commands) -> None:
    parser = _command(
        commands,
        "compile",
        _compile,
        "compile a checksum function of your own with every compiler here, check its sums, time it, and show what each "
        "build made of it; exit 1 if one gives a wrong sum",
        "fastcksum compile patch.c --compilers gcc,clang-19 --flags=-O3 --max-len 131072",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE.c",
        help="C, with uint32_t f(const void *buf, size_t len, uint32_t sum)",
    )
    parser.add_argument(
        "--compilers", type=names, metavar="NAMES", help="a comma list (default: each compiler on the PATH)"
    )
    parser.add_argument(
        "--flags",
        type=shlex.split,
        action="append",
        metavar="FLAGS",
        help="one set of flags, such as --flags='-O3 -march=native'; can be repeated (default: -O2, -O3, -O2 -g and "
        "-O3 -flto, each for five levels of x86-64)",
    )
    parser.add_argument("--symbol", metavar="NAME", help="the function, where several qualify")
    parser.add_argument(
        "--max-len", type=int, metavar="BYTES", help="the longest buffer for which its sum is right"
    )
    parser.add_argument("--sizes", type=numbers, metavar="BYTES", help="block sizes (default: 20,100,1500)")
    parser.add_argument("--json", action="store_true", help="file, unit, sizes and a row a build as JSON")


def _compile(options: argparse.Namespace) -> int:
    from .lab._matrix import matrix  # noqa: PLC0415 - NumPy is for those who measure

    flags: dict[str, Any] = {"frame_pointer": (False,)}
    if options.flags:
        flags = {"optimisations": options.flags, "targets": ("",), "frame_pointer": (None,)}
    found = matrix(
        options.file,
        options.compilers,
        **flags,
        **({"sizes": options.sizes} if options.sizes else {}),
        symbol=options.symbol,
        max_len=options.max_len,
    )
    if options.json:
        _print_json(matrix_as_json(found))
    else:
        print(found.text())
    counts = {
        status: sum(row.status == status for row in found.rows) for status in ("timed", "wrong", "not built")
    }
    if counts["wrong"]:
        wrong = next(row for row in found.rows if row.status == "wrong")
        print(f"{options.file.name}, {wrong.compiler} {wrong.flags}: {wrong.note}", file=sys.stderr)
        return 1
    if not counts["timed"]:
        print(f"fastcksum: {options.file.name} is {found.rows[0].note}", file=sys.stderr)
        return 2
    if found.sweep is not None and found.sweep.plan.interrupted:
        return INTERRUPTED
    if not options.json:
        print(f"{options.file.name}: the sums of all {counts['timed']} builds that ran are right")
    return 0


def matrix_as_json(found: Matrix) -> dict[str, Any]:
    """Unit, sizes, and of each build its fields; the ticks by size, null where it was not timed."""
    rows = [{**row._asdict(), "ticks": dict(zip(found.sizes, row.ticks, strict=True))} for row in found.rows]
    return {"unit": found.host.unit, "offset": found.offset, "sizes": found.sizes, "rows": rows}


# kernels, host


def _add_kernels(commands: Commands) -> None:
    parser = _command(
        commands, "kernels", _kernels, "list the kernels of this build", "fastcksum kernels --json"
    )
    parser.add_argument("--json", action="store_true", help="all that is known of each, as JSON")


def _kernels(options: argparse.Namespace) -> int:
    try:
        active: Kernel | None = active_kernel()
    except ValueError as error:  # FASTCKSUM_KERNEL names none: the list is what helps then
        active = None
        print(f"fastcksum: {error}", file=sys.stderr)
    if options.json:
        _print_json([_kernel_as_json(kernel, active) for kernel in kernels()])
        return 0
    table: list[tuple[str, ...]] = [("", "name", "role", "runs here", "made for", "code", "summary")]
    table += [_kernel_line(kernel, active) for kernel in kernels()]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print("* is used when no kernel is named")
    return 0


def _kernel_line(kernel: Kernel, active: Kernel | None) -> tuple[str, ...]:
    unlimited = kernel.max_len >= 2**63 - 1
    runs = "yes" if kernel.runs_here else f"no: {' '.join(kernel.needs)}"
    made_for = f"{kernel.min_len}.." + ("any" if unlimited else str(kernel.max_len))
    code = "?" if kernel.code_bytes is None else f"{kernel.code_bytes} B"
    return ("*" if kernel == active else "", kernel.name, kernel.role, runs, made_for, code, kernel.summary)


def _kernel_as_json(kernel: Kernel, active: Kernel | None) -> dict[str, Any]:
    fields = {name: getattr(kernel, name) for name in kernel.__dataclass_fields__ if name != "capsule"}
    return {**fields, "active": kernel == active}


def _add_host(commands: Commands) -> None:
    parser = _command(
        commands,
        "host",
        _host,
        "show the machine, its clock and the build, and what spoils a measurement here",
        "fastcksum host --json",
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def _host(options: argparse.Namespace) -> int:
    from . import lab  # noqa: PLC0415 - NumPy is for those who measure

    host = lab.host()
    if options.json:
        _print_json(asdict(host))
    else:
        print("\n".join(host.to_lines()))
    return 0


# check


def _add_check(commands: Commands) -> None:
    parser = _command(
        commands,
        "check",
        _check,
        f"compare every kernel that runs here with the reference: all lengths 0..{CHECK_LENGTH} at offsets "
        f"0..{CHECK_OFFSETS - 1}, contents {', '.join(CHECK_FILLS)}; exit 1 at the first difference",
        "fastcksum check --kernels avx2",
    )
    parser.add_argument(
        "--kernels", type=names, metavar="NAMES", help="a comma list (default: all that run here)"
    )
    parser.add_argument(
        "--json", action="store_true", help="kernels, right (true or false), difference as JSON"
    )


def _check(options: argparse.Namespace) -> int:
    from .lab._progress import reporting  # noqa: PLC0415 - as above

    wanted = options.kernels or [
        each.name for each in kernels() if each.runs_here and each.role != "yardstick"
    ]
    with reporting(None, "check") as report:
        difference = first_difference(wanted, report)
    if options.json:
        _print_json({"kernels": wanted, "right": difference is None, "difference": difference})
    elif difference is None:
        print(
            f"{', '.join(wanted)}: right at lengths 0..{CHECK_LENGTH}, offsets 0..{CHECK_OFFSETS - 1}, "
            f"contents {', '.join(CHECK_FILLS)}"
        )
    else:
        print(
            "{kernel} is wrong at {length} bytes, offset {offset} (contents: {contents}, start value {start:#x}): "
            "it gives {got:#06x}, right is {expected:#06x}".format_map(difference)
        )
    return 0 if difference is None else 1


def first_difference(wanted: Sequence[Any], report: Callable[[int, int], None]) -> dict[str, Any] | None:
    """The first difference between these kernels and the reference, at all lengths, offsets and contents; or None."""
    cases = list(product(wanted, CHECK_FILLS.items(), range(CHECK_OFFSETS)))
    for done, (kernel, (contents, (fill, start)), offset) in enumerate(cases):
        found = _core.find_difference(kernel, fill, offset, CHECK_LENGTH, start)
        if found is not None:
            length, got, expected = found
            name = kernel if isinstance(kernel, str) else kernel.name
            place = {"kernel": name, "length": length, "offset": offset, "contents": contents, "start": start}
            return {**place, "got": got, "expected": expected}
        report(done + 1, len(cases))
    return None


# sum


def _add_sum(commands: Commands) -> None:
    parser = _command(
        commands,
        "sum",
        _sum,
        "print the raw sum (host byte order) and the checksum (as on the wire) of files",
        "head -c 20 packet.bin | fastcksum sum -",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file; - is standard input")
    parser.add_argument("--json", action="store_true", help="a list of {file, bytes, raw, checksum} as JSON")


def _sum(options: argparse.Namespace) -> int:
    sums, status = [], 0
    for name in options.files:
        try:
            raw, size = _sum_of_file(name)
        except OSError as error:
            print(f"fastcksum: {name}: {error.strerror}", file=sys.stderr)
            status = 2
            continue
        sums.append({"file": name, "bytes": size, "raw": raw, "checksum": checksum_of(raw)})
        if not options.json:
            print(f"raw {raw:#06x}  checksum {checksum_of(raw):#06x}  {size} bytes  {name}")
    if options.json:
        _print_json(sums)
    return status


def _sum_of_file(name: str) -> tuple[int, int]:
    """(raw sum, bytes) of a file."""
    if name == "-":
        return sum_of_stream(sys.stdin.buffer)
    with open(name, "rb") as file:  # noqa: PTH123 - so that an error shows the name as given
        return sum_of_stream(file)


def sum_of_stream(stream: BinaryIO) -> tuple[int, int]:
    """(raw sum, bytes) of all that is left in a stream, read in even pieces."""
    raw = size = 0
    for piece in _pieces(stream):
        raw = raw_cksum(piece, raw)
        size += len(piece)
    return raw, size


def _pieces(stream: BinaryIO) -> Iterator[memoryview]:
    """The stream in pieces of which only the last can be odd, however short its reads are."""
    buffer = bytearray(PIECE)
    view = memoryview(buffer)
    filled = 0
    while True:
        got = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not got:
            break
        filled += got
        if filled == PIECE:
            yield view
            filled = 0
    if filled:
        yield view[:filled]


def checksum_of(raw: int) -> int:
    """The complement of a raw sum, as the big-endian number that packets carry."""
    return int.from_bytes((raw ^ 0xFFFF).to_bytes(2, sys.byteorder), "big")


# verify


def _add_verify(commands: Commands) -> None:
    parser = _command(
        commands,
        "verify",
        _verify,
        "judge every checksum in capture files (pcap, pcapng; gzip, zstd): counts, and each bad one; "
        "exit 1 if one is bad",
        "fastcksum verify --all dump.pcap",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a capture; - is standard input")
    parser.add_argument("--all", action="store_true", help="every checksum, not only the bad ones")
    parser.add_argument(
        "--json", action="store_true", help="a list of {file, packets, counts, layers, ..., rows} as JSON"
    )


def _verify(options: argparse.Namespace) -> int:
    status, reports = 0, []
    for name in options.files:
        try:
            report = _report_on(name)
        except OSError as error:
            print(f"fastcksum: {name}: {error.strerror}", file=sys.stderr)
            status = 2
            continue
        except ValueError as error:
            print(f"fastcksum: {error}", file=sys.stderr)
            status = 2
            continue
        if report.damage is not None:
            print(f"fastcksum: {name} is {report.damage}", file=sys.stderr)
        status = status or int(report.counts()["bad"] > 0)
        if options.json:
            reports.append(report_as_json(name, report, every=options.all))
        else:
            _print_report(name, report, every=options.all)
    if options.json:
        _print_json(reports)
    return status


def _report_on(name: str) -> Report:
    from . import capture  # noqa: PLC0415 - NumPy is for those who verify

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)  # the report says the same
        return capture.verify("/dev/stdin" if name == "-" else name)


def _wanted_rows(report: Report, *, every: bool) -> Iterator[Row]:
    return report.iter_rows() if every else report.iter_rows("bad")


def _print_report(name: str, report: Report, *, every: bool) -> None:
    print(f"{name}: {report.packets:,} packets, {sum(report.counts().values()):,} checksums")
    for link, n in report.unknown_links.items():
        print(f"  {n:,} packets are of link type {link}, which is not understood")
    layers = report.counts_by_layer()
    if layers:
        table = [["", *report.counts()]]
        table += [[layer, *(f"{n:,}" for n in counts.values())] for layer, counts in layers.items()]
        table.append(["all", *(f"{n:,}" for n in report.counts().values())])
        for line in table:
            print("  " + line[0].ljust(8) + "".join(cell.rjust(14) for cell in line[1:]))
    for row in _wanted_rows(report, every=every):
        print("  " + row_as_text(row))


def row_as_text(row: Row) -> str:
    """One checksum on one line."""
    found = "" if row.found is None else f", found {row.found:#06x}"
    expected = "" if row.expected is None or row.expected == row.found else f", expected {row.expected:#06x}"
    between = f"{row.src or '?'} > {row.dst or '?'}"
    reason = f" ({row.reason})" if row.reason else ""
    return f"packet {row.packet}  {row.time}  {row.layer}  {between}: {row.status}{found}{expected}{reason}"


def report_as_json(name: str, report: Report, *, every: bool) -> dict[str, Any]:
    """What verify says of a file. A time that the file doesn't give is null."""
    rows = (row._asdict() for row in _wanted_rows(report, every=every))
    return {
        "file": name,
        "packets": report.packets,
        "counts": report.counts(),
        "layers": report.counts_by_layer(),
        "unknown_links": {str(link): n for link, n in report.unknown_links.items()},
        "damage": report.damage,
        "rows": [{**row, "time": None if row["time"] != row["time"] else str(row["time"])} for row in rows],
    }
