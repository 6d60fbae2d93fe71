"""The checksum's share of a packet load: what a faster sum gains somebody who also parses and copies."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastcksum import _core
from fastcksum._extras import extra
from fastcksum._progress import Progress, reporting

from ._bench.cells import draw_lengths
from ._bench.job import MARGIN, time_round
from ._bench.memory import mapped
from ._bench.request import KernelLike, check_count, choose, draw_seed, resolve, target_ticks
from ._figures import stats
from ._figures.record import IMIX, OVERHEAD
from ._machine.facts import Host, host
from ._machine.processor import pinned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

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
    """What trace() found: one row a kernel, the machine, and the load that was received."""

    rows: tuple[TraceRow, ...]
    without_sum: float  # ns a packet of the same loop without a sum
    lengths: dict[int, int]
    packets: int
    host: Host

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
            "everything one core does at line rate: driver, stack, memory management and wake-ups too. Here the rest of",
            "a packet's work is its headers and one copy, so that the share is an upper bound of what a system shows.",
        ]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()


def trace(
    kernel: KernelLike | Sequence[KernelLike],
    lengths: Mapping[int, int] = IMIX,
    *,
    packets: int = 1024,
    rounds: int = 60,
    seed: int | None = None,
    progress: Progress | bool | None = None,
) -> Trace:
    """Times the receive loop with each kernel and without a sum, and says what share of it the sum takes.

    lengths: IPv4 total length in bytes -> how many of the packets have it, in a shuffled order. packets: how many
    there are, each in a slot of 2 KiB that is received again and again. The loop reads the header lengths, protocol
    and addresses, sums the segment on top of its pseudo header, and copies the payload once.

    ValueError for lengths outside 28..2048, and for a kernel that can't run here or computes no sum.
    """
    chosen = choose(kernel)
    for each in chosen:
        if each.role == "yardstick":
            raise ValueError(
                f"kernel '{each.name}' is a yardstick and computes no sum; trace() adds the empty one itself"
            )
    _check_lengths(lengths)
    check_count("packets", packets)
    check_count("rounds", rounds)
    source = np.random.default_rng(draw_seed() if seed is None else seed)
    sizes = draw_lengths(lengths, packets, source).tolist()
    buffer = mapped(SLOT * packets, source)
    for slot, size in enumerate(sizes):
        start = slot * SLOT
        buffer[start : start + SHORTEST + 12] = headers(size)[: SHORTEST + 12].ljust(SHORTEST + 12, b"\0")
    bench = _core.Bench()
    starts = [slot * SLOT for slot in range(packets)]
    for each in [*chosen, resolve(OVERHEAD)]:
        bench.add(each, buffer, starts, sizes, loop="receive")
    with pinned(), reporting(progress, f"trace of {packets} packets") as report:
        bench.calibrate(int(target_ticks() * MARGIN))
        samples = []
        for number in range(rounds):
            samples.append(time_round(bench, source.permutation(len(chosen) + 1).tolist(), number))
            report(number + 1, rounds)
    machine = host()
    return Trace(
        *_figures(np.concatenate(samples), [each.name for each in chosen], machine),
        dict(lengths),
        packets,
        machine,
    )


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
    samples: np.ndarray[tuple[int], np.dtype[np.void]], names: Sequence[str], machine: Host
) -> tuple[tuple[TraceRow, ...], float]:
    """One row a kernel, and the ns a packet without a sum; the last cell of the samples is the empty kernel."""
    per_packet = samples["ticks"] / samples["calls"]
    of_cells = [samples["cell"] == cell for cell in range(len(names) + 1)]
    summaries = [stats.summarise(per_packet[cell], samples["flags"][cell]) for cell in of_cells]
    halves = [stats.minima_of_halves(per_packet[cell & (samples["flags"] == 0)]) for cell in of_cells]
    ns = 1e9 / machine.hz
    without = summaries[-1].minimum
    rows = tuple(
        TraceRow(
            kernel=name,
            ticks_per_packet=summary.minimum,
            ns_per_packet=summary.minimum * ns,
            share=(summary.minimum - without) / summary.minimum,
            badge=stats.badge(stats.disagreement(of_halves), np.zeros(0, np.bool_)),
        )
        for name, summary, of_halves in zip(names, summaries, halves, strict=False)
    )
    return rows, without * ns
