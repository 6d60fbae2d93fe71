"""What the module finds out about CPUs: this one against the kernel's own list, others from recorded registers.

The C tests (tests/c/test_cpu.c) decode more of them; here it is the way through Python that is tested as well.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fastcksum import _core, active_kernel, kernels

# The names under which Linux shows the features that kernels of ours need.
X86_FLAGS = {
    "sse2", "bmi2", "adx", "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
}  # fmt: skip
ARM_FLAGS = {"asimd": "neon"}

GENERAL = {"sse2", "bmi2", "adx"}
AVX512_SERVER = {*GENERAL, "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"}
AVX512_BITS = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31  # F, DQ, CD, BW, VL in EBX of leaf 7
OSXSAVE = 1 << 27

# Leaves 1 and 7 from published dumps, Zen 5's from more than one. Filled in by us: every max_leaf, XCR0 of Milan and
# Cascade Lake, leaf1_eax and leaf1_edx of Zen 5.
MILAN: dict[str, Any] = {
    "max_leaf": 0x10, "vendor": "AuthenticAMD", "leaf1_eax": 0x00A00F11, "leaf1_ecx": 0x7EF8320B,
    "leaf1_edx": 0x178BFBFF, "leaf7_ebx": 0x219C97A9, "leaf7_ecx": 0x0040069C, "xcr0": 0x207,
}  # fmt: skip
ZEN5: dict[str, Any] = {
    "max_leaf": 0x10, "vendor": "AuthenticAMD", "leaf1_eax": 0x00B40F40, "leaf1_ecx": 0xFED8320B,
    "leaf1_edx": 0x178BFBFF, "leaf7_ebx": 0xF1BF97A9, "leaf7_ecx": 0x00405FCE, "xcr0": 0xE7,
}  # fmt: skip
CASCADE_LAKE: dict[str, Any] = {
    "max_leaf": 0x16, "vendor": "GenuineIntel", "leaf1_eax": 0x00050656, "leaf1_ecx": 0x7FFEFBFF,
    "leaf1_edx": 0xBFEBFBFF, "leaf7_ebx": 0xD39FFFFB, "leaf7_ecx": 0x00000808, "xcr0": 0xFF,
}  # fmt: skip
KNIGHTS_LANDING: dict[str, Any] = {
    "max_leaf": 0x0D, "vendor": "GenuineIntel", "leaf1_eax": 0x00050671, "leaf1_ecx": 0x7FF8F3BF,
    "leaf1_edx": 0xBFEBFBFF, "leaf7_ebx": 0x1C0D23AB, "leaf7_ecx": 0x00000001, "xcr0": 0xE7,
}  # fmt: skip

RECORDED: dict[str, tuple[dict[str, Any], set[str], int]] = {
    "Zen 3": (MILAN, {*GENERAL, "avx2"}, 512),
    "Zen 5": (ZEN5, {*AVX512_SERVER, "avx512_vnni"}, 512),
    "Cascade Lake, where 512 bits lower the clock": (CASCADE_LAKE, {*AVX512_SERVER, "avx512_vnni"}, 256),
    "AVX-512F without BW": (KNIGHTS_LANDING, {*GENERAL, "avx2", "avx512f"}, 512),
    "AVX2, no OSXSAVE": (MILAN | {"leaf1_ecx": MILAN["leaf1_ecx"] & ~OSXSAVE}, GENERAL, 512),
    "AVX2, ymm not saved": (MILAN | {"xcr0": 0x3}, GENERAL, 512),
    "AVX-512, zmm not saved": (CASCADE_LAKE | {"xcr0": 0x7}, {*GENERAL, "avx2"}, 256),
    "AVX-512, opmask not saved": (ZEN5 | {"xcr0": 0xC7}, {*GENERAL, "avx2"}, 512),
    "a hypervisor hides AVX-512": (
        ZEN5 | {"leaf7_ebx": ZEN5["leaf7_ebx"] & ~AVX512_BITS, "leaf7_ecx": 0},
        {*GENERAL, "avx2"},
        512,
    ),
}


def linux_flags() -> set[str]:
    """The flags (x86) or features (aarch64) of /proc/cpuinfo."""
    for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip().lower() in {"flags", "features"}:
            return set(value.split())
    return set()


def features_by_linux() -> set[str]:
    flags = linux_flags()
    if platform.machine() == "x86_64":
        return flags & X86_FLAGS
    return {ours for theirs, ours in ARM_FLAGS.items() if theirs in flags}


def test_features_are_those_that_linux_found() -> None:
    assert set(_core.cpu_facts()["features"]) == features_by_linux()


def test_kernels_run_here_where_linux_lists_what_they_need() -> None:
    flags = features_by_linux()
    assert {k.name: k.runs_here for k in kernels()} == {k.name: flags.issuperset(k.needs) for k in kernels()}


def test_registers_of_this_machine_decode_to_its_facts() -> None:
    facts = _core.cpu_facts()
    features, width, _ = _core.decode_cpuid(facts["registers"])
    if platform.machine() == "x86_64":
        assert set(features) == set(facts["features"])
    assert width == facts["max_vector_bits"]


def test_the_kernel_that_is_used_is_the_one_the_registers_choose() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "FASTCKSUM_KERNEL"}
    program = "import fastcksum; print(fastcksum.active_kernel().name)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    if platform.machine() == "x86_64":
        assert ran.stdout.strip() == _core.decode_cpuid(_core.cpu_facts()["registers"])[2]
    assert active_kernel().runs_here


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_cpus(name: str) -> None:
    registers, expected, expected_width = RECORDED[name]
    features, width, chosen_name = _core.decode_cpuid(registers)
    assert set(features) == expected
    assert width == expected_width
    chosen = next(kernel for kernel in kernels() if kernel.name == chosen_name)
    assert chosen.role == "production"
    assert expected.issuperset(chosen.needs)
    assert chosen.vector_bits <= width
    assert (chosen.vector_bits >= 256) == ("avx2" in expected)


@pytest.mark.parametrize(
    ("register", "bit", "lost"),
    [  # Intel SDM volume 2, CPUID, leaves 1 and 7
        ("leaf1_edx", 26, {"sse2"}),
        ("leaf1_ecx", 28, AVX512_SERVER - GENERAL | {"avx512_vnni"}),
        ("leaf7_ebx", 5, {"avx2"}),
        ("leaf7_ebx", 8, {"bmi2"}),
        ("leaf7_ebx", 16, AVX512_SERVER - GENERAL - {"avx2"} | {"avx512_vnni"}),
        ("leaf7_ebx", 17, {"avx512dq"}),
        ("leaf7_ebx", 19, {"adx"}),
        ("leaf7_ebx", 30, {"avx512bw"}),
        ("leaf7_ebx", 31, {"avx512vl"}),
        ("leaf7_ecx", 11, {"avx512_vnni"}),
    ],
)
def test_each_bit_is_the_one_of_the_manual(register: str, bit: int, lost: set[str]) -> None:
    features, _, _ = _core.decode_cpuid(ZEN5 | {register: ZEN5[register] & ~(1 << bit)})
    assert set(features) == {*AVX512_SERVER, "avx512_vnni"} - lost


@pytest.mark.parametrize("field", sorted(MILAN))
def test_a_recording_must_be_complete(field: str) -> None:
    with pytest.raises(TypeError, match=field):
        _core.decode_cpuid({name: value for name, value in MILAN.items() if name != field})


def test_features_are_named_once() -> None:
    features = _core.cpu_facts()["features"]
    assert len(set(features)) == len(features)
    assert {need for kernel in kernels() for need in kernel.needs} <= X86_FLAGS | set(ARM_FLAGS.values())
