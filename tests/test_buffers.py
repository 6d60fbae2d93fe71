"""Everything that exports bytes, and that each export is given back on every path."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from oracle import raw_sum

from fastcksum import _core, lab, raw_cksum

if TYPE_CHECKING:
    from pathlib import Path

DATA = bytes(range(1, 42))

DTYPES = [np.dtype(code) for code in "?bBhHiIlLqQefdgFDG"] + [np.dtype("S3"), np.dtype("U2"), np.dtype("V5")]


def test_bytearray_memoryview_array_mmap(tmp_path: Path) -> None:
    expected = raw_sum(DATA)
    assert raw_cksum(bytearray(DATA)) == expected
    assert raw_cksum(memoryview(DATA)) == expected
    assert raw_cksum(array.array("B", DATA)) == expected
    assert raw_cksum(ctypes.create_string_buffer(DATA, len(DATA))) == expected
    file = tmp_path / "data"
    file.write_bytes(DATA)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert raw_cksum(mapped) == expected
        assert raw_cksum(mapped, offset=5, length=8) == raw_sum(DATA[5:13])


def test_bytes_subclass() -> None:
    class Packet(bytes):
        pass

    assert raw_cksum(Packet(DATA)) == raw_sum(DATA)


@pytest.mark.parametrize(("start", "stop"), [(0, 41), (1, 41), (3, 20), (7, 7), (40, 41)])
def test_memoryview_slices(start: int, stop: int) -> None:
    assert raw_cksum(memoryview(DATA)[start:stop]) == raw_sum(DATA[start:stop])


def test_items_of_an_array_are_bytes_in_memory_order() -> None:
    items = array.array("H", range(1000, 1020))
    assert raw_cksum(items) == raw_sum(items.tobytes())
    wide = array.array("d", [1.5, -2.5, 3e300])
    assert raw_cksum(wide) == raw_sum(wide.tobytes())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_numpy_of_every_dtype_and_in_two_dimensions(dtype: np.dtype[Any]) -> None:
    random = np.random.default_rng(20).integers(0, 256, 12 * dtype.itemsize, dtype=np.uint8).tobytes()
    flat = np.frombuffer(random, dtype=dtype)
    assert raw_cksum(flat) == raw_sum(random)
    assert raw_cksum(flat.reshape(3, 4)) == raw_sum(random)
    assert raw_cksum(flat[5:]) == raw_sum(random[5 * dtype.itemsize :])


def test_numpy_read_only_and_scalar() -> None:
    values = np.arange(10, dtype=np.uint32)
    values.flags.writeable = False
    assert raw_cksum(values) == raw_sum(values.tobytes())
    assert raw_cksum(np.array(0x1234, dtype="<u2")) == raw_sum(b"\x34\x12")
    assert raw_cksum(np.empty(0, dtype=np.uint8)) == 0


@pytest.mark.parametrize(
    "strided",
    [
        memoryview(DATA)[::2],
        memoryview(DATA)[::-1],
        np.arange(10, dtype=np.uint8)[::2],
        np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)),
        np.arange(12, dtype=np.uint8).reshape(3, 4)[:, :2],
        np.lib.stride_tricks.as_strided(np.arange(9, dtype=np.uint8), (3, 3), (1, 3)),
    ],
    ids=["memoryview", "reversed", "numpy", "fortran", "columns", "as_strided"],
)
def test_non_contiguous_is_a_buffer_error_whoever_exports_it(strided: Any) -> None:
    name = "memoryview" if isinstance(strided, memoryview) else "numpy.ndarray"
    with pytest.raises(BufferError) as caught:
        raw_cksum(strided)
    assert str(caught.value) == (
        f"a C-contiguous buffer is required, and this {name} is not: copy it first, for example with bytes()"
    )
    assert raw_cksum(bytes(strided)) == raw_sum(bytes(strided))


def test_released_memoryview_keeps_its_own_error() -> None:
    view = memoryview(DATA)
    view.release()
    with pytest.raises(ValueError, match="released"):
        raw_cksum(view)


def calls_that_fail(data: Any) -> list[Any]:
    return [
        lambda: raw_cksum(data, -1),
        lambda: raw_cksum(data, 1.5),  # type: ignore[arg-type]
        lambda: raw_cksum(data, offset=len(data) + 1),
        lambda: raw_cksum(data, length=len(data) + 1),
        lambda: raw_cksum(data, kernel="unknown"),
        lambda: raw_cksum(data, kernel="nothing"),
        lambda: raw_cksum(data, kernel=3),  # type: ignore[arg-type]
        lambda: raw_cksum(data, nonsense=3),  # type: ignore[call-arg]
        lambda: _core.partial("reference", data, -1),
        lambda: _core.partial("unknown", data, 0),
        lambda: _core.Bench().add("reference", data, [0], [len(data) + 1]),
        lambda: _core.Bench().add("reference", data, [], []),
        lambda: _core.Bench().add("reference", data, [0], [1, 2]),
        lambda: _core.Bench().add("reference", data, [0], [1], loop="unknown"),
        lambda: _core.Bench().add("reference", data, [0], [len(data)], loop="receive"),
    ]


@pytest.mark.parametrize("number", range(len(calls_that_fail(b""))))
def test_buffer_is_released_after_an_error(number: int) -> None:
    data = bytearray(DATA)
    with pytest.raises((TypeError, ValueError)):
        calls_that_fail(data)[number]()
    data.append(0)  # BufferError if an export were left


def test_buffer_is_released_after_success() -> None:
    data = bytearray(DATA)
    raw_cksum(data)
    raw_cksum(data, 3, offset=1, length=5, kernel="reference")
    _core.partial("reference", data, 0)
    data.append(0)


def test_bench_holds_its_buffers_and_gives_them_back() -> None:
    data = bytearray(DATA)
    bench = _core.Bench()
    bench.add("reference", data, [0], [10])
    with pytest.raises(BufferError):
        data.append(0)
    del bench
    gc.collect()
    data.append(0)


def test_no_reference_leaks() -> None:
    data = bytearray(DATA)
    kernel = "reference"
    options = {"offset": 1, "length": 20, "kernel": kernel}

    def call() -> None:
        raw_cksum(data, 5, **options)  # type: ignore[arg-type]
        for fails in calls_that_fail(data):
            with pytest.raises((TypeError, ValueError)):
                fails()

    call()
    before = sys.getrefcount(data), sys.getrefcount(kernel), sys.getrefcount(DATA)
    for _ in range(50):
        call()
    assert (sys.getrefcount(data), sys.getrefcount(kernel), sys.getrefcount(DATA)) == before


def test_exporter_dies_with_the_last_reference() -> None:
    values = np.arange(100, dtype=np.uint8)
    gone = weakref.ref(values)
    raw_cksum(values)
    del values
    assert gone() is None


# A kernel that knows, at two lengths that no trial uses, whether its thread holds the GIL.
ASKS_FOR_THE_GIL = r"""
#include <stddef.h>
#include <stdint.h>
#include <string.h>
int PyGILState_Check(void);
uint32_t asks_for_the_gil(const void *buf, size_t len, uint32_t sum)
{
    uint64_t total = sum;
    const unsigned char *p = buf;
    if (len == SHORT || len == LONG)
        return PyGILState_Check() ? 1 : 2;
    for (size_t i = 0; i + 1 < len; i += 2) {
        uint16_t word;
        memcpy(&word, p + i, 2);
        total += word;
    }
    if (len % 2) {
        uint16_t word = 0;
        memcpy(&word, p + len - 1, 1);
        total += word;
    }
    while (total >> 32)
        total = (total & 0xffffffff) + (total >> 32);
    return (uint32_t)total;
}
"""


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_gil_is_released_for_large_buffers(kind: type[bytes | bytearray]) -> None:
    short, long = _core.GIL_RELEASE_BYTES - 777, _core.GIL_RELEASE_BYTES + 777
    flags = ("-O2", f"-DSHORT={short}", f"-DLONG={long}")
    kernel = lab.compile_kernel(ASKS_FOR_THE_GIL, flags=flags)
    held, released = 1, 2
    assert raw_cksum(kind(short), kernel=kernel) == held
    assert raw_cksum(kind(long), kernel=kernel) == released


def test_a_large_sum_is_the_same_with_and_without_the_gil() -> None:
    random = np.random.default_rng(7).integers(0, 256, 2 * _core.GIL_RELEASE_BYTES, dtype=np.uint8).tobytes()
    for length in (_core.GIL_RELEASE_BYTES - 1, _core.GIL_RELEASE_BYTES, _core.GIL_RELEASE_BYTES + 1):
        assert raw_cksum(random[:length]) == raw_sum(random[:length])
