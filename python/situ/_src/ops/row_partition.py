# SPDX-License-Identifier: Apache-2.0
"""row_partition.py: tf.experimental.RowPartition: how a sequence of values is divided into rows.

A partition stores its row splits and caches the other encodings that it was created from: row
lengths, the row of each value, the number of rows and of values, and the length of uniform rows.
"""

from __future__ import annotations

import numpy

import _situ
from situ._src.framework import errors
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.tensor import EagerTensor, Tensor
from situ._src.framework.tensor import constant_value as known_value
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.check_ops import Assert

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike

_KEY = object()  # only the factory methods know it
_FEW = 1000  # the most values whose rows become a constant of a graph
_INCOMPATIBLE = "RowPartition._merge_precomputed_encodings: partitions have incompatible "
_CACHED = ("row_lengths", "value_rowids", "nrows", "uniform_row_length", "nvals")


def constant_value(tensor):
    """Returns the value of a tensor that is known while the graph is built, as an array, or
    None."""
    known = known_value(tensor)
    return None if known is None else numpy.asarray(known)


def convert_partition(partition, name, dtype=None, dtype_hint=None):
    """Converts an encoding of a partition to a tensor; Python values have the type of the hint,
    int64 by default.

    Raises:
      ValueError: the type is neither int32 nor int64.
    """
    if isinstance(partition, numpy.ndarray) and partition.dtype == numpy.int32 and dtype is None:
        partition = convert_to_tensor(partition, name=name)
    else:
        partition = convert_to_tensor(
            partition, dtype, name=name, dtype_hint=None if dtype else dtype_hint or "int64"
        )
    if partition.dtype.name not in ("int32", "int64"):
        raise ValueError(f"{name} must have dtype int32 or int64")
    return partition


def check(condition, message, *data):
    """Checks a condition that is evaluated from tensors: now if it is known, or when a graph runs.

    Returns:
      A list of the Assert operation of a graph.

    Raises:
      InvalidArgumentError: the condition is known to be false.
    """
    known = constant_value(condition)
    if known is not None:
        if not known.all():
            raise errors.InvalidArgumentError(None, None, message)
        return []
    if _situ.current_graph() is None:  # symbolic tensors of Keras, whose ops have no dependencies
        return []
    everywhere = op("All", op("Reshape", condition, [-1]), [0])
    return [Assert(everywhere, [message, *data], summarize=10)]


def with_checks(checks, tensor):
    """Returns a tensor that is computed after the checks."""
    if not checks:
        return tensor
    with control_dependencies(checks):
        return op("Identity", tensor)


def _rising(values, message):
    return check(op("LessEqual", values[:-1], values[1:]), message, values)


def _require_bool(validate):
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _check_rank(tensor, rank, message):
    """Checks the rank of a tensor when a graph runs, if it is not known before."""
    if tensor.shape.rank is not None:
        return []
    return check(op("Equal", op("Rank", tensor), constant(rank)), message, tensor)


def _of_rank(tensor, rank):
    if tensor.shape.rank not in (None, rank):
        raise ValueError(f"Shape {tensor.shape} must have rank {rank}")
    return tensor


def _vector(value, name, dtype, dtype_hint):
    return _of_rank(convert_partition(value, name, dtype, dtype_hint), 1)


@export("experimental.RowPartition")
class RowPartition:
    """Divides a sequence of `nvals` values into `nrows` consecutive rows."""

    def __init__(
        self,
        row_splits: Any,
        row_lengths: Any = None,
        value_rowids: Any = None,
        nrows: Any = None,
        uniform_row_length: int | None = None,
        nvals: int | None = None,
        internal: object = None,
    ):
        if internal is not _KEY:
            raise ValueError(
                "RowPartition constructor is private; please use one of the factory methods "
                "instead (e.g., RowPartition.from_row_lengths())"
            )
        if not isinstance(row_splits, (Tensor, TensorSpec)):
            raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
        if row_splits.dtype.name not in ("int32", "int64"):
            raise ValueError("Row-partitioning argument must be int32 or int64")
        self._row_splits = _of_rank(row_splits, 1)
        for tensor in (row_lengths, value_rowids, nrows, uniform_row_length, nvals):
            if tensor is None:
                continue
            if not isinstance(tensor, (Tensor, TensorSpec)):
                raise TypeError("Cached value must be a Tensor or None.")
            if tensor.dtype != row_splits.dtype:
                raise ValueError(
                    f"Inconsistent dtype for encoding tensors: {tensor} vs {row_splits}"
                )
        self._row_lengths, self._value_rowids, self._nrows = row_lengths, value_rowids, nrows
        self._uniform_row_length, self._nvals = uniform_row_length, nvals

    @classmethod
    def from_value_rowids(
        cls,
        value_rowids: Any,
        nrows: Any = None,
        validate: bool = True,
        dtype: DTypeLike = None,
        dtype_hint: DTypeLike = None,
    ) -> Any:
        """Creates a partition from the row of each value, in ascending order.

        Args:
          value_rowids: An integer vector.
          nrows: The number of rows; by default one more than the last row of a value.
          validate: Whether the arguments are checked.
          dtype: The type of the encodings, int32 or int64.
          dtype_hint: The type of Python values, if `dtype` is None.

        Raises:
          ValueError: `nrows` does not match.
        """
        _require_bool(validate)
        with scope(None, "RowPartitionFromValueRowIds"):
            ids = convert_partition(value_rowids, "value_rowids", dtype, dtype_hint)
            nrows, count = cls._rows_of_ids(ids, nrows)
            _of_rank(ids, 1), _of_rank(nrows, 0)
            if validate:
                text = "Arguments to from_value_rowids do not form a valid RowPartition"
                checks = _check_rank(ids, 1, text) + _check_rank(nrows, 0, text)
                checks += check(op("GreaterEqual", ids[:1], constant(0, ids.dtype)), text, ids)
                checks += _rising(ids, text) + check(op("Less", ids[-1:], nrows), text, ids, nrows)
                ids = with_checks(checks, ids)
            ones = OPS["OnesLike"](cast(ids, "int32"))
            lengths = OPS["UnsortedSegmentSum"](ones, cast(ids, "int32"), cast(nrows, "int32"))
            lengths = cast(lengths, ids.dtype)
            splits = _splits_of(lengths)
            if count is not None and not isinstance(splits, EagerTensor):
                lengths.set_shape([count])
                splits.set_shape([count + 1])
            return cls(splits, lengths, ids, nrows, internal=_KEY)

    @staticmethod
    def _rows_of_ids(ids, nrows):
        """Returns the number of rows as a tensor, and as a number or None."""
        known = constant_value(ids)
        if nrows is None:
            if known is None:
                last = concat([ids[-1:], constant([-1], ids.dtype)], 0)
                return last[0] + constant(1, ids.dtype), None
            count = int(known[-1]) + 1 if known.size else 0
            return constant(count, ids.dtype, name="nrows"), count
        nrows = convert_to_tensor(nrows, ids.dtype, name="nrows")
        count = constant_value(nrows)
        if count is None:
            return nrows, None
        if count < 0:
            raise ValueError(f"Expected nrows >= 0; got {count}")
        if known is not None and known.size and count < known[-1] + 1:
            raise ValueError(
                f"Expected nrows >= value_rowids[-1] + 1; got nrows={count}, "
                f"value_rowids[-1]={known[-1]}"
            )
        return nrows, int(count) if not numpy.ndim(count) else None

    @classmethod
    def from_row_splits(
        cls,
        row_splits: Any,
        validate: bool = True,
        dtype: DTypeLike = None,
        dtype_hint: DTypeLike = None,
    ) -> Any:
        """Creates a partition from the points between rows: `[0, end of row 0, ..., nvals]`."""
        _require_bool(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        if isinstance(row_splits, TensorSpec):
            return cls(row_splits, internal=_KEY)
        with scope(None, "RowPartitionFromRowSplits"):
            splits = _vector(row_splits, "row_splits", dtype, dtype_hint)
            if validate:
                text = "Arguments to from_row_splits do not form a valid RaggedTensor:"
                size, zero = op("Size", splits, out_type=splits.dtype), constant(0, splits.dtype)
                checks = _check_rank(splits, 1, text + "rank")
                checks += check(op("Greater", size, zero), text + "row_splits may not be empty")
                checks += check(op("Equal", splits[:1], zero), text + "zero", splits)
                checks += _rising(splits, text + "monotonic")
                splits = with_checks(checks, splits)
            return cls(splits, internal=_KEY)

    @classmethod
    def from_row_lengths(
        cls,
        row_lengths: Any,
        validate: bool = True,
        dtype: DTypeLike = None,
        dtype_hint: DTypeLike = None,
    ) -> Any:
        """Creates a partition from the length of each row."""
        _require_bool(validate)
        with scope(None, "RowPartitionFromRowLengths"):
            lengths = _vector(row_lengths, "row_lengths", dtype, dtype_hint)
            if validate:
                text = "Arguments to from_row_lengths do not form a valid RowPartition"
                is_valid = op("GreaterEqual", lengths, constant(0, lengths.dtype))
                checks = _check_rank(lengths, 1, text) + check(is_valid, text, lengths)
                lengths = with_checks(checks, lengths)
            return cls(_splits_of(lengths), lengths, internal=_KEY)

    @classmethod
    def from_row_starts(
        cls,
        row_starts: Any,
        nvals: Any,
        validate: bool = True,
        dtype: DTypeLike = None,
        dtype_hint: DTypeLike = None,
    ) -> Any:
        """Creates a partition from the start of each row and the number of values."""
        _require_bool(validate)
        with scope(None, "RowPartitionFromRowStarts"):
            starts = _vector(row_starts, "row_starts", dtype, dtype_hint)
            nvals = cast(convert_to_tensor(nvals, name="nvals"), starts.dtype)
            if validate:
                text = "Arguments to from_row_starts do not form a valid RaggedTensor"
                zero = constant(0, starts.dtype)
                checks = _check_rank(starts, 1, text)
                checks += check(op("Equal", starts[:1], zero), text, starts)
                checks += _rising(starts, text)
                checks += check(op("LessEqual", starts[-1:], nvals), text, starts, nvals)
                starts = with_checks(checks, starts)
            splits = concat([starts, op("Reshape", nvals, [1])], 0)
            return cls(splits, nvals=nvals, internal=_KEY)

    @classmethod
    def from_row_limits(
        cls,
        row_limits: Any,
        validate: bool = True,
        dtype: DTypeLike = None,
        dtype_hint: DTypeLike = None,
    ) -> Any:
        """Creates a partition from the end of each row."""
        _require_bool(validate)
        with scope(None, "RowPartitionFromRowLimits"):
            limits = _vector(row_limits, "row_limits", dtype, dtype_hint)
            if validate:
                text = "Arguments to from_row_limits do not form a valid RaggedTensor"
                zero = constant(0, limits.dtype)
                checks = _check_rank(limits, 1, text)
                checks += check(op("GreaterEqual", limits[:1], zero), text, limits)
                limits = with_checks(checks + _rising(limits, text), limits)
            return cls(concat([constant([0], limits.dtype), limits], 0), internal=_KEY)

    @classmethod
    def from_uniform_row_length(
        cls,
        uniform_row_length: Any,
        nvals: Any = None,
        nrows: Any = None,
        validate: bool = True,
        dtype: DTypeLike = None,
        dtype_hint: DTypeLike = None,
    ) -> Any:
        """Creates a partition into rows of one length.

        Args:
          uniform_row_length: The length.
          nvals: The number of values; by default those of `nrows` rows.
          nrows: The number of rows; by default as many as there are values for.
          validate: Whether the arguments are checked.
          dtype: The type of the encodings, int32 or int64.
          dtype_hint: The type of Python values, if `dtype` is None.

        Raises:
          ValueError: the numbers do not match, or neither `nvals` nor `nrows` is given.
        """
        _require_bool(validate)
        if nrows is None and nvals is None:
            raise ValueError("Either (or both) of nvals and nrows must be specified")
        with scope(None, "RowPartitionFromUniformRowLength"):
            given = {"uniform_row_length": uniform_row_length, "nvals": nvals, "nrows": nrows}
            size, nvals, nrows = _same_type(given, dtype, dtype_hint)
            _of_rank(size, 0)
            return cls._uniform(size, nvals, nrows, validate)

    @classmethod
    def _uniform(cls, size, nvals, nrows, validate):
        known = constant_value(size)
        if nrows is None:
            one = constant(1, size.dtype)
            nrows = (
                constant(0, size.dtype)
                if known is not None and not known
                else op("FloorDiv", nvals, op("Maximum", size, one) if known is None else size)
            )
        rows = constant_value(nrows)
        count = None if nvals is None else constant_value(nvals)
        checks = []
        if count is None and rows is not None and known is not None:
            count = rows * known
            if nvals is not None and validate:
                text = f"uniform_row_length={known} times nrows={rows} must equal nvals"
                checks = check(op("Equal", nvals, constant(count, size.dtype)), text, nvals)
            nvals = constant(count, size.dtype)
        nvals = nrows * size if nvals is None else nvals
        if rows is not None and known is not None:
            splits = constant(numpy.arange(int(rows) + 1) * int(known), size.dtype)
        else:
            zero, one = constant(0, size.dtype), constant(1, size.dtype)
            splits = op("Range", zero, nrows + one, one) * size
        if validate:
            checks += _uniform_checks(size, known, nrows, rows, nvals, count)
            splits = with_checks(checks, splits)
        return cls(splits, nrows=nrows, uniform_row_length=size, nvals=nvals, internal=_KEY)

    # Encodings

    dtype = property(lambda s: s._row_splits.dtype)

    def row_splits(self) -> Any:
        """Returns the points between rows: row i is `values[row_splits[i]:row_splits[i + 1]]`."""
        return self._row_splits

    def value_rowids(self) -> Any:
        """Returns the row of each value."""
        if self._value_rowids is not None:
            return self._value_rowids
        known = self._known_lengths()
        if known is not None:
            return constant(numpy.repeat(numpy.arange(len(known)), known), self.dtype)
        zero, one = constant(0, self.dtype), constant(1, self.dtype)
        rows = op("Range", zero, self.nrows(), one)
        ids = BOTH["repeat"](rows, self.row_lengths())
        if not isinstance(ids, EagerTensor) and self.static_nvals is not None:
            ids.set_shape([self.static_nvals])
        return ids

    def _known_lengths(self):
        """Returns the row lengths that are known while a graph is built, if they are few."""
        if isinstance(self._row_splits, EagerTensor):
            return None
        splits = constant_value(self._row_splits)
        if splits is None or not splits.size or splits[-1] > _FEW:
            return None
        return numpy.diff(splits)

    def nvals(self) -> Any:
        """Returns the number of values."""
        return self._row_splits[-1] if self._nvals is None else self._nvals

    def nrows(self) -> Any:
        """Returns the number of rows."""
        if self._nrows is not None:
            return self._nrows
        one = constant(1, self.dtype)
        return op("Size", self._row_splits, out_type=self.dtype) - one

    def uniform_row_length(self) -> Any:
        """Returns the length of rows that are known to be uniform; otherwise None."""
        return self._uniform_row_length

    def row_starts(self) -> Any:
        """Returns the start of each row."""
        return self._row_splits[:-1]

    def row_limits(self) -> Any:
        """Returns the end of each row."""
        return self._row_splits[1:]

    def row_lengths(self) -> Any:
        """Returns the length of each row."""
        if self._row_lengths is not None:
            return self._row_lengths
        return self._row_splits[1:] - self._row_splits[:-1]

    def offsets_in_rows(self) -> Any:
        """Returns the index of each value in its row."""
        ids = self.value_rowids()
        zero, one = constant(0, self.dtype), constant(1, self.dtype)
        places = op("Range", zero, self.nvals(), one)
        return places - op("GatherV2", self.row_starts(), ids, 0)

    def is_uniform(self) -> bool:
        """Returns whether the rows are known to have one length."""
        return self._uniform_row_length is not None

    @property
    def static_nrows(self) -> Any:
        """The number of rows as an int; None if it is unknown."""
        if self._row_splits is not None:
            dims = self._row_splits.shape
            if dims.rank is not None and dims.as_list()[0] is not None:
                return dims.as_list()[0] - 1
        for vector in (self._row_lengths,):
            if vector is not None and vector.shape.rank and vector.shape.as_list()[0] is not None:
                return vector.shape.as_list()[0]
        return _number(self._nrows)

    @property
    def static_nvals(self) -> Any:
        """The number of values as an int; None if it is unknown."""
        known = self.declared_nvals
        if known is not None:
            return known
        splits = constant_value(self._row_splits)
        return None if splits is None or not splits.size else int(splits[-1])

    @property
    def declared_nvals(self) -> Any:
        """The number of values if it is known without the row splits; otherwise None."""
        known = _number(self._nvals)
        if known is not None:
            return known
        ids = self._value_rowids
        if ids is not None and ids.shape.rank and ids.shape.as_list()[0] is not None:
            return ids.shape.as_list()[0]
        rows, size = self.static_nrows, self.static_uniform_row_length
        return None if None in (rows, size) else rows * size

    @property
    def static_uniform_row_length(self) -> Any:
        """The length of all rows as an int; None if it is unknown or rows may differ."""
        return _number(self._uniform_row_length)

    def with_dtype(self, dtype: DTypeLike) -> Any:
        """Returns the partition with int32 or int64 encodings."""
        dtype = as_dtype(dtype)
        if dtype.name not in ("int32", "int64"):
            raise ValueError("dtype must be int32 or int64")
        if self.dtype == dtype:
            return self
        parts = {
            name: cast(value, dtype)
            for name in ("row_splits", *_CACHED)
            if (value := getattr(self, "_" + name)) is not None
        }
        return RowPartition(**parts, internal=_KEY)

    def with_dependencies(self, checks: list) -> Any:
        """Returns the partition whose row splits are computed after other operations."""
        if not checks:
            return self
        parts = {name: getattr(self, "_" + name) for name in _CACHED}
        return RowPartition(with_checks(checks, self._row_splits), **parts, internal=_KEY)

    def copy(self, **changes: Any) -> Any:
        """Returns the partition with other cached encodings."""
        parts = {name: getattr(self, "_" + name) for name in ("row_splits", *_CACHED)}
        return RowPartition(**{**parts, **changes}, internal=_KEY)

    @property
    def _situ_tensors_(self):
        return [self._row_splits]

    _situ_parts_ = _situ_tensors_

    @property
    def _type_spec(self):
        from situ._src.ops.row_partition_spec import RowPartitionSpec

        return RowPartitionSpec.from_value(self)

    @classmethod
    def of_splits(cls, row_splits: Any, uniform_row_length: int | None = None) -> Any:
        """Creates a partition from row splits that are known to be valid.

        Args:
          row_splits: the row splits as a tensor.
          uniform_row_length: the length of all rows as an int, or None.
        """
        size = (
            None if uniform_row_length is None else constant(uniform_row_length, row_splits.dtype)
        )
        return cls(row_splits, uniform_row_length=size, internal=_KEY)

    def _situ_from_tensors_(self, pieces):
        return self.of_splits(pieces[0], self.static_uniform_row_length)

    def _merge_precomputed_encodings(self, other, validate=True):
        """Returns this partition with the encodings that it or an equal partition has cached.

        Raises:
          ValueError: the partitions are known to differ.
        """
        if self is other:
            return self
        for name in (*_CACHED, "row_splits"):
            _require_compatible(self, other, name)
        merged = {
            name: getattr(other if getattr(self, "_" + name) is None else self, "_" + name)
            for name in ("row_splits", *_CACHED)
        }
        made = RowPartition(**merged, internal=_KEY)
        x, y = self._row_splits, other._row_splits
        if x is y or not validate:
            return made
        # Equal row splits imply that all other encodings are equal.
        return made.with_dependencies(check(op("Equal", x, y), _INCOMPATIBLE + "row_splits", x, y))

    def _merge_with_spec(self, spec):
        """Returns this partition with the uniform row length of a spec.

        Raises:
          ValueError: the partition does not match the spec.
        """
        if not spec.is_compatible_with(self._type_spec):
            raise ValueError("RowPartition and RowPartitionSpec are not compatible")
        if self.is_uniform() or spec.uniform_row_length is None:
            return self
        return self.copy(uniform_row_length=constant(spec.uniform_row_length, self.dtype))

    def __repr__(self):
        if self._uniform_row_length is not None:
            rows = self._nrows
            if isinstance(self._uniform_row_length, EagerTensor) and isinstance(rows, EagerTensor):
                return (
                    f"tf.RowPartition(nrows={rows.numpy()}, "
                    f"uniform_row_length={self._uniform_row_length.numpy()})"
                )
            return (
                f"tf.RowPartition(nrows={self.nrows()}, "
                f"uniform_row_length={self._uniform_row_length})"
            )
        splits = self._row_splits
        shown = splits.numpy() if isinstance(splits, EagerTensor) else splits
        return f"tf.RowPartition(row_splits={shown})"


def _number(tensor):
    known = None if tensor is None else constant_value(tensor)
    return None if known is None else int(known)


def _require_compatible(a, b, name):
    """Raises ValueError if encodings of two partitions are known to have different shapes."""
    x, y = getattr(a, "_" + name), getattr(b, "_" + name)
    if x is not None and y is not None and not x.shape.is_compatible_with(y.shape):
        raise ValueError(_INCOMPATIBLE + name)


def _splits_of(lengths):
    """Returns row splits of row lengths."""
    ends = op("Cumsum", lengths, constant(0))
    return concat([constant([0], lengths.dtype), ends], 0)


def _same_type(given, dtype, dtype_hint):
    """Converts numbers to tensors of one type: `dtype`, or that of the first tensor, or the
    hint."""
    for value in given.values():
        if dtype is None and hasattr(value, "dtype") and not isinstance(value, numpy.generic):
            dtype = as_dtype(value.dtype)
    return [
        None if value is None else convert_partition(value, name, dtype, dtype_hint)
        for name, value in given.items()
    ]


def _uniform_checks(size, known, nrows, rows, nvals, count):
    """Checks that rows of one length hold all values, as far as possible now."""
    checks = []
    if None in (known, rows, count):
        text = "uniform_row_length times nrows must equal nvals"
        checks = check(op("Equal", nrows * size, nvals), text, size, nrows, nvals)
    elif rows * known != count:
        raise ValueError(f"uniform_row_length={known} times nrows={rows} must equal nvals={count}")
    if known is None:
        zero = constant(0, size.dtype)
        text = "uniform_row_length must be >= 0."
        return checks + check(op("GreaterEqual", size, zero), text, size)
    if known < 0:
        raise ValueError("uniform_row_length must be >= 0.")
    return checks
