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
# # How does the cost of a checksum change with the size of the buffer, and with where its bytes are?
#
# A figure such as "0.05 cycles per byte" holds for one size whose bytes are in the nearest cache and whose length the
# branch predictor has learnt. This page varies all three: every size of a small packet, large buffers, sets that fit in
# L2, L3 or nothing, and lengths that can't be foreseen.

# %% tags=["parameters"]
KERNELS = ("portable64", "dpdk_after", "linux_after")
SMALL = tuple(range(1, 129))
LARGE = (64, 256, 576, 1500, 4096, 9000, 16384, 65536, 131072, 524288, 2097152)
CACHES = ("hot", "l2", "l3", "dram")
BLOCK = 1500
ROUNDS = 20
SEED = 1988

# %%
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import active_kernel, kernels, lab
from fastcksum.lab import plot

names = list(dict.fromkeys([active_kernel().name, *KERNELS]))
loads = [
    kernel.name
    for kernel in kernels()
    if kernel.name.startswith("load_only") and kernel.runs_here
]

# %% [markdown]
# ## Small sizes: steps, not a slope
# Each kernel takes blocks, then words, then bytes; where a block more fits or a tail begins, the cost of a call jumps.
# A table with two sizes in this range can't show that, and a kernel can look good or bad by the choice of them.

# %%
small = lab.sweep(names, SMALL, 0, rounds=ROUNDS, seed=SEED)
plot.ticks_per_call(small, title="Cost of one call at every small size, aligned")

# %% [markdown]
# ## Large sizes: towards the loads
# A block of one size is summed again and again, so it comes from the nearest cache that it fits in. The grey area can't
# be reached: reading the bytes alone, with the widest loads, costs more. DPDK's loop adds into 32 bits without carry
# and is right up to 131,072 bytes; beyond that it isn't timed.

# %%
large = lab.sweep([*names, *loads], LARGE, 0, rounds=ROUNDS, seed=SEED)
print("\n".join(large.host.to_lines(84)), end="\n\n")
print("\n".join(f"left out: {words}" for words in large.plan.left_out))

# %%
plot.cycles_per_byte(large, kernels=names, title="Cost per byte, aligned")

# %% [markdown]
# ## Packets out of L2, L3 and memory
# A packet that has just arrived is not in L1. Here buffers of one size fill half of L2, a part of L3, or far more than
# L3, share no cache line and are summed in a random order. The further away they are, the more of the cost is waiting
# for bytes, and the less is adding them.

# %%
steps = []
for cache in CACHES:
    try:
        steps.append(
            lab.sweep(names, BLOCK, 0, cache=cache, rounds=ROUNDS, seed=SEED)
        )
    except ValueError as error:
        print(f"{cache} is left out: {error}")
plot.cache_staircase(steps, size=BLOCK)

# %%
from_caches = pd.concat([sweep.frame() for sweep in steps])
per_byte = from_caches.pivot_table(
    index="kernel", columns="cache", values="ticks_per_byte", sort=False
)
per_byte.round(3)

# %% [markdown]
# ## One cold call
# The lines are flushed before each call, and one call is a sample. The figure holds an empty pair of readings of the
# clock and is a multiple of its step, so it tells an order of magnitude: the price of the first touch.

# %%
cold = lab.sweep(names, (40, BLOCK), 0, cache="cold", rounds=ROUNDS, seed=SEED)
warm = lab.sweep(names, (40, BLOCK), 0, rounds=ROUNDS, seed=SEED)
print(f"one reading pair: {cold.host.pair} ticks; step: {cold.host.step:g} ticks")
ticks = {
    what: each.frame().set_index(["size", "kernel"])["ticks_per_call"]
    for what, each in (("hot", warm), ("cold", cold))
}
pd.DataFrame(ticks).sort_index(level="size", sort_remaining=False).round(1)

# %% [markdown]
# ## Lengths that can't be foreseen
# A loop over one length lets the branch predictor learn every jump. With lengths drawn from 1 to 128, or from the mix
# of packet sizes on the Internet, in another order each round, it can't. The last column divides by the mean of the
# same kernel's calls of one length, over all lengths from 1 to 128 that were measured above.

# %%
mixes = {"imix": lab.IMIX, "1..128": (1, 128)}
mixed = lab.sweep(
    names, mode="mixed", lengths=mixes, rounds=ROUNDS, seed=SEED
).frame()
fixed = small.frame().query("1 <= size <= 128")
learnt = fixed.groupby("kernel", sort=False)["ticks_per_call"].mean()

# %%
table = mixed[mixed["mode"] == "mixed"].pivot_table(
    index="kernel", columns="distribution", values="ticks_per_call", sort=False
)
table["one length, 1..128"] = learnt
table["times dearer"] = table["1..128"] / learnt
table.round(2)

# %% [markdown]
# ## Answer

# %%
steps_of = small.frame().pivot_table(
    index="size", columns="kernel", values="ticks_per_call", sort=False
)
falls = (steps_of / steps_of.shift(1) - 1).stack().sort_values()
(fallen, dips), fall = falls.index[0], falls.iloc[0]
dip = (
    f"One more byte can be cheaper: `{dips}` takes {-fall:.0%} less at {fallen} "
    "bytes than at the size before."
    if fall < -0.05
    else "No kernel here gets cheaper by one more byte."
)

# %%
best, far = names[0], per_byte.columns[-1]
by_size = large.frame().set_index(["kernel", "size"])["ticks_per_byte"][best]
size, cheapest = by_size.idxmax(), by_size.idxmin()
spread = per_byte.max() / per_byte.min()
dearer = table["times dearer"]

# %%
answer = f"""
**Size:** a byte costs `{best}` {by_size.max() / by_size.min():.0f} times as much at
{size:,} bytes as at {cheapest:,}. Below 128 bytes the cost of a call moves in
steps, and one size is no sample of them. {dip}

**Place of the bytes:** in blocks of {BLOCK:,} bytes `{best}` pays
{per_byte[far][best] / per_byte["hot"][best]:.1f} times as much from {far} as hot,
and the slowest kernel here takes {spread["hot"]:.1f} times the fastest when hot and
{spread[far]:.1f} times from {far}.

**Lengths:** a call whose length can't be foreseen costs {dearer.min():.1f} to
{dearer.max():.1f} times one of a known length (most: `{dearer.idxmax()}`). A loop
over one length flatters every kernel, and those with many branches most.
"""

# %%
display(Markdown(answer))
