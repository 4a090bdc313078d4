# SPDX-License-Identifier: Apache-2.0
"""lookup_ops.py: tf.lookup: static tables, vocabularies with out-of-vocabulary buckets, mutable
tables.

A static table consists of two constants; the op Unique finds the index of a key. A mutable table is
a
Python dictionary that host functions read and write.
"""

from __future__ import annotations

import threading

import numpy

import _situ
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.script_ops import py_func

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike


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


def _distinct(keys):
    """Raises ValueError if a key occurs twice."""
    seen = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"HashTable has different value for same key. Key {key} occurs twice.")
        seen.add(key)


class Table:
    """A table of keys and values with a default, or with hash buckets for keys out of
    vocabulary."""

    def __init__(self, keys, values, default, buckets=0, name=None):
        keys, values = numpy.asarray(keys), None if values is None else numpy.asarray(values)
        _distinct(keys.tolist())
        self._count, self._buckets = len(keys), buckets
        with scope(name, "hash_table"):
            self._keys = constant(keys, "string" if keys.dtype.kind in "OSU" else keys.dtype)
            self._values = (
                None
                if values is None
                else constant(values, "string" if values.dtype.kind in "OSU" else values.dtype)
            )
        self.default_value, self.name = default, name or "hash_table"

    key_dtype = property(lambda s: s._keys.dtype)
    value_dtype = property(lambda s: as_dtype("int64") if s._values is None else s._values.dtype)

    @property
    def initializer(self):
        return op("NoOp")

    init = initializer

    def size(self, name=None):
        """Returns the number of keys and buckets."""
        return constant(self._count + self._buckets, "int64", name=name)

    def lookup(self, keys, name=None):
        """Returns the value of each key."""
        with scope(name, "hash_table_Lookup"):
            keys = convert_to_tensor(keys)
            if keys.dtype != self.key_dtype:
                keys = (
                    cast(keys, self.key_dtype)
                    if keys.dtype.name != "string" and self.key_dtype.name != "string"
                    else keys
                )
            if keys.dtype != self.key_dtype:
                raise TypeError(
                    f"Signature mismatch. Keys must be dtype {self.key_dtype}, got {keys.dtype}."
                )
            indices = key_indices(self._keys, self._count, keys)
            known = op("Less", indices, constant(self._count, "int64"))
            if self._values is not None:
                inside = op("Minimum", indices, constant(max(self._count - 1, 0), "int64"))
                values = op("GatherV2", self._values, inside, 0)
                return self._select(known, values, self.default_value)
            if self._buckets:
                strings = keys if keys.dtype.name == "string" else op("AsString", keys)
                other = op("StringToHashBucketFast", strings, num_buckets=self._buckets) + constant(
                    self._count, "int64"
                )
                return op("SelectV2", known, indices, other)
            return self._select(known, indices, self.default_value)

    def _select(self, known, values, default):
        """Returns values where `known`, else the default."""
        if values.dtype.name != "string":
            return op("SelectV2", known, values, convert_to_tensor(default, values.dtype))
        both = op("ConcatV2", [constant([default], "string"), op("Reshape", values, [-1])], 0)
        size = op("Size", values, out_type="int64")
        at = op(
            "Reshape",
            op("Range", constant(1, "int64"), size + constant(1, "int64"), constant(1, "int64")),
            op("Shape", values),
        )
        return op("GatherV2", both, op("SelectV2", known, at, constant(0, "int64")), 0)

    __getitem__ = lookup


@export("lookup.KeyValueTensorInitializer", v1="contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer:
    """Table keys and values given as tensors or lists."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        del name  # the initializer creates no op
        self.keys, self.values = (
            _array(v, t or _default_dtype(v)) for v, t in ((keys, key_dtype), (values, value_dtype))
        )


def _default_dtype(values):
    """Returns the dtype of Python numbers as tensors; None for values that have a dtype."""
    flat = numpy.asarray(values, object).ravel() if isinstance(values, (list, tuple)) else [values]
    kinds = {type(v) for v in flat}
    if kinds and kinds <= {int, float}:
        return "float32" if float in kinds else "int32"
    return None


def _array(values, dtype):
    from situ._src.framework.tensor import constant_value

    known = (
        constant_value(values)
        if hasattr(values, "dtype") and not isinstance(values, numpy.ndarray)
        else None
    )
    array = numpy.asarray(values if known is None else known)
    kind = as_dtype(dtype).name if dtype is not None else None
    if array.dtype.kind == "U":
        return numpy.char.encode(array, "utf-8")
    return array if kind in (None, "string") else array.astype(as_dtype(dtype).as_numpy_dtype)


@export("lookup.StaticHashTable", v1=("contrib.lookup.HashTable", "lookup.HashTable"))
class HashTable(Table):
    """An immutable table with the keys and values of an initializer."""

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        del shared_name  # the table is constants: to share it changes no value
        super().__init__(initializer.keys, initializer.values, default_value, name=name)


def _vocabulary(keys, dtype):
    array = _array(keys, None)
    if array.dtype.kind in "if" and dtype is not None:
        return array.astype(as_dtype(dtype).as_numpy_dtype)
    return array


@export(v1=("contrib.lookup.index_table_from_tensor",))
def index_table_from_tensor(
    mapping: Any = None,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: Any = None,
    dtype: DTypeLike = "string",
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """Returns a table from strings or integers to their indices in a list; `dtype` is the type of
    the keys."""
    _check_hasher(hasher_spec)
    words = vocabulary_list if mapping is None else mapping
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    array, dtype = _vocabulary(words, "int64"), as_dtype(dtype)
    if (array.dtype.kind in "iu") != dtype.is_integer:
        expected = "integer" if dtype.is_integer else "non-integer"
        raise ValueError(f"Invalid vocabulary dtype: expected {expected}, got {array.dtype}.")
    if not dtype.is_integer and (dtype.name == "string") != (array.dtype.kind in "OSU"):
        raise ValueError(f"Invalid vocabulary dtype: expected {dtype}, got {array.dtype}.")
    return Table(array, None, default_value, num_oov_buckets, name or "string_to_index")


def _check_hasher(spec):
    """Raises an error for any hash function but the fast one, whose buckets would differ."""
    if spec is not None and getattr(spec, "hasher", spec) != "fasthash":
        unsupported("index_table", hasher_spec=(spec, None))


@export(v1="contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: Any = None,
    default_value: int = -1,
    hasher_spec: Any = None,
    key_dtype: str = "string",
    name: str | None = None,
    key_column_index: int = -2,
    value_column_index: int = -1,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from the lines of a file, or a column of them, to their line numbers, or to
    the integers of another column."""
    _check_hasher(hasher_spec)
    if num_oov_buckets:
        unsupported("index_table_from_file", value_column_index=(value_column_index, -1))
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    file = TextFileInitializer(
        vocabulary_file,
        key_dtype,
        key_column_index,
        "int64",
        value_column_index,
        vocab_size,
        delimiter,
    )
    values = None if value_column_index == TextFileIndex.LINE_NUMBER else file.values
    return Table(file.keys, values, default_value, num_oov_buckets, name or "string_to_index")


@export(v1="contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(
    mapping: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    vocabulary_list: Any = None,
) -> Any:
    """Returns a table from indices to the strings of a list."""
    words = _vocabulary(vocabulary_list if mapping is None else mapping, None)
    return Table(numpy.arange(len(words)), words, default_value, name=name or "index_to_string")


@export(v1="contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: Any = None,
    vocab_size: Any = None,
    default_value: str = "UNK",
    name: str | None = None,
    key_column_index: int = -1,
    value_column_index: int = -2,
    delimiter: str = "\t",
) -> Any:
    """Returns a table from line numbers, or the integers of a column, to the lines of a file, or
    another column."""
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified.")
    file = TextFileInitializer(
        vocabulary_file,
        "int64",
        key_column_index,
        "string",
        value_column_index,
        vocab_size,
        delimiter,
    )
    return Table(file.keys, file.values, default_value, name=name or "index_to_string")


@export("lookup.TextFileIndex", v1="contrib.lookup.TextFileIndex")
class TextFileIndex:
    """Column indices of TextFileInitializer that stand for the whole line or the line number."""

    WHOLE_LINE, LINE_NUMBER = -2, -1


@export("lookup.TextFileInitializer", v1="contrib.lookup.TextFileInitializer")
class TextFileInitializer:
    """Table keys and values read from the lines of a file."""

    def __init__(
        self,
        filename,
        key_dtype,
        key_index,
        value_dtype,
        value_index,
        vocab_size=None,
        delimiter="\t",
        name=None,
        value_index_offset=0,
    ):
        del name  # the initializer creates no op
        lines = _lines(filename, vocab_size)
        cut = delimiter.encode() if isinstance(delimiter, str) else delimiter
        rows = [line.split(cut) for line in lines]

        def column(index, dtype):
            if index == TextFileIndex.LINE_NUMBER:
                return numpy.arange(len(lines)) + value_index_offset
            texts = lines if index == TextFileIndex.WHOLE_LINE else [row[index] for row in rows]
            kind = as_dtype(dtype)
            return (
                numpy.array(texts, object)
                if kind.name == "string"
                else numpy.array([float(t) if kind.is_floating else int(t) for t in texts])
            )

        self.keys = column(key_index, key_dtype)
        self.values = column(value_index, value_dtype)
        if as_dtype(value_dtype).name != "string":
            self.values = self.values.astype(as_dtype(value_dtype).as_numpy_dtype)


def _lookup_dtype(key_dtype, dtype):
    """Returns the dtype that lookups must have, None if it was not given."""
    if dtype is None:
        return None
    dtype = as_dtype(dtype)
    if not dtype.is_integer and dtype.name != "string":
        raise TypeError(f"Invalid `key_dtype`, expected integer or string, got {dtype!r}")
    if dtype.is_integer != key_dtype.is_integer:
        expected = "integer" if dtype.is_integer else "non-integer"
        raise TypeError(f"Invalid `key_dtype`, expected {expected} but got {key_dtype!r}.")
    return dtype


@export("lookup.StaticVocabularyTable", v1="lookup.StaticVocabularyTable")
class StaticVocabularyTable(Table):
    """A table from strings to ids; strings out of vocabulary are hashed to buckets after the
    ids."""

    def __init__(
        self,
        initializer,
        num_oov_buckets,
        lookup_key_dtype=None,
        name=None,
        experimental_is_anonymous=False,
    ):
        del experimental_is_anonymous  # the table is constants, without a resource
        if num_oov_buckets < 1:
            raise ValueError(
                f"`num_oov_buckets` must be greater than 0; received {num_oov_buckets}."
            )
        keys = numpy.array([], object) if initializer is None else initializer.keys
        values = [] if initializer is None else initializer.values
        super().__init__(keys, numpy.asarray(values, "int64"), -1, name=name)
        if initializer is None:
            lookup_key_dtype = "string"  # as in TensorFlow
        self._lookup_dtype = _lookup_dtype(self.key_dtype, lookup_key_dtype)
        self._extra = num_oov_buckets

    def size(self, name: str | None = None) -> Any:
        return constant(self._count + self._extra, "int64", name=name)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        with scope(name, f"{self.name}_Lookup"):
            keys = convert_to_tensor(keys)
            if self._lookup_dtype not in (None, keys.dtype):
                raise TypeError(
                    f"Dtype of argument `keys` must be {self._lookup_dtype}, received: {keys.dtype}"
                )
            words = keys if keys.dtype.name == "string" else op("AsString", keys)
            other = op("StringToHashBucketFast", words, num_buckets=self._extra) + constant(
                self._count, "int64"
            )
            if not self._count:
                return other
            found = super().lookup(keys)
            return op("SelectV2", op("Less", found, constant(0, "int64")), other, found)

    __getitem__ = lookup


@export("lookup.experimental.MutableHashTable", v1=("contrib.lookup.MutableHashTable",))
class MutableHashTable:
    """A table that ops insert into and remove from; the process holds its contents."""

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        name="MutableHashTable",
        checkpoint=True,
        experimental_is_anonymous=False,
    ):
        del experimental_is_anonymous  # the object holds the table, without a resource
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.name, self._contents, self._lock = name, {}, threading.Lock()
        self._saves, self._restored = checkpoint, {}
        self._default = numpy.asarray(getattr(default_value, "numpy", lambda: default_value)())

    def _kind(self):
        return object if self.value_dtype.name == "string" else self.value_dtype.as_numpy_dtype

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Any:
        """Inserts keys and values, replacing values of existing keys."""

        with scope(name, f"{self.name}_lookup_table_insert"):

            def put(keys, values):
                self._check_keys(keys.ravel().tolist())
                with self._lock:
                    rows = values.reshape(keys.size, *self._default.shape)
                    self._contents.update(
                        zip(keys.ravel().tolist(), [numpy.asarray(r) for r in rows])
                    )
                return numpy.int64(keys.size)

            result = py_func(
                put, [self._keys(keys), convert_to_tensor(values, self.value_dtype)], "int64"
            )
            return result.op if _situ.current_graph() is not None else None

    insert_or_assign = insert

    def _check_keys(self, keys):
        """Raises an error if one of the keys is reserved."""

    def _keys(self, keys):
        keys = convert_to_tensor(keys)
        return keys if keys.dtype == self.key_dtype else cast(keys, self.key_dtype)

    def remove(self, keys: Any, name: str | None = None) -> Any:
        """Removes keys."""

        with scope(name, f"{self.name}_lookup_table_remove"):

            def drop(keys):
                self._check_keys(keys.ravel().tolist())
                with self._lock:
                    for key in keys.ravel().tolist():
                        self._contents.pop(key, None)
                return numpy.int64(keys.size)

            result = py_func(drop, [self._keys(keys)], "int64")
            return result.op if _situ.current_graph() is not None else None

    erase = remove

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the value of each key, or the default."""

        with scope(name, f"{self.name}_lookup_table_find"):

            def find(keys):
                keys = numpy.asarray(keys, object if self.key_dtype.name == "string" else None)
                self._check_keys(keys.ravel().tolist())
                with self._lock:
                    found = [self._contents.get(k, self._default) for k in keys.ravel().tolist()]
                result = numpy.empty([len(found), *self._default.shape], self._kind())
                for i, value in enumerate(found):
                    result[i] = (
                        value.item() if self._kind() is object and not value.shape else value
                    )
                return result.reshape((*keys.shape, *self._default.shape))

            keys = self._keys(keys)
            result = py_func(find, [keys], self.value_dtype)
            if _situ.current_graph() is not None and keys.shape.ndims is not None:
                result.set_shape([*keys.shape.as_list(), *self._default.shape])
            return result

    __getitem__ = lookup

    def size(self, name: str | None = None) -> Any:
        """Returns the number of keys."""
        with scope(name, f"{self.name}_Size"):
            return py_func(lambda: numpy.int64(len(self._contents)), [], "int64")

    def _arrays(self):
        """Returns all keys and values as arrays."""
        with self._lock:
            keys, values = list(self._contents), list(self._contents.values())
        words = self.key_dtype.name == "string"
        result = numpy.empty([len(values), *self._default.shape], self._kind())
        for i, value in enumerate(values):
            result[i] = value.item() if value.shape == () else value
        return numpy.array(keys, object if words else self.key_dtype.as_numpy_dtype), result

    def export(self, name: str | None = None) -> Any:
        """Returns all keys and values as tensors."""
        with scope(name, f"{self.name}_lookup_table_export_values"):
            return tuple(py_func(self._arrays, [], [self.key_dtype, self.value_dtype]))

    def _checkpoint_parts(self):
        """Returns what tf.train.Checkpoint saves, by TensorFlow's checkpoint keys."""
        return {"table-keys": _Part(self, 0), "table-values": _Part(self, 1)} if self._saves else {}

    def _restore(self, number, array):
        """Stores the keys or values of a checkpoint; when both are restored they replace the
        contents."""
        self._restored[number] = array
        if len(self._restored) == 2:
            keys, values = self._restored.pop(0), self._restored.pop(1)
            with self._lock:
                self._contents = dict(
                    zip(keys.ravel().tolist(), [numpy.asarray(v) for v in values])
                )


class _Part:
    """The keys (0) or values (1) of a table as a checkpoint entry."""

    def __init__(self, table, number):
        self._table, self._number = table, number

    def numpy(self):
        return self._table._arrays()[self._number]

    def give(self, array):
        """Restores the entry from an array."""
        self._table._restore(self._number, array)

    def __repr__(self):
        return f"<{type(self._table).__name__} '{self._table.name}'>"


@export("lookup.experimental.DenseHashTable", v1="contrib.lookup.MutableDenseHashTable")
class DenseHashTable(MutableHashTable):
    """A mutable table. `empty_key` and `deleted_key` cannot be keys; `initial_num_buckets` must be
    a power of 2 and at least 4."""

    def __init__(
        self,
        key_dtype,
        value_dtype,
        default_value,
        empty_key,
        deleted_key=None,
        initial_num_buckets=None,
        name="MutableDenseHashTable",
        checkpoint=True,
    ):
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        buckets = 4 if initial_num_buckets is None else int(initial_num_buckets)
        if buckets < 4 or buckets & (buckets - 1):
            raise errors.invalid_argument(
                f"Number of buckets must be at least 4 and a power of 2, got: {buckets}"
            )
        keys = {"empty_key": empty_key, "deleted_key": deleted_key}
        self._reserved = {
            _array(key, None).item(): name for name, key in keys.items() if key is not None
        }
        if deleted_key is not None and len(self._reserved) < 2:
            raise errors.invalid_argument("Empty and deleted keys cannot be equal")

    def _check_keys(self, keys):
        for key in keys:
            if key in self._reserved:
                raise errors.InvalidArgumentError(
                    None, None, f"Using the {self._reserved[key]} as a table key is not allowed"
                )
