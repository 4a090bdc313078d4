# SPDX-License-Identifier: Apache-2.0
"""dynamic_ragged_shape_spec.py: what the TypeSpec of tf.experimental.DynamicRaggedShape knows, and
how such shapes are batched."""

from __future__ import annotations

import collections.abc
from typing import Any  # evaluated by extension_type.py

from situ._src.framework.dtypes import as_dtype
from situ._src.framework.extension_type import ExtensionTypeBatchEncoder
from situ._src.framework.tensor_shape import Dimension, as_shape
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import ones
from situ._src.ops.ragged_tensor import positive_axis
from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec
from situ._src.ops.row_partition_spec import RowPartitionSpec

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike


def _index_type(dtype):
    try:
        kind = as_dtype(dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Cannot convert the argument {dtype!r} to a TensorFlow DType.") from error
    if kind.name not in ("int32", "int64"):
        raise ValueError("dtype must be tf.int32 or tf.int64")
    return kind


def _with_first(size, shape):
    """Returns a shape of known rank with another first dimension."""
    return shape if shape.rank is None else as_shape([size, *shape.as_list()[1:]])


def _merged_counts(partitions, shape):
    """Returns the number of slices of each dimension from the first to that of the flat values."""
    counts: list = []
    for i, rows in enumerate(partitions):
        count = Dimension(rows.nrows)
        if i:
            before = partitions[i - 1]
            count = count.merge_with(before.nvals)
            count = count.merge_with(counts[-1] * before.uniform_row_length)
        counts.append(count)
    last = partitions[-1]
    count = (counts[-1] * last.uniform_row_length).merge_with(last.nvals)
    counts.append(count.merge_with(shape.as_list()[0]) if shape.rank else count)
    for i in range(len(partitions) - 1, -1, -1):
        size = partitions[i].uniform_row_length
        if size and counts[i + 1].value is not None:
            counts[i] = counts[i].merge_with(counts[i + 1].value // size)
    return [count.value for count in counts]


def _spec_type():
    from situ._src.ops.dynamic_ragged_shape import DynamicRaggedShape

    return DynamicRaggedShape.Spec


class SpecMethods:
    """The methods of the TypeSpec of a DynamicRaggedShape: what is known of its row partitions and
    inner shape.

    Args:
      row_partitions: A RowPartitionSpec for each row partition.
      static_inner_shape: The static shape of the flat values.
      dtype: The type of the shape, int32 or int64.

    Raises:
      TypeError: an argument is of another type.
      ValueError: the sizes do not match.
    """

    def __init__(self, row_partitions, static_inner_shape, dtype):
        message = "row_partitions should be an Iterable"
        if not isinstance(row_partitions, collections.abc.Iterable):
            raise TypeError(message)
        partitions, shape = tuple(row_partitions), as_shape(static_inner_shape)
        kind = _index_type(dtype)
        if not all(isinstance(rows, RowPartitionSpec) for rows in partitions):
            raise TypeError(message + " of RowPartitionSpecs")
        for rows in partitions:
            if rows.dtype != kind:
                raise ValueError(f"dtype of {rows!r} is {rows.dtype!r}: expected {kind!r}")
        if partitions and shape.rank == 0:
            raise ValueError("If row_partitions are provided, must have inner_rank > 0")
        if partitions:
            counts = _merged_counts(partitions, shape)
            shape = _with_first(counts[-1], shape)
            partitions = tuple(
                RowPartitionSpec(nrows, nvals, rows.uniform_row_length, kind)
                for rows, nrows, nvals in zip(partitions, counts, counts[1:])
            )
        self._static_inner_shape = shape
        self._inner_shape = TensorSpec([shape.rank], kind)
        self._row_partitions = partitions

    def __repr__(self):
        return (
            f"DynamicRaggedShape.Spec(row_partitions={self._row_partitions!r}, "
            f"static_inner_shape={self._static_inner_shape!r}, dtype={self.dtype!r})"
        )

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Returns the spec of a shape.

        Args:
          value: A DynamicRaggedShape.
        """
        partitions = [RowPartitionSpec.from_value(rows) for rows in value.row_partitions]
        return cls(partitions, value._known_inner_shape, value.dtype)

    @classmethod
    def _from_tensor_shape(cls, shape, num_row_partitions, dtype):
        """Returns the spec of the shape of dense tensors, some of whose dimensions become row
        partitions."""
        kind, shape = _index_type(dtype), as_shape(shape)
        if shape.rank is None:
            return cls([RowPartitionSpec(dtype=kind)] * num_row_partitions, shape, kind)
        if shape.rank <= 1 and num_row_partitions:
            raise ValueError("num_row_partitions should be zero if shape is a scalar or vector.")
        if shape.rank <= num_row_partitions and num_row_partitions:
            raise ValueError("num_row_partitions must be less than rank")
        sizes = shape.as_list()
        if not num_row_partitions:
            return cls([], shape, kind)
        partitions, count = [], sizes[0]
        for size in sizes[1 : num_row_partitions + 1]:
            rows = RowPartitionSpec(count, None, size, kind)
            partitions.append(rows)
            count = rows.nvals
        return cls(partitions, [count, *sizes[num_row_partitions + 1 :]], kind)

    @classmethod
    def _from_spec(cls, spec, dtype="int64"):
        """Returns the spec of the shapes of the values of a spec."""
        if isinstance(spec, _spec_type()):
            return spec
        ragged_rank = getattr(spec, "ragged_rank", None)
        if ragged_rank is not None:
            return cls._from_tensor_shape(spec.shape, ragged_rank, spec.row_splits_dtype)
        return cls._from_tensor_shape(spec.shape, 0, dtype)

    @property
    def dtype(self):
        """The type of the shape, int32 or int64."""
        return self._inner_shape.dtype

    @property
    def inner_rank(self):
        """The rank of the flat values, or None."""
        if self._static_inner_shape.rank is not None:
            return self._static_inner_shape.rank
        sizes = self._inner_shape.shape
        return sizes.as_list()[0] if sizes.rank else None

    @property
    def num_row_partitions(self):
        """The number of row partitions."""
        return len(self._row_partitions)

    @property
    def rank(self):
        """The number of dimensions, or None."""
        return None if self.inner_rank is None else self.inner_rank + self.num_row_partitions

    def _dimension(self, index):
        """Returns the size of a dimension, or None."""
        if 0 < index <= self.num_row_partitions:
            return self._row_partitions[index - 1].uniform_row_length
        if index == 0 and self._row_partitions:
            return self._row_partitions[0].nrows
        if self.inner_rank is None:
            return None
        if index >= self.rank:
            raise ValueError(f"Index out of range: {index}.")
        return self._static_inner_shape.as_list()[index - self.num_row_partitions]

    def _num_slices_in_dimension(self, axis):
        """Returns the number of slices of all dimensions up to one, or None."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        axis = positive_axis(axis, self.rank, "axis", "rank")
        if axis == 0:
            return self._dimension(0)
        if axis <= self.num_row_partitions:
            return self._row_partitions[axis - 1].nvals
        return self._static_inner_shape[: axis + 1 - self.num_row_partitions].num_elements()

    def with_dtype(self, dtype: DTypeLike) -> Any:
        """Returns the spec with another type.

        Args:
          dtype: int32 or int64.
        """
        partitions = [rows.with_dtype(dtype) for rows in self._row_partitions]
        return type(self)(partitions, self._static_inner_shape, dtype)

    def _merge_with(self, other):
        """Returns the spec of the shapes that match both specs."""
        count = max(self.num_row_partitions, other.num_row_partitions)
        a, b = self._with_num_row_partitions(count), other._with_num_row_partitions(count)
        partitions = [x._merge_with(y) for x, y in zip(a._row_partitions, b._row_partitions)]
        shape = a._static_inner_shape.merge_with(b._static_inner_shape)
        return type(self)(partitions, shape, b.dtype if a.dtype.name == "int32" else "int64")

    def _with_num_row_partitions(self, new_num_row_partitions):
        """Returns the spec with more or fewer row partitions of the same dimensions."""
        count, rank = new_num_row_partitions, self.rank
        if rank is None:
            raise ValueError("Changing num_row_partitions with unknown rank unsupported")
        if count > max(rank - 1, 0):
            raise ValueError("Number of row partitions too large")
        if count < 0:
            raise ValueError("Number of row partitions negative")
        more = count - self.num_row_partitions
        if not more:
            return self
        if more > 0:
            tail = self._from_tensor_shape(self._static_inner_shape, more, self.dtype)
            partitions = (*self._row_partitions, *tail._row_partitions)
            return type(self)(partitions, tail._static_inner_shape, self.dtype)
        kept, merged = self._row_partitions[:count], self._row_partitions[count:]
        sizes = [rows.uniform_row_length for rows in merged]
        inner = [merged[0].nrows, *sizes, *self._static_inner_shape.as_list()[1:]]
        return type(self)(kept, inner, self.dtype)

    def _set_rank_if_unknown(self, new_rank):
        """Returns the spec with a known rank of at least `new_rank`."""
        if new_rank is None:
            raise TypeError("new_rank is None, but expected int")
        if new_rank < 0:
            raise ValueError("Rank must be non-negative")
        if self.rank is not None:
            if self.rank < new_rank:
                raise ValueError(f"Rank is {self.rank}, expected at least {new_rank}.")
            return self
        inner: list = [None] * new_rank
        if self._row_partitions:
            more = max(new_rank - self.num_row_partitions, 1)
            inner = [self._row_partitions[-1].nvals, *[None] * (more - 1)]
        return type(self)(self._row_partitions, inner, self.dtype)

    def _truncate(self, new_rank):
        """Returns the spec of the first dimensions."""
        spec = self._set_rank_if_unknown(new_rank)
        if new_rank < 2:
            sizes = [spec._dimension(0)] if new_rank else []
            return self._from_tensor_shape(sizes, 0, self.dtype)
        kept = spec._row_partitions[: new_rank - 1]
        inner = (
            [kept[-1].nvals]
            if new_rank <= self.num_row_partitions
            else spec._static_inner_shape[: new_rank - self.num_row_partitions]
        )
        return type(self)(kept, inner, self.dtype)

    def _to_tensor_shape(self):
        """Returns the static shape, with None for ragged dimensions."""
        shape = self._static_inner_shape
        if not shape.rank or not self._row_partitions:
            return shape
        sizes = [rows.uniform_row_length for rows in self._row_partitions]
        return as_shape([self._dimension(0), *sizes, *shape.as_list()[1:]])


class BatchEncoder(ExtensionTypeBatchEncoder):
    """Batches shapes as ragged tensors of bool that have these shapes."""

    def batch(self, spec, batch_size):
        """Returns the spec of the shape of a batch of tensors.

        Args:
          spec: The spec of the shape of a tensor.
          batch_size: The number of tensors, or None.
        """
        make, kind, shape = type(spec), spec.dtype, spec._static_inner_shape
        if spec._row_partitions:
            head = spec._row_partitions[0]
            counts = [None if None in (n, batch_size) else n * batch_size for n in _sizes_of(spec)]
            rows = [RowPartitionSpec(batch_size, counts[0], head.nrows, kind)]
            rows += [
                RowPartitionSpec(nrows, nvals, old.uniform_row_length, kind)
                for old, nrows, nvals in zip(spec._row_partitions, counts, counts[1:])
            ]
            return make(rows, _with_first(counts[-1], shape), kind)
        if batch_size is not None:
            return make([], as_shape([batch_size]).concatenate(shape), kind)
        if spec.inner_rank == 0:
            return make._from_tensor_shape([None], 0, kind)
        rows = [RowPartitionSpec(uniform_row_length=spec._dimension(0), dtype=kind)]
        return make(rows, _with_first(None, shape), kind)

    def unbatch(self, spec):
        """Returns the spec of the shape of one tensor of a batch.

        Args:
          spec: The spec of the shape of the batch.
        """
        make, kind, shape = type(spec), spec.dtype, spec._static_inner_shape
        if not spec._row_partitions:
            return make([], shape[1:], kind)
        head, *rest = spec._row_partitions
        scale = None if head.uniform_row_length is None else head.nrows
        partitions = []
        for rows in rest:
            nrows = None if not scale or rows.nrows is None else rows.nrows // scale
            scale = scale if rows.uniform_row_length is not None else None
            partitions.append(RowPartitionSpec(nrows, None, rows.uniform_row_length, kind))
        first = shape.as_list()[0] if shape.rank else None
        count = None if not scale or first is None else first // scale
        return make(partitions, _with_first(count, shape), kind)

    def encode(self, spec, value, minimum_rank: int = 0):
        """Returns a tensor of bool that has a shape.

        Args:
          spec: The spec of the shape.
          value: The shape.
          minimum_rank: The smallest rank of the result.
        """
        del spec, minimum_rank  # the shape of a batch has a dimension

        return value._add_row_partitions(ones(value.inner_shape, "bool"))

    def decode(self, spec, encoded_value):
        """Returns the shape of a tensor.

        Args:
          spec: The spec of the shape.
          encoded_value: The tensor.
        """
        from situ._src.ops.dynamic_ragged_shape import DynamicRaggedShape

        return DynamicRaggedShape.from_tensor(encoded_value, dtype=spec.dtype)

    def encoding_specs(self, spec):
        """Returns the spec of the tensors that have shapes of a spec.

        Args:
          spec: The spec.
        """
        # A scalar must be unbatched twice to get a ragged tensor.
        ragged_rank = spec.num_row_partitions if spec.rank != 0 else -1
        return RaggedTensorSpec(
            spec._to_tensor_shape(), "bool", ragged_rank, row_splits_dtype=spec.dtype
        )


def _sizes_of(spec):
    """Returns the number of slices of each dimension up to that of the flat values."""
    return [spec._row_partitions[0].nrows, *[rows.nvals for rows in spec._row_partitions]]
