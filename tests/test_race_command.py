"""`fastcksum race`: what it asks, prints and keeps. The races are made up."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from made_up_race import ABOUT, FIVE_CELLS, T20, made_up
from made_up_sweep import facts, sweep_of

from fastcksum import cli, lab
from fastcksum.cli import _parser
from fastcksum.cli import race as command
from fastcksum.lab import _race
from fastcksum.lab._figures.record import Cell
from fastcksum.lab._race import Race

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asked of race(), which gives a race that was made up."""
    seen: dict[str, Any] = {}

    def race(kernel: str | None = None, **options: Any) -> Race:
        seen.update(options, kernel=kernel)
        return made_up(FIVE_CELLS)

    monkeypatch.setattr(_race, "race", race)
    return seen


def test_the_command_prints_the_text(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race"]) == 0
    assert capsys.readouterr().out == made_up(FIVE_CELLS).text()
    assert asked == {
        "kernel": None,
        "quick": False,
        "rounds": None,
        "placements": None,
        "seed": None,
        "huge_pages": False,
    }


def test_the_command_passes_its_options_on(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = "race --quick --kernel avx2 --rounds 5 --placements 2 --seed 7 --huge-pages --save"
    assert cli.main([*words.split(), str(tmp_path / "race.json")]) == 0
    assert asked == {
        "kernel": "avx2",
        "quick": True,
        "rounds": 5,
        "placements": 2,
        "seed": 7,
        "huge_pages": True,
    }
    assert Race.load(tmp_path / "race.json").table() == made_up(FIVE_CELLS).table()


def test_another_name_keeps_every_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [Cell("new", 20, "fixed", 0, "throughput", "hot", "plain")]
    sweep = sweep_of([facts("new")], cells, [[4.0, 4.5]])
    found = dataclasses.replace(made_up(FIVE_CELLS), sweep=sweep)
    monkeypatch.setattr(_race, "race", lambda *_, **__: found)
    assert cli.main(["race", "--save", str(tmp_path / "all.json.gz")]) == 0
    assert [row.ticks_per_call for row in lab.Sweep.load(tmp_path / "all.json.gz").table()] == [4.0]


def test_the_command_gives_json(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert found["chosen"] == "new"
    assert found["contests"][0] == {
        **T20._asdict(),
        "verdict": "won",
        "ratio": pytest.approx(0.8),
        "low": pytest.approx(0.8),
        "high": pytest.approx(0.8),
        "placements": 16,
        "ticks": 4.0,
        "peer": "peer_a",
        "build": "cc of peer_a",
        "peer_ticks": 5.0,
        "fastest": "old",
        "fastest_ticks": 3.0,
    }
    assert [contest["size"] for contest in found["lost"]] == [40, 40]
    assert found["means"][-1]["what"] == "all cells"
    assert found["singles"][0]["peer"] == "past_c"
    assert found["singles"][0]["latency"] is None


def test_the_command_says_what_can_not_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["race", "--kernel", "unheard"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fastcksum: kernel 'unheard' is unknown")


def test_an_interrupted_race_has_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = dataclasses.replace(ABOUT, interrupted=True, notes=("Interrupted: these are ...",))
    monkeypatch.setattr(_race, "race", lambda *_, **__: made_up(FIVE_CELLS, about=about))
    assert cli.main(["race"]) == 130
    assert "Interrupted: these are ..." in capsys.readouterr().out


def test_help_ends_with_an_example_that_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["race", "--help"])
    assert stop.value.code == 0
    example = capsys.readouterr().out.rstrip().rsplit("example:\n  fastcksum ", 1)[1]
    assert _parser.parser().parse_args(example.split()).run is command.run
