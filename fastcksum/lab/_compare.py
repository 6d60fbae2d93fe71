"""Two kernels against each other: faster, slower, the same or unresolved, cell by cell.

The second kernel and a second copy of the first are timed beside the first, each at places of its own. After 32
placements each cell is judged; those that are not decided get more, up to 128 or until the budget is spent.
"""

from __future__ import annotations

import dataclasses
import operator
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, SupportsIndex

import numpy as np

from fastcksum._progress import reporting

from ._bench import request, runner
from ._bench.cells import check_way
from ._bench.places import check_placements
from ._figures.comparison import Comparison, judge, undecided
from ._figures.intervals import least_values
from ._figures.record import DPDK_SIZES
from ._figures.result import Sweep
from ._figures.verdict import WITHIN, look_confidence
from ._machine.facts import host

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastcksum._kernel import Kernel
    from fastcksum._progress import Progress

    from ._bench.request import KernelLike
    from ._figures.record import Cell, Lengths, Plan, Structured

CONFIDENCE: Final = 0.95
PLACEMENTS: Final = (32, 64, 128)
ROUNDS: Final = 10
COPY: Final = " (second copy)"


def compare(
    a: KernelLike,
    b: KernelLike,
    sizes: SupportsIndex | Iterable[SupportsIndex] = DPDK_SIZES,
    offsets: SupportsIndex | Iterable[SupportsIndex] = (0, 1),
    *,
    mode: str = "throughput",
    lengths: Mapping[str, Lengths] | None = None,
    cache: str = "hot",
    form: str = "plain",
    rounds: int = ROUNDS,
    placements: int | Sequence[int] = PLACEMENTS,
    processes: int = 1,
    confidence: float = CONFIDENCE,
    within: float = WITHIN,
    seconds: float | None = None,
    seed: int | None = None,
    huge_pages: bool = False,
    batch_ticks: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Measures a, b and a second copy of a together, and says for each cell whether b is faster or slower than a.

    placements: how many there are when the cells are judged, one number or several that grow; cells that are decided
    get no more. They are the evidence: processes repeat each of them, which only makes it steadier. confidence: of all
    verdicts together. within: a difference that counts as none: 0.01, 1 %. seconds: a budget; no further stage is begun
    when it is spent. Everything else is as in sweep().

    ValueError for placements that are too few for so many cells; CompileError (a ValueError) where there is no compiler
    to place the code with. Ctrl-C keeps what was measured, the text says so.
    """
    first, second = request.resolve(a), request.resolve(b)
    if second.name == first.name:
        second = dataclasses.replace(second, name=f"{second.name} (b)")
    copy = dataclasses.replace(first, name=first.name + COPY)
    looks = _check_looks(placements)
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be in 0.5..1, below 1, not {confidence}")
    if not within >= 0:
        raise ValueError(f"within must not be negative: {within} (0.01 is 1 %)")
    course = _course(
        [first, second, copy],
        request.integers("sizes", sizes),
        request.integers("offsets", offsets),
        mode=mode,
        lengths=lengths,
        cache=cache,
        form=form,
    )
    course = dataclasses.replace(
        course,
        rounds=rounds,
        processes=processes,
        seed=request.draw_seed() if seed is None else request.check_seed(seed),
        target_ticks=max(request.target_ticks(), batch_ticks or 0),
        huge_pages=huge_pages,
    )
    for what, value in {"rounds": rounds, "processes": processes}.items():
        request.check_count(what, value)
    _check_enough(looks, confidence, len({dataclasses.replace(cell, kernel="") for cell in course.cells}))
    machine = host()

    def judged(samples: Structured, plan: Plan) -> Comparison:
        return judge(
            Sweep(samples=samples, host=machine, plan=plan),
            *(kernel.name for kernel in (first, second, copy)),
            confidence=confidence,
            within=within,
            looks=looks,
        )

    with reporting(progress, f"{len(course.cells)} cells, {looks[0]} to {looks[-1]} placements") as report:
        return in_stages(course, looks, judged, report, deadline=_deadline(seconds))


def _deadline(seconds: float | None) -> float:
    return float("inf") if seconds is None else time.monotonic() + seconds


def _course(
    kernels: Sequence[Kernel],
    sizes: Sequence[int],
    offsets: Sequence[int],
    *,
    mode: str,
    lengths: Mapping[str, Lengths] | None,
    cache: str,
    form: str,
) -> runner.Course:
    """The cells that all three kernels have, and what they are timed on."""
    check_way(mode, cache, form)
    mixes = request.check_mixes(mode, lengths)
    sets = request.sets_for(cache, host())
    mixed = mode == "mixed"
    grid = request.mix_grid(mixes, cache, form) if mixed else request.grid(sizes, offsets, mode, cache, form)
    cells, left_out = request.lay_out(kernels, grid, mixes, sets)
    anybody = [dataclasses.replace(cell, kernel="") for cell in cells]
    shared = [
        cell for cell, asked in zip(cells, anybody, strict=True) if anybody.count(asked) == len(kernels)
    ]
    if not shared:
        raise ValueError("no cell is left to compare: " + "; ".join(left_out))
    return runner.Course(
        kernels=kernels,
        cells=shared,
        left_out=left_out,
        mixes=mixes,
        sets=sets,
        slack=max(*offsets, 1),
        rounds=1,
        seed=0,
        target_ticks=0,
    )


def _check_looks(placements: int | Sequence[int]) -> tuple[int, ...]:
    """The numbers of placements at which is judged, in growing order. ValueError for one that can't be."""
    given = placements if isinstance(placements, Iterable) else [placements]
    looks = tuple(sorted({operator.index(each) for each in given}))
    if not looks:
        raise ValueError("placements must name at least one number, such as 32")
    for each in looks:
        check_placements(each)
    return looks


def _check_enough(looks: Sequence[int], confidence: float, cells: int) -> None:
    """ValueError unless the first look has placements enough for a verdict on each of so many cells."""
    needed = least_values(look_confidence(confidence, cells, 0, len(looks)))
    if looks[0] < needed:
        raise ValueError(
            f"{looks[0]} placements are too few: {cells} cells at {confidence:.0%} need {needed} at least, and "
            "processes don't replace them"
        )


def in_stages(
    course: runner.Course,
    looks: Sequence[int],
    judged: Callable[[Structured, Plan], Comparison],
    report: Progress,
    *,
    deadline: float,
) -> Comparison:
    """Runs the course at looks[0] placements, then its undecided cells at more, until all are decided or none is left.

    Ctrl-C in a later stage ends it with what there is. deadline: of time.monotonic(); no stage begins after it.
    """
    found, before = None, 0
    parts: list[tuple[Structured, Plan]] = []
    for look, n in enumerate(looks):
        cells = course.cells if found is None else _of_kernels(course, undecided(found))
        if not cells or (found is not None and time.monotonic() >= deadline):
            break
        first = looks[look - 1] if look else 0
        stage = dataclasses.replace(course, cells=cells, first=first, placements=n - first)
        steps = [before, before]

        def later(done: int, total: int, steps: list[int] = steps, start: int = before) -> None:
            steps[1] = start + total
            report(start + done, start + total)

        try:
            samples, plan = runner.run(stage, later)
        except KeyboardInterrupt:
            if found is None:
                raise
            samples, plan = parts[-1]
            parts[-1] = (samples, dataclasses.replace(plan, interrupted=True))
        else:
            _check_placed(plan, n - first)
            parts.append((_numbered(samples, cells, course.cells), plan))
        found = judged(*_joined(parts, course))
        before = steps[1]
        if found.sweep.plan.interrupted:
            break
    if found is None:
        raise ValueError("there was no look at any placement")
    return found


def _of_kernels(course: runner.Course, asked: set[Cell]) -> list[Cell]:
    return [cell for cell in course.cells if dataclasses.replace(cell, kernel="") in asked]


def _check_placed(plan: Plan, wanted: int) -> None:
    if plan.placement_note and wanted > 1:
        raise ValueError(f"a comparison needs a compiler to place the code: {plan.placement_note}")


def _numbered(samples: Structured, cells: Sequence[Cell], all_cells: Sequence[Cell]) -> Structured:
    """The samples of some of the cells, with the numbers that these have among all."""
    numbers = np.array([list(all_cells).index(cell) for cell in cells], dtype=samples["cell"].dtype)
    samples["cell"] = numbers[samples["cell"]]
    return samples


def _joined(parts: Sequence[tuple[Structured, Plan]], course: runner.Course) -> tuple[Structured, Plan]:
    """The samples of all stages, and one plan: that of the first with the placements of all."""
    first, last = parts[0][1], parts[-1][1]
    plan = dataclasses.replace(
        first,
        cells=tuple(course.cells),
        rounds_done=last.rounds_done,
        interrupted=last.interrupted,
        placements=sum(plan.placements for _, plan in parts),
        places={
            name: tuple(place for _, plan in parts for place in plan.places[name]) for name in first.places
        },
    )
    return np.concatenate([samples for samples, _ in parts]), plan
