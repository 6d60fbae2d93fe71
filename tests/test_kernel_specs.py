"""A kernel as an author has it: a file, a revision, a function with another signature, an object, standard input."""

from __future__ import annotations

import dataclasses
import io
import subprocess
from typing import TYPE_CHECKING

import pytest
from oracle import raw_sum

from fastcksum import lab, raw_cksum
from fastcksum.cli import main
from fastcksum.lab._build.c_source import adaptable, missing_header
from fastcksum.lab._build.revision import export
from fastcksum.lab._build.spec import is_spec

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.needs_tool("gcc")

HEADER = "#include <linux/no_such.h>\nstatic inline u16 load(const void *p) { u16 w; memcpy(&w, p, 2); return w; }\n"
KERNEL = """\
#include <asm/no_such_either.h>
#include "word.h"
__wsum csum_partial(const void *buff, int len, __wsum sum)
{
    const unsigned char *p = buff;
    u64 total = sum;
    for (; len >= 2; len -= 2, p += 2)
        total = add64_with_carry(total, load(p));
    if (len)
        total += *p;
    total = (total >> 32) + (total & 0xffffffff);
    return add32_with_carry(total >> 32, (u32)total);
}
EXPORT_SYMBOL_GPL(csum_partial);
"""
BODY = """\
{
    uint64_t total = 0;
    for (; len > 1; len -= 2, p += 2)
        total += WORD;
    if (len)
        total += LAST;
    while (total >> 16)
        total = (total >> 16) + (total & 0xffff);
    return RESULT;
}
"""
HOST, NETWORK = ("p[0] | p[1] << 8", "*p"), ("p[0] << 8 | p[1]", "*p << 8")


def body(words: tuple[str, str], result: str) -> str:
    return BODY.replace("WORD", words[0]).replace("LAST", words[1]).replace("RESULT", result)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two revisions of lib/csum.c; of the first the header differs too."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "csum.c").write_text(KERNEL.replace("csum_partial", "before"))
    (tmp_path / "lib" / "word.h").write_text(HEADER)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    (tmp_path / "lib" / "csum.c").write_text(KERNEL)
    (tmp_path / "lib" / "word.h").write_text(HEADER.replace("load", "no_longer_load"))
    commit(tmp_path)
    (tmp_path / "lib" / "word.h").write_text(HEADER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one more")


def works(kernel: lab.CompiledKernel) -> bool:
    data = bytes(range(256)) * 3
    return all(raw_cksum(data[:n], kernel=kernel) == raw_sum(data[:n]) for n in (0, 1, 2, 77, 768))


@pytest.mark.needs_tool("git")
def test_a_file_and_a_revision_of_it(repository: Path) -> None:
    new, old = lab.kernel_of("lib/csum.c"), lab.kernel_of("HEAD~1:lib/csum.c", flags=("-O2",))
    assert new.name.startswith("csum_partial of lib/csum.c [gcc")
    assert old.name.startswith("before of HEAD~1:lib/csum.c [gcc")
    assert old.name.endswith(" -O2]")
    assert "without asm/no_such_either.h, linux/no_such.h" in str(new.origin)
    assert works(new)
    assert works(old)
    (repository / "lib" / "deep").mkdir()
    assert export("HEAD", "lib/csum.c").read_text() == KERNEL


@pytest.mark.needs_tool("git")
def test_headers_below_a_folder_above(repository: Path) -> None:
    """As projects write it that are compiled with -I of their root; each revision with headers of its own."""
    (repository / "lib" / "deep").mkdir()
    (repository / "lib" / "deep" / "csum.c").write_text(KERNEL.replace('"word.h"', '"lib/word.h"'))
    commit(repository)
    (repository / "lib" / "word.h").write_text("#error not that of the revision\n")
    assert works(lab.kernel_of("HEAD:lib/deep/csum.c"))
    with pytest.raises(lab.CompileError, match="not that of the revision"):
        lab.kernel_of("lib/deep/csum.c")


@pytest.mark.needs_tool("git")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("HEAD~9:lib/csum.c", "git knows no revision 'HEAD~9' here"),
        ("HEAD:lib/none.c", "HEAD:lib/none.c: that revision has no such file"),
        ("lib/none.c", "there is no file lib/none.c; one of a git revision is REV:lib/none.c"),
        ("lib/csum.c:other", "'other'"),
        ("lib/csum.c@gcc-1", "compiler 'gcc-1' is not on the PATH"),
    ],
)
def test_what_is_missing_is_named(repository: Path, spec: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        lab.kernel_of(spec)


@pytest.mark.needs_tool("git")
@pytest.mark.usefixtures("repository")
def test_compare_takes_revisions_either_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the verdict is, is the machine's business; that it has the right heading and both names, is ours."""
    plan = ["--sizes", "64", "--offsets", "0", "--placements", "8", "--rounds", "2", "--flags", "-O1"]
    pair = ["HEAD~1:lib/csum.c", "lib/csum.c"]
    for a, b in (pair, pair[::-1]):
        assert main(["compare", a, b, *plan, "--save", str(tmp_path / "kept.json")]) == 0
        text = capsys.readouterr().out
        at = [text.index(f" of {each} [gcc") for each in (a, b)]
        assert at == sorted(at)
        kept = lab.Sweep.load(tmp_path / "kept.json")
        assert len(kept.table()) >= 2
        assert kept.plan.placements >= 8
        assert "b / a" in text


@pytest.mark.parametrize(
    ("declaration", "code", "meaning"),
    [
        ("uint16_t f(const uint8_t *p, unsigned len)", body(HOST, "total"), "the raw sum"),
        ("uint16_t f(const unsigned char *p, int len)", body(HOST, "~total"), "the complement of the sum"),
        ("u16 f(const u8 *p, size_t len)", body(NETWORK, "total"), "the sum in the other byte order"),
        (
            "unsigned short f(unsigned char *p, uint16_t len)",
            body(NETWORK, "~total"),
            "the complement of the sum in the other byte order",
        ),
        (
            "uint32_t f(const uint8_t *p, size_t len, uint32_t start)",
            body(HOST, "total").replace("total = 0", "total = start", 1),
            "the raw sum",
        ),
        (
            "uint16_t f(const uint8_t *p, size_t len, uint16_t start)",
            body(HOST, "~total").replace("total = 0", "total = (uint16_t)~start", 1),
            "the complement of the sum",
        ),
    ],
)
def test_other_signatures_are_called_by_a_shim(
    tmp_path: Path, declaration: str, code: str, meaning: str
) -> None:
    source = tmp_path / "other.c"
    source.write_text(f"{declaration}\n{code}")
    kernel = lab.kernel_of(str(source))
    assert str(kernel.origin).endswith(f"; called by a shim that takes its result for {meaning}")
    assert works(kernel)


def test_a_result_that_means_nothing_known_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "wrong.c").write_text(
        "uint16_t f(const uint8_t *p, unsigned len)\n" + body(HOST, "total + 1")
    )
    with pytest.raises(lab.KernelError, match="'f' is wrong at"):
        lab.kernel_of(str(tmp_path / "wrong.c"))


def test_a_shortest_length_is_declared_and_kept(tmp_path: Path) -> None:
    source = tmp_path / "some.c"
    source.write_text(
        "uint16_t f(const uint8_t *p, unsigned len)\n"
        + body(HOST, "len0 < 20 ? 7 : total").replace(
            "uint64_t total = 0;", "uint64_t total = 0; const unsigned len0 = len;"
        )
    )
    with pytest.raises(lab.KernelError, match="'f' is wrong at 0 bytes"):
        lab.kernel_of(str(source))
    assert lab.kernel_of(str(source), min_len=20).min_len == 20


CPP = """\
#include <cstdint>
#include <cstddef>
extern "C" std::uint32_t plus(const void *buf, std::size_t len, std::uint32_t sum)
{
    auto p = static_cast<const unsigned char *>(buf);
    std::uint64_t total = sum;
    for (; len > 1; len -= 2, p += 2)
        total += static_cast<unsigned>(p[0] | p[1] << 8);
    if (len)
        total += *p;
    total = (total >> 32) + (total & 0xffffffff);
    return static_cast<std::uint32_t>(total >> 32) + static_cast<std::uint32_t>(total);
}
"""


@pytest.mark.needs_tool("g++")
@pytest.mark.parametrize("suffix", [".cpp", ".s", ".o", ".a", ".so"])
def test_what_is_not_c_is_called(tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / "plus.cpp", tmp_path / f"plus{suffix}"
    source.write_text(CPP)
    build = {
        ".s": ["g++", "-S", "-fPIC", "-O2"],
        ".o": ["g++", "-c", "-fPIC", "-O2"],
        ".a": ["g++", "-c", "-fPIC", "-O2"],
        ".so": ["g++", "-shared", "-fPIC", "-O2"],
    }.get(suffix)
    if build:
        made = tmp_path / "plus.o" if suffix == ".a" else target
        subprocess.run([*build, str(source), "-o", str(made)], check=True)
        if suffix == ".a":
            subprocess.run(["ar", "rc", str(target), str(made)], check=True)
    kernel = lab.kernel_of(str(target), flags=("-O2",))
    assert kernel.name.startswith(f"plus of {target} [gcc")
    assert str(kernel.origin).startswith(f"plus{suffix}, called by a function that does nothing else")
    assert works(kernel)


def test_several_functions_of_an_object_are_listed(tmp_path: Path) -> None:
    (tmp_path / "two.c").write_text("int one(void) { return 1; } int two(void) { return 2; }")
    subprocess.run(["gcc", "-c", "two.c"], cwd=tmp_path, check=True)
    with pytest.raises(
        ValueError, match=r"two\.o has these global functions: one, two; name one: two\.o:FUNCTION"
    ):
        lab.kernel_of(str(tmp_path / "two.o"))


def test_c_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("uint16_t f(const uint8_t *p, unsigned len)\n" + body(HOST, "total"))
    )
    kernel = lab.kernel_of("-")
    assert kernel.name.startswith("f of standard input [gcc")
    assert works(kernel)


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("avx2", False),
        ("-", True),
        ("a.c", True),
        ("v6.1~3:lib/a.c:do_csum@clang-19@-O2 -march=native", True),
        ("a.S@gcc", True),
        ("a.rs", False),
        ("a.c:2x", False),
    ],
)
def test_what_names_a_file(text: str, takes: bool) -> None:
    assert is_spec(text) is takes


def test_functions_that_a_shim_can_call() -> None:
    found = adaptable(
        "static __always_inline u16 a(const u8 *p, int n) {} int b(int n, char *p) {} void c(void *p, int n) {} "
        "unsigned d(const void *p, size_t n, unsigned s) {} int e(FILE *p, int n) {} char *f(void *p, int n) {}"
    )
    assert {name: dataclasses.astuple(each)[1] for name, each in found.items()} == {"a": False, "d": True}


@pytest.mark.parametrize(
    ("complaint", "header"),
    [
        ("x.c:1:10: fatal error: linux/compiler.h: No such file or directory", "linux/compiler.h"),
        ("x.c:1:10: fatal error: 'rte_cksum.h' file not found", "rte_cksum.h"),
        ("x.c:1:10: fatal error: mine.h: No such file or directory", None),
        ("x.c:1:10: error: expected ';'", None),
    ],
)
def test_missing_headers_of_theirs(complaint: str, header: str | None) -> None:
    assert missing_header(complaint) == header


def test_commands_speak_of_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "wraps.c"
    source.write_text(
        "uint16_t f(const uint8_t *p, int len)\n"
        + body(HOST, "total").replace("uint64_t total", "uint32_t total")
    )
    assert main(["check", str(source)]) == 2
    assert "say --max-len 131074" in capsys.readouterr().err
    assert main(["check", str(source), "--max-len", "4096", "--flags", "-O2"]) == 0
