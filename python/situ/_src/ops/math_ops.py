# SPDX-License-Identifier: Apache-2.0
"""math_ops.py: tf.matmul, division, comparison and other math functions that are more than one op,
and
the functions behind the operators of tensors."""

from __future__ import annotations

import _situ
from situ._src.framework import errors, op_docs, tensor_shape
from situ._src.framework.api import OPS, V1, export, fast_path
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.indexed_slices import IndexedSlices, is_slices
from situ._src.framework.keywords import with_order
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op, shape_of, zeros
from situ._src.ops.composite_dispatch import ragged_version

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Axis,
        DTypeLike,
        ShapeLike,
        Tensor,
        TensorLike,
        TensorShape,
    )


def _own_type(value):
    """Returns the dtype that an operand insists on, or None: Python and NumPy values take the dtype
    of the other operand."""
    return None if type(value).__module__ == "numpy" else dtype_of(value)


def _pair(x, y):
    """Converts two operands to tensors of one dtype, that of the operand that has one."""
    if _own_type(x) is None and _own_type(y) is not None:
        y = convert_to_tensor(y, name="y")
        return convert_to_tensor(x, y.dtype, "x"), y
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, None if _own_type(y) else x.dtype, "y")


@export("truediv", "math.truediv", "divide", "math.divide")
@fast_path("RealDiv", "truediv", real=True)
def truediv(x: TensorLike, y: TensorLike, name: str | None = "truediv") -> Tensor:
    """Divides `x` by `y` element-wise; integers are converted to floating point first.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: A name for the operation (optional).

    Returns:
      A tensor. int8, int16, uint8 and uint16 give float32; int32 and int64 give float64.

    Raises:
      TypeError: If the types differ, or are boolean or string.
    """
    with scope(name, "truediv") as full:
        return op("RealDiv", *_real_pair(x, y, "truediv"), name=full)


def _real_pair(x, y, function):
    """Converts the operands of a division to tensors of real or complex numbers.

    Raises:
      TypeError: the types differ, or are boolean or string.
    """
    x, y = _pair(x, y)
    if x.dtype != y.dtype:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
    if x.dtype.is_bool or x.dtype.name == "string":
        raise TypeError(
            f"Invalid dtype {x.dtype!r} in {function}. Expected one of "
            "{uint8, int8, uint16, int16, uint32, int32, uint64, int64, bfloat16, "
            "float16, float32, float64, complex64, complex128}."
        )
    if x.dtype.is_floating or x.dtype.is_complex:
        return x, y
    real = "float32" if x.dtype.size <= 2 else "float64"
    return cast(x, real), cast(y, real)


@export("math.divide_no_nan", v1="div_no_nan")
def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides `x` by `y` element-wise and returns 0 where `y` is 0.

    Args:
      x: A tensor of numbers.
      y: A tensor of the same type.
      name: A name for the operation (optional).

    Raises:
      TypeError: If the types differ, or are boolean or string.
    """
    with scope(name, "div_no_nan") as full:
        return op("DivNoNan", *_real_pair(x, y, "tf.math.divide_no_nan"), name=full)


@export(v1="div")
def div(x: TensorLike, y: TensorLike, name: str | None = "div") -> Tensor:
    """Divides `x` by `y` as Python 2 does: integers are rounded down.

    Args:
      x: The dividend.
      y: The divisor, of the same type.
      name: A name for the operation (optional).
    """
    with scope(name, "div") as full:
        x, y = _pair(x, y)
        return op(
            "RealDiv" if x.dtype.is_floating or x.dtype.is_complex else "FloorDiv", x, y, name=full
        )


def power(x, y, name="pow"):
    """Computes `x ** y` element-wise."""
    with scope(name, "pow") as full:
        return op("Pow", *_pair(x, y), name=full)


def _conjugate(x, transposed, adjoint, batched, ranks):
    """Returns a complex operand of a product with what is left of its flags: MatMul only
    transposes, BatchMatMul conjugates what it transposes."""
    batched = batched or any(r is not None and r > 2 for r in ranks)
    if batched and transposed or not batched and adjoint:
        x = op("Conj", x)
    return x, transposed, adjoint


def _wider(a, b, dtype):
    """Converts the operands of a matrix product to the type in which it is computed."""
    names, small = {a.dtype.name, b.dtype.name}, {"int8", "uint8"}
    is_sum = names <= small and dtype.name == "int32"
    if not is_sum and (dtype.name not in names or names - small - {dtype.name}):
        raise errors.NotFoundError(
            None,
            None,
            "Could not find device for node: no matrix product of "
            f"{a.dtype.name} and {b.dtype.name} gives {dtype.name}.",
        )
    return cast(a, dtype), cast(b, dtype)


@export("matmul", "linalg.matmul")
@fast_path("MatMul", rank=2)
@ragged_version("ragged_math", "matmul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrix `a` by matrix `b`, producing `a @ b`.

    Leading dimensions of tensors of rank 3 or more are batch dimensions and are broadcast.

    Args:
      a: A tensor of rank 2 or more.
      b: A tensor of the type of `a`; of bfloat16 and float32 the product is float32.
      transpose_a: Whether `a` is transposed before the multiplication.
      transpose_b: Whether `b` is transposed before the multiplication.
      adjoint_a: Whether `a` is conjugated and transposed before the multiplication.
      adjoint_b: Whether `b` is conjugated and transposed before the multiplication.
      a_is_sparse: A hint, ignored.
      b_is_sparse: A hint, ignored.
      output_type: The type of the result, in which the products are added: int32 for int8 and
        uint8, or that of an operand. By default that of `a`.
      grad_a: A hint, ignored.
      grad_b: A hint, ignored.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `a` or `output_type` and of shape [..., rows of `a`, columns of `b`].

    Raises:
      NotFoundError: If there is no product of these types with this `output_type`.
      ValueError: If the inner dimensions differ (InvalidArgumentError in eager mode).
    """
    del a_is_sparse, b_is_sparse, grad_a, grad_b  # hints for speed
    for side, transposed, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
        if transposed and adjoint:
            raise ValueError(f"Only one of `transpose_{side}` and `adjoint_{side}` can be True.")
    with scope(name, "MatMul") as full:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, None if _own_type(b) else a.dtype, "b")
        if output_type is not None:
            a, b = _wider(a, b, as_dtype(output_type))
        elif {a.dtype.name, b.dtype.name} == {"bfloat16", "float32"}:
            a, b = cast(a, "float32"), cast(b, "float32")
        ranks = [tensor_shape.as_shape(t.shape).rank for t in (a, b)]
        batched = all(r is None or r > 2 for r in ranks)
        if batched and None in ranks and not _situ.executing_eagerly():
            batched = max(r or 0 for r in ranks) > 2 or ranks == [None, None]
        if a.dtype.is_complex:
            a, transpose_a, adjoint_a = _conjugate(a, transpose_a, adjoint_a, batched, ranks)
            b, transpose_b, adjoint_b = _conjugate(b, transpose_b, adjoint_b, batched, ranks)
        if batched or any(r is not None and r > 2 for r in ranks):
            return op(
                "BatchMatMulV2",
                a,
                b,
                adj_x=transpose_a or adjoint_a,
                adj_y=transpose_b or adjoint_b,
                name=full,
            )
        return op(
            "MatMul",
            a,
            b,
            transpose_a=transpose_a or adjoint_a,
            transpose_b=transpose_b or adjoint_b,
            name=full or "MatMul",
        )


def _arg(op_def):
    def find(
        input: TensorLike,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: DTypeLike = "int64",
    ) -> Tensor:
        axis = dimension if axis is None else axis
        return op_def(
            input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name
        )

    find.__doc__ = f"""{op_def.definition["doc"]}

    Args:
      input: A tensor.
      axis: The dimension; default: 0.
      name: A name for the operation (optional).
      dimension: Old name of `axis`.
      output_type: The type of the indices.
    """
    find.__name__ = op_docs.short_name(op_def)
    return find


for _op in (OPS["ArgMax"], OPS["ArgMin"]):  # their `axis` is optional
    for _name in _op.definition["python"].split():
        _find = _arg(_op)
        export(_name)(_find)
        export(v2=_name)(with_order(_find, "input", "axis", "output_type", "name"))


@export("add_n", "math.add_n")
def add_n(inputs: TensorLike, name: str | None = None) -> Tensor:
    """Adds a list of tensors element-wise.

    Args:
      inputs: A list of tensors of equal shape and type, or of IndexedSlices.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If `inputs` is empty or not a list.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(
            "inputs must be a list of at least one Tensor/IndexedSlices with the same "
            "dtype and shape"
        )
    if len(inputs) == 1:
        return op("Identity", inputs[0], name=name) if name else convert_to_tensor(inputs[0])
    return op("AddN", list(inputs), name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(
    inputs: TensorLike,
    shape: ShapeLike = None,
    tensor_dtype: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Adds a list of tensors element-wise, like `tf.add_n`.

    Args:
      inputs: A list of tensors of equal shape and type.
      shape: The expected shape of the elements (optional).
      tensor_dtype: The expected type of the elements (optional).
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      TypeError: If the elements do not have the type `tensor_dtype`.
      ValueError: If the elements do not have the shape `shape`.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        return add_n(inputs)
    tensors = [convert_to_tensor(x) for x in inputs]
    if tensor_dtype is not None and as_dtype(tensor_dtype) != tensors[0].dtype:
        raise TypeError(
            f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type "
            f"{tensors[0].dtype}. These must be equal. Try casting the input to the desired type."
        )
    known = tensor_shape.as_shape(shape)
    for tensor in tensors:
        known = known.merge_with(tensor.shape)
    result = add_n(tensors, name=name or "AccumulateN")
    if hasattr(result, "set_shape"):
        result.set_shape(known)
    return result


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """Multiplies a tensor or IndexedSlices by a scalar.

    Args:
      scalar: A number or a scalar tensor.
      x: A tensor or IndexedSlices.
      name: A name for the operation (optional).
    """
    if is_slices(x):
        return IndexedSlices(scalar_mul(scalar, x.values, name), x.indices, x.dense_shape)
    x = convert_to_tensor(x)
    return op("Mul", convert_to_tensor(scalar, None if dtype_of(scalar) else x.dtype), x, name=name)


def _bitwise(node, logical, bits):
    """Returns the function of a binary operator: `logical` for booleans, the op `bits`
    otherwise."""

    def call(x, y):
        with scope(None, node) as full:
            if _own_type(x) is None:
                y = convert_to_tensor(y, name="y")
                x = convert_to_tensor(x, y.dtype, "x")
            if as_dtype(x.dtype).is_bool:
                return logical(x, y, full)
            return op(bits, x, y)

    return call


def _xor(x, y, name):
    return logical_xor(x, convert_to_tensor(y, "bool", "y"), name or "xor")


def _invert(x):
    return op("LogicalNot" if as_dtype(x.dtype).is_bool else "Invert", x)


def _conjunction(x, y):
    """Multiplies where one operand is boolean: a logical and."""
    x, y = convert_to_tensor(x, None if dtype_of(x) else "bool"), convert_to_tensor(y)
    return OPS["LogicalAnd"](
        *[v if v.dtype.is_bool else cast(v, "bool") for v in (x, y)], name="mul"
    )


def _join(x, y):
    """Concatenates strings; `+` of a string and another type is an error."""
    for operand in (x, y):
        kind = dtype_of(operand)
        if kind is not None and kind.name != "string":
            text = f"cannot compute Add of a string tensor and a {kind.name} tensor"
            raise (
                errors.InvalidArgumentError(None, None, text)
                if _situ.executing_eagerly()
                else TypeError(text)
            )
    return op("Add", *(convert_to_tensor(v, "string") for v in (x, y)), name="add")


def _equal(same):
    def call(x, y):
        if x is None or y is None:
            return not same
        x, y = _pair(x, y)
        try:
            return op("Equal" if same else "NotEqual", x, y)
        except (errors.InvalidArgumentError, ValueError) as e:
            if not str(e).startswith(("Incompatible shapes", "Dimensions must be equal")):
                raise
            return constant(not same)  # tensors whose shapes do not broadcast differ

    return call


def _is_composite(value):
    """Returns whether an argument is a composite tensor or a list with one."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_composite, value))
    return hasattr(type(value), "_situ_tensors_") or type(value).__name__.endswith("TensorValue")


def _otherwise(function, args, kwargs):
    """Handles a failed call of an op with sparse or ragged arguments."""
    if not any(map(_is_composite, (*args, *kwargs.values()))):
        return NotImplemented
    from situ._src.ops import ragged_ops, sparse_elementwise

    result = sparse_elementwise.otherwise(function, args, kwargs)
    return ragged_ops.otherwise(function, args, kwargs) if result is NotImplemented else result


COMPOSITE = {  # functions that the extension calls by name
    "otherwise": _otherwise,
    "axes": lambda tensor: op("Range", 0, op("Rank", tensor), 1),
    "truediv": truediv,
    "pow": power,
    "matmul": lambda x, y: matmul(x, y, name="matmul"),
    "join": _join,
    "mul": _conjunction,
    "and": _bitwise("and", lambda x, y, name: op("LogicalAnd", x, y, name=name), "BitwiseAnd"),
    "or": _bitwise("or", lambda x, y, name: op("LogicalOr", x, y, name=name), "BitwiseOr"),
    "xor": _bitwise("xor", _xor, "BitwiseXor"),
    "invert": _invert,
    "abs": lambda x: op("ComplexAbs", x, Tout=x.dtype.real_dtype),
    "eq": _equal(True),
    "ne": _equal(False),
}
_situ.hook("composite", COMPOSITE)


@export("eye", "linalg.eye")
def eye(
    num_rows: TensorLike,
    num_columns: TensorLike = None,
    batch_shape: ShapeLike = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Creates an identity matrix, or a batch of them.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns, `num_rows` by default.
      batch_shape: The leading dimensions of the result (optional).
      dtype: The element type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `batch_shape + [num_rows, num_columns]`.
    """
    sizes = [num_rows, num_rows if num_columns is None else num_columns]
    kind = as_dtype(dtype)
    whole = convert_to_tensor(sizes, "int32")
    if batch_shape is not None:
        whole = op("ConcatV2", [convert_to_tensor(batch_shape, "int32"), whole], 0)
    zero = constant(False if kind.is_bool else 0, kind)
    zeros_ = op("Fill", whole, zero)
    ones_ = op("OnesLike", op("MatrixDiagPart", zeros_))
    return op("MatrixSetDiag", zeros_, ones_, name=name or "eye")


@export("nn.zero_fraction", "math.zero_fraction")
def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Returns the fraction of elements that are 0, as a float32 scalar.

    Args:
      value: A tensor of numbers.
      name: A name for the operation (optional).
    """
    value = convert_to_tensor(value)
    same = cast(op("Equal", value, zeros(shape_of(value), value.dtype)), "float32")
    return OPS["Mean"](same, name=name)


@export("math.logical_xor", v1="logical_xor")
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """Computes the element-wise exclusive or of boolean tensors.

    Args:
      x: A boolean tensor.
      y: A boolean tensor.
      name: A name for the operation (optional).
    """
    return op(
        "LogicalAnd", op("LogicalOr", x, y), op("LogicalNot", op("LogicalAnd", x, y)), name=name
    )


@export("math.lbeta", v1="lbeta")
def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the logarithm of the absolute value of the beta function along the last
    dimension.

    Args:
      x: A tensor.
      name: A name for the operation (optional).
    """
    with scope(name, "lbeta") as full:
        x = convert_to_tensor(x)
        return op(
            "Sub", op("Sum", op("Lgamma", x), [-1]), op("Lgamma", op("Sum", x, [-1])), name=full
        )


@export("math.erfcinv")
def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse of the complementary error function, for 0 <= x <= 2.

    Args:
      x: A tensor.
      name: A name for the operation (optional).
    """
    with scope(name, "erfcinv") as full:
        x = convert_to_tensor(x, name="start")
        quantile = op("Ndtri", op("Mul", constant(0.5, x.dtype), x))
        return op("Mul", op("Neg", quantile), constant(0.5**0.5, x.dtype), name=full)


def _steps(x):
    """Returns the elements after the first and the elements before the last of a flattened
    tensor."""
    flat = op("Reshape", convert_to_tensor(x), [-1])
    size = op("Shape", flat)
    last = op("Maximum", op("Sub", size, constant(1)), constant(0))
    first = op("Minimum", size, constant(1))
    return op("Slice", flat, first, [-1]), op("Slice", flat, [0], last)


@export("math.is_non_decreasing", "debugging.is_non_decreasing", v1="is_non_decreasing")
def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether each element of the flattened tensor is at least as large as the one
    before.

    Args:
      x: A tensor.
      name: A name for the operation (optional).
    """
    later, earlier = _steps(x)
    return op("All", op("LessEqual", earlier, later), [0], name=name)


@export(
    "math.is_strictly_increasing", "debugging.is_strictly_increasing", v1="is_strictly_increasing"
)
def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether each element of the flattened tensor is larger than the one before.

    Args:
      x: A tensor.
      name: A name for the operation (optional).
    """
    later, earlier = _steps(x)
    return op("All", op("Less", earlier, later), [0], name=name)


@export("searchsorted")
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Finds where values must be inserted into sorted sequences to keep them sorted.

    Args:
      sorted_sequence: A tensor that is sorted along its last dimension.
      values: A tensor; all dimensions but the last equal those of `sorted_sequence`.
      side: "left" for the first suitable position, "right" for the last.
      out_type: The element type of the result, int32 or int64.
      name: A name for the operation (optional).

    Returns:
      A tensor of indices of the shape of `values`.

    Raises:
      ValueError: If `side` is neither "left" nor "right".
    """
    with scope(name, "SearchSorted"):
        rows, values = _pair(sorted_sequence, values)
        row, value = op("ExpandDims", rows, -2), op("ExpandDims", values, -1)
        if side not in ("left", "right"):
            raise ValueError(
                f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
            )
        below = op("Less" if side == "left" else "LessEqual", row, value)
        return op("Sum", cast(below, out_type), [-1])


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: TensorLike, shape_y: TensorLike) -> TensorShape:
    """Returns the shape that two static shapes broadcast to; ValueError if they are
    incompatible.

    Args:
      shape_x: A shape.
      shape_y: A shape.
    """
    a, b = tensor_shape.as_shape(shape_x), tensor_shape.as_shape(shape_y)
    if a.rank is None or b.rank is None:
        return tensor_shape.TensorShape(None)
    result = []
    x, y = [1] * (b.rank - a.rank) + a.as_list(), [1] * (a.rank - b.rank) + b.as_list()
    for m, n in zip(x, y):
        if m is not None and n is not None and m != n and 1 not in (m, n):
            raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}")
        result.append(m if n == 1 else n if m == 1 or n is not None else m)
    return tensor_shape.TensorShape(result)


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(
    shape_x: TensorLike, shape_y: TensorLike, name: str | None = None
) -> Tensor:
    """Returns the shape that two shapes broadcast to.

    Args:
      shape_x: A vector, or a `tf.experimental.DynamicRaggedShape`.
      shape_y: A vector, or a DynamicRaggedShape.
      name: A name for the operation (optional).
    """
    if any(type(s).__name__ == "DynamicRaggedShape" for s in (shape_x, shape_y)):
        from situ._src.ops import ragged_broadcast

        return ragged_broadcast.broadcast_dynamic_shape(shape_x, shape_y)
    return op("BroadcastArgs", shape_x, shape_y, name=name)


for _name, _op_name in (
    ("mul", "Mul"),
    ("sub", "Sub"),
    ("neg", "Neg"),
    ("inv", "Reciprocal"),
    ("select", "Select"),
    ("batch_matmul", "BatchMatMul"),
    ("batch_matrix_inverse", "MatrixInverse"),
    ("reverse_v2", "ReverseV2"),
    ("debugging.is_nan", "IsNan"),
    ("debugging.is_inf", "IsInf"),
    ("debugging.is_finite", "IsFinite"),
    ("tensor_scatter_add", "TensorScatterAdd"),
    ("tensor_scatter_sub", "TensorScatterSub"),
    ("manip.tile", "Tile"),
    ("manip.reverse", "ReverseV2"),
    ("manip.scatter_nd", "ScatterNd"),
    ("guarantee_const", "Identity"),
):

    def _alias(*args, _op_name=_op_name, **kwargs):
        return op(_op_name, *args, **kwargs)

    V1.setdefault(_name, _alias)


@export("math.log_sigmoid", v1="log_sigmoid")
def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes `log(sigmoid(x))` element-wise without overflow.

    Args:
      x: A tensor.
      name: A name for the operation (optional).
    """
    return op("Neg", op("Softplus", op("Neg", convert_to_tensor(x))), name=name)


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes `1 / x` element-wise and returns 0 where `x` is 0.

    Args:
      x: A tensor.
      name: A name for the operation (optional).
    """
    x = convert_to_tensor(x)
    return op("DivNoNan", op("OnesLike", x), x, name=name)


@export("math.multiply_no_nan")
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes `x * y` element-wise and returns 0 where `y` is 0, even if `x` is infinite or
    NaN.

    Args:
      x: A tensor.
      y: A tensor of the same type.
      name: A name for the operation (optional).
    """
    x, y = _pair(x, y)
    zero = constant(0, x.dtype)
    none = op("LogicalAnd", op("Equal", y, zero), op("LogicalNot", op("IsFinite", x)))
    return op("Mul", op("SelectV2", none, zero, x), y, name=name)


@export("math.polyval")
def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluates a polynomial element-wise.

    Args:
      coeffs: A list of coefficients, the one of the highest power first.
      x: A tensor.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.

    Raises:
      ValueError: If `coeffs` is not a list.
    """
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
def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """Computes the cross product of 3-element vectors along the last dimension.

    Args:
      a: A tensor whose last dimension is 3.
      b: A tensor of the same shape and type.
      name: A name for the operation (optional).
    """
    with scope(name, "Cross") as full:
        (a0, a1, a2), (b0, b1, b2) = (op("Unpack", v, num=3, axis=-1) for v in _pair(a, b))
        return op(
            "Pack", [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1, name=full
        )


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: TensorLike,
    axis: Axis = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes `log(cumsum(exp(x)))` along an axis without overflow.

    Args:
      x: A floating-point tensor.
      axis: The dimension to scan.
      exclusive: Whether each result leaves out the element at its own position.
      reverse: Whether to scan from the end.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.
    """
    return op(
        "CumulativeLogsumexp",
        convert_to_tensor(x),
        axis,
        exclusive=exclusive,
        reverse=reverse,
        name=name,
    )


@export(v1="floor_div")
def floor_div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Divides `x` by `y` element-wise and rounds down.

    Args:
      x: The dividend.
      y: The divisor, of the same type.
      name: A name for the operation (optional).
    """
    return op("FloorDiv", x, y, name=name)
