# SPDX-License-Identifier: Apache-2.0
"""argument_order.py: tf.concat, tf.split and tf.reverse of TensorFlow 1, which also accept the
argument
order of TensorFlow 0.x, recognized by the types of the arguments."""

from __future__ import annotations

import numbers

from situ._src.framework.api import OPS, export
from situ._src.ops import array_ops

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Axis, Tensor, TensorLike


@export(v1="concat")
def concat(values: TensorLike, axis: Axis, name: str | None = "concat") -> Tensor:
    """Concatenates tensors along an axis; also accepts `concat(axis, values)`.

    Args:
      values: List of tensors.
      axis: The axis.
      name: A name for the operation (optional).
    """
    if isinstance(values, numbers.Integral) and isinstance(axis, (list, tuple)):
        values, axis = axis, values
    return array_ops.concat(values, axis, name)


@export(v1="split")
def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: Axis = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Splits a tensor along an axis; also accepts `split(axis, num_splits, value)`.

    Args:
      value: The tensor.
      num_or_size_splits: The number of equal parts, or a list with the size of each part.
      axis: The axis.
      num: Number of parts, if it cannot be inferred.
      name: A name for the operation (optional).
    """
    if isinstance(value, numbers.Integral) and isinstance(num_or_size_splits, numbers.Integral):
        value, axis = axis, value
    return array_ops.split(value, num_or_size_splits, axis, num, name)


@export(v1="reverse")
def reverse(tensor: TensorLike, axis: Axis, name: str | None = None) -> Tensor:
    """Reverses a tensor along axes; `axis` may also be a list with a bool for each dimension.

    Args:
      tensor: A tensor.
      axis: The axes.
      name: A name for the operation (optional).
    """
    if isinstance(axis, (list, tuple)) and axis and all(isinstance(a, bool) for a in axis):
        axis = [i for i, reversed_ in enumerate(axis) if reversed_]
    return OPS["ReverseV2"](tensor, axis, name=name)
