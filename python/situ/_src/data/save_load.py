# SPDX-License-Identifier: Apache-2.0
"""save_load.py: Dataset.save, load, snapshot, rebatch and ragged_batch."""

from __future__ import annotations

import json
import os
import time
import zlib

import numpy

from situ._src.autograph.conversion import convert
from situ._src.checkpoint import safetensors
from situ._src.data import composite
from situ._src.data.dataset import DROP_REMAINDER, Dataset, number, static_value
from situ._src.data.readers import generated
from situ._src.framework import errors, expansion
from situ._src.framework.api import export
from situ._src.framework.keywords import unsupported
from situ._src.framework.nest import DATA, PARTS
from situ._src.framework.tensor import constant_value
from situ._src.framework.type_spec import SparseTensorSpec, TensorSpec
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable, DTypeLike

_FILE = "dataset.safetensors"


def rebatch(self, batch_size, drop_remainder=False, name=None):
    """Changes the batch size."""
    del name  # a name for debugging only
    sizes, rows = number(batch_size), None
    known = constant_value(sizes)
    if known is not None and numpy.ndim(known) > 1:
        raise ValueError(
            "Invalid `batch_sizes`. Expected `batch_sizes` to be a scalar or a vector. Received "
            f"`batch_sizes` of rank {numpy.ndim(known)}."
        )
    if known is not None and len(set(numpy.ravel(known).tolist())) == 1:
        rows = int(numpy.ravel(known)[0])
        if not drop_remainder and _may_be_partial(self.element_spec, rows):
            rows = None
    return self.unbatch()._batched(sizes, DROP_REMAINDER if drop_remainder else 0, rows)


def _may_be_partial(spec, size):
    """Returns whether the rows of a batch may not be a multiple of a size."""
    shapes = [s.shape for s in DATA.flatten(spec)]
    if any(shape.rank == 0 for shape in shapes):
        raise ValueError(
            "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with "
            "scalar elements. Fix the issue by adding the `batch` transformation to the dataset."
        )
    rows = {shape.as_list()[0] for shape in shapes if shape.rank} - {None}
    return not rows or size < 1 or any(count % size for count in rows)


def _is_compressed(compression):
    """Returns whether a file is compressed, by the name of a compression type."""
    if compression not in (None, "", "NONE", "AUTO", "GZIP", "SNAPPY"):
        raise ValueError(
            f"Invalid `compression` {compression!r}. Expected None, 'NONE', 'GZIP' or 'SNAPPY'."
        )
    return compression in ("GZIP", "SNAPPY")


def _deflated(data):
    return numpy.frombuffer(zlib.compress(data), "uint8")


def _inflated(array):
    return expansion.inflate(array.tobytes(), "An element of a saved dataset")


def _sharded(dataset, shard_func):
    """Returns a dataset of pairs (shard, element)."""
    if shard_func is None:
        return dataset.map(lambda *e: (convert_to_tensor(0, "int64"), e if len(e) > 1 else e[0]))
    shard_of = convert(shard_func)
    result = dataset.map(lambda *e: (shard_of(*e), e if len(e) > 1 else e[0]))
    if result.element_spec[0] != TensorSpec([], "int64"):
        raise errors.InvalidArgumentError(None, None, "`shard_func` must return a scalar int64.")
    return result


def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
    """Writes all elements to one file in a directory, in situ's own format, which `load` reads.

    Args:
      path: The directory.
      compression: "GZIP" or "SNAPPY" for a file that is compressed (with zlib); None or "NONE".
      shard_func: A function of an element that returns the index of its shard, an int64 scalar.
        `load` interleaves shards.
      checkpoint_args: Must be None.

    Raises:
      NotImplementedError: If there are `checkpoint_args`.
    """
    unsupported("tf.data.Dataset.save", checkpoint_args=(checkpoint_args, None))
    compressed, arrays, shapes, strings, shards = _is_compressed(compression), {}, {}, {}, []
    for count, (shard, element) in enumerate(_sharded(self, shard_func)):
        shards.append(int(shard.numpy()))
        for i, part in enumerate(PARTS.flatten(element)):
            value, key = numpy.asarray(part.numpy()), f"{count}/{i}"
            if part.dtype.name == "string":
                strings[key] = [[t.hex() for t in value.reshape(-1)], list(value.shape)]
            else:
                shapes[key] = list(value.shape)
                arrays[key] = _deflated(value.tobytes()) if compressed else value
    texts = json.dumps(strings)
    metadata = {
        "format": "situ dataset 1",
        "count": str(len(shards)),
        "spec": json.dumps(_describe_spec(self.element_spec)),
        "shards": json.dumps(shards),
    }
    if compressed:
        arrays["texts"] = _deflated(texts.encode())
        metadata.update(compression="zlib", shapes=json.dumps(shapes))
    else:
        metadata["texts"] = texts
    os.makedirs(path, exist_ok=True)
    safetensors.write(os.path.join(path, _FILE), arrays, metadata)


def _describe_spec(spec):
    if isinstance(spec, dict):
        return {"dict": {k: _describe_spec(v) for k, v in spec.items()}}
    if isinstance(spec, (tuple, list)):
        return {"tuple": [_describe_spec(v) for v in spec]}
    sizes = [spec.shape.as_list() if spec.shape.rank is not None else None, spec.dtype.name]
    if isinstance(spec, SparseTensorSpec):
        return {"sparse": sizes}
    if isinstance(spec, RaggedTensorSpec):
        return {"ragged": [*sizes, spec.ragged_rank, spec.row_splits_dtype.name]}
    return {"spec": sizes}


def _spec(described):
    if "dict" in described:
        return {k: _spec(v) for k, v in described["dict"].items()}
    if "tuple" in described:
        return tuple(_spec(v) for v in described["tuple"])
    if "sparse" in described:
        return SparseTensorSpec(*described["sparse"])
    if "ragged" in described:
        return RaggedTensorSpec(*described["ragged"])
    return TensorSpec(*described["spec"])


class _Saved:
    """The file of a dataset that `save` wrote."""

    def __init__(self, path, compression):
        with errors.convert_os_errors(path):
            self._file = safetensors.File(path)
        metadata = self._file.metadata
        self._compressed = "compression" in metadata
        if self._compressed and not _is_compressed(compression):
            raise errors.DataLossError(
                None, None, f"{path} is compressed; pass `compression` as it was passed to save."
            )
        with errors.convert_malformed(path):
            self._read(metadata)

    def _read(self, metadata):
        texts = _inflated(self._file.get("texts")) if self._compressed else metadata["texts"]
        self._strings, self._shapes = json.loads(texts), json.loads(metadata.get("shapes", "{}"))
        self.spec, self.count = _spec(json.loads(metadata["spec"])), int(metadata["count"])
        self.shards = [int(n) for n in json.loads(metadata.get("shards", "[]"))]
        self.shards = self.shards or [0] * self.count

    def component(self, key, dtype):
        """Returns a component of an element as a tensor."""
        if dtype.name == "string":
            flat, shape = self._strings[key]
            result = numpy.empty(len(flat), object)
            result[:] = [bytes.fromhex(t) for t in flat]
            return convert_to_tensor(result.reshape(shape), "string")
        value = self._file.get(key)
        if self._compressed:
            value = numpy.frombuffer(_inflated(value), dtype.as_numpy_dtype)
            value = value.reshape(self._shapes[key])
        return convert_to_tensor(numpy.asarray(value), dtype)

    def elements(self):
        """Yields the elements as tuples of components."""
        kinds = PARTS.flatten(self.spec)
        for n in range(self.count):
            with errors.convert_malformed(self._file.path):
                element = tuple(
                    self.component(f"{n}/{i}", kind.dtype) for i, kind in enumerate(kinds)
                )
            yield element


def _check_spec(given, saved):
    given, saved = DATA.flatten(given), DATA.flatten(saved)
    if len(given) != len(saved):
        raise errors.InvalidArgumentError(
            None, None, f"`element_spec` has {len(given)} components; {len(saved)} were saved."
        )
    for i, (a, b) in enumerate(zip(given, saved)):
        if a.dtype != b.dtype:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Data type mismatch at component {i}: expected {a.dtype.name} but got "
                f"{b.dtype.name}.",
            )
        if not a.shape.is_compatible_with(b.shape):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Incompatible shapes at component {i}: expected {a.shape} but got {b.shape}.",
            )


@export("data.experimental.load")
def load(
    path: str,
    element_spec: Any = None,
    compression: int | None = None,
    reader_func: Callable | None = None,
    wait: bool = False,
) -> Any:
    """Creates a dataset of the elements that `save` wrote.

    Args:
      path: The directory.
      element_spec: The structure and types of the elements; by default as saved.
      compression: The compression that `save` was called with.
      reader_func: A function of a dataset of shards, each a dataset, that returns the result. By
        default shards are interleaved.
      wait: Whether to wait until the file exists.

    Raises:
      NotFoundError: If there is no such file.
      InvalidArgumentError: If `element_spec` does not match what was saved.
      DataLossError: If the file is damaged, or compressed and `compression` does not say so.
    """
    path = os.path.join(os.fspath(path), _FILE)
    while wait and not os.path.exists(path):
        time.sleep(0.1)
    saved = _Saved(path, compression)
    if element_spec is not None:
        _check_spec(element_spec, saved.spec)
    whole = generated(saved.elements, saved.spec if element_spec is None else element_spec)
    indices = sorted(set(saved.shards), key=lambda s: s % 2**64)
    if reader_func is None and len(indices) <= 1:
        return whole
    numbered = Dataset.zip((Dataset.from_tensor_slices(numpy.array(saved.shards, "int64")), whole))

    def shard(index):
        return numbered.filter(lambda s, _: s == index).map(lambda _, element: element)

    shards = Dataset.from_tensor_slices(numpy.array(indices, "int64")).map(shard)
    return (reader_func or _interleaved(len(indices)))(shards)


def _interleaved(count):
    return lambda shards: shards.interleave(lambda shard: shard, count, 1)


for _function in (rebatch, save):
    setattr(Dataset, _function.__name__, _function)
Dataset.load = staticmethod(load)


def _snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
    """Writes the elements to a file in a directory in the first iteration; later iterations, also
    of other processes, read it.

    Args:
      path: The directory, which is created.
      compression: "AUTO", "GZIP", "SNAPPY" or None; files are not compressed.
      reader_func: A function of a dataset of shards, each a dataset, that returns the result.
      shard_func: A function of an element that returns the index of its shard, an int64 scalar.
      name: Ignored.

    Returns:
      A dataset.
    """
    del name  # a name for debugging only
    _is_compressed(compression)
    os.makedirs(path, exist_ok=True)
    file = os.path.join(os.fspath(path), "snapshot")
    if reader_func is None and shard_func is None:
        return self.cache(file)
    pairs = _sharded(self, shard_func).cache(file)
    # All shards are known after one iteration, which also completes the file.
    shards = pairs.map(lambda shard, _: shard).unique().batch(2**31 - 1).unbatch()

    def elements(shard):
        return pairs.filter(lambda s, _: s == shard).map(lambda _, element: element)

    return (reader_func or (lambda sets: sets.flat_map(lambda one: one)))(shards.map(elements))


Dataset.snapshot = _snapshot


@export("data.experimental.save")
def _save(
    dataset: Any,
    path: str,
    compression: int | None = None,
    shard_func: Callable | None = None,
    checkpoint_args: Any = None,
) -> None:
    """Writes the elements of a dataset; see Dataset.save.

    Args:
      dataset: The dataset.
      path: The directory.
      compression: "GZIP" or "SNAPPY" for a file that is compressed (with zlib); None or "NONE".
      shard_func: A function of an element that returns the index of its shard, an int64 scalar.
        `load` interleaves shards.
      checkpoint_args: Must be None.
    """
    dataset.save(path, compression, shard_func, checkpoint_args)


@export("data.experimental.snapshot")
def snapshot(
    path: str,
    compression: str = "AUTO",
    reader_func: Callable | None = None,
    shard_func: Callable | None = None,
) -> Any:
    """Returns a transformation for Dataset.apply; see Dataset.snapshot.

    Args:
      path: The directory.
      compression: "GZIP" or "SNAPPY" for a file that is compressed (with zlib); None or "NONE".
      reader_func: A function of a dataset of shards, each a dataset, that returns the result. By
        default shards are interleaved.
      shard_func: A function of an element that returns the index of its shard, an int64 scalar.
        `load` interleaves shards.
    """
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype="int64", name=None):
    """Combines consecutive elements of different sizes into ragged tensors.

    Args:
      batch_size: The number of elements of a batch.
      drop_remainder: Whether the last batch is dropped if it is smaller.
      row_splits_dtype: The type of the row splits, int32 or int64.
      name: Ignored.

    Returns:
      A dataset. Components whose shape is known are dense, the others ragged.
    """
    del name  # a name for debugging only
    size = number(batch_size)
    rows = static_value(size) if drop_remainder is True else None
    spec = DATA.map(lambda s: composite.dense_to_ragged(s, row_splits_dtype), self.element_spec)
    return composite.batch(self, size, rows, DROP_REMAINDER if drop_remainder else 0, spec)


Dataset.ragged_batch = ragged_batch


def sparse_batch(self, batch_size, row_shape, name=None):
    """Combines consecutive dense elements of different sizes into sparse tensors.

    Args:
      batch_size: The number of elements of a batch.
      row_shape: The dense shape of a row; dimensions that are None are as large as necessary.
      name: Ignored.

    Returns:
      A dataset of SparseTensors.

    Raises:
      TypeError: elements have several components.
    """
    del name  # a name for debugging only
    if not isinstance(self.element_spec, TensorSpec):
        raise TypeError(
            "`dense_to_sparse_batch` requires an input dataset whose elements have a single "
            "component, but the given dataset has the following component types: "
            f"{self.output_types}."
        )
    return self.map(lambda value: composite.dense_to_sparse(value, row_shape)).batch(batch_size)


Dataset.sparse_batch = sparse_batch


@export("data.experimental.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: int | None, row_shape: Any) -> Any:
    """Returns a transformation for Dataset.apply; see Dataset.sparse_batch.

    Args:
      batch_size: The number of elements of a batch.
      row_shape: The dense shape of a row; dimensions that are None are as large as necessary.
    """
    return lambda dataset: dataset.sparse_batch(batch_size, row_shape)


@export("data.experimental.dense_to_ragged_batch")
def dense_to_ragged_batch(
    batch_size: int | None, drop_remainder: bool = False, row_splits_dtype: DTypeLike = "int64"
) -> Any:
    """Returns a transformation for Dataset.apply; see Dataset.ragged_batch.

    Args:
      batch_size: The number of elements of a batch.
      drop_remainder: Whether the last batch is dropped if it is smaller.
      row_splits_dtype: The type of the row splits, int32 or int64.
    """
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)
