# SPDX-License-Identifier: Apache-2.0
"""reader.py: the files of a checkpoint, written and read: NewCheckpointReader,
list_variables, load_variable."""

from __future__ import annotations

import json
import os

import numpy

from situ._src.checkpoint import safetensors, tensor_bundle
from situ._src.checkpoint.state import DATA, INDEX, checkpoint_exists, latest_checkpoint
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype


def write(prefix, arrays, metadata=None):
    """Writes a checkpoint: elements first, then the index, a list for people."""
    strings = {k: list(a.shape) for k, a in arrays.items() if a.dtype.kind in "OSU"}
    encoded = {k: _encode(a) if k in strings else a for k, a in arrays.items()}
    safetensors.write(
        prefix + DATA,
        encoded,
        {**(metadata or {}), **({"strings": json.dumps(strings)} if strings else {})},
    )
    index = {
        "format": "situ checkpoint",
        "data": [os.path.basename(prefix) + DATA],
        "variables": {
            k: {"dtype": str(a.dtype), "shape": list(a.shape)} for k, a in sorted(arrays.items())
        },
    }
    safetensors.replace(prefix + INDEX, [json.dumps(index, indent=1).encode(), b"\n"])


def _encode(array):
    """Strings as bytes: the length of each (int64), then all of them one behind the other."""
    items = [s.encode() if isinstance(s, str) else bytes(s) for s in array.ravel().tolist()]
    lengths = numpy.array([len(s) for s in items], "<i8")
    return numpy.frombuffer(lengths.tobytes() + b"".join(items), numpy.uint8)


def _decode(data, shape):
    """The strings that _encode has written."""
    count = int(numpy.prod(shape, dtype=numpy.int64))
    raw = data.tobytes()
    lengths = numpy.frombuffer(raw[: 8 * count], "<i8")
    if len(lengths) != count or (lengths < 0).any() or 8 * count + lengths.sum() != len(raw):
        raise errors.DataLossError(None, None, "A tensor of strings in a checkpoint is damaged.")
    ends = 8 * count + numpy.cumsum(lengths)
    made = numpy.empty(count, object)
    made[:] = [raw[end - n : end] for end, n in zip(ends.tolist(), lengths.tolist())]
    return made.reshape(shape)


class CheckpointReader:
    """Reads a checkpoint by the names of its tensors."""

    def __init__(self, prefix):
        self._prefix = os.fspath(prefix)
        if not checkpoint_exists(self._prefix):
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: "
                f"Failed to find any matching files for {self._prefix}",
            )
        bundled = tensor_bundle.is_bundle(self._prefix)
        self._file = (
            tensor_bundle.File(self._prefix) if bundled else safetensors.File(self._prefix + DATA)
        )
        self._strings = json.loads(self.metadata.get("strings", "{}"))

    metadata = property(lambda s: s._file.metadata)

    def has_tensor(self, tensor_str):
        return tensor_str in self._file.entries

    def get_variable_to_shape_map(self):
        return {k: list(self._strings.get(k, e[1])) for k, e in self._file.entries.items()}

    def get_variable_to_dtype_map(self):
        return {
            k: as_dtype("string" if k in self._strings else e[0].name)
            for k, e in self._file.entries.items()
        }

    def get_tensor(self, tensor_str):
        if isinstance(tensor_str, bytes):
            tensor_str = tensor_str.decode()
        if not self.has_tensor(tensor_str):
            raise errors.NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        value = self._file.get(tensor_str)
        if tensor_str in self._strings:
            value = _decode(value, self._strings[tensor_str])
        return value if value.ndim else value[()]

    def debug_string(self):
        types, sizes = self.get_variable_to_dtype_map(), self.get_variable_to_shape_map()
        return "".join(
            f"{k} (DT_{types[k].name.upper()}) {tuple(sizes[k])}\n" for k in sorted(types)
        ).encode()


@export(
    "train.load_checkpoint",
    v1=(
        "train.NewCheckpointReader",
        "train.load_checkpoint",
        "pywrap_tensorflow.NewCheckpointReader",
        "python.pywrap_tensorflow.NewCheckpointReader",
        "contrib.framework.load_checkpoint",
    ),
)
def load_checkpoint(ckpt_dir_or_file):
    """A reader of a checkpoint, or of the newest one of a folder."""
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        found = latest_checkpoint(path)
        if found is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = found
    return CheckpointReader(path)


@export("train.list_variables", v1=("train.list_variables", "contrib.framework.list_variables"))
def list_variables(ckpt_dir_or_file):
    """Names and shapes, sorted by name."""
    return sorted(
        (n, s) for n, s in load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items()
    )


@export("train.load_variable", v1=("train.load_variable", "contrib.framework.load_variable"))
def load_variable(ckpt_dir_or_file, name):
    """The array of a tensor."""
    if name.endswith(":0"):
        name = name[:-2]
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
