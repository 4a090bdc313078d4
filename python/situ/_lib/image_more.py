# SPDX-License-Identifier: Apache-2.0
"""image_more.py: tf.image: boxes by chance, margins that keep the ratio, edges, other colours,
changes that seeds decide, how far images are apart."""
import math
from typing import Optional

import numpy

from situ._lib import errors, image_color, image_ops, shapes
from situ._lib.api import OPS, export
from situ._lib.array_ops import cast, concat, constant, convert_to_tensor, op, shape as shape_op
from situ._lib.margins import pad
from situ._lib.png import encode
from situ._lib.random_ops import random_uniform, stateless_uniform
from situ._lib.readers import py_func

_TRIES = 100


def _sampler(seeds):
    """Uniform numbers; with two seeds, that depend on them alone."""
    if seeds is None or not hasattr(seeds, "__len__") and not hasattr(seeds, "shape"):
        return lambda shape, low, high: random_uniform(shape, low, high, seed=seeds)
    state = {"seed": convert_to_tensor(seeds)}

    def draw(shape, low, high):
        made = stateless_uniform(shape, state["seed"], low, high)
        state["seed"] = state["seed"] + 1
        return made
    return draw


def _boxes(draw, height, width, ratios, areas, tries):
    """Tops, lefts, heights and widths to choose from."""
    ratio, area = draw([tries], *ratios), draw([tries], *areas) * height * width
    high = op("Sqrt", area / ratio)
    wide = high * ratio
    top = draw([tries], 0.0, 1.0) * (height - high)
    left = draw([tries], 0.0, 1.0) * (width - wide)
    return top, left, high, wide


def _covers(boxes, top, left, high, wide, least):
    """Whether a try sees enough of one of the objects; boxes: [n, 4]."""
    y0, x0, y1, x1 = [op("ExpandDims", boxes[:, i], 0) for i in range(4)]
    a, b, h, w = [op("ExpandDims", t, 1) for t in (top, left, high, wide)]
    none = constant(0.0)
    down = op("Maximum", op("Minimum", y1, a + h) - op("Maximum", y0, a), none)
    across = op("Maximum", op("Minimum", x1, b + w) - op("Maximum", x0, b), none)
    part = down * across / op("Maximum", (y1 - y0) * (x1 - x0), constant(1e-12))
    return OPS["Any"](op("GreaterEqual", part, convert_to_tensor(least, "float32")),
                      constant([1], "int32"))


def _distorted(image_size, bounding_boxes, draw, least, ratios, areas, tries, whole):
    sizes = cast(convert_to_tensor(image_size), "int32")
    height, width = cast(sizes[0], "float32"), cast(sizes[1], "float32")
    boxes = op("Reshape", convert_to_tensor(bounding_boxes, "float32"), [-1, 4])
    if whole:  # without boxes the whole image is the object
        boxes = concat([boxes, constant([[0.0, 0.0, 1.0, 1.0]])], 0)
    scale = op("Pack", [height, width, height, width])
    top, left, high, wide = _boxes(draw, height, width, ratios, areas, tries)
    fits = op("LogicalAnd", op("LessEqual", high, height), op("LessEqual", wide, width))
    fits = op("LogicalAnd", fits, _covers(boxes * scale, top, left, high, wide, least))
    at = op("ArgMax", cast(fits, "int32"), 0)
    found = op("GatherV2", fits, at, 0)

    def of(values, otherwise):
        number = op("SelectV2", found, op("GatherV2", values, at, 0), otherwise)
        return cast(number, "int32")
    y, x, h, w = of(top, height * 0.0), of(left, width * 0.0), of(high, height), of(wide, width)
    h, w = op("Maximum", h, constant(1)), op("Maximum", w, constant(1))
    corners = [cast(v, "float32") for v in (y, x, y + h, x + w)]
    return (op("Pack", [y, x, constant(0)]), op("Pack", [h, w, constant(-1)]),
            op("Reshape", op("Pack", corners) / scale, [1, 1, 4]))


@export(v1="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(image_size, bounding_boxes, seed=None, seed2=None,
                                  min_object_covered=0.1, aspect_ratio_range=None, area_range=None,
                                  max_attempts=_TRIES, use_image_if_no_bounding_boxes=None,
                                  name=None):
    """A part of an image by chance that sees enough of an object: begin and size for tf.slice, and
    the box, for tf.image.draw_bounding_boxes."""
    return _distorted(image_size, bounding_boxes, _sampler(seed), min_object_covered,
                      aspect_ratio_range or (0.75, 1.33), area_range or (0.05, 1.0),
                      max_attempts or _TRIES, use_image_if_no_bounding_boxes)


@export(v2="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v2(image_size, bounding_boxes, seed=0, min_object_covered=0.1,
                                     aspect_ratio_range=None, area_range=None, max_attempts=None,
                                     use_image_if_no_bounding_boxes=None, name=None):
    """A part of an image by chance that sees enough of an object."""
    return sample_distorted_bounding_box(
        image_size, bounding_boxes, seed or None, None, min_object_covered, aspect_ratio_range,
        area_range, max_attempts, use_image_if_no_bounding_boxes)


def _late_pad(image, have, want, resize):
    """The same, where only a run knows how large the image is."""
    have, real = ([cast(convert_to_tensor(v), "float32") for v in pair] for pair in (have, want))
    ratio = op("Maximum", *[h / w for h, w in zip(have, real)])
    size = [h / ratio for h in have]
    made = resize(image, cast(op("Floor", op("Pack", size)), "int32"))
    front = [cast(op("Maximum", constant(0, "float32"), op("Floor", (w - s) / 2)), "int32")
             for w, s in zip(real, size)]
    return image_ops.pad_to_bounding_box(made, *front, *want)


@export(v1=("image.resize_image_with_pad", "image.resize_with_pad"))
def resize_image_with_pad(image, target_height, target_width, method=0, align_corners=False):
    """The image as large as fits, in the middle of zeros."""
    return _with_pad(image, target_height, target_width,
                     lambda x, size: image_ops.resize_images(x, size, method, align_corners))


@export(v2="image.resize_with_pad")
def resize_with_pad(image, target_height, target_width, method="bilinear", antialias=False):
    """The image as large as fits, in the middle of zeros."""
    return _with_pad(image, target_height, target_width,
                     lambda x, size: image_ops.resize(x, size, method, antialias=antialias))


def _with_pad(image, target_height, target_width, resize):
    image = convert_to_tensor(image)
    height, width = image_ops.sizes_of(image)
    if not all(isinstance(n, int) for n in (height, width, target_height, target_width)):
        return _late_pad(image, (height, width), (target_height, target_width), resize)
    have, want = numpy.array([[height, width], [target_height, target_width]], "float32")
    size = have / (have / want).max()  # in TensorFlow's precision: both are rounded down
    made = resize(image, size.astype(int).tolist())
    front = numpy.maximum(numpy.floor((want - size) / 2), 0).astype(int).tolist()
    return image_ops.pad_to_bounding_box(made, *front, target_height, target_width)


_COLORS = {"yiq": [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617],
                   [0.114, -0.32134392, 0.31119955]],
           "yuv": [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512],
                   [0.114, 0.43601035, -0.10001026]]}


def _colors(name, matrix):
    def convert(images):
        images = convert_to_tensor(images)
        flat = op("MatMul", op("Reshape", images, [-1, 3]), convert_to_tensor(matrix, images.dtype))
        return op("Reshape", flat, shape_op(images))
    convert.__name__, convert.__doc__ = name, "The images in other colours."
    export("image." + name)(convert)


for _name, _matrix in _COLORS.items():
    _colors("rgb_to_" + _name, _matrix)
    _colors(_name + "_to_rgb", numpy.linalg.inv(numpy.array(_matrix)).tolist())


@export("image.image_gradients")
def image_gradients(image):
    """How the images change downwards and to the right; zeros in the last row and column."""
    image = convert_to_tensor(image)
    if shapes.as_shape(image.shape).rank != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d], not "
                         f"{image.shape}.")
    down = op("Pad", image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    right = op("Pad", image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return down, right


@export("image.sobel_edges")
def sobel_edges(image):
    """The changes downwards and to the right, smoothed: [batch, height, width, channels, 2]."""
    image = convert_to_tensor(image)
    channels = image.shape.as_list()[-1]
    kernel = numpy.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    kernel = numpy.stack([kernel, kernel.T], -1)[:, :, None, :].repeat(channels, 2)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    made = op("DepthwiseConv2dNative", padded, convert_to_tensor(kernel, image.dtype),
              strides=[1, 1, 1, 1], padding="VALID")
    return op("Reshape", made, concat([shape_op(image), constant([2], "int32")], 0))


@export("image.psnr")
def psnr(a, b, max_val, name=None):
    """The ratio of the largest signal to the noise between images, in decibels."""
    convert = image_color.convert_image_dtype
    a, b = [convert(convert_to_tensor(x), "float32") for x in (a, b)]
    top = float(max_val) if not hasattr(max_val, "dtype") else cast(max_val, "float32")
    error = OPS["Mean"](op("SquaredDifference", a, b), constant([-3, -2, -1], "int32"))
    return 20.0 * op("Log", convert_to_tensor(top, "float32")) / math.log(10) - \
        10 / math.log(10) * op("Log", error)


def _decided(name, change):
    export("image.stateless_random_" + name)(change)


_decided("brightness", lambda image, max_delta, seed: image_color.adjust_brightness(
    image, stateless_uniform([], seed, -max_delta, max_delta)))
_decided("contrast", lambda image, lower, upper, seed: image_color.adjust_contrast(
    image, stateless_uniform([], seed, lower, upper)))
_decided("saturation", lambda image, lower, upper, seed=None: image_color.adjust_saturation(
    image, stateless_uniform([], seed, lower, upper)))
_decided("hue", lambda image, max_delta, seed: image_color.adjust_hue(
    image, stateless_uniform([], seed, -max_delta, max_delta)))


def _flips(name, flip):
    def change(image, seed):
        """The image, or the image turned round, as the seed decides."""
        image = convert_to_tensor(image)
        if image_ops.rank_of(image) == 3:
            low = op("Less", stateless_uniform([], seed), constant(0.5))
            return op("SelectV2", low, flip(image), image)
        numbers = stateless_uniform(op("Slice", shape_op(image), [0], [1]), seed)
        low = cast(op("Round", op("Reshape", numbers, [-1, 1, 1, 1])), "bool")
        return op("SelectV2", low, flip(image), image)
    _decided(name, change)


_flips("flip_left_right", image_ops.flip_left_right)
_flips("flip_up_down", image_ops.flip_up_down)


@export("image.stateless_random_crop")
def stateless_random_crop(value, size, seed, name=None):
    """A box of `size` at a place that the seed decides."""
    value, size = convert_to_tensor(value), convert_to_tensor(size, "int32")
    sizes = shape_op(value)
    numbers = stateless_uniform(shape_op(sizes), seed, 0, 2 ** 31 - 1, "int32")
    return op("Slice", value, op("FloorMod", numbers, sizes - size + 1), size)


@export("io.encode_png", "image.encode_png")
def encode_png(image, compression: int = -1, name: Optional[str] = None):
    """Encodes images as PNG files.

    Args:
      image: a tensor of uint8 or uint16 and shape [..., height, width, channels], with 1 (gray),
        2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels.
      compression: zlib's level, 0 (none) to 9 (best), or -1 for its default.
      name: a name for the op.

    Returns:
      A string tensor with one file for each image: a scalar for an image of three dimensions.
    """
    def make(array):
        if array.shape[-1] not in (1, 2, 3, 4):
            raise errors.InvalidArgumentError(
                None, None, f"image must have 1, 2, 3, or 4 channels, got {array.shape[-1]}")
        if not array.size:
            raise errors.InternalError(None, None, "PNG encoding failed: the image is empty")
        files = [encode(one, compression) for one in array.reshape((-1,) + array.shape[-3:])]
        return numpy.array(files, object).reshape(array.shape[:-3])
    image = convert_to_tensor(image)
    if image.dtype.name not in ("uint8", "uint16"):
        raise errors.InvalidArgumentError(
            None, None, f"Value for attr 'T' of {image.dtype.name} is not in the list of allowed "
            "values: uint8, uint16")
    if not -1 <= compression <= 9:
        raise errors.InvalidArgumentError(
            None, None, f"compression should be in [-1,9], got {compression}")
    rank = image.shape.rank
    if rank is not None and rank < 3:
        raise errors.InvalidArgumentError(
            None, None, f"image must have at least 3 dimensions, got {rank}")
    made = py_func(make, [image], "string", name=name)
    if rank is not None and hasattr(made, "set_shape"):
        made.set_shape(image.shape.as_list()[:-3])
    return made
