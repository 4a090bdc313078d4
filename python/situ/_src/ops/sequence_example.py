# SPDX-License-Identifier: Apache-2.0
"""sequence_example.py: parses tf.SequenceExample records into tensors."""

from __future__ import annotations

import numpy

from situ._src.framework import errors, example_protos
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops import parsing_config
from situ._src.ops.array_ops import cast, convert_to_tensor
from situ._src.ops.parsing_config import (
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from situ._src.ops.parsing_ops import _parse, check_features, type_name
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.script_ops import py_func
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


def _numpy_type(dtype):
    return object if dtype.name == "string" else dtype.as_numpy_dtype


def _invalid(message):
    return errors.InvalidArgumentError(None, None, message)


class _Record:
    """A parsed record; `name` is its name in error messages."""

    def __init__(self, data, name):
        record = example_protos.SequenceExample()
        record.ParseFromString(data)
        self._lists, self.name = record.feature_lists.feature_list, name

    def steps(self, key, dtype):
        """Returns the values of each step of a feature list, or None if the list is missing."""
        if key not in self._lists:
            return None
        kind = (
            "bytes_list"
            if dtype.name == "string"
            else "float_list"
            if dtype.is_floating
            else "int64_list"
        )
        for number, step in enumerate(self._lists[key].feature):
            if step.WhichOneof("kind") not in (None, kind):
                raise _invalid(
                    f"Name: {self.name}, Feature list: {key}, Index: {number}.  Data types "
                    f"don't match. Expected type: {type_name(dtype)}  Feature is: "
                    f"{step.WhichOneof('kind')}"
                )
        return [list(getattr(step, kind).value) for step in self._lists[key].feature]

    def dense(self, key, feature):
        """Returns the steps of a dense feature as an array."""
        dtype, shape = as_dtype(feature.dtype), as_shape(feature.shape).as_list()
        steps = self.steps(key, dtype)
        if steps is None:
            if not feature.allow_missing:
                raise _invalid(
                    f"Name: {self.name}, Feature list '{key}' is required but could not be "
                    "found.  Did you mean to include it in "
                    "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
                )
            steps = []
        count = int(numpy.prod(shape))
        for number, values in enumerate(steps):
            if len(values) != count:
                raise _invalid(
                    f"Name: {self.name}, Key: {key}, Index: {number}.  Number of "
                    f"{type_name(dtype)} values != expected.  values size: {len(values)} but "
                    f"output shape: {list(shape)}"
                )
        return numpy.array(steps, _numpy_type(dtype)).reshape([len(steps), *shape])


def _read_dense(records, key, feature, batched):
    """Returns the padded steps of all records, and their numbers if there are several."""
    arrays = [record.dense(key, feature) for record in records]
    if not batched:
        return arrays
    kind = _numpy_type(as_dtype(feature.dtype))
    lengths = [len(array) for array in arrays]
    shape = [len(arrays), max(lengths, default=0), *as_shape(feature.shape).as_list()]
    result = numpy.full(shape, b"" if kind is object else 0, kind)
    for row, array in zip(result, arrays):
        row[: len(array)] = array
    return [result, numpy.array(lengths, "int64")]


def _read_sparse(records, key, dtype, batched):
    """Returns the indices, values and dense shape of a feature list of variable length."""
    lists = [record.steps(key, dtype) or [] for record in records]
    indices = [
        (*([b] if batched else []), t, i)
        for b, steps in enumerate(lists)
        for t, values in enumerate(steps)
        for i in range(len(values))
    ]
    longest = max((len(v) for steps in lists for v in steps), default=0)
    shape = [*([len(lists)] if batched else []), max(map(len, lists), default=0), longest]
    flat = [v for steps in lists for values in steps for v in values]
    return [
        numpy.array(indices, "int64").reshape([-1, len(shape)]),
        numpy.array(flat, _numpy_type(dtype)),
        numpy.array(shape, "int64"),
    ]


def _read_ragged(records, key, feature):
    """Returns values and lengths of the steps of each part of a ragged feature, and the number of
    steps of each record."""
    result, counts = [], None
    for name, dtype in parsing_config.ragged_parts(key, feature):
        lists = [record.steps(name, dtype) or [] for record in records]
        result.append(
            numpy.array([v for s in lists for values in s for v in values], _numpy_type(dtype))
        )
        result.append(numpy.array([len(values) for s in lists for values in s], "int64"))
        if counts is not None and counts != [len(s) for s in lists]:
            raise _invalid(f"Feature {key}: values and partitions are not aligned")
        counts = [len(s) for s in lists]
    return [*result, numpy.array(counts, "int64")]


def _outputs(key, feature, batched):
    """Returns the types and static shapes of the arrays of a feature."""
    if isinstance(feature, VarLenFeature):
        rank = 2 + batched
        types = ["int64", as_dtype(feature.dtype), "int64"]
        return types, [[None, rank], [None], [rank]]
    if isinstance(feature, RaggedFeature):
        parts = parsing_config.ragged_parts(key, feature)
        types = [t for _, dtype in parts for t in (dtype, "int64")] + ["int64"]
        return types, [[None]] * len(types)
    shape = [*([None] if batched else []), None, *as_shape(feature.shape).as_list()]
    dtype = as_dtype(feature.dtype)
    return ([dtype, "int64"], [shape, [None]]) if batched else ([dtype], [shape])


def _read(records, key, feature, batched):
    if isinstance(feature, VarLenFeature):
        return _read_sparse(records, key, as_dtype(feature.dtype), batched)
    if isinstance(feature, RaggedFeature):
        return _read_ragged(records, key, feature)
    return _read_dense(records, key, feature, batched)


def _ragged(key, feature, values, batched):
    """Returns the ragged tensor of the arrays of a feature."""
    rows = {
        name: RaggedTensor.from_row_lengths(values[2 * i], values[2 * i + 1], validate=False)
        for i, (name, _) in enumerate(parsing_config.ragged_parts(key, feature))
    }
    steps = parsing_config.ragged_of(key, feature, rows)
    if not batched:
        return steps
    counts = cast(values[-1], feature.row_splits_dtype)
    return RaggedTensor.from_row_lengths(steps, counts, validate=False)


def _lists(serialized, features, names, batched):
    """Parses the feature lists of records to tensors and, of a batch, numbers of steps."""
    keys = sorted(features)
    layouts = {key: _outputs(key, features[key], batched) for key in keys}

    def read(data, names=None):
        data = numpy.asarray(data, object).reshape(-1)
        texts = [b"<unknown>"] * len(data)
        if names is not None and numpy.size(names):
            texts = numpy.asarray(names, object).reshape(-1)
        records = [_Record(d, n.decode(errors="replace")) for d, n in zip(data, texts)]
        return [a for key in keys for a in _read(records, key, features[key], batched)]

    names = [] if names is None else [convert_to_tensor(names, "string")]
    types = [t for key in keys for t in layouts[key][0]]
    values = py_func(read, [serialized, *names], types, False)
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    results, lengths = {}, {}
    for key in keys:
        shapes = layouts[key][1]
        mine, values = values[: len(shapes)], values[len(shapes) :]
        for value, shape in zip(mine, shapes):
            if hasattr(value, "set_shape"):
                value.set_shape(shape)
        if isinstance(features[key], VarLenFeature):
            results[key] = SparseTensor(*mine)
        elif isinstance(features[key], RaggedFeature):
            results[key] = _ragged(key, features[key], mine, batched)
        else:
            results[key] = mine[0]
            lengths.update({key: mine[1]} if batched else {})
    return results, lengths


def _check(context_features, sequence_features):
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    check_features(sequence_features or {})
    for features, wrong in (
        (context_features, (FixedLenSequenceFeature,)),
        (sequence_features, (SparseFeature, parsing_config.FixedLenFeature)),
    ):
        for key, feature in (features or {}).items():
            if isinstance(feature, wrong):
                raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
    for key, feature in (sequence_features or {}).items():
        if getattr(feature, "default_value", None) is not None:
            raise ValueError(f"Value feature_list.dense_defaults[{key}] must be None")


@export("io.parse_single_sequence_example", v1="parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """Parses one tf.SequenceExample.

    Args:
      serialized: A scalar string tensor.
      context_features: The configurations of the context features by name.
      sequence_features: The configurations of the feature lists by name.
      example_name: The name of the record in error messages.
      name: A name for the operation (optional).

    Returns:
      (context features, feature lists), dictionaries of tensors.

    Raises:
      ValueError: a feature is invalid.
    """
    _check(context_features, sequence_features)
    with scope(name, "ParseSingleSequenceExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        # The context has the field number of the features of a tf.Example.
        context = {}
        if context_features:
            context = _parse(serialized, context_features, None, example_name)
        if not sequence_features:
            return context, {}
        return context, _lists(serialized, sequence_features, example_name, False)[0]


@export("io.parse_sequence_example", v1="io.parse_sequence_example")
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> Any:
    """Parses a batch of tf.SequenceExample records.

    Args:
      serialized: A vector of strings.
      context_features: The configurations of the context features by name.
      sequence_features: The configurations of the feature lists by name.
      example_names: The names of the records in error messages.
      name: A name for the operation (optional).

    Returns:
      (context features, feature lists, lengths), dictionaries of tensors; the lengths are the
      numbers of steps of the dense feature lists, which are padded.

    Raises:
      ValueError: a feature is invalid.
    """
    _check(context_features, sequence_features)
    with scope(name, "ParseSequenceExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        context = {}
        if context_features:
            context = _parse(serialized, context_features, None, example_names)
        if not sequence_features:
            return context, {}, {}
        return (context, *_lists(serialized, sequence_features, example_names, True))
