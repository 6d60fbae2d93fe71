"""The same machine code at many places: a kernel and its loops linked anew at offsets in a page.

The object is compiled once and linked once a placement; each link puts the kernel's section and the section with its
loops elsewhere in a page.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from fastcksum import _core
from fastcksum.lab._build.compiler import CompiledKernel, compile_kernel, relink
from fastcksum.lab._build.unit import kernel_source
from fastcksum.lab._machine.compilers import CompileError, as_built

from .job import Link
from .places import Place, draw_places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastcksum._kernel import Kernel


def link_all(
    kernels: Sequence[Kernel], n: int, seed: int, *, first: int = 0, report: Callable[[int], None]
) -> tuple[dict[str, list[Link]], dict[str, tuple[tuple[int, int], ...]], str]:
    """The links and the places of each kernel at n placements from number `first` on; and why there is only one.

    One is as the code lies in the extension or in its own shared object, and has no place; so it is where there is no
    compiler. report is called with how many kernels are linked.
    """
    note = ""
    if n > 1 or first > 0:
        places = {kernel.name: draw_places(n, i, seed, first) for i, kernel in enumerate(kernels)}
        links: dict[str, list[Link]] = {}
        try:
            for kernel in kernels:
                links[kernel.name] = links_at(kernel, places[kernel.name])
                report(len(links))
        except CompileError as error:
            note = f"{n} placements were asked for: {str(error).splitlines()[0]}"
        else:
            return (
                links,
                {
                    name: tuple((place.kernel, place.loops) for place in of_kernel)
                    for name, of_kernel in places.items()
                },
                note,
            )
    return {kernel.name: [link_as_it_lies(kernel)] for kernel in kernels}, {}, note


def link_as_it_lies(kernel: Kernel) -> Link:
    """The kernel where the linker put it."""
    if isinstance(kernel, CompiledKernel):
        return Link(kernel.kernel_id, str(kernel.library))
    return Link(_core.describe(kernel)["name"])


def links_at(kernel: Kernel, places: Sequence[Place]) -> list[Link]:
    """The kernel linked at these places.

    Built-in kernels are compiled from the shipped source, as the extension was. CompileError if that can't be done.
    """
    object_of = compiled(kernel)

    def at(place: Place) -> Link:
        return Link(object_of.kernel_id, str(relink(object_of, kernel_at=place.kernel, loops_at=place.loops)))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as linkers:
        return list(linkers.map(at, places))


def compiled(kernel: Kernel) -> CompiledKernel:
    """The kernel itself if it was compiled here, or the built-in one compiled as the extension was."""
    if isinstance(kernel, CompiledKernel):
        return kernel
    return compile_kernel(kernel_source(_core.describe(kernel)["name"]), *as_built())
