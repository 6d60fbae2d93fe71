"""The host report: from recorded files of machines that nobody here owns, and from this machine."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_sweep import HOST

from fastcksum import lab
from fastcksum.lab._machine import facts as _host
from fastcksum.lab._machine.facts import Cache, Host
from fastcksum.lab._machine.processor import best_processor

TIMER = {"unit": "tsc_ticks", "step": 1.0, "pair": 40, "hz": 2.4e9}
BUILD = {"compiler": "gcc 12.2.0", "flags": "-O2 -fPIC -O3", "byte_order": "little"}

CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz
stepping\t: 7
microcode\t: 0x5003604
cpu MHz\t\t: 2100.000
flags\t\t: fpu tsc constant_tsc nonstop_tsc avx2
power management:

processor\t: 1
model name\t: another
"""
# A workstation with two threads a core, a governor that saves power, and turbo.
WORKSTATION = {
    "proc/cpuinfo": CPUINFO,
    "proc/loadavg": "0.42 0.30 0.20 1/900 12345\n",
    "proc/stat": "cpu  900 0 90 9000 0 0 10 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
    "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "sys/devices/system/cpu/online": "0-3,8\n",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,2\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
    "sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
    "sys/devices/system/cpu/cpu0/cache/index0/type": "Data\n",
    "sys/devices/system/cpu/cpu0/cache/index0/size": "32K\n",
    "sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity": "8\n",
    "sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size": "64\n",
    "sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list": "0,2\n",
    "sys/devices/system/cpu/cpu0/cache/index3/level": "3\n",
    "sys/devices/system/cpu/cpu0/cache/index3/type": "Unified\n",
    "sys/devices/system/cpu/cpu0/cache/index3/size": "28160K\n",
    "sys/devices/system/cpu/cpu0/cache/index3/ways_of_associativity": "11\n",
    "sys/devices/system/cpu/cpu0/cache/index3/coherency_line_size": "64\n",
    "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list": "0-3\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}


def read(folder: Path, files: dict[str, str], **timer: Any) -> Host:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return _host.read_host(folder, timer={**TIMER, **timer}, build=BUILD, features=("sse2", "avx2"))


def test_a_recorded_workstation(tmp_path: Path) -> None:
    host = read(tmp_path, WORKSTATION)
    assert (host.cpu, host.family, host.model, host.stepping, host.microcode) == (
        "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
        "6",
        "85",
        "7",
        "0x5003604",
    )
    assert (host.cpus, host.siblings, host.hypervisor) == (5, "0,2", "none")
    assert host.caches == (
        Cache(1, "Data", 32768, 8, 64, "0,2"),
        Cache(3, "Unified", 28835840, 11, 64, "0-3"),
    )
    assert (host.governor, host.turbo, host.clocksource) == ("powersave", "on", "tsc")
    assert (host.system, host.kernel) == ("Debian GNU/Linux 12 (bookworm)", "6.1.0-18-amd64")
    assert (host.huge_pages, host.load, host.steal) == ("madvise", 0.42, 0.0)
    assert (host.unit, host.step, host.pair, host.hz) == ("tsc_ticks", 1.0, 40, 2.4e9)


def test_a_recorded_workstation_is_warned_of(tmp_path: Path) -> None:
    warnings = read(tmp_path, WORKSTATION).warnings
    assert [warning.split(":")[0] for warning in warnings] == [
        "the frequency governor is powersave",
        "turbo is on",
        "SMT is on (CPU 0 shares its core",
    ]
    assert "cpupower frequency-set -g performance" in warnings[0]


def test_without_any_file_every_field_says_unknown(tmp_path: Path) -> None:
    host = read(tmp_path, {})
    for field in (
        "cpu",
        "family",
        "model",
        "stepping",
        "microcode",
        "siblings",
        "hypervisor",
        "system",
        "kernel",
    ):
        assert getattr(host, field) == "unknown", field
    for field in ("governor", "turbo", "clocksource", "huge_pages"):
        assert getattr(host, field) == "unknown", field
    assert host.caches == ()
    assert host.load is None
    assert host.steal is None
    assert host.cpus == os.cpu_count()
    assert host.warnings == ()
    assert all(line for line in host.to_lines())


def test_files_that_hold_nonsense_are_no_error(tmp_path: Path) -> None:
    files = dict.fromkeys(WORKSTATION, "\x00 nonsense \n")
    host = read(tmp_path, files)
    assert host.load is None
    assert host.steal is None
    assert host.caches == ()


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        ({"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"}, "clock source hpet"),
        ({"proc/cpuinfo": CPUINFO.replace("nonstop_tsc", "")}, "not invariant"),
        ({"proc/cpuinfo": CPUINFO.replace("avx2", "avx2 hypervisor")}, "this is a virtual machine"),
        ({"proc/stat": "cpu  900 0 90 9000 0 0 10 500 0 0\n"}, "gave 4.8% of the CPU time to others"),
        ({"proc/loadavg": "2.51 1 1 1/900 1"}, "load 2.51 on 5 CPUs"),
    ],
)
def test_what_spoils_a_measurement(tmp_path: Path, change: dict[str, str], warning: str) -> None:
    before = read(tmp_path / "before", WORKSTATION).warnings
    after = read(tmp_path / "after", {**WORKSTATION, **change}).warnings
    assert [text for text in after if warning in text] == [text for text in after if text not in before]
    assert len(after) == len(before) + 1


def test_trapped_readings_are_warned_of(tmp_path: Path) -> None:
    assert any("hypervisor traps" in text for text in read(tmp_path, WORKSTATION, pair=2500).warnings)


def test_other_counters_are_not_held_to_the_rules_of_the_tsc(tmp_path: Path) -> None:
    files = {**WORKSTATION, "proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd\n"}
    host = read(tmp_path, files, unit="cntvct_ticks", pair=2500)
    assert not any("time stamp" in text or "traps" in text for text in host.warnings)
    assert len(host.warnings) == 3


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("-O2 -fPIC", ["not built with -O3"]),
        ("-O3 -O2", ["not built with -O3"]),
        ("-fPIC", ["not built with -O3"]),
        ("-O2 -O3", []),
        ("-Ofast", []),
        ("unknown", []),
        ("-O3 -fsanitize=address", ["sanitizer"]),
    ],
)
def test_build_flags_are_judged(flags: str, words: list[str]) -> None:
    warnings = list(_host._build_warnings({"flags": flags}))
    assert len(warnings) == len(words)
    assert all(word in text for word, text in zip(words, warnings, strict=True))


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"flags": "fpu"}, "none"),
        ({"flags": ""}, "unknown"),
        ({"flags": "fpu hypervisor"}, "one that doesn't say its name"),
        ({"flags": "fpu hypervisor", "clocks": "tsc kvm-clock"}, "KVM"),
        ({"flags": "fpu hypervisor", "vendor": "QEMU", "product": "Standard PC"}, "QEMU Standard PC"),
        ({"flags": "", "kind": "xen"}, "Xen"),
        ({"flags": "fpu hypervisor", "clocks": "hyperv_clocksource_tsc_page", "vendor": "M"}, "Hyper-V, M"),
    ],
)
def test_hypervisors_by_what_they_leave(files: dict[str, str], name: str) -> None:
    asked = {"vendor": "", "product": "", "kind": "", "clocks": "", **files}
    assert _host.parse_hypervisor(asked.pop("flags"), **asked) == name


@pytest.mark.parametrize(
    ("text", "numbers"), [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("x", []), ("0,2-3", [0, 2, 3])]
)
def test_cpu_lists(text: str, numbers: list[int]) -> None:
    assert _host.parse_cpu_list(text) == numbers


@pytest.mark.parametrize(("text", "size"), [("48K", 49152), ("2M", 2097152), ("512", 512), ("", 0), ("K", 0)])
def test_cache_sizes(text: str, size: int) -> None:
    assert _host.parse_size(text) == size


@pytest.mark.parametrize(
    ("no_turbo", "boost", "state"),
    [
        ("1", "", "off"),
        ("0", "", "on"),
        ("", "1", "on"),
        ("", "0", "off"),
        ("", "", "unknown"),
        ("0", "0", "on"),
    ],
)
def test_turbo(no_turbo: str, boost: str, state: str) -> None:
    assert _host.parse_turbo(no_turbo, boost) == state


def test_lines_hold_all_facts_within_the_width() -> None:
    host = replace(HOST, flags="-Wsome " * 60, warnings=("do this " * 30,))
    for width in (60, 100):
        lines = host.to_lines(width)
        assert max(map(len, lines)) <= width
        text = " ".join(" ".join(lines).split())
        for fact in ("L1d 32 KiB 8-way (CPU 0,2)", "L2 1 MiB 16-way", "kernel 6.1.0-18-amd64", "NumPy 2.4.6"):
            assert fact in text
        assert text.count("-Wsome") == 60
        assert text.count("do this") == 30


def test_this_machine() -> None:
    host = lab.host()
    assert host.numpy == np.__version__
    assert host.page_size == os.sysconf("SC_PAGESIZE")
    assert host.unit in {"tsc_ticks", "cntvct_ticks", "ns"}
    assert host.hz > 1e6
    assert host.step > 0
    assert host.kernel == os.uname().release
    assert host.compiler.startswith(("gcc", "clang"))
    assert "-O3" in host.flags
    info = Path("/proc/cpuinfo").read_text()
    assert host.cpu == "unknown" or host.cpu in info
    assert asdict(host)["cpu"] == host.cpu


@pytest.mark.parametrize(
    ("files", "best"),
    [
        ({}, 3),
        ({"cpu1/cpu_capacity": 1024, "cpu2/cpu_capacity": 1024, "cpu3/cpu_capacity": 400}, 2),
        ({f"cpu{n}/cpufreq/cpuinfo_max_freq": hz for n, hz in enumerate((5200, 5200, 3900, 3900))}, 1),
        ({"cpu3/cpu_capacity": "nonsense"}, 3),
    ],
)
def test_the_fastest_kind_of_core_is_taken(files: dict[str, object], best: int, tmp_path: Path) -> None:
    for name, value in files.items():
        path = tmp_path / "sys/devices/system/cpu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    assert best_processor({0, 1, 2, 3}, tmp_path) == best
