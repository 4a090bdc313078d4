# SPDX-License-Identifier: Apache-2.0
"""numpy_reduction.py: reductions, statistics and cumulative functions of keras.ops.numpy."""

from __future__ import annotations

import math
from typing import Any

from situ._src.framework.keywords import unsupported
from situ._src.keras3 import operands
from situ._src.keras3.dtypes import is_float_dtype, result_type, standardize_dtype
from situ._src.keras3.exports import tf
from situ._src.keras3.operands import floating, promoted, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")
_ARGS = """

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1."""


def _reduction(name, convert, compute, doc):
    """Exports a reduction over axes."""

    def function(x: Any, axis: Any = None, keepdims: bool = False):
        return compute(convert(x), axis, keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + _ARGS
    return _op(function)


def _bool(x):
    return tf.cast(tensor(x), "bool")


def countable(x):
    """Returns a tensor for sums and products: small integers and bools become 32 bits.

    Args:
      x: Array, number or tensor.
    """
    x = tensor(x)
    name = x.dtype.name
    if name in ("bool", "int8", "int16"):
        return tf.cast(x, "int32")
    return tf.cast(x, "uint32") if name in ("uint8", "uint16") else x


def _or_bool(reduce, of_bools):
    """Returns a reduction that treats bools as 0 and 1."""
    return lambda x, axis, k: of_bools(x, axis, k) if x.dtype.name == "bool" else reduce(x, axis, k)


_largest = _or_bool(tf.reduce_max, tf.reduce_any)
_smallest = _or_bool(tf.reduce_min, tf.reduce_all)


def _var(x, axis, keepdims):
    return tf.math.reduce_variance(x, axis, keepdims)


def _std(x, axis, keepdims):
    return tf.sqrt(_var(x, axis, keepdims))


def _no_nan(value):
    """Returns a function that replaces NaN by a value."""

    def convert(x):
        x = countable(x)
        if not is_float_dtype(x.dtype.name):
            return x
        return tf.where(tf.math.is_nan(x), tf.cast(value, x.dtype), x)

    return convert


def _valid(x):
    return tf.logical_not(tf.math.is_nan(x))


def _nanmean(x, axis, keepdims):
    count = tf.reduce_sum(tf.cast(_valid(x), x.dtype), axis, keepdims)
    return tf.reduce_sum(_no_nan(0)(x), axis, keepdims) / count


def _nanvar(x, axis, keepdims):
    mean_value = _nanmean(x, axis, True)
    squares = tf.where(_valid(x), tf.square(x - mean_value), tf.zeros_like(x))
    count = tf.reduce_sum(tf.cast(_valid(x), x.dtype), axis, keepdims)
    return tf.reduce_sum(squares, axis, keepdims) / count


def _nan_extreme(reduce, value):
    def compute(x, axis, keepdims):
        if not is_float_dtype(x.dtype.name):
            return reduce(x, axis, keepdims)
        found = reduce(tf.where(_valid(x), x, tf.cast(value, x.dtype)), axis, keepdims)
        some = tf.reduce_any(_valid(x), axis, keepdims)
        return tf.where(some, found, tf.cast(math.nan, x.dtype))

    return compute


sum = _reduction("sum", countable, tf.reduce_sum, "Sum.")
mean = _reduction("mean", floating, tf.reduce_mean, "Mean.")
var = _reduction("var", floating, _var, "Variance.")
std = _reduction("std", floating, _std, "Standard deviation.")
all = _reduction("all", _bool, tf.reduce_all, "Whether all elements are true.")
any = _reduction("any", _bool, tf.reduce_any, "Whether an element is true.")
amax = _reduction("amax", tensor, _largest, "Maximum.")
amin = _reduction("amin", tensor, _smallest, "Minimum.")
ptp = _reduction(
    "ptp",
    tensor,
    lambda x, axis, k: tf.reduce_max(x, axis, k) - tf.reduce_min(x, axis, k),
    "Range: maximum minus minimum.",
)
nansum = _reduction("nansum", _no_nan(0), tf.reduce_sum, "Sum, ignoring NaN.")
nanprod = _reduction("nanprod", _no_nan(1), tf.reduce_prod, "Product, ignoring NaN.")
nanmean = _reduction("nanmean", floating, _nanmean, "Mean, ignoring NaN.")
nanvar = _reduction("nanvar", floating, _nanvar, "Variance, ignoring NaN.")
nanstd = _reduction(
    "nanstd",
    floating,
    lambda x, axis, k: tf.sqrt(_nanvar(x, axis, k)),
    "Standard deviation, ignoring NaN.",
)
nanmax = _reduction("nanmax", tensor, _nan_extreme(_largest, -math.inf), "Maximum, ignoring NaN.")
nanmin = _reduction("nanmin", tensor, _nan_extreme(_smallest, math.inf), "Minimum, ignoring NaN.")


def _with_initial(reduce, choose, x, axis, keepdims, initial):
    x = tensor(x)
    if initial is not None and 0 in [n for n in x.shape.as_list() if n is not None]:
        first = tf.cast(initial, x.dtype)
        kept = reduce(tf.pad(x, [[0, int(n == 0)] for n in x.shape.as_list()]), axis, keepdims)
        return tf.zeros_like(kept) + first
    result = reduce(x, axis, keepdims)
    return result if initial is None else choose(result, tf.cast(initial, result.dtype))


@_op
def max(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None):
    """Maximum.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1.
      initial: Smallest possible result; needed if x is empty.
    """
    return _with_initial(_largest, tf.maximum, x, axis, keepdims, initial)


@_op
def min(x: Any, axis: Any = None, keepdims: bool = False, initial: Any = None):
    """Minimum.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1.
      initial: Largest possible result; needed if x is empty.
    """
    return _with_initial(_smallest, tf.minimum, x, axis, keepdims, initial)


@_op
def prod(x: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None):
    """Product.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1.
      dtype: Type of the result; default: that of x, at least 32 bits.
    """
    x = countable(x)
    return tf.reduce_prod(x if dtype is None else tensor(x, dtype), axis, keepdims)


@_op
def average(x: Any, axis: Any = None, weights: Any = None):
    """Weighted mean.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
      weights: Weights of the shape of x, or a vector along one axis; default: 1.
    """
    if weights is None:
        return tf.reduce_mean(floating(x), axis)
    x, weights = promoted(floating(x), weights)
    if weights.shape.rank == 1 and x.shape.rank > 1:
        shape = [1] * x.shape.rank
        shape[axis] = -1
        weights = tf.reshape(weights, shape)
    weights = weights + tf.zeros_like(x)
    return tf.reduce_sum(x * weights, axis) / tf.reduce_sum(weights, axis)


@_op
def count_nonzero(x: Any, axis: Any = None):
    """Number of elements that are not 0, as int32.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
    """
    return tf.reduce_sum(tf.cast(tf.not_equal(tensor(x), tf.zeros_like(tensor(x))), "int32"), axis)


def _cumulative(name, convert, compute, doc):
    def function(x: Any, axis: Any = None, dtype: Any = None):
        x = convert(x)
        x = x if dtype is None else tensor(x, dtype)
        return compute(tf.reshape(x, [-1]) if axis is None else x, 0 if axis is None else axis)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

    Args:
      x: Tensor.
      axis: Axis; default: the flattened tensor.
      dtype: Type of the result; default: that of x, bools become int32."""
    return _op(function)


def _numbers(x):
    x = tensor(x)
    return tf.cast(x, "int32") if x.dtype.name == "bool" else x


def _numbers_without_nan(value):
    return lambda x: _no_nan(value)(x) if is_float_dtype(tensor(x).dtype.name) else _numbers(x)


cumsum = _cumulative("cumsum", _numbers, tf.cumsum, "Cumulative sum.")
cumprod = _cumulative("cumprod", _numbers, tf.math.cumprod, "Cumulative product.")
nancumsum = _cumulative(
    "nancumsum", _numbers_without_nan(0), tf.cumsum, "Cumulative sum, ignoring NaN."
)
nancumprod = _cumulative(
    "nancumprod", _numbers_without_nan(1), tf.math.cumprod, "Cumulative product, ignoring NaN."
)


def _rows(x, axis):
    """Returns a tensor with the reduced axes flattened at the end, and their positions."""
    ndim = operands.rank(x)
    reduced = operands.axes(axis, ndim)
    kept = [i for i in range(ndim) if i not in reduced]
    moved = tf.transpose(x, [*kept, *reduced])
    lengths = operands.sizes(x)
    return tf.reshape(moved, [*[lengths[i] for i in kept], -1]), reduced, lengths


def _positions(q, count, method):
    """Returns (lower index, upper index, weight of the upper one) of quantiles."""
    place = q * tf.cast(count - 1, q.dtype)
    low, high = tf.floor(place), tf.math.ceil(place)
    if method == "linear":
        part = place - low
    elif method == "lower":
        part = tf.zeros_like(place)
    elif method == "higher":
        part = tf.cast(tf.not_equal(low, high), q.dtype)
    elif method == "midpoint":
        part = tf.where(
            tf.equal(low, high),
            tf.zeros_like(place),
            tf.fill(tf.shape(place), tf.cast(0.5, q.dtype)),
        )
    elif method == "nearest":
        part = tf.round(place) - low
    else:
        raise ValueError(
            "Invalid `method`. Expected one of 'linear', 'lower', 'higher', 'midpoint', 'nearest'. "
            f"Received: method={method}"
        )
    return tf.cast(low, "int32"), tf.cast(high, "int32"), part


@_op
def quantile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False):
    """Quantiles.

    Args:
      x: Tensor.
      q: Probability or probabilities; the axes of q come first in the result.
      axis: Axis, or axes, to reduce; default: all.
      method: "linear", "lower", "higher", "midpoint" or "nearest".
      keepdims: Whether reduced axes stay, with size 1.

    Raises:
      ValueError: If the method is unknown.
    """
    x = floating(x)
    q = tensor(q, x.dtype)
    rows, reduced, lengths = _rows(x, axis)
    ordered = tf.sort(rows, axis=-1)
    low, high, part = _positions(q, tf.shape(rows)[-1], method)
    below, above = tf.gather(ordered, low, axis=-1), tf.gather(ordered, high, axis=-1)
    result = below + (above - below) * part
    has_nan = tf.reduce_any(tf.math.is_nan(rows), -1)
    for _ in q.shape:
        has_nan = has_nan[..., None]
    result = tf.where(
        has_nan,
        tf.cast(math.nan, x.dtype),
        result,
    )
    if len(q.shape):
        result = tf.transpose(result, [len(result.shape) - 1, *range(len(result.shape) - 1)])
    if keepdims:
        kept = [1 if i in reduced else n for i, n in enumerate(lengths)]
        result = tf.reshape(result, [*operands.sizes(q), *kept])
    return result


def _without_nan(x, axis):
    """Returns the rows of the reduced axes, sorted with NaN last, and how many are no NaN."""
    rows, reduced, lengths = _rows(x, axis)
    ordered = tf.sort(tf.where(_valid(rows), rows, tf.cast(math.inf, x.dtype)), axis=-1)
    return ordered, tf.reduce_sum(tf.cast(_valid(rows), "int32"), -1), reduced, lengths


@_op
def nanquantile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False):
    """Quantiles, ignoring NaN.

    Args:
      x: Tensor; where all elements to reduce are NaN, the result is NaN.
      q: Probability or probabilities in [0, 1]; the axes of q come first in the result.
      axis: Axis, or axes, to reduce; default: all.
      method: "linear", "lower", "higher", "midpoint" or "nearest".
      keepdims: Whether reduced axes stay, with size 1.

    Raises:
      ValueError: If the method is unknown or an axis is out of range.
    """
    x = floating(x)
    q = tensor(q, x.dtype)
    if operands.rank(q):
        parts = [nanquantile(x, one, axis, method, keepdims) for one in tf.unstack(q)]
        return tf.stack(parts)
    ordered, count, reduced, lengths = _without_nan(x, axis)
    low, high, part = _positions(q, tf.maximum(count, 1), method)
    at = lambda place: tf.squeeze(
        tf.gather(ordered, place[..., None], batch_dims=operands.rank(place)), [-1]
    )
    result = at(low) + (at(high) - at(low)) * part
    result = tf.where(count > 0, result, tf.cast(math.nan, x.dtype))
    kept = [1 if i in reduced else n for i, n in enumerate(lengths)]
    return tf.reshape(result, kept) if keepdims else result


@_op
def nanpercentile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False):
    """Percentiles, ignoring NaN: quantiles of q / 100.

    Args:
      x: Tensor; where all elements to reduce are NaN, the result is NaN.
      q: Percentage or percentages in [0, 100]; the axes of q come first in the result.
      axis: Axis, or axes, to reduce; default: all.
      method: "linear", "lower", "higher", "midpoint" or "nearest".
      keepdims: Whether reduced axes stay, with size 1.

    Raises:
      ValueError: If the method is unknown or an axis is out of range.
    """
    return nanquantile(x, tensor(q, "float32") / 100.0, axis, method, keepdims)


@_op
def nanmedian(x: Any, axis: Any = None, keepdims: bool = False):
    """Median, ignoring NaN.

    Args:
      x: Tensor; where all elements to reduce are NaN, the result is NaN.
      axis: Axis, or axes, to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1.

    Raises:
      ValueError: If an axis is out of range.
    """
    return nanquantile(x, 0.5, axis, "linear", keepdims)


@_op
def percentile(x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False):
    """Percentiles: quantiles of q / 100.

    Args:
      x: Tensor; where an element to reduce is NaN, the result is NaN.
      q: Percentage or percentages in [0, 100]; the axes of q come first in the result.
      axis: Axis, or axes, to reduce; default: all.
      method: "linear", "lower", "higher", "midpoint" or "nearest".
      keepdims: Whether reduced axes stay, with size 1.

    Raises:
      ValueError: If the method is unknown or an axis is out of range.
    """
    return quantile(x, tensor(q, "float32") / 100.0, axis, method, keepdims)


@_op
def median(x: Any, axis: Any = None, keepdims: bool = False):
    """Median.

    Args:
      x: Tensor.
      axis: Axis, or axes, to reduce; default: all.
      keepdims: Whether reduced axes stay, with size 1.
    """
    return quantile(x, 0.5, axis, "linear", keepdims)


def _argument(find):
    def compute(x, axis, keepdims):
        x = tensor(x)
        ndim = operands.rank(x)
        flat = tf.reshape(x, [-1]) if axis is None else x
        result = find(flat, 0 if axis is None else axis, output_type=tf.int32)
        if not keepdims:
            return result
        return tf.reshape(result, [1] * ndim) if axis is None else tf.expand_dims(result, axis)

    return compute


argmax = _reduction("argmax", _numbers, _argument(tf.argmax), "Index of the maximum.")
argmin = _reduction("argmin", _numbers, _argument(tf.argmin), "Index of the minimum.")


def _nan_argument(find, value):
    def compute(x, axis, keepdims):
        if not is_float_dtype(x.dtype.name):
            return find(x, axis, keepdims)
        replaced = tf.where(_valid(x), x, tf.cast(value, x.dtype))
        found = find(replaced, axis, keepdims)
        return tf.where(tf.reduce_any(_valid(x), axis, keepdims), found, -1)

    return compute


nanargmax = _reduction(
    "nanargmax", tensor, _nan_argument(_argument(tf.argmax), -math.inf), "argmax, ignoring NaN."
)
nanargmin = _reduction(
    "nanargmin", tensor, _nan_argument(_argument(tf.argmin), math.inf), "argmin, ignoring NaN."
)


@_op
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1):
    """Integral by the trapezoidal rule.

    Args:
      y: Values.
      x: Positions; default: equally spaced.
      dx: Spacing if x is None.
      axis: Axis.
    """
    y = floating(y)
    y = tf.transpose(y, _last(axis, operands.rank(y)))
    if x is not None:
        x = floating(x)
        x = tf.transpose(x, _last(axis, operands.rank(x))) if operands.rank(x) > 1 else x
        dx = x[..., 1:] - x[..., :-1]
    return tf.reduce_sum((y[..., 1:] + y[..., :-1]) * 0.5 * dx, -1)


def _last(axis, ndim):
    axis = axis % ndim
    return [*[i for i in range(ndim) if i != axis], axis]


@_op
def diff(a: Any, n: int = 1, axis: int = -1):
    """Differences of neighbors.

    Args:
      a: Tensor.
      n: How often differences are taken.
      axis: Axis.
    """
    a = tensor(a)
    for _ in range(n):
        count = operands.sizes(a)[axis]
        after = tf.gather(a, tf.range(1, count), axis=axis)
        before = tf.gather(a, tf.range(0, count - 1), axis=axis)
        a = tf.not_equal(after, before) if a.dtype.name == "bool" else after - before
    return a


@_op
def corrcoef(x: Any):
    """Correlation coefficients of rows.

    Args:
      x: Matrix whose rows are variables and whose columns are observations, or a vector: one row.

    Returns:
      Matrix of the coefficients of all pairs of rows; a scalar if there is one row.
    """
    x = floating(x)
    x = tf.reshape(x, [1, -1]) if operands.rank(x) == 1 else x
    x = x - tf.reduce_mean(x, -1, keepdims=True)
    covariance = tf.matmul(x, x, transpose_b=True)
    scale = tf.sqrt(tf.linalg.diag_part(covariance))
    result = covariance / scale[:, None] / scale[None, :]
    return result[0, 0] if result.shape.as_list() == [1, 1] else result


@_op
def histogram(x: Any, bins: int = 10, range: Any = None):
    """Counts of elements in bins of equal width, and the edges of the bins.

    Args:
      x: Tensor.
      bins: Number of bins.
      range: (lower edge, upper edge); default: (min(x), max(x)).

    Raises:
      ValueError: If bins is not a positive integer.
    """
    if not isinstance(bins, int) or isinstance(bins, bool) or bins <= 0:
        raise ValueError(f"Argument `bins` should be a positive integer. Received: bins={bins}")
    x = tf.reshape(floating(x), [-1])
    low, high = (tf.reduce_min(x), tf.reduce_max(x)) if range is None else range
    edges = tf.linspace(tf.cast(low, x.dtype), tf.cast(high, x.dtype), bins + 1)
    place = tf.searchsorted(edges, x, side="right") - 1
    place = tf.where(tf.equal(x, edges[-1]), bins - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    hot = tf.one_hot(tf.where(inside, place, -1), bins, dtype="int32")
    return tf.cast(tf.reduce_sum(hot, 0), x.dtype), edges


@_op
def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False):
    """Counts the occurrences of each non-negative integer.

    Args:
      x: Integer tensor; of a matrix each row is counted.
      weights: Weights of the shape of x; default: 1.
      minlength: Smallest length of the result.
      sparse: Only False is supported.
    """

    unsupported("ops.bincount", sparse=(sparse, False))
    x = tensor(x, "int32")
    count = (
        tf.maximum(tf.reduce_max(x) + 1, minlength) if x.shape.num_elements() != 0 else minlength
    )
    hot = tf.one_hot(x, count, dtype="int32" if weights is None else dtype_name(weights))
    if weights is not None:
        hot = hot * tf.expand_dims(tensor(weights), -1)
    return tf.reduce_sum(hot, -2)


def dtype_name(value):
    """Returns the type of weights: at least int32.

    Args:
      value: Array, number or tensor.
    """
    return result_type(standardize_dtype(tensor(value).dtype), "int32")
