# SPDX-License-Identifier: Apache-2.0
"""reductions.py: sums, means, extrema and other reductions of tf.experimental.numpy."""

from __future__ import annotations

import builtins

import numpy

from situ._src.numpy_ops.arrays import (
    array,
    asarray,
    floating,
    is_inexact,
    is_integer,
    is_tensor,
    promoted,
)
from situ._src.numpy_ops.dtypes import numpy_type, result_type
from situ._src.numpy_ops.exports import numpy_export, tf

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, Callable, DTypeLike, Tensor, TensorLike


def _refuse_out(out):
    if out is not None:
        raise ValueError("Setting out is not supported.")


def _axis(axis):
    if is_tensor(axis) and axis.dtype.name not in ("int32", "int64"):
        return tf.cast(axis, "int64")
    return axis


def _reduce(function, a, axis, keepdims):
    return function(a, axis=_axis(axis), keepdims=bool(keepdims))


def _wide(a):
    """Returns integers and booleans in the type that sums have: at least 64 bits."""
    if not (is_integer(a) or a.dtype.is_bool):
        return a
    unsigned = a.dtype.name.startswith("uint")
    return tf.cast(a, "uint64" if unsigned else "int64")


def _fold(function, of_bools, a, axis, dtype, keepdims):
    """Reduces with a sum or a product."""
    a = asarray(a, dtype)
    if dtype is not None and a.dtype.is_bool:
        return _reduce(of_bools, a, axis, keepdims)
    return _reduce(function, _wide(a) if dtype is None else a, axis, keepdims)


@numpy_export("sum")
def sum(
    a: TensorLike, axis: Axis = None, dtype: DTypeLike = None, keepdims: bool | None = None
) -> Tensor:
    """Returns sums of elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; by default that of `a`, at least 64 bits for integers.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return _fold(tf.reduce_sum, tf.reduce_any, a, axis, dtype, keepdims)


@numpy_export("prod")
def prod(
    a: TensorLike, axis: Axis = None, dtype: DTypeLike = None, keepdims: bool | None = None
) -> Tensor:
    """Returns products of elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; by default that of `a`, at least 64 bits for integers.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return _fold(tf.reduce_prod, tf.reduce_all, a, axis, dtype, keepdims)


@numpy_export("mean")
def mean(
    a: TensorLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    keepdims: bool | None = None,
) -> Tensor:
    """Returns means of elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; by default that of `a`, a floating-point type for integers.
      out: Must be None.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given.
    """
    _refuse_out(out)
    a = floating(a) if dtype is None else asarray(a, dtype)
    return _reduce(tf.reduce_mean, a, axis, keepdims)


@numpy_export("amax")
def amax(
    a: TensorLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Tensor:
    """Returns the largest elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      out: Must be None.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given.
    """
    _refuse_out(out)
    a = asarray(a)
    return _reduce(tf.reduce_any if a.dtype.is_bool else tf.reduce_max, a, axis, keepdims)


@numpy_export("amin")
def amin(
    a: TensorLike, axis: Axis = None, out: None = None, keepdims: bool | None = None
) -> Tensor:
    """Returns the smallest elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      out: Must be None.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given.
    """
    _refuse_out(out)
    a = asarray(a)
    return _reduce(tf.reduce_all if a.dtype.is_bool else tf.reduce_min, a, axis, keepdims)


@numpy_export("max")
def max(a: TensorLike, axis: Axis = None, keepdims: bool | None = None) -> Tensor:
    """Returns the largest elements; the same as `amax`.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return amax(a, axis, keepdims=keepdims)


@numpy_export("min")
def min(a: TensorLike, axis: Axis = None, keepdims: bool | None = None) -> Tensor:
    """Returns the smallest elements; the same as `amin`.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return amin(a, axis, keepdims=keepdims)


@numpy_export("ptp")
def ptp(a: TensorLike, axis: Axis = None, keepdims: bool | None = None) -> Tensor:
    """Returns the differences of the largest and the smallest elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return max(a, axis, keepdims) - min(a, axis, keepdims)


@numpy_export("all")
def all(a: TensorLike, axis: Axis = None, keepdims: bool | None = None) -> Tensor:
    """Returns whether all elements are true.

    Args:
      a: A tensor, an array, a number or nested lists of these; 0 is false.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A boolean tensor.
    """
    return _reduce(tf.reduce_all, asarray(a, bool), axis, keepdims)


@numpy_export("any")
def any(a: TensorLike, axis: Axis = None, keepdims: bool | None = None) -> Tensor:
    """Returns whether one of the elements is true.

    Args:
      a: A tensor, an array, a number or nested lists of these; 0 is false.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A boolean tensor.
    """
    return _reduce(tf.reduce_any, asarray(a, bool), axis, keepdims)


def _count(a, axis):
    """Returns how many elements a reduction joins."""
    if axis is None:
        return tf.size(a)
    return tf.reduce_prod(tf.gather(tf.shape(a), tf.math.floormod(axis, tf.rank(a))))


def _variance(a, axis, keepdims, ddof):
    """Returns variances; the degrees of freedom are the number of elements less ddof."""
    if not ddof:
        return tf.math.reduce_variance(a, axis=axis, keepdims=keepdims)
    centered = a - tf.reduce_mean(a, axis=axis, keepdims=True)
    squares = tf.math.real(centered * tf.math.conj(centered))
    total = tf.reduce_sum(squares, axis=axis, keepdims=keepdims)
    return total / tf.cast(_count(a, axis) - ddof, total.dtype)


@numpy_export("var")
def var(
    a: TensorLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """Returns variances of elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; by default that of `a`, a floating-point type for integers.
      out: Must be None.
      ddof: What is subtracted from the number of elements to divide the sum of squares.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.

    Raises:
      ValueError: `out` is given.
    """
    _refuse_out(out)
    working = floating(a) if dtype is None else asarray(a, result_type(a, dtype))
    result = _variance(floating(working), _axis(axis), bool(keepdims), ddof)
    return result if dtype is None else tf.cast(result, result_type(dtype))


@numpy_export("std")
def std(a: TensorLike, axis: Axis = None, keepdims: bool | None = None) -> Tensor:
    """Returns standard deviations of elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return _reduce(tf.math.reduce_std, floating(a), axis, keepdims)


@numpy_export("count_nonzero")
def count_nonzero(a: TensorLike, axis: Axis = None) -> Tensor:
    """Returns the numbers of elements that are not 0.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.

    Returns:
      A tensor of int64.
    """
    return tf.math.count_nonzero(asarray(a), axis)


def _without_nan(a, neutral):
    a = asarray(a)
    if not is_inexact(a):
        return a
    return tf.where(tf.not_equal(a, a), tf.cast(neutral, a.dtype), a)


@numpy_export("nansum")
def nansum(
    a: TensorLike, axis: Axis = None, dtype: DTypeLike = None, keepdims: bool = False
) -> Tensor:
    """Returns sums of the elements that are not NaN.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; see `sum`.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return sum(_without_nan(a, 0), axis, dtype, keepdims)


@numpy_export("nanprod")
def nanprod(
    a: TensorLike, axis: Axis = None, dtype: DTypeLike = None, keepdims: bool = False
) -> Tensor:
    """Returns products of the elements that are not NaN.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; see `prod`.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    return prod(_without_nan(a, 1), axis, dtype, keepdims)


@numpy_export("nanmean")
def nanmean(
    a: TensorLike, axis: Axis = None, dtype: DTypeLike = None, keepdims: bool | None = None
) -> Tensor:
    """Returns means of the elements that are not NaN.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimensions to reduce; all by default.
      dtype: The type of the result; see `mean`.
      keepdims: Whether to keep reduced dimensions with size 1.

    Returns:
      A tensor.
    """
    a = asarray(a)
    if not is_inexact(a):
        return mean(a, axis, dtype, keepdims=keepdims)
    dtype = a.dtype if dtype is None else dtype
    count = sum(tf.equal(a, a), axis, keepdims=keepdims)
    return nansum(a, axis, dtype, builtins.bool(keepdims)) / tf.cast(count, result_type(dtype))


@numpy_export("average")
def average(
    a: TensorLike, axis: int | None = None, weights: TensorLike = None, returned: bool = False
) -> Any:
    """Returns weighted means of elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension to reduce; all by default.
      weights: The weights: a tensor of the shape of `a`, or a vector for the dimension; equal by
        default.
      returned: Whether to return the sums of weights, too.

    Returns:
      A tensor; with `returned` a tuple of this and the sums of weights.

    Raises:
      ValueError: `axis` is not an integer.
    """
    if axis is not None and not isinstance(axis, int):
        raise ValueError(
            f"Argument `axis` must be an integer. Received axis={axis} (of type {type(axis)})"
        )
    a = asarray(a)
    if weights is None:
        a = floating(a)
        result = tf.reduce_mean(a, axis=axis)
        total = tf.cast(_count(a, axis), a.dtype)
    else:
        a, weights = promoted(floating(a), asarray(weights))
        result, total = _weighted(a, weights, axis)
    return (result, tf.broadcast_to(total, tf.shape(result))) if returned else result


def _weighted(a, weights, axis):
    """Returns weighted means and the sums of weights."""
    if axis is not None and weights.shape.rank == 1 and a.shape.rank != 1:
        total = tf.reduce_sum(weights)
        return tf.tensordot(a, weights, [[axis], [0]]) / total, total
    tf.debugging.assert_equal(tf.shape(a), tf.shape(weights))
    total = tf.reduce_sum(weights, axis=axis)
    return tf.reduce_sum(a * weights, axis=axis) / total, total


# Cumulative


def _cumulative(function, a, axis, dtype):
    a = asarray(a, dtype)
    if dtype is None and is_integer(a):
        a = tf.cast(a, result_type(numpy.promote_types(numpy_type(a.dtype), numpy.int64)))
    if axis is None:
        return function(tf.reshape(a, [-1]), 0)
    return function(a, axis)


@numpy_export("cumsum")
def cumsum(a: TensorLike, axis: int | None = None, dtype: DTypeLike = None) -> Tensor:
    """Returns cumulative sums.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension; by default `a` is flattened.
      dtype: The type of the result; by default that of `a`, at least 64 bits for integers.

    Returns:
      A tensor.
    """
    return _cumulative(tf.cumsum, a, axis, dtype)


@numpy_export("cumprod")
def cumprod(a: TensorLike, axis: int | None = None, dtype: DTypeLike = None) -> Tensor:
    """Returns cumulative products.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension; by default `a` is flattened.
      dtype: The type of the result; by default that of `a`, at least 64 bits for integers.

    Returns:
      A tensor.
    """
    return _cumulative(tf.math.cumprod, a, axis, dtype)


@numpy_export("diff")
def diff(a: TensorLike, n: int = 1, axis: int = -1) -> Tensor:
    """Returns differences of neighbors; of booleans whether they differ.

    Args:
      a: A tensor of rank 1 or more.
      n: How many times.
      axis: The dimension.

    Returns:
      A tensor.

    Raises:
      ValueError: The rank of `a` is unknown, there is no such dimension, or `n` is negative.
    """
    a = asarray(a)
    ndim = a.shape.rank
    if ndim is None:
        raise ValueError(
            "Function `diff` currently requires a known rank for input `a`. "
            f"Received: a={a} (unknown rank)"
        )
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"Argument `axis` (received axis={axis}) is out of bounds for input {a} of rank {ndim}."
        )
    if n < 0:
        raise ValueError(f"Argument `order` must be a non-negative integer. Received: axis={n}")
    before = (slice(None),) * (axis % ndim)
    later, earlier = (*before, slice(1, None)), (*before, slice(None, -1))
    change = tf.not_equal if a.dtype.is_bool else tf.subtract
    for _ in range(n):
        a = change(a[later], a[earlier])
    return a


# Order


def _flattened(a, axis):
    return (tf.reshape(a, [-1]), 0) if axis is None else (a, axis)


@numpy_export("sort")
def sort(a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Any:
    """Sorts elements in increasing order.

    Args:
      a: A tensor of rank 1 or more.
      axis: The dimension; with None, `a` is flattened.
      kind: Must be "quicksort".
      order: Must be None.

    Returns:
      A tensor.

    Raises:
      ValueError: `kind` or `order` has another value.
    """
    if kind != "quicksort":
        raise ValueError(
            "Invalid value for argument `kind`. "
            f'Only kind="quicksort" is supported. Received: kind={kind}'
        )
    _refuse_order(order)
    a, axis = _flattened(asarray(a), axis)
    return tf.sort(a, axis)


def _refuse_order(order):
    if order is not None:
        raise ValueError("The `order` argument is not supported. Pass order=None")


@numpy_export("argsort")
def argsort(
    a: TensorLike, axis: int | None = -1, kind: str = "quicksort", order: None = None
) -> Tensor:
    """Returns the indices that sort elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension; with None, `a` is flattened.
      kind: "quicksort" or "stable".
      order: Must be None.

    Returns:
      A tensor of int64.

    Raises:
      ValueError: `kind` or `order` has another value.
    """
    if kind not in ("quicksort", "stable"):
        raise ValueError(
            "Invalid value for argument `kind`. "
            f'Only kind="quicksort" and kind="stable" are supported. Received: kind={kind}'
        )
    _refuse_order(order)
    a = asarray(a)
    a, axis = _flattened(a, None if a.shape.rank == 0 else axis)
    return tf.cast(tf.argsort(a, axis, stable=kind == "stable"), "int64")


def _extreme_index(function: Callable, a, axis):
    a = array(a)
    a, axis = _flattened(a, None if a.shape.rank == 0 else axis)
    return function(a, axis)


@numpy_export("argmax")
def argmax(a: TensorLike, axis: int | None = None) -> Tensor:
    """Returns the indices of the largest elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension; by default `a` is flattened.

    Returns:
      A tensor of int64.
    """
    return _extreme_index(tf.argmax, a, axis)


@numpy_export("argmin")
def argmin(a: TensorLike, axis: int | None = None) -> Tensor:
    """Returns the indices of the smallest elements.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      axis: The dimension; by default `a` is flattened.

    Returns:
      A tensor of int64.
    """
    return _extreme_index(tf.argmin, a, axis)
