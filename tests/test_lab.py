"""measure() and sweep(): what is timed, in which order, what is refused, what is put back. No figure is judged."""

from __future__ import annotations

import dataclasses
import math
import mmap
import os
import subprocess
import sys
import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from made_up_sweep import cell, facts, samples_of, sweep_of

from fastcksum import Kernel, _core, active_kernel, kernels, lab, raw_cksum
from fastcksum.lab._bench import cells as _cells
from fastcksum.lab._bench import job as _job
from fastcksum.lab._bench.memory import mapped
from fastcksum.lab._bench.request import choose
from fastcksum.lab._figures.record import Cell
from fastcksum.lab._figures.rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

ALLOWED = os.sched_getaffinity(0)  # as it was before any test
COLUMNS = [
    *(
        "kernel",
        "size",
        "distribution",
        "offset",
        "mode",
        "cache",
        "form",
        "calls",
        "samples",
        "dropped",
        "unit",
    ),
    *(
        "ticks_per_call",
        "net_ticks_per_call",
        "ticks_per_byte",
        "est_core_cycles_per_byte",
        "q1",
        "q3",
        "error",
    ),
    *("badge", "placement_low", "placement_high"),
]


def past_its_limit() -> Kernel:
    """DPDK's loop, said to be right at any length: it loses carries beyond 131,074 bytes."""
    kernel = next(kernel for kernel in kernels() if kernel.name == "dpdk_before")
    return dataclasses.replace(kernel, max_len=2**40)


class Recorder:
    """A Bench that remembers the loop and the bytes of each cell."""

    make = _core.Bench

    def __init__(self) -> None:
        self.bench = self.make()
        self.loops: list[str] = []
        self.bytes: list[bytes] = []

    def add(self, kernel: Any, buf: Any, offsets: Any, lengths: Any, *, loop: str, **more: Any) -> int:
        self.loops.append(loop)
        self.bytes += [bytes(buf[offset : offset + n]) for offset, n in zip(offsets, lengths, strict=True)]
        return self.bench.add(kernel, buf, offsets, lengths, loop=loop, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bench, name)


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> list[Recorder]:
    """Every Bench that is made from now on, in order."""
    made: list[Recorder] = []

    def make() -> Recorder:
        made.append(Recorder())
        return made[-1]

    monkeypatch.setattr(_core, "Bench", make)
    return made


@pytest.fixture
def small() -> lab.Sweep:
    return lab.sweep(["reference", "nothing"], (20, 100), (0, 3), rounds=4, seed=7)


# measure


def test_measure_returns_one_sample_a_round() -> None:
    samples = lab.measure(bytes(range(200)), offset=3, length=100, kernel="reference", rounds=5)
    assert samples.ticks_per_call.shape == (5,)
    assert samples.ticks_per_call.dtype == np.float64
    assert (samples.ticks_per_call > 0).all()
    assert (samples.kernel, samples.offset, samples.length) == ("reference", 3, 100)
    assert samples.unit == lab.host().unit
    assert "reference, 100 bytes at offset 3" in repr(samples)


def test_measure_takes_the_rest_and_the_active_kernel() -> None:
    samples = lab.measure(memoryview(bytes(50)), offset=8, rounds=1)
    assert (samples.kernel, samples.length) == (active_kernel().name, 42)


def test_best_leaves_flagged_rounds_out() -> None:
    samples = lab.Samples(np.array([3.0, 1.0, 2.0]), np.array([0, 4, 0], np.uint32), "ns", "k", 0, 1)
    assert samples.best == 2.0
    assert (samples.summary.samples, samples.summary.dropped) == (2, 1)


def test_measure_accepts_whatever_raw_cksum_does() -> None:
    array: Any = np.arange(600, dtype=np.uint16).reshape(2, 300)
    assert lab.measure(array, kernel="reference", rounds=1).length == 1200


def test_measure_releases_the_buffer() -> None:
    data = bytearray(100)
    lab.measure(data, rounds=1)
    data.append(0)  # BufferError if it were still held
    with pytest.raises(ValueError, match="offset"):
        lab.measure(data, offset=500)
    data.append(0)


@pytest.mark.parametrize(
    "arguments",
    [{"offset": 101}, {"offset": -1}, {"length": 101}, {"offset": 50, "length": 51}, {"length": -1}],
)
def test_measure_refuses_what_raw_cksum_refuses_in_its_words(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"offset|length") as ours:
        lab.measure(bytes(100), **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"offset|length") as theirs:
        raw_cksum(bytes(100), **arguments)  # type: ignore[arg-type]
    assert str(ours.value) == str(theirs.value)


def test_measure_refuses_lengths_that_the_kernel_is_not_made_for() -> None:
    with pytest.raises(ValueError, match=r"'dpdk_before' is made for 0 to 131072 bytes, not 131076"):
        lab.measure(b"\xff" * 131076, kernel="dpdk_before")


def test_measure_does_not_time_a_wrong_kernel() -> None:
    # 65,538 words of 0xffff make 65538 * 65535 = 2**32 + 65534: the lost carry leaves 0xfffe
    with pytest.raises(
        ValueError, match=r"wrong at 131076 bytes, offset 0: it gives 0xfffe, right is 0xffff"
    ):
        lab.measure(b"\xff" * 131076, kernel=past_its_limit())


@pytest.mark.parametrize("rounds", [0, -3])
def test_measure_needs_a_round(rounds: int) -> None:
    with pytest.raises(ValueError, match=f"rounds must be at least 1, not {rounds}"):
        lab.measure(b"ab", rounds=rounds)


def test_measure_may_be_asked_for_a_yardstick() -> None:
    assert lab.measure(bytes(20), kernel="nothing", rounds=1).kernel == "nothing"


# affinity


def test_affinity_is_restored_after_success_and_after_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ALLOWED
    os.sched_setaffinity(0, before)
    lab.measure(b"ab", rounds=1)
    assert os.sched_getaffinity(0) == before
    with pytest.raises(ValueError, match="wrong"):
        lab.measure(b"\xff" * 131076, kernel=past_its_limit())
    assert os.sched_getaffinity(0) == before

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_job, "time_round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lab.sweep("reference", 20, 0, rounds=2)
    assert os.sched_getaffinity(0) == before


def test_the_thread_is_on_one_cpu_meanwhile() -> None:
    seen = []
    plan = lab.sweep(
        "reference", 20, 0, rounds=2, progress=lambda *_: seen.append(os.sched_getaffinity(0))
    ).plan
    assert seen == [{plan.processor}] * 2


def test_a_refused_affinity_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.sched_setaffinity
    before = os.sched_getaffinity(0)

    def refuse_one(pid: int, cpus: set[int]) -> None:
        if len(cpus) < 2 and cpus != before:
            raise PermissionError(1, "not permitted")
        real(pid, cpus)

    monkeypatch.setattr(os, "sched_setaffinity", refuse_one)
    plan = lab.sweep("reference", 20, 0, rounds=1).plan
    assert plan.processor is None or len(before) == 1


def test_two_threads_may_measure() -> None:
    found: list[lab.Samples] = []
    threads = [
        threading.Thread(target=lambda: found.append(lab.measure(bytes(64), rounds=3))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2


# What a sweep times


def test_every_round_visits_every_cell_once(small: lab.Sweep) -> None:
    assert [(each.kernel, each.size, each.offset) for each in small.plan.cells] == [
        (kernel, size, offset)
        for kernel in ("reference", "nothing")
        for size in (20, 100)
        for offset in (0, 3)
    ]
    assert len(small.samples) == 4 * 8 * small.plan.batches
    for number in range(4):
        samples = small.samples[(small.samples["round"] == number) & (small.samples["batch"] == 0)]
        assert sorted(samples["cell"]) == list(range(8))
        assert samples["order"].tolist() == list(range(8))


def test_the_order_is_shuffled_and_comes_from_the_seed(small: lab.Sweep) -> None:
    orders = {tuple(small.samples["cell"][small.samples["round"] == number]) for number in range(4)}
    assert len(orders) == 4
    again = lab.sweep(["reference", "nothing"], (20, 100), (0, 3), rounds=4, seed=small.plan.seed)
    assert again.samples["cell"].tolist() == small.samples["cell"].tolist()
    other = lab.sweep(["reference", "nothing"], (20, 100), (0, 3), rounds=4, seed=8)
    assert other.samples["cell"].tolist() != small.samples["cell"].tolist()


def test_samples_carry_the_columns_of_their_cell(small: lab.Sweep) -> None:
    names = [name for name, _, _ in _core.SAMPLE_FIELDS]
    assert small.samples.dtype.names == (
        *names,
        "placement",
        "process",
        *(field.name for field in dataclasses.fields(Cell)),
    )
    for sample in small.samples:
        assert small.plan.cells[sample["cell"]] == Cell(
            *(sample[field.name].item() for field in dataclasses.fields(Cell))
        )
    assert (small.samples["ticks"] > 0).all()
    assert (small.samples["calls"] > 0).all()


def test_a_batch_was_sized_by_the_counter(small: lab.Sweep) -> None:
    host = small.host
    assert small.plan.target_ticks == math.ceil(1000 * max(host.step, host.pair))


def test_the_bytes_are_random_and_come_from_the_seed(recorders: list[Recorder]) -> None:
    for seed in (1, 1, 2):
        lab.sweep("reference", (1500,), (0,), rounds=1, seed=seed)
    first, again, other = (recorder.bytes for recorder in recorders)
    assert first == again
    assert first != other
    assert len(set(first[0])) > 200


def test_pages_are_written_and_private() -> None:
    buffer = mapped(3 * mmap.PAGESIZE, np.random.default_rng(1))
    for start in range(0, len(buffer), mmap.PAGESIZE):
        page = buffer[start : start + mmap.PAGESIZE]
        assert len(set(page)) > 200
    assert mapped(100, np.random.default_rng(1))[:] == mapped(100, np.random.default_rng(1))[:]


def test_default_kernels_are_the_active_the_past_and_the_yardsticks() -> None:
    names = [kernel.name for kernel in choose(None)]
    assert names[0] == active_kernel().name
    assert {"dpdk_before", "dpdk_after", "linux_before", "linux_after", "nothing"} <= set(names)
    assert "reference" not in names
    assert len(names) == len(set(names))


def test_one_kernel_and_one_number_need_no_list() -> None:
    sweep = lab.sweep(active_kernel(), 20, 1, rounds=1)
    assert [(each.kernel, each.size, each.offset) for each in sweep.plan.cells] == [
        (active_kernel().name, 20, 1)
    ]


def test_doubles_are_timed_once() -> None:
    plan = lab.sweep(["reference", "reference"], (20, 20), [0, 0], rounds=1).plan
    assert len(plan.cells) == 1


def test_cells_that_a_kernel_is_not_made_for_are_left_out_and_named() -> None:
    plan = lab.sweep(["dpdk_before", "reference"], (20, 131073), (0,), rounds=1).plan
    assert [(each.kernel, each.size) for each in plan.cells] == [
        ("dpdk_before", 20),
        ("reference", 20),
        ("reference", 131073),
    ]
    assert plan.left_out == ("dpdk_before at 131073 bytes: it is right for 0 to 131072 bytes only",)


def test_a_plan_without_cells_is_an_error() -> None:
    with pytest.raises(ValueError, match="no cell is left to time: dpdk_before at 131073 bytes"):
        lab.sweep("dpdk_before", 131073)


def test_sweep_does_not_time_a_wrong_kernel() -> None:
    # 150,000 random words sum to about 4.9e9 > 2**32
    with pytest.raises(ValueError, match=r"'dpdk_before' is wrong at 300000 bytes, offset 0: it gives 0x"):
        lab.sweep(past_its_limit(), 300000, rounds=1, seed=1)


def test_sums_are_checked_after_the_rounds_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[int] = []
    timed: list[int] = []
    real = _job.check_sums

    def check(bench: _core.Bench, names: Sequence[str]) -> None:
        checks.append(len(timed))
        real(bench, names)

    monkeypatch.setattr(_job, "check_sums", check)
    lab.sweep("reference", 20, 0, rounds=3, progress=lambda done, _: timed.append(done))
    assert checks == [0, 3]


def test_the_plan_keeps_what_tells_kernels_apart(small: lab.Sweep) -> None:
    kept = small.plan.kernels[0]
    kernel = next(kernel for kernel in kernels() if kernel.name == "reference")
    assert kept["code_sha256"] == kernel.code_sha256
    assert kept["summary"] == kernel.summary
    assert "capsule" not in kept
    assert small.plan.rounds == small.plan.rounds_done == 4
    assert not small.plan.interrupted


# What the forms are


def dpdk_starts(size: int, offset: int, slack: int) -> list[int]:
    placed = _cells.Layout({}, {}, 1, slack).spans(
        Cell("k", size, "fixed", offset, "throughput", "hot", "dpdk"), np.random.default_rng(1)
    )
    return placed.offsets


def test_dpdk_blocks_lie_on_cache_lines_of_their_own() -> None:
    aligned = dpdk_starts(100, 0, slack=1)
    assert len(aligned) == 10
    assert aligned[0] == 128  # the first one has a header as well
    assert all(start % 64 == 0 for start in aligned)
    gaps = {after - before for before, after in pairwise(aligned)}
    assert gaps == {128 + 128}  # 101 bytes on whole cache lines, and the allocator's header
    assert dpdk_starts(100, 3, slack=3) == [start + 3 for start in aligned]


def test_the_dpdk_form_runs_its_own_loop() -> None:
    sweep = lab.sweep("reference", (20, 101), (0, 1), form="dpdk", rounds=2)
    assert {row.form for row in sweep.table()} == {"dpdk"}
    assert (sweep.samples["calls"] % 10 == 0).all()
    # each result is folded to 16 bits, and the quarter batch before is summed as well
    assert (sweep.samples["result"] <= 2 * 0xFFFF * sweep.samples["calls"]).all()


def test_both_forms_take_the_loop_of_their_name(recorders: list[Recorder]) -> None:
    for form in ("plain", "dpdk"):
        lab.sweep("reference", 20, 0, form=form, rounds=1)
    assert [recorder.loops for recorder in recorders] == [["plain"], ["dpdk"]]


# What a sweep refuses


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "speed"}, "mode 'speed' is unknown; there is 'throughput', 'latency', 'mixed'"),
        ({"cache": "l4"}, "cache 'l4' is unknown; there is 'hot', 'l2', 'l3', 'dram', 'cold'"),
        (
            {"mode": "latency", "cache": "cold"},
            "don't go together; there is mode 'throughput' with cache 'hot'",
        ),
        ({"mode": "latency", "form": "dpdk"}, "mode 'latency', cache 'hot', form 'dpdk' don't go together"),
        ({"form": "other"}, "form 'other' is unknown; there is 'plain', 'dpdk'"),
        ({"lengths": {"imix": lab.IMIX}}, "lengths are for mode 'mixed'"),
        ({"mode": "mixed"}, "mode 'mixed' needs lengths, such as"),
        ({"mode": "mixed", "lengths": {}}, "lengths must name at least one mix"),
        ({"mode": "mixed", "lengths": {"a": (5, 4)}}, r"lengths 'a' must be \(low, high\) .*, not \(5, 4\)"),
        (
            {"mode": "mixed", "lengths": {"a": {40: 0}}},
            "lengths 'a' must map lengths to counts that are not all 0",
        ),
        ({"placements": 10}, "placements must be 1 or a multiple of 4 up to 1024, not 10"),
        ({"processes": 0}, "processes must be at least 1, not 0"),
        ({"placements": 0}, "placements must be at least 1, not 0"),
        ({"rounds": 0}, "rounds must be at least 1, not 0"),
        ({"seed": -1}, "seed must not be negative: -1"),
        ({"sizes": ()}, "sizes must name at least one"),
        ({"offsets": (0, -1)}, "offsets can't be negative: -1"),
        ({"kernels": []}, "kernels must name at least one"),
        ({"kernels": ["no_such"]}, "kernel 'no_such' is unknown; those that run here: "),
    ],
)
def test_sweep_says_what_there_is(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lab.sweep(**arguments)


def test_sweep_refuses_a_kernel_that_cannot_run_here() -> None:
    kernel = dataclasses.replace(kernels()[0], runs_here=False, needs=("warp_drive",))
    with pytest.raises(ValueError, match="can't run here: it needs warp_drive"):
        lab.sweep(kernel)


def test_sweep_refuses_two_kernels_of_one_name() -> None:
    first, second = [kernel for kernel in kernels() if kernel.runs_here][:2]
    with pytest.raises(ValueError, match="two different kernels are named 'twin'"):
        lab.sweep([dataclasses.replace(first, name="twin"), dataclasses.replace(second, name="twin")])


def test_sweep_refuses_what_is_no_kernel() -> None:
    with pytest.raises(TypeError, match="kernel must be a name or a Kernel, not 'int'"):
        lab.sweep([3])  # type: ignore[list-item]


# What ends a sweep


def test_progress_is_told_of_each_round() -> None:
    told: list[tuple[int, int]] = []
    lab.sweep("reference", 20, 0, rounds=3, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_ctrl_c_keeps_the_rounds_that_were_done() -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    sweep = lab.sweep("reference", (20, 40), 0, rounds=50, progress=stop)
    assert sweep.plan.interrupted
    assert (sweep.plan.rounds, sweep.plan.rounds_done) == (50, 2)
    assert len(sweep.samples) == 2 * 2 * sweep.plan.batches
    assert "Interrupted: 2 of 50 rounds" in sweep.text()


def test_nothing_is_written_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    lab.sweep("reference", 20, 0, rounds=2)
    assert capfd.readouterr() == ("", "")


# figures


def test_rows_of_made_up_samples() -> None:
    cells = [cell("k", 40), cell("k", 40, 1), cell("nothing", 40)]
    samples = samples_of(cells, [[10.0, 12.0, 11.0, 3.0], [9.0, 9.0, 9.0, 9.0], [2.0, 2.0, 2.0, 2.5]])
    samples["flags"][3] = _core.FLAGS["switched"]
    first, second, overhead = rows_of(samples, cells, [40.0] * len(cells), "tsc_ticks")
    assert first[:-2] == (
        *("k", 40, "fixed", 0, "throughput", "hot", "plain", 1000, 3, 1, "tsc_ticks"),
        *(10.0, 8.0, 0.25, 11.0 * 1.25 / 40, 10.5, 11.5, 0.1, "noisy"),  # 1.25 core cycles a tick, the median
    )
    assert math.isnan(first.placement_low)
    assert math.isnan(first.placement_high)
    assert (second.ticks_per_call, second.net_ticks_per_call, second.badge) == (9.0, None, "clean")
    assert overhead.net_ticks_per_call == 0.0


def test_a_clock_that_moves_leaves_no_trace_in_cycles_or_headline() -> None:
    cells = [cell("k", 40)]
    samples = samples_of(cells, [[10.0, 12.5, 12.5, 10.0, 12.5, 10.0, 12.5, 10.0]])
    slow = samples["ticks"] == 12500
    # where the clock is a quarter slower, the chains take a quarter longer as well
    for column, ticks in (("add_ticks", 16000), ("mul_ticks", 48000), ("wide_ticks", 16000)):
        samples[column] = np.where(slow, ticks * 5 // 4, ticks)
    [row] = rows_of(samples, cells, [40.0], "tsc_ticks")
    assert row.badge == "clean"
    assert row.ticks_per_call == pytest.approx(
        12.5 / 1.125
    )  # 12.5 core cycles at the median of 1 and 1.25 a tick
    assert row.error == pytest.approx(0, abs=1e-12)
    assert row.est_core_cycles_per_byte == 12.5 / 40


def test_a_net_figure_below_zero_is_not_a_number() -> None:
    cells = [cell("k", 40), cell("nothing", 40)]
    row = rows_of(samples_of(cells, [[1.5, 1.5], [2.0, 2.0]]), cells, [40.0] * len(cells), "tsc_ticks")[0]
    assert row.net_ticks_per_call is not None
    assert math.isnan(row.net_ticks_per_call)
    assert row.ticks_per_byte == 1.5 / 40
    assert row.badge == "clean"


def test_the_overhead_is_that_of_the_same_size_offset_and_form() -> None:
    other = dataclasses.replace(cell("nothing", 40), form="dpdk")
    cells = [cell("k", 40), other, cell("nothing", 40, 1), cell("nothing", 41)]
    row = rows_of(samples_of(cells, [[9.0], [1.0], [1.0], [1.0]]), cells, [40.0] * len(cells), "tsc_ticks")[0]
    assert row.net_ticks_per_call is None


def test_core_cycles_are_only_known_for_the_time_stamp_counter() -> None:
    cells = [cell("k", 40)]
    samples = samples_of(cells, [[10.0, 10.0]])
    assert rows_of(samples, cells, [40.0] * len(cells), "tsc_ticks")[0].est_core_cycles_per_byte == 12.5 / 40
    assert math.isnan(
        rows_of(samples, cells, [40.0] * len(cells), "cntvct_ticks")[0].est_core_cycles_per_byte
    )


def test_table_and_frame_have_the_columns_that_were_promised(small: lab.Sweep) -> None:
    assert list(lab.Row._fields) == COLUMNS
    frame = small.frame()
    assert list(frame.columns) == COLUMNS
    assert len(frame) == len(small.table()) == 8
    assert frame["ticks_per_call"].tolist() == [row.ticks_per_call for row in small.table()]
    assert frame["net_ticks_per_call"].dtype == np.float64


def test_a_frame_without_any_net_has_numbers_all_the_same() -> None:
    assert sweep_of([facts("k")], [cell("k", 40)], [[1.0]]).frame()["net_ticks_per_call"].dtype == np.float64


def test_without_pandas_a_frame_says_how_to_get_it(small: lab.Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert len(small.table()) == 8
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fastcksum\[lab\]'"):
        small.frame()


def test_the_lab_needs_numpy_alone() -> None:
    code = (
        "import sys\n"
        "for name in ('pandas', 'matplotlib', 'pyarrow', 'tqdm'): sys.modules[name] = None\n"
        "from fastcksum import lab\n"
        "print(lab.sweep('reference', 20, 0, rounds=1).text())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "### reference" in done.stdout


def test_a_repr_is_short(small: lab.Sweep) -> None:
    assert len(repr(small)) < 200
