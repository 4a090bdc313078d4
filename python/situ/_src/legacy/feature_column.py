# SPDX-License-Identifier: Apache-2.0
"""feature_column.py: tf.feature_column: how a model reads the features of an example, column
by column.

Numbers of categories are dense here: [examples, values], with -1 for what is missing.
"""

from __future__ import annotations

import collections
import math
from typing import Any

import numpy

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import unsupported, with_order
from situ._src.ops import init_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.lookup_ops import _lines, key_indices
from situ._src.ops.parsing_config import FixedLenFeature, VarLenFeature
from situ._src.ops.sparse_ops import SparseTensor, sparse_tensor_to_dense
from situ._src.training.warm_start import init_from_checkpoint
from situ._src.variables.variable_scope import get_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike


def dense(features, key, missing):
    """Returns a feature as [examples, values, ...]; `missing` fills what a sparse one leaves
    out.
    """
    if isinstance(key, Column):
        return key.transformed(features)
    if key not in features:
        raise ValueError(f"Feature {key} is not in features dictionary.")
    value = features[key]
    if isinstance(value, SparseTensor):
        value = sparse_tensor_to_dense(value, missing(value.dtype))
    value = convert_to_tensor(value)
    if value.shape.ndims is None:  # known at run time: one row of values per example
        shape = op("Shape", value)
        rows = op("StridedSlice", shape, [0], [1], [1])
        count = op("Prod", op("Slice", shape, [1], [-1]), [0], keep_dims=True)
        return op("Reshape", value, op("ConcatV2", [rows, count], 0))
    if not value.shape.ndims:
        raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
    return op("ExpandDims", value, -1) if value.shape.ndims == 1 else value


def _missing(dtype):
    return "" if dtype.name == "string" else -1


class Column:
    """Base class of feature columns, which compare by value."""

    def spec(self) -> dict:
        """Returns the features that the column reads, for parsing."""
        raise NotImplementedError


class Dense(Column):
    """Base class of dense columns: [examples, width]."""


class Categorical(Column):
    """Base class of categorical columns: category ids."""

    def spec(self):
        return {self.key: VarLenFeature(self.dtype)}

    def raw(self, features):
        value = dense(features, self.key, _missing)
        if (value.dtype.name == "string") != (as_dtype(self.dtype).name == "string"):
            raise ValueError(
                f"Column dtype and feature dtypes must be compatible. key: {self.key}"
                f", column dtype: {as_dtype(self.dtype)}, tensor dtype: "
                f"{value.dtype}"
            )
        return value

    @staticmethod
    def gone(value):
        """Which values are missing."""
        return (
            op("Equal", op("StringLength", value), 0)
            if value.dtype.name == "string"
            else op("Equal", value, cast(-1, value.dtype))
        )

    def ids(self, features):
        value = self.raw(features)
        return op("SelectV2", self.gone(value), constant(-1, "int64"), self.numbers(value))


def _shape(shape):
    return tuple(shape) if isinstance(shape, (list, tuple)) else (int(shape),)


@export("feature_column.numeric_column", v1="contrib.layers.real_valued_column")
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = "float32",
    normalizer_fn: Callable | None = None,
) -> Any:
    """Returns a column of real values.

    Args:
      key: Name of the feature.
      shape: Shape of the values of an example.
      default_value: Value of missing features in parsed examples.
      dtype: Type of the feature in parsed examples; values are converted to float32.
      normalizer_fn: Function applied to the tensor.
    """
    dtype = as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_integer):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if any(not isinstance(d, int) or d <= 0 for d in _shape(shape)):
        raise ValueError(f"shape dimensions must be greater than 0, shape: {shape}, key: {key}")
    return Numeric(key, _shape(shape), default_value, dtype, normalizer_fn)


class Numeric(
    Dense, collections.namedtuple("NumericColumn", "key shape default_value dtype normalizer_fn")
):
    name = property(lambda s: s.key)
    width = property(lambda s: math.prod(s.shape))

    def spec(self):
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transformed(self, features):
        value = cast(dense(features, self.key, lambda _: 0), "float32")
        return self.normalizer_fn(value) if self.normalizer_fn else value

    def tensor(self, features):
        return op("Reshape", self.transformed(features), [-1, self.width])


@export("feature_column.bucketized_column", v1="contrib.layers.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """Returns a column of the buckets of a numeric column, one-hot.

    Args:
      source_column: A one-dimensional numeric column.
      boundaries: Increasing boundaries.
    """
    if not isinstance(source_column, Numeric):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). Given: "
            f"{source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not boundaries or any(a >= b for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError("boundaries must be a sorted list.")
    return Bucketized(source_column, tuple(boundaries))


class Bucketized(Dense, collections.namedtuple("BucketizedColumn", "source boundaries")):
    name = property(lambda s: s.source.name + "_bucketized")
    per_value = property(lambda s: len(s.boundaries) + 1)
    width = property(lambda s: s.per_value * s.source.shape[0])
    num_buckets = width
    combiner = "sum"

    def spec(self):
        return self.source.spec()

    def transformed(self, features):
        value = op("ExpandDims", self.source.tensor(features), -1)
        over = op("GreaterEqual", value, constant(list(self.boundaries), "float32"))
        return op("Sum", cast(over, "int64"), [-1])

    def tensor(self, features):
        ones = _one_hot(self.transformed(features), self.per_value)
        return op("Reshape", ones, [-1, self.width])

    def ids(self, features):
        offsets = numpy.arange(self.source.shape[0], dtype=numpy.int64) * self.per_value
        return self.transformed(features) + constant(offsets)


def _one_hot(ids, depth):
    return op("OneHot", ids, depth, constant(1.0), constant(0.0))


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(
    key: str, num_buckets: TensorLike, default_value: Any = None
) -> Any:
    """Returns a column of integer features that are category ids.

    Args:
      key: Name of the feature.
      num_buckets: Number of categories.
      default_value: Id of features out of range; None: they count as missing.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    return Identity(key, num_buckets, default_value)


class Identity(
    Categorical,
    collections.namedtuple("IdentityCategoricalColumn", "key num_buckets default_value"),
):
    name = property(lambda s: s.key)
    dtype = "int64"

    def numbers(self, value):
        value, default = cast(value, "int64"), self.default_value
        wrong = op(
            "LogicalOr",
            op("Less", value, constant(0, "int64")),
            op("GreaterEqual", value, constant(self.num_buckets, "int64")),
        )
        return op("SelectV2", wrong, constant(-1 if default is None else default, "int64"), value)


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = "string"
) -> Any:
    """Returns a column of categories by hash.

    Args:
      key: Name of the feature.
      hash_bucket_size: Number of categories.
      dtype: Type of the feature: string or integer.
    """
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    return Hashed(key, hash_bucket_size, as_dtype(dtype))


class Hashed(
    Categorical, collections.namedtuple("HashedCategoricalColumn", "key num_buckets dtype")
):
    name = property(lambda s: s.key)

    def numbers(self, value):
        strings = value if value.dtype.name == "string" else op("AsString", value)
        return op("StringToHashBucketFast", strings, num_buckets=self.num_buckets)


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str,
    vocabulary_list: Any,
    dtype: Any = None,
    default_value: Any = -1,
    num_oov_buckets: int = 0,
) -> Any:
    """Returns a column of categories by their index in a list.

    Args:
      key: Name of the feature.
      vocabulary_list: The categories.
      dtype: Type of the feature: string or integer.
      default_value: Id of unknown values; -1: they count as missing.
      num_oov_buckets: Number of hash buckets for unknown values.

    Raises:
      ValueError: If the list is empty or has duplicates, or there are both num_oov_buckets and a
        default_value.
    """
    words = _distinct(key, vocabulary_list)
    _check_unknown(key, default_value, num_oov_buckets)
    kind = as_dtype(dtype or ("string" if isinstance(words[0], bytes) else "int64"))
    return VocabularyList(key, words, kind, default_value, num_oov_buckets)


def _distinct(key, words):
    """Returns the words of a vocabulary as a tuple of bytes or integers."""
    if words is None or len(words) < 1:
        raise ValueError(f"vocabulary_list {words} must be non-empty, column_name: {key}")
    found = tuple(w.encode() if isinstance(w, str) else w for w in numpy.asarray(words).tolist())
    if len(set(found)) != len(found):
        raise ValueError(f"Duplicate keys in vocabulary_list {words}, column_name: {key}")
    return found


def _check_unknown(key, default_value, num_oov_buckets):
    if num_oov_buckets and default_value not in (-1, None):
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: Any = None,
    dtype: Any = "string",
) -> Any:
    """Returns a column of categories by their line in a file.

    Args:
      key: Name of the feature.
      vocabulary_file: Path of the file.
      vocabulary_size: Number of lines to use; default: all.
      num_oov_buckets: Number of hash buckets for unknown values.
      default_value: Id of unknown values; None: they count as missing.
      dtype: Type of the feature: string or integer.

    Raises:
      ValueError: As in categorical_column_with_vocabulary_list.
    """
    lines = _lines(vocabulary_file, vocabulary_size)
    _check_unknown(key, default_value, num_oov_buckets)
    kind, default_value = as_dtype(dtype), -1 if default_value is None else default_value
    made = VocabularyFile(key, vocabulary_file, len(lines), num_oov_buckets, kind, default_value)
    made.words = _distinct(
        key, numpy.array(lines if kind.name == "string" else [int(x) for x in lines], object)
    )
    return made


export(v2="feature_column.categorical_column_with_vocabulary_file")(
    with_order(
        categorical_column_with_vocabulary_file,
        "key",
        "vocabulary_file",
        "vocabulary_size",
        "dtype",
        "default_value",
        "num_oov_buckets",
    )
)


class _Vocabulary(Categorical):
    """Categories of known words."""

    name = property(lambda s: s.key)
    num_buckets = property(lambda s: len(s.words) + s.num_oov_buckets)

    def numbers(self, value):
        text = self.dtype.name == "string"
        value, count = value if text else cast(value, "int64"), len(self.words)
        keys = constant(list(self.words), "string" if text else "int64")
        places = key_indices(keys, count, value)
        other = constant(self.default_value, "int64")
        if self.num_oov_buckets:
            strings = value if text else op("AsString", value)
            other = op(
                "StringToHashBucketFast", strings, num_buckets=self.num_oov_buckets
            ) + constant(count, "int64")
        return op("SelectV2", op("Less", places, constant(count, "int64")), places, other)


class VocabularyList(
    _Vocabulary,
    collections.namedtuple(
        "VocabularyListCategoricalColumn",
        "key vocabulary_list dtype default_value num_oov_buckets",
    ),
):
    words = property(lambda s: s.vocabulary_list)


class VocabularyFile(
    _Vocabulary,
    collections.namedtuple(
        "VocabularyFileCategoricalColumn",
        "key vocabulary_file vocabulary_size num_oov_buckets dtype default_value file_format",
        defaults=(None,),
    ),
):
    words: tuple = ()


@export("feature_column.crossed_column", v1="contrib.layers.crossed_column")
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> Any:
    """Returns a column of combinations of categories, by hash.

    Args:
      keys: Names of features, or categorical columns.
      hash_bucket_size: Number of categories.
      hash_key: Must be None.

    Raises:
      NotImplementedError: If there is a hash_key.
      ValueError: If there are fewer than two keys, or a key is a hashed column or of another type.
    """
    unsupported("crossed_column", hash_key=(hash_key, None))
    if len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str) and not hasattr(key, "ids") or isinstance(key, Hashed):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical "
                f"column except HashedCategoricalColumn. Given: {key}"
            )
    return Crossed(tuple(keys), hash_bucket_size)


class Crossed(Categorical, collections.namedtuple("CrossedColumn", "keys num_buckets")):
    def leaves(self):
        result = []
        for key in self.keys:
            result += key.leaves() if isinstance(key, Crossed) else [key]
        return result

    @property
    def name(self):
        return "_X_".join(sorted(k if isinstance(k, str) else k.name for k in self.leaves()))

    def spec(self):
        result = {}
        for key in self.keys:
            result.update({key: VarLenFeature("string")} if isinstance(key, str) else key.spec())
        return result

    def ids(self, features):
        """Each value of the first with each of the second, and so on."""
        crossed, gone = None, None
        for key in self.leaves():
            value = dense(features, key, _missing) if isinstance(key, str) else key.ids(features)
            lost = self.gone(value)
            text = value if value.dtype.name == "string" else op("AsString", value)
            if crossed is not None:
                old, new = (op("Slice", op("Shape", x), [1], [1]) for x in (crossed, text))
                lost = op("LogicalOr", op("ExpandDims", gone, 2), op("ExpandDims", lost, 1))
                text = op(
                    "StringJoin",
                    [
                        op("Tile", op("ExpandDims", crossed, 2), op("ConcatV2", [[1, 1], new], 0)),
                        op("Tile", op("ExpandDims", text, 1), op("ConcatV2", [[1], old, [1]], 0)),
                    ],
                    separator="_X_",
                )
                flat = op("ConcatV2", [op("Slice", op("Shape", lost), [0], [1]), [-1]], 0)
                text, lost = op("Reshape", text, flat), op("Reshape", lost, flat)
            crossed, gone = text, lost
        result = op("StringToHashBucketFast", crossed, num_buckets=self.num_buckets)
        return op("SelectV2", gone, constant(-1, "int64"), result)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: Any) -> Any:
    """Returns the multi-hot column of a categorical column.

    Args:
      categorical_column: The categorical column.
    """
    return Indicator(categorical_column)


class Indicator(Dense, collections.namedtuple("IndicatorColumn", "categories")):
    name = property(lambda s: s.categories.name + "_indicator")
    width = property(lambda s: s.categories.num_buckets)

    def spec(self):
        return self.categories.spec()

    def tensor(self, features):
        return op("Sum", _one_hot(self.categories.ids(features), self.width), [1])


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: Any,
    dimension: TensorLike,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Returns the dense column of trainable embeddings of a categorical column.

    Args:
      categorical_column: The categorical column.
      dimension: Size of the embeddings.
      combiner: How several values of an example are combined: "mean", "sum" or "sqrtn".
      initializer: Initializer of the embeddings.
      ckpt_to_load_from: Checkpoint of the initial embeddings.
      tensor_name_in_ckpt: Their name in the checkpoint.
      max_norm: Largest L2 norm of an embedding; longer ones are scaled before they are combined.
      trainable: Whether the embeddings are trained.

    Raises:
      ValueError: If an argument is invalid.
    """
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if combiner not in ("mean", "sum", "sqrtn"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    if initializer is not None and not callable(initializer):
        raise ValueError(
            "initializer must be callable if specified. Embedding of column_name: "
            f"{categorical_column.name}"
        )
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    return Embedding(
        categorical_column,
        dimension,
        combiner,
        initializer,
        trainable,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
    )


def combined(rows, ids, combiner):
    """Combines the values of each example (sum, mean, sqrtn); missing ones are left out."""
    is_valid = cast(op("GreaterEqual", ids, constant(0, "int64")), "float32")
    total = op("Sum", rows * op("ExpandDims", is_valid, -1), [1])
    if combiner == "sum":
        return total
    count = op("Sum", is_valid, [1], keep_dims=True)
    return op("DivNoNan", total, op("Sqrt", count) if combiner == "sqrtn" else count)


def whole(weights):
    """Returns the value of a variable, also of one in parts."""
    return weights.as_tensor() if hasattr(weights, "as_tensor") else weights.value()


def rows_of(table, ids):
    """Looks up rows of a table; missing ids read the first row."""
    return op("GatherV2", table, op("Maximum", ids, constant(0, "int64")), 0)


class Embedding(
    Dense,
    collections.namedtuple(
        "EmbeddingColumn",
        "categories dimension combiner initializer trainable checkpoint tensor_name max_norm",
    ),
):
    name = property(lambda s: s.categories.name + "_embedding")
    width = property(lambda s: s.dimension)

    def spec(self):
        return self.categories.spec()

    def tensor(self, features, trainable=True):
        first = self.initializer or init_ops.TruncatedNormal(0.0, 1.0 / math.sqrt(self.dimension))
        table = get_variable(
            "embedding_weights",
            [self.categories.num_buckets, self.dimension],
            initializer=first,
            trainable=self.trainable and trainable,
        )
        if self.checkpoint is not None:
            init_from_checkpoint(self.checkpoint, {self.tensor_name: table})
        ids = self.categories.ids(features)
        rows = rows_of(whole(table), ids)
        if self.max_norm is not None:
            norms = op("Sqrt", op("Sum", op("Square", rows), [-1], keep_dims=True))
            rows = rows * (self.max_norm / op("Maximum", norms, self.max_norm))
        return combined(rows, ids, self.combiner)
