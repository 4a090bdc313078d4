# SPDX-License-Identifier: Apache-2.0
"""operation.py: functions of keras.ops as layers: a call on symbolic tensors becomes a node of a
functional model, with the class name and the configuration that Keras 3 gives it in files."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from situ._src.framework import nest
from situ._src.keras import context, nodes
from situ._src.keras.layer import Layer
from situ._src.keras.registry import to_snake_case, unique
from situ._src.keras3.exports import keras3_export

# Parameters of keras.ops that are arguments of a call in files; the others are the configuration.
_TENSORS = frozenset(
    """x x1 x2 xs y a b key inputs kernel depthwise_kernel pointwise_kernel target output
    target_length output_length condition indices values updates start_indices query value bias
    mask mean variance offset scale gamma beta data segment_ids targets predictions choicelist
    condlist sorted_sequence logits images elements operands fill_value default q bins weights
    start stop transform coordinates tensor array sequence_lengths abs_ angle index pred
    boxes image1 image2 volumes start_points end_points translation""".split()
)
OPERATIONS: dict[str, Operation] = {}  # class name -> the function and its module in Keras 3


class Operation:
    """What is known about a function of keras.ops.

    Args:
      function: The function, without recording.
      module: The module of Keras 3 that defines its class, such as "numpy".
      class_name: The name of the class in Keras 3.
    """

    def __init__(self, function: Any, module: str, class_name: str) -> None:
        self.function, self.module, self.class_name = function, module, class_name
        self.parameters = inspect.signature(function).parameters
        fixed = [n for n in self.parameters if n not in _TENSORS]
        self.fixed = frozenset(fixed)


@keras3_export("Operation")
class OperationLayer(Layer):
    """A call of a function of keras.ops in a functional model.

    Args:
      operation: What is known about the function.
      name: Name of the layer; default: that of the function, numbered.
    """

    def __init__(self, operation: Operation, name: str | None = None) -> None:
        default = to_snake_case(operation.class_name)
        super().__init__(name=name if name is not None else unique(default))
        self.operation, self.built = operation, True
        self.fixed: dict[str, Any] = {}  # arguments of each call, of a loaded model

    UNTRACKED = (*Layer.UNTRACKED, "operation", "fixed")

    def _cast(self, inputs):
        return inputs

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return self.operation.function(*args, **{**self.fixed, **kwargs})

    def __call__(self, *args, **kwargs):
        leaves = nest.flatten((args, kwargs))
        if not context.call.depth and any(context.is_symbolic(v) for v in leaves):
            return _record(self, args, kwargs)
        return self.call(*args, **kwargs)


def _record(layer, args, kwargs):
    """Records a call on symbolic tensors; keyword arguments become positional where possible."""
    bound = layer.operation.parameters
    if not args:
        first = next(iter(bound))
        if first in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop(first),)
    return nodes.record(layer, args[0], args[1:], kwargs)


def operation(module: str, *places: str, class_name: str | None = None, top: bool = True):
    """Returns a decorator that exports a function below keras.ops and records symbolic calls.

    Args:
      module: The module of Keras 3 that defines the operation: "numpy", "nn", "math", ...
      *places: Modules below keras.ops that have the function, too.
      class_name: Its class name in Keras 3; default: the name of the function in camel case.
      top: Whether keras.ops itself has the function.
    """

    def wrap(function):
        name = function.__name__.rstrip("_")
        known = Operation(function, module, class_name or _camel_case(name))
        OPERATIONS[known.class_name] = known

        @functools.wraps(function)
        def called(*args, **kwargs):
            if not context.call.depth:
                for value in args:
                    if _has_symbolic(value):
                        return OperationLayer(known)(*args, **kwargs)
                for value in kwargs.values():
                    if _has_symbolic(value):
                        return OperationLayer(known)(*args, **kwargs)
            return function(*args, **kwargs)

        called.__name__ = called.__qualname__ = name
        names = [*(["ops." + name] if top else []), *[f"ops.{p}.{name}" for p in places]]
        return keras3_export(*names)(called)

    return wrap


def _has_symbolic(value):
    if isinstance(value, (list, tuple)):
        return any(_has_symbolic(v) for v in value)
    return context.is_symbolic(value)


def _camel_case(name):
    return "".join(part.capitalize() for part in name.split("_"))
