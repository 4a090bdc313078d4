# SPDX-License-Identifier: Apache-2.0
"""image_ops.py: tf.image: crop, pad, flip, rotate and resize. An image is [height, width,
channels], or a batch of them."""

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.image.resize_filters import KERNELS, NUMBERS, resize_bicubic, resize_by_weights


def rank_of(image):
    rank = tensor_shape.as_shape(image.shape).rank
    if rank not in (3, 4):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return rank


def sizes_of(image):
    """(height, width): numbers where they are known, else tensors."""
    first = rank_of(image) - 3
    known = tensor_shape.as_shape(image.shape).as_list()
    whole = None
    found = []
    for d in (first, first + 1):
        if known[d] is None and whole is None:
            whole = shape_op(image)
        found.append(
            known[d]
            if known[d] is not None
            else op("StridedSlice", whole, [d], [d + 1], [1], shrink_axis_mask=1)
        )
    return found


def _is_number(*values):
    return all(isinstance(v, int) for v in values)


def _reversed(axis, default):
    def flip(image, name=None):
        with scope(name, default) as full:
            image = convert_to_tensor(image, name="image")
            return op("ReverseV2", image, [rank_of(image) - 3 + axis], name=full)

    return flip


flip_up_down = export("image.flip_up_down")(_reversed(0, "flip_up_down"))
flip_left_right = export("image.flip_left_right")(_reversed(1, "flip_left_right"))


@export("image.transpose", v1="image.transpose_image")
def transpose(image, name=None):
    """Height and width exchanged."""
    image = convert_to_tensor(image, name="image")
    return op(
        "Transpose",
        image,
        [1, 0, 2] if rank_of(image) == 3 else [0, 2, 1, 3],
        name=name or "transpose",
    )


@export("image.rot90")
def rot90(image, k=1, name=None):
    """The image turned by k times 90 degrees, against the clock."""
    with scope(name, "rot90"):
        image = convert_to_tensor(image, name="image")
        k = int(k) % 4
        if k == 1:
            return flip_up_down(transpose(image))
        if k == 2:
            return flip_left_right(flip_up_down(image))
        return transpose(flip_up_down(image)) if k == 3 else image


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The box of that size at that place."""
    with scope(None, "crop_to_bounding_box"):
        image = convert_to_tensor(image, name="image")
        height, width = sizes_of(image)
        if _is_number(height, width, offset_height, offset_width, target_height, target_width):
            if offset_height < 0 or offset_width < 0:
                raise ValueError("offset_height and offset_width must be >= 0.")
            if offset_height + target_height > height:
                raise ValueError("height must be >= target + offset.")
            if offset_width + target_width > width:
                raise ValueError("width must be >= target + offset.")
        begin, size = [offset_height, offset_width, 0], [target_height, target_width, -1]
        if rank_of(image) == 4:
            begin, size = [0] + begin, [-1] + size
        return op(
            "Slice", image, convert_to_tensor(begin, "int32"), convert_to_tensor(size, "int32")
        )


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """The image at a place of a larger one that is 0 elsewhere."""
    with scope(None, "pad_to_bounding_box"):
        image = convert_to_tensor(image, name="image")
        height, width = sizes_of(image)
        below = target_height - offset_height - height
        right = target_width - offset_width - width
        if _is_number(below) and below < 0:
            raise ValueError("height must be <= target - offset")
        if _is_number(right) and right < 0:
            raise ValueError("width must be <= target - offset")
        pads = [[offset_height, below], [offset_width, right], [0, 0]]
        if rank_of(image) == 4:
            pads = [[0, 0]] + pads
        made = op("Pad", image, convert_to_tensor(pads, "int32"))
        sizes = tensor_shape.as_shape(image.shape).as_list()
        made.set_shape(
            [
                *sizes[:-3],
                *[n if _is_number(n) else None for n in (target_height, target_width)],
                sizes[-1],
            ]
        )
        return made


def _most(a, b):
    return max(a, b) if _is_number(a, b) else op("Maximum", a, b)


def _least(a, b):
    return min(a, b) if _is_number(a, b) else op("Minimum", a, b)


@export("image.resize_with_crop_or_pad", v1="image.resize_image_with_crop_or_pad")
def resize_with_crop_or_pad(image, target_height, target_width):
    """The middle of the image, or the image in the middle of zeros."""
    with scope(None, "resize_image_with_crop_or_pad"):
        image = convert_to_tensor(image, name="image")
        height, width = sizes_of(image)
        crop = [
            _most((have - want) // 2, 0)
            for have, want in ((height, target_height), (width, target_width))
        ]
        pad = [
            _most((want - have) // 2, 0)
            for have, want in ((height, target_height), (width, target_width))
        ]
        cut = crop_to_bounding_box(
            image, *crop, _least(target_height, height), _least(target_width, width)
        )
        return pad_to_bounding_box(cut, *pad, target_height, target_width)


@export("image.central_crop")
def central_crop(image, central_fraction):
    """The middle part of the image."""
    with scope(None, "central_crop"):
        image = convert_to_tensor(image, name="image")
        if not 0 < central_fraction <= 1:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1:
            return image
        sizes, starts = [], []
        for have in sizes_of(image):
            if _is_number(have):
                start = int((have - have * central_fraction) / 2)
            else:
                real = cast(have, "float64")
                start = cast((real - real * central_fraction) / 2, "int32")
            starts.append(start)
            sizes.append(have - start * 2)
        return crop_to_bounding_box(image, *starts, *sizes)


class ResizeMethodV1:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = 0, 1, 2, 3


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN = "lanczos3", "lanczos5", "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


export(v1="image.ResizeMethod")(ResizeMethodV1)
export(v2="image.ResizeMethod")(ResizeMethod)
_ROWS = {
    0: "ResizeBilinear",
    1: "ResizeNearestNeighbor",
    3: "ResizeArea",
    "bilinear": "ResizeBilinear",
    "nearest": "ResizeNearestNeighbor",
    "area": "ResizeArea",
}


def _kept_ratio(image, size):
    """The size within `size` that has the ratio of the image."""
    height, width = sizes_of(image)
    if not isinstance(size, (list, tuple)):
        size = op("Unpack", convert_to_tensor(size, "int32"), num=2, axis=0)
    if not _is_number(height, width, *size):
        have, want = (
            [cast(convert_to_tensor(v), "float32") for v in pair]
            for pair in ((height, width), size)
        )
        scale = op("Minimum", want[0] / have[0], want[1] / have[1])
        return op("Pack", [cast(op("Round", scale * v), "int32") for v in have])
    scale = min(size[0] / height, size[1] / width)
    return [int(round(scale * height)), int(round(scale * width))]


def _by_row(batch, size, method, words, antialias):
    method = NUMBERS.get(method, method)
    if method in KERNELS and (antialias or method not in _ROWS):
        return resize_by_weights(batch, size, method, antialias)
    if method not in _ROWS:
        raise ValueError(f"Resize method is not implemented: {method}")
    if _ROWS[method] == "ResizeArea":  # it knows no centres
        words = {k: v for k, v in words.items() if k == "align_corners"}
    return op(_ROWS[method], batch, size, **words)


def _resize(images, size, method, words, preserve, name, antialias=False):
    with scope(name, "resize"):
        images = convert_to_tensor(images, name="images")
        alone = rank_of(images) == 3
        if preserve:
            size = _kept_ratio(images, size)
        if (
            isinstance(size, (list, tuple))
            and _is_number(*size, *sizes_of(images))
            and list(sizes_of(images)) == list(size)
        ):
            return images
        batch = op("ExpandDims", images, 0) if alone else images
        size = convert_to_tensor(size, "int32", "size")
        method = getattr(method, "lower", lambda: method)()
        made = (
            resize_bicubic(batch, size, **words)
            if method in (2, "bicubic") and not antialias
            else _by_row(batch, size, method, words, antialias)
        )
        return op("Squeeze", made, [0]) if alone else made


@export(v1=("image.resize_images", "image.resize"))
def resize_images(
    images, size, method=0, align_corners=False, preserve_aspect_ratio=False, name=None
):
    """The images in another size."""
    return _resize(
        images, size, method, dict(align_corners=align_corners), preserve_aspect_ratio, name
    )


@export(v2="image.resize")
def resize(
    images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None
):
    """The images in another size; antialias: smaller ones see all old pixels."""
    images = convert_to_tensor(images)
    made = _resize(
        images, size, method, dict(half_pixel_centers=True), preserve_aspect_ratio, name, antialias
    )
    return made if method in ("nearest", 1) else cast(made, "float32")


def _method(row):
    def resize_by(images, size, align_corners=False, name=None, half_pixel_centers=False):
        words = {} if row == "ResizeArea" else dict(half_pixel_centers=half_pixel_centers)
        return op(
            row,
            images,
            convert_to_tensor(size, "int32"),
            align_corners=align_corners,
            name=name,
            **words,
        )

    return resize_by


for _word, _row in (
    ("bilinear", "ResizeBilinear"),
    ("nearest_neighbor", "ResizeNearestNeighbor"),
    ("area", "ResizeArea"),
):
    export(v1="image.resize_" + _word)(_method(_row))


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images, name=None):
    images = convert_to_tensor(images, name="images")
    rank = tensor_shape.as_shape(images.shape).rank
    return op("Tile", images, [1] * (rank - 1) + [3], name=name or "grayscale_to_rgb")


@export("image.extract_patches")
def extract_patches(images, sizes, strides, rates, padding, name=None):
    """Windows of images, each as one row of its pixels: a convolution that picks them out."""
    images = convert_to_tensor(images)
    high, wide, channels = sizes[1], sizes[2], images.shape.as_list()[-1]
    count = high * wide * channels
    dtype = images.dtype
    values = images if dtype.is_floating else cast(images, "float32")
    kernel = convert_to_tensor(numpy.eye(count).reshape(high, wide, channels, count), values.dtype)
    made = op(
        "Conv2D",
        values,
        kernel,
        strides=list(strides),
        padding=padding,
        dilations=list(rates),
        name=name,
    )
    return made if dtype.is_floating else cast(made, dtype)


@export("image.total_variation")
def total_variation(images, name=None):
    """How much neighbouring pixels differ, added up for each image."""
    images = convert_to_tensor(images)
    first = rank_of(images) - 3
    total = None
    for axis in (first, first + 1):
        size = [-1] * (first + 3)
        begin = [1 if d == axis else 0 for d in range(first + 3)]
        size[axis] = sizes_of(images)[axis - first] - 1
        change = op(
            "Sub",
            op("Slice", images, begin, [-1] * (first + 3)),
            op("Slice", images, [0] * (first + 3), convert_to_tensor(size, "int32")),
        )
        one = OPS["Sum"](op("Abs", change), constant(list(range(first, first + 3)), "int32"))
        total = one if total is None else op("Add", total, one)
    return total


@export(v1=("extract_image_patches", "image.extract_image_patches"))
def extract_image_patches(
    images, ksizes=None, strides=None, rates=None, padding=None, name=None, sizes=None
):
    """The same under its older name."""
    return extract_patches(
        images, ksizes if ksizes is not None else sizes, strides, rates, padding, name
    )


def _late_pad(image, have, want, resize):
    """The same, where only a run knows how large the image is."""
    have, real = ([cast(convert_to_tensor(v), "float32") for v in pair] for pair in (have, want))
    ratio = op("Maximum", *[h / w for h, w in zip(have, real)])
    size = [h / ratio for h in have]
    made = resize(image, cast(op("Floor", op("Pack", size)), "int32"))
    front = [
        cast(op("Maximum", constant(0, "float32"), op("Floor", (w - s) / 2)), "int32")
        for w, s in zip(real, size)
    ]
    return pad_to_bounding_box(made, *front, *want)


@export(v1=("image.resize_image_with_pad", "image.resize_with_pad"))
def resize_image_with_pad(image, target_height, target_width, method=0, align_corners=False):
    """The image as large as fits, in the middle of zeros."""
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda x, size: resize_images(x, size, method, align_corners),
    )


@export(v2="image.resize_with_pad")
def resize_with_pad(image, target_height, target_width, method="bilinear", antialias=False):
    """The image as large as fits, in the middle of zeros."""
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda x, size: resize(x, size, method, antialias=antialias),
    )


def _with_pad(image, target_height, target_width, resize):
    image = convert_to_tensor(image)
    height, width = sizes_of(image)
    if not all(isinstance(n, int) for n in (height, width, target_height, target_width)):
        return _late_pad(image, (height, width), (target_height, target_width), resize)
    have, want = numpy.array([[height, width], [target_height, target_width]], "float32")
    size = have / (have / want).max()  # in TensorFlow's precision: both are rounded down
    made = resize(image, size.astype(int).tolist())
    front = numpy.maximum(numpy.floor((want - size) / 2), 0).astype(int).tolist()
    return pad_to_bounding_box(made, *front, target_height, target_width)
