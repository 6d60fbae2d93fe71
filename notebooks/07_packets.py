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
# # Which checksums of a capture are wrong, and what does it cost to know?
#
# Wireshark leaves checksums unverified unless it is told to, because verdicts of two values mislead: a packet that was
# captured before the network card completed it looks wrong, and one that was cut off can't be judged at all. Here a
# capture is judged with five: good, bad, partial, none, unchecked. Then the cost of a verdict is measured beside what
# scapy and dpkt take for the sums alone.

# %% tags=["parameters"]
CAPTURE = "tests/data/captures/all.pcapng"
PACKETS = 100_000
SLOW_PACKETS = 2_000
REPEATS = 5
SEED = 2026

# %%
import time
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from matplotlib import pyplot as plt

from fastcksum import active_kernel, capture, lab, raw_cksum_many
from fastcksum.lab import plot
from fastcksum.packets import fill_checksums, verify_packet

# %matplotlib inline
# %config InlineBackend.figure_formats = ["png"]

# %% [markdown]
# ## A capture, judged
# The capture is a small one that the tests of this project make: every protocol and link type that is understood, right
# and wrong on purpose. Any pcap or pcapng file will do.

# %%
folder = next(path for path in (Path.cwd(), *Path.cwd().parents) if (path / CAPTURE).is_file())
report = capture.verify(folder / CAPTURE)
table = pd.DataFrame(report.counts_by_layer()).T
table.loc["all"] = table.sum()
print(report)
table.astype(int)

# %%
HATCHES = {"good": "", "bad": "xx", "partial": "//", "none": "..", "unchecked": "--"}
shares = pd.DataFrame(report.counts_by_layer()).T.iloc[::-1]
figure, axes = plt.subplots(figsize=plot.PAGE, layout="constrained")
left = np.zeros(len(shares))
for (status, hatch), colour in zip(HATCHES.items(), plot.COLOURS, strict=False):
    axes.barh(
        shares.index,
        shares[status],
        left=left,
        label=status,
        color=colour,
        hatch=hatch,
        edgecolor="white",
    )
    left += shares[status].to_numpy()
axes.set_xlabel("checksums")
axes.set_title(f"{Path(CAPTURE).name}: {report.packets} packets, {len(report.codes)} checksums", loc="left")
axes.legend(ncols=5, loc="lower right", frameon=False)
plt.show()

# %% [markdown]
# Every verdict has the field as it stands and as it should be, and where the status alone does not say it, a reason:

# %%
frame = report.frame()
for name in ("found", "expected"):
    frame[name] = ["" if pd.isna(value) else f"{value:#06x}" for value in frame[name]]
shown = frame[frame["status"] != "good"].groupby("status").head(3).sort_values(["status", "packet"])
with pd.option_context("display.max_colwidth", None):
    display(shown[["packet", "layer", "src", "dst", "status", "found", "expected", "reason"]])

# %% [markdown]
# ## What a verdict costs
# Packets of 40, 576 and 1500 bytes in the proportion 7 : 4 : 1 (the "simple IMIX"), TCP over IPv4 over Ethernet, in one
# buffer. The figure of each way is the best of several passes, per packet, in one process, on one core.

# %%
rng = np.random.default_rng(SEED)


def tcp_frame(size):
    """An Ethernet frame with an IPv4 packet of this many bytes, all of it right."""
    addresses = bytes([192, 0, 2, 1, 198, 51, 100, 7])
    header = bytes([0x45, 0]) + size.to_bytes(2, "big") + bytes([0, 1, 0x40, 0, 64, 6, 0, 0]) + addresses
    segment = bytes([0xC0, 0, 0, 80, *range(8), 0x50, 0x18, 0x20, 0, 0, 0, 0, 0]) + rng.bytes(size - 40)
    return fill_checksums(
        bytes([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]) + header + segment, link="ethernet"
    )


frames = {size: tcp_frame(size) for size in lab.IMIX}
weights = np.array(list(lab.IMIX.values())) / sum(lab.IMIX.values())
sizes = rng.choice(list(lab.IMIX), PACKETS, p=weights)
packets = [frames[size] for size in sizes.tolist()]
lengths = sizes + 14
offsets = np.cumsum(lengths) - lengths
whole = capture.Capture(
    b"".join(packets),
    offsets,
    lengths.astype(np.uint32),
    lengths.astype(np.uint32),
    np.zeros(PACKETS, "M8[ns]"),
    np.ones(PACKETS, np.uint16),
)
assert capture.verify(whole).counts()["good"] == 2 * PACKETS

# %%
spans = (
    np.column_stack([offsets + 14, offsets + 34]).ravel(),
    np.column_stack([np.full(PACKETS, 20), sizes - 20]).ravel(),
)
slow = packets[:SLOW_PACKETS]
ways = {
    "raw_cksum_many: both sums of each packet": (PACKETS, lambda: raw_cksum_many(whole.data, *spans)),
    "capture.verify: every verdict, counted": (PACKETS, lambda: capture.verify(whole).counts()),
    "verify_packet: one call a packet": (
        SLOW_PACKETS,
        lambda: [verify_packet(p, link="ethernet") for p in slow],
    ),
}
try:
    from scapy.layers.inet import IP
    from scapy.utils import checksum as scapy_checksum

    ways["scapy checksum(): both sums"] = (
        SLOW_PACKETS,
        lambda: [(scapy_checksum(p[14:34]), scapy_checksum(p[34:])) for p in slow],
    )
    ways["scapy IP(): parsed, nothing judged"] = (
        SLOW_PACKETS // 10,
        lambda: [IP(p[14:]) for p in slow[: SLOW_PACKETS // 10]],
    )
except ImportError:
    print("scapy is not installed and is left out")
try:
    import dpkt

    ways["dpkt in_cksum(): both sums"] = (
        SLOW_PACKETS,
        lambda: [(dpkt.dpkt.in_cksum(p[14:34]), dpkt.dpkt.in_cksum(p[34:])) for p in slow],
    )
    ways["dpkt Ethernet(): parsed, nothing judged"] = (
        SLOW_PACKETS,
        lambda: [dpkt.ethernet.Ethernet(p) for p in slow],
    )
except ImportError:
    print("dpkt is not installed and is left out")

costs = dict.fromkeys(ways, float("inf"))
for _ in range(REPEATS):  # all ways in turn, so that a slow moment of the machine meets each of them
    for name, (count, run) in ways.items():
        begin = time.perf_counter()
        run()
        costs[name] = min(costs[name], (time.perf_counter() - begin) / count * 1e9)
cost = pd.Series(costs, name="ns per packet")
cost.round(0).to_frame()

# %%
figure, axes = plt.subplots(figsize=plot.PAGE, layout="constrained")
own = [name.startswith(("capture", "raw_", "verify")) for name in cost.index]
colours = [plot.COLOURS[0] if mine else plot.COLOURS[1] for mine in own]
bars = axes.barh(cost.index[::-1], cost[::-1], color=colours[::-1])
axes.bar_label(bars, labels=[f" {value:,.0f}" for value in cost[::-1]])
axes.set_xscale("log")
axes.margins(x=0.25)
axes.set_xlabel(
    f"ns per packet, log scale, best of {REPEATS}; {lab.host().cpu}, kernel {active_kernel().name}",
    loc="right",
)
axes.set_title("Two checksums a packet, IMIX sizes", loc="left")
plt.show()

# %% [markdown]
# ## Answer

# %%
verdict, sums = (
    cost["capture.verify: every verdict, counted"],
    cost["raw_cksum_many: both sums of each packet"],
)
others = {name: value for name, value in cost.items() if "both sums" in name and not name.startswith("raw_")}
beside = "; ".join(
    f"{name.split('(')[0]} takes {value / verdict:,.0f} times as long for the sums alone"
    for name, value in others.items()
)
display(
    Markdown(
        f"**What can be concluded here:** judging every checksum of a capture in memory costs {verdict:,.0f} ns a packet, "
        f"{verdict / sums:.1f} times the bare sums{'; ' + beside if beside else ''}.\n\n"
        f"**What can't:** that the rest of a program gets faster by as much. Parsing a packet into Python objects costs "
        f"microseconds whoever sums it; the gain is for those who ask about a whole capture."
    )
)
