"""Cells, rounds, samples: the timing loop on the caller's own bytes, and on a grid of kernels, sizes and offsets.

The loop itself is C, in each kernel's own file; here is decided what it is called on, how often and in which order.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, SupportsIndex, TypeAlias

import numpy as np

from fastcksum import _core
from fastcksum._kernel import Kernel, active_kernel, kernels
from fastcksum._progress import Progress, reporting

from ._bench import cells as _cells
from ._bench import job as _job
from ._bench.cells import (
    DPDK_SIZES,
    MODES,
    RANDOM_OFFSET,
    Cell,
    Lengths,
    check_lengths,
    check_way,
    longest,
    shortest,
)
from ._bench.job import MARGIN, Job, Link
from ._bench.placement import SLOTS, links_of
from ._build.command import CompileError
from ._figures import report as _report
from ._figures import stats as _stats
from ._machine.facts import Host, host, timer_facts

if TYPE_CHECKING:
    import os

    import numpy.typing as npt
    import pandas as pd
    from typing_extensions import Buffer

    Structured: TypeAlias = npt.NDArray[np.void]

KernelLike: TypeAlias = str | Kernel

# A batch lasts at least this many steps of the counter, or empty pairs of readings, whichever is longer.
BATCH: Final = 1000
# The additions a core cycle that any x86-64 core since 2013 manages; nothing is presumed of others.
LEAST_WIDE: Final = {"tsc_ticks": 3.0}
# Core cycles of a 64-bit multiplication on every x86-64 core since 2008; elsewhere it isn't one number.
MUL_LATENCY: Final = {"tsc_ticks": 3}
OVERHEAD: Final = "nothing"


class Row(NamedTuple):
    """One cell of a sweep in figures.

    Times are in `unit`s a call. With one placement in one process ticks_per_call is the minimum over the rounds, q1 and
    q3 are quartiles, error is (median - minimum) / minimum. With more of them each is the median over those units, and
    placement_low and placement_high are the least and the largest minimum (NaN with a single one). Per-byte figures
    are of the gross figure. net_ticks_per_call is None where the overhead was not measured and NaN where it is larger
    than the figure (invalid). est_core_cycles_per_byte is NaN where the core's clock is unknown. size is 0 for a mix of
    lengths; its per-byte figures are of its mean length.
    """

    kernel: str
    size: int
    distribution: str
    offset: int
    mode: str
    cache: str
    form: str
    calls: int
    samples: int
    dropped: int
    unit: str
    ticks_per_call: float
    net_ticks_per_call: float | None
    ticks_per_byte: float
    est_core_cycles_per_byte: float
    q1: float
    q3: float
    error: float
    badge: str
    placement_low: float
    placement_high: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for and what was done: enough to repeat the sweep, and to read its samples.

    kernels: the fields of each Kernel, by name of the field. left_out: sentences about cells that were asked for and
    not timed. lengths: what is behind each mix. mean_lengths: bytes a call of each cell. set_bytes: the size of each
    cache's set. pages: what backed the largest buffer. placement_note: why there is only one placement, where more were
    asked for. processor: the CPU that the thread was pinned to, None where that was refused. started: UTC.
    interrupted: Ctrl-C ended it after rounds_done whole rounds of the last process.
    """

    kernels: tuple[dict[str, Any], ...]
    cells: tuple[Cell, ...]
    mean_lengths: tuple[float, ...]
    left_out: tuple[str, ...]
    lengths: dict[str, Any]
    set_bytes: dict[str, int]
    pages: str
    rounds: int
    rounds_done: int
    interrupted: bool
    placements: int
    placement_note: str
    processes: int
    seed: int
    target_ticks: int
    processor: int | None
    started: str


@dataclass(frozen=True, eq=False)
class Sweep:
    """The samples of a sweep, with the machine and the plan that they belong to.

    samples: structured array, one row a sample, flagged ones included: ticks calls result round order cell flags
    add_ticks mul_ticks wide_ticks placement process, then the columns of its Cell.
    """

    samples: Structured = dataclasses.field(repr=False)
    host: Host = dataclasses.field(repr=False)
    plan: Plan = dataclasses.field(repr=False)

    def table(self) -> list[Row]:
        """One Row a cell, in the order of the plan."""
        return rows_of(self.samples, self.plan.cells, self.plan.mean_lengths, self.host.unit)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame, one row a cell. ModuleNotFoundError with the pip command without pandas."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra, and slow to import
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Sweep.frame() needs pandas: pip install 'fastcksum[lab]'; Sweep.table() works without"
            ) from error
        frame = pd.DataFrame(self.table(), columns=Row._fields)
        return frame.astype({"net_ticks_per_call": "float64"})

    def text(self) -> str:
        """The table that reviewers mail, in the form of DPDK's cksum_perf_autotest, at most 100 columns wide."""
        return _report.text(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one Parquet file; a good file of that name is replaced only by a whole one."""
        _results_module().save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Sweep:
        """The sweep that save() wrote. ValueError if the file is something else, damaged, or of another schema."""
        loaded: Sweep = _results_module().load(path)
        return loaded

    def __str__(self) -> str:
        return self.text()


def _results_module() -> Any:
    """The reader and writer of files. ModuleNotFoundError with the pip command without pandas and pyarrow."""
    try:
        from ._figures import results as _results  # noqa: PLC0415 - pandas is an extra
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "saving and loading sweeps needs pandas and pyarrow: pip install 'fastcksum[lab]'"
        ) from error
    return _results


@dataclass(frozen=True, eq=False)
class Samples:
    """What measure() found.

    ticks_per_call: float64 array, one a round, in `unit`s. flags: uint32 array, not 0 where the thread migrated, was
    switched out or took a page fault during that round. best: the minimum of the rounds without a flag (NaN if none).
    """

    ticks_per_call: npt.NDArray[np.float64] = dataclasses.field(repr=False)
    flags: npt.NDArray[np.uint32] = dataclasses.field(repr=False)
    unit: str
    kernel: str
    offset: int
    length: int

    @property
    def summary(self) -> _stats.Summary:
        """Minimum, quartiles, error, and how many rounds were dropped."""
        return _stats.summarise(self.ticks_per_call, self.flags)

    @property
    def best(self) -> float:
        """Ticks of one call in the best round."""
        return self.summary.minimum

    def __repr__(self) -> str:
        return (
            f"<Samples: {self.kernel}, {self.length} bytes at offset {self.offset}: {self.best:.2f} {self.unit} a call, "
            f"best of {len(self.ticks_per_call)} rounds>"
        )


def measure(
    buf: Buffer,
    *,
    offset: int = 0,
    length: int | None = None,
    kernel: KernelLike | None = None,
    rounds: int = 60,
) -> Samples:
    """Times one kernel on the caller's own bytes, buf[offset:offset+length]; returns one sample a round.

    ValueError for an offset or a length past the end, a kernel that can't run here or isn't made for that length, and
    for a kernel whose sum of these bytes is wrong. The buffer is held while it is measured.
    """
    _core.raw_cksum(buf, offset=offset, length=length)  # the same errors, in the same words
    start = operator.index(offset)
    size = memoryview(buf).nbytes - start if length is None else operator.index(length)
    chosen = resolve(active_kernel() if kernel is None else kernel)
    check_count("rounds", rounds)
    if not chosen.min_len <= size <= chosen.max_len:
        raise ValueError(
            f"kernel '{chosen.name}' is made for {chosen.min_len} to {chosen.max_len} bytes, not {size}; "
            "give a length within, or another kernel"
        )
    bench = _core.Bench()
    bench.add(chosen, buf, [start], [size])
    with _job.pinned():
        bench.calibrate(int(target_ticks() * MARGIN))
        _job.check_sums(bench, [chosen.name])
        samples = np.concatenate([_job.time_round(bench, [0], number) for number in range(rounds)])
        _job.check_sums(bench, [chosen.name])
    return Samples(
        ticks_per_call=samples["ticks"] / samples["calls"],
        flags=samples["flags"].copy(),
        unit=timer_facts()["unit"],
        kernel=chosen.name,
        offset=start,
        length=size,
    )


def sweep(
    kernels: KernelLike | Iterable[KernelLike] | None = None,
    sizes: SupportsIndex | Iterable[SupportsIndex] = DPDK_SIZES,
    offsets: SupportsIndex | Iterable[SupportsIndex] = (0, 1),
    *,
    mode: str = "throughput",
    lengths: Mapping[str, Lengths] | None = None,
    cache: str = "hot",
    form: str = "plain",
    rounds: int = 60,
    placements: int = 1,
    processes: int = 1,
    seed: int | None = None,
    huge_pages: bool = False,
    batch_ticks: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Times kernels on all sizes at all offsets: every round visits every cell once, in a shuffled order.

    kernels: names or Kernels; None: the active one, the past ones, the yardsticks, as far as they run here.
    sizes, offsets: bytes, from the start of a page.

    mode: "throughput"; "latency", where the address of each call depends on the last result; "mixed", the `lengths`
    (such as {"imix": IMIX, "1..128": (1, 128)}) at random offsets in another order each round, with independent and
    with dependent calls; sizes and offsets are unused then.
    cache: "hot" (in L1 as far as the size allows); "l2", "l3", "dram", sets of many buffers as large as plan.set_bytes
    says; "cold", flushed before each call, one call a sample.
    form: "plain"; "dpdk", the ten blocks of DPDK's cksum_perf_autotest in turn, folded into a volatile sum.
    placements: the code linked at so many places in a page; needs a compiler, else 1 and the plan says why. processes:
    the whole in so many processes, one after another. huge_pages: ask for them; plan.pages says what came of it.
    batch_ticks: how long a batch lasts at least; None: 1000 steps of the counter, or empty pairs of readings.
    seed: of the bytes, the order and the places; None draws one, which the plan keeps. progress: called with (rounds
    done, rounds); None draws a bar if standard error is a terminal.

    ValueError for what there isn't, and for a kernel whose sum of a cell is wrong. Cells outside a kernel's min_len
    to max_len are left out and said so in the plan. Ctrl-C after the first round ends the sweep and keeps the whole
    rounds; the plan says so. The thread is pinned to one CPU meanwhile.
    """
    check_way(mode, cache, form)
    for what, value in {"rounds": rounds, "placements": placements, "processes": processes}.items():
        check_count(what, value)
    chosen = choose(kernels)
    mixes = _check_mixes(mode, lengths)
    size_list, offset_list = _integers("sizes", sizes), _integers("offsets", offsets)
    seed = draw_seed() if seed is None else check_seed(seed)
    machine = host()
    sets = _sets_for(cache, machine)
    grid = (
        _grid(size_list, offset_list, mode, cache, form) if mode != "mixed" else _mix_grid(mixes, cache, form)
    )
    cells, left_out = _lay_out(chosen, grid, mixes, sets)
    if not cells:
        raise ValueError("no cell is left to time: " + "; ".join(left_out))
    links, note = _link_all(chosen, placements, seed)
    job = Job(
        links=links,
        cells=cells,
        sets=sets,
        mixes=mixes,
        slack=max(*offset_list, 1),
        rounds=rounds,
        seed=seed,
        process=0,
        target_ticks=max(target_ticks(), batch_ticks or 0),
        huge_pages=huge_pages,
    )
    started = datetime.now(UTC).isoformat(timespec="seconds")
    outcomes = _run_jobs(job, processes, progress)
    last = outcomes[-1]
    plan = Plan(
        kernels=tuple(facts_of(kernel) for kernel in chosen),
        cells=tuple(cells),
        mean_lengths=tuple(last.mean_lengths),
        left_out=tuple(left_out),
        lengths={name: dict(mix) if isinstance(mix, Mapping) else mix for name, mix in mixes.items()},
        set_bytes=sets,
        pages=last.pages,
        rounds=rounds,
        rounds_done=last.rounds_done,
        interrupted=last.rounds_done < rounds or len(outcomes) < processes,
        placements=max(map(len, links.values())),
        placement_note=note,
        processes=len(outcomes),
        seed=seed,
        target_ticks=job.target_ticks,
        processor=last.processor,
        started=started,
    )
    return Sweep(samples=join_samples(outcomes, cells), host=machine, plan=plan)


def _run_jobs(job: Job, processes: int, progress: Progress | None) -> list[_job.Outcome]:
    """The job in this process, or in so many others one after another; those done when Ctrl-C came."""
    outcomes: list[_job.Outcome] = []
    with reporting(progress, f"{len(job.cells)} cells, {job.rounds} rounds") as report:
        if processes == 1:
            return [_job.run(job, report)]
        try:
            for process in range(processes):

                def report_all(done: int, rounds: int, before: int = process * job.rounds) -> None:
                    report(before + done, processes * rounds)

                outcomes.append(_job.run_in_process(dataclasses.replace(job, process=process), report_all))
                if outcomes[-1].rounds_done < job.rounds:
                    break
        except KeyboardInterrupt:
            if not outcomes:
                raise
    return outcomes


def _link_all(chosen: Sequence[Kernel], placements: int, seed: int) -> tuple[dict[str, list[Link]], str]:
    """The links of each kernel at so many places; one of each, and why, where there is no compiler.

    Each kernel has a stretch of places of its own, so that no two are compared at equal places only; where a page has
    not enough of them for all, the first ones are taken again.
    """
    if placements > 1:
        stretches = max(SLOTS // placements, 1)
        try:
            return {
                kernel.name: links_of(kernel, placements, i % stretches, seed)
                for i, kernel in enumerate(chosen)
            }, ""
        except CompileError as error:
            note = f"{placements} placements were asked for: {str(error).splitlines()[0]}"
    else:
        note = ""
    return {kernel.name: links_of(kernel, 1) for kernel in chosen}, note


# What may be asked for


def check_count(what: str, value: int) -> None:
    if operator.index(value) < 1:
        raise ValueError(f"{what} must be at least 1, not {value}")


def _check_mixes(mode: str, lengths: Mapping[str, Lengths] | None) -> dict[str, Lengths]:
    """The mixes of mode "mixed". ValueError if they are missing there, or given elsewhere."""
    if mode == "mixed":
        if lengths is None:
            raise ValueError("mode 'mixed' needs lengths, such as {'imix': IMIX, '1..128': (1, 128)}")
        return check_lengths(lengths)
    if lengths is not None:
        raise ValueError(f"lengths are for mode 'mixed'; mode {mode!r} takes sizes")
    return {}


def _sets_for(cache: str, machine: Host) -> dict[str, int]:
    """Bytes of each cache's set. ValueError if one is asked for and the machine doesn't tell its caches."""
    if cache in {"hot", "cold"}:
        return {}
    sets = _cells.set_sizes(machine.caches)
    if not sets:
        raise ValueError(
            f"cache {cache!r} needs the sizes of L2 and L3, which this machine doesn't tell; 'hot' needs none"
        )
    return sets


def check_seed(seed: SupportsIndex) -> int:
    value = operator.index(seed)
    if value < 0:
        raise ValueError(f"seed must not be negative: {value}")
    return value


def draw_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])


def _integers(what: str, values: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """The numbers, each once. ValueError for none or a negative one."""
    given = values if isinstance(values, Iterable) else [values]
    numbers = list(dict.fromkeys(operator.index(value) for value in given))
    if not numbers:
        raise ValueError(f"{what} must name at least one number of bytes")
    if min(numbers) < 0:
        raise ValueError(f"{what} can't be negative: {min(numbers)}")
    return numbers


def resolve(kernel: KernelLike) -> Kernel:
    """The Kernel, or the built-in one of that name. ValueError if it is unknown or can't run here."""
    if isinstance(kernel, str):
        known = {each.name: each for each in kernels()}
        if kernel not in known:
            runnable = ", ".join(each.name for each in known.values() if each.runs_here)
            raise ValueError(f"kernel '{kernel}' is unknown; those that run here: {runnable}")
        kernel = known[kernel]
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a name or a Kernel, not '{type(kernel).__name__}'")
    if not kernel.runs_here:
        raise ValueError(f"kernel '{kernel.name}' can't run here: it needs {', '.join(kernel.needs)}")
    return kernel


def choose(wanted: KernelLike | Iterable[KernelLike] | None) -> list[Kernel]:
    """The kernels to time, each once. ValueError for none, and for two of one name."""
    if wanted is None:
        active = active_kernel()
        listed = [kernel for kernel in kernels() if kernel.runs_here and kernel.role in {"past", "yardstick"}]
        return [active, *(kernel for kernel in listed if kernel != active)]
    if isinstance(wanted, (str, Kernel)):
        wanted = [wanted]
    chosen = list(dict.fromkeys(resolve(kernel) for kernel in wanted))
    if not chosen:
        raise ValueError("kernels must name at least one kernel")
    names = [kernel.name for kernel in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"two different kernels are named '{name}': give one of them another name, "
                "dataclasses.replace(kernel, name=...)"
            )
    return chosen


def _grid(sizes: Sequence[int], offsets: Sequence[int], mode: str, cache: str, form: str) -> list[Cell]:
    return [Cell("", size, "fixed", offset, mode, cache, form) for size in sizes for offset in offsets]


def _mix_grid(mixes: Mapping[str, Lengths], cache: str, form: str) -> list[Cell]:
    return [Cell("", 0, name, RANDOM_OFFSET, mode, cache, form) for name in mixes for mode in MODES["mixed"]]


def _lay_out(
    chosen: Sequence[Kernel], grid: Sequence[Cell], mixes: Mapping[str, Lengths], sets: Mapping[str, int]
) -> tuple[list[Cell], list[str]]:
    """The cells to time, and a sentence for each kernel and size that is left out."""
    cells: list[Cell] = []
    left_out: dict[str, None] = {}
    for kernel in chosen:
        for place in grid:
            why = _why_not(kernel, place, mixes) or _cells.why_left_out(place, sets)
            if why:
                left_out[why] = None
            else:
                cells.append(dataclasses.replace(place, kernel=kernel.name))
    return cells, list(left_out)


def _why_not(kernel: Kernel, cell: Cell, mixes: Mapping[str, Lengths]) -> str | None:
    """Why the kernel isn't made for the lengths of the cell, or None."""
    mix: Lengths = mixes.get(cell.distribution, (cell.size, cell.size))
    if kernel.min_len <= shortest(mix) and longest(mix) <= kernel.max_len:
        return None
    what = f"{cell.size} bytes" if cell.offset != RANDOM_OFFSET else f"lengths '{cell.distribution}'"
    return f"{kernel.name} at {what}: it is right for {kernel.min_len} to {kernel.max_len} bytes only"


# Samples


def target_ticks() -> int:
    """How long a batch must last for the counter's step and the cost of reading it not to matter."""
    facts = timer_facts()
    return int(np.ceil(BATCH * max(facts["step"], facts["pair"])))


def facts_of(kernel: Kernel) -> dict[str, Any]:
    """What a stored sweep keeps of a kernel: all but the code itself."""
    left_out = {"capsule", "assembly", "built"}
    return {
        field.name: getattr(kernel, field.name)
        for field in dataclasses.fields(kernel)
        if field.name not in left_out
    }


def join_samples(outcomes: Sequence[_job.Outcome], cells: Sequence[Cell]) -> Structured:
    """The samples of all processes, with the process and the columns of their cell beside them."""
    samples = np.concatenate([outcome.samples for outcome in outcomes])
    process = np.repeat(np.arange(len(outcomes)), [len(outcome.samples) for outcome in outcomes])
    columns = {"process": process.astype(np.uint32)}
    columns |= {
        field.name: np.array([getattr(cell, field.name) for cell in cells])[samples["cell"]]
        for field in dataclasses.fields(Cell)
    }
    kinds = [(name, samples.dtype[name]) for name in samples.dtype.names or ()]
    kinds += [(name, column.dtype) for name, column in columns.items()]
    joined = np.zeros(len(samples), kinds)
    for name in samples.dtype.names or ():
        joined[name] = samples[name]
    for name, column in columns.items():
        joined[name] = column
    return joined


# Figures


@dataclass(frozen=True, slots=True)
class Unit:
    """The figures of one cell in one process at one placement."""

    process: int
    placement: int
    summary: _stats.Summary
    core_cycles: float
    badge: _stats.Badge


def units_of(samples: Structured, n_cells: int, unit: str) -> list[list[Unit]]:
    """The units of each cell, from samples whose `cell` is an index into the cells."""
    contended = _contended_by_round(samples, unit)
    found: list[list[Unit]] = []
    for index in range(n_cells):
        of_cell = samples[samples["cell"] == index]
        places = np.unique(of_cell[["process", "placement"]])
        found.append([_unit(of_cell, process, placement, unit, contended) for process, placement in places])
    return found


def _unit(
    of_cell: Structured, process: int, placement: int, unit: str, contended: dict[tuple[int, int], bool]
) -> Unit:
    samples = of_cell[(of_cell["process"] == process) & (of_cell["placement"] == placement)]
    good = samples[samples["flags"] == 0]
    summary = _stats.summarise(samples["ticks"] / samples["calls"], samples["flags"])
    known = _stats.core_cycle_samples(
        good["ticks"] / good["calls"],
        good["add_ticks"],
        good["mul_ticks"],
        chain=_core.CHAIN,
        mul_latency=MUL_LATENCY.get(unit),
    )
    cycles = _stats.summarise(known, np.zeros(len(known)))
    shared = np.array([contended[int(process), number] for number in good["round"].tolist()], dtype=np.bool_)
    error = summary.error if np.isnan(cycles.error) else min(summary.error, cycles.error)
    return Unit(int(process), int(placement), summary, cycles.minimum, _stats.badge(error, shared))


def _contended_by_round(samples: Structured, unit: str) -> dict[tuple[int, int], bool]:
    """Whether the core was shared, for each (process, round)."""
    rounds, first = np.unique(samples[["process", "round"]], return_index=True)
    rates = _stats.sentinel(samples["add_ticks"][first], samples["wide_ticks"][first])
    shared = _stats.contended_rounds(rates, least=LEAST_WIDE.get(unit, 0.0))
    return {(int(process), int(number)): bool(s) for (process, number), s in zip(rounds, shared, strict=True)}


def rows_of(
    samples: Structured, cells: Sequence[Cell], mean_lengths: Sequence[float], unit: str
) -> list[Row]:
    """One Row for each of the cells, from samples whose `cell` is an index into them."""
    units = units_of(samples, len(cells), unit)
    headlines = [_median(each.summary.minimum for each in of_cell) for of_cell in units]
    overheads = {
        dataclasses.replace(cell, kernel=""): headline
        for cell, headline in zip(cells, headlines, strict=True)
        if cell.kernel == OVERHEAD
    }
    calls = {int(cell): int(n) for cell, n in zip(samples["cell"], samples["calls"], strict=True)}
    return [
        _row(
            cell,
            of_cell,
            unit,
            calls=calls.get(index, 0),
            mean_length=mean_lengths[index],
            overhead=overheads.get(dataclasses.replace(cell, kernel="")),
        )
        for index, (cell, of_cell) in enumerate(zip(cells, units, strict=True))
    ]


def _row(
    cell: Cell, units: Sequence[Unit], unit: str, *, calls: int, mean_length: float, overhead: float | None
) -> Row:
    headline = _median(each.summary.minimum for each in units)
    cycles = _median(each.core_cycles for each in units)
    minima = [each.summary.minimum for each in units if not np.isnan(each.summary.minimum)]
    several = len(units) > 1 and len(minima) > 0
    nan = float("nan")
    return Row(
        **dataclasses.asdict(cell),
        calls=calls,
        samples=sum(each.summary.samples for each in units),
        dropped=sum(each.summary.dropped for each in units),
        unit=unit,
        ticks_per_call=headline,
        net_ticks_per_call=_stats.net(headline, overhead),
        ticks_per_byte=headline / mean_length if mean_length else nan,
        est_core_cycles_per_byte=cycles / mean_length if mean_length else nan,
        q1=_median(each.summary.q1 for each in units),
        q3=_median(each.summary.q3 for each in units),
        error=_median(each.summary.error for each in units),
        badge=_usual_badge(units),
        placement_low=min(minima) if several else nan,
        placement_high=max(minima) if several else nan,
    )


def _median(values: Iterable[float]) -> float:
    """The median of the values that are numbers, NaN if there are none."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.median(known)) if known else float("nan")


def _usual_badge(units: Sequence[Unit]) -> _stats.Badge:
    """The badge in the middle of the units', from clean to contended."""
    ranks = sorted(_stats.BADGES.index(each.badge) for each in units)
    return _stats.BADGES[ranks[len(ranks) // 2]] if ranks else "noisy"
