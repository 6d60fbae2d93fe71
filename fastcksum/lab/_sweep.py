"""Cells, rounds, samples: the timing loop on the caller's own bytes, and on a grid of kernels, sizes and offsets.

The loop itself is C, in each kernel's own file; here is decided what it is called on, how often and in which order.
"""

from __future__ import annotations

import dataclasses
import mmap
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, SupportsIndex, TypeAlias

import numpy as np

from fastcksum import _core
from fastcksum._kernel import Kernel, active_kernel, kernels

from . import _report, _stats
from ._host import Host, host, timer_facts
from ._progress import Progress, reporting

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from typing_extensions import Buffer

    Structured: TypeAlias = npt.NDArray[np.void]

KernelLike: TypeAlias = str | Kernel

DPDK_SIZES: Final = (20, 21, 100, 101, 1500, 1501, 9000, 9001, 65536, 65537)
"""The block sizes of DPDK's cksum_perf_autotest, those of the patch of February 2026 included."""

IMIX: Final = {40: 7, 576: 4, 1500: 1}
"""The classic Internet mix: packet size in bytes -> how many of twelve packets have it."""

# A batch lasts at least this many steps of the counter, or empty pairs of readings, whichever is longer.
BATCH: Final = 1000
# The clock may rise, and the batch shrink, after its calls were counted: that much is asked for instead.
MARGIN: Final = 2.0
# The additions a core cycle that any x86-64 core since 2013 manages; nothing is presumed of others.
LEAST_WIDE: Final = {"tsc_ticks": 3.0}
# Core cycles of a 64-bit multiplication on every x86-64 core since 2008; elsewhere it isn't one number.
MUL_LATENCY: Final = {"tsc_ticks": 3}
OVERHEAD: Final = "nothing"
CACHE_LINE: Final = 64
# What lies between two blocks that DPDK's allocator gives out: its header, two cache lines.
DPDK_HEADER: Final = 2 * CACHE_LINE
DPDK_BLOCKS: Final = 10


def _plain_starts(size: int, offset: int, slack: int) -> list[int]:  # noqa: ARG001 - the signature of all forms
    """One span, that far behind the start of a page."""
    return [offset]


def _dpdk_starts(size: int, offset: int, slack: int) -> list[int]:
    """Ten blocks as rte_malloc gives them out, each on a cache line of its own behind its header."""
    room = -(-(size + slack) // CACHE_LINE) * CACHE_LINE
    return [i * (room + DPDK_HEADER) + DPDK_HEADER + offset for i in range(DPDK_BLOCKS)]


@dataclass(frozen=True, slots=True)
class _Way:
    """A way to time a cell: where its spans start, and the C loop that goes over them."""

    starts: Callable[[int, int, int], list[int]]
    loop: str


# (mode, cache, form) -> how it is done. What isn't here can't be asked for.
_WAYS: Final = {
    ("throughput", "hot", "plain"): _Way(_plain_starts, "plain"),
    ("throughput", "hot", "dpdk"): _Way(_dpdk_starts, "dpdk"),
}
_MOST_PLACEMENTS: Final = 1
_MOST_PROCESSES: Final = 1


@dataclass(frozen=True, slots=True)
class Cell:
    """What is timed: a kernel on a size at an offset, in a mode, from a cache, in a form."""

    kernel: str
    size: int
    distribution: str
    offset: int
    mode: str
    cache: str
    form: str


class Row(NamedTuple):
    """One cell of a sweep in figures.

    Times are in `unit`s a call; ticks_per_call is the minimum, q1 and q3 are quartiles, error is
    (median - minimum) / minimum. Per-byte figures are of the gross figure. net_ticks_per_call is None where the
    overhead was not measured and NaN where it is larger than the figure (invalid). est_core_cycles_per_byte is NaN
    where the core's clock is unknown. placement_low and placement_high are NaN with a single placement.
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
    not timed. processor: the CPU that the thread was pinned to, None where that was refused. started: UTC.
    interrupted: Ctrl-C ended it after rounds_done whole rounds.
    """

    kernels: tuple[dict[str, Any], ...]
    cells: tuple[Cell, ...]
    left_out: tuple[str, ...]
    rounds: int
    rounds_done: int
    interrupted: bool
    placements: int
    processes: int
    seed: int
    target_ticks: int
    processor: int | None
    started: str


@dataclass(frozen=True, eq=False)
class Sweep:
    """The samples of a sweep, with the machine and the plan that they belong to.

    samples: structured array, one row a sample, flagged ones included: ticks calls result round order cell flags
    add_ticks mul_ticks wide_ticks, then the columns of its Cell.
    """

    samples: Structured = dataclasses.field(repr=False)
    host: Host = dataclasses.field(repr=False)
    plan: Plan = dataclasses.field(repr=False)

    def table(self) -> list[Row]:
        """One Row a cell, in the order of the plan."""
        return rows_of(self.samples, self.plan.cells, self.host.unit)

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

    def __str__(self) -> str:
        return self.text()


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
    chosen = _resolve(active_kernel() if kernel is None else kernel)
    _check_count("rounds", rounds)
    if not chosen.min_len <= size <= chosen.max_len:
        raise ValueError(
            f"kernel '{chosen.name}' is made for {chosen.min_len} to {chosen.max_len} bytes, not {size}; "
            "give a length within, or another kernel"
        )
    bench = _core.Bench()
    bench.add(chosen, buf, [start], [size])
    with _pinned():
        bench.calibrate(int(_target_ticks() * MARGIN))
        _check_sums(bench, [chosen.name])
        samples = np.concatenate([_round(bench, [0], number) for number in range(rounds)])
        _check_sums(bench, [chosen.name])
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
    lengths: None = None,
    cache: str = "hot",
    form: str = "plain",
    rounds: int = 60,
    placements: int = 1,
    processes: int = 1,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Times kernels on all sizes at all offsets: every round visits every cell once, in a shuffled order.

    kernels: names or Kernels; None: the active one, the past ones, the yardsticks, as far as they run here.
    sizes, offsets: bytes. form: "plain", one span that far behind the start of a page; "dpdk", the ten blocks of
    DPDK's cksum_perf_autotest in turn, each that far behind the start of a cache line, folded into a volatile sum.
    seed: of the bytes and the order; None draws one, which the plan keeps. progress: called with (rounds done,
    rounds); None draws a bar if standard error is a terminal.

    ValueError for what there isn't, and for a kernel whose sum of a cell is wrong. Cells outside a kernel's min_len
    to max_len are left out and said so in the plan. Ctrl-C after the first round ends the sweep and keeps the whole
    rounds; the plan says so. The thread is pinned to one CPU meanwhile.
    """
    way = _find_way(mode, cache, form)
    if lengths is not None:
        raise ValueError(f"lengths are for mode 'mixed', which this version lacks: {_ways_text()}")
    _check_most("placements", placements, _MOST_PLACEMENTS)
    _check_most("processes", processes, _MOST_PROCESSES)
    _check_count("rounds", rounds)
    chosen = _choose(kernels)
    size_list, offset_list = _integers("sizes", sizes), _integers("offsets", offsets)
    seed = _draw_seed() if seed is None else _check_seed(seed)

    cells, left_out = _lay_out(chosen, size_list, offset_list, mode=mode, cache=cache, form=form)
    if not cells:
        raise ValueError("no cell is left to time: " + "; ".join(left_out))
    machine = host()
    target = _target_ticks()
    byte_source, order_source = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    bench = _fill_bench(cells, {kernel.name: kernel for kernel in chosen}, way, max(offset_list), byte_source)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    names = [cell.kernel for cell in cells]
    with _pinned() as processor:
        bench.calibrate(int(target * MARGIN))
        _check_sums(bench, names)
        done, interrupted = _run_rounds(bench, len(cells), rounds, order_source, progress)
        _check_sums(bench, names)
    plan = Plan(
        kernels=tuple(_facts_of(kernel) for kernel in chosen),
        cells=tuple(cells),
        left_out=tuple(left_out),
        rounds=rounds,
        rounds_done=len(done),
        interrupted=interrupted,
        placements=placements,
        processes=processes,
        seed=seed,
        target_ticks=target,
        processor=processor,
        started=started,
    )
    return Sweep(samples=_join(np.concatenate(done), cells), host=machine, plan=plan)


# What may be asked for


def _ways_text() -> str:
    return "; ".join(f"mode '{mode}' with cache '{cache}' and form '{form}'" for mode, cache, form in _WAYS)


def _find_way(mode: str, cache: str, form: str) -> _Way:
    """How cells of this mode, cache and form are timed. ValueError that lists what there is."""
    for at, (what, value) in enumerate({"mode": mode, "cache": cache, "form": form}.items()):
        known = dict.fromkeys(way[at] for way in _WAYS)
        if value not in known:
            raise ValueError(f"{what} {value!r} is unknown; there is {', '.join(map(repr, known))}")
    try:
        return _WAYS[mode, cache, form]
    except KeyError:
        raise ValueError(
            f"mode {mode!r}, cache {cache!r}, form {form!r} don't go together; there is {_ways_text()}"
        ) from None


def _check_count(what: str, value: int) -> None:
    if operator.index(value) < 1:
        raise ValueError(f"{what} must be at least 1, not {value}")


def _check_most(what: str, value: int, most: int) -> None:
    _check_count(what, value)
    if value > most:
        raise ValueError(
            f"{what} must be {most}, not {value}: this version times one, where the linker put the code"
        )


def _check_seed(seed: SupportsIndex) -> int:
    value = operator.index(seed)
    if value < 0:
        raise ValueError(f"seed must not be negative: {value}")
    return value


def _draw_seed() -> int:
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


def _resolve(kernel: KernelLike) -> Kernel:
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


def _choose(wanted: KernelLike | Iterable[KernelLike] | None) -> list[Kernel]:
    """The kernels to time, each once. ValueError for none, and for two of one name."""
    if wanted is None:
        active = active_kernel()
        listed = [kernel for kernel in kernels() if kernel.runs_here and kernel.role in {"past", "yardstick"}]
        return [active, *(kernel for kernel in listed if kernel != active)]
    if isinstance(wanted, (str, Kernel)):
        wanted = [wanted]
    chosen = list(dict.fromkeys(_resolve(kernel) for kernel in wanted))
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


def _lay_out(
    chosen: Sequence[Kernel],
    sizes: Sequence[int],
    offsets: Sequence[int],
    *,
    mode: str,
    cache: str,
    form: str,
) -> tuple[list[Cell], list[str]]:
    """The cells to time, and a sentence for each kernel and size that is left out."""
    cells, left_out = [], []
    for kernel in chosen:
        for size in sizes:
            if not kernel.min_len <= size <= kernel.max_len:
                left_out.append(
                    f"{kernel.name} at {size} bytes: it is right for {kernel.min_len} to {kernel.max_len} bytes only"
                )
                continue
            cells += [Cell(kernel.name, size, "fixed", offset, mode, cache, form) for offset in offsets]
    return cells, left_out


# Buffers, rounds, samples


def _mapped(size: int, source: np.random.Generator) -> mmap.mmap:
    """A private mapping of at least size bytes, every page of it written with random bytes.

    Pages that were never written are all one page of zeros, which never leaves the nearest cache.
    """
    buffer = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer[:] = source.bytes(len(buffer))
    return buffer


def _fill_bench(
    cells: Sequence[Cell], by_name: dict[str, Kernel], way: _Way, slack: int, source: np.random.Generator
) -> _core.Bench:
    """A Bench with these cells, all in one buffer: no two of them differ in which physical pages they got."""
    spans = [way.starts(cell.size, cell.offset, max(slack, 1)) for cell in cells]
    end = max(starts[-1] + cell.size for starts, cell in zip(spans, cells, strict=True))
    buffer = _mapped(end, source)
    bench = _core.Bench()
    for starts, cell in zip(spans, cells, strict=True):
        bench.add(by_name[cell.kernel], buffer, starts, [cell.size] * len(starts), loop=way.loop)
    return bench


def _target_ticks() -> int:
    """How long a batch must last for the counter's step and the cost of reading it not to matter."""
    facts = timer_facts()
    return int(np.ceil(BATCH * max(facts["step"], facts["pair"])))


def _sample_type() -> np.dtype[np.void]:
    names, formats, offsets = zip(*_core.SAMPLE_FIELDS, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": _core.SAMPLE_SIZE})


def _round(bench: _core.Bench, order: Sequence[int], number: int) -> Structured:
    """The samples of one round, one a cell named in order."""
    out = np.zeros(len(order), _sample_type())
    bench.round(order, number, out.data)
    return out


def _run_rounds(
    bench: _core.Bench, n_cells: int, rounds: int, source: np.random.Generator, progress: Progress | None
) -> tuple[list[Structured], bool]:
    """The samples of each whole round, and whether Ctrl-C ended it early. KeyboardInterrupt if there is no round yet."""
    done: list[Structured] = []
    try:
        with reporting(progress, f"{n_cells} cells, {rounds} rounds") as report:
            for number in range(rounds):
                done.append(_round(bench, source.permutation(n_cells).tolist(), number))
                report(number + 1, rounds)
    except KeyboardInterrupt:
        if not done:
            raise
    return done, len(done) < rounds


def _check_sums(bench: _core.Bench, names: Sequence[str]) -> None:
    """ValueError if a kernel's sum of its cell is not the reference's; names[i] is the kernel of cell i."""
    wrong = bench.check()
    if wrong is not None:
        cell, offset, length, got, expected = wrong
        raise ValueError(
            f"kernel '{names[cell]}' is wrong at {length} bytes, offset {offset}: it gives {got:#06x}, "
            f"right is {expected:#06x}; a wrong kernel is not timed"
        )


@contextmanager
def _pinned() -> Iterator[int | None]:
    """Keeps the thread on one CPU, which it gives, and restores its affinity on every way out. None where refused."""
    before = os.sched_getaffinity(0)
    wanted = _best_processor(before)
    processor: int | None = wanted
    try:
        try:
            os.sched_setaffinity(0, {wanted})
        except OSError:
            processor = None
        yield processor
    finally:
        os.sched_setaffinity(0, before)


def _best_processor(allowed: set[int]) -> int:
    """The fastest kind of core; of those the last one, since interrupts mostly go to the first."""

    def capacity(cpu: int) -> int:
        try:
            return int(Path(f"/sys/devices/system/cpu/cpu{cpu}/cpu_capacity").read_text())
        except (OSError, ValueError):
            return 0

    return max(allowed, key=lambda cpu: (capacity(cpu), cpu))


def _facts_of(kernel: Kernel) -> dict[str, Any]:
    """What a stored sweep keeps of a kernel: all but the code itself."""
    left_out = {"capsule", "assembly"}
    return {
        field.name: getattr(kernel, field.name)
        for field in dataclasses.fields(kernel)
        if field.name not in left_out
    }


def _join(samples: Structured, cells: Sequence[Cell]) -> Structured:
    """The samples with the columns of their cell beside them."""
    columns = {
        field.name: np.array([getattr(cell, field.name) for cell in cells])
        for field in dataclasses.fields(Cell)
    }
    kinds = [(name, samples.dtype[name]) for name in samples.dtype.names or ()]
    kinds += [(name, column.dtype) for name, column in columns.items()]
    joined = np.zeros(len(samples), kinds)
    for name in samples.dtype.names or ():
        joined[name] = samples[name]
    for name, column in columns.items():
        joined[name] = column[samples["cell"]]
    return joined


# Figures


def rows_of(samples: Structured, cells: Sequence[Cell], unit: str) -> list[Row]:
    """One Row for each of the cells, from samples whose `cell` is an index into them."""
    contended = _contended_by_round(samples, unit)
    kept = [samples[samples["cell"] == index] for index in range(len(cells))]
    summaries = [_stats.summarise(each["ticks"] / each["calls"], each["flags"]) for each in kept]
    overheads = {
        dataclasses.replace(cell, kernel=""): summary.minimum
        for cell, summary in zip(cells, summaries, strict=True)
        if cell.kernel == OVERHEAD
    }
    return [
        _row(
            cell,
            summary,
            each,
            unit=unit,
            overhead=overheads.get(dataclasses.replace(cell, kernel="")),
            contended=contended,
        )
        for cell, summary, each in zip(cells, summaries, kept, strict=True)
    ]


def _contended_by_round(samples: Structured, unit: str) -> dict[int, bool]:
    """Whether the core was shared, for each round."""
    rounds, first = np.unique(samples["round"], return_index=True)
    rates = _stats.sentinel(samples["add_ticks"][first], samples["wide_ticks"][first])
    shared = _stats.contended_rounds(rates, least=LEAST_WIDE.get(unit, 0.0))
    return dict(zip(rounds.tolist(), shared.tolist(), strict=True))


def _row(
    cell: Cell,
    summary: _stats.Summary,
    samples: Structured,
    *,
    unit: str,
    overhead: float | None,
    contended: dict[int, bool],
) -> Row:
    good = samples[samples["flags"] == 0]
    cycles = _stats.core_cycles(
        good["ticks"] / good["calls"],
        good["add_ticks"],
        good["mul_ticks"],
        chain=_core.CHAIN,
        mul_latency=MUL_LATENCY.get(unit),
    )
    shared = np.array([contended[number] for number in good["round"].tolist()], dtype=np.bool_)
    nan = float("nan")
    return Row(
        **dataclasses.asdict(cell),
        calls=int(samples["calls"][0]) if len(samples) else 0,
        samples=summary.samples,
        dropped=summary.dropped,
        unit=unit,
        ticks_per_call=summary.minimum,
        net_ticks_per_call=_stats.net(summary.minimum, overhead),
        ticks_per_byte=summary.minimum / cell.size if cell.size else nan,
        est_core_cycles_per_byte=cycles / cell.size if cell.size else nan,
        q1=summary.q1,
        q3=summary.q3,
        error=summary.error,
        badge=_stats.badge(summary, shared),
        placement_low=nan,
        placement_high=nan,
    )
