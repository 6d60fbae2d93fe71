"""Four CPUs as they were recorded, and the suite as one of them would run it.

`RECORDED_CPU=zen5 pytest` makes this machine that CPU as far as it can be: its vendor and model, and of its features
those that both have (conftest.py; processes that a test starts inherit it). What is decided by a CPU's facts alone is
tested with the whole recording on each machine.
"""

from __future__ import annotations

import dataclasses
import os
import platform
from pathlib import Path
from typing import Final, TypedDict


class Registers(TypedDict):
    """What CPUID and XGETBV say, as _core.decode_cpuid takes them."""

    max_leaf: int
    vendor: str
    leaf1_eax: int
    leaf1_ecx: int
    leaf1_edx: int
    leaf7_ebx: int
    leaf7_ecx: int
    leaf7_1_eax: int
    xcr0: int


@dataclasses.dataclass(frozen=True)
class RecordedCpu:
    """The registers of a CPU, and its features by the names of /proc/cpuinfo."""

    registers: Registers
    flags: frozenset[str]

    @property
    def cpuinfo(self) -> str:
        """A /proc/cpuinfo with two processors of this kind."""
        return "".join(f"processor\t: {i}\nflags\t\t: {' '.join(sorted(self.flags))}\n\n" for i in range(2))

    @property
    def cpuid(self) -> str:
        """The text of FASTCKSUM_CPUID that stands for this CPU."""
        words = "{vendor} {leaf1_eax:x} {leaf1_ecx:x} {leaf1_edx:x}"
        words += " {leaf7_ebx:x} {leaf7_ecx:x} {leaf7_1_eax:x} {xcr0:x}"
        return words.format(**self.registers)


_SSE: Final = frozenset(
    [
        "fpu",
        "tsc",
        "cmov",
        "mmx",
        "fxsr",
        "sse",
        "sse2",
        "lm",
        "pni",
        "ssse3",
        "cx16",
        "sse4_1",
        "sse4_2",
        "popcnt",
    ]
)
_AVX2: Final = _SSE | frozenset(
    [
        "constant_tsc",
        "nonstop_tsc",
        "pclmulqdq",
        "fma",
        "movbe",
        "aes",
        "xsave",
        "avx",
        "f16c",
        "abm",
        "bmi1",
        "avx2",
        "bmi2",
        "rdseed",
        "adx",
        "vaes",
        "vpclmulqdq",
        "rdtscp",
    ]
)
_AVX512: Final = _AVX2 | frozenset(
    [
        "avx512f",
        "avx512dq",
        "avx512ifma",
        "avx512cd",
        "avx512bw",
        "avx512vl",
        "avx512_bf16",
        "avx512vbmi",
        "avx512_vbmi2",
        "gfni",
        "avx512_vnni",
        "avx512_bitalg",
        "avx512_vpopcntdq",
        "avx_vnni",
    ]
)

# Leaves 1 and 7 from published dumps. Filled in by us: each max_leaf, XCR0 of Zen 3, leaf1_eax,
# leaf1_edx and leaf7_1_eax of Zen 5, leaf7_1_eax of Sapphire Rapids.
RECORDED: Final[dict[str, RecordedCpu]] = {
    "zen3": RecordedCpu(
        {
            "max_leaf": 0x10, "vendor": "AuthenticAMD", "leaf1_eax": 0x00A00F11, "leaf1_ecx": 0x7EF8320B,
            "leaf1_edx": 0x178BFBFF, "leaf7_ebx": 0x219C97A9, "leaf7_ecx": 0x0040069C,
            "leaf7_1_eax": 0, "xcr0": 0x207,
        },
        _AVX2 | {"sse4a", "misalignsse"},
    ),
    "zen5": RecordedCpu(
        {
            "max_leaf": 0x10, "vendor": "AuthenticAMD", "leaf1_eax": 0x00B40F40, "leaf1_ecx": 0xFED8320B,
            "leaf1_edx": 0x178BFBFF, "leaf7_ebx": 0xF1BF97A9, "leaf7_ecx": 0x00405FCE,
            "leaf7_1_eax": 0x30, "xcr0": 0xE7,
        },
        _AVX512 | {"sse4a", "misalignsse", "avx512_vp2intersect", "movdiri"},
    ),
    "sapphire_rapids": RecordedCpu(
        {
            "max_leaf": 0x20, "vendor": "GenuineIntel", "leaf1_eax": 0x000806F8, "leaf1_ecx": 0x7FFEFBFF,
            "leaf1_edx": 0xBFEBFBFF, "leaf7_ebx": 0xF3BFBFFF, "leaf7_ecx": 0xFB417FFE,
            "leaf7_1_eax": 0x1C30, "xcr0": 0x602E7,
        },
        _AVX512 | {"avx512_fp16", "amx_bf16", "amx_tile", "amx_int8", "movdiri"},
    ),
    "no_avx": RecordedCpu(  # Nehalem
        {
            "max_leaf": 0x0B, "vendor": "GenuineIntel", "leaf1_eax": 0x000106A5, "leaf1_ecx": 0x0098E3BD,
            "leaf1_edx": 0xBFEBFBFF, "leaf7_ebx": 0, "leaf7_ecx": 0,
            "leaf7_1_eax": 0, "xcr0": 0,
        },
        _SSE | {"constant_tsc", "nonstop_tsc", "rdtscp"},
    ),
}  # fmt: skip

_WANTED: Final = os.environ.get("RECORDED_CPU")


def wanted() -> RecordedCpu | None:
    """The CPU that RECORDED_CPU names; None where it names none."""
    if _WANTED is None:
        return None
    if _WANTED not in RECORDED or platform.machine() != "x86_64":
        raise SystemExit(f"RECORDED_CPU={_WANTED}: one of {', '.join(RECORDED)}, on x86-64")
    return RECORDED[_WANTED]


_PLAYED: Final = wanted()


def flags_here(recorded: RecordedCpu | None = _PLAYED) -> frozenset[str]:
    """The flags (x86) or features (aarch64) of /proc/cpuinfo, of them those of the recorded CPU where one is wanted."""
    from fastcksum.lab._build import features  # late: an import of fastcksum may ask what the CPU can do

    real = features.parse(Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace"))
    return real if recorded is None else real & recorded.flags
