"""Most packets are judged without the walk, which must have given the same: plain ones, and any with a byte changed."""

from __future__ import annotations

import itertools
import os
import struct
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from oracle import raw_sum

from fastcksum import _core
from fastcksum.packets import LAYERS, STATUSES

ETHERNET = 1
MACS = bytes.fromhex("020000000002020000000001")
ADDRESSES = {4: bytes([192, 0, 2, 1, 198, 51, 100, 7]), 6: bytes.fromhex("20010db8" + "00" * 11 + "01") * 2}


def complement(data: bytes, pseudo: bytes = b"") -> bytes:
    """The checksum field of data whose field is 0."""
    return struct.pack("=H", ~raw_sum(pseudo + data) & 0xFFFF)


def transport(version: int, protocol: int, payload: bytes, port: int) -> bytes:
    head, field = (
        (struct.pack("!HHIIBBHHH", 443, port, 1, 1, 5 << 4, 0x10, 65535, 0, 0), 16)
        if protocol == 6
        else (struct.pack("!HHHH", 50001, port, 8 + len(payload), 0), 6)
    )
    data = head + payload
    pseudo = ADDRESSES[version] + struct.pack("!II", len(data), protocol)
    return data[:field] + complement(data, pseudo) + data[field + 2 :]


def frame(version: int, protocol: int, payload: bytes, port: int = 50002) -> bytes:
    data = transport(version, protocol, payload, port)
    if version == 6:
        return MACS + struct.pack("!HIHBB", 0x86DD, 6 << 28, len(data), protocol, 64) + ADDRESSES[6] + data
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(data), 1, 0, 64, protocol, 0) + ADDRESSES[4]
    return MACS + b"\x08\x00" + head[:10] + complement(head) + head[12:] + data


PLAIN = [
    frame(version, protocol, payload)
    for version, protocol, payload in itertools.product((4, 6), (6, 17), (b"", b"\x01", bytes(range(31))))
]


def as_if_plain(changed: bytearray) -> bytes:
    """With sums that are right if this is a plain packet, whatever else its bytes say."""
    ip = changed[14:]
    start, length, protocol = (20, ip[2] << 8 | ip[3], ip[9]) if ip[0] >> 4 == 4 else (40, 40 + ip[5], ip[6])
    data, field = ip[start:length], 16 if protocol == 6 else 6
    pseudo = bytes(ip[12:20] if start == 20 else ip[8:40]) + struct.pack("!II", len(data), protocol)
    if len(data) >= field + 2:
        data[field : field + 2] = bytes(2)
        data[field : field + 2] = complement(bytes(data), pseudo)
        ip[start:length] = data
    if start == 20:
        ip[10:12] = bytes(2)
        ip[10:12] = complement(bytes(ip[:20]))
    return bytes(changed[:14] + ip)


def verified(frames: list[bytes], captured: list[int]) -> list[list[tuple[str, str]]]:
    """(layer, status) of each check of each frame, from the batch; what is cut off lies behind it in the buffer."""
    wholes = np.array([len(each) for each in frames], np.uint32)
    offsets = np.cumsum([0, *wholes[:-1]], dtype=np.int64)
    links, counts = np.full(len(frames), ETHERNET, np.uint16), np.zeros(256, np.uint64)
    per_packet, codes, _, _ = _core.verify_packets(
        b"".join(frames), offsets, np.array(captured, np.uint32), wholes, links, counts
    )
    assert counts.tolist() == np.bincount(np.frombuffer(codes, np.uint8), minlength=256).tolist()
    left = iter(codes)
    return [
        [(LAYERS[code >> 3], STATUSES[code & 7]) for code in itertools.islice(left, n)] for n in per_packet
    ]


def walked(one: bytes, captured: int) -> list[tuple[str, str]]:
    found = _core.packet_checks(one[:captured], 0, None, len(one), "ethernet")
    return [(LAYERS[layer], STATUSES[status]) for layer, status, *_ in found]


@pytest.mark.parametrize("one", PLAIN, ids=lambda one: f"{len(one)} bytes")
def test_a_plain_packet_and_its_neighbours(one: bytes) -> None:
    """Each byte with each bit and all bits changed, and its sums made to fit again; a trailer; cut to each length."""
    right = [("ipv4", "good")] * (one[12:14] == b"\x08\x00")
    transport = "tcp" if (one[23] if right else one[20]) == 6 else "udp"
    frames = [one, one + b"\xff" * 9]
    for at, bits in itertools.product(range(len(one)), (*(1 << bit for bit in range(8)), 0xFF)):
        changed = bytearray(one)
        changed[at] ^= bits
        frames += [bytes(changed), as_if_plain(changed)]
    captured = [len(each) for each in frames] + list(range(len(one)))
    frames += [one] * len(one)
    found = verified(frames, captured)
    assert found[:2] == [[*right, (transport, "good")]] * 2
    assert found == [walked(*pair) for pair in zip(frames, captured, strict=True)]
    assert sum(checks != found[0] for checks in found) > len(frames) / 4


@pytest.mark.parametrize("total", [*range(42)])
@pytest.mark.parametrize("protocol", [6, 17])
def test_lengths_that_lie(total: int, protocol: int) -> None:
    changed = bytearray(frame(4, protocol, b"payload"))
    changed[16:18] = struct.pack("!H", total)
    one = as_if_plain(changed)
    assert verified([one], [len(one)]) == [walked(one, len(one))]


@pytest.mark.parametrize("port", [4789, 6081, 2152])
def test_a_tunnel_is_walked_through(port: int) -> None:
    inner = frame(4, 6, b"x" * 5)
    head = {4789: b"\x08" + bytes(7), 6081: bytes.fromhex("0000655800000000"), 2152: b""}[port]
    inside = inner[14:] if port == 2152 else inner
    head = head or struct.pack("!BBHI", 0x30, 0xFF, len(inside), 1)
    outer = frame(4, 17, head + inside, port)
    assert verified([outer], [len(outer)]) == [
        [("ipv4", "good"), ("udp", "good"), ("ipv4", "good"), ("tcp", "good")]
    ]


@pytest.mark.parametrize("version", [4, 6])
def test_a_field_of_zero_is_no_sum(version: int) -> None:
    """Even where all words add up to 0xffff with it: a sender writes 0xffff then (RFC 768, RFC 8200 section 8.1)."""
    one = bytearray(frame(version, 17, b"payload\0"))
    field = slice(len(one) - 10, len(one) - 8)
    one[-2:], one[field] = raw_sum(bytes(one[-2:]) + bytes(one[field])).to_bytes(2, sys.byteorder), b"\0\0"
    assert verified([bytes(one)], [len(one)])[0][-1] == ("udp", "none" if version == 4 else "bad")


@pytest.mark.parametrize("off", [-2, -1, 0, 1, 2])
def test_a_kernel_that_wraps_is_given_a_start_value_of_16_bits(off: int) -> None:
    """These addresses make a pseudo header of more: a kernel of the past would lose a carry, and take a bad sum."""
    script = f"""
        import random, sys
        import test_plain_packets as here
        here.ADDRESSES[4] = bytes([10, 0, 0, 200, 10, 0, 0, 55])
        one = bytearray(here.frame(4, 6, random.Random(1).randbytes(1440)))
        field = (int.from_bytes(one[50:52], sys.byteorder) + {off}) & 0xFFFF
        one[50:52] = field.to_bytes(2, sys.byteorder)
        print(here.verified([bytes(one)], [len(one)])[0][-1])
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(script)],
        env={**os.environ, "FASTCKSUM_KERNEL": "dpdk_after", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == f"{('tcp', 'bad' if off else 'good')}\n"
