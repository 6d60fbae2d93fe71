"""The table that reviewers mail: DPDK's columns, with all that the first reply would ask for around them."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcksum.lab._machine.facts import labelled_lines, tick_name

from . import stats
from .core import core_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastcksum.lab._machine.facts import Host

    from .record import Plan, Structured
    from .rows import Row

WIDTH = 100


def text(rows: list[Row], samples: Structured, host: Host, plan: Plan) -> str:
    """Host, compiler, flags and tick above; one table a kernel; the overhead and what was left out below."""
    overhead = [row for row in rows if row.kernel == "nothing"]
    parts = [_head(rows, samples, host, plan)]
    parts += [
        _kernel_part(facts, [row for row in rows if row.kernel == facts["name"]])
        for facts in plan.kernels
        if facts["name"] != "nothing"
    ]
    parts += [_overhead_part(overhead)]
    parts += [notes(sum(row.dropped for row in rows), len(samples), host, plan)]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def table_lines(rows: list[Row]) -> list[str]:
    """DPDK's four columns: a head and one line a row, with a remark behind where a figure needs one."""
    if not rows:
        return []
    unit = tick_name(rows[0].unit)
    head = f"{'Alignment':<10} {'Block size':>10} {unit + '/block':>19} {unit + '/byte':>16}"
    return [head, *(_table_line(row) for row in rows)]


def alignment(offset: int) -> str:
    """What DPDK calls the two offsets that it times; the others by their number."""
    return {0: "Aligned", 1: "Unaligned"}.get(offset, f"+{offset}")


def _table_line(row: Row) -> str:
    per_byte = "-" if row.size == 0 and row.distribution == "fixed" else f"{row.ticks_per_byte:.2f}"
    figures = f"{row.ticks_per_call:>19.1f} {per_byte:>16}"
    where = f"{alignment(row.offset):<10} {row.size:>10}"
    if row.distribution != "fixed":
        where = f"{'Dependent' if 'dependent' in row.mode else 'Random':<10} {row.distribution:>10}"
    line = f"{where} {figures}"
    remarks = ", ".join(_remarks(row))
    return f"{line}  {remarks}" if remarks else line


def _remarks(row: Row) -> list[str]:
    """What a reader must know to believe the figure, as short as can be."""
    remarks = []
    if not math.isnan(row.placement_low):
        remarks.append(f"{row.placement_low:.1f} to {row.placement_high:.1f}")
    if row.badge != "clean":
        remarks.append(f"{row.badge}, median {row.error:+.0%}" if row.samples else "no sample left")
    if row.net_ticks_per_call is not None and math.isnan(row.net_ticks_per_call) and row.samples:
        remarks.append("net invalid")
    return remarks


def _kernel_part(facts: dict[str, Any], rows: list[Row]) -> list[str]:
    if not rows:
        return []
    return [*_title(facts), *table_lines(rows)]


def _title(facts: dict[str, Any]) -> list[str]:
    """The kernel's name and what it is; for one compiled by the user, how."""
    lines = wrapped(f"### {facts['name']}: {facts['summary']}")
    command = facts.get("command")
    if command:
        lines += labelled_lines("Built by", shown_command(command), WIDTH)
    return lines


def _overhead_part(rows: list[Row]) -> list[str]:
    if not rows:
        return ["### Overhead: not measured (the yardstick `nothing` was not among the kernels)"]
    title = "### nothing: the overhead, an empty function in the same loop; not subtracted above"
    return [*wrapped(title), *table_lines(rows)]


def measured_lines(plan: Plan) -> list[str]:
    """What was measured, how often, in which order, where and when."""
    cell = plan.cells[0]
    pin = "not pinned: the system refused" if plan.processor is None else f"pinned to CPU {plan.processor}"
    done = f"{plan.rounds_done} of {plan.rounds}" if plan.interrupted else str(plan.rounds)
    many = plan.placements > 1 or plan.processes > 1
    places = f" at each of {plan.placements} placements in {plan.processes} process" if many else ""
    how = (
        f"{cell.mode}, cache {cell.cache}, form {cell.form}; {done} rounds over {len(plan.cells)} cells{places}"
        f"{'es' if plan.processes > 1 else ''}, each in another order (seed {plan.seed}); a visit is {plan.warm_ticks} "
        f"ticks of warm-up and {plan.batches} batches of {plan.target_ticks} ticks or more; {pin}; {plan.started}"
    )
    return labelled_lines("Measured", how, WIDTH)


def shown_command(words: Sequence[str]) -> str:
    """A compiler's command with folders by their last name: a mail is no place for private paths."""
    before = ["", *words]
    return " ".join(
        word.rsplit("/", 1)[-1] if last == "-I" else word for last, word in zip(before, words, strict=False)
    )


def built_lines(label: str, facts: dict[str, Any], host: Host) -> list[str]:
    """A kernel's name and what it is, and the compiler and flags that it was built by; folders by their last name."""
    words = facts.get("command")
    how = shown_command(words) if words else f"{host.compiler} {host.flags}"
    return labelled_lines(label, f"{facts['name']}: {facts['summary']}; built by {how}", WIDTH)


def _head(rows: list[Row], samples: Structured, host: Host, plan: Plan) -> list[str]:
    clock = core_clock(samples, host.unit)
    badges = ", ".join(f"{count} {name}" for name, count in _count_badges(rows).items())
    figures = (
        f"the minimum over the rounds, gross{_conditions(rows, clock)}. A remark names a cell that is not "
        f"clean and how far its median lies above; of {len(rows)} cells {badges}"
    )
    return [
        *host.to_lines(WIDTH),
        *measured_lines(plan),
        *labelled_lines("Figures", figures, WIDTH),
        *labelled_lines("Core clock", _core_clock(rows, clock, host.unit), WIDTH),
    ]


def _conditions(rows: list[Row], clock: stats.Floats) -> str:
    """What was done to the samples, which have these clocks, before the minimum was taken."""
    words = "" if np.isnan(clock).all() else ", at the median core clock"
    aside = len(clock) - sum(row.samples + row.dropped for row in rows)
    if aside:
        words += f", without {aside} of {len(clock)} samples beside which somebody shared the core"
    return words


def _count_badges(rows: list[Row]) -> dict[str, int]:
    counts = {badge: sum(row.badge == badge for row in rows) for badge in stats.BADGES}
    return {badge: count for badge, count in counts.items() if count}


def _core_clock(rows: list[Row], clock: stats.Floats, unit: str) -> str:
    """How many core cycles a tick was, over the visits."""
    if all(math.isnan(row.est_core_cycles_per_byte) for row in rows):
        return "unknown: the add and the multiply chain don't agree on it"
    low, middle, high = np.nanquantile(clock, [0.25, 0.5, 0.75])
    return (
        f"one {tick_name(unit).removesuffix('s')} was about {middle:.2f} core cycles "
        f"({low:.2f} to {high:.2f} in the middle half of the visits; estimated from dependent adds)"
    )


def notes(dropped: int, n_samples: int, host: Host, plan: Plan) -> list[str]:
    """What a reader must know of the samples, the code's places, the buffers and the end, as lines."""
    notes = [f"Left out: {sentence}." for sentence in plan.left_out]
    if dropped:
        notes.append(
            f"Dropped: {dropped} of {n_samples} samples, in which the thread migrated, was switched out or "
            "took a page fault."
        )
    notes.append(_placement_note(plan))
    notes += _set_notes(host, plan)
    if plan.interrupted:
        notes.append(
            f"Interrupted: {plan.rounds_done} of {plan.rounds} rounds were done; these are their figures."
        )
    return [line for note in notes for line in wrapped(note)]


def _placement_note(plan: Plan) -> str:
    """Where the code lay, which is the largest error at small sizes."""
    if plan.placements == 1 and plan.processes == 1:
        why = f" ({plan.placement_note})" if plan.placement_note else ""
        return (
            f"Placement: 1, the code lies where the linker put it{why}. The same code elsewhere may differ by a factor "
            "at small sizes."
        )
    return (
        f"Placement: each kernel and its loops linked at {plan.placements} offsets in a page, in {plan.processes} "
        f"process{'' if plan.processes == 1 else 'es'}; a figure is the pseudomedian (the median of the means "
        "of all pairs) over these of the minima, the range stands behind it."
    )


def _set_notes(host: Host, plan: Plan) -> list[str]:
    """What the buffers and the lengths were, where they weren't one hot buffer of one length."""
    used = {cell.cache for cell in plan.cells}
    notes = [
        f"Lengths '{name}': {_mix_text(mix)}, at random offsets 0 to 1023, in another order each round."
        for name, mix in plan.lengths.items()
    ]
    sets = ", ".join(f"{name} {size} bytes" for name, size in plan.set_bytes.items() if name in used)
    if sets:
        notes.append(
            f"Set: {sets} in buffers that share no cache line, called in a random order; {plan.pages}."
        )
    if "cold" in used:
        notes.append(
            f"Cold: flushed before each call, one call a sample: the figure holds an empty pair of readings "
            f"({host.pair}) and is a multiple of the counter's step ({host.step:g})."
        )
    return notes


def _mix_text(mix: Any) -> str:
    if isinstance(mix, dict):
        return ", ".join(f"{count} of {length} bytes" for length, count in mix.items())
    low, high = mix
    return f"any of {low} to {high} bytes alike"


def wrapped(sentence: str) -> list[str]:
    """The sentence in lines of at most WIDTH columns, all but the first indented."""
    return textwrap.wrap(sentence, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
