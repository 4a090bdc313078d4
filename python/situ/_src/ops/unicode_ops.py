# SPDX-License-Identifier: Apache-2.0
"""unicode_ops.py: tf.strings: bytes, Unicode characters, substrings, n-grams and reduce_join (on
the host)."""

from __future__ import annotations

import numpy

from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.script_ops import on_host

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, TensorLike

_ENCODINGS = {
    "UTF-8": "utf-8",
    "UTF-16-BE": "utf-16-be",
    "UTF-32-BE": "utf-32-be",
    "US ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "LATIN1": "latin-1",
}


def _encoding(name):
    return _ENCODINGS.get(name.upper(), name)


def _split(strings, parts, dtype):
    """Splits a string into a vector, or a vector of strings into a ragged tensor."""
    strings = convert_to_tensor(strings, "string")
    kind = object if as_dtype(dtype).name == "string" else "int32"

    def call(array):
        rows = [parts(t) for t in numpy.asarray(array, object).reshape(-1)]
        flat = [p for row in rows for p in row]
        values = numpy.empty(len(flat), kind)
        values[:] = flat
        return values, numpy.cumsum([0, *[len(r) for r in rows]]).astype("int64")

    count = strings.shape.as_list()[0] if strings.shape.rank else None
    values, splits = on_host(
        call, [strings], [dtype, "int64"], [[None], [None if count is None else count + 1]]
    )
    if strings.shape.rank == 0:
        return values
    if strings.shape.rank != 1:
        raise ValueError(
            "situ splits a string or a vector of strings, but the input has rank "
            f"{strings.shape.rank}."
        )
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _characters(text, encoding, errors, replacement):
    how = {"strict": "strict", "ignore": "ignore"}.get(errors, "replace")
    result = text.decode(_encoding(encoding), how)
    return result.replace("\ufffd", chr(replacement)) if how == "replace" else result


@export("strings.bytes_split")
def bytes_split(input: TensorLike, name: str | None = None) -> Any:
    """Splits strings into bytes."""
    with scope(name, "StringsByteSplit"):
        return _split(input, lambda t: [t[i : i + 1] for i in range(len(t))], "string")


@export("strings.unicode_split")
def unicode_split(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Splits strings into characters, encoded as UTF-8."""
    with scope(name, "UnicodeSplit"):
        return _split(
            input,
            lambda t: [
                c.encode() for c in _characters(t, input_encoding, errors, replacement_char)
            ],
            "string",
        )


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
      input: A string, or a vector of strings.
      input_encoding: The encoding, such as "UTF-8" or "UTF-16-BE".
      errors: "strict", "replace" or "ignore".
      replacement_char: The code point that replaces invalid bytes.
      replace_control_characters: Must be false.
      name: A name for the operation (optional).

    Returns:
      An int32 vector; a ragged tensor for a vector of strings.
    """
    with scope(name, "UnicodeDecode"):
        unsupported(
            "unicode_decode", replace_control_characters=(replace_control_characters, False)
        )
        return _split(
            input,
            lambda t: [ord(c) for c in _characters(t, input_encoding, errors, replacement_char)],
            "int32",
        )


def _offsets(input, input_encoding, errors, replacement_char):
    def starts(text):
        result, at = [], 0
        for c in _characters(text, input_encoding, errors, replacement_char):
            result.append(at)
            at += len(c.encode(_encoding(input_encoding)))
        return result

    offsets = _split(input, starts, "int32")
    from situ._src.ops.array_ops import cast

    if isinstance(offsets, RaggedTensor):
        return offsets.with_values(cast(offsets.values, "int64"))
    return cast(offsets, "int64")


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Decodes strings to code points and the byte offset of each."""
    with scope(name, "UnicodeDecodeWithOffsets"):
        return (
            unicode_decode(
                input, input_encoding, errors, replacement_char, replace_control_characters
            ),
            _offsets(input, input_encoding, errors, replacement_char),
        )


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: TensorLike,
    input_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Splits strings into characters and the byte offset of each."""
    with scope(name, "UnicodeSplitWithOffsets"):
        return (
            unicode_split(input, input_encoding, errors, replacement_char),
            _offsets(input, input_encoding, errors, replacement_char),
        )


@export("strings.unicode_encode")
def unicode_encode(
    input: TensorLike,
    output_encoding: TensorLike,
    errors: str = "replace",
    replacement_char: TensorLike = 0xFFFD,
    name: str | None = None,
) -> Any:
    """Encodes code points as strings, one per row."""
    with scope(name, "UnicodeEncode"):
        unsupported("unicode_encode", errors=(errors, "replace"))

        def encode(numbers):
            return "".join(
                chr(int(n)) if 0 <= n < 0x110000 else chr(replacement_char) for n in numbers
            ).encode(_encoding(output_encoding))

        if isinstance(input, RaggedTensor):

            def rows(values, splits):
                return [
                    numpy.array([encode(values[a:b]) for a, b in zip(splits, splits[1:])], object)
                ]

            return on_host(rows, [input.values, input.row_splits], ["string"], [[None]])[0]
        numbers = convert_to_tensor(input)

        def encode_rows(array):
            flat = array.reshape(-1, array.shape[-1])
            return [numpy.array([encode(r) for r in flat], object).reshape(array.shape[:-1])]

        return on_host(encode_rows, [numbers], ["string"], [numbers.shape.as_list()[:-1]])[0]


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
    """Converts strings to another encoding."""
    unsupported("unicode_transcode", replace_control_characters=(replace_control_characters, False))
    from situ._src.ops.string_ops import map_strings

    return map_strings(
        lambda t: _characters(t, input_encoding, errors, replacement_char).encode(
            _encoding(output_encoding), "replace"
        ),
        input,
        "string",
        object,
        name,
    )


def _substring(text, pos, size, unit):
    whole = text.decode(errors="replace") if unit == "UTF8_CHAR" else text
    at = pos + len(whole) if pos < 0 else pos
    if not 0 <= at <= len(whole):
        raise errors.invalid_argument(f"pos {pos} out of range for string {text!r}")
    part = whole[at : at + size]
    return part.encode() if unit == "UTF8_CHAR" else part


def _substrings(strings, pos, size, unit, name):
    if isinstance(strings, RaggedTensor):
        return strings.with_flat_values(_substrings(strings.flat_values, pos, size, unit, name))
    strings, pos, size = (
        convert_to_tensor(strings, "string"),
        convert_to_tensor(pos),
        convert_to_tensor(size),
    )

    def call(array, first, count):
        array, first, count = numpy.broadcast_arrays(numpy.asarray(array, object), first, count)
        result = [
            _substring(t, int(a), int(n), unit)
            for t, a, n in zip(array.flat, first.flat, count.flat)
        ]
        return [numpy.array([*result, None], object)[:-1].reshape(array.shape)]

    return on_host(call, [strings, pos, size], ["string"], [strings.shape], name)[0]


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
    return _substrings(input, pos, len, unit, name)


@export(v1=("strings.substr", "substr"))
def substr_v1(
    input: TensorLike, pos: TensorLike, len: TensorLike, name: str | None = None, unit: str = "BYTE"
) -> Any:
    """Returns substrings; see `tf.strings.substr`."""
    return _substrings(input, pos, len, unit, name)


def _reduce_join(inputs, axis, keep, separator, name):
    strings = convert_to_tensor(inputs, "string")
    rank = strings.shape.rank
    if rank is None:
        raise ValueError("tf.strings.reduce_join: situ needs a tensor of known rank.")
    axes = list(range(rank))[::-1] if axis is None else [int(a) % rank for a in numpy.ravel(axis)]
    rest = [i for i in range(rank) if i not in axes]

    def result(sizes):
        return (
            [1 if i in axes else sizes[i] for i in range(rank)]
            if keep
            else [sizes[i] for i in rest]
        )

    def call(array):
        array = numpy.asarray(array, object)
        rows = array.transpose([*rest, *axes[::-1]]).reshape(  # the first axis is joined first
            int(numpy.prod([array.shape[i] for i in rest])),
            int(numpy.prod([array.shape[i] for i in axes])),
        )
        made = numpy.array([*[separator.encode().join(r) for r in rows], None], object)[:-1]
        return [made.reshape(result(array.shape))]

    with scope(None, "ReduceJoin"):
        return on_host(call, [strings], ["string"], [result(strings.shape.as_list())], name)[0]


@export(v2="strings.reduce_join")
def reduce_join(
    inputs: TensorLike,
    axis: Axis = None,
    keepdims: bool | None = False,
    separator: str = "",
    name: str | None = None,
) -> Any:
    """Joins the strings along dimensions, all by default."""
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
    """Joins the strings along dimensions; see `tf.strings.reduce_join`."""
    axis = reduction_indices if axis is None else axis
    return _reduce_join(inputs, axis, bool(keepdims or keep_dims), separator, name)


@export("strings.ngrams")
def ngrams(
    data: TensorLike,
    ngram_width: TensorLike,
    separator: str = " ",
    pad_values: TensorLike = None,
    padding_width: TensorLike = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the n-grams of each row of strings."""
    with scope(name, "StringNGrams"):
        widths = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        left, right = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values,) * 2
        is_vector = (
            not isinstance(data, RaggedTensor) and convert_to_tensor(data, "string").shape.rank == 1
        )
        if is_vector:
            data = RaggedTensor.from_row_lengths(data, [convert_to_tensor(data).shape.as_list()[0]])
        rows = (
            data
            if isinstance(data, RaggedTensor)
            else RaggedTensor.from_tensor(convert_to_tensor(data, "string"))
        )

        def grams(words):
            found = []
            for width in widths:
                pad = 0 if left is None else min(width - 1, padding_width or width - 1)
                whole = [*[left and left.encode()] * pad, *words, *[right and right.encode()] * pad]
                some = [whole[i : i + width] for i in range(len(whole) - width + 1)]
                if preserve_short_sequences and not some and whole:
                    some = [whole]
                found += [separator.encode().join(s) for s in some]
            return found

        def call(values, splits):
            result = [grams(list(values[a:b])) for a, b in zip(splits, splits[1:])]
            flat = numpy.array([*[g for row in result for g in row], None], object)[:-1]
            return flat, numpy.cumsum([0, *[len(r) for r in result]]).astype("int64")

        values, splits = on_host(
            call,
            [rows.values, rows.row_splits],
            ["string", "int64"],
            [[None], rows.row_splits.shape],
        )
        if is_vector:
            return values
        result = RaggedTensor.from_row_splits(values, splits, validate=False)
        return result if isinstance(data, RaggedTensor) else result.to_tensor()
