# SPDX-License-Identifier: Apache-2.0
"""sparse_combine_ops.py: sparse tensors made of several tensors: ids and values, element-wise
maximum and minimum, default values in empty rows, crosses of columns, and parts of one tensor."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.errors import InvalidArgumentError
from situ._src.framework.graph import scope
from situ._src.framework.indexed_slices import IndexedSlices
from situ._src.framework.tensor import EagerTensor
from situ._src.framework.tensor import Tensor as TensorClass
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, op
from situ._src.ops.check_ops import checked
from situ._src.ops.sparse_ops import SparseTensor, _rank, reorder

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, TensorLike


def _sparse(value):
    """Returns a sparse tensor of a SparseTensor or SparseTensorValue.

    Raises:
      TypeError: it is another value.
    """
    return SparseTensor.from_value(value)


@export(v1=("sparse_merge", "sparse.merge"))
def sparse_merge(
    sp_ids: Any,
    sp_values: Any,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Combines a batch of ids and a batch of values to a sparse tensor.

    Args:
      sp_ids: A sparse tensor of ids, or a list of them, one per dimension.
      sp_values: A sparse tensor of as many values.
      vocab_size: The size of the dimension of the ids, or a list of sizes.
      name: A name for the operation (optional).
      already_sorted: Whether the result is in row-major order.

    Returns:
      A sparse tensor whose last dimensions are the ids.

    Raises:
      TypeError: `sp_values` is not sparse, or only one of `sp_ids` and `vocab_size` is a list.
      ValueError: the lists have different lengths.
    """
    several = isinstance(sp_ids, (list, tuple)) and not hasattr(sp_ids, "dense_shape")
    ids = list(sp_ids) if several else [sp_ids]
    sizes = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if several != isinstance(vocab_size, (list, tuple)):
        raise TypeError(f"vocab_size has to be a list as sp_ids is: {vocab_size!r}")
    if len(ids) != len(sizes):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with scope(name, "SparseMerge"):
        ids, values = [_sparse(i) for i in ids], _sparse(sp_values)
        columns = [op("ExpandDims", cast(i.values, "int64"), 1) for i in ids]
        rank = _rank(ids[0])
        indices = concat([ids[0].indices[:, : rank - 1], *columns], 1)
        sizes = [op("Reshape", cast(convert_to_tensor(s), "int64"), [1]) for s in sizes]
        shape = concat([ids[0].dense_shape[: rank - 1], *sizes], 0)
        result = SparseTensor(indices, values.values, shape)
        return result if already_sorted else reorder(result)


def _extreme(a, b, op_name, name):
    """Returns the element-wise maximum or minimum of two sparse tensors of one shape."""
    with scope(name, f"SparseSparse{op_name}"):
        a, b = _sparse(a), _sparse(b)
        parts = (a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape)
        indices, values = op("SparseSparse" + op_name, *parts)
        return SparseTensor(indices, values, a.dense_shape)


@export("sparse.maximum", v1="sparse_maximum")
def sparse_maximum(sp_a: TensorLike, sp_b: TensorLike, name: str | None = None) -> SparseTensor:
    """Returns the element-wise maximum of two sparse tensors; missing elements are 0.

    Args:
      sp_a: A sparse tensor.
      sp_b: A sparse tensor of the same shape.
      name: A name for the operation (optional).

    Returns:
      A sparse tensor with the elements of both.
    """
    return _extreme(sp_a, sp_b, "Maximum", name)


@export("sparse.minimum", v1="sparse_minimum")
def sparse_minimum(sp_a: TensorLike, sp_b: TensorLike, name: str | None = None) -> SparseTensor:
    """Returns the element-wise minimum of two sparse tensors; missing elements are 0.

    Args:
      sp_a: A sparse tensor.
      sp_b: A sparse tensor of the same shape.
      name: A name for the operation (optional).

    Returns:
      A sparse tensor with the elements of both.
    """
    return _extreme(sp_a, sp_b, "Minimum", name)


@export("sparse.fill_empty_rows", v1="sparse_fill_empty_rows")
def sparse_fill_empty_rows(
    sp_input: TensorLike, default_value: TensorLike, name: str | None = None
) -> Any:
    """Adds a default value in the first column of each empty row of a sparse tensor.

    Args:
      sp_input: A sparse tensor.
      default_value: The value, a scalar.
      name: A name for the operation (optional).

    Returns:
      (sparse tensor, vector), whose elements are true for rows that were empty.

    Raises:
      TypeError: `sp_input` is not sparse.
    """
    sparse = _sparse(sp_input)
    with scope(name, "SparseFillEmptyRows"):
        default = convert_to_tensor(default_value, sparse.values.dtype)
        indices, values, empty, _ = op(
            "SparseFillEmptyRows", sparse.indices, sparse.values, sparse.dense_shape, default
        )
        return SparseTensor(indices, values, sparse.dense_shape), empty


@export("raw_ops.SparseFillEmptyRowsGrad")
def sparse_fill_empty_rows_grad(
    reverse_index_map: TensorLike, grad_values: TensorLike, name: str | None = None
) -> list:
    """Computes the gradient of SparseFillEmptyRows.

    Args:
      reverse_index_map: By value of the sparse tensor, its index in the filled one: an int64
        vector.
      grad_values: The gradients of the values of the filled tensor, a vector.
      name: A name for the operation (optional).

    Returns:
      [gradients of the values, gradient of the default value, a scalar].

    Raises:
      ValueError: An argument is no vector (InvalidArgumentError in eager mode).
      InvalidArgumentError: An index is out of range.
    """
    with scope(name, "SparseFillEmptyRowsGrad"):
        places = convert_to_tensor(reverse_index_map, "int64")
        grads = convert_to_tensor(grad_values)
        for text, tensor in (("reverse_index_map", places), ("grad_values", grads)):
            _check_vector(tensor, text, "SparseFillEmptyRowsGrad")
        zeros = op("ZerosLike", grads)
        size = op("Size", grads, out_type="int64")
        fits = op("LogicalAnd", op("GreaterEqual", places, op("ZerosLike", places)), places < size)
        text = f"Elements in reverse index must be in [0, {tensor_shape.as_shape(grads.shape)[0]})"
        places = checked(places, fits, text)
        counts = op("UnsortedSegmentSum", op("OnesLike", places), places, size)
        is_filled = op("Equal", counts, op("ZerosLike", counts))
        rest = op("Sum", op("SelectV2", is_filled, grads, zeros), 0)
        return [op("GatherV2", grads, places, 0), rest]


def _check_vector(tensor, argument, op_name):
    rank = tensor_shape.as_shape(tensor.shape).rank
    if rank in (None, 1):
        return
    if isinstance(tensor, EagerTensor):
        raise InvalidArgumentError(
            None, None, f"{argument} must be a vector, saw: {list(tensor.shape)}"
        )
    raise ValueError(f"Shape must be rank 1 but is rank {rank} for '{op_name}' (op: '{op_name}')")


@export(v2="sparse.split")
def sparse_split(
    sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None
) -> list[SparseTensor]:
    """Splits a sparse tensor along a dimension; the first parts are larger if the size is no
    multiple of `num_split`.

    Args:
      sp_input: A sparse tensor.
      num_split: The number of parts.
      axis: The dimension.
      name: A name for the operation (optional).

    Returns:
      A list of sparse tensors.

    Raises:
      ValueError: An argument is missing.
    """
    for argument, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None:
            raise ValueError(f"{argument} is required")
    sp_input = _sparse(sp_input)
    parts = (sp_input.indices, sp_input.values, sp_input.dense_shape)
    at = cast(convert_to_tensor(axis), "int64")
    flat = op("SparseSplit", at, *parts, num_split=num_split, name=name)
    return [SparseTensor(*flat[i::num_split]) for i in range(num_split)]


_REQUIRED = object()  # stands for arguments by position


@export(v1=("sparse.split", "sparse_split"))
def sparse_split_v1(
    keyword_required: Any = _REQUIRED,
    sp_input: Any = None,
    num_split: Any = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Splits a sparse tensor along a dimension; see `tf.sparse.split`.

    Args:
      keyword_required: Must not be given: arguments have names.
      sp_input: A sparse tensor.
      num_split: The number of parts.
      axis: The dimension.
      name: A name for the operation (optional).
      split_dim: The older name of `axis`.

    Returns:
      A list of sparse tensors.

    Raises:
      ValueError: An argument is missing, has no name or is given twice.
    """
    if keyword_required is not _REQUIRED:
        raise ValueError("Keyword arguments are required for this function.")
    if axis is not None and split_dim is not None:
        raise ValueError("Cannot specify both 'split_dim' and 'axis'.")
    return sparse_split(sp_input, num_split, split_dim if axis is None else axis, name)


def _columns(inputs):
    """Returns the lists of inputs of the ops that cross columns: indices, values, shapes, dense
    tensors; numbers become int64."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(one, (SparseTensor, TensorClass)) for one in inputs):
        raise TypeError("All inputs must be Tensor or SparseTensor.")

    def converted(tensor):
        return tensor if tensor.dtype.name == "string" else cast(tensor, "int64")

    sparse = [one for one in inputs if isinstance(one, SparseTensor)]
    return (
        [one.indices for one in sparse],
        [converted(one.values) for one in sparse],
        [one.dense_shape for one in sparse],
        [converted(one) for one in inputs if not isinstance(one, SparseTensor)],
    )


@export("sparse.cross")
def sparse_cross(inputs: Any, name: str | None = None, separator: Any = None) -> SparseTensor:
    """Combines the features of each row of several columns.

    Args:
      inputs: A list of matrices, sparse or dense, of strings or integers.
      name: A name for the operation (optional).
      separator: The string between the features; "_X_" by default.

    Returns:
      A sparse matrix of strings.

    Raises:
      TypeError: An input is no tensor.
    """
    separator = convert_to_tensor("_X_" if separator is None else separator, "string")
    return SparseTensor(*op("SparseCrossV2", *_columns(inputs), separator, name=name))


_HASH_KEY = 0xDECAFCAFFE


@export("sparse.cross_hashed")
def sparse_cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Combines the features of each row of several columns, as hashes.

    Args:
      inputs: A list of matrices, sparse or dense, of strings or integers.
      num_buckets: The number of different hashes; 0 for all.
      hash_key: The initial value of the hashes.
      name: A name for the operation (optional).

    Returns:
      A sparse matrix of int64.

    Raises:
      TypeError: An input is no tensor.
    """
    columns = _columns(inputs)
    has_numbers = any(one.dtype.name == "int64" for one in [*columns[1], *columns[3]])
    return SparseTensor(
        *op(
            "SparseCross",
            *columns,
            hashed_output=True,
            num_buckets=num_buckets,
            hash_key=hash_key or _HASH_KEY,
            out_type="int64",
            internal_type="int64" if has_numbers else "string",
            name=name,
        )
    )


@export("sparse.mask", v1="sparse_mask")
def sparse_mask(a: Any, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Removes slices of an IndexedSlices.

    Args:
      a: An IndexedSlices.
      mask_indices: The indices of the slices to remove.
      name: A name for the operation (optional).

    Returns:
      An IndexedSlices of the others.
    """
    with scope(name, "sparse_mask"):
        indices, places = op("ListDiff", a.indices, mask_indices)
        values = op("GatherV2", a.values, places, 0)
        return IndexedSlices(values, indices, a.dense_shape)
