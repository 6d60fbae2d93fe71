"""raw_cksum as its callers meet it: values, options, errors and their texts, which kernel is used."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, SupportsIndex

import pytest

import fastcksum
from fastcksum import active_kernel, kernels, lab, raw_cksum

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = bytes.fromhex("45000073000040004011b861c0a80001c0a800c7")  # a valid IPv4 header: its sum is 0xffff
LITTLE = sys.byteorder == "little"


def in_host_order(number: int) -> int:
    """A sum of big-endian words as raw_cksum returns it."""
    return int.from_bytes(number.to_bytes(2, "big"), sys.byteorder)


def test_rfc1071_example() -> None:
    # RFC 1071 section 3: the words 0001 f203 f4f5 f6f7 add up to ddf2
    assert raw_cksum(bytes.fromhex("0001f203f4f5f6f7")) == in_host_order(0xDDF2)
    if LITTLE:
        assert raw_cksum(bytes.fromhex("0001f203f4f5f6f7")) == 0xF2DD


def test_valid_header_sums_to_all_ones() -> None:
    assert raw_cksum(HEADER) == 0xFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"", 0), (b"\0", 0), (b"\0" * 21, 0), (b"\xff" * 20, 0xFFFF), (b"\xff\xff", 0xFFFF)],
)
def test_both_zeros(data: bytes, expected: int) -> None:
    assert raw_cksum(data) == expected


def test_odd_last_byte_is_padded_behind() -> None:
    assert raw_cksum(b"\x12\x34\x56") == in_host_order(0x1234 + 0x5600)


def test_initial_starts_the_sum() -> None:
    assert raw_cksum(b"\x01\x02", 0) == in_host_order(0x0102)
    assert raw_cksum(b"\x01\x02", in_host_order(0x0203)) == in_host_order(0x0305)
    assert raw_cksum(b"", 0xFFFF) == 0xFFFF
    assert raw_cksum(b"\0\0", 0xFFFF) == 0xFFFF
    assert raw_cksum(b"\xff\xff", in_host_order(1)) == in_host_order(1)  # ffff is the other zero


def test_offset_and_length_select_a_span() -> None:
    data = bytes(range(40))
    assert raw_cksum(data, offset=3) == raw_cksum(data[3:])
    assert raw_cksum(data, offset=3, length=8) == raw_cksum(data[3:11])
    assert raw_cksum(data, length=8) == raw_cksum(data[:8])
    assert raw_cksum(data, offset=40) == 0
    assert raw_cksum(data, offset=40, length=0) == 0
    assert raw_cksum(data, 7, offset=2, length=None) == raw_cksum(data[2:], 7)


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def test_integers_by_index() -> None:
    data = bytes(range(40))
    assert raw_cksum(data, Index(5), offset=Index(4), length=Index(6)) == raw_cksum(data[4:10], 5)
    assert raw_cksum(data, True) == raw_cksum(data, 1)


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((HEADER,), {"offset": 21}, "offset must be in 0..20 (the buffer has 20 bytes), not 21"),
        ((HEADER,), {"offset": -1}, "offset must be in 0..20 (the buffer has 20 bytes), not -1"),
        (
            (HEADER,),
            {"offset": 2**64},
            "offset must be in 0..20 (the buffer has 20 bytes), not 18446744073709551616",
        ),
        (
            (HEADER,),
            {"offset": -(2**64)},
            "offset must be in 0..20 (the buffer has 20 bytes), not -18446744073709551616",
        ),
        (
            (HEADER,),
            {"offset": 10**5000},
            "offset must be in 0..20 (the buffer has 20 bytes), not a number of 16610 bits",
        ),
        ((HEADER,), {"length": 21}, "length must be in 0..20 (the buffer has 20 bytes, offset is 0), not 21"),
        ((HEADER,), {"length": -1}, "length must be in 0..20 (the buffer has 20 bytes, offset is 0), not -1"),
        (
            (HEADER,),
            {"offset": 10, "length": 11},
            "length must be in 0..10 (the buffer has 20 bytes, offset is 10), not 11",
        ),
        (
            (HEADER,),
            {"offset": 1, "length": 2**64 - 1},
            "length must be in 0..19 (the buffer has 20 bytes, offset is 1), not 18446744073709551615",
        ),
        ((HEADER, 0x10000), {}, "initial must be in 0..65535 (a raw 16-bit sum), not 65536"),
        ((HEADER, -1), {}, "initial must be in 0..65535 (a raw 16-bit sum), not -1"),
        (
            (HEADER, 2**80),
            {},
            "initial must be in 0..65535 (a raw 16-bit sum), not 1208925819614629174706176",
        ),
    ],
)
def test_numbers_out_of_range(arguments: tuple[Any, ...], options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        raw_cksum(*arguments, **options)
    assert str(caught.value) == text


def test_unknown_kernel_lists_those_that_run() -> None:
    with pytest.raises(ValueError, match=r"kernel 'fast' is unknown; those that run here: .*\breference\b"):
        raw_cksum(HEADER, kernel="fast")


def test_yardstick_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"kernel 'nothing' is a yardstick .* those that do: .*\breference\b"
    ):
        raw_cksum(HEADER, kernel="nothing")


def test_yardsticks_are_not_offered_as_a_way_out() -> None:
    with pytest.raises(ValueError, match="unknown") as caught:
        raw_cksum(HEADER, kernel="")
    assert "nothing" not in str(caught.value)


ELSEWHERE = """
#include "kernels/kernel.h"
CKSUM_FUNCTION(elsewhere)(const void *buf, size_t len, uint32_t sum) { (void)buf; (void)len; return sum; }
CKSUM_KERNEL(elsewhere, .summary = "needs two kinds of machine", .role = CKSUM_PEER, .max_len = SIZE_MAX,
             .needs = CKSUM_CPU_NEON | CKSUM_CPU_SSE2)
"""


@pytest.mark.needs_tool("gcc")
def test_kernels_of_other_machines_are_refused() -> None:
    kernel = lab.compile_kernel(ELSEWHERE)
    assert not kernel.runs_here
    calls: list[Callable[[], int]] = [
        lambda: raw_cksum(HEADER, kernel=kernel),
        lambda: kernel.partial(HEADER),
    ]
    for call in calls:
        with pytest.raises(
            ValueError, match=r"kernel 'elsewhere' can't run here: it needs \('sse2', 'neon'\); those "
        ):
            call()


@pytest.mark.parametrize("wrong", [3, 1.5, b"reference", object(), ["reference"]])
def test_kernel_of_another_type(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"kernel must be a name or a Kernel, not '{type(wrong).__name__}'"):
        raw_cksum(HEADER, kernel=wrong)


def test_kernel_by_name_object_and_none() -> None:
    reference = next(kernel for kernel in kernels() if kernel.name == "reference")
    assert raw_cksum(HEADER, kernel="reference") == 0xFFFF
    assert raw_cksum(HEADER, kernel=reference) == 0xFFFF
    assert raw_cksum(HEADER, kernel=None) == 0xFFFF


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((), {}, "1 or 2 positional"),
        ((HEADER, 0, 0), {}, "1 or 2 positional"),
        ((), {"buf": HEADER}, "1 or 2 positional"),
        ((HEADER,), {"initial": 1}, "unexpected keyword argument 'initial'"),
        ((HEADER,), {"start": 1}, "unexpected keyword argument 'start'"),
        (("text",), {}, "^a bytes-like object is required, not 'str'$"),
        ((None,), {}, "^a bytes-like object is required, not 'NoneType'$"),
        ((HEADER, 1.5), {}, "'float' object cannot be interpreted as an integer"),
        ((HEADER, "1"), {}, "'str' object cannot be interpreted as an integer"),
        ((HEADER,), {"offset": None}, "'NoneType' object cannot be interpreted as an integer"),
        ((HEADER,), {"length": 2.0}, "'float' object cannot be interpreted as an integer"),
    ],
)
def test_wrong_types_and_arguments(arguments: tuple[Any, ...], options: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        raw_cksum(*arguments, **options)


def test_error_of_index_is_passed_on() -> None:
    class Broken:
        def __index__(self) -> int:
            raise RuntimeError("no number")

    with pytest.raises(RuntimeError, match="no number"):
        raw_cksum(HEADER, offset=Broken())


def test_signature_and_docstring() -> None:
    assert str(inspect.signature(raw_cksum)) == "(buf, initial=0, /, *, offset=0, length=None, kernel=None)"
    assert "RFC 1071" in (raw_cksum.__doc__ or "")


def test_active_kernel_is_the_first_production_kernel_that_runs() -> None:
    if "FASTCKSUM_KERNEL" in os.environ:
        assert active_kernel().name == os.environ["FASTCKSUM_KERNEL"]
    else:
        assert active_kernel().role == "production"
        assert active_kernel().runs_here


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_environment_names_the_kernel() -> None:
    done = run_python(
        "import fastcksum; print(fastcksum.raw_cksum(b'ab'), fastcksum.active_kernel().name)",
        FASTCKSUM_KERNEL="reference",
    )
    assert done.stdout.split() == [str(int.from_bytes(b"ab", sys.byteorder)), "reference"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fast", "FASTCKSUM_KERNEL 'fast' is unknown; those that run here: "),
        (
            "nothing",
            "FASTCKSUM_KERNEL 'nothing' is a yardstick of the bench and computes no sum; those that do: ",
        ),
    ],
)
def test_bad_environment_is_an_error_of_the_call_not_of_the_import(name: str, text: str) -> None:
    code = """
import fastcksum
print(len(fastcksum.kernels()) > 3, fastcksum.raw_cksum(b"ab", kernel="reference") > 0)
for call in (lambda: fastcksum.raw_cksum(b"ab"), lambda: fastcksum.raw_cksum(bytearray(2)), fastcksum.active_kernel):
    try:
        call()
    except ValueError as error:
        print(error)
"""
    lines = run_python(code, FASTCKSUM_KERNEL=name).stdout.splitlines()
    assert lines[0] == "True True"
    assert len(lines) == 4
    assert all(line.startswith(text) for line in lines[1:])


def test_empty_environment_is_none() -> None:
    assert (
        run_python("import fastcksum; print(fastcksum.raw_cksum(b'ab'))", FASTCKSUM_KERNEL="").returncode == 0
    )


def test_partial_checks_its_sum_and_its_kernel() -> None:
    reference = next(kernel for kernel in kernels() if kernel.name == "reference")
    assert reference.partial(b"\xff\xff\xff\xff", 0) % 0xFFFF == 0
    assert reference.partial(b"", 0xFFFFFFFF) % 0xFFFF == 0
    with pytest.raises(
        ValueError, match=r"sum must be in 0..4294967295 \(an unreduced 32-bit sum\), not 4294967296"
    ):
        reference.partial(b"", 2**32)
    with pytest.raises(TypeError, match="bytes-like"):
        reference.partial("text")  # type: ignore[arg-type]


def test_kernel_fields() -> None:
    table = {kernel.name: kernel for kernel in kernels()}
    assert len(table) == len(kernels())
    assert table["reference"].role == "reference"
    assert table["reference"].max_len == 2**64 - 1
    assert table["reference"].registers == "general"
    assert table["dpdk_before"].max_len == 131072
    for kernel in table.values():
        assert kernel.summary
        assert (kernel.origin is not None) == (kernel.role in {"past", "peer"})
        assert kernel.code_bytes is not None
        assert kernel.code_bytes > 0
        assert len(kernel.code_sha256 or "") == 64
        assert (kernel.registers == "vector") == (kernel.vector_bits > 0)


def test_version() -> None:
    assert fastcksum.__version__.split(".")[0].isdigit()
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        fastcksum.nonsense  # noqa: B018


def test_names_that_are_not_interned() -> None:
    def fresh(name: str) -> str:
        return "".join(list(name))

    assert raw_cksum(b"abcd", kernel=fresh("reference")) == raw_cksum(b"abcd")
    options: dict[str, Any] = {fresh("offset"): 1, fresh("length"): 2, fresh("kernel"): fresh("reference")}
    assert raw_cksum(b"abcd", **options) == raw_cksum(b"bc")


@pytest.mark.parametrize(
    "number", [0, 1, 255, 2**30 - 1, 2**30, 2**31, 2**62, 2**63 - 1, 2**63, 2**64, -1, -(2**30)]
)
def test_numbers_of_one_digit_and_more(number: int) -> None:
    class Index:
        def __index__(self) -> int:
            return number

    numbers: list[SupportsIndex] = [number, Index()]
    for value in numbers:
        if 0 <= number <= 300:
            assert raw_cksum(bytes(300), offset=value) == 0
            assert raw_cksum(b"", value) == number
        else:
            with pytest.raises(ValueError, match=f"offset must be in 0..300 .*, not {number}"):
                raw_cksum(bytes(300), offset=value)
