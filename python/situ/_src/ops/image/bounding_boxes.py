# SPDX-License-Identifier: Apache-2.0
"""bounding_boxes.py: tf.image: draws and samples bounding boxes."""

from __future__ import annotations

import itertools

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.random_ops import random_uniform, stateless_uniform

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

# RGBA, used in turn
COLORS: list = [
    [1, 1, 0, 1],
    [0, 0, 1, 1],
    [1, 0, 0, 1],
    [0, 1, 0, 1],
    [0.5, 0, 0.5, 1],
    [0.5, 0.5, 0, 1],
    [0.5, 0, 0, 1],
    [0, 0, 0.5, 1],
    [0, 1, 1, 1],
    [1, 0, 1, 1],
]


def _all(*conditions):
    result = conditions[0]
    for condition in conditions[1:]:
        result = op("LogicalAnd", result, condition)
    return result


def _any(first, second):
    return op("LogicalOr", first, second)


def _between(at, low, high):
    """Returns whether coordinates are between two ends."""
    return _all(op("GreaterEqual", at, low), op("LessEqual", at, high))


def _outline(box, rows, columns, height, width):
    """Returns a mask [batch, height, width] of the outline of one box per image; empty if it is
    inverted."""

    def corner(k, size):
        side = op("Reshape", op("Slice", box, [0, k], [-1, 1]), [-1, 1, 1])
        return op("Cast", side * op("Cast", size - 1, "float32"), "int32")

    top, bottom = corner(0, height), corner(2, height)
    left, right = corner(1, width), corner(3, width)
    inside = _all(
        op("LessEqual", top, bottom),
        op("LessEqual", left, right),
        _between(rows, top, bottom),
        _between(columns, left, right),
    )
    edge = _any(
        _any(op("Equal", rows, top), op("Equal", rows, bottom)),
        _any(op("Equal", columns, left), op("Equal", columns, right)),
    )
    return _all(inside, edge)


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(
    images: TensorLike, boxes: TensorLike, colors: TensorLike = None, name: str | None = None
) -> Tensor:
    """Draws bounding boxes on images.

    Args:
      images: A tensor of shape [batch, height, width, channels].
      boxes: A float32 tensor [batch, boxes, 4] of normalized coordinates y_min, x_min, y_max,
        x_max.
      colors: A list of RGBA colors, used in turn (optional).
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape and type of `images`.

    Raises:
      ValueError: If the number of boxes or channels is unknown.
    """
    with scope(name, "draw_bounding_boxes") as full:
        images, boxes = convert_to_tensor(images), convert_to_tensor(boxes, "float32")
        depth = tensor_shape.as_shape(images.shape).as_list()[3]
        count = tensor_shape.as_shape(boxes.shape).as_list()[1]
        if count is None or depth is None:
            raise ValueError(
                "tf.image.draw_bounding_boxes: the number of boxes and channels must be known, but "
                f"images have shape {images.shape} and boxes {boxes.shape}."
            )
        if colors is None:
            colors = [[1, *c[1:]] if depth == 1 else c for c in COLORS]
        colors = op(
            "Cast",
            convert_to_tensor(colors, None if hasattr(colors, "dtype") else "float32"),
            images.dtype,
        )
        n_colors = tensor_shape.as_shape(colors.shape).as_list()[0]
        size = op("Shape", images)
        height, width = [
            op("StridedSlice", size, [k], [k + 1], [1], shrink_axis_mask=1) for k in (1, 2)
        ]
        rows = op("Reshape", op("Range", 0, height, 1), [1, -1, 1])
        columns = op("Reshape", op("Range", 0, width, 1), [1, 1, -1])
        for i in range(count):
            box = op("Reshape", op("Slice", boxes, [0, i, 0], [-1, 1, 4]), [-1, 4])
            color = op("Slice", colors, [i % n_colors, 0], [1, depth])
            drawn = op("ExpandDims", _outline(box, rows, columns, height, width), -1)
            images = op("SelectV2", drawn, op("Reshape", color, [1, 1, 1, depth]), images)
        return op("Identity", images, name=full) if full else images


export(v1="image.draw_bounding_boxes")(
    with_order(draw_bounding_boxes, "images", "boxes", "name", "colors")
)


_MAX_ATTEMPTS = 100


def _sampler(seeds, seed2=None):
    """Returns a function that draws uniform numbers; a pair of seeds makes it stateless."""
    if seed2:
        numbers = itertools.count(seed2)

        def draw_seeded(shape, low, high):
            attrs = {"seed": seeds or 0, "seed2": next(numbers), "dtype": "float32"}
            return op("RandomUniform", constant(shape), **attrs) * (high - low) + low

        return draw_seeded
    if seeds is None or not hasattr(seeds, "__len__") and not hasattr(seeds, "shape"):
        return lambda shape, low, high: random_uniform(shape, low, high, seed=seeds)
    state = {"seed": convert_to_tensor(seeds)}

    def draw(shape, low, high):
        result = stateless_uniform(shape, state["seed"], low, high)
        state["seed"] = state["seed"] + 1
        return result

    return draw


def _boxes(draw, height, width, ratios, areas, tries):
    """Draws candidate boxes: (tops, lefts, heights, widths, whether their areas are in range).

    Sizes are whole pixels; the height is uniform between those of the smallest and largest area,
    and changes by a pixel if rounding moves the area out of the range."""
    ratio = draw([tries], *ratios)
    least, most = areas[0] * height * width, areas[1] * height * width
    low, high = op("Round", op("Sqrt", least / ratio)), op("Round", op("Sqrt", most / ratio))
    high = op("Minimum", op("Minimum", high, op("Floor", (width + 0.5) / ratio)), height)
    low = op("Minimum", low, high)
    tall = op("Floor", low + draw([tries], 0.0, 1.0) * (high - low + 1.0))

    def area(tall):
        return tall * op("Round", tall * ratio)

    one, zero = op("OnesLike", tall), op("ZerosLike", tall)
    tall = tall + op("SelectV2", op("Less", area(tall), least), one, zero)
    tall = tall - op("SelectV2", op("Greater", area(tall), most), one, zero)
    wide = op("Round", tall * ratio)
    fits = _all(
        op("GreaterEqual", tall * wide, least),
        op("LessEqual", tall * wide, most),
        op("Greater", tall * wide, zero),
        op("LessEqual", tall, height),
        op("LessEqual", wide, width),
    )
    top = op("Floor", draw([tries], 0.0, 1.0) * (height - tall))
    left = op("Floor", draw([tries], 0.0, 1.0) * (width - wide))
    return top, left, tall, wide, fits


def _covers(boxes, top, left, high, wide, min_covered):
    """Returns whether each candidate covers enough of one of the objects [n, 4]."""
    y0, x0, y1, x1 = [op("ExpandDims", boxes[:, i], 0) for i in range(4)]
    a, b, h, w = [op("ExpandDims", t, 1) for t in (top, left, high, wide)]
    zero = constant(0.0)
    down = op("Maximum", op("Minimum", y1, a + h) - op("Maximum", y0, a), zero)
    across = op("Maximum", op("Minimum", x1, b + w) - op("Maximum", x0, b), zero)
    covered = down * across / op("Maximum", (y1 - y0) * (x1 - x0), constant(1e-12))
    return OPS["Any"](
        op("GreaterEqual", covered, convert_to_tensor(min_covered, "float32")),
        constant([1], "int32"),
    )


def _distorted(image_size, bounding_boxes, draw, least, ratios, areas, tries, whole):
    sizes = cast(convert_to_tensor(image_size), "int32")
    height, width = cast(sizes[0], "float32"), cast(sizes[1], "float32")
    boxes = op("Reshape", convert_to_tensor(bounding_boxes, "float32"), [-1, 4])
    if whole:  # without boxes the image is the object
        boxes = concat([boxes, constant([[0.0, 0.0, 1.0, 1.0]])], 0)
    scale = op("Pack", [height, width, height, width])
    top, left, high, wide, fits = _boxes(draw, height, width, ratios, areas, tries)
    fits = op("LogicalAnd", fits, _covers(boxes * scale, top, left, high, wide, least))
    at = op("ArgMax", cast(fits, "int32"), 0)
    found = op("GatherV2", fits, at, 0)

    def select(values, otherwise):
        number = op("SelectV2", found, op("GatherV2", values, at, 0), otherwise)
        return cast(number, "int32")

    y, x, h, w = (
        select(top, height * 0.0),
        select(left, width * 0.0),
        select(high, height),
        select(wide, width),
    )
    h, w = op("Maximum", h, constant(1)), op("Maximum", w, constant(1))
    corners = [cast(v, "float32") for v in (y, x, y + h, x + w)]
    return (
        op("Pack", [y, x, constant(0)]),
        op("Pack", [h, w, constant(-1)]),
        op("Reshape", op("Pack", corners) / scale, [1, 1, 4]),
    )


@export(v1="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = None,
    seed2: TensorLike = None,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike = None,
    area_range: TensorLike = None,
    max_attempts: TensorLike = _MAX_ATTEMPTS,
    use_image_if_no_bounding_boxes: TensorLike = None,
    name: str | None = None,
) -> Any:
    """Samples a random crop that covers enough of an object: (begin, size, box) for tf.slice and
    tf.image.draw_bounding_boxes. `seed` and `seed2` are those of the random op.

    Args:
      image_size: [height, width, channels] of the image.
      bounding_boxes: A float32 tensor [batch, boxes, 4] of normalized coordinates.
      seed: First seed.
      seed2: Second seed.
      min_object_covered: The part of an object that the crop must cover.
      aspect_ratio_range: The smallest and largest width / height of the crop.
      area_range: The smallest and largest part of the image that the crop covers.
      max_attempts: How often to try; the whole image is returned if all attempts fail.
      use_image_if_no_bounding_boxes: Whether the whole image is the object if there is none.
      name: A name for the operation (optional).
    """
    with scope(name, "sample_distorted_bounding_box"):
        return _distorted(
            image_size,
            bounding_boxes,
            _sampler(seed, seed2),
            min_object_covered,
            aspect_ratio_range or (0.75, 1.33),
            area_range or (0.05, 1.0),
            max_attempts or _MAX_ATTEMPTS,
            use_image_if_no_bounding_boxes,
        )


@export(v2="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v2(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: int | None = 0,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike = None,
    area_range: TensorLike = None,
    max_attempts: TensorLike = None,
    use_image_if_no_bounding_boxes: TensorLike = None,
    name: str | None = None,
) -> Any:
    """Samples a random crop that covers enough of an object: (begin, size, box).

    Args:
      image_size: [height, width, channels] of the image.
      bounding_boxes: A float32 tensor [batch, boxes, 4] of normalized coordinates.
      seed: The seed.
      min_object_covered: The part of an object that the crop must cover.
      aspect_ratio_range: The smallest and largest width / height of the crop.
      area_range: The smallest and largest part of the image that the crop covers.
      max_attempts: How often to try; the whole image is returned if all attempts fail.
      use_image_if_no_bounding_boxes: Whether the whole image is the object if there is none.
      name: A name for the operation (optional).
    """
    return sample_distorted_bounding_box(
        image_size,
        bounding_boxes,
        seed or None,
        None,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        name,
    )


@export(v2="image.stateless_sample_distorted_bounding_box")
def stateless_sample_distorted_bounding_box(
    image_size: TensorLike,
    bounding_boxes: TensorLike,
    seed: TensorLike,
    min_object_covered: TensorLike = 0.1,
    aspect_ratio_range: TensorLike = None,
    area_range: TensorLike = None,
    max_attempts: TensorLike = None,
    use_image_if_no_bounding_boxes: TensorLike = None,
    name: str | None = None,
) -> Any:
    """Samples a random crop that covers enough of an object and that `seed` determines.

    Args:
      image_size: [height, width, channels] of the image.
      bounding_boxes: A float32 tensor [batch, boxes, 4] of normalized coordinates.
      seed: Two integers.
      min_object_covered: The part of an object that the crop must cover.
      aspect_ratio_range: The smallest and largest width / height of the crop.
      area_range: The smallest and largest part of the image that the crop covers.
      max_attempts: How often to try; the whole image is returned if all attempts fail.
      use_image_if_no_bounding_boxes: Whether the whole image is the object if there is none.
      name: A name for the operation (optional).

    Returns:
      (begin, size, box) for tf.slice and tf.image.draw_bounding_boxes.
    """
    with scope(name, "stateless_sample_distorted_bounding_box"):
        return _distorted(
            image_size,
            bounding_boxes,
            _sampler(convert_to_tensor(seed)),
            min_object_covered,
            aspect_ratio_range or (0.75, 1.33),
            area_range or (0.05, 1.0),
            max_attempts or _MAX_ATTEMPTS,
            use_image_if_no_bounding_boxes,
        )
