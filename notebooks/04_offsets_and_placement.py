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
MAP_SIZES = (20, 40, 64, 100, 256, 576, 1500)
OFFSETS = (*range(64), 4032, 4064, 4080, 4088, 4092, 4095)
PLACEMENTS = 32
PROCESSES = 5
ROUNDS = 60
SEED = 4096

# %%
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
offsets = lab.sweep(names, MAP_SIZES, OFFSETS, rounds=ROUNDS, seed=SEED)
print("\n".join(offsets.host.to_lines(84)))

# %%
shown = [
    name
    for name in names
    if name in {names[0], "dpdk_after", "linux_before", "linux_after"}
]
plot.offset_map(offsets, kernels=shown)

# %% [markdown]
# ## Where the code lies
# The same machine code, linked at other offsets in a page: the kernel and the loop that calls it each move in steps of
# 16 bytes. Every dot is the minimum over all rounds at one place, so noise of the machine is not what spreads them.

# %%
places = lab.sweep(
    names, SIZES, (0, 1), placements=PLACEMENTS, rounds=ROUNDS, seed=SEED
)
plot.placement_strip(places, sizes=SIZES[:4])

# %% [markdown]
# What would a table say that shows one build of each? Below, the least and the largest figure of each kernel, and how
# far apart they are.

# %%
aligned = places.frame().query("offset == 0").set_index(["size", "kernel"])
table = pd.DataFrame(
    {
        "best place": aligned["placement_low"],
        "median": aligned["ticks_per_call"],
        "worst place": aligned["placement_high"],
        "worst / best": aligned["placement_high"] / aligned["placement_low"],
    }
)
table.sort_index(level="size", sort_remaining=False).round(2)

# %% [markdown]
# ## Beside the other errors
# Three ways to measure the same kernel again: the same run once more, each figure against that of the same place; other
# processes, which move whole pages; other places of the code. Each column says by how much the figure moves, for the
# kernel that moves most (the median over its places in the first column).


# %%
def minima(sweep: lab.Sweep) -> pd.Series:
    """The minimum of each kernel at each place."""
    samples = pd.DataFrame(sweep.samples).query("flags == 0 and offset == 0")
    samples["ticks"] = samples["ticks"] / samples["calls"]
    return samples.groupby(["size", "kernel", "placement"])["ticks"].min()


plan = {"rounds": ROUNDS, "seed": SEED}
again = minima(lab.sweep(names, SIZES, (0, 1), placements=PLACEMENTS, **plan))
moved = (again / minima(places) - 1).abs().groupby(["size", "kernel"]).median()
other = lab.sweep(names, SIZES, 0, processes=PROCESSES, **plan).frame()
other = other.set_index(["size", "kernel"])

# %%
errors = pd.DataFrame(
    {
        "the same place again": moved,
        "another process": other["placement_high"] / other["placement_low"] - 1,
        "another place": table["worst / best"] - 1,
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
turned = [
    f"{a} and {b} at {size:,} bytes"
    for a, b in (("dpdk_before", "dpdk_after"), ("linux_before", "linux_after"))
    for size in SIZES
    if {a, b} <= set(names)
    and low[size, a] < high[size, b]
    and low[size, b] < high[size, a]
]
same = worst["the same place again"].max()

# %%
answer = f"""
**The largest error**, by size: {by_size}.

**Place of the code:** it moves `{kernel}` at {size:,} bytes by a factor of
{factor.max():.2f}, where the same place measured again moves by {same:.1%} at most.
So neither more rounds nor the minimum remove it. With one build of each, luck can
turn the order of {", ".join(turned) or "none of the pairs here"}. Comparisons
therefore take their units from several placements, and every report says how many
there were.

**Offset of the data:** the map shows which kernels care, and where. One byte off is
one of {len(OFFSETS)} offsets here; it stands for the others only where the map has
two colours.
"""
display(Markdown(answer))
