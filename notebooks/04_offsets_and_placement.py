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
# # Does it matter where the buffer lies, and where the code does?
#
# Tables of checksums have a column "unaligned", which is one offset of the *data*: one byte. They have none for the
# address of the *code*, which nobody chooses: it is where the linker put it, and an edit in another file moves it. This
# page varies both, and sets what they do beside the two errors that people look at, the spread over repetitions and the
# spread over processes.

# %% tags=["parameters"]
KERNELS = ("dpdk_before", "dpdk_after", "linux_before", "linux_after")
SIZES = (20, 21, 100, 1500)
MAP_SIZES = (20, 64, 256, 1500)
OFFSETS = (*range(64), 4032, 4064, 4080, 4088, 4092, 4095)
PLACEMENTS = 32
PROCESSES = 5
ROUNDS = 8
SEED = 4096

# %%
from itertools import combinations

import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import active_kernel, lab
from fastcksum.lab import plot

names = list(dict.fromkeys([active_kernel().name, *KERNELS]))

# %% [markdown]
# ## Where the buffer lies
# Every offset in a cache line, and some from which the buffer crosses into the next page. White is what the noise of
# this run can't tell from offset 0.

# %%
shown = [
    name
    for name in names
    if name in {names[0], "dpdk_after", "linux_before", "linux_after"}
]
offsets = lab.sweep(shown, MAP_SIZES, OFFSETS, rounds=ROUNDS, seed=SEED)
print("\n".join(offsets.host.to_lines(84)))

# %%
plot.offset_map(offsets, kernels=shown)

# %% [markdown]
# ## Where the code lies
# The same machine code, linked at other offsets in a page: the kernel and the loop that calls it each move in steps of
# 16 bytes. Every dot is the minimum over all rounds at one place, so noise of the machine is not what spreads them.

# %%
places = lab.sweep(names, SIZES, 0, placements=PLACEMENTS, rounds=ROUNDS, seed=SEED)
plot.placement_strip(places, sizes=SIZES[:4])

# %% [markdown]
# What would a table say that shows one build of each? Below, the least and the largest figure of each kernel, and how
# far apart they are.

# %%
aligned = places.frame().query("offset == 0").set_index(["size", "kernel"])
table = pd.DataFrame(
    {
        "best place": aligned["placement_low"],
        "all places": aligned["ticks_per_call"],
        "worst place": aligned["placement_high"],
        "worst / best": aligned["placement_high"] / aligned["placement_low"],
    }
)
table.sort_index(level="size", sort_remaining=False).round(2)

# %% [markdown]
# ## Beside the other errors
# Three ways to measure the same kernel again: the same places in another run; other processes, which move whole pages;
# other places of the code. Each column is the same statistic, so that they can be compared: how far apart two
# measurements of one kernel are, the median over all pairs, for the kernel where that is most.


# %%
def minima(sweep: lab.Sweep, by: str) -> pd.DataFrame:
    """The minimum of each kernel and size, a column a placement or process."""
    samples = pd.DataFrame(sweep.samples).query("flags == 0 and offset == 0")
    samples["ticks"] = samples["ticks"] / samples["calls"]
    return samples.pivot_table("ticks", ["size", "kernel"], by, aggfunc="min")


def apart(row: pd.Series) -> float:
    """How far apart two of these figures are: the median over all pairs."""
    pairs = combinations(row.dropna(), 2)
    return float(np.median([max(pair) / min(pair) - 1 for pair in pairs]))


# %%
plan = {"rounds": ROUNDS, "seed": SEED}
again = minima(lab.sweep(names, SIZES, 0, placements=PLACEMENTS, **plan), "placement")
first = minima(places, "placement")
other = minima(lab.sweep(names, SIZES, 0, processes=PROCESSES, **plan), "process")
twice = np.maximum(again / first, first / again) - 1

# %%
errors = pd.DataFrame(
    {
        "the same place again": twice.median(axis="columns"),
        "another process": other.apply(apart, axis="columns"),
        "another place": first.apply(apart, axis="columns"),
    }
)
worst = errors.groupby("size").max()
(100 * worst).round(1).add_suffix(", %")

# %% [markdown]
# ## Answer

# %%
largest = worst.idxmax(axis="columns")
by_size = "; ".join(
    f"{size:,} bytes: {largest[size]}, {worst.loc[size].max():.0%}" for size in SIZES
)
factor = table["worst / best"]
size, kernel = factor.idxmax()
low, high = table["best place"], table["worst place"]

# %%
turned = []
for a, b in (("dpdk_before", "dpdk_after"), ("linux_before", "linux_after")):
    for each in SIZES if {a, b} <= set(names) else ():
        middle = table["all places"][each]
        quick, slow = sorted((a, b), key=lambda name: middle[name])
        differ = middle[slow] > 1.02 * middle[quick]
        if differ and 1.02 * low[each, slow] < high[each, quick]:
            turned.append(f"{quick} and {slow} at {each:,} bytes")
same = worst["the same place again"].max()
order = (
    f"With one build of each, luck can turn the order of {', '.join(turned)}."
    if turned
    else "It turns the order of none of the pairs here that differ by 2 % or more."
)

# %%
from_0 = offsets.frame().set_index(["kernel", "size", "offset"])["ticks_per_call"]
from_0 = (
    from_0 / from_0.xs(0, level="offset").reindex(from_0.index.droplevel(2)).values
)
dearest = from_0.groupby("kernel", sort=False).max()
(kernel_at, size_at, offset_at), factor_at = from_0.idxmax(), from_0.max()
flat = [name for name in shown if dearest[name] < 1.1]

# %%
answer = f"""
**The largest error**, by size: {by_size} (the median over pairs of measurements).

**Place of the code:** from its best to its worst place `{kernel}` at {size:,} bytes
moves by a factor of {factor.max():.2f}; two places of a kernel differ by
{worst["another place"].max():.1%}, the same place measured twice by {same:.1%}
(medians over pairs, of the kernel where they are most). {order} Comparisons
therefore take their units from several placements, and every report says how many
there were.

**Offset of the data:** it costs `{kernel_at}` up to {factor_at:.2f} times what
offset 0 does (offset {offset_at}, {size_at:,} bytes). Within 10 % at all
{len(OFFSETS)} offsets and all sizes of the map: {", ".join(flat) or "no kernel"}.
"""
display(Markdown(answer))
