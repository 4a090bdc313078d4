# SPDX-License-Identifier: Apache-2.0
"""image_transform.py: keras.ops.image: affine, perspective and elastic transforms, sampling at
coordinates, patches of volumes, edges and similarity of images."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from situ._src.keras3 import operands
from situ._src.keras3.dtypes import is_int_dtype
from situ._src.keras3.exports import tf
from situ._src.keras3.image import _channels_last, _check_rank, _op, gaussian_blur
from situ._src.keras3.operands import sizes, tensor
from situ._src.keras3.random import draw_seed

INTERPOLATIONS = ("nearest", "bilinear")
FILL_MODES = ("constant", "nearest", "wrap", "reflect")  # of affine transforms
COORDINATE_FILL_MODES = (*FILL_MODES, "mirror")


def _check_choice(name, value, known):
    if value not in known:
        raise ValueError(
            f"Invalid value for argument `{name}`. Expected of one {known}. "
            f"Received: {name}={value}"
        )


def _projected(x, transforms, interpolation, fill_mode, fill_value):
    """Transforms images with channels last by projective maps [batch, 8] or [8]."""
    is_single = operands.rank(x) == 3
    batch = x[None] if is_single else x
    transforms = tf.cast(transforms, "float32")
    result = tf.raw_ops.ImageProjectiveTransformV3(
        images=batch,
        transforms=transforms[None] if operands.rank(transforms) == 1 else transforms,
        output_shape=tf.shape(batch)[1:-1],
        fill_value=tf.cast(fill_value, "float32"),
        interpolation=interpolation.upper(),
        fill_mode=fill_mode.upper(),
    )
    result = tf.ensure_shape(result, batch.shape)
    return result[0] if is_single else result


@_op
def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: Any = 0,
    data_format: Any = None,
):
    """Transforms images by projective maps from output to input coordinates.

    Args:
      images: Image or batch of images.
      transform: Eight numbers, or eight per image: [a0, a1, a2, b0, b1, b2, c0, c1].
      interpolation: "nearest" or "bilinear".
      fill_mode: How points outside are filled: "constant", "nearest", "wrap" or "reflect".
      fill_value: Value of points outside with "constant".
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: If an argument is invalid.
    """
    _check_choice("interpolation", interpolation, INTERPOLATIONS)
    _check_choice("fill_mode", fill_mode, FILL_MODES)
    _check_rank(images)
    if operands.rank(transform) not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of "
            f"transforms). Received input with shape: transform.shape={sizes(transform)}"
        )
    x, back = _channels_last(images, data_format)
    return back(_projected(x, tensor(transform), interpolation, fill_mode, fill_value))


def homography(start_points, end_points):
    """Returns the projective maps [batch, 8] that move end_points [batch, 4, 2] to start_points."""
    rows, wanted = [], []
    for i in range(4):
        (x, y), (u, v) = (tf.unstack(p[:, i], axis=-1) for p in (end_points, start_points))
        one, zero = tf.ones_like(x), tf.zeros_like(x)
        rows.append(tf.stack([x, y, one, zero, zero, zero, -u * x, -u * y], -1))
        rows.append(tf.stack([zero, zero, zero, x, y, one, -v * x, -v * y], -1))
        wanted += [u, v]
    right = tf.stack(wanted, -1)[..., None]
    return tf.linalg.solve(tf.stack(rows, 1), right)[..., 0]


@_op
def perspective_transform(
    images: Any,
    start_points: Any,
    end_points: Any,
    interpolation: str = "bilinear",
    fill_value: Any = 0,
    data_format: Any = None,
):
    """Transforms images so that four points move to four others.

    Args:
      images: Image or batch of images.
      start_points: Four points (x, y), or four per image.
      end_points: Where they move.
      interpolation: "nearest" or "bilinear".
      fill_value: Value of points outside.
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: If an argument is invalid.
    """
    _check_choice("interpolation", interpolation, INTERPOLATIONS)
    _check_rank(images)
    start, end = (tensor(p, "float32") for p in (start_points, end_points))
    for name, points in (("start_points", start), ("end_points", end)):
        if operands.rank(points) not in (2, 3) or sizes(points)[-2:] != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a "
                f"batch. Received shape: {sizes(points)}"
            )
    if sizes(start) != sizes(end):
        raise ValueError(
            "start_points and end_points must have the same shape. Received "
            f"start_points.shape={sizes(start)}, end_points.shape={sizes(end)}"
        )
    if operands.rank(start) == 2:
        start, end = start[None], end[None]
    x, back = _channels_last(images, data_format)
    maps = homography(start, end)
    return back(_projected(x, maps, interpolation, "constant", fill_value))


def _nodes(coordinate, order):
    """Returns (index, weight) of the elements next to a coordinate."""
    if order == 0:
        at = coordinate if is_int_dtype(coordinate.dtype.name) else tf.round(coordinate)
        return [(tf.cast(at, "int32"), tf.ones_like(coordinate))]
    if is_int_dtype(coordinate.dtype.name):
        coordinate = tf.cast(coordinate, "float32")
    lower = tf.floor(coordinate)
    upper = coordinate - lower
    index = tf.cast(lower, "int32")
    return [(index, 1 - upper), (index + 1, upper)]


def _folded(index, size, mode):
    """Returns indices inside of an axis, and whether the element counts."""
    is_inside = (index >= 0) & (index < size)
    if mode in ("constant", "nearest"):
        is_inside = is_inside | (mode == "nearest")
        return tf.clip_by_value(index, 0, size - 1), is_inside
    if mode == "wrap":
        return tf.math.floormod(index, size), tf.ones_like(is_inside)
    turn = tf.math.floormod(tf.abs(index), 2 * size)
    over = 2 * size - turn - (1 if mode == "reflect" else 0)
    at = tf.where(turn < size, turn, over)
    return tf.minimum(at, size - 1), tf.ones_like(is_inside)


def _sampled(x, coordinates, order, fill_mode, fill_value, batch_dims=0):
    """Returns the elements of x, without its last axes, at the coordinates of each axis."""
    shape, count = tf.shape(x), len(coordinates)
    nodes = []
    for axis, coordinate in enumerate(coordinates):
        size = shape[batch_dims + axis]
        nodes.append([(*_folded(i, size, fill_mode), w) for i, w in _nodes(coordinate, order)])
    total: Any = None
    for corner in itertools.product(*nodes):
        indices, inside, weights = zip(*corner)
        part = tf.gather_nd(x, tf.stack(indices, -1), batch_dims=batch_dims)
        weight = functools.reduce(lambda a, b: a * b, weights)
        part = tf.cast(part, weight.dtype)
        trailing = (..., *[None] * (operands.rank(x) - batch_dims - count))
        if fill_mode == "constant":
            all_inside = functools.reduce(lambda a, b: a & b, inside)
            part = tf.where(all_inside[trailing], part, tf.cast(fill_value, weight.dtype))
        part = weight[trailing] * part
        total = part if total is None else total + part
    if is_int_dtype(x.dtype.name):
        total = tf.round(total)
    return tf.cast(total, x.dtype)


@_op
def map_coordinates(
    inputs: Any, coordinates: Any, order: int, fill_mode: str = "constant", fill_value: Any = 0
):
    """Samples an array at coordinates.

    Args:
      inputs: Array.
      coordinates: Coordinates of each axis of inputs, stacked along the first axis.
      order: 0 for the nearest element, 1 for linear interpolation.
      fill_mode: What is outside: "constant", "nearest", "wrap", "mirror" or "reflect".
      fill_value: Value outside with "constant".

    Raises:
      ValueError: If an argument is invalid.
      NotImplementedError: If order is larger than 1.
    """
    x, at = tensor(inputs), tensor(coordinates)
    if sizes(at)[0] != operands.rank(x):
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. Received inputs "
            f"with shape: {sizes(x)} and coordinate leading dim of {sizes(at)[0]}"
        )
    if operands.rank(at) < 2:
        raise ValueError(
            "Invalid coordinates rank: expected at least rank 2. Received input with shape: "
            f"{sizes(at)}"
        )
    _check_choice("fill_mode", fill_mode, COORDINATE_FILL_MODES)
    if order not in (0, 1):
        raise NotImplementedError("map_coordinates currently requires order<=1")
    return _sampled(x, tf.unstack(at, axis=0), order, fill_mode, fill_value)


@_op
def elastic_transform(
    images: Any,
    alpha: Any = 20.0,
    sigma: Any = 5.0,
    interpolation: str = "bilinear",
    fill_mode: str = "reflect",
    fill_value: Any = 0.0,
    seed: Any = None,
    data_format: Any = None,
):
    """Moves the points of images by smooth random distances.

    Args:
      images: Image or batch of images.
      alpha: Scale of the distances.
      sigma: Standard deviation of the filter that smooths them.
      interpolation: "nearest" or "bilinear".
      fill_mode: What is outside: "constant", "nearest", "wrap" or "reflect".
      fill_value: Value outside with "constant".
      seed: Integer, SeedGenerator, or None for the global stream.
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: If an argument is invalid.
    """
    _check_choice("interpolation", interpolation, INTERPOLATIONS)
    _check_choice("fill_mode", fill_mode, COORDINATE_FILL_MODES)
    _check_rank(images)
    x, back = _channels_last(images, data_format)
    is_single = operands.rank(x) == 3
    batch = x[None] if is_single else x
    shape, dtype = tf.shape(batch)[:3], batch.dtype
    alpha, sigma = tf.cast(alpha, dtype), tf.cast(sigma, dtype)
    side = tf.bitwise.bitwise_or(6 * tf.cast(sigma, "int32"), 1)
    # Both directions have the same numbers, as in Keras.
    noise = tf.random.stateless_normal(shape, draw_seed(seed), dtype=dtype) * sigma
    blur = {"kernel_size": (side, side), "sigma": (sigma, sigma), "data_format": "channels_last"}
    moved = alpha * gaussian_blur(noise[..., None], **blur)[..., 0]
    rows = tf.cast(tf.range(shape[1]), dtype)[None, :, None] + moved
    columns = tf.cast(tf.range(shape[2]), dtype)[None, None, :] + moved
    order = INTERPOLATIONS.index(interpolation)
    result = _sampled(batch, [rows, columns], order, fill_mode, fill_value, batch_dims=1)
    result = tf.ensure_shape(result, batch.shape)
    return back(result[0] if is_single else result)


def _lanczos(x, radius):
    turn = math.pi * x
    value = radius * tf.sin(turn) * tf.sin(turn / radius)
    value = tf.where(x > 1e-3, value / tf.where(x != 0, turn * turn, tf.ones_like(x)), 1.0)
    return tf.where(x > radius, 0.0, value)


def _cubic(x):
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return tf.where(x >= 2.0, 0.0, tf.where(x >= 1.0, far, near))


_KERNELS = {
    **dict.fromkeys(("linear", "bilinear", "trilinear"), lambda x: tf.maximum(0.0, 1.0 - x)),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), _cubic),
    "lanczos3": lambda x: _lanczos(x, 3.0),
    "lanczos5": lambda x: _lanczos(x, 5.0),
}


def _resampling(size, result_size, scale, translation, kernel, antialias):
    """Returns the weights [size, result_size] with which elements of an axis add up."""
    width = tf.maximum(1.0 / scale, 1.0) if antialias else 1.0
    at = (tf.range(result_size, dtype="float32") + 0.5 - translation) / scale - 0.5
    distance = tf.abs(at[None, :] - tf.range(tf.cast(size, "float32"))[:, None]) / width
    weights = kernel(distance)
    total = tf.reduce_sum(weights, 0, keepdims=True)
    is_enough = tf.abs(total) > 1000.0 * 2.0**-23
    weights = tf.where(is_enough, tf.math.divide_no_nan(weights, total), 0.0)
    is_inside = (at >= -0.5) & (at <= tf.cast(size, "float32") - 0.5)
    return tf.where(is_inside[None, :], weights, 0.0)


@_op
def scale_and_translate(
    images: Any,
    output_shape: Any,
    scale: Any,
    translation: Any,
    spatial_dims: Any,
    method: str,
    antialias: bool = True,
):
    """Scales and translates arrays along some axes by resampling.

    Args:
      images: Array.
      output_shape: Shape of the result.
      scale: Factor of each axis.
      translation: Distance along each axis, in elements of the result.
      spatial_dims: The axes.
      method: "linear", "cubic", "lanczos3" or "lanczos5".
      antialias: Whether to smooth before making images smaller.

    Raises:
      ValueError: If the method is unknown.
    """
    _check_choice("method", method, tuple(_KERNELS))
    x = tensor(images)
    scale, translation = (tensor(v, "float32") for v in (scale, translation))
    is_whole = is_int_dtype(x.dtype.name)
    result = tf.cast(x, "float32") if is_whole else x
    rank = operands.rank(x)
    for i, axis in enumerate(spatial_dims):
        axis %= rank
        how = scale[i], translation[i], _KERNELS[method], antialias
        weights = _resampling(tf.shape(x)[axis], output_shape[axis], *how)
        made = tf.tensordot(result, tf.cast(weights, result.dtype), [[axis], [0]])
        order = [*range(axis), rank - 1, *range(axis, rank - 1)]
        result = tf.transpose(made, order)
    if is_whole and len(spatial_dims):
        low, high = (tf.cast(f(x), "float32") for f in (tf.reduce_min, tf.reduce_max))
        result = tf.clip_by_value(tf.round(result), low, high)
    return tf.cast(result, x.dtype)


@_op
def extract_patches_3d(
    volumes: Any,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
):
    """Returns patches of volumes, with their elements as channels.

    Args:
      volumes: Volume or batch of volumes.
      size: Number, or (depth, height, width).
      strides: Distance of patches; default: size.
      dilation_rate: Distance of elements in a patch.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".

    Raises:
      TypeError: If size is neither a number nor three numbers.
      ValueError: If strides are not three numbers.
    """
    triple = lambda v: (v,) * 3 if isinstance(v, int) else tuple(v)
    if len(triple(size)) != 3:
        raise TypeError(
            "Invalid `size` argument. Expected an int or a tuple of length 3. "
            f"Received: size={size}"
        )
    strides = triple(size if strides is None else strides)
    if len(strides) != 3:
        raise ValueError(f"Invalid `strides` argument. Got: {strides}")
    x = tensor(volumes)
    is_single = operands.rank(x) == 4
    batch = x[None] if is_single else x
    format_ = data_format or tf.keras.backend.image_data_format()
    channels = sizes(batch)[1 if format_ == "channels_first" else -1]
    count = math.prod(triple(size)) * channels
    kernel = tf.reshape(tf.eye(count, dtype=x.dtype), [*triple(size), channels, count])
    conv = tf.keras3.ops.conv
    result = conv(batch, kernel, strides, padding, format_, dilation_rate)
    return result[0] if is_single else result


@_op
def sobel_edges(images: Any, data_format: Any = None):
    """Returns the gradients of images along rows and columns by Sobel filters, as a last axis.

    Args:
      images: Batch of images.
      data_format: "channels_last" or "channels_first"; default: "channels_last".
    """
    x, _ = _channels_last(images, data_format or "channels_last")
    edges = tf.image.sobel_edges(x)
    return tf.transpose(edges, [0, 3, 1, 2, 4]) if data_format == "channels_first" else edges


@_op
def ssim(
    image1: Any,
    image2: Any,
    max_val: Any = 1.0,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    data_format: Any = None,
):
    """Returns the structural similarity of images.

    Args:
      image1: Image or batch of images.
      image2: Other images.
      max_val: Largest value of images minus the smallest.
      filter_size: Size of the Gaussian filter.
      filter_sigma: Standard deviation of the Gaussian filter.
      k1: Constant of the luminance.
      k2: Constant of the contrast.
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: If images are neither images nor batches.
    """
    _check_rank(image1)
    _check_rank(image2)
    pair = [_channels_last(image, data_format)[0] for image in (image1, image2)]
    dtype = pair[0].dtype
    if is_int_dtype(dtype.name):
        pair, dtype = [tf.cast(x, "float32") for x in pair], tf.float32
    made = tf.image.ssim(*pair, max_val, filter_size, filter_sigma, k1, k2)
    return tf.cast(made, dtype)
