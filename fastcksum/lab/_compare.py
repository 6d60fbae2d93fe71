"""Two kernels against each other: which one is faster, where, by how much, how sure; or "no difference resolved".

The unit of evidence is not a round but a (process, placement) pair: rounds of one build at one place agree with each
other however wrong that place is. Each unit gives the log ratio of the minima of b and a. The first kernel is linked a
second time at other places, and the ratio of those two copies, which are the same code, says what the method makes of
no difference at all: the noise floor.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ._bench.places import nearest
from ._bench.request import KernelLike, resolve
from ._figures import signtest
from ._figures.record import DPDK_SIZES, RANDOM_OFFSET
from ._figures.rows import units_of
from ._sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import SupportsIndex

    import pandas as pd

    from ._figures.record import Cell
    from ._figures.result import Sweep
    from ._figures.rows import Unit

CONFIDENCE: Final = 0.95
PLACEMENTS: Final = 32
LEAST_UNITS: Final = 10
# Minima of 60 rounds find a difference of 2 % three times in four on a busy virtual machine, those of 240 in 19 of 20.
ROUNDS: Final = 80
COPY: Final = " (second copy)"


class Ratio(NamedTuple):
    """One cell of a comparison.

    ratio is ticks of b by ticks of a, the median over the units; low and high its interval, sure in all cells together.
    noise_floor is how far from 1 the interval of two copies of a reaches, as a factor >= 1. verdict says it in words.
    """

    size: int
    distribution: str
    offset: int
    mode: str
    ratio: float
    low: float
    high: float
    noise_floor: float
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """What compare() found; sweep holds every sample of a, b and the second copy of a."""

    a: str
    b: str
    confidence: float
    units: int
    ratios: tuple[Ratio, ...]
    sweep: Sweep

    def table(self) -> list[Ratio]:
        """One Ratio a cell."""
        return list(self.ratios)

    def frame(self) -> pd.DataFrame:
        """The table as a DataFrame."""
        import pandas as pd  # noqa: PLC0415 - an extra, and slow to import

        return pd.DataFrame(self.ratios, columns=Ratio._fields)

    def text(self) -> str:
        """The verdicts as a table of at most 100 columns, below the host's facts."""
        lines = [
            *self.sweep.host.to_lines(100),
            "",
            f"{self.b} compared with {self.a}: ticks of the second by ticks of the first; below 1 it is faster.",
            (
                f"{self.units} units (processes x placements) a cell; intervals by the sign test, {self.confidence:.0%} sure "
                f"in all {len(self.ratios)} cells"
            ),
            "together (Bonferroni). Floor: what two copies of the first kernel differ by.",
            "",
            f"{'size':>10} {'offset':>7} {'ratio':>7} {'interval':>17} {'floor':>7}  verdict",
            *(_line(ratio) for ratio in self.ratios),
        ]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text()


def compare(
    a: KernelLike,
    b: KernelLike,
    sizes: SupportsIndex | Iterable[SupportsIndex] = DPDK_SIZES,
    offsets: SupportsIndex | Iterable[SupportsIndex] = (0, 1),
    *,
    placements: int = PLACEMENTS,
    processes: int = 1,
    confidence: float = CONFIDENCE,
    rounds: int = ROUNDS,
    **as_in_sweep: Any,
) -> Comparison:
    """Measures a, b and a second copy of a together, and says for each cell whether b is faster or slower than a.

    placements x processes are the units, at least 10 of them; more placements are taken where so many cells need more
    for the confidence. confidence: of all verdicts together. Everything else is as in sweep().

    ValueError for fewer units; CompileError (a ValueError) where there is no compiler to place the code with.
    """
    first, second = resolve(a), resolve(b)
    if placements * processes < LEAST_UNITS:
        raise ValueError(
            f"placements x processes must be at least {LEAST_UNITS}, not {placements} x {processes}: "
            "fewer units can't tell a difference from luck"
        )
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be in 0.5..1, below 1, not {confidence}")
    if second.name == first.name:
        second = dataclasses.replace(second, name=f"{second.name} (b)")
    copy = dataclasses.replace(first, name=first.name + COPY)
    cells = _count_cells(sizes, offsets, as_in_sweep)
    needed = signtest.units_needed(signtest.bonferroni(confidence, cells))
    placements = nearest(max(placements, math.ceil(needed / processes)))
    measured = sweep(
        [first, second, copy],
        sizes,
        offsets,
        placements=placements,
        processes=processes,
        rounds=rounds,
        **as_in_sweep,
    )
    if measured.plan.placements < placements:
        raise ValueError(f"a comparison needs a compiler to place the code: {measured.plan.placement_note}")
    return judge(measured, first.name, second.name, copy.name, confidence)


def judge(measured: Sweep, a: str, b: str, copy: str, confidence: float = CONFIDENCE) -> Comparison:
    """The Comparison of kernels in a sweep that was measured; copy is the second one of a. No clock is read."""
    cells = measured.plan.cells
    units = units_of(measured.samples, len(cells), measured.host.unit)
    by_cell = {
        name: {
            dataclasses.replace(cell, kernel=""): _minima(of_cell)
            for cell, of_cell in zip(cells, units, strict=True)
            if cell.kernel == name
        }
        for name in (a, b, copy)
    }
    shared = [cell for cell in by_cell[a] if cell in by_cell[b]]
    each = signtest.bonferroni(confidence, len(shared))
    ratios = [
        _ratio(cell, by_cell[a][cell], by_cell[b][cell], by_cell[copy][cell], confidence=each, names=(a, b))
        for cell in shared
    ]
    return Comparison(
        a, b, confidence, min((len(m) for m in by_cell[a].values()), default=0), tuple(ratios), measured
    )


def _minima(units: Sequence[Unit]) -> dict[tuple[int, int], float]:
    """The minimum of each unit that has one."""
    return {
        (unit.process, unit.placement): unit.summary.minimum
        for unit in units
        if not math.isnan(unit.summary.minimum)
    }


def _ratio(
    cell: Cell,
    a: dict[tuple[int, int], float],
    b: dict[tuple[int, int], float],
    copy: dict[tuple[int, int], float],
    *,
    confidence: float,
    names: tuple[str, str],
) -> Ratio:
    middle, low, high = signtest.interval(_log_ratios(a, b), confidence)
    _, copy_low, copy_high = signtest.interval(_log_ratios(a, copy), confidence)
    floor = max(abs(copy_low), abs(copy_high))
    return Ratio(
        size=cell.size,
        distribution=cell.distribution,
        offset=cell.offset,
        mode=cell.mode,
        ratio=math.exp(middle),
        low=math.exp(low),
        high=math.exp(high),
        noise_floor=math.exp(floor),
        verdict=verdict(middle, low, high, floor, names),
    )


def _log_ratios(
    a: dict[tuple[int, int], float], b: dict[tuple[int, int], float]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The log of b by a for the units that both have."""
    return np.array([math.log(b[unit] / a[unit]) for unit in a if unit in b])


def verdict(middle: float, low: float, high: float, floor: float, names: tuple[str, str]) -> str:
    """What a log ratio and its interval mean, given the floor of two copies."""
    a, b = names
    if low <= 0 <= high:
        return "no difference resolved"
    if abs(middle) <= floor:
        return "no difference resolved: within the noise floor"
    percent = (1 - math.exp(middle)) if middle < 0 else math.exp(middle) - 1
    return f"{b} is {percent:.1%} {'faster' if middle < 0 else 'slower'} than {a}"


def _line(ratio: Ratio) -> str:
    where = f"{ratio.size:>10}" if ratio.offset != RANDOM_OFFSET else f"{ratio.distribution:>10}"
    offset = (
        f"+{ratio.offset}"
        if ratio.offset != RANDOM_OFFSET
        else ("dep." if "dependent" in ratio.mode else "ind.")
    )
    words = ratio.verdict
    if " is " in words:  # the names stand above the table
        words = words.split(" is ", 1)[1].split(" than ")[0]
    interval = f"{ratio.low:.3f} .. {ratio.high:.3f}"
    return f"{where} {offset:>7} {ratio.ratio:>7.3f} {interval:>17} {ratio.noise_floor:>7.3f}  {words}"


def _count_cells(sizes: Any, offsets: Any, as_in_sweep: dict[str, Any]) -> int:
    """How many cells a comparison has, for the confidence of each."""
    if as_in_sweep.get("mode") == "mixed":
        return 2 * len(as_in_sweep.get("lengths") or ())
    return _length(sizes) * _length(offsets)


def _length(values: Any) -> int:
    return len(list(values)) if hasattr(values, "__iter__") else 1
