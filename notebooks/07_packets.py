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

from fastcksum import active_kernel, capture, lab, raw_cksum_many
from fastcksum.lab import plot
from fastcksum.packets import fill_checksums, verify_packet

# %% [markdown]
# ## A capture, judged
# The capture is a small one that the tests of this project make: every protocol and link type that is understood, right
# and wrong on purpose. Any pcap or pcapng file will do.

# %%
folder = next(
    path for path in (Path.cwd(), *Path.cwd().parents) if (path / CAPTURE).is_file()
)
report = capture.verify(folder / CAPTURE)
table = pd.DataFrame(report.counts_by_layer()).T
table.loc["all"] = table.sum()
print(report)
table.astype(int)

# %%
plot.verdicts(report, title=f"{Path(CAPTURE).name}, by status")

# %% [markdown]
# Every verdict has the field as it stands and as it should be, and where the status alone does not say it, a reason:

# %%
frame = report.frame()
for name in ("found", "expected"):
    frame[name] = ["" if pd.isna(value) else f"{value:#06x}" for value in frame[name]]
shown = frame[frame["status"] != "good"].groupby("status").head(3)
columns = ["packet", "layer", "status", "found", "expected", "reason"]
with pd.option_context("display.max_colwidth", None):
    display(shown.sort_values(["status", "packet"])[columns])

# %% [markdown]
# ## What a verdict costs
# Packets of 40, 576 and 1500 bytes in the proportion 7 : 4 : 1 (the "simple IMIX"), TCP over IPv4 over Ethernet, in one
# buffer. The figure of each way is the best of several passes, per packet, in one process, on one core.

# %%
rng = np.random.default_rng(SEED)


def tcp_frame(size):
    """An Ethernet frame with an IPv4 packet of this many bytes, all of it right."""
    ethernet = bytes.fromhex("020000000001 020000000002 0800")
    length = size.to_bytes(2, "big")
    ipv4 = (
        b"\x45\0" + length + bytes.fromhex("0001 4000 40 06 0000 c0000201 c6336407")
    )
    tcp = bytes.fromhex("c000 0050 00010203 04050607 50 18 2000 0000 0000")
    frame = ethernet + ipv4 + tcp + rng.bytes(size - 40)
    return fill_checksums(frame, link="ethernet")


# %%
frames = {size: tcp_frame(size) for size in lab.IMIX}
weights = np.array(list(lab.IMIX.values())) / sum(lab.IMIX.values())
sizes = rng.choice(list(lab.IMIX), PACKETS, p=weights)
packets = [frames[size] for size in sizes.tolist()]
slow = packets[:SLOW_PACKETS]
lengths = sizes + 14
offsets = np.cumsum(lengths) - lengths
times, links = np.zeros(PACKETS, "M8[ns]"), np.ones(PACKETS, np.uint16)
as_stored = lengths.astype(np.uint32)
whole = capture.Capture(
    b"".join(packets), offsets, as_stored, as_stored, times, links
)
assert capture.verify(whole).counts()["good"] == 2 * PACKETS

# %% [markdown]
# Ours: the bare sums of both spans of each packet in one call of `raw_cksum_many`, which is what verdicts are compared
# with below; every verdict of the capture, counted; and one call for each packet.

# %%
starts = np.column_stack([offsets + 14, offsets + 34]).ravel()
spans = np.column_stack([np.full(PACKETS, 20), sizes - 20]).ravel()


def call_each() -> list:
    """The verdicts on each packet, by a call of its own."""
    return [verify_packet(packet, link="ethernet") for packet in slow]


sums = "raw_cksum_many: both sums"
verdicts = "capture.verify: every verdict"
ways = {
    sums: (PACKETS, lambda: raw_cksum_many(whole.data, starts, spans)),
    verdicts: (PACKETS, lambda: capture.verify(whole).counts()),
    "verify_packet: a call a packet": (SLOW_PACKETS, call_each),
}
ours = list(ways)

# %% [markdown]
# Theirs, where they are installed: the sums alone, and a packet parsed into objects with nothing judged.

# %%
few = slow[: max(SLOW_PACKETS // 10, 1)]
try:
    from scapy.layers.inet import IP
    from scapy.utils import checksum

    ways["scapy checksum(): both sums"] = (
        SLOW_PACKETS,
        lambda: [(checksum(p[14:34]), checksum(p[34:])) for p in slow],
    )
    ways["scapy IP(): parsed"] = (len(few), lambda: [IP(p[14:]) for p in few])
except ImportError:
    print("scapy is not installed and is left out")

# %%
try:
    from dpkt.dpkt import in_cksum
    from dpkt.ethernet import Ethernet

    ways["dpkt in_cksum(): both sums"] = (
        SLOW_PACKETS,
        lambda: [(in_cksum(p[14:34]), in_cksum(p[34:])) for p in slow],
    )
    ways["dpkt Ethernet(): parsed"] = (
        SLOW_PACKETS,
        lambda: [Ethernet(p) for p in slow],
    )
except ImportError:
    print("dpkt is not installed and is left out")

# %% [markdown]
# All ways in turn, so that a slow moment of the machine meets each of them.

# %%
costs = dict.fromkeys(ways, float("inf"))
for _ in range(REPEATS):
    for name, (count, run) in ways.items():
        begin = time.perf_counter()
        run()
        costs[name] = min(costs[name], (time.perf_counter() - begin) / count * 1e9)
pd.Series(costs, name="ns per packet").round(0).to_frame()

# %%
note = f"kernel {active_kernel().name}; IMIX sizes; the best of {REPEATS} passes"
plot.cost_per_packet(
    costs, lab.host(), ours=ours, note=note, title="Two checksums a packet"
)

# %% [markdown]
# ## Answer

# %%
verdict = costs[verdicts]
beside = "".join(
    f"; {name.split('(')[0]} takes {value / verdict:,.0f} times that for its sums"
    for name, value in costs.items()
    if "both sums" in name and name not in ours
)

# %%
answer = f"""
**What can be concluded here:** judging every checksum of a capture in memory costs
{verdict:,.0f} ns a packet ({PACKETS:,} packets, {len(whole.data) / 1e6:.0f} MB).
That is {verdict / costs[sums]:.1f} times what `raw_cksum_many` takes for the sums of
the same spans, whose offsets it is given; finding them is part of judging{beside}.

**What can't:** that the rest of a program gets faster by as much. Parsing a packet
into Python objects costs microseconds whoever sums it; the gain is for those who ask
about a whole capture.
"""
display(Markdown(answer))
