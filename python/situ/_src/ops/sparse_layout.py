# SPDX-License-Identifier: Apache-2.0
"""sparse_layout.py: order, shape, slices and concatenation of sparse tensors."""

from __future__ import annotations

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.scopes import control_dependencies
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import (
    cast,
    concat,
    constant,
    convert_to_tensor,
    op,
)
from situ._src.ops.check_ops import assert_equal, assert_less_equal
from situ._src.ops.sparse_ops import (
    SparseTensor,
    _rank,
    _select,
    reorder,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Axis, ShapeLike, TensorLike


@export("sparse.transpose", v1="sparse_transpose")
def transpose(
    sp_input: TensorLike, perm: TensorLike = None, name: str | None = None
) -> SparseTensor:
    """Permutes the dimensions of a sparse tensor.

    Args:
      sp_input: A sparse tensor.
      perm: Order of the dimensions; default: reversed.
      name: A name for the operation (optional).
    """
    with scope(name, "SparseTranspose"):
        sp_input = SparseTensor.from_value(sp_input)
        rank = sp_input.get_shape().rank
        if perm is None and rank is None:
            last = op("Size", sp_input.dense_shape) - 1
            order = op("Range", last, -1, -1)
        elif perm is None:
            order = constant(list(range(rank))[::-1])
        else:
            order = convert_to_tensor(perm)
        indices = op("GatherV2", sp_input.indices, order, 1)
        sizes, places = sp_input.get_shape(), constant_value(order)
        if places is not None and sizes.is_fully_defined():
            shape = constant([sizes.as_list()[i] for i in places], "int64")
        else:
            shape = op("GatherV2", sp_input.dense_shape, order, 0)
        return reorder(SparseTensor(indices, sp_input.values, shape))


def _reshaped(before, sizes):
    """Returns the static sizes of a reshaped tensor, or None if they are not known.

    Raises:
      ValueError: The sizes do not fit.
    """
    if sizes is None or not before.is_fully_defined():
        return None
    given, open_sizes = [int(n) for n in sizes], [i for i, n in enumerate(sizes) if n < 0]
    if len(open_sizes) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {sizes}")
    total, result = int(numpy.prod(before.as_list(), dtype="int64")), list(given)
    if open_sizes and 0 in given:
        return None
    if open_sizes:
        rest = [n for n in given if n >= 0]
        result[open_sizes[0]] = total // int(numpy.prod(rest, dtype="int64"))
    count = int(numpy.prod(result, dtype="int64"))
    if count != total:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {given} ({count} elements)."
        )
    return result


@export("sparse.reshape", v1="sparse_reshape")
def reshape(sp_input: TensorLike, shape: ShapeLike, name: str | None = None) -> SparseTensor:
    """Reshapes a sparse tensor; one dimension may be -1.

    Args:
      sp_input: A sparse tensor.
      shape: The shape.
      name: A name for the operation (optional).

    Raises:
      ValueError: The number of elements differs.
    """
    with scope(name, "SparseReshape"):
        sp_input = SparseTensor.from_value(sp_input)
        sizes = cast(convert_to_tensor(shape), "int64")
        before, given = sp_input.get_shape(), constant_value(sizes)
        indices, new_shape = op("SparseReshape", sp_input.indices, sp_input.dense_shape, sizes)
        known = _reshaped(before, given)
        result = SparseTensor(
            indices,
            op("Identity", sp_input.values),
            new_shape if known is None else constant(known, "int64"),
        )
        if known is None and given is not None:
            result._static = [None if n < 0 else int(n) for n in given]
        return result


@export("sparse.expand_dims")
def expand_dims(sp_input: TensorLike, axis: Axis = None, name: str | None = None) -> SparseTensor:
    """Inserts a dimension of size 1.

    Args:
      sp_input: A sparse tensor.
      axis: Index of the new dimension; default: the last.
      name: A name for the operation (optional).
    """
    with scope(name, "expand_dims"):
        rank = _rank(sp_input)
        axis = -1 if axis is None else axis
        at = axis + rank + 1 if axis < 0 else axis
        zeros = op(
            "ZerosLike",
            sp_input.values if sp_input.dtype.name == "int64" else sp_input.indices[:, 0],
        )
        places = concat(
            [sp_input.indices[:, :at], op("ExpandDims", zeros, 1), sp_input.indices[:, at:]], 1
        )
        shape = concat(
            [sp_input.dense_shape[:at], constant([1], "int64"), sp_input.dense_shape[at:]], 0
        )
        return SparseTensor(places, sp_input.values, shape)


@export("sparse.retain", v1="sparse_retain")
def retain(sp_input: TensorLike, to_retain: TensorLike) -> SparseTensor:
    """Keeps the elements for which `to_retain` is true.

    Args:
      sp_input: A sparse tensor.
      to_retain: Bool vector with an element per value.
    """
    sp_input, to_retain = SparseTensor.from_value(sp_input), convert_to_tensor(to_retain)
    sizes = (sp_input.values.shape.as_list() if sp_input.values.shape.rank else [None])[0]
    if sizes is not None and not to_retain.shape.is_compatible_with([sizes]):
        raise ValueError(f"Dimensions {to_retain.shape} and {sizes} are not compatible")
    which = op("Reshape", OPS["Where"](to_retain), [-1])
    return _select(sp_input, which)


@export("sparse.slice", v1="sparse_slice")
def slice_(
    sp_input: TensorLike, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Slices a sparse tensor; the slice may exceed it.

    Args:
      sp_input: A sparse tensor.
      start: Index of the first corner.
      size: Size of the slice.
      name: A name for the operation (optional).
    """
    with scope(name, "SparseSlice"):
        sp_input = SparseTensor.from_value(sp_input)
        start, size = (cast(convert_to_tensor(v), "int64") for v in (start, size))
        parts = (sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(*op("SparseSlice", *parts, start, size))


def _expanded(shapes, axis):
    """Returns the shapes with the largest size in each dimension but `axis`."""
    largest = OPS["Max"](op("Pack", shapes), constant([0]))
    rank = op("Size", largest)
    index = op("Range", 0, rank, 1)
    at = op("Equal", index, rank + axis if axis < 0 else constant(axis))
    return [op("SelectV2", at, shape, largest) for shape in shapes]


def _concat_shape(inputs, axis, expand):
    """Returns the static sizes of a concatenation, or None if the rank is unknown."""
    shapes = [one.get_shape() for one in inputs]
    if any(shape.rank is None for shape in shapes):
        return None
    columns = list(zip(*[shape.as_list() for shape in shapes]))
    if expand:
        sizes = [None if None in column else max(column) for column in columns]
    else:
        sizes = shapes[0].as_list()
    if -len(sizes) <= axis < len(sizes):
        sizes[axis] = None if None in columns[axis] else sum(columns[axis])
    return sizes


@export("sparse.concat")
def concat_(
    axis: Axis = None,
    sp_inputs: TensorLike = None,
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
    concat_dim: TensorLike = None,
    expand_nonconcat_dim: TensorLike = None,
) -> SparseTensor:
    """Concatenates sparse tensors; with `expand_nonconcat_dims` other dimensions may differ.

    Args:
      axis: The axis.
      sp_inputs: List of sparse tensors.
      expand_nonconcat_dims: Whether other dimensions may differ; the largest size counts.
      name: A name for the operation (optional).
      concat_dim: Old name of axis.
      expand_nonconcat_dim: Old name of expand_nonconcat_dims.
    """
    with scope(name, "SparseConcat"):
        axis = int(concat_dim if axis is None else axis)
        inputs = [SparseTensor.from_value(one) for one in sp_inputs]
        if len(inputs) == 1:
            return inputs[0]
        expand = expand_nonconcat_dims or expand_nonconcat_dim
        shapes = [one.dense_shape for one in inputs]
        if expand:
            shapes = _expanded(shapes, axis)
        indices, values, shape = op(
            "SparseConcat",
            [one.indices for one in inputs],
            [one.values for one in inputs],
            shapes,
            concat_dim=axis,
        )
        sizes = _concat_shape(inputs, axis, expand)
        if sizes is not None and None not in sizes:
            shape = constant(sizes, "int64")
        result = SparseTensor(indices, values, shape)
        if sizes is not None:
            result._static = sizes
        return result


export(v1=("sparse.concat", "sparse_concat"))(
    with_order(
        concat_,
        "axis",
        "sp_inputs",
        "name",
        "expand_nonconcat_dim",
        "concat_dim",
        "expand_nonconcat_dims",
    )
)


@export("sparse.reset_shape", v1="sparse_reset_shape")
def reset_shape(sp_input: TensorLike, new_shape: TensorLike = None) -> SparseTensor:
    """Changes the dense shape to `new_shape`, or to the smallest possible one.

    Args:
      sp_input: A sparse tensor.
      new_shape: The shape; default: the smallest one.
    """
    sp_input = SparseTensor.from_value(sp_input)
    if new_shape is None:
        none = op("Mul", sp_input.dense_shape, constant(0, "int64")) - constant(1, "int64")
        places = concat([sp_input.indices, op("ExpandDims", none, 0)], 0)
        new_shape = op("Max", places, [0]) + constant(1, "int64")
        return SparseTensor(sp_input.indices, sp_input.values, new_shape)
    new_shape = cast(convert_to_tensor(new_shape), "int64")
    before, after = sp_input.get_shape(), tensor_shape.as_shape(constant_value(new_shape))
    if after.rank is None:
        after = tensor_shape.as_shape(
            None if not new_shape.shape.rank else [None] * (new_shape.shape.as_list()[0] or 0)
        )
    if None not in (before.rank, after.rank) and before.rank != after.rank:
        raise ValueError(f"Shapes {before} and {after} must have the same rank")
    if before.is_fully_defined() and after.is_fully_defined():
        if any(a < b for a, b in zip(after.as_list(), before.as_list())):
            raise ValueError(
                f"Requested new_shape should have dimension sizes >= sp_input.shape. Found "
                f"new_shape ({after}), sp_input.shape ({before})."
            )
        return SparseTensor(sp_input.indices, sp_input.values, new_shape)

    ranks = assert_equal(op("Shape", sp_input.dense_shape), op("Shape", new_shape))
    with control_dependencies([ranks] if ranks is not None else []):
        sizes = assert_less_equal(sp_input.dense_shape, new_shape)
    with control_dependencies([sizes] if sizes is not None else []):
        new_shape = op("Identity", new_shape)
    return SparseTensor(sp_input.indices, sp_input.values, new_shape)
