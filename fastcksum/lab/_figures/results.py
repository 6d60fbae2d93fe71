"""Results on disk: one JSON file each, with samples, host, plan, schema number and a hash that tells damage.

Nothing but the standard library and NumPy is needed. JSON has no tuples, no keys but text and no NaN: lists come back
as tuples, other mappings are {"items": [[key, value], ...]}, a figure that is none is {"float": "nan"}.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import math
import os
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from fastcksum.lab._machine.facts import Cache, Host

from .record import Cell, Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .record import Structured

SCHEMA: Final = 3
"""Counts up when a reader of the last version could misread a file. Files of other schemas are refused."""

SUFFIXES: Final = (".json", ".json.gz")
KIND: Final = "fastcksum sweep"
_OF_CELL: Final = frozenset(field.name for field in dataclasses.fields(Cell))
_Record = TypeVar("_Record")


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path, if a result can be saved there: ask before measuring.

    ValueError for a name that doesn't end in .json or .json.gz; OSError for a folder that isn't there or can't be
    written to.
    """
    target = Path(path)
    if not target.name.endswith(SUFFIXES):
        raise ValueError(
            f"a result is saved as .json or .json.gz, not as {target.name!r}; frame().to_csv() and "
            "frame().to_parquet() write tables"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{target} can't be saved: the folder {target.parent} is not there; make it first"
        )
    if target.is_dir():
        raise IsADirectoryError(f"{target} can't be saved: it is a folder; name a file in it")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise PermissionError(f"{target} can't be saved: {target.parent}: {error.strerror}") from None
    return target


def save(samples: Structured, host: Host, plan: Plan, path: str | os.PathLike[str]) -> None:
    """Writes one file. A file of that name is replaced only when the new one is complete. Errors as check_target()."""
    target = check_target(path)
    content = {"host": facts_of(host), "plan": facts_of(plan), "samples": _columns(samples, plan.cells)}
    head = {"kind": KIND, "schema": SCHEMA, "sha256": _digest(content)}
    data = json.dumps({**head, **content}, allow_nan=False).encode()
    if target.name.endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    replace_whole(target, data)


def replace_whole(target: Path, data: bytes) -> None:
    """Writes a file. One of that name is replaced only when the new one is complete."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with unfinished.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> tuple[Structured, Host, Plan]:
    """What is in a file that save() wrote. ValueError, with the file's name, for another one and a damaged one.

    A field that a later version added is left out; a later schema is refused.
    """
    name = os.fspath(path)
    try:
        found = _parsed(Path(path).read_bytes())
    except (ValueError, EOFError, zlib.error, gzip.BadGzipFile, RecursionError) as error:
        raise ValueError(f"{name} is not a saved result, or not all of it: {error}") from error
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ValueError(f"{name} is JSON, but not a result that save() wrote")
    if found.get("schema") != SCHEMA:
        raise ValueError(
            f"{name} has schema {found.get('schema')}, this version reads {SCHEMA}: load it with the version of "
            "fastcksum that wrote it, or measure again"
        )
    content: dict[str, Any] = {part: found.get(part) for part in ("host", "plan", "samples")}
    if found.get("sha256") != _digest(content):
        raise ValueError(f"{name} is damaged: its hash is not that of what it holds")
    try:
        plan = _plan(_value(content["plan"]))
        return _structured(content["samples"], plan.cells), _host(_value(content["host"])), plan
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} lacks what this version needs of a result: {error!r}") from error


def _parsed(data: bytes) -> Any:
    if data.startswith(b"PAR1"):
        raise ValueError("it is a Parquet file, which holds a table; a result is JSON")
    return json.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)


def _digest(content: Mapping[str, Any]) -> str:
    """The hash of what a file holds, however its JSON is laid out."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# Host and plan


def facts_of(record: Any) -> Any:
    """A record as JSON has it."""
    return _plain(dataclasses.asdict(record))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and not {"items", "float"} & value.keys():
            return {key: _plain(each) for key, each in value.items()}
        return {"items": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(_value(each) for each in plain)
    if not isinstance(plain, dict):
        return plain
    if plain.keys() == {"float"}:
        return float(plain["float"])
    if plain.keys() == {"items"}:
        return {_value(key): _value(each) for key, each in plain["items"]}
    return {key: _value(each) for key, each in plain.items()}


def _record(kind: type[_Record], facts: Mapping[str, Any]) -> _Record:
    """A record of the fields that this version knows. KeyError for one that is missing and has no default."""
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    needed = [each.name for each in fields if _has_no_default(each)]
    return kind(
        **{each.name: facts[each.name] for each in fields if each.name in facts or each.name in needed}
    )


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _host(facts: dict[str, Any]) -> Host:
    return _record(Host, {**facts, "caches": tuple(_record(Cache, cache) for cache in facts["caches"])})


def _plan(facts: dict[str, Any]) -> Plan:
    return _record(Plan, {**facts, "cells": tuple(_record(Cell, cell) for cell in facts["cells"])})


# Samples: a list a column; what a sample shares with its cell is not written


def _columns(samples: Structured, cells: tuple[Cell, ...]) -> dict[str, Any]:
    stored = {name: samples[name] for name in samples.dtype.names or () if name not in _OF_CELL}
    there = [name for name in samples.dtype.names or () if name in _OF_CELL]
    for name in there:
        if not np.array_equal(_of_cells(name, cells)[samples["cell"]], samples[name]):
            raise ValueError(f"the samples' {name} is not that of their cells")
    return {
        "rows": len(samples),
        "columns": {name: _column(values) for name, values in stored.items()},
        "of_cell": there,
    }


def _column(values: Any) -> dict[str, Any]:
    """A column with its type; one value where all are the same."""
    same = len(values) > 0 and bool((values == values[0]).all())
    return {"dtype": values.dtype.str} | (
        {"every": _plain(values[0])} if same else {"values": _plain(values.tolist())}
    )


def _of_cells(name: str, cells: tuple[Cell, ...]) -> Any:
    return np.array([getattr(cell, name) for cell in cells])


def _structured(found: dict[str, Any], cells: tuple[Cell, ...]) -> Structured:
    """The samples as they were. ValueError for columns of several lengths, and for a cell that the plan lacks."""
    rows = found["rows"]
    columns = {name: _values(column, rows) for name, column in found["columns"].items()}
    index = columns["cell"]
    if rows and not 0 <= int(index.min()) <= int(index.max()) < len(cells):
        raise ValueError(f"a sample is of a cell beyond the plan's {len(cells)}")
    columns |= {name: _of_cells(name, cells)[index] for name in found["of_cell"]}
    samples = np.zeros(rows, [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        samples[name] = column
    return samples


def _values(column: dict[str, Any], rows: int) -> Any:
    dtype = np.dtype(column["dtype"])
    if dtype.kind not in "biufU":
        raise ValueError(f"a column of type {dtype}")
    if "every" in column:
        return np.full(rows, _value(column["every"]), dtype)
    given = column["values"]
    values = np.array([_value(each) for each in given] if dtype.kind == "f" else given, dtype)
    if values.shape != (rows,):
        raise ValueError(f"{len(values)} values in a column, {rows} samples")
    return values
