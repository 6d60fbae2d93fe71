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
# # Which kernel is best on a core that has just done something else?
#
# A bench calls a kernel in a loop until the core's branch predictors know every jump of it. A packet's header is summed
# once, after everything else that a stack does. How many calls does a core need to learn a kernel, what does the first
# one cost, and does the order of the kernels change?
#
# `lab.learning` runs code of its own until the predictors have forgotten the kernel, then times its first call, the
# second, the next two, four, eight ...

# %% tags=["parameters"]
KERNELS = ("dpdk_before", "dpdk_after", "linux_2023", "portable64")
SIZES = (20, 64, 1500)
CALLS = 1 << 16
LESSONS = 40
SEED = 1999

# %%
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import active_kernel, lab
from fastcksum.lab import plot

names = list(dict.fromkeys([active_kernel().name, *KERNELS]))

# %% [markdown]
# ## From the first call to the last
# A batch stands where its calls end. Of a batch of one call most are the two readings of the counter, which are taken
# off here; medians and quartiles over the lessons, since what an untrained core takes is no floor.

# %%
learnt = lab.learning(names, SIZES, calls=CALLS, lessons=LESSONS, seed=SEED)
rows = learnt.frame()
rows["ticks"] = rows["ticks_per_call"] - rows["pair"]
rows["end"] = rows["after_calls"] + rows["calls"]
print("\n".join(learnt.host.to_lines(84)))

# %%
smallest = lab.learning(names, min(SIZES), calls=CALLS, lessons=LESSONS, seed=SEED)
plot.learning(smallest)

# %% [markdown]
# ## The first call beside a trained one
# Ticks of the first call after other code, of the second, of those after a dozen, and of one in the last batch. The
# first one fetches the code and the translations of its addresses, too; the second one has these, but no trained
# predictors.

# %%
moments = {"first": 1, "second": 2, "17th to 32nd": 32, "trained": rows["end"].max()}
table = pd.DataFrame(
    {
        name: rows[rows["end"] == end].set_index(["size", "kernel"])["ticks"]
        for name, end in moments.items()
    }
)
table["second dearer by"] = table["second"] - table["trained"]
table.sort_index(level="size", sort_remaining=False).round(1)

# %% [markdown]
# ## How long learning takes
# The calls after which a batch stays within 10 % of the trained figure.


# %%
def calls_to_learn(cell: pd.DataFrame) -> int:
    """Where the last batch ends that is over 10 % dearer than the trained ones."""
    dear = cell[cell["ticks"] > 1.1 * cell["ticks"].iloc[-1]]
    return int(dear["end"].max()) if len(dear) else 0


needed = pd.Series(
    {key: calls_to_learn(cell) for key, cell in rows.groupby(["size", "kernel"])}
)
needed.unstack(0).reindex(names).rename_axis(columns="bytes")

# %% [markdown]
# ## Answer
# Kernels whose quartiles meet those of the quickest can't be told apart.


# %%
def best_of(size: int, end: int) -> str:
    """The quickest kernels for one call, the `end`th, with the ticks of the first."""
    cells = rows[(rows["size"] == size) & (rows["end"] == end)].dropna()
    cells = cells.set_index("kernel").sort_values("ticks")
    near = cells.index[cells["q1"] <= cells["q3"].head(1).max()]
    named = ", ".join(f"`{each}`" for each in near)
    if len(near) == len(names) > 1:
        named = "not to be told apart"
    return f"{named} ({cells['ticks'].min():.1f})"


lines = "\n".join(
    f"| {size:,} | "
    + " | ".join(best_of(size, end) for end in moments.values())
    + " |"
    for size in SIZES
)

# %%
dearer = table["second dearer by"]
answer = f"""
**The first call** after other code costs {table["first"].min():,.0f} to
{table["first"].max():,.0f} ticks; **the second** still {dearer.min():,.0f} to
{dearer.max():,.0f} more than a trained one (most: `{dearer.idxmax()[1]}` at
{dearer.idxmax()[0]:,} bytes). Half of the cells come within 10 % of what a loop shows
after {needed.median():,.0f} calls.

**The quickest**, by size and call (in brackets the least ticks):

| bytes | {" | ".join(moments)} |
| --- | --- | --- | --- | --- |
{lines}

**What can't be concluded:** what a packet costs, whose bytes are not in the cache
either (the page on sizes and caches has cold calls).
"""
display(Markdown(answer))
