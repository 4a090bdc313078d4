# SPDX-License-Identifier: Apache-2.0
"""unicode_ops.py: parts of texts: bytes, characters, n-grams; texts joined along dimensions."""

import numpy

from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.script_ops import on_host

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


def _split(texts, parts, dtype):
    """A vector of the parts of a text; of a vector of texts, rows."""
    texts = convert_to_tensor(texts, "string")
    kind = object if as_dtype(dtype).name == "string" else "int32"

    def call(array):
        rows = [parts(t) for t in numpy.asarray(array, object).reshape(-1)]
        flat = [p for row in rows for p in row]
        values = numpy.empty(len(flat), kind)
        values[:] = flat
        return values, numpy.cumsum([0, *[len(r) for r in rows]]).astype("int64")

    count = texts.shape.as_list()[0] if texts.shape.rank else None
    values, splits = on_host(
        call, [texts], [dtype, "int64"], [[None], [None if count is None else count + 1]]
    )
    if texts.shape.rank == 0:
        return values
    if texts.shape.rank != 1:
        raise ValueError(
            f"situ splits a text or a vector of texts, but this has rank {texts.shape.rank}."
        )
    return RaggedTensor.from_row_splits(values, splits, validate=False)


def _characters(text, encoding, errors, replacement):
    how = {"strict": "strict", "ignore": "ignore"}.get(errors, "replace")
    made = text.decode(_encoding(encoding), how)
    return made.replace("\ufffd", chr(replacement)) if how == "replace" else made


@export("strings.bytes_split")
def bytes_split(input, name=None):
    """The bytes of texts."""
    return _split(input, lambda t: [t[i : i + 1] for i in range(len(t))], "string")


@export("strings.unicode_split")
def unicode_split(input, input_encoding, errors="replace", replacement_char=0xFFFD, name=None):
    """The characters of texts, each as a text in UTF-8."""
    return _split(
        input,
        lambda t: [c.encode() for c in _characters(t, input_encoding, errors, replacement_char)],
        "string",
    )


@export("strings.unicode_decode")
def unicode_decode(
    input,
    input_encoding,
    errors="replace",
    replacement_char=0xFFFD,
    replace_control_characters=False,
    name=None,
):
    """The characters of texts as numbers."""
    unsupported("unicode_decode", replace_control_characters=(replace_control_characters, False))
    return _split(
        input,
        lambda t: [ord(c) for c in _characters(t, input_encoding, errors, replacement_char)],
        "int32",
    )


def _offsets(input, input_encoding, errors, replacement_char):
    def starts(text):
        made, at = [], 0
        for c in _characters(text, input_encoding, errors, replacement_char):
            made.append(at)
            at += len(c.encode(_encoding(input_encoding)))
        return made

    found = _split(input, starts, "int32")
    from situ._src.ops.array_ops import cast

    if isinstance(found, RaggedTensor):
        return found.with_values(cast(found.values, "int64"))
    return cast(found, "int64")


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input,
    input_encoding,
    errors="replace",
    replacement_char=0xFFFD,
    replace_control_characters=False,
    name=None,
):
    """The characters as numbers, and the byte at which each begins."""
    return (
        unicode_decode(input, input_encoding, errors, replacement_char, replace_control_characters),
        _offsets(input, input_encoding, errors, replacement_char),
    )


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input, input_encoding, errors="replace", replacement_char=0xFFFD, name=None
):
    return (
        unicode_split(input, input_encoding, errors, replacement_char),
        _offsets(input, input_encoding, errors, replacement_char),
    )


@export("strings.unicode_encode")
def unicode_encode(input, output_encoding, errors="replace", replacement_char=0xFFFD, name=None):
    """Texts of numbers of characters."""
    unsupported("unicode_encode", errors=(errors, "replace"))

    def text(numbers):
        return "".join(
            chr(int(n)) if 0 <= n < 0x110000 else chr(replacement_char) for n in numbers
        ).encode(_encoding(output_encoding))

    if isinstance(input, RaggedTensor):

        def rows(values, splits):
            return [numpy.array([text(values[a:b]) for a, b in zip(splits, splits[1:])], object)]

        return on_host(rows, [input.values, input.row_splits], ["string"], [[None]])[0]
    numbers = convert_to_tensor(input)

    def whole(array):
        flat = array.reshape(-1, array.shape[-1])
        return [numpy.array([text(r) for r in flat], object).reshape(array.shape[:-1])]

    return on_host(whole, [numbers], ["string"], [numbers.shape.as_list()[:-1]])[0]


@export("strings.unicode_transcode")
def unicode_transcode(
    input,
    input_encoding,
    output_encoding,
    errors="replace",
    replacement_char=0xFFFD,
    replace_control_characters=False,
    name=None,
):
    """Texts in another encoding."""
    unsupported("unicode_transcode", replace_control_characters=(replace_control_characters, False))
    from situ._src.ops.string_ops import _each

    return _each(
        lambda t: _characters(t, input_encoding, errors, replacement_char).encode(
            _encoding(output_encoding), "replace"
        ),
        input,
        "string",
        object,
    )


def _cut(text, pos, size, unit):
    whole = text.decode(errors="replace") if unit == "UTF8_CHAR" else text
    at = pos + len(whole) if pos < 0 else pos
    if not 0 <= at <= len(whole):
        raise errors.invalid_argument(f"pos {pos} out of range for string {text!r}")
    part = whole[at : at + size]
    return part.encode() if unit == "UTF8_CHAR" else part


def _parts(texts, pos, size, unit):
    if isinstance(texts, RaggedTensor):
        return texts.with_flat_values(_parts(texts.flat_values, pos, size, unit))
    texts, pos, size = (
        convert_to_tensor(texts, "string"),
        convert_to_tensor(pos),
        convert_to_tensor(size),
    )

    def call(array, first, count):
        array, first, count = numpy.broadcast_arrays(numpy.asarray(array, object), first, count)
        made = [
            _cut(t, int(a), int(n), unit) for t, a, n in zip(array.flat, first.flat, count.flat)
        ]
        return [numpy.array([*made, None], object)[:-1].reshape(array.shape)]

    return on_host(call, [texts, pos, size], ["string"], [texts.shape])[0]


@export(v2="strings.substr")
def substr(input, pos, len, unit="BYTE", name=None):
    """Parts of texts: where they begin, and how long they are."""
    return _parts(input, pos, len, unit)


@export(v1=("strings.substr", "substr"))
def substr_v1(input, pos, len, name=None, unit="BYTE"):
    return _parts(input, pos, len, unit)


def _joined(inputs, axis, keep, separator):
    texts = convert_to_tensor(inputs, "string")
    rank = texts.shape.rank
    if rank is None:
        raise ValueError("situ has reduce_join for tensors of known rank only.")
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
        turned = array.transpose([*rest, *axes[::-1]]).reshape(  # the first axis is joined first
            int(numpy.prod([array.shape[i] for i in rest])),
            int(numpy.prod([array.shape[i] for i in axes])),
        )
        made = numpy.array([*[separator.encode().join(r) for r in turned], None], object)[:-1]
        return [made.reshape(result(array.shape))]

    return on_host(call, [texts], ["string"], [result(texts.shape.as_list())])[0]


@export(v2="strings.reduce_join")
def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """The texts along dimensions as one."""
    return _joined(inputs, axis, bool(keepdims), separator)


@export(v1=("strings.reduce_join", "reduce_join"))
def reduce_join_v1(
    inputs,
    axis=None,
    keep_dims=None,
    separator="",
    name=None,
    reduction_indices=None,
    keepdims=None,
):
    return _joined(
        inputs, reduction_indices if axis is None else axis, bool(keepdims or keep_dims), separator
    )


@export("strings.ngrams")
def ngrams(
    data,
    ngram_width,
    separator=" ",
    pad_values=None,
    padding_width=None,
    preserve_short_sequences=False,
    name=None,
):
    """Runs of neighbouring words, for each row."""
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
        made = [grams(list(values[a:b])) for a, b in zip(splits, splits[1:])]
        flat = numpy.array([*[g for row in made for g in row], None], object)[:-1]
        return flat, numpy.cumsum([0, *[len(r) for r in made]]).astype("int64")

    values, splits = on_host(
        call, [rows.values, rows.row_splits], ["string", "int64"], [[None], rows.row_splits.shape]
    )
    if is_vector:
        return values
    made = RaggedTensor.from_row_splits(values, splits, validate=False)
    return made if isinstance(data, RaggedTensor) else made.to_tensor()
