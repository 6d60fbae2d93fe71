"""What is linked beside a function: it is part of the hash, it is found from here, and what it is like is not
guessed.
"""

from __future__ import annotations

import runpy
import shlex
import subprocess
from pathlib import Path

import pytest

from fastcksum import _core, kernels, lab
from fastcksum.lab import _count
from fastcksum.lab._bench import links
from fastcksum.lab._build.unit import source_root
from fastcksum.lab._machine import callgrind
from fastcksum.lab._machine.compilers import as_built

ROOT = Path(__file__).parent.parent

INNER = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
uint32_t inner(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;
    for (; len > 1; len -= 2, p += 2) {
        uint16_t word;
        memcpy(&word, p, 2);
        total += word;
        SLOWLY
    }
    if (len) {
        uint16_t word = 0;
        memcpy(&word, p, 1);
        total += word;
    }
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return (uint32_t)total;
}
"""
OUTER = """
#include <stddef.h>
#include <stdint.h>
extern uint32_t inner(const void *buf, size_t len, uint32_t sum);
uint32_t outer(const void *buf, size_t len, uint32_t sum) { return inner(buf, len, sum); }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder we are in: two objects and two archives of one function, one quick and one slow."""
    monkeypatch.chdir(tmp_path)
    for name, slowly in (("quick", ""), ("slow", '__asm__ volatile("" ::: "memory"); total += 0;')):
        (tmp_path / f"{name}.c").write_text(INNER.replace("SLOWLY", slowly))
        subprocess.run(["gcc", "-O2", "-fPIC", "-c", f"{name}.c"], check=True)
        subprocess.run(["ar", "rcs", f"lib{name}.a", f"{name}.o"], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("quick", "slow"),
    [(["quick.o"], ["slow.o"]), (["-L.", "-lquick"], ["-L.", "-lslow"]), (["libquick.a"], ["libslow.a"])],
)
@pytest.mark.usefixtures("folder")
def test_builds_that_differ_in_a_linked_object_only_are_two(quick: list[str], slow: list[str]) -> None:
    found = lab.matrix(
        OUTER,
        ["gcc"],
        optimisations=(["-O3", *quick], ["-O3", *slow]),
        targets=("",),
        frame_pointer=(None,),
        sizes=(100,),
        rounds=2,
    )
    assert [row.status for row in found.rows] == ["timed", "timed"]
    assert len({row.code_sha256 for row in found.rows}) == 2
    assert found.sweep is not None
    assert len(found.sweep.plan.kernels) == 3  # the two and the overhead
    assert [(row.code_bytes, row.vector_bits) for row in found.rows] == [(None, None)] * 2


@pytest.mark.usefixtures("folder")
def test_the_same_object_is_the_same_code_by_any_name() -> None:
    by_path = lab.compile_kernel(OUTER, flags=("-O3", "libquick.a"))
    by_name = lab.compile_kernel(OUTER, flags=("-O3", "-L.", "-lquick"))
    assert by_path.code_sha256 == by_name.code_sha256
    assert (by_path.code_bytes, by_path.vectorised) == (None, None)


def test_an_object_that_is_built_anew_is_other_code(folder: Path) -> None:
    first = lab.compile_kernel(OUTER, flags=("quick.o",))
    (folder / "slow.o").replace(folder / "quick.o")
    assert lab.compile_kernel(OUTER, flags=("quick.o",)).code_sha256 != first.code_sha256


@pytest.mark.usefixtures("folder")
def test_a_library_that_is_not_called_changes_nothing() -> None:
    alone = lab.compile_kernel(INNER.replace("SLOWLY", ""), flags=("-O3",))
    beside = lab.compile_kernel(INNER.replace("SLOWLY", ""), flags=("-O3", "-L.", "-lslow", "-lm"))
    assert beside.code_sha256 == alone.code_sha256
    assert beside.code_bytes == alone.code_bytes is not None


def test_one_str_is_not_a_sequence_of_flags() -> None:
    with pytest.raises(TypeError, match=r"optimisations must be a sequence, not one str: \('-O3',\)"):
        lab.matrix("dpdk_after", ["gcc"], optimisations="-O3")
    with pytest.raises(
        TypeError, match=r"each of optimisations is a sequence of options, not one str: \('-O3',\)"
    ):
        lab.matrix("dpdk_after", ["gcc"], optimisations=("-O3",))


# The command that compiled the extension may have words of its own: CC="ccache gcc"


def test_a_compiler_of_several_words_is_used_wherever_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = _core.build_facts()
    plain = shlex.split(facts["command"])
    monkeypatch.setattr(
        _core, "build_facts", lambda: {**facts, "command": shlex.join(["env", "-u", "NO SUCH", *plain])}
    )
    assert as_built() == (("env", "-u", "NO SUCH", *plain), tuple(shlex.split(facts["flags"])))
    kernel = next(kernel for kernel in kernels() if kernel.name == "portable64")
    assert links.compiled(kernel).command[:3] == ("env", "-u", "NO SUCH")
    callgrind._driver.cache_clear()
    callgrind._driver(source_root())
    callgrind._driver.cache_clear()
    assert _count._object_of(kernel)


@pytest.mark.parametrize(
    ("cc", "words", "command", "flags"),
    [
        ("gcc", "gcc -O2 -fPIC", "gcc", "-O2 -fPIC"),
        ("ccache gcc", "ccache gcc -O2", "ccache gcc", "-O2"),
        ("gcc -m64", "gcc -m64 -O2", "gcc -m64", "-O2"),
        ("env -u X gcc", "env -u X gcc -O2 -DX='a b'", "env -u X gcc", "-O2 -DX='a b'"),
        ("clang-19", "gcc -O2", "gcc", "-O2"),
    ],
)
def test_setup_tells_the_command_from_its_flags(
    cc: str, words: str, command: str, flags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", cc)
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    monkeypatch.chdir(ROOT)
    script = runpy.run_path("setup.py")
    assert script["command_and_flags"](shlex.split(words)) == (shlex.split(command), shlex.split(flags))
