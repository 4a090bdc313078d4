# SPDX-License-Identifier: Apache-2.0
"""unique_sort_ops.py: unique, boolean_mask, bincount, confusion_matrix, histograms, sort."""

import collections

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.check_ops import checked
from situ._src.ops.reduction_ops import swapped

Unique = collections.namedtuple("Unique", "y idx")
UniqueWithCounts = collections.namedtuple("UniqueWithCounts", "y idx count")
ListDiff = collections.namedtuple("ListDiff", "out idx")
_MOST_DIMENSIONS = 8


@export("unique")
def unique(x, out_idx="int32", name=None):
    """The different elements, and for each element its number among them."""
    return Unique(*op("Unique", x, out_idx=as_dtype(out_idx), name=name))


@export("unique_with_counts")
def unique_with_counts(x, out_idx="int32", name=None):
    return UniqueWithCounts(*op("UniqueWithCounts", x, out_idx=as_dtype(out_idx), name=name))


@export(v1=("setdiff1d", "listdiff"))
def setdiff1d(x, y, index_dtype="int32", name=None):
    """The elements of x that are not in y, and their places."""
    return ListDiff(*op("ListDiff", x, y, out_idx=as_dtype(index_dtype), name=name))


@export("boolean_mask")
def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):
    """The parts of a tensor where the mask is true."""
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
        places = op("Squeeze", op("Where", mask), [1])
        if rank > 1 or first or whole.rank == _MOST_DIMENSIONS:
            return op("GatherV2", tensor, places, first)
        rows = op("GatherV2", op("ExpandDims", tensor, -1), places, 0, name="Rows")
        return op("Squeeze", rows, [-1], name="GatherV2")  # so its gradient is dense


def count_nonzero(input, axis=None, keepdims=None, dtype="int64", name=None):
    """How many elements are not 0."""
    with scope(name, "count_nonzero"):
        tensor = convert_to_tensor(input)
        hit = cast(op("NotEqual", tensor, op("ZerosLike", tensor)), dtype)
        return OPS["Sum"](hit, axis, bool(keepdims))


export("math.count_nonzero", v2="math.count_nonzero")(count_nonzero)


@export(v1=("count_nonzero", "math.count_nonzero"))
def count_nonzero_v1(
    input_tensor=None,
    axis=None,
    keepdims=None,
    dtype="int64",
    name=None,
    reduction_indices=None,
    keep_dims=None,
    input=None,
):
    axis = reduction_indices if axis is None else axis
    return count_nonzero(
        input if input_tensor is None else input_tensor,
        axis,
        keep_dims if keepdims is None else keepdims,
        dtype,
        name,
    )


@export("math.bincount", v1="bincount")
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype="int32", name=None):
    """How often each integer is there, or the sum of its weights."""
    with scope(name, "bincount"):
        arr = op("Reshape", convert_to_tensor(arr, name="arr"), [-1])
        wrong = op("Less", arr, constant(0, arr.dtype))
        size = op(
            "Add",
            OPS["Max"](op("ConcatV2", [arr, constant([-1], arr.dtype)], 0), 0),
            constant(1, arr.dtype),
        )
        if minlength is not None:
            size = op("Maximum", size, convert_to_tensor(minlength, arr.dtype))
        if maxlength is not None:
            size = op("Minimum", size, convert_to_tensor(maxlength, arr.dtype))
            arr = op("SelectV2", op("Less", arr, size), arr, constant(-1, arr.dtype))
        if weights is None:
            weights = op("Fill", shape_op(arr), constant(1, as_dtype(dtype)))
        else:
            weights = op("Reshape", convert_to_tensor(weights), [-1])
        arr = op("SelectV2", wrong, size, arr)  # which is no place in the counts: it is refused
        return op("UnsortedSegmentSum", weights, arr, size)


def _checked_ids(ids, word, count):
    """Class ids that are known to be in [0, count) when they are used."""
    from situ._src.framework.scopes import control_dependencies
    from situ._src.ops import check_ops

    checks = [check_ops.assert_non_negative(ids, message=f"`{word}` contains negative values")]
    if count is not None:
        checks.append(check_ops.assert_less(ids, count, message=f"`{word}` out of bound"))
    with control_dependencies([c for c in checks if c is not None]):
        return op("Identity", ids)


@export(v2="math.confusion_matrix")
def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype="int32", name=None):
    """How often class i was taken for class j, or the sum of the weights of such examples."""
    from situ._src.ops.weights_broadcast_ops import remove_squeezable_dimensions

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
    labels, predictions, num_classes=None, dtype="int32", name=None, weights=None
):
    """How often class i was taken for class j, or the sum of the weights of such examples."""
    return confusion_matrix(labels, predictions, num_classes, weights, dtype, name)


@export("histogram_fixed_width")
def histogram_fixed_width(values, value_range, nbins=100, dtype="int32", name=None):
    """How many values lie in each of nbins equal parts of a range; the outer ones take the rest."""
    with scope(name, "histogram_fixed_width"):
        values = op("Reshape", convert_to_tensor(values), [-1])
        span = convert_to_tensor(value_range, values.dtype)
        low, high = op("Unpack", span, num=2, axis=0)
        real = values.dtype if values.dtype.is_floating else as_dtype("float64")
        part = op("RealDiv", cast(op("Sub", values, low), real), cast(op("Sub", high, low), real))
        bins = cast(op("Floor", op("Mul", part, constant(nbins, real))), "int32")
        bins = op("ClipByValue", bins, constant(0, "int32"), constant(nbins - 1, "int32"))
        ones = op("Fill", shape_op(bins), constant(1, as_dtype(dtype)))
        return op("UnsortedSegmentSum", ones, bins, constant(nbins, "int32"))


def _mirrored(values):
    """Values in the opposite order, none of which overflows."""
    if values.dtype.is_floating:
        return op("Neg", values)
    most = values.dtype.max if values.dtype.min == 0 else -1
    return op("Sub", constant(most, values.dtype), values)


def _sorted(values, axis, direction):
    """(sorted values, their places)"""
    values = convert_to_tensor(values)
    up = direction == "ASCENDING"
    if not up and direction != "DESCENDING":
        raise ValueError(
            f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. "
            f"Received: direction={direction}"
        )
    if tensor_shape.as_shape(values.shape).rank == 0:
        raise errors.invalid_argument("A scalar has no axis to sort along (op: 'TopKV2')")
    order = swapped(values, axis)
    if order is not None:
        values = op("Transpose", values, order)
    size = op("StridedSlice", shape_op(values), [-1], [0], [1], shrink_axis_mask=1, end_mask=1)
    made, places = op("TopKV2", _mirrored(values) if up else values, size)
    made = _mirrored(made) if up else made
    if order is not None:
        made, places = op("Transpose", made, order), op("Transpose", places, order)
    return made, places


@export("sort")
def sort(values, axis=-1, direction="ASCENDING", name=None):
    """The values in order along an axis."""
    with scope(name, "sort"):
        return _sorted(values, axis, direction)[0]


@export("argsort")
def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """The places of the values in order along an axis."""
    with scope(name, "argsort"):
        return _sorted(values, axis, direction)[1]


@export("reverse_sequence")
def reverse_sequence(
    input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None, batch_dim=None
):
    """For each element of a batch, the first seq_lengths[i] slices turned round."""
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
        made = op("GatherNd", x, op("Pack", [rows, places], axis=-1))
        back = [order.index(d) for d in range(rank)]
        return made if order == list(range(rank)) else op("Transpose", made, back)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype="int32", name=None):
    """The number of the bin of each value."""
    values = convert_to_tensor(values)
    low, high = op("Unpack", convert_to_tensor(value_range, values.dtype), num=2, axis=0)
    share = (values - low) / (high - low)
    most = cast(nbins - 1, "int32")
    number = cast(op("Floor", cast(share, "float64") * float(nbins)), "int32")
    return cast(op("Minimum", op("Maximum", number, 0), most), dtype)
