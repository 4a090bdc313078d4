# SPDX-License-Identifier: Apache-2.0
"""protobuf.py: google.protobuf for programs that import it where it is not installed: text_format,
json_format and the base classes of messages."""

from __future__ import annotations

import json
from typing import Any

import _situ
from situ._src.framework import descriptors, message_classes


def _merge(text: Any, message: Any) -> Any:
    """Merges a message in text format. Returns it.

    Raises:
      ParseError: the string is malformed.
    """
    message._merge_text(text)
    return message


def _merge_lines(lines: Any, message: Any) -> Any:
    """Merges a message given as lines in text format. Returns it."""
    return _merge("\n".join(i if isinstance(i, str) else i.decode() for i in lines), message)


def _to_text(message: Any, as_one_line: bool = False, indent: int = 0) -> str:
    """Returns a message in text format."""
    if as_one_line:
        return message._to_line()
    return "".join(" " * indent + line for line in str(message).splitlines(keepends=True))


def _print(message: Any, out: Any, indent: int = 0) -> None:
    """Writes a message in text format to a file."""
    out.write(_to_text(message, indent=indent))


def _renamed(value: Any, descriptor: Any) -> Any:
    """Replaces the names of fields in JSON by those in the schema."""
    names = {f.camelcase_name: f for f in descriptor.fields}
    made = {}
    for key, item in value.items():
        field = names.get(key) or descriptor.fields_by_name[key]
        inner = field.message_type
        if inner is not None and field.is_map:
            kind = inner.fields_by_name["value"].message_type
            item = {k: v if kind is None else _renamed(v, kind) for k, v in item.items()}
        elif inner is not None:
            parts = [_renamed(i, inner) for i in (item if field.is_repeated else [item])]
            item = parts if field.is_repeated else parts[0]
        made[field.name] = item
    return made


def _to_dict(message: Any, preserving_proto_field_name: bool = False) -> dict:
    """Returns a message as a dict in the form of JSON."""
    value = json.loads(message._to_json())
    return _renamed(value, message.DESCRIPTOR) if preserving_proto_field_name else value


def _to_json(
    message: Any,
    preserving_proto_field_name: bool = False,
    indent: int | None = 2,
    sort_keys: bool = False,
) -> str:
    """Returns a message in JSON format."""
    value = _to_dict(message, preserving_proto_field_name)
    return json.dumps(value, indent=indent, sort_keys=sort_keys)


def _merge_json(text: Any, message: Any) -> Any:
    """Merges a message in JSON format. Returns it."""
    message._merge_json(text)
    return message


def _merge_dict(value: dict, message: Any) -> Any:
    """Merges a message given as a dict in the form of JSON. Returns it."""
    return _merge_json(json.dumps(value), message)


MODULES: dict[str, dict[str, Any]] = {
    "text_format": {
        "Merge": _merge,
        "Parse": _merge,
        "MergeLines": _merge_lines,
        "ParseLines": _merge_lines,
        "MessageToString": _to_text,
        "PrintMessage": _print,
        "ParseError": message_classes.ParseError,
    },
    "json_format": {
        "MessageToJson": _to_json,
        "MessageToDict": _to_dict,
        "Parse": _merge_json,
        "ParseDict": _merge_dict,
        "ParseError": message_classes.ParseError,
    },
    "message": {
        "Message": _situ.Message,
        "Error": ValueError,
        "DecodeError": message_classes.DecodeError,
        "EncodeError": ValueError,
    },
    "descriptor": {
        "Descriptor": descriptors.MessageDescriptor,
        "FieldDescriptor": descriptors.FieldDescriptor,
        "EnumDescriptor": descriptors.EnumDescriptor,
    },
}
