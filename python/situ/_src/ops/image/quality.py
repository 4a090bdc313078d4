# SPDX-License-Identifier: Apache-2.0
"""quality.py: tf.image: PSNR, SSIM, image gradients and Sobel edges."""

from __future__ import annotations

import math

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export, named
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op, pad
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.image import color

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("image.image_gradients")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns (dy, dx), the differences of neighbouring pixels, with zeros in the last row or
    column."""
    image = convert_to_tensor(image)
    if tensor_shape.as_shape(image.shape).rank != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}."
        )
    down = op("Pad", image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    right = op("Pad", image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return down, right


@export("image.sobel_edges")
def sobel_edges(image: TensorLike) -> Tensor:
    """Computes Sobel edge maps: [batch, height, width, channels, 2] for dy and dx."""
    image = convert_to_tensor(image)
    channels = image.shape.as_list()[-1]
    kernel = numpy.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    kernel = numpy.stack([kernel, kernel.T], -1)[:, :, None, :].repeat(channels, 2)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    result = op(
        "DepthwiseConv2dNative",
        padded,
        convert_to_tensor(kernel, image.dtype),
        strides=[1, 1, 1, 1],
        padding="VALID",
    )
    return op("Reshape", result, concat([shape_op(image), constant([2], "int32")], 0))


@export("image.psnr")
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Computes the peak signal-to-noise ratio of images in decibels."""
    with scope(name, "PSNR"):
        convert = color.convert_image_dtype
        a, b = [convert(convert_to_tensor(x), "float32") for x in (a, b)]
        top = float(max_val) if not hasattr(max_val, "dtype") else cast(max_val, "float32")
        error = OPS["Mean"](op("SquaredDifference", a, b), constant([-3, -2, -1], "int32"))
        return 20.0 * op("Log", convert_to_tensor(top, "float32")) / math.log(10) - 10 / math.log(
            10
        ) * op("Log", error)


@export("image.ssim")
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: TensorLike = 11,
    filter_sigma: TensorLike = 1.5,
    k1: TensorLike = 0.01,
    k2: TensorLike = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """Computes the structural similarity index of images.

    Args:
      img1: An image or a batch of images.
      img2: A tensor of the shape of `img1`.
      max_val: The range of values, such as 255 or 1.0.
      filter_size: The size of the Gaussian filter.
      filter_sigma: The standard deviation of the filter.
      k1: The constant of the luminance term.
      k2: The constant of the contrast term.
      return_index_map: Whether to return the index at each pixel.

    Returns:
      A float32 tensor with one value per image, 1 for equal images.
    """
    first, second = (
        named("image.convert_image_dtype")(convert_to_tensor(i), "float32") for i in (img1, img2)
    )
    kind = convert_to_tensor(img1).dtype
    max_value = float(max_val) if kind.is_floating else 1.0 * float(max_val) / kind.max
    at = numpy.arange(filter_size) - (filter_size - 1) / 2.0
    window = numpy.exp(-(at**2) / (2 * filter_sigma**2))
    window = (window[:, None] * window[None]) / (window.sum() ** 2)
    depth = first.shape.as_list()[-1]
    kernel = constant(numpy.tile(window[:, :, None, None], [1, 1, depth, 1]).astype("float32"))
    rank = first.shape.rank
    if rank == 3:
        first, second = op("ExpandDims", first, 0), op("ExpandDims", second, 0)

    def mean(x):
        return named("nn.depthwise_conv2d")(x, kernel, [1, 1, 1, 1], "VALID")

    c1, c2 = (k1 * max_value) ** 2, (k2 * max_value) ** 2
    m0, m1 = mean(first), mean(second)
    luminance = (2.0 * m0 * m1 + c1) / (m0 * m0 + m1 * m1 + c1)
    both = 2.0 * mean(first * second) - 2.0 * m0 * m1
    each = mean(first * first + second * second) - m0 * m0 - m1 * m1
    result = op(
        "Mean", luminance * ((both + c2) / (each + c2)), [-1] if return_index_map else [-3, -2, -1]
    )
    return op("Squeeze", result, squeeze_dims=[0]) if rank == 3 else result
