# SPDX-License-Identifier: Apache-2.0
"""ragged_reduce.py: reductions of ragged tensors along dimensions."""

from __future__ import annotations

import numpy

from situ._src.framework.api import OPS
from situ._src.framework.graph import scope
from situ._src.framework.tensor import Tensor, constant_value
from situ._src.ops.array_ops import cast, concat, constant, op
from situ._src.ops.ragged_tensor import RaggedTensor, positive_axis

_SEGMENTS = {
    "Sum": "UnsortedSegmentSum",
    "Max": "UnsortedSegmentMax",
    "Min": "UnsortedSegmentMin",
    "Prod": "UnsortedSegmentProd",
}


def reduce(op_name, input_tensor, axis=None, keep_dims=False, keepdims=None, name=None):
    """Reduces a ragged tensor over dimensions.

    Raises:
      ValueError: an axis is out of bounds, or not known while the graph is built.
    """
    rt, keep = input_tensor, bool(keep_dims or keepdims)
    with scope(name, "RaggedReduce" + op_name):
        if isinstance(axis, Tensor):
            axis = constant_value(axis)
            if axis is None:
                raise ValueError("axis must be known at graph construction time.")
        if axis is None:
            result = OPS[op_name](rt.flat_values)
            for _ in range(rt.shape.rank if keep else 0):
                result = op("ExpandDims", result, 0)
            return result
        rank = rt.shape.rank
        given = [int(a) for a in numpy.atleast_1d(numpy.asarray(axis))]
        axes = sorted({positive_axis(a, rank, "axis", "rank(input_tensor)") for a in given})
        if op_name == "Mean":
            return _mean(rt, axes, keep)
        if op_name in ("Any", "All"):
            as_ints = rt.with_flat_values(cast(rt.flat_values, "int32"))
            result = _over(("Max" if op_name == "Any" else "Min"), as_ints, axes, keep)
            return _map(lambda v: op("Greater", v, constant(0)), result)
        return _over(op_name, rt, axes, keep)


def _map(function, value):
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(function(value.flat_values))
    return function(value)


def _mean(rt, axes, keep):
    ones = rt.with_flat_values(op("OnesLike", rt.flat_values))
    total, count = _over("Sum", rt, axes, keep), _over("Sum", ones, axes, keep)
    if isinstance(total, RaggedTensor):
        return total.with_flat_values(total.flat_values / count.flat_values)
    return total / count


def _over(op_name, value, axes, keep):
    for axis in reversed(axes):
        if not isinstance(value, RaggedTensor):
            value = OPS[op_name](value, [axis], keep_dims=keep)
            continue
        value = _reduced(op_name, value, axis)
        if keep:
            from situ._src.ops.ragged_ops import _expand

            value = _expand(value, axis)
    return value


def _reduced(op_name, rt, axis):
    if axis > 1:
        inner = rt.values
        return rt.with_values(
            _reduced(op_name, inner, axis - 1)
            if isinstance(inner, RaggedTensor)
            else OPS[op_name](inner, [axis - 1])
        )
    rows = rt._row_partition
    if axis == 1:
        return segment(op_name, rt.values, rows.value_rowids(), rt.nrows())
    return segment(op_name, rt.values, rows.offsets_in_rows(), rt._longest())


def segment(op_name, data, ids, count):
    """Reduces the rows of a tensor, ragged or dense, that have the same id.

    Args:
      op_name: Sum, Max, Min or Prod.
      data: a tensor.
      ids: the id of each row of `data`.
      count: the number of ids, a scalar of the type of row splits.
    """
    if not isinstance(data, RaggedTensor):
        return op(_SEGMENTS[op_name], data, ids, count)
    kind = data.row_splits.dtype
    ids, count = cast(ids, kind), cast(count, kind)
    lengths = data.row_lengths()
    longest = op("UnsortedSegmentMax", lengths, ids, count)
    longest = op("Maximum", longest, constant(0, kind))  # of ids without rows
    splits = concat([constant([0], kind), op("Cumsum", longest, constant(0))], 0)
    starts = op("GatherV2", op("GatherV2", splits[:-1], ids, 0), data.value_rowids(), 0)
    places = starts + data._row_partition.offsets_in_rows()
    values = segment(op_name, data.values, places, splits[-1])
    return RaggedTensor.of_splits(values, splits)
