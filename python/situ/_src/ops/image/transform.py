# SPDX-License-Identifier: Apache-2.0
"""transform.py: tf.image.crop_and_resize, and the projective transforms of tf.contrib.image."""

from __future__ import annotations

import _situ
from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.check_ops import checked
from situ._src.ops.image.image_checks import check_count

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, ShapeLike, Tensor, TensorLike


def _gather_pixels(images, which, y, x):
    """Gathers pixels of images [batch, height, width, channels] at integer coordinates."""
    places = op("Pack", [which, cast(y, "int32"), cast(x, "int32")], axis=-1)
    return op("GatherNd", images, places)


def sample(images, which, y, x, method, outside):
    """Samples images at fractional coordinates. Samples outside have the value `outside`; with
    None,
    pixels beyond the border count as 0."""
    images = cast(images, "float32")
    size = cast(op("Shape", images), "float32")
    high, wide = size[1] - 1.0, size[2] - 1.0

    def inside(v, u):
        zero = op("ZerosLike", v)
        return op(
            "LogicalAnd",
            op("LogicalAnd", op("GreaterEqual", v, zero), op("LessEqual", v, high)),
            op("LogicalAnd", op("GreaterEqual", u, zero), op("LessEqual", u, wide)),
        )

    def pixel(v, u, mask=None):
        pixels = _gather_pixels(
            images,
            which,
            op("Maximum", op("Minimum", v, high), 0.0),
            op("Maximum", op("Minimum", u, wide), 0.0),
        )
        if mask is None:
            return pixels
        return pixels * op("ExpandDims", cast(mask, "float32"), -1)

    if method == "nearest":
        v, u = op("Floor", y + 0.5), op("Floor", x + 0.5)
        result = pixel(v, u, inside(v, u) if outside is None else None)
    else:
        top, left = op("Floor", y), op("Floor", x)
        down, right = op("ExpandDims", y - top, -1), op("ExpandDims", x - left, -1)
        low, far = op("Ceil", y), op("Ceil", x)
        corners = [(top, left), (top, far), (low, left), (low, far)]
        a, b, c, d = [pixel(v, u, inside(v, u) if outside is None else None) for v, u in corners]
        upper, lower = a + (b - a) * right, c + (d - c) * right
        result = upper + (lower - upper) * down
    if outside is None:
        return result
    mask = op("ExpandDims", inside(y, x), -1)
    return op("SelectV2", mask, result, op("ZerosLike", result) + outside)


def _line(low, high, size, count):
    """Returns the sample coordinates [boxes, count] along one side of boxes, in pixels."""
    last = cast(size, "float32") - 1.0
    low, high = op("ExpandDims", low, 1), op("ExpandDims", high, 1)
    steps = op("Reshape", cast(op("Range", constant(0), count, constant(1)), "float32"), [1, -1])
    intervals = cast(count, "float32") - 1.0
    middle = op("ZerosLike", steps) + 0.5 * (low + high) * last
    line = low * last + steps * op("DivNoNan", (high - low) * last, intervals)
    return op("SelectV2", op("Greater", intervals, 0.0), line, middle)


def _check_boxes(image, boxes, indices, crop_size):
    """Checks the arguments of crop_and_resize as its kernel in TensorFlow does; returns the boxes
    after these checks."""
    fail = errors.invalid_argument if _situ.executing_eagerly() else ValueError
    sizes = convert_to_tensor(crop_size, "int32")
    for tensor, expected, what in (
        (image, 4, "image"),
        (boxes, 2, "boxes"),
        (indices, 1, "box_index"),
        (sizes, 1, "crop_size"),
    ):
        given = tensor_shape.as_shape(tensor.shape).rank
        if given not in (None, expected):
            raise fail(f"{what} must be rank {expected} but is rank {given}")
    if not tensor_shape.as_shape(boxes.shape).is_compatible_with([None, 4]):
        raise fail("boxes must have 4 columns")
    if not tensor_shape.as_shape(sizes.shape).is_compatible_with([2]):
        raise fail(f"crop_size must have two elements, got shape {sizes.shape}")
    positive = op("Greater", sizes, 0)
    boxes = checked(boxes, positive, "crop dimensions must be positive")
    finite = op("IsFinite", boxes)
    return checked(boxes, finite, "Boxes contains at least one element that is not finite")


def _crop(image, boxes, box_indices, crop_size, method, extrapolation_value, name):
    with scope(name, "CropAndResize"):
        image, boxes = convert_to_tensor(image), convert_to_tensor(boxes, "float32")
        boxes = _check_boxes(image, boxes, convert_to_tensor(box_indices), crop_size)
        known = constant_value(crop_size) if hasattr(crop_size, "dtype") else crop_size
        sizes = convert_to_tensor(crop_size, "int32")
        if known is not None:
            depth = tensor_shape.as_shape(image.shape).as_list()[3]
            check_count(tensor_shape.as_shape(boxes.shape).as_list()[0], *known, depth)
        shape = op("Shape", image)
        y1, x1, y2, x2 = op("Unpack", boxes, num=4, axis=1)
        rows = op("ExpandDims", _line(y1, y2, shape[1], sizes[0]), 2)
        columns = op("ExpandDims", _line(x1, x2, shape[2], sizes[1]), 1)
        y, x = rows + op("ZerosLike", columns), columns + op("ZerosLike", rows)
        which = cast(convert_to_tensor(box_indices), "int32")
        inside = op("LogicalAnd", op("GreaterEqual", which, 0), op("Less", which, shape[0]))
        text = "box_index has values outside [0, batch_size)"
        which = checked(which, inside, text, errors.OutOfRangeError)
        which = op("Reshape", which, [-1, 1, 1]) + cast(op("ZerosLike", y), "int32")
        result = sample(image, which, y, x, method, extrapolation_value)
        rank = tensor_shape.as_shape(image.shape)
        if hasattr(result, "set_shape") and rank.rank == 4 and known is not None:
            result.set_shape([None, int(known[0]), int(known[1]), rank.as_list()[3]])
        return result


@export(v1="image.crop_and_resize")
def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike = None,
    crop_size: TensorLike = None,
    method: Any = "bilinear",
    extrapolation_value: TensorLike = 0,
    name: str | None = None,
    box_indices: TensorLike = None,
) -> Tensor:
    """Crops boxes from images and resizes them to one size.

    Args:
      image: A tensor of shape [batch, height, width, channels].
      boxes: A float32 tensor [boxes, 4] of normalized coordinates y1, x1, y2, x2.
      box_ind: The index of the image of each box.
      crop_size: [height, width] of the results.
      method: "bilinear" or "nearest".
      extrapolation_value: The value outside of the image.
      box_indices: The name of `box_ind` in TensorFlow 2.
      name: A name for the operation (optional).

    Returns:
      A float32 tensor of shape [boxes, crop height, crop width, channels].
    """
    return _crop(
        image,
        boxes,
        box_ind if box_indices is None else box_indices,
        crop_size,
        method,
        extrapolation_value,
        name,
    )


@export(v2="image.crop_and_resize")
def crop_and_resize_v2(
    image: TensorLike,
    boxes: TensorLike,
    box_indices: TensorLike,
    crop_size: TensorLike,
    method: Any = "bilinear",
    extrapolation_value: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Crops boxes [y1, x1, y2, x2] from images and resizes them to `crop_size`.

    Args:
      image: A tensor of shape [batch, height, width, channels].
      boxes: A float32 tensor [boxes, 4] of normalized coordinates y1, x1, y2, x2.
      box_indices: The image of each box.
      crop_size: [height, width] of the results.
      method: "bilinear" or "nearest".
      extrapolation_value: The value outside of the image.
      name: A name for the operation (optional).
    """
    return _crop(image, boxes, box_indices, crop_size, method, extrapolation_value, name)


@export(v1="contrib.image.transform")
def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: ShapeLike = None,
    name: str | None = None,
) -> Tensor:
    """Applies projective transforms: output pixel (x, y) is input pixel ((a0 x + a1 y + a2) / k,
    (b0 x +
    b1 y + b2) / k) with k = c0 x + c1 y + 1, for transforms [a0, a1, a2, b0, b1, b2, c0, c1].

    Args:
      images: Image or batch of images.
      transforms: Vector of 8 numbers, or one per image.
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: Height and width of the result; default: those of the images.
      name: A name for the operation (optional).
    """
    with scope(name, "transform"):
        tensor = convert_to_tensor(images)
        rank = tensor_shape.as_shape(tensor.shape).rank
        image = {2: lambda: tensor[None, :, :, None], 3: lambda: tensor[None], 4: lambda: tensor}[
            rank
        ]()
        rows = op("Reshape", convert_to_tensor(transforms, "float32"), [-1, 8])
        shape = op("Shape", image)
        sizes = shape[1:3] if output_shape is None else convert_to_tensor(output_shape, "int32")
        a0, a1, a2, b0, b1, b2, c0, c1 = [
            op("Reshape", p, [-1, 1, 1]) for p in op("Unpack", rows, num=8, axis=1)
        ]
        v = op("Reshape", cast(op("Range", 0, sizes[0], 1), "float32"), [1, -1, 1])
        u = op("Reshape", cast(op("Range", 0, sizes[1], 1), "float32"), [1, 1, -1])
        k = c0 * u + c1 * v + 1.0
        batch = op("Reshape", op("Range", 0, shape[0], 1), [-1, 1, 1])
        zeros = cast(op("ZerosLike", batch), "float32")
        x, y = (a0 * u + a1 * v + a2) / k + zeros, (b0 * u + b1 * v + b2) / k + zeros
        batch_index = batch + cast(op("ZerosLike", x), "int32")
        result = sample(image, batch_index, y, x, interpolation.lower(), None)
        result = cast(result, tensor.dtype)
        if output_shape is None and hasattr(result, "set_shape"):
            result.set_shape(image.shape)
        return result[0, :, :, 0] if rank == 2 else result[0] if rank == 3 else result


@export(v1="contrib.image.angles_to_projective_transforms")
def angles_to_projective_transforms(
    angles: TensorLike, image_height: TensorLike, image_width: TensorLike, name: str | None = None
) -> Tensor:
    """Returns transforms that rotate images of a size counter-clockwise.

    Args:
      angles: Angles in radians, one or one per image.
      image_height: Height of the images.
      image_width: Width of the images.
      name: A name for the operation (optional).
    """
    with scope(name, "angles_to_projective_transforms"):
        angles = op("Reshape", convert_to_tensor(angles, "float32"), [-1])
        cos, sin = op("Cos", angles), op("Sin", angles)
        wide, high = image_width - 1.0, image_height - 1.0
        x = (wide - (cos * wide - sin * high)) / 2.0
        y = (high - (sin * wide + cos * high)) / 2.0
        zero = op("ZerosLike", cos)
        return op("Pack", [cos, -sin, x, sin, cos, y, zero, zero], axis=1)


@export(v1="contrib.image.rotate")
def rotate(
    images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Rotates images counter-clockwise by angles in radians.

    Args:
      images: Image or batch of images.
      angles: Angles in radians, one or one per image.
      interpolation: "NEAREST" or "BILINEAR".
      name: A name for the operation (optional).
    """
    images = convert_to_tensor(images)
    rank = tensor_shape.as_shape(images.shape).rank
    size = cast(op("Shape", images), "float32")
    high, wide = (size[0], size[1]) if rank in (2, 3) else (size[1], size[2])
    return transform(
        images, angles_to_projective_transforms(angles, high, wide), interpolation, name=name
    )


@export(v1="contrib.image.translate")
def translate(
    images: TensorLike,
    translations: TensorLike,
    interpolation: str = "NEAREST",
    name: str | None = None,
) -> Tensor:
    """Translates images by (dx, dy).

    Args:
      images: Image or batch of images.
      translations: Vector (dx, dy), or one per image.
      interpolation: "NEAREST" or "BILINEAR".
      name: A name for the operation (optional).
    """
    moves = op("Reshape", convert_to_tensor(translations, "float32"), [-1, 2])
    dx, dy = op("Unpack", moves, num=2, axis=1)
    one, zero = op("OnesLike", dx), op("ZerosLike", dx)
    return transform(
        images,
        op("Pack", [one, zero, -dx, zero, one, -dy, zero, zero], axis=1),
        interpolation,
        name=name,
    )
