# SPDX-License-Identifier: Apache-2.0
"""sets_ops.py: tf.sets: operations on the last dimension of tensors as sets."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor

_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "string")


def _converted(value, name, dtype=None):
    """Returns a tensor or sparse tensor with a type that sets may have."""
    if not isinstance(value, SparseTensor):
        if hasattr(value, "dense_shape"):  # a SparseTensorValue
            value = SparseTensor(value.indices, value.values, value.dense_shape)
        else:
            value = convert_to_tensor(value, dtype)
    if value.dtype.base_dtype.name not in _TYPES:
        raise TypeError(
            f"{name} has invalid dtype `{value.dtype}` not in supported dtypes: `{_TYPES}`."
        )
    return value


def _parts(value):
    """Returns the inputs of an op that stand for a tensor or sparse tensor."""
    sparse = isinstance(value, SparseTensor)
    return (value.indices, value.values, value.dense_shape) if sparse else (value,)


def _combine(a, b, operation, validate_indices):
    """Emits a set operation; a sparse first and a dense second operand change places."""
    a = _converted(a, "'a'")
    b = _converted(b, "'b'", None if isinstance(a, SparseTensor) else a.dtype)
    if a.dtype.base_dtype != b.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b = b, a
        operation = {"a-b": "b-a", "b-a": "a-b"}.get(operation, operation)
    first = "Sparse" if isinstance(a, SparseTensor) else "Dense"
    second = "Sparse" if isinstance(b, SparseTensor) else "Dense"
    return SparseTensor(
        *op(
            f"{first}To{second}SetOperation",
            *_parts(a),
            *_parts(b),
            set_operation=operation,
            validate_indices=validate_indices,
        )
    )


@export("sets.union", v1="sets.set_union")
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Computes the union of the sets in the last dimension of two tensors.

    Args:
      a: A Tensor or SparseTensor of integers or strings.
      b: A Tensor or SparseTensor; all dimensions but the last equal those of `a`.
      validate_indices: Whether to check the order and range of sparse indices.

    Returns:
      A SparseTensor with the elements of each set in ascending order.
    """
    return _combine(a, b, "union", validate_indices)


@export("sets.intersection", v1="sets.set_intersection")
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Computes the intersection of the sets in the last dimension of two tensors.

    Args:
      a: A Tensor or SparseTensor of integers or strings.
      b: A Tensor or SparseTensor; all dimensions but the last equal those of `a`.
      validate_indices: Whether to check the order and range of sparse indices.

    Returns:
      A SparseTensor with the elements of each set in ascending order.
    """
    return _combine(a, b, "intersection", validate_indices)


@export("sets.difference", v1="sets.set_difference")
def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Computes the difference of the sets in the last dimension of two tensors.

    Args:
      a: A Tensor or SparseTensor of integers or strings.
      b: A Tensor or SparseTensor; all dimensions but the last equal those of `a`.
      aminusb: Whether to subtract `b` from `a`, or `a` from `b`.
      validate_indices: Whether to check the order and range of sparse indices.

    Returns:
      A SparseTensor with the elements of each set in ascending order.
    """
    return _combine(a, b, "a-b" if aminusb else "b-a", validate_indices)


@export("sets.size", v1="sets.set_size")
def set_size(a: Any, validate_indices: bool | None = True) -> Tensor:
    """Counts the distinct elements of each set in the last dimension of a SparseTensor.

    Args:
      a: A SparseTensor of integers or strings.
      validate_indices: Whether to check the order and range of the indices.

    Returns:
      An int32 tensor of the shape of `a` without its last dimension.
    """
    a = _converted(a, "'a'")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    return op("SetSize", *_parts(a), validate_indices=validate_indices)
