"""The race: our kernel against everybody else's in one interleaved run, cell by cell; who wins where, and by
how much.

The run goes in passes. In each of them every kernel lies at another place in a page, and every round of it
visits every cell of every kernel in a new order, so that whatever disturbs the machine disturbs all of them
alike. A figure is the median over the passes of the minima. All that follows is arithmetic on the rows of
that sweep.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from fastcksum._kernel import Kernel, active_kernel, kernels
from fastcksum._progress import Progress, reporting

from ._bench import job as _job
from ._bench.cells import IMIX, MODES, RANDOM_OFFSET, Cell, Lengths, longest
from ._bench.job import Job, Link
from ._bench.placement import SLOTS, links_of
from ._build.command import CompileError
from ._machine.facts import Host, host, labelled_lines, tick_name
from ._sweep import (
    OVERHEAD,
    KernelLike,
    Plan,
    Row,
    Sweep,
    check_count,
    check_seed,
    draw_seed,
    facts_of,
    join_samples,
    resolve,
    target_ticks,
)

if TYPE_CHECKING:
    from typing import SupportsIndex

    import pandas as pd

LARGE: Final = 1 << 26
THROUGHPUT_SIZES: Final = (
    *(20, 21, 40, 64, 100, 101, 128, 256, 576, 1500, 1501),
    *(4096, 9000, 9001, 16384, 131072, 1 << 20, LARGE),
)
OFFSETS: Final = (0, 1)
LATENCY_SIZES: Final = (20, 40, 64, 100, 128, 256, 576, 1500, 9000)
MIXES: Final[Mapping[str, Lengths]] = {
    "1..32": (1, 32),
    "1..128": (1, 128),
    "1..1500": (1, 1500),
    "imix": IMIX,
}
# What is compared with the loads alone: longer than any head or tail, short enough for the nearest cache.
LOADS_FROM, LOADS_TO = 4096, 16384
GENERAL: Final = "x86_64_adc"
GENERAL_PEERS: Final = ("linux_before", "linux_after", "linux_2023")
LOADS: Final = "load_only_"
# Other people's techniques: those that past kernels show are public too, and count.
PEER_ROLES: Final = ("peer", "past")
# A peer whose figure is this close to the published one is no straw man.
PEER_HOLDS: Final = 0.10
WIDTH: Final = 100

MachineKind: TypeAlias = Literal["avx2", "avx512"]


@dataclass(frozen=True, slots=True)
class Size:
    """How long a race is: passes (each at other places in a page), rounds of each, and passes that visit 64
    MiB too.

    Where the code lies makes no difference to 64 MiB, of which each call takes milliseconds.
    """

    placements: int
    rounds: int
    large_placements: int


FULL: Final = Size(placements=10, rounds=20, large_placements=3)
QUICK: Final = Size(placements=3, rounds=8, large_placements=1)


# Figures


class Place(NamedTuple):
    """What is called in a cell, whoever does it. size is 0 for a mix of lengths, and offset -1."""

    mode: str
    size: int
    distribution: str
    offset: int

    def __str__(self) -> str:
        if self.offset == RANDOM_OFFSET:
            return f"{self.mode} {self.distribution}"
        return f"{self.mode} {size_text(self.size)} +{self.offset}"


class Contest(NamedTuple):
    """One cell of the race.

    ticks a call of our kernel and of the best peer in this cell; ratio is the one by the other, below 1 if
    ours is faster. fastest: which of all our kernels is the fastest here. size is 0 for a mix of lengths, and
    offset -1.
    """

    mode: str
    size: int
    distribution: str
    offset: int
    ticks: float
    peer: str
    peer_ticks: float
    ratio: float
    fastest: str
    fastest_ticks: float

    @property
    def place(self) -> Place:
        """The cell without the figures."""
        return Place(self.mode, self.size, self.distribution, self.offset)

    @property
    def lost(self) -> bool:
        """Whether the peer is faster, by as much as two decimals can show."""
        return round(self.ratio, 2) > 1


class Mean(NamedTuple):
    """Geometric mean of the ratios of some cells, how many these are, and how many of them are lost."""

    what: str
    ratio: float
    cells: int
    lost: int


class Single(NamedTuple):
    """Our kernel against one peer: geometric means of ticks of ours by the peer's (NaN without a cell)."""

    peer: str
    throughput: float
    latency: float
    mixed: float
    all: float
    cells: int


class Target(NamedTuple):
    """What was aimed at: a figure (NaN if no cell has one), and the most it may be on each kind of machine.

    cells: how many the figure is made of. note: which one it is, where it is one of many. reached is None
    where this kind of machine has no such target, or nothing was measured.
    """

    measure: str
    figure: float
    cells: int
    note: str
    avx2: float | None
    avx512: float | None
    reached: bool | None


class PeerRow(NamedTuple):
    """A peer's figure beside the published one of this kind of machine, both in ticks a call; ratio is ours
    by theirs.

    source: what was measured for it, and how it was built.
    """

    kernel: str
    mode: str
    size: int
    distribution: str
    offset: int
    ticks: float
    published: float
    ratio: float
    source: str

    @property
    def holds(self) -> bool:
        """Whether it is within 10 % of the published figure."""
        return abs(self.ratio - 1) <= PEER_HOLDS


Belongs: TypeAlias = "Callable[[Place | Contest], bool]"
Table: TypeAlias = dict[Place, dict[str, float]]


def by_place(rows: Iterable[Row]) -> Table:
    """Ticks a call of each kernel in each cell; NaN where every sample was disturbed."""
    table: Table = {}
    for row in rows:
        place = Place(row.mode, row.size, row.distribution, row.offset)
        table.setdefault(place, {})[row.kernel] = row.ticks_per_call
    return table


def contests(table: Table, chosen: str, ours: Sequence[str], peers: Sequence[str]) -> list[Contest]:
    """One Contest a cell. None where the chosen kernel or any of the peers timed there has no figure.

    It might have been the best one.
    """
    found = []
    for place, ratio in ratios_to(table, chosen, peers).items():
        ticks = table[place]
        peer = min((name for name in peers if name in ticks), key=ticks.__getitem__)
        timed = (name for name in [chosen, *ours] if name in ticks)
        fastest = min(timed, key=ticks.__getitem__)  # the chosen one has a figure, and NaN is never less
        found.append(Contest(*place, ticks[chosen], peer, ticks[peer], ratio, fastest, ticks[fastest]))
    return found


def geometric_mean(ratios: Iterable[float]) -> float:
    """The number whose logarithm is the mean of theirs; NaN of none."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan


def in_mode(mode: str) -> Belongs:
    """Whether a cell is of the mode; "mixed" are those with independent and with dependent calls."""
    return lambda cell: cell.mode in MODES[mode]


def anywhere(cell: Place | Contest) -> bool:  # noqa: ARG001 - called as the others are
    """Every cell."""
    return True


def means(found: Sequence[Contest]) -> list[Mean]:
    """The mean of each mode, of each kind of mixed calls, and of all cells."""
    groups: dict[str, Belongs] = {
        "throughput": in_mode("throughput"),
        "latency": in_mode("latency"),
        "mixed, independent calls": lambda cell: cell.mode == "mixed",
        "mixed, dependent calls": lambda cell: cell.mode == "mixed dependent",
        "mixed, both": in_mode("mixed"),
        "all cells": anywhere,
    }
    return [
        _mean(what, [contest for contest in found if belongs(contest)]) for what, belongs in groups.items()
    ]


def _mean(what: str, group: Sequence[Contest]) -> Mean:
    ratio = geometric_mean(contest.ratio for contest in group)
    return Mean(what, ratio, len(group), sum(contest.lost for contest in group))


def ratios_to(table: Table, chosen: str, others: Sequence[str]) -> dict[Place, float]:
    """Ticks of the chosen kernel by the best of the others', where all that were timed have a figure."""
    found = {}
    for place, ticks in table.items():
        there = [ticks[name] for name in others if name in ticks]
        if there and not any(map(math.isnan, [ticks.get(chosen, math.nan), *there])):
            found[place] = ticks[chosen] / min(there)
    return found


def singles(table: Table, chosen: str, peers: Iterable[str]) -> list[Single]:
    """The chosen kernel against each peer by itself, the hardest one first."""
    found = []
    for peer in peers:
        ratios = ratios_to(table, chosen, [peer])
        of_mode = {
            mode: geometric_mean(ratio for place, ratio in ratios.items() if in_mode(mode)(place))
            for mode in MODES
        }
        found.append(Single(peer, **of_mode, all=geometric_mean(ratios.values()), cells=len(ratios)))
    return sorted((single for single in found if single.cells), key=lambda single: -single.all)


# Targets


def machine_kind(features: Iterable[str]) -> MachineKind | None:
    """Which of the two kinds of machine that the targets are set for this is; None for neither."""
    there = set(features)
    return "avx512" if "avx512f" in there else "avx2" if "avx2" in there else None


class _Figure(NamedTuple):
    """A figure that has a target, of how many cells it is made, and which one it is."""

    value: float
    cells: int
    note: str = ""


def targets(
    table: Table, chosen: str, peers: Sequence[str], loads: str, kind: MachineKind | None
) -> list[Target]:
    """Every target with its figure. loads: the widest yardstick that only loads."""
    found = contests(table, chosen, [], peers)
    against_loads = {
        place: ratio
        for place, ratio in ratios_to(table, chosen, [loads]).items()
        if place.mode == "throughput" and LOADS_FROM <= place.size <= LOADS_TO
    }
    general = list(ratios_to(table, GENERAL, GENERAL_PEERS).values())
    # what, figure, the most it may be with AVX2, and with AVX-512
    aims: list[tuple[str, _Figure, float | None, float | None]] = [
        ("throughput, geometric mean", _mean_figure(found, in_mode("throughput")), 0.82, 0.86),
        ("throughput at 1500 bytes", _mean_figure(found, _at(1500)), 0.80, 0.70),
        ("throughput at 9000 bytes", _mean_figure(found, _at(9000)), 0.70, 0.58),
        ("throughput at 64 MiB", _mean_figure(found, _at(LARGE)), 0.75, 0.85),
        ("latency, geometric mean", _mean_figure(found, in_mode("latency")), 1.00, 1.00),
        ("mixed, geometric mean", _mean_figure(found, in_mode("mixed")), 0.92, 0.90),
        ("all cells, geometric mean", _mean_figure(found, anywhere), None, None),
        ("worst cell but 40 bytes", _worst({c.place: c.ratio for c in found if c.size != 40}), 1.30, 1.35),
        ("hardest single peer, all cells", _hardest(singles(table, chosen, peers)), 0.75, 0.80),
        (f"{LOADS_FROM}..{LOADS_TO} bytes +0 by {loads}", _worst_at(0, against_loads), 1.45, 1.30),
        (f"{LOADS_FROM}..{LOADS_TO} bytes +1 by {loads}", _worst_at(1, against_loads), None, 0.75),
        (
            f"{GENERAL} by the best of Linux",
            _Figure(geometric_mean(general), len(general), "before, after, 2023; all cells"),
            0.80,
            0.80,
        ),
    ]
    return [_judge(*aim, kind) for aim in aims]


def _judge(
    measure: str, figure: _Figure, avx2: float | None, avx512: float | None, kind: MachineKind | None
) -> Target:
    limit = {"avx2": avx2, "avx512": avx512}.get(kind or "")
    reached = None if limit is None or math.isnan(figure.value) else figure.value <= limit
    return Target(measure, figure.value, figure.cells, figure.note, avx2, avx512, reached)


def _mean_figure(found: Sequence[Contest], belongs: Belongs) -> _Figure:
    group = [contest.ratio for contest in found if belongs(contest)]
    return _Figure(geometric_mean(group), len(group))


def _at(size: int) -> Belongs:
    """Whether a cell is throughput at this size, at whatever offset."""
    return lambda cell: cell.mode == "throughput" and cell.size == size


def _worst(ratios: Mapping[Place, float]) -> _Figure:
    """The largest ratio, and where it is."""
    if not ratios:
        return _Figure(math.nan, 0)
    worst = max(ratios, key=ratios.__getitem__)
    return _Figure(ratios[worst], len(ratios), str(worst))


def _worst_at(offset: int, ratios: Mapping[Place, float]) -> _Figure:
    """The largest ratio at the offset, where it is, and the mean."""
    there = {place: ratio for place, ratio in ratios.items() if place.offset == offset}
    worst = _worst(there)
    mean = geometric_mean(there.values())
    return worst._replace(note=f"{worst.note}; geometric mean {mean:.3f}" if there else "")


def _hardest(found: Sequence[Single]) -> _Figure:
    """The single peer against which the mean is the largest."""
    if not found:
        return _Figure(math.nan, 0)
    return _Figure(found[0].all, found[0].cells, found[0].peer)


# Published figures


def machine_name(machine: Host) -> str | None:
    """The name under which figures of this kind of machine were published; None if there are none."""
    avx512 = "avx512f" in machine.features
    known = {("25", False): "AMD Zen 3", ("26", True): "AMD Zen 5"}
    return known.get((machine.family, avx512)) if "AMD" in machine.cpu else None


@cache
def published_rows() -> tuple[dict[str, str], ...]:
    """The published figures of peers: machine, kernel, mode, size (or the mix), offset, ticks, source.

    Measured on guests of AMD EPYC machines: Zen 3 (counter at 2445.4 MHz, 1.22 core cycles a tick) and Zen 5
    (2596.1 MHz, 1.62 core cycles a tick); each row is the minimum of several interleaved passes.
    """
    text = files(__package__).joinpath("data/peer_rows.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def peer_rows(table: Table, machine: str | None, published: Iterable[Mapping[str, str]]) -> list[PeerRow]:
    """Measured and published figures of the cells that have both, for machines of this name."""
    found = []
    for row in published:
        mixed = row["mode"] in MODES["mixed"]
        place = (
            Place(row["mode"], 0, row["size"], RANDOM_OFFSET)
            if mixed
            else Place(row["mode"], int(row["size"]), "fixed", int(row["offset"]))
        )
        ticks = table.get(place, {}).get(row["kernel"], math.nan)
        if row["machine"] == machine and not math.isnan(ticks):
            told = float(row["ticks"])
            found.append(PeerRow(row["kernel"], *place, ticks, told, ticks / told, row["source"]))
    return found


# The race


@dataclass(frozen=True, eq=False)
class Race:
    """What race() found: every sample in `sweep`, and the kernel that ran against the others."""

    sweep: Sweep
    chosen: str

    def table(self) -> list[Contest]:
        """One Contest a cell, in the order of the race."""
        return contests(self._figures, self.chosen, self._named("production"), self.peers)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame."""
        import pandas as pd  # noqa: PLC0415 - an extra, and slow to import

        return pd.DataFrame(self.table(), columns=Contest._fields)

    def means(self) -> list[Mean]:
        """Geometric means of the ratios to the best peer of each cell, by mode and over all cells."""
        return means(self.table())

    def singles(self) -> list[Single]:
        """Our kernel against each peer by itself, the hardest one first."""
        return singles(self._figures, self.chosen, self.peers)

    def lost(self) -> list[Contest]:
        """The cells in which a peer is faster, the worst one first."""
        return sorted(
            (contest for contest in self.table() if contest.lost), key=lambda contest: -contest.ratio
        )

    def targets(self) -> list[Target]:
        """What was aimed at, and what came of it on this kind of machine."""
        kind = machine_kind(self.sweep.host.features)
        return targets(self._figures, self.chosen, self.peers, self._loads(), kind)

    def peer_rows(self) -> list[PeerRow]:
        """The peers' figures beside those published for this kind of machine; none where there are none."""
        return peer_rows(self._figures, machine_name(self.sweep.host), published_rows())

    @property
    def peers(self) -> list[str]:
        """Names of other people's kernels in the race."""
        return [name for role in PEER_ROLES for name in self._named(role) if name != self.chosen]

    def notes(self) -> list[str]:
        """What a reader must know to believe the figures, as lines of at most 100 columns."""
        return _notes(self.sweep, self._rows)

    def text(self) -> str:
        """Host, cells, means, single peers, lost cells, targets, published figures; at most 100 columns."""
        return _text(self)

    def __str__(self) -> str:
        return self.text()

    @cached_property
    def _rows(self) -> list[Row]:
        return self.sweep.table()

    @cached_property
    def _figures(self) -> Table:
        return by_place(self._rows)

    def _named(self, role: str) -> list[str]:
        return [facts["name"] for facts in self.sweep.plan.kernels if facts["role"] == role]

    def _loads(self) -> str:
        return next((name for name in self._named("yardstick") if name.startswith(LOADS)), f"{LOADS}?")


def race(
    kernel: KernelLike | None = None,
    *,
    quick: bool = False,
    rounds: int | None = None,
    placements: int | None = None,
    seed: SupportsIndex | None = None,
    huge_pages: bool = False,
    progress: Progress | None = None,
) -> Race:
    """Times our kernels and all peers that run here on the same cells, together, and says who wins where.

    Throughput at 20 bytes to 64 MiB at offsets 0 and 1; latency at 20 to 9000 bytes; mixed lengths (1..32,
    1..128, 1..1500, IMIX) with independent and with dependent calls.
    Peers are other people's techniques, those that the past kernels show among them.

    kernel: the one that is judged; None: the active one. quick: 3 placements of 8 rounds instead of 10 of 20,
    below three minutes. rounds, placements: other numbers of them. 64 MiB are timed at the first few
    placements only. huge_pages: ask for them for the large buffers; sweep.plan.pages says what came of it.
    seed: of the bytes, the order and the places; None draws one. progress: called with (steps done, steps);
    None draws a bar on a terminal.

    ValueError for a kernel that can't run here, and for one whose sum of a cell is wrong. Without a compiler
    there is one placement, and the report says so. Ctrl-C after the first round ends the race and keeps the
    whole rounds.
    """
    size = QUICK if quick else FULL
    judged = resolve(active_kernel() if kernel is None else kernel)
    field = entrants(kernels(), judged)
    placements = size.placements if placements is None else placements
    rounds = size.rounds if rounds is None else rounds
    check_count("rounds", rounds)
    check_count("placements", placements)
    if placements * len(field) > SLOTS:
        raise ValueError(
            f"placements must be at most {SLOTS // len(field)} for {len(field)} kernels, not {placements}: "
            f"no two of them lie at the same of {SLOTS} places"
        )
    cells, left_out = lay_out(field)
    plan = _Course(
        field=field,
        cells=cells,
        rounds=rounds,
        placements=placements,
        large_placements=min(size.large_placements, placements),
        seed=draw_seed() if seed is None else check_seed(seed),
        huge_pages=huge_pages,
    )
    with reporting(progress, f"race of {len(field)} kernels") as report:
        return Race(_run(plan, left_out, report), judged.name)


def entrants(known: Iterable[Kernel], judged: Kernel) -> list[Kernel]:
    """Who runs: the judged kernel, our others, the peers, the overhead, and the widest loads."""
    here = [each for each in known if each.runs_here and each.name != judged.name]
    loads = [each for each in here if each.role == "yardstick" and each.name.startswith(LOADS)]
    widest = max(loads, key=lambda each: each.vector_bits, default=None)
    return [
        judged,
        *(each for each in here if each.role in {"production", *PEER_ROLES}),
        *(each for each in here if each.name == OVERHEAD or each is widest),
    ]


def lay_out(field: Iterable[Kernel]) -> tuple[list[Cell], list[str]]:
    """The cells of the race, 64 MiB last; and a sentence for each kernel and size that is left out."""
    sizes = [("throughput", size, offset) for size in THROUGHPUT_SIZES for offset in OFFSETS]
    sizes += [("latency", size, 0) for size in LATENCY_SIZES]
    places = [Place(mode, size, "fixed", offset) for mode, size, offset in sizes]
    places += [Place(mode, 0, name, RANDOM_OFFSET) for mode in MODES["mixed"] for name in MIXES]
    places.sort(key=lambda place: place.size == LARGE)
    cells: list[Cell] = []
    left_out: dict[str, None] = {}
    for place in places:
        length = place.size or longest(MIXES[place.distribution])
        for kernel in field:
            if kernel.name.startswith(LOADS) and not (
                place.mode == "throughput" and LOADS_FROM <= place.size <= LOADS_TO
            ):
                continue  # asked for nowhere else
            if length > kernel.max_len:
                right = f"it is right for {kernel.min_len} to {kernel.max_len} bytes only"
                why = f"{kernel.name} at {length} bytes: {right}"
                left_out[why] = None
                continue
            cells.append(
                Cell(kernel.name, place.size, place.distribution, place.offset, place.mode, "hot", "plain")
            )
    return cells, list(left_out)


@dataclass(frozen=True, slots=True)
class _Course:
    """All that a run needs to know. The cells of 64 MiB are the last ones."""

    field: Sequence[Kernel]
    cells: Sequence[Cell]
    rounds: int
    placements: int
    large_placements: int
    seed: int
    huge_pages: bool


def _run(course: _Course, left_out: Sequence[str], report: Progress) -> Sweep:
    """Links every kernel at all its places, and runs one pass for each of them."""
    steps = len(course.field) + course.placements * course.rounds
    links, note = _link_all(course, lambda done: report(done, steps))
    placements = min(map(len, links.values()))
    started = datetime.now(UTC).isoformat(timespec="seconds")
    outcomes: list[_job.Outcome] = []
    try:
        for number in range(placements):
            before = len(course.field) + number * course.rounds
            outcomes.append(
                _job.run(_pass(course, links, number), partial(_report_pass, report, before, steps))
            )
            if outcomes[-1].rounds_done < course.rounds:
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
    last = outcomes[-1]
    samples = join_samples(
        [_numbered(outcome, number, course.rounds) for number, outcome in enumerate(outcomes)], course.cells
    )
    samples["process"] = 0
    plan = Plan(
        kernels=tuple(facts_of(kernel) for kernel in course.field),
        cells=tuple(course.cells),
        mean_lengths=tuple(outcomes[0].mean_lengths),
        left_out=tuple(left_out),
        lengths={name: dict(mix) if isinstance(mix, Mapping) else mix for name, mix in MIXES.items()},
        set_bytes={},
        pages=outcomes[0].pages,
        rounds=course.rounds,
        rounds_done=last.rounds_done,
        interrupted=last.rounds_done < course.rounds or len(outcomes) < placements,
        placements=len(outcomes),
        placement_note=note,
        processes=1,
        seed=course.seed,
        target_ticks=target_ticks(),
        processor=last.processor,
        started=started,
    )
    return Sweep(samples=samples, host=host(), plan=plan)


def _report_pass(report: Progress, before: int, steps: int, done: int, rounds: int) -> None:  # noqa: ARG001
    report(before + done, steps)


def _link_all(course: _Course, report: Callable[[int], None]) -> tuple[dict[str, list[Link]], str]:
    """The links of each kernel, at places of its own; one of each, and why, where there is no compiler."""
    note = ""
    links: dict[str, list[Link]] = {}
    if course.placements > 1:
        try:
            for done, kernel in enumerate(course.field):
                links[kernel.name] = links_of(kernel, course.placements, done, course.seed)
                report(done + 1)
        except CompileError as error:
            note = f"{course.placements} placements were asked for: {str(error).splitlines()[0]}"
        else:
            return links, note
    return {kernel.name: links_of(kernel, 1) for kernel in course.field}, note


def _pass(course: _Course, links: Mapping[str, Sequence[Link]], number: int) -> Job:
    """What one pass measures: every cell, at the place of this number; 64 MiB only in the first few."""
    large = number < course.large_placements
    cells = [cell for cell in course.cells if large or cell.size < LARGE]
    return Job(
        links={name: [of_kernel[number]] for name, of_kernel in links.items()},
        cells=cells,
        sets={},
        mixes=dict(MIXES),
        slack=1,
        rounds=course.rounds,
        seed=course.seed,
        process=number,
        target_ticks=target_ticks(),
        huge_pages=course.huge_pages,
    )


def _numbered(outcome: _job.Outcome, number: int, rounds: int) -> _job.Outcome:
    """The samples of a pass as those of one run: the pass is the placement, each round has its own number."""
    samples = outcome.samples.copy()
    samples["placement"] = number
    samples["round"] += number * rounds
    return dataclasses.replace(outcome, samples=samples)


# Text


def size_text(size: int) -> str:
    """Bytes as people say them: 1500, 128 KiB, 64 MiB."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= 64 << 10 and size % unit == 0:
            return f"{size // unit} {name}"
    return str(size)


def ticks_text(ticks: float) -> str:
    """Ticks with as many decimals as mean something."""
    return f"{ticks:.1f}" if ticks < 10000 else f"{ticks:.0f}"


def _text(found: Race) -> str:
    table = found.table()
    parts = [
        [*found.sweep.host.to_lines(WIDTH), *_how(found)],
        *(_cell_lines(mode, found.chosen, [c for c in table if in_mode(mode)(c)]) for mode in MODES),
        _mean_lines(found.means()),
        _single_lines(found.chosen, found.singles()),
        _lost_lines(found.lost(), len(table)),
        _target_lines(found.targets(), machine_kind(found.sweep.host.features)),
        _peer_lines(found.peer_rows(), machine_name(found.sweep.host)),
        found.notes(),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _how(found: Race) -> list[str]:
    plan = found.sweep.plan
    pin = "not pinned: the system refused" if plan.processor is None else f"pinned to CPU {plan.processor}"
    cells = len({(cell.mode, cell.size, cell.distribution, cell.offset) for cell in plan.cells})
    done = f"{plan.rounds_done} of {plan.rounds}" if plan.interrupted else str(plan.rounds)
    how = (
        f"{len(plan.kernels)} kernels in {cells} cells; {plan.placements} placements of {done} rounds, each "
        f"round over all cells of all kernels in another order (seed {plan.seed}); {pin}; {plan.pages}; {plan.started}"
    )
    figures = (
        f"{tick_name(found.sweep.host.unit)} a call, gross: the median over the placements of the minima. "
        f"Ratio: {found.chosen} by the best of {len(found.peers)} peers in that cell; "
        f"below 1 {found.chosen} is faster"
    )
    return [*labelled_lines("Measured", how, WIDTH), *labelled_lines("Figures", figures, WIDTH)]


def _cell_lines(mode: str, chosen: str, table: Sequence[Contest]) -> list[str]:
    if not table:
        return []
    head = f"{'size':>9} {'offset':>7} {'ticks':>10}   {'best peer':<26} {'ratio':>6}         fastest of ours"
    return [f"### {mode}: {chosen}", head, *map(_cell_line, table)]


def _cell_line(contest: Contest) -> str:
    mixed = contest.offset == RANDOM_OFFSET
    where = contest.distribution if mixed else size_text(contest.size)
    offset = f"+{contest.offset}" if not mixed else "dep." if contest.mode == "mixed dependent" else "ind."
    peer = f"{ticks_text(contest.peer_ticks):>9} {contest.peer}"
    mark = "lost" if contest.lost else ""
    fastest = f"{ticks_text(contest.fastest_ticks):>9} {contest.fastest}"
    line = (
        f"{where:>9} {offset:>7} {ticks_text(contest.ticks):>10} {peer:<28} {contest.ratio:>6.2f} {mark:<5}"
    )
    return (f"{line} {fastest}" if contest.fastest_ticks < contest.ticks else line).rstrip()


def _mean_lines(found: Sequence[Mean]) -> list[str]:
    lines = [
        f"{mean.what:<26} {_ratio(mean.ratio)} {mean.cells:>6} {mean.lost:>6}" for mean in found if mean.cells
    ]
    title = "### Geometric means of the ratios to the best peer of each cell"
    return [title, f"{'':<26} {'ratio':>6} {'cells':>6} {'lost':>6}", *lines]


def _single_lines(chosen: str, found: Sequence[Single]) -> list[str]:
    if not found:
        return []
    lines = [
        f"{s.peer:<26} {_ratio(s.throughput):>10} {_ratio(s.latency):>8} {_ratio(s.mixed):>8} "
        f"{_ratio(s.all):>8} {s.cells:>6}"
        for s in found
    ]
    head = f"{'':<26} {'throughput':>10} {'latency':>8} {'mixed':>8} {'all':>8} {'cells':>6}"
    return [f"### {chosen} by each single peer, geometric means", head, *lines]


def _lost_lines(found: Sequence[Contest], cells: int) -> list[str]:
    if not found:
        return [f"### Lost: none of {cells} cells"]
    lines = [f"{contest.place!s:<30} {contest.ratio:>6.2f}  {contest.peer}" for contest in found]
    return [f"### Lost: {len(found)} of {cells} cells", *lines]


def _target_lines(found: Sequence[Target], kind: MachineKind | None) -> list[str]:
    words = {"avx2": "with AVX2", "avx512": "with AVX-512", None: "with neither"}
    title = f"### Targets for the two kinds of machine; this is one {words[kind]}"
    head = f"{'':<41} {'figure':>7} {'cells':>5} {'AVX2':>6} {'AVX-512':>8}  "
    return [title, head.rstrip(), *(line for target in found for line in _target_line(target))]


def _target_line(target: Target) -> list[str]:
    most = [f"<= {limit:.2f}" if limit is not None else "-" for limit in (target.avx2, target.avx512)]
    verdict = {True: "reached", False: "not reached", None: ""}[target.reached]
    figure = f"{_ratio(target.figure):>7} {target.cells:>5}"
    line = f"{target.measure:<41} {figure} {most[0]:>7} {most[1]:>7}  {verdict}"
    return [line.rstrip(), *([f"    {target.note}"] if target.note else [])]


def _ratio(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _peer_lines(found: Sequence[PeerRow], machine: str | None) -> list[str]:
    title = "### The peers beside their published figures"
    if machine is None:
        return [f"{title}: no row for this machine"]
    if not found:
        return [f"{title}: none for what was measured here"]
    held = sum(row.holds for row in found)
    lines = [
        f"{f'{row.kernel} {place_of(row)}':<48} {ticks_text(row.ticks):>10} {ticks_text(row.published):>10} "
        f"{row.ratio:>6.2f}  {'' if row.holds else 'off'}".rstrip()
        for row in found
    ]
    about = f"{held} of {len(found)} within {PEER_HOLDS:.0%}"
    head = f"{'':<48} {'here':>10} {'published':>10} {'ratio':>6}"
    return [f"{title} ({machine}): {about}", head, *lines]


def place_of(row: PeerRow) -> Place:
    """The cell of a published figure."""
    return Place(row.mode, row.size, row.distribution, row.offset)


def _notes(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    plan = sweep.plan
    notes = [f"Left out: {sentence}." for sentence in plan.left_out]
    notes += [
        f"No figure at {place}, since the thread was disturbed in every sample: {', '.join(who)}."
        for place, ticks in by_place(rows).items()
        if (who := [name for name in ticks if math.isnan(ticks[name])])
    ]
    dropped = sum(row.dropped for row in rows)
    if dropped:
        notes.append(
            f"Dropped: {dropped} of {len(sweep.samples)} samples, in which the thread migrated, was switched out "
            "or took a page fault."
        )
    noisy = sum(row.badge != "clean" for row in rows)
    notes.append(
        f"Of {len(rows)} figures {noisy} are not clean: their median lies far above, or the core was shared."
    )
    if plan.placement_note:
        notes.append(f"Placement: 1, the code lies where the linker put it ({plan.placement_note}).")
    if plan.interrupted:
        notes.append("Interrupted: these are the figures of the rounds that were done.")
    return [
        line
        for note in notes
        for line in textwrap.wrap(note, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    ]


def as_json(found: Race) -> dict[str, Any]:
    """What race adds to the sweep for a program to read; a figure that isn't known is None."""
    return {
        "chosen": found.chosen,
        "kind": machine_kind(found.sweep.host.features),
        "contests": [_plain(contest._asdict()) for contest in found.table()],
        "means": [_plain(mean._asdict()) for mean in found.means()],
        "singles": [_plain(single._asdict()) for single in found.singles()],
        "lost": [_plain(contest._asdict()) for contest in found.lost()],
        "targets": [_plain(target._asdict()) for target in found.targets()],
        "peer_rows": [_plain(row._asdict()) for row in found.peer_rows()],
    }


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in fields.items()
    }
