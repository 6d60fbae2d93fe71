"""What one process measures: kernels that are already linked, cells, rounds. Everything in a Job survives JSON.

Each placement is a pass: its rounds visit every cell of every kernel, so that what disturbs the machine disturbs all
kernels alike. Over several processes each runs the same job, with another stream of random numbers.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fastcksum import _core
from fastcksum.lab._figures.record import Cell, with_columns
from fastcksum.lab._machine.processor import pinned

from .cells import MIXED_CALLS, Layout, Spans, draw_set
from .memory import mapped, page_backing, regions_needed
from .warm import time_round

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Mapping, Sequence

    from fastcksum.lab._figures.record import Structured

# The clock may rise, and the batch shrink, after its calls were counted: that much is asked for instead.
MARGIN: Final = 2.0


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
    """Cells to time at the placements of their kernels.

    links: one a placement of each kernel. first: the number of the first of these placements. reach: at how many
    placements, from number 0 on, each cell is timed. rounds: of each placement. seed and process: the streams of random
    numbers. target_ticks: the least length of a batch, before MARGIN. warm_ticks, batches: of each visit to a cell.
    revisits: how often a cell is visited anew within a round where its visit was disturbed.
    """

    links: dict[str, list[Link]]
    first: int
    cells: list[Cell]
    reach: list[int]
    sets: dict[str, int]
    mixes: dict[str, Any]
    slack: int
    rounds: int
    seed: int
    process: int
    target_ticks: int
    warm_ticks: int
    batches: int
    revisits: int
    huge_pages: bool

    @property
    def placements(self) -> range:
        """The numbers of the placements."""
        return range(self.first, self.first + len(next(iter(self.links.values()))))

    @property
    def all_rounds(self) -> int:
        """The rounds of all placements together."""
        return self.rounds * len(self.placements)

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
    """The samples of a job, with `cell` an index into its cells and a column `placement`; and how it went.

    rounds_done: whole rounds, of all placements together.
    """

    samples: Structured
    mean_lengths: list[float]
    rounds_done: int
    processor: int | None
    pages: str


def run(job: Job, report: Callable[[int, int], None]) -> Outcome:
    """Runs the job in this process. KeyboardInterrupt before the first whole round is passed on; later it ends the job.

    ValueError for a kernel whose sum of one of its cells is wrong.
    """
    bytes_source, spans_source, mixes_source = (
        np.random.default_rng([job.seed, job.process, stream]) for stream in (0, 2, 3)
    )
    mixes = {name: draw_set(mix, mixes_source) for name, mix in job.mixes.items()}
    layout = Layout(job.sets, mixes, 1 + job.batches, job.slack)
    spans = [layout.spans(cell, spans_source) for cell in job.cells]
    regions = {
        name: mapped(size, bytes_source, huge_pages=job.huge_pages)
        for name, size in regions_needed(spans).items()
    }
    done: list[Structured] = []

    def keep(samples: Structured) -> None:
        done.append(samples)
        report(len(done), job.all_rounds)

    with pinned() as processor:
        try:
            _rounds(job, spans, regions, keep)
        except KeyboardInterrupt:
            if not done:
                raise
    return Outcome(
        samples=np.concatenate(done),
        mean_lengths=[each.mean_length for each in spans],
        rounds_done=len(done),
        processor=processor,
        pages=page_backing(max(regions.values(), key=len)),
    )


def _rounds(
    job: Job, spans: Sequence[Spans], regions: Mapping[str, mmap.mmap], keep: Callable[[Structured], None]
) -> None:
    """Gives the samples of each round at each placement to `keep`.

    Every placement has its first round before any has its second: a shared core is slow for seconds, so that a
    placement whose rounds followed each other would have no other minimum.
    """
    benches = [
        _PlacedBench(job, placement, timed, spans, regions)
        for placement in job.placements
        if (timed := [index for index, reach in enumerate(job.reach) if placement < reach])
    ]
    try:
        for number in range(job.rounds):
            for bench in benches:
                keep(bench.round(number))
    finally:
        for bench in benches:
            bench.check_sums()


class _PlacedBench:
    """The cells that are timed at one placement, ready to be timed."""

    def __init__(
        self,
        job: Job,
        placement: int,
        timed: list[int],
        spans: Sequence[Spans],
        regions: Mapping[str, mmap.mmap],
    ) -> None:
        self._job, self._placement, self._timed = job, placement, timed
        self._order = np.random.default_rng([job.seed, job.process, 1, placement])
        self._names = [job.cells[index].kernel for index in timed]
        self._bench = _core.Bench()
        kernels = {name: links[placement - job.first].open() for name, links in job.links.items()}
        for index, name in zip(timed, self._names, strict=True):
            each = spans[index]
            self._bench.add(
                kernels[name],
                regions[each.region],
                each.offsets,
                each.lengths,
                loop=each.loop,
                cold=each.cold,
                walk=each.walk,
                mixed=each.mixed,
            )
        self._bench.calibrate(int(job.target_ticks * MARGIN))
        for i, index in enumerate(timed):
            if spans[index].mixed:
                self._bench.set_calls(i, MIXED_CALLS)
        self.check_sums()

    def check_sums(self) -> None:
        """ValueError if a kernel's sum of one of the cells is not the reference's."""
        check_sums(self._bench, self._names)

    def round(self, number: int) -> Structured:
        """The samples of a round. A cell whose visit was disturbed is visited anew, a few times; all are kept."""
        job = self._job
        cells = self._order.permutation(len(self._timed)).tolist()
        seed = int(self._order.integers(1 << 63))
        found: list[Structured] = []
        while cells and len(found) <= job.revisits:
            samples = time_round(
                self._bench, cells, number, warm=job.warm_ticks, batches=job.batches, seed=seed
            )
            found.append(samples)
            disturbed = (samples["flags"] != 0) & (samples["batch"] == 0)
            cells = samples["cell"][disturbed].tolist()
        samples = np.concatenate(found)
        samples["round"] = number * len(job.placements) + self._placement - job.first
        return placed(samples, self._timed, self._placement)


def check_sums(bench: _core.Bench, names: Sequence[str]) -> None:
    """ValueError if a kernel's sum of its cell is not the reference's; names[i] is the kernel of cell i."""
    wrong = bench.check()
    if wrong is not None:
        cell, offset, length, got, expected = wrong
        raise ValueError(
            f"kernel '{names[cell]}' is wrong at {length} bytes, offset {offset}: it gives {got:#06x}, "
            f"right is {expected:#06x}; a wrong kernel is not timed"
        )


def placed(samples: Structured, timed: Sequence[int], placement: int) -> Structured:
    """The samples with `cell` counted over the job's cells, and the placement beside it."""
    joined = with_columns(samples, placement=np.full(len(samples), placement, np.uint32))
    joined["cell"] = np.array(timed, dtype=np.uint32)[samples["cell"]]
    return joined
