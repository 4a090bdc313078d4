# SPDX-License-Identifier: Apache-2.0
"""lookup_more.py: tables of vocabularies with words that are not there, of files, and tables that
change while a program runs."""
import threading

import numpy

import _situ
from situ._lib.api import export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op
from situ._lib.dtypes import as_dtype
from situ._lib.lookup import Table, _lines
from situ._lib.readers import py_func


@export("lookup.TextFileIndex", v1="contrib.lookup.TextFileIndex")
class TextFileIndex:
    """What of a line is meant, if it is not the number of a column."""
    WHOLE_LINE, LINE_NUMBER = -2, -1


@export("lookup.TextFileInitializer", v1="contrib.lookup.TextFileInitializer")
class TextFileInitializer:
    """Keys and values from the lines of a file."""

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None,
                 delimiter="\t", name=None, value_index_offset=0):
        lines = _lines(filename, vocab_size)
        cut = delimiter.encode() if isinstance(delimiter, str) else delimiter
        rows = [line.split(cut) for line in lines]

        def column(index, dtype):
            if index == TextFileIndex.LINE_NUMBER:
                return numpy.arange(len(lines)) + value_index_offset
            texts = lines if index == TextFileIndex.WHOLE_LINE else [row[index] for row in rows]
            kind = as_dtype(dtype)
            return numpy.array(texts, object) if kind.name == "string" else \
                numpy.array([float(t) if kind.is_floating else int(t) for t in texts])
        self.keys = column(key_index, key_dtype)
        self.values = column(value_index, value_dtype)
        if as_dtype(value_dtype).name != "string":
            self.values = self.values.astype(as_dtype(value_dtype).as_numpy_dtype)


@export("lookup.StaticVocabularyTable", v1="lookup.StaticVocabularyTable")
class StaticVocabularyTable(Table):
    """Words with numbers; others share the numbers behind them, by what they hash to."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None,
                 experimental_is_anonymous=False):
        if num_oov_buckets < 1:
            raise ValueError("`num_oov_buckets` must be greater than 0; received "
                             f"{num_oov_buckets}.")
        keys = [] if initializer is None else initializer.keys
        values = [] if initializer is None else initializer.values
        super().__init__(keys, numpy.asarray(values, "int64"), -1, name=name)
        self._extra = num_oov_buckets

    def size(self, name=None):
        return constant(self._count + self._extra, "int64", name=name)

    def lookup(self, keys, name=None):
        keys = convert_to_tensor(keys)
        found = super().lookup(keys)
        words = keys if keys.dtype.name == "string" else op("AsString", keys)
        other = op("StringToHashBucketFast", words, num_buckets=self._extra) + \
            constant(self._count, "int64")
        return op("SelectV2", op("Less", found, constant(0, "int64")), other, found)

    __getitem__ = lookup


@export("lookup.experimental.MutableHashTable", v1=("contrib.lookup.MutableHashTable",))
class MutableHashTable:
    """A table that is told keys and values while the program runs; the process keeps it."""

    def __init__(self, key_dtype, value_dtype, default_value, name="MutableHashTable",
                 checkpoint=True, experimental_is_anonymous=False):
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self.name, self._kept, self._lock = name, {}, threading.Lock()
        self._saves, self._restored = checkpoint, {}
        self._default = numpy.asarray(getattr(default_value, "numpy", lambda: default_value)())

    def _kind(self):
        return object if self.value_dtype.name == "string" else self.value_dtype.as_numpy_dtype

    def insert(self, keys, values, name=None):
        """Tells the table values; those of keys that it has are replaced."""
        def put(keys, values):
            with self._lock:
                rows = values.reshape(keys.size, *self._default.shape)
                self._kept.update(zip(keys.ravel().tolist(), [numpy.asarray(r) for r in rows]))
            return numpy.int64(keys.size)
        made = py_func(put, [self._keys(keys), convert_to_tensor(values, self.value_dtype)],
                       "int64")
        return made.op if _situ.current_graph() is not None else None

    insert_or_assign = insert

    def _keys(self, keys):
        keys = convert_to_tensor(keys)
        return keys if keys.dtype == self.key_dtype else cast(keys, self.key_dtype)

    def remove(self, keys, name=None):
        """Forgets keys."""
        def drop(keys):
            with self._lock:
                for key in keys.ravel().tolist():
                    self._kept.pop(key, None)
            return numpy.int64(keys.size)
        made = py_func(drop, [self._keys(keys)], "int64")
        return made.op if _situ.current_graph() is not None else None

    erase = remove

    def lookup(self, keys, name=None):
        """The value of each key, or the default."""
        def find(keys):
            keys = numpy.asarray(keys, object if self.key_dtype.name == "string" else None)
            with self._lock:
                found = [self._kept.get(k, self._default) for k in keys.ravel().tolist()]
            made = numpy.empty([len(found), *self._default.shape], self._kind())
            for i, value in enumerate(found):
                made[i] = value.item() if self._kind() is object and not value.shape else value
            return made.reshape((*keys.shape, *self._default.shape))
        keys = self._keys(keys)
        made = py_func(find, [keys], self.value_dtype)
        if _situ.current_graph() is not None and keys.shape.ndims is not None:
            made.set_shape([*keys.shape.as_list(), *self._default.shape])
        return made

    __getitem__ = lookup

    def size(self, name=None):
        return py_func(lambda: numpy.int64(len(self._kept)), [], "int64")

    def _arrays(self):
        """All keys, and their values, as arrays."""
        with self._lock:
            keys, values = list(self._kept), list(self._kept.values())
        words = self.key_dtype.name == "string"
        made = numpy.empty([len(values), *self._default.shape], self._kind())
        for i, value in enumerate(values):
            made[i] = value.item() if value.shape == () else value
        return numpy.array(keys, object if words else self.key_dtype.as_numpy_dtype), made

    def export(self, name=None):
        """All keys, and their values."""
        return tuple(py_func(self._arrays, [], [self.key_dtype, self.value_dtype]))

    def _checkpoint_parts(self):
        """What tf.train.Checkpoint saves, by the names that TensorFlow's checkpoints have."""
        return {"table-keys": _Part(self, 0), "table-values": _Part(self, 1)} if self._saves else {}

    def _restore(self, number, array):
        """Takes the keys or the values of a checkpoint; with both the table is replaced."""
        self._restored[number] = array
        if len(self._restored) == 2:
            keys, values = self._restored.pop(0), self._restored.pop(1)
            with self._lock:
                self._kept = dict(zip(keys.ravel().tolist(), [numpy.asarray(v) for v in values]))


class _Part:
    """The keys (0) or the values (1) of a table, as a checkpoint sees them."""

    def __init__(self, table, number):
        self._table, self._number = table, number

    def numpy(self):
        return self._table._arrays()[self._number]

    def give(self, array):
        """Restores what a checkpoint has."""
        self._table._restore(self._number, array)

    def __repr__(self):
        return f"<{type(self._table).__name__} '{self._table.name}'>"


@export("lookup.experimental.DenseHashTable", v1="contrib.lookup.MutableDenseHashTable")
class DenseHashTable(MutableHashTable):
    """The same, with keys that mean that a place is empty; situ needs none."""

    def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key=None,
                 initial_num_buckets=None, name="MutableDenseHashTable", checkpoint=True):
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
