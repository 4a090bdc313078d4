# SPDX-License-Identifier: Apache-2.0
"""bincount_ops.py: tf.math.bincount and tf.sparse.bincount of dense, sparse and ragged tensors."""

from __future__ import annotations

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.check_ops import Assert, assert_equal
from situ._src.ops.sparse_ops import SparseTensor
from situ._src.ops.unique_sort_ops import argsort

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, Tensor, TensorLike


class _Values:
    """The elements to count: a vector, the row of each one and the number of rows (None: there are
    no rows), and the weights."""

    def __init__(self, values: Any, weights: Any, axis: int | None) -> None:
        axis = 0 if axis is None else axis
        if axis not in (0, -1):
            raise ValueError(
                f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently "
                "supported."
            )
        self.flat: Any
        self.rows: Any = None
        self.count: Any = None
        self.weights = weights
        if hasattr(values, "dense_shape"):
            self._set_sparse(values, axis)
        elif hasattr(values, "nested_row_splits"):
            self._set_ragged(values, axis)
        else:
            self._set_dense(values, axis)
        if not self.flat.dtype.is_integer:
            self.flat = cast(self.flat, "int32")

    def _set_sparse(self, values: Any, axis: int) -> None:
        self.flat = values.values
        if self.weights is not None:
            self._require_weights(hasattr(self.weights, "dense_shape"), "SparseTensor")
            self._match_weights(values, "dense_shape", "dense shape")
            self._match_weights(values, "indices", "indices")
            self.weights = self.weights.values
        if axis and tensor_shape.as_shape(values.shape).rank != 1:
            self.rows = op("Squeeze", op("Slice", values.indices, [0, 0], [-1, 1]), [1])
            self.count = op("Squeeze", op("Slice", values.dense_shape, [0], [1]), [0])

    def _set_ragged(self, values: Any, axis: int) -> None:
        self.flat = values.flat_values
        if self.weights is not None:
            self._require_weights(hasattr(self.weights, "nested_row_splits"), "tf.RaggedTensor")
            self._match_weights(values, "row_splits", "row splits")
            self.weights = self.weights.flat_values
        if axis:
            self.rows = cast(values.value_rowids(), "int64")
            self.count = cast(values.nrows(), "int64")

    def _require_weights(self, is_right: bool, kind: str) -> None:
        """Raises ValueError if the weights are of another kind than the values."""
        if not is_right:
            raise ValueError(
                f"Argument `weights` must be a {kind} if `values` is a {kind}. "
                f"Received weights={self.weights} of type: {type(self.weights).__name__}"
            )

    def _match_weights(self, values: Any, part: str, text: str) -> None:
        """Fails if a part of the weights differs from that of the values."""
        parts = getattr(self.weights, part), getattr(values, part)
        if parts[0] is not parts[1]:
            check = assert_equal(
                *parts, message=f"'weights' and 'values' must have the same {text}."
            )
            with control_dependencies([] if check is None else [check]):
                self.flat = op("Identity", self.flat)

    def _set_dense(self, values: TensorLike, axis: int) -> None:
        tensor = convert_to_tensor(values, name="arr")
        shape = tensor_shape.as_shape(tensor.shape)
        if self.weights is not None:
            self._set_dense_weights(shape)
        if axis and shape.rank is not None and shape.rank > 2:
            raise errors.invalid_argument(
                f"Shape must be at most rank 2 but is rank {shape.rank} (op: 'DenseBincount')"
            )
        self.flat = op("Reshape", tensor, [-1])
        if axis and shape.rank == 2:
            height, width = op("Unpack", cast(op("Shape", tensor), "int64"), num=2, axis=0)
            ids = op("Range", constant(0, "int64"), height, constant(1, "int64"))
            rows = op("Tile", op("ExpandDims", ids, 1), op("Pack", [constant(1, "int64"), width]))
            self.rows, self.count = op("Reshape", rows, [-1]), height

    def _set_dense_weights(self, shape: Any) -> None:
        composite = any(hasattr(self.weights, n) for n in ("dense_shape", "nested_row_splits"))
        self._require_weights(not composite, "tf.Tensor")
        weights = convert_to_tensor(self.weights, name="weights")
        of_weights = tensor_shape.as_shape(weights.shape)
        if of_weights.num_elements() == 0 and shape.num_elements() != 0:
            self.weights = op("Fill", [shape.num_elements()], constant(1, weights.dtype))
            return
        if not of_weights.is_compatible_with(shape):
            raise errors.invalid_argument(
                "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case "
                f"it acts as all weights equal to 1. Received {of_weights} (op: 'DenseBincount')"
            )
        self.weights = op("Reshape", weights, [-1])

    def check(self, text: str) -> None:
        """Fails if a value is negative."""
        right = OPS["All"](op("GreaterEqual", self.flat, constant(0, self.flat.dtype)))
        check = Assert(right, [text])
        with control_dependencies([] if check is None else [check]):
            self.flat = op("Identity", self.flat)

    def size(self, least: TensorLike, most: TensorLike) -> Tensor:
        """The number of bins: one more than the largest value, within limits."""
        kind = self.flat.dtype
        all_values = op("ConcatV2", [self.flat, constant([-1], kind)], 0)
        size = op("Add", OPS["Max"](all_values, 0), constant(1, kind))
        if least is not None:
            size = op("Maximum", convert_to_tensor(least, kind), size)
        if most is not None:
            size = op("Minimum", convert_to_tensor(most, kind), size)
        return cast(size, "int64")

    def keys(self, size: Tensor) -> Tensor:
        """The index of the bin of each value in the flattened result; -1: none."""
        values = cast(self.flat, "int64")
        keys = values if self.rows is None else op("Add", op("Mul", self.rows, size), values)
        return op("SelectV2", op("Less", values, size), keys, constant(-1, "int64"))

    def weights_or_ones(self, dtype: DTypeLike) -> Tensor:
        if self.weights is not None:
            return self.weights
        return op("Fill", op("Shape", self.flat), constant(1, as_dtype(dtype)))


def _bins(values, size, dtype, binary_output):
    """Sums weights by value, per row if there are rows; or says which values occur."""
    count = size if values.count is None else op("Mul", size, values.count)
    if binary_output:
        values.weights = None
    bins = op("UnsortedSegmentSum", values.weights_or_ones(dtype), values.keys(size), count)
    if binary_output:
        bins = cast(op("Greater", bins, constant(0, bins.dtype)), bins.dtype)
    if values.count is not None:
        bins = op("Reshape", bins, op("Pack", [values.count, size]))
    return bins


def _reject_both(weights: Any, binary_output: bool) -> None:
    if weights is not None and binary_output:
        raise ValueError(
            "Arguments `binary_output` and `weights` are mutually exclusive. Please specify only "
            "one."
        )


@export(v2="math.bincount")
def bincount(
    arr: TensorLike,
    weights: TensorLike = None,
    minlength: TensorLike = None,
    maxlength: TensorLike = None,
    dtype: DTypeLike = "int32",
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Counts the occurrences of each value in a tensor of non-negative integers.

    Args:
      arr: A tensor, RaggedTensor or SparseTensor of integers.
      weights: Weights to sum instead of counting, of the form of `arr` (optional).
      minlength: The smallest number of bins.
      maxlength: The largest number of bins; values that do not fit are not counted.
      dtype: The type of the counts; with `weights` the result has their type.
      name: A name for the operation (optional).
      axis: 0 counts all values (the default), -1 those of each row of a matrix.
      binary_output: Whether the result is 1 for values that occur, instead of their number.

    Returns:
      A tensor of shape [bins], or [rows, bins] with `axis` -1.

    Raises:
      ValueError: If `axis` is not 0 or -1, or if both `weights` and `binary_output` are given.
    """
    _reject_both(weights, binary_output)
    with scope(name, "bincount"):
        values = _Values(arr, weights, axis)
        values.check("Input arr must be non-negative!")
        return _bins(values, values.size(minlength, maxlength), dtype, binary_output)


@export(v1=("math.bincount", "bincount"))
def bincount_v1(
    arr: TensorLike,
    weights: TensorLike = None,
    minlength: TensorLike = None,
    maxlength: TensorLike = None,
    dtype: DTypeLike = "int32",
) -> Tensor:
    """Counts the occurrences of each value in a tensor of non-negative integers; see
    `tf.math.bincount`.

    Args:
      arr: A tensor, RaggedTensor or SparseTensor of integers.
      weights: Weights to sum instead of counting, of the form of `arr` (optional).
      minlength: The smallest number of bins.
      maxlength: The largest number of bins; values that do not fit are not counted.
      dtype: The type of the counts; with `weights` the result has their type.
    """
    return bincount(arr, weights, minlength, maxlength, dtype)


@export("sparse.bincount")
def sparse_bincount(
    values: TensorLike,
    weights: TensorLike = None,
    axis: int | None = 0,
    minlength: TensorLike = None,
    maxlength: TensorLike = None,
    binary_output: bool = False,
    name: str | None = None,
) -> Any:
    """Counts the occurrences of each value in a tensor of non-negative integers; see
    `tf.math.bincount`.

    Args:
      values: A tensor, RaggedTensor or SparseTensor of integers.
      weights: Weights to sum instead of counting, of the form of `values` (optional).
      axis: 0 counts all values (the default), -1 those of each row of a matrix.
      minlength: The smallest number of bins.
      maxlength: The largest number of bins; values that do not fit are not counted.
      binary_output: Whether the result is 1 for values that occur, instead of their number.
      name: A name for the operation (optional).

    Returns:
      A SparseTensor of shape [bins], or [rows, bins] with `axis` -1.

    Raises:
      ValueError: If `axis` is not 0 or -1, if both `weights` and `binary_output` are given, or if
        the weights are not of the kind of the values.
      InvalidArgumentError: If the weights have another shape, other indices or row splits.
    """
    _reject_both(weights, binary_output)
    with scope(name, "count"):
        found = _Values(values, weights, axis)
        found.check("Input values must all be non-negative!")
        size = found.size(minlength, maxlength)
        keys = found.keys(size)
        used = op("Squeeze", op("Where", op("GreaterEqual", keys, constant(0, "int64"))), [1])
        distinct, index = op("Unique", op("GatherV2", keys, used, 0), out_idx=as_dtype("int64"))
        each = op("GatherV2", found.weights_or_ones(found.flat.dtype), used, 0)
        sums = op("UnsortedSegmentSum", each, index, op("Size", distinct))
        order = argsort(distinct)
        distinct, sums = op("GatherV2", distinct, order, 0), op("GatherV2", sums, order, 0)
        if binary_output:
            sums = op("OnesLike", sums)
        if found.count is None:
            return SparseTensor(op("ExpandDims", distinct, 1), sums, op("Pack", [size]))
        places = [op("FloorDiv", distinct, size), op("FloorMod", distinct, size)]
        return SparseTensor(op("Pack", places, axis=1), sums, op("Pack", [found.count, size]))


def _scalar_size(size, op_name):
    """Returns the number of bins as an int64 scalar that is checked to be one, and not negative."""
    size = convert_to_tensor(size)
    rank = tensor_shape.as_shape(size.shape).rank
    value = constant_value(size)
    if rank:
        raise errors.invalid_argument(
            f"Shape must be rank 0 but is rank {rank} for '{op_name}' (op: '{op_name}')"
        )
    if value is not None and value < 0:
        raise errors.invalid_argument(f"size ({int(value)}) must be non-negative (op: '{op_name}')")
    size = cast(size, "int64")
    if value is not None:
        return size
    check = Assert(op("GreaterEqual", size, constant(0, "int64")), ["size must be non-negative"])
    with control_dependencies([] if check is None else [check]):
        return op("Identity", size)


def _fixed_bins(found, size, binary_output):
    """Counts into `size` bins, or sums weights; empty weights are ones."""
    weights = convert_to_tensor(found.weights)
    count = tensor_shape.as_shape(weights.shape).num_elements()
    found.weights = None if count == 0 else op("Reshape", weights, [-1])
    found.check("Input must be non-negative")
    return _bins(found, size, weights.dtype, binary_output)


def _row_ids(splits, count):
    """Returns the row of each of `count` values of a ragged tensor."""
    index = op("Range", constant(0, "int64"), count, constant(1, "int64"))
    ends = op("Slice", splits, [1], [-1])
    passed = op("LessEqual", op("ExpandDims", ends, 0), op("ExpandDims", index, 1))
    return op("Sum", cast(passed, "int64"), [1])


@export("raw_ops.Bincount")
def raw_bincount(
    arr: TensorLike, size: TensorLike, weights: TensorLike, name: str | None = None
) -> Tensor:
    """Counts the values of a tensor in a fixed number of bins.

    Args:
      arr: An int32 tensor.
      size: The number of bins, a scalar; larger values are not counted.
      weights: Weights of the shape of `arr`, or an empty tensor: its type is that of the counts.
      name: A name for the operation (optional).

    Returns:
      A vector of `size` elements.
    """
    with scope(name, "Bincount"):
        size = _scalar_size(size, "Bincount")
        return _fixed_bins(_Values(arr, weights, 0), size, False)


@export("raw_ops.DenseBincount")
def dense_bincount(
    input: TensorLike,
    size: TensorLike,
    weights: TensorLike,
    binary_output: bool = False,
    name: str | None = None,
) -> Tensor:
    """Counts the values of a vector, or of each row of a matrix, in a fixed number of bins.

    Args:
      input: A tensor of int32 or int64 of rank 2 or less.
      size: The number of bins, a scalar; larger values are not counted.
      weights: Weights of the shape of `input`, or an empty tensor: its type is that of the counts.
      binary_output: Whether the result is 1 for values that occur, instead of their number.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [size] or [rows, size].
    """
    with scope(name, "DenseBincount"):
        size = _scalar_size(size, "DenseBincount")
        tensor = convert_to_tensor(input)
        axis = 0 if (tensor_shape.as_shape(tensor.shape).rank or 0) < 2 else -1
        found = _Values(tensor, convert_to_tensor(weights), axis)
        return _fixed_bins(found, size, binary_output)


@export("raw_ops.SparseBincount")
def raw_sparse_bincount(
    indices: TensorLike,
    values: TensorLike,
    dense_shape: TensorLike,
    size: TensorLike,
    weights: TensorLike,
    binary_output: bool = False,
    name: str | None = None,
) -> Tensor:
    """Counts the elements of a sparse tensor in a fixed number of bins.

    Args:
      indices: The indices of the sparse tensor.
      values: Its elements, of int32 or int64.
      dense_shape: Its shape.
      size: The number of bins, a scalar; larger values are not counted.
      weights: A weight per element, or an empty tensor: its type is that of the counts.
      binary_output: Whether the result is 1 for values that occur, instead of their number.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [size], or [rows, size] if the sparse tensor has more than one dimension.
    """
    with scope(name, "SparseBincount"):
        size = _scalar_size(size, "SparseBincount")
        sparse = SparseTensor(indices, values, dense_shape)
        inside = op(
            "LogicalAnd",
            op("GreaterEqual", sparse.indices, constant(0, "int64")),
            op("Less", sparse.indices, sparse.dense_shape),
        )
        check = Assert(OPS["All"](inside), ["indices are out of bounds of the dense shape"])
        with control_dependencies([] if check is None else [check]):
            sparse = SparseTensor(op("Identity", sparse.indices), sparse.values, sparse.dense_shape)
        is_vector = tensor_shape.as_shape(sparse.dense_shape.shape).as_list() == [1]
        found = _Values(sparse, None, 0 if is_vector else -1)
        found.weights = weights
        return _fixed_bins(found, size, binary_output)


@export("raw_ops.RaggedBincount")
def ragged_bincount(
    splits: TensorLike,
    values: TensorLike,
    size: TensorLike,
    weights: TensorLike,
    binary_output: bool = False,
    name: str | None = None,
) -> Tensor:
    """Counts the elements of each row of a ragged tensor in a fixed number of bins.

    Args:
      splits: Where rows begin and end, int64.
      values: The elements, of int32 or int64.
      size: The number of bins, a scalar; larger values are not counted.
      weights: A weight per element, or an empty tensor: its type is that of the counts.
      binary_output: Whether the result is 1 for values that occur, instead of their number.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [rows, size].
    """
    with scope(name, "RaggedBincount"):
        size = _scalar_size(size, "RaggedBincount")
        splits = convert_to_tensor(splits, "int64")
        if tensor_shape.as_shape(splits.shape).num_elements() == 0:
            raise errors.invalid_argument("Splits must be non-empty (op: 'RaggedBincount')")
        found = _Values(values, None, 0)
        total = op("Size", found.flat, out_type=as_dtype("int64"))
        ends = op("Pack", [splits[0], splits[-1]])
        check = Assert(
            OPS["All"](op("Equal", ends, op("Pack", [constant(0, "int64"), total]))),
            ["Splits must start with 0 and end with the number of values, got", splits],
        )
        with control_dependencies([] if check is None else [check]):
            found.rows = _row_ids(op("Identity", splits), total)
        found.count = op(
            "Sub", op("Size", splits, out_type=as_dtype("int64")), constant(1, "int64")
        )
        found.weights = weights
        return _fixed_bins(found, size, binary_output)
