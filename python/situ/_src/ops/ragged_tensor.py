# SPDX-License-Identifier: Apache-2.0
"""ragged_tensor.py: tf.RaggedTensor: rows of different lengths, stored as flat values and row
splits."""

from __future__ import annotations

import functools
import inspect

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.check_ops import Assert
from situ._src.ops.sparse_ops import SparseTensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, ShapeLike

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


def _index(value, argument):
    """Returns (a partition tensor as int64, its dtype); Python values become int64."""
    value = (
        convert_to_tensor(value, dtype_hint="int64")
        if isinstance(value, (int, list, tuple))
        else convert_to_tensor(value)
    )
    if not value.dtype.is_integer:
        raise ValueError(f"{argument} must have dtype int32 or int64")
    return cast(value, "int64"), "int32" if value.dtype.name == "int32" else "int64"


def _wide(sizes=False):
    """Decorates a method that computes in int64: for int32 row_splits its ragged results, and
    sizes, are
    converted back."""

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
            return (
                tuple(cast(m, "int32") for m in result)
                if isinstance(result, tuple)
                else cast(result, "int32")
            )

        return call

    return decorate


def _binary(name):
    def apply(self, other):
        splits_dtype(self, other)
        if isinstance(other, RaggedTensor):
            other = other.flat_values
        return self.with_flat_values(getattr(self.flat_values, name)(other))

    return apply


def ranges(starts, lengths):
    """Concatenates the ranges [start, start + length)."""
    ends = op("Cumsum", lengths, constant(0))
    count = op("Sum", lengths, [0])
    shift = BOTH["repeat"](starts - (ends - lengths), lengths)
    return shift + op("Range", constant(0, "int64"), count, constant(1, "int64"))


def _reason(splits, count):
    """Why eager row_splits do not divide that many values into rows, or None if they do."""
    if not splits.size:
        return "row_splits tensor may not be empty"
    if splits[0]:
        return "zero: the first row must begin at 0"
    if (splits[1:] < splits[:-1]).any():
        return "monotonic: row_splits must not decrease"
    if splits[-1] != count:
        return f"the rows hold {splits[-1]} values, but there are {count}"
    return None


def _graph_checks(splits, count, text):
    """Assert ops that row_splits of a graph divide that many values into rows."""

    def check(reason, condition, *data):
        everywhere = op("Reshape", condition, [-1])
        return Assert(op("All", everywhere, [0]), [text + reason, *data], summarize=10)

    # Slices, not elements: they also exist if row_splits are empty.
    size, zero = op("Size", splits, out_type="int64"), constant(0, "int64")
    return [
        check("row_splits tensor may not be empty", op("Greater", size, zero)),
        check("zero: the first row must begin at 0", op("Equal", splits[:1], zero), splits),
        check(
            "monotonic: row_splits must not decrease",
            op("LessEqual", splits[:-1], splits[1:]),
            splits,
        ),
        check(
            "the last row must end at the number of values",
            op("Equal", splits[-1:], count),
            splits,
            count,
        ),
    ]


def _check_rows(made, method):
    """Checks that row_splits divide the values into rows: eagerly, or when a graph runs.

    Raises:
        InvalidArgumentError: if the row_splits of an eager tensor do not.
    """
    text = f"Arguments to {method} do not form a valid RaggedTensor:"
    splits, count = made.row_splits, row_count(made.values)
    if hasattr(splits, "numpy") and hasattr(count, "numpy"):
        reason = _reason(splits.numpy(), int(count))
        if reason is not None:
            raise errors.InvalidArgumentError(None, None, text + reason)
        return made
    checks = _graph_checks(cast(splits, "int64"), count, text)
    with control_dependencies(checks):
        made.row_splits = op("Identity", splits)
    return made


def _check_uniform(length, nrows, nvals):
    """Raises ValueError if rows of one length do not hold all values, as far as it is known."""
    length, nrows, nvals = (constant_value(x) for x in (length, nrows, nvals))
    if None not in (length, nrows, nvals) and length * nrows != nvals:
        raise ValueError(
            f"uniform_row_length={length} times nrows={nrows} must equal nvals={nvals}"
        )


def _check_rowids(rowids):
    """The row of each value, checked eagerly or when a graph runs: they must not decrease."""
    text = (
        "Arguments to from_value_rowids do not form a valid RaggedTensor:"
        "value_rowids must not be negative or decrease"
    )
    if hasattr(rowids, "numpy"):
        if (numpy.diff(rowids.numpy(), prepend=0) < 0).any():
            raise errors.InvalidArgumentError(None, None, text)
        return rowids
    before = concat([constant([0], "int64"), rowids[:-1]], 0)
    # Of no rowids, `before` has one too many.
    rising = op("LessEqual", before[: op("Size", rowids)], rowids)
    with control_dependencies([Assert(op("All", rising, [0]), [text, rowids], summarize=10)]):
        return op("Identity", rowids)


def _validated(method):
    """A constructor of ragged tensors that checks its rows unless validate is False."""

    @functools.wraps(method)
    def call(cls, *args, **words):
        made = method(cls, *args, **words)
        given = signature.bind(cls, *args, **words).arguments
        return _check_rows(made, method.__name__) if given.get("validate", True) else made

    signature = inspect.signature(method)
    return call


@export("RaggedTensor")
class RaggedTensor:
    """A tensor with rows of different lengths: `values[row_splits[i]:row_splits[i + 1]]` is row i.
    Values
    may be ragged, too."""

    def __init__(self, values, row_splits):
        self.values = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
        splits, kind = _index(row_splits, "row_splits")
        if isinstance(values, RaggedTensor) and values.row_splits.dtype.name != kind:
            raise ValueError(
                "row_splits must have the same dtype as those of the values: "
                f"{kind} != {values.row_splits.dtype.name}"
            )
        self.row_splits = cast(splits, kind)

    def with_row_splits_dtype(self, dtype: DTypeLike) -> Any:
        """Returns the tensor with int32 or int64 row_splits."""
        kind = as_dtype(dtype).name
        if kind not in ("int32", "int64"):
            raise ValueError(
                f"Argument `row_splits` dtype must be int32 or int64. Received {kind}."
            )
        if kind == self.row_splits.dtype.name:
            return self
        inner = self.values
        return RaggedTensor(
            inner.with_row_splits_dtype(kind) if isinstance(inner, RaggedTensor) else inner,
            cast(self.row_splits, kind),
        )

    @classmethod
    def _of_wide(cls, values, splits, kind):
        """Rows by splits of int64, which become those of another dtype."""
        return cls(values, cast(splits, kind))

    @classmethod
    @_validated
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool | None = True
    ) -> Any:
        """Creates a ragged tensor from values and row splits."""
        del validate  # _validated reads it
        with scope(name, "RaggedFromRowSplits"):
            return cls(values, row_splits)

    @classmethod
    @_validated
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool | None = True
    ) -> Any:
        """Creates a ragged tensor from values and row lengths."""
        del validate  # _validated reads it
        with scope(name, "RaggedFromRowLengths"):
            lengths, kind = _index(row_lengths, "row_lengths")
            ends = op("Cumsum", lengths, constant(0))
            return cls._of_wide(values, concat([constant([0], "int64"), ends], 0), kind)

    @classmethod
    @_validated
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool | None = True
    ) -> Any:
        """Creates a ragged tensor from values and the start of each row."""
        del validate  # _validated reads it
        with scope(name, "RaggedFromRowStarts"):
            starts, kind = _index(row_starts, "row_starts")
            last = op("Reshape", row_count(values), [1])
            return cls._of_wide(values, concat([starts, last], 0), kind)

    @classmethod
    @_validated
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool | None = True
    ) -> Any:
        """Creates a ragged tensor from values and the end of each row."""
        del validate  # _validated reads it
        with scope(name, "RaggedFromRowLimits"):
            limits, kind = _index(row_limits, "row_limits")
            return cls._of_wide(values, concat([constant([0], "int64"), limits], 0), kind)

    @classmethod
    @_validated
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool | None = True,
    ) -> Any:
        """Creates a ragged tensor with `nrows` rows of one length; by default as many as there are
        values for."""
        del validate  # _validated reads it
        with scope(name, "RaggedFromUniformRowLength"):
            size, kind = _index(uniform_row_length, "uniform_row_length")
            values = values if isinstance(values, RaggedTensor) else convert_to_tensor(values)
            zero, one = constant(0, "int64"), constant(1, "int64")
            if nrows is None:
                nrows = op("FloorDiv", row_count(values), op("Maximum", size, one))
            nrows = cast(convert_to_tensor(nrows), "int64")
            _check_uniform(size, nrows, row_count(values))
            rows = op("Range", zero, nrows + one, one)
            return cls._of_wide(values, rows * size, kind)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Any,
        name: str | None = None,
        validate: bool | None = True,
    ) -> Any:
        """Creates a ragged tensor from flat values and the row splits of each ragged dimension."""
        with scope(name, "RaggedFromNestedRowSplits"):
            for splits in reversed(list(nested_row_splits)):
                flat_values = cls.from_row_splits(flat_values, splits, validate=validate)
            return flat_values

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Any,
        name: str | None = None,
        validate: bool | None = True,
    ) -> Any:
        """Creates a ragged tensor from flat values and the row lengths of each ragged dimension."""
        with scope(name, "RaggedFromNestedRowlengths"):
            for lengths in reversed(list(nested_row_lengths)):
                flat_values = cls.from_row_lengths(flat_values, lengths, validate=validate)
            return flat_values

    @classmethod
    @_validated
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool | None = True,
    ) -> Any:
        """Creates a ragged tensor from values and the row of each value."""
        with scope(name, "RaggedFromValueRowIds"):
            wide, kind = _index(value_rowids, "value_rowids")
            if kind == "int32" and getattr(nrows, "dtype", kind) != kind:
                raise ValueError(f"nrows: Tensor conversion requested dtype {kind} for {nrows!r}")
            if validate:
                wide = _check_rowids(wide)
            rows = cast(wide, "int32")
            if nrows is None:
                nrows = op("Max", concat([rows, constant([-1])], 0), [0]) + 1
            ones = OPS["OnesLike"](rows)
            return cls.from_row_lengths(
                values,
                cast(
                    OPS["UnsortedSegmentSum"](ones, rows, cast(convert_to_tensor(nrows), "int32")),
                    kind,
                ),
                validate=False,
            )

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: str = "int64"
    ) -> Any:
        """Converts a left-aligned sparse matrix."""
        with scope(name, "RaggedFromSparse"):
            return cls.from_value_rowids(
                st_input.values, st_input.indices[:, 0], st_input.dense_shape[0]
            ).with_row_splits_dtype(row_splits_dtype)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: str = "int64",
    ) -> Any:
        """Converts a dense tensor; `lengths` or `padding` determine the row lengths."""
        with scope(name, "RaggedFromTensor"):
            result = cls._from_tensor(tensor, lengths, padding, ragged_rank)
            return result.with_row_splits_dtype(row_splits_dtype)

    @classmethod
    def _from_tensor(cls, tensor, lengths, padding, ragged_rank):
        tensor = convert_to_tensor(tensor)
        sizes = OPS["Shape"](tensor)
        if ragged_rank > 1:
            rest = concat([sizes[:1] * sizes[1:2], sizes[2:]], 0)
            inner = cls._from_tensor(op("Reshape", tensor, rest), None, padding, ragged_rank - 1)
            return cls.from_row_lengths(inner, cast(OPS["Fill"](sizes[:1], sizes[1]), "int64"))
        if lengths is None and padding is None:
            lengths = OPS["Fill"](sizes[:1], sizes[1])
        elif lengths is None:
            held = op("NotEqual", tensor, convert_to_tensor(padding, tensor.dtype))
            places = op("Range", constant(1), sizes[1] + 1, constant(1))
            lengths = op("Max", cast(held, "int32") * places, [1])
        mask = BOTH["sequence_mask"](cast(convert_to_tensor(lengths), "int32"), sizes[1])
        return cls.from_row_lengths(
            BOTH["boolean_mask"](tensor, mask), cast(convert_to_tensor(lengths), "int64")
        )

    @property
    def flat_values(self) -> Any:
        inner = self.values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def nested_row_splits(self) -> Any:
        inner = self.values
        return (
            self.row_splits,
            *(inner.nested_row_splits if isinstance(inner, RaggedTensor) else ()),
        )

    dtype = property(lambda s: s.flat_values.dtype)
    ragged_rank = property(lambda s: len(s.nested_row_splits))
    _situ_tensors_ = property(lambda s: [s.flat_values, *s.nested_row_splits])

    @classmethod
    def _situ_from_tensors_(cls, pieces):
        return cls.from_nested_row_splits(pieces[0], pieces[1:], validate=False)

    @property
    def shape(self) -> Any:
        known = tensor_shape.as_shape(self.row_splits.shape).as_list()[0]
        inner = tensor_shape.as_shape(self.values.shape).as_list()[1:]
        return tensor_shape.TensorShape([None if known is None else known - 1, None, *inner])

    def get_shape(self) -> Any:
        return self.shape

    def nested_row_lengths(self, name: str | None = None) -> Any:
        """Returns the row lengths of each ragged dimension."""
        with scope(name, "RaggedNestedRowLengths"):
            return tuple(s[1:] - s[:-1] for s in self.nested_row_splits)

    @_wide(sizes=True)
    def nrows(self, out_type: DTypeLike = None, name: str | None = None) -> Any:
        """Returns the number of rows."""
        with scope(name, "RaggedNRows"):
            return cast(op("Size", self.row_splits, out_type="int64") - 1, out_type or "int64")

    def row_starts(self, name: str | None = None) -> Any:
        """Returns the start of each row."""
        with scope(name, "RaggedRowStarts"):
            return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Returns the end of each row."""
        with scope(name, "RaggedRowLimits"):
            return self.row_splits[1:]

    def row_lengths(self, axis: Axis = 1, name: str | None = None) -> Any:
        """Returns the length of each row."""
        with scope(name, "RaggedRowLengths"):
            if axis == 2:
                return RaggedTensor(self.values.row_lengths(), self.row_splits)
            return self.row_splits[1:] - self.row_splits[:-1]

    @_wide(sizes=True)
    def value_rowids(self, name: str | None = None) -> Any:
        """Returns the row of each value."""
        with scope(name, "RaggedValueRowIds"):
            rows = op("Range", constant(0, "int64"), self.nrows(), constant(1, "int64"))
            return BOTH["repeat"](rows, self.row_lengths())

    @_wide(sizes=True)
    def bounding_shape(
        self, axis: Axis = None, name: str | None = None, out_type: DTypeLike = None
    ) -> Any:
        """Returns the smallest dense shape that holds the tensor."""
        with scope(name, "RaggedBoundingBox"):
            longest = op("Max", concat([self.row_lengths(), constant([0], "int64")], 0), [0])
            inner = (
                self.values.bounding_shape()[1:]
                if isinstance(self.values, RaggedTensor)
                else op("Shape", self.values, out_type="int64")[1:]
            )
            result = concat([op("Pack", [self.nrows(), longest]), inner], 0)
            result = cast(result, out_type or "int64")
            return result if axis is None else result[axis]

    def with_values(self, new_values: Any) -> Any:
        """Returns a ragged tensor with the same rows and other values."""
        return RaggedTensor(new_values, self.row_splits)

    def with_flat_values(self, new_values: Any) -> Any:
        """Returns a ragged tensor with the same rows and other flat values."""
        if isinstance(self.values, RaggedTensor):
            new_values = self.values.with_flat_values(new_values)
        return RaggedTensor(new_values, self.row_splits)

    @_wide()
    def merge_dims(self, outer_axis: Any, inner_axis: Any) -> Any:
        """Merges two neighbouring dimensions."""
        if outer_axis == 0:
            return self.values
        if not isinstance(self.values, RaggedTensor):
            raise ValueError("situ merges ragged dimensions, or the first with the next.")
        if outer_axis > 1:
            return self.with_values(self.values.merge_dims(outer_axis - 1, inner_axis - 1))
        inner = self.values
        return RaggedTensor(inner.values, op("GatherV2", inner.row_splits, self.row_splits, 0))

    @_wide()
    def take(self, indices: Any) -> Any:
        """Gathers rows."""
        indices = cast(convert_to_tensor(indices), "int64")
        lengths = op("GatherV2", self.row_lengths(), indices, 0)
        at = ranges(op("GatherV2", self.row_starts(), indices, 0), lengths)
        return RaggedTensor.from_row_lengths(gather_rows(self.values, at), lengths, validate=False)

    @_wide()
    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: ShapeLike = None
    ) -> Any:
        """Converts to a dense tensor; short rows are padded with `default_value`."""
        with scope(name, "RaggedToTensor"):
            if isinstance(self.values, RaggedTensor):
                inner = (
                    None if shape is None else [None, *tensor_shape.as_shape(shape).as_list()[2:]]
                )
                whole = RaggedTensor(
                    self.values.to_tensor(default_value, shape=inner), self.row_splits
                )
                return whole.to_tensor(default_value, shape=shape)
            empty = "" if self.dtype.name == "string" else False if self.dtype.is_bool else 0
            fill = convert_to_tensor(empty if default_value is None else default_value, self.dtype)
            inner = self.values.shape.as_list()[1:]
            dims = tensor_shape.as_shape(shape).as_list() if shape is not None else [None, None]
            width = self.bounding_shape()[1] if dims[1] is None else constant(dims[1], "int64")
            columns = op(
                "ExpandDims", op("Range", constant(0, "int64"), width, constant(1, "int64")), 0
            )
            at = op("ExpandDims", self.row_starts(), 1) + columns
            is_value = op("Less", columns, op("ExpandDims", self.row_lengths(), 1))
            at = op("SelectV2", is_value, at, row_count(self.values))
            if inner:
                sizes = concat([constant([1]), op("Shape", self.values)[1:]], 0)
                fill = op("GatherV2", op("Reshape", fill, [1]), op("Fill", sizes, constant(0)), 0)
            return op(
                "GatherV2",
                concat([self.values, fill if inner else op("Reshape", fill, [1])], 0),
                at,
                0,
            )

    @_wide()
    def to_sparse(self, name: str | None = None) -> Any:
        """Converts to a SparseTensor."""
        with scope(name, "RaggedToSparse"):
            if isinstance(self.values, RaggedTensor) or self.values.shape.ndims != 1:
                raise ValueError(
                    "RaggedTensor.to_sparse: situ supports one ragged dimension of scalars only."
                )
            rows = self.value_rowids()
            first = op("GatherV2", self.row_splits, rows, 0)
            count = op("Size", self.values, out_type="int64")
            columns = op("Range", constant(0, "int64"), count, constant(1, "int64")) - first
            return SparseTensor(
                op("Pack", [rows, columns], axis=1), self.values, self.bounding_shape()
            )

    def to_list(self) -> Any:
        """Returns nested Python lists."""
        values = (
            self.values.to_list()
            if isinstance(self.values, RaggedTensor)
            else self.values.numpy().tolist()
        )
        splits = self.row_splits.numpy().tolist()
        return [values[a:b] for a, b in zip(splits, splits[1:])]

    def numpy(self) -> Any:
        """Returns an array, or an array of arrays if rows have different lengths."""
        rows = [r.numpy() for r in self]
        if len({r.shape for r in rows}) == 1 and all(
            r.dtype != object or not isinstance(self.values, RaggedTensor) for r in rows
        ):
            return numpy.stack(rows)
        result = numpy.empty(len(rows), object)
        result[:] = rows
        return result

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "A ragged tensor cannot be converted to an array: use .numpy() for an array of rows "
            "or .to_tensor() to pad the rows."
        )

    @_wide()
    def _slice_rows(self, key):
        """Slices all rows."""
        if key.step not in (None, 1):
            raise ValueError("situ slices ragged rows with a step of 1 only.")
        sizes, zero = self.row_lengths(), constant(0, "int64")

        def place(at, default):
            if at is None:
                return default
            at = cast(convert_to_tensor(at), "int64")
            at = op("SelectV2", op("Less", at, zero), sizes + at, at + op("ZerosLike", sizes))
            return op("Minimum", op("Maximum", at, zero), sizes)

        first, last = place(key.start, op("ZerosLike", sizes)), place(key.stop, sizes)
        lengths = op("Maximum", last - first, zero)
        at = ranges(self.row_starts() + first, lengths)
        return RaggedTensor.from_row_lengths(gather_rows(self.values, at), lengths, validate=False)

    @_wide()
    def __getitem__(self, key):
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is Ellipsis:
            first = slice(None)
        if not isinstance(first, slice):
            row = self.values[self.row_starts()[first] : self.row_limits()[first]]
            return row[tuple(rest)] if len(rest) > 1 else row[rest[0]] if rest else row
        result = self
        if first != slice(None):
            count = op("Range", constant(0, "int64"), self.nrows(), constant(1, "int64"))
            result = self.take(count[first])
        if not rest:
            return result
        if not isinstance(rest[0], slice):
            raise ValueError("Cannot index into an inner ragged dimension.")
        result = result._slice_rows(rest[0]) if rest[0] != slice(None) else result
        if len(rest) > 1:
            inner = (slice(None), *rest[1:])
            result = result.with_values(result.values[inner])
        return result

    def __len__(self):
        return int(self.nrows())

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    __eq__, __ne__ = _binary("__eq__"), _binary("__ne__")
    __hash__ = object.__hash__

    def __repr__(self):
        if not hasattr(self.flat_values, "numpy"):
            return f"tf.RaggedTensor(values={self.values!r}, row_splits={self.row_splits!r})"
        return f"<tf.RaggedTensor {self.to_list()}>"


def row_count(values):
    """Returns the number of rows of a tensor, ragged or dense."""
    return (
        values.nrows(out_type="int64")
        if isinstance(values, RaggedTensor)
        else op("Shape", values, out_type="int64")[0]
    )


def gather_rows(values, indices):
    """Gathers rows of a tensor, ragged or dense."""
    return (
        values.take(indices)
        if isinstance(values, RaggedTensor)
        else op("GatherV2", values, indices, 0)
    )


for _name in (
    "add sub mul truediv floordiv mod pow radd rsub rmul rtruediv lt le gt ge and or neg abs invert"
).split():
    if _name in ("neg", "abs", "invert"):
        setattr(
            RaggedTensor,
            f"__{_name}__",
            lambda self, _n=f"__{_name}__": self.with_flat_values(getattr(self.flat_values, _n)()),
        )
    else:
        setattr(RaggedTensor, f"__{_name}__", _binary(f"__{_name}__"))
