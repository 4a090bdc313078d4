# SPDX-License-Identifier: Apache-2.0
"""wire_format.py: messages between processes in binary: a JSON header, then the bytes of tensors.

A message is a tuple: its kind, and the fields that FIELDS lists. The header is a JSON object with
the fields and a description of each part; the field of a tensor or of bytes refers to its part:

    uint32 length of the header | header | padding | part | padding | part ...

Parts begin at multiples of 16 bytes. Nothing is executed, and nothing is allocated for a size that
the bytes of the message do not have."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy

from situ._src.framework import dtypes, storage_types

_LENGTH, _ALIGNMENT = struct.Struct("<I"), 16
_PART = "$part"  # the key of a reference to a part
_MAX_RANK = 32

# The types of the fields of each kind of message.
FIELDS: dict[str, tuple] = {
    "hello": (str, (list, dict)),  # scope and addresses of a session; process and tasks of a server
    "watch": (),
    "state": (str,),
    "ended": (list,),
    "run": (int, (dict, type(None)), (bytes, type(None)), dict, (int, float)),
    "tensor": (str, str, numpy.ndarray),  # process, key, value
    "done": (),
    "failed": (int, str, (str, type(None))),
    "cancel": (str,),
    "reset": ((list, type(None)),),
}


def as_array(value: Any) -> numpy.ndarray:
    """Returns the array of a value that a Python function of a graph gets: bytes for a scalar of
    type string."""
    return numpy.asarray(value, object if isinstance(value, bytes) else None)


def _string_bytes(element: Any) -> bytes:
    if isinstance(element, str):
        return element.encode()
    if not isinstance(element, bytes):
        raise TypeError(f"A {type(element).__name__} cannot be an element of a tensor of strings.")
    return element


def _array_part(array: numpy.ndarray) -> tuple[dict, list]:
    """Returns the description of an array and its bytes."""
    name, shape = array.dtype.name, list(array.shape)
    if array.dtype.kind in "OSU":
        strings = [_string_bytes(s) for s in array.astype(object).ravel().tolist()]
        sizes = numpy.array([len(s) for s in strings], "<u8").tobytes()
        data = b"".join([sizes, *strings])
        return {"dtype": "string", "shape": shape, "size": len(data)}, [data]
    if name not in dtypes.BY_NAME:
        raise TypeError(f"A tensor cannot have elements of type {name}.")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    flat = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
    return {"dtype": name, "shape": shape, "size": flat.nbytes}, [flat.data]


class _Writer:
    """The parts of a message that is encoded."""

    def __init__(self) -> None:
        self.described: list[dict] = []
        self.parts: list[Any] = []

    def add(self, value: Any) -> dict:
        """Adds bytes or an array as a part. Returns the reference for the header."""
        described: dict[str, Any]
        if isinstance(value, bytes):
            described, data = {"dtype": None, "size": len(value)}, [value]
        elif isinstance(value, (numpy.ndarray, numpy.generic)):
            described, data = _array_part(numpy.asarray(value))
        else:
            raise TypeError(f"A {type(value).__name__} cannot be sent to another process.")
        self.described.append(described)
        self.parts += [*data, bytes(-described["size"] % _ALIGNMENT)]
        return {_PART: len(self.described) - 1}


def encode(message: tuple) -> list:
    """Returns a message as a list of buffers.

    Args:
      message: a tuple of a kind and its fields: JSON values, bytes and NumPy arrays.

    Raises:
      TypeError: it contains something else.
    """
    writer = _Writer()
    fields = json.dumps(message, default=writer.add, separators=(",", ":"))
    parts = json.dumps(writer.described, separators=(",", ":"))
    header = f'{{"fields":{fields},"parts":{parts}}}'.encode()
    padding = bytes(-(_LENGTH.size + len(header)) % _ALIGNMENT)
    return [_LENGTH.pack(len(header)), header, padding, *writer.parts]


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _strings(data: memoryview, count: int) -> numpy.ndarray:
    """Returns the elements of a tensor of strings."""
    if count * 8 > len(data):
        raise ValueError("A tensor of strings is shorter than its shape.")
    sizes = numpy.frombuffer(data[: count * 8], "<u8").tolist()
    if sum(sizes) != len(data) - count * 8:
        raise ValueError("The strings of a tensor do not have the size of the tensor.")
    result, at = numpy.empty(count, object), count * 8
    for index, size in enumerate(sizes):
        result[index] = bytes(data[at : at + size])
        at += size
    return result


def _array(described: dict, data: memoryview) -> numpy.ndarray:
    """Returns the array of a part."""
    name, shape = described["dtype"], described.get("shape")
    if not isinstance(shape, list) or len(shape) > _MAX_RANK or not all(map(_is_count, shape)):
        raise ValueError("A tensor has no valid shape.")
    count = math.prod(shape)
    if name == "string":
        return _strings(data, count).reshape(shape)
    dtype = dtypes.BY_NAME.get(name) if isinstance(name, str) else None
    if dtype is None or dtype.as_numpy_dtype is object:
        raise ValueError(f"A tensor has elements of type {name!r}.")
    bits = storage_types.BITS.get(name, dtype.as_numpy_dtype)
    if count * numpy.dtype(bits).itemsize != len(data):
        raise ValueError("A tensor does not have the size of its shape.")
    array = numpy.frombuffer(data, bits).reshape(shape)
    if name not in storage_types.BITS:
        return array
    if numpy.dtype(dtype.as_numpy_dtype).name == name:
        return array.view(dtype.as_numpy_dtype)
    return storage_types.values_of(array, name)


def _parts(described: Any, body: memoryview, at: int) -> list:
    """Returns the parts of a message, which follow its header."""
    found: list = []
    for one in described if isinstance(described, list) else [None]:
        if not isinstance(one, dict) or not _is_count(one.get("size")):
            raise ValueError("A part of a message has no size.")
        at += -at % _ALIGNMENT
        data = body[at : at + one["size"]]
        if len(data) != one["size"]:
            raise ValueError("A message ends too early.")
        found.append(bytes(data) if one.get("dtype") is None else _array(one, data))
        at += one["size"]
    if at + -at % _ALIGNMENT != len(body):
        raise ValueError("A message has bytes that belong to no part.")
    return found


def _filled(value: Any, parts: list) -> Any:
    """Returns a value of a header with its parts in the place of their references."""
    if isinstance(value, list):
        return [_filled(v, parts) for v in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {_PART}:
        index = value[_PART]
        if not _is_count(index) or index >= len(parts):
            raise ValueError("A message refers to a part that it does not have.")
        return parts[index]
    return {k: _filled(v, parts) for k, v in value.items()}


def decode(body: Any) -> tuple:
    """Returns the message that encode returned as buffers. Arrays share the memory of `body`.

    Args:
      body: a bytes-like object.

    Raises:
      ValueError: it is no message; the text says why.
    """
    view = memoryview(body)
    if len(view) < _LENGTH.size:
        raise ValueError("A message has no header.")
    (length,) = _LENGTH.unpack(view[: _LENGTH.size])
    end = _LENGTH.size + length
    if end > len(view):
        raise ValueError("A message is shorter than its header.")
    try:
        header = json.loads(bytes(view[_LENGTH.size : end]))
        if not isinstance(header, dict) or not isinstance(header.get("fields"), list):
            raise ValueError("A message has no fields.")
        fields = _filled(header["fields"], _parts(header.get("parts"), view, end))
    except RecursionError:
        raise ValueError("A message is nested too deeply.") from None
    return tuple(fields)


def check(message: tuple) -> tuple:
    """Returns a message if its kind is known and its fields have the types of FIELDS.

    Args:
      message: a message that was received.

    Raises:
      EOFError: they have not.
    """
    kind, *fields = message or (None,)
    if not isinstance(kind, str) or kind not in FIELDS:
        raise EOFError(f"unknown message {kind!r}")
    if len(fields) != len(FIELDS[kind]) or not all(map(isinstance, fields, FIELDS[kind])):
        raise EOFError(f"a message {kind!r} has other fields")
    return message
