"""capture.fix(), fastcksum fix and packets.fill_into(): what is written, what stays, and what tshark says of the
result.
"""

from __future__ import annotations

import array
import bz2
import gzip
import json
import lzma
import mmap
import stat
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import fixture_packets
import make_fixtures as make
import pytest
import test_foreign
import zstandard
from fixture_protocols import extension, icmp_error
from make_fixtures import CAPTURES, ETHERNET, RAW, Net4, Net6, Packet

from fastcksum.capture import CaptureWarning, FixReport, fix, read, verify
from fastcksum.cli import main
from fastcksum.packets import fill_checksums, fill_into, verify_packet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CAPTURED = fixture_packets.captured()
PLAIN = sorted(name for name in CAPTURED if not name.endswith(".gz"))
GOOD = make.tcp(Net4()).data
BAD = make.tcp(Net4(), fault="bad").data


def statuses(path: Path) -> list[tuple[int, str, str]]:
    return [(row.packet, row.layer, row.status) for row in verify(path).rows]


def fields(path: Path, *wanted: str) -> dict[int, int | None]:
    """Where in the file the fields of these statuses lie, with what should stand there."""
    where = read(path).offsets
    return {
        int(where[row.packet]) + row.offset: row.expected
        for row in verify(path).rows
        if row.status in wanted and row.offset is not None
    }


@pytest.mark.parametrize("name", PLAIN)
def test_nothing_but_wrong_fields_changes(name: str, tmp_path: Path) -> None:
    """Byte for byte: the container, the options of pcapng, packets that are right, fragments, packets that were cut."""
    out = tmp_path / name
    report = fix(CAPTURES / name, out)
    before, after = (CAPTURES / name).read_bytes(), bytearray(out.read_bytes())
    mended, good = (fields(CAPTURES / name, *some) for some in (("bad", "partial"), ("good",)))
    around = [at for at in good if after[at : at + 2] != before[at : at + 2]]
    changed = [at for at in mended if after[at : at + 2] != before[at : at + 2]]
    assert report.fields_changed == len(around) + len(changed)
    if not around:
        assert {at: int.from_bytes(after[at : at + 2], "big") for at in mended} == mended
    assert report.packets == len(CAPTURED[name])
    assert statuses(out) == [
        (packet, layer, "good" if status in {"bad", "partial"} else status)
        for packet, layer, status in statuses(CAPTURES / name)
    ]
    for at in (*mended, *around):
        after[at : at + 2] = before[at : at + 2]
    assert after == before


@pytest.mark.needs_tool("tshark")
@pytest.mark.parametrize("name", PLAIN)
def test_tshark_agrees_with_the_result(name: str, tmp_path: Path) -> None:
    out = tmp_path / name
    fix(CAPTURES / name, out)
    some = CAPTURED[name]
    _, agreed, differences = test_foreign.against_tshark(out)
    assert agreed
    allowed = {packet for packet, why in test_foreign.OWN_DIFFERENCES.items() if why != test_foreign.PARTIAL}
    allowed.add("vrrp3-bad")  # RFC 9568: no pseudo header over IPv4
    for difference in differences:
        packet = some[difference.packet].name
        assert packet in allowed or packet.startswith(tuple(test_foreign.OWN_NOT_FOLLOWED)), difference


@test_foreign.needs_captures
@pytest.mark.needs_tool("tshark")
@pytest.mark.parametrize("path", test_foreign.foreign_captures(), ids=test_foreign.short_name)
def test_tshark_agrees_with_mended_foreign_captures(path: Path, tmp_path: Path) -> None:
    out = tmp_path / path.name
    before = verify(path)
    fix(path, out)
    after = verify(out)
    assert (after.counts()["bad"], after.counts()["partial"]) == (0, 0)
    assert after.counts()["none"] == before.counts()["none"]
    _, _, differences = test_foreign.against_tshark(out)
    assert differences == []


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_both_byte_orders(order: str, nanoseconds: bool, tmp_path: Path) -> None:
    bad, good = (Packet("", RAW, data, ()) for data in (BAD, GOOD))
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(make.pcap([good, bad, good], RAW, order, nanoseconds=nanoseconds))
    fix(path, out)
    assert out.read_bytes() == make.pcap([good, good, good], RAW, order, nanoseconds=nanoseconds)
    options = make.option(order, 2, b"eth0") + make.option(order, 0, b"")
    head = make.section(order) + make.interface(order, RAW, options) + make.block(order, 0xBAD, b"customxx")
    path.write_bytes(head + make.enhanced(order, 0, 7, bad) + make.block(order, 5, bytes(12)))
    fix(path, out)
    assert out.read_bytes() == head + make.enhanced(order, 0, 7, good) + make.block(order, 5, bytes(12))


def tunnel(inner: str, outer: str) -> bytes:
    """VXLAN in IPv4 whose UDP has a checksum."""
    return make.ethernet(make.vxlan(Net4(), make.ethernet(make.tcp(Net4(), fault=inner)), outer)).data


@pytest.mark.parametrize("outer", ["good", "bad", "none"])
@pytest.mark.parametrize("inner", ["good", "bad", "partial"])
def test_tunnels_are_mended_inside_out(inner: str, outer: str, tmp_path: Path) -> None:
    """An outer sum that was right over a wrong inner one is written anew; one that was never made is not made."""
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(make.pcap([Packet("", ETHERNET, tunnel(inner, outer), ())], ETHERNET))
    report = fix(path, out)
    right = make.pcap(
        [Packet("", ETHERNET, tunnel("good", "none" if outer == "none" else "good"), ())], ETHERNET
    )
    assert out.read_bytes() == right
    around = int(outer == "good" and inner != "good")
    assert report.changed.get("udp", {}).get("good", 0) == around
    before, after = path.read_bytes(), out.read_bytes()
    assert report.fields_changed == sum(
        before[i : i + 2] != after[i : i + 2] for i in range(0, len(after), 2)
    )


def test_local_checksum_offload(tmp_path: Path) -> None:
    """The outer sum is already that of the packet which the card sends: completing the inner one is all that is
    missing.
    """
    right = bytearray(tunnel("good", "good"))
    inner = 14 + 20 + 8 + 8 + 14
    pseudo = bytes(right[inner + 12 : inner + 20]) + struct.pack("!BBH", 0, 6, len(right) - inner - 20)
    sent = bytes(right)
    right[inner + 36 : inner + 38] = struct.pack("!H", make.ones_complement_sum(pseudo))
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(make.pcap([Packet("", ETHERNET, bytes(right), ())], ETHERNET))
    assert [row.status for row in verify(path).rows] == ["good", "good", "good", "partial"]
    assert fix(path, out).changed == {"tcp": {"partial": 1}}
    assert read(out).data[40:] == sent  # type: ignore[index]


def test_statuses(tmp_path: Path) -> None:
    none = make.udp(Net4(), fault="none").data
    packets = [Packet("", RAW, data, ()) for data in (BAD, make.tcp(Net4(), fault="partial").data, none)]
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(make.pcap(packets, RAW))
    for wanted, after in (
        (["bad"], ["good", "partial", "none"]),
        (["partial"], ["bad", "good", "none"]),
        (["none"], ["bad", "partial", "good"]),
        ([], ["bad", "partial", "none"]),
    ):
        fix(path, out, status=wanted)
        assert [row.status for row in verify(out).rows if row.layer != "ipv4"] == after
    with pytest.raises(
        ValueError, match="a status to mend must be one of bad, partial, none, not 'unchecked'"
    ):
        fix(path, out, status=["unchecked"])


def test_what_cannot_be_known_is_left_alone_and_counted(tmp_path: Path) -> None:
    fragment = make.tcp(replace(Net4(), fragment=0x2000), fault="bad").data
    packets = [Packet("", RAW, fragment, ()), Packet("", RAW, BAD[:44], (), len(BAD))]
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(make.pcap(packets, RAW))
    report = fix(path, out)
    assert out.read_bytes() == path.read_bytes()
    assert sorted(n for reason, n in report.left_alone.items()) == [1, 1]
    assert [reason.partition(":")[0] for reason in report.left_alone] == ["fragment", "truncated"]
    assert "left alone: 1 (fragment: " in report.text()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
}
UNPACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    ".xz": lzma.decompress,
    ".bz2": bz2.decompress,
    "": bytes,
}


@pytest.mark.parametrize("packed", ["", *PACKERS])
@pytest.mark.parametrize("into", ["", *PACKERS])
def test_compression_goes_by_the_name(packed: str, into: str, tmp_path: Path) -> None:
    bad, good = (make.pcap([Packet("", RAW, data, ())] * 20_000, RAW) for data in (BAD, GOOD))
    path = tmp_path / f"in.pcap{packed}"
    path.write_bytes(PACKERS.get(packed, bytes)(bad))
    out = tmp_path / f"out.pcap{into}"
    fix(path, out)
    assert UNPACKERS[into](out.read_bytes()) == good
    kept = tmp_path / "kept"  # a name without a suffix
    fix(path, kept)
    assert UNPACKERS[packed](kept.read_bytes()) == good


def test_many_pieces_and_a_record_larger_than_one(tmp_path: Path) -> None:
    big = make.tcp(replace(Net4(), total=0), b"x" * 3_000_000, fault="bad").data
    data = bytearray(make.pcap([Packet("", RAW, p, ()) for p in [*[GOOD, BAD] * 15_000, big, BAD]], RAW))
    data[16:20] = struct.pack("<I", 4_000_000)
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(data)
    calls: list[tuple[int, int]] = []
    report = fix(path, out, progress=lambda done, total: calls.append((done, total)))
    assert (report.packets, report.packets_changed) == (30_002, 15_002)
    assert verify(out).counts()["bad"] == 0
    assert out.stat().st_size == len(data)
    assert calls[-1] == (len(data), len(data))


# files


def test_a_file_into_itself(tmp_path: Path) -> None:
    path = tmp_path / "in.pcap"
    path.write_bytes(make.pcap([Packet("", RAW, BAD, ())], RAW))
    path.chmod(0o640)
    fix(path, path)
    assert path.read_bytes() == make.pcap([Packet("", RAW, GOOD, ())], RAW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["in.pcap"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "in.pcap", tmp_path / "link.pcap"
    path.write_bytes(make.pcap([Packet("", RAW, BAD, ())], RAW))
    link.symlink_to(path)
    fix(path, link)
    assert link.is_symlink()
    assert verify(path).counts()["bad"] == 0


def test_what_goes_wrong_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.pcap"
    out.write_bytes(b"precious")
    (tmp_path / "text").write_text("no capture at all", encoding="ascii")
    with pytest.raises(ValueError, match="is no capture file"):
        fix(tmp_path / "text", out)

    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "in.pcap"
    path.write_bytes(make.pcap([Packet("", RAW, BAD, ())], RAW))
    monkeypatch.setattr(FixReport, "mend", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fix(path, out)
    assert out.read_bytes() == b"precious"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.pcap", "out.pcap", "text"]
    with pytest.raises(FileNotFoundError):
        fix(path, tmp_path / "none" / "out.pcap")


def test_dry_run(tmp_path: Path) -> None:
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(make.pcap([Packet("", RAW, BAD, ())], RAW))
    assert fix(path, out, dry_run=True).as_json() == fix(path, None, dry_run=True).as_json()
    assert not out.exists()
    assert fix(path, out).as_json() == fix(path, None, dry_run=True).as_json()
    with pytest.raises(ValueError, match="needs a file to write, or dry_run=True"):
        fix(path, None)


@pytest.mark.parametrize("spoil", [lambda data: data[:-3], lambda data: data[:-60] + b"\xff" * 60])
def test_what_is_behind_damage_is_copied(spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    bad, good = (make.pcap([Packet("", RAW, data, ())] * 20_000, RAW) for data in (BAD, GOOD))
    path, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    path.write_bytes(spoil(bad) + b"what else" * 100_000)
    with pytest.warns(CaptureWarning, match="damaged at byte"):
        report = fix(path, out)
    before, after = path.read_bytes(), out.read_bytes()
    assert len(after) == len(before)
    assert after[-800_000:] == before[-800_000:]
    assert after[: len(good) - 120] == good[:-120]
    assert report.damage is not None
    assert main(["fix", str(path), str(out)]) == 2


# the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = CAPTURES / "all.pcapng", tmp_path / "out.pcapng"
    assert main(["fix", str(path), str(out)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    counts = verify(path).counts()
    assert head.startswith(
        f"{path}: {len(CAPTURED['all.pcapng'])} packets, {sum(counts.values())} checksums: "
    )
    assert "  ipv4: 2 bad" in lines
    assert main(["fix", "--json", "--dry-run", str(out)]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["fields_changed"], again["changed"]) == (0, {})
    assert main(["fix", str(path)]) == 2
    assert "fix needs OUT, the file to write, or --dry-run" in capsys.readouterr().err
    assert main(["fix", str(tmp_path / "none"), str(out)]) == 2
    assert f"fastcksum: {tmp_path / 'none'}: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_through_pipes(packed: str) -> None:
    bad, good = (make.pcap([Packet("", RAW, data, ())] * 20_000, RAW) for data in (BAD, GOOD))
    command = [sys.executable, "-m", "fastcksum", "fix", "-", "-"]
    told = subprocess.run(command, input=PACKERS.get(packed, bytes)(bad), capture_output=True, check=True)
    assert UNPACKERS[packed](told.stdout) == good
    assert told.stderr.startswith(b"-: 20,000 packets, 40,000 checksums: 20,000 written in 20,000 packets\n")


# in place


@pytest.mark.parametrize(
    "make_buffer", [bytearray, lambda data: memoryview(bytearray(data)), lambda data: array.array("B", data)]
)
def test_fill_into(make_buffer: Callable[[bytes], Any]) -> None:
    for built in (
        make.tcp(Net4(), fault="bad"),
        make.udp(Net6(), fault="partial"),
        make.udp(Net4(), fault="none"),
    ):
        buffer = make_buffer(b"before" + built.data)
        wrong = [v for v in verify_packet(built.data) if v.status != "good"]
        assert fill_into(buffer, 6) == len(wrong)
        assert bytes(buffer) == b"before" + fill_checksums(built.data)
        assert fill_into(buffer, offset=6, link="ip") == 0


def test_fill_into_a_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "packet"
    path.write_bytes(make.ethernet(make.tcp(Net4(), fault="bad")).data)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        assert fill_into(mapped, link="ethernet") == 1
    assert path.read_bytes() == make.ethernet(make.tcp(Net4())).data


def test_fill_into_what_cannot_be_written() -> None:
    for buffer in (BAD, memoryview(BAD)):
        with pytest.raises(BufferError, match="this one is read-only"):
            fill_into(buffer)
    with pytest.raises(ValueError, match=r"offset"):
        fill_into(bytearray(BAD), 1000)
    with pytest.raises(ValueError, match="link must be"):
        fill_into(bytearray(BAD), link=65000)
    with pytest.raises(TypeError):
        fill_into("text")  # type: ignore[arg-type]


# the frame check sequence that a file announces


def with_sequences(frames: list[bytes], order: str, announced: str) -> bytes:
    """A capture of Ethernet frames that end with four bytes of it."""
    packets = [Packet("", ETHERNET, frame, ()) for frame in frames]
    if announced == "pcap":
        head = bytearray(make.pcap(packets, ETHERNET, order))
        head[20:24] = struct.pack(order + "I", ETHERNET | 0x24000000)  # two words of 16 bits
        return bytes(head)
    interface = make.interface(order, ETHERNET, make.option(order, 13, b"\x20"))  # if_fcslen: 32 bits
    return (
        make.section(order) + interface + b"".join(make.enhanced(order, 0, 0, packet) for packet in packets)
    )


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("announced", ["pcap", "pcapng"])
def test_a_frame_check_sequence_that_was_right_is_right_again(
    tmp_path: Path, order: str, announced: str
) -> None:
    good, bad = (
        make.ethernet(make.tcp(replace(Net4(), total=0), b"abc", fault)).data for fault in ("good", "bad")
    )
    right, old = (zlib.crc32(frame).to_bytes(4, "little") for frame in (good, bad))
    path, out = tmp_path / "in.cap", tmp_path / "out.cap"
    path.write_bytes(
        with_sequences([bad + old, bad + b"\1\2\3\4", good + right, good + old], order, announced)
    )
    report = fix(path, out)
    mended = [good + right, good + b"\1\2\3\4", good + right, good + old]
    assert out.read_bytes() == with_sequences(mended, order, announced)
    assert (report.fields_changed, report.check_sequences) == (2, 1)
    assert report.as_json()["check_sequences"] == 1
    assert "frame check sequences that were right: 1 written anew" in report.text()
    assert fix(out, None, dry_run=True).check_sequences == 0


def test_a_frame_check_sequence_that_was_cut_stays(tmp_path: Path) -> None:
    bad = make.ethernet(make.tcp(Net4(), fault="bad")).data
    whole = bad + zlib.crc32(bad).to_bytes(4, "little")
    path = tmp_path / "cut.pcap"
    data = bytearray(make.pcap([Packet("", ETHERNET, whole[:-1], (), len(whole))], ETHERNET))
    data[20:24] = struct.pack("<I", ETHERNET | 0x24000000)
    path.write_bytes(data)
    report = fix(path, tmp_path / "out.pcap")
    assert (report.fields_changed, report.check_sequences) == (1, 0)
    assert (tmp_path / "out.pcap").read_bytes()[-3:] == whole[-4:-1]


def test_an_error_names_the_file_that_it_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.pcap", tmp_path / "no folder" / "out.pcap"
    path.write_bytes(make.pcap([Packet("", RAW, BAD, ())], RAW))
    assert main(["fix", str(path), str(out)]) == 2
    assert capsys.readouterr().err == f"fastcksum: {out}: No such file or directory\n"
    assert main(["fix", str(out), str(path)]) == 2
    assert capsys.readouterr().err == f"fastcksum: {out}: No such file or directory\n"


def test_ospf_before_more_bytes_gets_ffff_where_its_words_ask_for_zero() -> None:
    """0 would say that what follows is an authentication trailer and that no checksum was sent (RFC 7166)."""
    message = bytearray.fromhex(
        "03 01 0024 0a000001 00000000 0400 0000 c4410000 00000501 0000 1300 0a002800 00000000"
    )
    addresses = bytes.fromhex("20010db8" + "00" * 11 + "01" + "ff02" + "00" * 13 + "05")
    for behind in (b"", bytes(8)):
        packet = struct.pack("!IHBB", 0x60000000, len(message) + len(behind), 89, 64) + addresses
        (asked,) = struct.unpack_from("!H", fill_checksums(packet + message + behind), len(packet) + 12)
        zero = bytearray(message)  # a word of it larger by what was asked for, which leaves 0 to be asked for
        struct.pack_into("!H", zero, 16, (0xC441 + asked) % 0xFFFF)
        after = fill_checksums(packet + zero + behind)
        (found,) = verify_packet(after)
        assert (found.layer, found.status, found.found) == ("ospf", "good", 0xFFFF if behind else 0)


def test_rsvp_whose_words_ask_for_zero_gets_ffff() -> None:
    """0 would say that no checksum was sent (RFC 2205 section 3.1.1)."""
    header = bytes.fromhex("4500 0028 1234 0000 402e 0000 c000020a e000000d")
    message = bytearray.fromhex("1001 1111 4000 0014 000c 1601 01020304 95c20000")
    (asked,) = struct.unpack_from("!H", fill_checksums(header + message), len(header) + 2)
    struct.pack_into("!H", message, 16, (0x95C2 + asked) % 0xFFFF)
    (_, found) = verify_packet(fill_checksums(header + message))
    assert (found.layer, found.status, found.found) == ("rsvp", "good", 0xFFFF)


def test_an_extension_whose_words_ask_for_zero_gets_ffff() -> None:
    """0 would say that no checksum was sent (RFC 4884 section 7); 0xffff is the same number, and a sum."""
    objects = struct.pack("!HBBHH", 8, 1, 1, 1, 0xFFFF - 0x2000 - 0x0008 - 0x0101 - 0x0001)
    before = icmp_error(Net4(), extension("none", objects)).data
    after = fill_checksums(before)
    found = [each for each in verify_packet(after) if each.layer == "icmp_extension"]
    assert [(each.status, each.found, each.expected) for each in found] == [("good", 0xFFFF, 0xFFFF)]
