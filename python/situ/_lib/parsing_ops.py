# SPDX-License-Identifier: Apache-2.0
"""parsing_ops.py: tf.Example records become tensors; pictures become pixels."""
import collections

from situ._lib.api import BOTH, OPS, V1, export
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


def _default(feature):
    """The values for records that lack a feature; none: it is required."""
    dtype = as_dtype(feature.dtype)
    if feature.default_value is None:
        return constant([], dtype)
    return op("Reshape", convert_to_tensor(feature.default_value, dtype),
              as_shape(feature.shape).as_list())


def _check(features):
    """Raises TensorFlow's error for a feature that no record could fill."""
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be "
                             "True.")
        if isinstance(feature, FixedLenFeature):
            shape = as_shape(feature.shape)
            if shape.rank is None or None in shape.as_list()[1:]:
                raise ValueError(f"All dimensions of shape for feature {key} need to be known but "
                                 f"received {shape}.")
            if shape.rank and shape.as_list()[0] is None:
                raise ValueError(
                    f"First dimension of shape for feature {key} unknown. Consider using "
                    f"FixedLenSequenceFeature. Received feature={feature}.")


def _parse(serialized, features, name):
    """A dict of tensors, by the names of the features."""
    if not features:
        raise ValueError("Argument `features` cannot be None.")
    _check(features)
    dense = sorted(k for k, f in features.items() if isinstance(f, FixedLenFeature))
    sparse = sorted(k for k in features if k not in dense)
    with scope(name, "ParseSingleExample"):
        serialized = convert_to_tensor(serialized, "string", name="serialized")
        one = as_shape(serialized.shape).rank == 0
        keys = [constant(k, "string") if k else constant([], "string") for k in (sparse, dense)]
        parts = OPS["ParseExampleV2"](
            serialized, constant([], "string"), *keys, constant([], "string"),
            [_default(features[k]) for k in dense], num_sparse=len(sparse),
            Tdense=[as_dtype(features[k].dtype) for k in dense],
            sparse_types=[as_dtype(features[k].dtype) for k in sparse],
            dense_shapes=[as_shape(features[k].shape) for k in dense], name="ParseExample")
    parts = parts if isinstance(parts, (list, tuple)) else [parts]
    n, found = len(sparse), {}
    for i, key in enumerate(sparse):
        found[key] = _sparse(features[key], *parts[i:3 * n:n], one)
    found.update(zip(dense, parts[3 * n:]))
    return {k: found[k] for k in features}


def _sparse(feature, indices, values, shape, one):
    if isinstance(feature, VarLenFeature):
        return SparseTensor(indices, values, shape)
    tail = as_shape(feature.shape).as_list()
    if one:
        return op("Reshape", values, [-1] + tail)
    made = sparse_tensor_to_dense(SparseTensor(indices, values, shape), feature.default_value)
    rows = op("StridedSlice", shape, [0], [1], [1], shrink_axis_mask=1)
    return op("Reshape", made, op("ConcatV2", [
        op("Reshape", cast(rows, "int32"), [1]), constant([-1] + tail, "int32")], 0)) if tail \
        else made


@export("io.parse_single_example", v1="parse_single_example")
def parse_single_example(serialized, features, name=None, example_names=None):
    """The features of one tf.Example."""
    return _parse(serialized, features, name)


@export("io.parse_example", v1="parse_example")
def parse_example(serialized, features, name=None, example_names=None):
    """The features of a vector of tf.Examples: each with a dimension for the examples."""
    return _parse(serialized, features, name)


@export("image.decode_png", "io.decode_png")
def decode_png(contents, channels=0, dtype="uint8", name=None):
    """The pixels of a PNG file."""
    return _as_type(OPS["DecodePng"](contents, channels=channels, name=name), dtype)


@export("image.decode_image", "io.decode_image")
def decode_image(contents, channels=None, dtype="uint8", name=None, expand_animations=True):
    """The pixels of a JPEG, PNG or BMP file."""
    return _as_type(OPS["DecodePng"](contents, channels=channels or 0,
                                     name=name or "decode_image"), dtype)


def _as_type(pixels, dtype):
    dtype = as_dtype(dtype)
    if dtype.name == "uint8":
        return pixels
    from situ._lib.image_color import convert_image_dtype
    return convert_image_dtype(pixels, dtype)


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(contents, crop_window, channels=0, name=None, **words):
    """A part of a picture: crop_window is y, x, height, width."""
    pixels = OPS["DecodeJpeg"](contents, channels=channels, name=name)
    window = convert_to_tensor(crop_window, "int32")
    begin = op("ConcatV2", [op("Slice", window, [0], [2]), constant([0], "int32")], 0)
    size = op("ConcatV2", [op("Slice", window, [2], [2]), constant([-1], "int32")], 0)
    return op("Slice", pixels, begin, size)


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(contents, output_type="int32", name=None):
    """Height, width and channels of a JPEG file."""
    return cast(op("Shape", OPS["DecodeJpeg"](contents)), output_type)


@export("io.is_jpeg", "image.is_jpeg")
def is_jpeg(contents, name=None):
    return op("Equal", op("Substr", contents, 0, 3), constant(b"\xff\xd8\xff"), name=name)
