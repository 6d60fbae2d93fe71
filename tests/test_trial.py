"""A function that is tried before it is believed: what it may not do to its buffer, to the machine, and to the
trial.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
from typing import TYPE_CHECKING

import pytest

import fastcksum
from fastcksum import _core, lab
from fastcksum.lab._build import admission, trial

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.needs_tool("gcc")

RIGHT = """
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static uint32_t right(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;
    for (size_t i = 0; i + 1 < len; i += 2) {
        uint16_t word;
        memcpy(&word, p + i, 2);
        total += word;
    }
    if (len % 2) {
        total += __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? p[len - 1] : p[len - 1] << 8;
    }
    while (total >> 32) {
        total = (total >> 32) + (uint32_t)total;
    }
    return (uint32_t)total;
}
"""


def function(body: str) -> str:
    """A function f that does this and then, if it has not returned, sums right."""
    return RIGHT + (
        "uint32_t f(const void *buf, size_t len, uint32_t sum)\n{\n"
        + body
        + "\nreturn right(buf, len, sum);\n}\n"
    )


def compiled(body: str) -> fastcksum.Kernel:
    return lab.compile_kernel(function(body), "gcc", ("-O1",), symbol="f")


def refusal(body: str) -> str:
    with pytest.raises(admission.KernelError) as error:
        compiled(body)
    return str(error.value)


def test_what_is_right_and_only_reads_is_taken() -> None:
    data = bytes(range(200)) * 20
    assert fastcksum.raw_cksum(data, kernel=compiled("")) == fastcksum.raw_cksum(data)


@pytest.mark.parametrize(
    "body",
    [
        "if (len >= 20) { ((uint16_t *)(uintptr_t)buf)[5] = 0; }",
        "memset((void *)(uintptr_t)buf, 0, len); return sum;",
        "if (len) { ((volatile char *)(uintptr_t)buf)[-1] = 0; }",
        "if (len > 50000) { ((volatile char *)(uintptr_t)buf)[7] = 0; }",
    ],
    ids=["field", "all", "before", "long"],
)
def test_what_writes_is_refused(body: str) -> None:
    assert re.search(r"dies of SIG(SEGV|BUS) .*writes into it: a kernel may only read", refusal(body))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('__asm__ volatile("mov $1, %%rbx" ::: "memory");', "rbx"),
        ('__asm__ volatile("mov $1, %%r12; mov $2, %%r15" ::: "memory");', "r12, r15"),
        ('__asm__ volatile("std" ::: "memory"); return 0;', "the direction flag"),
        ("unsigned m = 0x9fc0; __asm__ volatile(\"ldmxcsr %0\" :: \"m\"(m));", "the control bits of MXCSR"),
        ('__asm__ volatile("pxor %%mm0, %%mm0" ::: "memory");', "the x87 stack"),
        ("unsigned short w = 0x27f; __asm__ volatile(\"fldcw %0\" :: \"m\"(w));", "the x87 control word"),
    ],
)  # fmt: skip
def test_what_leaves_the_machine_otherwise_is_refused(body: str, words: str) -> None:
    said = refusal(body)
    assert "breaks the ABI at 0 bytes" in said
    assert words in said


def test_our_own_kernels_leave_the_machine_as_it_was(kernel: fastcksum.Kernel) -> None:
    for length in (0, 1, 20, 1500, 9001):
        assert _core.find_broken_state(kernel, bytes(length)) == ()


@pytest.mark.parametrize(
    "body",
    [
        'puts("{\\"at\\": ["); fflush(stdout);',
        'static char big[65536]; memset(big, 65, sizeof big); write(1, big, sizeof big); write(2, big, sizeof big);',
    ],
    ids=["json", "much"],
)  # fmt: skip
def test_what_it_prints_goes_nowhere(body: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert compiled(body).name
    assert capfd.readouterr() == ("", "")


def test_it_cannot_print_its_own_verdict() -> None:
    said = refusal('puts("{\\"right\\": true}"); fflush(stdout); _exit(0);')
    assert "ended the process in which it was tried" in said


def wait_for_its_end(pid: int) -> None:
    """Until this process has ended, as one that was killed does."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(pid)
        select.select([descriptor], [], [], 60)
        assert select.select([descriptor], [], [], 0)[0], "it still runs"
        os.close(descriptor)


def test_a_process_that_it_leaves_behind_holds_nobody(tmp_path: Path) -> None:
    notes = tmp_path / "pid"
    kernel = compiled(f"""
        static int done;
        if (!done++ && fork() == 0) {{
            FILE *file = fopen("{notes}", "w");
            fprintf(file, "%d", getpid());
            fclose(file);
            for (;;) pause();
        }}
        while (access("{notes}", F_OK) != 0) usleep(1000);
    """)
    assert kernel.name
    wait_for_its_end(int(notes.read_text()))


def test_lengths_between_the_round_ones_are_tried() -> None:
    said = refusal("if (len > 30000 && len < 33000) { sum ^= 1; }")
    wrong_at = re.search(r"wrong at (\d+) bytes", said)
    assert wrong_at is not None
    assert 30000 < int(wrong_at[1]) < 33000


def test_some_hundred_random_lengths_are_tried() -> None:
    cases = [*trial.long_cases(0, 2**63)]
    random_ones = {length for length, *_ in cases} - set(trial.LONG)
    assert len(random_ones) > 250
    assert min(random_ones) < 5000
    assert 65_000 < max(random_ones) <= 70_000
    assert {offset for _, offset, _, _ in cases} == set(trial.OFFSETS)
    documented = (lab.compile_kernel.__doc__ or "").replace("\n", " ")
    assert all(words in documented for words in ("0 to 2100", "300", "70,000"))


def test_a_kernel_that_spoils_the_buffer_of_a_cell_is_found() -> None:
    """What was right in its trial and writes later: the sum before, the kernel's, the sum afterwards."""
    kernel = compiled('if (getenv("SPOIL")) { ((volatile char *)(uintptr_t)buf)[0] ^= 1; }')
    data = bytearray(b"x" * 64)
    bench = _core.Bench()
    bench.add(kernel, data, [0], [64])
    assert bench.check() is None
    os.environ["SPOIL"] = "1"
    try:
        assert bench.check() is not None
    finally:
        del os.environ["SPOIL"]
