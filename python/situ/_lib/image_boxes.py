# SPDX-License-Identifier: Apache-2.0
"""image_boxes.py: boxes drawn into images: tf.image.draw_bounding_boxes."""
from situ._lib import shapes
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.graph import scope

# Red, green, blue, opacity: one box after the other.
COLOURS = [[1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [.5, 0, .5, 1], [.5, .5, 0, 1],
           [.5, 0, 0, 1], [0, 0, .5, 1], [0, 1, 1, 1], [1, 0, 1, 1]]


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
    inside = _all(op("LessEqual", top, bottom), op("LessEqual", left, right),
                  _line(rows, top, bottom), _line(columns, left, right))
    edge = _any(_any(op("Equal", rows, top), op("Equal", rows, bottom)),
                _any(op("Equal", columns, left), op("Equal", columns, right)))
    return _all(inside, edge)


@export("image.draw_bounding_boxes")
def draw_bounding_boxes(images, boxes, colors=None, name=None):
    """Images [batch, height, width, depth] with boxes [batch, number, 4] (top, left, bottom, right
    as parts of the size) drawn one after the other, in colors (or ten of our own) in turn."""
    with scope(name, "draw_bounding_boxes") as full:
        images, boxes = convert_to_tensor(images), convert_to_tensor(boxes, "float32")
        depth = shapes.as_shape(images.shape).as_list()[3]
        count = shapes.as_shape(boxes.shape).as_list()[1]
        if count is None or depth is None:
            raise ValueError("draw_bounding_boxes needs to know how many boxes and channels there "
                             f"are: images are {images.shape}, boxes {boxes.shape}.")
        if colors is None:
            colors = [[1, *c[1:]] if depth == 1 else c for c in COLOURS]
        colors = op("Cast", convert_to_tensor(colors, None if hasattr(colors, "dtype") else
                                              "float32"), images.dtype)
        n_colors = shapes.as_shape(colors.shape).as_list()[0]
        size = op("Shape", images)
        height, width = [op("StridedSlice", size, [k], [k + 1], [1], shrink_axis_mask=1)
                         for k in (1, 2)]
        rows = op("Reshape", op("Range", 0, height, 1), [1, -1, 1])
        columns = op("Reshape", op("Range", 0, width, 1), [1, 1, -1])
        for i in range(count):
            box = op("Reshape", op("Slice", boxes, [0, i, 0], [-1, 1, 4]), [-1, 4])
            color = op("Slice", colors, [i % n_colors, 0], [1, depth])
            drawn = op("ExpandDims", _frame(box, rows, columns, height, width), -1)
            images = op("SelectV2", drawn, op("Reshape", color, [1, 1, 1, depth]), images)
        return op("Identity", images, name=full) if full else images
