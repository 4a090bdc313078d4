# SPDX-License-Identifier: Apache-2.0
"""descriptors.py: reflection of protocol messages: DESCRIPTOR with its fields, oneofs and enums, as
google.protobuf.descriptor has them."""

from __future__ import annotations

import functools
from typing import Any

import _situ
from situ._src.framework import message_classes

_NUMBERS = {1: 0.0, 2: 0.0, 8: False, 9: "", 12: b"", 11: None}


class FieldDescriptor:
    """A field of a message type."""

    (TYPE_DOUBLE, TYPE_FLOAT, TYPE_INT64, TYPE_UINT64, TYPE_INT32) = (1, 2, 3, 4, 5)
    (TYPE_FIXED64, TYPE_FIXED32, TYPE_BOOL, TYPE_STRING, TYPE_GROUP) = (6, 7, 8, 9, 10)
    (TYPE_MESSAGE, TYPE_BYTES, TYPE_UINT32, TYPE_ENUM) = (11, 12, 13, 14)
    LABEL_OPTIONAL, LABEL_REQUIRED, LABEL_REPEATED = 1, 2, 3
    (CPPTYPE_INT32, CPPTYPE_INT64, CPPTYPE_UINT32, CPPTYPE_UINT64, CPPTYPE_DOUBLE) = (1, 2, 3, 4, 5)
    (CPPTYPE_FLOAT, CPPTYPE_BOOL, CPPTYPE_ENUM, CPPTYPE_STRING, CPPTYPE_MESSAGE) = (6, 7, 8, 9, 10)
    _CPP = {1: 5, 2: 6, 3: 2, 4: 4, 5: 1, 6: 4, 7: 3, 8: 7, 9: 9, 11: 10, 12: 9, 13: 3, 14: 8}
    has_options = is_extension = False

    def __init__(self, containing_type: MessageDescriptor, index: int, schema: tuple) -> None:
        name, number, kind, repeated, is_map, oneof, message, enum = schema
        self.name, self.number, self.type, self.index = name, number, kind, index
        self.containing_type, self.is_repeated, self.is_map = containing_type, repeated, is_map
        self.full_name = f"{containing_type.full_name}.{name}"
        self.label = self.LABEL_REPEATED if repeated else self.LABEL_OPTIONAL
        self.cpp_type = self._CPP[kind]
        self.default_value = [] if repeated else _NUMBERS.get(kind, 0)
        self.has_presence = not repeated and (oneof is not None or kind == self.TYPE_MESSAGE)
        self._oneof, self._message, self._enum = oneof, message, enum

    @property
    def message_type(self) -> MessageDescriptor | None:
        """The type of a field of messages, or None."""
        return self._message and message(self._message)

    @property
    def enum_type(self) -> EnumDescriptor | None:
        """The type of a field of enum values, or None."""
        return self._enum and enum(self._enum)

    @property
    def containing_oneof(self) -> OneofDescriptor | None:
        """The oneof of the field, or None."""
        return self._oneof and self.containing_type.oneofs_by_name[self._oneof]

    @property
    def camelcase_name(self) -> str:
        """The name in JSON."""
        first, *rest = self.name.split("_")
        return first + "".join(part.capitalize() for part in rest)

    json_name = camelcase_name

    def GetOptions(self) -> FieldOptions:
        """Returns the options."""
        return FieldOptions()

    def __repr__(self) -> str:
        return f"<FieldDescriptor {self.full_name}>"


class OneofDescriptor:
    """A oneof of a message type."""

    def __init__(self, name: str, containing_type: MessageDescriptor, fields: list) -> None:
        self.name, self.containing_type, self.fields = name, containing_type, fields
        self.full_name = f"{containing_type.full_name}.{name}"


class EnumValueDescriptor:
    """A value of an enum."""

    def __init__(self, name: str, number: int, index: int, type: EnumDescriptor) -> None:
        self.name, self.number, self.index, self.type = name, number, index, type


class EnumDescriptor:
    """An enum."""

    def __init__(self, full_name: str) -> None:
        self.full_name, self.name = full_name, full_name.rpartition(".")[2]
        items = message_classes.enum_type(full_name).items()
        self.values = [EnumValueDescriptor(n, v, i, self) for i, (n, v) in enumerate(items)]
        self.values_by_name = {v.name: v for v in self.values}
        self.values_by_number = {v.number: v for v in reversed(self.values)}


class MessageOptions:
    """The options of a message type."""

    message_set_wire_format = False

    def __init__(self, map_entry: bool) -> None:
        self.map_entry = map_entry


class FieldOptions:
    """The options of a field: all have their defaults."""

    packed = deprecated = False


class FileDescriptor:
    """The file of a type. situ has one table of schemas for all."""

    name, package, syntax = "tensorflow.proto", "tensorflow", "proto3"


class MessageDescriptor:
    """A message type."""

    is_extendable, containing_type, extensions, file = False, None, (), FileDescriptor

    def __init__(self, full_name: str) -> None:
        self.full_name, self.name = full_name, full_name.rpartition(".")[2]
        schemas = _situ.message_fields(full_name)
        self.fields = [FieldDescriptor(self, i, s) for i, s in enumerate(schemas)]
        self.fields_by_name = {f.name: f for f in self.fields}
        self.fields_by_number = {f.number: f for f in self.fields}
        names = dict.fromkeys(f._oneof for f in self.fields if f._oneof)
        self.oneofs = [
            OneofDescriptor(n, self, [f for f in self.fields if f._oneof == n]) for n in names
        ]
        self.oneofs_by_name = {o.name: o for o in self.oneofs}

    @property
    def has_options(self) -> bool:
        """Whether it has options: it is an entry of a map."""
        return self.GetOptions().map_entry

    def GetOptions(self) -> MessageOptions:
        """Returns the options."""
        return MessageOptions(self.full_name not in _situ.message_names())

    @property
    def _concrete_class(self) -> Any:
        return message_classes.message_class(self.full_name)

    @property
    def nested_types(self) -> list[MessageDescriptor]:
        """The types inside of this one."""
        return [message(n) for n in message_classes._nested(_situ.message_names(), self.full_name)]

    @property
    def enum_types(self) -> list[EnumDescriptor]:
        """The enums inside of this type."""
        return [enum(n) for n in message_classes._nested(_situ.enum_types(), self.full_name)]

    def __repr__(self) -> str:
        return f"<Descriptor {self.full_name}>"


message = functools.cache(MessageDescriptor)
enum = functools.cache(EnumDescriptor)
