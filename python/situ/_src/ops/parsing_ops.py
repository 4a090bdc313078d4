# SPDX-License-Identifier: Apache-2.0
"""parsing_ops.py: parses tf.Example records and CSV lines into tensors."""

from __future__ import annotations

from situ._src.framework import errors
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.tensor_shape import as_shape
from situ._src.ops import parsing_config
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.parsing_config import FixedLenFeature, FixedLenSequenceFeature
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


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
        if not parsing_config.is_known(feature):
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
    types = parsing_config.variable_length(features)
    sparse = sorted(types)
    dense = sorted(
        k for k, f in features.items() if isinstance(f, (FixedLenFeature, FixedLenSequenceFeature))
    )
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
            sparse_types=[types[k] for k in sparse],
            dense_shapes=shapes,
            name="ParseExample",
        )
        parts = parts if isinstance(parts, (list, tuple)) else [parts]
        n = len(sparse)
        found = {key: SparseTensor(*parts[i : 3 * n : n]) for i, key in enumerate(sparse)}
        batched = serialized.shape.rank != 0
        results = parsing_config.of_records(features, found, batched)
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


@export("io.decode_raw")
def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Any:
    """Reinterprets the bytes of strings as numbers.

    Args:
      input_bytes: A tensor of strings.
      out_type: The type of the numbers.
      little_endian: Whether the numbers are little-endian.
      fixed_length: The bytes of each string that are used; shorter strings are padded with zeros.
        By default all strings must have the same length.
      name: A name for the operation (optional).

    Returns:
      A tensor with one more dimension.

    Raises:
      InvalidArgumentError: `fixed_length` is not a multiple of the size of the type.
    """
    with scope(name, "DecodeRaw"):
        data = convert_to_tensor(input_bytes, "string")
        if fixed_length is None:
            return op("DecodeRaw", data, out_type=out_type, little_endian=little_endian)
        return op(
            "DecodePaddedRaw",
            data,
            convert_to_tensor(fixed_length, "int32"),
            out_type=out_type,
            little_endian=little_endian,
        )


@export(v1=("io.decode_raw", "decode_raw"))
def decode_raw_v1(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,  # the name of `input_bytes` in TensorFlow 1
) -> Any:
    """Reinterprets the bytes of strings of one length as numbers; see `tf.io.decode_raw`.

    Args:
      input_bytes: A tensor of strings.
      out_type: The type of the numbers.
      little_endian: Whether the numbers are little-endian.
      name: A name for the operation (optional).
      bytes: Old name of input_bytes.
    """
    data = bytes if input_bytes is None else input_bytes
    return decode_raw(data, out_type, little_endian, name=name)
