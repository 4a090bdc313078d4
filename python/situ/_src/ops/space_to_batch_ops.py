# SPDX-License-Identifier: Apache-2.0
"""space_to_batch_ops.py: space_to_depth, space_to_batch and their inverses."""

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import V1, export
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op


def sizes_of(tensor, what):
    """The sizes of the dimensions: numbers, or tensors where only a run will know."""
    known = tensor_shape.as_shape(tensor.shape)
    if known.rank is None:
        raise ValueError(f"situ has {what} for tensors of known rank only.")
    sizes = known.as_list()
    whole = shape_op(tensor) if None in sizes else None
    return [whole[i] if n is None else n for i, n in enumerate(sizes)]


def _check_divisible(sizes, by, tensor, row, name):
    for size in sizes:
        if isinstance(size, int) and size % by:
            raise errors.invalid_argument(
                f"Dimension size must be evenly divisible by {by} but is {size} for "
                f"'{name or row}' (op: '{row}') with input shapes: "
                f"{str(tensor_shape.as_shape(tensor.shape).as_list()).replace(' ', '')}."
            )


def _channels_last(function):
    """The function for images of both layouts."""

    def call(input, block_size, data_format="NHWC", name=None):
        if data_format not in ("NHWC", "NCHW"):
            raise ValueError(f"data_format must be NHWC or NCHW, not {data_format}.")
        if data_format == "NHWC":
            return function(convert_to_tensor(input), block_size, name)
        made = function(op("Transpose", convert_to_tensor(input), [0, 2, 3, 1]), block_size, None)
        return op("Transpose", made, [0, 3, 1, 2], name=name)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


@export("space_to_depth", "nn.space_to_depth")
@_channels_last
def space_to_depth(x, b, name):
    """Blocks of pixels become channels."""
    batch, height, width, depth = sizes_of(x, "space_to_depth")
    _check_divisible((height, width), b, x, "SpaceToDepth", name)
    x = op("Reshape", x, [batch, height // b, b, width // b, b, depth])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height // b, width // b, b * b * depth], name=name)


@export("nn.depth_to_space", v1="depth_to_space")
@_channels_last
def depth_to_space(x, b, name):
    """Channels become blocks of pixels."""
    batch, height, width, depth = sizes_of(x, "depth_to_space")
    _check_divisible((depth,), b * b, x, "DepthToSpace", name)
    x = op("Reshape", x, [batch, height, width, b, b, depth // (b * b)])
    x = op("Transpose", x, [0, 1, 3, 2, 4, 5])
    return op("Reshape", x, [batch, height * b, width * b, depth // (b * b)], name=name)


@export("space_to_batch_nd", v2="space_to_batch")
def space_to_batch_nd(input, block_shape, paddings, name=None):
    """Blocks of dimensions become batches."""
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
def batch_to_space_nd(input, block_shape, crops, name=None):
    """Batches become blocks of dimensions, with margins cut off."""
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
def space_to_batch(input, paddings, block_size=None, name=None, block_shape=None):
    """Blocks of an image become images of the batch."""
    block = block_shape if block_shape is not None else _square(block_size)
    return space_to_batch_nd(input, block, paddings, name)


@export(v1="batch_to_space")
def batch_to_space(input, crops, block_size=None, name=None, block_shape=None):
    """The way back."""
    block = block_shape if block_shape is not None else _square(block_size)
    return batch_to_space_nd(input, block, crops, name)


V1["manip.space_to_batch_nd"] = space_to_batch_nd
V1["manip.batch_to_space_nd"] = batch_to_space_nd


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """(paddings, crops) that make sizes multiples of blocks."""
    sizes, block = numpy.asarray(input_shape), numpy.asarray(block_shape)
    base = (
        numpy.zeros((len(block), 2), int) if base_paddings is None else numpy.asarray(base_paddings)
    )
    more = -(sizes + base.sum(1)) % block
    pads = numpy.stack([base[:, 0], base[:, 1] + more], 1)
    crops = numpy.stack([numpy.zeros_like(more), more], 1)
    return constant(pads.astype("int32")), constant(crops.astype("int32"))
