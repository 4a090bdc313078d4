# SPDX-License-Identifier: Apache-2.0
"""graph_def_writer.py: writes a GraphDef in protobuf's binary format from the JSON form of the
engine."""

from __future__ import annotations

import base64
import json
import struct

from situ._src.framework.dtypes import as_dtype
from situ._src.framework.import_graph_def import tensor_value
from situ._src.framework.protobuf_wire import block, tagged, varint


def _type(word):
    return as_dtype(word[3:].lower()).as_datatype_enum


def _shape(value):
    if value.get("unknownRank"):
        return tagged(3, 0, varint(1))
    return b"".join(
        block(2, tagged(1, 0, varint(int(d.get("size", 0))))) for d in value.get("dim", ())
    )


def _tensor(value):
    array, out = tensor_value(value), tagged(1, 0, varint(_type(value["dtype"])))
    out += block(2, _shape(value.get("tensorShape", {})))
    if value["dtype"] in ("DT_RESOURCE", "DT_VARIANT"):
        return out  # a handle is valid in its own process only
    if array.dtype == object:
        return out + b"".join(block(8, item) for item in array.ravel())
    return out + block(4, array.tobytes())


def _value(kind, value):
    if kind == "s":
        return block(2, base64.b64decode(value))
    if kind == "i":
        return tagged(3, 0, varint(int(value)))
    if kind == "f":
        return tagged(4, 5, struct.pack("<f", float(value)))
    if kind == "b":
        return tagged(5, 0, varint(int(value)))
    if kind == "type":
        return tagged(6, 0, varint(_type(value)))
    if kind == "shape":
        return block(7, _shape(value))
    if kind == "tensor":
        return block(8, _tensor(value))
    if kind == "list":
        return block(1, b"".join(_value(k, v) for k, items in value.items() for v in items))
    return b""


def _node(node):
    out = block(1, node["name"].encode()) + block(2, node["op"].encode())
    out += b"".join(block(3, i.encode()) for i in node.get("input", ()))
    if node.get("device"):
        out += block(4, node["device"].encode())
    for key, attr in sorted(node.get("attr", {}).items()):
        ((kind, value),) = attr.items()
        out += block(5, block(1, key.encode()) + block(2, _value(kind, value)))
    return out


def serialize(text: str) -> bytes:
    """Returns the binary form of a GraphDef given as JSON."""
    graph = json.loads(text)
    nodes = b"".join(block(1, _node(n)) for n in graph.get("node", ()))
    producer = int(graph.get("versions", {}).get("producer", 0))
    return nodes + block(4, tagged(1, 0, varint(producer)))
