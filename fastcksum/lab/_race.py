"""The race: our kernel against everybody else's in one interleaved run, cell by cell; who wins where, and by how much.

At each placement every kernel lies elsewhere in a page, and every round visits every cell of every kernel in a new
order, so that whatever disturbs the machine disturbs all of them alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fastcksum._kernel import Kernel, active_kernel, kernels
from fastcksum._progress import Progress, reporting

from ._bench import request, runner
from ._bench.places import check_placements
from ._figures import contests, race_text
from ._figures.record import IMIX, MODES, OVERHEAD, RANDOM_OFFSET, Cell, Lengths
from ._figures.result import Sweep
from ._machine.facts import host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import SupportsIndex

    import pandas as pd

    from ._bench.request import KernelLike
    from ._figures.contests import Contest, Mean, Single
    from ._figures.rows import Row

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
LOADS: Final = "load_only_"
# Other people's techniques: those that past kernels show are public too, and count.
PEER_ROLES: Final = ("peer", "past")


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


FULL: Final = Extent(placements=16, rounds=20, large_placements=3)
QUICK: Final = Extent(placements=4, rounds=8, large_placements=1)


@dataclass(frozen=True, eq=False)
class Race:
    """What race() found: every sample in `sweep`, and the kernel that ran against the others."""

    sweep: Sweep
    chosen: str

    def table(self) -> list[Contest]:
        """One Contest a cell, in the order of the race."""
        figures = contests.by_case(self.rows)
        return contests.contests(figures, self.chosen, self._named("production"), self.peers)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame."""
        import pandas as pd  # noqa: PLC0415 - an extra, and slow to import

        return pd.DataFrame(self.table(), columns=contests.Contest._fields)

    def means(self) -> list[Mean]:
        """Geometric means of the ratios to the best peer of each cell, by mode and over all cells."""
        return contests.means(self.table())

    def singles(self) -> list[Single]:
        """Our kernel against each peer by itself, the hardest one first."""
        return contests.singles(contests.by_case(self.rows), self.chosen, self.peers)

    def lost(self) -> list[Contest]:
        """The cells in which a peer is faster, the worst one first."""
        return contests.lost(self.table())

    @property
    def peers(self) -> list[str]:
        """Names of other people's kernels in the race."""
        return [name for role in PEER_ROLES for name in self._named(role) if name != self.chosen]

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of the sweep."""
        return self.sweep.table()

    def notes(self) -> list[str]:
        """What a reader must know to believe the figures, as lines of at most 100 columns."""
        return race_text.notes(self.sweep, self.rows)

    def text(self) -> str:
        """Host, cells, means, single peers, lost cells; at most 100 columns."""
        return race_text.text(
            self.sweep,
            self.rows,
            self.chosen,
            table=self.table(),
            single=self.singles(),
            peers=len(self.peers),
        )

    def as_json(self) -> dict[str, Any]:
        """What race adds to the sweep for a program to read; a figure that isn't known is None."""
        return race_text.as_json(self.chosen, self.table(), self.singles())

    def __str__(self) -> str:
        return self.text()

    def _named(self, role: str) -> list[str]:
        return [facts["name"] for facts in self.sweep.plan.kernels if facts["role"] == role]


def race(
    kernel: KernelLike | None = None,
    *,
    quick: bool = False,
    rounds: int | None = None,
    placements: int | None = None,
    seed: SupportsIndex | None = None,
    huge_pages: bool = False,
    progress: Progress | bool | None = None,
) -> Race:
    """Times our kernels and all peers that run here on the same cells, together, and says who wins where.

    Throughput at 20 bytes to 64 MiB at offsets 0 and 1; latency at 20 to 9000 bytes; mixed lengths (1..32,
    1..128, 1..1500, IMIX) with independent and with dependent calls.
    Peers are other people's techniques, those that the past kernels show among them.

    kernel: the one that is judged; None: the active one. quick: 4 placements of 8 rounds instead of 16 of 20. rounds, placements: other numbers of
    them, of placements 1 or a multiple of 4. 64 MiB are timed at the first few
    placements only. huge_pages: ask for them for the large buffers; sweep.plan.pages says what came of it.
    seed: of the bytes, the order and the places; None draws one. progress: called with (steps done, steps);
    None draws a bar on a terminal.

    ValueError for a kernel that can't run here, and for one whose sum of a cell is wrong. Without a compiler
    there is one placement, and the report says so. Ctrl-C after the first round ends the race and keeps the
    whole rounds.
    """
    extent = QUICK if quick else FULL
    judged = request.resolve(active_kernel() if kernel is None else kernel)
    field = entrants(kernels(), judged)
    placements = extent.placements if placements is None else placements
    rounds = extent.rounds if rounds is None else rounds
    request.check_count("rounds", rounds)
    check_placements(placements)
    cells, left_out = lay_out(field)
    course = runner.Course(
        kernels=field,
        cells=cells,
        left_out=left_out,
        mixes=MIXES,
        rounds=rounds,
        placements=placements,
        reach={LARGE: extent.large_placements},
        seed=request.draw_seed() if seed is None else request.check_seed(seed),
        target_ticks=request.target_ticks(),
        huge_pages=huge_pages,
    )
    with reporting(progress, f"race of {len(field)} kernels") as report:
        samples, plan = runner.run(course, report)
    return Race(Sweep(samples=samples, host=host(), plan=plan), judged.name)


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


def lay_out(field: Sequence[Kernel]) -> tuple[list[Cell], list[str]]:
    """The cells of the race, those of a size together; and a sentence for each kernel and size that is left out."""
    grid = [
        Cell("", size, "fixed", offset, "throughput", "hot", "plain")
        for size in THROUGHPUT_SIZES
        for offset in OFFSETS
    ]
    grid += [Cell("", size, "fixed", 0, "latency", "hot", "plain") for size in LATENCY_SIZES]
    grid += [
        Cell("", 0, name, RANDOM_OFFSET, mode, "hot", "plain") for mode in MODES["mixed"] for name in MIXES
    ]
    loads = {kernel.name for kernel in field if kernel.name.startswith(LOADS)}
    cells, left_out = request.lay_out(field, grid, MIXES, {})
    return [cell for cell in cells if cell.kernel not in loads or _is_for_loads(cell)], left_out


def _is_for_loads(cell: Cell) -> bool:
    """Whether the loads alone are asked for there."""
    return cell.mode == "throughput" and LOADS_FROM <= cell.size <= LOADS_TO
