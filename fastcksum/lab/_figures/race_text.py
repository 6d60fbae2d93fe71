"""What a race found, as text for a mail and as JSON for a program."""

from __future__ import annotations

import math
import string
import textwrap
from typing import TYPE_CHECKING, Any, Final

from fastcksum.lab._machine.facts import labelled_lines, tick_name

from .contests import CONFIDENCE, Case, in_mode, lost, means, size_text
from .race_file import About
from .record import MODES, RANDOM_OFFSET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastcksum.lab._machine.facts import Host

    from .contests import Contest, Copies, Field, Mean, Single
    from .result import Sweep

WIDTH: Final = 100


def ticks_text(ticks: float) -> str:
    """Ticks with as many decimals as mean something."""
    return f"{ticks:.1f}" if ticks < 10000 else f"{ticks:.0f}"


def text(
    host: Host,
    about: About,
    field: Field,
    *,
    table: Sequence[Contest],
    single: Sequence[Single],
    copy: Copies | None,
) -> str:
    """Host, cells, means, single peers, lost cells, the second copy; at most 100 columns."""
    letters = _letters(field)
    parts = [
        [*host.to_lines(WIDTH), *_how(host, about, field, letters)],
        *(_cell_lines(mode, field.chosen, [c for c in table if in_mode(mode)(c)], letters) for mode in MODES),
        _mean_lines(means(table)),
        _single_lines(field.chosen, single),
        _lost_lines(lost(table), len(table), letters),
        _ours_lines(field.chosen, table),
        _copy_lines(field.chosen, copy),
        _note_lines(about.notes),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def about_of(sweep: Sweep) -> About:
    """How the sweep of a race was measured, and what a reader must know to believe its figures."""
    plan = sweep.plan
    rows = sweep.table()
    pin = "not pinned: the system refused" if plan.processor is None else f"pinned to CPU {plan.processor}"
    cells = len({(cell.mode, cell.size, cell.distribution, cell.offset) for cell in plan.cells})
    done = f"{plan.rounds_done} of {plan.rounds}" if plan.interrupted else str(plan.rounds)
    how = (
        f"{len(plan.kernels)} kernels and builds in {cells} cells; {plan.placements} placements of {done} rounds, each "
        f"round over all cells of all kernels in another order (seed {plan.seed}); {pin}; {plan.pages}; {plan.started}"
    )
    notes = [f"Left out: {sentence}." for sentence in plan.left_out]
    missing: dict[str, list[str]] = {}
    for row in rows:
        if math.isnan(row.ticks_per_call):
            case = Case(row.mode, row.size, row.distribution, row.offset)
            missing.setdefault(str(case), []).append(row.kernel)
    notes += [
        f"No figure at {case}, since the thread was disturbed in every sample: {', '.join(who)}."
        for case, who in missing.items()
    ]
    dropped = sum(row.dropped for row in rows)
    if dropped:
        notes.append(
            f"Dropped: {dropped} of {len(sweep.samples)} samples, in which the thread migrated, was switched out or "
            "took a page fault."
        )
    noisy = sum(row.badge != "clean" for row in rows)
    notes.append(f"Of {len(rows)} figures {noisy} are not clean: they don't repeat, or the core was shared.")
    if plan.placement_note:
        notes.append(f"Placement: 1, the code lies where the linker put it ({plan.placement_note}).")
    if plan.interrupted:
        notes.append("Interrupted: these are the figures of the rounds that were done.")
    return About(how=how, started=plan.started, interrupted=plan.interrupted, notes=tuple(notes))


def _letters(field: Field) -> dict[str, str]:
    """A letter for each build, so that a cell fits in a line."""
    builds = dict.fromkeys(field.runners[name].build for name in field.peers)
    return dict(zip(builds, string.ascii_letters, strict=False))


def _how(host: Host, about: About, field: Field, letters: Mapping[str, str]) -> list[str]:
    peers = len({field.runners[name].kernel for name in field.peers})
    figures = (
        f"{tick_name(host.unit)} a call, gross: the pseudomedian (the median of the means of all pairs) over the "
        f"placements of the minima. Ratio: {field.chosen} by the best of {peers} peers in that cell, each in its best "
        f"build there; below 1 {field.chosen} is faster. The peer is chosen on one half of the placements and "
        "judged on the other, and the other way round. Won and lost: the interval of the ratio "
        f"({CONFIDENCE:.0%} in each cell) lies on one side of 1, and the ratio is further from it than two "
        "copies of one code are"
    )
    builds = "; ".join(f"{letter} {build}" for build, letter in letters.items())
    return [
        *labelled_lines("Measured", about.how, WIDTH),
        *labelled_lines("Figures", figures, WIDTH),
        *(labelled_lines("Builds", builds, WIDTH) if builds else []),
    ]


def _peer(contest: Contest, letters: Mapping[str, str]) -> str:
    letter = letters.get(contest.build, "")
    return f"{contest.peer} {letter}" if letter else contest.peer


def _cell_lines(mode: str, chosen: str, table: Sequence[Contest], letters: Mapping[str, str]) -> list[str]:
    if not table:
        return []
    head = f"{'size':>9} {'offset':>7} {'ticks':>10}   {'best peer':<28} {'ratio':>6} {'interval':>14}"
    return [f"### {mode}: {chosen}", head, *(_cell_line(contest, letters) for contest in table)]


def _cell_line(contest: Contest, letters: Mapping[str, str]) -> str:
    mixed = contest.offset == RANDOM_OFFSET
    where = contest.distribution if mixed else size_text(contest.size)
    offset = f"+{contest.offset}" if not mixed else "dep." if contest.mode == "mixed dependent" else "ind."
    peer = f"{ticks_text(contest.peer_ticks):>9} {_peer(contest, letters)}"
    return (
        f"{where:>9} {offset:>7} {ticks_text(contest.ticks):>10} {peer:<30} {contest.ratio:>6.2f} "
        f"{_interval(contest.low, contest.high, 2):>14} "
        f"{contest.verdict}"
    )


def _interval(low: float, high: float, decimals: int) -> str:
    return "" if math.isnan(low) else f"{low:.{decimals}f} to {high:.{decimals}f}"


def _mean_lines(found: Sequence[Mean]) -> list[str]:
    lines = [
        f"{mean.what:<26} {ratio_text(mean.ratio):>6} {_interval(mean.low, mean.high, 3):>16} {mean.cells:>6} "
        f"{mean.won:>6} {mean.lost:>6} {mean.unresolved:>11}"
        for mean in found
        if mean.cells
    ]
    title = "### Geometric means of the ratios to the best peer of each cell"
    return [
        title,
        f"{'':<26} {'ratio':>6} {'interval':>16} {'cells':>6} {'won':>6} {'lost':>6} {'unresolved':>11}",
        *lines,
    ]


def _single_lines(chosen: str, found: Sequence[Single]) -> list[str]:
    if not found:
        return []
    lines = [
        f"{s.peer:<26} {ratio_text(s.throughput):>10} {ratio_text(s.latency):>8} {ratio_text(s.mixed):>8} "
        f"{ratio_text(s.all):>8} {s.cells:>6}"
        for s in found
    ]
    head = f"{'':<26} {'throughput':>10} {'latency':>8} {'mixed':>8} {'all':>8} {'cells':>6}"
    return [f"### {chosen} by each single peer in its best build, geometric means", head, *lines]


def _lost_lines(found: Sequence[Contest], cells: int, letters: Mapping[str, str]) -> list[str]:
    if not found:
        return [f"### Lost: none of {cells} cells"]
    lines = [
        f"{contest.case!s:<30} {contest.ratio:>6.2f}  {_interval(contest.low, contest.high, 2)}  "
        f"{_peer(contest, letters)}"
        for contest in found
    ]
    return [f"### Lost: {len(found)} of {cells} cells", *lines]


def _ours_lines(chosen: str, table: Sequence[Contest]) -> list[str]:
    """Where another of ours has a smaller figure; whether it is a difference is not asked."""
    ahead = [contest for contest in table if contest.fastest_ticks < contest.ticks]
    if not ahead:
        return []
    lines = [
        f"{contest.case!s:<30} {ticks_text(contest.ticks):>10} {ticks_text(contest.fastest_ticks):>10}  "
        f"{contest.fastest}"
        for contest in ahead
    ]
    return [f"### Where another of ours takes less than {chosen}: {len(ahead)} of {len(table)} cells", *lines]


def _copy_lines(chosen: str, found: Copies | None) -> list[str]:
    if found is None:
        return []
    said = f"unresolved in {found.cells - found.resolved} of {found.cells} cells, ratio {ratio_text(found.ratio)}"
    return [f"### A second copy of {chosen}, as a peer: {said}"]


def ratio_text(value: float) -> str:
    """A ratio with three decimals, "-" for none."""
    return "-" if math.isnan(value) else f"{value:.3f}"


def _note_lines(notes: Sequence[str]) -> list[str]:
    return [
        line
        for note in notes
        for line in textwrap.wrap(note, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    ]


def as_json(
    chosen: str, table: Sequence[Contest], single: Sequence[Single], copy: Copies | None
) -> dict[str, Any]:
    """What race adds to the sweep for a program to read; a figure that isn't known is None."""
    return {
        "chosen": chosen,
        "contests": [_contest(contest) for contest in table],
        "means": [_plain(mean._asdict()) for mean in means(table)],
        "singles": [_plain(each._asdict()) for each in single],
        "lost": [_contest(contest) for contest in lost(table)],
        "copies": None if copy is None else _plain(copy._asdict()),
    }


def _contest(contest: Contest) -> dict[str, Any]:
    return {name: value for name, value in _plain(contest._asdict()).items() if name != "logs"}


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in fields.items()
    }
