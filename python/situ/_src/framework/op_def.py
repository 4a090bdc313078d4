# SPDX-License-Identifier: Apache-2.0
"""op_def.py: the OpDef messages of the ops: inputs, outputs and attributes with their defaults."""

from __future__ import annotations

import functools

from situ._src.framework.api import OPS
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.message_classes import message_class

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

OpDef = message_class("tensorflow.OpDef")
_LIST_FIELDS = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
}


def _kind(text):
    """Returns the type of an attribute as OpDefs name it, such as "int" or "list(type)"."""
    if text.startswith("list("):
        return f"list({_kind(text.partition('>')[0][5:-1])})"
    if text.startswith("{"):
        return "string" if "'" in text else "type"
    return text.partition(">")[0]


def _set_value(attr, kind, text):
    """Sets an AttrValue to a default of an op definition."""
    if kind.startswith("list("):
        attr.list.SetInParent()
        items = [t for t in text.strip("[]").replace(",", " ").split() if t]
        field = _LIST_FIELDS[kind[5:-1]]
        for item in items:
            getattr(attr.list, field).append(_scalar(kind[5:-1], item))
    elif kind == "shape":
        attr.shape.SetInParent()
        if text in ("?", "", "none"):
            attr.shape.unknown_rank = True
    elif kind in _LIST_FIELDS:
        setattr(attr, _LIST_FIELDS[kind], _scalar(kind, text))


def _scalar(kind, text):
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "bool":
        return text == "true"
    if kind == "type":
        return as_dtype(text).as_datatype_enum
    return (text[1:-1] if text.startswith("'") else text).encode()


def _add_argument(args, port, attrs):
    argument = args.add(name=port["name"], is_ref=port["reference"])
    kind = port["type"]
    if port["handle"]:
        argument.type = as_dtype("resource").as_datatype_enum
    elif port["list"] and not port["count"]:
        argument.type_list_attr = kind
    elif kind in attrs:
        argument.type_attr = kind
    else:
        argument.type = as_dtype(kind).as_datatype_enum
    if port["count"]:
        argument.number_attr = port["count"]


def _add_attr(made, name, text, default):
    kind = _kind(text)
    attr = made.attr.add(name=name, type=kind)
    allowed = text[5:-1] if text.startswith("list(") else text
    if allowed.startswith("{"):
        values = allowed.strip("{}").replace(",", " ").split()
        field = "s" if "'" in allowed else "type"
        scalar = "string" if field == "s" else "type"
        attr.allowed_values.list.SetInParent()
        getattr(attr.allowed_values.list, field).extend([_scalar(scalar, v) for v in values])
    if ">=" in text:
        attr.has_minimum, attr.minimum = True, int(text.partition(">=")[2].rstrip(")"))
    if default is not None:
        _set_value(attr.default_value, kind, default)


@functools.cache
def op_def(kind: str) -> Any:
    """Returns the OpDef of an op."""
    function = OPS[kind]
    made = OpDef(
        name=kind, is_stateful=function.definition["stateful"], summary=function.definition["doc"]
    )
    defaults = {attr: default for _, attr, default in function.parameters}
    for ports, args in (
        (function.inputs, made.input_arg),
        (function.outputs, made.output_arg),
    ):
        for port in ports:
            _add_argument(args, port, function.attrs)
    for name, text in function.attrs.items():
        _add_attr(made, name, text, defaults.get(name))
    return made


@functools.cache
def _defaults(kind):
    return {a.name: a.default_value for a in op_def(kind).attr if a.HasField("default_value")}


def strip_defaults(node: Any) -> None:
    """Removes the attributes of a NodeDef that have their default values."""
    if node.op not in OPS:
        return
    for name, default in _defaults(node.op).items():
        if name in node.attr and node.attr[name] == default:
            del node.attr[name]
