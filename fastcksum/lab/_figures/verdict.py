"""Faster, slower, the same or unresolved: what the placements of two kernels say about one cell.

The unit of evidence is the placement: rounds and processes of one build at one place agree with each other however
wrong that place is. Placements of a and b are paired by where in a line of 64 bytes the kernel and its loops lie, so
that what a place does to both alike cancels.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from .intervals import interval, least_values, shared_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .intervals import Interval

Verdict: TypeAlias = Literal["faster", "slower", "same", "unresolved"]
VERDICTS: Final[tuple[Verdict, ...]] = ("faster", "slower", "same", "unresolved")
# How much of the error each look at the placements may spend, out of so many looks: later ones see more.
SHARES: Final = {1: (1.0,), 2: (0.4, 0.6), 3: (0.2, 0.3, 0.5)}
WITHIN: Final = 0.01
# Each so many placements hold each pair of residues once.
SQUARE: Final = 16
_LINE: Final = 64
_STEP: Final = 16


class Decision(NamedTuple):
    """What a cell's placements say: log ratio of b by a with its interval, how far two copies of a lie apart, the
    verdict.

    interval is None, and the verdict "unresolved", where too few placements are left; reason says so.
    """

    verdict: Verdict
    interval: Interval | None
    floor: float
    placements: int
    reason: str


def shares_of(looks: int) -> tuple[float, ...]:
    """The share of the error of each look: later ones have more to tell, and get more."""
    return SHARES.get(looks) or tuple(2 * (look + 1) / (looks * (looks + 1)) for look in range(looks))


def decide(
    ratios: Sequence[float],
    floors: Sequence[float],
    confidence: float,
    *,
    within: float = WITHIN,
    asked: int = 0,
) -> Decision:
    """The verdict on log ratios of b by a, one a placement, beside those of a second copy of a by a.

    confidence: of this cell at this look. within: a difference that is none. asked: how many placements were measured,
    for the reason where some are lost.
    """
    if min(len(ratios), len(floors)) < least_values(confidence):
        return Decision("unresolved", None, math.nan, len(ratios), _too_few(len(ratios), asked, confidence))
    found = interval(ratios, confidence)
    floor = abs(interval(floors, confidence).middle)
    same = math.log1p(within)
    if -same <= found.low and found.high <= same:
        return Decision("same", found, floor, len(ratios), "")
    if found.holds(0.0):
        return Decision("unresolved", found, floor, len(ratios), "")
    if abs(found.middle) <= floor:
        return Decision("unresolved", found, floor, len(ratios), "two copies of the first lie as far apart")
    return Decision("faster" if found.middle < 0 else "slower", found, floor, len(ratios), "")


def _too_few(left: int, asked: int, confidence: float) -> str:
    lost = (
        f"{asked - left} of {asked} placements have no sample without a flag, and {left}"
        if asked > left
        else f"{left}"
    )
    return f"{lost} are too few: {least_values(confidence)} are needed"


def look_confidence(confidence: float, cells: int, look: int, looks: int) -> float:
    """The confidence of one cell at look number `look` (from 0), so that all cells and looks together keep it."""
    return shared_out(confidence, cells, shares_of(looks)[look])


def times(ratio: float) -> str:
    """A ratio of times in words: "1.25x faster" below 1, "1.25x slower" above."""
    factor = 1 / ratio if ratio < 1 else ratio
    return f"{factor:.{3 if factor < 1.1 else 2}f}x {'faster' if ratio < 1 else 'slower'}"


def words(verdict: Verdict, ratio: float, within: float = WITHIN, reason: str = "") -> str:
    """The verdict as a reader wants it: "1.25x faster", "same within 1 %", "unresolved: ..."."""
    if verdict in {"faster", "slower"}:
        return times(ratio)
    if verdict == "same":
        return f"same within {within * 100:g} %"
    return f"unresolved: {reason}" if reason else "unresolved"


def log_ratios(
    a: Mapping[int, float],
    b: Mapping[int, float],
    places_of_a: Sequence[tuple[int, int]] = (),
    places_of_b: Sequence[tuple[int, int]] = (),
) -> list[float]:
    """The log of b by a of each pair of placements that has both: placement -> ticks, and all places by number."""
    numbers = sorted(set(a) | set(b))
    pairs = pair_up(numbers, places_of_a, places_of_b)
    return [math.log(b[j] / a[i]) for i, j in pairs if i in a and j in b]


def pair_up(
    numbers: Sequence[int], places_of_a: Sequence[tuple[int, int]], places_of_b: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Which placement of a is held against which of b: equal residues within each square, the rest in order."""
    pairs: list[tuple[int, int]] = []
    for square in sorted({number // SQUARE for number in numbers}):
        within = [number for number in numbers if number // SQUARE == square]
        of_a = sorted(within, key=lambda number: (_residues(places_of_a, number), number))
        of_b = sorted(within, key=lambda number: (_residues(places_of_b, number), number))
        pairs += zip(of_a, of_b, strict=True)
    return pairs


def _residues(places: Sequence[tuple[int, int]], number: int) -> tuple[int, ...]:
    return tuple(at % _LINE // _STEP for at in places[number]) if number < len(places) else ()
