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
# # What did the rewrite of Linux' csum_partial gain at 40 bytes, and what is that worth in a packet?
#
# In November 2021 a mail on netdev proposed to rewrite `csum_partial` for x86-64: load from any address instead of
# aligning first, and treat the bits of the length one by one instead of looping over words. It carried two proofs:
# `perf stat` of a million calls before and after, and the function's share of the CPU time of a packet load, 4.16 %
# before and 0.83 % after.
#
# This page repeats both with forms written afresh "in the manner of" the two, puts the published figures beside its
# own, and says why they differ where they do.

# %% tags=["parameters"]
SIZE = 40
OFFSETS = (0, 14)
CALLS = 1_000_000
SIZES = (8, 16, 24, 32, 40, 48, 56, 64, 96, 128, 200, 272, 440)
COUNTED = (20, 40, 64, 256, 1500)
ROUNDS = 10
PLACEMENTS = 16
PACKETS = 1024
SEED = 2021

# %%
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import lab
from fastcksum.lab import plot

KERNELS = {"before": "linux_before", "after": "linux_after"}

# %% [markdown]
# ## A million calls
# The mail shows what `perf stat` counted over a million calls. `count()` does the same: core cycles, instructions and
# branches from the CPU's own counters. Where a machine refuses these (most virtual ones do), instructions and branches
# come from callgrind, which executes each instruction itself and is exact; cycles are then missing, not guessed.

# %%
counters = {
    (phase, offset): lab.count(name, SIZE, calls=CALLS, offset=offset)
    for phase, name in KERNELS.items()
    for offset in OFFSETS
}
for phase in KERNELS:
    print(counters[phase, OFFSETS[0]].text())

# %% [markdown]
# ## Beside the published block
# Per call, the loop around the call included, as in the mail; "net" is without that loop.

# %%
events = ["cycles", "instructions", "branches", "branch_misses"]
published = lab.published()
mail = published[published["source"] == "netdev 2021-11"].set_index("phase")
columns = {}
for phase in KERNELS:
    columns[phase, "published"] = mail.loc[phase, events] / mail.loc[phase, "calls"]
    for offset in OFFSETS:
        counted = counters[phase, offset]
        columns[phase, f"offset {offset}"] = pd.Series(counted.gross.per_call(CALLS))
    columns[phase, "net"] = pd.Series(counters[phase, OFFSETS[0]].net.per_call(CALLS))
table = pd.DataFrame(columns).loc[events].astype("Float64")
table.map(lambda value: "refused" if pd.isna(value) else f"{value:.2f}")

# %% [markdown]
# The mail doesn't tell three things on which the counts depend: the size (40 bytes, the header of IPv6, is what its
# author's later test programs sum), the address of the buffer (14 bytes into a frame in those programs; the old form
# spends instructions on aligning, the new one doesn't), and the loop around the call. The kernels here are C that gcc
# compiled, those in the kernel are assembly and C of another compiler. How much the rewrite removes depends on the
# size; below, what is left of the instructions and branches of the call itself, without the loop around it.

# %%
left_of = {}
for size in COUNTED:
    per_call = {
        phase: lab.count(name, size, calls=10_000).net.per_call(10_000)
        for phase, name in KERNELS.items()
    }
    for event in ("instructions", "branches"):
        was, now = (per_call[phase][event] for phase in KERNELS)
        left_of.setdefault(event, {})[size] = (
            now / was if was and now else float("nan")
        )
left_of = pd.DataFrame(left_of).rename_axis("bytes")
left_of.map(lambda share: "refused" if pd.isna(share) else f"{share:.0%} left")

# %% [markdown]
# ## Latency and throughput
# A million calls in a row tell what a call costs beside others that don't depend on it (throughput). A stack that needs
# one sum before it can go on waits for all of it (latency: here the address of each call depends on the last result).
# The rewrite of 2023 (Linux 6.5) published both; its "before" is the form of 2021, `linux_after` here. Its machine was
# an Ice Lake with its own clock and its own loop, so shapes can be compared, heights can't. Its figures are the grey
# crosses; a cross without a line is the one size that was published for that mode.

# %%
modes = ("throughput", "latency")
plan = {"rounds": ROUNDS, "placements": PLACEMENTS, "seed": SEED}
sweeps = [lab.sweep(KERNELS.values(), SIZES, 0, mode=mode, **plan) for mode in modes]
later = published[published["source"].str.startswith("linux 6.5")]
lines = {f"published 2023, {name}": rows for name, rows in later.groupby("phase")}
plot.ticks_per_call(sweeps, published=lines, title="Linux' csum_partial, aligned")

# %%
cells = pd.concat([sweep.frame() for sweep in sweeps])
cells = cells[cells["size"] == SIZE].set_index(["mode", "kernel"])
shown = ["ticks_per_call", "placement_low", "placement_high", "error", "badge"]
cells[shown].round(2)

# %% [markdown]
# ## The share of a packet
# `trace()` receives packets from memory: it parses the headers, sums the segment on top of its pseudo header and copies
# the payload once, the least that a receiver does. Once with the classic Internet mix, 7 packets of 40 bytes to 4 of
# 576 and 1 of 1500; once with packets whose segment has just the size of above.

# %%
names = [*KERNELS.values(), "portable64"]
loads = {"Internet mix": lab.IMIX, f"segments of {SIZE} bytes": {20 + SIZE: 1}}
traces = {
    load: lab.trace(names, lengths, packets=PACKETS, rounds=2 * ROUNDS, seed=SEED)
    for load, lengths in loads.items()
}
plot.cost_breakdown(traces["Internet mix"], title="A packet of the Internet mix")

# %%
plot.cost_breakdown(
    traces[f"segments of {SIZE} bytes"],
    title=f"A packet with a segment of {SIZE} bytes",
)

# %% [markdown]
# These shares are not the published ones, and can't be. The 4.16 % and 0.83 % are of all that one core did at line
# rate: driver, stack, memory management, wake-ups; here a packet's work is its headers and one copy. And there the
# network card had summed the packet already: what `csum_partial` summed was the header, to take it out of the card's
# sum, where here it is every byte of the segment.
#
# The published figures don't follow from each other either: a function that takes a third fewer cycles can't by that
# alone fall to a fifth of its share. The rest must be costs that a loop over one hot buffer of one size doesn't have;
# mispredicted branches are the first suspect, since such a loop lets the predictor learn them all.
#
# ## Answer

# %%
before, after = (
    counters[phase, OFFSETS[0]].gross.per_call(CALLS) for phase in KERNELS
)
counted = "No event could be counted here"
if before["instructions"] and after["instructions"]:
    counted = " and ".join(
        f"{before[event]:.1f} -> {after[event]:.1f} {event}"
        for event in ("instructions", "branches")
    )
gain = {mode: cells["ticks_per_call"][mode] for mode in modes}
gain = {mode: of["linux_before"] / of["linux_after"] for mode, of in gain.items()}
share = mail["load_share_percent"]
left = mail["cycles"]["after"] / mail["cycles"]["before"]
expected = 100 * share["before"] * left / (100 - share["before"] * (1 - left))

# %%
in_mail = " and ".join(
    f"{mail[event]['before'] / mail['calls']['before']:.1f} -> "
    f"{mail[event]['after'] / mail['calls']['after']:.1f}"
    for event in ("instructions", "branches")
)
known = left_of.dropna()
removed = "Nothing could be counted at other sizes."
if len(known):
    removed = "Left of the call's own instructions: " + ", ".join(
        f"{share:.0%} at {size}" for size, share in known["instructions"].items()
    )
    removed += " bytes."


# %%
def of_a_packet(trace: lab.Trace) -> str:
    """The sum's share before and after, and what that does to a packet's time."""
    ns = {row.kernel: row.ns_per_packet for row in trace.rows}
    was, now = (ns[name] for name in KERNELS.values())
    if pd.isna(now / was):
        return "not known, other programs disturbed every visit"
    shares = " -> ".join(f"{trace.shares[name]:.0%}" for name in KERNELS.values())
    return f"{shares}, {now / was - 1:+.0%} of its time"


here = "; ".join(f"{load}: {of_a_packet(trace)}" for load, trace in traces.items())

# %%
answer = f"""
**The call:** {counted} a call of {SIZE} bytes (published: {in_mail});
{gain["throughput"]:.2f} times as fast in throughput and {gain["latency"]:.2f} times
in latency, over {PLACEMENTS} placements on this machine (published:
{1 / left:.2f} times, in core cycles). {removed}

**The packet:** the sum's share of a receive loop that parses, sums and copies, and
does nothing else, and what the rewrite does to a packet: {here}. A receiver that does
more shows less; one that doesn't copy, more. From {share["before"]} % of a real
one, the cycles saved in the published loop lead to {expected:.1f} %; the published
{share["after"]} % holds more than a loop over one hot buffer shows.
"""

# %%
display(Markdown(answer))
