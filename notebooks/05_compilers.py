# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which compiler, which flags? What do builds make of the same two loops?
#
# The first reply to a table of checksums is always that question. The mails of February 2026 on dpdk-dev showed gcc 15
# and clang 21 (one set of flags) and clang 18 (another), and concluded: with small blocks clang was faster than gcc
# before the patch, with large ones slower; after it clang is always faster.
#
# This page builds both forms with every compiler, optimisation and target below, looks at what the compiler made of
# the loop, and times what this CPU can run. What it can't run is built all the same, and looked at.

# %% [markdown]
# **Compilers.** Those on the PATH are taken by name. The exchange's clang 18 and 21 come with the wheels of PyPI's
# `ziglang` (0.13.0 holds clang 18.1.6, 0.16.0 clang 21.1.0), each installed into a folder of its own:
#
#     pip install --target zig/0.13.0 ziglang==0.13.0
#     pip install --target zig/0.16.0 ziglang==0.16.0
#     ZIGLANG=$PWD/zig/0.13.0:$PWD/zig/0.16.0 jupyter lab
#
# The exchange's gcc 15 is not to be had this way: Debian 12 has gcc 12, and PyPI has none.

# %% tags=["parameters"]
import os

COMPILERS = ("gcc", "clang-19")
ZIGLANG = os.environ.get("ZIGLANG", "")
OPTIMISATIONS = (("-O2",), ("-O3",), ("-O2", "-g"), ("-O3", "-flto"))
TARGETS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
SIZES = (20, 21, 100, 1500)
ROUNDS = 30
PLACEMENTS = (32, 64)
SECONDS = 20
SEED = 15

# %%
import shutil
from pathlib import Path

import pandas as pd
from IPython.display import Markdown, display

from fastcksum import lab
from fastcksum.lab import plot

commands = []
for name in COMPILERS:
    if shutil.which(name):
        commands.append(name)
    else:
        print(f"{name} is left out: it is not on the PATH")

# %%
for folder in filter(None, ZIGLANG.split(os.pathsep)):
    try:
        commands.append(lab.ziglang_clang(folder))
    except (OSError, ValueError) as error:
        print(f"{Path(folder).name} is left out: {str(error).splitlines()[0]}")
if not ZIGLANG:
    print("clang 18 and 21 are left out: ZIGLANG names no folders")

# %% [markdown]
# ## The matrix
# One build a cell: the shade says how wide the additions of its main loop are, the figure what a call costs. Builds
# with the same machine code are one kernel and are timed once. First the largest size, where a build shows what it can
# do, then the smallest, where setting up a wide loop must pay within one header. Each build lies in one place only, so
# small differences there are the linker's (another page, on the placement of code, shows how large these are).
#
# What can't be built is counted.

# %%
small, large = min(SIZES), max(SIZES)
found = lab.matrix(
    compilers=commands,
    optimisations=OPTIMISATIONS,
    targets=TARGETS,
    frame_pointer=(False,),
    sizes=SIZES,
    rounds=ROUNDS,
    seed=SEED,
)
builds = found.frame()
print("\n".join(found.host.to_lines(84)))
builds.value_counts(["compiler", "flags", "status"], sort=False).unstack(fill_value=0)

# %%
plot.compiler_matrix(found, size=large)

# %%
plot.compiler_matrix(found, size=small)

# %% [markdown]
# ## What vectorises
# The widest additions, in bits, that each compiler makes of each form over the targets above; 0 is a scalar loop.

# %%
built = builds[builds["code_bytes"].notna()]
built.pivot_table(
    index=["compiler", "flags"],
    columns="kernel",
    values="vector_bits",
    aggfunc=lambda bits: ", ".join(str(each) for each in sorted(set(bits.dropna()))),
    sort=False,
)

# %% [markdown]
# ## The frame pointer
# Distributions build with `-fno-omit-frame-pointer` today. The loops call nothing, so there is little to keep: is the
# machine code another one at all, and what does it cost?

# %%
keeping = lab.matrix(
    compilers=commands,
    optimisations=OPTIMISATIONS[:1],
    targets=TARGETS[:1],
    sizes=SIZES,
    rounds=ROUNDS,
    seed=SEED,
).frame()
keeping["pointer"] = keeping["frame_pointer"].map({True: "kept", False: "omitted"})
keeping["code"] = keeping["code_sha256"].str[:6]
ticks = {f"ticks_{size}": f"{size:,}" for size in SIZES}
table = keeping.set_index(["kernel", "compiler", "pointer"])[["code", *ticks]]
table.rename(columns=ticks).round(1)

# %% [markdown]
# One placement each can't tell a small cost from the linker's luck. So both forms are linked at many places, with the
# pointer and without.

# %%
forms = ("dpdk_before", "dpdk_after")
costs = []
for form in forms:
    source = lab.kernel_source(form)
    omitted, kept = (
        lab.compile_kernel(source, commands[0], (*OPTIMISATIONS[0], flag))
        for flag in ("-fomit-frame-pointer", "-fno-omit-frame-pointer")
    )
    looks = {"placements": PLACEMENTS, "rounds": 2, "seconds": SECONDS}
    cost = lab.compare(omitted, kept, SIZES, 0, seed=SEED, **looks)
    costs.append(cost.frame().assign(kernel=form))
costs = pd.concat(costs, ignore_index=True)
costs[["kernel", "size", "ratio", "low", "high", "verdict"]].round(3)

# %%
counts = costs["verdict"].value_counts()
codes = keeping.groupby(["kernel", "compiler"])["code"].nunique()
pointer = (
    f"keeping it gives other machine code in {(codes > 1).sum()} of {len(codes)} "
    f"builds. By {kept.compiler} {' '.join(OPTIMISATIONS[0])} it takes "
    f"{costs['ratio'].min():.2f} to {costs['ratio'].max():.2f} times the ticks: of "
    f"{len(costs)} cells slower in {counts.get('slower', 0)}, faster in "
    f"{counts.get('faster', 0)}, the same in {counts.get('same', 0)}, unresolved in "
    f"{counts.get('unresolved', 0)}."
)

# %% [markdown]
# ## Do the conclusions of the exchange hold here?
# Each clang against gcc with the same flags and the same target, in all cells in which both were timed. With one
# placement each, a compiler counts as faster where the other takes at least 10 % more ticks.

# %%
timed = builds[builds["status"] == "timed"]
gcc = timed[timed["compiler"].str.startswith("gcc")]
clang = timed[timed["compiler"].str.startswith("clang")]
both = gcc.merge(clang, on=["kernel", "flags", "target"], suffixes=(" gcc", " clang"))
claims = {
    ("dpdk_before", small): ("clang", "gcc"),
    ("dpdk_before", large): ("gcc", "clang"),
    ("dpdk_after", small): ("clang", "gcc"),
    ("dpdk_after", large): ("clang", "gcc"),
}

# %%
held = {}
for (form, size), (winner, loser) in claims.items():
    pairs = both[both["kernel"] == form].set_index("flags")
    more = pairs[f"ticks_{size} {loser}"] / pairs[f"ticks_{size} {winner}"] >= 1.1
    claim = f"{form}, {size:,} bytes: {winner} is faster"
    less = pairs[f"ticks_{size} {winner}"] / pairs[f"ticks_{size} {loser}"] >= 1.1
    held[claim] = {
        flags: f"{each.sum()} of {len(each)}"
        for flags, each in more.groupby(level="flags", sort=False)
    }
    held[claim]["all"] = f"{more.sum()} of {len(more)}"
    held[claim]["slower"] = f"{less.sum()} of {len(less)}"
pd.DataFrame(held).transpose()

# %% [markdown]
# ## Answer

# %%
wide = (built["vector_bits"] > 0).groupby([built["kernel"], built["compiler"]])
vectorised = "; ".join(
    f"{compiler} vectorises {kernel} in {each.sum()} of {len(each)} builds"
    for (kernel, compiler), each in wide
)
spread = timed.groupby("kernel")[f"ticks_{large}"]
spread = spread.max() / spread.min()
claims = "\n".join(
    f"* {claim}: in {counts['all']} pairs (slower in {counts['slower']})"
    for claim, counts in held.items()
)
here = ", ".join(dict.fromkeys(timed["compiler"]))

# %%
answer = f"""
**The exchange's conclusions**, each against the pairs of builds of the same flags and
target here ({here}; not the gcc 15.2.1 of the mails):

{claims or "* nothing to compare: it takes a gcc and a clang"}

**Why:** {vectorised} (which flags do it, the table of widths says).

**The frame pointer:** {pointer}

**So name the build:** at {large:,} bytes the slowest build of this page takes
{spread["dpdk_before"]:.1f} times as long as the fastest (before; after:
{spread["dpdk_after"]:.1f} times). A figure without compiler, flags and target is any
of these.
"""
display(Markdown(answer))
