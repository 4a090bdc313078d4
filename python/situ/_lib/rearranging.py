# SPDX-License-Identifier: Apache-2.0
"""rearranging.py: elements moved between dimensions, in order along them, added up."""
from situ._lib import errors, shapes
from situ._lib.api import OPS, export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op, shape as shape_op
from situ._lib.dtypes import as_dtype, dtype_of
from situ._lib.graph import scope
from situ._lib.keywords import unsupported


def _running(row, default):
    def scan(x, axis=0, exclusive=False, reverse=False, name=None):
        return op(row, x, axis, exclusive=exclusive, reverse=reverse, name=name or default)
    return scan


export("cumsum", "math.cumsum")(_running("Cumsum", "Cumsum"))
export("math.cumprod", v1="cumprod")(_running("Cumprod", "Cumprod"))


def swapped(tensor, axis):
    """The order that exchanges an axis and the last one; None where it is the last one."""
    rank = shapes.as_shape(tensor.shape).rank
    if axis in (-1, None) or rank is not None and axis == rank - 1:
        return None
    if rank is None:
        count = op("Rank", tensor)
        last, places = op("Sub", count, 1), op("Range", 0, count, 1)
        axis = op("FloorMod", constant(axis, "int32"), count)
        return op("SelectV2", op("Equal", places, axis), last,
                  op("SelectV2", op("Equal", places, last), axis, places))
    if not -rank <= axis < rank:
        raise errors.wrong_argument(f"Axis {axis} is out of range for rank {rank}.")
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


def sizes_of(tensor, what):
    """The sizes of the dimensions: numbers, or tensors where only a run will know."""
    known = shapes.as_shape(tensor.shape)
    if known.rank is None:
        raise ValueError(f"situ has {what} for tensors of known rank only.")
    sizes = known.as_list()
    whole = shape_op(tensor) if None in sizes else None
    return [whole[i] if n is None else n for i, n in enumerate(sizes)]


def _check_divisible(sizes, by, tensor, row, name):
    for size in sizes:
        if isinstance(size, int) and size % by:
            raise errors.wrong_argument(
                f"Dimension size must be evenly divisible by {by} but is {size} for "
                f"'{name or row}' (op: '{row}') with input shapes: "
                f"{str(shapes.as_shape(tensor.shape).as_list()).replace(' ', '')}.")


def _channels_last(function):
    """The function for images of both layouts."""
    def call(input, block_size, data_format="NHWC", name=None):
        if data_format not in ("NHWC", "NCHW"):
            raise ValueError(f"data_format must be NHWC or NCHW, not {data_format}.")
        if data_format == "NHWC":
            return function(convert_to_tensor(input), block_size, name)
        made = function(op("Transpose", convert_to_tensor(input), [0, 2, 3, 1]), block_size, None)
        return op("Transpose", made, [0, 3, 1, 2], name=name)
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


@export("space_to_depth", "nn.space_to_depth")
@_channels_last
def space_to_depth(x, b, name):
    """Blocks of pixels become channels."""
    batch, height, width, depth = sizes_of(x, "space_to_depth")
    _check_divisible((height, width), b, x, "SpaceToDepth", name)
    x = op("Reshape", x, [batch, height // b, b, width // b, b, depth])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height // b, width // b, b * b * depth], name=name)


@export("nn.depth_to_space", v1="depth_to_space")
@_channels_last
def depth_to_space(x, b, name):
    """Channels become blocks of pixels."""
    batch, height, width, depth = sizes_of(x, "depth_to_space")
    _check_divisible((depth,), b * b, x, "DepthToSpace", name)
    x = op("Reshape", x, [batch, height, width, b, b, depth // (b * b)])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height * b, width * b, depth // (b * b)], name=name)


@export("space_to_batch_nd", v2="space_to_batch")
def space_to_batch_nd(input, block_shape, paddings, name=None):
    """Blocks of dimensions become batches."""
    x = convert_to_tensor(input)
    blocks = [int(b) for b in block_shape]
    n = len(blocks)
    rank = shapes.as_shape(x.shape).rank
    x = op("Pad", x, [[0, 0]] + [[int(v) for v in p] for p in paddings] +
           [[0, 0]] * (rank - n - 1))
    batch, *rest = sizes_of(x, "space_to_batch_nd")
    cut = [batch] + [v for s, b in zip(rest, blocks) for v in (s // b, b)] + rest[n:]
    order = [2 + 2 * i for i in range(n)] + [0] + [1 + 2 * i for i in range(n)] + \
        list(range(2 * n + 1, 2 * n + 1 + rank - n - 1))
    x = op("Transpose", op("Reshape", x, cut), order)
    total = batch
    for b in blocks:
        total *= b
    return op("Reshape", x, [total] + [s // b for s, b in zip(rest, blocks)] + rest[n:], name=name)


@export("batch_to_space_nd", v2="batch_to_space")
def batch_to_space_nd(input, block_shape, crops, name=None):
    """Batches become blocks of dimensions, with margins cut off."""
    x = convert_to_tensor(input)
    blocks = [int(b) for b in block_shape]
    n = len(blocks)
    batch, *rest = sizes_of(x, "batch_to_space_nd")
    for b in blocks:
        batch //= b
    x = op("Reshape", x, blocks + [batch] + rest)
    order = [n] + [v for i in range(n) for v in (n + 1 + i, i)] + \
        list(range(2 * n + 1, n + 1 + len(rest)))
    whole = [s * b for s, b in zip(rest, blocks)]
    x = op("Reshape", op("Transpose", x, order), [batch] + whole + rest[n:])
    begin = [0] + [int(c[0]) for c in crops] + [0] * (len(rest) - n)
    size = [batch] + [s - int(c[0]) - int(c[1]) for s, c in zip(whole, crops)] + rest[n:]
    return op("Slice", x, begin, size, name=name)


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
        raise TypeError("Input must be either real or complex. Received integer type "
                        f"{x.dtype!r}.")
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
    rank = shapes.as_shape(a.shape).rank
    return op("Transpose", a, list(range(rank - 2)) + [rank - 1, rank - 2], name=name)


@export("linalg.matvec")
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False,
           name=None):
    from situ._lib.math_ops import matmul
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


@export("linspace", v1="lin_space")
def linspace(start, stop, num, name=None, axis=0):
    """`num` numbers from start to stop, equally far apart."""
    unsupported("linspace", axis=(axis, 0))
    import numpy
    kind = dtype_of(start) or dtype_of(stop) or as_dtype(
        "float64" if isinstance(start, int) and isinstance(stop, int) else "float32")
    kind = kind if kind.is_floating else as_dtype("float64")
    if dtype_of(start) is None and dtype_of(stop) is None and isinstance(num, int):
        real = numpy.linspace(start, stop, num, dtype=kind.as_numpy_dtype)
        return constant(real, name=name or "LinSpace")
    with scope(name, "linspace"):
        start, stop = (cast(convert_to_tensor(v), kind) for v in (start, stop))
        count = cast(convert_to_tensor(num, "int32"), kind)
        one = constant(1, kind)
        step = op("RealDiv", op("Sub", stop, start),
                  op("Maximum", op("Sub", count, one), one))
        places = cast(op("Range", constant(0, "int32"), convert_to_tensor(num, "int32"),
                         constant(1, "int32")), kind)
        return op("Add", start, op("Mul", places, step))


@export(v1=("arg_max",))
def arg_max(input, dimension, output_type="int64", name=None):
    return op("ArgMax", input, dimension, output_type=as_dtype(output_type), name=name)


@export(v1=("arg_min",))
def arg_min(input, dimension, output_type="int64", name=None):
    return op("ArgMin", input, dimension, output_type=as_dtype(output_type), name=name)


export("newaxis")(None)
