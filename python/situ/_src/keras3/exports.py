# SPDX-License-Identifier: Apache-2.0
"""exports.py: public names of Keras 3, below "keras3." in the name table, and the functions of
TensorFlow that they are made of."""

from __future__ import annotations

import inspect
from typing import Any

from situ._src.framework import api
from situ._src.framework.api import export

# The functions of tf in eager style, whatever the style of the program is.
tf = api.Names("situ", "", "v2", "situ")


def keras3_export(*names: str):
    """Returns a decorator that exports an object under names below `situ.keras3`."""
    return export(v2=["keras3." + n for n in names])


def alias(thing: Any, *names: str) -> Any:
    """Exports an object under further names."""
    return keras3_export(*names)(thing)


def not_supported(name: str, reason: str) -> NotImplementedError:
    """Returns the error for a name of Keras 3 that situ does not implement."""
    return NotImplementedError(f"keras.{name} is not supported by situ: {reason}")


def unsupported_function(name: str, reason: str):
    """Exports a function that raises NotImplementedError with a reason."""

    def function(*_args: Any, **kwargs: Any):
        del kwargs  # whatever they are, the call fails
        raise not_supported(name, reason)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"""Not supported: {reason}

    Args:
      *_args, **kwargs: Not used: every call fails.

    Raises:
      NotImplementedError: Always.
    """
    return keras3_export(name)(function)


def unsupported_class(name: str, reason: str):
    """Exports a class whose constructor raises NotImplementedError with a reason."""

    def __init__(self: Any, *_args: Any, **kwargs: Any) -> None:
        del self, kwargs  # whatever they are, the call fails
        raise not_supported(name, reason)

    kind = type(
        name.rpartition(".")[2], (), {"__init__": __init__, "__doc__": f"Not supported: {reason}"}
    )
    return keras3_export(name)(kind)


def parameters(function: Any) -> list[str]:
    """Returns the names of a function's parameters."""
    return list(inspect.signature(function).parameters)
