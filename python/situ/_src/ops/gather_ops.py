# SPDX-License-Identifier: Apache-2.0
"""gather_ops.py: rows taken and put by number: embeddings, scatters, segments, masks of lengths."""

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.check_ops import checked
from situ._src.variables.resource_variable import ResourceVariable


@export("gather_nd", "manip.gather_nd")
def gather_nd(params, indices, name=None, batch_dims=0):
    """The parts of params that tuples of indices name."""
    if batch_dims:
        raise ValueError("situ has gather_nd without batch_dims only.")
    return op("GatherNd", params, indices, name=name)


def _scatter(row, names):
    """A function that updates rows of a variable."""

    def scatter(ref, indices, updates, use_locking=False, name=None):
        if isinstance(ref, ResourceVariable):
            return ref._scatter(row, indices, updates, name)
        target = getattr(ref, "_ref", ref)
        return op(
            row, target, indices, convert_to_tensor(updates, target.dtype.base_dtype), name=name
        )

    export(v1=names)(scatter)
    return scatter


for _word in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    _scatter("Scatter" + _word, "scatter_" + _word.lower())
for _word in ("Update", "Add", "Sub"):
    _scatter("ScatterNd" + _word, "scatter_nd_" + _word.lower())


def _increasing(segment_ids):
    """(numbers of segments, how many there are); an error if they decrease."""
    ids = convert_to_tensor(segment_ids, name="segment_ids")
    end = op("StridedSlice", ids, [-1], [0], [1], end_mask=1)
    last = OPS["Max"](op("ConcatV2", [end, constant([-1], ids.dtype)], 0), 0)
    before = op(
        "ConcatV2",
        [constant([0], ids.dtype), op("StridedSlice", ids, [0], [-1], [1], begin_mask=1)],
        0,
    )
    first = op("StridedSlice", ids, [0], [1], [1])
    ids = checked(
        ids,
        op("GreaterEqual", first, constant(0, ids.dtype)),
        "segment ids must not be negative",
    )
    size = op("Reshape", op("Size", ids), [1])
    rising = op("LessEqual", op("Slice", before, [0], size), ids)
    ids = checked(ids, rising, "segment ids are not increasing")
    return ids, op("Add", last, constant(1, ids.dtype))


def _segments(row):
    def segment(data, segment_ids, name=None):
        """Rows with one number reduced; the numbers do not decrease."""
        ids, count = _increasing(segment_ids)
        data = convert_to_tensor(data)
        if row[-3:] not in ("Max", "Min"):
            return op(row, data, ids, count, name=name)
        with scope(name, "Segment" + row[-3:]) as full:  # of no rows it is 0
            made = op(row, data, ids, count)
            some = op("UnsortedSegmentSum", op("OnesLike", data), ids, count)
            zeros = op("ZerosLike", made)
            return op("SelectV2", op("Greater", some, zeros), made, zeros, name=full)

    return segment


for _word in ("sum", "prod", "max", "min"):
    export("math.segment_" + _word, v1="segment_" + _word)(
        _segments("UnsortedSegment" + _word.capitalize())
    )


@export("math.unsorted_segment_mean", v1="unsorted_segment_mean")
def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    with scope(name, "UnsortedSegmentMean") as full:
        data = convert_to_tensor(data)
        ones = op("OnesLike", data)
        count = op("UnsortedSegmentSum", ones, segment_ids, num_segments)
        total = op("UnsortedSegmentSum", data, segment_ids, num_segments)
        return op("RealDiv", total, op("Maximum", count, op("OnesLike", count)), name=full)


@export("math.segment_mean", v1="segment_mean")
def segment_mean(data, segment_ids, name=None):
    return unsorted_segment_mean(data, *_increasing(segment_ids), name)


@export("math.unsorted_segment_sqrt_n", v1="unsorted_segment_sqrt_n")
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    with scope(name, "UnsortedSegmentSqrtN") as full:
        data = convert_to_tensor(data)
        count = op("UnsortedSegmentSum", op("OnesLike", data), segment_ids, num_segments)
        total = op("UnsortedSegmentSum", data, segment_ids, num_segments)
        least = op("Maximum", count, op("OnesLike", count))
        return op("RealDiv", total, op("Sqrt", least), name=full)


@export("sequence_mask")
def sequence_mask(lengths, maxlen=None, dtype="bool", name=None):
    """mask[i, j] = j < lengths[i]."""
    with scope(name, "SequenceMask"):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            most = OPS["Max"](lengths)
            maxlen = op("Maximum", constant(0, lengths.dtype), most)
        else:
            maxlen = convert_to_tensor(maxlen)
            lengths = cast(lengths, maxlen.dtype)
        row = op("Range", constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        made = op("Less", row, op("ExpandDims", lengths, -1))
        return cast(made, as_dtype(dtype))


def gather_in_batches(params, indices, axis, batch_dims):
    """gather, where the first dimensions of both count examples: each has numbers of its own."""
    params, indices = convert_to_tensor(params), convert_to_tensor(indices)
    rank, numbers = params.shape.ndims, indices.shape.ndims
    if rank is None or numbers is None:
        raise ValueError("gather with batch_dims needs tensors of known rank.")
    batch = batch_dims + numbers if batch_dims < 0 else batch_dims
    axis = batch if axis is None else axis + rank if axis < 0 else axis
    if not 0 <= batch <= min(numbers, rank - 1) or axis < batch:
        raise ValueError(
            f"batch_dims = {batch_dims} must be at most axis = {axis} and less than "
            f"the rank of params ({rank}) and at most that of indices ({numbers})."
        )
    between = list(range(batch, axis))
    if between:  # the axis comes first, and goes back behind
        order = [*range(batch), axis, *between, *range(axis + 1, rank)]
        made = gather_in_batches(op("Transpose", params, order), indices, batch, batch)
        new = list(range(batch, numbers))
        rest = list(range(numbers + len(between), numbers + rank - batch - 1))
        moved = [numbers + i for i in range(len(between))]
        return op("Transpose", made, [*range(batch), *moved, *new, *rest])
    sizes, counts = op("Shape", params), op("Shape", indices)
    examples = op("Prod", op("Slice", sizes, [0], [batch]), [0])
    rows = op("Slice", sizes, [batch], [1])
    behind = op("Slice", sizes, [batch + 1], [-1])
    flat = op("Reshape", params, op("ConcatV2", [rows * examples, behind], 0))
    first = op("Range", constant(0, "int32"), examples, constant(1, "int32")) * rows
    first = op(
        "Reshape",
        first,
        op(
            "ConcatV2",
            [op("Slice", counts, [0], [batch]), constant([1] * (numbers - batch), "int32")],
            0,
        ),
    )
    fits = op(
        "LogicalAnd",
        op("GreaterEqual", indices, constant(0, indices.dtype)),
        op("Less", indices, cast(rows, indices.dtype)),
    )
    at = indices + cast(first, indices.dtype)  # numbers that do not fit are none of any example
    return op("GatherV2", flat, op("SelectV2", fits, at, constant(-1, indices.dtype)), 0)


@export(v1="batch_gather")
def batch_gather(params, indices, name=None):
    """Rows by number, each example its own."""
    indices = convert_to_tensor(indices)
    return gather_in_batches(params, indices, None, indices.shape.ndims - 1)


@export(v1="tensor_scatter_update")
def tensor_scatter_update(tensor, indices, updates, name=None):
    return op("TensorScatterUpdate", tensor, indices, updates, name=name)


def _numbers_of(repeats):
    """0 as often as the first number says, 1 as often as the second, ..."""
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
def repeat(input, repeats, axis=None, name=None):
    """Each element (or slice along axis) as often as `repeats` says, for all or for each."""
    tensor = convert_to_tensor(input)
    if axis is None:
        tensor, axis = op("Reshape", tensor, [-1]), 0
    rank = tensor_shape.as_shape(tensor.shape).rank
    if rank == 0:
        tensor, rank = op("Reshape", tensor, [1]), 1
    if rank is None or not -rank <= axis < rank:
        raise ValueError(f"The axis {axis} of repeat is none of a tensor of rank {rank}.")
    axis = axis % rank
    if (
        isinstance(repeats, (list, tuple))
        or tensor_shape.as_shape(getattr(repeats, "shape", ())).rank
    ):
        return op("GatherV2", tensor, _numbers_of(repeats), axis, name=name)
    wide = op("ExpandDims", tensor, axis + 1)
    many = op("Tile", wide, [repeats if d == axis + 1 else 1 for d in range(rank + 1)])
    sizes = op(
        "Concat",
        0,
        [
            op("Slice", shape_op(many), [0], [axis]),
            constant([-1], "int32"),
            op("Slice", shape_op(many), [axis + 2], [-1]),
        ],
    )
    return op("Reshape", many, sizes, name=name)


@export("roll", "manip.roll")
def roll(input, shift, axis, name=None):
    """The elements moved along axes; those that leave at the end come in at the front."""
    tensor = convert_to_tensor(input)
    many = isinstance(axis, (list, tuple))
    for by, at in zip(shift, axis) if many else [(shift, axis)]:
        known = tensor_shape.as_shape(tensor.shape)
        size = None if known.rank is None else known.as_list()[at]
        if size is not None and isinstance(by, int):
            by = by % size if size else 0
            parts = [size - by, by]
        else:
            size = shape_op(tensor)[at] if size is None else constant(size, "int32")
            by = op(
                "FloorMod",
                cast(convert_to_tensor(by), "int32"),
                op("Maximum", size, constant(1, "int32")),
            )
            parts = op("Pack", [size - by, by])
        if not isinstance(by, int) or by:
            front, back = op("SplitV", tensor, parts, at, num_split=2)
            tensor = op("ConcatV2", [back, front], at)
    return op("Identity", tensor, name=name)


@export("meshgrid")
def meshgrid(*args, indexing="xy", name=None):
    """Vectors as coordinates of a grid."""
    with scope(name, "meshgrid"):
        parts = [op("Reshape", convert_to_tensor(a), [-1]) for a in args]
        rank = len(parts)
        sizes = [shape_op(p) for p in parts]
        order = list(range(rank))
        if indexing == "xy" and rank > 1:
            order[0], order[1] = 1, 0
        elif indexing not in ("xy", "ij"):
            raise ValueError("Argument `indexing` must be either 'xy' or 'ij', got " + indexing)
        whole = op("ConcatV2", [sizes[i] for i in order], 0)
        made = []
        for i, part in enumerate(parts):
            form = [-1 if order[d] == i else 1 for d in range(rank)]
            made.append(op("BroadcastTo", op("Reshape", part, form), whole))
        return made


@export("ensure_shape")
def ensure_shape(x, shape, name=None):
    """x, which must have this shape."""
    return op("EnsureShape", x, shape=tensor_shape.as_shape(shape), name=name)
