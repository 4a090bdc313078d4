# SPDX-License-Identifier: Apache-2.0
"""composite_dispatch.py: functions that have another implementation for ragged tensors."""

from __future__ import annotations

import functools
import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable

_RAGGED = {"RaggedTensor", "RaggedTensorValue"}


def is_ragged_argument(value: Any) -> bool:
    """Returns whether an argument is a ragged tensor, without importing their module.

    Args:
      value: The argument.
    """
    return type(value).__name__ in _RAGGED


def ragged_version(module: str, name: str) -> Callable:
    """Returns a decorator that calls another function if an argument is a ragged tensor.

    Args:
      module: The module of the other function below situ._src.ops.
      name: Its name. It has the same parameters.
    """

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            if any(map(is_ragged_argument, args)) or (
                kwargs and any(map(is_ragged_argument, kwargs.values()))
            ):
                return getattr(importlib.import_module("situ._src.ops." + module), name)(
                    *args, **kwargs
                )
            return function(*args, **kwargs)

        return call

    return decorate


def ragged_elementwise(function: Callable) -> Callable:
    """Decorates an element-wise function: of a ragged tensor it takes the flat values.

    Args:
      function: The function. Its first argument is the tensor.
    """

    @functools.wraps(function)
    def call(*args, **kwargs):
        if args and is_ragged_argument(args[0]):
            to_ragged = importlib.import_module("situ._src.ops.ragged_tensor").to_ragged
            rows = to_ragged(args[0])
            return rows.with_flat_values(function(rows.flat_values, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return call
