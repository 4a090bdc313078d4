# SPDX-License-Identifier: Apache-2.0
"""string_ops.py: tf.strings: format, split, hash buckets and regular expressions."""

from __future__ import annotations

import time

import numpy

import _situ
from situ._src.framework import api
from situ._src.framework.api import export
from situ._src.framework.keywords import with_order
from situ._src.ops import sparse_ops
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.script_ops import py_func

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


@export("strings.format")
def format_(
    template: TensorLike,
    inputs: TensorLike,
    placeholder: str = "{}",
    summarize: int | None = 3,
    name: str | None = None,
) -> Tensor:
    """Formats a string template with tensors.

    Args:
      template: A string with placeholders.
      inputs: A tensor or a list of tensors, one per placeholder.
      placeholder: The string that stands for a tensor.
      summarize: The number of first and last elements to print of each dimension.
      name: A name for the operation (optional).

    Returns:
      A scalar string tensor.

    Raises:
      ValueError: If the number of placeholders and tensors differs.
    """
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(inputs) + 1:
        raise ValueError(
            f"{len(parts) - 1} placeholder(s) in template does not match "
            f"{len(inputs)} tensor(s) provided as input"
        )
    return op(
        "StringFormat",
        inputs,
        template=template,
        placeholder=placeholder,
        summarize=summarize,
        name=name,
    )


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Returns the seconds since the epoch when the operation runs, as float64."""
    if _situ.current_graph() is None:
        return convert_to_tensor(time.time(), "float64")
    result = py_func(lambda: numpy.float64(time.time()), [], "float64", name=name)
    result = result[0] if isinstance(result, (list, tuple)) else result
    result.set_shape([])
    return result


def map_strings(function, strings, dtype, kind, name=None):
    """Applies a Python function to each string of a tensor or ragged tensor, on the host."""
    if hasattr(strings, "with_flat_values"):
        flat = map_strings(function, strings.flat_values, dtype, kind, name)
        return strings.with_flat_values(flat)
    tensor = convert_to_tensor(strings)

    def call(array):
        array = numpy.asarray(array, object)
        return numpy.array([function(t) for t in array.reshape(-1)], kind).reshape(array.shape)

    if _situ.current_graph() is None:
        return convert_to_tensor(call(tensor.numpy()), dtype)
    result = py_func(call, [tensor], dtype, name=name)
    result = result[0] if isinstance(result, (list, tuple)) else result
    result.set_shape(tensor.shape)
    return result


def _of_flat_values(function, strings):
    """Applies a function of tensors to a tensor, or to the flat values of a ragged tensor."""
    if hasattr(strings, "with_flat_values"):
        return strings.with_flat_values(function(strings.flat_values))
    return function(strings)


def _can_be_attr(text: TensorLike) -> bool:
    """Whether an argument is a string that an attribute can hold: one without NUL characters."""
    if isinstance(text, bytes):
        return b"\0" not in text
    return isinstance(text, str) and "\0" not in text


@export("strings.regex_replace", v1="regex_replace")
def regex_replace(
    input: TensorLike,
    pattern: TensorLike,
    rewrite: TensorLike,
    replace_global: bool = True,
    name: str | None = None,
) -> Any:
    """Replaces matches of a regular expression.

    Args:
      input: A string tensor.
      pattern: A regular expression in the syntax of RE2; a string or a scalar tensor.
      rewrite: The replacement; \\0 is the match, \\1 to \\9 are groups.
      replace_global: Whether to replace all matches, or only the first.
      name: A name for the operation (optional).

    Returns:
      A string tensor of the shape of `input`.
    """
    constant = _can_be_attr(pattern) and _can_be_attr(rewrite)

    def replace(strings):
        if constant:
            attrs = {"pattern": pattern, "rewrite": rewrite, "replace_global": replace_global}
            return op("StaticRegexReplace", strings, name=name, **attrs)
        return op(
            "RegexReplace", strings, pattern, rewrite, replace_global=replace_global, name=name
        )

    return _of_flat_values(replace, input)


@export("strings.regex_full_match")
def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Any:
    """Returns whether a regular expression (RE2) matches each whole string.

    Args:
      input: A tensor of strings.
      pattern: The regular expression.
      name: A name for the operation (optional).
    """

    def match(strings):
        if _can_be_attr(pattern):
            return op("StaticRegexFullMatch", strings, pattern=pattern, name=name)
        return op("RegexFullMatch", strings, pattern, name=name)

    return _of_flat_values(match, input)


@export(v1="string_split")
def string_split(
    source: TensorLike = None,
    sep: TensorLike = None,
    skip_empty: bool = True,
    delimiter: TensorLike = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """Splits each string of a vector; returns a SparseTensor, or a RaggedTensor as `result_type`
    says, with one row per string.

    Args:
      source: A vector of strings.
      sep: The separator; by default white space.
      skip_empty: Whether empty parts are dropped.
      delimiter: A deprecated name of `sep`.
      result_type: "SparseTensor" or "RaggedTensor".
      name: A name for the operation (optional).
    """
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    separator = delimiter if delimiter is not None else " " if sep is None else sep
    parts = op("StringSplit", source, separator, skip_empty=skip_empty, name=name)
    if result_type == "SparseTensor":
        return sparse_ops.SparseTensor(*parts)
    indices, values, sizes = parts
    return RaggedTensor.from_value_rowids(values, indices[:, 0], sizes[0], validate=False)


@export(v2="strings.to_hash_bucket")
def to_hash_bucket(input: TensorLike, num_buckets: TensorLike, name: str | None = None) -> Tensor:
    """Hashes each string to a bucket in [0, num_buckets).

    Args:
      input: A tensor of strings.
      num_buckets: The number of buckets.
      name: A name for the operation (optional).
    """
    return op("StringToHashBucket", input, num_buckets=num_buckets, name=name)


@export(v1=("strings.to_hash_bucket", "string_to_hash_bucket"))
def string_to_hash_bucket(
    string_tensor: TensorLike = None,
    num_buckets: TensorLike = None,
    name: str | None = None,
    input: TensorLike = None,
) -> Tensor:
    """Hashes each string to a bucket in [0, num_buckets).

    Args:
      string_tensor: A tensor of strings.
      num_buckets: The number of buckets.
      name: A name for the operation (optional).
      input: A tensor of strings.
    """
    return to_hash_bucket(string_tensor if input is None else input, num_buckets, name)


@export("strings.length", v1="string_length")
def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Any:
    """Returns the length of each string in bytes, or in characters with unit "UTF8_CHAR".

    Args:
      input: A tensor of strings.
      name: A name for the operation (optional).
      unit: "BYTE" or "UTF8_CHAR".
    """
    return api.OPS["StringLength"](input, unit=unit, name=name)


export(v2="strings.length")(with_order(string_length, "input", "unit", "name"))
