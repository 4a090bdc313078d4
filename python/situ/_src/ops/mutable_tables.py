# SPDX-License-Identifier: Apache-2.0
"""mutable_tables.py: tf.lookup.experimental: tables that ops insert into and remove from, and their
checkpoints."""

from __future__ import annotations

import _situ
from situ._src.framework import default_session
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, scope
from situ._src.framework.scopes import init_scope
from situ._src.ops.array_ops import convert_to_tensor, op, placeholder
from situ._src.ops.lookup_ops import (
    LookupInterface,
    add_to_collection,
    handles,
    mismatch,
    of_values,
    set_shape,
    unique_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
    )


def _add_dimensions(shape, rank, more):
    """Returns a static shape without its last `rank` dimensions, followed by `more`."""
    if shape.rank is None:
        return None
    return [*shape.as_list()[: shape.rank - rank], *more]


class MutableTable(LookupInterface):
    """What the mutable tables have in common; `_create` returns the handle."""

    _key_rank = 0

    def __init__(self, key_dtype, value_dtype, default_value, name, checkpoint, anonymous):
        super().__init__(key_dtype, value_dtype)
        self._name, self._saves, self._anonymous = name, checkpoint, anonymous
        self._restored: dict = {}
        with init_scope():
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
            self._value_shape = self._default_value.shape
            self._resource_handle = self._create()
        if _situ.current_graph() is None:
            handles[id(self._resource_handle)] = self
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self)

    def _types(self):
        """Returns the attributes of the op that creates the table."""
        attrs = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype}
        if self._anonymous:
            return attrs
        if _situ.current_graph() is None:
            return {**attrs, "shared_name": unique_name("table")}
        return {**attrs, "use_node_name_sharing": self._saves}

    def size(self, name: str | None = None) -> Any:
        """Returns the number of keys."""
        with scope(name, f"{self.name}_Size"):
            return op("LookupTableSizeV2", self._resource_handle)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Inserts keys and values, replacing values of existing keys.

        Args:
          keys: The keys.
          values: Their values.
          name: The name of the op.

        Returns:
          The op, in a graph.

        Raises:
          TypeError: keys or values have another type than those of the table.
        """
        with scope(name, f"{self.name}_lookup_table_insert"):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            return op("LookupTableInsertV2", self._resource_handle, keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Removes keys; those that are missing are ignored.

        Args:
          keys: The keys.
          name: The name of the op.

        Returns:
          The op, in a graph.

        Raises:
          TypeError: the keys have another type than those of the table.
        """
        if hasattr(keys, "dtype") and as_dtype(keys.dtype) != self._key_dtype:
            raise TypeError(mismatch(self._key_dtype, keys.dtype))
        with scope(name, f"{self.name}_lookup_table_remove"):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            return op("LookupTableRemoveV2", self._resource_handle, keys)

    def _lookup(self, keys, default, name):
        def find(flat):
            found = op("LookupTableFindV2", self._resource_handle, flat, default)
            shape = _add_dimensions(flat.shape, self._key_rank, self._value_shape.as_list())
            return set_shape(found, shape)

        with scope(name, f"{self.name}_lookup_table_find"):
            if not hasattr(keys, "flat_values") and not hasattr(keys, "dense_shape"):
                keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            return of_values(self._checked(keys), find)

    def export(self, name: str | None = None) -> Any:
        """Returns all keys and values as tensors."""
        with scope(name, f"{self.name}_lookup_table_export_values"):
            keys, values = op(
                "LookupTableExportV2",
                self._resource_handle,
                Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )
            keys = set_shape(keys, [None] * (1 + self._key_rank))
            return keys, set_shape(values, [None, *self._value_shape.as_list()])

    def _import(self, keys, values, session=None):
        """Replaces the contents with arrays, in a session if the table is in a graph."""
        if isinstance(self._resource_handle, _situ.EagerTensor):
            op("LookupTableImportV2", self._resource_handle, keys, values)
            return
        with self._resource_handle.graph.as_default(), init_scope():
            if not hasattr(self, "_importer"):
                feeds = [placeholder(self._key_dtype), placeholder(self._value_dtype)]
                self._importer = feeds, op("LookupTableImportV2", self._resource_handle, *feeds)
        feeds, operation = self._importer
        (session or default_session.current()).run(operation, dict(zip(feeds, (keys, values))))

    def _checkpoint_parts(self):
        """Returns what tf.train.Checkpoint saves, by TensorFlow's checkpoint keys."""
        return {"table-keys": _Part(self, 0), "table-values": _Part(self, 1)} if self._saves else {}

    def _saved_tensors(self):
        """Returns what tf.compat.v1.train.Saver saves, by TensorFlow's suffixes."""
        with init_scope():
            return dict(zip(("-keys", "-values"), self.export()))

    def _restore(self, number, array):
        """Stores the keys or values of a checkpoint; when both are restored they replace the
        contents."""
        self._restored[number] = array
        if len(self._restored) == 2:
            self._import(self._restored.pop(0), self._restored.pop(1))


class _Part:
    """The keys (0) or values (1) of a table as a checkpoint entry."""

    def __init__(self, table, number):
        self._table, self._number = table, number

    def numpy(self):
        tensor = self._table.export()[self._number]
        if isinstance(tensor, _situ.EagerTensor):
            return tensor.numpy()
        return default_session.current().run(tensor)

    def give(self, array):
        """Restores the entry from an array."""
        self._table._restore(self._number, array)

    def __repr__(self):
        return f"<{type(self._table).__name__} '{self._table.name}'>"


@export("lookup.experimental.MutableHashTable", v1=("contrib.lookup.MutableHashTable",))
class MutableHashTable(MutableTable):
    """A table that ops insert into and remove from.

    Args:
      key_dtype: The type of the keys.
      value_dtype: The type of the values.
      default_value: The value of missing keys; all values have its shape.
      name: The name of the table.
      checkpoint: Whether checkpoints have its contents.
      experimental_is_anonymous: Whether the table has no name by which others find it.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Any,
        name: str | None = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ):
        super().__init__(
            key_dtype, value_dtype, default_value, name, checkpoint, experimental_is_anonymous
        )

    def _create(self):
        kind = ("Anonymous" if self._anonymous else "") + "MutableHashTable"
        suffix, attrs = "" if self._anonymous else "V2", self._types()
        if self._value_shape.rank == 0:
            return op(kind + suffix, **attrs, name=self._name)
        return op(
            kind + "OfTensors" + suffix, **attrs, value_shape=self._value_shape, name=self._name
        )

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """Returns the value of each key, or the default.

        Args:
          keys: The keys, of any shape.
          dynamic_default_values: Values of missing keys: one for all, or one for each key.
          name: The name of the op.

        Returns:
          The values.
        """
        default = self._default_value
        if dynamic_default_values is not None:
            default = convert_to_tensor(dynamic_default_values, self._value_dtype)
        return self._lookup(keys, default, name)


@export("lookup.experimental.DenseHashTable", v1="contrib.lookup.MutableDenseHashTable")
class DenseHashTable(MutableTable):
    """A mutable table whose keys may be vectors. `empty_key` and `deleted_key` cannot be keys.

    Args:
      key_dtype: The type of the keys.
      value_dtype: The type of the values.
      default_value: The value of missing keys; all values have its shape.
      empty_key: The key of empty buckets; all keys have its shape.
      deleted_key: The key of buckets whose key was removed.
      initial_num_buckets: A power of 2, at least 4.
      name: The name of the table.
      checkpoint: Whether checkpoints have its contents.
      experimental_is_anonymous: Whether the table has no name by which others find it.

    Raises:
      InvalidArgumentError: the keys are equal or have different shapes, or the number of buckets is
        not a power of 2.
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: Any = None,
        name: str | None = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ):
        self._reserved, self._buckets = (empty_key, deleted_key), initial_num_buckets
        super().__init__(
            key_dtype, value_dtype, default_value, name, checkpoint, experimental_is_anonymous
        )

    def _create(self):
        empty, deleted = (convert_to_tensor(k, self._key_dtype) for k in self._reserved)
        self._key_rank = empty.shape.rank or 0
        attrs = self._types()
        del attrs["key_dtype"]  # that of the keys
        if self._buckets is not None:
            attrs["initial_num_buckets"] = self._buckets
        return op(
            "AnonymousMutableDenseHashTable" if self._anonymous else "MutableDenseHashTableV2",
            empty,
            deleted,
            **attrs,
            value_shape=self._value_shape,
            name=self._name,
        )

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the value of each key, or the default."""
        return self._lookup(keys, self._default_value, name)

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Inserts keys and values, as `insert`."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Any:
        """Removes keys, as `remove`."""
        return self.remove(keys, name)
