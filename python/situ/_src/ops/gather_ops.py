# SPDX-License-Identifier: Apache-2.0
"""gather_ops.py: gather_nd, scatter ops on variables, segment reductions, sequence_mask, repeat,
roll, unravel_index."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.check_ops import checked
from situ._src.ops.composite_dispatch import ragged_version
from situ._src.variables.resource_variable import ResourceVariable

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, ShapeLike, Tensor, TensorLike


@export("gather_nd", "manip.gather_nd")
def gather_nd(
    params: TensorLike,
    indices: TensorLike,
    name: str | None = None,
    batch_dims: int = 0,
    bad_indices_policy: str = "",
) -> Tensor:
    """Gathers slices of `params` by index tuples.

    Args:
      params: A tensor.
      indices: An integer tensor whose last dimension holds the indices into the first dimensions of
        `params`.
      batch_dims: The number of leading dimensions that `params` and `indices` share; the indices
        are those of the dimensions of `params` behind them.
      bad_indices_policy: "", "DEFAULT" or "ERROR": indices that are out of range are errors;
        "IGNORE": their elements are 0.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape
      `indices.shape[:-1] + params.shape[batch_dims + indices.shape[-1]:]`.

    Raises:
      TypeError: If `batch_dims` is not an int.
      ValueError: If `batch_dims` is negative, or not less than the rank of an argument, or if there
        is no such policy.
    """
    if bad_indices_policy not in ("", "DEFAULT", "ERROR", "IGNORE"):
        raise ValueError(f"gather_nd: no bad_indices_policy {bad_indices_policy!r}")
    if bad_indices_policy == "IGNORE":
        return _gather_where_valid(params, indices, name, batch_dims)
    if isinstance(batch_dims, int) and batch_dims == 0:
        return op("GatherNd", params, indices, name=name)
    with scope(name, "BatchGatherND"):
        indices = convert_to_tensor(indices, name="indices")
        params = convert_to_tensor(params, name="params")
        _check_batch_dims(batch_dims, params, indices)
        return op("GatherNd", params, _with_batch_indices(params, indices, batch_dims))


def _gather_where_valid(params, indices, name, batch_dims):
    """Returns gather_nd with zeros for indices that are out of range."""
    if any(hasattr(v, "nested_row_splits") for v in (params, indices)):
        raise ValueError("non-default bad_indices_policy not supported for ragged gather")
    with scope(name, "GatherNd"):
        params, indices = convert_to_tensor(params), convert_to_tensor(indices)
        _check_batch_dims(batch_dims, params, indices)
        count = shape_op(indices)[-1]
        sizes = cast(op("Slice", shape_op(params), [batch_dims], [count]), indices.dtype)
        low = op("GreaterEqual", indices, cast(0, indices.dtype))
        is_valid = OPS["All"](op("LogicalAnd", low, op("Less", indices, sizes)), -1)
        chosen = op("ExpandDims", is_valid, -1)
        found = gather_nd(
            params, op("SelectV2", chosen, indices, op("ZerosLike", indices)), None, batch_dims
        )
        missing = op("Sub", op("Rank", found), op("Rank", is_valid))
        ones = op("Fill", op("ExpandDims", missing, 0), cast(1, "int32"))
        mask = op("Reshape", is_valid, op("ConcatV2", [shape_op(is_valid), ones], 0))
        return op("SelectV2", mask, found, op("ZerosLike", found))


def _check_batch_dims(batch_dims, params, indices):
    if not isinstance(batch_dims, int):
        raise TypeError(f"Argument `batch_dims` must be an int; got {batch_dims}")
    if batch_dims < 0:
        raise ValueError("tf.gather_nd does not allow negative batch_dims.")
    for name, tensor in (("indices", indices), ("params", params)):
        rank = tensor.shape.rank
        if rank is not None and batch_dims >= rank:
            raise ValueError(
                f"Argument `batch_dims` = {batch_dims} must be less than rank(`{name}`) = {rank}"
            )


def _with_batch_indices(params, indices, batch_dims):
    """Returns index tuples for all dimensions of params: those of the batch and the given ones."""
    sizes, rows = shape_op(params), shape_op(indices)[:-1]
    count = indices.shape.rank - 1 if indices.shape.rank is not None else op("Size", rows)
    parts = []
    for axis in range(batch_dims):
        numbers = op("Range", cast(0, "int32"), sizes[axis], cast(1, "int32"))
        inner = op("Fill", op("Reshape", count - axis - 1, [1]), cast(1, "int32"))
        column = op("Reshape", numbers, op("ConcatV2", [[-1], inner], 0))
        column = op("BroadcastTo", cast(column, indices.dtype), rows)
        parts.append(op("ExpandDims", column, -1))
    return op("ConcatV2", [*parts, indices], -1)


export(v2="gather_nd")(
    with_order(gather_nd, "params", "indices", "batch_dims", "name", "bad_indices_policy")
)


def _scatter(op_name, names):
    """Exports a function that updates slices of a variable with an op."""

    def scatter(
        ref: TensorLike,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Any:
        """Updates slices of a variable.

        Args:
          ref: A variable.
          indices: The indices of the slices to update.
          updates: The values to apply.
          use_locking: Ignored; no lock protects the update from concurrent steps.
          name: A name for the operation (optional).

        Returns:
          The variable after the update.
        """
        del use_locking  # there is no lock to take
        if isinstance(ref, ResourceVariable):
            return ref._scatter(op_name, indices, updates, name)
        target: Any = getattr(ref, "_ref", ref)
        return op(
            op_name, target, indices, convert_to_tensor(updates, target.dtype.base_dtype), name=name
        )

    export(v1=names)(scatter)
    return scatter


for _update in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    _scatter("Scatter" + _update, "scatter_" + _update.lower())
_scatter_nd_update = _scatter("ScatterNdUpdate", "scatter_nd_update")
for _update in ("Add", "Sub"):
    _scatter("ScatterNd" + _update, "scatter_nd_" + _update.lower())


@export(v1="batch_scatter_update")
def batch_scatter_update(
    ref: Any,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Assigns slices of a variable, by indices into the dimension behind the batch.

    Args:
      ref: A variable of shape [batch dimensions, n, ...].
      indices: Integers of shape [batch dimensions, k].
      updates: A tensor of shape [batch dimensions, k, ...].
      use_locking: Ignored; no lock protects the update from concurrent steps.
      name: A name for the operation (optional).

    Returns:
      The variable after the update.

    Raises:
      ValueError: If the rank of `indices` is not known.
    """
    with scope(name, "batch_scatter_update"):
        places = convert_to_tensor(indices, name="indices")
        rank = tensor_shape.as_shape(places.shape).ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        last = op("ExpandDims", places, -1)
        sizes, ones = op("Unpack", shape_op(places), num=rank), op("OnesLike", last)
        columns = []
        for d in range(rank - 1):
            numbers = op("Range", constant(0, "int32"), sizes[d], constant(1, "int32"))
            along = [-1 if i == d else 1 for i in range(rank + 1)]
            columns.append(op("Mul", cast(op("Reshape", numbers, along), last.dtype), ones))
        tuples = op("ConcatV2", [*columns, last], -1) if columns else last
        return _scatter_nd_update(ref, tuples, updates, use_locking)


@export("math.unsorted_segment_mean", v1="unsorted_segment_mean")
@ragged_version("ragged_math", "segment_mean")
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the mean of the rows of each segment.

    Args:
      data: A tensor.
      segment_ids: An integer tensor with the segment of each row, in any order.
      num_segments: The number of segments.
      name: A name for the operation (optional).

    Returns:
      A tensor with one row per segment, 0 for empty segments.
    """
    with scope(name, "UnsortedSegmentMean") as full:
        data = convert_to_tensor(data)
        ones = op("OnesLike", data)
        count = op("UnsortedSegmentSum", ones, segment_ids, num_segments)
        total = op("UnsortedSegmentSum", data, segment_ids, num_segments)
        mean = total / op("Maximum", count, op("OnesLike", count))
        return op("Identity", mean, name=full)


@export("math.unsorted_segment_sqrt_n", v1="unsorted_segment_sqrt_n")
@ragged_version("ragged_math", "segment_sqrt_n")
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Sums the rows of each segment and divides by the square root of their number.

    Args:
      data: A tensor.
      segment_ids: An integer tensor with the segment of each row, in any order.
      num_segments: The number of segments.
      name: A name for the operation (optional).
    """
    with scope(name, "UnsortedSegmentSqrtN") as full:
        data = convert_to_tensor(data)
        count = op("UnsortedSegmentSum", op("OnesLike", data), segment_ids, num_segments)
        total = op("UnsortedSegmentSum", data, segment_ids, num_segments)
        least = op("Maximum", count, op("OnesLike", count))
        return op("RealDiv", total, op("Sqrt", least), name=full)


@export("sequence_mask")
def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike = None,
    dtype: DTypeLike = "bool",
    name: str | None = None,
) -> Tensor:
    """Returns a mask of the first `lengths[i]` positions: `mask[i, j] = j < lengths[i]`.

    Args:
      lengths: A tensor of integers.
      maxlen: The size of the last dimension; the largest length by default.
      dtype: The element type of the result.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `lengths.shape + [maxlen]`.
    """
    with scope(name, "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            longest = OPS["Max"](lengths)
            maxlen = op("Maximum", constant(0, lengths.dtype), longest)
        else:
            maxlen = convert_to_tensor(maxlen)
            lengths = cast(lengths, maxlen.dtype)
        positions = op("Range", constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        mask = op("Less", positions, op("ExpandDims", lengths, -1))
        return cast(mask, as_dtype(dtype))


def gather_in_batches(params, indices, axis, batch_dims, name=None):
    """Gathers with batch_dims: the leading dimensions of params and indices are batch
    dimensions."""
    axis = batch_dims if axis is None else axis
    return op("GatherV2", params, indices, axis, batch_dims=batch_dims, name=name)


@export(v1="batch_gather")
def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gathers slices along the last batch dimension; see `tf.gather` with `batch_dims=-1`.

    Args:
      params: A tensor.
      indices: An integer tensor with the indices along the last batch dimension.
      name: A name for the operation (optional).
    """
    with scope(name, "BatchGather"):
        indices = convert_to_tensor(indices)
        return gather_in_batches(params, indices, None, indices.shape.ndims - 1)


@export(v1="tensor_scatter_update")
def tensor_scatter_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a copy of a tensor with slices replaced; see `tf.tensor_scatter_nd_update`.

    Args:
      tensor: The tensor.
      indices: An integer tensor whose last dimension holds the indices into the first dimensions of
        `params`.
      updates: The values to apply.
      name: A name for the operation (optional).
    """
    return op("TensorScatterUpdate", tensor, indices, updates, name=name)


def _repeated_indices(repeats):
    """Returns index i repeats[i] times, in order."""
    repeats = cast(convert_to_tensor(repeats), "int32")
    most = op("Max", op("ConcatV2", [repeats, constant([0], "int32")], 0), [0])
    rows = op("Range", constant(0, "int32"), op("Size", repeats), constant(1, "int32"))
    wide = op(
        "Add",
        op("ExpandDims", rows, 1),
        op(
            "ZerosLike",
            op("ExpandDims", op("Range", constant(0, "int32"), most, constant(1, "int32")), 0),
        ),
    )
    places = op("Where", op("Reshape", sequence_mask(repeats, most), [-1]))
    return op("GatherV2", op("Reshape", wide, [-1]), op("Reshape", places, [-1]), 0)


@export("repeat")
def repeat(
    input: TensorLike, repeats: TensorLike, axis: Axis = None, name: str | None = None
) -> Tensor:
    """Repeats elements or slices of a tensor.

    Args:
      input: A tensor.
      repeats: How often to repeat each element: one number, or one per element along `axis`.
      axis: The dimension to repeat along. By default the flattened tensor is repeated.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If `axis` is out of range.
    """
    tensor = convert_to_tensor(input)
    if axis is None:
        tensor, axis = op("Reshape", tensor, [-1]), 0
    rank = tensor_shape.as_shape(tensor.shape).rank
    if rank == 0:
        tensor, rank = op("Reshape", tensor, [1]), 1
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"tf.repeat: axis {axis} is out of range for a tensor of rank {rank}.")
    axis = axis if rank is None else axis % rank
    counts = convert_to_tensor(repeats)
    if rank is None or tensor_shape.as_shape(counts.shape).rank != 0:
        size = op("ExpandDims", shape_op(tensor)[axis], 0)
        counts = op("BroadcastTo", cast(counts, "int32"), size)
        return op("GatherV2", tensor, _repeated_indices(counts), axis, name=name)
    expanded = op("ExpandDims", tensor, axis + 1)
    tiled = op("Tile", expanded, [repeats if d == axis + 1 else 1 for d in range(rank + 1)])
    sizes = op(
        "Concat",
        0,
        [
            op("Slice", shape_op(tiled), [0], [axis]),
            constant([-1], "int32"),
            op("Slice", shape_op(tiled), [axis + 2], [-1]),
        ],
    )
    return op("Reshape", tiled, sizes, name=name)


@export("meshgrid")
def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """Expands 1-D tensors into coordinate grids.

    Args:
      *args: 1-D tensors.
      indexing: "xy" (Cartesian) or "ij" (matrix indexing).
      name: A name for the operation (optional).

    Returns:
      A list of tensors of rank `len(args)`.

    Raises:
      ValueError: If `indexing` is neither "xy" nor "ij".
    """
    with scope(name, "meshgrid"):
        parts = [op("Reshape", convert_to_tensor(a), [-1]) for a in args]
        rank = len(parts)
        sizes = [shape_op(p) for p in parts]
        order = list(range(rank))
        if indexing == "xy" and rank > 1:
            order[0], order[1] = 1, 0
        elif indexing not in ("xy", "ij"):
            raise ValueError("Argument `indexing` must be either 'xy' or 'ij', got " + indexing)
        grid_shape = op("ConcatV2", [sizes[i] for i in order], 0)
        grids = []
        for i, part in enumerate(parts):
            shape = [-1 if order[d] == i else 1 for d in range(rank)]
            grids.append(op("BroadcastTo", op("Reshape", part, shape), grid_shape))
        return grids


@export("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns `x` and checks at run time that it has a shape.

    Args:
      x: A tensor.
      shape: The expected shape; None stands for an unknown dimension.
      name: A name for the operation (optional).

    Returns:
      `x` with this static shape.

    Raises:
      InvalidArgumentError: If the shape does not match.
    """
    return op("EnsureShape", x, shape=tensor_shape.as_shape(shape), name=name)


_BAD_SIZE = "Input dims cannot contain a dim of zero or be negative."


@export("unravel_index")
def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Converts flat indices into coordinates of a tensor of shape `dims`, one column per index.

    Args:
      indices: A tensor of integers.
      dims: The shape, a vector of integers.
      name: A name for the operation (optional).

    Raises:
      InvalidArgumentError: A dimension is not positive, or an index is not in such a tensor.
    """
    with scope(name, "UnravelIndex"):
        indices = convert_to_tensor(indices, name="indices")
        dims = convert_to_tensor(dims, indices.dtype, "dims")
        dims = checked(dims, op("Greater", dims, constant(0, dims.dtype)), _BAD_SIZE)
        inside = op("Less", indices, op("Prod", dims, [0]))
        indices = checked(indices, inside, "index is out of bound as with dims")
        steps = op("Cumprod", dims, 0, exclusive=True, reverse=True)
        rank = tensor_shape.as_shape(indices.shape).rank or 0
        steps = op("Reshape", steps, [-1] + [1] * rank)
        sizes = op("Reshape", dims, [-1] + [1] * rank)
        return op("TruncateMod", op("TruncateDiv", op("ExpandDims", indices, 0), steps), sizes)
