# SPDX-License-Identifier: Apache-2.0
"""parsing_ops.py: tf.Example records become tensors; pictures become pixels."""
import collections
from typing import Optional

from situ._lib import errors
from situ._lib.api import BOTH, OPS, V1, export, named
from situ._lib.array_ops import cast, constant, convert_to_tensor, op
from situ._lib.dtypes import as_dtype
from situ._lib.graph import scope
from situ._lib.shapes import as_shape
from situ._lib.word_ops import SparseTensor, sparse_tensor_to_dense


class FixedLenFeature(collections.namedtuple("FixedLenFeature", "shape dtype default_value")):
    """A feature with as many values as its shape says."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class FixedLenSequenceFeature(collections.namedtuple(
        "FixedLenSequenceFeature", "shape dtype allow_missing default_value")):
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


def _default(key, feature, shape):
    """The values for records that lack a feature; none: it is required."""
    dtype = as_dtype(feature.dtype)
    if feature.default_value is None:
        return constant([], dtype)
    try:
        return op("Reshape", convert_to_tensor(feature.default_value, dtype), shape)
    except (errors.InvalidArgumentError, TypeError, ValueError) as error:
        text = f"Feature: {key} (data type: {type_name(dtype)}) has a wrong default_value: " \
            f"{error}"
        if isinstance(error, errors.InvalidArgumentError):
            raise errors.InvalidArgumentError(None, None, text) from error
        raise type(error)(text) from error


def _check_shape(key, feature):
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape = as_shape(feature.shape)
    if shape.rank is None or None in shape.as_list()[1:]:
        raise ValueError(f"All dimensions of shape for feature {key} need to be known but "
                         f"received {feature.shape}.")
    if shape.rank and shape.as_list()[0] is None:
        raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using "
                         f"FixedLenSequenceFeature. Received feature={feature}.")


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
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be "
                             "True.")
    dense = sorted(k for k, f in features.items() if isinstance(f, FixedLenFeature))
    sparse = sorted(k for k in features if k not in dense)
    with scope(name, "ParseSingleExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        one = as_shape(serialized.shape).rank == 0
        keys = [constant(k, "string") if k else constant([], "string") for k in (sparse, dense)]
        parts = OPS["ParseExampleV2"](
            serialized, convert_to_tensor([] if names is None else names, "string"), *keys,
            constant([], "string"),
            [_default(k, features[k], as_shape(features[k].shape).as_list()) for k in dense],
            num_sparse=len(sparse), Tdense=[as_dtype(features[k].dtype) for k in dense],
            sparse_types=[as_dtype(features[k].dtype) for k in sparse],
            dense_shapes=[as_shape(features[k].shape) for k in dense], name="ParseExample")
    parts = parts if isinstance(parts, (list, tuple)) else [parts]
    n, found = len(sparse), {}
    for i, key in enumerate(sparse):
        found[key] = _sparse(key, features[key], *parts[i:3 * n:n], one)
    found.update(zip(dense, parts[3 * n:]))
    return {k: found[k] for k in features}


def _sparse(key, feature, indices, values, shape, one):
    if isinstance(feature, VarLenFeature):
        return SparseTensor(indices, values, shape)
    tail = as_shape(feature.shape).as_list()
    if one:
        return op("Reshape", values, [-1] + tail)
    default = None if feature.default_value is None else _default(key, feature, [])
    made = sparse_tensor_to_dense(SparseTensor(indices, values, shape), default)
    rows = op("StridedSlice", shape, [0], [1], [1], shrink_axis_mask=1)
    return op("Reshape", made, op("ConcatV2", [
        op("Reshape", cast(rows, "int32"), [1]), constant([-1] + tail, "int32")], 0)) if tail \
        else made


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


@export("image.decode_image", "io.decode_image")
def decode_image(contents, channels: Optional[int] = None, dtype="uint8",
                 name: Optional[str] = None, expand_animations: bool = True):
    """Decodes a JPEG, PNG or BMP image.

    Args:
      contents: a scalar string tensor, the bytes of the file.
      channels: 1, 3 or 4; 0 or None for as many as the file has.
      dtype: the type of the result. Integers of 16 bits keep all bits of a PNG file; floating
        point values are between 0 and 1.
      name: a name for the op.
      expand_animations: GIF is not supported here (tf.io.decode_gif decodes it), so images have
        three dimensions either way.

    Returns:
      A tensor of shape [height, width, channels].
    """
    dtype = as_dtype(dtype)
    decoded = dtype if dtype.name in ("uint8", "uint16", "float32") else as_dtype("uint16")
    image = OPS["DecodeImage"](contents, channels=channels or 0, dtype=decoded,
                               expand_animations=expand_animations, name=name or "decode_image")
    return image if decoded == dtype else named("image.convert_image_dtype")(image, dtype)


@export("io.is_jpeg", "image.is_jpeg")
def is_jpeg(contents, name=None):
    return named("math.equal")(named("strings.substr")(contents, 0, 3), b"\xff\xd8\xff", name=name)
