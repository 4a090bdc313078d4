# SPDX-License-Identifier: Apache-2.0
"""math_ops.py: operators, reductions and other mathematics that is more than one op."""
import _situ
from situ._lib import errors, rows, shapes
from situ._lib.api import OPS, export, front, named
from situ._lib.array_ops import cast, constant, convert_to_tensor, op, shape_of, zeros
from situ._lib.dtypes import as_dtype, dtype_of
from situ._lib.graph import scope
from situ._lib.indexed_slices import IndexedSlices, is_slices


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
            raise TypeError(f"Invalid dtype {x.dtype!r} in truediv. Expected one of "
                            "{float16, float32, float64, int8, int16, int32, int64, uint8, "
                            "uint16}.")
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
def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False,
           a_is_sparse=False, b_is_sparse=False, name=None):
    """The product of matrices, or of stacks of them."""
    with scope(name, "MatMul") as full:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, None if _own_type(b) else a.dtype, "b")
        ranks = [shapes.as_shape(t.shape).rank for t in (a, b)]
        batched = all(r is None or r > 2 for r in ranks)
        if batched and None in ranks and not _situ.executing_eagerly():
            batched = max(r or 0 for r in ranks) > 2 or ranks == [None, None]
        if batched or any(r is not None and r > 2 for r in ranks):
            return op("BatchMatMulV2", a, b, adj_x=transpose_a or adjoint_a,
                      adj_y=transpose_b or adjoint_b, name=full)
        return op("MatMul", a, b, transpose_a=transpose_a or adjoint_a,
                  transpose_b=transpose_b or adjoint_b, name=full or "MatMul")


def _arg(row):
    def find(input, axis=None, name=None, dimension=None, output_type="int64"):
        axis = dimension if axis is None else axis
        return row(input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name)
    find.__doc__, find.__name__ = row.row["doc"], rows.short_name(row)
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
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same "
                         "dtype and shape")
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
    from situ._lib.small_math import logical_xor  # which imports this module
    return logical_xor(x, convert_to_tensor(y, "bool", "y"), name or "xor")


def _invert(x):
    return op("LogicalNot" if as_dtype(x.dtype).is_bool else "Invert", x)


def _conjunction(x, y):
    """A product where one operand is of bools."""
    x, y = convert_to_tensor(x, None if dtype_of(x) else "bool"), convert_to_tensor(y)
    return OPS["LogicalAnd"](*[v if v.dtype.is_bool else cast(v, "bool") for v in (x, y)],
                             name="mul")


def _join(x, y):
    """A sum of strings; ValueError of a conversion becomes the error of an operand."""
    for operand in (x, y):
        kind = dtype_of(operand)
        if kind is not None and kind.name != "string":
            text = f"cannot compute Add of a string tensor and a {kind.name} tensor"
            raise errors.InvalidArgumentError(None, None, text) if _situ.executing_eagerly() \
                else TypeError(text)
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
    "axes": lambda tensor: op("Range", 0, op("Rank", tensor), 1), "truediv": truediv,
    "pow": power, "matmul": lambda x, y: matmul(x, y, name="matmul"),
    "join": _join, "mul": _conjunction,
    "and": _bitwise("and", lambda x, y, name: op("LogicalAnd", x, y, name=name), "BitwiseAnd"),
    "or": _bitwise("or", lambda x, y, name: op("LogicalOr", x, y, name=name), "BitwiseOr"),
    "xor": _bitwise("xor", _xor, "BitwiseXor"), "invert": _invert,
    "eq": _equal(True), "ne": _equal(False)}
_situ.hook("composite", COMPOSITE)


@export("eye", "linalg.eye")
def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
    """Ones on the diagonal of a matrix, or of many."""
    sizes = [num_rows, num_rows if num_columns is None else num_columns]
    kind = as_dtype(dtype)
    if all(isinstance(s, int) for s in sizes) and not batch_shape:
        import numpy
        return constant(numpy.eye(*sizes, dtype=kind.as_numpy_dtype), name=name or "eye")
    whole = list(batch_shape or []) + sizes
    zeros_ = op("Fill", convert_to_tensor(whole, "int32"), constant(0, kind))
    return op("MatrixSetDiag", zeros_, op("OnesLike", op("MatrixDiagPart", zeros_)), name=name)


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
