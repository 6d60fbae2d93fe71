"""Every entry point of the extension in a call that is right and in calls that are wrong, for tests that repeat them.

Each is named, takes nothing, and either returns or raises the exception that is named beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import fastcksum
from fastcksum import _core, packets

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = bytes(range(256)) * 8
MUTABLE = bytearray(DATA)
VIEW = memoryview(DATA)
STRIDED = VIEW[::2]
HEADER = bytes.fromhex("4500002800010000400600000a0000010a000002")
SEGMENT = bytes.fromhex("04d2005000000001000000005002200000000000")
PACKET = packets.fill_checksums(HEADER + SEGMENT)
OFFSETS = np.arange(4)
LENGTHS = np.array([20, 21, 100, 1500], np.uint32)
OUT = np.zeros(4, np.uint16)
KERNEL = fastcksum.active_kernel()
ANY: Any = object()


class Index:
    """An integer by __index__."""

    def __index__(self) -> int:
        return 3


class Raising:
    """Raises whatever is asked of it."""

    def __index__(self) -> int:
        raise ZeroDivisionError

    @property
    def capsule(self) -> object:
        raise ZeroDivisionError


INDEX, RAISING = Index(), Raising()
WRONG: Any = RAISING


@dataclass(frozen=True)
class Call:
    """One call, and the exception that it raises."""

    name: str
    run: Callable[[], object]
    raises: type[Exception] | None = None


def _bench() -> object:
    bench = _core.Bench()
    bench.add("portable64", DATA, [0, 1], [20, 30])
    bench.set_calls(0, 4)
    bench.round([0], 0, bytearray(_core.SAMPLE_SIZE))
    return bench.check()


def _stream() -> object:
    stream = fastcksum.Checksum(DATA, initial=7)
    stream.update(MUTABLE)
    again = stream.copy()
    return again.raw, again.value, again.digest(), again.hexdigest(), repr(again)


CALLS = [
    Call("raw_cksum bytes", lambda: fastcksum.raw_cksum(DATA)),
    Call(
        "raw_cksum span",
        lambda: fastcksum.raw_cksum(MUTABLE, INDEX, offset=INDEX, length=INDEX, kernel=KERNEL),
    ),
    Call("raw_cksum name", lambda: fastcksum.raw_cksum(VIEW, kernel="portable64")),
    Call("raw_cksum str", lambda: fastcksum.raw_cksum(ANY), TypeError),
    Call("raw_cksum strided", lambda: fastcksum.raw_cksum(STRIDED), BufferError),
    Call("raw_cksum start", lambda: fastcksum.raw_cksum(DATA, 2**4000), ValueError),
    Call("raw_cksum offset", lambda: fastcksum.raw_cksum(DATA, offset=len(DATA) + 1), ValueError),
    Call("raw_cksum length", lambda: fastcksum.raw_cksum(MUTABLE, length=-1), ValueError),
    Call("raw_cksum kernel", lambda: fastcksum.raw_cksum(DATA, kernel="none such"), ValueError),
    Call("raw_cksum yardstick", lambda: fastcksum.raw_cksum(DATA, kernel="nothing"), ValueError),
    Call("raw_cksum no kernel", lambda: fastcksum.raw_cksum(DATA, kernel=ANY), TypeError),
    Call("raw_cksum raising", lambda: fastcksum.raw_cksum(MUTABLE, kernel=WRONG), ZeroDivisionError),
    Call("raw_cksum keyword", lambda: fastcksum.raw_cksum(DATA, x=ANY), TypeError),  # type: ignore[call-arg]
    Call("checksum", lambda: fastcksum.checksum(DATA, 7, offset=1)),
    Call("checksum raising", lambda: fastcksum.checksum(DATA, WRONG), ZeroDivisionError),
    Call("verify", lambda: fastcksum.verify(HEADER, length=20)),
    Call("verify str", lambda: fastcksum.verify(ANY), TypeError),
    Call("many", lambda: fastcksum.raw_cksum_many(DATA, OFFSETS, LENGTHS)),
    Call("many out", lambda: fastcksum.raw_cksum_many(MUTABLE, OFFSETS, LENGTHS, [1, 2, 3, 4], out=OUT)),
    Call("many span", lambda: fastcksum.raw_cksum_many(DATA, OFFSETS + 2000, LENGTHS), ValueError),
    Call("many lengths", lambda: fastcksum.raw_cksum_many(DATA, OFFSETS, LENGTHS[1:]), ValueError),
    Call("many floats", lambda: fastcksum.raw_cksum_many(DATA, [0.5], [1]), TypeError),
    Call("many raising", lambda: fastcksum.raw_cksum_many(DATA, [0], [1], WRONG), ZeroDivisionError),
    Call("combine", lambda: fastcksum.combine(1, INDEX, 3)),
    Call("combine range", lambda: fastcksum.combine(1, 65536, 3), ValueError),
    Call("update", lambda: fastcksum.update_checksum(1, b"abc", MUTABLE[:3], odd=True)),
    Call("update numbers", lambda: fastcksum.update_checksum(1, 2, 70000, udp=True)),
    Call("update kinds", lambda: fastcksum.update_checksum(1, b"ab", ANY), TypeError),
    Call("update lengths", lambda: fastcksum.update_checksum(1, b"ab", b"abc"), ValueError),
    Call("Checksum", _stream),
    Call("Checksum str", lambda: fastcksum.Checksum(ANY), TypeError),
    Call("Checksum start", lambda: fastcksum.Checksum(b"", initial=-1), ValueError),
    Call("pseudo_header", lambda: packets.pseudo_header("10.0.0.1", "10.0.0.2", 6, 20)),
    Call("pseudo_header 6", lambda: packets.pseudo_header(bytes(16), bytes(16), 6, 20)),
    Call("pseudo_header mixed", lambda: packets.pseudo_header(bytes(16), bytes(4), 6, 20), ValueError),
    Call("pseudo_header text", lambda: packets.pseudo_header("10.0.0.1", "no address", 6, 20), ValueError),
    Call("ipv4_header_checksum", lambda: packets.ipv4_header_checksum(PACKET)),
    Call("ipv4_header_checksum short", lambda: packets.ipv4_header_checksum(b"E"), ValueError),
    Call("transport_checksum", lambda: packets.transport_checksum(PACKET)),
    Call("transport_checksum none", lambda: packets.transport_checksum(HEADER), ValueError),
    Call("verify_packet", lambda: packets.verify_packet(bytearray(PACKET))),
    Call("verify_packet cut", lambda: packets.verify_packet(PACKET[:30])),
    Call("verify_packet link", lambda: packets.verify_packet(PACKET, link="tokenring"), ValueError),  # type: ignore[arg-type]
    Call("verify_packet offset", lambda: packets.verify_packet(PACKET, 99), ValueError),
    Call("fill_checksums", lambda: packets.fill_checksums(HEADER + SEGMENT)),
    Call("fill_checksums str", lambda: packets.fill_checksums(ANY), TypeError),
    Call("kernels", fastcksum.kernels),
    Call("describe", lambda: _core.describe("portable64")),
    Call("describe none", lambda: _core.describe(ANY), TypeError),
    Call("partial", lambda: _core.partial("reference", DATA, 5)),
    Call("partial range", lambda: _core.partial("reference", DATA, 2**32), ValueError),
    Call("load_kernel", lambda: _core.load_kernel("/no/such/file.so", "x"), ImportError),
    Call("shared_object", lambda: _core.shared_object("portable64")),
    Call("find_difference", lambda: _core.find_difference("portable64", 2, 1, 3, 0)),
    Call("find_difference range", lambda: _core.find_difference("portable64", 9, 1, 3, 0), ValueError),
    Call("find_broken_state", lambda: _core.find_broken_state("portable64", DATA)),
    Call("capture_reader", _core.capture_reader),
    Call("build_facts", _core.build_facts),
    Call("cpu_facts", _core.cpu_facts),
    Call("decode_cpuid", lambda: _core.decode_cpuid(_core.cpu_facts()["registers"])),
    Call("decode_cpuid none", lambda: _core.decode_cpuid({}), TypeError),
    Call("Bench", _bench),
    Call("Bench spans", lambda: _core.Bench().add("portable64", DATA, [0], [5000]), ValueError),
    Call("Bench raising", lambda: _core.Bench().add("portable64", DATA, [RAISING], [5]), ZeroDivisionError),  # type: ignore[list-item]
    Call("decode_counters", lambda: _core.decode_counters(bytes(72), [1, 2])),
    Call("decode_counters many", lambda: _core.decode_counters(bytes(72), [1] * 99), ValueError),
]
