# SPDX-License-Identifier: Apache-2.0
"""image_augmentation.py: random affine transforms, channel and brightness shifts of images."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.keras import image_utils
from situ._src.keras.registry import keras_export


def _named(function):
    return keras_export("preprocessing.image." + function.__name__)(function)


def _fold_index(at, size, mode):
    """Maps coordinates into an axis by clipping or reflection."""
    if mode == "reflect":
        at = numpy.mod(at, 2 * size)
        at = numpy.where(at >= size, 2 * size - 1 - at, at)
    return numpy.clip(at, 0, size - 1)


def _wrapped(at, size):
    """Wraps coordinates as SciPy's mode "wrap" does: the last element coincides with the first."""
    round_ = max(size - 1, 1)
    below = at + round_ * (numpy.floor(-at / round_) + 1)
    return numpy.where(at < 0, below, numpy.where(at > size - 1, numpy.mod(at, round_), at))


def _look(x, matrix, offset, order, mode, cval):
    """Samples x [rows, columns, channels] at the affine map of output coordinates to coordinates
    of x.
    """
    rows, columns = x.shape[:2]
    i, j = numpy.meshgrid(numpy.arange(rows), numpy.arange(columns), indexing="ij")
    at = [matrix[k, 0] * i + matrix[k, 1] * j + offset[k] for k in (0, 1)]
    if mode == "wrap":
        at = [_wrapped(p, s) for p, s in zip(at, (rows, columns))]
    slack = 1e-9  # tolerance for rounding at the border
    outside = numpy.zeros((rows, columns), bool)
    if mode == "constant":
        for place, size in zip(at, (rows, columns)):
            outside |= (place < -slack) | (place > size - 1 + slack)
    if order == 0:
        r, c = (
            _fold_index(numpy.floor(p + 0.5).astype(int), s, mode)
            for p, s in zip(at, (rows, columns))
        )
        result = x[r, c]
    else:
        low = [numpy.floor(p).astype(int) for p in at]
        part = [(p - q)[..., None] for p, q in zip(at, low)]
        r0, r1 = (_fold_index(low[0] + k, rows, mode) for k in (0, 1))
        c0, c1 = (_fold_index(low[1] + k, columns, mode) for k in (0, 1))
        above = x[r0, c0] * (1 - part[1]) + x[r0, c1] * part[1]
        below = x[r1, c0] * (1 - part[1]) + x[r1, c1] * part[1]
        result = above * (1 - part[0]) + below * part[0]
    result[outside] = cval
    return result.astype(x.dtype)


@_named
def apply_affine_transform(
    x: Any,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
):
    """Rotates (degrees), shifts (pixels), shears (degrees) and zooms an image.

    Args:
      x: An image, an array of rank 3.
      theta: Angle of the rotation in degrees.
      tx: Shift of the rows.
      ty: Shift of the columns.
      shear: Angle of the shear in degrees.
      zx: Zoom of the rows.
      zy: Zoom of the columns.
      row_axis: Axis of the rows.
      col_axis: Axis of the columns.
      channel_axis: Axis of the channels.
      fill_mode: "nearest", "constant", "reflect" or "wrap".
      cval: Value outside of the image, for "constant".
      order: Order of the spline, from 0 to 5.
    """
    turn, lean = numpy.deg2rad(theta), numpy.deg2rad(shear)
    parts = []
    if theta != 0:
        parts.append(
            [
                [numpy.cos(turn), -numpy.sin(turn), 0],
                [numpy.sin(turn), numpy.cos(turn), 0],
                [0, 0, 1],
            ]
        )
    if tx != 0 or ty != 0:
        parts.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear != 0:
        parts.append([[1, -numpy.sin(lean), 0], [0, numpy.cos(lean), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        parts.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    if not parts:
        return x
    matrix = numpy.eye(3)
    for part in parts:
        matrix = matrix @ numpy.array(part, float)
    turned = numpy.moveaxis(x, (row_axis, col_axis, channel_axis), (0, 1, 2))
    middle = numpy.array([turned.shape[0] / 2 - 0.5, turned.shape[1] / 2 - 0.5])
    matrix[:2, 2] += middle - matrix[:2, :2] @ middle
    if col_axis > row_axis:  # the matrix is of x and y, arrays are of y and x
        matrix = matrix[[1, 0, 2]][:, [1, 0, 2]]
    result = _look(turned, matrix[:2, :2], matrix[:2, 2], order, fill_mode, cval)
    return numpy.moveaxis(result, (0, 1, 2), (row_axis, col_axis, channel_axis))


def _affine(x, row_axis, col_axis, channel_axis, fill_mode, cval, order, **how):
    return apply_affine_transform(
        x,
        row_axis=row_axis,
        col_axis=col_axis,
        fill_mode=fill_mode,
        channel_axis=channel_axis,
        cval=cval,
        order=order,
        **how,
    )


@_named
def random_rotation(
    x: Any,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
):
    """Rotates an image by a random angle of at most rg degrees.

    Args:
      x: An image, an array of rank 3.
      rg: Largest angle in degrees.
      row_axis: Axis of the rows.
      col_axis: Axis of the columns.
      channel_axis: Axis of the channels.
      fill_mode: "nearest", "constant", "reflect" or "wrap".
      cval: Value outside of the image, for "constant".
      interpolation_order: Order of the spline, from 0 to 5.
    """
    theta = numpy.random.uniform(-rg, rg)
    return _affine(
        x, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order, theta=theta
    )


@_named
def random_shift(
    x: Any,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
):
    """Shifts an image by random fractions of at most wrg of its width and hrg of its height.

    Args:
      x: An image, an array of rank 3.
      wrg: Largest shift, as a fraction of the width.
      hrg: Largest shift, as a fraction of the height.
      row_axis: Axis of the rows.
      col_axis: Axis of the columns.
      channel_axis: Axis of the channels.
      fill_mode: "nearest", "constant", "reflect" or "wrap".
      cval: Value outside of the image, for "constant".
      interpolation_order: Order of the spline, from 0 to 5.
    """
    tx = numpy.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = numpy.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return _affine(
        x, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order, tx=tx, ty=ty
    )


@_named
def random_shear(
    x: Any,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
):
    """Shears an image by a random angle of at most intensity degrees.

    Args:
      x: An image, an array of rank 3.
      intensity: Largest angle in degrees.
      row_axis: Axis of the rows.
      col_axis: Axis of the columns.
      channel_axis: Axis of the channels.
      fill_mode: "nearest", "constant", "reflect" or "wrap".
      cval: Value outside of the image, for "constant".
      interpolation_order: Order of the spline, from 0 to 5.
    """
    shear = numpy.random.uniform(-intensity, intensity)
    return _affine(
        x, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order, shear=shear
    )


@_named
def random_zoom(
    x: Any,
    zoom_range: Any,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
):
    """Zooms an image by random factors in zoom_range.

    Args:
      x: An image, an array of rank 3.
      zoom_range: Pair of the smallest and largest zoom.
      row_axis: Axis of the rows.
      col_axis: Axis of the columns.
      channel_axis: Axis of the channels.
      fill_mode: "nearest", "constant", "reflect" or "wrap".
      cval: Value outside of the image, for "constant".
      interpolation_order: Order of the spline, from 0 to 5.
    """
    if len(zoom_range) != 2:
        raise ValueError(
            f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}"
        )
    low, high = zoom_range
    zx, zy = (1, 1) if (low, high) == (1, 1) else numpy.random.uniform(low, high, 2)
    return _affine(
        x, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order, zx=zx, zy=zy
    )


@_named
def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0):
    """Adds intensity to all channels, clipped to the range of the image.

    Args:
      x: An image, an array of rank 3.
      intensity: The number to add.
      channel_axis: Axis of the channels.
    """
    del channel_axis  # all channels are shifted by the same value
    return numpy.clip(x + intensity, x.min(), x.max())


@_named
def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0):
    """Adds a random value of at most intensity_range to all channels.

    Args:
      x: An image, an array of rank 3.
      intensity_range: Largest change of values.
      channel_axis: Axis of the channels.
    """
    return apply_channel_shift(
        x, numpy.random.uniform(-intensity_range, intensity_range), channel_axis
    )


@_named
def apply_brightness_shift(x: Any, brightness: float, scale: bool = True):
    """Multiplies the brightness by a factor, as Pillow does.

    Args:
      x: An image, an array of rank 3.
      brightness: The factor.
      scale: Whether to scale values to 0 to 255.
    """
    image_utils.pillow()
    from PIL import ImageEnhance

    least, most = x.min(), x.max()
    within = least < 0 or most > 255
    img = image_utils.array_to_img(x, scale=within or scale)
    result = image_utils.img_to_array(ImageEnhance.Brightness(img).enhance(brightness))
    if within and not scale:
        result = result / 255 * (most - least) + least
    return result


@_named
def random_brightness(x: Any, brightness_range: tuple[float, float], scale: bool = True):
    """Multiplies the brightness by a random factor in brightness_range.

    Args:
      x: An image, an array of rank 3.
      brightness_range: Pair of the smallest and largest factor.
      scale: Whether to scale values to 0 to 255.
    """
    if len(brightness_range) != 2:
        raise ValueError(
            f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}"
        )
    return apply_brightness_shift(x, numpy.random.uniform(*brightness_range), scale)
