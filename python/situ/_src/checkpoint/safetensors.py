# SPDX-License-Identifier: Apache-2.0
"""safetensors.py: the safetensors format: an 8-byte header length, a JSON header, the data.
The header's metadata has a CRC-32 of each tensor."""

from __future__ import annotations

import os

import numpy

import _situ
from situ._src.framework import errors, storage_types
from situ._src.framework.dtypes import as_dtype


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
        elif array.dtype.name in storage_types.BITS:
            bits = storage_types.bits_of(array, array.dtype.name)
            made.append((name, array.dtype.name, array.shape, bits))
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
    """An open file. The header is checked when the file is opened, a tensor when it is read.

    Attributes:
      path: the path.
      entries: (NumPy type, shape) of the tensors by name.
      metadata: a dict of strings.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        self._file, arrays, self.metadata = _situ.open_safetensors(self.path)
        self.entries = {
            name: (numpy.dtype(as_dtype(kind).as_numpy_dtype), list(shape))
            for name, (kind, shape) in arrays.items()
        }

    def get(self, name):
        """Returns a tensor as an array.

        Raises:
          DataLossError: the data is damaged, or there is no such tensor.
        """
        with errors.convert_malformed(self.path):
            dtype = self.entries[name][0]
        return numpy.asarray(_situ.read_safetensors(self._file, name)).astype(dtype, copy=False)
