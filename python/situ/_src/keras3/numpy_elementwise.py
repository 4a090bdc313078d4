# SPDX-License-Identifier: Apache-2.0
"""numpy_elementwise.py: element-wise functions of keras.ops.numpy."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy

from situ._src.keras3 import numpy_sorting, operands
from situ._src.keras3.dtypes import is_float_dtype
from situ._src.keras3.exports import tf
from situ._src.keras3.operands import floating, promoted, promoted_floating, tensor
from situ._src.keras3.operation import operation

_op = operation("numpy", "numpy")


def _define(name, convert, compute, doc, arity):
    """Exports an element-wise function of one or two arguments."""

    def unary(x: Any):
        return compute(convert(x))

    def binary(x1: Any, x2: Any):
        return compute(*convert(x1, x2))

    function: Callable = unary if arity == 1 else binary
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n    Args:\n      " + (
        "x: Tensor." if arity == 1 else "x1: Tensor or number.\n      x2: Tensor or number."
    )
    return _op(function)


def _unary(name, convert, compute, doc):
    return _define(name, convert, compute, doc, 1)


def _binary(name, convert, compute, doc):
    return _define(name, convert, compute, doc, 2)


def _bool(x):
    return tf.cast(tensor(x), "bool")


def _bools(x1, x2):
    return _bool(x1), _bool(x2)


def _same(x):
    """Returns the integers unchanged, for functions that leave them alone."""
    return tensor(x)


def _of_floats(compute):
    """Applies a function to floating-point tensors only; others have no fractions."""
    return lambda x: compute(x) if is_float_dtype(x.dtype.name) else x


def _cbrt(x):
    return tf.sign(x) * tf.pow(tf.abs(x), 1.0 / 3.0)


def _exp2(x):
    return tf.pow(tf.cast(2.0, x.dtype), x)


def _log_base(base):
    factor = 1.0 / math.log(base)
    return lambda x: tf.math.log(x) * tf.cast(factor, x.dtype)


def _sinc(x):
    y = x * math.pi
    is_zero = tf.equal(y, 0)
    safe = tf.where(is_zero, tf.ones_like(y), y)
    return tf.where(is_zero, tf.ones_like(y), tf.sin(safe) / safe)


def _nan_false(compute):
    return lambda x: compute(x) if is_float_dtype(x.dtype.name) else tf.zeros(tf.shape(x), "bool")


def _finite(x):
    return tf.math.is_finite(x) if is_float_dtype(x.dtype.name) else tf.ones(tf.shape(x), "bool")


def _signbit(x):
    if x.dtype.name == "bool":
        return tf.zeros_like(x)
    if not is_float_dtype(x.dtype.name):
        return tf.less(x, tf.zeros_like(x))
    return tf.less(x, 0) | (tf.equal(x, 0) & tf.less(1 / x, 0))


def _floor_to_float(compute):
    def run(x):
        x = floating(x) if x.dtype.name in ("bool",) or not is_float_dtype(x.dtype.name) else x
        return compute(x)

    return run


absolute = _unary(
    "absolute", _same, lambda x: x if x.dtype.name == "bool" else tf.abs(x), "Absolute value."
)
abs = _unary("abs", _same, lambda x: x if x.dtype.name == "bool" else tf.abs(x), "Absolute value.")
fabs = _unary("fabs", floating, tf.abs, "Absolute value as a floating-point number.")
arccos = _unary("arccos", floating, tf.acos, "Inverse cosine.")
arccosh = _unary("arccosh", floating, tf.acosh, "Inverse hyperbolic cosine.")
arcsin = _unary("arcsin", floating, tf.asin, "Inverse sine.")
arcsinh = _unary("arcsinh", floating, tf.asinh, "Inverse hyperbolic sine.")
arctan = _unary("arctan", floating, tf.atan, "Inverse tangent.")
arctanh = _unary("arctanh", floating, tf.atanh, "Inverse hyperbolic tangent.")
cbrt = _unary("cbrt", floating, _cbrt, "Cube root.")
ceil = _unary("ceil", _same, _floor_to_float(tf.math.ceil), "Smallest integer not below x.")
conj = _unary("conj", _same, lambda x: x, "Complex conjugate; real values are unchanged.")
conjugate = _unary("conjugate", _same, lambda x: x, "Complex conjugate; real values are unchanged.")
real = _unary("real", _same, lambda x: x, "Real part; real values are unchanged.")
imag = _unary("imag", _same, tf.zeros_like, "Imaginary part; zeros for real values.")
cos = _unary("cos", floating, tf.cos, "Cosine.")
cosh = _unary("cosh", floating, tf.cosh, "Hyperbolic cosine.")
deg2rad = _unary("deg2rad", floating, lambda x: x * (math.pi / 180.0), "Degrees to radians.")
rad2deg = _unary("rad2deg", floating, lambda x: x * (180.0 / math.pi), "Radians to degrees.")
exp = _unary("exp", floating, tf.exp, "Exponential.")
exp2 = _unary("exp2", floating, _exp2, "2 to the power x.")
expm1 = _unary("expm1", floating, tf.math.expm1, "exp(x) - 1.")
floor = _unary("floor", _same, _floor_to_float(tf.floor), "Largest integer not above x.")
isfinite = _unary("isfinite", _same, _finite, "Whether elements are finite.")
isinf = _unary("isinf", _same, _nan_false(tf.math.is_inf), "Whether elements are infinite.")
isnan = _unary("isnan", _same, _nan_false(tf.math.is_nan), "Whether elements are NaN.")
isneginf = _unary(
    "isneginf", _same, _nan_false(lambda x: tf.math.is_inf(x) & (x < 0)), "Whether x is -inf."
)
isposinf = _unary(
    "isposinf", _same, _nan_false(lambda x: tf.math.is_inf(x) & (x > 0)), "Whether x is +inf."
)
isreal = _unary("isreal", _same, lambda x: tf.ones(tf.shape(x), "bool"), "Whether x is real.")
log = _unary("log", floating, tf.math.log, "Natural logarithm.")
log10 = _unary("log10", floating, _log_base(10.0), "Logarithm to base 10.")
log1p = _unary("log1p", floating, tf.math.log1p, "log(1 + x).")
log2 = _unary("log2", floating, _log_base(2.0), "Logarithm to base 2.")
logical_not = _unary("logical_not", _bool, tf.logical_not, "Logical not.")
negative = _unary("negative", _same, tf.negative, "-x.")
reciprocal = _unary("reciprocal", floating, lambda x: 1 / x, "1 / x.")
sign = _unary("sign", _same, tf.sign, "Sign of elements.")
signbit = _unary("signbit", _same, _signbit, "Whether the sign bit is set.")
sin = _unary("sin", floating, tf.sin, "Sine.")
sinc = _unary("sinc", floating, _sinc, "sin(pi x) / (pi x).")
sinh = _unary("sinh", floating, tf.sinh, "Hyperbolic sine.")
sqrt = _unary("sqrt", floating, tf.sqrt, "Square root.")
square = _unary(
    "square",
    lambda x: tf.cast(tensor(x), "int32") if tensor(x).dtype.name == "bool" else tensor(x),
    tf.square,
    "x * x.",
)
tan = _unary("tan", floating, tf.tan, "Tangent.")
tanh = _unary("tanh", floating, tf.tanh, "Hyperbolic tangent.")
trunc = _unary(
    "trunc",
    _same,
    _of_floats(lambda x: tf.where(x < 0, tf.math.ceil(x), tf.floor(x))),
    "Rounds towards zero.",
)


def _divide(x1, x2):
    return tf.math.divide(x1, x2)


def _logaddexp(x1, x2):
    most = tf.maximum(x1, x2)
    delta = x1 - x2
    return tf.where(tf.math.is_nan(delta), x1 + x2, most + tf.math.log1p(tf.exp(-tf.abs(delta))))


def _logaddexp2(x1, x2):
    log2_of = math.log(2.0)
    return _logaddexp(x1 * log2_of, x2 * log2_of) / log2_of


def _skip_nan(compute):
    """Returns a function that ignores a NaN of one operand."""

    def run(x1, x2):
        if not is_float_dtype(x1.dtype.name):
            return compute(x1, x2)
        return tf.where(tf.math.is_nan(x1), x2, tf.where(tf.math.is_nan(x2), x1, compute(x1, x2)))

    return run


def _add(x1, x2):
    return tf.logical_or(x1, x2) if x1.dtype.name == "bool" else tf.add(x1, x2)


def _multiply(x1, x2):
    return tf.logical_and(x1, x2) if x1.dtype.name == "bool" else tf.multiply(x1, x2)


def _integers(x1, x2):
    """Promotes as result_type does; bool becomes int32."""
    x1, x2 = promoted(x1, x2)
    return (tf.cast(x1, "int32"), tf.cast(x2, "int32")) if x1.dtype.name == "bool" else (x1, x2)


def _power(x1, x2):
    return tf.pow(x1, x2)


def _fmod(x1, x2):
    rest = tf.math.floormod(tf.abs(x1), tf.abs(x2))
    return tf.where(x1 < 0, -rest, rest)


def _mod(x1, x2):
    return tf.math.floormod(x1, x2)


def _heaviside(x1, x2):
    return tf.where(x1 < 0, tf.zeros_like(x1), tf.where(x1 > 0, tf.ones_like(x1), x2))


def _gcd(x1, x2):
    x1, x2 = tf.broadcast_to(x1, _joint(x1, x2)), tf.broadcast_to(x2, _joint(x1, x2))
    done = tf.while_loop(
        lambda a, b: tf.reduce_any(tf.not_equal(b, 0)),
        lambda a, b: (
            tf.where(tf.equal(b, 0), a, b),
            tf.where(tf.equal(b, 0), b, tf.math.floormod(a, tf.where(tf.equal(b, 0), 1, b))),
        ),
        (tf.abs(x1), tf.abs(x2)),
    )
    return done[0]


def _joint(x1, x2):
    return tf.broadcast_dynamic_shape(tf.shape(x1), tf.shape(x2))


def _lcm(x1, x2):
    common = _gcd(x1, x2)
    safe = tf.where(tf.equal(common, 0), tf.ones_like(common), common)
    return tf.abs(x1 * x2) // safe


add = _binary("add", promoted, _add, "x1 + x2.")
subtract = _binary("subtract", promoted, tf.subtract, "x1 - x2.")
multiply = _binary("multiply", promoted, _multiply, "x1 * x2.")
divide = _binary("divide", promoted_floating, _divide, "x1 / x2.")
true_divide = _binary("true_divide", promoted_floating, _divide, "x1 / x2.")
divide_no_nan = _binary(
    "divide_no_nan", promoted_floating, tf.math.divide_no_nan, "x1 / x2, and 0 where x2 is 0."
)
floor_divide = _binary("floor_divide", _integers, tf.math.floordiv, "Floor of x1 / x2.")
mod = _binary("mod", _integers, _mod, "Remainder of x1 / x2 with the sign of x2.")
fmod = _binary("fmod", _integers, _fmod, "Remainder of x1 / x2 with the sign of x1.")
power = _binary("power", promoted, _power, "x1 to the power x2.")
maximum = _binary("maximum", promoted, tf.maximum, "The larger elements.")
minimum = _binary("minimum", promoted, tf.minimum, "The smaller elements.")
fmax = _binary("fmax", promoted, _skip_nan(tf.maximum), "The larger elements, ignoring NaN.")
fmin = _binary("fmin", promoted, _skip_nan(tf.minimum), "The smaller elements, ignoring NaN.")
arctan2 = _binary("arctan2", promoted_floating, tf.atan2, "Angle of the point (x2, x1).")
hypot = _binary(
    "hypot", promoted_floating, lambda a, b: tf.sqrt(a * a + b * b), "sqrt(x1**2 + x2**2)."
)
logaddexp = _binary("logaddexp", promoted_floating, _logaddexp, "log(exp(x1) + exp(x2)).")
logaddexp2 = _binary("logaddexp2", promoted_floating, _logaddexp2, "log2(2**x1 + 2**x2).")
heaviside = _binary("heaviside", promoted_floating, _heaviside, "0 below 0, x2 at 0, 1 above 0.")
ldexp = _binary(
    "ldexp", promoted_floating, lambda a, b: a * tf.pow(tf.cast(2.0, a.dtype), b), "x1 * 2**x2."
)
gcd = _binary("gcd", promoted, _gcd, "Greatest common divisor.")
lcm = _binary("lcm", promoted, _lcm, "Least common multiple.")
equal = _binary("equal", promoted, tf.equal, "Whether elements are equal.")
not_equal = _binary("not_equal", promoted, tf.not_equal, "Whether elements differ.")
greater = _binary("greater", _integers, tf.greater, "x1 > x2.")
greater_equal = _binary("greater_equal", _integers, tf.greater_equal, "x1 >= x2.")
less = _binary("less", _integers, tf.less, "x1 < x2.")
less_equal = _binary("less_equal", _integers, tf.less_equal, "x1 <= x2.")
logical_and = _binary("logical_and", _bools, tf.logical_and, "Logical and.")
logical_or = _binary("logical_or", _bools, tf.logical_or, "Logical or.")
logical_xor = _binary("logical_xor", _bools, tf.math.logical_xor, "Exclusive or.")


def _bits(name, compute, doc):
    def function(x: Any, y: Any):
        return compute(*promoted(x, y))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n    Args:\n      x: Integer tensor.\n      y: Integer tensor."
    return _op(function)


def _of_bits(compute, of_bools):
    return lambda x, y: of_bools(x, y) if x.dtype.name == "bool" else compute(x, y)


bitwise_and = _bits("bitwise_and", _of_bits(tf.bitwise.bitwise_and, tf.logical_and), "x & y.")
bitwise_or = _bits("bitwise_or", _of_bits(tf.bitwise.bitwise_or, tf.logical_or), "x | y.")
bitwise_xor = _bits("bitwise_xor", _of_bits(tf.bitwise.bitwise_xor, tf.not_equal), "x ^ y.")
for _name in ("bitwise_left_shift", "left_shift"):
    _bits(_name, tf.bitwise.left_shift, "x << y.")
for _name in ("bitwise_right_shift", "right_shift"):
    _bits(_name, tf.bitwise.right_shift, "x >> y.")


def _invert(x):
    return tf.logical_not(x) if x.dtype.name == "bool" else tf.bitwise.invert(x)


bitwise_not = _unary("bitwise_not", _same, _invert, "~x.")
bitwise_invert = _unary("bitwise_invert", _same, _invert, "~x.")


@_op
def clip(x: Any, x_min: Any, x_max: Any):
    """Limits elements to [x_min, x_max].

    Args:
      x: Tensor.
      x_min: Lower limit.
      x_max: Upper limit.
    """
    x = tensor(x)
    x = tf.cast(x, "int32") if x.dtype.name == "bool" else x
    return tf.minimum(tf.maximum(x, tf.cast(x_min, x.dtype)), tf.cast(x_max, x.dtype))


@_op
def isclose(x1: Any, x2: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False):
    """Whether elements are equal within a tolerance.

    Args:
      x1: Tensor.
      x2: Tensor.
      rtol: Tolerance relative to x2.
      atol: Absolute tolerance.
      equal_nan: Whether two NaNs are equal.
    """
    x1, x2 = promoted_floating(x1, x2)
    near = tf.abs(x1 - x2) <= atol + rtol * tf.abs(x2)
    result = tf.where(tf.math.is_finite(x1) & tf.math.is_finite(x2), near, tf.equal(x1, x2))
    return result | (tf.math.is_nan(x1) & tf.math.is_nan(x2)) if equal_nan else result


@_op
def allclose(x1: Any, x2: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False):
    """Whether all elements are equal within a tolerance.

    Args:
      x1: Tensor.
      x2: Tensor.
      rtol: Tolerance relative to x2.
      atol: Absolute tolerance.
      equal_nan: Whether two NaNs are equal.
    """
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


@_op
def nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None):
    """Replaces NaN and infinite elements.

    Args:
      x: Tensor.
      nan: Value for NaN.
      posinf: Value for +inf; default: the largest finite number.
      neginf: Value for -inf; default: the smallest finite number.
    """
    x = tensor(x)
    if not is_float_dtype(x.dtype.name):
        return x
    most = posinf if posinf is not None else x.dtype.max
    least = neginf if neginf is not None else x.dtype.min
    x = tf.where(tf.math.is_nan(x), tf.cast(nan, x.dtype), x)
    x = tf.where(tf.equal(x, math.inf), tf.cast(most, x.dtype), x)
    return tf.where(tf.equal(x, -math.inf), tf.cast(least, x.dtype), x)


@_op
def round(x: Any, decimals: int = 0):
    """Rounds to a number of decimals, halves to even.

    Args:
      x: Tensor.
      decimals: Number of decimals.
    """
    x = tensor(x)
    if not is_float_dtype(x.dtype.name):
        if decimals >= 0:
            return x
        factor = tf.cast(10 ** (-decimals), "float32")
        return tf.cast(tf.round(tf.cast(x, "float32") / factor) * factor, x.dtype)
    if decimals == 0:
        return tf.round(x)
    factor = tf.cast(10.0**decimals, x.dtype)
    return tf.round(x * factor) / factor


@_op
def where(condition: Any, x1: Any = None, x2: Any = None):
    """Elements of x1 where a condition holds, otherwise of x2.

    Args:
      condition: Bool tensor.
      x1: Tensor; None together with x2: the result is `nonzero(condition)`.
      x2: Tensor.

    Raises:
      ValueError: If only one of x1 and x2 is None.
    """
    if (x1 is None) != (x2 is None):
        raise ValueError(
            "`x1` and `x2` either both should be `None` or both should have non-None value."
        )
    if x1 is None:
        return numpy_sorting.nonzero(condition)
    x1, x2 = promoted(x1, x2)
    return tf.where(_bool(condition), x1, x2)


@_op
def select(condlist: Any, choicelist: Any, default: Any = 0):
    """Elements of the first of several tensors whose condition holds.

    Args:
      condlist: List of bool tensors.
      choicelist: List of tensors.
      default: Value where no condition holds.
    """
    *choices, result = promoted(*choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices))):
        result = tf.where(_bool(condition), choice, result)
    return result


@_op
def i0(x: Any):
    """Modified Bessel function of the first kind, order 0.

    Args:
      x: Tensor; integers become floating-point numbers.
    """
    x = tf.abs(floating(x))
    return tf.where(x < 3.75, _i0_small(tf.minimum(x, 3.75)), _i0_large(tf.maximum(x, 3.75)))


_I0_SMALL = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
_I0_LARGE = (
    *(0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281),
    *(-0.02057706, 0.02635537, -0.01647633, 0.00392377),
)


def _polynomial(coefficients, x):
    result = tf.zeros_like(x)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def _i0_small(x):
    return _polynomial(_I0_SMALL, tf.square(x / 3.75))


def _i0_large(x):
    return tf.exp(x) / tf.sqrt(x) * _polynomial(_I0_LARGE, 3.75 / x)


@_op
def angle(x: Any):
    """Angle of complex numbers: 0 or pi for real ones.

    Args:
      x: Tensor of real numbers; integers become floating-point numbers.
    """
    x = floating(x)
    return tf.where(x < 0, tf.cast(math.pi, x.dtype), tf.zeros_like(x))


@_op
def unravel_index(indices: Any, shape: Any):
    """Returns the coordinates of flat indices as a tuple of tensors.

    Args:
      indices: Integer tensor.
      shape: Shape that the indices refer to.
    """
    indices = tensor(indices)
    total = int(numpy.prod(shape))
    indices = tf.where(indices < 0, indices + total, indices)
    result = []
    for size in reversed(tuple(shape)):
        result.append(tf.math.floormod(indices, size))
        indices = indices // size
    return builtins.tuple(reversed(result))


def _window(compute):
    def make(x):
        count = int(x)
        return operands.tensor(numpy.asarray(compute(count), "float32"))

    return make


@_op
def bartlett(x: Any):
    """Bartlett (triangular) window of a length, as a float32 vector.

    Args:
      x: Number of elements.
    """
    return _window(numpy.bartlett)(x)


@_op
def blackman(x: Any):
    """Blackman window of a length, as a float32 vector.

    Args:
      x: Number of elements.
    """
    return _window(numpy.blackman)(x)


@_op
def hamming(x: Any):
    """Hamming window of a length, as a float32 vector.

    Args:
      x: Number of elements.
    """
    return _window(numpy.hamming)(x)


@_op
def hanning(x: Any):
    """Hann window of a length, as a float32 vector.

    Args:
      x: Number of elements.
    """
    return _window(numpy.hanning)(x)


@_op
def kaiser(x: Any, beta: Any):
    """Kaiser window of a length.

    Args:
      x: Length.
      beta: Shape parameter.
    """
    return _window(lambda count: numpy.kaiser(count, float(beta)))(x)
