# SPDX-License-Identifier: Apache-2.0
"""space_to_batch_ops.py: space_to_depth, space_to_batch and their inverses."""

from __future__ import annotations

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import V1, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def sizes_of(tensor, op_name):
    """Returns the dimensions of a tensor: integers, or tensors if unknown."""
    known = tensor_shape.as_shape(tensor.shape)
    if known.rank is None:
        raise ValueError(f"{op_name}: situ needs a tensor of known rank.")
    sizes = known.as_list()
    whole = shape_op(tensor) if None in sizes else None
    return [whole[i] if n is None else n for i, n in enumerate(sizes)]


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
        if data_format == "NHWC":
            return function(convert_to_tensor(input), block_size, name)
        result = function(op("Transpose", convert_to_tensor(input), [0, 2, 3, 1]), block_size, None)
        return op("Transpose", result, [0, 3, 1, 2], name=name)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


@export("space_to_depth", "nn.space_to_depth")
@_channels_last
def space_to_depth(x: TensorLike, b: TensorLike, name: str | None) -> Any:
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
    batch, height, width, depth = sizes_of(x, "space_to_depth")
    _check_divisible((height, width), b, x, "SpaceToDepth", name)
    x = op("Reshape", x, [batch, height // b, b, width // b, b, depth])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height // b, width // b, b * b * depth], name=name)


export(v1=("space_to_depth", "nn.space_to_depth"))(
    with_order(space_to_depth, "input", "block_size", "name", "data_format")
)


@export("nn.depth_to_space")
@_channels_last
def depth_to_space(x: TensorLike, b: TensorLike, name: str | None) -> Any:
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
    batch, height, width, depth = sizes_of(x, "depth_to_space")
    _check_divisible((depth,), b * b, x, "DepthToSpace", name)
    x = op("Reshape", x, [batch, height, width, b, b, depth // (b * b)])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height * b, width * b, depth // (b * b)], name=name)


export(v1=("depth_to_space", "nn.depth_to_space"))(
    with_order(depth_to_space, "input", "block_size", "name", "data_format")
)


@export("space_to_batch_nd", v2="space_to_batch")
def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Pads the spatial dimensions and moves their blocks into the batch dimension."""
    x = convert_to_tensor(input)
    blocks = [int(b) for b in block_shape]
    n = len(blocks)
    rank = tensor_shape.as_shape(x.shape).rank
    x = op("Pad", x, [[0, 0]] + [[int(v) for v in p] for p in paddings] + [[0, 0]] * (rank - n - 1))
    batch, *rest = sizes_of(x, "space_to_batch_nd")
    cut = [batch] + [v for s, b in zip(rest, blocks) for v in (s // b, b)] + rest[n:]
    order = (
        [2 + 2 * i for i in range(n)]
        + [0]
        + [1 + 2 * i for i in range(n)]
        + list(range(2 * n + 1, 2 * n + 1 + rank - n - 1))
    )
    x = op("Transpose", op("Reshape", x, cut), order)
    total = batch
    for b in blocks:
        total *= b
    return op("Reshape", x, [total] + [s // b for s, b in zip(rest, blocks)] + rest[n:], name=name)


@export("batch_to_space_nd", v2="batch_to_space")
def batch_to_space_nd(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """Moves blocks of the batch into the spatial dimensions and crops them."""
    x = convert_to_tensor(input)
    blocks = [int(b) for b in block_shape]
    n = len(blocks)
    batch, *rest = sizes_of(x, "batch_to_space_nd")
    for b in blocks:
        batch //= b
    x = op("Reshape", x, blocks + [batch] + rest)
    order = (
        [n]
        + [v for i in range(n) for v in (n + 1 + i, i)]
        + list(range(2 * n + 1, n + 1 + len(rest)))
    )
    whole = [s * b for s, b in zip(rest, blocks)]
    x = op("Reshape", op("Transpose", x, order), [batch] + whole + rest[n:])
    begin = [0] + [int(c[0]) for c in crops] + [0] * (len(rest) - n)
    size = [batch] + [s - int(c[0]) - int(c[1]) for s, c in zip(whole, crops)] + rest[n:]
    return op("Slice", x, begin, size, name=name)


def _square(size):
    return [size, size]


@export(v1=("space_to_batch", "nn.space_to_batch"))
def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: TensorLike = None,
    name: str | None = None,
    block_shape: TensorLike = None,
) -> Tensor:
    """Moves blocks of images into the batch dimension; see `tf.space_to_batch_nd`."""
    block = block_shape if block_shape is not None else _square(block_size)
    return space_to_batch_nd(input, block, paddings, name)


@export(v1="batch_to_space")
def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: TensorLike = None,
    name: str | None = None,
    block_shape: TensorLike = None,
) -> Tensor:
    """Moves blocks of the batch into images; see `tf.batch_to_space_nd`."""
    block = block_shape if block_shape is not None else _square(block_size)
    return batch_to_space_nd(input, block, crops, name)


V1["manip.space_to_batch_nd"] = space_to_batch_nd
V1["manip.batch_to_space_nd"] = batch_to_space_nd


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns (paddings, crops) that make the sizes multiples of the block shape."""
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
