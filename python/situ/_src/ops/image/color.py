# SPDX-License-Identifier: Apache-2.0
"""color.py: tf.image: brightness, contrast, saturation, hue, color spaces, random variants of
these."""

from __future__ import annotations

import math

import numpy

import _situ
from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.composite_dispatch import ragged_elementwise
from situ._src.ops.image.image_checks import after, by_rank, is_tensor, require, with_checks
from situ._src.ops.image.image_ops import flip_left_right, flip_up_down
from situ._src.ops.random_ops import random_uniform

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, Tensor, TensorLike

_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}  # of the mantissa


def _range(dtype):
    """Returns the smallest and largest finite value of a real type, without loss."""
    convert = float if dtype.is_floating else int
    return convert(dtype.min), convert(dtype.max)


def _bounds(source, target):
    """Returns the smallest and largest value of type `source` that type `target` can hold, or
    (None, None) if it holds all."""
    if "bool" in (source.name, target.name):
        return None, None
    (own_low, own_high), (low, high) = _range(source), _range(target)
    if own_low >= low and own_high <= high and not source.is_floating:
        return None, None  # infinities are clipped in any case
    low, high = max(own_low, low), min(own_high, high)
    if source.is_floating:
        low, high = (_truncate(bound, _DIGITS[source.name]) for bound in (low, high))
        return low, high
    return int(low), int(high)


def _truncate(number, digits):
    """Returns a number without the bits that a mantissa of some digits cannot hold."""
    if isinstance(number, int):
        lost = max(abs(number).bit_length() - digits, 0)
        return (abs(number) >> lost << lost) * (1 if number > 0 else -1)
    mantissa, exponent = math.frexp(number)
    return math.ldexp(math.trunc(math.ldexp(mantissa, digits)), exponent - digits)


def _clip(value, dtype):
    """Clips a real tensor to the range of a real type."""
    low, high = _bounds(value.dtype.base_dtype, dtype)
    if low is None:
        return value
    return op("ClipByValue", value, constant(low, value.dtype), constant(high, value.dtype))


@export("dtypes.saturate_cast", "saturate_cast")
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Casts a tensor, clipping values to the range of the type; of complex values both parts.

    Args:
      value: A tensor.
      dtype: The type of the result; the imaginary part is lost if it is not complex.
      name: A name for the operation (optional).

    Returns:
      A tensor of type `dtype`.
    """
    dtype, value = as_dtype(dtype), convert_to_tensor(value)
    target = dtype.real_dtype
    if not value.dtype.is_complex:
        return cast(_clip(value, target), dtype, name=name)
    part = value.dtype.base_dtype.real_dtype
    real = _clip(op("Real", value, Tout=part), target)
    if not dtype.is_complex:
        return cast(real, dtype, name=name)
    imaginary = _clip(op("Imag", value, Tout=part), target)
    return cast(op("Complex", real, imaginary, Tout=value.dtype.base_dtype), dtype, name=name)


@export("image.convert_image_dtype")
@ragged_elementwise
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Converts an image to a type and scales its values.

    Floating-point images have values between 0 and 1, integer images between 0 and the maximum.

    Args:
      image: A tensor.
      dtype: The type of the result.
      saturate: Whether values are clipped to the range of the type.
      name: A name for the operation (optional).

    Returns:
      A tensor of type `dtype`.
    """
    image, dtype = convert_to_tensor(image, name="image"), as_dtype(dtype)
    source = image.dtype.base_dtype
    if not (dtype.is_floating or dtype.is_integer):
        raise AttributeError("dtype must be either floating point or integer")
    if not (source.is_floating or source.is_integer):
        raise AttributeError("image dtype must be either floating point or integer")
    convert = saturate_cast if saturate else cast
    if source == dtype:
        return op("Identity", image, name=name)
    with scope(name, "convert_image"):
        if source.is_floating and dtype.is_floating:
            return cast(image, dtype)
        if source.is_floating:
            scaled = op("Mul", image, constant(dtype.max + 0.5, source))
            return convert(scaled, dtype)
        if dtype.is_floating:
            return op("Mul", cast(image, dtype), constant(1.0 / source.max, dtype))
        if source.max > dtype.max:
            return convert(
                op("FloorDiv", image, constant((source.max + 1) // (dtype.max + 1), source)), dtype
            )
        return op(
            "Mul", convert(image, dtype), constant((dtype.max + 1) // (source.max + 1), dtype)
        )


def _to_float(image):
    """Returns (the image as floating point, its type)."""
    image = convert_to_tensor(image, name="image")
    kind = image.dtype.base_dtype
    real = kind if kind.name in ("float16", "float32") else as_dtype("float32")
    return convert_image_dtype(image, real), kind


@export("image.adjust_brightness")
@ragged_elementwise
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Adds `delta` to all pixels, on the scale of floating-point images.

    Args:
      image: An image or a batch of images.
      delta: The number to add.
    """
    with scope(None, "adjust_brightness"):
        real, kind = _to_float(image)
        return convert_image_dtype(op("Add", real, cast(delta, real.dtype)), kind, saturate=True)


def _check_shapes(images, factor):
    """Raises ValueError, or InvalidArgumentError in eager mode, unless images have three dimensions
    and the factor is a scalar."""
    rank, error = tensor_shape.as_shape(images.shape).rank, ValueError
    if _situ.executing_eagerly():
        error = errors.invalid_argument
    if rank is not None and rank < 3:
        raise error(f"Shape must be at least rank 3 but is rank {rank}")
    rank = tensor_shape.as_shape(factor.shape).rank
    if rank:
        raise error(f"Shape must be rank 0 but is rank {rank}")


@export("image.adjust_contrast")
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Multiplies the deviation of each pixel from the channel mean by `contrast_factor`.

    Args:
      images: An image or a batch of images.
      contrast_factor: The factor.
    """
    with scope(None, "adjust_contrast"):
        real, kind = _to_float(images)
        factor = convert_to_tensor(contrast_factor, "float32", "contrast_factor")
        _check_shapes(real, factor)
        mean = OPS["Mean"](real, constant([-3, -2], "int32"), True)
        deviation = op("Mul", op("Sub", real, mean), cast(factor, real.dtype))
        return convert_image_dtype(op("Add", deviation, mean), kind, saturate=True)


@export("image.per_image_standardization", v1="image.per_image_whitening")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Scales each image to mean 0 and variance 1; returns float32.

    Args:
      image: An image or a batch of images.
    """
    with scope(None, "per_image_standardization"):
        image = cast(with_checks(image), "float32")
        sizes = op("StridedSlice", shape_op(image), [-3], [0], [1], end_mask=1)
        count = cast(OPS["Prod"](sizes, 0), "float32")
        axes = constant([-1, -2, -3], "int32")
        mean = OPS["Mean"](image, axes, True)
        spread = op("Sub", image, mean)
        deviation = op("Sqrt", OPS["Mean"](op("Square", spread), axes, True))
        return op("RealDiv", spread, op("Maximum", deviation, op("Rsqrt", count)))


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB images to grayscale.

    Args:
      images: An image or a batch of images.
      name: A name for the operation (optional).
    """
    with scope(name, "rgb_to_grayscale"):
        real, kind = _to_float(images)
        weights = constant([0.2989, 0.5870, 0.1140], real.dtype)
        gray = OPS["Sum"](op("Mul", real, weights), constant([-1], "int32"), True)
        return convert_image_dtype(gray, kind)


def _through_hsv(change):
    """Returns a function that changes hue, saturation and value, each between 0 and 1."""

    def adjust(image, amount):
        real, kind = _to_float(image)
        parts = op("Unpack", op("RGBToHSV", real), num=3, axis=-1)
        hsv = op("Pack", change(list(parts), cast(amount, real.dtype)), axis=-1)
        return convert_image_dtype(op("HSVToRGB", hsv), kind, saturate=True)

    return adjust


def _rotate_hue(parts, delta):
    one = constant(1, parts[0].dtype)
    return [op("FloorMod", op("Add", parts[0], op("Add", delta, one)), one)] + parts[1:]


def _saturate(parts, factor):
    zero, one = constant(0, parts[0].dtype), constant(1, parts[0].dtype)
    return [parts[0], op("ClipByValue", op("Mul", parts[1], factor), zero, one), parts[2]]


_hue, _saturation = _through_hsv(_rotate_hue), _through_hsv(_saturate)


@export("image.adjust_hue")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Adds `delta`, between -1 and 1, to the hue of RGB images.

    Args:
      image: An image or a batch of images.
      delta: The number to add.
      name: A name for the operation (optional).
    """
    with scope(name, "adjust_hue"):
        if _situ.executing_eagerly() and not -1 <= delta <= 1:
            raise ValueError("delta must be in the interval [-1, 1]")
        return _hue(image, delta)


@export("image.adjust_saturation")
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Multiplies the saturation of RGB images by a factor.

    Args:
      image: An image or a batch of images.
      saturation_factor: The factor.
      name: A name for the operation (optional).
    """
    with scope(name, "adjust_saturation"):
        return _saturation(image, saturation_factor)


@export("image.adjust_gamma")
@ragged_elementwise
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """Computes `gain * image ** gamma`.

    Args:
      image: A tensor.
      gamma: A number that is not negative, or a scalar tensor.
      gain: A number or a scalar tensor.

    Returns:
      A tensor of the type of `image`.

    Raises:
      ValueError: If `gamma` is a negative number; InvalidArgumentError if it is such a tensor.
    """
    with scope(None, "adjust_gamma"):
        real, kind = _to_float(image)
        checks = require(gamma >= 0, "Gamma should be a non-negative real number.")
        gamma = after(checks, gamma) if is_tensor(gamma) else gamma
        return convert_image_dtype(gain * real**gamma, kind, saturate=True)


@export("image.random_brightness")
@ragged_elementwise
def random_brightness(image: TensorLike, max_delta: TensorLike, seed: int | None = None) -> Tensor:
    """Adjusts the brightness by a random delta in [-max_delta, max_delta).

    Args:
      image: An image or a batch of images.
      max_delta: The largest delta, not negative.
      seed: A seed of the random numbers (optional).
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


@export("image.random_contrast")
def random_contrast(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: int | None = None
) -> Tensor:
    """Adjusts the contrast by a random factor in [lower, upper).

    Args:
      image: An image or a batch of images.
      lower: The lower limit of the factor.
      upper: The upper limit of the factor.
      seed: A seed of the random numbers (optional).
    """
    check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def check_range(lower, upper):
    """Raises ValueError unless 0 <= lower < upper."""
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@export("image.random_saturation")
def random_saturation(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: int | None = None
) -> Tensor:
    """Adjusts the saturation by a random factor in [lower, upper).

    Args:
      image: An image or a batch of images.
      lower: The lower limit of the factor.
      upper: The upper limit of the factor.
      seed: A seed of the random numbers (optional).
    """
    check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def check_hue(max_delta):
    """Raises ValueError unless 0 <= max_delta <= 0.5."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")


@export("image.random_hue")
def random_hue(image: TensorLike, max_delta: TensorLike, seed: int | None = None) -> Tensor:
    """Adjusts the hue by a random delta in [-max_delta, max_delta).

    Args:
      image: An image or a batch of images.
      max_delta: The largest delta, not negative.
      seed: A seed of the random numbers (optional).
    """
    check_hue(max_delta)
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def flip_randomly(image, flip, draw):
    """Flips each image with probability 0.5; `draw` makes uniform numbers of a shape."""
    image = with_checks(image)

    def single():
        low = op("Less", draw(constant([], "int32")), constant(0.5))
        result = op("SelectV2", low, flip(image), image)
        if tensor_shape.as_shape(image.shape).rank is None:
            result.set_shape([None] * 3)
        return result

    def batch():
        numbers = draw(op("Slice", shape_op(image), [0], [1]))
        flips = cast(op("Round", op("Reshape", numbers, [-1, 1, 1, 1])), "bool")
        return op("SelectV2", flips, flip(image), image)

    return by_rank(image, single, batch)


def _flipped(flip, default):
    def random_flip(image: TensorLike, seed: int | None = None) -> Tensor:
        """Flips each image with probability 0.5.

        Args:
          image: An image [height, width, channels], or a batch of them.
          seed: The seed (optional).
        """
        with scope(None, default):
            return flip_randomly(image, flip, lambda shape: random_uniform(shape, seed=seed))

    random_flip.__name__ = default
    return random_flip


export("image.random_flip_left_right")(_flipped(flip_left_right, "random_flip_left_right"))
export("image.random_flip_up_down")(_flipped(flip_up_down, "random_flip_up_down"))


_COLORS = {
    "yiq": [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ],
    "yuv": [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
}


def _colors(name, matrix):
    def convert(images: TensorLike) -> Tensor:
        images = convert_to_tensor(images)
        flat = op("MatMul", op("Reshape", images, [-1, 3]), convert_to_tensor(matrix, images.dtype))
        return op("Reshape", flat, shape_op(images))

    old, _, new = name.upper().partition("_TO_")
    convert.__name__ = name
    convert.__doc__ = f"""Converts images from {old} to {new}.

    Args:
      images: Floating-point tensor of shape [..., 3]: the {old} channels of each pixel.

    Returns:
      A tensor of the same shape and type: the {new} channels.
    """
    export("image." + name)(convert)


for _name, _matrix in _COLORS.items():
    _colors("rgb_to_" + _name, _matrix)
    _colors(_name + "_to_rgb", numpy.linalg.inv(numpy.array(_matrix)).tolist())
