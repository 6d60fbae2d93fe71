"""Modes, caches, placements and processes: what is laid where, what is called, what comes back. No figure is judged."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fastcksum import _core, kernels, lab
from fastcksum.lab._bench import cells as _cells
from fastcksum.lab._bench import job as _job
from fastcksum.lab._bench import links as _links
from fastcksum.lab._bench import process as _process
from fastcksum.lab._bench import request
from fastcksum.lab._bench.cells import Layout, draw_lengths, set_sizes, set_stride, why_left_out
from fastcksum.lab._bench.memory import mapped, page_backing
from fastcksum.lab._bench.places import draw_places
from fastcksum.lab._bench.warm import time_round
from fastcksum.lab._figures.record import Cell
from fastcksum.lab._machine.facts import Cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SETS = {"l2": 1 << 16, "l3": 1 << 20, "dram": 1 << 30}
KIB, MIB = 1 << 10, 1 << 20


def spans_of(cell: Cell, seed: int = 1) -> _cells.Spans:
    source = np.random.default_rng(seed)
    layout = Layout(SETS, {"imix": _cells.draw_set(lab.IMIX, source)}, copies=3, slack=1)
    return layout.spans(cell, source)


def fixed(size: int, offset: int, mode: str = "throughput", cache: str = "hot", form: str = "plain") -> Cell:
    return Cell("k", size, "fixed", offset, mode, cache, form)


# Where the bytes lie


@pytest.mark.parametrize(
    ("mode", "cache", "loop", "cold"),
    [
        ("throughput", "hot", "plain", False),
        ("latency", "hot", "chain", False),
        ("throughput", "cold", "plain", True),
    ],
)
def test_one_span_and_its_loop(mode: str, cache: str, loop: str, cold: bool) -> None:
    spans = spans_of(fixed(100, 3, mode, cache))
    assert (spans.offsets, spans.lengths, spans.loop, spans.cold) == ([3], [100], loop, cold)
    assert not spans.walk


@pytest.mark.parametrize(("mode", "loop"), [("throughput", "each"), ("latency", "chain")])
@pytest.mark.parametrize(("size", "offset"), [(20, 0), (64, 1), (1500, 63)])
def test_a_set_fills_its_bytes_and_shares_no_line(mode: str, loop: str, size: int, offset: int) -> None:
    spans = spans_of(fixed(size, offset, mode, "l2"))
    assert spans.loop == loop
    assert spans.walk
    starts = sorted(spans.offsets)
    assert starts != spans.offsets
    assert {start % 64 for start in starts} == {offset % 64}
    lines = [start // 64 for start in starts]
    ends = [(start + size - 1) // 64 for start in starts]
    assert all(end < line for end, line in zip(ends, lines[1:], strict=False))
    assert SETS["l2"] - set_stride(size, offset) < starts[-1] + size <= SETS["l2"] + offset
    assert len(set(spans.lengths)) == 1


def test_sets_come_from_the_caches() -> None:
    def caches(l2: int, l3: int) -> list[Cache]:
        return [
            Cache(1, "Data", 32 * KIB, 8, 64, "0"),
            Cache(1, "Instruction", 64 * MIB, 8, 64, "0"),
            Cache(2, "Unified", l2, 8, 64, "0"),
            Cache(3, "Unified", l3, 16, 64, "0-7"),
        ]

    assert set_sizes(caches(512 * KIB, 32 * MIB)) == {"l2": 256 * KIB, "l3": 8 * MIB, "dram": 128 * MIB}
    assert set_sizes(caches(2 * MIB, 480 * MIB)) == {"l2": MIB, "l3": 32 * MIB, "dram": 1024 * MIB}
    assert set_sizes(caches(MIB, 768 * MIB)) == {"l2": 512 * KIB, "l3": 16 * MIB, "dram": 1536 * MIB}
    assert set_sizes(caches(MIB, 16 * MIB)) == {"l2": 512 * KIB, "l3": 8 * MIB, "dram": 64 * MIB}
    assert set_sizes(caches(MIB, 16 * MIB)[:3]) == {}
    assert set_sizes(caches(4 * MIB, 6 * MIB)) == {"l2": 2 * MIB, "dram": 24 * MIB}  # 3 MiB would lie in L2


def test_what_a_set_cannot_hold_is_left_out_with_a_reason() -> None:
    assert why_left_out(fixed(1 << 16, 0, cache="l2"), SETS) is None
    assert (
        why_left_out(fixed((1 << 16) + 1, 0, cache="l2"), SETS)
        == "65537 bytes don't fit in the l2 set of 65536 bytes"
    )
    assert why_left_out(fixed(1 << 31, 0, cache="dram"), SETS) is None
    reason = why_left_out(fixed(20, 0, cache="dram"), SETS)
    assert reason is not None
    assert "more than 2097152 buffers" in reason
    assert "sizes above 448 can be had" in reason
    assert why_left_out(fixed(449, 0, cache="dram"), SETS) is None
    assert why_left_out(fixed(1 << 40, 0), SETS) is None


@pytest.mark.parametrize(("mode", "loop"), [("mixed", "each"), ("mixed dependent", "chain")])
def test_mixed_lengths_at_random_offsets(mode: str, loop: str) -> None:
    spans = spans_of(Cell("k", 0, "imix", -1, mode, "hot", "plain"))
    assert (spans.loop, spans.walk, spans.mixed) == (loop, False, True)
    one = _cells.MIXED_CALLS
    assert len(spans.lengths) == 3 * one
    assert spans.lengths[:one] == spans.lengths[one : 2 * one] == spans.lengths[2 * one :]
    assert spans.offsets[:one] == spans.offsets[one : 2 * one] == spans.offsets[2 * one :]
    share = {size: spans.lengths.count(size) / len(spans.lengths) for size in lab.IMIX}
    assert share == pytest.approx({40: 7 / 12, 576: 4 / 12, 1500: 1 / 12}, abs=1e-3)
    assert spans.mean_length == pytest.approx((7 * 40 + 4 * 576 + 1500) / 12, rel=1e-3)
    assert min(spans.offsets) >= 0
    assert max(spans.offsets) < 1024
    assert len(set(spans.offsets)) > 1000


@pytest.mark.parametrize(("low", "high", "n"), [(1, 9, 9000), (1, 128, 16384), (0, 9000, 16384), (5, 5, 7)])
def test_a_range_gives_each_of_its_lengths_equally_often(low: int, high: int, n: int) -> None:
    lengths = draw_lengths((low, high), n, np.random.default_rng(2))
    counts = np.bincount(lengths - low)
    assert len(counts) == high - low + 1
    assert counts.max() - counts.min() <= 1
    assert lengths.tolist() != sorted(lengths) or low == high


def test_a_range_longer_than_the_draw_is_covered_evenly() -> None:
    lengths = np.sort(draw_lengths((1, 100000), 1000, np.random.default_rng(2)))
    assert ((lengths - 1) // 100 == np.arange(1000)).all()
    assert len(set((lengths - 1) % 100)) > 50


def spans_added(monkeypatch: pytest.MonkeyPatch, processes: range) -> list[list[tuple[tuple[int, ...], ...]]]:
    """For each process the (offsets, lengths) of each cell of a mixed job, as they are given to the core."""
    given: list[list[tuple[tuple[int, ...], ...]]] = []
    real = _core.Bench

    class Watched:
        def __init__(self) -> None:
            self.real = real()

        def add(self, kernel: object, buf: Any, offsets: Any, lengths: Any, **how: Any) -> int:
            given[-1].append((tuple(offsets), tuple(lengths)))
            return self.real.add(kernel, buf, offsets, lengths, **how)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.real, name)

    monkeypatch.setattr(_core, "Bench", Watched)
    for process in processes:
        given.append([])
        links = {name: [_job.Link(name)] for name in ("reference", "portable64")}
        cells = [
            Cell(name, 0, "1..9", -1, mode, "hot", "plain")
            for name in links
            for mode in ("mixed", "mixed dependent")
        ]
        mixes = {"1..9": (1, 9)}
        _job.run(
            _job.Job(links, 0, cells, [1] * 4, {}, mixes, 1, 2, 5, process, 1000, 1000, 2, 0, False),
            lambda *_: None,
        )
    return given


def test_a_mix_is_drawn_once_a_process_and_shared_by_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = spans_added(monkeypatch, range(2))
    assert len(first) == len(second) == 4
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]


def test_a_batch_of_a_mix_is_the_whole_set_in_another_order() -> None:
    """Sums of single bytes that tell where they came from: what a batch adds up to is what its set does."""
    source = np.random.default_rng(1)
    buffer = source.bytes(4096)
    n = 64
    offsets = source.integers(0, 4000, n).tolist()
    bench = _core.Bench()
    bench.add("reference", buffer, offsets * 3, [1] * (3 * n), loop="each", mixed=True)
    bench.set_calls(0, n)
    sets = [time_round(bench, [0], number, batches=2, seed=number) for number in range(3)]
    samples = np.concatenate(sets)
    assert (samples["calls"] == n).all()
    timed = samples["result"][samples["batch"] == 1]  # the first one's result holds the warm-up's too
    assert len(set(timed.tolist())) == 1


# What comes back


def test_mixed_rows() -> None:
    sweep = lab.sweep(
        ["reference", "nothing"], mode="mixed", lengths={"imix": lab.IMIX, "1..9": (1, 9)}, rounds=2
    )
    rows = sweep.table()
    assert [(row.kernel, row.distribution, row.mode) for row in rows] == [
        (kernel, mix, mode)
        for kernel in ("reference", "nothing")
        for mix in ("imix", "1..9")
        for mode in ("mixed", "mixed dependent")
    ]
    for row, mean in zip(rows, sweep.plan.mean_lengths, strict=True):
        assert (row.size, row.offset, row.calls) == (0, -1, _cells.MIXED_CALLS)
        assert row.ticks_per_byte == pytest.approx(row.ticks_per_call / mean, nan_ok=True)
    assert sweep.plan.lengths == {"imix": lab.IMIX, "1..9": (1, 9)}


def test_mixes_that_a_kernel_is_not_made_for_are_left_out() -> None:
    sweep = lab.sweep(
        ["dpdk_before"], mode="mixed", lengths={"long": {131074: 1, 20: 1}, "short": (1, 9)}, rounds=1
    )
    assert sweep.plan.left_out == ("dpdk_before at lengths 'long': it is right for 0 to 131072 bytes only",)
    assert {row.distribution for row in sweep.table()} == {"short"}


@pytest.mark.parametrize("mode", ["throughput", "latency"])
def test_sets_are_timed(mode: str) -> None:
    if not set_sizes(lab.host().caches):
        with pytest.raises(ValueError, match="needs the sizes of L2 and L3"):
            lab.sweep("reference", 1500, 0, mode=mode, cache="l2", rounds=1)
        return
    sweep = lab.sweep("reference", (1500, 1 << 32), 0, mode=mode, cache="l2", rounds=2)
    assert [(row.size, row.cache, row.mode) for row in sweep.table()] == [(1500, "l2", mode)]
    assert len(sweep.plan.left_out) == 1
    assert sweep.plan.set_bytes["l2"] < sweep.plan.set_bytes["l3"] < sweep.plan.set_bytes["dram"]
    assert "pages" in sweep.plan.pages


def test_unknown_caches_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "set_sizes", lambda _: {})
    with pytest.raises(
        ValueError, match="cache 'l3' needs the sizes of L2 and L3, which this machine doesn't tell"
    ):
        lab.sweep("reference", 1500, 0, cache="l3", rounds=1)


def test_cold_samples_are_single_calls() -> None:
    sweep = lab.sweep(["reference", "nothing"], 1500, (0, 1), cache="cold", rounds=3)
    assert (sweep.samples["calls"] == 1).all()


def test_batch_ticks_lengthen_the_batch() -> None:
    short = lab.sweep("reference", 1500, 0, rounds=1).plan.target_ticks
    assert lab.sweep("reference", 1500, 0, rounds=1, batch_ticks=7 * short).plan.target_ticks == 7 * short
    assert lab.sweep("reference", 1500, 0, rounds=1, batch_ticks=1).plan.target_ticks == short


# Memory


SMAPS = """\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
KernelPageSize:        4 kB
AnonHugePages:         {huge} kB
7f0000400000-7f0000401000 rw-p 00000000 00:00 0
Size:                  4 kB
"""


@pytest.mark.parametrize(
    ("huge", "text"), [(0, "4 KiB pages"), (2048, "2 MiB huge pages for 50%, 4 KiB pages")]
)
def test_page_backing_of_a_recorded_process(monkeypatch: pytest.MonkeyPatch, huge: int, text: str) -> None:
    buffer = mapped(4096, np.random.default_rng(1))
    monkeypatch.setattr(ctypes, "addressof", lambda _: 0x7F0000001000)
    assert page_backing(buffer, SMAPS.format(huge=huge)) == text
    monkeypatch.setattr(ctypes, "addressof", lambda _: 0x1000)
    assert page_backing(buffer, SMAPS.format(huge=huge)) == "pages unknown"


def test_page_backing_leaves_the_buffer_free() -> None:
    buffer = mapped(4096, np.random.default_rng(1))
    assert "pages" in page_backing(buffer)
    buffer.close()  # BufferError if a view of it were left


# Placements


@pytest.mark.needs_tool("gcc")
@pytest.mark.needs_tool("nm")
def test_a_placed_kernel_lies_where_it_was_put(tmp_path: Path) -> None:
    import subprocess

    kernel = lab.compile_kernel(lab.kernel_source("linux_after"))
    places = draw_places(4, 0, 1)
    for link, (kernel_at, loops_at) in zip(_links.links_at(kernel, places), places, strict=True):
        assert link.library is not None
        symbols = {
            line.split()[2]: int(line.split()[0], 16)
            for line in subprocess.check_output(["nm", link.library], text=True).splitlines()
            if len(line.split()) == 3
        }
        assert symbols["cksum_fn_linux_after"] % 4096 == kernel_at
        assert symbols["cksum_loop_plain_linux_after"] % 4096 == loops_at
        assert _core.partial(link.open(), b"\x01\x00\x02\x00", 0) % 0xFFFF == int.from_bytes(
            b"\3\0", sys.byteorder
        )


@pytest.mark.needs_tool("gcc")
def test_every_placement_is_visited_in_every_round() -> None:
    sweep = lab.sweep(["linux_after", "nothing"], 100, 0, placements=4, rounds=4)
    row = sweep.table()[0]
    assert row.placement_low <= row.ticks_per_call <= row.placement_high
    assert sweep.plan.placements == 4
    visited = [placement for placement, _ in itertools.groupby(sweep.samples["placement"].tolist())]
    assert visited == [0, 1, 2, 3] * 4
    assert "Placement" in sweep.text()


def test_without_a_compiler_there_is_one_placement_and_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_compiler(*_: object) -> None:
        raise lab.CompileError("compiler 'gcc' is not on the PATH; there are: none; apt install gcc")

    monkeypatch.setattr(_links, "compiled", no_compiler)
    sweep = lab.sweep("linux_after", 100, 0, placements=8, rounds=2)
    assert sweep.plan.placements == 1
    assert "8 placements were asked for: compiler 'gcc' is not on the PATH" in sweep.plan.placement_note
    assert "compiler 'gcc' is not on the PATH" in sweep.text().replace("\n    ", " ")
    assert math.isnan(sweep.table()[0].placement_low)


# Processes


def test_a_job_survives_json() -> None:
    job = _job.Job(
        links={"a": [_job.Link("a"), _job.Link("a", "somewhere.so")]},
        first=4,
        cells=[fixed(20, 1), Cell("a", 0, "imix", -1, "mixed", "hot", "plain")],
        reach=[6, 5],
        sets=SETS,
        mixes={"imix": lab.IMIX, "1..9": (1, 9)},
        slack=1,
        rounds=3,
        seed=4,
        process=1,
        target_ticks=1000,
        warm_ticks=2000,
        batches=4,
        revisits=2,
        huge_pages=False,
    )
    assert _job.Job.from_json(job.to_json()) == job


def test_processes_measure_the_same_cells_with_other_bytes() -> None:
    told: list[tuple[int, int]] = []
    sweep = lab.sweep(
        ["reference", "nothing"],
        (20, 100),
        0,
        processes=2,
        rounds=3,
        seed=3,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(done, 6) for done in range(1, 7)]
    assert sweep.plan.processes == 2
    samples = sweep.samples
    assert len(samples) == 2 * 3 * 4 * sweep.plan.batches
    assert set(samples["process"]) == {0, 1}
    first, second = (samples[samples["process"] == process] for process in range(2))
    assert first["cell"].tolist() != second["cell"].tolist()
    assert sorted(first["cell"]) == sorted(second["cell"])
    results = [set(each["result"][each["kernel"] == "reference"] % 0xFFFF) for each in (first, second)]
    assert results[0] != results[1]


def test_errors_of_a_process_are_those_of_the_sweep() -> None:
    import dataclasses

    wrong = dataclasses.replace(next(k for k in kernels() if k.name == "dpdk_before"), max_len=2**40)
    with pytest.raises(ValueError, match="'dpdk_before' is wrong at 300000 bytes, offset 0: it gives 0x"):
        lab.sweep(wrong, 300000, 0, processes=2, rounds=1, seed=1)


def test_a_process_that_dies_is_named() -> None:
    with pytest.raises(RuntimeError, match="a measuring process ended with status -9: it said nothing"):
        _process._raise_of("", -9)


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["foreground", "background"])
def interrupts(request: pytest.FixtureRequest) -> Iterator[None]:
    """SIGINT as an interactive shell leaves it to a program, and as one leaves it to a job in the background."""
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_reaches_the_process_and_keeps_its_rounds() -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    before = os.sched_getaffinity(0)
    sweep = lab.sweep("reference", 20, 0, processes=2, rounds=100_000, progress=stop)
    assert sweep.plan.interrupted
    assert 2 <= sweep.plan.rounds_done < 100_000
    assert sweep.plan.processes == 1
    assert "Interrupted" in sweep.text()
    assert os.sched_getaffinity(0) == before
