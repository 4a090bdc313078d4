# SPDX-License-Identifier: Apache-2.0
"""rearranging.py: elements mirrored, moved between dimensions, added up along them; products."""
import _situ
from situ._lib import errors, shapes
from situ._lib.api import OPS, export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op, shape as shape_op
from situ._lib.dtypes import as_dtype, dtype_of
from situ._lib.graph import scope


def _running(row, default):
    def scan(x, axis=0, exclusive=False, reverse=False, name=None):
        return op(row, x, axis, exclusive=exclusive, reverse=reverse, name=name or default)
    return scan


export("cumsum", "math.cumsum")(_running("Cumsum", "Cumsum"))
export("math.cumprod", v1="cumprod")(_running("Cumprod", "Cumprod"))


def _known(tensor, what):
    known = shapes.as_shape(tensor.shape)
    if known.rank is None or None in known.as_list():
        raise ValueError(f"situ has {what} for tensors of known shape only.")
    return known.as_list()


def _check_divisible(sizes, by, tensor, row, name):
    for size in sizes:
        if size % by:
            raise errors.wrong_argument(
                f"Dimension size must be evenly divisible by {by} but is {size} for "
                f"'{name or row}' (op: '{row}') with input shapes: "
                f"{str(_known(tensor, row)).replace(' ', '')}.")


def mirrored(tensor, paddings, mode):
    """The tensor with margins that mirror it, with or without its own border."""
    import numpy
    tensor = convert_to_tensor(tensor)
    for axis, (size, pair) in enumerate(zip(_known(tensor, "mirrored margins"), paddings)):
        before, behind = (int(v) for v in pair)
        if before or behind:
            places = numpy.pad(numpy.arange(size), (before, behind),
                               "reflect" if mode == "REFLECT" else "symmetric")
            tensor = op("GatherV2", tensor, constant(places, "int32"), axis)
    return tensor


@export("space_to_depth", "nn.space_to_depth")
def space_to_depth(input, block_size, data_format="NHWC", name=None):
    """Blocks of pixels become channels."""
    x = convert_to_tensor(input)
    batch, height, width, depth = _known(x, "space_to_depth")
    b = block_size
    _check_divisible((height, width), b, x, "SpaceToDepth", name)
    x = op("Reshape", x, [batch, height // b, b, width // b, b, depth])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height // b, width // b, b * b * depth], name=name)


@export("nn.depth_to_space", v1="depth_to_space")
def depth_to_space(input, block_size, data_format="NHWC", name=None):
    """Channels become blocks of pixels."""
    x = convert_to_tensor(input)
    batch, height, width, depth = _known(x, "depth_to_space")
    b = block_size
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
    batch, *rest = _known(x, "space_to_batch_nd")
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
    batch, *rest = _known(x, "batch_to_space_nd")
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
    import numpy
    kind = dtype_of(start) or dtype_of(stop) or as_dtype("float32")
    if dtype_of(start) is None and dtype_of(stop) is None and isinstance(num, int):
        real = numpy.linspace(start, stop, num, dtype=kind.as_numpy_dtype)
        return constant(real, name=name or "LinSpace")
    with scope(name, "linspace"):
        start, stop = convert_to_tensor(start, kind), convert_to_tensor(stop, kind)
        count = cast(convert_to_tensor(num, "int32"), kind)
        one = constant(1, kind)
        step = op("RealDiv", op("Sub", stop, start),
                  op("Maximum", op("Sub", count, one), one))
        places = cast(op("Range", constant(0, "int32"), convert_to_tensor(num, "int32"),
                         constant(1, "int32")), kind)
        return op("Add", start, op("Mul", places, step))


def _letters(equation, count):
    """(letters of each operand, letters of the result)"""
    equation = equation.replace(" ", "")
    left, _, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != count:
        raise ValueError(f"Expected {len(parts)} inputs for equation {equation}, got {count}.")
    if "->" not in equation:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    if "." in equation:
        raise ValueError("situ has einsum without '...' only.")
    return parts, right


def _sizes(tensor, letters):
    """The size of each letter: a number, or a tensor where only a run will know."""
    known = shapes.as_shape(tensor.shape)
    if known.rank is None:
        raise ValueError(f"einsum needs the rank of its operands, and '{tensor.name}' has none.")
    sizes = known.as_list()
    shape = op("Shape", tensor) if None in sizes else None
    return {c: shape[i] if sizes[i] is None else sizes[i] for i, c in enumerate(letters)}


def _pairwise(x, a, y, b, kept):
    """The product of two operands summed over letters that nobody keeps."""
    def drop(tensor, letters, other):
        gone = [i for i, c in enumerate(letters) if c not in other and c not in kept]
        if gone:
            tensor = OPS["Sum"](tensor, constant(gone, "int32"))
        return tensor, "".join(c for i, c in enumerate(letters) if i not in gone)
    x, a = drop(x, a, b)
    y, b = drop(y, b, a)
    both = [c for c in a if c in b]
    batch = [c for c in both if c in kept]
    inside = [c for c in both if c not in kept]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    sizes = {**_sizes(y, b), **_sizes(x, a)}

    def form(tensor, letters, order, parts):
        tensor = op("Transpose", tensor, [letters.index(c) for c in order])
        shape = [sizes[c] for c in parts[0]]
        for group in parts[1:]:
            total = 1
            for c in group:
                total *= sizes[c]
            shape.append(total)
        return op("Reshape", tensor, shape)
    x = form(x, a, batch + left + inside, (batch, left, inside))
    y = form(y, b, batch + inside + right, (batch, inside, right))
    made = op("BatchMatMulV2", x, y) if batch else op("MatMul", x, y)
    letters = "".join(batch + left + right)
    return op("Reshape", made, [sizes[c] for c in letters]), letters


def _check_sizes(equation, tensors, parts):
    """A letter means one size."""
    known = {}
    for i, (tensor, letters) in enumerate(zip(tensors, parts)):
        known_shape = shapes.as_shape(tensor.shape)
        sizes = known_shape.as_list() if known_shape.rank is not None else []
        for axis, (c, n) in enumerate(zip(letters, sizes)):
            if n is not None and known.setdefault(c, n) != n:
                raise errors.wrong_argument(
                    f"Expected dimension {known[c]} at axis {axis} of the input shaped "
                    f"{tensor.shape} but got dimension {n}: letter '{c}', input {i} of "
                    f"'{equation}' (op: 'Einsum')")


@export("einsum", "linalg.einsum")
def einsum(equation, *inputs, **words):
    """Sums of products of elements, as letters of dimensions say: 'ij,jk->ik'."""
    with scope(words.get("name"), "einsum"):
        tensors = [convert_to_tensor(i) for i in inputs]
        parts, right = _letters(equation, len(tensors))
        _check_sizes(equation, tensors, parts)
        x, a = tensors[0], parts[0]
        for i in range(1, len(tensors)):
            kept = set(right).union(*map(set, parts[i + 1:]))
            x, a = _pairwise(x, a, tensors[i], parts[i], kept)
        gone = [i for i, c in enumerate(a) if c not in right]
        if gone:
            x = OPS["Sum"](x, constant(gone, "int32"))
            a = "".join(c for c in a if c in right)
        order = [a.index(c) for c in right]
        return x if order == list(range(len(order))) else op("Transpose", x, order)


@export("tensordot", "linalg.tensordot")
def tensordot(a, b, axes, name=None):
    """The product of two tensors summed over dimensions of both."""
    with scope(name, "Tensordot"):
        a = convert_to_tensor(a)
        b = convert_to_tensor(b, None if dtype_of(b) else a.dtype)
        ranks = [shapes.as_shape(t.shape).rank for t in (a, b)]
        if isinstance(axes, int):
            axes = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
        first, second = ([int(v) % r for v in ([one] if isinstance(one, int) else one)]
                         for one, r in zip(axes, ranks))
        letters = "abcdefghijklmnopqrstuvwxyz"
        left, right = list(letters[:ranks[0]]), list(letters[ranks[0]:sum(ranks)])
        for i, k in zip(first, second):
            right[k] = left[i]
        result = [c for i, c in enumerate(left) if i not in first] + \
            [c for i, c in enumerate(right) if i not in second]
        return einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b)


@export(v1=("arg_max",))
def arg_max(input, dimension, output_type="int64", name=None):
    return op("ArgMax", input, dimension, output_type=as_dtype(output_type), name=name)


@export(v1=("arg_min",))
def arg_min(input, dimension, output_type="int64", name=None):
    return op("ArgMin", input, dimension, output_type=as_dtype(output_type), name=name)


export("newaxis")(None)
