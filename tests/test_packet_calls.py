"""How the calls of fastcksum.packets take their arguments, what they hand back, and that they leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import pickle
import sys
from typing import TYPE_CHECKING

import make_fixtures as make
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from make_fixtures import Net4

from fastcksum import Checksum, _core, combine, raw_cksum, update_checksum
from fastcksum.packets import (
    Verdict,
    fill_checksums,
    ipv4_header_checksum,
    pseudo_header,
    transport_checksum,
    verify_packet,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def packed(text: str) -> bytes | None:
    try:
        return ipaddress.ip_address(text).packed
    except ValueError:
        return None


NEARLY_ADDRESSES = st.one_of(
    st.text("0123456789abcdefABCDEF:.%x \0\u0661", max_size=24),
    st.lists(st.integers(0, 300).map(str), min_size=3, max_size=5).map(".".join),
    st.lists(
        st.sampled_from(["", "0", "00", "1", "ffff", "00ff", "10000", "1.2.3.4", "01.2.3.4"]), max_size=9
    ).map(":".join),
    st.ip_addresses(v=6).map(str),
    st.ip_addresses(v=6).map(lambda address: address.exploded + "%eth0"),
)


@example("1:2:3:4:5:6:7::")
@example("::1.2.3.4")
@example("1.2.3.04")
@example("1.2.3.4\0")
@settings(max_examples=2000)
@given(NEARLY_ADDRESSES)
def test_text_means_what_ipaddress_says(text: str) -> None:
    expected = packed(text)
    if expected is None:
        with pytest.raises(ValueError, match=r".+"):
            pseudo_header(text, text, 0, 0)
    else:
        assert pseudo_header(text, text, 0, 0) == pseudo_header(expected, expected, 0, 0)
        other = bytes(len(expected))
        assert pseudo_header(text, other, 0, 0) == raw_cksum(expected)


class Sixteen:
    """Not an address, though it has the attribute of one."""

    packed = bytes(16)


def test_what_is_no_address() -> None:
    for no_address in (1, None, 1.0, Sixteen(), ["1.2.3.4"]):
        with pytest.raises(TypeError, match="a bytes-like object is required, not"):
            pseudo_header(no_address, b"1234", 6, 0)  # type: ignore[arg-type]


def test_calls_by_name() -> None:
    packet = make.udp(Net4(), b"hello").data
    expected = pseudo_header(b"1234", b"5678", 6, 20)
    assert pseudo_header(length=20, protocol=6, src=b"1234", dst=b"5678") == expected
    assert verify_packet(link=101, offset=0, packet=packet) == verify_packet(packet)
    calls: list[Callable[..., object]] = [verify_packet, fill_checksums, transport_checksum]
    for function in calls:
        with pytest.raises(TypeError, match="up to 2 positional arguments; 3 were given"):
            function(packet, 0, "ip")
        with pytest.raises(TypeError, match="is missing the argument 'packet'"):
            function(offset=0)
        with pytest.raises(ValueError, match="link must be 'ip', 'ethernet' or one of the link types"):
            function(packet, link=1 << 70)


def test_verdicts_are_named_tuples() -> None:
    verdicts = verify_packet(make.udp(Net4(), b"hello").data)
    for verdict in verdicts:
        assert type(verdict) is Verdict
        assert verdict == tuple(verdict)
        assert hash(verdict) == hash(tuple(verdict))
        assert verdict._replace(layer="gre").layer == "gre"
        assert pickle.loads(pickle.dumps(verdict)) == verdict
    with pytest.raises(TypeError, match="must be a tuple with names"):
        _core.use_verdict_type(list)  # type: ignore[arg-type]


def refused(function: Callable[..., object], *arguments: object, **named: object) -> None:
    with contextlib.suppress(ValueError, TypeError, BufferError):
        function(*arguments, **named)
        raise AssertionError(function, arguments)


ADDRESS = ipaddress.ip_address("::2")
UDP = make.udp(Net4(), b"hello").data
CALLS: dict[str, Callable[[], object]] = {
    "verify": lambda: verify_packet(bytearray(UDP), 0, link="ip"),
    "fill": lambda: fill_checksums(bytearray(UDP)),
    "transport": lambda: transport_checksum(bytearray(UDP)),
    "header": lambda: ipv4_header_checksum(bytearray(UDP)),
    "text": lambda: pseudo_header("::1", "::2", 6, 20),
    "object": lambda: pseudo_header(ADDRESS, bytearray(16), 6, 20),
    "zone": lambda: pseudo_header("fe80::1%eth0", "::1", 6, 20),
    "two versions": lambda: refused(pseudo_header, "::1", "1.2.3.4", 6, 20),
    "no text": lambda: refused(pseudo_header, "1.2.3.400", "1.1.1.1", 6, 20),
    "no size": lambda: refused(pseudo_header, bytearray(3), "1.1.1.1", 6, 20),
    "no address": lambda: refused(pseudo_header, 1, 2, 6, 20),
    "no link": lambda: refused(verify_packet, bytearray(UDP), link="token ring"),
    "no number": lambda: refused(verify_packet, bytearray(UDP), link=1.5),
    "no keyword": lambda: refused(verify_packet, bytearray(UDP), line="ip"),
    "no offset": lambda: refused(verify_packet, bytearray(UDP), 99),
    "no buffer": lambda: refused(verify_packet, memoryview(UDP)[::2]),
    "no transport": lambda: refused(transport_checksum, bytearray(b"\x45")),
    "no header": lambda: refused(ipv4_header_checksum, bytearray(b"\x45")),
    "copy": lambda: Checksum(bytearray(b"abc"), initial=5).copy().hexdigest(),
    "no initial": lambda: refused(Checksum, b"abc", initial=1 << 17),
    "no data": lambda: refused(Checksum, "abc"),
    "combine": lambda: combine(1, 2, 1 << 80),
    "no length": lambda: refused(combine, 1, 2, -1),
    "change": lambda: update_checksum(1, bytearray(b"ab"), bytearray(b"cd")),
    "no change": lambda: refused(update_checksum, 1, bytearray(b"a"), bytearray(b"cd")),
    "sum": lambda: raw_cksum(bytearray(UDP), 7, offset=3, length=4, kernel="reference"),
    "no kernel": lambda: refused(raw_cksum, bytearray(UDP), kernel="none such"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_leave_nothing_behind(call: Callable[[], object]) -> None:
    def blocks() -> int:
        gc.collect()
        return sys.getallocatedblocks()

    for _ in range(100):
        call()
    before = blocks()
    for _ in range(2000):
        call()
    assert blocks() - before < 500  # one object a call would be 2000
