# SPDX-License-Identifier: Apache-2.0
"""message_classes.py: a class per type of protocol message. The schemas and the messages are in the
engine (include/situ/message.h); a class is created when it is first used."""

from __future__ import annotations

import collections.abc
import functools

import _situ

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any


class DecodeError(ValueError):
    """The data is not a message in binary format."""


class ParseError(ValueError):
    """The string is not a message in text format or JSON."""


class EnumType:
    """An enum: its values by name. DataType.Name(1) is "DT_FLOAT"."""

    def __init__(self, full_name: str, values: dict[str, int]) -> None:
        self.full_name, self._values = full_name, values

    def __getattr__(self, name: str) -> int:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def DESCRIPTOR(self) -> Any:
        """Returns the EnumDescriptor."""
        from situ._src.framework import descriptors

        return descriptors.enum(self.full_name)

    def Name(self, number: int) -> str:
        """Returns the name of a value.

        Raises:
          ValueError: there is no such value.
        """
        for name, value in self._values.items():
            if value == number:
                return name
        kind = self.full_name.rpartition(".")[2]
        raise ValueError(f"Enum {kind} has no name defined for value {number!r}")

    def Value(self, name: str) -> int:
        """Returns the value of a name.

        Raises:
          ValueError: there is no such name.
        """
        if name in self._values:
            return self._values[name]
        kind = self.full_name.rpartition(".")[2]
        raise ValueError(f"Enum {kind} has no value defined for name {name!r}")

    def keys(self) -> list[str]:
        """Returns the names."""
        return list(self._values)

    def values(self) -> list[int]:
        """Returns the values."""
        return list(self._values.values())

    def items(self) -> list[tuple[str, int]]:
        """Returns pairs of a name and a value."""
        return list(self._values.items())


@functools.cache
def _enums() -> dict[str, dict[str, int]]:
    return _situ.enum_types()


def enum_type(full_name: str) -> EnumType:
    """Returns an enum by its full name."""
    return EnumType(full_name, _enums()[full_name])


def _nested(names: Any, outer: str) -> list[str]:
    """Returns the names that are directly inside of a message."""
    return [n for n in names if n.rpartition(".")[0] == outer]


@functools.cache
def message_class(full_name: str) -> Any:
    """Returns the class of a message type by its full name, such as "tensorflow.NodeDef"."""
    members: dict[str, Any] = {"__slots__": (), "_full_name": full_name}
    members["__doc__"] = f"The protocol message {full_name}."
    for name in _nested(_enums(), full_name):
        members.update(_enums()[name])
        members[name.rpartition(".")[2]] = enum_type(name)
    for name in _nested(_situ.message_names(), full_name):
        members[name.rpartition(".")[2]] = message_class(name)
    made = type(full_name.rpartition(".")[2], (_situ.Message,), members)
    _situ.register_message_class(made, full_name)
    return made


class _Reflection:
    """The attribute DESCRIPTOR of classes and messages."""

    def __get__(self, message: Any, owner: Any) -> Any:
        from situ._src.framework import descriptors

        return descriptors.message(owner._full_name)


def _list_fields(self: Any) -> list[tuple[Any, Any]]:
    """Returns (descriptor, value) of the fields that are set."""
    found = self.DESCRIPTOR.fields_by_name
    return [(found[name], getattr(self, name)) for name in self._field_names()]


def _sort(self: Any, *, key: Any = None, reverse: bool = False) -> None:
    """Sorts the items."""
    items = list(self)
    keys = items if key is None else [key(i) for i in items]
    self._reorder(sorted(range(len(items)), key=keys.__getitem__, reverse=reverse))


def _reverse(self: Any) -> None:
    """Reverses the items."""
    self._reorder(list(range(len(self)))[::-1])


def _pop(self: Any, key: int = -1) -> Any:
    """Removes an item and returns it."""
    item = self[key]
    del self[key]
    return item


def _get(self: Any, key: Any, default: Any = None) -> Any:
    """Returns the value of a key, or a default; the key is not added."""
    if key not in self:
        return default
    return self[key]


def _add_methods() -> None:
    _situ.extend(_situ.Message, "DESCRIPTOR", _Reflection())
    _situ.extend(_situ.Message, "ListFields", _list_fields)
    sequence, mapping = collections.abc.MutableSequence, collections.abc.MutableMapping
    methods = {"sort": _sort, "reverse": _reverse, "pop": _pop}
    for name in ("remove", "index", "count"):
        methods[name] = getattr(sequence, name)
    for name, method in methods.items():
        _situ.extend(_situ.RepeatedField, name, method)
    _situ.extend(_situ.MapField, "get", _get)
    for name in ("keys", "values", "items", "pop", "popitem", "setdefault"):
        _situ.extend(_situ.MapField, name, getattr(mapping, name))
    sequence.register(_situ.RepeatedField)
    mapping.register(_situ.MapField)


_add_methods()
_situ.hook("message_class", message_class)
_situ.hook("decode_error", DecodeError)
_situ.hook("parse_error", ParseError)
