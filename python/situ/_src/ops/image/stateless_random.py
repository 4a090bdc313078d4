# SPDX-License-Identifier: Apache-2.0
"""stateless_random.py: tf.image.stateless_random_*: changes that a seed determines."""

from situ._src.framework.api import export
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.image import color, image_ops
from situ._src.ops.random_ops import stateless_uniform


def _decided(name, change):
    export("image.stateless_random_" + name)(change)


_decided(
    "brightness",
    lambda image, max_delta, seed: color.adjust_brightness(
        image, stateless_uniform([], seed, -max_delta, max_delta)
    ),
)
_decided(
    "contrast",
    lambda image, lower, upper, seed: color.adjust_contrast(
        image, stateless_uniform([], seed, lower, upper)
    ),
)
_decided(
    "saturation",
    lambda image, lower, upper, seed=None: color.adjust_saturation(
        image, stateless_uniform([], seed, lower, upper)
    ),
)
_decided(
    "hue",
    lambda image, max_delta, seed: color.adjust_hue(
        image, stateless_uniform([], seed, -max_delta, max_delta)
    ),
)


def _flips(name, flip):
    def change(image, seed):
        """The image, or the image turned round, as the seed decides."""
        image = convert_to_tensor(image)
        if image_ops.rank_of(image) == 3:
            low = op("Less", stateless_uniform([], seed), constant(0.5))
            return op("SelectV2", low, flip(image), image)
        numbers = stateless_uniform(op("Slice", shape_op(image), [0], [1]), seed)
        low = cast(op("Round", op("Reshape", numbers, [-1, 1, 1, 1])), "bool")
        return op("SelectV2", low, flip(image), image)

    _decided(name, change)


_flips("flip_left_right", image_ops.flip_left_right)
_flips("flip_up_down", image_ops.flip_up_down)


@export("image.stateless_random_crop")
def stateless_random_crop(value, size, seed, name=None):
    """A box of `size` at a place that the seed decides."""
    value, size = convert_to_tensor(value), convert_to_tensor(size, "int32")
    sizes = shape_op(value)
    numbers = stateless_uniform(shape_op(sizes), seed, 0, 2**31 - 1, "int32")
    return op("Slice", value, op("FloorMod", numbers, sizes - size + 1), size)
