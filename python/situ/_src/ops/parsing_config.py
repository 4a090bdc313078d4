# SPDX-License-Identifier: Apache-2.0
"""parsing_config.py: configurations of the features of records, and the sparse and ragged tensors
that consist of several features."""

from __future__ import annotations

import collections

from situ._src.framework.api import BOTH, V1
from situ._src.framework.dtypes import as_dtype
from situ._src.ops.array_ops import concat, constant, op
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.sparse_combine_ops import sparse_merge


class FixedLenFeature(collections.namedtuple("FixedLenFeature", "shape dtype default_value")):
    """Configuration of a feature with a fixed shape."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    collections.namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value")
):
    """Configuration of a feature with a variable number of entries of a fixed shape."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class VarLenFeature(collections.namedtuple("VarLenFeature", "dtype")):
    """Configuration of a feature of variable length, parsed to a SparseTensor."""


class SparseFeature(
    collections.namedtuple("SparseFeature", "index_key value_key dtype size already_sorted")
):
    """Configuration of a SparseTensor whose indices and values are features.

    Args:
      index_key: The name of the feature of the indices, or a list of names, one per dimension.
      value_key: The name of the feature of the values.
      dtype: The type of the values.
      size: The size of the dimension, or a list of sizes.
      already_sorted: Whether the indices are in row-major order.
    """

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


class RaggedFeature(
    collections.namedtuple("RaggedFeature", "dtype value_key partitions row_splits_dtype validate")
):
    """Configuration of a RaggedTensor whose values and row partitions are features.

    Args:
      dtype: The type of the values.
      value_key: The name of the feature of the values; by default the key of this feature.
      partitions: The row partitions, the outermost first.
      row_splits_dtype: The type of the row splits, int32 or int64.
      validate: Whether to check the partitions.
    """

    RowSplits = collections.namedtuple("RowSplits", ["key"])
    RowLengths = collections.namedtuple("RowLengths", ["key"])
    RowStarts = collections.namedtuple("RowStarts", ["key"])
    RowLimits = collections.namedtuple("RowLimits", ["key"])
    ValueRowIds = collections.namedtuple("ValueRowIds", ["key"])
    UniformRowLength = collections.namedtuple("UniformRowLength", ["length"])

    def __new__(
        cls, dtype, value_key=None, partitions=(), row_splits_dtype="int32", validate=False
    ):
        if value_key is not None:
            if not isinstance(value_key, str):
                raise ValueError(f"Argument `value_key` must be a string; got {value_key}")
            if not value_key:
                raise ValueError("Argument `value_key` must not be empty")
        dtype, row_splits_dtype = as_dtype(dtype), as_dtype(row_splits_dtype)
        if dtype.name not in ("int64", "float32", "string"):
            raise ValueError(f"Argument `dtype` must be int64, float32, or bytes; got {dtype!r}")
        if row_splits_dtype.name not in ("int32", "int64"):
            raise ValueError(
                f"Argument `row_splits_dtype` must be int32 or int64; got{row_splits_dtype!r}"
            )
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(
                f"Argument `partitions` must be a list or tuple. Received partitions={partitions} "
                f"of type {type(partitions).__name__}."
            )
        kinds = (
            cls.RowSplits,
            cls.RowLengths,
            cls.RowStarts,
            cls.RowLimits,
            cls.ValueRowIds,
            cls.UniformRowLength,
        )
        for partition in partitions:
            if not isinstance(partition, kinds):
                raise TypeError(
                    f"Argument `partitions` must be a list of partition objects {kinds}; "
                    f"got: {partition!r}"
                )
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must be a bool; got {validate!r}")
        return super().__new__(cls, dtype, value_key, partitions, row_splits_dtype, validate)


for _class in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, SparseFeature):
    BOTH["io." + _class.__name__] = V1[_class.__name__] = _class
BOTH["io.RaggedFeature"] = RaggedFeature


def index_keys(feature):
    """Returns the names of the features of the indices of a SparseFeature."""
    keys = feature.index_key
    return [keys] if isinstance(keys, str) else list(keys)


def ragged_parts(key, feature):
    """Returns (name, type) of the features that a RaggedFeature needs, the values first."""
    names = [p.key for p in feature.partitions if hasattr(p, "key")]
    return [(feature.value_key or key, as_dtype(feature.dtype))] + [
        (name, as_dtype("int64")) for name in names
    ]


def parts_of(key, feature):
    """Returns (name, type) of the features of variable length that a feature consists of."""
    if isinstance(feature, VarLenFeature):
        return [(key, as_dtype(feature.dtype))]
    if isinstance(feature, RaggedFeature):
        return ragged_parts(key, feature)
    if isinstance(feature, SparseFeature):
        if not feature.index_key:
            raise ValueError(f"Missing index_key for SparseFeature {feature}.")
        if not feature.value_key:
            raise ValueError(f"Missing value_key for SparseFeature {feature}.")
        parts = [(k, as_dtype("int64")) for k in sorted(index_keys(feature))]
        return [*parts, (feature.value_key, as_dtype(feature.dtype))]
    return []


def variable_length(features):
    """Returns the types of all features of variable length, by name.

    Raises:
      ValueError: a feature is used with two types.
    """
    types: dict = {}
    for key in sorted(features):
        for name, dtype in parts_of(key, features[key]):
            if types.setdefault(name, dtype) != dtype:
                raise ValueError(f"Conflicting type {types[name]} vs {dtype} for feature {name}.")
    return types


def sparse_of(feature, parts):
    """Returns the SparseTensor of a SparseFeature; `parts` are sparse tensors by name."""
    sizes = list(feature.size) if isinstance(feature.size, (list, tuple)) else [feature.size]
    return sparse_merge(
        [parts[k] for k in index_keys(feature)],
        parts[feature.value_key],
        sizes,
        already_sorted=feature.already_sorted,
    )


def rows_of(sparse, batched):
    """Returns the values of a sparse feature as rows of a ragged tensor, one per record."""
    if not batched:
        size = op("Reshape", op("Size", sparse.values, out_type="int64"), [1])
        return RaggedTensor.from_row_lengths(sparse.values, size, validate=False)
    rows = op("Reshape", op("Slice", sparse.indices, [0, 0], [-1, 1]), [-1])
    count = op("Reshape", op("Slice", sparse.dense_shape, [0], [1]), [])
    return RaggedTensor.from_value_rowids(sparse.values, rows, count, validate=False)


def ragged_of(key, feature, rows):
    """Returns the RaggedTensor of a RaggedFeature; `rows` are the rows of its features by name."""
    result = rows[feature.value_key or key]
    for partition in reversed(feature.partitions):
        part = None if not hasattr(partition, "key") else rows[partition.key]
        result = _partitioned(result, partition, part)
    return result.with_row_splits_dtype(feature.row_splits_dtype)


def _shift(flat, by):
    """Returns a vector moved by one element: each is the element before (1) or behind (-1)."""
    pad, shape = constant([0], "int64"), op("Shape", flat)
    if by > 0:
        return op("Slice", concat([pad, flat], 0), [0], shape)
    return op("Slice", concat([flat, pad], 0), [1], shape)


def _partitioned(rows, partition, part):
    """Partitions the values of each row once more."""
    if part is None:
        length = constant(partition.length, "int64")
        splits = op("FloorDiv", rows.row_splits, length)
        if isinstance(rows.values, RaggedTensor):
            inner = RaggedTensor.from_uniform_row_length(rows.values, partition.length)
            return RaggedTensor.from_row_splits(inner, splits, validate=False)
        shape = concat(
            [[-1, partition.length], op("Slice", op("Shape", rows.values), [1], [-1])], 0
        )
        inner = op("Reshape", rows.values, shape)
        return RaggedTensor.from_row_splits(inner, splits, validate=False)
    flat, ids, splits = part.values, part.value_rowids(), part.row_splits
    kind = type(partition).__name__
    if kind == "RowLengths":
        lengths = flat
    elif kind == "RowLimits":
        first = op("NotEqual", ids, _shift(ids + constant(1, "int64"), 1) - constant(1, "int64"))
        lengths = flat - op("SelectV2", first, constant(0, "int64"), _shift(flat, 1))
    elif kind == "RowStarts":
        last = op("NotEqual", ids, _shift(ids + constant(1, "int64"), -1) - constant(1, "int64"))
        ends = op("GatherV2", rows.row_lengths(), ids, 0)
        lengths = op("SelectV2", last, ends, _shift(flat, -1)) - flat
    elif kind == "RowSplits":
        inside = op("Equal", ids, _shift(ids + constant(1, "int64"), -1) - constant(1, "int64"))
        lengths = op("GatherNd", _shift(flat, -1) - flat, op("Where", inside))
        counts = op("Maximum", part.row_lengths() - constant(1, "int64"), constant(0, "int64"))
        splits = concat([constant([0], "int64"), op("Cumsum", counts, 0)], 0)
    else:
        lengths, splits = _lengths_of_ids(part)
    inner = RaggedTensor.from_row_lengths(rows.values, lengths, validate=False)
    return RaggedTensor.from_row_splits(inner, splits, validate=False)


def _lengths_of_ids(part):
    """Returns the lengths of rows and their splits from the row of each value."""
    flat, sizes = part.values, part.row_lengths()
    ends = op("Maximum", op("Slice", part.row_splits, [1], [-1]), constant(1, "int64"))
    padded = concat([flat, constant([0], "int64")], 0)
    last = op("GatherV2", padded, ends - constant(1, "int64"), 0) + constant(1, "int64")
    counts = op("SelectV2", op("Greater", sizes, constant(0, "int64")), last, constant(0, "int64"))
    splits = concat([constant([0], "int64"), op("Cumsum", counts, 0)], 0)
    rows = flat + op("GatherV2", splits, part.value_rowids(), 0)
    total = op("Sum", counts, [0])
    return op("UnsortedSegmentSum", op("OnesLike", flat), rows, total), splits


def is_known(feature):
    """Returns whether a value is the configuration of a feature."""
    return isinstance(
        feature,
        (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, SparseFeature, RaggedFeature),
    )


def of_records(features, parts, batched):
    """Returns the tensors of the sparse and ragged features of records.

    Args:
      features: The configurations by key.
      parts: The sparse tensors of the features of variable length by name.
      batched: Whether the first dimension is that of the records.
    """
    results = {}
    for key, feature in features.items():
        if isinstance(feature, VarLenFeature):
            results[key] = parts[key]
        elif isinstance(feature, SparseFeature):
            results[key] = sparse_of(feature, parts)
        elif isinstance(feature, RaggedFeature):
            rows = {name: rows_of(parts[name], batched) for name, _ in ragged_parts(key, feature)}
            ragged = ragged_of(key, feature, rows)
            results[key] = ragged if batched else ragged.values
    return results
