# SPDX-License-Identifier: Apache-2.0
"""ragged_ops.py: tf.ragged and ops on ragged tensors: element-wise ops apply to the flat values,
others are
implemented by row; tf.strings.split."""

from __future__ import annotations

import re

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import BOTH, OPS, V2, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops import math_ops
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor, gather_rows, ranges, splits_dtype
from situ._src.ops.string_ops import regex_replace

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike

_SPACES = " \t\n\r\f\v"


def _depth(value):
    """Returns the nesting depth of lists; None if it is unknown because they are empty."""
    if not isinstance(value, (list, tuple, numpy.ndarray)):
        return 0
    below = [d for d in map(_depth, value) if d is not None]
    return max(below) + 1 if below else (1 if not len(value) else None)


@export("ragged.constant")
def ragged_constant(
    pylist: Any,
    dtype: DTypeLike = None,
    ragged_rank: Any = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = None,
) -> Any:
    """Creates a ragged tensor from nested lists.

    Args:
      pylist: Nested lists.
      dtype: The element type. By default it is inferred.
      ragged_rank: The number of ragged dimensions.
      inner_shape: The shape of the uniform inner dimensions.
      row_splits_dtype: int32 or int64.
      name: A name for the operation (optional).

    Returns:
      A RaggedTensor.

    Raises:
      ValueError: If the nesting does not fit `ragged_rank`.
    """
    with scope(name, "RaggedConstant"):
        depth = (_depth(pylist) or 1) - 1
        if inner_shape is not None:
            depth -= len(inner_shape)
        depth = max(depth, 1) if ragged_rank is None else ragged_rank
        flat, lengths = list(pylist), []
        for _ in range(depth):
            if any(not isinstance(r, (list, tuple, numpy.ndarray)) for r in flat):
                raise ValueError(
                    "pylist has scalar values depth 1, but ragged_rank requires scalar "
                    "value depth greater than 1"
                )
            lengths.append([len(r) for r in flat])
            flat = [v for r in flat for v in r]
        values = convert_to_tensor(flat, dtype) if flat else constant([], dtype or "float32")
        return RaggedTensor.from_nested_row_lengths(
            values, [constant(n, "int64") for n in lengths], validate=False
        ).with_row_splits_dtype(row_splits_dtype or "int64")


@export("ragged.stack")
def ragged_stack(values: Any, axis: Axis = 0, name: str | None = None) -> Any:
    """Stacks tensors of different lengths to a ragged tensor."""
    with scope(name, "RaggedConcat"):
        parts = [v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values]
        if any(isinstance(p, RaggedTensor) for p in parts):
            return op("Pack", parts, axis=axis)
        return RaggedTensor.from_row_lengths(
            concat(parts, 0),
            op("Pack", [op("Shape", p, out_type="int64")[0] for p in parts]),
            validate=False,
        )


@export("ragged.range")
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: int = 1,
    dtype: DTypeLike = None,
    name: str | None = None,
    row_splits_dtype: Any = None,
) -> Any:
    """Returns a ragged tensor with one range per row."""
    with scope(name, "RaggedRange"):
        starts, limits = (0, starts) if limits is None else (starts, limits)
        parts = numpy.broadcast_arrays(
            *[
                numpy.asarray(v.numpy() if hasattr(v, "numpy") else v)
                for v in (starts, limits, deltas)
            ]
        )
        rows = [numpy.arange(*p) for p in zip(*[numpy.atleast_1d(a) for a in parts])]
        kind = dtype or ("int32" if rows[0].dtype.kind == "i" else "float32")
        return RaggedTensor.from_row_lengths(
            constant(numpy.concatenate(rows), kind), [len(r) for r in rows], validate=False
        ).with_row_splits_dtype(row_splits_dtype or "int64")


@export("ragged.map_flat_values")
def map_flat_values(op_: Any, *args: Any, **kwargs: Any) -> Any:
    """Applies a function to the flat values of ragged tensors."""
    values = [a.flat_values if isinstance(a, RaggedTensor) else a for a in args]
    first = next(a for a in args if isinstance(a, RaggedTensor))
    return first.with_flat_values(op_(*values, **kwargs))


@export("ragged.boolean_mask")
def ragged_boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Keeps the elements of each row where the mask is true."""
    with scope(name, "RaggedMask"):
        mask = convert_to_tensor(mask, "bool")
        lengths = op("Sum", cast(mask, "int64"), [1])
        return RaggedTensor.from_row_lengths(
            BOTH["boolean_mask"](convert_to_tensor(data), mask), lengths, validate=False
        )


def _split(strings, sep):
    """Splits strings; returns (indices, values, shape)."""
    if sep is None or sep == "":
        return op("StringSplit", strings, _SPACES, skip_empty=True)
    sep = sep.decode() if isinstance(sep, bytes) else sep
    if len(sep.encode()) > 1:
        strings, sep = regex_replace(strings, re.escape(sep), "\x01"), "\x01"
    return op("StringSplit", strings, sep, skip_empty=False)


def _strings_split(input=None, sep=None, maxsplit=-1, name=None):
    """Splits a string into a vector, or a vector of strings into a ragged tensor."""
    with scope(name, "StringSplit"):
        if maxsplit != -1:
            raise ValueError("tf.strings.split: situ supports maxsplit=-1 only.")
        strings = convert_to_tensor(input, "string")
        if strings.shape.ndims == 0:
            return _split(op("Reshape", strings, [1]), sep)[1]
        if strings.shape.ndims != 1:
            raise ValueError("tf.strings.split: situ needs a scalar or a vector of strings.")
        indices, values, sizes = _split(strings, sep)
        return RaggedTensor.from_value_rowids(values, indices[:, 0], sizes[0], validate=False)


V2["strings.split"] = _strings_split


@export(v1="strings.split")
def strings_split_v1(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Splits a vector of strings into a SparseTensor or RaggedTensor."""
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    with scope(name, "StringSplit") as full:
        result = _strings_split(input if source is None else source, sep, maxsplit, full)
        return (
            result
            if result_type == "RaggedTensor" or not isinstance(result, RaggedTensor)
            else result.to_sparse()
        )


@export("RaggedTensorSpec")
class RaggedTensorSpec:
    """The type of a ragged tensor, for input signatures."""

    value_type = RaggedTensor

    def __init__(
        self,
        shape=None,
        dtype="float32",
        ragged_rank=None,
        row_splits_dtype="int64",
        flat_values_spec=None,
    ):
        from situ._src.framework.dtypes import as_dtype

        if flat_values_spec is not None:
            if ragged_rank is None:
                raise ValueError("ragged_rank must be given with flat_values_spec.")
            dtype = flat_values_spec.dtype if dtype is None else dtype
            if as_dtype(dtype) != flat_values_spec.dtype:
                raise ValueError("dtype must be the same as flat_values_spec.dtype")
        self.flat_values_spec = flat_values_spec
        self.shape, self.dtype = tensor_shape.as_shape(shape), as_dtype(dtype)
        rank = self.shape.rank or 2
        self.ragged_rank = rank - 1 if ragged_rank is None else ragged_rank
        self.row_splits_dtype = as_dtype(row_splits_dtype)

    @property
    def _situ_tensors_(self):
        inner = (self.shape.as_list() if self.shape.rank else [None, None])[self.ragged_rank + 1 :]
        return [
            self.flat_values_spec or TensorSpec([None, *inner], self.dtype),
            *[TensorSpec([None], self.row_splits_dtype) for _ in range(self.ragged_rank)],
        ]

    _situ_from_tensors_ = RaggedTensor._situ_from_tensors_

    def __repr__(self):
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            f"{self.row_splits_dtype!r})"
        )


def _rows(value):
    return value if isinstance(value, RaggedTensor) else RaggedTensor.from_tensor(value)


def _concat(values, axis, name=None):
    with scope(name, "RaggedConcat"):
        values = [_rows(v) for v in values]
        axis = int(axis)
        axis = axis + values[0].shape.rank if axis < 0 else axis
        if axis > 1:
            return values[0].with_values(_concat([v.values for v in values], axis - 1))
        inner = [v.values for v in values]
        joined = (
            _concat(inner, 0)
            if any(isinstance(v, RaggedTensor) for v in inner)
            else concat(inner, 0)
        )
        lengths = concat([v.row_lengths() for v in values], 0)
        whole = RaggedTensor.from_row_lengths(joined, lengths, validate=False)
        if axis == 0:
            return whole
        count, k = values[0].nrows(), len(values)
        order = op("Range", constant(0, "int64"), count * k, constant(1, "int64"))
        order = op("Reshape", op("Transpose", op("Reshape", order, [k, -1]), [1, 0]), [-1])
        mixed = whole.take(order)
        return RaggedTensor(mixed.values, mixed.row_splits[::k])


def _stack(values, axis=0, name=None):
    with scope(name, "RaggedConcat"):
        values = [_rows(v) for v in values]
        if axis % (values[0].shape.rank + 1):
            return _concat([_expand(v, axis) for v in values], axis)
        return RaggedTensor.from_row_lengths(
            _concat(values, 0), op("Pack", [v.nrows() for v in values]), validate=False
        )


def _expand(rt, axis, name=None):
    with scope(name, "RaggedExpandDims"):
        axis = int(axis)
        axis = axis + rt.shape.rank + 1 if axis < 0 else axis
        if axis == 0:
            return RaggedTensor(rt, op("Pack", [constant(0, "int64"), rt.nrows()]))
        if axis == 1:
            return RaggedTensor(
                rt, op("Range", constant(0, "int64"), rt.nrows() + 1, constant(1, "int64"))
            )
        inner = rt.values
        return rt.with_values(
            _expand(inner, axis - 1)
            if isinstance(inner, RaggedTensor)
            else op("ExpandDims", inner, axis - 1)
        )


_SEGMENTS = {
    "Sum": "UnsortedSegmentSum",
    "Max": "UnsortedSegmentMax",
    "Min": "UnsortedSegmentMin",
    "Prod": "UnsortedSegmentProd",
}


def _reduce(op_name, rt, axis=None, keep_dims=False, keepdims=None, name=None):
    """Reduces a ragged tensor over dimensions."""
    if axis is None:
        return OPS[op_name](rt.flat_values, name=name)
    axes = sorted({int(a) % rt.shape.rank for a in numpy.atleast_1d(numpy.asarray(axis))})
    result = rt
    for a in reversed(axes):
        result = (
            _reduced(op_name, result, a)
            if isinstance(result, RaggedTensor)
            else OPS[op_name](result, [a])
        )
        if keep_dims or keepdims:
            result = (
                _expand(result, a)
                if isinstance(result, RaggedTensor)
                else op("ExpandDims", result, a)
            )
    return result


def _reduced(op_name, rt, axis):
    if op_name == "Mean":
        ones = rt.with_flat_values(op("OnesLike", rt.flat_values))
        return _reduced("Sum", rt, axis) / _reduced("Sum", ones, axis)
    if op_name in ("Any", "All"):
        as_ints = rt.with_flat_values(cast(rt.flat_values, "int32"))
        result = _reduced("Max" if op_name == "Any" else "Min", as_ints, axis)
        is_positive = lambda v: op("Greater", v, 0)
        return (
            result.with_flat_values(is_positive(result.flat_values))
            if isinstance(result, RaggedTensor)
            else is_positive(result)
        )
    if axis > 1:
        inner = rt.values
        return rt.with_values(
            _reduced(op_name, inner, axis - 1)
            if isinstance(inner, RaggedTensor)
            else OPS[op_name](inner, [axis - 1])
        )
    if isinstance(rt.values, RaggedTensor):
        raise ValueError(
            "situ reduces a tensor with several ragged dimensions along the last of them or "
            "along all dimensions."
        )
    if axis == 1:
        return op(_SEGMENTS[op_name], rt.values, rt.value_rowids(), rt.nrows())
    columns = ranges(op("ZerosLike", rt.row_lengths()), rt.row_lengths())
    return op(_SEGMENTS[op_name], rt.values, columns, rt.bounding_shape()[1])


def _gather(params, indices, axis=0, batch_dims=0, name=None):
    with scope(name, "RaggedGather"):
        unsupported("gather of ragged tensors", batch_dims=(batch_dims, 0))
        if isinstance(indices, RaggedTensor):
            return indices.with_flat_values(
                _gather(params, indices.flat_values, axis)
                if isinstance(params, RaggedTensor)
                else op("GatherV2", params, indices.flat_values, axis)
            )
        indices = convert_to_tensor(indices)
        if indices.shape.rank == 0:
            return params[indices]
        return gather_rows(params, indices)


def _reverse(rt, axis, name=None):
    with scope(name, "Reverse"):
        if [int(a) for a in numpy.atleast_1d(numpy.asarray(axis))] != [1]:
            raise ValueError("situ reverses ragged tensors along dimension 1 only.")
        inside = ranges(op("ZerosLike", rt.row_lengths()), rt.row_lengths())
        last = op("GatherV2", rt.row_limits(), rt.value_rowids(), 0) - 1
        return rt.with_values(gather_rows(rt.values, last - inside))


def _tile(rt, multiples, name=None):
    with scope(name, "RaggedTile"):
        first, second, *rest = [int(m) for m in numpy.asarray(multiples)]
        if any(m != 1 for m in rest):
            raise ValueError("situ repeats ragged tensors along the first two dimensions only.")
        result = _concat([rt] * second, 1) if second > 1 else rt
        return _concat([result] * first, 0) if first > 1 else result


_TABLE = {
    "ConcatV2": _concat,
    "Tile": _tile,
    "Pack": _stack,
    "ExpandDims": _expand,
    "GatherV2": _gather,
    "ReverseV2": _reverse,
    "Rank": lambda rt, name=None: constant(rt.shape.rank, name=name or "RaggedRank"),
    "Size": lambda rt, **w: OPS["Size"](rt.flat_values, **w),
    "Shape": lambda rt, out_type="int32", name=None: cast(rt.bounding_shape(name=name), out_type),
    "Identity": lambda rt, name=None: rt,  # TensorFlow does not name it either
}
for _op_name in ("Sum", "Mean", "Max", "Min", "Prod", "Any", "All"):
    _TABLE[_op_name] = lambda *a, _op_name=_op_name, **w: _reduce(_op_name, *a, **w)
_TABLE = {OPS[name]: function for name, function in _TABLE.items()}


def _is_ragged(value):
    return (
        isinstance(value, RaggedTensor)
        or isinstance(value, (list, tuple))
        and any(isinstance(v, RaggedTensor) for v in value)
    )


def _with_dtype(value, kind):
    """Converts the row_splits of ragged tensors in a structure."""
    if isinstance(value, RaggedTensor):
        return value.with_row_splits_dtype(kind)
    if isinstance(value, dict):
        return {k: _with_dtype(v, kind) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_with_dtype(v, kind) for v in value)
    return value


def otherwise(function, args, kwargs):
    """Handles a call of an op with a ragged argument; NotImplemented if there is none."""
    ragged = [a for a in (*args, *kwargs.values()) if _is_ragged(a)]
    if not ragged:
        return NotImplemented
    kind = splits_dtype(*[t for a in ragged for t in (a if isinstance(a, (list, tuple)) else [a])])
    implementation = _TABLE.get(function)
    if implementation is not None:
        if kind == "int64":
            return implementation(*args, **kwargs)
        result = implementation(*_with_dtype(args, "int64"), **_with_dtype(kwargs, "int64"))
        return _with_dtype(result, kind)
    first = ragged[0]
    if isinstance(first, (list, tuple)):
        first = next(v for v in first if isinstance(v, RaggedTensor))

    def flat(value):
        if isinstance(value, (list, tuple)) and _is_ragged(value):
            return [flat(v) for v in value]
        if isinstance(value, RaggedTensor):
            return value.flat_values
        if getattr(getattr(value, "shape", None), "rank", 0):  # a column: one value per row
            return _spread(first, value)
        return value

    result = function(*[flat(a) for a in args], **{k: flat(v) for k, v in kwargs.items()})
    return first.with_flat_values(result)


def _spread(rt, value):
    """Broadcasts a column [rows, 1] to the flat values."""
    value = convert_to_tensor(value)
    if value.shape.rank == 2 and value.shape.as_list()[1] == 1 and rt.ragged_rank == 1:
        return op("GatherV2", op("Reshape", value, [-1]), rt.value_rowids(), 0)
    return value


math_ops.COMPOSITE["otherwise"] = otherwise
