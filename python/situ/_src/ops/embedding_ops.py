# SPDX-License-Identifier: Apache-2.0
"""embedding_ops.py: tf.nn.embedding_lookup and tf.nn.embedding_lookup_sparse."""

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.scopes import colocate_with_variable
from situ._src.ops import sparse_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, gather, op
from situ._src.ops.sparse_ops import SparseTensor
from situ._src.variables.resource_variable import ResourceVariable


def _count_of(ids):
    """The number of segments, whose numbers do not decrease."""
    last = op("StridedSlice", ids, [-1], [0], [1], shrink_axis_mask=1, end_mask=1)
    return op("Add", last, constant(1, ids.dtype))


def _by_segment(power):
    """Rows of data chosen by indices and added by segments, divided by their number to a power."""

    def reduce(data, indices, segment_ids, name=None, num_segments=None, sparse_gradient=False):
        unsupported("sparse.segment", sparse_gradient=(sparse_gradient, False))
        with scope(name, "SparseSegment") as full:
            rows = op("GatherV2", convert_to_tensor(data), convert_to_tensor(indices), 0)
            ids = convert_to_tensor(segment_ids)
            if num_segments is None:
                num_segments = _count_of(ids)
            total = op("UnsortedSegmentSum", rows, ids, num_segments)
            if not power:
                return op("Identity", total, name=full)
            ones = op("UnsortedSegmentSum", op("OnesLike", rows), ids, num_segments)
            count = op("Maximum", ones, op("OnesLike", ones))
            return op("RealDiv", total, count if power == 1 else op("Sqrt", count), name=full)

    return reduce


for _name, _power in (("sum", 0), ("mean", 1), ("sqrt_n", 0.5)):
    export("sparse.segment_" + _name, v1="sparse_segment_" + _name)(_by_segment(_power))


def _sum_of(data, ids):
    return op("UnsortedSegmentSum", data, ids, _count_of(ids))


def _weighted(rows, weights, ids, combiner):
    """Rows times weights, added by segments, divided by what the combiner says."""
    rank = tensor_shape.as_shape(rows.shape).rank
    weights = cast(weights, rows.dtype)
    wide = op("Reshape", weights, [-1] + [1] * (rank - 1))
    total = _sum_of(op("Mul", rows, wide), ids)
    if combiner == "sum":
        return total
    if combiner == "mean":
        return op("DivNoNan", total, _sum_of(wide, ids))  # a row without ids is 0
    return op("DivNoNan", total, op("Sqrt", _sum_of(op("Square", wide), ids)))


def _lookup(params, sp_ids, sp_weights, strategy, combiner, max_norm, name):
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}")
    with scope(name, "embedding_lookup_sparse") as full:
        ids = op("Cast", sparse_ops._column(sp_ids.indices, 0), "int32")
        rows = embedding_lookup(params, sp_ids.values, strategy, max_norm=max_norm)
        weights = (
            op("OnesLike", op("Cast", ids, rows.dtype)) if sp_weights is None else sp_weights.values
        )
        return op("Identity", _weighted(rows, weights, ids, combiner), name=full)


@export(v1="nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params, sp_ids, sp_weights, partition_strategy="mod", name=None, combiner=None, max_norm=None
):
    """One row for each row of sp_ids: the rows of a table with these ids, weighted and combined."""
    return _lookup(params, sp_ids, sp_weights, partition_strategy, combiner, max_norm, name)


@export(v2="nn.embedding_lookup_sparse")
def embedding_lookup_sparse_v2(params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None):
    return _lookup(params, sp_ids, sp_weights, "div", combiner, max_norm, name)


def _one_of_many(params, ids, strategy):
    """Rows of a table that is cut in parts: by turns ('mod') or in blocks ('div')."""
    count = constant(len(params), ids.dtype)
    if strategy == "mod":
        part, row = op("FloorMod", ids, count), op("FloorDiv", ids, count)
    else:
        rows = [int(tensor_shape.as_shape(p.shape)[0]) for p in params]
        starts = [sum(rows[:i]) for i in range(len(rows))]
        passed = [
            cast(op("GreaterEqual", ids, constant(s, ids.dtype)), ids.dtype) for s in starts[1:]
        ]
        part = OPS["AddN"](passed)
        row = op("Sub", ids, op("GatherV2", constant(starts, ids.dtype), part, 0))
    found = None
    for i, one in enumerate(params):
        most = constant(int(tensor_shape.as_shape(one.shape)[0]) - 1, ids.dtype)
        inside = op("Minimum", row, most)
        with colocate_with_variable(one):
            rows = op("GatherV2", one, inside, 0)
        hit = op("Equal", part, constant(i, ids.dtype))
        added = tensor_shape.as_shape(rows.shape).rank - tensor_shape.as_shape(ids.shape).rank
        for _ in range(added):
            hit = op("ExpandDims", hit, -1)
        found = rows if found is None else op("SelectV2", hit, rows, found)
    return found


@export(v1="nn.embedding_lookup")
def embedding_lookup(
    params, ids, partition_strategy="mod", name=None, validate_indices=True, max_norm=None
):
    """The rows of a table with these numbers; the table may be a list of parts."""
    params = (
        list(params)
        if isinstance(params, (list, tuple)) or hasattr(params, "_get_variable_list")
        else [params]
    )
    if not params:
        raise ValueError("Argument `params` should not be empty.")
    with scope(name, "embedding_lookup") as full:
        if len(params) > 1 or not isinstance(params[0], ResourceVariable):
            params = [convert_to_tensor(p) for p in params]
        if hasattr(ids, "with_flat_values"):  # ragged rows of numbers
            return ids.with_flat_values(
                embedding_lookup(params, ids.flat_values, partition_strategy, None, True, max_norm)
            )
        ids = convert_to_tensor(ids, name="ids")
        if len(params) > 1:
            found = _one_of_many(params, ids, partition_strategy)
            return op("Identity", _clipped(found, ids, max_norm), name=full)
        with colocate_with_variable(params[0]):
            found = _clipped(gather(params[0], ids, name=full), ids, max_norm)
        return op("Identity", found)


def _clipped(found, ids, max_norm):
    """Rows whose norm is at most max_norm."""
    if max_norm is None:
        return found
    from situ._src.ops.clip_ops import clip_by_norm

    first, last = tensor_shape.as_shape(ids.shape).rank, tensor_shape.as_shape(found.shape).rank
    return clip_by_norm(found, max_norm, list(range(first, last)))


@export(v2="nn.embedding_lookup")
def embedding_lookup_v2(params, ids, max_norm=None, name=None):
    return embedding_lookup(params, ids, "div", name, max_norm=max_norm)
