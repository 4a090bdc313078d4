# SPDX-License-Identifier: Apache-2.0
"""shape_ops.py: tf.compat.v1.shape, tf.size and tf.rank of dense and sparse tensors."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import constant, convert_to_tensor, is_sparse, op, shape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, Tensor, TensorLike


@export(v1="shape")
def shape_v1(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Tensor:
    """Returns the shape of a tensor as a 1-D integer tensor; see `tf.shape`.

    Args:
      input: A tensor.
      name: A name for the operation (optional).
      out_type: The type of the result, int32 or int64.
    """
    return shape(input, out_type, name)


@export("size")
def size(input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None) -> Tensor:
    """Returns the number of elements of a tensor.

    Args:
      input: A tensor. Of a sparse tensor, the elements of the dense one count.
      out_type: The element type of the result, int32 or int64.
      name: A name for the operation (optional).

    Returns:
      A scalar of `out_type`.
    """
    if is_sparse(input):
        sizes = op("Cast", input.dense_shape, DstT=as_dtype(out_type))
        return op("Prod", sizes, constant([0], "int32"), name=name)
    return op("Size", input, out_type=as_dtype(out_type), name=name)


@export(v1="size")
def size_v1(input: TensorLike, name: str | None = None, out_type: DTypeLike = "int32") -> Tensor:
    """Returns the number of elements of a tensor; see `tf.size`.

    Args:
      input: A tensor.
      name: A name for the operation (optional).
      out_type: The type of the result, int32 or int64.
    """
    return size(input, out_type, name)


@export("rank")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the number of dimensions of a tensor.

    Args:
      input: A tensor, which may be sparse.
      name: A name for the operation (optional).

    Returns:
      An int32 scalar.
    """
    if is_sparse(input):
        return op("Size", input.dense_shape, name=name)
    return op("Rank", input, name=name)


@export("shape_n", v1="shape_n")
def shape_n(
    input: TensorLike, out_type: DTypeLike = "int32", name: str | None = None
) -> list[Tensor]:
    """Returns the shapes of several tensors.

    Args:
      input: List of tensors.
      out_type: The type of the result, int32 or int64.
      name: A name for the operation (optional).
    """
    with scope(name, "ShapeN"):
        return [op("Shape", convert_to_tensor(x), out_type=out_type) for x in input]
