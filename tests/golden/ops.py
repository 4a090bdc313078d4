# SPDX-License-Identifier: Apache-2.0
"""ops.py: writes ops.txt: what NumPy makes of the samples of every op, for tests/ops/test_ops.c.

Usage: build/tests/ops/test_ops --samples | python3 tests/golden/ops.py > tests/golden/ops.txt
Each line of the result: op, type, number of the sample, number of the output, shape, values (of
more than 100 every second, third, ... so that at most 100 remain). Reals are computed in float64
from inputs that every type holds exactly, integers in int64.
"""
import json
import math
import sys

import numpy as np

from ops_gradient import GRADIENT
from ops_image import IMAGE
from ops_matrix import MATRIX
from ops_nn import NN
from ops_norm import NORM
from ops_random import RANDOM
from ops_rows import ROWS
from ops_scan import SCAN
from ops_special import SPECIAL
from ops_train import TRAIN
from ops_warp import WARP


def each(function):
    """A function of numbers as one of arrays."""
    return lambda *arrays: np.vectorize(function, otypes=[float])(*arrays) if arrays[0].size else (
        np.zeros(np.broadcast_shapes(*(a.shape for a in arrays))))


def digamma(x):
    """For x > 0: recurrence up to 30, then the asymptotic series."""
    result = 0.0
    while x < 30:
        result -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return result + math.log(x) - 0.5 / x - series


def polygamma(n, x):
    """For whole n > 0, x > 0: a sum with the integral of what is left."""
    terms = math.fsum((x + k) ** -(n + 1) for k in range(2000))
    end = x + 2000
    rest = end ** -n / n + end ** -(n + 1) / 2 + (n + 1) * end ** -(n + 2) / 12
    return (-1) ** (n + 1) * math.factorial(int(n)) * (terms + rest)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def concat_offset(_, axis, *shapes):
    begins = np.cumsum([0] + [shape[int(axis)] for shape in shapes])
    return [np.eye(len(shape), dtype=int)[int(axis)] * begin for shape, begin in
            zip(shapes, begins)]


def equality(function, misfit):
    """Shapes that cannot be broadcast are unequal."""
    def compare(x, y):
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return np.array(misfit)
        return function(x, y)
    return compare


def gather(attrs, x, indices, axis):
    """Gathers along an axis, for each element of the batch by itself."""
    batch, axis = attrs.get("batch_dims", 0), int(axis) % x.ndim
    batch += indices.ndim if batch < 0 else 0
    made = [np.take(x[at], indices[at], axis - batch) for at in np.ndindex(x.shape[:batch])]
    return np.array(made).reshape(x.shape[:batch] + made[0].shape)


def is_real(x):
    return x.dtype.kind == "f"


def quotient(x, y):
    return x / y if is_real(x) else np.trunc(x / y).astype(np.int64)


def safe(condition, value):
    return np.where(condition, 0, value)


UNARY = {
    "Abs": np.abs, "Neg": np.negative, "Sign": np.sign, "Square": np.square,
    "Reciprocal": lambda x: 1 / x, "Inv": lambda x: 1 / x, "Sqrt": np.sqrt,
    "Rsqrt": lambda x: 1 / np.sqrt(x), "Floor": np.floor, "Ceil": np.ceil, "Round": np.round,
    "Rint": np.rint, "Exp": np.exp, "Expm1": np.expm1, "Log": np.log, "Log1p": np.log1p,
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos,
    "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh, "Asinh": np.arcsinh,
    "Acosh": np.arccosh, "Atanh": np.arctanh, "Sigmoid": sigmoid, "Erf": each(math.erf),
    "Erfc": each(math.erfc), "Lgamma": each(math.lgamma), "Digamma": each(digamma),
    "Relu": lambda x: np.maximum(x, 0), "Relu6": lambda x: np.clip(x, 0, 6),
    "Elu": lambda x: np.where(x < 0, np.expm1(x), x),
    "Selu": lambda x: 1.0507009873554805 * np.where(x < 0, 1.6732632423543773 * np.expm1(x), x),
    "Softplus": lambda x: np.logaddexp(x, 0), "Softsign": lambda x: x / (1 + np.abs(x)),
    "IsNan": np.isnan, "IsInf": np.isinf, "IsFinite": np.isfinite, "LogicalNot": np.logical_not,
    "Identity": lambda x: x, "StopGradient": lambda x: x, "ZerosLike": np.zeros_like,
    "EnsureShape": lambda x: x, "PlaceholderWithDefault": lambda x: x,
    "OnesLike": np.ones_like, "Invert": np.invert,
}

BINARY = {
    "Add": np.add, "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": quotient,
    "RealDiv": np.divide, "FloorDiv": np.floor_divide,
    "TruncateDiv": lambda x, y: np.trunc(x / y).astype(x.dtype), "Mod": np.fmod,
    "FloorMod": np.mod, "TruncateMod": np.fmod,
    "DivNoNan": lambda x, y: safe(y == 0, x / np.where(y == 0, 1, y)), "Pow": np.power,
    "Maximum": np.maximum, "Minimum": np.minimum,
    "SquaredDifference": lambda x, y: np.square(x - y), "Atan2": np.arctan2,
    "Xlogy": lambda x, y: safe(x == 0, x * np.log(y)), "Xdivy": lambda x, y: safe(x == 0, x / y),
    "Polygamma": each(polygamma),
    "Less": np.less, "LessEqual": np.less_equal, "Greater": np.greater,
    "GreaterEqual": np.greater_equal, "Equal": equality(np.equal, False),
    "NotEqual": equality(np.not_equal, True),
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor, "LeftShift": np.left_shift,
    "RightShift": np.right_shift,
}


def cast(attrs, x):
    """Reals go to integers through truncation."""
    to = attrs["DstT"]
    if to == "bool":
        return x != 0
    if to.startswith("complex"):
        return x.astype(np.complex128)
    x = x.real
    whole = np.trunc(x).astype(np.int64) if is_real(x) else x.astype(np.int64)
    return x.astype(np.float64) if "float" in to else whole.astype(to)


def select(_, condition, x, y):
    """A condition of rank 1 chooses rows."""
    if condition.ndim == 1:
        condition = condition.reshape(condition.shape + (1,) * (x.ndim - 1))
    return np.where(condition, x, y)


def bias_add(attrs, value, bias):
    if attrs["data_format"] == "NCHW":
        bias = bias.reshape((-1,) + (1,) * (value.ndim - 2))
    return value + bias


def clip(_, x, low, high):
    return np.maximum(np.minimum(x, high), low)


def strided_slice(attrs, x, begin, end, strides):
    """Builds the index that Python's slicing would have."""
    index = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides)):
        def bit(mask):
            return attrs[mask + "_mask"] >> i & 1
        if bit("ellipsis"):
            index.append(Ellipsis)
        elif bit("new_axis"):
            index.append(None)
        elif bit("shrink_axis"):
            index.append(int(first))
        else:
            index.append(slice(None if bit("begin") else int(first),
                               None if bit("end") else int(last), int(step)))
    return x[tuple(index)]


def strided_update(attrs, x, begin, end, strides, value):
    """x, but what strided_slice gives of it is the value."""
    places = strided_slice(attrs, np.arange(x.size).reshape(x.shape), begin, end, strides)
    made = x.copy()
    made.ravel()[places.ravel()] = np.broadcast_to(value, places.shape).ravel()
    return made


def mirror_sum(attrs, dy, paddings):
    """What np.pad would have made of each element, added up."""
    shape = [size - int(before) - int(behind) for size, (before, behind) in zip(dy.shape, paddings)]
    places = mirror(attrs, np.arange(int(np.prod(shape))).reshape(shape), paddings)
    made = np.zeros(int(np.prod(shape)), dy.dtype)
    np.add.at(made, places.ravel(), dy.ravel())
    return made.reshape(shape)


def mirror(attrs, x, paddings):
    return np.pad(x, paddings.tolist(), mode=attrs["mode"].lower()) if x.size else \
        np.zeros([n + int(sum(pair)) for n, pair in zip(x.shape, paddings)], x.dtype)


def slice_box(_, x, begin, size):
    return x[tuple(slice(b, None if s < 0 else b + s) for b, s in zip(begin, size))]


def squeeze(attrs, x):
    return np.squeeze(x, tuple(attrs["squeeze_dims"]) or None)


def split_sizes(attrs, x, sizes, axis):
    """One size may be -1."""
    sizes = list(sizes)
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def unpack(attrs, x):
    return [np.take(x, i, attrs["axis"]) for i in range(attrs["num"])]


def one_hot(attrs, indices, depth, on, off):
    axis = attrs["axis"] if attrs["axis"] >= 0 else indices.ndim
    shape = [1] * (indices.ndim + 1)
    shape[axis] = int(depth)
    hit = np.expand_dims(indices, axis) == np.arange(int(depth)).reshape(shape)
    return np.where(hit, on, off)


def matmul(attrs, x, y):
    """MatMul's attributes are transpose_a and transpose_b, BatchMatMul's adj_x and adj_y."""
    first = attrs.get("transpose_a", attrs.get("adj_x"))
    second = attrs.get("transpose_b", attrs.get("adj_y"))
    return (np.swapaxes(x, -1, -2) if first else x) @ (np.swapaxes(y, -1, -2) if second else y)


def reduction(function):
    return lambda attrs, x, axes: function(x, axis=vector(axes), keepdims=bool(attrs["keep_dims"]))


def mean(x, axis, keepdims):
    result = np.mean(x, axis=axis, keepdims=keepdims)
    return result if x.dtype.kind in "fc" else np.trunc(result).astype(np.int64)


def log_softmax(_, x):
    shifted = x - np.max(x, -1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), -1, keepdims=True))


def vector(array):
    return tuple(int(v) for v in array.ravel())


OTHERS = {
    "Cast": cast, "Select": select, "SelectV2": lambda a, c, x, y: np.where(c, x, y),
    "AddN": lambda a, *x: sum(x[1:], x[0]), "SumOverDevices": lambda a, *x: sum(x[1:], x[0]),
    "BiasAdd": bias_add, "ClipByValue": clip,
    "LeakyRelu": lambda a, x: np.where(x > 0, x, a["alpha"] * x),
    "Shape": lambda a, x: np.array(x.shape, np.int64), "Size": lambda a, x: np.array(x.size),
    "Rank": lambda a, x: np.array(x.ndim), "Reshape": lambda a, x, s: x.reshape(vector(s)),
    "ExpandDims": lambda a, x, d: np.expand_dims(x, int(d)), "Squeeze": squeeze,
    "Fill": lambda a, s, v: np.full(vector(s), v), "Slice": slice_box,
    "BroadcastTo": lambda a, x, s: np.broadcast_to(x, vector(s)), "StridedSlice": strided_slice,
    "TensorStridedSliceUpdate": strided_update, "MirrorPad": mirror, "MirrorPadGrad": mirror_sum,
    "BroadcastArgs": lambda a, x, y: np.broadcast_shapes(vector(x), vector(y)),
    "ConcatOffset": concat_offset,
    "Roll": lambda a, x, shift, axis: np.roll(x, shift.tolist(), axis.tolist()),
    "ReverseV2": lambda a, x, axes: np.flip(x, vector(axes)),
    "Concat": lambda a, axis, *x: np.concatenate(x, int(axis)),
    "ConcatV2": lambda a, *x: np.concatenate(x[:-1], int(x[-1])),
    "Pack": lambda a, *x: np.stack(x, a["axis"]), "Unpack": unpack,
    "Split": lambda a, axis, x: np.split(x, a["num_split"], int(axis)),
    "SplitV": lambda a, x, sizes, axis: split_sizes(a, x, vector(sizes), int(axis)),
    "Tile": lambda a, x, m: np.tile(x, vector(m)),
    "Pad": lambda a, x, p: np.pad(x, p.tolist()),
    "PadV2": lambda a, x, p, v: np.pad(x, p.tolist(), constant_values=v),
    "Gather": lambda a, x, i: np.take(x, i, 0),
    "GatherV2": gather, "OneHot": one_hot,
    "MatMul": matmul, "BatchMatMul": matmul, "BatchMatMulV2": matmul,
    "Sum": reduction(np.sum), "Prod": reduction(np.prod), "Max": reduction(np.max),
    "Min": reduction(np.min), "Mean": reduction(mean), "All": reduction(np.all),
    "Any": reduction(np.any), "ArgMax": lambda a, x, axis: np.argmax(x, int(axis)),
    "ArgMin": lambda a, x, axis: np.argmin(x, int(axis)), "LogSoftmax": log_softmax,
    "Softmax": lambda a, x: np.exp(log_softmax(a, x)),
    "Transpose": lambda a, x, perm: np.transpose(x, vector(perm)),
    "L2Loss": lambda a, x: np.sum(np.square(x)) / 2,
    "Range": lambda a, start, limit, delta: np.arange(start, limit, delta),
}


OURS = {**ROWS, **IMAGE, **MATRIX, **SCAN, **NORM, **WARP}


def wide(entry):
    """An input in the type to compute in."""
    kind = "f" if entry["type"] == "bfloat16" else np.dtype(entry["type"]).kind
    if kind == "c":
        parts = np.array(entry["values"], np.float64)
        return parts.view(np.complex128).reshape(entry["shape"])
    to = {"f": np.float64, "b": np.bool_}.get(kind, np.int64)
    return np.array(entry["values"]).astype(to).reshape(entry["shape"])


# Of complex numbers, where the function of real numbers is another one.
COMPLEX = {
    "Real": np.real, "Imag": np.imag, "Angle": np.angle, "ComplexAbs": np.abs, "Conj": np.conj,
    "Complex": lambda x, y: x + 1j * y, "Div": np.divide, "Pow": np.power,
    "SquaredDifference": lambda x, y: (x - y) * np.conj(x - y),
    "Xlogy": lambda x, y: x * np.log(y), "Xdivy": np.divide, "DivNoNan": np.divide,
    "Sigmoid": sigmoid,
}
ADJOINTS = ("BatchMatMul", "BatchMatMulV2")


def fourier(op, x, lengths=None):
    """The transform over as many of the last dimensions as the name of the op says."""
    axes = tuple(range(-(int(op[-2]) if op.endswith("D") else 1), 0))
    function = {"F": np.fft.fftn, "IF": np.fft.ifftn, "RF": np.fft.rfftn, "IRF": np.fft.irfftn}
    return function[op[:op.index("FFT") + 1]](x, lengths, axes)


def results(case):
    op, inputs = case["op"], [wide(entry) for entry in case["inputs"]]
    is_complex = bool(inputs) and inputs[0].dtype.kind == "c"
    if op in COMPLEX and (is_complex or op == "Complex"):
        return [np.asarray(COMPLEX[op](*inputs))]
    if "FFT" in op:
        return [np.asarray(fourier(op, *inputs))]
    if op in ADJOINTS and is_complex:
        for i, name in enumerate(("adj_x", "adj_y")):
            inputs[i] = np.conj(inputs[i]) if case["attrs"][name] else inputs[i]
    if op in UNARY:
        made = UNARY[op](*inputs)
    elif op in BINARY:
        made = BINARY[op](*inputs)
    elif op in SPECIAL:
        made = SPECIAL[op](*inputs)
    elif op in RANDOM:
        made = RANDOM[op](case["attrs"], *inputs)
    elif op in GRADIENT:
        made = GRADIENT[op](case["attrs"], *inputs)
    elif op in TRAIN:
        made = TRAIN[op](case["attrs"], *inputs)
    elif op in NN:
        made = NN[op](case["attrs"], *inputs)
    elif op in OURS:
        made = OURS[op](case["attrs"], *inputs)
    elif op in OTHERS:
        made = OTHERS[op](case["attrs"], *inputs)
    else:
        sys.exit(f"ops.py: how to compute {op} is not said")
    return made if isinstance(made, list) else [np.asarray(made)]


def main():
    np.seterr(all="ignore")
    for line in sys.stdin:
        case = json.loads(line)
        for number, array in enumerate(results(case)):
            shape = "[" + ",".join(map(str, array.shape)) + "]"
            if array.dtype.kind == "c":
                array = np.ascontiguousarray(array).ravel().view(np.float64)
            values = " ".join(f"{v:.14g}" if is_real(array) else str(int(v))
                              for v in array.ravel()[::max(1, -(-array.size // 100))])
            print(case["op"], case["type"], case["sample"], number, shape, values)


if __name__ == "__main__":
    main()
