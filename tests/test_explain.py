"""packets.explain() and fastcksum explain: every word, against sums made here; the common mistakes; text, tables."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import fixture_packets
import make_fixtures as make
import pytest
from make_fixtures import CAPTURES, ETHERNET, RAW, Net4, Net6

from fastcksum import capture, packets
from fastcksum.cli import main
from fastcksum.packets import explain, verify_packet

if TYPE_CHECKING:
    from pathlib import Path

ALL = [packet for some in fixture_packets.captured().values() for packet in some if packet.original is None]


@pytest.mark.parametrize("packet", ALL, ids=lambda packet: f"{packet.name}-{packet.link}")
def test_every_packet_of_the_fixtures(packet: make.Packet) -> None:
    """The words are those of the packet, they add up, and their complement is what a second opinion expects."""
    told = explain(packet.data, link=packet.link)
    expects = list(packet.expects)
    assert [(one.layer, one.status, one.found) for one in told.sums] == [
        (e.layer, e.status, e.found) for e in expects
    ]
    for one, e in zip(told.sums, expects, strict=True):
        total = 0
        for word in one.words:
            total += word.value
            assert word.total == total
            if word.offset is not None and word.offset != one.offset:
                assert word.value == int.from_bytes(
                    packet.data[word.offset : word.offset + 2].ljust(2, b"\0"), "big"
                ) or (word == one.words[-1] and word.value == packet.data[word.offset] << 8)
        assert one.total == total
        if not one.words:
            assert e.expected is None
            continue
        value = make.internet_checksum(b"".join(struct.pack("!H", word.value) for word in one.words))
        assert one.complement == value
        if e.expected is not None and "card" not in one.reason:
            assert e.expected in {value, 0xFFFF if value == 0 else value}
    assert max(map(len, str(told).splitlines())) <= 100
    assert str(told).isprintable() or str(told).replace("\n", "").isprintable()
    assert told._repr_html_().count("<table>") == len(expects)


def test_the_text() -> None:
    """The header that RFC 1071's readers know: 45 00 00 73 .. sums to 0x2479c, folds to 0x479e, complements to
    0xb861.
    """
    header = bytes.fromhex("4500007300004000401100 00c0a80001c0a800c7".replace(" ", ""))
    told = explain(header + bytes(95), layer="ipv4")
    assert str(told).splitlines() == [
        "ipv4 checksum, at byte 10",
        "    byte  words                                    running sum  field",
        "       0  4500                                     0x00004500  version, length, type of service",
        "       2  0073                                     0x00004573  total length",
        "       4  0000                                     0x00004573  identification",
        "       6  4000                                     0x00008573  flags, fragment offset",
        "       8  4011                                     0x0000c584  time to live, protocol",
        "      10  0000                                     0x0000c584  header checksum, counts as 0",
        "      12  c0a8 0001                                0x0001862d  source address",
        "      16  c0a8 00c7                                0x0002479c  destination address",
        "  carries folded: 0x0002 + 0x479c = 0x479e",
        "  complement: ~0x479e = 0xb861",
        "  in the packet: 0x0000: bad, expected 0xb861 (zero: never filled in, perhaps left to the network",
        "    card)",
        "  0x0000 is what comes out if the field held the right value, not 0, while the sum was made",
    ]


def test_pseudo_headers() -> None:
    four = explain(make.tcp(Net4()).data, layer="tcp").sums[0]
    assert [word.value for word in four.words[:6]] == [0xC000, 0x020A, 0xC633, 0x6414, 32, 6]
    assert {word.offset for word in four.words[:6]} == {None}
    six = explain(make.udp(Net6()).data, layer="udp").sums[0]
    assert [word.value for word in six.words[16:19]] == [0, 13, 17]
    assert "pseudo header: source address" in str(explain(make.udp(Net6()).data))
    routed = next(packet for packet in ALL if packet.name == "routing-0")
    (tcp,) = explain(routed.data, link=routed.link, layer="tcp").sums
    assert tcp.status == "good"
    assert tcp.words[0].what == "pseudo header, final destination"


def wrong(field: int) -> str:
    """The notes on a TCP segment of 33 bytes with this in its field."""
    segment = bytearray(make.tcp(Net4(), b"hello, world!").data)
    segment[36:38] = struct.pack("!H", field)
    (told,) = explain(segment, layer="tcp").sums
    assert told.status == "bad"
    return "; ".join(told.notes)


def test_common_mistakes_are_recognised() -> None:
    segment = bytearray(make.tcp(Net4(), b"hello, world!").data)
    segment[36:38] = b"\0\0"
    pseudo = bytes(segment[12:20]) + struct.pack("!BBH", 0, 6, 33)
    body = bytes(segment[20:])
    right = make.internet_checksum(pseudo + body)
    total = sum(struct.unpack(f"!{(len(pseudo + body) + 1) // 2}H", pseudo + body + b"\0"))
    assert "its two bytes are stored in the other order" in wrong((right & 255) << 8 | right >> 8)
    assert "the carries are dropped, not folded" in wrong(~total & 0xFFFF)
    assert "the sum is not complemented" in wrong(right ^ 0xFFFF)
    assert "the pseudo header is left out" in wrong(make.internet_checksum(body))
    low = body[:-1] + b"\0" + body[-1:]
    assert "the odd last byte is added as the low byte" in wrong(make.internet_checksum(pseudo + low))
    assert "the odd last byte is left out" in wrong(make.internet_checksum(pseudo + body[:-1]))
    held = make.internet_checksum(pseudo + body + b"\0" + struct.pack("!H", make.ones_complement_sum(pseudo)))
    assert "the field held the sum of the pseudo header" in wrong(held)
    assert "the field held the right value" in wrong(0)
    less = (right + 0x0100) & 0xFFFF
    assert (
        f"{less:#06x} is right for words that sum to 0x0100 less, or 0xfeff more" in wrong(less)
        or less < right
    )


def test_what_is_not_summed_says_why() -> None:
    (ip, tcp) = explain(make.tcp(replace(Net4(), fragment=0x2000)).data).sums
    assert ip.status == "good"
    assert (tcp.words, tcp.complement) == ((), None)
    assert "unchecked (fragment: " in tcp.verdict()
    assert str(explain(b"\x60" + bytes(39))) == "no header with a checksum was found\n"
    assert "<p>no header" in explain(b"")._repr_html_() or verify_packet(b"")


def test_zero_is_sent_as_all_ones() -> None:
    built = bytearray(make.udp(Net4()).data)
    built[26:28] = b"\0\0"
    pseudo = bytes(built[12:20]) + struct.pack("!BBH", 0, 17, len(built) - 20)
    want = make.internet_checksum(pseudo + bytes(built[20:]))
    built[20:22] = struct.pack("!H", make.ones_complement_sum(bytes(built[20:22]) + struct.pack("!H", want)))
    built[26:28] = b"\xff\xff"
    (udp,) = explain(built, layer="udp").sums
    assert (udp.status, udp.complement, udp.expected) == ("good", 0, 0xFFFF)
    assert "sent as 0xffff" in udp.notes[0]


def test_offsets_and_errors() -> None:
    frame = b"xyz" + make.ethernet(make.tcp(Net4())).data
    told = explain(bytearray(frame), 3, link="ethernet")
    assert [one.offset for one in told.sums] == [v.offset for v in verify_packet(frame, 3, link=ETHERNET)]
    with pytest.raises(ValueError, match="layer must be one of ipv4, tcp"):
        explain(frame, layer="http")
    with pytest.raises(ValueError, match="link must be"):
        explain(frame, link=65000)
    with pytest.raises(ValueError, match="offset"):
        explain(frame, 5000)
    with pytest.raises(TypeError):
        explain("text")  # type: ignore[arg-type]
    assert repr(told) == "<Explanation: ipv4 good, tcp good>"


def test_html_is_escaped() -> None:
    one = explain(make.tcp(Net4()).data, layer="tcp").sums[0]
    forged = one._replace(notes=("<script>",), words=(one.words[0]._replace(what="<b>"),))
    page = packets.Explanation([forged])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page


# the command


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    path = CAPTURES / "link-113.pcap"
    (bad,) = capture.verify(path).iter_rows("bad")
    assert main(["explain", str(path), "--packet", str(bad.frame), "--layer", "udp"]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head == f"{path}: frame {bad.frame}"
    assert lines[0] == f"udp checksum, at byte {bad.offset}"
    assert f"  in the packet: {bad.found:#06x}: bad, expected {bad.expected:#06x}" in lines


def test_frames_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.pcapng"
    packet = make.enhanced("<", 0, 5, make.Packet("", RAW, make.tcp(Net4()).data, ()))
    custom = make.block("<", 0xBAD, b"customxx")
    path.write_bytes(make.section() + make.interface("<", RAW) + packet + custom + packet)
    for frame in ("1", "3"):
        assert main(["explain", str(path), "--packet", frame]) == 0
    capsys.readouterr()
    for frame in ("0", "2", "4"):
        assert main(["explain", str(path), "--packet", frame]) == 2
        words = f"fastcksum: no packet is frame {frame} of {path}; the last one is frame 3"
        assert capsys.readouterr().err.startswith(words)
    path.write_bytes(make.pcap([make.Packet("", 147, b"abc", ())], 147))
    assert main(["explain", str(path), "--packet", "1"]) == 2
    assert "is of link type 147, which is not understood" in capsys.readouterr().err
