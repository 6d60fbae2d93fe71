"""Sweeps on disk: one Parquet file each, its samples as the table, host, plan and versions in the file's metadata."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fastcksum.lab._machine.facts import Cache, Host

from .record import Cell, Plan

if TYPE_CHECKING:
    from .record import Structured
    from .result import Sweep

SCHEMA: Final = 2
"""Counts up when a reader of the last version could misread a file. Files of other schemas are refused."""

_KEY: Final = b"fastcksum"


def save(samples: Structured, host: Host, plan: Plan, path: str | os.PathLike[str]) -> None:
    """Writes the sweep to one Parquet file. A file of that name is replaced only when the new one is complete."""
    target = Path(path)
    frame = pd.DataFrame({name: samples[name] for name in samples.dtype.names or ()})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    facts = {"schema": SCHEMA, "host": dataclasses.asdict(host), "plan": dataclasses.asdict(plan)}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: json.dumps(facts).encode()})
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with unfinished.open("xb") as file:
            pq.write_table(table, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> tuple[Structured, Host, Plan]:
    """The sweep in a file that save() wrote. ValueError if it is another file, damaged, or of another schema."""
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{os.fspath(path)} is not a saved sweep: {error}") from error
    text = (table.schema.metadata or {}).get(_KEY)
    if text is None:
        raise ValueError(f"{os.fspath(path)} is a Parquet file, but not one that Sweep.save() wrote")
    facts = json.loads(text)
    if facts["schema"] != SCHEMA:
        raise ValueError(
            f"{os.fspath(path)} has schema {facts['schema']}, this version reads {SCHEMA}: "
            "load it with the version of fastcksum that wrote it, or measure again"
        )
    return _structured(table.to_pandas()), _host(facts["host"]), _plan(facts["plan"])


def concat(sweeps: list[Sweep]) -> pd.DataFrame:
    """The frames of several sweeps below each other, with the columns `host` (CPU and compiler) and `started` in front.

    Ticks of different machines are different units: compare their per-core-cycle columns, or ratios within a host.
    """
    if not sweeps:
        raise ValueError("concat() needs at least one sweep")
    frames = []
    for sweep in sweeps:
        frame = sweep.frame()
        frame.insert(0, "host", f"{sweep.host.cpu}, {sweep.host.compiler}")
        frame.insert(1, "started", sweep.plan.started)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def _structured(frame: pd.DataFrame) -> Any:
    """The samples as sweep() makes them; text columns as fixed-width strings."""
    columns = {
        name: frame[name].to_numpy(dtype=str)
        if frame[name].dtype == object or str(frame[name].dtype).startswith("str")
        else frame[name].to_numpy()
        for name in frame.columns
    }
    samples = np.zeros(len(frame), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        samples[name] = column
    return samples


def _host(facts: dict[str, Any]) -> Host:
    fields = _with_tuples(facts)
    fields["caches"] = tuple(Cache(**cache) for cache in facts["caches"])
    return Host(**fields)


def _plan(facts: dict[str, Any]) -> Plan:
    fields = _with_tuples(facts)
    fields["cells"] = tuple(Cell(**cell) for cell in facts["cells"])
    fields["places"] = {
        name: tuple((kernel, loops) for kernel, loops in places) for name, places in facts["places"].items()
    }
    fields["kernels"] = tuple(_with_tuples(kernel) for kernel in facts["kernels"])
    return Plan(**fields)


def _with_tuples(facts: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples: its lists back to them."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
