# SPDX-License-Identifier: Apache-2.0
"""csv.py: make_csv_dataset, make_batched_features_dataset and TFRecordWriter of
tf.data.experimental."""

from __future__ import annotations

import collections
import csv
import gzip
import io
import os

import numpy

from situ._src.data.dataset import Dataset
from situ._src.data.readers import TFRecordDataset
from situ._src.framework import expansion
from situ._src.framework.api import BOTH, export
from situ._src.framework.dtypes import as_dtype
from situ._src.ops import tf_record
from situ._src.ops.gfile import glob
from situ._src.ops.parsing_ops import parse_example

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("data.experimental.TFRecordWriter")
class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file."""

    def __init__(self, filename: str, compression_type: Any = None):
        self._filename, self._kind = filename, compression_type

    def write(self, dataset: Any) -> None:
        """Writes all elements."""
        name = self._filename
        name = name.numpy().decode() if hasattr(name, "numpy") else os.fspath(name)
        with tf_record.TFRecordWriter(name, self._kind) as writer:
            for element in dataset:
                writer.write(element.numpy())


@export(
    "data.experimental.make_batched_features_dataset", "contrib.data.make_batched_features_dataset"
)
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int | None,
    features: Any,
    reader: Any = None,
    label_key: Any = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: Any = None,
    parser_num_threads: Any = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Any:
    """Creates a dataset of batches of parsed tf.Example records: a dictionary of features, or a
    pair with the label. The order is deterministic, also if `sloppy_ordering`.

    Args:
      file_pattern: A glob pattern, or a list of them.
      batch_size: Batch size.
      features: Dictionary from keys to the features of tf.io.parse_example.
      reader: Class of datasets to read files with.
      label_key: Key of the labels; they are removed from the features.
      reader_args: Further arguments of the reader.
      num_epochs: Number of epochs; None: endless.
      shuffle: Whether to shuffle the elements.
      shuffle_buffer_size: Size of the buffer for shuffling.
      shuffle_seed: Seed of the order.
      prefetch_buffer_size: Number of batches to prefetch.
      reader_num_threads: Number of files to read at a time.
      parser_num_threads: Number of threads that parse.
      sloppy_ordering: Has no effect: the order is deterministic.
      drop_final_batch: Whether to drop a last batch that is smaller.
    """
    del sloppy_ordering  # the order is always deterministic
    read = reader or TFRecordDataset
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"`label_key` {label_key!r} must be one of the `features` keys: {list(features)}."
        )
    result = Dataset.list_files(file_pattern, shuffle, shuffle_seed).interleave(
        lambda name: read(name, *(reader_args or [])),
        reader_num_threads or 1,
        1,
        reader_num_threads,
    )
    if isinstance(result.element_spec, tuple):
        result = result.map(lambda _, record: record)
    if shuffle:
        result = result.shuffle(shuffle_buffer_size, shuffle_seed)
    result = result.repeat(num_epochs) if num_epochs != 1 else result
    result = result.batch(batch_size, drop_final_batch or num_epochs is None)

    def parsed(records):
        parsed_features = parse_example(records, features)
        return (
            parsed_features
            if label_key is None
            else (parsed_features, parsed_features.pop(label_key))
        )

    return result.map(parsed, parser_num_threads).prefetch(prefetch_buffer_size or 1)


def _infer_default(values):
    """Returns the default of a column, inferred from its values."""
    for cast_, default in ((int, 0), (float, 0.0)):
        try:
            numbers = [cast_(v) for v in values if v != ""]
        except ValueError:
            continue
        if cast_ is int and any(not -(2**31) <= v < 2**31 for v in numbers):
            return numpy.int64(0)
        return default
    return ""


def _open_text(name, encoding, compression_type):
    """Opens a text file, which may be compressed."""
    if compression_type == "GZIP":
        return gzip.open(name, "rt", encoding=encoding, newline="")
    if compression_type == "ZLIB":
        return io.TextIOWrapper(expansion.InflatedFile(name), encoding=encoding, newline="")
    return open(name, encoding=encoding, newline="")


@export("data.experimental.make_csv_dataset")
def make_csv_dataset(
    file_pattern: Any,
    batch_size: int | None,
    column_names: Any = None,
    column_defaults: Any = None,
    label_name: Any = None,
    select_columns: Any = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Any:
    """Creates a dataset of batches of the columns of CSV files: a dictionary of vectors, or a pair
    with the label. Rows of `num_parallel_reads` files are interleaved, 1 by default; their order is
    deterministic, also if `sloppy`.

    Args:
      file_pattern: A glob pattern, or a list of them.
      batch_size: Batch size.
      column_names: Names of the columns; default: the first line.
      column_defaults: Type or default value of each column; default: inferred from the first rows.
      label_name: Column of the labels.
      select_columns: Names or indices of the columns to read; default: all.
      field_delim: Separator of fields.
      use_quote_delim: Whether double quotes quote fields.
      na_value: String that stands for a missing field, beside the empty one.
      header: Whether the first line of each file has the names.
      num_epochs: Number of epochs; None: endless.
      shuffle: Whether to shuffle the elements.
      shuffle_buffer_size: Size of the buffer for shuffling.
      shuffle_seed: Seed of the order.
      prefetch_buffer_size: Number of batches to prefetch.
      num_parallel_reads: Number of files to read at a time.
      sloppy: Has no effect: the order is deterministic.
      num_rows_for_inference: Number of rows to infer types from.
      compression_type: "", "GZIP" or "ZLIB".
      ignore_errors: Whether to skip rows that cannot be parsed.
      encoding: The encoding of bytes.
    """
    del sloppy  # the order is always deterministic

    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    files = sorted(f for p in patterns for f in (glob(p) or [p]))
    quote: Any = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    with _open_text(files[0], encoding, compression_type) as file:
        lines = csv.reader(file, delimiter=field_delim, quoting=quote)
        first = next(lines, None)
        if first is None:
            raise ValueError(f"{files[0]} has no line.")
        sample = [r for r, _ in zip(lines, range(num_rows_for_inference or 10**9))]
    if not header:
        sample.insert(0, first)
    names = list(column_names) if column_names is not None else first
    selected = (
        list(range(len(names)))
        if select_columns is None
        else sorted(names.index(c) if isinstance(c, str) else c for c in select_columns)
    )
    if label_name is not None and label_name not in [names[i] for i in selected]:
        raise ValueError("`label_name` provided must be one of the columns.")
    if column_defaults is None:
        column_defaults = [
            _infer_default([r[i] if r[i] != na_value else "" for r in sample if i < len(r)])
            for i in selected
        ]

    def read(name):
        rows = BOTH["data.experimental.CsvDataset"](
            name,
            [_default(d) for d in column_defaults],
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=selected,
            compression_type=compression_type,
        )
        return rows.ignore_errors() if ignore_errors else rows

    result = Dataset.from_tensor_slices(files)
    if shuffle:
        result = result.shuffle(len(files), shuffle_seed)
    result = result.interleave(read, num_parallel_reads or 1, 1, num_parallel_reads)
    if shuffle:
        result = result.shuffle(shuffle_buffer_size, shuffle_seed)
    result = result.repeat(num_epochs) if num_epochs != 1 else result
    result = result.batch(batch_size, drop_remainder=num_epochs is None)

    def named(*columns):
        features = collections.OrderedDict(zip([names[i] for i in selected], columns))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    return result.map(named).prefetch(prefetch_buffer_size or 1)


def _default(value):
    """Returns the default value of a column; a type stands for its zero."""
    if hasattr(value, "as_numpy_dtype") or isinstance(value, type):
        kind = as_dtype(value)
        return "" if kind.name == "string" else numpy.zeros([], kind.as_numpy_dtype)
    return (
        value
        if isinstance(value, str)
        else numpy.asarray(value, {int: "int32", float: "float32"}.get(type(value)))
    )
