"""What the module finds out about CPUs: this one against the kernel's own list, others from recorded registers.

The C tests (tests/c/test_cpu.c) decode more of them; here it is the way through Python that is tested as well.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

import pytest
from recorded_cpus import RECORDED, flags_here

from fastcksum import _core, active_kernel, kernels
from fastcksum.lab._build import features as _features

# The names under which Linux shows the features that kernels of ours need.
X86_FLAGS = {
    "sse2", "bmi2", "adx", "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
    "avx_vnni",
}  # fmt: skip
ARM_FLAGS = {"asimd": "neon"}

GENERAL = {"sse2", "bmi2", "adx"}
AVX512_SERVER = {*GENERAL, "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl"}
AVX512_BITS = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31  # F, DQ, CD, BW, VL in EBX of leaf 7
OSXSAVE = 1 << 27

MILAN: dict[str, Any] = dict(RECORDED["zen3"].registers)
ZEN5: dict[str, Any] = dict(RECORDED["zen5"].registers)
# Leaves 1 and 7 from published dumps. Filled in by us: each max_leaf, XCR0 of Cascade Lake.
CASCADE_LAKE: dict[str, Any] = {
    "max_leaf": 0x16, "vendor": "GenuineIntel", "leaf1_eax": 0x00050656, "leaf1_ecx": 0x7FFEFBFF,
    "leaf1_edx": 0xBFEBFBFF, "leaf7_ebx": 0xD39FFFFB, "leaf7_ecx": 0x00000808,
    "leaf7_1_eax": 0, "xcr0": 0xFF,
}  # fmt: skip
KNIGHTS_LANDING: dict[str, Any] = {
    "max_leaf": 0x0D, "vendor": "GenuineIntel", "leaf1_eax": 0x00050671, "leaf1_ecx": 0x7FF8F3BF,
    "leaf1_edx": 0xBFEBFBFF, "leaf7_ebx": 0x1C0D23AB, "leaf7_ecx": 0x00000001,
    "leaf7_1_eax": 0, "xcr0": 0xE7,
}  # fmt: skip

DECODED: dict[str, tuple[dict[str, Any], set[str], int]] = {
    "Zen 3": (MILAN, {*GENERAL, "avx2"}, 512),
    "Zen 5": (ZEN5, {*AVX512_SERVER, "avx512_vnni", "avx_vnni"}, 512),
    "Zen 5, AVX-512 switched off": (ZEN5 | {"xcr0": 0x7}, {*GENERAL, "avx2", "avx_vnni"}, 512),
    "Sapphire Rapids": (
        dict(RECORDED["sapphire_rapids"].registers),
        {*AVX512_SERVER, "avx512_vnni", "avx_vnni"},
        512,
    ),
    "none of AVX": (dict(RECORDED["no_avx"].registers), {"sse2"}, 512),
    "Cascade Lake, where 512 bits lower the clock": (CASCADE_LAKE, {*AVX512_SERVER, "avx512_vnni"}, 256),
    "AVX-512F without BW": (KNIGHTS_LANDING, {*GENERAL, "avx2", "avx512f"}, 512),
    "AVX2, no OSXSAVE": (MILAN | {"leaf1_ecx": MILAN["leaf1_ecx"] & ~OSXSAVE}, GENERAL, 512),
    "AVX2, ymm not saved": (MILAN | {"xcr0": 0x3}, GENERAL, 512),
    "AVX-512, zmm not saved": (CASCADE_LAKE | {"xcr0": 0x7}, {*GENERAL, "avx2"}, 256),
    "AVX-512, opmask not saved": (ZEN5 | {"xcr0": 0xC7}, {*GENERAL, "avx2", "avx_vnni"}, 512),
    "a hypervisor hides AVX-512": (
        ZEN5 | {"leaf7_ebx": ZEN5["leaf7_ebx"] & ~AVX512_BITS, "leaf7_ecx": 0},
        {*GENERAL, "avx2", "avx_vnni"},
        512,
    ),
}


def features_by_linux(flags: frozenset[str]) -> set[str]:
    if platform.machine() == "x86_64":
        return set(flags & X86_FLAGS)
    return {ours for theirs, ours in ARM_FLAGS.items() if theirs in flags}


def test_features_are_those_that_linux_found() -> None:
    assert set(_core.cpu_facts()["features"]) == features_by_linux(flags_here())


def test_kernels_run_here_where_linux_lists_what_they_need() -> None:
    flags = features_by_linux(flags_here())
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


@pytest.mark.parametrize("name", DECODED)
def test_recorded_cpus(name: str) -> None:
    registers, expected, expected_width = DECODED[name]
    features, width, chosen_name = _core.decode_cpuid(registers)
    assert set(features) == expected
    assert width == expected_width
    chosen = next(kernel for kernel in kernels() if kernel.name == chosen_name)
    assert chosen.role == "production"
    assert expected.issuperset(chosen.needs)
    assert chosen.vector_bits <= width
    assert (chosen.vector_bits >= 256) == ("avx2" in expected)


@pytest.mark.parametrize("name", RECORDED)
def test_registers_and_flags_of_a_recording_tell_the_same(name: str) -> None:
    cpu = RECORDED[name]
    assert set(_core.decode_cpuid(dict(cpu.registers))[0]) == cpu.flags & X86_FLAGS
    assert _features.parse(cpu.cpuinfo) == cpu.flags


@pytest.mark.parametrize("name", RECORDED)
def test_the_environment_makes_this_cpu_a_recorded_one(name: str) -> None:
    cpu = RECORDED[name]
    program = "import json; from fastcksum import _core; print(json.dumps(_core.cpu_facts()))"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, env={**os.environ, "FASTCKSUM_CPUID": cpu.cpuid},
    )  # fmt: skip
    facts = json.loads(ran.stdout)
    assert facts["registers"]["vendor"] == cpu.registers["vendor"]
    assert facts["registers"]["leaf1_eax"] == cpu.registers["leaf1_eax"]
    if platform.machine() == "x86_64":
        assert set(facts["features"]) == features_by_linux(flags_here(cpu))


@pytest.mark.parametrize("text", ["", "GenuineIntel 106a5", "GenuineIntel 1 2 3 4 5 x"])
def test_an_environment_that_does_not_read_changes_nothing(text: str) -> None:
    program = "from fastcksum import _core; print(_core.cpu_facts()['registers'])"
    real = {name: value for name, value in os.environ.items() if name != "FASTCKSUM_CPUID"}
    ran = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, env=environment
        ).stdout
        for environment in (real, {**real, "FASTCKSUM_CPUID": text})
    ]
    assert ran[0] == ran[1]


@pytest.mark.parametrize(
    ("register", "bit", "lost"),
    [  # Intel SDM volume 2, CPUID, leaves 1 and 7
        ("leaf1_edx", 26, {"sse2"}),
        ("leaf1_ecx", 28, AVX512_SERVER - GENERAL | {"avx512_vnni", "avx_vnni"}),
        ("leaf7_ebx", 5, {"avx2"}),
        ("leaf7_ebx", 8, {"bmi2"}),
        ("leaf7_ebx", 16, AVX512_SERVER - GENERAL - {"avx2"} | {"avx512_vnni"}),
        ("leaf7_ebx", 17, {"avx512dq"}),
        ("leaf7_ebx", 19, {"adx"}),
        ("leaf7_ebx", 30, {"avx512bw"}),
        ("leaf7_ebx", 31, {"avx512vl"}),
        ("leaf7_ecx", 11, {"avx512_vnni"}),
        ("leaf7_1_eax", 4, {"avx_vnni"}),
    ],
)
def test_each_bit_is_the_one_of_the_manual(register: str, bit: int, lost: set[str]) -> None:
    features, _, _ = _core.decode_cpuid(ZEN5 | {register: ZEN5[register] & ~(1 << bit)})
    assert set(features) == {*AVX512_SERVER, "avx512_vnni", "avx_vnni"} - lost


@pytest.mark.parametrize("field", sorted(MILAN))
def test_a_recording_must_be_complete(field: str) -> None:
    with pytest.raises(TypeError, match=field):
        _core.decode_cpuid({name: value for name, value in MILAN.items() if name != field})


def test_features_are_named_once() -> None:
    features = _core.cpu_facts()["features"]
    assert len(set(features)) == len(features)
    assert {need for kernel in kernels() for need in kernel.needs} <= X86_FLAGS | set(ARM_FLAGS.values())
