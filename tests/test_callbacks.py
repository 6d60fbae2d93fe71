"""Arguments whose own code runs while a call looks at them: they change what the call holds, raise, or call it again.

Each script runs in a process of its own, on the debugging allocator, so that a use after free is seen as such.
"""

from __future__ import annotations

import os
import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from conftest import find_python
from other_python import build_for
from test_abuse import run_script

if TYPE_CHECKING:
    from pathlib import Path

# Each entry point, with a place for one argument; `target` is what it looks at, `numbers` an array that it reads.
CALLS = """
    import array, ipaddress, struct, sys
    import fastcksum
    from fastcksum import _core, packets

    PACKET = bytes.fromhex("45000026000100004011f8adc0a80001c0a800c7303900350012392a00010203040506070809")
    target, numbers, out = bytearray(), array.array("q"), array.array("H")
    record, order, samples = bytearray(), [], bytearray()
    registers, stream, bench = {}, None, None

    def afresh():
        global stream, bench
        target[:] = PACKET * 20
        numbers[:] = array.array("q", [0, 1, 2, 3])
        out[:] = array.array("H", [0] * 4)
        record[:], order[:], samples[:] = bytes(72), [0] * 50, bytes(_core.SAMPLE_SIZE * 64)
        registers.clear()
        registers.update(_core.cpu_facts()["registers"], vendor="x" * 400)
        stream, bench = fastcksum.Checksum(target), _core.Bench()
        bench.add("portable64", target, [0, 1], [20, 30])
        bench.set_calls(0, 4)

    def first(x):
        return [x, *[0] * 50]

    many = fastcksum.raw_cksum_many
    checks = lambda *span: _core.packet_checks(target, *span, 101)
    INTEGERS = {
        "raw_cksum initial": lambda x: fastcksum.raw_cksum(target, x),
        "raw_cksum offset": lambda x: fastcksum.raw_cksum(target, offset=x, length=20),
        "raw_cksum length": lambda x: fastcksum.raw_cksum(target, 7, offset=64, length=x),
        "raw_cksum kernel": lambda x: fastcksum.raw_cksum(target, x, kernel="portable64"),
        "checksum": lambda x: fastcksum.checksum(target, offset=x),
        "verify": lambda x: fastcksum.verify(memoryview(target), length=x),
        "many": lambda x: many(target, numbers, numbers, x, out=out),
        "many list": lambda x: many(target, [x, 1], numbers[:2]),
        "many initials": lambda x: many(target, numbers[:2], numbers[:2], [x, 1]),
        "combine": lambda x: fastcksum.combine(1, x, 3),
        "combine length": lambda x: fastcksum.combine(1, 2, x),
        "update_checksum": lambda x: fastcksum.update_checksum(x, target, target),
        "update_checksum old": lambda x: fastcksum.update_checksum(1, x, x),
        "Checksum": lambda x: fastcksum.Checksum(target, initial=x),
        "pseudo_header protocol": lambda x: packets.pseudo_header(target[:4], target[:4], x, 20),
        "pseudo_header length": lambda x: packets.pseudo_header(target[:4], target[:4], 6, x),
        "ipv4_header_checksum": lambda x: packets.ipv4_header_checksum(target, x),
        "transport_checksum": lambda x: packets.transport_checksum(target, x),
        "transport_checksum link": lambda x: packets.transport_checksum(target, link=x),
        "verify_packet": lambda x: packets.verify_packet(target, x),
        "verify_packet link": lambda x: packets.verify_packet(target, 0, link=x),
        "fill_checksums": lambda x: packets.fill_checksums(target, x),
        "fill_into": lambda x: packets.fill_into(target, x),
        "fill_into link": lambda x: packets.fill_into(target, link=x),
        "explain": lambda x: packets.explain(target, x),
        "packet_checks offset": lambda x: checks(x, None, None),
        "packet_checks length": lambda x: checks(0, x, None),
        "packet_checks original": lambda x: checks(0, 38, x),
        "verify_packets": lambda x: _core.verify_packets(target, x, x, x, x, x),
        "partial": lambda x: _core.partial("reference", target, x),
        "find_difference": lambda x: _core.find_difference("portable64", 0, x, 3, 0),
        "count_events": lambda x: _core.count_events("portable64", target, x, 2, 1),
        "count_events calls": lambda x: _core.count_events("portable64", target, 0, 2, x),
        "decode_counters": lambda x: _core.decode_counters(record, [x, 1]),
        "decode_cpuid": lambda x: _core.decode_cpuid(registers_with(x)),
        "Bench.add offsets": lambda x: bench.add("portable64", target, first(x), [1] * 51),
        "Bench.add lengths": lambda x: bench.add("portable64", target, [0] * 51, first(x)),
        "Bench.set_calls": lambda x: bench.set_calls(0, x),
        "Bench.set_calls cell": lambda x: bench.set_calls(x, 2),
        "Bench.calibrate": lambda x: bench.calibrate(x),
        "Bench.round": lambda x: bench.round([x, 0], 0, samples),
        "Bench.round seed": lambda x: bench.round([0], 0, samples, seed=x),
        "Bench.learn": lambda x: bench.learn(0, [x, 2], 0, 0, samples),
        "Bench.learn cell": lambda x: bench.learn(x, [2], 0, 0, samples),
    }

    def registers_with(x):
        registers["leaf7_1_eax"] = x
        return registers

    def outcome(call, argument):
        try:
            return call(argument)
        except (ValueError, TypeError, BufferError, OSError, IndexError, RuntimeError, OverflowError) as error:
            assert not isinstance(error, RecursionError), error
            return error
"""

MUTATING = """
    class Emptying:
        def __init__(self, value):
            self.value = value
        def __index__(self):
            for each in (target, numbers, out, record, order, samples, registers):
                try:
                    each.clear() if hasattr(each, "clear") else each.__delitem__(slice(None))
                except BufferError:
                    refused.add(name)
            junk.extend(bytes(300) for _ in range(50))
            return self.value

    class Growing(Emptying):
        def __index__(self):
            for each in (target, record, samples):
                try:
                    each.extend(bytes(1 << 16))
                except BufferError:
                    refused.add(name)
            return self.value

    class Entering(Emptying):
        # calls the same again, and everything else that shares an object with it
        def __index__(self):
            outcome(call, self.value)
            outcome(lambda _: bench.add("portable64", bytes(9), [0] * 99, [1] * 99), None)
            outcome(lambda _: stream.update(target), None)
            outcome(lambda _: bench.check(), None)
            return self.value

    refused, junk, done = set(), [], 0
    for name, call in INTEGERS.items():
        for kind in (Emptying, Growing, Entering):
            for value in (0, 1, 101, 2**200, -1):
                afresh()
                outcome(call, kind(value))
                afresh()
                assert bench.check() is None, (name, kind, value)
                assert fastcksum.raw_cksum(target) == fastcksum.raw_cksum(bytes(target), kernel="reference")
                done += 1
    # a buffer that a call holds can be resized by nobody
    held = {"raw_cksum initial", "raw_cksum length", "verify_packet", "fill_into", "partial", "Bench.add lengths"}
    assert held <= refused and "many" in refused, held - refused
    print(done)
"""

RAISING = """
    class Own(BaseException):
        pass

    class Raising:
        def __index__(self):
            raise Own

    class Wrong:  # an integer that is none
        def __index__(self):
            return "no integer"

    class Odd(int):
        # every question that an error text might ask is answered by an exception
        def fail(self, *rest):
            raise Own
        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = fail
        __hash__ = __repr__ = __str__ = __format__ = bit_length = __index__ = __int__ = __bool__ = fail

    came = 0
    for name, call in INTEGERS.items():
        afresh()
        try:
            result = outcome(call, Raising())
        except Own:
            came += 1
        else:
            # what takes arrays or plain numbers only does not ask
            assert isinstance(result, (TypeError, OSError)), (name, result)
        assert isinstance(outcome(call, Wrong()), Exception), name
        for number in (1, -1, 2**70, 2**2000):
            try:
                outcome(call, Odd(number))
            except Own:
                pass
    assert came > 30, came

    class Name(str):
        def fail(self, *rest):
            raise Own
        __eq__ = __hash__ = __repr__ = __str__ = fail

    class Equal(str):
        pass

    for text in ("portable64", "no such kernel", "ip", "offset"):
        for use in (
            lambda x: fastcksum.raw_cksum(target, kernel=x),
            lambda x: many(target, numbers, numbers, kernel=x, out=out),
            lambda x: packets.verify_packet(target, link=x),
            lambda x: packets.pseudo_header(x, x, 6, 20),
            lambda x: fastcksum.raw_cksum(target, **{Equal(x): 1}),
            lambda x: packets.verify_packet(target, **{Equal(x): 1}),
            lambda x: bench.add(x, target, [0], [1]),
            lambda x: bench.add("portable64", target, [0], [1], loop=x),
        ):
            try:
                outcome(use, Name(text))
            except Own:
                pass
    assert fastcksum.raw_cksum(target, **{Equal("offset"): 3}) == fastcksum.raw_cksum(target, offset=3)
    print("done")
"""

ATTRIBUTES = """
    import datetime
    class Kernel:
        def __init__(self, answer):
            self.answer = answer
        @property
        def capsule(self):
            target.clear() if self.answer == "clear" else None
            return _core.describe("portable64")["capsule"] if self.answer in ("clear", "right") else self.answer

    wrong = [None, 7, "portable64", datetime.datetime_CAPI, _core.capture_reader(), Kernel("right")]
    uses = {
        "raw_cksum": lambda k: fastcksum.raw_cksum(target, kernel=k),
        "many": lambda k: many(target, numbers, numbers, kernel=k, out=out),
        "partial": lambda k: _core.partial(k, target, 0),
        "Bench.add": lambda k: bench.add(k, target, [0], [1]),
        "describe": _core.describe,
        "shared_object": _core.shared_object,
        "count_events": lambda k: _core.count_events(k, target, 0, 4, 1),
        "find_difference": lambda k: _core.find_difference(k, 0, 1, 3, 0),
    }
    for name, use in uses.items():
        for answer in wrong:
            afresh()
            assert isinstance(outcome(use, Kernel(answer)), TypeError), (name, answer)
        for answer in ("right", "clear"):
            afresh()
            outcome(use, Kernel(answer))

    class Address(ipaddress.IPv4Address):
        answer = b"1234"
        @property
        def packed(self):
            target.clear()
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    for answer in (b"1234", bytes(16), b"", "1.2.3.4", None, 7, target, ZeroDivisionError("why")):
        afresh()
        address = Address("1.2.3.4")
        address.answer = answer
        try:
            outcome(lambda x: packets.pseudo_header(x, b"1234", 6, 20), address)
        except ZeroDivisionError as error:
            assert str(error) == "why"

    class Lying(list):
        def __len__(self):
            return 10**6
        def __getitem__(self, i):
            return 10**6
        def __iter__(self):
            self.clear()
            return iter([0, 1, Endless()])

    class Endless:
        def __index__(self):
            order.clear()
            return 1

    for use in (
        lambda x: bench.add("portable64", target, x, x),
        lambda x: bench.round(x, 0, samples),
        lambda x: bench.learn(0, x, 0, 0, samples),
        lambda x: _core.decode_counters(record, x),
        lambda x: many(target, x, x),
    ):
        afresh()
        outcome(use, Lying([0, 1, 2]))
    print("done")
"""

# In a class of Python since 3.12: PEP 688.
BUFFERS = """
    class Exporter:
        # does what it was told to before it hands out its bytes, and again when they are given back
        def __init__(self, does):
            self.does = does
        def __buffer__(self, flags):
            self.does()
            return memoryview(PACKET) if not flags & 1 else memoryview(bytearray(PACKET))
        def __release_buffer__(self, view):
            view.release()
            self.does()

    class Own(BaseException):
        pass

    def fail():
        raise Own

    def enter():
        if not inside:
            inside.append(1)
            outcome(call, Exporter(lambda: None))
            outcome(lambda _: bench.add("portable64", bytes(9), [0], [1]), None)
            inside.clear()

    def wrong():
        raise BufferError("not now")

    inside = []
    uses = {
        "raw_cksum": lambda x: fastcksum.raw_cksum(x, 7, offset=1),
        "raw_cksum whole": fastcksum.raw_cksum,
        "checksum": fastcksum.checksum,
        "verify": lambda x: fastcksum.verify(x, length=20),
        "many": lambda x: many(x, numbers, numbers, out=out),
        "many offsets": lambda x: many(target, x, x, out=out),
        "update_checksum": lambda x: fastcksum.update_checksum(1, x, x),
        "Checksum": fastcksum.Checksum,
        "Checksum.update": lambda x: stream.update(x),
        "pseudo_header": lambda x: packets.pseudo_header(x, x, 6, 20),
        "ipv4_header_checksum": packets.ipv4_header_checksum,
        "transport_checksum": packets.transport_checksum,
        "verify_packet": packets.verify_packet,
        "fill_checksums": packets.fill_checksums,
        "fill_into": packets.fill_into,
        "packet_checks": lambda x: _core.packet_checks(x, 0, None, None, 101),
        "verify_packets": lambda x: _core.verify_packets(x, numbers, x, x, x, x),
        "scan_capture": lambda x: _core.scan_capture(_core.capture_reader(), x, 0, 20, True, x, x, x, x, x, x),
        "encode_addresses": lambda x: _core.encode_addresses(x, x, x),
        "partial": lambda x: _core.partial("reference", x, 5),
        "find_broken_state": lambda x: _core.find_broken_state("portable64", x),
        "decode_counters": lambda x: _core.decode_counters(x, [1]),
        "Bench.add": lambda x: bench.add("portable64", x, [0], [20]),
        "Bench.round": lambda x: bench.round([0], 0, x),
        "Bench.learn": lambda x: bench.learn(0, [2], 0, 0, x),
    }
    def ignore(unraisable):
        assert isinstance(unraisable.exc_value, (Own, BufferError)), unraisable
    sys.unraisablehook = ignore  # what __release_buffer__ raises
    came = 0
    for name, call in uses.items():
        for does in (lambda: None, target.clear, enter, wrong, fail):
            afresh()
            try:
                outcome(call, Exporter(does))
            except Own:
                came += 1
            afresh()
            assert bench.check() is None
            assert fastcksum.raw_cksum(Exporter(lambda: None)) == fastcksum.raw_cksum(PACKET, kernel="reference")
    assert came >= len(uses) - 2, came
    print("done")
"""


def in_debug_memory(script: str) -> str:
    return run_script(dedent(CALLS) + dedent(script), environment={"PYTHONMALLOC": "debug"})


def test_integers_that_change_what_a_call_holds() -> None:
    assert int(in_debug_memory(MUTATING)) > 500


def test_integers_and_names_that_raise() -> None:
    assert in_debug_memory(RAISING) == "done\n"


def test_attributes_and_sequences_that_lie() -> None:
    assert in_debug_memory(ATTRIBUTES) == "done\n"


def test_the_extension_by_itself_knows_no_type_of_verdicts() -> None:
    script = """
        from fastcksum import _core
        packet = bytes.fromhex("45000026000100004011f8adc0a80001c0a800c7303900350012392a00010203040506070809")
        print(_core.verify_packet(packet)[1][:4])
    """
    assert run_script(script) == "('udp', 'good', 14634, 14634)\n"


@pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=pytest.mark.needs_python(version)) for version in ("3.12", "3.13")],
)
def test_buffers_of_classes_of_python(version: str, tmp_path: Path) -> None:
    python = find_python(version)
    assert python is not None
    build_for(python, tmp_path)
    done = subprocess.run(
        [python, "-c", dedent(CALLS) + dedent(BUFFERS)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONMALLOC": "debug", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
