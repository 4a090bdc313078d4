# SPDX-License-Identifier: Apache-2.0
"""ragged_factory.py: tf.ragged.constant, constant_value, placeholder and range."""

from __future__ import annotations

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import export, named
from situ._src.framework.dtypes import DType, as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import placeholder as dense_placeholder
from situ._src.ops.check_ops import checked
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged
from situ._src.ops.ragged_tensor_value import RaggedTensorValue
from situ._src.ops.row_partition import RowPartition

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, ShapeLike


def _is_list(value):
    return isinstance(value, (list, tuple)) or numpy.ndim(value) != 0


@export("ragged.constant")
def ragged_constant(
    pylist: Any,
    dtype: DTypeLike = None,
    ragged_rank: int | None = None,
    inner_shape: ShapeLike = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """Creates a ragged tensor from nested lists.

    Args:
      pylist: Nested lists.
      dtype: The element type. By default it is inferred.
      ragged_rank: The number of ragged dimensions.
      inner_shape: The shape of the uniform inner dimensions.
      name: A name for the operation (optional).
      row_splits_dtype: int32 or int64.

    Returns:
      A RaggedTensor; a tensor if there are no ragged dimensions.

    Raises:
      ValueError: If the nesting does not fit `ragged_rank` or `inner_shape`.
    """
    kind = as_dtype("int64" if row_splits_dtype is None else row_splits_dtype)

    def rows(values, splits):
        return RaggedTensor.of_splits(values, constant(splits, kind))

    def inner(values, dtype, shape, name=None):
        if dtype is None and isinstance(values, (list, tuple)) and not len(values):
            dtype = "float32"
        return constant(values, dtype, shape=shape, name=name or "Const")

    with scope(name, "RaggedConstant"):
        return _built(rows, inner, pylist, dtype, ragged_rank, inner_shape)


@export(v1="ragged.constant_value")
def ragged_constant_value(
    pylist: Any,
    dtype: DTypeLike = None,
    ragged_rank: int | None = None,
    inner_shape: ShapeLike = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """Creates a RaggedTensorValue from nested lists.

    Args:
      pylist: Nested lists.
      dtype: The NumPy type of the elements. By default it is inferred.
      ragged_rank: The number of ragged dimensions.
      inner_shape: The shape of the uniform inner dimensions.
      row_splits_dtype: int32 or int64.

    Returns:
      A RaggedTensorValue; an array if there are no ragged dimensions.

    Raises:
      ValueError: If the nesting does not fit `ragged_rank` or `inner_shape`.
    """
    kind = as_dtype(row_splits_dtype).as_numpy_dtype
    dtype = dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype

    def rows(values, splits):
        return RaggedTensorValue(values, numpy.array(splits, kind))

    def inner(values, dtype, shape, name=None):
        del name  # of a tensor
        array = numpy.array(values, dtype if dtype in (object, None) else None)
        array = array if dtype in (object, None) else array.astype(dtype)
        return array if shape is None else array.reshape(shape)

    return _built(rows, inner, pylist, dtype, ragged_rank, inner_shape)


def _built(rows, inner, pylist, dtype, ragged_rank, inner_shape):
    """Builds a ragged value with the functions `rows(values, splits)` and `inner(list, dtype,
    shape)`."""
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    inner_shape = None if inner_shape is None else tuple(inner_shape)
    if not _is_list(pylist):
        if ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}"
            )
        if inner_shape:
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
            )
        return inner(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    scalar_depth, max_depth = _depths(pylist)
    _check_depths(pylist, scalar_depth, max_depth, ragged_rank, inner_shape)
    if ragged_rank == 0 or (
        ragged_rank is None and max_depth - (0 if inner_shape is None else len(inner_shape)) < 2
    ):
        return inner(pylist, dtype, inner_shape)
    if inner_shape is None:
        inner_shape = () if ragged_rank is None else _inner_shape(pylist, ragged_rank)
    if ragged_rank is None:
        depth = max_depth if scalar_depth is None else scalar_depth - len(inner_shape)
        ragged_rank = max(1, depth - 1)
    values, nested = pylist, []
    for _ in range(ragged_rank):
        splits = [0]
        for row in values:
            splits.append(splits[-1] + len(row))
        nested.append(splits)
        values = [value for row in values for value in row]
    result = inner(values, dtype, (len(values), *inner_shape), name="values")
    for splits in reversed(nested):
        result = rows(result, splits)
    return result


def _check_depths(pylist, scalar_depth, max_depth, ragged_rank, inner_shape):
    if scalar_depth is not None:
        if max_depth > scalar_depth:
            raise ValueError(
                f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value "
                "nesting"
            )
        if ragged_rank is not None and max_depth < ragged_rank:
            raise ValueError(
                f"Invalid pylist={pylist}, max depth smaller than ragged_rank={ragged_rank}"
            )
    if inner_shape is None or ragged_rank is None:
        return
    expected = ragged_rank + len(inner_shape) + 1
    if expected != scalar_depth if scalar_depth is not None else expected < max_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
            f"dim(inner_shape)={len(inner_shape)}"
        )


def _depths(value):
    """Returns the nesting depth of the scalars (None if there are none) and of all lists."""
    if not _is_list(value):
        return 0, 0
    scalar_depth, max_depth = None, 1
    for child in value:
        scalar, deepest = _depths(child)
        if scalar is not None:
            if scalar_depth is not None and scalar_depth != scalar + 1:
                raise ValueError("all scalar values must have the same nesting depth")
            scalar_depth = scalar + 1
        max_depth = max(max_depth, deepest + 1)
    return scalar_depth, max_depth


def _inner_shape(pylist, ragged_rank):
    """Returns the shape of the values below the ragged dimensions.

    Raises:
      ValueError: there are fewer levels of lists, or shapes differ.
    """
    values = pylist
    for depth in range(ragged_rank):
        if not all(_is_list(v) for v in values):
            raise ValueError(
                f"pylist has scalar values depth {depth + 1}, but ragged_rank={ragged_rank} "
                f"requires scalar value depth greater than {ragged_rank}"
            )
        values = [value for row in values for value in row]

    def shape_of(item):
        if not _is_list(item):
            return ()
        return (len(item), *shape_of(item[0])) if len(item) else (0,)

    def check(item, shape):
        if _is_list(item) != bool(shape) or (shape and shape[0] != len(item)):
            raise ValueError("inner values have inconsistent shape")
        for child in item if shape else ():
            check(child, shape[1:])

    shape = shape_of(values)
    check(values, shape)
    return shape[1:]


@export(v1="ragged.placeholder")
def ragged_placeholder(
    dtype: DTypeLike, ragged_rank: int, value_shape: ShapeLike = None, name: str | None = None
) -> Any:
    """Creates a placeholder for a ragged tensor, which is fed with a RaggedTensorValue.

    Args:
      dtype: The type of the values.
      ragged_rank: The number of ragged dimensions.
      value_shape: The shape of a flat value; unknown by default.
      name: A name for the operation (optional).

    Returns:
      A RaggedTensor; a tensor if `ragged_rank` is 0.
    """
    if ragged_rank == 0:
        return dense_placeholder(dtype, value_shape, name)
    with scope(name, "RaggedPlaceholder"):
        shape = tensor_shape.as_shape([None]).concatenate(tensor_shape.as_shape(value_shape))
        result = dense_placeholder(dtype, shape, "flat_values")
        for i in reversed(range(ragged_rank)):
            splits = dense_placeholder("int64", [None], f"row_splits_{i}")
            result = RaggedTensor.of_splits(result, splits)
        return result


@export("ragged.range")
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: DTypeLike = None,
    name: str | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:
    """Returns a ragged tensor with one range per row.

    Args:
      starts: The first values of the ranges: a vector or a scalar. With `limits=None`, the limits;
        the ranges begin at 0.
      limits: The ends of the ranges, which they do not include.
      deltas: The increments.
      dtype: The type of the values.
      name: A name for the operation (optional).
      row_splits_dtype: int32 or int64.
    """
    if limits is None:
        starts, limits = 0, starts
    kind = as_dtype("int64" if row_splits_dtype is None else row_splits_dtype)
    with scope(name, "RaggedRange"):
        starts, limits, deltas = _range_operands(starts, limits, deltas, dtype)
        first, step, counts = _range_counts(starts, limits, deltas)
        counts = cast(counts, kind)
        rows = RaggedTensor.from_row_lengths(
            op("Range", constant(0, kind), op("Sum", counts, [0]), constant(1, kind)),
            counts,
            validate=False,
        )
        ids = rows.value_rowids()
        place = cast(rows._row_partition.offsets_in_rows(), first.dtype)
        values = op("GatherV2", first, ids, 0) + place * op("GatherV2", step, ids, 0)
        return rows.with_values(values)


def _range_operands(starts, limits, deltas, dtype):
    """Converts operands to one type, the widest of them."""
    order = ["int32", "int64", "float32", "float64"]
    operands = [
        convert_to_tensor(v, dtype, name=n)
        for v, n in ((starts, "starts"), (limits, "limits"), (deltas, "deltas"))
    ]
    if dtype is None:
        names = [o.dtype.name for o in operands]
        widest = max((n for n in names if n in order), key=order.index, default="int32")
        operands = [cast(o, widest) for o in operands]
    for one in operands:
        if one.shape.rank not in (None, 0, 1):
            raise ValueError(f"Shape {one.shape} must have rank at most 1")
    return operands


def _range_counts(starts, limits, deltas):
    """Returns starts and increments of one size, and the number of values of each range."""
    flat = [op("Reshape", v, [-1]) for v in (starts, limits, deltas)]
    is_scalar = [v.shape.rank == 0 for v in (starts, limits, deltas)]
    sizes = [op("Shape", v) for v, scalar in zip(flat, is_scalar) if not scalar]
    if sizes:
        flat = [
            named("broadcast_to")(v, sizes[0]) if scalar else v
            for v, scalar in zip(flat, is_scalar)
        ]
    first, last, step = flat
    _check_deltas(step)
    span = last - first
    if first.dtype.is_integer:
        zero = constant(0, first.dtype)
        sign = op("Sign", step)
        counts = op("FloorDiv", span + step - sign, step)
        return first, step, op("Maximum", counts, zero)
    counts = op("Ceil", span / step)
    fits = op("Less", counts, constant(2.0**63, counts.dtype))
    most = numpy.iinfo("int64").max
    counts = cast(checked(counts, fits, f"Requires ((limit - start) / delta) <= {most}"), "int64")
    return first, step, op("Maximum", counts, constant(0, "int64"))


def _check_deltas(step):
    known = constant_value(step)
    if known is not None and not numpy.all(known):
        raise errors.InvalidArgumentError(None, None, "Requires delta != 0")


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(
    splits: Any, name: str | None = None, out_type: DTypeLike = None
) -> Any:
    """Returns the row of each value from row splits.

    Args:
      splits: A vector of row splits.
      name: A name for the operation (optional).
      out_type: The type of the result, int32 or int64.

    Raises:
      ValueError: `splits` is empty, or a type is neither int32 nor int64.
    """
    with scope(name, "RaggedSplitsToSegmentIds"):
        splits = convert_to_tensor(splits, dtype_hint="int64", name="splits")
        if splits.dtype.name not in ("int32", "int64"):
            raise ValueError("splits must have dtype int32 or int64")
        if splits.shape.rank not in (None, 1):
            raise ValueError(f"Shape {splits.shape} must have rank 1")
        if splits.shape.rank and splits.shape.as_list()[0] == 0:
            raise ValueError("Invalid row_splits: []")
        rows = RowPartition.from_row_splits(splits, validate=False)
        return cast(rows.value_rowids(), splits.dtype if out_type is None else out_type)


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any,
    num_segments: Any = None,
    out_type: DTypeLike = None,
    name: str | None = None,
) -> Any:
    """Returns row splits from the row of each value, in ascending order.

    Args:
      segment_ids: A vector of integers.
      num_segments: The number of rows; by default one more than the last id.
      out_type: The type of the result, int32 or int64.
      name: A name for the operation (optional).
    """
    with scope(name, "SegmentIdsToRaggedSplits"):
        ids = convert_to_tensor(segment_ids, dtype_hint="int64", name="segment_ids")
        if ids.dtype.name not in ("int32", "int64"):
            raise ValueError("segment_ids must have dtype int32 or int64")
        if ids.shape.rank not in (None, 1):
            raise ValueError(f"Shape {ids.shape} must have rank 1")
        if num_segments is not None:
            num_segments = cast(convert_to_tensor(num_segments), ids.dtype)
        rows = RowPartition.from_value_rowids(ids, num_segments, validate=False)
        return cast(rows.row_splits(), ids.dtype if out_type is None else out_type)
