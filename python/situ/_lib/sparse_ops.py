# SPDX-License-Identifier: Apache-2.0
"""sparse_ops.py: sparse tensors that are fed, multiplied, and that choose rows of tables."""
from situ._lib import gathering, shapes
from situ._lib.api import export
from situ._lib.array_ops import (cast, constant, convert_to_tensor, op, placeholder,
                                 placeholder_with_default)
from situ._lib.dtypes import as_dtype
from situ._lib.graph import scope
from situ._lib.keywords import unsupported
from situ._lib.word_ops import SparseTensor


@export(v1=("sparse_placeholder", "sparse.placeholder"))
def sparse_placeholder(dtype, shape=None, name=None):
    """A sparse tensor that is fed: with a tf.SparseTensorValue, or (indices, values, shape)."""
    rank = None if shape is None else shapes.as_shape(shape).rank
    known = rank is not None and None not in shapes.as_shape(shape).as_list()
    with scope(name, "SparsePlaceholder"):
        size = placeholder_with_default(
            constant(shapes.as_shape(shape).as_list(), "int64"), [rank], "shape") if known else \
            placeholder("int64", [rank], "shape")
        made = SparseTensor(placeholder("int64", [None, rank], "indices"),
                            placeholder(as_dtype(dtype), [None], "values"), size)
        made._static = shapes.as_shape(shape).as_list() if known else None
        return made


def _column(indices, k):
    return op("Reshape", op("Slice", indices, [0, k], [-1, 1]), [-1])


def _transposed(matrix):
    return op("Transpose", matrix, [1, 0])


@export("sparse.sparse_dense_matmul", "sparse.matmul", v1="sparse_tensor_dense_matmul")
def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product of a sparse matrix and a matrix: rows of b, weighted and added."""
    with scope(name, "SparseTensorDenseMatMul") as full:
        b = convert_to_tensor(b)
        b = _transposed(b) if adjoint_b else b
        to, from_ = (1, 0) if adjoint_a else (0, 1)
        rows = op("GatherV2", b, _column(sp_a.indices, from_), 0)
        weighted = op("Mul", rows, op("ExpandDims", sp_a.values, 1))
        count = op("StridedSlice", sp_a.dense_shape, [to], [to + 1], [1], shrink_axis_mask=1)
        return op("UnsortedSegmentSum", weighted, _column(sp_a.indices, to), count, name=full)


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
    rank = shapes.as_shape(rows.shape).rank
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
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum', got "
                         f"{combiner!r}")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights must be either None or SparseTensor, got {type(sp_weights)}")
    with scope(name, "embedding_lookup_sparse") as full:
        ids = op("Cast", _column(sp_ids.indices, 0), "int32")
        rows = gathering.embedding_lookup(params, sp_ids.values, strategy, max_norm=max_norm)
        weights = op("OnesLike", op("Cast", ids, rows.dtype)) if sp_weights is None else \
            sp_weights.values
        return op("Identity", _weighted(rows, weights, ids, combiner), name=full)


@export(v1="nn.embedding_lookup_sparse")
def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy="mod", name=None,
                            combiner=None, max_norm=None):
    """One row for each row of sp_ids: the rows of a table with these ids, weighted and combined."""
    return _lookup(params, sp_ids, sp_weights, partition_strategy, combiner, max_norm, name)


@export(v2="nn.embedding_lookup_sparse")
def embedding_lookup_sparse_v2(params, sp_ids, sp_weights, combiner=None, max_norm=None,
                               name=None):
    return _lookup(params, sp_ids, sp_weights, "div", combiner, max_norm, name)

