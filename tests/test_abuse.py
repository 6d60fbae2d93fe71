"""Nothing that a caller does breaks it: lengths below a kernel's own, memory that runs out, objects that change
meanwhile.

What ended in a crash once is tried in a process of its own, so that one that does so again is one red test.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fastcksum.packets
from fastcksum import Kernel, _core, capture, lab, raw_cksum, raw_cksum_many

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt


# Two TCP segments over IPv4, the first with its checksums, the second without.
HEADER = bytes.fromhex("450000280001000040060000 0a000001 0a000002".replace(" ", ""))
SEGMENT = bytes.fromhex("04d2005000000001000000005002200000000000")
TWO_SEGMENTS = fastcksum.packets.fill_checksums(HEADER + SEGMENT) + HEADER + SEGMENT


def run_script(script: str, *arguments: object, environment: dict[str, str] | None = None) -> str:
    """What a script says on standard output, in a process that must end well."""
    done = subprocess.run(
        [sys.executable, "-c", dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | (environment or {}),
    )
    assert done.returncode == 0, f"it ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


# Kernels that read a fixed number of bytes

ONE_LENGTH = """
#include <stdint.h>
#include <stddef.h>
uint32_t one_length(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i + 1 < len; i += 2) {
        uint16_t word;
        __builtin_memcpy(&word, p + i, 2);
        sum += word;
    }
    return sum;
}
"""


@pytest.fixture(scope="module")
def of_1500_bytes() -> Kernel:
    """A kernel that sums 1500 bytes and no other number."""
    return lab.compile_kernel(ONE_LENGTH, "gcc", ("-O1",), symbol="one_length", inline_length=1500)


@pytest.mark.needs_tool("gcc")
def test_a_kernel_never_sums_less_than_it_reads(of_1500_bytes: Kernel) -> None:
    assert of_1500_bytes.min_len == 1500
    data = bytes(range(256)) * 8
    capsule: Any = _core.describe(of_1500_bytes)["capsule"]
    bench = _core.Bench()
    bench.add(of_1500_bytes, data, [0], [1500])
    calls: list[Callable[[int], object]] = [
        lambda length: raw_cksum(data[:length], kernel=of_1500_bytes),
        lambda length: raw_cksum(memoryview(data), offset=2048 - length, length=length, kernel=of_1500_bytes),
        lambda length: raw_cksum(data, length=length, kernel=capsule),
        lambda length: raw_cksum_many(data, [0, 100], [1500, length], kernel=of_1500_bytes),
        lambda length: raw_cksum_many(
            data, [0, 1], np.array([1500, length], ">u2"), [0, 1], kernel=of_1500_bytes
        ),
        lambda length: of_1500_bytes.partial(data[:length]),
        lambda length: bench.add(of_1500_bytes, data, [0], [length]),
        lambda length: _core.count_events(of_1500_bytes, data, 0, length, 1),
    ]
    for call in calls:
        with contextlib.suppress(OSError):  # this machine may have no counters
            call(1500)
        for length in (0, 2, 1499):
            with pytest.raises(ValueError, match=rf"'one_length_1500' .* 1500 bytes.*, not {length}\b"):
                call(length)
    assert raw_cksum(data[:1500], kernel=of_1500_bytes) == raw_cksum(data[:1500], kernel="reference")


# Memory that runs out


def test_a_bench_that_cannot_grow_is_as_it_was() -> None:
    script = """
        import _testcapi
        from fastcksum import _core
        data = bytes(range(64))
        failed = 0
        for start in range(12):
            bench = _core.Bench()
            for _ in range(3):
                bench.add("portable64", data, [0], [64])
            _testcapi.set_nomemory(start, start + 1)
            try:
                bench.add("portable64", data, [0], [64])
            except MemoryError:
                failed += 1
            finally:
                _testcapi.remove_mem_hooks()
            assert bench.check() is None
            bench.add("portable64", data, [0], [64])
            del bench
        print(failed)
    """
    assert int(run_script(script)) >= 5


# Sequences that change while they are walked

SHRINKING = """
    import sys
    from fastcksum import _core

    class Emptying:
        def __init__(self, *lists):
            self.lists = lists
        def __index__(self):
            for each in self.lists:
                each.clear()
            junk.extend(bytearray(100) for _ in range(1000))
            return 0

    junk = []
    data = bytes(64)
    bench = _core.Bench()
    bench.add("portable64", data, [0], [64])
"""


@pytest.mark.parametrize(
    "script",
    [
        """
        offsets, lengths = [0] * 2000, [1] * 2001
        offsets.insert(0, Emptying(offsets, lengths))
        bench.add("portable64", data, offsets, lengths)
        """,
        """
        order = [0] * 2000
        order.insert(0, Emptying(order))
        bench.round(order, 0, bytearray(_core.SAMPLE_SIZE * 3000))
        """,
        """
        calls = [1] * 2000
        calls.insert(0, Emptying(calls))
        bench.learn(0, calls, 0, 0, bytearray(_core.SAMPLE_SIZE * 3000))
        """,
        """
        ids = [10**12 + i for i in range(5)]
        ids.insert(0, Emptying(ids))
        assert _core.decode_counters(bytes(72), ids)
        """,
    ],
    ids=["spans", "order", "lesson", "ids"],
)
def test_sequences_that_shrink_are_walked_as_they_were(script: str) -> None:
    run_script(dedent(SHRINKING) + dedent(script), environment={"PYTHONMALLOC": "debug"})


def test_a_packet_that_changes_is_received_within_its_bytes() -> None:
    script = """
        from fastcksum import _core
        packet = bytearray(40)
        packet[0], packet[9], packet[32] = 0x45, 6, 0x50
        bench = _core.Bench()
        bench.add("portable64", packet, [0], [40], loop="receive")
        out = bytearray(_core.SAMPLE_SIZE)
        for at, value in ((0, 0x4F), (32, 0xF0), (0, 0x40), (9, 17), (0, 0x65)):
            before, packet[at] = packet[at], value
            bench.round([0], 0, out)
            packet[at] = before
    """
    run_script(script)


def test_one_reader_serves_one_thread_at_a_time() -> None:
    script = """
        import struct, threading
        import numpy as np
        from fastcksum import _core

        def block(kind, body):
            size = 12 + len(body)
            return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

        section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        interfaces = b"".join(block(1, struct.pack("<HHI", 1, 0, 0)) for _ in range(500_000))
        data = section + interfaces + block(6, struct.pack("<IIIII", 3, 0, 0, 4, 4) + b"abcd")
        said = []

        def scan(reader):
            columns = [np.empty(20, kind) for kind in (np.int64, np.uint32, np.uint32, np.int64, np.uint16, np.int64)]
            try:
                said.append(_core.scan_capture(reader, data, 0, len(data), True, *columns)[0])
            except RuntimeError as error:
                assert "another thread" in str(error)
                said.append("refused")

        for _ in range(20):
            reader = _core.capture_reader()
            threads = [threading.Thread(target=scan, args=(reader,)) for _ in range(3)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
        print(len(said), set(said) <= {0, 1, "refused"})
    """
    assert run_script(script) == "60 True\n"


def test_a_bench_that_is_at_work_takes_no_other_call() -> None:
    bench = _core.Bench()
    bench.add("portable64", bytes(64), [0], [64])
    refused = []

    class Entering:
        def __index__(self) -> int:
            for call in (bench.check, lambda: bench.set_calls(0, 1), lambda: bench.calibrate(1)):
                with pytest.raises(RuntimeError, match="this Bench is in use by another thread"):
                    call()
                refused.append(call)
            return 0

    bench.round([Entering()], 0, bytearray(_core.SAMPLE_SIZE))  # type: ignore[list-item]
    assert len(refused) == 3
    assert bench.check() is None


# Numbers that overflow, addresses that do not fit


@pytest.mark.parametrize(("offset", "longest"), [(sys.maxsize, sys.maxsize), (2**30 + 1, 0), (0, 2**30 + 1)])
def test_a_plan_that_fits_no_memory_is_refused(offset: int, longest: int) -> None:
    script = """
        import sys
        from fastcksum import _core
        try:
            _core.find_difference("portable64", 0, int(sys.argv[1]), int(sys.argv[2]), 0)
        except ValueError as error:
            print(error)
    """
    said = run_script(script, offset, longest)
    assert "1073741824" in said
    assert str(max(offset, longest)) in said


def misaligned(array: npt.NDArray[Any]) -> Any:
    """The same numbers, one byte beside where the processor would have them."""
    copy = np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1)
    assert not copy.flags.aligned
    return copy


def test_columns_may_lie_anywhere() -> None:
    columns: dict[str, Any] = {
        "offsets": np.array([0, 40], np.int64),
        "lengths": np.array([40, 40], np.uint32),
        "original_lengths": np.array([40, 40], np.uint32),
        "timestamps": np.array([1, 2], "M8[ns]"),
        "linktypes": np.array([101, 101], np.uint16),
    }
    plain = capture.verify(capture.Capture(TWO_SEGMENTS, **columns))
    moved = capture.verify(
        capture.Capture(TWO_SEGMENTS, **{name: misaligned(each) for name, each in columns.items()})
    )
    assert moved.counts() == plain.counts()
    assert list(moved.rows) == list(plain.rows)


def test_a_column_at_a_wrong_address_is_refused_below() -> None:
    reader, data = _core.capture_reader(), bytes(100)
    columns = [np.empty(4, kind) for kind in (np.int64, np.uint32, np.uint32, np.int64, np.uint16, np.int64)]
    for at, column in enumerate(columns):
        room = np.zeros(column.nbytes + 1, np.uint8)
        beside = [*columns[:at], room[1:].view(column.dtype), *columns[at + 1 :]]
        with pytest.raises(ValueError, match="aligned"):
            _core.scan_capture(reader, data, 0, 100, True, *beside)


# What the caller's objects raise


class Raising:
    """Raises what it was made with, whatever is asked of it."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    @property
    def capsule(self) -> object:
        raise self.error

    def __index__(self) -> int:
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt("now"), MemoryError("none"), ZeroDivisionError("why")])
def test_exceptions_of_the_callers_objects_come_through(error: BaseException) -> None:
    index: Any = Raising(error)
    kernel = index
    calls: list[Callable[[], object]] = [
        lambda: raw_cksum(b"ab", kernel=kernel),
        lambda: raw_cksum_many(b"ab", [0], [1], kernel=kernel),
        lambda: _core.describe(kernel),
        lambda: raw_cksum(b"ab", index),
        lambda: raw_cksum(b"ab", offset=index),
        lambda: fastcksum.combine(0, index, 1),
        lambda: fastcksum.update_checksum(1, index, index),
        lambda: fastcksum.Checksum(b"", initial=index),
    ]
    for call in calls:
        with pytest.raises(type(error), match=str(error)):
            call()


def test_what_has_no_capsule_is_no_kernel() -> None:
    not_a_kernel: Any = 7
    with pytest.raises(TypeError, match="kernel must be a name or a Kernel, not 'int'"):
        raw_cksum(b"ab", kernel=not_a_kernel)


def test_registers_are_a_dict() -> None:
    with pytest.raises(TypeError):
        _core.decode_cpuid(5)  # type: ignore[arg-type]


@pytest.mark.needs_tool("gcc")
def test_a_kernel_is_loaded_from_a_folder_whose_name_is_no_text(
    of_1500_bytes: Kernel, tmp_path: Path
) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"not-utf8-\xff")  # noqa: PTH118 - bytes
    os.mkdir(folder)  # noqa: PTH102 - bytes
    compiled = _core.shared_object(of_1500_bytes)
    assert compiled is not None
    copy = os.path.join(folder, b"kernel.so")  # noqa: PTH118 - bytes
    with open(compiled, "rb") as source, open(copy, "wb") as target:  # noqa: PTH123 - bytes
        target.write(source.read())
    loaded: Any = _core.load_kernel(os.fsdecode(copy), "one_length_1500")
    data = bytes(range(250)) * 6
    assert raw_cksum(data, kernel=loaded) == raw_cksum(data)
    with pytest.raises(ImportError, match="cannot open shared object file"):
        _core.load_kernel(os.fsdecode(folder) + "/none.so", "one_length")
