# SPDX-License-Identifier: Apache-2.0
"""ragged_getitem.py: indexing and slicing of ragged tensors, with the rules of NumPy except that an
inner ragged dimension has no single index."""

from __future__ import annotations

import numpy

from situ._src.framework.graph import scope
from situ._src.framework.tensor import EagerTensor, Tensor
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.check_ops import Assert
from situ._src.ops.ragged_factory import ragged_range
from situ._src.ops.ragged_tensor import RaggedTensor, gather_rows, row_count
from situ._src.ops.row_partition import RowPartition, with_checks


def getitem(rt, key):
    """Returns `rt[key]`.

    Raises:
      IndexError: an index of an eager tensor is out of bounds, or there are too many.
      TypeError: an index is of a type that is not supported.
      ValueError: an inner ragged dimension has a single index.
    """
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    with scope(None, "RaggedGetItem"):
        return _outer(rt, keys)


def _outer(rt, keys):
    """Applies keys to all dimensions."""
    if not keys:
        return rt
    first, rest = keys[0], keys[1:]
    if first is Ellipsis:
        return _outer(rt, _expand(keys, rt.shape.rank))
    if first is None:
        inner = _outer(rt, rest)
        return RaggedTensor.from_uniform_row_length(
            inner, row_count(inner, rt.row_splits.dtype), nrows=1, validate=False
        )
    if isinstance(first, slice):
        return _inner(_slice_rows(rt, first), rest)
    return _one_row(rt, first, rest)


def _is_number(value):
    return isinstance(value, (int, numpy.integer)) or (
        isinstance(value, Tensor) and value.dtype.is_integer
    )


def _one_row(rt, index, rest):
    if isinstance(index, numpy.ndarray):
        index = convert_to_tensor(index)
    if not _is_number(index) or (isinstance(index, Tensor) and index.shape.rank not in (0, None)):
        raise TypeError(
            f"Ragged index must be an integer, a slice, Ellipsis or None; got {index!r}"
        )
    starts, limits = rt.row_splits[:-1], rt.row_splits[1:]
    if isinstance(rt.row_splits, EagerTensor) and not (
        isinstance(index, Tensor) and not isinstance(index, EagerTensor)
    ):
        count, at = starts.shape.as_list()[0], int(index)
        if not -count <= at < count:
            raise IndexError(f"Row key {at} out of bounds")
        bounds = rt.row_splits.numpy()
        at %= count
        row = rt.values[int(bounds[at]) : int(bounds[at + 1])]
    else:
        row = rt.values[starts[index] : limits[index]]
    return row if not rest else row[tuple(rest)]


def _expand(keys, rank):
    """Replaces a leading Ellipsis by a slice of one dimension, or by nothing."""
    if rank is None:
        raise ValueError("Ellipsis not supported for unknown shape RaggedTensors")
    count = sum(1 for key in keys if key is not None)
    if count > rank + 1:
        raise IndexError("Too many indices for RaggedTensor")
    return keys[1:] if count == rank + 1 else [slice(None), *keys]


def _slice_rows(rt, key):
    """Slices the rows."""
    if key == slice(None):
        return rt
    starts, limits = rt.row_splits[:-1][key], rt.row_splits[1:][key]
    uniform = rt._row_partition._uniform_row_length
    if key.step in (None, 1) and not isinstance(key.step, Tensor):
        kind = rt.row_splits.dtype
        empty = constant([0], kind)[op("Size", starts) :]
        splits = concat([empty, starts[:1], limits], 0)
        values = rt.values[splits[0] : splits[-1]]
        partition = RowPartition.from_row_splits(splits - splits[0], validate=False)
    else:
        rows = _range_values(rt, starts, limits, None)
        values, partition = rows.values, rows._row_partition
    if uniform is not None:
        partition = partition.copy(uniform_row_length=uniform)
    return RaggedTensor(values, True, partition)


def _range_values(rt, starts, limits, step):
    """Returns the values in ranges of their indices, one per row."""
    at = ragged_range(starts, limits, 1 if step is None else step, row_splits_dtype=starts.dtype)
    return at.with_values(gather_rows(rt.values, at.values))


def _inner(value, keys):
    """Applies keys to the dimensions after the first."""
    if not keys:
        return value
    if not isinstance(value, RaggedTensor):
        whole = (slice(None), *keys)
        return value[whole]
    first, rest = keys[0], keys[1:]
    if first is Ellipsis:
        return _inner(
            value, _expand(keys, None if value.shape.rank is None else value.shape.rank - 1)
        )
    if first is None:
        inner = _inner(value, rest)
        return RaggedTensor.from_uniform_row_length(
            inner,
            constant(1, value.row_splits.dtype),
            row_count(inner, value.row_splits.dtype),
            validate=False,
        )
    if isinstance(first, slice):
        if first == slice(None):
            return value.with_values(_inner(value.values, rest))
        return _sliced_columns(value, first, rest)
    if not _is_number(first):
        raise TypeError(
            f"Ragged index must be an integer, a slice, Ellipsis or None; got {first!r}"
        )
    if value.uniform_row_length is None:
        raise ValueError("Cannot index into an inner ragged dimension.")
    return _column(value, first, rest)


def _column(rt, index, rest):
    """Returns one column of uniform rows."""
    size = rt.uniform_row_length
    kind = size.dtype
    index = cast(convert_to_tensor(index), kind)
    zero = constant(0, kind)
    at = op("SelectV2", op("Less", index, zero), index + size, index)
    is_inside = op("LogicalAnd", op("GreaterEqual", at, zero), op("Less", at, size))
    if isinstance(is_inside, EagerTensor):
        if not is_inside.numpy():
            raise IndexError(f"Index {index.numpy()} is out of bounds of rows of length {size}")
    else:
        at = with_checks([Assert(is_inside, ["Index out of bounds", index])], at)
    return _inner(gather_rows(rt.values, rt.row_starts() + at), rest)


def _sliced_columns(rt, key, rest):
    """Slices all rows."""
    for bound in (key.start, key.stop):
        if bound is not None and not _is_number(bound):
            raise TypeError("slice offsets must be integers or None")
    if key.step is not None and not _is_number(key.step):
        raise TypeError("slice strides must be integers or None")
    kind = rt.row_splits.dtype
    step = constant(1, kind) if key.step is None else cast(convert_to_tensor(key.step), kind)
    zero, one = constant(0, kind), constant(1, kind)
    is_forward = op("Greater", step, zero)
    lengths = rt.row_lengths()
    lower = op("SelectV2", is_forward, zero, constant(-1, kind))
    upper = op("SelectV2", is_forward, lengths, lengths - one)

    def place(at, default):
        if at is None:
            return default + op("ZerosLike", lengths)
        at = cast(convert_to_tensor(at), kind)
        at = op("SelectV2", op("Less", at, zero), lengths + at, at + op("ZerosLike", lengths))
        return op("Minimum", op("Maximum", at, lower), upper)

    first = place(key.start, op("SelectV2", is_forward, lower, upper))
    last = place(key.stop, op("SelectV2", is_forward, upper, lower))
    rows = rt.row_starts()
    result = _range_values(rt, rows + first, rows + last, step)
    if rt.uniform_row_length is not None and isinstance(rt.row_splits, EagerTensor):
        count = result.row_lengths()
        if count.shape.as_list()[0]:
            result = RaggedTensor(
                result.values, True, result._row_partition.copy(uniform_row_length=count[0])
            )
    return result.with_values(_inner(result.values, rest))
