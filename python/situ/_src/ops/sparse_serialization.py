# SPDX-License-Identifier: Apache-2.0
"""sparse_serialization.py: sparse tensors as strings: tf.io.serialize_sparse,
tf.io.serialize_many_sparse, tf.io.deserialize_many_sparse."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import dtypes, errors, keywords
from situ._src.framework.api import export
from situ._src.framework.import_graph_def import tensor_value
from situ._src.framework.tensor_proto import TensorProto, make_proto
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.script_ops import py_func
from situ._src.ops.sparse_ops import SparseTensor

_INT64 = dtypes.as_dtype("int64")


def _strings(parts: list[numpy.ndarray], dtype: Any) -> list[bytes]:
    """Returns the TensorProtos of the indices, the values and the dense shape."""
    kinds = (_INT64, dtype, _INT64)
    return [make_proto(p, k).SerializeToString() for p, k in zip(parts, kinds)]


def _checked(sp_input: Any, out_type: Any, where: str) -> SparseTensor:
    keywords.unsupported(where, out_type=(dtypes.as_dtype(out_type).name, "string"))
    sparse = SparseTensor.from_value(sp_input)
    if not isinstance(sparse, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, but is {sp_input}.")
    return sparse


def _written(write: Any, sparse: SparseTensor, shape: list[int | None], name: str | None) -> Any:
    parts = [sparse.indices, sparse.values, sparse.dense_shape]
    result = py_func(write, parts, "string", stateful=False, name=name)
    if hasattr(result, "set_shape"):
        result.set_shape(shape)
    return result


@export(v2=("io.serialize_sparse",))
def serialize_sparse(sp_input: Any, out_type: Any = "string", name: str | None = None) -> Any:
    """Converts a sparse tensor to three strings: its indices, values and dense shape.

    Args:
      sp_input: A SparseTensor.
      out_type: string; variant is not supported.
      name: A name for the operation.

    Returns:
      A string tensor of shape [3], binary TensorProtos.

    Raises:
      TypeError: If `sp_input` is not sparse.
    """
    sparse = _checked(sp_input, out_type, "tf.io.serialize_sparse")
    dtype = sparse.dtype.base_dtype

    def write(*parts: Any) -> Any:
        return numpy.array(_strings([numpy.asarray(p) for p in parts], dtype), object)

    return _written(write, sparse, [3], name)


@export(v1=("io.serialize_sparse", "serialize_sparse"))
def serialize_sparse_v1(sp_input: Any, name: str | None = None, out_type: Any = "string") -> Any:
    """Converts a sparse tensor to three strings; arguments as in tf.io.serialize_sparse.

    Args:
      sp_input: A SparseTensor.
      name: A name for the operation.
      out_type: string; variant is not supported.
    """
    return serialize_sparse(sp_input, out_type, name)


@export(v2=("io.serialize_many_sparse",))
def serialize_many_sparse(sp_input: Any, out_type: Any = "string", name: str | None = None) -> Any:
    """Converts each slice along the first dimension of a sparse tensor to three strings.

    Args:
      sp_input: A SparseTensor of rank 2 or more, ordered by the first dimension.
      out_type: string; variant is not supported.
      name: A name for the operation.

    Returns:
      A string tensor of shape [N, 3]; each row is like a result of serialize_sparse.

    Raises:
      TypeError: If `sp_input` is not sparse.
      InvalidArgumentError: If its rank is less than 2.
    """
    sparse = _checked(sp_input, out_type, "tf.io.serialize_many_sparse")
    dtype = sparse.dtype.base_dtype

    def write(indices: Any, values: Any, shape: Any) -> Any:
        indices, values, shape = (numpy.asarray(p) for p in (indices, values, shape))
        if shape.size < 2:
            raise errors.InvalidArgumentError(
                None, None, f"Rank of input SparseTensor should be > 1, but saw rank: {shape.size}"
            )
        rows = numpy.empty((int(shape[0]), 3), object)
        for row in range(len(rows)):
            here = indices[:, 0] == row
            rows[row] = _strings([indices[here, 1:], values[here], shape[1:]], dtype)
        return rows

    return _written(write, sparse, [None, 3], name)


@export(v1=("io.serialize_many_sparse", "serialize_many_sparse"))
def serialize_many_sparse_v1(
    sp_input: Any, name: str | None = None, out_type: Any = "string"
) -> Any:
    """Converts slices of a sparse tensor to strings; arguments as in
    tf.io.serialize_many_sparse.

    Args:
      sp_input: A SparseTensor.
      name: A name for the operation.
      out_type: string; variant is not supported.
    """
    return serialize_many_sparse(sp_input, out_type, name)


def _read(serialized: Any, dtype: Any) -> list[tuple[numpy.ndarray, ...]]:
    """Returns the indices, values and dense shape of each row of strings.

    Raises:
      InvalidArgumentError: If the strings are not sparse tensors of this type and equal rank.
    """

    def fail(text: str) -> None:
        raise errors.InvalidArgumentError(None, None, text)

    if not serialized.ndim:
        fail("Serialized sparse should have non-zero rank ")
    if serialized.shape[-1] != 3:
        fail(f"Serialized sparse should have 3 as the last dimension {list(serialized.shape)}")
    found: list[tuple[numpy.ndarray, ...]] = []
    for i, row in enumerate(serialized.reshape(-1, 3)):
        try:
            parts = tuple(tensor_value(TensorProto.FromString(text)) for text in row)
        except (ValueError, KeyError, IndexError):
            fail(f"Could not parse serialized_sparse[{i}]")
        indices, values, shape = parts
        if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
            fail(f"serialized_sparse[{i}] is not a SparseTensor")
        if len(indices) != len(values) or indices.shape[1] != len(shape):
            fail(f"The shapes of the components of serialized_sparse[{i}] do not fit")
        proto = TensorProto.FromString(row[1])
        if proto.dtype != dtype.as_datatype_enum:
            have = dtypes.as_dtype(proto.dtype).name
            fail(
                f"Requested SparseTensor of type {dtype.name} but SparseTensor[{i}].values.dtype()"
                f" == {have}"
            )
        if found and len(found[0][2]) != len(shape):
            fail(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{i}] was: "
                f"{len(found[0][2])} but rank of SparseTensor[{i}] is: {len(shape)}"
            )
        found.append(parts)
    return found


def _stacked(serialized: Any, dtype: Any, rank: int | None) -> tuple[numpy.ndarray, ...]:
    """Returns the components of all sparse tensors, stacked along the leading dimensions."""
    serialized = numpy.asarray(serialized, object)
    found = _read(serialized, dtype)
    outer = serialized.shape[:-1]
    inner = len(found[0][2]) if found else max((rank or 0), 0)
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    indices = [numpy.zeros((0, len(outer) + inner), "int64")]
    for place, (own, _, _) in zip(numpy.ndindex(*outer), found):
        leading = numpy.broadcast_to(numpy.array(place, "int64"), (len(own), len(outer)))
        indices.append(numpy.concatenate([leading, own.astype("int64")], axis=1))
    values = numpy.concatenate([numpy.zeros(0, kind), *(v for _, v, _ in found)]).astype(kind)
    shapes = [s for _, _, s in found] or [numpy.zeros(inner, "int64")]
    shape = numpy.concatenate([numpy.array(outer, "int64"), numpy.max(shapes, axis=0)])
    return numpy.concatenate(indices), values, shape.astype("int64")


@export("io.deserialize_many_sparse", v1=("deserialize_many_sparse",))
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Converts strings to a sparse tensor with a new first dimension.

    Args:
      serialized_sparse: A string tensor of shape [N, 3], rows of serialize_sparse.
      dtype: The type of the values.
      rank: The rank of the sparse tensors of the rows, or None.
      name: A name for the operation.

    Returns:
      A SparseTensor of shape [N, ...]; the other sizes are the largest of all rows.

    Raises:
      InvalidArgumentError: If a row is malformed, has another type, or the ranks differ.
    """
    dtype = dtypes.as_dtype(dtype).base_dtype

    def read(serialized: Any) -> tuple[numpy.ndarray, ...]:
        return _stacked(serialized, dtype, rank)

    tensor = convert_to_tensor(serialized_sparse, "string")
    indices, values, shape = py_func(
        read, [tensor], ["int64", dtype, "int64"], stateful=False, name=name
    )
    if hasattr(indices, "set_shape"):
        full = None if rank is None else rank + 1
        indices.set_shape([None, full])
        values.set_shape([None])
        shape.set_shape([full])
    return SparseTensor(indices, values, shape)
