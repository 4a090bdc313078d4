# SPDX-License-Identifier: Apache-2.0
"""core.py: keras.ops.core: control flow, conversion, scatter and slices."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import nest
from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras3.dtypes import standardize_dtype
from situ._src.keras3.exports import keras3_export, tf, unsupported_function
from situ._src.keras3.operands import promoted, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("core")


@_op
def cast(x: Any, dtype: Any):
    """Converts to a type.

    Args:
      x: Array, number or tensor.
      dtype: Type of the result; None: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.cast(tensor(x), standardize_dtype(dtype))


@_op
def saturate_cast(x: Any, dtype: Any):
    """Converts to a type; values outside of its range become its limits.

    Args:
      x: Array, number or tensor.
      dtype: Type of the result; None: `keras.config.floatx()`.

    Raises:
      ValueError: If dtype is not a known type.
    """
    return tf.saturate_cast(tensor(x), standardize_dtype(dtype))


@keras3_export("ops.convert_to_tensor")
def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    """Returns a value as a tensor.

    Args:
      x: Array, number, variable, or a structure of them.
      dtype: Type; default: that of x, floatx for Python floats.
      sparse: Only None and False are supported.
      ragged: Only None and False are supported.
    """
    unsupported("ops.convert_to_tensor", sparse=(bool(sparse), False), ragged=(bool(ragged), False))
    return tensor(x, dtype)


@keras3_export("ops.convert_to_numpy")
def convert_to_numpy(x: Any) -> Any:
    """Returns a tensor as a NumPy array.

    Args:
      x: A tensor.
    """
    x = getattr(x, "_keras3_value", x)
    return numpy.array(x.numpy() if hasattr(x, "numpy") else x)


@keras3_export("ops.is_tensor")
def is_tensor(x: Any) -> bool:
    """Returns whether a value is a tensor.

    Args:
      x: Array, number, variable, or a structure of them.
    """
    return bool(tf.is_tensor(x))


@keras3_export("ops.shape")
def shape(x: Any) -> tuple:
    """Returns the shape as a tuple; sizes that are not known are tensors, None if symbolic.

    Args:
      x: Array, number, variable, or a structure of them.
    """
    return sizes(x)


@keras3_export("ops.dtype")
def dtype(x: Any) -> str:
    """Returns the name of the type of a tensor.

    Args:
      x: Array, number, variable, or a structure of them.
    """
    return standardize_dtype(x.dtype)


@_op
def stop_gradient(variable: Any):
    """Returns a tensor through which no gradient flows.

    Args:
      variable: Tensor or variable, whose value is the result.
    """
    return tf.stop_gradient(tensor(variable))


@_op
def unstack(x: Any, num: int | None = None, axis: int = 0):
    """Splits a tensor along an axis into a list.

    Args:
      x: Tensor.
      num: Size of the axis, if it is not known.
      axis: Axis.
    """
    return tf.unstack(tensor(x), num, axis)


@_op
def scatter(indices: Any, values: Any, shape: Any):
    """Returns a tensor of zeros with values at indices; values of equal indices are added.

    Args:
      indices: Integer tensor; its last axis holds coordinates.
      values: Tensor.
      shape: Shape of the result.
    """
    return tf.scatter_nd(tensor(indices), tensor(values), shape)


@_op
def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None):
    """Returns a tensor with elements at indices replaced, or combined with updates.

    Args:
      inputs: Tensor.
      indices: Integer tensor; its last axis holds coordinates.
      updates: Tensor.
      reduction: None, "add", "max", "min" or "mul".

    Raises:
      ValueError: If the reduction is unknown.
    """
    inputs = tensor(inputs)
    indices, updates = tensor(indices), tensor(updates, inputs.dtype)
    if reduction is None:
        return tf.tensor_scatter_nd_update(inputs, indices, updates)
    if reduction == "add":
        return tf.tensor_scatter_nd_add(inputs, indices, updates)
    if reduction == "max":
        return tf.tensor_scatter_nd_max(inputs, indices, updates)
    if reduction == "min":
        return tf.tensor_scatter_nd_min(inputs, indices, updates)
    if reduction == "mul":
        factors = tf.tensor_scatter_nd_update(tf.ones_like(inputs), indices, updates)
        return inputs * factors
    raise ValueError(f"Unsupported reduction: {reduction}")


@_op
def slice(inputs: Any, start_indices: Any, shape: Any):
    """Returns a part of a tensor.

    Args:
      inputs: Tensor.
      start_indices: First index per axis.
      shape: Shape of the part.
    """
    return tf.slice(tensor(inputs), start_indices, shape)


@_op
def slice_update(inputs: Any, start_indices: Any, updates: Any):
    """Returns a tensor with a part replaced.

    Args:
      inputs: Tensor.
      start_indices: First index per axis.
      updates: The new part.
    """
    inputs, updates = tensor(inputs), tensor(updates)
    starts = (
        start_indices
        if isinstance(start_indices, (list, tuple))
        else tf.unstack(tensor(start_indices))
    )
    ranges = [tf.range(n) + tf.cast(s, "int32") for n, s in zip(sizes(updates), starts)]
    places = tf.stack(tf.meshgrid(*ranges, indexing="ij"), -1)
    return tf.tensor_scatter_nd_update(inputs, places, tf.cast(updates, inputs.dtype))


# Control flow


@_op
def cond(pred: Any, true_fn: Any, false_fn: Any):
    """Calls one of two functions.

    Args:
      pred: Bool.
      true_fn: Function without arguments.
      false_fn: Function without arguments.
    """
    if isinstance(pred, bool):
        return true_fn() if pred else false_fn()
    return tf.cond(tf.cast(tensor(pred), "bool"), true_fn, false_fn)


@_op
def switch(index: Any, branches: Any, *operands: Any):
    """Calls one of several functions; the index is limited to their number.

    Args:
      index: Integer.
      branches: Functions.
      *operands: Their arguments.
    """
    index = tf.clip_by_value(tensor(index, "int32"), 0, len(branches) - 1)
    return tf.switch_case(index, [lambda f=f: f(*operands) for f in branches])


@_op
def while_loop(cond: Any, body: Any, loop_vars: Any, maximum_iterations: Any = None):
    """Repeats a function while a condition holds.

    Args:
      cond: Function of the loop variables.
      body: Function from loop variables to loop variables.
      loop_vars: Structure of tensors, or one tensor.
      maximum_iterations: Largest number of iterations.
    """
    single = not isinstance(loop_vars, (list, tuple))
    loop_vars = (loop_vars,) if single else tuple(loop_vars)

    def step(*args):
        result = body(*args)
        return (result,) if single or not isinstance(result, (list, tuple)) else tuple(result)

    start = nest.map_structure(tensor, loop_vars)
    result = tf.while_loop(cond, step, start, maximum_iterations=maximum_iterations)
    return result[0] if single else tuple(result)


@_op
def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any):
    """Calls `body_fun(i, value)` for i from lower to upper, exclusive.

    Args:
      lower: First index.
      upper: End.
      body_fun: Function of the index and the value that returns the value.
      init_val: First value.
    """
    result = tf.while_loop(
        lambda i, value: i < upper,
        lambda i, value: (i + 1, body_fun(i, value)),
        (tensor(lower), nest.map_structure(tensor, init_val)),
    )
    return result[1]


@_op
def map(f: Any, xs: Any):
    """Calls a function on each element of the first axis.

    Args:
      f: Function.
      xs: Tensor, or a structure of them.
    """
    rows = _rows(xs)
    results = [f(row) for row in rows]
    return nest.map_structure(lambda *parts: tf.stack(promoted(*parts)), *results)


def _rows(xs, length=None):
    flat = [tensor(x) for x in nest.flatten(xs)]
    count = length if not flat else flat[0].shape.as_list()[0]
    if count is None:
        raise NotImplementedError("keras.ops: the size of the first axis must be known.")
    parts = [tf.unstack(x, count) for x in flat]
    return [nest.pack_sequence_as(xs, [p[i] for p in parts]) for i in range(count)]


@_op
def vectorized_map(function: Any, elements: Any):
    """Calls a function on each element of the first axis and stacks the results.

    Args:
      function: Function of one element that returns a tensor or a structure of them.
      elements: Tensor, or a structure of tensors with first axes of one size.
    """
    if context.is_symbolic(elements) or any(
        tensor(x).shape.as_list()[0] is None for x in nest.flatten(elements)
    ):
        return tf.vectorized_map(function, elements)
    return map(function, elements)


@_op
def scan(
    f: Any, init: Any, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
):
    """Calls `f(carry, x)` on each element and returns (last carry, stacked results).

    Args:
      f: Function that returns (carry, result).
      init: First carry.
      xs: Structure of tensors; None: length calls with None.
      length: Number of calls if xs is None.
      reverse: Whether to begin with the last element.
      unroll: Has no effect: the loop is always unrolled.
    """
    del unroll  # the loop is unrolled in any case
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    rows = [None] * int(length) if xs is None else _rows(xs)
    carry, results = nest.map_structure(tensor, init), []
    for row in reversed(rows) if reverse else rows:
        carry, result = f(carry, row)
        results.append(result)
    results = results[::-1] if reverse else results
    if results and results[0] is None:
        return carry, None
    return carry, nest.map_structure(lambda *parts: tf.stack(parts), *results)


@_op
def associative_scan(f: Any, elems: Any, reverse: bool = False, axis: int = 0):
    """Returns the cumulative results of an associative function of two elements.

    Args:
      f: Function.
      elems: Structure of tensors.
      reverse: Whether to begin with the last element.
      axis: Axis.
    """
    flat = [tf.unstack(tensor(x), axis=axis) for x in nest.flatten(elems)]
    rows = [nest.pack_sequence_as(elems, [p[i] for p in flat]) for i in range(len(flat[0]))]
    rows = rows[::-1] if reverse else rows
    results = rows[:1]
    for row in rows[1:]:
        results.append(f(results[-1], row))
    results = results[::-1] if reverse else results
    return nest.map_structure(lambda *parts: tf.stack(parts, axis), *results)


@keras3_export("ops.custom_gradient")
def custom_gradient(f: Any) -> Any:
    """Decorator: the function returns (result, function from upstream gradients to gradients).

    Args:
      f: Function.
    """
    return tf.custom_gradient(f)


@keras3_export("name_scope")
def name_scope(name: str, **kwargs: Any) -> Any:
    """Context that prefixes names of ops.

    Args:
      name: Prefix.
      **kwargs: `caller` and others of Keras' backends; not supported.
    """
    if kwargs:
        raise TypeError(f"Unexpected arguments of name_scope: {sorted(kwargs)}")
    return tf.name_scope(name)


@keras3_export("device")
def device(device_name: str) -> Any:
    """Context in which ops run on a device such as "gpu:0".

    Args:
      device_name: Name of the device.
    """
    kind, _, index = device_name.rpartition("/")[2].partition(":")
    place = f"{kind.upper()}:{index or 0}" if kind.lower() in ("cpu", "gpu") else device_name
    return tf.device("/device:" + place if "/" not in place else place)


unsupported_function("ops.jvp", "forward-mode derivatives are not implemented.")
