"""The checksum's share of a packet load: what a faster sum gains somebody who also parses and copies."""

from __future__ import annotations

import operator
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastcksum import _core
from fastcksum._extras import extra
from fastcksum._progress import Progress, reporting

from ._bench import job, runner, warm
from ._bench.cells import draw_lengths
from ._bench.memory import mapped
from ._bench.request import KernelLike, check_count, check_seed, choose, draw_seed, resolve, target_ticks
from ._figures.record import IMIX, OVERHEAD, RANDOM_OFFSET, Cell
from ._figures.rows import rows_of
from ._machine.facts import Host, host
from ._machine.processor import pinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from fastcksum._kernel import Kernel

    from ._figures.record import Structured

# Each packet lies in a slot of its own, as the buffers of a receive ring do.
SLOT = 2048
LONGEST = SLOT
SHORTEST = 28  # an IPv4 header and a UDP header


class TraceRow(NamedTuple):
    """One kernel in the receive loop: ticks and ns a packet (minima), and the part of them that the sum takes."""

    kernel: str
    ticks_per_packet: float
    ns_per_packet: float
    share: float
    badge: str


@dataclass(frozen=True, eq=False)
class Trace:
    """What trace() found: one row a kernel, the machine, the load that was received, and every sample.

    without_sum: ns a packet of the same loop without a sum. lengths: length in bytes -> how many packets have it.
    samples: structured array as Sweep.samples, a call being a packet; seed: of the bytes and the orders.
    """

    rows: tuple[TraceRow, ...]
    without_sum: float
    lengths: dict[int, int]
    packets: int
    rounds: int
    seed: int
    host: Host
    samples: Structured = field(repr=False)

    @property
    def share(self) -> float:
        """The part of a packet's time that the sum takes, 0..1. ValueError if several kernels were traced."""
        if len(self.rows) != 1:
            raise ValueError(f"{len(self.rows)} kernels were traced: read .shares, or trace one")
        return self.rows[0].share

    @property
    def shares(self) -> dict[str, float]:
        """The share of each kernel by its name."""
        return {row.kernel: row.share for row in self.rows}

    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        pandas = extra("pandas", "Trace.frame()", "lab", without="Trace.rows is there without")
        frame: pd.DataFrame = pandas.DataFrame(self.rows, columns=TraceRow._fields)
        return frame

    def text(self) -> str:
        """A table: what a packet costs with each kernel, and the two published shares below it."""
        mix = ", ".join(f"{count} of {length} bytes" for length, count in self.lengths.items())
        lines = [
            f"A load of {self.packets} IPv4 packets ({mix}): headers parsed, segment summed, payload copied once",
            f"{'kernel':<24} {'ns/packet':>10} {'share of the sum':>18}",
            *(f"{row.kernel:<24} {row.ns_per_packet:>10.2f} {row.share:>17.1%}" for row in self.rows),
            f"{'(no sum)':<24} {self.without_sum:>10.2f}",
            "Published (netdev 2021-11, Cascade Lake, csum_partial): 4.16 % before, 0.83 % after. That is the share of",
            "everything one core does at line rate: driver, stack, memory management, wake-ups. Here the rest of a",
            "packet's work is its headers and one copy, so that the share is an upper bound of what a system shows.",
        ]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()


def trace(
    kernel: KernelLike | Sequence[KernelLike],
    lengths: Mapping[int, int] | Sequence[int] = IMIX,
    *,
    packets: int | None = None,
    rounds: int = 20,
    seed: int | None = None,
    progress: Progress | bool | None = None,
) -> Trace:
    """Times the receive loop with each kernel and without a sum, and says what share of it the sum takes.

    lengths: IPv4 total length in bytes -> how many of the packets have it, in a shuffled order, with packets saying how
    many there are (None: 1024); or the length of each packet in turn, as a capture has them. Each packet lies in a slot
    of 2 KiB that is received again and again. The loop reads the header lengths, protocol and addresses, sums the
    segment on top of its pseudo header, and copies the payload once.

    ValueError for lengths outside 28..2048, for a kernel that can't run here, computes no sum, isn't made for the
    lengths of these segments, or whose sum of a packet is wrong.
    """
    chosen = choose(kernel)
    for each in chosen:
        if each.role == "yardstick":
            raise ValueError(
                f"kernel '{each.name}' is a yardstick and computes no sum; trace() adds the empty one itself"
            )
    check_count("rounds", rounds)
    seed = draw_seed() if seed is None else check_seed(seed)
    source = np.random.default_rng(seed)
    sizes = _sizes_of(lengths, packets, source)
    _check_made_for(chosen, sizes)
    timed = [*chosen, resolve(OVERHEAD)]
    cells = [Cell(each.name, 0, "packets", RANDOM_OFFSET, "receive", "hot", "plain") for each in timed]
    bench = _loaded(timed, sizes, source)
    warming = warm.warm_ticks(target_ticks())
    samples = []
    with pinned(), reporting(progress, f"trace of {len(sizes)} packets") as report:
        bench.calibrate(int(target_ticks() * job.MARGIN))
        job.check_sums(bench, [cell.kernel for cell in cells])
        for number in range(rounds):
            order = source.permutation(len(cells)).tolist()
            samples.append(warm.time_round(bench, order, number, warm=warming, batches=warm.BATCHES))
            report(number + 1, rounds)
        job.check_sums(bench, [cell.kernel for cell in cells])
    machine = host()
    joined = runner.join_samples([job.placed(np.concatenate(samples), range(len(cells)), 0)], cells)
    return Trace(
        *_figures(joined, cells, float(np.mean(sizes)), machine),
        lengths=dict(lengths) if isinstance(lengths, Mapping) else dict(Counter(sizes)),
        packets=len(sizes),
        rounds=rounds,
        seed=seed,
        host=machine,
        samples=joined,
    )


def _sizes_of(
    lengths: Mapping[int, int] | Sequence[int], packets: int | None, source: np.random.Generator
) -> list[int]:
    """The length of each packet. ValueError for what is no packet, and for a number of packets beside a list."""
    if isinstance(lengths, Mapping):
        _check_lengths(lengths)
        n = 1024 if packets is None else packets
        check_count("packets", n)
        return [int(size) for size in draw_lengths(lengths, n, source)]
    sizes = [operator.index(size) for size in lengths]
    _check_lengths(Counter(sizes))
    if packets not in {None, len(sizes)}:
        raise ValueError(
            f"packets must be left out where lengths names each packet: {len(sizes)} are named, not {packets}"
        )
    return sizes


def _check_made_for(chosen: Sequence[Kernel], sizes: Sequence[int]) -> None:
    """ValueError for a kernel that isn't made for a segment, the packet without its IPv4 header of 20 bytes."""
    shortest, longest = min(sizes) - 20, max(sizes) - 20
    for each in chosen:
        if not each.min_len <= shortest <= longest <= each.max_len:
            raise ValueError(
                f"kernel '{each.name}' is made for {each.min_len} to {each.max_len} bytes, and the segments of these "
                f"packets have {shortest} to {longest}; give other lengths, or another kernel"
            )


def _loaded(kernels: Sequence[Kernel], sizes: Sequence[int], source: np.random.Generator) -> _core.Bench:
    """A Bench whose cells receive these packets, one a kernel."""
    buffer = mapped(SLOT * len(sizes), source)
    starts = [slot * SLOT for slot in range(len(sizes))]
    for start, size in zip(starts, sizes, strict=True):
        buffer[start : start + SHORTEST + 12] = headers(size)[: SHORTEST + 12].ljust(SHORTEST + 12, b"\0")
    bench = _core.Bench()
    for each in kernels:
        bench.add(each, buffer, starts, sizes, loop="receive")
    return bench


def headers(size: int) -> bytes:
    """An IPv4 header (RFC 791) and a TCP one (RFC 9293), or a UDP one (RFC 768) where TCP's doesn't fit."""
    protocol = 6 if size >= 40 else 17
    ipv4 = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, size, 1, 0, 64, protocol, 0, b"\xc0\0\2\1", b"\xc6\x33\x64\1"
    )
    if protocol == 6:
        return ipv4 + struct.pack("!HHIIBBHHH", 443, 50000, 1, 1, 5 << 4, 0x10, 65535, 0, 0)
    return ipv4 + struct.pack("!HHHH", 53, 50000, size - 20, 0)


def _check_lengths(lengths: Mapping[int, int]) -> None:
    if not lengths or sum(lengths.values()) <= 0 or min(lengths.values()) < 0:
        raise ValueError(
            f"lengths must map sizes to counts that are not all 0, such as {IMIX}, not {dict(lengths)}"
        )
    for size in lengths:
        if not SHORTEST <= size <= LONGEST:
            raise ValueError(
                f"a packet of {size} bytes can't be received here: lengths must be in {SHORTEST}..{LONGEST}"
            )


def _figures(
    samples: Structured, cells: Sequence[Cell], mean_length: float, machine: Host
) -> tuple[tuple[TraceRow, ...], float]:
    """One row a kernel, and the ns a packet without a sum; the last of the cells is the empty kernel."""
    *rows, empty = rows_of(samples, cells, [mean_length] * len(cells), machine.unit)
    ns = 1e9 / machine.hz
    traced = tuple(
        TraceRow(
            kernel=row.kernel,
            ticks_per_packet=row.ticks_per_call,
            ns_per_packet=row.ticks_per_call * ns,
            share=(row.ticks_per_call - empty.ticks_per_call) / row.ticks_per_call,
            badge=row.badge,
        )
        for row in rows
    )
    return traced, empty.ticks_per_call * ns
