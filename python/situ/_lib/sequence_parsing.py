# SPDX-License-Identifier: Apache-2.0
"""sequence_parsing.py: tf.SequenceExample records become tensors."""
import numpy

from situ._lib import errors, example_protos, parsing_ops
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor
from situ._lib.dtypes import as_dtype
from situ._lib.graph import scope
from situ._lib.readers import py_func
from situ._lib.shapes import as_shape
from situ._lib.word_ops import SparseTensor


def _steps(lists, key, dtype):
    """The values of each step of a feature list, or None where there is no such list."""
    if key not in lists:
        return None
    kind = "bytes_list" if dtype.name == "string" else \
        "float_list" if dtype.is_floating else "int64_list"
    for number, step in enumerate(lists[key].feature):
        if step.WhichOneof("kind") not in (None, kind):
            raise errors.InvalidArgumentError(
                None, None, f"Name: <unknown>, Feature list: {key}, Index: {number}.  Data types "
                f"don't match. Expected type: {parsing_ops.type_name(dtype)}")
    return [list(getattr(step, kind).value) for step in lists[key].feature]


def _dense(lists, key, feature, dtype, shape):
    steps = _steps(lists, key, dtype)
    if steps is None:
        if not feature.allow_missing:
            raise errors.InvalidArgumentError(
                None, None, f"Name: <unknown>, Feature list '{key}' is required but could not be "
                "found.  Did you mean to include it in feature_list_dense_missing_assumed_empty "
                "or feature_list_dense_defaults?")
        steps = []
    count = int(numpy.prod(shape))
    for number, values in enumerate(steps):
        if len(values) != count:
            raise errors.InvalidArgumentError(
                None, None, f"Name: <unknown>, Key: {key}, Index: {number}.  Number of values != "
                f"expected.  values size: {len(values)} but output shape: {list(shape)}")
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    return [numpy.array(steps, kind).reshape([len(steps), *shape])]


def _sparse(lists, key, dtype):
    steps = _steps(lists, key, dtype) or []
    places = [(t, i) for t, values in enumerate(steps) for i in range(len(values))]
    kind = object if dtype.name == "string" else dtype.as_numpy_dtype
    return [numpy.array(places, "int64").reshape([-1, 2]),
            numpy.array([v for values in steps for v in values], kind),
            numpy.array([len(steps), max(map(len, steps), default=0)], "int64")]


def _lists(serialized, features):
    """The feature lists of one record."""
    keys = sorted(features)
    types, shapes = [], []
    for key in keys:
        dtype = as_dtype(features[key].dtype)
        if isinstance(features[key], parsing_ops.VarLenFeature):
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
            if isinstance(feature, parsing_ops.VarLenFeature):
                made += _sparse(lists, key, dtype)
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
        if isinstance(features[key], parsing_ops.VarLenFeature):
            found[key] = SparseTensor(*values[:3])
            values = values[3:]
        else:
            found[key] = values.pop(0)
    return found


@export("io.parse_single_sequence_example", v1="parse_single_sequence_example")
def parse_single_sequence_example(serialized, context_features=None, sequence_features=None,
                                  example_name=None, name=None):
    """(features, feature lists) of one tf.SequenceExample record, as dicts of tensors."""
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    parsing_ops.check_features(sequence_features or {})
    with scope(name, "ParseSingleSequenceExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        # The context stands where a tf.Example has its features.
        context = parsing_ops._parse(serialized, context_features, None) if context_features \
            else {}
        return context, _lists(serialized, sequence_features) if sequence_features else {}
