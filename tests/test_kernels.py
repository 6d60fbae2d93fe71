"""Every kernel that runs here, through Python: published vectors, guard pages, start values, algebra, wrapping."""

from __future__ import annotations

import ctypes
import functools
import mmap
import random
from typing import TYPE_CHECKING

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastcksum import kernels, raw_cksum

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from fastcksum import Kernel

LONGEST = 2100
OFFSETS = 64
FILLS = ("zeros", "ones", "random", "carries")
DPDK = [kernel for kernel in kernels() if kernel.name.startswith("dpdk_")]
YARDSTICKS = [kernel for kernel in kernels() if kernel.role == "yardstick" and kernel.runs_here]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


@functools.cache
def filled(fill: str, size: int) -> npt.NDArray[np.uint8]:
    """Bytes of one kind, the same at each call."""
    match fill:
        case "zeros":
            return np.zeros(size, np.uint8)
        case "ones":
            return np.full(size, 0xFF, np.uint8)
        case "random":
            return np.random.default_rng(1071).integers(0, 256, size, np.uint8)
        case _:  # ones, and here and there a word 1 that makes every lane carry
            place = np.arange(size) % 71
            return np.where(place == 0, 1, np.where(place == 1, 0, 0xFF)).astype(np.uint8)


@pytest.fixture(scope="module")
def guarded() -> Iterator[memoryview]:
    """Writable memory between two pages that can't even be read: whoever leaves it dies with SIGSEGV."""
    page = mmap.PAGESIZE
    room = -(-(OFFSETS + LONGEST) // page) * page
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base = _libc.mmap(None, room + 2 * page, 0, flags, -1, 0)
    assert base not in {None, ctypes.c_void_p(-1).value}, ctypes.get_errno()
    assert _libc.mprotect(base + page, room, mmap.PROT_READ | mmap.PROT_WRITE) == 0, ctypes.get_errno()
    memory = (ctypes.c_ubyte * room).from_address(base + page)
    yield memoryview(memory).cast("B")
    assert _libc.munmap(base, room + 2 * page) == 0


@functools.cache
def sums_from(fill: str, size: int, offset: int, start: int) -> list[int]:
    return list(map(int, oracle.prefix_sums(filled(fill, size)[offset : offset + LONGEST], start)))


@functools.cache
def sums_to_the_end(fill: str, size: int) -> list[int]:
    data = filled(fill, size).tobytes()
    return [oracle.raw_sum(data[size - length :]) for length in range(LONGEST + 1)]


@pytest.mark.parametrize("fill", FILLS)
def test_lengths_and_offsets_between_guard_pages(kernel: Kernel, guarded: memoryview, fill: str) -> None:
    guarded[:] = filled(fill, len(guarded)).tobytes()
    lengths = range(kernel.min_len, min(LONGEST, kernel.max_len) + 1)
    for offset in range(OFFSETS):
        start = (0, 1, 0xFFFF, 0x8000)[offset % 4]
        got = [raw_cksum(guarded, start, offset=offset, length=n, kernel=kernel) for n in lengths]
        assert got == sums_from(fill, len(guarded), offset, start)[lengths.start : lengths.stop], f"{offset=}"


@pytest.mark.parametrize("fill", FILLS)
def test_lengths_up_to_the_guard_page(kernel: Kernel, guarded: memoryview, fill: str) -> None:
    guarded[:] = filled(fill, len(guarded)).tobytes()
    lengths = range(kernel.min_len, min(LONGEST, kernel.max_len) + 1)
    got = [raw_cksum(guarded, offset=len(guarded) - n, length=n, kernel=kernel) for n in lengths]
    assert got == sums_to_the_end(fill, len(guarded))[lengths.start : lengths.stop]


@pytest.mark.parametrize("yardstick", YARDSTICKS, ids=lambda kernel: kernel.name)
def test_yardsticks_stay_between_guard_pages(yardstick: Kernel, guarded: memoryview) -> None:
    for length in range(LONGEST + 1):
        yardstick.partial(guarded[:length])
        yardstick.partial(guarded[len(guarded) - length :])


@pytest.mark.parametrize("vector", oracle.vectors(), ids=lambda vector: vector.id)
def test_vectors(kernel: Kernel, vector: oracle.Vector) -> None:
    if kernel.min_len <= len(vector.data) <= kernel.max_len:
        assert raw_cksum(vector.data, vector.initial, kernel=kernel) == vector.raw
    assert oracle.raw_sum(vector.data, vector.initial) == vector.raw


def test_start_values(kernel: Kernel) -> None:
    generator = random.Random(1624)
    for length in range(kernel.min_len, 200):
        data = generator.randbytes(length)
        for start in (0, 1, 0x00FF, 0xFF00, 0xFFFE, 0xFFFF, generator.randrange(0x10000)):
            assert raw_cksum(data, start, kernel=kernel) == oracle.raw_sum(data, start), (length, start)


def test_start_values_of_32_bits(kernel: Kernel) -> None:
    bits = (
        32 if kernel.role in {"production", "reference"} else 16
    )  # all that the contract promises for the rest
    generator = random.Random(1141)
    starts = [
        2**bits - 1,
        2**bits - 0xFFFF,
        2 ** (bits - 1),
        *[generator.randrange(2**bits) for _ in range(20)],
    ]
    for length in (0, 1, 2, 7, 8, 20, 21, 63, 64, 65, 127, 128, 1499, 1500):
        data = generator.randbytes(length)
        for start in starts:
            partial = kernel.partial(data, start)
            assert 0 <= partial < 2**32
            assert oracle.reduced(partial) == oracle.raw_sum(data, start), (length, start)


def test_zero_only_for_zeros(kernel: Kernel) -> None:
    assert kernel.partial(bytes(1500)) == 0
    for place in range(0, 1500, 7):
        data = bytearray(1500)  # three bytes that add up to the word 0xffff
        data[place] = 1
        data[(place + 2) % 1500] = 0xFE
        data[place ^ 1] = 0xFF
        assert raw_cksum(data, kernel=kernel) == 0xFFFF, place


@pytest.mark.parametrize("size", [2**16, 2**17, 2**20, 2**21, 2**22 + 2**20])
def test_lanes_hold_a_block_of_ones(kernel: Kernel, size: int) -> None:
    data = b"\xff" * (size + 64)
    for length in (size - 33, size - 32, size - 1, size, size + 1, size + 32, size + 33, size + 64):
        if length <= kernel.max_len:
            # Pairs of ones are 0xffff, the other zero; an odd byte is left alone.
            assert raw_cksum(data, length=length, kernel=kernel) == (
                oracle.EVEN * 0xFF if length % 2 else 0xFFFF
            )


def added(first: int, second: int) -> int:
    return oracle.reduced(first + second)


def swapped(value: int) -> int:
    return value >> 8 | value << 8 & 0xFF00


@given(data=st.binary(max_size=700), start=st.integers(0, 0xFFFF), place=st.integers(0, 700))
def test_split_anywhere(kernel: Kernel, data: bytes, start: int, place: int) -> None:
    first, second = data[:place], data[place:]
    whole = raw_cksum(data, start, kernel=kernel)
    parts = raw_cksum(first, start, kernel=kernel), raw_cksum(second, kernel=kernel)
    if len(first) % 2:
        assert added(parts[0], swapped(parts[1])) == whole  # every byte of the second lies in the other half
    else:
        assert added(*parts) == whole
        assert raw_cksum(second, parts[0], kernel=kernel) == whole  # a sum is the start value of the rest


@given(data=st.binary(max_size=400))
def test_one_byte_in_front_swaps_the_sum(kernel: Kernel, data: bytes) -> None:
    assert raw_cksum(b"\0" + data, kernel=kernel) == swapped(raw_cksum(data, kernel=kernel))


@given(words=st.lists(st.binary(min_size=2, max_size=2), max_size=300), generator=st.randoms())
def test_words_in_any_order(kernel: Kernel, words: list[bytes], generator: random.Random) -> None:
    before = raw_cksum(b"".join(words), kernel=kernel)
    generator.shuffle(words)
    assert raw_cksum(b"".join(words), kernel=kernel) == before


@given(data=st.binary(max_size=3000), start=st.integers(0, 0xFFFF))
def test_any_data(kernel: Kernel, data: bytes, start: int) -> None:
    assert raw_cksum(data, start, kernel=kernel) == oracle.raw_sum(data, start)


@pytest.mark.parametrize("kernel", DPDK, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("fill", FILLS)
def test_dpdk_returns_the_unreduced_sum(kernel: Kernel, fill: str) -> None:
    data = filled(fill, LONGEST).tobytes()
    for length in range(LONGEST + 1):
        for start in (0, 0xFFFF, 0xFFFFFFFF):
            assert kernel.partial(data[:length], start) == oracle.wrapped(data[:length], start)


@pytest.mark.parametrize("kernel", DPDK, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    ("length", "start", "partial", "raw"),
    [
        (131072, 0xFFFF, 0xFFFFFFFF, 0xFFFF),  # max_len and the largest 16-bit start value: just right
        (131074, 0, 0xFFFFFFFF, 0xFFFF),  # from 0 two bytes more
        (131074, 1, 0, 0),  # right would be 1
        (131076, 0, 0x0000FFFE, 0xFFFE),  # right would be 0xffff
        (131078, 0, 0x0001FFFD, 0xFFFE),
        (131072, 0xFFFFFFFF, 0xFFFEFFFF, 0xFFFE),
    ],
)
def test_dpdk_wraps_where_dpdk_wraps(kernel: Kernel, length: int, start: int, partial: int, raw: int) -> None:
    data = b"\xff" * length
    assert kernel.max_len == 131072
    assert kernel.partial(data, start) == partial
    assert oracle.wrapped(data, start) == partial
    if start <= 0xFFFF:
        assert raw_cksum(data, start, kernel=kernel) == raw


@pytest.mark.parametrize("kernel", DPDK, ids=lambda kernel: kernel.name)
def test_dpdk_far_beyond_its_limit(kernel: Kernel) -> None:
    data = filled("random", 2**20 + 3).tobytes()
    for length in (2**18, 2**19 + 1, 2**20, 2**20 + 3):
        assert kernel.partial(data[:length], 0x89ABCDEF) == oracle.wrapped(data[:length], 0x89ABCDEF)


@pytest.mark.parametrize("size", [131074, 131076, 131078, 2**20])
def test_the_chosen_kernel_never_wraps(size: int) -> None:
    assert raw_cksum(b"\xff" * size) == 0xFFFF


def test_prefix_sums_of_the_oracle_agree_with_its_plain_sums() -> None:
    data = filled("carries", 300)
    assert list(oracle.prefix_sums(data, 0xFFFF)) == [
        oracle.raw_sum(data[:n].tobytes(), 0xFFFF) for n in range(301)
    ]
