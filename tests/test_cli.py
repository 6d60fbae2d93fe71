"""The command line: what it prints, and 0, 1 or 2."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest
from made_up_sweep import cell, facts, sweep_of

from fastcksum import Kernel, _core, active_kernel, cli, kernels, lab
from fastcksum.cli import _common, _parser, _sweeping
from fastcksum.lab._bench import job as _job
from fastcksum.lab._bench import warm

if TYPE_CHECKING:
    from pathlib import Path

RFC_EXAMPLE = bytes.fromhex("0001f203f4f5f6f7")  # RFC 1071 section 3: the sum is ddf2, the checksum 220d
RFC_RAW = int.from_bytes(bytes.fromhex("ddf2"), sys.byteorder)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """(exit status, standard output, standard error)."""
    capsys.readouterr()
    try:
        status = cli.main(arguments)
    except SystemExit as stop:  # argparse
        status = stop.code if isinstance(stop.code, int) else -1
    return status, *capsys.readouterr()


def python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fastcksum", *arguments],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def silent(done: int, total: int) -> None:
    """Takes reports of progress."""


# the whole


@pytest.mark.parametrize("command", ["perf", "compare", "kernels", "host", "check", "sum"])
def test_help_ends_with_an_example_that_is_accepted(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, command, "--help")
    assert status == 0
    before, example = out.rstrip().rsplit("example:\n  ", 1)
    words = shlex.split(example.split("fastcksum ")[-1])
    assert words[0] == command
    assert _parser.parser().parse_args(words).run is not None
    assert f"usage: fastcksum {command}" in before


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--help")
    for command in ("perf", "kernels", "host", "check", "sum"):
        assert f"\n    {command} " in out


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["perf", "--sizes", "20,x"], ["perf", "--offsets", "5-3"]]
)
def test_what_is_not_understood_is_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert "fastcksum" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["prf"], "did you mean perf?"),
        (["verfiy", "x.pcap"], "did you mean verify or"),
        (["perf", "--sizs", "20"], "unrecognized arguments: --sizs; did you mean --sizes?"),
        (["race", "--quik=1"], "unrecognized arguments: --quik=1; did you mean --quick?"),
        (["perf", "--zzzz"], "unrecognized arguments: --zzzz\n"),
        (["show", "x.json", "--as", "markdwn"], "did you mean markdown?"),
    ],
)
def test_the_nearest_name_is_said(words: list[str], near: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert near in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_shells_complete(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--print-completion", shell)
    assert status == 0
    assert all(name in out for name in ("fastcksum", "verify", "perf", "placements"))


@pytest.mark.needs_tool("bash")
def test_bash_completes_a_command_and_its_options(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(python("--print-completion", "bash").stdout)
    ask = (
        f"source {script}; COMP_WORDS=(fastcksum %s); COMP_CWORD=%d; _shtab_fastcksum; echo ${{COMPREPLY[@]}}"
    )
    for words, at, expected in (("ver", 1, "verify"), ("perf --siz", 2, "--sizes")):
        done = subprocess.run(["bash", "-c", ask % (words, at)], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [expected], done.stderr


@pytest.mark.parametrize(
    ("text", "found"),
    [("20", [20]), ("20,21", [20, 21]), ("0-3,9", [0, 1, 2, 3, 9]), (" 7 , 8-8 ", [7, 8])],
)
def test_lists_of_numbers(text: str, found: list[int]) -> None:
    assert _common.numbers(text) == found


def test_it_runs_as_a_module_without_numpy_where_none_is_needed() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None; from fastcksum.cli import main; sys.exit(main(['kernels']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reference" in done.stdout
    assert python("kernels").stdout == done.stdout


def test_a_reader_who_leaves_is_no_traceback() -> None:
    done = subprocess.run(
        f"{sys.executable} -m fastcksum kernels --json | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[\n", "")
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        late = subprocess.run(
            [sys.executable, "-m", "fastcksum", "kernels"], stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert (late.returncode, late.stderr) == (2, b"")


# kernels, host


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_kernels_lists_every_kernel(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    status, out, _ = run(capsys, "kernels")
    assert status == 0
    assert max(map(len, out.splitlines())) <= min(columns, 100)
    rows = [line for line in out.splitlines()[1:-1] if line[3] != " "]
    assert len(rows) == len(kernels())
    for kernel, line in zip(kernels(), rows, strict=True):
        assert line.startswith("*" if kernel == active_kernel() else " ")
        assert line.lstrip("* ").split()[:2] == [kernel.name, kernel.role]
    said = " ".join(out.split())
    if columns < 100:  # below its row, whole
        assert all(kernel.summary in said for kernel in kernels())


def test_kernels_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "kernels", "--json")
    assert status == 0
    listed = json.loads(out)
    assert [each["name"] for each in listed] == [kernel.name for kernel in kernels()]
    assert [each["name"] for each in listed if each["active"]] == [active_kernel().name]
    past = next(each for each in listed if each["name"] == "dpdk_before")
    assert (past["role"], past["max_len"], past["runs_here"]) == ("past", 131072, True)
    assert past["code_bytes"] > 0


def test_kernels_that_cannot_run_say_what_they_need() -> None:
    kernel = dataclasses.replace(
        kernels()[0], runs_here=False, needs=("avx512f", "avx512bw"), code_bytes=None
    )
    line = cli.kernels._kernel_line(kernel, None)
    assert (line[0], line[3], line[5]) == ("", "no: avx512f avx512bw", "?")


def test_kernels_can_be_listed_where_the_environment_names_none() -> None:
    done = python("kernels", env={**os.environ, "FASTCKSUM_KERNEL": "no_such"})
    assert done.returncode == 0
    assert "no_such" in done.stderr
    assert "reference" in done.stdout
    assert done.stderr.count("\n") == 1


def test_host_prints_what_the_lab_knows(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "host")
    assert status == 0
    assert lab.host().cpu in out
    assert max(map(len, out.splitlines())) <= 100
    status, out, _ = run(capsys, "host", "--json")
    assert json.loads(out)["kernel"] == os.uname().release


# perf


def test_perf_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(
        capsys,
        "perf",
        "--kernels",
        "reference,nothing",
        "--sizes",
        "20,100",
        "--offsets",
        "0-2",
        "--rounds",
        "2",
    )
    assert (status, err) == (0, "")
    part = next(part for part in out.split("\n\n") if part.startswith("### reference")).splitlines()
    assert [line.split()[:2] for line in part[2:]] == [
        [label, size] for size in ("20", "100") for label in ("Aligned", "Unaligned", "+2")
    ]


def test_perf_asks_for_both_exchanges_at_the_sizes_of_dpdk(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    made = sweep_of([facts("k")], [cell("k", 40)], [[1.0, 1.0]])
    real = lab.sweep

    def sweep(*args: Any, **kwargs: Any) -> lab.Sweep:
        asked.append((args, kwargs))
        return made

    monkeypatch.setattr(lab, "sweep", sweep)
    assert run(capsys, "perf")[:2] == (0, made.text())
    [((wanted,), plan)] = asked
    assert wanted is None  # the active one, the past ones, the yardsticks
    assert "sizes" not in plan
    assert inspect.signature(real).parameters["sizes"].default == lab.DPDK_SIZES
    assert plan == {
        **{name: inspect.signature(real).parameters[name].default for name in plan},
        "offsets": [0, 1],
    }


def test_perf_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys, "perf", "--kernels", "reference", "--sizes", "0,20", "--offsets", "0", "--rounds", "2",
        "--seed", "9", "--json",
    )  # fmt: skip
    assert status == 0
    found = json.loads(out)
    assert set(found) == {"host", "plan", "rows"}
    assert found["plan"]["seed"] == 9
    assert list(found["rows"][0]) == list(lab.Row._fields)
    empty, row = found["rows"]
    assert empty["ticks_per_byte"] is None
    assert row["ticks_per_byte"] == pytest.approx(row["ticks_per_call"] / 20)
    assert row["net_ticks_per_call"] is None  # nothing was not asked for


def test_json_tells_an_invalid_net_from_an_unknown_one() -> None:
    cells = [cell("k", 40), cell("nothing", 40), cell("k", 41)]
    sweep = sweep_of([facts("k"), facts("nothing")], cells, [[1.5, 1.5], [2.0, 2.0], [3.0, 3.0]])
    rows = _sweeping.sweep_as_json(sweep)["rows"]
    assert [row["net_ticks_per_call"] for row in rows] == ["invalid", 0.0, None]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_perf_of_what_there_is_not_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "perf", "--kernels", "no_such")
    assert (status, out) == (2, "")
    assert err.startswith("fastcksum: kernel 'no_such' is unknown; those that run here: ")
    assert err.count("\n") == 1
    assert run(capsys, "perf", "--rounds", "0")[0] == 2


def test_perf_interrupted_prints_what_it_has(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = warm.time_round

    def interrupted(bench: Any, order: Any, number: int, **how: Any) -> Any:
        if number == 2:
            raise KeyboardInterrupt
        return real(bench, order, number, **how)

    monkeypatch.setattr(_job, "time_round", interrupted)
    status, out, _ = run(capsys, "perf", "--kernels", "reference", "--sizes", "20")
    assert status == 130
    assert "Interrupted: 2 of 20 rounds" in out


# check


def test_check_finds_all_kernels_right(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli.check, "CHECK_LENGTH", 130)
    status, out, err = run(capsys, "check")
    assert (status, err) == (0, "")
    checked = [kernel.name for kernel in kernels() if kernel.runs_here and kernel.role != "yardstick"]
    assert out.startswith(f"{', '.join(checked)}: right at ")
    assert "lengths 0..130, offsets 0..63, contents zeros, 0xff, random, carries" in out
    status, out, _ = run(capsys, "check", "--kernels", "reference", "--json")
    assert json.loads(out) == {"kernels": ["reference"], "right": True, "difference": None}


def test_check_visits_every_offset_and_content(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(_core, "find_difference", lambda *args: asked.append(args))
    assert cli.check.first_difference(["a", "b"], silent) is None
    assert len(asked) == len(set(asked)) == 2 * 4 * 64
    assert {(offset, length) for _, _, offset, length, _ in asked} == {(n, 4096) for n in range(64)}
    assert {(fill, start) for _, fill, _, _, start in asked} == {(0, 0), (1, 0), (2, 0xBEEF), (3, 0xFFFF)}


@pytest.mark.needs_tool("gcc")
def test_check_sees_a_kernel_that_forgets_the_start_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.check, "CHECK_LENGTH", 64)
    difference = cli.check.first_difference([wrong_kernel(monkeypatch)], silent)
    assert difference is not None
    assert (difference["length"], difference["offset"], difference["contents"]) == (0, 0, "random")
    assert (difference["got"], difference["expected"]) == (0, 0xBEEF)


def wrong_kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Sums like `reference`, from 0."""
    text = (
        "#include <stdint.h>\n#include <stddef.h>\n#include <string.h>\n"
        "uint32_t forgets(const void *buf, size_t len, uint32_t sum)\n"
        "{ const char *p = buf; uint64_t t = 0; uint16_t w; (void)sum;\n"
        "  for (; len > 1; len -= 2, p += 2) { memcpy(&w, p, 2); t += w; }\n"
        "  if (len) { w = 0; memcpy(&w, p, 1); t += w; }\n"
        "  return (uint32_t)(t >> 32) + (uint32_t)t; }\n"
    )
    monkeypatch.setattr("fastcksum.lab._build.compiler.try_out", lambda *_: None)
    return lab.compile_kernel(text)


def test_check_names_the_first_difference_and_is_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(name: str, fill: int, offset: int, *_: int) -> tuple[int, int, int, int] | None:
        return (17, 4079, 0x1234, 0xFFFF) if (name, fill, offset) == ("portable64", 2, 5) else None

    monkeypatch.setattr(_core, "find_difference", find)
    status, out, _ = run(capsys, "check", "--kernels", "reference,portable64")
    assert status == 1
    assert out == (
        "portable64 is wrong at 17 bytes, offset 4079, an odd address, ending at a page end (contents: random, start "
        "value 0xbeef): it gives 0x1234, right is 0xffff\n"
    )
    status, out, _ = run(capsys, "check", "--json", "--kernels", "portable64")
    assert status == 1
    assert json.loads(out)["difference"]["length"] == 17


@pytest.mark.parametrize("name", ["no_such", "nothing"])
def test_check_of_what_has_no_sum_is_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "check", "--kernels", name)
    assert (status, out) == (2, "")
    assert name in err


# sum


def test_sum_prints_raw_and_checksum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, empty = tmp_path / "packet", tmp_path / "empty"
    file.write_bytes(RFC_EXAMPLE)
    empty.write_bytes(b"")
    status, out, err = run(capsys, "sum", str(file), str(empty))
    assert (status, err) == (0, "")
    assert out == (
        f"raw {RFC_RAW:#06x}  checksum 0x220d  8 bytes  {file}\nraw 0x0000  checksum 0xffff  0 bytes  {empty}\n"
    )
    status, out, _ = run(capsys, "sum", "--json", str(file))
    assert json.loads(out) == [{"file": str(file), "bytes": 8, "raw": RFC_RAW, "checksum": 0x220D}]


def test_sum_reads_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fastcksum", "sum", "-"], input=RFC_EXAMPLE, capture_output=True, check=False
    )
    assert done.stdout.decode() == f"raw {RFC_RAW:#06x}  checksum 0x220d  8 bytes  -\n"


def test_sum_goes_on_after_a_file_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "packet"
    file.write_bytes(RFC_EXAMPLE)
    status, out, err = run(capsys, "sum", str(tmp_path / "none"), str(tmp_path), str(file))
    assert status == 2
    assert out.endswith(f"8 bytes  {file}\n")
    assert err == (
        f"fastcksum: {tmp_path / 'none'}: No such file or directory\nfastcksum: {tmp_path}: Is a directory\n"
    )


class Trickle(io.RawIOBase):
    """A stream that gives at most seven bytes a read, as a pipe may."""

    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)

    def readinto(self, buffer: Any) -> int:
        n = min(7, len(buffer), len(self.data))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 127, 128, 129, 1000])
def test_short_reads_do_not_cut_words(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.sum, "PIECE", 64)
    data = bytes((i * 37 + 1) % 256 for i in range(length))
    streams: list[BinaryIO] = [Trickle(data), io.BytesIO(data)]  # type: ignore[list-item]
    padded = data + b"\0" * (length % 2)
    total = sum(int.from_bytes(padded[i : i + 2], sys.byteorder) for i in range(0, len(padded), 2))
    expected = 0xFFFF if total and total % 0xFFFF == 0 else total % 0xFFFF
    for stream in streams:
        assert cli.sum.sum_of_stream(stream) == (expected, length)


def test_a_file_larger_than_a_piece(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "big"
    file.write_bytes(b"\xff" * (cli.sum.PIECE + 3))
    _, out, _ = run(capsys, "sum", "--json", str(file))
    # words of 0xffff add nothing; the odd last byte is the high byte on the wire
    assert json.loads(out)[0]["checksum"] == 0x00FF


# perf's plan, compare


def test_perf_passes_the_whole_plan_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {}
    made = sweep_of([facts("reference")], [cell("reference", 20)], [[3.0]])

    def sweep(wanted: Any, **plan: Any) -> lab.Sweep:
        asked.update(plan, kernels=wanted)
        return made

    monkeypatch.setattr(lab, "sweep", sweep)
    words = (
        "perf --kernels reference --sizes 20 --offsets 0-2 --mode latency --cache l2 --form plain --rounds 7"
    )
    status, out, _ = run(
        capsys,
        *words.split(),
        "--placements",
        "3",
        "--processes",
        "2",
        "--seed",
        "5",
        "--save",
        str(tmp_path / "s.json"),
    )
    assert status == 0
    assert out == made.text()
    assert asked == {
        "kernels": ["reference"],
        "sizes": [20],
        "offsets": [0, 1, 2],
        "mode": "latency",
        "cache": "l2",
        "form": "plain",
        "rounds": 7,
        "placements": 3,
        "processes": 2,
        "seed": 5,
        "lengths": None,
    }
    assert lab.Sweep.load(tmp_path / "s.json").text() == made.text()


def test_mixed_lengths_have_a_default_and_a_syntax(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(
        capsys,
        *["perf", "--kernels", "reference", "--mode", "mixed", "--rounds", "1", "--lengths", "imix,1-9"],
    )
    assert status == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith(("Random", "Dependent"))] == [
        ["Random", "imix"],
        ["Dependent", "imix"],
        ["Random", "1..9"],
        ["Dependent", "1..9"],
    ]
    status, out, _ = run(
        capsys, *["perf", "--kernels", "reference", "--mode", "mixed", "--rounds", "1", "--json"]
    )
    assert {row["distribution"] for row in json.loads(out)["rows"]} == {"imix", "1..32", "1..128", "1..1500"}


@pytest.mark.parametrize("mix", ["fast", "9-1", "1-2-3", "imix,"])
def test_what_is_no_mix(mix: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(
        capsys, "perf", "--mode", "mixed", "--rounds", "1", "--kernels", "reference", "--lengths", mix
    )
    if mix == "imix,":  # an empty part names nothing
        assert status == 0
    else:
        assert status == 2
        assert f"{mix!r} is neither imix nor a range such as 1-128" in err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("perf --mode fast", "mode 'fast' is unknown; there is 'throughput', 'latency', 'mixed'"),
        ("perf --cache l4", "cache 'l4' is unknown"),
        ("perf --placements 10 --kernels reference --sizes 20", "placements must be 1 or a multiple of 4"),
        ("compare reference unheard", "kernel 'unheard' is unknown; those that run here: "),
        (
            "compare reference portable64 --placements 2",
            "placements must be 1 or a multiple of 4",
        ),
    ],
)
def test_plans_that_can_not_be_run(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *words.split())
    assert (status, out) == (2, "")
    assert text in err
    assert len(err.splitlines()) == 1


@pytest.mark.needs_tool("gcc")
def test_compare_prints_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "reference", "portable64", "--sizes", "20,1500", "--offsets", "0", "--rounds", "2"]
    words += ["--placements", "8", "--within", "0.02"]
    status, out, _ = run(capsys, *words)
    assert status == 0
    assert "b / a: portable64 by reference" in " ".join(out.split())
    assert "the interval lies within 2 %" in " ".join(out.split())
    assert [line.split()[:2] for line in out.splitlines() if " +0 " in line] == [["20", "+0"], ["1500", "+0"]]
    status, out, _ = run(capsys, *words, "--json")
    found = json.loads(out)
    assert (status, found["a"], found["b"]) == (0, "reference", "portable64")
    assert [ratio["size"] for ratio in found["ratios"]] == [20, 1500]
    assert {ratio["verdict"] for ratio in found["ratios"]} <= {"faster", "slower", "same", "unresolved"}


# saving, help, the first moments


def test_where_to_save_is_asked_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lab, "sweep", lambda *_, **__: pytest.fail("it was measured first"))
    for name, words in {"x.csv": "not as 'x.csv'", "absent/x.json": "is not there; make it first"}.items():
        status, out, err = run(capsys, "perf", "--save", str(tmp_path / name))
        assert (status, out) == (2, "")
        assert words in err


def test_figures_are_printed_before_they_are_saved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = sweep_of([facts("reference")], [cell("reference", 20)], [[3.0]])

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device", "s.json")

    monkeypatch.setattr(lab, "sweep", lambda *_, **__: made)
    monkeypatch.setattr("fastcksum.lab._figures.results.save", fails)
    status, out, err = run(capsys, "perf", "--save", str(tmp_path / "s.json"))
    assert (status, out) == (2, made.text())
    assert "No space left" in err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main(["--version"])
    assert done.value.code == 0
    assert re.fullmatch(r"fastcksum \d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


@pytest.mark.parametrize("command", [module.__name__.rpartition(".")[2] for module in _parser.COMMANDS])
def test_each_help_says_how_long_it_takes_and_how_it_ends(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    text = capsys.readouterr().out
    assert re.search(r"^example:\n  .*fastcksum " + command, text, re.MULTILINE)
    [takes] = re.findall(r"^takes: (\w.*)$", text, re.MULTILINE)
    assert bool(re.search(r"second|minute", takes)) == (_common.MEASURED_ON in takes)
    if command in {"perf", "compare", "race", "compile", "check"}:
        assert _common.MEASURED_ON in takes
    assert re.search(r"^exit status: 0; .*130 after Ctrl-C$", text, re.MULTILINE)


def test_ctrl_c_while_it_starts_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_parser, "parser", interrupted)
    assert run(capsys, "kernels") == (130, "", "fastcksum: interrupted\n")
