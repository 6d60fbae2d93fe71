"""Kernels as Python sees them: a frozen view of the C registry."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from mmap import PAGESIZE
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from . import _core

if TYPE_CHECKING:
    from typing_extensions import Buffer, CapsuleType

Role: TypeAlias = Literal["production", "reference", "past", "peer", "yardstick"]
Registers: TypeAlias = Literal["general", "vector"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation of the sum. Pass it, or its name, as ``kernel=``.

    name         file name = Python name = plot legend
    summary      one line for people
    role         "production" (may be chosen), "reference", "past", "peer" or "yardstick" (computes no sum)
    needs        CPU features, all of which must be there
    min_len      the sum is right for min_len <= length <= max_len, in bytes; shorter ones are refused, longer ones
    max_len      wrap. A compiled kernel was tried at every length to 2100 and some hundred up to 1 MiB, no others
    registers    "general" or "vector"
    vector_bits  width of the vectors used, 0 for general registers
    origin       past and peer kernels: project, function, version and what was changed
    runs_here    whether this CPU and operating system have all that it needs
    code_bytes   size of its machine code; None where that is not known
    code_sha256  hash of its machine code as it lies in memory: two builds with the same name can be told apart
    """

    name: str
    summary: str
    role: Role
    needs: tuple[str, ...]
    min_len: int
    max_len: int
    registers: Registers
    vector_bits: int
    origin: str | None
    runs_here: bool
    code_bytes: int | None
    code_sha256: str | None
    capsule: CapsuleType = field(repr=False, compare=False)

    def partial(self, buf: Buffer, sum: int = 0) -> int:  # noqa: A002 - the name the contract uses
        """The kernel's own unreduced 32-bit result for the whole buffer, starting from a 32-bit sum.

        ValueError if the kernel can't run here or sum is outside 0..0xffffffff. A yardstick returns a number
        without a meaning.
        """
        return _core.partial(self, buf, sum)


def from_description(description: _core._Description) -> Kernel:
    """The Kernel of a description that the C core gives."""
    import hashlib  # noqa: PLC0415 - it loads OpenSSL, which a sum does not need

    code = description["code"]
    return Kernel(
        name=description["name"],
        summary=description["summary"],
        role=cast("Role", description["role"]),
        needs=description["needs"],
        min_len=description["min_len"],
        max_len=description["max_len"],
        registers="vector" if description["vector_bits"] else "general",
        vector_bits=description["vector_bits"],
        origin=description["origin"],
        runs_here=description["runs_here"],
        code_bytes=None if code is None else len(code),
        code_sha256=None if code is None else hashlib.sha256(code).hexdigest(),
        capsule=description["capsule"],
    )


@cache
def _table() -> tuple[Kernel, ...]:
    return tuple(from_description(description) for description in _core.kernel_table())


def kernels() -> list[Kernel]:
    """Every kernel compiled into this build, in the order of preference. Those with runs_here=False can't be used."""
    return list(_table())


def active_kernel() -> Kernel:
    """The kernel that raw_cksum uses when none is named: FASTCKSUM_KERNEL, or the best one for this machine.

    ValueError if the environment variable FASTCKSUM_KERNEL names a kernel that is unknown, can't run here or is a
    yardstick.
    """
    name = _core.active_kernel_name()
    return next(kernel for kernel in _table() if kernel.name == name)


def where(length: int, offset: int) -> str:
    """Where a buffer lay, in words: its length, the offset of its first byte in its page, what is special about it."""
    remarks = ["an odd address"] if offset % 2 else []
    if length > 0 and offset > 0 and (offset + length) % PAGESIZE == 0:
        remarks.append("ending at a page end")
    return ", ".join([f"{length} bytes", f"offset {offset}", *remarks])
