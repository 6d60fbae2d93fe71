"""The timing loop on the caller's own bytes."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastcksum import _core
from fastcksum._kernel import active_kernel

from ._bench import warm
from ._bench.job import MARGIN, check_sums
from ._bench.request import KernelLike, check_count, resolve, target_ticks
from ._figures import stats
from ._machine.facts import timer_facts
from ._machine.processor import pinned

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Buffer


@dataclass(frozen=True, eq=False)
class Samples:
    """What measure() found.

    ticks_per_call: float64 array, one a round, in `unit`s. flags: uint32 array, not 0 where the thread migrated, was
    switched out or took a page fault during that round. best: the minimum of the rounds without a flag (NaN if none).
    """

    ticks_per_call: npt.NDArray[np.float64] = dataclasses.field(repr=False)
    flags: npt.NDArray[np.uint32] = dataclasses.field(repr=False)
    unit: str
    kernel: str
    offset: int
    length: int

    @property
    def summary(self) -> stats.Summary:
        """Minimum, quartiles, error, and how many rounds were dropped."""
        return stats.summarise(self.ticks_per_call, self.flags)

    @property
    def best(self) -> float:
        """Ticks of one call in the best round."""
        return self.summary.minimum

    def __repr__(self) -> str:
        return (
            f"<Samples: {self.kernel}, {self.length} bytes at offset {self.offset}: {self.best:.2f} {self.unit} a "
            f"call, best of {len(self.ticks_per_call)} rounds>"
        )


def measure(
    buf: Buffer,
    *,
    offset: int = 0,
    length: int | None = None,
    kernel: KernelLike | None = None,
    rounds: int = 60,
) -> Samples:
    """Times one kernel on the caller's own bytes, buf[offset:offset+length]; returns one sample a round.

    ValueError for an offset or a length past the end, a kernel that can't run here or isn't made for that length, and
    for a kernel whose sum of these bytes is wrong. The buffer is held while it is measured.
    """
    _core.raw_cksum(buf, offset=offset, length=length)  # the same errors, in the same words
    start = operator.index(offset)
    size = memoryview(buf).nbytes - start if length is None else operator.index(length)
    chosen = resolve(active_kernel() if kernel is None else kernel)
    check_count("rounds", rounds)
    if not chosen.min_len <= size <= chosen.max_len:
        raise ValueError(
            f"kernel '{chosen.name}' is made for {chosen.min_len} to {chosen.max_len} bytes, not {size}; "
            "give a length within, or another kernel"
        )
    warming = warm.warm_ticks(target_ticks())
    bench = _core.Bench()
    bench.add(chosen, buf, [start], [size])
    with pinned():
        bench.calibrate(int(target_ticks() * MARGIN))
        check_sums(bench, [chosen.name])
        samples = np.concatenate(
            [warm.time_round(bench, [0], number, warm=warming) for number in range(rounds)]
        )
        check_sums(bench, [chosen.name])
    return Samples(
        ticks_per_call=samples["ticks"] / samples["calls"],
        flags=samples["flags"].copy(),
        unit=timer_facts()["unit"],
        kernel=chosen.name,
        offset=start,
        length=size,
    )
