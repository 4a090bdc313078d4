# SPDX-License-Identifier: Apache-2.0
"""small_math.py: mathematics of few ops that fewer programs use: logical_xor, polyval, ..."""
from situ._lib import shapes
from situ._lib.api import V1, export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op
from situ._lib.graph import scope
from situ._lib.math_ops import _pair


@export("math.logical_xor", v1="logical_xor")
def logical_xor(x, y, name="LogicalXor"):
    """True where exactly one is true."""
    return op("LogicalAnd", op("LogicalOr", x, y), op("LogicalNot", op("LogicalAnd", x, y)),
              name=name)


@export("math.lbeta", v1="lbeta")
def lbeta(x, name=None):
    """The logarithm of the beta function of the last dimension."""
    with scope(name, "lbeta") as full:
        x = convert_to_tensor(x)
        return op("Sub", op("Sum", op("Lgamma", x), [-1]), op("Lgamma", op("Sum", x, [-1])),
                  name=full)


@export("math.xlog1py")
def xlog1py(x, y, name=None):
    """x log(1 + y), and 0 where x is 0."""
    x, y = _pair(x, y)
    zero = op("Equal", x, op("ZerosLike", x))
    safe = op("SelectV2", zero, op("ZerosLike", y), y)
    return op("Mul", x, op("Log1p", safe), name=name)


def _steps(x):
    flat = op("Reshape", convert_to_tensor(x), [-1])
    return op("Slice", flat, [1], [-1]), op("Slice", flat, [0], op("Maximum", op(
        "Shape", flat) - 1, constant(0)))


@export("math.is_non_decreasing", "debugging.is_non_decreasing", v1="is_non_decreasing")
def is_non_decreasing(x, name=None):
    later, earlier = _steps(x)
    return op("All", op("LessEqual", earlier, later), [0], name=name)


@export("math.is_strictly_increasing", "debugging.is_strictly_increasing",
        v1="is_strictly_increasing")
def is_strictly_increasing(x, name=None):
    later, earlier = _steps(x)
    return op("All", op("Less", earlier, later), [0], name=name)


@export("searchsorted")
def searchsorted(sorted_sequence, values, side="left", out_type="int32", name=None):
    """Where values would go in rows that are sorted."""
    with scope(name, "SearchSorted"):
        rows, values = _pair(sorted_sequence, values)
        row, value = op("ExpandDims", rows, -2), op("ExpandDims", values, -1)
        if side not in ("left", "right"):
            raise ValueError("Argument `side` must be either 'right' or 'left'. Received: `side` = "
                             f"'{side}'.")
        below = op("Less" if side == "left" else "LessEqual", row, value)
        return op("Sum", cast(below, out_type), [-1])


@export("unravel_index")
def unravel_index(indices, dims, name=None):
    """The places, one column each, that numbers of elements mean in such a shape."""
    with scope(name, "UnravelIndex"):
        indices, dims = _pair(indices, dims)
        steps = op("Cumprod", dims, 0, exclusive=True, reverse=True)
        rank = shapes.as_shape(indices.shape).rank or 0
        steps = op("Reshape", steps, [-1] + [1] * rank)
        sizes = op("Reshape", dims, [-1] + [1] * rank)
        return op("FloorMod", op("FloorDiv", op("ExpandDims", indices, 0), steps), sizes)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x, shape_y):
    """The shape of both, broadcast."""
    a, b = shapes.as_shape(shape_x), shapes.as_shape(shape_y)
    if a.rank is None or b.rank is None:
        return shapes.TensorShape(None)
    made = []
    x, y = [1] * (b.rank - a.rank) + a.as_list(), [1] * (a.rank - b.rank) + b.as_list()
    for m, n in zip(x, y):
        if m is not None and n is not None and m != n and 1 not in (m, n):
            raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}")
        made.append(m if n == 1 else n if m == 1 or n is not None else m)
    return shapes.TensorShape(made)


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x, shape_y, name=None):
    """The same of shapes that are tensors."""
    with scope(name, "BroadcastArgs"):
        a, b = convert_to_tensor(shape_x), convert_to_tensor(shape_y)
        m, n = op("Size", a), op("Size", b)
        rank = op("Maximum", m, n)

        def wide(x, have):
            ones = op("Fill", op("Reshape", rank - have, [1]), constant(1, x.dtype))
            return op("ConcatV2", [ones, x], 0)
        a, b = wide(a, m), wide(b, n)
        return op("SelectV2", op("Equal", a, constant(1, a.dtype)), b, a)


@export("nn.weighted_moments", v1="nn.weighted_moments")
def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """Mean and variance of elements that count as often as their weights say."""
    keep = bool(keep_dims or keepdims)
    with scope(name, "weighted_moments"):
        x = convert_to_tensor(x)
        weights = cast(convert_to_tensor(frequency_weights), x.dtype) * op("OnesLike", x)
        axes = axes if isinstance(axes, (list, tuple)) else [axes]
        total = op("Sum", weights, axes, keep_dims=True)
        mean = op("DivNoNan", op("Sum", weights * x, axes, keep_dims=True), total)
        spread = op("DivNoNan", op("Sum", weights * op("SquaredDifference", x, mean), axes,
                                   keep_dims=True), total)
        return (mean, spread) if keep else (op("Squeeze", mean, axes), op("Squeeze", spread, axes))


@export("nn.sufficient_statistics", v1="nn.sufficient_statistics")
def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """Count, sum, sum of squares, shift: what moments follow from."""
    keep = bool(keep_dims or keepdims)
    with scope(name, "sufficient_statistics"):
        x, axes = convert_to_tensor(x), list(axes)
        sizes = op("GatherV2", op("Shape", x), op("FloorMod", axes, op("Rank", x)), 0)
        count = cast(op("Prod", sizes, [0]), x.dtype)
        moved = x if shift is None else x - shift
        return (count, op("Sum", moved, axes, keep_dims=keep),
                op("Sum", op("Square", moved), axes, keep_dims=keep), shift)


@export("nn.normalize_moments", v1="nn.normalize_moments")
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Mean and variance of sufficient statistics."""
    with scope(name, "normalize"):
        moved = mean_ss / counts
        mean = moved if shift is None else moved + shift
        return mean, variance_ss / counts - op("Square", moved)


@export("nn.log_poisson_loss", v1="nn.log_poisson_loss")
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """exp(x) - x z, with Stirling's approximation where all of it is wanted."""
    with scope(name, "log_poisson_loss"):
        z, x = _pair(targets, log_input)
        made = op("Exp", x) - x * z
        if compute_full_loss:
            more = z * op("Log", z) - z + 0.5 * op("Log", 6.283185307179586 * z)
            inside = op("LogicalAnd", op("GreaterEqual", z, op("ZerosLike", z)),
                        op("LessEqual", z, op("OnesLike", z)))
            made += op("SelectV2", inside, op("ZerosLike", z), more)
        return made


for _old, _row in (("mul", "Mul"), ("sub", "Sub"), ("neg", "Neg"), ("inv", "Reciprocal"),
                   ("select", "Select"), ("batch_matmul", "BatchMatMul"),
                   ("batch_matrix_inverse", "MatrixInverse"),
                   ("reverse_v2", "ReverseV2"), ("debugging.is_nan", "IsNan"),
                   ("debugging.is_inf", "IsInf"), ("debugging.is_finite", "IsFinite"),
                   ("tensor_scatter_add", "TensorScatterAdd"),
                   ("tensor_scatter_sub", "TensorScatterSub"), ("manip.tile", "Tile"),
                   ("manip.reverse", "ReverseV2"), ("manip.scatter_nd", "ScatterNd"),
                   ("guarantee_const", "Identity")):
    def _alias(*args, _row=_row, **words):
        return op(_row, *args, **words)
    V1.setdefault(_old, _alias)
