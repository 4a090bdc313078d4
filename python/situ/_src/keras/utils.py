# SPDX-License-Identifier: Apache-2.0
"""utils.py: tf.keras.utils: to_categorical, pad_sequences, get_file."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from typing import Any

import numpy

from situ._src.framework.api import export
from situ._src.framework.keywords import unsupported
from situ._src.keras.registry import keras_export
from situ._src.ops import random_ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike


@keras_export("utils.normalize")
def normalize(x: Any, axis: Any = -1, order: int = 2) -> Any:
    """Scales an array to norm 1 along an axis.

    Args:
      x: Array.
      axis: The axis.
      order: Order of the norm.
    """
    length = numpy.atleast_1d(numpy.linalg.norm(x, order, axis))
    length[length == 0] = 1
    return x / numpy.expand_dims(length, axis)


@keras_export("utils.set_random_seed")
def set_random_seed(seed: int) -> None:
    """Seeds the random numbers of Python, NumPy and situ, and the initial weights of layers.

    Args:
      seed: The seed, an integer.
    """
    random.seed(seed)
    numpy.random.seed(seed)
    random_ops.set_seed(seed)
    random_ops.draw_weight_seeds()


@export("keras.utils.get_file", "python.keras.utils.get_file", v1="contrib.keras.utils.get_file")
def get_file(
    fname: Any = None,
    origin: Any = None,
    untar: bool = False,
    md5_hash: Any = None,
    file_hash: Any = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str = "auto",
    cache_dir: str | None = None,
    force_download: bool = False,
) -> Any:
    """Returns the path of an existing file, or of the extracted archive: situ does not download.
    A file with another hash than the given one is an error.

    Args:
      fname: Name of the file, or its path.
      origin: Address, whose last part is the name if there is no fname.
      untar: Whether to extract an archive; old name of extract.
      md5_hash: MD5 checksum; old name of file_hash.
      file_hash: Checksum to verify.
      cache_subdir: Folder below the cache folder.
      hash_algorithm: "md5", "sha256" or "auto".
      extract: Whether to extract an archive.
      archive_format: "tar", "zip" or "auto".
      cache_dir: Cache folder; default: ~/.keras.
      force_download: Must be False.
    """
    unsupported("get_file", force_download=(force_download, False))
    home = cache_dir or os.environ.get("KERAS_HOME", os.path.expanduser("~/.keras"))
    name = fname or os.path.basename(origin or "")
    path = name if os.path.isabs(name) else os.path.join(home, cache_subdir, name)
    folder = path.partition(".tar")[0] if untar else path
    if untar and os.path.isdir(folder):
        return folder
    if untar and not os.path.exists(path):
        path += ".tar.gz"
    _check_file(
        path, origin, file_hash or md5_hash, hash_algorithm if file_hash is not None else "md5"
    )
    if extract or untar:
        shutil.unpack_archive(
            path,
            os.path.dirname(path),
            {"auto": None, "tar": None}.get(archive_format, archive_format),
        )
    return folder


def _check_file(path, origin, expected, algorithm):
    """Raises an error if a file does not exist or its hash differs."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"tf.keras.utils.get_file: situ does not download {origin}: put it to {path}"
        )
    if expected is None:
        return
    if algorithm not in ("md5", "sha256"):
        algorithm = "sha256" if len(expected) == 64 else "md5"
    with open(path, "rb") as file:
        result = hashlib.new(algorithm, file.read()).hexdigest()
    if result != str(expected):
        raise ValueError(
            f"Incomplete or corrupted file detected. The {algorithm} file hash does "
            f"not match the provided value of {expected}: {path} has {result}."
        )


@keras_export("preprocessing.sequence.pad_sequences", "utils.pad_sequences")
def pad_sequences(
    sequences: Any,
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: Any = "pre",
    truncating: str = "pre",
    value: TensorLike = 0.0,
) -> numpy.ndarray:
    """Pads lists of different lengths to one array.

    Args:
      sequences: List of lists.
      maxlen: Length of the result; default: that of the longest list.
      dtype: Type of the result.
      padding: "pre" or "post": where to pad.
      truncating: "pre" or "post": where to cut lists that are too long.
      value: Padding value.

    Returns:
      NumPy array of shape `(len(sequences), maxlen, ...)`.

    Raises:
      ValueError: If padding or truncating is something else.
    """
    for what, given in (("Truncating", truncating), ("Padding", padding)):
        if given not in ("pre", "post"):
            raise ValueError(f'{what} type "{given}" not understood')
    rows = list(sequences)
    maxlen = max((len(r) for r in rows), default=0) if maxlen is None else maxlen
    inner = next((numpy.asarray(r).shape[1:] for r in rows if len(r)), ())
    result = numpy.full((len(rows), maxlen, *inner), value, dtype=dtype)
    for i, row in enumerate(rows):
        if not len(row):
            continue
        cut = numpy.asarray(row[-maxlen:] if truncating == "pre" else row[:maxlen], dtype=dtype)
        if padding == "post":
            result[i, : len(cut)] = cut
        else:
            result[i, -len(cut) :] = cut
    return result


@export("keras.utils.to_categorical")
def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> numpy.ndarray:
    """Converts class ids to one-hot vectors.

    Args:
      y: Array of class ids.
      num_classes: Number of classes; default: the largest id + 1.
      dtype: Type of the result.

    Returns:
      NumPy array of shape `(..., num_classes)`.
    """
    y = numpy.asarray(y, dtype="int64")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    flat = y.ravel()
    count = num_classes or int(flat.max()) + 1
    rows = numpy.zeros((flat.size, count), dtype=dtype)
    rows[numpy.arange(flat.size), flat] = 1
    return rows.reshape(*shape, count)
