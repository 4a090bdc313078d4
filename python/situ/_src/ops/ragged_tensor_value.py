# SPDX-License-Identifier: Apache-2.0
"""ragged_tensor_value.py: tf.compat.v1.ragged.RaggedTensorValue: the arrays of a ragged tensor."""

from __future__ import annotations

import numpy

from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        TensorLike,
    )


@export(v1="ragged.RaggedTensorValue")
class RaggedTensorValue:
    """The value of a ragged tensor, as a session returns it.

    Args:
      values: A NumPy array, or another RaggedTensorValue.
      row_splits: A vector of int32 or int64.

    Raises:
      TypeError: an argument is of another type.
      ValueError: the row splits of `values` have another type.
    """

    _situ_leaf_ = True

    def __init__(self, values: TensorLike, row_splits: Any):
        is_array = isinstance(row_splits, (numpy.ndarray, numpy.generic))
        if (
            not is_array
            or row_splits.dtype not in (numpy.int64, numpy.int32)
            or row_splits.ndim != 1
        ):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (numpy.ndarray, numpy.generic, RaggedTensorValue)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values, self._row_splits = values, row_splits

    row_splits = property(lambda s: s._row_splits, doc="The points between rows.")
    values = property(lambda s: s._values, doc="The values of all rows, in order.")
    dtype = property(lambda s: s._values.dtype, doc="The NumPy type of the values.")

    @property
    def flat_values(self) -> Any:
        """The values as an array."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple:
        """The row splits of all ragged dimensions."""
        inner = self._values
        nested = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self._row_splits, *nested)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple:
        """The shape, with None for ragged dimensions."""
        return (self._row_splits.shape[0] - 1, None, *self._values.shape[1:])

    def to_list(self) -> list:
        """Returns nested Python lists."""
        inner = self._values
        rows = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        splits = self._row_splits
        return [rows[splits[i] : splits[i + 1]] for i in range(len(splits) - 1)]

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def ragged_value(arrays):
    """Returns the RaggedTensorValue of flat values and nested row splits."""
    value, *splits = arrays
    for rows in reversed(splits):
        value = RaggedTensorValue(value, rows)
    return value
