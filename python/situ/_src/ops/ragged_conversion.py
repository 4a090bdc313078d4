# SPDX-License-Identifier: Apache-2.0
"""ragged_conversion.py: conversions of ragged tensors to and from dense and sparse tensors, and
their merged dimensions."""

from __future__ import annotations

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import BOTH, export, named
from situ._src.framework.graph import scope
from situ._src.framework.tensor import EagerTensor, Tensor, constant_value
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor, positive_axis, row_count
from situ._src.ops.row_partition import check, with_checks
from situ._src.ops.sparse_ops import SparseTensor, SparseTensorValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, DTypeLike, TensorLike


def from_tensor(tensor, lengths, padding, ragged_rank, name, kind):
    """See RaggedTensor.from_tensor."""
    if lengths is not None and padding is not None:
        raise ValueError("Only one of arguments `lengths` or `padding` may be specified, not both.")
    if not isinstance(ragged_rank, int):
        raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
    if ragged_rank <= 0:
        raise ValueError(f"Argument `ragged_rank` must be greater than 0. Received {ragged_rank}.")
    with scope(name, "RaggedFromTensor"):
        tensor = convert_to_tensor(tensor, name="tensor")
        rank = tensor.shape.rank
        if rank is not None and rank < 2:
            raise ValueError(
                "The rank of a RaggedTensor must be greater than 1, i.e., a list of scalars won't "
                f"have ragged dimensions. Received argument `tensor` with rank {rank}."
            )
        tensor.shape.with_rank_at_least(ragged_rank + 1)
        is_nested = isinstance(lengths, (list, tuple)) and len(lengths) > 0
        if is_nested and not isinstance(lengths[0], (int, float)):
            return _of_nested_lengths(tensor, lengths, ragged_rank, kind)
        return _of_rows(tensor, lengths, padding, ragged_rank, kind)


def _of_nested_lengths(tensor, lengths, ragged_rank, kind):
    """Converts a tensor with the row lengths of each ragged dimension."""
    if ragged_rank not in (1, len(lengths)):
        raise ValueError(
            "If Argument `lengths` is a tuple of row_lengths, argument `ragged_rank` must be "
            f"len(lengths): {len(lengths)}. Received ragged_rank: {ragged_rank}."
        )
    tensor.shape.with_rank_at_least(len(lengths) + 1)
    lengths = [convert_to_tensor(n, dtype_hint=kind) for n in lengths]
    ones = op("Fill", op("Reshape", op("Sum", lengths[-1], [0]), [1]), constant(True))
    mask = RaggedTensor.from_nested_row_lengths(ones, lengths, validate=False).to_tensor(False)
    kept = BOTH["boolean_mask"](tensor, mask)
    return RaggedTensor.from_nested_row_lengths(kept, lengths, validate=False)


def _size(tensor, axis, sizes, kind):
    """The size of a dimension, as a constant if it is known."""
    known = tensor.shape.as_list()[axis] if tensor.shape.rank is not None else None
    return sizes[axis] if known is None else constant(known, kind)


def _of_rows(tensor, lengths, padding, ragged_rank, kind):
    sizes = op("Shape", tensor, out_type=kind)
    if ragged_rank > 1:
        outer = op("Prod", sizes[:ragged_rank], [0])
        flat = op("Reshape", tensor, concat([op("Reshape", outer, [1]), sizes[ragged_rank:]], 0))
        dims = tensor.shape.as_list() if tensor.shape.rank is not None else None
        if dims is not None and not isinstance(flat, EagerTensor):
            before = dims[:ragged_rank]
            rows = None if None in before else int(numpy.prod(before))
            flat.set_shape([rows, *dims[ragged_rank:]])
        result = _of_rows(flat, lengths, padding, 1, kind)
        for axis in range(ragged_rank - 1, 0, -1):
            rows = op("Prod", sizes[:axis], [0])
            if dims is not None and None not in dims[:axis]:
                rows = constant(int(numpy.prod(dims[:axis])), kind)
            result = RaggedTensor.from_uniform_row_length(
                result, _size(tensor, axis, sizes, kind), rows, validate=False
            )
        return result
    columns = _size(tensor, 1, sizes, kind)
    if padding is not None:
        lengths = _without_padding(tensor, padding, columns, kind)
    if lengths is not None:
        lengths = cast(convert_to_tensor(lengths, dtype_hint=kind, name="lengths"), kind)
        if lengths.shape.rank not in (None, 1):
            raise ValueError(f"Shape {lengths.shape} must have rank 1")
        zero = constant(0, kind)
        lengths = op("Maximum", op("Minimum", lengths, columns), zero)
        mask = BOTH["sequence_mask"](lengths, columns)
        splits = concat([constant([0], kind), op("Cumsum", lengths, constant(0))], 0)
        return RaggedTensor.of_splits(BOTH["boolean_mask"](tensor, mask), splits)
    count = op("Reshape", sizes[0] * sizes[1], [1])
    values = op("Reshape", tensor, concat([count, sizes[2:]], 0))
    return RaggedTensor.from_uniform_row_length(
        values, columns, _size(tensor, 0, sizes, kind), validate=False
    )


def _without_padding(tensor, padding, columns, kind):
    """The lengths of rows without trailing padding."""
    padding = convert_to_tensor(padding, tensor.dtype, name="padding")
    padding.shape.assert_is_compatible_with(tensor.shape[2:])
    is_value = op("NotEqual", tensor, padding)
    rank = tensor.shape.rank
    if rank is None:
        sizes = op("Shape", is_value)
        is_value = op("Reshape", is_value, concat([sizes[:2], constant([-1])], 0))
        rank = 3
    if rank > 2:
        is_value = op("Any", is_value, list(range(2, rank)))
    one = constant(1, kind)
    places = op("Range", one, columns + one, one)
    zero = op("Fill", op("Pack", [op("Shape", is_value)[0], constant(1)]), constant(0, kind))
    return op("Max", concat([cast(is_value, kind) * places, zero], 1), [1])


def from_sparse(st_input, name, kind):
    """See RaggedTensor.from_sparse."""
    if not isinstance(st_input, (SparseTensor, SparseTensorValue)):
        raise TypeError(
            "Argument `st_input` must be of type SparseTensor, but is of type "
            f"{type(st_input).__name__}."
        )
    with scope(name, "RaggedFromSparse"):
        if isinstance(st_input, SparseTensorValue):
            st_input = SparseTensor(*st_input)
        dims, pairs = st_input.dense_shape.shape, st_input.indices.shape
        ranks = [dims.as_list()[0] if dims.rank else None]
        ranks.append(pairs.as_list()[1] if pairs.rank else None)
        if 2 not in ranks:
            raise ValueError("rank(st_input) must be 2.")
        checks = _check_left_aligned(st_input.indices)
        rows = with_checks(checks, cast(st_input.indices[:, 0], kind))
        return RaggedTensor.from_value_rowids(
            st_input.values, rows, cast(st_input.dense_shape[0], kind), validate=False
        )


def _check_left_aligned(indices):
    """Checks that the columns of each row are 0, 1, 2, ..."""
    rows, columns = indices[:, 0], indices[:, 1]
    zero, one = constant(0, "int64"), constant(1, "int64")
    is_new = op("NotEqual", rows[1:], rows[:-1])
    expected = op("SelectV2", is_new, zero, columns[:-1] + one)
    in_order = op("Equal", columns[1:], expected)
    in_order = concat([op("Equal", columns[:1], zero), in_order], 0)
    return check(in_order, "SparseTensor is not right-ragged", "SparseTensor.indices =", indices)


def to_sparse(rt, name):
    """See RaggedTensor.to_sparse."""
    with scope(name, "RaggedToSparse"):
        wide = rt.with_row_splits_dtype("int64")
        partitions, values = wide._nested_row_partitions, wide.flat_values
        count = row_count(values)
        zero, one = constant(0, "int64"), constant(1, "int64")
        at, columns = op("Range", zero, count, one), []
        for rows in reversed(partitions):
            ids = op("GatherV2", rows.value_rowids(), at, 0)
            columns.append(at - op("GatherV2", rows.row_starts(), ids, 0))
            at = ids
        columns = [at, *reversed(columns)]
        inner = op("Shape", values, out_type="int64")[1:]
        rank = values.shape.rank
        for axis in range(1, rank or 1):
            size = inner[axis - 1]
            places = op("Range", zero, size, one)
            n = op("Shape", columns[0], out_type="int64")
            columns = [BOTH["repeat"](c, size) for c in columns]
            columns.append(op("Tile", places, n))
        indices = op("Pack", columns, axis=1)
        return SparseTensor(indices, op("Reshape", values, [-1]), wide.bounding_shape())


def to_tensor(rt, default_value, name, shape):
    """See RaggedTensor.to_tensor."""
    with scope(name, "RaggedToTensor"):
        empty = "" if rt.dtype.name == "string" else False if rt.dtype.is_bool else 0
        given = empty if default_value is None else default_value
        fill = convert_to_tensor(given, rt.dtype, name="default_value")
        sizes, static = _wanted(shape, rt.shape.rank)
        result = _pad(rt.with_row_splits_dtype("int64"), fill, sizes)
        known = rt.shape
        if known.rank is not None and not isinstance(result, EagerTensor) and static is not None:
            result.set_shape([a if a is not None else b for a, b in zip(static, known.as_list())])
        return result


def _wanted(shape, rank):
    """Returns the wanted size of each dimension (an int64 tensor or None), and the static
    shape; None if it is not known."""
    if isinstance(shape, (list, tuple)) and any(isinstance(v, Tensor) for v in shape):
        static = [None if isinstance(v, Tensor) else v for v in shape]
        return [
            None
            if v is None or (isinstance(v, int) and v < 0)
            else cast(v, "int64")
            if isinstance(v, Tensor)
            else constant(v, "int64")
            for v in shape
        ], static
    if isinstance(shape, Tensor):
        known = constant_value(shape)
        if known is None:
            raise ValueError(
                "situ needs a `shape` of RaggedTensor.to_tensor that is known when the graph is "
                "built, or a list of scalars."
            )
        shape = [None if v < 0 else int(v) for v in numpy.atleast_1d(known)] if known.ndim else None
    if shape is not None and not isinstance(shape, tensor_shape.TensorShape):
        shape = [
            None if v is not None and not hasattr(v, "value") and int(v) < 0 else v for v in shape
        ]
    dims = tensor_shape.as_shape(shape)
    if dims.rank is None:
        return None, [None] * rank if rank is not None else None
    if rank is not None and dims.rank != rank:
        raise ValueError(f"shape {dims} must have the rank {rank} of the ragged tensor")
    return [None if d is None else constant(d, "int64") for d in dims.as_list()], dims.as_list()


def _pad(rt, fill, sizes):
    """Converts to a dense tensor with the wanted sizes, all None by default."""
    values = rt.values
    inner_sizes = None if sizes is None else [None, *sizes[2:]]
    zero, one = constant(0, "int64"), constant(1, "int64")
    if isinstance(values, RaggedTensor):
        values = _pad(values, fill, inner_sizes)
    elif inner_sizes is not None and any(s is not None for s in inner_sizes[1:]):
        values = _resize_inner(values, fill, inner_sizes)
    wanted = [None, None] if sizes is None else sizes[:2]
    width = rt._longest() if wanted[1] is None else wanted[1]
    columns = op("ExpandDims", op("Range", zero, width, one), 0)
    at = op("ExpandDims", rt.row_starts(), 1) + columns
    is_value = op("Less", columns, op("ExpandDims", rt.row_lengths(), 1))
    count = row_count(values)
    at = op("SelectV2", is_value, at, count)
    if wanted[0] is not None:
        missing = op("Maximum", wanted[0] - rt.nrows(), zero)
        empty = op("Fill", op("Pack", [missing, width]), count)
        at = concat([at, empty], 0)[: wanted[0]]
    row = op("Shape", values, out_type="int64")[1:]
    inner = values.shape.as_list()[1:] if values.shape.rank is not None else [None]
    fill = named("broadcast_to")(fill, row) if inner else fill
    if rt.dtype.name == "string" or inner:
        fill = op("ExpandDims", fill, 0)
    else:
        fill = op("Reshape", fill, [1])
    return op("GatherV2", concat([values, fill], 0), at, 0)


def _resize_inner(values, fill, sizes):
    """Truncates or pads uniform dimensions of values."""
    for axis in range(1, len(sizes)):
        if sizes[axis] is None:
            continue
        key = (slice(None),) * axis
        values = values[key + (slice(None, sizes[axis]),)]
        now = op("Shape", values, out_type="int64")
        missing = op("Maximum", sizes[axis] - now[axis], constant(0, "int64"))
        shape = concat([now[:axis], op("Reshape", missing, [1]), now[axis + 1 :]], 0)
        values = concat([values, named("broadcast_to")(fill, shape)], axis)
    return values


def merge_dims(rt, outer_axis, inner_axis):
    """See RaggedTensor.merge_dims."""
    rank = rt.shape.rank
    outer_axis = positive_axis(outer_axis, rank, "outer_axis", "rank(self)")
    inner_axis = positive_axis(inner_axis, rank, "inner_axis", "rank(self)")
    if outer_axis > inner_axis:
        raise ValueError(
            f"Expected outer_axis ({outer_axis}) to be less than or equal to inner_axis "
            f"({inner_axis})."
        )
    return _merged(rt, outer_axis, inner_axis)


def _merged(value, outer_axis, inner_axis):
    if outer_axis == inner_axis:
        return value
    while outer_axis == 0 and isinstance(value, RaggedTensor):
        value, inner_axis = value.values, inner_axis - 1
        if not inner_axis:
            return value
    if not isinstance(value, RaggedTensor):
        sizes = op("Shape", value)
        minus = constant([-1])
        return op("Reshape", value, concat([sizes[:outer_axis], minus, sizes[inner_axis + 1 :]], 0))
    if outer_axis > 1:
        return value.with_values(_merged(value.values, outer_axis - 1, inner_axis - 1))
    values, splits = value.values, value.row_splits
    for axis in range(1, inner_axis):
        if isinstance(values, RaggedTensor):
            splits = op("GatherV2", values.row_splits, splits, 0)
            values = values.values
            continue
        dims = inner_axis - axis + 1
        sizes = op("Shape", values, out_type=splits.dtype)
        splits = splits * op("Prod", sizes[1:dims], [0])
        values = op("Reshape", values, concat([constant([-1], splits.dtype), sizes[dims:]], 0))
        break
    return RaggedTensor.of_splits(values, splits)


def set_shape(rt, shape):
    """See RaggedTensor._set_shape."""
    shape = tensor_shape.as_shape(shape)
    if shape.rank is None:
        return
    shape = shape.as_list()
    rows, kind = rt._row_partition, rt.row_splits.dtype
    size = rows.static_uniform_row_length
    if None not in (size, shape[1]) and size != shape[1]:
        raise ValueError(f"Inconsistent size for axis 1: {size} vs. {shape[1]}.")
    merged = rt.shape.merge_with(shape).as_list()
    changes = {}
    if shape[0] is not None and rows._nrows is None:
        changes["nrows"] = constant(merged[0], kind)
    if shape[1] is not None and rows._uniform_row_length is None:
        changes["uniform_row_length"] = constant(merged[1], kind)
    if changes:
        rt._row_partition = rows.copy(**changes)
    splits = rt._row_partition.row_splits()
    if merged[0] is not None and not isinstance(splits, EagerTensor):
        splits.set_shape([merged[0] + 1])
    inner = [rt._row_partition.static_nvals, *shape[2:]]
    if isinstance(rt.values, RaggedTensor):
        set_shape(rt.values, inner)
    elif isinstance(rt.values, EagerTensor):
        rt.values.shape.assert_is_compatible_with(inner)
    else:
        rt.values.set_shape(inner)


@export("python.ops.ragged.ragged_conversion_ops.from_tensor")
def _from_tensor(
    tensor: TensorLike,
    lengths: list | None = None,
    padding: Any = None,
    ragged_rank: int = 1,
    row_splits_dtype: DTypeLike = "int64",
    name: str | None = None,
) -> Any:
    """Converts a dense tensor to a ragged one; see `tf.RaggedTensor.from_tensor`.

    Args:
      tensor: A tensor.
      lengths: Lengths of the rows.
      padding: Value that fills rows at their ends.
      ragged_rank: Number of ragged dimensions.
      row_splits_dtype: int32 or int64.
      name: A name for the operation (optional).
    """
    if hasattr(tensor, "with_flat_values"):
        return tensor
    return RaggedTensor.from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)


@export("python.ops.ragged.ragged_conversion_ops.to_tensor")
def _to_tensor(rt_input: Any, default_value: Any = None, name: str | None = None) -> Any:
    """Converts a ragged tensor to a dense one; see `tf.RaggedTensor.to_tensor`.

    Args:
      rt_input: The ragged tensor.
      default_value: Value of elements behind the ends of rows.
      name: A name for the operation (optional).
    """
    if not hasattr(rt_input, "with_flat_values"):
        return convert_to_tensor(rt_input, name=name)
    return rt_input.to_tensor(default_value, name)
