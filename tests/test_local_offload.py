"""Frames of a running kernel whose outer checksum is made for an inner one that the card is to complete."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from make_fixtures import internet_checksum, ones_complement_sum
from test_packet_cases import CASES

from fastcksum.packets import fill_checksums, verify_packet

STORED = ("lco-live-9", "lco-vxlan")


@cache
def frames() -> list[tuple[bytes, int]]:
    """Frames and their link types: of this kernel, or where it gives no namespace or no tunnel, those that are stored."""
    command = ["unshare", "--net", sys.executable, str(Path(__file__).with_name("lco_frames.py"))]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    live = [(bytes.fromhex(line), 1) for line in run.stdout.split()]
    return live + [(CASES[name].input, CASES[name].link) for name in STORED]


@pytest.mark.needs_tool("ip")
def test_the_outer_sum_is_right_for_what_the_card_sends() -> None:
    for frame, link in frames():
        outer_ip, outer, inner_ip, inner = verify_packet(frame, link=link)
        assert (outer_ip.status, inner_ip.status, inner.status) == ("good", "good", "partial")
        assert (outer.layer, outer.status) == ("udp", "good")
        assert "local checksum offload" in outer.reason
        assert outer.expected == outer.found
        assert inner_ip.offset is not None
        assert inner.offset is not None
        assert outer.offset is not None
        start = inner_ip.offset + 10  # of the inner segment: its header has no options
        field = inner.offset - start
        segment = frame[start : start + field] + b"\0\0" + frame[inner.offset + 2 :]
        protocol = {"tcp": 6, "udp": 17}[inner.layer]
        pseudo = frame[start - 8 : start] + bytes([0, protocol]) + len(segment).to_bytes(2, "big")
        assert ones_complement_sum(pseudo) == inner.found
        right = internet_checksum(pseudo + segment)
        sent = frame[: inner.offset] + right.to_bytes(2, "big") + frame[inner.offset + 2 :]
        assert {verdict.status for verdict in verify_packet(sent, link=link)} == {"good"}
        assert fill_checksums(frame, link=link) == sent
