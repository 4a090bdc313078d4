# SPDX-License-Identifier: Apache-2.0
"""ragged_ops.py: ops on ragged tensors: element-wise ops apply to the flat values, others are
implemented by row."""

from __future__ import annotations

import numpy

from situ._src.framework import errors
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.nest import CORE
from situ._src.framework.tensor import Tensor, constant_value
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.dynamic_ragged_shape import DynamicRaggedShape
from situ._src.ops.ragged_broadcast import (
    broadcast_operands,
    broadcast_to,
    fill,
    ragged_shape,
    reshape,
    with_rows,
)
from situ._src.ops.ragged_math import segment_reduction
from situ._src.ops.ragged_partition_ops import dynamic_partition
from situ._src.ops.ragged_reduce import reduce
from situ._src.ops.ragged_tensor import (
    RaggedTensor,
    gather_rows,
    is_ragged,
    positive_axis,
    row_count,
    splits_dtype,
    to_ragged,
)
from situ._src.ops.ragged_tensor_value import RaggedTensorValue
from situ._src.ops.row_partition import check, with_checks

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis


@export("ragged.stack")
def ragged_stack(values: Any, axis: Axis = 0, name: str | None = None) -> Any:
    """Stacks tensors of the same rank to a ragged tensor.

    Args:
      values: A list of ragged or dense tensors; their sizes may differ.
      axis: The new dimension.
      name: A name for the operation (optional).

    Returns:
      A ragged tensor; a dense tensor if all values are scalars.
    """
    values = values if isinstance(values, (list, tuple)) else [values]
    with scope(name, "RaggedConcat"):
        parts = _operands(values)
        rank = next((p.shape.rank for p in parts if p.shape.rank is not None), None)
        axis = positive_axis(axis, None if rank is None else rank + 1, "axis", "rank(values[0])+1")
        if rank == 0:
            return op("Pack", parts)
        if rank == 1 and not any(map(is_ragged, parts)) and axis == 0:
            lengths = op("Pack", [row_count(p) for p in parts])
            return RaggedTensor.from_row_lengths(concat(parts, 0), lengths, validate=False)
        return _stack(parts, axis)


@export("ragged.map_flat_values")
def map_flat_values(op_: Any, *args: Any, **kwargs: Any) -> Any:
    """Applies a function to the flat values of ragged tensors.

    Args:
      op_: A function whose result has the same number of rows as the flat values.
      *args: Arguments of the function. Ragged tensors must have the same rows.
      **kwargs: Keyword arguments of the function.

    Returns:
      A ragged tensor; the function's result if no argument is ragged.

    Raises:
      ValueError: the shape of the result does not fit.
    """

    op_ = kwargs.pop("op", op_)
    found = []

    def flat(value):
        if isinstance(value, RaggedTensorValue):
            value = to_ragged(value)
        if not isinstance(value, RaggedTensor):
            return value
        found.append(value)
        return value.flat_values

    args, kwargs = CORE.map(flat, (list(args), kwargs))
    if not found:
        return op_(*args, **kwargs)
    splits_dtype(*found)
    first = with_same_rows(found)
    result = op_(*args, **kwargs)
    before = first.flat_values.shape[:1]
    after = result.shape[:1] if getattr(result.shape, "rank", 0) else result.shape
    if result.shape.rank == 0 or not before.is_compatible_with(after):
        raise ValueError(
            "tf.ragged.map_flat_values requires that the output of `op` have the same "
            f"outer-dimension size as flat_values of any ragged inputs. (output shape: "
            f"{result.shape}; expected outer dimension size: {before.as_list()[0]})"
        )
    return first.with_flat_values(result)


def with_same_rows(tensors):
    """Returns the first tensor, checked to have the same row splits as the others."""
    first = tensors[0]
    checks = []
    for other in tensors[1:]:
        if other.ragged_rank != first.ragged_rank:
            raise ValueError("All ragged inputs must have the same ragged_rank.")
        for a, b in zip(first.nested_row_splits, other.nested_row_splits):
            if a is b:
                continue
            text = "Inputs must have identical ragged splits"
            if not a.shape.is_compatible_with(b.shape):
                raise _shape_error(text)
            same = op("Equal", a, b)
            checks += check(same, text, "row_splits", a, "vs.", b)
    if not checks:
        return first
    return RaggedTensor._from_nested_row_partitions(
        with_checks(checks, first.flat_values), first._nested_row_partitions, validate=False
    )


def _shape_error(text):
    return errors.InvalidArgumentError(None, None, text)


@export("ragged.boolean_mask")
def ragged_boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Keeps the elements where the mask is true.

    Args:
      data: A ragged or dense tensor.
      mask: A ragged or dense tensor of bool, whose shape is a prefix of that of `data`.
      name: A name for the operation (optional).

    Returns:
      A ragged tensor of the rank of `data`; for a mask of rank 1 of the type of `data`.

    Raises:
      ValueError: the rank of the mask is 0 or unknown, or shapes do not match.
    """
    with scope(name, "RaggedMask"):
        data, mask = to_ragged(data, "data"), _mask_tensor(mask)
        splits_dtype(data, mask)
        rank = mask.shape.rank
        if rank is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if is_ragged(mask):
            return _ragged_masked(data, mask)
        if is_ragged(data) and rank > 1:
            mask = RaggedTensor.from_tensor(
                mask,
                ragged_rank=min(data.ragged_rank, rank - 1),
                row_splits_dtype=data.row_splits.dtype,
            )
            return ragged_boolean_mask(data, mask)
        if not is_ragged(data):
            data.shape[:rank].assert_is_compatible_with(mask.shape)
        if is_ragged(data):
            return gather_rows(data, op("Reshape", op("Where", mask), [-1]))
        kept = BOTH["boolean_mask"](data, mask)
        if rank == 1:
            return kept
        lengths, rows = op("Sum", cast(mask, "int64"), [rank - 1]), kept
        result = RaggedTensor.from_row_lengths(rows, op("Reshape", lengths, [-1]), validate=False)
        sizes = op("Shape", mask, out_type="int64")
        for axis in range(rank - 2, 0, -1):
            result = RaggedTensor.from_uniform_row_length(
                result, sizes[axis], op("Prod", sizes[:axis], [0]), validate=False
            )
        return result


def _mask_tensor(mask):
    mask = to_ragged(mask) if is_ragged(mask) else convert_to_tensor(mask, "bool", name="mask")
    if mask.dtype.name != "bool":
        raise TypeError(f"mask must be bool, but is {mask.dtype.name}")
    return mask


def _ragged_masked(data, mask):
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(
            data, ragged_rank=mask.ragged_rank, row_splits_dtype=mask.row_splits.dtype
        )
    rows = mask._row_partition
    same = op("Equal", data.row_splits, mask.row_splits)
    checks = check(same, "Inputs must have identical ragged splits")
    kept = ragged_boolean_mask(
        data.values, with_checks(checks, mask.values) if not is_ragged(mask.values) else mask.values
    )
    if is_ragged(mask.values):
        return data.with_values(kept)
    counts = reduce("Sum", mask.with_values(cast(mask.values, rows.dtype)), 1)
    return RaggedTensor.from_row_lengths(kept, counts, validate=False)


def _rows(value):
    return value if isinstance(value, RaggedTensor) else RaggedTensor.from_tensor(value)


def _operands(values):
    """Converts a list of operands; their row_splits must have one type."""
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    parts = [to_ragged(v, "rt_input") for v in values]
    splits_dtype(*parts)
    return parts


def _concat(values, axis, name=None):
    with scope(name, "RaggedConcat"):
        parts = _operands(values if isinstance(values, (list, tuple)) else [values])
        rank = next((p.shape.rank for p in parts if p.shape.rank is not None), None)
        for part in parts:
            if None not in (rank, part.shape.rank) and part.shape.rank != rank:
                raise ValueError(f"Shape {part.shape} must have rank {rank}")
        axis = positive_axis(_number(axis), rank, "axis", "rank(values)")
        if not any(map(is_ragged, parts)):
            return concat(parts, axis)
        if axis > 1:
            depth = max(p.ragged_rank for p in parts if is_ragged(p))
            if axis > depth + 1:
                parts = [p if is_ragged(p) else RaggedTensor.from_tensor(p) for p in parts]
        values = [_rows(p) for p in parts]
        if axis > 1:
            return values[0].with_values(_concat([v.values for v in values], axis - 1))
        inner = [v.values for v in values]
        if any(map(is_ragged, inner)):
            inner = [_rows(v) for v in inner]
            joined = _concat(inner, 0)
        else:
            joined = concat(inner, 0)
        lengths = concat([v.row_lengths() for v in values], 0)
        whole = RaggedTensor.from_row_lengths(joined, lengths, validate=False)
        return whole if axis == 0 else _interleaved(whole, values)


def _number(value):
    if isinstance(value, Tensor):
        known = constant_value(value)
        return value if known is None else int(known)
    return int(value)


def _interleaved(whole, values):
    """Joins row i of each of several tensors, whose rows `whole` has one after another."""
    count, k = values[0].nrows(), len(values)
    checks = []
    for other in values[1:]:
        same = op("Equal", other.nrows(), count)
        checks += check(same, "Input tensors have incompatible shapes.")
    count = with_checks(checks, count)
    zero, one = constant(0, "int64"), constant(1, "int64")
    order = op("Range", zero, cast(count, "int64") * k, one)
    order = op("Reshape", op("Transpose", op("Reshape", order, [k, -1]), [1, 0]), [-1])
    mixed = whole.take(order)
    return RaggedTensor.of_splits(mixed.values, mixed.row_splits[::k])


def _stack(values, axis=0, name=None):
    with scope(name, "RaggedConcat"):
        parts = _operands(values)
        rank = next((p.shape.rank for p in parts if p.shape.rank is not None), None)
        axis = positive_axis(axis, None if rank is None else rank + 1, "axis", "rank(values[0])+1")
        if axis:
            return _concat([_expand(v, axis) for v in map(_rows, parts)], axis)
        if rank == 1:
            lengths = op("Pack", [row_count(p) for p in parts])
            return RaggedTensor.from_row_lengths(concat(parts, 0), lengths, validate=False)
        values = [_rows(v) for v in parts]
        return RaggedTensor.from_row_lengths(
            _concat(values, 0), op("Pack", [v.nrows() for v in values]), validate=False
        )


def _expand(input, axis=None, name=None, dim=None):
    rt, axis = input, dim if axis is None else axis
    with scope(name, "RaggedExpandDims"):
        if not is_ragged(rt):
            return op("ExpandDims", rt, axis)
        kind, rank = rt.row_splits.dtype, rt.shape.rank
        axis = positive_axis(
            _number(axis), None if rank is None else rank + 1, "axis", "rank(input)+1"
        )
        if axis == 0:
            return RaggedTensor.from_uniform_row_length(
                rt, rt.nrows(), constant(1, kind), validate=False
            )
        if axis == 1:
            return RaggedTensor.from_uniform_row_length(
                rt, constant(1, kind), rt.nrows(), validate=False
            )
        return rt.with_values(_expand(rt.values, axis - 1))


def _squeeze(input, axis=None, name=None, squeeze_dims=None):
    rt, axis = input, squeeze_dims if axis is None else axis
    with scope(name, "RaggedSqueeze"):
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        text = f"Axis should be a list of ints or an int: {axis!r}"
        axes = [axis] if isinstance(axis, int) else list(axis)
        if not all(isinstance(a, int) for a in axes):
            raise TypeError(text)
        rank = rt.shape.rank
        axes = sorted({positive_axis(a, rank, "axis", "rank(tensor)") for a in axes}, reverse=True)
        for one in axes:
            rt = _squeezed(rt, one) if is_ragged(rt) else op("Squeeze", rt, squeeze_dims=[one])
        return rt


def _after(checks, value):
    """Returns a ragged or dense tensor that is computed after checks."""
    if not is_ragged(value):
        return with_checks(checks, value)
    return RaggedTensor(value.values, True, value._row_partition.with_dependencies(checks))


def _squeezed(rt, axis):
    one = constant(1, rt.row_splits.dtype)
    if axis == 0:
        text = "the given axis (axis = 0) is not squeezable!"
        return _after(check(op("Equal", rt.nrows(), one), text), rt.values)
    if axis == 1:
        text = "the given axis (axis = 1) is not squeezable!"
        return _after(check(op("Equal", rt.row_lengths(), one), text), rt.values)
    if is_ragged(rt.values):
        return rt.with_values(_squeezed(rt.values, axis - 1))
    return rt.with_values(op("Squeeze", rt.values, squeeze_dims=[axis - 1]))


def _gather(params, indices, axis=0, batch_dims=0, name=None):
    with scope(name, "RaggedGather"):
        params, indices = to_ragged(params, "params"), to_ragged(indices, "indices")
        splits_dtype(params, indices)
        axis, batch_dims = _number(axis), int(batch_dims)
        if batch_dims < 0 and indices.shape.rank is not None:
            batch_dims += indices.shape.rank
        rank = params.shape.rank
        if rank is not None and batch_dims >= rank:
            raise ValueError("batch_dims must be less than rank(params)")
        axis = positive_axis(axis, rank, "axis", "rank(params)")
        if axis < batch_dims:
            raise ValueError("axis must be greater than or equal to batch_dims")
        if batch_dims:
            return _batch_gather(params, indices, axis, batch_dims)
        if axis > 0:
            return _axis_gather(params, indices, axis)
        if is_ragged(indices):
            return indices.with_values(_gather(params, indices.values))
        if indices.shape.rank is None:
            raise ValueError("rank(indices) must be known statically")
        if not is_ragged(params):
            return op("GatherV2", params, indices, 0)
        if indices.shape.rank == 0:
            return params[indices]
        if indices.shape.rank > 1:
            nested = RaggedTensor.from_tensor(
                indices,
                ragged_rank=indices.shape.rank - 1,
                row_splits_dtype=params.row_splits.dtype,
            )
            return nested.with_flat_values(gather_rows(params, nested.flat_values))
        return gather_rows(params, indices)


def _axis_gather(params, indices, axis):
    """Gathers along an inner dimension."""
    if not is_ragged(params):
        return op("GatherV2", params, indices, axis)
    if axis > 1:
        return params.with_values(_gather(params.values, indices, axis - 1))
    count = cast(params.nrows(), "int32")
    if is_ragged(indices):
        repeated = _tile(_expand(indices, 0), [count, *[1] * indices.shape.rank])
    else:
        multiples = op("Pack", [count, *[constant(1)] * indices.shape.rank])
        repeated = op("Tile", op("ExpandDims", indices, 0), multiples)
    return _batch_gather(params, repeated, 1, 1)


def _batch_gather(params, indices, axis, batch_dims):
    kind = splits_dtype(params, indices)
    if not is_ragged(params):
        params = RaggedTensor.from_tensor(params, row_splits_dtype=kind)
    if not is_ragged(indices):
        rank = indices.shape.rank
        if rank == 1:
            flat = cast(indices, kind) + params.row_starts()
            return gather_rows(params.values, flat)
        indices = RaggedTensor.from_tensor(indices, ragged_rank=rank - 1, row_splits_dtype=kind)
    if batch_dims > 1:
        return params.with_values(
            _batch_gather(params.values, indices.values, axis - 1, batch_dims - 1)
        )
    if axis > 1:
        raise ValueError("situ gathers ragged batches along the first dimension after them only.")
    rows = indices.value_rowids()
    inner = indices.values
    while is_ragged(inner):
        rows = op("GatherV2", rows, inner.value_rowids(), 0)
        inner = inner.values
    at = cast(inner, kind) + op("GatherV2", params.row_starts(), rows, 0)
    return indices.with_flat_values(gather_rows(params.values, at))


def _gather_nd(params, indices, batch_dims=0, name=None):
    with scope(name, "RaggedGatherNd"):
        if batch_dims:
            raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
        params, indices = to_ragged(params), to_ragged(indices)
        rank = indices.shape.rank
        if rank is None:
            raise ValueError("indices.rank be statically known.")
        if rank == 0:
            raise ValueError("indices.rank must be at least 1.")
        if is_ragged(indices):
            if rank == indices.ragged_rank + 1:
                raise ValueError("The innermost dimension of indices may not be ragged")
            return indices.with_values(_gather_nd(params, indices.values))
        size = indices.shape.as_list()[-1]
        if size is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        if rank > 2:
            nested = RaggedTensor.from_tensor(indices, ragged_rank=rank - 2)
            result = nested.with_values(_gather_nd(params, nested.values))
            return result.to_tensor() if not is_ragged(params) else result
        if rank == 1:
            return _gather_nd(params, op("ExpandDims", indices, 0))[0]
        if size == 0:
            return _tile(_expand(params, 0), [op("Shape", indices)[0], *[1] * params.shape.rank])
        at = cast(indices[:, 0], "int64")
        value = params
        for k in range(1, size):
            if not is_ragged(value):
                rest = concat([op("ExpandDims", at, 1), cast(indices[:, k:], "int64")], 1)
                return op("GatherNd", value, rest)
            at = op("GatherV2", cast(value.row_starts(), "int64"), at, 0) + cast(
                indices[:, k], "int64"
            )
            value = value.values
        return gather_rows(value, at)


def _reverse(tensor, axis, name=None):
    rt = tensor
    with scope(name, "Reverse"):
        axes = [
            positive_axis(int(a), rt.shape.rank, "axis", "rank(tensor)")
            for a in numpy.atleast_1d(numpy.asarray(axis))
        ]
        for one in axes:
            key = (slice(None),) * one + (slice(None, None, -1),)
            rt = rt[key]
        return rt


def _tile(input, multiples, name=None):
    rt = input
    with scope(name, "RaggedTile"):
        if isinstance(multiples, Tensor):
            counts = [multiples[i] for i in range(rt.shape.rank)]
        else:
            counts = list(multiples)
        if len(counts) != rt.shape.rank:
            raise ValueError(f"multiples must have {rt.shape.rank} elements")
        return _tiled(rt, counts)


def _is_one(count):
    return isinstance(count, (int, numpy.integer)) and count == 1


def _tiled(value, counts):
    """Repeats each dimension that many times."""
    if all(map(_is_one, counts)):
        return value
    if not is_ragged(value):
        return op("Tile", value, op("Pack", [cast(convert_to_tensor(c), "int32") for c in counts]))
    kind = value.row_splits.dtype
    if not all(map(_is_one, counts[2:])):
        value = value.with_values(_tiled(value.values, [1, *counts[2:]]))
    rows = op("Range", constant(0, kind), value.nrows(), constant(1, kind))
    if not _is_one(counts[1]):
        times = cast(convert_to_tensor(counts[1]), kind)
        repeated = value.take(BOTH["repeat"](rows, times))
        value = RaggedTensor.from_row_lengths(
            repeated.values, value.row_lengths() * times, validate=False
        )
    if not _is_one(counts[0]):
        value = value.take(op("Tile", rows, op("Pack", [cast(counts[0], "int32")])))
    return value


def _size(input, out_type="int32", name=None):
    rt = input
    if name is not None:
        return op("Size", rt.flat_values, out_type=out_type, name=name)
    return op("Size", rt.flat_values, out_type=out_type)


_TABLE = {
    "ConcatV2": _concat,
    "Tile": _tile,
    "Pack": _stack,
    "ExpandDims": _expand,
    "Squeeze": _squeeze,
    "GatherV2": _gather,
    "GatherNd": _gather_nd,
    "ReverseV2": _reverse,
    "Rank": lambda input, name=None: constant(input.shape.rank, name=name or "RaggedRank"),
    "Size": _size,
    "Shape": ragged_shape,
    "Reshape": reshape,
    "Identity": lambda rt, name=None: rt,  # TensorFlow does not name it either
}
for _op_name in ("Sum", "Mean", "Max", "Min", "Prod", "Any", "All"):
    _TABLE[_op_name] = lambda *a, _op_name=_op_name, **w: reduce(_op_name, *a, **w)
for _op_name in ("Sum", "Prod", "Min", "Max"):
    _TABLE["UnsortedSegment" + _op_name] = segment_reduction(_op_name)
_TABLE["DynamicPartition"] = dynamic_partition
_TABLE = {OPS[name]: function for name, function in _TABLE.items()}
_OF_SHAPES = {  # functions whose shape argument may be a DynamicRaggedShape
    OPS["Reshape"]: reshape,
    OPS["Fill"]: fill,
    OPS["BroadcastTo"]: lambda input, shape, name=None: broadcast_to(input, shape),
}


def _has_ragged(value):
    return is_ragged(value) or (isinstance(value, (list, tuple)) and any(map(is_ragged, value)))


def _all_ragged(value):
    """The ragged tensors of an argument."""
    return [v for v in (value if isinstance(value, (list, tuple)) else [value]) if is_ragged(v)]


def _as_tensors(value):
    if isinstance(value, RaggedTensorValue):
        return to_ragged(value)
    if isinstance(value, (list, tuple)) and any(isinstance(v, RaggedTensorValue) for v in value):
        return [_as_tensors(v) for v in value]
    return value


def otherwise(function, args, kwargs):
    """Handles a call of an op with a ragged argument; NotImplemented if there is none."""
    given = (*args, *kwargs.values())
    if function in _OF_SHAPES and any(isinstance(a, DynamicRaggedShape) for a in given):
        return _OF_SHAPES[function](*args, **kwargs)
    if not any(map(_has_ragged, given)):
        return NotImplemented
    args = [_as_tensors(a) for a in args]
    kwargs = {k: _as_tensors(v) for k, v in kwargs.items()}
    ragged = [t for a in (*args, *kwargs.values()) for t in _all_ragged(a)]
    splits_dtype(*ragged)
    implementation = _TABLE.get(function)
    if implementation is not None:
        return implementation(*args, **kwargs)
    return _elementwise(function, args, kwargs, ragged)


def _is_operand(value):
    """Returns whether an argument is a tensor that an op broadcasts, or converts to one."""
    if isinstance(value, (list, tuple)):
        return not _has_ragged(value)
    return is_ragged(value) or isinstance(value, (Tensor, numpy.ndarray, int, float, complex))


def _elementwise(function, args, kwargs, ragged):
    """Applies an op to flat values; the operands of a binary op are broadcast."""
    args = list(args)
    if len(args) >= 2 and all(map(_is_operand, args[:2])) and len(ragged) <= 2:
        x, y = _pair(*args[:2])
        x, y, shape = broadcast_operands(x, y)
        return with_rows(function(x, y, *args[2:], **kwargs), shape)
    first = max(ragged, key=lambda t: t.ragged_rank)
    same = [t for t in ragged if t.ragged_rank == first.ragged_rank]
    first = with_same_rows([first, *[t for t in same if t is not first]])

    def flat(value):
        if isinstance(value, (list, tuple)) and _has_ragged(value):
            return [flat(v) for v in value]
        if is_ragged(value):
            if value.ragged_rank != first.ragged_rank:
                raise ValueError("Unable to broadcast: operands have different ragged ranks.")
            return value.flat_values
        if getattr(getattr(value, "shape", None), "rank", 0) or isinstance(value, (list, tuple)):
            return broadcast_to(value, ragged_shape(first, first.row_splits.dtype)).flat_values
        return value

    result = function(*[flat(a) for a in args], **{k: flat(v) for k, v in kwargs.items()})
    return first.with_flat_values(result)


def _pair(x, y):
    """Converts two operands, of which at least one is ragged."""
    if is_ragged(x):
        return x, y if is_ragged(y) else convert_to_tensor(y, dtype_hint=x.dtype)
    return convert_to_tensor(x, dtype_hint=y.dtype), y


def binary(rt, name, other):
    """Applies an operator such as `__add__`."""
    other = _as_tensors(other)
    if isinstance(other, (list, tuple, numpy.ndarray)):
        other = convert_to_tensor(other, dtype_hint=rt.dtype)
    if other is None or not (is_ragged(other) or numpy.isscalar(other) or hasattr(other, "shape")):
        return NotImplemented
    splits_dtype(rt, other)
    if name in ("__eq__", "__ne__"):
        try:
            return _elementwise(
                OPS["Equal" if name == "__eq__" else "NotEqual"], [rt, other], {}, [rt]
            )
        except (errors.InvalidArgumentError, ValueError):
            return name == "__ne__"  # tensors whose shapes do not broadcast differ
    apply = lambda x, y: getattr(convert_to_tensor(x), name)(y)
    if not is_ragged(other) and not isinstance(other, Tensor):
        return rt.with_flat_values(apply(rt.flat_values, other))
    x, y, shape = broadcast_operands(rt, other)
    return with_rows(apply(x, y), shape)
