# SPDX-License-Identifier: Apache-2.0
"""tensor_proto.py: tensors as TensorProto messages: tf.io.serialize_tensor, tf.io.parse_tensor,
tf.make_tensor_proto, tf.make_ndarray."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy

from situ._src.framework import errors, storage_types, style
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.import_graph_def import VALUE_FIELDS, tensor_value
from situ._src.framework.message_classes import message_class
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.script_ops import py_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import DTypeLike, ShapeLike, Tensor, TensorLike

TensorProto = message_class("tensorflow.TensorProto")
# The types whose elements make_tensor_proto stores in tensor_content.
_CONTENT_TYPES = frozenset(
    """bfloat16 float16 float32 float64 float8_e4m3fn float8_e5m2 int8 int16 int32 int64 uint8
    uint32 uint64""".split()
)


def make_proto(array: numpy.ndarray, dtype: Any) -> Any:
    """Returns the TensorProto of an array."""
    made = TensorProto(dtype=dtype.as_datatype_enum)
    made.tensor_shape.SetInParent()
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    if dtype.name == "string":
        made.string_val.extend(array.ravel().tolist())
    else:
        if dtype.name in storage_types.BITS:
            array = storage_types.bits_of(array, dtype.name)
        made.tensor_content = array.tobytes()
    return made


@export("io.serialize_tensor", v1="serialize_tensor")
def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Any:
    """Converts a tensor to a binary TensorProto.

    Args:
      tensor: a tensor.
      name: a name for the operation.

    Returns:
      A scalar string tensor.
    """
    tensor = convert_to_tensor(tensor)
    dtype = tensor.dtype.base_dtype

    def write(array):
        return numpy.array(make_proto(numpy.asarray(array), dtype).SerializeToString(), object)

    made = py_func(write, [tensor], "string", name=name)
    if hasattr(made, "set_shape"):
        made.set_shape([])
    return made


@export("io.parse_tensor", v1="parse_tensor")
def parse_tensor(serialized: Any, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """Converts a binary TensorProto to a tensor.

    Args:
      serialized: a scalar string tensor.
      out_type: the type of the tensor.
      name: a name for the operation.

    Returns:
      A tensor.

    Raises:
      InvalidArgumentError: the message is malformed or has another type.
      ResourceExhaustedError: repeated elements take more than SITU_EXPANSION_LIMIT.
    """
    dtype = as_dtype(out_type).base_dtype

    def read(data):
        data = numpy.asarray(data, object)
        if data.ndim:
            shape = str(list(data.shape)).replace(" ", "")
            raise errors.InvalidArgumentError(
                None, None, f"Expected `serialized` to be a scalar, got shape: {shape}"
            )
        try:
            proto = TensorProto.FromString(data.item())
            array = tensor_value(proto)
        except (ValueError, KeyError, IndexError) as error:
            text = base64.b64encode(data.item()).decode()
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Could not parse `serialized` as TensorProto, base64: {text} ({error})",
            ) from None
        if proto.dtype != dtype.as_datatype_enum:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Type mismatch between parsed tensor ({as_dtype(proto.dtype).name}) "
                f"and dtype ({dtype.name})",
            )
        return array

    return py_func(read, [convert_to_tensor(serialized, "string")], dtype, name=name)


def _array_of(values, dtype):
    """Returns the NumPy array and the DType of the argument of make_tensor_proto. Python numbers
    become int32 and float32 if they fit."""
    if values is None:
        raise ValueError("None values not supported.")
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(values, (numpy.ndarray, numpy.generic)) and values.dtype.kind != "U":
        array = numpy.asarray(values)
        found = as_dtype("string" if array.dtype.kind in "SO" else array.dtype)
        if wanted is not None and wanted != found:
            array = array.astype(wanted.as_numpy_dtype)
    else:
        with style.eagerly():
            tensor = convert_to_tensor(values, wanted)
        if not hasattr(tensor, "numpy"):
            raise TypeError(f"make_tensor_proto needs values, not {values!r}.")
        array, found = numpy.asarray(tensor.numpy()), tensor.dtype.base_dtype
    return array, wanted or found


def _values_of(flat, kind):
    """Returns the values of the field of a TensorProto that holds a flat array."""
    if kind.name == "float16":
        return flat.view(numpy.uint16)
    if kind.name in ("int4", "uint4"):
        return flat.astype(numpy.int32)
    if kind.name in storage_types.BITS:
        return storage_types.bits_of(flat, kind.name)
    return flat.view(kind.real_dtype.as_numpy_dtype) if kind.is_complex else flat


def _check_count(array, shape, verify_shape):
    """Raises an error if an array does not fit a shape."""
    count = math.prod(shape)
    if verify_shape and tuple(shape) != array.shape:
        raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {array.shape}.")
    if array.size > count:
        raise ValueError(
            f"Too many elements provided. Takes at most {count:d}, but got {array.size:d}"
        )


@export("make_tensor_proto", v1="contrib.util.make_tensor_proto")
def make_tensor_proto(
    values: TensorLike,
    dtype: DTypeLike = None,
    shape: ShapeLike = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Creates a TensorProto.

    Args:
      values: a Python scalar or list, a NumPy array, or a TensorProto, which is returned.
      dtype: the type of the elements; by default that of the values.
      shape: the shape; by default that of the values. If it has more elements than `values`, the
        last one counts for the rest.
      verify_shape: whether the values must have exactly this shape.
      allow_broadcast: whether a scalar may stand for all elements; excludes verify_shape.

    Returns:
      A TensorProto: several numbers in `tensor_content`, others in the field of their type.

    Raises:
      TypeError: the values have an unsupported type or another shape.
      ValueError: there are too many values, or the arguments exclude each other.
    """
    if allow_broadcast and verify_shape:
        raise ValueError("allow_broadcast and verify_shape are not both allowed.")
    if isinstance(values, TensorProto):
        return values
    array, kind = _array_of(values, dtype)
    sizes = list(array.shape) if shape is None else [int(n) for n in shape]
    _check_count(array, sizes, verify_shape)
    proto = TensorProto(dtype=kind.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    field, flat = VALUE_FIELDS.get(kind.name, "tensor_content"), array.ravel()
    is_whole = array.size == math.prod(sizes) and array.size > 1 and kind.name in _CONTENT_TYPES
    if kind.name == "string":
        encoded = [s.encode() if isinstance(s, str) else bytes(s) for s in flat]
        proto.string_val.extend(encoded)
    elif is_whole or not hasattr(proto, field):
        missing = math.prod(sizes) - array.size
        full = numpy.append(flat, [flat[-1:]] * missing).astype(flat.dtype)
        if kind.name in storage_types.BITS:
            full = storage_types.bits_of(full, kind.name)
        proto.tensor_content = full.tobytes()
    elif field == "float8_val":
        proto.float8_val = _values_of(flat, kind).tobytes()
    else:
        getattr(proto, field).extend(_values_of(flat, kind).tolist())
    return proto


@export("make_ndarray", v1="contrib.util.make_ndarray")
def make_ndarray(tensor: TensorLike) -> Any:
    """Converts a TensorProto to a NumPy array.

    Args:
      tensor: a TensorProto.

    Returns:
      An array with its shape and type.

    Raises:
      TypeError: the type is not supported.
      ResourceExhaustedError: repeated elements take more than SITU_EXPANSION_LIMIT.
    """
    dtype = as_dtype(tensor.dtype).base_dtype
    if dtype.name not in VALUE_FIELDS:
        raise TypeError(f"Unsupported tensor type: {dtype.name}")
    return tensor_value(tensor)
