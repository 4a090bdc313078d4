# SPDX-License-Identifier: Apache-2.0
"""conv_variants.py: tf.raw_ops.Conv, transposed dilated convolutions, and with_space_to_batch."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn.conv import conv2d, conv2d_backprop_input, conv2d_transpose, merge_batch_dims
from situ._src.ops.nn.conv3d import conv3d
from situ._src.ops.space_to_batch_ops import (
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch_nd,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, ShapeLike, Tensor, TensorLike


@export("raw_ops.Conv")
def conv(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    explicit_paddings: Any = (),
    data_format: str = "CHANNELS_LAST",
    dilations: Any = (),
    batch_dims: int = 1,
    groups: int = 1,
    name: str | None = None,
) -> Tensor:
    """Computes a 2-D or 3-D convolution with any number of batch dimensions.

    Args:
      input: A tensor of shape [batch dimensions, spatial dimensions, channels].
      filter: A tensor of shape [spatial dimensions, in_channels, out_channels].
      strides: A list of integers, one per dimension of the filter.
      padding: "SAME", "VALID" or "EXPLICIT".
      explicit_paddings: Two integers per dimension of the filter if `padding` is "EXPLICIT".
      data_format: "CHANNELS_LAST" or "CHANNELS_FIRST".
      dilations: A list of integers, one per dimension of the filter; 1 by default.
      batch_dims: The number of batch dimensions.
      groups: Must be that of the shapes: the channels of the input by those of the filter.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.

    Raises:
      ValueError: If the ranks do not fit, or an argument is invalid.
    """
    x, kernel = convert_to_tensor(input), convert_to_tensor(filter)
    rank, own = (tensor_shape.as_shape(t.shape).ndims for t in (kernel, x))
    if rank not in (4, 5):
        raise ValueError(f"Filter tensor must be rank 4 or 5, but got: {rank}")
    if batch_dims < 0:
        raise ValueError("Batch dims must be non-negative.")
    if own is not None and own - (batch_dims - 1) != rank:
        raise ValueError("Input tensor rank must be the same as filter rank.")
    if data_format not in ("CHANNELS_LAST", "CHANNELS_FIRST"):
        raise ValueError(f"Invalid data format: {data_format}")
    _check_groups(x, kernel, data_format, groups)
    layouts = ("NHWC", "NDHWC") if data_format == "CHANNELS_LAST" else ("NCHW", "NCDHW")
    if padding == "EXPLICIT":
        padding = [list(pair) for pair in zip(explicit_paddings[::2], explicit_paddings[1::2])]
    elif explicit_paddings:
        raise ValueError("explicit_paddings must be empty if the padding is not EXPLICIT")
    strides, dilations = list(strides), list(dilations) or None
    function, kind = (conv2d, layouts[0]) if rank == 4 else (conv3d, layouts[1])
    arguments = {"strides": strides, "padding": padding, "dilations": dilations}
    with scope(name, "Conv"):
        if not batch_dims:
            y = function(op("ExpandDims", x, 0), kernel, data_format=kind, **arguments)
            return op("Squeeze", y, squeeze_dims=[0])
        return merge_batch_dims(
            x, rank - 1, lambda x: function(x, kernel, data_format=kind, **arguments)
        )


def _check_groups(x, kernel, data_format, groups):
    shape = tensor_shape.as_shape(x.shape)
    if shape.ndims is None:
        return
    axis = -1 if data_format == "CHANNELS_LAST" else 1 - kernel.shape.ndims
    channels, seen = shape.as_list()[axis], kernel.shape.as_list()[-2]
    if groups != 1 and channels is not None and seen is not None and channels != groups * seen:
        raise ValueError(f"{channels} channels are not {groups} groups of {seen}.")


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Computes the transpose of `tf.nn.atrous_conv2d`.

    Args:
      value: A tensor of shape [batch, height, width, in_channels].
      filters: A tensor of shape [height, width, out_channels, in_channels].
      output_shape: The shape of the result.
      rate: The dilation, an integer.
      padding: "SAME" or "VALID".
      name: A name for the operation (optional).

    Returns:
      A tensor of shape `output_shape`.

    Raises:
      ValueError: If the shapes do not fit, or an argument is invalid.
    """
    if rate < 1:
        raise ValueError(f"`rate` cannot be less than one. Received: rate={rate}")
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"`padding` must be either 'VALID' or 'SAME'. Received: padding={padding}")
    with scope(name, "atrous_conv2d_transpose"):
        x, kernel = convert_to_tensor(value), convert_to_tensor(filters)
        if rate == 1:
            return conv2d_transpose(x, kernel, output_shape, [1, 1, 1, 1], padding)
        sizes = convert_to_tensor(output_shape, "int32")
        if not tensor_shape.as_shape(sizes.shape).is_compatible_with([4]):
            raise ValueError(
                f"`output_shape` must have shape (4,). Received: output_shape={sizes.shape}"
            )
        return conv2d_backprop_input(
            sizes, kernel, x, [1, 1, 1, 1], padding, dilations=[1, rate, rate, 1]
        )


def _same_paddings(filter_shape, rates):
    """Returns the paddings of each spatial dimension for "SAME"."""
    known = constant_value(convert_to_tensor(filter_shape))
    if known is None:
        raise ValueError("filter_shape must be known for padding SAME")
    reaches = [(int(size) - 1) * rate for size, rate in zip(known, rates)]
    return [[reach // 2, reach - reach // 2] for reach in reaches]


@export(v1="nn.with_space_to_batch")
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: Any,
    padding: str,
    op: Any,
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Tensor:
    """Calls `op` on the space-to-batch representation of `input`, which dilates its windows.

    Args:
      input: A tensor.
      dilation_rate: The block size in each spatial dimension.
      padding: "SAME" or "VALID".
      op: A function of a tensor, the number of spatial dimensions and the padding.
      filter_shape: The sizes of the window; needed for padding "SAME".
      spatial_dims: The spatial dimensions; by default those behind the batch, or behind the
        channels if they come first.
      data_format: A string such as "NHWC" or "NCHW".

    Returns:
      The result of `op`, converted back.

    Raises:
      ValueError: If an argument is invalid.
    """
    known = constant_value(convert_to_tensor(dilation_rate, "int32"))
    if known is None or known.ndim != 1 or (known < 1).any():
        raise ValueError(f"dilation_rate must be a list of positive integers: {dilation_rate}")
    rates = known.tolist()
    is_first = data_format is not None and data_format.startswith("NC")
    begin = 2 if is_first else 1
    dims = list(range(begin, begin + len(rates)) if spatial_dims is None else spatial_dims)
    if sorted(set(dims)) != dims or (dims and dims[0] < 1) or len(dims) != len(rates):
        raise ValueError(f"spatial_dims must be a sorted list of unique positive integers: {dims}")
    if set(rates) <= {1}:
        return op(input, num_spatial_dims=len(rates), padding=padding)
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"Invalid padding method {padding!r}")
    x = convert_to_tensor(input)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for SAME padding")
        own = _same_paddings(filter_shape, rates)
    else:
        own = [[0, 0] for _ in rates]
    blocks, base = [1] * dims[-1], [[0, 0] for _ in range(dims[-1])]
    for dim, rate, pair in zip(dims, rates, own):
        blocks[dim - 1], base[dim - 1] = rate, pair
    known_sizes = tensor_shape.as_shape(x.shape)[1 : dims[-1] + 1]
    sizes = known_sizes.as_list() if known_sizes.is_fully_defined() else None
    sizes = shape_op(x)[1 : dims[-1] + 1] if sizes is None else sizes
    pads, crops = required_space_to_batch_paddings(sizes, blocks, base)
    y = op(space_to_batch_nd(x, blocks, pads), num_spatial_dims=len(rates), padding="VALID")
    return batch_to_space_nd(y, blocks, crops)
