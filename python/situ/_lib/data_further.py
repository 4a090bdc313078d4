# SPDX-License-Identifier: Apache-2.0
"""data_further.py: data sets that are grouped, bucketed, kept in files, made of CSV files; and
files written from data sets."""
import collections
import csv
import json
import os

import numpy

from situ._lib import records, safetensors
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor
from situ._lib.data import Dataset
from situ._lib.data_sources import generated
from situ._lib.data_trace import flatten, map_leaves
from situ._lib.specs import TensorSpec
from situ._lib.gfile import glob


def _key(tensor):
    return int(convert_to_tensor(tensor).numpy())


def group_by_window(self, key_func, reduce_func, window_size=None, window_size_func=None,
                    name=None):
    """Elements with one key, as many as a window holds, as what a function makes of them."""
    size_of = window_size_func or (lambda key: window_size)
    spec = self.element_spec

    def reduced(key, window):
        parts = [list(column) for column in zip(*[flatten(e) for e in window])]
        rows = generated(lambda: iter([tuple(r) for r in zip(*parts)]), spec)
        return reduce_func(convert_to_tensor(key, "int64"), rows)

    def rows():
        waiting = {}
        for element in self:
            given = element if isinstance(element, tuple) else (element,)
            key = _key(key_func(*given))
            waiting.setdefault(key, []).append(element)
            if len(waiting[key]) >= int(size_of(convert_to_tensor(key, "int64"))):
                for made in reduced(key, waiting.pop(key)):
                    yield tuple(flatten(made))
        for key, window in waiting.items():
            for made in reduced(key, window):
                yield tuple(flatten(made))
    empty = generated(lambda: iter(()), spec)
    return generated(rows, reduce_func(convert_to_tensor(0, "int64"), empty).element_spec)


def bucket_by_sequence_length(self, element_length_func, bucket_boundaries, bucket_batch_sizes,
                              padded_shapes=None, padding_values=None, pad_to_bucket_boundary=False,
                              no_padding=False, drop_remainder=False, name=None):
    """Batches of elements of similar lengths."""
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1 but "
                         f"`len(bucket_batch_sizes)={len(bucket_batch_sizes)}` and "
                         f"`len(bucket_boundaries)={len(bucket_boundaries)}`.")
    bounds = numpy.asarray(bucket_boundaries)

    def bucket(*given):
        return numpy.searchsorted(bounds, _key(element_length_func(*given)), side="right")

    def batch(key, window):
        size = bucket_batch_sizes[_key(key)]
        if no_padding:
            return window.batch(size, drop_remainder)
        shapes = padded_shapes
        if pad_to_bucket_boundary and shapes is None:
            most = int(bounds[_key(key)]) - 1
            shapes = map_leaves(lambda s: [most if n is None else n for n in s.shape.as_list()],
                                window.element_spec)
        return window.padded_batch(size, shapes, padding_values, drop_remainder)
    return group_by_window(self, bucket, batch,
                           window_size_func=lambda key: bucket_batch_sizes[_key(key)])


def unique(self, name=None):
    """Each element once."""
    def rows():
        seen = set()
        for element in self:
            key = tuple((str(t.dtype), t.numpy().tobytes() if t.dtype.name != "string" else
                         repr(t.numpy())) for t in flatten(element))
            if key not in seen:
                seen.add(key)
                yield tuple(flatten(element))
    return generated(rows, self.element_spec)


def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
    """Elements with their class, dropped by chance so that classes are there as often as wanted."""
    target = numpy.asarray(convert_to_tensor(target_dist).numpy(), "float64")
    chance = numpy.random.RandomState(seed)

    def rows():
        counts = numpy.ones(len(target)) if initial_dist is None else \
            numpy.asarray(initial_dist, "float64") * 1e9
        for element in self:
            given = element if isinstance(element, tuple) else (element,)
            kind = convert_to_tensor(class_func(*given))
            counts[_key(kind)] += initial_dist is None
            share = target / numpy.maximum(counts / counts.sum(), 1e-9)
            if chance.rand() < share[_key(kind)] / share.max():
                yield (kind, *flatten(element))
    first = next(iter(self))
    kind = convert_to_tensor(class_func(*(first if isinstance(first, tuple) else (first,))))
    return generated(rows, (TensorSpec([], kind.dtype), self.element_spec))


def rebatch(self, batch_size, drop_remainder=False, name=None):
    """Batches of another size."""
    return self.unbatch().batch(batch_size, drop_remainder)


# Kept in files


def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
    """Writes all elements into a folder, in situ's own format; load reads them."""
    os.makedirs(path, exist_ok=True)
    arrays, texts, count = {}, {}, 0
    for count, element in enumerate(self, 1):
        for i, part in enumerate(flatten(element)):
            value = numpy.asarray(part.numpy())
            if part.dtype.name == "string":
                texts[f"{count - 1}/{i}"] = [[t.hex() for t in value.reshape(-1)],
                                             list(value.shape)]
            else:
                arrays[f"{count - 1}/{i}"] = value
    safetensors.write(os.path.join(path, "dataset.safetensors"), arrays, {
        "format": "situ dataset 1", "count": str(count), "texts": json.dumps(texts),
        "spec": json.dumps(_described(self.element_spec))})


def _described(spec):
    if isinstance(spec, dict):
        return {"dict": {k: _described(v) for k, v in spec.items()}}
    if isinstance(spec, (tuple, list)):
        return {"tuple": [_described(v) for v in spec]}
    return {"spec": [spec.shape.as_list() if spec.shape.rank is not None else None,
                     spec.dtype.name]}


def _spec(described):
    if "dict" in described:
        return {k: _spec(v) for k, v in described["dict"].items()}
    if "tuple" in described:
        return tuple(_spec(v) for v in described["tuple"])
    return TensorSpec(*described["spec"])


@export("data.experimental.load")
def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
    """The data set that save wrote."""
    file = safetensors.File(os.path.join(os.fspath(path), "dataset.safetensors"))
    spec = _spec(json.loads(file.metadata["spec"]))
    texts, kinds = json.loads(file.metadata["texts"]), flatten(spec)

    def part(key, kind):
        if kind.dtype.name != "string":
            return convert_to_tensor(numpy.asarray(file.get(key)), kind.dtype)
        flat, shape = texts[key]
        made = numpy.empty(len(flat), object)
        made[:] = [bytes.fromhex(t) for t in flat]
        return convert_to_tensor(made.reshape(shape), "string")

    def rows():
        for n in range(int(file.metadata["count"])):
            yield tuple(part(f"{n}/{i}", kind) for i, kind in enumerate(kinds))
    return generated(rows, spec)


for _function in (group_by_window, bucket_by_sequence_length, unique, rejection_resample, rebatch,
                  save):
    setattr(Dataset, _function.__name__, _function)
Dataset.load = staticmethod(load)
Dataset.snapshot = lambda self, path, *args, **words: self
export("data.experimental.save")(save)


def _transformation(function):
    """tf.data.experimental.NAME(...): a function for dataset.apply."""
    @export("data.experimental." + function.__name__)
    def make(*args, **words):
        return lambda dataset: function(dataset, *args, **words)
    make.__name__, make.__doc__ = function.__name__, function.__doc__


for _function in (group_by_window, bucket_by_sequence_length, unique, rejection_resample):
    _transformation(_function)
export("data.experimental.snapshot")(lambda path, *args, **words: lambda dataset: dataset)


@export("data.experimental.TFRecordWriter")
class TFRecordWriter:
    """Writes a data set of texts into a file of records."""

    def __init__(self, filename, compression_type=None):
        self._filename, self._kind = filename, compression_type

    def write(self, dataset):
        name = self._filename
        name = name.numpy().decode() if hasattr(name, "numpy") else os.fspath(name)
        with records.TFRecordWriter(name, self._kind) as writer:
            for element in dataset:
                writer.write(element.numpy())


# CSV


def _kind_of(values):
    """The default of a column, by what stands in it."""
    for cast_, default in ((int, 0), (float, 0.0)):
        try:
            whole = [cast_(v) for v in values if v != ""]
        except ValueError:
            continue
        if cast_ is int and any(not -2 ** 31 <= v < 2 ** 31 for v in whole):
            return numpy.int64(0)
        return default
    return ""


@export("data.experimental.make_csv_dataset")
def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None,
                     label_name=None, select_columns=None, field_delim=",", use_quote_delim=True,
                     na_value="", header=True, num_epochs=None, shuffle=True,
                     shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None,
                     num_parallel_reads=None, sloppy=False, num_rows_for_inference=100,
                     compression_type=None, ignore_errors=False, encoding="utf-8"):
    """Batches of the columns of CSV files: a dict of vectors, and the label where one is named."""
    from situ._lib.api import BOTH
    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    files = sorted({f for p in patterns for f in (glob(p) or [p])})
    quote = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    with open(files[0], encoding=encoding, newline="") as file:
        lines = csv.reader(file, delimiter=field_delim, quoting=quote)
        first = next(lines)
        sample = [r for r, _ in zip(lines, range(num_rows_for_inference or 10 ** 9))]
    if not header:
        sample.insert(0, first)
    names = list(column_names) if column_names is not None else first
    chosen = list(range(len(names))) if select_columns is None else sorted(
        names.index(c) if isinstance(c, str) else c for c in select_columns)
    if label_name is not None and label_name not in [names[i] for i in chosen]:
        raise ValueError("`label_name` provided must be one of the columns.")
    if column_defaults is None:
        column_defaults = [_kind_of([r[i] if r[i] != na_value else "" for r in sample
                                     if i < len(r)]) for i in chosen]
    made = BOTH["data.experimental.CsvDataset"](
        files, [_default(d) for d in column_defaults], header=header, field_delim=field_delim,
        use_quote_delim=use_quote_delim, na_value=na_value, select_cols=chosen,
        compression_type=compression_type)
    if shuffle:
        made = made.shuffle(shuffle_buffer_size, shuffle_seed)
    made = made.repeat(num_epochs) if num_epochs != 1 else made
    made = made.batch(batch_size, drop_remainder=num_epochs is None)

    def named(*columns):
        found = collections.OrderedDict(zip([names[i] for i in chosen], columns))
        if label_name is None:
            return found
        label = found.pop(label_name)
        return found, label
    return made.map(named).prefetch(prefetch_buffer_size or 1)


def _default(value):
    """A value that stands where a column has none; a type as such says the column must have one."""
    if hasattr(value, "as_numpy_dtype") or isinstance(value, type):
        from situ._lib.dtypes import as_dtype
        kind = as_dtype(value)
        return "" if kind.name == "string" else numpy.zeros([], kind.as_numpy_dtype)
    return value if isinstance(value, str) else numpy.asarray(
        value, {int: "int32", float: "float32"}.get(type(value)))


@export("data.experimental.dense_to_ragged_batch")
def dense_to_ragged_batch(batch_size, drop_remainder=False, row_splits_dtype="int64"):
    raise NotImplementedError("tf.data: situ has no batches of ragged tensors. padded_batch fills "
                              "rows up, and tf.RaggedTensor.from_tensor(batch, padding=0) cuts "
                              "them again.")


Dataset.ragged_batch = lambda self, *args, **words: dense_to_ragged_batch(*args, **words)
