# SPDX-License-Identifier: Apache-2.0
"""backend.py: tf.keras.backend: functions that programs of Keras call by short names."""
import numpy

from situ._lib import array_ops, random_ops, sessions_default, style, variables
from situ._lib.api import BOTH, V1
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.keras import activations, context, losses, names
from situ._lib.keras.context import function, set_setting, setting
from situ._lib.keras.names import shown
from situ._lib.keywords import unsupported
from situ._lib.tensors import GraphTensor
from situ._lib.variable_eager import EagerVariable

_state = {"session": None}


def _shown(thing):
    return shown("backend." + thing.__name__.rstrip("_"))(thing)


@_shown
def floatx():
    return setting("float")


@_shown
def set_floatx(value):
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of ('float16', "
                         "'float32', 'float64')")
    set_setting("float", value)


@_shown
def epsilon():
    return setting("epsilon")


@_shown
def set_epsilon(value):
    set_setting("epsilon", float(value))


@_shown
def image_data_format():
    return setting("format")


@_shown
def set_image_data_format(data_format):
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    set_setting("format", data_format)


@_shown
def set_learning_phase(value):
    """Whether layers train where nobody says: 0, 1, or None."""
    set_setting("phase", None if value is None else bool(value))


@_shown
def learning_phase():
    phase = setting("phase")
    return int(phase) if phase is not None else 0


@_shown
def backend():
    return "tensorflow"


@_shown
def get_uid(prefix=""):
    name = names.unique("uid " + prefix)
    return int(name.rsplit("_", 1)[1]) + 1 if name != "uid " + prefix else 1


@_shown
def get_session(op_input_list=()):
    """The session of graph style in which variables have values."""
    session = sessions_default.current()
    if session is None:
        if _state["session"] is None:
            _state["session"] = V1["Session"]()
        session = _state["session"]
    from situ._lib import variable_state
    open_ = variable_state.without_value(session, variables.global_variables())
    if open_:
        session.run([v.initializer for v in open_])
    return session


@_shown
def set_session(session):
    _state["session"] = session


@_shown
def get_value(x):
    if hasattr(x, "numpy"):
        return x.numpy()
    return get_session().run(x) if style.is_graph() else numpy.asarray(x)


@_shown
def batch_get_value(tensors):
    return [get_value(t) for t in tensors]


@_shown
def set_value(x, value):
    if isinstance(x, EagerVariable):
        with context.eager():
            x.assign(numpy.asarray(value, x.dtype.as_numpy_dtype))
    else:
        x.load(numpy.asarray(value), get_session())


@_shown
def batch_set_value(tuples):
    for x, value in tuples:
        set_value(x, value)


@_shown
def variable(value, dtype=None, name=None, constraint=None):
    return variables.variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


@_shown
def constant(value, dtype=None, shape=None, name="Const"):
    return array_ops.constant(value, dtype or floatx(), shape, name)


@_shown
def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None, ragged=False):
    unsupported("placeholder", sparse=(sparse, False), ragged=(ragged, False))
    from situ._lib.keras.input_layer import Input
    return Input(batch_shape=shape if shape is not None else (None,) * ndim, dtype=dtype, name=name)


@_shown
def is_keras_tensor(x):
    return hasattr(x, "_keras_history")


@_shown
def int_shape(x):
    return tuple(x.shape.as_list()) if x.shape.rank is not None else None


@_shown
def ndim(x):
    return x.shape.rank


@_shown
def dtype(x):
    return x.dtype.base_dtype.name


@_shown
def count_params(x):
    return int(numpy.prod(x.shape.as_list()))


@_shown
def eval_(x):
    return get_value(convert_to_tensor(x))


@_shown
def function_(inputs, outputs, updates=None, name=None, **kwargs):
    """A function of arrays: what the layers between symbolic tensors give."""
    unsupported("function", updates=(updates or None, None))
    if kwargs:
        raise ValueError("Some keys in session_kwargs are not supported at this time: "
                         f"{list(kwargs)}")
    from situ._lib.keras.model import Model
    one = not isinstance(outputs, (list, tuple))
    model = Model(list(inputs), [outputs] if one else list(outputs))

    def run(values):
        made = model.predict_on_batch(list(values))
        made = made if isinstance(made, list) else [made]
        return made[0] if one else made
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
    return _shown(reduce)


for _name, _row in (("mean", "Mean"), ("max", "Max"), ("min", "Min"), ("prod", "Prod"),
                    ("any", "Any"), ("all", "All")):
    _reduction(_name, _row)
sum_ = _reduction("sum", "Sum")


def _plain(name, row, count=1):
    def call(*args):
        return op(row, *[convert_to_tensor(a) for a in args])
    call.__name__ = name
    return _shown(call)


for _name, _row in (("abs", "Abs"), ("square", "Square"), ("sqrt", "Sqrt"), ("exp", "Exp"),
                    ("log", "Log"), ("round", "Round"), ("sign", "Sign"), ("sin", "Sin"),
                    ("cos", "Cos"), ("maximum", "Maximum"), ("minimum", "Minimum"),
                    ("equal", "Equal"), ("not_equal", "NotEqual"), ("greater", "Greater"),
                    ("greater_equal", "GreaterEqual"), ("less", "Less"),
                    ("less_equal", "LessEqual"), ("zeros_like", "ZerosLike"),
                    ("ones_like", "OnesLike"), ("identity", "Identity"), ("softsign", "Softsign"),
                    ("softplus", "Softplus"), ("shape", "Shape"), ("stop_gradient",
                                                                   "StopGradient")):
    _plain(_name, _row)
for _function in (activations.relu, activations.elu, activations.softmax, activations.sigmoid,
                  activations.tanh, activations.hard_sigmoid):
    _shown(_function)
for _name in ("concatenate:concat", "stack:stack", "reshape:reshape", "transpose:transpose",
              "expand_dims:expand_dims", "squeeze:squeeze", "tile:tile", "gather:gather",
              "one_hot:one_hot", "pow:pow", "clip:clip_by_value", "l2_normalize:nn.l2_normalize",
              "argmax:argmax", "argmin:argmin", "cumsum:cumsum", "dot:matmul", "var:"
              "math.reduce_variance", "std:math.reduce_std", "logsumexp:reduce_logsumexp",
              "eye:eye", "zeros:zeros", "ones:ones", "reverse:reverse"):
    _short, _long = _name.split(":")

    def _call(*args, _long=_long, **words):
        return function(_long)(*args, **words)
    _call.__name__ = _short
    _shown(_call)


@_shown
def cast_(x, dtype):
    return cast(convert_to_tensor(x), dtype)


@_shown
def permute_dimensions(x, pattern):
    return array_ops.transpose(x, pattern)


@_shown
def flatten(x):
    return op("Reshape", x, [-1])


@_shown
def batch_flatten(x):
    return op("Reshape", x, [-1, int(numpy.prod(x.shape.as_list()[1:]))])


@_shown
def switch(condition, then_expression, else_expression):
    pick = lambda f: f() if callable(f) else f
    return op("SelectV2", condition, pick(then_expression), pick(else_expression))


@_shown
def dropout(x, level, noise_shape=None, seed=None):
    return function("nn.dropout")(x, rate=level, noise_shape=noise_shape, seed=seed)


@_shown
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    return losses.categorical_crossentropy(target, output, from_logits, axis=axis)


@_shown
def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1,
                                    ignore_class=None):
    return losses.sparse_categorical_crossentropy(target, output, from_logits, ignore_class, axis)


@_shown
def binary_crossentropy(target, output, from_logits=False):
    if from_logits:
        return function("nn.sigmoid_cross_entropy_with_logits")(labels=target, logits=output)
    output = op("ClipByValue", output, cast(1e-7, output.dtype), cast(1 - 1e-7, output.dtype))
    return -(target * op("Log", output) + (1.0 - target) * op("Log", 1.0 - output))


@_shown
def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return random_ops.random_normal(shape, mean, stddev, dtype or floatx(), seed=seed)


@_shown
def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    return random_ops.random_uniform(shape, minval, maxval, dtype or floatx(), seed=seed)


@_shown
def gradients(loss, variables_):
    made = BOTH.get("gradients", V1.get("gradients"))
    if not isinstance(loss, GraphTensor):
        return made(loss, variables_)
    with loss.graph.as_default():
        return made(loss, variables_)


@_shown
def name_scope(name):
    return BOTH["name_scope"](name)
