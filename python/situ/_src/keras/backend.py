# SPDX-License-Identifier: Apache-2.0
"""backend.py: tf.keras.backend: settings, sessions, variables and phases; its operations are in
backend_ops.py and backend_math.py."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import default_session, style
from situ._src.framework.api import BOTH, V1
from situ._src.framework.api import named as function
from situ._src.framework.keywords import unsupported
from situ._src.framework.tensor import GraphTensor
from situ._src.keras import context, registry
from situ._src.keras.context import set_setting, setting
from situ._src.keras.input_layer import Input
from situ._src.keras.model import Model
from situ._src.keras.registry import keras_export, reset_names
from situ._src.ops import array_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.variables import initialization
from situ._src.variables import variable as variables
from situ._src.variables.eager_variable import EagerVariable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike

_state = {"session": None}


def export_function(thing: Any) -> Any:
    """Exports a function as tf.keras.backend.NAME; its name may end in an underscore."""
    return keras_export("backend." + thing.__name__.rstrip("_"))(thing)


@export_function
def floatx() -> Any:
    """Returns the default floating-point type, such as "float32"."""
    return setting("float")


@export_function
def set_floatx(value: TensorLike) -> None:
    """Sets the default floating-point type.

    Args:
      value: "float16", "float32" or "float64".

    Raises:
      ValueError: It is another name.
    """
    if value not in ("float16", "float32", "float64"):
        raise ValueError(
            f"Unknown `floatx` value: {value}. Expected one of ('float16', 'float32', 'float64')"
        )
    set_setting("float", value)


@export_function
def epsilon() -> Any:
    """Returns the small number that keeps divisions finite, 1e-7 by default."""
    return setting("epsilon")


@export_function
def set_epsilon(value: TensorLike) -> None:
    """Sets the small number that keeps divisions finite.

    Args:
      value: The number.
    """
    set_setting("epsilon", float(value))


@export_function
def image_data_format() -> Any:
    """Returns the default layout of images: "channels_last" or "channels_first"."""
    return setting("format")


@export_function
def set_image_data_format(data_format: str | None) -> None:
    """Sets the default layout of images.

    Args:
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: It is another layout.
    """
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    set_setting("format", data_format)


@export_function
def set_learning_phase(value: TensorLike) -> None:
    """Sets the learning phase of layers that are called without `training`.

    Args:
      value: 1 or True for training, 0 or False for inference, None to unset it.
    """
    set_setting("phase", None if value is None else bool(value))


@export_function
def learning_phase() -> Any:
    """Returns the learning phase: 1 for training, 0 for inference or if it is not set."""
    phase = setting("phase")
    return int(phase) if phase is not None else 0


@export_function
def backend() -> str:
    """Returns "tensorflow", the name of the backend."""
    return "tensorflow"


@export_function
def get_uid(prefix: str = "") -> Any:
    """Returns a number that increases with each call for a prefix, from 1.

    Args:
      prefix: The prefix.
    """
    name = registry.unique("uid " + prefix)
    return int(name.rsplit("_", 1)[1]) + 1 if name != "uid " + prefix else 1


@export_function
def get_session(op_input_list: Any = ()) -> Any:
    """Returns the session of graph mode, after it has initialized new variables.

    Args:
      op_input_list: Has no effect: the session is that of the current graph.
    """
    del op_input_list  # it chooses among the graphs of TensorFlow; the current one is used
    session = default_session.current()
    if session is None:
        if _state["session"] is None:
            _state["session"] = V1["Session"]()
        session = _state["session"]
    open_ = initialization.uninitialized(session, variables.global_variables())
    if open_:
        session.run([v.initializer for v in open_])
    return session


@export_function
def set_session(session: Any) -> None:
    """Sets the session of graph mode.

    Args:
      session: The session.
    """
    _state["session"] = session


@export_function
def get_value(x: Any) -> Any:
    """Returns the value of a variable or tensor as a NumPy array.

    Args:
      x: A variable or a tensor.
    """
    if hasattr(x, "numpy"):
        return x.numpy()
    return get_session().run(x) if style.is_graph() else numpy.asarray(x)


@export_function
def batch_get_value(tensors: Any) -> list:
    """Returns the values of several variables or tensors.

    Args:
      tensors: List of variables and tensors.
    """
    return [get_value(t) for t in tensors]


@export_function
def set_value(x: Any, value: TensorLike) -> None:
    """Assigns an array to a variable.

    Args:
      x: The variable.
      value: Its new value.
    """
    if isinstance(x, EagerVariable):
        with context.eager():
            x.assign(numpy.asarray(value, x.dtype.as_numpy_dtype))
    else:
        x.load(numpy.asarray(value), get_session())


@export_function
def batch_set_value(tuples: Any) -> None:
    """Assigns arrays to variables.

    Args:
      tuples: Pairs of a variable and its new value.
    """
    for x, value in tuples:
        set_value(x, value)


@export_function
def variable(
    value: TensorLike, dtype: Any = None, name: str | None = None, constraint: Any = None
) -> Any:
    """Creates a variable.

    Args:
      value: Its initial value.
      dtype: Its type; default: `floatx()`.
      name: Its name.
      constraint: Function that is applied to the value after an update.
    """
    return variables.variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


@export_function
def constant(
    value: TensorLike, dtype: Any = None, shape: Any = None, name: str | None = "Const"
) -> Any:
    """Creates a constant tensor.

    Args:
      value: Its elements.
      dtype: Its type; default: `floatx()`.
      shape: Its shape; default: that of the value.
      name: A name for the operation.
    """
    return array_ops.constant(value, dtype or floatx(), shape, name)


@export_function
def placeholder(
    shape: Any = None,
    ndim: Any = None,
    dtype: Any = None,
    sparse: bool = False,
    name: str | None = None,
    ragged: bool = False,
) -> Any:
    """Creates a symbolic input of a model.

    Args:
      shape: The shape, with the batch dimension.
      ndim: The rank, if there is no shape.
      dtype: The type; default: `floatx()`.
      sparse: Must be False.
      name: Name of the input.
      ragged: Must be False.

    Raises:
      NotImplementedError: The input is to be sparse or ragged.
    """
    unsupported("placeholder", sparse=(sparse, False), ragged=(ragged, False))
    return Input(batch_shape=shape if shape is not None else (None,) * ndim, dtype=dtype, name=name)


@export_function
def is_keras_tensor(x: Any) -> bool:
    """Returns whether a tensor is an output of a layer.

    Args:
      x: A tensor.
    """
    return hasattr(x, "_keras_history")


@export_function
def int_shape(x: Any) -> Any:
    """Returns the static shape as a tuple, None for unknown sizes; None if the rank is unknown.

    Args:
      x: A tensor.
    """
    return tuple(x.shape.as_list()) if x.shape.rank is not None else None


@export_function
def ndim(x: Any) -> Any:
    """Returns the rank; None if it is unknown.

    Args:
      x: A tensor.
    """
    return x.shape.rank


@export_function
def dtype(x: Any) -> Any:
    """Returns the name of the type.

    Args:
      x: A tensor.
    """
    return x.dtype.base_dtype.name


@export_function
def count_params(x: Any) -> int:
    """Returns the number of elements of a variable.

    Args:
      x: A variable or tensor of known shape.
    """
    return int(numpy.prod(x.shape.as_list()))


@export_function
def eval_(x: Any) -> Any:
    """Computes a tensor and returns it as a NumPy array.

    Args:
      x: A tensor.
    """
    return get_value(convert_to_tensor(x))


@export_function
def function_(
    inputs: Any, outputs: Any, updates: TensorLike = None, name: str | None = None, **kwargs: Any
) -> Any:
    """Returns a function of arrays that runs the layers between symbolic tensors.

    Args:
      inputs: List of symbolic inputs.
      outputs: A symbolic output, or a list of them.
      updates: Must be empty.
      name: Has no effect: the function runs eagerly.
      **kwargs: Not supported.

    Returns:
      A function of a list of arrays that returns an array for each output.

    Raises:
      NotImplementedError: There are updates.
      ValueError: There are further arguments.
    """
    unsupported("function", updates=(updates or None, None))
    del name  # the function runs eagerly: no op has a name
    if kwargs:
        raise ValueError(
            f"Some keys in session_kwargs are not supported at this time: {list(kwargs)}"
        )
    one = not isinstance(outputs, (list, tuple))
    model = Model(list(inputs), [outputs] if one else list(outputs))

    def run(values):
        result = model.predict_on_batch(list(values))
        result = result if isinstance(result, list) else [result]
        return result[0] if one else result

    return run


@export_function
def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """Selects one of two values, or elements of them.

    Args:
      condition: Bool tensor.
      then_expression: Tensor, or function that returns it, for true.
      else_expression: Tensor, or function that returns it, for false.
    """
    pick = lambda f: f() if callable(f) else f
    return op("SelectV2", condition, pick(then_expression), pick(else_expression))


@export_function
def gradients(loss: Any, variables_: Any) -> Any:
    """Returns the gradients of a loss.

    Args:
      loss: The loss.
      variables_: List of variables.
    """
    result = BOTH.get("gradients", V1.get("gradients"))
    if not isinstance(loss, GraphTensor):
        return result(loss, variables_)
    with loss.graph.as_default():
        return result(loss, variables_)


@export_function
def name_scope(name: str | None) -> Any:
    """Returns a context manager for a name scope.

    Args:
      name: Name of the scope.
    """
    return BOTH["name_scope"](name)


@export_function
def cast_to_floatx(x: Any) -> Any:
    """Converts a tensor or an array to the type `floatx()`.

    Args:
      x: A tensor or an array.
    """
    if hasattr(x, "numpy") or hasattr(x, "graph"):
        return cast(x, setting("float"))
    return numpy.asarray(x, dtype=setting("float"))


@export_function
def in_train_phase(x: Any, alt: Any, training: bool | None = None) -> Any:
    """Returns x while training, otherwise alt.

    Args:
      x: Tensor, or function that returns it.
      alt: Tensor, or function that returns it, of the other phase.
      training: The phase; default: that of the call of the layer.
    """
    training = context.call.training if training is None else training
    chosen = x if training else alt
    return chosen() if callable(chosen) else chosen


@export_function
def in_test_phase(x: Any, alt: Any, training: bool | None = None) -> Any:
    """Returns alt while training, otherwise x.

    Args:
      x: Tensor, or function that returns it.
      alt: Tensor, or function that returns it, of the other phase.
      training: The phase; default: that of the call of the layer.
    """
    return in_train_phase(alt, x, training)


@export_function
def update(x: Any, new_x: Any) -> Any:
    """Assigns a value to a variable.

    Args:
      x: The variable.
      new_x: Its new value.
    """
    return x.assign(new_x)


@export_function
def update_add(x: Any, increment: Any) -> Any:
    """Adds a value to a variable.

    Args:
      x: The variable.
      increment: The value.
    """
    return x.assign_add(increment)


@export_function
def update_sub(x: Any, decrement: Any) -> Any:
    """Subtracts a value from a variable.

    Args:
      x: The variable.
      decrement: The value.
    """
    return x.assign_sub(decrement)


@export_function
def moving_average_update(x: Any, value: TensorLike, momentum: Any) -> Any:
    """Updates a moving average: x * momentum + value * (1 - momentum).

    Args:
      x: The variable.
      value: The latest value.
      momentum: Weight of the old average.
    """
    return x.assign(x * momentum + cast(value, x.dtype.base_dtype) * (1 - momentum))


@export_function
def print_tensor(x: Any, message: str = "", summarize: int | None = 3) -> Any:
    """Prints a tensor when it is computed, and returns it.

    Args:
      x: A tensor.
      message: String to print before it.
      summarize: Number of first and last elements of each dimension to print.
    """
    function("print")(message, x, summarize=summarize)
    return x


@export_function
def reset_uids() -> None:
    """Resets the numbers of `get_uid` and of the names of layers."""
    reset_names()
