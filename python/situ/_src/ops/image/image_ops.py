# SPDX-License-Identifier: Apache-2.0
"""image_ops.py: tf.image: crop, pad, flip, rotate and resize images [height, width, channels] or
batches of them."""

from __future__ import annotations

import numpy

from situ._src.framework import style, tensor_shape
from situ._src.framework.api import OPS, export, named
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, get_static_value, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.composite_dispatch import ragged_version
from situ._src.ops.image.image_checks import (
    after,
    as_batch,
    by_rank,
    check_count,
    check_image,
    dimensions,
    is_tensor,
    known_sizes,
    require,
    unbatch,
    with_checks,
)
from situ._src.ops.image.resize_filters import KERNELS, NUMBERS, resize_by_weights

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _flip(axis, default):
    def flip(image: TensorLike) -> Tensor:
        """Flips an image or a batch of images.

        Args:
          image: An image [height, width, channels], or a batch of them.
        """
        with scope(None, default):
            image = with_checks(image)
            return by_rank(
                image,
                lambda: _with_shape(op("ReverseV2", image, [axis]), image),
                lambda: op("ReverseV2", image, [axis + 1]),
            )

    flip.__name__ = default
    return flip


def _with_shape(result, image):
    """Returns the result with the static shape of an image."""
    shape = tensor_shape.as_shape(image.shape)
    result.set_shape([None] * 3 if shape.rank is None else shape)
    return result


flip_up_down = export("image.flip_up_down")(_flip(0, "flip_up_down"))
flip_left_right = export("image.flip_left_right")(_flip(1, "flip_left_right"))


@export("image.transpose", v1="image.transpose_image")
def transpose(image: TensorLike, name: str | None = None) -> Tensor:
    """Swaps the height and width of an image or a batch of images.

    Args:
      image: An image or a batch of images.
      name: A name for the operation (optional).
    """
    with scope(name, "transpose"):
        image = with_checks(image)
        return by_rank(
            image,
            lambda: op("Transpose", image, [1, 0, 2], name=name),
            lambda: op("Transpose", image, [0, 2, 1, 3], name=name),
        )


def _rotations(image, first):
    """Returns functions that rotate by 0, 90, 180 and 270 degrees; `first` is the row axis."""
    order = [*range(first), first + 1, first, first + 2]
    return [
        lambda: image,
        lambda: op("Transpose", op("ReverseV2", image, [first + 1]), order),
        lambda: op("ReverseV2", image, [first, first + 1]),
        lambda: op("ReverseV2", op("Transpose", image, order), [first + 1]),
    ]


def _rotate(image, k, first):
    known = constant_value(k)
    rotations = _rotations(image, first)
    if known is not None:
        return rotations[int(known)]()
    cases = [(op("Equal", k, i), rotations[i]) for i in (1, 2, 3)]
    result = named("case")(cases, default=rotations[0], exclusive=True)
    shape = tensor_shape.as_shape(image.shape)
    if shape.rank is not None:
        sizes = shape.as_list()
        result.set_shape([*sizes[:first], None, None, sizes[first + 2]])
    return result


@export("image.rot90")
def rot90(image: TensorLike, k: TensorLike = 1, name: str | None = None) -> Tensor:
    """Rotates images counter-clockwise by multiples of 90 degrees.

    Args:
      image: An image or a batch of images.
      k: How often to rotate by 90 degrees, a scalar.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `image`.
    """
    with scope(name, "rot90"):
        image = with_checks(image)
        k = convert_to_tensor(k, "int32", "k")
        tensor_shape.as_shape(k.shape).assert_has_rank(0)
        turns = op("FloorMod", k, 4)
        return by_rank(image, lambda: _rotate(image, turns, 0), lambda: _rotate(image, turns, 1))


def _ints(values):
    """Packs numbers and scalar tensors; int64 if one of the numbers or tensors needs it."""
    wide = any(
        v.dtype.name == "int64" if is_tensor(v) else not -(2**31) <= v < 2**31 for v in values
    )
    dtype = "int64" if wide else "int32"
    if not any(map(is_tensor, values)):
        return constant([int(v) for v in values], dtype)
    return op("Pack", [cast(v, dtype) if is_tensor(v) else constant(v, dtype) for v in values])


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
        images, is_batch = as_batch(image)
        checks = check_image(images)
        batch, height, width, depth = dimensions(images)
        checks += require(offset_width >= 0, "offset_width must be >= 0.")
        checks += require(offset_height >= 0, "offset_height must be >= 0.")
        checks += require(target_width > 0, "target_width must be > 0.")
        checks += require(target_height > 0, "target_height must be > 0.")
        checks += require(
            width >= (target_width + offset_width), "width must be >= target + offset."
        )
        checks += require(
            height >= (target_height + offset_height), "height must be >= target + offset."
        )
        images = after(checks, images)
        begin = _ints([0, offset_height, offset_width, 0])
        size = _ints([-1, target_height, target_width, -1])
        result = op("Slice", images, cast(begin, size.dtype), cast(size, begin.dtype))
        result.set_shape(known_sizes(batch, target_height, target_width, depth))
        return unbatch(result, is_batch)


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
    return _pad_image(image, offset_height, offset_width, target_height, target_width, check_image)


def _pad_image(image, offset_height, offset_width, target_height, target_width, check):
    """Pads images with zeros; `check` returns the assertions of the images."""
    with scope(None, "pad_to_bounding_box"):
        images, is_batch = as_batch(image)
        batch, height, width, depth = dimensions(images)
        right = target_width - offset_width - width
        below = target_height - offset_height - height
        checks = check(images)
        checks += require(offset_height >= 0, "offset_height must be >= 0")
        checks += require(offset_width >= 0, "offset_width must be >= 0")
        checks += require(right >= 0, "width must be <= target - offset")
        checks += require(below >= 0, "height must be <= target - offset")
        images = after(checks, images)
        pads = _ints([0, 0, offset_height, below, offset_width, right, 0, 0])
        result = op("Pad", images, op("Reshape", pads, [4, 2]))
        result.set_shape(known_sizes(batch, target_height, target_width, depth))
        return unbatch(result, is_batch)


def _unchecked(images):
    """Returns no assertions, for images that have been checked."""
    del images  # as the name says
    return []


def _maximum(a, b):
    return op("Maximum", a, b) if is_tensor(a) or is_tensor(b) else max(a, b)


def _minimum(a, b):
    return op("Minimum", a, b) if is_tensor(a) or is_tensor(b) else min(a, b)


def _check_target(images, target_height, target_width):
    """Returns the assertions of a batch and a size that it shall have."""
    return [
        *check_image(images),
        *require(target_width > 0, "target_width must be > 0."),
        *require(target_height > 0, "target_height must be > 0."),
    ]


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

    Raises:
      ValueError: If the size is not positive or an image is empty; if these are tensors, the
        operation fails with InvalidArgumentError when it runs.
    """
    with scope(None, "resize_image_with_crop_or_pad"):
        images, is_batch = as_batch(image)
        checks = _check_target(images, target_height, target_width)
        images = after(checks, images)
        target_height, target_width = (
            after(checks, size) if is_tensor(size) else size
            for size in (target_height, target_width)
        )
        _, height, width, _ = dimensions(images)
        pairs = ((target_height, height), (target_width, width))
        crop = [_maximum(-(target - size) // 2, 0) for target, size in pairs]
        pad = [_maximum((target - size) // 2, 0) for target, size in pairs]
        within = [_minimum(target, size) for target, size in pairs]
        cropped = crop_to_bounding_box(images, *crop, *within)
        padded = _pad_image(cropped, pad[0], pad[1], target_height, target_width, _unchecked)
        return unbatch(padded, is_batch)


def _center(size, fraction, known):
    """Returns the start and length of the central part of an axis."""
    if is_tensor(size) or known is None:
        exact = cast(size, "float64")
        start = cast((exact - exact * cast(fraction, "float64")) / 2, "int32")
    else:
        start = int((float(size) - float(size) * known) / 2)
    return start, size - start * 2


@export("image.central_crop")
def central_crop(image: TensorLike, central_fraction: TensorLike) -> Tensor:
    """Crops the central part of images in both directions.

    Args:
      image: An image or a batch of images.
      central_fraction: The part of the height and width to keep, in (0, 1]; a number or a scalar
        tensor.

    Returns:
      A tensor of the type of `image`.

    Raises:
      ValueError: If the fraction or the rank of the image is wrong.
    """
    with scope(None, "central_crop"):
        image = convert_to_tensor(image, name="image")
        known = central_fraction
        if is_tensor(known):
            known = constant_value(known)
        if known is None:
            above, below = central_fraction > 0.0, central_fraction <= 1.0
            valid = op("LogicalAnd", above, below)
            image = after(require(valid, "central_fraction must be within (0, 1]"), image)
        elif not 0.0 < known <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        elif known == 1.0:
            return image
        check_image(image)
        rank = tensor_shape.as_shape(image.shape).rank
        if rank not in (3, 4):
            raise ValueError(
                f"`image` should either be a Tensor with rank = 3 or rank = 4. Had rank = {rank}."
            )
        images, is_batch = as_batch(image)
        batch, height, width, depth = dimensions(images)
        top, high = _center(height, central_fraction, known)
        left, wide = _center(width, central_fraction, known)
        result = op("Slice", images, _ints([0, top, left, 0]), _ints([-1, high, wide, -1]))
        result.set_shape(known_sizes(batch, high, wide, depth))
        return unbatch(result, is_batch)


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
    2: "ResizeBicubic",
    3: "ResizeArea",
    "bilinear": "ResizeBilinear",
    "nearest": "ResizeNearestNeighbor",
    "bicubic": "ResizeBicubic",
    "area": "ResizeArea",
}


def _fit_aspect_ratio(images, size):
    """Returns the largest size within `size` that keeps the aspect ratio."""
    current = [cast(convert_to_tensor(v), "float32") for v in dimensions(images)[1:3]]
    target = [cast(size[k], "float32") for k in (0, 1)]
    scale = op("Minimum", target[0] / current[0], target[1] / current[1])
    return op("Pack", [cast(op("Round", scale * v), "int32") for v in current])


def _as_size(size):
    """Converts [height, width] to an int32 tensor."""
    try:
        result = convert_to_tensor(size, "int32", "size")
    except (TypeError, ValueError):
        raise ValueError("'size' must be a 1-D int32 Tensor") from None
    if not tensor_shape.as_shape(result.shape).is_compatible_with([2]):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    return result


def _resize_batch(batch, size, method, attrs, antialias):
    method = NUMBERS.get(method, method)
    if method in KERNELS and (antialias or method not in _OPS_BY_METHOD):
        return resize_by_weights(batch, size, method, antialias)
    if method not in _OPS_BY_METHOD:
        raise ValueError(f"Resize method is not implemented: {method}")
    if _OPS_BY_METHOD[method] == "ResizeArea":  # has no half_pixel_centers
        attrs = {k: v for k, v in attrs.items() if k == "align_corners"}
    return op(_OPS_BY_METHOD[method], batch, size, **attrs)


def _resize(images, size, method, attrs, preserve, name, antialias=None):
    """Resizes images; `antialias` is None for TensorFlow 1, which skips images of that size."""
    with scope(name, "resize"):
        images = convert_to_tensor(images, name="images")
        rank = tensor_shape.as_shape(images.shape).rank
        if rank is None:
            raise ValueError("'images' contains no shape.")
        if rank not in (3, 4):
            raise ValueError("'images' must have either 3 or 4 dimensions.")
        batch, is_batch = as_batch(images)
        size = _as_size(size)
        if preserve:
            size = _fit_aspect_ratio(batch, size)
        known = _static_size(size)
        outer = tensor_shape.as_shape(batch.shape).as_list()
        check_count(outer[0], *known, outer[3])
        if antialias is None and None not in known and dimensions(batch)[1:3] == known:
            return images
        method = getattr(method, "lower", lambda: method)()
        result = _resize_batch(batch, size, method, attrs, antialias)
        result.set_shape([None, *known, None])
        return unbatch(result, is_batch)


def _static_size(size):
    """Returns height and width as far as they are known when the graph is built."""
    known = get_static_value(size, partial=True)
    if known is None:
        return [None, None]
    return [None if n is None or n < 0 else int(n) for n in known]


@export(v1=("image.resize_images", "image.resize"))
@ragged_version("ragged_partition_ops", "resize_images_v1")
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
@ragged_version("ragged_partition_ops", "resize_images")
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
    return _resize(
        images,
        size,
        method,
        dict(half_pixel_centers=True),
        preserve_aspect_ratio,
        name,
        bool(antialias),
    )


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
    ("bicubic", "ResizeBicubic"),
    ("nearest_neighbor", "ResizeNearestNeighbor"),
    ("area", "ResizeArea"),
):
    export(v1="image.resize_" + _name)(_method(_op_name))


def _check_gray(images):
    """Checks that images have one channel; returns the assertions of what is not known yet."""
    shape, text = tensor_shape.as_shape(images.shape), "Last dimension of a grayscale image"
    if shape.rank is not None and shape.rank < 2:
        shown = "" if style.is_graph_program() else f" (shape {images.shape})"
        raise ValueError(f"A grayscale image{shown} must be at least two-dimensional.")
    if shape.is_fully_defined():
        return require(shape.as_list()[-1] == 1, text + " should be size 1.")
    last = op("StridedSlice", shape_op(images), [-1], [0], [1], shrink_axis_mask=1)
    enough = op("GreaterEqual", op("Rank", images), 2)
    return [
        *require(op("Equal", last, 1), text + " should be size 1."),
        *require(enough, "A grayscale image must be at least two-dimensional."),
    ]


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Repeats the channel of grayscale images three times.

    Args:
      images: An image or a batch of images.
      name: A name for the operation (optional).
    """
    with scope(name, "grayscale_to_rgb"):
        images = convert_to_tensor(images, name="images")
        images = after(_check_gray(images), images)
        shape = tensor_shape.as_shape(images.shape)
        if shape.rank is not None:
            multiples = constant([1] * (shape.rank - 1) + [3], "int32")
        else:
            ones = op("Fill", op("ExpandDims", op("Rank", images) - 1, 0), 1)
            multiples = op("ConcatV2", [ones, constant([3], "int32")], 0)
        result = op("Tile", images, multiples, name=name)
        if shape.rank is not None:
            result.set_shape([*shape.as_list()[:-1], 3])
        return result


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
    """Sums the absolute differences of neighboring pixels of each image.

    Args:
      images: An image or a batch of images.
      name: A name for the operation (optional).
    """
    with scope(name, "total_variation"):
        images = convert_to_tensor(images)
        if tensor_shape.as_shape(images.shape).rank not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        down = images[..., 1:, :, :] - images[..., :-1, :, :]
        across = images[..., 1:, :] - images[..., :-1, :]
        axes = constant([-3, -2, -1], "int32")
        return OPS["Sum"](op("Abs", down), axes) + OPS["Sum"](op("Abs", across), axes)


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
    """Extracts patches of images; see `tf.image.extract_patches`.

    Args:
      images: An image or a batch of images.
      ksizes: The size of the patches in each dimension.
      strides: The stride in each dimension.
      rates: The dilation in each dimension.
      padding: "SAME", "VALID", or explicit paddings.
      name: A name for the operation (optional).
      sizes: A deprecated name of `ksizes`.
    """
    return extract_patches(
        images, ksizes if ksizes is not None else sizes, strides, rates, padding, name
    )


@export(v1=("image.resize_image_with_pad", "image.resize_with_pad"))
def resize_image_with_pad(
    image: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
    method: Any = 0,
    align_corners: bool = False,
) -> Tensor:
    """Resizes images to fit a size, keeping the aspect ratio, and pads them with zeros.

    Args:
      image: An image or a batch of images.
      target_height: The height of the result.
      target_width: The width of the result.
      method: The interpolation method, see `tf.image.resize`.
      align_corners: Whether the centers of the corner pixels are aligned.
    """
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
    """Resizes images to fit a size, keeping the aspect ratio, and pads them with zeros.

    Args:
      image: An image or a batch of images.
      target_height: The height of the result.
      target_width: The width of the result.
      method: The interpolation method, see `tf.image.resize`.
      antialias: Whether to filter when the image shrinks.
    """
    return _with_pad(
        image,
        target_height,
        target_width,
        lambda x, size: resize(x, size, method, antialias=antialias),
    )


def _fit(have, want):
    """Returns the size and the padding in front of images that shall fit a size: integers if known,
    else tensors."""
    if not any(map(is_tensor, (*have, *want))):
        sizes = numpy.array([have, want], "float32")
        size = sizes[0] / (sizes[0] / sizes[1]).max()  # float32 as in TensorFlow: rounded down
        front = numpy.maximum(numpy.floor((sizes[1] - size) / 2), 0)
        return size.astype(int).tolist(), front.astype(int).tolist()
    have, want = ([cast(convert_to_tensor(v), "float32") for v in pair] for pair in (have, want))
    ratio = op("Maximum", *[h / w for h, w in zip(have, want)])
    size = [h / ratio for h in have]
    front = [op("Floor", (w - s) / 2) for w, s in zip(want, size)]
    return (
        op("Pack", [cast(op("Floor", s), "int32") for s in size]),
        [op("Maximum", cast(f, "int32"), 0) for f in front],
    )


def _with_pad(image, target_height, target_width, resize):
    with scope(None, "resize_image_with_pad"):
        images, is_batch = as_batch(image)
        images = after(_check_target(images, target_height, target_width), images)
        size, front = _fit(dimensions(images)[1:3], (target_height, target_width))
        result = pad_to_bounding_box(resize(images, size), *front, target_height, target_width)
        return unbatch(result, is_batch)
