# SPDX-License-Identifier: Apache-2.0
"""layers_image.py: image preprocessing layers: Rescaling, Resizing and crops; random flips,
rotations, zooms, translations, contrast and brightness."""

from __future__ import annotations

import math
from typing import Any

from situ._src.framework import api
from situ._src.keras.affine_transform import MODES, warp
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named as plain_named
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op


def named(name):
    """Registers a layer under tf.keras.layers and tf.keras.layers.experimental.preprocessing."""
    return plain_named(name, "experimental.preprocessing." + name)


def _float(layer, inputs):
    return cast(convert_to_tensor(inputs), layer.dtype)


class _Configured(Layer):
    """A layer whose configuration consists of the attributes in CONFIG_KEYS."""

    CONFIG_KEYS: tuple[str, ...] = ()
    _computes_in_variable_dtype = True

    def get_config(self):
        return {**super().get_config(), **{n: getattr(self, n) for n in self.CONFIG_KEYS}}


@named("Rescaling")
class Rescaling(_Configured):
    """Computes `inputs * scale + offset`.

    Args:
      scale: Factor, for example 1 / 255.
      offset: Summand.
    """

    CONFIG_KEYS = ("scale", "offset")

    def __init__(self, scale, offset=0.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = scale, offset

    def call(self, inputs):
        return _float(self, inputs) * cast(self.scale, self.dtype) + cast(self.offset, self.dtype)


@named("Resizing")
class Resizing(_Configured):
    """Resizes images.

    Args:
      height: Height of the output.
      width: Width of the output.
      interpolation: Method of `tf.image.resize`.
      crop_to_aspect_ratio: Whether to crop to the aspect ratio of the output first.

    Call arguments:
      inputs: Images of shape `(batch, height, width, channels)`, or one image.
    """

    CONFIG_KEYS = ("height", "width", "interpolation", "crop_to_aspect_ratio")

    def __init__(
        self,
        height: int,
        width: int,
        interpolation="bilinear",
        crop_to_aspect_ratio: bool = False,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.height, self.width, self.interpolation = height, width, interpolation
        self.crop_to_aspect_ratio = crop_to_aspect_ratio

    def call(self, inputs):
        inputs = _float(self, inputs)
        if self.crop_to_aspect_ratio:
            known = inputs.shape.as_list()[-3:-1]
            if None in known:
                raise ValueError("Resizing with crop_to_aspect_ratio needs images of a known size.")
            high = min(known[0], known[1] * self.height // self.width)
            wide = min(known[1], known[0] * self.width // self.height)
            inputs = _crop(inputs, (known[0] - high) // 2, (known[1] - wide) // 2, high, wide)
        return api.named("image.resize")(
            inputs, [self.height, self.width], method=self.interpolation
        )


def _crop(images, top, left, height, width):
    return api.named("image.crop_to_bounding_box")(images, top, left, height, width)


def _size(images, axis):
    known = images.shape.as_list()[axis]
    return known if known is not None else op("Shape", images)[axis]


@named("CenterCrop")
class CenterCrop(_Configured):
    """Crops the center of images; smaller images are resized.

    Args:
      height: Height of the output.
      width: Width of the output.
    """

    CONFIG_KEYS = ("height", "width")

    def __init__(self, height: int, width: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.height, self.width = height, width

    def call(self, inputs):
        inputs = _float(self, inputs)
        high, wide = inputs.shape.as_list()[-3:-1]
        if high is not None and wide is not None and (high < self.height or wide < self.width):
            return Resizing(self.height, self.width, crop_to_aspect_ratio=True)(inputs)
        top, left = (_size(inputs, -3) - self.height) // 2, (_size(inputs, -2) - self.width) // 2
        outputs = _crop(inputs, top, left, self.height, self.width)
        known = inputs.shape.as_list()
        outputs.set_shape([*known[:-3], self.height, self.width, known[-1]])
        return outputs


class _RandomImageLayer(_Configured):
    """Base class of layers that change an image or a batch at random, unless training is False."""

    def __init__(self, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.seed = seed

    def call(self, inputs, training=None):
        inputs = _float(self, inputs)
        if training is False:
            return inputs
        alone = inputs.shape.rank == 3
        outputs = self.change(op("ExpandDims", inputs, 0) if alone else inputs)
        outputs = op("Squeeze", outputs, [0]) if alone else outputs
        outputs.set_shape(inputs.shape)
        return outputs

    def drawn(self, images, low, high):
        """Draws one number in [low, high) for each image."""
        return api.named("random.uniform")(
            op("Pack", [op("Shape", images)[0]]), low, high, seed=self.seed
        )


def _range(factor, signed=True):
    """Returns the (low, high) of a factor, which may be one number."""
    if isinstance(factor, (tuple, list)):
        return float(factor[0]), float(factor[1])
    return (-float(factor) if signed else 0.0), float(factor)


@named("RandomFlip")
class RandomFlip(_RandomImageLayer):
    """Flips images at random, unless training is False.

    Args:
      mode: "horizontal", "vertical" or "horizontal_and_vertical".
      seed: Seed of the random numbers.

    Raises:
      ValueError: If mode is unknown.
    """

    CONFIG_KEYS = ("mode", "seed")

    def __init__(
        self, mode: str = "horizontal_and_vertical", seed: int | None = None, **kwargs
    ) -> None:
        super().__init__(seed, **kwargs)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(
                f"RandomFlip layer {self.name} received an unknown mode argument {mode}"
            )
        self.mode = mode

    def change(self, images):
        for direction, axis in (("horizontal", 2), ("vertical", 1)):
            if direction in self.mode:
                flip = op("Less", self.drawn(images, 0.0, 1.0), cast(0.5, "float32"))
                images = op(
                    "SelectV2",
                    op("Reshape", flip, [-1, 1, 1, 1]),
                    op("ReverseV2", images, [axis]),
                    images,
                )
        return images


class _RandomTransform(_RandomImageLayer):
    """Base class of random affine transforms; `parts` returns the six numbers of the matrix."""

    def __init__(
        self, fill_mode="reflect", interpolation="bilinear", seed=None, fill_value=0.0, **kwargs
    ):
        super().__init__(seed, **kwargs)
        if fill_mode not in MODES:
            raise ValueError(
                f"Unknown `fill_mode` {fill_mode}. Only {', '.join(MODES)} are supported."
            )
        self.fill_mode, self.interpolation, self.fill_value = fill_mode, interpolation, fill_value

    def change(self, images):
        sizes = cast(op("Shape", images), "float32")
        one = lambda x: x + op("ZerosLike", parts[0])
        parts = self.parts(images, sizes[1], sizes[2])
        parts = [parts[0], *[one(p) for p in parts[1:]]]
        return warp(
            images, op("Pack", parts, axis=1), self.fill_mode, self.fill_value, self.interpolation
        )


@named("RandomRotation")
class RandomRotation(_RandomTransform):
    """Rotates images at random, unless training is False.

    Args:
      factor: Largest angle as a fraction of a full turn, or a pair (low, high).
      fill_mode: How points outside are filled: "constant", "reflect", "wrap" or "nearest".
      interpolation: "nearest" or "bilinear".
      seed: Seed of the random numbers.
      fill_value: Value of points outside with fill_mode "constant".
    """

    CONFIG_KEYS = ("factor", "fill_mode", "interpolation", "seed", "fill_value")

    def __init__(
        self,
        factor: Any,
        fill_mode="reflect",
        interpolation="bilinear",
        seed: int | None = None,
        fill_value=0.0,
        **kwargs,
    ) -> None:
        super().__init__(fill_mode, interpolation, seed, fill_value, **kwargs)
        self.factor = factor

    def parts(self, images, height: int, width: int):
        low, high = (f * 2.0 * math.pi for f in _range(self.factor))
        angle = self.drawn(images, low, high)
        cos, sin, w, h = op("Cos", angle), op("Sin", angle), width - 1.0, height - 1.0
        return [
            cos,
            -sin,
            (w - (cos * w - sin * h)) / 2.0,
            sin,
            cos,
            (h - (sin * w + cos * h)) / 2.0,
        ]


@named("RandomZoom")
class RandomZoom(_RandomTransform):
    """Zooms images at random, unless training is False; negative factors zoom in.

    Args:
      height_factor: Largest relative change of the height, or a pair (low, high).
      width_factor: The same for the width; default: as the height.
      fill_mode: How points outside are filled: "constant", "reflect", "wrap" or "nearest".
      interpolation: "nearest" or "bilinear".
      seed: Seed of the random numbers.
      fill_value: Value of points outside with fill_mode "constant".
    """

    CONFIG_KEYS = (
        "height_factor",
        "width_factor",
        "fill_mode",
        "interpolation",
        "seed",
        "fill_value",
    )

    def __init__(
        self,
        height_factor,
        width_factor=None,
        fill_mode="reflect",
        interpolation="bilinear",
        seed: int | None = None,
        fill_value=0.0,
        **kwargs,
    ) -> None:
        super().__init__(fill_mode, interpolation, seed, fill_value, **kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor

    def parts(self, images, height: int, width: int):
        tall = self.drawn(images, *[1.0 + f for f in _range(self.height_factor)])
        wide = (
            tall
            if self.width_factor is None
            else self.drawn(images, *[1.0 + f for f in _range(self.width_factor)])
        )
        return [
            wide,
            0.0,
            (width - 1.0) / 2.0 * (1.0 - wide),
            0.0,
            tall,
            (height - 1.0) / 2.0 * (1.0 - tall),
        ]


@named("RandomTranslation")
class RandomTranslation(_RandomTransform):
    """Shifts images at random, unless training is False.

    Args:
      height_factor: Largest shift as a fraction of the height, or a pair (low, high).
      width_factor: The same for the width.
      fill_mode: How points outside are filled: "constant", "reflect", "wrap" or "nearest".
      interpolation: "nearest" or "bilinear".
      seed: Seed of the random numbers.
      fill_value: Value of points outside with fill_mode "constant".
    """

    CONFIG_KEYS = RandomZoom.CONFIG_KEYS

    def __init__(
        self,
        height_factor,
        width_factor,
        fill_mode="reflect",
        interpolation="bilinear",
        seed: int | None = None,
        fill_value=0.0,
        **kwargs,
    ) -> None:
        super().__init__(fill_mode, interpolation, seed, fill_value, **kwargs)
        self.height_factor, self.width_factor = height_factor, width_factor

    def parts(self, images, height: int, width: int):
        down = self.drawn(images, *_range(self.height_factor)) * height
        right = self.drawn(images, *_range(self.width_factor)) * width
        return [op("OnesLike", down), 0.0, -right, 0.0, 1.0, -down]


@named("RandomCrop")
class RandomCrop(_RandomImageLayer):
    """Crops all images of a batch at one random position, or at the center.

    The center is taken if training is False, or the size of the images is unknown or too small.

    Args:
      height: Height of the output.
      width: Width of the output.
      seed: Seed of the random numbers.
    """

    CONFIG_KEYS = ("height", "width", "seed")

    def __init__(self, height: int, width: int, seed: int | None = None, **kwargs) -> None:
        super().__init__(seed, **kwargs)
        self.height, self.width = height, width

    def call(self, inputs, training=None):
        inputs = _float(self, inputs)
        known = inputs.shape.as_list()[-3:-1]
        if training is False or None in known or known[0] < self.height or known[1] < self.width:
            return CenterCrop(self.height, self.width)(inputs)
        draw = api.named("random.uniform")
        top, left = (
            draw([], 0, most - size + 1, dtype="int32", seed=self.seed)
            for most, size in zip(known, (self.height, self.width))
        )
        front = [0] * (inputs.shape.rank - 3)
        begin = op(
            "Pack", [*[convert_to_tensor(0) for _ in front], top, left, convert_to_tensor(0)]
        )
        outputs = op("Slice", inputs, begin, [*[-1 for _ in front], self.height, self.width, -1])
        outputs.set_shape(
            [*inputs.shape.as_list()[:-3], self.height, self.width, inputs.shape.as_list()[-1]]
        )
        return outputs


@named("RandomContrast")
class RandomContrast(_RandomImageLayer):
    """Changes the contrast at random, unless training is False.

    The result is `(x - mean) * factor + mean` per channel, clipped to [0, 255].

    Args:
      factor: Largest relative change, or a pair (lower, upper).
      seed: Seed of the random numbers.
    """

    CONFIG_KEYS = ("factor", "seed")

    def __init__(self, factor: Any, seed: int | None = None, **kwargs) -> None:
        super().__init__(seed, **kwargs)
        self.factor = factor
        self.lower, self.upper = _range(factor)
        if not isinstance(factor, (tuple, list)):
            self.lower = -self.lower

    def change(self, images):
        factor = op(
            "Reshape", self.drawn(images, 1.0 - self.lower, 1.0 + self.upper), [-1, 1, 1, 1]
        )
        mean = op("Mean", images, [1, 2], keep_dims=True)
        return op(
            "ClipByValue",
            (images - mean) * factor + mean,
            cast(0.0, images.dtype),
            cast(255.0, images.dtype),
        )


@named("RandomBrightness")
class RandomBrightness(_RandomImageLayer):
    """Changes the brightness at random, unless training is False; clips to value_range.

    Args:
      factor: Largest change as a fraction of the value range, or a pair (low, high).
      value_range: Smallest and largest value of the images.
      seed: Seed of the random numbers.
    """

    CONFIG_KEYS = ("factor", "value_range", "seed")

    def __init__(
        self, factor: Any, value_range=(0, 255), seed: int | None = None, **kwargs
    ) -> None:
        super().__init__(seed, **kwargs)
        self.factor, self.value_range = factor, tuple(value_range)

    def change(self, images):
        low, high = (float(v) for v in self.value_range)
        more = op("Reshape", self.drawn(images, *_range(self.factor)), [-1, 1, 1, 1])
        return op(
            "ClipByValue",
            images + more * (high - low),
            cast(low, images.dtype),
            cast(high, images.dtype),
        )


class _RandomSize(Layer):
    """Base class of layers that resize images along AXIS at random during training."""

    AXIS = 0

    def __init__(self, factor, interpolation="bilinear", seed=None, **kwargs):
        super().__init__(**kwargs)
        self.factor, self.interpolation, self.seed = factor, interpolation, seed
        pair = factor if isinstance(factor, (tuple, list)) else (-factor, factor)
        self._low, self._high = 1.0 + pair[0], 1.0 + pair[1]

    def call(self, inputs, training=None):
        if not training:
            return op("Identity", inputs)
        sizes, at = shape_op(inputs), inputs.shape.rank - 3 + self.AXIS
        drawn = api.named("random.uniform")([], self._low, self._high, seed=self.seed)
        wanted = cast(cast(sizes[at], "float32") * drawn, "int32")
        rows, columns = sizes[inputs.shape.rank - 3], sizes[inputs.shape.rank - 2]
        outputs = api.named("image.resize")(
            inputs, [wanted, columns] if self.AXIS == 0 else [rows, wanted], self.interpolation
        )
        known = inputs.shape.as_list()
        known[at] = None
        outputs.set_shape(known) if hasattr(outputs, "graph") else None
        return outputs

    def get_config(self):
        return {
            **super().get_config(),
            "factor": self.factor,
            "interpolation": self.interpolation,
            "seed": self.seed,
        }


@plain_named("RandomHeight", "experimental.preprocessing.RandomHeight")
class RandomHeight(_RandomSize):
    """Changes the height of images at random during training.

    Args:
      factor: Largest relative change, or a pair (low, high).
      interpolation: Method of `tf.image.resize`.
      seed: Seed of the random numbers.
    """


@plain_named("RandomWidth", "experimental.preprocessing.RandomWidth")
class RandomWidth(_RandomSize):
    """Changes the width of images at random during training.

    Args:
      factor: Largest relative change, or a pair (low, high).
      interpolation: Method of `tf.image.resize`.
      seed: Seed of the random numbers.
    """

    AXIS = 1
