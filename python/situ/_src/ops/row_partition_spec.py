# SPDX-License-Identifier: Apache-2.0
"""row_partition_spec.py: the TypeSpec of tf.experimental.RowPartition."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.type_spec import TensorSpec, TypeSpec
from situ._src.ops.row_partition import RowPartition

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike


def _fits(nrows, nvals, size):
    """Returns whether rows of one size can hold the values; None is unknown."""
    if nvals is None or not nvals and size is None:
        return True
    if 0 in (nrows, size):
        return nvals == 0
    if size is None:
        return True
    return nvals % size == 0 and nrows in (None, nvals // size)


@export("python.ops.ragged.row_partition.RowPartitionSpec")
class RowPartitionSpec(TypeSpec):
    """Describes a tf.experimental.RowPartition.

    Args:
      nrows: The number of rows, or None.
      nvals: The number of values, or None.
      uniform_row_length: The length of each row, or None if it is unknown or rows may differ.
      dtype: The type of the encodings, int32 or int64.

    Raises:
      ValueError: the numbers do not match, or the type is another one.
    """

    value_type = RowPartition  # type: ignore[assignment]

    def __init__(
        self,
        nrows: int | None = None,
        nvals: int | None = None,
        uniform_row_length: int | None = None,
        dtype: DTypeLike = "int64",
    ):
        self.dtype = as_dtype(dtype)
        if self.dtype.name not in ("int32", "int64"):
            raise ValueError("dtype must be tf.int32 or tf.int64")
        sizes = tensor_shape.as_shape([nrows, nvals, uniform_row_length]).as_list()
        if not _fits(*sizes):
            raise ValueError(
                f"nvals={nvals} is not compatible with nrows={nrows} and "
                f"uniform_row_length={uniform_row_length}"
            )
        self.nrows, self.nvals, self.uniform_row_length = sizes
        if self.nvals is None and None not in (self.nrows, self.uniform_row_length):
            self.nvals = self.nrows * self.uniform_row_length
        if self.nrows is None and self.nvals is not None and self.uniform_row_length:
            self.nrows = self.nvals // self.uniform_row_length
        self.shape = tensor_shape.as_shape([self.nrows, self.uniform_row_length])

    @classmethod
    def from_value(cls, value: Any) -> RowPartitionSpec:
        """Returns the spec of a row partition.

        Args:
          value: The row partition.

        Raises:
          TypeError: the value is something else.
        """
        if not isinstance(value, RowPartition):
            raise TypeError("Expected `value` to be a `RowPartition`")
        return cls(
            value.static_nrows, value.static_nvals, value.static_uniform_row_length, value.dtype
        )

    def _sizes(self):
        return [self.nrows, self.nvals, self.uniform_row_length]

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a partition, or one of another spec, can match this spec.

        Args:
          spec_or_value: A spec or a value.
        """
        other = spec_or_value
        if isinstance(other, RowPartition):
            other = other._type_spec
        if type(other) is not type(self) or other.dtype != self.dtype:
            return False
        try:
            return _fits(*self._merged(other))
        except ValueError:
            return False

    def _merged(self, other):
        mine = tensor_shape.as_shape(self._sizes())
        return mine.merge_with(tensor_shape.as_shape(other._sizes())).as_list()

    def is_subtype_of(self, other: Any) -> bool:
        """Returns whether every partition of this spec is one of the other's.

        Args:
          other: A spec.
        """
        return self.most_specific_common_supertype([other]) == other

    def most_specific_common_supertype(self, others: Any) -> Any:
        """Returns the narrowest spec that includes this one and others, or None.

        Args:
          others: A list of specs.
        """
        sizes = tensor_shape.as_shape(self._sizes())
        for other in others:
            if type(other) is not type(self) or other.dtype != self.dtype:
                return None
            theirs = tensor_shape.as_shape(other._sizes())
            sizes = sizes.most_specific_compatible_shape(theirs)
        nrows, nvals, size = sizes.as_list()
        return RowPartitionSpec(nrows, nvals, size, self.dtype)

    def _merge_with(self, other):
        """Returns the spec of the partitions that match this spec and another.

        Raises:
          ValueError: there are none.
        """
        sizes = self._merged(other)
        if not _fits(*sizes):
            raise ValueError("Merging incompatible RowPartitionSpecs")
        if self.dtype != other.dtype:
            raise ValueError("Merging RowPartitionSpecs with incompatible dtypes")
        nrows, nvals, size = sizes
        return RowPartitionSpec(nrows, nvals, size, self.dtype)

    def with_dtype(self, dtype: DTypeLike) -> RowPartitionSpec:
        """Returns the spec with another type of the encodings.

        Args:
          dtype: int32 or int64.
        """
        return RowPartitionSpec(self.nrows, self.nvals, self.uniform_row_length, dtype)

    @property
    def _situ_tensors_(self):
        return [TensorSpec([None if self.nrows is None else self.nrows + 1], self.dtype)]

    def _situ_from_tensors_(self, pieces):
        return RowPartition.of_splits(pieces[0], self.uniform_row_length)

    def _serialize(self):
        return (*self._sizes(), self.dtype)

    def __eq__(self, other):
        return type(other) is type(self) and self._serialize() == other._serialize()

    def __hash__(self):
        return hash((type(self), *self._serialize()))

    def __repr__(self):
        return (
            f"RowPartitionSpec(nrows={self.nrows}, nvals={self.nvals}, "
            f"uniform_row_length={self.uniform_row_length}, dtype={self.dtype!r})"
        )
