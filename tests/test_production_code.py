"""What the compilers make of the production kernels: no instruction that a CPU may lack, no kernel too large for a
cache.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[1] / "csrc"
LARGEST_CODE_BYTES = 4 * 1024

COMPILERS = [
    pytest.param(name, marks=pytest.mark.needs_tool(name, "objdump")) for name in ("gcc", "clang-19")
]

# What a kernel may not hold, as disassembled: whatever its `needs` do not name.
EVEX_REGISTERS = r"%zmm|%k[0-7]\b|%[xy]mm(?:1[6-9]|2\d|3[01])\b"
FORBIDDEN = {
    "avx512": "vpdp",  # clang fuses a multiplication and an addition wherever VNNI is allowed
    "avx512_256": "%zmm|vpdp",
    "avx2": f"{EVEX_REGISTERS}|vpdp",
    "avx_vnni": EVEX_REGISTERS,  # VEX-coded: no register of AVX-512, no mask
    "sse2": r"%[yz]mm|\sv[a-z]+|\srorx|\sshrx|\spextrq",
    "x86_64_adc": r"%[xyz]mm|\sadcx|\sadox",
}
REQUIRED = {
    "avx512_vnni": r"vpdpwssd .*%zmm",
    "avx512": r"vpavgw .*%zmm",
    "avx512_256": r"vpavgw .*%ymm",
    "avx_vnni": r"vpdpwssd .*%ymm",
    "avx2": r"vpavgw .*%ymm",
    "sse2": r"pavgw .*%xmm",
    "x86_64_adc": "adc",
}


def code_of(kernel: str, compiler: str, folder: Path) -> tuple[str, int]:
    """The disassembly and the size in bytes of the section that holds the kernel's code."""
    compiled, section = folder / "kernel.o", f"cksum_code_{kernel}"
    source = CSRC / "kernels" / f"{kernel}.c"
    command: list[str | Path] = [
        compiler,
        "-std=c11",
        "-O3",
        "-fPIC",
        f"-I{CSRC}",
        "-c",
        source,
        "-o",
        compiled,
    ]
    subprocess.run(command, check=True)
    listing: list[str | Path] = [
        "objdump",
        "--disassemble",
        "--no-show-raw-insn",
        f"--section={section}",
        compiled,
    ]
    sizes: list[str | Path] = ["objdump", "--section-headers", f"--section={section}", compiled]
    disassembly, headers = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for command in (listing, sizes)
    )
    found = re.search(rf"{section}\s+([0-9a-f]+)\s", headers)
    assert found, f"no section {section}: {headers}"
    return disassembly, int(found[1], 16)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kernel", sorted(REQUIRED))
def test_kernel_holds_only_what_it_needs(kernel: str, compiler: str, tmp_path: Path) -> None:
    disassembly, size = code_of(kernel, compiler, tmp_path)
    assert re.search(REQUIRED[kernel], disassembly), f"no {REQUIRED[kernel]} in {kernel}"
    if kernel in FORBIDDEN:
        assert re.findall(FORBIDDEN[kernel], disassembly) == []
    assert 0 < size < LARGEST_CODE_BYTES


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kernel", sorted(REQUIRED))
def test_kernel_calls_nothing(kernel: str, compiler: str, tmp_path: Path) -> None:
    # A helper that was not inlined would lie outside the section, in code that is not counted, and cost a call.
    disassembly, _ = code_of(kernel, compiler, tmp_path)
    assert re.findall(r"\scall\S*\s", disassembly) == []
    assert re.findall(r"\sjmp\s+\*", disassembly) == [], "a jump through a table"


INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$", re.MULTILINE)


def loops_of(disassembly: str) -> list[list[str]]:
    """The instructions between each jump back and its target, both included."""
    instructions = [(int(at, 16), name, rest) for at, name, rest in INSTRUCTION.findall(disassembly)]
    loops = []
    for at, name, rest in instructions:
        target = int(rest.split()[0], 16) if re.fullmatch(r"j[a-z]+", name) else at + 1
        if target <= at:
            loops.append([f"{name} {rest}" for place, name, rest in instructions if target <= place <= at])
    return loops


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("kernel", "loops"), [("avx512_vnni", 3), ("avx_vnni", 4)])
def test_vnni_keeps_eight_accumulators_in_their_registers(
    kernel: str, loops: int, compiler: str, tmp_path: Path
) -> None:
    # The dot product takes four or five cycles: one register would wait for it, and copies take issue slots.
    disassembly, _ = code_of(kernel, compiler, tmp_path)
    innermost = [  # a way back from code that was laid behind is no loop of theirs
        loop
        for loop in loops_of(disassembly)
        if not any(step.startswith("j") for step in loop[:-1]) and any("vpdpwssd" in step for step in loop)
    ]
    dot_products = [sum("vpdpwssd" in step for step in loop) for loop in innermost]
    # In any order: aligned to 128 KiB, flushed, four streams; and unaligned, where a class is left for that.
    assert dot_products == [8] * loops
    for loop in innermost:
        assert len({step.rpartition("%")[2] for step in loop if "vpdpwssd" in step}) == 8
        assert not any("vmovdqa" in step for step in loop)
