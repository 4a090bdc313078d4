# SPDX-License-Identifier: Apache-2.0
"""arrays.py: conversion of the arguments of tf.experimental.numpy, and computations with shapes
that may be unknown."""

from __future__ import annotations

import _situ
from situ._src.framework.dtypes import as_dtype
from situ._src.numpy_ops.dtypes import default_float, result_type, type_of
from situ._src.numpy_ops.exports import constants, numpy_export, tf

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Callable,
        DTypeLike,
        Sequence,
        Tensor,
        TensorLike,
    )

constants(ndarray=_situ.Tensor)
_MAX_NDMIN = 32


def is_tensor(value: Any) -> bool:
    """Returns whether a value is a tensor."""
    return isinstance(value, _situ.Tensor)


def _has_tensor(value):
    return is_tensor(value) or isinstance(value, (list, tuple)) and any(map(_has_tensor, value))


def _convert(value, dtype):
    """Returns a value that is no tensor as a tensor of a type."""
    if isinstance(value, (list, tuple)) and any(map(_has_tensor, value)):
        return tf.stack([asarray(v, dtype) for v in value])
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return tf.cast(tf.convert_to_tensor(value, "uint64"), dtype)
    if isinstance(value, float):
        return tf.cast(tf.convert_to_tensor(value, default_float()), dtype)
    return tf.cast(tf.convert_to_tensor(value, dtype_hint=dtype), dtype)


@numpy_export("array")
def array(val: TensorLike, dtype: DTypeLike = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """Returns a value as a tensor.

    Args:
      val: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; by default the type that NumPy gives to `val`, so Python
        integers are int64 and other Python numbers are float64.
      copy: Whether a tensor becomes a new one. Tensors are immutable.
      ndmin: The smallest rank of the result, at most 32; dimensions of size 1 are prepended.

    Returns:
      A tensor.

    Raises:
      ValueError: `ndmin` is too large.
    """
    if is_tensor(val):
        result = val if dtype is None else tf.cast(val, result_type(dtype))
        result = tf.identity(result) if copy else result
    else:
        result = _convert(val, type_of(val, dtype))
    if ndmin > _MAX_NDMIN:
        raise ValueError(f"ndmin bigger than allowable number of dimensions: {_MAX_NDMIN}.")
    return with_rank_at_least(result, ndmin) if ndmin else result


@numpy_export("asarray")
def asarray(a: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns a value as a tensor; a tensor of the wanted type is returned as it is.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; see `array`.

    Returns:
      A tensor.
    """
    return array(a, dtype, copy=False)


@numpy_export("asanyarray")
def asanyarray(a: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns a value as a tensor; the same as `asarray`.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; see `array`.

    Returns:
      A tensor.
    """
    return asarray(a, dtype)


@numpy_export("ascontiguousarray")
def ascontiguousarray(a: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns a value as a tensor of at least one dimension.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; see `array`.

    Returns:
      A tensor.
    """
    return array(a, dtype, ndmin=1)


@numpy_export("copy")
def copy(a: TensorLike) -> Tensor:
    """Returns a copy of a value as a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.

    Returns:
      A tensor.
    """
    return array(a, copy=True)


def promoted(*values: TensorLike) -> list:
    """Returns values as tensors of their common type."""
    dtype = result_type(*values)
    return [asarray(v, dtype) for v in values]


def floating(x: TensorLike) -> Tensor:
    """Returns a value as a tensor of a floating-point or complex type."""
    x = asarray(x)
    return x if is_inexact(x) else tf.cast(x, result_type(default_float()))


def is_inexact(x: Tensor) -> bool:
    """Returns whether a tensor has a floating-point or complex type."""
    return x.dtype.is_floating or x.dtype.is_complex


def is_integer(x: Tensor) -> bool:
    """Returns whether a tensor has an integer type; bool is none."""
    return as_dtype(x.dtype).is_integer


# Shapes: Python numbers where they are known, tensors otherwise


def static(value: Any) -> Any:
    """Returns the value of an integer tensor if it is known, else the tensor."""
    known = tf.get_static_value(value)
    return value if known is None else known


def rank(x: Tensor) -> Any:
    """Returns the rank of a tensor: an integer, or a tensor if it is unknown."""
    return tf.rank(x) if x.shape.rank is None else x.shape.rank


def size_of(x: Tensor, axis: Any) -> Any:
    """Returns a dimension of a tensor: an integer, or a tensor if it is unknown."""
    known = None
    if x.shape.rank is not None and not is_tensor(axis):
        known = x.shape.as_list()[axis]
    return tf.shape(x)[axis] if known is None else known


def choose(condition: Any, when_true: Callable, when_false: Callable) -> Any:
    """Calls one of two functions; in a graph, tf.cond of both if the condition is unknown."""
    condition = static(condition)
    if is_tensor(condition):
        return tf.cond(condition, when_true, when_false)
    return when_true() if condition else when_false()


def positive_axis(axis: Any, ndim: Any) -> Any:
    """Returns an axis counted from the front."""
    if is_tensor(axis):
        return tf.where(axis < 0, axis + tf.cast(ndim, axis.dtype), axis)
    return axis + ndim if axis < 0 else axis


def with_rank_at_least(x: Tensor, ndim: Any) -> Tensor:
    """Prepends dimensions of size 1 until a tensor has a rank."""
    have = rank(x)
    if is_tensor(have) or is_tensor(ndim):
        missing = tf.maximum(ndim - have, 0)
        return tf.reshape(x, tf.concat([tf.ones(missing[None], "int32"), tf.shape(x)], 0))
    if have >= ndim:
        return x
    return x[(None,) * (ndim - have)]


def broadcast(*tensors: Tensor) -> Sequence[Tensor]:
    """Broadcasts tensors to their common shape."""
    if len(tensors) < 2:
        return list(tensors)
    shape = tf.shape(tensors[0])
    for other in tensors[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(other))
    return [tf.broadcast_to(t, shape) for t in tensors]
