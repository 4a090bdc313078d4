# SPDX-License-Identifier: Apache-2.0
"""lookup.py: tables that never change, from words to numbers and back.

A table is two constants; Unique tells which key an element is, as the keys come first in what it
looks at. So a table needs no initializer, and a graph with tables can be written to a file.
"""
import numpy

from situ._lib.api import export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op
from situ._lib.dtypes import as_dtype
from situ._lib.graph import scope
from situ._lib.keywords import unsupported


def positions(keys, count, values):
    """Where each value stands among `count` different keys: its number; others: count and more."""
    flat = op("Reshape", values, [-1])
    _, places = op("Unique", op("ConcatV2", [keys, flat], 0), out_idx="int64")
    return op("Reshape", op("Slice", places, [count], [-1]), op("Shape", values))


def _lines(path, size=None):
    with open(path, "rb") as file:
        lines = [line.rstrip(b"\r\n") for line in file.read().split(b"\n")]
    lines = lines[:-1] if lines and not lines[-1] else lines
    return lines if size is None else lines[:size]


def _distinct(keys):
    seen = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"HashTable has different value for same key. Key {key} is there "
                             "twice.")
        seen.add(key)


class Table:
    """Keys with values; a default for all others, or buckets for words that are not there."""

    def __init__(self, keys, values, default, buckets=0, name=None):
        keys, values = numpy.asarray(keys), None if values is None else numpy.asarray(values)
        _distinct(keys.tolist())
        self._count, self._buckets = len(keys), buckets
        with scope(name, "hash_table"):
            self._keys = constant(keys, "string" if keys.dtype.kind in "OSU" else keys.dtype)
            self._values = None if values is None else constant(
                values, "string" if values.dtype.kind in "OSU" else values.dtype)
        self.default_value, self.name = default, name or "hash_table"

    key_dtype = property(lambda s: s._keys.dtype)
    value_dtype = property(lambda s: as_dtype("int64") if s._values is None else s._values.dtype)

    @property
    def initializer(self):
        return op("NoOp")

    init = initializer

    def size(self, name=None):
        return constant(self._count + self._buckets, "int64", name=name)

    def lookup(self, keys, name=None):
        """The value of each key."""
        with scope(name, "hash_table_Lookup"):
            keys = convert_to_tensor(keys)
            if keys.dtype != self.key_dtype:
                keys = cast(keys, self.key_dtype) if keys.dtype.name != "string" and \
                    self.key_dtype.name != "string" else keys
            if keys.dtype != self.key_dtype:
                raise TypeError("Signature mismatch. Keys must be dtype "
                                f"{self.key_dtype}, got {keys.dtype}.")
            places = positions(self._keys, self._count, keys)
            known = op("Less", places, constant(self._count, "int64"))
            if self._values is not None:
                inside = op("Minimum", places, constant(max(self._count - 1, 0), "int64"))
                found = op("GatherV2", self._values, inside, 0)
                return self._chosen(known, found, self.default_value)
            if self._buckets:
                words = keys if keys.dtype.name == "string" else op("AsString", keys)
                other = op("StringToHashBucketFast", words, num_buckets=self._buckets) + \
                    constant(self._count, "int64")
                return op("SelectV2", known, places, other)
            return self._chosen(known, places, self.default_value)

    def _chosen(self, known, found, default):
        if found.dtype.name != "string":
            return op("SelectV2", known, found, convert_to_tensor(default, found.dtype))
        both = op("ConcatV2", [constant([default], "string"), op("Reshape", found, [-1])], 0)
        size = op("Size", found, out_type="int64")
        at = op("Reshape", op("Range", constant(1, "int64"), size + constant(1, "int64"),
                              constant(1, "int64")), op("Shape", found))
        return op("GatherV2", both, op("SelectV2", known, at, constant(0, "int64")), 0)

    __getitem__ = lookup


@export("lookup.KeyValueTensorInitializer", v1="contrib.lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer:
    """Keys and values that are known."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        self.keys, self.values = (_array(v, t or _usual_type(v)) for v, t in (
            (keys, key_dtype), (values, value_dtype)))


def _usual_type(values):
    """The type that numbers of Python become as tensors; None for everything that has a type."""
    flat = numpy.asarray(values, object).ravel() if isinstance(values, (list, tuple)) else [values]
    kinds = {type(v) for v in flat}
    if kinds and kinds <= {int, float}:
        return "float32" if float in kinds else "int32"
    return None


def _array(values, dtype):
    from situ._lib.tensors import constant_value
    known = constant_value(values) if hasattr(values, "dtype") and not \
        isinstance(values, numpy.ndarray) else None
    array = numpy.asarray(values if known is None else known)
    kind = as_dtype(dtype).name if dtype is not None else None
    if array.dtype.kind == "U":
        return numpy.char.encode(array, "utf-8")
    return array if kind in (None, "string") else array.astype(as_dtype(dtype).as_numpy_dtype)


@export("lookup.StaticHashTable", v1=("contrib.lookup.HashTable", "lookup.HashTable"))
class HashTable(Table):
    """A table of an initializer's keys and values."""

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        super().__init__(initializer.keys, initializer.values, default_value, name=name)


def _vocabulary(words, dtype):
    array = _array(words, None)
    if array.dtype.kind in "if" and dtype is not None:
        return array.astype(as_dtype(dtype).as_numpy_dtype)
    return array


@export(v1=("contrib.lookup.index_table_from_tensor",))
def index_table_from_tensor(mapping=None, num_oov_buckets=0, default_value=-1, hasher_spec=None,
                            dtype="string", name=None, vocabulary_list=None):
    """From words to their numbers in a list."""
    _check_hasher(hasher_spec)
    words = vocabulary_list if mapping is None else mapping
    if words is None:
        raise ValueError("vocabulary_list must be specified.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    array = _vocabulary(words, "int64")
    return Table(array, None, default_value, num_oov_buckets, name or "string_to_index")


def _check_hasher(spec):
    """Only the fast hash is there: another one would give other buckets."""
    if spec is not None and getattr(spec, "hasher", spec) != "fasthash":
        unsupported("index_table", hasher_spec=(spec, None))


@export(v1="contrib.lookup.index_table_from_file")
def index_table_from_file(vocabulary_file=None, num_oov_buckets=0, vocab_size=None,
                          default_value=-1, hasher_spec=None, key_dtype="string", name=None,
                          key_column_index=-2, value_column_index=-1, delimiter="\t"):
    """From words to the numbers of their lines."""
    _check_hasher(hasher_spec)
    unsupported("index_table_from_file", key_column_index=(key_column_index, -2),
                value_column_index=(value_column_index, -1))
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    lines = _lines(vocabulary_file, vocab_size)
    keys = numpy.array(lines, object) if as_dtype(key_dtype).name == "string" else \
        numpy.array([int(x) for x in lines], numpy.int64)
    return Table(keys, None, default_value, num_oov_buckets, name or "string_to_index")


@export(v1="contrib.lookup.index_to_string_table_from_tensor")
def index_to_string_table_from_tensor(mapping=None, default_value="UNK", name=None,
                                      vocabulary_list=None):
    """From numbers to words."""
    words = _vocabulary(vocabulary_list if mapping is None else mapping, None)
    return Table(numpy.arange(len(words)), words, default_value, name=name or "index_to_string")


@export(v1="contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(vocabulary_file=None, vocab_size=None, default_value="UNK",
                                    name=None, key_column_index=-1, value_column_index=-2,
                                    delimiter="\t"):
    """From numbers of lines to what they say."""
    unsupported("index_to_string_table_from_file", key_column_index=(key_column_index, -1),
                value_column_index=(value_column_index, -2))
    if not vocabulary_file:
        raise ValueError("vocabulary_file must be specified.")
    return index_to_string_table_from_tensor(
        numpy.array(_lines(vocabulary_file, vocab_size), object), default_value, name)
