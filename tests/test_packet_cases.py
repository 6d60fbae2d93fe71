"""Packets and captures over which programs stumbled in public (data/cases2.jsonl), and the neighbours of each kind.

A case says what is called and what has to come out: layer, status and found field of each checksum, outermost first.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, replace
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any

import make_fixtures as make
import pytest
from make_fixtures import Built, Net, Net4, Net6
from oracle import expand

from fastcksum import capture, update_checksum
from fastcksum.packets import fill_checksums, verify_packet

FILE = Path(__file__).parent / "data" / "cases2.jsonl"


@dataclass(frozen=True)
class Case:
    id: str
    call: str
    link: int
    input: bytes
    expected: Any


def load() -> dict[str, Case]:
    lines = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return {
        line["id"]: Case(
            line["id"], line["call"], line.get("link", 0), expand(line["input_hex"]), line["expected"]
        )
        for line in lines
    }


CASES = load()


def said(packet: bytes, link: int) -> list[list[Any]]:
    return [[v.layer, v.status, v.found] for v in verify_packet(packet, link=link)]


def test_all_cases_are_there() -> None:
    assert len(CASES) == 71


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.call == "verify_packet"])
def test_packet(name: str) -> None:
    case = CASES[name]
    assert said(case.input, case.link) == case.expected


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.call == "capture.verify"])
@pytest.mark.filterwarnings("ignore::fastcksum.capture.CaptureWarning")
def test_file(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / "case.pcap"
    path.write_bytes(case.input)
    report = capture.verify(path)
    assert report.packets == case.expected["packets"]
    assert (report.damage is None) == (case.expected["damage"] is None)
    assert case.expected["damage"] is None or case.expected["damage"] in str(report.damage)
    assert [[row.packet, row.layer, row.status] for row in report.rows] == case.expected["rows"]


def test_the_other_calls() -> None:
    others = {
        name: case for name, case in CASES.items() if case.call not in {"verify_packet", "capture.verify"}
    }
    assert set(others) == {"eompls-fill", "update-udp-zero"}
    fill = others["eompls-fill"]
    assert fill_checksums(fill.input, link=fill.link).hex() == fill.expected
    rewrite = others["update-udp-zero"]
    old, new = rewrite.input[:4], rewrite.input[4:]
    assert update_checksum(0, old, new, udp=True) == rewrite.expected


# Ethernet over MPLS

INNER = make.tcp(Net4("10.0.0.1", "10.0.0.2"))
CONTROL_WORD = b"\0\0\0\1"


def with_destination(first: int, payload: Built, tags: tuple[tuple[int, int], ...] = ()) -> Built:
    """A frame to an address that begins with this byte."""
    frame = make.ethernet(payload, tags=tags)
    return Built(bytes([first]) + frame.data[1:], frame.expects)


def layers(built: Built) -> list[list[Any]]:
    return [[e.layer, e.status, e.found] for e in built.expects]


@pytest.mark.parametrize("first", [*range(0x10), *range(0x40, 0x50), *range(0x60, 0x70), 0x14, 0xFE])
@pytest.mark.parametrize("word", [b"", CONTROL_WORD], ids=["plain", "control-word"])
@pytest.mark.parametrize("tags", [(), ((0x8100, 7),), ((0x88A8, 7), (0x8100, 8))], ids=["", "vlan", "qinq"])
def test_ethernet_over_mpls(first: int, word: bytes, tags: tuple[tuple[int, int], ...]) -> None:
    """Whatever the address begins with, over one version of IP or the other, what is inside is found."""
    for inner in (INNER, make.udp(Net6("fd00::1", "fd00::2")), make.tcp(Net4("10.0.0.1", "10.0.0.2"), b"")):
        frame = with_destination(first, inner, tags).behind(word)
        outer = make.ethernet(make.mpls(frame.then(b"\0" * 3)), 0x8847, tags=tags)
        assert said(outer.data, 1) == layers(outer)
        spoilt = bytearray(outer.data)
        for expect in outer.expects:
            assert expect.offset is not None
            spoilt[expect.offset] ^= 0x55
        assert fill_checksums(spoilt, link=1) == outer.data


@pytest.mark.parametrize("first", [0x45, 0x46, 0x4F, 0x60, 0x02])
@pytest.mark.parametrize("word", [b"", CONTROL_WORD], ids=["plain", "control-word"])
@pytest.mark.parametrize("ethertype", [0x0806, 0x88CC, 0x1234])
def test_what_is_not_understood_behind_mpls_is_left_alone(first: int, word: bytes, ethertype: int) -> None:
    payload = Built(b"\0\1\x08\0\6\4\0\1" + bytes(range(40)))
    for frame in (with_destination(first, Built(payload.data[i:])) for i in range(9)):
        data = make.ethernet(
            make.mpls(Built(word + frame.data[:12] + ethertype.to_bytes(2, "big") + frame.data[14:])), 0x8847
        ).data
        assert said(data, 1) == []
        assert fill_checksums(data, link=1) == data


@pytest.mark.parametrize("net", [Net4(), Net6()], ids=["ipv4", "ipv6"])
def test_ip_over_mpls_is_still_filled(net: Net) -> None:
    """Also where its own header sum is what is wrong: its lengths and its protocol say enough."""
    for inner in (make.tcp(net), make.udp(net, b""), make.tcp(net, b"x" * 1400)):
        packet = make.ethernet(make.mpls(inner), 0x8847)
        spoilt = bytearray(packet.then(b"\0" * 4).data)
        for expect in packet.expects:
            assert expect.offset is not None
            spoilt[expect.offset : expect.offset + 2] = b"\0\0"
        assert fill_checksums(spoilt, link=1)[:-4] == packet.data


# local checksum offload


def complete(packet: bytes, at: int, field: int, length: int, pseudo: bytes) -> bytes:
    """What the card sends: the inner segment at `at` with its checksum."""
    whole = bytearray(packet)
    whole[at + field : at + field + 2] = b"\0\0"
    right = make.internet_checksum(pseudo + bytes(whole[at : at + length]))
    whole[at + field : at + field + 2] = right.to_bytes(2, "big")
    return bytes(whole)


@pytest.mark.parametrize("outer", [Net4(), Net6()], ids=["over-ipv4", "over-ipv6"])
@pytest.mark.parametrize("inner", [Net4("10.0.0.1", "10.0.0.2"), Net6("fd00::1", "fd00::2")], ids=["4", "6"])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 400])
@pytest.mark.parametrize("tunnel", ["vxlan", "gre", "geneve", "vxlan-in-gre"])
@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_local_checksum_offload(outer: Net, inner: Net, size: int, tunnel: str, kind: str) -> None:
    """The outer sum is made for the packet that the card sends; captured before, the inner one holds its pseudo
    header.
    """
    segment = (make.tcp if kind == "tcp" else make.udp)(inner, b"y" * size)

    def wrap(built: Built) -> Built:
        if tunnel == "gre":
            return make.gre(outer, built, 0x0800 if inner.version == 4 else 0x86DD)
        if tunnel == "geneve":
            header = b"\0\0\x65\x58\0\0\7\0"
            return make.udp(outer, header + make.ethernet(built).data, ports=(5, 6081))
        vxlan = make.vxlan(outer, make.ethernet(built), "good")
        return (
            vxlan if tunnel == "vxlan" else make.gre(outer, vxlan, 0x0800 if outer.version == 4 else 0x86DD)
        )

    sent = wrap(segment).data
    verdicts = verify_packet(sent)
    assert {v.status for v in verdicts} == {"good"}
    last = verdicts[-1]
    assert last.offset is not None
    at = last.offset - (16 if kind == "tcp" else 6)
    length = len(sent) - at
    pseudo = inner.pseudo(6 if kind == "tcp" else 17, length)
    partial = bytearray(sent)
    partial[last.offset : last.offset + 2] = make.ones_complement_sum(pseudo).to_bytes(2, "big")
    assert complete(bytes(partial), at, last.offset - at, length, pseudo) == sent
    captured = verify_packet(partial)
    assert [v.status for v in captured] == ["good"] * (len(verdicts) - 1) + ["partial"]
    outer_ones = [v for v in captured if v.layer in {"udp", "gre"} and v.status == "good"]
    assert all("offload" in v.reason and v.found == v.expected for v in outer_ones)
    assert len(outer_ones) == (2 if tunnel == "vxlan-in-gre" else 1)
    assert fill_checksums(partial) == sent

    for one in outer_ones:  # not right even so
        assert one.offset is not None
        spoilt = bytearray(partial)
        spoilt[one.offset] ^= 0x20
        assert "bad" in [v.status for v in verify_packet(spoilt)]


# UDP 0 over IPv6


@pytest.mark.parametrize("port", [4789, 8472, 4790, 6081, 2152, 4341, 4754, 6635])
def test_tunnels_may_go_without_a_checksum_over_ipv6(port: int) -> None:
    packet = make.udp(Net6(), b"\0" * 40, "none", ports=(40000, port))
    first = verify_packet(packet.data)[0]
    assert (first.layer, first.status, first.found) == ("udp", "none", 0)
    assert "6935" in first.reason


@pytest.mark.parametrize("port", [1, 53, 4788, 3544, 65535])
def test_nothing_else_may(port: int) -> None:
    packet = make.udp(Net6(), b"\0" * 40, "none", ports=(40000, port))
    assert said(packet.data, 101)[0] == ["udp", "bad", 0]


# OSPFv3


def ospf3(kind: int, options: int, trailer: bytes, found: int) -> bytes:
    option_bytes = options.to_bytes(3, "big")
    body = {
        1: b"\0\0\0\5\1" + option_bytes + b"\0\x0a\0\x28" + b"\0" * 8,
        2: b"\0" + option_bytes + b"\5\xdc\0\7\0\0\0\1",
        4: b"\0\0\0\0",
    }[kind]
    header = struct.pack("!BBHIIHBB", 3, kind, 16 + len(body), 1, 0, found, 0, 0)
    return Net6(dst="ff02::5").carry(89, Built(header + body + trailer)).data


TRAILER = struct.pack("!HHHHQ", 1, 36, 0, 1, 7) + b"\xaa" * 20


@pytest.mark.parametrize("found", [0, 0x1234])
@pytest.mark.parametrize(("kind", "options"), [(1, 0x000413), (2, 0x000413), (1, 0x13), (2, 0x13), (4, 0)])
def test_ospf3_with_an_authentication_trailer(kind: int, options: int, found: int) -> None:
    """The AT bit, or where no bit says so the trailer itself."""
    assert said(ospf3(kind, options, TRAILER, found), 101) == [["ospf", "none", found]]


@pytest.mark.parametrize("trailer", [b"", b"\xff" * 4, b"\xff" * 24, struct.pack("!HHQQ", 1, 21, 0, 0)])
def test_ospf3_without(trailer: bytes) -> None:
    assert said(ospf3(1, 0x13, trailer, 0x1234), 101) == [["ospf", "bad", 0x1234]]


# link types


@pytest.mark.parametrize("link", [9, 50])
@pytest.mark.parametrize("first", [0x0F, 0x8F])
def test_cisco_hdlc_in_ppp(link: int, first: int) -> None:
    for inner, ethertype in ((make.tcp(Net4()), b"\x08\0"), (make.tcp(Net6()), b"\x86\xdd")):
        built = inner.behind(bytes([first, 0]) + ethertype)
        assert said(built.data, link) == layers(built)


@pytest.mark.parametrize("link", [0, 108])
@pytest.mark.parametrize("order", ["<", ">"])
def test_bsd_loopback_with_an_ethernet_type(link: int, order: str) -> None:
    tagged = make.tcp(Net4()).behind(b"\0\7\x08\0")
    for inner, word in ((make.tcp(Net4()), 0x0800), (make.tcp(Net6()), 0x86DD), (tagged, 0x8100)):
        built = inner.behind(struct.pack(order + "I", word))
        assert said(built.data, link) == layers(built)


def test_vxlan_flags() -> None:
    """On 4789 only one flag counts; on 4790 another says that a protocol number is there."""
    frame, six = make.ethernet(INNER), make.tcp(Net6("fd00::1", "fd00::2"))
    for flags in range(256):
        plain = make.vxlan(Net4(), frame, "good", bytes([flags, 1, 2, 2, 0, 0, 7, 9]))
        assert len(verify_packet(plain.data)) == (4 if flags & 0x08 else 2)
        generic = make.vxlan(Net4(), six, "good", bytes([flags, 1, 2, 2, 0, 0, 7, 9]), 4790)
        assert len(verify_packet(generic.data)) == (3 if flags & 0x0C == 0x0C else 2)


# RPL's routing header


@pytest.mark.parametrize("shared", range(16))
@pytest.mark.parametrize("left", [0, 1, 3])
def test_rpl(shared: int, left: int) -> None:
    """Three addresses without the first bytes, which are those of the destination; the last is the final one."""
    way = [IPv6Address("2001:db8:1::2"), IPv6Address("2001:db8:1::3"), IPv6Address("2001:db8:1::99")]
    same = min(shared, 15)
    addresses = b"".join(a.packed[same:] for a in way)
    padding = -len(addresses) % 8
    header = bytes([3, left, same << 4 | same, padding << 4, 0, 0]) + addresses + b"\0" * padding
    net = Net6(dst="2001:db8:1::1", final_dst=str(way[-1]) if left else "2001:db8:1::1")
    length = (len(header) + 2) // 8 - 1
    packet = make.udp(replace(net, extensions=((43, bytes([length]) + header),)))
    assert said(packet.data, 101) == layers(packet)
