"""installed(): the real functions against the oracle and against ours; dpdk_test(): how it runs and reads dpdk-test."""

from __future__ import annotations

import functools
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from test_compile import oracle

import fastcksum
from fastcksum import lab, raw_cksum
from fastcksum.lab import _dpdk_test
from fastcksum.lab._build import compiler as _compile
from fastcksum.lab._build import packages as _installed
from fastcksum.lab._build import unit
from fastcksum.lab._build.admission import KernelError
from fastcksum.lab._build.packages import installed, not_installed
from fastcksum.lab._dpdk_test import dpdk_test

DATA = Path(__file__).parent / "data"
RECORDED = DATA / "dpdk_test_22.11.11.txt"

needs_gcc = pytest.mark.needs_tool("gcc")
LIBRARIES = [
    pytest.param("inet_chksum", 0, 65535, marks=pytest.mark.needs_tool("liblwip-dev"), id="lwIP"),
    pytest.param("libnet_in_cksum", 0, 65535, marks=pytest.mark.needs_tool("libnet1-dev"), id="libnet"),
    pytest.param("ip_cksum_add", 2, 65535, marks=pytest.mark.needs_tool("libdumbnet-dev"), id="libdumbnet"),
]


@functools.cache
def all_of(*flags: str) -> list[fastcksum.Kernel]:
    return installed(flags=flags)


def the(function: str, *flags: str) -> _compile.CompiledKernel:
    kernels = all_of(*(flags or ("-O3",)))
    found = next(kernel for kernel in kernels if kernel.name.startswith(f"{function} "))
    assert isinstance(found, _compile.CompiledKernel)
    return found


def package_version(package: str) -> str:
    command = ["dpkg-query", "-W", "-f=${Version}", package]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def fills(size: int) -> dict[str, bytes]:
    return {
        "zeros": bytes(size),
        "ones": b"\xff" * size,
        "random": random.Random(7).randbytes(size),
        "carries": (b"\xff" * 62 + b"\x01\x00") * (size // 64 + 1),
    }


# DPDK's header


@needs_gcc
@pytest.mark.needs_tool("libdpdk-dev")
@pytest.mark.parametrize("flags", [("-O2",), ("-O3",)], ids=" ".join)
def test_ours_in_the_manner_of_dpdk_returns_what_dpdk_returns(flags: tuple[str, ...]) -> None:
    real = the("__rte_raw_cksum", *flags)
    ours = [kernel for kernel in fastcksum.kernels() if kernel.name in {"dpdk_before", "dpdk_after"}]
    assert len(ours) == 2
    starts = (0, 1, 0xFFFF, 0xFFFF_FFFF)
    for name, data in fills(2104).items():
        for length in range(2101):
            offset, start = length % 3, starts[length % 4]  # each pair comes up with each length modulo 12
            part = memoryview(data)[offset : offset + length]
            expected = real.partial(part, start)
            for kernel in ours:
                assert kernel.partial(part, start) == expected, (kernel.name, name, offset, length, start)


@needs_gcc
@pytest.mark.needs_tool("libdpdk-dev")
def test_the_sum_of_dpdk_is_kept_modulo_2_to_the_32() -> None:
    real = the("__rte_raw_cksum")
    ours = next(kernel for kernel in fastcksum.kernels() if kernel.name == "dpdk_before")
    data = b"\xff" * 200_001
    for length in (65536, 131072, 131074, 131076, 200_001):
        words = length // 2 * 0xFFFF + (length % 2) * struct.unpack("=H", b"\xff\0")[0]
        assert real.partial(data[:length]) == words % 2**32 == ours.partial(data[:length])
    assert real.max_len == 131072
    assert raw_cksum(data[:131072], 0xFFFF, kernel=real) == 0xFFFF


@needs_gcc
@pytest.mark.needs_tool("libdpdk-dev")
def test_what_stands_in_a_header_is_compiled_and_known() -> None:
    real = the("__rte_raw_cksum", "-O3")
    version = package_version("libdpdk-dev")
    assert real.name == f"__rte_raw_cksum of DPDK {version.split('-')[0]} [{real.compiler} -O3]"
    assert real.origin == f"DPDK __rte_raw_cksum, libdpdk-dev {version}, out of its header; unchanged"
    assert real.role == "peer"
    assert real.symbol == "__rte_raw_cksum"
    assert "call" not in real.assembly
    assert real.vectorised is True
    assert the("__rte_raw_cksum", "-O2").vectorised is False
    assert real.code_bytes
    assert "-O3" in real.command


@needs_gcc
@pytest.mark.needs_tool("libdpdk-dev")
def test_the_header_is_found_without_pkg_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_installed, "ask", lambda _: None)
    real = installed()[0]
    assert raw_cksum(b"abc", kernel=real) == oracle(b"abc")
    assert real.origin is not None
    assert "libdpdk-dev of unknown version" in real.origin


# libraries


@needs_gcc
@pytest.mark.parametrize(("function", "shortest", "longest"), LIBRARIES)
def test_a_librarys_function_is_right_within_its_limits(function: str, shortest: int, longest: int) -> None:
    kernel = the(function)
    assert (kernel.min_len, kernel.max_len) == (shortest, longest)
    for data in fills(longest + 1).values():
        for length in (*range(shortest, 70), 1499, 1500, longest - 1, longest):
            for start in (0, 0xFFFF):
                part = memoryview(data)[length % 2 :][:length]
                assert raw_cksum(part, start, kernel=kernel) == oracle(bytes(part), start), (length, start)


@needs_gcc
@pytest.mark.parametrize(("function", "shortest", "longest"), LIBRARIES)
def test_beyond_its_limit_a_librarys_sum_is_wrong(function: str, shortest: int, longest: int) -> None:
    kernel = the(function)
    data = b"\xff" * longest + b"\xfe"
    assert kernel.partial(data, 0xFFFF) % 0xFFFF != oracle(data, 0xFFFF) % 0xFFFF


@needs_gcc
@pytest.mark.needs_tool("libdumbnet-dev")
def test_below_two_bytes_libdumbnet_reads_what_it_was_not_given() -> None:
    adapter = (unit.source_root() / "adapters" / "libdumbnet.c").read_text()
    assert ".min_len = 2" in adapter
    for shortest in (0, 1):
        text = adapter.replace(".min_len = 2", f".min_len = {shortest}")
        with pytest.raises(KernelError, match=r"dies of SIGSEGV at a length of at most|is wrong at"):
            lab.compile_kernel(text, flags=("-O3", "-ldumbnet"))


@needs_gcc
@pytest.mark.parametrize(("function", "shortest", "longest"), LIBRARIES)
def test_of_a_librarys_code_nothing_is_claimed(function: str, shortest: int, longest: int) -> None:
    kernel = the(function)
    assert (kernel.vectorised, kernel.code_bytes, kernel.code_sha256) == (None, None, None)
    assert kernel.origin is not None
    assert kernel.origin.endswith("called in its library; unchanged")
    package = next(package for package in _installed.PACKAGES if package.function == function)
    assert f"{package.debian} {package_version(package.debian)}," in kernel.origin
    assert package.libraries[0] in kernel.built.flags


@needs_gcc
@pytest.mark.needs_tool("liblwip-dev", "libdpdk-dev")
def test_the_real_things_can_be_swept_at_several_places() -> None:
    kernels = [the("inet_chksum"), the("__rte_raw_cksum")]
    sweep = lab.sweep(kernels, (20, 65535, 65536), 0, form="dpdk", rounds=1, placements=4)
    assert sweep.plan.placements == 4
    assert {(row.kernel, row.size) for row in sweep.table()} == {
        *((kernels[0].name, size) for size in (20, 65535)),
        *((kernels[1].name, size) for size in (20, 65535, 65536)),
    }
    assert sweep.plan.left_out == (
        f"{kernels[0].name} at 65536 bytes: it is right for 0 to 65535 bytes only",
    )


# what is not here


@needs_gcc
def test_what_is_not_installed_comes_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    package = _installed._Package("Nowhere", "f", "nowhere.c", "no/such/header.h", "libnowhere-dev")
    monkeypatch.setattr(_installed, "PACKAGES", (package,))
    assert installed() == []
    assert not_installed() == {"f": "Nowhere is not installed: apt install libnowhere-dev"}


@needs_gcc
def test_what_is_installed_and_does_not_compile_is_in_the_compilers_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = _installed._Package(
        "Libc", "f", "callgrind_driver.c", "stdio.h", "libc6-dev", libraries=("-lc",)
    )
    broken = _installed._Package("Libc", "g", "no_such_adapter.c", "stdio.h", "libc6-dev")
    monkeypatch.setattr(_installed, "PACKAGES", (package,))
    with pytest.raises(ValueError, match="defines no function"):
        installed()
    monkeypatch.setattr(_installed, "PACKAGES", (broken,))
    with pytest.raises(FileNotFoundError):
        installed()
    monkeypatch.setattr(_installed, "compile_kernel", refuse)
    monkeypatch.setattr(_installed, "PACKAGES", (package,))
    assert installed() == []
    assert not_installed()["f"] == f"Libc {package_version('libc6-dev')} is installed, but: it says no"


def refuse(*_: object) -> None:
    raise lab.CompileError("it says no")


@needs_gcc
def test_every_function_is_there_or_said_not_to_be() -> None:
    names = {kernel.name.split(" ")[0] for kernel in installed()}
    missing = set(not_installed())
    assert names | missing == {package.function for package in _installed.PACKAGES}
    assert not names & missing


def test_a_missing_compiler_is_not_a_missing_package() -> None:
    with pytest.raises(lab.CompileError, match="compiler 'no-such-cc' is not on the PATH"):
        installed("no-such-cc")


def test_every_adapter_has_its_package() -> None:
    folder = unit.source_root() / "adapters"
    names = {path.name for path in folder.glob("*.c")} - {"callgrind_driver.c"}
    assert names == {package.adapter for package in _installed.PACKAGES}


# dpdk-test


def put_on_path(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell script in the place of dpdk-test."""
    program = folder / "dpdk-test"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_recorded_run_is_read_to_its_last_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(
        tmp_path,
        f'cat > "{tmp_path}/input"; echo "$@" > "{tmp_path}/arguments"; env > "{tmp_path}/env"\n'
        f'echo "EAL: Detected CPU lcores: 2" >&2\ncat "{RECORDED}"',
        monkeypatch,
    )
    monkeypatch.setenv("DPDK_TEST", "another_autotest")
    said: list[tuple[int, int]] = []
    frame = dpdk_test(2, progress=lambda done, total: said.append((done, total)))
    assert list(frame.columns) == ["run", "alignment", "size", "cycles_per_block", "cycles_per_byte"]
    assert said == [(1, 2), (2, 2)]
    assert frame.run.tolist() == [1] * 12 + [2] * 12
    first = frame[frame.run == 1].drop(columns="run")
    assert first.values.tolist() == [
        ["aligned", 20, 55.3, 2.77],
        ["unaligned", 20, 53.3, 2.67],
        ["aligned", 21, 51.4, 2.45],
        ["unaligned", 21, 52.4, 2.50],
        ["aligned", 100, 173.6, 1.74],
        ["unaligned", 100, 142.9, 1.43],
        ["aligned", 101, 169.5, 1.68],
        ["unaligned", 101, 168.9, 1.67],
        ["aligned", 1500, 1225.2, 0.82],
        ["unaligned", 1500, 1322.8, 0.88],
        ["aligned", 1501, 1167.4, 0.78],
        ["unaligned", 1501, 1395.2, 0.93],
    ]
    assert (tmp_path / "input").read_text() == "cksum_perf_autotest\nquit\n"
    arguments = (tmp_path / "arguments").read_text().split()
    assert {"--no-huge", "--no-pci", "--no-telemetry"} <= set(arguments)
    assert arguments[arguments.index("-m") + 1] == "256"
    lcore, processor = arguments[arguments.index("--lcores") + 1].split("@")
    assert lcore == "0"
    assert int(processor) in os.sched_getaffinity(0)
    assert "DPDK_TEST" not in (tmp_path / "env").read_text()
    assert frame.attrs["command"].startswith("dpdk-test --no-huge")
    assert frame.attrs["interrupted"] is False


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            'cat >/dev/null; echo "EAL: no memory" >&2; exit 1',
            r"ended with status 1 and without a table:\nEAL: no memory",
        ),
        (
            'cat >/dev/null; echo "Command not found"',
            r"ended with status 0 and without a table:\nCommand not found",
        ),
        ("cat >/dev/null; echo Test OK", r"printed a table that can't be read:\nTest OK"),
        ("sleep 60", r"did not end within 0\.2 s"),
    ],
)
def test_a_run_that_fails_is_in_its_words(
    script: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(tmp_path, script.replace("sleep", "exec sleep"), monkeypatch)
    if "sleep" in script:
        monkeypatch.setattr(_dpdk_test, "TEST_SECONDS", 0.2)
    with pytest.raises(RuntimeError, match=words):
        dpdk_test(1)


def test_ctrl_c_keeps_the_runs_that_were_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(tmp_path, f'cat >/dev/null; cat "{RECORDED}"', monkeypatch)

    def stop_after_two(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    frame = dpdk_test(5, progress=stop_after_two)
    assert frame.run.unique().tolist() == [1, 2]
    assert frame.attrs["interrupted"] is True

    def stop_at_once(command: tuple[str, ...]) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(_dpdk_test, "_run_test", stop_at_once)
    with pytest.raises(KeyboardInterrupt):
        dpdk_test(5)


def test_without_dpdk_test_its_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(FileNotFoundError, match=r"dpdk-test is not installed: apt install dpdk-dev"):
        dpdk_test(1)
    with pytest.raises(ValueError, match="runs must be at least 1, not 0"):
        dpdk_test(0)


@pytest.mark.needs_tool("dpdk-test")
def test_the_real_dpdk_test_runs_and_is_read() -> None:
    frame = dpdk_test(1)
    assert len(frame) == 12
    assert sorted(frame["size"].unique()) == [20, 21, 100, 101, 1500, 1501]
    assert set(frame.alignment) == {"aligned", "unaligned"}
    assert (frame.cycles_per_block > 0).all()
    assert frame.attrs["version"] == package_version("dpdk-dev")
