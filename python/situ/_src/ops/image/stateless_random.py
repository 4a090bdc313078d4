# SPDX-License-Identifier: Apache-2.0
"""stateless_random.py: tf.image.stateless_random_*: image augmentation that a seed determines."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.composite_dispatch import ragged_elementwise
from situ._src.ops.image import color, image_ops
from situ._src.ops.random_ops import stateless_uniform

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("image.stateless_random_brightness")
@ragged_elementwise
def stateless_random_brightness(
    image: TensorLike, max_delta: TensorLike, seed: TensorLike
) -> Tensor:
    """Adjusts the brightness by a delta in [-max_delta, max_delta) that `seed` determines.

    Args:
      image: An image or a batch of images.
      max_delta: The largest delta, not negative.
      seed: Two integers, a tensor of shape [2].
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return color.adjust_brightness(image, stateless_uniform([], seed, -max_delta, max_delta))


@export("image.stateless_random_contrast")
def stateless_random_contrast(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: TensorLike
) -> Tensor:
    """Adjusts the contrast by a factor in [lower, upper) that `seed` determines.

    Args:
      image: An image or a batch of images.
      lower: The lower limit of the factor.
      upper: The upper limit of the factor.
      seed: Two integers, a tensor of shape [2].
    """
    color.check_range(lower, upper)
    return color.adjust_contrast(image, stateless_uniform([], seed, lower, upper))


@export("image.stateless_random_saturation")
def stateless_random_saturation(
    image: TensorLike, lower: TensorLike, upper: TensorLike, seed: TensorLike = None
) -> Tensor:
    """Adjusts the saturation by a factor in [lower, upper) that `seed` determines.

    Args:
      image: An image or a batch of images.
      lower: The lower limit of the factor.
      upper: The upper limit of the factor.
      seed: Two integers, a tensor of shape [2].
    """
    color.check_range(lower, upper)
    return color.adjust_saturation(image, stateless_uniform([], seed, lower, upper))


@export("image.stateless_random_hue")
def stateless_random_hue(image: TensorLike, max_delta: TensorLike, seed: TensorLike) -> Tensor:
    """Adjusts the hue by a delta in [-max_delta, max_delta) that `seed` determines.

    Args:
      image: An image or a batch of images.
      max_delta: The largest delta, not negative.
      seed: Two integers, a tensor of shape [2].
    """
    color.check_hue(max_delta)
    return color.adjust_hue(image, stateless_uniform([], seed, -max_delta, max_delta))


def _export_flip(name, flip):
    def change(image: TensorLike, seed: TensorLike) -> Tensor:
        """Flips each image with probability 0.5, determined by `seed`.

        Args:
          image: An image [height, width, channels], or a batch of them.
          seed: Two integers.
        """
        with scope(None, name):
            return color.flip_randomly(image, flip, lambda shape: stateless_uniform(shape, seed))

    change.__name__ = name
    export("image." + name)(change)


_export_flip("stateless_random_flip_left_right", image_ops.flip_left_right)
_export_flip("stateless_random_flip_up_down", image_ops.flip_up_down)


@export("image.stateless_random_crop")
def stateless_random_crop(
    value: TensorLike, size: TensorLike, seed: int | None, name: str | None = None
) -> Tensor:
    """Crops a tensor to `size` at a random offset that `seed` determines.

    Args:
      value: A tensor.
      size: The shape of the result.
      seed: Two integers, a tensor of shape [2].
      name: A name for the operation (optional).
    """
    with scope(name, "random_crop"):
        value, size = convert_to_tensor(value), convert_to_tensor(size, "int32")
        sizes = shape_op(value)
        numbers = stateless_uniform(shape_op(sizes), seed, 0, 2**31 - 1, "int32")
        return op("Slice", value, op("FloorMod", numbers, sizes - size + 1), size)
