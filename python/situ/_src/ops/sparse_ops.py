# SPDX-License-Identifier: Apache-2.0
"""sparse_ops.py: tf.SparseTensor and tf.sparse: conversion, reordering, arithmetic, reductions,
matmul."""

from __future__ import annotations

import collections

import numpy

import _situ
from situ._src.framework import default_session, errors, tensor_shape
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import (
    cast,
    concat,
    constant,
    convert_to_tensor,
    op,
    placeholder,
    placeholder_with_default,
)
from situ._src.ops.check_ops import Assert

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, ShapeLike, Tensor, TensorLike


@export("sparse.SparseTensor", "SparseTensor")
class SparseTensor:
    """A tensor given by the indices and values of its nonzero elements and its dense shape."""

    is_tensor_like = True

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: TensorLike):
        self.indices = convert_to_tensor(indices, "int64", name="indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, "int64", name="dense_shape")
        pairs = self.indices.shape.with_rank(2)
        count, sizes = self.values.shape.with_rank(1), self.dense_shape.shape.with_rank(1)
        pairs[:1].assert_is_compatible_with(count)
        pairs[1:].assert_is_compatible_with(sizes)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Creates a sparse tensor from a SparseTensorValue or SparseTensor.

        Raises:
          TypeError: the argument is neither.
        """
        value = sparse_tensor_value
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            raise TypeError(
                f"Argument sparse_tensor_value={value} is neither a SparseTensor nor "
                "SparseTensorValue."
            )
        return SparseTensor(value.indices, value.values, value.dense_shape)

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges a shape with the static shape.

        Raises:
          ValueError: the shapes are not compatible.
        """
        merged = self.get_shape().merge_with(tensor_shape.as_shape(shape))
        self._static = None if merged.rank is None else merged.as_list()

    _static: list | None = None  # the static shape, if it may be fed
    dtype = property(lambda s: s.values.dtype)

    op = property(lambda s: s.values.op)
    graph = property(lambda s: s.values.graph)

    @property
    def _situ_parts_(self):
        """The tensors that a session fetches or feeds."""
        return [self.indices, self.values, self.dense_shape]

    def _situ_value_(self, values, session):
        return SparseTensorValue(*values)

    _situ_tensors_ = _situ_parts_

    @classmethod
    def _situ_from_tensors_(cls, pieces):
        return cls(*pieces)

    def __repr__(self):
        return (
            f"SparseTensor(indices={self.indices!s}, values={self.values!s}, "
            f"dense_shape={self.dense_shape!s})"
        )

    def get_shape(self) -> Any:
        """Returns the static shape."""
        if self._static is not None:
            return tensor_shape.as_shape(self._static)
        known = constant_value(self.dense_shape)
        if known is not None:
            return tensor_shape.as_shape([None if v < 0 else int(v) for v in known])
        producer = self.dense_shape.op
        if producer.type == "Pack":  # some sizes may be known
            sizes = [constant_value(size) for size in producer.inputs]
            return tensor_shape.as_shape([None if v is None else int(v) for v in sizes])
        rank = self.dense_shape.shape.as_list()[0] if self.dense_shape.shape.rank else None
        return tensor_shape.as_shape(None if rank is None else [None] * rank)

    shape = property(get_shape)

    def consumers(self) -> Any:
        """Returns the operations that read the parts of this tensor."""
        found = [o for part in self._situ_parts_ for o in part.consumers()]
        return list(dict.fromkeys(found))

    def with_values(self, new_values: TensorLike) -> Any:
        """Returns a sparse tensor with the same indices and shape and other values."""
        result = SparseTensor(self.indices, new_values, self.dense_shape)
        result._static = self._static
        return result

    def _with_dense(self, op_name, other):
        """Applies a binary op to the elements and a dense tensor, which is broadcast."""
        if isinstance(other, SparseTensor):
            raise TypeError(f"situ has no {op_name} of two sparse tensors.")
        other = convert_to_tensor(other, self.dtype)
        parts = (self.indices, self.values, self.dense_shape)
        return self.with_values(op("SparseDenseCwise" + op_name, *parts, other))

    def __mul__(self, other):
        return self._with_dense("Mul", other)

    def __div__(self, other):
        return self._with_dense("Div", other)

    def __truediv__(self, other):
        if self.dtype.is_integer:
            small = self.dtype.base_dtype.name in ("int8", "uint8", "int16", "uint16")
            dtype = "float32" if small else "float64"
            other = cast(convert_to_tensor(other, self.dtype), dtype)
            return self.with_values(cast(self.values, dtype))._with_dense("Div", other)
        return self._with_dense("Div", other)

    def __neg__(self):
        return self.with_values(op("Neg", self.values))

    __rmul__ = __mul__

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Returns the value as a `SparseTensorValue`, computed in a session."""
        return default_session.for_eval(session).run(self, feed_dict)


@export("SparseTensorValue", v1="SparseTensorValue")
class SparseTensorValue(collections.namedtuple("SparseTensorValue", "indices values dense_shape")):
    """The arrays of a sparse tensor."""

    __slots__ = ()


@export(v1="convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(
    value: TensorLike, dtype: DTypeLike = None, name: str | None = None
) -> Any:
    """Converts a value to a SparseTensor or a tensor.

    Args:
      value: A SparseTensor, a SparseTensorValue, or what converts to a tensor.
      dtype: The type of the elements.
      name: A name for the operation (optional).

    Raises:
      RuntimeError: a sparse value has another type.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype is not None and as_dtype(dtype) != value.dtype:
            raise RuntimeError(
                f"Sparse dtype mismatch. Requested: {as_dtype(dtype).name},  Actual: "
                f"{value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name=name)


def _index_error(indices, shape):
    """Returns what is wrong with an array [n, rank] of indices, None if they are in order."""
    outside = (indices < 0) | (indices >= shape)
    change = numpy.diff(indices, axis=0)
    first = (change != 0).argmax(axis=1)[:, None] if indices.shape[1] else change[:, :0]
    step = numpy.take_along_axis(change, first, 1).sum(1)  # of the first element that changes
    wrong = outside.any(axis=1)
    wrong[1:] |= step <= 0
    if not wrong.any():
        return None
    at = int(wrong.argmax())
    place = f"indices[{at}] = [{','.join(map(str, indices[at]))}] is "
    if outside[at].any():
        return f"{place}out of bounds: need 0 <= index < [{','.join(map(str, shape))}]"
    if step[at - 1] == 0:
        return place + "repeated"
    return (
        place + "out of order. Many sparse ops require sorted indices.\n"
        "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
    )


def validated(indices, shape):
    """Returns indices, checked to be in lexicographic order: eagerly, or when a graph runs."""
    if hasattr(indices, "numpy") and hasattr(shape, "numpy"):
        message = _index_error(indices.numpy(), shape.numpy())
        if message is not None:
            raise errors.InvalidArgumentError(None, None, message)
        return indices
    known = [(indices.shape.as_list() or [None])[-1] if indices.shape.rank else None]
    known += shape.shape.as_list() if shape.shape.rank else []
    rank = next((n for n in known if n is not None), None)
    if rank is None:  # the scatter checks the range
        return indices
    places = _flat_indices(cast(indices, "int64"), cast(shape, "int64"), rank)
    rising = op("Less", places[:-1], places[1:])
    inside = op(
        "LogicalAnd",
        op("GreaterEqual", indices, cast(0, indices.dtype)),
        op("Less", indices, shape),
    )
    holds = op("LogicalAnd", op("All", rising, [0]), op("All", inside, [0, 1]))
    text = "indices are out of bounds, repeated or out of order: "
    with control_dependencies([Assert(holds, [text, indices], summarize=10)]):
        return op("Identity", indices)


@export(v1="sparse_to_dense")
def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: ShapeLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool | None = True,
    name: str | None = None,
) -> Tensor:
    """Converts indices and values to a dense tensor.

    Args:
      sparse_indices: A tensor of shape [n, rank], or [n] for vectors.
      output_shape: The shape of the result.
      sparse_values: A tensor [n], or a scalar for all indices.
      default_value: The value of other elements.
      validate_indices: Whether indices must be in lexicographic order, without repetition. They
        must be in range in any case.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    with scope(name, "SparseToDense") as full:
        values = convert_to_tensor(sparse_values)
        indices = convert_to_tensor(sparse_indices)
        shape = op("Cast", convert_to_tensor(output_shape), indices.dtype)
        default = convert_to_tensor(default_value, values.dtype)
        rank = tensor_shape.as_shape(indices.shape).rank
        if rank is not None and rank < 2:
            indices = op("Reshape", indices, [-1, 1])
        if validate_indices:
            indices = validated(indices, shape)
        if tensor_shape.as_shape(values.shape).rank == 0:  # one value for all indices
            values = op("Fill", op("Slice", op("Shape", indices), [0], [1]), values)
        if values.dtype.name == "string":  # scatter positions, then gather the strings
            zero, one = convert_to_tensor(0, "int64"), convert_to_tensor(1, "int64")
            positions = op("Range", one, op("Size", values, out_type="int64") + 1, one)
            positions = op("TensorScatterUpdate", op("Fill", shape, zero), indices, positions)
            strings = op("ConcatV2", [op("Reshape", default, [1]), values], 0)
            result = op("GatherV2", strings, positions, 0, name=full)
        else:
            result = op(
                "TensorScatterUpdate", op("Fill", shape, default), indices, values, name=full
            )
        ranked = shape.shape.rank is not None
        sizes: list = tensor_shape.as_shape(shape.shape).as_list() if ranked else [None]
        if result.shape.rank is None and sizes != [None] and hasattr(result, "set_shape"):
            result.set_shape([None] * sizes[0])
        return result


@export("sparse.to_dense", v1="sparse_tensor_to_dense")
def sparse_tensor_to_dense(
    sp_input: TensorLike,
    default_value: TensorLike = None,
    validate_indices: bool | None = True,
    name: str | None = None,
) -> Tensor:
    """Converts a sparse tensor to a dense one; other elements are `default_value` (0 or "").

    With `validate_indices`, indices must be in lexicographic order, without repetition.

    Args:
      sp_input: A sparse tensor.
      default_value: The value of other elements.
      validate_indices: Whether indices must be in lexicographic order, without repetition. They
        must be in range in any case.
      name: A name for the operation (optional).
    """
    empty = "" if sp_input.dtype.name == "string" else 0
    preset = empty if default_value is None else default_value
    return sparse_to_dense(
        sp_input.indices, sp_input.dense_shape, sp_input.values, preset, validate_indices, name
    )


@export(v1=("sparse_placeholder", "sparse.placeholder"))
def sparse_placeholder(
    dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None
) -> SparseTensor:
    """Creates a sparse placeholder; feed a tf.SparseTensorValue or (indices, values, shape).

    Args:
      dtype: The type of the elements.
      shape: Shape of the fed tensors; default: any.
      name: A name for the operation (optional).
    """
    rank = None if shape is None else tensor_shape.as_shape(shape).rank
    known = rank is not None and None not in tensor_shape.as_shape(shape).as_list()
    with scope(name, "SparsePlaceholder"):
        size = (
            placeholder_with_default(
                constant(tensor_shape.as_shape(shape).as_list(), "int64"), [rank], "shape"
            )
            if known
            else placeholder("int64", [rank], "shape")
        )
        result = SparseTensor(
            placeholder("int64", [None, rank], "indices"),
            placeholder(as_dtype(dtype), [None], "values"),
            size,
        )
        result._static = None if rank is None else tensor_shape.as_shape(shape).as_list()
        return result


def _column(indices, k):
    return op("Reshape", op("Slice", indices, [0, k], [-1, 1]), [-1])


def _transposed(matrix):
    return op("Transpose", matrix, [1, 0])


@export("sparse.sparse_dense_matmul", "sparse.matmul", v1="sparse_tensor_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: TensorLike,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies a sparse matrix by a dense one.

    Args:
      sp_a: A SparseTensor of rank 2.
      b: A dense matrix.
      adjoint_a: Whether `sp_a` is transposed.
      adjoint_b: Whether `b` is transposed.
      name: A name for the operation (optional).

    Returns:
      A dense matrix.
    """
    with scope(name, "SparseTensorDenseMatMul") as full:
        b = convert_to_tensor(b)
        b = _transposed(b) if adjoint_b else b
        to, from_ = (1, 0) if adjoint_a else (0, 1)
        rows = op("GatherV2", b, _column(sp_a.indices, from_), 0)
        weighted = op("Mul", rows, op("ExpandDims", sp_a.values, 1))
        count = op("StridedSlice", sp_a.dense_shape, [to], [to + 1], [1], shrink_axis_mask=1)
        return op("UnsortedSegmentSum", weighted, _column(sp_a.indices, to), count, name=full)


def _rank(sparse):
    known = tensor_shape.as_shape(sparse.indices.shape).as_list()[1]
    if known is None:
        known = tensor_shape.as_shape(sparse.dense_shape.shape).as_list()[0]
    if known is None:
        raise ValueError("The rank of a sparse tensor must be known.")
    return known


def _flat_indices(indices, shape, rank):
    """Converts indices to row-major positions."""
    total = constant(0, "int64")
    for k in range(rank):
        total = total * shape[k] + indices[:, k]
    return total


def _unflatten(numbers, shape, rank):
    """Converts row-major positions to indices."""
    columns = []
    for k in reversed(range(rank)):
        columns.insert(0, op("FloorMod", numbers, shape[k]))
        numbers = op("FloorDiv", numbers, shape[k])
    return op("Pack", columns, axis=1)


def _select(sparse, which):
    return SparseTensor(
        op("GatherV2", sparse.indices, which, 0),
        op("GatherV2", sparse.values, which, 0),
        sparse.dense_shape,
    )


@export("sparse.from_dense")
def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Converts a dense tensor to a sparse one of its nonzero elements or nonempty strings.

    Args:
      tensor: A tensor.
      name: A name for the operation (optional).
    """
    with scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        empty = convert_to_tensor("" if tensor.dtype.name == "string" else 0, tensor.dtype)
        indices = OPS["Where"](
            op("NotEqual", tensor, empty)
            if tensor.dtype.name != "string"
            else op("LogicalNot", tensor == empty)
        )
        shape = op("Shape", tensor, out_type="int64")
        rank = tensor_shape.as_shape(tensor.shape).rank
        values = op("GatherV2", op("Reshape", tensor, [-1]), _flat_indices(indices, shape, rank), 0)
        return SparseTensor(indices, values, shape)


@export("sparse.eye")
def eye(
    num_rows: TensorLike,
    num_columns: TensorLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> SparseTensor:
    """Creates a sparse identity matrix.

    Args:
      num_rows: Number of rows.
      num_columns: Number of columns; default: num_rows.
      dtype: The type of the elements.
      name: A name for the operation (optional).
    """
    with scope(name, "eye"):
        columns = num_rows if num_columns is None else num_columns
        line = numpy.arange(min(num_rows, columns))
        return SparseTensor(
            numpy.stack([line, line], 1),
            cast(op("OnesLike", constant(line)), dtype),
            [num_rows, columns],
        )


@export("sparse.map_values")
def map_values(op_: TensorLike, *args: Any, **kwargs: Any) -> SparseTensor:
    """Applies a function to the values of sparse tensors with equal indices.

    Args:
      op_: The function.
      *args: Its arguments: sparse tensors are replaced by their values.
      **kwargs: Its keyword arguments, in the same way.
    """
    sparse_args = [a for a in [*args, *kwargs.values()] if isinstance(a, SparseTensor)]
    values_of = lambda a: a.values if isinstance(a, SparseTensor) else a
    result = op_(*[values_of(a) for a in args], **{k: values_of(v) for k, v in kwargs.items()})
    return SparseTensor(sparse_args[0].indices, result, sparse_args[0].dense_shape)


def _same_shape(sparse):
    """Returns the dense shape, as a constant if it is known."""
    known = sparse.get_shape()
    if known.is_fully_defined():
        return constant(known.as_list(), "int64")
    return op("Identity", sparse.dense_shape)


@export("sparse.reorder", v1="sparse_reorder")
def reorder(sp_input: TensorLike, name: str | None = None) -> SparseTensor:
    """Sorts the elements in row-major order.

    Args:
      sp_input: A sparse tensor.
      name: A name for the operation (optional).
    """
    with scope(name, "SparseReorder"):
        sp_input = SparseTensor.from_value(sp_input)
        parts = (sp_input.indices, sp_input.values, sp_input.dense_shape)
        indices, values = op("SparseReorder", *parts)
        return SparseTensor(indices, values, _same_shape(sp_input))


@export(v2="sparse.add", v1=("sparse_add", "sparse.add"))
def add(a: TensorLike, b: TensorLike, threshold: TensorLike = 0, thresh: TensorLike = None) -> Any:
    """Adds two tensors, at least one sparse. Sums of two sparse tensors with a magnitude below
    `threshold`
    are dropped.

    Args:
      a: A tensor, dense or sparse.
      b: A tensor, dense or sparse.
      threshold: Least magnitude of the sums of two sparse tensors.
      thresh: Old name of threshold.
    """
    threshold = threshold if thresh is None else thresh
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        dense = convert_to_tensor(dense)
        return op("Add", dense, sparse_tensor_to_dense(sparse, validate_indices=False))
    result = _joined(a, b, "UnsortedSegmentSum")
    if isinstance(threshold, (int, float)) and threshold <= 0:
        return result
    kept = op("GreaterEqual", op("Abs", result.values), cast(threshold, result.values.dtype))
    rows = op("Squeeze", op("Where", kept), [1])
    return SparseTensor(
        op("GatherV2", result.indices, rows, 0),
        op("GatherV2", result.values, rows, 0),
        result.dense_shape,
    )


def _joined(a, b, op_name):
    """Combines elements at equal indices with a segment reduction."""
    rank = _rank(a)
    numbers = _flat_indices(concat([a.indices, b.indices], 0), a.dense_shape, rank)
    found, which = BOTH["unique"](numbers)
    values = op(op_name, concat([a.values, b.values], 0), which, op("Size", found))
    return reorder(SparseTensor(_unflatten(found, a.dense_shape, rank), values, a.dense_shape))


def _reduced_shape(sparse, axis, keepdims):
    """Returns the static shape of a reduction, or None if it is not known."""
    axes = constant_value(convert_to_tensor(axis))
    known = sparse.get_shape()
    if axes is None or known.rank is None:
        return None
    axes = {int(a) % max(known.rank, 1) for a in numpy.ravel(axes)}
    sizes = known.as_list()
    if keepdims:
        return [1 if k in axes else n for k, n in enumerate(sizes)]
    return [n for k, n in enumerate(sizes) if k not in axes]


def _reduction(function, default):
    def reduce(
        sp_input: TensorLike,
        axis: Axis = None,
        keepdims: bool | None = None,
        output_is_sparse: bool = False,
        name: str | None = None,
        reduction_axes: TensorLike = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        """Reduces a sparse tensor over dimensions to a dense or a sparse one.

        Args:
          sp_input: The SparseTensor.
          axis: The dimensions to reduce: an integer or a list of them; default: all.
          keepdims: Whether reduced dimensions remain, with size 1.
          output_is_sparse: Whether the result is a SparseTensor.
          name: A name for the operation (optional).
          reduction_axes: Older name of `axis`.
          keep_dims: Older name of `keepdims`.

        Returns:
          A tensor, or a SparseTensor if `output_is_sparse`.
        """
        with scope(name, default):
            sp_input = SparseTensor.from_value(sp_input)
            axis = reduction_axes if axis is None else axis
            keepdims = bool(keepdims or keep_dims)
            if axis is None:
                axis = op("Range", 0, op("Size", sp_input.dense_shape), 1)
            parts = (sp_input.indices, sp_input.values, sp_input.dense_shape, axis)
            if output_is_sparse:
                return SparseTensor(*op(default + "Sparse", *parts, keep_dims=keepdims))
            result = op(default, *parts, keep_dims=keepdims)
            shape = _reduced_shape(sp_input, axis, keepdims)
            if shape is not None and not _situ.executing_eagerly():
                result.set_shape(shape)
            return result

    reduce.__name__ = function
    export("sparse." + function)(reduce)
    export(v1=("sparse." + function, "sparse_" + function))(
        with_order(reduce, "sp_input", "axis", "keepdims", "reduction_axes", "keep_dims")
    )


_reduction("reduce_sum", "SparseReduceSum")
_reduction("reduce_max", "SparseReduceMax")


@export("sparse.softmax", v1="sparse_softmax")
def softmax(sp_input: TensorLike, name: str | None = None) -> SparseTensor:
    """Computes the softmax of the existing elements along the last dimension.

    Args:
      sp_input: A sparse tensor.
      name: A name for the operation (optional).
    """
    with scope(name, "SparseSoftmax"):
        sp_input = SparseTensor.from_value(sp_input)
        parts = (sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, op("SparseSoftmax", *parts), sp_input.dense_shape)


@export("sparse.to_indicator", v1="sparse_to_indicator")
def to_indicator(sp_input: TensorLike, vocab_size: TensorLike, name: str | None = None) -> Tensor:
    """Converts ids to a boolean tensor with one column per id.

    Args:
      sp_input: A sparse tensor.
      vocab_size: Number of columns.
      name: A name for the operation (optional).
    """
    with scope(name, "SparseToIndicator"):
        rank = _rank(sp_input)
        places = concat(
            [sp_input.indices[:, : rank - 1], op("ExpandDims", cast(sp_input.values, "int64"), 1)],
            1,
        )
        shape = concat([sp_input.dense_shape[: rank - 1], constant([vocab_size], "int64")], 0)
        ones = cast(op("OnesLike", places[:, 0]), "int32")
        result = op("ScatterNd", places, ones, shape)
        return op("Greater", result, 0)
