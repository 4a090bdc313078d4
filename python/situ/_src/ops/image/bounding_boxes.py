# SPDX-License-Identifier: Apache-2.0
"""bounding_boxes.py: tf.image: bounding boxes drawn, sampled at random, and selected by non-
maximum suppression."""

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.random_ops import random_uniform, stateless_uniform
from situ._src.ops.script_ops import on_host

# Red, green, blue, opacity: one box after the other.
COLOURS = [
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


def _line(at, low, high):
    """Whether the numbers along an axis are between the ends of a box, and at one that is seen."""
    return _all(op("GreaterEqual", at, low), op("LessEqual", at, high))


def _frame(box, rows, columns, height, width):
    """Where the lines of a box of each image are: [batch, height, width]. A box that is turned over
    has none, and lines outside are not seen."""

    def corner(k, size):
        side = op("Reshape", op("Slice", box, [0, k], [-1, 1]), [-1, 1, 1])
        return op("Cast", side * op("Cast", size - 1, "float32"), "int32")

    top, bottom = corner(0, height), corner(2, height)
    left, right = corner(1, width), corner(3, width)
    inside = _all(
        op("LessEqual", top, bottom),
        op("LessEqual", left, right),
        _line(rows, top, bottom),
        _line(columns, left, right),
    )
    edge = _any(
        _any(op("Equal", rows, top), op("Equal", rows, bottom)),
        _any(op("Equal", columns, left), op("Equal", columns, right)),
    )
    return _all(inside, edge)


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(images, boxes, colors=None, name=None):
    """Images [batch, height, width, depth] with boxes [batch, number, 4] (top, left, bottom, right
    as parts of the size) drawn one after the other, in colors (or ten of our own) in turn."""
    with scope(name, "draw_bounding_boxes") as full:
        images, boxes = convert_to_tensor(images), convert_to_tensor(boxes, "float32")
        depth = tensor_shape.as_shape(images.shape).as_list()[3]
        count = tensor_shape.as_shape(boxes.shape).as_list()[1]
        if count is None or depth is None:
            raise ValueError(
                "draw_bounding_boxes needs to know how many boxes and channels there "
                f"are: images are {images.shape}, boxes {boxes.shape}."
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
            drawn = op("ExpandDims", _frame(box, rows, columns, height, width), -1)
            images = op("SelectV2", drawn, op("Reshape", color, [1, 1, 1, depth]), images)
        return op("Identity", images, name=full) if full else images


@export("image.non_max_suppression")
def non_max_suppression(
    boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=float("-inf"), name=None
):
    """The numbers of the best boxes, without those that a better one covers."""
    return op(
        "NonMaxSuppressionV3",
        boxes,
        scores,
        cast(convert_to_tensor(max_output_size), "int32"),
        iou_threshold,
        score_threshold,
        name=name,
    )


def _overlaps(box, boxes):
    """How much a box has in common with others: the common area by that of both together."""
    low, high = numpy.minimum(boxes[:, :2], boxes[:, 2:]), numpy.maximum(boxes[:, :2], boxes[:, 2:])
    first, last = numpy.minimum(box[:2], box[2:]), numpy.maximum(box[:2], box[2:])
    common = numpy.prod(numpy.maximum(numpy.minimum(high, last) - numpy.maximum(low, first), 0), 1)
    both = numpy.prod(high - low, 1) + numpy.prod(last - first) - common
    return numpy.where(both > 0, common / numpy.where(both > 0, both, 1), 0)


def _chosen(boxes, scores, count, most, least, sigma=0.0):
    """The numbers and scores of boxes, the best first, without those that overlap a chosen one."""
    scores, found, values = scores.astype("float64").copy(), [], []
    alive = scores > least
    while len(found) < count and alive.any():
        best = int(numpy.argmax(numpy.where(alive, scores, -numpy.inf)))
        found.append(best)
        values.append(scores[best])
        alive[best] = False
        common = _overlaps(boxes[best], boxes)
        if sigma > 0:
            scores = scores * numpy.exp(-(common**2) / (2 * sigma)) * (common <= most)
            alive &= scores > least
        else:
            alive &= common <= most
    return numpy.array(found, "int32"), numpy.array(values, "float32")


@export("image.non_max_suppression_with_scores")
def non_max_suppression_with_scores(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    soft_nms_sigma=0.0,
    name=None,
):
    """The best boxes that no better one covers, and their scores, which an overlap only lessens
    where sigma is not 0."""
    return tuple(
        on_host(
            lambda b, s, n: _chosen(b, s, int(n), iou_threshold, score_threshold, soft_nms_sigma),
            [boxes, scores, max_output_size],
            ["int32", "float32"],
            [[None], [None]],
        )
    )


@export("image.combined_non_max_suppression")
def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_per_class=False,
    clip_boxes=True,
    name=None,
):
    """Boxes, scores and classes of each image: the best of all classes, filled up with zeros."""

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
            found = []
            for c in range(classes):
                own = boxes[i, :, c if boxes.shape[2] > 1 else 0]
                which, _ = _chosen(
                    own, scores[i, :, c], max_output_size_per_class, iou_threshold, score_threshold
                )
                found += [(scores[i, k, c], c, own[k]) for k in which]
            found = sorted(found, key=lambda f: -f[0])[:size]
            for k, (score, c, box) in enumerate(found):
                out[0][i, k] = numpy.clip(box, 0, 1) if clip_boxes else box
                out[1][i, k], out[2][i, k] = score, c
            out[3][i] = len(found)
        return out

    made = on_host(
        call,
        [boxes, scores],
        ["float32", "float32", "float32", "int32"],
        [[None, None, 4], [None, None], [None, None], [None]],
    )
    import collections

    kind = collections.namedtuple(
        "CombinedNonMaxSuppression",
        ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"],
    )
    return kind(*made)


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
    return OPS["Any"](
        op("GreaterEqual", part, convert_to_tensor(least, "float32")), constant([1], "int32")
    )


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
    return (
        op("Pack", [y, x, constant(0)]),
        op("Pack", [h, w, constant(-1)]),
        op("Reshape", op("Pack", corners) / scale, [1, 1, 4]),
    )


@export(v1="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=None,
    seed2=None,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=_TRIES,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """A part of an image by chance that sees enough of an object: begin and size for tf.slice, and
    the box, for tf.image.draw_bounding_boxes."""
    return _distorted(
        image_size,
        bounding_boxes,
        _sampler(seed),
        min_object_covered,
        aspect_ratio_range or (0.75, 1.33),
        area_range or (0.05, 1.0),
        max_attempts or _TRIES,
        use_image_if_no_bounding_boxes,
    )


@export(v2="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v2(
    image_size,
    bounding_boxes,
    seed=0,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=None,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """A part of an image by chance that sees enough of an object."""
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
    )
