"""Results on disk: what is saved comes back whole; what isn't a result says so; a broken write changes nothing."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_sweep import HOST, facts, samples_of, sweep_of

from fastcksum import lab
from fastcksum.lab._figures import results
from fastcksum.lab._figures.record import MODES, Cell


@pytest.fixture(scope="module")
def measured() -> lab.Sweep:
    return lab.sweep(["reference", "nothing"], [20, 1500], rounds=3, seed=9)


def same(again: lab.Sweep, sweep: lab.Sweep) -> bool:
    assert again.samples.dtype == sweep.samples.dtype
    np.testing.assert_array_equal(again.samples, sweep.samples)
    for ours, theirs in ((again.host, sweep.host), (again.plan, sweep.plan)):
        for field in dataclasses.fields(ours):
            assert repr(getattr(ours, field.name)) == repr(getattr(theirs, field.name)), field.name
    return again == sweep


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_round_trip(measured: lab.Sweep, tmp_path: Path, name: str) -> None:
    measured.save(tmp_path / name)
    again = lab.Sweep.load(tmp_path / name)
    assert same(again, measured)
    assert hash(again) == hash(measured)
    assert again.text() == measured.text()
    pd.testing.assert_frame_equal(again.frame(), measured.frame())


@pytest.mark.parametrize(
    "way",
    [
        {"mode": "latency", "sizes": [64]},
        {"mode": "mixed", "lengths": {"imix": lab.IMIX, "1..128": (1, 128)}},
        {"cache": "l2", "sizes": [1500]},
        {"cache": "cold", "sizes": [20]},
        {"form": "dpdk", "sizes": [20]},
        {"processes": 2, "sizes": [20]},
        {"placements": 4, "sizes": [20]},
    ],
    ids=lambda way: next(iter(way)) + str(next(iter(way.values()))),
)
def test_round_trip_in_every_mode(way: dict[str, Any], tmp_path: Path) -> None:
    sweep = lab.sweep(["portable64"], offsets=(0,), rounds=2, seed=3, **way)
    sweep.save(tmp_path / "a.json")
    again = lab.Sweep.load(tmp_path / "a.json")
    assert same(again, sweep)
    assert again.plan.lengths == sweep.plan.lengths
    if again.plan.lengths:  # enough to repeat the sweep
        repeated = lab.sweep(["portable64"], mode="mixed", lengths=again.plan.lengths, rounds=1, seed=3)
        assert repeated.plan.mean_lengths == sweep.plan.mean_lengths


NAMES = st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text)
LENGTHS = st.integers(0, 2**40)
MIXES = st.dictionaries(LENGTHS, st.integers(1, 99), min_size=1, max_size=4) | st.tuples(LENGTHS, LENGTHS)
FIGURES = st.floats(allow_nan=True, allow_infinity=True)
CELLS = st.builds(
    Cell,
    kernel=NAMES,
    size=LENGTHS,
    distribution=NAMES,
    offset=st.integers(-1, 4096),
    mode=st.sampled_from([mode for modes in MODES.values() for mode in modes]),
    cache=st.sampled_from(["hot", "l2", "l3", "dram", "cold"]),
    form=st.sampled_from(["plain", "dpdk"]),
)


@st.composite
def sweeps(draw: st.DrawFn) -> lab.Sweep:
    """Any plan and any samples."""
    cells = draw(st.lists(CELLS, min_size=1, max_size=4))
    rounds = draw(st.integers(1, 3))
    ticks = [[draw(st.floats(0, 1e9)) for _ in range(rounds)] for _ in cells]
    count = rounds * len(cells)
    columns = {
        "placement": draw(st.lists(st.integers(0, 2**31), min_size=count, max_size=count)),
        "flags": draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count)),
        "result": draw(st.lists(st.integers(0, 2**32 - 1), min_size=count, max_size=count)),
    }
    plan: dict[str, Any] = {
        "mean_lengths": tuple(draw(FIGURES) for _ in cells),
        "left_out": tuple(draw(st.lists(NAMES, max_size=2))),
        "lengths": draw(st.dictionaries(NAMES, MIXES, max_size=3)),
        "set_bytes": draw(st.dictionaries(NAMES, LENGTHS, max_size=2)),
        "pages": draw(NAMES),
        "placements": draw(st.integers(1, 128)),
        "processes": draw(st.integers(1, 9)),
        "places": draw(st.dictionaries(NAMES, st.tuples(st.tuples(LENGTHS, LENGTHS)), max_size=2)),
        "seed": draw(st.integers(0, 2**63)),
        "processor": draw(st.none() | st.integers(0, 999)),
        "interrupted": draw(st.booleans()),
    }
    kernels = [facts(draw(NAMES), needs=("avx2",), max_len=2**64 - 1, command=("gcc", "-c"), code_bytes=None)]
    host = dataclasses.replace(
        HOST, hz=draw(FIGURES), load=draw(st.none() | FIGURES), warnings=(draw(NAMES),)
    )
    return sweep_of(kernels, cells, ticks, host=host, samples=samples_of(cells, ticks, **columns), **plan)


@given(sweep=sweeps())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_plan_and_any_samples_come_back(sweep: lab.Sweep, tmp_path: Path) -> None:
    sweep.save(tmp_path / "any.json")
    assert same(lab.Sweep.load(tmp_path / "any.json"), sweep)


def test_two_sweeps_are_equal_by_what_they_hold(measured: lab.Sweep) -> None:
    samples = measured.samples.copy()
    assert lab.Sweep(samples, measured.host, measured.plan) == measured
    samples["ticks"][0] += 1
    assert lab.Sweep(samples, measured.host, measured.plan) != measured
    other = dataclasses.replace(measured.plan, seed=10)
    assert lab.Sweep(measured.samples, measured.host, other) != measured
    assert measured != "a sweep"


def test_the_file_is_json_that_anybody_reads(measured: lab.Sweep, tmp_path: Path) -> None:
    measured.save(tmp_path / "a.json")

    def no_constant(name: str) -> None:
        raise AssertionError(name)

    found = json.loads((tmp_path / "a.json").read_text(), parse_constant=no_constant)
    assert (found["kind"], found["schema"]) == ("fastcksum sweep", results.SCHEMA)
    assert found["host"]["cpu"] == measured.host.cpu
    assert found["plan"]["kernels"][0]["code_sha256"] == measured.plan.kernels[0]["code_sha256"]
    assert found["samples"]["columns"]["ticks"]["values"] == measured.samples["ticks"].tolist()


def test_neither_pandas_nor_pyarrow_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('pandas', 'pyarrow', 'matplotlib', 'tqdm'): sys.modules[name] = None\n"
        "from fastcksum.lab import *\n"
        "measured = sweep('reference', 20, 0, rounds=2)\n"
        "measured.save('a.json')\n"
        "assert Sweep.load('a.json') == measured\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": ROOT}
    )


ROOT = str(Path(__file__).parent.parent)

# Files that are none


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Aligned 20 3.0 0.15\n", "is not a saved result, or not all of it: "),
        (b"", "is not a saved result, or not all of it: "),
        (b"PAR1 ... PAR1", "it is a Parquet file, which holds a table; a result is JSON"),
        (b"\x1f\x8b half of something", "is not a saved result, or not all of it: "),
        (b"\xff\xfe\x00", "is not a saved result, or not all of it: "),
        (b"[1, 2]", "is JSON, but not a result that save"),
        (b'{"kind": "something else"}', "is JSON, but not a result that save"),
        (b"[" * 100_000, "is not a saved result, or not all of it: "),
    ],
)
def test_other_files_are_refused_by_name(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.json ") as error:
        lab.Sweep.load(path)
    assert reason in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        lab.Sweep.load(tmp_path / "absent.json")


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_every_cut_and_most_changes_are_damage(measured: lab.Sweep, tmp_path: Path, name: str) -> None:
    measured.save(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    rng = np.random.default_rng(1)
    damaged = tmp_path / f"damaged_{name}"
    for at in rng.integers(0, len(whole), 40):
        damaged.write_bytes(whole[:at])
        with pytest.raises(ValueError, match=f"damaged_{name}"):
            lab.Sweep.load(damaged)
        changed = bytearray(whole)
        changed[at] ^= 1 << rng.integers(7)
        damaged.write_bytes(changed)
        try:
            assert lab.Sweep.load(damaged) == measured  # a byte that says nothing, such as a space
        except ValueError as error:
            assert f"damaged_{name}" in str(error)  # noqa: PT017 - either is right


def rewritten(path: Path, change: Any) -> None:
    """Changes what a file holds, with a hash that fits again."""
    found = json.loads(path.read_text())
    change(found)
    content = {part: found.get(part) for part in ("host", "plan", "samples")}
    found["sha256"] = results._digest(content)
    path.write_text(json.dumps(found, indent=2))


def test_a_field_that_a_later_version_added_is_left_out(measured: lab.Sweep, tmp_path: Path) -> None:
    measured.save(tmp_path / "a.json")

    def add(found: dict[str, Any]) -> None:
        for part in (
            found,
            found["host"],
            found["plan"],
            found["plan"]["cells"][0],
            found["host"]["caches"][0],
        ):
            part["of a later version"] = [1]

    rewritten(tmp_path / "a.json", add)
    assert lab.Sweep.load(tmp_path / "a.json") == measured


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found["plan"].pop("seed"),
        lambda found: found["host"].pop("caches"),
        lambda found: found.pop("samples"),
        lambda found: found["samples"]["columns"]["ticks"].update(values=[1]),
        lambda found: found["samples"]["columns"]["ticks"].update(values=[{}] * 24),
        lambda found: found["samples"]["columns"]["ticks"].update(dtype="O"),
        lambda found: found["samples"]["columns"]["ticks"].update(dtype="nonsense"),
        lambda found: found["samples"]["columns"]["cell"]["values"].__setitem__(0, 99),
        lambda found: found["plan"].update(cells=[]),
        lambda found: found.update(host=None),
    ],
)
def test_what_lacks_something_is_refused_by_name(change: Any, measured: lab.Sweep, tmp_path: Path) -> None:
    measured.save(tmp_path / "lacking.json")
    rewritten(tmp_path / "lacking.json", change)
    with pytest.raises(ValueError, match=r"lacking\.json lacks what this version needs"):
        lab.Sweep.load(tmp_path / "lacking.json")


def test_another_schema_is_refused(
    measured: lab.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = results.SCHEMA + 1
    monkeypatch.setattr(results, "SCHEMA", newer)
    measured.save(tmp_path / "new.json")
    monkeypatch.undo()
    with pytest.raises(
        ValueError, match=rf"new\.json has schema {newer}, this version reads {results.SCHEMA}"
    ):
        lab.Sweep.load(tmp_path / "new.json")


# Where it is saved


def test_the_target_is_asked_for_before(measured: lab.Sweep, tmp_path: Path) -> None:
    assert results.check_target(tmp_path / "a.json") == tmp_path / "a.json"
    assert list(tmp_path.iterdir()) == []
    for ask in (results.check_target, measured.save):
        with pytest.raises(
            ValueError, match=r"saved as \.json or \.json\.gz, not as 'x\.csv'; frame\(\)\.to_csv"
        ):
            ask(tmp_path / "x.csv")
        with pytest.raises(FileNotFoundError, match=r"the folder .*absent is not there; make it first"):
            ask(tmp_path / "absent" / "a.json")
        (tmp_path / "folder.json").mkdir(exist_ok=True)
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            ask(tmp_path / "folder.json")
    with pytest.raises(PermissionError, match=r"/proc/a\.json can't be saved"):
        results.check_target("/proc/a.json")


def test_half_written_file_never_replaces_a_good_one(
    measured: lab.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    measured.save(path)
    before = path.read_bytes()

    def dies(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", dies)
    with pytest.raises(KeyboardInterrupt):
        measured.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_packed_files_are_reproducible(measured: lab.Sweep, tmp_path: Path) -> None:
    measured.save(tmp_path / "a.json.gz")
    first = (tmp_path / "a.json.gz").read_bytes()
    measured.save(tmp_path / "a.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == first
    assert json.loads(gzip.decompress(first))["schema"] == results.SCHEMA


def test_sweeps_below_each_other(measured: lab.Sweep) -> None:
    both = lab.concat([measured, measured])
    assert len(both) == 2 * len(measured.frame())
    assert set(both["host"]) == {f"{measured.host.cpu}, {measured.host.compiler}"}
    with pytest.raises(ValueError, match="at least one"):
        lab.concat([])
