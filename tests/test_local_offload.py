"""Frames of a running kernel whose outer checksum is made for an inner one that the card is to complete."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from fixture_protocols import geneve
from make_fixtures import (
    Built,
    Net,
    Net4,
    Net6,
    ethernet,
    gre,
    internet_checksum,
    ones_complement_sum,
    tcp,
    udp,
    vxlan,
)
from test_packet_cases import CASES

from fastcksum.packets import fill_checksums, verify_packet

STORED = ("lco-live-9", "lco-vxlan")


@cache
def frames() -> list[tuple[bytes, int]]:
    """Frames and their link types: of this kernel, or where it gives no namespace or no tunnel, those that are
    stored.
    """
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


def tunnel(kind: str, net: Net, inner: Built) -> Built:
    """A tunnel whose outer checksum covers the packet in it."""
    four = inner.data[0] >> 4 == 4
    match kind:
        case "vxlan":
            return vxlan(net, ethernet(inner), "good")
        case "geneve":
            return geneve(net, ethernet(inner), 0x6558, b"\1\2\x80\1\0\0\0\7")
        case "gre":
            return gre(net, inner, 0x0800 if four else 0x86DD, key=True)
        case "gretap":
            return gre(net, ethernet(inner), 0x6558)
        case "gue":
            return udp(net, inner.behind(bytes([0, 4 if four else 41, 0, 0])), ports=(1, 6080))
        case _:
            return udp(net, inner, ports=(1, 5555))


@pytest.mark.parametrize("outside", [Net4("10.9.0.1", "10.9.0.2"), Net6()], ids=["over-4", "over-6"])
@pytest.mark.parametrize("inside", [Net4(), Net6()], ids=["of-4", "of-6"])
@pytest.mark.parametrize("kind", ["vxlan", "geneve", "gre", "gretap", "gue", "fou"])
def test_every_tunnel_of_linux(kind: str, inside: Net, outside: Net) -> None:
    """The outer sum of the packet that the card completes, on the packet that it gets."""
    for size in (0, 1, 2, 99, 1400):
        for transport in (tcp, udp):
            done, begun = (
                ethernet(tunnel(kind, outside, transport(inside, b"x" * size, fault)))
                for fault in ("good", "partial")
            )
            outer = next(expect for expect in done.expects if expect.layer in {"udp", "gre"})
            assert outer.offset is not None
            frame = bytearray(begun.data)
            frame[outer.offset : outer.offset + 2] = done.data[outer.offset : outer.offset + 2]
            verdicts = verify_packet(frame, link=1)
            assert [verdict.status for verdict in verdicts if verdict.offset == outer.offset] == ["good"]
            assert verdicts[-1].status == "partial"
            assert fill_checksums(frame, link=1) == done.data
            frame[outer.offset] ^= 1  # what is wrong stays so
            wrong = verify_packet(frame, link=1)
            assert [verdict.status for verdict in wrong if verdict.offset == outer.offset] == ["bad"]
