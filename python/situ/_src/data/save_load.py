# SPDX-License-Identifier: Apache-2.0
"""save_load.py: Dataset.save, load, snapshot, rebatch and ragged_batch."""

import json
import os

import numpy

from situ._src.checkpoint import safetensors
from situ._src.data.dataset import Dataset
from situ._src.data.readers import generated
from situ._src.data.structure import flatten
from situ._src.framework.api import export
from situ._src.framework.keywords import unsupported
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor


def _key(tensor):
    return int(convert_to_tensor(tensor).numpy())


def rebatch(self, batch_size, drop_remainder=False, name=None):
    """Changes the batch size."""
    return self.unbatch().batch(batch_size, drop_remainder)


def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
    """Writes all elements to one file in a directory, in situ's own format, which `load` reads.

    `compression`, `shard_func` and `checkpoint_args` are ignored."""
    os.makedirs(path, exist_ok=True)
    arrays, strings, count = {}, {}, 0
    for count, element in enumerate(self, 1):
        for i, part in enumerate(flatten(element)):
            value = numpy.asarray(part.numpy())
            if part.dtype.name == "string":
                strings[f"{count - 1}/{i}"] = [
                    [t.hex() for t in value.reshape(-1)],
                    list(value.shape),
                ]
            else:
                arrays[f"{count - 1}/{i}"] = value
    safetensors.write(
        os.path.join(path, "dataset.safetensors"),
        arrays,
        {
            "format": "situ dataset 1",
            "count": str(count),
            "texts": json.dumps(strings),
            "spec": json.dumps(_describe_spec(self.element_spec)),
        },
    )


def _describe_spec(spec):
    if isinstance(spec, dict):
        return {"dict": {k: _describe_spec(v) for k, v in spec.items()}}
    if isinstance(spec, (tuple, list)):
        return {"tuple": [_describe_spec(v) for v in spec]}
    return {
        "spec": [spec.shape.as_list() if spec.shape.rank is not None else None, spec.dtype.name]
    }


def _spec(described):
    if "dict" in described:
        return {k: _spec(v) for k, v in described["dict"].items()}
    if "tuple" in described:
        return tuple(_spec(v) for v in described["tuple"])
    return TensorSpec(*described["spec"])


@export("data.experimental.load")
def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
    """Creates a data set of the elements that `save` wrote; other arguments than `path` are
    ignored."""
    file = safetensors.File(os.path.join(os.fspath(path), "dataset.safetensors"))
    spec = _spec(json.loads(file.metadata["spec"]))
    strings, kinds = json.loads(file.metadata["texts"]), flatten(spec)

    def component(key, kind):
        if kind.dtype.name != "string":
            return convert_to_tensor(numpy.asarray(file.get(key)), kind.dtype)
        flat, shape = strings[key]
        result = numpy.empty(len(flat), object)
        result[:] = [bytes.fromhex(t) for t in flat]
        return convert_to_tensor(result.reshape(shape), "string")

    def elements():
        for n in range(int(file.metadata["count"])):
            yield tuple(component(f"{n}/{i}", kind) for i, kind in enumerate(kinds))

    return generated(elements, spec)


for _function in (rebatch, save):
    setattr(Dataset, _function.__name__, _function)
Dataset.load = staticmethod(load)


def _snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
    """Returns the data set itself: situ computes elements again instead of reading files."""
    unsupported("snapshot", reader_func=(reader_func, None))
    return self


Dataset.snapshot = _snapshot
export("data.experimental.save")(save)


@export("data.experimental.snapshot")
def snapshot(path, compression="AUTO", reader_func=None, shard_func=None):
    """Returns a transformation for Dataset.apply; see Dataset.snapshot."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


@export("data.experimental.dense_to_ragged_batch")
def dense_to_ragged_batch(batch_size, drop_remainder=False, row_splits_dtype="int64"):
    """Raises NotImplementedError."""
    raise NotImplementedError(
        "tf.data: situ does not support batches of ragged tensors. Use padded_batch and "
        "tf.RaggedTensor.from_tensor(batch, padding=0)."
    )


Dataset.ragged_batch = lambda self, *args, **words: dense_to_ragged_batch(*args, **words)
