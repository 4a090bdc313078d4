# SPDX-License-Identifier: Apache-2.0
"""convolution.py: convolution and pooling of keras.ops.nn."""

from __future__ import annotations

from typing import Any

from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras3 import operands
from situ._src.keras3.exports import tf
from situ._src.keras3.operands import promoted, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("nn", "nn")


def _format(data_format, ndim):
    data_format = data_format or context.setting("format")
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            "The `data_format` argument must be one of 'channels_first', 'channels_last'. "
            f"Received: data_format={data_format}"
        )
    return data_format == "channels_first" and ndim > 2


def _channels_last(x, first):
    n = operands.rank(x)
    return tf.transpose(x, [0, *range(2, n), 1]) if first else x


def _channels_back(x, first):
    n = operands.rank(x)
    return tf.transpose(x, [0, n - 1, *range(1, n - 1)]) if first else x


def _with_channels_last(x, data_format):
    """Returns (tensor with the channels last, whether they were first, number of spatial axes)."""
    first = _format(data_format, operands.rank(x))
    return _channels_last(x, first), first, operands.rank(x) - 2


def _per_axis(value, count):
    return [value] * count if isinstance(value, int) else list(value)


def _pool(kind, inputs, pool_size, strides, padding, data_format):
    x, first, spatial = _with_channels_last(tensor(inputs), data_format)
    size = _per_axis(pool_size, spatial)
    steps = size if strides is None else _per_axis(strides, spatial)
    result = tf.nn.pool(x, size, kind, padding=padding.upper(), strides=steps)
    return _channels_back(result, first)


@_op
def max_pool(
    inputs: Any,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: Any = None,
):
    """Max pooling over 1 to 3 spatial axes.

    Args:
      inputs: Tensor.
      pool_size: Size of a window, one number or one per axis.
      strides: Distance of windows; default: pool_size.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
    """
    return _pool("MAX", inputs, pool_size, strides, padding, data_format)


@_op
def average_pool(
    inputs: Any,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: Any = None,
):
    """Average pooling over 1 to 3 spatial axes; padding does not count.

    Args:
      inputs: Tensor.
      pool_size: Size of a window, one number or one per axis.
      strides: Distance of windows; default: pool_size.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.

    Raises:
      ValueError: If the data_format is unknown.
    """
    return _pool("AVG", inputs, pool_size, strides, padding, data_format)


def _adaptive(reduce, inputs, output_size, data_format):
    x = tensor(inputs)
    x, first, spatial = _with_channels_last(x, data_format)
    for axis, count in enumerate(_per_axis(output_size, spatial), 1):
        length = x.shape.as_list()[axis]
        bounds = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
        parts = [
            reduce(tf.gather(x, tf.range(a, b), axis=axis), axis, keepdims=True) for a, b in bounds
        ]
        x = tf.concat(parts, axis)
    return _channels_back(x, first)


@_op
def adaptive_average_pool(inputs: Any, output_size: Any, data_format: Any = None):
    """Average pooling to an output size.

    Args:
      inputs: Tensor with known spatial sizes.
      output_size: Spatial size of the output, one number or one per axis.
      data_format: "channels_last" or "channels_first".
    """
    return _adaptive(tf.reduce_mean, inputs, output_size, data_format)


@_op
def adaptive_max_pool(inputs: Any, output_size: Any, data_format: Any = None):
    """Max pooling to an output size.

    Args:
      inputs: Tensor with known spatial sizes.
      output_size: Spatial size of the output, one number or one per axis.
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.

    Raises:
      ValueError: If the data_format is unknown.
    """
    return _adaptive(tf.reduce_max, inputs, output_size, data_format)


@_op
def conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
):
    """Convolution over 1 to 3 spatial axes; groups if the kernel has fewer input channels.

    Args:
      inputs: Tensor.
      kernel: Tensor of shape [*spatial, input channels, output channels].
      strides: One number or one per axis.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: One number or one per axis.
    """
    inputs, kernel = promoted(inputs, kernel)
    x, first, spatial = _with_channels_last(inputs, data_format)
    options = dict(
        strides=_per_axis(strides, spatial),
        padding=padding.upper(),
        dilations=_per_axis(dilation_rate, spatial),
    )
    groups = (x.shape.as_list()[-1] or 1) // kernel.shape.as_list()[-2]
    if groups > 1:
        parts = zip(tf.split(x, groups, -1), tf.split(kernel, groups, -1))
        result = tf.concat([tf.nn.convolution(a, k, **options) for a, k in parts], -1)
    else:
        result = tf.nn.convolution(x, kernel, **options)
    return _channels_back(result, first)


@_op
def depthwise_conv(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
):
    """Convolution of each channel with its own kernels, over 1 or 2 spatial axes.

    Args:
      inputs: Tensor.
      kernel: Tensor of shape [*spatial, input channels, output channels per input channel].
      strides: One number or one per axis.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.
      dilation_rate: One number or one per axis.

    Raises:
      ValueError: If there are more than 2 spatial axes or the data_format is unknown.
    """
    inputs, kernel = promoted(inputs, kernel)
    x, first, spatial = _with_channels_last(inputs, data_format)
    if spatial > 2:
        raise ValueError("`inputs` rank must be 3 (1D conv) or 4 (2D conv).")
    steps, rates = _per_axis(strides, spatial), _per_axis(dilation_rate, spatial)
    if spatial == 1:
        x, kernel = tf.expand_dims(x, 1), tf.expand_dims(kernel, 0)
        steps, rates = [steps[0], steps[0]], [1, rates[0]]
    result = tf.nn.depthwise_conv2d(x, kernel, [1, *steps, 1], padding.upper(), dilations=rates)
    return _channels_back(tf.squeeze(result, [1]) if spatial == 1 else result, first)


@_op
def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
):
    """Depthwise convolution followed by one of size 1.

    Args:
      inputs: Tensor with 1 or 2 spatial axes.
      depthwise_kernel: Tensor of shape [*spatial, input channels, channels per input channel].
      pointwise_kernel: Tensor of shape [*ones, depthwise channels, output channels].
      strides: One number or one per axis.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.
      dilation_rate: One number or one per axis, of the depthwise convolution.

    Raises:
      ValueError: If there are more than 2 spatial axes or the data_format is unknown.
    """
    x = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(x, pointwise_kernel, 1, "valid", data_format, 1)


@_op
def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: Any = None,
    dilation_rate: Any = 1,
):
    """Transposed convolution over 1 to 3 spatial axes.

    Args:
      inputs: Tensor.
      kernel: Tensor of shape [*spatial, output channels, input channels].
      strides: One number or one per axis.
      padding: "valid" or "same".
      output_padding: Additional size of the output; default: computed.
      data_format: "channels_last" or "channels_first".
      dilation_rate: Only 1 is supported.
    """
    inputs, kernel = promoted(inputs, kernel)
    x, first, spatial = _with_channels_last(inputs, data_format)
    steps = _per_axis(strides, spatial)
    unsupported("ops.conv_transpose", dilation_rate=(max(_per_axis(dilation_rate, spatial)), 1))
    more = [None] * spatial if output_padding is None else _per_axis(output_padding, spatial)
    lengths, window = sizes(x), kernel.shape.as_list()
    target = [
        _transposed_length(lengths[1 + i], window[i], steps[i], padding, more[i])
        for i in range(spatial)
    ]
    result = tf.nn.conv_transpose(
        x, kernel, [lengths[0], *target, window[-2]], steps, padding.upper()
    )
    return _channels_back(result, first)


def _transposed_length(length, window, stride, padding, more):
    if more is None:
        return length * stride + (max(window - stride, 0) if padding == "valid" else 0)
    kept = 0 if padding == "valid" else window // 2
    return (length - 1) * stride + window - 2 * kept + more


def _blocks(x, size, first):
    x = _channels_last(x, first)
    return x, sizes(x), size


@_op
def depth_to_space(x: Any, block_size: int, data_format: str = "channels_last"):
    """Moves channels to blocks of the spatial axes.

    Args:
      x: Tensor of rank 4 with a number of channels divisible by block_size * block_size.
      block_size: Height and width of a block.
      data_format: "channels_last" or "channels_first"; None:
        `keras.config.image_data_format()`.

    Raises:
      ValueError: If the data_format is unknown.
    """
    first = _format(data_format, 4)
    x, (n, h, w, c), b = _blocks(tensor(x), block_size, first)
    y = tf.reshape(x, [n, h, w, b, b, c // (b * b)])
    y = tf.reshape(tf.transpose(y, [0, 1, 3, 2, 4, 5]), [n, h * b, w * b, c // (b * b)])
    return _channels_back(y, first)


@_op
def space_to_depth(x: Any, block_size: int, data_format: str = "channels_last"):
    """Moves blocks of the spatial axes to channels.

    Args:
      x: Tensor of rank 4 with a height and a width divisible by block_size.
      block_size: Height and width of a block.
      data_format: "channels_last" or "channels_first"; None:
        `keras.config.image_data_format()`.

    Raises:
      ValueError: If the data_format is unknown.
    """
    first = _format(data_format, 4)
    x, (n, h, w, c), b = _blocks(tensor(x), block_size, first)
    y = tf.reshape(x, [n, h // b, b, w // b, b, c])
    y = tf.reshape(tf.transpose(y, [0, 1, 3, 2, 4, 5]), [n, h // b, w // b, b * b * c])
    return _channels_back(y, first)
