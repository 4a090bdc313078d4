# SPDX-License-Identifier: Apache-2.0
"""ragged_partition_ops.py: splitting ragged tensors along a dimension and into partitions, one-hot
encoding and resizing of their values."""

from __future__ import annotations

from situ._src.framework.api import BOTH, export, named
from situ._src.framework.graph import scope
from situ._src.framework.tensor import Tensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.dynamic_ragged_shape import DynamicRaggedShape
from situ._src.ops.ragged_tensor import RaggedTensor, gather_rows, positive_axis, to_ragged
from situ._src.ops.row_partition import check, constant_value, with_checks

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        Axis,
        DTypeLike,
        TensorLike,
    )


# Splits


def _split_sizes(sizes, num):
    """Returns the sizes of the parts as a tensor, and the number of parts."""
    given = sizes
    if isinstance(sizes, (float, str, bytes)):
        raise TypeError(
            "`num_or_size_splits` must be an `int` or 1-D list or `Tensor` of integers."
        )
    sizes = convert_to_tensor(sizes)
    if not sizes.dtype.is_integer:
        raise TypeError(
            "`num_or_size_splits` must be an `int` or 1-D list or `Tensor` of integers."
        )
    if sizes.shape.rank not in (None, 1):
        raise TypeError(
            f"`num_or_size_splits` must be an `int` or 1-D list or `Tensor`. Received {given}."
        )
    count = sizes.shape.as_list()[0] if sizes.shape.rank else None
    if count is None and num is None:
        raise ValueError(
            "`num` must be specified as an `int` when the size of `num_or_size_split` is "
            f"statically unknown. Received `num`: {num} and `num_or_size_split`: {given}."
        )
    if None not in (count, num) and count != num:
        raise ValueError(
            "`num` does not match the size of `num_or_size_split`. Received "
            f"`num`: {num} and size of `num_or_size_split`: {count}."
        )
    return sizes, num if count is None else count


def split(value, num_or_size_splits, axis=0, num=None, name=None):
    """Splits a ragged tensor along a uniform dimension; see `tf.split`.

    Raises:
      InvalidArgumentError: the sizes do not add up to that of the dimension.
      TypeError: the sizes are not integers.
      ValueError: the dimension is ragged, or the number of parts is not known.
    """
    with scope(name, "RaggedSplit"):
        value = to_ragged(value)
        if isinstance(num_or_size_splits, int) and num_or_size_splits == 1:
            return [value]
        shape = DynamicRaggedShape.from_tensor(value)
        known = constant_value(axis) if isinstance(axis, Tensor) else axis
        if isinstance(axis, Tensor) and known is not None:
            known = int(known)
        if not isinstance(num_or_size_splits, int):
            sizes, count = _split_sizes(num_or_size_splits, num)
        axis = positive_axis(known, shape.rank)
        try:
            size = shape[axis]
        except ValueError:
            raise ValueError(
                f"Cannot split a ragged dimension. Got `value` with shape {shape} and `axis` "
                f"{axis}."
            ) from None
        if isinstance(num_or_size_splits, int):
            count = num_or_size_splits
            if count < 1:
                raise ValueError(
                    f"`num_or_size_splits` must be >=1 if it is an `int`.Received {count}."
                )
            part = op("FloorDiv", size, constant(count, size.dtype))
            sizes = op("Fill", constant([count]), part)
        ends = _split_ends(sizes, count, size)
        keys = [(*[slice(None)] * axis, slice(ends[i], ends[i + 1])) for i in range(count)]
        return [value[key] for key in keys]


def _split_ends(sizes, count, size):
    """Returns where parts begin and end; checks that they cover the whole dimension."""
    zero = constant(0, sizes.dtype)
    ends = concat([constant([0], sizes.dtype), op("Cumsum", sizes, constant(0))], 0)
    text = "`num_or_size_splits` must be non-negative."
    checks = check(op("GreaterEqual", sizes, zero), text)
    text = "`num` is inconsistent with `num_or_size_split.shape[0]`."
    checks += check(op("Equal", op("Size", sizes), constant(count)), text)
    text = (
        "Cannot exactly split the `axis` dimension of `value` with the given `num_or_size_split`."
    )
    checks += check(op("Equal", cast(size, sizes.dtype), ends[-1]), text)
    return with_checks(checks, ends)


# Partitions


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """Stacks the slices of a tensor by partition.

    Args:
      data: A ragged or dense tensor.
      partitions: The partition of each slice of `data`: integers whose shape is a prefix of that of
        `data`.
      num_partitions: The number of partitions.
      name: A name for the operation (optional).

    Returns:
      A ragged tensor with one row of slices per partition.

    Raises:
      InvalidArgumentError: a partition is out of range, or the shapes differ.
      ValueError: the rank of `partitions` is unknown, or the shapes are known to differ.
    """
    with scope(name, "SegmentStack"):
        data = to_ragged(data)
        kind = data.row_splits.dtype if isinstance(data, RaggedTensor) else None
        partitions = (
            to_ragged(partitions)
            if hasattr(partitions, "flat_values")
            else convert_to_tensor(partitions, dtype_hint=kind, name="partitions")
        )
        count = convert_to_tensor(num_partitions, dtype_hint=partitions.dtype)
        if kind is not None:
            partitions = cast(partitions, kind)
        count, rank = cast(count, partitions.dtype), partitions.shape.rank
        if rank is None:
            raise ValueError("partitions must have known rank.")
        if count.shape.rank not in (None, 0):
            raise ValueError(f"Shape {count.shape} must have rank 0")
        partitions.shape.assert_is_compatible_with(data.shape[:rank])
        return _stacked(data, partitions, count, rank)


def _stacked(data, partitions, count, rank):
    if rank == 0:
        rows = op("ExpandDims", partitions, 0)
        return RaggedTensor.from_value_rowids(
            BOTH["stack"]([data]), rows, nrows=count, validate=False
        )
    if rank == 1:
        order = BOTH["argsort"](partitions, stable=True)
        rows = op("GatherV2", partitions, order, 0)
        checks = check(op("Less", rows[-1:], count), "partitions must be less than num_partitions")
        zero = constant(0, partitions.dtype)
        text = "partitions must be non-negative."
        checks += check(op("GreaterEqual", partitions, zero), text)
        rows = with_checks(checks, rows)
        return RaggedTensor.from_value_rowids(
            gather_rows(data, order), rows, nrows=count, validate=False
        )
    if not isinstance(data, RaggedTensor):
        kind = partitions.row_splits.dtype if isinstance(partitions, RaggedTensor) else "int64"
        data = RaggedTensor.from_tensor(data, row_splits_dtype=kind)
    if not isinstance(partitions, RaggedTensor):
        partitions = RaggedTensor.from_tensor(
            partitions, ragged_rank=rank - 1, row_splits_dtype=data.row_splits.dtype
        )
    text = "data and partitions have incompatible ragged shapes"
    checks = check(op("Equal", data.row_splits, partitions.row_splits), text)
    inner = partitions.values
    if not isinstance(inner, RaggedTensor):
        inner = with_checks(checks, inner)
    return _stacked(data.values, inner, count, rank - 1)


def dynamic_partition(data, partitions, num_partitions, name=None):
    """Partitions the slices of a tensor; see `tf.dynamic_partition`."""
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    stacked = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [stacked[i] for i in range(num_partitions)]


# Values


@export("python.ops.ragged.ragged_array_ops.ragged_one_hot")
def one_hot(
    indices: TensorLike,
    depth: int,
    on_value: TensorLike = None,
    off_value: TensorLike = None,
    axis: Axis = None,
    dtype: DTypeLike = None,
    name: str | None = None,
) -> Any:
    """Encodes the values of a ragged tensor; see `tf.one_hot`.

    Args:
      indices: Ragged tensor of indices.
      depth: Size of the new dimension.
      on_value: The value at the index, 1 by default.
      off_value: The value elsewhere, 0 by default.
      axis: Index of the new dimension; default: the last.
      dtype: Type of the result.
      name: A name for the operation (optional).

    Raises:
      ValueError: the new dimension is not behind the ragged ones.
    """
    rt = to_ragged(indices)
    if isinstance(axis, int) and axis >= 0:
        if axis <= rt.ragged_rank:
            raise ValueError(
                f"axis ({axis}) must be greater than indices.ragged_rank ({rt.ragged_rank})."
            )
        axis -= rt.ragged_rank
    with scope(name, "RaggedOneHot"):
        flat = BOTH["one_hot"](rt.flat_values, depth, on_value, off_value, axis, dtype)
        return rt.with_flat_values(flat)


def _resized(resize, images, size, kwargs):
    """Resizes each image of a ragged batch to one size.

    Raises:
      ValueError: the images do not have rank 3.
    """
    rt = to_ragged(images)
    if rt.shape.rank != 4:
        raise ValueError("tf.image.resize: images.shape.rank must be 4 if images is ragged.")
    channels = rt.shape.as_list()[-1]
    sizes = constant_value(convert_to_tensor(size))
    inner = [None, None] if sizes is None else [int(n) for n in sizes]
    batch = rt.shape.as_list()[0]
    known = [batch, *inner, channels]
    with_images = lambda: _each(resize, rt, size, kwargs, [*inner, channels])
    if batch != 0 and batch is not None:
        return with_images()

    def empty():
        depth = op("Shape", rt.flat_values)[-1:]
        return op("Fill", concat([[0], convert_to_tensor(size), depth], 0), constant(0.0))

    if batch == 0:
        return empty()
    made = named("cond")(
        op("Equal", rt.nrows(), constant(0, rt.row_splits.dtype)), empty, with_images
    )
    made.set_shape(known)
    return made


def _each(resize, rt, size, kwargs, shape):
    """Resizes each image of a batch that is not empty."""
    channels = shape[-1]

    def one(image):
        dense = image.to_tensor() if isinstance(image, RaggedTensor) else image
        dense.set_shape([None, None, channels])
        return resize(dense, size, **kwargs)

    kind = rt.dtype if _keeps_type(kwargs.get("method")) else "float32"
    return named("map_fn")(one, rt, fn_output_signature=TensorSpec(shape, kind))


def _keeps_type(method):
    return getattr(method, "value", method) in ("nearest", 1)


def resize_images(
    images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None
):
    """Resizes the images of a ragged batch; see `tf.image.resize`."""
    from situ._src.ops.image.image_ops import resize

    with scope(name, "RaggedResizeImages"):
        flags = dict(
            method=method, preserve_aspect_ratio=preserve_aspect_ratio, antialias=antialias
        )
        return _resized(resize, images, size, flags)


def resize_images_v1(
    images, size, method=0, align_corners=False, preserve_aspect_ratio=False, name=None
):
    """Resizes the images of a ragged batch; see `tf.compat.v1.image.resize`."""
    from situ._src.ops.image.image_ops import resize_images as resize

    with scope(name, "RaggedResizeImages"):
        flags = dict(
            method=method, align_corners=align_corners, preserve_aspect_ratio=preserve_aspect_ratio
        )
        return _resized(resize, images, size, flags)
