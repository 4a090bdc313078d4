# SPDX-License-Identifier: Apache-2.0
"""non_max_suppression.py: tf.image.non_max_suppression and its variants."""

from __future__ import annotations

import collections

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import concat, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.functional_ops import map_fn

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression",
    ["nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"],
)


def _threshold(value, like, name):
    """Converts a threshold to a tensor of the type of another tensor, unless it is one."""
    return convert_to_tensor(value, None if hasattr(value, "dtype") else like.dtype, name)


def _arguments(boxes, scores, max_output_size):
    boxes = convert_to_tensor(boxes, None if hasattr(boxes, "dtype") else "float32", "boxes")
    return (
        boxes,
        convert_to_tensor(scores, None if hasattr(scores, "dtype") else boxes.dtype, "scores"),
        convert_to_tensor(max_output_size, "int32", "max_output_size"),
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
      boxes: A tensor [boxes, 4] of two opposite corners y1, x1, y2, x2.
      scores: A tensor [boxes].
      max_output_size: The largest number of boxes to select.
      iou_threshold: Boxes with a larger intersection over union are dropped.
      score_threshold: Boxes with a lower score are dropped.
      name: A name for the operation (optional).

    Returns:
      An int32 tensor of the indices of selected boxes, the best first.
    """
    with scope(name, "non_max_suppression"):
        arguments = _arguments(boxes, scores, max_output_size)
        iou = _threshold(iou_threshold, arguments[0], "iou_threshold")
        return op(
            "NonMaxSuppressionV3",
            *arguments,
            iou,
            _threshold(score_threshold, iou, "score_threshold"),
        )


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
    """Selects boxes by greedy or soft non-maximum suppression.

    Args:
      boxes: A tensor [boxes, 4] of two opposite corners y1, x1, y2, x2.
      scores: A tensor [boxes].
      max_output_size: The largest number of boxes to select.
      iou_threshold: Boxes with a larger intersection over union are dropped.
      score_threshold: Boxes with a lower score are dropped.
      soft_nms_sigma: If greater than 0, overlaps lower the score of a box instead of dropping it.
      name: A name for the operation (optional).

    Returns:
      (indices, scores) of the selected boxes, the best first.
    """
    with scope(name, "non_max_suppression_with_scores"):
        arguments = _arguments(boxes, scores, max_output_size)
        indices, selected, _ = op(
            "NonMaxSuppressionV5",
            *arguments,
            _threshold(iou_threshold, arguments[0], "iou_threshold"),
            _threshold(score_threshold, arguments[0], "score_threshold"),
            _threshold(soft_nms_sigma, arguments[0], "soft_nms_sigma"),
            pad_to_max_output_size=False,
        )
        return indices, selected


@export("image.non_max_suppression_overlaps")
def non_max_suppression_overlaps(
    overlaps: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    overlap_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """Selects boxes by score, dropping those that overlap a selected box too much.

    Args:
      overlaps: A float32 tensor [boxes, boxes], the overlap of each pair of boxes.
      scores: A float32 tensor [boxes].
      max_output_size: The largest number of boxes to select.
      overlap_threshold: Boxes with a larger overlap are dropped.
      score_threshold: Boxes with a lower score are dropped.
      name: A name for the operation (optional).

    Returns:
      An int32 tensor of the indices of selected boxes, the best first.
    """
    with scope(name, "non_max_suppression_overlaps"):
        return op(
            "NonMaxSuppressionWithOverlaps",
            overlaps,
            scores,
            max_output_size,
            overlap_threshold,
            score_threshold,
        )


def _select_padded(boxes, scores, size, iou_threshold, score_threshold):
    """Returns the indices [batch, size], padded with zeros, and the number of boxes [batch]."""

    def one(image):
        return op(
            "NonMaxSuppressionV4",
            *image,
            size,
            _threshold(iou_threshold, boxes, "iou_threshold"),
            _threshold(score_threshold, boxes, "score_threshold"),
            pad_to_max_output_size=True,
        )

    return map_fn(lambda image: tuple(one(image)), (boxes, scores), ("int32", "int32"))


@export("image.non_max_suppression_padded")
def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: TensorLike,
    iou_threshold: TensorLike = 0.5,
    score_threshold: TensorLike = float("-inf"),
    pad_to_max_output_size: bool = False,
    name: str | None = None,
    sorted_input: bool = False,
    canonicalized_coordinates: bool = False,
    tile_size: int = 512,
) -> Any:
    """Selects boxes by non-maximum suppression; the result can have a constant size.

    Args:
      boxes: A tensor [..., boxes, 4] of two opposite corners y1, x1, y2, x2.
      scores: A tensor [..., boxes].
      max_output_size: The largest number of boxes to select.
      iou_threshold: Boxes with a larger intersection over union are dropped.
      score_threshold: Boxes with a lower score are dropped.
      pad_to_max_output_size: Whether the indices are padded with zeros to `max_output_size`, which
        batches of boxes need.
      name: A name for the operation (optional).
      sorted_input: Whether boxes and scores are sorted by decreasing score, which changes nothing.
      canonicalized_coordinates: Whether y1 <= y2 and x1 <= x2, which changes nothing.
      tile_size: The number of boxes that are compared at a time in TensorFlow; not used.

    Returns:
      (indices, number of selected boxes), int32 tensors.

    Raises:
      ValueError: If boxes are batches and `pad_to_max_output_size` is false.
    """
    del sorted_input, canonicalized_coordinates  # hints: the op sorts, and takes any corners
    del tile_size  # the op compares boxes one by one
    if isinstance(max_output_size, int) and max_output_size >= 2**31:
        raise TypeError("max_output_size has type int64 that does not match type int32 of boxes.")
    with scope(name, "non_max_suppression_padded"):
        boxes, scores, size = _arguments(boxes, scores, max_output_size)
        rank = tensor_shape.as_shape(boxes.shape).rank
        if not pad_to_max_output_size:
            if rank is not None and rank > 2:
                raise ValueError(
                    f"'pad_to_max_output_size' (value {pad_to_max_output_size}) must be True for "
                    "batched input"
                )
        if rank == 2:
            iou = _threshold(iou_threshold, boxes, "iou_threshold")
            least = _threshold(score_threshold, iou, "score_threshold")
            return tuple(
                op(
                    "NonMaxSuppressionV4",
                    boxes,
                    scores,
                    size,
                    iou,
                    least,
                    pad_to_max_output_size=pad_to_max_output_size,
                )
            )
        sizes = shape_op(boxes)
        flat = op("Reshape", boxes, concat([constant([-1]), sizes[-2:]], 0))
        flat_scores = op("Reshape", scores, op("Pack", [-1, sizes[-2]]))
        indices, valid = _select_padded(flat, flat_scores, size, iou_threshold, score_threshold)
        outer = sizes[:-2]
        return (
            op("Reshape", indices, concat([outer, op("ExpandDims", size, 0)], 0)),
            op("Reshape", valid, outer),
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
    """Runs non-maximum suppression per class and returns the best boxes of each image.

    Args:
      boxes: A float32 tensor [batch, boxes, classes or 1, 4] of opposite corners y1, x1, y2, x2.
      scores: A float32 tensor [batch, boxes, classes].
      max_output_size_per_class: The largest number of boxes of a class.
      max_total_size: The largest number of boxes of an image.
      iou_threshold: Boxes with a larger intersection over union are dropped.
      score_threshold: Boxes with a lower score are dropped.
      pad_per_class: Whether results have at most max_output_size_per_class * classes rows.
      clip_boxes: Whether boxes are clipped to [0, 1].
      name: A name for the operation (optional).

    Returns:
      A named tuple (nmsed_boxes, nmsed_scores, nmsed_classes, valid_detections), padded with zeros.
    """
    with scope(name, "combined_non_max_suppression"):
        result = op(
            "CombinedNonMaxSuppression",
            convert_to_tensor(boxes, "float32"),
            convert_to_tensor(scores, "float32"),
            convert_to_tensor(max_output_size_per_class, "int32"),
            convert_to_tensor(convert_to_tensor(max_total_size), "int32"),
            convert_to_tensor(iou_threshold, "float32", "iou_threshold"),
            convert_to_tensor(score_threshold, "float32", "score_threshold"),
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
        return CombinedNonMaxSuppression(*result)
