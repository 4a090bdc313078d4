# SPDX-License-Identifier: Apache-2.0
"""tensor_bundle.py: reads checkpoints of TensorFlow (tensor bundle, V2 format): an SSTable index
and data shards."""

from __future__ import annotations

import os
import struct

import numpy

from situ._src.framework import errors, storage_types
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.message_classes import message_class
from situ._src.summary.event_file import masked_crc

_FOOTER, _MAGIC = 48, 0xDB4775248B80FB57
_Header = message_class("tensorflow.BundleHeaderProto")
_Entry = message_class("tensorflow.BundleEntryProto")


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decodes a varint of a table. Returns the value and the offset behind it."""
    value = shift = 0
    while shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
    raise ValueError("a varint is too long")


def is_bundle(prefix):
    """Returns whether the index of a checkpoint is an SSTable of TensorFlow."""
    try:
        with open(prefix + ".index", "rb") as file:
            file.seek(-8, os.SEEK_END)
            return file.read(8) == struct.pack("<Q", _MAGIC)
    except OSError:
        return False


class File:
    """The tensors of a checkpoint by name."""

    def __init__(self, prefix):
        self._prefix, self.metadata, self.entries, self._places = prefix, {}, {}, {}
        self._shards = 1
        try:
            with open(prefix + ".index", "rb") as file:
                self._read(file.read())
        except (IndexError, struct.error, ValueError) as e:
            raise self._damaged(prefix + ".index", "the index is not a table of tensors") from e

    @staticmethod
    def _damaged(path, why):
        return errors.DataLossError(None, None, f"{path}: damaged: {why}")

    def _read(self, data):
        footer = data[-_FOOTER:]
        _, at = read_varint(footer, 0)
        _, at = read_varint(footer, at)
        offset, at = read_varint(footer, at)
        size, _ = read_varint(footer, at)
        for _, handle in self._block(data, offset, size):
            begin, at = read_varint(handle, 0)
            length, _ = read_varint(handle, at)
            for key, value in self._block(data, begin, length):
                self._entry(key.decode(), value)

    def _block(self, data, offset, size):
        """Yields keys and values of a block; keys share a prefix with the previous one."""
        if data[offset + size]:
            raise errors.UnimplementedError(
                None, None, f"{self._prefix}.index: compressed index tables are not supported"
            )
        block, key = data[offset : offset + size], b""
        end, at = size - 4 - 4 * struct.unpack("<I", block[-4:])[0], 0
        while at < end:
            same, at = read_varint(block, at)
            new, at = read_varint(block, at)
            length, at = read_varint(block, at)
            key = key[:same] + block[at : at + new]
            at += new
            yield key, block[at : at + length]
            at += length

    def _entry(self, key, value):
        if not key:
            self._shards = _Header.FromString(value).num_shards or 1
            return
        entry = _Entry.FromString(value)
        dtype = as_dtype(entry.dtype or 1)
        kind = numpy.dtype(object) if dtype.name == "string" else numpy.dtype(dtype.as_numpy_dtype)
        self.entries[key] = (kind, tuple(d.size for d in entry.shape.dim))
        self._places[key] = entry

    def get(self, name):
        """Returns a tensor as an array.

        Raises:
          DataLossError: the data is damaged.
          UnimplementedError: the tensor has strings or slices.
        """
        (kind, shape), entry = self.entries[name], self._places[name]
        offset, size = entry.offset, entry.size
        if entry.slices or kind.hasobject:
            raise errors.UnimplementedError(
                None,
                None,
                f"{name} of {self._prefix}: string tensors and sliced tensors of "
                "TensorFlow checkpoints are not supported",
            )
        path = f"{self._prefix}.data-{entry.shard_id:05d}-of-{self._shards:05d}"
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read(size)
        width = as_dtype(entry.dtype or 1).size
        if len(data) != size or size != width * int(numpy.prod(shape, dtype=numpy.int64)):
            raise self._damaged(path, f"at byte {offset} {len(data)} of {size} bytes of {name}")
        if masked_crc(data) != entry.crc32c:
            raise self._damaged(path, f"at byte {offset} the checksum of {name} does not match")
        dtype = as_dtype(entry.dtype or 1).name
        if dtype in storage_types.BITS:
            bits = numpy.frombuffer(data, storage_types.BITS[dtype]).reshape(shape)
            return storage_types.values_of(bits, dtype).astype(kind)
        return numpy.frombuffer(data, kind).reshape(shape).copy()
