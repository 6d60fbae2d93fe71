"""How many jumps are taken on the way through the production kernels: on AMD Zen 3 and Zen 5 each costs a core cycle.

Compilers lay classes of lengths out as they see fit: one that puts each behind a jump over those before it costs the
longer ones a cycle a class. Limits, not counts, so that another version may do better or a little worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from test_production_code import COMPILERS, code_of
from walked import Walker

if TYPE_CHECKING:
    from pathlib import Path

CLASSES: Final = (
    (0, 3, 7),
    (8, 20, 40, 64),
    (65, 100, 128),
    (129, 192, 256),
    (257, 384, 512),
    (513, 576, 800),
)
# Jumps that may be taken at the lengths of each of the classes, by the builds of gcc and of clang alike.
LIMITS: Final = {
    "avx2": (3, 1, 2, 2, 4, 4),
    "avx_vnni": (3, 1, 2, 2, 4, 4),
    "sse2": (3, 1, 2, 4, 4, 6),
    "x86_64_adc": (3, 1, 2, 3, 5),  # from 512 bytes on the jumps depend on a counter in memory
    "avx512_256": (2, 2, 4, 3, 5, 4),
    "avx512": (2, 2, 4, 4, 4, 5),
    "avx512_vnni": (2, 2, 4, 4, 4, 5),
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kernel", LIMITS)
def test_few_jumps_are_taken(kernel: str, compiler: str, tmp_path: Path) -> None:
    disassembly, _ = code_of(kernel, compiler, tmp_path)
    walker = Walker(disassembly)
    lengths = [[n for n in lengths if kernel != "x86_64_adc" or n < 512] for lengths in CLASSES]
    found = [{n: walker.call(n).taken for n in within} for within in lengths[: len(LIMITS[kernel])]]
    for taken, limit in zip(found, LIMITS[kernel], strict=True):
        assert max(taken.values()) <= limit, f"jumps taken by length: {found}"


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kernel", LIMITS)
def test_up_to_256_bytes_no_register_is_saved(kernel: str, compiler: str, tmp_path: Path) -> None:
    disassembly, _ = code_of(kernel, compiler, tmp_path)
    walker = Walker(disassembly)
    for length in (5, 20, 40, 64, 100, 192, 256):
        steps = walker.call(length).instructions
        assert not any(step.startswith(("push", "call")) for step in steps), f"{length} bytes: {steps}"


def test_walk_knows_the_flags() -> None:
    code = """
0000000000000000 <cksum_fn_small>:
   0:\tlea    -0x1(%rsi),%rax
   4:\tcmp    $0x3f,%rax
   8:\tja     14 <cksum_fn_small+0x14>
   c:\ttest   $0x1,%al
   e:\tjne    15 <cksum_fn_small+0x15>
  10:\tadd    (%rdi),%rdx
  12:\tjmp    15 <cksum_fn_small+0x15>
  14:\tret
  15:\tret
"""
    walker = Walker(code)
    assert [walker.call(n).taken for n in (0, 1, 2, 64, 65)] == [1, 1, 1, 1, 1]
    assert [len(walker.call(n).instructions) for n in (0, 1, 2, 65)] == [4, 8, 6, 4]
