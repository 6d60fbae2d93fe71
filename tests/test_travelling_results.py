"""Results in the forms of other tools, side by side, in a mail; a verdict for somebody's CI. No test asks a clock."""

from __future__ import annotations

import csv
import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from made_up_sweep import cell, facts, sweep_of

from fastcksum.cli import main, show
from fastcksum.cli.judge import share, status_of
from fastcksum.lab._figures import exports
from fastcksum.lab._figures.comparison import Ratio

if TYPE_CHECKING:
    from pathlib import Path

    from fastcksum.lab import Sweep

CELLS = [cell("k", 40), cell("nothing", 40)]


def sweep(first: float = 10.0) -> Sweep:
    return sweep_of([facts("k"), facts("nothing")], CELLS, [[first, 12.0, 11.0], [2.0, 2.0, 2.0]])


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    sweep().save(tmp_path / "one.json")
    return tmp_path / "one.json"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return status, out, err


def test_show_prints_what_the_command_printed(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "show", saved) == (0, sweep().text(), "")


def test_show_as_markdown_csv_and_json(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text, _ = run(capsys, "show", saved, "--as", "markdown")
    assert "| kernel | bytes | offset | mode | tsc_ticks a call | a byte | badge |\n| --- | ---: |" in text
    assert "| k | 40 | 0 | throughput | 10.0 | 0.250 | noisy |\n" in text
    rows = list(csv.DictReader(run(capsys, "show", saved, "--as", "csv")[1].splitlines()))
    assert [(row["kernel"], float(row["ticks_per_call"])) for row in rows] == [("k", 10.0), ("nothing", 2.0)]
    found = json.loads(run(capsys, "show", saved, "--as", "json")[1])
    assert [row["ticks_per_call"] for row in found["rows"]] == [10.0, 2.0]


def test_pyperf_reads_an_export(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its own reader finds names, and values in seconds."""
    import pyperf

    (tmp_path / "one.pyperf.json").write_text(run(capsys, "show", saved, "--as", "pyperf")[1])
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "one.pyperf.json"))
    assert suite.get_benchmark_names() == [
        "k, 40 bytes +0, throughput, hot",
        "nothing, 40 bytes +0, throughput, hot",
    ]
    hz = sweep().host.hz
    assert suite.get_benchmarks()[0].get_values() == pytest.approx((10 / hz, 12 / hz, 11 / hz))


def test_google_benchmark_gets_its_fields(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that its compare.py reads of each: name, run_type, time_unit, real_time, cpu_time, iterations."""
    found = json.loads(run(capsys, "show", saved, "--as", "google-benchmark")[1])
    first = found["benchmarks"][0]
    assert (first["name"], first["run_type"], first["time_unit"]) == (
        "k, 40 bytes +0, throughput, hot",
        "iteration",
        "ns",
    )
    assert first["real_time"] == first["cpu_time"] == pytest.approx(10 / sweep().host.hz * 1e9)
    assert [each["repetition_index"] for each in found["benchmarks"]] == [0, 1, 2, 0, 1, 2]


def test_every_form_that_is_made_can_be_asked_for() -> None:
    assert set(show.FORMS) == {"text", "json", *exports.FORMS}


def test_a_flagged_sample_is_not_exported() -> None:
    one = sweep()
    one.samples["flags"][0] = 2
    assert len(json.loads(exports.as_pyperf(one))["benchmarks"][0]["runs"][0]["values"]) == 2


def test_several_files_stand_side_by_side(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(9.0).save(tmp_path / "two.json")
    _, text, _ = run(capsys, "show", saved, tmp_path / "two.json")
    lines = text.splitlines()
    assert lines[0].split() == ["kernel", "bytes", "offset", "[1]", "[2]"]
    assert lines[1].split() == ["k", "40", "+0", "10.0", "9.0"]
    assert "[2] TSC cycles a call; Imaginary CPU 3000" in text
    assert "compare kernels within a column, not across" in lines[-1]


def test_several_files_for_a_program(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / 'two, "b".json'
    sweep(9.0).save(other)
    _, text, _ = run(capsys, "show", saved, other, "--as", "json")
    assert [each["rows"][0]["ticks_per_call"] for each in json.loads(text)] == [10.0, 9.0]
    _, text, _ = run(capsys, "show", saved, other, "--as", "csv")
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["file"], row["kernel"], row["ticks_per_call"]) for row in rows][::2] == [
        (str(saved), "k", "10.0"),
        (str(other), "k", "9.0"),
    ]
    status, _, err = run(capsys, "show", saved, other, "--as", "pyperf")
    assert (status, "one document of one sweep" in err) == (2, True)


def test_two_machines_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In seconds, since their ticks are of different clocks; and each by the fastest of its own cell and run."""
    cells = [cell(name, 40) for name in ("k", "other", "nothing")]
    kernels = [facts("k"), facts("other"), facts("nothing", role="yardstick")]
    here = sweep_of(kernels, cells, [[12.0] * 3, [24.0] * 3, [2.0] * 3])
    there = sweep_of(kernels, cells, [[30.0] * 3, [20.0] * 3, [2.0] * 3])
    slower = dataclasses.replace(there.host, hz=1_200_000_000.0, microcode="0x1")
    there = dataclasses.replace(there, host=slower)
    here.save(tmp_path / "here.json")
    there.save(tmp_path / "there.json.gz")
    status, text, _ = run(capsys, "compare", tmp_path / "here.json", tmp_path / "there.json.gz")
    assert status == 0
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if " +0 " in line}
    assert rows["k"] == ["40", "+0", "5.00", "25.00", "5.000", "1.000", "1.500"]
    assert rows["other"] == ["40", "+0", "10.00", "16.67", "1.667", "2.000", "1.000"]
    assert rows["nothing"][-2:] == ["0.167", "0.100"]
    assert "These are different hosts" in text
    assert here.host.id != there.host.id
    assert max(map(len, text.splitlines())) <= 100


def test_two_days_of_one_machine_are_compared(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(9.0).save(tmp_path / "two.json")
    _, text, _ = run(capsys, "compare", saved, tmp_path / "two.json")
    assert "one kind of host, and no ratio has an interval" in " ".join(text.split())
    assert " 0.900 " in text


def test_results_with_nothing_in_common(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_of([facts("other")], [cell("other", 40)], [[1.0]]).save(tmp_path / "two.json")
    status, _, err = run(capsys, "compare", saved, tmp_path / "two.json")
    assert (status, "no cell in common" in err) == (2, True)


def test_what_is_no_result_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "no.json").write_text("{}")
    status, _, err = run(capsys, "show", tmp_path / "no.json")
    assert (status, "no.json is JSON, but not a result" in err) == (2, True)


MAIL = """\
> ### dpdk_before
> Alignment  Block size    TSC cycles/block  TSC cycles/byte
> Aligned            20                25.1             1.25
> Unaligned          20                25.1             1.25
"""


def test_a_mail_is_read_beside_a_result(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mail.txt").write_text(
        MAIL.replace("20  ", "40  ").replace("25.1             1.25", "25.1             0.63")
    )
    status, text, _ = run(capsys, "read", tmp_path / "mail.txt", "--beside", saved)
    lines = text.splitlines()
    assert status == 0
    assert lines[0].split()[:4] == ["run", "alignment", "size", "cycles_per_block"]
    assert "10.0" in lines[1]
    assert "25.1" in run(capsys, "read", tmp_path / "mail.txt")[1]


def test_a_mail_beside_the_published_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mail.txt").write_text(MAIL)
    status, text, _ = run(capsys, "read", tmp_path / "mail.txt", "--beside", "published")
    assert status == 0
    assert "(beside)" in text.splitlines()[0]


def test_a_mail_without_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mail.txt").write_text("Hello,\nlooks good to me.\n")
    assert run(capsys, "read", tmp_path / "mail.txt") == (1, "", "")


def ratio(verdict: Any) -> Ratio:
    return Ratio(20, "fixed", 0, "throughput", 10.0, 11.0, 1.1, 1.0, 1.2, 1.0, 32, verdict, verdict)


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        (["same", "faster"], 0),
        (["same", "slower", "unresolved"], 1),
        (["faster", "unresolved"], 3),
        ([], 3),
    ],
)
def test_the_status_for_a_ci(verdicts: list[str], status: int) -> None:
    assert status_of([ratio(verdict) for verdict in verdicts]) == status


@pytest.mark.parametrize(("text", "value"), [("2%", 0.02), ("0.02", 0.02), ("12.5%", 0.125)])
def test_shares(text: str, value: float) -> None:
    assert share(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["0", "-1%", "100%", "two"])
def test_what_is_no_share(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["judge", "--baseline", "nothing", "nothing", f"--slower-than={text}"])
    assert "is no share between 0 and 1, such as 2% or 0.02" in capsys.readouterr().err


@pytest.mark.needs_tool("gcc")
def test_judge_prints_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    """What the verdict is, is the machine's business; that status and words agree, is ours."""
    plan = ("--sizes", "9000", "--offsets", "0", "--placements", "8", "--rounds", "2", "--slower-than", "20%")
    status, text, _ = run(capsys, "judge", "--baseline", "portable64", "reference", *plan)
    assert text.startswith("`reference` ")
    assert "| bytes | offset | mode | before | after | after / before | interval | verdict |" in text
    words = {0: "is not slower", 1: "**is slower**", 3: "is not found slower, but"}
    assert words[status] in text.splitlines()[0]
