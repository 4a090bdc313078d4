# SPDX-License-Identifier: Apache-2.0
"""safetensors.py: the safetensors format: an 8-byte header length, a JSON header, the data.
The header's metadata has a CRC-32 of each tensor."""

from __future__ import annotations

import json
import math
import os
import struct
import zlib

import numpy

import _situ
from situ._src.framework import bfloat16, errors
from situ._src.framework.dtypes import as_dtype

TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
    "BF16": "bfloat16",
    "C64": "complex64",
    "C128": "complex128",
}
MAX_HEADER_BYTES = 100 << 20


def loss(path, offset, what):
    """Returns the DataLossError for a damaged file."""
    return errors.DataLossError(None, None, f"{path}: damaged at byte {offset}: {what}")


def entries(tensors):
    """Returns arrays by name as `_situ.write_safetensors` takes them."""
    made = []
    for name, tensor in tensors.items():
        array = numpy.asarray(tensor, order="C")
        if array.dtype.kind in "OSU":
            made.append((name, "object", array.shape, encode_strings(array)))
        elif array.dtype.name == "bfloat16":
            made.append((name, "bfloat16", array.shape, bfloat16.bits_of(array)))
        else:
            data = array.astype(array.dtype.newbyteorder("<"), copy=False)
            made.append((name, array.dtype.name, array.shape, data))
    return made


def encode_strings(array):
    """Encodes an array of strings as bytes: the lengths (int64), then the contents."""
    items = [s.encode() if isinstance(s, str) else bytes(s) for s in array.ravel().tolist()]
    return numpy.array([len(s) for s in items], "<i8").tobytes() + b"".join(items)


def write(path, tensors, metadata=None):
    """Writes arrays by name.

    Raises:
      UnimplementedError: a type is not supported.
    """
    _situ.write_safetensors(path, entries(tensors), metadata or {})


class File:
    """An open file. The header is checked when the file is opened, a tensor when it is read."""

    def __init__(self, path):
        self.path, self.size = path, os.path.getsize(path)
        with open(path, "rb") as file:
            first = file.read(8)
            if len(first) < 8:
                raise loss(path, len(first), "the file ends within its first 8 bytes")
            length = struct.unpack("<Q", first)[0]
            if length > MAX_HEADER_BYTES or 8 + length > self.size:
                raise loss(
                    path,
                    0,
                    f"a header of {length} bytes does not fit in a file of {self.size} bytes",
                )
            text = file.read(length)
        self.begin = 8 + length
        try:
            header = json.loads(text)
            self.metadata = header.pop("__metadata__", {})
            self.entries = {str(k): self._entry(k, v) for k, v in header.items()}
            self._sums = json.loads(self.metadata.get("crc32", "{}"))
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise loss(path, 8, f"invalid header ({error})") from None
        unmatched = set(self._sums) ^ set(self.entries) if self._sums else ()
        if unmatched:
            raise loss(
                path, 8, f"the header has a tensor or a checksum of {min(unmatched)!r}, not both"
            )
        for name, (_, _, _, end) in self.entries.items():
            if self.begin + end > self.size:
                raise loss(
                    path,
                    self.size,
                    f"the file ends within tensor '{name}', which goes to byte {self.begin + end}",
                )

    @staticmethod
    def _entry(name, value):
        dtype, shape = as_dtype(TYPES[value["dtype"]]), [int(n) for n in value["shape"]]
        begin, end = (int(n) for n in value["data_offsets"])
        count = 1
        for n in shape:
            count *= n
        if begin < 0 or min(shape, default=0) < 0 or end - begin != count * dtype.size:
            raise ValueError(f"wrong size of tensor '{name}'")
        return numpy.dtype(dtype.as_numpy_dtype), shape, begin, end

    def get(self, name):
        """Returns a tensor as an array.

        Raises:
          DataLossError: the data is damaged.
        """
        dtype, shape, begin, end = self.entries[name]
        with open(self.path, "rb") as file:
            file.seek(self.begin + begin)
            data = file.read(end - begin)
        if len(data) != end - begin:
            raise loss(
                self.path, self.begin + begin + len(data), f"the file ends within tensor '{name}'"
            )
        if name in self._sums and zlib.crc32(data) != self._sums[name]:
            raise loss(
                self.path,
                self.begin + begin,
                f"the checksum of tensor '{name}' does not match its {end - begin} bytes",
            )
        if dtype.itemsize * math.prod(shape) != len(data) or dtype.name == "bfloat16":
            bits = numpy.frombuffer(data, "<u2")  # of bfloat16
            return bfloat16.floats_of(bits).astype(dtype).reshape(shape)
        return numpy.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
