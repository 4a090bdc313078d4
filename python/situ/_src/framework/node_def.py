# SPDX-License-Identifier: Apache-2.0
"""node_def.py: tf.GraphDef, NodeDef and AttrValue, and the Python values of attributes."""

from __future__ import annotations

import json

import _situ
from situ._src.framework import dtypes, tensor_shape
from situ._src.framework.message_classes import message_class

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

GraphDef = message_class("tensorflow.GraphDef")
NodeDef = message_class("tensorflow.NodeDef")
AttrValue = message_class("tensorflow.AttrValue")


def graph_def(graph: Any) -> Any:
    """Returns the GraphDef of a graph."""
    made = graph._fill_graph_def(GraphDef())
    if "_datasets" in graph.__dict__:
        from situ._src.data import serialization

        serialization.write_constants(graph, made)
    return made


def node_def(operation: Any) -> Any:
    """Returns the NodeDef of an operation."""
    return operation._fill_node_def(NodeDef())


def from_json(nodes: list) -> Any:
    """Returns the GraphDef of nodes in JSON form."""
    made = GraphDef()
    made._merge_json(json.dumps({"node": nodes}))
    return made


def attr_from_json(attr: dict) -> Any:
    """Returns the AttrValue of an attribute in JSON form."""
    made = AttrValue()
    made._merge_json(json.dumps(attr))
    return made


def _real(value):
    """Returns the double of the shortest digits of a float: 0.1, not 0.10000000149."""
    import struct

    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if struct.unpack("<f", struct.pack("<f", short))[0] == value:
            return short
    return value


def group_inputs(function, inputs, attrs):
    """Groups the inputs of a node by the parameters of its op: a tensor or a list each.

    Args:
      function: the function of the op.
      inputs: the tensors, in one list.
      attrs: {name: Python value} of the attributes.

    Returns:
      The list of arguments.

    Raises:
      ValueError: The op takes another number of inputs.
    """
    ports, args, at = function.inputs, [], 0
    for port in ports:
        count = 1
        if port["list"]:
            count = int(attrs[port["count"]]) if port["count"] else len(attrs[port["type"]])
            args.append(inputs[at : at + max(count, 0)])
        elif at < len(inputs):
            args.append(inputs[at])
        at += count
    if at != len(inputs):
        wanted = " ".join(f"{port['name']}:{port['type']}" for port in ports)
        raise ValueError(f"NodeDef expected inputs '{wanted}' do not match {len(inputs)} inputs")
    return args


_CONVERTERS = {"type": dtypes.as_dtype, "shape": tensor_shape.TensorShape, "f": _real}


def value_of(attr: Any) -> Any:
    """Converts an AttrValue to its Python value; a tensor stays a TensorProto, and a function a
    NameAttrList."""
    kind = attr.WhichOneof("value")
    if kind == "list":
        lists = [(_CONVERTERS.get(field.name), items) for field, items in attr.list.ListFields()]
        return [item if f is None else f(item) for f, items in lists for item in items]
    convert = _CONVERTERS.get(kind)
    value = None if kind is None else getattr(attr, kind)
    return value if convert is None else convert(value)


def get_attr(operation: Any, name: str) -> Any:
    """Returns the value of an attribute of an operation.

    Args:
      operation: a tf.Operation.
      name: the name of the attribute.

    Raises:
      ValueError: the operation has no such attribute.
    """
    attrs = node_def(operation).attr
    if name not in attrs:
        raise ValueError(f"No attr named '{name}' in {operation.name}")
    return value_of(attrs[name])


_situ.hook("node_def", lambda operation: str(node_def(operation)))
