"""What a race found, as text for a mail and as JSON for a program."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from fastcksum.lab._machine.facts import labelled_lines, tick_name

from .contests import by_case, in_mode, lost, means, size_text
from .record import MODES, RANDOM_OFFSET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .contests import Contest, Mean, Single
    from .result import Sweep
    from .rows import Row

WIDTH = 100


def ticks_text(ticks: float) -> str:
    """Ticks with as many decimals as mean something."""
    return f"{ticks:.1f}" if ticks < 10000 else f"{ticks:.0f}"


def text(
    sweep: Sweep,
    rows: Sequence[Row],
    chosen: str,
    *,
    table: Sequence[Contest],
    single: Sequence[Single],
    peers: int,
) -> str:
    """Host, cells, means, single peers, lost cells; at most 100 columns."""
    parts = [
        [*sweep.host.to_lines(WIDTH), *_how(sweep, chosen, peers)],
        *(_cell_lines(mode, chosen, [c for c in table if in_mode(mode)(c)]) for mode in MODES),
        _mean_lines(means(table)),
        _single_lines(chosen, single),
        _lost_lines(lost(table), len(table)),
        notes(sweep, rows),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _how(sweep: Sweep, chosen: str, peers: int) -> list[str]:
    plan = sweep.plan
    pin = "not pinned: the system refused" if plan.processor is None else f"pinned to CPU {plan.processor}"
    cells = len({(cell.mode, cell.size, cell.distribution, cell.offset) for cell in plan.cells})
    done = f"{plan.rounds_done} of {plan.rounds}" if plan.interrupted else str(plan.rounds)
    how = (
        f"{len(plan.kernels)} kernels in {cells} cells; {plan.placements} placements of {done} rounds, each "
        f"round over all cells of all kernels in another order (seed {plan.seed}); {pin}; {plan.pages}; {plan.started}"
    )
    figures = (
        f"{tick_name(sweep.host.unit)} a call, gross: the median over the placements of the minima. "
        f"Ratio: {chosen} by the best of {peers} peers in that cell; "
        f"below 1 {chosen} is faster"
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
        f"{mean.what:<26} {ratio_text(mean.ratio)} {mean.cells:>6} {mean.lost:>6}"
        for mean in found
        if mean.cells
    ]
    title = "### Geometric means of the ratios to the best peer of each cell"
    return [title, f"{'':<26} {'ratio':>6} {'cells':>6} {'lost':>6}", *lines]


def _single_lines(chosen: str, found: Sequence[Single]) -> list[str]:
    if not found:
        return []
    lines = [
        f"{s.peer:<26} {ratio_text(s.throughput):>10} {ratio_text(s.latency):>8} {ratio_text(s.mixed):>8} "
        f"{ratio_text(s.all):>8} {s.cells:>6}"
        for s in found
    ]
    head = f"{'':<26} {'throughput':>10} {'latency':>8} {'mixed':>8} {'all':>8} {'cells':>6}"
    return [f"### {chosen} by each single peer, geometric means", head, *lines]


def _lost_lines(found: Sequence[Contest], cells: int) -> list[str]:
    if not found:
        return [f"### Lost: none of {cells} cells"]
    lines = [f"{contest.case!s:<30} {contest.ratio:>6.2f}  {contest.peer}" for contest in found]
    return [f"### Lost: {len(found)} of {cells} cells", *lines]


def ratio_text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def notes(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    plan = sweep.plan
    notes = [f"Left out: {sentence}." for sentence in plan.left_out]
    notes += [
        f"No figure at {case}, since the thread was disturbed in every sample: {', '.join(who)}."
        for case, ticks in by_case(rows).items()
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


def as_json(chosen: str, table: Sequence[Contest], single: Sequence[Single]) -> dict[str, Any]:
    """What race adds to the sweep for a program to read; a figure that isn't known is None."""
    return {
        "chosen": chosen,
        "contests": [_plain(contest._asdict()) for contest in table],
        "means": [_plain(mean._asdict()) for mean in means(table)],
        "singles": [_plain(each._asdict()) for each in single],
        "lost": [_plain(contest._asdict()) for contest in lost(table)],
    }


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in fields.items()
    }
