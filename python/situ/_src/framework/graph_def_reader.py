# SPDX-License-Identifier: Apache-2.0
"""graph_def_reader.py: reads a binary GraphDef (.pb) into the JSON form of the engine."""

from __future__ import annotations

import base64
import struct

from situ._src.framework.dtypes import as_dtype
from situ._src.framework.protobuf_wire import _unpack, fields

# Value fields of a TensorProto: number -> (name in JSON, kind).
_VALUES = {
    5: ("floatVal", "float"),
    6: ("doubleVal", "double"),
    7: ("intVal", "int"),
    10: ("int64Val", "int"),
    11: ("boolVal", "bool"),
    13: ("halfVal", "int"),
    16: ("uint32Val", "int"),
    17: ("uint64Val", "int"),
}


def _base64(data):
    return base64.b64encode(data).decode()


def _type(number):
    return "DT_" + as_dtype(number % 100).name.upper()


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _shape(data):
    dims, unknown = [], False
    for number, _, value in fields(memoryview(data)):
        if number == 2:
            size = next((_signed(v) for n, _, v in fields(memoryview(value)) if n == 1), 0)
            dims.append({"size": str(size)})
        elif number == 3:
            unknown = bool(value)
    return {"unknownRank": True} if unknown else {"dim": dims}


def _tensor(data):
    made = {"dtype": "DT_FLOAT", "tensorShape": {}}
    for number, wire_type, value in fields(memoryview(data)):
        if number == 1:
            made["dtype"] = _type(value)
        elif number == 2:
            made["tensorShape"] = _shape(value)
        elif number == 4:
            made["tensorContent"] = _base64(value)
        elif number == 8:
            made.setdefault("stringVal", []).append(_base64(value))
        elif number in _VALUES:
            name, kind = _VALUES[number]
            made.setdefault(name, []).extend(
                _unpack(kind, value) if wire_type == 2 else [_number(kind, value)]
            )
    return made


def _number(kind, value):
    if kind == "float":
        return struct.unpack("<f", value)[0]
    if kind == "double":
        return struct.unpack("<d", value)[0]
    return bool(value) if kind == "bool" else _signed(value)


_KINDS = {2: "s", 3: "i", 4: "f", 5: "b", 6: "type", 7: "shape", 8: "tensor"}


def _value(kind, value):
    if kind == "s":
        return _base64(value)
    if kind == "type":
        return _type(value)
    if kind in ("shape", "tensor"):
        return (_shape if kind == "shape" else _tensor)(value)
    made = _number({"i": "int", "f": "float", "b": "bool"}[kind], value)
    return str(made) if kind == "i" else made


def _list(data):
    made = {}
    for number, wire_type, value in fields(memoryview(data)):
        kind = _KINDS.get(number)
        if kind in ("i", "f", "b", "type") and wire_type == 2:
            inner = {"i": "int", "f": "float", "b": "bool", "type": "int"}[kind]
            items = _unpack(inner, value)
            items = [_type(v) if kind == "type" else str(v) if kind == "i" else v for v in items]
            made.setdefault(kind, []).extend(items)
        elif kind:
            made.setdefault(kind, []).append(_value(kind, value))
    return made


def _attr(data):
    for number, _, value in fields(memoryview(data)):
        if number == 1:
            return {"list": _list(value)}
        if number in _KINDS:
            return {_KINDS[number]: _value(_KINDS[number], value)}
    return None


def _node(data):
    node = {"name": "", "op": "", "input": [], "attr": {}}
    for number, _, value in fields(memoryview(data)):
        if number in (1, 2, 4):
            node[{1: "name", 2: "op", 4: "device"}[number]] = value.decode()
        elif number == 3:
            node["input"].append(value.decode())
        elif number == 5:
            parts = {n: v for n, _, v in fields(memoryview(value))}
            attr = _attr(parts.get(2, b""))
            if attr is not None:
                node["attr"][parts.get(1, b"").decode()] = attr
    return node


def parse(data: bytes) -> dict:
    """Parses a binary GraphDef. Returns its nodes in topological order."""
    nodes = [
        _node(value)
        for number, wire_type, value in fields(memoryview(data))
        if number == 1 and wire_type == 2
    ]
    return {"node": sorted_nodes(nodes)}


def sorted_nodes(nodes):
    """Returns the nodes in topological order; otherwise their order does not change."""
    by_name, done, out = {n["name"]: n for n in nodes}, set(), []
    for first in nodes:
        stack = [(first, iter(first.get("input", ())))]
        while stack:
            node, inputs = stack[-1]
            if node["name"] in done:
                stack.pop()
                continue
            waits = next(
                (
                    by_name[k]
                    for k in (i.lstrip("^").partition(":")[0] for i in inputs)
                    if k in by_name and k not in done and all(k != s["name"] for s, _ in stack)
                ),
                None,
            )
            if waits is None:
                done.add(node["name"])
                out.append(node)
                stack.pop()
            else:
                stack.append((waits, iter(waits.get("input", ()))))
    return out
