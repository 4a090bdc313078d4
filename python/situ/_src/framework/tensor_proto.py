# SPDX-License-Identifier: Apache-2.0
"""tensor_proto.py: tf.io.serialize_tensor and tf.io.parse_tensor: tensors as binary TensorProto
messages."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.import_graph_def import tensor_value
from situ._src.framework.message_classes import message_class
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.script_ops import py_func

TensorProto = message_class("tensorflow.TensorProto")


def make_proto(array: numpy.ndarray, dtype: Any) -> Any:
    """Returns the TensorProto of an array."""
    made = TensorProto(dtype=dtype.as_datatype_enum)
    made.tensor_shape.SetInParent()
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    if dtype.name == "string":
        made.string_val.extend(array.ravel().tolist())
    else:
        made.tensor_content = array.tobytes()
    return made


@export("io.serialize_tensor", v1="serialize_tensor")
def serialize_tensor(tensor, name: str | None = None):
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
def parse_tensor(serialized, out_type, name: str | None = None):
    """Converts a binary TensorProto to a tensor.

    Args:
      serialized: a scalar string tensor.
      out_type: the type of the tensor.
      name: a name for the operation.

    Returns:
      A tensor.

    Raises:
      InvalidArgumentError: the message is malformed or has another type.
    """
    dtype = as_dtype(out_type).base_dtype

    def read(data):
        try:
            proto = TensorProto.FromString(numpy.asarray(data, object).item())
            array = tensor_value(proto)
        except (ValueError, KeyError, IndexError) as error:
            raise errors.InvalidArgumentError(
                None, None, f"Could not parse `serialized` as TensorProto: {error}"
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
