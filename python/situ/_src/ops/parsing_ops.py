# SPDX-License-Identifier: Apache-2.0
"""parsing_ops.py: tf.Example and tf.SequenceExample records and CSV lines become tensors."""

import collections

import numpy

from situ._src.framework import errors, example_protos
from situ._src.framework.api import BOTH, OPS, V1, export
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.script_ops import py_func
from situ._src.ops.sparse_ops import SparseTensor


class FixedLenFeature(collections.namedtuple("FixedLenFeature", "shape dtype default_value")):
    """A feature with as many values as its shape says."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(
    collections.namedtuple("FixedLenSequenceFeature", "shape dtype allow_missing default_value")
):
    """A feature with any number of parts of a shape."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class VarLenFeature(collections.namedtuple("VarLenFeature", "dtype")):
    """A feature with any number of values: a sparse tensor."""


for _class in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature):
    BOTH["io." + _class.__name__] = V1[_class.__name__] = _class


def type_name(dtype):
    """The name of a type in messages of TensorFlow's kernels."""
    return {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)


def _dense_shape(feature):
    """The shape of a dense feature in one record; a sequence has an unknown first dimension."""
    shape = as_shape(feature.shape)
    return shape if isinstance(feature, FixedLenFeature) else as_shape([None]).concatenate(shape)


def _default(key, feature, shape):
    """The values of records without the feature (empty: it is required), or the padding."""
    dtype = as_dtype(feature.dtype)
    variable = isinstance(feature, FixedLenSequenceFeature)
    if feature.default_value is None:
        padding = "" if dtype.name == "string" else 0
        return constant(padding if variable else [], dtype)
    try:
        value = convert_to_tensor(feature.default_value, dtype)
        return op("Reshape", value, [] if variable else shape.as_list())
    except (errors.InvalidArgumentError, TypeError, ValueError) as error:
        text = f"Feature: {key} (data type: {type_name(dtype)}) has a wrong default_value: {error}"
        if isinstance(error, errors.InvalidArgumentError):
            raise errors.InvalidArgumentError(None, None, text) from error
        raise type(error)(text) from error


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
    """Raises TensorFlow's error for a feature that no record could fill."""
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature)):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}")
        if isinstance(feature, FixedLenFeature):
            _check_shape(key, feature)


def _parse(serialized, features, name, names=None):
    """A dict of tensors, by the names of the features."""
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
            Tdense=[as_dtype(features[k].dtype) for k in dense],
            sparse_types=[as_dtype(features[k].dtype) for k in sparse],
            dense_shapes=shapes,
            name="ParseExample",
        )
    parts = parts if isinstance(parts, (list, tuple)) else [parts]
    n, found = len(sparse), {}
    for i, key in enumerate(sparse):
        found[key] = SparseTensor(*parts[i : 3 * n : n])
    found.update(zip(dense, parts[3 * n :]))
    return {k: found[k] for k in features}


@export("io.parse_single_example", v1="parse_single_example")
def parse_single_example(serialized, features, name=None, example_names=None):
    """The features of one tf.Example."""
    if not features:
        raise ValueError("Invalid argument: features cannot be empty.")
    return _parse(serialized, features, name)


@export("io.parse_example", v1="parse_example")
def parse_example(serialized, features, name=None, example_names=None):
    """The features of a vector of tf.Examples: each with a dimension for the examples."""
    return _parse(serialized, features, name, example_names)


def _steps(lists, key, dtype):
    """The values of each step of a feature list, or None where there is no such list."""
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
                f"Name: <unknown>, Feature list: {key}, Index: {number}.  Data types "
                f"don't match. Expected type: {type_name(dtype)}",
            )
    return [list(getattr(step, kind).value) for step in lists[key].feature]


def _dense(lists, key, feature, dtype, shape):
    steps = _steps(lists, key, dtype)
    if steps is None:
        if not feature.allow_missing:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Name: <unknown>, Feature list '{key}' is required but could not be "
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
                f"Name: <unknown>, Key: {key}, Index: {number}.  Number of values != "
                f"expected.  values size: {len(values)} but output shape: {list(shape)}",
            )
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    return [numpy.array(steps, kind).reshape([len(steps), *shape])]


def _sparse_sequence(lists, key, dtype):
    steps = _steps(lists, key, dtype) or []
    places = [(t, i) for t, values in enumerate(steps) for i in range(len(values))]
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    return [
        numpy.array(places, "int64").reshape([-1, 2]),
        numpy.array([v for values in steps for v in values], kind),
        numpy.array([len(steps), max(map(len, steps), default=0)], "int64"),
    ]


def _lists(serialized, features):
    """The feature lists of one record."""
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

    def read(data):
        record = example_protos.SequenceExample()
        record.ParseFromString(numpy.asarray(data, object).item())
        lists, made = record.feature_lists.feature_list, []
        for key in keys:
            feature, dtype = features[key], as_dtype(features[key].dtype)
            if isinstance(feature, VarLenFeature):
                made += _sparse_sequence(lists, key, dtype)
            else:
                made += _dense(lists, key, feature, dtype, as_shape(feature.shape).as_list())
        return made

    values = py_func(read, [serialized], types, False)
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    for value, shape in zip(values, shapes):
        if hasattr(value, "set_shape"):
            value.set_shape(shape)
    found = {}
    for key in keys:
        if isinstance(features[key], VarLenFeature):
            found[key] = SparseTensor(*values[:3])
            values = values[3:]
        else:
            found[key] = values.pop(0)
    return found


@export("io.parse_single_sequence_example", v1="parse_single_sequence_example")
def parse_single_sequence_example(
    serialized, context_features=None, sequence_features=None, example_name=None, name=None
):
    """(features, feature lists) of one tf.SequenceExample record, as dicts of tensors."""
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
        # The context stands where a tf.Example has its features.
        context = _parse(serialized, context_features, None) if context_features else {}
        return context, _lists(serialized, sequence_features) if sequence_features else {}


def _csv_default(value):
    """(the default of a column as text, its type)"""
    kind = dtype_of(value)
    array = constant_value(value) if kind is not None else None
    if array is None:
        one = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(one, (list, tuple)):
            return [], as_dtype("float32")
        array = numpy.asarray([one] if not hasattr(one, "dtype") else one).ravel()
        kind = as_dtype(
            "string"
            if isinstance(one, (str, bytes))
            else "float32"
            if isinstance(one, float)
            else "int32"
            if isinstance(one, int)
            else array.dtype
        )
    flat = [array] if isinstance(array, bytes) else numpy.asarray(array).ravel().tolist()
    items = [v.decode() if isinstance(v, bytes) else str(v) for v in flat]
    return items[:1], kind.base_dtype


def _chosen(lines, defaults, field_delim, use_quote_delim, na_value, select_cols):
    """Some fields of each line, as texts; a default stands for what is not there."""
    import csv

    lines = convert_to_tensor(lines, "string")
    quote = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE

    def read(array):
        array = numpy.asarray(array, object)
        columns = [[] for _ in defaults]
        for n, line in enumerate(array.reshape(-1)):
            fields = next(
                csv.reader(
                    [line.decode(errors="surrogateescape")], delimiter=field_delim, quoting=quote
                ),
                [],
            )
            wanted = range(len(fields)) if select_cols is None else select_cols
            if len(wanted) != len(defaults) or any(i >= len(fields) for i in wanted):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Expect {len(defaults)} fields but have {len(fields)} in record {n}",
                )
            for column, i, default in zip(columns, wanted, defaults):
                text = fields[i]
                if text in ("", na_value):
                    if not default:
                        raise errors.InvalidArgumentError(
                            None, None, f"Field {i} is required but missing in record {n}!"
                        )
                    text = default[0]
                column.append(text.encode(errors="surrogateescape"))
        return [numpy.array([*c, None], object)[:-1].reshape(array.shape) for c in columns]

    found = py_func(read, [lines], ["string"] * len(defaults))
    for part in found:
        if hasattr(part, "set_shape"):
            part.set_shape(lines.shape)
    return found


@export("io.decode_csv", v1="decode_csv")
def decode_csv(
    records,
    record_defaults,
    field_delim=",",
    use_quote_delim=True,
    name=None,
    na_value="",
    select_cols=None,
):
    """A tensor for each column of lines with commas; the defaults say their types."""
    with scope(name, "DecodeCSV"):
        defaults = [
            _csv_default(d) if not hasattr(d, "as_numpy_dtype") else ([], as_dtype(d))
            for d in record_defaults
        ]
        if select_cols is not None or na_value:
            parts = _chosen(
                records,
                [text for text, _ in defaults],
                field_delim,
                use_quote_delim,
                na_value,
                select_cols,
            )
        else:
            parts = op(
                "DecodeCSV",
                records,
                [constant(text, "string") for text, _ in defaults],
                field_delim=field_delim,
                use_quote_delim=use_quote_delim,
            )
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        return [
            part if kind.name == "string" else op("StringToNumber", part, out_type=kind)
            for part, (_, kind) in zip(parts, defaults)
        ]
