# SPDX-License-Identifier: Apache-2.0
"""reader.py: writes and reads the files of a checkpoint: tf.train.load_checkpoint, list_variables
and load_variable."""

from __future__ import annotations

import json
import os

import numpy

import _situ
from situ._src.checkpoint import safetensors, tensor_bundle
from situ._src.checkpoint.state import DATA, checkpoint_exists, latest_checkpoint
from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.message_classes import enum_type
from situ._src.ops.gfile import local_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_DataType = enum_type("tensorflow.DataType")


def write(prefix, arrays, metadata=None, single_file=False):
    """Writes a checkpoint: the data file first, then the index, a readable list of its tensors; or
    a single file."""
    if single_file:
        safetensors.write(prefix, arrays, metadata)
        return
    _situ.write_checkpoint(prefix, safetensors.entries(arrays), metadata or {})


def _decode(data, shape):
    """Decodes an array of strings.

    Raises:
      DataLossError: the data is damaged.
    """
    count = int(numpy.prod(shape, dtype=numpy.int64))
    raw = data.tobytes()
    lengths = numpy.frombuffer(raw[: 8 * count], "<i8")
    if len(lengths) != count or (lengths < 0).any() or 8 * count + lengths.sum() != len(raw):
        raise errors.DataLossError(None, None, "A tensor of strings in a checkpoint is damaged.")
    ends = 8 * count + numpy.cumsum(lengths)
    strings = numpy.empty(count, object)
    strings[:] = [raw[end - n : end] for end, n in zip(ends.tolist(), lengths.tolist())]
    return strings.reshape(shape)


def _proto_name(dtype):
    """Returns the name of a type in protocol messages: "DT_FLOAT"."""
    return _DataType.Name(dtype.as_datatype_enum)


class CheckpointReader:
    """Reads tensors of a checkpoint by name.

    Args:
      prefix: the prefix of the files.

    Raises:
      NotFoundError: there is no such checkpoint.
    """

    def __init__(self, prefix):
        self._prefix = local_path(prefix)
        if not checkpoint_exists(self._prefix):
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: "
                f"Failed to find any matching files for {self._prefix}",
            )
        bundled = tensor_bundle.is_bundle(self._prefix)
        self._file = (
            tensor_bundle.File(self._prefix)
            if bundled
            else safetensors.File(
                self._prefix + DATA if os.path.exists(self._prefix + DATA) else self._prefix
            )
        )
        self._strings = json.loads(self.metadata.get("strings", "{}"))

    metadata = property(lambda s: s._file.metadata)

    def has_tensor(self, tensor_str: str) -> bool:
        """Returns whether the checkpoint has a tensor."""
        return tensor_str in self._file.entries

    def get_variable_to_shape_map(self) -> dict:
        """Returns the shapes of all tensors by name."""
        return {k: list(self._strings.get(k, e[1])) for k, e in self._file.entries.items()}

    def get_variable_to_dtype_map(self) -> dict:
        """Returns the types of all tensors by name."""
        return {
            k: as_dtype("string" if k in self._strings else e[0].name)
            for k, e in self._file.entries.items()
        }

    def get_tensor(self, tensor_str):
        """Returns a tensor as a NumPy array, a scalar as a NumPy scalar.

        Args:
          tensor_str: the name.

        Raises:
          NotFoundError: there is no such tensor.
          DataLossError: the file is damaged.
        """
        if isinstance(tensor_str, bytes):
            tensor_str = tensor_str.decode()
        if not self.has_tensor(tensor_str):
            raise errors.NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        value = self._file.get(tensor_str)
        if tensor_str in self._strings:
            value = _decode(value, self._strings[tensor_str])
        return value if value.ndim else value[()]

    def debug_string(self) -> bytes:
        """Returns a list of the tensors, one line each."""
        types, sizes = self.get_variable_to_dtype_map(), self.get_variable_to_shape_map()
        return "".join(
            f"{k} ({_proto_name(types[k])}) [{','.join(map(str, sizes[k]))}]\n"
            for k in sorted(types)
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
def load_checkpoint(ckpt_dir_or_file: str) -> CheckpointReader:
    """Opens a checkpoint.

    Args:
      ckpt_dir_or_file: a directory, whose latest checkpoint is opened, or a prefix.

    Returns:
      A CheckpointReader.

    Raises:
      NotFoundError: there is no checkpoint with the prefix.
      ValueError: the directory has no checkpoint.
    """
    path = local_path(ckpt_dir_or_file)
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(
                f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
            )
        path = latest
    return CheckpointReader(path)


@export("train.list_variables", v1=("train.list_variables", "contrib.framework.list_variables"))
def list_variables(ckpt_dir_or_file: str) -> list[tuple[str, list[int]]]:
    """Lists the tensors of a checkpoint.

    Args:
      ckpt_dir_or_file: a directory or a prefix.

    Returns:
      A list of (name, shape), sorted by name.
    """
    return sorted(
        (n, s) for n, s in load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items()
    )


@export("train.load_variable", v1=("train.load_variable", "contrib.framework.load_variable"))
def load_variable(ckpt_dir_or_file: str, name: str) -> Any:
    """Reads a tensor of a checkpoint.

    Args:
      ckpt_dir_or_file: a directory or a prefix.
      name: the name of the tensor, with or without ":0".

    Returns:
      A NumPy array, or a NumPy scalar.

    Raises:
      NotFoundError: there is no such tensor.
    """
    if name.endswith(":0"):
        name = name[:-2]
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)
