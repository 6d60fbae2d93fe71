"""What the compilers make of the kernels: which past forms they vectorise, which instructions a kernel may hold."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[1] / "csrc"
PACKED_ADD = re.compile(r"^\s*v?padd[dq]\s.*%[xyz]mm", re.MULTILINE)
VECTOR_REGISTER = re.compile(r"%[xyz]mm\d+")

gcc = pytest.param("gcc", marks=pytest.mark.needs_tool("gcc"))
clang = pytest.param("clang-19", marks=pytest.mark.needs_tool("clang-19"))


def assembly_of(kernel: str, compiler: str, *flags: str) -> str:
    """The assembly of the kernel's function, compiled for baseline x86-64: from its label to its .size."""
    [source] = CSRC.joinpath("kernels").rglob(f"{kernel}.c")
    command = [compiler, "-std=c11", "-fPIC", *flags, f"-I{CSRC}", "-S", "-o", "-", str(source)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    name = f"cksum_fn_{kernel}"
    found = re.search(rf"^{name}:.*?^\s*\.size\s+{name}\b", text, re.MULTILINE | re.DOTALL)
    assert found, f"no function {name} in what {compiler} wrote"
    return found[0]


@pytest.mark.parametrize(
    ("compiler", "level", "before", "after"),
    [
        pytest.param("gcc", "-O3", True, True, marks=pytest.mark.needs_tool("gcc")),
        pytest.param("gcc", "-O2", False, False, marks=pytest.mark.needs_tool("gcc")),
        pytest.param("clang-19", "-O3", False, True, marks=pytest.mark.needs_tool("clang-19")),
        pytest.param("clang-19", "-O2", False, True, marks=pytest.mark.needs_tool("clang-19")),
    ],
)
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_dpdk_forms_are_vectorised_as_published(
    compiler: str, level: str, target: str, before: bool, after: bool
) -> None:
    vectorised = {
        form: bool(PACKED_ADD.search(assembly_of(form, compiler, level, f"-march={target}")))
        for form in ("dpdk_before", "dpdk_after")
    }
    assert vectorised == {"dpdk_before": before, "dpdk_after": after}


@pytest.mark.parametrize("compiler", [gcc, clang])
@pytest.mark.parametrize("kernel", ["portable64", "linux_before", "linux_after"])
def test_general_kernels_use_no_vector_register(kernel: str, compiler: str) -> None:
    # Code inside an operating system's kernel can't use them, and these are what its people compare.
    assert VECTOR_REGISTER.findall(assembly_of(kernel, compiler, "-O3")) == []


@pytest.mark.parametrize("compiler", [gcc, clang])
@pytest.mark.parametrize("kernel", ["linux_before", "linux_after"])
def test_linux_forms_add_64_bytes_in_one_chain(kernel: str, compiler: str) -> None:
    # addq, seven adcq from memory, adcq $0: one chain with one carry at its end
    chain = r"addq\s+0?\(%\w+\), %\w+\s+" + "".join(
        rf"adcq\s+{8 * word}\(%\w+\), %\w+\s+" for word in range(1, 8)
    )
    assert re.search(chain + r"adcq\s+\$0, %\w+", assembly_of(kernel, compiler, "-O3"))


@pytest.mark.parametrize("compiler", [gcc, clang])
def test_avx2_stays_within_avx2(compiler: str) -> None:
    assembly = assembly_of("avx2", compiler, "-O3")
    assert "%ymm" in assembly
    assert re.findall(r"%zmm|%k[0-7]\b|vpdpwssd|%[xy]mm(?:1[6-9]|2\d|3[01])\b", assembly) == []


@pytest.mark.parametrize("compiler", [gcc, clang])
@pytest.mark.parametrize(
    ("kernel", "register"),
    [("load_only_sse2", "xmm"), ("load_only_avx2", "ymm"), ("load_only_avx512", "zmm")],
)
def test_load_only_loads_eight_vectors_a_step(kernel: str, register: str, compiler: str) -> None:
    load = re.compile(rf"\(%r\w+\), ?(?:%{register}\d+, ?)?%{register}\d+")
    loads = [len(load.findall(block)) for block in assembly_of(kernel, compiler, "-O3").split("\n.L")]
    assert 8 in loads, f"vector loads between each two labels: {loads}"
