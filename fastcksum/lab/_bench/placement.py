"""The same machine code at many places: a kernel and its loops linked anew at offsets in a page.

Where code lies changes what it costs - branch predictor sets, the op cache, lines that an instruction straddles - by a
factor at small sizes, and one build shows one throw of these dice. So the object is compiled once and linked n times;
each link puts the kernel's section and the section with its loops at other multiples of 16 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastcksum import _core
from fastcksum.lab._build.compiler import CompiledKernel, compile_kernel, relink
from fastcksum.lab._build.unit import kernel_source

from .job import Link

if TYPE_CHECKING:
    from fastcksum._kernel import Kernel

PAGE = 4096
STEP = 16  # functions are aligned to this at least
SLOTS = PAGE // STEP
# Multiplying by an odd number permutes the 256 slots. Those next to 256 divided by the golden ratio and by its square
# spread any first n of them evenly over the page, and over each cache line, independently of each other.
_KERNEL_STRIDE = 159
_LOOP_STRIDE = 99


def slots(n: int, copy: int = 0, start: int = 0) -> list[tuple[int, int]]:
    """As many places, (offset of the kernel, offset of its loops) in a page, in bytes.

    Another copy gets other ones, and so does another start.

    ValueError if there aren't so many.
    """
    if not 0 < (copy + 1) * n <= SLOTS:
        raise ValueError(
            f"placements must be in 1..{SLOTS // (copy + 1)} (steps of {STEP} bytes in a page), not {n}"
        )
    numbers = range(start + copy * n, start + (copy + 1) * n)
    return [(i * _KERNEL_STRIDE % SLOTS * STEP, i * _LOOP_STRIDE % SLOTS * STEP) for i in numbers]


def links_of(kernel: Kernel, n: int, copy: int = 0, start: int = 0) -> list[Link]:
    """The kernel linked at n places; at one, as it lies in the extension or in its own shared object.

    Built-in kernels are compiled from the shipped source, as the extension was. CompileError if that can't be done.
    """
    if n == 1 and copy == 0:
        if isinstance(kernel, CompiledKernel):
            return [Link(kernel.kernel_id, str(kernel.library))]
        return [Link(_core.describe(kernel)["name"])]
    object_of = compiled(kernel)
    return [
        Link(object_of.kernel_id, str(relink(object_of, kernel_at=kernel_at, loops_at=loops_at)))
        for kernel_at, loops_at in slots(n, copy, start)
    ]


def compiled(kernel: Kernel) -> CompiledKernel:
    """The kernel itself if it was compiled here, or the built-in one compiled as the extension was."""
    if isinstance(kernel, CompiledKernel):
        return kernel
    build = _core.build_facts()
    return compile_kernel(
        kernel_source(_core.describe(kernel)["name"]), build["command"], tuple(build["flags"].split())
    )
