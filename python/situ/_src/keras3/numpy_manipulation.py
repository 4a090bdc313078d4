# SPDX-License-Identifier: Apache-2.0
"""numpy_manipulation.py: shape manipulation, joining and splitting functions of keras.ops.numpy."""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from situ._src.keras3 import operands
from situ._src.keras3.exports import tf
from situ._src.keras3.operands import promoted, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")


@_op
def reshape(x: Any, newshape: Any):
    """Returns a tensor with another shape.

    Args:
      x: Tensor.
      newshape: List of sizes, or one integer for a vector; one size may be -1 or None: it is
        computed from the others.
    """
    newshape = [newshape] if isinstance(newshape, int) else operands.shape_list(newshape)
    if isinstance(newshape, list) and builtins.any(n is None for n in newshape):
        newshape = [-1 if n is None else n for n in newshape]
    return tf.reshape(tensor(x), newshape)


@_op
def ravel(x: Any):
    """Returns the elements as a vector.

    Args:
      x: Tensor of any shape, read row by row.
    """
    return tf.reshape(tensor(x), [-1])


@_op
def expand_dims(x: Any, axis: Any):
    """Inserts axes of size 1.

    Args:
      x: Tensor.
      axis: Position, or positions, in the result.
    """
    x = tensor(x)
    some = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    ndim = operands.rank(x) + len(some)
    for one in sorted(operands.axes(some, ndim)):
        x = tf.expand_dims(x, one)
    return x


@_op
def squeeze(x: Any, axis: Any = None):
    """Removes axes of size 1.

    Args:
      x: Tensor.
      axis: Axis, or axes; default: all of size 1.

    Raises:
      ValueError: If an axis has another size.
    """
    x = tensor(x)
    static = x.shape.as_list()
    if axis is None:
        return tf.squeeze(x, [i for i, n in enumerate(static) if n == 1])
    some = operands.axes(axis, len(static))
    if builtins.any(static[i] not in (1, None) for i in some):
        raise ValueError(
            f"Cannot squeeze axis={axis}, because the dimension is not 1. "
            f"Received shape: {tuple(static)}"
        )
    return tf.squeeze(x, some)


@_op
def transpose(x: Any, axes: Any = None):
    """Permutes axes.

    Args:
      x: Tensor.
      axes: For each axis of the result, the axis of x; default: all in reverse order.
    """
    return tf.transpose(tensor(x), axes)


@_op
def swapaxes(x: Any, axis1: int, axis2: int):
    """Swaps two axes.

    Args:
      x: Tensor.
      axis1: First axis; negative numbers count from the end.
      axis2: Second axis, likewise.
    """
    x = tensor(x)
    order = list(range(operands.rank(x)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order)


@_op
def moveaxis(x: Any, source: Any, destination: Any):
    """Moves axes to other positions.

    Args:
      x: Tensor.
      source: Position, or positions.
      destination: New position, or positions.
    """
    x = tensor(x)
    ndim = operands.rank(x)
    old, new = operands.axes(source, ndim), operands.axes(destination, ndim)
    order = [i for i in range(ndim) if i not in old]
    for to, what in sorted(zip(new, old)):
        order.insert(to, what)
    return tf.transpose(x, order)


@_op
def broadcast_to(x: Any, shape: Any):
    """Repeats a tensor along axes of size 1 to a shape.

    Args:
      x: Tensor.
      shape: List of sizes; axes that x lacks are added in front.
    """
    return tf.broadcast_to(tensor(x), operands.shape_list(shape))


@_op
def flip(x: Any, axis: Any = None):
    """Reverses the order along axes.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reverse; default: all.

    Raises:
      ValueError: If an axis is out of range.
    """
    x = tensor(x)
    return tf.reverse(x, operands.axes(axis, operands.rank(x)))


@_op
def fliplr(x: Any):
    """Reverses the order along the second axis.

    Args:
      x: Tensor of rank 2 or more.

    Raises:
      ValueError: If x has fewer than 2 axes.
    """
    return flip(x, 1)


@_op
def flipud(x: Any):
    """Reverses the order along the first axis.

    Args:
      x: Tensor of rank 1 or more.

    Raises:
      ValueError: If x is a scalar.
    """
    return flip(x, 0)


@_op
def rot90(array: Any, k: int = 1, axes: Any = (0, 1)):
    """Rotates by 90 degrees in the plane of two axes.

    Args:
      array: Tensor.
      k: How often.
      axes: The two axes.

    Raises:
      ValueError: If axes are not two different ones.
    """
    x = tensor(array)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    first, second = operands.axes(axes, operands.rank(x))
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(x, (first, second))
    if k % 4 == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


@_op
def roll(x: Any, shift: Any, axis: Any = None):
    """Rolls elements along axes; those that leave at one end enter at the other.

    Args:
      x: Tensor.
      shift: Number of positions, towards higher indices if positive; one per axis of a list.
      axis: Axis, or a list of axes; default: the flattened tensor, whose shape is restored.
    """
    x = tensor(x)
    if axis is None:
        return tf.reshape(tf.roll(tf.reshape(x, [-1]), shift, 0), tf.shape(x))
    return tf.roll(x, shift, axis)


@_op
def repeat(x: Any, repeats: Any, axis: Any = None):
    """Repeats elements.

    Args:
      x: Tensor.
      repeats: How often, or one number per element.
      axis: Axis; default: the flattened tensor.
    """
    repeats = tensor(repeats, "int32") if not isinstance(repeats, int) else repeats
    return tf.repeat(tensor(x), repeats, axis)


@_op
def tile(x: Any, repeats: Any):
    """Repeats a tensor along its axes.

    Args:
      x: Tensor.
      repeats: How often, per axis; missing leading ones are 1.
    """
    x = tensor(x)
    repeats = [repeats] if isinstance(repeats, int) else repeats
    if isinstance(repeats, (list, tuple)):
        repeats = [1] * (operands.rank(x) - len(repeats)) + list(repeats)
        if len(repeats) > operands.rank(x):
            x = tf.reshape(x, [*[1] * (len(repeats) - operands.rank(x)), *sizes(x)])
    return tf.tile(x, repeats)


@_op
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None):
    """Pads a tensor.

    Args:
      x: Tensor.
      pad_width: Number, (before, after), or such a pair per axis.
      mode: "constant", "reflect" or "symmetric".
      constant_values: Value of mode "constant"; default: 0.

    Raises:
      ValueError: If constant_values is given with another mode.
    """
    x = tensor(x)
    if mode != "constant" and constant_values is not None:
        raise ValueError(
            "Argument `constant_values` can only be provided when `mode == 'constant'`. "
            f"Received: mode={mode}"
        )
    widths = numpy.broadcast_to(numpy.asarray(pad_width), (operands.rank(x), 2)).tolist()
    if mode == "constant":
        value = tf.cast(0 if constant_values is None else constant_values, x.dtype)
        return tf.pad(x, widths, "CONSTANT", value)
    return tf.pad(x, widths, mode.upper())


@_op
def concatenate(xs: Any, axis: int = 0):
    """Joins tensors along an axis.

    Args:
      xs: List of tensors of equal sizes on the other axes; they are promoted to a common type.
      axis: Axis.
    """
    return tf.concat(promoted(*xs), axis)


@_op
def append(x1: Any, x2: Any, axis: Any = None):
    """Joins two tensors along an axis.

    Args:
      x1: Tensor.
      x2: Tensor to add after x1, of equal sizes on the other axes.
      axis: Axis; default: both are flattened.
    """
    x1, x2 = promoted(x1, x2)
    if axis is None:
        return tf.concat([tf.reshape(x1, [-1]), tf.reshape(x2, [-1])], 0)
    return tf.concat([x1, x2], axis)


@_op
def stack(x: Any, axis: int = 0):
    """Joins tensors along a new axis.

    Args:
      x: List of tensors of one shape; they are promoted to a common type.
      axis: Position of the new axis in the result.
    """
    return tf.stack(promoted(*x), axis)


def _at_least(x, ndim):
    x = tensor(x)
    while operands.rank(x) < ndim:
        x = tf.expand_dims(x, 0 if operands.rank(x) < 2 or ndim < 3 else -1)
    return x


@_op
def hstack(xs: Any):
    """Joins tensors along the second axis; vectors along the first.

    Args:
      xs: List of tensors; scalars become vectors.
    """
    xs = promoted(*[_at_least(x, 1) for x in xs])
    return tf.concat(xs, 0 if operands.rank(xs[0]) == 1 else 1)


@_op
def vstack(xs: Any):
    """Joins tensors along the first axis.

    Args:
      xs: List of tensors; scalars and vectors become matrices of one row.
    """
    return tf.concat(promoted(*[_at_least(x, 2) for x in xs]), 0)


@_op
def dstack(xs: Any):
    """Joins tensors along the third axis.

    Args:
      xs: List of tensors; vectors of n elements become [1, n, 1], matrices [m, n] become [m, n, 1].
    """
    return tf.concat(promoted(*[_at_least(x, 3) for x in xs]), 2)


def _split_points(x, indices_or_sections, axis, uneven):
    """Returns the sizes of the parts."""
    total = x.shape.as_list()[axis]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if not uneven:
            if total is not None and total % count:
                raise ValueError(
                    "x size along the split dimension must be divisible by indices_or_sections. "
                    f"Received: indices_or_sections={count} and size {total}"
                )
            return count
        return [total // count + (i < total % count) for i in range(count)]
    points = [int(i) for i in numpy.asarray(indices_or_sections)]
    points = [builtins.min(i % total if i < 0 else i, total) for i in points]
    return [builtins.max(b - a, 0) for a, b in zip([0, *points], [*points, total])]


@_op
def split(x: Any, indices_or_sections: Any, axis: int = 0):
    """Splits a tensor along an axis.

    Args:
      x: Tensor.
      indices_or_sections: Number of equal parts, or where to split.
      axis: Axis.

    Raises:
      ValueError: If the parts would not be equal.
    """
    x = tensor(x)
    return tf.split(x, _split_points(x, indices_or_sections, axis, False), axis)


@_op
def array_split(x: Any, indices_or_sections: Any, axis: int = 0):
    """Splits a tensor along an axis into parts of nearly equal size.

    Args:
      x: Tensor.
      indices_or_sections: Number of parts, of which the first are larger by 1 if the size is not
        divisible, or where to split.
      axis: Axis.

    Returns:
      List of tensors.
    """
    x = tensor(x)
    return tf.split(x, _split_points(x, indices_or_sections, axis, True), axis)


@_op
def hsplit(x: Any, indices_or_sections: Any):
    """Splits a tensor along its second axis, a vector along its first.

    Args:
      x: Tensor.
      indices_or_sections: Number of equal parts, or where to split.

    Returns:
      List of tensors.

    Raises:
      ValueError: If the parts would not be equal.
    """
    return split(x, indices_or_sections, 0 if operands.rank(x) == 1 else 1)


@_op
def vsplit(x: Any, indices_or_sections: Any):
    """Splits a tensor along its first axis.

    Args:
      x: Tensor.
      indices_or_sections: Number of equal parts, or where to split.

    Returns:
      List of tensors.

    Raises:
      ValueError: If the parts would not be equal.
    """
    return split(x, indices_or_sections, 0)


@_op
def dsplit(x: Any, indices_or_sections: Any):
    """Splits a tensor along its third axis.

    Args:
      x: Tensor of rank 3 or more.
      indices_or_sections: Number of equal parts, or where to split.

    Returns:
      List of tensors.

    Raises:
      ValueError: If the parts would not be equal.
    """
    return split(x, indices_or_sections, 2)


@_op
def copy(x: Any):
    """Returns a copy.

    Args:
      x: Array, number or tensor.
    """
    return tf.identity(tensor(x))


@_op
def ndim(x: Any):
    """Returns the number of axes.

    Args:
      x: Array, number or tensor.
    """
    return operands.rank(x)


@_op
def size(x: Any):
    """Returns the number of elements: an integer, or a tensor if a size is not known.

    Args:
      x: Array, number or tensor of known rank.

    Raises:
      ValueError: If the rank of x is not known.
    """
    total = 1
    for length in sizes(x):
        total = total * length
    return total
