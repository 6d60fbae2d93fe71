"""A sweep: kernels on a grid of sizes and offsets, or on mixes of lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastcksum._progress import Progress, reporting

from ._bench import request, runner
from ._bench.cells import check_way
from ._bench.places import check_placements
from ._figures.record import DPDK_SIZES
from ._figures.result import Sweep
from ._machine.facts import host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import SupportsIndex

    from ._bench.request import KernelLike
    from ._figures.record import Lengths


def sweep(
    kernels: KernelLike | Iterable[KernelLike] | None = None,
    sizes: SupportsIndex | Iterable[SupportsIndex] = DPDK_SIZES,
    offsets: SupportsIndex | Iterable[SupportsIndex] = (0, 1),
    *,
    mode: str = "throughput",
    lengths: Mapping[str, Lengths] | None = None,
    cache: str = "hot",
    form: str = "plain",
    rounds: int = 20,
    placements: int = 1,
    processes: int = 1,
    seed: int | None = None,
    huge_pages: bool = False,
    batch_ticks: int | None = None,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Times kernels on all sizes at all offsets: every round visits every cell once, in a shuffled order.

    A visit runs the cell's loop until the core knows it (plan.warm_ticks), then times several batches (plan.batches).

    kernels: names or Kernels; None: the active one, the past ones, the yardsticks, as far as they run here.
    sizes, offsets: bytes, from the start of a page.

    mode: "throughput"; "latency", where the address of each call depends on the last result; "mixed", the `lengths`
    (such as {"imix": IMIX, "1..128": (1, 128)}) at random offsets in another order each round, with independent and
    with dependent calls; sizes and offsets are unused then.
    cache: "hot" (in L1 as far as the size allows); "l2", "l3", "dram", sets of many buffers as large as plan.set_bytes
    says; "cold", flushed before each call, one call a sample.
    form: "plain"; "dpdk", the ten blocks of DPDK's cksum_perf_autotest in turn, folded into a volatile sum.
    placements: the code linked at so many places in a page, 1 or a multiple of 4, drawn so that each residue of 16
    bytes in a line comes equally often; needs a compiler, else 1 and the plan says why. processes: the whole in so many
    processes, one after another. huge_pages: ask for them; plan.pages says what came of it. batch_ticks: how long a
    batch lasts at least; None: 1000 steps of the counter, or empty pairs of readings. seed: of the bytes, the order and
    the places; None draws one, which the plan keeps. progress: called with (rounds done, rounds); None draws a bar if
    standard error is a terminal.

    ValueError for what there isn't, and for a kernel whose sum of a cell is wrong. Cells outside a kernel's min_len
    to max_len are left out and said so in the plan. Ctrl-C after the first round ends the sweep and keeps the whole
    rounds; the plan says so. The thread is pinned to one CPU meanwhile.
    """
    check_way(mode, cache, form)
    for what, value in {"rounds": rounds, "placements": placements, "processes": processes}.items():
        request.check_count(what, value)
    check_placements(placements)
    chosen = request.choose(kernels)
    mixes = request.check_mixes(mode, lengths)
    size_list, offset_list = request.integers("sizes", sizes), request.integers("offsets", offsets)
    seed = request.draw_seed() if seed is None else request.check_seed(seed)
    machine = host()
    sets = request.sets_for(cache, machine)
    grid = (
        request.mix_grid(mixes, cache, form)
        if mode == "mixed"
        else request.grid(size_list, offset_list, mode, cache, form)
    )
    cells, left_out = request.lay_out(chosen, grid, mixes, sets)
    if not cells:
        raise ValueError("no cell is left to time: " + "; ".join(left_out))
    course = runner.Course(
        kernels=chosen,
        cells=cells,
        left_out=left_out,
        mixes=mixes,
        sets=sets,
        slack=max(*offset_list, 1),
        rounds=rounds,
        placements=placements,
        processes=processes,
        seed=seed,
        target_ticks=max(request.target_ticks(), batch_ticks or 0),
        huge_pages=huge_pages,
    )
    with reporting(progress, f"{len(cells)} cells, {rounds} rounds") as report:
        samples, plan = runner.run(course, report)
    return Sweep(samples=samples, host=machine, plan=plan)
