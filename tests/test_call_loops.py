"""The loops that time a kernel really call it: one direct call in each loop, to the address in the descriptor.

Read from the machine code of shared objects that hold every kernel, built by both compilers at both levels. No clock
decides, and nothing is executed: so the check covers kernels that this CPU can't run.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pytest

from fastcksum import _core, kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

CSRC = Path(__file__).parents[1] / "csrc"
BUILDS = [
    pytest.param(
        (compiler, level), marks=pytest.mark.needs_tool(compiler, "objdump", "nm"), id=compiler + level
    )
    for compiler in ("gcc", "clang-19")
    for level in ("-O2", "-O3")
]
NAMES = [kernel.name for kernel in kernels()]


class Descriptor(ctypes.Structure):
    """struct cksum_kernel of csrc/kernels/kernel.h."""

    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("summary", ctypes.c_char_p),
        ("origin", ctypes.c_char_p),
        ("role", ctypes.c_uint),
        ("needs", ctypes.c_uint32),
        ("vector_bits", ctypes.c_uint),
        ("min_len", ctypes.c_size_t),
        ("max_len", ctypes.c_size_t),
        ("edges", ctypes.POINTER(ctypes.c_size_t)),
        ("fn", ctypes.c_void_p),
        ("loops", ctypes.POINTER(ctypes.c_void_p)),
    ]


class Instruction(NamedTuple):
    """One line of objdump: address, mnemonic, operands; target of a direct jump or call."""

    address: int
    name: str
    operands: str
    target: int | None


class Linked(NamedTuple):
    """What the linked object says: where each kernel and its loops lie, and the code of every function."""

    fn: dict[str, int]
    loops: dict[str, list[int]]
    code: dict[int, list[Instruction]]


def build(target: Path, compiler: str, level: str, *defines: str) -> Path:
    """All kernel files in one shared object, with the descriptors exported."""
    sources = [path for path in CSRC.joinpath("kernels").rglob("*.c") if path.stem in NAMES]
    command = [compiler, "-std=c11", level, "-shared", "-fPIC", "-fvisibility=hidden", f"-I{CSRC}", *defines]
    command += ['-DCKSUM_KERNEL_VISIBILITY=__attribute__((visibility("default")))', "-o", str(target)]
    subprocess.run([*command, *map(str, sources)], check=True)
    return target


def disassemble(path: Path) -> dict[int, list[Instruction]]:
    """The instructions of each function, by its address."""
    text = subprocess.run(
        ["objdump", "-d", "-w", "--no-show-raw-insn", str(path)], capture_output=True, text=True, check=True
    ).stdout
    functions: dict[int, list[Instruction]] = defaultdict(list)
    start = 0
    for line in text.splitlines():
        if head := re.match(r"([0-9a-f]+) <.*>:$", line):
            start = int(head[1], 16)
        elif found := re.match(r"\s+([0-9a-f]+):\s+(?:bnd |notrack )*(\S+)\s*(.*)$", line):
            target = re.match(r"([0-9a-f]+) <", found[3])
            functions[start].append(
                Instruction(int(found[1], 16), found[2], found[3], int(target[1], 16) if target else None)
            )
    return functions


def read(path: Path) -> Linked:
    """Loads the object, without calling into it, and reads the descriptors as they stand in memory."""
    symbols = subprocess.run(["nm", "-D", str(path)], capture_output=True, text=True, check=True).stdout
    library = ctypes.CDLL(str(path))
    fn, loops = {}, {}
    for name in NAMES:
        symbol = f"cksum_kernel_{name}"
        found = re.search(rf"^([0-9a-f]+) \w {symbol}$", symbols, re.MULTILINE)
        assert found, f"{symbol} is not exported"
        pointer = ctypes.POINTER(Descriptor).in_dll(library, symbol)
        base = ctypes.addressof(pointer) - int(found[1], 16)
        descriptor = pointer.contents
        assert descriptor.name == name.encode()
        fn[name] = descriptor.fn - base
        loops[name] = [descriptor.loops[i] - base for i in range(len(_core.LOOPS))]
    return Linked(fn, loops, disassemble(path))


@pytest.fixture(scope="module")
def linked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Linked:
    compiler, level = request.param
    return read(build(tmp_path_factory.mktemp("linked") / "kernels.so", compiler, level))


def in_loop(code: Sequence[Instruction], instruction: Instruction) -> bool:
    """Whether a jump from behind the instruction leads back to before it."""
    return any(
        jump.name.startswith("j")
        and jump.target is not None
        and code[0].address <= jump.target <= instruction.address < jump.address
        for jump in code
    )


def faults(linked: Linked, kernel: str, loop: str) -> list[str]:
    """What is wrong with one loop of one kernel; nothing if it is as it should be."""
    code = linked.code[linked.loops[kernel][_core.LOOPS.index(loop)]]
    calls = [each for each in code if each.name.startswith("call")]
    if loop == "receive":  # what it times besides: the copy of the payload
        calls = [each for each in calls if "<memcpy@plt>" not in each.operands]
    found = []
    if not code:
        found.append("there is no function at the address that the descriptor holds")
    if len(calls) != 1:
        found.append(f"{len(calls)} calls: {[each.operands for each in calls]}")
    for call in calls:
        if call.target != linked.fn[kernel]:
            found.append(f"a call to {call.operands} instead of {linked.fn[kernel]:x}")
        if not in_loop(code, call):
            found.append(f"the call at {call.address:x} is not inside a loop")
    return found


@pytest.mark.parametrize("linked", BUILDS, indirect=True)
@pytest.mark.parametrize("loop", _core.LOOPS)
@pytest.mark.parametrize("kernel", NAMES)
def test_one_direct_call_in_the_loop(linked: Linked, kernel: str, loop: str) -> None:
    assert faults(linked, kernel, loop) == []


@pytest.mark.parametrize("compiler_and_level", BUILDS)
def test_without_the_second_name_the_compiler_looks_through(
    compiler_and_level: tuple[str, str], tmp_path: Path
) -> None:
    compiler, level = compiler_and_level
    visible = read(build(tmp_path / "visible.so", compiler, level, "-DCKSUM_LOOPS_CALL_VISIBLE_FUNCTION"))
    assert all(faults(visible, "nothing", loop) for loop in _core.LOOPS)


def test_every_loop_is_covered() -> None:
    header = (CSRC / "kernels" / "call_loops.h").read_text(encoding="utf-8")
    assert re.findall(r"X\(given, [A-Z]+, (\w+)\)", header) == list(_core.LOOPS)
