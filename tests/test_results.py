"""Sweeps on disk: what is saved comes back; what is not a sweep says so; a broken write changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastcksum import lab
from fastcksum.lab._figures import results as _results

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def measured() -> lab.Sweep:
    return lab.sweep(["reference", "nothing"], [20, 1500], rounds=3, seed=9)


def test_round_trip(measured: lab.Sweep, tmp_path: Path) -> None:
    measured.save(tmp_path / "a.parquet")
    again = lab.Sweep.load(tmp_path / "a.parquet")
    assert again.host == measured.host
    assert again.plan == measured.plan
    assert again.samples.dtype == measured.samples.dtype
    np.testing.assert_array_equal(again.samples, measured.samples)
    assert again.text() == measured.text()
    pd.testing.assert_frame_equal(again.frame(), measured.frame())


def test_any_reader_of_parquet_sees_the_samples(measured: lab.Sweep, tmp_path: Path) -> None:
    measured.save(tmp_path / "a.parquet")
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert list(frame["ticks"]) == list(measured.samples["ticks"])
    facts = json.loads(pq.read_metadata(tmp_path / "a.parquet").metadata[b"fastcksum"])
    assert facts["schema"] == 2
    assert facts["host"]["cpu"] == measured.host.cpu
    assert facts["plan"]["kernels"][0]["code_sha256"] == measured.plan.kernels[0]["code_sha256"]


def test_other_files_are_refused(measured: lab.Sweep, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("Aligned 20 3.0 0.15\n" * 10)
    with pytest.raises(ValueError, match="text is not a saved sweep: "):
        lab.Sweep.load(text)
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), other)
    with pytest.raises(
        ValueError, match=r"other\.parquet is a Parquet file, but not one that Sweep\.save\(\) wrote"
    ):
        lab.Sweep.load(other)
    with pytest.raises(FileNotFoundError):
        lab.Sweep.load(tmp_path / "absent")
    good = tmp_path / "good.parquet"
    measured.save(good)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good.read_bytes()[:-50])
    with pytest.raises(ValueError, match="is not a saved sweep"):
        lab.Sweep.load(cut)


def test_another_schema_is_refused(
    measured: lab.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_results, "SCHEMA", 3)
    measured.save(tmp_path / "new.parquet")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"new\.parquet has schema 3, this version reads 2"):
        lab.Sweep.load(tmp_path / "new.parquet")


def test_half_written_file_never_replaces_a_good_one(
    measured: lab.Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    measured.save(path)
    before = path.read_bytes()

    def dies(table: object, file: object) -> None:
        file.write(b"PAR1 half")  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "write_table", dies)
    with pytest.raises(KeyboardInterrupt):
        measured.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_sweeps_below_each_other(measured: lab.Sweep) -> None:
    both = lab.concat([measured, measured])
    assert len(both) == 2 * len(measured.frame())
    assert set(both["host"]) == {f"{measured.host.cpu}, {measured.host.compiler}"}
    with pytest.raises(ValueError, match="at least one"):
        lab.concat([])
