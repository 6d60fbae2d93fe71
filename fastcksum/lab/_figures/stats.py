"""From samples to figures: pure functions of arrays, so that they can be tested on samples that were made up.

A sample is the ticks of one call, averaged over one batch. Timings have a hard floor and a long tail: nothing makes
a call faster than the machine allows, everything else makes it slower. So the headline is the minimum, and the rest
of the distribution says how far to believe it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    Half: TypeAlias = Callable[[int], npt.NDArray[np.bool_]]
    Floats: TypeAlias = npt.NDArray[np.float64]
    AnyNumbers: TypeAlias = npt.NDArray[np.floating] | npt.NDArray[np.integer]

Badge: TypeAlias = Literal["clean", "noisy", "contended"]
BADGES: tuple[Badge, ...] = ("clean", "noisy", "contended")

# A cell is clean when the minima of halves of its visits agree within this. Of cells that are, at least 95 of 100
# repeat within 2 % in another run (benchmarks/calibration.py).
REPEATS = 0.01
# Each split of the visits 0, 1, 2, ... into halves: odd and even ones, odd and even pairs, the first and the last.
SPLITS: tuple[tuple[Half, Half], ...] = (
    (lambda n: np.arange(n) % 2 == 0, lambda n: np.arange(n) % 2 == 1),
    (lambda n: np.arange(n) // 2 % 2 == 0, lambda n: np.arange(n) // 2 % 2 == 1),
    (lambda n: np.arange(n) < n // 2, lambda n: np.arange(n) >= n // 2),
)
# A visit is contended when its four-wide adds ran below this share of the rate seen in the best tenth of the visits.
# 0.85 is too little: on a shared AMD Zen 3, visits at 0.93 to 0.98 of that rate took 1.34 times as long in the median,
# and those above it 1.002 times.
CONTENDED_SHARE = 0.95
# A cell's figures are those of the visits that had the core to themselves, where at least this share of them did.
FREE_SHARE = 0.2
# The two chains must tell the same core clock within this, or the visit's clock is not known.
CHAINS_AGREE = 0.02
# At least this share of the samples must come from visits whose clock is known.
KNOWN_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Summary:
    """The samples of one cell, without those that were dropped.

    Ticks per call: minimum, q1, median, q3. error = (median - minimum) / minimum. All are NaN without any sample.
    """

    samples: int
    dropped: int
    minimum: float
    q1: float
    median: float
    q3: float

    @property
    def error(self) -> float:
        """How far the median lies above the minimum, as a share of the minimum."""
        return (self.median - self.minimum) / self.minimum if self.minimum else float("nan")


def summarise(ticks_per_call: AnyNumbers, flags: AnyNumbers) -> Summary:
    """The Summary of a cell's samples; a sample whose flags are not 0 is dropped and counted."""
    kept = ticks_per_call[flags == 0]
    dropped = len(ticks_per_call) - len(kept)
    if len(kept) == 0:
        return Summary(0, dropped, *[float("nan")] * 4)
    low, q1, median, q3 = (float(value) for value in np.quantile(kept, [0, 0.25, 0.5, 0.75]))
    return Summary(len(kept), dropped, low, q1, median, q3)


def sentinel(add_ticks: AnyNumbers, wide_ticks: AnyNumbers) -> Floats:
    """Additions a core cycle that the four-wide loop reached in each visit, about 4 where nobody shares the core.

    add_ticks is the time of a chain of dependent additions, one core cycle each; wide_ticks that of four such chains
    side by side. A neighbour on the same core takes slots from the wide loop and leaves the chain alone.
    """
    return np.asarray(4.0 * add_ticks / wide_ticks, dtype=np.float64)


def contended_visits(rates: Floats, *, least: float = 0.0) -> npt.NDArray[np.bool_]:
    """Which visits shared their core, from the sentinel's rates.

    The best tenth of the visits says what the core can do (not the best one: a clock that rises between two chains
    makes a rate that no core has). `least` is what any core of this kind can do: it tells a neighbour who never leaves.
    """
    if len(rates) == 0:
        return np.zeros(0, dtype=np.bool_)
    possible = max(least, float(np.quantile(rates, 0.9)))
    return np.asarray(rates < CONTENDED_SHARE * possible, dtype=np.bool_)


def minima_of_halves(visits: Floats) -> list[list[float]]:
    """For each of SPLITS the minima of its two halves, NaN for an empty one."""
    picked = [[visits[half(len(visits))] for half in split] for split in SPLITS]
    return [[float(half.min()) if len(half) else float("nan") for half in split] for split in picked]


def disagreement(halves: Iterable[Sequence[float]]) -> float:
    """How far apart the headlines of two halves lie at most, as a share of the lesser; NaN where a half has none."""
    ratios = [max(pair) / min(pair) for pair in halves if not np.isnan(pair).any()]
    return max(ratios) - 1 if ratios else float("nan")


def badge(disagreement: float, shared: Sequence[bool]) -> Badge:
    """The badge of a cell: whether the headline repeats is what is claimed, so it is what is asked.

    disagreement: of the headlines of halves of the visits. shared: of each replicate, whether too few of its visits had
    the core to themselves.
    """
    if shared and sum(shared) > 0.5 * len(shared):
        return "contended"
    if not disagreement <= REPEATS:  # NaN is not clean either
        return "noisy"
    return "clean"


def core_clock(
    add_ticks: AnyNumbers, mul_ticks: AnyNumbers, *, chain: int, mul_latency: int | None
) -> Floats:
    """Core cycles a tick in each visit, NaN where they aren't known.

    A chain of `chain` dependent additions takes `chain` core cycles, so chain / add_ticks is the clock ratio of the
    visit. As many dependent multiplications of `mul_latency` cycles must tell the same within 2 %: a visit in which
    they don't (the clock moved, somebody interrupted) says nothing, and a core on which they rarely do is not one
    that this method understands. All are NaN then, and where mul_latency is None.
    """
    if mul_latency is None or len(add_ticks) == 0:
        return np.full(len(add_ticks), np.nan)
    ratio = chain / np.asarray(add_ticks, dtype=np.float64)
    witness = chain * mul_latency / np.asarray(mul_ticks, dtype=np.float64)
    known = np.abs(ratio / witness - 1.0) <= CHAINS_AGREE
    if np.mean(known) < KNOWN_SHARE:
        return np.full(len(ratio), np.nan)
    return np.where(known, ratio, np.nan)


def at_one_clock(ticks_per_call: Floats, clock: Floats) -> Floats:
    """The ticks as they would have been had the core always run at the median of these clocks.

    A clock that moves between visits would make the minimum that of the fastest moment. A visit whose clock isn't known
    is taken for one at the fastest: it makes no minimum that the machine didn't. As they are where no clock is known.
    """
    known = clock[~np.isnan(clock)]
    if len(known) == 0:
        return ticks_per_call
    return ticks_per_call * (np.where(np.isnan(clock), known.max(), clock) / np.median(known))


def net(gross: float, overhead: float | None) -> float | None:
    """The gross figure without the overhead of an empty call.

    None where the overhead was not measured. NaN where the difference is negative: such a figure is invalid and is
    never clamped to 0, which would look like a very fast kernel.
    """
    if overhead is None:
        return None
    difference = gross - overhead
    return difference if difference >= 0 else float("nan")
