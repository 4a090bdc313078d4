# SPDX-License-Identifier: Apache-2.0
"""operands.py: conversion and promotion of the arguments of keras.ops."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.keras import context
from situ._src.keras3.dtypes import is_float_dtype, result_type, standardize_dtype
from situ._src.keras3.exports import tf


def tensor(x: Any, dtype: Any = None):
    """Returns a value as a tensor; Python floats have the type of `keras.config.floatx()`."""
    x = getattr(x, "_keras3_value", x)
    if dtype is not None:
        name = standardize_dtype(dtype)
        if hasattr(x, "dtype") or isinstance(x, (list, tuple)):
            x = tf.convert_to_tensor(_plain(x))
            return x if x.dtype.name == name else tf.cast(x, name)
        return tf.cast(x, name) if isinstance(x, float) else tf.convert_to_tensor(x, name)
    if isinstance(x, float):
        return tf.convert_to_tensor(x, context.setting("float"))
    return tf.convert_to_tensor(_plain(x))


def _plain(x):
    """Returns lists of tensors and numbers as one tensor."""
    if isinstance(x, (list, tuple)) and any(hasattr(v, "graph") or _is_tensor(v) for v in x):
        return tf.stack(promoted(*[_plain(v) for v in x]))
    return x


def _is_tensor(value):
    return not isinstance(value, (numpy.ndarray, numpy.generic)) and hasattr(value, "dtype")


def dtype_of(x: Any):
    """Returns the type of a value for result_type: Python numbers are weak."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        return standardize_dtype(dtype)
    if isinstance(x, (bool, int, float)):
        return type(x)
    return standardize_dtype(tensor(x).dtype)


def promoted(*values: Any):
    """Returns values as tensors of their common type."""
    values = tuple(v if isinstance(v, (bool, int, float)) else tensor(v) for v in values)
    dtype = result_type(*[dtype_of(v) for v in values])
    return [tensor(v, dtype) for v in values]


def floating(x: Any):
    """Returns a value as a tensor of a floating-point type; int64 becomes the default one."""
    x = tensor(x)
    name = x.dtype.name
    if name.startswith("complex") or is_float_dtype(name):
        return x
    return tf.cast(x, result_type(name, float) if name != "int64" else context.setting("float"))


def promoted_floating(*values: Any):
    """Returns values as tensors of their common floating-point type."""
    values = tuple(v if isinstance(v, (bool, int, float)) else tensor(v) for v in values)
    dtype = result_type(*[dtype_of(v) for v in values], float)
    return [tensor(v, dtype) for v in values]


def sizes(x: Any) -> tuple:
    """Returns the shape of a tensor: integers, and tensors for sizes that are not known."""
    static = tensor(x).shape.as_list() if tensor(x).shape.rank is not None else None
    if static is None:
        raise ValueError("All tensors passed to `ops.shape` must have a statically known rank.")
    if None not in static or context.is_symbolic(x) and not context.call.depth:
        return tuple(static)
    dynamic = tf.shape(x)
    return tuple(dynamic[i] if n is None else n for i, n in enumerate(static))


def shape_list(shape: Any) -> Any:
    """Returns a list or tuple of sizes as a list, and an integer or a tensor as it is."""
    return list(shape) if isinstance(shape, (list, tuple)) else shape


def rank(x: Any) -> int:
    """Returns the rank of a tensor."""
    return len(tensor(x).shape)


def axes(axis: Any, ndim: int) -> list[int]:
    """Returns axes as a list of non-negative numbers; None: all."""
    if axis is None:
        return list(range(ndim))
    some = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for one in some:
        if not -ndim <= one < ndim:
            raise ValueError(f"axis {one} is out of bounds for array of dimension {ndim}")
    return [one % ndim for one in some]
