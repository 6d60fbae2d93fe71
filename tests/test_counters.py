"""Event counts: records as the kernel hands them out, refusals in words, and callgrind in their place."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fastcksum
from fastcksum import _core, lab
from fastcksum.lab import _count
from fastcksum.lab._build.unit import source_root
from fastcksum.lab._count import Counters, callgrind_counts, count
from fastcksum.lab._machine import callgrind, events
from fastcksum.lab._machine.events import Counts, Refused, refusal
from fastcksum.lab._mail.exchanges import read_perf_stat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fastcksum import Kernel

CSRC = Path(__file__).parent.parent / "csrc"
DATA = Path(__file__).parent / "data"
IDS = (11, 12, 13, 14, 15, 16)

# 1,000,000 calls, as a machine with counters gave them: enabled and running time in ns, then value and id of
# each event.
KERNEL_RECORD = [
    6,
    7104921,
    7104921,
    17960709,
    11,
    41292805,
    12,
    11058119,
    13,
    2997,
    14,
    16540800,
    15,
    310,
    16,
]
KERNEL_COUNTS = {
    "cycles": 17960709,
    "instructions": 41292805,
    "branches": 11058119,
    "branch_misses": 2997,
    "ref_cycles": 16540800,
    "l1d_misses": 310,
}
EMPTY_COUNTS = {
    "cycles": 4010050,
    "instructions": 11000131,
    "branches": 3000040,
    "branch_misses": 12,
    "ref_cycles": 3700200,
    "l1d_misses": 322,
}


def kernel_named(name: str) -> Kernel:
    return next(kernel for kernel in fastcksum.kernels() if kernel.name == name)


def packed(words: Sequence[int]) -> bytes:
    return struct.pack(f"{len(words)}Q", *words)


def compiled(name: str, folder: Path) -> Path:
    """A program of tests/data that includes counters.c, compiled into the folder."""
    program = folder / Path(name).stem
    command = [
        "gcc",
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I",
        str(CSRC),
        str(DATA / name),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    return program


def what_it_says(program: Path, *arguments: str) -> dict[str, Any]:
    said = json.loads(subprocess.run([program, *arguments], capture_output=True, check=True).stdout)
    assert isinstance(said, dict)
    return said


# Records


def test_a_record_is_decoded() -> None:
    assert _core.decode_counters(packed(KERNEL_RECORD), IDS) == ("counted", KERNEL_COUNTS)


def test_events_are_told_by_their_ids() -> None:
    shuffled = [3, 50, 50, 7, 13, 5, 11, 2**63, 12]
    assert _core.decode_counters(packed(shuffled), (11, 12, 13)) == (
        "counted",
        {"cycles": 5, "instructions": 2**63, "branches": 7},
    )


def test_events_outside_the_group_are_not_counted() -> None:
    record = [2, 50, 50, 5, 11, 310, 16]
    assert _core.decode_counters(packed(record), (11, 0, 0, 0, 0, 16)) == (
        "counted",
        {"cycles": 5, "l1d_misses": 310},
    )


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        ([2, 100, 99, 5, 11, 6, 12], "multiplexed"),
        ([2, 100, 1, 5, 11, 6, 12], "multiplexed"),
        ([2, 100, 0, 0, 11, 0, 12], "not scheduled"),
        ([2, 0, 0, 0, 11, 0, 12], "not scheduled"),
        ([2, 100, 101, 5, 11, 6, 12], "malformed"),
        ([2, 100, 100, 5, 11, 6, 11], "malformed"),
        ([2, 100, 100, 5, 11, 6, 77], "malformed"),
        ([2, 100, 100, 5, 11, 6, 0], "malformed"),
        ([2, 100, 100, 5, 11, 6], "malformed"),
        ([2, 100, 100, 5, 11, 6, 12, 7], "malformed"),
        ([3, 100, 100, 5, 11, 6, 12], "malformed"),
        ([1, 100, 100, 5, 11], "malformed"),
        ([2, 100], "malformed"),
        ([], "malformed"),
    ],
)
def test_a_record_that_is_no_count_is_refused(record: list[int], verdict: str) -> None:
    assert _core.decode_counters(packed(record), (11, 12)) == (verdict, {})


def test_what_decoding_takes() -> None:
    with pytest.raises(ValueError, match="at most 64 words of 8 bytes, not 7 bytes"):
        _core.decode_counters(bytes(7), IDS)
    with pytest.raises(ValueError, match="ids may have 6 entries, one an event, not 7"):
        _core.decode_counters(packed(KERNEL_RECORD), (*IDS, 17))
    with pytest.raises(TypeError, match="ids must be a sequence"):
        _core.decode_counters(packed(KERNEL_RECORD), 5)  # type: ignore[arg-type]


# A group of events that every machine has, hardware counters or not: page faults of fresh pages are as many
# as the pages.


@pytest.mark.needs_tool("gcc")
def test_a_group_counts_between_start_and_stop(tmp_path: Path) -> None:
    said = what_it_says(compiled("counters_group.c", tmp_path))
    if "refused" in said:  # a sandbox without perf events: nothing can be counted, and that is what it says
        assert refusal(said["refused"], None, "unknown")
        return
    assert said == {
        "verdict": 0,
        "counted": [1, 1, 0, 1, 0],
        "faults": [37, 37],
        "errors": [0, 0, errno.ENOENT, 0, errno.E2BIG],
        "open": -1,
    }


# A machine with counters, made up: what it can open, and how much of the time it lets a group of n events
# run.

COUNTED, MULTIPLEXED, NOT_SCHEDULED = 0, 1, 2
ALL, NO = 100, 0


@pytest.fixture(scope="module")
def made_up_machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("counters_made_up.c", tmp_path_factory.mktemp("counters"))


@pytest.mark.needs_tool("gcc")
@pytest.mark.parametrize(
    ("offered", "room", "running", "expected"),
    [
        # counts: of 10 calls, event i counts i + 1 a call; -1: not counted
        ((1, 1, 1, 1, 1, 1), 6, (ALL,) * 5, (COUNTED, [10, 20, 30, 40, 50, 60], [0] * 6)),
        ((1, 1, 1, 1, 0, 1), 6, (ALL,) * 5,
         (COUNTED, [10, 20, 30, 40, -1, 60], [0, 0, 0, 0, errno.ENOENT, 0])),
        ((0, 1, 1, 0, 0, 0), 6, (ALL,) * 5,
         (COUNTED, [-1, 20, 30, -1, -1, -1], [errno.ENOENT, 0, 0, *[errno.ENOENT] * 3])),
        ((1, 1, 1, 1, 1, 1), 4, (ALL,) * 5,
         (COUNTED, [10, 20, 30, 40, -1, -1], [0, 0, 0, 0, *[errno.EINVAL] * 2])),
        ((1, 1, 1, 1, 1, 1), 6, (ALL, ALL, ALL, NO, NO),
         (COUNTED, [10, 20, 30, 40, -1, -1], [0, 0, 0, 0, *[errno.E2BIG] * 2])),
        ((1, 1, 1, 1, 1, 1), 6, (ALL, 60, 50, 40, 30),
         (COUNTED, [10, 20, -1, -1, -1, -1], [0, 0, *[errno.E2BIG] * 4])),
        ((1, 1, 1, 1, 1, 1), 6, (70, 60, 50, 40, 30), (MULTIPLEXED, [-1] * 6, [0, 0, *[errno.E2BIG] * 4])),
        ((1, 1, 1, 1, 1, 1), 6, (NO,) * 5, (NOT_SCHEDULED, [-1] * 6, [0, 0, *[errno.E2BIG] * 4])),
    ],
    ids=["all", "one missing", "no cycles", "room for four", "one taken", "two left", "multiplexed", "never run"],
)  # fmt: skip
def test_what_fits_is_counted_and_the_rest_named(
    made_up_machine: Path,
    offered: tuple[int, ...],
    room: int,
    running: tuple[int, ...],
    expected: tuple[int, list[int], list[int]],
) -> None:
    arguments = [str(number) for number in (*offered, room, *running)]
    said = what_it_says(made_up_machine, *arguments)
    verdict, counts, errors = expected
    assert said == {"error": 0, "verdict": verdict, "left_open": 0, "counts": counts, "errors": errors}


@pytest.mark.needs_tool("gcc")
def test_a_machine_without_counters_gives_the_first_error(made_up_machine: Path) -> None:
    arguments = [*("0" * 6), "6", *["100"] * 5]
    said = what_it_says(made_up_machine, *arguments)
    assert (said["error"], said["left_open"], said["counts"]) == (errno.ENOENT, 0, [-1] * 6)


# Arithmetic


def test_net_is_gross_minus_nothing_and_may_be_negative() -> None:
    net = Counts(**KERNEL_COUNTS).minus(Counts(**EMPTY_COUNTS))
    assert net == Counts(13950659, 30292674, 8058079, 2985, 12840600, -12)


def test_what_was_not_counted_stays_unknown() -> None:
    assert Counts(cycles=5, instructions=None).minus(Counts(cycles=2, instructions=1)) == Counts(cycles=3)
    assert Counts(cycles=5).minus(Counts()) == Counts()
    assert Counts(cycles=5).per_call(2) == {
        "cycles": 2.5,
        "instructions": None,
        "branches": None,
        "branch_misses": None,
        "ref_cycles": None,
        "l1d_misses": None,
    }


def test_instructions_per_cycle() -> None:
    assert Counts(cycles=26922913, instructions=80302961).ipc == pytest.approx(2.9827, abs=1e-4)
    assert Counts(instructions=5).ipc is None
    assert Counts(cycles=5).ipc is None
    assert Counts(cycles=0, instructions=0).ipc is None


# What count() makes of an answer

Answer = tuple[str, dict[str, int], dict[str, int]]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, Any], list[tuple[str, int, int, int]]]:
    """Puts recorded answers in the place of the machine's counters; gives the list of what was asked."""

    def install(kernel: Answer | OSError, overhead: Answer | OSError) -> list[tuple[str, int, int, int]]:
        asked = []

        def answer(which: object, _buf: object, offset: int, length: int, calls: int) -> Answer:
            name = _core.describe(which)["name"]
            asked.append((name, offset, length, calls))
            found = overhead if name == "nothing" else kernel
            if isinstance(found, OSError):
                raise found
            return found

        monkeypatch.setattr(_core, "count_events", answer)
        return asked

    return install


def test_a_count_from_the_counters(answers: Callable[..., list[tuple[str, int, int, int]]]) -> None:
    asked = answers(("counted", KERNEL_COUNTS, {}), ("counted", EMPTY_COUNTS, {}))
    counters = count("linux_after", 40, offset=2)
    assert asked == [("linux_after", 2, 40, 1000000), ("nothing", 2, 40, 1000000)]
    assert counters == Counters(
        "linux_after",
        40,
        2,
        1000000,
        Counts(17960709, 41292805, 11058119, 2997, 16540800, 310),
        Counts(13950659, 30292674, 8058079, 2985, 12840600, -12),
        "perf_event",
        "",
    )
    gross = [counters.cycles, counters.instructions, counters.branches, counters.branch_misses]
    assert gross == [17960709, 41292805, 11058119, 2997]
    assert [counters.ref_cycles, counters.l1d_misses] == [16540800, 310]
    assert counters.ipc == pytest.approx(2.2991, abs=1e-4)


TEXT = """\

 Performance counter stats for '1,000,000 calls of linux_after, 40 bytes at offset 0':

        17,960,709      cycles                   #    17.961 per call, 13.951 net
        41,292,805      instructions             #    41.293 per call, 30.293 net, 2.30 insn per cycle
        11,058,119      branches                 #    11.058 per call, 8.058 net
             2,997      branch-misses            #     0.003 per call, 0.003 net
        16,540,800      ref-cycles               #    16.541 per call, 12.841 net
   <not supported>      L1-dcache-load-misses

 Counted by the CPU, in user space.
 Net: minus what as many calls of `nothing` cost in the same loop.
 Refused: L1-dcache-load-misses: given up so that the others could be counted at the same time;
     sysctl kernel.nmi_watchdog=0 frees a counter.
"""


def test_the_text_reads_like_perf_stat(answers: Callable[..., object]) -> None:
    some = {name: value for name, value in KERNEL_COUNTS.items() if name != "l1d_misses"}
    answers(("counted", some, {"l1d_misses": errno.E2BIG}), ("counted", EMPTY_COUNTS, {}))
    counters = count("linux_after", 40)
    assert counters.text() == str(counters) == TEXT
    assert counters.net.l1d_misses is None


def test_the_text_is_read_back(answers: Callable[..., object]) -> None:
    answers(("counted", KERNEL_COUNTS, {}), ("counted", EMPTY_COUNTS, {}))
    frame = read_perf_stat(count("linux_after", 40).text())
    assert set(frame["run"]) == {"1,000,000 calls of linux_after, 40 bytes at offset 0"}
    assert dict(zip(frame["event"], frame["count"], strict=True)) == {
        "cycles": 17960709,
        "instructions": 41292805,
        "branches": 11058119,
        "branch-misses": 2997,
        "ref-cycles": 16540800,
        "L1-dcache-load-misses": 310,
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (("multiplexed", {}, {}), "a scaled count is an estimate"),
        (("not scheduled", {}, {}), "never given to this process"),
        (("malformed", {}, {}), "doesn't fit the events"),
        (OSError(errno.ENOSYS, ""), "no perf events"),
    ],
)
def test_nothing_is_made_up(
    answer: Any, words: str, answers: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object) -> Counts:
        raise Refused("valgrind is on strike")

    answers(answer, answer)
    monkeypatch.setattr(_count, "callgrind_counts", refuse)
    counters = count("linux_after", 40)
    assert (counters.gross, counters.net, counters.source) == (Counts(), Counts(), None)
    assert words in counters.refused
    assert counters.refused.endswith("; nor callgrind: valgrind is on strike")
    assert counters.text().count("<not supported>") == 6
    assert words in events.counters_here("KVM")


def test_counters_here_names_the_events(answers: Callable[..., object]) -> None:
    some = {"cycles": 5, "instructions": 7}
    answers(("counted", some, {}), ("counted", some, {"branches": errno.ENOENT}))
    assert events.counters_here("KVM").startswith("cycles, instructions in one group; branches: ")


def test_this_machine_says_what_it_has() -> None:
    assert re.match(r"refused: .{20,}|cycles, .* in one group", events.counters_here("KVM"))


@pytest.mark.parametrize(
    ("number", "paranoia", "hypervisor", "words"),
    [
        (errno.EACCES, 3, "none", "kernel.perf_event_paranoid is 3): sysctl kernel.perf_event_paranoid=2"),
        (errno.EPERM, 4, "KVM", "grant CAP_PERFMON"),
        (errno.EACCES, None, "none", "kernel.perf_event_paranoid is unknown"),
        (
            errno.EPERM,
            2,
            "none",
            "is 2, which allows it, but a sandbox forbids perf_event_open; in Docker: --cap-add",
        ),
        (errno.ENOENT, 2, "KVM", "the virtual machine (KVM) has no such counter: give it a virtual PMU"),
        (errno.EOPNOTSUPP, 2, "VMware", "the virtual machine (VMware) has no such counter"),
        (errno.ENODEV, 2, "Xen", "the virtual machine (Xen) has no such counter"),
        (errno.ENXIO, 2, "none", "this CPU, or the kernel's driver for it, has no such counter"),
        (errno.ENOENT, 2, "unknown", "this CPU, or the kernel's driver for it, has no such counter"),
        (errno.EINVAL, 2, "none", "too old for the event, or the events are too many for one group"),
        (errno.ENOSYS, 2, "none", "no perf events: it was built without, or is no Linux kernel (gVisor)"),
        (errno.EMFILE, 2, "none", "raise `ulimit -n`"),
        (errno.ENFILE, 2, "none", "raise fs.file-max"),
        (errno.EBUSY, 2, "none", "kernel.nmi_watchdog=0"),
        (errno.E2BIG, 2, "none", "given up so that the others could be counted"),
        (errno.ENOMEM, 2, "none", os.strerror(errno.ENOMEM)),
    ],
)
def test_a_refusal_says_why_and_what_to_do(
    number: int, paranoia: int | None, hypervisor: str, words: str
) -> None:
    assert words in refusal(number, paranoia, hypervisor)


@pytest.mark.parametrize(
    ("kernel", "options", "words"),
    [
        ("nosuch", {"size": 40}, "kernel 'nosuch' is unknown"),
        ("reference", {"size": -1}, "size must be in 0.."),
        ("dpdk_before", {"size": 131073}, "size must be in 0..131072"),
        ("reference", {"size": 40, "calls": 0}, "calls must be at least 1, not 0"),
        ("reference", {"size": 40, "offset": -1}, "offset can't be negative: -1"),
    ],
)
def test_what_count_refuses(kernel: str, options: dict[str, int], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        count(kernel, **options)


def test_what_the_core_refuses() -> None:
    with pytest.raises(
        ValueError, match=r"length must be in 0\.\.8 \(the buffer has 10 bytes, offset is 2\), not 9"
    ):
        _core.count_events("nothing", bytes(10), 2, 9, 1)
    with pytest.raises(ValueError, match=r"offset must be in 0\.\.10"):
        _core.count_events("nothing", bytes(10), 11, 0, 1)


# Callgrind

LISTING = """\
00000000000010f0 <f>:
    10f0:\tpush   %rbx
    10f1:\ttest   %rdx,%rdx
    10f4:\tje     1160 <f+0x70>
    10f6:\tcs nopw 0x0(%rax,%rax,1)
    1100:\tcall   1450 <g>
    1105:\tnotrack jmp *%rax
    1108:\tjmp    10f0 <f>
    110a:\trepz ret
    110c:\tjmpabs_is_no_prefix_of_mov
    110e:\tmov    $0x0,%eax
    1113:\tret
"""
PROFILE = """\
# callgrind format
positions: instr
events: Ir
summary: 1030

ob=???
fn=g
0x5001450 100
0x5001452 200

ob=/k/kernel.so
fn=f
0x10f0 10
0x10f4 10
cob=???
cfn=g
calls=100 0x5001450
0x1100 300
0x1100 100
0x1108 610

totals: 1030
"""


def test_branches_of_a_listing() -> None:
    found = callgrind.branch_addresses(
        LISTING.replace("    110c:\tjmpabs_is_no_prefix_of_mov\n", ""), "x86_64"
    )
    assert found == frozenset({0x10F4, 0x1100, 0x1105, 0x1108, 0x110A, 0x1113})
    arm = "  10: \tcbz\tx1, 40\n  14: \tbl\t80\n  18: \tb.ne\t10\n  1c: \tbic\tx0, x1, x2\n  20: \tret\n"
    assert callgrind.branch_addresses(arm, "aarch64") == frozenset({0x10, 0x14, 0x18, 0x20})
    assert callgrind.branch_addresses(LISTING, "s390x") is None


def test_counts_of_a_profile() -> None:
    jumps = frozenset({0x10F4, 0x1100, 0x1108, 0x1452})
    counts = callgrind.profile_counts(PROFILE, "/k/kernel.so", 0x5000000, jumps)
    assert counts == Counts(instructions=1030, branches=10 + 100 + 610 + 200)
    assert callgrind.profile_counts(PROFILE, "/k/kernel.so", 0x5000000, None).branches is None


def test_branches_of_other_objects_are_unknown() -> None:
    text = PROFILE.replace("ob=???\n", "ob=/lib/libc.so.6\n", 1)
    counts = callgrind.profile_counts(text, "/k/kernel.so", 0x5000000, frozenset({0x10F4}))
    assert counts == Counts(instructions=1030, branches=None)


@pytest.mark.parametrize("text", ["", PROFILE.replace("totals: 1030", "totals: 1031"), "totals: 0\n"])
def test_a_profile_that_does_not_add_up(text: str) -> None:
    with pytest.raises(Refused, match="callgrind's profile has"):
        callgrind.profile_counts(text, "/k/kernel.so", 0, frozenset())


needs_callgrind = pytest.mark.needs_tool("valgrind", "objdump", "gcc")


@pytest.fixture
def refusing(answers: Callable[..., object]) -> None:
    """A machine without counters."""
    answers(OSError(errno.ENOENT, ""), OSError(errno.ENOENT, ""))


@needs_callgrind
@pytest.mark.usefixtures("refusing")
def test_a_million_calls_by_callgrind() -> None:
    after = count("linux_after", 40)
    before = count("linux_before", 40)
    again = count("linux_before", 40)
    assert before == again
    for counters in (before, after):
        assert (counters.source, counters.cycles, counters.branch_misses) == ("callgrind", None, None)
        assert "has no such counter" in counters.refused
        assert counters.instructions is not None
        assert counters.branches is not None
        overhead = counters.instructions - (counters.net.instructions or 0)
        assert 5_000_000 < overhead < counters.instructions  # the loop, the call and the empty function
        assert counters.branches - (counters.net.branches or 0) == pytest.approx(3_000_000, abs=9)
        assert counters.instructions % 1_000_000 < 100  # what stands before and behind the loop
    assert (before.instructions or 0) > (after.instructions or 0)
    assert (before.branches or 0) > (after.branches or 0)


@needs_callgrind
@pytest.mark.usefixtures("refusing")
def test_nothing_costs_nothing_beside_itself() -> None:
    counters = count("nothing", 40, calls=1000)
    assert (counters.net.instructions, counters.net.branches) == (0, 0)
    assert (counters.instructions or 0) > 0


SOURCE = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
uint32_t burning(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    const size_t whole = len;
    uint64_t all = sum;
    for (; len >= 2; len -= 2, p += 2) {
        uint16_t word;
        memcpy(&word, p, 2);
        all += word;
    }
    if (len) {
        uint16_t word = 0;
        memcpy(&word, p, 1);
        all += word;
    }
    (void)whole;
    __asm__ volatile(".rept NOPS\\n\\tnop\\n\\t.endr\\n\\t.rept JUMPS\\n\\tjmp 1f\\n1:\\n\\t.endr");
    all = (all >> 32) + (uint32_t)all;
    return (uint32_t)(all + (all >> 32));
}
"""


def burning(nops: int, jumps: int) -> Kernel:
    return lab.compile_kernel(SOURCE.replace("NOPS", str(nops)).replace("JUMPS", str(jumps)), flags=("-O2",))


@needs_callgrind
def test_callgrind_counts_each_instruction() -> None:
    data = bytes(range(100))
    few = callgrind_counts(burning(nops=100, jumps=7), data, 50, 0)
    many = callgrind_counts(burning(nops=1100, jumps=18), data, 50, 0)
    assert many.minus(few) == Counts(instructions=50 * (1000 + 11), branches=50 * 11)


@needs_callgrind
def test_a_million_calls_follow_from_a_few() -> None:
    kernel = kernel_named("reference")
    run = _count.run_of(kernel, bytes(77), 1)
    for calls in (97, 128, 200, 1001):
        assert callgrind_counts(kernel, bytes(77), calls, 1) == run.count(calls)


@needs_callgrind
def test_callgrind_runs_the_same_machine_code() -> None:
    kernel = kernel_named("linux_after")
    path = _count._object_of(kernel)
    copy = _core.describe(_core.load_kernel(path, "linux_after"))
    assert lab.kernel_source("linux_after").is_file()
    assert copy["code"] == _core.describe("linux_after")["code"]


@pytest.mark.needs_tool("valgrind")
def test_avx512_is_refused() -> None:
    kernel = kernel_named("load_only_avx512")
    with pytest.raises(
        Refused, match=r"valgrind \d+\.\d+\S* can't run AVX-512, which load_only_avx512 needs"
    ):
        callgrind_counts(kernel, bytes(64), 1, 0)


@needs_callgrind
def test_an_instruction_that_valgrind_does_not_know() -> None:
    length = 1_000_003  # no trial has this length, so that a CPU without AVX-512 never meets the instruction
    zmm = ".byte 0x62, 0xf1, 0x7d, 0x48, 0xef, 0xc0"  # vpxord %zmm0, %zmm0, %zmm0
    source = SOURCE.replace("__asm__", f"if (whole == {length})\n        __asm__").replace(
        "nop\\n", f"{zmm}\\n"
    )
    assert zmm in source
    kernel = lab.compile_kernel(source.replace("NOPS", "1").replace("JUMPS", "1"), flags=("-O2",))
    assert callgrind_counts(kernel, bytes(64), 1, 0).instructions
    with pytest.raises(Refused, match=r"valgrind .* doesn't know an instruction of this kernel"):
        callgrind_counts(kernel, bytes(length), 1, 0)


@pytest.mark.parametrize("missing", ["valgrind", "objdump"])
@needs_callgrind
def test_a_missing_tool_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == missing else which(name))
    package = {"valgrind": "valgrind", "objdump": "binutils"}[missing]
    with pytest.raises(Refused, match=f"{missing} is not installed: apt install {package}"):
        callgrind_counts(kernel_named("reference"), bytes(64), 1, 0)


@needs_callgrind
def test_the_driver_says_what_it_lacks(tmp_path: Path) -> None:
    driver, path = callgrind._driver(source_root()), _count._object_of(kernel_named("reference"))
    for arguments, words in [
        ([], "usage: "),
        ([str(tmp_path / "none.so"), "reference", "0", "4", "1"], "none.so"),
        ([path, "nosuch", "0", "4", "1"], "has no cksum_kernel_nosuch"),
        ([path, "r" * 300, "0", "4", "1"], "is longer than"),
        ([path, "reference", "0", "5", "1"], "5 bytes are needed on standard input"),
    ]:
        done = subprocess.run([driver, *arguments], input=b"\1\2\3\4", capture_output=True, check=False)
        assert done.returncode != 0
        assert words in done.stderr.decode()
    done = subprocess.run(
        [driver, path, "reference", "3", "4", "5"], input=b"\1\2\3\4", capture_output=True, check=True
    )
    base, result = done.stdout.split()
    assert int(base, 16) % 4096 == 0
    assert int(result) == 5 * (
        0x0201 + 0x0403 if _core.build_facts()["byte_order"] == "little" else 0x0102 + 0x0304
    )
