# SPDX-License-Identifier: Apache-2.0
"""math_more.py: mathematics that few programs use, made of other ops."""
from situ._lib import nest
from situ._lib.api import export
from situ._lib.array_ops import constant, convert_to_tensor, op, stack
from situ._lib.graph import scope
from situ._lib.math_ops import _pair as pair
from situ._lib.custom_gradient import custom_gradient


@export("math.log_sigmoid", v1="log_sigmoid")
def log_sigmoid(x, name=None):
    """log(sigmoid(x)), without overflow."""
    return op("Neg", op("Softplus", op("Neg", convert_to_tensor(x))), name=name)


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x, name=None):
    """1 / x, and 0 where x is 0."""
    x = convert_to_tensor(x)
    return op("DivNoNan", op("OnesLike", x), x, name=name)


@export("math.multiply_no_nan")
def multiply_no_nan(x, y, name=None):
    """x * y, and 0 where y is 0, whatever x is."""
    x, y = pair(x, y)
    zero = constant(0, x.dtype)
    none = op("LogicalAnd", op("Equal", y, zero), op("LogicalNot", op("IsFinite", x)))
    return op("Mul", op("SelectV2", none, zero, x), y, name=name)


@export("math.polyval")
def polyval(coeffs, x, name=None):
    """The polynomial with these coefficients, that of the highest power first."""
    if not isinstance(coeffs, (list, tuple)):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with scope(name, "polyval"):
        x = convert_to_tensor(x)
        if not coeffs:
            return op("ZerosLike", x)
        parts = [convert_to_tensor(c, x.dtype) for c in coeffs]
        value = parts[0]
        for part in parts[1:]:
            value = op("AddV2", part, op("Mul", value, x))
        return value


@export("linalg.cross", v1="cross")
def cross(a, b, name=None):
    """The cross products of vectors of three elements, the last dimension."""
    with scope(name, "Cross") as full:
        (a0, a1, a2), (b0, b1, b2) = (op("Unpack", v, num=3, axis=-1) for v in pair(a, b))
        return op("Pack", [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1,
                  name=full)


@export("identity_n")
def identity_n(input, name=None):
    """Each of the tensors as it is."""
    given = [convert_to_tensor(x) for x in input]
    if any(x.dtype.name == "string" for x in given):  # no kernel copies texts
        with scope(name, "IdentityN"):
            return [op("Identity", x) for x in given]
    return list(op("IdentityN", given, T=[x.dtype for x in given], name=name))


@export("parallel_stack")
def parallel_stack(values, name="parallel_stack"):
    """The tensors side by side along a new first axis."""
    return stack(values, 0, name)


@export("grad_pass_through")
def grad_pass_through(f):
    """f, with the gradient of the identity."""
    @custom_gradient
    def call(*args, **words):
        def back(*grads):
            return grads[0] if len(args) == 1 else nest.pack_sequence_as(args, list(grads))
        return f(*args, **words), back
    return call


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """log(cumsum(exp(x))) along an axis, exact for elements of any size."""
    return op("CumulativeLogsumexp", convert_to_tensor(x), axis, exclusive=exclusive,
              reverse=reverse, name=name)
