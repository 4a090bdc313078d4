# SPDX-License-Identifier: Apache-2.0
"""unique_sort_ops.py: unique, boolean_mask, confusion_matrix, histograms, sort,
reverse_sequence."""

from __future__ import annotations

import collections

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.scopes import control_dependencies
from situ._src.ops import check_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.check_ops import checked
from situ._src.ops.reduction_ops import swap_with_last
from situ._src.ops.weights_broadcast_ops import remove_squeezable_dimensions

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, Tensor, TensorLike

Unique = collections.namedtuple("Unique", "y idx")
UniqueWithCounts = collections.namedtuple("UniqueWithCounts", "y idx count")
ListDiff = collections.namedtuple("ListDiff", "out idx")
_MOST_DIMENSIONS = 8


@export("unique")
def unique(x: TensorLike, out_idx: str = "int32", name: str | None = None) -> Any:
    """Finds the distinct elements of a 1-D tensor, in the order of their first occurrence.

    Args:
      x: A 1-D tensor.
      out_idx: The type of the indices.
      name: A name for the operation (optional).

    Returns:
      A named tuple (y, idx): the distinct elements, and for each element its index in `y`.
    """
    return Unique(*op("Unique", x, out_idx=as_dtype(out_idx), name=name))


@export("unique_with_counts")
def unique_with_counts(x: TensorLike, out_idx: str = "int32", name: str | None = None) -> Any:
    """Finds the distinct elements of a 1-D tensor; returns a named tuple (y, idx, count).

    Args:
      x: A 1-D tensor.
      out_idx: The type of the indices.
      name: A name for the operation (optional).
    """
    return UniqueWithCounts(*op("UniqueWithCounts", x, out_idx=as_dtype(out_idx), name=name))


@export(v1=("setdiff1d", "listdiff"))
def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: str = "int32", name: str | None = None
) -> Any:
    """Finds the elements of `x` that are not in `y`; returns a named tuple (out, idx).

    Args:
      x: A 1-D tensor.
      y: Vector of the elements to leave out.
      index_dtype: Type of the indices.
      name: A name for the operation (optional).
    """
    return ListDiff(*op("ListDiff", x, y, out_idx=as_dtype(index_dtype), name=name))


@export("boolean_mask")
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: Axis = None, name: str | None = "boolean_mask"
) -> Tensor:
    """Selects the slices of a tensor where a mask is true.

    Args:
      tensor: A tensor.
      mask: A boolean tensor of known rank whose shape matches the dimensions of `tensor` from
        `axis` on.
      axis: The first masked dimension, 0 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor in which the masked dimensions are one.

    Raises:
      ValueError: If the shapes do not match or the mask is a scalar.
    """
    if hasattr(tensor, "nested_row_splits") or hasattr(mask, "nested_row_splits"):
        if axis is not None:
            raise ValueError("boolean_mask of ragged tensors does not support `axis`.")
        return named("ragged.boolean_mask")(tensor, mask, name)
    with scope(name, "boolean_mask"):
        tensor, mask = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, "bool")
        first = 0 if axis is None else int(axis)
        rank = tensor_shape.as_shape(mask.shape).rank
        if not rank:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some "
                "dimensions are None, and mask cannot be scalar."
            )
        whole = tensor_shape.as_shape(tensor.shape)
        if whole.rank is not None:
            whole[first : first + rank].assert_is_compatible_with(tensor_shape.as_shape(mask.shape))
        if rank > 1:
            sizes = shape_op(tensor)
            count = op("Prod", op("Slice", sizes, [first], [rank]), [0], keep_dims=True)
            sizes = op(
                "ConcatV2",
                [op("Slice", sizes, [0], [first]), count, op("Slice", sizes, [first + rank], [-1])],
                0,
            )
            tensor, mask = op("Reshape", tensor, sizes), op("Reshape", mask, [-1])
        indices = op("Squeeze", op("Where", mask), [1])
        if rank > 1 or first or whole.rank == _MOST_DIMENSIONS:
            return op("GatherV2", tensor, indices, first)
        rows = op("GatherV2", op("ExpandDims", tensor, -1), indices, 0, name="Rows")
        return op("Squeeze", rows, [-1], name="GatherV2")  # GatherV2 of rows has a dense gradient


export(v1="boolean_mask")(with_order(boolean_mask, "tensor", "mask", "name", "axis"))


def count_nonzero(
    input: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Counts the nonzero elements over dimensions.

    Args:
      input: A tensor.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether reduced dimensions are kept with size 1.
      dtype: The type of the result.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    with scope(name, "count_nonzero"):
        tensor = convert_to_tensor(input)
        hit = cast(op("NotEqual", tensor, op("ZerosLike", tensor)), dtype)
        return OPS["Sum"](hit, axis, bool(keepdims))


export("math.count_nonzero", v2="math.count_nonzero")(count_nonzero)


@export(v1=("count_nonzero", "math.count_nonzero"))
def count_nonzero_v1(
    input_tensor: TensorLike = None,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: DTypeLike = "int64",
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
    input: TensorLike = None,
) -> Tensor:
    """Counts the nonzero elements over dimensions; see `tf.math.count_nonzero`.

    Args:
      input_tensor: Old name of input.
      axis: The dimensions; by default all.
      keepdims: Whether reduced dimensions are kept with size 1.
      dtype: The type of the result.
      name: A name for the operation (optional).
      reduction_indices: Old name of axis.
      keep_dims: Old name of keepdims.
      input: A tensor.
    """
    axis = reduction_indices if axis is None else axis
    return count_nonzero(
        input if input_tensor is None else input_tensor,
        axis,
        keep_dims if keepdims is None else keepdims,
        dtype,
        name,
    )


def _checked_ids(ids, argument, count):
    """Returns class ids with an assertion that they are in [0, count)."""

    checks = [check_ops.assert_non_negative(ids, message=f"`{argument}` contains negative values")]
    if count is not None:
        checks.append(check_ops.assert_less(ids, count, message=f"`{argument}` out of bound"))
    with control_dependencies([c for c in checks if c is not None]):
        return op("Identity", ids)


@export(v2="math.confusion_matrix")
def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike = None,
    weights: TensorLike = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Computes the confusion matrix from labels and predictions.

    Args:
      labels: A 1-D tensor of class indices.
      predictions: A 1-D tensor of class indices.
      num_classes: The number of classes; by default one more than the largest index.
      weights: Weights of the examples (optional).
      dtype: The type of the result.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [classes, classes]; rows are labels, columns are predictions.
    """
    with scope(name, "confusion_matrix"):
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        count = None if num_classes is None else cast(convert_to_tensor(num_classes), "int64")
        labels = _checked_ids(cast(labels, "int64"), "labels", count)
        predictions = _checked_ids(cast(predictions, "int64"), "predictions", count)
        if count is None:
            both = op("ConcatV2", [labels, predictions], 0)
            count = op("Add", OPS["Max"](both, 0), constant(1, "int64"))
        if weights is None:
            values = op("OnesLike", cast(predictions, dtype))
        else:
            values = cast(convert_to_tensor(weights), dtype)
            tensor_shape.as_shape(predictions.shape).assert_is_compatible_with(
                tensor_shape.as_shape(values.shape)
            )
        return op(
            "ScatterNd",
            op("Pack", [labels, predictions], axis=1),
            values,
            op("Pack", [count, count]),
        )


@export(v1=("math.confusion_matrix", "confusion_matrix"))
def confusion_matrix_v1(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    weights: TensorLike = None,
) -> Tensor:
    """Computes the confusion matrix from labels and predictions; see `tf.math.confusion_matrix`.

    Args:
      labels: A 1-D tensor of class indices.
      predictions: A 1-D tensor of class indices.
      num_classes: The number of classes; by default one more than the largest index.
      dtype: The type of the result.
      name: A name for the operation (optional).
      weights: Weights of the examples (optional).
    """
    return confusion_matrix(labels, predictions, num_classes, weights, dtype, name)


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Counts the values in each of `nbins` equal bins of a range.

    Args:
      values: A tensor of numbers.
      value_range: A tensor [low, high]. Values outside count in the first or last bin.
      nbins: The number of bins.
      dtype: The type of the counts.
      name: A name for the operation (optional).

    Returns:
      A 1-D tensor of length `nbins`.
    """
    with scope(name, "histogram_fixed_width") as full:
        values = op("Reshape", convert_to_tensor(values), [-1])
        span = convert_to_tensor(value_range, values.dtype)
        low, high = op("Unpack", span, num=2, axis=0)
        real = values.dtype if values.dtype.is_floating else as_dtype("float64")
        if values.dtype.is_floating:
            is_number = op("LogicalNot", op("IsNan", values))
            values = checked(values, is_number, "Histogram values must not contain NaN")
        part = op("RealDiv", cast(op("Sub", values, low), real), cast(op("Sub", high, low), real))
        bins = cast(op("Floor", op("Mul", part, constant(nbins, real))), "int32")
        bins = op("ClipByValue", bins, constant(0, "int32"), constant(nbins - 1, "int32"))
        ones = op("Fill", shape_op(bins), constant(1, as_dtype(dtype)))
        return op("UnsortedSegmentSum", ones, bins, constant(nbins, "int32"), name=full)


def _reverse_order(values):
    """Maps values to the reverse order without overflow."""
    if values.dtype.is_floating:
        return op("Neg", values)
    most = values.dtype.max if values.dtype.min == 0 else -1
    return op("Sub", constant(most, values.dtype), values)


def _sorted(values, axis, direction):
    """Returns (sorted values, their indices)."""
    values = convert_to_tensor(values)
    ascending = direction == "ASCENDING"
    if not ascending and direction != "DESCENDING":
        raise ValueError(
            f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. "
            f"Received: direction={direction}"
        )
    if values.dtype == "string":
        raise errors.invalid_argument(
            "Value for attr 'T' of string is not in the list of allowed values: bfloat16, half, "
            "float, double, int8, int16, int32, int64, complex64, complex128"
        )
    if tensor_shape.as_shape(values.shape).rank == 0:
        raise errors.invalid_argument("A scalar has no axis to sort along (op: 'TopKV2')")
    order = swap_with_last(values, axis)
    if order is not None:
        values = op("Transpose", values, order)
    size = op("StridedSlice", shape_op(values), [-1], [0], [1], shrink_axis_mask=1, end_mask=1)
    result, places = op("TopKV2", _reverse_order(values) if ascending else values, size)
    result = _reverse_order(result) if ascending else result
    if order is not None:
        result, places = op("Transpose", result, order), op("Transpose", places, order)
    return result, places


@export("sort")
def sort(
    values: TensorLike, axis: Axis = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Sorts a tensor along an axis.

    Args:
      values: A tensor of numbers.
      axis: The dimension to sort along.
      direction: "ASCENDING" or "DESCENDING".
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `values`.

    Raises:
      ValueError: If the direction is unknown.
    """
    with scope(name, "sort"):
        return _sorted(values, axis, direction)[0]


@export("argsort")
def argsort(
    values: TensorLike,
    axis: Axis = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the indices that sort a tensor along an axis.

    Args:
      values: A tensor of numbers.
      axis: The dimension to sort along.
      direction: "ASCENDING" or "DESCENDING".
      stable: Ignored; the sort is always stable.
      name: A name for the operation (optional).

    Returns:
      An int32 tensor of the shape of `values`.

    Raises:
      ValueError: If the direction is unknown.
    """
    del stable  # the sort is always stable
    with scope(name, "argsort"):
        return _sorted(values, axis, direction)[1]


@export("reverse_sequence")
def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: TensorLike = None,
    batch_axis: TensorLike = None,
    name: str | None = None,
    seq_dim: TensorLike = None,
    batch_dim: TensorLike = None,
) -> Tensor:
    """Reverses the first `seq_lengths[i]` slices of each element of a batch.

    Args:
      input: A tensor.
      seq_lengths: A 1-D tensor of lengths, one per element of the batch.
      seq_axis: The dimension to reverse.
      batch_axis: The batch dimension, 0 by default.
      seq_dim: The name of `seq_axis` in old programs.
      batch_dim: The name of `batch_axis` in old programs.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `input`.
    """
    seq_axis = seq_dim if seq_axis is None else seq_axis
    batch_axis = batch_dim if batch_axis is None else batch_axis
    batch_axis = 0 if batch_axis is None else batch_axis
    with scope(name, "ReverseSequence"):
        x = convert_to_tensor(input)
        rank = tensor_shape.as_shape(x.shape).rank
        order = [batch_axis, seq_axis] + [d for d in range(rank) if d not in (batch_axis, seq_axis)]
        if order != list(range(rank)):
            x = op("Transpose", x, order)
        batch, steps = op("Unpack", op("Slice", shape_op(x), [0], [2]), num=2, axis=0)
        zero, one = constant(0, "int32"), constant(1, "int32")
        times = op("ExpandDims", op("Range", zero, steps, one), 0)
        lengths = cast(seq_lengths, "int32")
        lengths = checked(
            lengths, op("LessEqual", lengths, steps), f"seq_lens > input.dims({seq_axis})"
        )
        lengths = checked(lengths, op("GreaterEqual", lengths, zero), "seq_lens < 0")
        lengths = op("ExpandDims", lengths, 1)
        turned = op("Sub", op("Sub", lengths, one), times)
        places = op("SelectV2", op("Less", times, lengths), turned, times)
        rows = op(
            "BroadcastTo",
            op("ExpandDims", op("Range", zero, batch, one), 1),
            op("Pack", [batch, steps]),
        )
        result = op("GatherNd", x, op("Pack", [rows, places], axis=-1))
        back = [order.index(d) for d in range(rank)]
        return result if order == list(range(rank)) else op("Transpose", result, back)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Returns the bin of each value; see `tf.histogram_fixed_width`.

    Args:
      values: A tensor of numbers.
      value_range: A tensor [low, high]. Values outside count in the first or last bin.
      nbins: The number of bins.
      dtype: The type of the result.
      name: A name for the operation (optional).
    """
    with scope(name, "histogram_fixed_width_bins"):
        values = convert_to_tensor(values)
        low, high = op("Unpack", convert_to_tensor(value_range, values.dtype), num=2, axis=0)
        share = (values - low) / (high - low)
        most = cast(nbins - 1, "int32")
        number = cast(op("Floor", cast(share, "float64") * float(nbins)), "int32")
        return cast(op("Minimum", op("Maximum", number, 0), most), dtype)


def _bound(op_name, comparison):
    def bound(
        sorted_inputs: TensorLike,
        values: TensorLike,
        out_type: DTypeLike = "int32",
        name: str | None = None,
    ) -> Tensor:
        """Finds where values must be inserted into sorted rows to keep them sorted.

        Args:
          sorted_inputs: A matrix, whose rows are sorted.
          values: A matrix of the same type and number of rows.
          out_type: The type of the result, int32 or int64.
          name: A name for the operation (optional).

        Returns:
          A matrix of indices of the shape of `values`: of LowerBound the first suitable ones, of
          UpperBound the last.

        Raises:
          ValueError: an argument is not a matrix.
        """
        with scope(name, op_name):
            rows = convert_to_tensor(sorted_inputs, name="sorted_inputs")
            values = convert_to_tensor(values, rows.dtype, name="values")
            for tensor in (rows, values):
                if tensor.shape.rank not in (None, 2):
                    raise ValueError(f"Shape must be rank 2 but is rank {tensor.shape.rank}")
            is_below = op(comparison, op("ExpandDims", rows, 1), op("ExpandDims", values, 2))
            return op("Sum", cast(is_below, out_type), [2])

    bound.__name__ = op_name
    return bound


export("raw_ops.LowerBound")(_bound("LowerBound", "Less"))
export("raw_ops.UpperBound")(_bound("UpperBound", "LessEqual"))
