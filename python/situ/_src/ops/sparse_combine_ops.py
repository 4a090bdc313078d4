# SPDX-License-Identifier: Apache-2.0
"""sparse_combine_ops.py: sparse tensors made of several tensors: ids and values, element-wise
maximum and minimum, default values in empty rows."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, op
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
