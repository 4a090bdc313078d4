# SPDX-License-Identifier: Apache-2.0
"""readers.py: datasets of files (text, TFRecord, fixed length, CSV) and of Python generators."""

import numpy

import _situ
from situ._src.data.dataset import Dataset, number
from situ._src.data.iterators import _spec
from situ._src.data.structure import DatasetSpec, component, spec_of, tensor
from situ._src.framework import errors
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.nest import DATA, PARTS
from situ._src.framework.tensor import EagerTensor, GraphTensor
from situ._src.framework.type_spec import TensorSpec, TypeSpec
from situ._src.ops import tf_record
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.gfile import glob


def generated(generator, spec):
    """Creates a dataset from a function that returns an iterator over tuples of tensors."""
    return Dataset(
        "Generator", (), (), spec, n_components=len(PARTS.flatten(spec)), generator=generator
    )


def _host(value, spec):
    """Converts one component of an element and checks it against its spec."""
    if not isinstance(value, EagerTensor):
        try:
            value = (
                _situ.host(value, spec.dtype)
                if not isinstance(value, numpy.ndarray) or spec.dtype.name == "string"
                else _situ.host(value.astype(spec.dtype.as_numpy_dtype, copy=False))
            )
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that could not be converted to the "
                f"expected type. The expected type was {spec.dtype.name}, but the "
                f"yielded element was {value}."
            ) from None
    if value.dtype != spec.dtype:
        raise TypeError(
            f"`generator` yielded an element of type {value.dtype.name} where an "
            f"element of type {spec.dtype.name} was expected."
        )
    if not spec.shape.is_compatible_with(value.shape):
        raise TypeError(
            f"`generator` yielded an element of shape {value.shape} where an element "
            f"of shape {spec.shape} was expected."
        )
    return value


def _parts(value, spec):
    """Converts one component of an element to its tensors."""
    if not hasattr(spec, "_situ_tensors_"):
        return [_host(value, spec)]
    if isinstance(value, (list, tuple, numpy.ndarray)) and not hasattr(value, "_fields"):
        value = convert_to_tensor(value, spec.dtype)
    value = component(value)
    if not spec.is_compatible_with(value):
        raise TypeError(
            f"`generator` yielded an element of {spec_of(value)} where an element of {spec} was "
            "expected."
        )
    return [_host(v, s) for v, s in zip(PARTS.flatten(value), spec._situ_tensors_)]


def _like(structure, value):
    """Flattens a value in the structure of a spec; lists may stand for tuples."""
    try:
        return DATA.flatten_like(structure, value)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that did not match the expected structure. "
            f"The expected structure was {structure}, but the yielded element was "
            f"{value}."
        ) from None


def from_generator(generator, output_types, output_shapes, args, signature):
    """Implements Dataset.from_generator."""
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if signature is None and output_types is None:
        raise TypeError(
            "To specify the output signature you need to provide either the "
            "`output_signature` argument or the `output_types` argument."
        )
    if signature is not None and output_types is not None:
        raise TypeError(
            "The `output_types` argument can not be used together with the "
            "`output_signature` argument."
        )
    if signature is not None and output_shapes is not None:
        raise TypeError(
            "The `output_shapes` argument can not be used together with the `output_signature` "
            "argument."
        )
    for one in DATA.flatten(signature) if signature is not None else ():
        if not isinstance(one, (TypeSpec, DatasetSpec)):
            raise TypeError(
                "`output_signature` must contain objects that are subclass of `tf.TypeSpec` but "
                f"found {type(one)} which is not."
            )
    spec = signature if signature is not None else _spec(output_types, output_shapes)
    types = DATA.map(lambda s: s.dtype, spec)
    leaves = DATA.flatten(spec)
    values = [tensor(a) for a in (args or ())]

    def elements_of(*arguments):
        yield from generator(*arguments)

    def row_of(element):
        pairs = zip(_like(types, element), leaves)
        return tuple(part for v, s in pairs for part in _parts(v, s))

    def rows_of(*arguments):  # an element that does not fit does not end the generator
        return map(row_of, elements_of(*arguments))

    if not any(isinstance(v, GraphTensor) for v in values):
        return generated(lambda: rows_of(*[v.numpy() for v in values]), spec)
    from situ._src.ops.script_ops import (
        py_func,  # the arguments are evaluated when iteration starts
    )

    state = []

    def begin(*arrays):
        state.append(arrays)
        return numpy.int64(0)

    first = Dataset.from_tensors(tuple(values)).map(lambda *a: py_func(begin, list(a), "int64"))
    inner = generated(lambda: rows_of(*state.pop()), spec)
    return first.flat_map(lambda _: inner)


def list_files(pattern, shuffle, seed):
    """Implements Dataset.list_files."""
    if isinstance(pattern, GraphTensor):
        names = OPS["MatchingFiles"](pattern)
        dataset = Dataset.from_tensor_slices(names)
        return dataset.shuffle(1 << 20, seed) if shuffle is not False else dataset
    if isinstance(pattern, EagerTensor):
        pattern = pattern.numpy()
    patterns = numpy.atleast_1d(numpy.asarray(pattern, dtype=object)).ravel().tolist()
    names = sorted(
        name for p in patterns for name in glob(p.decode() if isinstance(p, bytes) else str(p))
    )
    if not names:
        raise errors.InvalidArgumentError(
            None,
            None,
            "No files matched pattern: "
            + ", ".join(p.decode() if isinstance(p, bytes) else str(p) for p in patterns),
        )
    dataset = Dataset.from_tensor_slices(names)
    return dataset if shuffle is False else dataset.shuffle(len(names), seed)


def _names(filenames):
    """Returns file names as a tensor, or the dataset of names."""
    if isinstance(filenames, Dataset):
        kind, shape = filenames.output_types, filenames.output_shapes
        if getattr(kind, "name", "") != "string":
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                f"`{kind!r}` elements."
            )
        if not shape.is_compatible_with([]):
            raise TypeError(
                "The `filenames` argument must contain `tf.string` elements of shape [] (i.e. "
                f"scalars). Got a dataset of element shape {shape!r}."
            )
        return filenames
    if isinstance(filenames, (list, tuple)):
        filenames = [str(f) if hasattr(f, "__fspath__") else f for f in filenames]
    elif hasattr(filenames, "__fspath__"):
        filenames = str(filenames)
    result = tensor(
        filenames, "string" if isinstance(filenames, (list, tuple)) and not filenames else None
    )
    if result.dtype.name != "string":
        raise TypeError(
            "The `filenames` argument must contain `tf.string` elements. Got "
            f"`tf.{result.dtype.name}` elements."
        )
    return result


class _Files(type):
    """Metaclass of dataset classes whose constructor returns a Dataset."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Dataset) and instance._kind == cls.kind


def _open(filenames, kind, compression_type, parallel_reads, *sizes):
    """Creates a dataset of the records of files, sequentially or interleaved."""
    names, spec = _names(filenames), TensorSpec([], "string")
    compression_type = tf_record.compression_type_of(compression_type) or None
    open_files = lambda names_: Dataset(
        kind, (), [names_, *sizes], spec, compression=compression_type
    )
    if parallel_reads is not None:
        if not isinstance(names, Dataset):
            names = Dataset.from_tensor_slices(
                OPS["Reshape"](names, [-1]) if names.shape.rank != 1 else names
            )
        return names.interleave(open_files, parallel_reads, 1, parallel_reads)
    return names.flat_map(open_files) if isinstance(names, Dataset) else open_files(names)


@export("data.TextLineDataset", "contrib.data.TextLineDataset")
class TextLineDataset(Dataset, metaclass=_Files):
    """A dataset of the lines of text files; `buffer_size` and `name` are ignored."""

    kind = "TextLine"

    def __new__(
        cls, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None
    ):
        del buffer_size  # a hint for speed
        del name  # a name for debugging only
        return _open(filenames, "TextLine", compression_type, num_parallel_reads)


@export("data.TFRecordDataset", "contrib.data.TFRecordDataset")
class TFRecordDataset(Dataset, metaclass=_Files):
    """A dataset of the records of TFRecord files; `buffer_size` and `name` are ignored."""

    kind = "TFRecord"

    def __new__(
        cls, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None
    ):
        del buffer_size  # a hint for speed
        del name  # a name for debugging only
        return _open(filenames, "TFRecord", compression_type, num_parallel_reads)


@export("data.FixedLengthRecordDataset", "contrib.data.FixedLengthRecordDataset")
class FixedLengthRecordDataset(Dataset, metaclass=_Files):
    """A dataset of the fixed-length records of binary files; `buffer_size` and `name` are
    ignored."""

    kind = "FixedLengthRecord"

    def __new__(
        cls,
        filenames,
        record_bytes,
        header_bytes=None,
        footer_bytes=None,
        buffer_size=None,
        compression_type=None,
        num_parallel_reads=None,
        name=None,
    ):
        del buffer_size  # a hint for speed
        del name  # a name for debugging only
        sizes = [number(header_bytes or 0), number(record_bytes), number(footer_bytes or 0)]
        return _open(filenames, "FixedLengthRecord", compression_type, num_parallel_reads, *sizes)


@export("data.experimental.CsvDataset", "contrib.data.CsvDataset")
class CsvDataset(Dataset, metaclass=_Files):
    """A dataset of the fields of CSV files; `buffer_size` is ignored."""

    kind = "Map"

    def __new__(
        cls,
        filenames,
        record_defaults,
        compression_type=None,
        buffer_size=None,
        header=False,
        field_delim=",",
        use_quote_delim=True,
        na_value="",
        select_cols=None,
        exclude_cols=None,
    ):
        del buffer_size  # a hint for speed
        from situ._src.ops.parsing_ops import decode_csv

        select_cols = _selected_columns(len(record_defaults), select_cols, exclude_cols)
        defaults = [tensor([], d) if _is_type(d) else tensor(d) for d in record_defaults]

        def read(name):
            lines = TextLineDataset(name, compression_type)
            return lines.skip(1) if header else lines

        def decode(line):
            return tuple(
                decode_csv(
                    line, defaults, field_delim, use_quote_delim, None, na_value, select_cols
                )
            )

        names = _names(filenames)
        if not isinstance(names, Dataset):
            names = Dataset.from_tensor_slices(
                names if names.shape.rank == 1 else OPS["Reshape"](names, [-1])
            )
        return names.flat_map(read).map(decode)


def _selected_columns(count, select_cols, exclude_cols):
    """Returns the indices of the columns to read, or None for all.

    Args:
      count: the number of columns to read.
      select_cols, exclude_cols: the arguments of CsvDataset, one of which may be given.
    """
    if not exclude_cols:
        return select_cols or None
    if select_cols:
        raise errors.InvalidArgumentError(
            None, None, "Either select_cols or exclude_cols should be empty"
        )
    if min(exclude_cols) < 0:
        raise errors.InvalidArgumentError(None, None, "exclude_cols should be non-negative indices")
    if any(a >= b for a, b in zip(exclude_cols, exclude_cols[1:])):
        raise errors.InvalidArgumentError(
            None, None, "exclude_cols should be strictly increasing indices"
        )
    return [i for i in range(count + len(exclude_cols)) if i not in exclude_cols]


def _is_type(value):
    try:
        return (
            not isinstance(value, (list, tuple, EagerTensor, GraphTensor, numpy.ndarray))
            and as_dtype(value) is not None
            and not isinstance(value, (int, float, str, bytes))
        )
    except TypeError:
        return False
