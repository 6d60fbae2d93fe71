"""raw_cksum_many: arrays of every type and layout, spans that are wrong, and arrays that change while they are used."""

from __future__ import annotations

import inspect
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from make_fixtures import ones_complement_sum

import fastcksum
from fastcksum import raw_cksum_many

if TYPE_CHECKING:
    import numpy.typing as npt

DATA = np.random.default_rng(1).integers(0, 256, 10_000, dtype=np.uint8).tobytes()


def expected(offsets: Any, lengths: Any, initial: Any = 0) -> list[int]:
    """The raw sums, by plain Python."""
    starts = np.broadcast_to(np.asarray(initial), len(offsets)).tolist()
    return [
        int.from_bytes(
            ones_complement_sum(int(start).to_bytes(2, sys.byteorder) + DATA[o : o + n]).to_bytes(2, "big"),
            sys.byteorder,
        )
        for o, n, start in zip(list(offsets), list(lengths), starts, strict=True)
    ]


def spans(n: int, seed: int = 1) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    offsets = rng.integers(0, len(DATA), n)
    return offsets, rng.integers(0, 200, n).clip(max=len(DATA) - offsets)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1000])
def test_sums_of_spans(n: int) -> None:
    offsets, lengths = spans(n)
    sums = raw_cksum_many(DATA, offsets, lengths)
    assert sums.dtype == np.uint16
    assert sums.shape == (n,)
    assert sums.tolist() == expected(offsets, lengths)


@pytest.mark.parametrize(
    "dtype", ["i1", "u1", "<i2", ">i2", "<u2", ">u2", "<i4", ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8"]
)
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_any_integer_type_order_and_stride(dtype: str, step: int) -> None:
    values = np.arange(120) % 100
    offsets = values.astype(dtype)[::step]
    lengths = values[::-1].astype(dtype)[::step]
    initial = (values * 600 if np.dtype(dtype).itemsize > 2 else values).astype(dtype)[::step]
    assert raw_cksum_many(DATA, offsets, lengths, initial).tolist() == expected(offsets, lengths, initial)


def test_types_may_be_mixed_and_sequences_will_do() -> None:
    offsets, lengths = spans(50)
    got = raw_cksum_many(DATA, offsets.astype(">u4"), lengths.astype(np.uint8))
    assert got.tolist() == expected(offsets, lengths)
    assert raw_cksum_many(DATA, offsets.tolist(), tuple(lengths.tolist())).tolist() == got.tolist()
    assert raw_cksum_many(DATA, [], []).tolist() == []
    assert raw_cksum_many(DATA, range(3), [1, 2, 3], [4, 5, 6]).tolist() == expected(
        range(3), [1, 2, 3], [4, 5, 6]
    )
    assert raw_cksum_many(DATA, memoryview(offsets), lengths).tolist() == got.tolist()


def test_one_start_for_all_or_one_each() -> None:
    offsets, lengths = spans(600)
    for one in (0, 1, 0xFFFF, np.uint16(77)):
        assert raw_cksum_many(DATA, offsets, lengths, one).tolist() == expected(offsets, lengths, int(one))
    with pytest.raises(ValueError, match="span 599 does not lie in the buffer"):
        raw_cksum_many(DATA, offsets, np.append(lengths[:-1], 1 << 40), 7)
    each = np.random.default_rng(2).integers(0, 0x10000, 600)
    assert raw_cksum_many(DATA, offsets, lengths, each).tolist() == expected(offsets, lengths, each)
    assert raw_cksum_many(DATA, offsets, lengths, None).tolist() == expected(offsets, lengths)
    assert raw_cksum_many(DATA, offsets, lengths, initial=each).tolist() == expected(offsets, lengths, each)


def test_out_is_filled_and_returned() -> None:
    offsets, lengths = spans(300)
    wide = np.full(600, 7, np.uint16)
    assert raw_cksum_many(DATA, offsets, lengths, out=wide[::2]) is not None
    out = wide[1::2]
    assert raw_cksum_many(DATA, offsets, lengths, out=out) is out
    assert wide[::2].tolist() == wide[1::2].tolist() == expected(offsets, lengths)


def test_out_may_share_memory_with_the_arrays() -> None:
    offsets, lengths = spans(300)
    small = lengths.astype(np.uint16)
    want = expected(offsets, small)
    assert raw_cksum_many(DATA, offsets, small, out=small).tolist() == want


def test_every_kernel(kernel: fastcksum.Kernel) -> None:
    offsets, lengths = spans(300)
    assert raw_cksum_many(DATA, offsets, lengths, kernel=kernel).tolist() == expected(offsets, lengths)
    assert raw_cksum_many(DATA, offsets, lengths, kernel=kernel.name).tolist() == expected(offsets, lengths)


@pytest.mark.parametrize(
    ("offset", "length", "dtype"),
    [
        (9_999, 2, np.int64),
        (10_001, 0, np.int64),
        (-1, 1, np.int64),
        (0, -1, np.int8),
        (-1, 0, np.int16),
        (-5, 1, np.int32),
        (5, 2**64 - 3, np.uint64),
        (2**63, 2**63, np.uint64),
        (2**31, 1, np.uint32),
    ],
)
@pytest.mark.parametrize("index", [0, 255, 256, 300, 511])
def test_a_bad_span_is_named_and_out_left_alone(
    offset: int, length: int, dtype: type[Any], index: int
) -> None:
    offsets, lengths = np.zeros(512, dtype), np.ones(512, dtype)
    offsets[index], lengths[index] = offset, length
    out = np.full(512, 7, np.uint16)
    words = f"span {index} does not lie in the buffer: offset {offset}, length {length}, and the buffer has 10000 bytes"
    with pytest.raises(ValueError, match=words):
        raw_cksum_many(DATA, offsets, lengths, out=out)
    assert (out == 7).all()
    with pytest.raises(ValueError, match=words):
        raw_cksum_many(DATA, offsets, lengths)


def test_a_span_may_end_where_the_buffer_does() -> None:
    assert raw_cksum_many(DATA, [0, 10_000, 9_999], [10_000, 0, 1]).tolist() == expected(
        [0, 10_000, 9_999], [10_000, 0, 1]
    )
    assert raw_cksum_many(b"", [0], [0]).tolist() == [0]


def test_a_bad_start_is_named() -> None:
    out = np.full(3, 7, np.uint16)
    with pytest.raises(
        ValueError, match=r"initial\[1\] must be in 0\.\.65535 \(a raw 16-bit sum\), not 65536"
    ):
        raw_cksum_many(DATA, [0, 0, 0], [1, 1, 1], [0, 65536, 0], out=out)
    with pytest.raises(ValueError, match=r"initial\[2\] must be in 0\.\.65535 .* not -5"):
        raw_cksum_many(DATA, [0, 0, 0], [1, 1, 1], [0, 1, -5], out=out)
    assert (out == 7).all()
    with pytest.raises(ValueError, match=r"initial must be in 0\.\.65535"):
        raw_cksum_many(DATA, [0], [1], -1)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        ((DATA, [0], [1, 2]), {}, ValueError, "offsets and lengths must be equally long, not 1 and 2"),
        ((DATA, [0], [1], [1, 2]), {}, ValueError, "initial must have 1 elements, as many as offsets, not 2"),
        (
            (DATA, np.zeros((2, 2), int), [1]),
            {},
            ValueError,
            "offsets must be one-dimensional, not of 2 dimensions",
        ),
        ((DATA, np.int64(0), [1]), {}, ValueError, "offsets must be one-dimensional, not of 0 dimensions"),
        (
            (DATA, [0.5], [1]),
            {},
            TypeError,
            "offsets must hold integers of 8 to 64 bits, not items of format 'd'",
        ),
        ((DATA, [0], np.array([True])), {}, TypeError, r"lengths must hold integers .* format '\?'"),
        ((DATA, [0], ["a"]), {}, TypeError, "lengths must hold integers"),
        (("text", [0], [1]), {}, TypeError, "a bytes-like object is required, not 'str'"),
        ((memoryview(DATA)[::2], [0], [1]), {}, BufferError, "C-contiguous"),
        (
            (DATA, [0], [1]),
            {"out": np.zeros(2, np.uint16)},
            ValueError,
            "out must be one-dimensional with 1 elements",
        ),
        (
            (DATA, [0], [1]),
            {"out": np.zeros(1, np.int16)},
            TypeError,
            "out must hold uint16 in native byte order",
        ),
        (
            (DATA, [0], [1]),
            {"out": np.zeros(1, ">u2")},
            TypeError,
            "out must hold uint16 in native byte order",
        ),
        ((DATA, [0], [1]), {"out": bytes(2)}, BufferError, "not writable"),
        ((DATA, [0], [1]), {"kernel": "nothing"}, ValueError, "yardstick"),
        ((DATA, [0], [1]), {"kernel": "no such"}, ValueError, "unknown"),
        ((DATA, [0], [1]), {"kernels": 1}, TypeError, "unexpected keyword argument 'kernels'"),
        ((DATA, [0], [1], 0), {"initial": 1}, TypeError, "got 'initial' twice"),
        ((DATA, [0]), {}, TypeError, "missing the argument 'lengths'"),
        ((DATA, [0], [1], 0, None), {}, TypeError, "takes up to 4 positional arguments"),
    ],
)
def test_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        raw_cksum_many(*arguments, **options)


def test_signature_and_names() -> None:
    assert list(inspect.signature(raw_cksum_many).parameters) == [
        "buf",
        "offsets",
        "lengths",
        "initial",
        "out",
        "kernel",
    ]
    assert raw_cksum_many(buf=DATA, lengths=[3], offsets=[1]).tolist() == expected([1], [3])


def test_buffers_are_released() -> None:
    data, offsets = bytearray(DATA), bytearray(b"\0\1")
    out = bytearray(4)
    raw_cksum_many(data, offsets, [1, 1], out=memoryview(out).cast("H"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="span 1"):
        raw_cksum_many(data, offsets, [1, 100_000])
    with pytest.raises(ValueError, match="equally long"):
        raw_cksum_many(data, offsets, [1])
    for array in (data, offsets, out):
        array.append(0)  # BufferError if an export were left


def test_numpy_is_imported_when_called() -> None:
    code = (
        "import sys, fastcksum\n"
        "assert 'numpy' not in sys.modules\n"
        "from array import array\n"
        "print(fastcksum.raw_cksum_many(b'abcd', array('i', [0]), array('i', [4])).tolist())\n"
        "assert 'numpy' in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"{[fastcksum.raw_cksum(b'abcd')]}\n"


@pytest.mark.parametrize("dtype", ["=i8", ">i8"])  # read as they are, and decoded
def test_arrays_that_another_thread_changes(dtype: str) -> None:
    """The GIL is released; every span must be checked on a copy, or this reads far outside the buffer and dies."""
    n = 1_000_000  # some milliseconds a call: time for the writer to wake up, and to write many times
    offsets, lengths = np.zeros(n, dtype), np.full(n, 64, dtype)
    stop = threading.Event()

    def write() -> None:
        rng = random.Random(1)
        while not stop.is_set():
            at = rng.randrange(n - 5000)
            offsets[at : at + 5000] = 1 << 60
            lengths[at : at + 5000] = 1 << 40
            offsets[at : at + 5000] = 0
            lengths[at : at + 5000] = 64

    writer = threading.Thread(target=write)
    writer.start()
    try:
        right = raw_cksum_many(DATA, [0], [64])[0]
        refused = summed = 0
        for _ in range(60):
            try:
                sums = raw_cksum_many(DATA, offsets, lengths)
            except ValueError as error:
                assert "does not lie in the buffer" in str(error)  # noqa: PT017 - either outcome is right
                refused += 1
            else:
                assert (sums == right).all()
                summed += 1
    finally:
        stop.set()
        writer.join()
    assert refused + summed == 60
