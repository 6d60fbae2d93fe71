"""What a reviewer asks for first: which machine, which clock, which build; and what of it spoils a measurement.

Everything is read below one root folder by functions of text, so that machines that nobody here owns can be tested
from recorded files. A file that is missing makes a field unknown, never an error.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import textwrap
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcksum import _core
from fastcksum._html import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

UNKNOWN = "unknown"
# An empty pair of counter readings takes 20 to 80 ticks; a hypervisor that traps them makes it thousands.
TRAPPED_PAIR = 1000
LARGEST_STEAL = 0.01


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache that CPU 0 uses: level, type ("Data", "Instruction", "Unified"), sizes in bytes, CPUs that share it."""

    level: int
    type: str
    size: int
    ways: int
    line: int
    shared_by: str

    def __str__(self) -> str:
        name = f"L{self.level}" + {"Data": "d", "Instruction": "i"}.get(self.type, "")
        size = f"{self.size // 1024} KiB" if self.size < 1024**2 else f"{self.size / 1024**2:g} MiB"
        return f"{name} {size} {self.ways}-way (CPU {self.shared_by})"


@dataclass(frozen=True, slots=True)
class Host:
    """The machine, its clock and the build. Text fields say "unknown" where the machine doesn't tell.

    step and pair are in `unit`s: the smallest step of the tick counter, and an empty begin/end pair of readings;
    hz is units a second. load is the 1-minute load average, steal the share of CPU time that a hypervisor gave to
    others since boot; both None where not told. counters: what of the CPU's event counters may be used, or why not.
    compilers: name and version of each C compiler on the PATH. warnings: what spoils a measurement here, and what to do
    about it.
    """

    cpu: str
    family: str
    model: str
    stepping: str
    microcode: str
    cpus: int
    siblings: str
    caches: tuple[Cache, ...]
    features: tuple[str, ...]
    hypervisor: str
    system: str
    kernel: str
    governor: str
    turbo: str
    clocksource: str
    unit: str
    hz: float
    step: float
    pair: int
    compiler: str
    flags: str
    compilers: tuple[str, ...]
    counters: str
    byte_order: str
    python: str
    numpy: str
    fastcksum: str
    page_size: int
    huge_pages: str
    load: float | None
    steal: float | None
    warnings: tuple[str, ...]

    @property
    def id(self) -> str:
        """Twelve digits that are the same for the same CPU, microcode and hypervisor; no name of a machine in them."""
        known = (self.cpu, self.family, self.model, self.stepping, self.microcode, self.hypervisor)
        return hashlib.sha256("\n".join(known).encode()).hexdigest()[:12]

    def facts(self) -> list[tuple[str, str]]:
        """(label, text) of each fact, in the order in which people ask."""
        load = UNKNOWN if self.load is None else f"{self.load:.2f}"
        steal = "" if self.steal is None else f", {self.steal:.1%} of CPU time stolen since boot"
        return [
            ("CPU", f"{self.cpu} (family {self.family}, model {self.model}, stepping {self.stepping})"),
            ("Microcode", f"{self.microcode}; with CPU and hypervisor: host {self.id}"),
            ("CPUs", f"{self.cpus}, SMT siblings of CPU 0: {self.siblings}"),
            ("Caches", ", ".join(map(str, self.caches)) or UNKNOWN),
            ("Features", " ".join(self.features) or "none that a kernel here needs"),
            ("Hypervisor", self.hypervisor),
            ("System", f"{self.system}, kernel {self.kernel}"),
            ("Frequency", f"governor {self.governor}, turbo {self.turbo}"),
            ("Clock source", self.clocksource),
            (
                "Tick",
                f"{tick_name(self.unit)} at {self.hz / 1e6:.2f} MHz, step {self.step:g}, empty pair {self.pair}",
            ),
            ("Compiler", self.compiler),
            ("Flags", self.flags),
            ("Compilers", ", ".join(self.compilers) or "none on the PATH"),
            ("Counters", self.counters),
            ("Versions", f"fastcksum {self.fastcksum}, Python {self.python}, NumPy {self.numpy}"),
            ("Memory", f"pages of {self.page_size} bytes, transparent huge pages {self.huge_pages}"),
            ("Load", load + steal),
        ]

    def to_lines(self, width: int = 100) -> list[str]:
        """The facts and the warnings as lines of at most `width` columns."""
        labelled = [*self.facts(), *(("Warning", text) for text in self.warnings)]
        return [line for label, text in labelled for line in labelled_lines(label, text, width)]

    def __repr__(self) -> str:
        return f"<Host: {self.cpu}, {self.cpus} CPUs, {self.compiler}; .facts() and .to_lines() show it>"

    def _repr_html_(self) -> str:
        rows = [*self.facts(), *(("Warning", text) for text in self.warnings)]
        return table("The machine, its clock and the build", ("fact", "here"), rows)


def labelled_lines(label: str, text: str, width: int) -> list[str]:
    """`Label:   text`, wrapped so that the text hangs under itself."""
    indent = " " * 14
    return textwrap.wrap(
        text, width, initial_indent=f"{label + ':':<14}", subsequent_indent=indent, break_on_hyphens=False
    )


def tick_name(unit: str) -> str:
    """What a table calls the unit. "TSC cycles" is DPDK's name for ticks of the time stamp counter, and only those."""
    return {"tsc_ticks": "TSC cycles"}.get(unit, unit)


def host() -> Host:
    """The machine that this runs on, as it is now. Takes about 0.1 s the first time: the clock is measured."""
    machine = read_host(
        Path("/"), timer=timer_facts(), build=_core.build_facts(), features=_core.cpu_facts()["features"]
    )
    return replace(machine, counters=_counters_of(machine.hypervisor), compilers=_compilers())


@cache
def _counters_of(hypervisor: str) -> str:
    """What of the CPU's counters may be used, or why not; asked once."""
    from .events import counters_here  # noqa: PLC0415 - it needs a Host itself

    return counters_here(hypervisor)


@cache
def _compilers() -> tuple[str, ...]:
    """Name and version of each C compiler on the PATH, those of one version once; asked once."""
    from .compilers import CompileError, compiler_version, compilers_on_path  # noqa: PLC0415 - as above

    versions: dict[str, str] = {}
    for name in compilers_on_path():
        try:
            versions.setdefault(compiler_version((name,)), name)
        except CompileError:  # it is there and doesn't work
            versions[f"{name} that fails"] = name
    return tuple(versions)


@cache
def timer_facts() -> _core._TimerFacts:
    """The tick counter: unit, step, pair, hz. Measured once."""
    return _core.timer_facts()


def read_host(root: Path, *, timer: Any, build: Any, features: tuple[str, ...]) -> Host:
    """The Host that the files below root (/proc, /sys, /etc) describe."""
    cpu = parse_cpuinfo(_read(root, "proc/cpuinfo"))
    cpus = root / "sys/devices/system/cpu"
    clocks = "sys/devices/system/clocksource/clocksource0"
    fields: dict[str, Any] = {
        "cpu": cpu.get("model name", UNKNOWN),
        "family": cpu.get("cpu family", UNKNOWN),
        "model": cpu.get("model", UNKNOWN),
        "stepping": cpu.get("stepping", UNKNOWN),
        "microcode": cpu.get("microcode", UNKNOWN),
        "cpus": _count_cpus(_read(cpus, "online")),
        "siblings": _read(cpus, "cpu0/topology/thread_siblings_list") or UNKNOWN,
        "caches": read_caches(cpus / "cpu0/cache"),
        "features": features,
        "hypervisor": parse_hypervisor(
            cpu.get("flags", ""),
            vendor=_read(root, "sys/class/dmi/id/sys_vendor"),
            product=_read(root, "sys/class/dmi/id/product_name"),
            kind=_read(root, "sys/hypervisor/type"),
            clocks=_read(root, f"{clocks}/available_clocksource"),
        ),
        "system": parse_os_release(_read(root, "etc/os-release")),
        "kernel": _read(root, "proc/sys/kernel/osrelease") or UNKNOWN,
        "governor": _governor(cpus),
        "turbo": parse_turbo(_read(cpus, "intel_pstate/no_turbo"), _read(cpus, "cpufreq/boost")),
        "clocksource": _read(root, f"{clocks}/current_clocksource") or UNKNOWN,
        "unit": timer["unit"],
        "hz": timer["hz"],
        "step": timer["step"],
        "pair": timer["pair"],
        "compiler": build["compiler"],
        "flags": build["flags"],
        "compilers": (),
        "counters": UNKNOWN,
        "byte_order": build["byte_order"],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fastcksum": _own_version(),
        "page_size": os.sysconf("SC_PAGESIZE"),
        "huge_pages": parse_selected(_read(root, "sys/kernel/mm/transparent_hugepage/enabled")),
        "load": parse_load(_read(root, "proc/loadavg")),
        "steal": parse_steal(_read(root, "proc/stat")),
    }
    return Host(**fields, warnings=tuple(_warnings(fields, cpu.get("flags", ""))))


def _read(folder: Path, name: str) -> str:
    """The text of a file without the space around it; "" where it can't be read."""
    try:
        return (folder / name).read_text(errors="replace").strip()
    except OSError:
        return ""


def _own_version() -> str:
    """The version of the package that runs."""
    try:
        return metadata.version("fastcksum")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return UNKNOWN


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The fields of the first processor in /proc/cpuinfo."""
    first = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs if value.strip()}


def _count_cpus(online: str) -> int:
    """How many CPUs a list such as 0-3,6 names; what Python says where there is no list."""
    return len(parse_cpu_list(online)) or os.cpu_count() or 1


def parse_cpu_list(text: str) -> list[int]:
    """The numbers in a list such as 0-3,6."""
    ranges = (re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(","))
    return [n for found in ranges if found for n in range(int(found[1]), int(found[2] or found[1]) + 1)]


def parse_size(text: str) -> int:
    """Bytes of a size such as 48K or 2M; 0 for what is none."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(found[1]) * 1024 ** " KMG".index(found[2] or " ") if found else 0


def read_caches(folder: Path) -> tuple[Cache, ...]:
    """The caches described below a folder such as /sys/devices/system/cpu/cpu0/cache, nearest first."""

    def number(index: Path, name: str) -> int:
        text = _read(index, name)
        return int(text) if text.isdigit() else 0

    caches = (
        Cache(
            level=number(index, "level"),
            type=_read(index, "type") or UNKNOWN,
            size=parse_size(_read(index, "size")),
            ways=number(index, "ways_of_associativity"),
            line=number(index, "coherency_line_size"),
            shared_by=_read(index, "shared_cpu_list") or UNKNOWN,
        )
        for index in sorted(folder.glob("index*"))
    )
    return tuple(
        sorted((cache for cache in caches if cache.size), key=lambda cache: (cache.level, cache.type))
    )


def parse_hypervisor(flags: str, *, vendor: str, product: str, kind: str, clocks: str) -> str:
    """What is known of the hypervisor: its own word, the DMI strings, the clocks that it offers; or "none"."""
    by_clock = {
        "kvm-clock": "KVM",
        "hyperv_clocksource_tsc_page": "Hyper-V",
        "hyperv_clocksource_msr": "Hyper-V",
    }
    offered = next((name for clock, name in by_clock.items() if clock in clocks.split()), "")
    if "hypervisor" not in flags.split() and not kind and not offered:
        return "none" if flags else UNKNOWN
    known = [kind.capitalize() or offered, " ".join(filter(None, [vendor, product]))]
    return ", ".join(filter(None, known)) or "one that doesn't say its name"


def parse_os_release(text: str) -> str:
    """The name for people in /etc/os-release."""
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', text, re.MULTILINE)
    return found[1] if found else UNKNOWN


def _governor(cpus: Path) -> str:
    """The frequency governors in use, each once."""
    names = {_read(path.parent, path.name) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(filter(None, names))) or UNKNOWN


def parse_turbo(no_turbo: str, boost: str) -> str:
    """Intel's no_turbo or everybody else's boost as "on", "off" or "unknown"."""
    if no_turbo:
        return "off" if no_turbo == "1" else "on"
    return {"1": "on", "0": "off"}.get(boost, UNKNOWN)


def parse_selected(text: str) -> str:
    """The word in brackets of a line such as always [madvise] never."""
    found = re.search(r"\[(\w+)\]", text)
    return found[1] if found else UNKNOWN


def parse_load(text: str) -> float | None:
    """The 1-minute average of /proc/loadavg."""
    try:
        return float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return None


def parse_steal(text: str) -> float | None:
    """The share of CPU time since boot that /proc/stat says was stolen."""
    found = re.search(r"^cpu +(.*)$", text, re.MULTILINE)
    times = [int(word) for word in found[1].split()[:8]] if found else []
    total = sum(times)
    return times[7] / total if len(times) == 8 and total else None


def _warnings(host: dict[str, Any], cpu_flags: str) -> Iterator[str]:
    """What spoils a measurement on such a host, each with what to do about it."""
    yield from _frequency_warnings(host)
    yield from _counter_warnings(host, cpu_flags.split())
    yield from _sharing_warnings(host)
    yield from _build_warnings(host)


def _frequency_warnings(host: dict[str, Any]) -> Iterable[str]:
    if host["governor"] not in {"performance", UNKNOWN}:
        yield (
            f"the frequency governor is {host['governor']}: the first cells run slower; "
            "sudo cpupower frequency-set -g performance"
        )
    if host["turbo"] == "on":
        yield (
            "turbo is on: the core's clock moves against the tick counter with heat and neighbours; "
            "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo (elsewhere: echo 0 to cpufreq/boost)"
        )


def _counter_warnings(host: dict[str, Any], cpu_flags: list[str]) -> Iterable[str]:
    if host["unit"] != "tsc_ticks":
        return
    if cpu_flags and not {"constant_tsc", "nonstop_tsc"} <= set(cpu_flags):
        yield "the time stamp counter is not invariant on this CPU: ticks of different cells may differ in length"
    if host["clocksource"] not in {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", UNKNOWN}:
        yield (
            f"the kernel doesn't trust the time stamp counter (clock source {host['clocksource']}): "
            "see dmesg | grep -i tsc; compare ratios within one run only"
        )
    if host["pair"] > TRAPPED_PAIR:
        yield (
            f"an empty pair of counter readings takes {host['pair']} ticks: the hypervisor traps them; "
            "measure on another machine"
        )


def _sharing_warnings(host: dict[str, Any]) -> Iterable[str]:
    if len(parse_cpu_list(host["siblings"])) > 1:
        yield (
            f"SMT is on (CPU 0 shares its core: {host['siblings']}): keep the sibling idle, or "
            "echo off | sudo tee /sys/devices/system/cpu/smt/control"
        )
    if host["hypervisor"] not in {"none", UNKNOWN}:
        yield (
            "this is a virtual machine: neighbours and the clock are out of sight; believe cells with a clean badge "
            "and ratios within one run, or measure on bare metal"
        )
    if host["steal"] is not None and host["steal"] > LARGEST_STEAL:
        yield f"the hypervisor gave {host['steal']:.1%} of the CPU time to others: repeat at a quieter time"
    if host["load"] is not None and host["load"] > 0.5 * host["cpus"]:
        yield f"load {host['load']:.2f} on {host['cpus']} CPUs: stop other programs and repeat"


def _build_warnings(host: dict[str, Any]) -> Iterable[str]:
    levels = re.findall(r"(?<!\S)-O(\w*)", host["flags"])
    if host["flags"] != UNKNOWN and (levels[-1:] or ["0"])[0] not in {"3", "fast"}:
        yield "the extension was not built with -O3: gcc vectorises nothing at -O2; build it by its setup.py"
    if "-fsanitize" in host["flags"]:
        yield "the extension was built with a sanitizer: build it again without -fsanitize"
