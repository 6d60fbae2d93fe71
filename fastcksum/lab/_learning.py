"""How fast a core learns a kernel: what a call takes after so many calls since other code ran.

A packet meets an untrained core: its header is summed after everything else that a stack does. A sweep times what a
loop of calls takes once the core's predictors know it; here it is timed how they get there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from fastcksum import _core
from fastcksum._extras import extra
from fastcksum._progress import Progress, reporting

from ._bench import job, warm
from ._bench.memory import mapped
from ._bench.request import KernelLike, check_count, check_seed, choose, draw_seed, integers
from ._figures.record import with_columns
from ._machine.facts import Host, host, labelled_lines, tick_name
from ._machine.processor import pinned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import SupportsIndex

    import pandas as pd

    from ._figures.record import Structured

CALLS: Final = 1 << 17
WIDTH: Final = 100


class LearningRow(NamedTuple):
    """One batch: calls before it since other code ran, calls in it, and ticks of one of them over the lessons.

    ticks_per_call is the median, q1 and q3 the quartiles: what an untrained core takes is no floor. pair is that part
    of ticks_per_call which the pair of counter readings takes, dear where a batch is one call.
    """

    kernel: str
    size: int
    after_calls: int
    calls: int
    ticks_per_call: float
    q1: float
    q3: float
    pair: float


@dataclass(frozen=True, eq=False)
class Learning:
    """What learning() found: rows, every sample, and the machine.

    samples: structured array, one row a batch, flagged ones included: as Sweep.samples, with `round` the number of the
    lesson, `batch` that of the batch in it, and `kernel` and `size`. seed: of the bytes, of the order and of the other
    code. dropped: lessons in which the thread migrated, was switched out or took a page fault.
    """

    rows: tuple[LearningRow, ...]
    kernels: tuple[str, ...]
    sizes: tuple[int, ...]
    offset: int
    lessons: int
    dropped: int
    seed: int
    host: Host
    samples: Structured = field(repr=False)

    def table(self) -> list[LearningRow]:
        """One LearningRow for each kernel, size and batch."""
        return list(self.rows)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame. ModuleNotFoundError with the pip command without pandas."""
        pandas = extra("pandas", "Learning.frame()", "lab", without="Learning.table() works without")
        frame: pd.DataFrame = pandas.DataFrame(self.rows, columns=LearningRow._fields)
        return frame

    def text(self) -> str:
        """A table a kernel and size, at most 100 columns wide, below the host's facts."""
        unit = tick_name(self.host.unit)
        how = (
            f"{self.lessons} lessons a kernel and size, each after other code has run (some thousand branches taken or "
            f"not by chance), in a shuffled order (seed {self.seed}); {self.dropped} dropped; offset {self.offset}"
        )
        figures = f"{unit} a call: median (quartiles) over the lessons, gross; `pair` of it reads the counter"
        lines = [*self.host.to_lines(WIDTH), *labelled_lines("Measured", how, WIDTH)]
        lines += labelled_lines("Figures", figures, WIDTH)
        for kernel, size in dict.fromkeys((row.kernel, row.size) for row in self.rows):
            lines += ["", f"### {kernel}, {size} bytes"]
            lines += [f"{'after calls':>12} {'calls':>8} {unit + '/call':>17} {'quartiles':>19} {'pair':>8}"]
            lines += [_line(row) for row in self.rows if (row.kernel, row.size) == (kernel, size)]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()


def _line(row: LearningRow) -> str:
    quartiles = f"{row.q1:.1f} .. {row.q3:.1f}"
    return (
        f"{row.after_calls:>12} {row.calls:>8} {row.ticks_per_call:>17.1f} {quartiles:>19} {row.pair:>8.1f}"
    )


def learning(
    kernel: KernelLike | Iterable[KernelLike],
    size: SupportsIndex | Iterable[SupportsIndex],
    *,
    offset: int = 0,
    calls: int = CALLS,
    lessons: int = 60,
    seed: int | None = None,
    progress: Progress | bool | None = None,
) -> Learning:
    """Times calls of a kernel after other code ran: the first, the second, the next two, four, eight ... up to `calls`.

    Before each lesson the core runs code of its own until its branch predictors know nothing of the kernel's loop, then
    the batches follow each other with nothing between them but the readings of the counter. kernel, size: one or
    several; size and offset in bytes, from the start of a page; lessons: of each kernel and size.

    ValueError for a kernel that can't run here, isn't made for that size, or whose sum is wrong. The thread is pinned
    to one CPU meanwhile.
    """
    chosen, sizes = choose(kernel), integers("size", size)
    check_count("lessons", lessons)
    check_count("calls", calls)
    [offset] = integers("offset", offset)
    for each in chosen:
        for bytes_ in sizes:
            if not each.min_len <= bytes_ <= each.max_len:
                raise ValueError(
                    f"kernel '{each.name}' is made for {each.min_len} to {each.max_len} bytes, not {bytes_}; give a "
                    "size within, or another kernel"
                )
    seed = draw_seed() if seed is None else check_seed(seed)
    source = np.random.default_rng(seed)
    buffer = mapped(offset + max(sizes), source)
    bench = _core.Bench()
    cells = [(each, bytes_) for each in chosen for bytes_ in sizes]
    for each, bytes_ in cells:
        bench.add(each, buffer, [offset], [bytes_])
    batches = batches_up_to(calls)
    found = []
    with pinned(), reporting(progress, f"{lessons} lessons of {len(cells)} cells") as report:
        bench.calibrate(0)  # the pages of code and data are there
        job.check_sums(bench, [each.name for each, _ in cells])
        for number in range(lessons):
            for cell in source.permutation(len(cells)).tolist():
                samples = np.zeros(len(batches), warm.sample_type())
                bench.learn(cell, batches, number, int(source.integers(1 << 63)), samples)
                samples["cell"] = cell
                found.append(samples)
            report(number + 1, lessons)
        job.check_sums(bench, [each.name for each, _ in cells])
    machine = host()
    joined = _with_names(np.concatenate(found), [(each.name, bytes_) for each, bytes_ in cells])
    return Learning(
        rows=tuple(rows_of(joined, [(each.name, bytes_) for each, bytes_ in cells], batches, machine.pair)),
        kernels=tuple(each.name for each in chosen),
        sizes=tuple(sizes),
        offset=offset,
        lessons=lessons,
        dropped=int(np.count_nonzero(joined["flags"][joined["batch"] == 0])),
        seed=seed,
        host=machine,
        samples=joined,
    )


def batches_up_to(calls: int) -> list[int]:
    """1, 1, 2, 4, 8 ... calls, so many altogether: each batch as long as all before it."""
    batches, done = [1], 1
    while done < calls:
        batches.append(min(done, calls - done))
        done += batches[-1]
    return batches


def rows_of(
    samples: Structured, cells: Sequence[tuple[str, int]], batches: Sequence[int], pair: float
) -> list[LearningRow]:
    """The rows of samples whose `cell` is an index into the cells, (kernel, size); NaN where all are flagged."""
    rows = []
    for cell, (kernel, size) in enumerate(cells):
        of_cell = samples[(samples["cell"] == cell) & (samples["flags"] == 0)]
        for number, calls in enumerate(batches):
            batch = of_cell[of_cell["batch"] == number]
            ticks = batch["ticks"] / batch["calls"]
            q1, median, q3 = np.quantile(ticks, [0.25, 0.5, 0.75]) if len(ticks) else [float("nan")] * 3
            rows.append(
                LearningRow(
                    kernel,
                    size,
                    sum(batches[:number]),
                    calls,
                    float(median),
                    float(q1),
                    float(q3),
                    pair / calls,
                )
            )
    return rows


def _with_names(samples: Structured, cells: Sequence[tuple[str, int]]) -> Structured:
    """The samples with the kernel and the size of their cell beside them."""
    names, sizes = (np.array(column) for column in zip(*cells, strict=True))
    return with_columns(samples, kernel=names[samples["cell"]], size=sizes[samples["cell"]])
