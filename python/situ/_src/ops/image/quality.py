# SPDX-License-Identifier: Apache-2.0
"""quality.py: tf.image: PSNR, SSIM, image gradients and Sobel edges."""

from __future__ import annotations

import math

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export, named
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.check_ops import Assert
from situ._src.ops.image import color
from situ._src.ops.image.image_checks import after
from situ._src.ops.pad_ops import pad

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


@export("image.image_gradients")
def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns (dy, dx), the differences of neighboring pixels, with zeros in the last row or
    column.

    Args:
      image: An image or a batch of images.
    """
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
    """Computes Sobel edge maps: [batch, height, width, channels, 2] for dy and dx.

    Args:
      image: An image or a batch of images.
    """
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


def _check_shapes(first, second):
    """Raises ValueError unless images can be compared; returns the assertions of what is not known
    yet."""
    shapes = [tensor_shape.as_shape(image.shape).with_rank_at_least(3) for image in (first, second)]
    shapes[0][-3:].assert_is_compatible_with(shapes[1][-3:])
    if all(shape.is_fully_defined() for shape in shapes):
        outer = [shape.as_list()[-4::-1] for shape in shapes]
        if not all(a == b or 1 in (a, b) for a, b in zip(*outer)):
            raise ValueError(f"Two images are not compatible: {shapes[0]} and {shapes[1]}")
        return []
    sizes = [shape_op(image) for image in (first, second)]
    equal = op("All", op("Equal", sizes[0][-3:], sizes[1][-3:]), 0)
    return [check for check in [Assert(equal, sizes, summarize=10)] if check is not None]


def _comparable(first, second, max_val):
    """Converts two images and the range of their values to float32."""
    first, second = convert_to_tensor(first, name="img1"), convert_to_tensor(second, name="img2")
    first = after(_check_shapes(first, second), first)
    convert = color.convert_image_dtype
    top = convert(cast(max_val, first.dtype), "float32")
    return convert(first, "float32"), convert(second, "float32"), top


@export("image.psnr")
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Computes the peak signal-to-noise ratio of images in decibels.

    Args:
      a: An image or a batch of images.
      b: A tensor of the shape of `a`.
      max_val: The range of values, such as 255 or 1.0.
      name: A name for the operation (optional).

    Returns:
      A float32 tensor with one value per image.
    """
    with scope(name, "PSNR"):
        a, b, top = _comparable(a, b, max_val)
        error = OPS["Mean"](op("SquaredDifference", a, b), constant([-3, -2, -1], "int32"))
        unit = 10 / math.log(10)
        return 2 * unit * op("Log", top) - unit * op("Log", error)


def _gaussian(size, sigma, channels):
    """Returns a Gaussian filter [size, size, channels, 1]; channels may be a tensor."""
    at = numpy.arange(size) - (size - 1) / 2.0
    window = numpy.exp(-(at**2) / (2 * sigma**2))
    window = (window[:, None] * window[None]) / (window.sum() ** 2)
    kernel = constant(window[:, :, None, None].astype("float32"))
    return op("Tile", kernel, op("Pack", [1, 1, channels, 1]))


def _similarity(first, second, top, filter_size, filter_sigma, k1, k2):
    """Returns the SSIM index and the contrast-structure term at each pixel and channel."""
    sizes = shape_op(first)
    for image_sizes in (sizes, shape_op(second)):
        enough = op("All", op("GreaterEqual", image_sizes[-3:-1], filter_size), 0)
        check = Assert(enough, [image_sizes, filter_size], summarize=8)
        first = after([] if check is None else [check], first)
    kernel = _gaussian(filter_size, filter_sigma, sizes[-1])

    def mean(x):
        outer = shape_op(x)
        flat = op("Reshape", x, concat([constant([-1]), outer[-3:]], 0))
        result = named("nn.depthwise_conv2d")(flat, kernel, [1, 1, 1, 1], "VALID")
        return op("Reshape", result, concat([outer[:-3], shape_op(result)[1:]], 0))

    c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
    m0, m1 = mean(first), mean(second)
    product, squares = m0 * m1 * 2.0, m0 * m0 + m1 * m1
    luminance = (product + c1) / (squares + c1)
    both, each = mean(first * second) * 2.0, mean(first * first + second * second)
    contrast = (both - product + c2) / (each - squares + c2)
    return luminance * contrast, contrast


@export("image.ssim")
def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
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
    with scope(None, "SSIM"):
        first, second, top = _comparable(img1, img2, max_val)
        index, _ = _similarity(first, second, top, filter_size, filter_sigma, k1, k2)
        return op("Mean", index, [-1] if return_index_map else [-3, -2, -1])


def _halve(image, outer):
    """Halves the height and width of images by average pooling; odd sizes are padded."""
    sizes = shape_op(image)[-3:]
    flat = op("Reshape", image, concat([constant([-1]), sizes], 0))
    odd = op("FloorMod", sizes, constant([2, 2, 1], "int32"))
    padding = op("Pad", op("ExpandDims", odd, -1), [[1, 0], [1, 0]])
    flat = op("MirrorPad", flat, padding, mode="SYMMETRIC")
    attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    result = op("AvgPool", flat, **attrs)
    return op("Reshape", result, concat([outer, shape_op(result)[1:]], 0))


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Computes the multi-scale structural similarity index of images.

    Args:
      img1: An image or a batch of images.
      img2: A tensor of the shape of `img1`.
      max_val: The range of values, such as 255 or 1.0.
      power_factors: The weight of each scale; each is half the size of the one before.
      filter_size: The size of the Gaussian filter.
      filter_sigma: The standard deviation of the filter.
      k1: The constant of the luminance term.
      k2: The constant of the contrast term.

    Returns:
      A float32 tensor with one value per image, 1 for equal images.
    """
    with scope(None, "MS-SSIM"):
        first, second, top = _comparable(img1, img2, max_val)
        outer = [shape_op(image)[:-3] for image in (first, second)]
        terms, last = [], len(power_factors) - 1
        for k in range(len(power_factors)):
            if k:
                first, second = _halve(first, outer[0]), _halve(second, outer[1])
            index, contrast = _similarity(first, second, top, filter_size, filter_sigma, k1, k2)
            mean = op("Mean", index if k == last else contrast, [-3, -2])
            terms.append(op("Relu", mean))
        powers = op("Pow", op("Pack", terms, axis=-1), constant(list(power_factors), "float32"))
        return op("Mean", OPS["Prod"](powers, constant([-1], "int32")), [-1])
