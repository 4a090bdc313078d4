# SPDX-License-Identifier: Apache-2.0
"""contrib_eager.py: tf.contrib.eager: the eager API of TensorFlow 1."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

from situ._src.checkpoint import saver
from situ._src.framework import config, flags, style
from situ._src.framework.api import BOTH, V1, V2, export
from situ._src.framework.gradient_tape import GradientTape
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.variables.variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike

V1.update(
    {
        "contrib.eager.Variable": Variable,
        "contrib.eager.GradientTape": GradientTape,
        "contrib.eager.enable_eager_execution": V1["enable_eager_execution"],
        "contrib.eager.py_func": BOTH["py_function"],
        "contrib.eager.custom_gradient": BOTH["custom_gradient"],
        "contrib.eager.TensorSpec": BOTH["TensorSpec"],
        "contrib.eager.Checkpointable": BOTH["Module"],
        "contrib.eager.executing_eagerly": lambda: not style.is_graph(),
        "contrib.eager.in_eager_mode": lambda: not style.is_graph(),
        "contrib.eager.Checkpoint": BOTH.get("train.Checkpoint") or V1["train.Checkpoint"],
        "contrib.eager.defun": BOTH.get("function") or V2["function"],
    }
)
V1["contrib.eager.function"] = V1["contrib.eager.defun"]
# Device policies and execution modes have no effect: situ copies inputs to the device that needs
# them, and reading a value waits for it.
V1.update(
    {
        "contrib.eager.DEVICE_PLACEMENT_" + policy: number
        for number, policy in enumerate(("EXPLICIT", "WARN", "SILENT", "SILENT_FOR_INT32"))
    }
)
V1.update(
    {
        "contrib.eager.SYNC": 0,
        "contrib.eager.ASYNC": 1,
        "contrib.eager.set_execution_mode": lambda mode: None,
        "contrib.eager.execution_mode": lambda mode: contextlib.nullcontext(),
        "contrib.eager.async_wait": lambda: None,
        "contrib.eager.async_clear_error": lambda: None,
    }
)


@export(v1="contrib.eager.run")
def run(main: Callable | None = None, argv: Any = None) -> None:
    """Runs main as tf.app.run does, with eager execution.

    Args:
      main: Function of the arguments that are no flags; default: `main` of the program.
      argv: The command line; by default that of the program.
    """
    style.enable_eager()
    flags.run(main, argv)


@export(v1="contrib.eager.get_optimizer_variables")
def get_optimizer_variables(optimizer: Any) -> Any:
    """Returns all variables of an optimizer.

    Args:
      optimizer: The optimizer.
    """
    return optimizer.variables()


@export(v1="contrib.eager.Saver")
class Saver:
    """Saves and restores variables.

    Args:
      var_list: List of variables, or dictionary from names in the checkpoint to variables.
    """

    def __init__(self, var_list: Any) -> None:
        self._saver = saver.Saver(var_list)

    def save(self, file_prefix: str, global_step: Any = None) -> None:
        """Writes a checkpoint and returns its path."""
        return self._saver.save(None, file_prefix, global_step, write_meta_graph=False)

    def restore(self, file_prefix: str) -> None:
        """Restores all variables from a checkpoint."""
        self._saver.restore(None, file_prefix)


@export(v1=("contrib.eager.num_gpus", "contrib.eager.context.num_gpus"))
def num_gpus() -> int:
    """Returns the number of GPUs."""
    return len(config.list_logical_devices("GPU"))


V1["contrib.eager.list_devices"] = lambda: [d.name for d in config.list_logical_devices()]


def _recorded(function, args, kwargs):
    with GradientTape() as tape:
        value = function(*args, **kwargs)
    if value is None:
        raise ValueError(
            "Cannot differentiate a function that returns None; did you forget to "
            f"return a value from {getattr(function, '__name__', function)}?"
        )
    variables = list(tape.watched_variables())
    if not variables:
        raise ValueError(
            "No trainable variables were accessed while the function was being computed."
        )
    grads = tape.gradient(value, variables)
    return value, [(g, v) for g, v in zip(grads, variables) if g is not None]


@export(v1="contrib.eager.implicit_value_and_gradients")
def implicit_value_and_gradients(f: Any) -> Any:
    """Returns a function that returns (value of f, [(gradient, variable)]) for the variables f
    reads.

    Args:
      f: The function.
    """
    return lambda *args, **kwargs: _recorded(f, args, kwargs)


@export(v1="contrib.eager.implicit_gradients")
def implicit_gradients(f: Any) -> Any:
    """Returns a function that returns [(gradient, variable)] for the variables f reads.

    Args:
      f: The function.
    """
    return lambda *args, **kwargs: _recorded(f, args, kwargs)[1]


@export(v1="contrib.eager.value_and_gradients_function")
def value_and_gradients_function(f: Any, params: Any = None) -> Any:
    """Returns a function that returns (value of f, gradients with respect to its arguments).

    The function takes positional arguments, and dy, the gradient of the value.

    Args:
      f: The function.
      params: Indices or names of the arguments; default: all.
    """

    def compute(*args, dy=None):
        names = list(inspect.signature(f).parameters)
        places = (
            range(len(args))
            if params is None
            else [names.index(p) if isinstance(p, str) else p for p in params]
        )
        args = [convert_to_tensor(a) for a in args]
        with GradientTape() as tape:
            for place in places:
                tape.watch(args[place])
            value = f(*args)
        return value, tape.gradient(value, [args[p] for p in places], output_gradients=dy)

    return compute


@export(v1="contrib.eager.gradients_function")
def gradients_function(f: Any, params: Any = None) -> Any:
    """Returns a function that returns the gradients of f with respect to its arguments.

    Args:
      f: The function.
      params: Indices or names of the arguments; default: all.
    """
    both = value_and_gradients_function(f, params)
    return lambda *args, dy=None: both(*args, dy=dy)[1]


@export(v1="contrib.eager.Iterator")
class Iterator:
    """Iterates over the elements of a dataset."""

    def __init__(self, dataset: Any) -> None:
        self._iterator = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._iterator)

    next = get_next = __next__


def _metric(name):
    def make(*args, **kwargs):
        return (BOTH.get(name) or V2[name])(*args, **kwargs)

    return make


for _name, _keras in (
    ("Mean", "Mean"),
    ("Accuracy", "Accuracy"),
    ("BinaryAccuracy", "BinaryAccuracy"),
    ("CategoricalAccuracy", "CategoricalAccuracy"),
    ("SparseAccuracy", "SparseCategoricalAccuracy"),
):
    V1["contrib.eager.metrics." + _name] = _metric("keras.metrics." + _keras)


@export(v1="contrib.eager.Network")
class Network:
    """Base class of models; track_layer registers layers, subclasses implement `call`."""

    _tracked: list

    def __init__(self, name: str | None = None):
        self.name, self._tracked = name or type(self).__name__, []

    def track_layer(self, layer: Any) -> Any:
        """Registers a layer, whose variables are those of the network; returns it.

        Args:
          layer: The layer.
        """
        self._tracked.append(layer)
        return layer

    layers = property(lambda s: list(s._tracked))
    variables = property(lambda s: [v for layer in s._tracked for v in layer.variables])
    trainable_variables = property(lambda s: [v for v in s.variables if v.trainable])

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)


@export(v1="contrib.eager.Sequential")
class Sequential(Network):
    """Calls layers and functions one after the other."""

    _steps: list

    def __init__(self, layers_funcs: Any = None, name: str | None = None):
        super().__init__(name)
        self._steps = []
        for step in layers_funcs or ():
            self.add(step)

    def add(self, layer_func: Callable) -> None:
        if hasattr(layer_func, "variables"):
            self.track_layer(layer_func)
        self._steps.append(layer_func)

    def call(self, inputs: TensorLike, training: bool | None = None) -> Any:
        for step in self._steps:
            takes = training is not None and any(
                "training" in inspect.signature(f).parameters
                for f in (step, getattr(step, "call", step))
            )
            inputs = step(inputs, training=training) if takes else step(inputs)
        return inputs
