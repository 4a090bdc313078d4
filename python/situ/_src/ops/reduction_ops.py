# SPDX-License-Identifier: Apache-2.0
"""reduction_ops.py: reductions composed of other ops (logsumexp, variance, norms), cumsum,
linspace."""

from __future__ import annotations

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export, named
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.composite_dispatch import ragged_version
from situ._src.ops.math_ops import matmul

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Axis, DTypeLike, Tensor, TensorLike


def _cumulative(op_name, default):
    def scan(
        x: TensorLike,
        axis: Axis = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Tensor:
        """Computes the cumulative sum or product along an axis.

        Args:
          x: A tensor of numbers.
          axis: The dimension to scan.
          exclusive: Whether each result leaves out the element at its own position.
          reverse: Whether to scan from the end.
          name: A name for the operation (optional).

        Returns:
          A tensor of the shape and type of `x`.
        """
        return op(op_name, x, axis, exclusive=exclusive, reverse=reverse, name=name or default)

    return scan


export("cumsum", "math.cumsum")(
    ragged_version("ragged_math", "cumsum")(_cumulative("Cumsum", "Cumsum"))
)
export("math.cumprod", v1="cumprod")(_cumulative("Cumprod", "Cumprod"))


def swap_with_last(tensor, axis):
    """Returns the permutation that swaps an axis with the last one, or None if it is the last
    one."""
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


def move_to_last(tensor, axis):
    """Returns the permutation that moves an axis to the end, or None if it is the last one."""
    order = swap_with_last(tensor, axis)
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


@export("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes `log(sum(exp(x)))` over dimensions without overflow.

    Args:
      input_tensor: A tensor of real or complex numbers.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether reduced dimensions are kept with size 1.
      name: A name for the operation (optional).
      reduction_indices: The name of `axis` in old programs.
      keep_dims: The name of `keepdims` in old programs.

    Returns:
      A tensor.
    """
    with scope(name, "ReduceLogSumExp") as full:
        x = convert_to_tensor(input_tensor)
        axis = reduction_indices if axis is None else axis
        maximum = op("StopGradient", OPS["Max"](x, axis, True))
        maximum = op("SelectV2", op("IsFinite", maximum), maximum, op("ZerosLike", maximum))
        total = op("Log", OPS["Sum"](op("Exp", op("Sub", x, maximum)), axis, True))
        if keep_dims if keepdims is None else keepdims:
            return op("Add", total, maximum, name=full)
        small = OPS["Sum"](x, axis, False)
        return op("Reshape", op("Add", total, maximum), shape_op(small), name=full)


@export("math.reduce_variance")
def reduce_variance(
    input_tensor: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = False,
    name: str | None = None,
) -> Tensor:
    """Computes the variance over dimensions.

    Args:
      input_tensor: A tensor of real or complex numbers.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether reduced dimensions are kept with size 1.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input_tensor`, or of the real type of complex numbers.

    Raises:
      TypeError: If the elements are integers.
    """
    if hasattr(input_tensor, "with_flat_values"):  # ragged rows
        squares = OPS["Mean"](op("Square", input_tensor), axis, keepdims, name=name)
        mean = OPS["Mean"](input_tensor, axis, keepdims)
        difference = op("Sub", squares, op("Square", mean))  # may be below 0 by rounding
        return op("Maximum", difference, constant(0, difference.dtype))
    x = convert_to_tensor(input_tensor)
    if not x.dtype.is_floating and not x.dtype.is_complex:
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype!r}.")
    deviation = op("Sub", x, OPS["Mean"](x, axis, True))
    if x.dtype.is_complex:
        squares = op("Real", op("Mul", op("Conj", deviation), deviation), Tout=x.dtype.real_dtype)
    else:
        squares = op("Square", deviation)
    return OPS["Mean"](squares, axis, keepdims, name=name)


@export("math.reduce_std")
def reduce_std(
    input_tensor: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = False,
    name: str | None = None,
) -> Tensor:
    """Computes the standard deviation over dimensions.

    Args:
      input_tensor: A floating-point tensor.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether reduced dimensions are kept with size 1.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input_tensor`.

    Raises:
      TypeError: If the elements are not floating point.
    """
    return op("Sqrt", reduce_variance(input_tensor, axis, keepdims), name=name)


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(
    input_tensor: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = False,
    name: str | None = None,
) -> Tensor:
    """Computes the Euclidean norm over dimensions.

    Args:
      input_tensor: A tensor of numbers.
      axis: The dimensions to reduce; all by default.
      keepdims: Whether reduced dimensions are kept with size 1.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    x = convert_to_tensor(input_tensor)
    if x.dtype.is_complex:
        squares = cast(op("Mul", x, op("Conj", x)), x.dtype)
        return op("Sqrt", OPS["Sum"](squares, axis, keepdims), name=name)
    if x.dtype.is_integer:  # the root is truncated
        wide = cast(OPS["Sum"](op("Square", x), axis, keepdims), "float64")
        return cast(op("Sqrt", wide), x.dtype, name=name)
    return op("Sqrt", OPS["Sum"](op("Square", x), axis, keepdims), name=name)


@export("linalg.trace", v1="trace")
def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """Sums the main diagonal of each inner-most matrix.

    Args:
      x: A tensor [..., rows, columns].
      name: A name for the operation (optional).
    """
    return OPS["Sum"](op("MatrixDiagPart", x), constant([-1], "int32"), name=name)


@export("linalg.matrix_transpose", v1=("matrix_transpose", "linalg.transpose"))
def matrix_transpose(
    a: TensorLike, name: str | None = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Transposes the last two dimensions of a tensor.

    Args:
      a: A tensor of at least 2 dimensions.
      name: A name for the operation (optional).
      conjugate: Whether complex elements are conjugated.

    Returns:
      A tensor of shape [..., n, m] for `a` of shape [..., m, n].

    Raises:
      ValueError: `a` is known to have less than 2 dimensions.
    """
    with scope(name, "matrix_transpose"):
        a = convert_to_tensor(a)
        rank = tensor_shape.as_shape(a.shape).rank
        if rank is None:
            size = op("Rank", a)
            last = op("Pack", [size - 1, size - 2])
            order = op("ConcatV2", [op("Range", 0, size - 2, 1), last], 0)
        elif rank < 2:
            raise ValueError(
                "Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = "
                f"{a} with shape: {a.shape}"
            )
        else:
            order = [*range(rank - 2), rank - 1, rank - 2]
        turned = op("Transpose", a, order)
        return op("Conj", turned) if conjugate and a.dtype.is_complex else turned


@export("linalg.matvec")
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrix `a` by vector `b`.

    Args:
      a: A tensor of shape [..., m, n].
      b: A tensor of shape [..., n].
      transpose_a: Whether `a` is transposed before the multiplication.
      adjoint_a: Whether `a` is transposed and conjugated before.
      a_is_sparse: A hint, ignored.
      b_is_sparse: A hint, ignored.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., m].
    """
    del a_is_sparse, b_is_sparse  # hints for speed
    product = matmul(a, op("ExpandDims", b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a)
    return op("Squeeze", product, [-1], name=name)


@export("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logarithm of the determinant of Hermitian positive definite matrices.

    Args:
      matrix: A tensor [..., n, n].
      name: A name for the operation (optional).
    """
    diagonal = named("math.real")(op("MatrixDiagPart", op("Cholesky", matrix)))
    half = op("Log", diagonal)
    return op("Mul", OPS["Sum"](half, constant([-1], "int32")), constant(2, half.dtype), name=name)


_MATRIX_ORDERS = ("euclidean", "fro", 1, 2, float("inf"))


def _check_norm(ord, axis):
    """Raises TensorFlow's ValueError for an `ord` or `axis` that tf.norm does not support."""
    is_matrix = isinstance(axis, (list, tuple))
    if is_matrix and (len(axis) != 2 or axis[0] == axis[1]):
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    if is_matrix and ord not in _MATRIX_ORDERS:
        orders = "['euclidean', 'fro', 1, 2, inf]"
        raise ValueError(f"'ord' must be a supported matrix norm in {orders}, got {ord}")
    if not is_matrix and isinstance(ord, str) and ord != "euclidean":
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    if not isinstance(ord, str) and ord <= 0:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")


def _spectral_norm(tensor, axis):
    """The largest singular value of matrices in two dimensions, which stay with size 1."""
    order = _with_last(tensor, axis)
    values = named("math.real")(op("Svd", op("Transpose", tensor, order), compute_uv=False)[0])
    largest = op("ExpandDims", OPS["Max"](values, -1, True), -1)
    if isinstance(order, list):
        return op("Transpose", largest, [order.index(a) for a in range(len(order))])
    return op("Transpose", largest, op("InvertPermutation", order))


def _with_last(tensor, axes):
    """Returns the permutation that makes the axes the last ones: a list, or a tensor if the rank is
    unknown."""
    rank = tensor_shape.as_shape(tensor.shape).rank
    if rank is not None:
        last = [a % rank for a in axes]
        return [*(a for a in range(rank) if a not in last), *last]
    ranks = op("Rank", tensor)
    last = op("FloorMod", constant(list(axes), "int32"), ranks)
    every = op("Range", constant(0, "int32"), ranks, constant(1, "int32"))
    rest = named("setdiff1d")(every, last)[0]
    return op("ConcatV2", [rest, last], 0)


def _absolute(tensor):
    """Returns the absolute values; of complex numbers in the type of their parts."""
    if tensor.dtype.is_complex:
        return op("ComplexAbs", tensor, Tout=tensor.dtype.real_dtype)
    return op("Abs", tensor)


def _matrix_norm(tensor, ord, axis):
    """The norm of matrices in two dimensions, which stay with size 1."""
    if ord == 2:
        return _spectral_norm(tensor, axis)
    rows, columns = axis if ord == 1 else reversed(axis)
    return OPS["Max"](OPS["Sum"](_absolute(tensor), rows, True), columns, True)


def _vector_norm(tensor, ord, axis, keepdims):
    if ord in ("euclidean", "fro", 2):
        if tensor.dtype.is_complex:  # TensorFlow's norm has the type of the tensor
            square = op("Mul", tensor, op("Conj", tensor))
            return op("Sqrt", OPS["Sum"](square, axis, keepdims))
        return op("Sqrt", OPS["Sum"](op("Square", tensor), axis, keepdims))
    size = _absolute(tensor)
    if ord == 1:
        return OPS["Sum"](size, axis, keepdims)
    if ord == float("inf"):
        return OPS["Max"](size, axis, keepdims)
    total = OPS["Sum"](op("Pow", size, constant(float(ord), size.dtype)), axis, keepdims)
    return op("Pow", total, constant(1 / float(ord), size.dtype))


@export("linalg.norm", "norm")
def norm(
    tensor: TensorLike,
    ord: str = "euclidean",
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes the norm of vectors or matrices.

    Args:
      tensor: A floating-point tensor.
      ord: "euclidean", 1, 2, infinity or any positive number p; for matrices "euclidean" or "fro"
        (Frobenius), 1 (largest column sum), 2 (largest singular value), infinity (largest row sum).
      axis: None: all elements are one vector. An integer: the dimension of vectors. Two integers:
        the dimensions of the rows and columns of matrices.
      keepdims: Whether reduced dimensions are kept with size 1.
      keep_dims: The name of `keepdims` in TensorFlow 1.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `tensor`.

    Raises:
      ValueError: `ord` or `axis` is not supported.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    _check_norm(ord, axis)
    with scope(name, "norm"):
        tensor = convert_to_tensor(tensor)
        if not isinstance(axis, (list, tuple)) or ord in ("euclidean", "fro"):
            return _vector_norm(tensor, ord, axis, keep)
        result = _matrix_norm(tensor, ord, axis)
        return result if keep else op("Squeeze", result, list(axis))


def _linspace_float64(start, stop, num):
    """numpy.linspace, by ops of the engine."""
    if num < 0:
        raise errors.InvalidArgumentError(None, None, f"Requires num >= 0: {num}")
    step = (stop - start) / max(num - 1, 1)
    places = op("Range", constant(0, "int64"), constant(num, "int64"), constant(1, "int64"))
    made = op("Add", op("Mul", cast(places, "float64"), constant(step, "float64")), start)
    if num < 2:
        return made
    return op("ConcatV2", [op("Slice", made, [0], [num - 1]), constant([stop], "float64")], 0)


def _linspace_along(start, stop, num, axis):
    """linspace of tensors: a new dimension at `axis`."""
    start = convert_to_tensor(start, name="start")
    stop = convert_to_tensor(stop, start.dtype, name="stop")
    kind = start.dtype if start.dtype.is_floating else as_dtype("float64")
    count = convert_to_tensor(num, name="num")
    if not count.dtype.is_integer:
        raise TypeError(
            "Argument `tensor` (name: num) must be of type integer. Received `tensor` = "
            f"{num} of dtype: {count.dtype!r}"
        )
    start, stop = cast(start, kind), cast(stop, kind)
    zeros = op("ZerosLike", op("Sub", stop, start))  # of the broadcast shape
    start, stop = (op("ExpandDims", op("Add", v, zeros), axis) for v in (start, stop))
    steps = op(
        "Maximum", op("Sub", cast(count, "int64"), constant(1, "int64")), constant(1, "int64")
    )
    delta = op("RealDiv", op("Sub", stop, start), cast(steps, kind))
    whole = op("GreaterEqual", count, op("ZerosLike", count))
    limit = op("SelectV2", whole, steps, constant(-1, "int64"))  # fails if there is no such range
    inner = cast(op("Range", constant(1, "int64"), limit, constant(1, "int64")), kind)
    rank = tensor_shape.as_shape(start.shape).rank
    if rank is None:
        axis, one_sizes = _axis_of_unknown_rank(start, axis)
        inner = op("Reshape", inner, one_sizes)
    else:
        axis = axis % rank
        inner = op("Reshape", inner, [-1 if i == axis else 1 for i in range(rank)])
    whole = op("ConcatV2", [start, op("Add", start, op("Mul", delta, inner)), stop], axis)
    front = op("Slice", shape_op(start), [0], op("Reshape", axis, [1]))
    rest = op("Slice", shape_op(start), op("Reshape", axis + 1, [1]), [-1])
    size = op("ConcatV2", [front, op("Reshape", cast(count, "int32"), [1]), rest], 0)
    return op("Slice", whole, op("ZerosLike", size), size)


def _axis_of_unknown_rank(x, axis):
    """Returns a non-negative axis, and the sizes of a tensor that only extends along it."""
    rank = op("Rank", x)
    axis = convert_to_tensor(axis, "int32")
    axis = op("SelectV2", op("Less", axis, 0), op("Add", axis, rank), axis)
    axes = op("Range", constant(0, "int32"), rank, constant(1, "int32"))
    return axis, op("SelectV2", op("Equal", axes, axis), -1, 1)


def _is_scalar(value):
    shape = getattr(value, "shape", None)
    if shape is None:
        return not isinstance(value, (list, tuple))
    return tensor_shape.as_shape(shape).rank == 0


@export("linspace", v1="lin_space")
def linspace(
    start: TensorLike, stop: TensorLike, num: int | None, name: str | None = None, axis: Axis = 0
) -> Tensor:
    """Creates `num` evenly spaced numbers from `start` to `stop`, both included.

    Args:
      start: The first number, or a tensor of first numbers.
      stop: The last number, or a tensor that is broadcast with `start`.
      num: How many numbers; the result is empty if it is 0.
      axis: The new dimension of the result, if `start` or `stop` has dimensions.
      name: A name for the operation (optional).

    Returns:
      A floating-point tensor with one dimension more than `start` and `stop`.
    """
    is_integer = not isinstance(num, float)
    if axis not in (0, -1) or not (is_integer and _is_scalar(start) and _is_scalar(stop)):
        with scope(name, "linspace"):
            return _linspace_along(start, stop, num, axis)
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
        start, stop = (
            convert_to_tensor(v, kind) if dtype_of(v) is None else cast(convert_to_tensor(v), kind)
            for v in (start, stop)
        )
        return _linspace_along(start, stop, num, 0)


@export(v1=("arg_max",))
def arg_max(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Returns the index of the largest element along a dimension; see `tf.argmax`.

    Args:
      input: A tensor.
      dimension: The dimension.
      output_type: The type of the result, int32 or int64.
      name: A name for the operation (optional).
    """
    return op("ArgMax", input, dimension, output_type=as_dtype(output_type), name=name)


@export(v1=("arg_min",))
def arg_min(
    input: TensorLike,
    dimension: TensorLike,
    output_type: DTypeLike = "int64",
    name: str | None = None,
) -> Tensor:
    """Returns the index of the smallest element along a dimension; see `tf.argmin`.

    Args:
      input: A tensor.
      dimension: The dimension.
      output_type: The type of the result, int32 or int64.
      name: A name for the operation (optional).
    """
    return op("ArgMin", input, dimension, output_type=as_dtype(output_type), name=name)
