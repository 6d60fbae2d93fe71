"""Which instructions a compiler may use by its flags, and which of those this CPU and its system don't have.

The compiler says the first by the macros that it predefines, the operating system the second: what is compiled for
another CPU is never executed, not even to see whether it would die.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

# Macro that gcc and clang predefine (without its underscores) -> what /proc/cpuinfo calls the feature. Those that a
# compiler uses by itself, or for the intrinsics of a checksum; not those for keys, clocks and cache lines.
_X86: Final = {
    "SSE3": "pni",
    "SSSE3": "ssse3",
    "SSE4_1": "sse4_1",
    "SSE4_2": "sse4_2",
    "SSE4A": "sse4a",
    "POPCNT": "popcnt",
    "LZCNT": "abm",
    "BMI": "bmi1",
    "BMI2": "bmi2",
    "TBM": "tbm",
    "ADX": "adx",
    "MOVBE": "movbe",
    "F16C": "f16c",
    "FMA": "fma",
    "FMA4": "fma4",
    "XOP": "xop",
    "GFNI": "gfni",
    "PCLMUL": "pclmulqdq",
    "VPCLMULQDQ": "vpclmulqdq",
    "AVX": "avx",
    "AVX2": "avx2",
    "AVXVNNI": "avx_vnni",
    "AVXVNNIINT8": "avx_vnni_int8",
    "AVXVNNIINT16": "avx_vnni_int16",
    "AVXIFMA": "avx_ifma",
    "AVX512F": "avx512f",
    "AVX512CD": "avx512cd",
    "AVX512BW": "avx512bw",
    "AVX512DQ": "avx512dq",
    "AVX512VL": "avx512vl",
    "AVX512ER": "avx512er",
    "AVX512PF": "avx512pf",
    "AVX512IFMA": "avx512ifma",
    "AVX512VBMI": "avx512vbmi",
    "AVX512VBMI2": "avx512_vbmi2",
    "AVX512VNNI": "avx512_vnni",
    "AVX512BITALG": "avx512_bitalg",
    "AVX512VPOPCNTDQ": "avx512_vpopcntdq",
    "AVX512BF16": "avx512_bf16",
    "AVX512FP16": "avx512_fp16",
}
_MACRO: Final = re.compile(r"^#define __(\w+?)__ 1$", re.MULTILINE)


def asked_for(macros: str) -> list[str]:
    """The features, as /proc/cpuinfo names them, that predefined macros (cc -dM -E) tell. None but on x86-64."""
    if "#define __x86_64__ 1" not in macros:
        return []
    return [_X86[name] for name in _MACRO.findall(macros) if name in _X86]


def missing(macros: str, here: frozenset[str] | None = None) -> tuple[str, ...]:
    """Those of the features that are not here, in alphabetical order; none where the system doesn't tell what is."""
    have = features_here() if here is None else here
    return tuple(sorted(set(asked_for(macros)) - have)) if have else ()


@cache
def features_here() -> frozenset[str]:
    """What the operating system says that this CPU has, by the names of /proc/cpuinfo; empty where it doesn't tell."""
    try:
        return parse(Path("/proc/cpuinfo").read_text())
    except OSError:
        return frozenset()


def parse(cpuinfo: str) -> frozenset[str]:
    """The features that every CPU of /proc/cpuinfo has."""
    lists = re.findall(r"^(?:flags|Features)[ \t]*:(.*)$", cpuinfo, re.MULTILINE)
    return frozenset.intersection(*(frozenset(each.split()) for each in lists)) if lists else frozenset()
