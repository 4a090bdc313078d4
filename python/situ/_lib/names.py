# SPDX-License-Identifier: Apache-2.0
"""names.py: the names that programs begin with: imports the parts, adds types, errors and more."""
import _situ
from situ._lib import (api, array_ops, config, device_lib, devicespec, dtypes, errors, function,
                       graph, indexing, initializers, math_ops, old_orders, protos, random_ops,
                       rows, scopes, session, shapes, stepstats, style, tensors, variable_scatter,
                       variable_scope, variables)
from situ._lib.api import BOTH, V1, V2, export

PARTS = (array_ops, config, function, indexing, initializers, math_ops, old_orders, random_ops,
         scopes, variable_scatter, variable_scope, variables)

for _name, _type in dtypes.NAMES.items():
    if not _name.endswith("_ref"):
        BOTH[_name] = BOTH["dtypes." + _name] = _type
for _name, _class in errors.PUBLIC.items():
    BOTH["errors." + _name] = _class
for _name in ("exception_type_from_error_code", "error_code_from_exception_type"):
    V1["errors." + _name] = getattr(errors, _name)

BOTH.update({
    "DType": dtypes.DType, "dtypes.DType": dtypes.DType, "as_dtype": dtypes.as_dtype,
    "dtypes.as_dtype": dtypes.as_dtype, "TensorShape": shapes.TensorShape,
    "Tensor": tensors.Tensor, "Operation": tensors.Operation, "Graph": graph.Graph,
    "DeviceSpec": devicespec.DeviceSpec, "experimental.dlpack.to_dlpack": _situ.to_dlpack,
    "experimental.dlpack.from_dlpack": _situ.from_dlpack,
    "executing_eagerly": _situ.executing_eagerly,
    "situ_version": _situ.version, "keras.__version__": style.VERSIONS["v2"],
    "python.client.device_lib.list_local_devices": device_lib.list_local_devices,
    "python.client.timeline.Timeline": stepstats.Timeline,
})
V1.update({
    "Dimension": shapes.Dimension, "GraphKeys": graph.GraphKeys,
    "get_default_graph": graph.get_default_graph, "reset_default_graph": graph.reset_default_graph,
    "Session": session.Session, "InteractiveSession": session.InteractiveSession,
    "get_default_session": session.get_default_session, "GraphDef": graph.nodedef.GraphDef,
    "ConfigProto": protos.ConfigProto, "GPUOptions": protos.GPUOptions,
    "GraphOptions": protos.GraphOptions, "OptimizerOptions": protos.OptimizerOptions,
    "RewriterConfig": protos.RewriterConfig,
    "RunOptions": protos.RunOptions, "StepStats": stepstats.StepStats,
    "RunMetadata": stepstats.RunMetadata,
    "NodeDef": graph.nodedef.NodeDef, "dimension_value": shapes.dimension_value,
    "compat.dimension_value": shapes.dimension_value,
    "enable_eager_execution": config.enable_eager_execution,
    "disable_eager_execution": style.disable_eager_execution,
    "enable_v2_behavior": style.enable_v2_behavior,
    "disable_v2_behavior": style.disable_v2_behavior,
    "disable_v2_tensorshape": lambda: None,
})
V1["GraphDef"] = graph.nodedef.GraphDef
for _name in ("enable_eager_execution", "disable_eager_execution"):
    BOTH["python.framework.ops." + _name] = V1[_name]
BOTH["python.framework.ops.EagerTensor"] = tensors.EagerTensor


@export("no_op")
def no_op(name=None):
    """An operation that does nothing; None eagerly."""
    if _situ.executing_eagerly():
        return None
    return api.OPS["NoOp"](name=name)


@export("fill")
def fill(dims, value, name=None):
    """A tensor of a shape with one value in all places."""
    if isinstance(value, (str, bytes)) or getattr(dtypes.dtype_of(value), "name", "") == "string":
        text = api.OPS["Reshape"](array_ops.convert_to_tensor(value), [1])
        return api.OPS["GatherV2"](text, api.OPS["Fill"](dims, 0), 0, name=name)
    return api.OPS["Fill"](dims, value, name=name)


@export("strings.length", v1="string_length")
def string_length(input, name=None, unit="BYTE"):
    """How many bytes (or characters, with UTF8_CHAR) texts have."""
    if unit == "BYTE":
        return api.OPS["StringLength"](input, name=name)
    from situ._lib.text_ops import _each
    return _each(lambda t: len(t.decode(errors="replace")), input, "int32", "int32")


@export("is_tensor", v1="contrib.framework.is_tensor")
def is_tensor(x):
    return isinstance(x, tensors.Tensor) or isinstance(x, variables.Variable)


def _text(encode):
    def convert(bytes_or_text, encoding="utf-8"):
        if isinstance(bytes_or_text, str):
            return bytes_or_text.encode(encoding) if encode else bytes_or_text
        return bytes_or_text if encode else bytes_or_text.decode(encoding)
    return convert


for _name, _make in (("as_bytes", True), ("as_text", False), ("as_str", False),
                     ("as_str_any", False)):
    BOTH["compat." + _name] = BOTH["python.util.compat." + _name] = _text(_make)
