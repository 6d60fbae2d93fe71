"""fastcksum.packets: the packets of fixture_packets.py, lengths that lie, cuts at every byte, filling in, and
errors.
"""

from __future__ import annotations

import ipaddress
import random
import struct
import sys
from dataclasses import replace
from typing import Any

import fixture_packets
import make_fixtures as make
import numpy as np
import pytest
from make_fixtures import Built, Net4, Net6, Packet, internet_checksum, ones_complement_sum

from fastcksum import _core, raw_cksum, verify
from fastcksum.packets import (
    LAYERS,
    LINKS,
    STATUSES,
    Verdict,
    fill_checksums,
    ipv4_header_checksum,
    pseudo_header,
    transport_checksum,
    verdict_of,
    verify_packet,
)

PACKETS = fixture_packets.packets()
NOT_MADE = {("udp", "none"), ("rsvp", "none"), ("icmp_extension", "none")}  # and can be
TRANSPORTS = {"tcp", "udp", "udplite", "icmp", "icmpv6", "dccp"}
each_packet = pytest.mark.parametrize("packet", PACKETS, ids=lambda packet: packet.name)
each_whole_packet = pytest.mark.parametrize(  # the length on the wire of the others is known to captures only
    "packet", [packet for packet in PACKETS if packet.original is None], ids=lambda packet: packet.name
)


def judge(packet: Packet) -> list[Verdict]:
    """As in a capture, where the length on the wire is known."""
    return [
        verdict_of(item) for item in _core.packet_checks(packet.data, 0, None, packet.original, packet.link)
    ]


@each_packet
def test_verdicts(packet: Packet) -> None:
    verdicts = judge(packet)
    assert [(v.layer, v.status, v.found, v.expected, v.offset) for v in verdicts] == [
        (e.layer, e.status, e.found, e.expected, e.offset) for e in packet.expects
    ]
    for verdict, expect in zip(verdicts, packet.expects, strict=True):
        assert expect.reason in verdict.reason
        assert verdict.reason or verdict.status not in {"unchecked", "none", "partial"}


def test_the_packets_cover_every_layer_and_status() -> None:
    seen = {(expect.layer, expect.status) for packet in PACKETS for expect in packet.expects}
    assert {layer for layer, _ in seen} == set(LAYERS)
    assert {status for _, status in seen} == set(STATUSES)
    both = {"ipv4", "tcp", "udp", "udplite", "icmp", "icmpv6", "igmp", "dccp", "ospf", "gre", "vrrp"}
    both |= {"pim", "eigrp", "rsvp", "mobility", "icmp_extension"}
    assert seen >= {(layer, status) for layer in both for status in ("good", "bad")}
    assert {packet.link for packet in PACKETS} >= {0, 1, 9, 50, 51, 101, 104, 108, 113, 276}


@each_whole_packet
def test_a_packet_anywhere_in_a_buffer(packet: Packet) -> None:
    at = verify_packet(packet.data, link=packet.link)
    moved = verify_packet(b"\x45" * 7 + packet.data, 7, link=packet.link)
    assert moved == [v if v.offset is None else v._replace(offset=v.offset + 7) for v in at]
    as_array = np.frombuffer(packet.data, np.uint8)
    assert (
        verify_packet(as_array, link=packet.link)
        == verify_packet(bytearray(packet.data), link=packet.link)
        == at
    )


@each_packet
def test_every_cut_is_unchecked_and_never_wrong(packet: Packet) -> None:
    """With the length on the wire known, as in a capture with a snapshot length, a cut makes nothing bad."""
    whole = judge(packet)
    original = packet.original or len(packet.data)
    for length in range(len(packet.data)):
        cut = [
            verdict_of(item)
            for item in _core.packet_checks(packet.data[:length], 0, None, original, packet.link)
        ]
        assert len(cut) <= len(whole)
        for part, full in zip(cut, whole, strict=False):
            assert part.layer == full.layer or part.offset is None
            assert part == full or part.status == "unchecked"
            assert part.reason or part.status != "unchecked"
            assert part.offset is None or part.offset + 2 <= length


@each_packet
def test_what_is_filled_in_is_good(packet: Packet) -> None:
    rng = random.Random(packet.name)
    spoilt = bytearray(packet.data)
    for expect in packet.expects:
        if expect.expected is not None or (expect.layer, expect.status) in NOT_MADE:
            assert expect.offset is not None
            spoilt[expect.offset : expect.offset + 2] = rng.randbytes(2)
    filled = fill_checksums(spoilt, link=packet.link)
    assert type(filled) is bytes
    assert len(filled) == len(packet.data)
    assert fill_checksums(filled, link=packet.link) == filled
    if packet.original is not None:
        return
    for verdict, expect in zip(verify_packet(filled, link=packet.link), packet.expects, strict=True):
        if expect.expected is not None or (expect.layer, expect.status) in NOT_MADE:
            assert (verdict.layer, verdict.status) == (expect.layer, "good")
            assert verdict.found == verdict.expected
        else:
            assert (verdict.status, verdict.found) == (expect.status, expect.found)
    changed = {i for i, (a, b) in enumerate(zip(packet.data, filled, strict=True)) if a != b}
    fields = {e.offset + i for e in packet.expects if e.offset is not None for i in (0, 1)}
    assert changed <= fields


def test_good_packets_fill_to_themselves() -> None:
    same = [
        packet
        for packet in PACKETS
        if packet.expects and all(e.status == "good" and e.found == e.expected for e in packet.expects)
    ]
    assert len(same) > 80
    for packet in same:
        assert fill_checksums(packet.data, link=packet.link) == packet.data, packet.name


def test_fill_gives_the_whole_input_back() -> None:
    packet = make.tcp(Net4())
    spoilt = bytearray(packet.data)
    spoilt[10:12] = spoilt[36:38] = b"\0\0"
    assert fill_checksums(b"before" + spoilt + b"", 6) == b"before" + packet.data
    padded = make.ethernet(make.tcp(Net4(), b"")).then(b"\1\2\3\4\5\6").data
    assert fill_checksums(padded, link="ethernet") == padded
    assert fill_checksums(b"") == b""
    assert fill_checksums(b"no packet at all") == b"no packet at all"


def test_fill_works_from_the_inside_out() -> None:
    inner = Net4("10.0.0.1", "10.0.0.2")
    packet = make.vxlan(
        Net4(), make.ethernet(make.gre(inner, make.udp(Net6("fd00::1", "fd00::2")), 0x86DD)), "good"
    )
    spoilt = bytearray(packet.data)
    for expect in packet.expects:
        assert expect.offset is not None
        spoilt[expect.offset : expect.offset + 2] = b"\x12\x34"
    assert [expect.layer for expect in packet.expects] == ["ipv4", "udp", "ipv4", "gre", "udp"]
    assert fill_checksums(spoilt) == packet.data


@each_whole_packet
def test_transport_checksum(packet: Packet) -> None:
    first = next((e for e in packet.expects if e.layer in TRANSPORTS), None)
    if first is None or first.status == "unchecked":
        with pytest.raises(ValueError, match=first.reason if first else "no header of tcp, udp"):
            transport_checksum(packet.data, link=packet.link)
        return
    got = transport_checksum(packet.data, link=packet.link)
    if first.expected is not None:
        assert got == first.expected
    else:  # a UDP packet without: what it would be
        assert first.offset is not None
        patched = packet.data[: first.offset] + got.to_bytes(2, "big") + packet.data[first.offset + 2 :]
        assert next(v for v in verify_packet(patched, link=packet.link) if v.layer == "udp").status == "good"


def test_ipv4_header_checksum() -> None:
    header = bytes.fromhex("45000073000040004011b861c0a80001c0a800c7")
    assert ipv4_header_checksum(header) == 0xB861
    assert ipv4_header_checksum(b"\1\2\3" + header, 3) == 0xB861
    options = make.tcp(Net4(options=b"\x94\4\0\0" + b"\1" * 36))
    assert ipv4_header_checksum(options.data) == options.expects[0].expected
    assert ipv4_header_checksum(bytearray(header[:10] + b"\xab\xcd" + header[12:])) == 0xB861
    zero = bytes.fromhex("450000144e87400040110000c000020ac6336414")
    assert ipv4_header_checksum(zero) == 0x0000  # and not ffff, which is UDP's rule


@pytest.mark.parametrize(
    ("packet", "offset", "words"),
    [
        (b"\x45" * 19, 0, "at least 20 bytes, and there are 19"),
        (b"\x45" * 30, 11, "at least 20 bytes, and there are 19 behind offset 11"),
        (b"\x65" * 40, 0, "its version is 6, not 4"),
        (b"\x44" * 40, 0, r"claims 16 bytes; it must be 20\.\.40"),
        (b"\x4f" * 40, 0, r"claims 60 bytes; it must be 20\.\.40"),
        (b"\x45" * 40, 41, r"offset must be in 0\.\.40 \(the buffer has 40 bytes\), not 41"),
        (b"\x45" * 40, -1, r"offset must be in 0\.\.40"),
    ],
)
def test_ipv4_header_checksum_refuses(packet: bytes, offset: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ipv4_header_checksum(packet, offset)


# pseudo headers


def raw(data: bytes) -> int:
    return int.from_bytes(ones_complement_sum(data).to_bytes(2, "big"), sys.byteorder)


def test_pseudo_headers() -> None:
    four, six = Net4(), Net6()
    assert pseudo_header(four.src, four.dst, 17, 13) == raw(four.pseudo(17, 13))
    assert pseudo_header(six.src, six.dst, 58, 70_000) == raw(six.pseudo(58, 70_000))
    # DPDK: with segmentation offload the length must be 0; sums in network order ec58 and, for a length of 30, ec76
    assert pseudo_header("192.0.2.10", "198.51.100.20", 6, 0) == raw(bytes.fromhex("ec58"))
    assert pseudo_header("192.0.2.10", "198.51.100.20", 6, 30) == raw(bytes.fromhex("ec76"))
    assert pseudo_header("255.255.255.255", "255.255.255.255", 255, 0xFFFFFFFF) == raw(b"\0\xff")
    assert pseudo_header("::", "::", 0, 0) == 0


@pytest.mark.parametrize("as_type", [str, bytes, bytearray, memoryview, ipaddress.ip_address])
@pytest.mark.parametrize("net", [Net4(), Net6()], ids=["ipv4", "ipv6"])
def test_addresses_of_any_kind(net: make.Net, as_type: Any) -> None:
    def give(text: str) -> Any:
        return (
            as_type(text)
            if as_type in {str, ipaddress.ip_address}
            else as_type(ipaddress.ip_address(text).packed)
        )

    assert pseudo_header(give(net.src), give(net.dst), 17, 8) == raw(net.pseudo(17, 8))


def test_a_pseudo_header_starts_the_sum() -> None:
    packet = make.udp(Net4(), b"hello").data
    assert verify(packet, pseudo_header("192.0.2.10", "198.51.100.20", 17, 13), offset=20)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            ("192.0.2.1", "2001:db8::1", 6, 0),
            ValueError,
            "must be of one IP version, not 192.0.2.1 and 2001:db8::1",
        ),
        ((b"abc", b"abc", 6, 0), ValueError, r"src must have 4 bytes \(IPv4\) or 16 \(IPv6\), not 3"),
        (("192.0.2.1", "192.0.2.300", 6, 0), ValueError, "192.0.2.300"),
        (("192.0.2.1", "192.0.2.3", 256, 0), ValueError, r"protocol must be in 0\.\.255"),
        (("192.0.2.1", "192.0.2.3", -1, 0), ValueError, r"protocol must be in 0\.\.255"),
        (("192.0.2.1", "192.0.2.3", 6, 1 << 32), ValueError, r"length must be in 0\.\.4294967295"),
        (("192.0.2.1", "192.0.2.3", 6, -1), ValueError, r"length must be in 0\.\.4294967295"),
        (("192.0.2.1", "192.0.2.3", 6.0, 0), TypeError, "float"),
        ((1, 2, 6, 0), TypeError, "a bytes-like object is required, not 'int'"),
    ],
)
def test_pseudo_header_refuses(arguments: tuple[Any, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pseudo_header(*arguments)


# what may be asked


@pytest.mark.parametrize("function", [verify_packet, fill_checksums, transport_checksum])
def test_links(function: Any) -> None:
    tcp = make.tcp(Net4())
    for link, packet in (
        ("ip", tcp),
        (101, tcp),
        (12, tcp),
        (228, tcp),
        (np.int8(1), make.ethernet(tcp)),
        ("ethernet", make.ethernet(tcp)),
    ):
        function(packet.data, link=link)
    for link in ("ETHERNET", "1", 147, -1, 1 << 80):
        with pytest.raises(
            ValueError, match="link must be 'ip', 'ethernet' or one of the link types 0, 1, 6, 7, 9,"
        ):
            function(tcp.data, link=link)
    with pytest.raises(TypeError):
        function(tcp.data, link=1.0)
    with pytest.raises(TypeError, match="a bytes-like object is required, not 'str'"):
        function("text")
    with pytest.raises(BufferError, match="C-contiguous"):
        function(memoryview(tcp.data)[::2])
    with pytest.raises(ValueError, match=r"offset must be in 0\.\.52 \(the buffer has 52 bytes\), not 53"):
        function(tcp.data, 53)
    data = bytearray(tcp.data)
    function(data)
    data.append(0)  # BufferError if an export were left


def test_every_link_of_the_list_is_known() -> None:
    for link in LINKS:
        assert isinstance(verify_packet(b"\0" * 60, link=link), list)
    assert len(set(LINKS)) == len(LINKS)


def test_raw_ip_of_other_numbers() -> None:
    for link in (12, 14, 101, 229):
        assert [v.status for v in verify_packet(make.tcp(Net6()).data, link=link)] == ["good"]
    for link, header in ((204, b"\1\xff\3\0\x57"), (9, b"\x57"), (50, b"\x8f\0\x86\xdd")):
        assert [v.status for v in verify_packet(header + make.tcp(Net6()).data, link=link)] == ["good"]


def test_a_header_of_another_version_than_announced() -> None:
    """Unchecked, with the reason, and never filled: a receiver would drop it."""
    four, six = make.tcp(Net4(), fault="bad"), make.tcp(Net6(), fault="bad")
    wrong = [(228, six.data), (229, four.data), (9, b"\0\x57" + four.data), (9, b"\xff\3\0\x21" + six.data)]
    wrong += [(0, b"\2\0\0\0" + six.data), (108, b"\0\0\0\x18" + four.data)]
    for inner, said, protocol in ((four, 0x86DD, 41), (six, 0x0800, 4)):
        tagged = make.ethernet(inner, said, tags=[(0x8100, 7), (0x8100, 8)])
        wrong += [(1, make.ethernet(inner, said).data), (1, tagged.data), (113, make.sll(inner, said).data)]
        wrong += [(101, net.carry(protocol, Built(inner.data)).data) for net in (Net4(), Net6())]
        wrong += [(101, make.plain_gre(net, Built(inner.data), said).data) for net in (Net4(), Net6())]
    for link, data in wrong:
        last = verify_packet(data, link=link)[-1]
        assert (last.layer, last.status, last.found, last.offset) == ("ipv4", "unchecked", None, None)
        assert "another IP version" in last.reason
        assert fill_checksums(data, link=link) == data


def test_nothing_to_judge() -> None:
    assert verify_packet(b"", link="ethernet") == []
    assert [v.reason for v in verify_packet(b"")] == ["length runs past the end of the captured bytes"]
    assert verify_packet(make.ethernet(make.Built(b""), 0x0806).data, link="ethernet") == []
    assert verify_packet(make.ethernet(make.Built(b""), 0x86DD).data, link="ethernet") == []


def test_a_sum_that_looks_right_with_a_zero_field() -> None:
    """UDP over IPv6 whose right checksum is 0: the sum with the field at 0 is ffff, and 0 is wrong all the same."""
    packet = next(packet for packet in PACKETS if packet.name == "udp6-ffff-is-right")
    field = packet.expects[0].offset
    assert field is not None
    zeroed = packet.data[:field] + b"\0\0" + packet.data[field + 2 :]
    (verdict,) = verify_packet(zeroed, link="ethernet")
    assert (verdict.status, verdict.found, verdict.expected) == ("bad", 0, 0xFFFF)
    assert "zero is not allowed" in verdict.reason


def test_all_zero_icmp() -> None:
    """The whole message zero but for the field: ffff is right, 0000 is not, and taking the field out must not
    mislead.
    """
    for field, status in ((0xFFFF, "good"), (0x0000, "bad"), (0x1234, "bad")):
        message = struct.pack("!BBHHH", 0, 0, field, 0, 0)
        packet = Net4().carry(1, make.Built(message)).data
        verdict = verify_packet(packet)[1]
        assert (verdict.status, verdict.found, verdict.expected) == (status, field, 0xFFFF)


def test_mpls_without_ip() -> None:
    assert (
        verify_packet(
            make.ethernet(make.mpls(make.Built(b"\0\0\0\0" + b"x" * 40)), 0x8847).data, link="ethernet"
        )
        == []
    )


def test_pppoe_discovery_and_other_versions() -> None:
    session = bytearray(make.ethernet(make.pppoe(make.tcp(Net4())), 0x8864).data)
    session[14] = 0x22
    assert verify_packet(session, link="ethernet") == []


def test_a_port_of_vxlan_without_vxlan() -> None:
    """A client whose own port is 4789 gets DNS, not VXLAN."""
    for number in (b"\x12\x34", b"\x1a\x34", b"\x1c\x34"):  # with the bits of VXLAN's flags and without
        answer = number + b"\x81\x80\0\1\0\1\0\0\0\0" + b"x" * 40
        verdicts = verify_packet(make.udp(Net4(), answer, ports=(53, 4789)).data)
        assert [verdict.layer for verdict in verdicts] == ["ipv4", "udp"]


def test_vrrp_and_ospf_of_other_versions() -> None:
    for protocol, body in ((112, b"\x41" + bytes(11)), (89, b"\4\1\0\x18" + bytes(20))):
        verdict = verify_packet(Net4().carry(protocol, make.Built(body)).data)[1]
        assert (verdict.status, verdict.expected) == ("unchecked", None)
        assert "version" in verdict.reason


def test_gre_with_source_routes() -> None:
    inner = make.tcp(Net4("10.0.0.1", "10.0.0.2"))
    routes = b"\0\0\0\0" + b"\x08\0\0\4" + b"\1\2\3\4" + b"\0\0\0\0"
    packet = make.plain_gre(Net4(), inner, flags=0x4000, rest=routes)
    assert [v.status for v in verify_packet(packet.data)] == ["good", "good", "good"]
    endless = make.plain_gre(Net4(), inner, flags=0x4000, rest=b"\0\0\0\0" + b"\x08\0\0\xff")
    assert [v.layer for v in verify_packet(endless.data)] == ["ipv4"]


def test_tunnels_without_end() -> None:
    packet = make.tcp(Net4())
    for _ in range(40):
        packet = Net4().carry(4, make.Built(packet.data))
    verdicts = verify_packet(packet.data)
    assert {v.status for v in verdicts[:-1]} == {"good"}
    assert verdicts[-1].status == "unchecked"
    assert "more checksums" in verdicts[-1].reason


def test_a_udp_field_of_zero_says_all_where_the_rest_is_missing() -> None:
    whole = make.udp(Net4(), b"\0" * 16, "none").data
    for packet, original in (
        (make.udp(replace(Net4(), fragment=0x2000), b"\0" * 16, "none").data, None),
        (whole[:30], len(whole)),
        (whole[:28], len(whole)),
        (whole[:30], None),
    ):
        verdicts = [verdict_of(item) for item in _core.packet_checks(packet, 0, None, original, 101)]
        assert [(v.status, v.found, v.expected) for v in verdicts][1] == ("none", 0, None)
        assert fill_checksums(packet)[26:28] == b"\0\0"
    later = make.udp(replace(Net4(), fragment=0x0001), b"\0" * 16, "none").data
    assert [v.status for v in verify_packet(later)] == ["good", "unchecked"]


def test_random_bytes_give_lists() -> None:
    rng = random.Random(3)
    for _ in range(3000):
        link = rng.choice(LINKS)
        start = rng.choice((b"", b"\x45\0\0", b"\x60\0\0\0", b"\2" * 12 + b"\x08\0\x45", b"\xff\3\0\x21\x45"))
        data = start + rng.randbytes(rng.randrange(120))
        for verdict in verify_packet(data, link=link):
            assert verdict.status in STATUSES
            assert verdict.offset is None or verdict.offset + 2 <= len(data)
        for verdict in verify_packet(fill_checksums(data, link=link), link=link):
            assert verdict.status != "bad"


def test_sums_of_the_fixtures_agree_with_the_core() -> None:
    """The oracle of these tests against literals, so that both can't be wrong in the same way."""
    assert internet_checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D
    assert internet_checksum(b"") == 0xFFFF
    assert raw_cksum(b"\x12\x34\x56") == raw(b"\x12\x34\x56")
