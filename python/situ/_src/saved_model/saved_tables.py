# SPDX-License-Identifier: Apache-2.0
"""saved_tables.py: lookup tables in saved models: their kind, types and contents."""

from __future__ import annotations

import numpy

from situ._src.ops.lookup_ops import KeyValueTensorInitializer, StaticHashTable
from situ._src.ops.mutable_tables import DenseHashTable, MutableHashTable, MutableTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def description(table: Any) -> tuple[dict, list]:
    """Returns what a file says of a table: JSON data, and arrays.

    Raises:
      NotImplementedError: it is neither a static nor a mutable table.
    """
    keys, values = table.export()
    if isinstance(table, StaticHashTable):
        return {"kind": "static"}, [keys, values, table.default_value]
    if not isinstance(table, MutableTable):
        raise NotImplementedError(f"tf.saved_model.save: {table!r} cannot be saved.")
    if not table._saves:  # the contents are not part of checkpoints
        keys, values = keys[:0], values[:0]
    data = {"kind": "mutable", "checkpoint": table._saves, "name": table._name}
    data["types"] = [table.key_dtype.name, table.value_dtype.name]
    arrays = [keys, values, table._default_value]
    if isinstance(table, DenseHashTable):
        data.update(kind="dense", buckets=table._buckets)
        arrays += [numpy.asarray(key, table.key_dtype.as_numpy_dtype) for key in table._reserved]
    return data, arrays


def made(data: dict, arrays: list) -> Any:
    """Creates the table that a file describes."""
    keys, values, default, *reserved = arrays
    if data["kind"] == "static":
        default = default.item() if default.dtype == object else default
        return StaticHashTable(KeyValueTensorInitializer(keys, values), default)
    key_dtype, value_dtype = data["types"]
    options = {"name": data["name"], "checkpoint": data["checkpoint"]}
    if data["kind"] == "dense":
        options["initial_num_buckets"] = data["buckets"]
        table: MutableTable = DenseHashTable(key_dtype, value_dtype, default, *reserved, **options)
    else:
        table = MutableHashTable(key_dtype, value_dtype, default, **options)
    table._import(keys, values)
    return table
