# SPDX-License-Identifier: Apache-2.0
"""space_to_batch_ops.py: space_to_depth, space_to_batch and their inverses."""

from __future__ import annotations

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import V1, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def sizes_of(tensor, op_name, rank=None):
    """Returns the dimensions of a tensor, integers, or tensors if unknown; its rank if it is not
    known is `rank`."""
    known = tensor_shape.as_shape(tensor.shape)
    if known.rank is None and rank is not None:
        known = tensor_shape.TensorShape([None] * rank)
    if known.rank is None:
        raise ValueError(f"{op_name}: situ needs a tensor of known rank.")
    sizes = known.as_list()
    whole = shape_op(tensor) if None in sizes else None
    return [whole[i] if n is None else n for i, n in enumerate(sizes)]


def _check_block(block_size, tensor, op_name):
    if block_size < 2:
        raise _invalid(op_name, f"Block size should be > 1, but was: {block_size}")
    return _check_square(tensor, op_name)


def _check_divisible(sizes, by, tensor, op_name, name):
    for size in sizes:
        if isinstance(size, int) and size % by:
            raise errors.invalid_argument(
                f"Dimension size must be evenly divisible by {by} but is {size} for "
                f"'{name or op_name}' (op: '{op_name}') with input shapes: "
                f"{str(tensor_shape.as_shape(tensor.shape).as_list()).replace(' ', '')}."
            )


def _channels_last(function):
    """Decorates a function of NHWC images to support NCHW, too."""

    def call(
        input: TensorLike,
        block_size: TensorLike,
        data_format: str | None = "NHWC",
        name: str | None = None,
    ) -> Tensor:
        """Rearranges blocks of spatial data."""
        if data_format not in ("NHWC", "NCHW"):
            raise ValueError(f"data_format must be NHWC or NCHW, not {data_format}.")
        op_name = "SpaceToDepth" if function.__name__ == "space_to_depth" else "DepthToSpace"
        input = _check_block(block_size, convert_to_tensor(input), op_name)
        if data_format == "NHWC":
            return function(input, block_size, name)
        result = function(op("Transpose", input, [0, 2, 3, 1]), block_size, None)
        return op("Transpose", result, [0, 3, 1, 2], name=name)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


@export("space_to_depth", "nn.space_to_depth")
@_channels_last
def space_to_depth(input: TensorLike, block_size: TensorLike, name: str | None) -> Any:
    """Moves blocks of spatial data into the channel dimension.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW.
      block_size: The size of a block.
      data_format: "NHWC" or "NCHW".
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, height / block_size, width / block_size, channels * block_size **
      2].
    """
    size, (batch, height, width, depth) = block_size, sizes_of(input, "space_to_depth", 4)
    _check_divisible((height, width), size, input, "SpaceToDepth", name)
    blocks = op("Reshape", input, [batch, height // size, size, width // size, size, depth])
    blocks = op("Transpose", blocks, [0, 1, 3, 2, 4, 5])
    shape = [batch, height // size, width // size, size * size * depth]
    return op("Reshape", blocks, shape, name=name)


export(v1=("space_to_depth", "nn.space_to_depth"))(
    with_order(space_to_depth, "input", "block_size", "name", "data_format")
)


@export("nn.depth_to_space")
@_channels_last
def depth_to_space(input: TensorLike, block_size: TensorLike, name: str | None) -> Any:
    """Moves channels into blocks of spatial data, the inverse of `space_to_depth`.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW.
      block_size: The size of a block.
      data_format: "NHWC" or "NCHW".
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, height * block_size, width * block_size, channels / block_size **
      2].
    """
    size, (batch, height, width, depth) = block_size, sizes_of(input, "depth_to_space", 4)
    _check_divisible((depth,), size * size, input, "DepthToSpace", name)
    depth = depth // (size * size)
    blocks = op("Reshape", input, [batch, height, width, size, size, depth])
    blocks = op("Transpose", blocks, [0, 1, 3, 2, 4, 5])
    return op("Reshape", blocks, [batch, height * size, width * size, depth], name=name)


export(v1=("depth_to_space", "nn.depth_to_space"))(
    with_order(depth_to_space, "input", "block_size", "name", "data_format")
)


def _invalid(op_name, text):
    return errors.invalid_argument(f"{text} (op: '{op_name}')")


def _block_sizes(block_shape, op_name):
    """Returns the block shape as integers, or as tensors if it is unknown."""
    tensor = convert_to_tensor(block_shape, name="block_shape")
    shape = tensor_shape.as_shape(tensor.shape)
    if shape.rank not in (None, 1):
        raise _invalid(op_name, f"block_shape rank should be 1, but is {shape.rank}")
    known = constant_value(tensor)
    if known is None:
        if not shape.is_fully_defined():
            raise _invalid(op_name, "the number of block sizes must be known")
        return [tensor[i] for i in range(shape.num_elements())]
    for block in known:
        if block < 1:
            raise _invalid(op_name, f"block_shape must be positive, but is {int(block)}")
    return [int(block) for block in known]


def _is_zero(row):
    return all(isinstance(item, int) and item == 0 for item in row)


def _product(sizes):
    result = 1
    for size in sizes:
        result = result * size
    return result


def _pairs(value, count, op_name, what):
    """Returns paddings or crops as pairs of integers, or of tensors if they are unknown."""
    tensor = convert_to_tensor(value, name=what)
    shape = tensor_shape.as_shape(tensor.shape)
    if not shape.is_compatible_with([count, 2]):
        raise _invalid(op_name, f"{what} should have shape [{count}, 2] instead of {shape}")
    known = constant_value(tensor)
    if known is None:
        return [[tensor[i, k] for k in range(2)] for i in range(count)]
    if (known < 0).any():
        raise _invalid(op_name, f"{what} must be non-negative")
    return [[int(n) for n in row] for row in known]


def _pack(items):
    """Returns sizes, some of which may be tensors, as an int32 vector."""
    if all(isinstance(item, int) for item in items):
        return constant(items, "int32")
    return op("Pack", [cast(convert_to_tensor(item), "int32") for item in items])


def _sizes(x, blocks, op_name):
    """Returns the sizes of the batch, of the blocks' dimensions and of the rest as one dimension,
    and those of the rest as a vector."""
    shape, n = tensor_shape.as_shape(x.shape), len(blocks)
    if shape.rank is not None:
        if shape.rank < n + 1:
            raise _invalid(op_name, f"input rank should be >= {n + 1} instead of {shape.rank}")
        batch, *rest = sizes_of(x, op_name)
        after = _pack(rest[n:]) if rest[n:] else constant([], "int32")
        return batch, rest[:n], _product(rest[n:]), after
    whole = op("Shape", x)
    rest = op("Slice", whole, [n + 1], [-1])
    return whole[0], [whole[1 + i] for i in range(n)], op("Prod", rest, 0), rest


def _arguments(input, block_shape, pairs, op_name, what):
    """Returns the input, its block sizes, its paddings or crops, and the result of _sizes."""
    x, blocks = convert_to_tensor(input), _block_sizes(block_shape, op_name)
    return x, blocks, _pairs(pairs, len(blocks), op_name, what), _sizes(x, blocks, op_name)


def _quotient(size, block, op_name, of):
    if not isinstance(block, int):
        return size // block
    if isinstance(size, int) and size % block:
        raise _invalid(op_name, f"{of}={size} is not divisible by block_shape={block}")
    return size if block == 1 else size // block


def _check_runs(blocks, op_name):
    """Returns the dimensions with blocks larger than 1; a tensor has at most 8 dimensions."""
    cut = [i for i, block in enumerate(blocks) if not isinstance(block, int) or block > 1]
    if len(blocks) + len(cut) + 2 > 8:
        raise _invalid(op_name, "more than 8 dimensions, including blocks, are not supported")
    return cut


@export("space_to_batch_nd", v2="space_to_batch")
def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Pads the spatial dimensions and moves their blocks into the batch dimension.

    Args:
      input: A tensor of shape [batch, spatial dimensions, ...].
      block_shape: The size of a block in each spatial dimension.
      paddings: Zeros before and after each spatial dimension, of shape [dimensions, 2].
      name: A name for the operation (optional).

    Returns:
      A tensor whose batch is larger by the number of elements of a block.
    """
    op_name = "SpaceToBatchND"
    with scope(name, op_name) as full:
        x, blocks, rows, sizes_of_x = _arguments(input, block_shape, paddings, op_name, "paddings")
        (batch, spatial, depth, rest), n = sizes_of_x, len(blocks)
        x = op("Reshape", x, _pack([batch, *spatial, depth]))
        if not all(map(_is_zero, rows)):
            x = op("Pad", x, op("Pack", [_pack(row) for row in [[0, 0], *rows, [0, 0]]]))
        outer = [
            _quotient(size + row[0] + row[1], block, op_name, f"padded_shape[{i}]")
            for i, (size, row, block) in enumerate(zip(spatial, rows, blocks))
        ]
        cut = _check_runs(blocks, op_name)
        sizes, at, inner = [batch], {}, []
        for i, (size, block) in enumerate(zip(outer, blocks)):
            at[i] = len(sizes)
            sizes.append(size)
            if i in cut:
                inner.append(len(sizes))
                sizes.append(block)
        order = inner + [0] + [at[i] for i in range(n)] + [len(sizes)]
        x = op("Transpose", op("Reshape", x, _pack([*sizes, depth])), order)
        total = _pack([batch * _product(blocks), *outer])
        return op("Reshape", x, op("ConcatV2", [total, rest], 0), name=full)


@export("batch_to_space_nd", v2="batch_to_space")
def batch_to_space_nd(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """Moves blocks of the batch into the spatial dimensions and crops them.

    Args:
      input: A tensor of shape [batch, spatial dimensions, ...].
      block_shape: The size of a block in each spatial dimension.
      crops: How much to cut off before and after each spatial dimension, of shape [dimensions, 2].
      name: A name for the operation (optional).

    Returns:
      A tensor whose batch is smaller by the number of elements of a block.
    """
    op_name = "BatchToSpaceND"
    with scope(name, op_name) as full:
        x, blocks, rows, sizes_of_x = _arguments(input, block_shape, crops, op_name, "crops")
        (batch, spatial, depth, rest), n = sizes_of_x, len(blocks)
        batch = _quotient(batch, _product(blocks), op_name, "batch")
        cut = _check_runs(blocks, op_name)
        x = op("Reshape", x, _pack([*(blocks[i] for i in cut), batch, *spatial, depth]))
        first = len(cut)
        order = [first]
        for i in range(n):
            order += [first + 1 + i] + ([cut.index(i)] if i in cut else [])
        whole = [size * block for size, block in zip(spatial, blocks)]
        x = op("Transpose", x, order + [first + 1 + n])
        x = op("Reshape", x, _pack([batch, *whole, depth]))
        begins = [row[0] for row in rows]
        sizes = [size - row[0] - row[1] for size, row in zip(whole, rows)]
        for i, size in enumerate(sizes):
            if isinstance(size, int) and size < 0:
                raise _invalid(op_name, f"cropped_shape[{i}]={size} must be non-negative")
        if not all(map(_is_zero, rows)):
            x = op("Slice", x, _pack([0, *begins, 0]), _pack([batch, *sizes, depth]))
        shape = op("ConcatV2", [_pack([batch, *sizes]), rest], 0)
        return op("Reshape", x, shape, name=full)


def _square(size, op_name):
    """Returns the block shape of a square block."""
    if isinstance(size, int) and size < 2:
        raise _invalid(op_name, f"Block size should be > 1: {size}")
    return [size, size]


def _check_square(x, op_name):
    rank = tensor_shape.as_shape(x.shape).rank
    if rank not in (None, 4):
        raise _invalid(op_name, f"input must be 4-D, but has rank {rank}")
    if rank is None:
        x = op("Identity", x)
        x.set_shape([None] * 4)
    return x


@export(v1=("space_to_batch", "nn.space_to_batch"))
def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: TensorLike = None,
    name: str | None = None,
    block_shape: TensorLike = None,
) -> Tensor:
    """Moves blocks of images into the batch dimension; see `tf.space_to_batch_nd`.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW.
      paddings: Zeros before and after each spatial dimension, of shape [dimensions, 2].
      block_size: The size of a block.
      name: A name for the operation (optional).
      block_shape: The size of a block in each spatial dimension.
    """
    if block_shape is None:
        block_shape = _square(block_size, "SpaceToBatch")
        input = _check_square(convert_to_tensor(input), "SpaceToBatch")
    return space_to_batch_nd(input, block_shape, paddings, name)


@export("raw_ops.SpaceToBatch")
def raw_space_to_batch(
    input: TensorLike, paddings: TensorLike, block_size: int, name: str | None = None
) -> Tensor:
    """Moves square blocks of images into the batch dimension; see `tf.space_to_batch`.

    Args:
      input: Images of shape [batch, height, width, channels].
      paddings: Zeros before and after height and width, of shape [2, 2].
      block_size: The height and width of a block, at least 2.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch * block_size ** 2, height, width, channels].
    """
    return space_to_batch(input, paddings, block_size, name)


@export("raw_ops.BatchToSpace")
def raw_batch_to_space(
    input: TensorLike, crops: TensorLike, block_size: int, name: str | None = None
) -> Tensor:
    """Moves square blocks of the batch into images; see `tf.batch_to_space`.

    Args:
      input: Images of shape [batch, height, width, channels].
      crops: How much to cut off before and after height and width, of shape [2, 2].
      block_size: The height and width of a block, at least 2.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch / block_size ** 2, height, width, channels].
    """
    return batch_to_space(input, crops, block_size, name)


@export(v1="batch_to_space")
def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: TensorLike = None,
    name: str | None = None,
    block_shape: TensorLike = None,
) -> Tensor:
    """Moves blocks of the batch into images; see `tf.batch_to_space_nd`.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW.
      crops: How much to cut off before and after each spatial dimension, of shape [dimensions, 2].
      block_size: The size of a block.
      name: A name for the operation (optional).
      block_shape: The size of a block in each spatial dimension.
    """
    if block_shape is None:
        block_shape = _square(block_size, "BatchToSpace")
        input = _check_square(convert_to_tensor(input), "BatchToSpace")
    return batch_to_space_nd(input, block_shape, crops, name)


V1["manip.space_to_batch_nd"] = space_to_batch_nd
V1["manip.batch_to_space_nd"] = batch_to_space_nd


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns (paddings, crops) that make the sizes multiples of the block shape.

    Args:
      input_shape: Vector of sizes.
      block_shape: The size of a block in each spatial dimension.
      base_paddings: Least paddings; default: 0.
      name: A name for the operation (optional).
    """
    with scope(name, "required_space_to_batch_paddings"):
        sizes, block = numpy.asarray(input_shape), numpy.asarray(block_shape)
        base = (
            numpy.zeros((len(block), 2), int)
            if base_paddings is None
            else numpy.asarray(base_paddings)
        )
        more = -(sizes + base.sum(1)) % block
        pads = numpy.stack([base[:, 0], base[:, 1] + more], 1)
        crops = numpy.stack([numpy.zeros_like(more), more], 1)
        return constant(pads.astype("int32")), constant(crops.astype("int32"))
