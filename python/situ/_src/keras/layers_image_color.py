# SPDX-License-Identifier: Apache-2.0
"""layers_image_color.py: layers of Keras 3 that change the colors of images at random, erase parts
of images or mix images. With a seed, random numbers are those of Keras 3."""

from __future__ import annotations

from typing import Any

from situ._src.keras import context
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.keras3.exports import tf
from situ._src.ops.array_ops import cast, convert_to_tensor


def _bounds(factor, low, high, name="factor"):
    """Returns the (lower, upper) of a factor: a number or two numbers in [low, high]."""
    text = (
        f"The `{name}` argument should be a number (or a list of two numbers) in the range "
        f"[{low}, {high}]. Received: {name}={factor}"
    )
    if isinstance(factor, (tuple, list)):
        if len(factor) != 2 or factor[0] > high or factor[1] < low:
            raise ValueError(text)
        lower, upper = sorted(factor)
        return lower, upper
    if not isinstance(factor, (int, float)) or not low <= factor <= high:
        raise ValueError(text)
    return max(-abs(factor), low), abs(factor)


def _value_range(value_range):
    if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
        raise ValueError(
            "The `value_range` argument should be a list of two numbers. Received: "
            f"value_range={value_range}"
        )
    return sorted(value_range)


def _rescaled(images, source, target):
    """Maps values from one range to another."""
    if tuple(source) == tuple(target):
        return images
    scale = (target[1] - target[0]) / (source[1] - source[0])
    return (images - source[0]) * scale + target[0]


class _ImageLayer(Layer):
    """Base class: a layer of images, a batch, or a dictionary with "images" and what belongs to
    them.

    `draw(images)` returns the random numbers of a call, `change(images, drawn)` the new images;
    both get batches with channels last. `change_labels(labels, drawn)` returns the new labels.
    """

    KEYS: tuple[str, ...] = ()

    def __init__(self, data_format=None, seed=None, bounding_box_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format or context.setting("format")
        self.bounding_box_format = bounding_box_format
        self.seed, self.generator = seed, SeedGenerator(seed)

    def uniform(self, shape, low=0.0, high=1.0):
        """Draws uniform numbers."""
        return tf.keras3.random.uniform(shape, low, high, seed=self.generator)

    def draw(self, images):
        del images  # a layer without random numbers
        return

    def change(self, images, drawn):
        raise NotImplementedError

    def change_labels(self, labels, drawn):
        del drawn  # most layers keep labels
        return labels

    def _cast(self, inputs):
        return inputs

    def call(self, inputs, training=True):
        data = inputs if isinstance(inputs, dict) else {"images": inputs}
        images = cast(convert_to_tensor(data["images"]), self.compute_dtype)
        if images.shape.rank not in (3, 4):
            raise ValueError(
                "Expected image tensor to have rank 3 (single image) or 4 (batch of images). "
                f"Received: data.shape={tuple(images.shape.as_list())}"
            )
        result = dict(data)
        drawn, is_single = None, images.shape.rank == 3
        if training is not False or not self.IS_RANDOM:
            drawn, result["images"] = self._changed(images, is_single)
        else:
            result["images"] = images
        if training is not False and "labels" in data:
            labels = convert_to_tensor(data["labels"])
            labels = self.change_labels(labels[None] if is_single else labels, drawn)
            result["labels"] = labels[0] if is_single else labels
        self._check_rest(data)
        return result if isinstance(inputs, dict) else result["images"]

    def _changed(self, images, is_single):
        """Returns the random numbers and the new images."""
        batch = images[None] if is_single else images
        is_first = self.data_format == "channels_first"
        if is_first:
            batch = tf.transpose(batch, [0, 2, 3, 1])
        drawn = self.draw(batch)
        made = cast(self.change(batch, drawn), images.dtype)
        if is_first:
            made = tf.transpose(made, [0, 3, 1, 2])
        made = made[0] if is_single else made
        made.set_shape(images.shape)
        return drawn, made

    IS_RANDOM = True  # whether training=False returns the images as they are
    MOVES = False  # whether boxes and masks would change with the images

    def _check_rest(self, data):
        """Raises an error for what the layer would have to move with the images."""
        for key in ("bounding_boxes", "segmentation_masks"):
            if key in data and self.MOVES:
                raise NotImplementedError(f"{type(self).__name__} of situ does not change '{key}'.")

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "data_format": self.data_format}
        if self.bounding_box_format is not None:
            config["bounding_box_format"] = self.bounding_box_format
        return {**config, **{key: getattr(self, key) for key in self.KEYS}}


def _batch(images):
    return tf.shape(images)[0] if images.shape.as_list()[0] is None else images.shape.as_list()[0]


def _wide(numbers):
    """Returns one number per image as a tensor that broadcasts to the images."""
    return tf.reshape(numbers, [-1, 1, 1, 1])


@named("RandomGrayscale")
class RandomGrayscale(_ImageLayer):
    """Makes images gray with a probability.

    Args:
      factor: The probability.
      data_format: "channels_last" or "channels_first".
      seed: Seed.
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If factor is not between 0 and 1.
    """

    KEYS = ("factor", "seed")

    def __init__(self, factor=0.5, data_format=None, seed=None, **kwargs) -> None:
        super().__init__(data_format, seed, **kwargs)
        if not 0 <= factor <= 1:
            raise ValueError(f"`factor` should be between 0 and 1. Received: factor={factor}")
        self.factor = factor

    def draw(self, images):
        return self.uniform([_batch(images)]) < self.factor

    def change(self, images, drawn):
        gray = tf.image.rgb_to_grayscale(images)
        return tf.where(_wide(drawn), gray + tf.zeros_like(images), images)


class _Ranged(_ImageLayer):
    """Base class of layers with a factor and a range of values."""

    KEYS = ("factor", "value_range", "seed")
    LIMITS: tuple[float, float] = (-1, 1)

    def __init__(self, factor, value_range=(0, 255), data_format=None, seed=None, **kwargs) -> None:
        super().__init__(data_format, seed, **kwargs)
        self.factor = _bounds(factor, *self.LIMITS)
        self.value_range = _value_range(value_range)

    def draw(self, images):
        return self.uniform([_batch(images)], *self.factor)

    def limited(self, images):
        """Clips values to the range."""
        return tf.clip_by_value(images, *(cast(v, images.dtype) for v in self.value_range))


_DOC = """{}

Args:
  factor: {}
  value_range: Smallest and largest value of images.
  data_format: "channels_last" or "channels_first".
  seed: Seed.
  **kwargs: Arguments of `Layer`.

Call arguments:
  inputs: Image, batch of images, or dictionary with "images".
  training: False returns the images as they are.
"""
_FACTOR = "A number, or two numbers between which one is drawn for each image."


class RandomHue(_Ranged):
    __doc__ = _DOC.format("Changes the hue of images.", _FACTOR)
    LIMITS = (0, 1)

    def draw(self, images):
        turn = self.uniform([_batch(images)])
        sign = tf.where(turn > 0.5, -tf.ones_like(turn), tf.ones_like(turn))
        return sign * super().draw(images) * 0.5

    def change(self, images, drawn):
        hsv = tf.image.rgb_to_hsv(_rescaled(images, self.value_range, (0, 1)))
        hue = hsv[..., :1] + _wide(cast(drawn, hsv.dtype))
        hue = tf.where(hue > 1.0, hue - 1.0, hue)
        hue = tf.where(hue < 0.0, hue + 1.0, hue)
        made = tf.image.hsv_to_rgb(tf.concat([hue, hsv[..., 1:]], -1))
        return _rescaled(tf.clip_by_value(made, 0.0, 1.0), (0, 1), self.value_range)


class RandomSaturation(_Ranged):
    __doc__ = _DOC.format(
        "Changes the saturation of images, by factor / (1 - factor).",
        "A number, or two numbers between which one is drawn for each image: 0.5 changes nothing.",
    )

    def draw(self, images):
        factor = super().draw(images)
        return factor / (1.0 - factor + context.setting("epsilon"))

    def change(self, images, drawn):
        hsv = tf.image.rgb_to_hsv(images)
        level = self.limited(hsv[..., 1:2] * _wide(cast(drawn, hsv.dtype)))
        return tf.image.hsv_to_rgb(tf.concat([hsv[..., :1], level, hsv[..., 2:]], -1))


class RandomColorDegeneration(_Ranged):
    __doc__ = _DOC.format("Mixes images with their gray versions.", _FACTOR)

    def change(self, images, drawn):
        gray = tf.image.rgb_to_grayscale(images)
        return self.limited(images + _wide(cast(drawn, images.dtype)) * (gray - images))


class RandomSharpness(_Ranged):
    __doc__ = _DOC.format("Blurs or sharpens images: 0.5 changes nothing.", _FACTOR)
    LIMITS = (0, 1)

    def change(self, images, drawn):
        channels = images.shape.as_list()[-1]
        kernel = [[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]
        kernel = tf.reshape(tf.constant(kernel, images.dtype) / 13.0, [3, 3, 1, 1])
        kernel = tf.tile(kernel, [1, 1, channels, 1])
        smooth = tf.nn.depthwise_conv2d(images, kernel, [1, 1, 1, 1], "SAME")
        factor = _wide(cast(drawn * 2.0, images.dtype))
        return self.limited(images + (1.0 - factor) * (smooth - images))


class RandomInvert(_Ranged):
    __doc__ = _DOC.format(
        "Inverts images with a probability.", "The probability, or two between which it is drawn."
    )
    LIMITS = (0, 1)

    def __init__(
        self, factor=1.0, value_range=(0, 255), seed=None, data_format=None, **kwargs
    ) -> None:
        super().__init__(factor, value_range, data_format, seed, **kwargs)

    def draw(self, images):
        chance = super().draw(images)
        return self.uniform([_batch(images)]) < chance

    def change(self, images, drawn):
        return tf.where(_wide(drawn), self.value_range[1] - images, images)


class RandomPosterization(_Ranged):
    __doc__ = _DOC.format(
        "Reduces the bits of each channel.",
        "Number of bits, from 1 to 8, or two numbers between which one is drawn for each image.",
    )
    LIMITS = (1, 8)

    def draw(self, images):
        count = [_batch(images)]
        if self.factor[0] == self.factor[1]:
            return tf.fill(count, cast(8 - self.factor[0], "uint8"))
        drawn = tf.keras3.random.randint(count, *self.factor, "uint8", seed=self.generator)
        return cast(8, "uint8") - drawn

    def change(self, images, drawn):
        whole = cast(_rescaled(images, self.value_range, (0, 255)), "uint8")
        shift = _wide(drawn)
        kept = tf.bitwise.left_shift(tf.bitwise.right_shift(whole, shift), shift)
        return _rescaled(cast(kept, images.dtype), (0, 255), self.value_range)


for _kind in (
    RandomHue,
    RandomSaturation,
    RandomColorDegeneration,
    RandomSharpness,
    RandomInvert,
    RandomPosterization,
):
    named(_kind.__name__)(_kind)


@named("Solarization")
class Solarization(_ImageLayer):
    """Adds a number to the values of images and inverts those above a threshold.

    Args:
      addition_factor: Largest fraction of 255 that is added, or two fractions.
      threshold_factor: Largest fraction of 255 of the threshold, or two fractions.
      value_range: Smallest and largest value of images.
      seed: Seed.
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If a factor is not between 0 and 1.
    """

    KEYS = ("value_range", "addition_factor", "threshold_factor", "seed")

    def __init__(
        self,
        addition_factor=0.0,
        threshold_factor=0.0,
        value_range=(0, 255),
        seed=None,
        **kwargs,
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.addition_factor = _bounds(addition_factor, 0, 1, "addition_factor")
        self.threshold_factor = _bounds(threshold_factor, 0, 1, "threshold_factor")
        self.value_range = _value_range(value_range)

    def draw(self, images):
        shape = [_batch(images), 1, 1, 1]
        return [
            self.uniform(shape, low, high * 255)
            for low, high in (self.addition_factor, self.threshold_factor)
        ]

    def change(self, images, drawn):
        added, threshold = (cast(x, images.dtype) for x in drawn)
        result = _rescaled(images, self.value_range, (0, 255)) + added
        result = tf.clip_by_value(result, 0.0, 255.0)
        result = tf.where(result < threshold, result, 255.0 - result)
        return _rescaled(result, (0, 255), self.value_range)


@named("AutoContrast")
class AutoContrast(_ImageLayer):
    """Stretches the values of each channel to the whole range.

    Args:
      value_range: Smallest and largest value of images.
      **kwargs: Arguments of `Layer`.
    """

    KEYS, IS_RANDOM = ("value_range",), False

    def __init__(self, value_range=(0, 255), **kwargs) -> None:
        super().__init__(**kwargs)
        self.value_range = _value_range(value_range)

    def change(self, images, drawn):
        del drawn  # there are no random numbers
        wide = _rescaled(images, self.value_range, (0, 255))
        low = tf.reduce_min(wide, [1, 2], keepdims=True)
        scale = 255.0 / (tf.reduce_max(wide, [1, 2], keepdims=True) - low)
        result = tf.clip_by_value(wide * scale - low * scale, 0.0, 255.0)
        result = _rescaled(result, (0, 255), self.value_range)
        return tf.where(tf.math.is_nan(result), images, result)


@named("Equalization")
class Equalization(_ImageLayer):
    """Equalizes the histogram of each channel, over all images of a batch.

    Args:
      value_range: Smallest and largest value of images.
      bins: Number of bins of the histogram.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.
    """

    KEYS = ("bins", "value_range")

    def __init__(self, value_range=(0, 255), bins=256, data_format=None, **kwargs) -> None:
        super().__init__(data_format, **kwargs)
        self.bins, self.value_range = bins, _value_range(value_range)

    def change(self, images, drawn):
        del drawn  # there are no random numbers
        wide = _rescaled(images, self.value_range, (0, 255))
        made = tf.stack([self._channel(c) for c in tf.unstack(wide, axis=-1)], -1)
        return _rescaled(made, (0, 255), self.value_range)

    def _channel(self, channel):
        last = self.bins - 1
        scaled = tf.clip_by_value(cast(channel * last / 255.0, "int32"), 0, last)
        counts = tf.math.unsorted_segment_sum(
            tf.ones_like(tf.reshape(scaled, [-1])), tf.reshape(scaled, [-1]), self.bins
        )
        total = cast(tf.cumsum(counts), channel.dtype)
        first = tf.reduce_min(tf.where(total > 0.0, total, tf.reduce_max(total)))
        spread = total[-1] - first
        table = (total - first) * 255.0 / tf.where(spread == 0.0, tf.ones_like(spread), spread)
        table = tf.clip_by_value(tf.round(table), 0.0, 255.0)
        is_flat = tf.math.count_nonzero(counts) <= 1
        return tf.where(is_flat, channel, tf.gather(table, scaled))


@named("RandomGaussianBlur")
class RandomGaussianBlur(_ImageLayer):
    """Blurs images with a probability.

    Args:
      factor: The probability, or two between which it is drawn.
      kernel_size: Height and width of the kernel, odd numbers; one int for both.
      sigma: Standard deviation of the kernel, between 0 and 1, or two between which it is drawn.
      value_range: Smallest and largest value of images.
      data_format: "channels_last" or "channels_first".
      seed: Seed.
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If kernel_size is even, or a factor is not between 0 and 1.
    """

    KEYS = ("factor", "kernel_size", "sigma", "value_range", "seed")

    def __init__(
        self,
        factor=1.0,
        kernel_size=3,
        sigma=1.0,
        value_range=(0, 255),
        data_format=None,
        seed=None,
        **kwargs,
    ) -> None:
        super().__init__(data_format, seed, **kwargs)
        sizes = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * 2
        if len(sizes) != 2 or any(size % 2 == 0 for size in sizes):
            raise ValueError(
                f"kernel_size must be an odd number. Received: kernel_size={kernel_size}"
            )
        self.factor, self.kernel_size = _bounds(factor, 0, 1), tuple(sizes)
        self.sigma, self.value_range = _bounds(sigma, 0, 1, "sigma"), _value_range(value_range)

    def draw(self, images):
        chance = self.uniform([_batch(images)], *self.factor)
        is_blurred = self.uniform([_batch(images)]) < chance
        return is_blurred, self.uniform([2], *self.sigma) + 1e-6

    def change(self, images, drawn):
        is_blurred, sigma = drawn
        blur = tf.keras3.ops.image.gaussian_blur
        blurred = blur(images, self.kernel_size, sigma, data_format="channels_last")
        made = tf.where(_wide(is_blurred), blurred, images)
        return tf.clip_by_value(made, *(cast(v, made.dtype) for v in self.value_range))


# Mixtures


def _boxes(layer, images, ratios):
    """Draws a box per image with the given ratios of width and height; returns x0, x1, y0, y1."""
    corners = []
    for length, ratio in zip(reversed(images.shape.as_list()[1:3]), ratios):
        size = ratio * float(length)
        start = layer.uniform([_batch(images)]) * (float(length) - size)
        corners += [_wide(start), _wide(start + size)]
    return corners


def _inside(images, corners):
    """Returns the mask of boxes, of the shape of the images."""
    x0, x1, y0, y1 = corners
    height, width = images.shape.as_list()[1:3]
    x = tf.reshape(tf.range(width, dtype="float32"), [1, 1, -1, 1])
    y = tf.reshape(tf.range(height, dtype="float32"), [1, -1, 1, 1])
    mask = (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
    return mask & tf.ones_like(images, "bool")


@named("RandomErasing")
class RandomErasing(_ImageLayer):
    """Fills a random box of images with a probability.

    Args:
      factor: The probability, or two between which it is drawn.
      scale: Two fractions of the area between which that of the box is drawn.
      fill_value: A number or three numbers; default: normal noise.
      value_range: Smallest and largest value of images.
      seed: Seed.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If a factor is not between 0 and 1, or fill_value is not one or three numbers.
    """

    KEYS = ("factor", "scale", "fill_value", "value_range", "seed")

    def __init__(
        self,
        factor=1.0,
        scale=(0.02, 0.33),
        fill_value=None,
        value_range=(0, 255),
        seed=None,
        data_format=None,
        **kwargs,
    ) -> None:
        super().__init__(data_format, seed, **kwargs)
        is_number = fill_value is None or isinstance(fill_value, (int, float))
        if not is_number and (not isinstance(fill_value, (tuple, list)) or len(fill_value) != 3):
            raise ValueError(
                "The `fill_value` argument should be a number (or a list of three numbers). "
                f"Received: fill_value={fill_value}"
            )
        self.factor, self.scale = _bounds(factor, 0, 1), _bounds(scale, 0, 1, "scale")
        self.fill_value, self.value_range = fill_value, _value_range(value_range)

    def draw(self, images):
        ratios = tf.unstack(tf.sqrt(self.uniform([_batch(images), 2], *self.scale)), axis=1)
        mask = _inside(images, _boxes(self, images, ratios))
        chance = self.uniform([_batch(images)], *self.factor)
        is_erased = self.uniform([_batch(images)]) < chance
        if self.fill_value is None:
            noise = tf.keras3.random.normal(tf.shape(images), seed=self.generator)
            fill = noise * self.value_range[1]
        else:
            fill = tf.constant(self.fill_value, "float32") + tf.zeros_like(images, "float32")
        return mask & _wide(is_erased), tf.clip_by_value(
            fill, *(cast(v, "float32") for v in self.value_range)
        )

    def change(self, images, drawn):
        mask, fill = drawn
        return tf.where(mask, cast(fill, images.dtype), images)


class _Mixing(_ImageLayer):
    """Base class of layers that mix images and labels of a batch: `draw` returns the order of the
    other images, a mask or None, and the weights of the images themselves."""

    MOVES = True

    def change_labels(self, labels, drawn):
        if drawn is None:
            return labels
        order, _, weight = drawn
        weight = tf.reshape(weight, [-1, 1])
        labels = cast(labels, weight.dtype)
        return weight * labels + (1.0 - weight) * tf.gather(labels, order)

    def order(self, images):
        """Draws a permutation of the images."""
        return tf.keras3.random.shuffle(tf.range(_batch(images)), seed=self.generator)


@named("MixUp")
class MixUp(_Mixing):
    """Mixes each image of a batch, and its labels, with another.

    Args:
      alpha: Parameter of the beta distribution of the weights.
      data_format: "channels_last" or "channels_first".
      seed: Seed.
      **kwargs: Arguments of `Layer`.
    """

    KEYS = ("alpha", "seed")

    def __init__(self, alpha=0.2, data_format=None, seed=None, **kwargs) -> None:
        super().__init__(data_format, seed, **kwargs)
        self.alpha = alpha

    def draw(self, images):
        order = self.order(images)
        draw = tf.keras3.random.beta
        return order, None, draw([_batch(images)], self.alpha, self.alpha, seed=self.generator)

    def change(self, images, drawn):
        order, _, weight = drawn
        weight = _wide(cast(weight, images.dtype))
        return weight * images + (1.0 - weight) * tf.gather(images, order)


@named("CutMix")
class CutMix(_Mixing):
    """Replaces a random box of each image of a batch by that of another, and mixes their labels.

    Args:
      factor: Parameter of the beta distribution of the areas, or two between which it is drawn.
      seed: Seed.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If factor is not between 0 and 1.
    """

    KEYS = ("factor", "seed")

    def __init__(self, factor=1.0, seed=None, data_format=None, **kwargs) -> None:
        super().__init__(data_format, seed, **kwargs)
        self.factor = _bounds(factor, 0, 1)

    def draw(self, images):
        alpha = self.uniform([], *self.factor) + 1e-6
        weight = tf.keras3.random.beta([_batch(images)], alpha, alpha, seed=self.generator)
        ratio = tf.sqrt(1.0 - weight)
        corners = _boxes(self, images, [ratio, ratio])
        x0, x1, y0, y1 = corners
        height, width = images.shape.as_list()[1:3]
        weight = 1.0 - (x1 - x0) * (y1 - y0) / float(height * width)
        return self.order(images), _inside(images, corners), weight

    def change(self, images, drawn):
        order, mask, _ = drawn
        return tf.where(mask, tf.gather(images, order), images)


@named("RandomColorJitter")
class RandomColorJitter(_ImageLayer):
    """Changes brightness, contrast, saturation and hue of images at random.

    Args:
      value_range: Smallest and largest value of images.
      brightness_factor: Factor of RandomBrightness, or None.
      contrast_factor: Factor of RandomContrast, or None.
      saturation_factor: Factor of RandomSaturation, or None.
      hue_factor: Factor of RandomHue, or None.
      seed: Seed.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.
    """

    KEYS = (
        "value_range",
        "brightness_factor",
        "contrast_factor",
        "saturation_factor",
        "hue_factor",
        "seed",
    )

    def __init__(
        self,
        value_range=(0, 255),
        brightness_factor=None,
        contrast_factor=None,
        saturation_factor=None,
        hue_factor=None,
        seed=None,
        data_format=None,
        **kwargs,
    ) -> None:
        super().__init__(data_format, seed, **kwargs)
        self.value_range = _value_range(value_range)
        self.brightness_factor, self.contrast_factor = brightness_factor, contrast_factor
        self.saturation_factor, self.hue_factor = saturation_factor, hue_factor
        last = {"value_range": value_range, "data_format": "channels_last", "seed": seed}
        self._saturation = self._hue = None
        if saturation_factor is not None:
            self._saturation = RandomSaturation(saturation_factor, **last)
        if hue_factor is not None:
            self._hue = RandomHue(hue_factor, **last)
        for layer in (self._saturation, self._hue):
            if layer is not None:
                layer.generator = self.generator  # all draw from one stream

    def change(self, images, drawn):
        del drawn  # each step draws its own numbers
        count = [_batch(images)]
        if self.brightness_factor is not None:
            span = self.value_range[1] - self.value_range[0]
            delta = self.uniform(count, *_bounds(self.brightness_factor, -1, 1)) * span
            images = images + _wide(cast(delta, images.dtype))
            images = tf.clip_by_value(images, *map(float, self.value_range))
        if self.contrast_factor is not None:
            low, high = _bounds(self.contrast_factor, 0, 1, "contrast_factor")
            scale = _wide(cast(self.uniform(count, 1.0 - low, 1.0 + high), images.dtype))
            mean = tf.reduce_mean(images, [1, 2], keepdims=True)
            images = tf.clip_by_value((images - mean) * scale + mean, *map(float, self.value_range))
        for layer in (self._saturation, self._hue):
            images = images if layer is None else layer(images, training=True)
        return images
