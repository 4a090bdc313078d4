# SPDX-License-Identifier: Apache-2.0
"""numpy_sorting.py: sorting, searching, sets and products of keras.ops.numpy."""

from __future__ import annotations

import builtins
from typing import Any

from situ._src.framework.keywords import unsupported
from situ._src.keras3 import operands
from situ._src.keras3.exports import tf
from situ._src.keras3.numpy_manipulation import moveaxis, reshape
from situ._src.keras3.operands import promoted, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")


@_op
def sort(x: Any, axis: Any = -1):
    """Returns the elements in ascending order along an axis.

    Args:
      x: Tensor; False is below True.
      axis: Axis; None: the flattened tensor.
    """
    x = tensor(x)
    x, axis = (tf.reshape(x, [-1]), -1) if axis is None else (x, axis)
    if x.dtype.name == "bool":
        return tf.cast(tf.sort(tf.cast(x, "int32"), axis=axis), "bool")
    return tf.sort(x, axis=axis)


@_op
def argsort(x: Any, axis: Any = -1):
    """Returns the indices that sort a tensor along an axis; equal elements keep their order.

    Args:
      x: Tensor; False is below True.
      axis: Axis; None: the flattened tensor.
    """
    x = tensor(x)
    x = tf.cast(x, "int32") if x.dtype.name == "bool" else x
    x, axis = (tf.reshape(x, [-1]), -1) if axis is None else (x, axis)
    return tf.argsort(x, axis=axis, stable=True)


@_op
def argpartition(x: Any, kth: int, axis: int = -1):
    """Returns indices with those of the kth smallest elements first; here fully sorted.

    Args:
      x: Tensor.
      kth: Position that separates smaller from larger elements; has no effect on the result.
      axis: Axis; None: the flattened tensor.
    """
    del kth  # a sorted order is partitioned at any position
    return argsort(x, axis)


@_op
def nonzero(x: Any):
    """Returns the coordinates of elements that are not 0, one tensor per axis.

    Args:
      x: Tensor of rank 1 or more.

    Returns:
      Tuple of int32 vectors of one length.
    """
    x = tensor(x)
    found = tf.where(tf.not_equal(x, tf.zeros_like(x)) if x.dtype.name != "bool" else x)
    return builtins.tuple(
        tf.cast(one, "int32") for one in tf.unstack(found, operands.rank(x), axis=1)
    )


@_op
def searchsorted(sorted_sequence: Any, values: Any, side: str = "left"):
    """Returns where values would be inserted in a sorted vector.

    Args:
      sorted_sequence: Vector.
      values: Tensor.
      side: "left" or "right" of equal elements.

    Raises:
      ValueError: If sorted_sequence is not a vector.
    """
    if operands.rank(sorted_sequence) != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use "
            "`keras.ops.vectorized_map` to extend it to N-D sequences. "
            "Received: sorted_sequence.shape="
            f"{sizes(sorted_sequence)}"
        )
    sequence, values = promoted(sorted_sequence, values)
    flat = tf.searchsorted(sequence, tf.reshape(values, [-1]), side=side)
    return tf.reshape(flat, tf.shape(values))


@_op
def digitize(x: Any, bins: Any):
    """Returns the indices of the bins that elements belong to.

    Args:
      x: Tensor.
      bins: Ascending edges.
    """
    bins, x = promoted(bins, x)
    return tf.reshape(tf.searchsorted(bins, tf.reshape(x, [-1]), side="right"), tf.shape(x))


@_op
def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False):
    """Returns whether elements of x1 are in x2.

    Args:
      x1: Tensor.
      x2: Tensor.
      assume_unique: Has no effect on the result.
      invert: Whether to return the opposite.
    """
    del assume_unique  # a hint for speed
    x1, x2 = promoted(x1, x2)
    result = tf.reduce_any(tf.equal(tf.expand_dims(x1, -1), tf.reshape(x2, [-1])), -1)
    return tf.logical_not(result) if invert else result


@_op
def unique(
    x: Any,
    sorted: bool = True,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    size: int | None = None,
    fill_value: Any = None,
):
    """Returns the different elements of a tensor.

    Args:
      x: Tensor.
      sorted: Only True is supported.
      return_index: Whether to return the indices of first occurrences.
      return_inverse: Whether to return the index in the result of each element.
      return_counts: Whether to return how often elements occur.
      axis: Only None is supported: the flattened tensor.
      size: Length of the result, cut or filled.
      fill_value: Value to fill with; default: the smallest element.
    """
    unsupported("ops.unique", sorted=(sorted, True), axis=(axis, None))
    x = tensor(x)
    flat = tf.reshape(x, [-1])
    order = tf.argsort(flat, stable=True)
    ordered = tf.gather(flat, order)
    values, place, counts = tf.unique_with_counts(ordered)
    starts = tf.cumsum(counts, exclusive=True)
    index = tf.gather(order, starts)
    inverse = tf.scatter_nd(order[:, None], place, tf.shape(order))
    results = [values, index, counts]
    if size is not None:
        fills = [values[0] if fill_value is None else tf.cast(fill_value, values.dtype), 0, 0]
        results = [_sized(r, size, f) for r, f in zip(results, fills)]
    chosen = [results[0]]
    chosen += [results[1]] if return_index else []
    chosen += [tf.reshape(inverse, tf.shape(x))] if return_inverse else []
    chosen += [results[2]] if return_counts else []
    return chosen[0] if len(chosen) == 1 else builtins.tuple(chosen)


def _sized(x, size, fill):
    x = x[:size]
    more = tf.fill([size - tf.shape(x)[0]], tf.cast(fill, x.dtype))
    return tf.reshape(tf.concat([x, more], 0), [size])


# Products


def _numbers(*values):
    values = promoted(*values)
    if values[0].dtype.name in ("bool", "int8", "int16", "uint8"):
        return [tf.cast(v, "int32") for v in values], values[0].dtype.name
    return values, None


def _back(result, name):
    return result if name is None else tf.cast(result, name)


@_op
def matmul(x1: Any, x2: Any):
    """Matrix product; vectors are rows on the left and columns on the right.

    Args:
      x1: Tensor of rank 1 or more; axes before the last two are a batch, which is broadcast.
      x2: Tensor of rank 1 or more, likewise; its rows match the columns of x1.
    """
    (x1, x2), name = _numbers(x1, x2)
    left, right = operands.rank(x1) == 1, operands.rank(x2) == 1
    x1 = x1[None, :] if left else x1
    x2 = x2[:, None] if right else x2
    result = tf.matmul(x1, x2)
    result = tf.squeeze(result, [-2]) if left else result
    return _back(tf.squeeze(result, [-1]) if right else result, name)


@_op
def dot(x1: Any, x2: Any):
    """Product over the last axis of x1 and the second to last of x2.

    Args:
      x1: Tensor; a scalar is multiplied with each element of x2.
      x2: Tensor; of a vector the only axis is summed over, a scalar is multiplied with x1.
    """
    (x1, x2), name = _numbers(x1, x2)
    if operands.rank(x1) == 0 or operands.rank(x2) == 0:
        return _back(x1 * x2, name)
    axis = -1 if operands.rank(x2) == 1 else -2
    return _back(tf.tensordot(x1, x2, [[-1], [axis]]), name)


@_op
def inner(x1: Any, x2: Any):
    """Product over the last axes.

    Args:
      x1: Tensor; a scalar is multiplied with each element of x2.
      x2: Tensor with a last axis of the size of that of x1, or a scalar.
    """
    x1, x2 = promoted(x1, x2)
    if operands.rank(x1) == 0 or operands.rank(x2) == 0:
        return x1 * x2
    return tf.tensordot(x1, x2, [[-1], [-1]])


@_op
def vdot(x1: Any, x2: Any):
    """Sum of the products of the flattened elements.

    Args:
      x1: Tensor.
      x2: Tensor with as many elements as x1.
    """
    x1, x2 = promoted(x1, x2)
    return tf.reduce_sum(tf.reshape(x1, [-1]) * tf.reshape(x2, [-1]))


@_op
def outer(x1: Any, x2: Any):
    """Products of all pairs of elements, as a matrix.

    Args:
      x1: Tensor; each element, in flattened order, gives a row of the result.
      x2: Tensor; each element, in flattened order, gives a column of the result.
    """
    x1, x2 = promoted(x1, x2)
    return tf.reshape(x1, [-1, 1]) * tf.reshape(x2, [1, -1])


@_op
def kron(x1: Any, x2: Any):
    """Kronecker product: a copy of x2 for each element of x1, multiplied by it.

    Args:
      x1: Tensor; if its rank is less than that of x2, leading axes of size 1 are added.
      x2: Tensor, extended likewise to the rank of x1.
    """
    x1, x2 = promoted(x1, x2)
    most = builtins.max(operands.rank(x1), operands.rank(x2))
    x1, x2 = (reshape(v, [*[1] * (most - operands.rank(v)), *sizes(v)]) for v in (x1, x2))
    a, b = sizes(x1), sizes(x2)
    left = tf.reshape(x1, [n for i in a for n in (i, 1)])
    right = tf.reshape(x2, [n for i in b for n in (1, i)])
    return tf.reshape(left * right, [i * j for i, j in zip(a, b)])


@_op
def tensordot(x1: Any, x2: Any, axes: Any = 2):
    """Product over axes.

    Args:
      x1: Tensor.
      x2: Tensor.
      axes: Number of last and first axes, or a pair of lists of axes.
    """
    x1, x2 = promoted(x1, x2)
    return tf.tensordot(x1, x2, axes)


@_op
def einsum(subscripts: str, *operands: Any, **kwargs: Any):
    """Sum of products by Einstein's convention.

    Args:
      subscripts: Such as "ij,jk->ik".
      *operands: Tensors.
      **kwargs: `optimize`, which has no effect on the result.
    """
    unknown = set(kwargs) - {"optimize"}
    if unknown:
        raise TypeError(f"Unexpected arguments of einsum: {sorted(unknown)}")
    return tf.einsum(subscripts, *promoted(*operands))


@_op
def cross(x1: Any, x2: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None):
    """Cross product of vectors of 3 (or 2) elements.

    Args:
      x1: Tensor.
      x2: Tensor.
      axisa: Axis of the vectors of x1.
      axisb: Axis of the vectors of x2.
      axisc: Axis of the vectors of the result.
      axis: The value of all three, if not None.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x1, x2 = promoted(moveaxis(x1, axisa, -1), moveaxis(x2, axisb, -1))
    plane = x1.shape.as_list()[-1] == 2 and x2.shape.as_list()[-1] == 2
    a, b = ([*tf.unstack(v, axis=-1), tf.zeros_like(v[..., 0])][:3] for v in (x1, x2))
    last = a[0] * b[1] - a[1] * b[0]
    if plane:
        return last
    result = tf.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], last], -1)
    return moveaxis(result, -1, axisc)


@_op
def correlate(x1: Any, x2: Any, mode: str = "valid"):
    """Cross-correlation of two vectors.

    Args:
      x1: Vector.
      x2: Vector.
      mode: "valid", "same" or "full".

    Raises:
      ValueError: If the mode is unknown.
    """
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"mode must be one of 'valid', 'same', 'full'. Received: mode={mode}")
    x1, x2 = operands.promoted_floating(x1, x2)
    long, short = sizes(x1)[0], sizes(x2)[0]
    swapped = mode == "valid" and short > long
    x1, x2, long, short = (x2, x1, short, long) if swapped else (x1, x2, long, short)
    padding = {"valid": (0, 0), "full": (short - 1, short - 1)}.get(
        mode, (short // 2, (short - 1) // 2)
    )
    if mode == "same" and short > long:
        full = correlate(x1, x2, "full")
        begin = (long - 1) // 2
        return full[begin : begin + short]
    padded = tf.pad(x1, [padding])
    result = tf.nn.conv1d(padded[None, :, None], x2[:, None, None], 1, "VALID")[0, :, 0]
    return tf.reverse(result, [0]) if swapped else result
