# SPDX-License-Identifier: Apache-2.0
"""protobuf_wire.py: protobuf's binary wire format: varints, tags, and messages whose WIRE table has
the number and kind of each field."""

from __future__ import annotations

import struct

from situ._src.framework.protos import Message

_FIXED = {"double": ("<d", 1), "float": ("<f", 5), "fixed64": ("<Q", 1), "fixed32": ("<I", 5)}


_ONE_BYTE = [bytes([i]) for i in range(128)]


def varint(value: int) -> bytes:
    """Encodes an integer as a varint; negative ones as 64-bit two's complement."""
    if 0 <= value < 128:
        return _ONE_BYTE[value]
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def tagged(number: int, kind: int, data: bytes) -> bytes:
    """Encodes a field: tag (number and wire type) and payload."""
    return varint(number << 3 | kind) + data


def block(number: int, data: bytes) -> bytes:
    """Encodes a length-delimited field: string, submessage or packed numbers."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def encode(number, kind, value):
    """Encodes one value of a field."""
    if kind in _FIXED:
        form, end = _FIXED[kind]
        return tagged(number, end, struct.pack(form, value))
    if kind in ("int", "bool"):
        return tagged(number, 0, varint(int(value)))
    if kind == "text":
        return block(number, value.encode() if isinstance(value, str) else value)
    if kind == "bytes":
        return block(number, value.encode() if isinstance(value, str) else bytes(value))
    return block(number, value.SerializeToString())


def read_varint(data, at: int) -> tuple[int, int]:
    """Decodes the varint at an offset. Returns the value and the offset behind it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("Error parsing message")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields (number, wire type, bytes or int) of each field of a message.

    Raises:
      ValueError: the message is malformed.
    """
    at, end = 0, len(data)

    def number():
        nonlocal at
        value, at = read_varint(data, at)
        return value

    while at < end:
        key = number()
        kind = key & 7
        if kind == 0:
            yield key >> 3, kind, number()
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise ValueError("Error parsing message")
            size = number()
        if at + size > end:
            raise ValueError("Error parsing message")
        yield key >> 3, kind, bytes(data[at : at + size])
        at += size


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def decode(kind, value):
    """Decodes one value of a field."""
    if kind in _FIXED:
        return struct.unpack(_FIXED[kind][0], value)[0]
    if kind == "int":
        return _signed(value)
    if kind == "bool":
        return bool(value)
    if kind == "text":
        return value.decode(errors="replace")
    if kind == "bytes":
        return value
    return kind.FromString(value)


def _unpack(kind, data):
    """Decodes a packed repeated field."""
    if kind in _FIXED:
        form, _ = _FIXED[kind]
        return [v for (v,) in struct.iter_unpack(form, data)]
    values, at = [], 0
    while at < len(data):
        value, at = read_varint(data, at)
        values.append(decode(kind, value))
    return values


class Proto(Message):
    """A message with a binary form. WIRE maps names to (number, kind). Lists of numbers are packed;
    keys of maps are strings. ONEOF maps groups to their fields."""

    WIRE: dict = {}
    ONEOF: dict = {}

    def _checked(self, name, default, value):
        kind = self.WIRE[name][1]
        if kind == "bytes":
            return value.encode() if isinstance(value, str) else bytes(value)
        if kind == "text":
            return value.decode() if isinstance(value, bytes) else str(value)
        return super()._checked(name, default, value)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        for group in self.ONEOF.values():
            if name in group:
                for other in group:
                    if other != name:
                        self._values.pop(other, None)

    def WhichOneof(self, group):
        """Returns the name of the field of a oneof group that is set, or None."""
        return next((n for n in self.ONEOF[group] if n in self._values), None)

    def SerializeToString(self) -> bytes:
        """Returns the message in binary form."""
        out = []
        for name, value in self._values.items():
            number, kind = self.WIRE[name]
            if isinstance(value, dict):
                out += [
                    block(number, encode(1, "text", k) + encode(2, kind, value[k]))
                    for k in sorted(value)
                ]
            elif not isinstance(value, list):
                out.append(encode(number, kind, value))
            elif kind in _FIXED and value:
                form = _FIXED[kind][0]
                out.append(block(number, struct.pack(f"<{len(value)}{form[1]}", *value)))
            elif kind in ("int", "bool") and value:
                out.append(block(number, b"".join(varint(int(v)) for v in value)))
            else:
                out += [encode(number, kind, v) for v in value]
        return b"".join(out)

    def ParseFromString(self, data: bytes) -> int:
        """Replaces the message by one in binary form. Returns its size.

        Raises:
          ValueError: the data is malformed.
        """
        object.__setattr__(self, "_values", {})
        self.MergeFromString(data)
        return len(data)

    def MergeFromString(self, data):
        """Merges a message in binary form into this one; unknown fields are skipped."""
        known = {number: (name, kind) for name, (number, kind) in self.WIRE.items()}
        for number, how, value in fields(memoryview(data)):
            if number not in known:
                continue
            name, kind = known[number]
            if isinstance(self.FIELDS[name], dict):
                parts = {n: v for n, _, v in fields(memoryview(value))}
                getattr(self, name)[parts.get(1, b"").decode()] = decode(kind, parts.get(2, b""))
            elif isinstance(self.FIELDS[name], list):
                items = getattr(self, name)
                packed = how == 2 and kind in ("int", "bool", *_FIXED)
                items.extend(_unpack(kind, value) if packed else [decode(kind, value)])
            else:
                self._values[name] = decode(kind, value)

    @classmethod
    def FromString(cls, data):
        """Returns the message of binary data."""
        message = cls()
        message.MergeFromString(data)
        return message

    def ByteSize(self) -> int:
        """Returns the size of the binary form."""
        return len(self.SerializeToString())

    @staticmethod
    def _format_scalar(value):
        return repr(value)[1:] if isinstance(value, bytes) else Message._format_scalar(value)
