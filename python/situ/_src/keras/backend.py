# SPDX-License-Identifier: Apache-2.0
"""backend.py: tf.keras.backend."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import default_session, style
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.api import named as function
from situ._src.framework.keywords import unsupported
from situ._src.framework.tensor import GraphTensor
from situ._src.keras import activations, context, losses, registry
from situ._src.keras.context import set_setting, setting
from situ._src.keras.registry import keras_export, reset_names
from situ._src.ops import array_ops, random_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn import conv, ctc
from situ._src.ops.nn import pool as nn_conv
from situ._src.ops.sparse_ops import SparseTensor, sparse_tensor_to_dense
from situ._src.variables import variable as variables
from situ._src.variables.eager_variable import EagerVariable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Axis, Callable, Structure, TensorLike

_state = {"session": None}


def _export_function(thing):
    return keras_export("backend." + thing.__name__.rstrip("_"))(thing)


@_export_function
def floatx() -> Any:
    return setting("float")


@_export_function
def set_floatx(value: TensorLike) -> None:
    if value not in ("float16", "float32", "float64"):
        raise ValueError(
            f"Unknown `floatx` value: {value}. Expected one of ('float16', 'float32', 'float64')"
        )
    set_setting("float", value)


@_export_function
def epsilon() -> Any:
    return setting("epsilon")


@_export_function
def set_epsilon(value: TensorLike) -> None:
    set_setting("epsilon", float(value))


@_export_function
def image_data_format() -> Any:
    return setting("format")


@_export_function
def set_image_data_format(data_format: str | None) -> None:
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    set_setting("format", data_format)


@_export_function
def set_learning_phase(value: TensorLike) -> None:
    """Returns the learning phase: 0, 1, or None if it is not set."""
    set_setting("phase", None if value is None else bool(value))


@_export_function
def learning_phase() -> Any:
    phase = setting("phase")
    return int(phase) if phase is not None else 0


@_export_function
def backend() -> str:
    return "tensorflow"


@_export_function
def get_uid(prefix: str = "") -> Any:
    name = registry.unique("uid " + prefix)
    return int(name.rsplit("_", 1)[1]) + 1 if name != "uid " + prefix else 1


@_export_function
def get_session(op_input_list: Any = ()) -> Any:
    """The session of graph style in which variables have values."""
    del op_input_list  # it chooses among the graphs of TensorFlow; the current one is used
    session = default_session.current()
    if session is None:
        if _state["session"] is None:
            _state["session"] = V1["Session"]()
        session = _state["session"]
    from situ._src.variables import initialization

    open_ = initialization.uninitialized(session, variables.global_variables())
    if open_:
        session.run([v.initializer for v in open_])
    return session


@_export_function
def set_session(session: Any) -> None:
    _state["session"] = session


@_export_function
def get_value(x: Any) -> Any:
    if hasattr(x, "numpy"):
        return x.numpy()
    return get_session().run(x) if style.is_graph() else numpy.asarray(x)


@_export_function
def batch_get_value(tensors: Any) -> list:
    return [get_value(t) for t in tensors]


@_export_function
def set_value(x: Any, value: TensorLike) -> None:
    if isinstance(x, EagerVariable):
        with context.eager():
            x.assign(numpy.asarray(value, x.dtype.as_numpy_dtype))
    else:
        x.load(numpy.asarray(value), get_session())


@_export_function
def batch_set_value(tuples: Any) -> None:
    for x, value in tuples:
        set_value(x, value)


@_export_function
def variable(
    value: TensorLike, dtype: Any = None, name: str | None = None, constraint: Any = None
) -> Any:
    return variables.variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


@_export_function
def constant(
    value: TensorLike, dtype: Any = None, shape: Any = None, name: str | None = "Const"
) -> Any:
    return array_ops.constant(value, dtype or floatx(), shape, name)


@_export_function
def placeholder(
    shape: Any = None,
    ndim: Any = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    unsupported("placeholder", sparse=(sparse, False), ragged=(ragged, False))
    from situ._src.keras.input_layer import Input

    return Input(batch_shape=shape if shape is not None else (None,) * ndim, dtype=dtype, name=name)


@_export_function
def is_keras_tensor(x: Any) -> bool:
    return hasattr(x, "_keras_history")


@_export_function
def int_shape(x: Any) -> Any:
    return tuple(x.shape.as_list()) if x.shape.rank is not None else None


@_export_function
def ndim(x: Any) -> Any:
    return x.shape.rank


@_export_function
def dtype(x: Any) -> Any:
    return x.dtype.base_dtype.name


@_export_function
def count_params(x: Any) -> int:
    return int(numpy.prod(x.shape.as_list()))


@_export_function
def eval_(x: Any) -> Any:
    return get_value(convert_to_tensor(x))


@_export_function
def function_(
    inputs: Any, outputs: Any, updates: TensorLike = None, name: str | None = None, **kwargs: Any
) -> Any:
    """Returns a function of arrays that runs the layers between symbolic tensors."""
    unsupported("function", updates=(updates or None, None))
    del name  # the function runs eagerly: no op has a name
    if kwargs:
        raise ValueError(
            f"Some keys in session_kwargs are not supported at this time: {list(kwargs)}"
        )
    from situ._src.keras.model import Model

    one = not isinstance(outputs, (list, tuple))
    model = Model(list(inputs), [outputs] if one else list(outputs))

    def run(values):
        result = model.predict_on_batch(list(values))
        result = result if isinstance(result, list) else [result]
        return result[0] if one else result

    return run


def _axes(axis):
    return axis if axis is None or isinstance(axis, (list, tuple)) else [axis]


def _reduction(name, row):
    def reduce(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        if row == "Mean" and x.dtype.is_bool:
            x = cast(x, floatx())
        axes = list(range(x.shape.rank)) if axis is None else list(_axes(axis))
        return op(row, x, axes, keep_dims=keepdims)

    reduce.__name__ = name
    return _export_function(reduce)


for _name, _row in (
    ("mean", "Mean"),
    ("max", "Max"),
    ("min", "Min"),
    ("prod", "Prod"),
    ("any", "Any"),
    ("all", "All"),
):
    _reduction(_name, _row)
sum_ = _reduction("sum", "Sum")


def _plain(name, row):
    def call(*args):
        return op(row, *[convert_to_tensor(a) for a in args])

    call.__name__ = name
    return _export_function(call)


for _name, _row in (
    ("abs", "Abs"),
    ("square", "Square"),
    ("sqrt", "Sqrt"),
    ("exp", "Exp"),
    ("log", "Log"),
    ("round", "Round"),
    ("sign", "Sign"),
    ("sin", "Sin"),
    ("cos", "Cos"),
    ("maximum", "Maximum"),
    ("minimum", "Minimum"),
    ("equal", "Equal"),
    ("not_equal", "NotEqual"),
    ("greater", "Greater"),
    ("greater_equal", "GreaterEqual"),
    ("less", "Less"),
    ("less_equal", "LessEqual"),
    ("zeros_like", "ZerosLike"),
    ("ones_like", "OnesLike"),
    ("identity", "Identity"),
    ("softsign", "Softsign"),
    ("softplus", "Softplus"),
    ("shape", "Shape"),
    ("stop_gradient", "StopGradient"),
):
    _plain(_name, _row)
for _function in (
    activations.relu,
    activations.elu,
    activations.softmax,
    activations.sigmoid,
    activations.tanh,
    activations.hard_sigmoid,
):
    _export_function(_function)
for _name in (
    "concatenate:concat",
    "stack:stack",
    "reshape:reshape",
    "transpose:transpose",
    "expand_dims:expand_dims",
    "squeeze:squeeze",
    "tile:tile",
    "gather:gather",
    "one_hot:one_hot",
    "pow:pow",
    "clip:clip_by_value",
    "l2_normalize:nn.l2_normalize",
    "argmax:argmax",
    "argmin:argmin",
    "cumsum:cumsum",
    "dot:matmul",
    "var:math.reduce_variance",
    "std:math.reduce_std",
    "logsumexp:reduce_logsumexp",
    "eye:eye",
    "zeros:zeros",
    "ones:ones",
    "reverse:reverse",
):
    _short, _long = _name.split(":")

    def _call(*args, _long=_long, **kwargs):
        return function(_long)(*args, **kwargs)

    _call.__name__ = _short
    _export_function(_call)


@_export_function
def cast_(x: Any, dtype: Any) -> Any:
    return cast(convert_to_tensor(x), dtype)


@_export_function
def permute_dimensions(x: Any, pattern: TensorLike) -> Any:
    return array_ops.transpose(x, pattern)


@_export_function
def flatten(x: Any) -> Any:
    return op("Reshape", x, [-1])


@_export_function
def batch_flatten(x: Any) -> Any:
    return op("Reshape", x, [-1, int(numpy.prod(x.shape.as_list()[1:]))])


@_export_function
def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    pick = lambda f: f() if callable(f) else f
    return op("SelectV2", condition, pick(then_expression), pick(else_expression))


@_export_function
def dropout(x: Any, level: Any, noise_shape: Any = None, seed: int | None = None) -> Any:
    return function("nn.dropout")(x, rate=level, noise_shape=noise_shape, seed=seed)


@_export_function
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: Any = -1
) -> Any:
    return losses.categorical_crossentropy(target, output, from_logits, axis=axis)


@_export_function
def sparse_categorical_crossentropy(
    target: Any,
    output: Any,
    from_logits: bool = False,
    axis: Any = -1,
    ignore_class: int | None = None,
) -> Any:
    return losses.sparse_categorical_crossentropy(target, output, from_logits, ignore_class, axis)


@_export_function
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    if from_logits:
        return function("nn.sigmoid_cross_entropy_with_logits")(labels=target, logits=output)
    output = op("ClipByValue", output, cast(1e-7, output.dtype), cast(1 - 1e-7, output.dtype))
    return -(target * op("Log", output) + (1.0 - target) * op("Log", 1.0 - output))


@_export_function
def random_normal(
    shape: Any,
    mean: TensorLike = 0.0,
    stddev: float = 1.0,
    dtype: Any = None,
    seed: int | None = None,
) -> Any:
    return random_ops.random_normal(shape, mean, stddev, dtype or floatx(), seed=seed)


@_export_function
def random_uniform(
    shape: Any,
    minval: TensorLike = 0.0,
    maxval: TensorLike = 1.0,
    dtype: Any = None,
    seed: int | None = None,
) -> Any:
    return random_ops.random_uniform(shape, minval, maxval, dtype or floatx(), seed=seed)


@_export_function
def gradients(loss: Any, variables_: Any) -> Any:
    result = BOTH.get("gradients", V1.get("gradients"))
    if not isinstance(loss, GraphTensor):
        return result(loss, variables_)
    with loss.graph.as_default():
        return result(loss, variables_)


@_export_function
def name_scope(name: str | None) -> Any:
    return BOTH["name_scope"](name)


@_export_function
def arange(start: TensorLike, stop: TensorLike = None, step: Any = 1, dtype: Any = "int32") -> Any:
    first, last = (0, start) if stop is None else (start, stop)
    return cast(function("range")(first, last, step), dtype)


@_export_function
def cast_to_floatx(x: Any) -> Any:
    if hasattr(x, "numpy") or hasattr(x, "graph"):
        return cast(x, setting("float"))
    import numpy

    return numpy.asarray(x, dtype=setting("float"))


@_export_function
def repeat(x: Any, n: int) -> Any:
    """A matrix as n steps of a sequence."""
    return function("tile")(op("ExpandDims", x, 1), [1, n, 1])


@_export_function
def repeat_elements(x: Any, rep: Any, axis: Any) -> Any:
    return function("repeat")(x, rep, axis=axis)


@_export_function
def batch_dot(x: Any, y: Any, axes: Axis = None) -> Any:
    """Products of examples: over one dimension of each."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = x.shape.rank, y.shape.rank
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2)
    axes = (axes, axes) if isinstance(axes, int) else tuple(axes)
    first, second = (a % r for a, r in zip(axes, ranks))
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[: ranks[0]])
    right = ["a", *letters[ranks[0] : ranks[0] + ranks[1] - 1]]
    right[second] = left[first]
    out = [c for i, c in enumerate(left) if i != first] + [
        c for i, c in enumerate(right) if i not in (0, second)
    ]
    result = function("einsum")(f"{''.join(left)},{''.join(right)}->{''.join(out)}", x, y)
    return op("ExpandDims", result, 1) if len(out) == 1 else result


@_export_function
def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    first = (data_format or setting("format")) == "channels_first"
    if first and x.shape.rank > 2:
        return x + op("Reshape", bias, [1, -1] + [1] * (x.shape.rank - 2))
    return x + bias


def _layout(data_format):
    return "NCHW" if (data_format or setting("format")) == "channels_first" else "NHWC"


@_export_function
def conv2d(
    x: Any,
    kernel: TensorLike,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    return conv.conv2d(
        x,
        kernel,
        strides,
        padding.upper(),
        data_format=_layout(data_format),
        dilations=dilation_rate,
    )


@_export_function
def conv1d(
    x: Any,
    kernel: TensorLike,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    first = _layout(data_format) == "NCHW"
    x = op("Transpose", x, [0, 2, 1]) if first else x
    if padding == "causal":
        left = dilation_rate * (kernel.shape.as_list()[0] - 1)
        x, padding = op("Pad", x, [[0, 0], [left, 0], [0, 0]]), "valid"
    result = function("nn.conv1d")(x, kernel, strides, padding.upper(), dilations=dilation_rate)
    return op("Transpose", result, [0, 2, 1]) if first else result


@_export_function
def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    pool = nn_conv.max_pool if pool_mode == "max" else nn_conv.avg_pool
    return pool(x, pool_size, strides, padding.upper(), _layout(data_format))


@_export_function
def temporal_padding(x: Any, padding: Any = (1, 1)) -> Any:
    return op("Pad", x, [[0, 0], list(padding), [0, 0]])


@_export_function
def spatial_2d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    pads = [list(p) for p in padding]
    return op(
        "Pad",
        x,
        [[0, 0], [0, 0], *pads] if _layout(data_format) == "NCHW" else [[0, 0], *pads, [0, 0]],
    )


@_export_function
def resize_images(
    x: Any,
    height_factor: float,
    width_factor: float,
    data_format: str | None,
    interpolation: str = "nearest",
) -> Any:
    first = data_format == "channels_first"
    x = op("Transpose", x, [0, 2, 3, 1]) if first else x
    sizes = [
        n if n is not None else shape_op(x)[1 + i] for i, n in enumerate(x.shape.as_list()[1:3])
    ]
    result = function("image.resize")(
        x, [sizes[0] * height_factor, sizes[1] * width_factor], interpolation
    )
    return op("Transpose", result, [0, 3, 1, 2]) if first else result


@_export_function
def in_train_phase(x: Any, alt: Any, training: bool | None = None) -> Any:
    """x while training, else alt."""
    training = context.call.training if training is None else training
    chosen = x if training else alt
    return chosen() if callable(chosen) else chosen


@_export_function
def in_test_phase(x: Any, alt: Any, training: bool | None = None) -> Any:
    return in_train_phase(alt, x, training)


@_export_function
def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Any:
    return function("math.in_top_k")(targets, predictions, k)


@_export_function
def update(x: Any, new_x: Any) -> Any:
    return x.assign(new_x)


@_export_function
def update_add(x: Any, increment: Any) -> Any:
    return x.assign_add(increment)


@_export_function
def update_sub(x: Any, decrement: Any) -> Any:
    return x.assign_sub(decrement)


@_export_function
def moving_average_update(x: Any, value: TensorLike, momentum: Any) -> Any:
    return x.assign(x * momentum + cast(value, x.dtype.base_dtype) * (1 - momentum))


@_export_function
def print_tensor(x: Any, message: str = "", summarize: int | None = 3) -> Any:
    """Prints a tensor when it is computed, and returns it."""
    function("print")(message, x, summarize=summarize)
    return x


@_export_function
def map_fn(fn: Callable, elems: Structure, name: str | None = None, dtype: Any = None) -> Any:
    return function("map_fn")(fn, elems, dtype=dtype, name=name)


@_export_function
def foldl(fn: Callable, elems: Structure, initializer: Any = None, name: str | None = None) -> Any:
    return function("foldl")(fn, elems, initializer=initializer, name=name)


@_export_function
def foldr(fn: Callable, elems: Structure, initializer: Any = None, name: str | None = None) -> Any:
    return function("foldr")(fn, elems, initializer=initializer, name=name)


@_export_function
def truncated_normal(
    shape: Any,
    mean: TensorLike = 0.0,
    stddev: float = 1.0,
    dtype: Any = None,
    seed: int | None = None,
) -> Any:
    return function("random.truncated_normal")(shape, mean, stddev, dtype or setting("float"), seed)


@_export_function
def random_bernoulli(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    drawn = function("random.uniform")(shape, seed=seed)
    return cast(op("LessEqual", drawn, convert_to_tensor(float(p))), dtype or setting("float"))


keras_export("backend.random_binomial")(random_bernoulli)


@_export_function
def is_sparse(tensor: TensorLike) -> bool:
    return isinstance(tensor, SparseTensor)


@_export_function
def to_dense(tensor: TensorLike) -> Any:
    return function("sparse.to_dense")(tensor) if is_sparse(tensor) else tensor


@_export_function
def reset_uids() -> None:
    reset_names()


@_export_function
def cumprod(x: Any, axis: Any = 0) -> Any:
    return function("math.cumprod")(x, axis)


def _flat(lengths):
    return op("Reshape", cast(lengths, "int32"), [-1])


def _by_time(shares):
    """Logits [time, batch, classes] of probabilities [batch, time, classes]."""
    return op("Log", op("Transpose", convert_to_tensor(shares), [1, 0, 2]) + 1e-7)


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: TensorLike) -> Any:
    """The loss of labels [batch, most] under probabilities [batch, time, classes]: [batch, 1]."""
    labels = ctc_label_dense_to_sparse(cast(y_true, "int32"), _flat(label_length))
    return op("ExpandDims", ctc.ctc_loss(labels, _by_time(y_pred), _flat(input_length)), 1)


@export("keras.backend.ctc_decode")
def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> Any:
    """([labels, -1 behind them], scores) of probabilities [batch, time, classes]."""
    logits, lengths = _by_time(y_pred), _flat(input_length)
    if greedy:
        result, scores = ctc.ctc_greedy_decoder(logits, lengths)
    else:
        result, scores = ctc.ctc_beam_search_decoder_v2(logits, lengths, beam_width, top_paths)
    wide = op("Shape", y_pred, out_type="int64")[:2]
    return [
        sparse_tensor_to_dense(SparseTensor(f.indices, f.values, wide), -1) for f in result
    ], scores


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: Any) -> Any:
    """Returns labels as a sparse tensor, up to their lengths."""
    return ctc.sparse(labels, cast(label_lengths, "int32"))
