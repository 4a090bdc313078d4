# SPDX-License-Identifier: Apache-2.0
"""conv.py: tf.nn 1-D and 2-D convolutions, also transposed, depthwise and separable.

A 1-D convolution is a 2-D one of height 1.
"""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.constant_op import is_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, ShapeLike, Tensor, TensorLike


def expand_2d(value, data_format, default=1):
    """Expands 1, 2 or 4 sizes to a list of four in the order of the data format."""
    value = default if value is None else value
    sizes = [int(v) for v in value] if hasattr(value, "__iter__") else [int(value)]
    if len(sizes) == 4:
        return sizes
    if len(sizes) == 1:
        sizes = sizes * 2
    if len(sizes) != 2:
        raise ValueError(f"Expected 1, 2 or 4 numbers, but received {value}.")
    return [1, 1, *sizes] if _is_channels_first(data_format) else [1, *sizes, 1]


def _is_channels_first(data_format):
    return bool(data_format) and str(data_format)[1] == "C"


def layout(data_format):
    """Converts a data format of tf.nn or Keras to NHWC or NCHW."""
    return (
        "NHWC"
        if data_format in (None, "", "channels_last")
        else "NCHW"
        if data_format == "channels_first"
        else data_format
    )


def _padding(padding):
    """Returns the padding attributes for "SAME", "VALID" or a list of four pairs."""
    if isinstance(padding, str):
        return {"padding": padding.upper()}
    flat = [int(p) for pair in padding for p in pair]
    if len(flat) != 8:
        raise ValueError(
            f"When padding is a list, it must be a list of 4 pairs. Received: padding={padding}"
        )
    return {"padding": "EXPLICIT", "explicit_paddings": flat}


def merge_batch_dims(input, inner_rank, function):
    """Calls a function of a tensor whose first dimensions, but for the last `inner_rank`, are
    merged to one; splits that of the result again."""
    x = convert_to_tensor(input)
    shape = tensor_shape.as_shape(x.shape)
    if shape.ndims is None or shape.ndims <= inner_rank + 1:
        return function(x)
    count = shape.ndims - inner_rank
    inner = [-1 if d is None else d for d in shape.as_list()[count:]]
    if inner.count(-1):
        inner = op("StridedSlice", op("Shape", x), [count], [0], [1], end_mask=1)
        y = function(op("Reshape", x, op("ConcatV2", [[-1], inner], 0)))
    else:
        y = function(op("Reshape", x, [-1, *inner]))
    batch = op("StridedSlice", op("Shape", x), [0], [count], [1], begin_mask=1)
    rest = op("StridedSlice", op("Shape", y), [1], [0], [1], end_mask=1)
    result = op("Reshape", y, op("ConcatV2", [batch, rest], 0))
    if hasattr(result, "set_shape"):
        result.set_shape(shape.as_list()[:count] + tensor_shape.as_shape(y.shape).as_list()[1:])
    return result


def _conv(op_name, *inputs, strides, padding, data_format, dilations, name):
    kind = layout(data_format)
    return op(
        op_name,
        *inputs,
        strides=expand_2d(strides, kind),
        data_format=kind,
        dilations=expand_2d(dilations, kind),
        name=name,
        **_padding(padding),
    )


@export(v1="nn.conv2d")
def conv2d(
    input: TensorLike,
    filter: TensorLike = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: TensorLike = None,
) -> Tensor:
    """Computes a 2-D convolution.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW; there may be several
        batch dimensions.
      filter: A tensor of shape [height, width, in_channels, out_channels].
      strides: One, two or four integers.
      padding: "SAME", "VALID" or a list of four pairs of explicit paddings.
      use_cudnn_on_gpu: Ignored.
      data_format: "NHWC" or "NCHW".
      dilations: One, two or four integers, 1 by default.
      filters: The name of `filter` in TensorFlow 2.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.
    """
    del use_cudnn_on_gpu  # situ has kernels of its own
    return merge_batch_dims(
        input,
        3,
        lambda x: _conv(
            "Conv2D",
            x,
            filters if filter is None else filter,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=name,
        ),
    )


@export(v2="nn.conv2d")
def conv2d_v2(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a 2-D convolution.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW; there may be several
        batch dimensions.
      filters: A tensor of shape [height, width, in_channels, out_channels].
      strides: One, two or four integers.
      padding: "SAME", "VALID" or a list of four pairs of explicit paddings.
      data_format: "NHWC" or "NCHW".
      dilations: One, two or four integers, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.
    """
    return conv2d(input, filters, strides, padding, True, data_format, dilations, name)


@export(v1="nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike = None,
    out_backprop: TensorLike = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: TensorLike = None,
) -> Tensor:
    """Computes the gradient of a 2-D convolution with respect to its input, of shape
    `input_sizes`.

    Args:
      input_sizes: The shape of the input.
      filter: The filter.
      out_backprop: The gradient of the output.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      use_cudnn_on_gpu: Has no effect.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
      filters: The filter.
    """
    del use_cudnn_on_gpu  # situ has kernels of its own
    return _conv(
        "Conv2DBackpropInput",
        input_sizes,
        filters if filter is None else filter,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v1="nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool | None = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of a 2-D convolution with respect to its filter.

    Args:
      input: The input, a batch of signals, images or volumes.
      filter_sizes: The shape of the filter.
      out_backprop: The gradient of the output.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      use_cudnn_on_gpu: Has no effect.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    del use_cudnn_on_gpu  # situ has kernels of its own
    return _conv(
        "Conv2DBackpropFilter",
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v1="nn.conv2d_transpose")
def conv2d_transpose(
    value: TensorLike = None,
    filter: TensorLike = None,
    output_shape: ShapeLike = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike = None,
    filters: TensorLike = None,
    dilations: Any = None,
) -> Tensor:
    """Computes a transposed 2-D convolution, the gradient of `conv2d` with respect to its input.

    Args:
      value: A tensor of shape [batch, height, width, in_channels], or NCHW.
      filter: A tensor of shape [height, width, out_channels, in_channels].
      output_shape: The shape of the result.
      strides: One, two or four integers.
      padding: "SAME", "VALID" or a list of four pairs of explicit paddings.
      data_format: "NHWC" or "NCHW".
      input: The name of `value` in TensorFlow 2.
      filters: The name of `filter` in TensorFlow 2.
      dilations: One, two or four integers, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `value`.
    """
    with scope(name, "conv2d_transpose") as full:
        return _conv(
            "Conv2DBackpropInput",
            output_shape,
            filters if filter is None else filter,
            input if value is None else value,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=full,
        )


@export(v2="nn.conv2d_transpose")
def conv2d_transpose_v2(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed 2-D convolution; `filters` is [height, width, out_channels,
    in_channels].

    Args:
      input: The input, a batch of signals, images or volumes.
      filters: The filter.
      output_shape: The shape of the output.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    return conv2d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


@export(v1="nn.conv1d")
def conv1d(
    value: TensorLike = None,
    filters: TensorLike = None,
    stride: TensorLike = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike = None,
    dilations: Any = None,
) -> Tensor:
    """Computes a 1-D convolution.

    Args:
      value: A tensor of shape [batch, width, channels], or NCW; there may be several batch
        dimensions.
      filters: A tensor of shape [width, in_channels, out_channels].
      stride: An integer.
      padding: "SAME" or "VALID".
      use_cudnn_on_gpu: Ignored.
      data_format: "NWC" or "NCW".
      input: The name of `value` in TensorFlow 2.
      dilations: An integer, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `value`.
    """

    del use_cudnn_on_gpu  # situ has kernels of its own

    def to_int(number):
        return (
            int(number[0] if len(number) == 1 else max(number))
            if hasattr(number, "__iter__")
            else int(number or 1)
        )

    def convolve(signals):
        channels_first = data_format in ("NCW", "NCHW", "channels_first")
        axis, kind = (2, "NCHW") if channels_first else (1, "NHWC")
        result = conv2d(
            op("ExpandDims", signals, axis),
            op("ExpandDims", convert_to_tensor(filters), 0),
            expand_2d([1, to_int(stride)], kind),
            padding,
            True,
            kind,
            expand_2d([1, to_int(dilations)], kind),
        )
        return op("Squeeze", result, squeeze_dims=[axis])

    with scope(name, "conv1d"):
        return merge_batch_dims(input if value is None else value, 2, convolve)


@export(v2="nn.conv1d")
def conv1d_v2(
    input: TensorLike,
    filters: TensorLike,
    stride: TensorLike,
    padding: Any,
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a 1-D convolution of `input` [batch, width, channels] with `filters`
    [width, in_channels, out_channels].

    Args:
      input: The input, a batch of signals, images or volumes.
      filters: The filter.
      stride: The stride.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    return conv1d(input, filters, stride, padding, None, data_format, name, None, dilations)


@export(v1="nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a depthwise 2-D convolution; see `tf.nn.depthwise_conv2d`.

    Args:
      input: The input, a batch of signals, images or volumes.
      filter: The filter.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    return _conv(
        "DepthwiseConv2dNative",
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v1="nn.depthwise_conv2d")
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike = None,
    strides: Any = None,
    padding: Any = None,
    rate: TensorLike = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Convolves each channel with filters of its own.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW.
      filter: A tensor of shape [height, width, channels, multiplier].
      strides: One, two or four integers.
      padding: "SAME", "VALID" or a list of four pairs of explicit paddings.
      rate: The name of `dilations` in TensorFlow 1.
      data_format: "NHWC" or "NCHW".
      dilations: One, two or four integers, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor with channels * multiplier channels.
    """
    return depthwise_conv2d_native(
        input,
        filter,
        strides,
        padding,
        data_format,
        rate if dilations is None else dilations,
        name or "depthwise",
    )


@export(v2="nn.depthwise_conv2d")
def depthwise_conv2d_v2(
    input: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Convolves each channel with filters of its own; `filter` is [height, width, channels,
    multiplier].

    Args:
      input: The input, a batch of signals, images or volumes.
      filter: The filter.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    return depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


@export(v1="nn.separable_conv2d")
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Any,
    padding: Any,
    rate: TensorLike = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Computes a depthwise 2-D convolution followed by a pointwise one.

    Args:
      input: A tensor of shape [batch, height, width, channels], or NCHW.
      depthwise_filter: A tensor of shape [height, width, channels, multiplier].
      pointwise_filter: A tensor of shape [1, 1, channels * multiplier, out_channels].
      strides: One, two or four integers.
      padding: "SAME", "VALID" or a list of four pairs of explicit paddings.
      rate: The name of `dilations` in TensorFlow 1.
      data_format: "NHWC" or "NCHW".
      dilations: One, two or four integers, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    with scope(name, "separable_conv2d") as full:
        depthwise = depthwise_conv2d(
            input,
            depthwise_filter,
            strides,
            padding,
            rate if dilations is None else dilations,
            data_format=data_format,
        )
        return conv2d(depthwise, pointwise_filter, 1, "VALID", data_format=data_format, name=full)


@export(v2="nn.separable_conv2d")
def separable_conv2d_v2(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a depthwise 2-D convolution followed by a pointwise one.

    Args:
      input: The input, a batch of signals, images or volumes.
      depthwise_filter: The filter of the depthwise convolution.
      pointwise_filter: The filter of the pointwise convolution, with windows of size 1.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    return separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, dilations, name, data_format
    )


@export(v1="nn.atrous_conv2d")
def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: TensorLike, padding: Any, name: str | None = None
) -> Tensor:
    """Computes a 2-D convolution with dilation `rate`.

    Args:
      value: Images [batch, height, width, channels].
      filters: The filter.
      rate: The dilation.
      padding: "SAME", "VALID", or explicit paddings.
      name: A name for the operation (optional).
    """
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


@export(v1="nn.convolution")
def convolution(
    input: TensorLike,
    filter: TensorLike = None,
    padding: Any = "VALID",
    strides: Any = None,
    dilation_rate: TensorLike = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike = None,
    dilations: Any = None,
) -> Tensor:
    """Computes a 1-D, 2-D or 3-D convolution, depending on the rank of the filter.

    Args:
      input: A tensor of shape [batch, spatial dimensions, channels], or with channels first.
      filter: A tensor of shape [spatial dimensions, in_channels, out_channels].
      padding: "SAME" or "VALID".
      strides: One integer per spatial dimension, 1 by default.
      dilation_rate: The name of `dilations` in TensorFlow 1.
      data_format: A string such as "NHWC" or "NCHW".
      filters: The name of `filter` in TensorFlow 2.
      dilations: One integer per spatial dimension, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If the filter does not have rank 3, 4 or 5.
    """
    kernel = convert_to_tensor(filters if filter is None else filter)
    dilation = dilation_rate if dilations is None else dilations
    rank = tensor_shape.as_shape(kernel.shape).ndims
    if rank == 3:
        return conv1d(input, kernel, strides, padding, None, data_format, name, None, dilation)
    if rank == 5:
        from situ._src.ops.nn.conv3d import conv3d

        return conv3d(input, kernel, strides, padding, data_format or "NDHWC", dilation, name)
    if rank != 4:
        raise ValueError(
            f"tf.nn.convolution: the filter must have rank 3, 4 or 5, but has rank {rank}."
        )
    return conv2d(input, kernel, strides, padding, True, data_format, dilation, name)


@export(v2="nn.convolution")
def convolution_v2(
    input: TensorLike,
    filters: TensorLike,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a 1-D, 2-D or 3-D convolution, depending on the rank of `filters`.

    Args:
      input: The input, a batch of signals, images or volumes.
      filters: The filter.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).
    """
    return convolution(input, filters, padding, strides, dilations, name, data_format)


def to_list(values):
    """Converts sizes, or a tensor of sizes, to a list."""
    if isinstance(values, tensor_shape.TensorShape):
        return values.as_list()
    if isinstance(values, (list, tuple)):
        return list(values)
    known = constant_value(values)
    if known is not None:
        return [int(v) for v in known]
    return op("Unpack", values, num=tensor_shape.as_shape(values.shape).as_list()[0])


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed 1-D convolution.

    Args:
      input: A tensor of shape [batch, width, in_channels], or NCW.
      filters: A tensor of shape [width, out_channels, in_channels].
      output_shape: The shape of the result.
      strides: An integer.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: An integer, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor.
    """
    channels_first = data_format in ("NCW", "NCHW", "channels_first")
    axis, kind = (2, "NCHW") if channels_first else (1, "NHWC")
    stride, dilation = (
        int(max(v)) if hasattr(v, "__iter__") else int(v or 1) for v in (strides, dilations)
    )
    with scope(name, "conv1d_transpose"):
        sizes = to_list(output_shape)
        sizes.insert(axis, 1)
        sizes = (
            sizes
            if all(isinstance(s, int) for s in sizes)
            else op("Pack", [convert_to_tensor(s, "int32") for s in sizes])
        )
        result = conv2d_transpose(
            op("ExpandDims", convert_to_tensor(input), axis),
            op("ExpandDims", convert_to_tensor(filters), 0),
            sizes,
            expand_2d([1, stride], kind),
            padding,
            kind,
            dilations=expand_2d([1, dilation], kind),
        )
        return op("Squeeze", result, squeeze_dims=[axis])


@export("nn.conv_transpose")
def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes a transposed 1-D, 2-D or 3-D convolution, depending on the length of
    `output_shape`.

    Args:
      input: The input, a batch of signals, images or volumes.
      filters: The filter.
      output_shape: The shape of the output.
      strides: The stride in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      data_format: The layout: channels last or first, such as "NHWC" or "NCHW".
      dilations: The dilation in each dimension.
      name: A name for the operation (optional).

    Raises:
      ValueError: If `output_shape` has no length, or another one than 3, 4 or 5.
    """
    if is_tensor(output_shape):
        rank = tensor_shape.as_shape(output_shape.shape).as_list()[0]
    elif hasattr(output_shape, "__len__"):
        rank = len(output_shape)
    else:
        raise ValueError(
            "`output_shape` must be a tensor or sized collection. "
            f"Received: output_shape={output_shape}"
        )
    if rank not in (3, 4, 5):
        raise ValueError(
            "`output_shape` must be of length 3, 4 or 5. "
            f"Received: output_shape={output_shape} of length {rank}."
        )
    from situ._src.ops.nn.conv3d import conv3d_transpose_v2

    function = {3: conv1d_transpose, 4: conv2d_transpose_v2, 5: conv3d_transpose_v2}[rank]
    kind = data_format or {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]
    return function(
        input, filters, output_shape, strides, padding, kind, dilations=dilations, name=name
    )
