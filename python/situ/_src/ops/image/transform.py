# SPDX-License-Identifier: Apache-2.0
"""transform.py: tf.image.crop_and_resize, and the projective transforms of tf.contrib.image."""

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.check_ops import checked


def _at(images, which, y, x):
    """Pixels of images [batch, height, width, channels] at places that are inside."""
    places = op("Pack", [which, cast(y, "int32"), cast(x, "int32")], axis=-1)
    return op("GatherNd", images, places)


def sample(images, which, y, x, method, outside):
    """Pixels at places between pixels; [..., channels]. `outside`: their value, or None: 0 taken
    for pixels that are not there."""
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

    def pixel(v, u, within=None):
        found = _at(
            images,
            which,
            op("Maximum", op("Minimum", v, high), 0.0),
            op("Maximum", op("Minimum", u, wide), 0.0),
        )
        if within is None:
            return found
        return found * op("ExpandDims", cast(within, "float32"), -1)

    if method == "nearest":
        v, u = op("Floor", y + 0.5), op("Floor", x + 0.5)
        made = pixel(v, u, inside(v, u) if outside is None else None)
    else:
        top, left = op("Floor", y), op("Floor", x)
        down, right = op("ExpandDims", y - top, -1), op("ExpandDims", x - left, -1)
        low, far = op("Ceil", y), op("Ceil", x)
        corners = [(top, left), (top, far), (low, left), (low, far)]
        a, b, c, d = [pixel(v, u, inside(v, u) if outside is None else None) for v, u in corners]
        upper, lower = a + (b - a) * right, c + (d - c) * right
        made = upper + (lower - upper) * down
    if outside is None:
        return made
    within = op("ExpandDims", inside(y, x), -1)
    return op("SelectV2", within, made, op("ZerosLike", made) + outside)


def _line(low, high, size, count):
    """[boxes, count] places along one side of boxes, in pixels."""
    last = cast(size, "float32") - 1.0
    low, high = op("ExpandDims", low, 1), op("ExpandDims", high, 1)
    steps = op("Reshape", cast(op("Range", constant(0), count, constant(1)), "float32"), [1, -1])
    many = cast(count, "float32") - 1.0
    middle = op("ZerosLike", steps) + 0.5 * (low + high) * last
    line = low * last + steps * op("DivNoNan", (high - low) * last, many)
    return op("SelectV2", op("Greater", many, 0.0), line, middle)


def _crop(image, boxes, box_indices, crop_size, method, extrapolation_value, name):
    with scope(name, "CropAndResize"):
        image, boxes = convert_to_tensor(image), convert_to_tensor(boxes, "float32")
        known = constant_value(crop_size) if hasattr(crop_size, "dtype") else crop_size
        sizes = convert_to_tensor(crop_size, "int32")
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
        made = sample(image, which, y, x, method, extrapolation_value)
        rank = tensor_shape.as_shape(image.shape)
        if hasattr(made, "set_shape") and rank.rank == 4 and known is not None:
            made.set_shape([None, int(known[0]), int(known[1]), rank.as_list()[3]])
        return made


@export(v1="image.crop_and_resize")
def crop_and_resize(
    image,
    boxes,
    box_ind=None,
    crop_size=None,
    method="bilinear",
    extrapolation_value=0,
    name=None,
    box_indices=None,
):
    """Parts of images, one for each box [y1, x1, y2, x2] of the image that box_ind says."""
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
    image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None
):
    return _crop(image, boxes, box_indices, crop_size, method, extrapolation_value, name)


# tf.contrib.image


@export(v1="contrib.image.transform")
def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Images warped: a pixel (x, y) comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)
    with k = c0 x + c1 y + 1, of transforms [a0, a1, a2, b0, b1, b2, c0, c1]."""
    with scope(name, "transform"):
        given = convert_to_tensor(images)
        rank = tensor_shape.as_shape(given.shape).rank
        image = {2: lambda: given[None, :, :, None], 3: lambda: given[None], 4: lambda: given}[
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
        many = op("Reshape", op("Range", 0, shape[0], 1), [-1, 1, 1])
        none = cast(op("ZerosLike", many), "float32")
        x, y = (a0 * u + a1 * v + a2) / k + none, (b0 * u + b1 * v + b2) / k + none
        which = many + cast(op("ZerosLike", x), "int32")
        made = sample(image, which, y, x, interpolation.lower(), None)
        made = cast(made, given.dtype)
        if output_shape is None and hasattr(made, "set_shape"):
            made.set_shape(image.shape)
        return made[0, :, :, 0] if rank == 2 else made[0] if rank == 3 else made


@export(v1="contrib.image.angles_to_projective_transforms")
def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """Transforms that turn images of a size, counter-clockwise."""
    with scope(name, "angles_to_projective_transforms"):
        angles = op("Reshape", convert_to_tensor(angles, "float32"), [-1])
        cos, sin = op("Cos", angles), op("Sin", angles)
        wide, high = image_width - 1.0, image_height - 1.0
        x = (wide - (cos * wide - sin * high)) / 2.0
        y = (high - (sin * wide + cos * high)) / 2.0
        zero = op("ZerosLike", cos)
        return op("Pack", [cos, -sin, x, sin, cos, y, zero, zero], axis=1)


@export(v1="contrib.image.rotate")
def rotate(images, angles, interpolation="NEAREST", name=None):
    """Images turned by angles in radians, counter-clockwise."""
    images = convert_to_tensor(images)
    rank = tensor_shape.as_shape(images.shape).rank
    size = cast(op("Shape", images), "float32")
    high, wide = (size[0], size[1]) if rank in (2, 3) else (size[1], size[2])
    return transform(
        images, angles_to_projective_transforms(angles, high, wide), interpolation, name=name
    )


@export(v1="contrib.image.translate")
def translate(images, translations, interpolation="NEAREST", name=None):
    """Images moved by (dx, dy)."""
    moves = op("Reshape", convert_to_tensor(translations, "float32"), [-1, 2])
    dx, dy = op("Unpack", moves, num=2, axis=1)
    one, zero = op("OnesLike", dx), op("ZerosLike", dx)
    return transform(
        images,
        op("Pack", [one, zero, -dx, zero, one, -dy, zero, zero], axis=1),
        interpolation,
        name=name,
    )
