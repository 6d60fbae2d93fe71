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
# A round is contended when its four-wide adds ran below this share of the rate seen in the best tenth of rounds.
CONTENDED_SHARE = 0.85
# The two chains must tell the same core clock within this, or the round's clock is not known.
CHAINS_AGREE = 0.02
# At least this share of a cell's samples must come from rounds whose clock is known.
KNOWN_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Summary:
    """The samples of one cell, without those that were flagged.

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
    """Additions a core cycle that the four-wide loop reached in each round, about 4 where nobody shares the core.

    add_ticks is the time of a chain of dependent additions, one core cycle each; wide_ticks that of four such chains
    side by side. A neighbour on the same core takes slots from the wide loop and leaves the chain alone.
    """
    return np.asarray(4.0 * add_ticks / wide_ticks, dtype=np.float64)


def contended_rounds(rates: Floats, *, least: float = 0.0) -> npt.NDArray[np.bool_]:
    """Which rounds shared their core, from the sentinel's rates.

    The best tenth of the rounds says what the core can do (not the best round: a clock that rises between two chains
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


def badge(disagreement: float, contended: npt.NDArray[np.bool_]) -> Badge:
    """The badge of a cell: whether the headline repeats is what is claimed, so it is what is asked.

    disagreement: of the headlines of halves of the visits. contended: of each sample that was kept, whether its round
    shared the core.
    """
    if len(contended) and np.mean(contended) > 0.5:
        return "contended"
    if not disagreement <= REPEATS:  # NaN is not clean either
        return "noisy"
    return "clean"


def core_cycle_samples(
    ticks_per_call: AnyNumbers,
    add_ticks: AnyNumbers,
    mul_ticks: AnyNumbers,
    *,
    chain: int,
    mul_latency: int | None,
) -> Floats:
    """Estimated core cycles of one call in each round whose clock is known: ticks x core cycles a tick in that round.

    A chain of `chain` dependent additions takes `chain` core cycles, so chain / add_ticks is the clock ratio of the
    round. As many dependent multiplications of `mul_latency` cycles must tell the same within 2 %: a round in which
    they don't (the clock moved, somebody interrupted) says nothing, and a core on which they rarely do is not one
    that this method understands. Empty ("unknown") then, and where mul_latency is None.
    """
    if mul_latency is None or len(ticks_per_call) == 0:
        return np.zeros(0)
    ratio = chain / np.asarray(add_ticks, dtype=np.float64)
    witness = chain * mul_latency / np.asarray(mul_ticks, dtype=np.float64)
    known = np.abs(ratio / witness - 1.0) <= CHAINS_AGREE
    if np.mean(known) < KNOWN_SHARE:
        return np.zeros(0)
    return np.asarray((ticks_per_call * ratio)[known], dtype=np.float64)


def net(gross: float, overhead: float | None) -> float | None:
    """The gross figure without the overhead of an empty call.

    None where the overhead was not measured. NaN where the difference is negative: such a figure is invalid and is
    never clamped to 0, which would look like a very fast kernel.
    """
    if overhead is None:
        return None
    difference = gross - overhead
    return difference if difference >= 0 else float("nan")
