# SPDX-License-Identifier: Apache-2.0
"""parsing_ops.py: parses tf.Example and tf.SequenceExample records and CSV lines into tensors."""

from __future__ import annotations

import collections

import numpy

from situ._src.framework import errors, example_protos
from situ._src.framework.api import BOTH, OPS, V1, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.script_ops import py_func
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


class FixedLenFeature(collections.namedtuple("FixedLenFeature", "shape dtype default_value")):
    """Configuration of a feature with a fixed shape."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    collections.namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value")
):
    """Configuration of a feature with a variable number of entries of a fixed shape."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class VarLenFeature(collections.namedtuple("VarLenFeature", "dtype")):
    """Configuration of a feature of variable length, parsed to a SparseTensor."""


for _class in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature):
    BOTH["io." + _class.__name__] = V1[_class.__name__] = _class


def type_name(dtype):
    """Returns the name of a dtype in messages of TensorFlow's kernels."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


def _dense_shape(feature):
    """The shape of a dense feature in one record; a sequence has an unknown first dimension."""
    shape = as_shape(feature.shape)
    return shape if isinstance(feature, FixedLenFeature) else as_shape([None]).concatenate(shape)


def _default(key, feature, shape):
    """Returns the default values of a feature (empty if it is required), or the padding."""
    dtype = as_dtype(feature.dtype)
    variable = isinstance(feature, FixedLenSequenceFeature)
    if feature.default_value is None:
        padding = "" if dtype.name == "string" else 0
        return constant(padding if variable else [], dtype)
    try:
        value = convert_to_tensor(feature.default_value, dtype)
        return op("Reshape", value, [] if variable else shape.as_list())
    except (errors.InvalidArgumentError, TypeError, ValueError) as error:
        message = (
            f"Feature: {key} (data type: {type_name(dtype)}) has a wrong default_value: {error}"
        )
        if isinstance(error, errors.InvalidArgumentError):
            raise errors.InvalidArgumentError(None, None, message) from error
        raise type(error)(message) from error


def _check_shape(key, feature):
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape = as_shape(feature.shape)
    if shape.rank is None or None in shape.as_list()[1:]:
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but "
            f"received {feature.shape}."
        )
    if shape.rank and shape.as_list()[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            f"FixedLenSequenceFeature. Received feature={feature}."
        )


def check_features(features):
    """Raises TensorFlow's error for an invalid feature configuration."""
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature)):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}")
        if isinstance(feature, FixedLenFeature):
            _check_shape(key, feature)


def _parse(serialized, features, name, names=None):
    """Parses records to a dictionary of tensors."""
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    check_features(features)
    for feature in features.values():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
    sparse = sorted(k for k, f in features.items() if isinstance(f, VarLenFeature))
    dense = sorted(k for k in features if k not in sparse)
    shapes = [_dense_shape(features[k]) for k in dense]
    with scope(name, "ParseSingleExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        keys = [constant(k, "string") if k else constant([], "string") for k in (sparse, dense)]
        parts = OPS["ParseExampleV2"](
            serialized,
            convert_to_tensor([] if names is None else names, "string"),
            *keys,
            constant([], "string"),
            [_default(k, features[k], shape) for k, shape in zip(dense, shapes)],
            num_sparse=len(sparse),
            sparse_types=[as_dtype(features[k].dtype) for k in sparse],
            dense_shapes=shapes,
            name="ParseExample",
        )
    parts = parts if isinstance(parts, (list, tuple)) else [parts]
    n, results = len(sparse), {}
    for i, key in enumerate(sparse):
        results[key] = SparseTensor(*parts[i : 3 * n : n])
    results.update(zip(dense, parts[3 * n :]))
    return {k: results[k] for k in features}


@export("io.parse_single_example", v1="parse_single_example")
def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> Any:
    """Parses one tf.Example record.

    Args:
      serialized: A scalar string tensor.
      features: A dictionary from feature names to FixedLenFeature, VarLenFeature, ....
      example_names: A name of the record for error messages (optional).
      name: A name for the operation (optional).

    Returns:
      A dictionary from feature names to tensors and sparse tensors.

    Raises:
      ValueError: If a feature is invalid.
    """
    if not features:
        raise ValueError("Invalid argument: features cannot be empty.")
    return _parse(serialized, features, name, example_names)


export(v2="io.parse_single_example")(
    with_order(parse_single_example, "serialized", "features", "example_names", "name")
)


@export("io.parse_example", v1="parse_example")
def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> Any:
    """Parses a batch of tf.Example records.

    Args:
      serialized: A string tensor of shape [batch].
      features: A dictionary from feature names to FixedLenFeature, VarLenFeature, ....
      example_names: Names of the records for error messages (optional).
      name: A name for the operation (optional).

    Returns:
      A dictionary from feature names to tensors and sparse tensors with a batch dimension.

    Raises:
      ValueError: If a feature is invalid.
    """
    return _parse(serialized, features, name, example_names)


export(v2="io.parse_example")(
    with_order(parse_example, "serialized", "features", "example_names", "name")
)


def _steps(lists, key, dtype, name):
    """Returns the values of each step of a feature list, or None if the list is missing."""
    if key not in lists:
        return None
    kind = (
        "bytes_list"
        if dtype.name == "string"
        else "float_list"
        if dtype.is_floating
        else "int64_list"
    )
    for number, step in enumerate(lists[key].feature):
        if step.WhichOneof("kind") not in (None, kind):
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Name: {name}, Feature list: {key}, Index: {number}.  Data types "
                f"don't match. Expected type: {type_name(dtype)}",
            )
    return [list(getattr(step, kind).value) for step in lists[key].feature]


def _dense(lists, key, feature, dtype, shape, name):
    steps = _steps(lists, key, dtype, name)
    if steps is None:
        if not feature.allow_missing:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Name: {name}, Feature list '{key}' is required but could not be "
                "found.  Did you mean to include it in feature_list_dense_missing_assumed_empty "
                "or feature_list_dense_defaults?",
            )
        steps = []
    count = int(numpy.prod(shape))
    for number, values in enumerate(steps):
        if len(values) != count:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Name: {name}, Key: {key}, Index: {number}.  Number of values != "
                f"expected.  values size: {len(values)} but output shape: {list(shape)}",
            )
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    return [numpy.array(steps, kind).reshape([len(steps), *shape])]


def _sparse_sequence(lists, key, dtype, name):
    steps = _steps(lists, key, dtype, name) or []
    indices = [(t, i) for t, values in enumerate(steps) for i in range(len(values))]
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    return [
        numpy.array(indices, "int64").reshape([-1, 2]),
        numpy.array([v for values in steps for v in values], kind),
        numpy.array([len(steps), max(map(len, steps), default=0)], "int64"),
    ]


def _lists(serialized, features, name):
    """Parses the feature lists of one record; `name` is its name in error messages."""
    keys = sorted(features)
    types, shapes = [], []
    for key in keys:
        dtype = as_dtype(features[key].dtype)
        if isinstance(features[key], VarLenFeature):
            types += ["int64", dtype, "int64"]
            shapes += [[None, 2], [None], [2]]
        else:
            types.append(dtype)
            shapes.append([None, *as_shape(features[key].shape).as_list()])

    def read(data, name=b"<unknown>"):
        name = numpy.asarray(name, object).item().decode(errors="replace")
        record = example_protos.SequenceExample()
        record.ParseFromString(numpy.asarray(data, object).item())
        lists, result = record.feature_lists.feature_list, []
        for key in keys:
            feature, dtype = features[key], as_dtype(features[key].dtype)
            if isinstance(feature, VarLenFeature):
                result += _sparse_sequence(lists, key, dtype, name)
            else:
                shape = as_shape(feature.shape).as_list()
                result += _dense(lists, key, feature, dtype, shape, name)
        return result

    names = [] if name is None else [convert_to_tensor(name, "string")]
    values = py_func(read, [serialized, *names], types, False)
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    for value, shape in zip(values, shapes):
        if hasattr(value, "set_shape"):
            value.set_shape(shape)
    results = {}
    for key in keys:
        if isinstance(features[key], VarLenFeature):
            results[key] = SparseTensor(*values[:3])
            values = values[3:]
        else:
            results[key] = values.pop(0)
    return results


@export("io.parse_single_sequence_example", v1="parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """Parses one tf.SequenceExample to (context features, feature lists), dictionaries of
    tensors; `example_name` is the name of the record in error messages."""
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    check_features(sequence_features or {})
    for key, feature in (context_features or {}).items():
        if isinstance(feature, FixedLenSequenceFeature):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
    for key, feature in (sequence_features or {}).items():
        if getattr(feature, "default_value", None) is not None:
            raise ValueError(f"Value feature_list.dense_defaults[{key}] must be None")
    with scope(name, "ParseSingleSequenceExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        # The context has the field number of the features of a tf.Example.
        context = {}
        if context_features:
            context = _parse(serialized, context_features, None, example_name)
        if not sequence_features:
            return context, {}
        return context, _lists(serialized, sequence_features, example_name)


def _csv_default(value):
    """Returns the default of a column as a tensor; a dtype makes the column required."""
    if hasattr(value, "as_numpy_dtype"):
        return constant([], value)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
        return constant([], "float32")
    return convert_to_tensor(value)


@export("io.decode_csv", v1="decode_csv")
def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Any = None,
) -> Any:
    """Converts CSV lines to tensors, one per column.

    Args:
      records: A string tensor of lines.
      record_defaults: For each column a default value, or a dtype if the column is required.
      field_delim: The character between fields.
      use_quote_delim: Whether double quotes enclose fields.
      na_value: A string that stands for a missing value.
      select_cols: The indices of the columns to return; all by default.
      name: A name for the operation (optional).

    Returns:
      A list of tensors of the shape of `records`.
    """
    with scope(name, "DecodeCSV"):
        parts = op(
            "DecodeCSV",
            records,
            [_csv_default(d) for d in record_defaults],
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_cols,
        )
        return list(parts)


export(v2="io.decode_csv")(
    with_order(
        decode_csv,
        "records",
        "record_defaults",
        "field_delim",
        "use_quote_delim",
        "na_value",
        "select_cols",
        "name",
    )
)
