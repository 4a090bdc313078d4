# SPDX-License-Identifier: Apache-2.0
"""embedding_ops.py: tf.nn.embedding_lookup, tf.nn.embedding_lookup_sparse and sparse segment
reductions."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.scopes import colocate_with_variable
from situ._src.ops import sparse_layout, sparse_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, gather, op
from situ._src.ops.clip_ops import clip_by_norm
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.sparse_combine_ops import sparse_fill_empty_rows
from situ._src.ops.sparse_ops import SparseTensor
from situ._src.variables.resource_variable import ResourceVariable

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


def _segment_count(ids):
    """Returns the number of segments of sorted segment ids."""
    last = op("Max", op("ConcatV2", [constant([-1], ids.dtype), ids], 0), 0)
    return op("Add", last, constant(1, ids.dtype))


def _segment_reduction(op_name):
    """Returns the function of an op that gathers rows and reduces them by segment."""

    def reduce(
        data: TensorLike,
        indices: TensorLike,
        segment_ids: TensorLike,
        name: str | None = None,
        num_segments: TensorLike = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        """Gathers rows of `data` by `indices` and reduces the rows of each segment.

        Args:
          data: A tensor.
          indices: A 1-D integer tensor of rows of `data`.
          segment_ids: A 1-D integer tensor with the segment of each of them, sorted.
          name: A name for the operation (optional).
          num_segments: The number of segments; by default one more than the last id.
          sparse_gradient: Whether the gradient of `data` is `tf.IndexedSlices`.

        Returns:
          A tensor with one row per segment; empty segments are 0.
        """
        inputs = [data, indices, segment_ids]
        if num_segments is None:
            return op(op_name, *inputs, sparse_gradient=sparse_gradient, name=name)
        return op(
            op_name + "WithNumSegments",
            *inputs,
            num_segments,
            sparse_gradient=sparse_gradient,
            name=name,
        )

    return reduce


for _name, _op_name in (("sum", "Sum"), ("mean", "Mean"), ("sqrt_n", "SqrtN")):
    _reduce = _segment_reduction("SparseSegment" + _op_name)
    export("sparse.segment_" + _name, v1="sparse_segment_" + _name)(_reduce)
    export(v2="sparse.segment_" + _name)(
        with_order(
            _reduce, "data", "indices", "segment_ids", "num_segments", "name", "sparse_gradient"
        )
    )


def _segment_sum(data, ids):
    return op("UnsortedSegmentSum", data, ids, _segment_count(ids))


def _weighted(rows, weights, ids, combiner):
    """Multiplies rows by weights and combines them by segment; half types as float32."""
    dtype = rows.dtype
    if dtype.name in ("float16", "bfloat16"):
        rows = cast(rows, "float32")
    rank = tensor_shape.as_shape(rows.shape).rank
    weights = cast(weights, rows.dtype)
    wide = op("Reshape", weights, [-1] + [1] * (rank - 1))
    total = _segment_sum(op("Mul", rows, wide), ids)
    if combiner == "mean":  # an example without ids is 0
        total = op("DivNoNan", total, _segment_sum(wide, ids))
    elif combiner == "sqrtn":
        total = op("DivNoNan", total, op("Sqrt", _segment_sum(op("Square", wide), ids)))
    return cast(total, dtype)


def _check_weights(sp_ids, sp_weights):
    """Fails unless the weights are None or of the kind and the static shapes of the ids."""
    if not isinstance(sp_ids, (SparseTensor, RaggedTensor)):
        raise TypeError(f"sp_ids must be a SparseTensor or RaggedTensor, got {type(sp_ids)}")
    if sp_weights is None:
        return
    ragged = isinstance(sp_ids, RaggedTensor)
    if not isinstance(sp_weights, RaggedTensor if ragged else SparseTensor):
        raise TypeError(
            f"sp_weights must be either None or a {'Ragged' if ragged else 'Sparse'}Tensor, got "
            f"{type(sp_weights)}"
        )
    parts = ("values", "row_splits") if ragged else ("values", "indices", "dense_shape")
    for part in parts:
        shape = tensor_shape.as_shape(getattr(sp_ids, part).shape)
        shape.assert_is_compatible_with(getattr(sp_weights, part).shape)


def _lookup(params, sp_ids, sp_weights, strategy, combiner, max_norm, name):
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    _check_weights(sp_ids, sp_weights)
    with scope(name, "embedding_lookup_sparse") as full:
        if isinstance(sp_ids, RaggedTensor):
            segments = sp_ids.value_rowids()
        else:
            segments = sparse_ops._column(sp_ids.indices, 0)
        segments = cast(segments, "int32")
        rows = embedding_lookup(params, sp_ids.values, strategy, max_norm=max_norm)
        if sp_weights is None:
            weights = op("OnesLike", cast(segments, "float32"))
        else:
            weights = sp_weights.values
        return op("Identity", _weighted(rows, weights, segments, combiner), name=full)


@export(v1="nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: TensorLike,
    sp_weights: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: TensorLike = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up embeddings for sparse ids and combines those of each row.

    Args:
      params: An embedding table, or a list of its partitions.
      sp_ids: A SparseTensor or RaggedTensor of shape [batch, n] of integer ids.
      sp_weights: Weights, of the kind of `sp_ids`, or None.
      partition_strategy: "mod" or "div", how rows are distributed over partitions.
      name: A name for the operation (optional).
      combiner: "mean", "sqrtn" or "sum".
      max_norm: If given, embeddings are clipped to this L2 norm first.
      allow_fast_lookup: A hint; equal ids are never looked up separately.

    Returns:
      A tensor of shape [batch, embedding size].

    Raises:
      TypeError: If `sp_ids` is neither sparse nor ragged, or `sp_weights` is of another kind.
      ValueError: If the combiner is unknown, or the weights have another shape.
    """
    del allow_fast_lookup  # the result is the same
    return _lookup(params, sp_ids, sp_weights, partition_strategy, combiner, max_norm, name)


@export(v2="nn.embedding_lookup_sparse")
def embedding_lookup_sparse_v2(
    params: TensorLike,
    sp_ids: TensorLike,
    sp_weights: TensorLike,
    combiner: str | None = None,
    max_norm: TensorLike = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up embeddings for sparse ids and combines those of each row.

    Args:
      params: The embeddings, a tensor or a list of partitions.
      sp_ids: The ids, a sparse matrix.
      sp_weights: The weights of the ids, a sparse matrix (optional).
      combiner: "mean", "sum" or "sqrtn".
      max_norm: The largest L2 norm of an embedding (optional).
      name: A name for the operation (optional).
      allow_fast_lookup: Has no effect.
    """
    del allow_fast_lookup  # the result is the same
    return _lookup(params, sp_ids, sp_weights, "div", combiner, max_norm, name)


def _safe_ids(sparse_ids, sparse_weights, combiner):
    """Returns ids and weights of rank 2 without negative ids and, if they are averaged, without
    weights of 0 or less."""
    last = op("Sub", op("Size", sparse_ids.dense_shape), constant(1))
    rows = op("Prod", op("Slice", sparse_ids.dense_shape, [0], op("ExpandDims", last, 0)), 0)
    shape = op("Pack", [rows, op("GatherV2", sparse_ids.dense_shape, last, 0)])
    ids = sparse_layout.reshape(sparse_ids, shape)
    valid = op("GreaterEqual", ids.values, constant(0, ids.values.dtype))
    weights = None
    if sparse_weights is not None:
        weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        if combiner != "sum":
            zero = constant(0, weights.values.dtype)
            valid = op("LogicalAnd", valid, op("Greater", weights.values, zero))
        weights = sparse_layout.retain(weights, valid)
    return sparse_layout.retain(ids, valid), weights


def _safe_lookup(params, sparse_ids, sparse_weights, combiner, default_id, strategy, max_norm):
    ids, weights = _safe_ids(sparse_ids, sparse_weights, combiner)
    ids, is_empty = sparse_fill_empty_rows(ids, constant(default_id or 0, ids.values.dtype))
    if weights is not None:
        weights, _ = sparse_fill_empty_rows(weights, constant(1, weights.values.dtype))
    found = _lookup(params, ids, weights, strategy, combiner, max_norm, None)
    if default_id is None:
        rank = tensor_shape.as_shape(found.shape).rank
        column = op("Reshape", is_empty, [-1] + [1] * (rank - 1))
        found = op("SelectV2", column, op("ZerosLike", found), found)
    count = op("ExpandDims", op("Sub", op("Size", sparse_ids.dense_shape), constant(1)), 0)
    outer = op("Slice", cast(sparse_ids.dense_shape, "int32"), [0], count)
    inner = op("Slice", op("Shape", found), [1], [-1])
    result = op("Reshape", found, op("ConcatV2", [outer, inner], 0))
    rank = tensor_shape.as_shape(sparse_ids.dense_shape.shape)[0]
    if rank is not None and hasattr(result, "graph"):
        unknown = tensor_shape.TensorShape([None] * (int(rank) - 1))
        result.set_shape(unknown.concatenate(tensor_shape.as_shape(found.shape)[1:]))
    return result


@export(v1="nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: TensorLike,
    sparse_weights: TensorLike = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: TensorLike = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up embeddings for sparse ids of any rank; ignores invalid ids and fills empty rows.

    Args:
      embedding_weights: An embedding table, or a list of its partitions.
      sparse_ids: A SparseTensor of ids of rank 2 or more; negative ids are ignored.
      sparse_weights: A SparseTensor of weights, or None; unless the combiner is "sum", ids with a
        weight of 0 or less are ignored.
      combiner: "mean" (the default), "sqrtn" or "sum".
      default_id: The id of rows without ids; None: their result is 0.
      name: A name for the operation (optional).
      partition_strategy: "mod" or "div", how rows are distributed over partitions.
      max_norm: If given, embeddings are clipped to this L2 norm first.
      allow_fast_lookup: A hint; equal ids are never looked up separately.

    Returns:
      A tensor whose shape is that of `sparse_ids` with the embedding size as last dimension.

    Raises:
      ValueError: If there are no weights, or the combiner is unknown.
    """
    del allow_fast_lookup  # the result is the same
    if embedding_weights is None or (
        isinstance(embedding_weights, (list, tuple)) and not embedding_weights
    ):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    params = embedding_weights
    if sparse_weights is not None:
        dtype = sparse_weights.dtype
        tables = params if isinstance(params, (list, tuple)) else [params]
        params = [
            t
            if isinstance(t, ResourceVariable) and t.dtype == dtype
            else convert_to_tensor(t, dtype)
            for t in tables
        ]
    with scope(name, "embedding_lookup"):
        return _safe_lookup(
            params,
            sparse_ids,
            sparse_weights,
            combiner or "mean",
            default_id,
            partition_strategy,
            max_norm,
        )


@export(v2="nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse_v2(
    embedding_weights: TensorLike,
    sparse_ids: TensorLike,
    sparse_weights: TensorLike = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: TensorLike = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up embeddings for sparse ids of any rank; ignores invalid ids and fills empty rows.

    Args:
      embedding_weights: The embeddings, a tensor or a list of partitions.
      sparse_ids: The ids, a sparse tensor.
      sparse_weights: The weights of the ids, a sparse tensor (optional).
      combiner: "mean", "sum" or "sqrtn".
      default_id: The id of empty rows; by default their embedding is 0.
      max_norm: The largest L2 norm of an embedding (optional).
      name: A name for the operation (optional).
      allow_fast_lookup: Has no effect.
    """
    return safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights,
        combiner,
        default_id,
        name,
        "div",
        max_norm,
        allow_fast_lookup,
    )


def _lookup_partitioned(params, ids, strategy):
    """Looks up rows of a partitioned table: interleaved ("mod") or in blocks ("div")."""
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
    result = None
    for i, partition in enumerate(params):
        most = constant(int(tensor_shape.as_shape(partition.shape)[0]) - 1, ids.dtype)
        inside = op("Minimum", row, most)
        with colocate_with_variable(partition):
            rows = op("GatherV2", partition, inside, 0)
        hit = op("Equal", part, constant(i, ids.dtype))
        added = tensor_shape.as_shape(rows.shape).rank - tensor_shape.as_shape(ids.shape).rank
        for _ in range(added):
            hit = op("ExpandDims", hit, -1)
        result = rows if result is None else op("SelectV2", hit, rows, result)
    return result


@export(v1="nn.embedding_lookup")
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool | None = True,
    max_norm: TensorLike = None,
) -> Tensor:
    """Looks up embeddings for ids.

    Args:
      params: An embedding table, or a list of its partitions.
      ids: A tensor or ragged tensor of integer ids.
      partition_strategy: "mod" or "div", how rows are distributed over partitions.
      validate_indices: Ignored; ids are always checked.
      max_norm: If given, embeddings are clipped to this L2 norm.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `ids.shape + params.shape[1:]`.

    Raises:
      ValueError: If `params` is empty.
    """
    del validate_indices  # ids are always checked
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
        if hasattr(ids, "with_flat_values"):  # a ragged tensor
            return ids.with_flat_values(
                embedding_lookup(params, ids.flat_values, partition_strategy, None, True, max_norm)
            )
        ids = convert_to_tensor(ids, name="ids")
        if len(params) > 1:
            embeddings = _lookup_partitioned(params, ids, partition_strategy)
            return op("Identity", _clipped(embeddings, ids, max_norm), name=full)
        with colocate_with_variable(params[0]):
            embeddings = _clipped(gather(params[0], ids, name=full), ids, max_norm)
        return op("Identity", embeddings)


def _clipped(embeddings, ids, max_norm):
    """Clips embeddings to a maximum norm."""
    if max_norm is None:
        return embeddings
    first, last = (
        tensor_shape.as_shape(ids.shape).rank,
        tensor_shape.as_shape(embeddings.shape).rank,
    )
    return clip_by_norm(embeddings, max_norm, list(range(first, last)))


@export(v2="nn.embedding_lookup")
def embedding_lookup_v2(
    params: TensorLike, ids: TensorLike, max_norm: TensorLike = None, name: str | None = None
) -> Tensor:
    """Looks up embeddings for ids; a list of partitions is split in blocks.

    Args:
      params: The embeddings, a tensor or a list of partitions.
      ids: The ids.
      max_norm: The largest L2 norm of an embedding (optional).
      name: A name for the operation (optional).
    """
    return embedding_lookup(params, ids, "div", name, max_norm=max_norm)
