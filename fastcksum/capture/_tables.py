"""Columns as the tables of other libraries: pandas, pyarrow."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from fastcksum._extras import extra

from ._columns import Columns, Row, encode_addresses

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

_CATEGORIES = ("layer", "status", "reason")
_ADDRESSES = ("src", "dst")
_NULLABLE = {
    "found": np.uint16,
    "expected": np.uint16,
    "src_port": np.uint16,
    "dst_port": np.uint16,
    "offset": np.uint32,
}


def _reals(columns: Columns, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Numbers in the type they have, and where there is none."""
    numbers = columns[name]
    missing = numbers < 0
    return np.where(missing, 0, numbers).astype(_NULLABLE[name]) if missing.any() else numbers.astype(
        _NULLABLE[name]
    ), missing


def to_frame(columns: Columns) -> pd.DataFrame:
    """A DataFrame with the names of Row."""
    pandas = extra("pandas", "Report.frame()", "lab")

    def series(name: str) -> Any:
        if name in _CATEGORIES:
            return pandas.Categorical.from_codes(columns[name], list(columns.categories[name]))
        if name in _ADDRESSES:
            return pandas.Categorical.from_codes(*encode_addresses(columns[name], columns["ip_version"]))
        if name in _NULLABLE:
            return pandas.arrays.IntegerArray(*_reals(columns, name))
        return columns[name]

    frame: pd.DataFrame = pandas.DataFrame({name: series(name) for name in Row._fields}, copy=False)
    return frame


def to_arrow(columns: Columns) -> pa.Table:
    """A table with the names of Row."""
    pyarrow = extra("pyarrow", "Report.to_arrow()", "lab")

    def array(name: str) -> Any:
        if name in _CATEGORIES:
            return pyarrow.DictionaryArray.from_arrays(columns[name], list(columns.categories[name]))
        if name in _ADDRESSES:
            codes, texts = encode_addresses(columns[name], columns["ip_version"])
            indices = pyarrow.array(codes, mask=codes < 0)
            return pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(texts, pyarrow.string()))
        if name in _NULLABLE:
            numbers, missing = _reals(columns, name)
            return pyarrow.array(numbers, mask=missing)
        return pyarrow.array(columns[name])

    table: pa.Table = pyarrow.table({name: array(name) for name in Row._fields})
    return table


def to_parquet(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Writes them to a Parquet file."""
    extra("pyarrow.parquet", "Report.to_parquet()", "lab").write_table(to_arrow(columns), os.fspath(path))
