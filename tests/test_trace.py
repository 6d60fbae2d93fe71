"""The packet load of trace(): its packets are right, its figures add up, its errors say what would do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fastcksum import kernels, raw_cksum
from fastcksum.lab import IMIX, trace
from fastcksum.lab._bench import job
from fastcksum.lab._bench.cells import draw_lengths
from fastcksum.lab._trace import headers


def test_spread_keeps_the_proportions() -> None:
    sizes = draw_lengths(IMIX, 1200, np.random.default_rng(1)).tolist()
    assert {size: sizes.count(size) for size in IMIX} == {40: 700, 576: 400, 1500: 100}
    assert sizes != sorted(sizes)


@pytest.mark.parametrize("packets", [1, 5, 11, 100])
def test_spread_gives_as_many_as_asked(packets: int) -> None:
    assert len(draw_lengths(IMIX, packets, np.random.default_rng(1))) == packets


def test_headers_are_those_of_the_rfcs() -> None:
    tcp = headers(1500)
    assert len(tcp) == 40
    assert tcp[0] == 0x45
    assert int.from_bytes(tcp[2:4], "big") == 1500
    assert tcp[9] == 6
    assert tcp[32] >> 4 == 5
    udp = headers(28)
    assert len(udp) == 28
    assert udp[9] == 17
    assert int.from_bytes(udp[24:26], "big") == 8


def test_figures_add_up() -> None:
    found = trace(["reference", "portable64"], packets=24, rounds=3, seed=1)
    assert [row.kernel for row in found.rows] == ["reference", "portable64"]
    assert found.packets == 24
    assert found.lengths == IMIX
    for row in found.rows:
        assert row.ns_per_packet == pytest.approx(row.ticks_per_packet / found.host.hz * 1e9)
        assert row.share == pytest.approx(1 - found.without_sum / row.ns_per_packet)
        assert found.shares[row.kernel] == row.share
        assert row.kernel in found.text()
    assert "4.16 %" in found.text()
    assert list(found.frame()["kernel"]) == ["reference", "portable64"]
    with pytest.raises(ValueError, match="2 kernels were traced"):
        _ = found.share


def test_share_of_one_kernel() -> None:
    found = trace("reference", {1500: 1}, packets=2, rounds=3)
    assert found.share == found.rows[0].share
    assert max(map(len, found.text().splitlines())) <= 115


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ({}, "lengths must map sizes to counts that are not all 0"),
        ({40: 0}, "not all 0"),
        ({40: 2, 100: -1}, "not all 0"),
        ({27: 1}, r"a packet of 27 bytes can't be received here: lengths must be in 28\.\.2048"),
        ({2049: 1}, r"2049 bytes .* 28\.\.2048"),
    ],
)
def test_lengths_that_are_no_packets(lengths: dict[int, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        trace("reference", lengths)


def test_each_packet_can_be_named() -> None:
    found = trace("reference", [1500, 40, 40], rounds=2, seed=3)
    assert (found.packets, found.lengths, found.seed, found.rounds) == (3, {1500: 1, 40: 2}, 3, 2)
    assert set(found.samples["kernel"]) == {"reference", "nothing"}
    assert len(found.samples) == 2 * 2 * 4
    assert (found.samples["calls"] % 3 == 0).all()
    with pytest.raises(
        ValueError, match="packets must be left out where lengths names each packet: 3 are named, not 9"
    ):
        trace("reference", [40, 40, 40], packets=9)
    with pytest.raises(ValueError, match="not all 0"):
        trace("reference", [])


def test_a_kernel_is_not_traced_outside_its_lengths() -> None:
    short = dataclasses.replace(next(k for k in kernels() if k.name == "reference"), name="short", max_len=20)
    with pytest.raises(
        ValueError, match=r"'short' is made for 0 to 20 bytes, and the segments .* have 20 to 1480"
    ):
        trace(short)
    assert trace(short, {40: 1}, packets=2, rounds=1).shares.keys() == {"short"}


def test_a_wrong_kernel_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[list[str]] = []
    monkeypatch.setattr(job, "check_sums", lambda _, names: checked.append(names))
    trace("reference", {40: 1}, packets=2, rounds=1)
    assert checked == [["reference", "nothing"]] * 2  # before and after


def test_yardsticks_have_no_share() -> None:
    with pytest.raises(ValueError, match="'nothing' is a yardstick"):
        trace("nothing")


def test_sum_of_a_receivable_packet_needs_no_trace() -> None:
    """The loop trusts header lengths, so the core refuses spans that are no packets."""
    from fastcksum import _core

    packet = bytearray(headers(60).ljust(60, b"\0"))
    bench = _core.Bench()
    assert bench.add("reference", bytes(packet), [0], [60], loop="receive") == 0
    for at, value in ((0, 0x44), (0, 0x4F), (0, 0x65), (32, 0xB0)):
        broken = bytearray(packet)
        broken[at] = value
        with pytest.raises(ValueError, match=r"span 0 \(60 bytes\) must hold an IPv4 packet"):
            bench.add("reference", bytes(broken), [0], [60], loop="receive")
    assert raw_cksum(packet) != 0
