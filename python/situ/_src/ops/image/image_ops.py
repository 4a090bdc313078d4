# SPDX-License-Identifier: Apache-2.0
"""image_ops.py: tf.image: crop, pad, flip, rotate and resize images [height, width, channels] or
batches of them."""

from __future__ import annotations

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.image.resize_filters import KERNELS, NUMBERS, resize_bicubic, resize_by_weights

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def rank_of(image):
    """Returns the rank of an image or batch, 3 or 4; ValueError for other ranks."""
    rank = tensor_shape.as_shape(image.shape).rank
    if rank not in (3, 4):
        raise ValueError(f"'image' (shape {image.shape}) must have either 3 or 4 dimensions.")
    return rank


def sizes_of(image):
    """Returns (height, width): integers if known, else tensors."""
    first = rank_of(image) - 3
    known = tensor_shape.as_shape(image.shape).as_list()
    whole = None
    result = []
    for d in (first, first + 1):
        if known[d] is None and whole is None:
            whole = shape_op(image)
        result.append(
            known[d]
            if known[d] is not None
            else op("StridedSlice", whole, [d], [d + 1], [1], shrink_axis_mask=1)
        )
    return result


def _are_ints(*values):
    return all(isinstance(v, int) for v in values)


def _reversed(axis, default):
    def flip(image: TensorLike, name: str | None = None) -> Tensor:
        """Flips an image or a batch of images."""
        with scope(name, default) as full:
            image = convert_to_tensor(image, name="image")
            return op("ReverseV2", image, [rank_of(image) - 3 + axis], name=full)

    return flip


flip_up_down = export("image.flip_up_down")(_reversed(0, "flip_up_down"))
flip_left_right = export("image.flip_left_right")(_reversed(1, "flip_left_right"))


@export("image.transpose", v1="image.transpose_image")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Swaps the height and width of an image or a batch of images."""
    image = convert_to_tensor(image, name="image")
    return op(
        "Transpose",
        image,
        [1, 0, 2] if rank_of(image) == 3 else [0, 2, 1, 3],
        name=name or "transpose",
    )


@export("image.rot90")
def rot90(image: TensorLike, k: int = 1, name: str | None = None) -> Tensor:
    """Rotates images counter-clockwise by multiples of 90 degrees.

    Args:
      image: An image or a batch of images.
      k: How often to rotate by 90 degrees.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `image`.
    """
    with scope(name, "rot90"):
        image = convert_to_tensor(image, name="image")
        k = int(k) % 4
        if k == 1:
            return flip_up_down(transpose(image))
        if k == 2:
            return flip_left_right(flip_up_down(image))
        return transpose(flip_up_down(image)) if k == 3 else image


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> Tensor:
    """Crops images to a box.

    Args:
      image: An image or a batch of images.
      offset_height: The top row of the box.
      offset_width: The left column of the box.
      target_height: The height of the box.
      target_width: The width of the box.

    Returns:
      A tensor of the type of `image`.

    Raises:
      ValueError: If the box exceeds the image and all sizes are known; otherwise the operation
        fails with InvalidArgumentError when it runs.
    """
    with scope(None, "crop_to_bounding_box"):
        image = convert_to_tensor(image, name="image")
        height, width = sizes_of(image)
        if _are_ints(height, width, offset_height, offset_width, target_height, target_width):
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
def pad_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> Tensor:
    """Pads images with zeros.

    Args:
      image: An image or a batch of images.
      offset_height: The number of rows of zeros on top.
      offset_width: The number of columns of zeros on the left.
      target_height: The height of the result.
      target_width: The width of the result.

    Returns:
      A tensor of the type of `image`.

    Raises:
      ValueError: If the image does not fit and all sizes are known; otherwise the operation fails
        with InvalidArgumentError when it runs.
    """
    with scope(None, "pad_to_bounding_box"):
        image = convert_to_tensor(image, name="image")
        height, width = sizes_of(image)
        below = target_height - offset_height - height
        right = target_width - offset_width - width
        if _are_ints(below) and below < 0:
            raise ValueError("height must be <= target - offset")
        if _are_ints(right) and right < 0:
            raise ValueError("width must be <= target - offset")
        pads = [[offset_height, below], [offset_width, right], [0, 0]]
        if rank_of(image) == 4:
            pads = [[0, 0]] + pads
        result = op("Pad", image, convert_to_tensor(pads, "int32"))
        sizes = tensor_shape.as_shape(image.shape).as_list()
        result.set_shape(
            [
                *sizes[:-3],
                *[n if _are_ints(n) else None for n in (target_height, target_width)],
                sizes[-1],
            ]
        )
        return result


def _maximum(a, b):
    return max(a, b) if _are_ints(a, b) else op("Maximum", a, b)


def _minimum(a, b):
    return min(a, b) if _are_ints(a, b) else op("Minimum", a, b)


@export("image.resize_with_crop_or_pad", v1="image.resize_image_with_crop_or_pad")
def resize_with_crop_or_pad(
    image: TensorLike, target_height: TensorLike, target_width: TensorLike
) -> Tensor:
    """Crops or pads images symmetrically to a size.

    Args:
      image: An image or a batch of images.
      target_height: The height of the result.
      target_width: The width of the result.

    Returns:
      A tensor of the type of `image`.
    """
    with scope(None, "resize_image_with_crop_or_pad"):
        image = convert_to_tensor(image, name="image")
        height, width = sizes_of(image)
        crop = [
            _maximum((size - target) // 2, 0)
            for size, target in ((height, target_height), (width, target_width))
        ]
        pad = [
            _maximum((target - size) // 2, 0)
            for size, target in ((height, target_height), (width, target_width))
        ]
        cropped = crop_to_bounding_box(
            image, *crop, _minimum(target_height, height), _minimum(target_width, width)
        )
        return pad_to_bounding_box(cropped, *pad, target_height, target_width)


@export("image.central_crop")
def central_crop(image: TensorLike, central_fraction: TensorLike) -> Tensor:
    """Crops the central `central_fraction` of images in both directions."""
    with scope(None, "central_crop"):
        image = convert_to_tensor(image, name="image")
        if not 0 < central_fraction <= 1:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1:
            return image
        sizes, starts = [], []
        for size in sizes_of(image):
            if _are_ints(size):
                start = int((size - size * central_fraction) / 2)
            else:
                exact = cast(size, "float64")
                start = cast((exact - exact * central_fraction) / 2, "int32")
            starts.append(start)
            sizes.append(size - start * 2)
        return crop_to_bounding_box(image, *starts, *sizes)


class ResizeMethodV1:
    """Resize methods of TensorFlow 1."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = 0, 1, 2, 3


class ResizeMethod:
    """Resize methods."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = "bilinear", "nearest", "bicubic", "area"
    LANCZOS3, LANCZOS5, GAUSSIAN = "lanczos3", "lanczos5", "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


export(v1="image.ResizeMethod")(ResizeMethodV1)
export(v2="image.ResizeMethod")(ResizeMethod)
_OPS_BY_METHOD = {
    0: "ResizeBilinear",
    1: "ResizeNearestNeighbor",
    3: "ResizeArea",
    "bilinear": "ResizeBilinear",
    "nearest": "ResizeNearestNeighbor",
    "area": "ResizeArea",
}


def _fit_aspect_ratio(image, size):
    """Returns the largest size within `size` that keeps the aspect ratio."""
    height, width = sizes_of(image)
    if not isinstance(size, (list, tuple)):
        size = op("Unpack", convert_to_tensor(size, "int32"), num=2, axis=0)
    if not _are_ints(height, width, *size):
        current, target = (
            [cast(convert_to_tensor(v), "float32") for v in pair]
            for pair in ((height, width), size)
        )
        scale = op("Minimum", target[0] / current[0], target[1] / current[1])
        return op("Pack", [cast(op("Round", scale * v), "int32") for v in current])
    scale = min(size[0] / height, size[1] / width)
    return [int(round(scale * height)), int(round(scale * width))]


def _resize_batch(batch, size, method, attrs, antialias):
    method = NUMBERS.get(method, method)
    if method in KERNELS and (antialias or method not in _OPS_BY_METHOD):
        return resize_by_weights(batch, size, method, antialias)
    if method not in _OPS_BY_METHOD:
        raise ValueError(f"Resize method is not implemented: {method}")
    if _OPS_BY_METHOD[method] == "ResizeArea":  # has no half_pixel_centers
        attrs = {k: v for k, v in attrs.items() if k == "align_corners"}
    return op(_OPS_BY_METHOD[method], batch, size, **attrs)


def _resize(images, size, method, attrs, preserve, name, antialias=False):
    with scope(name, "resize"):
        images = convert_to_tensor(images, name="images")
        is_single = rank_of(images) == 3
        if preserve:
            size = _fit_aspect_ratio(images, size)
        if (
            isinstance(size, (list, tuple))
            and _are_ints(*size, *sizes_of(images))
            and list(sizes_of(images)) == list(size)
        ):
            return images
        batch = op("ExpandDims", images, 0) if is_single else images
        size = convert_to_tensor(size, "int32", "size")
        method = getattr(method, "lower", lambda: method)()
        result = (
            resize_bicubic(batch, size, **attrs)
            if method in (2, "bicubic") and not antialias
            else _resize_batch(batch, size, method, attrs, antialias)
        )
        return op("Squeeze", result, [0]) if is_single else result


@export(v1=("image.resize_images", "image.resize"))
def resize_images(
    images: TensorLike,
    size: TensorLike,
    method: Any = 0,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes images.

    Args:
      images: An image or a batch of images.
      size: [height, width] of the result.
      method: A tf.image.ResizeMethod.
      align_corners: Whether the centers of the corner pixels stay at the corners.
      preserve_aspect_ratio: Whether the result is the largest image within `size` with the same
        aspect ratio.
      name: A name for the operation (optional).

    Returns:
      A float32 tensor; the type of `images` for nearest neighbor, or if the size does not change.

    Raises:
      ValueError: If the method is unknown or the rank is not 3 or 4.
    """
    return _resize(
        images, size, method, dict(align_corners=align_corners), preserve_aspect_ratio, name
    )


@export(v2="image.resize")
def resize(
    images: TensorLike,
    size: TensorLike,
    method: Any = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes images.

    Args:
      images: An image or a batch of images.
      size: [height, width] of the result.
      method: A tf.image.ResizeMethod or its name, such as "bilinear", "nearest" or "lanczos3".
      preserve_aspect_ratio: Whether the result is the largest image within `size` with the same
        aspect ratio.
      antialias: Whether to filter before downsampling.
      name: A name for the operation (optional).

    Returns:
      A float32 tensor; the type of `images` for nearest neighbor.

    Raises:
      ValueError: If the method is unknown or the rank is not 3 or 4.
    """
    images = convert_to_tensor(images)
    result = _resize(
        images, size, method, dict(half_pixel_centers=True), preserve_aspect_ratio, name, antialias
    )
    return result if method in ("nearest", 1) else cast(result, "float32")


def _method(op_name):
    def resize_by(
        images: TensorLike,
        size: TensorLike,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        """Resizes a batch of images with one method; see `tf.image.resize`."""
        attrs = {} if op_name == "ResizeArea" else dict(half_pixel_centers=half_pixel_centers)
        return op(
            op_name,
            images,
            convert_to_tensor(size, "int32"),
            align_corners=align_corners,
            name=name,
            **attrs,
        )

    return resize_by


for _name, _op_name in (
    ("bilinear", "ResizeBilinear"),
    ("nearest_neighbor", "ResizeNearestNeighbor"),
    ("area", "ResizeArea"),
):
    export(v1="image.resize_" + _name)(_method(_op_name))


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeats the channel of grayscale images three times."""
    images = convert_to_tensor(images, name="images")
    rank = tensor_shape.as_shape(images.shape).rank
    return op("Tile", images, [1] * (rank - 1) + [3], name=name or "grayscale_to_rgb")


@export("image.extract_patches")
def extract_patches(
    images: TensorLike,
    sizes: TensorLike,
    strides: Any,
    rates: Any,
    padding: Any,
    name: str | None = None,
) -> Tensor:
    """Extracts patches of images into the channel dimension.

    Args:
      images: A tensor of shape [batch, height, width, channels].
      sizes: [1, rows, columns, 1], the size of a patch.
      strides: [1, rows, columns, 1], the distance of patches.
      rates: [1, rows, columns, 1], the dilation of a patch.
      padding: "SAME" or "VALID".
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, rows of patches, columns of patches, rows * columns * channels].
    """
    images = convert_to_tensor(images)
    high, wide, channels = sizes[1], sizes[2], images.shape.as_list()[-1]
    count = high * wide * channels
    dtype = images.dtype
    values = images if dtype.is_floating else cast(images, "float32")
    kernel = convert_to_tensor(numpy.eye(count).reshape(high, wide, channels, count), values.dtype)
    result = op(
        "Conv2D",
        values,
        kernel,
        strides=list(strides),
        padding=padding,
        dilations=list(rates),
        name=name,
    )
    return result if dtype.is_floating else cast(result, dtype)


@export("image.total_variation")
def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Sums the absolute differences of neighbouring pixels of each image."""
    with scope(name, "total_variation"):
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
    images: TensorLike,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: TensorLike = None,
) -> Tensor:
    """Extracts patches of images; see `tf.image.extract_patches`."""
    return extract_patches(
        images, ksizes if ksizes is not None else sizes, strides, rates, padding, name
    )


def _with_pad_at_run_time(image, have, want, resize):
    """Resizes and pads an image whose size is known only at run time."""
    have, real = ([cast(convert_to_tensor(v), "float32") for v in pair] for pair in (have, want))
    ratio = op("Maximum", *[h / w for h, w in zip(have, real)])
    size = [h / ratio for h in have]
    result = resize(image, cast(op("Floor", op("Pack", size)), "int32"))
    front = [
        cast(op("Maximum", constant(0, "float32"), op("Floor", (w - s) / 2)), "int32")
        for w, s in zip(real, size)
    ]
    return pad_to_bounding_box(result, *front, *want)


@export(v1=("image.resize_image_with_pad", "image.resize_with_pad"))
def resize_image_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: Any = 0,
    align_corners: bool = False,
) -> Tensor:
    """Resizes images to fit a size, keeping the aspect ratio, and pads them with zeros."""
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda x, size: resize_images(x, size, method, align_corners),
    )


@export(v2="image.resize_with_pad")
def resize_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: Any = "bilinear",
    antialias: bool = False,
) -> Tensor:
    """Resizes images to fit a size, keeping the aspect ratio, and pads them with zeros."""
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
        return _with_pad_at_run_time(image, (height, width), (target_height, target_width), resize)
    have, want = numpy.array([[height, width], [target_height, target_width]], "float32")
    size = have / (have / want).max()  # float32 as in TensorFlow, since both are rounded down
    result = resize(image, size.astype(int).tolist())
    front = numpy.maximum(numpy.floor((want - size) / 2), 0).astype(int).tolist()
    return pad_to_bounding_box(result, *front, target_height, target_width)
