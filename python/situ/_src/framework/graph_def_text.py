# SPDX-License-Identifier: Apache-2.0
"""graph_def_text.py: reads a GraphDef in protobuf's text format (.pbtxt) into the JSON form of the
engine."""

from __future__ import annotations

import ast
import base64
import re

from situ._src.framework.graph_def_reader import sorted_nodes
from situ._src.framework.node_def import GraphDef

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*("(?:[^"\\]|\\.)*"|[{}<>:;,\[\]]|[^\s{}<>:;,\[\]"]+)')
_NUMBERS = {
    "float_val": "floatVal",
    "double_val": "doubleVal",
    "int_val": "intVal",
    "int64_val": "int64Val",
    "bool_val": "boolVal",
    "half_val": "halfVal",
    "uint32_val": "uint32Val",
    "uint64_val": "uint64Val",
}


def _tokens(text):
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            if text[at:].strip():
                raise ValueError(
                    f"Cannot parse the text format of a GraphDef at: {text[at : at + 40]!r}"
                )
            return
        at = found.end()
        if found.group(1) not in ";,":
            yield found.group(1)


def _scalar(token):
    if token.startswith('"'):
        return ast.literal_eval("b" + token)
    try:
        return int(token, 0)
    except ValueError:
        pass
    try:
        return float(token.rstrip("f"))
    except ValueError:
        return {"true": True, "false": False}.get(token, token)


def _message(tokens, end=None):
    """Parses a message to a dict; every field is a list, as it may be repeated."""
    made = {}
    for name in tokens:
        if name == end:
            return made
        sign = next(tokens)
        if sign == ":":
            sign = next(tokens)
        if sign in "{<":
            value = [_message(tokens, "}" if sign == "{" else ">")]
        elif sign == "[":
            value = [_scalar(t) for t in iter(lambda: next(tokens), "]")]
        else:
            value = [_scalar(sign)]
        made.setdefault(name, []).extend(value)
    return made


def _base64(data):
    return base64.b64encode(data).decode()


def _shape(message):
    if message.get("unknown_rank", [False])[0]:
        return {"unknownRank": True}
    return {"dim": [{"size": str(d.get("size", [0])[0])} for d in message.get("dim", [])]}


def _tensor(message):
    made = {
        "dtype": message.get("dtype", ["DT_FLOAT"])[0],
        "tensorShape": _shape(message.get("tensor_shape", [{}])[0]),
    }
    if "tensor_content" in message:
        made["tensorContent"] = _base64(message["tensor_content"][0])
    if "string_val" in message:
        made["stringVal"] = [_base64(v) for v in message["string_val"]]
    for name, word in _NUMBERS.items():
        if name in message:
            made[word] = message[name]
    return made


_CONVERTERS = {"s": _base64, "i": str, "shape": _shape, "tensor": _tensor}


def _attr(message):
    for kind, values in message.items():
        if kind == "list":
            return {
                "list": {
                    k: [_CONVERTERS.get(k, lambda v: v)(v) for v in vs]
                    for k, vs in values[0].items()
                }
            }
        if kind in ("s", "i", "f", "b", "type", "shape", "tensor"):
            return {kind: _CONVERTERS.get(kind, lambda v: v)(values[0])}
    return None


def _node(message):
    node = {
        "name": message["name"][0].decode(),
        "op": message["op"][0].decode(),
        "input": [i.decode() for i in message.get("input", [])],
        "attr": {},
    }
    if "device" in message:
        node["device"] = message["device"][0].decode()
    for entry in message.get("attr", []):
        value = _attr(entry["value"][0]) if entry.get("value") else None
        if value is not None:
            node["attr"][entry["key"][0].decode()] = value
    return node


def parse(text: str) -> GraphDef:
    """Returns the GraphDef of a string in text format.

    Raises:
      ValueError: the string is malformed.
    """
    nodes = [_node(m) for m in _message(_tokens(text)).get("node", [])]
    return GraphDef._from_nodes(sorted_nodes(nodes))
