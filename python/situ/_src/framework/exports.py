# SPDX-License-Identifier: Apache-2.0
"""exports.py: public names of types, errors, shapes, graphs, sessions and protocol messages."""

from __future__ import annotations

import _situ
from situ._src.framework import (
    api,
    config,
    device_lib,
    device_spec,
    dtypes,
    errors,
    function,
    graph,
    node_def,
    protos,
    scopes,
    session,
    style,
    tensor,
    tensor_shape,
)
from situ._src.framework.api import BOTH, V1, export
from situ._src.ops import argument_order, array_ops, indexing, init_ops, math_ops, random_ops
from situ._src.profiler import step_stats
from situ._src.variables import eager_variable, variable, variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

for _name, _type in dtypes.NAMES.items():
    if _name.endswith("_ref"):
        continue
    if _name.startswith("float8") or _name in ("int4", "uint4"):
        BOTH["experimental." + _name] = BOTH["dtypes.experimental." + _name] = _type
    else:
        BOTH[_name] = BOTH["dtypes." + _name] = _type
for _name, _class in errors.PUBLIC.items():
    BOTH["errors." + _name] = _class
for _name in ("exception_type_from_error_code", "error_code_from_exception_type"):
    V1["errors." + _name] = getattr(errors, _name)

BOTH.update(
    {
        "DType": dtypes.DType,
        "dtypes.DType": dtypes.DType,
        "as_dtype": dtypes.as_dtype,
        "dtypes.as_dtype": dtypes.as_dtype,
        "TensorShape": tensor_shape.TensorShape,
        "Tensor": tensor.Tensor,
        "Operation": tensor.Operation,
        "Graph": graph.Graph,
        "DeviceSpec": device_spec.DeviceSpec,
        "experimental.dlpack.to_dlpack": _situ.to_dlpack,
        "experimental.dlpack.from_dlpack": _situ.from_dlpack,
        "executing_eagerly": _situ.executing_eagerly,
        "situ_version": _situ.version,
        "keras.__version__": style.VERSIONS["v2"],
        "python.client.device_lib.list_local_devices": device_lib.list_local_devices,
        "python.client.timeline.Timeline": step_stats.Timeline,
    }
)
V1.update(
    {
        "Dimension": tensor_shape.Dimension,
        "GraphKeys": graph.GraphKeys,
        "get_default_graph": graph.get_default_graph,
        "reset_default_graph": graph.reset_default_graph,
        "Session": session.Session,
        "InteractiveSession": session.InteractiveSession,
        "get_default_session": session.get_default_session,
        "GraphDef": node_def.GraphDef,
        "ConfigProto": protos.ConfigProto,
        "GPUOptions": protos.GPUOptions,
        "GraphOptions": protos.GraphOptions,
        "OptimizerOptions": protos.OptimizerOptions,
        "RewriterConfig": protos.RewriterConfig,
        "RunOptions": protos.RunOptions,
        "StepStats": step_stats.StepStats,
        "RunMetadata": step_stats.RunMetadata,
        "NodeDef": node_def.NodeDef,
        "dimension_value": tensor_shape.dimension_value,
        "compat.dimension_value": tensor_shape.dimension_value,
        "enable_eager_execution": config.enable_eager_execution,
        "disable_eager_execution": style.disable_eager_execution,
        "enable_v2_behavior": style.enable_v2_behavior,
        "disable_v2_behavior": style.disable_v2_behavior,
        "disable_v2_tensorshape": lambda: None,
    }
)
V1["GraphDef"] = node_def.GraphDef
for _name in ("enable_eager_execution", "disable_eager_execution"):
    BOTH["python.framework.ops." + _name] = V1[_name]
BOTH["python.framework.ops.EagerTensor"] = tensor.EagerTensor
BOTH["python.framework.tensor_shape.as_shape"] = tensor_shape.as_shape


@export("no_op")
def no_op(name: str | None = None) -> Any:
    """Returns an operation that does nothing; None eagerly.

    Args:
      name: a name for the operation.
    """
    if _situ.executing_eagerly():
        return None
    return api.OPS["NoOp"](name=name)


@export("fill")
def fill(dims: list, value: TensorLike, name: str | None = None) -> Tensor:
    """Creates a tensor filled with a scalar.

    Args:
      dims: the shape.
      value: a scalar of any type.
      name: a name for the operation.

    Returns:
      A tensor.
    """
    if isinstance(value, (str, bytes)) or getattr(dtypes.dtype_of(value), "name", "") == "string":
        text = api.OPS["Reshape"](array_ops.convert_to_tensor(value), [1])
        return api.OPS["GatherV2"](text, api.OPS["Fill"](dims, 0), 0, name=name)
    return api.OPS["Fill"](dims, value, name=name)


@export("is_tensor", v1="contrib.framework.is_tensor")
def is_tensor(x: TensorLike) -> bool:
    """Returns whether a value is a tensor, a sparse or ragged one or IndexedSlices, or a variable.

    Args:
      x: a value.
    """
    return isinstance(x, (tensor.Tensor, variable.Variable)) or _is_tensor_like(type(x))


def _is_tensor_like(kind: type) -> bool:
    """Returns whether a class is one of sparse or ragged tensors or IndexedSlices, or says of
    itself that its values are tensors."""
    return getattr(kind, "is_tensor_like", False) is True


def _string_converter(name, encode):
    def convert(bytes_or_text: str | bytes, encoding: str = "utf-8") -> Any:
        if isinstance(bytes_or_text, str):
            return bytes_or_text.encode(encoding) if encode else bytes_or_text
        return bytes_or_text if encode else bytes_or_text.decode(encoding)

    convert.__name__ = name
    convert.__doc__ = f"""Converts bytes or a string to {"bytes" if encode else "a string"}.

    Args:
      bytes_or_text: the value.
      encoding: the encoding of the bytes.
    """
    return convert


for _name, _encode in (
    ("as_bytes", True),
    ("as_text", False),
    ("as_str", False),
):
    BOTH["compat." + _name] = BOTH["python.util.compat." + _name] = _string_converter(
        _name, _encode
    )


@export("compat.as_str_any", "python.util.compat.as_str_any")
def as_str_any(value: TensorLike, encoding: str = "utf-8") -> Any:
    """Converts a value to str: bytes are decoded, other values are passed to `str`.

    Args:
      value: a scalar of any type.
      encoding: The encoding of bytes.
    """
    return value.decode(encoding) if isinstance(value, bytes) else str(value)
