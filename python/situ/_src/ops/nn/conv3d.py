# SPDX-License-Identifier: Apache-2.0
"""conv3d.py: tf.nn 3-D convolutions, also transposed.

A 3-D convolution is a sum of 2-D convolutions over the depth of the filter, so its gradient follows
from theirs."""

from __future__ import annotations

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn.conv import (
    conv2d,
    conv2d_backprop_filter,
    conv2d_transpose,
    merge_batch_dims,
    to_list,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, ShapeLike, Tensor, TensorLike


def expand_3d(value, first):
    """Expands 1, 3 or 5 sizes to (depth, height, width); `first`: channels come first."""
    if value is None:
        return 1, 1, 1
    if isinstance(value, int):
        return (value,) * 3
    value = [int(v) for v in value]
    if len(value) == 1:
        return tuple(value) * 3
    if len(value) == 5:
        return tuple(value[2:] if first else value[1:4])
    if len(value) != 3:
        raise ValueError(f"Expected 1, 3 or 5 numbers, but received {value}.")
    return tuple(value)


def _is_first(data_format):
    return data_format in ("NCDHW", "channels_first")


def channels_last(x, first):
    """Transposes a 5-D tensor to NDHWC."""
    return op("Transpose", x, [0, 2, 3, 4, 1]) if first else convert_to_tensor(x)


def restore_channels(x, first):
    """Transposes an NDHWC tensor back to NCDHW if `first`."""
    return op("Transpose", x, [0, 4, 1, 2, 3]) if first else x


def _depth(x):
    depth = x.shape.as_list()[1] if x.shape.ndims == 5 else None
    if depth is None:
        raise ValueError(
            f"3-D ops need a tensor of rank 5 with a known depth, but the shape is {x.shape}."
        )
    return depth


def count_windows(depth, size, stride, padding):
    """Returns the number of windows along the depth and the zero planes before the first one."""
    if padding.upper() == "VALID":
        return max(0, (depth - size) // stride + 1), 0
    count = -(-depth // stride)
    return count, max(0, (count - 1) * stride + size - depth) // 2


def merge_batch_and_depth(x):
    """Returns ([batch * depth, height, width, channels], batch)."""
    known = x.shape.as_list()
    batch = known[0] if known[0] is not None else shape_op(x)[0]
    sizes = [-1 if d is None else d for d in known[2:]]
    if sizes.count(-1):
        sizes = [
            s if d is None else d for d, s in zip(known[2:], op("Unpack", shape_op(x), num=5)[2:])
        ]
    return op("Reshape", x, _pack_sizes([-1, *sizes])), batch


def _pack_sizes(values):
    """Returns sizes as a list if all are integers, else as a packed tensor."""
    if all(isinstance(v, int) for v in values):
        return values
    return op("Pack", [convert_to_tensor(v, "int32") for v in values])


def split_batch_and_depth(planes, batch, depth):
    """Reverses `merge_batch_and_depth`."""
    known = planes.shape.as_list()
    sizes = known[1:]
    if None in sizes:
        have = op("Unpack", shape_op(planes), num=4)[1:]
        sizes = [h if k is None else k for k, h in zip(sizes, have)]
    result = op("Reshape", planes, _pack_sizes([batch, depth, *sizes]))
    result.set_shape([batch if isinstance(batch, int) else None, depth, *known[1:]]) if hasattr(
        result, "set_shape"
    ) else None
    return result


def _every(x, start, count, stride):
    """Returns `count` planes from `start` on, `stride` apart."""
    return x[:, start : start + (count - 1) * stride + 1 : stride]


def _padded(x, depth, before, needed):
    """Pads the depth with zero planes: `before` in front, and behind as many as `needed`."""
    after = max(0, needed - depth - before)
    if not before and not after:
        return x
    return op("Pad", x, [[0, 0], [before, after], [0, 0], [0, 0], [0, 0]])


@export(v2="nn.conv3d")
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a 3-D convolution.

    Args:
      input: A tensor of shape [batch, depth, height, width, channels], or NCDHW; there may be
        several batch dimensions.
      filters: A tensor of shape [depth, height, width, in_channels, out_channels].
      strides: One, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: One, three or five integers, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.

    Raises:
      InvalidArgumentError: If the filter is empty.
    """
    with scope(name, "Conv3D"):
        kernel = convert_to_tensor(filters)
        if 0 in tensor_shape.as_shape(kernel.shape).as_list():
            raise errors.InvalidArgumentError(None, None, "filter must not have zero elements")
        numbers = (strides, padding, data_format, dilations)
        return merge_batch_dims(input, 4, lambda x: _conv3d(x, kernel, *numbers))


class _Planes:
    """The planes that the parts of a filter see: a 3-D convolution is a sum of 2-D ones.

    Args:
      x: The volumes.
      size: The depth of the filter.
    """

    def __init__(self, x, size, strides, padding, data_format, dilations):
        self.first = _is_first(data_format)
        x = channels_last(x, self.first)
        depth, (self._stride, *strides) = _depth(x), expand_3d(strides, self.first)
        self._dilation, *dilations = expand_3d(dilations, self.first)
        reach = (size - 1) * self._dilation + 1
        self.count, before = count_windows(depth, reach, self._stride, padding)
        self._x = _padded(x, depth, before, (self.count - 1) * self._stride + reach)
        self.arguments = {
            "strides": tuple(strides),
            "padding": padding.upper(),
            "data_format": "NHWC",
            "dilations": tuple(dilations),
        }

    def part(self, k):
        """Returns (the planes that plane k of the filter sees, the number of volumes)."""
        return merge_batch_and_depth(_every(self._x, k * self._dilation, self.count, self._stride))


def _conv3d(x, filters, strides, padding, data_format, dilations):
    size = filters.shape.as_list()[0]
    planes = _Planes(x, size, strides, padding, data_format, dilations)
    total = None
    for k in range(size):
        images, batch = planes.part(k)
        part = conv2d(images, filters[k], **planes.arguments)
        total = part if total is None else total + part
    return restore_channels(split_batch_and_depth(total, batch, planes.count), planes.first)


@export(v1=("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2"))
def conv3d_backprop_filter(
    input: TensorLike,
    filter_sizes: ShapeLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of a 3-D convolution with respect to its filter.

    Args:
      input: A tensor of shape [batch, depth, height, width, channels], or NCDHW.
      filter_sizes: The shape of the filter; its depth must be known.
      out_backprop: The gradient of the result of the convolution.
      strides: One, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: One, three or five integers, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `filter_sizes`.

    Raises:
      ValueError: If `filter_sizes` is no vector, or its depth is not known.
    """
    rank = tensor_shape.as_shape(convert_to_tensor(filter_sizes).shape).ndims
    if rank not in (None, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {rank}: filter_sizes")
    size, *sizes = to_list(filter_sizes)
    if not isinstance(size, int):
        raise ValueError("The depth of the filter of conv3d_backprop_filter must be known.")
    with scope(name, "Conv3DBackpropFilterV2"):
        x = convert_to_tensor(input)
        planes = _Planes(x, size, strides, padding, data_format, dilations)
        dy = merge_batch_and_depth(channels_last(out_backprop, planes.first))[0]
        parts = [
            conv2d_backprop_filter(planes.part(k)[0], _pack_sizes(sizes), dy, **planes.arguments)
            for k in range(size)
        ]
        return op("Pack", parts, axis=0)


@export(v1="nn.conv3d")
def conv3d_v1(
    input: TensorLike,
    filter: TensorLike = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike = None,
) -> Tensor:
    """Computes a 3-D convolution; see `tf.nn.conv3d` of TensorFlow 2.

    Args:
      input: A tensor of shape [batch, depth, height, width, channels], or NCDHW.
      filter: A tensor of shape [depth, height, width, in_channels, out_channels].
      strides: One, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: One, three or five integers, 1 by default.
      name: A name for the operation (optional).
      filters: The name of `filter` in TensorFlow 2.
    """
    return conv3d(
        input,
        filter if filters is None else filters,
        strides,
        padding,
        data_format,
        dilations,
        name,
    )


def _placed(x, stride, before, depth):
    """Spreads planes `stride` apart along the depth, with `before` zero planes in front, cut or
    padded
    to `depth`."""
    batch, have, *sides = x.shape.as_list()
    batch = shape_op(x)[0] if batch is None else batch
    if stride > 1:
        x = op("Pad", op("ExpandDims", x, 2), [[0, 0], [0, 0], [0, stride - 1]] + [[0, 0]] * 3)
        sizes = [batch, have * stride, *sides]
        x = op(
            "Reshape",
            x,
            sizes
            if isinstance(batch, int)
            else op("Pack", [convert_to_tensor(s, "int32") for s in sizes]),
        )
    cut, rest = max(0, -before), have * stride
    x = x[:, cut : cut + max(0, depth - max(0, before))]
    have = min(rest - cut, depth - max(0, before))
    return op("Pad", x, [[0, 0], [max(0, before), depth - have - max(0, before)]] + [[0, 0]] * 3)


@export(v1="nn.conv3d_transpose")
def conv3d_transpose(
    value: TensorLike = None,
    filter: TensorLike = None,
    output_shape: ShapeLike = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: TensorLike = None,
    filters: TensorLike = None,
    dilations: Any = None,
) -> Tensor:
    """Computes a transposed 3-D convolution.

    Args:
      value: A tensor of shape [batch, depth, height, width, in_channels], or NCDHW.
      filter: A tensor of shape [depth, height, width, out_channels, in_channels].
      output_shape: The shape of the result; its depth must be known.
      strides: One, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      input: The name of `value` in TensorFlow 2.
      filters: The name of `filter` in TensorFlow 2.
      dilations: Must be 1.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `value`.
    """
    if dilations is not None and numpy.max(dilations) != 1:
        unsupported("conv3d_transpose", dilations=(dilations, None))
    first = data_format in ("NCDHW", "channels_first")
    with scope(name, "conv3d_transpose"):
        kernel = convert_to_tensor(filters if filter is None else filter)
        x = channels_last(input if value is None else value, first)
        sizes = to_list(output_shape)
        batch, depth, *sides = sizes[:1] + sizes[2:] if first else sizes[:4]
        if not isinstance(depth, int):
            raise ValueError("The depth of the output of conv3d_transpose must be known.")
        (sd, *step), count = expand_3d(strides, first), kernel.shape.as_list()
        _, before = count_windows(depth, count[0], sd, padding)
        planes, _ = merge_batch_and_depth(x)
        have = x.shape.as_list()[1]
        out = [batch * have, *sides, count[3]]
        out = (
            out
            if all(isinstance(s, int) for s in out)
            else op("Pack", [convert_to_tensor(s, "int32") for s in out])
        )
        total = None
        for k in range(count[0]):
            part = conv2d_transpose(planes, kernel[k], out, tuple(step), padding.upper())
            part = _placed(split_batch_and_depth(part, batch, have), sd, k - before, depth)
            total = part if total is None else total + part
        return restore_channels(total, first)


@export(v2="nn.conv3d_transpose")
def conv3d_transpose_v2(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed 3-D convolution; `filters` is [depth, height, width, out, in].

    Args:
      input: A tensor of shape [batch, depth, height, width, channels], or NCDHW.
      filters: A tensor of shape [depth, height, width, out_channels, in_channels].
      output_shape: The shape of the result; its depth must be known.
      strides: One, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: One, three or five integers, 1 by default.
      name: A name for the operation (optional).
    """
    return conv3d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )
