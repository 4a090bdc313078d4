# SPDX-License-Identifier: Apache-2.0
"""layers_image_geometry.py: layers of Keras 3 that shear, tilt or deform images at random, and
the layer that fixes the number of bounding boxes. With a seed, random numbers are those of
Keras 3."""

from __future__ import annotations

from situ._src.keras.layers_core import named
from situ._src.keras.layers_image_color import _batch, _bounds, _ImageLayer, _value_range, _wide
from situ._src.keras3.exports import tf

INTERPOLATIONS = ("nearest", "bilinear")


def _check_choice(name, value, known):
    if value not in known:
        raise NotImplementedError(f"Unknown `{name}` {value}. Expected of one {known}.")


def _symmetric(factor, name):
    """Returns the bounds of a factor; a number is drawn with both signs."""
    text = (
        "The `factor` argument should be a number (or a list of two numbers) in the range "
        f"[0, 1.0]. Received: {name}={factor}"
    )
    pair = factor if isinstance(factor, (tuple, list)) else (factor,)
    if len(pair) not in (1, 2) or not all(isinstance(f, (int, float)) for f in pair):
        raise ValueError(text)
    if len(pair) == 2 and pair[0] == -pair[1]:  # of get_config
        pair = pair[1:]
    if not all(0 <= f <= 1 for f in pair):
        raise ValueError(text)
    return tuple(sorted(pair)) if len(pair) == 2 else (-pair[0], pair[0])


class _Geometric(_ImageLayer):
    """Base class: layers that move the points of images."""

    MOVES = True
    FILL_MODES: tuple[str, ...] = ("reflect", "wrap", "constant", "nearest")

    def __init__(self, interpolation, fill_mode, fill_value, data_format, seed, **kwargs):
        super().__init__(data_format, seed, **kwargs)
        _check_choice("interpolation", interpolation, INTERPOLATIONS)
        _check_choice("fill_mode", fill_mode, self.FILL_MODES)
        self.interpolation, self.fill_mode, self.fill_value = interpolation, fill_mode, fill_value

    def how(self):
        """Returns the arguments of the functions of keras.ops.image."""
        names = ("interpolation", "fill_mode", "fill_value")
        return {"data_format": "channels_last", **{n: getattr(self, n) for n in names}}

    def is_changed(self, images):
        """Draws which images change."""
        chance = self.uniform([_batch(images)], *self.factor)
        return _wide(self.uniform([_batch(images)]) < chance)


@named("RandomShear")
class RandomShear(_Geometric):
    """Shears images at random.

    Args:
      x_factor: Largest shear along x, from 0 to 1, or two numbers between which it is drawn.
      y_factor: The same along y.
      interpolation: "nearest" or "bilinear".
      fill_mode: How points outside are filled: "constant", "reflect", "wrap" or "nearest".
      fill_value: Value of points outside with fill_mode "constant".
      data_format: "channels_last" or "channels_first".
      seed: Seed.
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If a factor is not between 0 and 1.
      NotImplementedError: If interpolation or fill_mode is unknown.
    """

    KEYS = ("x_factor", "y_factor", "fill_mode", "interpolation", "seed", "fill_value")

    def __init__(
        self,
        x_factor=0.0,
        y_factor=0.0,
        interpolation="bilinear",
        fill_mode="reflect",
        fill_value=0.0,
        data_format=None,
        seed=None,
        **kwargs,
    ) -> None:
        super().__init__(interpolation, fill_mode, fill_value, data_format, seed, **kwargs)
        self.x_factor = _symmetric(x_factor, "x_factor")
        self.y_factor = _symmetric(y_factor, "y_factor")

    def draw(self, images):
        sign = self.uniform([_batch(images)])
        sign = tf.where(sign > 0.5, -tf.ones_like(sign), tf.ones_like(sign))
        along_y = self.uniform([_batch(images)], *self.y_factor)
        return sign * self.uniform([_batch(images)], *self.x_factor), sign * along_y

    def change(self, images, drawn):
        along_x, along_y = drawn
        one, zero = tf.ones_like(along_x), tf.zeros_like(along_x)
        maps = tf.stack([one, along_x, zero, along_y, one, zero, zero, zero], 1)
        return tf.keras3.ops.image.affine_transform(images, maps, **self.how())


@named("RandomPerspective")
class RandomPerspective(_Geometric):
    """Tilts images with a probability.

    Args:
      factor: The probability, or two between which it is drawn.
      scale: How far corners move, from 0 to 1.
      interpolation: "nearest" or "bilinear".
      fill_value: Value of points outside.
      seed: Seed.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If factor or scale is not between 0 and 1.
      NotImplementedError: If interpolation is unknown.
    """

    KEYS = ("factor", "scale", "interpolation", "fill_value", "seed")

    def __init__(
        self,
        factor=1.0,
        scale=1.0,
        interpolation="bilinear",
        fill_value=0.0,
        seed=None,
        data_format=None,
        **kwargs,
    ) -> None:
        super().__init__(interpolation, "constant", fill_value, data_format, seed, **kwargs)
        if not 0 <= scale <= 1:
            raise ValueError(
                "The `scale` argument should be a number in the range [0,1]. "
                f"Received: scale={scale}"
            )
        self.factor, self.scale = _bounds(factor, 0, 1), scale

    def draw(self, images):
        is_changed = self.is_changed(images)
        moves = self.uniform([_batch(images), 4, 2], -0.5 * self.scale, 0.5 * self.scale)
        return is_changed, moves

    def change(self, images, drawn):
        is_changed, moves = drawn
        sizes = tf.cast(tf.shape(images)[1:3], "float32") - 1.0
        corners = tf.constant([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) * sizes[::-1]
        start = corners + tf.zeros_like(moves)
        how = {k: v for k, v in self.how().items() if k != "fill_mode"}
        transform = tf.keras3.ops.image.perspective_transform
        return tf.where(is_changed, transform(images, start, start + start * moves, **how), images)


@named("RandomElasticTransform")
class RandomElasticTransform(_Geometric):
    """Deforms images smoothly with a probability.

    Args:
      factor: The probability, or two between which it is drawn.
      scale: Strength of the deformation, from 0 to 1, or two numbers between which it is drawn.
      interpolation: "nearest" or "bilinear".
      fill_mode: How points outside are filled: "constant", "reflect", "wrap", "nearest" or
        "mirror".
      fill_value: Value of points outside with fill_mode "constant".
      value_range: Smallest and largest value of images.
      seed: Seed.
      data_format: "channels_last" or "channels_first".
      **kwargs: Arguments of `Layer`.

    Raises:
      ValueError: If factor or scale is not between 0 and 1.
      NotImplementedError: If interpolation or fill_mode is unknown.
    """

    KEYS = (
        *("factor", "scale", "interpolation", "fill_mode"),
        *("fill_value", "value_range", "seed"),
    )
    FILL_MODES = (*_Geometric.FILL_MODES, "mirror")

    def __init__(
        self,
        factor=1.0,
        scale=1.0,
        interpolation="bilinear",
        fill_mode="reflect",
        fill_value=0.0,
        value_range=(0, 255),
        seed=None,
        data_format=None,
        **kwargs,
    ) -> None:
        super().__init__(interpolation, fill_mode, fill_value, data_format, seed, **kwargs)
        self.factor, self.scale = _bounds(factor, 0, 1), _bounds(scale, 0, 1, "scale")
        _value_range(value_range)  # raises an error if it is not a range
        self.value_range = value_range

    def draw(self, images):
        if self.scale[1] == 0 or self.factor[1] == 0:
            return None
        return self.is_changed(images), self.uniform([], *self.scale)

    def change(self, images, drawn):
        if drawn is None:
            return images
        is_changed, strength = drawn
        sizes = tf.cast(tf.shape(images)[1:3], "float32")
        alpha = tf.reduce_max(sizes) * 0.1 * strength
        sigma = tf.reduce_min(sizes) * 0.05 * strength
        transform = tf.keras3.ops.image.elastic_transform
        moved = transform(images, alpha, sigma, seed=self.generator, **self.how())
        limits = (tf.cast(v, images.dtype) for v in self.value_range)
        return tf.clip_by_value(tf.where(is_changed, moved, images), *limits)


@named("MaxNumBoundingBoxes")
class MaxNumBoundingBoxes(_ImageLayer):
    """Pads or cuts the bounding boxes of each image to a fixed number.

    Args:
      max_number: Number of boxes.
      fill_value: Coordinates and label of boxes that are added.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Dictionary with "images" and "bounding_boxes", a dictionary of "boxes"
        [batch, boxes, 4] and "labels" [batch, boxes].
    """

    KEYS = ("max_number",)
    IS_RANDOM = False

    def __init__(self, max_number, fill_value=-1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.max_number, self.fill_value = int(max_number), int(fill_value)

    def change(self, images, drawn):
        del drawn  # there are no random numbers
        return images

    def call(self, inputs, training=True):
        result = super().call(inputs, training)
        if not isinstance(inputs, dict) or "bounding_boxes" not in inputs:
            return result
        boxes = dict(inputs["bounding_boxes"])
        for key, inner in (("boxes", [4]), ("labels", [])):
            values = tf.convert_to_tensor(boxes[key])[:, : self.max_number]
            missing = tf.maximum(self.max_number - tf.shape(values)[1], 0)
            widths = [[0, 0], [0, missing], *[[0, 0]] * len(inner)]
            fill = tf.cast(self.fill_value, values.dtype)
            padded = tf.pad(values, widths, constant_values=fill)
            boxes[key] = tf.ensure_shape(padded, [values.shape[0], self.max_number, *inner])
        return {**result, "bounding_boxes": boxes}
