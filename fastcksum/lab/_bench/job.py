"""What one process measures: kernels that are already linked, cells, rounds. Everything in a Job survives JSON.

A sweep over several processes runs the same job in each of them, with another stream of random numbers.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from fastcksum import _core

from . import cells as _cells
from .cells import Cell, Layout, Spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    Structured: TypeAlias = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Link:
    """A kernel as the core can open it: a built-in one by its name, or a shared object and the symbol in it."""

    name: str
    library: str | None = None

    def open(self) -> object:
        """What the core takes for a kernel."""
        return self.name if self.library is None else _core.load_kernel(self.library, self.name)


@dataclass(frozen=True, slots=True)
class Job:
    """Cells to time on each of their kernel's links (placements), interleaved in every round.

    seed and process: the streams of random numbers. target_ticks: the least length of a batch, before MARGIN.
    """

    links: dict[str, list[Link]]
    cells: list[Cell]
    sets: dict[str, int]
    mixes: dict[str, Any]
    slack: int
    rounds: int
    seed: int
    process: int
    target_ticks: int
    huge_pages: bool

    def to_json(self) -> str:
        """The job as text."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job that to_json() wrote."""
        fields = json.loads(text)
        fields["links"] = {name: [Link(**link) for link in links] for name, links in fields["links"].items()}
        fields["cells"] = [Cell(**cell) for cell in fields["cells"]]
        fields["mixes"] = {
            name: tuple(mix) if isinstance(mix, list) else {int(length): n for length, n in mix.items()}
            for name, mix in fields["mixes"].items()
        }
        return cls(**fields)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The samples of a job, with `cell` an index into its cells and a column `placement`; and how it went."""

    samples: Structured
    mean_lengths: list[float]
    rounds_done: int
    processor: int | None
    pages: str


# The clock may rise, and the batch shrink, after its calls were counted: that much is asked for instead.
MARGIN: Final = 2.0


def run(job: Job, report: Callable[[int, int], None]) -> Outcome:
    """Runs the job in this process. KeyboardInterrupt before the first whole round is passed on; later it ends the job.

    ValueError for a kernel whose sum of one of its cells is wrong.
    """
    byte_source, order_source, span_source = (
        np.random.default_rng([job.seed, job.process, stream]) for stream in range(3)
    )
    layout = Layout(job.sets, job.mixes, job.slack)
    spans = [layout.spans(cell, span_source) for cell in job.cells]
    regions = {
        name: _cells.mapped(size, byte_source, huge_pages=job.huge_pages)
        for name, size in _cells.regions_needed(spans).items()
    }
    bench = _core.Bench()
    timed = []  # (cell, placement) of each cell of the Bench
    opened = {name: [link.open() for link in links] for name, links in job.links.items()}
    for index, (cell, place) in enumerate(zip(job.cells, spans, strict=True)):
        for placement, kernel in enumerate(opened[cell.kernel]):
            bench.add(
                kernel,
                regions[place.region],
                place.offsets,
                place.lengths,
                loop=place.loop,
                cold=place.cold,
                walk=place.walk,
            )
            timed.append((index, placement))
    names = [job.cells[index].kernel for index, _ in timed]
    with pinned() as processor:
        bench.calibrate(int(job.target_ticks * MARGIN))
        mixed = {i: spans[index] for i, (index, _) in enumerate(timed) if spans[index].mixed}
        for i in mixed:
            bench.set_calls(i, _cells.MIXED_CALLS)
        check_sums(bench, names)
        done = _run_rounds(bench, len(timed), mixed, rounds=job.rounds, source=order_source, report=report)
        check_sums(bench, names)
    largest = max(regions.values(), key=len)
    return Outcome(
        samples=_with_placement(np.concatenate(done), timed),
        mean_lengths=[place.mean_length for place in spans],
        rounds_done=len(done),
        processor=processor,
        pages=_cells.page_backing(largest),
    )


def _run_rounds(
    bench: _core.Bench,
    n_cells: int,
    mixed: dict[int, Spans],
    *,
    rounds: int,
    source: np.random.Generator,
    report: Callable[[int, int], None],
) -> list[Structured]:
    """The samples of each whole round; Ctrl-C ends them early, if there is one yet."""
    done: list[Structured] = []
    try:
        for number in range(rounds):
            shuffles = {id(place): _cells.shuffled(place, source) for place in mixed.values()}
            for cell, place in mixed.items():
                bench.set_spans(cell, *shuffles[id(place)])
            done.append(time_round(bench, source.permutation(n_cells).tolist(), number))
            report(number + 1, rounds)
    except KeyboardInterrupt:
        if not done:
            raise
    return done


def sample_type() -> np.dtype[np.void]:
    """The C record of a sample."""
    names, formats, offsets = zip(*_core.SAMPLE_FIELDS, strict=True)
    record: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": _core.SAMPLE_SIZE}
    record_type: np.dtype[np.void] = np.dtype(record)
    return record_type


def time_round(bench: _core.Bench, order: Sequence[int], number: int) -> Structured:
    """The samples of one round, one a cell named in order."""
    out: Any = np.zeros(len(order), sample_type())
    bench.round(order, number, out)
    return np.asarray(out)


def check_sums(bench: _core.Bench, names: Sequence[str]) -> None:
    """ValueError if a kernel's sum of its cell is not the reference's; names[i] is the kernel of cell i."""
    wrong = bench.check()
    if wrong is not None:
        cell, offset, length, got, expected = wrong
        raise ValueError(
            f"kernel '{names[cell]}' is wrong at {length} bytes, offset {offset}: it gives {got:#06x}, "
            f"right is {expected:#06x}; a wrong kernel is not timed"
        )


def _with_placement(samples: Structured, timed: Sequence[tuple[int, int]]) -> Structured:
    """The samples with `cell` counted over the job's cells, and the placement beside it."""
    cells, placements = np.array(timed, dtype=np.uint32).T
    kinds = [(name, samples.dtype[name]) for name in samples.dtype.names or ()]
    joined = np.zeros(len(samples), [*kinds, ("placement", np.uint32)])
    for name, _ in kinds:
        joined[name] = samples[name]
    joined["cell"] = cells[samples["cell"]]
    joined["placement"] = placements[samples["cell"]]
    return joined


@contextmanager
def pinned() -> Iterator[int | None]:
    """Keeps the thread on one CPU, which it gives, and restores its affinity on every way out. None where refused."""
    before = os.sched_getaffinity(0)
    processor: int | None = best_processor(before)
    try:
        try:
            os.sched_setaffinity(0, {best_processor(before)})
        except OSError:
            processor = None
        yield processor
    finally:
        os.sched_setaffinity(0, before)


def best_processor(allowed: set[int]) -> int:
    """The fastest kind of core; of those the last one, since interrupts mostly go to the first."""

    def capacity(cpu: int) -> int:
        try:
            return int(Path(f"/sys/devices/system/cpu/cpu{cpu}/cpu_capacity").read_text())
        except (OSError, ValueError):
            return 0

    return max(allowed, key=lambda cpu: (capacity(cpu), cpu))


# In a process of its own


def run_in_process(job: Job, report: Callable[[int, int], None]) -> Outcome:
    """Runs the job in a new process: other addresses, other physical pages. The same errors as run()."""
    with tempfile.TemporaryDirectory(prefix="fastcksum-") as folder:
        result = Path(folder, "outcome.npz")
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", "from fastcksum.lab._bench.job import child; child()", str(result)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_paths())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches this process, which passes it on once
        )
        try:
            _give(child, job)
            said = _listen(child, report, job.rounds)
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            said = _listen(child, lambda *_: None, job.rounds)
        if child.returncode != 0 or not result.exists():
            _raise_of(said, child.returncode)
        return _read_outcome(result)


def _give(child: subprocess.Popen[str], job: Job) -> None:
    """The job to the child's standard input."""
    with cast("IO[str]", child.stdin) as pipe:
        pipe.write(job.to_json())


def _listen(child: subprocess.Popen[str], report: Callable[[int, int], None], rounds: int) -> str:
    """Passes the child's progress on until it ends, and returns what it complained about."""
    for line in cast("IO[str]", child.stdout):
        report(int(line), rounds)
    complaint = cast("IO[str]", child.stderr).read()
    child.wait()
    return complaint


def _raise_of(complaint: str, status: int) -> None:
    """Raises what ended the child: its own ValueError, KeyboardInterrupt, or a RuntimeError."""
    last = complaint.strip().rsplit("\n", 1)[-1]
    if last.startswith("ValueError: "):
        raise ValueError(last.removeprefix("ValueError: "))
    if last.startswith("KeyboardInterrupt"):
        raise KeyboardInterrupt
    raise RuntimeError(
        f"a measuring process ended with status {status}: {complaint.strip() or 'it said nothing'}"
    )


def _import_paths() -> list[str]:
    """Where a child finds this very package."""
    return [str(Path(__file__).resolve().parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]


def child() -> None:
    """Runs the job on standard input; says each round on standard output; writes the outcome where argv says."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has it ignored
    job = Job.from_json(sys.stdin.read())

    def say(done: int, rounds: int) -> None:  # noqa: ARG001 - the parent knows the rounds
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()

    outcome = run(job, say)
    facts = {"rounds_done": outcome.rounds_done, "processor": outcome.processor, "pages": outcome.pages}
    np.savez(sys.argv[1], samples=outcome.samples, mean_lengths=outcome.mean_lengths, facts=json.dumps(facts))


def _read_outcome(path: Path) -> Outcome:
    with np.load(path) as stored:
        facts = json.loads(str(stored["facts"]))
        return Outcome(samples=stored["samples"], mean_lengths=stored["mean_lengths"].tolist(), **facts)
