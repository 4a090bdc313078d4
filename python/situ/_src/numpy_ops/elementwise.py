# SPDX-License-Identifier: Apache-2.0
"""elementwise.py: element-wise functions of tf.experimental.numpy."""

from __future__ import annotations

import builtins
import math

import numpy

from situ._src.numpy_ops.arrays import (
    asarray,
    broadcast,
    choose,
    floating,
    is_inexact,
    is_integer,
    promoted,
)
from situ._src.numpy_ops.dtypes import default_float
from situ._src.numpy_ops.exports import numpy_export, tf

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable, Tensor, TensorLike


def _unary(name: str, convert: Callable, compute: Callable, doc: str) -> Callable:
    """Exports a function of one tensor, which `convert` makes of its argument."""

    def function(x: TensorLike) -> Tensor:
        return compute(convert(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\n    Args:\n      x: A tensor, an array, a number or nested lists of these.\n\n"
        "    Returns:\n      A tensor of the shape of `x`.\n    "
    )
    return numpy_export(name)(function)


def _binary(name: str, compute: Callable, doc: str, convert: Callable = promoted) -> Callable:
    """Exports a function of two tensors, which `convert` makes of its arguments."""

    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        return compute(*convert(x1, x2))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\n    Args:\n      x1: A tensor, an array, a number or nested lists of these.\n"
        "      x2: The same; its shape is broadcast with that of `x1`.\n\n"
        "    Returns:\n      A tensor.\n    "
    )
    return numpy_export(name)(function)


def _for_bools(of_bools, otherwise):
    """Returns a function that computes booleans differently."""
    return lambda *x: of_bools(*x) if x[0].dtype.is_bool else otherwise(*x)


def _as(dtype, compute):
    """Returns a function that converts its arguments to a type."""
    return lambda *x: compute(*[tf.cast(v, dtype) for v in x])


def _times(factor):
    return lambda x: x * tf.constant(factor, x.dtype)


# One argument


def _angle(z):
    if z.dtype.is_complex:
        return tf.math.angle(z)
    return tf.where(z < 0, tf.constant(math.pi, z.dtype), tf.zeros_like(z))


def _sinc(x):
    y = x * tf.constant(math.pi, x.dtype)
    is_zero = tf.equal(y, 0)
    safe = tf.where(is_zero, tf.ones_like(y), y)
    return tf.where(is_zero, tf.ones_like(y), tf.sin(safe) / safe)


def _cbrt(x):
    root = tf.pow(tf.abs(x), tf.constant(1 / 3, x.dtype))
    return tf.where(x < 0, -root, root)


def _power_of_2(x):
    return tf.pow(tf.constant(2, x.dtype), x)


def _none(x):
    return tf.zeros_like(x, "bool")


def _when_real(compute):
    """Returns a function that is false for elements of other types than floating-point ones."""
    return lambda x: compute(x) if x.dtype.is_floating else _none(x)


def _of_parts(compute, join):
    """Returns a test of numbers; of complex ones it joins the tests of both parts."""

    def test(x):
        if x.dtype.is_complex:
            return join(compute(tf.math.real(x)), compute(tf.math.imag(x)))
        return compute(x)

    return test


_is_nan = _of_parts(tf.math.is_nan, tf.logical_or)
_is_inf = _of_parts(tf.math.is_inf, tf.logical_or)
_is_finite = _of_parts(tf.math.is_finite, tf.logical_and)
_signbit = _for_bools(_none, lambda x: x < tf.zeros_like(x))
_invert = _for_bools(tf.logical_not, tf.bitwise.invert)


def _bool(x):
    return asarray(x, bool)


abs = _unary("abs", asarray, tf.abs, "Returns absolute values.")
absolute = _unary("absolute", asarray, tf.abs, "Returns absolute values.")
fabs = _unary("fabs", asarray, tf.abs, "Returns absolute values.")
arccos = _unary("arccos", floating, tf.acos, "Returns inverse cosines.")
arccosh = _unary("arccosh", floating, tf.acosh, "Returns inverse hyperbolic cosines.")
arcsin = _unary("arcsin", floating, tf.asin, "Returns inverse sines.")
arcsinh = _unary("arcsinh", floating, tf.asinh, "Returns inverse hyperbolic sines.")
arctan = _unary("arctan", floating, tf.atan, "Returns inverse tangents.")
arctanh = _unary("arctanh", floating, tf.atanh, "Returns inverse hyperbolic tangents.")
bitwise_not = _unary("bitwise_not", asarray, _invert, "Inverts each bit; negates booleans.")
cbrt = _unary("cbrt", floating, _cbrt, "Returns cube roots.")
ceil = _unary("ceil", floating, tf.math.ceil, "Returns the smallest integers not below elements.")
conj = _unary("conj", asarray, tf.math.conj, "Returns complex conjugates.")
conjugate = _unary("conjugate", asarray, tf.math.conj, "Returns complex conjugates.")
cos = _unary("cos", floating, tf.cos, "Returns cosines.")
cosh = _unary("cosh", floating, tf.cosh, "Returns hyperbolic cosines.")
deg2rad = _unary("deg2rad", floating, _times(math.pi / 180), "Converts degrees to radians.")
rad2deg = _unary("rad2deg", floating, _times(180 / math.pi), "Converts radians to degrees.")
exp = _unary("exp", floating, tf.exp, "Returns exponentials.")
exp2 = _unary(
    "exp2", floating, lambda x: tf.pow(tf.constant(2, x.dtype), x), "Returns powers of 2."
)
expm1 = _unary("expm1", floating, tf.math.expm1, "Returns exponentials less 1.")
fix = _unary(
    "fix", floating, lambda x: tf.where(x < 0, tf.math.ceil(x), tf.floor(x)), "Rounds towards 0."
)
floor = _unary("floor", floating, tf.floor, "Returns the largest integers not above elements.")
imag = _unary("imag", asarray, tf.math.imag, "Returns imaginary parts; zeros for real numbers.")
real = _unary("real", asarray, tf.math.real, "Returns real parts.")
iscomplex = _unary(
    "iscomplex", imag, lambda x: tf.not_equal(x, 0), "Returns whether imaginary parts are not 0."
)
isreal = _unary("isreal", imag, lambda x: tf.equal(x, 0), "Returns whether imaginary parts are 0.")
isfinite = _unary(
    "isfinite", floating, _is_finite, "Returns whether elements are neither infinite nor NaN."
)
isinf = _unary("isinf", floating, _is_inf, "Returns whether elements are infinite.")
isnan = _unary("isnan", floating, _is_nan, "Returns whether elements are NaN.")
isneginf = _unary(
    "isneginf",
    asarray,
    _when_real(lambda x: tf.equal(x, tf.constant(-numpy.inf, x.dtype))),
    "Returns whether elements are negative infinity.",
)
isposinf = _unary(
    "isposinf",
    asarray,
    _when_real(lambda x: tf.equal(x, tf.constant(numpy.inf, x.dtype))),
    "Returns whether elements are positive infinity.",
)
log = _unary("log", floating, tf.math.log, "Returns natural logarithms.")
log10 = _unary(
    "log10",
    floating,
    lambda x: tf.math.log(x) / tf.constant(math.log(10), x.dtype),
    "Returns decimal logarithms.",
)
log1p = _unary("log1p", floating, tf.math.log1p, "Returns natural logarithms of elements plus 1.")
log2 = _unary(
    "log2",
    floating,
    lambda x: tf.math.log(x) / tf.constant(math.log(2), x.dtype),
    "Returns binary logarithms.",
)
logical_not = _unary("logical_not", _bool, tf.logical_not, "Returns whether elements are 0.")
negative = _unary("negative", asarray, tf.negative, "Returns elements with the opposite sign.")
positive = _unary("positive", asarray, lambda x: x, "Returns a tensor as it is.")
reciprocal = _unary("reciprocal", asarray, tf.math.reciprocal, "Returns 1 divided by elements.")
signbit = _unary("signbit", asarray, _signbit, "Returns whether elements are less than 0.")
sin = _unary("sin", floating, tf.sin, "Returns sines.")
sinc = _unary("sinc", floating, _sinc, "Returns sin(pi x) / (pi x).")
sinh = _unary("sinh", floating, tf.sinh, "Returns hyperbolic sines.")
sqrt = _unary("sqrt", floating, tf.sqrt, "Returns square roots.")
square = _unary("square", asarray, tf.square, "Returns squares.")
tan = _unary("tan", floating, tf.tan, "Returns tangents.")
tanh = _unary("tanh", floating, tf.tanh, "Returns hyperbolic tangents.")


@numpy_export("angle")
def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """Returns angles of complex numbers.

    Args:
      z: A tensor, an array, a number or nested lists of these.
      deg: Whether the result is in degrees.

    Returns:
      A tensor of the shape of `z`.
    """
    result = _angle(floating(z))
    return rad2deg(result) if deg else result


@numpy_export("iscomplexobj")
def iscomplexobj(x: TensorLike) -> bool:
    """Returns whether a tensor has a complex type.

    Args:
      x: A tensor, an array, a number or nested lists of these.

    Returns:
      A bool.
    """
    return asarray(x).dtype.is_complex


@numpy_export("isrealobj")
def isrealobj(x: TensorLike) -> bool:
    """Returns whether a tensor has no complex type.

    Args:
      x: A tensor, an array, a number or nested lists of these.

    Returns:
      A bool.
    """
    return not iscomplexobj(x)


@numpy_export("sign")
def sign(x: TensorLike, out: None = None, where: None = None, **kwargs: Any) -> Tensor:
    """Returns signs of elements: -1, 0 or 1; of complex numbers their directions.

    Args:
      x: A tensor, an array, a number or nested lists of these.
      out: Must be None.
      where: Must be None.
      **kwargs: Must be empty.

    Returns:
      A tensor of the shape of `x`.

    Raises:
      ValueError: Another argument than `x` is given.
    """
    given = {"out": out, "where": where, **kwargs}
    for name in (n for n, value in given.items() if value is not None):
        raise ValueError(f"tf.experimental.numpy.sign does not support {name}.")
    return tf.sign(asarray(x))


@numpy_export("around")
def around(a: TensorLike, decimals: int = 0) -> Tensor:
    """Rounds elements; halves to even numbers.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      decimals: The number of decimal places; negative for places before the point.

    Returns:
      A tensor of the shape and type of `a`.
    """
    a = asarray(a)
    x = floating(a)
    factor = tf.constant(10.0 ** builtins.abs(decimals), x.dtype)
    rounded = tf.round(x * factor) / factor if decimals >= 0 else tf.round(x / factor) * factor
    return tf.cast(rounded, a.dtype)


@numpy_export("round")
def round(a: TensorLike, decimals: int = 0) -> Tensor:
    """Rounds elements; the same as `around`.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      decimals: The number of decimal places; negative for places before the point.

    Returns:
      A tensor of the shape and type of `a`.
    """
    return around(a, decimals)


# Two arguments


def _quotient(x1, x2):
    if not is_inexact(x1):
        dtype = default_float()
        x1, x2 = tf.cast(x1, dtype), tf.cast(x2, dtype)
    return tf.realdiv(x1, x2)


def _heaviside(x1, x2):
    step = tf.where(x1 > 0, tf.ones_like(x2), x2)
    return tf.where(x1 < 0, tf.zeros_like(x2), step)


def _log_of_sum(log_of_1_plus, power):
    """Returns the function log(b**x1 + b**x2), which does not overflow."""

    def compute(x1, x2):
        delta = x1 - x2
        smooth = tf.maximum(x1, x2) + log_of_1_plus(power(-tf.abs(delta)))
        return tf.where(tf.math.is_nan(delta), x1 + x2, smooth)  # equal infinities, or NaN

    return compute


def _comparison(compute):
    return _for_bools(_as("int32", compute), compute)


def _bools(x1, x2):
    return _bool(x1), _bool(x2)


def _promoted_floating(x1, x2):
    return [floating(v) for v in promoted(x1, x2)]


def _of_bits(compute):
    return _for_bools(lambda x1, x2: tf.cast(_as("int8", compute)(x1, x2), "bool"), compute)


def _common_divisor(x1, x2):
    """Returns greatest common divisors, by Euclid's algorithm."""
    if not (is_integer(x1) and is_integer(x2)):
        raise ValueError("Arguments to gcd must be integers.")

    def body(x1, x2):
        ended = tf.equal(x2, 0)
        rest = tf.math.floormod(x1, tf.where(ended, tf.ones_like(x2), x2))
        return tf.where(ended, x1, x2), tf.where(ended, x2, rest)

    x1, x2 = broadcast(tf.abs(x1), tf.abs(x2))
    return tf.while_loop(lambda _, x2: tf.reduce_any(tf.not_equal(x2, 0)), body, [x1, x2])[0]


def _common_multiple(x1, x2):
    divisor = _common_divisor(x1, x2)
    safe = tf.where(tf.equal(divisor, 0), tf.ones_like(divisor), divisor)
    return tf.abs(x1) * (tf.abs(x2) // safe)


add = _binary("add", _for_bools(tf.logical_or, tf.add), "Returns sums; of booleans x1 or x2.")
subtract = _binary("subtract", tf.subtract, "Returns differences.")
multiply = _binary(
    "multiply", _for_bools(tf.logical_and, tf.multiply), "Returns products; of booleans x1 and x2."
)
true_divide = _binary("true_divide", _quotient, "Returns quotients, floating-point ones.")
divide = _binary("divide", _quotient, "Returns quotients, floating-point ones.")
floor_divide = _binary(
    "floor_divide",
    _for_bools(_as("int8", tf.math.floordiv), tf.math.floordiv),
    "Returns quotients rounded down.",
)
mod = _binary(
    "mod",
    _for_bools(_as("int8", tf.math.floormod), tf.math.floormod),
    "Returns remainders, which have the signs of the divisors.",
)
remainder = _binary(
    "remainder",
    _for_bools(_as("int8", tf.math.floormod), tf.math.floormod),
    "Returns remainders, which have the signs of the divisors.",
)
maximum = _binary(
    "maximum", _for_bools(tf.logical_or, tf.maximum), "Returns the larger of two elements."
)
minimum = _binary(
    "minimum", _for_bools(tf.logical_and, tf.minimum), "Returns the smaller of two elements."
)
power = _binary("power", tf.pow, "Returns powers.")
float_power = _binary("float_power", tf.pow, "Returns powers.")
arctan2 = _binary("arctan2", tf.atan2, "Returns the angles of points (x2, x1).", _promoted_floating)
nextafter = _binary(
    "nextafter", tf.math.nextafter, "Returns the next numbers of the type from x1 towards x2."
)
heaviside = _binary(
    "heaviside",
    _heaviside,
    "Returns 0 where x1 < 0, x2 where it is 0, else 1.",
    _promoted_floating,
)
hypot = _binary(
    "hypot",
    lambda x1, x2: tf.sqrt(tf.square(x1) + tf.square(x2)),
    "Returns the lengths of hypotenuses.",
    _promoted_floating,
)
logaddexp = _binary(
    "logaddexp",
    _log_of_sum(tf.math.log1p, tf.exp),
    "Returns logarithms of sums of exponentials.",
    _promoted_floating,
)
logaddexp2 = _binary(
    "logaddexp2",
    _log_of_sum(
        lambda x: tf.math.log1p(x) / tf.constant(math.log(2), x.dtype),
        _power_of_2,
    ),
    "Returns binary logarithms of sums of powers of 2.",
    _promoted_floating,
)
gcd = _binary("gcd", _common_divisor, "Returns greatest common divisors of integers.")
lcm = _binary("lcm", _common_multiple, "Returns least common multiples of integers.")
bitwise_and = _binary(
    "bitwise_and", _of_bits(tf.bitwise.bitwise_and), "Returns the bits that are in both."
)
bitwise_or = _binary(
    "bitwise_or", _of_bits(tf.bitwise.bitwise_or), "Returns the bits that are in one or both."
)
bitwise_xor = _binary(
    "bitwise_xor", _of_bits(tf.bitwise.bitwise_xor), "Returns the bits that are in one only."
)
equal = _binary("equal", tf.equal, "Returns whether elements are equal.")
not_equal = _binary("not_equal", tf.not_equal, "Returns whether elements differ.")
greater = _binary("greater", _comparison(tf.greater), "Returns x1 > x2.")
greater_equal = _binary("greater_equal", _comparison(tf.greater_equal), "Returns x1 >= x2.")
less = _binary("less", _comparison(tf.less), "Returns x1 < x2.")
less_equal = _binary("less_equal", _comparison(tf.less_equal), "Returns x1 <= x2.")
logical_and = _binary(
    "logical_and", tf.logical_and, "Returns whether both elements are true.", _bools
)
logical_or = _binary(
    "logical_or", tf.logical_or, "Returns whether one of the elements is true.", _bools
)
logical_xor = _binary(
    "logical_xor", tf.math.logical_xor, "Returns whether just one element is true.", _bools
)


@numpy_export("divmod")
def divmod(x1: TensorLike, x2: TensorLike) -> tuple:
    """Returns quotients rounded down, and remainders.

    Args:
      x1: A tensor, an array, a number or nested lists of these.
      x2: The same; its shape is broadcast with that of `x1`.

    Returns:
      A tuple of two tensors.
    """
    return floor_divide(x1, x2), mod(x1, x2)


@numpy_export("clip")
def clip(a: TensorLike, a_min: TensorLike, a_max: TensorLike) -> Tensor:
    """Limits elements to a range.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      a_min: The smallest values, or None.
      a_max: The largest values, or None.

    Returns:
      A tensor.

    Raises:
      ValueError: Both limits are None.
    """
    if a_min is None and a_max is None:
        raise ValueError("Not more than one of `a_min` and `a_max` may be `None`.")
    if a_min is None:
        return minimum(a, a_max)
    if a_max is None:
        return maximum(a, a_min)
    a, a_min, a_max = promoted(a, a_min, a_max)
    return tf.minimum(tf.maximum(a, a_min), a_max)


@numpy_export("isclose")
def isclose(
    a: TensorLike,
    b: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Returns whether elements are equal within a tolerance.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      b: The same; its shape is broadcast with that of `a`.
      rtol: The tolerance relative to `b`.
      atol: The absolute tolerance.
      equal_nan: Whether NaNs are equal.

    Returns:
      A boolean tensor.
    """
    a, b = promoted(a, b)
    if not is_inexact(a):
        return tf.equal(a, b)
    size = tf.abs(b)
    limit = tf.constant(atol, size.dtype) + tf.constant(rtol, size.dtype) * size
    result = tf.logical_or(tf.abs(a - b) <= limit, tf.equal(a, b))
    return tf.logical_or(result, tf.logical_and(_is_nan(a), _is_nan(b))) if equal_nan else result


@numpy_export("allclose")
def allclose(
    a: TensorLike,
    b: TensorLike,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Returns whether all elements are equal within a tolerance.

    Args:
      a: A tensor, an array, a number or nested lists of these.
      b: The same; its shape is broadcast with that of `a`.
      rtol: The tolerance relative to `b`.
      atol: The absolute tolerance.
      equal_nan: Whether NaNs are equal.

    Returns:
      A boolean scalar.
    """
    return tf.reduce_all(isclose(a, b, rtol, atol, equal_nan))


@numpy_export("array_equal")
def array_equal(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Returns whether two tensors have the same shape and elements.

    Args:
      a1: A tensor, an array, a number or nested lists of these.
      a2: The same.

    Returns:
      A boolean scalar.
    """
    a1, a2 = promoted(a1, a2)

    def different():
        return tf.constant(False)

    def same_rank():
        same_shape = tf.reduce_all(tf.equal(tf.shape(a1), tf.shape(a2)))
        return choose(same_shape, lambda: tf.reduce_all(tf.equal(a1, a2)), different)

    return choose(tf.equal(tf.rank(a1), tf.rank(a2)), same_rank, different)
