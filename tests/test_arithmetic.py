"""checksum, verify, combine, update_checksum and Checksum against the RFCs' own numbers and against plain Python."""

from __future__ import annotations

import copy
import inspect
import pickle
import struct
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from make_fixtures import internet_checksum, ones_complement_sum

import fastcksum
from fastcksum import Checksum, checksum, combine, raw_cksum, update_checksum, verify

HEADER = bytes.fromhex("45000073000040004011b861c0a80001c0a800c7")  # a header whose checksum is right
WITHOUT = bytes.fromhex("450000730000400040110000c0a80001c0a800c7")  # the same, field zero


def raw(number: int) -> int:
    """A sum of big-endian words as a raw sum."""
    return int.from_bytes(number.to_bytes(2, "big"), sys.byteorder)


# checksum and verify


def test_rfc1071_example() -> None:
    assert checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D  # the complement of ddf2


def test_checksum_of_a_header() -> None:
    assert checksum(WITHOUT) == 0xB861
    assert checksum(HEADER) == 0


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0xFFFF),
        (b"\0", 0xFFFF),
        (b"\0" * 9, 0xFFFF),
        (b"\xff\xff", 0),
        (b"\xff", 0x00FF),
        (b"\x01", 0xFEFF),
    ],
)
def test_small_checksums(data: bytes, expected: int) -> None:
    assert checksum(data) == expected


@given(st.binary(max_size=200), st.integers(0, 0xFFFF))
def test_checksum_is_the_plain_one(data: bytes, initial: int) -> None:
    start = struct.pack("!H", initial)
    assert checksum(data) == internet_checksum(data)
    assert checksum(data, raw(initial)) == internet_checksum(start + data)
    assert checksum(bytearray(data), offset=len(data) // 2) == internet_checksum(data[len(data) // 2 :])


@given(st.binary(min_size=2, max_size=200), st.integers(0, 100))
def test_what_a_checksum_makes_whole_verifies(data: bytes, field: int) -> None:
    packet = bytearray(data if len(data) % 2 == 0 else data + b"\0")
    at = 2 * (field % (len(packet) // 2))
    packet[at : at + 2] = b"\0\0"
    packet[at : at + 2] = checksum(packet).to_bytes(2, "big")
    assert verify(packet)
    packet[at] ^= 1
    assert not verify(packet)


def test_verify_sums_with_the_field_in_place() -> None:
    assert verify(HEADER)
    assert verify(b"\1" + HEADER + b"\2", offset=1, length=20)
    assert not verify(HEADER[:-1] + b"\0")
    assert not verify(b"")
    assert not verify(b"\0" * 20)  # the sum of nothing at all is no sum of anything
    # a field of ffff where 0000 is right: the same number (RFC 1071); recomputing would refuse it
    assert verify(bytes.fromhex("450000144e8740004011ffffc000020ac6336414"))
    assert verify(bytes.fromhex("450000144e87400040110000c000020ac6336414"))


def test_verify_from_a_pseudo_header() -> None:
    assert verify(HEADER[10:], raw(ones_complement_sum(HEADER[:10])))


@pytest.mark.parametrize("function", [checksum, verify])
def test_arguments_are_those_of_raw_cksum(function: Any) -> None:
    name = function.__name__
    with pytest.raises(TypeError, match="a bytes-like object is required, not 'str'"):
        function("text")
    with pytest.raises(BufferError, match="C-contiguous"):
        function(memoryview(b"abcdef")[::2])
    with pytest.raises(BufferError, match="C-contiguous"):
        function(np.arange(6, dtype=np.uint8)[::2])
    with pytest.raises(ValueError, match=r"offset must be in 0\.\.3 \(the buffer has 3 bytes\), not 4"):
        function(b"abc", offset=4)
    with pytest.raises(ValueError, match=r"length must be in 0\.\.2"):
        function(b"abc", offset=1, length=3)
    with pytest.raises(ValueError, match=r"initial must be in 0\.\.65535 \(a raw 16-bit sum\), not 65536"):
        function(b"abc", 65536)
    with pytest.raises(
        TypeError,
        match=rf"{name}\(\) got an unexpected keyword argument 'kernel'; it takes offset and length",
    ):
        function(b"abc", kernel="reference")
    with pytest.raises(TypeError, match=rf"{name}\(\) takes 1 or 2 positional arguments"):
        function()
    assert list(inspect.signature(function).parameters) == ["buf", "initial", "offset", "length"]


@pytest.mark.parametrize("function", [checksum, verify])
def test_the_buffer_is_released(function: Any) -> None:
    data = bytearray(b"hello")
    function(data)
    with pytest.raises(ValueError, match="offset"):
        function(data, offset=9)
    with pytest.raises(TypeError):
        function(data, "no number")
    data.extend(b" world")  # BufferError if an export were left
    assert len(data) == 11


# combine


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_combine_is_the_sum_of_both(first: bytes, second: bytes) -> None:
    assert combine(raw_cksum(first), raw_cksum(second), len(first)) == raw(
        ones_complement_sum(first + second)
    )


def test_combine_at_an_odd_place() -> None:
    # RFC 1071 section 2: chunks of 1 and 2 bytes, f2 | b7 40
    assert combine(raw_cksum(b"\xf2"), raw_cksum(b"\xb7\x40"), 1) == raw_cksum(b"\xf2\xb7\x40")
    assert combine(0, 0xFF00, 10**30 + 1) == 0x00FF
    assert combine(0, 0xFF00, 10**30) == 0xFF00


def test_combine_and_both_zeros() -> None:
    assert combine(0, 0, 1) == 0
    assert combine(0xFFFF, 0, 3) == 0xFFFF
    assert combine(0xFFFF, 0xFFFF, 3) == 0xFFFF
    assert combine(0x0001, 0xFFFE, 2) == 0xFFFF


def test_combine_takes_raw_sums_only() -> None:
    with pytest.raises(ValueError, match=r"second must be in 0\.\.65535 \(a raw 16-bit sum\), not 65536"):
        combine(0, 0x10000, 0)
    with pytest.raises(ValueError, match=r"first must be in 0\.\.65535"):
        combine(-1, 0, 0)
    with pytest.raises(ValueError, match="first_length must be 0 or more bytes, not -1"):
        combine(0, 0, -1)
    with pytest.raises(TypeError):
        combine(0, 0, 1.0)  # type: ignore[arg-type]


# update_checksum


def test_rfc1624_example() -> None:
    # section 4: equation 2 gives ffff here, equation 3 the 0000 that a full sum gives
    assert update_checksum(0xDD2F, 0x5555, 0x3285) == 0x0000
    assert update_checksum(0xDD2F, b"\x55\x55", b"\x32\x85") == 0x0000


@given(st.binary(min_size=1, max_size=64), st.data())
def test_an_update_is_a_full_sum(data: bytes, draw: st.DataObject) -> None:
    begin = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(begin, len(data)))
    new = draw.draw(st.binary(min_size=end - begin, max_size=end - begin))
    changed = data[:begin] + new + data[end:]
    got = update_checksum(checksum(data), data[begin:end], new, odd=bool(begin % 2))
    full = checksum(changed)
    if any(changed):
        assert got == full
    else:
        assert got == (0 if new else checksum(data))  # equation 3 knows one zero only
        assert (
            update_checksum(checksum(data), data[begin:end], new, odd=bool(begin % 2), full_sum_zero=True)
            == full
        )


def test_a_change_at_an_odd_byte() -> None:
    header = bytes.fromhex("45000014000100004006 7ce1 7f0000017f000001".replace(" ", ""))
    assert verify(header)
    changed = header[:1] + b"\x56" + header[2:10] + b"\0\0" + header[12:]
    assert checksum(changed) == 0x7C8B
    assert update_checksum(0x7CE1, header[1:2], b"\x56", odd=True) == 0x7C8B
    assert (
        update_checksum(0x7CE1, header[1:2], b"\x56") == 0x26E1
    )  # what it is without odd: wrong, as documented


def test_numbers_are_words() -> None:
    old, new = "192.0.2.1", "198.51.100.7"
    pairs = [bytes(map(int, text.split("."))) for text in (old, new)]
    numbers = [int.from_bytes(pair, "big") for pair in pairs]
    assert update_checksum(0x1234, *numbers) == update_checksum(0x1234, *pairs)
    assert update_checksum(0x1234, 5, 0x10005) == update_checksum(0x1234, b"\0\0\0\5", b"\0\1\0\5")
    assert update_checksum(np.uint16(0x1234), np.uint16(80), np.uint16(8080)) == update_checksum(
        0x1234, 80, 8080
    )
    assert update_checksum(0x1234, 0x1234, 0x3412, odd=True) == update_checksum(0x1234, 0x3412, 0x1234)


def test_ports_and_address_of_a_nat() -> None:
    before = bytes.fromhex("c000020ac633641400060018c000005000000001000000005018200000000000") + b"data"
    after = bytes.fromhex("cb00711ec6336414000600189c40005000000001000000005018200000000000") + b"data"
    got = update_checksum(checksum(before), before[:4], after[:4])
    got = update_checksum(got, 0xC000, 0x9C40)
    assert got == checksum(after)
    assert update_checksum(checksum(before), before[:14], after[:14]) == checksum(after)


def test_udp_rules() -> None:
    assert update_checksum(0, 4000, 4001, udp=True) == 0  # none stays none
    assert update_checksum(0, 4000, 4001) == 0xFFFE  # for TCP zero is a number
    assert update_checksum(0xDD2F, 0x5555, 0x3285, udp=True) == 0xFFFF  # a computed zero


def test_all_data_became_zero() -> None:
    assert update_checksum(0xFFFE, 1, 0) == 0x0000
    assert update_checksum(0xFFFE, 1, 0, full_sum_zero=True) == 0xFFFF
    assert checksum(bytes(8)) == 0xFFFF
    # the new data is not zero, so neither is all of it, whatever the caller says
    assert update_checksum(0xDD2F, 0x5555, 0x3285, full_sum_zero=True) == 0x0000


def test_nothing_changed() -> None:
    assert update_checksum(0x1234, b"", b"") == 0x1234
    assert update_checksum(0xFFFF, b"", b"") == 0xFFFF
    assert update_checksum(0x1234, b"abc", b"abc") == 0x1234


@example(
    0xFFFF, [(0xFFFE, 0), (0x0001, 0)]
)  # ~m of both is 0xffff, the other zero, which one word never gives
@example(0xFFFF, [(0xFFFF, 0), (0xFFFF, 0)])
@given(
    st.integers(0, 0xFFFF), st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF)), max_size=6)
)
def test_a_long_change_is_many_short_ones(start: int, words: list[tuple[int, int]]) -> None:
    """Equation 3 itself, word by word, in plain Python: HC' = ~(~HC + ~m + m')."""
    expected = start
    for old, new in words:
        total = (expected ^ 0xFFFF) + (old ^ 0xFFFF) + new
        while total > 0xFFFF:
            total = (total >> 16) + (total & 0xFFFF)
        expected = total ^ 0xFFFF
        assert update_checksum(start, old, new) == _equation_3(start, old, new)
    packed = [b"".join(struct.pack("!H", pair[i]) for pair in words) for i in (0, 1)]
    assert update_checksum(start, *packed) == expected


def _equation_3(checksum: int, old: int, new: int) -> int:
    total = (checksum ^ 0xFFFF) + (old ^ 0xFFFF) + new
    total = (total >> 16) + (total & 0xFFFF)
    return ((total >> 16) + (total & 0xFFFF)) ^ 0xFFFF


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0x10000, 0, 0), ValueError, r"checksum must be in 0\.\.65535 \(the 16-bit field\), not 65536"),
        ((-1, 0, 0), ValueError, "checksum must be in"),
        ((0, -1, 0), ValueError, r"old must be in 0\.\.4294967295"),
        (
            (0, 0, 1 << 32),
            ValueError,
            r"new must be in 0\.\.4294967295 \(16 or 32 bits; pass longer ones as bytes\)",
        ),
        ((0, b"ab", b"abc"), ValueError, "the same length, not 2 and 3 bytes"),
        ((0, b"ab", 5), TypeError, "two integers or two bytes-like objects, not 'bytes' and 'int'"),
        ((0, "ab", "cd"), TypeError, "a bytes-like object is required, not 'str'"),
        ((0, 1.0, 2.0), TypeError, "a bytes-like object is required, not 'float'"),
        ((0, 1), TypeError, "takes 3 positional arguments, checksum, old and new; 2 were given"),
    ],
)
def test_update_refuses(arguments: tuple[Any, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        update_checksum(*arguments)


def test_update_takes_arrays_as_bytes() -> None:
    old, new = np.array([1, 2], np.uint8), bytearray(b"\3\4")
    assert update_checksum(0x1234, old, new) == update_checksum(0x1234, b"\1\2", b"\3\4")
    assert update_checksum(0x1234, np.array([5], np.uint8), b"\6") == update_checksum(0x1234, b"\5", b"\6")
    new.append(1)  # released
    with pytest.raises(TypeError, match="'od'; it takes odd, udp and full_sum_zero"):
        update_checksum(0, 0, 0, od=True)  # type: ignore[call-arg]


# Checksum


@given(st.lists(st.binary(max_size=20)), st.integers(0, 0xFFFF))
def test_pieces_of_any_size(pieces: list[bytes], initial: int) -> None:
    stream = Checksum(initial=initial)
    for piece in pieces:
        stream.update(piece)
    whole = b"".join(pieces)
    assert stream.raw == raw_cksum(whole, initial)
    assert stream.value == checksum(whole, initial)
    assert stream.digest() == checksum(whole, initial).to_bytes(2, "big")
    assert stream.hexdigest() == stream.digest().hex()


def test_shape_of_hashlib() -> None:
    stream = Checksum(b"\0\1\xf2")
    assert (stream.name, stream.digest_size, stream.block_size) == ("rfc1071", 2, 2)
    twin = stream.copy()
    twin.update(b"\3\xf4\xf5\xf6\xf7")
    assert twin.hexdigest() == "220d"
    assert stream.value == checksum(b"\0\1\xf2")
    assert Checksum().value == 0xFFFF
    assert Checksum().raw == 0
    assert repr(twin) == "<fastcksum.Checksum 0x220d>"


def test_a_piece_of_two_byte_items_counts_bytes() -> None:
    stream = Checksum()
    stream.update(np.array([0x0102, 0x0304], np.uint16))
    stream.update(memoryview(np.zeros((3, 5), np.uint8)))
    stream.update(b"\5")
    whole = np.array([0x0102, 0x0304], np.uint16).tobytes() + bytes(15) + b"\5"
    assert stream.value == internet_checksum(whole)


def test_a_bad_piece_changes_nothing() -> None:
    stream = Checksum(b"abc")
    with pytest.raises(TypeError, match="a bytes-like object is required, not 'str'"):
        stream.update("text")  # type: ignore[arg-type]
    with pytest.raises(BufferError):
        stream.update(memoryview(b"abcdef")[::2])
    assert stream.raw == raw_cksum(b"abc")
    with pytest.raises(ValueError, match=r"initial must be in 0\.\.65535"):
        Checksum(initial=1 << 16)


def test_names_are_exported() -> None:
    for name in ("checksum", "verify", "combine", "update_checksum", "Checksum", "raw_cksum_many"):
        assert name in fastcksum.__all__


@pytest.mark.parametrize("pieces", [(), (b"\xff",), (b"\xff\xff",), (b"abc", b"de"), (b"\0",)])
def test_a_checksum_is_copied_and_pickled_as_it_stands(pieces: tuple[bytes, ...]) -> None:
    stream = Checksum()
    for piece in pieces:
        stream.update(piece)
    for twin in (copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
        assert (type(twin), twin.raw) == (Checksum, stream.raw)
        twin.update(b"\1\2\3")
        assert twin.raw == raw_cksum(b"".join(pieces) + b"\1\2\3")


def test_threads_that_share_a_checksum_lose_no_piece() -> None:
    stream, piece, times = Checksum(), bytes(range(256)) * 512, 20  # 128 KiB: the GIL is released

    def update_often() -> None:
        for _ in range(times):
            stream.update(piece)

    threads = [threading.Thread(target=update_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stream.raw == raw_cksum(piece * times * len(threads))


def test_a_checksum_is_a_final_type() -> None:
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Derived", (Checksum,), {})
    with pytest.raises(AttributeError):
        Checksum().raw = 1  # type: ignore[misc]
    for arguments, names in (((b"", 0), {}), ((), {"data": b""}), ((), {"start": 0})):
        with pytest.raises(TypeError):
            Checksum(*arguments, **names)


def test_combine_takes_its_arguments_by_name() -> None:
    assert combine(first_length=1, second=0xFF00, first=0) == 0x00FF
    for arguments, names, words in (
        ((1, 2), {}, "missing the argument 'first_length'"),
        ((1, 2, 3, 4), {}, "up to 3 positional arguments; 4 were given"),
        ((1, 2, 3), {"first": 1}, "got 'first' twice, by position and by name"),
        ((1, 2), {"length": 1}, "an unexpected keyword argument 'length'"),
    ):
        with pytest.raises(TypeError, match=words):
            combine(*arguments, **names)
