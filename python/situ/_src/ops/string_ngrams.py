# SPDX-License-Identifier: Apache-2.0
"""string_ngrams.py: tf.strings.ngrams: joined runs of neighboring strings."""

from __future__ import annotations

import numpy

from situ._src.framework import errors
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import concat, convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged, to_ragged
from situ._src.ops.script_ops import on_host

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, TensorLike


def _bytes(text):
    return text.encode() if isinstance(text, str) else bytes(text)


def _check_splits(splits, count):
    """Raises InvalidArgumentError if row splits do not divide `count` values."""
    before = 0
    for i, split in enumerate(splits):
        if i == 0 and split != 0:
            raise errors.InvalidArgumentError(
                None, None, f"First split value must be 0, got {split}"
            )
        if not before <= split <= count:
            raise errors.InvalidArgumentError(
                None, None, f"Invalid split value {split}, must be in [{before}, {count}]"
            )
        before = split
    if len(splits) and before != count:
        raise errors.InvalidArgumentError(
            None, None, f"Last split value must be data size. Expected {count}, got {before}"
        )


class _Grams:
    """The parameters of n-grams."""

    def __init__(self, separator, widths, pads, pad_width, keeps_short):
        self.separator, self.pads = _bytes(separator), [_bytes(pad) for pad in pads]
        self.widths, self.pad_width, self.keeps_short = list(widths), int(pad_width), keeps_short

    def _padded(self, words, count):
        left, right = self.pads
        return [left] * count + words + [right] * count

    def of(self, words):
        """Returns the n-grams of a row."""
        found = []
        for width in self.widths:
            pad = width - 1 if self.pad_width < 0 else min(self.pad_width, width - 1)
            if pad > (2**31 - 1) // 2 - len(words):
                raise errors.InvalidArgumentError(
                    None, None, f"Pad width could lead to integer overflow, got pad_width = {pad}"
                )
            whole = self._padded(words, pad)
            found += [
                self.separator.join(whole[i : i + width]) for i in range(len(whole) - width + 1)
            ]
        if found or not self.keeps_short or not words:
            return found
        if self.pad_width < 0:
            raise errors.InvalidArgumentError(
                None,
                None,
                "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths "
                f"are not provided, got {self.pad_width}",
            )
        return [self.separator.join(self._padded(words, self.pad_width))]

    def __call__(self, values, splits):
        """Returns the n-grams of all rows and their row splits."""
        if any(width <= 0 for width in self.widths):
            raise errors.InvalidArgumentError(
                None, None, "ngram_widths must contain positive values"
            )
        _check_splits(splits.tolist(), values.size)
        rows = [self.of(list(values[a:b])) for a, b in zip(splits, splits[1:])]
        flat = numpy.array([*[gram for row in rows for gram in row], None], object)[:-1]
        ends = numpy.cumsum([0, *[len(row) for row in rows]])[: max(splits.size, 0)]
        return flat, ends.astype(splits.dtype)


@export("raw_ops.StringNGrams")
def string_ngrams(
    data: TensorLike,
    data_splits: TensorLike,
    separator: str,
    ngram_widths: Any,
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
    name: str | None = None,
) -> Any:
    """Joins each run of neighboring strings of rows.

    Args:
      data: The strings of all rows.
      data_splits: The row splits.
      separator: The string between those that are joined.
      ngram_widths: The lengths of the runs.
      left_pad: What each row is padded with at its start.
      right_pad: What each row is padded with at its end.
      pad_width: The most strings of padding on each side; -1 for one less than the width.
      preserve_short_sequences: Whether a row that is too short gives one run of all its strings.
      name: A name for the operation (optional).

    Returns:
      The joined strings and their row splits.

    Raises:
      InvalidArgumentError: the row splits or widths are not valid.
    """
    values = convert_to_tensor(data, "string", name="data")
    splits = convert_to_tensor(data_splits, dtype_hint="int64", name="data_splits")
    grams = _Grams(
        separator, ngram_widths, (left_pad, right_pad), pad_width, preserve_short_sequences
    )
    return on_host(
        grams, [values, splits], ["string", splits.dtype.name], [[None], splits.shape], name
    )


def _pads(pad_values, padding_width):
    """Returns the padding of the start and the end, and its width."""
    if padding_width is not None and padding_width < 1:
        raise ValueError("padding_width must be greater than 0.")
    if pad_values is None:
        if padding_width is not None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        return ("", ""), 0
    pads = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if not all(isinstance(pad, (str, bytes)) for pad in pads[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return tuple(pads[:2]), -1 if padding_width is None else padding_width


@export("strings.ngrams")
def ngrams(
    data: TensorLike,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Joins each run of neighboring strings of the innermost dimension.

    Args:
      data: A ragged or dense tensor of strings.
      ngram_width: The length of the runs, or a list of lengths.
      separator: The string between those that are joined.
      pad_values: What each row is padded with: a string, or one for the start and one for the end.
      padding_width: The most strings of padding on each side; one less than the length by default.
      preserve_short_sequences: Whether a row that is too short gives one run of all its strings.
      name: A name for the operation (optional).

    Returns:
      A ragged tensor; for dense data a dense one.

    Raises:
      TypeError: padding is not a string.
      ValueError: a length or width is not positive, or the rank of the data is 0 or unknown.
    """
    with scope(name, "StringNGrams"):
        pads, width = _pads(pad_values, padding_width)
        widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        if any(n < 1 for n in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        flags = (separator, widths, *pads, width, preserve_short_sequences)
        rows = to_ragged(data) if is_ragged(data) else convert_to_tensor(data, "string")
        if isinstance(rows, RaggedTensor):
            return _of_rows(rows, flags)
        if rows.shape.rank is None:
            raise ValueError("Rank of data must be known.")
        if rows.shape.rank == 0:
            raise ValueError("Data must have rank>0")
        if rows.shape.rank == 1:
            splits = op("Pack", [0, op("Size", rows)])
            return string_ngrams(rows, splits, *flags)[0]
        made = _of_rows(RaggedTensor.from_tensor(rows, ragged_rank=rows.shape.rank - 1), flags)
        outer = op("Shape", rows)[:-1]
        return op("Reshape", made.flat_values, concat([outer, [-1]], 0))


def _of_rows(rows, flags):
    if rows.ragged_rank > 1:
        return rows.with_values(_of_rows(rows.values, flags))
    values, splits = string_ngrams(rows.flat_values, rows.row_splits, *flags)
    return RaggedTensor.from_row_splits(values, splits, validate=False)
