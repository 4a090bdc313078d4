# SPDX-License-Identifier: Apache-2.0
"""word_ops.py: texts as columns of numbers, and as sparse matrices of parts."""
import collections

import numpy

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

    _situ_pieces_ = _situ_parts_

    @classmethod
    def _situ_made_(cls, pieces):
        return cls(*pieces)

    def __repr__(self):
        return (f"SparseTensor(indices={self.indices!s}, values={self.values!s}, "
                f"dense_shape={self.dense_shape!s})")

    def get_shape(self):
        from situ._lib import shapes
        known = self._static if self._static is not None else constant_value(self.dense_shape)
        return shapes.as_shape(None if known is None else [int(v) for v in known])

    shape = property(get_shape)

    def eval(self, feed_dict=None, session=None):
        """What it is in a session: a SparseTensorValue."""
        from situ._lib.session import get_default_session
        session = session or get_default_session()
        if session is None:
            raise ValueError("Cannot evaluate tensor using `eval()`: No default session is "
                             "registered. Use `with sess.as_default()` or pass an explicit session "
                             "to `eval(session=sess)`")
        return session.run(self, feed_dict)


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
            made = op("GatherV2", texts, numbers, 0, name=full)
        else:
            made = op("TensorScatterUpdate", op("Fill", shape, preset), places, values, name=full)
        sizes = shapes.as_shape(shape.shape).as_list() if shape.shape.rank is not None else [None]
        if made.shape.rank is None and sizes != [None] and hasattr(made, "set_shape"):
            made.set_shape([None] * sizes[0])
        return made


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


@export(v2="strings.to_hash_bucket")
def to_hash_bucket(input, num_buckets, name=None):
    """A number below num_buckets for each text."""
    return op("StringToHashBucket", input, num_buckets=num_buckets, name=name)


@export(v1=("strings.to_hash_bucket", "string_to_hash_bucket"))
def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    """A number below num_buckets for each text."""
    return to_hash_bucket(string_tensor if input is None else input, num_buckets, name)


def _default(value):
    """(the default of a column as text, its type)"""
    kind = dtype_of(value)
    array = constant_value(value) if kind is not None else None
    if array is None:
        one = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(one, (list, tuple)):
            return [], as_dtype("float32")
        array = numpy.asarray([one] if not hasattr(one, "dtype") else one).ravel()
        kind = as_dtype("string" if isinstance(one, (str, bytes)) else
                        "float32" if isinstance(one, float) else
                        "int32" if isinstance(one, int) else array.dtype)
    flat = [array] if isinstance(array, bytes) else numpy.asarray(array).ravel().tolist()
    items = [v.decode() if isinstance(v, bytes) else str(v) for v in flat]
    return items[:1], kind.base_dtype


def _chosen(lines, defaults, field_delim, use_quote_delim, na_value, select_cols):
    """Some fields of each line, as texts; a default stands for what is not there."""
    import csv
    from situ._lib import errors
    from situ._lib.readers import py_func
    lines = convert_to_tensor(lines, "string")
    quote = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE

    def read(array):
        array = numpy.asarray(array, object)
        columns = [[] for _ in defaults]
        for n, line in enumerate(array.reshape(-1)):
            fields = next(csv.reader([line.decode(errors="surrogateescape")],
                                     delimiter=field_delim, quoting=quote), [])
            wanted = range(len(fields)) if select_cols is None else select_cols
            if len(wanted) != len(defaults) or any(i >= len(fields) for i in wanted):
                raise errors.InvalidArgumentError(
                    None, None, f"Expect {len(defaults)} fields but have {len(fields)} in record "
                    f"{n}")
            for column, i, default in zip(columns, wanted, defaults):
                text = fields[i]
                if text in ("", na_value):
                    if not default:
                        raise errors.InvalidArgumentError(
                            None, None, f"Field {i} is required but missing in record {n}!")
                    text = default[0]
                column.append(text.encode(errors="surrogateescape"))
        return [numpy.array([*c, None], object)[:-1].reshape(array.shape) for c in columns]
    found = py_func(read, [lines], ["string"] * len(defaults))
    for part in found:
        if hasattr(part, "set_shape"):
            part.set_shape(lines.shape)
    return found


@export("io.decode_csv", v1="decode_csv")
def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, name=None,
               na_value="", select_cols=None):
    """A tensor for each column of lines with commas; the defaults say their types."""
    with scope(name, "DecodeCSV"):
        defaults = [_default(d) if not hasattr(d, "as_numpy_dtype") else ([], as_dtype(d))
                    for d in record_defaults]
        if select_cols is not None or na_value:
            parts = _chosen(records, [text for text, _ in defaults], field_delim, use_quote_delim,
                            na_value, select_cols)
        else:
            parts = op("DecodeCSV", records, [constant(text, "string") for text, _ in defaults],
                       field_delim=field_delim, use_quote_delim=use_quote_delim)
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        return [part if kind.name == "string" else op("StringToNumber", part, out_type=kind)
                for part, (_, kind) in zip(parts, defaults)]
