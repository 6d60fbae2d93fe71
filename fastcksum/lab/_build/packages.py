"""The real things: checksum functions of packages that are installed on this machine.

Adapters (csrc/adapters) turn a function into a kernel: each includes the installed header, and links the installed
library if the function lives there. They are compiled when they are asked for, against what is there then.
"""

from __future__ import annotations

import dataclasses
import platform
import re
import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fastcksum.lab._machine.compilers import CompileError, compiler_version, preprocess

from .admission import KernelError
from .compiler import CompiledKernel, compile_kernel
from .unit import source_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastcksum._kernel import Kernel


@dataclass(frozen=True, slots=True)
class _Package:
    """A function that a package brings. cflags: where its header lies, for machines without pkg-config's word on it."""

    project: str
    function: str
    adapter: str
    header: str
    debian: str
    pkg_config: str = ""
    cflags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


PACKAGES: Final = (
    _Package(
        "DPDK",
        "__rte_raw_cksum",
        "dpdk.c",
        "rte_ip.h",
        "libdpdk-dev",
        pkg_config="libdpdk",
        cflags=(
            "-I/usr/include/dpdk",
            f"-I/usr/include/{platform.machine()}-linux-gnu/dpdk",
            "-include",
            "rte_config.h",
        ),
    ),
    _Package(
        "lwIP",
        "inet_chksum",
        "lwip.c",
        "lwip/inet_chksum.h",
        "liblwip-dev",
        pkg_config="lwip",
        cflags=("-I/usr/include/lwip",),
        libraries=("-llwip",),
    ),
    _Package("libnet", "libnet_in_cksum", "libnet.c", "libnet.h", "libnet1-dev", libraries=("-lnet",)),
    _Package(
        "libdumbnet", "ip_cksum_add", "libdumbnet.c", "dumbnet.h", "libdumbnet-dev", libraries=("-ldumbnet",)
    ),
)


def installed(compiler: str | Sequence[str] = "gcc", flags: Sequence[str] = ("-O3",)) -> list[Kernel]:
    """The checksum functions of packages installed on this machine, as kernels, in the order of this list:

    __rte_raw_cksum   DPDK's header (libdpdk-dev): compiled here, by this compiler with these flags behind pkg-config's
    inet_chksum       lwIP's library (liblwip-dev): to 65535 bytes
    libnet_in_cksum   libnet's library (libnet1-dev), with its LIBNET_CKSUM_CARRY: to 65535 bytes
    ip_cksum_add      libdumbnet's library (libdumbnet-dev), with its ip_cksum_carry: 2 to 65535 bytes; below it reads
                      32 bytes that it was not given

    Each is checked as by compile_kernel(). origin has the package's version. Of a library's function the call is
    compiled here, not the code: its size, hash and vectors are unknown (None), and placements move the call only.
    not_installed() tells what is missing. CompileError if the compiler is.
    """
    return [found for found in _look_for_all(compiler, flags).values() if isinstance(found, CompiledKernel)]


def not_installed(compiler: str | Sequence[str] = "gcc", flags: Sequence[str] = ("-O3",)) -> dict[str, str]:
    """Function -> why installed() doesn't have it, with the line that installs its package."""
    return {name: found for name, found in _look_for_all(compiler, flags).items() if isinstance(found, str)}


def _look_for_all(compiler: str | Sequence[str], flags: Sequence[str]) -> dict[str, CompiledKernel | str]:
    command = (compiler,) if isinstance(compiler, str) else tuple(compiler)
    compiler_version(command)  # one that isn't there says nothing about headers
    return {package.function: _look_for(package, command, tuple(flags)) for package in PACKAGES}


def _look_for(package: _Package, compiler: tuple[str, ...], flags: tuple[str, ...]) -> CompiledKernel | str:
    """The kernel of a package, or why there is none."""
    cflags = _cflags(package)
    try:
        preprocess(f"#include <{package.header}>\n", (*compiler, *cflags))
    except CompileError:
        return f"{package.project} is not installed: apt install {package.debian}"
    adapter = source_root() / "adapters" / package.adapter
    try:
        kernel = compile_kernel(adapter, compiler, (*cflags, *flags, *package.libraries))
    except (CompileError, KernelError) as error:
        return f"{package.project} {_version(package)} is installed, but: {error}"
    return _described(kernel, package, _version(package), flags)


def _described(
    kernel: CompiledKernel, package: _Package, version: str, flags: tuple[str, ...]
) -> CompiledKernel:
    """The kernel under the function's own name, with what is known of its code: nothing of a library's."""
    short = (re.match(r"[\d.]+\d", version) or [version])[0]
    where = "called in its library" if package.libraries else "out of its header"
    unknown: dict[str, Any] = (
        {"code_bytes": None, "code_sha256": None, "vectorised": None} if package.libraries else {}
    )
    return dataclasses.replace(
        kernel,
        name=f"{package.function} of {package.project} {short} [{' '.join([kernel.compiler, *flags])}]",
        origin=f"{package.project} {package.function}, {package.debian} {version}, {where}; unchanged",
        symbol=package.function,
        **unknown,
    )


def _cflags(package: _Package) -> tuple[str, ...]:
    """What pkg-config says, or the usual places."""
    if package.pkg_config:
        said = ask(("pkg-config", "--cflags", package.pkg_config))
        if said is not None:
            return tuple(shlex.split(said))
    return package.cflags


def _version(package: _Package) -> str:
    """The version of the installed package, as dpkg or pkg-config tells it."""
    questions: list[tuple[str, ...]] = [("dpkg-query", "--show", "--showformat=${Version}", package.debian)]
    if package.pkg_config:
        questions.append(("pkg-config", "--modversion", package.pkg_config))
    answers = (ask(question) for question in questions)
    return next((answer.strip() for answer in answers if answer), "of unknown version")


def ask(command: tuple[str, ...]) -> str | None:
    """What a command says; None if it isn't there or fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
