"""Visits to a cell: warmed, several batches, flags of the whole visit; how long a warm-up must be. No clock decides."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fastcksum import _core, lab
from fastcksum.lab._bench import job as jobs
from fastcksum.lab._bench import process as processes
from fastcksum.lab._bench import runner
from fastcksum.lab._bench.job import Job, Link
from fastcksum.lab._bench.warm import find_warm_up, sample_type, time_round
from fastcksum.lab._figures.record import Cell

if TYPE_CHECKING:
    from collections.abc import Callable


# How long a warm-up must be


def fed(figures: dict[int, list[float]], asked: list[int]) -> Callable[[int], list[float]]:
    def measure(ticks: int) -> list[float]:
        asked.append(ticks)
        return figures[ticks]

    return measure


@pytest.mark.parametrize(
    ("figures", "found"),
    [
        ([3.9, 3.9, 3.9, 2.4, 2.4], 100),
        ([3.9, 3.3, 2.4, 2.41, 2.4], 400),
        ([3.9, 3.8, 3.3, 2.4, 2.4], 1600),
        ([3.9, 3.0, 3.9, 3.0, 3.9], 1600),
        ([2.4, 2.43, 2.4, 2.41, 2.42], 400),
    ],
)
def test_a_warm_up_is_doubled_until_two_doublings_agree(figures: list[float], found: int) -> None:
    asked: list[int] = []
    measure = fed({100 << i: [figure] for i, figure in enumerate(figures)}, asked)
    assert find_warm_up(measure, 100, 4) == found
    assert asked == [100 << i for i in range(len(asked))]
    assert len(asked) <= 5


def test_a_warm_up_is_no_longer_than_other_programs_leave_the_core() -> None:
    figures: dict[int, list[float] | None] = {1: [3.9], 2: [3.3], 4: None}
    assert find_warm_up(figures.__getitem__, 1, 4) == 2
    assert find_warm_up(lambda _: None, 1, 4) == 1


def test_every_cell_must_agree() -> None:
    figures = {1: [2.4, 9.0], 2: [2.4, 7.0], 4: [2.4, 5.0], 8: [2.4, 5.0], 16: [2.4, 5.0]}
    assert find_warm_up(fed(figures, []), 1, 4) == 4


# A visit


def bench_of(*kernels: str, **how: Any) -> _core.Bench:
    bench = _core.Bench()
    for kernel in kernels:
        bench.add(kernel, bytes(range(200)), [0], [20], **how)
    return bench


def test_a_visit_gives_several_batches_of_one_state() -> None:
    samples = time_round(bench_of("reference", "nothing"), [1, 0, 1], 7, warm=1000, batches=3)
    assert samples["cell"].tolist() == [1, 1, 1, 0, 0, 0, 1, 1, 1]
    assert samples["order"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert samples["batch"].tolist() == [0, 1, 2] * 3
    assert set(samples["round"]) == {7}
    for name in ("flags", "add_ticks", "mul_ticks", "wide_ticks"):
        assert (samples[name].reshape(3, 3) == samples[name].reshape(3, 3)[:, :1]).all()
    assert (samples["ticks"] > 0).all()


def test_the_warm_up_runs_the_loop_and_is_not_timed() -> None:
    """What a batch of the empty kernel adds up to is known; the warm-up's results are in the first batch's."""
    bench = bench_of("reference")
    bench.set_calls(0, 10)
    short = time_round(bench, [0], 0, warm=0, batches=2)
    long = time_round(bench, [0], 0, warm=1_000_000, batches=2)
    assert set(short["calls"]) == set(long["calls"]) == {10}
    once = int(short["result"][1])
    assert short["result"].tolist() == [2 * once, once]  # one batch at least
    assert long["result"][1] == once
    assert int(long["result"][0]) > 10 * once
    assert int(long["result"][0]) % once == 0


def test_a_disturbed_visit_is_made_anew_and_both_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def disturbed(bench: _core.Bench, order: list[int], number: int, **how: Any) -> Any:
        samples = time_round(bench, order, number, **how)
        samples["flags"] = 0
        samples["flags"][samples["cell"] == len(asked)] = _core.FLAGS["switched"]
        asked.append(sorted(order))
        return samples

    monkeypatch.setattr(jobs, "time_round", disturbed)
    monkeypatch.setattr(runner, "REVISITS", 2)
    sweep = lab.sweep("reference", (20, 64, 100), 0, rounds=1, seed=1)
    assert asked == [
        [0, 1, 2],
        [0],
    ]  # cell 0 was disturbed in the first, cell 1 in the second, where it wasn't visited
    assert len(sweep.samples) == 4 * sweep.plan.batches
    assert [row.dropped for row in sweep.table()] == [sweep.plan.batches, 0, 0]
    assert set(sweep.samples["round"]) == {0}


def test_out_must_hold_every_batch() -> None:
    with pytest.raises(
        ValueError, match="out must be aligned and hold 6 samples of 56 bytes, 336 in all; it has 280"
    ):
        bench_of("reference").round([0, 0], 0, np.zeros(5, sample_type()), batches=3)
    with pytest.raises(ValueError, match="batches must be at least 1, not 0"):
        bench_of("reference").round([0], 0, np.zeros(5, sample_type()), batches=0)


def test_a_fault_flags_the_whole_visit() -> None:
    """The pages of a fresh mapping fault when they are first read, and only then."""
    import mmap

    size = 64 * mmap.PAGESIZE
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer.madvise(mmap.MADV_NOHUGEPAGE)
    bench = _core.Bench()
    bench.add("reference", buffer, [0], [size])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    samples = time_round(bench, [0], 0, batches=2)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before >= 64
    assert all(flags & _core.FLAGS["faulted"] for flags in samples["flags"])


def test_cold_batches_are_single_calls_after_a_warm_up() -> None:
    bench = bench_of("reference", cold=True)
    assert bench.calibrate(50000) == [1]
    assert time_round(bench, [0], 0, warm=10000, batches=4)["calls"].tolist() == [1] * 4


def test_the_plan_keeps_warm_up_and_batches() -> None:
    sweep = lab.sweep("reference", 20, 0, rounds=3, seed=1)
    assert sweep.plan.warm_ticks == sweep.plan.target_ticks  # as conftest has it
    assert sweep.plan.batches == 4
    assert len(sweep.samples) == 3 * 4
    assert sweep.samples["batch"].tolist() == [0, 1, 2, 3] * 3


# Learning


def test_a_lesson_times_the_batches_that_were_asked_for() -> None:
    bench = bench_of("reference", "nothing")
    out = np.zeros(4, sample_type())
    bench.learn(1, [1, 1, 2, 4], 5, 99, out)
    assert out["calls"].tolist() == [1, 1, 2, 4]
    assert out["batch"].tolist() == [0, 1, 2, 3]
    assert set(out["round"]) == {5}
    assert len(set(out["flags"])) == 1
    with pytest.raises(ValueError, match=r"cell must be in 0\.\.1"):
        bench.learn(2, [1], 0, 0, out)
    with pytest.raises(ValueError, match="hold 5 samples"):
        bench.learn(0, [1] * 5, 0, 0, out)
    with pytest.raises(ValueError, match="this Bench has no cells"):
        _core.Bench().learn(0, [1], 0, 0, out)


# A process of its own


def job_of(process: int = 0, rounds: int = 2) -> Job:
    cell = Cell("reference", 20, "fixed", 0, "throughput", "hot", "plain")
    return Job(
        links={"reference": [Link("reference")]},
        first=0,
        cells=[cell],
        reach=[1],
        sets={},
        mixes={},
        slack=1,
        rounds=rounds,
        seed=1,
        process=process,
        target_ticks=1000,
        warm_ticks=1000,
        batches=2,
        revisits=0,
        huge_pages=False,
    )


def children() -> set[int]:
    """Of this process, those that have not ended."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = path.read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(path.parent.name))
    return found


def test_a_callback_that_raises_leaves_no_process_behind() -> None:
    before = children()

    def fail(*_: object) -> None:
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        processes.run_in_process(job_of(rounds=100_000), fail)
    assert children() == before


def test_a_process_that_says_a_lot_is_heard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nsys.stderr.write('x' * 300_000 + chr(10))\nsys.stderr.flush()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told: list[tuple[int, int]] = []
    outcome = processes.run_in_process(job_of(), lambda *done: told.append(done))
    assert told == [(1, 2), (2, 2)]
    assert len(outcome.samples) == 4


def test_a_process_that_can_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_import_paths", lambda: ["/nowhere"])
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="a measuring process ended with status 1: it said nothing"):
        processes.run_in_process(job_of(), lambda *_: None)


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether it comes true; a minute is no clock that decides, it only ends what hangs."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_a_process_ends_with_its_parent() -> None:
    code = """
        from fastcksum import lab
        from fastcksum.lab._bench import warm
        warm.warm_ticks = lambda ticks: ticks
        lab.sweep("reference", 20, 0, rounds=10_000_000, processes=2, progress=lambda *_: print("going", flush=True))
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "going\n"
        of_parent = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        [child] = of_parent.read_text().split()
        drain = threading.Thread(target=parent.stdout.read)
        drain.start()
        parent.send_signal(signal.SIGKILL)
        drain.join()
    assert wait_for(lambda: not Path(f"/proc/{child}").exists())


def test_no_file_is_left_open() -> None:
    code = """
        from fastcksum import lab
        from fastcksum.lab._bench import warm
        warm.warm_ticks = lambda ticks: ticks
        print(set(lab.sweep("reference", 20, 0, rounds=2, processes=2).samples["process"].tolist()))
    """
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "{0, 1}\n"), done.stderr
    assert "ResourceWarning" not in done.stderr
