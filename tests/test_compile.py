"""compile_kernel(): what it takes, what it refuses and in which words, and what it says about the code."""

from __future__ import annotations

import os
import platform
import shutil
import struct
import subprocess
import sys
import textwrap
from mmap import PAGESIZE
from pathlib import Path
from typing import Any

import pytest
from recorded_cpus import RECORDED

import fastcksum
from fastcksum import _core, kernels, lab, raw_cksum
from fastcksum.lab._build import admission, unit
from fastcksum.lab._build import assembly as _assembly
from fastcksum.lab._build import c_source as _c_source
from fastcksum.lab._build import compiler as _compile
from fastcksum.lab._build import features as _features
from fastcksum.lab._build.c_source import SIZE_T
from fastcksum.lab._build.elf import ElfObject
from fastcksum.lab._machine import compilers as command

pytestmark = pytest.mark.needs_tool("gcc")

needs_clang = pytest.mark.needs_tool("clang-19")
COMPILERS = [pytest.param("gcc", id="gcc"), pytest.param("clang-19", marks=needs_clang, id="clang")]

HEADERS = "#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n"
GOOD = (
    HEADERS
    + """
/* uint32_t decoy(const void *buf, size_t len, uint32_t sum) { is in a comment } */
static uint32_t shorten(uint64_t total) { return (uint32_t)(total >> 32) + (uint32_t)total; }

uint32_t good(const void *buf, size_t len, uint32_t sum)
{
    const unsigned char *p = buf;
    uint64_t total = sum;
    uint16_t word;
    for (; len > 1; len -= 2, p += 2) {
        memcpy(&word, p, sizeof word);
        total += word;
    }
    if (len != 0) {
        word = 0;
        memcpy(&word, p, 1);
        total += word;
    }
    return shorten(total);
}
"""
)


def function(body: str, name: str = "f") -> str:
    return f"{HEADERS}uint32_t {name}(const void *buf, size_t len, uint32_t sum)\n{{\n    {body}\n}}\n"


def oracle(data: bytes, start: int = 0) -> int:
    """The raw sum in plain Python."""
    words = struct.unpack(f"={len(data) // 2 + len(data) % 2}H", data + b"\0" * (len(data) % 2))
    total = start + sum(words)
    return 0xFFFF if total and total % 0xFFFF == 0 else total % 0xFFFF


# what it makes


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_text_becomes_a_kernel(compiler: str) -> None:
    kernel = lab.compile_kernel(GOOD, compiler)
    data = bytes(range(256)) * 9 + b"\xff"
    assert raw_cksum(data, 5, kernel=kernel) == oracle(data, 5)
    assert raw_cksum(data, offset=1, length=3, kernel=kernel) == oracle(data[1:4])
    assert kernel.symbol == "good"
    assert kernel.name == f"good [{kernel.compiler} -O3]"
    assert (kernel.role, kernel.runs_here, kernel.min_len) == ("peer", True, 0)
    assert kernel.origin == f"the text, compiled here by {kernel.compiler} -O3"
    assert kernel.command[0] == compiler
    assert "-O3" in kernel.command


def test_a_compiled_kernel_can_be_swept() -> None:
    kernel = lab.compile_kernel(GOOD)
    sweep = lab.sweep([kernel, "nothing"], (20,), (0, 1), form="dpdk", rounds=2)
    assert [row.kernel for row in sweep.table()] == [kernel.name] * 2 + ["nothing"] * 2
    assert "Built by:     gcc -O3" in sweep.text()
    assert sweep.plan.kernels[0]["vectorised"] is kernel.vectorised
    assert lab.measure(bytes(64), kernel=kernel, rounds=1).kernel == kernel.name


def test_a_file_may_include_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "body.h").write_text(GOOD)
    source = tmp_path / "patch v2.c"
    source.write_text('#include "body.h"\n')
    kernel = lab.compile_kernel(source, symbol="good")
    assert kernel.origin is not None
    assert kernel.origin.startswith("patch v2.c, compiled here")
    assert raw_cksum(b"abc", kernel=kernel) == oracle(b"abc")


@pytest.mark.parametrize(
    "head",
    [
        "static uint32_t good(",
        "static inline uint32_t good(",
        "__attribute__((noinline, aligned(64))) uint32_t\ngood(",
        "uint32_t good(const void *, size_t, uint32_t);\nextern uint32_t good(",
        "#define SOME(x) \\\n  x {\nunsigned\nint good (",
        'const char *brace = "{"; char quote = \'"\';\nuint32_t good(',
    ],
)
def test_a_function_is_found_however_it_is_written(head: str) -> None:
    assert lab.compile_kernel(GOOD.replace("uint32_t good(", head)).symbol == "good"


def test_flags_reach_the_compiler() -> None:
    text = GOOD.replace("total = sum", "total = sum ARG")
    assert raw_cksum(b"ab", kernel=lab.compile_kernel(text, flags=("-O1", "-DARG="))) == oracle(b"ab")
    with pytest.raises(ValueError, match="'good' is wrong at 0 bytes"):
        lab.compile_kernel(text, flags=("-O1", "-DARG=+1"))


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("more", [(), ("-flto",)])
def test_flags_of_the_linker_reach_it_behind_the_object(compiler: str, more: tuple[str, ...]) -> None:
    text = "#include <math.h>\n" + GOOD.replace(
        "return shorten(total)", "return shorten(total) + (uint32_t)cbrt((double)((uintptr_t)buf >> 63))"
    )
    kernel = lab.compile_kernel(text, compiler, ("-lm", "-Wl,--no-undefined", "-lc", "-O2", "-Werror", *more))
    assert raw_cksum(b"abcde", kernel=kernel) == oracle(b"abcde")
    with pytest.raises(lab.CompileError, match="cbrt"):
        lab.compile_kernel(text, compiler, ("-Wl,--no-undefined", "-lc", "-O2", *more))


def test_a_compiler_may_be_a_command() -> None:
    kernel = lab.compile_kernel(GOOD, ("env", "LC_ALL=C", "gcc"), ("-O2",))
    assert kernel.command[:4] == ("env", "LC_ALL=C", "gcc", "-O2")
    assert kernel.compiler.startswith("gcc ")


def test_code_is_told_by_its_hash() -> None:
    fast, slow = lab.compile_kernel(GOOD, flags=("-O3",)), lab.compile_kernel(GOOD, flags=("-O0",))
    assert fast.code_sha256 != slow.code_sha256
    assert fast.code_bytes
    assert slow.code_bytes


def test_the_code_is_that_of_the_object_file(tmp_path: Path) -> None:
    kernel = lab.compile_kernel(GOOD)
    text = "\n".join(["#define CKSUM_KERNEL_VISIBILITY", *unit._opening("good", SIZE_T), GOOD])
    (tmp_path / "unit.c").write_text(text)
    subprocess.run(["gcc", "-O3", "-fPIC", "-c", "unit.c"], cwd=tmp_path, check=True)
    subprocess.run(
        ["objcopy", "-O", "binary", "-j", "cksum_code_good", "unit.o", "code"], cwd=tmp_path, check=True
    )
    assert kernel.code_bytes == len((tmp_path / "code").read_bytes())


def test_the_same_build_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = lab.compile_kernel(GOOD)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(_compile, "try_out", never)
    assert lab.compile_kernel(GOOD) is first
    with pytest.raises(AssertionError):
        lab.compile_kernel(GOOD, max_len=99)


# the package's own kernels


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", [kernel.name for kernel in kernels() if kernel.runs_here])
def test_every_shipped_kernel_can_be_compiled(name: str, compiler: str) -> None:
    kernel = lab.compile_kernel(lab.kernel_source(name), compiler)
    built_in = next(each for each in kernels() if each.name == name)
    assert kernel.symbol == name
    assert (kernel.role, kernel.needs, kernel.min_len, kernel.max_len, kernel.summary) == (
        built_in.role,
        built_in.needs,
        built_in.min_len,
        built_in.max_len,
        built_in.summary,
    )
    if kernel.role != "yardstick":
        assert raw_cksum(b"\x01\x02\x03", kernel=kernel) == oracle(b"\x01\x02\x03")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_vectorised_is_what_was_published(compiler: str) -> None:
    before = lab.compile_kernel(lab.kernel_source("dpdk_before"), compiler)
    after = lab.compile_kernel(lab.kernel_source("dpdk_after"), compiler)
    assert before.vectorised is (compiler == "gcc")
    assert after.vectorised is True
    assert (after.vector_bits, after.registers) == (128, "vector")
    assert before.vector_bits == (128 if compiler == "gcc" else 0)
    assert before.registers == ("vector" if compiler == "gcc" else "general")
    assert ("padd" in before.assembly) is before.vectorised
    assert "cksum_loop" not in after.assembly


def test_gcc_o2_vectorises_neither() -> None:
    for name in ("dpdk_before", "dpdk_after"):
        kernel = lab.compile_kernel(lab.kernel_source(name), "gcc", ("-O2",))
        assert (kernel.vectorised, kernel.vector_bits, kernel.registers) == (False, 0, "general")


def test_wider_vectors_are_seen() -> None:
    # built, not run: the CPU may lack them
    built = _compile.build(lab.kernel_source("dpdk_after"), "gcc", ("-O3", "-march=x86-64-v3"))
    assert built.vector_bits == 256


def test_what_cannot_run_here_is_built_and_never_called() -> None:
    foreign = "CKSUM_CPU_NEON" if platform.machine() == "x86_64" else "CKSUM_CPU_AVX2"
    text = (
        '#include "kernels/kernel.h"\n'
        "CKSUM_FUNCTION(far)(const void *buf, size_t len, uint32_t sum)\n"
        "{ (void)buf; (void)len; (void)sum; __builtin_trap(); }\n"
        f'CKSUM_KERNEL(far, .summary = "s", .role = CKSUM_PEER, .needs = {foreign}, .max_len = SIZE_MAX)\n'
    )
    kernel = lab.compile_kernel(text)
    assert not kernel.runs_here
    with pytest.raises(ValueError, match="can't run here"):
        raw_cksum(b"ab", kernel=kernel)
    with pytest.raises(ValueError, match="can't run here"):
        lab.sweep(kernel)


def test_kernel_source_lists_what_there_is() -> None:
    assert lab.kernel_source("dpdk_before").name == "dpdk_before.c"
    with pytest.raises(ValueError, match=r"'no_such' has no source here; there are: .*avx2.*nothing"):
        lab.kernel_source("no_such")
    with pytest.raises(ValueError, match="'registry' has no source"):
        lab.kernel_source("registry")


def test_sources_are_found_inside_an_installed_package(tmp_path: Path) -> None:
    package = Path(fastcksum.__file__).parent
    installed = tmp_path / "site" / "fastcksum"
    shutil.copytree(package, installed, ignore=shutil.ignore_patterns("_csrc", "__pycache__"))
    shutil.copytree(unit.source_root(), installed / "_csrc")
    code = textwrap.dedent(
        """
        from fastcksum import lab, raw_cksum
        source = lab.kernel_source("dpdk_after")
        print(source)
        print(raw_cksum(b"\\1\\0", kernel=lab.compile_kernel(source)))
        """
    )
    before = sorted(installed.rglob("*"))
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        cwd=tmp_path,
        env={
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPATH": str(installed.parent),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    path, value = done.stdout.split()
    assert Path(path) == installed / "_csrc" / "kernels" / "past" / "dpdk_after.c"
    assert int(value) == oracle(b"\1\0")
    assert sorted(installed.rglob("*")) == before


def test_missing_sources_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "__file__", str(tmp_path / "fastcksum" / "lab" / "_build" / "unit.py"))
    with pytest.raises(
        lab.CompileError, match=r"the C sources are missing beside .*: install fastcksum again"
    ):
        lab.kernel_source("avx2")


def test_what_was_compiled_is_removed_at_the_end() -> None:
    code = (
        "from fastcksum.lab import compile_kernel\n"
        "from fastcksum.lab._machine.scratch import scratch\n"
        f"compile_kernel({GOOD!r})\n"
        "print(scratch())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    folder = Path(done.stdout.strip())
    assert folder.name.startswith("fastcksum-")
    assert not folder.exists()


@pytest.mark.parametrize("end", ["sys.exit(0)", "raise SystemExit", "os._exit(0)"])
def test_a_child_that_is_forked_off_leaves_the_folder_alone(end: str) -> None:
    code = f"""
import os, sys
from fastcksum import lab, raw_cksum
SOURCE = {GOOD!r}
kernel = lab.compile_kernel(SOURCE)
child = os.fork()
if child == 0:
    again = lab.compile_kernel(SOURCE, flags=("-O1",))  # beside what the parent compiles
    if raw_cksum(b"abcd", kernel=again) != raw_cksum(b"abcd"):
        os._exit(3)
    {end}
other = lab.compile_kernel(SOURCE, flags=("-O2",))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert kernel.library.exists() and other.library.exists()
print(lab.sweep([kernel], sizes=(20,), offsets=(0,), rounds=4, placements=4).plan.placements)
print(kernel.library)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    placements, library = done.stdout.split()
    assert placements == "4"
    assert not Path(library).exists()


# inlined at a constant length


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_function_inlined_at_a_length(compiler: str) -> None:
    kernel = lab.compile_kernel(GOOD, compiler, inline_length=20)
    assert (kernel.min_len, kernel.max_len) == (20, 20)
    assert kernel.name == f"good inlined at 20 [{kernel.compiler} -O3]"
    data = bytes(range(100, 121))
    assert raw_cksum(data, length=20, kernel=kernel) == oracle(data[:20])
    assert not list(_assembly.loops_of(kernel.assembly.splitlines()))  # ten words: unrolled and gone
    with pytest.raises(ValueError, match="made for 20 to 20 bytes, not 21"):
        lab.measure(data, kernel=kernel)


def test_a_kernel_of_ours_inlined_at_a_length() -> None:
    kernel = lab.compile_kernel(lab.kernel_source("dpdk_before"), inline_length=7)
    assert kernel.partial(b"\xff" * 7) == 3 * 0xFFFF + struct.unpack("=H", b"\xff\0")[0]
    assert "call" not in kernel.assembly


# the signatures of the two exchanges, as people paste them

CSUM_PARTIAL = """
__wsum csum_partial(const void *buff, int len, __wsum sum)
{
	const u8 *p = buff;
	u64 total = (__force u64)sum;
	u16 word;

	for (; len > 1; len -= 2, p += 2) {
		memcpy(&word, p, sizeof(word));
		total += word;
	}
	if (unlikely(len)) {
		word = 0;
		memcpy(&word, p, 1);
		total += word;
	}
	total = (total >> 32) + (u32)total;
	return (__force __wsum)(total % 0xffff ? total % 0xffff : total ? 0xffff : 0);
}
EXPORT_SYMBOL(csum_partial);
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-O3",), ("-O0",), ("-O2", "-flto")], ids=" ".join)
def test_a_function_of_the_linux_kernel_as_it_stands_there(compiler: str, flags: tuple[str, ...]) -> None:
    kernel = lab.compile_kernel(CSUM_PARTIAL, compiler, flags)
    assert (kernel.symbol, kernel.min_len, kernel.max_len) == ("csum_partial", 0, 2**31 - 1)
    data = bytes(range(256)) * 300 + b"\xff"
    for start in (0, 0xFFFF):
        assert raw_cksum(data, start, kernel=kernel) == oracle(data, start)
    inlined = lab.compile_kernel(CSUM_PARTIAL, compiler, flags, inline_length=40)
    assert (inlined.min_len, inlined.max_len) == (40, 40)
    assert raw_cksum(data[7:47], 3, kernel=inlined) == oracle(data[7:47], 3)


def test_a_function_of_dpdk_as_a_patch_has_it() -> None:
    text = """
static inline uint32_t
__rte_raw_cksum(const void *buf, size_t len, uint32_t sum)
{
	const unaligned_uint16_t *word = buf;
	size_t left = len / 2;

	while (left-- > 0)
		sum += *word++;
	if (unlikely(len % 2)) {
		uint16_t last = 0;
		memcpy(&last, word, 1);
		sum += last;
	}
	return sum;
}
"""
    kernel = lab.compile_kernel(text, max_len=131072)
    assert (kernel.symbol, kernel.max_len, kernel.vectorised) == ("__rte_raw_cksum", 131072, True)
    assert kernel.partial(b"\xff" * 9, 1) == 1 + 4 * 0xFFFF + struct.unpack("=H", b"\xff\0")[0]


@pytest.mark.parametrize(
    ("parameter", "longest"),
    [
        ("int len", 2**31 - 1),
        ("int", 2**31 - 1),
        ("const int len", 2**31 - 1),
        ("unsigned len", 2**32 - 1),
        ("u32 length", 2**32 - 1),
        ("unsigned short n", 65535),
        ("uint16_t", 65535),
        ("ssize_t len", 2**63 - 1),
        ("size_t len", None),
        ("unsigned long len", None),
        ("unsigned long long len", None),
    ],
)
def test_the_type_of_the_length_is_its_limit(parameter: str, longest: int | None) -> None:
    text = function("return 0;").replace("size_t len", parameter)
    fit, other = _c_source.candidates(text)
    assert fit["f"].largest == longest
    assert other == []


@pytest.mark.parametrize("width", ["unsigned short", "unsigned int", "long", "unsigned long long"])
def test_other_lengths_are_called_rightly(width: str) -> None:
    kernel = lab.compile_kernel(GOOD.replace("size_t len", f"{width} len"))
    data = bytes(range(1, 256)) * 257
    assert len(data) == 65535
    assert raw_cksum(data, 7, kernel=kernel) == oracle(data, 7)
    assert kernel.max_len == (65535 if width == "unsigned short" else kernel.max_len)


def test_a_limit_above_that_of_the_type_is_refused() -> None:
    text = GOOD.replace("size_t len", "uint16_t len")
    assert lab.compile_kernel(text, max_len=1500).max_len == 1500
    with pytest.raises(
        ValueError, match=r"max_len must be at most 65535, .*\(unsigned short\) holds, not 65536"
    ):
        lab.compile_kernel(text, max_len=65536)
    with pytest.raises(ValueError, match="inline_length must be at most 65535, the longest that good takes"):
        lab.compile_kernel(text, inline_length=65536)


def test_what_a_source_brings_itself_is_not_supplied(tmp_path: Path) -> None:
    (tmp_path / "types.h").write_text(
        "#include <stdint.h>\ntypedef uint64_t u64; /* not the kernel's unsigned long long */\n"
    )
    source = tmp_path / "patch.c"
    source.write_text(f'#include "types.h"\n#define unlikely(x) (x)\ntypedef uint8_t u8;\n{CSUM_PARTIAL}')
    assert raw_cksum(b"abc", kernel=lab.compile_kernel(source, flags=("-O2", "-Werror"))) == oracle(b"abc")


@pytest.mark.parametrize(
    ("seen", "defined"),
    [
        ("typedef unsigned int u32;", True),
        ("typedef struct { int x; } a; typedef unsigned\n u32 __attribute__((aligned(1)));", True),
        ("#define u32 unsigned", True),
        ("typedef u32 other;", False),
        ("u32 f(u32 x);", False),
        ("#define u32_is_here", False),
    ],
)
def test_what_counts_as_defined(seen: str, defined: bool) -> None:
    assert (_c_source.supplies(["u32"], seen) == "") is defined


# what it refuses


@pytest.mark.parametrize(
    ("body", "place", "values"),
    [
        ("(void)len; return g(buf, 0, sum);", "1 bytes, offset 0 (data: 0xff, start value 0x0)", (0, 0x00FF)),
        (
            "return g(buf, len, sum + (len == 37));",
            "37 bytes, offset 0 (data: zeros, start value 0x0)",
            (1, 0),
        ),
        (
            "return g(buf, len, sum + (len == 1 && (uintptr_t)buf % 2));",
            f"1 bytes, offset {PAGESIZE - 1}, an odd address, ending at a page end (data: zeros, start value 0x0)",
            (1, 0),
        ),
        (
            "return g(buf, len, sum + 2 * ((uintptr_t)buf % 16 == 7 && len == 5));",
            "5 bytes, offset 7, an odd address (data: zeros, start value 0x0)",
            (2, 0),
        ),
        (
            "(void)sum; return g(buf, len, 0);",
            "0 bytes, offset 0 (data: zeros, start value 0xffff)",
            (0, 0xFFFF),
        ),
    ],
)
def test_a_wrong_function_is_named_with_its_first_difference(
    body: str, place: str, values: tuple[int, int]
) -> None:
    text = GOOD.replace("good(", "g(") + function(body).removeprefix(HEADERS)
    got, expected = values
    if expected == 0x00FF and sys.byteorder == "big":
        expected = 0xFF00
    with pytest.raises(ValueError, match=r"'f' is wrong") as error:
        lab.compile_kernel(text, symbol="f")
    assert str(error.value) == f"'f' is wrong at {place}: it gives {got:#06x}, right is {expected:#06x}"


def test_a_sum_that_wraps_is_believed_up_to_its_limit() -> None:
    text = GOOD.replace("uint64_t total", "uint32_t total")
    with pytest.raises(
        ValueError, match=r"wrong at 131074 bytes, .* if its sum wraps beyond, say max_len=131072"
    ):
        lab.compile_kernel(text)
    kernel = lab.compile_kernel(text, max_len=131072)
    assert kernel.max_len == 131072
    assert raw_cksum(b"\xff" * 131072, 0xFFFF, kernel=kernel) == 0xFFFF


def test_the_limit_itself_is_tried() -> None:
    body = "return g(buf, len, len == 5000 ? sum + 1 : sum);"
    text = GOOD.replace("good(", "g(") + function(body).removeprefix(HEADERS)
    with pytest.raises(ValueError, match="wrong at 5000 bytes"):
        lab.compile_kernel(text, symbol="f", max_len=5000)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "return ((const unsigned char *)buf)[len] + sum;",
            "dies of SIGSEGV at a length of at most 0 bytes, offset 0",
        ),
        ("return len == 77 ? *(volatile uint32_t *)0 : g(buf, len, sum);", "a length of at most 128 bytes"),
        ("__builtin_trap();", "dies of SIGILL"),
        ("abort();", "dies of SIGABRT"),
        ("_exit(0);", "ended the process in which it was tried"),
        ("_exit(3);", "could not be tried"),
    ],
)
def test_a_function_that_dies_takes_nothing_with_it(body: str, words: str) -> None:
    extra = "#include <stdlib.h>\n#include <unistd.h>\n"
    text = extra + GOOD.replace("good(", "g(") + function(body).removeprefix(HEADERS)
    with pytest.raises(ValueError, match=words):
        lab.compile_kernel(text, symbol="f")


def test_a_function_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "CPU_SECONDS", 1)
    body = "for (volatile int i = 0;; i++) { } return len;"
    with pytest.raises(ValueError, match=r"dies of SIGXCPU .*did not come to an end within 1 s of CPU time"):
        lab.compile_kernel(function(body))


def test_a_function_that_sleeps_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "WALL_SECONDS", 1)
    with pytest.raises(ValueError, match="did not end within 1 s: it sleeps or waits"):
        lab.compile_kernel("#include <unistd.h>\n" + function("for (;;) pause(); return len;"))


def test_a_call_to_nowhere_is_the_loaders_error() -> None:
    text = HEADERS + "uint32_t elsewhere(void);\n" + function("return elsewhere();").removeprefix(HEADERS)
    with pytest.raises(lab.CompileError, match=r"can't be loaded: .*undefined symbol: elsewhere"):
        lab.compile_kernel(text)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_symbol_that_the_source_does_not_define(compiler: str) -> None:
    with pytest.raises(lab.CompileError, match="the source defines no function 'other'"):
        lab.compile_kernel(GOOD, compiler, symbol="other")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_errors_come_in_the_compilers_words(compiler: str) -> None:
    with pytest.raises(lab.CompileError, match=r"source\.c:6:.*error: .*undeclared.*") as error:
        lab.compile_kernel(function("return missing_name;"), compiler)
    assert "missing_name" in str(error.value)
    assert str(error.value).startswith(f"{compiler} -O3")


def test_the_compiler_judges_the_types() -> None:
    with pytest.raises(lab.CompileError, match=r"conflicting types for .f."):
        lab.compile_kernel(function("return sum;").replace("size_t len", "double len"))


def test_an_object_of_another_kind_is_an_error_of_the_compiler(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\ngcc "$@" || exit\ncase "$*" in *" -c "*) echo bitcode > unit.o;; esac\n')
    compiler.chmod(0o755)
    with pytest.raises(lab.CompileError, match="-O1 makes can't be read: not an ELF-64 object file"):
        lab.compile_kernel(GOOD, str(compiler), ("-O1",))


def test_a_file_is_named_in_the_compilers_words(tmp_path: Path) -> None:
    source = tmp_path / "broken.c"
    source.write_text(function("return missing_name;"))
    with pytest.raises(lab.CompileError, match=r"broken\.c:6:"):
        lab.compile_kernel(source)


def test_a_missing_compiler_is_named_with_those_that_are_here() -> None:
    with pytest.raises(
        lab.CompileError, match=r"compiler 'no-such-cc' is not on the PATH; there are: .*\bgcc\b"
    ):
        lab.compile_kernel(GOOD, "no-such-cc")
    with pytest.raises(lab.CompileError, match="compiler '' is not on the PATH"):
        lab.compile_kernel(GOOD, ())


def test_what_is_no_compiler_is_an_error() -> None:
    with pytest.raises(lab.CompileError, match="false --version failed"):
        lab.compile_kernel(GOOD, "false")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (function("return 0;", "f") + function("return 0;", "g"), "the text has several functions that qualify: f, g"),
        (HEADERS + "int h(char *p, char *q) { return *q; }", "defines no function uint32_t f.*; it defines h"),
        (HEADERS + "uint32_t f(double *p, size_t n, uint32_t s) { return s; }", "it defines f"),
        ("", "the text defines no function"),
        ("int x;", "if a macro makes it, name it: symbol="),
    ],
)  # fmt: skip
def test_it_must_be_clear_which_function_is_meant(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lab.compile_kernel(text)


def test_a_name_of_a_file_is_no_text(tmp_path: Path) -> None:
    source = tmp_path / "good.c"
    source.write_text(GOOD)
    with pytest.raises(ValueError, match=r"a str is C text: for a file pass pathlib\.Path"):
        lab.compile_kernel(str(source))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"symbol": "a b"}, ValueError, "symbol must be the name of a C function, not 'a b'"),
        ({"max_len": -1}, ValueError, "max_len must be a number of bytes, .* not -1"),
        ({"inline_length": -1}, ValueError, "inline_length must be a number of bytes, .* not -1"),
        (
            {"flags": "-O3 -g"},
            TypeError,
            r"flags must be a sequence of options, not one str: \('-O3', '-g'\)",
        ),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lab.compile_kernel(GOOD, **arguments)


def test_a_kernel_of_ours_says_its_own_limit() -> None:
    with pytest.raises(ValueError, match=r"max_len is for plain functions: avx2\.c says itself"):
        lab.compile_kernel(lab.kernel_source("avx2"), max_len=5)


# pure parts


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.",
            "gcc 12.2.0",
        ),
        (
            "cc (GCC) 15.2.1 20250808 (Red Hat)\nCopyright (C) 2025 Free Software Foundation, Inc.",
            "gcc 15.2.1",
        ),
        ("Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64", "clang 19.1.7"),
        ("clang version 18.1.6 (https://github.com/ziglang/zig 98bc6b)\n", "clang 18.1.6"),
        ("mycc 3.4 of today", "cc-name 3.4"),
        ("no number", "cc-name"),
        ("", "cc-name"),
    ],
)
def test_versions(text: str, name: str) -> None:
    assert command.parse_version(text, "cc-name") == name


def test_comments_strings_and_directives_are_no_code() -> None:
    code = _c_source.strip_comments('a /* { */ b // }\n"\\"{" \'{\' #x\n  # define y \\\n {\nc')
    assert code.split() == ["a", "b", '""', "''", "#x", "c"]


def test_what_stands_inside_braces_is_not_outside() -> None:
    assert _c_source.outer_text("a { b { c } d } e {} f }") == "a {} e {} f }"


def test_own_kernels_are_not_those_in_comments() -> None:
    text = "// CKSUM_KERNEL(no)\nCKSUM_KERNEL(yes, .x = 1)\nCKSUM_KERNEL_ABSENT(never)\n"
    assert _c_source.own_kernels(text) == ["yes"]


X86 = """\
\t.type\tf, @function
f:
\txorl\t%eax, %eax
\tcall\thelper
\tjmp\t.L9
.L9:
\tpaddd\t%xmm1, %xmm0
\tret
\t.size\tf, .-f
\t.type\thelper, @function
helper:
.L3:
\tvmovdqu\t(%rdi), %ymm0
\tvpaddd\t%ymm0, %ymm1, %ymm1
\tcmpq\t%rdi, %rsi
\tjne\t.L3
\tret
\t.size\thelper, .-helper
\t.type\tunused, @function
unused:
.L7:
\tvpaddd\t%zmm0, %zmm1, %zmm1
\tjne\t.L7
\t.size\tunused, .-unused
"""


def test_the_loop_of_a_called_function_counts_and_that_of_an_unused_one_does_not() -> None:
    assert _assembly.vector_bits(X86, "f") == 256
    assert _assembly.reached_from(_assembly.functions_of(X86), "f") == ["f", "helper"]
    assert _assembly.vector_bits(X86, "unused") == 512
    assert "zmm" not in _assembly.text_of(X86, "f")


def test_vectors_outside_of_loops_do_not_make_a_vectorised_loop() -> None:
    assert _assembly.vector_bits(X86.replace("\tcall\thelper\n", ""), "f") == 0


def test_a_function_that_is_not_in_the_assembly_is_unknown() -> None:
    assert _assembly.vector_bits(X86, "g") is None
    assert _assembly.text_of(X86, "g") == ""


@pytest.mark.parametrize(
    ("line", "bits"),
    [
        ("\tpaddd\t%xmm1, %xmm0", 128),
        ("\tvpmaddwd\t(%rdi), %ymm2, %ymm3", 256),
        ("\tvpdpwssd\t%zmm0, %zmm1, %zmm2", 512),
        ("\tvpsadbw ymm0, ymm1, ymmword ptr [rdi]", 256),
        ("\tpxor\t%xmm0, %xmm0", 0),
        ("\tmovdqu\t(%rdi), %xmm0", 0),
        ("\taddq\t%rax, %rdx", 0),
        ("\tuadalp\tv0.4s, v1.8h", 128),
        ("\tadd\tv0.2d, v0.2d, v1.2d", 128),
        ("\tadd\tx0, x0, x1", 0),
    ],
)
def test_packed_additions(line: str, bits: int) -> None:
    assert _assembly.added_bits(line) == bits


# link-time optimisation


@pytest.mark.needs_tool("objdump")
@pytest.mark.parametrize("compiler", COMPILERS)
def test_link_time_optimisation_is_seen_in_the_linked_code(compiler: str) -> None:
    for name in ("dpdk_before", "dpdk_after"):
        source = lab.kernel_source(name)
        plain, linked = (
            lab.compile_kernel(source, compiler, flags) for flags in (("-O3",), ("-O3", "-flto"))
        )
        assert "-flto" in linked.name
        assert (linked.vectorised, linked.vector_bits) == (plain.vectorised, plain.vector_bits)
        assert linked.code_bytes == len(_core.describe(linked)["code"] or b"")
        assert "ret" in linked.assembly
        assert "cksum_loop" not in linked.assembly


def test_the_last_word_on_link_time_optimisation_counts() -> None:
    assert _compile._optimises_when_linking(("-O3", "-flto=auto"))
    assert not _compile._optimises_when_linking(("-flto", "-fno-lto"))
    assert not _compile._optimises_when_linking(("-O3",))


def test_a_linker_that_cannot_is_quoted() -> None:
    with pytest.raises(lab.CompileError, match=r"gcc -O3 -flto -fuse-ld=no-such .*ended with status 1"):
        lab.compile_kernel(GOOD, flags=("-O3", "-flto", "-fuse-ld=no-such"))


# what this CPU can't run


def test_what_the_flags_ask_for_and_the_cpu_lacks_is_never_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(_compile, "try_out", never)
    monkeypatch.setattr(_core, "load_kernel", never)
    monkeypatch.setattr(_features, "features_here", lambda: frozenset({"pni", "ssse3"}))
    with pytest.raises(
        admission.KernelError, match=r"'good' was built for .*avx2, .*which this CPU lacks: it is not run"
    ):
        lab.compile_kernel(GOOD, flags=("-O3", "-mavx2"))
    built = _compile.build(GOOD, flags=("-O3", "-march=x86-64-v3"))
    assert {"avx2", "bmi2", "fma", "abm"} <= set(built.missing)
    assert "ssse3" not in built.missing
    assert built.vector_bits == 256
    assert built.code_bytes


def test_what_native_asks_for_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here = _features.parse(Path("/proc/cpuinfo").read_text())
    monkeypatch.setattr(
        _features, "features_here", lambda: here
    )  # the real one, also where the suite plays another
    assert _compile.build(GOOD, flags=("-O3", "-march=native")).missing == ()


CPUINFO = """\
processor	: 0
flags		: fpu sse2 pni avx2 avx512f
processor	: 1
flags		: fpu sse2 pni avx2
"""


def test_features_are_those_that_every_cpu_has() -> None:
    assert _features.parse(CPUINFO) == {"fpu", "sse2", "pni", "avx2"}
    assert _features.parse("no such line") == frozenset()


@pytest.mark.parametrize(
    ("cpu", "lacks"),
    [
        ("zen3", "avx512"),
        ("zen5", ""),
        ("sapphire_rapids", ""),
        ("no_avx", "abm avx avx2 bmi1 bmi2 f16c fma movbe avx512"),
    ],
)
def test_each_recorded_cpu_lacks_what_x86_64_v4_asks_for_and_it_has_not(cpu: str, lacks: str) -> None:
    avx512 = ["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"]
    expected = [name for word in lacks.split() for name in (avx512 if word == "avx512" else [word])]
    macros = command.macros(("gcc",), ("-march=x86-64-v4",))
    assert _features.missing(macros, RECORDED[cpu].flags) == tuple(sorted(expected))


def test_missing_features_are_named_as_the_system_names_them() -> None:
    names = "__x86_64__", "__SSE3__", "__AVX512F__", "__LZCNT__", "__OPTIMIZE__"
    macros = "".join(f"#define {name} 1\n" for name in names)
    assert _features.missing(macros, _features.parse(CPUINFO)) == ("abm", "avx512f")
    assert _features.missing(macros.replace("x86_64", "aarch64"), _features.parse(CPUINFO)) == ()
    assert _features.missing(macros, frozenset()) == ()  # the system doesn't tell


# the hash of the code


def test_the_same_code_has_the_same_hash_wherever_it_is_linked(tmp_path: Path) -> None:
    source = tmp_path / "a_file_of_another_name.c"
    source.write_text(GOOD)
    other_place = lab.compile_kernel(source)
    kernel = lab.compile_kernel(GOOD)
    assert kernel.origin != other_place.origin
    assert kernel.code_sha256 == other_place.code_sha256
    naming_itself = "#include <stdio.h>\n" + GOOD.replace(
        "if (len != 0) {", "if ((uintptr_t)buf == 1) puts(__FILE__);\nif (len != 0) {"
    )
    source.write_text(naming_itself)
    assert _compile.build(source).code_sha256 == _compile.build(naming_itself).code_sha256
    with_debugging = lab.compile_kernel(GOOD, flags=("-O3", "-g"))
    assert kernel.code_sha256 == with_debugging.code_sha256


def test_a_constant_and_a_called_function_are_part_of_the_code() -> None:
    def sha256(text: str) -> str:
        return _compile.build(text, flags=("-O2",), symbol="f").code_sha256

    calling = GOOD.replace("uint32_t good", "__attribute__((noinline)) static uint32_t good")
    body = "return good(buf, len, sum);"
    text = calling + function(body).removeprefix(HEADERS)
    assert sha256(text) == sha256(text.replace("total = sum", "total = sum + 0"))
    assert sha256(text) != sha256(text.replace("total = sum", "total = sum + 1"))
    table = "static const uint32_t table[4] = {1, 2, 3, 4};\n"
    body = "return good(buf, len, sum) + table[len & 3];"
    text = table + calling + function(body).removeprefix(HEADERS)
    text = text.replace("static const uint32_t", "#include <stdint.h>\nstatic const volatile uint32_t")
    assert sha256(text) == sha256(text + "const char *text_beside = __FILE__;\n")
    assert sha256(text) != sha256(text.replace("{1, 2, 3, 4}", "{1, 2, 3, 5}"))


def test_an_object_is_read_as_objcopy_reads_it(tmp_path: Path) -> None:
    built = _compile.build(GOOD)
    command = ["objcopy", "-O", "binary", "-j", "cksum_code_good", str(built.folder / "unit.o"), "code"]
    subprocess.run(command, cwd=tmp_path, check=True)
    code = (tmp_path / "code").read_bytes()
    assert ElfObject((built.folder / "unit.o").read_bytes()).code("cksum_code_good") == code
    with pytest.raises(ValueError, match="the object has no section cksum_code_other"):
        ElfObject((built.folder / "unit.o").read_bytes()).code("cksum_code_other")
    with pytest.raises(ValueError, match="not an ELF-64 object file"):
        ElfObject(b"BC\xc0\xde" * 20)


LISTING = """
kernel.so:     file format elf64-x86-64

Disassembly of section .text:

0000000000001000 <helper>:
    1000:\tpaddd  %xmm1,%xmm0
    1004:\tcmp    %rdi,%rsi
    1007:\tjne    1000 <helper>
    1009:\tret

Disassembly of section cksum_code_f:

0000000000002000 <f>:
    2000:\tlea    0x10(%rip),%rdi        # 2017 <f+0x17>
    2007:\tcall   1000 <helper>
    200c:\tvpaddd %ymm0,%ymm1,%ymm1
    2010:\tjne    200c <f+0xc>
    2012:\tret
"""


def test_a_listing_is_read_as_assembly() -> None:
    assembly = _assembly.from_objdump(LISTING)
    assert "\n.L200c:\n" in assembly
    assert "\tjne    .L200c\n" in assembly
    assert _assembly.vector_bits(assembly, "f") == 256
    assert _assembly.vector_bits(assembly, "helper") == 128
    assert _assembly.reached_from(_assembly.functions_of(assembly), "f") == ["f", "helper"]
