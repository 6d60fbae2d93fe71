"""What may be asked for: kernels by name or as objects, sizes, seeds, mixes; each refusal says the way out."""

from __future__ import annotations

import dataclasses
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeAlias

import numpy as np

from fastcksum._kernel import Kernel, active_kernel, kernels
from fastcksum.lab._build.spec import is_spec, kernel_of
from fastcksum.lab._figures.record import MODES, RANDOM_OFFSET, Cell, Lengths
from fastcksum.lab._machine.facts import timer_facts

from .cells import check_lengths, longest, set_sizes, shortest, why_left_out

if TYPE_CHECKING:
    from fastcksum.lab._machine.facts import Host

KernelLike: TypeAlias = str | Kernel
# A batch lasts at least this many steps of the counter, or empty pairs of readings, whichever is longer.
BATCH: Final = 1000


def check_count(what: str, value: int) -> None:
    if operator.index(value) < 1:
        raise ValueError(f"{what} must be at least 1, not {value}")


def check_mixes(mode: str, lengths: Mapping[str, Lengths] | None) -> dict[str, Lengths]:
    """The mixes of mode "mixed". ValueError if they are missing there, or given elsewhere."""
    if mode == "mixed":
        if lengths is None:
            raise ValueError("mode 'mixed' needs lengths, such as {'imix': IMIX, '1..128': (1, 128)}")
        return check_lengths(lengths)
    if lengths is not None:
        raise ValueError(f"lengths are for mode 'mixed'; mode {mode!r} takes sizes")
    return {}


def sets_for(cache: str, machine: Host) -> dict[str, int]:
    """Bytes of each cache's set. ValueError if one is asked for and the machine doesn't tell its caches."""
    if cache in {"hot", "cold"}:
        return {}
    sets = set_sizes(machine.caches)
    if not sets:
        raise ValueError(
            f"cache {cache!r} needs the sizes of L2 and L3, which this machine doesn't tell; 'hot' needs none"
        )
    if cache not in sets and cache == "l3":
        raise ValueError(
            "cache 'l3' can't be told from L2 here: half of L3 is not twice L2; there is 'l2' and 'dram'"
        )
    return sets


def check_seed(seed: SupportsIndex) -> int:
    value = _whole("seed", seed)
    if value < 0:
        raise ValueError(f"seed must not be negative: {value}")
    return value


def draw_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])


def integers(what: str, values: SupportsIndex | Iterable[SupportsIndex]) -> list[int]:
    """The numbers, each once. ValueError for none, a negative one, and one that memory can't hold."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{what} must be a number of bytes or several, such as (20, 1500), not {values!r}")
    given = values if isinstance(values, Iterable) else [values]
    numbers = list(dict.fromkeys(_whole(what, value) for value in given))
    if not numbers:
        raise ValueError(f"{what} must name at least one number of bytes")
    if min(numbers) < 0:
        raise ValueError(f"{what} can't be negative: {min(numbers)}")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if max(numbers) > memory:
        raise ValueError(
            f"{what} must fit into this machine's memory, {memory:,} bytes, not {max(numbers):,}"
        )
    return numbers


def _whole(what: str, value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: {value!r} is not a whole number") from None


def resolve(kernel: KernelLike) -> Kernel:
    """The Kernel, the built-in one of that name, or that of a file (spec.py).

    ValueError if it is unknown or can't run here; errors as compile_kernel().
    """
    if isinstance(kernel, str) and is_spec(kernel):
        kernel = kernel_of(kernel)
    if isinstance(kernel, str):
        known = {each.name: each for each in kernels()}
        if kernel not in known:
            raise ValueError(_unknown(kernel, [each.name for each in known.values() if each.runs_here]))
        kernel = known[kernel]
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a name or a Kernel, not '{type(kernel).__name__}'")
    if not kernel.runs_here:
        raise ValueError(f"kernel '{kernel.name}' can't run here: it needs {', '.join(kernel.needs)}")
    return kernel


def _unknown(name: str, there: Sequence[str]) -> str:
    """Which names there are; the nearest first, and what takes a file, where one seems to be meant."""
    near = get_close_matches(name, there, n=2)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    if "/" in name or "." in name:
        meant = "; a file ends in .c .cc .cpp .s .S .o .a or .so"
    return f"kernel '{name}' is unknown{meant}; those that run here: {', '.join(there)}"


def choose(wanted: KernelLike | Iterable[KernelLike] | None) -> list[Kernel]:
    """The kernels to time, each once. ValueError for none, and for two of one name."""
    if wanted is None:
        active = active_kernel()
        listed = [kernel for kernel in kernels() if kernel.runs_here and kernel.role in {"past", "yardstick"}]
        return [active, *(kernel for kernel in listed if kernel != active)]
    if isinstance(wanted, (str, Kernel)):
        wanted = [wanted]
    chosen = list(dict.fromkeys(resolve(kernel) for kernel in wanted))
    if not chosen:
        raise ValueError("kernels must name at least one kernel")
    names = [kernel.name for kernel in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"two different kernels are named '{name}': give one of them another name, "
                "dataclasses.replace(kernel, name=...)"
            )
    return chosen


def grid(sizes: Sequence[int], offsets: Sequence[int], mode: str, cache: str, form: str) -> list[Cell]:
    return [Cell("", size, "fixed", offset, mode, cache, form) for size in sizes for offset in offsets]


def mix_grid(mixes: Mapping[str, Lengths], cache: str, form: str) -> list[Cell]:
    return [Cell("", 0, name, RANDOM_OFFSET, mode, cache, form) for name in mixes for mode in MODES["mixed"]]


def lay_out(
    chosen: Sequence[Kernel], grid: Sequence[Cell], mixes: Mapping[str, Lengths], sets: Mapping[str, int]
) -> tuple[list[Cell], list[str]]:
    """The cells to time, and a sentence for each kernel and size that is left out."""
    cells: list[Cell] = []
    left_out: dict[str, None] = {}
    for kernel in chosen:
        for asked in grid:
            why = _why_not(kernel, asked, mixes) or why_left_out(asked, sets)
            if why:
                left_out[why] = None
            else:
                cells.append(dataclasses.replace(asked, kernel=kernel.name))
    return cells, list(left_out)


def _why_not(kernel: Kernel, cell: Cell, mixes: Mapping[str, Lengths]) -> str | None:
    """Why the kernel isn't made for the lengths of the cell, or None."""
    mix: Lengths = mixes.get(cell.distribution, (cell.size, cell.size))
    if kernel.min_len <= shortest(mix) and longest(mix) <= kernel.max_len:
        return None
    what = f"{cell.size} bytes" if cell.offset != RANDOM_OFFSET else f"lengths '{cell.distribution}'"
    return f"{kernel.name} at {what}: it is right for {kernel.min_len} to {kernel.max_len} bytes only"


def target_ticks() -> int:
    """How long a batch must last for the counter's step and the cost of reading it not to matter."""
    facts = timer_facts()
    return int(np.ceil(BATCH * max(facts["step"], facts["pair"])))


def facts_of(kernel: Kernel) -> dict[str, Any]:
    """What a stored sweep keeps of a kernel: all but the code itself."""
    left_out = {"capsule", "assembly", "built"}
    return {
        field.name: getattr(kernel, field.name)
        for field in dataclasses.fields(kernel)
        if field.name not in left_out
    }
