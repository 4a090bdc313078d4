# SPDX-License-Identifier: Apache-2.0
"""constant_op.py: tf.constant, tf.convert_to_tensor and tf.cast: Python values as tensors."""

from __future__ import annotations

import _situ
from situ._src.framework import graph_scopes, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.tensor import GraphTensor, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, ShapeLike, TensorLike


def op(op_name, *args, **kwargs):
    """Runs or emits an op by its name."""
    if graph_scopes.containers:
        kwargs = graph_scopes.with_container(OPS[op_name], kwargs)
    return OPS[op_name](*args, **kwargs)


@export("convert_to_tensor")
def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike = None,
    name: str | None = None,
    preferred_dtype: DTypeLike = None,
    dtype_hint: DTypeLike = None,
) -> Tensor:
    """Converts a value to a tensor.

    Args:
      value: A number, a string, nested lists, a NumPy array, a variable or a tensor.
      dtype: The element type. By default it is inferred from `value`.
      name: A name for the constant (optional).
      preferred_dtype: The name of `dtype_hint` in TensorFlow 1.
      dtype_hint: The type to try first if `dtype` is None.

    Returns:
      A tensor; `value` itself if it is one already.

    Raises:
      TypeError: If `value` cannot be converted to `dtype`.
      ValueError: If nested lists have different lengths.
    """
    if dtype is None and not is_tensor(value):
        hint = preferred_dtype if preferred_dtype is not None else dtype_hint
        if hint is not None:
            try:
                return _situ.constant(value, as_dtype(hint), name or None)
            except (TypeError, ValueError):
                pass
    return _situ.constant(
        value, None if dtype is None else as_dtype(dtype).base_dtype, name or None
    )


@export(v2="convert_to_tensor")
def convert_to_tensor_v2(
    value: TensorLike,
    dtype: DTypeLike = None,
    dtype_hint: DTypeLike = None,
    name: str | None = None,
) -> Tensor:
    """Converts a value to a tensor; see `tf.compat.v1.convert_to_tensor`.

    Args:
      value: A number, a string, nested lists, a NumPy array, a variable or a tensor.
      dtype: The element type. By default it is inferred from `value`.
      dtype_hint: The type to try first if `dtype` is None.
      name: A name for the constant (optional).
    """
    return convert_to_tensor(value, dtype, name, None, dtype_hint)


def _eagerly_shaped(array, shape, count):
    """Reshapes an array, or repeats its single element, as tf.constant does in eager mode."""
    import numpy

    if array.size == count:
        return array.reshape(shape)
    if array.size == 1:
        return numpy.full(shape, array.reshape([])[()])
    raise TypeError(
        "Eager execution of tf.constant with unsupported shape. Tensor "
        f"{array.tolist()} (converted from {array.size} elements) has {array.size} "
        f"elements, but got `shape` {tuple(shape)} with {count} elements."
    )


def _shaped(value, dtype, shape, fills, verify=False):
    """Converts a value to an array of a shape. With `fills`, the last element is repeated for
    missing ones, as in tf.compat.v1; otherwise only a single element is repeated."""
    import numpy

    shape = tensor_shape.as_shape(shape).as_list()
    array = numpy.asarray(_situ.host(value, dtype).numpy())
    count = 1
    for size in shape:
        count *= size
    if _situ.executing_eagerly():
        return _eagerly_shaped(array, shape, count)
    if not count and not hasattr(value, "dtype"):
        return array.ravel()[:0].reshape(shape)
    is_wrong = (
        list(array.shape) != shape
        if verify
        else not fills and array.size != count and array.shape not in ((), (1,))
    )
    if is_wrong:
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {array.shape}.")
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count}, but got {array.size}."
        )
    last = array.ravel()[-1] if array.size else array.dtype.type()
    flat = numpy.concatenate([array.ravel(), numpy.full(count - array.size, last, array.dtype)])
    return flat.reshape(shape)


def _converted(tensor, dtype):
    """Casts an eager tensor for tf.constant, which allows integers to become floating point."""
    source = dtype_of(tensor)
    if source is dtype:
        return tensor
    if not (source.is_integer or source.is_floating and not dtype.is_integer) or not (
        dtype.is_integer or dtype.is_floating
    ):
        raise TypeError(f"Cannot convert {tensor!r} to EagerTensor of dtype {dtype.name}")
    return cast(tensor, dtype)


def _constant(value, dtype, shape, name, fills, verify=False):
    dtype = None if dtype is None else as_dtype(dtype).base_dtype
    if dtype is not None and is_tensor(value) and _situ.executing_eagerly():
        value = _converted(value, dtype)
    if shape is not None:
        value = _shaped(value, dtype, shape, fills, verify)
    result = _situ.constant(value, dtype, name or "Const")
    if isinstance(result, GraphTensor):
        result._constant = value
    return result


@export(v2="constant")
def constant(
    value: TensorLike, dtype: DTypeLike = None, shape: ShapeLike = None, name: str | None = "Const"
) -> Tensor:
    """Creates a constant tensor.

    Args:
      value: A number, a string, nested lists or a NumPy array.
      dtype: The element type. By default it is inferred from `value`.
      shape: The shape of the result. `value` must have as many elements, or a single one, which
        is repeated.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      TypeError: If `value` does not fit `dtype` or `shape`.
      ValueError: If nested lists have different lengths.
    """
    return _constant(value, dtype, shape, name, False)


@export(v1="constant")
def constant_v1(
    value: TensorLike,
    dtype: DTypeLike = None,
    shape: ShapeLike = None,
    name: str | None = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Creates a constant tensor.

    Args:
      value: A number, a string, nested lists or a NumPy array.
      dtype: The element type. By default it is inferred from `value`.
      shape: The shape of the result. In a graph, the last element of `value` is repeated as often
        as needed; in eager mode only a single element is.
      verify_shape: Whether `value` must have exactly this shape; ignored in eager mode.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      TypeError: If `value` does not fit `dtype`, or `shape` with `verify_shape` or in eager mode.
      ValueError: If `value` has too many elements for `shape` in a graph, or nested lists have
        different lengths.
    """
    return _constant(value, dtype, shape, name, True, verify_shape)


@export("cast", "dtypes.cast")
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Casts a tensor to another element type.

    Args:
      x: A tensor or a ragged tensor.
      dtype: The element type of the result.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`; `x` itself if it has this type already.
    """
    dtype = as_dtype(dtype).base_dtype
    if hasattr(x, "with_flat_values"):  # ragged rows
        return x.with_flat_values(cast(x.flat_values, dtype))
    if hasattr(x, "dense_shape") and hasattr(x, "with_values"):  # sparse values
        return x.with_values(cast(x.values, dtype))
    x = convert_to_tensor(x, name="x")
    return x if x.dtype == dtype else op("Cast", x, dtype, name=name)


def _pack_values(values, dtype, name):
    """Packs a list that holds tensors into one tensor."""
    first_dtype = _first_dtype(values)
    kind = first_dtype if dtype is None else dtype
    if kind is not first_dtype:
        values = [_cast_all(v, kind) for v in values]
    graph = _situ.current_graph()
    if graph is None:
        return op("Pack", [convert_to_tensor(v, kind) for v in values])
    whole = name if name.endswith("/") else graph._unique("", name) + "/"
    with scope(whole):
        parts = [convert_to_tensor(v, kind, str(i)) for i, v in enumerate(values)]
    return op("Pack", parts, name=whole)


def _cast_all(value, kind):
    """Casts the tensors of a nested list."""
    if isinstance(value, (list, tuple)):
        return [_cast_all(v, kind) for v in value]
    return cast(value, kind) if is_tensor(value) else value


def is_tensor(value):
    return isinstance(value, Tensor) or hasattr(value, "_situ_tensor_")


def holds_tensor(values):
    return any(is_tensor(v) or isinstance(v, (list, tuple)) and holds_tensor(v) for v in values)


def _first_dtype(value):
    """Returns the dtype of the first tensor of a nested list, or None."""
    if isinstance(value, (list, tuple)):
        return next((k for k in map(_first_dtype, value) if k is not None), None)
    return dtype_of(value) if is_tensor(value) else None


def holds_dtype(values):
    return any(
        dtype_of(v) is not None or isinstance(v, (list, tuple)) and holds_dtype(v) for v in values
    )


_situ.hook("pack", _pack_values)
