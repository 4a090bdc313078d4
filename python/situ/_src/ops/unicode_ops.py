# SPDX-License-Identifier: Apache-2.0
"""unicode_ops.py: tf.strings: bytes, Unicode characters, substrings, n-grams and reduce_join."""

from __future__ import annotations

import numpy

import _situ
from situ._src.framework.api import export
from situ._src.framework.errors import InvalidArgumentError
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.constant_op import is_tensor
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged, to_ragged
from situ._src.ops.script_ops import on_host

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, TensorLike


def _ranked(input, name):
    """Converts to a string tensor or a ragged tensor of known rank.

    Raises:
      ValueError: The rank is not known.
    """
    strings = to_ragged(input) if is_ragged(input) else convert_to_tensor(input, "string")
    if strings.shape.rank is None:
        raise ValueError(f"Rank of `{name}` must be statically known.")
    return strings


def _rows_of(strings):
    """Returns a tensor of rank 2 or more as a ragged tensor whose flat values are a vector."""
    rank = strings.shape.rank
    if rank < 2:
        return strings
    if not isinstance(strings, RaggedTensor):
        return RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
    flat, missing = strings.flat_values, rank - strings.ragged_rank - 1
    if missing:
        return strings.with_flat_values(RaggedTensor.from_tensor(flat, ragged_rank=missing))
    return strings


def _add_rows(strings, values, splits):
    """Returns the parts of strings: a vector for a scalar, else a ragged tensor of rank + 1."""
    if strings.shape.rank == 0:
        return values
    parts = RaggedTensor.from_row_splits(values, splits, validate=False)
    return strings.with_flat_values(parts) if isinstance(strings, RaggedTensor) else parts


def _flat(strings):
    values = strings.flat_values if isinstance(strings, RaggedTensor) else strings
    return op("Reshape", values, [-1])


@export("strings.bytes_split")
def bytes_split(input: TensorLike, name: str | None = None) -> Any:
    """Splits strings into bytes.

    Args:
      input: A string tensor or ragged tensor of known rank.
      name: A name for the operation (optional).

    Returns:
      A vector for a scalar, else a ragged tensor with one more dimension.

    Raises:
      ValueError: The rank is not known.
    """
    with scope(name, "StringsByteSplit"):
        strings = _rows_of(_ranked(input, "input"))
        indices, values, sizes = op("StringSplit", _flat(strings), "", skip_empty=False)
        if strings.shape.rank == 0:
            return values
        rows = RaggedTensor.from_value_rowids(values, indices[:, 0], sizes[0], validate=False)
        return strings.with_flat_values(rows) if isinstance(strings, RaggedTensor) else rows


def _decode(input, encoding, errors, replacement_char, controls=False, offsets=False):
    """Returns code points, and their offsets or None."""
    strings = _rows_of(_ranked(input, "input"))
    splits, codes, *starts = op(
        "UnicodeDecodeWithOffsets" if offsets else "UnicodeDecode",
        _flat(strings),
        input_encoding=encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=controls,
    )
    found = [_add_rows(strings, part, splits) for part in (codes, *starts)]
    return found[0], found[1] if offsets else None


def _encode_each(codes, encoding, errors, replacement_char):
    """Encodes each code point as a string."""
    flat = codes.flat_values if isinstance(codes, RaggedTensor) else codes
    splits = op("Range", 0, op("Size", flat) + 1, 1)
    strings = op(
        "UnicodeEncode",
        flat,
        splits,
        output_encoding=encoding,
        errors=errors,
        replacement_char=replacement_char,
    )
    return codes.with_flat_values(strings) if isinstance(codes, RaggedTensor) else strings


@export("strings.unicode_split")
def unicode_split(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Splits strings into characters, which keep the encoding.

    Args:
      input: A string tensor or ragged tensor of known rank.
      input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid bytes.
      name: A name for the operation (optional).

    Returns:
      A vector for a scalar, else a ragged tensor with one more dimension.

    Raises:
      ValueError: The rank is not known.
    """
    with scope(name, "UnicodeSplit"):
        codes, _ = _decode(input, input_encoding, errors, replacement_char)
        return _encode_each(codes, input_encoding, errors, replacement_char)


@export("strings.unicode_decode")
def unicode_decode(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Decodes strings to Unicode code points.

    Args:
      input: A string tensor or ragged tensor of known rank.
      input_encoding: The encoding, such as "UTF-8" or "UTF-16-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid bytes.
      replace_control_characters: Whether code points below 32 are replaced, too.
      name: A name for the operation (optional).

    Returns:
      An int32 vector for a scalar, else a ragged tensor with one more dimension.

    Raises:
      ValueError: The rank is not known.
    """
    with scope(name, "UnicodeDecode"):
        return _decode(input, input_encoding, errors, replacement_char, replace_control_characters)[
            0
        ]


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Decodes strings to code points and the byte offset of each; see `tf.strings.unicode_decode`.

    Args:
      input: A string tensor or ragged tensor of known rank.
      input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid bytes.
      replace_control_characters: Whether code points below 32 are replaced, too.
      name: A name for the operation (optional).

    Raises:
      ValueError: The rank is not known.
    """
    with scope(name, "UnicodeDecodeWithOffsets"):
        return _decode(
            input,
            input_encoding,
            errors,
            replacement_char,
            replace_control_characters,
            offsets=True,
        )


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Splits strings into characters and the byte offset of each; see `tf.strings.unicode_split`.

    Args:
      input: A string tensor or ragged tensor of known rank.
      input_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid bytes.
      name: A name for the operation (optional).

    Raises:
      ValueError: The rank is not known.
    """
    with scope(name, "UnicodeSplitWithOffsets"):
        codes, starts = _decode(input, input_encoding, errors, replacement_char, offsets=True)
        return _encode_each(codes, input_encoding, errors, replacement_char), starts


def _encode_tensor(codes, attrs):
    """Encodes a dense tensor of rank 1 or more, along its last dimension."""
    shape = op("Shape", codes)
    size = op("Size", shape)
    outer = op("Slice", shape, [0], op("ExpandDims", size - 1, 0))
    length = op("GatherV2", shape, size - 1, 0)
    rows = op("Range", 0, op("Prod", outer, [0]) + 1, 1) * length
    strings = op("UnicodeEncode", op("Reshape", codes, [-1]), rows, **attrs)
    result = op("Reshape", strings, outer)
    if not _situ.executing_eagerly():
        result.set_shape(codes.shape.as_list()[:-1])
    return result


@export("strings.unicode_encode")
def unicode_encode(
    input: TensorLike,
    output_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Encodes code points as strings, along the last dimension.

    Args:
      input: An integer tensor or ragged tensor of known rank, at least 1.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid ones.
      name: A name for the operation (optional).

    Returns:
      A string tensor or ragged tensor with one dimension less.

    Raises:
      ValueError: The rank is not known or 0.
    """
    with scope(name, "UnicodeEncode"):
        codes = to_ragged(input)
        if codes.shape.rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if codes.shape.rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        attrs = {
            "output_encoding": output_encoding,
            "errors": errors,
            "replacement_char": replacement_char,
        }
        if not isinstance(codes, RaggedTensor):
            return _encode_tensor(codes, attrs)
        if codes.flat_values.shape.rank > 1:
            return codes.with_flat_values(_encode_tensor(codes.flat_values, attrs))
        if codes.ragged_rank > 1:
            return codes.with_values(unicode_encode(codes.values, **attrs))
        return op("UnicodeEncode", codes.values, codes.row_splits, **attrs)


@export("strings.unicode_transcode")
def unicode_transcode(
    input: TensorLike,
    input_encoding: TensorLike,
    output_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Converts strings to another encoding.

    Args:
      input: A string tensor or ragged tensor.
      input_encoding: The encoding of the strings, such as "UTF-8" or "UTF-16-BE".
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid bytes.
      replace_control_characters: Whether code points below 32 are replaced, too.
      name: A name for the operation (optional).

    Returns:
      A tensor or ragged tensor of the same shape.
    """

    def transcode(strings):
        return op(
            "UnicodeTranscode",
            strings,
            input_encoding=input_encoding,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
            name=name,
        )

    if is_ragged(input):
        strings = to_ragged(input)
        return strings.with_flat_values(transcode(strings.flat_values))
    return transcode(input)


@export(v2="strings.substr")
def substr(
    input: TensorLike, pos: TensorLike, len: TensorLike, unit: str = "BYTE", name: str | None = None
) -> Any:
    """Returns substrings.

    Args:
      input: A string tensor.
      pos: The position of the first byte or character; negative values count from the end.
      len: The length.
      unit: "BYTE" or "UTF8_CHAR".
      name: A name for the operation (optional).

    Returns:
      A string tensor.
    """
    if is_ragged(input):
        strings = to_ragged(input)
        return strings.with_flat_values(substr(strings.flat_values, pos, len, unit, name))
    return op("Substr", input, pos, len, unit=unit, name=name)


@export(v1=("strings.substr", "substr"))
def substr_v1(
    input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> Any:
    """Returns substrings; see `tf.strings.substr`.

    Args:
      input: A string tensor or ragged tensor of known rank.
      pos: The position of the first byte or character; negative values count from the end.
      len: The length.
      name: A name for the operation (optional).
      unit: "BYTE" or "UTF8_CHAR".
    """
    return substr(input, pos, len, unit, name)


def _joined_axes(axis, rank):
    """Returns the axes that are joined, as numbers from 0; all in reverse order if `axis` is None.
    The first one is joined first."""
    if axis is None:
        return list(range(rank))[::-1]
    axes = [int(a) for a in numpy.ravel(axis)]
    for a in axes:
        if not -rank <= a < rank:
            raise ValueError(f"Invalid reduction dimension {a} for input with {rank} dimensions.")
    axes = [a % rank for a in axes]
    if len(set(axes)) < len(axes):
        raise ValueError(f"Duplicate reduction dimension in {numpy.ravel(axis).tolist()}.")
    return axes


def _joined_shape(sizes, axes, keep):
    if keep:
        return [1 if i in axes else size for i, size in enumerate(sizes)]
    return [size for i, size in enumerate(sizes) if i not in axes]


def _reduce_join(inputs, axis, keep, separator, name):
    strings = convert_to_tensor(inputs, "string")
    rank = strings.shape.rank
    inputs, fixed = [strings], axis
    if is_tensor(axis):
        fixed = constant_value(axis)
        if fixed is None:
            inputs, rank = [strings, axis], None
    shape = None
    if rank is not None:
        shape = _joined_shape(strings.shape.as_list(), _joined_axes(fixed, rank), keep)

    def call(array, *given):
        array = numpy.asarray(array, object)
        try:
            axes = _joined_axes(*given or [fixed], array.ndim)
        except ValueError as error:
            raise InvalidArgumentError(None, None, str(error)) from None
        rest = [i for i in range(array.ndim) if i not in axes]
        rows = array.transpose([*rest, *axes[::-1]]).reshape(  # the first axis is joined first
            int(numpy.prod([array.shape[i] for i in rest])),
            int(numpy.prod([array.shape[i] for i in axes])),
        )
        made = numpy.array([*[separator.encode().join(r) for r in rows], None], object)[:-1]
        return [made.reshape(_joined_shape(array.shape, axes, keep))]

    with scope(None, "ReduceJoin"):
        return on_host(call, inputs, ["string"], [shape], name)[0]


@export(v2="strings.reduce_join")
def reduce_join(
    inputs: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Joins the strings along dimensions, all by default.

    Args:
      inputs: Tensor of strings.
      axis: Dimension, or list of dimensions; default: all.
      keepdims: Whether to keep reduced dimensions with size 1.
      separator: String between the strings.
      name: A name for the operation (optional).
    """
    return _reduce_join(inputs, axis, bool(keepdims), separator, name)


@export(v1=("strings.reduce_join", "reduce_join"))
def reduce_join_v1(
    inputs: TensorLike,
    axis: Axis = None,
    keep_dims: bool | None = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keepdims: bool | None = None,
) -> Any:
    """Joins the strings along dimensions; see `tf.strings.reduce_join`.

    Args:
      inputs: Tensor of strings.
      axis: Dimension, or list of dimensions; default: all.
      keep_dims: Old name of keepdims.
      separator: String between the strings.
      name: A name for the operation (optional).
      reduction_indices: Old name of axis.
      keepdims: Whether to keep reduced dimensions with size 1.
    """
    axis = reduction_indices if axis is None else axis
    return _reduce_join(inputs, axis, bool(keepdims or keep_dims), separator, name)
