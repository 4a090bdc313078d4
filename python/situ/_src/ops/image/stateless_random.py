# SPDX-License-Identifier: Apache-2.0
"""stateless_random.py: tf.image.stateless_random_*: image augmentation that a seed determines."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.image import color, image_ops
from situ._src.ops.random_ops import stateless_uniform

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


def _export(name, change):
    export("image.stateless_random_" + name)(change)


_export(
    "brightness",
    lambda image, max_delta, seed: color.adjust_brightness(
        image, stateless_uniform([], seed, -max_delta, max_delta)
    ),
)
_export(
    "contrast",
    lambda image, lower, upper, seed: color.adjust_contrast(
        image, stateless_uniform([], seed, lower, upper)
    ),
)
_export(
    "saturation",
    lambda image, lower, upper, seed=None: color.adjust_saturation(
        image, stateless_uniform([], seed, lower, upper)
    ),
)
_export(
    "hue",
    lambda image, max_delta, seed: color.adjust_hue(
        image, stateless_uniform([], seed, -max_delta, max_delta)
    ),
)


def _export_flip(name, flip):
    def change(image, seed):
        """Flips each image with probability 0.5, determined by `seed`."""
        image = convert_to_tensor(image)
        if image_ops.rank_of(image) == 3:
            low = op("Less", stateless_uniform([], seed), constant(0.5))
            return op("SelectV2", low, flip(image), image)
        numbers = stateless_uniform(op("Slice", shape_op(image), [0], [1]), seed)
        low = cast(op("Round", op("Reshape", numbers, [-1, 1, 1, 1])), "bool")
        return op("SelectV2", low, flip(image), image)

    _export(name, change)


_export_flip("flip_left_right", image_ops.flip_left_right)
_export_flip("flip_up_down", image_ops.flip_up_down)


@export("image.stateless_random_crop")
def stateless_random_crop(
    value: TensorLike, size: TensorLike, seed: int | None, name: str | None = None
) -> Tensor:
    """Crops a tensor to `size` at a random offset that `seed` determines."""
    with scope(name, "random_crop"):
        value, size = convert_to_tensor(value), convert_to_tensor(size, "int32")
        sizes = shape_op(value)
        numbers = stateless_uniform(shape_op(sizes), seed, 0, 2**31 - 1, "int32")
        return op("Slice", value, op("FloorMod", numbers, sizes - size + 1), size)
