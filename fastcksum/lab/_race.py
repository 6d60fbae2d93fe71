"""The race: our kernel against everybody else's in one interleaved run, cell by cell; who wins where, and by how much.

Our kernels run as they were built. Each peer is built by every compiler at hand, and a short run first picks its best
build in each cell. At each placement every kernel lies elsewhere in a page, and every round visits every cell of every
kernel in a new order, so that whatever disturbs the machine disturbs all of them alike.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fastcksum import _core
from fastcksum._extras import extra
from fastcksum._html import table as html_table
from fastcksum._kernel import Kernel, active_kernel, kernels
from fastcksum._progress import Progress, reporting

from ._bench import request, runner
from ._bench.places import check_placements
from ._build.variants import Variant, compilers_at_hand, variants_of
from ._figures import contests, race_file, race_text
from ._figures.contests import Field, Runner
from ._figures.record import IMIX, MODES, OVERHEAD, RANDOM_OFFSET, Cell, Lengths
from ._figures.result import Sweep
from ._machine.facts import host as read_host
from ._machine.facts import tick_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import SupportsIndex

    import pandas as pd

    from ._bench.request import KernelLike
    from ._figures.contests import Contest, Copies, Mean, Minima, Single, Table
    from ._figures.race_file import About
    from ._machine.facts import Host

LARGE: Final = 1 << 26
THROUGHPUT_SIZES: Final = (
    *(20, 21, 40, 64, 100, 101, 128, 192, 256, 384, 576, 1500, 1501),
    *(4096, 9000, 9001, 16384, 131072, 1 << 20, LARGE),
)
OFFSETS: Final = (0, 1)
LATENCY_SIZES: Final = (20, 40, 64, 100, 128, 192, 256, 384, 576, 1500, 9000)
MIXES: Final[Mapping[str, Lengths]] = {
    "1..32": (1, 32),
    "1..128": (1, 128),
    "1..1500": (1, 1500),
    "imix": IMIX,
}
LOADS: Final = "load_only_"
PEER_ROLES: Final = ("peer", "past")
COPY: Final = " (copy)"
# What is compared with the loads alone: longer than any head or tail, short enough for the nearest cache.
LOADS_FROM, LOADS_TO = 4096, 16384


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a race is: placements, rounds of each, and placements at which 64 MiB are timed too.

    Where the code lies makes no difference to 64 MiB, of which each call takes milliseconds.
    """

    placements: int
    rounds: int
    large_placements: int


FULL: Final = Extent(placements=16, rounds=2, large_placements=8)
QUICK: Final = Extent(placements=8, rounds=1, large_placements=8)
# The short run that picks the best build of each peer; of 1 and 64 MiB it is the one that is best at 128 KiB.
PICK: Final = Extent(placements=4, rounds=1, large_placements=0)
LONGEST_PICKED: Final = 131072


@dataclass(frozen=True, eq=False)
class Race:
    """What race() found, cell by cell: the minimum of each runner at each placement, and who ran.

    sweep has every sample; None where the race was read from a file, which holds the minima alone.
    """

    host: Host
    about: About
    field: Field
    minima: Minima
    sweep: Sweep | None = dataclasses.field(default=None, repr=False)

    @property
    def chosen(self) -> str:
        """The kernel that was judged."""
        return self.field.chosen

    @property
    def peers(self) -> list[str]:
        """Names of other people's kernels in the race, each once."""
        return list(dict.fromkeys(self.field.runners[name].kernel for name in self.field.peers))

    def table(self) -> list[Contest]:
        """One Contest a cell, in the order of the race."""
        return self._contests

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame. ModuleNotFoundError with the pip command without pandas."""
        pandas = extra("pandas", "Race.frame()", "lab", without="Race.table() works without")
        frame: pd.DataFrame = pandas.DataFrame(self.table(), columns=contests.Contest._fields)
        return frame.drop(columns="logs")

    def __repr__(self) -> str:
        counts = Counter(contest.verdict for contest in self.table())
        found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        return f"<Race of {self.chosen}: {found}; on {self.host.cpu}; .text() and .frame() show it>"

    def _repr_html_(self) -> str:
        head = ["cell", "ours", "best peer", "its build", "peer", "ours / peer", "low", "high", "verdict"]
        rows = [
            [
                str(each.case),
                *(
                    each.ticks,
                    each.peer,
                    each.build,
                    each.peer_ticks,
                    each.ratio,
                    each.low,
                    each.high,
                    each.verdict,
                ),
            ]
            for each in self.table()
        ]
        return html_table(f"{self.chosen}; {tick_name(self.host.unit)} a call; {self.host.cpu}", head, rows)

    def figures(self) -> Table:
        """Ticks a call of each kernel in each cell: pseudomedians over the placements, of each peer's best build."""
        return contests.table_of(self.minima, self.field)

    def means(self) -> list[Mean]:
        """Geometric means of the ratios to the best peer of each cell, by mode and over all cells."""
        return contests.means(self.table())

    def singles(self) -> list[Single]:
        """Our kernel against each peer by itself, the hardest one first."""
        return contests.singles(self.figures(), self.chosen, self.peers)

    def lost(self) -> list[Contest]:
        """The cells in which a peer is faster, the worst one first."""
        return contests.lost(self.table())

    def copies(self) -> Copies | None:
        """In how many cells a second copy of our own kernel would have been called faster or slower."""
        return contests.copies(self.minima, self.field)

    def text(self) -> str:
        """Host, cells, means, single peers, lost cells; at most 100 columns."""
        return race_text.text(
            self.host,
            self.about,
            self.field,
            table=self.table(),
            single=self.singles(),
            copy=self.copies(),
        )

    def as_json(self) -> dict[str, Any]:
        """All that text() says, for a program; a figure that isn't known is None."""
        return race_text.as_json(self.chosen, self.table(), self.singles(), self.copies())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the minima, the host and who ran as JSON; sweep.save() keeps every sample."""
        race_file.save(path, self.host, self.about, self.field, self.minima)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Race:
        """The race that save() wrote. ValueError if the file is something else, damaged, or of another schema."""
        return Race(*race_file.load(path))

    def __str__(self) -> str:
        return self.text()

    @cached_property
    def _contests(self) -> list[Contest]:
        return contests.contests(self.minima, self.field)


def race(
    kernel: KernelLike | None = None,
    *,
    quick: bool = False,
    rounds: int | None = None,
    placements: int | None = None,
    compilers: Sequence[str | Sequence[str]] | None = None,
    seed: SupportsIndex | None = None,
    huge_pages: bool = False,
    progress: Progress | bool | None = None,
) -> Race:
    """Times our kernels and all peers that run here on the same cells, together, and says who wins where.

    Throughput at 20 bytes to 64 MiB at offsets 0 and 1; latency at 20 to 9000 bytes; mixed lengths (1..32, 1..128,
    1..1500, IMIX) with independent and with dependent calls. Peers are other people's techniques, those that the past
    kernels show among them.

    kernel: the one that is judged, with a second copy of it as a check; None: the active one. compilers: what each peer
    is built by, with -O3 and with -O3 -march=native, to race in its best build; None: each version on the PATH, and the
    clangs of the folders in ZIGLANG; (): as they lie in the extension. quick: 8 placements of 1 round instead of 16 of
    2. rounds, placements: other numbers of them, of placements 1 or a multiple of 4; fewer than 8 decide nothing. 64
    MiB are timed at the first 8 only. huge_pages: ask for them for the large buffers; the report says what came of it.
    seed: of the bytes, the order and the places; None draws one. progress: called with (steps done, steps) of building,
    of the short run that picks builds, and of the race; None draws a bar on a terminal.

    ValueError for a kernel that can't run here, for a yardstick, and for one whose sum of a cell is wrong. Without a
    compiler there is one placement, nothing is decided, and the report says so. Ctrl-C after the first round ends the
    race and keeps the whole rounds.
    """
    extent = QUICK if quick else FULL
    judged = check_judged(request.resolve(active_kernel() if kernel is None else kernel))
    placements = extent.placements if placements is None else placements
    rounds = extent.rounds if rounds is None else rounds
    request.check_count("rounds", rounds)
    check_placements(placements)
    seed = request.draw_seed() if seed is None else request.check_seed(seed)
    commands = compilers_at_hand() if compilers is None else [_command(each) for each in compilers]
    as_built, peers = entrants(kernels(), judged)
    with reporting(progress, "builds of the peers") as report:
        variants, not_built = variants_of([each.name for each in peers], commands, report)
    builds, grid = enter(peers, variants), grid_of()
    best = _pick(builds, grid, seed, progress) if len(builds) > len(peers) else {}
    cells, left_out = lay_out(as_built, builds, grid, best)
    running = {cell.kernel for cell in cells}
    entries = [each for each in (*as_built, *builds) if each.kernel.name in running]
    course = runner.Course(
        kernels=[each.kernel for each in entries],
        cells=cells,
        left_out=[*not_built, *left_out],
        mixes=MIXES,
        rounds=rounds,
        placements=placements,
        reach={LARGE: extent.large_placements},
        seed=seed,
        target_ticks=request.target_ticks(),
        huge_pages=huge_pages,
    )
    with reporting(progress, f"race of {len(course.kernels)} kernels") as report:
        samples, plan = runner.run(course, report)
    machine = read_host()
    swept = Sweep(samples=samples, host=machine, plan=plan)
    return Race(
        host=machine,
        about=race_text.about_of(swept),
        field=Field({each.kernel.name: each.runner for each in entries}, plan.places),
        minima=contests.minima_of(samples, plan.cells, machine.unit),
        sweep=swept,
    )


def _command(compiler: str | Sequence[str]) -> tuple[str, ...]:
    return (compiler,) if isinstance(compiler, str) else tuple(compiler)


def _pick(
    builds: Sequence[Entry], grid: Sequence[Cell], seed: int, progress: Progress | bool | None
) -> dict[tuple[Cell, str], str]:
    """A short run over all builds of the peers: the best one of each in each cell."""
    named = [each.kernel for each in builds]
    tried = [cell for cell in grid if cell.size <= LONGEST_PICKED]
    cells, _ = request.lay_out(named, tried, MIXES, {})
    course = runner.Course(
        kernels=named,
        cells=cells,
        mixes=MIXES,
        rounds=PICK.rounds,
        placements=PICK.placements,
        seed=seed,
        target_ticks=request.target_ticks(),
    )
    with reporting(progress, f"best of {len(named)} builds") as report:
        samples, plan = runner.run(course, report)
    picked: dict[Cell, dict[str, float]] = {}
    for row in Sweep(samples=samples, host=read_host(), plan=plan).table():
        if not math.isnan(row.ticks_per_call):
            cell = Cell("", row.size, row.distribution, row.offset, row.mode, row.cache, row.form)
            picked.setdefault(cell, {})[row.kernel] = row.ticks_per_call
    return best_builds(picked, builds, grid)


def check_judged(kernel: Kernel) -> Kernel:
    """The kernel. ValueError for one that computes no sum: it would win every cell."""
    if kernel.role == "yardstick":
        raise ValueError(
            f"'{kernel.name}' is a yardstick and computes no checksum; race judges a kernel that does, such as "
            f"'{active_kernel().name}'"
        )
    return kernel


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel in one build, and who it is."""

    kernel: Kernel
    runner: Runner


def entrants(known: Iterable[Kernel], judged: Kernel) -> tuple[list[Entry], list[Kernel]]:
    """Who runs as built: the judged kernel, a copy of it, our others, the overhead, the widest loads; and the peers."""
    here = [each for each in known if each.runs_here and each.name != judged.name]
    loads = [each for each in here if each.role == "yardstick" and each.name.startswith(LOADS)]
    widest = max(loads, key=lambda each: each.vector_bits, default=None)
    copy = dataclasses.replace(judged, name=judged.name + COPY)
    ours = [each for each in here if each.role == "production"]
    yardsticks = [each for each in here if each.name == OVERHEAD or each is widest]
    as_built = [
        Entry(judged, Runner(judged.name, "chosen", _as_built())),
        Entry(copy, Runner(judged.name, "copy", _as_built())),
        *(Entry(each, Runner(each.name, each.role, _as_built())) for each in (*ours, *yardsticks)),
    ]
    return as_built, [each for each in here if each.role in PEER_ROLES]


def _as_built() -> str:
    """The compiler of the extension."""
    return f"{_core.build_facts()['compiler']}, as the extension"


def enter(peers: Sequence[Kernel], variants: Sequence[Variant]) -> list[Entry]:
    """The builds of each peer; one that has none runs as it lies in the extension."""
    roles = {each.name: each.role for each in peers}
    built = [Entry(each.compiled, Runner(each.kernel, roles[each.kernel], each.build)) for each in variants]
    names = {each.runner.kernel for each in built}
    return [
        *built,
        *(Entry(each, Runner(each.name, each.role, _as_built())) for each in peers if each.name not in names),
    ]


def grid_of() -> list[Cell]:
    """The cells of the race, without a kernel."""
    grid = [
        Cell("", size, "fixed", offset, "throughput", "hot", "plain")
        for size in THROUGHPUT_SIZES
        for offset in OFFSETS
    ]
    grid += [Cell("", size, "fixed", 0, "latency", "hot", "plain") for size in LATENCY_SIZES]
    return grid + [
        Cell("", 0, name, RANDOM_OFFSET, mode, "hot", "plain") for mode in MODES["mixed"] for name in MIXES
    ]


def lay_out(
    as_built: Sequence[Entry],
    builds: Sequence[Entry],
    grid: Sequence[Cell],
    best: Mapping[tuple[Cell, str], str],
) -> tuple[list[Cell], list[str]]:
    """The cells with their kernels: of each peer its best build there, of the loads those for which they are asked.

    And a sentence for each kernel and size that is left out.
    """
    entries = {each.kernel.name: each for each in (*as_built, *builds)}
    cells, left_out = request.lay_out([each.kernel for each in entries.values()], grid, MIXES, {})

    def is_run(cell: Cell) -> bool:
        runner_of = entries[cell.kernel].runner
        if cell.kernel.startswith(LOADS):
            return cell.mode == "throughput" and LOADS_FROM <= cell.size <= LOADS_TO
        return best.get((dataclasses.replace(cell, kernel=""), runner_of.kernel), cell.kernel) == cell.kernel

    return [cell for cell in cells if is_run(cell)], list(dict.fromkeys(map(_without_build, left_out)))


def _without_build(sentence: str) -> str:
    """What is said of each build of a kernel, said of the kernel."""
    name, bracket, rest = sentence.partition(" [")
    return name + rest.partition("]")[2] if bracket else sentence


def best_builds(
    picked: Mapping[Cell, Mapping[str, float]], builds: Sequence[Entry], grid: Sequence[Cell]
) -> dict[tuple[Cell, str], str]:
    """The name of each peer's fastest build in each cell; longer ones as the longest that was tried.

    picked: ticks a call of each build in each cell that was tried. A peer without any figure there is left as it is.
    """
    kernels_of = {each.kernel.name: each.runner.kernel for each in builds}
    best: dict[tuple[Cell, str], str] = {}
    for cell in grid:
        tried = cell if cell.size <= LONGEST_PICKED else dataclasses.replace(cell, size=LONGEST_PICKED)
        ticks = picked.get(tried, {})
        for name in sorted(ticks, key=ticks.__getitem__, reverse=True):
            best[cell, kernels_of[name]] = name  # the fastest one last
    return best
