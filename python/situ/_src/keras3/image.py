# SPDX-License-Identifier: Apache-2.0
"""image.py: keras.ops.image: resizing, patches, padding, cropping and color."""

from __future__ import annotations

from typing import Any

from situ._src.keras import context
from situ._src.keras3 import operands
from situ._src.keras3.exports import tf
from situ._src.keras3.operands import sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("image", "image", top=False)


def _channels_last(images, data_format):
    """Returns images with channels last, and a function that restores their format."""
    x = tensor(images)
    if (data_format or context.setting("format")) != "channels_first":
        return x, lambda y: y
    n = operands.rank(x)
    order = [*range(n - 3), n - 2, n - 1, n - 3]
    back = [*range(n - 3), n - 1, n - 3, n - 2]
    return tf.transpose(x, order), lambda y: tf.transpose(y, back)


def _check_rank(images):
    if operands.rank(images) not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received input with shape: images.shape={sizes(images)}"
        )


@_op
def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: Any = 0.0,
    data_format: Any = None,
):
    """Resizes images.

    Args:
      images: Image or batch of images.
      size: (height, width).
      interpolation: "nearest", "bilinear", "bicubic", "lanczos3" or "lanczos5".
      antialias: Whether to smooth before making images smaller.
      crop_to_aspect_ratio: Whether to crop to the ratio of size first.
      pad_to_aspect_ratio: Whether to pad to the ratio of size first.
      fill_mode: Only "constant" is supported.
      fill_value: Value of the padding.
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: If an argument is invalid.
    """
    _check_rank(images)
    known = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")
    if interpolation not in known:
        raise ValueError(
            f"Invalid `interpolation` argument. Expected of one {known}. "
            f"Received: interpolation={interpolation}"
        )
    if fill_mode != "constant":
        raise ValueError(
            "Invalid `fill_mode` argument. Only `'constant'` is supported. "
            f"Received: fill_mode={fill_mode}"
        )
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        raise ValueError(
            "Only one of `crop_to_aspect_ratio` & `pad_to_aspect_ratio` can be `True`."
        )
    x, back = _channels_last(images, data_format)
    if crop_to_aspect_ratio or pad_to_aspect_ratio:
        x = _to_ratio(x, size, crop_to_aspect_ratio, fill_value)
    result = tf.image.resize(x, list(size), method=interpolation, antialias=antialias)
    return back(tf.cast(result, x.dtype))


def _to_ratio(x, size, crop, fill_value):
    height, width = x.shape.as_list()[-3:-1]
    to_height, to_width = size
    if crop:
        high, wide = int(width * to_height / to_width), int(height * to_width / to_height)
        high, wide = max(min(height, high), 1), max(min(width, wide), 1)
        top, left = (height - high) // 2, (width - wide) // 2
        return x[..., top : top + high, left : left + wide, :]
    high, wide = int(width * to_height / to_width), int(height * to_width / to_height)
    high, wide = max(height, high), max(width, wide)
    top, left = (high - height) // 2, (wide - width) // 2
    widths = [[top, high - height - top], [left, wide - width - left], [0, 0]]
    widths = [*[[0, 0]] * (operands.rank(x) - 3), *widths]
    return tf.pad(x, widths, constant_values=tf.cast(fill_value, x.dtype))


@_op
def extract_patches(
    images: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
):
    """Returns patches of images, with their elements as channels.

    Args:
      images: Image or batch of images.
      size: Number, or (height, width).
      strides: Distance of patches; default: size.
      dilation_rate: Distance of elements in a patch.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
    """
    _check_rank(images)
    x, back = _channels_last(images, data_format)
    single = operands.rank(x) == 3
    pair = lambda v: [v, v] if isinstance(v, int) else list(v)
    window = pair(size)
    result = tf.image.extract_patches(
        x[None] if single else x,
        [1, *window, 1],
        [1, *pair(window if strides is None else strides), 1],
        [1, *pair(dilation_rate), 1],
        padding.upper(),
    )
    return back(result[0] if single else result)


def _missing(name, total, before, after, target, sign):
    """Returns the three of (before, after, target) if two of them are given."""
    given = [v is not None for v in (before, after, target)]
    if sum(given) != 2:
        raise ValueError(f"Must specify exactly two of the three arguments for {name}.")
    if before is None:
        before = sign * (target - total) - after
    elif after is None:
        after = sign * (target - total) - before
    return before, after


@_op
def pad_images(
    images: Any,
    top_padding: Any = None,
    left_padding: Any = None,
    bottom_padding: Any = None,
    right_padding: Any = None,
    target_height: Any = None,
    target_width: Any = None,
    data_format: Any = None,
):
    """Pads images with zeros; of each direction two of three arguments are given.

    Args:
      images: Image or batch of images.
      top_padding: Rows above.
      left_padding: Columns on the left.
      bottom_padding: Rows below.
      right_padding: Columns on the right.
      target_height: Height of the result.
      target_width: Width of the result.
      data_format: "channels_last" or "channels_first".
    """
    _check_rank(images)
    x, back = _channels_last(images, data_format)
    height, width = sizes(x)[-3:-1]
    rows = _missing("height", height, top_padding, bottom_padding, target_height, 1)
    columns = _missing("width", width, left_padding, right_padding, target_width, 1)
    widths = [*[[0, 0]] * (operands.rank(x) - 3), list(rows), list(columns), [0, 0]]
    return back(tf.pad(x, widths))


@_op
def crop_images(
    images: Any,
    top_cropping: Any = None,
    left_cropping: Any = None,
    bottom_cropping: Any = None,
    right_cropping: Any = None,
    target_height: Any = None,
    target_width: Any = None,
    data_format: Any = None,
):
    """Crops images; of each direction two of three arguments are given.

    Args:
      images: Image or batch of images.
      top_cropping: Rows to remove above.
      left_cropping: Columns to remove on the left.
      bottom_cropping: Rows to remove below.
      right_cropping: Columns to remove on the right.
      target_height: Height of the result.
      target_width: Width of the result.
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.

    Raises:
      ValueError: If the rank is not 3 or 4, or not two arguments of a direction are given.
    """
    _check_rank(images)
    x, back = _channels_last(images, data_format)
    height, width = sizes(x)[-3:-1]
    top, bottom = _missing("height", height, top_cropping, bottom_cropping, target_height, -1)
    left, right = _missing("width", width, left_cropping, right_cropping, target_width, -1)
    return back(x[..., top : height - bottom, left : width - right, :])


@_op
def rgb_to_grayscale(images: Any, data_format: Any = None):
    """Converts RGB images to one channel of the same type.

    Args:
      images: Image or batch of images with 3 channels.
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.
    """
    x, back = _channels_last(images, data_format)
    return back(tf.cast(tf.image.rgb_to_grayscale(x), x.dtype))


@_op
def rgb_to_hsv(images: Any, data_format: Any = None):
    """Converts RGB images in [0, 1] to hue, saturation and value.

    Args:
      images: Image or batch of images with 3 channels, of a floating-point type.
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.
    """
    x, back = _channels_last(images, data_format)
    return back(tf.image.rgb_to_hsv(x))


@_op
def hsv_to_rgb(images: Any, data_format: Any = None):
    """Converts images of hue, saturation and value to RGB in [0, 1].

    Args:
      images: Image or batch of images with 3 channels in [0, 1], of a floating-point type.
      data_format: "channels_last" or "channels_first"; default:
        `keras.config.image_data_format()`.
    """
    x, back = _channels_last(images, data_format)
    return back(tf.image.hsv_to_rgb(x))


@_op
def gaussian_blur(
    images: Any, kernel_size: Any = (3, 3), sigma: Any = (1.0, 1.0), data_format: Any = None
):
    """Blurs images with a Gaussian kernel.

    Args:
      images: Image or batch of images.
      kernel_size: (height, width).
      sigma: Standard deviations (horizontal, vertical), as Keras 3 uses them.
      data_format: "channels_last" or "channels_first".
    """
    _check_rank(images)
    x, back = _channels_last(images, data_format)
    single = operands.rank(x) == 3
    x = x[None] if single else x
    channels = x.shape.as_list()[-1]

    def line(size, deviation):
        at = tf.cast(tf.range(size), x.dtype) - tf.cast(size - 1, x.dtype) / 2
        values = tf.exp(-0.5 * tf.square(at / tf.cast(deviation, x.dtype)))
        return values / tf.reduce_sum(values)

    kernel = line(kernel_size[1], sigma[1])[:, None] * line(kernel_size[0], sigma[0])[None, :]
    kernel = tf.reshape(kernel, [*kernel_size, 1, 1])
    kernel = tf.tile(kernel, [1, 1, channels, 1])
    result = tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    return back(result[0] if single else result)
