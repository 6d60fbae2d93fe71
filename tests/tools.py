"""The programs and headers that tests need beside Python: where they are looked for, and who brings them.

Standard library only, so that .ci/run can ask it on a bare machine:  python3 tests/tools.py  prints the Debian packages
of the tools that markers of the tests name.
"""

from __future__ import annotations

import ast
import shutil
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parent


@dataclass(frozen=True)
class Tool:
    """A program on the PATH or a file, and the Debian packages that bring it. None: Debian 12 has none."""

    packages: str | None
    command: str = ""
    file: str = ""
    how: str = ""  # the command that brings it, where no package does

    def is_here(self) -> bool:
        return shutil.which(self.command) is not None if self.command else Path(self.file).is_file()

    def install_line(self) -> str:
        if self.how:
            return self.how
        return f"apt-get install {self.packages}" if self.packages else "no Debian 12 package has it"


TOOLS: dict[str, Tool] = {
    "aarch64-linux-gnu-gcc": Tool("gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "aarch64-linux-gnu-gcc"),
    "bash": Tool("bash", "bash"),
    "chromium": Tool("chromium", "chromium"),
    "clang-19": Tool("clang-19 libclang-rt-19-dev", "clang-19"),
    "dpdk-test": Tool("dpdk-dev", "dpdk-test"),
    "foreign-captures": Tool(
        None, file=str(TESTS.parent / "build" / "foreign" / "complete"), how="bash tests/foreign_sources.sh"
    ),
    "gcc": Tool("gcc libc6-dev", "gcc"),
    "g++": Tool("g++", "g++"),
    "git": Tool("git", "git"),
    "gopacket": Tool(
        "golang-github-google-gopacket-dev",
        file="/usr/share/gocode/src/github.com/google/gopacket/pcap/test_dns.pcap",
    ),
    "ip": Tool("iproute2", "ip"),
    "libdpdk-dev": Tool("libdpdk-dev", file="/usr/include/dpdk/rte_ip.h"),
    "libdumbnet-dev": Tool("libdumbnet-dev", file="/usr/include/dumbnet.h"),
    "liblwip-dev": Tool("liblwip-dev", file="/usr/include/lwip/lwip/inet_chksum.h"),
    "libnet1-dev": Tool("libnet1-dev", file="/usr/include/libnet.h"),
    "nm": Tool("binutils", "nm"),
    "objdump": Tool("binutils", "objdump"),
    "pkg-config": Tool("pkg-config", "pkg-config"),
    "python3-dpkt": Tool("python3-dpkt", file="/usr/share/doc/python3-dpkt/examples/data/http.pcap"),
    "qemu-aarch64": Tool("qemu-user", "qemu-aarch64"),
    "qemu-s390x": Tool("qemu-user", "qemu-s390x"),
    "s390x-linux-gnu-gcc": Tool("gcc-s390x-linux-gnu libc6-dev-s390x-cross", "s390x-linux-gnu-gcc"),
    "tcpdump": Tool("tcpdump", "tcpdump"),
    "tshark": Tool("tshark", "tshark"),
    "valgrind": Tool("valgrind", "valgrind"),
}


def named_by(path: Path) -> set[str]:
    """The tools that the needs_tool markers of a test file name."""
    calls = (
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    )
    return {
        argument.value
        for call in calls
        if ast.unparse(call.func).endswith("needs_tool")
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def packages(names: set[str]) -> list[str]:
    """The Debian packages of these tools."""
    return sorted({package for name in names for package in (TOOLS[name].packages or "").split()})


if __name__ == "__main__":
    print(" ".join(packages(set().union(*map(named_by, TESTS.glob("test_*.py"))))))
