# SPDX-License-Identifier: Apache-2.0
"""ragged_math.py: matrix products, softmax, cumulative sums, segments and dropout of ragged
tensors."""

from __future__ import annotations

from situ._src.framework.api import BOTH, export, named
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.dynamic_ragged_shape import DynamicRaggedShape
from situ._src.ops.nn import norm
from situ._src.ops.ragged_broadcast import broadcast_shapes, broadcast_to
from situ._src.ops.ragged_reduce import reduce, segment
from situ._src.ops.ragged_tensor import (
    RaggedTensor,
    gather_rows,
    positive_axis,
    row_count,
    splits_dtype,
    to_ragged,
)
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.ops.row_partition import check, with_checks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Axis, TensorLike

# Matrix products


def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    output_type=None,
    grad_a=False,
    grad_b=False,
    name=None,
):
    """Multiplies matrices of batches whose sizes may differ; see `tf.matmul`.

    Raises:
      InvalidArgumentError: the rows of a matrix have different lengths.
      ValueError: ranks or types differ.
    """
    if transpose_a and adjoint_a:
        raise ValueError("Only one of transpose_a and adjoint_a can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_b and adjoint_b can be True.")
    flags = dict(
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        adjoint_a=adjoint_a,
        adjoint_b=adjoint_b,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        output_type=output_type,
        grad_a=grad_a,
        grad_b=grad_b,
    )
    with scope(name, "RaggedMatMul"):
        return _matmul(to_ragged(a), to_ragged(b), flags)


def _common_rank(a, b):
    if a.dtype != b.dtype:
        raise ValueError("`a` and `b` must have the same dtype.")
    ranks = {t.shape.rank for t in (a, b)} - {None}
    if not ranks:
        raise ValueError(
            "matmul requires at least one input to have known rank if either input is ragged."
        )
    if len(ranks) > 1 or min(ranks) < 2:
        raise ValueError("`a` and `b` must have the same rank.")
    return ranks.pop()


def _matmul(a, b, flags):
    if not isinstance(a, RaggedTensor) and not isinstance(b, RaggedTensor):
        return BOTH["matmul"](a, b, **flags)
    rank = _common_rank(a, b)
    if rank == 2:
        return _product(a, b, flags)
    if rank > 3:
        text = "Batch dimensions of `a` and `b` do not have the same size."
        a, b = (
            t if isinstance(t, RaggedTensor) else RaggedTensor.from_tensor(t, ragged_rank=1)
            for t in (a, b)
        )
        checks = check(op("Equal", a.row_splits, b.row_splits), text)
        rows = a._row_partition.with_dependencies(checks)
        return RaggedTensor(_matmul(a.values, b.values, flags), True, rows)
    is_transposed = flags["transpose_a"] or flags["adjoint_a"]
    if isinstance(b, RaggedTensor) or is_transposed or a.ragged_rank != 1:
        return _products(a, b, flags)
    rows = BOTH["repeat"](b, a.row_lengths(), axis=0)  # a row of `a` for each matrix of `b`
    product = BOTH["matmul"](op("ExpandDims", a.values, 1), rows, **flags)
    return a.with_values(op("Squeeze", product, squeeze_dims=[1]))


def _dense(value):
    """Converts a matrix; its rows must have one length."""
    if not isinstance(value, RaggedTensor):
        return value
    dense = value.to_tensor()
    text = "The matrices in `a` and `b` may not be ragged in their innermost dimension."
    same = op("Equal", op("Size", value.flat_values), op("Size", dense))
    return with_checks(check(same, text), dense)


def _product(a, b, flags):
    return BOTH["matmul"](_dense(a), _dense(b), **flags)


def _products(a, b, flags):
    """Multiplies the matrices of each element of a batch."""
    by_rows = flags["transpose_b"] or flags["adjoint_b"]
    is_ragged = isinstance(b, RaggedTensor) and (b.ragged_rank == 2 or by_rows)
    kind = next(t for t in (a, b) if isinstance(t, RaggedTensor)).row_splits.dtype

    def one(pair):
        result = _product(pair[0], pair[1], flags)
        if is_ragged:
            result = RaggedTensor.from_tensor(result, row_splits_dtype=kind)
        return result

    spec = RaggedTensorSpec([None, None], a.dtype, int(is_ragged), row_splits_dtype=kind)
    result = named("map_fn")(one, (a, b), fn_output_signature=spec)
    m = a.shape.as_list() if a.shape.rank else [None] * 3
    n = b.shape.as_list() if b.shape.rank else [None] * 3
    rows = m[2] if flags["transpose_a"] or flags["adjoint_a"] else m[1]
    result._set_shape([m[0] if n[0] is None else n[0], rows, n[1] if by_rows else n[2]])
    return result


# Along a dimension


def softmax(logits, axis=None, name=None, dim=None):
    """Computes the softmax of each row; see `tf.nn.softmax`."""
    axis = dim if axis is None else axis
    axis = -1 if axis is None else axis
    with scope(name, "RaggedSoftmax"):
        logits = to_ragged(logits)
        largest = reduce("Max", logits, axis, keepdims=True)
        raised = op("Exp", logits - largest)
        return raised / reduce("Sum", raised, axis, keepdims=True)


@export("python.ops.ragged.ragged_math_ops.ragged_cumsum")
def cumsum(
    x: TensorLike,
    axis: Axis = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Computes cumulative sums; see `tf.math.cumsum`.

    Args:
      x: A ragged tensor.
      axis: The axis.
      exclusive: Whether each result leaves out the element at its own position.
      reverse: Whether to begin with the last element.
      name: A name for the operation (optional).
    """
    flags = dict(exclusive=exclusive, reverse=reverse)
    with scope(name, "RaggedCumSum"):
        rt = to_ragged(x)
        axis = positive_axis(axis, rt.shape.rank, "axis", "rank")
        if axis > rt.ragged_rank:
            flat = op("Cumsum", rt.flat_values, constant(axis - rt.ragged_rank), **flags)
            return rt.with_flat_values(flat)
        if axis < rt.ragged_rank:
            sums = op("Cumsum", rt.to_tensor(), constant(axis), **flags)
            return RaggedTensor.from_tensor(sums, lengths=rt.nested_row_lengths())
        rows, flat = rt._nested_row_partitions[-1], rt.flat_values
        before = op("Cumsum", flat, constant(0), exclusive=True, reverse=reverse)
        # The sum of the rows before (after) is that of all values before the first (last) one.
        edge = rows.row_limits() - constant(1, rows.dtype) if reverse else rows.row_starts()
        others = op("GatherV2", before, op("GatherV2", edge, rows.value_rowids(), 0), 0)
        sums = before - others
        return rt.with_flat_values(sums if exclusive else sums + flat)


# Segments


def segment_reduction(op_name):
    """Returns the function that reduces the rows of ragged tensors by segment."""

    def reduction(data, segment_ids, num_segments, name=None):
        with scope(name, "RaggedSegment" + op_name):
            return _by_segment(op_name, data, segment_ids, num_segments)

    return reduction


def _by_segment(op_name, data, segment_ids, num_segments):
    data, ids = to_ragged(data), to_ragged(segment_ids)
    splits_dtype(data, ids)
    if ids.dtype.name not in ("int32", "int64"):
        raise ValueError("segment_ids must have dtype int32 or int64.")
    if not isinstance(data, RaggedTensor) and not isinstance(ids, RaggedTensor):
        return segment(op_name, data, ids, convert_to_tensor(num_segments))
    while isinstance(ids, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            raise ValueError(
                "segment_ids.shape must be a prefix of data.shape, but segment_ids is ragged and "
                "data is not."
            )
        text = "segment_ids.shape must be a prefix of data.shape"
        checks = check(op("Equal", ids.row_splits, data.row_splits), text)
        inner = ids.values
        ids = inner if isinstance(inner, RaggedTensor) else with_checks(checks, inner)
        data = data.values
    return segment(op_name, data, ids, convert_to_tensor(num_segments))


def _divided(total, count):
    if isinstance(total, RaggedTensor):
        return total.with_flat_values(total.flat_values / count.flat_values)
    return total / count


def _counts(data, segment_ids, num_segments):
    ones = data.with_flat_values(op("OnesLike", data.flat_values))
    return _by_segment("Sum", ones, segment_ids, num_segments)


for _name in ("Sum", "Prod", "Min", "Max"):
    export("python.ops.ragged.ragged_math_ops.segment_" + _name.lower())(segment_reduction(_name))


@export("python.ops.ragged.ragged_math_ops.segment_mean")
def segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Any:
    """Computes the mean of the rows of each segment; see `tf.math.unsorted_segment_mean`.

    Args:
      data: A ragged tensor.
      segment_ids: The segment of each row.
      num_segments: Number of segments.
      name: A name for the operation (optional).
    """
    with scope(name, "RaggedSegmentMean"):
        data = to_ragged(data)
        total = _by_segment("Sum", data, segment_ids, num_segments)
        return _divided(total, _counts(data, segment_ids, num_segments))


@export("python.ops.ragged.ragged_math_ops.segment_sqrt_n")
def segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Any:
    """Divides the sum of each segment by the square root of the number of its rows; see
    `tf.math.unsorted_segment_sqrt_n`.

    Args:
      data: A ragged tensor.
      segment_ids: The segment of each row.
      num_segments: Number of segments.
      name: A name for the operation (optional).
    """
    with scope(name, "RaggedSegmentSqrtN"):
        data = to_ragged(data)
        total = _by_segment("Sum", data, segment_ids, num_segments)
        count = _counts(data, segment_ids, num_segments)
        if isinstance(count, RaggedTensor):
            return _divided(total, count.with_flat_values(op("Sqrt", count.flat_values)))
        return total / op("Sqrt", count)


# Dropout


def dropout_of(path):
    """Returns the function that applies a dropout function to the flat values."""

    def dropout(x, *args, noise_shape=None, **kwargs):
        if noise_shape is not None:
            raise ValueError("noise_shape is not supported yet for RaggedTensor x")
        rt = to_ragged(x)
        return rt.with_flat_values(path()(rt.flat_values, *args, **kwargs))

    return dropout


def _nn_norm():
    return norm


dropout_v1 = dropout_of(lambda: _nn_norm().dropout)
dropout_v2 = dropout_of(lambda: _nn_norm().dropout_v2)
stateless_dropout = dropout_of(lambda: _nn_norm().stateless_dropout)

# Selection


@export("python.ops.ragged.ragged_where_op.where_v2")
def where(
    condition: TensorLike, x: TensorLike = None, y: TensorLike = None, name: str | None = None
) -> Any:
    """Selects elements of tensors that are broadcast to one shape; see `tf.where`.

    Args:
      condition: Bool tensor.
      x: Values where the condition is true; without x and y the indices of true elements are
        returned.
      y: Values where it is false.
      name: A name for the operation (optional).
    """
    if x is None or y is None:
        return _true_places(condition, x, y, name)
    with scope(name, "RaggedWhere"):
        tensors = [to_ragged(t) for t in (condition, x, y)]
        if not any(isinstance(t, RaggedTensor) for t in tensors):
            return op("SelectV2", *tensors)
        shape: Any = None
        for tensor in tensors:
            own = DynamicRaggedShape.from_tensor(tensor)
            shape = own if shape is None else broadcast_shapes(shape, own)[0]
        kind = shape.dtype
        parts = [
            broadcast_to(t.with_row_splits_dtype(kind) if isinstance(t, RaggedTensor) else t, shape)
            for t in tensors
        ]
        flat = [t.flat_values if isinstance(t, RaggedTensor) else t for t in parts]
        selected = op("SelectV2", *flat)
        return shape._add_row_partitions(selected)


@export("python.ops.ragged.ragged_where_op.where")
def where_v1(
    condition: TensorLike, x: TensorLike = None, y: TensorLike = None, name: str | None = None
) -> Any:
    """Selects elements of tensors of one shape, or rows by a vector; see `tf.compat.v1.where`.

    Args:
      condition: Bool tensor.
      x: Values where the condition is true; without x and y the indices of true elements are
        returned.
      y: Values where it is false.
      name: A name for the operation (optional).
    """
    if x is None or y is None:
        return _true_places(condition, x, y, name)
    from situ._src.ops.ragged_ops import _concat, map_flat_values

    with scope(name, "RaggedWhere"):
        condition, x, y = (to_ragged(t) for t in (condition, x, y))
        kinds = [isinstance(t, RaggedTensor) for t in (condition, x, y)]
        if not any(kinds):
            return op("Select", condition, x, y)
        if all(kinds):
            return map_flat_values(lambda *parts: op("Select", *parts), condition, x, y)
        if kinds[0]:
            raise ValueError("Input shapes do not match.")
        if condition.shape.rank not in (None, 1):
            raise ValueError(f"Shape {condition.shape} must have rank 1")
        m, n = row_count(x), row_count(y)
        zero, one = constant(0, "int64"), constant(1, "int64")
        first, second = op("Range", zero, m, one), op("Range", m, m + n, one)
        return gather_rows(_concat([x, y], 0), op("Select", condition, first, second))


def _true_places(condition, x, y, name):
    if x is not None or y is not None:
        raise ValueError("x and y must be either both None or both non-None")
    with scope(name, "RaggedWhere"):
        return _places(to_ragged(condition))


def _places(condition):
    """Returns the indices of the true elements."""
    if not isinstance(condition, RaggedTensor):
        return op("Where", condition)
    inner = _places(condition.values)
    first, rows = inner[:, 0], condition._row_partition
    row = op("GatherV2", cast(rows.value_rowids(), "int64"), first, 0)
    column = first - op("GatherV2", cast(rows.row_starts(), "int64"), row, 0)
    return concat([op("ExpandDims", row, 1), op("ExpandDims", column, 1), inner[:, 1:]], 1)
