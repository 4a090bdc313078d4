# SPDX-License-Identifier: Apache-2.0
"""numpy_creation.py: functions of keras.ops.numpy that create tensors."""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from situ._src.keras3 import operands
from situ._src.keras3.dtypes import result_type, standardize_dtype
from situ._src.keras3.exports import tf
from situ._src.keras3.numpy_manipulation import moveaxis
from situ._src.keras3.operands import dtype_of, promoted, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")


@_op
def array(x: Any, dtype: Any = None):
    """Returns a value as a tensor of a type.

    Args:
      x: Array, number, tensor, or a nested list of them.
      dtype: Type; default: that of x, `keras.config.floatx()` for a Python float.

    Raises:
      ValueError: If dtype is not a known type.
    """
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
    """Returns a tensor of zeros.

    Args:
      shape: List of sizes, or one integer for a vector.
      dtype: Type; default: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.zeros(operands.shape_list(shape), standardize_dtype(dtype))


@_op
def zeros(shape: Any, dtype: Any = None):
    """Returns a tensor of zeros.

    Args:
      shape: List of sizes, or one integer for a vector.
      dtype: Type; default: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.zeros(operands.shape_list(shape), standardize_dtype(dtype))


@_op
def ones(shape: Any, dtype: Any = None):
    """Returns a tensor of ones.

    Args:
      shape: List of sizes, or one integer for a vector.
      dtype: Type; default: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.ones(operands.shape_list(shape), standardize_dtype(dtype))


@_op
def full(shape: Any, fill_value: Any, dtype: Any = None):
    """Returns a tensor filled with a value.

    Args:
      shape: List of sizes.
      fill_value: Number, or a tensor that is broadcast to the shape.
      dtype: Type; default: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.broadcast_to(tensor(fill_value, standardize_dtype(dtype)), operands.shape_list(shape))


def _like(x, dtype):
    x = tensor(x)
    return x if dtype is None else tensor(x, dtype)


@_op
def empty_like(x: Any, dtype: Any = None):
    """Returns zeros of the shape and type of x.

    Args:
      x: Tensor.
      dtype: Type of the result; default: that of x.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.zeros_like(_like(x, dtype))


@_op
def zeros_like(x: Any, dtype: Any = None):
    """Returns zeros of the shape and type of x.

    Args:
      x: Tensor.
      dtype: Type of the result; default: that of x.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.zeros_like(_like(x, dtype))


@_op
def ones_like(x: Any, dtype: Any = None):
    """Returns ones of the shape and type of x.

    Args:
      x: Tensor.
      dtype: Type of the result; default: that of x.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.ones_like(_like(x, dtype))


@_op
def full_like(x: Any, fill_value: Any, dtype: Any = None):
    """Returns a tensor of the shape of x, filled with a value.

    Args:
      x: Tensor.
      fill_value: Number, or a tensor that is broadcast to the shape of x.
      dtype: Type of the result; default: that of x.

    Raises:
      ValueError: If dtype is not a known type.
    """
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
    """Returns the identity matrix of n rows.

    Args:
      n: Number of rows and columns.
      dtype: Type; default: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return eye(n, dtype=dtype)


@_op
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None):
    """Returns a matrix with ones on and below a diagonal, and zeros above it.

    Args:
      N: Number of rows.
      M: Number of columns; default: N.
      k: Index of the diagonal: 0 is the main one, positive ones are above it.
      dtype: Type; default: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
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
    """Returns base to the power of numbers with equal differences.

    Args:
      start: First exponent.
      stop: Last exponent.
      num: How many.
      endpoint: Whether stop is included.
      base: Base of the powers.
      dtype: Type; default: the common floating-point type of start and stop.
      axis: Axis of the result along which they are.

    Raises:
      ValueError: If dtype is not a known type.
    """
    result, kind, _ = _spaced(start, stop, num, endpoint, dtype, axis)
    return tensor(tf.pow(tf.cast(base, result.dtype), result), kind)


@_op
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
):
    """Returns numbers with equal quotients.

    Args:
      start: First number, positive.
      stop: Last number, positive.
      num: How many.
      endpoint: Whether stop is included.
      dtype: Type; default: the common floating-point type of start and stop.
      axis: Axis of the result along which they are.

    Raises:
      ValueError: If dtype is not a known type.
    """
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
