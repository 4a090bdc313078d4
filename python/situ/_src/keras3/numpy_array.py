# SPDX-License-Identifier: Apache-2.0
"""numpy_array.py: creation, shape manipulation and indexing functions of keras.ops.numpy."""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from situ._src.framework.keywords import unsupported
from situ._src.keras3 import operands
from situ._src.keras3.dtypes import result_type, standardize_dtype
from situ._src.keras3.exports import tf
from situ._src.keras3.operands import dtype_of, promoted, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")


def _shape(shape):
    return list(shape) if isinstance(shape, (list, tuple)) else shape


# Creation


@_op
def array(x: Any, dtype: Any = None):
    """Returns a value as a tensor of a type."""
    return tensor(x, dtype)


@_op
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None):
    """Returns evenly spaced numbers in [start, stop).

    Args:
      start: First number, or the end if stop is None.
      stop: End, exclusive.
      step: Spacing; default: 1.
      dtype: Type; default: that of the arguments, int32 for Python integers.
    """
    if dtype is None:
        given = [dtype_of(v) for v in (start, stop, step) if v is not None]
        dtype = result_type(*given)
    dtype = standardize_dtype(dtype)
    start, stop = (0, start) if stop is None else (start, stop)
    return tf.range(start, stop, 1 if step is None else step, dtype=dtype)


@_op
def empty(shape: Any, dtype: Any = None):
    """Returns a tensor of zeros."""
    return tf.zeros(_shape(shape), standardize_dtype(dtype))


@_op
def zeros(shape: Any, dtype: Any = None):
    """Returns a tensor of zeros."""
    return tf.zeros(_shape(shape), standardize_dtype(dtype))


@_op
def ones(shape: Any, dtype: Any = None):
    """Returns a tensor of ones."""
    return tf.ones(_shape(shape), standardize_dtype(dtype))


@_op
def full(shape: Any, fill_value: Any, dtype: Any = None):
    """Returns a tensor filled with a value."""
    return tf.broadcast_to(tensor(fill_value, standardize_dtype(dtype)), _shape(shape))


def _like(x, dtype):
    x = tensor(x)
    return x if dtype is None else tensor(x, dtype)


@_op
def empty_like(x: Any, dtype: Any = None):
    """Returns zeros of the shape and type of x."""
    return tf.zeros_like(_like(x, dtype))


@_op
def zeros_like(x: Any, dtype: Any = None):
    """Returns zeros of the shape and type of x."""
    return tf.zeros_like(_like(x, dtype))


@_op
def ones_like(x: Any, dtype: Any = None):
    """Returns ones of the shape and type of x."""
    return tf.ones_like(_like(x, dtype))


@_op
def full_like(x: Any, fill_value: Any, dtype: Any = None):
    """Returns a tensor of the shape of x, filled with a value."""
    x = _like(x, dtype)
    return tf.zeros_like(x) + tensor(fill_value, x.dtype)


@_op
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None):
    """Returns a matrix with ones on a diagonal.

    Args:
      N: Number of rows.
      M: Number of columns; default: N.
      k: Index of the diagonal.
      dtype: Type; default: `keras.config.floatx()`.
    """
    return tensor(
        numpy.eye(int(N), None if M is None else int(M), int(k)), standardize_dtype(dtype)
    )


@_op
def identity(n: int, dtype: Any = None):
    """Returns the identity matrix of n rows."""
    return eye(n, dtype=dtype)


@_op
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None):
    """Returns a matrix with ones on and below a diagonal; see eye."""
    return tensor(
        numpy.tri(int(N), None if M is None else int(M), int(k)), standardize_dtype(dtype)
    )


def _spaced(start, stop, num, endpoint, dtype, axis):
    start, stop = operands.promoted_floating(start, stop)
    kind = start.dtype.name if dtype is None else standardize_dtype(dtype)
    count = num - 1 if endpoint else num
    steps = tf.cast(tf.range(num), start.dtype) / tf.cast(builtins.max(count, 1), start.dtype)
    ndim = builtins.max(operands.rank(start), operands.rank(stop))
    steps = tf.reshape(steps, [num, *[1] * ndim])
    result = start + steps * (stop - start)
    if endpoint and num > 1:
        last = tf.zeros_like(result[-1:]) + stop
        result = tf.concat([result[:-1], last], 0)
    result = moveaxis(result, 0, axis) if axis else result
    return result, kind, (stop - start) / tf.cast(builtins.max(count, 1), start.dtype)


@_op
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
):
    """Returns numbers with equal differences.

    Args:
      start: First number.
      stop: Last number.
      num: How many.
      endpoint: Whether stop is included.
      retstep: Whether to return (numbers, difference).
      dtype: Type; default: floating-point.
      axis: Axis of the result along which they are.
    """
    result, kind, step = _spaced(start, stop, num, endpoint, dtype, axis)
    result = tensor(result, kind)
    return (result, step) if retstep else result


@_op
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10,
    dtype: Any = None,
    axis: int = 0,
):
    """Returns base to the power of numbers with equal differences; see linspace."""
    result, kind, _ = _spaced(start, stop, num, endpoint, dtype, axis)
    return tensor(tf.pow(tf.cast(base, result.dtype), result), kind)


@_op
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
):
    """Returns numbers with equal quotients; see linspace."""
    start, stop = operands.promoted_floating(start, stop)
    logs = tf.math.log(start), tf.math.log(stop)
    result, kind, _ = _spaced(*logs, num, endpoint, dtype, axis)
    return tensor(tf.exp(result), kind)


@_op
def meshgrid(*x: Any, indexing: str = "xy"):
    """Returns the coordinate matrices of vectors.

    Args:
      *x: Vectors.
      indexing: "xy" (Cartesian) or "ij" (matrix).
    """
    return tf.meshgrid(*[tensor(v) for v in x], indexing=indexing)


@_op
def vander(x: Any, N: int | None = None, increasing: bool = False):
    """Returns the Vandermonde matrix of a vector.

    Args:
      x: Vector.
      N: Number of columns; default: the length of x.
      increasing: Whether powers increase from left to right.
    """
    x = tensor(x)
    count = sizes(x)[0] if N is None else N
    powers = tf.range(count) if increasing else tf.range(count - 1, -1, -1)
    base, powers = promoted(x[:, None], powers[None, :])
    return tf.pow(base, powers)


# Shapes


@_op
def reshape(x: Any, newshape: Any):
    """Returns a tensor with another shape.

    Args:
      x: Tensor.
      newshape: List of sizes, or one integer for a vector; one size may be -1 or None: it is
        computed from the others.
    """
    newshape = [newshape] if isinstance(newshape, int) else _shape(newshape)
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
    return tf.broadcast_to(tensor(x), _shape(shape))


@_op
def flip(x: Any, axis: Any = None):
    """Reverses the order along axes; default: all."""
    x = tensor(x)
    return tf.reverse(x, operands.axes(axis, operands.rank(x)))


@_op
def fliplr(x: Any):
    """Reverses the order along the second axis."""
    return flip(x, 1)


@_op
def flipud(x: Any):
    """Reverses the order along the first axis."""
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
    """Splits a tensor along an axis into parts of nearly equal size; see split."""
    x = tensor(x)
    return tf.split(x, _split_points(x, indices_or_sections, axis, True), axis)


@_op
def hsplit(x: Any, indices_or_sections: Any):
    """Splits a tensor along its second axis, a vector along its first."""
    return split(x, indices_or_sections, 0 if operands.rank(x) == 1 else 1)


@_op
def vsplit(x: Any, indices_or_sections: Any):
    """Splits a tensor along its first axis."""
    return split(x, indices_or_sections, 0)


@_op
def dsplit(x: Any, indices_or_sections: Any):
    """Splits a tensor along its third axis."""
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
    """Returns the number of elements."""
    total = 1
    for length in sizes(x):
        total = total * length
    return total


# Diagonals


@_op
def diag(x: Any, k: int = 0):
    """Returns a matrix with a diagonal, or the diagonal of a matrix."""
    x = tensor(x)
    return _diagonal_matrix(x, k) if operands.rank(x) == 1 else diagonal(x, k)


def _diagonal_matrix(x, k):
    """Returns a matrix with a vector on diagonal k."""
    more = builtins.abs(k)
    matrix = tf.pad(tf.linalg.diag(x), [[0, more], [0, more]])
    return tf.roll(matrix, more, axis=1 if k > 0 else 0)


@_op
def diagflat(x: Any, k: int = 0):
    """Returns a matrix with the flattened elements on a diagonal.

    Args:
      x: Tensor of any shape.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
    """
    return _diagonal_matrix(tf.reshape(tensor(x), [-1]), k)


@_op
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """Returns a diagonal of two axes, as the last axis."""
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    part = x[..., -offset:, :] if offset < 0 else x[..., :, offset:]
    length = builtins.min(*sizes(part)[-2:])
    return tf.linalg.diag_part(part[..., :length, :length])


@_op
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """Returns the sum of a diagonal."""
    x = tensor(x)
    x = tf.cast(x, "int32") if x.dtype.name in ("bool", "int8", "int16") else x
    return tf.reduce_sum(diagonal(x, offset, axis1, axis2), -1)


def _triangle(x, keep):
    x = tensor(x)
    rows, columns = sizes(x)[-2:]
    row, column = tf.range(rows)[:, None], tf.range(columns)[None, :]
    return tf.where(keep(row, column), x, tf.zeros_like(x))


@_op
def tril(x: Any, k: int = 0):
    """Returns the lower triangle; elements above diagonal k are 0.

    Args:
      x: Tensor with matrices in its last two axes.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
    """
    return _triangle(x, lambda row, column: column - row <= k)


@_op
def triu(x: Any, k: int = 0):
    """Returns the upper triangle; elements below diagonal k are 0.

    Args:
      x: Tensor with matrices in its last two axes.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
    """
    return _triangle(x, lambda row, column: column - row >= k)


# Indexing


@_op
def get_item(x: Any, key: Any):
    """Returns x[key].

    Args:
      x: Tensor.
      key: Integer, slice, `...` or None, or a tuple or list of them, one per axis.
    """
    return tensor(x)[key if not isinstance(key, list) else tuple(key)]


@_op
def take(x: Any, indices: Any, axis: Any = None):
    """Returns elements by index.

    Args:
      x: Tensor.
      indices: Integer tensor; negative ones count from the end.
      axis: Axis; default: the flattened tensor.
    """
    x, indices = tensor(x), tensor(indices)
    indices = indices if indices.dtype.name in ("int32", "int64") else tf.cast(indices, "int32")
    x, axis = (tf.reshape(x, [-1]), 0) if axis is None else (x, axis)
    length = tf.cast(sizes(x)[axis], indices.dtype)
    return tf.gather(x, tf.where(indices < 0, indices + length, indices), axis=axis)


@_op
def take_along_axis(x: Any, indices: Any, axis: Any = None):
    """Returns elements by one index per position along an axis.

    Args:
      x: Tensor.
      indices: Integer tensor of the rank of x.
      axis: Axis; default: both flattened.
    """
    x, indices = tensor(x), tensor(indices)
    if axis is None:
        return (
            tf.reshape(take(x, indices), [-1])
            if operands.rank(indices) == 1
            else take(x, tf.reshape(indices, [-1]))
        )
    ndim_x = operands.rank(x)
    last = axis % ndim_x
    x, indices = moveaxis(x, last, -1), moveaxis(indices, last, -1)
    lengths = sizes(x)
    indices = tf.where(indices < 0, indices + tf.cast(lengths[-1], indices.dtype), indices)
    lead = tf.broadcast_dynamic_shape(tf.shape(x)[:-1], tf.shape(indices)[:-1])
    x = tf.broadcast_to(x, tf.concat([lead, tf.shape(x)[-1:]], 0))
    indices = tf.broadcast_to(indices, tf.concat([lead, tf.shape(indices)[-1:]], 0))
    return moveaxis(tf.gather(x, indices, batch_dims=ndim_x - 1), -1, last)


@_op
def view(x: Any, dtype: Any = None):
    """Returns a tensor as another type of the same bits; only its own type is supported."""
    x = tensor(x)
    unsupported("ops.view", dtype=(standardize_dtype(dtype or x.dtype), x.dtype.name))
    return x


@_op
def vectorize(pyfunc: Any, *, excluded: Any = None, signature: Any = None):
    """Returns a function of arrays that calls a function of elements.

    Args:
      pyfunc: Function of elements.
      excluded: Only None is supported.
      signature: Only None is supported.
    """
    unsupported("ops.vectorize", excluded=(excluded, None), signature=(signature, None))

    def vectorized(*args):
        args = [tensor(a) for a in args]
        shape = tf.shape(builtins.sum(args[1:], args[0]))
        flat = [tf.reshape(tf.broadcast_to(a, shape), [-1]) for a in args]
        rows = [pyfunc(*row) for row in zip(*[tf.unstack(f) for f in flat])]
        return tf.reshape(tf.stack(rows), shape)

    return vectorized
