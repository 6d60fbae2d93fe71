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
# # Why is this checksum wrong, and how is it mended?
#
# "Bad" says that a sum does not come out, not why. Five packets below carry a checksum that a program of the usual kind
# would have made: the bytes in the wrong order, an odd last byte in the wrong half, carries that were dropped, a field
# that was not zero while the sum was made, an address that a router changed without an update. Each is looked at word
# by word, named, and mended. RFC 1071 defines the sum, RFC 1624 the update.

# %% tags=["parameters"]
MESSAGE = "why is it wrong?!"
SOURCE, DESTINATION, TRANSLATED = "192.0.2.10", "198.51.100.20", "203.0.113.7"

# %%
import socket
import struct

import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from fastcksum import capture, update_checksum
from fastcksum.lab import plot
from fastcksum.packets import explain, fill_checksums, fill_into, verify_packet

# %% [markdown]
# ## A packet that is right
# UDP over IPv4 with an odd number of bytes. `explain` shows the pseudo header, each word with its field and the running
# sum, the carries that are folded, the complement, and what stands in the packet.


# %%
def datagram(source: str, destination: str, message: str) -> bytes:
    data = message.encode()
    udp = struct.pack("!HHHH", 5000, 5001, 8 + len(data), 0) + data
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0)
    return fill_checksums(head + addresses + udp)


right = datagram(SOURCE, DESTINATION, MESSAGE)
explain(right)

# %% [markdown]
# ## Five ways to get it wrong
# Each function makes the field as a program with that mistake does, from the words that `explain` has shown.

# %%
total = explain(right, layer="udp").sums[0].total
good = explain(right, layer="udp").sums[0].complement


def fold(number: int) -> int:
    while number > 0xFFFF:
        number = (number >> 16) + (number & 0xFFFF)
    return number


def with_field(value: int) -> bytes:
    return right[:26] + struct.pack("!H", value) + right[28:]


# %%
last = ord(MESSAGE[-1])
pseudo = [
    word for word in explain(right, layer="udp").sums[0].words if word.offset is None
]
translated = bytearray(datagram(SOURCE, TRANSLATED, MESSAGE))
translated[26:28] = right[26:28]  # the router has mended the IPv4 header alone
broken = {
    "byte order": with_field(socket.htons(good) if socket.htons(1) != 1 else good),
    "odd length": with_field(~fold(total - (last << 8) + last) & 0xFFFF),
    "no fold": with_field(~total & 0xFFFF),
    "field not zeroed": with_field(~fold(total + fold(pseudo[-1].total)) & 0xFFFF),
    "NAT without update": bytes(translated),
}

# %% [markdown]
# ## What they have in common
# One verdict for all five, and the status alone does not tell them apart. The IPv4 header is right in each.


# %%
def as_capture(packets: list[bytes]) -> capture.Capture:
    lengths = np.array([len(packet) for packet in packets])
    times = np.zeros(len(packets), "M8[ns]")
    offsets, links = np.cumsum(lengths) - lengths, np.full(len(packets), 101)
    data = b"".join(packets)
    return capture.Capture(data, offsets, lengths, lengths, times, links)


before = capture.verify(as_capture(list(broken.values())))
table = before.frame()[["packet", "layer", "dst", "status", "found", "expected"]]
table[table["layer"] == "udp"].assign(mistake=list(broken))

# %%
plot.verdicts(before, title="five packets, one sum of each wrong")

# %% [markdown]
# ## Found
# For a bad field `explain` tries the mistakes that are common, and says which of them gives the value that stands
# there. Where none does, it says by how much the words have changed since the field was right.

# %%
explain(broken["no fold"], layer="udp")

# %%
found = {
    mistake: explain(packet, layer="udp").sums[0].notes
    for mistake, packet in broken.items()
}
pd.DataFrame(
    {"what explain says": ["; ".join(notes) for notes in found.values()]}, found
)

# %% [markdown]
# The last one fits no mistake of arithmetic. The difference is that of two addresses: the destination as it stands, and
# the one that the sender wrote. Its checksum is the sender's, right for the old address.

# %%
old, new = socket.inet_aton(DESTINATION), socket.inet_aton(TRANSLATED)
field = struct.unpack("!H", broken["NAT without update"][26:28])[0]
updated = update_checksum(field, old, new, udp=True)
print(f"sent {field:#06x}, updated for the new address {updated:#06x}")

# %% [markdown]
# ## Mended
# Four are mended by making the sum again, in place. The router's way (RFC 1624) needs no data: the old field, the old
# address and the new one. Both come to the same value.

# %%
mended = {mistake: bytearray(packet) for mistake, packet in broken.items()}
changed = {mistake: fill_into(packet) for mistake, packet in mended.items()}
after = capture.verify(as_capture([bytes(packet) for packet in mended.values()]))
same = struct.unpack("!H", mended["NAT without update"][26:28])[0] == updated
print(changed)
print(after)

# %%
assert all(
    verdict.status == "good"
    for packet in mended.values()
    for verdict in verify_packet(packet)
)
assert same

# %% [markdown]
# A whole capture is mended by `capture.fix("broken.pcap", "mended.pcap")`, or on the shell `fastcksum fix broken.pcap
# mended.pcap`; `fastcksum explain broken.pcap --packet 3` shows the sum of the frame that Wireshark numbers 3.

# %% [markdown]
# ## Answer

# %%
told = [" ".join(notes) for notes in found.values()]
named = sum("is what comes out if" in words for words in told)
counts = f"{before.counts()['bad']} of {len(before.rows)} sums"
good_now = f"{after.counts()['good']} of {len(after.rows)} sums are good"
display(
    Markdown(
        f"Of {len(broken)} packets with a bad checksum ({counts}), {named} carry the "
        "value that a common mistake gives, and the words of the sum show which; the "
        "other is right for an address that was changed: `update_checksum` gives "
        f"{updated:#06x}, and so does the whole sum made anew. After "
        f"{sum(changed.values())} fields were written, {good_now}."
    )
)
