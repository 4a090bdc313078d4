# SPDX-License-Identifier: Apache-2.0
"""ragged_tensor.py: tf.RaggedTensor: rows of different lengths, stored as values and a row
partition."""

from __future__ import annotations

import functools

import numpy

from situ._src.framework import default_session, tensor_shape
from situ._src.framework.api import BOTH, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.tensor import EagerTensor, Tensor
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.ragged_tensor_value import RaggedTensorValue, ragged_value
from situ._src.ops.row_partition import RowPartition, check, convert_partition

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Axis,
        DTypeLike,
        ShapeLike,
        TensorLike,
    )

_MISMATCH = (
    "Input RaggedTensors have mismatched row_splits dtypes; use "
    "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
)


def splits_dtype(*tensors):
    """Returns the row_splits dtype of the ragged tensors among the arguments; ValueError if they
    differ."""
    kinds = {t.row_splits.dtype.name for t in tensors if isinstance(t, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(_MISMATCH)
    return kinds.pop() if kinds else "int64"


def _wide(sizes=False):
    """Decorates a method that computes in int64: for int32 row_splits its ragged results, and
    sizes, are converted back."""

    def decorate(method):
        @functools.wraps(method)
        def call(self, *args, **kwargs):
            if self.row_splits.dtype.name == "int64":
                return method(self, *args, **kwargs)
            result = method(self.with_row_splits_dtype("int64"), *args, **kwargs)
            if isinstance(result, RaggedTensor):
                return result.with_row_splits_dtype("int32")
            if not sizes or kwargs.get("out_type") is not None:
                return result
            return cast(result, "int32")

        return call

    return decorate


def _binary(name):
    def apply(self, other):
        from situ._src.ops.ragged_ops import binary

        return binary(self, name, other)

    return apply


def ranges(starts, lengths):
    """Concatenates the ranges [start, start + length)."""
    kind = lengths.dtype
    ends = op("Cumsum", lengths, constant(0))
    count = op("Sum", lengths, [0])
    shift = BOTH["repeat"](starts - (ends - lengths), lengths)
    return shift + op("Range", constant(0, kind), count, constant(1, kind))


def values_of(values):
    """Converts the values of a ragged tensor: a ragged or dense tensor."""
    if isinstance(values, RaggedTensor):
        return values
    if isinstance(values, RaggedTensorValue):
        return to_ragged(values)
    return convert_to_tensor(values, name="values")


def to_ragged(value, name=None):
    """Converts a RaggedTensorValue, or what converts to a tensor, to a tensor."""
    if isinstance(value, RaggedTensor):
        return value
    if isinstance(value, RaggedTensorValue):
        with scope(name, "ConvertToTensorOrRaggedTensor"):
            flat = convert_to_tensor(value.flat_values, name="flat_values")
            return RaggedTensor.from_nested_row_splits(
                flat, value.nested_row_splits, validate=False
            )
    return convert_to_tensor(value, name=name)


@export("python.ops.ragged.ragged_tensor.convert_to_tensor_or_ragged_tensor")
def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: DTypeLike = None, preferred_dtype: DTypeLike = None, name: str | None = None
) -> Any:
    """Converts a value to a ragged tensor if it is ragged, otherwise to a dense one.

    Args:
      value: A RaggedTensor, RaggedTensorValue, or what converts to a tensor.
      dtype: The type that the result must have; by default that of the value.
      preferred_dtype: The type of Python values without a type of their own.
      name: A name for the operation (optional).

    Raises:
      ValueError: a ragged value has another type.
    """
    if not is_ragged(value):
        return convert_to_tensor(value, dtype, name, dtype_hint=preferred_dtype)
    if isinstance(value, RaggedTensorValue):
        flat = convert_to_tensor(value.flat_values, dtype, name, dtype_hint=preferred_dtype)
        return RaggedTensor.from_nested_row_splits(flat, value.nested_row_splits, validate=False)
    kind = as_dtype(value.dtype)
    if dtype is not None and not as_dtype(dtype).is_compatible_with(kind):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for RaggedTensor with dtype "
            f"{kind.name}: {value}."
        )
    return to_ragged(value, name)


@export("python.ops.ragged.ragged_tensor.is_ragged")
def is_ragged(value: TensorLike) -> bool:
    """Returns whether a value is a ragged tensor or the value of one.

    Args:
      value: The value.
    """
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def _require_bool(validate):
    if not isinstance(validate, bool):
        raise TypeError(f"Argument `validate` must have type bool. Received {validate}.")


def _require_list(value, name, what="Tensors"):
    if isinstance(value, (Tensor, RowPartition)):
        raise TypeError(f"Argument `{name}` must be a list of {what}. Received {value}.")
    return list(value)


def _hint(values):
    """The dtype of the row partition of values that are ragged."""
    return values.row_splits.dtype if isinstance(values, RaggedTensor) else None


@export("RaggedTensor")
class RaggedTensor:
    """A tensor with rows of different lengths: `values[row_splits[i]:row_splits[i + 1]]` is row i.
    Values may be ragged, too."""

    _row_partition: RowPartition

    is_tensor_like = True
    __array_priority__ = 100

    def __init__(self, values: TensorLike, internal: bool = False, row_partition: Any = None):
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        if not isinstance(values, (RaggedTensor, Tensor)):
            raise TypeError(
                "type(values) must be one of: Tensor, RaggedTensor. Received "
                f"{type(values).__name__}."
            )
        if not isinstance(row_partition, RowPartition):
            raise TypeError(
                f"Argument `row_partition` must be a RowPartition. Received {row_partition}."
            )
        shape = values.shape
        if shape.rank == 0:
            raise ValueError(f"Shape {shape} must have rank at least 1")
        if isinstance(values, RaggedTensor) and values._row_partition.dtype != row_partition.dtype:
            raise ValueError(
                "Argument `row_partition` of RaggedTensor must have same dtype as Argument "
                f"`values`. ({row_partition.dtype} vs. {values._row_partition.dtype})."
            )
        self._values, self._row_partition = values, row_partition

    @classmethod
    def _from_row_partition(cls, values, row_partition, validate=True):
        """Creates a ragged tensor from values and a RowPartition."""
        if not isinstance(row_partition, RowPartition):
            raise TypeError(
                f"Argument `row_partition` must be a RowPartition. Received {row_partition}."
            )
        _require_bool(validate)
        values = values_of(values)
        if isinstance(values, RaggedTensor) and values.row_splits.dtype != row_partition.dtype:
            raise ValueError(
                "Argument `row_partition` of RaggedTensor with name: partition must have same "
                f"dtype as Argument `values`. ({row_partition.dtype} vs. "
                f"{values.row_splits.dtype})."
            )
        ids = row_partition._value_rowids
        if ids is not None:
            values.shape[:1].assert_is_compatible_with(ids.shape)
        if validate:
            text = "Arguments to _from_row_partition do not form a valid RaggedTensor"
            if values.shape.rank == 0:
                raise ValueError(f"{text}: values must have rank at least 1, but are a scalar")
            count = row_count(values, row_partition.dtype)
            rows = row_partition
            ends = rows.row_splits()[-1:] if rows._nvals is None else rows.nvals()
            same = op("Equal", ends, count)
            row_partition = row_partition.with_dependencies(check(same, text, count))
        return cls(values, True, row_partition)

    @classmethod
    def of_splits(cls, values: TensorLike, row_splits: Any) -> Any:
        """Creates a ragged tensor from row splits that are known to be valid."""
        return cls(values, True, RowPartition.from_row_splits(row_splits, validate=False))

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Creates a ragged tensor from values and the row of each value."""
        _require_bool(validate)
        with scope(name, "RaggedFromValueRowIds"):
            rows = RowPartition.from_value_rowids(
                value_rowids, nrows, validate, dtype_hint=_hint(values)
            )
            return cls._from_row_partition(values, rows, validate)

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Creates a ragged tensor from values and row splits."""
        _require_bool(validate)
        with scope(name, "RaggedFromRowSplits"):
            rows = RowPartition.from_row_splits(row_splits, validate, dtype_hint=_hint(values))
            return cls._from_row_partition(values, rows, validate)

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Creates a ragged tensor from values and row lengths."""
        _require_bool(validate)
        with scope(name, "RaggedFromRowLengths"):
            rows = RowPartition.from_row_lengths(row_lengths, validate, dtype_hint=_hint(values))
            return cls._from_row_partition(values, rows, validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Creates a ragged tensor from values and the start of each row."""
        _require_bool(validate)
        with scope(name, "RaggedFromRowStarts"):
            values = values_of(values)
            rows = RowPartition.from_row_starts(
                row_starts, row_count(values), validate, dtype_hint=_hint(values)
            )
            return cls._from_row_partition(values, rows, validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Creates a ragged tensor from values and the end of each row."""
        _require_bool(validate)
        with scope(name, "RaggedFromRowLimits"):
            values = values_of(values)
            rows = RowPartition.from_row_limits(row_limits, validate, dtype_hint=_hint(values))
            return cls._from_row_partition(values, rows, validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> Any:
        """Creates a ragged tensor with `nrows` rows of one length; by default as many as there are
        values for."""
        _require_bool(validate)
        with scope(name, "RaggedFromUniformRowLength"):
            values = values_of(values)
            size = convert_partition(
                uniform_row_length, "UniformRowLength", dtype_hint=_hint(values)
            )
            rows = RowPartition.from_uniform_row_length(
                size, row_count(values, size.dtype), nrows, validate
            )
            return cls._from_row_partition(values, rows, validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Any,
        nested_nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Creates a ragged tensor from flat values and the row of each value of each ragged
        dimension."""
        _require_bool(validate)
        ids = _require_list(nested_value_rowids, "nested_value_rowids")
        counts = [None] * len(ids) if nested_nrows is None else nested_nrows
        counts = _require_list(counts, "nested_nrows")
        if len(counts) != len(ids):
            raise ValueError(
                "Argument `nested_nrows` must have the same length as argument "
                f"`nested_value_rowids`. len(nested_nrows) = {len(counts)} vs. "
                f"len(nested_values_rowids) = {len(ids)}."
            )
        with scope(name, "RaggedFromNestedValueRowIds"):
            for rows, count in reversed(list(zip(ids, counts))):
                flat_values = cls.from_value_rowids(flat_values, rows, count, validate=validate)
            return flat_values

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Creates a ragged tensor from flat values and the row splits of each ragged dimension."""
        _require_bool(validate)
        nested = _require_list(nested_row_splits, "nested_row_splits")
        with scope(name, "RaggedFromNestedRowSplits"):
            for splits in reversed(nested):
                flat_values = cls.from_row_splits(flat_values, splits, validate=validate)
            return flat_values

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Creates a ragged tensor from flat values and the row lengths of each ragged dimension."""
        _require_bool(validate)
        nested = _require_list(nested_row_lengths, "nested_row_lengths")
        with scope(name, "RaggedFromNestedRowlengths"):
            for lengths in reversed(nested):
                flat_values = cls.from_row_lengths(flat_values, lengths, validate=validate)
            return flat_values

    @classmethod
    def _from_nested_row_partitions(
        cls, flat_values, nested_row_partitions, name=None, validate=True
    ):
        """Creates a ragged tensor from flat values and the RowPartition of each ragged
        dimension."""
        _require_bool(validate)
        nested = _require_list(nested_row_partitions, "nested_row_partitions", "RowPartitions")
        with scope(name, "RaggedFromNestedRowPartitions"):
            for rows in reversed(nested):
                flat_values = cls._from_row_partition(flat_values, rows, validate)
            return flat_values

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: DTypeLike = "int64"
    ) -> Any:
        """Converts a left-aligned sparse matrix."""
        from situ._src.ops import ragged_conversion

        return ragged_conversion.from_sparse(st_input, name, as_dtype(row_splits_dtype))

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: DTypeLike = "int64",
    ) -> Any:
        """Converts a dense tensor.

        Args:
          tensor: A tensor of rank 2 or more.
          lengths: The row lengths, or a list of those of each ragged dimension.
          padding: The value whose trailing repetitions are removed from each row.
          ragged_rank: The number of ragged dimensions.
          name: A name for the operation (optional).
          row_splits_dtype: int32 or int64.

        Raises:
          ValueError: an argument does not match the tensor, or both `lengths` and `padding` are
            given.
        """
        from situ._src.ops import ragged_conversion

        return ragged_conversion.from_tensor(
            tensor, lengths, padding, ragged_rank, name, as_dtype(row_splits_dtype)
        )

    # Parts

    values = property(lambda s: s._values, doc="The values of all rows, in order.")
    row_splits = property(lambda s: s._row_partition.row_splits(), doc="The points between rows.")
    uniform_row_length = property(
        lambda s: s._row_partition.uniform_row_length(),
        doc="The length of all rows; None if it may differ.",
    )
    dtype = property(lambda s: s.flat_values.dtype)

    @property
    def flat_values(self) -> Any:
        """The values of all rows, without ragged dimensions."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def _nested_row_partitions(self):
        inner = self._values
        nested = inner._nested_row_partitions if isinstance(inner, RaggedTensor) else ()
        return (self._row_partition, *nested)

    @property
    def nested_row_splits(self) -> Any:
        """The row splits of each ragged dimension."""
        return tuple(p.row_splits() for p in self._nested_row_partitions)

    ragged_rank = property(lambda s: len(s._nested_row_partitions))
    graph = property(lambda s: s.flat_values.graph)
    _situ_tensors_ = property(lambda s: [s.flat_values, *s.nested_row_splits])
    _situ_parts_ = _situ_tensors_

    def _situ_value_(self, values, session):
        del session  # the arrays are all that is needed
        return ragged_value(values)

    @classmethod
    def _situ_from_tensors_(cls, pieces):
        return cls.from_nested_row_splits(pieces[0], pieces[1:], validate=False)

    @property
    def _type_spec(self):
        from situ._src.ops.ragged_tensor_spec import RaggedTensorSpec

        return RaggedTensorSpec.from_value(self)

    @property
    def shape(self) -> Any:
        """The static shape; ragged dimensions are unknown."""
        rows = self._row_partition
        outer = [rows.static_nrows, rows.static_uniform_row_length]
        return tensor_shape.as_shape(outer).concatenate(self._values.shape[1:])

    def get_shape(self) -> Any:
        """Returns the static shape; ragged dimensions are None."""
        return self.shape

    def nested_row_lengths(self, name: str | None = None) -> Any:
        """Returns the row lengths of each ragged dimension."""
        with scope(name, "RaggedNestedRowLengths"):
            return tuple(p.row_lengths() for p in self._nested_row_partitions)

    def nrows(self, out_type: DTypeLike = None, name: str | None = None) -> Any:
        """Returns the number of rows."""
        with scope(name, "RaggedNRows"):
            count = self._row_partition.nrows()
            return count if out_type is None else cast(count, out_type)

    def row_starts(self, name: str | None = None) -> Any:
        """Returns the start of each row."""
        with scope(name, "RaggedRowStarts"):
            return self._row_partition.row_starts()

    def row_limits(self, name: str | None = None) -> Any:
        """Returns the end of each row."""
        with scope(name, "RaggedRowLimits"):
            return self._row_partition.row_limits()

    def row_lengths(self, axis: Axis = 1, name: str | None = None) -> Any:
        """Returns the length of each row, along any dimension."""
        if axis == 0:
            return self._row_partition.nrows()
        if axis == 1:
            return self._row_partition.row_lengths()
        with scope(name, "RaggedRowLengths"):
            rank = self.shape.rank
            axis = positive_axis(axis, rank, "axis", "rank(self)")
            if axis < 2:
                return self.row_lengths(axis)
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            sizes = op("Shape", self._values, out_type=self.row_splits.dtype)
            return self.with_values(op("Fill", sizes[: axis - 1], sizes[axis - 1]))

    def value_rowids(self, name: str | None = None) -> Any:
        """Returns the row of each value."""
        with scope(name, "RaggedValueRowIds"):
            return self._row_partition.value_rowids()

    def nested_value_rowids(self, name: str | None = None) -> Any:
        """Returns the row of each value of each ragged dimension."""
        with scope(name, "RaggedNestedValueRowIds"):
            return tuple(p.value_rowids() for p in self._nested_row_partitions)

    def bounding_shape(
        self, axis: Axis = None, name: str | None = None, out_type: DTypeLike = None
    ) -> Any:
        """Returns the smallest dense shape that holds the tensor."""
        kind = self.row_splits.dtype
        with scope(name, "RaggedBoundingBox"):
            if isinstance(axis, int) and axis in (0, 1):
                result = self.nrows() if axis == 0 else self._longest()
                return result if out_type is None else cast(result, out_type)
            inner = (
                self._values.bounding_shape()[1:]
                if isinstance(self._values, RaggedTensor)
                else op("Shape", self._values, out_type=kind)[1:]
            )
            result = concat([op("Pack", [self.nrows(), self._longest()]), inner], 0)
            result = result if out_type is None else cast(result, out_type)
            return result if axis is None else op("GatherV2", result, axis, 0)

    def _longest(self):
        zero = constant([0], self.row_splits.dtype)
        return op("Max", concat([self.row_lengths(), zero], 0), [0])

    # Changed parts

    def with_row_splits_dtype(self, dtype: DTypeLike) -> Any:
        """Returns the tensor with int32 or int64 row_splits."""
        kind = as_dtype(dtype)
        if kind.name not in ("int32", "int64"):
            raise ValueError(
                f"Argument `row_splits` dtype must be int32 or int64. Received {kind.name}."
            )
        if kind == self.row_splits.dtype:
            return self
        inner = self._values
        inner = inner.with_row_splits_dtype(kind) if isinstance(inner, RaggedTensor) else inner
        return RaggedTensor(inner, True, self._row_partition.with_dtype(kind))

    def with_values(self, new_values: Any) -> Any:
        """Returns a ragged tensor with the same rows and other values."""
        new_values = values_of(new_values)
        if new_values.shape.rank == 0:
            raise ValueError(f"Shape {new_values.shape} must have rank at least 1")
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if (
            isinstance(new_values, RaggedTensor)
            and self.row_splits.dtype != new_values.row_splits.dtype
        ):
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return RaggedTensor(new_values, True, self._row_partition)

    def with_flat_values(self, new_values: Any) -> Any:
        """Returns a ragged tensor with the same rows and other flat values."""
        if isinstance(self._values, RaggedTensor):
            new_values = self._values.with_flat_values(new_values)
        return self.with_values(new_values)

    def merge_dims(self, outer_axis: Any, inner_axis: Any) -> Any:
        """Merges the dimensions from `outer_axis` to `inner_axis`."""
        from situ._src.ops import ragged_conversion

        return ragged_conversion.merge_dims(self, outer_axis, inner_axis)

    def _set_shape(self, shape):
        """Merges a static shape; sizes of uniform rows that it adds are stored.

        Raises:
          ValueError: the shapes are not compatible.
        """
        from situ._src.ops import ragged_conversion

        ragged_conversion.set_shape(self, shape)

    @_wide()
    def take(self, indices: Any) -> Any:
        """Gathers rows."""
        indices = cast(convert_to_tensor(indices), "int64")
        lengths = op("GatherV2", self.row_lengths(), indices, 0)
        at = ranges(op("GatherV2", self.row_starts(), indices, 0), lengths)
        return RaggedTensor.from_row_lengths(gather_rows(self._values, at), lengths, validate=False)

    # Conversions

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: ShapeLike = None
    ) -> Any:
        """Converts to a dense tensor; short rows are padded with `default_value`.

        Args:
          default_value: A value of the type of the tensor; its shape must broadcast to that of a
            value. By default 0, False or "".
          name: A name for the operation (optional).
          shape: The shape of the result. Dimensions that are None are as large as necessary; rows
            that are longer are truncated.
        """
        from situ._src.ops import ragged_conversion

        return ragged_conversion.to_tensor(self, default_value, name, shape)

    def to_sparse(self, name: str | None = None) -> Any:
        """Converts to a SparseTensor."""
        from situ._src.ops import ragged_conversion

        return ragged_conversion.to_sparse(self, name)

    def _is_eager(self):
        return all(isinstance(t, EagerTensor) for t in self._situ_tensors_)

    def _eager_value(self):
        return ragged_value([t.numpy() for t in self._situ_tensors_])

    def to_list(self) -> Any:
        """Returns nested Python lists."""
        if not isinstance(self.row_splits, EagerTensor):
            raise ValueError("to_list can only be used in eager mode.")
        return self._eager_value().to_list()

    def numpy(self) -> Any:
        """Returns an array, or an array of arrays if rows have different lengths."""
        if not self._is_eager():
            raise ValueError("RaggedTensor.numpy() is only supported in eager mode.")
        values, splits = self._values.numpy(), self.row_splits.numpy()
        rows = [values[a:b] for a, b in zip(splits, splits[1:])]
        if not rows:
            return numpy.zeros((0, 0, *values.shape[1:]), values.dtype)
        if all(len(row) == len(rows[0]) for row in rows):
            return numpy.array(rows)
        result = numpy.empty(len(rows), object)
        result[:] = rows
        return result

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "A ragged tensor cannot be converted to an array: use .numpy() for an array of rows "
            "or .to_tensor() to pad the rows."
        )

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Returns the value as a `RaggedTensorValue`, computed in a session."""
        return default_session.for_eval(session).run(self, feed_dict)

    def consumers(self) -> list:
        """Returns the operations that read the parts of this tensor."""
        found = [o for t in self._situ_tensors_ for o in t.consumers()]
        return list(dict.fromkeys(found))

    def __getitem__(self, key):
        from situ._src.ops import ragged_getitem

        return ragged_getitem.getitem(self, key)

    def __len__(self):
        if not isinstance(self.row_splits, EagerTensor):
            raise TypeError("object of type 'RaggedTensor' has no len() in a graph")
        return int(self.nrows())

    def __bool__(self):
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __iter__(self):
        if not isinstance(self.row_splits, EagerTensor):
            raise TypeError("iterating over `tf.RaggedTensor` is not allowed in a graph")
        return (self[i] for i in range(len(self)))

    __hash__ = object.__hash__

    def __repr__(self):
        if self._is_eager():
            return f"<tf.RaggedTensor {_format(self.numpy())}>"
        return f"tf.RaggedTensor(values={self.values}, row_splits={self.row_splits})"

    # Ellipsis of long rows as NumPy prints them; repr shows the same.
    __str__ = __repr__


def _format(value):
    """Formats an array as TensorFlow prints it, with commas between its elements."""
    if not isinstance(value, numpy.ndarray):
        return str(value)
    if not value.size:
        return repr(value.tolist())
    return numpy.array2string(value, separator=", ", formatter={"all": _format})


def positive_axis(axis, rank, name="axis", rank_name="ndims"):
    """Returns a non-negative axis.

    Raises:
      TypeError: the axis is not an int.
      ValueError: it is out of bounds, or negative and the rank is unknown.
    """
    if not isinstance(axis, int):
        raise TypeError(f"{name} must be an int; got {type(axis).__name__}")
    if rank is None:
        if axis < 0:
            raise ValueError(
                f"{name}={axis} may only be negative if {rank_name} is statically known."
            )
        return axis
    if not -rank <= axis < rank:
        raise ValueError(
            f"{name}={axis} out of bounds: expected {-rank}<={name}<{rank}"
            if rank
            else f"{name}={axis} out of bounds: no axis of a scalar"
        )
    return axis % rank


def row_count(values, dtype="int64"):
    """Returns the number of rows of a tensor, ragged or dense."""
    if isinstance(values, RaggedTensor):
        return values.nrows(out_type=dtype)
    known = values.shape.as_list()[0] if values.shape.rank else None
    if known is not None:
        return constant(known, dtype)
    return op("Shape", values, out_type=dtype)[0]


def gather_rows(values, indices):
    """Gathers rows of a tensor, ragged or dense."""
    return (
        values.take(indices)
        if isinstance(values, RaggedTensor)
        else op("GatherV2", values, indices, 0)
    )


for _name in (
    "add sub mul truediv floordiv mod pow radd rsub rmul rtruediv rfloordiv rmod rpow "
    "lt le gt ge eq ne and or xor rand ror rxor"
).split():
    setattr(RaggedTensor, f"__{_name}__", _binary(f"__{_name}__"))
for _name in ("neg", "abs", "invert"):
    setattr(
        RaggedTensor,
        f"__{_name}__",
        lambda self, _n=f"__{_name}__": self.with_flat_values(getattr(self.flat_values, _n)()),
    )
