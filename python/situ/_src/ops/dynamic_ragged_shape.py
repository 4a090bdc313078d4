# SPDX-License-Identifier: Apache-2.0
"""dynamic_ragged_shape.py: tf.experimental.DynamicRaggedShape: the shape of a ragged or dense
tensor as a value: the row partitions of its ragged dimensions and the shape of its flat values."""

from __future__ import annotations

import collections.abc
import typing

import numpy

from situ._src.framework.api import export
from situ._src.framework.dtypes import DType, as_dtype
from situ._src.framework.extension_type import BatchableExtensionType
from situ._src.framework.tensor import EagerTensor, Tensor
from situ._src.framework.tensor_shape import TensorShape, as_shape
from situ._src.ops import dynamic_ragged_shape_spec as specs
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged, positive_axis, row_count, to_ragged
from situ._src.ops.row_partition import RowPartition, check, constant_value, with_checks

if typing.TYPE_CHECKING:
    from situ._src.framework.type_aliases import DTypeLike


def _type_of(value):
    """Returns the type that a partition, tensor or array implies for a shape, or None."""
    kind = getattr(value, "dtype", None)
    if kind is None or isinstance(value, numpy.ndarray) and value.dtype != numpy.int32:
        return None
    kind = as_dtype(kind)
    if kind.name not in ("int32", "int64"):
        raise ValueError(f"Illegal dtype: {kind!r}")
    return kind


def _static(sizes):
    """Returns what is known about a shape that is given as a tensor, as a TensorShape."""
    known = constant_value(sizes)
    if known is not None:
        return as_shape([int(size) for size in known])
    count = sizes.shape.as_list()[0] if sizes.shape.rank else None
    if count is None:
        return as_shape(None)
    partly = sizes.graph._known_partly(sizes)
    if partly is None:
        return as_shape([None] * count)
    values, unknown = partly
    return as_shape([None if unknown >> i & 1 else int(v) for i, v in enumerate(values.numpy())])


def _tensor(sizes, dtype):
    """Converts a list of ints and scalars to a vector."""
    if all(isinstance(size, int) for size in sizes):
        return constant(list(sizes), dtype)
    return op("Pack", [cast(convert_to_tensor(size), dtype) for size in sizes])


def _is_lengths(value):
    return isinstance(value, int) or (
        isinstance(value, tuple) and all(isinstance(length, int) for length in value)
    )


def _partitions_of(lengths):
    """Returns the row partitions and the number of values of lengths per dimension."""
    count, found = lengths[0], []
    for size in lengths[1:]:
        if isinstance(size, int):
            found.append(RowPartition.from_uniform_row_length(size, count * size, count))
            count *= size
            continue
        if count != len(size):
            raise ValueError("Shape not consistent.")
        found.append(RowPartition.from_row_lengths(constant(list(size), "int64")))
        count = sum(size)
    return found, count


def _joined(partitions):
    """Returns one partition that merges consecutive ones."""
    splits = partitions[0].row_splits()
    for rows in partitions[1:]:
        splits = op("GatherV2", rows.row_splits(), splits, 0)
    return RowPartition.from_row_splits(splits, validate=False)


@export("experimental.DynamicRaggedShape")
class DynamicRaggedShape(BatchableExtensionType):
    """The shape of a ragged or dense tensor.

    The shape of a ragged tensor consists of its row partitions and of the shape of its flat values.
    The shape of a dense tensor has no row partitions.

    Args:
      row_partitions: The RowPartitions, from the outermost dimension on.
      inner_shape: The shape of the flat values, a vector.
      dtype: The type of the shape, int32 or int64; by default that of the arguments, or int64.
      validate: Whether the sizes are compared when the tensors are computed.
      static_inner_shape: What is known about `inner_shape` before, or None.

    Raises:
      TypeError: a row partition is something else.
      ValueError: the sizes are known not to match.
    """

    _row_partitions: typing.Tuple[RowPartition, ...]  # noqa: UP006 - evaluated by Python 3.9
    _inner_shape: Tensor
    _static_inner_shape: TensorShape

    __batch_encoder__ = specs.BatchEncoder()

    def __init__(
        self,
        row_partitions: collections.abc.Sequence,
        inner_shape: typing.Any,
        dtype: DTypeLike = None,
        validate: bool = False,
        static_inner_shape: typing.Any = None,
    ):
        if not isinstance(row_partitions, collections.abc.Iterable):
            raise TypeError(
                f"row_partitions should be a list of row partitions. Instead, got {row_partitions}"
            )
        partitions = tuple(row_partitions)
        for rows in partitions:
            if not isinstance(rows, RowPartition):
                raise TypeError(f"row_partitions contains {rows} which is not a RowPartition")
        kinds = [_type_of(value) for value in (*partitions, inner_shape)]
        kind = as_dtype(next((k for k in (dtype, *kinds) if k is not None), "int64"))
        partitions = tuple(rows.with_dtype(kind) for rows in partitions)
        sizes = cast(convert_to_tensor(inner_shape, dtype_hint=kind, name="inner_dim_sizes"), kind)
        if sizes.shape.rank not in (None, 1):
            raise ValueError(f"Shape {sizes.shape} must have rank 1")
        known = _static(sizes)
        if static_inner_shape is not None:
            known = known.merge_with(as_shape(static_inner_shape))
        checks = _alignment_checks(partitions, sizes, known, validate)
        self._row_partitions = tuple(rows.with_dependencies(checks) for rows in partitions)
        self._inner_shape = with_checks(checks, sizes)
        self._static_inner_shape = known

    Spec = specs.SpecMethods

    # Factory methods

    @classmethod
    def from_lengths(
        cls, lengths: list, num_row_partitions: int | None = None, dtype: DTypeLike = "int64"
    ) -> DynamicRaggedShape:
        """Creates a shape from the sizes of its dimensions.

        Args:
          lengths: A list with an int for each uniform dimension and a tuple of row lengths for each
            ragged one.
          num_row_partitions: The number of row partitions; by default as few as possible.
          dtype: The type of the shape, int32 or int64.

        Raises:
          ValueError: the lengths are not consistent.
        """
        if not isinstance(lengths, list):
            raise ValueError("lengths should be a list")
        for length in lengths:
            if not _is_lengths(length):
                raise ValueError(
                    f"element of lengths should be int or tuple of ints: instead {length!r}"
                )
        if num_row_partitions is None:
            ragged = [i for i, length in enumerate(lengths) if not isinstance(length, int)]
            num_row_partitions = ragged[-1] if ragged else 0
        if not isinstance(num_row_partitions, int):
            raise ValueError("num_row_partitions should be an int or None")
        if not lengths:
            if num_row_partitions > 0:
                raise ValueError("num_row_partitions==0 for a scalar shape")
            return cls([], constant([], dtype), dtype=dtype)
        if num_row_partitions >= len(lengths):
            raise ValueError(
                "num_row_partitions should be less than `len(lengths)` if shape is not scalar."
            )
        partitions, count = _partitions_of(lengths[: num_row_partitions + 1])
        return cls(partitions, [count, *lengths[num_row_partitions + 1 :]], dtype=dtype)

    @classmethod
    def from_row_partitions(
        cls, row_partitions: collections.abc.Sequence, dtype: DTypeLike = None
    ) -> DynamicRaggedShape:
        """Creates the shape of a ragged tensor whose flat values are a vector.

        Args:
          row_partitions: The RowPartitions.
          dtype: The type of the shape; by default that of the partitions.

        Raises:
          ValueError: there are no row partitions.
        """
        if not row_partitions:
            raise ValueError("row_partitions cannot be empty")
        last = row_partitions[-1]
        known = last.static_nvals
        count = last.nvals() if known is None else known
        return cls(row_partitions, _tensor([count], last.dtype), dtype=dtype)

    @classmethod
    def _from_inner_shape(cls, inner_shape, dtype=None):
        """Creates the shape of a dense tensor."""
        return cls([], inner_shape, dtype=dtype)

    @classmethod
    def from_tensor(cls, t: typing.Any, dtype: DTypeLike = None) -> DynamicRaggedShape:
        """Returns the shape of a ragged or dense tensor.

        Args:
          t: The tensor.
          dtype: The type of the shape; by default that of the row splits, int32 for a dense tensor.
        """
        if not is_ragged(t):
            return cls._from_inner_shape(shape_op(t), dtype)
        ragged = to_ragged(t)
        return cls(ragged._nested_row_partitions, shape_op(ragged.flat_values), dtype=dtype)

    # Properties

    @property
    def _known_inner_shape(self):
        """What is known about the inner shape; everything if it is an eager tensor."""
        known = self._static_inner_shape
        if known.is_fully_defined() or not isinstance(self._inner_shape, EagerTensor):
            return known
        return _static(self._inner_shape)

    @property
    def row_partitions(self) -> tuple:
        """The row partitions, from the outermost dimension on."""
        return self._row_partitions

    @property
    def num_row_partitions(self) -> int:
        """The number of row partitions."""
        return len(self._row_partitions)

    @property
    def dtype(self) -> DType:
        """The type of the shape, int32 or int64."""
        return self._inner_shape.dtype

    @property
    def inner_shape(self) -> Tensor:
        """The shape of the flat values, a vector."""
        return self._inner_shape

    @property
    def inner_rank(self) -> int | None:
        """The rank of the flat values, or None if it is unknown."""
        return self._known_inner_shape.rank

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        inner = self.inner_rank
        return None if inner is None else self.num_row_partitions + inner

    def with_dtype(self, dtype: DTypeLike) -> DynamicRaggedShape:
        """Returns the shape with another type.

        Args:
          dtype: int32 or int64.
        """
        if as_dtype(dtype) == self.dtype:
            return self
        return DynamicRaggedShape(self.row_partitions, self.inner_shape, dtype=dtype)

    def is_uniform(self, axis: int) -> bool:
        """Returns whether a dimension has one size.

        Args:
          axis: The dimension.

        Raises:
          IndexError: there is no such dimension.
          TypeError: the dimension is not an int.
        """
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0:
            raise IndexError("Negative axis values are not supported")
        if self.rank is not None and axis >= self.rank:
            raise IndexError(f"Expected axis={axis} < rank={self.rank}")
        is_inner = axis == 0 or axis > self.num_row_partitions
        return is_inner or self._row_partitions[axis - 1].is_uniform()

    def static_lengths(self, ragged_lengths: bool = True) -> list:
        """Returns the sizes of the dimensions as far as they are known.

        Args:
          ragged_lengths: Whether ragged dimensions are tuples of row lengths; otherwise None.

        Returns:
          A list of ints, tuples and None. It ends with an Ellipsis if the rank is unknown.
        """
        known = self._known_inner_shape
        inner = [...] if known.rank is None else known.as_list()
        if not self._row_partitions:
            return inner
        sizes: list = [self._row_partitions[0].static_nrows]
        for rows in self._row_partitions:
            lengths = None
            if rows.is_uniform():
                lengths = rows.static_uniform_row_length
            elif ragged_lengths:
                found = constant_value(rows.row_lengths())
                lengths = None if found is None else tuple(found.tolist())
            sizes.append(lengths)
        return sizes + (inner if known.rank is None else inner[1:])

    def _to_tensor_shape(self):
        """Returns the static shape, with None for ragged dimensions."""
        sizes = self.static_lengths(ragged_lengths=False)
        return as_shape(None) if sizes and sizes[-1] is ... else as_shape(sizes)

    def __repr__(self):
        sizes = ", ".join("..." if size is ... else str(size) for size in self.static_lengths())
        return (
            f"<DynamicRaggedShape lengths=[{sizes}] num_row_partitions={self.num_row_partitions}>"
        )

    # Dimensions

    __iter__ = None  # a shape is not a sequence of sizes: some are ragged

    def __getitem__(self, index: typing.Any) -> typing.Any:
        """Returns the size of a uniform dimension, or the shape of a range of dimensions.

        Args:
          index: An int, or a slice. One that does not begin at 0 must have uniform dimensions.

        Raises:
          IndexError: there is no such dimension, or the slice has a step.
          TypeError: the index is something else.
          ValueError: a dimension is ragged, or the rank must be known.
        """
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise IndexError("Cannot stride through a shape")
            return self._slice(self._start(index.start or 0), self._stop(index.stop))
        if not isinstance(index, int):
            raise TypeError("Argument is not an int or a slice")
        if index < 0:
            index += self._known_rank(
                "Rank must be known to use __getitem__ with a negative index."
            )
        return self._dimension(index)

    def _known_rank(self, message):
        if self.rank is None:
            raise ValueError(message)
        return self.rank

    def _start(self, index):
        if index < 0:
            rank = self._known_rank("Rank must be known to use __getitem__ on a negative index.")
            index = max(index + rank, 0)
        if index == 0 or self.num_row_partitions > 0 and index <= self.num_row_partitions + 1:
            return index
        return min(
            index, self._known_rank("Rank must be known to use __getitem__ on a large index.")
        )

    def _stop(self, index):
        if index is None:
            return self._known_rank("Rank must be known to use __getitem__ without a stop.")
        if index < 0:
            rank = self._known_rank("Rank must be known to use __getitem__ on a negative index.")
            index = max(index + rank, 0)
        return index if self.rank is None else min(index, self.rank)

    def _slice(self, start, stop):
        """Returns the shape of the dimensions from `start` on before `stop`."""
        if stop <= start:
            return self._from_inner_shape(constant([], self.dtype))
        head = self if self.rank is not None and stop >= self.rank else self._head(stop)
        if start == 0:
            return head
        if not all(rows.is_uniform() for rows in head.row_partitions):
            raise ValueError("All relevant dimensions must be uniform")
        return self._from_inner_shape(head._with_num_row_partitions(0).inner_shape[start:])

    def _head(self, stop):
        """Returns the shape of the first dimensions."""
        if stop > self.num_row_partitions:
            inner = self.inner_shape[: stop - self.num_row_partitions]
            return DynamicRaggedShape(self.row_partitions, inner)
        if stop == 1:
            return self._from_inner_shape(_tensor([self._size(0)], self.dtype))
        return self.from_row_partitions(self.row_partitions[: stop - 1])

    def _dimension(self, index):
        """Returns the size of a uniform dimension as a scalar."""
        if not isinstance(index, int):
            raise TypeError("index should be an int")
        if not self._row_partitions or index > self.num_row_partitions + 1:
            if index >= self._known_rank("Rank must be known to use __getitem__ on a large index."):
                raise IndexError(f"Index is too big: {index}>={self.rank}")
        if index < 0:
            raise IndexError(f"Index must be non-negative: {index}")
        if not self.is_uniform(index):
            raise ValueError(f"Index {index} is not uniform")
        size = self._size(index)
        return constant(size, self.dtype) if isinstance(size, int) else size

    def _size(self, index):
        """Returns the size of a uniform dimension: an int if it is known, otherwise a scalar."""
        if self._row_partitions and index == 0:
            first = self._row_partitions[0]
            return first.nrows() if first.static_nrows is None else first.static_nrows
        if 0 < index <= self.num_row_partitions:
            rows = self._row_partitions[index - 1]
            known = rows.static_uniform_row_length
            return rows.uniform_row_length() if known is None else known
        at = index - self.num_row_partitions
        known = self._known_inner_shape
        size = None if known.rank is None else known.as_list()[at]
        return self._inner_shape[at] if size is None else size

    def _num_elements(self):
        """Returns the number of elements as a scalar."""
        return op("Prod", self.inner_shape, [0])

    def _num_slices_in_dimension(self, axis):
        """Returns the number of slices of all dimensions up to one, as a scalar."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0:
            axis += self._known_rank("You can't use negative values if the rank is undefined")
        if axis == 0:
            return self._dimension(0)
        if axis <= self.num_row_partitions:
            return self._row_partitions[axis - 1].nvals()
        return op("Prod", self.inner_shape[: axis + 1 - self.num_row_partitions], [0])

    # Other partitions of the same dimensions

    def _alt_inner_shape(self, new_inner_rank):
        """Returns the shape of the flat values if they had another rank."""
        if new_inner_rank == 0:
            raise ValueError("new_inner_rank cannot be zero")
        if self.inner_rank == 0:
            raise ValueError("old inner_rank cannot be zero")
        if new_inner_rank == self.inner_rank:
            return self.inner_shape
        rank = self._known_rank("Rank must be known to adjust inner_rank")
        first = rank - new_inner_rank
        if not all(self.is_uniform(axis) for axis in range(first + 1, rank)):
            raise ValueError("Cannot get an inner shape over a ragged dimension")
        known = self._known_inner_shape.as_list()[: 1 - new_inner_rank or None]
        count = (
            int(numpy.prod(known))
            if new_inner_rank < self.inner_rank and None not in known
            else self._num_slices_in_dimension(first)
        )
        return _tensor([count, *map(self._size, range(first + 1, rank))], self.dtype)

    def _with_inner_rank(self, inner_rank):
        """Returns the shape with flat values of another rank."""
        rank = self._known_rank("Rank must be known to adjust inner_rank")
        if rank < 2:
            if inner_rank == rank:
                return self
            raise ValueError("Cannot change inner_rank if rank < 2")
        return self._with_num_row_partitions(rank - inner_rank)

    def _with_num_row_partitions(self, num_row_partitions):
        """Returns the shape with more or fewer row partitions of the same dimensions.

        Raises:
          ValueError: the rank is unknown, or ragged dimensions need more partitions.
        """
        rank = self._known_rank("Rank must be known to adjust num_row_partitions")
        if not isinstance(num_row_partitions, int):
            raise ValueError("num_row_partitions must be an int")
        if num_row_partitions < 0:
            raise ValueError("num_row_partitions must be nonnegative")
        own = self.num_row_partitions
        if num_row_partitions == own:
            return self
        if num_row_partitions >= rank:
            raise ValueError("num_row_partitions must be less than rank")
        partitions = list(self._row_partitions[:num_row_partitions])
        count = self._size(0) if own == 0 else self._inner_size()
        for axis in range(own + 1, num_row_partitions + 1):
            size = self._size(axis)
            partitions.append(
                RowPartition.from_uniform_row_length(size, nrows=count, dtype=self.dtype)
            )
            count = count * size
        return DynamicRaggedShape(partitions, self._alt_inner_shape(rank - num_row_partitions))

    def _inner_size(self):
        """Returns the number of flat values: an int if it is known, otherwise a scalar."""
        known = self._known_inner_shape.as_list()[0]
        return self._inner_shape[0] if known is None else known

    def _as_row_partitions(self):
        """Returns a row partition for each dimension but the first."""
        if self._known_rank("rank must be known for _as_row_partitions") < 1:
            raise ValueError("rank must be >= 1 for _as_row_partitions")
        return self._with_num_row_partitions(self.rank - 1).row_partitions

    def _merge_dims(self, outer_axis, inner_axis):
        """Returns the shape with the dimensions from `outer_axis` to `inner_axis` merged."""
        outer = positive_axis(outer_axis, self.rank, "outer_axis", "rank(self)")
        inner = positive_axis(inner_axis, self.rank, "inner_axis", "rank(self)")
        if outer > inner:
            raise ValueError(
                f"Expected outer_axis ({outer}) to be less than or equal to inner_axis ({inner})."
            )
        if outer == inner:
            return self
        count = self.num_row_partitions
        if count and inner > count >= outer:
            rank = self._known_rank(
                "Cannot merge_dims of the inner shape if the rank of inner_shape is unknown"
            )
            if inner == rank - 1 and outer == 0:
                return self._from_inner_shape(_tensor([self._num_elements()], self.dtype))
            # Dimensions that are merged with ragged ones become partitions of their own.
            wide = self._with_num_row_partitions(inner)
            return wide._merge_dims(outer, inner)
        if not count or outer > count:
            at = outer - count
            end = inner - count
            sizes = self._inner_shape
            merged = op("Prod", sizes[at : end + 1], constant([0]), keep_dims=True)
            sizes = concat([sizes[:at], merged, sizes[end + 1 :]], 0)
            return DynamicRaggedShape(self._row_partitions, sizes, dtype=self.dtype)
        partitions = self._row_partitions[inner:]
        if outer:
            merged = _joined(self._row_partitions[outer - 1 : inner])
            partitions = (*self._row_partitions[: outer - 1], merged, *partitions)
        return DynamicRaggedShape(
            partitions, self.inner_shape, self.dtype, False, self._known_inner_shape
        )

    def _merge_with(self, other):
        """Returns the shape with what is known of it and of an equal shape."""
        return self._merge_parts(other, "_merge_precomputed_encodings")

    def _merge_with_spec(self, other):
        """Returns the shape with what a spec knows of it."""
        return self._merge_parts(other, "_merge_with_spec")

    def _merge_parts(self, other, method):
        count = max(self.num_row_partitions, other.num_row_partitions)
        a, b = self._with_num_row_partitions(count), other._with_num_row_partitions(count)
        partitions = [getattr(x, method)(y) for x, y in zip(a._row_partitions, b._row_partitions)]
        kind = b.dtype if a.dtype.name == "int32" else "int64"
        known = _merged_inner(a, b)
        return DynamicRaggedShape(partitions, a._inner_shape, kind, True, known)

    def _add_row_partitions(self, flat_values, validate=False):
        """Returns the ragged tensor of this shape with flat values; a dense shape adds nothing."""
        if not self._row_partitions:
            return flat_values
        if validate and isinstance(flat_values, Tensor):
            flat_values = self._checked(flat_values)
        return RaggedTensor._from_nested_row_partitions(
            flat_values, list(self._row_partitions), validate=False
        )

    def _checked(self, flat_values):
        """Returns flat values, whose number is checked."""
        text = "Last row partition does not match flat_values."
        rows = self._row_partitions[-1]
        found = flat_values.shape.as_list()[0] if flat_values.shape.rank else None
        if None not in (found, rows.static_nvals):
            if found != rows.static_nvals:
                raise ValueError(text)
            return flat_values
        same = op("Equal", rows.nvals(), row_count(flat_values, self.dtype))
        return with_checks(check(same, text), flat_values)


def _merged_inner(shape, other):
    known = getattr(other, "_known_inner_shape", other._static_inner_shape)
    return shape._known_inner_shape.merge_with(known)


def _alignment_checks(partitions, sizes, known, validate):
    """Checks that each partition has a row for each value of the one before."""
    counts = [(rows.static_nrows, rows.nrows) for rows in partitions[1:]]
    first = known.as_list()[0] if known.rank else None
    checks = []
    ends = [*counts, (first, lambda: sizes[0])] if partitions else []
    for i, (rows, (nrows, count)) in enumerate(zip(partitions, ends)):
        text = (
            "Last row partition does not match inner_shape."
            if i == len(partitions) - 1
            else f"RowPartitions in DynamicRaggedShape do not align between {i} and {i + 1}"
        )
        nvals = rows.declared_nvals
        if None not in (nvals, nrows):
            if nvals != nrows:
                raise ValueError(text)
        elif validate:
            checks += check(op("Equal", rows.nvals(), count()), text)
    return checks
