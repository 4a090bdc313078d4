# SPDX-License-Identifier: Apache-2.0
"""bounding_boxes.py: tf.image: draws and samples bounding boxes, non-maximum suppression."""

from __future__ import annotations

import collections
import itertools

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.random_ops import random_uniform, stateless_uniform
from situ._src.ops.script_ops import on_host

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression",
    ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"],
)

# RGBA, used in turn
COLOURS: list = [
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
            colors = [[1, *c[1:]] if depth == 1 else c for c in COLOURS]
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


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Selects boxes by score, dropping those that overlap a selected box too much.

    Args:
      boxes: A float32 tensor [boxes, 4] of two opposite corners y1, x1, y2, x2.
      scores: A float32 tensor [boxes].
      max_output_size: The largest number of boxes to select.
      iou_threshold: Boxes with a larger intersection over union are dropped.
      score_threshold: Boxes with a lower score are dropped.
      name: A name for the operation (optional).

    Returns:
      An int32 tensor of the indices of selected boxes, the best first.
    """
    return op(
        "NonMaxSuppressionV3",
        boxes,
        scores,
        cast(convert_to_tensor(max_output_size), "int32"),
        iou_threshold,
        score_threshold,
        name=name,
    )


def _intersection_over_union(box, boxes):
    """Returns the intersection over union of a box and each of others."""
    low, high = numpy.minimum(boxes[:, :2], boxes[:, 2:]), numpy.maximum(boxes[:, :2], boxes[:, 2:])
    first, last = numpy.minimum(box[:2], box[2:]), numpy.maximum(box[:2], box[2:])
    common = numpy.prod(numpy.maximum(numpy.minimum(high, last) - numpy.maximum(low, first), 0), 1)
    both = numpy.prod(high - low, 1) + numpy.prod(last - first) - common
    return numpy.where(both > 0, common / numpy.where(both > 0, both, 1), 0)


def _select_boxes(boxes, scores, count, iou_threshold, score_threshold, sigma=0.0):
    """Returns (indices, scores) of greedy non-maximum suppression; `sigma` > 0 is soft NMS."""
    scores, selected, values = scores.astype("float64").copy(), [], []
    alive = scores > score_threshold
    while len(selected) < count and alive.any():
        best = int(numpy.argmax(numpy.where(alive, scores, -numpy.inf)))
        selected.append(best)
        values.append(scores[best])
        alive[best] = False
        overlap = _intersection_over_union(boxes[best], boxes)
        if sigma > 0:
            scores = scores * numpy.exp(-(overlap**2) / (2 * sigma))
            alive &= scores > score_threshold
        else:
            alive &= overlap <= iou_threshold
    return numpy.array(selected, "int32"), numpy.array(values, "float32")


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    soft_nms_sigma: TensorLike = 0.0,
    name: str | None = None,
) -> Any:
    """Selects boxes by (soft) non-maximum suppression; returns (indices, scores)."""
    with scope(name, "non_max_suppression_with_scores"):
        return tuple(
            on_host(
                lambda b, s, n: _select_boxes(
                    b, s, int(n), iou_threshold, score_threshold, soft_nms_sigma
                ),
                [boxes, scores, max_output_size],
                ["int32", "float32"],
                [[None], [None]],
            )
        )


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size_per_class: TensorLike,
    max_total_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_per_class: bool = False,
    clip_boxes: bool = True,
    name: str | None = None,
) -> Any:
    """Runs non-maximum suppression per class and returns the best boxes of each image, padded with
    zeros: a named tuple (nmsed_boxes, nmsed_scores, nmsed_classes, valid_detections)."""

    with scope(name, "combined_non_max_suppression"):

        def call(boxes, scores):
            batch, _, classes = scores.shape
            size = (
                min(max_total_size, max_output_size_per_class * classes)
                if pad_per_class
                else max_total_size
            )
            out = [
                numpy.zeros((batch, size, 4), "float32"),
                numpy.zeros((batch, size), "float32"),
                numpy.zeros((batch, size), "float32"),
                numpy.zeros(batch, "int32"),
            ]
            for i in range(batch):
                detections = []
                for c in range(classes):
                    class_boxes = boxes[i, :, c if boxes.shape[2] > 1 else 0]
                    which, _ = _select_boxes(
                        class_boxes,
                        scores[i, :, c],
                        max_output_size_per_class,
                        iou_threshold,
                        score_threshold,
                    )
                    detections += [(scores[i, k, c], c, class_boxes[k]) for k in which]
                detections = sorted(detections, key=lambda f: -f[0])[:size]
                for k, (score, c, box) in enumerate(detections):
                    out[0][i, k] = numpy.clip(box, 0, 1) if clip_boxes else box
                    out[1][i, k], out[2][i, k] = score, c
                out[3][i] = len(detections)
            return out

        result = on_host(
            call,
            [boxes, scores],
            ["float32", "float32", "float32", "int32"],
            [[None, None, 4], [None, None], [None, None], [None]],
        )
        return CombinedNonMaxSuppression(*result)


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
    """Draws candidate boxes: (tops, lefts, heights, widths)."""
    ratio, area = draw([tries], *ratios), draw([tries], *areas) * height * width
    high = op("Sqrt", area / ratio)
    wide = high * ratio
    top = draw([tries], 0.0, 1.0) * (height - high)
    left = draw([tries], 0.0, 1.0) * (width - wide)
    return top, left, high, wide


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
    top, left, high, wide = _boxes(draw, height, width, ratios, areas, tries)
    fits = op("LogicalAnd", op("LessEqual", high, height), op("LessEqual", wide, width))
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
    tf.image.draw_bounding_boxes. `seed` and `seed2` are those of the random op."""
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
    """Samples a random crop that covers enough of an object: (begin, size, box)."""
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
