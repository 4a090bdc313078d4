# SPDX-License-Identifier: Apache-2.0
"""ragged.py: tf.RaggedTensor: rows of different lengths, as their values and where each row ends;
tf.strings.split, which gives such rows."""
import re

import numpy

from situ._lib import shapes
from situ._lib.api import BOTH, OPS, V2, export
from situ._lib.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._lib.text_ops import regex_replace
from situ._lib.word_ops import SparseTensor

_SPACES = " \t\n\r\f\v"


def _binary(name, turned=False):
    def apply(self, other):
        if isinstance(other, RaggedTensor):
            other = other.values
        values = getattr(self.values, name)(other)
        return self.with_values(values)
    return apply


@export("RaggedTensor")
class RaggedTensor:
    """Rows of different lengths. `values` holds all of them, one behind the other; row i goes from
    row_splits[i] to row_splits[i + 1]. situ has one ragged dimension."""

    def __init__(self, values, row_splits):
        self.values = convert_to_tensor(values)
        self.row_splits = cast(convert_to_tensor(row_splits), "int64")

    @classmethod
    def from_row_splits(cls, values, row_splits, name=None, validate=True):
        return cls(values, row_splits)

    @classmethod
    def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
        lengths = cast(convert_to_tensor(row_lengths), "int64")
        ends = op("Cumsum", lengths, constant(0))
        return cls(values, concat([constant([0], "int64"), ends], 0))

    @classmethod
    def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
        rows = cast(convert_to_tensor(value_rowids), "int32")
        if nrows is None:
            nrows = op("Max", concat([rows, constant([-1])], 0), [0]) + 1
        ones = OPS["OnesLike"](rows)
        return cls.from_row_lengths(values, OPS["UnsortedSegmentSum"](
            ones, rows, cast(convert_to_tensor(nrows), "int32")))

    @classmethod
    def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None):
        """The rows of a matrix, without what fills them up behind."""
        tensor = convert_to_tensor(tensor)
        sizes = OPS["Shape"](tensor)
        if lengths is None and padding is None:
            lengths = OPS["Fill"](sizes[:1], sizes[1])
        elif lengths is None:
            held = op("NotEqual", tensor, convert_to_tensor(padding, tensor.dtype))
            places = op("Range", constant(1), sizes[1] + 1, constant(1))
            lengths = op("Max", cast(held, "int32") * places, [1])
        mask = BOTH["sequence_mask"](cast(convert_to_tensor(lengths), "int32"), sizes[1])
        return cls.from_row_lengths(BOTH["boolean_mask"](tensor, mask), lengths)

    dtype = property(lambda s: s.values.dtype)
    flat_values = property(lambda s: s.values)
    ragged_rank = 1
    nested_row_splits = property(lambda s: (s.row_splits,))

    @property
    def shape(self):
        known = shapes.as_shape(self.row_splits.shape).as_list()[0]
        inner = shapes.as_shape(self.values.shape).as_list()[1:]
        return shapes.TensorShape([None if known is None else known - 1, None, *inner])

    def get_shape(self):
        return self.shape

    def nrows(self, out_type=None, name=None):
        return op("Size", self.row_splits, out_type="int64") - 1

    def row_starts(self, name=None):
        return self.row_splits[:-1]

    def row_limits(self, name=None):
        return self.row_splits[1:]

    def row_lengths(self, axis=1, name=None):
        return self.row_splits[1:] - self.row_splits[:-1]

    def value_rowids(self, name=None):
        """The number of the row of each value."""
        rows = op("Range", constant(0, "int64"), self.nrows(), constant(1, "int64"))
        return BOTH["repeat"](rows, self.row_lengths())

    def bounding_shape(self, axis=None, name=None, out_type=None):
        longest = op("Max", concat([self.row_lengths(), constant([0], "int64")], 0), [0])
        return op("Pack", [self.nrows(), longest])

    def with_values(self, new_values):
        return RaggedTensor(new_values, self.row_splits)

    with_flat_values = with_values

    def to_tensor(self, default_value=None, name=None, shape=None):
        """The rows as those of a matrix, with a value behind the end of each."""
        empty = "" if self.dtype.name == "string" else False if self.dtype.is_bool else 0
        fill = convert_to_tensor(empty if default_value is None else default_value, self.dtype)
        inner = self.values.shape.as_list()[1:]
        wanted = shapes.as_shape(shape).as_list() if shape is not None else [None, None]
        width = self.bounding_shape()[1] if wanted[1] is None else constant(wanted[1], "int64")
        columns = op("ExpandDims", op("Range", constant(0, "int64"), width,
                                      constant(1, "int64")), 0)
        at = op("ExpandDims", self.row_starts(), 1) + columns
        count = op("Size", self.values[:, 0] if inner else self.values, out_type="int64")
        held = op("Less", columns, op("ExpandDims", self.row_lengths(), 1))
        at = op("SelectV2", held, at, count)
        if inner:
            fill = op("BroadcastTo", fill, constant([1, *inner], "int32"))
        return op("GatherV2", concat([self.values, fill if inner else op("Reshape", fill, [1])],
                                     0), at, 0)

    def to_sparse(self, name=None):
        if self.values.shape.ndims != 1:
            raise ValueError("situ makes matrices of ragged rows of single values only.")
        rows = self.value_rowids()
        first = op("GatherV2", self.row_splits, rows, 0)
        count = op("Size", self.values, out_type="int64")
        columns = op("Range", constant(0, "int64"), count, constant(1, "int64")) - first
        return SparseTensor(op("Pack", [rows, columns], axis=1), self.values,
                            self.bounding_shape())

    def to_list(self):
        values, splits = self.values.numpy().tolist(), self.row_splits.numpy().tolist()
        return [values[a:b] for a, b in zip(splits, splits[1:])]

    def numpy(self):
        rows = [numpy.asarray(r, self.values.numpy().dtype) for r in self.to_list()]
        if len({len(r) for r in rows}) == 1:
            return numpy.stack(rows)
        made = numpy.empty(len(rows), object)
        made[:] = rows
        return made

    def __getitem__(self, key):
        if isinstance(key, tuple):
            row = self[key[0]]
            if isinstance(key[0], slice):
                raise ValueError("situ takes parts of single ragged rows only: ragged[i, j].")
            return row[key[1] if len(key) == 2 else key[1:]]
        if isinstance(key, slice):
            starts, lengths = self.row_starts()[key], self.row_lengths()[key]
            parts = [self.values[int(a):int(a) + int(n)]
                     for a, n in zip(starts.numpy(), lengths.numpy())]
            return RaggedTensor.from_row_lengths(
                concat(parts, 0) if parts else self.values[:0], lengths)
        return self.values[self.row_starts()[key]:self.row_limits()[key]]

    def __len__(self):
        return int(self.nrows())

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"<tf.RaggedTensor {self.to_list()}>"


for _name in ("add sub mul truediv floordiv mod pow radd rsub rmul rtruediv lt le gt ge").split():
    setattr(RaggedTensor, f"__{_name}__", _binary(f"__{_name}__"))


@export("ragged.constant")
def ragged_constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None,
                    row_splits_dtype=None):
    """Lists of different lengths as one value."""
    rows = [list(r) for r in pylist]
    flat = [v for r in rows for v in r]
    if any(isinstance(v, (list, tuple)) for v in flat):
        raise ValueError("situ has ragged tensors of one ragged dimension only.")
    values = convert_to_tensor(flat, dtype) if flat else constant([], dtype or "float32")
    return RaggedTensor.from_row_lengths(values, constant([len(r) for r in rows], "int64"))


@export("ragged.stack")
def ragged_stack(values, axis=0, name=None):
    """Vectors of different lengths as rows."""
    parts = [convert_to_tensor(v) for v in values]
    return RaggedTensor.from_row_lengths(concat(parts, 0), op("Pack", [
        op("Size", p, out_type="int64") for p in parts]))


@export("ragged.map_flat_values")
def map_flat_values(op_, *args, **words):
    """A function of the values of ragged tensors; the rows stay."""
    given = [a.values if isinstance(a, RaggedTensor) else a for a in args]
    first = next(a for a in args if isinstance(a, RaggedTensor))
    return first.with_values(op_(*given, **words))


@export("ragged.boolean_mask")
def ragged_boolean_mask(data, mask, name=None):
    """What is true of each row of a matrix."""
    mask = convert_to_tensor(mask, "bool")
    lengths = op("Sum", cast(mask, "int64"), [1])
    return RaggedTensor.from_row_lengths(BOTH["boolean_mask"](convert_to_tensor(data), mask),
                                         lengths)


def _split(texts, sep):
    """The parts of texts as values and lengths of rows."""
    if sep is None or sep == "":
        return op("StringSplit", texts, _SPACES, skip_empty=True)
    sep = sep.decode() if isinstance(sep, bytes) else sep
    if len(sep.encode()) > 1:
        texts, sep = regex_replace(texts, re.escape(sep), "\x01"), "\x01"
    return op("StringSplit", texts, sep, skip_empty=False)


def _strings_split(input=None, sep=None, maxsplit=-1, name=None):
    """The parts of texts: of one text a vector, of a vector of texts ragged rows."""
    if maxsplit != -1:
        raise ValueError("situ splits texts at all places only: maxsplit=-1.")
    texts = convert_to_tensor(input, "string")
    if texts.shape.ndims == 0:
        return _split(op("Reshape", texts, [1]), sep)[1]
    if texts.shape.ndims != 1:
        raise ValueError("situ splits one text, or a vector of texts.")
    indices, values, sizes = _split(texts, sep)
    return RaggedTensor.from_value_rowids(values, indices[:, 0], sizes[0])


V2["strings.split"] = _strings_split


@export(v1="strings.split")
def strings_split_v1(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None,
                     name=None):
    """The parts of a vector of texts: sparse, or as ragged rows."""
    found = _strings_split(input if source is None else source, sep, maxsplit)
    return found if result_type == "RaggedTensor" or not isinstance(found, RaggedTensor) else \
        found.to_sparse()
