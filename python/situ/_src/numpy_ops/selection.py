# SPDX-License-Identifier: Apache-2.0
"""selection.py: functions of tf.experimental.numpy that select elements of tensors."""

from __future__ import annotations

from situ._src.numpy_ops.arrays import asarray, promoted
from situ._src.numpy_ops.exports import numpy_export, tf
from situ._src.numpy_ops.manipulation import atleast_1d, moveaxis

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Sequence, Tensor, TensorLike


@numpy_export("where")
def where(condition: TensorLike, x: TensorLike = None, y: TensorLike = None) -> Any:
    """Selects elements of two tensors.

    Args:
      condition: A boolean tensor.
      x: The elements where it is true.
      y: The elements where it is false.

    Returns:
      A tensor; without `x` and `y`, what `nonzero` returns.

    Raises:
      ValueError: Only one of `x` and `y` is given.
    """
    condition = asarray(condition, "bool")
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("Both x and y must be ndarrays, or both must be None.")
    return tf.where(condition, *promoted(x, y))


@numpy_export("select")
def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """Selects elements of several tensors: each of the first whose condition is true.

    Args:
      condlist: Boolean tensors.
      choicelist: The tensors.
      default: The elements where no condition is true.

    Returns:
      A tensor.

    Raises:
      ValueError: The lists are empty or of different lengths.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if not condlist:
        raise ValueError("condlist must be non-empty")
    result, *choices = promoted(default, *choicelist)
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        result = where(condition, choice, result)
    return result


@numpy_export("nonzero")
def nonzero(a: TensorLike) -> Sequence[Tensor]:
    """Returns the indices of elements that are not 0.

    Args:
      a: A tensor, an array, a number or nested lists of these.

    Returns:
      A list of vectors: the indices in each dimension.

    Raises:
      ValueError: The rank of `a` is unknown.
    """
    a = atleast_1d(a)
    if a.shape.rank is None:
        raise ValueError(
            "The rank of `a` is unknown, so we can't decide how many arrays to return."
        )
    return tf.unstack(tf.where(tf.cast(a, "bool")), a.shape.rank, axis=1)


@numpy_export("compress")
def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> Tensor:
    """Returns slices of a tensor.

    Args:
      condition: A boolean vector: which slices. If it is short, the others are not returned.
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension; by default `a` is flattened.

    Returns:
      A tensor.

    Raises:
      ValueError: `condition` is no vector.
    """
    condition, a = asarray(condition, "bool"), atleast_1d(asarray(a))
    if condition.shape.rank != 1:
        raise ValueError("condition must be a 1-d array.")
    if axis is None:
        a, axis = tf.reshape(a, [-1]), 0
    kept = tf.reshape(tf.where(condition), [-1])
    return tf.gather(a, kept, axis=axis)


@numpy_export("take")
def take(
    a: TensorLike,
    indices: TensorLike,
    axis: int | None = None,
    out: None = None,
    mode: str = "clip",
) -> Tensor:
    """Returns slices of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      indices: Which slices.
      axis: The dimension; by default `a` is flattened.
      out: Must be None.
      mode: What happens to indices that are out of range: "clip" takes the nearest slice, "wrap"
        the index modulo the size.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given, or there is no such mode.
    """
    if out is not None:
        raise ValueError("out argument is not supported in take.")
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"Invalid mode '{mode}' for take")
    if mode == "raise":
        raise ValueError("The 'raise' mode to take is not supported.")
    a, indices = asarray(a), asarray(indices)
    if axis is None:
        a, axis = tf.reshape(a, [-1]), 0
    count = tf.shape(a, out_type=indices.dtype)[axis]
    if mode == "clip":
        indices = tf.clip_by_value(indices, 0, count - 1)
    else:
        indices = tf.math.floormod(indices, count)
    return tf.gather(a, indices, axis=axis)


@numpy_export("take_along_axis")
def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None) -> Tensor:
    """Returns elements of a tensor at indices that differ between rows.

    Args:
      arr: A tensor, an array or nested lists of numbers.
      indices: The indices in one dimension; the others are broadcast.
      axis: The dimension; with None, `arr` is flattened.

    Returns:
      A tensor.
    """
    arr, indices = asarray(arr), asarray(indices)
    if axis is None:
        arr, axis = tf.reshape(arr, [-1]), 0
    arr, indices = moveaxis(arr, axis, -1), moveaxis(indices, axis, -1)
    count, wanted = tf.shape(arr)[-1:], tf.shape(indices)[-1:]
    rows = tf.broadcast_dynamic_shape(tf.shape(arr)[:-1], tf.shape(indices)[:-1])
    total = tf.cast(count[0], indices.dtype)
    indices = tf.where(indices < 0, indices + total, indices)
    flat_arr = tf.reshape(tf.broadcast_to(arr, tf.concat([rows, count], 0)), [-1, count[0]])
    flat_at = tf.broadcast_to(indices, tf.concat([rows, wanted], 0))
    taken = tf.gather(flat_arr, tf.reshape(flat_at, [-1, wanted[0]]), batch_dims=1)
    taken = tf.reshape(taken, tf.concat([rows, wanted], 0))
    return moveaxis(taken, -1, axis)


@numpy_export("ix_")
def ix_(*args: TensorLike) -> list:
    """Returns indices of the points of a grid, which select from several dimensions at once.

    Args:
      *args: Vectors of integers, or of booleans for the indices that are true.

    Returns:
      A list of tensors, each with the indices along a dimension of its own.

    Raises:
      ValueError: An argument is no vector or has another type.
    """
    output = []
    for i, arg in enumerate(args):
        a = asarray(arg)
        if a.shape.rank not in (None, 1):
            raise ValueError(f"Arguments must be 1-d, got arg {i} of rank {a.shape.rank}")
        if not (a.dtype.is_integer or a.dtype.is_bool):
            raise ValueError(f"Only integer and bool dtypes are supported, got {a.dtype}")
        at = tf.reshape(tf.where(a), [-1]) if a.dtype.is_bool else a
        output.append(tf.reshape(at, [-1 if j == i else 1 for j in range(len(args))]))
    return output
