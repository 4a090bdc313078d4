# SPDX-License-Identifier: Apache-2.0
"""sql.py: datasets of the rows of a query of a database: tf.data.experimental.SqlDataset."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import numpy

from situ._src.data.dataset import Dataset
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.nest import DATA
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor

_TYPES = ("string", "int8", "int16", "int32", "int64", "uint8", "uint16", "bool", "float64")
_PREFIXES = {"i": rb"\s*[-+]?\d+", "f": rb"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"}


def _invalid(text: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, text)


def _text(value: Any) -> bytes:
    """Returns a value as SQLite prints it."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, float):
        shown = f"{value:.15g}"
        return (shown if re.search("[.einE]", shown) else shown + ".0").encode()
    return b"" if value is None else str(value).encode()


def _number(value: Any, kind: str) -> Any:
    """Returns a value as an integer or a float: of text the leading number, of NULL zero."""
    if isinstance(value, bytes):
        found = re.match(_PREFIXES[kind], value)
        value = (int if kind == "i" else float)(found.group()) if found else 0
    if value is None:
        return 0
    if kind == "f":
        return float(value)
    return max(-(2**63), min(2**63 - 1, int(value)))


def _cell(value: Any, dtype: Any) -> Any:
    """Converts a cell of a row to the type of its column, as SQLite does."""
    if dtype.name == "string":
        return _text(value)
    if dtype.name == "float64":
        return numpy.float64(_number(value, "f"))
    return numpy.int64(_number(value, "i")).astype(dtype.as_numpy_dtype)


def _check_driver(driver: bytes) -> None:
    if driver != b"sqlite":
        raise _invalid(
            f"The database type, {driver.decode()}, is not supported by SqlDataset. The set of "
            "supported databases is: {'sqlite'}."
        )


def _rows(driver: Any, source: Any, query: Any, types: list[Any]) -> Any:
    """Yields the rows of a query."""
    driver, source, query = (numpy.asarray(v).item() for v in (driver, source, query))
    _check_driver(driver)
    try:
        connection = sqlite3.connect(source.decode())
    except sqlite3.Error as error:
        raise _invalid(f"Failed to open {source.decode()}: {error}") from None
    try:
        connection.text_factory = bytes
        cursor = connection.execute(query.decode())
        columns = len(cursor.description or ())
        if columns != len(types):
            raise _invalid(
                f"The number of columns in query ({columns}) must match the number of elements "
                f"in output_types ({len(types)})."
            )
        for row in cursor:
            yield [_cell(value, dtype) for value, dtype in zip(row, types)]
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise errors.UnknownError(
            None, None, f"Prepare() failed: {error}: {query.decode()}"
        ) from None
    finally:
        connection.close()


@export("data.experimental.SqlDataset")
class SqlDataset(Dataset):
    """A dataset of the rows of a query of an SQLite database.

    Args:
      driver_name: "sqlite".
      data_source_name: The name of the file of the database.
      query: The query.
      output_types: A structure of the types of the columns: string, bool, float64, or integers of
        at most 64 bits, but not uint32 and uint64. Cells are converted to them as SQLite does.

    Raises:
      InvalidArgumentError: If a type or the driver is not supported; in the first step, if the
        query has another number of columns.
      UnknownError: In the first step, if the query fails.
    """

    def __new__(cls, driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> Any:
        types = [as_dtype(t) for t in DATA.flatten(output_types)]
        if any(t.name not in _TYPES for t in types):
            raise _invalid(
                "Each element of `output_types_` must be one of: DT_STRING, DT_INT8, DT_INT16, "
                "DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_BOOL, DT_DOUBLE "
            )
        spec = DATA.map(lambda t: TensorSpec([], t), output_types)

        def rows(driver: Any, source: Any, text: Any) -> Any:
            for cells in _rows(driver, source, text, types):
                yield DATA.pack(spec, cells)

        arguments = [convert_to_tensor(a, "string") for a in (driver_name, data_source_name, query)]
        if hasattr(arguments[0], "numpy"):
            _check_driver(arguments[0].numpy())
        return Dataset.from_generator(
            rows,
            output_signature=spec,
            args=tuple(arguments),
        )
