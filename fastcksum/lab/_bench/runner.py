"""The one runner: a course becomes samples and the plan that they belong to."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from fastcksum.lab._figures.record import Cell, Plan, with_columns

from . import job as jobs
from . import warm
from .links import link_all
from .process import run_in_process
from .request import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastcksum._kernel import Kernel
    from fastcksum._progress import Progress
    from fastcksum.lab._figures.record import Lengths, Structured


# How often a cell is visited anew within a round where its visit was disturbed.
REVISITS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What is run: every cell of the kernels at each placement, in so many rounds of each process.

    first: the number of the first placement: more of them can be added to those that were measured. reach: how many
    placements, counted from 0, a cell is timed at, by its size; sizes that it lacks are timed at all. left_out:
    sentences about cells that were asked for and are not run. slack: room for an offset in each of DPDK's blocks.
    """

    kernels: Sequence[Kernel]
    cells: Sequence[Cell]
    rounds: int
    seed: int
    target_ticks: int
    batches: int = warm.BATCHES
    placements: int = 1
    first: int = 0
    processes: int = 1
    left_out: Sequence[str] = ()
    mixes: Mapping[str, Lengths] = field(default_factory=dict)
    sets: Mapping[str, int] = field(default_factory=dict)
    reach: Mapping[int, int] = field(default_factory=dict)
    slack: int = 1
    huge_pages: bool = False


def run(course: Course, report: Progress) -> tuple[Structured, Plan]:
    """Links, runs, and joins what each process measured. Ctrl-C after the first whole round ends it and keeps those
    done.

    report is called with (steps done, steps): a kernel that was linked, where there are several placements, or a round.
    ValueError for a kernel whose sum of one of its cells is wrong.
    """
    linking = len(course.kernels) if course.placements > 1 else 0
    steps = linking + course.processes * course.placements * course.rounds
    links, places, note = link_all(
        course.kernels,
        course.placements,
        course.seed,
        first=course.first,
        report=lambda linked: report(linked, steps),
    )
    job = _job_of(course, links)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    outcomes = _run_all(
        job,
        course.processes,
        lambda done: report(linking + done, linking + course.processes * job.all_rounds),
    )
    last = outcomes[-1]
    whole, part = divmod(last.rounds_done, len(job.placements))
    plan = Plan(
        kernels=tuple(facts_of(kernel) for kernel in course.kernels),
        cells=tuple(course.cells),
        mean_lengths=tuple(last.mean_lengths),
        left_out=tuple(course.left_out),
        lengths={name: dict(mix) if isinstance(mix, Mapping) else mix for name, mix in course.mixes.items()},
        set_bytes=dict(course.sets),
        pages=last.pages,
        rounds=course.rounds,
        rounds_done=whole or 1,
        interrupted=last.rounds_done < job.all_rounds or len(outcomes) < course.processes,
        placements=len(job.placements) if whole or len(outcomes) > 1 else part,
        placement_note=note,
        places=places,
        processes=len(outcomes),
        seed=course.seed,
        target_ticks=job.target_ticks,
        warm_ticks=job.warm_ticks,
        batches=job.batches,
        processor=last.processor,
        started=started,
    )
    return join_samples([outcome.samples for outcome in outcomes], course.cells), plan


def _job_of(course: Course, links: dict[str, list[jobs.Link]]) -> jobs.Job:
    """What each process is given, but for its number."""
    everywhere = course.first + course.placements
    return jobs.Job(
        links=links,
        first=course.first,
        cells=list(course.cells),
        reach=[course.reach.get(cell.size, everywhere) for cell in course.cells],
        sets=dict(course.sets),
        mixes=dict(course.mixes),
        slack=course.slack,
        rounds=course.rounds,
        seed=course.seed,
        process=0,
        target_ticks=course.target_ticks,
        warm_ticks=warm.warm_ticks(course.target_ticks),
        batches=course.batches,
        revisits=REVISITS,
        huge_pages=course.huge_pages,
    )


def _run_all(job: jobs.Job, processes: int, report: Callable[[int], None]) -> list[jobs.Outcome]:
    """The job in this process, or in so many others one after another; those done when Ctrl-C came."""
    if processes == 1:
        return [jobs.run(job, lambda done, _: report(done))]
    outcomes: list[jobs.Outcome] = []
    try:
        for process in range(processes):
            before = process * job.all_rounds
            outcomes.append(
                run_in_process(dataclasses.replace(job, process=process), partial(_later, report, before))
            )
            if outcomes[-1].rounds_done < job.all_rounds:
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
    return outcomes


def _later(report: Callable[[int], None], before: int, done: int, _: int) -> None:
    """Reports the rounds of a process behind those of the processes before it."""
    report(before + done)


def join_samples(of_processes: Sequence[Structured], cells: Sequence[Cell]) -> Structured:
    """The samples of all processes, with the process and the columns of their cell beside them."""
    samples = np.concatenate(of_processes)
    process = np.repeat(np.arange(len(of_processes), dtype=np.uint32), [len(each) for each in of_processes])
    of_cells = {
        each.name: np.array([getattr(cell, each.name) for cell in cells])[samples["cell"]]
        for each in dataclasses.fields(Cell)
    }
    return with_columns(samples, process=process, **of_cells)
