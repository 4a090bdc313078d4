# SPDX-License-Identifier: Apache-2.0
"""vocabulary_tables.py: tables between strings and indices: of lists and of the lines of files,
with hash buckets for strings out of vocabulary."""

from __future__ import annotations

import collections

from situ._src.framework import style
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.lookup_ops import (
    BucketTable,
    HashTable,
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
    quoted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike


@export(v1="contrib.lookup.HasherSpec")
class HasherSpec(collections.namedtuple("HasherSpec", ["hasher", "key"])):
    """A hash function of strings and its key."""

    __slots__ = ()


FastHashSpec = export(v1="contrib.lookup.FastHashSpec")(HasherSpec("fasthash", None))


@export(v1="contrib.lookup.StrongHashSpec")
class StrongHashSpec(HasherSpec):
    """A keyed hash function, SipHash, with a key of two unsigned integers."""

    __slots__ = ()

    def __new__(cls, key):
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {len(key)}")
        if not all(isinstance(k, int) for k in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


@export(v1="contrib.lookup.IdTableWithHashBuckets")
class IdTableWithHashBuckets(BucketTable):
    """A table to ids; keys out of vocabulary are hashed to buckets after the ids.

    Args:
      table: The table of the ids, or None.
      num_oov_buckets: The number of buckets.
      hasher_spec: The hash function.
      name: The name of the table.
      key_dtype: The type of the keys; by default that of `table`.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: Any = FastHashSpec,
        name: str | None = None,
        key_dtype: DTypeLike = None,
    ):
        if table is None and num_oov_buckets <= 0:
            raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
        super().__init__(table, num_oov_buckets, key_dtype)
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"`hasher_spec` must be of type HasherSpec, got {type(hasher_spec)}.")
        self._hasher_spec = hasher_spec
        name = (name or "").rstrip("/") or ("hash_bucket" if table is None else table.name)
        self._name = name.split("/")[-1]

    def _bucket(self, strings):
        if self._hasher_spec.hasher == "fasthash":
            return super()._bucket(strings)
        if self._hasher_spec.hasher == "stronghash":
            return op(
                "StringToHashBucketStrong",
                strings,
                num_buckets=self._num_oov_buckets,
                key=list(self._hasher_spec.key),
                name="hash_bucket",
            )
        raise ValueError(f"Found unknown hasher {self._hasher_spec.hasher} in `hasher_spec`.")


def _check_sizes(vocab_size, num_oov_buckets, file):
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        joined = ". vocabulary_file" if style.is_graph() else " for vocabulary_file"
        raise ValueError(
            quoted(f"`vocab_size` must be greater than 0, got {vocab_size}{joined}: {file}.")
        )


def _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype, name):
    if not num_oov_buckets:
        return table
    return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, name, key_dtype)


def _index_table_from_tensor(
    vocabulary_list, num_oov_buckets, default_value, hasher_spec, dtype, name
):
    if vocabulary_list is None:
        raise ValueError(quoted("`vocabulary_list` must be specified."))
    _check_sizes(None, num_oov_buckets, None)
    dtype = as_dtype(dtype)
    if not dtype.is_integer and dtype.name != "string":
        raise TypeError("`dtype` must either be integer or string.")
    with scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            expected = "integer" if dtype.is_integer else "non-integer"
            raise ValueError(f"Invalid `dtype`: Expected {expected}, got {keys.dtype!r}.")
        if not dtype.is_integer and keys.dtype != dtype:
            raise ValueError(f"Invalid `dtype`: Expected {dtype!r}, got {keys.dtype!r}.")
        values = op(
            "Range", constant(0, "int64"), op("Size", keys, out_type="int64"), constant(1, "int64")
        )
        table_keys = cast(keys, "int64") if keys.dtype.is_integer else keys
        init = KeyValueTensorInitializer(table_keys, values, name="table_init")
        table = HashTable(init, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, dtype, name)


@export("python.ops.lookup_ops.index_table_from_tensor")
def index_table_from_tensor(
    vocabulary_list: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: DTypeLike = "string",
    name: str | None = None,
) -> Any:
    """Returns a table from strings or integers to their indices in a list.

    Args:
      vocabulary_list: The strings or integers.
      num_oov_buckets: The number of buckets of other keys.
      default_value: The index of other keys if there are no buckets.
      hasher_spec: The hash function of the buckets.
      dtype: The type of the keys.
      name: The name of the table.

    Returns:
      The table.
    """
    return _index_table_from_tensor(
        vocabulary_list, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


@export(v1="contrib.lookup.index_table_from_tensor")
def contrib_index_table_from_tensor(
    mapping: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    dtype: DTypeLike = "string",
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """Returns a table from strings or integers to their indices in a list, as
    `index_table_from_tensor`; `mapping` is the list.

    Args:
      mapping: Vector of the keys, in the order of their indices.
      num_oov_buckets: The number of buckets.
      default_value: The index of other keys if there are no buckets.
      hasher_spec: The hash function.
      dtype: The type of the keys.
      name: The name of the table.
      vocabulary_list: The name of `mapping` in TensorFlow 1.
    """
    return _index_table_from_tensor(
        vocabulary_list if mapping is None else mapping,
        num_oov_buckets,
        default_value,
        hasher_spec,
        dtype,
        name,
    )


def _check_file(vocabulary_file):
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")


@export("python.ops.lookup_ops.index_table_from_file", v1="contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: int = -1,
    hasher_spec: Any = FastHashSpec,
    key_dtype: DTypeLike = "string",
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from the lines of a file, or a column of them, to their line numbers, or to
    the integers of another column.

    Args:
      vocabulary_file: The file.
      num_oov_buckets: The number of buckets of other keys.
      vocab_size: The number of lines to read; all by default.
      default_value: The index of other keys if there are no buckets.
      hasher_spec: The hash function of the buckets.
      key_dtype: The type of the keys.
      name: The name of the table.
      key_column_index: The column of the keys, or a constant of TextFileIndex.
      value_column_index: The column of the values, or a constant of TextFileIndex.
      delimiter: The character between columns.

    Returns:
      The table.
    """
    _check_file(vocabulary_file)
    _check_sizes(vocab_size, num_oov_buckets, vocabulary_file)
    key_dtype = as_dtype(key_dtype)
    if not key_dtype.is_integer and key_dtype.name != "string":
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with scope(name, "string_to_index"):
        init = TextFileInitializer(
            vocabulary_file,
            "int64" if key_dtype.is_integer else key_dtype,
            key_column_index,
            "int64",
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        table = HashTable(init, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype, name)


def _index_to_string_table_from_tensor(vocabulary_list, default_value, name):
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with scope(name, "index_to_string"):
        values = convert_to_tensor(vocabulary_list, "string")
        keys = op(
            "Range",
            constant(0, "int64"),
            op("Size", values, out_type="int64"),
            constant(1, "int64"),
        )
        init = KeyValueTensorInitializer(keys, values, name="table_init")
        return HashTable(init, default_value)


@export("python.ops.lookup_ops.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: str = "UNK", name: str | None = None
) -> Any:
    """Returns a table from indices to the strings of a list.

    Args:
      vocabulary_list: The strings.
      default_value: The string of other indices.
      name: The name of the table.

    Returns:
      The table.
    """
    return _index_to_string_table_from_tensor(vocabulary_list, default_value, name)


@export(v1="contrib.lookup.index_to_string_table_from_tensor")
def contrib_index_to_string_table_from_tensor(
    mapping: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """Returns a table from indices to the strings of a list, as
    `index_to_string_table_from_tensor`; `mapping` is the list.

    Args:
      mapping: Vector of the keys, in the order of their indices.
      default_value: The string of other indices.
      name: The name of the table.
      vocabulary_list: The name of `mapping` in TensorFlow 1.
    """
    words = vocabulary_list if mapping is None else mapping
    return _index_to_string_table_from_tensor(words, default_value, name)


@export(
    "python.ops.lookup_ops.index_to_string_table_from_file",
    v1="contrib.lookup.index_to_string_table_from_file",
)
def index_to_string_table_from_file(
    vocabulary_file: Any = None,
    vocab_size: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from line numbers, or the integers of a column, to the lines of a file, or
    another column.

    Args:
      vocabulary_file: The file.
      vocab_size: The number of lines to read; all by default.
      default_value: The string of other indices.
      name: The name of the table.
      key_column_index: The column of the keys, or a constant of TextFileIndex.
      value_column_index: The column of the values, or a constant of TextFileIndex.
      delimiter: The character between columns.

    Returns:
      The table.
    """
    _check_file(vocabulary_file)
    _check_sizes(vocab_size, 0, vocabulary_file)
    with scope(name, "index_to_string"):
        init = TextFileInitializer(
            vocabulary_file,
            "int64",
            key_column_index,
            "string",
            value_column_index,
            vocab_size,
            delimiter,
            "table_init",
        )
        return HashTable(init, default_value)


@export("python.ops.lookup_ops.TextFileIdTableInitializer")
class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a table from the lines of a file to their line numbers."""

    def __init__(
        self,
        filename: str,
        key_column_index: Any = TextFileIndex.WHOLE_LINE,
        value_column_index: Any = TextFileIndex.LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_id_table_init",
        key_dtype: DTypeLike = "string",
    ):
        super().__init__(
            filename,
            key_dtype,
            key_column_index,
            "int64",
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


@export("python.ops.lookup_ops.TextFileStringTableInitializer")
class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a table from line numbers to the lines of a file."""

    def __init__(
        self,
        filename: str,
        key_column_index: Any = TextFileIndex.LINE_NUMBER,
        value_column_index: Any = TextFileIndex.WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = "text_file_string_table_init",
    ):
        super().__init__(
            filename,
            "int64",
            key_column_index,
            "string",
            value_column_index,
            vocab_size,
            delimiter,
            name,
        )


for _item in (HasherSpec, FastHashSpec, StrongHashSpec, IdTableWithHashBuckets):
    _name = "FastHashSpec" if _item is FastHashSpec else _item.__name__
    export(f"python.ops.lookup_ops.{_name}")(_item)
