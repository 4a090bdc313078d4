# SPDX-License-Identifier: Apache-2.0
"""lookup_ops.py: tf.lookup: static tables, their initializers, and vocabularies with
out-of-vocabulary buckets. Mutable tables are in mutable_tables.py, tables of vocabulary files and
lists in vocabulary_tables.py.

A table is a resource; its handle is a tensor that the ops of lookup tables take.
"""

from __future__ import annotations

import uuid
import weakref

import _situ
from situ._src.framework import style
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.scopes import init_scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
        TensorLike,
    )


def key_indices(keys, count, values):
    """Returns the index of each value among `count` distinct keys; `count` or more for other
    values."""
    flat = op("Reshape", values, [-1])
    _, indices = op("Unique", op("ConcatV2", [keys, flat], 0), out_idx="int64")
    return op("Reshape", op("Slice", indices, [count], [-1]), op("Shape", values))


def _lines(path, size=None):
    """Returns the lines of a file as bytes."""
    with open(path, "rb") as file:
        lines = [line.rstrip(b"\r\n") for line in file.read().split(b"\n")]
    lines = lines[:-1] if lines and not lines[-1] else lines
    return lines if size is None else lines[:size]


def of_values(keys, function):
    """Applies a function to a tensor, or to the values of a sparse or ragged tensor."""
    if hasattr(keys, "flat_values"):
        return keys.with_flat_values(function(keys.flat_values))
    if hasattr(keys, "dense_shape"):
        return SparseTensor(keys.indices, function(keys.values), keys.dense_shape)
    return function(keys)


def quoted(text):
    """Returns an error text as the style of the program has it: without quotes in TensorFlow 1."""
    return text.replace("`", "") if style.is_graph() else text


def mismatch(expected, dtype):
    """Returns the error text for keys of another type than those of the table."""
    if style.is_graph():
        return f"Signature mismatch. Keys must be dtype {expected}, got {dtype}."
    return f"Dtype of argument `keys` must be {expected}, received: {dtype}"


def unique_name(name):
    """Returns a name that no other resource has."""
    return f"{name}_{uuid.uuid4()}"


def add_to_collection(key, value):
    """Adds a value to a collection of the current graph, if there is one."""
    if _situ.current_graph() is not None:
        get_default_graph().add_to_collection(key, value)


def set_shape(tensor, shape):
    """Sets the static shape of a tensor of a graph."""
    if _situ.current_graph() is not None:
        tensor.set_shape(shape)
    return tensor


class LookupInterface:
    """A table from keys to values."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    key_dtype = property(lambda s: s._key_dtype)
    value_dtype = property(lambda s: s._value_dtype)
    name = property(lambda s: s._name)
    resource_handle = property(lambda s: s._resource_handle)

    def __getitem__(self, keys):
        """Looks up keys."""
        return self.lookup(keys)

    def _checked(self, keys):
        """Returns keys as a tensor, or a sparse or ragged tensor, of the key type."""
        composite = hasattr(keys, "flat_values") or hasattr(keys, "dense_shape")
        if not composite:
            keys = convert_to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype)
        kind = as_dtype(keys.values.dtype if hasattr(keys, "dense_shape") else keys.dtype)
        if kind.base_dtype != self._key_dtype:
            raise TypeError(mismatch(self._key_dtype, keys.dtype))
        return keys


@export("lookup.StaticHashTable")
class StaticHashTable(LookupInterface):
    """An immutable table with the keys and values of an initializer.

    Args:
      initializer: A KeyValueTensorInitializer or a TextFileInitializer.
      default_value: The value of keys that are missing in the table.
      name: The name of the table.
      experimental_is_anonymous: Whether the table has no name by which others find it.
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._anonymous, self._name = experimental_is_anonymous, name or "hash_table"
        self._shared_name = initializer._shared_name or unique_name("hash_table")
        self._initializer = initializer
        with init_scope():
            self.default_value = convert_to_tensor(default_value, self._value_dtype)
            if not self.default_value.shape.is_compatible_with([]):
                raise ValueError(
                    f"Shapes {self.default_value.shape} and () are incompatible: the default "
                    "value of a static table is a scalar."
                )
            self._resource_handle = self._create_resource()
            self._init_op = initializer.initialize(self)
        if _situ.current_graph() is None:
            handles[id(self._resource_handle)] = self

    def _create_resource(self):
        types = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype}
        if self._anonymous:
            return op("AnonymousHashTable", **types, name=self._name)
        return op("HashTableV2", shared_name=self._shared_name, **types, name=self._name)

    @property
    def name(self) -> Any:
        """The name of the table: that of its op in a graph, else its shared name."""
        if _situ.current_graph() is None or not hasattr(self._resource_handle, "op"):
            return self._name if self._anonymous else self._shared_name
        return self._resource_handle.op.name.split("/")[-1]

    @property
    def initializer(self) -> Any:
        """The op that initializes the table."""
        return self._init_op

    init = initializer

    def size(self, name: str | None = None) -> Any:
        """Returns the number of keys."""
        with scope(name, f"{self.name}_Size"):
            return op("LookupTableSizeV2", self._resource_handle)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the value of each key, or the default value.

        Args:
          keys: A tensor, sparse tensor or ragged tensor.
          name: The name of the op.

        Returns:
          The values, in the structure of the keys.

        Raises:
          TypeError: the keys have another type than those of the table.
        """

        def find(flat):
            found = op("LookupTableFindV2", self._resource_handle, flat, self.default_value)
            return set_shape(found, flat.shape)

        with scope(name, f"{self.name}_Lookup"):
            return of_values(self._checked(keys), find)

    def export(self, name: str | None = None) -> Any:
        """Returns all keys and values as tensors."""
        with scope(name, f"{self.name}_Export"):
            keys, values = op(
                "LookupTableExportV2",
                self._resource_handle,
                Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )
            return set_shape(keys, [None]), set_shape(values, [None])


# id of an eager handle -> its table, for tf.saved_model.save
handles: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


@export(v1=("contrib.lookup.HashTable", "lookup.HashTable", "lookup.StaticHashTable"))
class HashTable(StaticHashTable):
    """A static table with the arguments of TensorFlow 1.

    Args:
      initializer: A KeyValueTensorInitializer or a TextFileInitializer.
      default_value: The value of keys that are missing in the table.
      shared_name: The name under which sessions share the table.
      name: The name of the table.
      experimental_is_anonymous: Whether the table has no name by which others find it.
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):
        if isinstance(shared_name, str) and name is None and _situ.current_graph() is None:
            shared_name, name = None, shared_name
        self._requested = shared_name
        super().__init__(initializer, default_value, name, experimental_is_anonymous)

    def _create_resource(self):
        self._shared_name = self._requested or self._shared_name
        return super()._create_resource()


def check_table_dtypes(table: Any, key_dtype: Any, value_dtype: Any) -> None:
    """Raises TypeError unless a table has these types of keys and values."""
    for what, expected, given in (
        ("key", table.key_dtype, key_dtype),
        ("value", table.value_dtype, value_dtype),
    ):
        if as_dtype(given).base_dtype != expected:
            raise TypeError(f"Invalid {what} dtype for table, expected {expected} but got {given}.")


class TableInitializerBase:
    """What fills a static table."""

    _shared_name = ""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    key_dtype = property(lambda s: s._key_dtype)
    value_dtype = property(lambda s: s._value_dtype)


@export("lookup.KeyValueTensorInitializer", v1="contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer(TableInitializerBase):
    """Table keys and values given as tensors or lists.

    Args:
      keys: A vector of keys.
      values: A vector of as many values.
      key_dtype: The type of the keys; by default that of the tensor.
      value_dtype: The type of the values; by default that of the tensor.
      name: The name of the initializer op.
    """

    def __init__(
        self,
        keys: Any,
        values: TensorLike,
        key_dtype: DTypeLike = None,
        value_dtype: DTypeLike = None,
        name: str | None = None,
    ):
        with init_scope():
            self._keys = convert_to_tensor(keys, key_dtype, name="keys")
            self._values = convert_to_tensor(values, value_dtype, name="values")
        self._name = name or "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Any:
        """Returns the op that fills a table."""
        check_table_dtypes(table, self._keys.dtype, self._values.dtype)
        init = op(
            "InitializeTableV2", table.resource_handle, self._keys, self._values, name=self._name
        )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, init)
        return init


@export("lookup.TextFileIndex", v1="contrib.lookup.TextFileIndex")
class TextFileIndex:
    """Column indices of TextFileInitializer that stand for the whole line or the line number."""

    WHOLE_LINE, LINE_NUMBER = -2, -1


def _check_index(what, index, dtype):
    """Raises ValueError unless a column with this index can have the type."""
    if index < -2:
        raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
    if index == TextFileIndex.LINE_NUMBER and dtype.name not in ("int64", "int32"):
        raise ValueError(
            f"`{what}_dtype` must be int64 if `{what}_index` is "
            f"{TextFileIndex.LINE_NUMBER}, received: {dtype}"
        )
    if index == TextFileIndex.WHOLE_LINE and dtype.name != "string" and what == "value":
        raise ValueError(
            f"`{what}_dtype` must be string for `{what}_index` "
            f"{TextFileIndex.WHOLE_LINE}, received: {dtype}"
        )
    if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype.name == "string"):
        raise ValueError(
            f"`{what}_dtype` must be int64 or string for `{what}_index` "
            f"{TextFileIndex.WHOLE_LINE}, received: {dtype}"
        )


@export("lookup.TextFileInitializer", v1="contrib.lookup.TextFileInitializer")
class TextFileInitializer(TableInitializerBase):
    """Table keys and values read from the lines of a file when the table is initialized.

    Args:
      filename: The file, a string or a scalar tensor.
      key_dtype: The type of the keys.
      key_index: The column of the keys, or a constant of TextFileIndex.
      value_dtype: The type of the values.
      value_index: The column of the values, or a constant of TextFileIndex.
      vocab_size: The number of lines to read; all by default.
      delimiter: The character between columns.
      name: The name of the initializer op.
      value_index_offset: What is added to line numbers.
    """

    def __init__(
        self,
        filename: str,
        key_dtype: DTypeLike,
        key_index: Any,
        value_dtype: DTypeLike,
        value_index: Any,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ):
        if not hasattr(filename, "dtype") and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self._key_dtype)
        _check_index("value", value_index, self._value_dtype)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._path, self._file, self._name = filename, None, name or "text_file_init"
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter = vocab_size, delimiter
        self._offset = value_index_offset
        if _situ.current_graph() is None:
            self._file = convert_to_tensor(filename, "string")

    def initialize(self, table: Any) -> Any:
        """Returns the op that fills a table."""
        check_table_dtypes(table, self._key_dtype, self._value_dtype)
        file = self._file
        if file is None:
            file = convert_to_tensor(self._path, "string", "asset_filepath")
            if file.op.type == "Const":
                add_to_collection(GraphKeys.ASSET_FILEPATHS, file)
        init = op(
            "InitializeTableFromTextFileV2",
            table.resource_handle,
            file,
            key_index=self._key_index,
            value_index=self._value_index,
            vocab_size=-1 if self._vocab_size is None else self._vocab_size,
            delimiter=self._delimiter,
            offset=self._offset,
            name=self._name,
        )
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, init)
        return init

    @property
    def _shared_name(self):
        """A name that tables of the same columns of the same file share; unique when eager."""
        path = (
            self._path
            if isinstance(self._path, (str, bytes))
            else getattr(self._path, "name", self._path)
        )
        parts = [path, *([self._vocab_size] if self._vocab_size else [])]
        parts += [self._key_index, self._value_index, *([self._offset] if self._offset else [])]
        name = "_".join(
            ["hash_table", *(p.decode() if isinstance(p, bytes) else str(p) for p in parts)]
        )
        return name if _situ.current_graph() is not None else unique_name(name)


def check_key_dtype(table, key_dtype):
    """Returns the type that keys of a vocabulary must have, of `key_dtype` and its table."""
    key_dtype = as_dtype(
        key_dtype if key_dtype is not None else "string" if table is None else table.key_dtype
    )
    if table is not None:
        if table.key_dtype.name not in ("int64", "string"):
            raise TypeError(
                quoted(
                    "Invalid `key_dtype`, expected one of (tf.int64, tf.string), "
                    f"received {table.key_dtype!r}."
                )
            )
        if table.key_dtype.is_integer != key_dtype.is_integer:
            expected = "integer" if key_dtype.is_integer else "non-integer"
            raise TypeError(
                quoted(f"Invalid `key_dtype`, expected {expected} but got {table.key_dtype!r}.")
            )
        if table.value_dtype.name != "int64":
            raise TypeError(f"Invalid `value_dtype`: expected int64 but got {table.value_dtype!r}.")
    if not key_dtype.is_integer and key_dtype.name != "string":
        raise TypeError(
            quoted(f"Invalid `key_dtype`, expected integer or string, got {key_dtype!r}.")
        )
    return key_dtype


class BucketTable(LookupInterface):
    """A table to ids, followed by hash buckets for keys out of vocabulary. `table` may be None."""

    def __init__(self, table, num_oov_buckets, key_dtype):
        super().__init__(check_key_dtype(table, key_dtype), "int64")
        self._table, self._num_oov_buckets = table, num_oov_buckets

    @property
    def resource_handle(self):
        """The handle of the table of the vocabulary; None if there is none."""
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self):
        """The op that initializes the table."""
        return op("NoOp") if self._table is None else self._table.initializer

    init = initializer

    def size(self, name: str | None = None) -> Any:
        """Returns the number of keys and buckets."""
        with scope(name, f"{self.name}_Size"):
            buckets = constant(self._num_oov_buckets, "int64")
            return buckets if self._table is None else self._table.size() + buckets

    def _bucket(self, strings):
        """Returns the bucket of each string."""
        return op(
            "StringToHashBucketFast",
            strings,
            num_buckets=self._num_oov_buckets,
            name="hash_bucket",
        )

    def _find(self, keys):
        inner = keys
        if self._table is not None and keys.dtype != self._table.key_dtype:
            inner = cast(keys, self._table.key_dtype)
        if not self._num_oov_buckets:
            return self._table.lookup(inner)
        strings = keys if keys.dtype.name == "string" else op("AsString", keys)
        buckets = self._bucket(strings)
        if self._table is None:
            return buckets
        ids = self._table.lookup(inner)
        known = op("NotEqual", ids, self._table.default_value)
        return op("SelectV2", known, ids, buckets + self._table.size())

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the id of each key, or its bucket.

        Args:
          keys: A tensor, sparse tensor or ragged tensor.
          name: The name of the op.

        Returns:
          The ids, in the structure of the keys.

        Raises:
          TypeError: the keys have another type than those of the table.
        """
        with scope(name, f"{self.name}_Lookup"):
            return of_values(self._checked(keys), self._find)


@export("lookup.StaticVocabularyTable", v1="lookup.StaticVocabularyTable")
class StaticVocabularyTable(BucketTable):
    """A table from strings to ids; strings out of vocabulary are hashed to buckets after the ids.

    Args:
      initializer: An initializer of the ids, or None.
      num_oov_buckets: The number of buckets.
      lookup_key_dtype: The type of the keys of `lookup`; by default that of the initializer.
      name: The name of the table.
      experimental_is_anonymous: Whether the table has no name by which others find it.
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ):
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer is not None:
            check_key_dtype(initializer, lookup_key_dtype)
            table = StaticHashTable(
                initializer, -1, name, experimental_is_anonymous=experimental_is_anonymous
            )
        else:
            table, lookup_key_dtype = None, "string"
        self._name = name or (table.name if table is not None else "hash_bucket")
        super().__init__(table, num_oov_buckets, lookup_key_dtype)
