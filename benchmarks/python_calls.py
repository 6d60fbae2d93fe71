"""What does each call of fastcksum cost from Python, beside what people know?

    python benchmarks/python_calls.py [--quick]

Each line is one expression, timed in many short batches; every round runs a batch of each in another order, so that a
disturbed second spoils all of them alike. Printed are the minima over the rounds, in ns a call, less those of an empty
loop; the aim, which was set on an AMD Zen 5 with Python 3.11; and the ratio to the like of it in xxhash, in the same
run, which is what another CPU can be compared by. Below stand calls of zlib, crc32c, scapy and dpkt, where they are
installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import timeit
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import fastcksum
from fastcksum import packets
from fastcksum.lab._machine.processor import pinned

if TYPE_CHECKING:
    from collections.abc import Mapping

CALLS = 5_000
LOOP = "(loop)"
PACKET = bytes.fromhex(  # IPv4 and UDP, 10 bytes of data, both checksums right
    "45000026000100004011f8adc0a80001c0a800c7303900350012392a00010203040506070809"
)


class Row(NamedTuple):
    """One call: the expression, the most ns it is to take on Zen 5 (None: no aim), and what stands beside it."""

    expression: str
    aim: float | None = None
    beside: str | None = None


HASH, SEEDED, UPDATE = "xxh32(b20)", "xxh32(b20, 7)", "hasher.update(b30)"
OURS = (
    Row("raw_cksum(b20)", 18.4, HASH),
    Row("raw_cksum(bytearray20)", 20, "xxh32(bytearray20)"),
    Row("raw_cksum(memoryview20)", 23, "xxh32(memoryview20)"),
    Row("raw_cksum(b20, 7)", 24, SEEDED),
    Row("raw_cksum(b1500, offset=64, length=20)", 30, SEEDED),
    Row(f"raw_cksum(b20, kernel={fastcksum.active_kernel().name!r})", 32, SEEDED),
    Row("checksum(b20, 7)", 24, SEEDED),
    Row("update_checksum(c, 1, 2)", 40, SEEDED),
    Row("stream.update(b30)", 32, UPDATE),
    Row("combine(1, 2, 3)", 40, SEEDED),
    Row("pseudo_header(b4, b4, 6, 20)", 70),
    Row("pseudo_header('1.2.3.4', '5.6.7.8', 6, 20)", 200),
    Row("ipv4_header_checksum(packet)", 40),
    Row("transport_checksum(packet)", 90),
    Row("fill_checksums(packet)", 110),
    Row("verify_packet(packet)", 300),
)
OTHERS = (
    HASH,
    "xxh32(bytearray20)",
    "xxh32(memoryview20)",
    SEEDED,
    UPDATE,
    "zlib.adler32(b20)",
    "zlib.crc32(b20)",
)
# What else is asked, if it is there: the module, what to import, the expression.
INSTALLED = (
    ("crc32c", "from crc32c import crc32c", "crc32c(b20)"),
    ("scapy", "from scapy.utils import checksum as scapy_checksum", "scapy_checksum(b20)"),
    ("scapy", "from scapy.layers.inet import IP", "bytes(IP(packet))"),
    ("dpkt", "import dpkt", "dpkt.in_cksum(b20)"),
    ("dpkt", "import dpkt", "bytes(dpkt.ip.IP(packet))"),
)


def namespace() -> dict[str, Any]:
    """All names that the expressions use."""
    import xxhash  # noqa: PLC0415 - an extra

    data = random.Random(1).randbytes(1500)  # noqa: S311 - any bytes will do
    names = {"b4": data[:4], "b20": data[:20], "b30": data[:30], "b1500": data, "packet": PACKET}
    calls = [fastcksum.raw_cksum, fastcksum.checksum, fastcksum.update_checksum, fastcksum.combine]
    calls += [packets.pseudo_header, packets.ipv4_header_checksum, packets.transport_checksum]
    calls += [packets.fill_checksums, packets.verify_packet]
    return {
        **names,
        **{call.__name__: call for call in calls},
        "bytearray20": bytearray(data[:20]),
        "memoryview20": memoryview(data[:20]),
        "c": 0x1234,
        "stream": fastcksum.Checksum(),
        "xxh32": xxhash.xxh32_intdigest,
        "hasher": xxhash.xxh32(),
        "zlib": zlib,
    }


def timer(expression: str, names: Mapping[str, Any]) -> timeit.Timer:
    """The expression with its names as local variables of the loop."""
    used = [name for name in names if name in expression]
    setup = "; ".join(f"{name} = names[{name!r}]" for name in used) or "pass"
    return timeit.Timer(expression, setup, globals={"names": names})


def minima(timers: Mapping[str, timeit.Timer], rounds: int) -> dict[str, float]:
    """The least ns a call of each statement, less those of the loop."""
    best = dict.fromkeys(timers, float("inf"))
    order = list(timers)
    shuffle = random.Random(2).shuffle  # noqa: S311
    for _ in range(rounds):
        shuffle(order)
        for name in order:
            best[name] = min(best[name], timers[name].timeit(CALLS) / CALLS * 1e9)
    loop = best.pop(LOOP)
    return {name: ns - loop for name, ns in best.items()}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    rounds = 30 if parser.parse_args().quick else 300
    if importlib.util.find_spec("xxhash") is None:
        sys.exit("python_calls.py needs xxhash: pip install 'fastcksum[test]'")
    names = namespace()
    expressions = [*(row.expression for row in OURS), *OTHERS]
    slow = []  # a call that takes microseconds would take most of a round
    for module, statement, expression in INSTALLED:
        if importlib.util.find_spec(module) is not None:
            exec(statement, names)  # noqa: S102 - an import that stands above
            slow.append(expression)
    if any(verdict.status != "good" for verdict in packets.verify_packet(PACKET)):
        sys.exit("the packet of this benchmark has a wrong checksum; a right one is what most calls see")
    timers = {LOOP: timeit.Timer("pass")} | {text: timer(text, names) for text in expressions}
    with pinned():
        best = minima(timers, rounds)
        best |= minima(
            {LOOP: timeit.Timer("pass")} | {text: timer(text, names) for text in slow}, max(3, rounds // 30)
        )
    print(
        f"Python {sys.version.split()[0]}, kernel {fastcksum.active_kernel().name}; "
        f"minima of {rounds} rounds of {CALLS} calls"
    )
    print(f"{'':<44} {'ns':>9} {'aim (Zen 5)':>12} {'of xxhash':>10}")
    for row in OURS:
        ratio = "" if row.beside is None else f"{best[row.expression] / best[row.beside]:10.2f}"
        print(f"{row.expression:<44} {best[row.expression]:9.1f} {row.aim or '':>12} {ratio}".rstrip())
    for text in (*OTHERS, *slow):
        print(f"{text:<44} {best[text]:9.1f}")


if __name__ == "__main__":
    main()
