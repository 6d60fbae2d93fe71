"""Faults that people reported in public about Internet checksums (data/cases.jsonl): each stands for a kind.

Every case has its line in the file (source, input, wrong value, right value) and its test here, under its own id; what
all of them have in common, the raw sum and the checksum of their input, is tested for all at once.
"""

from __future__ import annotations

import json
import re
import struct
import sys
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import make_fixtures as make
import numpy as np
import pytest
from make_fixtures import Net4, Net6, internet_checksum

import fastcksum
from fastcksum import Checksum, checksum, combine, raw_cksum, raw_cksum_many, update_checksum, verify
from fastcksum.packets import (
    fill_checksums,
    ipv4_header_checksum,
    pseudo_header,
    transport_checksum,
    verify_packet,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = Path(__file__).parent / "data" / "cases.jsonl"


@dataclass(frozen=True)
class Case:
    id: str
    input: bytes
    wrong: str
    right: str
    raw_little_endian: int
    complement: int

    @property
    def value(self) -> int:
        """The right value of the field."""
        return int(re.match(r"0x[0-9a-f]{4}", self.right)[0], 16)  # type: ignore[index]


def decode(text: str) -> bytes:
    """Hexadecimal digits; (ffff)x3 means that often, + means that one part follows the other."""
    parts = (re.fullmatch(r"\(([0-9a-f]*)\)x(\d+)|([0-9a-f]*)", part) for part in text.split("+"))
    return b"".join(
        bytes.fromhex(part[1]) * int(part[2]) if part[2] else bytes.fromhex(part[3]) for part in parts if part
    )


def load() -> dict[str, Case]:
    lines = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return {
        line["id"]: Case(
            line["id"],
            decode(line["input_hex"]),
            line["wrong"],
            line["right"],
            int(line["raw_le"], 16),
            int(line["complement"], 16),
        )
        for line in lines
    }


CASES = load()
TESTS: dict[str, Callable[[Case], None]] = {}


def case(name: str) -> Callable[[Callable[[Case], None]], Callable[[Case], None]]:
    def note(test: Callable[[Case], None]) -> Callable[[Case], None]:
        TESTS[name] = test
        return test

    return note


def raw_of(number: int) -> int:
    return int.from_bytes(number.to_bytes(2, "little"), sys.byteorder)


@pytest.mark.parametrize("name", CASES)
def test_raw_sum_and_checksum(name: str) -> None:
    given = CASES[name]
    assert raw_cksum(given.input) == raw_of(given.raw_little_endian)
    assert checksum(given.input) == given.complement == internet_checksum(given.input)
    # at any address, in any kind of buffer, in any two pieces
    for shift in range(1, 9):
        moved = bytearray(b"\xa5" * shift + given.input + b"\x5a" * shift)
        assert checksum(moved, offset=shift, length=len(given.input)) == given.complement
        assert checksum(memoryview(moved)[shift : shift + len(given.input)]) == given.complement
    for cut in {0, 1, 2, 3, len(given.input) // 2, max(len(given.input) - 1, 0)}:
        pieces = given.input[:cut], given.input[cut:]
        stream = Checksum()
        for piece in (*pieces, b""):
            stream.update(piece)
        assert stream.value == given.complement
        assert combine(raw_cksum(pieces[0]), raw_cksum(pieces[1]), len(pieces[0])) == raw_cksum(given.input)


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    TESTS[name](CASES[name])


def test_each_case_has_its_test() -> None:
    assert len(CASES) == 42
    assert set(TESTS) == set(CASES)


# helpers: the pseudo header of a case, and packets around its transport


def from_pseudo_4(given: Case) -> tuple[Net4, bytes]:
    """The addresses, and the transport header with its data, of an input that starts with an IPv4 pseudo header."""
    src, dst = (".".join(map(str, given.input[at : at + 4])) for at in (0, 4))
    return Net4(src, dst), given.input[12:]


def check_transport(given: Case, packet: bytes, link: Any = "ip") -> None:
    """The packet's field at zero: it is computed, filled in and then good; the wrong value is bad."""
    assert transport_checksum(packet, link=link) == given.value
    filled = fill_checksums(packet, link=link)
    verdict = verify_packet(filled, link=link)[-1]
    assert (verdict.status, verdict.found, verdict.expected) == ("good", given.value, given.value)
    assert verdict.offset is not None
    wrong = bytearray(filled)
    wrong[verdict.offset : verdict.offset + 2] = (given.value ^ 0x0100).to_bytes(2, "big")
    assert verify_packet(wrong, link=link)[-1].status == "bad"
    assert verify_packet(wrong, link=link)[-1].expected == given.value


def carry(net: Net4, protocol: int, body: bytes) -> bytes:
    return net.carry(protocol, make.Built(body)).data


# sums: ends, byte order, folding, pieces


@case("anchor-rfc1071")
@case("dpdk-be-odd")
@case("pinject-1")
@case("etherenclib-5")
@case("taxi-38")
@case("tinytcp-2")
@case("scapy-2fold")
@case("signedchar-43")
@case("dhcpcd-370")
@case("scapy-1773")
def _(given: Case) -> None:
    assert checksum(given.input) == given.value
    for kernel in fastcksum.kernels():  # none of the kernels that may be chosen makes the mistake
        if kernel.runs_here and kernel.role in {"production", "reference"}:
            assert raw_cksum(given.input, kernel=kernel) == raw_of(given.raw_little_endian)


@case("pcapplusplus-838")
def _(given: Case) -> None:
    for next_byte in (0, 0x5A, 0xFF):
        assert checksum(given.input + bytes([next_byte]), length=3) == given.value


@case("swap-confusion")
def _(given: Case) -> None:
    assert checksum(given.input) == ipv4_header_checksum(given.input) == given.value
    assert struct.pack("!H", checksum(given.input)) == struct.pack("=H", raw_cksum(given.input) ^ 0xFFFF)
    assert Checksum(given.input).digest() == given.value.to_bytes(2, "big")


@case("libpnet-empty")
def _(given: Case) -> None:
    assert checksum(b"") == Checksum().value == given.value == 0xFFFF
    assert raw_cksum(b"") == raw_cksum_many(b"", [0], [0])[0] == 0


@case("dpdk-mbuf-odd")
def _(given: Case) -> None:
    stream, total, done = Checksum(), 0, 0
    for length in (32, 61, 52):
        segment = given.input[done : done + length]
        stream.update(segment)
        total = combine(total, raw_cksum(segment), done)
        done += length
    assert done == len(given.input)
    assert stream.raw == total == raw_of(0x6B5F)


@case("nuttx-20010")
def _(given: Case) -> None:
    stream = Checksum()
    for piece in (given.input[:3], b"", given.input[3:]):
        stream.update(piece)
    assert stream.value == given.value
    assert combine(combine(raw_cksum(given.input[:3]), 0, 3), raw_cksum(given.input[3:]), 3) == raw_cksum(
        given.input
    )


@case("libpnet-769")
def _(given: Case) -> None:
    head, middle, rest = given.input[:12], given.input[12:15], given.input[15:]
    stream = Checksum(initial=raw_cksum(head))
    stream.update(middle)
    stream.update(rest)
    assert stream.value == given.value


# verifying


@case("verilog-ethernet-268")
@case("sonic-4844")
def _(given: Case) -> None:
    assert verify(given.input)
    verdict = verify_packet(given.input + bytes(max(0, int.from_bytes(given.input[2:4], "big") - 20)))[0]
    assert (verdict.layer, verdict.status) == ("ipv4", "good")


@case("netmap-55")
def _(given: Case) -> None:
    assert ipv4_header_checksum(given.input) == given.value == 0
    assert fill_checksums(given.input[:10] + b"\xff\xff" + given.input[12:])[10:12] == b"\0\0"


@case("tcpdump-62")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    packet = carry(net, 17, segment[:6] + b"\x82\x33" + segment[8:])
    verdict = verify_packet(packet)[
        1
    ]  # what the field holds is the pseudo-header sum: the card was to complete it
    assert (verdict.status, verdict.found, verdict.expected) == ("partial", 0x8233, given.value)
    verdict = verify_packet(carry(net, 17, segment[:6] + b"\x82\x34" + segment[8:]))[1]
    assert (verdict.status, verdict.found, verdict.expected) == ("bad", 0x8234, given.value)


# zero


@case("scapy-350")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    check_transport(given, carry(net, 17, segment))
    assert given.value == 0xFFFF
    assert [v.status for v in verify_packet(carry(net, 17, segment))] == ["good", "none"]


@case("opte-791")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    check_transport(given, carry(net, 6, segment))
    verdict = verify_packet(carry(net, 6, segment))[1]  # 0x0000 in the field: right, and no word of "none"
    assert (verdict.layer, verdict.status, verdict.found, verdict.reason) == ("tcp", "good", 0, "")


@case("gvisor-13526")
def _(given: Case) -> None:
    assert update_checksum(0, 4000, 4001, udp=True) == int(given.right[:6], 16) == 0
    assert update_checksum(0, 4000, 4001) == 0xFFFE
    net, segment = from_pseudo_4(given)
    assert [v.status for v in verify_packet(carry(net, 17, segment))] == ["good", "none"]


# pseudo headers


@case("dpkt-81")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    check_transport(given, carry(net, 6, segment))
    start = pseudo_header(given.input[:4], given.input[4:8], 6, len(segment))
    assert checksum(segment, start) == given.value


@case("tinc-175")
def _(given: Case) -> None:
    net = Net6("2001:db8::10", "2001:db8:1::20")
    message = given.input[40:]
    check_transport(given, net.carry(58, make.Built(message)).data)
    assert (
        checksum(message, pseudo_header(given.input[:16], given.input[16:32], 58, len(message)))
        == given.value
    )


@case("ostinato-271")
def _(given: Case) -> None:
    net, message = Net6("2001:db8::10", "2001:db8:1::20"), make.Built(given.input[40:])
    for extensions in (
        (make.fragment_header(0, more=False),),
        (make.HOP_BY_HOP,),
        (make.HOP_BY_HOP, make.DESTINATION_OPTIONS, make.fragment_header(0, more=False)),
        ((51, make.AH), make.DESTINATION_OPTIONS),
    ):
        check_transport(given, replace(net, extensions=extensions).carry(58, message).data)


@case("scapy-3074")
def _(given: Case) -> None:
    segment = given.input[12:]
    for options in (
        make.loose_source_route("192.168.1.1"),
        b"\1" + make.loose_source_route("10.0.0.1", "192.168.1.1")[:-1],
    ):
        check_transport(given, carry(Net4("127.0.0.1", "127.0.0.1", options=options), 17, segment))


@case("scapy-108")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    for length in (4, 8, 40):
        check_transport(given, carry(replace(net, options=b"\1" * length), 6, segment))


@case("pktgen-45")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    packet = bytearray(carry(net, 17, segment))
    check_transport(given, bytes(packet))
    for first in (
        0x6F,
        0x4F,
        0x44,
    ):  # a header longer than the packet, or shorter than any: an error, never a number
        packet[0] = first
        with pytest.raises(ValueError, match=r"no header of tcp|computed"):
            transport_checksum(packet)
        assert {v.status for v in verify_packet(packet)} <= {"unchecked"}


@case("dataplane-1778")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    for padding in (b"\0" * 6, b"\x55\xaa\1\2\3\4"):
        frame = make.ethernet(net.carry(6, make.Built(segment))).data + padding
        check_transport(given, frame, "ethernet")
        assert fill_checksums(frame, link="ethernet")[-6:] == padding


@case("dpdk-tso-phdr")
def _(given: Case) -> None:
    src, dst = given.input[:4], given.input[4:8]
    assert given.value == 0xEC58
    assert pseudo_header(src, dst, 6, 0) == raw_of(int.from_bytes((0xEC58).to_bytes(2, "big"), "little"))
    net = Net4("192.0.2.10", "198.51.100.20")
    for fault, field in (("partial-tso", 0xEC58), ("partial", None)):
        verdict = verify_packet(make.tcp(net, b"x" * 10, fault).data)[1]
        assert verdict.status == "partial"
        assert field is None or verdict.found == field


# where things lie


@case("tcpreplay-190")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    check_transport(given, carry(net, 17, segment))
    filled = fill_checksums(carry(net, 17, segment))[20:]
    first = carry(replace(net, fragment=0x2000), 17, filled[:1480])
    second = carry(replace(net, fragment=1480 // 8), 17, filled[1480:])
    for fragment in (first, second):
        header, transport = verify_packet(fragment)
        assert (header.status, transport.layer, transport.status) == ("good", "udp", "unchecked")
        assert "fragment" in transport.reason
        assert transport.expected is None
        with pytest.raises(ValueError, match="fragment"):
            transport_checksum(fragment)
        assert fill_checksums(fragment) == fragment


@case("libmoon-9")
def _(given: Case) -> None:
    net, segment = from_pseudo_4(given)
    packet = net.carry(17, make.Built(segment))
    for tags in ((), ((0x8100, 5),), ((0x88A8, 5), (0x8100, 6)), ((0x9100, 1), (0x8100, 2), (0x8100, 3))):
        frame = make.ethernet(packet, tags=tags).data
        check_transport(given, frame, "ethernet")
        filled = fill_checksums(frame, link="ethernet")
        assert [i for i in range(len(frame)) if frame[i] != filled[i]] == [len(frame) - 11, len(frame) - 10]


@case("inet-343")
def _(given: Case) -> None:
    net, covered = from_pseudo_4(given)
    coverage = int.from_bytes(covered[4:6], "big")
    assert coverage == len(covered) == 12
    packet = carry(net, 136, covered + b"not covered"[: 28 - 12])
    length = len(packet) - 20
    right = internet_checksum(given.input[:8] + b"\0\x88" + length.to_bytes(2, "big") + covered)
    assert transport_checksum(packet) == right
    whole = int.from_bytes(given.input[10:12], "big")  # the length that the case's pseudo header has
    check_transport(given, carry(net, 136, covered + bytes(range(whole - 12))))
    tail = fill_checksums(carry(net, 136, covered + bytes(range(whole - 12))))[:-1] + b"\xff"
    assert verify_packet(tail)[1].status == "good"  # what is not covered may change


@case("webkit-5133")
def _(given: Case) -> None:
    packet = carry(Net4(), 132, given.input)
    header, sctp = verify_packet(packet)
    assert header.status == "good"
    assert (sctp.layer, sctp.status, sctp.found, sctp.expected) == ("sctp", "unchecked", None, None)
    assert "CRC32c" in sctp.reason
    assert zlib.crc32(given.input) == 0x0D720B3D  # the wrong value of the case
    with pytest.raises(ValueError, match="CRC32c"):
        transport_checksum(packet)
    assert fill_checksums(packet) == packet


# updates


@case("rfc1624-eqn2")
def _(given: Case) -> None:
    assert update_checksum(*struct.unpack("!HHH", given.input)) == given.value == 0


@case("firezone-14110")
def _(given: Case) -> None:
    before = b"\0\0\0\0\0\1\0\0"
    assert checksum(before) == 0xFFFE
    assert update_checksum(0xFFFE, 1, 0) == 0x0000
    assert update_checksum(0xFFFE, 1, 0, full_sum_zero=True) == checksum(given.input) == given.value
    assert verify_packet(carry(Net4(), 1, b"\0\0\xff\xff" + bytes(4)))[1].status == "good"


# buffers


@case("scapy-memoryview")
def _(given: Case) -> None:
    for buffer in (memoryview(given.input), bytearray(given.input), np.frombuffer(given.input, np.uint8)):
        assert checksum(buffer) == given.value
        assert checksum(memoryview(buffer).cast("B")) == given.value
    assert checksum(np.frombuffer(given.input, np.uint16)) == given.value  # the bytes as they lie in memory
    assert checksum(np.frombuffer(given.input, np.uint8).reshape(4, 5)) == given.value


@case("scapy-bytearray-mutated")
def _(given: Case) -> None:
    buffer = bytearray(given.input)
    assert checksum(buffer) == given.complement
    verify(buffer)
    fill_checksums(buffer)
    raw_cksum_many(buffer, [0], [3])
    assert buffer == given.input


@case("btclib-1260")
def _(given: Case) -> None:
    strided = memoryview(bytes(range(1, 17)))[::2]
    assert bytes(strided) == given.input
    for call in (checksum, verify, raw_cksum, verify_packet, fill_checksums, Checksum):
        with pytest.raises(BufferError, match=r"C-contiguous .* copy it first, for example with bytes\(\)"):
            call(strided)
    assert checksum(bytes(strided)) == given.value


@case("pyobjc-442")
def _(given: Case) -> None:
    buffer = bytearray(given.input)
    assert checksum(buffer) == given.value
    for call in (
        lambda: checksum(buffer, offset=99),
        lambda: verify(buffer, "no number"),  # type: ignore[arg-type]
        lambda: raw_cksum_many(buffer, [99], [1]),
        lambda: verify_packet(buffer, 99),
        lambda: fill_checksums(buffer, link="none such"),  # type: ignore[arg-type]
        lambda: update_checksum(0, buffer, b"x"),
        lambda: ipv4_header_checksum(buffer),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
        buffer.extend(b"x")  # BufferError if an export were left
        del buffer[-1]


@case("netxduo-146")
def _(given: Case) -> None:
    for shift in range(64):
        moved = bytes(shift) + given.input
        assert checksum(moved, offset=shift) == given.value
        assert raw_cksum_many(moved, [shift], [28])[0] == raw_of(given.raw_little_endian)
