# SPDX-License-Identifier: Apache-2.0
"""creation.py: functions of tf.experimental.numpy that create tensors."""

from __future__ import annotations

import numpy

from situ._src.framework.keywords import bind
from situ._src.numpy_ops.arrays import asarray, choose, floating, promoted, rank, size_of
from situ._src.numpy_ops.dtypes import default_float, result_type, type_of
from situ._src.numpy_ops.exports import constants, numpy_export, tf
from situ._src.numpy_ops.manipulation import moveaxis
from situ._src.numpy_ops.reductions import sum as total

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, ShapeLike, Tensor, TensorLike

constants(e=numpy.e, inf=numpy.inf, newaxis=numpy.newaxis, pi=numpy.pi)


def _type(dtype):
    return default_float() if dtype is None else result_type(dtype)


def _shape(shape):
    """Returns a shape as a vector; a number is a shape of one dimension."""
    return tf.reshape(tf.convert_to_tensor(shape, dtype_hint="int32"), [-1])


@numpy_export("zeros")
def zeros(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Returns a tensor of zeros.

    Args:
      shape: A list of dimensions or the size of a vector.
      dtype: The type of the result.

    Returns:
      A tensor.
    """
    return tf.zeros(_shape(shape), _type(dtype))


@numpy_export("ones")
def ones(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Returns a tensor of ones.

    Args:
      shape: A list of dimensions or the size of a vector.
      dtype: The type of the result.

    Returns:
      A tensor.
    """
    return tf.ones(_shape(shape), _type(dtype))


@numpy_export("empty")
def empty(shape: ShapeLike, dtype: DTypeLike = float) -> Tensor:
    """Returns a tensor of zeros, since tensors cannot be filled later.

    Args:
      shape: A list of dimensions or the size of a vector.
      dtype: The type of the result.

    Returns:
      A tensor.
    """
    return zeros(shape, dtype)


@numpy_export("zeros_like")
def zeros_like(a: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns zeros of the shape of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; that of `a` by default.

    Returns:
      A tensor.
    """
    return tf.zeros_like(asarray(a), type_of(a, dtype))


@numpy_export("ones_like")
def ones_like(a: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns ones of the shape of a tensor.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; that of `a` by default.

    Returns:
      A tensor.
    """
    return tf.ones_like(asarray(a), type_of(a, dtype))


@numpy_export("empty_like")
def empty_like(a: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns zeros of the shape of a tensor, since tensors cannot be filled later.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      dtype: The type of the result; that of `a` by default.

    Returns:
      A tensor.
    """
    return zeros_like(a, dtype)


@numpy_export("full")
def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike = None) -> Tensor:
    """Returns a tensor that is filled with a value.

    Args:
      shape: A list of dimensions or the size of a vector.
      fill_value: A number, or a tensor that is broadcast to the shape.
      dtype: The type of the result; that of `fill_value` by default.

    Returns:
      A tensor.
    """
    return tf.broadcast_to(asarray(fill_value, dtype), _shape(shape))


@numpy_export("full_like")
def full_like(
    a: TensorLike,
    fill_value: TensorLike,
    dtype: DTypeLike = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike = None,
) -> Tensor:
    """Returns a tensor of the shape of another, filled with a value.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      fill_value: A number, or a tensor that is broadcast to the shape.
      dtype: The type of the result; that of `a` by default.
      order: Must be "K".
      subok: Must be True.
      shape: Must be None.

    Returns:
      A tensor.

    Raises:
      ValueError: `order`, `subok` or `shape` has another value.
    """
    if order != "K":
        raise ValueError("Non-standard orders are not supported.")
    if not subok:
        raise ValueError("subok being False is not supported.")
    if shape:
        raise ValueError("Overriding the shape is not supported.")
    a = asarray(a)
    return tf.broadcast_to(asarray(fill_value, a.dtype if dtype is None else dtype), tf.shape(a))


def _below_diagonal(rows, columns, k, compare):
    """Returns a boolean matrix: whether row + k and column compare."""
    return compare(tf.range(rows)[:, None] + k, tf.range(columns))


@numpy_export("eye")
def eye(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = float) -> Tensor:
    """Returns a matrix with ones on a diagonal.

    Args:
      N: The number of rows.
      M: The number of columns; `N` by default.
      k: The diagonal; positive values are above the main one.
      dtype: The type of the result.

    Returns:
      A matrix.
    """
    return tf.cast(_below_diagonal(int(N), int(M or N), int(k), tf.equal), _type(dtype))


@numpy_export("identity")
def identity(n: int, dtype: DTypeLike = float) -> Tensor:
    """Returns an identity matrix.

    Args:
      n: The number of rows.
      dtype: The type of the result.

    Returns:
      A matrix.
    """
    return eye(n, dtype=dtype)


@numpy_export("tri")
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike = None) -> Tensor:
    """Returns a matrix with ones on and below a diagonal.

    Args:
      N: The number of rows.
      M: The number of columns; `N` by default.
      k: The diagonal; positive values are above the main one.
      dtype: The type of the result; a floating-point type by default.

    Returns:
      A matrix.
    """
    columns = N if M is None else M
    return tf.cast(_below_diagonal(N, columns, k, tf.greater_equal), _type(dtype))


def _triangle(m, k, name):
    m = asarray(m)
    if m.shape.rank is not None and m.shape.rank < 2:
        raise ValueError(f"Argument to {name} must have rank at least 2")
    return m, _below_diagonal(size_of(m, -2), size_of(m, -1), k, tf.greater_equal)


@numpy_export("tril")
def tril(m: TensorLike, k: int = 0) -> Tensor:
    """Returns matrices with zeros above a diagonal.

    Args:
      m: A matrix or a batch of matrices.
      k: The diagonal; positive values are above the main one.

    Returns:
      A tensor of the shape of `m`.

    Raises:
      ValueError: The rank of `m` is less than 2.
    """
    m, below = _triangle(m, k, "tril")
    return tf.where(below, m, tf.zeros_like(m))


@numpy_export("triu")
def triu(m: TensorLike, k: int = 0) -> Tensor:
    """Returns matrices with zeros below a diagonal.

    Args:
      m: A matrix or a batch of matrices.
      k: The diagonal; positive values are above the main one.

    Returns:
      A tensor of the shape of `m`.

    Raises:
      ValueError: The rank of `m` is less than 2.
    """
    m, below = _triangle(m, k - 1, "triu")
    return tf.where(below, tf.zeros_like(m), m)


@numpy_export("arange")
def arange(
    start: TensorLike, stop: TensorLike = None, step: TensorLike = 1, dtype: DTypeLike = None
) -> Tensor:
    """Returns evenly spaced numbers from a range without its end.

    Args:
      start: The first number, or the end if `stop` is None; then the first number is 0.
      stop: The end of the range.
      step: The difference between neighbors.
      dtype: The type of the result; the common type of the arguments by default.

    Returns:
      A vector.

    Raises:
      ValueError: `step` is 0.
    """
    if not step:
        raise ValueError("step must be non-zero.")
    given = [v for v in (start, stop, step) if v is not None]
    computed = result_type(*given)
    dtype = computed if dtype is None else result_type(dtype)
    start, stop = (0, start) if stop is None else (start, stop)
    if (step > 0 and start > stop) or (step < 0 and start < stop):
        return tf.zeros([0], dtype)
    if computed.name not in ("int32", "int64", "float32", "float64"):
        computed = result_type(computed, "int32")
    return tf.cast(tf.range(*[asarray(v, computed) for v in (start, stop, step)]), dtype)


def _spacing(start, stop, count):
    """Returns the difference between neighbors, in the type of the ends."""
    return (stop - start) / tf.cast(count, start.dtype)


def _ends(start, stop, dtype):
    """Returns two ends of a range as floating-point tensors of one type, and that of the result."""
    start, stop = (floating(v) for v in promoted(start, stop))
    plain = dtype is None or dtype is float
    return start, stop, start.dtype if plain else result_type(dtype)


@numpy_export("linspace")
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = float,
    axis: int = 0,
) -> Any:
    """Returns evenly spaced numbers of an interval.

    Args:
      start: The first number or a tensor of these.
      stop: The end of the interval.
      num: How many numbers.
      endpoint: Whether `stop` is the last number.
      retstep: Whether to return the spacing, too.
      dtype: The type of the result; by default the floating-point type of the interval. Integers
        are rounded down.
      axis: The dimension of the result that has size `num`.

    Returns:
      A tensor; with `retstep` a tuple of this and the difference between neighbors.

    Raises:
      ValueError: `num` is negative.
    """
    if num < 0:
        raise ValueError(
            "Argument `num` (number of samples) must be a non-negative integer. "
            f"Received: num={num}"
        )
    start, stop, dtype = _ends(start, stop, dtype)
    count = num - 1 if endpoint else num
    step = _spacing(start, stop, count) if count > 0 else tf.constant(numpy.nan, start.dtype)
    last = stop if endpoint or num < 2 else stop - step
    result = tf.linspace(start, last, num, axis=axis) if num else _no_samples(start, stop, axis)
    result = tf.cast(tf.floor(result) if dtype.is_integer else result, dtype)
    return (result, step) if retstep else result


def _no_samples(start, stop, axis):
    return tf.gather(tf.stack([start + stop], axis), tf.zeros([0], "int32"), axis=axis)


@numpy_export("logspace")
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Tensor:
    """Returns numbers whose logarithms are evenly spaced.

    Args:
      start: The logarithm of the first number.
      stop: The logarithm of the end of the interval.
      num: How many numbers.
      endpoint: Whether the last number is at `stop`.
      base: The base of the logarithms.
      dtype: The type of the result; by default the floating-point type of the interval.
      axis: The dimension of the result that has size `num`.

    Returns:
      A tensor.

    Raises:
      ValueError: `num` is negative.
    """
    start, stop, dtype = _ends(start, stop, dtype)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return tf.cast(tf.pow(asarray(base, exponents.dtype), exponents), dtype)


@numpy_export("geomspace")
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Tensor:
    """Returns the numbers of a geometric progression.

    Args:
      start: The first number.
      stop: The end of the interval, of the same sign.
      num: How many numbers.
      endpoint: Whether `stop` is the last number.
      dtype: The type of the result; by default the floating-point type of the interval.
      axis: The dimension of the result that has size `num`.

    Returns:
      A tensor.

    Raises:
      ValueError: `num` is negative.
    """
    start, stop, dtype = _ends(start, stop, dtype)
    negative = tf.logical_and(tf.math.real(start) < 0, tf.math.real(stop) < 0)
    sign = tf.cast(tf.where(negative, -1, 1), start.dtype)
    logs = [tf.math.log(sign * v) / numpy.log(10.0) for v in (start, stop)]
    return tf.cast(sign * logspace(*logs, num, endpoint, axis=axis), dtype)


@numpy_export("diag")
def diag(v: TensorLike, k: int = 0) -> Tensor:
    """Returns a diagonal of a matrix, or a matrix with a diagonal.

    Args:
      v: A vector or a matrix.
      k: The diagonal; positive values are above the main one.

    Returns:
      A matrix for a vector, a vector for a matrix.

    Raises:
      ValueError: `v` has another rank.
    """
    v = asarray(v)
    ndim = rank(v)
    if isinstance(ndim, int) and ndim not in (1, 2):
        raise ValueError(f"Input must be 1- or 2-d, got an array of rank {ndim}.")
    if not isinstance(ndim, int):
        tf.debugging.Assert(tf.logical_or(tf.equal(ndim, 1), tf.equal(ndim, 2)), [ndim])
    is_vector = ndim == 1 if isinstance(ndim, int) else tf.equal(ndim, 1)
    return choose(is_vector, lambda: _matrix_with_diagonal(v, k), lambda: diagonal(v, k))


def _matrix_with_diagonal(v, k):
    """Returns a matrix with a vector on a diagonal."""
    size = tf.shape(v)[0] + abs(k)
    places = _below_diagonal(size, size, k, tf.equal)
    row = tf.concat([tf.zeros([max(k, 0)], v.dtype), v, tf.zeros([max(-k, 0)], v.dtype)], 0)
    return tf.where(places, row, tf.zeros_like(row))


@numpy_export("diagonal")
def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Returns diagonals of matrices.

    Args:
      a: A tensor of rank 2 or more.
      offset: The diagonal; positive values are above the main one.
      axis1: The dimension of the rows.
      axis2: The dimension of the columns.

    Returns:
      A tensor whose last dimension has the diagonals.
    """
    a = moveaxis(asarray(a), (axis1, axis2), (-2, -1))
    rows, columns = size_of(a, -2), size_of(a, -1)
    first, start = max(-offset, 0), max(offset, 0)
    length = tf.maximum(tf.minimum(rows - first, columns - start), 0)
    flat = tf.reshape(a, tf.concat([tf.shape(a)[:-2], [rows * columns]], 0))
    places = (tf.range(length) + first) * columns + tf.range(length) + start
    return tf.gather(flat, places, axis=-1)


@numpy_export("diagflat")
def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """Returns a matrix with the elements of a tensor on a diagonal.

    Args:
      v: A tensor, which is flattened.
      k: The diagonal; positive values are above the main one.

    Returns:
      A matrix.
    """
    return diag(tf.reshape(asarray(v), [-1]), k)


@numpy_export("diag_indices")
def diag_indices(n: int, ndim: int = 2) -> tuple:
    """Returns the indices of the main diagonal of a tensor.

    Args:
      n: The size of each dimension of the tensor.
      ndim: The rank of the tensor.

    Returns:
      A tuple of `ndim` vectors.

    Raises:
      ValueError: An argument is negative.
    """
    for name, value in (("n", n), ("ndim", ndim)):
        if value < 0:
            raise ValueError(f"{name} argument to diag_indices must be nonnegative, got {value}")
    return (tf.range(n),) * ndim


@numpy_export("vander")
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """Returns a Vandermonde matrix: powers of a vector.

    Args:
      x: A vector.
      N: The number of columns; the size of `x` by default.
      increasing: Whether the powers increase from left to right.

    Returns:
      A matrix.

    Raises:
      ValueError: `x` is no vector or `N` is negative.
    """
    x = asarray(x)
    ndim = rank(x)
    if isinstance(ndim, int) and ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    if not isinstance(ndim, int):
        tf.debugging.Assert(tf.equal(ndim, 1), [ndim])
    count = tf.shape(x)[0] if N is None else N
    if isinstance(count, int) and count < 0:
        raise ValueError("N must be nonnegative")
    powers = tf.range(count) if increasing else tf.range(count - 1, -1, -1)
    return tf.pow(tf.expand_dims(x, -1), tf.cast(powers, x.dtype))


@numpy_export("meshgrid")
def meshgrid(*xi: TensorLike, **kwargs: Any) -> list:
    """Returns coordinates of the points of a grid.

    Args:
      *xi: Vectors of coordinates in each dimension.
      **kwargs: `indexing`: "xy" (the default) or "ij"; `sparse`: must be False; `copy`: must be
        True.

    Returns:
      A list of tensors.

    Raises:
      ValueError: `sparse` or `copy` has another value.
    """
    defaults = {"copy": True, "sparse": False, "indexing": "xy"}
    options = bind("meshgrid", defaults, (), kwargs)
    if options["sparse"]:
        raise ValueError("meshgrid does not return sparse arrays: sparse=True is not supported.")
    if not options["copy"]:
        raise ValueError("meshgrid returns copies: copy=False is not supported.")
    return tf.meshgrid(*[asarray(x) for x in xi], indexing=options["indexing"])


@numpy_export("trace")
def trace(
    a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None
) -> Tensor:
    """Returns the sums of diagonals.

    Args:
      a: A tensor of rank 2 or more.
      offset: The diagonal; positive values are above the main one.
      axis1: The dimension of the rows.
      axis2: The dimension of the columns.
      dtype: The type of the result; by default that of `sum`.

    Returns:
      A tensor.
    """
    return total(diagonal(asarray(a, dtype), offset, axis1, axis2), -1, dtype)


@numpy_export("broadcast_to")
def broadcast_to(array: TensorLike, shape: ShapeLike) -> Tensor:
    """Broadcasts a tensor to a shape.

    Args:
      array: A tensor, an array, a number or nested lists of these.
      shape: A list of dimensions or the size of a vector.

    Returns:
      A tensor.
    """
    return full(shape, array)
