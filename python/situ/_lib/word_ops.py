# SPDX-License-Identifier: Apache-2.0
"""word_ops.py: texts as columns of numbers, and as sparse matrices of parts."""
import collections

from situ._lib.api import export
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.dtypes import as_dtype, dtype_of
from situ._lib.graph import scope
from situ._lib.tensors import constant_value


@export("sparse.SparseTensor", "SparseTensor")
class SparseTensor:
    """A tensor of which only some elements are said: where they are, and what."""

    def __init__(self, indices, values, dense_shape):
        self.indices = convert_to_tensor(indices, "int64", name="indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, "int64", name="shape")

    _static = None  # the shape, where it is known but may be fed
    dtype = property(lambda s: s.values.dtype)

    op = property(lambda s: s.values.op)
    graph = property(lambda s: s.values.graph)

    @property
    def _situ_parts_(self):
        """What a session fetches and is fed for it."""
        return [self.indices, self.values, self.dense_shape]

    def _situ_value_(self, values, session):
        return SparseTensorValue(*values)

    def __repr__(self):
        return (f"SparseTensor(indices={self.indices}, values={self.values}, "
                f"dense_shape={self.dense_shape})")

    def get_shape(self):
        from situ._lib import shapes
        known = self._static if self._static is not None else constant_value(self.dense_shape)
        return shapes.as_shape(None if known is None else [int(v) for v in known])

    shape = property(get_shape)


@export("SparseTensorValue", v1="SparseTensorValue")
class SparseTensorValue(collections.namedtuple("SparseTensorValue",
                                               "indices values dense_shape")):
    """The arrays of a sparse tensor."""

    __slots__ = ()


@export(v1="sparse_to_dense")
def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0,
                    validate_indices=True, name=None):
    """A tensor with values at some places and a default elsewhere."""
    with scope(name, "SparseToDense") as full:
        values = convert_to_tensor(sparse_values)
        places = convert_to_tensor(sparse_indices)
        shape = op("Cast", convert_to_tensor(output_shape), places.dtype)
        preset = convert_to_tensor(default_value, values.dtype)
        from situ._lib import shapes
        rank = shapes.as_shape(places.shape).rank
        if rank is not None and rank < 2:
            places = op("Reshape", places, [-1, 1])
        if shapes.as_shape(values.shape).rank == 0:  # one value for all places
            values = op("Fill", op("Slice", op("Shape", places), [0], [1]), values)
        if values.dtype.name == "string":  # texts are not moved: their numbers are
            zero, one = convert_to_tensor(0, "int64"), convert_to_tensor(1, "int64")
            numbers = op("Range", one, op("Size", values, out_type="int64") + 1, one)
            numbers = op("TensorScatterUpdate", op("Fill", shape, zero), places, numbers)
            texts = op("ConcatV2", [op("Reshape", preset, [1]), values], 0)
            return op("GatherV2", texts, numbers, 0, name=full)
        return op("TensorScatterUpdate", op("Fill", shape, preset), places, values, name=full)


@export("sparse.to_dense", v1="sparse_tensor_to_dense")
def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    empty = "" if sp_input.dtype.name == "string" else 0
    preset = empty if default_value is None else default_value
    return sparse_to_dense(sp_input.indices, sp_input.dense_shape, sp_input.values, preset,
                           name=name)


@export(v1="string_split")
def string_split(source=None, sep=None, skip_empty=True, delimiter=None, result_type=None,
                 name=None):
    """The parts of each text, as a sparse matrix of a row for each."""
    separator = delimiter if delimiter is not None else " " if sep is None else sep
    return SparseTensor(*op("StringSplit", source, separator, skip_empty=skip_empty, name=name))


def _default(value):
    """(the default of a column as text, its type)"""
    kind = dtype_of(value)
    array = constant_value(value) if kind is not None else None
    if array is None:
        one = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(one, (list, tuple)):
            return [], as_dtype("float32")
        import numpy
        array = numpy.asarray([one] if not hasattr(one, "dtype") else one).ravel()
        kind = as_dtype("string" if isinstance(one, (str, bytes)) else
                        "float32" if isinstance(one, float) else
                        "int32" if isinstance(one, int) else array.dtype)
    items = [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel().tolist()]
    return items[:1], kind.base_dtype


@export("io.decode_csv", v1="decode_csv")
def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, name=None,
               na_value="", select_cols=None):
    """A tensor for each column of lines with commas; the defaults say their types."""
    with scope(name, "DecodeCSV"):
        defaults = [_default(d) if not hasattr(d, "as_numpy_dtype") else ([], as_dtype(d))
                    for d in record_defaults]
        parts = op("DecodeCSV", records, [constant(text, "string") for text, _ in defaults],
                   field_delim=field_delim, use_quote_delim=use_quote_delim)
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        return [part if kind.name == "string" else op("StringToNumber", part, out_type=kind)
                for part, (_, kind) in zip(parts, defaults)]
