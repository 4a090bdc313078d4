# SPDX-License-Identifier: Apache-2.0
"""reduction_ops.py: reductions that are made of other ops, norms, linspace."""

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op


def _running(row, default):
    def scan(x, axis=0, exclusive=False, reverse=False, name=None):
        return op(row, x, axis, exclusive=exclusive, reverse=reverse, name=name or default)

    return scan


export("cumsum", "math.cumsum")(_running("Cumsum", "Cumsum"))
export("math.cumprod", v1="cumprod")(_running("Cumprod", "Cumprod"))


def swapped(tensor, axis):
    """The order that exchanges an axis and the last one; None where it is the last one."""
    rank = tensor_shape.as_shape(tensor.shape).rank
    if axis in (-1, None) or rank is not None and axis == rank - 1:
        return None
    if rank is None:
        count = op("Rank", tensor)
        last, places = op("Sub", count, 1), op("Range", 0, count, 1)
        axis = op("FloorMod", constant(axis, "int32"), count)
        return op(
            "SelectV2",
            op("Equal", places, axis),
            last,
            op("SelectV2", op("Equal", places, last), axis, places),
        )
    if not -rank <= axis < rank:
        raise errors.invalid_argument(f"Axis {axis} is out of range for rank {rank}.")
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return order


def moved_last(tensor, axis):
    """The order that moves an axis behind all others; None where it is the last one."""
    order = swapped(tensor, axis)
    if order is None or isinstance(order, list) and len(order) <= 2:
        return order
    if isinstance(order, list):
        axis %= len(order)
        return [i for i in range(len(order)) if i != axis] + [axis]
    count = op("Rank", tensor)
    axis = op("FloorMod", constant(axis, "int32"), count)
    before = op("Range", 0, op("Sub", count, 1), 1)
    passed = op("SelectV2", op("GreaterEqual", before, axis), op("Add", before, 1), before)
    return op("ConcatV2", [passed, op("Reshape", axis, [1])], 0)


# Reductions made of others.


def _keep(words, keepdims):
    return bool(words.get("keep_dims") if keepdims is None else keepdims)


@export("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, **words):
    """log(sum(exp(x))), without overflow."""
    with scope(name, "ReduceLogSumExp"):
        x = convert_to_tensor(input_tensor)
        axis = words.get("reduction_indices") if axis is None else axis
        most = op("StopGradient", OPS["Max"](x, axis, True))
        most = op("SelectV2", op("IsFinite", most), most, op("ZerosLike", most))
        total = op("Log", OPS["Sum"](op("Exp", op("Sub", x, most)), axis, True))
        made = op("Add", total, most)
        if _keep(words, keepdims):
            return made
        small = OPS["Sum"](x, axis, False)
        return op("Reshape", made, shape_op(small))


@export("math.reduce_variance")
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    x = convert_to_tensor(input_tensor)
    if not x.dtype.is_floating:
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype!r}.")
    far = op("Sub", x, OPS["Mean"](x, axis, True))
    return OPS["Mean"](op("Square", far), axis, keepdims, name=name)


@export("math.reduce_std")
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    return op("Sqrt", reduce_variance(input_tensor, axis, keepdims), name=name)


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    x = convert_to_tensor(input_tensor)
    return op("Sqrt", OPS["Sum"](op("Square", x), axis, keepdims), name=name)


@export("linalg.trace", v1="trace")
def trace(x, name=None):
    return OPS["Sum"](op("MatrixDiagPart", x), constant([-1], "int32"), name=name)


@export("linalg.matrix_transpose", v1="matrix_transpose")
def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    a = convert_to_tensor(a)
    rank = tensor_shape.as_shape(a.shape).rank
    return op("Transpose", a, list(range(rank - 2)) + [rank - 1, rank - 2], name=name)


@export("linalg.matvec")
def matvec(
    a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None
):
    from situ._src.ops.math_ops import matmul

    made = matmul(a, op("ExpandDims", b, -1), transpose_a=transpose_a or adjoint_a)
    return op("Squeeze", made, [-1], name=name)


@export("linalg.logdet")
def logdet(matrix, name=None):
    half = op("Log", op("MatrixDiagPart", op("Cholesky", matrix)))
    return op("Mul", OPS["Sum"](half, constant([-1], "int32")), constant(2, half.dtype), name=name)


@export("linalg.norm", "norm")
def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """Norms of vectors: 1, 2, inf, any p; 'euclidean' and 'fro'."""
    keep = bool(keep_dims if keepdims is None else keepdims)
    with scope(name, "norm"):
        tensor = convert_to_tensor(tensor)
        if ord in ("euclidean", "fro", 2, 2.0):
            return op("Sqrt", OPS["Sum"](op("Square", tensor), axis, keep))
        size = op("Abs", tensor)
        if ord == 1:
            return OPS["Sum"](size, axis, keep)
        if ord == float("inf"):
            return OPS["Max"](size, axis, keep)
        power = constant(float(ord), tensor.dtype)
        total = OPS["Sum"](op("Pow", size, power), axis, keep)
        return op("Pow", total, constant(1 / float(ord), tensor.dtype))


def _linspace_float64(start, stop, num):
    """numpy.linspace, by ops of the engine."""
    if num < 1:
        raise errors.InvalidArgumentError(None, None, f"Requires num > 0: {num}")
    step = (stop - start) / max(num - 1, 1)
    places = op("Range", constant(0, "int64"), constant(num, "int64"), constant(1, "int64"))
    made = op("Add", op("Mul", cast(places, "float64"), constant(step, "float64")), start)
    last = constant([stop if num > 1 else start], "float64")
    return op("ConcatV2", [op("Slice", made, [0], [num - 1]), last], 0)


@export("linspace", v1="lin_space")
def linspace(start, stop, num, name=None, axis=0):
    """`num` numbers from start to stop, equally far apart."""
    unsupported("linspace", axis=(axis, 0))
    kind = (
        dtype_of(start)
        or dtype_of(stop)
        or as_dtype("float64" if isinstance(start, int) and isinstance(stop, int) else "float32")
    )
    kind = kind if kind.is_floating else as_dtype("float64")
    if dtype_of(start) is None and dtype_of(stop) is None and isinstance(num, int):
        with scope(name, "LinSpace"):
            return cast(_linspace_float64(float(start), float(stop), num), kind)
    with scope(name, "linspace"):
        start, stop = (cast(convert_to_tensor(v), kind) for v in (start, stop))
        count = cast(convert_to_tensor(num, "int32"), kind)
        one = constant(1, kind)
        step = op("RealDiv", op("Sub", stop, start), op("Maximum", op("Sub", count, one), one))
        places = cast(
            op(
                "Range", constant(0, "int32"), convert_to_tensor(num, "int32"), constant(1, "int32")
            ),
            kind,
        )
        return op("Add", start, op("Mul", places, step))


@export(v1=("arg_max",))
def arg_max(input, dimension, output_type="int64", name=None):
    return op("ArgMax", input, dimension, output_type=as_dtype(output_type), name=name)


@export(v1=("arg_min",))
def arg_min(input, dimension, output_type="int64", name=None):
    return op("ArgMin", input, dimension, output_type=as_dtype(output_type), name=name)
