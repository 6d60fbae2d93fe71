# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does the rewritten loop make DPDK's checksum faster, and with which compiler?
#
# In February 2026 a patch on dpdk-dev changed the inner loop of `__rte_raw_cksum`. Before, it copies two bytes at a
# time with `memcpy` and steps an address by integer arithmetic; after, it walks a typed pointer over 16-bit words. The
# arithmetic is the same. The mails that followed said: with small blocks clang was faster than gcc before, with large
# ones slower; after the patch clang is faster everywhere. Each cell of their tables is one sample on one machine.
#
# Here both forms, written afresh "in the manner of" the originals, are compiled by every compiler below, checked,
# measured in one interleaved run, and set beside the published figures.

# %% tags=["parameters"]
SIZES = (20, 21, 64, 100, 101, 256, 576, 1500, 1501, 4096, 9000, 9001, 65536, 65537)
COMPILERS = ("gcc", "clang-19")
FLAGS = ("-O3",)
ROUNDS = 30
PLACEMENTS = (32, 64)
COMPARED_ROUNDS = 2
SECONDS = 20
DPDK_FLAGS = ("-O2",)
DPDK_PLACEMENTS = 8
DPDK_TEST_RUNS = 3
SEED = 2026

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import kernels, lab
from fastcksum.lab import plot

# %% [markdown]
# ## The builds
# A compiler that is not installed is named and left out.

# %%
built = {}
for compiler in COMPILERS:
    try:
        for form in ("dpdk_before", "dpdk_after"):
            source = lab.kernel_source(form)
            built[form, compiler] = lab.compile_kernel(source, compiler, FLAGS)
    except lab.CompileError as error:
        print(f"{compiler} is left out: {str(error).splitlines()[0]}")
compilers = [name for name in COMPILERS if ("dpdk_after", name) in built]

# %%
pd.DataFrame(
    {
        "form": form,
        "compiler": kernel.compiler,
        "flags": " ".join(FLAGS),
        "main loop": f"{kernel.vector_bits}-bit vectors"
        if kernel.vectorised
        else "scalar",
        "bytes of code": kernel.code_bytes,
    }
    for (form, _), kernel in built.items()
)

# %% [markdown]
# ## The measurement
# Every round visits every cell once in a shuffled order; the figure of a cell is the minimum over the rounds. The
# yardsticks say what an empty call costs and what the loads alone cost.

# %%
yardsticks = [
    kernel for kernel in kernels() if kernel.role == "yardstick" and kernel.runs_here
]
sweep = lab.sweep([*built.values(), *yardsticks], SIZES, rounds=ROUNDS, seed=SEED)
print("\n".join(sweep.host.to_lines(84)))

# %% [markdown]
# ## Published beside measured
# Both panels show cycles of the time stamp counter per byte, aligned blocks; a hollow marker beside a line is a block
# that is one byte longer. The machines and their clocks differ, so heights can't be compared across the panels; the
# order of the lines and their shape can.

# %%
names = [kernel.name for kernel in built.values()]
published = lab.published()
exchange = published[published["source"] == "dpdk-dev 2026-02"]
plot.published_and_measured(exchange, sweep, names)

# %% [markdown]
# ## Cost per byte here

# %%
plot.cycles_per_byte(sweep, kernels=names, title="DPDK's two loops, aligned")

# %% [markdown]
# ## How many times faster "after" is
# One build of each form would show, at small sizes, where the linker put it. So both are linked at several places, and
# "before" twice: what its two copies differ by is the noise floor. A hollow marker is a cell without a verdict.

# %%
looks = {"placements": PLACEMENTS, "rounds": COMPARED_ROUNDS, "seconds": SECONDS}
comparisons = {}
for name in compilers:
    before, after = built["dpdk_before", name], built["dpdk_after", name]
    comparison = lab.compare(before, after, SIZES, 0, seed=SEED, **looks)
    comparisons[after.compiler] = comparison
plot.before_after(
    comparisons, title="before / after, aligned: above 1x the patch is faster"
)

# %% [markdown]
# The table divides ticks. Columns named by one compiler are before / after over all placements; those named by
# two are of one placement: above 1 the second compiler's code is faster.

# %%
ticks = sweep.frame().query("offset == 0")
ticks = ticks.pivot_table(index="size", columns="kernel", values="ticks_per_call")
ratios = pd.DataFrame(
    {
        name: 1 / comparison.frame().set_index("size")["ratio"]
        for name, comparison in comparisons.items()
    }
)
if len(compilers) > 1:
    for form in ("before", "after"):
        one, other = (built[f"dpdk_{form}", name] for name in compilers[:2])
        column = f"{form}: {one.compiler} / {other.compiler}"
        ratios[column] = ticks[one.name] / ticks[other.name]
ratios.round(2)

# %% [markdown]
# ## The real function, and DPDK's own program
# Debian has the real things: `libdpdk-dev` brings `__rte_raw_cksum`, a header that its users compile, and `dpdk-dev`
# the program whose tables the mails show, `dpdk-test`. Does "in the manner of" cost what the real one does, and does
# this bench measure what that program does? It gets the program's form (ten blocks in turn, each sum folded and added
# to a volatile one), its compiler and flags (`-O2`, and the `-march` that DPDK's package asks for), and several
# placements. The program takes one sample a cell, so it is run several times.

# %%
form = {"form": "dpdk", "placements": DPDK_PLACEMENTS, "rounds": ROUNDS // 2}
six = (20, 21, 100, 101, 1500, 1501)
function = "__rte_raw_cksum"
ours = pd.DataFrame()
try:
    source = lab.kernel_source("dpdk_before")
    timed = [lab.compile_kernel(source, "gcc", ("-march=corei7", *DPDK_FLAGS))]
    found = lab.installed("gcc", DPDK_FLAGS)
    timed += [kernel for kernel in found if kernel.name.startswith(function)]
    ours = lab.sweep(timed, six, seed=SEED, **form).frame()
    print(lab.not_installed("gcc", DPDK_FLAGS).get(function, f"{timed[-1].origin}"))
except lab.CompileError as error:
    print(f"Not compared: {str(error).splitlines()[0]}")

# %%
program = pd.DataFrame()
try:
    if DPDK_TEST_RUNS and not ours.empty:
        program = lab.dpdk_test(DPDK_TEST_RUNS)
        print(f"dpdk-test {program.attrs['version']}, {DPDK_TEST_RUNS} runs")
except FileNotFoundError as error:
    print(error)

# %% [markdown]
# TSC cycles a block: of the program the median run and, in brackets, the range over its runs; of this bench the middle
# of the placements and the range over them, each of them a minimum over rounds.


# %%
def in_words(low: float, middle: float, high: float) -> str:
    """A figure with its range."""
    digits = 1 if middle < 100 else 0
    return f"{middle:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"


rows = {}
for row in ours.itertuples():
    place = row.size, ("aligned", "unaligned")[row.offset]
    figures = row.placement_low, row.ticks_per_call, row.placement_high
    name = row.kernel.split(" [")[0].split(" of ")[-1]
    rows.setdefault(name, {})[place] = in_words(*figures)
for place, runs in program.groupby(["size", "alignment"]) if len(program) else ():
    figures = runs["cycles_per_block"].quantile([0, 0.5, 1])
    rows.setdefault("dpdk-test", {})[place] = in_words(*figures)
pd.DataFrame(rows)

# %% [markdown]
# ## Answer

# %%
small, large = min(SIZES), max(size for size in SIZES if size <= 9001)
loops = "; ".join(
    f"{kernel.compiler} makes {kernel.symbol} "
    + (f"{kernel.vector_bits}-bit vectors" if kernel.vectorised else "scalar")
    for kernel in built.values()
)
gains = "; ".join(
    f"{name}: {ratios[name][small]:.2f} times at {small} bytes, "
    f"{ratios[name][large]:.2f} times at {large:,}"
    for name in comparisons
)
cells = [ratio for each in comparisons.values() for ratio in each.table()]
verdicts = pd.Series([ratio.verdict for ratio in cells]).value_counts()

# %% [markdown]
# Does the bench measure what the program does? Yes, if every cell agrees within 5 %. Where one doesn't, it is asked
# which part of the loop differs: a line through the differences tells ticks a block (call, loop, folding) from ticks a
# byte (the sum itself), and the range over placements whether the program's one place explains it. Nothing can be said
# where the program's own runs differ by more than 10 % in most cells: then others ran beside it.

# %%
both = pd.DataFrame()
if len(program):
    real = ours[ours["kernel"].str.startswith(function)]
    here = (ours if real.empty else real).assign(
        alignment=lambda cells: cells["offset"].map({0: "aligned", 1: "unaligned"})
    )
    both = here.groupby(["size", "alignment"]).first()
    runs = program.groupby(["size", "alignment"])["cycles_per_block"]
    both["theirs"], both["unsteady"] = runs.min(), runs.max() / runs.min() > 1.1
    both["apart"] = both["theirs"] / both["ticks_per_call"] - 1
    least, most = 0.95 * both["placement_low"], 1.05 * both["placement_high"]
    both["elsewhere"] = both["theirs"].between(least, most)

# %%
bench = "Not asked: dpdk-test was not run here."
if len(both):
    sizes, extra = both.index.get_level_values("size"), both["apart"].abs()
    difference = both["theirs"] - both["ticks_per_call"]
    per_byte, per_block = np.polyfit(sizes, difference, 1)
    part = "the loop around the sum"
    if abs(per_byte) * max(sizes) > abs(per_block):
        part = "the sum itself"
    agree = f"{(extra <= 0.05).sum()} of {len(both)} cells agree within 5 %"
    bench = f"Yes: {agree}."
    (size, alignment), times = extra.idxmax(), 1 + both["apart"][extra.idxmax()]

# %%
if len(both) and both["unsteady"].mean() > 0.5:
    bench = (
        f"Not answered here: the program's own runs differ by more than 10 % in "
        f"{both['unsteady'].sum()} of {len(both)} cells."
    )
elif len(both) and extra.max() > 0.05:
    bench = (
        f"No: {agree}; {size} bytes {alignment} differ most, {times:.2f} times this "
        f"bench's figure. **What differs is {part}:** {per_block:+.1f} ticks a block "
        f"and {max(sizes) * per_byte:+.1f} in {max(sizes):,} bytes. In "
        f"{both['elsewhere'].sum()} cells the program lies within what other places "
        "of the same code take."
    )

# %%
answer = f"""
**What can be concluded here:** the loops: {loops}. Before by
after: {gains}. Of {len(cells)} cells, "after" is faster in
{verdicts.get("faster", 0)}, slower in {verdicts.get("slower", 0)}, the same in
{verdicts.get("same", 0)}; {verdicts.get("unresolved", 0)} are unresolved.

**Does this bench measure what DPDK's does?** With its form, compiler and flags, the
best of {DPDK_TEST_RUNS} runs beside the middle of the placements. {bench}

**What can't:** how the published machine behaves at other sizes, or what gcc 15
makes of either loop, which is not to be had here; and whether one compiler beats
the other at 20 and 21 bytes by less than another place of the code would move it.
"""
display(Markdown(answer))
