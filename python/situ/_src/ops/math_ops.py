# SPDX-License-Identifier: Apache-2.0
"""math_ops.py: operators, reductions and other mathematics that is more than one op."""

import _situ
from situ._src.framework import errors, op_docs, tensor_shape
from situ._src.framework.api import OPS, V1, export, front
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.indexed_slices import IndexedSlices, is_slices
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op, shape_of, zeros


def _own_type(value):
    """The type that an operand insists on: numbers and arrays of NumPy take that of the other."""
    return None if type(value).__module__ == "numpy" else dtype_of(value)


def _pair(x, y):
    """Both as tensors of the type of the one that has a type."""
    if _own_type(x) is None and _own_type(y) is not None:
        y = convert_to_tensor(y, name="y")
        return convert_to_tensor(x, y.dtype, "x"), y
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, None if _own_type(y) else x.dtype, "y")


@export("truediv", "math.truediv", "divide", "math.divide")
@front("RealDiv", "truediv", real=True)
def truediv(x, y, name="truediv"):
    """x / y; integers become real numbers."""
    with scope(name, "truediv") as full:
        x, y = _pair(x, y)
        if x.dtype != y.dtype:
            raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
        if x.dtype.is_bool or x.dtype.name == "string":
            raise TypeError(
                f"Invalid dtype {x.dtype!r} in truediv. Expected one of "
                "{float16, float32, float64, int8, int16, int32, int64, uint8, "
                "uint16}."
            )
        if not x.dtype.is_floating:
            real = "float32" if x.dtype.size <= 2 else "float64"
            x, y = cast(x, real), cast(y, real)
        return op("RealDiv", x, y, name=full)


@export("math.divide_no_nan", v1="div_no_nan")
def divide_no_nan(x, y, name=None):
    """x / y, and 0 where y is 0; integers become real numbers."""
    with scope(name, "div_no_nan") as full:
        x, y = _pair(x, y)
        if not x.dtype.is_floating and x.dtype == y.dtype:
            real = "float32" if x.dtype.size <= 2 else "float64"
            x, y = cast(x, real), cast(y, real)
        return op("DivNoNan", x, y, name=full)


@export(v1="div")
def div(x, y, name="div"):
    with scope(name, "div") as full:
        x, y = _pair(x, y)
        return op("RealDiv" if x.dtype.is_floating else "FloorDiv", x, y, name=full)


def power(x, y, name="pow"):
    with scope(name, "pow") as full:
        return op("Pow", *_pair(x, y), name=full)


@export("matmul", "linalg.matmul")
@front("MatMul", rank=2)
def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """The product of matrices, or of stacks of them."""
    with scope(name, "MatMul") as full:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, None if _own_type(b) else a.dtype, "b")
        ranks = [tensor_shape.as_shape(t.shape).rank for t in (a, b)]
        batched = all(r is None or r > 2 for r in ranks)
        if batched and None in ranks and not _situ.executing_eagerly():
            batched = max(r or 0 for r in ranks) > 2 or ranks == [None, None]
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


def _arg(row):
    def find(input, axis=None, name=None, dimension=None, output_type="int64"):
        axis = dimension if axis is None else axis
        return row(input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name)

    find.__doc__, find.__name__ = row.row["doc"], op_docs.short_name(row)
    return find


def wrap_rows():
    """Gives Python's form to every op that looks for elements along an axis, whatever its name."""
    for function, _, python, inputs, _ in _situ.ops():
        ports = [w.split(":")[0] for w in (inputs or "").split()]
        for name in (python or "").split():
            if ports[1:] == ["dimension"]:
                export(name)(_arg(function))


wrap_rows()


@export("add_n", "math.add_n")
def add_n(inputs, name=None):
    """The sum of a list of tensors of one shape."""
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(
            "inputs must be a list of at least one Tensor/IndexedSlices with the same "
            "dtype and shape"
        )
    if len(inputs) == 1:
        return op("Identity", inputs[0], name=name) if name else convert_to_tensor(inputs[0])
    return op("AddN", list(inputs), name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    return add_n(inputs, name=name or "AccumulateN")


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar, x, name=None):
    """A number times a tensor, or times the rows that a gradient is."""
    if is_slices(x):
        return IndexedSlices(scalar_mul(scalar, x.values, name), x.indices, x.dense_shape)
    x = convert_to_tensor(x)
    return op("Mul", convert_to_tensor(scalar, None if dtype_of(scalar) else x.dtype), x, name=name)


def _bitwise(node, logical, bits):
    """A binary operator: `logical` of bools, the op `bits` of everything else."""

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
    # which imports this module
    return logical_xor(x, convert_to_tensor(y, "bool", "y"), name or "xor")


def _invert(x):
    return op("LogicalNot" if as_dtype(x.dtype).is_bool else "Invert", x)


def _conjunction(x, y):
    """A product where one operand is of bools."""
    x, y = convert_to_tensor(x, None if dtype_of(x) else "bool"), convert_to_tensor(y)
    return OPS["LogicalAnd"](
        *[v if v.dtype.is_bool else cast(v, "bool") for v in (x, y)], name="mul"
    )


def _join(x, y):
    """A sum of strings; ValueError of a conversion becomes the error of an operand."""
    for operand in (x, y):
        kind = dtype_of(operand)
        if kind is not None and kind.name != "string":
            text = f"cannot compute Add of a string tensor and a {kind.name} tensor"
            raise (
                errors.InvalidArgumentError(None, None, text)
                if _situ.executing_eagerly()
                else TypeError(text)
            )
    return op("StringJoin", [convert_to_tensor(v, "string") for v in (x, y)], name="add")


def same_texts(x, y):
    """Whether texts are equal, element by element, with broadcasting."""
    x, y = convert_to_tensor(x, "string"), convert_to_tensor(y, "string")
    both = op("ConcatV2", [op("Reshape", x, [-1]), op("Reshape", y, [-1])], 0)
    _, places = op("Unique", both, out_idx="int32")
    cut = op("Size", x)
    first = op("Slice", places, [0], op("Reshape", cut, [1]))
    second = op("Slice", places, op("Reshape", cut, [1]), [-1])
    return op("Reshape", first, op("Shape", x)), op("Reshape", second, op("Shape", y))


def _equal(same):
    def call(x, y):
        if x is None or y is None:
            return not same
        x, y = _pair(x, y)
        if x.dtype.name == y.dtype.name == "string":
            x, y = same_texts(x, y)
        try:
            return op("Equal" if same else "NotEqual", x, y)
        except (errors.InvalidArgumentError, ValueError) as e:
            if not str(e).startswith(("Incompatible shapes", "Dimensions must be equal")):
                raise
            return constant(not same)  # tensors of other shapes differ

    return call


COMPOSITE = {  # what C asks for by name
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
    "eq": _equal(True),
    "ne": _equal(False),
}
_situ.hook("composite", COMPOSITE)


@export("eye", "linalg.eye")
def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
    """Ones on the diagonal of a matrix, or of many."""
    sizes = [num_rows, num_rows if num_columns is None else num_columns]
    kind = as_dtype(dtype)
    whole = list(batch_shape or []) + sizes
    zero = constant(False if kind.is_bool else 0, kind)
    zeros_ = op("Fill", convert_to_tensor(whole, "int32"), zero)
    ones_ = op("OnesLike", op("MatrixDiagPart", zeros_))
    return op("MatrixSetDiag", zeros_, ones_, name=name or "eye")


@export("nn.zero_fraction", "math.zero_fraction")
def zero_fraction(value, name=None):
    value = convert_to_tensor(value)
    same = cast(op("Equal", value, zeros(shape_of(value), value.dtype)), "float32")
    return OPS["Mean"](same, name=name)


def _compared(name):
    """tf.equal and its like: of texts, too."""

    def compare(x, y, name=None):
        kinds = {getattr(dtype_of(v), "name", None) for v in (x, y)}
        if "string" not in kinds and not all(isinstance(v, (str, bytes)) for v in (x, y)):
            return OPS[op_name](x, y, name=name)
        with scope(name, op_name) as full:
            return OPS[op_name](*same_texts(x, y), name=full)

    op_name, words = name, {"Equal": "equal", "NotEqual": "not_equal"}[name]
    compare.__name__, compare.__doc__ = words, OPS[name].__doc__
    export(words, "math." + words)(front(name, real=True)(compare))


for _name in ("Equal", "NotEqual"):
    _compared(_name)


@export("math.logical_xor", v1="logical_xor")
def logical_xor(x, y, name="LogicalXor"):
    """True where exactly one is true."""
    return op(
        "LogicalAnd", op("LogicalOr", x, y), op("LogicalNot", op("LogicalAnd", x, y)), name=name
    )


@export("math.lbeta", v1="lbeta")
def lbeta(x, name=None):
    """The logarithm of the beta function of the last dimension."""
    with scope(name, "lbeta") as full:
        x = convert_to_tensor(x)
        return op(
            "Sub", op("Sum", op("Lgamma", x), [-1]), op("Lgamma", op("Sum", x, [-1])), name=full
        )


@export("math.xlog1py")
def xlog1py(x, y, name=None):
    """x log(1 + y), and 0 where x is 0."""
    x, y = _pair(x, y)
    zero = op("Equal", x, op("ZerosLike", x))
    safe = op("SelectV2", zero, op("ZerosLike", y), y)
    return op("Mul", x, op("Log1p", safe), name=name)


def _steps(x):
    flat = op("Reshape", convert_to_tensor(x), [-1])
    return op("Slice", flat, [1], [-1]), op(
        "Slice", flat, [0], op("Maximum", op("Shape", flat) - 1, constant(0))
    )


@export("math.is_non_decreasing", "debugging.is_non_decreasing", v1="is_non_decreasing")
def is_non_decreasing(x, name=None):
    later, earlier = _steps(x)
    return op("All", op("LessEqual", earlier, later), [0], name=name)


@export(
    "math.is_strictly_increasing", "debugging.is_strictly_increasing", v1="is_strictly_increasing"
)
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
            raise ValueError(
                f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'."
            )
        below = op("Less" if side == "left" else "LessEqual", row, value)
        return op("Sum", cast(below, out_type), [-1])


@export("unravel_index")
def unravel_index(indices, dims, name=None):
    """The places, one column each, that numbers of elements mean in such a shape."""
    with scope(name, "UnravelIndex"):
        indices, dims = _pair(indices, dims)
        steps = op("Cumprod", dims, 0, exclusive=True, reverse=True)
        rank = tensor_shape.as_shape(indices.shape).rank or 0
        steps = op("Reshape", steps, [-1] + [1] * rank)
        sizes = op("Reshape", dims, [-1] + [1] * rank)
        return op("FloorMod", op("FloorDiv", op("ExpandDims", indices, 0), steps), sizes)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x, shape_y):
    """The shape of both, broadcast."""
    a, b = tensor_shape.as_shape(shape_x), tensor_shape.as_shape(shape_y)
    if a.rank is None or b.rank is None:
        return tensor_shape.TensorShape(None)
    made = []
    x, y = [1] * (b.rank - a.rank) + a.as_list(), [1] * (a.rank - b.rank) + b.as_list()
    for m, n in zip(x, y):
        if m is not None and n is not None and m != n and 1 not in (m, n):
            raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}")
        made.append(m if n == 1 else n if m == 1 or n is not None else m)
    return tensor_shape.TensorShape(made)


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


for _old, _row in (
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

    def _alias(*args, _row=_row, **words):
        return op(_row, *args, **words)

    V1.setdefault(_old, _alias)


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
    x, y = _pair(x, y)
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
        (a0, a1, a2), (b0, b1, b2) = (op("Unpack", v, num=3, axis=-1) for v in _pair(a, b))
        return op(
            "Pack", [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1, name=full
        )


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """log(cumsum(exp(x))) along an axis, exact for elements of any size."""
    return op(
        "CumulativeLogsumexp",
        convert_to_tensor(x),
        axis,
        exclusive=exclusive,
        reverse=reverse,
        name=name,
    )


@export(v1="floor_div")
def floor_div(x, y, name=None):
    """x / y rounded down."""
    return op("FloorDiv", x, y, name=name)
